//! Chapter 2: what counts as equal.

use std::fs;

use crate::support::World;

#[test]
fn bc_12_same_size_and_time_other_content() {
    let make = |text: &str| format!("printf {text} >S/f; touch -d @1000000000 S/f S");
    let world = World::with("mirror", "");
    world.shell(&make("aaaa"));
    world.run().expect(0);
    world.shell(&make("bbbb"));
    // The documented blind spot of sizes and times.
    world.is_settled();
    assert_eq!(fs::read_to_string(world.path("T/f")).unwrap(), "aaaa");
    world.job("mirror", "compare: hash");
    world.run().expect(0).says("1 replaced");
    assert_eq!(fs::read_to_string(world.path("T/f")).unwrap(), "bbbb");
    world.is_settled();
    // The other way round: the copy was changed behind everybody's back.
    world.start(&["verify", "j"]).expect(0);
    world.shell("printf cccc >T/f; touch -d @1000000000 T/f");
    let told = world.start(&["verify", "j", "--json"]).expect(1).json();
    assert!(told.iter().any(|line| line["path"] == "f"), "{told:?}");
    world.run().expect(0).says("1 replaced");
    assert_eq!(fs::read_to_string(world.path("T/f")).unwrap(), "bbbb");
}

#[test]
fn bc_12_by_size_alone_times_are_mended_and_contents_stay() {
    let world = World::with("mirror", "compare: size");
    world.shell("printf aaaa >S/f; touch -d @1000000000 S/f");
    world.run().expect(0);
    world.shell("printf bbbb >S/f; touch -d @1000000009 S/f");
    world.run().expect(0).says("1 with metadata mended");
    assert_eq!(fs::read_to_string(world.path("T/f")).unwrap(), "aaaa");
    world.is_settled();
}
