//! Digests of files that are only read: for `compare: hash`, and past the page cache for reading back.

use std::io;
use std::sync::Arc;

use super::engine::Engine;
use super::extents::{Concluded, Order};
use super::side::{Role, Side, Wanted};
use super::small::Small;
use super::transfer::{Copied, Hashing, Holes, TransferError};
use crate::platform::{Access, File};
use crate::value::Digest;

/// What a file held when it was read past the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uncached {
    /// Of its bytes.
    pub digest: Digest,
    /// Whether it is known that all of them came from below the page cache. `false` where the place refuses direct I/O and either holds files
    /// in memory alone, or has them in use elsewhere, or does not tell what it holds.
    pub past_cache: bool,
}

impl Engine {
    /// The digest of a file's bytes to its end, for `compare: hash`; past the page cache from `unbuffered_from_bytes` on. Large files go through the
    /// queues and count among the eight that are open; any number of callers may wait here at once, but no `Done`. Of a file that grows
    /// meanwhile it is the digest of its beginning.
    ///
    /// # Errors
    /// See [`TransferError`]; never `Write`.
    pub fn digest(&self, file: &Arc<File>, bytes: u64) -> Result<Digest, TransferError> {
        let copied = if bytes < self.small_below_bytes() {
            self.digest_small(file, bytes)?
        } else {
            self.digest_queued(file, bytes, self.wanted(bytes))?.copied
        };
        copied.digest.ok_or_else(lost)
    }

    /// The digest of a file's bytes as the device has them: by direct I/O whatever its size and whatever the engine's route; where the place
    /// refuses that, what is dirty is written, the pages are dropped, and the file is read through the page cache. Holes are not read. Callers
    /// may wait here as for [`Engine::digest`]. The file is opened for reading, buffered, and is so again afterwards.
    ///
    /// # Errors
    /// Those of reading and of `fsync(2)`; `Interrupted` where the run is being aborted.
    pub fn digest_uncached(&self, file: &Arc<File>, bytes: u64) -> io::Result<Uncached> {
        if self.takes_direct(file)? {
            let direct = self.digest_queued(file, bytes, Wanted::Direct).map_err(plain)?;
            // A refusal may come as late as with a read.
            if direct.access == Access::Direct {
                let digest = direct.copied.digest.ok_or_else(|| plain(lost()))?;
                return Ok(Uncached { digest, past_cache: true });
            }
        }
        drop_pages(file)?;
        let past_cache = file.cached_pages() == Some(0);
        let copied = if bytes < self.small_below_bytes() {
            self.digest_small(file, bytes).map_err(plain)?
        } else {
            self.digest_queued(file, bytes, Wanted::Buffered).map_err(plain)?.copied
        };
        let digest = copied.digest.ok_or_else(|| plain(lost()))?;
        Ok(Uncached { digest, past_cache })
    }

    fn takes_direct(&self, file: &Arc<File>) -> io::Result<bool> {
        Ok(Side::new(Arc::clone(file), Role::Source, Wanted::Direct, self.refusals())?.is_direct())
    }

    fn digest_small(&self, file: &File, bytes: u64) -> Result<Copied, TransferError> {
        Small {
            source: file,
            target: None,
            bytes,
            holes: Holes::Keep,
            hashing: Hashing::Blake3,
            cancel: self.cancel(),
            throttle: None,
        }
        .copy()
    }

    fn digest_queued(
        &self,
        file: &Arc<File>,
        bytes: u64,
        wanted: Wanted,
    ) -> Result<Concluded, TransferError> {
        let order = Order {
            source: Arc::clone(file),
            target: None,
            bytes,
            holes: Holes::Keep,
            hashing: Hashing::Blake3,
            wanted,
            block_bytes: self.block_bytes(),
        };
        let (answer, answered) = crossbeam_channel::bounded(1);
        self.open(order, Box::new(move |result| drop(answer.send(result))));
        answered.recv().unwrap_or_else(|_| Err(lost()))
    }
}

/// Has what is dirty written and the pages dropped. A place that cannot sync has nothing to be written, as one that is read-only.
fn drop_pages(file: &File) -> io::Result<()> {
    match file.sync() {
        Err(error)
            if !matches!(
                error.kind(),
                io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported | io::ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            return Err(error);
        }
        _ => {}
    }
    // A hint: whether it was followed is asked afterwards.
    let _ = file.forget_pages(0, 0);
    Ok(())
}

fn plain(error: TransferError) -> io::Error {
    let kind = match &error {
        TransferError::Read { source, .. } | TransferError::Write { source, .. } => source.kind(),
        TransferError::Aborted => io::ErrorKind::Interrupted,
    };
    io::Error::new(kind, error)
}

fn lost() -> TransferError {
    TransferError::Read { offset: 0, source: io::Error::other("internal error of the engine") }
}
