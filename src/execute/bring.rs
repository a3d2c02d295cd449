//! Single entries brought from one open directory into another, without a plan: what `restore` is made of.
//!
//! The same steps as for a plan's actions: a stage name of its own, content through the engine, metadata through the handle, then the name.
//! Whoever calls knows what is to be where; nothing is displaced here, and what waits under a stage name is the caller's to name or to drop.

use std::io;
use std::sync::Arc;

use super::file::move_bytes;
use super::metadata::{self, Age};
use super::site::{Site, SyncWay};
use super::trouble::{Tried as _, Trouble};
use super::{FailureKind, Meters, Terms, Warning};
use crate::platform::{Access, Attributes as _, Dir, RenameMode};
use crate::queue::{Hashing, Holes, Transfer, TransferError};
use crate::value::{Digest, Kind, Meta, StageName};

/// Brings entries; one for a whole restore. Of its terms the plan is not looked at; `source_place` and `place` say what the two sides can
/// hold, `rule` what is kept, and `durability` whether each file is synced before it gets its name.
pub struct Bringer<'s> {
    site: Site<'s>,
}

/// An entry under a stage name, with its metadata.
#[derive(Debug)]
pub struct Staged {
    name: String,
    /// What it is.
    pub meta: Meta,
    /// Digest of a file's bytes as they passed through.
    pub digest: Option<Digest>,
}

/// How a staged entry gets its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landing {
    /// The name must be free.
    New,
    /// Over an entry that is no directory, and whose content is safe.
    Over,
}

/// Why an entry could not be brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hitch {
    /// In which way.
    pub what: FailureKind,
    /// Why, a sentence without full stop.
    pub cause: String,
}

impl From<Trouble> for Hitch {
    fn from(trouble: Trouble) -> Self {
        Self { what: trouble.kind().unwrap_or(FailureKind::MovedSince), cause: trouble.cause() }
    }
}

const CHANGED: Trouble = Trouble::Moved { what: "it changed" };

impl<'s> Bringer<'s> {
    /// Makes one; the engine and the places are those of the terms.
    #[must_use]
    pub fn new(terms: &'s Terms<'s>, meters: &'s Meters) -> Self {
        Self { site: Site::new(terms, meters) }
    }

    /// Copies an entry that is no directory under a stage name in `to`: `observed` is what it must still be.
    ///
    /// # Errors
    /// See [`Hitch`]; nothing is left in `to`.
    pub fn stage(&self, from: &Dir, name: &[u8], observed: &Meta, to: &Dir) -> Result<Staged, Hitch> {
        let staged = match observed.kind {
            Kind::File => self.file(from, name, observed, to),
            Kind::Directory => Err(Trouble::NoDirectory),
            _ => self.node(from, name, observed, to),
        };
        Ok(staged?)
    }

    /// Gives the inode under `leader` in `holder` a stage name in `to`; `None` where it is another one by now, or the place refuses links.
    ///
    /// # Errors
    /// See [`Hitch`].
    pub fn stage_link(
        &self,
        holder: &Dir,
        leader: &[u8],
        observed: &Meta,
        to: &Dir,
    ) -> Result<Option<Staged>, Hitch> {
        let found = holder.find(leader).tried("look at the name to link to")?;
        if !found.is_some_and(|meta| meta.same_inode(observed)) {
            return Ok(None);
        }
        let name = self.stage_name();
        match holder.hard_link(leader, to, name.as_bytes()) {
            Ok(()) => Ok(Some(Staged { name, meta: *observed, digest: None })),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(Trouble::System { operation: "link the name to its first one", source: error }.into())
            }
            Err(_) => {
                self.site.note(super::site::Unkept::Links);
                Ok(None)
            }
        }
    }

    /// Gives a staged entry its name.
    ///
    /// # Errors
    /// See [`Hitch`]; the stage is gone.
    pub fn land(&self, staged: &Staged, to: &Dir, name: &[u8], landing: Landing) -> Result<(), Hitch> {
        let renamed = match landing {
            Landing::Over => to.rename(staged.name.as_bytes(), to, name, RenameMode::Replace),
            Landing::New => rename_new(to, staged.name.as_bytes(), name),
        };
        if let Err(error) = renamed {
            Self::discard(staged, to);
            return Err(match error.kind() {
                io::ErrorKind::AlreadyExists => {
                    Trouble::Moved { what: "something appeared under its name" }.into()
                }
                _ => Trouble::System { operation: "give it its name", source: error }.into(),
            });
        }
        if self.site.sync_way(staged.meta.device) == SyncWay::Each {
            to.sync().tried("make its name durable")?;
        }
        Ok(())
    }

    /// Takes a staged entry away.
    pub fn discard(staged: &Staged, to: &Dir) {
        // What cannot be taken away has a stage name, which no run copies.
        let _ = to.remove_file(staged.name.as_bytes());
    }

    /// Gives a new directory the metadata of another one, durably where each is synced.
    ///
    /// # Errors
    /// See [`Hitch`].
    pub fn dress(&self, from: &Dir, to: &Dir) -> Result<(), Hitch> {
        let meta = from.meta().tried("look at the directory")?;
        let wanted = metadata::read(&self.site, from, meta)?;
        metadata::apply(&self.site, to, &wanted, Age::New)?;
        self.sync_directory(to)
    }

    /// Makes a directory's names durable where each is synced.
    ///
    /// # Errors
    /// See [`Hitch`].
    pub fn sync_directory(&self, directory: &Dir) -> Result<(), Hitch> {
        let device = directory.meta().tried("look at the directory")?.device;
        if self.site.sync_way(device) == SyncWay::Each {
            directory.sync().tried("make the directory durable")?;
        }
        Ok(())
    }

    /// The last sync of a file system whose `syncfs` can be trusted.
    ///
    /// # Errors
    /// See [`Hitch`].
    pub fn conclude(&self, root: &Dir) -> Result<(), Hitch> {
        if self.site.sync_way(self.site.place().device) == SyncWay::FileSystem {
            root.sync_file_system().tried("sync the file system")?;
        }
        Ok(())
    }

    /// What this user or place could not hold, one a kind.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        self.site.warnings()
    }

    fn stage_name(&self) -> String {
        StageName { run: self.site.terms.run, number: self.site.next_stage() }.to_string()
    }

    fn file(&self, from: &Dir, name: &[u8], observed: &Meta, to: &Dir) -> Result<Staged, Trouble> {
        let source = from.open_file(name, Access::Buffered).tried("open it")?;
        let before = source.meta().tried("look at it")?;
        if !before.same_moment(observed) {
            return Err(CHANGED);
        }
        let stage = self.stage_name();
        let target = to.create_file(stage.as_bytes()).tried("make a stage file")?;
        let mut staged = Staged { name: stage, meta: before, digest: None };
        let filled = (|| {
            let transfer = Transfer {
                source: Arc::new(source),
                target: Arc::new(target),
                bytes: before.size,
                holes: Holes::Keep,
                hashing: Hashing::Blake3,
            };
            let (transfer, copied) = move_bytes(self.site.terms.engine, transfer);
            let copied = copied.map_err(|error| match error {
                TransferError::Aborted => Trouble::Aborted,
                error => Trouble::Transfer(error),
            })?;
            let after = transfer.source.meta().tried("look at it")?;
            if !after.same_moment(&before) || copied.bytes != before.size {
                return Err(CHANGED);
            }
            let wanted = metadata::read(&self.site, &*transfer.source, before)?;
            metadata::apply(&self.site, &*transfer.target, &wanted, Age::New)?;
            let meta = transfer.target.meta().tried("look at the new file")?;
            if self.site.sync_way(meta.device) == SyncWay::Each {
                transfer.target.sync().tried("make the new file durable")?;
            }
            self.site.meters.end_file(copied.bytes);
            Ok((meta, copied.digest))
        })();
        match filled {
            Ok((meta, digest)) => {
                (staged.meta, staged.digest) = (meta, digest);
                Ok(staged)
            }
            Err(trouble) => {
                Self::discard(&staged, to);
                Err(trouble)
            }
        }
    }

    /// A symlink or special file, which is never opened.
    fn node(&self, from: &Dir, name: &[u8], observed: &Meta, to: &Dir) -> Result<Staged, Trouble> {
        let source = from.node(name).tried("look at it")?;
        let meta = source.meta().tried("look at it")?;
        if !meta.same_moment(observed) {
            return Err(CHANGED);
        }
        let stage = self.stage_name();
        if meta.kind == Kind::Symlink {
            let text = from.read_link(name).tried("read the symlink")?;
            to.make_symlink(stage.as_bytes(), &text).tried("make the symlink")?;
        } else {
            to.make_special(stage.as_bytes(), meta.kind, meta.special).tried("make the special file")?;
        }
        let mut staged = Staged { name: stage, meta, digest: None };
        let dressed = (|| {
            let wanted = metadata::read(&self.site, &source, meta)?;
            let node = to.node(staged.name.as_bytes()).tried("look at the new entry")?;
            metadata::apply(&self.site, &node, &wanted, Age::New)?;
            node.meta().tried("look at the new entry")
        })();
        match dressed {
            Ok(meta) => {
                staged.meta = meta;
                Ok(staged)
            }
            Err(trouble) => {
                Self::discard(&staged, to);
                Err(trouble)
            }
        }
    }
}

/// Renames to a name that must be free, also where the place cannot do so in one step.
fn rename_new(directory: &Dir, stage: &[u8], name: &[u8]) -> io::Result<()> {
    match directory.rename(stage, directory, name, RenameMode::NoReplace) {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            if directory.find(name)?.is_some() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            directory.rename(stage, directory, name, RenameMode::Replace)
        }
        renamed => renamed,
    }
}
