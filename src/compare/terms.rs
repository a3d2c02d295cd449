//! What a march is given.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::job::Rule;
use crate::platform::Dir;
use crate::queue::Engine;
use crate::scan::Filter;
use crate::value::{Cancel, Digest, Meta, Place, RelPath, RunId};

/// Everything that one march needs; borrowed from the run.
pub struct Terms<'a> {
    /// The source's root.
    pub source: &'a Dir,
    /// The destination's root; `None` where there is none yet, and then everything is new.
    pub destination: Option<&'a Dir>,
    /// Device and inode of the directory in which the destination is going to be made, where there is none yet: met below the source's
    /// root, it is a destination inside the source.
    pub destination_parent: Option<(u64, u64)>,
    /// The rule's filter, compiled.
    pub filter: &'a Arc<Filter>,
    /// The rule.
    pub rule: &'a Rule,
    /// What the source's file system is.
    pub source_place: &'a Place,
    /// What the destination's file system is and can hold.
    pub place: &'a Place,
    /// Whether this process may give files away, make devices and see all extended attributes.
    pub as_root: bool,
    /// What of the two trees it is about.
    pub scope: Scope<'a>,
    /// Runs that never ended: their stage names are to be cleared.
    pub unfinished_runs: &'a [RunId],
    /// Digests of the destination's files that are known without reading; asked by `compare: mtime_then_hash` and for moves.
    pub known: Option<&'a dyn Digests>,
    /// What becomes of what the patterns leave out in the destination.
    pub excluded: ExcludedThere,
    /// What reads files; without it, none is read.
    pub engine: Option<&'a Engine>,
    /// Raised, it ends the march early; the draft is of no use then.
    pub cancel: &'a Cancel,
    /// Where progress is told.
    pub meter: &'a ScanMeter,
    /// Threads, at least 1; the draft does not depend on it. Twice the processors, at least 4, is a good number.
    pub threads: usize,
    /// Directories to keep open at most, beyond those that the threads have in hand: see
    /// [`Environment::handle_budget`](crate::platform::Environment::handle_budget).
    pub handle_budget: usize,
}

/// What becomes of entries of the destination that the rule's patterns leave out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExcludedThere {
    /// They stay.
    #[default]
    Kept,
    /// In a mirror they go, whether the source has them or not; what other predicates leave out stays.
    Cleared,
}

/// What of two trees a march is about; by default all of both.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scope<'a> {
    /// The entries of the source's root that it is about, where it is not about the root itself. The rest of both roots is not even listed, and
    /// nothing is said of the destination's root: it only holds what is compared. Sorted.
    pub names: Option<&'a [Named]>,
    /// Whether entries are looked at that only the destination has.
    pub extras: Extras,
    /// Whether equal files are told.
    pub equals: Equals,
}

impl Scope<'_> {
    /// What the destination calls an entry of the source's root.
    pub(super) fn called<'n>(&'n self, name: &'n [u8]) -> &'n [u8] {
        let named = self.names.and_then(|names| {
            let at = names.binary_search_by(|named| (*named.source).cmp(name)).ok()?;
            names.get(at)
        });
        named.map_or(name, |named| &named.destination)
    }
}

/// An entry of the source's root that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Named {
    /// Its name in the source.
    pub source: Box<[u8]>,
    /// Its name in the destination. Another one than in the source is for entries that are no directory, and for rules that compare no content.
    pub destination: Box<[u8]>,
}

/// What becomes of entries that only the destination has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extras {
    /// They are looked at and counted; a mirror removes them.
    #[default]
    Tell,
    /// They are passed by, and counted as kept.
    Pass,
}

/// What becomes of files that are equal on both sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Equals {
    /// They are counted, and told only where they have several names.
    #[default]
    Drop,
    /// Each is told ([`Verdict::Same`](super::Verdict::Same)).
    Tell,
}

/// Digests that are known without reading.
pub trait Digests: Sync {
    /// The digest of the content of a destination's file, where it is known and the file, as observed, is still the one it was taken of.
    fn digest(&self, path: &RelPath, meta: &Meta) -> Option<Digest>;
}

/// How far a march has come; read by whoever reports.
#[derive(Debug, Default)]
pub struct ScanMeter {
    entries: AtomicU64,
    directories: AtomicU64,
}

impl ScanMeter {
    /// Names looked at so far, on either side; a name on both sides counts once.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.entries.load(Ordering::Relaxed)
    }

    /// Directories entered so far, on either side; a directory on both sides counts once.
    #[must_use]
    pub fn directories(&self) -> u64 {
        self.directories.load(Ordering::Relaxed)
    }

    pub(super) fn add_entries(&self, count: u64) {
        self.entries.fetch_add(count, Ordering::Relaxed);
    }

    pub(super) fn add_directory(&self) {
        self.directories.fetch_add(1, Ordering::Relaxed);
    }
}
