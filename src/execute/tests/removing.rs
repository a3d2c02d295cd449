//! Removals: what may go goes, into versions where there are any; what something else depends on stays.

use super::bed::{Bed, failures, version};
use crate::execute::FailureKind;
use crate::job::Remove;
use crate::plan::{Extent, Problem, Side};
use crate::value::RelPath;

fn problem() -> Problem {
    Problem {
        path: RelPath::parse(b"unread").unwrap(),
        side: Side::Source,
        message: "cannot read".to_owned(),
        extent: Extent::Subtree,
    }
}

#[test]
fn extras_go_to_versions_children_first() {
    for (ordered, workers) in [(true, 1), (false, 1), (true, 3)] {
        let mut bed = Bed::new();
        bed.workers = workers;
        bed.mend_place = if ordered { |place| place.ordered = true } else { |place| place.ordered = false };
        bed.write("source/keep", "x");
        bed.write("destination/gone/deep/a", "a");
        bed.write("destination/gone/b", "b");
        bed.write("destination/c", "c");
        std::os::unix::fs::symlink("x", bed.path("destination/gone/l")).unwrap();
        let planned = bed.planned();
        let outcome = planned.execute();
        assert_eq!(outcome.failures, []);
        bed.assert_equal();
        for (path, content) in [("gone/deep/a", "a"), ("gone/b", "b"), ("c", "c")] {
            assert_eq!(bed.read(&version(planned.run, path)), content);
        }
        assert!(bed.exists(&version(planned.run, "gone/l")));
    }
}

/// More directories than handles are kept: each was opened for writing and is gone in the end.
#[test]
fn many_read_only_directories_go() {
    for versions in [true, false] {
        let mut bed = Bed::new();
        if !versions {
            bed = bed.without_versions();
        }
        bed.as_root = false;
        bed.write("source/keep/f", "x");
        bed.write("destination/keep/f", "other");
        for number in 0..300 {
            let path = format!("destination/keep/{number}");
            bed.write(&format!("{path}/f"), "x");
            super::bed::chmod(&bed.path(&path), 0o555);
        }
        bed.converge();
    }
}

#[test]
fn without_versions_extras_are_gone_before_or_after() {
    for remove in [Remove::After, Remove::Before] {
        let mut bed = Bed::new().without_versions();
        bed.rule.remove = remove;
        bed.write("source/keep", "x");
        bed.write("destination/gone/deep/a", "a");
        bed.write("destination/c", "c");
        bed.converge();
        assert!(!bed.exists("destination/.twinlane/versions"));
    }
}

#[test]
fn a_failed_copy_keeps_what_is_beside_and_above_it() {
    let bed = Bed::new();
    bed.write("source/d/f", "x");
    bed.write("source/e/g", "y");
    bed.write("destination/d/f", "old");
    for path in ["d/extra", "d/full/h", "e/extra"] {
        bed.write(&format!("destination/{path}"), "old");
    }
    let planned = bed.planned();
    std::fs::write(bed.path("destination/d/f"), "somebody's").unwrap();
    let outcome = planned.execute();
    let all = failures(&outcome);
    let expected = [
        ("d/extra".to_owned(), FailureKind::Withheld),
        ("d/f".to_owned(), FailureKind::MovedSince),
        ("d/full".to_owned(), FailureKind::Withheld),
    ];
    assert_eq!(all, expected);
    assert!(bed.exists("destination/d/extra") && !bed.exists("destination/e/extra"));
    assert!(bed.exists(&version(planned.run, "e/extra")));
}

#[test]
fn without_versions_one_failure_anywhere_cancels_all_removals() {
    let bed = Bed::new().without_versions();
    bed.write("source/d/f", "x");
    bed.write("destination/e/extra", "old");
    let planned = bed.planned();
    std::fs::write(bed.path("source/d/f"), "changed").unwrap();
    let outcome = planned.execute();
    assert!(failures(&outcome).contains(&("e/extra".to_owned(), FailureKind::Withheld)));
    assert_eq!(bed.read("destination/e/extra"), "old");

    let bed = Bed::new().without_versions();
    bed.write("source/f", "x");
    bed.write("destination/extra", "old");
    let mut planned = bed.planned();
    planned.plan.problems.push(problem());
    assert_eq!(failures(&planned.execute()), [("extra".to_owned(), FailureKind::Withheld)]);
    assert_eq!(bed.read("destination/extra"), "old");
}

#[test]
fn what_appears_in_a_directory_that_goes_stays_with_it() {
    let bed = Bed::new();
    bed.write("source/keep", "x");
    bed.write("destination/gone/below/a", "a");
    let planned = bed.planned();
    bed.write("destination/gone/mine", "mine");
    let outcome = planned.execute();
    assert_eq!(failures(&outcome), [("gone".to_owned(), FailureKind::MovedSince)]);
    assert_eq!(bed.read("destination/gone/mine"), "mine");
}

#[test]
fn what_appears_in_the_source_again_is_not_removed() {
    let bed = Bed::new();
    bed.write("source/keep", "x");
    bed.write("destination/back", "b");
    bed.write("destination/gone/a", "a");
    let planned = bed.planned();
    bed.write("source/back", "b");
    bed.write("source/gone/a", "a");
    let outcome = planned.execute();
    let moved = |path: &str, what| (path.to_owned(), what);
    assert_eq!(
        failures(&outcome),
        [
            moved("back", FailureKind::MovedSince),
            moved("gone", FailureKind::Withheld),
            moved("gone/a", FailureKind::MovedSince)
        ]
    );
    assert_eq!(bed.read("destination/gone/a"), "a");
}

#[test]
fn a_directory_that_could_not_be_emptied_is_not_replaced() {
    let bed = Bed::new().without_versions();
    bed.write("source/x", "file");
    bed.write("destination/x/a", "a");
    let planned = bed.planned();
    bed.write("destination/x/mine", "mine");
    let outcome = planned.execute();
    assert_eq!(failures(&outcome), [("x".to_owned(), FailureKind::MovedSince)]);
    assert_eq!(bed.read("destination/x/mine"), "mine");
}
