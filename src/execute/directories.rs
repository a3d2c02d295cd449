//! Handles to the directories of both trees: opened from the root, checked to be the ones that the plan saw, kept within a budget.
//!
//! It also knows which directories this run made, touched, and opened for writing.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::plan::{DirectoryId, Plan};
use crate::platform::{Attributes as _, Dir, Environment};
use crate::value::{Kind, Meta, RelPath};

use super::Terms;
use super::trouble::{Tried as _, Trouble};

/// What the user needs in a directory's mode to make and take names in it: read, write and search.
const OWNER_ALL: u16 = 0o700;

/// Said of a directory that is another one than the plan saw.
pub(super) const DESTINATION_CHANGED: &str = "the destination's directory changed";

/// Both trees' directories.
pub(super) struct Trees<'s> {
    plan: &'s Plan,
    source: Cache<'s>,
    destination: Cache<'s>,
    /// Device and inode of each directory that this run made.
    made: Vec<OnceLock<(u64, u64)>>,
    touched: Vec<AtomicBool>,
    /// Taken away or displaced by this run.
    gone: Vec<AtomicBool>,
    /// The modes of those that were opened for writing.
    widened: Mutex<BTreeMap<DirectoryId, u16>>,
    as_root: bool,
}

/// Open handles of one tree; the one that was not used for longest goes first.
struct Cache<'s> {
    root: &'s Dir,
    open: Mutex<HashMap<DirectoryId, (Arc<Dir>, u64)>>,
    clock: AtomicU64,
    handles_max: usize,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'s> Cache<'s> {
    fn new(root: &'s Dir, handles_max: usize) -> Self {
        Self { root, open: Mutex::new(HashMap::new()), clock: AtomicU64::new(0), handles_max }
    }

    fn get(&self, id: DirectoryId) -> Option<Arc<Dir>> {
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        locked(&self.open).get_mut(&id).map(|(handle, used)| {
            *used = now;
            Arc::clone(handle)
        })
    }

    fn put(&self, id: DirectoryId, handle: Arc<Dir>) {
        let now = self.clock.load(Ordering::Relaxed);
        let mut open = locked(&self.open);
        if open.len() >= self.handles_max {
            let oldest = open.iter().min_by_key(|(_, (_, used))| *used).map(|(id, _)| *id);
            oldest.and_then(|id| open.remove(&id));
        }
        open.insert(id, (handle, now));
    }

    fn forget(&self, id: DirectoryId) {
        locked(&self.open).remove(&id);
    }
}

impl<'s> Trees<'s> {
    pub(super) fn new(terms: &Terms<'s>) -> Self {
        let count = terms.plan.directories.len();
        // Both caches together are half the budget: the rest is for files, and for handles in use that were dropped here.
        let handles_max = (Environment.handle_budget() / 4).max(2);
        Self {
            plan: terms.plan,
            source: Cache::new(terms.source, handles_max),
            destination: Cache::new(terms.destination, handles_max),
            made: (0..count).map(|_| OnceLock::new()).collect(),
            touched: (0..count).map(|_| AtomicBool::new(false)).collect(),
            gone: (0..count).map(|_| AtomicBool::new(false)).collect(),
            widened: Mutex::new(BTreeMap::new()),
            as_root: terms.as_root,
        }
    }

    /// The source's directory, the one that the plan saw.
    pub(super) fn source(&self, id: DirectoryId) -> Result<Arc<Dir>, Trouble> {
        if let Some(handle) = self.source.get(id) {
            return Ok(handle);
        }
        let planned = self.plan.directories.get(id.0 as usize).ok_or(Trouble::Vanished)?;
        let observed = planned.source.as_ref().ok_or(Trouble::Vanished)?;
        let handle =
            open_checked(self.source.root, &planned.path, Some((observed.device, observed.inode)))
                .map_err(|opening| opening.trouble(Trouble::Vanished, "the source's directory changed"))?;
        let handle = Arc::new(handle);
        self.source.put(id, Arc::clone(&handle));
        Ok(handle)
    }

    /// The destination's directory: the one that the plan saw, or that this run made.
    pub(super) fn destination(&self, id: DirectoryId) -> Result<Arc<Dir>, Trouble> {
        if let Some(handle) = self.destination.get(id) {
            return Ok(handle);
        }
        let planned = self.plan.directories.get(id.0 as usize).ok_or(Trouble::NoDirectory)?;
        let made = self.made.get(id.0 as usize).and_then(OnceLock::get).copied();
        let observed = planned.destination.as_ref().map(|meta| (meta.device, meta.inode));
        let Some(inode) = made.or(observed) else { return Err(Trouble::NoDirectory) };
        let handle = open_checked(self.destination.root, &planned.path, Some(inode)).map_err(|opening| {
            opening.trouble(Trouble::Moved { what: DESTINATION_CHANGED }, DESTINATION_CHANGED)
        })?;
        let handle = Arc::new(handle);
        self.destination.put(id, Arc::clone(&handle));
        Ok(handle)
    }

    /// The destination's directory, to make or take names in it: its times will be mended at the end.
    pub(super) fn destination_to_change(&self, id: DirectoryId) -> Result<Arc<Dir>, Trouble> {
        let handle = self.destination(id)?;
        if let Some(touched) = self.touched.get(id.0 as usize) {
            touched.store(true, Ordering::Relaxed);
        }
        Ok(handle)
    }

    /// Opens a directory for writing where its mode forbids that to its owner; called on the run thread before its actions
    /// are handed out. Where the mode cannot be set, the actions themselves will say so.
    pub(super) fn widen(&self, id: DirectoryId) {
        if self.as_root {
            return;
        }
        let planned = self.plan.directories.get(id.0 as usize);
        let Some(observed) = planned.and_then(|planned| planned.destination) else { return };
        if observed.mode & OWNER_ALL == OWNER_ALL || locked(&self.widened).contains_key(&id) {
            return;
        }
        let Ok(handle) = self.destination(id) else { return };
        locked(&self.widened).insert(id, observed.mode);
        if handle.set_mode(observed.mode | OWNER_ALL).is_err() {
            locked(&self.widened).remove(&id);
        }
    }

    /// Says that this run made the directory, if any action lies in it.
    pub(super) fn note_made(&self, path: &RelPath, meta: &Meta) {
        let Some(id) = self.id_of(path) else { return };
        self.destination.forget(id);
        if let Some(made) = self.made.get(id.0 as usize) {
            // A second making under one name is only tried after the first one was taken back.
            let _ = made.set((meta.device, meta.inode));
        }
    }

    /// Says that this run took the directory away: there is nothing to be mended about it.
    pub(super) fn note_gone(&self, path: &RelPath) {
        let gone = self.id_of(path).and_then(|id| self.gone.get(id.0 as usize));
        if let Some(gone) = gone {
            gone.store(true, Ordering::Relaxed);
        }
    }

    fn is_gone(&self, id: DirectoryId) -> bool {
        self.gone.get(id.0 as usize).is_some_and(|gone| gone.load(Ordering::Relaxed))
    }

    /// Whether names were made or taken in a directory.
    pub(super) fn is_touched(&self, id: DirectoryId) -> bool {
        self.touched.get(id.0 as usize).is_some_and(|touched| touched.load(Ordering::Relaxed))
    }

    /// The directories that are still there and in which names were made or taken.
    pub(super) fn touched(&self) -> impl Iterator<Item = DirectoryId> + '_ {
        let all = (0u32..).map(DirectoryId).take(self.touched.len());
        all.filter(|id| self.is_touched(*id) && !self.is_gone(*id))
    }

    /// The directories that are still there and were opened for writing, with the modes they had.
    pub(super) fn take_widened(&self) -> BTreeMap<DirectoryId, u16> {
        let mut widened = std::mem::take(&mut *locked(&self.widened));
        widened.retain(|id, _| !self.is_gone(*id));
        widened
    }

    /// Gives up the handles to a directory: they are of no use any more.
    pub(super) fn forget(&self, id: DirectoryId) {
        self.source.forget(id);
        self.destination.forget(id);
    }

    /// The number of a directory that actions name.
    pub(super) fn id_of(&self, path: &RelPath) -> Option<DirectoryId> {
        let index = self.plan.directories.binary_search_by(|planned| planned.path.cmp(path)).ok()?;
        u32::try_from(index).ok().map(DirectoryId)
    }
}

/// Why a directory could not be opened.
pub(super) enum Opening {
    /// A name on the way is not there.
    Absent,
    /// A name on the way is no directory, or the directory is another one.
    Other,
    /// The system refused.
    Refused(io::Error),
}

impl Opening {
    pub(super) fn trouble(self, absent: Trouble, other: &'static str) -> Trouble {
        match self {
            Self::Absent => absent,
            Self::Other => Trouble::Moved { what: other },
            Self::Refused(source) => Trouble::System { operation: "open its directory", source },
        }
    }
}

/// Opens a directory below a root and checks that it is the expected inode of the expected device.
pub(super) fn open_checked(root: &Dir, path: &RelPath, inode: Option<(u64, u64)>) -> Result<Dir, Opening> {
    let handle = match root.open_below(path) {
        Ok(handle) => handle,
        Err(error) => return Err(explain(root, path, error)),
    };
    let meta = handle.meta().map_err(Opening::Refused)?;
    match inode {
        Some(inode) if inode != (meta.device, meta.inode) => Err(Opening::Other),
        _ => Ok(handle),
    }
}

/// Tells a name that is no directory any more from one that the system refuses to open.
fn explain(root: &Dir, path: &RelPath, error: io::Error) -> Opening {
    if error.kind() == io::ErrorKind::NotFound {
        return Opening::Absent;
    }
    let Ok(mut at) = root.try_clone() else { return Opening::Refused(error) };
    for name in path.components() {
        match at.find(name) {
            Ok(None) => return Opening::Absent,
            Ok(Some(meta)) if meta.kind != Kind::Directory => return Opening::Other,
            _ => {}
        }
        match at.open_dir(name) {
            Ok(next) => at = next,
            Err(_) => return Opening::Refused(error),
        }
    }
    Opening::Refused(error)
}

/// The directory that holds the last name of a path, without a check of which one it is.
pub(super) fn open_parent(root: &Dir, path: &RelPath) -> Result<Dir, Trouble> {
    root.open_below(&path.parent().unwrap_or_default()).tried("open its directory")
}
