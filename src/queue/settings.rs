//! How an engine is built, and what that comes to within its memory.

use std::io;

/// Which way bytes may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Direct I/O from `unbuffered_from_bytes` on, the page cache below and where direct I/O is refused.
    Auto,
    /// Always the page cache, dropped behind.
    Buffered,
    /// Direct I/O for every file of at least one block, where the place takes it.
    Unbuffered,
}

/// How an engine is built. Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Which way bytes may take.
    pub route: Route,
    /// I/O workers, 1 … 64. The thread engine has at most 16 threads, `queues × depth` of them.
    pub queues: usize,
    /// Blocks in flight per queue, 1 … 64.
    pub depth: usize,
    /// Block size: a power of two, 64 KiB … 4 MiB.
    pub block_bytes: usize,
    /// Files from this size on bypass the page cache.
    pub unbuffered_from_bytes: u64,
    /// All buffers together.
    pub memory_bytes: u64,
    /// Threads that hash, at least 1.
    pub hash_workers: usize,
}

/// The smallest block, a multiple of every alignment that direct I/O asks for (at most 4 KiB in the field).
pub(super) const BLOCK_BYTES_MIN: usize = 64 << 10;
const BLOCK_BYTES_MAX: usize = 4 << 20;
/// One block is in flight a thread; more threads than this only wait for one another.
const THREADS_MAX: usize = 16;
const HASH_WORKERS_MAX: usize = 64;
/// Fewer blocks than this and reading, writing and hashing take turns: smaller blocks are better then.
const BLOCKS_MIN: u64 = 4;

/// Settings brought within their bounds and their memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) block_bytes: usize,
    pub(super) queues: usize,
    /// Threads, so blocks in flight, of each queue.
    pub(super) depth: usize,
    pub(super) hash_workers: usize,
    /// Blocks that wait to be hashed.
    pub(super) hash_channel: usize,
    /// Blocks of the pool.
    pub(super) blocks: usize,
}

impl Settings {
    /// The sizes of an engine that stays within `memory_bytes`: depth gives way first, then queues, then the block's size.
    pub(super) fn sizes(&self) -> io::Result<Sizes> {
        let invalid = |text: &str| io::Error::new(io::ErrorKind::InvalidInput, text.to_owned());
        if !self.block_bytes.is_power_of_two() {
            return Err(invalid("a block's size is a power of two"));
        }
        let mut block_bytes = self.block_bytes.clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX);
        while block_bytes > BLOCK_BYTES_MIN && self.memory_bytes / (block_bytes as u64) < BLOCKS_MIN {
            block_bytes /= 2;
        }
        let room = usize::try_from(self.memory_bytes / block_bytes as u64).unwrap_or(usize::MAX);
        if room == 0 {
            return Err(invalid("the memory holds not even one block of 64 KiB"));
        }
        let hash_workers = self.hash_workers.clamp(1, HASH_WORKERS_MAX);
        let queues = self.queues.clamp(1, THREADS_MAX);
        let depth = self.depth.clamp(1, THREADS_MAX / queues);
        let mut sizes =
            Sizes { block_bytes, queues, depth, hash_workers, hash_channel: 2 * hash_workers, blocks: 0 };
        while sizes.wanted() > room && sizes.shrink() {}
        // With fewer blocks than wanted workers wait for one another, each holding none: slower, never stuck.
        sizes.blocks = sizes.wanted().min(room);
        Ok(sizes)
    }
}

impl Sizes {
    /// Blocks that can be held at once: in flight, waiting to be hashed, being hashed.
    fn wanted(&self) -> usize {
        self.queues * self.depth + self.hash_channel + self.hash_workers.max(2)
    }

    fn shrink(&mut self) -> bool {
        for (size, least) in [
            (&mut self.depth, 1),
            (&mut self.queues, 1),
            (&mut self.hash_channel, 1),
            (&mut self.hash_workers, 1),
        ] {
            if *size > least {
                *size -= 1;
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(queues: usize, depth: usize, block_bytes: usize, memory_bytes: u64) -> Settings {
        Settings {
            route: Route::Auto,
            queues,
            depth,
            block_bytes,
            unbuffered_from_bytes: 1 << 18,
            memory_bytes,
            hash_workers: 2,
        }
    }

    #[test]
    fn sizes_stay_within_memory_and_threads() {
        for queues in [0, 1, 4, 64] {
            for depth in [0, 1, 4, 64] {
                for block_bytes in [1, 64 << 10, 1 << 20, 4 << 20, 1 << 30] {
                    for memory in [64 << 10, 1 << 20, 8 << 20, 256 << 20, u64::MAX] {
                        let sizes = settings(queues, depth, block_bytes, memory).sizes().unwrap();
                        let bytes = sizes.blocks as u64 * sizes.block_bytes as u64;
                        assert!(bytes <= memory && sizes.blocks > 0, "{sizes:?} in {memory}");
                        assert!(
                            sizes.queues * sizes.depth <= THREADS_MAX && sizes.queues > 0 && sizes.depth > 0
                        );
                        assert!(sizes.block_bytes.is_power_of_two() && sizes.block_bytes >= BLOCK_BYTES_MIN);
                    }
                }
            }
        }
    }

    #[test]
    fn the_usual_settings_are_taken_as_they_are() {
        let sizes = settings(1, 4, 1 << 20, 256 << 20).sizes().unwrap();
        assert_eq!((sizes.queues, sizes.depth, sizes.block_bytes, sizes.blocks), (1, 4, 1 << 20, 10));
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(settings(1, 1, 100_000, 256 << 20).sizes().is_err());
        assert!(settings(1, 1, 1 << 20, 1000).sizes().is_err());
    }
}
