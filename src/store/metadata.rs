//! Copies of single entries with all their metadata, where a link is refused; and what directories under versions get from their originals.

use std::io;

use crate::platform::{Access, Attributes, Dir, File, Xattr};
use crate::value::{Kind, Meta, RelPath};

/// Content is copied in pieces of this size.
const BLOCK_BYTES: usize = 1 << 20;
/// ACLs of an entry, and those that what is made in a directory gets (`acl(5)`).
const ACLS: [&[u8]; 2] = [b"system.posix_acl_access", b"system.posix_acl_default"];

/// What a directory in the destination looked like when the first of its entries was displaced.
#[derive(Clone, Debug)]
pub(super) struct Original {
    meta: Meta,
    acls: Vec<Xattr>,
}

impl Original {
    /// Of an open directory; `None` where it cannot be looked at.
    pub(super) fn of(directory: &Dir) -> Option<Self> {
        let meta = directory.meta().ok()?;
        let names = Attributes::xattr_names(directory).unwrap_or_default();
        let acls = names.into_iter().filter(|name| ACLS.contains(&&**name)).filter_map(|name| {
            let value = directory.xattr(&name).ok()?;
            Some(Xattr { name, value: value.into() })
        });
        Some(Self { meta, acls: acls.collect() })
    }

    /// Of the directory at a path below a root; `None` where there is none, or it cannot be looked at.
    pub(super) fn at(root: &Dir, path: &RelPath) -> Option<Self> {
        Self::of(&root.open_below(path).ok()?)
    }

    /// Gives owner, mode and ACLs to a directory, as far as this user may and the place holds them.
    pub(super) fn give(&self, directory: &Dir) -> io::Result<()> {
        tolerate(directory.set_owner(self.meta.uid, self.meta.gid))?;
        tolerate(directory.set_mode(self.meta.mode))?;
        for name in ACLS {
            match self.acls.iter().find(|acl| &*acl.name == name) {
                Some(acl) => tolerate(directory.set_xattr(name, &acl.value))?,
                // One that was inherited from the folder above.
                None => tolerate(directory.remove_xattr(name))?,
            }
        }
        Ok(())
    }
}

/// What this user may not set, or the place cannot hold, does not stop a version: its content counts.
fn tolerate(result: io::Result<()>) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    /// `ENODATA`, `errno.h`: there was no such attribute to remove.
    const NO_DATA: i32 = 61;
    match result {
        Err(error)
            if matches!(error.kind(), InvalidInput | PermissionDenied | Unsupported)
                || error.raw_os_error() == Some(NO_DATA) =>
        {
            Ok(())
        }
        result => result,
    }
}

/// Copies an entry that is no directory to a new name, with owner, mode, ACL, extended attributes and times, and makes it
/// durable; the name itself is not. Returns what the entry was. A file that changes meanwhile is an error.
pub(super) fn copy_entry(from: &Dir, name: &[u8], to: &Dir, new: &[u8]) -> io::Result<Meta> {
    let meta = from.stat(name)?;
    match meta.kind {
        Kind::Directory => return Err(io::ErrorKind::IsADirectory.into()),
        Kind::File => {
            let (source, target) = (from.open_file(name, Access::Buffered)?, to.create_file(new)?);
            let before = source.meta()?;
            if !before.same_moment(&meta) {
                return Err(changed());
            }
            copy_content(&source, meta.size, &target)?;
            copy_attributes(&source, &target, &meta)?;
            target.sync()?;
            if !source.meta()?.same_moment(&meta) {
                return Err(changed());
            }
        }
        Kind::Symlink => {
            let text = from.read_link(name)?;
            to.make_symlink(new, &text)?;
            copy_attributes(&from.node(name)?, &to.node(new)?, &meta)?;
        }
        Kind::Fifo | Kind::Socket | Kind::CharDevice | Kind::BlockDevice => {
            to.make_special(new, meta.kind, meta.special)?;
            copy_attributes(&from.node(name)?, &to.node(new)?, &meta)?;
        }
    }
    Ok(meta)
}

fn changed() -> io::Error {
    io::Error::new(io::ErrorKind::StaleNetworkFileHandle, "it changed while it was copied into versions")
}

/// Owner, mode, ACL and other attributes, times, in the order in which none undoes another.
fn copy_attributes(from: &impl Attributes, to: &impl Attributes, meta: &Meta) -> io::Result<()> {
    tolerate(to.set_owner(meta.uid, meta.gid))?;
    if meta.kind != Kind::Symlink {
        tolerate(to.set_mode(meta.mode))?;
    }
    for name in from.xattr_names()? {
        let value = match from.xattr(&name) {
            Ok(value) => value,
            Err(error) => {
                tolerate(Err(error))?;
                continue;
            }
        };
        tolerate(to.set_xattr(&name, &value))?;
    }
    tolerate(to.set_modified(meta.modified))
}

/// Shares the blocks where the place can, else copies the data and leaves the holes.
fn copy_content(source: &File, size: u64, target: &File) -> io::Result<()> {
    if target.clone_from(source).is_ok() {
        return Ok(());
    }
    // First of all: some places take no write beyond a file's end.
    target.set_length(size)?;
    let mut block = vec![0u8; BLOCK_BYTES];
    let mut at = 0;
    while at < size {
        let Some(data) = source.next_data(at)?.filter(|&data| data < size) else { break };
        let end = source.next_hole(data)?.min(size);
        at = data;
        while at < end {
            let wanted = usize::try_from(end - at).unwrap_or(BLOCK_BYTES).min(BLOCK_BYTES);
            let piece = block.get_mut(..wanted).unwrap_or_default();
            let got = source.read_at(piece, at)?;
            if got < wanted {
                return Err(changed());
            }
            target.write_at(piece, at)?;
            at += got as u64;
        }
    }
    Ok(())
}
