//! All that Twinlane keeps below a destination's `.twinlane`: id, lock, versions, markers of runs, catalog; recovery and retention.
//!
//! In come handles to a destination's root and what a run displaces; out go versions, markers and records that the next run can
//! rely on. Everything goes through one handle to `.twinlane`, opened once (no symlink followed), so that an unmount in
//! mid-run redirects nothing. It decides nothing about what is copied or removed in the tree itself.
#![cfg_attr(not(test), warn(clippy::indexing_slicing))]

use std::io;
use std::time::Duration;

mod catalog;
mod directories;
mod home;
mod identity;
mod lock;
mod marker;
mod metadata;
mod pending;
mod probe;
mod prune;
mod recover;
mod retention;
mod tree;
mod trial;
mod versions;

pub use catalog::{
    Catalog, Change, Displacement, EntryRow, Loss, Next, Past, ReadBack, ReadBackOf, Record,
    Source as ViewSource, Span, View, Whereabouts,
};
pub use home::Store;
pub use identity::{Features, Identity, Known};
pub use lock::{HeldLock, Holder, Locking};
pub use marker::clear_stage;
pub use probe::{Probe, probe};
pub use prune::{Pruned, RunVersions, Weighed};
pub use recover::Recovered;
pub use retention::{Version, due, oldest};
pub use trial::{Trial, try_data};
pub use versions::{Displaced, OriginalDirectory, Versions};

/// The name of Twinlane's folder in a destination's root.
pub const HOME_NAME: &[u8] = b".twinlane";

/// How often the lock's record is rewritten (DESIGN §7).
pub const LOCK_RENEWAL: Duration = Duration::from_secs(30);

/// Why the store could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refused.
    #[error("cannot {operation} `.twinlane/{path}`")]
    System {
        /// What was tried: `create`, `sync`, …
        operation: &'static str,
        /// Path below `.twinlane`, escaped.
        path: String,
        /// Its reason.
        #[source]
        source: io::Error,
    },
    /// The catalog could not be used.
    #[error("the catalog cannot be used")]
    Catalog {
        /// `SQLite`'s reason.
        #[source]
        source: rusqlite::Error,
    },
    /// Something else than a directory waits under the name.
    #[error("`.twinlane` is not a directory")]
    NotADirectory,
    /// Something waits under the name of one of Twinlane's own files that Twinlane did not put there.
    #[error("`.twinlane/{path}` is not a plain file of Twinlane's own; look at it, then take it away")]
    Planted {
        /// Path below `.twinlane`, escaped.
        path: String,
    },
}

impl StoreError {
    /// The system's reason, where the system refused.
    #[must_use]
    pub fn system(&self) -> Option<&io::Error> {
        match self {
            Self::System { source, .. } => Some(source),
            Self::Catalog { .. } | Self::NotADirectory | Self::Planted { .. } => None,
        }
    }

    /// Whether this path was displaced in this run already.
    #[must_use]
    pub fn is_displaced_already(&self) -> bool {
        self.system().is_some_and(|error| error.kind() == io::ErrorKind::AlreadyExists)
    }
}

/// Makes the error of an attempt at something below `.twinlane`.
fn failed(operation: &'static str, path: &[u8]) -> impl FnOnce(io::Error) -> StoreError + use<> {
    let path = crate::value::escape(path);
    move |source| StoreError::System { operation, path, source }
}

/// `Ok(None)` for `ENOENT`.
fn optional<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
