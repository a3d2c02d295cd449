//! The two open roots of a rule. Everything later is relative to these handles, so an unmount in mid-run redirects nothing.

use std::error::Error;
use std::path::{Path, PathBuf};

use crate::job::{Location, Rule};
use crate::platform::{Attributes as _, Dir, RootError, open_root, path_bytes, place_at};
use crate::value::{Meta, Place};

use super::locate::{LocateError, locate};
use super::{Refusal, causes};

/// One open root.
#[derive(Debug)]
pub(super) struct Root {
    pub(super) directory: Dir,
    pub(super) meta: Meta,
    /// As the job says.
    pub(super) written: PathBuf,
    /// Without symlinks.
    pub(super) real: PathBuf,
    pub(super) place: Place,
}

impl Root {
    /// The path to speak of it by: as written, unless that leads up and down.
    pub(super) fn shown(&self) -> PathBuf {
        if winds(&self.written) { self.real.clone() } else { self.written.clone() }
    }
}

fn winds(path: &Path) -> bool {
    path.components().any(|part| part == std::path::Component::ParentDir)
}

/// The destination's root, or where it is going to be.
#[derive(Debug)]
pub(super) enum Target {
    /// It is there.
    There(Root),
    /// It is not, but the directory above it is, and the rule has never run.
    ToMake {
        /// The directory above.
        parent: Root,
        /// As the job says.
        written: PathBuf,
    },
}

/// Both roots.
#[derive(Debug)]
pub(super) struct Roots {
    pub(super) source: Root,
    pub(super) target: Target,
}

/// Whether the destination's root may be made where it is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Making {
    /// The rule has never run.
    Allowed,
    /// The rule has run: an absent root is an absent disk.
    Forbidden,
}

impl Target {
    /// The destination's path as the job says.
    pub(super) fn written(&self) -> &Path {
        match self {
            Self::There(root) => &root.written,
            Self::ToMake { written, .. } => written,
        }
    }

    /// The path to speak of it by: as written, unless that leads up and down.
    pub(super) fn shown(&self) -> PathBuf {
        if winds(self.written()) { self.real() } else { self.written().to_path_buf() }
    }

    /// The destination's path without symlinks.
    pub(super) fn real(&self) -> PathBuf {
        match self {
            Self::There(root) => root.real.clone(),
            Self::ToMake { parent, written } => {
                written.file_name().map_or_else(|| parent.real.clone(), |name| parent.real.join(name))
            }
        }
    }

    /// The file system it is, or will be, on.
    pub(super) fn place(&self) -> &Place {
        match self {
            Self::There(root) => &root.place,
            Self::ToMake { parent, .. } => &parent.place,
        }
    }

    /// The open root, `None` where it is still to be made.
    pub(super) fn root(&self) -> Option<&Root> {
        match self {
            Self::There(root) => Some(root),
            Self::ToMake { .. } => None,
        }
    }
}

/// Opens both roots; makes nothing.
pub(super) fn open_roots(rule: &Rule, making: Making) -> Result<Roots, Refusal> {
    let source = path_of("source", &rule.source)?;
    let destination = path_of("destination", &rule.destination)?;
    let source = open(&source).map_err(|error| refusal("source", error))?;
    let target = match open(&destination) {
        Ok(root) => Target::There(root),
        Err(OpenError::Root(RootError::Absent { path })) if making == Making::Allowed => {
            to_make(destination, path)?
        }
        Err(error) => return Err(refusal("destination", error)),
    };
    Ok(Roots { source, target })
}

/// The open root of a rule's destination, which is there.
pub(super) fn destination_root(rule: &Rule) -> Result<Root, Refusal> {
    root_at("destination", &path_of("destination", &rule.destination)?)
}

/// The open root of a rule's source, which is there.
pub(super) fn source_root(rule: &Rule) -> Result<Root, Refusal> {
    root_at("source", &path_of("source", &rule.source)?)
}

/// An open root by its path; `side` is what a refusal calls it.
pub(super) fn root_at(side: &'static str, path: &Path) -> Result<Root, Refusal> {
    open(path).map_err(|error| refusal(side, error))
}

/// The open directory above a path.
pub(super) fn parent_root(side: &'static str, path: &Path) -> Result<Root, Refusal> {
    let missing = || Refusal::Missing { side, path: path.to_path_buf() };
    root_at(side, path.parent().ok_or_else(missing)?)
}

/// The destination that is to be made: only its last component may be absent.
pub(super) fn to_make(written: PathBuf, absent: PathBuf) -> Result<Target, Refusal> {
    let missing = || Refusal::Missing { side: "destination", path: absent };
    let parent = written.parent().ok_or_else(missing)?;
    let parent = match open(parent) {
        Err(OpenError::Root(RootError::Absent { path })) => {
            return Err(Refusal::Missing { side: "destination", path });
        }
        opened => opened.map_err(|error| refusal("destination", error))?,
    };
    // A symlink that leads nowhere is there all the same.
    let name = written.file_name().map(|name| path_bytes(Path::new(name)).to_vec()).unwrap_or_default();
    match parent.directory.find(&name) {
        Ok(None) => Ok(Target::ToMake { parent, written }),
        Ok(Some(_)) => Err(Refusal::Unusable {
            side: "destination",
            cause: format!("`{}` is a symlink that leads nowhere", written.display()),
        }),
        Err(error) => Err(Refusal::Unusable { side: "destination", cause: error.to_string() }),
    }
}

/// Makes the destination's root where it is not there, and opens it.
pub(super) fn made(target: Target) -> Result<Root, MakeError> {
    let (parent, written) = match target {
        Target::There(root) => return Ok(root),
        Target::ToMake { parent, written } => (parent, written),
    };
    let name = written.file_name().map(|name| path_bytes(Path::new(name)).to_vec()).unwrap_or_default();
    match parent.directory.make_dir(&name, 0o777) {
        Err(source) if source.kind() != std::io::ErrorKind::AlreadyExists => {
            return Err(MakeError { path: written, source });
        }
        // Somebody else just made it; what is in it will be seen.
        Ok(()) | Err(_) => {}
    }
    // Otherwise a power cut might take the root away again, with all that a run calls durable in it.
    if let Err(source) = parent.directory.sync() {
        return Err(MakeError { path: written, source });
    }
    let opened = || -> std::io::Result<(Dir, Meta, Place)> {
        let directory = parent.directory.open_dir(&name)?;
        let meta = directory.meta()?;
        let place =
            place_at(&directory, &parent.real.join(Path::new(written.file_name().unwrap_or_default())))?;
        Ok((directory, meta, place))
    };
    match opened() {
        Ok((directory, meta, place)) => {
            let real = parent.real.join(written.file_name().unwrap_or_default());
            Ok(Root { directory, meta, written, real, place })
        }
        Err(source) => Err(MakeError { path: written, source }),
    }
}

/// The destination's root could not be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot make the destination `{}`", .path.display())]
pub(super) struct MakeError {
    path: PathBuf,
    #[source]
    source: std::io::Error,
}

enum OpenError {
    Root(RootError),
    Place(std::io::Error),
}

fn open(path: &Path) -> Result<Root, OpenError> {
    let (directory, real) = open_root(path).map_err(OpenError::Root)?;
    let meta = directory.meta().map_err(OpenError::Place)?;
    let place = place_at(&directory, &real).map_err(OpenError::Place)?;
    Ok(Root { directory, meta, written: path.to_path_buf(), real, place })
}

fn refusal(side: &'static str, error: OpenError) -> Refusal {
    let error: Box<dyn Error> = match error {
        OpenError::Root(RootError::Absent { path }) => return Refusal::Missing { side, path },
        OpenError::Root(error) => Box::new(error),
        OpenError::Place(error) => Box::new(error),
    };
    Refusal::Unusable { side, cause: causes(&*error).join(": ") }
}

fn path_of(side: &'static str, location: &Location) -> Result<PathBuf, Refusal> {
    locate(location).map_err(|error| match error {
        LocateError::Absent { name } => Refusal::VolumeAbsent { side, name },
        error => Refusal::Unusable { side, cause: error.to_string() },
    })
}
