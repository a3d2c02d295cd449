//! Chapter 7: what cannot be read, and what has no room.

use std::fs;

use crate::support::{FileSystem, World, is_root};

const OPEN: &str = "limits: {remove: none, replace: none}";

#[test]
fn bc_39_what_cannot_be_read_is_not_gone() {
    for (options, hidden) in [
        ("", "chmod 000 S/secret"),
        ("\nversions: none", "chmod 000 S/secret"),
        ("\nversions: none\nremove: before", "chmod 000 S/secret"),
        // It can be listed, and nothing in it can be looked at; and the other way round.
        ("", "chmod 444 S/secret"),
        ("", "chmod 111 S/secret"),
        ("", "chmod 000 S/secret/deep"),
    ] {
        let world = World::with("mirror", &format!("{OPEN}{options}"));
        world.files([("S/secret/a", "a"), ("S/secret/deep/b", "b"), ("S/open/c", "c"), ("S/open/gone", "g")]);
        if is_root() && !world.give_to_user() {
            return;
        }
        world.start_as_user(&["run", "j"]).expect(0);
        world.shell(&format!(
            "{hidden}; rm S/open/gone; echo d >S/open/d; chown 65534:65534 S/open/d || true"
        ));
        world.start_as_user(&["run", "j"]).expect(1).says("secret").says("1 copied");
        let there = |name: &str| world.path("T").join(name).exists();
        assert!(there("secret/a") && there("secret/deep/b") && there("open/d"), "{hidden}");
        if !options.contains("none") {
            assert!(!there("open/gone"), "the rest goes on");
        }
        world.shell("chmod 755 S/secret; chmod 755 S/secret/deep");
        world.start_as_user(&["run", "j"]).expect(0);
        assert_eq!(world.tree("S"), world.tree("T"));
    }
}

#[test]
fn bc_39_an_unreadable_file_fails_alone() {
    let world = World::with("mirror", OPEN);
    world.files([("S/private", "old"), ("S/b", "b")]);
    if is_root() && !world.give_to_user() {
        return;
    }
    world.start_as_user(&["run", "j"]).expect(0);
    world.files([("S/private", "new, longer"), ("S/c", "c")]);
    world.shell("chmod 000 S/private");
    world.start_as_user(&["run", "j"]).expect(1).says("private").says("1 copied");
    assert_eq!(fs::read_to_string(world.path("T/private")).unwrap(), "old");
}

#[test]
fn bc_39_a_destination_that_cannot_be_read() {
    let world = World::with("mirror", OPEN);
    world.files([("S/secret/a", "a"), ("S/open/c", "c")]);
    if is_root() && !world.give_to_user() {
        return;
    }
    world.start_as_user(&["run", "j"]).expect(0);
    world.shell("chmod 000 T/secret; rm -r S/secret; echo d >S/open/d; chown 65534:65534 S/open/d || true");
    world.start_as_user(&["run", "j"]).expect(1).says("secret").says("1 copied");
    world.shell("chmod 755 T/secret");
    assert!(world.path("T/secret/a").exists());
}

#[test]
fn bc_39_reading_breaks_off_in_mid_file() {
    let mut world = World::with("mirror", OPEN);
    // A read-only mount whose image is cut: what lies behind cannot be read any more.
    world.files([("S/keep", "k")]);
    if !is_root() {
        eprintln!("skipped: this user may not mount");
        return;
    }
    world.shell("truncate -s 40M img; mkfs.ext4 -q img");
    let image = world.path("img");
    if !world.mount("S/disk", FileSystem::Image(&image, "loop")) {
        return;
    }
    world.shell("head -c 20M /dev/urandom >S/disk/large; echo s >S/disk/small; sync -f S/disk/large");
    world.run().expect(0);
    let before = fs::read(world.path("T/disk/large")).unwrap();
    world.shell("touch S/disk/large; echo more >>S/disk/small");
    world.unmount("S/disk");
    if !world.mount("S/disk", FileSystem::Image(&image, "loop,ro")) {
        return;
    }
    world.shell("truncate -s 12M img; echo 3 >/proc/sys/vm/drop_caches");
    if fs::read(world.path("S/disk/large")).is_ok() {
        eprintln!("skipped: the cut image can still be read");
        return;
    }
    let ran = world.run();
    assert!(ran.code == 1, "{ran:?}");
    assert_eq!(before, fs::read(world.path("T/disk/large")).unwrap(), "the old content, whole");
    assert!(world.path("T/disk/small").exists() && world.path("T/keep").exists());
}

#[test]
fn bc_41_a_full_place() {
    for versions in ["", "\nversions: none"] {
        let mut world =
            World::with("mirror", &format!("limits: {{replace: none, min_free: none}}{versions}"));
        fs::write(world.path("S/f"), "o".repeat(100_000)).unwrap();
        if !world.mount("T", FileSystem::Tmpfs("size=2m")) {
            return;
        }
        world.start(&["run", "j", "--accept", "destination"]).expect(0);
        fs::write(world.path("S/f"), vec![b'n'; 5 << 20]).unwrap();
        for name in ["a", "g", "z"] {
            fs::write(world.path("S").join(name), name).unwrap();
        }
        let ran = world.run();
        assert!([1, 5].contains(&ran.code), "{ran:?}");
        assert!(ran.out.contains("No space left") || ran.out.contains("no room"), "{ran:?}");
        assert_eq!(fs::read(world.path("T/f")).unwrap(), vec![b'o'; 100_000]);
        world.shell("test -z \"$(find T -name '.twinlane-*' -type f)\"");
        for name in ["a", "g", "z"] {
            assert!(world.path("T").join(name).exists(), "small files are tried: {name}\n{ran:?}");
        }
        // Room again: the next run finishes.
        world.shell("truncate -s 1M S/f; head -c 500K /dev/urandom >S/f");
        world.run().expect(0);
        assert_eq!(world.tree("S"), world.tree("T"));
    }
}

#[test]
fn bc_41_no_inode_is_left() {
    let mut world = World::with("mirror", "limits: {replace: none, min_free: none}");
    world.files([("S/f", "old")]);
    if !world.mount("T", FileSystem::Tmpfs("nr_inodes=30")) {
        return;
    }
    world.start(&["run", "j", "--accept", "destination"]).expect(0);
    world.many(60);
    world.files([("S/f", "new and longer")]);
    let ran = world.run();
    assert!([1, 3, 5].contains(&ran.code), "{ran:?}");
    let f = fs::read_to_string(world.path("T/f")).unwrap();
    assert!(f == "old" || f == "new and longer");
    world.shell("test -z \"$(find T -name '.twinlane-*' -type f)\"");
    fs::remove_dir_all(world.path("S/d00")).unwrap();
    // Keeping what is removed takes inodes, and so does a replacement before the removals.
    world.job("mirror", "limits: {min_free: none}\nversions: none\nremove: before");
    world.start(&["run", "j", "--limit", "remove=none", "--limit", "replace=none"]).expect(0);
    assert_eq!(world.tree("S"), world.tree("T"));
}
