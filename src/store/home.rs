//! The open `.twinlane` of a destination, and its folders.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{HOME_NAME, StoreError, failed, optional};
use crate::platform::{Access, Attributes as _, Dir};
use crate::value::{Kind, RunId};

/// Where displaced content lives.
pub(super) const VERSIONS: &[u8] = b"versions";
/// Where runs that have begun are marked.
pub(super) const PARTIAL: &[u8] = b"partial";
/// Permissions of everything that Twinlane makes for itself: this user alone.
pub(super) const PRIVATE: u16 = 0o700;
/// A record of Twinlane's own is never longer; what is, is damaged.
const RECORD_BYTES_MAX: u64 = 1 << 20;

/// The open `.twinlane` of a destination.
#[derive(Debug)]
pub struct Store {
    pub(super) home: Dir,
    /// The run that the lock's record named before this process took the lock.
    pub(super) previous: Mutex<Option<RunId>>,
    /// Runs whose recovery failed: nothing of theirs may be cleared.
    pub(super) unrecovered: Mutex<BTreeSet<RunId>>,
}

/// Nothing that is kept behind these locks can be left half done by a panic.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    /// Opens `.twinlane` where it is there; writes nothing.
    ///
    /// # Errors
    /// See [`StoreError`]; a symlink or file under that name is `NotADirectory`.
    pub fn find(root: &Dir) -> Result<Option<Self>, StoreError> {
        let Some(meta) = root.find(HOME_NAME).map_err(failed("look at", b""))? else { return Ok(None) };
        if meta.kind != Kind::Directory {
            return Err(StoreError::NotADirectory);
        }
        let home = root.open_dir(HOME_NAME).map_err(failed("open", b""))?;
        Ok(Some(Self { home, previous: Mutex::default(), unrecovered: Mutex::default() }))
    }

    /// Opens `.twinlane`, making it (0700, durably) where it is not there.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn create(root: &Dir) -> Result<Self, StoreError> {
        match root.make_dir(HOME_NAME, PRIVATE) {
            Ok(()) => root.sync().map_err(failed("sync", b""))?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed("create", b"")(error)),
        }
        let store = Self::find(root)?.ok_or(StoreError::NotADirectory)?;
        let mode = store.home.meta().map_err(failed("look at", b""))?.mode;
        if mode & 0o077 != 0 {
            // A place without mode bits keeps what it shows.
            let _ = store.home.set_mode(PRIVATE);
        }
        Ok(store)
    }

    /// Opens a folder of `.twinlane` where it is there; a symlink in its place is refused.
    pub(super) fn room(&self, name: &[u8]) -> Result<Option<Dir>, StoreError> {
        optional(self.home.open_dir(name)).map_err(failed("open", name))
    }

    /// Opens a folder of `.twinlane`, making it durably where it is not there.
    pub(super) fn make_room(&self, name: &[u8]) -> Result<Dir, StoreError> {
        match self.home.make_dir(name, PRIVATE) {
            Ok(()) => self.home.sync().map_err(failed("sync", b""))?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed("create", name)(error)),
        }
        self.home.open_dir(name).map_err(failed("open", name))
    }

    /// The runs that have an entry in a folder of `.twinlane`, oldest first.
    pub(super) fn runs_in(&self, room: &[u8]) -> Result<Vec<RunId>, StoreError> {
        let Some(directory) = self.room(room)? else { return Ok(Vec::new()) };
        let names = names(&directory).map_err(failed("list", room))?;
        let mut runs: Vec<RunId> =
            names.iter().filter_map(|name| std::str::from_utf8(name).ok()?.parse().ok()).collect();
        runs.sort_unstable();
        Ok(runs)
    }

    /// The newest run id found below `.twinlane` (versions, partial, the lock's record), to bump past.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn newest_run(&self) -> Result<Option<RunId>, StoreError> {
        let listed = self.newest_listed(None)?;
        Ok(listed.max(self.recorded_run()))
    }

    /// The newest run in versions and partial, leaving out `except`.
    pub(super) fn newest_listed(&self, except: Option<RunId>) -> Result<Option<RunId>, StoreError> {
        let mut runs = self.runs_in(VERSIONS)?;
        runs.extend(self.runs_in(PARTIAL)?);
        Ok(runs.into_iter().filter(|run| Some(*run) != except).max())
    }
}

/// All names of a directory, in byte order, so that what is done with them does not depend on the file system.
pub(super) fn names(directory: &Dir) -> io::Result<Vec<Box<[u8]>>> {
    let mut names: Vec<Box<[u8]>> = Vec::new();
    directory.list(|listed| names.push(listed.name.into()))?;
    names.sort_unstable();
    Ok(names)
}

/// What is wrong with one of Twinlane's own records.
pub(super) enum Unreadable {
    /// The system refused.
    System(io::Error),
    /// It is there, and no plain file, or too long.
    Planted(&'static str),
}

/// Reads a small file of Twinlane's own; `None` where it is not there.
pub(super) fn read_record(directory: &Dir, name: &[u8]) -> Result<Option<Vec<u8>>, Unreadable> {
    match directory.find(name).map_err(Unreadable::System)? {
        None => return Ok(None),
        Some(meta) if meta.kind != Kind::File => return Err(Unreadable::Planted("it is not a regular file")),
        Some(meta) if meta.size > RECORD_BYTES_MAX => return Err(Unreadable::Planted("it is too long")),
        Some(_) => {}
    }
    let Some(file) = optional(directory.open_file(name, Access::Buffered)).map_err(Unreadable::System)?
    else {
        return Ok(None);
    };
    let meta = file.meta().map_err(Unreadable::System)?;
    if meta.kind != Kind::File {
        return Err(Unreadable::Planted("it is not a regular file"));
    }
    let mut bytes = vec![0; usize::try_from(meta.size.min(RECORD_BYTES_MAX)).unwrap_or(0)];
    let got = file.read_at(&mut bytes, 0).map_err(Unreadable::System)?;
    bytes.truncate(got);
    Ok(Some(bytes))
}
