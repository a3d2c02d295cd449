//! The beginning and the end of a march, and what all of its work items share.

use std::io;

use crate::job::Mode;
use crate::platform::{Attributes as _, Dir};
use crate::scan::{Handles, Spelling};
use crate::value::{Kind, Meta, RelPath};

use super::equal::Times;
use super::gather::{Gathering, Tally};
use super::metadata::Preserved;
use super::sides::Sides;
use super::visit::{Step, visit};
use super::{DirectoryDraft, Draft, ExcludedThere, Extent, Side, Terms};

/// What the work items of one march share.
pub(super) struct March<'m> {
    pub(super) terms: &'m Terms<'m>,
    pub(super) handles: Handles,
    pub(super) spelling: Spelling,
    pub(super) times: Times,
    pub(super) preserved: Preserved,
    pub(super) gathering: Gathering,
    /// Device and inode of both roots.
    roots: Sides<Option<(u64, u64)>>,
}

/// Compares both trees. The draft does not depend on the number of threads, nor on the order in which directories are read; what could not
/// be looked at is in its `problems`. Nothing is written anywhere.
#[must_use]
pub fn march(terms: &Terms<'_>) -> Draft {
    let mut roots = DirectoryDraft {
        path: RelPath::root(),
        source: None,
        destination: None,
        source_whole: false,
        destination_whole: terms.destination.is_none(),
        through: terms.scope.names.is_some(),
        kept: 0,
        findings: Vec::new(),
        stale_stages: Vec::new(),
    };
    let gathering = Gathering::default();
    match start(terms, &mut roots) {
        Ok(metas) => walk(terms, metas, gathering, roots),
        Err(Refusal::Nested(side)) => {
            let mut tally = Tally::default();
            tally.nested(side, RelPath::root());
            gathering.take_over(tally);
            gathering.into_draft(roots)
        }
        Err(Refusal::Unread(side, error)) => {
            let mut tally = Tally::default();
            let message = format!("cannot look at the root: {error}");
            tally.problem(RelPath::root(), side, Extent::Subtree, message);
            gathering.take_over(tally);
            gathering.into_draft(roots)
        }
    }
}

/// Why a march does not even begin.
enum Refusal {
    Nested(Side),
    Unread(Side, io::Error),
}

fn start(terms: &Terms<'_>, roots: &mut DirectoryDraft) -> Result<(Meta, Option<Meta>), Refusal> {
    let meta = |side: Side, directory: &Dir| directory.meta().map_err(|error| Refusal::Unread(side, error));
    let source = meta(Side::Source, terms.source)?;
    let destination = terms.destination.map(|directory| meta(Side::Destination, directory)).transpose()?;
    (roots.source, roots.destination) = (Some(source), destination);
    // Roots that only hold what is compared may be one directory.
    let is_source =
        |identity: Option<(u64, u64)>| terms.scope.names.is_none() && identity == Some(identity_of(&source));
    if is_source(destination.as_ref().map(identity_of)) || is_source(terms.destination_parent) {
        return Err(Refusal::Nested(Side::Source));
    }
    Ok((source, destination))
}

fn walk(
    terms: &Terms<'_>,
    (source, destination): (Meta, Option<Meta>),
    gathering: Gathering,
    roots: DirectoryDraft,
) -> Draft {
    let march = March {
        terms,
        handles: Handles::new(terms.handle_budget),
        spelling: terms.place.case.into(),
        times: Times::new(terms.source_place.grain_ns, terms.place.grain_ns, terms.rule.time_tolerance),
        preserved: Preserved::new(terms),
        gathering,
        roots: Sides {
            source: Some(identity_of(&source)),
            destination: destination.as_ref().map(identity_of),
        },
    };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(terms.threads.max(1))
        .thread_name(|index| format!("compare-{index}"))
        .build();
    match pool {
        Ok(pool) => pool.scope(|scope| visit(scope, &march, Step::root(source, destination, terms))),
        Err(error) => {
            let message = format!("cannot start the threads that compare: {error}");
            march.fail(&RelPath::root(), Sides { source: Some(message), destination: None });
        }
    }
    march.gathering.into_draft(roots)
}

fn identity_of(meta: &Meta) -> (u64, u64) {
    (meta.device, meta.inode)
}

impl March<'_> {
    /// The root of one side.
    ///
    /// # Errors
    /// `NotFound` where the destination has none.
    pub(super) fn root(&self, side: Side) -> io::Result<&Dir> {
        match side {
            Side::Source => Ok(self.terms.source),
            Side::Destination => self.terms.destination.ok_or_else(|| io::ErrorKind::NotFound.into()),
        }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.terms.cancel.is_raised()
    }

    /// Whether an entry of one side is the other side's root, or the directory that is going to hold it.
    pub(super) fn meets_other_root(&self, side: Side, meta: &Meta) -> bool {
        let identity = Some(identity_of(meta));
        meta.kind == Kind::Directory
            && match side {
                Side::Source => {
                    identity == self.roots.destination
                        || (self.roots.destination.is_none() && identity == self.terms.destination_parent)
                }
                Side::Destination => identity == self.roots.source,
            }
    }

    /// Whether entries that only the destination has are told one by one: a backup leaves them where they are.
    pub(super) fn tells_extras(&self, going: bool) -> bool {
        going || self.terms.rule.mode == Mode::Mirror
    }

    /// Whether what the patterns leave out goes from the destination.
    pub(super) fn clears_excluded(&self) -> bool {
        self.terms.excluded == ExcludedThere::Cleared && self.terms.rule.mode == Mode::Mirror
    }

    /// Reports a directory that could not be read.
    pub(super) fn fail(&self, path: &RelPath, failed: Sides<Option<String>>) {
        let mut tally = Tally::default();
        for (side, message) in [(Side::Source, failed.source), (Side::Destination, failed.destination)] {
            if let Some(message) = message {
                tally.problem(path.clone(), side, Extent::Subtree, message);
            }
        }
        self.gathering.take_over(tally);
    }
}
