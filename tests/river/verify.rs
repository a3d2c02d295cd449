//! `verify`: each verdict, sampling, remembering, lists of digests, and what keeps it from being done.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{FileSystem, World, ended, is_root, set_mode};

/// Gives a file other content of the same length under the same mtime.
fn rot(path: &Path) {
    let modified = fs::metadata(path).unwrap().modified().unwrap();
    let mut bytes = fs::read(path).unwrap();
    bytes[0] ^= 1;
    fs::write(path, bytes).unwrap();
    fs::File::options().write(true).open(path).unwrap().set_modified(modified).unwrap();
}

/// A job that has run, over these files.
fn ran(files: &[(&str, &str)]) -> World {
    let world = World::with("mirror", "");
    world.files(files.iter().copied());
    world.start(&["run", "j"]).expect(0);
    world
}

/// `what` of each file that failed.
fn failed(lines: &[serde_json::Value]) -> BTreeMap<String, String> {
    let failed = lines.iter().filter(|line| line["event"] == "verify-failed");
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    failed.map(|line| (text(&line["path"]), text(&line["what"]))).collect()
}

fn end(lines: &[serde_json::Value]) -> &serde_json::Value {
    lines.last().filter(|line| line["event"] == "verify-end").expect("a last line")
}

#[test]
fn what_runs_have_written_is_right_and_nothing_but_the_catalog_changes() {
    let world = ran(&[("S/a", "one"), ("S/d/b", "two"), ("S/empty", "")]);
    std::os::unix::fs::symlink("a", world.path("S/l")).unwrap();
    world.start(&["run", "j"]).expect(0);
    let look = || {
        let mut tree = world.witness("T");
        tree.retain(|path, _| !path.starts_with(".twinlane"));
        tree
    };
    let before = look();
    world
        .start(&["verify", "j"])
        .expect(0)
        .says("j/r: all right: 3 right")
        .says("next: twinlane history j/r");
    let lines = world.start(&["verify", "j", "--json"]).expect(0).json();
    assert_eq!(
        (end(&lines)["counts"]["right"].as_u64(), end(&lines)["remembered"].as_bool()),
        (Some(3), Some(true))
    );
    assert_eq!(before, look());
    world.is_settled();
    assert_eq!(world.start(&["verify", "j", "-q"]).expect(0).out, "");
}

#[test]
fn each_verdict_has_its_name() {
    let world = ran(&[
        ("S/rot", "rotten"),
        ("S/size", "1"),
        ("S/time", "1"),
        ("S/gone", "g"),
        ("S/d/e", "e"),
        ("S/kind", "k"),
    ]);
    world.start(&["verify", "j"]).expect(0);
    rot(&world.path("T/rot"));
    world.files([("T/size", "12"), ("T/extra", "mine")]);
    world.shell("touch -d 2001-01-01 T/time; rm T/gone; rm -r T/d; rm T/kind; mkdir T/kind");
    let lines = world.start(&["verify", "j", "--json"]).expect(1).json();
    let expected = [
        ("d", "missing"),
        ("d/e", "missing"),
        ("gone", "missing"),
        ("kind", "changed"),
        ("rot", "rot"),
        ("size", "changed"),
        ("time", "changed"),
    ];
    assert_eq!(failed(&lines), expected.map(|(path, what)| (path.to_owned(), what.to_owned())).into());
    let counts = &end(&lines)["counts"];
    assert_eq!(
        (counts["extra"].as_u64(), counts["missing"].as_u64(), end(&lines)["exit"].as_u64()),
        (Some(1), Some(3), Some(1))
    );
    let rotten = lines.iter().find(|line| line["what"] == "rot").unwrap();
    assert!(rotten["since"].is_string() && rotten["last_right"].is_string(), "{rotten}");
    // The disk alone knows as much, on any machine.
    fs::remove_dir_all(&world.state).unwrap();
    world
        .start(&["verify", world.path("T").to_str().unwrap()])
        .expect(1)
        .says("rot          rot: its content is not what was recorded")
        .says("last found right")
        .says("next: twinlane run j/r");
    world.start(&["verify", "j", "-q"]).expect(1).says("rot").says("gone");
}

#[test]
fn what_is_rotten_is_mended_as_it_is_told() {
    let world = ran(&[("S/a", "one"), ("S/b", "two")]);
    rot(&world.path("T/a"));
    world.start(&["verify", "j"]).expect(1).says("take the rotten file away");
    world.start(&["run", "j"]).expect(0).says("nothing to do");
    fs::remove_file(world.path("T/a")).unwrap();
    world.start(&["run", "j"]).expect(0).says("1 copied");
    world.start(&["verify", "j"]).expect(0).says("2 right");
}

#[test]
fn what_was_there_before_any_run_is_guarded_from_then_on() {
    let world = World::with("backup", "");
    world.files([("S/a", "one"), ("T/mine", "of nobody's run"), ("T/late", "x")]);
    world.shell("mkdir -p T; cp -p S/a T/a");
    world.start(&["run", "j", "--accept", "destination"]).expect(0);
    world.start(&["verify", "j"]).expect(0).says("3 that no run has brought").says("guarded from now on");
    world.start(&["verify", "j"]).expect(0).says("all right: 3 right").keeps_quiet_of("guarded");
    rot(&world.path("T/mine"));
    // Its owner may change or remove what no run has brought: told once, and no failure.
    fs::write(world.path("T/late"), "changed").unwrap();
    world.start(&["verify", "j"]).expect(1).says("rot          mine").says("changed      late");
    fs::remove_file(world.path("T/late")).unwrap();
    fs::remove_file(world.path("T/mine")).unwrap();
    world.start(&["verify", "j"]).expect(0).says("missing      late").says("missing      mine");
    world.start(&["verify", "j"]).expect(0).keeps_quiet_of("missing");
}

#[test]
fn a_destination_that_is_taken_as_it_is() {
    let world = ran(&[("S/a", "one"), ("S/b", "two"), ("S/c", "three")]);
    fs::remove_file(world.path("T/a")).unwrap();
    fs::write(world.path("T/b"), "other").unwrap();
    rot(&world.path("T/c"));
    world.start(&["verify", "j"]).expect(1).says("--accept destination");
    // Rot is no wish of anybody's.
    let lines = world.start(&["verify", "j", "--accept", "destination", "--json"]).expect(1).json();
    assert_eq!(failed(&lines), [("c".to_owned(), "rot".to_owned())].into());
    let lines = world.start(&["verify", "j", "--json"]).expect(1).json();
    assert_eq!(failed(&lines), [("c".to_owned(), "rot".to_owned())].into());
    assert_eq!(end(&lines)["counts"]["right"], 1);
}

#[test]
fn versions_are_verified_too() {
    let world = ran(&[("S/a", "one"), ("S/b", "two")]);
    fs::write(world.path("S/a"), "one, changed").unwrap();
    world.start(&["run", "j"]).expect(0);
    let lines = world.start(&["verify", "j", "--json"]).expect(0).json();
    assert_eq!(
        (end(&lines)["counts"]["right"].as_u64(), end(&lines)["versions"].as_u64()),
        (Some(3), Some(1))
    );
    let run = fs::read_dir(world.path("T/.twinlane/versions")).unwrap().next().unwrap().unwrap().path();
    rot(&run.join("a"));
    let ended = world.start(&["verify", "j"]).expect(1);
    let ended = ended.says("rot          .twinlane/versions/").says("/a: its content");
    drop(ended.says("1 rotten"));
    // A released version is nothing that is missing.
    fs::remove_dir_all(run).unwrap();
    world.start(&["verify", "j"]).expect(0).says("2 right");
}

#[test]
fn ten_samples_of_ten_percent_read_everything_exactly_once() {
    let world = World::with("mirror", "");
    for number in 0..137_usize {
        let name = format!("S/d{}/f{number}", number % 7);
        world.files([(name.as_str(), "x".repeat(number * number % 977).as_str())]);
    }
    world.start(&["run", "j"]).expect(0);
    for round in 0..2 {
        let mut times: BTreeMap<String, u32> = BTreeMap::new();
        for sample in 1..=10 {
            let lines = world.start(&["verify", "j", "--sample", "10%", "--json", "-v"]).expect(0).json();
            for line in lines.iter().filter(|line| line["event"] == "verify-file") {
                *times.entry(line["path"].as_str().unwrap().to_owned()).or_default() += 1;
            }
            let complete = end(&lines)["round_complete"].as_bool().unwrap();
            assert!(complete || sample < 10, "round {round}, sample {sample}");
        }
        assert_eq!(times.len(), 137, "round {round}");
        assert!(times.values().all(|times| *times == 1), "round {round}: {times:?}");
    }
}

#[test]
fn when_the_time_is_up_the_next_goes_on_from_there() {
    let world = ran(&[("S/a", "1"), ("S/b", "2"), ("S/c", "3")]);
    let mut read = Vec::new();
    for _ in 0..3 {
        let mut command = world.command(&["verify", "j", "--max-time", "0s", "--json", "-v"]);
        let lines = ended(&command.env("TWINLANE_WORKERS", "1").output().unwrap()).expect(0).json();
        let files = lines.iter().filter(|line| line["event"] == "verify-file");
        read.extend(files.map(|line| line["path"].as_str().unwrap().to_owned()));
        assert_eq!(end(&lines)["out_of_time"], true);
    }
    assert_eq!(read, ["a", "b", "c"]);
    world
        .start(&["verify", "j", "--max-time", "30m"])
        .expect(0)
        .says("3 right")
        .keeps_quiet_of("time was up");
}

#[test]
fn known_rot_is_read_with_each_sample() {
    let world = World::with("mirror", "");
    world.many(40);
    world.start(&["run", "j"]).expect(0);
    rot(&world.path("T/d00/f0005"));
    world.start(&["verify", "j"]).expect(1);
    for _ in 0..3 {
        world.start(&["verify", "j", "--sample", "5%"]).expect(1).says("rot          d00/f0005");
    }
    fs::remove_file(world.path("T/d00/f0005")).unwrap();
    world.start(&["run", "j"]).expect(0);
    world.start(&["verify", "j", "--sample", "5%"]).expect(0);
}

#[test]
fn against_the_source_tells_which_side_is_rotten() {
    let world = ran(&[("S/a", "one"), ("S/b", "two"), ("S/c", "three"), ("S/d", "four"), ("S/e", "five")]);
    world.start(&["verify", "j", "--against", "source"]).expect(0).says("5 right");
    rot(&world.path("T/a"));
    rot(&world.path("S/b"));
    fs::write(world.path("S/c"), "other").unwrap();
    fs::remove_file(world.path("S/d")).unwrap();
    let lines = world.start(&["verify", "j", "--against", "source", "--json"]).expect(1).json();
    let expected = [("a", "rot"), ("b", "source_rot")];
    assert_eq!(failed(&lines), expected.map(|(path, what)| (path.to_owned(), what.to_owned())).into());
    world
        .start(&["verify", "j/r", "--against", "source"])
        .expect(1)
        .says("the source's file is right")
        .says("the destination holds what was copied")
        .says("2 files could not be compared with the source");
    world.start(&["verify", "T", "--against", "source"]).expect(2).says("only a job knows its source");
}

#[test]
fn any_folder_against_a_list_of_digests() {
    let world = World::new();
    world.files([("D/a", "one"), ("D/d/b", "two"), ("D/back\\slash", "three"), ("D/more", "m")]);
    let digest = |text: &str| blake3::hash(text.as_bytes()).to_hex().to_string();
    let list = |rest: &str| {
        let (one, two, three) = (digest("one"), digest("two"), digest("three"));
        fs::write(world.path("sums"), format!("{one}  ./a\n{two}  d/b\n\\{three}  back\\\\slash\n{rest}"))
            .unwrap();
    };
    list("");
    world.start(&["verify", "D", "--sums", "sums"]).expect(0).says("3 right").says("1 not listed");
    assert!(!world.path("D/.twinlane").exists());
    list(&format!("{}  gone\n{}  more\n", digest("x"), digest("x")));
    let lines = world.start(&["verify", "./D", "--sums", "sums", "--json"]).expect(1).json();
    let expected = [("gone", "missing"), ("more", "differs")];
    assert_eq!(failed(&lines), expected.map(|(path, what)| (path.to_owned(), what.to_owned())).into());
    list("nonsense\n");
    world.start(&["verify", "D", "--sums", "sums"]).expect(2).says("`sums`, line 4");
    list(&format!("{}  ../out\n", digest("x")));
    world.start(&["verify", "D", "--sums", "sums"]).expect(2).says("not below the directory");
    world.start(&["verify", "D", "--sums", "absent"]).expect(2).says("absent");
    world.start(&["verify", "D"]).expect(3).says("no run has written here").says("--sums");
}

#[test]
fn without_a_catalog_there_is_nothing_to_verify_against() {
    let world = ran(&[("S/a", "one"), ("S/b", "two")]);
    fs::write(world.path("T/.twinlane/catalog.db"), "no database at all, and long enough to be looked at")
        .unwrap();
    world.start(&["verify", "j"]).expect(3).says("its catalog cannot be read").says("--accept destination");
    fs::remove_file(world.path("T/.twinlane/catalog.db")).unwrap();
    world.start(&["verify", "j"]).expect(3).says("it has no catalog");
    world.start(&["verify", "j/r", "--accept", "destination"]).expect(0).says("2 that no run has brought");
    world.start(&["verify", "j"]).expect(0).says("2 right");
}

#[test]
fn on_a_read_only_place_it_reads_and_does_not_remember() {
    let mut world = World::with("mirror", "");
    world.files([("S/a", "one")]);
    if !world.mount("T", FileSystem::Ext4(&["-q"])) {
        return;
    }
    world.start(&["run", "j", "--accept", "destination"]).expect(0);
    world.shell("mount -o remount,ro T");
    world
        .start(&["verify", "j"])
        .expect(0)
        .says("1 right")
        .says("not remembered: the destination is on a read-only");
    world.start(&["verify", "j", "--sample", "10%"]).expect(0).says("not remembered");
}

#[test]
fn where_only_a_cache_can_be_read_that_is_said() {
    let mut world = World::with("mirror", "");
    world.files([("S/a", "one")]);
    if !world.mount("T", FileSystem::Tmpfs("")) {
        return;
    }
    world.start(&["run", "j", "--accept", "destination"]).expect(0);
    world.start(&["verify", "j"]).expect(0).says("1 file could be read through a cache only");
}

#[test]
fn what_cannot_be_read_is_told_with_all_below_it() {
    let world = ran(&[("S/d/a", "one"), ("S/b", "two"), ("S/c", "three")]);
    if is_root() && !world.give_to_user() {
        return;
    }
    set_mode(&world.path("T/d"), 0o000);
    set_mode(&world.path("T/b"), 0o000);
    let lines = world.start_as_user(&["verify", "T", "--json"]).expect(1).json();
    let expected = [("b", "unread"), ("d", "unread")];
    assert_eq!(failed(&lines), expected.map(|(path, what)| (path.to_owned(), what.to_owned())).into());
    set_mode(&world.path("T/d"), 0o755);
    set_mode(&world.path("T/b"), 0o644);
    world.start_as_user(&["verify", "T"]).expect(0).says("3 right");
}

#[test]
fn what_cannot_be_read_keeps_no_round_open() {
    let world = ran(&[("S/a", "1"), ("S/b", "2"), ("S/c", "3"), ("S/d", "4")]);
    if is_root() && !world.give_to_user() {
        return;
    }
    set_mode(&world.path("T/b"), 0o000);
    let mut read = Vec::new();
    for _ in 0..6 {
        let lines = world.start_as_user(&["verify", "T", "--sample", "25%", "--json", "-v"]).json();
        let files = lines.iter().filter(|line| line["event"] == "verify-file");
        read.extend(files.map(|line| line["path"].as_str().unwrap().to_owned()));
    }
    let times = |name: &str| read.iter().filter(|path| *path == name).count();
    assert!(["a", "c", "d"].iter().all(|name| times(name) >= 1), "{read:?}");
    assert!(["a", "c", "d"].iter().all(|name| times(name) <= 2), "{read:?}");
    assert!(read.len() >= 5, "a round that never ends reads nothing: {read:?}");
}

#[test]
fn a_run_that_holds_the_destination_goes_first() {
    let world = ran(&[("S/a", "one")]);
    let lock = world.path("T/.twinlane/lock");
    let program = env!("CARGO_BIN_EXE_twinlane");
    let mut command = Command::new("flock");
    command.arg("--exclusive").arg(&lock).args([program, "verify", "j"]).current_dir(world.base());
    command.env("HOME", world.path("home")).env("TWINLANE_STATE_DIR", &world.state);
    ended(&command.output().unwrap()).expect(4).says("another run holds this destination");
    // Another reader hinders the remembering alone.
    let mut command = Command::new("flock");
    command.arg("--shared").arg(&lock).args([program, "verify", "j"]).current_dir(world.base());
    command.env("HOME", world.path("home")).env("TWINLANE_STATE_DIR", &world.state);
    ended(&command.output().unwrap()).expect(0).says("1 right").says("not remembered: another Twinlane");
}

#[test]
fn a_signal_ends_it_with_what_was_read_remembered() {
    let world = World::with("mirror", "");
    // More lines than a pipe holds: it waits for its reader until the signal has come.
    world.many(800);
    world.start(&["run", "j"]).expect(0);
    let variables = [("TWINLANE_WORKERS", "1")];
    let mut child = world.spawn(&["verify", "j", "--json", "-v"], &variables);
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    std::io::BufRead::read_line(&mut out, &mut first).unwrap();
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut out, &mut rest).unwrap();
    let code = child.wait().unwrap().code();
    let read = 1 + rest.lines().filter(|line| line.contains("verify-file")).count();
    assert_eq!(code, Some(130), "{rest}");
    let connection = rusqlite::Connection::open(world.path("T/.twinlane/catalog.db")).unwrap();
    let remembered: u32 = connection
        .query_row("SELECT count(*) FROM entries WHERE read_back IS NOT NULL", [], |row| row.get(0))
        .unwrap();
    assert_eq!(remembered as usize, read);
}

#[test]
fn jobs_come_before_folders_and_neither_is_a_slip() {
    let world = ran(&[("S/a", "one")]);
    world.files([("j/x", "a folder of the job's name")]);
    world.start(&["verify", "j"]).expect(0).says("j/r: all right");
    world.start(&["verify", "./j"]).expect(3).says("no run has written here");
    world.start(&["verify", "jj"]).expect(2).says("no job is called `jj`");
    world.start(&["verify", "./jj"]).expect(3).says("is not there");
    world.start(&["verify", "j/x"]).expect(2).says("has no rule `x`");
    world.start(&["verify", "j", "--sample", "0%"]).expect(2);
    world.start(&["verify", "j", "--max-time", "30"]).expect(2).says("unit is missing");
}
