//! `plan`: what a run would do.

use crate::platform::{Clock, watch_signals};
use crate::report::{Call, Planned, Verbosity, after_plan, after_plan_file, plan_json, plan_text};
use crate::run::{Exit, PlanReport, RuleOutcome, Session, check_volumes, plan_job, process_exit};
use crate::value::Cancel;

use super::arguments::Plan;
use super::error::CliError;
use super::load::{Chosen, Purpose, choose};
use super::plan_file::Out;
use super::run::{chosen_rules, state_of};
use super::terminal::{Form, Terminal};

pub(super) fn run(terminal: &mut Terminal, arguments: &Plan) -> Result<Exit, CliError> {
    let jobs = choose(terminal, &arguments.jobs, Purpose::Act)?;
    check_volumes(jobs.iter().flat_map(chosen_rules))
        .map_err(|error| CliError::usage(error.to_string()).help("name the one that is meant by its UUID"))?;
    arguments.allowed.check(jobs.iter().flat_map(chosen_rules))?;
    let mut out = match &arguments.out {
        Some(name) => Some(Out::begin(terminal, name, &arguments.allowed)?),
        None => None,
    };
    let cancel = Cancel::new();
    // What was begun of a plan file is to go with an interrupted plan.
    let signals = out.as_ref().map(|_| watch_signals(cancel.clone())).transpose();
    let signals = signals.map_err(|error| CliError::stopped("cannot listen for signals").because(&error))?;
    let (accepted, limits) = (arguments.allowed.accepted(), arguments.allowed.limits());
    let state = state_of(terminal)?;
    let session = Session {
        signals: signals.as_ref(),
        accepted: &accepted,
        limits: &limits,
        ..Session::new(terminal.environment, Clock::system(), &state, &cancel)
    };
    let mut exits = Vec::new();
    let (mut changes, mut carried) = (0, 0);
    for Chosen { loaded, rule, argument } in &jobs {
        let job = &loaded.job;
        let call = argument.call(arguments.allowed.flags());
        let mut plans = Vec::new();
        let mut each = |report: &PlanReport| {
            let actions = report.plan.as_ref().map_or(0, |plan| plan.totals.actions);
            exits.push(exit_of(report));
            changes += actions;
            carried += if report.objection.is_none() { actions } else { 0 };
            show(terminal, &job.name, &call, report);
            if let Some(out) = &mut out {
                out.add(loaded, report);
            }
            plans.push(Planned::from(report));
        };
        plan_job(&session, job, rule.as_deref(), &mut each)
            .map_err(|error| CliError::stopped("cannot read the state").because(&error))?;
        if cancel.is_raised() {
            break;
        }
        if says_next(terminal)
            && !(out.is_some() && plans.iter().all(Planned::is_welcome))
            && let Some(next) = after_plan(&call, &plans, terminal.verbosity)
        {
            terminal.output.line(&next);
        }
    }
    let exit = process_exit(exits);
    if let (Some(out), Some(name)) = (out, &arguments.out) {
        finish(terminal, out, name, carried, exit)?;
    }
    Ok(if exit == Exit::Done && arguments.exit_code && changes > 0 { Exit::Changes } else { exit })
}

/// Gives the plan file its name, unless something kept a plan from being made.
fn finish(terminal: &mut Terminal, out: Out, name: &str, carried: u64, exit: Exit) -> Result<(), CliError> {
    if exit != Exit::Done {
        terminal.output.message(&format!("`{name}` was not written: not every rule could be planned"));
        return Ok(());
    }
    let rules = out.rules;
    out.end()?;
    if says_next(terminal) {
        for line in after_plan_file(name, rules, carried) {
            terminal.output.line(&line);
        }
    }
    Ok(())
}

fn says_next(terminal: &Terminal) -> bool {
    terminal.form == Form::Text && terminal.verbosity > Verbosity::Quiet
}

/// A refusal is what a plan is for; only what kept it from being made is an end of its own.
fn exit_of(report: &PlanReport) -> Exit {
    match &report.objection {
        Some(RuleOutcome::Refused(_)) | None => Exit::Done,
        Some(outcome) => outcome.exit(),
    }
}

fn show(terminal: &mut Terminal, job: &str, call: &Call, report: &PlanReport) {
    match terminal.form {
        Form::Json => terminal.output.line(&plan_json(job, report).to_string()),
        Form::Text if terminal.verbosity > Verbosity::Quiet => {
            plan_text(&mut terminal.output, job, call, report, terminal.verbosity);
        }
        Form::Text => {}
    }
}
