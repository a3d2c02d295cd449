//! A lock that the kernel frees when its holder dies.

use std::io;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::File;

/// Who else may hold the lock meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// Nobody.
    Exclusive,
    /// Others that share it.
    Shared,
}

/// A held lock (`flock(2)`); dropped, it is free.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock on a file without waiting; gives the file back where another one holds it.
    ///
    /// # Errors
    /// `ENOLCK` and others of `flock(2)` where the place has no locks.
    pub fn take(file: File, mode: LockMode) -> io::Result<Result<Self, File>> {
        let operation = match mode {
            LockMode::Exclusive => FlockOperation::NonBlockingLockExclusive,
            LockMode::Shared => FlockOperation::NonBlockingLockShared,
        };
        match rustix::io::retry_on_intr(|| rustix::fs::flock(&file, operation)) {
            Ok(()) => Ok(Ok(Self { file })),
            Err(Errno::WOULDBLOCK) => Ok(Err(file)),
            Err(error) => Err(error.into()),
        }
    }

    /// The locked file, to read or write who holds it.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A child between fork and exec holds the same description: closing ours alone would leave the lock with it.
        let _ = rustix::fs::flock(&self.file, FlockOperation::Unlock);
    }
}
