//! Versions: keep, take, copies where links are refused, metadata of directories.

use super::*;

fn keep(ground: &Ground, versions: &Versions<'_>, path: &str) -> Result<Displaced, StoreError> {
    let path = rel(path);
    let directory = ground.root.open_below(&path.parent().unwrap()).unwrap();
    versions.keep(OriginalDirectory { root: &ground.root }, &directory, path.name(), &path)
}

fn take(
    ground: &Ground,
    versions: &Versions<'_>,
    path: &str,
    ordered: bool,
) -> Result<Displaced, StoreError> {
    let path = rel(path);
    let directory = ground.root.open_below(&path.parent().unwrap()).unwrap();
    versions.take(OriginalDirectory { root: &ground.root }, &directory, path.name(), &path, ordered)
}

#[test]
fn keeping_leaves_the_name_and_is_the_same_asked_twice() {
    let ground = Ground::new();
    let store = ground.store();
    let versions = store.versions(run());
    ground.write("a/b/f", "old");
    symlink("nowhere", ground.path.join("a/l")).unwrap();
    assert_eq!(keep(&ground, &versions, "a/b/f").unwrap(), Displaced::Linked);
    assert_eq!(keep(&ground, &versions, "a/b/f").unwrap(), Displaced::Linked);
    assert_eq!(keep(&ground, &versions, "a/l").unwrap(), Displaced::Linked);
    assert_eq!(ground.read("a/b/f").unwrap(), "old");
    // The staged file comes over the name.
    ground.write("a/b/new", "new");
    fs::rename(ground.path.join("a/b/new"), ground.path.join("a/b/f")).unwrap();
    assert_eq!(ground.version(run(), "a/b/f").unwrap(), "old");
    let link = ground.home(&format!("versions/{}/a/l", run()));
    assert_eq!(fs::read_link(link).unwrap(), Path::new("nowhere"));
    // Another entry under the same path is never put over the first.
    assert!(keep(&ground, &versions, "a/b/f").unwrap_err().is_displaced_already());
    assert!(take(&ground, &versions, "a/b/f", true).unwrap_err().is_displaced_already());
    assert!(take(&ground, &versions, "a/b/f", false).unwrap_err().is_displaced_already());
    assert_eq!(ground.read("a/b/f").unwrap(), "new");
    versions.sync_directories().unwrap();
    versions.finish().unwrap();
    assert_eq!(ground.version(run(), "a/b/f").unwrap(), "old");
}

#[test]
fn what_was_kept_and_stays_is_withdrawn_and_nothing_else() {
    let ground = Ground::new();
    let store = ground.store();
    store.begin(run()).unwrap();
    let versions = store.versions(run());
    let original = OriginalDirectory { root: &ground.root };
    let directory = ground.root.try_clone().unwrap();
    for name in ["linked", "copied", "replaced", "edited"] {
        ground.write(name, "old");
    }
    keep(&ground, &versions, "linked").unwrap();
    keep(&ground, &versions, "replaced").unwrap();
    for name in ["copied", "edited"] {
        versions.keep_by_copy(original, &directory, name.as_bytes(), &rel(name)).unwrap();
    }
    ground.write("new", "new");
    fs::rename(ground.path.join("new"), ground.path.join("replaced")).unwrap();
    ground.write("edited", "edited by somebody");
    for name in ["linked", "copied", "replaced", "edited", "never kept"] {
        versions.withdraw(&directory, name.as_bytes(), &rel(name)).unwrap();
    }
    let version = |name: &str| ground.version(run(), name);
    assert_eq!([version("linked"), version("copied")], [None, None]);
    assert_eq!([version("replaced"), version("edited")].map(Option::unwrap), ["old", "old"]);
    assert_eq!(ground.read("linked").unwrap(), "old");
}

#[test]
fn taking_moves_files_and_whole_directories() {
    let ground = Ground::new();
    let store = ground.store();
    let versions = store.versions(run());
    ground.write("d/one", "1");
    ground.write("d/two", "2");
    ground.write("whole/x/deep", "3");
    ground.write("pending", "a user's file of that name");
    assert_eq!(take(&ground, &versions, "d/one", true).unwrap(), Displaced::Moved);
    assert_eq!(take(&ground, &versions, "d/two", false).unwrap(), Displaced::Linked);
    fs::set_permissions(ground.path.join("whole"), fs::Permissions::from_mode(0o555)).unwrap();
    assert_eq!(take(&ground, &versions, "whole", false).unwrap(), Displaced::Moved);
    assert_eq!(take(&ground, &versions, "pending", true).unwrap(), Displaced::Moved);
    for (path, text) in
        [("d/one", "1"), ("d/two", "2"), ("whole/x/deep", "3"), ("pending", "a user's file of that name")]
    {
        assert_eq!(ground.version(run(), path).unwrap(), text);
        assert_eq!(ground.read(path), None, "{path}");
    }
    let whole = fs::metadata(ground.home(&format!("versions/{}/whole", run()))).unwrap();
    assert_eq!(whole.mode() & 0o7777, 0o555);
    assert!(ground.path.join("d").exists());
}

/// A kept name that is then removed: `rename(2)` between two names of one inode would do nothing and say yes.
#[test]
fn taking_what_was_kept_takes_the_name_away() {
    let ground = Ground::new();
    let store = ground.store();
    let versions = store.versions(run());
    ground.write("f", "old");
    keep(&ground, &versions, "f").unwrap();
    take(&ground, &versions, "f", true).unwrap();
    assert_eq!((ground.read("f"), ground.version(run(), "f").as_deref()), (None, Some("old")));
}

#[test]
fn directories_get_what_their_originals_had() {
    let ground = Ground::new();
    let store = ground.store();
    let versions = store.versions(run());
    for (directory, mode) in [("a", 0o751), ("a/b", 0o2775), ("a/b/c", 0o500), ("empty", 0o755)] {
        ground.write(&format!("{directory}/f"), "x");
        fs::set_permissions(ground.path.join(directory), fs::Permissions::from_mode(mode)).unwrap();
    }
    if Environment.is_root() {
        std::os::unix::fs::chown(ground.path.join("a/b"), Some(12), Some(34)).unwrap();
        fs::set_permissions(ground.path.join("a/b"), fs::Permissions::from_mode(0o2775)).unwrap();
    }
    let ours = |path: &str| fs::metadata(ground.home(&format!("versions/{}/{path}", run()))).unwrap();
    keep(&ground, &versions, "a/b/c/f").unwrap();
    assert_eq!(ours("a/b").mode() & 0o7777, 0o700, "private until the run ends");
    // Where nothing was displaced in the end, no directory stays.
    versions
        .keep(OriginalDirectory { root: &ground.root }, &ground.root, b"gone", &rel("empty/f"))
        .unwrap_err();
    versions.finish().unwrap();
    for path in ["a", "a/b", "a/b/c"] {
        let theirs = fs::metadata(ground.path.join(path)).unwrap();
        assert_eq!(ours(path).mode(), theirs.mode(), "{path}");
        assert_eq!((ours(path).uid(), ours(path).gid()), (theirs.uid(), theirs.gid()), "{path}");
    }
    assert!(!ground.home(&format!("versions/{}/empty", run())).exists());
    versions.finish().unwrap();
}

#[test]
fn a_directorys_acl_comes_along() {
    let ground = Ground::new();
    let store = ground.store();
    let versions = store.versions(run());
    ground.write("d/f", "x");
    ground.write("e/f", "x");
    let acl = std::process::Command::new("setfacl")
        .args(["-m", "u:12:rwx,d:u:12:rx"])
        .arg(ground.path.join("d"))
        .status();
    if !acl.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no setfacl, or no ACLs here");
        return;
    }
    keep(&ground, &versions, "d/f").unwrap();
    keep(&ground, &versions, "e/f").unwrap();
    versions.finish().unwrap();
    let acl_of = |path: &Path| {
        let output = std::process::Command::new("getfacl").args(["-cpn"]).arg(path).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    for path in ["d", "e"] {
        let ours = ground.home(&format!("versions/{}/{path}", run()));
        assert_eq!(acl_of(&ours), acl_of(&ground.path.join(path)), "{path}");
    }
}

/// BC-82: a real inode with as many names as it may have.
#[test]
fn bc_82_at_the_link_limit_the_content_is_copied() {
    /// Above ext4's 65,000 and btrfs's 65,535 per directory.
    const MORE_THAN_ANY: u32 = 66_000;
    let ground = Ground::new();
    let store = ground.store();
    store.begin(run()).unwrap();
    let versions = store.versions(run());
    let file = ground.write("d/f", "old");
    fs::create_dir(ground.path.join("links")).unwrap();
    let refused = (0..MORE_THAN_ANY)
        .any(|number| fs::hard_link(&file, ground.path.join(format!("links/{number}"))).is_err());
    if !refused {
        eprintln!("skipped: no link limit here");
        return;
    }
    assert_eq!(keep(&ground, &versions, "d/f").unwrap(), Displaced::CopiedDurably);
    assert_eq!(keep(&ground, &versions, "d/f").unwrap(), Displaced::CopiedDurably);
    assert_eq!(ground.version(run(), "d/f").unwrap(), "old");
    assert_eq!(ground.read("d/f").unwrap(), "old");
}

#[test]
fn a_copied_version_has_all_its_metadata_and_holes() {
    let ground = Ground::new();
    let store = ground.store();
    store.begin(run()).unwrap();
    let versions = store.versions(run());
    let file = ground.write("f", "");
    let data = vec![7u8; 3 << 20];
    let handle = fs::OpenOptions::new().write(true).open(&file).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&handle, &data, 8 << 20).unwrap();
    handle.set_len(64 << 20).unwrap();
    handle.set_modified(std::time::UNIX_EPOCH + Duration::new(1_000_000_001, 123_456_700)).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o4751)).unwrap();
    symlink("to", ground.path.join("l")).unwrap();
    ground.root.make_special(b"fifo", Kind::Fifo, 0).unwrap();
    let node = ground.root.open_file(b"f", crate::platform::Access::Buffered).unwrap();
    crate::platform::Attributes::set_xattr(&node, b"user.note", b"kept").unwrap();
    for name in ["f", "l", "fifo"] {
        let to = ground.root.open_dir(b".twinlane").unwrap();
        let copied = metadata::copy_entry(&ground.root, name.as_bytes(), &to, name.as_bytes()).unwrap();
        let (ours, theirs) = (to.stat(name.as_bytes()).unwrap(), ground.root.stat(name.as_bytes()).unwrap());
        assert_eq!(copied, theirs);
        assert_eq!((ours.kind, ours.mode, ours.size), (theirs.kind, theirs.mode, theirs.size), "{name}");
        assert_eq!((ours.uid, ours.gid, ours.modified), (theirs.uid, theirs.gid, theirs.modified), "{name}");
        assert!(ours.allocated <= theirs.allocated.max(4096) + (1 << 20), "holes stay holes");
    }
    let copy = ground.root.open_dir(b".twinlane").unwrap();
    let copy = copy.open_file(b"f", crate::platform::Access::Buffered).unwrap();
    assert_eq!(crate::platform::Attributes::xattr(&copy, b"user.note").unwrap(), b"kept");
    assert!(fs::read(&file).unwrap() == fs::read(ground.home("f")).unwrap());
    // And through the versions themselves, as where a link is refused.
    let original = OriginalDirectory { root: &ground.root };
    assert_eq!(
        versions.keep_by_copy(original, &ground.root, b"f", &rel("f")).unwrap(),
        Displaced::CopiedDurably
    );
    assert_eq!(ground.listing().iter().filter(|name| name.contains("copy-")).count(), 0);
    assert!(fs::read(&file).unwrap() == fs::read(ground.home(&format!("versions/{}/f", run()))).unwrap());
    assert!(versions.keep_by_copy(original, &ground.root, b"f", &rel("f")).is_err());
}

#[test]
fn a_directory_that_cannot_be_renamed_is_moved_entry_by_entry() {
    let ground = Ground::new();
    let store = ground.store();
    store.begin(run()).unwrap();
    let versions = store.versions(run());
    ground.write("d/x/f", "1");
    ground.write("d/g", "2");
    fs::create_dir(ground.path.join("d/empty")).unwrap();
    fs::set_permissions(ground.path.join("d/x"), fs::Permissions::from_mode(0o710)).unwrap();
    let original = OriginalDirectory { root: &ground.root };
    versions.take_by_entry(original, &ground.root, b"d", &rel("d")).unwrap();
    versions.finish().unwrap();
    assert!(!ground.path.join("d").exists());
    assert_eq!(ground.version(run(), "d/x/f").unwrap(), "1");
    assert_eq!(ground.version(run(), "d/g").unwrap(), "2");
    let x = fs::metadata(ground.home(&format!("versions/{}/d/x", run()))).unwrap();
    assert_eq!(x.mode() & 0o7777, 0o710);
}

#[test]
fn many_threads_displace_into_the_same_directories() {
    const THREADS: usize = 8;
    const DIRECTORIES: usize = 100;
    let ground = Ground::new();
    let store = ground.store();
    let versions = store.versions(run());
    for directory in 0..DIRECTORIES {
        for thread in 0..THREADS {
            ground.write(&format!("a/{directory}/b/{thread}"), "x");
        }
    }
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (ground, versions) = (&ground, &versions);
            scope.spawn(move || {
                for directory in 0..DIRECTORIES {
                    take(ground, versions, &format!("a/{directory}/b/{thread}"), directory % 10 != 0)
                        .unwrap();
                }
            });
        }
    });
    versions.sync_directories().unwrap();
    versions.finish().unwrap();
    let kept = walkdir::WalkDir::new(ground.home("versions")).into_iter();
    assert_eq!(
        kept.filter(|entry| entry.as_ref().unwrap().file_type().is_file()).count(),
        THREADS * DIRECTORIES
    );
}

#[test]
fn names_of_any_bytes_are_displaced_and_announced() {
    let ground = Ground::new();
    let store = ground.store();
    store.begin(run()).unwrap();
    let versions = store.versions(run());
    let name = b"\xff\n\xfe";
    let path = RelPath::parse(name).unwrap();
    fs::write(ground.path.join(std::ffi::OsStr::from_bytes(name)), "x").unwrap();
    let original = OriginalDirectory { root: &ground.root };
    versions.keep(original, &ground.root, name, &path).unwrap();
    versions.announce(stage(1).as_bytes(), &path, Kind::Directory).unwrap();
    assert!(versions.announce(b"not-a-stage", &path, Kind::Directory).is_err());
    let lines = fs::read_to_string(ground.home(&format!("partial/{}/pending", run()))).unwrap();
    assert!(lines.contains("path_b64") && lines.ends_with('\n'), "{lines}");
}
