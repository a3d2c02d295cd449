//! `versions`: what a destination keeps of the past.

use std::path::PathBuf;

use clap::Args;

use crate::platform::Clock;
use crate::report::{versions_json, versions_text};
use crate::run::{Exit, RestoreStop, Session, check_volumes, versions};
use crate::value::Cancel;

use super::error::CliError;
use super::load::{Purpose, choose_one};
use super::restore::{ended, only_rule};
use super::run::state_of;
use super::terminal::{Form, Terminal};

/// `versions`.
#[derive(Debug, Args)]
pub(super) struct Versions {
    /// A name, or a path ending in .yaml; /RULE is needed where the job has several
    #[arg(value_name = "JOB[/RULE]")]
    job: String,
    /// A file or folder, as it is called below the destination (or absolute, below it or the source); without it, a line a run
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
}

pub(super) fn run(terminal: &mut Terminal, arguments: &Versions) -> Result<Exit, CliError> {
    let chosen = choose_one(terminal, &arguments.job, Purpose::Look)?;
    let rule = only_rule(&chosen)?;
    check_volumes(std::iter::once(rule))
        .map_err(|error| CliError::usage(error.to_string()).help("name the one that is meant by its UUID"))?;
    let job = &chosen.loaded.job;
    let cancel = Cancel::new();
    let state = state_of(terminal)?;
    let session = Session::new(terminal.environment, Clock::system(), &state, &cancel);
    let call = chosen.argument.call(Vec::new());
    let report = match versions(&session, job, rule, arguments.path.as_deref()) {
        Ok(report) => report,
        Err(RestoreStop::Usage { message, help }) => return Err(CliError::usage(message).help(help)),
        Err(RestoreStop::Ended(outcome)) => return Ok(ended(terminal, &call, job, rule, outcome)),
    };
    match terminal.form {
        Form::Json => {
            for object in versions_json(&job.name, &call, &report) {
                terminal.output.line(&object.to_string());
            }
        }
        Form::Text => versions_text(&mut terminal.output, &job.name, &call, &report),
    }
    Ok(Exit::Done)
}
