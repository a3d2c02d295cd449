//! The running engine: its threads, and the way in.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use super::board::Board;
use super::ceiling::{Ceiling, Throttle};
use super::extents::{Open, Order, Reply};
use super::hash::hash_all;
use super::meters::{Meter, QueueMeter};
use super::settings::{Route, Settings, Sizes};
use super::side::{Refusals, Wanted};
use super::small::Small;
use super::threads::Worker;
use super::transfer::{Copied, Done, Transfer, TransferError};
use crate::platform::Pool;
use crate::value::Cancel;

/// The running engine; dropped, it finishes what it has and joins its threads (so never let a `Done` hold the last handle to it).
pub struct Engine {
    sizes: Sizes,
    route: Route,
    unbuffered_from_bytes: u64,
    cancel: Cancel,
    board: Arc<Board>,
    meters: Arc<[Meter]>,
    refusals: Arc<Refusals>,
    throttle: Option<Arc<Throttle>>,
    /// Workers before hash threads: these end when no worker is left to send them anything.
    threads: Vec<JoinHandle<()>>,
}

impl fmt::Debug for Engine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Engine").field("sizes", &self.sizes).finish_non_exhaustive()
    }
}

impl Engine {
    /// Starts the threads. An `Abort` wish ends transfers with [`TransferError::Aborted`]. Depth, then queues, then the block's size give way
    /// where `memory_bytes` is too small for all.
    ///
    /// # Errors
    /// Where memory or threads cannot be had; `InvalidInput` for a block that is no power of two, or memory below 64 KiB.
    pub fn start(settings: &Settings, cancel: &Cancel) -> io::Result<Self> {
        Self::start_with(settings, cancel, None)
    }

    /// As [`Engine::start`], for an engine that writes no faster than a ceiling allows, over all queues and small copies together. What is only
    /// read, for comparing and for reading back, is not limited. A raised wish to stop lifts the ceiling.
    ///
    /// # Errors
    /// As [`Engine::start`].
    pub fn start_below(ceiling: Ceiling, settings: &Settings, cancel: &Cancel) -> io::Result<Self> {
        Self::start_with(settings, cancel, Throttle::new(ceiling, cancel).map(Arc::new))
    }

    fn start_with(settings: &Settings, cancel: &Cancel, throttle: Option<Arc<Throttle>>) -> io::Result<Self> {
        let sizes = settings.sizes()?;
        let pool = Pool::new(sizes.block_bytes, sizes.blocks)?;
        let workers = sizes.queues * sizes.depth;
        let mut engine = Self {
            sizes,
            route: settings.route,
            unbuffered_from_bytes: settings.unbuffered_from_bytes,
            cancel: cancel.clone(),
            board: Arc::default(),
            meters: (0..workers).map(|_| Meter::default()).collect(),
            refusals: Arc::default(),
            throttle,
            threads: Vec::new(),
        };
        let (hash, hash_work) = crossbeam_channel::bounded(sizes.hash_channel);
        for number in 0..workers {
            let worker = Worker {
                board: Arc::clone(&engine.board),
                pool: pool.clone(),
                cancel: cancel.clone(),
                hash: hash.clone(),
                meters: Arc::clone(&engine.meters),
                throttle: engine.throttle.clone(),
                number,
            };
            engine.spawn(format!("queue-{}-{}", number / sizes.depth, number % sizes.depth), move || {
                worker.work();
            })?;
        }
        drop(hash);
        for number in 0..sizes.hash_workers {
            let hash_work = hash_work.clone();
            engine.spawn(format!("hash-{number}"), move || hash_all(&hash_work))?;
        }
        Ok(engine)
    }

    /// Starts one thread; should that fail, dropping the engine ends those that were started.
    fn spawn(&mut self, name: String, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.threads.push(Builder::new().name(name).spawn(body)?);
        Ok(())
    }

    /// Size from which [`Engine::submit`] is the better way; below it, [`Engine::copy_small`]. At least 1, at most one block.
    #[must_use]
    pub fn small_below_bytes(&self) -> u64 {
        let block_bytes = self.sizes.block_bytes as u64;
        match self.route {
            Route::Auto => self.unbuffered_from_bytes.clamp(1, block_bytes),
            Route::Buffered | Route::Unbuffered => block_bytes,
        }
    }

    /// Queues a transfer; waits while eight are open. `done` is called exactly once. The target's length and room are settled on the calling
    /// thread. On success the bytes are in the target's page cache or on its device's queue, not durable.
    pub fn submit(&self, transfer: Transfer, done: Done) {
        let order = Order {
            source: Arc::clone(&transfer.source),
            target: Some(Arc::clone(&transfer.target)),
            bytes: transfer.bytes,
            holes: transfer.holes,
            hashing: transfer.hashing,
            wanted: self.wanted(transfer.bytes),
            block_bytes: self.sizes.block_bytes,
        };
        self.open(order, Box::new(move |result| done(transfer, result.map(|concluded| concluded.copied))));
    }

    pub(super) fn open(&self, order: Order, reply: Reply) {
        self.board.reserve();
        self.board.post(Open::new(order, &self.refusals, reply));
    }

    /// Copies a small file, or one whose size is unknown (0 in a pseudo file system), on the calling thread: to its end, whatever `transfer.bytes`
    /// says, up to 1 GiB beyond that.
    ///
    /// # Errors
    /// See [`TransferError`]; `Read` with `FileTooLarge` where the file has no end in sight.
    pub fn copy_small(&self, transfer: &Transfer) -> Result<Copied, TransferError> {
        Small {
            source: &transfer.source,
            target: Some(&transfer.target),
            bytes: transfer.bytes,
            holes: transfer.holes,
            hashing: transfer.hashing,
            cancel: &self.cancel,
            throttle: self.throttle.as_deref(),
        }
        .copy()
    }

    /// One meter a queue.
    #[must_use]
    pub fn meters(&self) -> Vec<QueueMeter> {
        self.meters.chunks(self.sizes.depth).map(Meter::sum).collect()
    }

    pub(super) fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    pub(super) fn block_bytes(&self) -> usize {
        self.sizes.block_bytes
    }

    /// The way that a file of this length should take.
    pub(super) fn wanted(&self, bytes: u64) -> Wanted {
        let from_bytes = match self.route {
            Route::Auto => self.unbuffered_from_bytes,
            Route::Buffered => return Wanted::Buffered,
            Route::Unbuffered => self.sizes.block_bytes as u64,
        };
        if bytes >= from_bytes { Wanted::Direct } else { Wanted::Buffered }
    }

    pub(super) fn refusals(&self) -> &Arc<Refusals> {
        &self.refusals
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.board.close();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
