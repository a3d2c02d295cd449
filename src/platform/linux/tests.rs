//! The seam against the real system: nothing here is mocked.

use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use super::*;
use crate::value::{Kind, RelPath, Stamp};

fn folder() -> (tempfile::TempDir, Dir) {
    let folder = tempfile::tempdir().unwrap();
    let (dir, _) = open_root(folder.path()).unwrap();
    (folder, dir)
}

fn names(dir: &Dir) -> Vec<Vec<u8>> {
    let mut names = Vec::new();
    dir.list(|listed| names.push(listed.name.to_vec())).unwrap();
    names.sort();
    names
}

#[test]
fn a_listing_starts_anew_each_time_and_knows_kinds() {
    let (folder, dir) = folder();
    std::fs::create_dir(folder.path().join("d")).unwrap();
    std::fs::write(folder.path().join("f"), "x").unwrap();
    symlink("gone", folder.path().join("l")).unwrap();
    let twice = (names(&dir), names(&dir.try_clone().unwrap()));
    assert_eq!(twice.0, [b"d", b"f", b"l"]);
    assert_eq!(twice.0, twice.1);
    dir.list(|listed| {
        let kind = dir.stat(listed.name).unwrap().kind;
        assert!(listed.kind.is_none_or(|told| told == kind), "{listed:?}");
    })
    .unwrap();
}

#[test]
fn no_symlink_is_followed_below_a_root() {
    let (folder, dir) = folder();
    std::fs::create_dir_all(folder.path().join("a/b")).unwrap();
    std::fs::write(folder.path().join("a/b/f"), "x").unwrap();
    symlink("a", folder.path().join("l")).unwrap();
    let path = |text: &str| RelPath::parse(text.as_bytes()).unwrap();
    assert_eq!(names(&dir.open_below(&path("a/b")).unwrap()), [b"f"]);
    assert!(dir.open_dir(b"l").is_err());
    assert!(dir.open_below(&path("l/b")).is_err());
    assert!(dir.open_file(b"l", Access::Buffered).is_err());
    assert!(dir.create_file(b"l").is_err());
    assert!(dir.open_or_create_file(b"l").is_err());
    assert_eq!(dir.stat(b"l").unwrap().kind, Kind::Symlink);
    assert_eq!(dir.read_link(b"l").unwrap(), b"a");
}

#[test]
fn paths_longer_than_path_max_are_reached() {
    let (_folder, root) = folder();
    let name = [b'n'; 200];
    let mut path = RelPath::root();
    let mut at = root.try_clone().unwrap();
    for _ in 0..60 {
        at.make_dir(&name, 0o700).unwrap();
        at = at.open_dir(&name).unwrap();
        path = path.join(&name);
    }
    let deep = root.open_below(&path).unwrap();
    assert_eq!(deep.meta().unwrap().inode, at.meta().unwrap().inode);
}

#[test]
fn metadata_goes_through_handles_also_of_what_is_never_opened() {
    let (folder, dir) = folder();
    symlink("gone", folder.path().join("link")).unwrap();
    dir.make_special(b"fifo", Kind::Fifo, 0).unwrap();
    dir.create_file(b"file").unwrap();
    dir.make_dir(b"directory", 0o700).unwrap();
    let old = Stamp { seconds: -1, nanos: 500_000_000 };
    for name in ["link", "fifo", "file", "directory"] {
        let node = dir.node(name.as_bytes()).unwrap();
        node.set_modified(old).unwrap();
        assert_eq!(node.meta().unwrap().modified, old, "{name}");
        if name != "link" {
            node.set_mode(0o1751).unwrap();
            assert_eq!(dir.stat(name.as_bytes()).unwrap().mode, 0o1751, "{name}");
        }
    }
    let file = dir.open_file(b"file", Access::Buffered).unwrap();
    file.set_mode(0o4711).unwrap();
    assert_eq!(std::fs::metadata(folder.path().join("file")).unwrap().permissions().mode() & 0o7777, 0o4711);
    assert!(std::fs::symlink_metadata(folder.path().join("fifo")).unwrap().file_type().is_fifo());
}

#[test]
fn owners_are_set_without_following() {
    if !Environment.is_root() {
        println!("skipped: owners are set by root only");
        return;
    }
    let (folder, dir) = folder();
    std::fs::write(folder.path().join("victim"), "x").unwrap();
    symlink("victim", folder.path().join("link")).unwrap();
    dir.node(b"link").unwrap().set_owner(12, 34).unwrap();
    let meta = std::fs::symlink_metadata(folder.path().join("link")).unwrap();
    assert_eq!((meta.uid(), meta.gid()), (12, 34));
    assert_eq!(std::fs::metadata(folder.path().join("victim")).unwrap().uid(), 0);
}

#[test]
fn xattrs_of_files_and_of_names() {
    let (_folder, dir) = folder();
    let file = dir.create_file(b"f").unwrap();
    if let Err(error) = file.set_xattr(b"user.b", &[7; 3000]) {
        println!("skipped: no user xattrs in the temporary folder ({error})");
        return;
    }
    dir.node(b"f").unwrap().set_xattr(b"user.a", b"").unwrap();
    let expected: Vec<Box<[u8]>> = vec![b"user.a"[..].into(), b"user.b"[..].into()];
    assert_eq!(file.xattr_names().unwrap(), expected);
    assert_eq!(dir.xattr_names(b"f").unwrap(), expected);
    let meta = dir.stat(b"f").unwrap();
    let xattrs = dir.xattrs(b"f", &meta, &expected).unwrap();
    assert_eq!(&*xattrs[1].value, [7; 3000]);
    file.remove_xattr(b"user.a").unwrap();
    assert_eq!(dir.node(b"f").unwrap().xattr_names().unwrap().len(), 1);
    dir.create_file(b"g").unwrap();
    dir.rename(b"g", &dir, b"f", RenameMode::Replace).unwrap();
    assert!(dir.xattrs(b"f", &meta, &expected).is_err(), "another inode by now");
}

#[test]
fn renames_replace_refuse_or_exchange() {
    let (folder, dir) = folder();
    std::fs::write(folder.path().join("a"), "a").unwrap();
    std::fs::create_dir(folder.path().join("b")).unwrap();
    assert!(dir.rename(b"a", &dir, b"b", RenameMode::NoReplace).is_err());
    dir.rename(b"a", &dir, b"b", RenameMode::Exchange).unwrap();
    assert_eq!(dir.stat(b"a").unwrap().kind, Kind::Directory);
    assert_eq!(std::fs::read(folder.path().join("b")).unwrap(), b"a");
}

#[test]
fn holes_are_told_and_kept() {
    let (_folder, dir) = folder();
    let file = dir.create_file(b"f").unwrap();
    file.set_length(8 << 20).unwrap();
    assert_eq!(file.next_data(0).unwrap(), None);
    file.write_at(&[1; 4096], 4 << 20).unwrap();
    let start = file.next_data(0).unwrap().unwrap();
    assert!(start <= 4 << 20 && file.next_hole(start).unwrap() > start);
    assert!(file.meta().unwrap().allocated < 1 << 20);
    file.allocate(1 << 20).unwrap();
    assert!(file.meta().unwrap().allocated >= 1 << 20);
}

#[test]
fn reads_stop_at_the_end_and_writes_are_whole() {
    let (_folder, dir) = folder();
    let file = dir.create_file(b"f").unwrap();
    file.write_at(b"hello", 3).unwrap();
    let mut buffer = [9u8; 16];
    assert_eq!(file.read_at(&mut buffer, 0).unwrap(), 8);
    assert_eq!(&buffer[..8], b"\0\0\0hello");
    assert_eq!(file.read_at(&mut buffer, 100).unwrap(), 0);
    let reader = dir.open_file(b"f", Access::Buffered).unwrap();
    assert!(reader.write_at(b"x", 0).is_err(), "opened for reading");
}

#[test]
fn bc_14_a_fifo_never_blocks() {
    let (_folder, dir) = folder();
    dir.make_special(b"p", Kind::Fifo, 0).unwrap();
    assert_eq!(dir.stat(b"p").unwrap().kind, Kind::Fifo);
    // Raced in place of a file, it opens at once and its handle tells what it is.
    let file = dir.open_file(b"p", Access::Buffered).unwrap();
    assert_eq!(file.meta().unwrap().kind, Kind::Fifo);
}

#[test]
fn a_lock_is_exclusive_and_freed_when_dropped() {
    let (_folder, dir) = folder();
    let open = || dir.open_or_create_file(b"lock").unwrap();
    let held = Lock::take(open(), LockMode::Exclusive).unwrap().unwrap();
    assert!(Lock::take(open(), LockMode::Shared).unwrap().is_err());
    drop(held);
    let shared = Lock::take(open(), LockMode::Shared).unwrap().unwrap();
    assert!(Lock::take(open(), LockMode::Shared).unwrap().is_ok());
    assert!(Lock::take(open(), LockMode::Exclusive).unwrap().is_err());
    drop(shared);
}

#[test]
fn bc_95_a_root_is_not_reached_through_a_foreign_symlink() {
    if !Environment.is_root() {
        println!("skipped: a symlink of another user is made by root only");
        return;
    }
    let (folder, dir) = folder();
    std::fs::create_dir(folder.path().join("real")).unwrap();
    symlink("real", folder.path().join("link")).unwrap();
    open_root(&folder.path().join("link")).unwrap();
    dir.node(b"link").unwrap().set_owner(1000, 1000).unwrap();
    assert!(matches!(open_root(&folder.path().join("link")), Err(RootError::ForeignSymlink { .. })));
}

#[test]
fn volumes_have_a_mount_point() {
    let volumes = volumes().unwrap();
    assert!(volumes.iter().all(|volume| volume.mount_point.starts_with(Path::new("/"))), "{volumes:?}");
}
