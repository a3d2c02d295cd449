//! Names that share inodes: hard links are made where the source has them, and broken where it has not.
//!
//! Looks only at files with several names on either side. For every inode of the source it finds the name whose inode
//! the others get (the leader), and for every inode of the destination the one file of the source that may keep it.

use crate::compare::{Unheld, Verdict};
use crate::job::Overwrite;
use crate::value::{Kind, Meta};

use super::fate::{At, Deed, Fate, Timing};
use super::ground::Ground;
use super::judge::Judged;
use super::{ActionKind, Reason, Terms};

/// Device and inode.
type Inode = (u64, u64);

fn inode(meta: &Meta) -> Inode {
    (meta.device, meta.inode)
}

/// A name of a file that shares an inode on one of both sides.
#[derive(Clone, Copy, Debug)]
struct Member {
    at: At,
    source: Inode,
    several_in_source: bool,
    /// Its inode in the destination, where content and name stay as they are.
    keeps: Option<Inode>,
    /// Names of that inode, known and unknown.
    names: u32,
    /// Its metadata is to be mended.
    mends: bool,
    late: bool,
}

/// Settles the fates of all names that share inodes.
pub(super) fn settle_links(ground: &Ground, terms: &Terms<'_>, judged: &mut Judged) {
    let mut members = members(ground, judged);
    let links = match (terms.rule.preserve.hard_links, terms.place.hard_links) {
        (true, true) => Links::Kept,
        (true, false) => {
            note_unheld(&mut members, judged);
            Links::Loose
        }
        (false, _) => Links::Loose,
    };
    let retaining = retaining(&mut members, links);
    members.sort_by_key(|member| (member.source, member.at));
    let settle = Settle { existing: terms.rule.overwrite, retaining: &retaining };
    for group in members.chunk_by(|a, b| a.source == b.source) {
        match links {
            Links::Kept => settle.group(group, judged),
            Links::Loose => settle.loose(group, judged),
        }
    }
}

/// Whether names of one source file become names of one file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Links {
    Kept,
    Loose,
}

fn members(ground: &Ground, judged: &Judged) -> Vec<Member> {
    let mut members = Vec::new();
    for (directory, draft) in ground.directories.iter().enumerate() {
        for (finding, found) in draft.findings.iter().enumerate() {
            let at = At { directory, finding };
            let Some(source) = found.source.filter(|meta| meta.kind == Kind::File) else { continue };
            let destination = found.destination.filter(|meta| meta.kind == Kind::File);
            if source.links < 2 && destination.is_none_or(|meta| meta.links < 2) {
                continue;
            }
            let (stays, mends, late) = match judged.fate(at) {
                Fate::Stay if found.verdict == Verdict::Same => (true, false, false),
                Fate::Act(deed) if deed.kind == ActionKind::Metadata => (true, true, false),
                Fate::Act(deed) => (false, false, deed.timing == Timing::Late),
                _ => continue,
            };
            members.push(Member {
                at,
                source: inode(&source),
                several_in_source: source.links > 1,
                keeps: destination.filter(|_| stays).as_ref().map(inode),
                names: destination.map_or(0, |meta| meta.links),
                mends,
                late,
            });
        }
    }
    members
}

/// Counts the names that would be links where the place had any.
fn note_unheld(members: &mut [Member], judged: &mut Judged) {
    members.sort_by_key(|member| (member.source, member.at));
    let groups = members.chunk_by(|a, b| a.source == b.source && a.several_in_source);
    let count: u64 = groups.map(|group| group.len() as u64 - 1).sum();
    if count > 0 {
        *judged.unheld.entry(Unheld::HardLinks).or_default() += count;
    }
}

/// The names that may keep their inode of the destination, sorted.
///
/// An inode that files of several sources share stays with the first of them that needs nothing mended. One whose
/// metadata is to be mended stays only where no other name would see that: an unknown one, one of another file, or one
/// that becomes a version.
fn retaining(members: &mut [Member], links: Links) -> Vec<At> {
    members.sort_by_key(|member| (member.keeps, member.source, member.at));
    let keeping = members.iter().position(|member| member.keeps.is_some()).unwrap_or(members.len());
    let mut retaining = Vec::new();
    for shared in members.get(keeping..).unwrap_or_default().chunk_by(|a, b| a.keeps == b.keeps) {
        let files = || shared.chunk_by(|a, b| a.source == b.source);
        let names = shared.iter().map(|member| member.names).max().unwrap_or_default();
        let is_safe = |file: &&[Member]| {
            let mends = file.iter().any(|member| member.mends);
            !mends || names as usize <= file.len()
        };
        let safe = files().filter(is_safe);
        let first = |file: &&[Member]| file.first().map(|member| member.at);
        let kept: Vec<&[Member]> = match links {
            Links::Kept => safe.min_by_key(first).into_iter().collect(),
            Links::Loose => safe.collect(),
        };
        retaining.extend(kept.into_iter().flatten().map(|member| member.at));
    }
    retaining.sort();
    retaining
}

struct Settle<'a> {
    existing: Overwrite,
    retaining: &'a [At],
}

impl Settle<'_> {
    /// Settles the names of one file, ordered as the plan is.
    fn group(&self, group: &[Member], judged: &mut Judged) {
        let retained = group.iter().filter(|member| self.retains(member));
        if let Some(leader) = retained.min_by_key(|member| (member.mends, member.at)) {
            for member in group.iter().filter(|member| member.at != leader.at) {
                if member.keeps == leader.keeps {
                    judged.set(member.at, Fate::Stay);
                } else {
                    self.link(member, leader.at, judged);
                }
            }
            return;
        }
        let made = group.iter().filter(|member| member.keeps.is_none() || self.may_replace(member));
        let Some(leader) = made.min_by_key(|member| (member.late, member.at)) else { return };
        if leader.keeps.is_some() {
            judged.set(leader.at, Fate::Act(Deed::new(ActionKind::Replace, Reason::LinkBroken)));
        }
        for member in group.iter().filter(|member| member.at != leader.at) {
            self.link(member, leader.at, judged);
        }
    }

    /// Settles the names of one file where nothing is linked: only what is shared is not mended in place.
    fn loose(&self, group: &[Member], judged: &mut Judged) {
        let mut mended = Vec::new();
        for member in group.iter().filter(|member| member.mends) {
            if !self.retains(member) {
                judged.set(member.at, Fate::Act(Deed::new(ActionKind::Replace, Reason::LinkBroken)));
            } else if mended.contains(&member.keeps) {
                judged.set(member.at, Fate::Stay);
            } else {
                mended.push(member.keeps);
            }
        }
    }

    fn retains(&self, member: &Member) -> bool {
        self.retaining.binary_search(&member.at).is_ok()
    }

    /// Whether a name whose content is right may get another inode. Mending what others share needs one always.
    fn may_replace(&self, member: &Member) -> bool {
        member.mends || self.existing != Overwrite::Never
    }

    /// Gives a name the inode of its leader.
    fn link(&self, member: &Member, leader: At, judged: &mut Judged) {
        let deed = match judged.fate(member.at) {
            Fate::Act(deed) if deed.kind == ActionKind::Copy => Deed::new(ActionKind::Link, Reason::HardLink),
            Fate::Act(deed) if deed.kind == ActionKind::Replace => deed,
            _ if !self.may_replace(member) => return,
            _ if self.retains(member) => Deed::new(ActionKind::Replace, Reason::HardLink),
            _ => Deed::new(ActionKind::Replace, Reason::LinkBroken),
        };
        judged.set(member.at, Fate::Act(deed.linked_to(leader)));
    }
}
