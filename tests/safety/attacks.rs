//! Somebody swaps entries of either tree for others while a run is under way: nothing outside the destination is touched, and nothing from
//! outside the source gets in.

use std::path::Path;

use crate::faults::{CALLS_MAX, steps};
use crate::fixture::{Prepared, prepare};
use crate::support::{restore_tree, tree};

const OPEN: &str = "limits: {remove: none, replace: none, min_free: none}";

/// Every how many calls an attack is made, of those that its sweep looks at.
const STRIDE: u32 = 9;

/// Shell commands, run in the sandbox's folder: `S` is the source, `T` the destination, `outside` what nobody may touch.
const ATTACKS: [&str; 16] = [
    "mv T/kept T/kept.old && ln -s ../outside T/kept",
    "mv T/new T/new.old && ln -s ../outside T/new",
    "mv T/goes T/goes.old && ln -s ../outside T/goes",
    "mv S/new S/new.old && ln -s ../outside S/new",
    "mv S/kept S/kept.old && ln -s ../outside S/kept",
    "for f in changed large mode twin-a gone; do ln -sfn ../outside/precious T/$f; done",
    "for f in changed large mode twin-a gone; do rm -f T/$f; mkfifo T/$f; done",
    "for f in changed large mode twin-a new/h; do rm -f S/$f; mkfifo S/$f; done",
    "for f in changed large mode twin-a; do ln -sfn ../outside/precious S/$f; done",
    "mv T T.moved && mkdir T",
    "mv T/.twinlane T/home.old && ln -s ../outside T/.twinlane",
    "mv T/.twinlane/versions T/old; ln -s ../../outside T/.twinlane/versions",
    "mv T/.twinlane/partial T/old; ln -s ../../outside T/.twinlane/partial",
    "rm -f T/.twinlane/catalog.db*; ln -s ../../outside/precious T/.twinlane/catalog.db",
    "for f in T/.twinlane-2* T/*/.twinlane-2*; do [ -f $f ] && ln -sfn $PWD/outside/precious $f; done",
    "mv T/new/deep T/deep.moved",
];

/// Makes one attack at some of a run's calls, `side` being `read-` or nothing. Returns how often it was made.
fn attack(prepared: &Prepared, command: &str, side: &str, kept: [&Path; 3]) -> u32 {
    let sandbox = &prepared.sandbox;
    let log = sandbox.base().join("fault.log");
    let (first, stride) = steps(STRIDE * if side.is_empty() { 1 } else { 4 });
    let mut made = 0;
    for number in (first..CALLS_MAX).step_by(stride as usize) {
        let moved = sandbox.base().join("T.moved");
        restore_tree(&sandbox.base().join("none"), &moved);
        for (from, to) in kept.iter().zip([&sandbox.source, &sandbox.destination, &sandbox.state]) {
            restore_tree(from, to);
        }
        let _ = std::fs::remove_file(&log);
        let setting = format!("{side}hook:{command}@{number}");
        let ran =
            sandbox.run_with(&[("TWINLANE_FAULT", &setting), ("TWINLANE_FAULT_LOG", &log.to_string_lossy())]);
        if !log.exists() {
            break;
        }
        made += 1;
        assert!(!ran.err.contains("panicked"), "{setting}: {}", ran.err);
        assert!(matches!(ran.code, 0 | 1 | 3 | 5), "{setting}: {:?}", ran.code);
        assert_eq!(tree(&sandbox.base().join("outside")), prepared.outside, "{setting}");
        for root in [&sandbox.destination, &moved].into_iter().filter(|root| root.exists()) {
            let precious = &prepared.outside[Path::new("precious")];
            let leaked = tree(root).into_iter().find(|(_, thing)| thing.same_content(precious));
            assert_eq!(leaked.map(|(path, _)| path), None, "{setting}");
        }
    }
    made
}

#[test]
fn entries_that_are_swapped_lead_nowhere() {
    let prepared = prepare("mirror", OPEN);
    let sandbox = &prepared.sandbox;
    let kept = ["S.kept", "T.kept", "state.kept"].map(|name| sandbox.base().join(name));
    for (from, to) in [&sandbox.source, &sandbox.destination, &sandbox.state].into_iter().zip(&kept) {
        restore_tree(from, to);
    }
    let kept = [kept[0].as_path(), kept[1].as_path(), kept[2].as_path()];
    let mut made = 0;
    for command in ATTACKS {
        for side in ["", "read-"] {
            made += attack(&prepared, command, side, kept);
        }
    }
    println!("{made} attacks, nothing outside was touched");
    assert!(made > 100, "{made}");
}
