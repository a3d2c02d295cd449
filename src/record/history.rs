//! Runs: what was begun, how it ended, which actions it did.

use std::path::Path;

use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Row, Transaction, params};

use crate::plan::Totals;
use crate::platform::{path_bytes, path_from_bytes};
use crate::value::{RelPath, RunId, Stamp};

use super::{FAILURES_KEPT, RecordError, RecordedFailure, RuleRecord, RunRecord, State};

/// Runs of one job file that are kept: three years of daily ones.
const RUNS_KEPT: i64 = 1000;
/// Runs of one job file whose single actions are kept; they make up nearly all of the file's size.
const RUNS_KEPT_WITH_ACTIONS: i64 = 10;

impl State {
    /// The newest run of any job, to bump past.
    ///
    /// # Errors
    /// See [`RecordError`].
    pub fn newest_run(&self) -> Result<Option<RunId>, RecordError> {
        let newest = self
            .connection
            .query_row("SELECT run FROM runs ORDER BY run DESC LIMIT 1", [], |row| row.get::<_, String>(0))
            .optional()
            .map_err(self.failed("read"))?;
        Ok(newest.and_then(|text| text.parse().ok()))
    }

    /// Writes down that a run begins, so that its id is taken and a kill leaves a trace. Durable on return.
    ///
    /// # Errors
    /// `Taken` where another run has that id; others of [`RecordError`].
    pub fn begin(&mut self, run: RunId, job: &str, job_file: &Path, at: Stamp) -> Result<(), RecordError> {
        let begun = self.connection.execute(
            "INSERT INTO runs (run, job, file, started) VALUES (?1, ?2, ?3, ?4)",
            params![run.to_string(), job, path_bytes(job_file), time_in(at)],
        );
        match begun {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                Err(RecordError::Taken { run })
            }
            begun => begun.map(drop).map_err(self.failed("write")),
        }
    }

    /// Writes down how a run ended, or how far it has come. Durable on return. Old runs of the same job file go.
    ///
    /// # Errors
    /// See [`RecordError`].
    pub fn finish(&mut self, record: &RunRecord) -> Result<(), RecordError> {
        self.write(|transaction| write_run(transaction, record))
    }

    /// Writes down the actions that a rule of a run did, in order, each as the text of
    /// [`Plan::action_json`](crate::plan::Plan::action_json). After [`State::finish`], which makes the rule's place. Durable on return.
    ///
    /// # Errors
    /// See [`RecordError`].
    pub fn append_actions(
        &mut self,
        run: RunId,
        rule: &str,
        actions: impl IntoIterator<Item = String>,
    ) -> Result<(), RecordError> {
        self.write(|transaction| write_actions(transaction, run, rule, actions))
    }

    /// Runs, the newest first, at most `limit`; of every job, or of the jobs of one name.
    ///
    /// # Errors
    /// See [`RecordError`].
    pub fn history(&self, job: Option<&str>, limit: usize) -> Result<Vec<RunRecord>, RecordError> {
        read_runs(&self.connection, job, i64::try_from(limit).unwrap_or(i64::MAX))
            .map_err(self.failed("read"))
    }

    /// Hands out the actions that a rule of a run did, in order. There are none for runs that are long ago.
    ///
    /// # Errors
    /// See [`RecordError`].
    pub fn actions(&self, run: RunId, rule: &str, each: impl FnMut(&str)) -> Result<(), RecordError> {
        read_actions(&self.connection, run, rule, each).map_err(self.failed("read"))
    }
}

fn write_run(transaction: &Transaction<'_>, record: &RunRecord) -> rusqlite::Result<()> {
    let (run, file) = (record.run.to_string(), path_bytes(&record.job_file));
    let number: i64 = transaction.query_row(
        "INSERT INTO runs (run, job, file, started, ended) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT DO UPDATE SET job = ?2, file = ?3, started = ?4, ended = ?5 RETURNING number",
        params![run, record.job, file, time_in(record.started), record.ended.map(time_in)],
        |row| row.get(0),
    )?;
    for rule in &record.rules {
        write_rule(transaction, number, rule)?;
    }
    // The newest of a job file stay, by id, which is by time.
    let old = "FROM runs WHERE file = ?1 ORDER BY run DESC LIMIT -1 OFFSET ?2";
    transaction.execute(
        &format!("DELETE FROM runs WHERE number IN (SELECT number {old})"),
        params![file, RUNS_KEPT],
    )?;
    transaction.execute(
        &format!(
            "DELETE FROM actions WHERE rule IN
             (SELECT number FROM run_rules WHERE run IN (SELECT number {old}))"
        ),
        params![file, RUNS_KEPT_WITH_ACTIONS],
    )?;
    Ok(())
}

fn write_rule(connection: &Connection, run: i64, rule: &RuleRecord) -> rusqlite::Result<()> {
    let number: i64 = connection.query_row(
        "INSERT INTO run_rules (run, rule, mode, outcome, exit, reason, totals, done, bytes, failed)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
         ON CONFLICT DO UPDATE SET mode = ?3, outcome = ?4, exit = ?5, reason = ?6, totals = ?7, done = ?8,
         bytes = ?9, failed = ?10 RETURNING number",
        params![
            run,
            rule.rule,
            rule.mode,
            rule.outcome,
            rule.exit,
            rule.reason,
            rule.totals.to_json().to_string(),
            rule.done.to_json().to_string(),
            count_in(rule.bytes),
            count_in(rule.failed),
        ],
        |row| row.get(0),
    )?;
    connection.execute("DELETE FROM failures WHERE rule = ?1", [number])?;
    let mut insert =
        connection.prepare("INSERT INTO failures (rule, place, path, cause) VALUES (?1, ?2, ?3, ?4)")?;
    for (place, failure) in (0i64..).zip(rule.failures.iter().take(FAILURES_KEPT)) {
        insert.execute(params![number, place, failure.path.as_bytes(), failure.cause])?;
    }
    Ok(())
}

fn write_actions(
    transaction: &Transaction<'_>,
    run: RunId,
    rule: &str,
    actions: impl IntoIterator<Item = String>,
) -> rusqlite::Result<()> {
    let number: i64 = transaction.query_row(
        "SELECT run_rules.number FROM run_rules JOIN runs ON runs.number = run_rules.run
         WHERE runs.run = ?1 AND run_rules.rule = ?2",
        params![run.to_string(), rule],
        |row| row.get(0),
    )?;
    transaction.execute("DELETE FROM actions WHERE rule = ?1", [number])?;
    let mut insert = transaction.prepare("INSERT INTO actions (rule, place, action) VALUES (?1, ?2, ?3)")?;
    for (place, action) in (0i64..).zip(actions) {
        insert.execute(params![number, place, action])?;
    }
    Ok(())
}

fn read_actions(
    connection: &Connection,
    run: RunId,
    rule: &str,
    mut each: impl FnMut(&str),
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(
        "SELECT action FROM actions
         JOIN run_rules ON run_rules.number = actions.rule JOIN runs ON runs.number = run_rules.run
         WHERE runs.run = ?1 AND run_rules.rule = ?2 ORDER BY place",
    )?;
    let mut rows = statement.query(params![run.to_string(), rule])?;
    while let Some(row) = rows.next()? {
        each(row.get_ref(0)?.as_str()?);
    }
    Ok(())
}

fn read_runs(connection: &Connection, job: Option<&str>, limit: i64) -> rusqlite::Result<Vec<RunRecord>> {
    let mut statement = connection.prepare(
        "SELECT number, run, job, file, started, ended FROM runs WHERE ?1 IS NULL OR job = ?1
         ORDER BY run DESC LIMIT ?2",
    )?;
    let mut rows = statement.query(params![job, limit])?;
    let mut runs = Vec::new();
    while let Some(row) = rows.next()? {
        let Ok(run) = row.get_ref(1)?.as_str()?.parse() else { continue };
        runs.push(RunRecord {
            run,
            job: row.get(2)?,
            job_file: path_from_bytes(row.get_ref(3)?.as_blob()?),
            started: time_out(row.get(4)?),
            ended: row.get::<_, Option<i64>>(5)?.map(time_out),
            rules: read_rules(connection, row.get(0)?)?,
        });
    }
    Ok(runs)
}

fn read_rules(connection: &Connection, run: i64) -> rusqlite::Result<Vec<RuleRecord>> {
    let mut statement = connection.prepare_cached(
        "SELECT number, rule, mode, outcome, exit, reason, totals, done, bytes, failed
         FROM run_rules WHERE run = ?1 ORDER BY number",
    )?;
    let mut rows = statement.query([run])?;
    let mut rules = Vec::new();
    while let Some(row) = rows.next()? {
        rules.push(RuleRecord {
            rule: row.get(1)?,
            mode: row.get(2)?,
            outcome: row.get(3)?,
            exit: row.get(4)?,
            reason: row.get(5)?,
            totals: totals_out(row, 6)?,
            done: totals_out(row, 7)?,
            bytes: count_out(row.get(8)?),
            failed: count_out(row.get(9)?),
            failures: read_failures(connection, row.get(0)?)?,
        });
    }
    Ok(rules)
}

fn read_failures(connection: &Connection, rule: i64) -> rusqlite::Result<Vec<RecordedFailure>> {
    let mut statement =
        connection.prepare_cached("SELECT path, cause FROM failures WHERE rule = ?1 ORDER BY place")?;
    let mut rows = statement.query([rule])?;
    let mut failures = Vec::new();
    while let Some(row) = rows.next()? {
        let path = RelPath::parse(row.get_ref(0)?.as_blob()?).unwrap_or_default();
        failures.push(RecordedFailure { path, cause: row.get(1)? });
    }
    Ok(failures)
}

fn totals_out(row: &Row<'_>, column: usize) -> rusqlite::Result<Totals> {
    let text = row.get_ref(column)?.as_str()?;
    Ok(serde_json::from_str(text).map(|value| Totals::from_json(&value)).unwrap_or_default())
}

/// `SQLite` has signed numbers only; no real count reaches half of the unsigned ones.
pub(super) fn count_in(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub(super) fn count_out(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn time_in(stamp: Stamp) -> i64 {
    i64::try_from(stamp.as_nanos()).unwrap_or(i64::MAX)
}

fn time_out(nanos: i64) -> Stamp {
    Stamp::from_nanos(i128::from(nanos))
}
