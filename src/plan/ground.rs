//! The draft in order, with the answers to questions about whole subtrees.
//!
//! Directories are sorted by path, so that a subtree is one range of them; sums over ranges come from running totals.
//! It decides nothing.

use std::ops::Range;

use crate::compare::{Conflict, DirectoryDraft, Extent, Finding, Notice, Problem, Side, Verdict};
use crate::value::{Kind, RelPath};

use super::fate::At;

/// Running totals over directories in order; the difference of two is the sum over what lies between them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    /// Findings.
    pub(super) entries: u64,
    /// Entries that the rule does not speak of, and directories that are only passed through.
    pub(super) kept: u64,
    /// Mount points.
    pub(super) mounts: u64,
    /// Destination directories that were not read whole.
    pub(super) unread: u64,
    /// Findings that are neither extra nor gone: they will not be removed.
    pub(super) staying: u64,
}

/// The nearest directory of the draft above another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Above {
    /// Its index.
    pub(super) directory: usize,
    /// Its finding about the next name on the way down, where it has one.
    pub(super) finding: Option<usize>,
}

/// The ordered draft.
pub(super) struct Ground {
    pub(super) directories: Vec<DirectoryDraft>,
    above: Vec<Option<Above>>,
    running: Vec<Sums>,
    /// Subtrees that could not be read, on either side; sorted.
    failed: Vec<RelPath>,
    /// Of these, those of the destination.
    failed_destination: Vec<RelPath>,
    /// Single entries that could not be looked at, on either side; sorted.
    failed_entries: Vec<RelPath>,
    foreign: Vec<RelPath>,
}

impl Ground {
    /// Sorts, and gives each passed-through directory that is not there yet a finding in its parent.
    pub(super) fn new(
        mut directories: Vec<DirectoryDraft>,
        problems: &[Problem],
        notices: &[Notice],
    ) -> Self {
        add_missing_parents(&mut directories);
        directories.sort_by(|a, b| a.path.cmp(&b.path));
        for directory in &mut directories {
            directory.findings.sort_by(|a, b| a.name.cmp(&b.name));
        }
        add_passages(&mut directories);
        let failed = |wanted: &dyn Fn(&Problem) -> bool| {
            sorted(
                problems
                    .iter()
                    .filter(|problem| wanted(problem))
                    .map(|problem| problem.path.clone())
                    .collect(),
            )
        };
        let subtree = |problem: &Problem| problem.extent == Extent::Subtree;
        Self {
            above: find_above(&directories),
            running: running_sums(&directories),
            failed: failed(&subtree),
            failed_destination: failed(&|problem| subtree(problem) && problem.side == Side::Destination),
            failed_entries: failed(&|problem| problem.extent == Extent::Entry),
            foreign: sorted(
                notices
                    .iter()
                    .filter_map(|notice| match notice {
                        Notice::ForeignDestination { path } => Some(path.clone()),
                        _ => None,
                    })
                    .collect(),
            ),
            directories,
        }
    }

    #[expect(clippy::indexing_slicing, reason = "an `At` is only made from indices of this ground")]
    pub(super) fn finding(&self, at: At) -> &Finding {
        &self.directories[at.directory].findings[at.finding]
    }

    /// The whole path of a name; an empty name is its directory itself.
    #[expect(clippy::indexing_slicing, reason = "an `At` is only made from indices of this ground")]
    pub(super) fn path(&self, at: At) -> RelPath {
        let directory = &self.directories[at.directory];
        match &*self.finding(at).name {
            b"" => directory.path.clone(),
            name => directory.path.join(name),
        }
    }

    /// The nearest directory above; `None` for the root.
    pub(super) fn above(&self, directory: usize) -> Option<Above> {
        self.above.get(directory).copied().flatten()
    }

    /// The directory of exactly this path.
    pub(super) fn directory(&self, path: &RelPath) -> Option<&DirectoryDraft> {
        let index = self.directories.binary_search_by(|directory| directory.path.cmp(path)).ok()?;
        self.directories.get(index)
    }

    /// The name of exactly this path.
    pub(super) fn at(&self, path: &RelPath) -> Option<At> {
        let parent = path.parent()?;
        let directory = self.directories.binary_search_by(|directory| directory.path.cmp(&parent)).ok()?;
        let findings = &self.directories.get(directory)?.findings;
        let finding = findings.binary_search_by(|finding| (*finding.name).cmp(path.name())).ok()?;
        Some(At { directory, finding })
    }

    /// The file system of the destination on which a directory is, or is going to be made.
    pub(super) fn device_of(&self, directory: usize) -> Option<u64> {
        let mut next = Some(directory);
        while let Some(index) = next {
            if let Some(destination) = self.directories.get(index)?.destination {
                return Some(destination.device);
            }
            next = self.above(index).map(|above| above.directory);
        }
        None
    }

    /// Sums over a directory and all below it.
    pub(super) fn sums_within(&self, path: &RelPath) -> Sums {
        let range = range_within(&self.directories, path, |directory| &directory.path);
        let at = |index: usize| self.running.get(index).copied().unwrap_or_default();
        let (from, to) = (at(range.start), at(range.end));
        Sums {
            entries: to.entries - from.entries,
            kept: to.kept - from.kept,
            mounts: to.mounts - from.mounts,
            unread: to.unread - from.unread,
            staying: to.staying - from.staying,
        }
    }

    /// Whether a path lies in a subtree that could not be read on either side.
    pub(super) fn is_failed(&self, path: &RelPath) -> bool {
        is_covered(&self.failed, path)
    }

    /// Whether a path lies in a subtree of the destination that could not be read.
    pub(super) fn is_failed_in_destination(&self, path: &RelPath) -> bool {
        is_covered(&self.failed_destination, path)
    }

    /// Whether the entry of this path could not be looked at on either side.
    pub(super) fn is_failed_entry(&self, path: &RelPath) -> bool {
        self.failed_entries.binary_search(path).is_ok()
    }

    /// Whether anything at a path or below it could not be read.
    pub(super) fn has_failed_within(&self, path: &RelPath) -> bool {
        [&self.failed, &self.failed_entries].iter().any(|list| has_within(list, path))
    }

    /// Whether another rule's destination lies at a path or below it.
    pub(super) fn has_foreign_within(&self, path: &RelPath) -> bool {
        has_within(&self.foreign, path)
    }
}

fn sorted(mut paths: Vec<RelPath>) -> Vec<RelPath> {
    paths.sort();
    paths
}

/// All that is `path` or lies below it, in a list ordered by path.
fn range_within<T>(list: &[T], path: &RelPath, path_of: impl Fn(&T) -> &RelPath) -> Range<usize> {
    let start = list.partition_point(|item| path_of(item) < path);
    let rest = list.get(start..).unwrap_or_default();
    start..start + rest.partition_point(|item| path_of(item).is_within(path))
}

fn has_within(paths: &[RelPath], path: &RelPath) -> bool {
    !range_within(paths, path, |item| item).is_empty()
}

fn is_covered(paths: &[RelPath], path: &RelPath) -> bool {
    if paths.is_empty() {
        return false;
    }
    std::iter::successors(Some(path.clone()), RelPath::parent).any(|path| paths.binary_search(&path).is_ok())
}

fn bare(path: RelPath) -> DirectoryDraft {
    DirectoryDraft {
        path,
        source: None,
        destination: None,
        source_whole: true,
        destination_whole: true,
        through: false,
        kept: 0,
        findings: Vec::new(),
        stale_stages: Vec::new(),
    }
}

fn is_passage(directory: &DirectoryDraft) -> bool {
    directory.through
        && directory.source.is_some()
        && directory.destination.is_none()
        && !directory.path.is_root()
}

/// The root is always there; so is the parent of a directory that may have to be made for what lies below it.
fn add_missing_parents(directories: &mut Vec<DirectoryDraft>) {
    let mut wanted: Vec<RelPath> = directories
        .iter()
        .filter(|directory| is_passage(directory))
        .filter_map(|directory| directory.path.parent())
        .collect();
    wanted.push(RelPath::root());
    wanted.sort();
    wanted.dedup();
    let mut present: Vec<&RelPath> = directories.iter().map(|directory| &directory.path).collect();
    present.sort();
    let missing: Vec<RelPath> =
        wanted.into_iter().filter(|path| present.binary_search(&path).is_err()).collect();
    directories.extend(missing.into_iter().map(bare));
}

/// A passed-through directory that is not there yet is a new name of its parent, like any other.
fn add_passages(directories: &mut [DirectoryDraft]) {
    let passages: Vec<(RelPath, Finding)> = directories
        .iter()
        .filter(|directory| is_passage(directory))
        .filter_map(|directory| {
            let name: Box<[u8]> = directory.path.name().into();
            let finding =
                Finding { name, verdict: Verdict::New, source: directory.source, destination: None };
            Some((directory.path.parent()?, finding))
        })
        .collect();
    for (parent, finding) in passages {
        let Ok(index) = directories.binary_search_by(|directory| directory.path.cmp(&parent)) else {
            continue;
        };
        let Some(directory) = directories.get_mut(index) else { continue };
        if let Err(place) = directory.findings.binary_search_by(|other| other.name.cmp(&finding.name)) {
            directory.findings.insert(place, finding);
        }
    }
}

fn find_above(directories: &[DirectoryDraft]) -> Vec<Option<Above>> {
    let mut open: Vec<usize> = Vec::new();
    let mut all = Vec::with_capacity(directories.len());
    for (index, directory) in directories.iter().enumerate() {
        let holder = loop {
            match open.last().copied().and_then(|top| Some((top, directories.get(top)?))) {
                Some((top, above)) if directory.path.is_within(&above.path) => break Some((top, above)),
                Some(_) => {
                    open.pop();
                }
                None => break None,
            }
        };
        all.push(holder.map(|(top, above)| {
            let next = directory.path.components().nth(above.path.depth()).unwrap_or_default();
            let finding = above.findings.binary_search_by(|finding| (*finding.name).cmp(next)).ok();
            Above { directory: top, finding: finding.filter(|_| !next.is_empty()) }
        }));
        open.push(index);
    }
    all
}

fn running_sums(directories: &[DirectoryDraft]) -> Vec<Sums> {
    let mut sums = Sums::default();
    let mut all = Vec::with_capacity(directories.len() + 1);
    all.push(sums);
    for directory in directories {
        sums.entries += directory.findings.len() as u64;
        sums.kept += directory.kept + u64::from(directory.through);
        sums.unread += u64::from(directory.destination.is_some() && !directory.destination_whole);
        for finding in &directory.findings {
            sums.mounts += u64::from(is_mount_point(finding));
            let goes = matches!(finding.verdict, Verdict::Extra | Verdict::Excluded);
            sums.staying += u64::from(!goes && finding.destination.is_some());
        }
        all.push(sums);
    }
    all
}

/// Whether a name of the destination is a mount point, which nothing removes.
pub(super) fn is_mount_point(finding: &Finding) -> bool {
    finding.verdict == Verdict::Conflict(Conflict::MountPoint)
        || finding.destination.is_some_and(|destination| destination.mount_root)
}

/// Whether the destination has a directory under this name.
pub(super) fn has_directory(finding: &Finding) -> bool {
    finding.destination.is_some_and(|destination| destination.kind == Kind::Directory)
}
