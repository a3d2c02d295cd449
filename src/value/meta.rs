//! What an entry is, apart from its content and its name.

use super::Stamp;

/// The mode bits that Twinlane keeps: set-uid, set-gid, sticky and nine permissions (`chmod(1)`).
pub const PERMISSION_BITS: u16 = 0o7777;

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link; never followed below a root.
    Symlink,
    /// A named pipe; never opened.
    Fifo,
    /// A socket's name.
    Socket,
    /// A character device node.
    CharDevice,
    /// A block device node.
    BlockDevice,
}

impl Kind {
    /// Whether this is a FIFO, socket or device node.
    #[must_use]
    pub fn is_special(self) -> bool {
        matches!(self, Self::Fifo | Self::Socket | Self::CharDevice | Self::BlockDevice)
    }

    /// The word for people and JSON: `file`, `directory`, `symlink`, `fifo`, `socket`, `device`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::Symlink => "symlink",
            Self::Fifo => "fifo",
            Self::Socket => "socket",
            Self::CharDevice | Self::BlockDevice => "device",
        }
    }
}

/// An entry's metadata as `statx(2)` gave it, never following a symlink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// What it is.
    pub kind: Kind,
    /// The low twelve mode bits, see [`PERMISSION_BITS`].
    pub mode: u16,
    /// Whether this is the root of a mount (`STATX_ATTR_MOUNT_ROOT`).
    pub mount_root: bool,
    /// Number of names (hard links).
    pub links: u32,
    /// Owner's user id.
    pub uid: u32,
    /// Owner's group id.
    pub gid: u32,
    /// Length in bytes; of a symlink, of its text.
    pub size: u64,
    /// Bytes allocated on the device (blocks × 512).
    pub allocated: u64,
    /// Time of the last change of content (mtime).
    pub modified: Stamp,
    /// Time of the last change of content or metadata (ctime).
    pub changed: Stamp,
    /// Id of the file system it lies on (`st_dev`).
    pub device: u64,
    /// Inode number, unique within `device`.
    pub inode: u64,
    /// The device that a device node stands for (`st_rdev`), else 0.
    pub special: u64,
}

impl Meta {
    /// Whether both describe the same inode.
    #[must_use]
    pub fn same_inode(&self, other: &Self) -> bool {
        self.device == other.device && self.inode == other.inode
    }

    /// The mode that a copy of this entry has when it belongs to this owner and group: a set-uid program never becomes one of somebody
    /// else, so the bits go where their owner does not come along. On a directory they give nobody rights, and stay.
    #[must_use]
    pub fn mode_owned_by(&self, uid: u32, gid: u32) -> u16 {
        const SET_UID: u16 = 0o4000;
        const SET_GID: u16 = 0o2000;
        if self.kind == Kind::Directory {
            return self.mode;
        }
        let foreign = if uid == self.uid { 0 } else { SET_UID } | if gid == self.gid { 0 } else { SET_GID };
        self.mode & !foreign
    }

    /// Whether nothing that can be seen from outside has happened between the two readings: same inode,
    /// kind, size, mtime and ctime.
    #[must_use]
    pub fn same_moment(&self, other: &Self) -> bool {
        self.same_inode(other)
            && self.kind == other.kind
            && self.size == other.size
            && self.modified == other.modified
            && self.changed == other.changed
    }
}

/// One name in a directory with what it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name within its directory: any bytes but `/` and NUL.
    pub name: Box<[u8]>,
    /// What the name stands for.
    pub meta: Meta,
}
