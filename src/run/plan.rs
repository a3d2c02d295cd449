//! The verb `plan`: what `run` would do now, and whether it would be refused. Writes nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::job::{Job, Rule};
use crate::plan::{Plan, PlanFileRule, Sight};
use crate::platform::{path_bytes, path_from_bytes};
use crate::record::{KnownRule, RecordError, State};
use crate::value::Place;

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
    /// The same for a plan file, with the UUIDs of their file systems.
    pub sights: Option<(Sight, Sight)>,
    /// What the destination's id said; `None` where it has none.
    pub destination_id: Option<String>,
    /// The plan; `None` where it did not come to one.
    pub plan: Option<Plan>,
    /// Why a run would not carry it out; `None` where it would.
    pub objection: Option<RuleOutcome>,
}

impl PlanReport {
    /// What a plan file says of a rule. Why it would have been refused stands there in words alone.
    #[must_use]
    pub fn filed(rule: &PlanFileRule) -> Self {
        let path = |sight: &Sight| path_from_bytes(&sight.path);
        Self {
            rule: rule.rule.clone(),
            mode: rule.mode,
            roots: rule.roots.as_ref().map(|(source, destination)| (path(source), path(destination))),
            sights: rule.roots.clone(),
            destination_id: rule.destination_id.clone(),
            plan: rule.plan.clone(),
            objection: None,
        }
    }

    /// What a plan file is to say of the rule; `resolved` are its values.
    #[must_use]
    pub fn to_file(&self, job: &Job, resolved: BTreeMap<String, String>) -> PlanFileRule {
        let objection = self.objection.as_ref().and_then(|outcome| match outcome {
            RuleOutcome::Refused(refusal) => Some(refusal.to_string()),
            RuleOutcome::Skipped(skip) => Some(skip.to_string()),
            _ => None,
        });
        PlanFileRule {
            job: job.name.clone(),
            file: path_bytes(&job.file).into(),
            rule: self.rule.clone(),
            mode: self.mode,
            resolved,
            roots: self.sights.clone(),
            destination_id: self.destination_id.clone(),
            objection,
            plan: self.plan.clone(),
        }
    }
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
            sights: None,
            destination_id: None,
            plan: None,
            objection: skip(rule, &|name| only.is_none_or(|only| name == only), &ended)
                .map(RuleOutcome::Skipped),
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
    let sight =
        |path: PathBuf, place: &Place| Sight { path: path_bytes(&path).into(), uuid: place.uuid.clone() };
    report.sights = Some((sight(source.shown(), &source.place), sight(target.shown(), target.place())));
    report.destination_id = approach.known.id().map(str::to_owned);
    let _lock = approach.store.as_ref().map(share).transpose()?;
    let plan = survey(session, rule, &approach)?;
    report.objection = objection(rule, &approach, &plan);
    report.plan = Some(plan);
    Ok(())
}
