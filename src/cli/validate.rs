//! `validate`: every error of job files, with its place; and destinations of different jobs that lie in each other.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::job::{Job, Location};
use crate::report::{Verbosity, idle_notes};
use crate::run::Exit;

use super::arguments::{By, JobArgument, Validate};
use super::error::CliError;
use super::find::{Found, find_all};
use super::load::{Seen, file_of, load_file};
use super::terminal::{Form, Terminal};

pub(super) fn run(terminal: &mut Terminal, arguments: &Validate) -> Result<Exit, CliError> {
    let files = files(terminal, &arguments.jobs)?;
    let mut next = None;
    let mut jobs = Vec::new();
    let mut exit = Exit::Done;
    for (file, argument) in files {
        match load_file(terminal, &file) {
            Ok(Seen::Shared) => say_shared(terminal, &file.to_string_lossy()),
            Ok(Seen::Job(loaded)) => {
                let notes: Vec<String> =
                    loaded.job.rules.iter().flat_map(|rule| idle_notes(&loaded, rule)).collect();
                say(terminal, &file.to_string_lossy(), loaded.job.rules.len(), &notes);
                jobs.push(loaded.job);
                next = next.or(Some(argument.call(Vec::new()).command("plan")));
            }
            Err(error) => {
                if terminal.form == Form::Json {
                    let line = json!({"file": file.to_string_lossy(), "valid": false}).to_string();
                    terminal.output.line(&line);
                }
                error.show(&mut terminal.output);
                exit = Exit::Usage;
            }
        }
    }
    if let Some(error) = overlap(&jobs) {
        return Err(error);
    }
    if exit == Exit::Done
        && terminal.form == Form::Text
        && terminal.verbosity > Verbosity::Quiet
        && let Some(command) = next
    {
        terminal.output.line(&format!("next: {command}"));
    }
    Ok(exit)
}

/// The files, and what each is asked for by.
fn files(terminal: &Terminal, arguments: &[String]) -> Result<Vec<(PathBuf, JobArgument)>, CliError> {
    if !arguments.is_empty() {
        let parsed = arguments.iter().map(|argument| JobArgument::parse(argument));
        return parsed.map(|argument| Ok((file_of(terminal, &argument)?, argument))).collect();
    }
    let all = find_all(terminal.environment)?;
    if all.is_empty() {
        return Err(CliError::usage("there is no job to validate").help("`twinlane init NAME` writes one"));
    }
    let several = |name: &str| all.iter().filter(|found| found.name == name).count() > 1;
    let argument = |found: &Found| {
        if several(&found.name) { By::File(found.file.clone()) } else { By::Name(found.name.clone()) }
    };
    Ok(all
        .iter()
        .map(|found| (found.file.clone(), JobArgument { by: argument(found), rule: None }))
        .collect())
}

fn say(terminal: &mut Terminal, file: &str, rules: usize, notes: &[String]) {
    match terminal.form {
        Form::Json => {
            let line = json!({"file": file, "valid": true, "rules": rules, "notes": notes}).to_string();
            terminal.output.line(&line);
        }
        Form::Text if terminal.verbosity > Verbosity::Quiet => {
            let noun = if rules == 1 { "rule" } else { "rules" };
            terminal.output.line(&format!("{file}: good, {rules} {noun}"));
            for note in notes {
                terminal.output.message(&format!("note: {note}"));
            }
        }
        Form::Text => {}
    }
}

/// What it refers to may be in the jobs that extend it, so they decide whether it is good.
fn say_shared(terminal: &mut Terminal, file: &str) {
    match terminal.form {
        Form::Json => {
            let line = json!({"file": file, "valid": true, "rules": 0, "shared": true}).to_string();
            terminal.output.line(&line);
        }
        Form::Text if terminal.verbosity > Verbosity::Quiet => {
            terminal.output.line(&format!("{file}: no rules; it is checked with the jobs that extend it"));
        }
        Form::Text => {}
    }
}

/// A rule's destination, as it is written.
struct Lane<'a> {
    job: &'a Job,
    rule: &'a str,
    volume: Option<&'a str>,
    path: &'a Path,
}

impl Lane<'_> {
    fn meets(&self, other: &Lane<'_>) -> bool {
        self.job.file != other.job.file
            && self.volume == other.volume
            && (self.path.starts_with(other.path) || other.path.starts_with(self.path))
    }
}

/// Two rules of different jobs whose destinations are equal or lie in each other. Within a job, loading it has looked.
fn overlap(jobs: &[Job]) -> Option<CliError> {
    let lanes: Vec<Lane<'_>> = jobs
        .iter()
        .flat_map(|job| {
            job.rules.iter().map(move |rule| {
                let (volume, path) = match &rule.destination {
                    Location::Path(path) => (None, path.as_path()),
                    Location::Volume { name, path } => (Some(name.as_str()), path.as_path()),
                };
                Lane { job, rule: &rule.name, volume, path }
            })
        })
        .collect();
    let (one, other) = lanes.iter().enumerate().find_map(|(index, lane)| {
        let other = lanes.iter().skip(index + 1).find(|other| lane.meets(other))?;
        Some((lane, other))
    })?;
    let named = |lane: &Lane<'_>| format!("{}/{}", lane.job.name, lane.rule);
    Some(
        CliError::usage(format!(
            "the destinations of {} and {} are equal, or one lies in the other",
            named(one),
            named(other)
        ))
        .help("each rule needs a destination of its own, side by side"),
    )
}
