//! Rules and places for tests, and a model that carries out a plan on a tree in memory.

use std::time::Duration;

use super::tree::{Inode, Tree};
use crate::job::{Limit, Limits, Location, MinFree, Mode, Retention, Rule, Versions};
use crate::plan::{Action, ActionKind, Plan, Terms, User};
use crate::value::{Case, Kind, Percent, Place, RelPath, Stamp, SyncTrust};

pub fn rule(mode: Mode) -> Rule {
    let at = |path: &str| Location::Path(path.into());
    Rule {
        versions: kept_versions(),
        limits: limits(),
        ..Rule::new("rule", mode, at("/source"), at("/destination"))
    }
}

pub fn kept_versions() -> Versions {
    Versions::Keep(Retention { keep_for: Some(Duration::from_secs(14 * 86_400)), ..Retention::default() })
}

pub fn limits() -> Limits {
    Limits {
        remove: Limit::Share(Percent::whole(25)),
        replace: Limit::Share(Percent::whole(50)),
        min_free: MinFree::Share(Percent::whole(1)),
    }
}

pub fn place() -> Place {
    Place {
        file_system: "ext4".to_owned(),
        mount_point: (*b"/destination").into(),
        mount_id: 7,
        device: 2,
        uuid: None,
        grain_ns: 1,
        time_range: (Stamp::from_seconds(i64::MIN), Stamp::from_seconds(i64::MAX)),
        case: Case::Sensitive,
        name_bytes_max: 255,
        file_bytes_max: 1 << 44,
        free_bytes: 1 << 40,
        total_bytes: 1 << 41,
        free_inodes: 1 << 20,
        read_only: false,
        shared: false,
        owners: true,
        xattrs: true,
        hard_links: true,
        symlinks: true,
        exchange: true,
        ordered: true,
        sync: SyncTrust::FileSystem,
    }
}

pub fn terms<'a>(rule: &'a Rule, place: &'a Place) -> Terms<'a> {
    Terms { rule, place, user: User::Root, limits: rule.limits, base: None }
}

/// Carries out a plan; panics where an action meets anything but what the plan's order promises.
pub fn carry_out(plan: &Plan, rule: &Rule, source: &Tree, destination: &Tree) -> Tree {
    let mut tree = destination.clone();
    for action in &plan.actions {
        let path = plan.path(action);
        let told = format!("{:?} {path}", action.kind);
        if let Some(parent) = path.parent() {
            assert!(tree.is_directory(&parent), "{told}: no directory above");
        }
        assert_eq!(
            plan.destination(action).map(|meta| meta.kind),
            destination.kind(&path).filter(|_| action.destination != u32::MAX),
            "{told}: observed"
        );
        let wanted = source.get(&path).cloned();
        match action.kind {
            ActionKind::Mkdir | ActionKind::Copy | ActionKind::Symlink | ActionKind::Special => {
                assert_eq!(tree.kind(&path), None, "{told}: something is there");
                tree.put(&path, wanted.unwrap());
            }
            ActionKind::Move => rename(&mut tree, plan, action, source, destination),
            ActionKind::Link => {
                assert_eq!(tree.kind(&path), None, "{told}: something is there");
                link(&mut tree, &path, plan.link(action).unwrap(), &wanted.unwrap(), &told);
            }
            ActionKind::Replace => {
                assert_eq!(tree.kind(&path), destination.kind(&path), "{told}: another kind");
                let below = tree.children(&path).len();
                assert!(below == 0 || rule.versions != Versions::None, "{told}: not empty");
                tree.take(&path);
                match plan.link(action) {
                    Some(leader) => link(&mut tree, &path, leader, &wanted.unwrap(), &told),
                    None => {
                        tree.put(&path, wanted.unwrap());
                    }
                }
            }
            ActionKind::Metadata => {
                let number = tree.names[&path];
                assert_eq!(Some(&number), destination.names.get(&path), "{told}: another inode");
                let inode = tree.inodes.get_mut(&number).unwrap();
                inode.mode = wanted.unwrap().mode;
            }
            ActionKind::Remove => {
                assert_eq!(tree.names.get(&path), destination.names.get(&path), "{told}: another inode");
                assert!(tree.children(&path).is_empty(), "{told}: not empty");
                tree.take(&path);
            }
        }
    }
    tree
}

/// A file gets another name: its old one stays with it as long as it waits for other content, and two files change places at once.
fn rename(tree: &mut Tree, plan: &Plan, action: &Action, source: &Tree, destination: &Tree) {
    let (path, from) = (plan.path(action), plan.link(action).unwrap());
    let told = format!("move {path} from {from}");
    let wanted = source.get(&path).unwrap();
    let number = destination.names[from];
    assert_eq!(plan.origin(action).unwrap().inode, number, "{told}: origin");
    let other =
        plan.actions.iter().find(|other| plan.path(other) == *from && other.kind != ActionKind::Remove);
    let is_swap = other.is_some_and(|other| plan.link(other) == Some(&path));
    if is_swap && tree.names[&path] == number {
        return;
    }
    assert_eq!(tree.names.get(from), Some(&number), "{told}: another inode");
    assert_eq!(tree.names.get(&path), destination.names.get(&path), "{told}: what stands there");
    assert_eq!(tree.names_of(number), 1, "{told}: several names");
    if let Some(old) = tree.names.insert(path.clone(), number)
        && is_swap
    {
        tree.names.insert(from.clone(), old);
        tree.inodes.get_mut(&old).unwrap().mode = source.get(from).unwrap().mode;
    }
    if other.is_none() {
        tree.names.remove(from);
    }
    let inode = tree.inodes.get_mut(&number).unwrap();
    assert_eq!((inode.size, inode.time), (wanted.size, wanted.time), "{told}: other content");
    inode.mode = wanted.mode;
}

fn link(tree: &mut Tree, path: &RelPath, leader: &RelPath, wanted: &Inode, told: &str) {
    let inode = tree.get(leader).unwrap_or_else(|| panic!("{told}: no leader {leader}"));
    assert_eq!(inode.kind, Kind::File, "{told}: leader");
    assert_eq!((inode.size, inode.time), (wanted.size, wanted.time), "{told}: the leader has other content");
    let number = tree.names[leader];
    tree.names.insert(path.clone(), number);
}

/// One line an action, in order: `copy d/f`, `link b = a`, `replace (late) …` is not told apart.
pub fn told(plan: &Plan) -> Vec<String> {
    plan.actions
        .iter()
        .map(|action| {
            let to = plan.link(action).map(|path| format!(" = {path}")).unwrap_or_default();
            let path = plan.path(action);
            let name = if path.is_root() { ".".to_owned() } else { path.to_string() };
            format!("{} {name}{to}", action.kind.word())
        })
        .collect()
}
