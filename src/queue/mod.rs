//! Moves bytes between open files: buffer pool, I/O queues, extents, digests. Knows no names and no plan.
//!
//! In come pairs of open files; out come the bytes in the target (in its page cache or on its device, not yet durable) and the BLAKE3 of
//! what passed through. It never opens, renames or syncs anything.
//!
//! A file is cut into extents of one block each. `board` lists the open transfers, at most eight; each worker of `threads` (the engine)
//! takes an extent of the oldest, reads it through `side` (direct or buffered), shares the block with `hash` and writes it. Whoever ends the last
//! part of a transfer finishes it (`extents`). A ring engine will stand beside `threads`, on the same board, pool and hash threads.

mod board;
mod ceiling;
mod digest;
mod engine;
mod extents;
mod hash;
mod meters;
mod settings;
mod side;
mod small;
mod threads;
mod transfer;

#[cfg(test)]
mod tests;

pub use ceiling::Ceiling;
pub use digest::Uncached;
pub use engine::Engine;
pub use meters::QueueMeter;
pub use settings::{Route, Settings};
pub use transfer::{Copied, Done, Hashing, Holes, Transfer, TransferError};
