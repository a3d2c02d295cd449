//! `doctor`: what is said of a place, and that nothing is written unless asked for; completions and manual pages.

use crate::support::{FileSystem, World};

#[test]
fn doctor_looks_and_writes_nothing() {
    let world = World::with("mirror", "");
    world.files([("S/a", "x")]);
    world.run().expect(0);
    let before = world.witness("T");
    let ended = world
        .start(&["doctor", "T", "S/a"])
        .expect(0)
        .says("therefore")
        .says("destination of")
        .says("--probe");
    assert_eq!(world.witness("T"), before, "{}", ended.out);
    let known: Vec<_> = world
        .start(&["doctor", "--json", "T", "S"])
        .expect(0)
        .json()
        .iter()
        .map(|place| place["known_from"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(known, ["first_run", "type"]);
    world.start(&["doctor", "nowhere"]).expect(2).says("does not exist");
}

#[test]
fn doctor_tries_a_place_out_and_leaves_nothing() {
    let world = World::new();
    world.files([("S/a", "x")]);
    let ended = world.start(&["doctor", "--probe", "--json", "S"]).expect(0);
    let said = ended.json();
    assert_eq!(said[0]["known_from"], "probe");
    assert!(said[0]["reflink"].is_boolean() && said[0]["direct"].is_boolean(), "{}", ended.out);
    assert_eq!(std::fs::read_dir(world.path("S")).unwrap().count(), 1);
}

#[test]
fn doctor_tells_fat_from_a_native_place() {
    let mut world = World::new();
    if !world.mount("T", FileSystem::Fat) {
        return;
    }
    world
        .start(&["doctor", "T"])
        .expect(0)
        .says("in steps of 2 s")
        .says("one name")
        .says("synced by itself")
        .says("hard links become separate files");
}

#[test]
fn completions_and_manual_pages_come_from_the_definitions() {
    let world = World::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        world.start(&["completions", shell]).expect(0).says("history").says("accept");
    }
    world.start(&["completions", "csh"]).expect(2);
    world.start(&["man"]).expect(0).says(".TH");
    world.start(&["man", "run"]).expect(0).says("twinlane-run");
    world.start(&["man", "rum"]).expect(2).says("did you mean `twinlane man run`");
}
