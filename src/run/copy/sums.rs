//! The list of digests: of copied files those that passed through the queues, of others by reading them in the destination.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use crate::execute::Committed;
use crate::plan::{ActionKind, Plan};
use crate::platform::{Access, Attributes as _, Dir, RenameMode};
use crate::queue::Engine;
use crate::run::roots::{Root, root_at};
use crate::store::{Change, StoreError};
use crate::value::{Digest, Kind, RelPath, RunId, StageName, SumLine};

use super::{SumsWritten, Typed};

/// Keeps the digests of what was copied; takes the place of a catalog.
#[derive(Debug, Default)]
pub(super) struct Sums {
    wanted: bool,
    digests: BTreeMap<RelPath, Digest>,
    files: BTreeSet<RelPath>,
}

impl Committed for Sums {
    fn apply(&mut self, _run: RunId, changes: &[Change]) -> Result<(), StoreError> {
        if self.wanted {
            for change in changes {
                if let Change::Present { path, digest: Some(digest), .. } = change {
                    self.digests.insert(path.clone(), *digest);
                }
            }
        }
        Ok(())
    }

    fn complete(&mut self, _run: RunId) -> Result<(), StoreError> {
        Ok(())
    }
}

impl Sums {
    /// For a list that is asked for, or for none.
    pub(super) fn new(sums: Option<&Typed>) -> Self {
        Self { wanted: sums.is_some(), ..Self::default() }
    }

    /// Takes the files that are in place now: those that were equal, and those that were copied.
    pub(super) fn add(&mut self, equal: Vec<RelPath>, plan: &Plan, done: &[bool]) {
        if !self.wanted {
            return;
        }
        self.files.extend(equal);
        for (action, _) in plan.actions.iter().zip(done).filter(|(_, done)| **done) {
            let makes = matches!(action.kind, ActionKind::Copy | ActionKind::Replace | ActionKind::Link);
            if makes && action.entry == Kind::File {
                let path = plan.path(action);
                if let Some(digest) = plan.link(action).and_then(|leader| self.digests.get(leader)).copied() {
                    self.digests.entry(path.clone()).or_insert(digest);
                }
                self.files.insert(path);
            }
        }
    }

    /// Reads what has no digest yet, and writes the list under a stage name, then under its own, durably.
    pub(super) fn write(
        self,
        typed: &Typed,
        run: RunId,
        destination: &Root,
        engine: &Engine,
    ) -> Result<SumsWritten, SumsError> {
        let mut text = Vec::new();
        let mut read = 0;
        for path in &self.files {
            let digest = if let Some(digest) = self.digests.get(path) {
                *digest
            } else {
                read += 1;
                digest_of(&destination.directory, path, engine)
                    .map_err(|source| SumsError::Read { path: path.clone(), source })?
            };
            text.extend(SumLine { digest, name: path.as_bytes().into() }.to_bytes());
        }
        publish(typed, run, &text)?;
        let (list, seen_from) = (typed.clone(), destination.real.clone());
        Ok(SumsWritten { list, seen_from, files: self.files.len() as u64, read })
    }
}

fn digest_of(destination: &Dir, path: &RelPath, engine: &Engine) -> io::Result<Digest> {
    let directory = destination.open_below(&path.parent().unwrap_or_default())?;
    let file = directory.open_file(path.name(), Access::Buffered)?;
    let meta = file.meta()?;
    if meta.kind != Kind::File {
        return Err(io::Error::other("it is no file any more"));
    }
    engine.digest(&Arc::new(file), meta.size).map_err(io::Error::other)
}

fn publish(typed: &Typed, run: RunId, text: &[u8]) -> Result<(), SumsError> {
    let failed = |source| SumsError::Write { path: typed.typed.clone(), source };
    let Some((folder, name)) = typed.split() else {
        return Err(failed(io::ErrorKind::IsADirectory.into()));
    };
    let folder = root_at("destination", &folder).map_err(|refusal| failed(io::Error::other(refusal)))?;
    let folder = folder.directory;
    // Numbers of stage files that hold content begin at 1.
    let stage = StageName { run, number: 0 }.to_string().into_bytes();
    let file = folder.create_file(&stage).map_err(failed)?;
    let written = file
        .write_at(text, 0)
        .and_then(|()| file.set_mode(LIST_MODE))
        .and_then(|()| file.sync())
        .and_then(|()| give_name(&folder, &stage, &name))
        .and_then(|()| folder.sync());
    if written.is_err() {
        // It may have got its name already; then nothing is there to be removed.
        let _ = folder.remove_file(&stage);
    }
    written.map_err(failed)
}

/// As files are made by other programs under the usual umask.
const LIST_MODE: u16 = 0o644;

fn give_name(folder: &Dir, stage: &[u8], name: &[u8]) -> io::Result<()> {
    match folder.rename(stage, folder, name, RenameMode::NoReplace) {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            if folder.find(name)?.is_some() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            folder.rename(stage, folder, name, RenameMode::Replace)
        }
        renamed => renamed,
    }
}

/// Why the list was not written. The copies are in place.
#[derive(Debug, thiserror::Error)]
pub(super) enum SumsError {
    /// A file of the destination could not be read.
    #[error("cannot read `{path}` in the destination for the list of digests")]
    Read {
        /// Where.
        path: RelPath,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The list could not be written.
    #[error("cannot write the list of digests `{}`", .path.display())]
    Write {
        /// As typed.
        path: std::path::PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}
