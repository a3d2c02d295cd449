//! `statx(2)` to [`Meta`].

use std::io;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, FileType, Statx, StatxAttributes, StatxFlags};

use crate::platform::fault::{self, Call};
use crate::value::{Kind, Meta, PERMISSION_BITS, Stamp};

pub(super) fn kind_of(file_type: FileType) -> Option<Kind> {
    Some(match file_type {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Symlink,
        FileType::Fifo => Kind::Fifo,
        FileType::Socket => Kind::Socket,
        FileType::CharacterDevice => Kind::CharDevice,
        FileType::BlockDevice => Kind::BlockDevice,
        FileType::Unknown => return None,
    })
}

fn device(major: u32, minor: u32) -> u64 {
    rustix::fs::makedev(major, minor)
}

fn stamp(time: rustix::fs::StatxTimestamp) -> Stamp {
    Stamp { seconds: time.tv_sec, nanos: time.tv_nsec }
}

fn meta_of(statx: &Statx) -> io::Result<Meta> {
    let kind = kind_of(FileType::from_raw_mode(u32::from(statx.stx_mode))).ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidData, "the system gave an unknown kind of entry")
    })?;
    Ok(Meta {
        kind,
        mode: statx.stx_mode & PERMISSION_BITS,
        mount_root: statx.stx_attributes.contains(StatxAttributes::MOUNT_ROOT),
        links: statx.stx_nlink,
        uid: statx.stx_uid,
        gid: statx.stx_gid,
        size: statx.stx_size,
        allocated: statx.stx_blocks.saturating_mul(512),
        modified: stamp(statx.stx_mtime),
        changed: stamp(statx.stx_ctime),
        device: device(statx.stx_dev_major, statx.stx_dev_minor),
        inode: statx.stx_ino,
        special: match kind {
            Kind::CharDevice | Kind::BlockDevice => device(statx.stx_rdev_major, statx.stx_rdev_minor),
            _ => 0,
        },
    })
}

/// Metadata of `name` in an open directory, never following a symlink nor triggering an automount.
pub(super) fn stat_at(directory: impl AsFd, name: &[u8]) -> io::Result<Meta> {
    fault::pass_read(Call::Stat, name)?;
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    meta_of(&rustix::fs::statx(directory, name, flags, StatxFlags::BASIC_STATS)?)
}

/// When `name` in an open directory was made, where the file system knows it.
pub(super) fn born_at(directory: impl AsFd, name: &[u8]) -> io::Result<Option<Stamp>> {
    fault::pass_read(Call::Stat, name)?;
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    let statx = rustix::fs::statx(directory, name, flags, StatxFlags::BTIME)?;
    Ok((statx.stx_mask & StatxFlags::BTIME.bits() != 0).then(|| stamp(statx.stx_btime)))
}

/// Metadata of an open handle.
pub(super) fn stat_handle(handle: impl AsFd) -> io::Result<Meta> {
    fault::pass_read(Call::Stat, b"")?;
    meta_of(&rustix::fs::statx(handle, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)?)
}

/// The whole of what statx says of an open handle, for what [`Meta`] leaves out.
pub(super) fn raw_handle(handle: impl AsFd, wanted: StatxFlags) -> io::Result<Statx> {
    Ok(rustix::fs::statx(handle, c"", AtFlags::EMPTY_PATH, wanted)?)
}
