//! The end of a run, however it ended: directories get their metadata, children before parents and the root last.
//!
//! A directory whose content was touched gets its time back, one that was opened for writing its mode.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::plan::{Action, ActionKind, DirectoryId};
use crate::platform::{Attributes as _, Dir};
use crate::store::Change;
use crate::value::{Kind, Meta, RelPath, Stamp, Wish};

use super::Roots;
use super::commit::Committer;
use super::directories::{DESTINATION_CHANGED, Opening, open_checked};
use super::ledger::Ledger;
use super::metadata::{self, Age, Wanted};
use super::ready::{Event, Finished};
use super::site::{Site, SyncWay};
use super::trouble::{Tried as _, Trouble};

/// A directory that this run made, waiting for its metadata.
#[derive(Clone, Copy, Debug)]
pub(super) struct Made {
    /// Index of its action.
    pub(super) index: usize,
    /// Device and inode.
    pub(super) inode: (u64, u64),
    /// What was in its place, for the catalog.
    pub(super) displaced: Option<Meta>,
}

/// What one directory gets.
#[derive(Clone, Copy, Debug, Default)]
struct Due {
    id: Option<DirectoryId>,
    made: Option<Made>,
    /// Index of a metadata action.
    mended: Option<usize>,
    /// The mode it had before it was opened for writing.
    mode: Option<u16>,
}

/// Does all of it. `mended` are the metadata actions of directories that may still be begun.
pub(super) fn finish<'s>(
    site: &'s Site<'s>,
    committer: &mut Committer<'s>,
    ledger: &mut Ledger<'s, '_>,
    made: &[Made],
    mended: impl Iterator<Item = usize>,
) {
    let drop_all = site.terms.cancel.wish() == Wish::Abort;
    for (path, due) in collect(site, made, mended).iter().rev() {
        if drop_all && due.mode.is_none() && due.made.is_none() {
            continue;
        }
        let finished = one(site, path, *due);
        let index = due.made.map(|made| made.index).or(due.mended);
        match (finished, index) {
            (Ok(meta), Some(index)) => {
                let device = meta.device;
                let changes = directory_changes(site, path, due.made, meta);
                let finished = Finished { index, bytes: 0, changes, torn: false };
                let id = due.id.unwrap_or(site.action(index).directory);
                committer.named(id, device, finished, &mut |event: Event| ledger.take(event));
            }
            (Ok(_), None) => {}
            (Err(trouble), Some(index)) => {
                // It is there all the same, and what it displaced is not.
                if let Ok(meta) = destination(site, path, *due).and_then(|directory| look(&directory)) {
                    ledger.note(directory_changes(site, path, due.made, meta));
                }
                ledger.fail(index, &trouble);
            }
            (Err(trouble), None) => ledger.fail_beside(path.clone(), &trouble),
        }
    }
}

/// What the catalog is told of a directory that this run made.
fn directory_changes(site: &Site<'_>, path: &RelPath, made: Option<Made>, meta: Meta) -> Vec<Change> {
    let Some(made) = made.filter(|_| !path.is_root()) else { return Vec::new() };
    let kept = site.versions.is_some();
    let displaced = made.displaced.map(|meta| Change::Displaced { path: path.clone(), meta, kept });
    displaced.into_iter().chain([Change::Present { path: path.clone(), meta, digest: None }]).collect()
}

fn look(directory: &Dir) -> Result<Meta, Trouble> {
    directory.meta().tried("look at the directory")
}

fn collect(site: &Site<'_>, made: &[Made], mended: impl Iterator<Item = usize>) -> BTreeMap<RelPath, Due> {
    let plan = site.plan();
    let mut all: BTreeMap<RelPath, Due> = BTreeMap::new();
    for made in made {
        all.entry(plan.path(site.action(made.index))).or_default().made = Some(*made);
    }
    for index in mended {
        all.entry(plan.path(site.action(index))).or_default().mended = Some(index);
    }
    let path_of = |id: DirectoryId| plan.directories.get(id.0 as usize).map(|planned| planned.path.clone());
    for (id, mode) in site.trees.take_widened() {
        if let Some(path) = path_of(id) {
            all.entry(path).or_default().mode = Some(mode);
        }
    }
    // The root's own time has changed where `.twinlane` was made in it, before this room was called.
    for path in site.trees.touched().filter_map(path_of).chain([RelPath::root()]) {
        all.entry(path).or_default();
    }
    for (path, due) in &mut all {
        due.id = site.trees.id_of(path);
    }
    all
}

/// Finishes one directory; returns what it is now.
fn one(site: &Site<'_>, path: &RelPath, due: Due) -> Result<Meta, Trouble> {
    let directory = destination(site, path, due)?;
    let meta = look(&directory)?;
    let action = due.made.map(|made| made.index).or(due.mended).map(|index| site.action(index));
    if let Some(mode) = due.mode {
        directory.set_mode(mode).tried("restore the mode")?;
    }
    if let Some(action) = action {
        let age = if due.made.is_some() { Age::New } else { Age::Old };
        metadata::apply(site, &*directory, &wanted(site, path, due, action)?, age)?;
    } else if let Some(time) = time_back(site, due).filter(|time| *time != meta.modified) {
        metadata::set_time(site, &*directory, time)?;
    }
    if site.sync_way(meta.device) == SyncWay::Each {
        directory.sync().tried("make the directory durable")?;
    }
    look(&directory)
}

/// The time that a directory gets back: where names were made or taken the source's, or where the source has none, or nothing was touched by
/// this room, the one that the plan saw.
fn time_back(site: &Site<'_>, due: Due) -> Option<Stamp> {
    if !site.terms.rule.preserve.times {
        return None;
    }
    let id = due.id?;
    let planned = site.plan().directories.get(id.0 as usize)?;
    if planned.path.is_root() && site.terms.roots != Roots::Alike {
        return None;
    }
    let touched = planned.source.filter(|_| site.trees.is_touched(id));
    let source = touched.map(|meta| site.place().held_time(meta.modified));
    source.or(planned.destination.map(|meta| meta.modified))
}

fn destination(site: &Site<'_>, path: &RelPath, due: Due) -> Result<Arc<Dir>, Trouble> {
    let made = due.made.filter(|_| !path.is_root());
    if let (Some(id), None) = (due.id, made) {
        return site.trees.destination(id);
    }
    let observed = due.mended.and_then(|index| site.plan().destination(site.action(index)));
    let inode = made.map(|made| made.inode).or(observed.map(|meta| (meta.device, meta.inode)));
    open_checked(site.terms.destination, path, inode)
        .map(Arc::new)
        .map_err(|opening| opening.trouble(Trouble::Moved { what: DESTINATION_CHANGED }, DESTINATION_CHANGED))
}

/// What the source's directory looks like now. A directory that was made and whose source has gone gets what the plan saw: it must not stay
/// closed to everybody.
fn wanted(site: &Site<'_>, path: &RelPath, due: Due, action: &Action) -> Result<Wanted, Trouble> {
    let Some(observed) = site.plan().source(action) else {
        return Err(Trouble::Moved { what: "the source changed" });
    };
    let opened = open_checked(site.terms.source, path, Some((observed.device, observed.inode)));
    match opened {
        Ok(source) => {
            let meta = source.meta().tried("look at the source")?;
            metadata::read(site, &source, meta)
        }
        Err(Opening::Absent | Opening::Other) if due.made.is_some() => Ok(metadata::bare(site, *observed)),
        Err(opening) => Err(opening.trouble(Trouble::Vanished, "the source's directory changed")),
    }
}

/// Whether an action is one of those that this file does.
pub(super) fn is_directory_metadata(action: &Action) -> bool {
    action.kind == ActionKind::Metadata && action.entry == Kind::Directory
}
