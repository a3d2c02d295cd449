//! What `verify` finds, counts and says.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::platform::Clock;
use crate::queue::Engine;
use crate::run::RuleOutcome;
use crate::value::{Percent, RelPath, RunId, Stamp};

/// What one file turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Its content has the digest that was recorded.
    Right,
    /// Size and mtime are those of the record, the content is not.
    Rot,
    /// Size, mtime or kind are not those of the record: somebody changed it after the run.
    Changed,
    /// It is recorded, and not there.
    Missing,
    /// It is there, and no run has brought it.
    Extra,
    /// It could not be read.
    Unread,
    /// It was recorded without a digest; now it has one.
    Learnt,
    /// It is right, and the source's file is not what was copied, though size and mtime are.
    SourceRot,
    /// Nothing was recorded of the content, and the source's file holds another one under the same size and mtime.
    Differs,
}

/// What `--against source` found on the other side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceSide {
    /// The content that was recorded.
    Right,
    /// What the destination holds, which is not what was recorded.
    AsDestination,
    /// Other content under the same size and mtime.
    Other,
    /// It has another size or mtime by now, or is no file: nothing can be told.
    Changed,
    /// It is not there.
    Gone,
    /// It could not be read; why.
    Unread(String),
}

/// One file that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Where.
    pub path: RelPath,
    /// Of a version: the run that displaced it.
    pub version: Option<RunId>,
    /// What it turned out to be.
    pub finding: Finding,
    /// The run that brought it; `None` where no run has.
    pub since: Option<RunId>,
    /// When it was last found to be right.
    pub read_back: Option<Stamp>,
    /// Bytes that were read of it.
    pub bytes: u64,
    /// More of it, for people: what differs, why it could not be read.
    pub cause: Option<String>,
    /// The source's file, where that was asked for.
    pub source: Option<SourceSide>,
    /// Whether it should be there as it was: a run has brought it, or a list names it, and the user does not take the destination as it is.
    pub expected: bool,
}

impl Verified {
    /// Whether it makes the verification fail: what a run has written is not there any more as it was. Of what no run has brought only
    /// rot and what cannot be read.
    #[must_use]
    pub fn fails(&self) -> bool {
        match self.finding {
            Finding::Right | Finding::Extra | Finding::Learnt => false,
            Finding::Rot | Finding::Unread | Finding::SourceRot | Finding::Differs => true,
            Finding::Changed | Finding::Missing => self.expected,
        }
    }
}

/// Files by what they turned out to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifyCounts {
    /// Right.
    pub right: u64,
    /// Rotten.
    pub rot: u64,
    /// Changed by somebody, of what a run has brought.
    pub changed: u64,
    /// Missing, of what a run has brought.
    pub missing: u64,
    /// Changed or gone, of what no run has brought or what the user accepts.
    pub others: u64,
    /// There, not recorded until now.
    pub extra: u64,
    /// Not readable.
    pub unread: u64,
    /// Recorded without a digest until now.
    pub learnt: u64,
    /// The source is not what was copied.
    pub source_rot: u64,
    /// Source and destination differ, and nothing tells which is right.
    pub differs: u64,
    /// Versions among the files that were read.
    pub versions: u64,
    /// Source files that could not be compared, having changed since.
    pub source_changed: u64,
    /// Files that could be read through a cache only.
    pub cached: u64,
    /// Files that were read.
    pub files: u64,
    /// Bytes that were read of the destination.
    pub bytes: u64,
}

impl VerifyCounts {
    pub(super) fn add(&mut self, file: &Verified) {
        let ours = file.fails();
        let count = match file.finding {
            Finding::Right => &mut self.right,
            Finding::Rot => &mut self.rot,
            Finding::Changed if ours => &mut self.changed,
            Finding::Missing if ours => &mut self.missing,
            Finding::Changed | Finding::Missing => &mut self.others,
            Finding::Extra => &mut self.extra,
            Finding::Unread => &mut self.unread,
            Finding::Learnt => &mut self.learnt,
            Finding::SourceRot => &mut self.source_rot,
            Finding::Differs => &mut self.differs,
        };
        *count += 1;
        self.bytes += file.bytes;
        if matches!(file.source, Some(SourceSide::Changed | SourceSide::Gone | SourceSide::Unread(_))) {
            self.source_changed += 1;
        }
    }

    /// Adds a file that was read, or tried.
    pub(super) fn take(&mut self, file: &Verified, cached: bool) {
        self.add(file);
        self.files += 1;
        self.versions += u64::from(file.version.is_some());
        self.cached += u64::from(cached);
    }

    /// Number of files that make the verification fail.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.rot + self.changed + self.missing + self.unread + self.source_rot + self.differs
    }
}

/// How much of a destination is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// A share of the bytes, least recently read back first.
    pub sample: Option<Percent>,
    /// Begin no further file after that long.
    pub time_max: Option<Duration>,
}

/// Whether the source is read too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// Only what is recorded counts.
    Catalog,
    /// The source's files are compared by content as well.
    Source,
}

/// What became of remembering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remembered {
    /// There was nothing to remember.
    Nothing,
    /// All of it is in the catalog.
    All,
    /// It is not, and why.
    Not(String),
}

/// All that is to be said of one destination.
#[derive(Clone, Debug)]
pub struct VerifyReport {
    /// The job that the destination belongs to; empty for a tree that is checked against a list.
    pub job: String,
    /// Its rule.
    pub rule: String,
    /// The destination's root.
    pub destination: PathBuf,
    /// How it ended: `Done` where all that was read is right, `Partial` where it is not.
    pub outcome: RuleOutcome,
    /// Files.
    pub counts: VerifyCounts,
    /// Bytes that were to be read, and those of all files, each file counted as one more byte.
    pub planned_bytes: u64,
    /// Those of all files.
    pub total_bytes: u64,
    /// Whether the time was up before all was read that was to be.
    pub out_of_time: bool,
    /// Of a sampled verification: whether every file has been read once since the round began.
    pub round_complete: Option<bool>,
    /// Whether the next one knows of this one.
    pub remembered: Remembered,
    /// How long it took.
    pub elapsed: Duration,
}

/// Something that happened. Events come in order, on one thread.
#[derive(Clone, Copy, Debug)]
pub enum VerifyEvent<'a> {
    /// A destination is looked at.
    Started {
        /// The rule, or the directory where there is none.
        name: &'a str,
    },
    /// Something to tell that is no failure.
    Note {
        /// One line.
        text: &'a str,
    },
    /// The files that were picked are read.
    Reading {
        /// To look at while it goes on.
        gauge: &'a VerifyGauge,
    },
    /// A file was looked at.
    File {
        /// All about it.
        file: &'a Verified,
    },
    /// A destination was looked at.
    Ended {
        /// All about it.
        report: &'a VerifyReport,
    },
}

/// A view on the reading, for any thread.
#[derive(Clone, Debug)]
pub struct VerifyGauge {
    pub(super) engine: Arc<Engine>,
    pub(super) clock: Clock,
    pub(super) done: Arc<Done>,
    /// Files to be read.
    pub files: u64,
    /// Their bytes, of both sides where both are read.
    pub bytes: u64,
}

/// What has been read.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) files: AtomicU64,
    pub(super) bytes: AtomicU64,
}

impl VerifyGauge {
    /// Time, files and bytes by now.
    #[must_use]
    pub fn read(&self) -> (Duration, u64, u64) {
        let queued: u64 = self.engine.meters().iter().map(|queue| queue.read_bytes).sum();
        let bytes = self.done.bytes.load(Ordering::Relaxed).max(queued).min(self.bytes);
        (self.clock.elapsed(), self.done.files.load(Ordering::Relaxed), bytes)
    }
}

impl VerifyReport {
    pub(super) fn of(job: &str, rule: &str, destination: &Path) -> Self {
        Self {
            job: job.to_owned(),
            rule: rule.to_owned(),
            destination: destination.to_path_buf(),
            outcome: RuleOutcome::Done,
            counts: VerifyCounts::default(),
            planned_bytes: 0,
            total_bytes: 0,
            out_of_time: false,
            round_complete: None,
            remembered: Remembered::Nothing,
            elapsed: Duration::ZERO,
        }
    }
}
