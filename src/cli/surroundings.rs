//! What a job's text may ask of the system: variables, homes, the host's name, the time.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use chrono::NaiveDateTime;

use super::load::{JOB_BYTES_MAX, Purpose, TRUST_HELP, distrust, neighbour};
use crate::job::{Surroundings, Unread};
use crate::platform::{Clock, Environment, read_text};
use crate::value::{Stamp, Zone};

/// The process's own surroundings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Here {
    pub(super) environment: Environment,
    pub(super) clock: Clock,
    /// What for: as root, what is acted on extends only what nobody else may have written.
    pub(super) purpose: Purpose,
}

/// A secret is a line of text, not a file system.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// Why an extended file could not be read, in the words of a diagnostic.
fn unread(file: &Path, error: &io::Error) -> Unread {
    if error.kind() == ErrorKind::NotFound {
        let start = "a path in `extends` starts at the folder of the file that names it";
        let help = neighbour(file).unwrap_or_else(|| start.to_owned());
        return Unread { why: "it is not there".to_owned(), help: Some(help) };
    }
    Unread { why: error.to_string(), help: None }
}

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

    fn read_job(&self, file: &Path) -> Result<String, Unread> {
        let untrusted = match self.purpose {
            Purpose::Look => None,
            Purpose::Act => distrust(self.environment, file).map_err(|error| unread(file, &error))?,
        };
        if let Some(reason) = untrusted {
            let why = format!("it is not to be trusted as root: {reason}");
            return Err(Unread { why, help: Some(TRUST_HELP.to_owned()) });
        }
        read_text(file, JOB_BYTES_MAX).map_err(|error| unread(file, &error))
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
