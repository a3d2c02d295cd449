//! What comparing gave: verdicts, and the draft they are collected in.

use crate::value::{Kind, Meta, RelPath};

/// Which side of an entry is the newer one, by mtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Age {
    /// The source is newer.
    Newer,
    /// The source is older.
    Older,
    /// Both times are equal.
    Equal,
}

/// Why content counts as different.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    /// Sizes differ.
    Size,
    /// mtimes differ.
    Time,
    /// BLAKE3 digests differ.
    Content,
    /// Symlink texts differ.
    Target,
    /// Device numbers differ.
    Device,
}

/// Which metadata differs; a set of the constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct MetaDifference(pub u8);

impl MetaDifference {
    /// The mode bits.
    pub const PERMISSIONS: Self = Self(1);
    /// Owner or group.
    pub const OWNER: Self = Self(2);
    /// mtime (of directories and symlinks; of files with `compare: size`, `hash` or `mtime_then_hash`).
    pub const TIMES: Self = Self(4);
    /// Extended attributes.
    pub const XATTRS: Self = Self(8);
    /// POSIX ACLs.
    pub const ACLS: Self = Self(16);

    /// Whether nothing differs.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all of `other` is in this set.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What comparing one name on both sides gave (DESIGN §1). `Same` appears in a draft only for files with several names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Only in the source.
    New,
    /// Equal on both sides; held only because it has several names.
    Same,
    /// Same kind, other content.
    Changed(Difference, Age),
    /// Same content, other metadata.
    Metadata(MetaDifference),
    /// Another kind of entry under the same name.
    Kind,
    /// Only in the destination, and the rule speaks of it.
    Extra,
    /// In the destination, and left out by the patterns in a run that clears such entries.
    Excluded,
    /// Listed, then gone before it could be looked at; left alone.
    Vanished,
    /// Must not be touched; says why.
    Conflict(Conflict),
}

/// Why an entry must be left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// A directory of the destination that would go holds entries that the rule does not speak of.
    KeptBelow,
    /// A mount point of the destination would go.
    MountPoint,
    /// Another rule's destination (a valid `.twinlane/id`) would go.
    Foreign,
    /// A directory of the destination that would go could not be read whole.
    Unread,
    /// In a backup without versions a directory would become something else.
    Kind,
    /// The name, or the size, cannot be held by the destination.
    Unholdable,
    /// Two source names are one name in the destination.
    Collision,
}

/// One name of a directory about which something is to be said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The name in its directory.
    pub name: Box<[u8]>,
    /// What comparing gave.
    pub verdict: Verdict,
    /// The source's side as read.
    pub source: Option<Meta>,
    /// The destination's side as read.
    pub destination: Option<Meta>,
}

/// Everything found in one directory; only directories with something to say are in a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryDraft {
    /// The directory.
    pub path: RelPath,
    /// The source's directory, `None` where there is none (all of it is extra).
    pub source: Option<Meta>,
    /// The destination's directory, `None` where there is none yet.
    pub destination: Option<Meta>,
    /// The source's listing was read to its end.
    pub source_whole: bool,
    /// The destination's listing was read to its end.
    pub destination_whole: bool,
    /// The directory itself is not selected (it is only passed through to re-included entries below): made only where
    /// something below is made, never removed.
    pub through: bool,
    /// Destination entries here that the rule does not speak of (excluded, unselected, reserved names, mount
    /// points, foreign destinations, look-alike stage names): while there are any, the directory stays.
    pub kept: u64,
    /// Sorted by name.
    pub findings: Vec<Finding>,
    /// Stage files of dead runs, to be cleared.
    pub stale_stages: Vec<Box<[u8]>>,
}

/// An entry or subtree that could not be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub path: RelPath,
    /// On which side.
    pub side: Side,
    /// A sentence for people, with the system's reason.
    pub message: String,
    /// What it was about to cost: a whole subtree, or one entry.
    pub extent: Extent,
}

/// One of the two trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The tree that is read.
    Source,
    /// The tree that is written.
    Destination,
}

/// How much a problem covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// One entry.
    Entry,
    /// A directory with all below it: nothing below is removed.
    Subtree,
}

/// Something the user should hear of once, though nothing failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A mount point of the source was not entered (`one_file_system`), or was entered.
    MountPoint {
        /// Where.
        path: RelPath,
        /// Whether its content is part of the run.
        entered: bool,
    },
    /// Another rule's destination below the destination's root: not entered, not removed.
    ForeignDestination {
        /// Where.
        path: RelPath,
    },
    /// Special files that were left out by `preserve.special`, symlinks by `preserve.symlinks`.
    LeftOut {
        /// Which kind.
        kind: Kind,
        /// How many.
        count: u64,
    },
    /// Names in the source that look like Twinlane's own stage files.
    StageNames {
        /// How many.
        count: u64,
    },
    /// Entries that this user or the destination's place cannot hold: left out, or made as separate files.
    Unheld {
        /// What.
        what: Unheld,
        /// How many.
        count: u64,
    },
    /// What a power cut leaves of this run is not promised.
    PowerCut {
        /// Why.
        cause: PowerCut,
    },
}

/// Why nothing is promised of a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PowerCut {
    /// The rule says `durability: none`.
    Waived,
    /// The destination is an ext file system without a journal.
    NoJournal,
}

/// What a user or a place cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unheld {
    /// The place has no symlinks; they are left out.
    Symlinks,
    /// Only root may make device nodes; they are left out.
    Devices,
    /// The place has no hard links; each name becomes a file of its own.
    HardLinks,
}

/// Counts over all entries that were looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Selected entries of the source, the root not counted.
    pub source_entries: u64,
    /// Of these, those that are not directories.
    pub source_files: u64,
    /// Bytes in the source's selected files.
    pub source_bytes: u64,
    /// Entries of the destination inside the filters, the root not counted: the base of percentage limits.
    pub destination_entries: u64,
    /// Equal on both sides.
    pub same: u64,
    /// Of the source, left out by the filters.
    pub source_excluded: u64,
    /// Of the destination, kept though the source has no say in them.
    pub destination_kept: u64,
    /// Listed, then gone.
    pub vanished: u64,
}

/// A file of the destination whose content the source has under another name. Both were read; what becomes of them is for the plan to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The name in the destination whose content is not wanted under it: extra, or changed.
    pub from: RelPath,
    /// The name in the source: new, or changed.
    pub to: RelPath,
}

/// The result of a march, unordered while it is collected, ordered by path once it is returned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    /// Directories with something to say, ordered by path; the root is always there.
    pub directories: Vec<DirectoryDraft>,
    /// Entries and subtrees that could not be read.
    pub problems: Vec<Problem>,
    /// Things to say once.
    pub notices: Vec<Notice>,
    /// Mount points seen below the source's root.
    pub source_mounts: Vec<RelPath>,
    /// Totals.
    pub counts: Counts,
    /// Files that got another name, as far as that was looked for; ordered by the new name.
    pub moves: Vec<Move>,
    /// `Some` where one root was met inside the other by device and inode while walking: at this path of that side.
    pub nested: Option<(Side, RelPath)>,
}
