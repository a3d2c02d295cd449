//! Runs that end early: no room, a wish to stop, a lost destination. What was done is whole, nothing of the rest is left.

use super::bed::{Bed, Mounted, chmod, failures, mode, stages};
use crate::execute::{Ended, Fact, FailureKind};
use crate::job::Durability;

/// BC-41: the old content stays, the stage goes at once, smaller files are still tried.
#[test]
fn bc_41_no_room_for_a_large_file() {
    for workers in [1, 3] {
        let Some(mounted) = Mounted::tmpfs("size=4m") else { return };
        let mut bed = Bed::new();
        bed.workers = workers;
        bed.destination = mounted.0.clone();
        let old = bed.destination.join("f");
        std::fs::write(&old, vec![b'o'; 100_000]).unwrap();
        bed.write("source/f", vec![b'n'; 8 << 20]);
        for number in 0..10 {
            bed.write(&format!("source/small/{number}"), format!("content {number}"));
        }
        bed.write("source/z-large", vec![b'z'; 9 << 20]);
        let planned = bed.planned();
        let outcome = planned.execute();
        assert_eq!(outcome.ended, Ended::Stopped { reason: "the destination is full".to_owned() });
        let full = |path: &str| (path.to_owned(), FailureKind::Full);
        assert_eq!(failures(&outcome), [full("f"), full("z-large")], "{:?}", outcome.failures);
        assert_eq!(std::fs::read(&old).unwrap(), vec![b'o'; 100_000]);
        for number in 0..10 {
            let content = std::fs::read_to_string(bed.destination.join(format!("small/{number}"))).unwrap();
            assert_eq!(content, format!("content {number}"));
        }
        assert_eq!(stages(&bed.destination).len(), 0);
        drop(planned);
    }
}

#[test]
fn bc_41_no_inodes() {
    let Some(mounted) = Mounted::tmpfs("nr_inodes=16") else { return };
    let mut bed = Bed::new();
    bed.destination = mounted.0.clone();
    for number in 0..30 {
        bed.write(&format!("source/{number:02}"), "x");
    }
    let planned = bed.planned();
    let outcome = planned.execute();
    assert_eq!(outcome.ended, Ended::Stopped { reason: "the destination is full".to_owned() });
    assert!(outcome.done.iter().any(|done| *done) && outcome.failures.len() > 10);
    assert!(outcome.failures.iter().any(|failure| failure.what == FailureKind::Full));
    drop(planned);
}

#[test]
fn a_drained_run_finishes_what_it_has_in_hand() {
    for workers in [1, 3] {
        let mut bed = Bed::new();
        bed.workers = workers;
        bed.as_root = false;
        bed.rule.durability = Durability::None;
        for number in 0..300 {
            bed.write(&format!("source/d/{number:03}"), format!("content {number}"));
        }
        bed.write("destination/d/extra", "extra");
        chmod(&bed.path("destination/d"), 0o555);
        chmod(&bed.path("source/d"), 0o555);
        let planned = bed.planned();
        let cancel = bed.cancel.clone();
        let mut seen = 0;
        let (outcome, _) = planned.execute_with(|fact| {
            seen += usize::from(matches!(fact, Fact::Done { .. }));
            if seen == 3 {
                cancel.raise();
            }
        });
        assert_eq!(outcome.ended, Ended::Interrupted);
        assert_eq!(outcome.failures, []);
        let done = outcome.done.iter().filter(|done| **done).count();
        assert!((3..300).contains(&done), "{done}");
        assert!(bed.exists("destination/d/extra"), "nothing is begun after the wish");
        assert_eq!(mode(&bed.path("destination/d")), 0o555, "the mode is back");
        for (action, done) in planned.plan.actions.iter().zip(&outcome.done) {
            let path =
                bed.destination.join(crate::platform::path_from_bytes(planned.plan.path(action).as_bytes()));
            if *done && action.kind == crate::plan::ActionKind::Copy {
                assert!(std::fs::read_to_string(&path).unwrap().starts_with("content "));
            }
        }
        chmod(&bed.path("source/d"), 0o755);
        chmod(&bed.path("destination/d"), 0o755);
    }
}

#[test]
fn an_aborted_run_leaves_no_stage() {
    for workers in [1, 3] {
        let mut bed = Bed::new();
        bed.workers = workers;
        bed.as_root = false;
        bed.write("destination/d/large", "old");
        for number in 0..4 {
            bed.write(&format!("source/d/{number}"), vec![b'x'; 16 << 20]);
        }
        bed.write("source/d/large", vec![b'x'; 64 << 20]);
        chmod(&bed.path("destination/d"), 0o555);
        let planned = bed.planned();
        let cancel = bed.cancel.clone();
        let outcome = std::thread::scope(|scope| {
            scope.spawn(|| {
                while stages(&bed.destination).is_empty() {
                    std::thread::yield_now();
                }
                cancel.raise();
                cancel.raise();
            });
            planned.execute()
        });
        assert_eq!(outcome.ended, Ended::Interrupted);
        assert_eq!(bed.read("destination/d/large"), "old");
        assert_eq!(mode(&bed.path("destination/d")), 0o555);
        chmod(&bed.path("destination/d"), 0o755);
    }
}

#[test]
fn a_run_that_is_stopped_before_it_begins_does_nothing() {
    let bed = Bed::new();
    bed.write("source/f", "x");
    bed.write("source/d/g", "x");
    bed.write("destination/extra", "x");
    let planned = bed.planned();
    bed.cancel.raise();
    let (outcome, facts) = planned.execute_with(|_| {});
    assert_eq!((outcome.ended, facts.len()), (Ended::Interrupted, 0));
    assert!(!bed.exists("destination/f") && !bed.exists("destination/d") && bed.exists("destination/extra"));
}

#[test]
fn a_destination_that_becomes_read_only_stops_the_run() {
    let Some(mounted) = Mounted::tmpfs("size=4m") else { return };
    let mut bed = Bed::new();
    bed.destination = mounted.0.clone();
    for number in 0..5 {
        bed.write(&format!("source/{number}"), "x");
    }
    let planned = bed.planned();
    // SQLite keeps nothing open for writing before its first transaction.
    if !super::bed::run(&format!("mount -o remount,ro '{}' 2>/dev/null", mounted.0.display())) {
        eprintln!("skipped: cannot remount");
        return;
    }
    let outcome = planned.execute();
    assert!(matches!(outcome.ended, Ended::Stopped { .. }), "{:?}", outcome.ended);
    assert_eq!(
        failures(&outcome).iter().filter(|(path, _)| path.len() == 1).count(),
        1,
        "{:?}",
        outcome.failures
    );
    drop(planned);
}
