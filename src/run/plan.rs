//! The verb `plan`: what `run` would do now, and whether it would be refused. Writes nothing.

use std::path::PathBuf;

use crate::job::{Job, Rule};
use crate::plan::Plan;
use crate::record::{KnownRule, RecordError, State};

use super::approach::approach;
use super::reach::share;
use super::survey::{objection, survey};
use super::sync::skip;
use super::{RuleOutcome, Session};

/// What a run would make of one rule.
#[derive(Clone, Debug)]
pub struct PlanReport {
    /// The rule's name.
    pub rule: String,
    /// `mirror` or `backup`.
    pub mode: crate::job::Mode,
    /// Both roots, absolute; `None` where they were not found.
    pub roots: Option<(PathBuf, PathBuf)>,
    /// The plan; `None` where it did not come to one.
    pub plan: Option<Plan>,
    /// Why a run would not carry it out; `None` where it would.
    pub objection: Option<RuleOutcome>,
}

/// Plans a job, or one rule of it; each rule's plan is handed over before the next is made.
///
/// # Errors
/// Where the state is there and cannot be read.
pub fn plan_job(
    session: &Session<'_>,
    job: &Job,
    only: Option<&str>,
    each: &mut dyn FnMut(&PlanReport),
) -> Result<(), RecordError> {
    let state = State::open_readonly(session.state)?;
    let mut ended: Vec<(&str, RuleOutcome)> = Vec::new();
    for rule in job.rules.iter().filter(|rule| only.is_none_or(|only| rule.name == only)) {
        let before = match &state {
            Some(state) => state.known(&job.file, &rule.name)?,
            None => KnownRule::default(),
        };
        let mut report = PlanReport {
            rule: rule.name.clone(),
            mode: rule.mode,
            roots: None,
            plan: None,
            objection: skip(rule, only, &ended).map(RuleOutcome::Skipped),
        };
        if report.objection.is_none()
            && let Err(outcome) = plan_rule(session, job, rule, &before, &mut report)
        {
            report.objection = Some(outcome);
        }
        each(&report);
        ended.push((&rule.name, report.objection.unwrap_or(RuleOutcome::Done)));
        if session.cancel.is_raised() {
            break;
        }
    }
    Ok(())
}

fn plan_rule(
    session: &Session<'_>,
    job: &Job,
    rule: &Rule,
    before: &KnownRule,
    report: &mut PlanReport,
) -> Result<(), RuleOutcome> {
    let approach = approach(session, job, rule, before)?;
    let (source, target) = (&approach.roots.source, &approach.roots.target);
    report.roots = Some((source.shown(), target.shown()));
    let _lock = approach.store.as_ref().map(share).transpose()?;
    let plan = survey(session, rule, &approach)?;
    report.objection = objection(rule, &approach, &plan);
    report.plan = Some(plan);
    Ok(())
}
