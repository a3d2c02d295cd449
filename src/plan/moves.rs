//! Files that got another name: a removal and a copy become one move.
//!
//! The search for them (see [`Move`]) says which content stands where; this says which of it is moved. Moves form chains: where `a` goes to
//! `b` and `b` to `c`, the end comes first. A name that gets other content never stands empty: its file has both names until the
//! new content comes, and two files that change places do so in one step. A ring of more than two has no such step for all of its names: its
//! smallest file is copied, and the rest is a chain.

use std::collections::{BTreeMap, BTreeSet};

use crate::compare::Move;
use crate::value::Meta;

use super::fate::{At, Deed, Fate, Timing};
use super::ground::Ground;
use super::judge::Judged;
use super::{ActionKind, Reason, Terms};

/// Makes moves of what was to be copied and removed.
pub(super) fn settle_moves(ground: &Ground, terms: &Terms<'_>, moves: &[Move], judged: &mut Judged) {
    let mut chains = Chains::default();
    for each in moves {
        if let (Some(from), Some(to)) = (ground.at(&each.from), ground.at(&each.to))
            && is_possible(ground, terms, judged, from, to)
        {
            chains.add(from, to);
        }
    }
    let swaps = if terms.place.exchange && terms.place.moves_over() { Swaps::InOneStep } else { Swaps::None };
    chains.break_rings(ground, swaps);
    let turns = chains.turns();
    for (&to, &from) in &chains.origins {
        let turn = turns.get(&to).copied().unwrap_or_default();
        let deed = Deed { timing: Timing::Turn(turn), ..Deed::new(ActionKind::Move, Reason::Moved) };
        judged.set(to, Fate::Act(deed.linked_to(from)));
        if matches!(judged.fate(from), Fate::Act(deed) if deed.kind == ActionKind::Remove) {
            judged.set(from, Fate::Leaves);
        }
    }
    say_emptied(ground, &chains, judged);
    judged.moved_on = chains.origins.into_values().collect();
}

/// Whether both names are dealt with as a move would deal with them, on one file system.
fn is_possible(ground: &Ground, terms: &Terms<'_>, judged: &Judged, from: At, to: At) -> bool {
    let plain = |at: At| match judged.fate(at) {
        Fate::Act(deed) if deed.leader.is_none() && deed.timing == Timing::InTurn => {
            Some((deed.kind, deed.reason))
        }
        _ => None,
    };
    let (Some((leaving, why)), Some((coming, because))) = (plain(from), plain(to)) else { return false };
    let over = terms.place.moves_over();
    let changes = |reason| matches!(reason, Reason::Newer(_) | Reason::Older(_));
    let leaves = leaving == ActionKind::Remove || (leaving == ActionKind::Replace && changes(why) && over);
    let comes = coming == ActionKind::Copy || (coming == ActionKind::Replace && changes(because) && over);
    let origin = ground.finding(from).destination;
    from != to
        && leaves
        && comes
        && origin.is_some_and(|origin| ground.device_of(to.directory) == Some(origin.device))
}

/// The directories that go because moves leave them empty say so.
fn say_emptied(ground: &Ground, chains: &Chains, judged: &mut Judged) {
    let mut seen: BTreeSet<usize> = BTreeSet::new();
    for from in chains.origins.values() {
        let mut directory = from.directory;
        while seen.insert(directory) {
            let Some(above) = ground.above(directory) else { break };
            if let Some(at) = above.finding.map(|finding| At { directory: above.directory, finding })
                && let Fate::Act(deed) = judged.fate(at)
                && deed.kind == ActionKind::Remove
            {
                judged.set(at, Fate::Act(Deed { reason: Reason::Emptied, ..deed }));
            }
            directory = above.directory;
        }
    }
}

/// Whether two files can change places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Swaps {
    InOneStep,
    None,
}

/// Which name gets which other name's file; every name gives once and gets once at most.
#[derive(Debug, Default)]
struct Chains {
    /// For each name that gets, the one that gives.
    origins: BTreeMap<At, At>,
    /// The other way round.
    targets: BTreeMap<At, At>,
}

impl Chains {
    fn add(&mut self, from: At, to: At) {
        if !self.origins.contains_key(&to) && !self.targets.contains_key(&from) {
            self.origins.insert(to, from);
            self.targets.insert(from, to);
        }
    }

    /// Leaves no ring but pairs that change places in one step.
    fn break_rings(&mut self, ground: &Ground, swaps: Swaps) {
        let mut seen: BTreeSet<At> = BTreeSet::new();
        let starts: Vec<At> = self.origins.keys().copied().collect();
        for start in starts {
            let mut ring = Vec::new();
            let mut at = start;
            while seen.insert(at) {
                ring.push(at);
                let Some(&origin) = self.origins.get(&at) else { break };
                at = origin;
            }
            // Chains end at a name that gets nothing, or where one that was looked at before goes on.
            if at != start || ring.len() < 2 || (ring.len() == 2 && swaps == Swaps::InOneStep) {
                continue;
            }
            let bytes = |at: &At| ground.finding(*at).source.map_or(0, |meta: Meta| meta.size);
            if let Some(copied) = ring.into_iter().min_by_key(|at| (bytes(at), *at))
                && let Some(from) = self.origins.remove(&copied)
            {
                self.targets.remove(&from);
            }
        }
    }

    /// For each name that gets a file, how many moves of its chain come before: those that take what it holds further on.
    fn turns(&self) -> BTreeMap<At, u32> {
        let mut turns = BTreeMap::new();
        let ends = self.origins.keys().filter(|to| !self.targets.contains_key(to));
        for end in ends {
            let (mut at, mut turn) = (*end, 0);
            while let Some(&origin) = self.origins.get(&at) {
                turns.insert(at, turn);
                turn += 1;
                at = origin;
            }
        }
        turns
    }
}
