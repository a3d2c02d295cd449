//! `explain`: why a path is copied, kept, removed or left alone.

use std::path::PathBuf;

use clap::Args;

use crate::platform::Clock;
use crate::report::{Telling, Verbosity, explain_json, explain_text};
use crate::run::{
    Exit, ExplainError, Explained, RuleOutcome, Session, check_volumes, explain_job, process_exit,
};
use crate::value::Cancel;

use super::arguments::Allowed;
use super::error::CliError;
use super::load::{Purpose, choose_one};
use super::run::{chosen_rules, state_of};
use super::terminal::{Form, Terminal};

/// `explain`.
#[derive(Debug, Args)]
pub(super) struct Explain {
    /// A name, or a path ending in .yaml; with /RULE, one rule of it
    #[arg(value_name = "JOB[/RULE]")]
    pub(super) job: String,
    /// Paths below the rule's source: from the working directory where that lies in it, else from the source; or absolute ones in
    /// source or destination
    #[arg(value_name = "PATH", required = true)]
    pub(super) paths: Vec<PathBuf>,
    /// What is allowed beyond the job.
    #[command(flatten)]
    pub(super) allowed: Allowed,
}

pub(super) fn run(terminal: &mut Terminal, arguments: &Explain) -> Result<Exit, CliError> {
    let chosen = choose_one(terminal, &arguments.job, Purpose::Act)?;
    check_volumes(chosen_rules(&chosen))
        .map_err(|error| CliError::usage(error.to_string()).help("name the one that is meant by its UUID"))?;
    arguments.allowed.check(chosen_rules(&chosen))?;
    let cancel = Cancel::new();
    let (accepted, limits) = (arguments.allowed.accepted(), arguments.allowed.limits());
    let state = state_of(terminal)?;
    let session = Session {
        accepted: &accepted,
        limits: &limits,
        ..Session::new(terminal.environment, Clock::system(), &state, &cancel)
    };
    let here = terminal.environment.working_directory().ok();
    let call = chosen.argument.call(arguments.allowed.flags());
    let telling = Telling { loaded: &chosen.loaded, call: &call, here: here.as_deref() };
    let mut exits = Vec::new();
    let mut each = |explained: &Explained<'_>| {
        exits.push(exit_of(explained));
        match terminal.form {
            Form::Json => terminal.output.line(&explain_json(&telling, explained).to_string()),
            Form::Text if terminal.verbosity > Verbosity::Quiet => {
                explain_text(&mut terminal.output, &telling, explained);
            }
            Form::Text => {}
        }
    };
    let job = &chosen.loaded.job;
    explain_job(&session, job, chosen.rule.as_deref(), &arguments.paths, here.as_deref(), &mut each)
        .map_err(|error| refused(&error))?;
    if terminal.form == Form::Text && terminal.verbosity > Verbosity::Quiet {
        terminal.output.line(&format!("next: {}", call.again("plan")));
    }
    Ok(process_exit(exits))
}

fn refused(error: &ExplainError) -> CliError {
    let (what, help) = match error {
        ExplainError::State(_) => return CliError::stopped("cannot read the state").because(error),
        ExplainError::Outside { .. } => (
            CliError::usage(error.to_string()),
            "give a path below a rule's source or destination; `twinlane show JOB` lists both",
        ),
        ExplainError::Path { .. } => {
            (CliError::usage(error.to_string()).because(error), "write it from the source on, without `..`")
        }
    };
    what.help(help)
}

/// That a run would be refused is an answer; only what kept the answer from being found is an end of its own.
fn exit_of(explained: &Explained<'_>) -> Exit {
    match &explained.plan.objection {
        Some(RuleOutcome::Refused(_)) | None => Exit::Done,
        Some(outcome) => outcome.exit(),
    }
}
