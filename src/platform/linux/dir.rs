//! An open directory: everything below a root happens relative to one of these.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, RenameFlags, ResolveFlags};
use rustix::io::Errno;

use super::{Access, Attributes as _, File, Node, Xattr, attributes, raw, statx};
use crate::platform::fault::{self, Call};
use crate::value::{Kind, Meta, RelPath, Stamp};

/// A handle to a directory, opened for listing.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
}

/// One name of a listing.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'a> {
    /// The name, without `.` and `..`.
    pub name: &'a [u8],
    /// Its kind, where the file system says it in the listing.
    pub kind: Option<Kind>,
}

/// How a rename treats an entry that has the new name already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenameMode {
    /// It is replaced in one step; a directory only by a directory, and only when empty.
    Replace,
    /// The rename fails with `EEXIST`.
    NoReplace,
    /// Both names swap what they stand for (`RENAME_EXCHANGE`).
    Exchange,
}

/// Bytes of a listing asked for at once.
const LIST_BYTES: usize = 32 * 1024;

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK);

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Dir {
    pub(super) fn from_fd(fd: OwnedFd) -> Self {
        Self { fd }
    }

    /// A second handle to the same directory.
    ///
    /// # Errors
    /// Too many open files.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { fd: self.fd.try_clone()? })
    }

    /// Opens a directory of this one; a symlink is refused with `ELOOP` or `ENOTDIR`.
    ///
    /// # Errors
    /// Those of `openat(2)`.
    pub fn open_dir(&self, name: &[u8]) -> io::Result<Self> {
        fault::pass_read(Call::Open, name)?;
        Ok(Self { fd: rustix::fs::openat(&self.fd, name, DIRECTORY, Mode::empty())? })
    }

    /// Opens a directory any number of levels below, following no symlink and never leaving this directory
    /// (`openat2`, in pieces where the path is longer than the system takes at once).
    ///
    /// # Errors
    /// Those of `openat2(2)`; `ELOOP` at a symlink.
    pub fn open_below(&self, path: &RelPath) -> io::Result<Self> {
        /// Well below `PATH_MAX`, 4096.
        const PIECE_BYTES_MAX: usize = 3072;
        let mut at = self.try_clone()?;
        let mut piece: Vec<u8> = Vec::new();
        for name in path.components() {
            if !piece.is_empty() && piece.len() + name.len() > PIECE_BYTES_MAX {
                at = at.open_piece(&piece)?;
                piece.clear();
            }
            if !piece.is_empty() {
                piece.push(b'/');
            }
            piece.extend_from_slice(name);
        }
        if piece.is_empty() { Ok(at) } else { at.open_piece(&piece) }
    }

    fn open_piece(&self, path: &[u8]) -> io::Result<Self> {
        fault::pass_read(Call::Open, path)?;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let opened = rustix::io::retry_on_intr(|| {
            rustix::fs::openat2(
                &self.fd,
                path,
                DIRECTORY.difference(OFlags::NOFOLLOW),
                Mode::empty(),
                resolve,
            )
        });
        match opened {
            Ok(fd) => Ok(Self { fd }),
            // Refused by a seccomp filter or an old kernel: name by name does the same.
            Err(Errno::NOSYS | Errno::PERM) => {
                let mut at = self.try_clone()?;
                for name in path.split(|&byte| byte == b'/') {
                    at = at.open_dir(name)?;
                }
                Ok(at)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Calls `each` for every name of the directory, in the file system's order. Works on a description of its own, so
    /// that handles which share one do not disturb each other.
    ///
    /// # Errors
    /// Those of `openat(2)` and `getdents64(2)`; what was called before the error was a part of the directory.
    pub fn list(&self, mut each: impl FnMut(Listed<'_>)) -> io::Result<()> {
        let fd = rustix::fs::openat(&self.fd, c".", DIRECTORY, Mode::empty())?;
        let mut buffer = vec![MaybeUninit::<u8>::uninit(); LIST_BYTES];
        let mut names = RawDir::new(fd, &mut buffer);
        loop {
            if names.is_buffer_empty() {
                fault::pass_read(Call::List, b"")?;
            }
            let Some(entry) = names.next() else { return Ok(()) };
            let entry = match entry {
                Ok(entry) => entry,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                each(Listed { name, kind: statx::kind_of(entry.file_type()) });
            }
        }
    }

    /// Metadata of one name, never following a symlink.
    ///
    /// # Errors
    /// Those of `statx(2)`.
    pub fn stat(&self, name: &[u8]) -> io::Result<Meta> {
        statx::stat_at(&self.fd, name)
    }

    /// Metadata of one name, `None` where there is none (`ENOENT`, or `ENOTDIR` above it).
    ///
    /// # Errors
    /// Others of `statx(2)`.
    pub fn find(&self, name: &[u8]) -> io::Result<Option<Meta>> {
        match self.stat(name) {
            Ok(meta) => Ok(Some(meta)),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// When the entry of a name was made; `None` where the file system does not know.
    ///
    /// # Errors
    /// Those of `statx(2)`.
    pub fn born(&self, name: &[u8]) -> io::Result<Option<Stamp>> {
        statx::born_at(&self.fd, name)
    }

    /// The text of a symlink.
    ///
    /// # Errors
    /// `EINVAL` where it is none; others of `readlinkat(2)`.
    pub fn read_link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        fault::pass_read(Call::ReadLink, name)?;
        Ok(rustix::fs::readlinkat(&self.fd, name, Vec::new())?.into_bytes())
    }

    /// A metadata handle to an entry of any kind; nothing is opened, nothing followed.
    ///
    /// # Errors
    /// Those of `openat(2)`.
    pub fn node(&self, name: &[u8]) -> io::Result<Node> {
        fault::pass_read(Call::Open, name)?;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Node::new(rustix::fs::openat(&self.fd, name, flags, Mode::empty())?))
    }

    /// Opens a regular file for reading, without following a symlink, without blocking on a FIFO and, where allowed, without
    /// touching its atime. Check the handle's metadata before reading: the name may have changed its kind.
    ///
    /// # Errors
    /// `EINVAL` where `Access::Direct` is refused by the place; others of `openat(2)`.
    pub fn open_file(&self, name: &[u8], access: Access) -> io::Result<File> {
        fault::pass_read(Call::Open, name)?;
        let direct = if access == Access::Direct { OFlags::DIRECT } else { OFlags::empty() };
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | direct;
        let fd = match rustix::fs::openat(&self.fd, name, flags | OFlags::NOATIME, Mode::empty()) {
            Err(Errno::PERM) => rustix::fs::openat(&self.fd, name, flags, Mode::empty())?,
            opened => opened?,
        };
        Ok(File::new(fd))
    }

    /// Makes a new regular file, readable and writable by this user alone, and opens it for reading and writing.
    ///
    /// # Errors
    /// `EEXIST` where the name is taken, by a symlink too; others of `openat(2)`.
    pub fn create_file(&self, name: &[u8]) -> io::Result<File> {
        fault::pass(Call::Create, name)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::new(rustix::fs::openat(&self.fd, name, flags, Mode::from_raw_mode(0o600))?))
    }

    /// Opens a file that Twinlane itself keeps (lock, id), making it where there is none; read and write, this user alone.
    ///
    /// # Errors
    /// `ELOOP` where a symlink waits there; others of `openat(2)`.
    pub fn open_or_create_file(&self, name: &[u8]) -> io::Result<File> {
        fault::pass(Call::Create, name)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        Ok(File::new(rustix::fs::openat(&self.fd, name, flags, Mode::from_raw_mode(0o600))?))
    }

    /// Makes a directory with these permissions (less the process's umask).
    ///
    /// # Errors
    /// `EEXIST` where the name is taken; others of `mkdirat(2)`.
    pub fn make_dir(&self, name: &[u8], mode: u16) -> io::Result<()> {
        fault::pass(Call::MakeDirectory, name)?;
        Ok(rustix::fs::mkdirat(&self.fd, name, Mode::from_raw_mode(u32::from(mode)))?)
    }

    /// Makes a symlink with this text.
    ///
    /// # Errors
    /// Those of `symlinkat(2)`.
    pub fn make_symlink(&self, name: &[u8], text: &[u8]) -> io::Result<()> {
        fault::pass(Call::Symlink, name)?;
        Ok(rustix::fs::symlinkat(text, &self.fd, name)?)
    }

    /// Makes a FIFO, socket or device node, for this user alone.
    ///
    /// # Errors
    /// `EPERM` for devices without root; others of `mknodat(2)`; `EINVAL` for kinds that are no special file.
    pub fn make_special(&self, name: &[u8], kind: Kind, special: u64) -> io::Result<()> {
        let file_type = match kind {
            Kind::Fifo => FileType::Fifo,
            Kind::Socket => FileType::Socket,
            Kind::CharDevice => FileType::CharacterDevice,
            Kind::BlockDevice => FileType::BlockDevice,
            Kind::File | Kind::Directory | Kind::Symlink => return Err(Errno::INVAL.into()),
        };
        fault::pass(Call::MakeNode, name)?;
        Ok(rustix::fs::mknodat(&self.fd, name, file_type, Mode::from_raw_mode(0o600), special)?)
    }

    /// Gives the inode under `name` (a symlink itself, not what it points to) the further name `new` in `to`.
    ///
    /// # Errors
    /// `EEXIST`, `EXDEV`, `EMLINK`, `EPERM`; others of `linkat(2)`.
    pub fn hard_link(&self, name: &[u8], to: &Self, new: &[u8]) -> io::Result<()> {
        fault::pass(Call::Link, new)?;
        Ok(rustix::fs::linkat(&self.fd, name, &to.fd, new, AtFlags::empty())?)
    }

    /// Renames `name` to `new` in `to`.
    ///
    /// # Errors
    /// `EINVAL` where the file system lacks the mode; others of `renameat2(2)`.
    pub fn rename(&self, name: &[u8], to: &Self, new: &[u8], mode: RenameMode) -> io::Result<()> {
        fault::pass(Call::Rename, new)?;
        let flags = match mode {
            RenameMode::Replace => return Ok(rustix::fs::renameat(&self.fd, name, &to.fd, new)?),
            RenameMode::NoReplace => RenameFlags::NOREPLACE,
            RenameMode::Exchange => RenameFlags::EXCHANGE,
        };
        Ok(rustix::fs::renameat_with(&self.fd, name, &to.fd, new, flags)?)
    }

    /// Takes a name that is not a directory away.
    ///
    /// # Errors
    /// Those of `unlinkat(2)`.
    pub fn remove_file(&self, name: &[u8]) -> io::Result<()> {
        fault::pass(Call::Unlink, name)?;
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    /// Takes an empty directory away.
    ///
    /// # Errors
    /// `ENOTEMPTY`; others of `unlinkat(2)`.
    pub fn remove_dir(&self, name: &[u8]) -> io::Result<()> {
        fault::pass(Call::RemoveDirectory, name)?;
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR)?)
    }

    /// Names of an entry's extended attributes, sorted, by one call and without opening it.
    ///
    /// # Errors
    /// Those of `llistxattr(2)`, except `ENOTSUP`.
    pub fn xattr_names(&self, name: &[u8]) -> io::Result<Vec<Box<[u8]>>> {
        fault::pass_read(Call::GetXattr, name)?;
        // Most entries have none, or a few: no room is taken from the heap for these.
        let mut buffer = [0; 256];
        match raw::list_xattr_at(&self.fd, name, &mut buffer) {
            Some(Ok(0) | Err(Errno::OPNOTSUPP)) => return Ok(Vec::new()),
            Some(Ok(length)) => {
                let list = buffer.get(..length).unwrap_or_default();
                return attributes::split_names(Ok(list.to_vec()));
            }
            Some(Err(Errno::RANGE)) | None => {}
            Some(Err(error)) => return Err(error.into()),
        }
        let path = self.magic_path(name);
        attributes::split_names(attributes::with_room(|buffer| rustix::fs::llistxattr(&*path, buffer)))
    }

    /// The extended attributes of an entry whose names are `wanted`, through one handle that is checked to be `of` this inode.
    ///
    /// # Errors
    /// Those of `fgetxattr(2)`, `ESTALE` where the name stands for another inode by now.
    pub fn xattrs(&self, name: &[u8], of: &Meta, wanted: &[Box<[u8]>]) -> io::Result<Vec<Xattr>> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let node = self.node(name)?;
        if !node.meta()?.same_inode(of) {
            return Err(Errno::STALE.into());
        }
        wanted
            .iter()
            .map(|wanted| Ok(Xattr { name: wanted.clone(), value: node.xattr(wanted)?.into() }))
            .collect()
    }

    /// The path of a name through this handle's magic link: one component below an inode that is already open.
    fn magic_path(&self, name: &[u8]) -> Vec<u8> {
        let mut path = format!("/proc/self/fd/{}/", self.fd.as_raw_fd()).into_bytes();
        path.extend_from_slice(name);
        path
    }

    /// The path through which libraries that take paths (SQLite) reach a file of this directory.
    #[must_use]
    pub fn path_of(&self, name: &[u8]) -> std::path::PathBuf {
        super::path_from_bytes(&self.magic_path(name))
    }

    /// Makes the directory's names durable.
    ///
    /// # Errors
    /// Those of `fsync(2)`.
    pub fn sync(&self) -> io::Result<()> {
        fault::pass(Call::Sync, b"")?;
        Ok(rustix::fs::fsync(&self.fd)?)
    }

    /// Makes everything that was written to the file system durable, and reports write errors since this handle was opened
    /// (or last reported).
    ///
    /// # Errors
    /// Those of `syncfs(2)`.
    pub fn sync_file_system(&self) -> io::Result<()> {
        fault::pass(Call::SyncFileSystem, b"")?;
        Ok(rustix::fs::syncfs(&self.fd)?)
    }
}
