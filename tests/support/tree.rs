//! Trees as values: what a faithful copy keeps, and what any write would change.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

/// One entry of a tree, with everything that a faithful copy keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thing {
    pub kind: char,
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub modified: (i64, i64),
    /// A file's digest, a symlink's text, a device's number.
    pub content: String,
}

impl Thing {
    /// Whether both have the same kind and content, whatever their metadata.
    pub fn same_content(&self, other: &Self) -> bool {
        self.kind == other.kind && self.content == other.content
    }
}

/// A tree as a value: every path below a root, the root itself as the empty path.
pub type Tree = BTreeMap<PathBuf, Thing>;

/// Reads one entry.
pub fn thing(path: &Path) -> std::io::Result<Thing> {
    let meta = fs::symlink_metadata(path)?;
    let file_type = meta.file_type();
    let (kind, content) = if file_type.is_dir() {
        ('d', String::new())
    } else if file_type.is_symlink() {
        // The debug form tells all bytes apart, those that are no UTF-8 too.
        ('l', format!("{:?}", fs::read_link(path)?))
    } else if file_type.is_file() {
        ('f', digest(path)?)
    } else if file_type.is_fifo() {
        ('p', String::new())
    } else if file_type.is_socket() {
        ('s', String::new())
    } else if file_type.is_char_device() {
        ('c', meta.rdev().to_string())
    } else {
        ('b', meta.rdev().to_string())
    };
    Ok(Thing {
        kind,
        mode: meta.mode() & 0o7777,
        uid: meta.uid(),
        gid: meta.gid(),
        modified: (meta.mtime(), meta.mtime_nsec()),
        content,
    })
}

fn digest(path: &Path) -> std::io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    let mut file = fs::File::open(path)?;
    let mut buffer = vec![0u8; 1 << 16];
    loop {
        let got = file.read(&mut buffer)?;
        if got == 0 {
            return Ok(hasher.finalize().to_hex().to_string());
        }
        hasher.update(&buffer[..got]);
    }
}

/// Reads a whole tree.
pub fn tree(root: &Path) -> Tree {
    walkdir::WalkDir::new(root)
        .into_iter()
        .map(|entry| {
            let path = entry.expect("a readable tree").into_path();
            let below = path.strip_prefix(root).expect("below its root").to_path_buf();
            (below, thing(&path).expect("a readable entry"))
        })
        .collect()
}

/// Reads a destination: all but Twinlane's own folder at its root.
pub fn destination_tree(root: &Path) -> Tree {
    let mut tree = tree(root);
    tree.retain(|path, _| !path.starts_with(".twinlane"));
    tree
}

/// The difference of two trees for people; empty where they are equal.
pub fn difference(expected: &Tree, found: &Tree) -> Vec<String> {
    let paths: BTreeSet<&PathBuf> = expected.keys().chain(found.keys()).collect();
    paths
        .into_iter()
        .filter_map(|path| match (expected.get(path), found.get(path)) {
            (Some(a), Some(b)) if a == b => None,
            (a, b) => Some(format!("{}: {a:?} against {b:?}", path.display())),
        })
        .collect()
}

/// Fails the test unless both trees are equal, metadata included.
#[track_caller]
pub fn assert_same(expected: &Tree, found: &Tree, when: &str) {
    let difference = difference(expected, found);
    assert!(difference.is_empty(), "{when}:\n{}", difference.join("\n"));
}

/// Everything below a path that a write could change, inodes and change times included, but what a lock says of its holder.
pub fn witness(root: &Path) -> BTreeMap<PathBuf, String> {
    walkdir::WalkDir::new(root)
        .into_iter()
        .map(|entry| entry.expect("a readable tree").into_path())
        .filter(|path| !path.ends_with(".twinlane/lock"))
        .map(|path| (path.strip_prefix(root).expect("below its root").to_path_buf(), looks(&path)))
        .collect()
}

fn looks(path: &Path) -> String {
    let meta = path.symlink_metadata().expect("an entry that was just listed");
    format!(
        "inode {} links {} changed {}.{} {:?}",
        meta.ino(),
        meta.nlink(),
        meta.ctime(),
        meta.ctime_nsec(),
        thing(path).expect("a readable entry")
    )
}

/// Puts `to` into the state of `from`, metadata and links included (`cp -a`); absent where that is.
pub fn restore_tree(from: &Path, to: &Path) {
    if to.exists() {
        fs::remove_dir_all(to).expect("the old tree goes");
    }
    if !from.exists() {
        return;
    }
    let status = Command::new("cp").arg("-a").arg(from).arg(to).status().expect("cp");
    assert!(status.success(), "cp -a {} {}", from.display(), to.display());
}

/// Sets an entry's mtime without following it, with `touch`.
pub fn touch(path: &Path, when: &str) {
    let status = Command::new("touch").args(["-h", "-d", when]).arg(path).status().expect("touch");
    assert!(status.success(), "touch -d {when}");
}
