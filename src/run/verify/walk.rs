//! A tree entry by entry, in the byte order of whole paths: the order in which the catalog lists them.
//!
//! A directory's own path comes where its name belongs, what it holds where its name with a `/` behind it does: `a`, `a.b`, `a/c`.

use std::io;

use crate::platform::Dir;
use crate::scan::{DestinationName, OWN_FOLDER, destination_name, is_reserved_at_root};
use crate::store::{Known, Store};
use crate::value::{Kind, Meta, RelPath};

/// What a walk meets.
#[derive(Debug)]
pub(in crate::run) enum Met {
    /// An entry of any kind.
    Entry(RelPath, Meta),
    /// A name, or a directory with all below it, that cannot be looked at.
    Unread(RelPath, io::Error),
    /// Another rule's destination: not entered.
    Foreign(RelPath),
}

/// One directory's entries, not yet met, last first.
type Level = Vec<Step>;

/// One step of a walk.
#[derive(Debug)]
enum Step {
    /// An entry.
    Entry(RelPath, Meta),
    /// What a directory holds.
    Below(RelPath),
    /// A name that cannot be looked at.
    Unread(RelPath, io::Error),
}

impl Step {
    /// Whether this comes before another of the same directory: a directory's content has a `/` behind its name.
    fn key(&self) -> (&RelPath, bool) {
        match self {
            Self::Entry(path, _) | Self::Unread(path, _) => (path, false),
            Self::Below(path) => (path, true),
        }
    }
}

/// A walk over all that Twinlane may have written below a root.
#[derive(Debug)]
pub(in crate::run) struct Walk<'a> {
    root: &'a Dir,
    levels: Vec<Level>,
}

impl<'a> Walk<'a> {
    pub(in crate::run) fn new(root: &'a Dir) -> Self {
        Self { root, levels: vec![vec![Step::Below(RelPath::root())]] }
    }

    /// The next entry; `None` at the end.
    pub(in crate::run) fn next(&mut self) -> Option<Met> {
        loop {
            let level = self.levels.last_mut()?;
            match level.pop() {
                None => {
                    self.levels.pop();
                }
                Some(Step::Entry(path, meta)) => return Some(Met::Entry(path, meta)),
                Some(Step::Unread(path, error)) => return Some(Met::Unread(path, error)),
                Some(Step::Below(path)) => match listed(self.root, &path) {
                    Ok(Some(level)) => self.levels.push(level),
                    Ok(None) => return Some(Met::Foreign(path)),
                    // Removed since it was listed: what was recorded there is missing.
                    Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_root() => {}
                    Err(error) => return Some(Met::Unread(path, error)),
                },
            }
        }
    }
}

/// What a directory holds, last first; `None` where it is another rule's destination.
fn listed(root: &Dir, path: &RelPath) -> io::Result<Option<Level>> {
    let directory = root.open_below(path)?;
    let mut names: Vec<Box<[u8]>> = Vec::new();
    directory.list(|listed| names.push(listed.name.into()))?;
    if !path.is_root() && names.iter().any(|name| **name == *OWN_FOLDER) && is_foreign(&directory) {
        return Ok(None);
    }
    let mut level = Level::new();
    for name in names {
        let own = destination_name(path.name(), &name, &[]) != DestinationName::Ordinary;
        if own || path.is_root() && is_reserved_at_root(&name) {
            continue;
        }
        let below = path.join(&name);
        match directory.find(&name) {
            Ok(None) => {}
            Ok(Some(meta)) => {
                if meta.kind == Kind::Directory {
                    level.push(Step::Below(below.clone()));
                }
                level.push(Step::Entry(below, meta));
            }
            Err(error) => level.push(Step::Unread(below, error)),
        }
    }
    level.sort_by(|one, other| order(other.key(), one.key()));
    Ok(Some(level))
}

/// The byte order of two paths of one directory, a `/` behind those that are entered.
fn order((one, one_below): (&RelPath, bool), (other, other_below): (&RelPath, bool)) -> std::cmp::Ordering {
    let ended = |below: bool| below.then_some(&b'/');
    one.as_bytes().iter().chain(ended(one_below)).cmp(other.as_bytes().iter().chain(ended(other_below)))
}

/// Whether a directory is the root of another destination: one that cannot be asked most likely is somebody else's.
fn is_foreign(directory: &Dir) -> bool {
    match Store::find(directory).map(|store| store.map(|store| store.known())) {
        Ok(None | Some(Ok(Known::None))) => false,
        Ok(Some(Ok(Known::Identity(_) | Known::Damaged { .. }) | Err(_))) | Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::open_root;
    use std::fs;

    #[test]
    fn paths_come_in_their_byte_order() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for directory in ["a/c", "a.d", "b", ".twinlane", "lost+found", "x/.twinlane"] {
            fs::create_dir_all(base.join(directory)).unwrap();
        }
        for file in ["a/c/z", "a/b", "a.b", "a.d/q", "a-", "a0", ".twinlane/id", "x/y", "x/.twinlane/id"] {
            fs::write(base.join(file), "").unwrap();
        }
        let (root, _) = open_root(&base).unwrap();
        let mut walk = Walk::new(&root);
        let mut paths = Vec::new();
        let mut foreign = Vec::new();
        while let Some(met) = walk.next() {
            match met {
                Met::Entry(path, _) => paths.push(path.as_bytes().to_vec()),
                Met::Foreign(path) => foreign.push(path.to_string()),
                Met::Unread(path, error) => panic!("{path}: {error}"),
            }
        }
        assert!(paths.is_sorted(), "{paths:?}");
        assert_eq!(paths.len(), 11, "{paths:?}");
        assert_eq!(foreign, ["x"]);
    }
}
