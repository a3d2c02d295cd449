//! Moves: files of the destination get other names, on the run thread, one after the other, before anything is copied.
//!
//! A file whose old name goes is renamed. One whose old name gets other content later has both names until then, so that none stands empty;
//! two that change places do so by one exchange. Metadata is mended under the old name, so that the new one comes with all of it. What
//! cannot be moved for what the places are (EXDEV, no links, no exchange) is copied, and its old name removed after that, as if nobody had
//! noticed that it was moved.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::Range;

use crate::plan::{Action, ActionKind, DirectoryId};
use crate::platform::{Attributes as _, Dir, RenameMode};
use crate::store::Change;
use crate::value::{Meta, RelPath};

use super::check::{Closeness, check_destination, is_still, open_source};
use super::commit::Committer;
use super::entries::sync_file;
use super::ledger::Ledger;
use super::metadata::{self, Age};
use super::ready::{Finished, Job};
use super::retry::patiently;
use super::site::{Site, SyncWay};
use super::stage::Stage;
use super::trouble::{Tried as _, Trouble};

/// What becomes of a file's old name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OldName {
    /// It goes.
    Goes,
    /// It gets other content, by a later move or a copy.
    Stays,
    /// It gets the file that this move displaces: both change places. The other action's index.
    Exchanged(usize),
}

/// How a move ended that did not fail.
enum Moved {
    /// The moves that one step made.
    Done(Vec<Finished>),
    /// The places cannot do it: it is to be copied.
    Impossible(Vec<Job>),
}

/// Does the moves of a range, whose order is the plan's. For those that have to be copied instead, jobs are waiting on return; returned are
/// those of them whose old names go, which is for [`remove_origins`](super::remove::remove_origins).
pub(super) fn make_moves<'s>(
    site: &'s Site<'s>,
    committer: &mut Committer<'s>,
    ledger: &mut Ledger<'s, '_>,
    range: Range<usize>,
) -> Vec<usize> {
    let names = &Names { site, given: Cell::new(false) };
    let wanted = if range.is_empty() { HashMap::new() } else { wanted_names(site) };
    let mut exchanged = HashSet::new();
    let mut copied = Vec::new();
    for index in range {
        if ledger.must_stop() {
            break;
        }
        if exchanged.contains(&index) {
            continue;
        }
        let step = match Step::new(names, &wanted, index) {
            Ok(step) => step,
            Err(trouble) => {
                ledger.fail(index, &trouble);
                continue;
            }
        };
        site.meters.begin(step.path.clone());
        site.trees.widen(step.action.directory);
        site.trees.widen(step.holder);
        let moved = step.make();
        exchanged.extend(step.other());
        match moved {
            Ok(Moved::Done(all)) => {
                for finished in all {
                    let id = site.action(finished.index).directory;
                    committer.named(id, step.origin.device, finished, &mut |event| ledger.take(event));
                }
            }
            Ok(Moved::Impossible(jobs)) => {
                copied.extend((step.old_name == OldName::Goes).then_some(index));
                ledger.again.extend(jobs);
            }
            Err(trouble) => {
                step.say_it_stays(ledger, &trouble);
                for index in [index].into_iter().chain(step.other()) {
                    ledger.fail(index, &trouble);
                }
            }
        }
    }
    copied
}

/// The names that get content from the source or by a move, with the actions that bring it.
fn wanted_names(site: &Site<'_>) -> HashMap<RelPath, usize> {
    let plan = site.plan();
    let brings = |action: &Action| matches!(action.kind, ActionKind::Move | ActionKind::Replace);
    let actions = plan.actions.iter().enumerate().filter(|(_, action)| brings(action));
    actions.map(|(index, action)| (plan.path(action), index)).collect()
}

/// One move.
struct Step<'s> {
    site: &'s Site<'s>,
    index: usize,
    action: &'s Action,
    path: RelPath,
    from: &'s RelPath,
    /// The file as observed under its old name.
    origin: &'s Meta,
    /// The directory of the old name.
    holder: DirectoryId,
    old_name: OldName,
    names: &'s Names<'s>,
}

/// What is known of names given by moves: where they reach the disk in any order, those that keep content have to be durable before what
/// they were made from is given away.
struct Names<'s> {
    site: &'s Site<'s>,
    /// Some were given since the last sync.
    given: Cell<bool>,
}

impl Names<'_> {
    /// A name was given in a directory.
    fn note(&self, directory: &Dir, device: u64) -> Result<(), Trouble> {
        self.given.set(true);
        if !self.site.place().ordered && self.site.sync_way(device) == SyncWay::Each {
            directory.sync().tried("make the new name durable")?;
        }
        Ok(())
    }

    /// Makes the names that were given durable, where their order does not.
    fn settle(&self, device: u64) -> Result<(), Trouble> {
        if self.site.place().ordered || !self.given.replace(false) {
            return Ok(());
        }
        match (self.site.sync_way(device), &self.site.versions) {
            (SyncWay::FileSystem, _) => {
                self.site.terms.destination.sync_file_system().tried("make new names durable")
            }
            (SyncWay::Each, Some(versions)) => Ok(versions.sync_directories()?),
            (SyncWay::Each, None) | (SyncWay::None, _) => Ok(()),
        }
    }
}

impl<'s> Step<'s> {
    fn new(names: &'s Names<'s>, wanted: &HashMap<RelPath, usize>, index: usize) -> Result<Self, Trouble> {
        let site = names.site;
        let (action, plan) = (site.action(index), site.plan());
        let path = plan.path(action);
        let (Some(from), Some(origin)) = (plan.link(action), plan.origin(action)) else {
            return Err(Trouble::Internal);
        };
        let holder = site.trees.id_of(&from.parent().unwrap_or_default()).ok_or(Trouble::NoDirectory)?;
        let old_name = match wanted.get(from) {
            None => OldName::Goes,
            Some(&other) if plan.link(site.action(other)) == Some(&path) => OldName::Exchanged(other),
            Some(_) => OldName::Stays,
        };
        Ok(Self { site, index, action, path, from, origin, holder, old_name, names })
    }

    /// Says of the old name, which would have gone, that it is still there; where the source is gone there is nothing to be said.
    fn say_it_stays(&self, ledger: &mut Ledger<'_, '_>, trouble: &Trouble) {
        ledger.stays(self.from);
        if self.old_name == OldName::Goes && trouble.kind().is_some() {
            ledger.fail_beside(self.from.clone(), &Trouble::Withheld { why: NOT_MOVED });
        }
    }

    /// The action that is done by the same step, where two files change places.
    fn other(&self) -> Option<usize> {
        match self.old_name {
            OldName::Exchanged(other) => Some(other),
            OldName::Goes | OldName::Stays => None,
        }
    }

    fn make(&self) -> Result<Moved, Trouble> {
        let site = self.site;
        let directory = site.trees.destination_to_change(self.action.directory)?;
        let holder = site.trees.destination_to_change(self.holder)?;
        let present = check_destination(site, self.action, &directory, Closeness::Whole)?;
        self.mend(self.action, &holder, self.from.name(), self.origin)?;
        match (self.old_name, present) {
            (OldName::Exchanged(other), Some(present)) => {
                self.mend(site.action(other), &directory, self.path.name(), &present)?;
                self.exchange(&directory, &holder, other)
            }
            (OldName::Exchanged(_), None) => Err(Trouble::Internal),
            (OldName::Goes | OldName::Stays, present) => self.pass_on(&directory, &holder, present),
        }
    }

    /// One file gets its new name; what that held is kept, unless it was moved on itself.
    fn pass_on(&self, directory: &Dir, holder: &Dir, present: Option<Meta>) -> Result<Moved, Trouble> {
        let site = self.site;
        let displaced = present.filter(|present| !site.is_moved(present));
        let kept = displaced.is_some() && self.keep(directory, &self.path)?;
        if present.is_some() {
            self.names.settle(self.origin.device)?;
        }
        check_origin(holder, self.from.name(), self.origin, Closeness::Content)?;
        match self.rename(directory, holder, present.is_some()) {
            Ok(()) => {}
            Err(trouble) if trouble.is_beyond_places() => {
                let kept = kept || present.is_some_and(|present| site.is_moved(&present));
                return Ok(Moved::Impossible(vec![copying(self.index, kept)]));
            }
            Err(trouble) => return Err(trouble),
        }
        if self.old_name == OldName::Stays {
            self.names.note(directory, self.origin.device)?;
            site.note_moved(self.origin);
        }
        let displaced = displaced.map(|meta| Change::Displaced { path: self.path.clone(), meta, kept });
        let moved = told(directory, self.from, &self.path, self.origin);
        Ok(Moved::Done(vec![finished(self.index, displaced.into_iter().chain(moved))]))
    }

    /// Both files change places.
    fn exchange(&self, directory: &Dir, holder: &Dir, other: usize) -> Result<Moved, Trouble> {
        check_origin(holder, self.from.name(), self.origin, Closeness::Content)?;
        check_destination(self.site, self.action, directory, Closeness::Content)?;
        let exchanged = patiently(self.site, || {
            holder
                .rename(self.from.name(), directory, self.path.name(), RenameMode::Exchange)
                .tried("exchange both files")
        });
        match exchanged {
            Ok(()) => {
                // Told at once: the catalog takes both digests before it changes either.
                let back = self.site.plan().destination(self.action);
                let back = back.and_then(|origin| told(holder, &self.path, self.from, origin));
                let there = told(directory, self.from, &self.path, self.origin);
                let both = finished(self.index, there.into_iter().chain(back));
                Ok(Moved::Done(vec![both, finished(other, [])]))
            }
            Err(trouble) if trouble.is_beyond_places() => {
                let jobs = [(self.index, directory, &self.path), (other, holder, self.from)];
                let kept = |(index, directory, path): (usize, &Dir, &RelPath)| {
                    Ok(copying(index, self.keep(directory, path)?))
                };
                jobs.map(kept).into_iter().collect::<Result<_, Trouble>>().map(Moved::Impossible)
            }
            Err(trouble) => Err(trouble),
        }
    }

    /// Gives the file under `name`, which must be as it was observed, the metadata of the source of `action`, which must be, too.
    fn mend(&self, action: &Action, holder: &Dir, name: &[u8], observed: &Meta) -> Result<(), Trouble> {
        let site = self.site;
        let source_directory = site.trees.source(action.directory)?;
        let (source, meta) = open_source(site, action, &source_directory)?;
        let wanted = metadata::read(site, &source, meta)?;
        check_origin(holder, name, observed, Closeness::Whole)?;
        let node = holder.node(name).tried("look at the file to be moved")?;
        let now = node.meta().tried("look at the file to be moved")?;
        if !is_still(observed, &now, Closeness::Whole) {
            return Err(ORIGIN_CHANGED);
        }
        if now.links > observed.links {
            return Err(Trouble::Moved { what: "the file that was to be moved got a further name" });
        }
        site.note_mended(observed);
        metadata::apply(site, &node, &wanted, Age::Old)?;
        match site.sync_way(now.device) {
            SyncWay::Each => sync_file(holder, name, &now),
            SyncWay::FileSystem | SyncWay::None => Ok(()),
        }
    }

    /// Keeps what a name holds; says whether there is a place to keep it.
    fn keep(&self, directory: &Dir, path: &RelPath) -> Result<bool, Trouble> {
        let Some(versions) = &self.site.versions else { return Ok(false) };
        versions.keep(self.site.original(), directory, path.name(), path)?;
        self.names.given.set(true);
        Ok(true)
    }

    fn rename(&self, directory: &Dir, holder: &Dir, over: bool) -> Result<(), Trouble> {
        let (old, new) = (self.from.name(), self.path.name());
        let site = self.site;
        patiently(site, || match (self.old_name, over) {
            (OldName::Goes, false) => rename_free(holder, old, directory, new),
            (OldName::Goes, true) => {
                check_destination(site, self.action, directory, Closeness::Content)?;
                holder.rename(old, directory, new, RenameMode::Replace).tried("move the file")
            }
            (_, false) => match holder.hard_link(old, directory, new) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(APPEARED),
                linked => linked.tried("give the file its new name"),
            },
            (_, true) => {
                let stage =
                    Stage::other(site, self.action.directory, |name| holder.hard_link(old, directory, name));
                let stage = stage.tried("give the file its new name")?;
                check_destination(site, self.action, directory, Closeness::Content)?;
                directory
                    .rename(stage.name(), directory, new, RenameMode::Replace)
                    .tried("give the file its new name")?;
                stage.disarm();
                Ok(())
            }
        })
    }
}

const ORIGIN_CHANGED: Trouble = Trouble::Moved { what: "the file that was to be moved changed" };

/// Whether a file still stands under its old name as it was observed.
fn check_origin(holder: &Dir, name: &[u8], observed: &Meta, closeness: Closeness) -> Result<(), Trouble> {
    match holder.find(name).tried("look at the file to be moved")? {
        None => Err(Trouble::Moved { what: "the file that was to be moved went away" }),
        Some(found) if is_still(observed, &found, closeness) => Ok(()),
        Some(_) => Err(ORIGIN_CHANGED),
    }
}

/// What the catalog is told of one move. Of what somebody else has put there since it knows nothing.
fn told(directory: &Dir, from: &RelPath, to: &RelPath, origin: &Meta) -> Option<Change> {
    let meta = directory.find(to.name()).ok().flatten().filter(|now| now.same_inode(origin))?;
    Some(Change::Moved { from: from.clone(), to: to.clone(), before: *origin, meta })
}

fn finished(index: usize, changes: impl IntoIterator<Item = Change>) -> Finished {
    Finished { index, bytes: 0, changes: changes.into_iter().collect(), torn: false }
}

/// The job of a move that is to be a copy; `kept` where what its name holds needs no keeping any more.
fn copying(index: usize, kept: bool) -> Job {
    Job { unlinked: true, kept, ..Job::new(index) }
}

/// Why an old name stays.
pub(super) const NOT_MOVED: &str = "it stays because it was not moved";

const APPEARED: Trouble = Trouble::Moved { what: "something appeared in the destination" };

/// Renames to a name that must be free.
fn rename_free(from: &Dir, name: &[u8], to: &Dir, new: &[u8]) -> Result<(), Trouble> {
    match from.rename(name, to, new, RenameMode::NoReplace) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(APPEARED),
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            if to.find(new).tried("look at the destination")?.is_some() {
                return Err(APPEARED);
            }
            from.rename(name, to, new, RenameMode::Replace).tried("move the file")
        }
        renamed => renamed.tried("move the file"),
    }
}
