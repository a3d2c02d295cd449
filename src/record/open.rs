//! Finds, makes or sets aside `state.db`.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use crate::platform::{Dir, RenameMode, RootError, make_directories, open_root};
use crate::value::RunId;

use super::RecordError;

const NAME: &str = "state.db";
/// What `SQLite` keeps beside a database in WAL mode.
const COMPANIONS: [&str; 3] = ["", "-wal", "-shm"];
/// Other runs hold the file for milliseconds; a slow disk may make seconds of it.
const BUSY: Duration = Duration::from_secs(30);
/// How often a file that looks damaged is looked at before it is set aside, and how long apart.
const LOOKS_MAX: u32 = 10;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// The format of the tables below, kept in `user_version`.
pub(super) const FORMAT: i64 = 1;

/// Format 1. Paths are bytes; times are nanoseconds since 1970; totals are JSON. Rows of `actions` and `failures` go with
/// their rule, rules with their run.
const TABLES: &str = "
CREATE TABLE rules (
    file BLOB NOT NULL, rule TEXT NOT NULL,
    source_uuid TEXT, last_total INTEGER, runs INTEGER NOT NULL,
    PRIMARY KEY (file, rule)
) WITHOUT ROWID;
CREATE TABLE destinations (
    file BLOB NOT NULL, rule TEXT NOT NULL, id TEXT NOT NULL, turn INTEGER NOT NULL,
    PRIMARY KEY (file, rule, id)
) WITHOUT ROWID;
CREATE TABLE source_mounts (
    file BLOB NOT NULL, rule TEXT NOT NULL, path BLOB NOT NULL,
    PRIMARY KEY (file, rule, path)
) WITHOUT ROWID;
CREATE TABLE runs (
    number INTEGER PRIMARY KEY,
    run TEXT NOT NULL UNIQUE, job TEXT NOT NULL, file BLOB NOT NULL, started INTEGER NOT NULL, ended INTEGER
);
CREATE INDEX runs_of_file ON runs (file, run);
CREATE TABLE run_rules (
    number INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    rule TEXT NOT NULL, mode TEXT NOT NULL, outcome TEXT NOT NULL, exit INTEGER NOT NULL, reason TEXT,
    totals TEXT NOT NULL, done TEXT NOT NULL, bytes INTEGER NOT NULL, failed INTEGER NOT NULL,
    UNIQUE (run, rule)
);
CREATE TABLE failures (
    rule INTEGER NOT NULL REFERENCES run_rules (number) ON DELETE CASCADE,
    place INTEGER NOT NULL, path BLOB NOT NULL, cause TEXT NOT NULL,
    PRIMARY KEY (rule, place)
) WITHOUT ROWID;
CREATE TABLE actions (
    rule INTEGER NOT NULL REFERENCES run_rules (number) ON DELETE CASCADE,
    place INTEGER NOT NULL, action TEXT NOT NULL,
    PRIMARY KEY (rule, place)
) WITHOUT ROWID;
PRAGMA user_version = 1;
";

/// The open state. Several processes may have it open; each change is one transaction.
#[derive(Debug)]
pub struct State {
    pub(super) connection: Connection,
    pub(super) path: PathBuf,
}

/// What opening gave, where the file could be reached at all.
enum Opened {
    Usable(State),
    /// It is no database, no longer one, or another program's.
    Damaged(String),
}

impl State {
    /// Opens the state in `directory`, making both (0700, 0600) where they are not there. A damaged file is set aside as
    /// `state.db.damaged-<run>` and begun anew; the sentence that says so comes second.
    ///
    /// # Errors
    /// See [`RecordError`].
    pub fn open(directory: &Path, run: &RunId) -> Result<(Self, Option<String>), RecordError> {
        let system = |operation, path: &Path| {
            let path = path.to_owned();
            move |source| RecordError::System { operation, path, source }
        };
        make_directories(directory).map_err(system("create", directory))?;
        let (folder, directory) =
            open_root(directory).map_err(|error| system("open", directory)(io::Error::other(error)))?;
        let path = directory.join(NAME);
        let make = || folder.open_or_create_file(NAME.as_bytes()).map_err(system("open", &path));
        make()?;
        // Another process may be making it this very moment: what is damaged stays so.
        let mut looks = 0;
        let reason = loop {
            looks += 1;
            match open(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)? {
                Opened::Usable(state) => return Ok((state, None)),
                Opened::Damaged(reason) if looks == LOOKS_MAX => break reason,
                Opened::Damaged(_) => std::thread::sleep(BETWEEN_LOOKS),
            }
        };
        set_aside(&folder, *run).map_err(system("set aside", &path))?;
        make()?;
        let said = format!(
            "`{}` cannot be read ({reason}); it was set aside as `{NAME}.damaged-{run}`, and history begins anew",
            path.display()
        );
        match open(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)? {
            Opened::Usable(state) => Ok((state, Some(said))),
            Opened::Damaged(reason) => Err(system("open", &path)(io::Error::other(reason))),
        }
    }

    /// Opens the state to look into it: nothing is made or set aside. `None` where there is none, or a damaged one: a run
    /// would begin anew.
    ///
    /// # Errors
    /// See [`RecordError`].
    pub fn open_readonly(directory: &Path) -> Result<Option<Self>, RecordError> {
        let failed =
            |source: io::Error| RecordError::System { operation: "open", path: directory.to_owned(), source };
        let (folder, directory) = match open_root(directory) {
            Err(RootError::Absent { .. }) => return Ok(None),
            opened => opened.map_err(|error| failed(io::Error::other(error)))?,
        };
        match folder.find(NAME.as_bytes()).map_err(failed)? {
            // The first run is making it just now.
            Some(meta) if meta.size == 0 => return Ok(None),
            Some(_) => {}
            None => return Ok(None),
        }
        match open(&directory.join(NAME), OpenFlags::SQLITE_OPEN_READ_ONLY)? {
            Opened::Usable(state) => Ok(Some(state)),
            Opened::Damaged(_) => Ok(None),
        }
    }

    /// Does something in one transaction that is durable on return.
    pub(super) fn write(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), RecordError> {
        let failed = self.failed("write");
        // At once for writing: one that reads first could not wait for another writer.
        let begun = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let done = begun.and_then(|transaction| {
            work(&transaction)?;
            transaction.commit()
        });
        done.map_err(failed)
    }

    pub(super) fn failed(
        &self,
        operation: &'static str,
    ) -> impl FnOnce(rusqlite::Error) -> RecordError + use<> {
        let path = self.path.clone();
        move |source| RecordError::Database { operation, path, source }
    }
}

fn open(path: &Path, access: OpenFlags) -> Result<Opened, RecordError> {
    match connect(path, access) {
        Ok(Ok(connection)) => Ok(Opened::Usable(State { connection, path: path.to_owned() })),
        Ok(Err(Refused::Newer(found))) => {
            Err(RecordError::Newer { path: path.to_owned(), found, known: FORMAT })
        }
        Ok(Err(Refused::Foreign(reason))) => Ok(Opened::Damaged(reason)),
        Err(source) if is_damage(&source) => Ok(Opened::Damaged(source.to_string())),
        Err(source) => Err(RecordError::Database { operation: "open", path: path.to_owned(), source }),
    }
}

/// Why a database that can be opened is not ours to use.
enum Refused {
    Newer(i64),
    Foreign(String),
}

fn connect(path: &Path, access: OpenFlags) -> rusqlite::Result<Result<Connection, Refused>> {
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // Nothing is changed in a file before it is known to be ours.
    match format_of(&connection)? {
        (FORMAT, _) => {}
        (0, 0) if access == OpenFlags::SQLITE_OPEN_READ_WRITE => {}
        (0, _) => return Ok(Err(Refused::Foreign("its tables are not Twinlane's".to_owned()))),
        (found, _) => return Ok(Err(Refused::Newer(found))),
    }
    if access == OpenFlags::SQLITE_OPEN_READ_WRITE {
        // Where a place cannot have a WAL, SQLite says so by the mode it stays in, which serves as well.
        let _mode: String =
            connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
        // An id that was remembered must survive a power cut: without it the next run is refused.
        connection.pragma_update(None, "synchronous", "full")?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if format_of(&transaction)? == (0, 0) {
            transaction.execute_batch(TABLES)?;
        }
        transaction.commit()?;
    }
    // What refuses or allows a run is small and is looked through; of a history that is damaged elsewhere the rest is good.
    for table in ["rules", "destinations", "source_mounts", "runs"] {
        let check = format!("PRAGMA quick_check('{table}')");
        let answer: String = connection.query_row(&check, [], |row| row.get(0))?;
        if answer != "ok" {
            return Ok(Err(Refused::Foreign(answer)));
        }
    }
    Ok(Ok(connection))
}

/// The format, and the number of tables.
fn format_of(connection: &Connection) -> rusqlite::Result<(i64, i64)> {
    let format = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let tables = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok((format, tables))
}

/// Whether the error says that the file is no database, or no longer one.
fn is_damage(error: &rusqlite::Error) -> bool {
    let codes = [ErrorCode::DatabaseCorrupt, ErrorCode::NotADatabase];
    matches!(error, rusqlite::Error::SqliteFailure(failure, _) if codes.contains(&failure.code))
}

fn set_aside(folder: &Dir, run: RunId) -> io::Result<()> {
    for companion in COMPANIONS {
        let name = format!("{NAME}{companion}");
        let aside = format!("{NAME}.damaged-{run}{companion}");
        match folder.rename(name.as_bytes(), folder, aside.as_bytes(), RenameMode::Replace) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
