//! `doctor`: what a place is and can do, and what follows from it.

use std::error::Error as _;
use std::path::PathBuf;

use crate::platform::Clock;
use crate::report::{after_doctor, doctor_json, doctor_text};
use crate::run::{Exit, Session, Trying, diagnose};
use crate::value::Cancel;

use super::error::CliError;
use super::load::absolute;
use super::run::state_of;
use super::terminal::{Form, Terminal};

/// `doctor`.
#[derive(Debug, clap::Args)]
pub(super) struct Doctor {
    /// Directories, or files in them
    #[arg(value_name = "PATH", required = true)]
    pub(super) paths: Vec<PathBuf>,
    /// Try the place out with small files of Twinlane's own, and remove them again
    #[arg(long)]
    pub(super) probe: bool,
}

pub(super) fn run(terminal: &mut Terminal, arguments: &Doctor) -> Result<Exit, CliError> {
    let cancel = Cancel::new();
    let state = state_of(terminal)?;
    let session = Session::new(terminal.environment, Clock::system(), &state, &cancel);
    let trying = if arguments.probe { Trying::Probe } else { Trying::Look };
    let mut diagnoses = Vec::new();
    for path in &arguments.paths {
        let path = absolute(terminal, path)?;
        let found = diagnose(&session, &path, trying).map_err(|error| {
            let said = CliError::usage(error.to_string());
            let said = match error.source() {
                Some(cause) => said.because(cause),
                None => said,
            };
            said.help("give a directory that is there and may be read")
        })?;
        match terminal.form {
            Form::Json => terminal.output.line(&doctor_json(&found).to_string()),
            Form::Text => doctor_text(&mut terminal.output, &found),
        }
        diagnoses.push(found);
    }
    if terminal.form == Form::Text
        && let Some(lines) = after_doctor(&diagnoses)
    {
        for line in lines {
            terminal.output.line(&line);
        }
    }
    Ok(Exit::Done)
}
