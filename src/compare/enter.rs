//! What is to be said of a directory itself once both sides are open, and whether it is entered.

use std::io;
use std::sync::Arc;

use rayon::Scope;

use crate::platform::{Access, Dir};
use crate::scan::{Gate, Listing, OWN_FOLDER, Spelling};
use crate::value::{Kind, Meta, RelPath};

use super::gather::Tally;
use super::march::March;
use super::metadata::Attributed;
use super::node::{Found, Node};
use super::sides::Sides;
use super::spread::spread;
use super::visit::{Missed, Opened, Outcome, Step};
use super::{Conflict, DirectoryDraft, Extent, MetaDifference, Notice, Side, Verdict};

/// Twinlane's own ids are far shorter.
const ID_BYTES_MAX: usize = 64 * 1024;

/// What becomes of a directory.
enum Way {
    /// Nothing below it is looked at.
    Stay,
    /// It could not be read.
    Failed(Sides<Option<String>>),
    /// All below it is compared.
    Enter(Box<Gate>),
}

/// Goes on with a directory that was opened on each side that has it.
pub(super) fn enter<'s>(
    scope: &Scope<'s>,
    march: &'s March<'s>,
    mut step: Step<'s>,
    sides: Sides<Outcome<'s>>,
) {
    let mut about = About { march, path: step.path(), tally: Tally::default(), found: Found::default() };
    let (way, opened) = match about.reached(&mut step, sides) {
        Ok(opened) => (about.way(&step, &opened), opened),
        Err(way) => (way, Sides::default()),
    };
    let About { path, tally, found, .. } = about;
    march.gathering.take_over(tally);
    match way {
        Way::Enter(gate) => {
            let meta = |side: &Option<Opened<'_>>| side.as_ref().map(|opened| opened.meta);
            let metas = Sides { source: meta(&opened.source), destination: meta(&opened.destination) };
            let becomes_another = step.metas.source.is_some() && metas.source.is_none();
            let going = becomes_another || step.above.as_ref().is_some_and(|above| above.going);
            let node = Arc::new(Node::new(march, path, metas, *gate, step.through, going));
            step.above.as_ref().unwrap_or(&node).add(found);
            // What is above need not stay open for what is below.
            drop(step);
            spread(scope, march, &node, opened);
        }
        Way::Failed(failed) => {
            add_above(&step, found);
            march.gathering.directory(unread(&step, path.clone(), &failed));
            march.fail(&path, failed);
        }
        Way::Stay => add_above(&step, found),
    }
}

fn add_above(step: &Step<'_>, found: Found) {
    if let Some(above) = &step.above {
        above.add(found);
    }
}

/// The draft of a directory that could not be read.
fn unread(step: &Step<'_>, path: RelPath, failed: &Sides<Option<String>>) -> DirectoryDraft {
    let directory = |meta: Option<Meta>| meta.filter(|meta| meta.kind == Kind::Directory);
    DirectoryDraft {
        path,
        source: directory(step.metas.source),
        destination: directory(step.metas.destination),
        source_whole: failed.source.is_none(),
        destination_whole: failed.destination.is_none(),
        through: step.through,
        kept: 0,
        findings: Vec::new(),
        stale_stages: Vec::new(),
    }
}

/// What is learnt about one directory; `found` belongs to the directory above it.
struct About<'s> {
    march: &'s March<'s>,
    path: RelPath,
    tally: Tally,
    found: Found,
}

impl<'s> About<'s> {
    /// Sorts out what could not be opened.
    fn reached(
        &mut self,
        step: &mut Step<'s>,
        sides: Sides<Outcome<'s>>,
    ) -> Result<Sides<Option<Opened<'s>>>, Way> {
        let is_root = step.above.is_none();
        let mut failed = Sides::default();
        let mut gone = Sides::default();
        let reach = |outcome: Outcome<'s>, failed: &mut Option<String>, gone: &mut bool| match outcome? {
            Ok(opened) => Some(opened),
            Err(Missed::Gone) if is_root => {
                *failed = Some("the directory is gone".to_owned());
                None
            }
            Err(Missed::Gone) => {
                *gone = true;
                None
            }
            Err(Missed::Failed(message)) => {
                *failed = Some(message);
                None
            }
        };
        let opened = Sides {
            source: reach(sides.source, &mut failed.source, &mut gone.source),
            destination: reach(sides.destination, &mut failed.destination, &mut gone.destination),
        };
        self.tally.counts.vanished += u64::from(gone.source) + u64::from(gone.destination);
        if gone.destination {
            step.metas.destination = None;
        }
        if gone.source {
            if let Some(destination) = step.metas.destination {
                self.found.push(&step.name, Verdict::Vanished, None, Some(destination));
            }
            return Err(Way::Stay);
        }
        if failed.source.is_some() || failed.destination.is_some() {
            self.count(step);
            if failed.destination.is_some() && becomes_another(step) {
                let unread = Verdict::Conflict(Conflict::Unread);
                self.found.push(&step.name, unread, step.metas.source, step.metas.destination);
            }
            return Err(Way::Failed(failed));
        }
        if step.metas.source.is_none() && step.metas.destination.is_none() {
            return Err(Way::Stay);
        }
        Ok(opened)
    }

    fn way(&mut self, step: &Step<'s>, opened: &Sides<Option<Opened<'s>>>) -> Way {
        let gate = match self.gate(step, opened) {
            Ok(gate) => gate,
            Err(failed) => {
                self.count(step);
                return Way::Failed(failed);
            }
        };
        let is_below = step.above.is_some();
        if let Some(destination) = opened.destination.as_ref().filter(|_| is_below)
            && is_foreign(
                (&destination.directory, &destination.listing),
                opened.source.as_ref().map(|source| &*source.directory),
                self.march.spelling,
            )
        {
            self.tally.notice(Notice::ForeignDestination { path: self.path.clone() });
            self.keep(step, Conflict::Foreign);
            return Way::Stay;
        }
        if gate.excludes_all() && step.above.is_some() && !self.is_cleared(step) {
            if becomes_another(step) {
                self.keep(step, Conflict::KeptBelow);
            } else {
                self.tally.count_unselected(step.metas.source.as_ref(), step.metas.destination.as_ref());
                self.found.kept += u64::from(step.metas.destination.is_some());
            }
            return Way::Stay;
        }
        self.count(step);
        self.verdict(step, opened);
        Way::Enter(Box::new(gate))
    }

    /// Whether the destination's directory is to go because the patterns leave it out.
    fn is_cleared(&self, step: &Step<'_>) -> bool {
        step.metas.source.is_none()
            && self.march.clears_excluded()
            && step
                .above
                .as_ref()
                .is_some_and(|above| above.gate.is_excluded_by_patterns(&step.name, Kind::Directory))
    }

    /// The destination's directory stays; where the source has something else for the name, that cannot be done.
    fn keep(&mut self, step: &Step<'s>, conflict: Conflict) {
        self.found.kept += 1;
        self.tally.counts.destination_kept += 1;
        if let Some(source) = &step.metas.source {
            self.tally.count_source(source);
            self.found.push(
                &step.name,
                Verdict::Conflict(conflict),
                step.metas.source,
                step.metas.destination,
            );
        }
    }

    /// Counts the directory, and what the source has in its place.
    fn count(&mut self, step: &Step<'s>) {
        if step.through || step.above.is_none() {
            return;
        }
        if let Some(source) = &step.metas.source {
            self.tally.count_source(source);
        }
        self.tally.counts.destination_entries += u64::from(step.metas.destination.is_some());
    }

    /// The filter inside the directory, from what the source's directory holds, from what the destination's does where that is gone.
    fn gate(
        &self,
        step: &Step<'s>,
        opened: &Sides<Option<Opened<'s>>>,
    ) -> Result<Gate, Sides<Option<String>>> {
        let (side, from) = match (&opened.source, &opened.destination) {
            (Some(source), _) => (Side::Source, source),
            (None, Some(destination)) => (Side::Destination, destination),
            (None, None) => {
                return Err(Sides {
                    source: Some("there is no such directory".to_owned()),
                    destination: None,
                });
            }
        };
        let (filter, spelling) = (self.march.terms.filter, self.march.spelling);
        let gate = match &step.above {
            None => Gate::root(filter, &from.directory, &from.listing, spelling),
            Some(above) => above.gate.enter(filter, &step.name, &from.directory, &from.listing, spelling),
        };
        gate.map_err(|error| match side {
            Side::Source => Sides { source: Some(error.to_string()), destination: None },
            Side::Destination => Sides { source: None, destination: Some(error.to_string()) },
        })
    }

    fn verdict(&mut self, step: &Step<'s>, opened: &Sides<Option<Opened<'s>>>) {
        if step.above.is_none() && step.through {
            return;
        }
        let going = step.above.as_ref().is_some_and(|above| above.going);
        let verdict = match (&opened.source, &opened.destination) {
            (Some(source), Some(destination)) => self.difference(step, source, destination),
            (Some(_), None) if step.metas.destination.is_none() => Some(Verdict::New),
            _ if step.through => None,
            (None, Some(_)) if step.metas.source.is_none() => {
                let extra = if self.is_cleared(step) { Verdict::Excluded } else { Verdict::Extra };
                self.march.tells_extras(going).then_some(extra)
            }
            _ => Some(Verdict::Kind),
        };
        if let Some(verdict) = verdict {
            self.found.push(&step.name, verdict, step.metas.source, step.metas.destination);
        }
    }

    fn difference(
        &mut self,
        step: &Step<'s>,
        source: &Opened<'s>,
        destination: &Opened<'s>,
    ) -> Option<Verdict> {
        if step.through {
            return None;
        }
        let is_root = step.above.is_none();
        let difference = self.march.metadata_difference(
            (Attributed::Handle(&source.directory), &source.meta),
            (Attributed::Handle(&destination.directory), &destination.meta),
        );
        let difference = match difference {
            // The root of a FAT file system has no time that could be set (`fs/fat/inode.c`).
            Ok(difference) if is_root && !self.march.terms.place.owners => {
                MetaDifference(difference.0 & !MetaDifference::TIMES.0)
            }
            Ok(difference) => difference,
            Err(unread) => {
                self.tally.problem(self.path.clone(), unread.side, Extent::Entry, unread.to_string());
                return None;
            }
        };
        if difference.is_empty() {
            self.tally.counts.same += u64::from(!is_root);
            return None;
        }
        Some(Verdict::Metadata(difference))
    }
}

/// Whether a directory of the destination is something else in the source.
fn becomes_another(step: &Step<'_>) -> bool {
    step.metas.source.is_some_and(|source| source.kind != Kind::Directory)
}

/// Whether a directory of the destination below its root is the destination of another rule: it holds an id that is not a copy of one that
/// the source's directory holds.
pub(super) fn is_foreign(
    (destination, listing): (&Dir, &Listing),
    source: Option<&Dir>,
    spelling: Spelling,
) -> bool {
    if !listing.contains(OWN_FOLDER, spelling) {
        return false;
    }
    match id_of(destination) {
        Ok(None) => false,
        Ok(Some(id)) => source.map(id_of).and_then(Result::ok).flatten() != Some(id),
        // Twinlane closes its folder to others: one that cannot be read is most likely somebody else's.
        Err(_) => true,
    }
}

/// The bytes of the id in a directory's own folder; `None` where there is none.
fn id_of(directory: &Dir) -> io::Result<Option<Vec<u8>>> {
    let is_absent =
        |error: &io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    let own = match directory.open_dir(OWN_FOLDER) {
        Err(error) if is_absent(&error) => return Ok(None),
        own => own?,
    };
    if own.find(b"id")?.is_none_or(|meta| meta.kind != Kind::File) {
        return Ok(None);
    }
    let file = own.open_file(b"id", Access::Buffered)?;
    let mut id = vec![0; ID_BYTES_MAX];
    let length = file.read_at(&mut id, 0)?;
    id.truncate(length);
    Ok(Some(id))
}
