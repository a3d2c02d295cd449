//! `prune`: versions that are kept no longer go now.

use clap::Args;

use crate::platform::{Clock, watch_signals};
use crate::report::{prune_json, prune_text};
use crate::run::{Exit, Pruning, Session, check_volumes, process_exit, prune_rule};
use crate::value::Cancel;

use super::error::CliError;
use super::load::{Purpose, choose};
use super::restore::Notes;
use super::run::{chosen_rules, state_of};
use super::terminal::{Form, Terminal};

/// `prune`.
#[derive(Debug, Args)]
pub(super) struct Prune {
    /// Names, or paths ending in .yaml; with /RULE, one rule of it
    #[arg(value_name = "JOB[/RULE]", required = true)]
    jobs: Vec<String>,
    /// Say what is due; removes nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(terminal: &mut Terminal, arguments: &Prune) -> Result<Exit, CliError> {
    let jobs = choose(terminal, &arguments.jobs, Purpose::Act)?;
    check_volumes(jobs.iter().flat_map(chosen_rules))
        .map_err(|error| CliError::usage(error.to_string()).help("name the one that is meant by its UUID"))?;
    let cancel = Cancel::new();
    let signals = watch_signals(cancel.clone())
        .map_err(|error| CliError::stopped("cannot listen for signals").because(&error))?;
    let state = state_of(terminal)?;
    let session = Session {
        signals: Some(&signals),
        ..Session::new(terminal.environment, Clock::system(), &state, &cancel)
    };
    let pruning = if arguments.dry_run { Pruning::Rehearsed } else { Pruning::Real };
    let mut exits = Vec::new();
    for chosen in &jobs {
        let job = &chosen.loaded.job;
        let call = chosen.argument.call(Vec::new());
        for rule in chosen_rules(chosen) {
            if let (true, Some(signal)) = (cancel.is_raised(), signals.first()) {
                exits.push(Exit::Interrupted(signal));
                break;
            }
            let report = prune_rule(&session, job, rule, pruning, &mut Notes(terminal));
            exits.push(report.outcome.exit());
            match terminal.form {
                Form::Json => terminal.output.line(&prune_json(&job.name, &report, pruning).to_string()),
                Form::Text => {
                    let verbosity = terminal.verbosity;
                    prune_text(&mut terminal.output, &job.name, &call, &report, pruning, verbosity);
                }
            }
        }
    }
    Ok(process_exit(exits))
}
