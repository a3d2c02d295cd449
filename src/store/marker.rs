//! `.twinlane/partial/<run>/`: that a run has begun and may have left stage files, and what only it needs.

use std::io;

use super::home::{PARTIAL, PRIVATE, Store, locked};
use super::{StoreError, failed, optional, tree};
use crate::platform::Dir;
use crate::value::{RunId, StageName, escape};

/// The marker's path below `.twinlane`.
pub(super) fn marker_path(run: RunId) -> Vec<u8> {
    format!("partial/{run}").into_bytes()
}

impl Store {
    /// Runs that have a marker, oldest first: their stage files may be cleared. A run whose recovery failed is left out. Writes nothing.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn unfinished_runs(&self) -> Result<Vec<RunId>, StoreError> {
        let mut runs = self.runs_in(PARTIAL)?;
        let unrecovered = locked(&self.unrecovered);
        runs.retain(|run| !unrecovered.contains(run));
        Ok(runs)
    }

    /// Marks the run as begun, durably (`partial/<run>`).
    ///
    /// # Errors
    /// See [`StoreError`]; `EEXIST` where a run of this id has begun before.
    pub fn begin(&self, run: RunId) -> Result<(), StoreError> {
        let path = marker_path(run);
        let partial = self.make_room(PARTIAL)?;
        partial.make_dir(run.to_string().as_bytes(), PRIVATE).map_err(failed("create", &path))?;
        partial.sync().map_err(failed("sync", &path))
    }

    /// Opens a run's marker; `None` where it has none.
    pub(super) fn marker(&self, run: RunId) -> Result<Option<Dir>, StoreError> {
        let Some(partial) = self.room(PARTIAL)? else { return Ok(None) };
        optional(partial.open_dir(run.to_string().as_bytes())).map_err(failed("open", &marker_path(run)))
    }

    /// Takes a run's marker away: no stage file of it is left. The marker of a run whose recovery failed stays.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn clear_marker(&self, run: RunId) -> Result<(), StoreError> {
        if locked(&self.unrecovered).contains(&run) {
            return Ok(());
        }
        let Some(partial) = self.room(PARTIAL)? else { return Ok(()) };
        tree::remove(&partial, run.to_string().as_bytes()).map_err(failed("remove", &marker_path(run)))
    }
}

/// Removes a stage entry that a run left behind: a file, or a directory with all below it, following nothing. What is not there is fine. The
/// caller knows from [`Store::unfinished_runs`] that the run has a marker and was recovered.
///
/// # Errors
/// `InvalidInput` for a name that is no stage name; those of removing.
pub fn clear_stage(directory: &Dir, name: &[u8]) -> io::Result<()> {
    if StageName::parse(name).is_none() {
        let text = format!("`{}` is no stage name", escape(name));
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    tree::remove(directory, name)
}
