//! The live tree in step with the catalog: what is missing or changed is told at once, what can be read is listed.

use std::io;

use crate::platform::Dir;
use crate::run::reach::Reached;
use crate::run::{Accept, RuleOutcome, Session};
use crate::store::{Displacement, EntryRow, Next, ReadBack, ReadBackOf, View};
use crate::value::{Kind, Meta, RelPath, RunId, Stamp};

use super::model::{Finding, Verified};
use super::pick::Weight;
use super::walk::{Met, Walk};

/// The files that can be read: their paths in one arena.
#[derive(Debug, Default)]
pub(super) struct Files {
    paths: Vec<u8>,
    slots: Vec<Slot>,
    /// What they weigh, in the same order.
    pub(super) weights: Vec<Weight>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    start: usize,
    length: usize,
    version: Option<RunId>,
}

impl Files {
    /// Adds a file; of a version, the run that displaced it.
    pub(super) fn push(&mut self, path: &RelPath, version: Option<RunId>, weight: Weight) {
        let (start, bytes) = (self.paths.len(), path.as_bytes());
        self.paths.extend_from_slice(bytes);
        self.slots.push(Slot { start, length: bytes.len(), version });
        self.weights.push(weight);
    }

    /// A file's path, and of a version the run that displaced it.
    pub(super) fn get(&self, position: usize) -> Option<(RelPath, Option<RunId>)> {
        let slot = self.slots.get(position)?;
        let bytes = self.paths.get(slot.start..slot.start + slot.length)?;
        Some((RelPath::parse(bytes).ok()?, slot.version))
    }
}

/// What the survey tells on its way.
pub(super) enum Told {
    /// A file that need not be read to be judged.
    File(Verified),
    /// Something to be remembered.
    Note(ReadBack),
    /// One line.
    Line(String),
}

/// A survey under way.
pub(super) struct Survey<'a> {
    reached: &'a Reached,
    accepted: bool,
    tell: &'a mut dyn FnMut(Told),
    files: Files,
    walk: Walk<'a>,
    ahead: Option<Met>,
    /// The last directory that could not be entered: nothing is known of what is below.
    closed: Option<RelPath>,
}

/// Looks at everything; without a view, nothing is recorded. Stops early where that is wished.
pub(super) fn survey(
    session: &Session<'_>,
    reached: &Reached,
    view: Option<&View>,
    tell: &mut dyn FnMut(Told),
) -> Result<Files, RuleOutcome> {
    let mut walk = Walk::new(&reached.root.directory);
    let ahead = walk.next();
    let accepted = session.accepts(Accept::Destination);
    let mut survey = Survey { reached, accepted, tell, files: Files::default(), walk, ahead, closed: None };
    let next = || if session.cancel.is_raised() { Next::Stop } else { Next::On };
    if let Some(view) = view {
        view.entries(&mut |row| {
            survey.row(&row);
            next()
        })
        .map_err(|error| RuleOutcome::stopped(&error))?;
    }
    while next() == Next::On && survey.ahead.is_some() {
        survey.step();
    }
    if let Some(view) = view {
        view.displacements(&mut |row| {
            survey.version(&row);
            next()
        })
        .map_err(|error| RuleOutcome::stopped(&error))?;
    }
    Ok(survey.files)
}

impl Survey<'_> {
    /// Goes past what comes before a row, and judges the row.
    fn row(&mut self, row: &EntryRow) {
        let path = row.path.as_bytes();
        while let Some(Met::Entry(met, _) | Met::Unread(met, _) | Met::Foreign(met)) = &self.ahead {
            // A directory that is not entered stands for what is below it, so it is met before that.
            match met.as_bytes().cmp(path) {
                std::cmp::Ordering::Less => self.step(),
                std::cmp::Ordering::Equal => break,
                std::cmp::Ordering::Greater => return self.missing(row),
            }
        }
        match self.ahead.take() {
            Some(Met::Entry(met, meta)) if met == row.path => {
                self.ahead = self.walk.next();
                self.both(row, &meta);
            }
            Some(closed @ (Met::Unread(..) | Met::Foreign(_))) => {
                self.ahead = Some(closed);
                self.step();
            }
            other => {
                self.ahead = other;
                self.missing(row);
            }
        }
    }

    /// Something that is not recorded, or cannot be entered.
    fn step(&mut self) {
        match self.ahead.take() {
            Some(Met::Entry(path, meta)) if meta.kind == Kind::File => {
                let weight = Weight { bytes: meta.size, read_back: None, since: None, wrong: false };
                self.files.push(&path, None, weight);
            }
            Some(Met::Unread(path, error)) => {
                let cause = format!("neither it nor what is below it can be looked at: {error}");
                let file = Verified::new(&path, Finding::Unread).because(cause);
                (self.tell)(Told::File(file));
                self.closed = Some(path);
            }
            Some(Met::Foreign(path)) => {
                (self.tell)(Told::Line(format!("{path} is another rule's destination: not entered")));
                self.closed = Some(path);
            }
            Some(Met::Entry(..)) | None => {}
        }
        self.ahead = self.walk.next();
    }

    fn both(&mut self, row: &EntryRow, meta: &Meta) {
        let difference = difference(row, meta, self.reached.place.grain_ns);
        let relearnt = row.since.is_none() || self.accepted;
        match difference {
            Some(cause) if !(relearnt && meta.kind == Kind::File) => {
                let file = self.judged(row, Finding::Changed);
                (self.tell)(Told::File(file.because(cause)));
            }
            difference if meta.kind == Kind::File => {
                // What is read anew is older than anything.
                let read_back = row.read_back.filter(|_| difference.is_none());
                let since = row.since.map(RunId::time);
                let wrong = row.wrong.is_some();
                self.files.push(&row.path, None, Weight { bytes: meta.size, read_back, since, wrong });
            }
            _ => {}
        }
    }

    fn judged(&self, row: &EntryRow, finding: Finding) -> Verified {
        let file = Verified::of(row, finding);
        Verified { expected: file.expected && !self.accepted, ..file }
    }

    fn missing(&mut self, row: &EntryRow) {
        if self.closed.as_ref().is_some_and(|closed| row.path.is_within(closed)) {
            return;
        }
        // Where case does not count, it may stand there under another spelling.
        match find(&self.reached.root.directory, &row.path) {
            Ok(Some(meta)) => return self.both(row, &meta),
            Ok(None) => {}
            Err(error) => {
                let file = Verified::of(row, Finding::Unread);
                return (self.tell)(Told::File(file.because(error.to_string())));
            }
        }
        let file = self.judged(row, Finding::Missing);
        (self.tell)(Told::File(file));
        if row.since.is_none() || self.accepted {
            let of = ReadBackOf::Gone { since: row.since };
            (self.tell)(Told::Note(ReadBack { path: row.path.clone(), of, digest: None }));
        }
    }

    /// A version: retention may have released it, so one that is not there is nothing.
    fn version(&mut self, row: &Displacement) {
        if !row.kept || row.digest.is_none() || row.kind != Kind::File.word() {
            return;
        }
        let found = match self.reached.store.versions_of(row.run) {
            Ok(None) => return,
            Ok(Some(versions)) => find(&versions, &row.path),
            Err(error) => Err(io::Error::other(error)),
        };
        let file = |finding| Verified {
            version: Some(row.run),
            since: row.since,
            read_back: row.read_back,
            expected: true,
            ..Verified::new(&row.path, finding)
        };
        let grain = self.reached.place.grain_ns;
        match found {
            Ok(None) => {}
            Ok(Some(meta)) => match version_difference(row, &meta, grain) {
                None => {
                    let weight = Weight {
                        bytes: row.size,
                        read_back: row.read_back,
                        since: Some(row.run.time()),
                        wrong: row.wrong.is_some(),
                    };
                    self.files.push(&row.path, Some(row.run), weight);
                }
                Some(cause) => (self.tell)(Told::File(file(Finding::Changed).because(cause))),
            },
            Err(error) => (self.tell)(Told::File(file(Finding::Unread).because(error.to_string()))),
        }
    }
}

/// An entry by its path below a directory, following no symlink.
pub(in crate::run) fn find(root: &Dir, path: &RelPath) -> io::Result<Option<Meta>> {
    let directory = match root.open_below(&path.parent().unwrap_or_default()) {
        Ok(directory) => directory,
        Err(error) if is_absence(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    directory.find(path.name())
}

/// Whether an error says that there is no such entry: also where a directory on the way became something else (`ELOOP` at a symlink).
pub(super) fn is_absence(error: &io::Error) -> bool {
    /// `ELOOP`, `errno.h`.
    const SYMLINK: i32 = 40;
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(SYMLINK)
}

/// Why an entry is not the one that was recorded, as far as its metadata says.
pub(super) fn difference(row: &EntryRow, meta: &Meta, grain_ns: u64) -> Option<String> {
    if row.kind != meta.kind.word() {
        return Some(format!("it was a {} and is a {} now", row.kind, meta.kind.word()));
    }
    match meta.kind {
        Kind::File | Kind::Symlink => changed((row.size, row.modified), (meta.size, meta.modified), grain_ns),
        _ => None,
    }
}

fn version_difference(row: &Displacement, meta: &Meta, grain_ns: u64) -> Option<String> {
    if meta.kind != Kind::File {
        return Some(format!("it was a file and is a {} now", meta.kind.word()));
    }
    changed((row.size, row.modified), (meta.size, meta.modified), grain_ns)
}

/// How size or mtime differ; what a file system rounds off when it is mounted again is no difference.
fn changed(was: (u64, Stamp), is: (u64, Stamp), grain_ns: u64) -> Option<String> {
    if was.0 != is.0 {
        return Some(format!("it had {} bytes and has {} now", was.0, is.0));
    }
    (was.1.floored(grain_ns) != is.1.floored(grain_ns))
        .then(|| format!("its mtime was {} and is {} now", was.1, is.1))
}

impl Verified {
    /// A file of which nothing more is known.
    pub(super) fn new(path: &RelPath, finding: Finding) -> Self {
        Self {
            path: path.clone(),
            version: None,
            finding,
            since: None,
            read_back: None,
            bytes: 0,
            cause: None,
            source: None,
            expected: false,
        }
    }

    /// A recorded file.
    pub(super) fn of(row: &EntryRow, finding: Finding) -> Self {
        let (since, read_back) = (row.since, row.read_back);
        Self { since, read_back, expected: since.is_some(), ..Self::new(&row.path, finding) }
    }

    pub(super) fn because(self, cause: String) -> Self {
        Self { cause: Some(cause), ..self }
    }
}
