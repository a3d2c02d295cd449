//! The run thread's book: what became of each action, what the catalog is told, and whether the run can go on.

use std::collections::HashSet;

use crate::plan::ActionKind;
use crate::platform::Attributes as _;
use crate::store::{Change, HOME_NAME, StoreError};
use crate::value::{Kind, RelPath};

use super::ready::{Event, Finished, Job};
use super::site::Site;
use super::trouble::Trouble;
use super::{Committed, Ended, Fact, Failure, FailureKind, Outcome};

/// Changes that are told to the catalog at once: one transaction for a batch or two.
const CHANGES_MAX: usize = 1024;

/// Takes every event; lives on the run thread alone.
pub(super) struct Ledger<'s, 'f> {
    site: &'s Site<'s>,
    catalog: &'f mut dyn Committed,
    facts: &'f mut dyn FnMut(Fact),
    changes: Vec<Change>,
    /// So many changes are told to the catalog.
    changes_due: usize,
    done: Vec<bool>,
    failures: Vec<Failure>,
    vanished: u64,
    bytes: u64,
    read_back: u64,
    full: bool,
    lost: Option<String>,
    /// Paths that should have been made and were not.
    failed: HashSet<RelPath>,
    /// Directories below which one of them lies.
    above_failed: HashSet<RelPath>,
    /// Directories below which a removal was not done.
    above_staying: HashSet<RelPath>,
    /// To be handed out again.
    pub(super) again: Vec<Job>,
    /// To be handed out once their time grain has passed.
    pub(super) later: Vec<Job>,
}

/// Marks all directories above a path.
fn mark_above(above: &mut HashSet<RelPath>, path: &RelPath) {
    let mut next = path.parent();
    while let Some(directory) = next {
        next = directory.parent();
        if !above.insert(directory) {
            break;
        }
    }
}

impl<'s, 'f> Ledger<'s, 'f> {
    pub(super) fn new(
        site: &'s Site<'s>,
        catalog: &'f mut dyn Committed,
        facts: &'f mut dyn FnMut(Fact),
    ) -> Self {
        Self {
            site,
            catalog,
            facts,
            changes: Vec::new(),
            changes_due: CHANGES_MAX,
            done: vec![false; site.plan().actions.len()],
            failures: Vec::new(),
            vanished: 0,
            bytes: 0,
            read_back: 0,
            full: false,
            lost: None,
            failed: HashSet::new(),
            above_failed: HashSet::new(),
            above_staying: HashSet::new(),
            again: Vec::new(),
            later: Vec::new(),
        }
    }

    /// Whether no further action may be begun.
    pub(super) fn must_stop(&self) -> bool {
        self.lost.is_some() || self.site.terms.cancel.is_raised()
    }

    /// Whether something below this directory should have been made and was not.
    pub(super) fn has_failed_within(&self, directory: &RelPath) -> bool {
        self.above_failed.contains(directory)
    }

    /// Whether something below this directory should have been removed and was not.
    pub(super) fn has_staying_within(&self, directory: &RelPath) -> bool {
        self.above_staying.contains(directory)
    }

    /// Whether exactly this path should have been made and was not.
    pub(super) fn has_failed(&self, path: &RelPath) -> bool {
        self.failed.contains(path)
    }

    /// Whether anything should have been made and was not.
    pub(super) fn has_failed_anywhere(&self) -> bool {
        !self.failed.is_empty()
    }

    /// Books an event.
    pub(super) fn take(&mut self, event: Event) {
        match event {
            Event::Done(finished) => self.finish(finished),
            Event::Failed { index, trouble } => self.fail(index, &trouble),
            Event::Again(job) => self.again.push(job),
            Event::Later(job) => self.later.push(Job { waited: true, ..job }),
            Event::Dropped | Event::Handed | Event::Flushed => {}
        }
    }

    fn finish(&mut self, finished: Finished) {
        let Finished { index, bytes, changes, torn } = finished;
        self.bytes = self.bytes.saturating_add(bytes);
        let read_back = |change: &&Change| matches!(change, Change::ReadBack { .. });
        self.read_back += changes.iter().filter(read_back).count() as u64;
        self.changes.extend(changes);
        if self.changes.len() >= self.changes_due {
            // Refused now (the disk may be full for a moment), they are told with the next ones, and only the last refusal counts.
            let told = self.tell_catalog().is_ok();
            self.changes_due = if told { CHANGES_MAX } else { self.changes.len() + CHANGES_MAX };
        }
        if torn {
            self.fail(index, &Trouble::Unsettled);
            return;
        }
        if let Some(done) = self.done.get_mut(index) {
            *done = true;
        }
        self.site.meters.end_action();
        (self.facts)(Fact::Done { action: index });
    }

    /// Notes what the catalog is to be told, whatever becomes of the action.
    pub(super) fn note(&mut self, changes: Vec<Change>) {
        self.changes.extend(changes);
    }

    pub(super) fn fail(&mut self, index: usize, trouble: &Trouble) {
        if matches!(trouble, Trouble::Aborted) {
            return;
        }
        self.site.meters.end_action();
        self.withdraw_version(index);
        let Some(what) = trouble.kind() else {
            self.vanished += 1;
            (self.facts)(Fact::Vanished { action: index });
            return;
        };
        let action = self.site.action(index);
        let path = self.site.plan().path(action);
        if what == FailureKind::Full {
            self.full = true;
        }
        self.mark_failed(action.kind, &path);
        if trouble.is_read_only() && action.kind != ActionKind::Remove {
            self.lose("the destination has become read-only");
        } else if what == FailureKind::Failed {
            self.probe();
        }
        let failure = Failure { path, what, cause: trouble.cause() };
        self.failures.push(failure.clone());
        (self.facts)(Fact::Failed { action: index, failure });
    }

    /// What was kept of an entry that stays after all is no version: a copy would take its room once more with every run that fails. Where it
    /// cannot go, the run's marker stays, and the next run's recovery drops what is the name's own inode.
    fn withdraw_version(&self, index: usize) {
        let (action, plan) = (self.site.action(index), self.site.plan());
        let Some(versions) = &self.site.versions else { return };
        if plan.destination(action).is_none_or(|old| old.kind == Kind::Directory) {
            return;
        }
        let withdrawn = self.site.trees.destination(action.directory).and_then(|directory| {
            Ok(versions.withdraw(&directory, plan.name(action), &plan.path(action))?)
        });
        if withdrawn.is_err() {
            self.site.leave_stage();
        }
    }

    /// Books a failure that belongs to no action of the plan.
    pub(super) fn fail_beside(&mut self, path: RelPath, trouble: &Trouble) {
        let Some(what) = trouble.kind() else { return };
        self.full |= what == FailureKind::Full;
        self.failures.push(Failure { path, what, cause: trouble.cause() });
    }

    fn mark_failed(&mut self, kind: ActionKind, path: &RelPath) {
        let above = match kind {
            ActionKind::Metadata => return,
            ActionKind::Remove => &mut self.above_staying,
            _ => {
                self.failed.insert(path.clone());
                &mut self.above_failed
            }
        };
        mark_above(above, path);
    }

    /// Says that a name is still there whose file was to be moved.
    pub(super) fn stays(&mut self, path: &RelPath) {
        mark_above(&mut self.above_staying, path);
    }

    /// Whether an action is committed.
    pub(super) fn is_done(&self, index: usize) -> bool {
        self.done.get(index).copied().unwrap_or_default()
    }

    /// Takes down a change that belongs to an action which was booked before.
    pub(super) fn add_change(&mut self, change: Change) {
        self.changes.push(change);
    }

    /// Whether the destination is still there, asked after a failure that says nothing about it.
    fn probe(&mut self) {
        let root = self.site.terms.destination;
        let has_home = || self.site.terms.store.is_none() || matches!(root.find(HOME_NAME), Ok(Some(_)));
        if root.meta().is_err() || !has_home() {
            self.lose("the destination is lost");
        }
    }

    /// Ends the run early.
    pub(super) fn lose(&mut self, reason: &str) {
        self.lost.get_or_insert_with(|| reason.to_owned());
    }

    /// Tells the catalog what has been committed.
    fn tell_catalog(&mut self) -> Result<(), StoreError> {
        if !self.changes.is_empty() {
            self.catalog.apply(self.site.terms.run, &self.changes)?;
            self.changes.clear();
        }
        Ok(())
    }

    /// Closes the book.
    pub(super) fn close(mut self) -> Outcome {
        let told = self.tell_catalog();
        let ended = match self.lost.take() {
            Some(reason) => Ended::Stopped { reason },
            None if self.site.terms.cancel.is_raised() => Ended::Interrupted,
            None if self.full => Ended::Stopped { reason: "the destination is full".to_owned() },
            None => Ended::Finished,
        };
        let told = told.and_then(|()| match ended {
            Ended::Finished => self.catalog.complete(self.site.terms.run),
            Ended::Interrupted | Ended::Stopped { .. } => Ok(()),
        });
        if let Err(error) = told {
            let path = RelPath::root().join(HOME_NAME).join(b"catalog.db");
            self.fail_beside(path, &Trouble::Catalog(error));
        }
        Outcome {
            done: self.done,
            failures: self.failures,
            vanished: self.vanished,
            warnings: self.site.warnings(),
            bytes: self.bytes,
            read_back: self.read_back,
            stages_left: self.site.stages_left(),
            ended,
        }
    }
}
