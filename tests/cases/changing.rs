//! Chapter 6: sources that change between the plan and the copy, or while they are copied.

use std::fs;
use std::process::{Command, Stdio};

use crate::support::{World, assert_same};

const OPEN: &str = "limits: {remove: none, replace: none}";

#[test]
fn bc_35_a_source_that_grows() {
    let world = World::with("mirror", OPEN);
    world.files([("S/calm", "c")]);
    fs::write(world.path("S/log"), "0123456789\n".repeat(300_000)).unwrap();
    let line = "while :; do echo growing >>S/log; done";
    let mut writer = Command::new("bash")
        .args(["-c", line])
        .current_dir(world.base())
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let ran = world.run();
    writer.kill().unwrap();
    writer.wait().unwrap();
    // Caught between two lines it may be whole; otherwise it is said, and what is there is not taken for the newest.
    assert!([0, 1].contains(&ran.code), "{ran:?}");
    if ran.code == 1 {
        assert!(ran.out.contains("unsettled") || ran.out.contains("moved since"), "{ran:?}");
    }
    assert!(world.path("T/calm").exists());
    if let Ok(copy) = fs::read(world.path("T/log")) {
        let source = fs::read(world.path("S/log")).unwrap();
        assert!(source.starts_with(&copy), "neither cut in the middle nor torn");
        assert!(copy.len() >= 3_300_000, "not less than what was there at the start");
    }
    world.settles();
}

/// The source grows at one of the calls of a run, so in mid-copy too.
#[test]
fn bc_35_a_source_that_grows_in_mid_copy() {
    let content = "0123456789\n".repeat(300_000);
    let mut unsettled = 0;
    for call in (20..60).step_by(5) {
        let world = World::with("mirror", OPEN);
        fs::write(world.path("S/log"), &content).unwrap();
        let hook = format!("hook:echo more >>S/log@{call}");
        let ran = world.run_with(&[("TWINLANE_FAULT", &hook)]);
        let grown = fs::read(world.path("S/log")).unwrap();
        let copy = fs::read(world.path("T/log")).ok();
        if ran.code == 0 {
            let copy = copy.unwrap();
            assert!(copy == grown || copy == content.as_bytes() && ran.code == 0, "{call}: {ran:?}");
        } else {
            assert_eq!(ran.code, 1, "{call}: {ran:?}");
            unsettled += 1;
        }
        world.settles();
    }
    println!("{unsettled} of 8 runs were told of it");
}

/// Changes the source at one of the calls of a run, many times over, and looks at what the run made of it.
#[test]
fn bc_37_sources_that_vanish_are_replaced_or_cut_between_plan_and_copy() {
    let change = "rm S/x; mv S/y S/z; : >S/w; ln -s /etc/passwd S/x; rm -r S/d; ln -s /etc S/d; mv S/k S/l";
    let passwd = fs::read("/etc/passwd").unwrap();
    for call in (1..130).step_by(13) {
        let world = World::with("mirror", OPEN);
        world.files([("S/w", "old w"), ("S/v", "v")]);
        world.run().expect(0);
        world.files([
            ("S/x", "x"),
            ("S/y", "y"),
            ("S/w", "the new w"),
            ("S/d/hostname", "d"),
            ("S/k/deep/f", "f"),
        ]);
        world.many(10);
        let hook = format!("hook:[ -e done ] || ( touch done; {change} )@{call}");
        let ran = world.run_with(&[("TWINLANE_FAULT", &hook)]);
        assert!([0, 1].contains(&ran.code), "{call}: {ran:?}");
        for (path, thing) in world.tree("T") {
            let copy = world.destination.join(&path);
            let is_foreign = thing.kind == 'f' && fs::read(&copy).unwrap() == passwd;
            assert!(!is_foreign, "{call}: {} was read through a link", path.display());
        }
        let w = fs::read_to_string(world.path("T/w")).unwrap();
        assert!(["old w", "the new w", ""].contains(&w.as_str()), "{call}: {w}");
        assert!(world.path("T/d").read_link().is_ok() || !world.path("T/d/passwd").exists(), "{call}");
        if !world.path("done").exists() {
            break;
        }
        world.run().expect(0);
        assert_same(&world.tree("S"), &world.tree("T"), "the next run");
    }
}

#[test]
fn bc_38_a_program_that_is_running() {
    let world = World::with("mirror", OPEN);
    world.shell("cp /bin/sleep S/s; touch -d 2020-01-01 S/s");
    world.run().expect(0);
    let mut running = Command::new(world.path("T/s")).arg("30").spawn().unwrap();
    world.shell("cp /bin/true S/s");
    let ran = world.run();
    let alive = running.try_wait().unwrap().is_none();
    running.kill().unwrap();
    running.wait().unwrap();
    ran.expect(0).says("1 replaced");
    assert!(alive, "the running program lives on");
    assert_eq!(world.tree("S"), world.tree("T"));
}
