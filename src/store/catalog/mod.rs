//! `catalog.db`: what the destination holds and since when, and what was displaced when. Only the run's thread uses it.
//!
//! SQLite does its own I/O, outside the fault point and by path. So the path is the real one, checked to lead to the very folder that
//! Twinlane has open; the file is made by Twinlane; nothing of SQLite's is followed if it is a symlink. SQLite's own
//! locks are off: `.twinlane/lock` is what counts.

use std::path::PathBuf;

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, params};

mod change;
mod past;
mod read_back;
mod view;

pub use change::Change;
pub use past::{Loss, Past, Span, Whereabouts};
pub use read_back::{ReadBack, ReadBackOf};
pub use view::{Displacement, EntryRow, Next, Source, View};

use super::{Store, StoreError, failed};
use crate::platform::{Attributes as _, Dir, open_root, path_bytes};
use crate::value::{Digest, Kind, RelPath, RunId, Stamp};

const CATALOG: &[u8] = b"catalog.db";
/// What SQLite keeps beside a database.
const COMPANIONS: [&[u8]; 3] = [b"catalog.db-wal", b"catalog.db-journal", b"catalog.db-shm"];
/// `user_version` of the schema written.
const SCHEMA_VERSION: i64 = 2;
/// SQLite takes paths of 512 bytes, and adds the ends of its companions' names (`MAX_PATHNAME`, `os_unix.c`).
const PATH_BYTES_MAX: usize = 500;

/// 8 MiB of pages; WAL, so that a batch costs no sync and a power cut no damage; syncs at checkpoints.
const SETTINGS: &str = "
    PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA cache_size = -8192;
    PRAGMA temp_store = MEMORY;
    PRAGMA trusted_schema = OFF;
";

/// Paths are bytes; times are seconds and nanoseconds; unsigned 64-bit numbers are stored as the signed ones with the same bits.
const SCHEMA: &str = "
    CREATE TABLE entries (
        path BLOB PRIMARY KEY, kind TEXT NOT NULL, size INTEGER NOT NULL,
        mtime_s INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime_s INTEGER NOT NULL, ctime_ns INTEGER NOT NULL,
        inode INTEGER NOT NULL, digest BLOB, since TEXT NOT NULL, read_back TEXT, wrong TEXT
    ) WITHOUT ROWID;
    CREATE TABLE displaced (
        path BLOB NOT NULL, run TEXT NOT NULL, kind TEXT NOT NULL, size INTEGER NOT NULL,
        mtime_s INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, digest BLOB, since TEXT, kept INTEGER NOT NULL,
        moved_to BLOB, read_back TEXT, wrong TEXT, PRIMARY KEY (path, run)
    ) WITHOUT ROWID;
    CREATE TABLE runs (run TEXT PRIMARY KEY, complete INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE rounds (began TEXT PRIMARY KEY) WITHOUT ROWID;
    PRAGMA user_version = 2;
";

/// From schema 1: nothing had been moved, nor verified.
const UPGRADE: &str = "
    ALTER TABLE entries ADD COLUMN wrong TEXT;
    ALTER TABLE displaced ADD COLUMN moved_to BLOB;
    ALTER TABLE displaced ADD COLUMN read_back TEXT;
    ALTER TABLE displaced ADD COLUMN wrong TEXT;
    CREATE TABLE rounds (began TEXT PRIMARY KEY) WITHOUT ROWID;
    PRAGMA user_version = 2;
";

/// The open catalog.
#[derive(Debug)]
pub struct Catalog {
    home: Dir,
    run: RunId,
    /// None where no catalog can be kept.
    connection: Option<Connection>,
    message: Option<String>,
}

/// What the catalog knows of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Length in bytes.
    pub size: u64,
    /// mtime, as it was in the destination.
    pub modified: Stamp,
    /// ctime likewise.
    pub changed: Stamp,
    /// Inode likewise.
    pub inode: u64,
    /// Of the bytes that passed through the queues.
    pub digest: Option<Digest>,
    /// The run that brought this content.
    pub since: String,
}

/// Why a catalog cannot be opened as it is.
enum Unusable {
    /// Set aside and made anew.
    Damaged(String),
    Failed(StoreError),
}

fn catalog_error(source: rusqlite::Error) -> StoreError {
    StoreError::Catalog { source }
}

/// Whether the error says that the file is no (longer a) database of ours.
fn is_damage(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => {
            matches!(failure.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
        }
        _ => false,
    }
}

impl Store {
    /// Opens the catalog, making it where it is not there; a damaged one is set aside as `catalog.db.damaged-<run>` and said. For the holder
    /// of the lock. Where `SQLite` cannot reach it (a path of more than 500 bytes), that is said, and what is applied is dropped.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn catalog(&self, run: RunId) -> Result<(Catalog, Option<String>), StoreError> {
        let home = self.home.try_clone().map_err(failed("open", CATALOG))?;
        let mut catalog = Catalog { home, run, connection: None, message: None };
        match catalog.open() {
            Ok(()) => {}
            Err(Unusable::Damaged(reason)) => catalog.rebuild(&reason)?,
            Err(Unusable::Failed(error)) => return Err(error),
        }
        let message = catalog.message.take();
        Ok((catalog, message))
    }
}

impl Catalog {
    /// Applies changes in one transaction, as of `run`. Where the file turns out to be damaged it is set aside, made anew, and said, see
    /// [`Catalog::take_message`].
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn apply(&mut self, run: RunId, changes: &[Change]) -> Result<(), StoreError> {
        self.healing(|connection| change::apply(connection, run, changes))
    }

    /// Marks the run as complete, and makes the catalog durable.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn complete(&mut self, run: RunId) -> Result<(), StoreError> {
        self.healing(|connection| {
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.execute(
                "INSERT OR REPLACE INTO runs (run, complete) VALUES (?1, 1)",
                params![run.to_string()],
            )?;
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
            connection.pragma_update(None, "synchronous", "NORMAL")
        })
    }

    /// What is known of one entry.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn record(&self, path: &RelPath) -> Result<Option<Record>, StoreError> {
        const QUERY: &str = "SELECT size, mtime_s, mtime_ns, ctime_s, ctime_ns, inode, digest, since
            FROM entries WHERE path = ?1";
        let Some(connection) = &self.connection else { return Ok(None) };
        connection
            .prepare_cached(QUERY)
            .and_then(|mut query| {
                query
                    .query_row(params![path.as_bytes()], |row| {
                        let stamp = |seconds, nanos| {
                            Ok::<_, rusqlite::Error>(Stamp {
                                seconds: row.get(seconds)?,
                                nanos: row.get(nanos)?,
                            })
                        };
                        Ok(Record {
                            size: row.get::<_, i64>(0)?.cast_unsigned(),
                            modified: stamp(1, 2)?,
                            changed: stamp(3, 4)?,
                            inode: row.get::<_, i64>(5)?.cast_unsigned(),
                            digest: row.get::<_, Option<[u8; 32]>>(6)?.map(Digest),
                            since: row.get(7)?,
                        })
                    })
                    .optional()
            })
            .map_err(catalog_error)
    }

    /// Something to tell the user since the last call: that a damaged catalog was set aside.
    pub fn take_message(&mut self) -> Option<String> {
        self.message.take()
    }

    fn healing(
        &mut self,
        mut work: impl FnMut(&mut Connection) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        match work(connection) {
            Err(error) if is_damage(&error) => {
                self.rebuild(&error.to_string())?;
                match &mut self.connection {
                    Some(connection) => work(connection).map_err(catalog_error),
                    None => Ok(()),
                }
            }
            done => done.map_err(catalog_error),
        }
    }

    /// Sets the damaged file and its companions aside, and starts an empty one.
    fn rebuild(&mut self, reason: &str) -> Result<(), StoreError> {
        self.connection = None;
        let end = format!(".damaged-{}", self.run);
        for name in COMPANIONS.iter().chain([&CATALOG]) {
            let mut aside = name.to_vec();
            aside.extend_from_slice(end.as_bytes());
            let renamed = self.home.rename(name, &self.home, &aside, crate::platform::RenameMode::Replace);
            super::optional(renamed).map_err(failed("set aside", name))?;
        }
        let said = format!(
            "the catalog cannot be read ({reason}); it was set aside as `.twinlane/catalog.db{end}` and begun anew"
        );
        match self.open() {
            Ok(()) => {
                self.message = Some(said);
                Ok(())
            }
            Err(Unusable::Failed(error)) => Err(error),
            Err(Unusable::Damaged(reason)) => {
                Err(failed("open", CATALOG)(std::io::Error::new(std::io::ErrorKind::InvalidData, reason)))
            }
        }
    }

    fn open(&mut self) -> Result<(), Unusable> {
        let planted = |name: &[u8]| {
            let kind = self.home.find(name).map_err(failed("look at", name)).map_err(Unusable::Failed)?;
            match kind {
                Some(meta) if meta.kind != Kind::File || meta.links != 1 => {
                    Err(Unusable::Damaged("something else waits under its name".to_owned()))
                }
                found => Ok(found.is_some()),
            }
        };
        for name in COMPANIONS {
            planted(name)?;
        }
        if !planted(CATALOG)? {
            self.home.create_file(CATALOG).map_err(failed("create", CATALOG)).map_err(Unusable::Failed)?;
        }
        let path = Self::path_below(&self.home).map_err(Unusable::Failed)?;
        if path_bytes(&path).len() > PATH_BYTES_MAX {
            self.message = Some("no catalog is kept: its path is too long for SQLite".to_owned());
            return Ok(());
        }
        let opened = connect(&path).map_err(|error| {
            if is_damage(&error) {
                Unusable::Damaged(error.to_string())
            } else {
                Unusable::Failed(catalog_error(error))
            }
        })?;
        self.connection = Some(opened.map_err(Unusable::Damaged)?);
        Ok(())
    }

    /// The catalog's path without symlinks, which SQLite resolves once; checked to lead to the folder that is open.
    fn path_below(home: &Dir) -> Result<PathBuf, StoreError> {
        let elsewhere = || std::io::Error::other("its path leads to another folder by now");
        let (reached, path) = open_root(&home.path_of(b"."))
            .map_err(|error| failed("reach", CATALOG)(std::io::Error::other(error)))?;
        let (reached, own) = reached
            .meta()
            .and_then(|reached| Ok((reached, home.meta()?)))
            .map_err(failed("look at", CATALOG))?;
        if !reached.same_inode(&own) {
            return Err(failed("reach", CATALOG)(elsewhere()));
        }
        Ok(path.join("catalog.db"))
    }
}

/// The connection, with the schema; what is no catalog of this version is said in words.
fn connect(path: &std::path::Path) -> rusqlite::Result<Result<Connection, String>> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = Connection::open_with_flags_and_vfs(path, flags, c"unix-none")?;
    connection.execute_batch(SETTINGS)?;
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match version {
        SCHEMA_VERSION => {}
        0 if tables == 0 => {
            let transaction = connection.transaction()?;
            transaction.execute_batch(SCHEMA)?;
            transaction.commit()?;
        }
        0 => return Ok(Err("it holds tables of another program".to_owned())),
        1 => {
            let transaction = connection.transaction()?;
            transaction.execute_batch(UPGRADE)?;
            transaction.commit()?;
        }
        newer if newer > SCHEMA_VERSION => {
            return Ok(Err(format!("a newer Twinlane wrote it, schema {newer}")));
        }
        other => return Ok(Err(format!("its schema {other} is unknown"))),
    }
    Ok(Ok(connection))
}
