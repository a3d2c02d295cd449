//! Several starts at once, and starts that end early.

use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::support::{World, ended};

/// Long enough for a debug build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn bc_78_ten_starts_at_once_and_one_runs() {
    let world = World::with("mirror", "");
    world.many(200);
    // The one that holds the lock stays in the middle of its work until the others have been told.
    let variables = [("TWINLANE_FAULT", "hook:while [ ! -e go ]; do sleep 0.05; done@60")];
    let mut children: Vec<Child> = (0..10).map(|_| world.spawn(&["run", "j"], &variables)).collect();
    let start = Instant::now();
    let running = |child: &mut Child| usize::from(child.try_wait().unwrap().is_none());
    while children.iter_mut().map(running).sum::<usize>() > 1 {
        assert!(start.elapsed() < PATIENCE, "nine are told that the destination is held");
        sleep(Duration::from_millis(20));
    }
    std::fs::write(world.path("go"), "").unwrap();
    let all: Vec<_> = children.into_iter().map(|child| ended(&child.wait_with_output().unwrap())).collect();
    let mut codes: Vec<i32> = all.iter().map(|one| one.code).collect();
    codes.sort_unstable();
    assert_eq!(codes, [0, 4, 4, 4, 4, 4, 4, 4, 4, 4], "{all:#?}");
    let told = all.iter().find(|one| one.code == 4).unwrap();
    assert!(told.out.contains("another run holds this destination"), "{told:?}");
    assert!(told.out.contains("since 20"), "{told:?}");
    assert_eq!(world.tree("S"), world.tree("T"));
    world.start(&["run", "j"]).expect(0).says("nothing to do");
}

#[test]
fn bc_44_a_killed_run_frees_its_lock() {
    let world = World::with("mirror", "");
    world.many(50);
    let killed = world.spawn(&["run", "j"], &[("TWINLANE_FAULT", "kill@60")]);
    assert_eq!(ended(&killed.wait_with_output().unwrap()).code, -9);
    world.start(&["run", "j"]).expect(0);
    assert_eq!(world.tree("S"), world.tree("T"));
    world.start(&["run", "j"]).expect(0).says("nothing to do");
}

#[test]
fn sigint_ends_with_130_and_the_next_run_goes_on() {
    let world = World::with("mirror", "");
    world.many(300);
    let hook = "hook:kill -INT $PPID; sleep 0.3@80";
    let child = world.spawn(&["run", "j"], &[("TWINLANE_FAULT", hook), ("TWINLANE_WORKERS", "1")]);
    let first = ended(&child.wait_with_output().unwrap()).expect(130).says("the next run goes on from there");
    assert!(first.out.contains("interrupted"), "{}", first.out);
    world.start(&["run", "j"]).expect(0);
    assert_eq!(world.tree("S"), world.tree("T"));
}
