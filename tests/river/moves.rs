//! Files that got another name in the source get it in the destination too, and nothing is copied.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::Command;

use crate::support::{FileSystem, World, touch};

/// The content of a file that is worth a move: other bytes for each seed.
fn content(seed: usize, bytes: usize) -> Vec<u8> {
    let line = format!("{seed} is the seed of this file\n");
    line.bytes().cycle().take(bytes).collect()
}

/// Writes a file of the source that was last changed long ago, at a second of its own for each seed.
fn file(world: &World, name: &str, seed: usize, bytes: usize) {
    let path = world.source.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content(seed, bytes)).unwrap();
    touch(&path, &format!("2001-02-03 04:{:02}:{:02}", seed / 60 % 60, seed % 60));
}

const LARGE: usize = 100_000;

/// A mirror that was run once over these files, each with a seed of its own.
fn mirrored(names: &[&str]) -> World {
    let world = World::with("mirror", "");
    for (seed, name) in names.iter().enumerate() {
        file(&world, name, seed, LARGE);
    }
    world.run().expect(0);
    world
}

fn rename(world: &World, from: &str, to: &str) {
    let to = world.source.join(to);
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::rename(world.source.join(from), to).unwrap();
}

fn inode(world: &World, name: &str) -> u64 {
    fs::metadata(world.destination.join(name)).unwrap().ino()
}

/// Runs with `--json`, settles, and returns what was done.
#[track_caller]
fn done(world: &World) -> serde_json::Value {
    let ran = world.start(&["run", "j", "--json"]).expect(0);
    let ended = ran.json().into_iter().find(|line| line["event"] == "rule-end").unwrap();
    assert_eq!(world.tree("S"), world.tree("T"));
    world.is_settled();
    ended["done"].clone()
}

#[track_caller]
fn check(done: &serde_json::Value, expected: &[(&str, u64)]) {
    for kind in ["mkdir", "move", "copy", "replace", "remove", "bytes"] {
        let wanted = expected.iter().find(|(name, _)| *name == kind).map_or(0, |(_, count)| *count);
        assert_eq!(done[kind], wanted, "{kind} of {done}");
    }
}

/// What versions hold, by path.
fn versions(world: &World) -> Vec<String> {
    let folder = world.destination.join(".twinlane/versions");
    walkdir::WalkDir::new(&folder)
        .min_depth(2)
        .sort_by_file_name()
        .into_iter()
        .flatten()
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| {
            let below = entry.path().strip_prefix(&folder).unwrap();
            below.components().skip(1).collect::<std::path::PathBuf>().to_string_lossy().into_owned()
        })
        .collect()
}

#[test]
fn a_large_file_with_another_name_is_moved() {
    let world = World::with("mirror", "");
    file(&world, "a/film", 1, 4 << 20);
    file(&world, "small", 2, 10);
    world.run().expect(0);
    let before = inode(&world, "a/film");
    rename(&world, "a/film", "b/movie");
    world.start(&["plan", "j"]).expect(0).says("move      b/movie ← a/film").says("1 to move");
    let plan = world.start(&["plan", "j", "--json"]).expect(0).json();
    let moved = plan[0]["actions"].as_array().unwrap().iter().find(|action| action["action"] == "move");
    let expected = serde_json::json!({"action": "move", "path": "b/movie", "kind": "file",
        "reason": "same content under another name", "from": "a/film"});
    assert_eq!(*moved.unwrap(), expected);
    assert_eq!(plan[0]["totals"]["bytes"], 0);
    let said = world.start(&["run", "j", "-v"]).expect(0).says("move      b/movie ← a/film").says("1 moved");
    assert!(said.out.contains("made") && !said.out.contains("copied"), "{}", said.out);
    assert_eq!(world.tree("S"), world.tree("T"));
    world.is_settled();
    assert_eq!(inode(&world, "b/movie"), before);
    rename(&world, "b/movie", "a/film");
    check(&done(&world), &[("move", 1)]);
    assert_eq!(inode(&world, "a/film"), before);
    assert_eq!(versions(&world), Vec::<String>::new());
    world.start(&["history", "j"]).expect(0).says("1 moved");
}

#[test]
fn a_folder_with_another_name_is_moved_file_by_file_within_the_limits() {
    let world = World::with("mirror", "");
    for number in 0..300 {
        file(&world, &format!("old/deep/{number}"), number, 65_536);
    }
    world.run().expect(0);
    rename(&world, "old", "new");
    let one = world.start(&["plan", "j", "--json"]).expect(0).out;
    let mut alone = world.command(&["plan", "j", "--json"]);
    let alone = alone.env("TWINLANE_WORKERS", "1").output().unwrap();
    assert_eq!(one, String::from_utf8_lossy(&alone.stdout), "one worker plans the same");
    world.start(&["plan", "j"]).expect(0).says("remove    old  (only in the destination, emptied by moves)");
    let done = done(&world);
    check(&done, &[("mkdir", 2), ("move", 300), ("remove", 2)]);
    assert_eq!(versions(&world), Vec::<String>::new());
}

#[test]
fn two_files_change_places() {
    let world = mirrored(&["a", "d/b"]);
    let before = [inode(&world, "a"), inode(&world, "d/b")];
    rename(&world, "a", "c");
    rename(&world, "d/b", "a");
    rename(&world, "c", "d/b");
    check(&done(&world), &[("move", 2)]);
    assert_eq!([inode(&world, "d/b"), inode(&world, "a")], before);
    assert_eq!(versions(&world), Vec::<String>::new());
}

#[test]
fn files_move_up_in_a_chain_as_logs_do() {
    let world = mirrored(&["log", "log.1", "log.2", "log.3"]);
    let before = ["log", "log.1", "log.2"].map(|name| inode(&world, name));
    fs::remove_file(world.source.join("log.3")).unwrap();
    for (from, to) in [("log.2", "log.3"), ("log.1", "log.2"), ("log", "log.1")] {
        rename(&world, from, to);
    }
    file(&world, "log", 9, LARGE);
    check(&done(&world), &[("move", 3), ("replace", 1), ("bytes", LARGE as u64)]);
    assert_eq!(["log.1", "log.2", "log.3"].map(|name| inode(&world, name)), before);
    let links = ["log", "log.1", "log.2", "log.3"]
        .map(|name| fs::metadata(world.destination.join(name)).unwrap().nlink());
    assert_eq!(links, [1; 4]);
    assert_eq!(versions(&world), ["log.3"], "only what is nowhere else is displaced");
}

#[test]
fn a_chain_that_ends_at_a_new_name_displaces_nothing() {
    let world = mirrored(&["a", "b"]);
    rename(&world, "b", "c");
    rename(&world, "a", "b");
    check(&done(&world), &[("move", 2)]);
    assert_eq!(versions(&world), Vec::<String>::new());
}

#[test]
fn a_ring_of_three_ends_right_and_copies_its_smallest_file_alone() {
    let world = World::with("mirror", "");
    for (seed, name) in ["a", "b", "c"].iter().enumerate() {
        file(&world, name, seed, LARGE + seed);
    }
    world.run().expect(0);
    rename(&world, "a", "spare");
    rename(&world, "c", "a");
    rename(&world, "b", "c");
    rename(&world, "spare", "b");
    check(&done(&world), &[("move", 2), ("replace", 1), ("bytes", LARGE as u64)]);
    assert_eq!(versions(&world), ["a"]);
}

#[test]
fn a_file_moved_over_another_displaces_that_one() {
    let world = mirrored(&["a", "b"]);
    rename(&world, "a", "b");
    check(&done(&world), &[("move", 1)]);
    assert_eq!(versions(&world), ["b"]);
    assert_eq!(fs::metadata(world.destination.join("b")).unwrap().nlink(), 1);
}

#[test]
fn an_impostor_of_equal_size_and_time_is_copied() {
    let world = mirrored(&["a"]);
    let time = fs::metadata(world.source.join("a")).unwrap().modified().unwrap();
    fs::remove_file(world.source.join("a")).unwrap();
    fs::write(world.source.join("b"), content(7, LARGE)).unwrap();
    fs::File::open(world.source.join("b")).unwrap().set_modified(time).unwrap();
    check(&done(&world), &[("copy", 1), ("remove", 1), ("bytes", LARGE as u64)]);
    assert_eq!(versions(&world), ["a"]);
}

#[test]
fn of_several_files_with_equal_content_each_is_moved_once() {
    let world = World::with("mirror", "");
    for name in ["a/1", "a/2", "b/3"] {
        file(&world, name, 5, LARGE);
    }
    world.run().expect(0);
    rename(&world, "a", "x");
    rename(&world, "b/3", "x/3");
    file(&world, "x/4", 5, LARGE);
    check(&done(&world), &[("mkdir", 1), ("move", 3), ("copy", 1), ("remove", 1), ("bytes", LARGE as u64)]);
}

#[test]
fn metadata_that_changed_along_is_mended() {
    let world = mirrored(&["a"]);
    let before = inode(&world, "a");
    rename(&world, "a", "b");
    fs::set_permissions(world.source.join("b"), fs::Permissions::from_mode(0o600)).unwrap();
    check(&done(&world), &[("move", 1)]);
    assert_eq!(inode(&world, "b"), before);
}

#[test]
fn a_file_moves_out_of_a_removed_folder_into_a_new_one() {
    let world = mirrored(&["gone/deep/a", "gone/other"]);
    rename(&world, "gone/deep/a", "made/further/a");
    fs::remove_dir_all(world.source.join("gone")).unwrap();
    check(&done(&world), &[("mkdir", 2), ("move", 1), ("remove", 3)]);
    assert_eq!(versions(&world), ["gone/other"]);
}

#[test]
fn folders_emptied_by_moves_go_after_them_where_removals_come_first() {
    let world = World::with("mirror", "versions: none\nremove: before");
    file(&world, "old/a", 1, LARGE);
    file(&world, "old/b", 2, LARGE);
    world.run().expect(0);
    rename(&world, "old/a", "new/a");
    fs::remove_dir_all(world.source.join("old")).unwrap();
    check(&done(&world), &[("mkdir", 1), ("move", 1), ("remove", 2)]);
}

#[test]
fn hard_linked_files_and_small_ones_are_copied() {
    let world = mirrored(&["linked"]);
    fs::hard_link(world.source.join("linked"), world.source.join("twin")).unwrap();
    file(&world, "small", 3, 65_535);
    world.run().expect(0);
    rename(&world, "linked", "further");
    rename(&world, "small", "smaller");
    let plan = world.start(&["plan", "j", "--json"]).expect(0).json();
    assert_eq!(plan[0]["totals"]["move"], 0, "{plan:?}");
    world.settles();
    assert_eq!(inode(&world, "further"), inode(&world, "twin"));
}

#[test]
fn nothing_is_moved_where_times_are_not_kept_nor_in_a_backup() {
    for (mode, options) in [("mirror", "preserve: {times: false}"), ("backup", "")] {
        let world = World::with(mode, options);
        file(&world, "a", 1, LARGE);
        world.run().expect(0);
        rename(&world, "a", "b");
        let plan = world.start(&["plan", "j", "--json"]).expect(0).json();
        assert_eq!(
            (&plan[0]["totals"]["move"], &plan[0]["totals"]["copy"]),
            (&0.into(), &1.into()),
            "{mode}"
        );
        world.run().expect(0);
    }
}

#[test]
fn a_first_run_moves_nothing_until_its_destination_is_accepted() {
    let world = World::with("mirror", "");
    file(&world, "a", 1, LARGE);
    let copied = Command::new("cp").args(["-a"]).args([&world.source, &world.destination]).status().unwrap();
    assert!(copied.success());
    rename(&world, "a", "b");
    world.refused(&["run", "j"], 3).says("would remove 1 of its entries");
    world.start(&["run", "j", "--accept", "destination"]).expect(0).says("1 moved");
    assert_eq!(world.tree("S"), world.tree("T"));
}

#[test]
fn what_changed_after_the_plan_is_left_alone_and_the_next_run_settles() {
    let changed_at = |call: u32| {
        let world = mirrored(&["a", "other"]);
        rename(&world, "a", "b");
        let hook = format!("hook:printf more >> {}@{call}", world.destination.join("a").display());
        let ran = world.run_with(&[("TWINLANE_FAULT", &hook)]);
        (world, ran)
    };
    // The first calls come before the plan, the last ones after the move.
    let (world, ran) = (1..40).map(changed_at).find(|(_, ran)| ran.code != 0).unwrap();
    ran.expect(1).says("b: moved since").says("a: withheld: it stays because it was not moved");
    assert!(!world.destination.join("b").exists());
    world.settles();
    assert_eq!(versions(&world), ["a"]);
}

#[test]
fn across_a_mount_point_inside_the_destination_files_are_copied() {
    let mut world = mirrored(&["in/a", "b"]);
    if !world.mount("T/in", FileSystem::Tmpfs("")) {
        return;
    }
    world.run().expect(0);
    rename(&world, "in/a", "a");
    rename(&world, "b", "in/b");
    check(&done(&world), &[("copy", 2), ("remove", 2), ("bytes", 2 * LARGE as u64)]);
}

#[test]
fn across_a_bound_folder_of_the_same_file_system_files_are_copied_and_their_old_names_go() {
    let mut world = mirrored(&["in/a", "b"]);
    let beside = world.path("beside");
    fs::create_dir(&beside).unwrap();
    if !world.mount("T/in", FileSystem::Bind(&beside)) {
        return;
    }
    world.run().expect(0);
    rename(&world, "in/a", "a");
    rename(&world, "b", "in/b");
    let done = done(&world);
    assert_eq!((&done["move"], &done["bytes"]), (&2.into(), &(2 * LARGE as u64).into()));
    assert_eq!(versions(&world), ["b", "in/a"]);
}
