//! What a verb runs in: clock, environment, the user's wishes, the state.

use std::path::{Path, PathBuf};

use crate::platform::{Clock, Environment, Signals};
use crate::value::Cancel;

use super::LimitOverride;

/// What the user says that he has looked at and accepts: `--accept`, `--remove-excluded`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accept {
    /// The destination as it is: unknown, not empty, or in a place that needs a second look.
    Destination,
    /// The source as it is: another file system, or without the mounts that it had.
    Source,
    /// That what the patterns exclude goes from a mirror's destination.
    RemovalOfExcluded,
}

/// Everything a verb needs besides its job.
#[derive(Clone, Copy, Debug)]
pub struct Session<'a> {
    /// The process's surroundings.
    pub environment: Environment,
    /// The time.
    pub clock: Clock,
    /// Where the state is kept, see [`state_directory`].
    pub state: &'a Path,
    /// The wish to stop.
    pub cancel: &'a Cancel,
    /// Which signal raised it.
    pub signals: Option<&'a Signals>,
    /// What the user accepts.
    pub accepted: &'a [Accept],
    /// Limits put over those of the rules.
    pub limits: &'a [LimitOverride],
}

impl<'a> Session<'a> {
    /// A session in which nothing is accepted, no limit is put over another, and no signal is listened for.
    #[must_use]
    pub fn new(environment: Environment, clock: Clock, state: &'a Path, cancel: &'a Cancel) -> Self {
        Self { environment, clock, state, cancel, signals: None, accepted: &[], limits: &[] }
    }
}

impl Session<'_> {
    pub(super) fn accepts(&self, what: Accept) -> bool {
        self.accepted.contains(&what)
    }

    /// How many small workers a run has: twice the processors; 1 makes it deterministic.
    pub(super) fn workers(&self) -> Workers {
        match self.environment.variable("TWINLANE_WORKERS").and_then(|text| text.parse::<usize>().ok()) {
            Some(1) => Workers::One,
            Some(count) if count > 1 => Workers::Many(count.min(WORKERS_MAX)),
            _ => Workers::Many((2 * self.environment.processors()).min(WORKERS_MAX)),
        }
    }
}

/// More than 64 threads that make system calls only wait for each other.
const WORKERS_MAX: usize = 64;

/// How a run uses threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Workers {
    /// One of each kind: the order of calls is always the same.
    One,
    /// So many small ones.
    Many(usize),
}

/// Where the state is kept: `TWINLANE_STATE_DIR`, `/var/lib/twinlane` for root, else `$XDG_STATE_HOME/twinlane` or
/// `~/.local/state/twinlane`. `None` where there is no home directory.
#[must_use]
pub fn state_directory(environment: Environment) -> Option<PathBuf> {
    let set = |name: &str| environment.variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(directory) = set("TWINLANE_STATE_DIR") {
        return Some(directory);
    }
    if environment.is_root() {
        return Some(PathBuf::from("/var/lib/twinlane"));
    }
    let base = set("XDG_STATE_HOME").or_else(|| environment.home(None).map(|home| home.join(".local/state")));
    base.map(|base| base.join("twinlane"))
}
