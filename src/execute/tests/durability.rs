//! Each way to durability ends in the same tree; and the laws hold whatever call fails, and wherever the process is killed.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use super::bed::{Bed, chmod, is_root, stages, touch, version};
use crate::job::{Durability, Method, Verify, Versions};
use crate::value::SyncTrust;

fn fill(bed: &Bed) {
    for number in 0..20 {
        bed.write(&format!("source/d{}/f{number}", number % 3), format!("new {number}"));
        if number % 2 == 0 {
            bed.write(&format!("destination/d{}/f{number}", number % 3), format!("old content {number}"));
        }
    }
    bed.write("destination/extra/e", "extra");
    bed.write("source/kind/f", "now a directory");
    bed.write("destination/kind", "was a file");
    std::fs::hard_link(bed.path("source/d0/f0"), bed.path("source/link")).unwrap();
}

#[test]
fn every_way_of_syncing_ends_in_the_same_tree() {
    for durability in [Durability::Run, Durability::File, Durability::None] {
        for each in [true, false] {
            for workers in [1, 3] {
                let mut bed = Bed::new();
                bed.rule.durability = durability;
                bed.workers = workers;
                bed.mend_place = if each { |place| place.sync = SyncTrust::EachFile } else { |_| {} };
                fill(&bed);
                let planned = bed.planned();
                assert_eq!(planned.execute().failures, []);
                bed.assert_equal();
                assert_eq!(bed.read(&version(planned.run, "d0/f6")), "old content 6");
                assert_eq!(bed.read(&version(planned.run, "extra/e")), "extra");
            }
        }
    }
}

/// Names the folder of the trees for [`in_its_own_process`].
const BED: &str = "TWINLANE_TEST_BED";

/// Not a test of its own: what the others run in a process of its own, to be killed, or as another user.
#[test]
#[ignore = "run by other tests, in a process of its own"]
fn in_its_own_process() {
    let Ok(base) = std::env::var(BED) else { return };
    let mut bed = Bed::at(base.into());
    if std::env::var("TWINLANE_TEST_VERIFY").is_ok_and(|word| word == "readback") {
        bed.rule.verify = Verify::Readback;
    }
    if std::env::var("TWINLANE_TEST_METHOD").is_ok_and(|word| word == "unbuffered") {
        bed.rule.engine.method = Method::Unbuffered;
    }
    if std::env::var("TWINLANE_TEST_VERSIONS").is_ok_and(|word| word == "none") {
        bed.rule.versions = Versions::None;
    }
    let outcome = bed.planned().execute();
    println!("{outcome:?}");
}

pub(super) fn child(bed: &Bed) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "execute::tests::durability::in_its_own_process", "--ignored", "--nocapture"]);
    command.env(BED, &bed.base).env("RUST_BACKTRACE", "0");
    if bed.rule.versions == Versions::None {
        command.env("TWINLANE_TEST_VERSIONS", "none");
    }
    if bed.rule.verify == Verify::Readback {
        command.env("TWINLANE_TEST_VERIFY", "readback");
    }
    if bed.rule.engine.method == Method::Unbuffered {
        command.env("TWINLANE_TEST_METHOD", "unbuffered");
    }
    command
}

/// Old and new content of every name; `None`: not there, `Some(None)`: a directory.
const NAMES: [(&str, Option<&str>, Option<&str>); 7] = [
    ("replaced", Some("old replaced"), Some("new replaced")),
    ("new", None, Some("new new")),
    ("d/replaced", Some("old deep"), Some("new deep")),
    ("extra/e", Some("old extra"), None),
    ("to-directory", Some("old file"), None),
    ("to-file/below", Some("old below"), None),
    ("made/f", None, Some("new made")),
];

fn trees(bed: &Bed) {
    for (name, old, new) in NAMES {
        if let Some(old) = old {
            bed.write(&format!("destination/{name}"), old);
            touch(&bed.path(&format!("destination/{name}")), 999_999_999);
        }
        if let Some(new) = new {
            bed.write(&format!("source/{name}"), new);
        }
    }
    bed.write("source/to-directory/f", "new in directory");
    bed.write("source/to-file", "new file");
    bed.write("source/mended", "mended");
    bed.write("destination/mended", "mended");
    chmod(&bed.path("destination/mended"), 0o600);
    std::fs::hard_link(bed.path("source/new"), bed.path("source/d/link")).unwrap();
    std::os::unix::fs::symlink("replaced", bed.path("source/d/symlink")).unwrap();
}

/// Each name holds old or new content, whole; with versions every displaced content is still somewhere.
fn assert_laws(bed: &Bed, case: &str) {
    for (name, old, new) in NAMES {
        let path = bed.path(&format!("destination/{name}"));
        let content = if path.is_dir() { None } else { std::fs::read_to_string(&path).ok() };
        let allowed = [old, new];
        assert!(
            allowed.contains(&content.as_deref()) || content.is_none(),
            "{case}: {name} holds {content:?}"
        );
        // A name that stands for a file before and after is never without one.
        if old.is_some() && new.is_some() {
            assert!(content.is_some(), "{case}: {name} is absent");
        }
    }
    assert!(bed.exists("destination/to-directory") && bed.exists("destination/to-file"), "{case}");
    if bed.rule.versions == Versions::None {
        return;
    }
    let all: Vec<String> = walkdir::WalkDir::new(&bed.destination)
        .into_iter()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().is_file() && !entry.path().ends_with("catalog.db"))
        .filter_map(|entry| std::fs::read_to_string(entry.path()).ok())
        .collect();
    for old in NAMES.iter().filter_map(|(_, old, _)| *old) {
        assert!(all.iter().any(|content| content == old), "{case}: {old} is lost");
    }
}

fn fired(log: &Path) -> bool {
    std::fs::read_to_string(log).is_ok_and(|text| !text.is_empty())
}

/// One fault at every `stride`-th mutating call, until there is none left to hit.
fn sweep(blow: &str, versions: bool, stride: u32) {
    let mut number = 1 + stride / 2;
    loop {
        let mut bed = Bed::new();
        if !versions {
            bed = bed.without_versions();
        }
        trees(&bed);
        let log = bed.path("log");
        let output = child(&bed)
            .env("TWINLANE_FAULT", format!("{blow}@{number}"))
            .env("TWINLANE_FAULT_LOG", &log)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let case = format!(
            "{blow}@{number} {} versions {versions}\n{said}\n{}",
            std::fs::read_to_string(&log).unwrap_or_default(),
            String::from_utf8_lossy(&output.stderr)
        );
        if !fired(&log) {
            assert!(number > 50, "{case}");
            return;
        }
        assert_laws(&bed, &case);
        // Where the store could not even begin, there is nothing more to ask.
        let planned = bed.planned();
        let outcome = planned.execute();
        assert_eq!(outcome.failures, [], "the next run after {case}");
        drop(planned);
        bed.assert_equal();
        assert_laws(&bed, &case);
        assert_eq!(stages(&bed.destination).len(), 0, "{case}");
        number += stride;
    }
}

/// All calls with `TWINLANE_SWEEP=all`, else some.
fn stride() -> u32 {
    if std::env::var("TWINLANE_SWEEP").is_ok_and(|word| word == "all") { 1 } else { 17 }
}

#[test]
fn laws_hold_when_a_call_fails() {
    for versions in [true, false] {
        for blow in ["eio", "enospc"] {
            sweep(blow, versions, stride());
        }
    }
}

#[test]
fn laws_hold_when_the_process_is_killed() {
    for versions in [true, false] {
        sweep("kill", versions, stride());
    }
}

/// A user who is not root, on every system that has one (`nobody`).
const NOBODY: u32 = 65_534;

/// BC-02 as a user who is not root: read-only directories are written in, and have their mode in the end.
#[test]
fn bc_02_bc_06_as_a_user() {
    if !is_root("bc_02_bc_06_as_a_user") {
        return;
    }
    let bed = Bed::new();
    bed.write("source/ro/f", "new");
    bed.write("source/ro/roots", "root's");
    bed.write("source/there/g", "new");
    bed.write("destination/there/g", "old content");
    bed.write("destination/there/extra/e", "old");
    let chown = |path: &str| std::os::unix::fs::chown(bed.path(path), Some(NOBODY), Some(NOBODY)).unwrap();
    for path in [
        "",
        "source",
        "source/ro",
        "source/ro/f",
        "source/there",
        "source/there/g",
        "destination",
        "destination/there",
        "destination/there/g",
        "destination/there/extra",
        "destination/there/extra/e",
    ] {
        chown(path);
    }
    for path in ["source/ro", "source/there", "destination/there", "destination/there/extra"] {
        chmod(&bed.path(path), 0o555);
    }
    chmod(&bed.base, 0o755);
    let Ok(output) = child(&bed).uid(NOBODY).gid(NOBODY).output() else {
        eprintln!("skipped: the test program cannot be run as another user");
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("failures: []") && said.contains("ended: Finished"), "{said}");
    assert!(said.contains("owner or group not kept"), "{said}");
    for path in ["destination/ro", "destination/there"] {
        assert_eq!(super::bed::mode(&bed.path(path)), 0o555, "{path}");
    }
    assert_eq!(bed.read("destination/there/g"), "new");
    assert_eq!(bed.read("destination/ro/roots"), "root's");
    assert!(!bed.exists("destination/there/extra"));
}
