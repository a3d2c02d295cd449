//! Opening a job's root: the one path that may lead through symlinks.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};

use super::{Attributes as _, Dir, Node, path_bytes, path_from_bytes};
use crate::value::Kind;

/// As many symlinks as the kernel follows (`MAXSYMLINKS`).
const SYMLINKS_MAX: usize = 40;

/// Why a root could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// There is nothing under that path.
    #[error("`{}` does not exist", .path.display())]
    Absent {
        /// The first part of the path that is not there.
        path: PathBuf,
    },
    /// A symlink on the way belongs to somebody else.
    #[error("`{}` is a symlink that belongs to neither root nor the running user", .path.display())]
    ForeignSymlink {
        /// The symlink.
        path: PathBuf,
    },
    /// It is there, but no directory.
    #[error("`{}` is not a directory", .path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot open `{}`", .path.display())]
    System {
        /// The path.
        path: PathBuf,
        /// Its reason.
        #[source]
        source: io::Error,
    },
}

/// Opens a directory by an absolute path. Symlinks on the way are followed where they belong to root or the running
/// user. Returns the handle and the path without symlinks.
///
/// # Errors
/// See [`RootError`].
pub fn open_root(path: &Path) -> Result<(Dir, PathBuf), RootError> {
    let failed = |at: &[u8], source: io::Error| {
        let path = path_from_bytes(if at.is_empty() { b"/" } else { at });
        match source.kind() {
            io::ErrorKind::NotFound => RootError::Absent { path },
            io::ErrorKind::NotADirectory => RootError::NotADirectory { path },
            _ => RootError::System { path, source },
        }
    };
    let root = || open_path(CWD, b"/").map_err(|error| failed(b"/", error));
    let me = rustix::process::geteuid().as_raw();
    let mut stack: Vec<(OwnedFd, usize)> = vec![(root()?, 0)];
    let mut real: Vec<u8> = Vec::new();
    let mut left: Vec<Vec<u8>> = parts_reversed(path_bytes(path));
    let mut symlinks = 0;
    while let Some(name) = left.pop() {
        if name == b".." {
            if stack.len() > 1 {
                stack.pop();
            }
            real.truncate(stack.last().map_or(0, |(_, length)| *length));
            continue;
        }
        let Some((parent, _)) = stack.last() else { break };
        let mut here = real.clone();
        here.push(b'/');
        here.extend_from_slice(&name);
        let fd = open_path(parent, &name).map_err(|error| failed(&here, error))?;
        let node = Node::new(fd.try_clone().map_err(|error| failed(&here, error))?);
        let meta = node.meta().map_err(|error| failed(&here, error))?;
        match meta.kind {
            Kind::Directory => {
                real = here;
                stack.push((fd, real.len()));
            }
            Kind::Symlink => {
                symlinks += 1;
                if meta.uid != 0 && meta.uid != me {
                    return Err(RootError::ForeignSymlink { path: path_from_bytes(&here) });
                }
                if symlinks > SYMLINKS_MAX {
                    return Err(failed(&here, rustix::io::Errno::LOOP.into()));
                }
                let text = rustix::fs::readlinkat(&fd, c"", Vec::new())
                    .map_err(|error| failed(&here, error.into()))?;
                if text.to_bytes().first() == Some(&b'/') {
                    stack = vec![(root()?, 0)];
                    real.clear();
                }
                left.extend(parts_reversed(text.to_bytes()));
            }
            _ => return Err(RootError::NotADirectory { path: path_from_bytes(&here) }),
        }
    }
    let Some((last, _)) = stack.last() else { return Err(failed(&real, io::ErrorKind::NotFound.into())) };
    // The walk held `O_PATH` handles; listing needs a readable one of the same inode.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let readable =
        rustix::fs::openat(last, c".", flags, Mode::empty()).map_err(|error| failed(&real, error.into()))?;
    let real = if real.is_empty() { b"/".to_vec() } else { real };
    Ok((Dir::from_fd(readable), path_from_bytes(&real)))
}

fn open_path(at: impl std::os::fd::AsFd, name: &[u8]) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(at, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?)
}

fn parts_reversed(path: &[u8]) -> Vec<Vec<u8>> {
    path.split(|&byte| byte == b'/')
        .filter(|part| !part.is_empty() && *part != b".")
        .rev()
        .map(<[u8]>::to_vec)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_own_symlinks_and_tells_the_real_path() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("a/b")).unwrap();
        std::os::unix::fs::symlink("../a/b", base.join("a/link")).unwrap();
        std::os::unix::fs::symlink(base.join("a/link"), base.join("absolute")).unwrap();
        let (_, real) = open_root(&base.join("absolute/./..//b/")).unwrap();
        assert_eq!(real, base.join("a/b"));
    }

    #[test]
    fn says_what_is_absent_or_no_directory() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        std::fs::write(base.join("file"), "x").unwrap();
        std::os::unix::fs::symlink("loop", base.join("loop")).unwrap();
        assert!(
            matches!(open_root(&base.join("gone/x")), Err(RootError::Absent { path }) if path == base.join("gone"))
        );
        assert!(matches!(open_root(&base.join("file")), Err(RootError::NotADirectory { .. })));
        assert!(matches!(open_root(&base.join("loop")), Err(RootError::System { .. })));
    }
}
