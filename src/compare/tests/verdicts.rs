//! Each verdict, and the cases of chapters 1 to 5.

use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn equal_trees_say_nothing() {
    let bench = Bench::new();
    bench.both("a", "1");
    bench.both("d/e/f", "22");
    bench.link("s/l", "a");
    bench.link("t/l", "a");
    let draft = bench.check(&[]);
    assert_eq!(draft.directories.len(), 1);
    assert!(draft.directories[0].path.is_root() && draft.directories[0].source_whole);
    let counts = Counts {
        source_entries: 5,
        source_files: 3,
        source_bytes: 3,
        destination_entries: 5,
        same: 5,
        ..Counts::default()
    };
    assert_eq!(draft.counts, counts);
}

#[test]
fn new_and_extra_are_told_entry_by_entry() {
    let bench = Bench::new();
    bench.file("s/new/deep/f", "1");
    bench.file("s/one", "1");
    bench.file("t/old/deep/f", "1");
    bench.file("t/two", "1");
    let draft = bench.check(&[
        "new New",
        "old Extra",
        "one New",
        "two Extra",
        "new/deep New",
        "new/deep/f New",
        "old/deep Extra",
        "old/deep/f Extra",
    ]);
    let deep = draft.directories.iter().find(|directory| directory.path.as_bytes() == b"old/deep").unwrap();
    assert!(
        deep.source.is_none() && deep.destination.is_some() && deep.source_whole && deep.destination_whole
    );
    assert_eq!((draft.counts.source_entries, draft.counts.destination_entries), (4, 4));
}

#[test]
fn in_a_backup_extras_are_counted_and_not_told() {
    let mut bench = Bench::new();
    bench.rule.mode = Mode::Backup;
    bench.file("t/old/f", "1");
    bench.file("t/two", "1");
    bench.file("t/x/gone", "1");
    bench.file("s/x", "1");
    let draft = bench.check(&["x directory <- file", "x/gone Extra"]);
    assert_eq!(draft.counts.destination_entries, 5);
}

#[test]
fn without_a_destination_everything_is_new_and_so_is_the_root() {
    let bench = Bench::new();
    bench.file("s/d/f", "1");
    bench.settle();
    std::fs::remove_dir(bench.path("t")).unwrap();
    let draft = bench.march();
    assert_eq!(said(&draft), [". New", "d New", "d/f New"]);
    assert!(draft.directories.iter().all(|directory| directory.destination.is_none()));
}

#[test]
fn size_time_and_age() {
    let bench = Bench::new();
    bench.both("size", "1");
    bench.file("s/size", "22");
    bench.both("newer", "1");
    touch(&bench.path("s/newer"), THEN + 5);
    bench.both("older", "1");
    touch(&bench.path("s/older"), THEN - 5);
    bench.check(&["newer Time Newer", "older Time Older", "size Size Equal"]);
}

#[test]
fn bc_01_directory_times_are_compared_the_roots_too() {
    let bench = Bench::new();
    bench.both("d/f", "1");
    bench.settle();
    touch(&bench.path("t"), THEN + 1);
    touch(&bench.path("t/d"), THEN + 2);
    assert_eq!(said(&bench.march()), [". times", "d times"]);
}

#[test]
fn bc_04_all_twelve_mode_bits_count() {
    let bench = Bench::new();
    for (name, mode) in [("suid", 0o4755), ("sgid", 0o2755), ("plain", 0o755)] {
        bench.both(name, "1");
        std::fs::set_permissions(bench.path(format!("s/{name}")), PermissionsExt::from_mode(mode)).unwrap();
        std::fs::set_permissions(bench.path(format!("t/{name}")), PermissionsExt::from_mode(0o755)).unwrap();
    }
    for (tree, mode) in [("s", 0o1777), ("t", 0o777)] {
        let path = bench.directory(format!("{tree}/sticky"));
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }
    bench.check(&["sgid permissions", "sticky permissions", "suid permissions"]);
}

#[test]
fn bc_04_set_uid_bits_are_expected_only_with_their_owner() {
    if !is_root_or_skipped("giving files away") {
        return;
    }
    let mut bench = Bench::new();
    bench.both("suid", "1");
    std::os::unix::fs::lchown(bench.path("s/suid"), Some(1000), Some(1000)).unwrap();
    std::fs::set_permissions(bench.path("s/suid"), PermissionsExt::from_mode(0o6755)).unwrap();
    std::fs::set_permissions(bench.path("t/suid"), PermissionsExt::from_mode(0o755)).unwrap();
    bench.check(&["suid permissions+owner"]);
    bench.rule.preserve.owner = Choice::Set(false);
    bench.check(&[]);
}

#[test]
fn labels_of_security_modules_at_the_destination_are_left_alone() {
    if !is_root_or_skipped("security attributes") {
        return;
    }
    let bench = Bench::new();
    bench.both("f", "1");
    set_xattr(&bench.path("t/f"), "security.label", "1");
    bench.check(&[]);
    set_xattr(&bench.path("s/f"), "security.label", "2");
    bench.check(&["f xattrs"]);
}

#[test]
fn bc_06_owners_count_for_root_only() {
    if !is_root_or_skipped("giving files away") {
        return;
    }
    let mut bench = Bench::new();
    bench.both("f", "1");
    bench.link("s/l", "x");
    bench.link("t/l", "x");
    for name in ["f", "l"] {
        std::os::unix::fs::lchown(bench.path(format!("s/{name}")), Some(1000), Some(1000)).unwrap();
    }
    bench.check(&["f owner", "l owner"]);
    bench.as_root = false;
    bench.check(&[]);
    bench.rule.preserve.owner = Choice::Set(true);
    bench.check(&["f owner", "l owner"]);
}

#[test]
fn bc_07_a_coarse_destination_is_equal_after_the_first_run() {
    let mut bench = Bench::new();
    bench.place = |place| {
        place.grain_ns = 2_000_000_000;
        place.time_range = (Stamp::from_seconds(315_532_800), Stamp::from_seconds(4_354_819_199));
    };
    bench.both("f", "1");
    touch(&bench.path("s/f"), THEN + 1);
    bench.both("changed", "1");
    touch(&bench.path("s/changed"), THEN + 2);
    bench.both("ancient", "1");
    touch(&bench.path("s/ancient"), 5);
    touch(&bench.path("t/ancient"), 315_532_800);
    bench.check(&["changed Time Newer"]);
    bench.place = |_| {};
    bench.check(&["ancient Time Older", "changed Time Newer", "f Time Newer"]);
}

#[test]
fn bc_08_an_hour_is_forgiven_where_the_job_says_so() {
    let mut bench = Bench::new();
    bench.both("f", "1");
    touch(&bench.path("t/f"), THEN + 3600);
    bench.check(&["f Time Older"]);
    bench.rule.time_tolerance = Choice::Set(Duration::from_secs(3600));
    bench.check(&[]);
}

#[test]
fn bc_09_times_before_1970() {
    let bench = Bench::new();
    for (name, time) in [("a", "@-1"), ("b", "1901-12-14 UTC"), ("c", "1969-12-31 23:59:59.5 UTC")] {
        bench.both(name, "1");
        for tree in ["s", "t"] {
            assert!(run("touch", &["-d", time, bench.path(format!("{tree}/{name}")).to_str().unwrap()]));
        }
    }
    bench.check(&[]);
    assert!(run("touch", &["-d", "1969-12-31 23:59:59.4 UTC", bench.path("t/c").to_str().unwrap()]));
    bench.check(&["c Time Newer"]);
}

#[test]
fn bc_11_a_place_without_owners_and_attributes_is_never_mended() {
    let mut bench = Bench::new();
    bench.both("f", "1");
    set_xattr(&bench.path("s/f"), "user.a", "1");
    std::fs::set_permissions(bench.path("s/f"), PermissionsExt::from_mode(0o600)).unwrap();
    bench.settle();
    touch(&bench.path("t"), THEN + 9);
    bench.place = |place| (place.owners, place.xattrs) = (false, false);
    assert_eq!(said(&bench.march()), Vec::<String>::new());
}

#[test]
fn bc_12_the_blind_spot_of_times_is_found_by_hash() {
    let mut bench = Bench::new();
    bench.file("s/f", "bbbb");
    bench.file("t/f", "aaaa");
    bench.check(&[]);
    bench.rule.compare = Comparison::Hash;
    bench.check(&["f Content Equal"]);
}

#[test]
fn equal_content_under_another_time_is_metadata_by_hash_and_by_size() {
    let mut bench = Bench::new();
    for name in ["same", "other"] {
        bench.both(name, "1111");
        touch(&bench.path(format!("t/{name}")), THEN + 9);
    }
    bench.file("s/other", "2222");
    bench.both("empty", "");
    bench.rule.compare = Comparison::Hash;
    bench.check(&["other Content Older", "same times"]);
    bench.rule.compare = Comparison::Size;
    bench.check(&["other times", "same times"]);
    bench.rule.preserve.times = false;
    bench.check(&[]);
}

#[test]
fn hash_without_an_engine_is_a_problem_and_no_verdict() {
    let mut bench = Bench::new();
    bench.both("f", "1");
    bench.rule.compare = Comparison::Hash;
    let draft = bench.settle().march_with(&Cancel::new(), None, &ScanMeter::default());
    assert_eq!(said(&draft), ["problem Source Entry f", "problem Destination Entry f"]);
}

#[test]
fn where_times_are_not_kept_a_later_source_is_changed() {
    let mut bench = Bench::new();
    bench.rule.preserve.times = false;
    bench.both("copied", "1");
    touch(&bench.path("t/copied"), THEN + 9);
    bench.both("edited", "1");
    touch(&bench.path("s/edited"), THEN + 9);
    bench.check(&["edited Time Newer"]);
}

fn set_xattr(path: &Path, name: &str, value: &str) {
    let set =
        "import os,sys; os.setxattr(sys.argv[1], sys.argv[2], sys.argv[3].encode(), follow_symlinks=False)";
    assert!(
        run("python3", &["-c", set, path.to_str().unwrap(), name, value]),
        "python3 sets attributes in tests"
    );
}

#[test]
fn extended_attributes_differ_by_name_and_by_value() {
    let mut bench = Bench::new();
    for name in ["name", "value", "equal", "d/f"] {
        bench.both(name, "1");
    }
    for (path, name, value) in [
        ("s/name", "user.a", "1"),
        ("s/value", "user.a", "1"),
        ("t/value", "user.a", "2"),
        ("s/equal", "user.a", "1"),
        ("t/equal", "user.a", "1"),
        ("s/d", "user.a", "1"),
        ("t", "user.a", "1"),
    ] {
        set_xattr(&bench.path(path), name, value);
    }
    bench.check(&[". xattrs", "d xattrs", "name xattrs", "value xattrs"]);
    bench.rule.preserve.xattrs = false;
    bench.check(&[]);
}

#[test]
fn attributes_of_root_count_for_root_only() {
    if !is_root_or_skipped("trusted attributes") {
        return;
    }
    let mut bench = Bench::new();
    bench.both("f", "1");
    set_xattr(&bench.path("s/f"), "trusted.a", "1");
    bench.check(&["f xattrs"]);
    bench.as_root = false;
    bench.check(&[]);
}

#[test]
fn acls_are_told_apart_from_attributes() {
    let mut bench = Bench::new();
    bench.both("f", "1");
    // Version 2, then user::rw-, user:1000:r--, group::r--, mask::r--, other::r-- as in `linux/posix_acl_xattr.h`.
    let acl = "import os,struct,sys\n\
        entries = [(1,6,0xffffffff),(2,4,1000),(4,4,0xffffffff),(16,4,0xffffffff),(32,4,0xffffffff)]\n\
        value = struct.pack('<I',2) + b''.join(struct.pack('<HHI',*entry) for entry in entries)\n\
        os.setxattr(sys.argv[1], 'system.posix_acl_access', value)";
    if !run("python3", &["-c", acl, bench.path("s/f").to_str().unwrap()]) {
        eprintln!("SKIPPED: this file system holds no ACLs");
        return;
    }
    bench.check(&["f acls"]);
    bench.rule.preserve.acls = false;
    bench.check(&[]);
}

#[test]
fn bc_14_specials_are_compared_and_never_opened() {
    let mut bench = Bench::new();
    for tree in ["s", "t"] {
        let path = |name: &str| bench.path(format!("{tree}/{name}")).to_str().unwrap().to_owned();
        assert!(run("mkfifo", &["-m", "644", &path("pipe")]));
        std::os::unix::net::UnixListener::bind(bench.path(format!("{tree}/socket"))).unwrap();
        for name in ["pipe", "socket"] {
            assert!(run("touch", &["-h", "-d", &format!("@{THEN}"), &path(name)]));
        }
    }
    bench.rule.compare = Comparison::Hash;
    bench.check(&[]);
    std::fs::remove_file(bench.path("t/socket")).unwrap();
    bench.check(&["socket New"]);
    bench.rule.preserve.special = Choice::Set(false);
    let draft = bench.check(&[". kept 1", "left out fifo 1", "left out socket 1"]);
    assert_eq!((draft.counts.source_excluded, draft.counts.destination_kept), (2, 1));
}

#[test]
fn bc_14_devices_are_roots() {
    if !is_root_or_skipped("making devices") {
        return;
    }
    let mut bench = Bench::new();
    for (path, minor) in [("s/null", "3"), ("t/null", "5"), ("s/zero", "5"), ("t/zero", "5")] {
        let path = bench.path(path);
        let path = path.to_str().unwrap();
        if !run("mknod", &[path, "c", "1", minor]) {
            eprintln!("SKIPPED: this machine makes no devices");
            return;
        }
        assert!(run("touch", &["-h", "-d", &format!("@{THEN}"), path]));
    }
    bench.check(&["null Device Equal"]);
    bench.as_root = false;
    bench.check(&[". kept 2", "left out device 2"]);
}

#[test]
fn bc_16_and_17_symlinks_are_texts_and_never_followed() {
    let mut bench = Bench::new();
    for tree in ["s", "t"] {
        bench.directory(format!("{tree}/a/b"));
        for (name, text) in [("a/b/up", ".."), ("self", "."), ("gone", "nowhere"), ("abs", "/etc/hostname")] {
            bench.link(format!("{tree}/{name}"), text);
        }
    }
    bench.check(&[]);
    std::fs::remove_file(bench.path("t/gone")).unwrap();
    bench.link("t/gone", "elsewhere");
    assert!(run("touch", &["-h", "-d", "@5", bench.path("t/abs").to_str().unwrap()]));
    bench.check(&["abs times", "gone Target Equal"]);
    bench.rule.preserve.symlinks = Symlinks::Skip;
    let draft = bench.check(&[". kept 3", "left out symlink 4"]);
    assert_eq!(draft.counts.destination_kept, 4);
}

#[test]
fn bc_19_names_of_one_inode_are_held() {
    let mut bench = Bench::new();
    bench.both("a", "x");
    bench.both("single", "x");
    for (name, other) in [("s/b", "s/a"), ("s/d/c", "s/a"), ("t/b", "t/a")] {
        std::fs::create_dir_all(bench.path(name).parent().unwrap()).unwrap();
        std::fs::hard_link(bench.path(other), bench.path(name)).unwrap();
    }
    bench.check(&["a Same", "b Same", "d New", "d/c New"]);
    bench.rule.preserve.hard_links = false;
    bench.check(&["d New", "d/c New"]);
}

#[test]
fn bc_19_broken_links_are_seen_from_the_destinations_side() {
    let bench = Bench::new();
    bench.both("a", "x");
    std::fs::hard_link(bench.path("t/a"), bench.path("t/b")).unwrap();
    bench.file("s/b", "x");
    bench.check(&["a Same", "b Same"]);
}

#[test]
fn bc_22_and_23_names_are_bytes() {
    let bench = Bench::new();
    let names: [&[u8]; 8] = [b"a\xffb", b"a\nb", b"-rf", b"*", b"[x]", b"!x", b" lead", b"\\"];
    for name in names {
        for tree in [&b"s/"[..], b"t/"] {
            bench.file([tree, name].concat(), "1");
        }
    }
    bench.link(b"s/\xe9", "x");
    let draft = bench.check(&["\\xe9 New"]);
    assert_eq!(draft.counts.same, names.len() as u64);
}

#[test]
fn bc_27_nfc_and_nfd_are_two_names() {
    let bench = Bench::new();
    bench.both("e\u{301}", "1");
    bench.both("\u{e9}", "2");
    let draft = bench.check(&[]);
    assert_eq!(draft.counts.same, 2);
}

#[test]
fn bc_28_another_case_is_the_same_name_where_case_does_not_count() {
    let mut bench = Bench::new();
    bench.place = |place| place.case = Case::Insensitive;
    bench.file("s/foo/a", "1");
    bench.file("t/Foo/A", "1");
    bench.file("t/other", "1");
    bench.check(&["other Extra"]);
}

#[test]
fn bc_28_two_source_names_that_are_one_in_the_destination_collide() {
    let mut bench = Bench::new();
    bench.place = |place| place.case = Case::Insensitive;
    for name in ["s/x/foo", "s/x/Foo", "t/x/FOO", "s/x/bar", "t/x/bar", "t/x/Bar"] {
        bench.file(name, "1");
    }
    let draft = bench.check(&["x/Foo Conflict(Collision)", "x/foo Conflict(Collision)", "x kept 2"]);
    assert_eq!(draft.counts.destination_kept, 2);
}

#[test]
fn bc_32_a_link_in_a_directorys_place_is_not_followed() {
    let bench = Bench::new();
    bench.file("outside/precious", "1");
    bench.file("s/a/f", "1");
    bench.link("t/a", "../outside");
    bench.file("t/b/f", "1");
    bench.link("s/b", "a");
    bench.check(&["a symlink <- directory", "b directory <- symlink", "a/f New", "b/f Extra"]);
}

/// Makes an entry of the given kind.
fn make(bench: &Bench, path: &str, kind: &str) {
    match kind {
        "file" => drop(bench.file(path, "1")),
        "empty" => drop(bench.directory(path)),
        "full" => drop(bench.file(format!("{path}/f"), "1")),
        "link" => drop(bench.link(path, "nowhere")),
        _ => {
            assert!(run("mkfifo", &["-m", "644", bench.path(path).to_str().unwrap()]));
            assert!(run("touch", &["-d", &format!("@{THEN}"), bench.path(path).to_str().unwrap()]));
        }
    }
}

#[test]
fn bc_33_every_pair_of_kinds() {
    const KINDS: [&str; 5] = ["file", "empty", "full", "link", "fifo"];
    let bench = Bench::new();
    let mut expected = Vec::new();
    let word = |kind: &str| match kind {
        "empty" | "full" => "directory",
        "link" => "symlink",
        _ if kind == "file" => "file",
        _ => "fifo",
    };
    for old in KINDS {
        for new in KINDS {
            let name = format!("{old}-{new}");
            make(&bench, &format!("t/{name}"), old);
            make(&bench, &format!("s/{name}"), new);
            if word(old) != word(new) {
                expected.push(format!("{name} {} <- {}", word(old), word(new)));
            }
            match (old, new) {
                ("full", "full") => {}
                ("full", _) => expected.push(format!("{name}/f Extra")),
                (_, "full") => expected.push(format!("{name}/f New")),
                _ => {}
            }
        }
    }
    // The draft tells a directory's own names before those of the directories in it.
    expected.sort_by_key(|line| (line.contains('/'), line.clone()));
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    bench.check(&expected);
}

#[test]
fn bc_31_paths_longer_than_the_system_takes() {
    let mut bench = Bench::new();
    let name = "n".repeat(100);
    for tree in ["s", "t"] {
        let script = format!(
            "for i in $(seq 60); do mkdir {name} && cd -P ./{name} || exit 1; done; echo {tree} > leaf"
        );
        let made = Command::new("sh").args(["-c", &script]).current_dir(bench.path(tree)).status();
        assert!(made.unwrap().success());
    }
    for budget in [512, 1] {
        bench.handle_budget = budget;
        let draft = bench.march();
        assert_eq!(draft.problems, []);
        let deepest = draft.directories.last().unwrap();
        assert_eq!((deepest.path.depth(), &*deepest.findings[0].name), (60, &b"leaf"[..]));
    }
}
