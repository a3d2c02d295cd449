//! Copies under way: a file for each in the state folder, `copies/<run>`, locked as long as its process lives.
//!
//! A copy leaves nothing in its destination that could say whose a stage file is. So it writes down here, before its first write, where it
//! copies to. A mark that is no longer locked is one of a copy that was killed: exactly the stage files of its run, in exactly that place,
//! are to be cleared by the next copy there.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::platform::{
    Access, Attributes as _, Dir, Lock, LockMode, RenameMode, make_directories, open_root,
};
use crate::value::{Meta, Place, RunId, Stamp, from_base64, to_base64};

use super::RecordError;

const FOLDER: &str = "copies";
/// What a mark is called until it is locked and whole.
const UNFINISHED: &str = ".new";
/// A mark holds one path and the names that were asked for; a larger one is damaged.
const MARK_BYTES_MAX: u64 = 16 << 20;
/// Copies that begin in one millisecond; more of them than any machine starts.
const SAME_MOMENT_MAX: u32 = 1000;

/// The directory that a copy writes to. Devices change their numbers when they are attached again, file systems keep their UUIDs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyPlace {
    device: u64,
    inode: u64,
    uuid: Option<String>,
}

impl CopyPlace {
    /// A directory on a place.
    #[must_use]
    pub fn new(directory: &Meta, place: &Place) -> Self {
        Self { device: directory.device, inode: directory.inode, uuid: place.uuid.clone() }
    }

    fn is(&self, other: &Self) -> bool {
        let file_system = match (&self.uuid, &other.uuid) {
            (Some(own), Some(others)) => own == others,
            _ => self.device == other.device,
        };
        file_system && self.inode == other.inode
    }
}

/// The marks of all copies on this machine.
#[derive(Debug)]
pub struct Copies {
    directory: Dir,
    path: PathBuf,
}

/// One mark, held by this process.
#[derive(Debug)]
pub struct CopyMark {
    directory: Dir,
    path: PathBuf,
    name: String,
    run: RunId,
    /// The names in the place that it writes to; `None` for all of it.
    names: Option<Vec<Box<[u8]>>>,
    _lock: Lock,
}

/// What a mark says.
struct Written {
    place: CopyPlace,
    names: Option<Vec<Box<[u8]>>>,
}

impl CopyMark {
    /// The copy's run.
    #[must_use]
    pub fn run(&self) -> RunId {
        self.run
    }

    /// The names in the place that it writes to; `None` for all of it.
    #[must_use]
    pub fn names(&self) -> Option<&[Box<[u8]>]> {
        self.names.as_deref()
    }

    /// Takes the mark away: nothing of the copy is left to be cleared.
    ///
    /// # Errors
    /// [`RecordError::System`].
    pub fn clear(self) -> Result<(), RecordError> {
        match self.directory.remove_file(self.name.as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed("remove", &self.path.join(&self.name))(error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

impl Copies {
    /// Opens the folder of marks in a state folder, making it where it is not there.
    ///
    /// # Errors
    /// [`RecordError::System`].
    pub fn open(state: &Path) -> Result<Self, RecordError> {
        let path = state.join(FOLDER);
        make_directories(&path).map_err(failed("create", &path))?;
        let (directory, _) =
            open_root(&path).map_err(|error| failed("open", &path)(io::Error::other(error)))?;
        Ok(Self { directory, path })
    }

    /// Marks a copy as begun, durably; its run is past all that are marked.
    ///
    /// # Errors
    /// [`RecordError::System`].
    pub fn begin(
        &self,
        now: Stamp,
        place: &CopyPlace,
        names: Option<Vec<Box<[u8]>>>,
    ) -> Result<CopyMark, RecordError> {
        let mut newest = None;
        self.each(|name| newest = newest.max(name.parse().ok()))?;
        let mut run = RunId::at(now, newest);
        for _ in 0..SAME_MOMENT_MAX {
            match self.mark(run, place, names.as_deref()) {
                Ok(lock) => {
                    let directory = self.directory.try_clone().map_err(failed("open", &self.path))?;
                    let (path, name) = (self.path.clone(), run.to_string());
                    return Ok(CopyMark { directory, path, name, run, names, _lock: lock });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    run = RunId::at(now, Some(run));
                }
                Err(error) => return Err(failed("create", &self.path.join(run.to_string()))(error)),
            }
        }
        Err(failed("create", &self.path)(io::ErrorKind::AlreadyExists.into()))
    }

    /// Written and locked under another name first, so that a mark is whole and held from its first moment on.
    fn mark(&self, run: RunId, place: &CopyPlace, names: Option<&[Box<[u8]>]>) -> io::Result<Lock> {
        let name = run.to_string();
        let draft = format!("{name}{UNFINISHED}");
        let file = self.directory.create_file(draft.as_bytes())?;
        let made = (|| {
            let Ok(lock) = Lock::take(file, LockMode::Exclusive)? else {
                return Err(io::ErrorKind::AlreadyExists.into());
            };
            lock.file().write_at(text(place, names).to_string().as_bytes(), 0)?;
            lock.file().sync()?;
            self.directory.rename(
                draft.as_bytes(),
                &self.directory,
                name.as_bytes(),
                RenameMode::NoReplace,
            )?;
            self.directory.sync()?;
            Ok(lock)
        })();
        if made.is_err() {
            // What is left of it holds nothing and is in nobody's way.
            let _ = self.directory.remove_file(draft.as_bytes());
        }
        made
    }

    /// The marks of copies into this place whose processes have died; held, so that no two copies clear after one.
    ///
    /// # Errors
    /// [`RecordError::System`]. A mark that cannot be read is left alone.
    pub fn dead(&self, place: &CopyPlace) -> Result<Vec<CopyMark>, RecordError> {
        let mut names = Vec::new();
        self.each(|name| names.push(name.to_owned()))?;
        names.sort();
        let marks = names.into_iter().filter_map(|name| {
            let run = name.parse().ok()?;
            let (Written { place: found, names }, lock) = self.read(&name).ok().flatten()?;
            let directory = self.directory.try_clone().ok()?;
            found.is(place).then(|| CopyMark {
                directory,
                path: self.path.clone(),
                name,
                run,
                names,
                _lock: lock,
            })
        });
        Ok(marks.collect())
    }

    /// `None` where its copy goes on, or it is none.
    fn read(&self, name: &str) -> io::Result<Option<(Written, Lock)>> {
        let file = self.directory.open_file(name.as_bytes(), Access::Buffered)?;
        let Ok(lock) = Lock::take(file, LockMode::Exclusive)? else { return Ok(None) };
        let size = lock.file().meta()?.size;
        if size > MARK_BYTES_MAX {
            return Ok(None);
        }
        let mut bytes = vec![0; usize::try_from(size).unwrap_or_default()];
        let length = lock.file().read_at(&mut bytes, 0)?;
        bytes.truncate(length);
        Ok(parse(&bytes).map(|written| (written, lock)))
    }

    fn each(&self, mut each: impl FnMut(&str)) -> Result<(), RecordError> {
        self.directory
            .list(|listed| {
                if let Ok(name) = std::str::from_utf8(listed.name) {
                    each(name);
                }
            })
            .map_err(failed("list", &self.path))
    }
}

fn failed(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> RecordError + use<> {
    let path = path.to_path_buf();
    move |source| RecordError::System { operation, path, source }
}

/// Format 1: the place, and names in base64.
fn text(place: &CopyPlace, names: Option<&[Box<[u8]>]>) -> Value {
    json!({
        "format": 1,
        "device": place.device,
        "inode": place.inode,
        "uuid": place.uuid,
        "names": names.map(|names| names.iter().map(|name| to_base64(name)).collect::<Vec<_>>()),
    })
}

fn parse(bytes: &[u8]) -> Option<Written> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    if value.get("format")?.as_u64()? != 1 {
        return None;
    }
    let place = CopyPlace {
        device: value.get("device")?.as_u64()?,
        inode: value.get("inode")?.as_u64()?,
        uuid: value.get("uuid")?.as_str().map(str::to_owned),
    };
    let names = match value.get("names")? {
        Value::Null => None,
        names => {
            let name = |name: &Value| Some(from_base64(name.as_str()?)?.into_boxed_slice());
            Some(names.as_array()?.iter().map(name).collect::<Option<Vec<_>>>()?)
        }
    };
    Some(Written { place, names })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(inode: u64) -> CopyPlace {
        CopyPlace { device: 7, inode, uuid: None }
    }

    fn open(folder: &tempfile::TempDir) -> Copies {
        Copies::open(&folder.path().canonicalize().unwrap().join("state")).unwrap()
    }

    #[test]
    fn a_mark_is_dead_once_nobody_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let copies = open(&folder);
        let names: Option<Vec<Box<[u8]>>> = Some(vec![b"a\xff\n"[..].into()]);
        let mark = copies.begin(Stamp::from_seconds(1), &place(1), names.clone()).unwrap();
        assert!(copies.dead(&place(1)).unwrap().is_empty(), "it is held");
        let run = mark.run();
        drop(mark);
        assert!(copies.dead(&place(2)).unwrap().is_empty(), "another place");
        let dead = copies.dead(&place(1)).unwrap();
        assert_eq!(dead.iter().map(CopyMark::run).collect::<Vec<_>>(), [run]);
        assert_eq!(dead[0].names(), names.as_deref());
        assert!(copies.dead(&place(1)).unwrap().is_empty(), "held by whoever clears");
        for mark in dead {
            mark.clear().unwrap();
        }
        assert!(copies.dead(&place(1)).unwrap().is_empty());
    }

    #[test]
    fn runs_of_one_moment_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let copies = open(&folder);
        let now = Stamp::from_seconds(1);
        let first = copies.begin(now, &place(1), None).unwrap();
        let second = copies.begin(now, &place(1), None).unwrap();
        assert!(second.run() > first.run());
    }

    #[test]
    fn file_systems_are_known_by_their_uuid_when_devices_change() {
        let with = |device, uuid: Option<&str>| CopyPlace { device, inode: 1, uuid: uuid.map(str::to_owned) };
        assert!(with(1, Some("a")).is(&with(2, Some("a"))));
        assert!(!with(1, Some("a")).is(&with(1, Some("b"))));
        assert!(with(1, None).is(&with(1, Some("b"))) && !with(1, None).is(&with(2, None)));
    }

    #[test]
    fn what_is_no_mark_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let copies = open(&folder);
        let path = folder.path().join("state/copies/2026-11-24T013000.123Z");
        std::fs::write(&path, "{}").unwrap();
        assert!(copies.dead(&place(1)).unwrap().is_empty());
        assert!(path.exists());
    }
}
