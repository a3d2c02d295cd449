//! What runs tell the catalog, and what becomes of its rows.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use crate::value::{Digest, Kind, Meta, RelPath, RunId, Stamp};

/// One change to the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// An entry was brought here by this run, or its content is now this (also a link's).
    Present {
        /// Where.
        path: RelPath,
        /// The destination's entry as it is now.
        meta: Meta,
        /// Digest of the bytes that passed through the queues.
        digest: Option<Digest>,
    },
    /// The entry that was there is there no longer. A directory that was kept went with all below it; one that was not had been emptied.
    Displaced {
        /// Where.
        path: RelPath,
        /// What it was.
        meta: Meta,
        /// Whether content was kept as a version.
        kept: bool,
    },
    /// What a restore into the source replaced there was kept below the run's versions. The destination never held it, so it is of no
    /// moment: it came with the run and went with it.
    Kept {
        /// Where, below either root.
        path: RelPath,
        /// What it was.
        meta: Meta,
    },
    /// The entry's metadata was mended, or it got further names; its content is what it was, and so it is under its further names that the
    /// catalog has. A digest is kept only where it was of the entry as it was before.
    Touched {
        /// Where.
        path: RelPath,
        /// The destination's entry as it was.
        before: Meta,
        /// The destination's entry as it is now.
        meta: Meta,
    },
    /// The entry's content was read back from its device, and was what was written. Said after its `Present`.
    ReadBack {
        /// Where.
        path: RelPath,
    },
    /// The entry got another name; its content is what it was. A digest is kept only where it was of the entry as it was before.
    Moved {
        /// Where it was.
        from: RelPath,
        /// Where it is.
        to: RelPath,
        /// The destination's entry as it was.
        before: Meta,
        /// The destination's entry as it is now.
        meta: Meta,
    },
}

/// Applies changes in their order, in one transaction.
pub(super) fn apply(connection: &mut Connection, run: RunId, changes: &[Change]) -> rusqlite::Result<()> {
    let run = run.to_string();
    let transaction = connection.transaction()?;
    for change in changes {
        match change {
            Change::Present { path, meta, digest } => {
                insert(&transaction, path, meta, *digest, &run)?;
            }
            Change::Displaced { path, meta, kept } => {
                displace(&transaction, &run, path, meta, *kept)?;
                let whole = *kept && meta.kind == Kind::Directory;
                if whole {
                    displace_below(&transaction, &run, path)?;
                }
                forget(&transaction, path, if whole { Extent::Subtree } else { Extent::Entry })?;
            }
            Change::Kept { path, meta } => keep_beside(&transaction, &run, path, meta)?,
            Change::Touched { path, before, meta } => touch(&transaction, path, before, meta)?,
            Change::ReadBack { path } => {
                transaction
                    .prepare_cached("UPDATE entries SET read_back = ?2 WHERE path = ?1")?
                    .execute(params![path.as_bytes(), run])?;
            }
            Change::Moved { from, to, before, meta } => {
                rename(&transaction, &run, (from, before), (to, meta))?;
            }
        }
    }
    touch_further_names(&transaction, changes)?;
    transaction.commit()
}

fn insert(
    transaction: &Transaction<'_>,
    path: &RelPath,
    meta: &Meta,
    digest: Option<Digest>,
    run: &str,
) -> rusqlite::Result<()> {
    const STATEMENT: &str = "INSERT OR REPLACE INTO entries
        (path, kind, size, mtime_s, mtime_ns, ctime_s, ctime_ns, inode, digest, since)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    transaction.prepare_cached(STATEMENT)?.execute(params![
        path.as_bytes(),
        meta.kind.word(),
        meta.size.cast_signed(),
        meta.modified.seconds,
        meta.modified.nanos,
        meta.changed.seconds,
        meta.changed.nanos,
        meta.inode.cast_signed(),
        digest.map(|digest| digest.0),
        run,
    ])?;
    Ok(())
}

/// Somebody else may have changed the content since it was recorded, and the row's digest would come to be taken for that of the new content.
fn touch(transaction: &Transaction<'_>, path: &RelPath, before: &Meta, meta: &Meta) -> rusqlite::Result<()> {
    const FITTING: &str = "UPDATE entries SET digest = NULL, read_back = NULL
        WHERE path = ?1 AND NOT (size = ?2 AND mtime_s = ?3 AND mtime_ns = ?4 AND ctime_s = ?5 AND ctime_ns = ?6 AND inode = ?7)";
    const STATEMENT: &str = "UPDATE entries
        SET size = ?2, mtime_s = ?3, mtime_ns = ?4, ctime_s = ?5, ctime_ns = ?6, inode = ?7 WHERE path = ?1";
    for (statement, meta) in [(FITTING, before), (STATEMENT, meta)] {
        transaction.prepare_cached(statement)?.execute(params![
            path.as_bytes(),
            meta.size.cast_signed(),
            meta.modified.seconds,
            meta.modified.nanos,
            meta.changed.seconds,
            meta.changed.nanos,
            meta.inode.cast_signed(),
        ])?;
    }
    Ok(())
}

/// Brings the rows of files with several names up to what was said of one of them. All of one batch in one pass: there is no index by inode.
fn touch_further_names(transaction: &Transaction<'_>, changes: &[Change]) -> rusqlite::Result<()> {
    let touched: HashMap<i64, (&RelPath, &Meta, &Meta)> = changes
        .iter()
        .filter_map(|change| match change {
            Change::Touched { path, before, meta } if meta.links > 1 => {
                Some((meta.inode.cast_signed(), (path, before, meta)))
            }
            _ => None,
        })
        .collect();
    if touched.is_empty() {
        return Ok(());
    }
    let mut further = Vec::new();
    let mut query = transaction.prepare_cached("SELECT inode, path, size, mtime_s, mtime_ns FROM entries")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let Some((path, before, meta)) = touched.get(&row.get(0)?) else { continue };
        let modified = Stamp { seconds: row.get(3)?, nanos: row.get(4)? };
        if row.get::<_, i64>(2)?.cast_unsigned() != before.size || modified != before.modified {
            continue;
        }
        let name: Vec<u8> = row.get(1)?;
        if let Ok(name) = RelPath::parse(&name)
            && name != **path
        {
            further.push((name, before, meta));
        }
    }
    for (name, before, meta) in further {
        touch(transaction, &name, before, meta)?;
    }
    Ok(())
}

fn displace(
    transaction: &Transaction<'_>,
    run: &str,
    path: &RelPath,
    meta: &Meta,
    kept: bool,
) -> rusqlite::Result<()> {
    const STATEMENT: &str = "INSERT OR REPLACE INTO displaced
        (path, run, kind, size, mtime_s, mtime_ns, kept, moved_to, digest, since)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, NULL,
            (SELECT digest FROM entries WHERE path = ?1 AND size = ?4 AND mtime_s = ?5 AND mtime_ns = ?6),
            (SELECT since FROM entries WHERE path = ?1))";
    transaction.prepare_cached(STATEMENT)?.execute(params![
        path.as_bytes(),
        run,
        meta.kind.word(),
        meta.size.cast_signed(),
        meta.modified.seconds,
        meta.modified.nanos,
        kept,
    ])?;
    Ok(())
}

/// Another name for one content. Two names may change places in one run: what the catalog knows of the one that is told last is held as its
/// displacement meanwhile, and a row of this run is none that the move is about.
fn rename(
    transaction: &Transaction<'_>,
    run: &str,
    (from, before): (&RelPath, &Meta),
    (to, meta): (&RelPath, &Meta),
) -> rusqlite::Result<()> {
    // What is held has no ctime and no inode any more.
    const KNOWN: &str = "SELECT since, CASE WHEN mtime_s = ?4 AND mtime_ns = ?5
            AND (ctime_s IS NULL OR ctime_s = ?6 AND ctime_ns = ?7) THEN digest END FROM
        (SELECT path, since, digest, size, mtime_s, mtime_ns, ctime_s, ctime_ns FROM entries WHERE since <> ?2
        UNION ALL SELECT path, since, digest, size, mtime_s, mtime_ns, NULL, NULL FROM displaced WHERE run = ?2)
        WHERE path = ?1 AND size = ?3 LIMIT 1";
    const MOVED: &str = "INSERT OR REPLACE INTO displaced
        (path, run, kind, size, mtime_s, mtime_ns, kept, moved_to, digest, since)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, ?8, ?9)";
    const HELD: &str = "INSERT OR IGNORE INTO displaced
        (path, run, kind, size, mtime_s, mtime_ns, kept, moved_to, digest, since)
        SELECT path, ?2, kind, size, mtime_s, mtime_ns, 0, NULL, digest, since FROM entries
        WHERE path = ?1 AND since <> ?2";
    let known = transaction
        .prepare_cached(KNOWN)?
        .query_row(
            params![
                from.as_bytes(),
                run,
                before.size.cast_signed(),
                before.modified.seconds,
                before.modified.nanos,
                before.changed.seconds,
                before.changed.nanos,
            ],
            |row| Ok((row.get::<_, Option<String>>(0)?, row.get::<_, Option<[u8; 32]>>(1)?)),
        )
        .optional()?;
    let (since, digest) = known.unwrap_or_default();
    transaction.prepare_cached(MOVED)?.execute(params![
        from.as_bytes(),
        run,
        meta.kind.word(),
        meta.size.cast_signed(),
        meta.modified.seconds,
        meta.modified.nanos,
        to.as_bytes(),
        digest,
        since,
    ])?;
    transaction
        .prepare_cached("DELETE FROM entries WHERE path = ?1 AND since <> ?2")?
        .execute(params![from.as_bytes(), run])?;
    transaction.prepare_cached(HELD)?.execute(params![to.as_bytes(), run])?;
    insert(transaction, to, meta, digest.map(Digest), run)
}

/// What goes with a displaced directory, each entry as one that was kept; what came in this very run was never held.
fn displace_below(transaction: &Transaction<'_>, run: &str, path: &RelPath) -> rusqlite::Result<()> {
    const STATEMENT: &str = "INSERT OR IGNORE INTO displaced
        (path, run, kind, size, mtime_s, mtime_ns, kept, moved_to, digest, since)
        SELECT path, ?1, kind, size, mtime_s, mtime_ns, 1, NULL, digest, since FROM entries
        WHERE path > ?2 AND path < ?3 AND since <> ?1";
    let [from, to] = below(path);
    transaction.prepare_cached(STATEMENT)?.execute(params![run, from, to])?;
    Ok(())
}

fn keep_beside(
    transaction: &Transaction<'_>,
    run: &str,
    path: &RelPath,
    meta: &Meta,
) -> rusqlite::Result<()> {
    const STATEMENT: &str = "INSERT OR REPLACE INTO displaced
        (path, run, kind, size, mtime_s, mtime_ns, kept, moved_to, digest, since)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, NULL, NULL, ?2)";
    transaction.prepare_cached(STATEMENT)?.execute(params![
        path.as_bytes(),
        run,
        meta.kind.word(),
        meta.size.cast_signed(),
        meta.modified.seconds,
        meta.modified.nanos,
    ])?;
    Ok(())
}

/// How much is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// One entry.
    Entry,
    /// All below it too.
    Subtree,
}

fn forget(transaction: &Transaction<'_>, path: &RelPath, extent: Extent) -> rusqlite::Result<()> {
    transaction.prepare_cached("DELETE FROM entries WHERE path = ?1")?.execute(params![path.as_bytes()])?;
    if extent == Extent::Subtree {
        let [from, to] = below(path);
        transaction
            .prepare_cached("DELETE FROM entries WHERE path > ?1 AND path < ?2")?
            .execute(params![from, to])?;
    }
    Ok(())
}

/// Between which bytes everything below a path lies: in byte order between `p/` and `p0`.
pub(super) fn below(path: &RelPath) -> [Vec<u8>; 2] {
    [b'/', b'/' + 1].map(|last| {
        let mut bytes = path.as_bytes().to_vec();
        bytes.push(last);
        bytes
    })
}
