//! The verb `run`: every rule of a job from its locations to its record.

use std::time::Duration;

use crate::job::{Job, Rule};
use crate::plan::Plan;
use crate::record::{RecordError, State};
use crate::value::RunId;

use super::apply::Given;
use super::approach::approach;
use super::history::begin;
use super::settle::{keep_up, settle_in};
use super::welcome::Standing;
use super::{Event, Exit, RuleOutcome, RuleReport, Session, Sink, Skip, causes, process_exit};

/// Runs a job, or one rule of it, rule by rule; a failing rule does not stop the next, a signal does.
///
/// # Errors
/// Where the state cannot be opened: nothing was begun.
pub fn run_job(
    session: &Session<'_>,
    job: &Job,
    only: Option<&str>,
    sink: &mut dyn Sink,
) -> Result<Exit, RecordError> {
    let chosen = job.rules.iter().filter(|rule| only.is_none_or(|only| rule.name == only));
    let turns: Vec<Turn<'_>> = chosen.map(|rule| Turn { rule, given: None }).collect();
    carry_job(session, job, &turns, sink)
}

/// A rule whose turn comes, and the plan that it is to have where that was made before.
pub(super) struct Turn<'a> {
    pub(super) rule: &'a Rule,
    pub(super) given: Option<&'a Given<'a>>,
}

/// Runs these rules of a job, and records it.
pub(super) fn carry_job(
    session: &Session<'_>,
    job: &Job,
    turns: &[Turn<'_>],
    sink: &mut dyn Sink,
) -> Result<Exit, RecordError> {
    let started = session.clock.elapsed();
    let (mut state, mut recorder, said) = begin(session, job)?;
    let run = recorder.run();
    sink.event(&Event::RunStarted { job, run });
    if let Some(text) = said {
        sink.event(&Event::Note { text: &text });
    }
    let mut ended: Vec<(&str, RuleOutcome)> = Vec::new();
    let is_asked = |name: &str| turns.iter().any(|turn| turn.rule.name == name);
    for Turn { rule, given } in turns {
        sink.event(&Event::RuleStarted { rule });
        let mut lane =
            Lane { session, state: &mut state, job, rule, given: *given, run, sink, carried: None };
        let report = run_rule(&mut lane, &is_asked, &ended);
        let carried = lane.carried.take();
        if let Err(error) = recorder.add(&mut state, rule.mode, &report, carried.as_ref()) {
            sink.event(&Event::Note { text: &unrecorded(&error) });
        }
        sink.event(&Event::RuleEnded { report: &report });
        ended.push((&rule.name, report.outcome));
        if session.cancel.is_raised() {
            break;
        }
    }
    let exit = process_exit(ended.iter().map(|(_, outcome)| outcome.exit()));
    if let Err(error) = recorder.finish(&mut state, session) {
        sink.event(&Event::Note { text: &unrecorded(&error) });
    }
    let elapsed = session.clock.elapsed().saturating_sub(started);
    sink.event(&Event::RunEnded { job, run, exit, elapsed });
    Ok(exit)
}

fn unrecorded(error: &RecordError) -> String {
    format!("the run could not be recorded: {}", causes(error).join(": "))
}

/// Why a rule is passed over without a look at its trees. Of the rules that it needs, those count that are asked for too.
pub(super) fn skip(
    rule: &Rule,
    is_asked: &dyn Fn(&str) -> bool,
    ended: &[(&str, RuleOutcome)],
) -> Option<Skip> {
    if !rule.enabled {
        return Some(Skip::Disabled);
    }
    let well = |name: &str| ended.iter().any(|(rule, outcome)| *rule == name && outcome.satisfies());
    let mut needs = rule.needs.iter().filter(|name| is_asked(name));
    needs.find(|name| !well(name)).map(|name| Skip::Needs { rule: name.clone() })
}

/// One rule on its way.
pub(super) struct Lane<'a, 'b> {
    pub(super) session: &'a Session<'a>,
    pub(super) state: &'b mut State,
    pub(super) job: &'a Job,
    pub(super) rule: &'a Rule,
    /// The plan that was made before; else one is made.
    pub(super) given: Option<&'a Given<'a>>,
    /// The job's run; bumped where the destination has seen a later one.
    pub(super) run: RunId,
    pub(super) sink: &'b mut dyn Sink,
    /// The plan that was carried out, and which of its actions were done: for the record.
    pub(super) carried: Option<(Plan, Vec<bool>)>,
}

fn run_rule(
    lane: &mut Lane<'_, '_>,
    is_asked: &dyn Fn(&str) -> bool,
    ended: &[(&str, RuleOutcome)],
) -> RuleReport {
    let began = lane.session.clock.elapsed();
    let result = match skip(lane.rule, is_asked, ended) {
        Some(skip) => Err(RuleOutcome::Skipped(skip)),
        None => sync_rule(lane),
    };
    let mut report =
        result.unwrap_or_else(|outcome| RuleReport::ended(&lane.rule.name, outcome, Duration::ZERO));
    report.elapsed = lane.session.clock.elapsed().saturating_sub(began);
    report
}

/// One rule, from its locations to its end.
fn sync_rule(lane: &mut Lane<'_, '_>) -> Result<RuleReport, RuleOutcome> {
    // A destination that another run made its own meanwhile is looked at once more, as the known one that it is now.
    match attempt(lane)? {
        Some(report) => Ok(report),
        None => attempt(lane)?.ok_or(RuleOutcome::Busy(None)),
    }
}

fn attempt(lane: &mut Lane<'_, '_>) -> Result<Option<RuleReport>, RuleOutcome> {
    if let Some(given) = lane.given {
        given.check_job().map_err(RuleOutcome::refused)?;
    }
    let before =
        lane.state.known(&lane.job.file, &lane.rule.name).map_err(|error| RuleOutcome::stopped(&error))?;
    let approach = approach(lane.session, lane.job, lane.rule, &before)?;
    if lane.given.is_none() {
        let (source, destination) = (&approach.roots.source.shown(), &approach.roots.target.shown());
        lane.sink.event(&Event::Comparing { source, destination, meter: &approach.meter });
    }
    match approach.standing {
        Standing::Own(_) => keep_up(lane, &approach),
        Standing::First | Standing::Accepted => settle_in(lane, approach),
    }
}
