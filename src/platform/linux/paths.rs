//! Files that are reached by a whole path: job files, the state folder. Never used below a job's roots.

use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// A path's bytes.
#[must_use]
pub fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// The path of some bytes.
#[must_use]
pub fn path_from_bytes(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// Reads a text file of at most `bytes_max` bytes.
///
/// # Errors
/// `InvalidData` where it is longer, no UTF-8, or not a regular file; others of opening and reading.
pub fn read_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    String::from_utf8(read_bytes(path, bytes_max)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Reads a file of at most `bytes_max` bytes.
///
/// # Errors
/// `InvalidData` where it is longer, or not a regular file; others of opening and reading.
pub fn read_bytes(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let invalid = |text: &str| io::Error::new(io::ErrorKind::InvalidData, text.to_owned());
    let meta = std::fs::metadata(path)?;
    if meta.is_dir() {
        return Err(invalid("it is a directory"));
    }
    if !meta.is_file() {
        return Err(invalid("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(invalid("it is too large"));
    }
    Ok(bytes)
}

/// Writes a new text file.
///
/// # Errors
/// `AlreadyExists` where the path is taken; others of creating and writing.
pub fn write_new(path: &Path, text: &str) -> io::Result<()> {
    std::fs::OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}

/// Makes a directory, and those above it, for this user alone; one that is there is left as it is.
///
/// # Errors
/// Those of `mkdir(2)`.
pub fn make_directories(path: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// The paths in a directory, sorted; none where it is not there.
///
/// # Errors
/// Others of reading it.
pub fn list_paths(path: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// The path without symlinks, `.` and `..`.
///
/// # Errors
/// Those of `realpath(3)`.
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    std::fs::canonicalize(path)
}

/// Why root must not act on this file: somebody else may write it, or a directory or symlink on the way to it. `None` where it can be
/// trusted. A sticky directory counts as safe for what in it belongs to root.
///
/// # Errors
/// Where a part of the path cannot be looked at.
pub fn untrusted(path: &Path) -> io::Result<Option<String>> {
    /// Group and others may write.
    const WRITABLE: u32 = 0o022;
    const STICKY: u32 = 0o1000;
    let me = rustix::process::geteuid().as_raw();
    let trusted_owner = |uid: u32| uid == 0 || uid == me;
    // The path as written and as resolved: a symlink may be swapped as well as what it points to.
    for path in [path.to_path_buf(), std::fs::canonicalize(path)?] {
        for part in path.ancestors().filter(|part| !part.as_os_str().is_empty()) {
            let meta = std::fs::symlink_metadata(part)?;
            let shown = part.display();
            if !trusted_owner(meta.uid()) {
                return Ok(Some(format!("`{shown}` belongs to user {}", meta.uid())));
            }
            let safe = meta.is_symlink() || meta.is_dir() && meta.mode() & STICKY != 0;
            if !safe && meta.mode() & WRITABLE != 0 {
                return Ok(Some(format!(
                    "`{shown}` may be written by others (mode {:04o})",
                    meta.mode() & 0o7777
                )));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn others_may_not_write_what_root_runs() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("job.yaml");
        write_new(&file, "rules:\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(untrusted(&file).unwrap(), None);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
        assert!(untrusted(&file).unwrap().unwrap().contains("mode 0666"));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(untrusted(&file).unwrap().is_some());
    }

    #[test]
    fn texts_are_bounded_and_utf8() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        std::fs::write(&file, b"12345").unwrap();
        assert_eq!(read_text(&file, 5).unwrap(), "12345");
        assert!(read_text(&file, 4).is_err());
        std::fs::write(&file, b"\xff").unwrap();
        assert!(read_text(&file, 4).is_err());
        assert!(read_text(folder.path(), 4).is_err());
    }
}
