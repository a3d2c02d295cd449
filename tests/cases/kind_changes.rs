//! Chapter 5: names that become another kind of entry.

use std::fs;

use crate::support::World;

const OPEN: &str = "limits: {remove: none, replace: none}";

#[test]
fn bc_32_a_directory_became_a_link() {
    let world = World::with("mirror", OPEN);
    world.shell("mkdir S/A S/B; touch S/A/a S/B/a S/B/b");
    world.settles();
    world.shell("rm -r S/A; ln -s B S/A");
    world.settles();
    assert!(world.path("T/B/a").exists() && world.path("T/B/b").exists());
}

#[test]
fn bc_32_a_link_waits_where_a_directory_belongs() {
    for mode in ["mirror", "backup"] {
        let world = World::with(mode, OPEN);
        world.shell("mkdir S/A S/A/sub T outside outside/sub; echo new >S/A/a; echo deep >S/A/sub/x; touch outside/a outside/kept outside/sub/x");
        world.shell("echo f >S/f; echo victim >victim; ln -s ../outside T/A; ln -s ../victim T/f");
        let before = world.witness("outside");
        let victim = world.witness("victim");
        world.start(&["run", "j", "--accept", "destination"]).expect(0);
        assert_eq!(before, world.witness("outside"), "{mode}");
        assert_eq!(victim, world.witness("victim"), "{mode}");
        assert_eq!(world.tree("S"), world.tree("T"), "{mode}");
        world.is_settled();
    }
}

const KINDS: [&str; 8] = [
    "printf file >$f",
    "mkdir $f",
    "mkdir $f; echo x >$f/in; mkdir $f/deep; echo y >$f/deep/in",
    "ln -s target-file $f",
    "ln -s target-dir $f",
    "ln -s nowhere $f",
    "mkfifo $f",
    ":",
];

fn every_pair(mode: &str, options: &str, code: i32) -> World {
    let world = World::with(mode, options);
    world.shell("echo target >S/target-file; mkdir S/target-dir; echo precious >S/target-dir/precious");
    let lay = |state: usize| {
        for (old, old_kind) in KINDS.iter().enumerate() {
            for (new, new_kind) in KINDS.iter().enumerate() {
                let kind = if state == 0 { old_kind } else { new_kind };
                world.shell(&format!("cd S; f={old}-{new}; rm -rf $f; {kind}"));
            }
        }
    };
    lay(0);
    world.run().expect(0);
    assert_eq!(world.tree("S"), world.tree("T"));
    lay(1);
    world.run().expect(code);
    world
}

#[test]
fn bc_33_every_pair_of_kinds() {
    let world = every_pair("mirror", OPEN, 0);
    assert_eq!(world.tree("S"), world.tree("T"));
    world.is_settled();
    let world = every_pair("mirror", &format!("{OPEN}\nversions: none"), 0);
    assert_eq!(world.tree("S"), world.tree("T"));
    world.is_settled();
}

#[test]
fn bc_33_every_pair_of_kinds_in_a_backup() {
    let world = every_pair("backup", OPEN, 0);
    for (path, thing) in world.tree("S") {
        let copy = world.tree("T");
        let found = copy.get(&path).unwrap_or_else(|| panic!("{} is not there", path.display()));
        assert!(thing.same_content(found), "{}", path.display());
    }
    world.run().expect(0).says("nothing to do");
}

#[test]
fn bc_33_a_full_directory_of_a_backup_without_versions_is_a_conflict() {
    let world = every_pair("backup", &format!("{OPEN}\nversions: none"), 1);
    // 2 is the full directory; what was one and is none in the source stays whole.
    for new in [0, 3, 4, 5, 6] {
        let kept = world.path(&format!("T/2-{new}"));
        assert_eq!(fs::read_to_string(kept.join("deep/in")).unwrap(), "y\n", "{new}");
    }
    world.run().expect(1).says("nothing keeps the old one");
}
