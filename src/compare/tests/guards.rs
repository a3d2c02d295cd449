//! What must never be touched: roots inside each other, mounts, foreign destinations, own names, what cannot be read.

use std::os::unix::fs::PermissionsExt;

use rustix::fs::Uid;
use rustix::thread::{Gid, set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use super::*;
use crate::value::RelPath;

#[test]
fn reserved_names_at_the_root_are_invisible() {
    let bench = Bench::new();
    for name in ["lost+found/x", ".twinlane/id", ".Trash-1000/f", "System Volume Information/y"] {
        bench.file(format!("s/{name}"), "1");
        bench.file(format!("t/{name}"), "22");
    }
    bench.file("t/$RECYCLE.BIN/f", "1");
    let draft = bench.check(&[]);
    assert_eq!(draft.counts, Counts::default());
}

#[test]
fn below_the_root_a_twinlane_folder_of_the_source_is_data() {
    let bench = Bench::new();
    for name in ["id", "lock", "partial/run/x", "versions/f", "sub/lock"] {
        bench.file(format!("s/disk/.twinlane/{name}"), "1");
    }
    bench.file("t/disk/.twinlane/lock", "1");
    bench.check(&[
        "disk/.twinlane/id New",
        "disk/.twinlane/sub New",
        "disk/.twinlane/versions New",
        "disk/.twinlane kept 1",
        "disk/.twinlane/sub/lock New",
        "disk/.twinlane/versions/f New",
    ]);
}

#[test]
fn a_foreign_destination_is_neither_entered_nor_removed() {
    let bench = Bench::new();
    for name in ["extra", "both", "kind", "deep/inner"] {
        bench.file(format!("t/{name}/.twinlane/id"), "1");
        bench.file(format!("t/{name}/f"), "1");
    }
    bench.file("s/both/g", "1");
    bench.file("s/kind", "1");
    bench.check(&[
        "both Conflict(Foreign)",
        "deep Extra",
        "kind Conflict(Foreign)",
        ". kept 3",
        "deep kept 1",
        "foreign both",
        "foreign deep/inner",
        "foreign extra",
        "foreign kind",
    ]);
}

#[test]
fn the_mirrored_copy_of_somebodys_destination_is_not_foreign() {
    let bench = Bench::new();
    bench.both("disk/.twinlane/id", "1");
    bench.file("s/disk/f", "1");
    bench.check(&["disk/f New"]);
    bench.file("t/disk/.twinlane/id", "2");
    bench.check(&["disk Conflict(Foreign)", ". kept 1", "foreign disk"]);
}

#[test]
fn bc_43_stage_names_are_skipped_in_the_source_and_cleared_where_their_run_is_dead() {
    let mut bench = Bench::new();
    let dead = ".twinlane-2026-11-24T013000.123Z-7";
    let other = ".twinlane-2026-11-25T013000.123Z-7";
    bench.unfinished_runs = vec!["2026-11-24T013000.123Z".parse().unwrap()];
    for name in [dead, other, ".twinlane-notes"] {
        bench.file(format!("s/{name}"), "1");
        bench.file(format!("t/d/{name}"), "1");
    }
    bench.file(format!("t/d/{dead}0/f"), "1");
    bench.check(&[
        ".twinlane-notes New",
        "d Extra",
        "d/.twinlane-notes Extra",
        &format!("d/{dead} stale"),
        &format!("d/{dead}0 stale"),
        "d kept 1",
        "stage names 2",
    ]);
}

#[test]
fn bc_53_a_destination_inside_the_source_is_found_and_not_entered() {
    let bench = Bench::new();
    bench.file("s/a/f", "1");
    std::fs::rename(bench.path("t"), bench.path("s/a/t")).unwrap();
    symlink("s/a/t", bench.path("t")).unwrap();
    let draft = bench.march();
    assert_eq!(draft.nested, Some((Side::Source, RelPath::parse(b"a/t").unwrap())));
    assert!(said(&draft).iter().any(|line| line == "a/f New"));
    assert!(!said(&draft).iter().any(|line| line.starts_with("a/t")));
}

#[test]
fn bc_53_a_source_inside_the_destination_is_found_and_not_extra() {
    let bench = Bench::new();
    std::fs::rename(bench.path("s"), bench.path("t/s")).unwrap();
    symlink("t/s", bench.path("s")).unwrap();
    let draft = bench.march();
    assert_eq!(draft.nested, Some((Side::Destination, RelPath::parse(b"s").unwrap())));
    assert!(
        draft
            .directories
            .iter()
            .flat_map(|directory| &directory.findings)
            .all(|finding| finding.verdict != Verdict::Extra)
    );
}

#[test]
fn bc_53_the_same_directory_by_another_name_is_found() {
    let bench = Bench::new();
    std::fs::remove_dir(bench.path("t")).unwrap();
    symlink("s", bench.path("t")).unwrap();
    bench.file("s/f", "1");
    let draft = bench.march();
    assert_eq!(draft.nested, Some((Side::Source, RelPath::root())));
}

/// A mount that is undone at the end of a test.
struct Mounted(PathBuf);

impl Mounted {
    fn new(arguments: &[&str], at: PathBuf) -> Option<Self> {
        let is_mounted = Environment.is_root() && run("mount", &[arguments, &[at.to_str()?]].concat());
        if !is_mounted {
            eprintln!("SKIPPED: mounting needs root, and a machine that lets it");
        }
        is_mounted.then_some(Self(at))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        run("umount", &[self.0.to_str().unwrap()]);
    }
}

const TMPFS: [&str; 5] = ["-t", "tmpfs", "-o", "size=1m", "none"];

#[test]
fn bc_53_a_bind_mount_does_not_hide_the_destination() {
    let bench = Bench::new();
    bench.directory("s/bound");
    let target = bench.path("t");
    let Some(_mounted) = Mounted::new(&["--bind", target.to_str().unwrap()], bench.path("s/bound")) else {
        return;
    };
    assert_eq!(bench.march().nested, Some((Side::Source, RelPath::parse(b"bound").unwrap())));
}

#[test]
fn bc_55_mounts_of_the_source_are_entered_or_listed() {
    let mut bench = Bench::new();
    for tree in ["s", "t"] {
        bench.directory(format!("{tree}/m"));
        bench.directory(format!("{tree}/b"));
    }
    let other = bench.directory("other");
    let Some(_tmpfs) = Mounted::new(&TMPFS, bench.path("s/m")) else { return };
    let Some(_bound) = Mounted::new(&["--bind", other.to_str().unwrap()], bench.path("s/b")) else { return };
    bench.file("s/m/f", "1");
    bench.file("s/b/g", "1");
    bench.file("t/m/old", "1");
    // The root of a tmpfs is made with mode 1777.
    std::fs::set_permissions(bench.path("s/m"), PermissionsExt::from_mode(0o755)).unwrap();
    let draft = bench.check(&["b/g New", "m/f New", "m/old Extra", "mount b true", "mount m true"]);
    assert_eq!(draft.source_mounts.len(), 2);
    bench.rule.select.one_file_system = true;
    let draft = bench.check(&["mount b false", "mount m false"]);
    assert!(draft.source_mounts.is_empty());
    assert_eq!((draft.counts.source_entries, draft.counts.same), (2, 2));
}

#[test]
fn bc_55_mounts_of_the_destination_stay() {
    let bench = Bench::new();
    bench.directory("t/extra/m");
    bench.directory("t/kind");
    bench.file("s/kind", "1");
    let Some(_extra) = Mounted::new(&TMPFS, bench.path("t/extra/m")) else { return };
    let Some(_kind) = Mounted::new(&TMPFS, bench.path("t/kind")) else { return };
    bench.file("t/extra/m/f", "1");
    bench.check(&["extra Extra", "kind Conflict(MountPoint)", ". kept 1", "extra kept 1"]);
}

/// Runs `work` on a thread of an ordinary user; threads that it starts are that user's too.
fn as_user<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            set_thread_groups(&[]).unwrap();
            let (gid, uid) = (Gid::from_raw(65_534), Uid::from_raw(65_534));
            set_thread_res_gid(gid, gid, gid).unwrap();
            set_thread_res_uid(uid, uid, uid).unwrap();
            work()
        });
        thread.join().unwrap()
    })
}

fn open_to_all(bench: &Bench) {
    std::fs::set_permissions(bench.folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn bc_39_what_cannot_be_read_is_a_failed_subtree() {
    if !is_root_or_skipped("becoming another user") {
        return;
    }
    let bench = Bench { as_root: false, ..Bench::new() };
    open_to_all(&bench);
    for name in ["secret/f", "closed/f", "searchless/f", "fine/f"] {
        bench.both(name, "1");
    }
    bench.file("t/new/f", "1");
    bench.file("s/kind", "1");
    bench.file("t/kind/f", "1");
    bench.settle();
    for (path, mode) in
        [("s/secret", 0o0), ("t/closed", 0o0), ("s/searchless", 0o744), ("t/new", 0o0), ("t/kind", 0o0)]
    {
        std::fs::set_permissions(bench.path(path), PermissionsExt::from_mode(mode)).unwrap();
    }
    let draft = as_user(|| bench.march());
    assert_eq!(
        said(&draft),
        [
            "kind Conflict(Unread)",
            "closed destination not whole",
            "kind destination not whole",
            "new destination not whole",
            "searchless source not whole",
            "secret source not whole",
            "problem Destination Subtree closed",
            "problem Destination Subtree kind",
            "problem Destination Subtree new",
            "problem Source Subtree searchless",
            "problem Source Subtree secret",
        ]
    );
    let message = &draft.problems.last().unwrap().message;
    assert_eq!(message, "cannot list the directory: Permission denied (os error 13)");
}

#[test]
fn a_cancelled_march_ends() {
    let bench = Bench::new();
    bench.file("s/a/f", "1");
    let cancel = Cancel::new();
    cancel.raise();
    let draft = bench.march_with(&cancel, None, &ScanMeter::default());
    assert!(draft.directories.len() == 1 && draft.directories[0].findings.is_empty());
    assert!(!draft.directories[0].source_whole, "nothing may be concluded from it");
}

/// The folder, set for the children of [`bc_39_an_error_at_any_read_costs_nothing`].
const CHILD: &str = "TWINLANE_TEST_FAULT";

/// Makes each reading call of a march fail in turn: nothing that the source has is ever extra, and each failure is told.
#[test]
fn bc_39_an_error_at_any_read_costs_nothing() {
    if let Some(folder) = Environment.variable(CHILD) {
        return march_with_fault(Path::new(&folder));
    }
    let bench = Bench::new();
    bench.both("a/b/f", "1");
    bench.both("a/b/.twinlane/id", "1");
    bench.both("a/.ignore", "*.o");
    bench.file("t/a/kept.o", "1");
    bench.file("t/a/extra/f", "1");
    bench.file("s/kind", "1");
    bench.file("t/kind/f", "1");
    bench.link("s/link", "a");
    bench.link("t/link", "b");
    bench.file("s/new/f", "1");
    bench.settle();
    let (log, trace) = (bench.path("log"), bench.path("trace"));
    let child = |fault: &str, file: (&str, &Path)| {
        let name = "compare::tests::guards::bc_39_an_error_at_any_read_costs_nothing";
        let output = Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact", "--nocapture"])
            .env(CHILD, bench.folder.path())
            .env("TWINLANE_FAULT", fault)
            .env(file.0, file.1)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{fault}: {text} {}", String::from_utf8_lossy(&output.stderr));
        text
    };
    let lines = |text: &str, head: &str| -> Vec<String> {
        text.lines().filter_map(|line| line.strip_prefix(head)).map(str::to_owned).collect()
    };
    let fault_free = child("read-eio@1000000", ("TWINLANE_FAULT_TRACE", &trace));
    let before: usize = lines(&fault_free, "BEFORE ")[0].parse().unwrap();
    let reads = std::fs::read_to_string(&trace).unwrap().lines().count();
    assert!(reads > before + 40, "{before} {reads}");
    let extras = lines(&fault_free, "EXTRA ");
    assert_eq!(extras, ["a/extra Extra", "a/extra/f Extra", "kind/f Extra"]);
    for number in before + 1..=reads {
        let text = child(&format!("read-eio@{number}"), ("TWINLANE_FAULT_LOG", &log));
        let call = std::fs::read_to_string(&log).unwrap();
        std::fs::remove_file(&log).unwrap();
        assert!(lines(&text, "EXTRA ").iter().all(|extra| extras.contains(extra)), "{call}: {text}");
        assert!(text.contains("TOLD"), "{call}: {text}");
    }
}

fn march_with_fault(folder: &Path) {
    let mut bench = Bench::new();
    for tree in ["s", "t"] {
        std::fs::remove_dir(bench.path(tree)).unwrap();
        symlink(folder.join(tree), bench.path(tree)).unwrap();
    }
    bench.threads = 1;
    bench.rule.select.ignore_files = vec![".ignore".to_owned()];
    bench.before = || {
        let trace = Environment.variable("TWINLANE_FAULT_TRACE").map(std::fs::read_to_string);
        println!("\nBEFORE {}", trace.map_or(0, |text| text.unwrap_or_default().lines().count()));
    };
    let draft = bench.march();
    let told = !draft.problems.is_empty() || said(&draft).iter().any(|line| line.starts_with("foreign"));
    println!("{}", if told { "TOLD" } else { "SILENT" });
    for line in said(&draft).iter().filter(|line| line.ends_with("Extra")) {
        println!("EXTRA {line}");
    }
}
