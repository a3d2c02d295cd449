//! Restoring over what the source has: nothing is removed, and what is replaced becomes a version in the destination first.

use std::sync::Arc;

use crate::execute::{FailureKind, Hitch};
use crate::platform::{Access, Attributes as _, Dir};
use crate::queue::Engine;
use crate::store::{Catalog, Change, OriginalDirectory, Store, Versions};
use crate::value::{Digest, Kind, Meta, RelPath, RunId};

use super::super::{RuleOutcome, causes};
use super::tree::Origin;

/// What stands under a name in the source.
pub(super) enum Present {
    /// Nothing.
    Free,
    /// What is to be there.
    Same,
    /// Something else, which is no directory.
    Other,
}

impl Present {
    /// Compares it by kind, content, time and mode; `digest` is what the content is to be, where that is known.
    pub(super) fn look(
        to: &Dir,
        name: &[u8],
        from: &Dir,
        origin: &Origin,
        digest: Option<Digest>,
        engine: &Engine,
    ) -> Result<Self, Hitch> {
        let Some(now) = to.find(name).map_err(|error| refused("look at the source", &error))? else {
            return Ok(Self::Free);
        };
        if now.kind == Kind::Directory {
            return Err(Hitch {
                what: FailureKind::Failed,
                cause: "a directory is there now, and a restore removes nothing; move it away first"
                    .to_owned(),
            });
        }
        let meta = &origin.meta;
        let alike = now.kind == meta.kind && now.size == meta.size && now.mode == meta.mode;
        let same = alike
            && match meta.kind {
                Kind::Symlink => {
                    let text = |directory: &Dir, name: &[u8]| directory.read_link(name).ok();
                    text(to, name).is_some_and(|now| Some(now) == text(from, origin.path.name()))
                }
                Kind::File if now.modified == meta.modified => {
                    let wanted = digest.or_else(|| digest_of(from, origin.path.name(), engine));
                    wanted.is_some() && digest_of(to, name, engine) == wanted
                }
                Kind::File | Kind::Directory => false,
                Kind::Fifo | Kind::Socket | Kind::CharDevice | Kind::BlockDevice => {
                    now.special == meta.special
                }
            };
        Ok(if same { Self::Same } else { Self::Other })
    }
}

/// `None` where it cannot be read: then it is not the same.
fn digest_of(directory: &Dir, name: &[u8], engine: &Engine) -> Option<Digest> {
    let file = directory.open_file(name, Access::Buffered).ok()?;
    let meta = file.meta().ok()?;
    (meta.kind == Kind::File).then_some(())?;
    engine.digest(&Arc::new(file), meta.size).ok()
}

fn refused(operation: &str, error: &std::io::Error) -> Hitch {
    Hitch { what: FailureKind::Failed, cause: format!("cannot {operation}: {error}") }
}

/// Keeps what is replaced, as versions of the restore's own run.
pub(super) struct Keeper<'s> {
    store: &'s Store,
    run: RunId,
    source: &'s Dir,
    versions: Versions<'s>,
    catalog: Catalog,
    changes: Vec<Change>,
    /// What was kept of the entry in hand.
    in_hand: Option<Meta>,
    /// A version that is no version could not be taken away: the next run's recovery looks at it.
    left: bool,
}

impl<'s> Keeper<'s> {
    /// Marks the run as begun; the lock is held.
    pub(super) fn begin(store: &'s Store, run: RunId, source: &'s Dir) -> Result<Self, RuleOutcome> {
        store.begin(run).map_err(|error| RuleOutcome::stopped(&error))?;
        let (catalog, _) = store.catalog(run).map_err(|error| RuleOutcome::stopped(&error))?;
        let versions = store.versions(run);
        Ok(Self { store, run, source, versions, catalog, changes: Vec::new(), in_hand: None, left: false })
    }

    /// Keeps the entry under a name, durably.
    pub(super) fn keep(&mut self, directory: &Dir, path: &RelPath) -> Result<(), Hitch> {
        let failed = |error: crate::store::StoreError| Hitch {
            what: FailureKind::Failed,
            cause: causes(&error).join(": "),
        };
        let meta = directory.stat(path.name()).map_err(|error| refused("look at the source", &error))?;
        let original = OriginalDirectory { root: self.source };
        self.versions.keep(original, directory, path.name(), path).map_err(failed)?;
        self.versions.sync_directories().map_err(failed)?;
        self.in_hand = Some(meta);
        Ok(())
    }

    /// Books what was kept once the name stands for something else, or takes it back where it does not.
    pub(super) fn settle(&mut self, directory: &Dir, path: &RelPath, landed: bool) {
        let Some(meta) = self.in_hand.take() else { return };
        if landed {
            self.changes.push(Change::Kept { path: path.clone(), meta });
        } else if self.versions.withdraw(directory, path.name(), path).is_err() {
            self.left = true;
        }
    }

    /// Tells the catalog, and ends the run.
    pub(super) fn finish(mut self) -> Result<(), RuleOutcome> {
        let stopped = |error| RuleOutcome::stopped(&error);
        self.versions.finish().map_err(stopped)?;
        self.catalog.apply(self.run, &self.changes).map_err(stopped)?;
        if !self.changes.is_empty() {
            self.catalog.complete(self.run).map_err(stopped)?;
        }
        if self.left {
            return Ok(());
        }
        self.store.clear_marker(self.run).map_err(stopped)
    }
}
