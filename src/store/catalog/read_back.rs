//! What `verify` remembers in the catalog: what was read back when, digests learnt by it, and what it found wrong.

use rusqlite::{Transaction, params};

use super::Catalog;
use crate::store::StoreError;
use crate::value::{Digest, Meta, RelPath, RunId, Stamp};

/// One file that was read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadBack {
    /// Its name; of a version, the name that it was displaced from.
    pub path: RelPath,
    /// Where it lies.
    pub of: ReadBackOf,
    /// The digest that its content has, `None` where it is not what was recorded or cannot be read: then only that is remembered.
    pub digest: Option<Digest>,
}

/// Where a file that was read back lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadBackOf {
    /// In the destination's tree.
    Tree {
        /// What it was like while it was read.
        meta: Meta,
        /// The mtime that its record says, where it has one: equal to the file's but for what the file system rounds off.
        recorded: Option<Stamp>,
    },
    /// Nowhere: the record of that run is to be forgotten.
    Gone {
        /// The run that its record names, `None` where it was there before any run.
        since: Option<RunId>,
    },
    /// In the versions of this run.
    Version {
        /// The run that displaced it.
        run: RunId,
    },
}

impl Catalog {
    /// Remembers, in one transaction and durably, what `verify` found at `at`. A digest is learnt where none was recorded; an entry that no run
    /// has brought becomes recorded, as there before any run. A record that speaks of other content by now is left as it is.
    /// `round`: that a new round of sampled verifying began then.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn note_read_back(
        &mut self,
        at: RunId,
        round: Option<RunId>,
        read: &[ReadBack],
    ) -> Result<(), StoreError> {
        let at = at.to_string();
        self.healing(|connection| {
            let transaction = connection.transaction()?;
            for file in read {
                match &file.of {
                    ReadBackOf::Tree { meta, recorded } => {
                        note_entry(&transaction, &at, file, meta, recorded.unwrap_or(meta.modified))?;
                    }
                    ReadBackOf::Gone { since } => {
                        let since = since.map(|run| run.to_string()).unwrap_or_default();
                        transaction
                            .prepare_cached("DELETE FROM entries WHERE path = ?1 AND since = ?2")?
                            .execute(params![file.path.as_bytes(), since])?;
                    }
                    ReadBackOf::Version { run } => note_version(&transaction, &at, file, *run)?,
                }
            }
            if let Some(began) = round {
                transaction.execute("DELETE FROM rounds", [])?;
                transaction.execute("INSERT INTO rounds (began) VALUES (?1)", params![began.to_string()])?;
            }
            transaction.commit()?;
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        })
    }
}

fn note_entry(
    transaction: &Transaction<'_>,
    at: &str,
    file: &ReadBack,
    meta: &Meta,
    recorded: Stamp,
) -> rusqlite::Result<()> {
    const RIGHT: &str = "UPDATE entries
        SET ctime_s = ?2, ctime_ns = ?3, inode = ?4, digest = ?5, read_back = ?6, wrong = NULL
        WHERE path = ?1 AND kind = 'file' AND size = ?7 AND mtime_s = ?8 AND mtime_ns = ?9
            AND (digest IS NULL OR digest = ?5)";
    const WRONG: &str = "UPDATE entries SET wrong = ?2
        WHERE path = ?1 AND kind = 'file' AND size = ?3 AND mtime_s = ?4 AND mtime_ns = ?5";
    let (path, size) = (file.path.as_bytes(), meta.size.cast_signed());
    let known = match file.digest {
        Some(digest) => transaction.prepare_cached(RIGHT)?.execute(params![
            path,
            meta.changed.seconds,
            meta.changed.nanos,
            meta.inode.cast_signed(),
            digest.0,
            at,
            size,
            recorded.seconds,
            recorded.nanos,
        ])?,
        None => transaction.prepare_cached(WRONG)?.execute(params![
            path,
            at,
            size,
            recorded.seconds,
            recorded.nanos
        ])?,
    };
    if known == 0 { adopt(transaction, at, file, meta) } else { Ok(()) }
}

/// Records a file that no run has brought, or that was recorded so and has become another since.
fn adopt(transaction: &Transaction<'_>, at: &str, file: &ReadBack, meta: &Meta) -> rusqlite::Result<()> {
    const STATEMENT: &str = "INSERT INTO entries
        (path, kind, size, mtime_s, mtime_ns, ctime_s, ctime_ns, inode, digest, since, read_back, wrong)
        VALUES (?1, 'file', ?2, ?3, ?4, ?5, ?6, ?7, ?8, '', ?9, ?10)
        ON CONFLICT (path) DO UPDATE SET kind = excluded.kind, size = excluded.size,
            mtime_s = excluded.mtime_s, mtime_ns = excluded.mtime_ns, ctime_s = excluded.ctime_s,
            ctime_ns = excluded.ctime_ns, inode = excluded.inode, digest = excluded.digest,
            read_back = excluded.read_back, wrong = excluded.wrong
        WHERE entries.since = ''";
    transaction.prepare_cached(STATEMENT)?.execute(params![
        file.path.as_bytes(),
        meta.size.cast_signed(),
        meta.modified.seconds,
        meta.modified.nanos,
        meta.changed.seconds,
        meta.changed.nanos,
        meta.inode.cast_signed(),
        file.digest.map(|digest| digest.0),
        file.digest.map(|_| at),
        file.digest.is_none().then_some(at),
    ])?;
    Ok(())
}

fn note_version(
    transaction: &Transaction<'_>,
    at: &str,
    file: &ReadBack,
    run: RunId,
) -> rusqlite::Result<()> {
    const RIGHT: &str = "UPDATE displaced SET read_back = ?3, wrong = NULL
        WHERE path = ?1 AND run = ?2 AND digest = ?4";
    const WRONG: &str = "UPDATE displaced SET wrong = ?3 WHERE path = ?1 AND run = ?2";
    let (path, run) = (file.path.as_bytes(), run.to_string());
    match file.digest {
        Some(digest) => transaction.prepare_cached(RIGHT)?.execute(params![path, run, at, digest.0])?,
        None => transaction.prepare_cached(WRONG)?.execute(params![path, run, at])?,
    };
    Ok(())
}
