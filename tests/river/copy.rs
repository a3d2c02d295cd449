//! `copy`: what its arguments mean, what it refuses, and that it leaves nothing but the copies.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Ended, FileSystem, World};

fn copy(world: &World, arguments: &[&str]) -> Ended {
    let all: Vec<&str> = ["copy"].iter().chain(arguments).copied().collect();
    world.start(&all)
}

/// All paths below a folder of the world, sorted.
fn listing(world: &World, name: &str) -> Vec<String> {
    let root = world.path(name);
    let mut all: Vec<String> = walkdir::WalkDir::new(&root)
        .min_depth(1)
        .into_iter()
        .map(|entry| entry.unwrap().path().strip_prefix(&root).unwrap().display().to_string())
        .collect();
    all.sort();
    all
}

fn read(world: &World, name: &str) -> String {
    fs::read_to_string(world.path(name)).unwrap()
}

#[test]
fn a_folder_goes_under_its_own_name_and_a_second_copy_has_nothing_to_do() {
    let world = World::new();
    world.files([("S/a/one", "1"), ("S/two", "2"), ("D/other", "o")]);
    copy(&world, &["S", "D"]).expect(0).says("S → D/S").says("2 copied");
    assert_eq!(listing(&world, "D"), ["S", "S/a", "S/a/one", "S/two", "other"]);
    assert_eq!(world.tree("S"), world.tree("D/S"));
    let before = world.witness("D");
    copy(&world, &["S", "D"]).expect(0).says("nothing to do");
    assert_eq!(before, world.witness("D"));
}

#[test]
fn with_a_slash_a_dot_or_two_the_content_is_meant() {
    for source in ["S/", "S/.", "S/a/..", "./S//"] {
        let world = World::new();
        world.files([("S/a/one", "1"), ("S/two", "2")]);
        copy(&world, &[source, "D"]).expect(0).says("→ D");
        assert_eq!(world.tree("S"), world.tree("D"), "{source}");
    }
    let world = World::new();
    world.files([("S/a/one", "1")]);
    let here = |folder: &str, arguments: &[&str]| {
        let mut command = world.command(arguments);
        crate::support::ended(&command.current_dir(world.path(folder)).output().unwrap())
    };
    here("S", &["copy", ".", "../D"]).expect(0);
    here("S/a", &["copy", "..", "../../E"]).expect(0);
    assert_eq!(world.tree("S"), world.tree("D"));
    assert_eq!(world.tree("S"), world.tree("E"));
}

#[test]
fn a_content_gives_its_folders_metadata_and_an_entry_does_not() {
    let world = World::new();
    world.files([("S/a", "a"), ("D/other", "o"), ("E/other", "o")]);
    world.shell("chmod 750 S; touch -d 2001-01-01 S; chmod 711 D E");
    copy(&world, &["S/", "D"]).expect(0);
    let meta = |name: &str| fs::metadata(world.path(name)).unwrap();
    assert_eq!((meta("D").mode() & 0o777, meta("D").mtime()), (0o750, meta("S").mtime()));
    copy(&world, &["S/a", "E"]).expect(0);
    assert_eq!(meta("E").mode() & 0o777, 0o711);
    assert!(meta("E").mtime() > meta("S").mtime(), "names were made in it now");
    copy(&world, &["S/a", "F/"]).expect(0);
    assert_ne!(meta("F").mode() & 0o777, 0o750);
    assert!(meta("F").mtime() > meta("S").mtime(), "it was made now");
}

#[test]
fn a_file_gets_a_folder_or_a_new_name() {
    let world = World::new();
    world.files([("S/file", "new"), ("D/other", "o"), ("old", "old content")]);
    copy(&world, &["S/file", "D"]).expect(0).says("S/file → D/file");
    copy(&world, &["S/file", "D/name"]).expect(0).says("S/file → D/name");
    copy(&world, &["S/file", "E/"]).expect(0).says("S/file → E/file");
    copy(&world, &["S/file", "old"]).expect(0).says("1 replaced");
    copy(&world, &["S/file", "S/twin"]).expect(0);
    for copied in ["D/file", "D/name", "E/file", "old", "S/twin"] {
        assert_eq!(read(&world, copied), "new", "{copied}");
        let (ours, theirs) =
            (fs::metadata(world.path("S/file")).unwrap(), fs::metadata(world.path(copied)).unwrap());
        assert_eq!((ours.mtime(), ours.mtime_nsec()), (theirs.mtime(), theirs.mtime_nsec()), "{copied}");
    }
    assert_eq!(listing(&world, "D"), ["file", "name", "other"]);
    copy(&world, &["S/file", "D/name"]).expect(0).says("nothing to do");
}

#[test]
fn links_and_special_files_get_a_new_name_too() {
    let world = World::new();
    symlink("../gone", world.path("S/link")).unwrap();
    world.shell("mkfifo S/fifo");
    copy(&world, &["S/link", "other"]).expect(0);
    copy(&world, &["S/fifo", "pipe"]).expect(0);
    assert_eq!(fs::read_link(world.path("other")).unwrap(), Path::new("../gone"));
    let tree = world.tree(".");
    assert_eq!(tree[Path::new("S/fifo")], tree[Path::new("pipe")]);
    copy(&world, &["S/link", "other"]).expect(0).says("nothing to do");
    copy(&world, &["S/fifo", "pipe"]).expect(0).says("nothing to do");
}

#[test]
fn several_sources_go_side_by_side_and_stay_names_of_one_file() {
    let world = World::new();
    world.files([("S/a", "twins"), ("S/c", "c"), ("S/dir/x", "x"), ("S/not", "asked for"), ("R/r", "r")]);
    fs::hard_link(world.path("S/a"), world.path("S/b")).unwrap();
    let arguments = ["S/a", "S/b", "S/dir", "R/r", "D"];
    copy(&world, &arguments).expect(0).says("R/r → D/r").says("S/dir → D/dir");
    assert_eq!(listing(&world, "D"), ["a", "b", "dir", "dir/x", "r"]);
    assert_eq!(fs::metadata(world.path("D/a")).unwrap().nlink(), 2);
    let before = world.witness("D");
    copy(&world, &arguments).expect(0).says("nothing to do");
    assert_eq!(before, world.witness("D"));
}

#[test]
fn thousands_of_sources_need_few_handles() {
    let world = World::new();
    world.shell("for i in $(seq 1500); do echo $i > S/f$i; done; mkdir D");
    let program = env!("CARGO_BIN_EXE_twinlane");
    let line = format!("ulimit -n 128; exec {program} copy S/f* D");
    let ended = crate::support::ended(&world.in_surroundings("bash", &["-c", &line]).output().unwrap());
    ended.expect(0).says("1,500 copied").says("… and 1,480 more");
    assert_eq!(listing(&world, "S"), listing(&world, "D"));
}

#[test]
fn a_symlink_is_copied_and_one_with_a_slash_is_followed() {
    let world = World::new();
    world.files([("S/a", "a"), ("D/other", "o")]);
    symlink("S", world.path("link")).unwrap();
    copy(&world, &["link", "D"]).expect(0);
    assert_eq!(fs::read_link(world.path("D/link")).unwrap(), Path::new("S"));
    copy(&world, &["link/", "E"]).expect(0);
    assert_eq!(listing(&world, "E"), ["a"]);
    symlink("D", world.path("to")).unwrap();
    copy(&world, &["S/a", "to"]).expect(0);
    assert_eq!(read(&world, "D/a"), "a");
}

#[test]
fn what_is_there_is_overwritten_as_was_asked() {
    let world = World::new();
    let fresh = || {
        world.files([
            ("S/older", "source"),
            ("S/newer", "source"),
            ("D/older", "dest"),
            ("D/newer", "dest."),
        ]);
        world.shell("touch -d 2001-01-01 S/older D/newer; touch -d 2002-01-01 S/newer D/older");
    };
    let now = || [read(&world, "D/older"), read(&world, "D/newer")];
    fresh();
    copy(&world, &["S/", "D", "--overwrite", "never"]).expect(0);
    assert_eq!(now(), ["dest", "dest."]);
    copy(&world, &["S/", "D", "--overwrite", "newer"]).expect(0);
    assert_eq!(now(), ["dest", "source"]);
    copy(&world, &["S/", "D"]).expect(0);
    assert_eq!(now(), ["source", "source"]);
}

#[test]
fn patterns_leave_out_and_a_leading_slash_stands_for_the_destination() {
    let world = World::new();
    world.files([("S/a.tmp", ""), ("S/keep", ""), ("S/sub/b.tmp", ""), ("S/sub/keep", "")]);
    copy(&world, &["S", "D", "--exclude", "*.tmp", "--exclude", "/S/sub/"]).expect(0);
    assert_eq!(listing(&world, "D"), ["S", "S/keep"]);
    copy(&world, &["S/", "E", "--exclude", "/keep"]).expect(0);
    assert_eq!(listing(&world, "E"), ["a.tmp", "sub", "sub/b.tmp", "sub/keep"]);
    world.refused(&["copy", "S", "D", "--exclude", "a[z-"], 2);
}

#[test]
fn a_dry_run_shows_all_and_writes_nothing() {
    let world = World::new();
    world.files([("S/a", "a"), ("S/b", "b"), ("D/S/b", "another")]);
    world
        .refused(&["copy", "S", "D", "--dry-run"], 0)
        .says("S → D/S")
        .says("1 to copy, 1 to replace")
        .says("next: twinlane copy S D");
    world.refused(&["copy", "S", "E", "--dry-run"], 0).says("S → E/S");
    assert!(!world.path("state").exists());
    let objects = copy(&world, &["S", "D", "--dry-run", "--json"]).expect(0).json();
    assert_eq!(objects[0]["mapping"][0]["destination"], "D/S");
    assert_eq!(objects[1]["totals"]["copy"], 1);
}

#[test]
fn nothing_is_touched_where_a_source_is_missing_or_two_have_one_name() {
    let world = World::new();
    world.files([("S/a", "a"), ("R/a", "other"), ("D/x", "x")]);
    let all = world.refused(&["copy", "S/a", "gone", "R/none/x", "D"], 2);
    all.says("2 sources do not exist: `gone`, `R/none/x`");
    world.refused(&["copy", "S/a", "R/a", "D"], 2).says("`a` comes from both `S/a` and `R/a`");
    world.refused(&["copy", "S/", "R/", "D"], 2).says("`a` comes from both `S/` and `R/`");
    world.refused(&["copy", "S/a", "S/a", "D"], 2);
    world.refused(&["copy", "S/a/", "D"], 2).says("leave its trailing slash out");
    world.refused(&["copy", "S", "none/deep"], 2).says("mkdir -p");
    world.refused(&["copy", "S", "D/x"], 2).says("a directory needs one to be copied into");
    world.refused(&["copy", "S/a", "R/a", "new/deeper"], 2);
    world.refused(&["copy", "S/a", ""], 2);
    world.start(&["copy"]).expect(2);
    world.start(&["copy", "S"]).expect(2);
}

#[test]
fn a_source_is_not_copied_onto_or_into_itself() {
    let world = World::new();
    world.files([("S/a/b/c", "c"), ("S/f", "f")]);
    symlink("S/a", world.path("link")).unwrap();
    world.refused(&["copy", "S", "."], 3).says("onto itself");
    world.refused(&["copy", "S/f", "S"], 3).says("onto itself");
    world.refused(&["copy", "S/f", "S/f"], 3).says("onto itself");
    world.refused(&["copy", "S/", "S"], 3).says("onto itself");
    world.refused(&["copy", "S", "S"], 3).says("lies inside source");
    world.refused(&["copy", "S", "S/a/b"], 3).says("lies inside source");
    world.refused(&["copy", "S", "S/a/new"], 3).says("lies inside source");
    world.refused(&["copy", "S/", "link/b"], 3).says("lies inside source");
    copy(&world, &["S/a/b", "S"]).expect(0);
    assert_eq!(read(&world, "S/b/c"), "c");
}

#[test]
fn other_kinds_of_entries_stay_where_a_folder_is_concerned() {
    let world = World::new();
    world.files([("S/x/in", "in"), ("S/y", "y"), ("S/z", "z"), ("D/x", "file"), ("D/y/kept", "kept")]);
    let before = (read(&world, "D/x"), read(&world, "D/y/kept"));
    copy(&world, &["S/", "D"]).expect(1).says("2 entries were left undone").says("D/x: stays");
    assert_eq!(before, (read(&world, "D/x"), read(&world, "D/y/kept")));
    assert_eq!(read(&world, "D/z"), "z");
    copy(&world, &["S/x", "D"]).expect(1);
    assert_eq!(read(&world, "D/x"), "file");
}

#[test]
fn what_a_rule_keeps_is_no_place_for_a_copy() {
    let world = World::with("backup", "");
    world.files([("S/a", "a"), ("other/b", "b")]);
    world.run().expect(0);
    fs::create_dir(world.path("T/sub")).unwrap();
    for destination in ["T", "T/", "T/sub", "T/new", "T/a"] {
        let ended = world.refused(&["copy", "other/b", destination], 3);
        ended.says("is kept by j/r").says("copy to a folder outside it");
    }
    world.refused(&["copy", "T/.twinlane", "other"], 2);
}

#[test]
fn a_disk_of_backups_is_copied_whole_without_the_slash_and_as_content_with_it() {
    let world = World::with("backup", "");
    world.files([("S/a", "a"), ("D/x", "x")]);
    world.run().expect(0);
    copy(&world, &["T", "D"]).expect(0);
    assert!(world.path("D/T/.twinlane/id").exists() && !world.path("D/T/.twinlane/lock").exists());
    copy(&world, &["T", "D"]).expect(0).says("nothing to do");
    copy(&world, &["T/", "E"]).expect(0).says("left out of `T/`: .twinlane");
    assert_eq!(listing(&world, "E"), ["a"]);
}

#[test]
fn places_on_other_hosts_are_refused_with_that_sentence() {
    let world = World::new();
    world.files([("S/a", "a"), ("12:30", "a colon")]);
    for remote in ["anna@host:/backup", "host:backup", "sftp://host/backup"] {
        for arguments in [["copy", "S", remote], ["copy", remote, "S"]] {
            world.refused(&arguments, 2).says("Twinlane works on local and mounted file systems");
        }
    }
    copy(&world, &["12:30", "S"]).expect(0);
    copy(&world, &["S/a", "./13:00"]).expect(0);
    assert_eq!(read(&world, "S/12:30"), "a colon");
}

#[test]
fn digests_are_written_for_all_files_that_are_in_place() {
    let world = World::new();
    world.files([("S/a", "a"), ("S/sub/b\nc", "b"), ("S/sub/d\\e", "d"), ("D/extra", "not copied")]);
    fs::hard_link(world.path("S/a"), world.path("S/z")).unwrap();
    symlink("a", world.path("S/link")).unwrap();
    copy(&world, &["S/a", "D"]).expect(0);
    copy(&world, &["S/", "D", "--sums", "list"]).expect(0).says("digests of 4 files").says("b3sum -c");
    let expected =
        [("a", "a"), ("sub/b\\nc", "b"), ("sub/d\\\\e", "d"), ("z", "a")].map(|(name, content)| {
            let escape = if name.contains('\\') { "\\" } else { "" };
            format!("{escape}{}  {name}\n", blake3::hash(content.as_bytes()))
        });
    assert_eq!(read(&world, "list"), expected.concat());
    world.refused(&["copy", "S/", "D", "--sums", "list"], 2).says("exists already");
    world.refused(&["copy", "S/", "E", "--sums", "none/list"], 2);
    let objects = copy(&world, &["S/a", "other", "--sums", "one", "--json"]).expect(0).json();
    assert_eq!(read(&world, "one"), format!("{}  other\n", blake3::hash(b"a")));
    let end = objects.last().unwrap();
    assert_eq!((&end["event"], &end["sums"]["files"]), (&"copy-end".into(), &1.into()));
    if Command::new("b3sum").arg("--version").output().is_err() {
        eprintln!("skipped: there is no b3sum to check the list with");
        return;
    }
    world.shell("cd D && b3sum -c ../list");
}

#[test]
fn a_file_with_another_content_that_stays_is_in_no_list() {
    let world = World::new();
    world.files([("S/a", "a"), ("S/b", "b"), ("D/b", "another")]);
    copy(&world, &["S/", "D", "--overwrite", "never", "--sums", "list"]).expect(0);
    assert_eq!(read(&world, "list"), format!("{}  a\n", blake3::hash(b"a")));
}

#[test]
fn nothing_is_left_but_the_copies() {
    let world = World::new();
    world.many(120);
    copy(&world, &["S/", "D"]).expect(0);
    assert_eq!(listing(&world, "S"), listing(&world, "D"));
    assert_eq!(listing(&world, "state"), ["copies"]);
}

#[test]
fn what_a_killed_copy_leaves_is_cleared_by_the_next_and_look_alikes_stay() {
    let world = World::new();
    world.many(60);
    let alike = "D/S/d00/.twinlane-2020-01-01T000000.000Z-4";
    world.files([("D/.twinlane-notes", "n"), (alike, "mine"), ("D/other/x", "x")]);
    let mut left = 0;
    for call in (5..400).step_by(23) {
        let mut command = world.command(&["copy", "S", "D"]);
        command.env("TWINLANE_WORKERS", "1").env("TWINLANE_FAULT", format!("kill@{call}"));
        let ended = crate::support::ended(&command.output().unwrap());
        left = left.max(stages(&world).len());
        assert!(whole(&world), "after call {call}");
        if ended.code == 0 {
            break;
        }
    }
    assert!(left > 0, "no kill left a stage file");
    copy(&world, &["S", "D"]).expect(0);
    assert_eq!(stages(&world), Vec::<PathBuf>::new());
    assert_eq!(listing(&world, "state"), ["copies"]);
    assert_eq!(read(&world, alike), "mine");
    fs::remove_file(world.path(alike)).unwrap();
    copy(&world, &["S", "D"]).expect(0);
    assert_eq!(world.tree("S"), world.tree("D/S"));
}

/// Stage files of this test's own runs.
fn stages(world: &World) -> Vec<PathBuf> {
    let names = walkdir::WalkDir::new(world.path("D")).into_iter().map(|entry| entry.unwrap().into_path());
    names
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with(".twinlane-2") && !name.contains("2020-01-01T")
        })
        .collect()
}

/// Whether every file under a real name is whole.
fn whole(world: &World) -> bool {
    world.tree("D/S").iter().all(|(path, thing)| {
        let is_stage = path.to_string_lossy().contains(".twinlane-");
        thing.kind != 'f' || is_stage || thing.content == world.tree("S")[path].content
    })
}

#[test]
fn a_killed_copy_into_another_place_is_none_of_its_business() {
    let world = World::new();
    world.many(60);
    let mut command = world.command(&["copy", "S", "D"]);
    fs::create_dir(world.path("D")).unwrap();
    command.env("TWINLANE_WORKERS", "1").env("TWINLANE_FAULT", "kill@60");
    assert_eq!(crate::support::ended(&command.output().unwrap()).code, -9);
    let left = stages(&world);
    assert!(!left.is_empty());
    copy(&world, &["S", "E"]).expect(0);
    assert_eq!(left, stages(&world));
    copy(&world, &["S/d00/f0001", "D"]).expect(0).says("stage files were cleared");
    assert!(stages(&world).is_empty());
}

#[test]
fn without_a_state_it_copies_all_the_same_and_says_what_that_means() {
    let world = World::new();
    world.files([("S/a", "a"), ("file", "")]);
    let mut command = world.command(&["copy", "S", "D"]);
    command.env("TWINLANE_STATE_DIR", world.path("file/below"));
    let ended = crate::support::ended(&command.output().unwrap());
    ended.expect(0).says("should this copy be killed");
    assert_eq!(world.tree("S"), world.tree("D/S"));
}

#[test]
fn events_are_one_object_a_line() {
    let world = World::new();
    world.files([("S/a", "a")]);
    let objects = copy(&world, &["S", "D", "--json", "-v"]).expect(0).json();
    let events: Vec<&str> = objects.iter().map(|object| object["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["copy-start", "plan", "action", "action", "copy-end"]);
    assert_eq!((&objects[4]["exit"], &objects[4]["done"]["copy"]), (&0.into(), &1.into()));
    assert!(copy(&world, &["S", "D", "-q"]).expect(0).out.is_empty());
}

#[test]
fn an_interrupted_copy_leaves_whole_copies_and_nothing_else() {
    let world = World::new();
    world.many(120);
    let hook = "hook:kill -INT $PPID; sleep 0.2@60";
    let mut command = world.command(&["copy", "S", "D"]);
    command.env("TWINLANE_WORKERS", "1").env("TWINLANE_FAULT", hook);
    let ended = crate::support::ended(&command.output().unwrap());
    ended.expect(130).says("what was copied is whole").says("next: twinlane copy S D");
    assert!(whole(&world) && stages(&world).is_empty());
    assert_eq!(listing(&world, "state"), ["copies"]);
    copy(&world, &["S", "D"]).expect(0);
    assert_eq!(world.tree("S"), world.tree("D/S"));
}

#[test]
fn each_failing_call_leaves_whole_copies_and_the_next_one_mends() {
    for (fault, step) in [("eio", 7), ("enospc", 11), ("kill", 13), ("eacces", 17)] {
        let mut ended_well = 0;
        for call in (1..).step_by(step) {
            let world = World::new();
            world.files([
                ("S/a", "a"),
                ("S/d/b", "b"),
                ("S/d/e/c", "c"),
                ("D/S/a", "old a"),
                ("D/S/kept", "k"),
            ]);
            symlink("a", world.path("S/link")).unwrap();
            fs::hard_link(world.path("S/a"), world.path("S/d/twin")).unwrap();
            let mut command = world.command(&["copy", "S", "D"]);
            command.env("TWINLANE_WORKERS", "1").env("TWINLANE_FAULT", format!("{fault}@{call}"));
            let ended = crate::support::ended(&command.output().unwrap());
            assert!([0, 1, 3, 5, -9].contains(&ended.code), "{fault}@{call}: {ended:?}");
            let now = world.tree("D/S");
            let old = now.get(Path::new("a")).map(|thing| thing.content.clone());
            let contents = ["a", "old a"].map(|content| blake3::hash(content.as_bytes()).to_string());
            assert!(old.is_some_and(|old| contents.contains(&old)), "{fault}@{call}");
            copy(&world, &["S", "D"]).expect(0);
            assert!(stages(&world).is_empty(), "{fault}@{call}: {:?}", stages(&world));
            let mut mended = world.tree("D/S");
            assert!(mended.remove(Path::new("kept")).is_some(), "{fault}@{call}");
            assert_eq!(world.tree("S"), mended, "{fault}@{call}");
            ended_well = if ended.code == 0 { ended_well + 1 } else { 0 };
            // Beyond the last call that a copy makes nothing fails.
            if ended_well == 2 {
                break;
            }
        }
    }
}

#[test]
fn what_a_place_does_not_hold_is_said_once_and_a_second_copy_has_nothing_to_do() {
    for kind in [FileSystem::Exfat, FileSystem::Ext4(&["-q", "-I", "128"])] {
        let mut world = World::new();
        world.files([("S/a", "a"), ("S/sub/b", "b")]);
        world.shell("chmod 640 S/a; touch -d '2001-01-01 00:00:01.5' S/a");
        if !world.mount("D", kind) {
            continue;
        }
        copy(&world, &["S", "D"]).expect(0);
        assert_eq!((read(&world, "D/S/a"), read(&world, "D/S/sub/b")), ("a".to_owned(), "b".to_owned()));
        copy(&world, &["S", "D"]).expect(0).says("nothing to do");
    }
}
