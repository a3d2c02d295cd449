//! What is remembered of a run: the state's side of it.

use crate::job::{Job, Mode};
use crate::plan::Plan;
use crate::record::{FAILURES_KEPT, RecordError, RecordedFailure, RuleRecord, RunRecord, State};
use crate::value::RunId;

use super::{RuleOutcome, RuleReport, Session};

/// Runs that begin in one millisecond; more of them than any machine starts.
const SAME_MOMENT_MAX: u32 = 1000;

/// The record of a run, written down rule by rule, so that a kill leaves a trace of what came before it.
pub(super) struct Recorder {
    record: RunRecord,
}

/// Opens the state for a run and writes down that it begins: its id is past the newest recorded, and nobody else's. The
/// sentence that something was set aside comes last.
pub(super) fn begin(
    session: &Session<'_>,
    job: &Job,
) -> Result<(State, Recorder, Option<String>), RecordError> {
    let now = session.clock.now();
    let (mut state, said) = State::open(session.state, &RunId::at(now, None))?;
    let mut run = RunId::at(now, state.newest_run()?);
    for _ in 0..SAME_MOMENT_MAX {
        match state.begin(run, &job.name, &job.file, now) {
            Err(RecordError::Taken { run: taken }) => run = RunId::at(now, Some(taken)),
            begun => {
                begun?;
                break;
            }
        }
    }
    let record = RunRecord {
        run,
        job: job.name.clone(),
        job_file: job.file.clone(),
        started: now,
        ended: None,
        rules: Vec::new(),
    };
    Ok((state, Recorder { record }, said))
}

impl Recorder {
    /// The run's id.
    pub(super) fn run(&self) -> RunId {
        self.record.run
    }

    /// Writes down how a rule ended, and which actions of its plan were done.
    pub(super) fn add(
        &mut self,
        state: &mut State,
        mode: Mode,
        report: &RuleReport,
        carried: Option<&(Plan, Vec<bool>)>,
    ) -> Result<(), RecordError> {
        self.record.rules.push(rule_record(mode, report));
        state.finish(&self.record)?;
        let Some((plan, done)) = carried else { return Ok(()) };
        let actions = plan
            .actions
            .iter()
            .zip(done)
            .filter(|(_, done)| **done)
            .map(|(action, _)| plan.action_json(action).to_string());
        state.append_actions(self.record.run, &report.rule, actions)
    }

    /// Writes down that the run has ended.
    pub(super) fn finish(mut self, state: &mut State, session: &Session<'_>) -> Result<(), RecordError> {
        self.record.ended = Some(session.clock.now());
        state.finish(&self.record)
    }
}

fn rule_record(mode: Mode, report: &RuleReport) -> RuleRecord {
    let problems = report
        .problems
        .iter()
        .map(|problem| RecordedFailure { path: problem.path.clone(), cause: problem.message.clone() });
    let conflicts = report.conflicts.iter().map(|conflict| RecordedFailure {
        path: conflict.path.clone(),
        cause: format!("conflict: {}", conflict.conflict.word().replace('_', " ")),
    });
    let failures = report
        .failures
        .iter()
        .map(|failure| RecordedFailure { path: failure.path.clone(), cause: failure.cause.clone() });
    RuleRecord {
        rule: report.rule.clone(),
        mode: match mode {
            Mode::Mirror => "mirror".to_owned(),
            Mode::Backup => "backup".to_owned(),
        },
        outcome: report.outcome.word().to_owned(),
        exit: report.outcome.exit().code(),
        reason: reason(&report.outcome),
        totals: report.planned,
        done: report.done,
        bytes: report.bytes,
        failed: report.left() as u64,
        failures: problems.chain(conflicts).chain(failures).take(FAILURES_KEPT).collect(),
    }
}

fn reason(outcome: &RuleOutcome) -> Option<String> {
    match outcome {
        RuleOutcome::Done | RuleOutcome::Partial | RuleOutcome::Interrupted(_) => None,
        RuleOutcome::Skipped(skip) => Some(skip.to_string()),
        RuleOutcome::Refused(refusal) => Some(refusal.to_string()),
        RuleOutcome::Busy(None) => Some("another run held the destination".to_owned()),
        RuleOutcome::Busy(Some(holder)) => Some(format!("run {} held the destination", holder.run)),
        RuleOutcome::Stopped { reasons } => Some(reasons.join(": ")),
    }
}
