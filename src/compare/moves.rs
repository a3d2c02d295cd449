//! Files that got another name: looked for after the march, among what it found to be missing and superfluous.
//!
//! A file of the source and one of the destination are candidates where both are large enough to be worth it, have one name each, and
//! agree in size and time. Nothing but their content settles it: both are read, each where no digest is known. Inodes say nothing. Writes
//! nothing; what could not be read, or changes meanwhile, is no move, and is copied like anything new.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::job::{Mode, Rule};
use crate::platform::{Access, Attributes as _, Dir};
use crate::queue::Engine;
use crate::value::{Cancel, Digest, Kind, Meta, Place, RelPath, Stamp};

use super::{Digests, Draft, Finding, Move, Verdict};

/// A smaller file is copied in the time that it takes to find out whether it was moved.
pub const MOVED_BYTES_MIN: u64 = 64 << 10;
/// Times are taken from a clock that ticks this slowly at most (`CONFIG_HZ=100`), whatever grain the file system keeps.
const TICK_NS: u64 = 10_000_000;
/// No grain is coarser than that of FAT.
const GRAIN_NS_MAX: u64 = 2_000_000_000;

/// What the search is given; borrowed from the run.
#[derive(Clone, Copy)]
pub struct MoveTerms<'a> {
    /// The source's root.
    pub source: &'a Dir,
    /// The destination's root.
    pub destination: &'a Dir,
    /// The rule.
    pub rule: &'a Rule,
    /// What the source's file system is.
    pub source_place: &'a Place,
    /// What the destination's file system is and can hold.
    pub place: &'a Place,
    /// Raised, it ends the search early.
    pub cancel: &'a Cancel,
    /// Files read at once, at least 1; the result does not depend on it.
    pub threads: usize,
    /// The time. A file that was written within the last tick may change without showing it, and is copied.
    pub now: Stamp,
}

/// Size and time of a file, as the destination can hold them.
type Key = (u64, Stamp);

/// A name whose content is wanted, or not wanted any more.
#[derive(Clone, Debug)]
struct Candidate {
    /// Names that both sides have come after those that one side has: a chain of moves is the longer way.
    both: bool,
    path: RelPath,
    meta: Meta,
}

/// Candidates of one size and time.
#[derive(Debug, Default)]
struct Group {
    origins: Vec<Candidate>,
    targets: Vec<Candidate>,
}

/// What a draft holds of files that may have been moved; nothing is read yet.
#[derive(Debug)]
pub struct MoveCandidates {
    groups: Vec<Group>,
}

/// One of both trees, with a file of it that is to be read.
enum Wanted<'g> {
    Origin(&'g Candidate),
    Target(&'g Candidate),
}

impl MoveCandidates {
    /// Looks for candidates. There are none where the rule keeps no times, for then equal times mean nothing, and none in a backup, where
    /// names that the source has no more stay.
    #[must_use]
    pub fn of(draft: &Draft, terms: &MoveTerms<'_>) -> Self {
        let mut groups: BTreeMap<Key, Group> = BTreeMap::new();
        if terms.rule.preserve.times && terms.rule.mode == Mode::Mirror {
            let grain_ns = terms.source_place.grain_ns.max(terms.place.grain_ns).max(1);
            for (candidate, key) in each(draft, |finding| terms.origin(finding, grain_ns)) {
                groups.entry(key).or_default().origins.push(candidate);
            }
            for (candidate, key) in each(draft, |finding| terms.target(finding, grain_ns)) {
                if let Some(group) = groups.get_mut(&key) {
                    group.targets.push(candidate);
                }
            }
        }
        Self { groups: groups.into_values().filter(Group::has_pair).collect() }
    }

    /// Whether nothing has to be read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Reads the candidates and tells the moves, ordered by the new name; each name is in one of them at most on either side. Of several
    /// files with the same content it does not matter which becomes which: they are paired in the order of their paths, names that one
    /// side alone has before those that both have.
    #[must_use]
    pub fn settle(&self, terms: &MoveTerms<'_>, engine: &Engine, known: Option<&dyn Digests>) -> Vec<Move> {
        let wanted: Vec<Wanted<'_>> = self
            .groups
            .iter()
            .flat_map(|group| {
                let origins = group.origins.iter().map(Wanted::Origin);
                origins.chain(group.targets.iter().map(Wanted::Target))
            })
            .collect();
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(terms.threads.max(1))
            .thread_name(|index| format!("moves-{index}"))
            .build();
        // Without threads nothing is known to be moved, and all of it is copied.
        let Ok(pool) = pool else { return Vec::new() };
        let digests: Vec<Option<Digest>> =
            pool.install(|| wanted.par_iter().map(|wanted| terms.digest(wanted, engine, known)).collect());
        let mut digests = digests.into_iter();
        let mut moves = Vec::new();
        for group in &self.groups {
            let origins = group.origins.iter().zip(digests.by_ref().take(group.origins.len()));
            let origins: Vec<_> = origins.collect();
            let targets = group.targets.iter().zip(digests.by_ref().take(group.targets.len()));
            moves.extend(paired(&origins, &targets.collect::<Vec<_>>()));
        }
        moves.sort_by(|a, b| a.to.cmp(&b.to));
        moves
    }
}

/// The candidates of a draft on one side, in the order of their paths.
fn each<'d>(
    draft: &'d Draft,
    of: impl Fn(&Finding) -> Option<(bool, Meta, Key)> + 'd,
) -> impl Iterator<Item = (Candidate, Key)> + 'd {
    draft.directories.iter().flat_map(move |directory| {
        let found: Vec<_> = directory
            .findings
            .iter()
            .filter(|finding| !finding.name.is_empty())
            .filter_map(|finding| {
                let (both, meta, key) = of(finding)?;
                Some((Candidate { both, path: directory.path.join(&finding.name), meta }, key))
            })
            .collect();
        found
    })
}

impl Group {
    /// Whether there are two names to pair: one that only changed its content under the same size and time is no move to itself.
    fn has_pair(&self) -> bool {
        let same = |a: &Candidate, b: &Candidate| a.path == b.path;
        match (self.origins.as_slice(), self.targets.as_slice()) {
            ([], _) | (_, []) => false,
            ([origin], [target]) => !same(origin, target),
            _ => true,
        }
    }
}

/// Pairs files of equal content.
fn paired(origins: &[(&Candidate, Option<Digest>)], targets: &[(&Candidate, Option<Digest>)]) -> Vec<Move> {
    let mut by_content: HashMap<Digest, Vec<&Candidate>> = HashMap::new();
    for (origin, digest) in origins {
        if let Some(digest) = digest {
            by_content.entry(*digest).or_default().push(origin);
        }
    }
    for origins in by_content.values_mut() {
        // Taken from the end.
        origins.sort_by(|a, b| (b.both, &b.path).cmp(&(a.both, &a.path)));
    }
    let mut targets: Vec<_> =
        targets.iter().filter_map(|(target, digest)| Some((*target, (*digest)?))).collect();
    targets.sort_by(|(a, _), (b, _)| (a.both, &a.path).cmp(&(b.both, &b.path)));
    targets
        .into_iter()
        .filter_map(|(target, digest)| {
            let origin = by_content.get_mut(&digest)?.pop_if(|origin| origin.path != target.path)?;
            Some(Move { from: origin.path.clone(), to: target.path.clone() })
        })
        .collect()
}

impl MoveTerms<'_> {
    /// A name of the destination whose content is not wanted under it.
    fn origin(&self, finding: &Finding, grain_ns: u64) -> Option<(bool, Meta, Key)> {
        let both = self.is_both(finding, Verdict::Extra)?;
        let meta = finding.destination.filter(is_fit)?;
        Some((both, meta, (meta.size, meta.modified.floored(grain_ns))))
    }

    /// A name whose content comes from the source.
    fn target(&self, finding: &Finding, grain_ns: u64) -> Option<(bool, Meta, Key)> {
        let both = self.is_both(finding, Verdict::New)?;
        let meta = finding.source.filter(is_fit).filter(|meta| self.is_ripe(meta))?;
        Some((both, meta, (meta.size, self.place.held_time(meta.modified).floored(grain_ns))))
    }

    /// Whether both sides have the name; `None` where it is nothing to be moved.
    fn is_both(&self, finding: &Finding, alone: Verdict) -> Option<bool> {
        match finding.verdict {
            Verdict::Changed(..) if self.place.moves_over() => {
                let both = [finding.source, finding.destination];
                both.iter().all(|meta| meta.as_ref().is_some_and(has_one_name)).then_some(true)
            }
            verdict => (verdict == alone).then_some(false),
        }
    }

    /// Whether a further change would show.
    fn is_ripe(&self, meta: &Meta) -> bool {
        let grain = self.source_place.grain_ns.clamp(TICK_NS, GRAIN_NS_MAX);
        (self.now.as_nanos() - meta.modified.as_nanos()).unsigned_abs() >= u128::from(grain)
    }

    fn digest(&self, wanted: &Wanted<'_>, engine: &Engine, known: Option<&dyn Digests>) -> Option<Digest> {
        if self.cancel.is_raised() {
            return None;
        }
        match wanted {
            Wanted::Target(target) => read(self.source, target, engine),
            Wanted::Origin(origin) => known
                .and_then(|known| known.digest(&origin.path, &origin.meta))
                .or_else(|| read(self.destination, origin, engine)),
        }
    }
}

fn has_one_name(meta: &Meta) -> bool {
    meta.kind == Kind::File && meta.links < 2 && !meta.mount_root
}

fn is_fit(meta: &Meta) -> bool {
    has_one_name(meta) && meta.size >= MOVED_BYTES_MIN
}

/// The digest of a file that is what the march saw, before and after.
fn read(root: &Dir, candidate: &Candidate, engine: &Engine) -> Option<Digest> {
    let directory = root.open_below(&candidate.path.parent()?).ok()?;
    let file = directory.open_file(candidate.path.name(), Access::Buffered).ok()?;
    let is_still =
        |file: &crate::platform::File| file.meta().is_ok_and(|now| now.same_moment(&candidate.meta));
    if !is_still(&file) {
        return None;
    }
    let file = Arc::new(file);
    let digest = engine.digest(&file, candidate.meta.size).ok()?;
    is_still(&file).then_some(digest)
}
