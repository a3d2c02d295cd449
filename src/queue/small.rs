//! Small files, and files of unknown size: copied and hashed on the calling thread, through the page cache, to their end.

use std::cell::RefCell;
use std::io;

use super::ceiling::Throttle;
use super::extents::{Layout, layout, next_data, next_hole};
use super::hash::update_zeros;
use super::transfer::{Copied, Hashing, Holes, TransferError};
use crate::platform::File;
use crate::value::{Cancel, Digest, Wish};

/// One read; most small files need one, and one more to see their end.
const SCRATCH_BYTES: usize = 128 << 10;
/// How far a file may go on behind the length that was said. Pseudo files say 0 and have some KiB; what goes further has no end, or is written
/// faster than it is read.
const BYTES_BEYOND_MAX: u64 = 1 << 30;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// One small file to be copied, or, without a target, to be hashed.
pub(super) struct Small<'a> {
    pub(super) source: &'a File,
    pub(super) target: Option<&'a File>,
    pub(super) bytes: u64,
    pub(super) holes: Holes,
    pub(super) hashing: Hashing,
    pub(super) cancel: &'a Cancel,
    /// Holds back what is written.
    pub(super) throttle: Option<&'a Throttle>,
}

impl Small<'_> {
    pub(super) fn copy(&self) -> Result<Copied, TransferError> {
        let mut hasher = (self.hashing == Hashing::Blake3).then(blake3::Hasher::new);
        let layout = layout(self.source, self.bytes, self.holes)
            .map_err(|source| TransferError::Read { offset: 0, source })?;
        let bytes = SCRATCH.with_borrow_mut(|scratch| {
            scratch.resize(SCRATCH_BYTES, 0);
            match layout {
                Layout::Whole => self.data(0, u64::MAX, scratch, &mut hasher),
                Layout::Sparse => self.sparse(scratch, &mut hasher),
            }
        })?;
        let digest = hasher.map(|hasher| Digest(*hasher.finalize().as_bytes()));
        Ok(Copied { bytes, digest })
    }

    fn limit(&self) -> u64 {
        self.bytes.saturating_add(BYTES_BEYOND_MAX)
    }

    fn check(&self, offset: u64) -> Result<(), TransferError> {
        if self.cancel.wish() == Wish::Abort {
            return Err(TransferError::Aborted);
        }
        if offset > self.limit() {
            let source = io::Error::new(io::ErrorKind::FileTooLarge, "the file has no end in sight");
            return Err(TransferError::Read { offset, source });
        }
        Ok(())
    }

    /// Copies from one offset up to another or the end of the file; returns where it stopped.
    fn data(
        &self,
        from: u64,
        upto: u64,
        scratch: &mut [u8],
        hasher: &mut Option<blake3::Hasher>,
    ) -> Result<u64, TransferError> {
        let mut offset = from;
        while offset < upto {
            self.check(offset)?;
            let wanted = usize::try_from(upto - offset).unwrap_or(usize::MAX).min(scratch.len());
            let buffer = scratch.get_mut(..wanted).unwrap_or_default();
            let got = self
                .source
                .read_at(buffer, offset)
                .map_err(|source| TransferError::Read { offset, source })?;
            let read = buffer.get(..got).unwrap_or_default();
            if let Some(hasher) = hasher {
                hasher.update(read);
            }
            if let Some(target) = self.target.filter(|_| got > 0) {
                if let Some(throttle) = self.throttle {
                    throttle.pass(got);
                }
                target.write_at(read, offset).map_err(|source| TransferError::Write { offset, source })?;
            }
            offset += got as u64;
            if got < wanted {
                break;
            }
        }
        Ok(offset)
    }

    fn zeros(&self, from: u64, upto: u64, hasher: &mut Option<blake3::Hasher>) -> Result<(), TransferError> {
        let mut offset = from;
        while offset < upto {
            self.check(offset)?;
            let Some(hasher) = hasher else { break };
            let part = (upto - offset).min(1 << 20);
            update_zeros(hasher, part);
            offset += part;
        }
        Ok(())
    }

    fn sparse(&self, scratch: &mut [u8], hasher: &mut Option<blake3::Hasher>) -> Result<u64, TransferError> {
        let lengthen = |end: u64| match self.target {
            Some(target) => {
                target.set_length(end).map_err(|source| TransferError::Write { offset: end, source })
            }
            None => Ok(()),
        };
        // First of all: some places take no write beyond a file's end.
        lengthen(self.bytes)?;
        let mut at = 0;
        let end = loop {
            let Some(data) = next_data(self.source, at) else {
                let end = self.bytes.max(at);
                self.zeros(at, end, hasher)?;
                break end;
            };
            self.zeros(at, data, hasher)?;
            let hole = next_hole(self.source, data).max(data + 1);
            at = self.data(data, hole, scratch, hasher)?;
            if at < hole {
                break at;
            }
        };
        lengthen(end)?;
        Ok(end)
    }
}
