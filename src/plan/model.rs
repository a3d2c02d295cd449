//! The sealed plan and its parts.

use crate::compare::{Conflict, Counts, Difference, MetaDifference, Notice, Problem};
use crate::value::{Kind, Meta, RelPath};

/// What an action does (DESIGN §1). `reuse` comes with the issue that plans it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ActionKind {
    /// Makes a directory.
    Mkdir,
    /// Gives a file of the destination another name, in the place of what stands under that one.
    Move,
    /// Makes a file from the source's content where there is none.
    Copy,
    /// Puts a new entry in the place of an old one, whose content becomes a version.
    Replace,
    /// Gives an inode of the destination a further name.
    Link,
    /// Makes a symlink where there is none.
    Symlink,
    /// Makes a FIFO, socket or device node where there is none.
    Special,
    /// Mends metadata alone.
    Metadata,
    /// Takes an entry away; its content becomes a version.
    Remove,
}

/// Why an action is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The destination has none.
    New,
    /// Content differs; the source is newer or as old.
    Newer(Difference),
    /// Content differs; the source is older.
    Older(Difference),
    /// Another kind of entry.
    Kind,
    /// Metadata differs.
    Metadata(MetaDifference),
    /// Only in the destination.
    Extra,
    /// Left out by the patterns, in a run that clears what they leave out; the source may have it.
    Excluded,
    /// A name of the same inode as another one in the source.
    HardLink,
    /// The destination's names share an inode that the source's do not share.
    LinkBroken,
    /// The directory is needed above something that is made.
    Needed,
    /// A file of the destination has the content that the source has under this name.
    Moved,
    /// Only in the destination, and what it held got other names.
    Emptied,
}

/// Index into [`Plan::directories`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DirectoryId(pub u32);

/// One step of a plan; at most 64 bytes. Its name, metadata and link target live in the plan's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    /// What to do.
    pub kind: ActionKind,
    /// The kind of the entry that will be there afterwards; for `Remove`, of the one that goes.
    pub entry: Kind,
    /// Why.
    pub reason: Reason,
    /// The directory that holds the name.
    pub directory: DirectoryId,
    /// Where its name starts in [`Plan::names`].
    pub name_start: u32,
    /// Length of its name in bytes.
    pub name_bytes: u16,
    /// Index into [`Plan::metas`] of the source as observed, or `u32::MAX`.
    pub source: u32,
    /// Index into [`Plan::metas`] of the destination as observed, or `u32::MAX` where nothing was.
    pub destination: u32,
    /// For `Link`, a `Replace` that links, or a `Move`: index into [`Plan::links`] of the name whose inode this one gets, else `u32::MAX`.
    pub link: u32,
    /// For `Move`: index into [`Plan::metas`] of the file that is moved, as observed under its old name, else `u32::MAX`.
    pub origin: u32,
}

/// No entry in a side table.
pub const NONE: u32 = u32::MAX;

/// A directory that actions refer to, itself present or planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedDirectory {
    /// Its path.
    pub path: RelPath,
    /// The source's directory as observed; `None` where the directory is extra.
    pub source: Option<Meta>,
    /// The destination's directory as observed; `None` where it is new.
    pub destination: Option<Meta>,
}

/// A name that must be left alone, exit 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedConflict {
    /// Where.
    pub path: RelPath,
    /// Why.
    pub conflict: Conflict,
}

/// Sums over a plan's actions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// All actions.
    pub actions: u64,
    /// Actions by kind.
    pub mkdir: u64,
    /// See [`ActionKind`].
    pub moves: u64,
    /// See [`ActionKind`].
    pub copy: u64,
    /// See [`ActionKind`].
    pub replace: u64,
    /// See [`ActionKind`].
    pub link: u64,
    /// See [`ActionKind`].
    pub symlink: u64,
    /// See [`ActionKind`].
    pub special: u64,
    /// See [`ActionKind`].
    pub metadata: u64,
    /// See [`ActionKind`].
    pub remove: u64,
    /// Bytes of content to be copied.
    pub bytes: u64,
    /// Bytes that these will allocate (less than `bytes` where there are holes).
    pub allocated: u64,
    /// Entries that count against `limits.remove`: removed ones, each with all below it.
    pub removed_entries: u64,
    /// Entries that count against `limits.replace`: those whose content goes, a kind-changed directory with all below it. A file that gets
    /// another name counts as nothing.
    pub replaced_entries: u64,
}

impl Totals {
    /// Counts one action of a kind.
    pub fn count(&mut self, kind: ActionKind) {
        self.actions += 1;
        *match kind {
            ActionKind::Mkdir => &mut self.mkdir,
            ActionKind::Move => &mut self.moves,
            ActionKind::Copy => &mut self.copy,
            ActionKind::Replace => &mut self.replace,
            ActionKind::Link => &mut self.link,
            ActionKind::Symlink => &mut self.symlink,
            ActionKind::Special => &mut self.special,
            ActionKind::Metadata => &mut self.metadata,
            ActionKind::Remove => &mut self.remove,
        } += 1;
    }
}

/// A limit as it was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitCheck {
    /// `remove`, `replace` or `min_free`.
    pub name: &'static str,
    /// How much the plan needs (entries; bytes for `min_free`).
    pub planned: u64,
    /// How much is allowed, `None` for no limit.
    pub allowed: Option<u64>,
    /// Of how much, for a share.
    pub base: u64,
    /// The limit as written, `25%`.
    pub written: String,
    /// Whether it holds.
    pub holds: bool,
}

/// All actions of one rule for one run; sealed: it does not depend on the order in which directories were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// In the order of execution (DESIGN §8): directories down; files moved, the ends of chains first; files copied and replaced; links; symlinks and
    /// specials, made and replaced; metadata of non-directories; removals, children before parents; late replacements; metadata of directories, children
    /// before parents, the root last.
    pub actions: Vec<Action>,
    /// The root, and directories named by actions or holding stage files of dead runs, ordered by path.
    pub directories: Vec<PlannedDirectory>,
    /// Names of all actions, one after the other.
    pub names: Vec<u8>,
    /// Metadata as observed, of either side.
    pub metas: Vec<Meta>,
    /// Paths in the destination that links and moves refer to.
    pub links: Vec<RelPath>,
    /// Sums.
    pub totals: Totals,
    /// What was counted while comparing.
    pub counts: Counts,
    /// The limits, checked.
    pub limits: Vec<LimitCheck>,
    /// Names left alone.
    pub conflicts: Vec<PlannedConflict>,
    /// What could not be read.
    pub problems: Vec<Problem>,
    /// Things to say once.
    pub notices: Vec<Notice>,
    /// Stage files of dead runs: directory and name.
    pub stale_stages: Vec<RelPath>,
    /// Mount points seen below the source's root.
    pub source_mounts: Vec<RelPath>,
}

impl Plan {
    /// The name of an action within its directory.
    #[must_use]
    pub fn name(&self, action: &Action) -> &[u8] {
        let start = action.name_start as usize;
        self.names.get(start..start + usize::from(action.name_bytes)).unwrap_or_default()
    }

    /// The whole path of an action.
    #[must_use]
    pub fn path(&self, action: &Action) -> RelPath {
        let name = self.name(action);
        match self.directories.get(action.directory.0 as usize) {
            Some(directory) if name.is_empty() => directory.path.clone(),
            Some(directory) => directory.path.join(name),
            None => RelPath::root(),
        }
    }

    /// The source's side of an action as observed.
    #[must_use]
    pub fn source(&self, action: &Action) -> Option<&Meta> {
        self.metas.get(action.source as usize)
    }

    /// The destination's side of an action as observed.
    #[must_use]
    pub fn destination(&self, action: &Action) -> Option<&Meta> {
        self.metas.get(action.destination as usize)
    }

    /// The destination's file that an action moves, as observed under its old name.
    #[must_use]
    pub fn origin(&self, action: &Action) -> Option<&Meta> {
        self.metas.get(action.origin as usize)
    }

    /// The destination path that a link action gives a further name to, or that a move takes its file from.
    #[must_use]
    pub fn link(&self, action: &Action) -> Option<&RelPath> {
        self.links.get(action.link as usize)
    }

    /// Whether the source has no selected entry but directories, as one that is not mounted (DESIGN §7).
    #[must_use]
    pub fn is_source_empty(&self) -> bool {
        self.counts.source_files == 0
    }

    /// Limits that do not hold.
    pub fn refusals(&self) -> impl Iterator<Item = &LimitCheck> {
        self.limits.iter().filter(|check| !check.holds)
    }
}
