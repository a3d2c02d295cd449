//! Meters: one cache line a thread, written by that thread alone, sampled by whoever likes.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What one queue does, sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueMeter {
    /// Bytes read so far.
    pub read_bytes: u64,
    /// Bytes written so far.
    pub written_bytes: u64,
    /// Blocks in flight now.
    pub in_flight: u32,
}

/// One thread's meter. 128 bytes: two lines are fetched together on `x86_64`, and one line has 128 bytes on some arm64.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Meter {
    read_bytes: AtomicU64,
    written_bytes: AtomicU64,
    in_flight: AtomicU32,
}

/// A block is in flight while this lives.
pub(super) struct Flight<'a>(&'a Meter);

impl Meter {
    pub(super) fn flight(&self) -> Flight<'_> {
        self.in_flight.store(1, Ordering::Relaxed);
        Flight(self)
    }

    pub(super) fn add_read(&self, bytes: usize) {
        self.read_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn add_written(&self, bytes: usize) {
        self.written_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// The sum of one queue's threads.
    pub(super) fn sum(meters: &[Self]) -> QueueMeter {
        meters.iter().fold(QueueMeter::default(), |sum, meter| QueueMeter {
            read_bytes: sum.read_bytes + meter.read_bytes.load(Ordering::Relaxed),
            written_bytes: sum.written_bytes + meter.written_bytes.load(Ordering::Relaxed),
            in_flight: sum.in_flight + meter.in_flight.load(Ordering::Relaxed),
        })
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.store(0, Ordering::Relaxed);
    }
}
