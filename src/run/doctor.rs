//! The verb `doctor`: what a place is and can do. Writes nothing, unless it is asked to try.

use std::io;
use std::path::{Path, PathBuf};

use crate::platform::{Dir, Mount, RootError, mounts, open_root, place_at};
use crate::store::{Identity, Known, Store, Trial, probe, try_data};
use crate::value::{Place, RunId};

use super::Session;

/// How a place was found out about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knowledge {
    /// From the file system's type and what the system says.
    Assumed,
    /// A run tried it out, and wrote down what it found.
    FirstRun,
    /// It was tried out just now.
    Tried,
}

/// Whether files may be written to find something out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trying {
    /// Only look.
    Look,
    /// Make files of Twinlane's own names, and remove them again.
    Probe,
}

/// What there is to say of one place.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    /// The directory, absolute and without symlinks; of a file the directory that holds it.
    pub path: PathBuf,
    /// What it is and can hold.
    pub place: Place,
    /// How that is known.
    pub knowledge: Knowledge,
    /// What is mounted there, `/dev/sda1`.
    pub device: Option<String>,
    /// Options of the mount.
    pub options: Option<String>,
    /// Whose destination it is.
    pub identity: Option<Identity>,
    /// What it does with data; only where it was tried.
    pub trial: Option<Trial>,
}

/// Why a place cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum DoctorError {
    /// It cannot be reached.
    #[error("cannot open `{}`", .path.display())]
    Root {
        /// As given.
        path: PathBuf,
        /// Why.
        #[source]
        source: RootError,
    },
    /// It cannot be looked at.
    #[error("cannot look at `{}`", .path.display())]
    Look {
        /// As given.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// It cannot be tried out.
    #[error("cannot try `{}` out", .path.display())]
    Try {
        /// As given.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
}

/// Looks at one place.
///
/// # Errors
/// See [`DoctorError`].
pub fn diagnose(session: &Session<'_>, path: &Path, trying: Trying) -> Result<Diagnosis, DoctorError> {
    let (directory, real) = open_near(path)?;
    let look = |source: io::Error| DoctorError::Look { path: path.to_path_buf(), source };
    let mut place = place_at(&directory, &real).map_err(look)?;
    let mount = mounts().map_err(look)?.into_iter().rfind(|mount| is_of(mount, &place));
    let identity = identity_in(&directory);
    let mut knowledge = Knowledge::Assumed;
    if let Some(identity) = &identity {
        identity.mend(&mut place);
        knowledge = Knowledge::FirstRun;
    }
    let mut trial = None;
    if trying == Trying::Probe {
        let refused = |source: io::Error| DoctorError::Try { path: path.to_path_buf(), source };
        let run = RunId::at(session.clock.now(), None);
        let probe = probe(&directory, run, &place.file_system).map_err(refused)?;
        probe.mend(&mut place);
        trial = Some(try_data(&directory, run).map_err(refused)?);
        knowledge = Knowledge::Tried;
    }
    let (device, options) = mount.map(|mount| (mount.source, mount.options)).unzip();
    Ok(Diagnosis { path: real, place, knowledge, device, options, identity, trial })
}

fn is_of(mount: &Mount, place: &Place) -> bool {
    if place.mount_id == 0 { mount.device == place.device } else { mount.id == place.mount_id }
}

/// The directory, or the one that holds the file.
fn open_near(path: &Path) -> Result<(Dir, PathBuf), DoctorError> {
    match (open_root(path), path.parent()) {
        (Err(RootError::NotADirectory { .. }), Some(parent)) => open_root(parent),
        (opened, _) => opened,
    }
    .map_err(|source| DoctorError::Root { path: path.to_path_buf(), source })
}

/// What a destination says it is; a place whose `.twinlane` cannot be read is a place all the same.
fn identity_in(directory: &Dir) -> Option<Identity> {
    match Store::find(directory).ok()??.known().ok()? {
        Known::Identity(identity) => Some(identity),
        Known::None | Known::Damaged { .. } => None,
    }
}
