//! Calls that rustix lacks.

use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;
use rustix::ioctl::{Getter, Opcode, ioctl, opcode};

/// `struct fsuuid2` of `linux/fs.h`.
#[repr(C)]
struct FsUuid {
    length: u8,
    bytes: [u8; 16],
}

/// Bytes of a label, with its NUL (`FSLABEL_MAX`, `linux/fs.h`).
const LABEL_BYTES: usize = 256;

/// `FS_IOC_GETFSUUID`, Linux 6.9.
const GET_UUID: Opcode = opcode::read::<FsUuid>(0x15, 0);
/// `FS_IOC_GETFSLABEL`, Linux 4.18.
const GET_LABEL: Opcode = opcode::read::<[u8; LABEL_BYTES]>(0x94, 49);

/// The UUID of the file system that a handle lies on, as 32 hex digits with dashes; `None` where it tells none.
pub(super) fn file_system_uuid(handle: impl AsFd) -> Option<String> {
    // SAFETY: GET_UUID reads one FsUuid, whose layout is that of the kernel's struct fsuuid2 (repr(C), 17 bytes).
    let got = unsafe { ioctl(handle, Getter::<GET_UUID, FsUuid>::new()) }.ok()?;
    if usize::from(got.length) != got.bytes.len() || got.bytes == [0; 16] {
        return None;
    }
    let mut text = String::new();
    for (index, byte) in got.bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = std::fmt::Write::write_fmt(&mut text, format_args!("{byte:02x}"));
    }
    Some(text)
}

/// The label of the file system that a handle lies on; `None` where it has or tells none.
pub(super) fn file_system_label(handle: impl AsFd) -> Option<String> {
    // SAFETY: GET_LABEL writes at most FSLABEL_MAX bytes into the array that its opcode names.
    let bytes = unsafe { ioctl(handle, Getter::<GET_LABEL, [u8; LABEL_BYTES]>::new()) }.ok()?;
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(LABEL_BYTES);
    let label = String::from_utf8(bytes.get(..end)?.to_vec()).ok()?;
    (!label.is_empty()).then_some(label)
}

/// `listxattrat`, Linux 6.13; the number is the same on every architecture (`scripts/syscall.tbl`).
const LIST_XATTR_AT: libc::c_long = 465;

/// Whether the kernel, or a seccomp filter, was found to refuse [`list_xattr_at`].
static LIST_XATTR_AT_REFUSED: AtomicBool = AtomicBool::new(false);

/// Names of the extended attributes of `name` in an open directory, not following a symlink; returns how many bytes of `buffer` they take.
/// `None` where the kernel has no such call.
pub(super) fn list_xattr_at(
    directory: impl AsFd,
    name: &[u8],
    buffer: &mut [u8],
) -> Option<Result<usize, Errno>> {
    use rustix::path::Arg as _;
    if LIST_XATTR_AT_REFUSED.load(Ordering::Relaxed) {
        return None;
    }
    let directory = directory.as_fd().as_raw_fd();
    let listed = name.into_with_c_str(|name| {
        // SAFETY: `name` is a C string and `buffer` is writable for the length that is passed with it; both outlive the call, and the
        // kernel keeps neither.
        let got = unsafe {
            libc::syscall(
                LIST_XATTR_AT,
                directory,
                name.as_ptr(),
                libc::AT_SYMLINK_NOFOLLOW,
                buffer.as_mut_ptr(),
                buffer.len(),
            )
        };
        usize::try_from(got).map_err(|_| {
            let error = std::io::Error::last_os_error();
            Errno::from_io_error(&error).unwrap_or(Errno::IO)
        })
    });
    // EPERM is what old seccomp filters say to calls they do not know; no file system says it to this one.
    if matches!(listed, Err(Errno::NOSYS | Errno::PERM)) {
        LIST_XATTR_AT_REFUSED.store(true, Ordering::Relaxed);
        return None;
    }
    Some(listed)
}

/// `cachestat`, Linux 6.5; the number is the same on every architecture (`scripts/syscall.tbl`).
const CACHE_STAT: libc::c_long = 451;

/// `struct cachestat_range` of `linux/mman.h`; no length means up to the end.
#[repr(C)]
struct CacheRange {
    offset: u64,
    length: u64,
}

/// `struct cachestat` of `linux/mman.h`, in pages.
#[repr(C)]
#[derive(Default)]
struct CacheStat {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// How many pages of a file the page cache holds; `None` where the kernel does not tell.
pub(super) fn cached_pages(file: impl AsFd) -> Option<u64> {
    let range = CacheRange { offset: 0, length: 0 };
    let mut told = CacheStat::default();
    let no_flags: libc::c_uint = 0;
    // SAFETY: both structures are those of the kernel (repr(C), two and five u64); it reads the one and writes the other, and keeps neither.
    let got = unsafe {
        libc::syscall(CACHE_STAT, file.as_fd().as_raw_fd(), &raw const range, &raw mut told, no_flags)
    };
    (got == 0).then_some(told.cached)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::{Access, Attributes as _, open_root};

    #[test]
    fn attributes_are_listed_by_name_without_following_a_symlink() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        std::fs::write(base.join("file"), "x").unwrap();
        std::os::unix::fs::symlink("file", base.join("link")).unwrap();
        let (directory, _) = open_root(&base).unwrap();
        let file = directory.open_file(b"file", Access::Buffered).unwrap();
        for number in 0..30 {
            file.set_xattr(format!("user.number{number}").as_bytes(), b"1").unwrap();
        }
        let names = directory.xattr_names(b"file").unwrap();
        assert_eq!((names.len(), names), (30, file.xattr_names().unwrap()));
        assert!(directory.xattr_names(b"link").unwrap().is_empty());
        let gone = directory.xattr_names(b"gone").unwrap_err();
        assert_eq!(gone.kind(), std::io::ErrorKind::NotFound);
        // One byte is not enough for any name, where the call is there at all.
        let small = list_xattr_at(&directory, b"file", &mut [0]);
        assert!(matches!(small, None | Some(Err(Errno::RANGE))));
    }
}
