//! One directory while it is compared: what everything below it needs, and what was found in it.

use std::io;
use std::ops::Deref;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::platform::{Attributes as _, Dir};
use crate::scan::{Gate, Held};
use crate::value::{Meta, RelPath};

use super::march::March;
use super::sides::Sides;
use super::{DirectoryDraft, Finding, Side, Verdict};

/// A directory that is being compared. The work items below it share it; dropped by the
/// last of them, it hands its findings in.
pub(super) struct Node<'m> {
    march: &'m March<'m>,
    pub(super) path: RelPath,
    /// The directory on each side, `None` where there is none.
    pub(super) metas: Sides<Option<Meta>>,
    pub(super) gate: Gate,
    /// Not selected itself, see [`DirectoryDraft::through`].
    pub(super) through: bool,
    /// A directory above, or this one, becomes something else in the destination: all it holds there goes, whatever the mode.
    pub(super) going: bool,
    held: Sides<OnceLock<Held<'m>>>,
    found: Mutex<Found>,
}

/// What was found in one directory, or in a part of it.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) findings: Vec<Finding>,
    pub(super) kept: u64,
    pub(super) stale_stages: Vec<Box<[u8]>>,
    /// Why a side could not be read to its end.
    pub(super) failed: Sides<Option<String>>,
}

impl Found {
    pub(super) fn push(
        &mut self,
        name: &[u8],
        verdict: Verdict,
        source: Option<Meta>,
        destination: Option<Meta>,
    ) {
        self.findings.push(Finding { name: name.into(), verdict, source, destination });
    }
}

/// An open directory, kept or opened again.
pub(super) enum Seat<'a> {
    Kept(&'a Dir),
    Opened(Dir),
}

impl Deref for Seat<'_> {
    type Target = Dir;

    fn deref(&self) -> &Dir {
        match self {
            Self::Kept(directory) => directory,
            Self::Opened(directory) => directory,
        }
    }
}

impl<'m> Node<'m> {
    pub(super) fn new(
        march: &'m March<'m>,
        path: RelPath,
        metas: Sides<Option<Meta>>,
        gate: Gate,
        through: bool,
        going: bool,
    ) -> Self {
        Self {
            march,
            path,
            metas,
            gate,
            through,
            going,
            held: Sides { source: OnceLock::new(), destination: OnceLock::new() },
            found: Mutex::default(),
        }
    }

    /// Keeps a side's handle for the work that is left, or closes it.
    pub(super) fn keep(&self, side: Side, held: Option<Held<'m>>) {
        if let Some(held) = held.and_then(|held| self.march.handles.keep(held)) {
            // Set once for each side, right after the node was made.
            let _ = self.held.of(side).set(held);
        }
    }

    /// This directory on one side, opened again from the root where it was closed.
    pub(super) fn seat(&self, side: Side) -> io::Result<Seat<'_>> {
        if let Some(held) = self.held.of(side).get() {
            return Ok(Seat::Kept(held));
        }
        let opened = self.march.root(side)?.open_below(&self.path)?;
        let is_same =
            self.metas.of(side).is_some_and(|meta| opened.meta().is_ok_and(|now| now.same_inode(&meta)));
        if is_same { Ok(Seat::Opened(opened)) } else { Err(replaced()) }
    }

    /// Opens a directory of this one; `path` is the path of that directory.
    pub(super) fn open_child(&self, side: Side, name: &[u8], path: &RelPath) -> io::Result<Dir> {
        match self.held.of(side).get() {
            Some(held) => held.open_dir(name),
            None => self.march.root(side)?.open_below(path),
        }
    }

    /// Adds what was found here.
    pub(super) fn add(&self, found: Found) {
        let mut all = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        all.findings.extend(found.findings);
        all.kept += found.kept;
        all.stale_stages.extend(found.stale_stages);
        all.failed.source = all.failed.source.take().or(found.failed.source);
        all.failed.destination = all.failed.destination.take().or(found.failed.destination);
    }
}

impl Drop for Node<'_> {
    /// Hands the findings in: this was the last work item that needed the directory.
    fn drop(&mut self) {
        let found = std::mem::take(self.found.get_mut().unwrap_or_else(PoisonError::into_inner));
        let Found { mut findings, kept, mut stale_stages, failed } = found;
        // What is kept matters where the directory might go, and nowhere else.
        let is_worth_telling = !findings.is_empty()
            || !stale_stages.is_empty()
            || failed.source.is_some()
            || failed.destination.is_some()
            || (self.metas.source.is_none() && kept > 0)
            // The plan knows by this that it is made for what lies below alone.
            || (self.through && self.metas.destination.is_none())
            || self.path.is_root();
        if !is_worth_telling {
            return;
        }
        findings.sort_by(|a, b| a.name.cmp(&b.name));
        stale_stages.sort();
        let draft = DirectoryDraft {
            source_whole: failed.source.is_none(),
            destination_whole: failed.destination.is_none(),
            source: self.metas.source,
            destination: self.metas.destination,
            through: self.through,
            kept,
            findings,
            stale_stages,
            path: std::mem::take(&mut self.path),
        };
        self.march.fail(&draft.path, failed);
        self.march.gathering.directory(draft);
    }
}

/// The name stands for another inode by now.
pub(super) fn replaced() -> io::Error {
    io::Error::other("it was replaced while it was looked at")
}
