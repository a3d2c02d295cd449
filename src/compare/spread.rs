//! The names of one directory cut into work items, and the work that each of them leaves behind.

use std::ops::Range;
use std::sync::Arc;

use rayon::Scope;

use crate::scan::Listing;

use super::Side;
use super::digest::compare_content;
use super::march::March;
use super::merge::{Later, Merge, Part};
use super::node::{Found, Node};
use super::sides::Sides;
use super::visit::{Opened, Step, visit};

/// Names that one work item goes through, of both sides together: enough that handing items out costs nothing, and few enough that the
/// subdirectories found in one of them, which wait in memory, take less than a megabyte.
const NAMES_PER_ITEM: usize = 2048;

/// Listings of both sides, empty where there is no directory.
type Listings = Sides<Listing>;

/// Compares all names of a directory.
pub(super) fn spread<'s>(
    scope: &Scope<'s>,
    march: &'s March<'s>,
    node: &Arc<Node<'s>>,
    opened: Sides<Option<Opened<'s>>>,
) {
    let split = |opened: Option<Opened<'s>>| match opened {
        Some(Opened { directory, listing, .. }) => (Some(directory), listing),
        None => (None, Listing::default()),
    };
    let (source, source_names) = split(opened.source);
    let (destination, destination_names) = split(opened.destination);
    let listings = Sides { source: source_names, destination: destination_names };
    let whole = Sides { source: 0..listings.source.len(), destination: 0..listings.destination.len() };
    if whole.source.len() + whole.destination.len() <= NAMES_PER_ITEM {
        let seats = Sides { source: source.as_deref(), destination: destination.as_deref() };
        let part = Part { node, seats, listings: &listings };
        let later = compare(march, &part, whole);
        drop(listings);
        if !later.is_empty() {
            node.keep(Side::Source, source);
            node.keep(Side::Destination, destination);
        }
        hand_on(scope, march, node, later);
        return;
    }
    node.keep(Side::Source, source);
    node.keep(Side::Destination, destination);
    let listings = Arc::new(listings);
    for ranges in cut(&listings, whole, NAMES_PER_ITEM) {
        let (node, listings) = (Arc::clone(node), Arc::clone(&listings));
        scope.spawn(move |scope| compare_part(scope, march, &node, &listings, ranges));
    }
}

fn compare_part<'s>(
    scope: &Scope<'s>,
    march: &'s March<'s>,
    node: &Arc<Node<'s>>,
    listings: &Listings,
    ranges: Sides<Range<usize>>,
) {
    let mut failed = Sides::default();
    let seat = |side: Side, failed: &mut Option<String>| {
        node.metas.of(side).as_ref()?;
        node.seat(side)
            .map_err(|error| *failed = Some(format!("cannot open the directory again: {error}")))
            .ok()
    };
    let source = seat(Side::Source, &mut failed.source);
    let destination = seat(Side::Destination, &mut failed.destination);
    if failed.source.is_some() || failed.destination.is_some() {
        node.add(Found { failed, ..Found::default() });
        return;
    }
    let seats = Sides { source: source.as_deref(), destination: destination.as_deref() };
    let later = compare(march, &Part { node, seats, listings }, ranges);
    hand_on(scope, march, node, later);
}

fn compare(march: &March<'_>, part: &Part<'_, '_>, ranges: Sides<Range<usize>>) -> Vec<Later> {
    let (found, tally, later) = Merge::new(march, part).run(ranges);
    part.node.add(found);
    march.gathering.take_over(tally);
    later
}

fn hand_on<'s>(scope: &Scope<'s>, march: &'s March<'s>, node: &Arc<Node<'s>>, later: Vec<Later>) {
    for later in later {
        let above = Arc::clone(node);
        match later {
            Later::Directory { name, destination_name, metas, through } => {
                let step = Step { above: Some(above), name, destination_name, metas, through };
                scope.spawn(move |scope| visit(scope, march, step));
            }
            Later::Content(files) => compare_content(scope, march, above, files),
        }
    }
}

/// Cuts both listings at the same keys, into pieces of at most `names_max` names of both together. Names of one key stay in one piece,
/// whatever their number.
fn cut(listings: &Listings, whole: Sides<Range<usize>>, names_max: usize) -> Vec<Sides<Range<usize>>> {
    let mut pieces = Vec::new();
    let mut left = vec![whole];
    while let Some(Sides { source, destination }) = left.pop() {
        if source.len() + destination.len() <= names_max {
            pieces.push(Sides { source, destination });
            continue;
        }
        let middle = |range: &Range<usize>| range.start + range.len() / 2;
        let key = if source.len() >= destination.len() {
            listings.source.key(middle(&source))
        } else {
            listings.destination.key(middle(&destination))
        };
        let at = Sides {
            source: listings.source.lower_bound(source.clone(), key),
            destination: listings.destination.lower_bound(destination.clone(), key),
        };
        if at.source == source.start && at.destination == destination.start {
            pieces.push(Sides { source, destination });
            continue;
        }
        left.push(Sides { source: at.source..source.end, destination: at.destination..destination.end });
        left.push(Sides { source: source.start..at.source, destination: destination.start..at.destination });
    }
    pieces
}
