//! What a rule is known by: the ids of its destinations, and its source.

use std::path::Path;

use rusqlite::{OptionalExtension as _, params};

use crate::platform::path_bytes;
use crate::value::RelPath;

use super::history::{count_in, count_out};
use super::{KnownRule, RecordError, State};

impl State {
    /// What is known of a rule of a job file; empty where it never ran.
    ///
    /// # Errors
    /// See [`RecordError`].
    pub fn known(&self, file: &Path, rule: &str) -> Result<KnownRule, RecordError> {
        self.read_known(file, rule).map_err(self.failed("read"))
    }

    fn read_known(&self, file: &Path, rule: &str) -> rusqlite::Result<KnownRule> {
        let file = path_bytes(file);
        let known = self
            .connection
            .query_row(
                "SELECT source_uuid, last_total, runs FROM rules WHERE file = ?1 AND rule = ?2",
                params![file, rule],
                |row| {
                    Ok(KnownRule {
                        source_uuid: row.get(0)?,
                        last_total: row.get::<_, Option<i64>>(1)?.map(count_out),
                        runs: count_out(row.get(2)?),
                        ..KnownRule::default()
                    })
                },
            )
            .optional()?;
        let Some(mut known) = known else { return Ok(KnownRule::default()) };
        let mut ids = self
            .connection
            .prepare("SELECT id FROM destinations WHERE file = ?1 AND rule = ?2 ORDER BY turn DESC, id")?;
        known.destination_ids =
            ids.query_map(params![file, rule], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        let mut mounts =
            self.connection.prepare("SELECT path FROM source_mounts WHERE file = ?1 AND rule = ?2")?;
        let mounts = mounts
            .query_map(params![file, rule], |row| row.get::<_, Vec<u8>>(0))?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        known.source_mounts = mounts.iter().filter_map(|path| RelPath::parse(path).ok()).collect();
        known.source_mounts.sort();
        Ok(known)
    }

    /// Adds a destination to those that a rule is known to have, as the last one, and counts the run. Durable on return.
    ///
    /// # Errors
    /// See [`RecordError`].
    pub fn remember_destination(&mut self, file: &Path, rule: &str, id: &str) -> Result<(), RecordError> {
        let file = path_bytes(file);
        self.write(|transaction| {
            transaction.execute(
                "INSERT INTO rules (file, rule, runs) VALUES (?1, ?2, 1) ON CONFLICT DO UPDATE SET runs = runs + 1",
                params![file, rule],
            )?;
            transaction.execute(
                "INSERT INTO destinations (file, rule, id, turn)
                 SELECT ?1, ?2, ?3, runs FROM rules WHERE file = ?1 AND rule = ?2
                 ON CONFLICT DO UPDATE SET turn = excluded.turn",
                params![file, rule, id],
            )?;
            Ok(())
        })
    }

    /// Puts what a run saw of a rule's source in the place of what was known of it: its file system's UUID, and the mount points at and
    /// below its root. Durable on return.
    ///
    /// # Errors
    /// See [`RecordError`].
    pub fn remember_source(
        &mut self,
        file: &Path,
        rule: &str,
        uuid: Option<&str>,
        mounts: &[RelPath],
    ) -> Result<(), RecordError> {
        let file = path_bytes(file);
        self.write(|transaction| {
            transaction.execute(
                "INSERT INTO rules (file, rule, source_uuid, runs) VALUES (?1, ?2, ?3, 0)
                 ON CONFLICT DO UPDATE SET source_uuid = excluded.source_uuid",
                params![file, rule, uuid],
            )?;
            transaction
                .execute("DELETE FROM source_mounts WHERE file = ?1 AND rule = ?2", params![file, rule])?;
            for mount in mounts {
                transaction.execute(
                    "INSERT OR IGNORE INTO source_mounts (file, rule, path) VALUES (?1, ?2, ?3)",
                    params![file, rule, mount.as_bytes()],
                )?;
            }
            Ok(())
        })
    }

    /// Remembers how many entries a rule's destination has inside the filters: the base of percentages for runs that see a part of it
    /// only. Durable on return.
    ///
    /// # Errors
    /// See [`RecordError`].
    pub fn remember_total(&mut self, file: &Path, rule: &str, entries: u64) -> Result<(), RecordError> {
        let file = path_bytes(file);
        self.write(|transaction| {
            transaction.execute(
                "INSERT INTO rules (file, rule, last_total, runs) VALUES (?1, ?2, ?3, 0)
                 ON CONFLICT DO UPDATE SET last_total = excluded.last_total",
                params![file, rule, count_in(entries)],
            )?;
            Ok(())
        })
    }
}
