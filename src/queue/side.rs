//! One side of a transfer: an open file, the way its bytes take, and the way back to the page cache where direct I/O is refused.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::settings::BLOCK_BYTES_MIN;
use crate::platform::{Access, Attributes as _, File};

/// Which side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    /// It is read.
    Source,
    /// It is written.
    Target,
}

/// The way that is wished for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Direct where the place takes it.
    Direct,
    /// The page cache.
    Buffered,
}

/// Devices (`st_dev`) that refused direct I/O, for reading and for writing apart: file systems differ by side.
#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<BTreeSet<(Role, u64)>>);

impl Refusals {
    fn knows(&self, role: Role, device: u64) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&(role, device))
    }

    fn remember(&self, role: Role, device: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert((role, device));
    }

    #[cfg(test)]
    pub(super) fn roles(&self) -> Vec<Role> {
        self.0.lock().unwrap().iter().map(|(role, _)| *role).collect()
    }
}

/// What is asked for where the file system does not say (btrfs, Linux before 6.1): one page fits every device in the field.
const ALIGNMENT_UNKNOWN_BYTES: usize = 4096;

/// One open file of a transfer, used by several threads at once.
#[derive(Debug)]
pub(super) struct Side {
    file: Arc<File>,
    role: Role,
    device: u64,
    /// Of offsets, lengths and memory alike, a power of two that divides every block; 1 where direct I/O never was in question.
    alignment_bytes: usize,
    direct: AtomicBool,
    refusals: Arc<Refusals>,
}

impl Side {
    /// Takes a file that is open buffered, and switches it to direct I/O where that is wanted and possible.
    ///
    /// # Errors
    /// Where its device cannot be asked for.
    pub(super) fn new(
        file: Arc<File>,
        role: Role,
        wanted: Wanted,
        refusals: &Arc<Refusals>,
    ) -> io::Result<Self> {
        let mut side = Self {
            file,
            role,
            device: 0,
            alignment_bytes: 1,
            direct: AtomicBool::new(false),
            refusals: Arc::clone(refusals),
        };
        if wanted == Wanted::Buffered {
            return Ok(side);
        }
        side.device = side.file.meta()?.device;
        let Some(alignment_bytes) = side.alignment() else { return Ok(side) };
        if refusals.knows(role, side.device) {
            return Ok(side);
        }
        match side.file.set_access(Access::Direct) {
            Ok(()) => {
                side.alignment_bytes = alignment_bytes;
                side.direct = AtomicBool::new(true);
            }
            Err(error) if is_refusal(&error) => refusals.remember(role, side.device),
            // Some other reason, of this file alone: the page cache takes it.
            Err(_) => {}
        }
        Ok(side)
    }

    /// What direct I/O on this file asks for; `None` where it is refused.
    fn alignment(&self) -> Option<usize> {
        let Some(said) = self.file.alignment().ok()? else { return Some(ALIGNMENT_UNKNOWN_BYTES) };
        if said.offset_bytes == 0 || said.memory_bytes == 0 {
            return None;
        }
        let bytes = usize::try_from(said.offset_bytes.max(said.memory_bytes)).ok()?;
        (bytes.is_power_of_two() && bytes <= BLOCK_BYTES_MIN).then_some(bytes)
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn alignment_bytes(&self) -> usize {
        self.alignment_bytes
    }

    pub(super) fn is_direct(&self) -> bool {
        self.direct.load(Ordering::Acquire)
    }

    /// Goes back to the page cache; idempotent, so that several threads may find the refusal at once.
    pub(super) fn leave_direct(&self) -> io::Result<()> {
        // The flag after the switch: a thread that sees it clear must not meet direct I/O any more.
        self.file.set_access(Access::Buffered)?;
        self.direct.store(false, Ordering::Release);
        Ok(())
    }

    fn refused(&self) -> io::Result<()> {
        self.refusals.remember(self.role, self.device);
        self.leave_direct()
    }

    /// Fills an aligned buffer from an aligned offset until it is full or the file ends; returns the bytes read. `expected` is how many
    /// there should be: direct I/O that stops short of that at no multiple of the alignment is asked again through the page cache.
    pub(super) fn fill(
        &self,
        buffer: &mut [u8],
        offset: u64,
        expected: usize,
    ) -> Result<usize, (u64, io::Error)> {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            let at = offset + filled as u64;
            let failed = |error| (at, error);
            let direct = self.is_direct();
            match self.file.read_once(rest, at) {
                Ok(0) => break,
                Ok(got) => {
                    filled += got;
                    if direct && !filled.is_multiple_of(self.alignment_bytes) {
                        if filled >= expected {
                            break;
                        }
                        self.leave_direct().map_err(failed)?;
                    }
                }
                Err(error) if direct && is_refusal(&error) => self.refused().map_err(failed)?,
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(filled)
    }

    /// Writes the first `bytes` of an aligned buffer at an aligned offset; direct I/O writes up to the next multiple of the alignment,
    /// which the buffer must hold (as zeros) and which the file's length must be cut from afterwards.
    pub(super) fn put(&self, buffer: &[u8], bytes: usize, offset: u64) -> io::Result<()> {
        loop {
            let direct = self.is_direct();
            let upto = if direct { bytes.next_multiple_of(self.alignment_bytes) } else { bytes };
            let Some(part) = buffer.get(..upto) else { return Err(io::ErrorKind::InvalidInput.into()) };
            match self.file.write_at(part, offset) {
                Err(error) if direct && is_refusal(&error) => self.refused()?,
                written => return written,
            }
        }
    }

    /// Lets the page cache forget a range, where it was used; on dirty pages it starts writing them instead. A hint: failure means nothing.
    pub(super) fn forget(&self, offset: u64, bytes: u64) {
        if !self.is_direct() {
            let _ = self.file.forget_pages(offset, bytes);
        }
    }

    /// Leaves the file as it came, for whoever uses it next.
    pub(super) fn restore(&self) {
        if self.is_direct() {
            let _ = self.leave_direct();
        }
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        self.restore();
    }
}

/// Whether an error is how a place refuses direct I/O (`EINVAL`).
fn is_refusal(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidInput
}
