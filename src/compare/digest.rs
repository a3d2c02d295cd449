//! Files of equal size told apart by what they hold, and what is said of equal ones.

use std::io;
use std::sync::Arc;

use rayon::Scope;

use crate::job::Comparison;
use crate::platform::{Access, Attributes as _};
use crate::value::{Digest, Kind, Meta, RelPath};

use super::gather::Tally;
use super::march::March;
use super::merge::Files;
use super::metadata::Attributed;
use super::node::{Found, Node, replaced};
use super::sides::{Meeting, Sides};
use super::{Difference, Equals, Extent, Side, Verdict};

/// Two files while they are read. The last of both readers hands the verdict in.
struct Reading<'s> {
    node: Arc<Node<'s>>,
    files: Files,
    meeting: Meeting<io::Result<Digest>>,
}

/// Reads both files at once, each in a work item of its own; of the destination's perhaps only what is recorded.
pub(super) fn compare_content<'s>(
    scope: &Scope<'s>,
    march: &'s March<'s>,
    node: Arc<Node<'s>>,
    files: Files,
) {
    let reading = Arc::new(Reading { node, files, meeting: Meeting::default() });
    for side in [Side::Destination, Side::Source] {
        let reading = Arc::clone(&reading);
        scope.spawn(move |_| {
            if march.is_cancelled() {
                return;
            }
            let mine = reading.digest(march, side);
            if let Some(digests) = reading.meeting.bring(side, mine) {
                reading.conclude(march, digests);
            }
        });
    }
}

impl Reading<'_> {
    fn name(&self, side: Side) -> &[u8] {
        match side {
            Side::Source => &self.files.name,
            Side::Destination => &self.files.destination_name,
        }
    }

    fn digest(&self, march: &March<'_>, side: Side) -> io::Result<Digest> {
        let known = match side {
            Side::Destination => self.known(march),
            Side::Source => None,
        };
        known.map_or_else(|| self.read(march, side), Ok)
    }

    /// The destination's digest, where the rule lets it be taken on trust. What is recorded goes by the source's names.
    fn known(&self, march: &March<'_>) -> Option<Digest> {
        let known = match march.terms.rule.compare {
            Comparison::MtimeThenHash => march.terms.known?,
            Comparison::Mtime | Comparison::Size | Comparison::Hash => return None,
        };
        known.digest(&self.node.path.join(&self.files.name), &self.files.metas.destination)
    }

    fn read(&self, march: &March<'_>, side: Side) -> io::Result<Digest> {
        let engine =
            march.terms.engine.ok_or_else(|| io::Error::other("there is nothing to read it with"))?;
        let file = self.node.seat(side)?.open_file(self.name(side), Access::Buffered)?;
        let meta = file.meta()?;
        if !meta.same_inode(self.files.metas.of(side)) || meta.kind != Kind::File {
            return Err(replaced());
        }
        engine.digest(&Arc::new(file), meta.size).map_err(io::Error::other)
    }

    fn conclude(&self, march: &March<'_>, digests: Sides<io::Result<Digest>>) {
        let mut tally = Tally::default();
        let Sides { source, destination } = self.files.metas;
        let verdict = match digests {
            Sides { source: Ok(ours), destination: Ok(theirs) } if ours == theirs => {
                self.equal(march, &mut tally)
            }
            Sides { source: Ok(_), destination: Ok(_) } => {
                Some(Verdict::Changed(Difference::Content, march.age(&source, &destination)))
            }
            digests => self.unread(digests, &mut tally),
        };
        if let Some(verdict) = verdict {
            let source = (verdict != Verdict::Vanished).then_some(source);
            let mut found = Found::default();
            found.push(&self.files.name, verdict, source, Some(destination));
            self.node.add(found);
        }
        march.gathering.take_over(tally);
    }

    fn equal(&self, march: &March<'_>, tally: &mut Tally) -> Option<Verdict> {
        let seats =
            self.node.seat(Side::Source).and_then(|ours| Ok((ours, self.node.seat(Side::Destination)?)));
        let Sides { source, destination } = &self.files.metas;
        let (ours, theirs) = match seats {
            Ok(seats) => seats,
            Err(error) => {
                let path = self.node.path.join(&self.files.name);
                tally.problem(path, Side::Source, Extent::Entry, format!("cannot look at it: {error}"));
                return None;
            }
        };
        let files = Sides {
            source: Attributed::Name(&ours, &self.files.name, source),
            destination: Attributed::Name(&theirs, &self.files.destination_name, destination),
        };
        march.equal_content(&self.node.path, tally, &self.files.name, files, Sides { source, destination })
    }

    fn unread(&self, digests: Sides<io::Result<Digest>>, tally: &mut Tally) -> Option<Verdict> {
        let mut verdict = None;
        for (side, digest) in [(Side::Source, digests.source), (Side::Destination, digests.destination)] {
            match digest {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    tally.counts.vanished += 1;
                    verdict = (side == Side::Source).then_some(Verdict::Vanished).or(verdict);
                }
                Err(error) => {
                    let path = self.node.path.join(self.name(side));
                    tally.problem(path, side, Extent::Entry, format!("cannot read it: {error}"));
                }
            }
        }
        verdict
    }
}

impl March<'_> {
    /// What is to be said of two entries with the same content in the directory at `directory`: `None` where they are equal, and
    /// are not held for their further names.
    pub(super) fn equal_content(
        &self,
        directory: &RelPath,
        tally: &mut Tally,
        name: &[u8],
        at: Sides<Attributed<'_>>,
        Sides { source, destination }: Sides<&Meta>,
    ) -> Option<Verdict> {
        match self.metadata_difference((at.source, source), (at.destination, destination)) {
            Ok(difference) if !difference.is_empty() => Some(Verdict::Metadata(difference)),
            Ok(_) => {
                tally.counts.same += 1;
                let has_names = source.kind != Kind::Directory && (source.links > 1 || destination.links > 1);
                let is_told = source.kind == Kind::File && self.terms.scope.equals == Equals::Tell;
                (has_names && self.terms.rule.preserve.hard_links || is_told).then_some(Verdict::Same)
            }
            Err(unread) => {
                tally.problem(directory.join(name), unread.side, Extent::Entry, unread.to_string());
                None
            }
        }
    }
}
