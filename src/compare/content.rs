//! Entries that are no directories, and whether both sides hold the same under one name.

use std::io;

use crate::value::{Kind, Meta};

use super::equal::Likeness;
use super::merge::{Files, Later, Merge, Pair};
use super::metadata::Attributed;
use super::sides::Sides;
use super::{Conflict, Difference, Side, Verdict};

impl<'a> Merge<'a, '_> {
    /// A selected name that is no directory.
    pub(super) fn entry(&mut self, pair: Pair<'a>) {
        let Some((name, destination)) = pair.destination else {
            self.count(&pair);
            return self.verdict(&pair, Verdict::New);
        };
        let Some((_, source)) = pair.source else {
            if destination.mount_root {
                return self.keep(1);
            }
            self.count(&pair);
            if self.march.tells_extras(self.part.node.going) {
                let is_cleared = self.is_cleared(name, destination.kind);
                self.verdict(&pair, if is_cleared { Verdict::Excluded } else { Verdict::Extra });
            }
            return;
        };
        self.count(&pair);
        let verdict = if source.kind == destination.kind {
            self.content(&pair, &source, &destination)
        } else {
            Some(Verdict::Kind)
        };
        match verdict {
            Some(_) if destination.mount_root => self.conflict(&pair, Conflict::MountPoint),
            Some(verdict) => self.verdict(&pair, verdict),
            None => {}
        }
    }

    /// Compares two entries of one kind; `None` where everything that is to be said was said.
    fn content(&mut self, pair: &Pair<'a>, source: &Meta, destination: &Meta) -> Option<Verdict> {
        let age = |difference| Some(Verdict::Changed(difference, self.march.age(source, destination)));
        match source.kind {
            Kind::File => match self.march.likeness(source, destination) {
                Likeness::Different(difference) => return age(difference),
                Likeness::Unknown => {
                    let name = pair.name();
                    self.later.push(Later::Content(Files {
                        name: name.into(),
                        destination_name: pair.destination.map_or(name, |(name, _)| name).into(),
                        metas: Sides { source: *source, destination: *destination },
                    }));
                    return None;
                }
                Likeness::Equal => {}
            },
            Kind::Symlink => {
                let mut text =
                    |side, entry: Option<(&[u8], Meta)>| entry.and_then(|(name, _)| self.link(side, name));
                let ours = text(Side::Source, pair.source)?;
                if ours != text(Side::Destination, pair.destination)? {
                    return age(Difference::Target);
                }
            }
            Kind::CharDevice | Kind::BlockDevice if source.special != destination.special => {
                return age(Difference::Device);
            }
            _ => {}
        }
        self.same_content(pair);
        None
    }

    fn link(&mut self, side: Side, name: &[u8]) -> Option<Vec<u8>> {
        let directory = self.part.seats.of(side).as_ref()?;
        match directory.read_link(name) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.tally.counts.vanished += 1;
                None
            }
            Err(error) => {
                self.problem(side, name, format!("cannot read the symlink: {error}"));
                None
            }
        }
    }

    /// Two entries whose content is the same: their metadata may differ.
    pub(super) fn same_content(&mut self, pair: &Pair<'a>) {
        let Pair { source: Some((name, source)), destination: Some((other, destination)) } = pair else {
            return;
        };
        let (Some(ours), Some(theirs)) = (self.part.seats.source, self.part.seats.destination) else {
            return;
        };
        let files = Sides {
            source: Attributed::Name(ours, name, source),
            destination: Attributed::Name(theirs, other, destination),
        };
        let verdict = self.march.equal_content(
            &self.part.node.path,
            &mut self.tally,
            name,
            files,
            Sides { source, destination },
        );
        if let Some(verdict) = verdict {
            self.verdict(pair, verdict);
        }
    }
}
