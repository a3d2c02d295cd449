//! What a mirror and a backup leave.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use crate::support::World;

fn a_tree(world: &World) {
    world.files([("S/a/b/deep", "deep"), ("S/a/one", "1"), ("S/two", "2"), ("S/exe", "#!/bin/sh\n")]);
    fs::set_permissions(world.path("S/exe"), fs::Permissions::from_mode(0o4755)).unwrap();
    fs::create_dir(world.path("S/empty")).unwrap();
    symlink("../gone", world.path("S/a/link")).unwrap();
    fs::hard_link(world.path("S/two"), world.path("S/a/too")).unwrap();
}

#[test]
fn a_mirror_is_equal_and_a_second_run_has_nothing_to_do() {
    let world = World::with("mirror", "");
    a_tree(&world);
    world.start(&["run", "j"]).expect(0).says("copied");
    assert_eq!(world.tree("S"), world.tree("T"));
    assert_eq!(fs::metadata(world.path("T/two")).unwrap().nlink(), 2);
    let before = world.witness("T");
    world.start(&["run", "j"]).expect(0).says("nothing to do");
    assert_eq!(before, world.witness("T"));
    let plan = world.start(&["plan", "j", "--json"]).expect(0).json();
    assert_eq!(plan[0]["totals"]["actions"], 0);
    world.start(&["plan", "j", "--exit-code"]).expect(0);
}

#[test]
fn a_mirror_removes_and_keeps_what_it_displaced() {
    let world = World::with("mirror", "");
    world.many(40);
    world.start(&["run", "j"]).expect(0);
    fs::remove_file(world.path("S/d00/f0001")).unwrap();
    world.files([("S/d00/f0002", "changed")]);
    world.start(&["plan", "j", "--exit-code"]).expect(6).says("1 to replace, 1 to remove");
    world.start(&["run", "j"]).expect(0).says("1 replaced, 1 removed");
    assert_eq!(world.tree("S"), world.tree("T"));
    let versions: Vec<String> = walkdir::WalkDir::new(world.path("T/.twinlane/versions"))
        .into_iter()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| fs::read_to_string(entry.path()).unwrap())
        .collect();
    assert!(versions.contains(&"1".to_owned()) && versions.contains(&"2".to_owned()), "{versions:?}");
}

#[test]
fn a_backup_keeps_what_the_source_has_no_more() {
    let world = World::with("backup", "");
    world.files([("S/a", "a"), ("S/b", "b")]);
    world.start(&["run", "j"]).expect(0);
    fs::remove_file(world.path("S/a")).unwrap();
    world.files([("S/b", "newer"), ("S/c", "c")]);
    world.start(&["run", "j"]).expect(0).says("1 copied, 1 replaced");
    let read = |name: &str| fs::read_to_string(world.path("T").join(name)).unwrap();
    assert_eq!([read("a"), read("b"), read("c")], ["a", "newer", "c"]);
}

#[test]
fn a_first_run_may_add_to_what_is_there() {
    let world = World::with("backup", "");
    world.files([("S/a", "a"), ("T/b", "b")]);
    world.start(&["run", "j"]).expect(0).says("1 copied");
    assert_eq!(fs::read_to_string(world.path("T/b")).unwrap(), "b");
}

#[test]
fn a_first_run_into_an_equal_tree_leaves_the_roots_time_alone() {
    let world = World::with("mirror", "");
    a_tree(&world);
    let copied =
        std::process::Command::new("cp").args(["-a"]).args([world.path("S"), world.path("T")]).status();
    assert!(copied.unwrap().success());
    world.start(&["run", "j"]).expect(0).says("nothing to do");
    assert_eq!(world.tree("S"), world.tree("T"));
    world.start(&["plan", "j", "--exit-code"]).expect(0);
}

#[test]
fn a_plan_is_what_the_run_does() {
    let world = World::with("mirror", "");
    a_tree(&world);
    world.start(&["run", "j"]).expect(0);
    world.files([("S/a/one", "changed"), ("S/new/x", "x")]);
    fs::remove_file(world.path("S/exe")).unwrap();
    let plan = world.start(&["plan", "j", "--json"]).expect(0);
    let again = world.start(&["plan", "j", "--json"]).expect(0);
    assert_eq!(plan.out, again.out);
    let mut one = world.command(&["plan", "j", "--json"]);
    let one = crate::support::ended(&one.env("TWINLANE_WORKERS", "1").output().unwrap());
    assert_eq!(plan.out, one.out, "whatever the thread count");
    let events = world.start(&["run", "j", "--json", "-v"]).expect(0).json();
    let mut done: Vec<String> = events
        .iter()
        .filter(|event| event["event"] == "action")
        .map(|event| event["action"].to_string())
        .collect();
    let mut planned: Vec<String> =
        plan.json()[0]["actions"].as_array().unwrap().iter().map(ToString::to_string).collect();
    let history = world.start(&["history", "j", "--json", "-v", "--last", "1"]).expect(0).json();
    let recorded = history[0]["rules"][0]["actions"].as_array().unwrap();
    assert_eq!(planned, recorded.iter().map(ToString::to_string).collect::<Vec<_>>());
    done.sort();
    planned.sort();
    assert_eq!(planned, done);
    assert!(planned.len() >= 4, "{planned:?}");
}

#[test]
fn a_rule_whose_needs_failed_is_skipped_and_the_next_runs() {
    let world = World::new();
    world.files([("S/a", "a"), ("S2/b", "b")]);
    world.job_text(
        "j",
        "rules:
  first:
    {mode: mirror, source: ../gone, destination: ../T1}
  second:
    {mode: mirror, source: ../S, destination: ../T2, needs: [first]}
  third:
    {mode: mirror, source: ../S2, destination: ../T3}
  off:
    {mode: mirror, source: ../S2, destination: ../T4, enabled: false}
",
    );
    world.start(&["run", "j"]).expect(3).says("it needs first").says("it is not enabled");
    assert!(!world.path("T2").exists() && world.path("T3/b").exists() && !world.path("T4").exists());
    world.start(&["run", "j/second"]).expect(0);
    assert!(world.path("T2/a").exists());
}

#[test]
fn what_is_absent_may_be_skipped() {
    let world = World::with("mirror", "on_missing: skip");
    fs::remove_dir(world.path("S")).unwrap();
    world.start(&["run", "j"]).expect(0).says("is not there");
    fs::create_dir(world.path("S")).unwrap();
    world.start(&["run", "j"]).expect(0).says("is empty");
    assert!(!world.path("T").exists());
}

#[test]
fn a_source_that_the_destinations_path_only_passes_through_is_not_above_it() {
    let world = World::new();
    world.job_text("j", "rules:\n  r: {mode: backup, source: ., destination: ../T}\n");
    world.start(&["run", "j"]).expect(0).says("1 copied");
    assert!(world.path("T/j.yaml").exists());
}

#[test]
fn names_of_one_file_stay_so_beside_a_symlink_that_is_replaced() {
    let world = World::with("mirror", "");
    world.files([("S/z", "old")]);
    symlink("old", world.path("S/a")).unwrap();
    world.start(&["run", "j"]).expect(0);
    fs::remove_file(world.path("S/a")).unwrap();
    symlink("new", world.path("S/a")).unwrap();
    world.files([("S/b", "twins")]);
    fs::hard_link(world.path("S/b"), world.path("S/c")).unwrap();
    world.start(&["run", "j"]).expect(0);
    assert_eq!(fs::metadata(world.path("T/b")).unwrap().nlink(), 2);
    world.start(&["run", "j"]).expect(0).says("nothing to do");
}
