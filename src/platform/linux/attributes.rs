//! Owner, mode, times and extended attributes of an open handle.
//!
//! Everything here works on the handle that was checked, so that no name is resolved twice.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Gid, Mode, Timespec, Timestamps, UTIME_NOW, Uid, XattrFlags};
use rustix::io::Errno;

use super::{Dir, File, statx};
use crate::platform::fault::{self, Call};
use crate::value::{Meta, Stamp};

/// One extended attribute: its full name, `user.comment`, and its value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Xattr {
    /// Name with its namespace, without NUL.
    pub name: Box<[u8]>,
    /// Value, any bytes.
    pub value: Box<[u8]>,
}

/// A handle to an entry of any kind that neither reads nor writes its content (`O_PATH`): the way to the metadata
/// of symlinks, FIFOs, sockets and device nodes, which are never opened.
#[derive(Debug)]
pub struct Node {
    fd: OwnedFd,
}

impl Node {
    pub(super) fn new(fd: OwnedFd) -> Self {
        Self { fd }
    }
}

mod sealed {
    use std::os::fd::BorrowedFd;

    pub trait Handle {
        fn borrowed(&self) -> BorrowedFd<'_>;
        /// Whether it was opened with `O_PATH`, which most calls on descriptors refuse.
        const PATH_ONLY: bool;
    }
}

use sealed::Handle;

impl Handle for Node {
    const PATH_ONLY: bool = true;
    fn borrowed(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Handle for File {
    const PATH_ONLY: bool = false;
    fn borrowed(&self) -> BorrowedFd<'_> {
        self.as_fd()
    }
}

impl Handle for Dir {
    const PATH_ONLY: bool = false;
    fn borrowed(&self) -> BorrowedFd<'_> {
        self.as_fd()
    }
}

/// The magic link of a descriptor; following it lands on the very inode, even of a symlink.
fn magic_link(handle: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", handle.as_raw_fd())
}

/// Room for a list of names or a value; the kernel holds both at 64 KiB (`XATTR_LIST_MAX`, `XATTR_SIZE_MAX`).
const XATTR_BYTES_MAX: usize = 65_536;

/// Calls with a small buffer first, with the largest one only where that is too small.
pub(super) fn with_room(mut call: impl FnMut(&mut [u8]) -> Result<usize, Errno>) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0u8; 512];
    loop {
        match call(&mut buffer) {
            Ok(length) => {
                buffer.truncate(length);
                return Ok(buffer);
            }
            Err(Errno::RANGE) if buffer.len() < XATTR_BYTES_MAX => buffer.resize(XATTR_BYTES_MAX, 0),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Splits a NUL-separated list of names, sorted. `ENOTSUP` means that there are none.
pub(super) fn split_names(list: io::Result<Vec<u8>>) -> io::Result<Vec<Box<[u8]>>> {
    let list = match list {
        Err(error) if error.raw_os_error() == Some(Errno::OPNOTSUPP.raw_os_error()) => return Ok(Vec::new()),
        list => list?,
    };
    let mut names: Vec<Box<[u8]>> =
        list.split(|&byte| byte == 0).filter(|name| !name.is_empty()).map(Into::into).collect();
    names.sort();
    Ok(names)
}

/// Metadata calls on an open [`Dir`], [`File`] or [`Node`].
pub trait Attributes: Handle {
    /// Metadata as it is now.
    ///
    /// # Errors
    /// Those of `statx(2)`.
    fn meta(&self) -> io::Result<Meta> {
        statx::stat_handle(self.borrowed())
    }

    /// Sets owner and group. The kernel may clear set-uid and set-gid bits: set the mode afterwards.
    ///
    /// # Errors
    /// `EPERM` without the right to; others of `fchown(2)`.
    fn set_owner(&self, uid: u32, gid: u32) -> io::Result<()> {
        fault::pass(Call::SetOwner, b"")?;
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        Ok(rustix::fs::chownat(self.borrowed(), c"", Some(uid), Some(gid), AtFlags::EMPTY_PATH)?)
    }

    /// Sets the twelve mode bits; not for symlinks, which have none.
    ///
    /// # Errors
    /// Those of `fchmod(2)`.
    fn set_mode(&self, mode: u16) -> io::Result<()> {
        fault::pass(Call::SetMode, b"")?;
        let mode = Mode::from_raw_mode(u32::from(mode));
        if Self::PATH_ONLY {
            return Ok(rustix::fs::chmod(magic_link(self.borrowed()), mode)?);
        }
        Ok(rustix::fs::fchmod(self.borrowed(), mode)?)
    }

    /// Sets mtime, and atime to now: the FUSE library (2.x) drops a request for one of the two, and says that it was done.
    ///
    /// # Errors
    /// Those of `utimensat(2)`. A time that the file system cannot hold is clamped by it without an error.
    fn set_modified(&self, modified: Stamp) -> io::Result<()> {
        fault::pass(Call::SetTimes, b"")?;
        let times = Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
            last_modification: Timespec { tv_sec: modified.seconds, tv_nsec: modified.nanos.into() },
        };
        if Self::PATH_ONLY {
            return Ok(rustix::fs::utimensat(self.borrowed(), c"", &times, AtFlags::EMPTY_PATH)?);
        }
        Ok(rustix::fs::futimens(self.borrowed(), &times)?)
    }

    /// Names of the extended attributes, sorted; none where the file system has none.
    ///
    /// # Errors
    /// Those of `flistxattr(2)`, except `ENOTSUP`.
    fn xattr_names(&self) -> io::Result<Vec<Box<[u8]>>> {
        fault::pass_read(Call::GetXattr, b"")?;
        split_names(with_room(|buffer| {
            if Self::PATH_ONLY {
                rustix::fs::listxattr(magic_link(self.borrowed()), buffer)
            } else {
                rustix::fs::flistxattr(self.borrowed(), buffer)
            }
        }))
    }

    /// The value of one extended attribute.
    ///
    /// # Errors
    /// Those of `fgetxattr(2)`.
    fn xattr(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        fault::pass_read(Call::GetXattr, name)?;
        with_room(|buffer| {
            if Self::PATH_ONLY {
                rustix::fs::getxattr(magic_link(self.borrowed()), name, buffer)
            } else {
                rustix::fs::fgetxattr(self.borrowed(), name, buffer)
            }
        })
    }

    /// Sets one extended attribute, new or not.
    ///
    /// # Errors
    /// `ENOTSUP` where the place or the kind of entry holds none of that namespace; others of `fsetxattr(2)`.
    fn set_xattr(&self, name: &[u8], value: &[u8]) -> io::Result<()> {
        fault::pass(Call::SetXattr, name)?;
        if Self::PATH_ONLY {
            return Ok(rustix::fs::setxattr(magic_link(self.borrowed()), name, value, XattrFlags::empty())?);
        }
        Ok(rustix::fs::fsetxattr(self.borrowed(), name, value, XattrFlags::empty())?)
    }

    /// Removes one extended attribute.
    ///
    /// # Errors
    /// Those of `fremovexattr(2)`.
    fn remove_xattr(&self, name: &[u8]) -> io::Result<()> {
        fault::pass(Call::SetXattr, name)?;
        if Self::PATH_ONLY {
            return Ok(rustix::fs::removexattr(magic_link(self.borrowed()), name)?);
        }
        Ok(rustix::fs::fremovexattr(self.borrowed(), name)?)
    }
}

impl Attributes for Node {}
impl Attributes for File {}
impl Attributes for Dir {}
