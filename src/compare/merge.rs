//! The names of one directory, or of a part of it, gone through on both sides in step.

use std::cmp::Ordering;
use std::io;
use std::ops::Range;

use crate::platform::Dir;
use crate::scan::{DestinationName, Listing, destination_name, is_hidden_in_source};
use crate::value::{Kind, Meta, RelPath, StageName};

use super::gather::{Say, Tally};
use super::march::March;
use super::node::{Found, Node};
use super::sides::Sides;
use super::{Conflict, Extent, Extras, Notice, Side, Verdict};

/// What one work item goes through.
pub(super) struct Part<'a, 'm> {
    pub(super) node: &'a Node<'m>,
    /// The open directories, where there are any.
    pub(super) seats: Sides<Option<&'a Dir>>,
    pub(super) listings: &'a Sides<Listing>,
}

/// Work that is left for an item of its own.
pub(super) enum Later {
    /// A directory, on either side or both.
    Directory {
        name: Box<[u8]>,
        /// The destination's spelling, where it differs.
        destination_name: Option<Box<[u8]>>,
        metas: Sides<Option<Meta>>,
        through: bool,
    },
    /// Two files that only their content tells apart.
    Content(Files),
}

/// Two files of equal size.
pub(super) struct Files {
    pub(super) name: Box<[u8]>,
    /// The destination's spelling.
    pub(super) destination_name: Box<[u8]>,
    pub(super) metas: Sides<Meta>,
}

/// One name on either side or both, with what stands under it.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) source: Option<(&'a [u8], Meta)>,
    pub(super) destination: Option<(&'a [u8], Meta)>,
}

impl<'a> Pair<'a> {
    /// The source's spelling, the destination's where the source has none.
    pub(super) fn name(&self) -> &'a [u8] {
        self.source.or(self.destination).map_or(&[], |(name, _)| name)
    }

    fn metas(&self) -> Sides<Option<Meta>> {
        Sides {
            source: self.source.map(|(_, meta)| meta),
            destination: self.destination.map(|(_, meta)| meta),
        }
    }
}

/// Goes through names and collects.
pub(super) struct Merge<'a, 'm> {
    pub(super) march: &'a March<'a>,
    pub(super) part: &'a Part<'a, 'm>,
    /// The directory's own name, empty for the root.
    directory: &'a [u8],
    pub(super) found: Found,
    pub(super) tally: Tally,
    pub(super) later: Vec<Later>,
}

impl<'a, 'm> Merge<'a, 'm> {
    pub(super) fn new(march: &'a March<'a>, part: &'a Part<'a, 'm>) -> Self {
        let directory = part.node.path.name();
        Self { march, part, directory, found: Found::default(), tally: Tally::default(), later: Vec::new() }
    }

    /// Goes through a range of both listings; ends early where a side turns out to be closed.
    pub(super) fn run(mut self, ranges: Sides<Range<usize>>) -> (Found, Tally, Vec<Later>) {
        let Sides { mut source, mut destination } = ranges;
        let listings = self.part.listings;
        let mut names = 0;
        while !self.march.is_cancelled()
            && self.found.failed.source.is_none()
            && self.found.failed.destination.is_none()
        {
            let order = match (source.is_empty(), destination.is_empty()) {
                (true, true) => break,
                (false, true) => Ordering::Less,
                (true, false) => Ordering::Greater,
                (false, false) => {
                    listings.source.key(source.start).cmp(listings.destination.key(destination.start))
                }
            };
            let ours = if order.is_le() { take_group(&listings.source, &mut source) } else { 0..0 };
            let theirs =
                if order.is_ge() { take_group(&listings.destination, &mut destination) } else { 0..0 };
            names += ours.len().max(theirs.len()) as u64;
            if ours.len() <= 1 && theirs.len() <= 1 {
                let name =
                    |listing: &'a Listing, group: Range<usize>| group.map(|at| listing.name(at)).next();
                self.name(name(&listings.source, ours), name(&listings.destination, theirs));
            } else {
                self.group(ours, theirs);
            }
        }
        self.march.terms.meter.add_entries(names);
        (self.found, self.tally, self.later)
    }

    /// Names that differ by case alone, where case does not count.
    fn group(&mut self, ours: Range<usize>, theirs: Range<usize>) {
        let listings = self.part.listings;
        if ours.len() <= 1 {
            // The destination tells them apart after all. The one that is spelled alike is the source's; with a source entry
            // in the group, no other one is known to be superfluous.
            let mine = ours.map(|at| listings.source.name(at)).next();
            let alike =
                theirs.clone().map(|at| listings.destination.name(at)).find(|name| Some(*name) == mine);
            for name in theirs.map(|at| listings.destination.name(at)).filter(|name| Some(*name) != alike) {
                if mine.is_some() {
                    self.keep(1);
                } else {
                    self.name(None, Some(name));
                }
            }
            if mine.is_some() {
                self.name(mine, alike);
            }
            return;
        }
        for name in ours.map(|at| listings.source.name(at)) {
            if let Some(meta) = self.look(Side::Source, name)
                && self.say(name, &meta) == Say::Selected
            {
                self.tally.count_source(&meta);
                self.found.push(name, Verdict::Conflict(Conflict::Collision), Some(meta), None);
            }
        }
        self.keep(theirs.len() as u64);
    }

    pub(super) fn keep(&mut self, count: u64) {
        self.found.kept += count;
        self.tally.counts.destination_kept += count;
    }

    /// One name: Twinlane's own ones are sorted out, the rest is looked at.
    fn name(&mut self, source: Option<&'a [u8]>, destination: Option<&'a [u8]>) {
        let mut source = source;
        if let Some(name) = source.filter(|name| is_hidden_in_source(self.directory, name)) {
            if StageName::parse(name).is_some() {
                self.tally.count_stage_name();
            }
            source = None;
        }
        if let Some(name) = destination {
            match destination_name(self.directory, name, self.march.terms.unfinished_runs) {
                DestinationName::Ordinary => {}
                DestinationName::Kept => return self.keep(1),
                DestinationName::StaleStage => return self.found.stale_stages.push(name.into()),
            }
        }
        if source.is_none() && self.march.terms.scope.extras == Extras::Pass {
            return self.keep(u64::from(destination.is_some()));
        }
        let seen = source.map(|name| self.see(Side::Source, name));
        let source = match seen {
            None => None,
            Some(Seen::There(meta)) => source.map(|name| (name, meta)),
            Some(Seen::Gone) => {
                self.tally.counts.vanished += 1;
                if let Some(name) = destination
                    && let Some(meta) = self.look(Side::Destination, name)
                {
                    self.found.push(name, Verdict::Vanished, None, Some(meta));
                }
                return;
            }
            Some(Seen::Failed) => return,
        };
        let destination = match destination.map(|name| (name, self.see(Side::Destination, name))) {
            None => None,
            Some((name, Seen::There(meta))) => Some((name, meta)),
            Some((_, Seen::Gone)) => {
                self.tally.counts.vanished += 1;
                None
            }
            Some((_, Seen::Failed)) => return,
        };
        if source.is_some() || destination.is_some() {
            self.pair(Pair { source, destination });
        }
    }

    fn look(&mut self, side: Side, name: &[u8]) -> Option<Meta> {
        match self.see(side, name) {
            Seen::There(meta) => Some(meta),
            Seen::Gone => {
                self.tally.counts.vanished += 1;
                None
            }
            Seen::Failed => None,
        }
    }

    fn see(&mut self, side: Side, name: &[u8]) -> Seen {
        let Some(directory) = self.part.seats.of(side) else { return Seen::Gone };
        match directory.stat(name) {
            Ok(meta) => Seen::There(meta),
            Err(error) => self.missed(side, name, &error),
        }
    }

    /// What an error on one name means.
    fn missed(&mut self, side: Side, name: &[u8], error: &io::Error) -> Seen {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => return Seen::Gone,
            // Without the right to search a directory, none of its entries can be looked at.
            io::ErrorKind::PermissionDenied => {
                let message = Some(format!("cannot look at what the directory holds: {error}"));
                match side {
                    Side::Source => self.found.failed.source = message,
                    Side::Destination => self.found.failed.destination = message,
                }
            }
            _ => self.problem(side, name, format!("cannot look at it: {error}")),
        }
        Seen::Failed
    }

    pub(super) fn problem(&mut self, side: Side, name: &[u8], message: String) {
        self.tally.problem(self.path(name), side, Extent::Entry, message);
    }

    fn path(&self, name: &[u8]) -> RelPath {
        self.part.node.path.join(name)
    }

    fn say(&self, name: &[u8], meta: &Meta) -> Say {
        match Say::from(self.part.node.gate.judge(name, meta)) {
            Say::Selected if !self.march.preserved.keeps(meta.kind) => Say::LeftOut,
            say => say,
        }
    }

    fn pair(&mut self, pair: Pair<'a>) {
        for (side, entry) in [(Side::Source, pair.source), (Side::Destination, pair.destination)] {
            if let Some((name, meta)) = entry
                && self.march.meets_other_root(side, &meta)
            {
                let path = self.path(name);
                return self.tally.nested(side, path);
            }
        }
        let Some((name, meta)) = pair.source.or(pair.destination) else { return };
        let metas = pair.metas();
        match self.say(name, &meta) {
            Say::Selected if [metas.source, metas.destination].into_iter().flatten().any(is_directory) => {
                self.directory(pair);
            }
            Say::Selected => self.entry(pair),
            Say::Through => self.passage(pair),
            Say::Excluded
                if pair.destination.is_some_and(|(name, meta)| self.is_cleared(name, meta.kind)) =>
            {
                self.clear(pair);
            }
            say @ (Say::Excluded | Say::LeftOut) => {
                if say == Say::LeftOut && pair.source.is_some() {
                    self.tally.count_left_out(meta.kind);
                }
                self.tally.count_unselected(metas.source.as_ref(), metas.destination.as_ref());
                self.found.kept += u64::from(pair.destination.is_some());
            }
        }
    }

    /// Whether an entry of the destination is to go because the patterns leave it out.
    pub(super) fn is_cleared(&self, name: &[u8], kind: Kind) -> bool {
        self.march.clears_excluded() && self.part.node.gate.is_excluded_by_patterns(name, kind)
    }

    /// What the patterns leave out goes from the destination as if the source had none.
    fn clear(&mut self, pair: Pair<'a>) {
        let metas = pair.metas();
        self.tally.count_unselected(metas.source.as_ref(), None);
        let alone = Pair { source: None, ..pair };
        if metas.destination.is_some_and(is_directory) { self.directory(alone) } else { self.entry(alone) }
    }

    /// A directory that is passed through to what is re-included below it.
    fn passage(&mut self, pair: Pair<'a>) {
        let metas = pair.metas();
        match (metas.source, metas.destination) {
            // What stands in the way is not the rule's to replace.
            (Some(_), Some(destination)) if !is_directory(destination) => {
                self.keep(1);
                self.conflict(&pair, Conflict::KeptBelow);
            }
            (None, Some(_)) if self.march.clears_excluded() => self.visit(&pair, false),
            (None, Some(_)) => {
                self.keep(1);
                self.visit(&pair, true);
            }
            _ => self.visit(&pair, true),
        }
    }

    fn visit(&mut self, pair: &Pair<'a>, through: bool) {
        let name = pair.name();
        let other = pair.destination.map(|(name, _)| name).filter(|other| *other != name);
        self.later.push(Later::Directory {
            name: name.into(),
            destination_name: other.map(Into::into),
            metas: pair.metas(),
            through,
        });
    }

    pub(super) fn conflict(&mut self, pair: &Pair<'a>, conflict: Conflict) {
        self.verdict(pair, Verdict::Conflict(conflict));
    }

    pub(super) fn verdict(&mut self, pair: &Pair<'a>, verdict: Verdict) {
        let Sides { source, destination } = pair.metas();
        let name =
            if self.directory.is_empty() { self.march.terms.scope.called(pair.name()) } else { pair.name() };
        self.found.push(name, verdict, source, destination);
    }

    /// Counts a selected name on the sides where it is.
    pub(super) fn count(&mut self, pair: &Pair<'a>) {
        if let Some((_, source)) = &pair.source {
            self.tally.count_source(source);
        }
        self.tally.counts.destination_entries += u64::from(pair.destination.is_some());
    }

    /// A selected name that is a directory on either side; which of them are entered. What is said of the directory itself is said when
    /// it is entered, for it may hold a marker that leaves it out.
    fn directory(&mut self, pair: Pair<'a>) {
        let metas = pair.metas();
        let source_directory = metas.source.filter(|meta| is_directory(*meta));
        let is_mount = |side: Side, meta: &Meta| is_mount(meta, self.part.node.metas.of(side).as_ref());
        let is_source_mount = source_directory.is_some_and(|meta| is_mount(Side::Source, &meta));
        let is_in_the_way =
            source_directory.is_none() || metas.destination.is_some_and(|meta| !is_directory(meta));
        let is_fixed =
            is_in_the_way && metas.destination.is_some_and(|meta| is_mount(Side::Destination, &meta));
        if is_fixed && metas.source.is_none() {
            return self.keep(1);
        }
        if is_fixed {
            self.keep(1);
            self.count(&Pair { destination: None, ..pair });
            return self.conflict(&pair, Conflict::MountPoint);
        }
        if !is_source_mount {
            return self.visit(&pair, false);
        }
        let path = self.path(pair.name());
        if !self.march.terms.filter.select().one_file_system {
            self.tally.source_mount(path);
            return self.visit(&pair, false);
        }
        self.tally.notice(Notice::MountPoint { path, entered: false });
        self.count(&pair);
        match metas.destination {
            None => self.verdict(&pair, Verdict::New),
            Some(destination) if is_directory(destination) => self.same_content(&pair),
            Some(_) => self.verdict(&pair, Verdict::Kind),
        }
    }
}

/// What looking at a name gave.
enum Seen {
    There(Meta),
    Gone,
    /// Said already.
    Failed,
}

/// The first names of a range that have one key; they leave the range.
fn take_group(listing: &Listing, range: &mut Range<usize>) -> Range<usize> {
    let start = range.start;
    let key = listing.key(start);
    range.start += 1;
    while range.start < range.end && listing.key(range.start) == key {
        range.start += 1;
    }
    start..range.start
}

fn is_directory(meta: Meta) -> bool {
    meta.kind == Kind::Directory
}

/// Whether an entry is the root of a mount, or lies on another file system than the directory that holds it (a btrfs subvolume; a mount before
/// Linux 5.8, where `statx` does not tell).
pub(super) fn is_mount(meta: &Meta, above: Option<&Meta>) -> bool {
    meta.mount_root || (is_directory(*meta) && above.is_some_and(|above| above.device != meta.device))
}
