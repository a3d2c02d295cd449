//! What a job's text may ask of the system: variables, homes, the host's name, the time.

use std::path::{Path, PathBuf};

use chrono::NaiveDateTime;

use crate::job::Surroundings;
use crate::platform::{Clock, Environment, read_text};
use crate::value::{Stamp, Zone};

/// The process's own surroundings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Here {
    pub(super) environment: Environment,
    pub(super) clock: Clock,
}

/// A secret is a line of text, not a file system.
const FILE_BYTES_MAX: u64 = 64 << 10;

impl Surroundings for Here {
    fn variable(&self, name: &str) -> Option<String> {
        self.environment.variable(name)
    }

    fn home(&self, user: Option<&str>) -> Option<PathBuf> {
        self.environment.home(user)
    }

    fn hostname(&self) -> Option<String> {
        Some(self.environment.hostname()).filter(|name| !name.is_empty())
    }

    fn read_file(&self, path: &Path) -> Result<String, String> {
        read_text(path, FILE_BYTES_MAX).map_err(|error| error.to_string())
    }

    fn is_root(&self) -> bool {
        self.environment.is_root()
    }

    fn local_time(&self, zone: Zone) -> NaiveDateTime {
        zone.local(self.clock.now())
    }

    fn local_to_utc(&self, zone: Zone, local: NaiveDateTime) -> Option<Stamp> {
        let moment = zone.moment(local);
        (zone.local(moment) == local).then_some(moment)
    }
}
