//! Chapter 3: FIFOs, devices, links, holes, hard links, and files of unknown size.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use crate::support::{FileSystem, World, ended, is_root};

const OPEN: &str = "limits: {remove: none, replace: none}";

#[test]
fn bc_14_fifo_socket_and_device() {
    for options in [OPEN.to_owned(), format!("{OPEN}\ncompare: hash")] {
        let world = World::with("mirror", &options);
        world.shell("mkfifo S/p; echo x >S/f; cd S; python3 -c \"import socket;socket.socket(socket.AF_UNIX).bind('s')\"");
        if is_root() {
            world.shell("mknod S/n c 1 5; mknod S/b b 7 200");
        }
        let program = env!("CARGO_BIN_EXE_twinlane");
        let run = || ended(&world.in_surroundings("timeout", &["20", program, "run", "j"]).output().unwrap());
        run().expect(0);
        assert_eq!(world.tree("S"), world.tree("T"));
        run().expect(0).says("nothing to do");
        for verb in ["verify j", "verify j --against source", "restore j --to R", "copy S C"] {
            let line: Vec<&str> = ["20", program].into_iter().chain(verb.split(' ')).collect();
            ended(&world.in_surroundings("timeout", &line).output().unwrap()).expect(0);
        }
        assert_eq!(world.tree("S"), world.tree("R"));
        assert_eq!(world.tree("S"), world.tree("C/S"));
        // One special file becomes another.
        world.shell("rm S/p; mkfifo S/q; chmod 600 S/q; rm S/f; mkfifo S/f");
        run().expect(0);
        assert_eq!(world.tree("S"), world.tree("T"));
    }
}

#[test]
fn bc_14_devices_are_left_out_for_users_and_counted() {
    let world = World::with("mirror", OPEN);
    if !is_root() || !world.give_to_user() {
        eprintln!("skipped: only root makes devices");
        return;
    }
    world.shell("mknod S/n c 1 5; mkfifo S/p; echo x >S/f; chown 65534 S/*");
    world.start_as_user(&["run", "j"]).expect(0).says("device");
    assert!(!world.path("T/n").exists() && world.path("T/p").exists() && world.path("T/f").exists());
    world.start_as_user(&["run", "j"]).expect(0).says("nothing to do");
}

#[test]
fn bc_16_links_that_loop_are_links() {
    let world = World::with("mirror", OPEN);
    world.shell(
        "mkdir -p S/a/b; echo f >S/f; ln -s .. S/a/b/up; ln -s . S/self; ln -s nowhere S/dangling; ln -s self S/self2",
    );
    world.settles();
    world.job("mirror", &format!("{OPEN}\npreserve: {{symlinks: skip}}"));
    world.run().expect(0).says("nothing to do");
    world.job("mirror", &format!("{OPEN}\npreserve: {{symlinks: follow}}"));
    world.refused(&["run", "j"], 2).says("follow");
}

#[test]
fn bc_17_absolute_and_dangling_links() {
    let world = World::with("mirror", OPEN);
    world.files([("outside", "o")]);
    world.shell("ln -s /etc/hostname S/abs; ln -s ../outside S/rel; ln -s gone S/dang; touch -h -d @1000000000 S/dang; ln -s a//b/../c/ S/odd");
    world.settles();
    world.comes_back();
    assert_eq!(fs::symlink_metadata(world.path("T/dang")).unwrap().mtime(), 1_000_000_000);
    // Another text of the same length and time.
    world.shell("ln -sfn ../outsids S/rel; ln -sfn gonf S/dang; touch -h -d @1000000000 S/dang");
    world.settles().says("2 replaced");
    assert_eq!(fs::read_to_string(world.path("outside")).unwrap(), "o");
    // The link's own time alone.
    world.shell("touch -h -d @1000000001 S/dang");
    world.settles();
    world.comes_back();
    assert_eq!(fs::read_to_string(world.path("outside")).unwrap(), "o");
}

#[test]
fn bc_18_sparse_files_on_a_small_place() {
    let mut world = World::with("mirror", OPEN);
    if !world.mount("T", FileSystem::Tmpfs("size=200m")) || !world.mount("R", FileSystem::Tmpfs("size=200m"))
    {
        return;
    }
    world.shell("truncate -s 5G S/img; printf x | dd of=S/img bs=1 seek=3G conv=notrunc status=none; fallocate -l 50M S/pre; truncate -s 1M S/hole");
    world.shell("truncate -s 100K S/small; printf x | dd of=S/small bs=1 seek=50K conv=notrunc status=none");
    world.start(&["run", "j", "--accept", "destination"]).expect(0);
    let is_whole = |place: &str| {
        let of = |name: &str| fs::metadata(world.path(place).join(name)).unwrap();
        assert_eq!(of("img").size(), 5 << 30);
        assert!(of("img").blocks() * 512 <= 4 << 20, "{place}: {} bytes allocated", of("img").blocks() * 512);
        assert_eq!((of("hole").size(), of("hole").blocks()), (1 << 20, 0), "{place}");
        assert_eq!(of("pre").size(), 50 << 20);
        world.shell(&format!("cmp S/pre {place}/pre; cmp S/small {place}/small; cmp <(tail -c +3221225472 S/img | head -c 10) <(tail -c +3221225472 {place}/img | head -c 10)"));
    };
    is_whole("T");
    world.is_settled();
    world.start(&["restore", "j", "--to", "R"]).expect(0);
    is_whole("R");
}

#[test]
fn bc_18_allocation_on_real_file_systems() {
    for kind in [FileSystem::Ext4(&["-q"]), FileSystem::Xfs, FileSystem::Btrfs] {
        let mut world = World::with("mirror", OPEN);
        if !world.mount("T", kind) {
            continue;
        }
        world.shell(
            "fallocate -l 5M S/pre; truncate -s 300M S/img; for at in 0 100 299; do printf x | dd of=S/img bs=1 seek=${at}M conv=notrunc status=none; done",
        );
        world.start(&["run", "j", "--accept", "destination"]).expect(0);
        world.shell("cmp S/img T/img; cmp S/pre T/pre");
        let blocks = |name: &str| fs::metadata(world.path("T").join(name)).unwrap().blocks() * 512;
        assert!(blocks("img") <= 8 << 20, "{kind:?}: {}", blocks("img"));
        // btrfs allocates late, and a preallocated file of zeros stays one on all three.
        assert!(blocks("pre") >= 5 << 20, "{kind:?}: {}", blocks("pre"));
        world.is_settled();
    }
}

#[test]
fn bc_19_hard_links() {
    let world = World::with("mirror", OPEN);
    world.shell("echo x >S/a; ln S/a S/b; mkdir S/d; ln S/a S/d/c");
    world.settles();
    let inode = |name: &str| fs::symlink_metadata(world.path("T").join(name)).unwrap().ino();
    assert!(inode("a") == inode("b") && inode("a") == inode("d/c"));
    world.shell("rm S/a; echo longer >S/b");
    world.settles();
    assert_eq!(inode("b"), inode("d/c"));
    // Broken in the source, with equal content and times.
    world.shell("cp -p S/b S/n; mv S/n S/b");
    world.settles();
    assert_ne!(inode("b"), inode("d/c"));
    // Joined again.
    world.shell("ln -f S/b S/d/c");
    world.settles();
    assert_eq!(inode("b"), inode("d/c"));
    // A group of which the filters leave a half.
    world.shell("ln S/b S/x1; ln S/b S/x2");
    world.job("mirror", &format!("{OPEN}\nexclude: [b, x1]"));
    world.run().expect(0);
    assert_eq!(inode("x2"), inode("d/c"));
    world.is_settled();
    // Off: names are files of their own.
    let world = World::with("mirror", "preserve: {hard_links: false}");
    world.shell("echo x >S/a; ln S/a S/b");
    world.settles();
    assert_eq!(fs::metadata(world.path("T/a")).unwrap().nlink(), 1);
}

#[test]
fn bc_21_pseudo_files() {
    let world = World::new();
    if fs::read("/proc/sys/kernel/random/uuid").is_err() {
        eprintln!("skipped: no /proc/sys/kernel/random");
        return;
    }
    world.job_text("j", "rules:\n  r: {mode: mirror, source: /proc/sys/kernel/random, destination: ../T}\n");
    let program = env!("CARGO_BIN_EXE_twinlane");
    let ran = ended(&world.in_surroundings("timeout", &["20", program, "run", "j"]).output().unwrap());
    assert!([0, 1].contains(&ran.code), "{ran:?}");
    for name in ["uuid", "boot_id", "poolsize"] {
        let got = fs::read(world.path("T").join(name));
        // Read to its end, or not there and said: never empty as if that were all.
        match got {
            Ok(bytes) => assert!(!bytes.is_empty(), "{name}: {ran:?}"),
            Err(_) => assert_eq!(ran.code, 1, "{name}: {ran:?}"),
        }
    }
    assert_eq!(
        fs::read("/proc/sys/kernel/random/boot_id").unwrap(),
        fs::read(world.path("T/boot_id")).unwrap()
    );
}
