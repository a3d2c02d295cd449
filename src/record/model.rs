//! What goes into the state and comes out of it.

use std::path::PathBuf;

use crate::plan::Totals;
use crate::value::{RelPath, RunId, Stamp};

/// Failures of one rule that are kept with their paths; more are only counted. Enough for any list that a person reads.
pub const FAILURES_KEPT: usize = 10_000;

/// What is known of a rule of a job file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownRule {
    /// Ids of the destinations it was run to, the last one first.
    pub destination_ids: Vec<String>,
    /// UUID of the source's file system at the last run.
    pub source_uuid: Option<String>,
    /// Mount points seen below the source at the last run; the root where it was one.
    pub source_mounts: Vec<RelPath>,
    /// Runs of it that reached their destination.
    pub runs: u64,
    /// Entries of the destination inside the filters, when all of them were counted last.
    pub last_total: Option<u64>,
}

/// One execution of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRecord {
    /// Its id.
    pub run: RunId,
    /// The job's name.
    pub job: String,
    /// The job's file, absolute.
    pub job_file: PathBuf,
    /// When it began.
    pub started: Stamp,
    /// When it ended; `None` while it runs, or where it was killed.
    pub ended: Option<Stamp>,
    /// Its rules, in the order in which they ran.
    pub rules: Vec<RuleRecord>,
}

/// One rule of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleRecord {
    /// Its name.
    pub rule: String,
    /// Its mode as the job file says it.
    pub mode: String,
    /// How it ended, in a word: `done`, `partial`, `refused` …
    pub outcome: String,
    /// The exit code that this makes.
    pub exit: u8,
    /// Why, where it was refused, skipped or stopped: one sentence for people.
    pub reason: Option<String>,
    /// Sums over its plan.
    pub totals: Totals,
    /// Sums over what was done.
    pub done: Totals,
    /// Bytes of content that were copied.
    pub bytes: u64,
    /// How many entries were left though they should not have been.
    pub failed: u64,
    /// These entries, at most [`FAILURES_KEPT`] of them.
    pub failures: Vec<RecordedFailure>,
}

/// One entry that was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedFailure {
    /// Where.
    pub path: RelPath,
    /// Why, one sentence for people.
    pub cause: String,
}

impl RunRecord {
    /// The exit code of the whole run, as the process ended: the first of 130, 143, 5, 3, 4, 1, 0 that a rule made. `None` where the run
    /// has no end.
    #[must_use]
    pub fn exit(&self) -> Option<u8> {
        self.ended?;
        let made = |exit: &u8| self.rules.iter().any(|rule| rule.exit == *exit);
        Some([130, 143, 5, 3, 4, 1].into_iter().find(made).unwrap_or(0))
    }
}
