//! The way from a draft to a plan, in order.

use crate::compare::{Draft, Notice, PowerCut};
use crate::job::{Durability, Limits, Rule};
use crate::value::{Place, RelPath};

use super::Plan;
use super::ground::Ground;
use super::judge::{Judged, judge, settle_passages};
use super::limits::check_limits;
use super::links::settle_links;
use super::moves::settle_moves;
use super::order::{Sealed, seal_actions};

/// Who runs, as far as it decides what can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// May give entries to others and make device nodes.
    Root,
    /// May not.
    Other,
}

/// What a draft is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// The destination's place.
    pub place: &'a Place,
    /// Who runs.
    pub user: User,
    /// The limits of this run: the rule's, with `--limit` put over them.
    pub limits: Limits,
    /// The base of percentages where this run sees a part of the destination only; else what was counted is taken.
    pub base: Option<u64>,
}

/// Seals a draft: the result depends on the draft's content and the terms, not on the order of its directories.
///
/// A directory that is not there yet and is only passed through needs a [`DirectoryDraft`](crate::compare::DirectoryDraft)
/// of its own, and so does its parent; a finding with an empty name in the root's draft speaks of the root itself.
#[must_use]
pub fn seal(draft: Draft, terms: &Terms<'_>) -> Plan {
    let Draft { directories, mut problems, notices, mut source_mounts, mut counts, moves, nested: _ } = draft;
    let ground = Ground::new(directories, &problems, &notices);
    let mut judged = judge(&ground, terms);
    settle_links(&ground, terms, &mut judged);
    settle_moves(&ground, terms, &moves, &mut judged);
    settle_passages(&ground, &mut judged);
    let Sealed { actions, directories, names, metas, links, totals, freed_bytes, overflow } =
        seal_actions(&ground, &judged, terms);
    let stale_stages = stale_stages(&ground);
    let mut notices = merged(notices, &judged);
    notices.extend(power_cut(terms).filter(|_| !actions.is_empty()));
    let mut conflicts = judged.conflicts;
    conflicts.sort_by(|a, b| a.path.cmp(&b.path));
    problems.extend(overflow);
    problems.sort_by(|a, b| (&a.path, a.side, &a.message).cmp(&(&b.path, b.side, &b.message)));
    source_mounts.sort();
    counts.destination_kept += judged.stayed;
    let limits = check_limits(terms, &totals, terms.base.unwrap_or(counts.destination_entries), freed_bytes);
    Plan {
        actions,
        directories,
        names,
        metas,
        links,
        totals,
        counts,
        limits,
        conflicts,
        problems,
        notices,
        stale_stages,
        source_mounts,
    }
}

fn stale_stages(ground: &Ground) -> Vec<RelPath> {
    let mut stages: Vec<RelPath> = ground
        .directories
        .iter()
        .flat_map(|directory| directory.stale_stages.iter().map(|name| directory.path.join(name)))
        .collect();
    stages.sort();
    stages
}

/// Why this run promises nothing of a power cut, where that is so.
fn power_cut(terms: &Terms<'_>) -> Option<Notice> {
    let is_ext = matches!(terms.place.file_system.as_str(), "ext2" | "ext3" | "ext4");
    let cause = if terms.rule.durability == Durability::None {
        PowerCut::Waived
    } else if is_ext && !terms.place.ordered {
        PowerCut::NoJournal
    } else {
        return None;
    };
    Some(Notice::PowerCut { cause })
}

/// Each kind of notice with one sum, in a fixed order.
fn merged(notices: Vec<Notice>, judged: &Judged) -> Vec<Notice> {
    let mut merged: Vec<Notice> = Vec::with_capacity(notices.len());
    let found = judged.unheld.iter().map(|(&what, &count)| Notice::Unheld { what, count });
    for notice in notices.into_iter().chain(found) {
        let twin = merged.iter_mut().find_map(|other| match (other, &notice) {
            (Notice::LeftOut { kind, count }, Notice::LeftOut { kind: same, count: more })
                if kind == same =>
            {
                Some((count, *more))
            }
            (Notice::StageNames { count }, Notice::StageNames { count: more }) => Some((count, *more)),
            (Notice::Unheld { what, count }, Notice::Unheld { what: same, count: more }) if what == same => {
                Some((count, *more))
            }
            _ => None,
        });
        match twin {
            Some((count, more)) => *count += more,
            None => merged.push(notice),
        }
    }
    merged.sort_by(|a, b| rank(a).cmp(&rank(b)));
    merged.dedup();
    merged
}

fn rank(notice: &Notice) -> (u8, Option<&RelPath>, u8) {
    match notice {
        Notice::MountPoint { path, entered } => (0, Some(path), u8::from(*entered)),
        Notice::ForeignDestination { path } => (1, Some(path), 0),
        Notice::LeftOut { kind, .. } => (2, None, *kind as u8),
        Notice::StageNames { .. } => (3, None, 0),
        Notice::Unheld { what, .. } => (4, None, *what as u8),
        Notice::PowerCut { cause } => (5, None, *cause as u8),
    }
}
