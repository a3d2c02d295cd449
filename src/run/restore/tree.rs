//! What a destination held at a time: of each name the entry that it stood for, and where its content is now.
//!
//! The live tree, the spans of its names' past, and versions are joined; nothing is written. A name that is live and of which nothing is known
//! is as old as its directory at most.

use std::collections::{BTreeMap, HashSet};

use crate::execute::{Failure, FailureKind};
use crate::platform::{Attributes as _, Dir};
use crate::scan::{is_hidden_in_source, is_reserved_at_root};
use crate::store::{Loss, Past, Span, Store, StoreError, View, Whereabouts};
use crate::value::{Digest, Kind, Meta, RelPath, RunId, Stamp, When};

/// As often as a content may have been moved on; a longer chain runs in a circle.
const MOVES_MAX: usize = 1000;

/// What a destination can be asked with.
#[derive(Clone, Copy)]
pub(super) struct Ground<'a> {
    pub(super) root: &'a Dir,
    pub(super) store: &'a Store,
    /// `None` where there is no catalog that can be read.
    pub(super) view: Option<&'a View>,
}

/// Where an entry is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shelf {
    /// The live tree.
    Live,
    /// That run's versions.
    Version(RunId),
}

/// An entry that was held then.
#[derive(Clone, Debug)]
pub(super) struct Want {
    /// Its name then.
    pub(super) path: RelPath,
    /// Where it is; `None` for a directory of which nothing is left but its name.
    pub(super) origin: Option<Origin>,
    pub(super) expected: Expected,
}

/// Where the content of an entry is.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub(super) shelf: Shelf,
    /// Its path there: another one where it was moved.
    pub(super) path: RelPath,
    pub(super) meta: Meta,
}

/// What the catalog says of the content.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Expected {
    pub(super) digest: Option<Digest>,
    /// Size and mtime of a version when it was displaced.
    pub(super) shape: Option<(u64, Stamp)>,
}

impl Want {
    pub(super) fn is_directory(&self) -> bool {
        self.origin.as_ref().is_none_or(|origin| origin.meta.kind == Kind::Directory)
    }
}

/// An entry that was held then and is no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Its name.
    pub path: RelPath,
    /// The run that took it.
    pub until: RunId,
    /// Length in bytes.
    pub size: u64,
    /// Why it is no more.
    pub loss: Loss,
}

/// What was held then.
#[derive(Clone, Debug, Default)]
pub(super) struct Then {
    /// Parents before children.
    pub(super) wants: Vec<Want>,
    pub(super) missing: Vec<Missing>,
    /// Live directories that could not be read.
    pub(super) unread: Vec<Failure>,
    /// From which run on nothing is missing; and how many entries before it are.
    pub(super) complete_from: Option<RunId>,
    pub(super) lost: u64,
    pub(super) unreadable_rows: u64,
}

/// What a name stood for.
enum State {
    Held(Origin, Expected),
    /// A directory of which nothing is left.
    Bare,
    Missing(Missing),
    Absent,
}

impl Ground<'_> {
    /// What the destination held at and below a path.
    pub(super) fn held(&self, within: &RelPath, when: When) -> Result<Then, StoreError> {
        let past = Past::load(self.store, self.view, within)?;
        let (unreadable_rows, _) = past.unreadable();
        let mut then = Then {
            complete_from: past.complete_from(),
            lost: past.lost().count() as u64,
            unreadable_rows,
            ..Then::default()
        };
        let mut found: BTreeMap<RelPath, State> = BTreeMap::new();
        let live = self.live(&past, when, &mut found, &mut then.unread)?;
        for path in past.paths().filter(|path| !live.contains(*path)) {
            found.insert(path.clone(), self.state(&past, path, when, None)?);
        }
        let mut blocked: Option<RelPath> = None;
        for (path, state) in found {
            // What stood below a name that was no directory then is a trace of another time.
            if blocked.as_ref().is_some_and(|above| path != *above && path.is_within(above)) {
                continue;
            }
            let want = match state {
                State::Absent => continue,
                State::Missing(missing) => {
                    then.missing.push(missing);
                    continue;
                }
                State::Bare => Want { path, origin: None, expected: Expected::default() },
                State::Held(origin, expected) => Want { path, origin: Some(origin), expected },
            };
            if !want.is_directory() {
                blocked = Some(want.path.clone());
            }
            then.wants.push(want);
        }
        Ok(then)
    }

    /// The live names, each with what it stood for; returns all that are there.
    fn live(
        &self,
        past: &Past,
        when: When,
        found: &mut BTreeMap<RelPath, State>,
        unread: &mut Vec<Failure>,
    ) -> Result<HashSet<RelPath>, StoreError> {
        let mut there = HashSet::new();
        let within = past.within();
        let mut open: Vec<(RelPath, Option<RunId>)> = Vec::new();
        if within.is_root() {
            if let Ok(meta) = self.root.meta() {
                found.insert(within.clone(), State::Held(live(within, meta), Expected::default()));
            }
            there.insert(within.clone());
            open.push((within.clone(), None));
        } else if !is_own(within)
            && let Some(meta) = self.find(within)
        {
            there.insert(within.clone());
            let since = past.live_since(within, self.since_above(within)?);
            found.insert(within.clone(), self.state(past, within, when, Some((meta, since)))?);
            if meta.kind == Kind::Directory {
                open.push((within.clone(), since));
            }
        }
        while let Some((path, above)) = open.pop() {
            let listed = self.root.open_below(&path).and_then(|directory| {
                let mut names: Vec<Box<[u8]>> = Vec::new();
                directory.list(|listed| names.push(listed.name.into()))?;
                Ok((directory, names))
            });
            let (directory, names) = match listed {
                Ok(listed) => listed,
                Err(error) => {
                    let cause = format!("cannot read the directory: {error}");
                    unread.push(Failure { path, what: FailureKind::Failed, cause });
                    continue;
                }
            };
            for name in names {
                let below = path.join(&name);
                if is_own(&below) {
                    continue;
                }
                let Ok(Some(meta)) = directory.find(&name) else { continue };
                there.insert(below.clone());
                let since = past.live_since(&below, above);
                let state = self.state(past, &below, when, Some((meta, since)))?;
                if meta.kind == Kind::Directory {
                    open.push((below.clone(), since));
                }
                found.insert(below, state);
            }
        }
        Ok(there)
    }

    /// Since when the directories above a path are there, as far as it is known.
    fn since_above(&self, path: &RelPath) -> Result<Option<RunId>, StoreError> {
        let Some(view) = self.view else { return Ok(None) };
        let mut since = None;
        let mut above = path.parent();
        while let Some(path) = above.filter(|path| !path.is_root()) {
            since = since.max(view.entry(&path)?.and_then(|entry| entry.since));
            above = path.parent();
        }
        Ok(since)
    }

    /// What stands under a name now; no symlink on the way is followed.
    fn find(&self, path: &RelPath) -> Option<Meta> {
        let directory = self.root.open_below(&path.parent()?).ok()?;
        directory.find(path.name()).ok().flatten()
    }

    /// What a name stood for. `live` is what it stands for now, and since when.
    fn state(
        &self,
        past: &Past,
        path: &RelPath,
        when: When,
        live_now: Option<(Meta, Option<RunId>)>,
    ) -> Result<State, StoreError> {
        let came = |since: Option<RunId>| since.is_none_or(|run| when.is_after(run));
        let held = |span: &&Span| !span.is_beside() && came(span.since) && !when.is_after(span.until);
        if let Some(span) = past.spans(path).iter().find(held) {
            return self.past_state(path, span);
        }
        let Some((meta, _)) = live_now.filter(|(_, since)| came(*since)) else {
            return Ok(State::Absent);
        };
        Ok(State::Held(live(path, meta), expected_live(past, path, &meta)))
    }

    /// Follows a content through the names that it got.
    fn past_state(&self, path: &RelPath, span: &Span) -> Result<State, StoreError> {
        let first = span.clone();
        let (mut path_now, mut span) = (path.clone(), span.clone());
        for _ in 0..MOVES_MAX {
            let loss = match span.whereabouts {
                Whereabouts::Version(meta) => {
                    let expected = Expected {
                        digest: span.digest.or(first.digest),
                        shape: (meta.kind == Kind::File).then_some((span.size, span.modified)),
                    };
                    let origin = Origin { shelf: Shelf::Version(span.until), path: path_now, meta };
                    return Ok(State::Held(origin, expected));
                }
                Whereabouts::Emptied => return Ok(State::Bare),
                Whereabouts::Lost(loss) => Some(loss),
                Whereabouts::Moved(to) => {
                    let past = Past::load(self.store, self.view, &to)?;
                    let taken = span.until;
                    let next = past
                        .spans(&to)
                        .iter()
                        .find(|next| !next.is_beside() && next.until > taken && next.since <= Some(taken));
                    if let Some(next) = next {
                        (path_now, span) = (to, next.clone());
                        continue;
                    }
                    match self.find(&to) {
                        Some(meta) if meta.kind == Kind::File => {
                            let expected = expected_live(&past, &to, &meta);
                            return Ok(State::Held(live(&to, meta), expected));
                        }
                        _ => None,
                    }
                }
            };
            let loss = loss.unwrap_or(Loss::Released);
            let missing = Missing { path: path.clone(), until: span.until, size: first.size, loss };
            return Ok(State::Missing(missing));
        }
        let missing =
            Missing { path: path.clone(), until: first.until, size: first.size, loss: Loss::Released };
        Ok(State::Missing(missing))
    }
}

/// The digest of a live file, where it is the one that the catalog speaks of: whoever changes content also changes its mtime.
fn expected_live(past: &Past, path: &RelPath, meta: &Meta) -> Expected {
    let entry = past.entry(path).filter(|entry| {
        meta.kind == Kind::File && entry.size == meta.size && entry.modified == meta.modified
    });
    Expected { digest: entry.and_then(|entry| entry.digest), shape: None }
}

fn live(path: &RelPath, meta: Meta) -> Origin {
    Origin { shelf: Shelf::Live, path: path.clone(), meta }
}

/// Whether a name is Twinlane's own or the system's, and so none of what the destination holds.
fn is_own(path: &RelPath) -> bool {
    let above = path.parent().unwrap_or_default();
    let top = path.components().next().unwrap_or_default();
    is_reserved_at_root(top) || is_hidden_in_source(above.name(), path.name())
}

#[cfg(test)]
mod tests;
