//! What runs did that were killed before they could tell the catalog: the next run tells it for them.
//!
//! The live tree is compared with the catalog, entry by entry, where a run has not come to its end. What lies in that run's versions was
//! displaced by it; a file that stands under another name than its row was moved by it; what the source has too, and was made since that run
//! began, was brought by it. Of what somebody else may as well have done nothing is said: `verify` finds it.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::compare::MOVED_BYTES_MIN;
use crate::job::Versions;
use crate::platform::{Attributes as _, Dir};
use crate::store::{Change, EntryRow, Next, StoreError, ViewSource};
use crate::value::{Kind, Meta, RelPath, RunId, Stamp};

use super::verify::survey::find;
use super::verify::walk::{Met, Walk};
use super::work::Work;

/// The changes to be told of each run that was killed, oldest first.
pub(super) fn untold(work: &Work<'_>) -> Result<BTreeMap<RunId, Vec<Change>>, StoreError> {
    let unfinished: Vec<RunId> =
        work.store.unfinished_runs()?.into_iter().filter(|run| *run < work.run).collect();
    let Some(newest) = unfinished.iter().max().copied() else { return Ok(BTreeMap::new()) };
    let differing = Differing::between(work)?;
    let mut told = Told { work, newest, changes: BTreeMap::new() };
    let mut shelves = Vec::new();
    for run in &unfinished {
        if let Some(versions) = work.store.versions_of(*run)? {
            shelves.push((*run, versions));
        }
    }
    told.all(&differing, &shelves);
    Ok(told.changes)
}

/// Where catalog and tree say different things.
#[derive(Default)]
struct Differing {
    /// Rows that speak of something else than what stands under their names, with that.
    rows: Vec<(EntryRow, Option<Meta>)>,
    /// Entries of which no row speaks.
    strange: Vec<(RelPath, Meta)>,
    /// Files that have another mtime than their rows, and the same size.
    mended: Vec<(RelPath, Meta)>,
}

impl Differing {
    fn between(work: &Work<'_>) -> Result<Self, StoreError> {
        let mut differing = Self::default();
        let mut walk = Walk::new(&work.destination.directory);
        let mut ahead = walk.next();
        let mut closed: Option<RelPath> = None;
        if let ViewSource::Open(view) = work.store.view()? {
            view.entries(&mut |row| {
                while let Some(met) = ahead.take_if(|met| path_of(met) < &row.path) {
                    differing.stranger(met, &mut closed);
                    ahead = walk.next();
                }
                if closed.as_ref().is_some_and(|closed| row.path.is_within(closed)) {
                    return Next::On;
                }
                match ahead.take_if(|met| *path_of(met) == row.path) {
                    Some(Met::Entry(_, meta)) => {
                        ahead = walk.next();
                        differing.compare(row, meta);
                    }
                    Some(met) => {
                        differing.stranger(met, &mut closed);
                        ahead = walk.next();
                    }
                    None if row.path.is_root() => {}
                    None => differing.rows.push((row, None)),
                }
                Next::On
            })?;
        }
        while let Some(met) = ahead.take() {
            differing.stranger(met, &mut closed);
            ahead = walk.next();
        }
        Ok(differing)
    }

    fn compare(&mut self, row: EntryRow, meta: Meta) {
        if !is_of(&row, &meta) {
            self.rows.push((row, Some(meta)));
        } else if meta.kind == Kind::File && row.size == meta.size && row.modified != meta.modified {
            self.mended.push((row.path, meta));
        }
    }

    fn stranger(&mut self, met: Met, closed: &mut Option<RelPath>) {
        match met {
            Met::Entry(path, meta) => self.strange.push((path, meta)),
            Met::Unread(path, _) | Met::Foreign(path) => *closed = Some(path),
        }
    }
}

fn path_of(met: &Met) -> &RelPath {
    match met {
        Met::Entry(path, _) | Met::Unread(path, _) | Met::Foreign(path) => path,
    }
}

/// Whether an entry is the one that its row speaks of. Directories have neither content nor other names; not every file system keeps inode
/// numbers.
fn is_of(row: &EntryRow, meta: &Meta) -> bool {
    let same = row.inode == meta.inode || meta.kind == Kind::Directory || is_alike(row, meta);
    row.kind == meta.kind.word() && same
}

fn is_alike(row: &EntryRow, meta: &Meta) -> bool {
    row.size == meta.size && row.modified == meta.modified
}

struct Told<'a> {
    work: &'a Work<'a>,
    newest: RunId,
    changes: BTreeMap<RunId, Vec<Change>>,
}

impl Told<'_> {
    fn say(&mut self, run: RunId, change: Change) {
        self.changes.entry(run).or_default().push(change);
    }

    /// What was displaced before what was moved, and that before what was brought: each is to find the rows of before.
    fn all(&mut self, differing: &Differing, shelves: &[(RunId, Dir)]) {
        let mut rest = Vec::new();
        for (row, now) in &differing.rows {
            match kept(row, shelves) {
                Some((run, meta)) => {
                    self.say(run, Change::Displaced { path: row.path.clone(), meta, kept: true });
                }
                None => rest.push((row, now.as_ref())),
            }
        }
        let mut here: Vec<(&RelPath, &Meta)> =
            differing.strange.iter().map(|(path, meta)| (path, meta)).collect();
        here.extend(differing.rows.iter().filter_map(|(row, now)| Some((&row.path, now.as_ref()?))));
        let mut free = Free::of(&here);
        let mut arrived: HashSet<&RelPath> = HashSet::new();
        for (row, now) in rest {
            match free.take(row) {
                Some((to, meta)) => {
                    arrived.insert(to);
                    // Where the inode is another one, the digest is left behind.
                    let changed = if row.inode == meta.inode { row.changed } else { meta.changed };
                    let (from, to) = (row.path.clone(), to.clone());
                    let before = Meta { changed, ..*meta };
                    self.say(self.newest, Change::Moved { from, to, before, meta: *meta });
                }
                None => self.gone(row, now),
            }
        }
        self.mended(&differing.mended);
        for (path, meta) in here {
            if !arrived.contains(path) && self.is_ours(path, meta) {
                self.say(self.newest, Change::Present { path: path.clone(), meta: *meta, digest: None });
            }
        }
    }

    /// Times that the run gave. Whose digest it was is not known any more.
    fn mended(&mut self, mended: &[(RelPath, Meta)]) {
        for (path, meta) in mended {
            let source = find(&self.work.source.directory, path).ok().flatten();
            let given =
                source.is_some_and(|source| source.size == meta.size && source.modified == meta.modified);
            if given && meta.changed >= self.newest.time() {
                let path = path.clone();
                self.say(self.newest, Change::Touched { path, before: *meta, meta: *meta });
            }
        }
    }

    /// A row whose entry is nowhere. A directory was emptied first; what else went without a trace went by this run where it keeps nothing.
    fn gone(&mut self, row: &EntryRow, now: Option<&Meta>) {
        let kind =
            [Kind::Directory, Kind::File, Kind::Symlink].into_iter().find(|kind| kind.word() == row.kind);
        let kept = self.work.rule.versions != Versions::None;
        let Some(kind) = kind.filter(|kind| *kind == Kind::Directory || !kept) else { return };
        let Some(any) = now.copied().or_else(|| self.work.destination.directory.meta().ok()) else { return };
        let meta = Meta { kind, size: row.size, modified: row.modified, ..any };
        self.say(self.newest, Change::Displaced { path: row.path.clone(), meta, kept: false });
    }

    /// Whether the source has it too, and it was made since the run began.
    fn is_ours(&self, path: &RelPath, now: &Meta) -> bool {
        let Ok(Some(source)) = find(&self.work.source.directory, path) else { return false };
        let above = self.work.destination.directory.open_below(&path.parent().unwrap_or_default());
        let born = above.and_then(|above| above.born(path.name()));
        source.kind == now.kind && matches!(born, Ok(Some(born)) if born >= self.newest.time())
    }
}

/// Files that no row speaks of, by size and mtime.
struct Free<'a>(HashMap<(u64, Stamp), Vec<(&'a RelPath, &'a Meta)>>);

impl<'a> Free<'a> {
    fn of(here: &[(&'a RelPath, &'a Meta)]) -> Self {
        let mut all: HashMap<_, Vec<_>> = HashMap::new();
        for (path, meta) in here.iter().filter(|(_, meta)| meta.kind == Kind::File) {
            all.entry((meta.size, meta.modified)).or_default().push((*path, *meta));
        }
        Self(all)
    }

    /// The file that a row speaks of: of its inode, or the only one of its size and mtime.
    fn take(&mut self, row: &EntryRow) -> Option<(&'a RelPath, &'a Meta)> {
        if row.kind != Kind::File.word() {
            return None;
        }
        let found = self.0.get_mut(&(row.size, row.modified))?;
        let same = found.iter().position(|(_, meta)| meta.inode == row.inode);
        let only = (found.len() == 1 && row.size >= MOVED_BYTES_MIN).then_some(0);
        Some(found.swap_remove(same.or(only)?))
    }
}

/// Which run keeps what a row speaks of, the newest first. A restore into the source keeps what the destination never held.
fn kept(row: &EntryRow, shelves: &[(RunId, Dir)]) -> Option<(RunId, Meta)> {
    shelves.iter().rev().filter(|(run, _)| row.since.is_none_or(|since| since < *run)).find_map(
        |(run, shelf)| {
            let meta = find(shelf, &row.path).ok().flatten()?;
            (meta.kind != Kind::Directory && meta.kind.word() == row.kind && is_of(row, &meta))
                .then_some((*run, meta))
        },
    )
}
