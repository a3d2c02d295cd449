//! What decides by content, what is read back, and how fast content is written: `compare: mtime_then_hash`, `verify`, `bandwidth`.

use std::fs;
use std::path::Path;

use crate::support::{World, touch};

/// Mirrored once, then everything in the source gets another time.
fn touched() -> World {
    let world = World::with("mirror", "compare: mtime_then_hash");
    for number in 0..20 {
        let path = world.source.join(format!("d{}/f{number}", number % 3));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("content {number:05}").repeat(number * 40 + 1)).unwrap();
        touch(&path, "2001-02-03 04:05:06");
    }
    world.run().expect(0);
    for number in 0..20 {
        touch(&world.source.join(format!("d{}/f{number}", number % 3)), "2011-02-03 04:05:06");
    }
    world
}

#[track_caller]
fn done(world: &World) -> serde_json::Value {
    let ran = world.start(&["run", "j", "--json"]).expect(0);
    ran.json().into_iter().find(|line| line["event"] == "rule-end").unwrap()
}

#[test]
fn after_a_touch_of_everything_nothing_is_copied_and_times_are_mended() {
    let world = touched();
    let ended = done(&world);
    assert_eq!(
        (ended["done"]["bytes"].as_u64(), ended["done"]["copy"].as_u64()),
        (Some(0), Some(0)),
        "{ended}"
    );
    assert_eq!((ended["done"]["replace"].as_u64(), ended["done"]["metadata"].as_u64()), (Some(0), Some(20)));
    assert_eq!(world.tree("S"), world.tree("T"));
    world.is_settled();
    // Other content of the same length under another time is found.
    let edited = world.source.join("d1/f1");
    let content = fs::read_to_string(&edited).unwrap().replace("content", "CONTENT");
    fs::write(&edited, content).unwrap();
    touch(&edited, "2012-02-03 04:05:06");
    let ended = done(&world);
    assert_eq!(ended["done"]["replace"], 1, "{ended}");
    assert_eq!(world.tree("S"), world.tree("T"));
}

/// How often a plan opens files of this name.
fn opened(world: &World, name: &str) -> usize {
    let trace = world.path("trace");
    let mut command = world.command(&["plan", "j"]);
    let output = command.env("TWINLANE_FAULT_TRACE", &trace).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let calls = fs::read_to_string(&trace).unwrap();
    fs::remove_file(&trace).unwrap();
    calls
        .lines()
        .filter(|call| call.starts_with("Reading") && call.ends_with(&format!(" Open {name}")))
        .count()
}

#[test]
fn what_the_catalog_knows_of_the_destination_is_not_read() {
    let world = touched();
    assert_eq!(opened(&world, "f5"), 1, "the source's alone");
    // Mended metadata changes the ctime; the catalog follows.
    world.run().expect(0);
    touch(&world.source.join("d2/f5"), "2012-02-03 04:05:06");
    assert_eq!(opened(&world, "f5"), 1, "the source's alone");
    // What somebody else did to the destination's is not taken on trust.
    touch(&world.destination.join("d2/f5"), "2013-02-03 04:05:06");
    assert_eq!(opened(&world, "f5"), 2);
    touch(&world.destination.join("d2/f5"), "2011-02-03 04:05:06");
    fs::remove_file(world.destination.join(".twinlane/catalog.db")).unwrap();
    assert_eq!(opened(&world, "f5"), 2, "without a catalog both are read");
}

/// The number of the first write into a stage file of a run that was traced.
fn first_content_write(trace: &Path) -> u32 {
    let calls = fs::read_to_string(trace).unwrap();
    let mut calls = calls.lines().filter_map(|line| line.strip_prefix("Mutating "));
    calls.find(|call| call.contains(" Create .twinlane-")).unwrap();
    let write = calls.find(|call| call.contains(" Write")).unwrap();
    write.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn bc_86_readback_finds_what_was_not_written_as_it_was_meant() {
    let make = || {
        let world = World::with("mirror", "verify: readback");
        fs::write(world.source.join("f"), "the content".repeat(1000)).unwrap();
        touch(&world.source.join("f"), "2001-02-03 04:05:06");
        world
    };
    let world = make();
    let trace = world.path("trace");
    world.run_with(&[("TWINLANE_FAULT_TRACE", trace.to_str().unwrap())]).expect(0).says("1 read back");
    let number = first_content_write(&trace);

    let world = make();
    world.run_with(&[("TWINLANE_FAULT", &format!("flip@{number}"))]).expect(0).says("1 read back");
    assert_eq!(world.tree("S"), world.tree("T"));

    let world = make();
    world
        .run_with(&[("TWINLANE_FAULT", &format!("flip@{number}+"))])
        .expect(1)
        .says("r/f: failed: the copy, read back, is not what was written");
    let names = fs::read_dir(&world.destination).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), [".twinlane"], "neither the name nor a stage");
}

#[test]
fn a_ceiling_of_bandwidth_holds_a_run_back_and_its_copies_are_whole() {
    // What may be saved up is what the time since the program's start has brought.
    let world = World::with("mirror", "bandwidth: 10MB/s");
    fs::write(world.source.join("f"), vec![b'x'; 4_000_000]).unwrap();
    let begun = std::time::Instant::now();
    world.run().expect(0);
    assert!(begun.elapsed() >= std::time::Duration::from_millis(400), "{:?}", begun.elapsed());
    assert_eq!(world.tree("S"), world.tree("T"));
}
