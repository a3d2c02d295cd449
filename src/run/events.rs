//! What a run says while it goes, and to whom.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::compare::ScanMeter;
use crate::execute::{Failure, Meters, Phase};
use crate::job::{Job, Rule};
use crate::plan::{Action, Plan, Totals};
use crate::platform::Clock;
use crate::queue::{Engine, QueueMeter};
use crate::value::RunId;

use super::{Exit, RuleReport};

/// Something that happened. Events come in order, on the run's own thread.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A job begins.
    RunStarted {
        /// The job.
        job: &'a Job,
        /// The run's id.
        run: RunId,
    },
    /// A rule begins.
    RuleStarted {
        /// The rule.
        rule: &'a Rule,
    },
    /// Both roots were found, and are being compared.
    Comparing {
        /// The source, absolute.
        source: &'a Path,
        /// The destination, absolute.
        destination: &'a Path,
        /// How far it has come; only grows.
        meter: &'a Arc<ScanMeter>,
    },
    /// Something to tell that is no failure: what recovery did, what was set aside.
    Note {
        /// One line.
        text: &'a str,
    },
    /// The plan is sealed and within its limits.
    Planned {
        /// The rule.
        rule: &'a Rule,
        /// The plan.
        plan: &'a Plan,
    },
    /// Execution begins.
    Executing {
        /// To look at while it goes on.
        gauge: &'a Gauge,
    },
    /// An action is done.
    Done {
        /// Its plan.
        plan: &'a Plan,
        /// The action.
        action: &'a Action,
    },
    /// An entry failed.
    Failed {
        /// Where and why.
        failure: &'a Failure,
    },
    /// Execution has ended.
    Executed,
    /// A rule has ended.
    RuleEnded {
        /// All about it.
        report: &'a RuleReport,
    },
    /// A job has ended.
    RunEnded {
        /// The job.
        job: &'a Job,
        /// The run's id.
        run: RunId,
        /// What it makes of the process.
        exit: Exit,
        /// How long it took.
        elapsed: Duration,
    },
}

/// Who listens.
pub trait Sink {
    /// Takes one event; must not block for long.
    fn event(&mut self, event: &Event<'_>);
}

/// A view on a running execution, for any thread.
#[derive(Clone, Debug)]
pub struct Gauge {
    pub(super) meters: Arc<Meters>,
    pub(super) engine: Arc<Engine>,
    pub(super) clock: Clock,
    pub(super) planned: Totals,
}

/// What a [`Gauge`] shows at one moment.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Since the process started.
    pub elapsed: Duration,
    /// What is being done.
    pub phase: Phase,
    /// Actions that have ended.
    pub actions: u64,
    /// Files whose content is complete.
    pub files: u64,
    /// Bytes of content that were copied.
    pub bytes: u64,
    /// One meter a queue.
    pub queues: Vec<QueueMeter>,
}

impl Gauge {
    /// What is to be done.
    #[must_use]
    pub fn planned(&self) -> &Totals {
        &self.planned
    }

    /// Where it is now.
    #[must_use]
    pub fn read(&self) -> Reading {
        let queues = self.engine.meters();
        let written = queues.iter().map(|queue| queue.written_bytes).sum();
        Reading {
            elapsed: self.clock.elapsed(),
            phase: self.meters.phase(),
            actions: self.meters.actions(),
            files: self.meters.files(),
            // A large file counts while it is written, a small one when it is whole.
            bytes: self.meters.bytes().max(written),
            queues,
        }
    }
}
