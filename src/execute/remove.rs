//! Removals: children before parents, files into versions where there are any, directories by `rmdir`.

use std::collections::HashMap;
use std::ops::Range;

use crate::job::{Remove, Versions};
use crate::plan::{Action, DirectoryId, Reason};
use crate::platform::Dir;
use crate::store::Change;
use crate::value::{Kind, Meta, RelPath};

use super::check::{Closeness, check_destination, is_still};
use super::commit::{BATCH_FILES_MAX, Committer};
use super::directories::{Opening, open_checked};
use super::ledger::Ledger;
use super::moves::NOT_MOVED;
use super::publish::remove_emptied;
use super::ready::{Event, Finished};
use super::retry::patiently;
use super::site::{Site, SyncWay};
use super::trouble::{Tried as _, Trouble};

/// One phase of removals.
pub(super) struct Removals<'s, 'r, 'f> {
    site: &'s Site<'s>,
    committer: &'r mut Committer<'s>,
    ledger: &'r mut Ledger<'s, 'f>,
    /// For directories that the source did not have: whether it still has none.
    absent: HashMap<DirectoryId, bool>,
    /// Kept in versions, to be unlinked once that is durable; and directories that are empty only then.
    waiting: Vec<usize>,
}

/// Does the removals of a range. Everything that was made before is durable by now.
pub(super) fn remove<'s>(
    site: &'s Site<'s>,
    committer: &mut Committer<'s>,
    ledger: &mut Ledger<'s, '_>,
    range: Range<usize>,
) {
    let reason = withheld_all(site, ledger);
    let mut removals = Removals { site, committer, ledger, absent: HashMap::new(), waiting: Vec::new() };
    for index in range {
        if removals.ledger.must_stop() {
            break;
        }
        let action = site.action(index);
        site.trees.widen(action.directory);
        site.meters.begin(site.plan().path(action));
        let removed = match reason {
            Some(why) => Err(Trouble::Withheld { why }),
            None => removals.one(index, action),
        };
        if let Err(trouble) = removed {
            removals.ledger.fail(index, &trouble);
        }
    }
    removals.end_waiting();
}

/// Removes the old names of files that were to be moved and had to be copied. The copies are durable by now.
pub(super) fn remove_origins(site: &Site<'_>, ledger: &mut Ledger<'_, '_>, copied: &[usize]) {
    let reason = withheld_all(site, ledger);
    for &index in copied {
        let (action, plan) = (site.action(index), site.plan());
        let (Some(from), Some(origin)) = (plan.link(action), plan.origin(action)) else { continue };
        if ledger.must_stop() {
            return;
        }
        let removed = match reason {
            _ if !ledger.is_done(index) => Err(Trouble::Withheld { why: NOT_MOVED }),
            Some(why) => Err(Trouble::Withheld { why }),
            None => remove_origin(site, from, origin),
        };
        match removed {
            Ok(()) => {
                let kept = site.versions.is_some();
                ledger.add_change(Change::Displaced { path: from.clone(), meta: *origin, kept });
            }
            Err(trouble) => {
                ledger.stays(from);
                ledger.fail_beside(from.clone(), &trouble);
            }
        }
    }
}

fn remove_origin(site: &Site<'_>, from: &RelPath, origin: &Meta) -> Result<(), Trouble> {
    let holder = site.trees.id_of(&from.parent().unwrap_or_default()).ok_or(Trouble::NoDirectory)?;
    let directory = site.trees.destination_to_change(holder)?;
    let found = directory.find(from.name()).tried("look at the destination")?;
    // It was mended to be moved, so that its ctime is another one.
    if !found.is_some_and(|found| is_still(origin, &found, Closeness::Content)) {
        return Err(Trouble::Moved { what: "the destination changed" });
    }
    let source = match site.trees.source(holder) {
        Ok(source) => source.find(from.name()).tried("look at the source")?,
        Err(Trouble::Vanished) => None,
        Err(trouble) => return Err(trouble),
    };
    if source.is_some() {
        return Err(Trouble::Moved { what: "something appeared in the source" });
    }
    match &site.versions {
        Some(versions) => {
            let ordered = site.place().ordered;
            patiently(site, || Ok(versions.take(site.original(), &directory, from.name(), from, ordered)?))
                .map(drop)
        }
        None => patiently(site, || directory.remove_file(from.name()).tried("remove it")),
    }
}

/// Without versions a removal is for good, so one failure anywhere cancels all of them.
fn withheld_all(site: &Site<'_>, ledger: &Ledger<'_, '_>) -> Option<&'static str> {
    if site.terms.rule.versions != Versions::None {
        return None;
    }
    if !site.plan().problems.is_empty() {
        return Some("nothing is removed because a part of the trees could not be read");
    }
    let copied = site.terms.rule.remove == Remove::After;
    (copied && ledger.has_failed_anywhere()).then_some("nothing is removed because something was not copied")
}

impl Removals<'_, '_, '_> {
    fn one(&mut self, index: usize, action: &Action) -> Result<(), Trouble> {
        let plan = self.site.plan();
        let parent = plan
            .directories
            .get(action.directory.0 as usize)
            .map(|planned| planned.path.clone())
            .unwrap_or_default();
        if self.ledger.has_failed_within(&parent) {
            return Err(Trouble::Withheld {
                why: "it stays because something beside or below it was not copied",
            });
        }
        if action.entry == Kind::Directory {
            // What lies in it may still wait for its version.
            return if self.waiting.is_empty() {
                self.directory(index, action)
            } else {
                self.wait(index);
                Ok(())
            };
        }
        let directory = self.site.trees.destination_to_change(action.directory)?;
        self.check(action, &directory)?;
        match (&self.site.versions, self.site.place().ordered) {
            (Some(_), false) => self.keep(index, action, &directory),
            (Some(versions), true) => {
                let path = plan.path(action);
                let name = plan.name(action);
                patiently(self.site, || {
                    Ok(versions.take(self.site.original(), &directory, name, &path, true)?)
                })?;
                self.done(index, action);
                Ok(())
            }
            (None, _) => {
                patiently(self.site, || directory.remove_file(plan.name(action)).tried("remove it"))?;
                self.done(index, action);
                Ok(())
            }
        }
    }

    /// Where names reach the disk in any order, the version has to be durable before the name goes: kept now, unlinked after one sync for
    /// many.
    fn keep(&mut self, index: usize, action: &Action, directory: &Dir) -> Result<(), Trouble> {
        let plan = self.site.plan();
        if let Some(versions) = &self.site.versions {
            versions.keep(self.site.original(), directory, plan.name(action), &plan.path(action))?;
        }
        self.wait(index);
        Ok(())
    }

    fn wait(&mut self, index: usize) {
        self.waiting.push(index);
        if self.waiting.len() >= BATCH_FILES_MAX {
            self.end_waiting();
        }
    }

    /// Makes versions durable and takes the names away that they came from.
    fn end_waiting(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        if waiting.is_empty() {
            return;
        }
        let durable = match (self.site.sync_way(self.site.place().device), &self.site.versions) {
            (SyncWay::None, _) | (_, None) => true,
            (SyncWay::FileSystem, _) => self.site.terms.destination.sync_file_system().is_ok(),
            (SyncWay::Each, Some(versions)) => versions.sync_directories().is_ok(),
        };
        for index in waiting {
            let action = self.site.action(index);
            let removed = match (action.entry, durable) {
                (Kind::Directory, _) => self.directory(index, action),
                (_, true) => self.unlink(index, action),
                (_, false) => Err(Trouble::NotDurable),
            };
            if let Err(trouble) = removed {
                if action.entry != Kind::Directory {
                    // Its version is its own inode: the run's marker stays, so that the next run's recovery drops that.
                    self.site.leave_stage();
                }
                self.ledger.fail(index, &trouble);
            }
        }
    }

    fn unlink(&mut self, index: usize, action: &Action) -> Result<(), Trouble> {
        let directory = self.site.trees.destination_to_change(action.directory)?;
        check_destination(self.site, action, &directory, Closeness::Content)?;
        directory.remove_file(self.site.plan().name(action)).tried("remove it")?;
        self.done(index, action);
        Ok(())
    }

    fn directory(&mut self, index: usize, action: &Action) -> Result<(), Trouble> {
        let plan = self.site.plan();
        if self.ledger.has_staying_within(&plan.path(action)) {
            return Err(Trouble::Withheld { why: "it stays because something in it was not removed" });
        }
        let directory = self.site.trees.destination_to_change(action.directory)?;
        self.check(action, &directory)?;
        patiently(self.site, || remove_emptied(&directory, plan.name(action)))?;
        self.site.trees.note_gone(&plan.path(action));
        self.done(index, action);
        Ok(())
    }

    fn done(&mut self, index: usize, action: &Action) {
        let plan = self.site.plan();
        let mut finished = Finished { index, bytes: 0, changes: Vec::new(), torn: false };
        let observed: Option<&Meta> = plan.destination(action);
        if let Some(meta) = observed {
            // A directory was emptied before: of itself nothing is kept.
            let kept = self.site.versions.is_some() && meta.kind != Kind::Directory;
            finished.changes.push(Change::Displaced { path: plan.path(action), meta: *meta, kept });
        }
        let device = observed.map_or(0, |meta| meta.device);
        let ledger = &mut *self.ledger;
        self.committer.named(action.directory, device, finished, &mut |event: Event| ledger.take(event));
    }

    /// Whether the entry is still the one that was seen, and the source still has none of that name (of one that the patterns leave out,
    /// it may have its own).
    fn check(&mut self, action: &Action, directory: &Dir) -> Result<(), Trouble> {
        const APPEARED: Trouble = Trouble::Moved { what: "something appeared in the source" };
        check_destination(self.site, action, directory, Closeness::Whole)?;
        if action.reason == Reason::Excluded {
            return Ok(());
        }
        let plan = self.site.plan();
        let Some(planned) = plan.directories.get(action.directory.0 as usize) else { return Ok(()) };
        if planned.source.is_some() {
            let source = match self.site.trees.source(action.directory) {
                Ok(source) => source,
                Err(Trouble::Vanished) => {
                    return Err(Trouble::Moved { what: "the source's directory went away" });
                }
                Err(trouble) => return Err(trouble),
            };
            return match source.find(plan.name(action)).tried("look at the source")? {
                None => Ok(()),
                Some(_) => Err(APPEARED),
            };
        }
        let site = self.site;
        let absent = *self.absent.entry(action.directory).or_insert_with(|| is_absent(site, &planned.path));
        if absent { Ok(()) } else { Err(APPEARED) }
    }
}

/// Whether the source has no directory at a path.
fn is_absent(site: &Site<'_>, path: &RelPath) -> bool {
    matches!(open_checked(site.terms.source, path, None), Err(Opening::Absent | Opening::Other))
}
