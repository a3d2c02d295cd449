//! What a killed run did and could not tell the catalog, the next one tells: the past stays what it was.

use std::fs;

use crate::support::{World, ended, touch};

fn start_at(world: &World, second: i64, fault: &str, arguments: &[&str]) -> crate::support::Ended {
    let mut command = world.command(arguments);
    command.env("TWINLANE_CLOCK", second.to_string()).env("TWINLANE_WORKERS", "1");
    if !fault.is_empty() {
        command.env("TWINLANE_FAULT", fault);
    }
    ended(&command.output().unwrap())
}

fn file(world: &World, name: &str, seed: u8, bytes: usize) {
    let path = world.source.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, vec![seed; bytes]).unwrap();
    touch(&path, &format!("2001-02-03 04:05:{seed:02}"));
}

fn rename(world: &World, from: &str, to: &str) {
    let to = world.source.join(to);
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::rename(world.source.join(from), to).unwrap();
}

#[test]
fn the_past_is_whole_after_a_run_was_killed_at_any_call() {
    const FIRST: i64 = 1_700_000_000;
    for number in (1..).step_by(9) {
        let world = World::with("mirror", "limits: {remove: none, replace: none, min_free: none}");
        for (seed, name) in (10..).zip(["a", "b", "c", "k/1", "k/2", "itself", "log", "log.1"]) {
            file(&world, name, seed, 70_000);
        }
        file(&world, "small", 30, 10);
        file(&world, "gone", 31, 10);
        start_at(&world, FIRST, "", &["run", "j"]).expect(0);
        let before = world.tree("T");
        for (from, to) in [("a", "t"), ("b", "a"), ("t", "b"), ("c", "new/c"), ("k", "l"), ("itself", "t")] {
            rename(&world, from, to);
        }
        rename(&world, "t", "itself/itself");
        rename(&world, "log", "log.1");
        file(&world, "small", 32, 20);
        file(&world, "more", 33, 20);
        fs::remove_file(world.source.join("gone")).unwrap();
        let killed = start_at(&world, FIRST + 100, &format!("kill@{number}"), &["run", "j"]);
        start_at(&world, FIRST + 200, "", &["run", "j"]).expect(0);
        world.start(&["verify", "j"]).expect(0);
        let to = world.path("then");
        let arguments = ["restore", "j", "--at", "2023-11-14 22:14:00", "--to", to.to_str().unwrap()];
        start_at(&world, FIRST + 300, "", &arguments).expect(0);
        let then = world.tree("then");
        for (path, thing) in &then {
            assert_eq!(
                before.get(path).map(|thing| &thing.content),
                Some(&thing.content),
                "{number}: {path:?}"
            );
        }
        assert_eq!(
            before.keys().find(|path| !path.starts_with(".twinlane") && !then.contains_key(*path)),
            None,
            "{number}"
        );
        if killed.code == 0 {
            break;
        }
    }
}

#[test]
fn a_row_that_makes_no_sense_holds_up_no_run_after_a_killed_one() {
    let world = World::with("mirror", "");
    for (seed, name) in (10..).zip(["a", "b", "c"]) {
        file(&world, name, seed, 70_000);
    }
    world.run().expect(0);
    rename(&world, "a", "d");
    let killed = world.run_with(&[("TWINLANE_FAULT", "kill@9")]);
    assert_ne!(killed.code, 0);
    let catalog = rusqlite::Connection::open(world.path("T/.twinlane/catalog.db")).unwrap();
    catalog.execute("UPDATE entries SET mtime_ns = -7 WHERE path = x'62'", []).unwrap();
    drop(catalog);
    world.run().expect(0);
    assert_eq!(world.tree("S"), world.tree("T"));
}

#[test]
fn times_that_a_killed_run_gave_are_no_change_that_verify_complains_of() {
    let world = World::with("mirror", "compare: hash");
    let names: Vec<String> = (10..20).map(|seed| format!("f{seed}")).collect();
    for (seed, name) in (10..).zip(&names) {
        file(&world, name, seed, 1000);
    }
    world.run().expect(0);
    for name in &names {
        touch(&world.source.join(name), "2002-02-02");
    }
    let killed = world.run_with(&[("TWINLANE_FAULT", "kill@8")]);
    assert_ne!(killed.code, 0);
    world.run().expect(0);
    world.start(&["verify", "j"]).expect(0);
}
