//! Why the state could not be used.

use std::io;
use std::path::PathBuf;

use crate::value::RunId;

/// Why the state could not be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The system refused.
    #[error("cannot {operation} `{}`", .path.display())]
    System {
        /// What was tried: `create`, `open`, `set aside`.
        operation: &'static str,
        /// On what.
        path: PathBuf,
        /// Its reason.
        #[source]
        source: io::Error,
    },
    /// `SQLite` could not do its work.
    #[error("cannot {operation} `{}`", .path.display())]
    Database {
        /// What was tried: `open`, `read`, `write`.
        operation: &'static str,
        /// The database.
        path: PathBuf,
        /// Its reason.
        #[source]
        source: rusqlite::Error,
    },
    /// Another run has that id: it began in the same millisecond. The next one is free.
    #[error("the run id {run} is taken")]
    Taken {
        /// The id.
        run: RunId,
    },
    /// A newer Twinlane wrote it.
    #[error("`{}` is of format {found}; this Twinlane knows formats up to {known}", .path.display())]
    Newer {
        /// The database.
        path: PathBuf,
        /// The format it says.
        found: i64,
        /// The newest that is known here.
        known: i64,
    },
}
