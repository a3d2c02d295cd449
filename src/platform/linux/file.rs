//! An open regular file: positioned reads and writes, holes, length, durability.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Advice, FallocateFlags, OFlags, SeekFrom, StatxFlags};
use rustix::io::Errno;

use super::{raw, statx};
use crate::platform::fault::{self, Call, Spoil};

/// How a file's bytes are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Through the page cache.
    Buffered,
    /// Past it (`O_DIRECT`): buffers, offsets and lengths are aligned, see [`Alignment`].
    Direct,
}

/// What direct I/O on a file asks for, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alignment {
    /// Of a buffer's address.
    pub memory_bytes: u32,
    /// Of offsets and lengths.
    pub offset_bytes: u32,
}

/// A handle to a regular file.
#[derive(Debug)]
pub struct File {
    fd: OwnedFd,
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl File {
    pub(super) fn new(fd: OwnedFd) -> Self {
        Self { fd }
    }

    /// Reads at an offset into the buffer, until it is full or the file ends; returns the bytes read.
    ///
    /// # Errors
    /// Those of `pread(2)`; `EINTR` is tried again.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            let got = self.read_once(buffer.get_mut(filled..).unwrap_or_default(), offset + filled as u64)?;
            if got == 0 {
                break;
            }
            filled += got;
        }
        Ok(filled)
    }

    /// Reads once, perhaps less than the buffer holds: what direct I/O needs at the end of a file, where a second, unaligned
    /// read would be refused.
    ///
    /// # Errors
    /// Those of `pread(2)`; `EINTR` is tried again.
    pub fn read_once(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        fault::pass_read(Call::Read, b"")?;
        Ok(rustix::io::retry_on_intr(|| rustix::io::pread(&self.fd, &mut *buffer, offset))?)
    }

    /// Writes the whole buffer at an offset; on return the bytes are in the page cache (on the device's queue for direct access).
    ///
    /// # Errors
    /// Those of `pwrite(2)`; `EINTR` is tried again, a write that takes nothing is `WriteZero`.
    pub fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        let spoil = fault::pass_write(b"")?;
        let mut done = 0;
        while done < buffer.len() {
            let rest = buffer.get(done..).unwrap_or_default();
            match rustix::io::retry_on_intr(|| rustix::io::pwrite(&self.fd, rest, offset + done as u64))? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => done += written,
            }
        }
        match spoil {
            Spoil::Nothing => Ok(()),
            Spoil::Bit => self.spoil(buffer, offset),
        }
    }

    /// Turns one bit over of what was just written, in silence: what a bad disk or cable does.
    fn spoil(&self, written: &[u8], offset: u64) -> io::Result<()> {
        let Some(first) = written.first() else { return Ok(()) };
        let flags = rustix::fs::fcntl_getfl(&self.fd)?;
        rustix::fs::fcntl_setfl(&self.fd, flags.difference(OFlags::DIRECT))?;
        rustix::io::pwrite(&self.fd, &[first ^ 1], offset)?;
        Ok(rustix::fs::fcntl_setfl(&self.fd, flags)?)
    }

    /// Switches this open file description between the page cache and direct I/O.
    ///
    /// # Errors
    /// `EINVAL` where the place refuses direct I/O.
    pub fn set_access(&self, access: Access) -> io::Result<()> {
        let flags = rustix::fs::fcntl_getfl(&self.fd)?;
        let flags = match access {
            Access::Buffered => flags.difference(OFlags::DIRECT),
            Access::Direct => flags.union(OFlags::DIRECT),
        };
        Ok(rustix::fs::fcntl_setfl(&self.fd, flags)?)
    }

    /// What direct I/O on this file needs: `None` where the file system does not say (before Linux 6.1, btrfs), and
    /// then 4096 is safe to try; zeros mean that it is refused.
    ///
    /// # Errors
    /// Those of `statx(2)`.
    pub fn alignment(&self) -> io::Result<Option<Alignment>> {
        let statx = statx::raw_handle(&self.fd, StatxFlags::DIOALIGN)?;
        let known = statx.stx_mask & StatxFlags::DIOALIGN.bits() != 0;
        Ok(known.then_some(Alignment {
            memory_bytes: statx.stx_dio_mem_align,
            offset_bytes: statx.stx_dio_offset_align,
        }))
    }

    /// Allocates the first `bytes` bytes without writing them; the length becomes at least that.
    ///
    /// # Errors
    /// `EOPNOTSUPP` where the file system cannot, `ENOSPC`, others of `fallocate(2)`.
    pub fn allocate(&self, bytes: u64) -> io::Result<()> {
        fault::pass(Call::Allocate, b"")?;
        if bytes == 0 {
            return Ok(());
        }
        Ok(rustix::io::retry_on_intr(|| rustix::fs::fallocate(&self.fd, FallocateFlags::empty(), 0, bytes))?)
    }

    /// Sets the length; new bytes are a hole, or zeros where the place cannot lengthen a file.
    ///
    /// # Errors
    /// Those of `ftruncate(2)`.
    pub fn set_length(&self, bytes: u64) -> io::Result<()> {
        fault::pass(Call::Truncate, b"")?;
        match rustix::io::retry_on_intr(|| rustix::fs::ftruncate(&self.fd, bytes)) {
            Err(Errno::PERM) => self.lengthen(bytes),
            set => Ok(set?),
        }
    }

    /// Writes zeros up to a length: `EPERM` of `truncate(2)` says that the place cannot extend a file; fusefat says it of the present
    /// length too.
    fn lengthen(&self, bytes: u64) -> io::Result<()> {
        static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];
        let mut length = rustix::fs::fstat(&self.fd)?.st_size.cast_unsigned();
        if length > bytes {
            return Err(Errno::PERM.into());
        }
        while length < bytes {
            let wanted = usize::try_from(bytes - length).unwrap_or(usize::MAX).min(ZEROS.len());
            self.write_at(ZEROS.get(..wanted).unwrap_or(&ZEROS), length)?;
            length += wanted as u64;
        }
        Ok(())
    }

    /// The first byte of data at or after `offset`; `None` where only a hole is left. The whole file counts as data where the
    /// file system does not tell holes.
    ///
    /// # Errors
    /// Others of `lseek(2)`.
    pub fn next_data(&self, offset: u64) -> io::Result<Option<u64>> {
        match rustix::fs::seek(&self.fd, SeekFrom::Data(offset)) {
            Ok(at) => Ok(Some(at)),
            Err(Errno::NXIO) => Ok(None),
            Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(Some(offset)),
            Err(error) => Err(error.into()),
        }
    }

    /// The first byte of a hole at or after `offset`, which lies in data; the file's end counts as one.
    ///
    /// # Errors
    /// Others of `lseek(2)`.
    pub fn next_hole(&self, offset: u64) -> io::Result<u64> {
        match rustix::fs::seek(&self.fd, SeekFrom::Hole(offset)) {
            Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(u64::MAX),
            // The file became shorter than `offset` since.
            Err(Errno::NXIO) => Ok(offset),
            found => Ok(found?),
        }
    }

    /// Makes content and metadata durable.
    ///
    /// # Errors
    /// Those of `fsync(2)`. After one, what was written must be written anew: a second sync would say nothing.
    pub fn sync(&self) -> io::Result<()> {
        fault::pass(Call::Sync, b"")?;
        Ok(rustix::fs::fsync(&self.fd)?)
    }

    /// Tells the kernel that the pages of a range will not be needed again (drop-behind); a hint.
    ///
    /// # Errors
    /// Those of `posix_fadvise(2)`.
    pub fn forget_pages(&self, offset: u64, bytes: u64) -> io::Result<()> {
        Ok(rustix::fs::fadvise(&self.fd, offset, std::num::NonZeroU64::new(bytes), Advice::DontNeed)?)
    }

    /// How many pages of this file the page cache holds; `None` where the kernel does not tell (before Linux 6.5, or of files that
    /// belong to somebody else).
    #[must_use]
    pub fn cached_pages(&self) -> Option<u64> {
        raw::cached_pages(&self.fd)
    }

    /// Makes this file share all of `source`'s blocks (reflink).
    ///
    /// # Errors
    /// `EOPNOTSUPP`, `EXDEV`, `EINVAL` where it cannot.
    pub fn clone_from(&self, source: &Self) -> io::Result<()> {
        fault::pass(Call::Write, b"")?;
        Ok(rustix::fs::ioctl_ficlone(&self.fd, &source.fd)?)
    }
}
