//! Trees below `.twinlane`: walking and removing them, following no symlink and entering no mount.

use std::io;

use super::home::names;
use super::optional;
use crate::platform::{Attributes as _, Dir};
use crate::value::{Kind, Meta, RelPath};

/// What a walk meets.
pub(super) enum Met<'a> {
    /// An entry that is no directory, or an empty directory.
    Leaf(&'a Meta),
    /// Something that could not be looked at, or a mount, which is not entered.
    Unreadable,
}

/// Calls `each` for every leaf below `base`, parents before children; `base` itself, the root, is one where it is empty.
pub(super) fn walk(base: &Dir, mut each: impl FnMut(&RelPath, Met<'_>)) -> io::Result<()> {
    let device = base.meta()?.device;
    let mut open = vec![RelPath::root()];
    while let Some(path) = open.pop() {
        let Ok((directory, names)) = base.open_below(&path).and_then(|directory| {
            let names = names(&directory)?;
            Ok((directory, names))
        }) else {
            each(&path, Met::Unreadable);
            continue;
        };
        if names.is_empty() {
            match directory.meta() {
                Ok(meta) => each(&path, Met::Leaf(&meta)),
                Err(_) => each(&path, Met::Unreadable),
            }
        }
        for name in names {
            let below = path.join(&name);
            match directory.find(&name) {
                Ok(None) => {}
                Ok(Some(meta)) if meta.kind != Kind::Directory => each(&below, Met::Leaf(&meta)),
                Ok(Some(meta)) if meta.device == device && !meta.mount_root => open.push(below),
                Ok(Some(_)) | Err(_) => each(&below, Met::Unreadable),
            }
        }
    }
    Ok(())
}

/// Makes an attempt at a directory's names; where its mode forbids it, once more with the mode widened meanwhile.
pub(super) fn writable<T>(directory: &Dir, attempt: impl Fn() -> io::Result<T>) -> io::Result<T> {
    const WRITE_AND_SEARCH: u16 = 0o300;
    match attempt() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let mode = directory.meta()?.mode;
            if mode & WRITE_AND_SEARCH == WRITE_AND_SEARCH
                || directory.set_mode(mode | WRITE_AND_SEARCH).is_err()
            {
                return Err(error);
            }
            let second = attempt();
            let _ = directory.set_mode(mode);
            second
        }
        made => made,
    }
}

/// Whether a directory was empty, and so could go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Emptied {
    Yes,
    No,
}

/// Removes a directory where it is empty. What is not there is fine.
pub(super) fn remove_empty(parent: &Dir, name: &[u8]) -> io::Result<Emptied> {
    use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty};
    match writable(parent, || parent.remove_dir(name)) {
        // POSIX allows either.
        Err(error) if matches!(error.kind(), AlreadyExists | DirectoryNotEmpty) => Ok(Emptied::No),
        removed => optional(removed).map(|_| Emptied::Yes),
    }
}

/// Removes an entry, a directory with all below it. What is not there is fine.
pub(super) fn remove(parent: &Dir, name: &[u8]) -> io::Result<()> {
    match parent.find(name)? {
        None => Ok(()),
        Some(meta) if meta.kind == Kind::Directory => remove_directory(parent, name),
        Some(_) => writable(parent, || optional(parent.remove_file(name)).map(drop)),
    }
}

/// One directory on the way down: what it is called, which it is, and the directories in it that are still there.
struct Level {
    name: Box<[u8]>,
    meta: Meta,
    left: Vec<Box<[u8]>>,
}

/// Goes down and up again with one handle, so that no depth runs out of handles or stack. Going up, the directory above must be the
/// one that was left: else somebody moved the tree meanwhile, and nothing more is removed.
fn remove_directory(parent: &Dir, name: &[u8]) -> io::Result<()> {
    let device = parent.meta()?.device;
    let (mut at, first) = empty_of_files(parent, name, device)?;
    let mut levels = vec![first];
    while let Some(level) = levels.last_mut() {
        if let Some(name) = level.left.pop() {
            let (below, next) = empty_of_files(&at, &name, device)?;
            at = below;
            levels.push(next);
            continue;
        }
        let name = std::mem::take(&mut level.name);
        levels.pop();
        at = match levels.last() {
            None => parent.try_clone()?,
            Some(above) => {
                let up = at.open_dir(b"..")?;
                if !up.meta()?.same_inode(&above.meta) {
                    return Err(io::Error::new(
                        io::ErrorKind::StaleNetworkFileHandle,
                        "the directory was moved",
                    ));
                }
                up
            }
        };
        writable(&at, || optional(at.remove_dir(&name)).map(drop))?;
    }
    Ok(())
}

/// Opens a directory that is about to go, removes what is no directory in it, and notes the directories.
fn empty_of_files(parent: &Dir, name: &[u8], device: u64) -> io::Result<(Dir, Level)> {
    const ALL: u16 = 0o700;
    let directory = match parent.open_dir(name) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let node = parent.node(name)?;
            if node.meta()?.kind != Kind::Directory {
                return Err(error);
            }
            node.set_mode(ALL)?;
            parent.open_dir(name)?
        }
        opened => opened?,
    };
    let meta = directory.meta()?;
    if meta.device != device || meta.mount_root {
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, "something is mounted there"));
    }
    if meta.mode & ALL != ALL {
        let _ = directory.set_mode(ALL);
    }
    let mut left = Vec::new();
    for name in names(&directory)? {
        match directory.find(&name)? {
            None => {}
            Some(meta) if meta.kind == Kind::Directory => left.push(name),
            Some(_) => optional(directory.remove_file(&name)).map(drop)?,
        }
    }
    Ok((directory, Level { name: name.into(), meta, left }))
}
