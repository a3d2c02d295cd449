//! What each name of a destination stood for in the past: the catalog's rows, joined with what still lies below `versions/`.
//!
//! A run did all that it did at the moment of its id. So a name's past is a row of spans that do not overlap, each from the run that
//! brought an entry to the run that took it. What lies in versions without a row (the catalog was lost, or a run was killed before it could
//! tell) was taken by that run all the same. Memory follows the rows and versions of the subtree that is asked for.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::params;

use super::change::below;
use super::view::{
    Displacement, EntryRow, Next, View, displacement_query, entry_query, read_displacement, read_entry,
};
use crate::platform::Dir;
use crate::store::home::{VERSIONS, names};
use crate::store::versions::version_path;
use crate::store::{Store, StoreError, failed, optional};
use crate::value::{Digest, Kind, Meta, RelPath, RunId, Stamp};

/// Where a past entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// Below `versions/<run>/`, under its own path.
    Version(Meta),
    /// It was a directory, and empty when it went: there was nothing to keep.
    Emptied,
    /// It got this name in that run.
    Moved(RelPath),
    /// It is no more.
    Lost(Loss),
}

/// Why a past entry is no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The rule kept no versions then.
    NeverKept,
    /// It was kept, and has been released since.
    Released,
}

/// One entry that a name stood for, until a run took it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The run that brought it; `None` where it was there before any run.
    pub since: Option<RunId>,
    /// The run that took it.
    pub until: RunId,
    /// The word of its kind, see [`Kind::word`].
    pub kind: String,
    /// Length in bytes.
    pub size: u64,
    /// mtime.
    pub modified: Stamp,
    /// Of its content, where known.
    pub digest: Option<Digest>,
    /// Where it is.
    pub whereabouts: Whereabouts,
    /// Whether the catalog speaks of it.
    told: bool,
}

impl Span {
    /// Whether the destination never held it: a restore into the source replaced it there.
    #[must_use]
    pub fn is_beside(&self) -> bool {
        self.since == Some(self.until)
    }
}

/// The past of one name.
#[derive(Clone, Debug, Default)]
struct Line {
    /// Oldest first.
    spans: Vec<Span>,
    entry: Option<EntryRow>,
}

/// The past of a subtree.
#[derive(Clone, Debug)]
pub struct Past {
    within: RelPath,
    lines: BTreeMap<RelPath, Line>,
    unreadable_rows: u64,
    unreadable_versions: u64,
}

impl Store {
    /// The directory that holds the version of a path.
    ///
    /// # Errors
    /// See [`StoreError`]; no symlink on the way is followed.
    pub fn version_holder(&self, run: RunId, path: &RelPath) -> Result<Dir, StoreError> {
        let above = path.parent().unwrap_or_default();
        self.home
            .open_dir(VERSIONS)
            .and_then(|versions| versions.open_dir(run.to_string().as_bytes()))
            .and_then(|base| base.open_below(&above))
            .map_err(failed("open", &version_path(run, &above)))
    }
}

impl Past {
    /// Everything known of the names at and below a path. Without a view, from versions alone.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn load(store: &Store, view: Option<&View>, within: &RelPath) -> Result<Self, StoreError> {
        let mut past = Self {
            within: within.clone(),
            lines: BTreeMap::new(),
            unreadable_rows: 0,
            unreadable_versions: 0,
        };
        let mut whole = BTreeSet::new();
        if let Some(view) = view {
            past.read_rows(view)?;
            whole = past.displaced_above(view)?;
        }
        past.find_versions(store, &whole)?;
        past.settle();
        Ok(past)
    }

    /// The path that it was loaded for.
    #[must_use]
    pub fn within(&self) -> &RelPath {
        &self.within
    }

    /// All names that something is known of, parents before children.
    pub fn paths(&self) -> impl Iterator<Item = &RelPath> {
        self.lines.keys()
    }

    /// What a name stood for, oldest first.
    #[must_use]
    pub fn spans(&self, path: &RelPath) -> &[Span] {
        self.lines.get(path).map_or(&[], |line| line.spans.as_slice())
    }

    /// What the catalog says of a name that is there now.
    #[must_use]
    pub fn entry(&self, path: &RelPath) -> Option<&EntryRow> {
        self.lines.get(path)?.entry.as_ref()
    }

    /// Since which run a name stands for what it does now; `above` is the same of its directory, which it cannot be older than where
    /// nothing is known of it. `None`: since before any run.
    #[must_use]
    pub fn live_since(&self, path: &RelPath, above: Option<RunId>) -> Option<RunId> {
        let taken = self.spans(path).iter().rev().find(|span| !span.is_beside()).map(|span| span.until);
        match self.entry(path) {
            Some(entry) => entry.since.max(taken),
            None => above.max(taken),
        }
    }

    /// The spans whose content is no more, with their names.
    pub fn lost(&self) -> impl Iterator<Item = (&RelPath, &Span)> {
        let all = self.lines.iter().flat_map(|(path, line)| line.spans.iter().map(move |span| (path, span)));
        all.filter(|(_, span)| matches!(span.whereabouts, Whereabouts::Lost(_)))
    }

    /// From which run on everything is there that the destination held; `None` where nothing was lost.
    #[must_use]
    pub fn complete_from(&self) -> Option<RunId> {
        self.lost().map(|(_, span)| span.until).max()
    }

    /// Rows of the catalog that are none of Twinlane's, and folders of versions that cannot be read.
    #[must_use]
    pub fn unreadable(&self) -> (u64, u64) {
        (self.unreadable_rows, self.unreadable_versions)
    }

    fn read_rows(&mut self, view: &View) -> Result<(), StoreError> {
        let within = self.within.clone();
        self.each_row(view, &entry_query(view), &within, |past, row| {
            let entry = read_entry(row)?;
            let path = entry.path.clone();
            past.lines.entry(path).or_default().entry = Some(entry);
            Ok(())
        })?;
        self.each_row(view, &displacement_query(view), &within, |past, row| {
            let row = read_displacement(row)?;
            let path = row.path.clone();
            past.lines.entry(path).or_default().spans.push(span_of(row));
            Ok(())
        })
    }

    /// Rows at and below a path; what is no path, or no run, is counted and passed over.
    fn each_row(
        &mut self,
        view: &View,
        select: &str,
        within: &RelPath,
        mut each: impl FnMut(&mut Self, &rusqlite::Row<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        let mut unreadable = 0;
        let mut tolerant = |row: &rusqlite::Row<'_>| {
            unreadable += u64::from(each(self, row).is_err());
            Ok(Next::On)
        };
        if within.is_root() {
            view.rows(select, params![], &mut tolerant)?;
        } else {
            let query = format!("{select} WHERE path = ?1 OR (path > ?2 AND path < ?3)");
            let [from, to] = below(within);
            view.rows(&query, params![within.as_bytes(), from, to], &mut tolerant)?;
        }
        self.unreadable_rows += unreadable;
        Ok(())
    }

    /// The runs that displaced a directory above the path whole.
    fn displaced_above(&mut self, view: &View) -> Result<BTreeSet<RunId>, StoreError> {
        let mut whole = BTreeSet::new();
        let query = format!("{} WHERE path = ?1", displacement_query(view));
        let mut above = self.within.parent();
        while let Some(path) = above.filter(|path| !path.is_root()) {
            view.rows(&query, params![path.as_bytes()], &mut |row| {
                if let Ok(row) = read_displacement(row)
                    && row.kept
                    && row.kind == Kind::Directory.word()
                {
                    whole.insert(row.run);
                }
                Ok(Next::On)
            })?;
            above = path.parent();
        }
        Ok(whole)
    }

    fn find_versions(&mut self, store: &Store, whole: &BTreeSet<RunId>) -> Result<(), StoreError> {
        let Some(versions) = store.room(VERSIONS)? else { return Ok(()) };
        for run in store.runs_in(VERSIONS)? {
            let opened = optional(versions.open_dir(run.to_string().as_bytes()));
            let Some(base) = opened.map_err(failed("open", &version_path(run, &RelPath::root())))? else {
                continue;
            };
            self.find_in(&base, run, whole.contains(&run));
        }
        Ok(())
    }

    fn find_in(&mut self, base: &Dir, run: RunId, whole: bool) {
        let Ok(device) = crate::platform::Attributes::meta(base).map(|meta| meta.device) else { return };
        let mut open = match self.within.parent() {
            None => vec![(RelPath::root(), whole)],
            Some(above) => {
                let path = self.within.clone();
                let found = base.open_below(&above).and_then(|directory| directory.find(path.name()));
                match found {
                    Ok(Some(meta)) => self.met(path, run, meta, whole).into_iter().collect(),
                    Ok(None) => return,
                    Err(error) => {
                        // A name above it is no directory in this run's versions, or not there.
                        self.unreadable_versions +=
                            u64::from(error.kind() == std::io::ErrorKind::PermissionDenied);
                        return;
                    }
                }
            }
        };
        while let Some((path, whole)) = open.pop() {
            let listed = base.open_below(&path).and_then(|directory| {
                let names = names(&directory)?;
                Ok((directory, names))
            });
            let Ok((directory, names)) = listed else {
                self.unreadable_versions += 1;
                continue;
            };
            for name in names {
                match directory.find(&name) {
                    Ok(Some(meta)) if meta.device == device && !meta.mount_root => {
                        open.extend(self.met(path.join(&name), run, meta, whole));
                    }
                    Ok(None) => {}
                    Ok(Some(_)) | Err(_) => self.unreadable_versions += 1,
                }
            }
        }
    }

    /// Books what lies in a run's versions; returns a directory that is to be entered, and whether it was displaced whole. Other directories
    /// there stand only for what is below them.
    fn met(&mut self, path: RelPath, run: RunId, meta: Meta, whole: bool) -> Option<(RelPath, bool)> {
        let is_directory = meta.kind == Kind::Directory;
        let line = self.lines.get_mut(&path);
        let span = line.and_then(|line| line.spans.iter_mut().find(|span| span.until == run));
        let whole = if let Some(span) = span {
            let kept = matches!(span.whereabouts, Whereabouts::Lost(_));
            if span.kind == meta.kind.word() && !matches!(span.whereabouts, Whereabouts::Moved(_)) {
                span.whereabouts = Whereabouts::Version(meta);
            }
            whole || is_directory && kept
        } else {
            if !is_directory || whole {
                self.lines.entry(path.clone()).or_default().spans.push(untold(run, meta));
            }
            whole
        };
        is_directory.then_some((path, whole))
    }

    /// Puts spans in order, and lets none begin before the one before it has ended.
    fn settle(&mut self) {
        for line in self.lines.values_mut() {
            if let Some(entry) = &line.entry {
                // The catalog says that something else was there all the time: somebody put this here.
                let planted = |span: &Span| {
                    !span.told
                        && span.kind != entry.kind
                        && entry.since.is_some_and(|since| since < span.until)
                };
                line.spans.retain(|span| !planted(span));
            }
            line.spans.sort_by_key(|span| span.until);
            let mut taken: Option<RunId> = None;
            for span in line.spans.iter_mut().filter(|span| !span.is_beside()) {
                // A row that the killed run had no time to mend speaks of what it took.
                if let Some(entry) = &line.entry
                    && !span.told
                    && entry.since.is_some_and(|since| since < span.until)
                {
                    span.since = entry.since;
                    let same = entry.size == span.size && entry.modified == span.modified;
                    span.digest = span.digest.or(entry.digest.filter(|_| same));
                }
                span.since = span.since.max(taken);
                taken = Some(span.until);
            }
        }
        self.lines.retain(|_, line| !line.spans.is_empty() || line.entry.is_some());
    }
}

/// A row as a span; where it is will be seen.
fn span_of(row: Displacement) -> Span {
    let whereabouts = match row.moved_to {
        Some(to) => Whereabouts::Moved(to),
        None if row.kept => Whereabouts::Lost(Loss::Released),
        None if row.kind == Kind::Directory.word() => Whereabouts::Emptied,
        None => Whereabouts::Lost(Loss::NeverKept),
    };
    Span {
        since: row.since,
        until: row.run,
        kind: row.kind,
        size: row.size,
        modified: row.modified,
        digest: row.digest,
        whereabouts,
        told: true,
    }
}

/// A version that no row speaks of.
fn untold(run: RunId, meta: Meta) -> Span {
    Span {
        since: None,
        until: run,
        kind: meta.kind.word().to_owned(),
        size: meta.size,
        modified: meta.modified,
        digest: None,
        whereabouts: Whereabouts::Version(meta),
        told: false,
    }
}
