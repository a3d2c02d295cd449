//! Numbers and sorts: fates become the plan's actions and tables.

use std::collections::HashMap;

use crate::compare::{Extent, Finding, Problem, Side};
use crate::job::{Remove, Versions};
use crate::value::{Kind, Meta, RelPath};

use super::fate::{At, Deed, Standing, Timing};
use super::ground::{Ground, has_directory};
use super::judge::Judged;
use super::{Action, ActionKind, DirectoryId, NONE, PlannedDirectory, Reason, Terms, Totals};

/// The parts of a plan that come from actions.
pub(super) struct Sealed {
    pub(super) actions: Vec<Action>,
    pub(super) directories: Vec<PlannedDirectory>,
    pub(super) names: Vec<u8>,
    pub(super) metas: Vec<Meta>,
    pub(super) links: Vec<RelPath>,
    pub(super) totals: Totals,
    /// Bytes that removals free before anything is written.
    pub(super) freed_bytes: u64,
    /// Said where the tables were full: what did not fit is left for the next run.
    pub(super) overflow: Option<Problem>,
}

/// The phases of a run in order, see [`Plan::actions`](super::Plan::actions).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// Removals of `remove: before`.
    Before,
    Directories,
    Moves,
    Contents,
    Links,
    Others,
    Metadata,
    Removals,
    Late,
    DirectoryMetadata,
}

impl Phase {
    fn of(deed: Deed, finding: &Finding, remove: Remove) -> Self {
        let source_kind = finding.source.map(|meta| meta.kind);
        match deed.kind {
            // It is empty only after the moves.
            ActionKind::Remove if remove == Remove::Before && deed.reason != Reason::Emptied => Self::Before,
            ActionKind::Remove => Self::Removals,
            ActionKind::Mkdir => Self::Directories,
            ActionKind::Move => Self::Moves,
            ActionKind::Link => Self::Links,
            ActionKind::Symlink | ActionKind::Special => Self::Others,
            ActionKind::Metadata if source_kind == Some(Kind::Directory) => Self::DirectoryMetadata,
            ActionKind::Metadata => Self::Metadata,
            ActionKind::Replace if deed.timing == Timing::Late => Self::Late,
            ActionKind::Replace if deed.leader.is_some() => Self::Links,
            ActionKind::Replace if source_kind == Some(Kind::Directory) => Self::Directories,
            ActionKind::Replace if source_kind != Some(Kind::File) => Self::Others,
            ActionKind::Copy | ActionKind::Replace => Self::Contents,
        }
    }

    /// Whether what lies below comes before what lies above.
    fn goes_up(self) -> bool {
        matches!(self, Self::Before | Self::Removals | Self::DirectoryMetadata)
    }
}

/// Makes the plan's actions and tables.
pub(super) fn seal_actions(ground: &Ground, judged: &Judged, terms: &Terms<'_>) -> Sealed {
    let mut steps: Vec<(Phase, At, Deed)> = judged
        .deeds()
        .map(|(at, deed)| (Phase::of(deed, ground.finding(at), terms.rule.remove), at, deed))
        .collect();
    steps.sort_by(|(phase, at, deed), (other_phase, other_at, other_deed)| {
        let by_path = if phase.goes_up() { other_at.cmp(at) } else { at.cmp(other_at) };
        phase.cmp(other_phase).then(deed.turn().cmp(&other_deed.turn())).then(by_path)
    });
    let mut tables = Tables::new(ground, &steps);
    for (_, at, deed) in steps {
        tables.push(at, deed);
        tables.count(at, deed, judged, terms);
    }
    // An action for which a table had no room is a problem, and no action.
    tables.sealed.totals.actions = tables.sealed.actions.len() as u64;
    tables.sealed
}

struct Tables<'a> {
    ground: &'a Ground,
    sealed: Sealed,
    /// For each directory of the ground its number, where an action names it.
    numbers: Vec<u32>,
    /// Where a leader's path stands in [`Sealed::links`].
    leaders: HashMap<At, u32>,
}

impl<'a> Tables<'a> {
    fn new(ground: &'a Ground, steps: &[(Phase, At, Deed)]) -> Self {
        let mut numbers = vec![NONE; ground.directories.len()];
        let root = At { directory: 0, finding: 0 };
        // Names are taken from the directories that moves take files from.
        let origins = steps.iter().filter(|(phase, ..)| *phase == Phase::Moves);
        let origins = origins.filter_map(|(_, _, deed)| deed.leader);
        for at in steps.iter().map(|(_, at, _)| *at).chain(origins).chain([root]) {
            if let Some(number) = numbers.get_mut(at.directory) {
                *number = 0;
            }
        }
        // Clearing a stage file changes its directory's time, which is to be mended.
        for (number, directory) in numbers.iter_mut().zip(&ground.directories) {
            if !directory.stale_stages.is_empty() {
                *number = 0;
            }
        }
        let mut directories = Vec::new();
        for (number, directory) in
            numbers.iter_mut().zip(&ground.directories).filter(|(number, _)| **number == 0)
        {
            *number = u32::try_from(directories.len()).unwrap_or(NONE);
            directories.push(PlannedDirectory {
                path: directory.path.clone(),
                source: directory.source,
                destination: directory.destination,
            });
        }
        let sealed = Sealed {
            actions: Vec::with_capacity(steps.len()),
            directories,
            names: Vec::new(),
            metas: Vec::new(),
            links: Vec::new(),
            totals: Totals::default(),
            freed_bytes: 0,
            overflow: None,
        };
        Self { ground, sealed, numbers, leaders: HashMap::new() }
    }

    fn push(&mut self, at: At, deed: Deed) {
        let finding = self.ground.finding(at);
        let Some(action) = self.action(at, deed, finding) else {
            self.sealed.overflow = Some(Problem {
                path: RelPath::root(),
                side: Side::Source,
                message: "there is more to do than one plan can hold; the next run does the rest".to_owned(),
                extent: Extent::Entry,
            });
            return;
        };
        self.sealed.actions.push(action);
    }

    /// `None` where a table is full.
    fn action(&mut self, at: At, deed: Deed, finding: &Finding) -> Option<Action> {
        let number = self.numbers.get(at.directory).copied().filter(|&number| number != NONE)?;
        let name_start = u32::try_from(self.sealed.names.len()).ok()?;
        let name_bytes = u16::try_from(finding.name.len()).ok()?;
        let source = self.meta(finding.source)?;
        let destination = self.meta(finding.destination)?;
        let link = match deed.leader {
            Some(leader) => self.link(leader)?,
            None => NONE,
        };
        let origin = match deed.leader.filter(|_| deed.kind == ActionKind::Move) {
            Some(origin) => self.meta(self.ground.finding(origin).destination)?,
            None => NONE,
        };
        let of = if deed.kind == ActionKind::Remove { finding.destination } else { finding.source };
        self.sealed.names.extend_from_slice(&finding.name);
        Some(Action {
            kind: deed.kind,
            entry: of?.kind,
            reason: deed.reason,
            directory: DirectoryId(number),
            name_start,
            name_bytes,
            source,
            destination,
            link,
            origin,
        })
    }

    fn meta(&mut self, meta: Option<Meta>) -> Option<u32> {
        let Some(meta) = meta else { return Some(NONE) };
        let index = u32::try_from(self.sealed.metas.len()).ok().filter(|&index| index != NONE)?;
        self.sealed.metas.push(meta);
        Some(index)
    }

    fn link(&mut self, leader: At) -> Option<u32> {
        if let Some(&index) = self.leaders.get(&leader) {
            return Some(index);
        }
        let index = u32::try_from(self.sealed.links.len()).ok().filter(|&index| index != NONE)?;
        self.sealed.links.push(self.ground.path(leader));
        self.leaders.insert(leader, index);
        Some(index)
    }

    fn count(&mut self, at: At, deed: Deed, judged: &Judged, terms: &Terms<'_>) {
        let finding = self.ground.finding(at);
        let totals = &mut self.sealed.totals;
        totals.count(deed.kind);
        let writes = matches!(deed.kind, ActionKind::Copy | ActionKind::Replace) && deed.leader.is_none();
        if let Some(source) = finding.source.filter(|meta| writes && meta.kind == Kind::File) {
            totals.bytes += source.size;
            totals.allocated +=
                if terms.rule.preserve.sparse { source.allocated } else { source.allocated.max(source.size) };
        }
        match deed.kind {
            ActionKind::Move => {
                let displaces = finding.destination.is_some() && !judged.moved_on.contains(&at);
                totals.replaced_entries += u64::from(displaces);
            }
            ActionKind::Replace => {
                totals.replaced_entries += u64::from(!judged.moved_on.contains(&at));
                if has_directory(finding) {
                    let whole = self.ground.path(at);
                    let moved_out =
                        judged.moved_on.iter().filter(|from| self.ground.path(**from).is_within(&whole));
                    let entries = self.ground.sums_within(&whole).entries;
                    totals.replaced_entries += entries.saturating_sub(moved_out.count() as u64);
                }
            }
            ActionKind::Remove => {
                let standing = judged.states.get(at.directory).map(|state| state.standing);
                totals.removed_entries += u64::from(standing != Some(Standing::MakingWay));
                let first = terms.rule.remove == Remove::Before && terms.rule.versions == Versions::None;
                let freed =
                    finding.destination.filter(|meta| first && meta.links < 2 && meta.kind == Kind::File);
                self.sealed.freed_bytes += freed.map_or(0, |meta| meta.allocated);
            }
            _ => {}
        }
    }
}
