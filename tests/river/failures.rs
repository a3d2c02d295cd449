//! Entries that fail while the rest goes on: exit 1 or 5, each listed, old content whole.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::support::{FileSystem, World, ended, is_root};

#[test]
fn bc_39_an_unreadable_folder_keeps_its_copy() {
    let world = World::with("mirror", "");
    world.files([("S/secret/a", "a"), ("S/open/b", "b")]);
    world.start(&["run", "j"]).expect(0);
    fs::set_permissions(world.path("S/secret"), fs::Permissions::from_mode(0o000)).unwrap();
    world.files([("S/open/c", "c")]);
    // Root reads everything: run as somebody else, to whom all of it belongs.
    if !is_root() || world.give_to_user() {
        world.start_as_user(&["run", "j"]).expect(1).says("secret").says("1 copied");
        fs::set_permissions(world.path("S/secret"), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(world.path("T/secret/a").exists() && world.path("T/open/c").exists());
    }
}

#[test]
fn bc_41_a_full_destination() {
    let mut world = World::with("mirror", "limits: {min_free: none}\nversions: none");
    world.files([("S/f", "old"), ("S/small", "s")]);
    let at = world.path("T");
    fs::create_dir(&at).unwrap();
    if !world.mount("T", FileSystem::Tmpfs("size=2m")) {
        return;
    }
    world.start(&["run", "j", "--accept", "destination"]).expect(0);
    fs::write(world.path("S/f"), vec![b'x'; 5 << 20]).unwrap();
    world.files([("S/another", "a")]);
    let full = world.start(&["run", "j"]);
    assert!([1, 5].contains(&full.code), "{full:?}");
    assert_eq!(fs::read_to_string(at.join("f")).unwrap(), "old");
    let stages = fs::read_dir(&at)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(".twinlane-"));
    assert_eq!(stages.count(), 0);
    world.job("mirror", "versions: none");
    world.refused(&["run", "j"], 3).says("min_free");
}

#[test]
fn bc_90_one_of_three_jobs_failed() {
    let world = World::with("mirror", "");
    world.files([("S/a", "a")]);
    world.job_text("gone", "rules:\n  r: {mode: mirror, source: ../gone, destination: ../T2}\n");
    world.job_text("last", "rules:\n  r: {mode: backup, source: ../S, destination: ../T3}\n");
    world.start(&["run", "j", "gone", "last"]).expect(3);
    assert!(world.path("T/a").exists() && world.path("T3/a").exists());
}

#[test]
fn bc_22_names_that_are_no_utf_8_are_escaped_for_people_and_whole_in_json() {
    use std::os::unix::ffi::OsStrExt as _;
    let world = World::with("mirror", "");
    let name = |bytes: &[u8]| world.path("S").join(std::ffi::OsStr::from_bytes(bytes));
    for bytes in [&b"a\xffb"[..], b"new\nline", b"\x1b[31mred", b"-rf"] {
        fs::write(name(bytes), "x").unwrap();
    }
    world.start(&["plan", "j", "-v"]).expect(0).says("a\\xffb").says("new\\nline").says("\\x1b[31mred");
    let plan = world.start(&["plan", "j", "--json"]).expect(0);
    assert!(plan.out.contains("\"path_b64\":\"Yf9i\""), "{}", plan.out);
    let ran = world.start(&["run", "j", "-v"]).expect(0);
    assert!(!ran.out.contains('\u{1b}'), "{}", ran.out);
    assert_eq!(world.tree("S"), world.tree("T"));
    world.start(&["run", "j", "--json", "-v"]).expect(0).says("\"exit\":0");
}

#[test]
fn the_nth_call_that_fails_never_leaves_a_torn_name() {
    let world = World::with("mirror", "");
    world.files([("S/a", "old a"), ("S/d/b", "old b"), ("S/k", "file")]);
    world.start(&["run", "j"]).expect(0);
    world.files([("S/a", "new a, longer"), ("S/d/c", "c")]);
    fs::remove_file(world.path("S/k")).unwrap();
    world.files([("S/k/inside", "i")]);
    // A sweep of every call is the campaign's; these few places lie well apart.
    for call in (1..90).step_by(11) {
        let fault = format!("eio@{call}");
        let variables = [("TWINLANE_FAULT", fault.as_str()), ("TWINLANE_WORKERS", "1")];
        let failed = ended(&world.spawn(&["run", "j"], &variables).wait_with_output().unwrap());
        assert!([0, 1, 3, 5].contains(&failed.code), "{fault}: {failed:?}");
        let a = fs::read_to_string(world.path("T/a")).unwrap();
        assert!(a == "old a" || a == "new a, longer", "{fault}: {a}");
    }
    world.start(&["run", "j"]).expect(0);
    assert_eq!(world.tree("S"), world.tree("T"));
    world.start(&["run", "j"]).expect(0).says("nothing to do");
}

#[test]
fn a_file_that_cannot_be_replaced_leaves_no_copy_in_versions() {
    let world = World::with("mirror", "");
    world.files([("S/frozen", "old"), ("S/other", "1")]);
    world.start(&["run", "j"]).expect(0);
    let frozen = world.path("T/frozen");
    let chattr = |flag: &str| {
        Command::new("chattr").arg(flag).arg(&frozen).status().is_ok_and(|status| status.success())
    };
    if !chattr("+i") {
        eprintln!("skipped: no file can be made immutable here");
        return;
    }
    world.files([("S/frozen", "newer"), ("S/other", "2")]);
    let ran = world.start(&["run", "j"]);
    let versions: Vec<_> = walkdir::WalkDir::new(world.path("T/.twinlane/versions"))
        .into_iter()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| entry.file_name().to_owned())
        .collect();
    chattr("-i");
    ran.expect(1).says("frozen");
    assert_eq!(versions, ["other"]);
    assert_eq!(fs::read_dir(world.path("T/.twinlane/partial")).unwrap().count(), 0, "a marker is left");
    world.start(&["run", "j"]).expect(0).says("1 replaced");
}
