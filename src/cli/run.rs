//! `run`: jobs are carried out, one after the other.

use std::path::PathBuf;

use crate::job::Rule;
use crate::platform::{Clock, watch_signals};
use crate::report::{JsonSink, TextSink};
use crate::run::{Exit, Session, Sink, check_volumes, process_exit, run_job, state_directory};
use crate::value::Cancel;

use super::arguments::Run;
use super::error::CliError;
use super::load::{Chosen, Purpose, choose};
use super::terminal::{Form, Terminal};

pub(super) fn run(terminal: &mut Terminal, arguments: &Run) -> Result<Exit, CliError> {
    let jobs = choose(terminal, &arguments.jobs, Purpose::Act)?;
    check_volumes(jobs.iter().flat_map(chosen_rules))
        .map_err(|error| CliError::usage(error.to_string()).help("name the one that is meant by its UUID"))?;
    arguments.allowed.check(jobs.iter().flat_map(chosen_rules))?;
    let cancel = Cancel::new();
    let signals = watch_signals(cancel.clone())
        .map_err(|error| CliError::stopped("cannot listen for signals").because(&error))?;
    let (accepted, limits) = (arguments.allowed.accepted(), arguments.allowed.limits());
    let state = state_of(terminal)?;
    let session = Session {
        signals: Some(&signals),
        accepted: &accepted,
        limits: &limits,
        ..Session::new(terminal.environment, Clock::system(), &state, &cancel)
    };
    let mut exits = Vec::new();
    for Chosen { loaded, rule, argument } in &jobs {
        let (verbosity, progress) = (terminal.verbosity, terminal.progress);
        let output = &mut terminal.output;
        let mut sink: Box<dyn Sink + '_> = match terminal.form {
            Form::Text => {
                let call = argument.call(arguments.allowed.flags());
                Box::new(TextSink::new(output, verbosity, progress, call))
            }
            Form::Json => Box::new(JsonSink::new(output, verbosity, progress)),
        };
        let exit = run_job(&session, &loaded.job, rule.as_deref(), &mut *sink)
            .map_err(|error| CliError::stopped("cannot use the state").because(&error))?;
        exits.push(exit);
        if cancel.is_raised() {
            break;
        }
    }
    Ok(process_exit(exits))
}

/// The rules that were asked for.
pub(super) fn chosen_rules(chosen: &Chosen) -> impl Iterator<Item = &Rule> {
    let only = chosen.rule.as_deref();
    chosen.loaded.job.rules.iter().filter(move |rule| only.is_none_or(|only| rule.name == only))
}

/// Where the state is kept.
pub(super) fn state_of(terminal: &Terminal) -> Result<PathBuf, CliError> {
    state_directory(terminal.environment).ok_or_else(|| {
        CliError::usage("there is no home directory to keep the state in")
            .help("set HOME, or TWINLANE_STATE_DIR to an absolute path")
    })
}
