//! Files are read past the page cache, several at once, and judged by what is recorded of them.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;

use crate::platform::{Access, Attributes as _, Dir, File};
use crate::queue::{Engine, Uncached};
use crate::run::causes;
use crate::run::roots::Root;
use crate::store::{EntryRow, ReadBack, ReadBackOf, Store, StoreError, View};
use crate::value::{Digest, Kind, Meta, Place, RelPath, RunId};

use super::model::{Done, Finding, SourceSide, Verified};
use super::survey::{Files, difference, find, is_absence};

/// Everything that reading needs.
pub(super) struct Reader<'a> {
    pub(super) root: &'a Dir,
    pub(super) place: &'a Place,
    pub(super) records: Records<'a>,
    pub(super) engine: &'a Engine,
    /// The source's root, where its files are compared.
    pub(super) source: Option<&'a Root>,
    pub(super) files: &'a Files,
    pub(super) accepted: bool,
}

/// What the files are judged by.
#[derive(Clone, Copy)]
pub(super) enum Records<'a> {
    /// The destination's catalog; `None` where there is none yet.
    Catalog(&'a Store, Option<&'a View>),
    /// A list of digests.
    List(&'a BTreeMap<RelPath, Digest>),
}

/// What reading one file gave.
pub(super) struct Outcome {
    pub(super) file: Verified,
    /// What is to be remembered of it.
    pub(super) notes: Vec<ReadBack>,
    /// It came through a cache.
    pub(super) cached: bool,
}

impl Outcome {
    /// A file of which there is nothing to remember.
    fn told(file: Verified) -> Self {
        Self { file, notes: Vec::new(), cached: false }
    }
}

/// What was read, and the file's metadata before.
enum Content {
    Read(Uncached, Meta),
    /// It changed meanwhile, or is no file any more.
    Changed(String, Option<Meta>),
    Gone,
    Unread(String, Option<Meta>),
    /// Reading was aborted.
    Aborted,
}

impl Reader<'_> {
    /// Reads the files of `order` from the position in `next` on, until they end or `go_on` says no; a file that was begun is read to its end.
    /// Several threads read, `take` is called on this one.
    pub(super) fn read_all(
        &self,
        order: &[usize],
        next: &AtomicUsize,
        threads: usize,
        go_on: &(dyn Fn() -> bool + Sync),
        done: &Done,
        take: &mut dyn FnMut(Outcome),
    ) -> io::Result<()> {
        std::thread::scope(|scope| {
            let (send, outcomes) = sync_channel(threads);
            for number in 0..threads {
                let send = send.clone();
                let work = move || {
                    while go_on() {
                        let Some(position) = order.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                        let Some(outcome) = self.read(*position) else { continue };
                        done.files.fetch_add(1, Ordering::Relaxed);
                        done.bytes.fetch_add(outcome.file.bytes, Ordering::Relaxed);
                        if send.send(outcome).is_err() {
                            break;
                        }
                    }
                };
                std::thread::Builder::new().name(format!("verify-{number}")).spawn_scoped(scope, work)?;
            }
            drop(send);
            outcomes.iter().for_each(take);
            Ok(())
        })
    }

    /// `None` where there is nothing to tell: reading was aborted, or what was never recorded has gone.
    fn read(&self, position: usize) -> Option<Outcome> {
        let (path, version) = self.files.get(position)?;
        match (self.records, version) {
            (Records::List(list), _) => self.read_listed(&path, *list.get(&path)?),
            (Records::Catalog(store, view), Some(run)) => self.read_version(store, view?, &path, run),
            (Records::Catalog(_, view), None) => self.read_entry(view, &path),
        }
    }

    fn read_listed(&self, path: &RelPath, expected: Digest) -> Option<Outcome> {
        let file = |finding| Verified { expected: true, ..Verified::new(path, finding) };
        match self.content(self.root, path) {
            Content::Aborted => None,
            Content::Gone => Some(Outcome::told(file(Finding::Missing))),
            Content::Changed(cause, _) => Some(Outcome::told(file(Finding::Changed).because(cause))),
            Content::Unread(cause, _) => Some(Outcome::told(file(Finding::Unread).because(cause))),
            Content::Read(read, meta) => {
                let right = read.digest == expected;
                let finding = if right { Finding::Right } else { Finding::Differs };
                let cause =
                    (!right).then(|| format!("its BLAKE3 is {}, and {expected} is listed", read.digest));
                let file = Verified { bytes: meta.size, cause, ..file(finding) };
                Some(Outcome { cached: !read.past_cache, ..Outcome::told(file) })
            }
        }
    }

    fn read_entry(&self, view: Option<&View>, path: &RelPath) -> Option<Outcome> {
        let row = match view.map(|view| view.entry(path)).transpose() {
            Ok(row) => row.flatten(),
            Err(error) => {
                let file = Verified::new(path, Finding::Unread).because(causes(&error).join(": "));
                return Some(Outcome::told(file));
            }
        };
        let file = |finding| {
            let file =
                row.as_ref().map_or_else(|| Verified::new(path, finding), |row| Verified::of(row, finding));
            Verified { expected: file.expected && !self.accepted, ..file }
        };
        // Remembered as wrong it is read each time, and no round waits for it.
        let note = |meta| {
            let recorded = row.as_ref().map(|row| row.modified);
            ReadBack { path: path.clone(), of: ReadBackOf::Tree { meta, recorded }, digest: None }
        };
        let wrong = |finding, cause, meta: Option<Meta>| {
            let notes = meta.into_iter().map(note).collect();
            Outcome { notes, ..Outcome::told(file(finding).because(cause)) }
        };
        let (read, meta) = match self.content(self.root, path) {
            Content::Read(read, meta) => (read, meta),
            Content::Aborted => return None,
            Content::Gone => return row.is_some().then(|| Outcome::told(file(Finding::Missing))),
            Content::Changed(cause, meta) => return Some(wrong(Finding::Changed, cause, meta)),
            Content::Unread(cause, meta) => return Some(wrong(Finding::Unread, cause, meta)),
        };
        let (finding, cause, notes) = self.judge(path, row.as_ref(), &meta, read.digest);
        let mut file = Verified { bytes: meta.size, cause, ..file(finding) };
        self.compare_source(row.as_ref(), &meta, read.digest, &mut file);
        // Which of the two is right nobody knows: nothing is learnt.
        let notes = if file.finding == Finding::Differs { vec![note(meta)] } else { notes };
        Some(Outcome { file, notes, cached: !read.past_cache })
    }

    /// What a file's content says, and what is to be remembered.
    fn judge(
        &self,
        path: &RelPath,
        row: Option<&EntryRow>,
        meta: &Meta,
        digest: Digest,
    ) -> (Finding, Option<String>, Vec<ReadBack>) {
        let note = |recorded, digest| ReadBack {
            path: path.clone(),
            of: ReadBackOf::Tree { meta: *meta, recorded },
            digest,
        };
        let Some(row) = row else { return (Finding::Extra, None, vec![note(None, Some(digest))]) };
        if let Some(cause) = difference(row, meta, self.place.grain_ns) {
            let mut notes = Vec::new();
            if self.accepted && row.since.is_some() {
                let of = ReadBackOf::Gone { since: row.since };
                notes.push(ReadBack { path: path.clone(), of, digest: None });
            }
            if self.accepted || row.since.is_none() {
                notes.push(note(None, Some(digest)));
            }
            return (Finding::Changed, Some(cause), notes);
        }
        let recorded = Some(row.modified);
        match row.digest {
            None => (Finding::Learnt, None, vec![note(recorded, Some(digest))]),
            Some(expected) if expected == digest => {
                (Finding::Right, None, vec![note(recorded, Some(digest))])
            }
            Some(expected) => {
                let cause = format!("its BLAKE3 was {expected} and is {digest} now");
                (Finding::Rot, Some(cause), vec![note(recorded, None)])
            }
        }
    }

    fn read_version(&self, store: &Store, view: &View, path: &RelPath, run: RunId) -> Option<Outcome> {
        let unread = |error: StoreError| {
            let file = Verified { version: Some(run), ..Verified::new(path, Finding::Unread) };
            Some(Outcome::told(file.because(causes(&error).join(": "))))
        };
        let (row, versions) =
            match view.displacement(path, run).and_then(|row| Ok((row, store.versions_of(run)?))) {
                Ok((row, versions)) => (row?, versions?),
                Err(error) => return unread(error),
            };
        let file = |finding| Verified {
            version: Some(run),
            since: row.since,
            read_back: row.read_back,
            expected: true,
            ..Verified::new(path, finding)
        };
        let entry_of = |digest| ReadBack { path: path.clone(), of: ReadBackOf::Version { run }, digest };
        let wrong = |finding, cause| {
            let told = Outcome::told(file(finding).because(cause));
            Outcome { notes: vec![entry_of(None)], ..told }
        };
        let expected = row.digest?;
        match self.content(&versions, path) {
            // Retention may have released it.
            Content::Aborted | Content::Gone => None,
            Content::Changed(cause, _) => Some(wrong(Finding::Changed, cause)),
            Content::Unread(cause, _) => Some(wrong(Finding::Unread, cause)),
            Content::Read(read, meta) => {
                let right = expected == read.digest;
                let finding = if right { Finding::Right } else { Finding::Rot };
                let cause = (!right).then(|| format!("its BLAKE3 was {expected} and is {} now", read.digest));
                let file = Verified { bytes: meta.size, cause, ..file(finding) };
                let notes = vec![entry_of(right.then_some(expected))];
                Some(Outcome { file, notes, cached: !read.past_cache })
            }
        }
    }

    fn content(&self, root: &Dir, path: &RelPath) -> Content {
        let opened = open(root, path).and_then(|file| Ok((file.meta()?, file)));
        let (meta, file) = match opened {
            Ok((meta, _)) if meta.kind != Kind::File => {
                let cause = format!("it was a file and is a {} now", meta.kind.word());
                return Content::Changed(cause, None);
            }
            Ok((meta, file)) => (meta, Arc::new(file)),
            Err(error) if is_absence(&error) => return Content::Gone,
            Err(error) => {
                let meta = find(root, path).ok().flatten();
                return Content::Unread(format!("cannot open it: {error}"), meta);
            }
        };
        match self.engine.digest_uncached(&file, meta.size) {
            Ok(read) => match file.meta() {
                Ok(after) if after.same_moment(&meta) => Content::Read(read, meta),
                Ok(_) => Content::Changed("it changed while it was read".to_owned(), Some(meta)),
                Err(error) => Content::Unread(format!("cannot look at it: {error}"), Some(meta)),
            },
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Content::Aborted,
            Err(error) => Content::Unread(causes(&error).join(": "), Some(meta)),
        }
    }

    /// Looks at the source's file too, where that is asked for and the destination's is the one that was copied.
    fn compare_source(&self, row: Option<&EntryRow>, meta: &Meta, digest: Digest, file: &mut Verified) {
        let Some(source) = self.source else { return };
        let is_copy =
            matches!(file.finding, Finding::Right | Finding::Rot | Finding::Learnt | Finding::Extra);
        if !is_copy {
            return;
        }
        let expected = row.and_then(|row| row.digest);
        let modified = row.map_or(meta.modified, |row| row.modified);
        let grain = self.place.grain_ns;
        let held = |meta: &Meta| self.place.held_time(meta.modified).floored(grain);
        let side = match open(&source.directory, &file.path).and_then(|file| Ok((file.meta()?, file))) {
            Err(error) if is_absence(&error) => SourceSide::Gone,
            Err(error) => SourceSide::Unread(error.to_string()),
            Ok((there, opened)) => {
                let same = there.kind == Kind::File
                    && there.size == meta.size
                    && held(&there) == modified.floored(grain);
                if same {
                    self.source_side(opened, there.size, expected, digest)
                } else {
                    SourceSide::Changed
                }
            }
        };
        file.finding = match (file.finding, &side) {
            (Finding::Right, SourceSide::Other) => Finding::SourceRot,
            (Finding::Learnt | Finding::Extra, SourceSide::Other) => Finding::Differs,
            (finding, _) => finding,
        };
        file.source = Some(side);
    }

    fn source_side(&self, opened: File, bytes: u64, expected: Option<Digest>, digest: Digest) -> SourceSide {
        match self.engine.digest_uncached(&Arc::new(opened), bytes) {
            Ok(read) if read.digest == expected.unwrap_or(digest) => SourceSide::Right,
            Ok(read) if read.digest == digest => SourceSide::AsDestination,
            Ok(_) => SourceSide::Other,
            Err(error) => SourceSide::Unread(causes(&error).join(": ")),
        }
    }
}

/// Opens a file by its path below a directory, following no symlink.
pub(super) fn open(root: &Dir, path: &RelPath) -> io::Result<File> {
    root.open_below(&path.parent().unwrap_or_default())?.open_file(path.name(), Access::Buffered)
}
