//! Each kind of action, and each change of kind, with versions and without.

use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::path::Path;

use super::bed::{Bed, inode, run, touch, version};
use crate::plan::ActionKind;

#[test]
fn makes_every_kind_of_entry_and_a_second_run_has_nothing_to_do() {
    for workers in [1, 3] {
        let mut bed = Bed::new();
        bed.workers = workers;
        bed.write("source/a", "one");
        bed.write("source/deep/er/b", "two".repeat(50_000));
        bed.write("source/empty", "");
        std::fs::create_dir(bed.path("source/hollow")).unwrap();
        symlink("../gone", bed.path("source/deep/link")).unwrap();
        std::fs::hard_link(bed.path("source/a"), bed.path("source/deep/twin")).unwrap();
        assert!(run(&format!("mkfifo '{}'", bed.path("source/pipe").display())));
        drop(std::os::unix::net::UnixListener::bind(bed.path("source/socket")).unwrap());
        touch(&bed.source, 5);
        let planned = bed.planned();
        let (outcome, facts) = planned.execute_with(|_| {});
        assert_eq!(outcome.failures, []);
        assert_eq!(facts.len(), planned.plan.actions.len(), "one fact an action");
        assert_eq!(outcome.bytes, 3 + 150_000);
        bed.assert_equal();
        assert_eq!(inode(&bed.path("destination/a")), inode(&bed.path("destination/deep/twin")));
        assert!(bed.path("destination/pipe").symlink_metadata().unwrap().file_type().is_fifo());
        assert_eq!(planned.digest("a").unwrap(), crate::value::Digest(*blake3::hash(b"one").as_bytes()));
        assert_eq!(planned.digest("deep/twin"), None, "no bytes passed for a link");
    }
}

#[test]
fn a_replaced_file_is_in_versions_with_all_it_had() {
    let bed = Bed::new();
    bed.write("source/d/f", "new");
    bed.write("destination/d/f", "old content");
    touch(&bed.path("destination/d/f"), 77);
    let planned = bed.planned();
    assert_eq!(planned.execute().failures, []);
    bed.assert_equal();
    let version = version(planned.run, "d/f");
    assert_eq!(bed.read(&version), "old content");
    let modified = bed.path(&version).metadata().unwrap().modified().unwrap();
    assert_eq!(modified.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs(), 77);
}

/// BC-38: the old inode goes on, the name gets a new one.
#[test]
fn bc_38_a_running_program_is_replaced() {
    for versions in [true, false] {
        let mut bed = Bed::new();
        if !versions {
            bed = bed.without_versions();
        }
        std::fs::copy("/bin/true", bed.path("source/s")).unwrap();
        std::fs::copy("/bin/sleep", bed.path("destination/s")).unwrap();
        touch(&bed.path("source/s"), 9);
        let mut child = std::process::Command::new(bed.path("destination/s")).arg("30").spawn().unwrap();
        bed.converge();
        assert_eq!(child.try_wait().unwrap(), None, "the process lives");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn a_broken_link_group_is_broken_in_the_destination() {
    let bed = Bed::new();
    bed.write("source/a", "shared");
    std::fs::hard_link(bed.path("source/a"), bed.path("source/b")).unwrap();
    bed.converge();
    assert_eq!(inode(&bed.path("destination/a")), inode(&bed.path("destination/b")));
    std::fs::remove_file(bed.path("source/a")).unwrap();
    bed.write("source/a", "mine now");
    touch(&bed.path("source/a"), 44);
    bed.converge();
    assert_eq!(bed.read("destination/a"), "mine now");
    assert_eq!(bed.read("destination/b"), "shared");
}

#[test]
fn a_group_that_is_replaced_is_one_inode_again() {
    for workers in [1, 2] {
        let mut bed = Bed::new();
        bed.workers = workers;
        bed.write("source/a", "shared");
        std::fs::hard_link(bed.path("source/a"), bed.path("source/b")).unwrap();
        bed.converge();
        // Both names of the old inode are displaced by one run; neither may count as moved for the other's sake.
        bed.write("source/a", "another");
        touch(&bed.path("source/a"), 55);
        let planned = bed.planned();
        assert_eq!(planned.execute().failures, []);
        bed.assert_equal();
        assert_eq!(inode(&bed.path("destination/a")), inode(&bed.path("destination/b")));
        for name in ["a", "b"] {
            assert_eq!(bed.read(&version(planned.run, name)), "shared");
        }
    }
}

/// Linking changes the leader's inode; that must not count as moved when its metadata is mended afterwards.
#[test]
fn a_leader_that_gets_a_name_and_other_metadata() {
    let bed = Bed::new();
    bed.write("source/a", "shared");
    bed.converge();
    std::fs::hard_link(bed.path("source/a"), bed.path("source/b")).unwrap();
    super::bed::chmod(&bed.path("source/a"), 0o750);
    bed.converge();
    assert_eq!(inode(&bed.path("destination/a")), inode(&bed.path("destination/b")));
    assert_eq!(super::bed::mode(&bed.path("destination/b")), 0o750);
}

#[test]
fn a_link_whose_leader_is_not_there_becomes_a_copy() {
    let bed = Bed::new();
    bed.write("source/a", "shared");
    std::fs::hard_link(bed.path("source/a"), bed.path("source/b")).unwrap();
    let mut planned = bed.planned();
    planned.plan.actions.retain(|action| action.kind != ActionKind::Copy);
    let outcome = planned.execute();
    assert_eq!(outcome.failures, []);
    assert_eq!(outcome.warnings.len(), 1);
    assert_eq!(bed.read("destination/b"), "shared");
}

const KINDS: [&str; 7] = ["file", "empty", "full", "to-file", "to-directory", "dangling", "fifo"];

fn make(at: &Path, kind: &str) {
    match kind {
        "file" => {
            std::fs::write(at, "content").unwrap();
            touch(at, 4711);
        }
        "empty" => std::fs::create_dir(at).unwrap(),
        "full" => {
            std::fs::create_dir_all(at.join("below")).unwrap();
            std::fs::write(at.join("below/f"), "deep").unwrap();
            touch(&at.join("below/f"), 4712);
        }
        "to-file" => symlink("target-file", at).unwrap(),
        "to-directory" => symlink("target-directory", at).unwrap(),
        "dangling" => symlink("nowhere", at).unwrap(),
        _ => assert!(run(&format!("mkfifo '{}'", at.display()))),
    }
}

/// BC-33: every pair of kinds ends equal in one run; what was displaced is in versions, whole.
#[test]
fn bc_33_every_change_of_kind() {
    for (versions, exchange) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut bed = Bed::new();
        if !versions {
            bed = bed.without_versions();
        }
        if !exchange {
            bed.mend_place = |place| place.exchange = false;
        }
        for side in ["source", "destination"] {
            bed.write(&format!("{side}/target-file"), "target");
            bed.write(&format!("{side}/target-directory/kept"), "kept");
        }
        let pairs = || KINDS.iter().flat_map(|old| KINDS.iter().map(move |new| (*old, *new)));
        for (old, new) in pairs() {
            make(&bed.path(&format!("source/{old} {new}")), new);
            make(&bed.path(&format!("destination/{old} {new}")), old);
        }
        let planned = bed.planned();
        let outcome = planned.execute();
        assert_eq!(outcome.failures, [], "versions {versions}, exchange {exchange}");
        bed.assert_equal();
        assert_eq!(bed.read("destination/target-directory/kept"), "kept");
        for (old, new) in pairs().filter(|_| versions) {
            let version = version(planned.run, &format!("{old} {new}"));
            if old == "full" && new != "full" {
                assert_eq!(bed.read(&format!("{version}/below/f")), "deep", "{old} to {new}");
            }
            if old == "file" && new != "file" {
                assert_eq!(bed.read(&version), "content", "{old} to {new}");
            }
            if old == "to-file" && new != "to-file" {
                assert_eq!(std::fs::read_link(bed.path(&version)).unwrap(), Path::new("target-file"));
            }
        }
    }
}

/// BC-32: a directory became a symlink; what it points to is not touched.
#[test]
fn bc_32_a_directory_became_a_symlink() {
    for versions in [true, false] {
        let mut bed = Bed::new();
        if !versions {
            bed = bed.without_versions();
        }
        bed.write("source/A/a", "1");
        bed.write("source/B/a", "2");
        bed.write("source/B/b", "3");
        bed.converge();
        std::fs::remove_dir_all(bed.path("source/A")).unwrap();
        symlink("B", bed.path("source/A")).unwrap();
        bed.converge();
        assert_eq!(std::fs::read_link(bed.path("destination/A")).unwrap(), Path::new("B"));
        assert_eq!(bed.read("destination/B/a"), "2");
        assert_eq!(bed.read("destination/B/b"), "3");
    }
}

/// BC-95: a symlink waits under the name of a file and of a directory.
#[test]
fn bc_95_symlinks_wait_in_the_destination() {
    let bed = Bed::new();
    bed.write("outside/victim", "victim");
    bed.write("outside/directory/keep", "keep");
    bed.write("source/f", "new");
    bed.write("source/sub/g", "new too");
    symlink(bed.path("outside/victim"), bed.path("destination/f")).unwrap();
    symlink(bed.path("outside/directory"), bed.path("destination/sub")).unwrap();
    bed.converge();
    assert_eq!(bed.read("outside/victim"), "victim");
    assert_eq!(bed.read("outside/directory/keep"), "keep");
    assert!(!bed.exists("outside/directory/g"));
}

/// BC-25: names of full length; the stage name does not depend on them.
#[test]
fn bc_25_names_of_255_bytes() {
    let bed = Bed::new();
    bed.write(&format!("source/{}", "n".repeat(255)), "long");
    bed.write(&format!("source/{}", "\u{20ac}".repeat(85)), "euros");
    bed.converge();
}

/// BC-22, BC-23: names are bytes.
#[test]
fn bc_22_bc_23_names_are_bytes() {
    use std::os::unix::ffi::OsStrExt as _;
    let bed = Bed::new();
    for name in [&b"a\xffb"[..], b"a\nb", b"-rf", b"*", b"\\", b" lead", b"trail "] {
        let path = bed.source.join(std::ffi::OsStr::from_bytes(name));
        std::fs::write(&path, name).unwrap();
        touch(&path, 3);
    }
    symlink(std::ffi::OsStr::from_bytes(b"\xe9"), bed.path("source/l")).unwrap();
    bed.converge();
}

/// BC-31: a path longer than `PATH_MAX`.
#[test]
fn bc_31_paths_longer_than_path_max() {
    let bed = Bed::new();
    let name = [b'd'; 100];
    let mut at = crate::platform::open_root(&bed.source).unwrap().0;
    for _ in 0..60 {
        at.make_dir(&name, 0o755).unwrap();
        at = at.open_dir(&name).unwrap();
    }
    at.create_file(b"leaf").unwrap().write_at(b"x", 0).unwrap();
    let outcome = bed.mirror();
    assert!(outcome.done.len() >= 61);
    assert_eq!(bed.planned().plan.actions, []);
    assert!(run(&format!("rm -rf '{}' '{}'", bed.source.display(), bed.destination.display())));
}

#[test]
fn a_name_that_looks_like_a_stage_is_left_alone() {
    let bed = Bed::new();
    bed.write("source/f", "new");
    for side in ["source", "destination"] {
        bed.write(&format!("{side}/.twinlane-2026-11-24T013000.001Z-1"), "a user's own");
    }
    assert_eq!(bed.mirror().failures, []);
    assert_eq!(bed.read("destination/f"), "new");
    assert_eq!(bed.read("destination/.twinlane-2026-11-24T013000.001Z-1"), "a user's own");
}
