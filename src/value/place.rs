//! What a place (a directory on some file system) is and can hold.

use super::Stamp;

/// Whether a file system tells names apart by case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// `a` and `A` are two names.
    Sensitive,
    /// `a` and `A` are one name.
    Insensitive,
}

/// How far a sync of a whole file system can be believed there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncTrust {
    /// `syncfs(2)` flushes everything and reports errors (Linux 5.8 on, local file systems).
    FileSystem,
    /// Each file and directory is synced by itself.
    EachFile,
}

/// What one file system is and can do, as seen at one directory.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent fact about the file system, not a state"
)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file system's type as the kernel names it, `ext4`, `fuse.sshfs`.
    pub file_system: String,
    /// Where it is mounted, bytes.
    pub mount_point: Box<[u8]>,
    /// The id of that mount (`/proc/self/mountinfo`), 0 where unknown.
    pub mount_id: u64,
    /// The device id that its entries carry.
    pub device: u64,
    /// The file system's UUID where the system knows one.
    pub uuid: Option<String>,
    /// Times are kept in steps of this many nanoseconds.
    pub grain_ns: u64,
    /// Earliest and latest time that it can keep.
    pub time_range: (Stamp, Stamp),
    /// Whether names differ by case.
    pub case: Case,
    /// Longest name in bytes.
    pub name_bytes_max: usize,
    /// Largest file in bytes.
    pub file_bytes_max: u64,
    /// Bytes that this user may still allocate.
    pub free_bytes: u64,
    /// All bytes of the file system.
    pub total_bytes: u64,
    /// Inodes still free; `u64::MAX` where there is no such limit.
    pub free_inodes: u64,
    /// Mounted read-only.
    pub read_only: bool,
    /// Reached over a network, or through FUSE: other hosts may write there too.
    pub shared: bool,
    /// Holds owners and mode bits.
    pub owners: bool,
    /// Holds user extended attributes.
    pub xattrs: bool,
    /// Holds hard links.
    pub hard_links: bool,
    /// Holds symbolic links.
    pub symlinks: bool,
    /// `RENAME_EXCHANGE` works.
    pub exchange: bool,
    /// Operations on names reach the disk in the order they were made (ext4 with a journal, xfs, btrfs).
    pub ordered: bool,
    /// How durability is reached.
    pub sync: SyncTrust,
}

impl Place {
    /// Whether a file may be moved over another one, or away from a name that gets other content: the name has its old or its new content at
    /// every moment only where an inode can have two names for that moment.
    #[must_use]
    pub fn moves_over(&self) -> bool {
        self.hard_links
    }

    /// What this place would make of a time: clamped to its range and floored to its grain.
    #[must_use]
    pub fn held_time(&self, time: Stamp) -> Stamp {
        time.clamp(self.time_range.0, self.time_range.1).floored(self.grain_ns)
    }
}
