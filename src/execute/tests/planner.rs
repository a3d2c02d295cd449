//! A naive planner for tests: walks both trees name by name and writes the plan that a mirror needs, in the documented order.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::job::{Remove, Rule, Versions};
use crate::plan::{Action, ActionKind, DirectoryId, NONE, Plan, PlannedDirectory, Reason, Totals};
use crate::platform::{Attributes as _, Dir, Xattr};
use crate::store::HOME_NAME;
use crate::value::{Kind, Meta, Place, RelPath, RunId, StageName};

/// What is found on one side.
pub(super) type Side = BTreeMap<RelPath, Meta>;

pub(super) fn walk(root: &Dir) -> Side {
    let mut all = Side::new();
    walk_below(root, &RelPath::root(), &mut all);
    all
}

fn walk_below(directory: &Dir, path: &RelPath, all: &mut Side) {
    let mut names = Vec::new();
    directory.list(|listed| names.push(listed.name.to_vec())).unwrap();
    for name in names {
        if path.is_root() && name == HOME_NAME {
            continue;
        }
        let meta = directory.stat(&name).unwrap();
        let below = path.join(&name);
        if meta.kind == Kind::Directory {
            walk_below(&directory.open_dir(&name).unwrap(), &below, all);
        }
        all.insert(below, meta);
    }
}

pub(super) fn attributes(root: &Dir, path: &RelPath) -> Vec<Xattr> {
    let parent = root.open_below(&path.parent().unwrap()).unwrap();
    let node = parent.node(path.name()).unwrap();
    let names = node.xattr_names().unwrap();
    names.into_iter().map(|name| Xattr { value: node.xattr(&name).unwrap().into(), name }).collect()
}

struct Step {
    phase: u8,
    path: RelPath,
    kind: ActionKind,
    entry: Kind,
    source: Option<Meta>,
    destination: Option<Meta>,
    link: Option<RelPath>,
}

const UP: [u8; 3] = [0, 6, 8];

pub(super) fn plan(
    source: &Dir,
    destination: &Dir,
    rule: &Rule,
    place: &Place,
    unfinished: &[RunId],
) -> Plan {
    let (ours, mut theirs) = (walk(source), walk(destination));
    let is_stale =
        |path: &RelPath| StageName::parse(path.name()).is_some_and(|stage| unfinished.contains(&stage.run));
    let stale: Vec<RelPath> = theirs.keys().filter(|path| is_stale(path)).cloned().collect();
    theirs.retain(|path, _| !stale.iter().any(|stage| path.is_within(stage)));
    let mut steps = Vec::new();
    let mut leaders: HashMap<u64, RelPath> = HashMap::new();
    let mut displaced: BTreeSet<RelPath> = BTreeSet::new();
    for (path, meta) in &ours {
        let old = theirs.get(path).filter(|_| !displaced.iter().any(|above| path.is_within(above)));
        let leader = leader(rule, meta, path, &mut leaders);
        let step = step(rule, place, (source, destination), path, (meta, old), leader);
        if let Some(step) = step {
            let goes_whole = old.is_some_and(|old| old.kind == Kind::Directory)
                && step.kind == ActionKind::Replace
                && rule.versions != Versions::None;
            if goes_whole {
                displaced.insert(path.clone());
            }
            steps.push(step);
        }
    }
    for (path, meta) in &theirs {
        let gone = !ours.contains_key(path) && !displaced.iter().any(|above| path.is_within(above));
        if gone {
            let phase = if rule.remove == Remove::Before { 0 } else { 6 };
            let destination = Some(*meta);
            let kind = ActionKind::Remove;
            steps.push(Step {
                phase,
                path: path.clone(),
                kind,
                entry: meta.kind,
                source: None,
                destination,
                link: None,
            });
        }
    }
    let (root, old) = (source.meta().unwrap(), destination.meta().unwrap());
    if root.mode != old.mode || root.modified != old.modified || (root.uid, root.gid) != (old.uid, old.gid) {
        let (source, destination) = (Some(root), Some(old));
        let (path, kind, entry) = (RelPath::root(), ActionKind::Metadata, Kind::Directory);
        steps.push(Step { phase: 8, path, kind, entry, source, destination, link: None });
    }
    Plan { stale_stages: stale, ..write(steps, (&ours, root), (&theirs, old), &displaced) }
}

fn leader(rule: &Rule, meta: &Meta, path: &RelPath, leaders: &mut HashMap<u64, RelPath>) -> Option<RelPath> {
    if meta.kind != Kind::File || meta.links < 2 || !rule.preserve.hard_links {
        return None;
    }
    let leader = leaders.get(&meta.inode).cloned();
    if leader.is_none() {
        leaders.insert(meta.inode, path.clone());
    }
    leader
}

fn step(
    rule: &Rule,
    place: &Place,
    (source, destination): (&Dir, &Dir),
    path: &RelPath,
    (meta, old): (&Meta, Option<&Meta>),
    link: Option<RelPath>,
) -> Option<Step> {
    let kind = match old {
        None => match meta.kind {
            Kind::File if link.is_some() => ActionKind::Link,
            Kind::File => ActionKind::Copy,
            Kind::Directory => ActionKind::Mkdir,
            Kind::Symlink => ActionKind::Symlink,
            _ => ActionKind::Special,
        },
        Some(old) if old.kind != meta.kind => ActionKind::Replace,
        Some(old) => {
            let linked = link.as_ref().is_some_and(|leader| {
                let parent = destination.open_below(&leader.parent().unwrap());
                let found = parent.ok().and_then(|parent| parent.find(leader.name()).unwrap());
                !found.is_some_and(|found| found.same_inode(old))
            });
            let content = match meta.kind {
                Kind::File => {
                    meta.size != old.size
                        || rule.preserve.times && place.held_time(meta.modified) != old.modified
                }
                Kind::Symlink => text(source, path) != text(destination, path),
                Kind::Directory => false,
                _ => meta.special != old.special,
            };
            let times = rule.preserve.times && place.held_time(meta.modified) != old.modified;
            let mode = meta.kind != Kind::Symlink && meta.mode != old.mode;
            let other = mode
                || times
                || (meta.uid, meta.gid) != (old.uid, old.gid)
                || attributes(source, path) != attributes(destination, path);
            match (content || linked, other) {
                (true, _) => ActionKind::Replace,
                (false, true) => ActionKind::Metadata,
                (false, false) => return None,
            }
        }
    };
    let link = link.filter(|_| kind != ActionKind::Metadata);
    let was_directory = old.is_some_and(|old| old.kind == Kind::Directory);
    let phase = match (kind, meta.kind) {
        (ActionKind::Replace, _) if was_directory && rule.versions == Versions::None => 7,
        (ActionKind::Metadata, Kind::Directory) => 8,
        (ActionKind::Metadata, _) => 5,
        (_, Kind::Directory) => 1,
        (_, Kind::File) if link.is_some() => 3,
        (_, Kind::File) => 2,
        _ => 4,
    };
    let (source, destination) = (Some(*meta), old.copied());
    Some(Step { phase, path: path.clone(), kind, entry: meta.kind, source, destination, link })
}

fn text(root: &Dir, path: &RelPath) -> Vec<u8> {
    root.open_below(&path.parent().unwrap()).unwrap().read_link(path.name()).unwrap()
}

fn write(
    mut steps: Vec<Step>,
    (ours, source_root): (&Side, Meta),
    (theirs, destination_root): (&Side, Meta),
    displaced: &BTreeSet<RelPath>,
) -> Plan {
    steps.sort_by(|a, b| {
        a.phase.cmp(&b.phase).then_with(|| {
            let up = UP.contains(&a.phase);
            let down = || (a.link.is_some(), &a.path).cmp(&(b.link.is_some(), &b.path));
            if up { b.path.cmp(&a.path) } else { down() }
        })
    });
    let mut paths: Vec<RelPath> = steps.iter().map(|step| step.path.parent().unwrap_or_default()).collect();
    paths.push(RelPath::root());
    paths.sort();
    paths.dedup();
    let directory = |side: &Side, path: &RelPath, root: Meta| {
        if path.is_root() {
            return Some(root);
        }
        side.get(path).copied().filter(|meta| meta.kind == Kind::Directory)
    };
    let directories: Vec<PlannedDirectory> = paths
        .iter()
        .map(|path| PlannedDirectory {
            path: path.clone(),
            source: directory(ours, path, source_root),
            destination: directory(theirs, path, destination_root)
                .filter(|_| !displaced.iter().any(|above| path.is_within(above))),
        })
        .collect();
    let mut plan = Plan {
        actions: Vec::new(),
        directories,
        names: Vec::new(),
        metas: Vec::new(),
        links: Vec::new(),
        totals: Totals::default(),
        counts: <_>::default(),
        limits: Vec::new(),
        conflicts: Vec::new(),
        problems: Vec::new(),
        notices: Vec::new(),
        stale_stages: Vec::new(),
        source_mounts: Vec::new(),
    };
    for step in steps {
        push(&mut plan, step);
    }
    plan
}

fn push(plan: &mut Plan, step: Step) {
    let parent = step.path.parent().unwrap_or_default();
    let directory = plan.directories.binary_search_by(|planned| planned.path.cmp(&parent)).unwrap();
    let name_start = index(plan.names.len());
    plan.names.extend_from_slice(step.path.name());
    let action = Action {
        kind: step.kind,
        entry: step.entry,
        reason: Reason::New,
        directory: DirectoryId(index(directory)),
        name_start,
        name_bytes: u16::try_from(step.path.name().len()).unwrap(),
        source: row(&mut plan.metas, step.source),
        destination: row(&mut plan.metas, step.destination),
        link: row(&mut plan.links, step.link),
        origin: NONE,
    };
    plan.actions.push(action);
}

/// Puts a value into a table and tells its place there.
fn row<T>(table: &mut Vec<T>, value: Option<T>) -> u32 {
    value.map_or(NONE, |value| {
        table.push(value);
        index(table.len() - 1)
    })
}

fn index(number: usize) -> u32 {
    u32::try_from(number).unwrap()
}
