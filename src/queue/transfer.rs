//! What is asked of the engine, and what it answers.

use std::io;
use std::sync::Arc;

use crate::platform::File;
use crate::value::Digest;

/// What becomes of holes in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holes {
    /// They stay holes, the one at the end too, in a file that has fewer bytes allocated than it is long; what is allocated there but was
    /// never written counts as a hole. Any other file is copied whole, so one that was preallocated in full stays allocated.
    Keep,
    /// They are written as zeros.
    Fill,
}

/// Whether a digest is computed on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hashing {
    /// BLAKE3 of all bytes, holes read as zeros.
    Blake3,
    /// None.
    Off,
}

/// One file's bytes to be copied into a new, empty file.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// Opened for reading, buffered.
    pub source: Arc<File>,
    /// Opened for reading and writing, buffered, empty.
    pub target: Arc<File>,
    /// Length of the source in bytes, as its handle said when it was opened.
    pub bytes: u64,
    /// Holes.
    pub holes: Holes,
    /// Digest.
    pub hashing: Hashing,
}

/// What a finished transfer gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Length of the target in bytes; less or more than asked for where the source changed meanwhile.
    pub bytes: u64,
    /// The digest of these bytes, where asked for.
    pub digest: Option<Digest>,
}

/// Why a transfer stopped. The target then holds a part of the bytes and is of no use.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// The source could not be read.
    #[error("cannot read the source at byte {offset}")]
    Read {
        /// Where.
        offset: u64,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// The target could not be written.
    #[error("cannot write the copy at byte {offset}")]
    Write {
        /// Where.
        offset: u64,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// The run is being aborted.
    #[error("the run was aborted")]
    Aborted,
}

/// Called once when a transfer has ended, on one of the engine's threads: must not block for long, nor wait for the engine. The engine may
/// hold its clones of the files for a moment longer; both are buffered again.
pub type Done = Box<dyn FnOnce(Transfer, Result<Copied, TransferError>) + Send>;
