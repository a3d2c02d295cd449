//! Cases by name, with trees as literals.

use super::tree::{Tree, compare, path, with_moves};
use super::world::{carry_out, kept_versions, place, rule, terms, told};
use crate::compare::{Conflict, Extent, Finding, Notice, Problem, Side, Unheld, Verdict};
use crate::job::{Limit, MinFree, Mode, Overwrite, Remove, Rule, Versions};
use crate::plan::{Action, Plan, Reason, User, seal};
use crate::value::{ByteCount, Case, Kind, Percent};

/// Seals the plan for two trees and carries it out.
fn planned(source: &str, destination: &str, rule: &Rule) -> Plan {
    let (source, destination) = (Tree::read(1, source), Tree::read(2, destination));
    let plan = seal(compare(&source, &destination), &terms(rule, &place()));
    carry_out(&plan, rule, &source, &destination);
    plan
}

fn conflicts(plan: &Plan) -> Vec<(String, Conflict)> {
    plan.conflicts.iter().map(|conflict| (conflict.path.to_string(), conflict.conflict)).collect()
}

fn without_versions(mode: Mode) -> Rule {
    Rule { versions: Versions::None, ..rule(mode) }
}

#[test]
fn an_action_fits_a_cache_line() {
    assert!(size_of::<Action>() <= 64, "{}", size_of::<Action>());
}

#[test]
fn the_order_is_the_documented_one() {
    let source = "e/ 700; e/n/; a 1@9; c 1@1; h = c; b 3@3; l -> x; p |; m 5@5 600; swap 1@1; late 1@1; back/; back/f 1@1; again -> x";
    let destination = "e/; a 1@8; m 5@5; swap/; late/; late/x 1@1; old/; old/y 1@1; back 1@1; again -> y";
    let expected = [
        "replace back",
        "mkdir e/n",
        "replace a",
        "copy b",
        "copy c",
        "copy back/f",
        "link h = c",
        "replace again",
        "symlink l",
        "special p",
        "metadata m",
        "remove old/y",
        "remove late/x",
        "remove old",
        "replace late",
        "replace swap",
        "metadata e",
    ];
    assert_eq!(told(&planned(source, destination, &without_versions(Mode::Mirror))), expected);

    let before = Rule { remove: Remove::Before, ..without_versions(Mode::Mirror) };
    let mut expected: Vec<&str> = expected.to_vec();
    expected.splice(11..14, []);
    expected.splice(0..0, ["remove old/y", "remove late/x", "remove old"]);
    assert_eq!(told(&planned(source, destination, &before)), expected);
}

#[test]
fn the_roots_own_metadata_comes_last_and_has_no_name() {
    let source = Tree::read(1, "a/ 700");
    let destination = Tree::read(2, "a/");
    let mut draft = compare(&source, &destination);
    let root = &mut draft.directories[0];
    root.findings.push(Finding {
        name: Box::default(),
        verdict: Verdict::Metadata(crate::compare::MetaDifference::TIMES),
        source: root.source,
        destination: root.destination,
    });
    let plan = seal(draft, &terms(&rule(Mode::Mirror), &place()));
    assert_eq!(told(&plan), ["metadata a", "metadata ."]);
    assert!(plan.path(&plan.actions[1]).is_root());
}

#[test]
fn bc_19_links_are_made_and_followed() {
    let mirror = rule(Mode::Mirror);
    assert_eq!(
        told(&planned("a 1@1; b = a; d/; d/c = a", "", &mirror)),
        ["mkdir d", "copy a", "link b = a", "link d/c = a"]
    );
    // The name that is there already leads, wherever it stands.
    assert_eq!(told(&planned("a 1@1; b = a", "b 1@1", &mirror)), ["link a = b"]);
    // A copy that is equal becomes a link.
    let plan = planned("a 1@1; b = a", "a 1@1; b 1@1", &mirror);
    assert_eq!(told(&plan), ["replace b = a"]);
    assert_eq!(plan.actions[0].reason, Reason::HardLink);
    assert_eq!(plan.totals.bytes, 0);
    // New content: all names move to the new inode.
    assert_eq!(told(&planned("a 2@2; b = a", "a 1@1; b = a", &mirror)), ["replace a", "replace b = a"]);
    // The name that needs nothing leads.
    assert_eq!(told(&planned("a 1@1; b = a", "a 1@1 600; b 1@1", &mirror)), ["replace a = b"]);
    // A name that is linked anew waits for what it is linked to.
    assert_eq!(
        told(&planned("a 2@2; b = a; c 1@1", "a 1@1; b 1@1", &mirror)),
        ["replace a", "copy c", "replace b = a"]
    );
    // Metadata of a whole group is mended once.
    assert_eq!(told(&planned("a 1@1 600; b = a", "a 1@1; b = a", &mirror)), ["metadata a"]);
    assert_eq!(told(&planned("a 1@1; b = a", "a 1@1; b = a", &mirror)), [""; 0]);
}

#[test]
fn bc_19_links_that_the_source_broke_are_broken() {
    let mirror = rule(Mode::Mirror);
    let plan = planned("a 1@1; b 1@1", "a 1@1; b = a", &mirror);
    assert_eq!(told(&plan), ["replace b"]);
    assert_eq!(plan.actions[0].reason, Reason::LinkBroken);
    // A replacement makes a new inode anyhow.
    assert_eq!(told(&planned("a 1@1; b 2@2", "a 1@1; b = a", &mirror)), ["replace b"]);
    // Mending in place would show through the other name.
    assert_eq!(told(&planned("a 1@1; b 1@1 600", "a 1@1; b = a", &mirror)), ["replace b"]);
    assert_eq!(told(&planned("a 1@1 600; b 1@1", "a 1@1; b = a", &mirror)), ["replace a"]);
    assert_eq!(told(&planned("a 1@1 600; b 1@1 600", "a 1@1; b = a", &mirror)), ["replace a", "replace b"]);
}

#[test]
fn bc_19_a_group_half_excluded_works() {
    let mirror = rule(Mode::Mirror);
    assert_eq!(told(&planned("a 1@1; b = a; k = a", "", &mirror)), ["copy a", "link b = a"]);
    assert_eq!(told(&planned("a 1@1; k = a", "", &mirror)), ["copy a"]);
    // The excluded name of the destination shares the inode: it must not see the new mode.
    assert_eq!(
        told(&planned("a 1@1 600; b = a", "a 1@1; b = a; k = a", &mirror)),
        ["replace a", "replace b = a"]
    );
    assert_eq!(told(&planned("a 1@1; b = a", "a 1@1; k = a", &mirror)), ["link b = a"]);
}

#[test]
fn bc_19_with_the_option_off_names_are_files_of_their_own() {
    let mut mirror = rule(Mode::Mirror);
    mirror.preserve.hard_links = false;
    assert_eq!(told(&planned("a 1@1; b = a", "", &mirror)), ["copy a", "copy b"]);
    assert_eq!(told(&planned("a 1@1; b 1@1", "a 1@1; b = a", &mirror)), [""; 0]);
    assert_eq!(told(&planned("a 1@1; b 1@1 600", "a 1@1; b = a", &mirror)), ["replace b"]);
    assert_eq!(told(&planned("a 1@1 600; b = a", "a 1@1; b = a", &mirror)), ["metadata a"]);
}

#[test]
fn bc_82_a_place_without_links_gets_copies_and_one_notice() {
    let (source, destination) = (Tree::read(1, "a 1@1; b = a; c = a; x 1@1"), Tree::empty(2));
    let mirror = rule(Mode::Mirror);
    let place = crate::value::Place { hard_links: false, ..place() };
    let plan = seal(compare(&source, &destination), &terms(&mirror, &place));
    assert_eq!(told(&plan), ["copy a", "copy b", "copy c", "copy x"]);
    assert_eq!(plan.notices, [Notice::Unheld { what: Unheld::HardLinks, count: 2 }]);
}

#[test]
fn links_wait_for_a_leader_that_comes_late() {
    let mirror = without_versions(Mode::Mirror);
    assert_eq!(
        told(&planned("a 1@1; b = a", "a/; a/x 1@1; b/", &mirror)),
        ["remove a/x", "replace a", "replace b = a"]
    );
    // A name that need not wait leads.
    assert_eq!(told(&planned("a 1@1; b = a", "a/", &mirror)), ["copy b", "replace a = b"]);
}

#[test]
fn a_backup_that_never_overwrites_leaves_names_on_their_inodes() {
    let never = Rule { overwrite: Overwrite::Never, ..rule(Mode::Backup) };
    assert_eq!(told(&planned("a 1@1; b = a; c = a", "a 1@1; b 1@1", &never)), ["link c = a"]);
    assert_eq!(told(&planned("a 2@2; b = a; c = a", "a 1@1", &never)), ["copy b", "link c = b"]);
    assert_eq!(told(&planned("a/; a/f 1@1", "a 1@1", &never)), [""; 0]);
}

#[test]
fn a_backup_overwrites_by_its_policy() {
    let source = "new 1@1; newer 2@9; older 2@1; equal 2@5; swap 1@1";
    let destination = "newer 1@5; older 1@5; equal 1@5; extra 1@1; swap -> x";
    for (overwrite, expected) in [
        (
            Overwrite::Changed,
            &["replace equal", "copy new", "replace newer", "replace older", "replace swap"][..],
        ),
        (Overwrite::Newer, &["replace equal", "copy new", "replace newer", "replace swap"]),
        (Overwrite::Never, &["copy new"]),
    ] {
        let backup = Rule { overwrite, ..rule(Mode::Backup) };
        assert_eq!(told(&planned(source, destination, &backup)), expected, "{overwrite:?}");
    }
}

#[test]
fn reasons_name_the_newer_side_only_where_there_is_one() {
    let plan = planned(
        "a 2@9; b 2@1; c 2@5; d 1@7; e 1@1 600; l -> y",
        "a 1@5; b 1@5; c 1@5; d 1@5; e 1@1; l -> x",
        &rule(Mode::Mirror),
    );
    let words: Vec<String> = plan
        .actions
        .iter()
        .map(|action| format!("{} {}", plan.path(action), plan.reason_words(action)))
        .collect();
    assert_eq!(
        words,
        [
            "a newer, size differs",
            "b older, size differs",
            "c size differs",
            "d newer, time differs",
            "l target differs",
            "e mode differs",
        ]
    );
}

/// One literal for each kind of entry that a name can be.
const KINDS: [&str; 7] =
    ["x 1@1", "x/", "x/; x/f 1@1; x/d/; x/d/g 2@2", "x -> f", "x -> d/", "x -> gone", "x |"];

#[test]
fn bc_33_each_kind_becomes_each_other() {
    for mode in [Mode::Mirror, Mode::Backup] {
        for versions in [kept_versions(), Versions::None] {
            for source_text in KINDS {
                for destination_text in KINDS {
                    let rule = Rule { versions: versions.clone(), ..rule(mode) };
                    let told = format!("{mode:?} {versions:?}: {destination_text} becomes {source_text}");
                    let (source, destination) = (Tree::read(1, source_text), Tree::read(2, destination_text));
                    let plan = seal(compare(&source, &destination), &terms(&rule, &place()));
                    let after = carry_out(&plan, &rule, &source, &destination);
                    let x = path("x");
                    let was_directory = destination.is_directory(&x) && !source.is_directory(&x);
                    if was_directory && mode == Mode::Backup && versions == Versions::None {
                        assert_eq!(conflicts(&plan), [("x".to_owned(), Conflict::Kind)], "{told}");
                        assert!(plan.actions.is_empty(), "{told}");
                        continue;
                    }
                    assert!(plan.conflicts.is_empty(), "{told}");
                    assert_eq!(after.get(&x), source.get(&x), "{told}");
                    let all = destination.names.len() as u64 - 1;
                    if was_directory {
                        assert_eq!(
                            (plan.totals.replaced_entries, plan.totals.removed_entries),
                            (all, 0),
                            "{told}"
                        );
                    }
                    if mode == Mode::Mirror {
                        assert_eq!(after.names.len(), source.names.len(), "{told}");
                    }
                }
            }
        }
    }
}

#[test]
fn bc_39_what_could_not_be_read_is_not_removed() {
    let mirror = rule(Mode::Mirror);
    let plan = planned(
        "secret/; secret !; a 1@1",
        "secret/; secret/f 1@1; secret/d/; secret/d/g 1@1; old 1@1",
        &mirror,
    );
    assert_eq!(told(&plan), ["copy a", "remove old"]);
    assert_eq!(plan.problems.len(), 1);
    // Neither is a directory of the destination that could not be read, nor one above it.
    let plan = planned("a 1@1", "old/; old/f 1@1; old/secret/; old/secret/g 1@1; old/secret !", &mirror);
    assert_eq!(told(&plan), ["copy a", "remove old/f"]);
    assert_eq!(conflicts(&plan), [("old".to_owned(), Conflict::Unread)]);
    // Nor does its kind change; nobody knows what it holds.
    let plan = planned("old 1@1", "old/; old/f 1@1; old/secret/; old/secret !", &mirror);
    assert_eq!((told(&plan), conflicts(&plan)), (vec![], vec![("old".to_owned(), Conflict::Unread)]));
}

#[test]
fn bc_39_one_entry_that_could_not_be_looked_at_stays_alone() {
    let (source, destination) = (Tree::read(1, ""), Tree::read(2, "a 1@1; b 1@1; d/; d/f 1@1"));
    let mirror = rule(Mode::Mirror);
    for (at, side, expected) in [
        ("a", Side::Source, &["remove d/f", "remove d", "remove b"][..]),
        ("d", Side::Source, &["remove b", "remove a"]),
        ("d/f", Side::Destination, &["remove b", "remove a"]),
    ] {
        let mut draft = compare(&source, &destination);
        draft.problems.push(Problem {
            path: path(at),
            side,
            message: "no".to_owned(),
            extent: Extent::Entry,
        });
        let plan = seal(draft, &terms(&mirror, &place()));
        assert_eq!(told(&plan), expected, "{at}");
    }
    let mut draft = compare(&source, &destination);
    let root =
        Problem { path: path(""), side: Side::Source, message: "no".to_owned(), extent: Extent::Subtree };
    draft.problems.push(root);
    assert!(seal(draft, &terms(&mirror, &place())).actions.is_empty());
}

#[test]
fn bc_39_a_listing_that_broke_off_protects_all_below_it() {
    let source = Tree::read(1, "d/; d/a/; d/a/new 1@1; d !");
    let destination = Tree::read(2, "d/; d/a/; d/a/old 1@1; d/b 1@1");
    let mut draft = compare(&source, &destination);
    draft.problems.clear();
    assert_eq!(told(&seal(draft, &terms(&rule(Mode::Mirror), &place()))), ["copy d/a/new"]);
    // In the destination nobody knows what is new either.
    let (source, destination) =
        (Tree { unreadable: [].into(), ..source }, Tree::read(2, "d/; d/a/; d/a/old 1@1; d !"));
    let mut draft = compare(&source, &destination);
    draft.problems.clear();
    assert_eq!(told(&seal(draft, &terms(&rule(Mode::Mirror), &place()))), [""; 0]);
}

#[test]
fn what_vanished_is_left_for_the_next_run() {
    let (source, destination) = (Tree::read(1, "a 1@1; b 1@1"), Tree::read(2, "a 2@2"));
    let mut draft = compare(&source, &destination);
    draft.directories[0].findings[0].verdict = Verdict::Vanished;
    assert_eq!(told(&seal(draft, &terms(&rule(Mode::Mirror), &place()))), ["copy b"]);
}

#[test]
fn bc_58_a_directory_with_excluded_content_stays_without_an_error() {
    let plan = planned(
        "a 1@1",
        "old/; old/f 1@1; old/in/; old/in/k 1@1; old/in/g 1@1; old/out/; old/out/h 1@1",
        &rule(Mode::Mirror),
    );
    assert_eq!(
        told(&plan),
        ["copy a", "remove old/out/h", "remove old/in/g", "remove old/out", "remove old/f"]
    );
    assert!(plan.conflicts.is_empty());
    assert_eq!(plan.counts.destination_kept, 2, "the two directories that stay");
    assert_eq!(plan.totals.removed_entries, 4);
    // What would become something else cannot: that is a conflict, and nothing below is touched.
    for rule in [rule(Mode::Mirror), rule(Mode::Backup), without_versions(Mode::Mirror)] {
        let plan = planned("old 1@1", "old/; old/f 1@1; old/in/; old/in/k 1@1", &rule);
        assert_eq!((told(&plan), conflicts(&plan)), (vec![], vec![("old".to_owned(), Conflict::KeptBelow)]));
    }
}

#[test]
fn mount_points_and_foreign_destinations_stay() {
    let source = Tree::read(1, "swap 1@1");
    let destination = Tree::read(2, "old/; old/f 1@1; old/m/; swap/; swap/m/");
    let mirror = rule(Mode::Mirror);
    let mut draft = compare(&source, &destination);
    for directory in &mut draft.directories {
        for finding in directory.findings.iter_mut().filter(|finding| &*finding.name == b"m") {
            finding.destination.as_mut().unwrap().mount_root = true;
        }
    }
    let plan = seal(draft, &terms(&mirror, &place()));
    assert_eq!(told(&plan), ["remove old/f"]);
    let mounts = ["old", "old/m", "swap"].map(|path| (path.to_owned(), Conflict::MountPoint));
    assert_eq!(conflicts(&plan), mounts);

    let mut draft = compare(&source, &destination);
    for directory in &mut draft.directories {
        let all = directory.findings.len();
        directory.findings.retain(|finding| &*finding.name != b"m");
        directory.kept += (all - directory.findings.len()) as u64;
    }
    draft.notices = ["old/m", "swap/m"].map(|at| Notice::ForeignDestination { path: path(at) }).to_vec();
    let plan = seal(draft, &terms(&mirror, &place()));
    assert_eq!(told(&plan), ["remove old/f"]);
    assert_eq!(conflicts(&plan), ["old", "swap"].map(|path| (path.to_owned(), Conflict::Foreign)));
}

#[test]
fn passed_through_directories_are_made_only_where_needed() {
    let mirror = rule(Mode::Mirror);
    let plan = planned("d/; d/t/; d/t/a 1@1; t/; t/k 1@1; t/t/", "d/", &mirror);
    assert_eq!(told(&plan), ["mkdir d/t", "copy d/t/a"]);
    assert_eq!(plan.actions[0].reason, Reason::Needed);
    assert_eq!(told(&planned("t/; t/t/; t/t/a 1@1", "", &mirror)), ["mkdir t", "mkdir t/t", "copy t/t/a"]);
    assert_eq!(
        told(&planned("", "t/; t/a 1@1; e/; e/t/; e/t/b 1@1", &mirror)),
        ["remove t/a", "remove e/t/b"]
    );
    // The name in the destination is not the rule's to replace.
    let plan = planned("t/; t/a 1@1", "t 1@1", &mirror);
    assert_eq!((told(&plan), conflicts(&plan)), (vec![], vec![("t".to_owned(), Conflict::KeptBelow)]));
}

#[test]
fn bc_25_names_and_files_that_the_place_cannot_hold_fail_alone() {
    let long = "n".repeat(256);
    let fits = "n".repeat(255);
    let source = Tree::read(
        1,
        &format!("{long} 1@1; {fits} 1@1; big 5000@1; d/; d/big 5000@1; {long}d/; {long}d/f 1@1"),
    );
    let destination = Tree::read(2, "d/; d/big 1@1");
    let place = crate::value::Place { file_bytes_max: 4096, ..place() };
    let plan = seal(compare(&source, &destination), &terms(&rule(Mode::Mirror), &place));
    assert_eq!(told(&plan), [format!("copy {fits}")]);
    let expected =
        ["big", "d/big", &long, &format!("{long}d")].map(|path| (path.to_owned(), Conflict::Unholdable));
    assert_eq!(conflicts(&plan), expected);
}

#[test]
fn bc_28_names_that_differ_by_case_alone_lose_nothing() {
    let place = crate::value::Place { case: Case::Insensitive, ..place() };
    let mirror = rule(Mode::Mirror);
    // Two names of the source: both fail.
    let (source, destination) =
        (Tree::read(1, "Foo 1@1; foo 2@2; Dir/; Dir/f 1@1; dir/; dir/g 1@1; x 1@1"), Tree::empty(2));
    let plan = seal(compare(&source, &destination), &terms(&mirror, &place));
    assert_eq!(told(&plan), ["copy x"]);
    assert_eq!(
        conflicts(&plan),
        ["Dir", "Foo", "dir", "foo"].map(|path| (path.to_owned(), Conflict::Collision))
    );
    // A name that changed its case: the extra one is the same entry and is not removed.
    let (source, destination) = (Tree::read(1, "foo/; foo/a 1@1"), Tree::read(2, "Foo/; Foo/a 1@1; old 1@1"));
    let plan = seal(compare(&source, &destination), &terms(&mirror, &place));
    assert_eq!(told(&plan), ["remove old"]);
    assert_eq!(conflicts(&plan), [("foo".to_owned(), Conflict::Collision)]);
}

#[test]
fn what_user_or_place_cannot_make_is_left_out_and_counted() {
    let (mut source, destination) = (Tree::read(1, "a 1@1; l -> x; m -> y; n 1@1"), Tree::read(2, "l 1@1"));
    let device = source.names[&path("n")];
    source.inodes.get_mut(&device).unwrap().kind = Kind::CharDevice;
    let mirror = rule(Mode::Mirror);
    let place = crate::value::Place { symlinks: false, ..place() };
    let mut terms = terms(&mirror, &place);
    let plan = seal(compare(&source, &destination), &terms);
    assert_eq!(told(&plan), ["copy a", "special n"]);
    terms.user = User::Other;
    let plan = seal(compare(&source, &destination), &terms);
    assert_eq!(told(&plan), ["copy a"]);
    let unheld =
        [(Unheld::Symlinks, 2), (Unheld::Devices, 1)].map(|(what, count)| Notice::Unheld { what, count });
    assert_eq!(plan.notices, unheld);
    assert!(plan.conflicts.is_empty());
}

fn refused(plan: &Plan) -> Vec<&'static str> {
    plan.refusals().map(|check| check.name).collect()
}

/// Files `PREFIX0` … of one size each.
fn files(prefix: &str, numbers: std::ops::Range<u32>, size: impl Fn(u32) -> u32) -> String {
    let files: Vec<String> = numbers.map(|number| format!("{prefix}{number} {}@1", size(number))).collect();
    files.join(";")
}

#[test]
fn limits_count_what_goes_against_what_is_there() {
    let thousand = files("f", 0..1000, |_| 1);
    let part = |from| files("f", from..1000, |_| 1);
    let changed = files("f", 0..1000, |number| 1 + u32::from(number < 501));
    let mirror = rule(Mode::Mirror);
    for (source, expected) in
        [(part(250), &[][..]), (part(251), &["remove"]), (part(300), &["remove"]), (changed, &["replace"])]
    {
        let plan = planned(&source, &thousand, &mirror);
        assert_eq!(refused(&plan), expected);
        let names: Vec<&str> = plan.limits.iter().map(|check| check.name).collect();
        assert_eq!(names, ["remove", "replace", "min_free"]);
        assert_eq!((plan.limits[0].base, plan.limits[0].allowed), (1000, Some(250)));
    }
    // The run's own limits stand over the rule's; a base from elsewhere stands over what was counted.
    let (source, destination) = (Tree::read(1, &part(300)), Tree::read(2, &thousand));
    let place = place();
    let mut terms = terms(&mirror, &place);
    terms.limits.remove = Limit::Count(300);
    assert!(refused(&seal(compare(&source, &destination), &terms)).is_empty());
    terms.limits.remove = Limit::Share(Percent::whole(25));
    terms.base = Some(1200);
    assert!(refused(&seal(compare(&source, &destination), &terms)).is_empty());
}

#[test]
fn a_directory_that_becomes_a_file_counts_with_all_below_it() {
    let (below, rest) = (files("d/f", 0..60, |_| 1), files("g", 0..40, |_| 1));
    for rule in [rule(Mode::Mirror), rule(Mode::Backup), without_versions(Mode::Mirror)] {
        let plan = planned(&format!("d 1@1; {rest}"), &format!("d/; {below}; {rest}"), &rule);
        if rule.mode == Mode::Backup || rule.versions != Versions::None {
            assert_eq!(plan.actions.len(), 1);
        }
        assert_eq!(refused(&plan), ["replace"]);
        assert_eq!((plan.totals.replaced_entries, plan.totals.removed_entries), (61, 0));
    }
}

#[test]
fn bc_50_an_emptied_source_is_seen() {
    assert!(planned("d/", "d/; d/f 1@1", &rule(Mode::Mirror)).is_source_empty());
    assert!(!planned("l -> x", "", &rule(Mode::Mirror)).is_source_empty());
}

#[test]
fn bc_18_room_is_counted_in_allocated_bytes() {
    let (mut source, destination) =
        (Tree::read(1, "img 5000000@1; n 1@1; n2 = n"), Tree::read(2, "old 90000@1"));
    let mirror = without_versions(Mode::Mirror);
    let before = Rule { remove: Remove::Before, ..mirror.clone() };
    let place = crate::value::Place { free_bytes: 10_000, total_bytes: 100_000, ..place() };
    let sparse = |source: &Tree| {
        let mut draft = compare(source, &destination);
        for finding in &mut draft.directories[0].findings {
            if let Some(meta) = finding.source.as_mut().filter(|meta| meta.size > 4096) {
                meta.allocated = 4096;
            }
        }
        draft
    };
    // 4096 for the image with its holes, 4096 for the file with two names; 1 % of 100,000 stays free.
    let plan = seal(sparse(&source), &terms(&mirror, &place));
    assert_eq!((plan.totals.bytes, plan.totals.allocated), (5_000_001, 8192));
    assert_eq!((plan.limits[2].allowed, plan.limits[2].base, refused(&plan)), (Some(9000), 100_000, vec![]));
    let mut tight = terms(&mirror, &place);
    tight.limits.min_free = MinFree::Bytes(ByteCount(1809));
    assert_eq!(refused(&seal(sparse(&source), &tight)), ["min_free"]);
    tight.limits.min_free = MinFree::Bytes(ByteCount(1808));
    assert_eq!(refused(&seal(sparse(&source), &tight)), [""; 0]);
    // `remove: before` makes room first.
    let mut early = terms(&before, &place);
    early.limits.min_free = MinFree::Bytes(ByteCount(10_000));
    let plan = seal(sparse(&source), &early);
    assert_eq!((plan.limits[2].planned, refused(&plan)), (0, vec![]));
    // Without holes kept, the whole size counts.
    let mut whole = mirror.clone();
    whole.preserve.sparse = false;
    assert_eq!(refused(&seal(sparse(&source), &terms(&whole, &place))), ["min_free"]);
    // A full disk does not refuse a plan that writes nothing.
    source.take(&path("img"));
    source.take(&path("n"));
    source.take(&path("n2"));
    let full = crate::value::Place { free_bytes: 0, ..place.clone() };
    assert_eq!(refused(&seal(compare(&source, &destination), &terms(&mirror, &full))), [""; 0]);
}

#[test]
fn lists_are_put_in_order_and_notices_summed() {
    let mut draft = compare(&Tree::read(1, "b/; b/f 1@1; a/; a/f 1@1"), &Tree::empty(2));
    draft.source_mounts = vec![path("b/m"), path("a")];
    let problem = |at: &str, side, message: &str| Problem {
        path: path(at),
        side,
        message: message.to_owned(),
        extent: Extent::Entry,
    };
    let problems = [
        problem("a", Side::Source, "x"),
        problem("a", Side::Source, "y"),
        problem("a", Side::Destination, "x"),
        problem("b", Side::Source, "x"),
    ];
    draft.problems = problems.iter().rev().cloned().collect();
    draft.notices = vec![
        Notice::StageNames { count: 1 },
        Notice::LeftOut { kind: Kind::Socket, count: 2 },
        Notice::MountPoint { path: path("b"), entered: true },
        Notice::StageNames { count: 2 },
        Notice::LeftOut { kind: Kind::Fifo, count: 1 },
        Notice::LeftOut { kind: Kind::Socket, count: 3 },
        Notice::MountPoint { path: path("a"), entered: false },
    ];
    for directory in &mut draft.directories {
        directory.stale_stages = vec![(*b".twinlane-y").into(), (*b".twinlane-x").into()];
    }
    draft.directories.reverse();
    let plan = seal(draft, &terms(&rule(Mode::Mirror), &place()));
    assert_eq!(plan.source_mounts, [path("a"), path("b/m")]);
    assert_eq!(plan.problems, problems);
    assert_eq!(plan.stale_stages.len(), 6);
    assert!(plan.stale_stages.is_sorted());
    let held = plan.stale_stages.iter().map(|stage| stage.parent().unwrap());
    for directory in held {
        assert!(
            plan.directories.iter().any(|planned| planned.path == directory),
            "{directory} is to get its time back"
        );
    }
    assert_eq!(
        plan.notices,
        [
            Notice::MountPoint { path: path("a"), entered: false },
            Notice::MountPoint { path: path("b"), entered: true },
            Notice::LeftOut { kind: Kind::Fifo, count: 1 },
            Notice::LeftOut { kind: Kind::Socket, count: 5 },
            Notice::StageNames { count: 3 },
        ]
    );
}

#[test]
fn an_empty_draft_is_an_empty_plan() {
    let plan = seal(crate::compare::Draft::default(), &terms(&rule(Mode::Mirror), &place()));
    assert!(plan.actions.is_empty());
    assert_eq!(plan.directories.len(), 1, "the root");
    assert_eq!(plan.limits.len(), 3);
}

/// As [`planned`], with every move that can be found.
fn moved(source: &str, destination: &str, place: &crate::value::Place) -> Plan {
    let rule = rule(Mode::Mirror);
    let (source, destination) = (Tree::read(1, source), Tree::read(2, destination));
    let plan = seal(with_moves(compare(&source, &destination)), &terms(&rule, place));
    carry_out(&plan, &rule, &source, &destination);
    plan
}

#[test]
fn the_ends_of_chains_are_moved_first() {
    let plan = moved(
        "log 9@9; log.1 1@1; log.2 2@2; log.3 3@3",
        "log 1@1; log.1 2@2; log.2 3@3; log.3 4@4",
        &place(),
    );
    let expected = ["move log.3 = log.2", "move log.2 = log.1", "move log.1 = log", "replace log"];
    assert_eq!(told(&plan), expected);
    assert_eq!((plan.totals.bytes, plan.totals.replaced_entries, plan.totals.removed_entries), (9, 1, 0));
}

#[test]
fn a_folder_with_another_name_counts_as_one_removal() {
    let names = |folder: &str| -> String {
        let files: Vec<String> = (1..=30).map(|number| format!("{folder}/{number} {number}@1")).collect();
        format!("{folder}/; {}", files.join("; "))
    };
    let plan = moved(&names("new"), &names("old"), &place());
    let totals = &plan.totals;
    assert_eq!((totals.moves, totals.mkdir, totals.remove, totals.bytes), (30, 1, 1, 0));
    assert_eq!((totals.removed_entries, totals.replaced_entries, totals.allocated), (1, 0, 0));
    assert_eq!(plan.refusals().count(), 0);
    assert!(plan.actions.iter().any(|action| action.reason == Reason::Emptied));
}

#[test]
fn what_moves_out_of_a_folder_that_becomes_a_file_counts_as_nothing() {
    let rule = Rule { versions: Versions::None, ..rule(Mode::Mirror) };
    let (source, destination) = (Tree::read(1, "c 5@5; d 2@2"), Tree::read(2, "a 9@9; c/; c/a 2@2; c/b 3@3"));
    let plan = seal(with_moves(compare(&source, &destination)), &terms(&rule, &place()));
    carry_out(&plan, &rule, &source, &destination);
    let totals = &plan.totals;
    assert_eq!(
        (totals.moves, totals.removed_entries, totals.replaced_entries),
        (1, 1, 2),
        "{:?}",
        told(&plan)
    );
}

#[test]
fn rings_are_broken_at_their_smallest_file_and_pairs_where_the_place_cannot_exchange() {
    let ring = ("a 3@3; b 1@1; c 2@2", "a 1@1; b 2@2; c 3@3");
    assert_eq!(told(&moved(ring.0, ring.1, &place())), ["move a = c", "move c = b", "replace b"]);
    let pair = ("a 2@2; b 1@1", "a 1@1; b 2@2");
    assert_eq!(told(&moved(pair.0, pair.1, &place())), ["move a = b", "move b = a"]);
    let bare = crate::value::Place { exchange: false, ..place() };
    assert_eq!(told(&moved(pair.0, pair.1, &bare)), ["move a = b", "replace b"]);
}

#[test]
fn without_hard_links_only_free_names_are_given() {
    let bare = crate::value::Place { hard_links: false, ..place() };
    let plan = moved("b 1@1; c 3@3; d 4@4", "a 1@1; c 4@4; e 3@3", &bare);
    assert_eq!(told(&plan), ["move b = a", "replace c", "copy d", "remove e"]);
}

#[test]
fn nothing_is_moved_to_another_file_system() {
    let (source, destination) = (Tree::read(1, "d/; d/b 1@1"), Tree::read(2, "a 1@1; d/"));
    let mut draft = with_moves(compare(&source, &destination));
    let mounted = draft.directories.iter_mut().find(|directory| directory.path == path("d")).unwrap();
    mounted.destination.as_mut().unwrap().device = 3;
    let plan = seal(draft, &terms(&rule(Mode::Mirror), &place()));
    assert_eq!(told(&plan), ["copy d/b", "remove a"]);
}
