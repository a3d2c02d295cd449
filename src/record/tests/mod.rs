//! Tests of the room, on databases in fresh folders.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::*;
use crate::plan::Totals;
use crate::value::{RelPath, RunId, Stamp};

/// A state of format 1 as it was written when that format was made; never made anew.
const FORMAT_1: &[u8] = include_bytes!("state-1.db");

fn run(second: i64) -> RunId {
    RunId::at(Stamp::from_seconds(1_800_000_000 + second), None)
}

fn path(text: &[u8]) -> RelPath {
    RelPath::parse(text).unwrap()
}

fn file(name: &str) -> PathBuf {
    Path::new("/jobs").join(name)
}

fn open(directory: &Path) -> State {
    let (state, said) = State::open(directory, &run(0)).unwrap();
    assert_eq!(said, None);
    state
}

fn rule(name: &str) -> RuleRecord {
    RuleRecord {
        rule: name.to_owned(),
        mode: "mirror".to_owned(),
        outcome: "partial".to_owned(),
        exit: 1,
        reason: None,
        totals: Totals { actions: 3, copy: 2, remove: 1, bytes: 70, allocated: 8192, ..Totals::default() },
        done: Totals { actions: 2, copy: 2, ..Totals::default() },
        bytes: 70,
        failed: 1,
        failures: vec![RecordedFailure { path: path(b"a\xff/b"), cause: "moved since".to_owned() }],
    }
}

fn record(second: i64, job: &str) -> RunRecord {
    RunRecord {
        run: run(second),
        job: job.to_owned(),
        job_file: file(job),
        started: Stamp { seconds: 1_800_000_000 + second, nanos: 5 },
        ended: Some(Stamp { seconds: 1_800_000_060 + second, nanos: 0 }),
        rules: vec![rule("photos"), RuleRecord { reason: Some("no room".to_owned()), ..rule("documents") }],
    }
}

fn actions(state: &State, run: RunId, rule: &str) -> Vec<String> {
    let mut all = Vec::new();
    state.actions(run, rule, |action| all.push(action.to_owned())).unwrap();
    all
}

#[test]
fn what_was_written_is_read_by_the_next_process() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("state/twinlane");
    let mut state = open(&directory);
    assert_eq!(state.newest_run().unwrap(), None);
    assert_eq!(state.history(None, 10).unwrap(), []);
    for second in [1, 3, 2] {
        state.finish(&record(second, "disk")).unwrap();
    }
    state.finish(&record(4, "other")).unwrap();
    drop(state);
    let state = State::open_readonly(&directory).unwrap().unwrap();
    assert_eq!(state.newest_run().unwrap(), Some(run(4)));
    assert_eq!(state.history(Some("disk"), 2).unwrap(), [record(3, "disk"), record(2, "disk")]);
    assert_eq!(state.history(None, 1).unwrap(), [record(4, "other")]);
    assert_eq!(state.history(Some("none"), 9).unwrap(), []);
}

#[test]
fn a_run_is_written_down_when_it_begins_and_when_it_ends() {
    let home = tempfile::tempdir().unwrap();
    let mut state = open(home.path());
    let begun = RunRecord { ended: None, rules: Vec::new(), ..record(1, "disk") };
    state.begin(begun.run, &begun.job, &begun.job_file, begun.started).unwrap();
    // A killed run is found with no end, and its id is bumped past.
    assert_eq!(state.history(None, 9).unwrap(), std::slice::from_ref(&begun));
    assert_eq!(begun.exit(), None);
    assert_eq!(state.newest_run().unwrap(), Some(run(1)));
    // Two jobs that start in one millisecond do not share an id.
    let error = state.begin(run(1), "other", &file("other"), begun.started).unwrap_err();
    assert!(matches!(error, RecordError::Taken { run: taken } if taken == run(1)));
    assert_eq!(error.to_string(), "the run id 2027-01-15T080001.000Z is taken");
    state.finish(&record(1, "disk")).unwrap();
    state.finish(&record(1, "disk")).unwrap();
    assert_eq!(state.history(None, 9).unwrap(), [record(1, "disk")]);
    assert_eq!(record(1, "disk").exit(), Some(1));
}

#[test]
fn a_run_ends_as_its_process_does() {
    let ended = |exits: &[u8]| {
        let rules = exits.iter().map(|&exit| RuleRecord { exit, ..rule("r") }).collect();
        RunRecord { rules, ..record(1, "disk") }.exit()
    };
    for (exits, exit) in
        [(&[][..], 0), (&[0, 1], 1), (&[1, 4], 4), (&[4, 3], 3), (&[3, 5, 1], 5), (&[5, 143], 143)]
    {
        assert_eq!(ended(exits), Some(exit));
    }
}

#[test]
fn actions_come_back_one_for_one_in_order() {
    let home = tempfile::tempdir().unwrap();
    let mut state = open(home.path());
    state.finish(&record(1, "disk")).unwrap();
    let all: Vec<String> =
        (0..3000).map(|number| format!("{{\"action\":\"copy\",\"path\":\"{number}\"}}")).collect();
    state.append_actions(run(1), "photos", all.iter().cloned()).unwrap();
    assert_eq!(actions(&state, run(1), "photos"), all);
    assert_eq!(actions(&state, run(1), "documents"), [""; 0]);
    assert_eq!(actions(&state, run(2), "photos"), [""; 0]);
    // A rule that was not written down has no place for them.
    assert!(matches!(
        state.append_actions(run(1), "none", all),
        Err(RecordError::Database { operation: "write", .. })
    ));
}

#[test]
fn old_runs_go_and_their_actions_before_them() {
    let home = tempfile::tempdir().unwrap();
    let mut state = open(home.path());
    // A thousand syncs take their time and show nothing here.
    state.connection.pragma_update(None, "synchronous", "off").unwrap();
    state.finish(&record(0, "other")).unwrap();
    state.append_actions(run(0), "photos", ["kept".to_owned()]).unwrap();
    for second in 1..=1005 {
        let small = RunRecord {
            rules: vec![RuleRecord { failures: Vec::new(), ..rule("photos") }],
            ..record(second, "disk")
        };
        state.finish(&small).unwrap();
        state.append_actions(run(second), "photos", [format!("{second}")]).unwrap();
    }
    state.finish(&record(1006, "disk")).unwrap();
    let runs = state.history(Some("disk"), 5000).unwrap();
    assert_eq!((runs.len(), runs.last().unwrap().run), (1000, run(7)));
    assert_eq!(actions(&state, run(996), "photos"), [""; 0]);
    assert_eq!(actions(&state, run(997), "photos"), ["997"]);
    assert_eq!(actions(&state, run(0), "photos"), ["kept"]);
    for table in ["run_rules", "actions", "failures"] {
        let rows: i64 = state
            .connection
            .query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))
            .unwrap();
        let expected = match table {
            "run_rules" => 999 + 2 + 2,
            "actions" => 9 + 1,
            _ => 2 + 2,
        };
        assert_eq!(rows, expected, "{table}");
    }
}

#[test]
fn long_lists_of_failures_are_cut_but_counted() {
    let home = tempfile::tempdir().unwrap();
    let mut state = open(home.path());
    let failures = vec![RecordedFailure { path: path(b"f"), cause: "no".to_owned() }; FAILURES_KEPT + 3];
    let long = RuleRecord { failed: failures.len() as u64, failures, ..rule("photos") };
    state.finish(&RunRecord { rules: vec![long], ..record(1, "disk") }).unwrap();
    let read = &state.history(None, 1).unwrap()[0].rules[0];
    assert_eq!((read.failures.len(), read.failed), (FAILURES_KEPT, FAILURES_KEPT as u64 + 3));
}

#[test]
fn rotating_disks_are_known_once_each() {
    let home = tempfile::tempdir().unwrap();
    let mut state = open(home.path());
    let job = file("disk");
    assert_eq!(state.known(&job, "photos").unwrap(), KnownRule::default());
    for id in ["one", "two", "one"] {
        state.remember_destination(&job, "photos", id).unwrap();
    }
    let mounts = [path(b"m/z"), RelPath::root(), path(b"a\xff")];
    state.remember_source(&job, "photos", Some("uuid"), &mounts).unwrap();
    state.remember_total(&job, "photos", 7).unwrap();
    let known = state.known(&job, "photos").unwrap();
    assert_eq!(known.destination_ids, ["one", "two"]);
    assert_eq!(known.source_mounts, [RelPath::root(), path(b"a\xff"), path(b"m/z")]);
    assert_eq!((known.source_uuid.as_deref(), known.runs, known.last_total), (Some("uuid"), 3, Some(7)));
    // What the next run does not see any more is forgotten.
    state.remember_source(&job, "photos", None, &[]).unwrap();
    let known = state.known(&job, "photos").unwrap();
    assert_eq!((known.source_mounts, known.source_uuid, known.last_total), (vec![], None, Some(7)));
    // Rules and job files are told apart; what comes first makes the rule known.
    assert_eq!(state.known(&job, "documents").unwrap(), KnownRule::default());
    state.remember_total(&file("other"), "photos", 9).unwrap();
    let other = KnownRule { last_total: Some(9), ..KnownRule::default() };
    assert_eq!(state.known(&file("other"), "photos").unwrap(), other);
}

#[test]
fn bc_93_the_file_is_for_this_user_alone() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("new");
    let mut state = open(&directory);
    state.finish(&record(1, "disk")).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&directory), 0o700);
    for entry in std::fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[test]
fn a_damaged_file_is_set_aside_and_said() {
    let pages = |directory: &Path| {
        let mut state = open(directory);
        for second in 0..200 {
            state.finish(&record(second, "disk")).unwrap();
        }
        state.remember_destination(&file("disk"), "photos", "one").unwrap();
        drop(state);
        std::fs::read(directory.join("state.db")).unwrap()
    };
    let holed = |bytes: &[u8]| {
        // Page 2 is the root of `rules`: what a run is refused by.
        let mut bytes = bytes.to_vec();
        bytes[4096..8192].fill(0xa5);
        bytes
    };
    let foreign = |directory: &Path| {
        let other = rusqlite::Connection::open(directory.join("other.db")).unwrap();
        other.execute_batch("CREATE TABLE songs (title TEXT)").unwrap();
        drop(other);
        std::fs::read(directory.join("other.db")).unwrap()
    };
    let home = tempfile::tempdir().unwrap();
    let good = pages(home.path());
    for (what, bytes) in [
        ("no database", b"this is no database, and it is long enough to be looked at".repeat(100)),
        ("cut short", good[..good.len() / 2].to_vec()),
        ("holed", holed(&good)),
        ("another program's", foreign(home.path())),
    ] {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("state.db"), &bytes).unwrap();
        assert!(State::open_readonly(home.path()).unwrap().is_none(), "{what}");
        let (mut state, said) = State::open(home.path(), &run(9)).unwrap();
        let said = said.unwrap_or_else(|| panic!("{what}: nothing was said"));
        assert!(said.contains("state.db.damaged-2027-01-15T080009.000Z"), "{what}: {said}");
        let aside = home.path().join("state.db.damaged-2027-01-15T080009.000Z");
        assert!(std::fs::read(aside).unwrap() == bytes, "{what}: it was changed");
        state.finish(&record(1, "disk")).unwrap();
        drop(state);
        assert_eq!(open(home.path()).history(None, 9).unwrap().len(), 1, "{what}");
    }
}

#[test]
fn a_newer_format_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let state = open(home.path());
    state.connection.pragma_update(None, "user_version", 2).unwrap();
    drop(state);
    let error = State::open(home.path(), &run(0)).unwrap_err();
    assert!(matches!(error, RecordError::Newer { found: 2, known: 1, .. }));
    assert!(error.to_string().ends_with("is of format 2; this Twinlane knows formats up to 1"), "{error}");
    assert!(State::open_readonly(home.path()).is_err());
}

#[test]
fn looking_makes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("absent");
    assert!(State::open_readonly(&directory).unwrap().is_none());
    assert!(!directory.exists());
    assert!(State::open_readonly(home.path()).unwrap().is_none());
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn an_unreachable_folder_is_an_error_with_its_path() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("file"), "").unwrap();
    let error = State::open(&home.path().join("file/state"), &run(0)).unwrap_err();
    assert!(matches!(error, RecordError::System { operation: "create", .. }));
    assert!(error.to_string().starts_with("cannot create `/"), "{error}");
}

#[test]
fn a_symlink_is_not_followed() {
    let home = tempfile::tempdir().unwrap();
    let victim = home.path().join("victim");
    std::fs::write(&victim, "mine").unwrap();
    let directory = home.path().join("state");
    std::fs::create_dir(&directory).unwrap();
    std::os::unix::fs::symlink(&victim, directory.join("state.db")).unwrap();
    assert!(State::open(&directory, &run(0)).is_err());
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "mine");
}

#[test]
fn processes_write_at_the_same_time() {
    let home = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let directory = home.path();
            scope.spawn(move || {
                let (mut state, said) = State::open(directory, &run(0)).unwrap();
                assert_eq!(said, None);
                for second in 0..10 {
                    state.finish(&record(thread * 100 + second, "disk")).unwrap();
                    state.remember_destination(&file("disk"), "photos", "one").unwrap();
                }
            });
        }
    });
    let state = open(home.path());
    assert_eq!(state.history(None, 1000).unwrap().len(), 80);
    assert_eq!(state.known(&file("disk"), "photos").unwrap().runs, 80);
}

#[test]
fn format_1_is_read_for_ever() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("state.db"), FORMAT_1).unwrap();
    let state = open(home.path());
    assert_eq!(state.history(None, 9).unwrap(), [record(2, "disk"), record(1, "disk")]);
    assert_eq!(
        actions(&state, run(1), "photos"),
        [r#"{"action":"copy","path":"a"}"#, r#"{"action":"copy","path":"b"}"#]
    );
    let known = state.known(&file("disk"), "photos").unwrap();
    assert_eq!(known.destination_ids, ["two", "one"]);
    assert_eq!(known.source_mounts, [path(b"a\xff")]);
    assert_eq!((known.runs, known.last_total), (2, Some(7)));
}

/// Writes the fixture of the format of today: `TWINLANE_FIXTURE=PATH cargo test --lib write_the_fixture -- --ignored`.
#[test]
#[ignore = "makes a fixture for a new format"]
fn write_the_fixture() {
    let target = std::env::var("TWINLANE_FIXTURE").unwrap();
    let home = tempfile::tempdir().unwrap();
    let mut state = open(home.path());
    for second in [1, 2] {
        state.finish(&record(second, "disk")).unwrap();
    }
    let lines = ["a", "b"].map(|name| format!("{{\"action\":\"copy\",\"path\":\"{name}\"}}"));
    state.append_actions(run(1), "photos", lines).unwrap();
    for id in ["one", "two"] {
        state.remember_destination(&file("disk"), "photos", id).unwrap();
    }
    state.remember_source(&file("disk"), "photos", Some("uuid"), &[path(b"a\xff")]).unwrap();
    state.remember_total(&file("disk"), "photos", 7).unwrap();
    drop(state);
    std::fs::copy(home.path().join("state.db"), target).unwrap();
}
