//! Batches of staged entries: old content kept, one sync, then the names.
//!
//! In come staged entries; out go events. A batch counts as committed when a sync that began after its last rename has returned, which is the
//! next batch's own, or the last one of [`Committer::flush`]. A failed sync is never tried again on the same bytes: the stage files of its batch
//! go and are written anew.

use std::time::Duration;

use crate::job::Durability;
use crate::plan::DirectoryId;
use crate::value::Wish;

use super::check::{Closeness, check_destination};
use super::publish::publish;
use super::ready::{Event, Finished, Publish, Ready, ended};
use super::site::{Site, SyncWay};
use super::trouble::{Tried as _, Trouble};

/// Files of one batch (DESIGN §8; PERF.md: batches of 500 cost as little as one sync at the end).
pub(super) const BATCH_FILES_MAX: usize = 512;
/// Bytes of one batch (DESIGN §8).
const BATCH_BYTES_MAX: u64 = 256 << 20;
/// How long a batch waits to fill (DESIGN §8).
pub(super) const BATCH_WAIT_MAX: Duration = Duration::from_secs(1);
/// How often an entry is written anew after failed syncs.
const ATTEMPTS_MAX: u32 = 2;

/// Collects and commits; used by one thread at a time.
pub(super) struct Committer<'s> {
    site: &'s Site<'s>,
    batch: Vec<Ready<'s>>,
    batch_bytes: u64,
    /// When the first entry of the batch came, by the run's clock.
    since: Option<Duration>,
    /// Named, and waiting for the next sync of the file system.
    awaiting: Vec<Finished>,
    /// Named, and waiting for a sync of their directories.
    each: Vec<(DirectoryId, Finished)>,
}

impl<'s> Committer<'s> {
    pub(super) fn new(site: &'s Site<'s>) -> Self {
        Self { site, batch: Vec::new(), batch_bytes: 0, since: None, awaiting: Vec::new(), each: Vec::new() }
    }

    /// Takes an entry into the batch, and commits the batch where it is full.
    pub(super) fn push(&mut self, ready: Ready<'s>, tell: &mut dyn FnMut(Event)) {
        self.batch_bytes = self.batch_bytes.saturating_add(ready.bytes);
        self.since.get_or_insert_with(|| self.site.terms.clock.elapsed());
        self.batch.push(ready);
        let files_max = match self.site.terms.rule.durability {
            Durability::Run => BATCH_FILES_MAX,
            // Each file has its sync, or none is wanted: there is nothing to wait for.
            Durability::File | Durability::None => 1,
        };
        if self.batch.len() >= files_max || self.batch_bytes >= BATCH_BYTES_MAX {
            self.commit(tell);
        }
    }

    /// Takes note of a change of names on a device that is done, but not known to be durable.
    pub(super) fn named(
        &mut self,
        id: DirectoryId,
        device: u64,
        finished: Finished,
        tell: &mut dyn FnMut(Event),
    ) {
        match self.site.sync_way(device) {
            SyncWay::None => tell(Event::Done(finished)),
            SyncWay::FileSystem => self.awaiting.push(finished),
            SyncWay::Each => self.each.push((id, finished)),
        }
    }

    /// How long the batch may still wait; `None` where there is none.
    pub(super) fn time_left(&self) -> Option<Duration> {
        let since = self.since?;
        Some((since + BATCH_WAIT_MAX).saturating_sub(self.site.terms.clock.elapsed()))
    }

    /// Commits what is there, and waits until it is durable.
    pub(super) fn flush(&mut self, tell: &mut dyn FnMut(Event)) {
        self.commit(tell);
        self.sync_directories(tell);
        if !self.awaiting.is_empty() {
            // Whatever waited has been told that it failed.
            let _ = self.sync_file_system(tell);
        }
    }

    /// The last sync: of what [`Committer::flush`] would, and of directories' metadata that belongs to no action.
    ///
    /// # Errors
    /// [`Trouble::NotDurable`].
    pub(super) fn conclude(&mut self, tell: &mut dyn FnMut(Event)) -> Result<(), Trouble> {
        self.commit(tell);
        self.sync_directories(tell);
        match self.site.sync_way(self.site.place().device) {
            SyncWay::FileSystem => self.sync_file_system(tell),
            // Each directory was synced when it got its metadata.
            SyncWay::Each | SyncWay::None => Ok(()),
        }
    }

    fn sync_file_system(&mut self, tell: &mut dyn FnMut(Event)) -> Result<(), Trouble> {
        if self.site.terms.destination.sync_file_system().is_ok() {
            self.confirm(tell);
            return Ok(());
        }
        for finished in self.awaiting.drain(..) {
            tell(Event::Failed { index: finished.index, trouble: Trouble::NotDurable });
        }
        Err(Trouble::NotDurable)
    }

    fn confirm(&mut self, tell: &mut dyn FnMut(Event)) {
        self.awaiting.drain(..).for_each(|finished| tell(Event::Done(finished)));
    }

    /// Keeps old content, syncs, and gives the names.
    pub(super) fn commit(&mut self, tell: &mut dyn FnMut(Event)) {
        self.batch_bytes = 0;
        self.since = None;
        let batch = std::mem::take(&mut self.batch);
        if self.site.terms.cancel.wish() == Wish::Abort {
            for ready in batch {
                if ready.job.kept {
                    // Its version is the name's own inode, which the next run's recovery drops.
                    self.site.leave_stage();
                }
                drop(ready);
                tell(Event::Dropped);
            }
            return;
        }
        let batch = self.keep_old(batch, tell);
        if batch.is_empty() {
            return;
        }
        if let Err(trouble) = self.sync(&batch, tell) {
            write_anew(batch, &trouble, tell);
            return;
        }
        for ready in batch {
            let (job, id, device) = (ready.job, ready.directory, ready.inode.0);
            match publish(self.site, ready) {
                Err(trouble) => tell(ended(job, trouble)),
                Ok(finished) => self.named(id, device, finished, tell),
            }
        }
        self.sync_directories(tell);
    }

    /// Gives old content its name in versions; an entry for which that fails leaves the batch.
    fn keep_old(&self, batch: Vec<Ready<'s>>, tell: &mut dyn FnMut(Event)) -> Vec<Ready<'s>> {
        let mut left = Vec::with_capacity(batch.len());
        for mut ready in batch {
            match self.keep(&mut ready) {
                Ok(()) => left.push(ready),
                Err(trouble) => {
                    let job = ready.job;
                    drop(ready);
                    tell(ended(job, trouble));
                }
            }
        }
        left
    }

    fn keep(&self, ready: &mut Ready<'s>) -> Result<(), Trouble> {
        let Some(versions) = self.site.versions.as_ref() else { return Ok(()) };
        if ready.publish != Publish::Over || ready.job.kept {
            return Ok(());
        }
        let action = self.site.action(ready.job.index);
        let directory = self.site.trees.destination(ready.directory)?;
        check_destination(self.site, action, &directory, Closeness::Whole)?;
        let plan = self.site.plan();
        versions.keep(self.site.original(), &directory, plan.name(action), &plan.path(action))?;
        ready.job.kept = true;
        Ok(())
    }

    /// Makes the batch's bytes and its old content's new names durable. What was named before is durable then, too.
    fn sync(&mut self, batch: &[Ready<'s>], tell: &mut dyn FnMut(Event)) -> Result<(), Trouble> {
        let has = |way| batch.iter().any(|ready| self.site.sync_way(ready.inode.0) == way);
        let (whole, each) = (has(SyncWay::FileSystem), has(SyncWay::Each));
        if each
            && batch.iter().any(|ready| ready.job.kept)
            && let Some(versions) = self.site.versions.as_ref()
        {
            versions.sync_directories()?;
        }
        if whole {
            self.site.terms.destination.sync_file_system().tried("sync the file system")?;
            self.confirm(tell);
        }
        Ok(())
    }

    /// Syncs each directory in which names were given or taken, once.
    fn sync_directories(&mut self, tell: &mut dyn FnMut(Event)) {
        let mut named = std::mem::take(&mut self.each);
        named.sort_by_key(|(id, finished)| (*id, finished.index));
        let mut last: Option<(DirectoryId, bool)> = None;
        for (id, finished) in named {
            let synced = match last {
                Some((synced, result)) if synced == id => result,
                _ => self.site.trees.destination(id).is_ok_and(|directory| directory.sync().is_ok()),
            };
            last = Some((id, synced));
            tell(if synced {
                Event::Done(finished)
            } else {
                Event::Failed { index: finished.index, trouble: Trouble::NotDurable }
            });
        }
    }
}

/// Drops the stage files of a batch whose sync failed: the kernel may have thrown their bytes away and say so only once.
fn write_anew(batch: Vec<Ready<'_>>, trouble: &Trouble, tell: &mut dyn FnMut(Event)) {
    for ready in batch {
        let Ready { mut job, stage, publish, .. } = ready;
        drop(stage);
        let index = job.index;
        if publish == Publish::InPlace || job.attempt >= ATTEMPTS_MAX {
            tell(Event::Failed { index, trouble: Trouble::NotDurable });
        } else if trouble.is_full() {
            tell(ended(job, Trouble::NoRoom));
        } else {
            job.attempt += 1;
            tell(Event::Again(job));
        }
    }
}
