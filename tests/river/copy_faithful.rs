//! Awkward sources, copied by `copy`, by `cp -a` and by `rsync -a`: all three are to show the same tree.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::process::Command;

use crate::support::{World, assert_same, is_root, tree};

/// A program that others trust; `None` where it is not here.
fn witness(world: &World, program: &str, arguments: &[&str], name: &str) -> bool {
    fs::create_dir(world.path(name)).unwrap();
    match Command::new(program).args(arguments).arg(name).current_dir(world.base()).status() {
        Ok(status) => {
            assert!(status.success(), "{program} {arguments:?} {name}");
            true
        }
        Err(error) => {
            eprintln!("skipped: no witness `{program}`: {error}");
            false
        }
    }
}

/// Copies `S` as an entry and as content in all three ways, and compares.
#[track_caller]
fn check(world: &World) {
    // Some versions of rsync leave the fractions of a second away where the seconds are those of now.
    world.shell(
        "find S -depth -mmin -60 ! -newermt 2050-01-01 -exec touch -h -d '2010-10-10 10:10:10.123456789' {} +",
    );
    world.start(&["copy", "S", "D"]).expect(0);
    world.start(&["copy", "S/", "E"]).expect(0);
    world.start(&["copy", "S", "D"]).expect(0).says("nothing to do");
    world.start(&["copy", "S/", "E"]).expect(0).says("nothing to do");
    let source = tree(&world.path("S"));
    assert_same(&source, &tree(&world.path("D/S")), "the entry");
    assert_same(&source, &tree(&world.path("E")), "the content");
    for (program, flags, name) in [("cp", vec!["-a"], "cp"), ("rsync", vec!["-aHAX", "--devices"], "rsync")] {
        if witness(world, program, &[flags, vec!["--", "S"]].concat(), name) {
            assert_same(&tree(&world.path(name).join("S")), &tree(&world.path("D/S")), program);
        }
    }
}

fn at_bytes(world: &World, name: &[u8]) -> std::path::PathBuf {
    world.path("S").join(OsStr::from_bytes(name))
}

#[test]
fn names_of_all_kinds() {
    let world = World::new();
    let long = [b'x'; 255];
    let names: [&[u8]; 11] = [
        b"line\nbreak",
        b"--delete",
        b"-rf",
        b"no\xff\xfeutf8",
        &long,
        b" spaces ",
        b"*",
        b"$HOME",
        b"\\",
        b".hidden",
        "\u{e4}\u{1f600}".as_bytes(),
    ];
    for name in names {
        fs::write(at_bytes(&world, name), name).unwrap();
    }
    check(&world);
}

#[test]
fn sources_with_awkward_names_are_named_on_the_command_line() {
    let world = World::new();
    fs::create_dir(world.path("D")).unwrap();
    let names: [&[u8]; 5] = [b"line\nbreak", b"-rf", b"no\xff\xfeutf8", &[b'x'; 255], b" s "];
    let mut command = world.command(&["copy", "--"]);
    for name in names {
        fs::write(at_bytes(&world, name), name).unwrap();
        command.arg(OsStr::from_bytes(name));
    }
    command.arg("../D").current_dir(world.path("S"));
    crate::support::ended(&command.output().unwrap()).expect(0);
    let (mut source, mut copied) = (tree(&world.path("S")), tree(&world.path("D")));
    for tree in [&mut source, &mut copied] {
        tree.remove(std::path::Path::new(""));
    }
    assert_same(&source, &copied, "named sources");
}

#[test]
fn empty_and_deep_folders() {
    let world = World::new();
    world.shell(
        "mkdir -p S/empty S/$(printf 'deep/%.0s' $(seq 60)); echo x > S/$(printf 'deep/%.0s' $(seq 60))x",
    );
    check(&world);
}

#[test]
fn holes_stay_holes() {
    let world = World::new();
    world.shell(
        "truncate -s 64M S/sparse; echo middle | dd of=S/sparse bs=1 seek=32M conv=notrunc status=none",
    );
    check(&world);
    let blocks = |name: &str| fs::metadata(world.path(name)).unwrap().blocks();
    assert!(blocks("D/S/sparse") <= blocks("S/sparse") + 16, "{} blocks", blocks("D/S/sparse"));
}

#[test]
fn links_of_both_kinds() {
    let world = World::new();
    world.shell(
        "mkdir S/dir; echo x > S/a; ln S/a S/dir/b; ln S/a S/c; ln -s gone S/dangling; ln -s /etc/hostname S/absolute;
         ln -s dir S/to-dir; ln -s .. S/dir/up; ln -s \"$(printf 'x\\ny')\" S/odd; touch -h -d 2003-03-03 S/dangling",
    );
    check(&world);
    let inode = |name: &str| fs::metadata(world.path(name)).unwrap().ino();
    assert_eq!(inode("D/S/a"), inode("D/S/dir/b"));
}

#[test]
fn pipes_sockets_and_devices() {
    let world = World::new();
    world.shell("mkfifo -m 640 S/fifo");
    let _socket = std::os::unix::net::UnixListener::bind(world.path("S/socket")).unwrap();
    if is_root() {
        world.shell("mknod S/null c 1 3; mknod S/loop b 7 9");
    } else {
        eprintln!("skipped: only root makes device nodes");
    }
    check(&world);
}

#[test]
fn permissions_of_all_kinds() {
    let world = World::new();
    world.shell(
        "echo x > S/setuid; chmod 4755 S/setuid; echo x > S/none; mkdir S/sticky S/setgid S/closed; chmod 1777 S/sticky;
         chmod 2770 S/setgid; echo x > S/closed/x; chmod 0444 S/closed/x; chmod 0555 S/closed; touch -d 2004-04-04 S/closed",
    );
    if is_root() {
        world.shell("chmod 0000 S/none; chown 1234:5678 S/none S/sticky; chown -h 42 S/setgid");
    }
    check(&world);
}

#[test]
fn times_to_the_nanosecond_and_before_1970() {
    let world = World::new();
    world.shell(
        "echo x > S/ns; touch -d '2020-02-02 02:02:02.123456789' S/ns; echo x > S/old; touch -d 1960-01-01 S/old;
         mkdir S/dir; touch -d 1950-01-01T00:00:00.5 S/dir; touch -d 2100-01-01 S/future; touch -d 2001-01-01 S",
    );
    check(&world);
}

#[test]
fn acls_and_attributes() {
    let world = World::new();
    world.files([("S/a", "a"), ("S/dir/b", "b")]);
    let set =
        "setfattr -n user.note -v 'a note' S/a && setfacl -m u:1234:r S/a && setfacl -d -m g:5678:rx S/dir";
    let done = Command::new("sh").args(["-c", set]).current_dir(world.base()).status();
    if !done.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no attributes or ACLs here");
        return;
    }
    check(&world);
    let dump = |folder: &str| {
        let line = "getfattr -R -d . | sort; getfacl -R -n . | sort";
        let output = Command::new("sh").args(["-c", line]).current_dir(world.path(folder)).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(dump("S").contains("user.note"));
    assert_eq!(dump("S"), dump("D/S"));
    assert_eq!(dump("S"), dump("E"));
}

#[test]
fn somebody_who_is_not_root_copies_what_he_may_read() {
    let world = World::new();
    world.shell(
        "mkdir S/closed D; echo x > S/closed/x; echo x > S/none; chmod 0000 S/none; chmod 0555 S/closed",
    );
    if !world.give_to_user() {
        return;
    }
    world.start_as_user(&["copy", "S", "D"]).expect(1).says("S/none");
    let mut expected = tree(&world.path("S"));
    expected.remove(std::path::Path::new("none"));
    assert_same(&expected, &tree(&world.path("D/S")), "all but the file that he may not read");
    world.shell("mkdir R && chmod 0555 R && chown root R");
    let ended = world.start_as_user(&["copy", "S/closed/x", "R"]).expect(3);
    ended.says("cannot write into").says("correct the path, or the rights on it");
    assert_eq!(fs::read_dir(world.path("R")).unwrap().count(), 0);
}
