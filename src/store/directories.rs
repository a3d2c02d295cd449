//! The directories under `versions/<run>/`: made as entries come, kept open for a while, synced, and in the end given what their
//! originals had.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, Mutex};

use super::home::{PRIVATE, Store, VERSIONS, locked};
use super::metadata::Original;
use super::versions::{OriginalDirectory, version_path};
use super::{StoreError, failed, optional, tree};
use crate::platform::Dir;
use crate::value::{RelPath, RunId};

/// Handles to directories under versions that are kept open; a run displaces directory by directory, so few suffice.
const HANDLES_MAX: usize = 64;

/// The directories of one run, safe to use from several threads.
#[derive(Debug)]
pub(super) struct Directories<'store> {
    store: &'store Store,
    run: RunId,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    handles: HashMap<RelPath, Arc<Dir>>,
    /// Directories under versions, with what their originals had.
    made: BTreeMap<RelPath, Option<Original>>,
    /// Directories with names that are not durable yet, and when the last of these was made.
    dirty: HashMap<RelPath, u64>,
    turn: u64,
}

impl<'store> Directories<'store> {
    pub(super) fn new(store: &'store Store, run: RunId) -> Self {
        Self { store, run, state: Mutex::default() }
    }

    /// Opens the directory under versions of this path, making it, and those above it, where they are not there.
    pub(super) fn open(
        &self,
        original: OriginalDirectory<'_>,
        path: &RelPath,
    ) -> Result<Arc<Dir>, StoreError> {
        if let Some(directory) = self.cached(path) {
            return Ok(directory);
        }
        let root = RelPath::root();
        let mut at = if let Some(base) = self.cached(&root) {
            base
        } else {
            let versions = self.store.make_room(VERSIONS)?;
            self.make(&versions, self.run.to_string().as_bytes(), &root, original)?
        };
        let mut here = root;
        for name in path.components() {
            let below = here.join(name);
            at = match self.cached(&below) {
                Some(directory) => directory,
                None => self.make(&at, name, &below, original)?,
            };
            here = below;
        }
        Ok(at)
    }

    fn cached(&self, path: &RelPath) -> Option<Arc<Dir>> {
        locked(&self.state).handles.get(path).cloned()
    }

    /// Opens a directory under versions, making it where it is not there. Two threads may do so at once.
    fn make(
        &self,
        parent: &Dir,
        name: &[u8],
        path: &RelPath,
        original: OriginalDirectory<'_>,
    ) -> Result<Arc<Dir>, StoreError> {
        let known = locked(&self.state).made.contains_key(path);
        if !known {
            match tree::writable(parent, || parent.make_dir(name, PRIVATE)) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(self.failed("create", path)(error));
                }
                // Made by another thread just now, perhaps, which has not come to say so yet.
                _ => match path.parent() {
                    Some(above) => self.touch(above),
                    None => parent.sync().map_err(failed("sync", VERSIONS))?,
                },
            }
        }
        let directory = Arc::new(parent.open_dir(name).map_err(self.failed("open", path))?);
        let found = if known { None } else { Original::at(original.root, path) };
        let mut state = locked(&self.state);
        if !known {
            state.made.entry(path.clone()).or_insert(found);
        }
        if state.handles.len() >= HANDLES_MAX {
            state.handles.clear();
        }
        state.handles.insert(path.clone(), Arc::clone(&directory));
        Ok(directory)
    }

    /// Notes that a directory under versions has a new name.
    pub(super) fn touch(&self, path: RelPath) {
        let mut state = locked(&self.state);
        state.turn += 1;
        let turn = state.turn;
        state.dirty.insert(path, turn);
    }

    fn sync_one(&self, path: &RelPath) -> Result<(), StoreError> {
        let Some(turn) = locked(&self.state).dirty.get(path).copied() else { return Ok(()) };
        let directory = match self.cached(path) {
            Some(directory) => directory,
            None => Arc::new(self.reopen(path)?),
        };
        directory.sync().map_err(self.failed("sync", path))?;
        // Only what was there before the sync is durable; and no other thread may take it for durable before it is.
        let mut state = locked(&self.state);
        if state.dirty.get(path) == Some(&turn) {
            state.dirty.remove(path);
        }
        Ok(())
    }

    fn reopen(&self, path: &RelPath) -> Result<Dir, StoreError> {
        let base = self.store.make_room(VERSIONS)?;
        base.open_dir(self.run.to_string().as_bytes())
            .and_then(|base| base.open_below(path))
            .map_err(self.failed("open", path))
    }

    /// Syncs the directory that holds a version, and those above it as far as they are new.
    pub(super) fn sync_up(&self, path: &RelPath) -> Result<(), StoreError> {
        let mut at = path.parent();
        while let Some(path) = at {
            self.sync_one(&path)?;
            at = path.parent();
        }
        Ok(())
    }

    /// Syncs every directory touched since it was synced last.
    pub(super) fn sync_all(&self) -> Result<(), StoreError> {
        let mut dirty: Vec<RelPath> = locked(&self.state).dirty.keys().cloned().collect();
        dirty.sort();
        dirty.iter().try_for_each(|path| self.sync_one(path))
    }

    /// Says what a directory under versions gets, where that is not what its path shows.
    pub(super) fn set_original(&self, path: &RelPath, original: Option<Original>) {
        locked(&self.state).made.insert(path.clone(), original);
    }

    /// Gives each directory what its original had, children first; takes empty ones away.
    pub(super) fn finish(&self) -> Result<(), StoreError> {
        let made = {
            let mut state = locked(&self.state);
            state.handles.clear();
            std::mem::take(&mut state.made)
        };
        let mut outcome = Ok(());
        // A directory sorts before what is below it.
        for (path, original) in made.iter().rev() {
            if let Err(error) = self.finish_one(path, original.as_ref()) {
                outcome = outcome.and(Err(self.failed("finish", path)(error)));
            }
        }
        outcome
    }

    fn finish_one(&self, path: &RelPath, original: Option<&Original>) -> io::Result<()> {
        let Some(versions) = optional(self.store.home.open_dir(VERSIONS))? else { return Ok(()) };
        let run = self.run.to_string();
        let (parent, name) = match path.parent() {
            None => (versions, run.as_bytes()),
            Some(above) => (versions.open_dir(run.as_bytes())?.open_below(&above)?, path.name()),
        };
        if tree::remove_empty(&parent, name)? == tree::Emptied::Yes {
            return Ok(());
        }
        let directory = parent.open_dir(name)?;
        original.map_or(Ok(()), |original| original.give(&directory))
    }

    /// The directory that holds a version of this run, where it is there.
    pub(super) fn existing(&self, path: &RelPath) -> io::Result<Option<Dir>> {
        let above = path.parent().unwrap_or_default();
        let found = self
            .store
            .home
            .open_dir(VERSIONS)
            .and_then(|versions| versions.open_dir(self.run.to_string().as_bytes()))
            .and_then(|base| base.open_below(&above));
        optional(found)
    }

    fn failed(
        &self,
        operation: &'static str,
        path: &RelPath,
    ) -> impl FnOnce(io::Error) -> StoreError + use<> {
        failed(operation, &version_path(self.run, path))
    }
}
