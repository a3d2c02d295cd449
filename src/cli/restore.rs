//! `restore`: what a destination held is written into a folder, or back into the source.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::{ArgGroup, Args};

use crate::job::Rule;
use crate::platform::{Clock, watch_signals};
use crate::report::{Call, RestoreView, Verbosity, restore_json, restore_text};
use crate::run::{
    Damaged, Event, Exit, Goal, Restoration, RestoreOrder, RestoreStop, Session, Sink, check_volumes,
};
use crate::value::{Cancel, When, WhenError, Zone};

use super::error::CliError;
use super::load::{Chosen, Purpose, absolute, choose_one};
use super::run::state_of;
use super::terminal::{Form, Terminal};

/// `restore`.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("where").required(true)), after_help = AFTER)]
pub(super) struct Restore {
    /// A name, or a path ending in .yaml; /RULE is needed where the job has several
    #[arg(value_name = "JOB[/RULE]")]
    job: String,
    /// Files and folders, as they are called below the destination (or absolute, below it or the source); without any, all
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// As of when: latest, 2026-11-24, "yesterday 18:00", tuesday, "3d ago", a run's id
    #[arg(long, value_name = "WHEN", default_value = "latest", hide_default_value = true)]
    at: String,
    /// Into this folder, absent or empty, outside every destination
    #[arg(long, value_name = "DIR", group = "where")]
    to: Option<PathBuf>,
    /// Back to where it came from, the rule's source: removes nothing, and keeps what it replaces as a version
    #[arg(long, group = "where")]
    in_place: bool,
    /// Do not ask before restoring in place
    #[arg(long)]
    yes: bool,
    /// Say what would be restored; writes nothing
    #[arg(long)]
    dry_run: bool,
    /// Restore content too that is not what it was when it was copied
    #[arg(long)]
    damaged: bool,
}

const AFTER: &str = "\
A day without a time means its end. Times are those of the job's `timezone`. Of what was mended in
place (modes, owners, times alone) the state is that of now.

What --in-place replaces in the source lies below the destination's .twinlane/versions/RUN; `twinlane
versions JOB PATH` lists it. The next run copies what was restored as any other change.";

/// Passes on what is to be said on the way.
pub(super) struct Notes<'a>(pub(super) &'a mut Terminal);

impl Sink for Notes<'_> {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::Note { text } = event {
            self.0.output.message(&format!("note: {text}"));
        }
    }
}

pub(super) fn run(terminal: &mut Terminal, arguments: &Restore) -> Result<Exit, CliError> {
    let chosen = choose_one(terminal, &arguments.job, Purpose::Act)?;
    let rule = only_rule(&chosen)?;
    check_volumes(std::iter::once(rule))
        .map_err(|error| CliError::usage(error.to_string()).help("name the one that is meant by its UUID"))?;
    let job = &chosen.loaded.job;
    let clock = Clock::system();
    let when = when_of(&arguments.at, clock, job.timezone)?;
    let into = match &arguments.to {
        Some(path) => Goal::Directory(absolute(terminal, path)?),
        None => Goal::Source,
    };
    let asks = into == Goal::Source && !arguments.yes && !arguments.dry_run;
    if asks && !std::io::stdin().is_terminal() {
        return Err(CliError::usage("restoring in place needs --yes where nobody can be asked")
            .help("look at it first with --dry-run"));
    }
    let cancel = Cancel::new();
    let signals = watch_signals(cancel.clone())
        .map_err(|error| CliError::stopped("cannot listen for signals").because(&error))?;
    let state = state_of(terminal)?;
    let session =
        Session { signals: Some(&signals), ..Session::new(terminal.environment, clock, &state, &cancel) };
    let damaged = if arguments.damaged { Damaged::Restore } else { Damaged::LeaveOut };
    let order = RestoreOrder { paths: arguments.paths.clone(), when, into, damaged };
    let call = chosen.argument.call(Vec::new());
    let prepared = match Restoration::prepare(&session, job, rule, &order, &mut Notes(terminal)) {
        Ok(prepared) => prepared,
        Err(RestoreStop::Usage { message, help }) => return Err(CliError::usage(message).help(help)),
        Err(RestoreStop::Ended(outcome)) => return Ok(ended(terminal, &call, job, rule, outcome)),
    };
    if terminal.form == Form::Text && terminal.verbosity == Verbosity::Verbose
        || arguments.dry_run && terminal.form == Form::Json
    {
        list(terminal, &prepared);
    }
    if arguments.dry_run {
        let report = prepared.report();
        show(terminal, &RestoreView { job: &job.name, call: &call, report, done: false, order: &order });
        return Ok(if report.left() > 0 { Exit::Partial } else { Exit::Done });
    }
    if asks && !agreed(terminal, &prepared) {
        terminal.output.message("nothing was done");
        return Ok(Exit::Done);
    }
    match prepared.carry_out(&session) {
        Ok(report) => {
            let exit = report.outcome.exit();
            show(
                terminal,
                &RestoreView { job: &job.name, call: &call, report: &report, done: true, order: &order },
            );
            Ok(exit)
        }
        Err(outcome) => Ok(ended(terminal, &call, job, rule, outcome)),
    }
}

/// The rule that is meant: the one asked for, or the only one.
pub(super) fn only_rule(chosen: &Chosen) -> Result<&Rule, CliError> {
    let rules = &chosen.loaded.job.rules;
    let found = match (&chosen.rule, rules.as_slice()) {
        (Some(name), _) => rules.iter().find(|rule| rule.name == *name),
        (None, [rule]) => Some(rule),
        (None, _) => None,
    };
    found.ok_or_else(|| {
        let names: Vec<String> =
            rules.iter().map(|rule| format!("{}/{}", chosen.argument, rule.name)).collect();
        CliError::usage(format!("job `{}` has several rules", chosen.loaded.job.name))
            .help(format!("name one: {}", names.join(", ")))
    })
}

/// Reads a time.
pub(super) fn when_of(text: &str, clock: Clock, zone: Zone) -> Result<When, CliError> {
    When::parse(text, clock.now(), &zone)
        .map_err(|error| CliError::usage(error.to_string()).help(format!("times are: {}", WhenError::FORMS)))
}

/// Shows how a verb that could not begin ended.
pub(super) fn ended(
    terminal: &mut Terminal,
    call: &Call,
    job: &crate::job::Job,
    rule: &Rule,
    outcome: crate::run::RuleOutcome,
) -> Exit {
    let exit = outcome.exit();
    let report = crate::run::RuleReport::ended(&rule.name, outcome, std::time::Duration::ZERO);
    match terminal.form {
        Form::Json => terminal.output.line(&crate::report::ended_json(&job.name, &report).to_string()),
        Form::Text => crate::report::ended_text(&mut terminal.output, &job.name, call, &report),
    }
    exit
}

fn list(terminal: &mut Terminal, prepared: &Restoration) {
    for (path, bytes) in prepared.names() {
        match terminal.form {
            Form::Json => terminal.output.line(&crate::report::restored_entry_json(path, bytes).to_string()),
            Form::Text => terminal.output.line(&format!("    {path}")),
        }
    }
}

fn show(terminal: &mut Terminal, view: &RestoreView<'_>) {
    match terminal.form {
        Form::Json => terminal.output.line(&restore_json(view).to_string()),
        Form::Text => restore_text(&mut terminal.output, view, terminal.verbosity),
    }
}

/// Asks whoever sits at the terminal.
fn agreed(terminal: &mut Terminal, prepared: &Restoration) -> bool {
    let report = prepared.report();
    terminal.output.message(&format!(
        "restore {} entries ({}) {} into `{}`?",
        report.entries,
        report.bytes,
        report.when,
        report.to.display()
    ));
    terminal.output.message("what it replaces there is kept as a version, nothing is removed; y or n:");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "yes" | "Y")
}
