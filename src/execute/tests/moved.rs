//! What changes between the plan and the action is left alone, whichever side it is on.

use std::os::unix::fs::{MetadataExt as _, symlink};
use std::sync::atomic::{AtomicBool, Ordering};

use super::bed::{Bed, failures, stages, touch};
use crate::execute::{Ended, Fact, FailureKind};
use crate::job::Unsettled;

#[test]
fn bc_37_sources_that_change_after_the_plan() {
    for workers in [1, 3] {
        let mut bed = Bed::new();
        bed.workers = workers;
        for name in ["gone", "replaced", "cut", "linked", "fine"] {
            bed.write(&format!("source/{name}"), "planned");
        }
        bed.write("source/there", "planned");
        bed.write("destination/there", "old");
        bed.write("source/directory/f", "planned");
        let planned = bed.planned();
        std::fs::remove_file(bed.path("source/gone")).unwrap();
        bed.write("source/other", "planned");
        std::fs::rename(bed.path("source/other"), bed.path("source/replaced")).unwrap();
        std::fs::write(bed.path("source/cut"), "").unwrap();
        std::fs::remove_file(bed.path("source/linked")).unwrap();
        symlink("/etc/passwd", bed.path("source/linked")).unwrap();
        std::fs::write(bed.path("source/there"), "newer").unwrap();
        std::fs::remove_dir_all(bed.path("source/directory")).unwrap();
        let (outcome, facts) = planned.execute_with(|_| {});
        let moved = |name: &str| (name.to_owned(), FailureKind::MovedSince);
        assert_eq!(failures(&outcome), [moved("cut"), moved("linked"), moved("replaced"), moved("there")]);
        assert_eq!(outcome.vanished, 3, "a file, a directory and the file in it");
        assert_eq!(facts.iter().filter(|fact| matches!(fact, Fact::Vanished { .. })).count(), 3);
        assert_eq!(outcome.ended, Ended::Finished);
        assert_eq!(bed.read("destination/fine"), "planned");
        assert_eq!(bed.read("destination/there"), "old");
        for name in ["gone", "replaced", "cut", "linked", "directory"] {
            assert!(!bed.exists(&format!("destination/{name}")), "{name}");
        }
    }
}

#[test]
fn destinations_that_change_after_the_plan() {
    let bed = Bed::new();
    for name in ["appeared", "changed", "mended", "removed-extra", "swapped"] {
        bed.write(&format!("source/{name}"), "new");
    }
    for name in ["changed", "extra", "swapped"] {
        bed.write(&format!("destination/{name}"), "old content");
    }
    bed.write("destination/mended", "new");
    touch(&bed.path("destination/mended"), 1_000_000_000);
    super::bed::chmod(&bed.path("destination/mended"), 0o600);
    let planned = bed.planned();
    for name in ["appeared", "changed", "extra", "mended"] {
        std::fs::write(bed.path(&format!("destination/{name}")), "somebody's").unwrap();
    }
    // Same size, same mtime, another inode.
    bed.write("destination/other", "OLD CONTENT");
    std::fs::rename(bed.path("destination/other"), bed.path("destination/swapped")).unwrap();
    let outcome = planned.execute();
    let moved = |name: &str| (name.to_owned(), FailureKind::MovedSince);
    let withheld = ("extra".to_owned(), FailureKind::Withheld);
    assert_eq!(
        failures(&outcome),
        [moved("appeared"), moved("changed"), withheld, moved("mended"), moved("swapped")]
    );
    for name in ["appeared", "changed", "extra", "mended"] {
        assert_eq!(bed.read(&format!("destination/{name}")), "somebody's");
    }
    assert_eq!(bed.read("destination/swapped"), "OLD CONTENT");
    assert_eq!(bed.read("destination/removed-extra"), "new");
}

/// BC-32, BC-95: the directory itself is swapped for a symlink, or for another directory.
#[test]
fn bc_32_bc_95_a_directory_is_swapped_after_the_plan() {
    let bed = Bed::new();
    for name in ["symlinked", "other"] {
        bed.write(&format!("source/{name}/f"), "new content");
        bed.write(&format!("destination/{name}/f"), "old");
        bed.write(&format!("destination/{name}/extra"), "old");
    }
    bed.write("outside/f", "outside");
    bed.write("outside/extra", "outside");
    let planned = bed.planned();
    for name in ["symlinked", "other"] {
        std::fs::rename(bed.path(&format!("destination/{name}")), bed.path(&format!("away-{name}"))).unwrap();
    }
    symlink(bed.path("outside"), bed.path("destination/symlinked")).unwrap();
    bed.write("destination/other/extra", "another");
    let outcome = planned.execute();
    let done = planned.plan.actions.iter().zip(&outcome.done).filter(|(_, done)| **done);
    assert!(done.into_iter().all(|(action, _)| planned.plan.path(action).is_root()), "{:?}", outcome.done);
    let all = failures(&outcome);
    for path in ["other/f", "symlinked/f"] {
        assert!(all.contains(&(path.to_owned(), FailureKind::MovedSince)), "{all:?}");
    }
    for path in ["outside/f", "outside/extra"] {
        assert_eq!(bed.read(path), "outside");
    }
    assert_eq!(bed.read("destination/other/extra"), "another");
    assert_eq!(bed.read("away-other/f"), "old");
    assert!(!bed.exists("outside/.twinlane"));
}

#[test]
fn a_file_that_got_a_further_name_is_not_mended_in_place() {
    let bed = Bed::new();
    bed.write("source/f", "x");
    bed.converge();
    super::bed::chmod(&bed.path("destination/f"), 0o600);
    let planned = bed.planned();
    std::fs::hard_link(bed.path("destination/f"), bed.path("snapshot")).unwrap();
    let outcome = planned.execute();
    assert_eq!(failures(&outcome), [("f".to_owned(), FailureKind::MovedSince)]);
    assert_eq!(super::bed::mode(&bed.path("snapshot")), 0o600);
}

/// Appends to the source for as long as the run goes, beginning when its first stage file appears.
fn while_appending(bed: &Bed, path: &str, act: impl FnOnce()) {
    use std::io::Write as _;
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while stages(&bed.destination).is_empty() && !over.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            let mut file = std::fs::OpenOptions::new().append(true).open(bed.path(path)).unwrap();
            while !over.load(Ordering::Relaxed) {
                file.write_all(b"more").unwrap();
                std::thread::sleep(std::time::Duration::from_micros(300));
            }
        });
        act();
        over.store(true, Ordering::Relaxed);
    });
}

/// BC-35: never a silent cut, never an endless chase.
#[test]
fn bc_35_a_source_that_grows_while_it_is_copied() {
    let mut bed = Bed::new();
    bed.rule.retries = 1;
    bed.write("source/log", vec![b'l'; 24 << 20]);
    while_appending(&bed, "source/log", || {
        let planned = bed.planned();
        let outcome = planned.execute();
        assert_eq!(failures(&outcome), [("log".to_owned(), FailureKind::Unsettled)]);
        assert_eq!(outcome.done, [false, true], "and the root's time");
    });
    // There was nothing: the torn copy is better, and is copied again.
    assert!(bed.path("destination/log").metadata().unwrap().len() >= 24 << 20);
    let older = |name: &str| bed.path(&format!("{name}/log")).metadata().unwrap().mtime_nsec();
    assert_ne!(older("source"), older("destination"));
    touch(&bed.path("source/log"), 9);
    bed.converge();
    // There is a whole copy: it stays.
    let whole = bed.path("destination/log").metadata().unwrap().len();
    touch(&bed.path("source/log"), 10);
    while_appending(&bed, "source/log", || {
        let outcome = bed.planned().execute();
        assert_eq!(failures(&outcome), [("log".to_owned(), FailureKind::Unsettled)]);
    });
    assert_eq!(bed.path("destination/log").metadata().unwrap().len(), whole);
    bed.rule.unsettled = Unsettled::Publish;
    touch(&bed.path("source/log"), 11);
    while_appending(&bed, "source/log", || {
        let outcome = bed.planned().execute();
        assert_eq!(outcome.failures, []);
        assert_eq!(outcome.warnings.len(), 1);
    });
    assert!(bed.path("destination/log").metadata().unwrap().len() > whole);
}

#[test]
fn a_file_that_was_touched_just_now_is_read_after_its_grain() {
    for workers in [1, 2] {
        let mut bed = Bed::new();
        bed.workers = workers;
        bed.write("source/old", "x");
        std::fs::write(bed.path("source/young"), "y").unwrap();
        bed.converge();
    }
}

/// BC-21: files that claim to be empty are read to their end.
#[test]
fn bc_21_pseudo_files() {
    let mut bed = Bed::new();
    bed.source = "/proc/sys/kernel/random".into();
    if !bed.source.exists() {
        eprintln!("skipped: no /proc/sys/kernel/random");
        return;
    }
    let outcome = bed.planned().execute();
    assert_eq!(bed.path("destination/uuid").metadata().unwrap().len(), 37, "{:?}", outcome.failures);
}
