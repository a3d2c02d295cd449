//! What goes into an execution and what comes out of it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use crate::job::Rule;
use crate::plan::Plan;
use crate::platform::{Clock, Dir};
use crate::queue::Engine;
use crate::store::{Catalog, Change, Store, StoreError};
use crate::value::{Cancel, Place, RelPath, RunId};

/// Everything one execution needs; borrowed from the run.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// What to do.
    pub plan: &'a Plan,
    /// The rule it was made for.
    pub rule: &'a Rule,
    /// The run; it has its marker already ([`Store::begin`]).
    pub run: RunId,
    /// The source's root.
    pub source: &'a Dir,
    /// The destination's root; opened before the first write, so that its `syncfs` reports every write error of this run.
    pub destination: &'a Dir,
    /// What the source's place is.
    pub source_place: &'a Place,
    /// What the destination's place is, as probed.
    pub place: &'a Place,
    /// The destination's `.twinlane`; `None` where it has none, for a rule with `versions: none`.
    pub store: Option<&'a Store>,
    /// What the two roots are to each other.
    pub roots: Roots<'a>,
    /// The time.
    pub clock: Clock,
    /// The wish to stop.
    pub cancel: &'a Cancel,
    /// Moves the bytes.
    pub engine: &'a Engine,
    /// Small workers, at least 1; with 1 everything happens on the calling thread and in the plan's order.
    pub workers: usize,
    /// Whether owners may be given away.
    pub as_root: bool,
}

/// What the two roots of an execution are to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Roots<'a> {
    /// The destination's root is the source's root's copy, with its metadata.
    #[default]
    Alike,
    /// Both only hold what is copied: the destination's root gets nothing of the source's.
    Holding {
        /// The source's name of the one entry that is copied, where the plan has another name for it. It is no directory.
        name: Option<&'a [u8]>,
    },
}

/// Who is told what was committed: the catalog, or whoever stands in for it.
pub trait Committed {
    /// Takes what one batch has changed.
    ///
    /// # Errors
    /// Where it could not be kept; the changes come again with the next ones.
    fn apply(&mut self, run: RunId, changes: &[Change]) -> Result<(), StoreError>;

    /// Every action was tried.
    ///
    /// # Errors
    /// Where that could not be kept.
    fn complete(&mut self, run: RunId) -> Result<(), StoreError>;
}

impl Committed for Catalog {
    fn apply(&mut self, run: RunId, changes: &[Change]) -> Result<(), StoreError> {
        Self::apply(self, run, changes)
    }

    fn complete(&mut self, run: RunId) -> Result<(), StoreError> {
        Self::complete(self, run)
    }
}

/// What is being done, for progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Phase {
    /// Stale stage files, removals that come first, directories.
    #[default]
    Preparing,
    /// Content, links, symlinks, special files, metadata.
    Copying,
    /// Removals, and replacements that wait for them.
    Removing,
    /// Directory metadata and the last sync.
    Finishing,
}

/// Read by the report some times a second; plain atomics that only grow.
#[derive(Debug, Default)]
pub struct Meters {
    phase: AtomicU8,
    actions: AtomicU64,
    files: AtomicU64,
    bytes: AtomicU64,
    current: Mutex<Option<RelPath>>,
}

impl Meters {
    /// What is being done.
    #[must_use]
    pub fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Relaxed) {
            0 => Phase::Preparing,
            1 => Phase::Copying,
            2 => Phase::Removing,
            _ => Phase::Finishing,
        }
    }

    /// Actions that have ended, done or not.
    #[must_use]
    pub fn actions(&self) -> u64 {
        self.actions.load(Ordering::Relaxed)
    }

    /// Files whose content is complete, under a stage name or their own.
    #[must_use]
    pub fn files(&self) -> u64 {
        self.files.load(Ordering::Relaxed)
    }

    /// Bytes of these files. What is in flight is told by [`Engine::meters`].
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The entry that was begun last.
    #[must_use]
    pub fn current(&self) -> Option<RelPath> {
        self.current.lock().ok().and_then(|current| current.clone())
    }

    pub(super) fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    pub(super) fn begin(&self, path: RelPath) {
        if let Ok(mut current) = self.current.try_lock() {
            *current = Some(path);
        }
    }

    pub(super) fn end_action(&self) {
        self.actions.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn end_file(&self, bytes: u64) {
        self.files.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// What became of one action; pushed in the order in which things were committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// It is done, and durable as the rule wants it.
    Done {
        /// Index into [`Plan::actions`].
        action: usize,
    },
    /// It is not, or not well.
    Failed {
        /// Index into [`Plan::actions`].
        action: usize,
        /// Why.
        failure: Failure,
    },
    /// Its source is gone; the destination's name was left alone.
    Vanished {
        /// Index into [`Plan::actions`].
        action: usize,
    },
}

/// One entry that could not be brought to what the plan wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Where.
    pub path: RelPath,
    /// In which way.
    pub what: FailureKind,
    /// Why, a sentence without full stop.
    pub cause: String,
}

/// The ways in which an action fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The system refused something.
    Failed,
    /// One side is not what the plan saw any more; the entry was left alone.
    MovedSince,
    /// The source changed while it was copied, at every try.
    Unsettled,
    /// The destination is full.
    Full,
    /// A removal that was not done because something else failed before.
    Withheld,
}

/// Something that this user or place cannot hold; said once a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// What, without its number: `owner not kept`.
    pub text: String,
    /// On how many entries.
    pub count: u64,
}

/// How an execution ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Every action was tried.
    Finished,
    /// It was asked to stop.
    Interrupted,
    /// It had to stop, or the destination is full; what was done is whole.
    Stopped {
        /// Why, for people.
        reason: String,
    },
}

/// What an execution did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// For each action of the plan whether it was done.
    pub done: Vec<bool>,
    /// Everything that failed, in the order in which it did.
    pub failures: Vec<Failure>,
    /// Entries whose source was gone.
    pub vanished: u64,
    /// What could not be held, one a kind.
    pub warnings: Vec<Warning>,
    /// Bytes of content that are in place.
    pub bytes: u64,
    /// Files in place whose content was read back past the page cache.
    pub read_back: u64,
    /// Things that only the next run's recovery can put right, such as stage files that could not be taken away: while there are any, the
    /// run's marker must stay.
    pub stages_left: u64,
    /// How it ended.
    pub ended: Ended,
}
