//! Gives each name of the draft its fate, from the root down.
//!
//! Links between names are not looked at here (see `links`), nor whether passed-through directories are needed.

use std::collections::{BTreeMap, BTreeSet};

use crate::compare::{Age, Conflict, Finding, Unheld, Verdict};
use crate::job::{Mode, Overwrite, Versions};
use crate::value::{Kind, RelPath};

use super::displaced::obstacle;
use super::fate::{At, Deed, Fate, Standing, State, Timing};
use super::ground::{Ground, has_directory, is_mount_point};
use super::room::{collisions, is_unholdable, unheld};
use super::{ActionKind, PlannedConflict, Reason, Terms};

/// All fates, and what was learnt on the way.
pub(super) struct Judged {
    /// For each directory, for each finding.
    pub(super) fates: Vec<Vec<Fate>>,
    /// For each directory.
    pub(super) states: Vec<State>,
    /// In no order.
    pub(super) conflicts: Vec<PlannedConflict>,
    /// What user or place cannot hold, with counts.
    pub(super) unheld: BTreeMap<Unheld, u64>,
    /// Extra directories that stay for what they hold.
    pub(super) stayed: u64,
    /// Names whose files get other names.
    pub(super) moved_on: BTreeSet<At>,
}

impl Judged {
    pub(super) fn fate(&self, at: At) -> Fate {
        self.fates.get(at.directory).and_then(|fates| fates.get(at.finding)).copied().unwrap_or(Fate::Still)
    }

    pub(super) fn set(&mut self, at: At, fate: Fate) {
        if let Some(place) = self.fates.get_mut(at.directory).and_then(|fates| fates.get_mut(at.finding)) {
            *place = fate;
        }
    }

    /// Every name that becomes an action, in order.
    pub(super) fn deeds(&self) -> impl Iterator<Item = (At, Deed)> {
        self.fates.iter().enumerate().flat_map(|(directory, fates)| {
            fates.iter().enumerate().filter_map(move |(finding, fate)| match fate {
                Fate::Act(deed) => Some((At { directory, finding }, *deed)),
                _ => None,
            })
        })
    }
}

/// Judges every name.
pub(super) fn judge(ground: &Ground, terms: &Terms<'_>) -> Judged {
    let count = ground.directories.len();
    let judged = Judged {
        fates: Vec::with_capacity(count),
        states: Vec::with_capacity(count),
        conflicts: Vec::new(),
        unheld: BTreeMap::new(),
        stayed: 0,
        moved_on: BTreeSet::new(),
    };
    let mut judge = Judge { ground, terms, judged };
    for (index, directory) in ground.directories.iter().enumerate() {
        let state = judge.state(index);
        judge.judged.states.push(state);
        let fates = match state.standing {
            Standing::Still | Standing::Displaced => vec![Fate::Still; directory.findings.len()],
            Standing::Live | Standing::Leaving | Standing::MakingWay => judge.directory(index, state),
        };
        judge.judged.fates.push(fates);
    }
    judge.judged
}

/// Marks the passed-through directories below which something is made; the others are not made.
pub(super) fn settle_passages(ground: &Ground, judged: &mut Judged) {
    let mut busy: Vec<bool> =
        judged.fates.iter().map(|fates| fates.iter().any(|fate| matches!(fate, Fate::Act(_)))).collect();
    for index in (0..ground.directories.len()).rev() {
        let Some(above) = ground.above(index) else { continue };
        if !busy.get(index).copied().unwrap_or_default() {
            continue;
        }
        if let Some(place) = busy.get_mut(above.directory) {
            *place = true;
        }
        let Some(finding) = above.finding else { continue };
        let at = At { directory: above.directory, finding };
        if judged.fate(at) == Fate::IfNeeded {
            judged.set(at, Fate::Act(Deed::new(ActionKind::Mkdir, Reason::Needed)));
        }
    }
}

struct Judge<'a> {
    ground: &'a Ground,
    terms: &'a Terms<'a>,
    judged: Judged,
}

impl Judge<'_> {
    /// How the entries of a directory are judged, from what was decided above it.
    fn state(&self, index: usize) -> State {
        let Some(directory) = self.ground.directories.get(index) else {
            return State { standing: Standing::Still, guarded: true, blind: true };
        };
        let (standing, inherited) = match self.ground.above(index) {
            None => (Standing::Live, None),
            Some(above) => {
                let state = self.judged.states.get(above.directory);
                let standing = state.map_or(Standing::Still, |state| state.standing);
                let next = above.finding.map(|finding| At { directory: above.directory, finding });
                (next.map_or(standing, |at| self.standing_below(at, standing)), state)
            }
        };
        // What is listed as a problem is asked for name by name.
        let blind = directory.destination.is_some() && !directory.destination_whole;
        let guarded = blind || (directory.source.is_some() && !directory.source_whole);
        State {
            standing,
            guarded: guarded || inherited.is_some_and(|state| state.guarded),
            blind: blind || inherited.is_some_and(|state| state.blind),
        }
    }

    fn standing_below(&self, at: At, standing: Standing) -> Standing {
        match (standing, self.judged.fate(at)) {
            (Standing::Still | Standing::Displaced, _) => standing,
            (_, Fate::Still) => Standing::Still,
            (Standing::MakingWay, _) => Standing::MakingWay,
            (_, Fate::Emptied) => Standing::Leaving,
            (_, Fate::Act(deed)) => match (deed.kind, deed.timing) {
                (ActionKind::Remove, _) => Standing::Leaving,
                (_, Timing::Late) => Standing::MakingWay,
                (ActionKind::Replace, Timing::InTurn) if has_directory(self.ground.finding(at)) => {
                    Standing::Displaced
                }
                _ => standing,
            },
            (_, Fate::Stay | Fate::IfNeeded | Fate::Leaves) => standing,
        }
    }

    fn directory(&mut self, index: usize, state: State) -> Vec<Fate> {
        let Some(directory) = self.ground.directories.get(index) else { return Vec::new() };
        let collides = collisions(&directory.findings, self.terms.place.case);
        let mut fates = Vec::with_capacity(directory.findings.len());
        for (finding, (found, collides)) in directory.findings.iter().zip(collides).enumerate() {
            let at = At { directory: index, finding };
            let fate = match state.standing {
                Standing::Live if found.name.is_empty() => own(found),
                Standing::Live if collides && found.source.is_some() => {
                    self.conflict(at, Conflict::Collision)
                }
                Standing::Live if collides => Fate::Still,
                Standing::Live => self.finding(at, found, state),
                _ => match found.verdict {
                    Verdict::Extra | Verdict::Excluded => self.extra(at, found, state),
                    Verdict::Conflict(conflict) => self.conflict(at, conflict),
                    _ => Fate::Still,
                },
            };
            fates.push(fate);
        }
        fates
    }

    fn finding(&mut self, at: At, found: &Finding, state: State) -> Fate {
        match found.verdict {
            Verdict::Same => Fate::Stay,
            Verdict::Vanished => Fate::Still,
            Verdict::Conflict(conflict) => self.conflict(at, conflict),
            Verdict::Metadata(difference) if difference.is_empty() => Fate::Stay,
            Verdict::Metadata(difference) => {
                Fate::Act(Deed::new(ActionKind::Metadata, Reason::Metadata(difference)))
            }
            Verdict::Extra | Verdict::Excluded => self.extra(at, found, state),
            Verdict::New => self.new_name(at, found, state),
            Verdict::Changed(difference, age) => {
                let reason = match age {
                    Age::Older => Reason::Older(difference),
                    Age::Newer | Age::Equal => Reason::Newer(difference),
                };
                match (self.terms.rule.overwrite, age) {
                    (Overwrite::Never, _) | (Overwrite::Newer, Age::Older) => Fate::Still,
                    _ => self.held_or(at, found, |_| Fate::Act(Deed::new(ActionKind::Replace, reason))),
                }
            }
            Verdict::Kind => match self.terms.rule.overwrite {
                Overwrite::Never => Fate::Still,
                Overwrite::Changed | Overwrite::Newer => {
                    self.held_or(at, found, |judge| judge.kind_change(at, found, state))
                }
            },
        }
    }

    fn new_name(&mut self, at: At, found: &Finding, state: State) -> Fate {
        let Some(source) = found.source else { return Fate::Still };
        let path = self.ground.path(at);
        if state.blind || self.ground.is_failed_in_destination(&path) || self.ground.is_failed_entry(&path) {
            return Fate::Still;
        }
        let kind = match source.kind {
            Kind::Directory => ActionKind::Mkdir,
            Kind::File => ActionKind::Copy,
            Kind::Symlink => ActionKind::Symlink,
            Kind::Fifo | Kind::Socket | Kind::CharDevice | Kind::BlockDevice => ActionKind::Special,
        };
        if kind == ActionKind::Mkdir && self.is_through(&path) {
            return self.held_or(at, found, |_| Fate::IfNeeded);
        }
        self.held_or(at, found, |_| Fate::Act(Deed::new(kind, Reason::New)))
    }

    fn kind_change(&mut self, at: At, found: &Finding, state: State) -> Fate {
        let path = self.ground.path(at);
        if self.is_guarded(&path, state) {
            return self.conflict(at, Conflict::Unread);
        }
        if is_mount_point(found) {
            return self.conflict(at, Conflict::MountPoint);
        }
        // The rule does not speak of this name, so the destination's entry is not its to replace.
        if self.is_through(&path) {
            return self.conflict(at, Conflict::KeptBelow);
        }
        let deed = Deed::new(ActionKind::Replace, Reason::Kind);
        if !has_directory(found) {
            return Fate::Act(deed);
        }
        match (obstacle(self.ground, &path), &self.terms.rule.versions, self.terms.rule.mode) {
            (Some(conflict), _, _) => self.conflict(at, conflict),
            (None, Versions::Keep(_), _) => Fate::Act(deed),
            (None, Versions::None, Mode::Mirror) => Fate::Act(Deed::late(ActionKind::Replace, Reason::Kind)),
            (None, Versions::None, Mode::Backup) => self.conflict(at, Conflict::Kind),
        }
    }

    fn extra(&mut self, at: At, found: &Finding, state: State) -> Fate {
        if self.terms.rule.mode == Mode::Backup {
            return Fate::Still;
        }
        let path = self.ground.path(at);
        if self.is_guarded(&path, state) {
            return Fate::Still;
        }
        if is_mount_point(found) {
            return self.conflict(at, Conflict::MountPoint);
        }
        let reason = if found.verdict == Verdict::Excluded { Reason::Excluded } else { Reason::Extra };
        let remove = Fate::Act(Deed::new(ActionKind::Remove, reason));
        if !has_directory(found) {
            return remove;
        }
        match obstacle(self.ground, &path) {
            None => remove,
            // Content that the filters leave out keeps the directory at every run: no reason to fail each time.
            Some(Conflict::KeptBelow) => {
                self.judged.stayed += 1;
                Fate::Emptied
            }
            Some(conflict) => {
                self.conflict(at, conflict);
                Fate::Emptied
            }
        }
    }

    fn is_guarded(&self, path: &RelPath, state: State) -> bool {
        let here = self.ground.directory(path);
        state.guarded
            || self.ground.is_failed(path)
            || self.ground.is_failed_entry(path)
            || here.is_some_and(|here| here.source.is_some() && !here.source_whole)
    }

    fn is_through(&self, path: &RelPath) -> bool {
        self.ground.directory(path).is_some_and(|directory| directory.through)
    }

    /// The fate given by `otherwise`, unless the place cannot hold the source's entry.
    fn held_or(&mut self, at: At, found: &Finding, otherwise: impl FnOnce(&mut Self) -> Fate) -> Fate {
        if is_unholdable(found, self.terms.place) {
            return self.conflict(at, Conflict::Unholdable);
        }
        if let Some(what) = unheld(found, self.terms) {
            *self.judged.unheld.entry(what).or_default() += 1;
            return Fate::Still;
        }
        otherwise(self)
    }

    fn conflict(&mut self, at: At, conflict: Conflict) -> Fate {
        self.judged.conflicts.push(PlannedConflict { path: self.ground.path(at), conflict });
        Fate::Still
    }
}

/// The fate of a directory that a finding without a name speaks of: the root.
fn own(found: &Finding) -> Fate {
    match found.verdict {
        Verdict::Metadata(difference) if !difference.is_empty() => {
            Fate::Act(Deed::new(ActionKind::Metadata, Reason::Metadata(difference)))
        }
        Verdict::New => Fate::Act(Deed::new(ActionKind::Mkdir, Reason::New)),
        _ => Fate::Stay,
    }
}
