//! Chapter 1: modes, owners, times and attributes.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use crate::support::{FileSystem, World, assert_same, is_root, set_mode};

#[test]
fn bc_01_directory_mtimes() {
    let world = World::with("mirror", OPEN);
    world.shell("mkdir -p S/a/b S/gone; echo x >S/a/b/f; touch S/gone/g; touch -d '1968-10-07 UTC' S/a/b/f S/a/b S/a S");
    world.settles();
    world.comes_back();
    // Only a removal, and only a replaced file, below directories that keep their times.
    world.shell("echo longer >S/a/b/f; rm -r S/gone; touch -d '1968-10-07 UTC' S/a/b S/a S");
    world.settles().says("1 replaced");
    world.comes_back();
}

const OPEN: &str = "limits: {remove: none, replace: none}";

#[test]
fn bc_02_read_only_directory() {
    for mode in ["mirror", "backup"] {
        let world = World::with(mode, OPEN);
        world.shell("mkdir -p S/ro/deep; echo x >S/ro/f; echo y >S/ro/deep/g; chmod 0555 S/ro/deep S/ro");
        if is_root() && !world.give_to_user() {
            return;
        }
        world.start_as_user(&["run", "j"]).expect(0);
        assert_eq!(world.tree("S"), world.tree("T"));
        // The copy's directories are read-only now, and something below them changes.
        world.shell("chmod 0755 S/ro S/ro/deep; echo longer >S/ro/f; echo z >S/ro/deep/h; chmod 0555 S/ro/deep S/ro; chown -hR 65534:65534 S || true");
        world.start_as_user(&["run", "j"]).expect(0);
        assert_eq!(world.tree("S"), world.tree("T"));
        world.start_as_user(&["run", "j"]).expect(0).says("nothing to do");
        if mode == "mirror" {
            world.shell("chmod 0755 S/ro; rm -rf S/ro; echo k >S/kept; chown -hR 65534:65534 S || true");
            world.start_as_user(&["run", "j"]).expect(0);
            assert_eq!(world.tree("S"), world.tree("T"));
        }
    }
}

#[test]
fn bc_04_set_uid_set_gid_and_sticky() {
    let world = World::with("mirror", OPEN);
    world.shell("echo x >S/suid; echo x >S/sgid; mkdir S/sticky S/shared");
    if is_root() {
        world.shell("chown -R 1000:1000 S");
    }
    world.shell("chmod 4755 S/suid; chmod 2755 S/sgid; chmod 1777 S/sticky; chmod 2775 S/shared");
    world.settles();
    // A new content and another owner both clear the bits in the kernel.
    world.shell("echo longer >S/suid; chmod 4755 S/suid");
    if is_root() {
        world.shell("chown 1001 S/sgid; chmod 2755 S/sgid");
    }
    world.settles();
    if is_root() {
        bc_04_as_user(&World::with("mirror", OPEN));
    }
}

fn bc_04_as_user(world: &World) {
    if !world.give_to_user() {
        return;
    }
    world.shell("echo x >S/suid; chown 1000:1000 S/suid; chmod 4755 S/suid; echo y >S/own; chown 65534:65534 S/own; chmod 4755 S/own");
    world.start_as_user(&["run", "j"]).expect(0).says("owner");
    let mode = |name: &str| fs::metadata(world.path(name)).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode("T/suid"), 0o755, "never set-uid for another owner");
    assert_eq!(mode("T/own"), 0o4755);
    world.start_as_user(&["run", "j"]).expect(0).says("nothing to do");
}

#[test]
fn bc_06_ownership_without_root() {
    if !is_root() {
        eprintln!("skipped: only root makes files of others");
        return;
    }
    let world = World::with("mirror", OPEN);
    world.many(30);
    assert!(world.give_to_user());
    world.shell("chown -R root S/d00; chown 1000 S/d00/f0001");
    let ran = world.start_as_user(&["run", "j"]).expect(0).says("owner");
    assert_eq!(ran.out.matches("owner").count() + ran.err.matches("owner").count(), 1, "told once: {ran:?}");
    assert!(ran.out.contains("31") || ran.err.contains("31"), "with a count: {ran:?}");
    world.start_as_user(&["run", "j"]).expect(0).says("nothing to do");
    world.start_as_user(&["plan", "j", "--exit-code"]).expect(0);
}

#[test]
fn bc_06_restoring_without_root() {
    if !is_root() {
        eprintln!("skipped: only root makes files of others");
        return;
    }
    let world = World::with("mirror", OPEN);
    world.many(30);
    world.shell("chown 1000 S/d00/f0001; chmod 4755 S/d00/f0001");
    world.run().expect(0);
    // A disk whose files are others', in the hands of a user.
    let restore = ["restore", "j", "--to", "R"];
    world.shell("rm -rf state; chown 65534:65534 . home jobs jobs/j.yaml T");
    for verb in
        [&restore[..], &["run", "j"], &["verify", "j"], &["verify", "T"], &["versions", "j"], &["prune", "j"]]
    {
        world.start_as_user(verb).expect(3).says("may not be read by this user").says("or as root");
    }
    assert!(!world.path("R").exists());
    world.shell("chown -R 65534:65534 T/.twinlane");
    let restored = world.start_as_user(&restore).expect(0);
    let told = restored.err.matches("owner or group not kept").count();
    assert_eq!(told, 1, "told once: {restored:?}");
    assert!(restored.err.contains("owner or group not kept (31)"), "with a count: {restored:?}");
    let (source, back) = (world.tree("S"), world.tree("R"));
    assert_eq!(source.len(), back.len());
    assert!(source.iter().all(|(path, thing)| thing.same_content(&back[path])));
    let suid = fs::metadata(world.path("R/d00/f0001")).unwrap();
    assert_eq!((suid.mode() & 0o7777, suid.uid()), (0o755, 65534), "never set-uid for another owner");
}

/// Sources whose times are finer than what the place holds; then a change by more than its grain, and one by size.
fn coarse(kind: FileSystem<'_>, step: &str) {
    let mut world = World::with("mirror", OPEN);
    if !world.mount("T", kind) {
        return;
    }
    world.shell(
        "for i in 1 3 5 7; do echo $i >S/f$i; touch -d \"2020-01-01 00:00:0$i.987654321 UTC\" S/f$i; done
         mkdir S/d; touch S/d/x; touch -d '2021-02-03 04:05:07.5 UTC' S/d S",
    );
    let first = world.start(&["run", "j", "--accept", "destination"]);
    if first.code == 5 && fs::metadata(&world.destination).is_err() {
        eprintln!("skipped: the file system's own program ended in mid-run: {}", first.out);
        return;
    }
    first.expect(0);
    world.is_settled();
    world.shell(&format!("echo 9 >S/f1; touch -d '2020-01-01 00:00:01.987654321 UTC {step}' S/f1"));
    world.run().expect(0).says("1 replaced");
    world.shell("printf 'ab\\n' >S/f3; touch -d '2020-01-01 00:00:03.987654321 UTC' S/f3");
    world.run().expect(0).says("1 replaced");
    world.is_settled();
}

#[test]
fn bc_07_times_in_whole_seconds() {
    coarse(FileSystem::Ext4(&["-q", "-I", "128"]), "+1 second");
    coarse(FileSystem::Exfat, "+3 seconds");
}

#[test]
fn bc_07_times_in_steps_of_two_seconds() {
    coarse(FileSystem::Fat, "+3 seconds");
}

#[test]
fn bc_07_a_fine_place_forgives_nothing() {
    let world = World::with("mirror", OPEN);
    world.shell("echo a >S/f; touch -d '2020-01-01 00:00:01.000000001 UTC' S/f");
    world.settles();
    world.shell("echo b >S/f; touch -d '2020-01-01 00:00:01.000000002 UTC' S/f");
    world.settles().says("1 replaced");
}

#[test]
fn bc_08_exactly_one_hour() {
    let shift = "find T -type f -not -path '*/.twinlane/*' -exec sh -c \
                 'touch -d \"@$(( $(stat -c %Y \"$1\")+3600 ))\" \"$1\"' _ {} \\;";
    let prepare = |options: &str| {
        let world = World::with("mirror", options);
        world.shell("for i in 1 2 3; do echo $i >S/f$i; touch -d '2020-01-01 UTC' S/f$i; done");
        world.run().expect(0);
        world.shell(shift);
        world
    };
    // Nothing is guessed without being asked …
    let world = prepare(OPEN);
    world.run().expect(0).says("3 replaced");
    world.is_settled();
    // … where the job says so, contents stay, and what differs by more is found.
    let world = prepare(&format!("{OPEN}\ntime_tolerance: 1h"));
    world.is_settled();
    world.shell("echo longer >S/f1; touch -d '2020-01-01 UTC' S/f1");
    world.run().expect(0).says("1 replaced");
    // By content, nothing is copied; the times alone are mended.
    for compare in ["hash", "mtime_then_hash"] {
        let world = prepare(&format!("{OPEN}\ncompare: {compare}"));
        let inode = fs::metadata(world.path("T/f1")).unwrap().ino();
        world.shell("echo x >S/f2; touch -d '2020-01-01 UTC' S/f2");
        world.run().expect(0).says("1 replaced").says("2 with metadata mended");
        assert_eq!(fs::metadata(world.path("T/f1")).unwrap().ino(), inode, "{compare}");
        assert_eq!(world.tree("S"), world.tree("T"), "{compare}");
        world.is_settled();
    }
}

#[test]
fn bc_09_times_before_1970() {
    let make =
        "echo a >S/a; echo b >S/b; echo c >S/c; mkdir S/d; touch -d @-1 S/a; touch -d '1901-12-14 UTC' S/b
                touch -d '1969-12-31 23:59:59.5 UTC' S/c; touch -h -d '1969-12-31 23:59:58.25 UTC' S/d S";
    let world = World::with("mirror", OPEN);
    world.shell(make);
    world.settles();
    world.comes_back();
    assert_eq!(fs::metadata(world.path("T/c")).unwrap().mtime_nsec(), 500_000_000);
    world.start(&["history", "j", "-v"]).expect(0);
    for kind in [FileSystem::Xfs, FileSystem::Btrfs, FileSystem::Ext4(&["-q", "-I", "128"])] {
        let mut world = World::with("mirror", OPEN);
        if world.mount("T", kind) {
            world.shell(make);
            world.start(&["run", "j", "--accept", "destination"]).expect(0);
            world.is_settled();
            let got = fs::metadata(world.path("T/b")).unwrap().mtime();
            assert_eq!(got, fs::metadata(world.path("S/b")).unwrap().mtime(), "{kind:?}");
        }
    }
}

#[test]
fn bc_09_times_beyond_2038_on_a_place_that_ends_there() {
    let mut world = World::with("mirror", OPEN);
    if !world.mount("T", FileSystem::Ext4(&["-q", "-I", "128"])) {
        return;
    }
    world.shell("echo a >S/a; touch -d '2100-01-01 UTC' S/a; echo b >S/b; touch -d '1800-01-01 UTC' S/b");
    world.start(&["run", "j", "--accept", "destination"]).expect(0);
    world.is_settled();
}

#[test]
fn bc_11_a_place_without_attributes() {
    let mut world = World::with("mirror", OPEN);
    if !world.mount("T", FileSystem::Exfat) {
        return;
    }
    world.many(20);
    world.shell("for f in S/d00/*; do setfattr -n user.a -v 1 $f; done");
    let ran = world.start(&["run", "j", "--accept", "destination"]).expect(0);
    let lines = ran.out.lines().chain(ran.err.lines()).filter(|line| line.contains("attributes")).count();
    assert_eq!(lines, 1, "told once a run: {ran:?}");
    assert_eq!(fs::read_to_string(world.path("T/d00/f0007")).unwrap(), "7");
    world.is_settled();
}

#[test]
fn bc_11_attributes_and_lists_are_kept_where_they_can_be() {
    let world = World::with("mirror", OPEN);
    world.shell("echo a >S/f; mkdir S/d; setfattr -n user.a -v 1 S/f; setfattr -n user.b -v 2 S/d");
    world.shell("setfacl -m u:1000:rw S/f; setfacl -d -m u:1000:rwx S/d; echo b >S/d/g");
    world.settles();
    world.shell("diff <(cd S; getfattr -d -m - -R . ) <(cd T; getfattr -d -m - -R f d)");
    world.shell("diff <(cd S; getfacl -Rn f d) <(cd T; getfacl -Rn f d)");
    world.shell("setfattr -n user.a -v other S/f; setfattr -x user.b S/d; setfacl -b S/f");
    world.settles();
    world.shell("diff <(cd S; getfattr -d -m - -R f d) <(cd T; getfattr -d -m - -R f d)");
    world.shell("diff <(cd S; getfacl -Rn f d) <(cd T; getfacl -Rn f d)");
    set_mode(&world.path("S/f"), 0o640);
    world.settles();
    assert_same(&world.tree("S"), &world.tree("T"), "a mode");
}
