//! Memory for I/O: one mapping of huge pages, cut into equal blocks that are leased out.
//!
//! Direct I/O on 4 KiB pages is split into many requests; buffers from huge pages double its rate (PERF.md, finding 1).

use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use rustix::mm::{Advice, MapFlags, ProtFlags};

/// The size and alignment of a huge page on `x86_64` and, with 4 KiB base pages, on arm64.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Equal, aligned blocks of memory; clones share them.
#[derive(Clone, Debug)]
pub struct Pool {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    mapping: NonNull<u8>,
    mapping_bytes: usize,
    block_bytes: usize,
    free: Mutex<Vec<usize>>,
    returned: Condvar,
}

// SAFETY: the mapping is plain memory owned by `Shared`; each block of it is reached through at most one `Lease` at a time, which
// `free` ensures: an address is pushed only when its lease is dropped, and popped under the mutex.
unsafe impl Send for Shared {}
// SAFETY: as above; `Shared` hands out no reference into the mapping but through the one `Lease` of a block.
unsafe impl Sync for Shared {}

/// One block, leased exclusively; dropped, it goes back to its pool.
#[derive(Debug)]
pub struct Lease {
    shared: Arc<Shared>,
    offset: usize,
}

impl Pool {
    /// Maps `blocks` blocks of `block_bytes` bytes each, a power of two of at least 4096.
    ///
    /// # Errors
    /// `InvalidInput` for other sizes; `ENOMEM`.
    pub fn new(block_bytes: usize, blocks: usize) -> io::Result<Self> {
        let fits = block_bytes.is_power_of_two() && block_bytes >= 4096 && blocks > 0;
        let bytes = block_bytes.checked_mul(blocks).filter(|_| fits).ok_or(io::ErrorKind::InvalidInput)?;
        // One huge page more, so that the blocks can start on a huge page's boundary.
        let mapping_bytes = bytes.next_multiple_of(HUGE_PAGE_BYTES) + HUGE_PAGE_BYTES;
        // SAFETY: a new private anonymous mapping at an address the kernel chooses; nothing else refers to it.
        let mapping = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                mapping_bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        }?;
        // SAFETY: the range is exactly the mapping made above, and huge pages do not change what is read from it. A kernel without
        // huge pages refuses, which costs speed only.
        let _ = unsafe { rustix::mm::madvise(mapping, mapping_bytes, Advice::LinuxHugepage) };
        let mapping = NonNull::new(mapping.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        let first = mapping.as_ptr().align_offset(HUGE_PAGE_BYTES);
        let free = (0..blocks).rev().map(|index| first + index * block_bytes).collect();
        let shared =
            Shared { mapping, mapping_bytes, block_bytes, free: Mutex::new(free), returned: Condvar::new() };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Size of each block in bytes.
    #[must_use]
    pub fn block_bytes(&self) -> usize {
        self.shared.block_bytes
    }

    /// Leases a block where one is free.
    #[must_use]
    pub fn try_lease(&self) -> Option<Lease> {
        let offset = self.shared.free.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
        Some(Lease { shared: Arc::clone(&self.shared), offset })
    }

    /// Leases a block, waiting until one is free. Wait only while holding none, or nobody will ever return one.
    #[must_use]
    pub fn lease(&self) -> Lease {
        let mut free = self.shared.free.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(offset) = free.pop() {
                return Lease { shared: Arc::clone(&self.shared), offset };
            }
            free = self.shared.returned.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `Pool::new`; every lease holds an `Arc` of this value, so none is left.
        let _ = unsafe { rustix::mm::munmap(self.mapping.as_ptr().cast(), self.mapping_bytes) };
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.shared.free.lock().unwrap_or_else(PoisonError::into_inner).push(self.offset);
        self.shared.returned.notify_one();
    }
}

impl Deref for Lease {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `offset` and `block_bytes` describe a block within the mapping (see `Pool::new`), mapped memory is initialised
        // (zeros), and the lease is the only way to this block while `self` is borrowed.
        unsafe {
            std::slice::from_raw_parts(self.shared.mapping.as_ptr().add(self.offset), self.shared.block_bytes)
        }
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`; `&mut self` makes the access exclusive.
        unsafe {
            std::slice::from_raw_parts_mut(
                self.shared.mapping.as_ptr().add(self.offset),
                self.shared.block_bytes,
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_apart_and_come_back() {
        let pool = Pool::new(65_536, 3).unwrap();
        let mut leases: Vec<Lease> = std::iter::from_fn(|| pool.try_lease()).collect();
        assert_eq!(leases.len(), 3);
        for (index, lease) in leases.iter_mut().enumerate() {
            assert!(lease.as_ptr().addr().is_multiple_of(65_536));
            lease.fill(u8::try_from(index).unwrap());
        }
        assert!(
            leases
                .iter()
                .enumerate()
                .all(|(index, lease)| lease.iter().all(|&byte| usize::from(byte) == index))
        );
        leases.pop();
        assert!(pool.try_lease().is_some());
        assert!(Pool::new(1000, 1).is_err() && Pool::new(4096, 0).is_err());
    }
}
