//! Where everything that was found comes together, and is put in order.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::scan::Judgement;
use crate::value::{Kind, Meta, RelPath};

use super::{Counts, DirectoryDraft, Draft, Extent, Notice, Problem, Side};

/// What one work item found apart from findings; taken over at its end, so that items do not wait for each other at every entry.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) counts: Counts,
    problems: Vec<Problem>,
    notices: Vec<Notice>,
    source_mounts: Vec<RelPath>,
    nested: Option<(Side, RelPath)>,
    left_out: BTreeMap<Kind, u64>,
    stage_names: u64,
}

impl Tally {
    /// Counts a selected entry of the source.
    pub(super) fn count_source(&mut self, meta: &Meta) {
        self.counts.source_entries += 1;
        self.counts.source_files += u64::from(meta.kind != Kind::Directory);
        if meta.kind == Kind::File {
            self.counts.source_bytes = self.counts.source_bytes.saturating_add(meta.size);
        }
    }

    /// Counts an entry that the filters leave out, on the sides where it is.
    pub(super) fn count_unselected(&mut self, source: Option<&Meta>, destination: Option<&Meta>) {
        self.counts.source_excluded += u64::from(source.is_some());
        self.counts.destination_kept += u64::from(destination.is_some());
    }

    /// Counts a source's entry whose kind the rule does not keep.
    pub(super) fn count_left_out(&mut self, kind: Kind) {
        *self.left_out.entry(kind).or_default() += 1;
    }

    pub(super) fn count_stage_name(&mut self) {
        self.stage_names += 1;
    }

    pub(super) fn problem(&mut self, path: RelPath, side: Side, extent: Extent, message: String) {
        self.problems.push(Problem { path, side, message, extent });
    }

    pub(super) fn notice(&mut self, notice: Notice) {
        self.notices.push(notice);
    }

    pub(super) fn source_mount(&mut self, path: RelPath) {
        self.source_mounts.push(path.clone());
        self.notice(Notice::MountPoint { path, entered: true });
    }

    /// One root was met inside the other; of several, the first by path is told.
    pub(super) fn nested(&mut self, side: Side, path: RelPath) {
        self.nested = first(self.nested.take(), Some((side, path)));
    }

    fn take_over(&mut self, other: Self) {
        let (to, from) = (&mut self.counts, other.counts);
        to.source_entries += from.source_entries;
        to.source_files += from.source_files;
        to.source_bytes = to.source_bytes.saturating_add(from.source_bytes);
        to.destination_entries += from.destination_entries;
        to.same += from.same;
        to.source_excluded += from.source_excluded;
        to.destination_kept += from.destination_kept;
        to.vanished += from.vanished;
        self.problems.extend(other.problems);
        self.notices.extend(other.notices);
        self.source_mounts.extend(other.source_mounts);
        self.nested = first(self.nested.take(), other.nested);
        for (kind, count) in other.left_out {
            *self.left_out.entry(kind).or_default() += count;
        }
        self.stage_names += other.stage_names;
    }
}

fn first(a: Option<(Side, RelPath)>, b: Option<(Side, RelPath)>) -> Option<(Side, RelPath)> {
    a.into_iter().chain(b).min()
}

/// The draft while it is collected.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    all: Mutex<(Tally, Vec<DirectoryDraft>)>,
}

impl Gathering {
    pub(super) fn take_over(&self, tally: Tally) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).0.take_over(tally);
    }

    pub(super) fn directory(&self, draft: DirectoryDraft) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).1.push(draft);
    }

    /// Puts everything in order: the draft does not tell which thread was faster.
    pub(super) fn into_draft(self, roots: DirectoryDraft) -> Draft {
        let (tally, mut directories) = self.all.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Tally { counts, mut problems, mut notices, mut source_mounts, nested, left_out, stage_names } =
            tally;
        if !directories.iter().any(|directory| directory.path.is_root()) {
            directories.push(roots);
        }
        directories.sort_by(|a, b| a.path.cmp(&b.path));
        problems.sort_by(|a, b| (&a.path, a.side, &a.message).cmp(&(&b.path, b.side, &b.message)));
        let place = |notice: &Notice| match notice {
            Notice::MountPoint { path, .. } => (0, path.clone()),
            Notice::ForeignDestination { path } => (1, path.clone()),
            _ => (2, RelPath::root()),
        };
        notices.sort_by_cached_key(place);
        notices.extend(left_out.into_iter().map(|(kind, count)| Notice::LeftOut { kind, count }));
        if stage_names > 0 {
            notices.push(Notice::StageNames { count: stage_names });
        }
        source_mounts.sort();
        Draft { directories, problems, notices, source_mounts, counts, moves: Vec::new(), nested }
    }
}

/// Whether the rule speaks of an entry, after its filters and its kinds were asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Say {
    Selected,
    Excluded,
    Through,
    /// Its kind is not kept by `preserve`.
    LeftOut,
}

impl From<Judgement> for Say {
    fn from(judgement: Judgement) -> Self {
        match judgement {
            Judgement::Selected => Self::Selected,
            Judgement::Excluded => Self::Excluded,
            Judgement::Through => Self::Through,
        }
    }
}
