//! Releasing versions: from the tree itself, so that a lost catalog changes nothing.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use super::home::{VERSIONS, locked};
use super::recover::remove_version;
use super::retention::{Version, due, oldest};
use super::{Store, StoreError, failed, optional, tree};
use crate::job::Retention;
use crate::value::{ByteCount, Kind, Meta, RelPath, RunId, Stamp};

/// A clock further ahead of the newest run is not believed (DESIGN §9).
const AHEAD_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// What pruning released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Versions removed.
    pub versions: u64,
    /// Bytes they held.
    pub bytes: ByteCount,
    /// Nothing was pruned though something was due: the clock is not to be believed.
    pub distrusted_clock: bool,
    /// Versions that were due and could not be removed, or could not be looked at.
    pub failed: u64,
}

/// The versions of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunVersions {
    /// The run that displaced them.
    pub run: RunId,
    /// How many there are.
    pub versions: u64,
    /// Bytes that would be free without them; an inode that several runs hold counts for the newest.
    pub bytes: ByteCount,
    /// How many of them the next pruning releases.
    pub due: u64,
}

/// All versions of a destination in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weighed {
    /// Oldest first; runs that hold none are left out.
    pub runs: Vec<RunVersions>,
    /// Bytes that would be free without the versions that are due.
    pub due_bytes: ByteCount,
    /// What is due is kept all the same: the clock is not to be believed.
    pub distrusted_clock: bool,
    /// Versions that could not be looked at.
    pub unreadable: u64,
}

/// All versions of a destination, and which inode each is a name of.
#[derive(Default)]
struct Found {
    versions: Vec<Version>,
    inodes: Vec<Inode>,
    unreadable: u64,
}

#[derive(Clone, Copy)]
struct Inode {
    device: u64,
    number: u64,
    links: u64,
    bytes: u64,
}

impl Inode {
    fn of(meta: &Meta) -> Self {
        // Some file systems, mostly FUSE, count no blocks.
        let bytes = if meta.allocated == 0 { meta.size } else { meta.allocated };
        let bytes = if meta.kind == Kind::Directory { 0 } else { bytes };
        Self { device: meta.device, number: meta.inode, links: meta.links.into(), bytes }
    }
}

impl Found {
    /// Says of each version what it alone holds: the newest name of an inode holds all, where no name of it is left in the tree.
    fn weigh(&mut self) {
        let mut names: HashMap<(u64, u64), u64> = HashMap::new();
        for inode in &self.inodes {
            *names.entry((inode.device, inode.number)).or_default() += 1;
        }
        for (version, inode) in self.versions.iter_mut().zip(&self.inodes) {
            if let Some(left) = names.get_mut(&(inode.device, inode.number)) {
                // Runs come newest first; a name that was counted leaves too few for the next.
                version.bytes = if *left >= inode.links { inode.bytes } else { 0 };
                *left = 0;
            }
        }
    }

    /// Bytes that are free once these versions are gone: of inodes that lose their last name.
    fn freed(&self, chosen: &[usize]) -> u64 {
        let mut lost: HashMap<(u64, u64), u64> = HashMap::new();
        let mut bytes = 0u64;
        for inode in chosen.iter().filter_map(|&index| self.inodes.get(index)) {
            let lost = lost.entry((inode.device, inode.number)).or_default();
            *lost += 1;
            if *lost == inode.links {
                bytes = bytes.saturating_add(inode.bytes);
            }
        }
        bytes
    }
}

impl Store {
    /// Removes versions that no rule of `retention` keeps any more, none of `current`'s; nothing where `now` is behind the newest run
    /// before, or 30 days ahead of it. For the holder of the lock. Returns what was released.
    ///
    /// # Errors
    /// See [`StoreError`]; versions that could not be removed are counted, not an error.
    pub fn prune(&self, retention: &Retention, now: Stamp, current: RunId) -> Result<Pruned, StoreError> {
        let found = self.find_versions(Some(current))?;
        let chosen = due(&found.versions, retention, now);
        self.release(&found, &chosen, now, Some(current))
    }

    /// What [`Store::prune`] would release, for the plan's room check. Writes nothing.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn prunable(&self, retention: &Retention, now: Stamp) -> Result<Pruned, StoreError> {
        let found = self.find_versions(None)?;
        let chosen = due(&found.versions, retention, now);
        if !chosen.is_empty() && self.distrusts(now, None)? {
            return Ok(Pruned { distrusted_clock: true, failed: found.unreadable, ..Pruned::default() });
        }
        Ok(Pruned {
            versions: chosen.len() as u64,
            bytes: ByteCount(found.freed(&chosen)),
            distrusted_clock: false,
            failed: found.unreadable,
        })
    }

    /// What [`Store::release_oldest`] could free at most, for the plan's room check under `when_full: release`. Writes nothing.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn releasable(&self, now: Stamp) -> Result<ByteCount, StoreError> {
        let found = self.find_versions(None)?;
        let chosen = oldest(&found.versions, u64::MAX, now);
        if self.distrusts(now, None)? {
            return Ok(ByteCount(0));
        }
        Ok(ByteCount(found.freed(&chosen)))
    }

    /// Removes the oldest versions until `bytes_needed` are free that were not, whatever keeps them; never those of the last 24 hours, nor of
    /// `current`, nor where the clock is not to be believed.
    ///
    /// # Errors
    /// See [`StoreError`]; versions that could not be removed are counted, not an error.
    pub fn release_oldest(
        &self,
        bytes_needed: ByteCount,
        now: Stamp,
        current: RunId,
    ) -> Result<Pruned, StoreError> {
        let found = self.find_versions(Some(current))?;
        let chosen = oldest(&found.versions, bytes_needed.0, now);
        self.release(&found, &chosen, now, Some(current))
    }

    /// What each run's versions hold, and what of them `retention` releases next; without one, nothing is due. Writes nothing.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn weigh_versions(&self, retention: Option<&Retention>, now: Stamp) -> Result<Weighed, StoreError> {
        let found = self.find_versions(None)?;
        let chosen = retention.map(|retention| due(&found.versions, retention, now)).unwrap_or_default();
        let mut runs: BTreeMap<RunId, RunVersions> = BTreeMap::new();
        for (index, version) in found.versions.iter().enumerate() {
            let run = version.run;
            let none = RunVersions { run, versions: 0, bytes: ByteCount(0), due: 0 };
            let sum = runs.entry(run).or_insert(none);
            sum.versions += 1;
            sum.bytes.0 = sum.bytes.0.saturating_add(version.bytes);
            sum.due += u64::from(chosen.binary_search(&index).is_ok());
        }
        Ok(Weighed {
            runs: runs.into_values().collect(),
            due_bytes: ByteCount(found.freed(&chosen)),
            distrusted_clock: !chosen.is_empty() && self.distrusts(now, None)?,
            unreadable: found.unreadable,
        })
    }

    /// Every version of every run but one, newest run first.
    fn find_versions(&self, except: Option<RunId>) -> Result<Found, StoreError> {
        let mut found = Found::default();
        let Some(versions) = self.room(VERSIONS)? else { return Ok(found) };
        for run in self.runs_in(VERSIONS)?.into_iter().rev().filter(|run| Some(*run) != except) {
            let path = super::versions::version_path(run, &RelPath::root());
            let opened =
                optional(versions.open_dir(run.to_string().as_bytes())).map_err(failed("open", &path))?;
            let Some(base) = opened else { continue };
            tree::walk(&base, |path, met| match met {
                tree::Met::Unreadable => found.unreadable += 1,
                tree::Met::Leaf(meta) => {
                    found.versions.push(Version { path: path.clone(), run, bytes: 0 });
                    found.inodes.push(Inode::of(meta));
                }
            })
            .map_err(failed("list", &path))?;
        }
        found.weigh();
        Ok(found)
    }

    /// Whether the clock is behind the newest run, or far ahead of it.
    fn distrusts(&self, now: Stamp, current: Option<RunId>) -> Result<bool, StoreError> {
        let recorded = match current {
            // The lock's record names the current run by now.
            Some(_) => *locked(&self.previous),
            None => self.recorded_run(),
        };
        let Some(newest) = self.newest_listed(current)?.max(recorded) else { return Ok(false) };
        let ahead = now.as_nanos() - newest.time().as_nanos();
        Ok(ahead < 0 || ahead > i128::try_from(AHEAD_MAX.as_nanos()).unwrap_or(i128::MAX))
    }

    fn release(
        &self,
        found: &Found,
        chosen: &[usize],
        now: Stamp,
        current: Option<RunId>,
    ) -> Result<Pruned, StoreError> {
        let mut pruned = Pruned { failed: found.unreadable, ..Pruned::default() };
        let Some(versions) = self.room(VERSIONS)?.filter(|_| !chosen.is_empty()) else { return Ok(pruned) };
        if self.distrusts(now, current)? {
            return Ok(Pruned { distrusted_clock: true, ..pruned });
        }
        let mut gone = Vec::with_capacity(chosen.len());
        for &index in chosen {
            let Some(version) = found.versions.get(index) else { continue };
            match remove_version(&versions, version.run, &version.path) {
                Ok(()) => gone.push(index),
                Err(_) => pruned.failed += 1,
            }
        }
        pruned.versions = gone.len() as u64;
        pruned.bytes = ByteCount(found.freed(&gone));
        Ok(pruned)
    }
}
