//! Metadata, holes and links arrive as they are; what cannot be held is said once, with a count.

use std::os::unix::fs::{MetadataExt as _, chown, lchown, symlink};

use super::bed::{Bed, chmod, inode, is_root, mode, touch};
use crate::execute::Warning;
use crate::job::Choice;
use crate::platform::{Attributes as _, open_root};
use crate::value::RelPath;

fn set_xattr(bed: &Bed, path: &str, name: &[u8], value: &[u8]) {
    let path = bed.path(path);
    let parent = open_root(path.parent().unwrap()).unwrap().0;
    let name_bytes = crate::platform::path_bytes(std::path::Path::new(path.file_name().unwrap()));
    parent.node(name_bytes).unwrap().set_xattr(name, value).unwrap();
}

fn xattrs(bed: &Bed, path: &str) -> Vec<(String, Vec<u8>)> {
    let root = open_root(&bed.base).unwrap().0;
    super::planner::attributes(&root, &RelPath::parse(path.as_bytes()).unwrap())
        .into_iter()
        .map(|item| (String::from_utf8(item.name.to_vec()).unwrap(), item.value.to_vec()))
        .collect()
}

/// A POSIX ACL as the kernel keeps it (`linux/posix_acl_xattr.h`): one more user may read.
fn acl(user: u32) -> Vec<u8> {
    let mut bytes = 2u32.to_le_bytes().to_vec();
    for (tag, rights, id) in
        [(1u16, 7u16, u32::MAX), (2, 4, user), (4, 5, u32::MAX), (0x10, 5, u32::MAX), (0x20, 0, u32::MAX)]
    {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(rights.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

/// `security.capability`, version 2, `cap_net_raw=ep` (`linux/capability.h`).
const CAPABILITY: [u8; 20] = [1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

#[test]
fn bc_01_times_of_directories_the_roots_included() {
    let bed = Bed::new();
    bed.write("source/a/b/f", "x");
    bed.write("source/c/g", "y");
    for (number, path) in ["source/a/b", "source/a", "source/c", "source"].iter().enumerate() {
        touch(&bed.path(path), -38_880_000 + i64::try_from(number).unwrap());
    }
    bed.converge();
    // Something is only removed, something only replaced: times stay.
    let time = |path: &str| bed.path(path).metadata().unwrap().mtime();
    bed.write("destination/a/extra", "extra");
    std::fs::write(bed.path("source/c/g"), "longer").unwrap();
    touch(&bed.path("source/c/g"), 6);
    bed.converge();
    assert_eq!(time("destination/a"), -38_880_000 + 1);
    assert_eq!(time("destination/c"), -38_880_000 + 2);
    assert_eq!(time("destination"), -38_880_000 + 3);
}

#[test]
fn bc_04_all_twelve_mode_bits_and_owners() {
    if !is_root("bc_04_all_twelve_mode_bits_and_owners") {
        return;
    }
    let bed = Bed::new();
    for (name, bits) in [("f4", 0o4755), ("f2", 0o2755), ("f0", 0o000)] {
        bed.write(&format!("source/{name}"), name);
        chown(bed.path(&format!("source/{name}")), Some(1000), Some(1001)).unwrap();
        chmod(&bed.path(&format!("source/{name}")), bits);
    }
    for (name, bits) in [("d1", 0o1777), ("d2", 0o2775), ("d5", 0o555)] {
        bed.write(&format!("source/{name}/f"), name);
        chown(bed.path(&format!("source/{name}")), Some(1000), Some(1001)).unwrap();
        chmod(&bed.path(&format!("source/{name}")), bits);
    }
    symlink("x", bed.path("source/l")).unwrap();
    lchown(bed.path("source/l"), Some(1000), Some(1000)).unwrap();
    bed.converge();
    assert_eq!(mode(&bed.path("destination/f4")), 0o4755);
    assert_eq!(mode(&bed.path("destination/d2")), 0o2775);
    assert_eq!(bed.path("destination/l").symlink_metadata().unwrap().uid(), 1000);
}

/// BC-04, BC-06: without the right to give files away no set-uid bit is made up, and both are said once with a count.
#[test]
fn bc_04_bc_06_set_uid_never_for_another_owner() {
    if !is_root("bc_04_bc_06_set_uid_never_for_another_owner") {
        return;
    }
    let mut bed = Bed::new();
    bed.as_root = false;
    for name in ["a", "b"] {
        bed.write(&format!("source/{name}"), name);
        chown(bed.path(&format!("source/{name}")), Some(1000), Some(1000)).unwrap();
        chmod(&bed.path(&format!("source/{name}")), 0o6755);
    }
    let outcome = bed.mirror();
    assert_eq!(mode(&bed.path("destination/a")), 0o755);
    let warning = |text: &str, count| Warning { text: text.to_owned(), count };
    assert_eq!(
        outcome.warnings,
        [
            warning("owner or group not kept", 2),
            warning("set-uid or set-gid dropped, as the owner is another one", 2)
        ]
    );
}

#[test]
fn bc_09_times_before_1970() {
    let bed = Bed::new();
    for (name, seconds) in [("a", -1), ("b", -2_147_000_000), ("c", 0)] {
        bed.write(&format!("source/{name}"), name);
        touch(&bed.path(&format!("source/{name}")), seconds);
    }
    symlink("gone", bed.path("source/l")).unwrap();
    touch(&bed.path("source/l"), -7);
    bed.converge();
    let meta = bed.path("destination/a").metadata().unwrap();
    assert_eq!((meta.mtime(), meta.mtime_nsec()), (-1, 123_456_789));
    assert_eq!(bed.path("destination/l").symlink_metadata().unwrap().mtime(), -7);
}

#[test]
fn attributes_acls_and_capabilities() {
    if !is_root("attributes_acls_and_capabilities") {
        return;
    }
    let bed = Bed::new();
    for path in ["source/f", "source/d/g"] {
        bed.write(path, path);
    }
    set_xattr(&bed, "source/f", b"user.a", b"1");
    set_xattr(&bed, "source/f", b"trusted.b", b"\0\xff");
    set_xattr(&bed, "source/f", b"system.posix_acl_access", &acl(1000));
    set_xattr(&bed, "source/f", b"security.capability", &CAPABILITY);
    set_xattr(&bed, "source/d", b"user.d", b"2");
    set_xattr(&bed, "source/d", b"system.posix_acl_default", &acl(1002));
    bed.converge();
    assert_eq!(xattrs(&bed, "destination/f"), xattrs(&bed, "source/f"));
    assert_eq!(xattrs(&bed, "source/f").len(), 4);
    assert_eq!(xattrs(&bed, "destination/d"), xattrs(&bed, "source/d"));
    // Surplus ones go, others are mended; in place, for nothing else differs.
    let before = inode(&bed.path("destination/f"));
    set_xattr(&bed, "destination/f", b"user.surplus", b"3");
    set_xattr(&bed, "destination/f", b"user.a", b"other");
    chmod(&bed.path("destination/f"), 0o600);
    set_xattr(&bed, "destination/d", b"system.posix_acl_access", &acl(1003));
    bed.converge();
    assert_eq!(xattrs(&bed, "destination/f"), xattrs(&bed, "source/f"));
    assert_eq!(inode(&bed.path("destination/f")), before);
}

#[test]
fn a_default_acl_of_the_destination_is_not_inherited() {
    let bed = Bed::new();
    bed.write("source/d/f", "x");
    bed.write("source/d/below/g", "y");
    symlink("x", bed.path("source/d/l")).unwrap();
    std::fs::create_dir(bed.path("destination/d")).unwrap();
    set_xattr(&bed, "destination/d", b"system.posix_acl_default", &acl(1000));
    bed.converge();
    for path in ["d/f", "d", "d/below", "d/below/g"] {
        assert_eq!(xattrs(&bed, &format!("destination/{path}")), [], "{path}");
    }
    assert_eq!(mode(&bed.path("destination/d/f")), mode(&bed.path("source/d/f")));
}

#[test]
fn bc_11_a_place_that_holds_no_attributes_and_no_owners() {
    if !is_root("bc_11_a_place_that_holds_no_attributes_and_no_owners") {
        return;
    }
    let mut bed = Bed::new();
    bed.mend_place = |place| (place.xattrs, place.owners) = (false, false);
    for name in ["a", "b", "c"] {
        bed.write(&format!("source/{name}"), name);
        chmod(&bed.path(&format!("source/{name}")), 0o600);
        chown(bed.path(&format!("source/{name}")), Some(1000), Some(0)).unwrap();
        set_xattr(&bed, &format!("source/{name}"), b"user.a", b"1");
    }
    let outcome = bed.mirror();
    let said: Vec<(&str, u64)> =
        outcome.warnings.iter().map(|warning| (warning.text.as_str(), warning.count)).collect();
    assert_eq!(said, [("owner or group not kept", 3), ("extended attributes not kept", 3)]);
}

#[test]
fn what_the_rule_does_not_keep_is_left_as_it_is() {
    let mut bed = Bed::new();
    let preserve = &mut bed.rule.preserve;
    (preserve.permissions, preserve.times, preserve.xattrs, preserve.acls) = (false, false, false, false);
    preserve.owner = Choice::Set(false);
    bed.write("source/f", "x");
    chmod(&bed.path("source/f"), 0o6777);
    set_xattr(&bed, "source/f", b"user.a", b"1");
    let outcome = bed.planned().execute();
    assert_eq!((outcome.failures, outcome.warnings), (Vec::new(), Vec::new()));
    assert_eq!(mode(&bed.path("destination/f")), 0o755);
    assert_eq!(xattrs(&bed, "destination/f"), []);
    assert!(bed.path("destination/f").metadata().unwrap().mtime() > 1_700_000_000);
}

#[test]
fn bc_18_holes_stay_holes() {
    let bed = Bed::new();
    let file = std::fs::File::create(bed.path("source/image")).unwrap();
    file.set_len(1 << 30).unwrap();
    std::os::unix::fs::FileExt::write_at(&file, b"x", 600 << 20).unwrap();
    drop(file);
    touch(&bed.path("source/image"), 8);
    bed.mirror();
    let meta = bed.path("destination/image").metadata().unwrap();
    assert_eq!(meta.len(), 1 << 30);
    assert!(meta.blocks() * 512 < 1 << 20, "{} blocks", meta.blocks());
    assert!(bed.planned().plan.actions.is_empty());
}

#[test]
fn metadata_of_everything_is_mended_in_place() {
    let bed = Bed::new();
    bed.write("source/d/f", "x");
    symlink("x", bed.path("source/l")).unwrap();
    bed.converge();
    let inodes = || ["d", "d/f", "l"].map(|path| inode(&bed.path(&format!("destination/{path}"))));
    let before = inodes();
    chmod(&bed.path("destination/d"), 0o700);
    chmod(&bed.path("destination/d/f"), 0o640);
    touch(&bed.path("destination/l"), 99);
    touch(&bed.path("destination/d"), 99);
    bed.converge();
    assert_eq!(inodes(), before);
}

/// BC-02: children are written first, the mode comes last.
#[test]
fn bc_02_read_only_directories() {
    let mut bed = Bed::new();
    bed.as_root = false;
    bed.write("source/ro/f", "x");
    bed.write("source/there/g", "y");
    bed.write("destination/there/old", "z");
    for path in ["source/ro", "source/there", "destination/there"] {
        chmod(&bed.path(path), 0o555);
    }
    bed.converge();
    assert_eq!(mode(&bed.path("destination/ro")), 0o555);
    assert_eq!(mode(&bed.path("destination/there")), 0o555);
    for path in ["source/ro", "source/there", "destination/ro", "destination/there"] {
        chmod(&bed.path(path), 0o755);
    }
}
