//! Files of Twinlane's own that are reached by a whole path, and are written whole or not at all: plan files.

use std::io::{self, BufRead as _, Read as _};
use std::path::Path;

use super::{Access, Dir, File, RenameMode, open_root, path_bytes};
use crate::platform::random_u128;
use crate::value::Kind;

/// Written at once.
const PIECE_BYTES: usize = 1 << 20;

/// A file in the making: it has a stage name, `.twinlane-new-<random>`, beside the real one until it is published; dropped before
/// that, it is gone.
#[derive(Debug)]
pub struct NewFile {
    directory: Dir,
    name: Vec<u8>,
    stage: Vec<u8>,
    file: File,
    waiting: Vec<u8>,
    written: u64,
    over: RenameMode,
    published: bool,
}

impl NewFile {
    /// Begins a file at an absolute path, readable and writable by this user alone. What is there already is only replaced where it is a
    /// regular file that begins with `beginning`.
    ///
    /// # Errors
    /// `AlreadyExists` for anything else that is there; others of opening its directory and creating.
    pub fn create(path: &Path, beginning: &[u8]) -> io::Result<Self> {
        let name = path.file_name().map(|name| path_bytes(Path::new(name)).to_vec());
        let (Some(name), Some(parent)) = (name, path.parent()) else {
            return Err(io::ErrorKind::InvalidFilename.into());
        };
        let (directory, _) = open_root(parent).map_err(io::Error::other)?;
        let over = match directory.find(&name)? {
            None => RenameMode::NoReplace,
            Some(meta) if meta.kind == Kind::File && begins(&directory, &name, beginning)? => {
                RenameMode::Replace
            }
            Some(_) => return Err(io::ErrorKind::AlreadyExists.into()),
        };
        let stage = format!(".twinlane-new-{:032x}", random_u128()?).into_bytes();
        let file = directory.create_file(&stage)?;
        let waiting = Vec::with_capacity(PIECE_BYTES);
        Ok(Self { directory, name, stage, file, waiting, written: 0, over, published: false })
    }

    /// Adds bytes to its end.
    ///
    /// # Errors
    /// Those of `pwrite(2)`.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= PIECE_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_at(&self.waiting, self.written)?;
        self.written += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }

    /// Gives it its name; on return it is durable.
    ///
    /// # Errors
    /// `AlreadyExists` where something took the name meanwhile; others of writing, `fsync(2)` and `renameat2(2)`.
    pub fn publish(mut self) -> io::Result<()> {
        self.flush()?;
        self.file.sync()?;
        let rename = |mode| self.directory.rename(&self.stage, &self.directory, &self.name, mode);
        match rename(self.over) {
            // The file system has no such mode: looking is the best that can be done.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                if self.directory.find(&self.name)?.is_some() {
                    return Err(io::ErrorKind::AlreadyExists.into());
                }
                rename(RenameMode::Replace)?;
            }
            renamed => renamed?,
        }
        self.published = true;
        self.directory.sync()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.published {
            // What stays is a hidden file that nobody reads.
            let _ = self.directory.remove_file(&self.stage);
        }
    }
}

fn begins(directory: &Dir, name: &[u8], beginning: &[u8]) -> io::Result<bool> {
    let file = directory.open_file(name, Access::Buffered)?;
    let mut bytes = vec![0; beginning.len()];
    let got = file.read_at(&mut bytes, 0)?;
    Ok(bytes.get(..got) == Some(beginning))
}

/// Whether a path leads to a regular file that begins with these bytes.
///
/// # Errors
/// Those of opening and reading it, but that it is not there.
pub fn begins_with(path: &Path, beginning: &[u8]) -> io::Result<bool> {
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_file() => {}
        Ok(_) => return Ok(false),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(false);
        }
        Err(error) => return Err(error),
    }
    let mut bytes = Vec::with_capacity(beginning.len());
    std::fs::File::open(path)?.take(beginning.len() as u64).read_to_end(&mut bytes)?;
    Ok(bytes == beginning)
}

/// Reads a regular file line by line, each with its end, until one is refused; what the last one said is returned. A line of more than
/// `line_bytes_max` bytes is handed over cut off there, and is the last one.
///
/// # Errors
/// `InvalidData` where it is not a regular file; others of opening and reading.
pub fn read_lines<E>(
    path: &Path,
    line_bytes_max: usize,
    each: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> io::Result<Result<(), E>> {
    let invalid = |text: &str| io::Error::new(io::ErrorKind::InvalidData, text.to_owned());
    let meta = std::fs::metadata(path)?;
    if meta.is_dir() {
        return Err(invalid("it is a directory"));
    }
    if !meta.is_file() {
        return Err(invalid("it is not a regular file"));
    }
    let mut reader = io::BufReader::with_capacity(PIECE_BYTES, std::fs::File::open(path)?);
    let mut line = Vec::new();
    loop {
        line.clear();
        let got = reader.by_ref().take(line_bytes_max as u64).read_until(b'\n', &mut line)?;
        if got == 0 {
            return Ok(Ok(()));
        }
        if let Err(refused) = each(&line) {
            return Ok(Err(refused));
        }
        if got == line_bytes_max && line.last() != Some(&b'\n') {
            return Ok(Ok(()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt as _;

    #[test]
    fn a_new_file_is_whole_private_and_replaces_its_own_kind_alone() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let path = base.join("plan");
        let write = |text: &[u8]| -> io::Result<()> {
            let mut file = NewFile::create(&path, b"ours")?;
            file.write(text)?;
            file.publish()
        };
        write(b"ours 1").unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        write(b"ours 2").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"ours 2");
        drop(NewFile::create(&path, b"ours").unwrap());
        std::fs::write(&path, "theirs").unwrap();
        assert_eq!(write(b"ours 3").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("elsewhere", &path).unwrap();
        assert_eq!(write(b"ours 3").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        std::fs::remove_file(&path).unwrap();
        let mut late = NewFile::create(&path, b"ours").unwrap();
        std::fs::write(&path, "theirs").unwrap();
        late.write(b"ours").unwrap();
        assert_eq!(late.publish().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
        assert_eq!(std::fs::read_dir(&base).unwrap().count(), 1, "stages stay");
    }

    #[test]
    fn lines_are_bounded_and_come_from_regular_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "one\ntwo\nsomewhat longer\n").unwrap();
        let read = |max: usize| {
            let mut lines: Vec<Vec<u8>> = Vec::new();
            let mut each = |line: &[u8]| -> Result<(), ()> {
                lines.push(line.to_vec());
                if line == b"stop" { Err(()) } else { Ok(()) }
            };
            let ended = read_lines(&path, max, &mut each);
            ended.map(|ended| (ended, lines))
        };
        assert_eq!(read(100).unwrap().1.len(), 3);
        assert_eq!(read(8).unwrap().1, [b"one\n".to_vec(), b"two\n".to_vec(), b"somewhat".to_vec()]);
        assert!(begins_with(&path, b"one").unwrap() && !begins_with(&path, b"two").unwrap());
        assert!(!begins_with(&folder.path().join("gone"), b"one").unwrap());
        assert!(read_lines::<()>(folder.path(), 8, &mut |_| Ok(())).is_err());
        std::fs::write(&path, "stop").unwrap();
        assert_eq!(read(8).unwrap().0, Err(()));
    }
}
