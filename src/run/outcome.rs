//! How a rule, a job and the process ended.

use std::time::Duration;

use crate::compare::{Counts, Notice, Problem};
use crate::execute::{Failure, Warning};
use crate::plan::{PlannedConflict, Totals};
use crate::store::{Holder, Pruned};

use super::Refusal;

/// The process's exit, in the order in which one outweighs another (DESIGN §4); `Usage` stops before any rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done, nothing to do, or skipped.
    Done,
    /// Finished, but some entries failed.
    Partial,
    /// The command line or a job file is wrong; nothing was touched.
    Usage,
    /// Refused by a limit or requirement.
    Refused,
    /// Another run holds the destination.
    Busy,
    /// Stopped before its end.
    Stopped,
    /// A plan with `--exit-code` has changes.
    Changes,
    /// Ended by this signal.
    Interrupted(i32),
}

impl Exit {
    /// The process's exit code.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Partial => 1,
            Self::Usage => 2,
            Self::Refused => 3,
            Self::Busy => 4,
            Self::Stopped => 5,
            Self::Changes => 6,
            // As shells say it (POSIX.1-2024, Shell Command Language, 2.8.2).
            Self::Interrupted(signal) => u8::try_from(128 + signal).unwrap_or(130),
        }
    }

    /// How heavily it weighs: the process exits with the heaviest.
    fn weight(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Changes => 1,
            Self::Partial => 2,
            Self::Busy => 3,
            Self::Refused => 4,
            Self::Stopped => 5,
            Self::Interrupted(_) => 6,
            Self::Usage => 7,
        }
    }
}

/// The first of 130/143, 5, 3, 4, 1, 0 that occurred.
#[must_use]
pub fn process_exit(exits: impl IntoIterator<Item = Exit>) -> Exit {
    exits
        .into_iter()
        .fold(Exit::Done, |worst, exit| if exit.weight() > worst.weight() { exit } else { worst })
}

/// Why a rule was passed over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Skip {
    /// `enabled: false`.
    #[error("it is not enabled")]
    Disabled,
    /// A rule that it needs did not end with 0.
    #[error("it needs {rule}, which did not end well")]
    Needs {
        /// That rule.
        rule: String,
    },
    /// `on_missing: skip`, with what is missing.
    #[error("{missing}")]
    Missing {
        /// What it would be refused for.
        missing: Box<Refusal>,
    },
}

/// How one rule ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleOutcome {
    /// All of it is done, or there was nothing to do.
    Done,
    /// Some entries were left: each is listed.
    Partial,
    /// Passed over.
    Skipped(Skip),
    /// Not begun.
    Refused(Box<Refusal>),
    /// Another run holds the destination; its record, where it can be read.
    Busy(Option<Holder>),
    /// Ended early; what was done is whole.
    Stopped {
        /// What was tried and failed, then its causes.
        reasons: Vec<String>,
    },
    /// Ended by this signal.
    Interrupted(i32),
}

impl RuleOutcome {
    /// What it makes of the process.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Done | Self::Skipped(_) => Exit::Done,
            Self::Partial => Exit::Partial,
            Self::Refused(_) => Exit::Refused,
            Self::Busy(_) => Exit::Busy,
            Self::Stopped { .. } => Exit::Stopped,
            Self::Interrupted(signal) => Exit::Interrupted(*signal),
        }
    }

    /// Whether a rule that needs this one may run: it ended with 0. One that was passed over because it is off, or for want of
    /// another, did not.
    #[must_use]
    pub fn satisfies(&self) -> bool {
        matches!(self, Self::Done | Self::Skipped(Skip::Missing { .. }))
    }

    /// The word for people, JSON and the record.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Partial => "partial",
            Self::Skipped(_) => "skipped",
            Self::Refused(_) => "refused",
            Self::Busy(_) => "busy",
            Self::Stopped { .. } => "stopped",
            Self::Interrupted(_) => "interrupted",
        }
    }

    /// An error and its causes as the reason of a stop.
    pub(super) fn stopped(error: &dyn std::error::Error) -> Self {
        Self::Stopped { reasons: causes(error) }
    }

    pub(super) fn refused(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

/// An error and its causes, one text each.
#[must_use]
pub fn causes(error: &dyn std::error::Error) -> Vec<String> {
    let mut texts = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(error) = cause {
        texts.push(error.to_string());
        cause = error.source();
    }
    texts
}

/// All that is to be said of one rule's run.
#[derive(Clone, Debug)]
pub struct RuleReport {
    /// The rule's name.
    pub rule: String,
    /// How it ended.
    pub outcome: RuleOutcome,
    /// What was planned; zeros where it did not come to a plan.
    pub planned: Totals,
    /// What was counted while comparing.
    pub counts: Counts,
    /// What was done: planned actions that are committed, by kind.
    pub done: Totals,
    /// Bytes of content that were copied.
    pub bytes: u64,
    /// Files among them that were read back past the page cache and were right.
    pub read_back: u64,
    /// How long it took.
    pub elapsed: Duration,
    /// Entries that failed while executing.
    pub failures: Vec<Failure>,
    /// Entries and subtrees that could not be read.
    pub problems: Vec<Problem>,
    /// Names left alone.
    pub conflicts: Vec<PlannedConflict>,
    /// Entries that were gone before they could be copied.
    pub vanished: u64,
    /// What could not be kept, once a kind.
    pub warnings: Vec<Warning>,
    /// Things to say once.
    pub notices: Vec<Notice>,
    /// What retention released.
    pub pruned: Option<Pruned>,
}

impl RuleReport {
    /// A rule that ended this way, with nothing done.
    #[must_use]
    pub fn ended(rule: &str, outcome: RuleOutcome, elapsed: Duration) -> Self {
        Self {
            rule: rule.to_owned(),
            outcome,
            planned: Totals::default(),
            counts: Counts::default(),
            done: Totals::default(),
            bytes: 0,
            read_back: 0,
            elapsed,
            failures: Vec::new(),
            problems: Vec::new(),
            conflicts: Vec::new(),
            vanished: 0,
            warnings: Vec::new(),
            notices: Vec::new(),
            pruned: None,
        }
    }

    /// Number of entries that were left though they should not have been.
    #[must_use]
    pub fn left(&self) -> usize {
        self.failures.len() + self.problems.len() + self.conflicts.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bc_90_the_worst_of_all_rules_wins() {
        let check = |exits: &[Exit], code: u8| assert_eq!(process_exit(exits.iter().copied()).code(), code);
        check(&[], 0);
        check(&[Exit::Done, Exit::Partial, Exit::Done], 1);
        check(&[Exit::Partial, Exit::Busy], 4);
        check(&[Exit::Busy, Exit::Refused, Exit::Partial], 3);
        check(&[Exit::Refused, Exit::Stopped, Exit::Busy], 5);
        check(&[Exit::Stopped, Exit::Interrupted(2)], 130);
        check(&[Exit::Interrupted(15), Exit::Refused], 143);
    }

    #[test]
    fn a_rule_that_is_off_does_not_satisfy_those_that_need_it() {
        assert!(RuleOutcome::Done.satisfies());
        assert!(!RuleOutcome::Partial.satisfies());
        assert!(!RuleOutcome::Skipped(Skip::Disabled).satisfies());
        let missing = Box::new(Refusal::VolumeAbsent { side: "source", name: "a".to_owned() });
        assert!(RuleOutcome::Skipped(Skip::Missing { missing }).satisfies());
    }
}
