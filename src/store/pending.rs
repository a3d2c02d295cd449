//! `partial/<run>/pending`: for each change of kind, one durable line before the exchange, so that recovery can tell the old entry,
//! which stands under the stage name for a moment, from an unused stage.

use std::io;

use serde::{Deserialize, Serialize};

use crate::platform::{Access, Attributes as _, Dir, File};
use crate::value::{Kind, RelPath, RunId, StageName, from_fields, to_fields};

pub(super) const PENDING: &[u8] = b"pending";
const FORMAT: u32 = 1;
/// Some 300,000 lines; a run with more changes of kind than that is damage.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// One announced exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Announced {
    /// The stage name, in the directory of `path`.
    pub(super) stage: StageName,
    /// The name that the new entry gets.
    pub(super) path: RelPath,
    /// Where the old entry goes, below `versions/<run>/`.
    pub(super) version: RelPath,
    /// What the new entry is; the old one is of another kind.
    pub(super) new_kind: Kind,
}

impl Announced {
    pub(super) fn new(stage: &[u8], path: &RelPath, new_kind: Kind) -> io::Result<Self> {
        match StageName::parse(stage) {
            Some(stage) if !path.is_root() => {
                Ok(Self { stage, path: path.clone(), version: path.clone(), new_kind })
            }
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KindWord {
    File,
    Directory,
    Symlink,
    Fifo,
    Socket,
    CharDevice,
    BlockDevice,
}

const KINDS: [(Kind, KindWord); 7] = [
    (Kind::File, KindWord::File),
    (Kind::Directory, KindWord::Directory),
    (Kind::Symlink, KindWord::Symlink),
    (Kind::Fifo, KindWord::Fifo),
    (Kind::Socket, KindWord::Socket),
    (Kind::CharDevice, KindWord::CharDevice),
    (Kind::BlockDevice, KindWord::BlockDevice),
];

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    format: u32,
    stage: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path_b64: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version_b64: Option<String>,
    kind: KindWord,
}

fn write(announced: &Announced) -> io::Result<Vec<u8>> {
    let (path, path_b64) = to_fields(announced.path.as_bytes());
    let (version, version_b64) = to_fields(announced.version.as_bytes());
    let kind = KINDS.iter().find(|(kind, _)| *kind == announced.new_kind).map(|(_, word)| *word);
    let line = Line {
        format: FORMAT,
        stage: announced.stage.to_string(),
        path,
        path_b64,
        version,
        version_b64,
        kind: kind.ok_or(io::ErrorKind::InvalidInput)?,
    };
    let mut text = serde_json::to_vec(&line).map_err(io::Error::other)?;
    text.push(b'\n');
    Ok(text)
}

fn read_line(line: &[u8], run: RunId) -> Option<Announced> {
    let line: Line = serde_json::from_slice(line).ok().filter(|line: &Line| line.format == FORMAT)?;
    let path = |text: Option<&str>, base64: Option<&str>| {
        let path = RelPath::parse(&from_fields(text, base64)?).ok()?;
        (!path.is_root()).then_some(path)
    };
    let word = line.kind as u8;
    Some(Announced {
        // Another run's stage, or a name that is none, is nothing that this run could have announced.
        stage: StageName::parse(line.stage.as_bytes()).filter(|stage| stage.run == run)?,
        path: path(line.path.as_deref(), line.path_b64.as_deref())?,
        version: path(line.version.as_deref(), line.version_b64.as_deref())?,
        new_kind: KINDS.iter().find(|(_, other)| *other as u8 == word)?.0,
    })
}

/// Everything up to the last line's end; what follows was never durable, and its exchange never made.
fn whole_lines(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    bytes.get(..end).unwrap_or_default()
}

/// What a run announced; none where it announced nothing. An error means that no stage of the run may be touched.
pub(super) fn read(marker: &Dir, run: RunId) -> io::Result<Vec<Announced>> {
    let damaged = |text: &'static str| io::Error::new(io::ErrorKind::InvalidData, text);
    match marker.find(PENDING)? {
        None => return Ok(Vec::new()),
        Some(meta) if meta.kind != Kind::File => return Err(damaged("it is not a regular file")),
        Some(meta) if meta.size > FILE_BYTES_MAX => return Err(damaged("it is too long")),
        Some(_) => {}
    }
    let bytes = read_all(&marker.open_file(PENDING, Access::Buffered)?)?;
    whole_lines(&bytes)
        .split_inclusive(|&byte| byte == b'\n')
        .map(|line| read_line(line, run).ok_or_else(|| damaged("a line of it cannot be read")))
        .collect()
}

fn read_all(file: &File) -> io::Result<Vec<u8>> {
    let size = file.meta()?.size.min(FILE_BYTES_MAX);
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
    let got = file.read_at(&mut bytes, 0)?;
    bytes.truncate(got);
    Ok(bytes)
}

/// The open file of announcements.
#[derive(Debug)]
pub(super) struct PendingFile {
    file: File,
    /// Where the last whole line ends.
    end: u64,
    /// The name of a file just made is not durable before its directory was synced.
    unsynced: Option<Dir>,
    /// What stands after `end` could not be cut off: nothing may follow it.
    spoilt: bool,
}

impl PendingFile {
    /// Opens it in a run's marker, making it where it is not there.
    pub(super) fn open(marker: &Dir) -> io::Result<Self> {
        let file = marker.open_or_create_file(PENDING)?;
        let meta = file.meta()?;
        if meta.kind != Kind::File || meta.links != 1 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let end = whole_lines(&read_all(&file)?).len() as u64;
        if meta.size > end {
            file.set_length(end)?;
        }
        Ok(Self { file, end, unsynced: Some(marker.try_clone()?), spoilt: false })
    }

    /// Appends a line; on return it is durable.
    pub(super) fn append(&mut self, announced: &Announced) -> io::Result<()> {
        if self.spoilt {
            return Err(io::Error::other("an earlier line could not be written"));
        }
        let line = write(announced)?;
        let written = self.file.write_at(&line, self.end).and_then(|()| self.file.sync()).and_then(|()| {
            match &self.unsynced {
                Some(marker) => marker.sync(),
                None => Ok(()),
            }
        });
        match written {
            Ok(()) => {
                self.unsynced = None;
                self.end += line.len() as u64;
            }
            Err(_) => self.spoilt = self.file.set_length(self.end).is_err(),
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> RunId {
        "2026-11-24T013000.123Z".parse().unwrap()
    }

    fn announced(path: &[u8], new_kind: Kind) -> Announced {
        let stage = StageName { run: run(), number: 7 }.to_string();
        Announced::new(stage.as_bytes(), &RelPath::parse(path).unwrap(), new_kind).unwrap()
    }

    /// The first format, frozen.
    const FORMAT_1: &str = "{\"format\":1,\"stage\":\".twinlane-2026-11-24T013000.123Z-7\",\"path\":\"a/b\",\"version\":\"a/b\",\"kind\":\"directory\"}\n";

    #[test]
    fn lines_go_both_ways_whatever_the_bytes() {
        assert_eq!(String::from_utf8(write(&announced(b"a/b", Kind::Directory)).unwrap()).unwrap(), FORMAT_1);
        for (kind, _) in KINDS {
            for path in [&b"pending"[..], b"a\nb", b"\xff/\xfe"] {
                let announced = announced(path, kind);
                let line = write(&announced).unwrap();
                assert_eq!(line.iter().position(|&byte| byte == b'\n'), Some(line.len() - 1));
                assert_eq!(read_line(&line, run()), Some(announced));
            }
        }
    }

    #[test]
    fn what_this_run_cannot_have_announced_is_not_read() {
        for (from, to) in [
            ("a/b", "../b"),
            ("\"path\":\"a/b\"", "\"path\":\"\""),
            ("T013000.123Z-7", "T013000.124Z-7"),
            (".twinlane-", "notes-"),
            ("\"format\":1", "\"format\":2"),
            ("\"format\":1", "\"format\":1,\"more\":1"),
        ] {
            assert_eq!(read_line(FORMAT_1.replacen(from, to, 1).as_bytes(), run()), None, "{to}");
        }
    }

    #[test]
    fn a_line_without_its_end_is_ignored_and_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let (marker, _) = crate::platform::open_root(folder.path()).unwrap();
        assert_eq!(read(&marker, run()).unwrap(), []);
        let file = folder.path().join("pending");
        std::fs::write(&file, format!("{FORMAT_1}{}", FORMAT_1.trim_end())).unwrap();
        assert_eq!(read(&marker, run()).unwrap(), [announced(b"a/b", Kind::Directory)]);
        let mut pending = PendingFile::open(&marker).unwrap();
        pending.append(&announced(b"c", Kind::File)).unwrap();
        let both = [announced(b"a/b", Kind::Directory), announced(b"c", Kind::File)];
        assert_eq!(read(&marker, run()).unwrap(), both);
        std::fs::write(&file, "what\n").unwrap();
        assert!(read(&marker, run()).is_err());
    }
}
