//! The catalog for those who only read it: `versions`, `restore`, `verify`, and digests for comparing.
//!
//! Readers share `.twinlane/lock`, so nobody writes meanwhile; on a read-only place there is no lock and nobody who could write. What a
//! killed run left in the write-ahead log is read along with the file, and left where it is.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Params, Row, params};

use super::{CATALOG, COMPANIONS, Catalog, SCHEMA_VERSION, catalog_error};
use crate::compare::Digests;
use crate::platform::path_bytes;
use crate::store::home::locked;
use crate::store::{Store, StoreError, failed};
use crate::value::{Digest, Kind, Meta, RelPath, RunId, Stamp};

/// The catalog as it is, for reading; may be asked from several threads.
#[derive(Debug)]
pub struct View {
    connection: Mutex<Connection>,
    /// Whether the file is of the second schema: it knows of moves, and of what `verify` found.
    is_second: bool,
}

/// Where the catalog of a destination is, or why there is none to read.
#[derive(Debug)]
pub enum Source {
    /// It can be asked.
    Open(View),
    /// There is none: no run has written one yet.
    Absent,
    /// It is there and cannot be read; the reason, for people.
    Unreadable(String),
}

/// An entry of the destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryRow {
    /// Where.
    pub path: RelPath,
    /// The word of its kind, see [`Kind::word`](crate::value::Kind::word).
    pub kind: String,
    /// Length in bytes.
    pub size: u64,
    /// mtime as it was in the destination.
    pub modified: Stamp,
    /// ctime likewise.
    pub changed: Stamp,
    /// Inode likewise.
    pub inode: u64,
    /// Of the bytes that passed through the queues, or were read by `verify`.
    pub digest: Option<Digest>,
    /// The run that brought it; `None` where it was there before any run.
    pub since: Option<RunId>,
    /// When its content was last read back and found to be right.
    pub read_back: Option<Stamp>,
    /// When `verify` found that it is not, or that it cannot be read; `None` where it did not, or a run has brought it anew.
    pub wrong: Option<Stamp>,
}

/// Something that a run took from its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Displacement {
    /// The name.
    pub path: RelPath,
    /// The run that took it.
    pub run: RunId,
    /// The word of its kind.
    pub kind: String,
    /// Length in bytes.
    pub size: u64,
    /// mtime.
    pub modified: Stamp,
    /// Of its content, where known.
    pub digest: Option<Digest>,
    /// The run that had brought it; `None` where it was there before any run.
    pub since: Option<RunId>,
    /// Whether that run kept it below `versions/<run>/`; retention may have released it since.
    pub kept: bool,
    /// The name that its content got instead in the same run.
    pub moved_to: Option<RelPath>,
    /// When the version was last read back and found to be right.
    pub read_back: Option<Stamp>,
    /// When `verify` found that it is not, or that it cannot be read.
    pub wrong: Option<Stamp>,
}

impl Store {
    /// Opens the catalog for reading; writes nothing. For holders of the lock, shared or not.
    ///
    /// # Errors
    /// See [`StoreError`], where the system refuses even to look.
    pub fn view(&self) -> Result<Source, StoreError> {
        let size_of = |name: &[u8]| -> Result<Option<u64>, StoreError> {
            let meta = self.home.find(name).map_err(failed("look at", name))?;
            Ok(meta.filter(|meta| meta.kind == Kind::File).map(|meta| meta.size))
        };
        if size_of(CATALOG)?.is_none_or(|bytes| bytes == 0) {
            return Ok(Source::Absent);
        }
        let mut logged = false;
        for name in COMPANIONS {
            logged |= size_of(name)?.is_some_and(|bytes| bytes > 0);
        }
        let path = match Catalog::path_below(&self.home) {
            Ok(path) => path,
            Err(error) => return Ok(Source::Unreadable(error.to_string())),
        };
        Ok(match open(&path, logged) {
            Ok(Ok(view)) => Source::Open(view),
            Ok(Err(reason)) => Source::Unreadable(reason),
            Err(error) => Source::Unreadable(error.to_string()),
        })
    }
}

/// With a log: exclusive mode keeps its index in memory, and closing leaves the log alone. Without one: the file as it is.
fn open(path: &Path, logged: bool) -> rusqlite::Result<Result<View, String>> {
    let common =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = if logged {
        let connection = Connection::open_with_flags_and_vfs(path, common, c"unix-none")?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        connection
    } else {
        let flags = common | OpenFlags::SQLITE_OPEN_URI;
        Connection::open_with_flags_and_vfs(immutable(path), flags, c"unix-none")?
    };
    connection.execute_batch("PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY;")?;
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if !(1..=SCHEMA_VERSION).contains(&version) {
        return Ok(Err(format!("its schema {version} is not one that this Twinlane reads")));
    }
    Ok(Ok(View { connection: Mutex::new(connection), is_second: version > 1 }))
}

/// The URI of a file that nobody changes (<https://www.sqlite.org/uri.html>).
fn immutable(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for byte in path_bytes(path) {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                uri.push(char::from(*byte));
            }
            other => {
                // Writing to a String cannot fail.
                let _ = write!(uri, "%{other:02x}");
            }
        }
    }
    uri + "?immutable=1"
}

/// The columns that [`read_entry`] reads, of every entry.
pub(super) fn entry_query(view: &View) -> String {
    const ENTRY: &str =
        "path, kind, size, mtime_s, mtime_ns, digest, since, ctime_s, ctime_ns, inode, read_back";
    let wrong = if view.is_second { "wrong" } else { "NULL" };
    format!("SELECT {ENTRY}, {wrong} FROM entries")
}

/// The columns that [`read_displacement`] reads, of everything that was displaced.
pub(super) fn displacement_query(view: &View) -> String {
    let second = if view.is_second { "moved_to, read_back, wrong" } else { "NULL, NULL, NULL" };
    format!("SELECT path, kind, size, mtime_s, mtime_ns, digest, since, run, kept, {second} FROM displaced")
}

impl View {
    /// Hands out every entry in the byte order of paths, until `each` says to stop.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn entries(&self, each: &mut dyn FnMut(EntryRow) -> Next) -> Result<(), StoreError> {
        let query = format!("{} ORDER BY path", entry_query(self));
        self.rows(&query, params![], &mut |row| Ok(each(read_entry(row)?)))
    }

    /// What one run took from one name.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn displacement(&self, path: &RelPath, run: RunId) -> Result<Option<Displacement>, StoreError> {
        let query = format!("{} WHERE path = ?1 AND run = ?2", displacement_query(self));
        let connection = locked(&self.connection);
        connection
            .prepare_cached(&query)
            .and_then(|mut query| {
                query.query_row(params![path.as_bytes(), run.to_string()], read_displacement).optional()
            })
            .map_err(catalog_error)
    }

    /// Hands out everything that was displaced, by path, then by run, until `each` says to stop.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn displacements(&self, each: &mut dyn FnMut(Displacement) -> Next) -> Result<(), StoreError> {
        let query = format!("{} ORDER BY path, run", displacement_query(self));
        self.rows(&query, params![], &mut |row| Ok(each(read_displacement(row)?)))
    }

    /// One entry.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn entry(&self, path: &RelPath) -> Result<Option<EntryRow>, StoreError> {
        let connection = locked(&self.connection);
        connection
            .prepare_cached(&format!("{} WHERE path = ?1", entry_query(self)))
            .and_then(|mut query| query.query_row(params![path.as_bytes()], read_entry).optional())
            .map_err(catalog_error)
    }

    /// When the newest round of sampled verifying began: what was read back since then is not due.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn round_began(&self) -> Result<Option<RunId>, StoreError> {
        let mut began = None;
        if self.is_second {
            self.rows("SELECT max(began) FROM rounds", params![], &mut |row| {
                began = run_at(row, 0)?;
                Ok(Next::Stop)
            })?;
        }
        Ok(began)
    }

    /// The runs that were recorded, oldest first, and whether each came to its end.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn runs(&self) -> Result<Vec<(RunId, bool)>, StoreError> {
        let mut runs = Vec::new();
        self.rows("SELECT run, complete FROM runs ORDER BY run", params![], &mut |row| {
            let run: String = row.get(0)?;
            if let Ok(run) = run.parse() {
                runs.push((run, row.get(1)?));
            }
            Ok(Next::On)
        })?;
        Ok(runs)
    }

    pub(super) fn rows(
        &self,
        query: &str,
        bound: impl Params,
        each: &mut dyn FnMut(&Row<'_>) -> rusqlite::Result<Next>,
    ) -> Result<(), StoreError> {
        let connection = locked(&self.connection);
        let mut query = connection.prepare(query).map_err(catalog_error)?;
        let mut rows = query.query(bound).map_err(catalog_error)?;
        while let Some(row) = rows.next().map_err(catalog_error)? {
            if each(row).map_err(catalog_error)? == Next::Stop {
                break;
            }
        }
        Ok(())
    }
}

impl Digests for View {
    /// By size, mtime, ctime and inode. What cannot be read counts as unknown.
    fn digest(&self, path: &RelPath, meta: &Meta) -> Option<Digest> {
        let row = self.entry(path).ok().flatten()?;
        row.is_still(meta).then_some(row.digest).flatten()
    }
}

/// Whether more rows are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// More.
    On,
    /// Enough.
    Stop,
}

impl EntryRow {
    /// Whether an entry of the destination is the one that this row speaks of, untouched.
    #[must_use]
    pub fn is_still(&self, meta: &Meta) -> bool {
        self.kind == meta.kind.word()
            && self.size == meta.size
            && self.modified == meta.modified
            && self.changed == meta.changed
            && self.inode == meta.inode
    }
}

fn path_at(row: &Row<'_>, column: usize) -> rusqlite::Result<RelPath> {
    path_of(column, &row.get::<_, Vec<u8>>(column)?)
}

fn path_of(column: usize, bytes: &[u8]) -> rusqlite::Result<RelPath> {
    RelPath::parse(bytes).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Blob, Box::new(error))
    })
}

fn stamp_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Stamp> {
    Ok(Stamp { seconds: row.get(column)?, nanos: row.get(column + 1)? })
}

fn run_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<RunId>> {
    Ok(row.get::<_, Option<String>>(column)?.and_then(|text| text.parse().ok()))
}

fn digest_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Digest>> {
    Ok(row.get::<_, Option<[u8; 32]>>(column)?.map(Digest))
}

pub(super) fn read_entry(row: &Row<'_>) -> rusqlite::Result<EntryRow> {
    Ok(EntryRow {
        path: path_at(row, 0)?,
        kind: row.get(1)?,
        size: row.get::<_, i64>(2)?.cast_unsigned(),
        modified: stamp_at(row, 3)?,
        digest: digest_at(row, 5)?,
        since: run_at(row, 6)?,
        changed: stamp_at(row, 7)?,
        inode: row.get::<_, i64>(9)?.cast_unsigned(),
        read_back: run_at(row, 10)?.map(RunId::time),
        wrong: run_at(row, 11)?.map(RunId::time),
    })
}

pub(super) fn read_displacement(row: &Row<'_>) -> rusqlite::Result<Displacement> {
    let run: String = row.get(7)?;
    let moved_to = row.get::<_, Option<Vec<u8>>>(9)?;
    Ok(Displacement {
        path: path_at(row, 0)?,
        kind: row.get(1)?,
        size: row.get::<_, i64>(2)?.cast_unsigned(),
        modified: stamp_at(row, 3)?,
        digest: digest_at(row, 5)?,
        since: run_at(row, 6)?,
        run: run.parse().map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(7, rusqlite::types::Type::Text, Box::new(error))
        })?,
        kept: row.get(8)?,
        moved_to: moved_to.map(|bytes| path_of(9, &bytes)).transpose()?,
        read_back: run_at(row, 10)?.map(RunId::time),
        wrong: run_at(row, 11)?.map(RunId::time),
    })
}
