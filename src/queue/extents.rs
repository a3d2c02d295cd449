//! One open transfer: its extents, what became of them, and its end.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::hash::Tree;
use super::side::{Refusals, Role, Side, Wanted};
use super::transfer::{Copied, Hashing, Holes, TransferError};
use crate::platform::{Access, Attributes as _, File};

/// What a transfer gave, and how its source was reached at the end.
pub(super) struct Concluded {
    pub(super) copied: Copied,
    pub(super) access: Access,
}

/// Takes the answer of a transfer.
pub(super) type Reply = Box<dyn FnOnce(Result<Concluded, TransferError>) + Send>;

/// What an open transfer is made from.
pub(super) struct Order {
    pub(super) source: Arc<File>,
    /// `None` where only the digest is wanted.
    pub(super) target: Option<Arc<File>>,
    pub(super) bytes: u64,
    pub(super) holes: Holes,
    pub(super) hashing: Hashing,
    pub(super) wanted: Wanted,
    pub(super) block_bytes: usize,
}

/// Whether holes are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// All bytes are read.
    Whole,
    /// Only data is read; the length is the one that was asked for.
    Sparse,
}

/// Both sides, ready.
pub(super) struct Sides {
    pub(super) source: Side,
    pub(super) target: Option<Side>,
    pub(super) layout: Layout,
}

/// A transfer in work, shared by all threads.
///
/// Extents are numbered from 0; the last one reaches over the end that was asked for (and is empty where that end is a multiple of the
/// block), so that bytes which the source has grown by are met, one block of them at most: no endless chase.
pub(super) struct Open {
    sides: Option<Sides>,
    bytes: u64,
    hashing: Hashing,
    block_bytes: usize,
    count: u64,
    /// The next extent that nobody has taken.
    next: AtomicU64,
    /// Extents nobody has taken, and parts (see `Part`) that have not ended.
    left: AtomicU64,
    /// Where the target ends: the least end of an extent that was not full.
    end: AtomicU64,
    failed: AtomicBool,
    failure: Mutex<Option<TransferError>>,
    tree: Mutex<Tree>,
    reply: Mutex<Option<Reply>>,
}

impl Open {
    /// Prepares both files. What fails here is answered like any later failure, on a thread of the engine.
    pub(super) fn new(order: Order, refusals: &Arc<Refusals>, reply: Reply) -> Self {
        let (bytes, hashing, block_bytes) = (order.bytes, order.hashing, order.block_bytes);
        let (sides, failure) = match prepare(order, refusals) {
            Ok(sides) => (Some(sides), None),
            Err(error) => (None, Some(error)),
        };
        let count = bytes / block_bytes as u64 + 1;
        let sparse = sides.as_ref().is_some_and(|sides| sides.layout == Layout::Sparse);
        Self {
            sides,
            bytes,
            hashing,
            block_bytes,
            count,
            next: AtomicU64::new(0),
            left: AtomicU64::new(count),
            end: AtomicU64::new(if sparse { bytes } else { u64::MAX }),
            failed: AtomicBool::new(failure.is_some()),
            failure: Mutex::new(failure),
            tree: Mutex::new(Tree::new(block_bytes)),
            reply: Mutex::new(Some(reply)),
        }
    }

    pub(super) fn hashing(&self) -> Hashing {
        self.hashing
    }

    pub(super) fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    /// Both sides; `None` where preparing them failed.
    pub(super) fn sides(&self) -> Option<&Sides> {
        self.sides.as_ref()
    }

    pub(super) fn offset(&self, index: u64) -> u64 {
        index * self.block_bytes as u64
    }

    /// Bytes that an extent holds if the source is as long as was said.
    pub(super) fn expected(&self, index: u64) -> usize {
        let rest = self.bytes.saturating_sub(self.offset(index));
        usize::try_from(rest).unwrap_or(usize::MAX).min(self.block_bytes)
    }

    /// Takes the next extent.
    pub(super) fn claim(&self) -> Option<u64> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        (index < self.count).then_some(index)
    }

    /// Lets the extents before `index` that nobody has taken go untouched. Only while a part is held, so that this never ends the transfer.
    pub(super) fn skip_to(&self, index: u64) {
        let index = index.min(self.count);
        let next = self.next.fetch_max(index, Ordering::Relaxed);
        self.left.fetch_sub(index.saturating_sub(next), Ordering::AcqRel);
    }

    pub(super) fn add_part(&self) {
        self.left.fetch_add(1, Ordering::AcqRel);
    }

    /// Ends a part; true for whoever ends the last one.
    pub(super) fn end_part(&self) -> bool {
        self.left.fetch_sub(1, Ordering::AcqRel) == 1
    }

    pub(super) fn is_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Notes why the transfer stops, the first reason only, and takes no further extent.
    pub(super) fn fail(&self, error: TransferError) {
        lock(&self.failure).get_or_insert(error);
        self.failed.store(true, Ordering::Release);
        self.skip_to(self.count);
    }

    /// A thread of the engine panicked.
    pub(super) fn fail_internally(&self) {
        self.fail(TransferError::Write {
            offset: 0,
            source: io::Error::other("internal error of the engine"),
        });
    }

    /// Notes that the source ends within or before an extent, at `end`; what is behind needs no work.
    pub(super) fn note_end(&self, end: u64) {
        self.end.fetch_min(end, Ordering::AcqRel);
        self.skip_to(self.count);
    }

    /// Whether an extent lies behind the source's end as found by now.
    pub(super) fn is_behind_end(&self, index: u64) -> bool {
        self.offset(index) >= self.end.load(Ordering::Acquire)
    }

    /// Whether this is the extent that reaches over the end that was asked for.
    pub(super) fn is_last(&self, index: u64) -> bool {
        index + 1 == self.count
    }

    pub(super) fn tree(&self) -> MutexGuard<'_, Tree> {
        lock(&self.tree)
    }

    /// Ends the transfer: exact length, files as they came, the place on the board, the answer, in this order.
    pub(super) fn finish(&self, release: impl FnOnce()) {
        let failure = lock(&self.failure).take();
        let result = match failure {
            Some(error) => Err(error),
            None => self.conclude(),
        };
        if let Some(sides) = &self.sides {
            for side in std::iter::once(&sides.source).chain(&sides.target) {
                side.forget(0, 0);
                side.restore();
            }
        }
        release();
        let reply = lock(&self.reply).take();
        if let Some(reply) = reply {
            reply(result);
        }
    }

    fn conclude(&self) -> Result<Concluded, TransferError> {
        let end = self.end.load(Ordering::Acquire);
        if let Some(target) = self.sides.as_ref().and_then(|sides| sides.target.as_ref()) {
            target.file().set_length(end).map_err(|source| TransferError::Write { offset: end, source })?;
        }
        let digest = match self.hashing {
            Hashing::Off => None,
            Hashing::Blake3 => {
                let source = || io::Error::other("internal error: a part of the digest is missing");
                let lost = || TransferError::Read { offset: 0, source: source() };
                Some(self.tree().root(end).ok_or_else(lost)?)
            }
        };
        // Direct I/O is only ever left: what ends direct was direct throughout.
        let direct = self.sides.as_ref().is_some_and(|sides| sides.source.is_direct());
        let access = if direct { Access::Direct } else { Access::Buffered };
        Ok(Concluded { copied: Copied { bytes: end, digest }, access })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn prepare(order: Order, refusals: &Arc<Refusals>) -> Result<Sides, TransferError> {
    let read = |source| TransferError::Read { offset: 0, source };
    let write = |source| TransferError::Write { offset: 0, source };
    let layout = layout(&order.source, order.bytes, order.holes).map_err(read)?;
    let source = Side::new(order.source, Role::Source, order.wanted, refusals).map_err(read)?;
    let target = match order.target {
        None => None,
        Some(file) => {
            let side = Side::new(file, Role::Target, order.wanted, refusals).map_err(write)?;
            if side.is_direct() {
                make_room(side.file(), order.bytes, layout).map_err(write)?;
            }
            Some(side)
        }
    };
    Ok(Sides { source, target, layout })
}

/// Holes are looked for only where fewer bytes are allocated than the file is long.
pub(super) fn layout(source: &File, bytes: u64, holes: Holes) -> io::Result<Layout> {
    if holes == Holes::Fill || bytes == 0 {
        return Ok(Layout::Whole);
    }
    let meta = source.meta()?;
    Ok(if meta.allocated < meta.size { Layout::Sparse } else { Layout::Whole })
}

/// The next data at or after an offset; `None` where only a hole is left. Where the system fails to tell, it is data: reading finds the truth.
pub(super) fn next_data(source: &File, offset: u64) -> Option<u64> {
    source.next_data(offset).unwrap_or(Some(offset))
}

/// Where the data at an offset ends; never, where the system fails to tell, as behind the end of a file that has just shrunk.
pub(super) fn next_hole(source: &File, offset: u64) -> u64 {
    source.next_hole(offset).unwrap_or(u64::MAX)
}

/// Gives the target its length before direct writes, which are slow where they lengthen a file, and its room where it will be full.
fn make_room(target: &File, bytes: u64, layout: Layout) -> io::Result<()> {
    if layout == Layout::Whole {
        match target.allocate(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
            allocated => return allocated,
        }
    }
    target.set_length(bytes)
}
