//! Laws over random pairs of trees.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::spec::Spec;
use super::tree::{Inode, Judgement, Tree, compare, judgement, with_moves};
use super::world::{carry_out, kept_versions, place, rule, terms, told};
use crate::compare::Draft;
use crate::job::{self, Mode, Overwrite, Remove, Rule, Versions};
use crate::plan::{Action, ActionKind, Plan, Reason, seal};
use crate::value::{Kind, RelPath};

#[derive(Clone, Debug)]
enum Edit {
    File(Vec<u8>, u64, i64, u16),
    Directory(Vec<u8>, u16),
    Symlink(Vec<u8>, u8),
    Fifo(Vec<u8>),
    /// A further name of one of the files, by its turn.
    Name(Vec<u8>, u8),
    /// Of one of the entries, by its turn.
    Chmod(u8, u16),
    Take(u8),
    Hide(u8),
}

const NAMES: [&[u8]; 6] = [b"a", b"b", b"c", b"d", b"k", b"t"];

fn relative(steps: &[u8]) -> RelPath {
    steps.iter().fold(RelPath::root(), |path, &step| path.join(NAMES[usize::from(step) % NAMES.len()]))
}

fn steps() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(prop_oneof![5 => 0u8..3, 2 => 3u8..6], 1..4)
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        6 => (steps(), 0u64..3, 0i64..3, 0u16..2).prop_map(|(path, size, time, mode)| Edit::File(path, size, time, mode)),
        6 => (steps(), 0u16..2).prop_map(|(path, mode)| Edit::Directory(path, mode)),
        1 => (steps(), 0u8..2).prop_map(|(path, target)| Edit::Symlink(path, target)),
        1 => steps().prop_map(Edit::Fifo),
        5 => (steps(), any::<u8>()).prop_map(|(path, turn)| Edit::Name(path, turn)),
        2 => (any::<u8>(), 0u16..2).prop_map(|(turn, mode)| Edit::Chmod(turn, mode)),
        2 => any::<u8>().prop_map(Edit::Take),
    ]
}

fn hides() -> impl Strategy<Value = Vec<Edit>> {
    prop_oneof![
        4 => Just(Vec::new()),
        1 => proptest::collection::vec(any::<u8>().prop_map(Edit::Hide), 1..3),
    ]
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    (proptest::collection::vec(edit(), 0..28), hides()).prop_map(|(mut edits, hides)| {
        edits.extend(hides);
        edits
    })
}

/// One of the names below the root that are fit, by its turn.
fn pick(tree: &Tree, turn: u8, fit: impl Fn(Kind) -> bool) -> Option<RelPath> {
    let fit: Vec<&RelPath> =
        tree.names.keys().filter(|path| !path.is_root() && fit(tree.kind(path).unwrap())).collect();
    let count = fit.len().max(1);
    fit.get(usize::from(turn) % count).map(|path| (*path).clone())
}

/// Puts an entry where a directory is to hold it; a directory stays with its content where one is put in its place.
fn put(tree: &mut Tree, steps: &[u8], inode: Inode) {
    let path = relative(steps);
    let both = inode.kind == Kind::Directory && tree.is_directory(&path);
    if tree.is_directory(&path.parent().unwrap()) && !both {
        tree.take(&path);
        tree.put(&path, inode);
    }
}

fn apply(tree: &mut Tree, edits: &[Edit]) {
    let plain = |kind, mode: u16| Inode { kind, size: 0, time: 0, mode: 0o700 + mode, target: String::new() };
    for edit in edits {
        match edit {
            Edit::File(steps, size, time, mode) => {
                put(tree, steps, Inode { size: *size, time: *time, ..plain(Kind::File, *mode) });
            }
            Edit::Directory(steps, mode) => put(tree, steps, plain(Kind::Directory, *mode)),
            Edit::Symlink(steps, target) => {
                put(tree, steps, Inode { target: target.to_string(), ..plain(Kind::Symlink, 0) });
            }
            Edit::Fifo(steps) => put(tree, steps, plain(Kind::Fifo, 0)),
            Edit::Name(steps, turn) => {
                let path = relative(steps);
                let Some(other) = pick(tree, *turn, |kind| kind == Kind::File) else { continue };
                let number = tree.names[&other];
                if tree.is_directory(&path.parent().unwrap()) {
                    tree.take(&path);
                    tree.names.insert(path, number);
                }
            }
            Edit::Chmod(turn, mode) => {
                let Some(path) = pick(tree, *turn, |kind| kind != Kind::Symlink) else { continue };
                let number = tree.names[&path];
                tree.inodes.get_mut(&number).unwrap().mode = 0o700 + mode;
            }
            Edit::Take(turn) => {
                let Some(path) = pick(tree, *turn, |_| true) else { continue };
                tree.take(&path);
            }
            Edit::Hide(turn) => {
                tree.unreadable.extend(pick(tree, *turn, |kind| kind == Kind::Directory));
            }
        }
    }
    let unreadable = std::mem::take(&mut tree.unreadable);
    tree.unreadable = unreadable.into_iter().filter(|path| tree.is_directory(path)).collect();
}

fn any_rule() -> impl Strategy<Value = Rule> {
    (any::<bool>(), any::<bool>(), 0u8..3, any::<bool>(), 0u8..4).prop_map(
        |(backup, versions, overwrite, before, links)| {
            let mut rule = rule(if backup { Mode::Backup } else { Mode::Mirror });
            rule.versions = if versions { kept_versions() } else { Versions::None };
            if backup {
                rule.overwrite =
                    [Overwrite::Changed, Overwrite::Newer, Overwrite::Never][usize::from(overwrite)];
            } else if before && !versions {
                rule.remove = Remove::Before;
            }
            rule.preserve.hard_links = links != 0;
            rule
        },
    )
}

fn trees() -> impl Strategy<Value = (Tree, Tree)> {
    (edits(), edits(), any::<bool>()).prop_map(|(source_edits, destination_edits, fresh)| {
        let mut source = Tree::empty(1);
        apply(&mut source, &source_edits);
        let mut destination = if fresh { Tree::empty(2) } else { source.copied(2) };
        apply(&mut destination, &destination_edits);
        (source, destination)
    })
}

fn shuffle<T>(list: &mut [T], seed: &mut u64) {
    for index in (1..list.len()).rev() {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        list.swap(index, usize::try_from(*seed >> 33).unwrap() % (index + 1));
    }
}

fn shuffled(mut draft: Draft, mut seed: u64) -> Draft {
    shuffle(&mut draft.directories, &mut seed);
    shuffle(&mut draft.problems, &mut seed);
    for directory in &mut draft.directories {
        shuffle(&mut directory.findings, &mut seed);
    }
    draft
}

fn without_problems(draft: &Draft) -> Draft {
    Draft { problems: Vec::new(), ..draft.clone() }
}

fn with_whole_listings(draft: &Draft) -> Draft {
    let mut draft = draft.clone();
    for directory in &mut draft.directories {
        (directory.source_whole, directory.destination_whole) = (true, true);
    }
    draft
}

/// Names that the rule is to make right: selected on the way down, and a file in the source.
fn managed<'a>(source: &'a Tree, after: &'a Tree) -> Vec<&'a RelPath> {
    source
        .names
        .keys()
        .filter(|path| source.kind(path) == Some(Kind::File) && after.kind(path) == Some(Kind::File))
        .filter(|path| {
            std::iter::successors(Some((*path).clone()), RelPath::parent)
                .filter(|above| !above.is_root())
                .all(|above| {
                    judgement(above.name(), source.kind(&above).unwrap()) != Judgement::Excluded
                        && !source.unreadable.contains(&above)
                })
        })
        .filter(|path| judgement(path.name(), Kind::File) == Judgement::Selected)
        .collect()
}

/// Two names are one file in the destination exactly where they are in the source.
fn check_links(rule: &Rule, source: &Tree, before: &Tree, after: &Tree) {
    let right = |path: &&&RelPath| source.get(path) == after.get(path);
    // Where nothing may be written over, or could not be seen, names stay on the inodes they are on.
    let free = |path: &&&RelPath| {
        let seen = !std::iter::successors(Some((**path).clone()), RelPath::parent)
            .any(|above| before.unreadable.contains(&above));
        seen && (rule.overwrite != Overwrite::Never || !before.names.contains_key(**path))
    };
    let names = managed(source, after);
    let names: Vec<&&RelPath> = names.iter().filter(right).filter(free).collect();
    let mut twins: BTreeMap<u64, u64> = BTreeMap::new();
    let mut owners: BTreeMap<u64, u64> = BTreeMap::new();
    for path in names {
        let (from, to) = (source.names[*path], after.names[*path]);
        assert_eq!(*twins.entry(from).or_insert(to), to, "{path}: one file became two");
        assert_eq!(*owners.entry(to).or_insert(from), from, "{path}: two files became one");
    }
}

/// Sums by comparing the tree before and after, without a look at the actions.
fn check_totals(plan: &Plan, source: &Tree, before: &Tree, after: &Tree) {
    let moves = plan.actions.iter().filter(|action| action.kind == ActionKind::Move);
    let old_names: Vec<&RelPath> = moves.filter_map(|action| plan.link(action)).collect();
    let changed = |path: &RelPath| after.names.contains_key(path) && before.names[path] != after.names[path];
    let made_way = |path: &RelPath| {
        std::iter::successors(path.parent(), RelPath::parent)
            .any(|above| changed(&above) && !after.is_directory(&above))
    };
    let gone =
        before.names.keys().filter(|path| !after.names.contains_key(path) && !old_names.contains(path));
    let (displaced, removed): (Vec<&RelPath>, Vec<&RelPath>) = gone.partition(|path| made_way(path));
    let replaced = before.names.keys().filter(|path| changed(path) && !old_names.contains(path)).count();
    assert_eq!(plan.totals.removed_entries, removed.len() as u64, "removed {removed:?}");
    assert_eq!(plan.totals.replaced_entries, (replaced + displaced.len()) as u64, "replaced");
    let bytes: u64 = after
        .inodes
        .iter()
        .filter(|(number, inode)| !before.inodes.contains_key(number) && inode.kind == Kind::File)
        .map(|(_, inode)| inode.size)
        .sum();
    assert_eq!(plan.totals.bytes, bytes);
    assert_eq!(plan.totals.actions, plan.actions.len() as u64);
    let selected = |tree: &Tree| tree.names.len() as u64;
    assert!(
        plan.counts.destination_entries < selected(before) && plan.counts.source_entries < selected(source)
    );
}

fn check_order(plan: &Plan, rule: &Rule) {
    use ActionKind::{Copy, Link, Metadata, Mkdir, Move, Remove, Replace, Special, Symlink};
    let makes_way =
        |action: &Action| plan.destination(action).is_some_and(|meta| meta.kind == Kind::Directory);
    let phase = |action: &Action| match (action.kind, action.entry) {
        (Remove, _) if rule.remove == job::Remove::Before && action.reason != Reason::Emptied => 0,
        (Replace, _) if makes_way(action) && rule.versions == Versions::None => 8,
        (Mkdir, _) | (Replace, Kind::Directory) => 1,
        (Move, _) => 2,
        (Link, _) => 4,
        (Replace, _) if plan.link(action).is_some() => 4,
        (Copy | Replace, Kind::File) => 3,
        (Symlink | Special | Copy | Replace, _) => 5,
        (Metadata, Kind::Directory) => 9,
        (Metadata, _) => 6,
        (Remove, _) => 7,
    };
    let phases: Vec<u8> = plan.actions.iter().map(phase).collect();
    assert!(phases.is_sorted(), "{phases:?} {:?}", told(plan));
    assert!(plan.directories.is_sorted_by(|a, b| a.path < b.path) && plan.directories[0].path.is_root());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn a_plan_makes_what_is_wanted_in_an_order_that_works((source, destination) in trees(), rule in any_rule(), seed in any::<u64>(), moves in any::<bool>()) {
        let place = place();
        let terms = terms(&rule, &place);
        let mut draft = compare(&source, &destination);
        if moves && rule.mode == Mode::Mirror {
            draft = with_moves(draft);
        }
        let plan = seal(draft.clone(), &terms);
        let after = carry_out(&plan, &rule, &source, &destination);

        let wanted = Spec { rule: &rule, source: &source, destination: &destination }.wanted();
        let found: BTreeMap<RelPath, Inode> = after.names.keys().map(|path| (path.clone(), after.get(path).unwrap().clone())).collect();
        for (path, inode) in &wanted {
            let found = found.get(path);
            prop_assert!(alike(found, inode), "{path} is {found:?}, should be {inode:?}; {:?}", told(&plan));
        }
        for path in found.keys() {
            prop_assert!(wanted.contains_key(path), "{path} is there and should not be; {:?}", told(&plan));
        }
        check_order(&plan, &rule);
        check_totals(&plan, &source, &destination, &after);
        if rule.preserve.hard_links {
            check_links(&rule, &source, &destination, &after);
        }
        prop_assert_eq!(&seal(shuffled(draft.clone(), seed), &terms), &plan, "depends on the order of the draft");

        // Either sign of a directory that could not be read is enough.
        for draft in [without_problems(&draft), with_whole_listings(&draft)] {
            prop_assert_eq!(told(&seal(draft, &terms)), told(&plan));
        }

        let again = seal(compare(&source, &after), &terms);
        prop_assert!(again.actions.is_empty(), "a second run finds {:?} after {:?}", told(&again), told(&plan));
        prop_assert_eq!(&again.conflicts, &plan.conflicts);
        prop_assert_eq!(super::file::reread(&plan), plan, "read back from a file");
    }
}

/// Times of directories and links are not modelled.
fn alike(found: Option<&Inode>, wanted: &Inode) -> bool {
    found.is_some_and(|found| match found.kind {
        Kind::File => found == wanted,
        _ => (found.kind, &found.target) == (wanted.kind, &wanted.target) && found.mode == wanted.mode,
    })
}
