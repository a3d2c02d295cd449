//! The thread engine: each thread takes an extent, leases a block, reads, lets it be hashed, writes; one block in flight a thread.
//!
//! A thread waits for a block only while it holds none, and hash threads never wait for one, so that blocks always come back.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crossbeam_channel::Sender;

use super::board::{Board, Part};
use super::ceiling::Throttle;
use super::extents::{Layout, Open, Sides, next_data, next_hole};
use super::hash::{Content, HashWork};
use super::meters::Meter;
use super::side::Side;
use super::transfer::{Hashing, TransferError};
use crate::platform::{Lease, Pool};
use crate::value::{Cancel, Wish};

/// One thread's tools.
pub(super) struct Worker {
    pub(super) board: Arc<Board>,
    pub(super) pool: Pool,
    pub(super) cancel: Cancel,
    pub(super) hash: Sender<HashWork>,
    pub(super) meters: Arc<[Meter]>,
    /// Holds back what is written. A thread waits here with its block in hand; nobody waits for that block who has one.
    pub(super) throttle: Option<Arc<Throttle>>,
    /// Which meter is this thread's.
    pub(super) number: usize,
}

/// Dirty pages of the target are being written when their block is dropped first, and clean when this many blocks later it is dropped again.
const DROP_BEHIND_BLOCKS: u64 = 8;

impl Worker {
    /// Works until the board is closed and empty. A panic fails the transfer in hand and no other.
    pub(super) fn work(&self) {
        while let Some((part, index)) = self.board.take() {
            let extent = AssertUnwindSafe(|| self.extent(part, index));
            let _ = catch_unwind(extent);
        }
    }

    #[expect(clippy::needless_pass_by_value, reason = "the part ends with this extent, in a panic too")]
    fn extent(&self, part: Part, index: u64) {
        let open = part.open();
        let Some(sides) = open.sides().filter(|_| !open.is_failed()) else {
            return open.skip_to(u64::MAX);
        };
        if self.cancel.wish() == Wish::Abort {
            return open.fail(TransferError::Aborted);
        }
        if open.is_behind_end(index) {
            return;
        }
        let outcome = match sides.layout {
            Layout::Whole => self.whole(&part, sides, index),
            Layout::Sparse => self.sparse(&part, sides, index),
        };
        if let Err(error) = outcome {
            open.fail(error);
        }
    }

    fn whole(&self, part: &Part, sides: &Sides, index: u64) -> Result<(), TransferError> {
        let open = part.open();
        let (offset, expected) = (open.offset(index), open.expected(index));
        let mut lease = self.pool.lease();
        let block = lease.get_mut(..open.block_bytes()).unwrap_or_default();
        let bytes = self.read(&sides.source, block, offset, expected)?;
        if bytes < block.len() || open.is_last(index) {
            open.note_end(offset + bytes as u64);
        }
        if bytes == 0 {
            return Ok(());
        }
        zero(block, bytes, sides);
        self.pass_on(part, sides, lease, std::slice::from_ref(&(0..bytes)), offset, bytes)
    }

    /// An extent of a file with holes: only its data is read and written. Its length is what was expected, unless the file shrank.
    fn sparse(&self, part: &Part, sides: &Sides, index: u64) -> Result<(), TransferError> {
        let open = part.open();
        let (offset, expected) = (open.offset(index), open.expected(index));
        if expected == 0 {
            return Ok(());
        }
        let end = offset + expected as u64;
        let data = next_data(sides.source.file(), offset);
        let Some(data) = data.filter(|data| *data < end) else {
            return self.hole(part, index, data);
        };
        let mut lease = self.pool.lease();
        let block = lease.get_mut(..open.block_bytes()).unwrap_or_default();
        block.fill(0);
        let (ranges, bytes) = self.read_data(sides, block, offset..end, data)?;
        if bytes < expected {
            open.note_end(offset + bytes as u64);
        }
        if bytes == 0 {
            return Ok(());
        }
        zero(block, bytes, sides);
        self.pass_on(part, sides, lease, &ranges, offset, bytes)
    }

    /// An extent without data, and where the next data is.
    fn hole(&self, part: &Part, index: u64, data: Option<u64>) -> Result<(), TransferError> {
        let open = part.open();
        match open.hashing() {
            Hashing::Blake3 => self.hash(part, Content::Zeros(open.expected(index)), open.offset(index)),
            Hashing::Off => {
                let next = data.map_or(u64::MAX, |data| data / open.block_bytes() as u64);
                open.skip_to(next);
                Ok(())
            }
        }
    }

    /// Reads the data of one extent, from the first of it on; returns its ranges within the block, aligned, and the bytes up to the extent's
    /// end or that of a file which shrank.
    fn read_data(
        &self,
        sides: &Sides,
        block: &mut [u8],
        extent: Range<u64>,
        first: u64,
    ) -> Result<(Vec<Range<usize>>, usize), TransferError> {
        let source = &sides.source;
        let target_alignment = sides.target.as_ref().map_or(1, Side::alignment_bytes);
        let alignment = source.alignment_bytes().max(target_alignment) as u64;
        let within = |at: u64| usize::try_from(at - extent.start).unwrap_or(usize::MAX);
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut at = first;
        loop {
            let hole = next_hole(source.file(), at);
            let from = at - at % alignment;
            let upto = hole.max(at + 1).min(extent.end);
            let (start, stop) = (within(from), within(upto.next_multiple_of(alignment)).min(block.len()));
            let expected = within(upto) - start;
            let got = self.read(source, block.get_mut(start..stop).unwrap_or_default(), from, expected)?;
            if got > 0 {
                ranges.push(start..start + got.min(expected));
            }
            if got < expected {
                return Ok((ranges, start + got));
            }
            match next_data(source.file(), upto).filter(|next| *next < extent.end) {
                Some(next) => at = next.max(upto),
                None => return Ok((ranges, within(extent.end))),
            }
        }
    }

    fn read(
        &self,
        source: &Side,
        buffer: &mut [u8],
        offset: u64,
        expected: usize,
    ) -> Result<usize, TransferError> {
        let meter = self.meters.get(self.number);
        let _flight = meter.map(Meter::flight);
        let bytes = source.fill(buffer, offset, expected).map_err(|(at, error)| read_error(at, error))?;
        if let Some(meter) = meter {
            meter.add_read(bytes);
        }
        if bytes > 0 {
            source.forget(offset, bytes as u64);
        }
        Ok(bytes)
    }

    /// Lets the first `bytes` of a block be hashed, and writes its ranges; the block goes back when both are done.
    fn pass_on(
        &self,
        part: &Part,
        sides: &Sides,
        lease: Lease,
        ranges: &[Range<usize>],
        offset: u64,
        bytes: usize,
    ) -> Result<(), TransferError> {
        let block = Arc::new(lease);
        if part.open().hashing() == Hashing::Blake3 {
            self.hash(part, Content::Block(Arc::clone(&block), bytes), offset)?;
        }
        let Some(target) = &sides.target else { return Ok(()) };
        for range in ranges {
            self.write(part.open(), target, &block, range.clone(), offset)?;
        }
        Ok(())
    }

    fn write(
        &self,
        open: &Open,
        target: &Side,
        block: &[u8],
        range: Range<usize>,
        offset: u64,
    ) -> Result<(), TransferError> {
        let at = offset + range.start as u64;
        if let Some(throttle) = &self.throttle {
            throttle.pass(range.len());
            if self.cancel.wish() == Wish::Abort {
                return Err(TransferError::Aborted);
            }
        }
        let meter = self.meters.get(self.number);
        let _flight = meter.map(Meter::flight);
        let rest = block.get(range.start..).unwrap_or_default();
        target.put(rest, range.len(), at).map_err(|source| TransferError::Write { offset: at, source })?;
        if let Some(meter) = meter {
            meter.add_written(range.len());
        }
        target.forget(at, range.len() as u64);
        let block_bytes = open.block_bytes() as u64;
        if let Some(behind) = offset.checked_sub(DROP_BEHIND_BLOCKS * block_bytes) {
            target.forget(behind, block_bytes);
        }
        Ok(())
    }

    /// Waits for the hash threads where they are behind; these never wait for this one.
    fn hash(&self, part: &Part, content: Content, offset: u64) -> Result<(), TransferError> {
        let work = HashWork { content, offset, part: part.share() };
        self.hash
            .send(work)
            .map_err(|_| read_error(offset, std::io::Error::other("the hash threads are gone")))
    }
}

fn read_error(offset: u64, source: std::io::Error) -> TransferError {
    TransferError::Read { offset, source }
}

/// Clears what direct I/O writes behind the last byte: a block holds other files' bytes.
fn zero(block: &mut [u8], bytes: usize, sides: &Sides) {
    let alignment = sides.target.as_ref().map_or(1, Side::alignment_bytes);
    if let Some(rest) = block.get_mut(bytes..bytes.next_multiple_of(alignment)) {
        rest.fill(0);
    }
}
