//! The digest of a file that is only read, for `compare: hash`.

use std::io;
use std::sync::Arc;

use super::engine::Engine;
use super::extents::Order;
use super::small::Small;
use super::transfer::{Hashing, Holes, TransferError};
use crate::platform::File;
use crate::value::Digest;

impl Engine {
    /// The digest of a file's bytes to its end, for `compare: hash`; past the page cache from `unbuffered_from_bytes` on. Large files go through the
    /// queues and count among the eight that are open; any number of callers may wait here at once, but no `Done`. Of a file that grows
    /// meanwhile it is the digest of its beginning.
    ///
    /// # Errors
    /// See [`TransferError`]; never `Write`.
    pub fn digest(&self, file: &Arc<File>, bytes: u64) -> Result<Digest, TransferError> {
        let copied = if bytes < self.small_below_bytes() {
            Small {
                source: file,
                target: None,
                bytes,
                holes: Holes::Keep,
                hashing: Hashing::Blake3,
                cancel: self.cancel(),
            }
            .copy()?
        } else {
            let order = Order {
                source: Arc::clone(file),
                target: None,
                bytes,
                holes: Holes::Keep,
                hashing: Hashing::Blake3,
                wanted: self.wanted(bytes),
                block_bytes: self.block_bytes(),
            };
            let (answer, answered) = crossbeam_channel::bounded(1);
            self.open(order, Box::new(move |result| drop(answer.send(result))));
            answered.recv().unwrap_or_else(|_| Err(lost()))?
        };
        copied.digest.ok_or_else(lost)
    }
}

fn lost() -> TransferError {
    TransferError::Read { offset: 0, source: io::Error::other("internal error of the engine") }
}
