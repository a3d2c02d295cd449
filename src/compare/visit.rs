//! One directory on both sides: opened and listed.

use std::io;
use std::sync::Arc;

use rayon::Scope;

use crate::platform::{Attributes as _, Dir};
use crate::scan::{Held, Listing, ListingError, Spelling, is_reserved_at_root};
use crate::value::{Kind, Meta, RelPath};

use super::enter::enter;
use super::march::March;
use super::node::{Node, replaced};
use super::sides::{Meeting, Sides};
use super::{Named, Side, Terms};

/// A directory of this size (`st_size`) may hold so many names that its two sides are listed at once: ext4 takes some 40 bytes a
/// name, tmpfs 20.
const LARGE_DIRECTORY_BYTES: u64 = 256 * 1024;

/// A directory, on either side or both, that is going to be visited.
#[derive(Clone)]
pub(super) struct Step<'m> {
    /// The directory that holds it; `None` for the root.
    pub(super) above: Option<Arc<Node<'m>>>,
    pub(super) name: Box<[u8]>,
    /// The destination's spelling, where case does not count and it differs.
    pub(super) destination_name: Option<Box<[u8]>>,
    /// What stands under the name on each side; a directory on one side at least.
    pub(super) metas: Sides<Option<Meta>>,
    pub(super) through: bool,
}

/// An open directory with its names.
pub(super) struct Opened<'m> {
    pub(super) directory: Held<'m>,
    pub(super) meta: Meta,
    pub(super) listing: Listing,
}

/// Why a directory could not be opened.
pub(super) enum Missed {
    Gone,
    Failed(String),
}

/// `None` where the side has no directory under that name.
pub(super) type Outcome<'m> = Option<Result<Opened<'m>, Missed>>;

impl<'m> Step<'m> {
    pub(super) fn root(source: Meta, destination: Option<Meta>, terms: &Terms<'_>) -> Self {
        Self {
            above: None,
            name: Box::default(),
            destination_name: None,
            metas: Sides { source: Some(source), destination },
            through: terms.scope.names.is_some(),
        }
    }

    pub(super) fn path(&self) -> RelPath {
        self.above.as_ref().map_or_else(RelPath::root, |above| above.path.join(&self.name))
    }

    fn open(&self, march: &'m March<'m>, side: Side) -> Outcome<'m> {
        let seen = self.metas.of(side).filter(|meta| meta.kind == Kind::Directory)?;
        Some(self.open_seen(march, side, &seen).map_err(|error| match error {
            ListingError::System(error)
                if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
            {
                Missed::Gone
            }
            error => Missed::Failed(error.to_string()),
        }))
    }

    fn open_seen(&self, march: &'m March<'m>, side: Side, seen: &Meta) -> Result<Opened<'m>, ListingError> {
        let directory = match &self.above {
            None => march.root(side)?.try_clone()?,
            Some(above) => {
                let name = match (side, &self.destination_name) {
                    (Side::Destination, Some(name)) => name,
                    _ => &self.name,
                };
                above.open_child(side, name, &self.path())?
            }
        };
        let directory = march.handles.hold(directory);
        let meta = directory.meta()?;
        if !meta.same_inode(seen) {
            return Err(replaced().into());
        }
        let is_root = self.above.is_none();
        if is_root && let Some(names) = march.terms.scope.names {
            let listing = named(names, side, &directory, march.spelling)?;
            return Ok(Opened { directory, meta, listing });
        }
        let skip = |name: &[u8]| is_root && is_reserved_at_root(name);
        let listing = Listing::read(&directory, march.spelling, skip)?;
        Ok(Opened { directory, meta, listing })
    }
}

/// The listing of a root of which some names alone are asked for. Whether the source has them is found out when they are looked at.
fn named(names: &[Named], side: Side, directory: &Dir, spelling: Spelling) -> Result<Listing, ListingError> {
    if side == Side::Source {
        return Listing::of(names.iter().map(|named| (&*named.source, &*named.destination)), spelling);
    }
    let mut present = Vec::with_capacity(names.len());
    for Named { destination, .. } in names {
        if directory.find(destination)?.is_some() {
            present.push((&**destination, &**destination));
        }
    }
    Listing::of(present, spelling)
}

/// Visits a directory and hands on the visits below it.
pub(super) fn visit<'s>(scope: &Scope<'s>, march: &'s March<'s>, step: Step<'s>) {
    if march.is_cancelled() {
        return;
    }
    march.terms.meter.add_directory();
    let is_large = |meta: &Meta| meta.kind == Kind::Directory && meta.size >= LARGE_DIRECTORY_BYTES;
    if let Sides { source: Some(source), destination: Some(destination) } = &step.metas
        && is_large(source)
        && is_large(destination)
    {
        return visit_large(scope, march, &step);
    }
    let source = step.open(march, Side::Source);
    let destination = step.open(march, Side::Destination);
    enter(scope, march, step, Sides { source, destination });
}

/// Lists both sides at once; who comes second goes on with both.
fn visit_large<'s>(scope: &Scope<'s>, march: &'s March<'s>, step: &Step<'s>) {
    let meeting: Arc<Meeting<Outcome<'s>>> = Arc::default();
    for side in [Side::Destination, Side::Source] {
        let (meeting, step) = (Arc::clone(&meeting), step.clone());
        scope.spawn(move |scope| {
            let mine = step.open(march, side);
            if let Some(sides) = meeting.bring(side, mine) {
                enter(scope, march, step, sides);
            }
        });
    }
}
