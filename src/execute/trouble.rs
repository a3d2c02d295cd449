//! Why one action did not get through, and what follows from it.

use std::error::Error as _;
use std::io;

use crate::queue::TransferError;
use crate::store::StoreError;

use super::FailureKind;

/// Why an action did not get through. The path is the action's and is told beside it.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    /// The source is gone.
    #[error("the source is gone")]
    Vanished,
    /// One side is not what the plan saw.
    #[error("{what} since the plan was made")]
    Moved {
        /// Of what, and how: `the source changed`.
        what: &'static str,
    },
    /// The source changed at every try.
    #[error("the source changed while it was copied")]
    Unsettled,
    /// The directory that holds the name is not there because it could not be made.
    #[error("its directory could not be made")]
    NoDirectory,
    /// No room for a file of this size was found before.
    #[error("the destination is full")]
    NoRoom,
    /// An action that came before this one failed.
    #[error("{why}")]
    Withheld {
        /// Which one.
        why: &'static str,
    },
    /// The run is to be dropped at once.
    #[error("the run was interrupted")]
    Aborted,
    /// The system refused something.
    #[error("cannot {operation}")]
    System {
        /// What was tried.
        operation: &'static str,
        /// Its reason.
        #[source]
        source: io::Error,
    },
    /// Metadata could not be set. Kept apart because a file system says `ENOSPC` to an attribute that is too large for its inode.
    #[error("cannot set {what}")]
    Attribute {
        /// `the owner`, `the mode`, …
        what: &'static str,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// Bytes could not be moved.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// What the device gave back is not what was written.
    #[error("the copy, read back, is not what was written")]
    NotAsWritten,
    /// The content that is displaced could not be kept.
    #[error("cannot keep the old content")]
    Store(#[from] StoreError),
    /// The catalog was not told what is done.
    #[error("the catalog does not know of everything that was done")]
    Catalog(#[source] StoreError),
    /// A worker broke down: a fault of this program.
    #[error("internal error")]
    Internal,
    /// A sync failed at every try.
    #[error("what was written could not be made durable")]
    NotDurable,
}

/// Adds what was tried to an I/O error.
pub(super) trait Tried<T> {
    /// The operation reads `cannot {operation}`.
    fn tried(self, operation: &'static str) -> Result<T, Trouble>;
}

impl<T> Tried<T> for io::Result<T> {
    fn tried(self, operation: &'static str) -> Result<T, Trouble> {
        self.map_err(|source| Trouble::System { operation, source })
    }
}

impl Trouble {
    /// The system's error behind it.
    fn io(&self) -> Option<&io::Error> {
        match self {
            Self::System { source, .. }
            | Self::Attribute { source, .. }
            | Self::Transfer(TransferError::Read { source, .. } | TransferError::Write { source, .. })
            | Self::Store(StoreError::System { source, .. }) => Some(source),
            _ => None,
        }
    }

    /// Whether trying again may help: the reasons that pass by themselves, and bytes that were spoilt on their way. `EIO` is not one: a disk
    /// that fails is asked once.
    pub(super) fn is_passing(&self) -> bool {
        matches!(self, Self::NotAsWritten)
            || self.io().is_some_and(|error| {
                matches!(
                    error.kind(),
                    io::ErrorKind::Interrupted
                        | io::ErrorKind::WouldBlock
                        | io::ErrorKind::StaleNetworkFileHandle
                        | io::ErrorKind::ResourceBusy
                        | io::ErrorKind::TimedOut
                )
            })
    }

    /// Whether what was tried is beyond what the places, or this user's rights, allow, so that a copy is the way.
    pub(super) fn is_beyond_places(&self) -> bool {
        use io::ErrorKind::{CrossesDevices, InvalidInput, PermissionDenied, TooManyLinks, Unsupported};
        self.io().is_some_and(|error| {
            matches!(
                error.kind(),
                CrossesDevices | InvalidInput | PermissionDenied | TooManyLinks | Unsupported
            )
        })
    }

    /// Whether a handle is of no use any more (NFS).
    pub(super) fn is_stale(&self) -> bool {
        self.io().is_some_and(|error| error.kind() == io::ErrorKind::StaleNetworkFileHandle)
    }

    /// Whether the destination has no room (blocks, inodes or quota).
    pub(super) fn is_full(&self) -> bool {
        let full = |error: &io::Error| {
            matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
        };
        match self {
            Self::NoRoom => true,
            Self::Attribute { .. } => false,
            _ => self.io().is_some_and(full),
        }
    }

    /// Whether the destination takes nothing any more.
    pub(super) fn is_read_only(&self) -> bool {
        self.io().is_some_and(|error| error.kind() == io::ErrorKind::ReadOnlyFilesystem)
    }

    /// What kind of failure it is; `None` where nothing failed.
    pub(super) fn kind(&self) -> Option<FailureKind> {
        match self {
            Self::Vanished | Self::Aborted => None,
            Self::Moved { .. } => Some(FailureKind::MovedSince),
            Self::Unsettled => Some(FailureKind::Unsettled),
            Self::Withheld { .. } => Some(FailureKind::Withheld),
            _ if self.is_full() => Some(FailureKind::Full),
            _ => Some(FailureKind::Failed),
        }
    }

    /// The whole chain of reasons, for people.
    pub(super) fn cause(&self) -> String {
        let mut text = self.to_string();
        let mut source = self.source();
        while let Some(error) = source {
            text.push_str(": ");
            text.push_str(&error.to_string());
            source = error.source();
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(kind: io::ErrorKind) -> Trouble {
        Trouble::System { operation: "make the file", source: kind.into() }
    }

    #[test]
    fn reasons_decide_what_follows() {
        assert!(refused(io::ErrorKind::StaleNetworkFileHandle).is_passing());
        assert!(!refused(io::ErrorKind::StorageFull).is_passing());
        assert_eq!(refused(io::ErrorKind::StorageFull).kind(), Some(FailureKind::Full));
        let attribute =
            Trouble::Attribute { what: "extended attributes", source: io::ErrorKind::StorageFull.into() };
        assert_eq!(
            attribute.kind(),
            Some(FailureKind::Failed),
            "an attribute that is too large fills no disk"
        );
        assert_eq!(Trouble::Vanished.kind(), None);
        assert!(refused(io::ErrorKind::ReadOnlyFilesystem).is_read_only());
    }

    #[test]
    fn causes_tell_the_whole_chain_once() {
        assert_eq!(refused(io::ErrorKind::NotFound).cause(), "cannot make the file: entity not found");
        assert_eq!(
            Trouble::Moved { what: "the source changed" }.cause(),
            "the source changed since the plan was made"
        );
    }
}
