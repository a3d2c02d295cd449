//! `history`: past runs.

use serde_json::Value;

use crate::record::{RunRecord, State};
use crate::report::{Verbosity, history_json, history_table};
use crate::run::Exit;

use super::arguments::{By, History, JobArgument};
use super::error::CliError;
use super::load::{Purpose, choose_one};
use super::run::state_of;
use super::terminal::{Form, Terminal};

pub(super) fn run(terminal: &mut Terminal, arguments: &History) -> Result<Exit, CliError> {
    let directory = state_of(terminal)?;
    let job = arguments.job.as_deref().map(name_of);
    let unreadable =
        |error: &dyn std::error::Error| CliError::stopped("cannot read the state").because(error);
    let state = State::open_readonly(&directory).map_err(|error| unreadable(&error))?;
    let limit = usize::try_from(arguments.last).unwrap_or(usize::MAX);
    let runs = match &state {
        Some(state) => state.history(job.as_deref(), limit).map_err(|error| unreadable(&error))?,
        None => Vec::new(),
    };
    if let (Some(job), true) = (&arguments.job, runs.is_empty()) {
        // What is neither remembered nor found is a slip.
        choose_one(terminal, job, Purpose::Look)?;
    }
    match (terminal.form, &state) {
        (Form::Json, Some(state)) => {
            for run in &runs {
                let line = json_line(state, run, terminal.verbosity).map_err(|error| unreadable(&*error))?;
                terminal.output.line(&line);
            }
        }
        (Form::Json, None) => {}
        (Form::Text, _) if runs.is_empty() => {
            terminal.output.line("no run yet");
            let next =
                arguments.job.as_deref().map(|job| JobArgument::parse(job).call(Vec::new()).command("plan"));
            let next = next.unwrap_or_else(|| "twinlane jobs".to_owned());
            terminal.output.line(&format!("next: {next}"));
        }
        (Form::Text, _) => history_table(&mut terminal.output, &runs),
    }
    Ok(Exit::Done)
}

/// What a job is remembered by: its name, also where its file is given or a rule of it.
fn name_of(argument: &str) -> String {
    match JobArgument::parse(argument).by {
        By::Name(name) => name,
        By::File(file) => file.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
    }
}

/// One run as a line; with its actions where everything is to be said.
fn json_line(
    state: &State,
    run: &RunRecord,
    verbosity: Verbosity,
) -> Result<String, Box<dyn std::error::Error>> {
    let mut failed = None;
    let object = history_json(run, |rule| {
        if verbosity < Verbosity::Verbose {
            return None;
        }
        let mut actions: Vec<Value> = Vec::new();
        let read = state.actions(run.run, rule, |text| actions.extend(serde_json::from_str::<Value>(text)));
        failed = failed.take().or(read.err());
        Some(actions)
    });
    failed.map_or(Ok(object.to_string()), |error| Err(error.into()))
}
