//! What workers are given, and what they hand to the commit thread.

use crate::plan::{Action, ActionKind, DirectoryId};
use crate::value::{Digest, Kind, Meta};

use crate::store::Change;

use super::stage::Stage;
use super::trouble::Trouble;

/// One action to be tried.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is something of its own that happened to the job before"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Job {
    /// Index into the plan's actions.
    pub(super) index: usize,
    /// How often it was written anew after a failed sync.
    pub(super) attempt: u32,
    /// It has waited for its source's time grain to pass.
    pub(super) waited: bool,
    /// Its old content is in versions already, or has another name.
    pub(super) kept: bool,
    /// It found no room while others may have taken it for a moment.
    pub(super) pressed: bool,
    /// It is the copy of a file whose leader failed: make no link.
    pub(super) unlinked: bool,
}

impl Job {
    pub(super) fn new(index: usize) -> Self {
        Self { index, attempt: 0, waited: false, kept: false, pressed: false, unlinked: false }
    }
}

/// What follows from a job that did not get through. Where there was no room a larger file may have been in the making, whose stage goes when it
/// fails: each is tried once more at the end of its phase, one at a time.
pub(super) fn ended(job: Job, trouble: Trouble) -> Event {
    match trouble {
        Trouble::Aborted => Event::Dropped,
        trouble if trouble.is_full() && !job.pressed => Event::Later(Job { pressed: true, ..job }),
        trouble => Event::Failed { index: job.index, trouble },
    }
}

/// How a staged entry gets its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Publish {
    /// It was changed in place; nothing is left to do but to make it durable.
    InPlace,
    /// The name must be free.
    New,
    /// Over an entry that is no directory.
    Over,
    /// In the place of a directory, which goes to versions whole, or which planned removals have emptied.
    Swap,
}

impl Publish {
    pub(super) fn of(action: &Action, displaced: Option<&Meta>) -> Self {
        match displaced.map(|meta| meta.kind) {
            _ if action.kind == ActionKind::Metadata => Self::InPlace,
            None => Self::New,
            Some(Kind::Directory) => Self::Swap,
            Some(_) => Self::Over,
        }
    }
}

/// A new entry that waits for its batch.
pub(super) struct Ready<'s> {
    pub(super) job: Job,
    pub(super) directory: DirectoryId,
    /// `None` for what was changed in place.
    pub(super) stage: Option<Stage<'s>>,
    pub(super) publish: Publish,
    /// The inode that was staged or changed.
    pub(super) inode: (u64, u64),
    /// Bytes of content that were written.
    pub(super) bytes: u64,
    pub(super) digest: Option<Digest>,
    /// Its content was read back from below the page cache.
    pub(super) read_back: bool,
    /// What the catalog is told of what was changed in place.
    pub(super) touched: Option<Box<Change>>,
    /// It is torn: published, and a failure all the same.
    pub(super) torn: bool,
}

/// One thing that happened to an action, told to the run thread.
pub(super) enum Event {
    /// Committed.
    Done(Finished),
    /// Did not get through.
    Failed { index: usize, trouble: Trouble },
    /// Never tried, or dropped half-way: the run is interrupted.
    Dropped,
    /// To be written anew.
    Again(Job),
    /// To be tried at the end of its phase: its source's time grain has to pass, or there may be room then.
    Later(Job),
    /// A worker is through with one job (another event of it comes later).
    Handed,
    /// Everything handed over before the order to flush has been told.
    Flushed,
}

/// A committed action.
pub(super) struct Finished {
    pub(super) index: usize,
    pub(super) bytes: u64,
    /// What the catalog is told.
    pub(super) changes: Vec<Change>,
    pub(super) torn: bool,
}
