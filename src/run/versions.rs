//! The verb `versions`: what a destination keeps of the past, of one path or of all.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::job::{Job, Retention, Rule, Versions};
use crate::store::{Loss, Past, Span, ViewSource, Weighed, Whereabouts};
use crate::value::{Digest, Kind, Meta, RelPath, RunId, Stamp, Zone};

use super::reach::{Reached, reach, share};
use super::restore::resolve;
use super::{RestoreStop, RuleOutcome, Session};

/// What is shown of a destination's past.
#[derive(Clone, Debug)]
pub struct VersionsReport {
    /// The rule.
    pub rule: String,
    /// The destination.
    pub destination: PathBuf,
    /// In which times are shown.
    pub zone: Zone,
    /// What was asked for.
    pub displayed: Displayed,
    /// From which run on everything is there that the destination held; `None` where nothing was lost.
    pub complete_from: Option<RunId>,
    /// Entries from before that which are no more.
    pub lost: u64,
    /// Things to say.
    pub notes: Vec<String>,
}

/// One of three views.
#[derive(Clone, Debug)]
pub enum Displayed {
    /// What each run displaced.
    Runs {
        /// The numbers.
        weighed: Weighed,
        /// How long the rule keeps them; `None` where it keeps none.
        retention: Option<Retention>,
    },
    /// Each content that a path had, newest first.
    Contents {
        /// The path.
        path: RelPath,
        /// Its contents.
        contents: Vec<Content>,
    },
    /// What there is of each name in a folder.
    Folder {
        /// The path.
        path: RelPath,
        /// Its names.
        entries: Vec<FolderEntry>,
    },
}

/// A content that a path had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The run that brought it; `None` where it was there before any run.
    pub since: Option<RunId>,
    /// The run that took it; `None` where it is there now.
    pub until: Option<RunId>,
    /// The word of its kind.
    pub kind: String,
    /// Length in bytes.
    pub size: u64,
    /// mtime.
    pub modified: Stamp,
    /// Of its bytes, where known.
    pub digest: Option<Digest>,
    /// Where it is.
    pub place: Place,
    /// How often the path had the same content before.
    pub earlier: u64,
    inode: Option<(u64, u64)>,
}

/// Where a content is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// It is the current one.
    Current,
    /// It is a version of the run that took it.
    Version,
    /// It lives on under another name.
    Moved(RelPath),
    /// A restore into the source replaced it there; the destination never held it.
    Beside,
    /// It is no more.
    Lost(Loss),
}

/// What there is of one name in a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FolderEntry {
    /// The name.
    pub path: RelPath,
    /// Whether it is there now.
    pub current: bool,
    /// Whether it is, or was, a folder.
    pub folder: bool,
    /// Contents that it, and all below it, had before.
    pub versions: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Looks; writes nothing.
///
/// # Errors
/// See [`RestoreStop`].
pub fn versions(
    session: &Session<'_>,
    job: &Job,
    rule: &Rule,
    path: Option<&Path>,
) -> Result<VersionsReport, RestoreStop> {
    let stopped = |error| RestoreStop::Ended(RuleOutcome::stopped(&error));
    let reached = reach(job, rule)?;
    let _lock = share(&reached.store)?;
    let mut notes = Vec::new();
    let view = match reached.store.view().map_err(stopped)? {
        ViewSource::Open(view) => Some(view),
        ViewSource::Absent => None,
        ViewSource::Unreadable(reason) => {
            notes.push(format!("the catalog cannot be read ({reason}): when entries came is not known"));
            None
        }
    };
    let paths: Vec<PathBuf> = path.map(Path::to_path_buf).into_iter().collect();
    let within = resolve(&paths, &reached.root, rule)?.into_iter().next().unwrap_or_default();
    let past = Past::load(&reached.store, view.as_ref(), &within).map_err(stopped)?;
    let displayed = if path.is_none() {
        let retention = match &rule.versions {
            Versions::None => None,
            Versions::Keep(retention) => Some(retention.clone()),
        };
        let weighed =
            reached.store.weigh_versions(retention.as_ref(), session.clock.now()).map_err(stopped)?;
        Displayed::Runs { weighed, retention }
    } else {
        of_path(&reached, &past, within)
    };
    Ok(VersionsReport {
        rule: rule.name.clone(),
        destination: reached.root.shown(),
        zone: job.timezone,
        displayed,
        complete_from: past.complete_from(),
        lost: past.lost().count() as u64,
        notes,
    })
}

/// A folder is shown by its names, anything else by its contents.
fn of_path(reached: &Reached, past: &Past, within: RelPath) -> Displayed {
    let root = &reached.root.directory;
    let live = match within.parent() {
        None => Some(reached.root.meta),
        Some(above) => {
            root.open_below(&above).and_then(|directory| directory.find(within.name())).ok().flatten()
        }
    };
    let folder = Kind::Directory.word();
    let was_file = past.spans(&within).iter().any(|span| span.kind != folder);
    let has_below = past.paths().any(|path| *path != within);
    let is_folder = live.is_some_and(|meta| meta.kind == Kind::Directory);
    if !is_folder && (was_file || !has_below) {
        let contents = contents(past, &within, live.as_ref());
        return Displayed::Contents { path: within, contents };
    }
    let mut names: BTreeMap<RelPath, FolderEntry> = BTreeMap::new();
    if let Ok(directory) = root.open_below(&within) {
        let mut listed: Vec<(RelPath, Option<Kind>)> = Vec::new();
        // What cannot be listed is shown by its past alone.
        let _ = directory.list(|name| listed.push((within.join(name.name), name.kind)));
        for (path, kind) in listed {
            if within.is_root() && crate::scan::is_reserved_at_root(path.name()) {
                continue;
            }
            let folder = kind == Some(Kind::Directory);
            names.insert(path.clone(), FolderEntry { path, current: true, folder, ..FolderEntry::default() });
        }
    }
    for path in past.paths().filter(|path| **path != within) {
        let Some(name) = path.components().nth(within.depth()) else { continue };
        let child = within.join(name);
        let entry = names
            .entry(child.clone())
            .or_insert_with(|| FolderEntry { path: child.clone(), ..FolderEntry::default() });
        entry.folder |= *path != child;
        for span in past.spans(path) {
            if span.kind == folder {
                entry.folder |= *path == child;
                continue;
            }
            if let Whereabouts::Version(meta) = span.whereabouts {
                entry.versions += 1;
                entry.bytes = entry.bytes.saturating_add(meta.size);
            }
        }
    }
    Displayed::Folder { path: within, entries: names.into_values().collect() }
}

/// Each content once, newest first.
fn contents(past: &Past, path: &RelPath, live: Option<&Meta>) -> Vec<Content> {
    let mut all: Vec<Content> = past.spans(path).iter().map(content_of).collect();
    if let Some(meta) = live {
        let entry =
            past.entry(path).filter(|entry| entry.size == meta.size && entry.modified == meta.modified);
        all.push(Content {
            since: past.live_since(path, None),
            until: None,
            kind: meta.kind.word().to_owned(),
            size: meta.size,
            modified: meta.modified,
            digest: entry.and_then(|entry| entry.digest),
            place: Place::Current,
            earlier: 0,
            inode: Some((meta.device, meta.inode)),
        });
    }
    let mut distinct: Vec<Content> = Vec::new();
    for content in all.into_iter().rev() {
        match distinct.iter_mut().find(|known| known.is_same(&content)) {
            None => distinct.push(content),
            // One that is no more is better shown by one that is.
            Some(known)
                if matches!(known.place, Place::Lost(_)) && !matches!(content.place, Place::Lost(_)) =>
            {
                let earlier = known.earlier + 1;
                *known = Content { earlier, ..content };
            }
            Some(known) => known.earlier += 1,
        }
    }
    distinct
}

fn content_of(span: &Span) -> Content {
    let (place, inode) = match &span.whereabouts {
        Whereabouts::Version(meta) if span.is_beside() => (Place::Beside, Some((meta.device, meta.inode))),
        Whereabouts::Version(meta) => (Place::Version, Some((meta.device, meta.inode))),
        Whereabouts::Emptied => (Place::Version, None),
        Whereabouts::Moved(to) => (Place::Moved(to.clone()), None),
        Whereabouts::Lost(loss) => (Place::Lost(*loss), None),
    };
    Content {
        since: span.since,
        until: Some(span.until),
        kind: span.kind.clone(),
        size: span.size,
        modified: span.modified,
        digest: span.digest,
        place,
        earlier: 0,
        inode,
    }
}

impl Content {
    /// Whether both are the same content, by digest or by inode. What a restore replaced stands for itself.
    fn is_same(&self, other: &Self) -> bool {
        let beside = self.place == Place::Beside || other.place == Place::Beside;
        let digest = self.digest.is_some() && self.digest == other.digest;
        let inode = self.inode.is_some() && self.inode == other.inode;
        !beside && self.kind == other.kind && (digest || inode)
    }

    /// The words that restore it: as of when; `None` where no restore gives it back.
    #[must_use]
    pub fn at(&self) -> Option<String> {
        if matches!(self.place, Place::Lost(_) | Place::Beside) {
            return None;
        }
        Some(match (self.since, self.until) {
            (_, None) => "latest".to_owned(),
            (Some(run), Some(_)) => run.to_string(),
            // A moment before the run that took it.
            (None, Some(until)) => Stamp::from_nanos(until.time().as_nanos() - 1_000_000).to_string(),
        })
    }
}
