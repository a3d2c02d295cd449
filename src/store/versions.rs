//! `versions/<run>/`: where a running run's displaced entries go, at the paths that they had.
//!
//! Workers share one [`Versions`]. Its directories are this user's alone (0700) until [`Versions::finish`] gives them what their
//! originals had. No lock is held across I/O, except around the one file of announcements.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::directories::Directories;
use super::home::{Store, locked, names};
use super::marker::marker_path;
use super::metadata::{Original, copy_entry};
use super::pending::{Announced, PendingFile};
use super::{StoreError, failed, tree};
use crate::platform::{Attributes as _, Dir, RenameMode};
use crate::value::{Kind, Meta, RelPath, RunId};

/// Levels that a directory tree is moved entry by entry, where it cannot be renamed whole; each holds a handle.
const LEVELS_MAX: usize = 128;

/// How the displaced content got into versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Displaced {
    /// A further name of the old inode.
    Linked,
    /// Its content was copied, and synced.
    CopiedDurably,
    /// The entry itself was renamed.
    Moved,
}

/// The metadata that a directory under versions gets: that of the original at the same path.
#[derive(Clone, Copy, Debug)]
pub struct OriginalDirectory<'a> {
    /// The destination's root, relative to which originals are looked at.
    pub root: &'a Dir,
}

/// `versions/<run>/` of the running run: shared by the workers, safe to call from several threads.
#[derive(Debug)]
pub struct Versions<'store> {
    store: &'store Store,
    run: RunId,
    directories: Directories<'store>,
    /// What was copied, so that a second attempt at one entry is known for what it is.
    copied: Mutex<HashMap<RelPath, Meta>>,
    pending: Mutex<Option<PendingFile>>,
    copies: AtomicU64,
}

impl Store {
    /// The versions of one run, to displace into; nothing is made before the first entry comes. The run has begun, see [`Store::begin`].
    #[must_use]
    pub fn versions(&self, run: RunId) -> Versions<'_> {
        Versions {
            store: self,
            run,
            directories: Directories::new(self, run),
            copied: Mutex::default(),
            pending: Mutex::default(),
            copies: AtomicU64::new(0),
        }
    }
}

impl Store {
    /// The directory that a run's versions lie in, under the paths that they had; `None` where there is none (any more).
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn versions_of(&self, run: RunId) -> Result<Option<Dir>, StoreError> {
        let Some(versions) = self.room(super::home::VERSIONS)? else { return Ok(None) };
        let name = run.to_string().into_bytes();
        super::optional(versions.open_dir(&name))
            .map_err(failed("open", &version_path(run, &RelPath::root())))
    }
}

impl Versions<'_> {
    /// Gives the old entry under `name` (no directory) the further name `versions/<run>/<path>`; the name keeps it. Where a link is refused
    /// (EXDEV, EPERM, EMLINK, no links) its content and metadata are copied and synced, and an entry that changes meanwhile is an
    /// error. Asked again for an entry that is in versions already, it says so again.
    ///
    /// # Errors
    /// See [`StoreError`]; `EEXIST` where another entry of this path was displaced in this run already.
    pub fn keep(
        &self,
        original: OriginalDirectory<'_>,
        directory: &Dir,
        name: &[u8],
        path: &RelPath,
    ) -> Result<Displaced, StoreError> {
        let (above, to) = self.room_for(original, path)?;
        match directory.hard_link(name, &to, path.name()) {
            Ok(()) => {
                self.directories.touch(above);
                Ok(Displaced::Linked)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.again(directory, name, &to, path)?.ok_or_else(|| self.failed("link", path)(error))
            }
            Err(error) if is_refused(&error) => match self.again(directory, name, &to, path)? {
                Some(displaced) => Ok(displaced),
                None => self.copy_in(directory, name, &to, path),
            },
            Err(error) => Err(self.failed("link", path)(error)),
        }
    }

    /// Takes the version of an entry away that was kept and then not displaced: its name still stands for it. Where it does not, or nothing
    /// was kept, nothing is done.
    ///
    /// # Errors
    /// See [`StoreError`]; the version is there still.
    pub fn withdraw(&self, directory: &Dir, name: &[u8], path: &RelPath) -> Result<(), StoreError> {
        let failed = || self.failed("take back", path);
        let Some(to) = self.existing(path).map_err(failed())? else { return Ok(()) };
        let Some(version) = to.find(path.name()).map_err(failed())? else { return Ok(()) };
        let Some(now) = directory.find(name).map_err(failed())? else { return Ok(()) };
        let copied = locked(&self.copied).get(path).copied();
        if version.same_inode(&now) || copied.is_some_and(|copied| copied.same_moment(&now)) {
            to.remove_file(path.name()).map_err(failed())?;
            locked(&self.copied).remove(path);
        }
        Ok(())
    }

    /// Renames the entry under `name` (of any kind, a directory with all below it) to `versions/<run>/<path>`; where `ordered` is
    /// false and it is no directory: link, sync, unlink. Where versions lie on another file system, content is copied and synced
    /// before a name goes.
    ///
    /// # Errors
    /// See [`StoreError`]; `EEXIST` where another entry of this path was displaced in this run already.
    pub fn take(
        &self,
        original: OriginalDirectory<'_>,
        directory: &Dir,
        name: &[u8],
        path: &RelPath,
        ordered: bool,
    ) -> Result<Displaced, StoreError> {
        let kind = directory.stat(name).map_err(self.failed("move to", path))?.kind;
        if kind != Kind::Directory && !ordered {
            return self.link_then_unlink(original, directory, name, path);
        }
        let (above, to) = self.room_for(original, path)?;
        let renamed = match kind {
            Kind::Directory => rename_directory(directory, name, &to, path.name()),
            _ => rename_new(directory, name, &to, path.name()),
        };
        match renamed {
            Ok(()) => {
                self.directories.touch(above);
                Ok(Displaced::Moved)
            }
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => match kind {
                Kind::Directory => self.take_below(original, directory, name, path),
                _ => self.link_then_unlink(original, directory, name, path),
            },
            // The version may be a further name of this very inode: then the name just goes.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && kind != Kind::Directory => {
                match self.again(directory, name, &to, path)? {
                    Some(_) => self.link_then_unlink(original, directory, name, path),
                    None => Err(self.failed("move to", path)(error)),
                }
            }
            Err(error) => Err(self.failed("move to", path)(error)),
        }
    }

    /// Says durably that `stage`, in the directory of `path`, is about to be exchanged with `path`, whose old entry then goes to versions.
    /// `new_kind` is what stands under the stage name now.
    ///
    /// # Errors
    /// See [`StoreError`]; the exchange must not be made then.
    pub fn announce(&self, stage: &[u8], path: &RelPath, new_kind: Kind) -> Result<(), StoreError> {
        let failed = || failed("write", &pending_path(self.run));
        let announced = Announced::new(stage, path, new_kind).map_err(failed())?;
        let mut pending = locked(&self.pending);
        if pending.is_none() {
            let marker = self.marker()?;
            *pending = Some(PendingFile::open(&marker).map_err(failed())?);
        }
        pending.as_mut().map_or(Ok(()), |file| file.append(&announced)).map_err(failed())
    }

    /// Makes the names under `versions/<run>` durable where `syncfs` is not to be trusted: syncs every directory touched since the last call.
    ///
    /// # Errors
    /// See [`StoreError`]; what could not be synced is tried again by the next call.
    pub fn sync_directories(&self) -> Result<(), StoreError> {
        self.directories.sync_all()
    }

    /// Gives the directories under versions the mode, owner and ACL of their originals, children first, and takes empty ones away; the last step of a run.
    ///
    /// # Errors
    /// See [`StoreError`]; the first one, after everything else was done.
    pub fn finish(&self) -> Result<(), StoreError> {
        self.directories.finish()
    }

    /// Where a version of this run is, below `.twinlane`.
    pub(super) fn path_of(&self, path: &RelPath) -> Vec<u8> {
        version_path(self.run, path)
    }

    /// The directory that holds a version of this run, where it is there.
    pub(super) fn existing(&self, path: &RelPath) -> io::Result<Option<Dir>> {
        self.directories.existing(path)
    }

    /// Says what could not be done to `versions/<run>/<path>`.
    fn failed(
        &self,
        operation: &'static str,
        path: &RelPath,
    ) -> impl FnOnce(io::Error) -> StoreError + use<> {
        failed(operation, &version_path(self.run, path))
    }

    fn marker(&self) -> Result<Dir, StoreError> {
        let path = marker_path(self.run);
        self.store.marker(self.run)?.ok_or_else(|| failed("open", &path)(io::ErrorKind::NotFound.into()))
    }

    /// The directory that a version goes to, made where it is not there, with its path.
    fn room_for(
        &self,
        original: OriginalDirectory<'_>,
        path: &RelPath,
    ) -> Result<(RelPath, Arc<Dir>), StoreError> {
        let Some(above) = path.parent() else {
            return Err(self.failed("move to", path)(io::ErrorKind::InvalidInput.into()));
        };
        let directory = self.directories.open(original, &above)?;
        Ok((above, directory))
    }

    fn link_then_unlink(
        &self,
        original: OriginalDirectory<'_>,
        directory: &Dir,
        name: &[u8],
        path: &RelPath,
    ) -> Result<Displaced, StoreError> {
        let displaced = self.keep(original, directory, name, path)?;
        self.directories.sync_up(path)?;
        tree::writable(directory, || directory.remove_file(name)).map_err(self.failed("move to", path))?;
        Ok(displaced)
    }

    /// How this very entry is in versions already; `None` where it is not.
    fn again(
        &self,
        directory: &Dir,
        name: &[u8],
        to: &Dir,
        path: &RelPath,
    ) -> Result<Option<Displaced>, StoreError> {
        let Some(version) = to.find(path.name()).map_err(self.failed("look at", path))? else {
            return Ok(None);
        };
        let old = directory.stat(name).map_err(self.failed("look at", path))?;
        if version.same_inode(&old) {
            return Ok(Some(Displaced::Linked));
        }
        let copied = locked(&self.copied).get(path).copied();
        if copied.is_some_and(|copied| copied.same_moment(&old)) {
            return Ok(Some(Displaced::CopiedDurably));
        }
        Err(self.failed("link", path)(io::ErrorKind::AlreadyExists.into()))
    }

    /// Copies an entry into versions: staged beside the run's marker, so that no half version is ever seen.
    fn copy_in(
        &self,
        directory: &Dir,
        name: &[u8],
        to: &Dir,
        path: &RelPath,
    ) -> Result<Displaced, StoreError> {
        let marker = self.marker()?;
        let (stage, meta) = loop {
            let stage = format!("copy-{}", self.copies.fetch_add(1, Ordering::Relaxed)).into_bytes();
            match copy_entry(directory, name, &marker, &stage) {
                Ok(meta) => break (stage, meta),
                // Left by an earlier attempt of this run.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    let _ = marker.remove_file(&stage);
                    return Err(self.failed("copy to", path)(error));
                }
            }
        };
        if let Err(error) = rename_new(&marker, &stage, to, path.name()) {
            let _ = marker.remove_file(&stage);
            return Err(self.failed("copy to", path)(error));
        }
        self.directories.touch(path.parent().unwrap_or_default());
        self.directories.sync_up(path)?;
        locked(&self.copied).insert(path.clone(), meta);
        Ok(Displaced::CopiedDurably)
    }

    /// Moves a directory that cannot be renamed, entry by entry. What was moved when an error comes stays in versions; the rest stays where it was.
    fn take_below(
        &self,
        original: OriginalDirectory<'_>,
        directory: &Dir,
        name: &[u8],
        path: &RelPath,
    ) -> Result<Displaced, StoreError> {
        if path.depth() > LEVELS_MAX {
            return Err(self.failed("move to", path)(io::ErrorKind::CrossesDevices.into()));
        }
        let below = directory.open_dir(name).map_err(self.failed("move to", path))?;
        self.directories.open(original, path)?;
        self.directories.set_original(path, Original::of(&below));
        for name in names(&below).map_err(self.failed("move to", path))? {
            self.take(original, &below, &name, &path.join(&name), false)?;
        }
        tree::writable(directory, || directory.remove_dir(name)).map_err(self.failed("move to", path))?;
        Ok(Displaced::CopiedDurably)
    }
}

/// Where a run's announcements are, below `.twinlane`.
pub(super) fn pending_path(run: RunId) -> Vec<u8> {
    format!("partial/{run}/pending").into_bytes()
}

/// Where a version is, below `.twinlane`.
pub(super) fn version_path(run: RunId, path: &RelPath) -> Vec<u8> {
    let mut text = format!("versions/{run}/").into_bytes();
    text.extend_from_slice(path.as_bytes());
    text
}

/// Whether a link is refused for what the places are, so that a copy is the way.
fn is_refused(error: &io::Error) -> bool {
    use io::ErrorKind::{CrossesDevices, PermissionDenied, TooManyLinks, Unsupported};
    matches!(error.kind(), CrossesDevices | PermissionDenied | TooManyLinks | Unsupported)
}

/// Renames to a name that must be free. Where the place cannot do so in one step: the names under versions are ours alone.
pub(super) fn rename_new(from: &Dir, name: &[u8], to: &Dir, new: &[u8]) -> io::Result<()> {
    match from.rename(name, to, new, RenameMode::NoReplace) {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            if to.find(new)?.is_some() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            from.rename(name, to, new, RenameMode::Replace)
        }
        renamed => renamed,
    }
}

/// Renames a directory to another folder. One that this user may not write refuses that, since its `..` changes: its mode is
/// widened meanwhile.
fn rename_directory(from: &Dir, name: &[u8], to: &Dir, new: &[u8]) -> io::Result<()> {
    const WRITE: u16 = 0o200;
    match rename_new(from, name, to, new) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let node = from.node(name)?;
            let meta = node.meta()?;
            if meta.kind != Kind::Directory
                || meta.mode & WRITE != 0
                || node.set_mode(meta.mode | WRITE).is_err()
            {
                return Err(error);
            }
            let second = rename_new(from, name, to, new);
            let _ = node.set_mode(meta.mode);
            second
        }
        renamed => renamed,
    }
}

/// The ways that another file system takes, for tests that have only one.
#[cfg(test)]
impl Versions<'_> {
    pub(super) fn keep_by_copy(
        &self,
        original: OriginalDirectory<'_>,
        directory: &Dir,
        name: &[u8],
        path: &RelPath,
    ) -> Result<Displaced, StoreError> {
        let (_, to) = self.room_for(original, path)?;
        self.copy_in(directory, name, &to, path)
    }

    pub(super) fn take_by_entry(
        &self,
        original: OriginalDirectory<'_>,
        directory: &Dir,
        name: &[u8],
        path: &RelPath,
    ) -> Result<Displaced, StoreError> {
        self.take_below(original, directory, name, path)
    }
}
