//! From an argument to a resolved job.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::job::{self, Loaded, nearest};
use crate::platform::{Clock, Environment, list_paths, read_text, untrusted};
use crate::report::{Colour, Stream};

use super::arguments::{By, JobArgument};
use super::error::CliError;
use super::find::{find_named, is_job};
use super::surroundings::Here;
use super::terminal::Terminal;

/// A job file is text that people write.
pub(super) const JOB_BYTES_MAX: u64 = 1 << 20;

/// A job and the rule that was asked for.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) loaded: Loaded,
    pub(super) rule: Option<String>,
    /// As it was asked for.
    pub(super) argument: JobArgument,
}

/// What is going to be done with a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// It is looked at.
    Look,
    /// It is acted on: as root, only where nobody else may have written it.
    Act,
}

/// Loads all jobs that were asked for; the first that is wrong ends it, with all its errors.
pub(super) fn choose(
    terminal: &Terminal,
    arguments: &[String],
    purpose: Purpose,
) -> Result<Vec<Chosen>, CliError> {
    arguments.iter().map(|argument| choose_one(terminal, argument, purpose)).collect()
}

/// Loads one job.
pub(super) fn choose_one(terminal: &Terminal, argument: &str, purpose: Purpose) -> Result<Chosen, CliError> {
    let argument = JobArgument::parse(argument);
    let file = file_of(terminal, &argument)?;
    if purpose == Purpose::Act {
        check_trusted(terminal, "job file", &file)?;
    }
    let text = text_of(&file)?;
    let loaded = resolve(terminal, &file, &text, purpose).map_err(|error| {
        if !job::is_shared(&file, &text, &here(terminal, purpose)) {
            return error;
        }
        CliError::usage(format!("`{argument}` has no rules: it holds what other jobs extend"))
            .help("`twinlane jobs` lists the jobs")
    })?;
    if let Some(rule) = &argument.rule {
        check_rule(&loaded, rule, &argument)?;
    }
    Ok(Chosen { loaded, rule: argument.rule.clone(), argument })
}

/// The absolute path of a job's file.
pub(super) fn file_of(terminal: &Terminal, argument: &JobArgument) -> Result<PathBuf, CliError> {
    match &argument.by {
        By::Name(name) if name.is_empty() || name.starts_with(['.', '~']) || name.contains('/') => {
            Err(CliError::usage(format!("`{argument}` is neither a job's name nor a path ending in .yaml"))
                .help("a job is given as NAME, NAME/RULE or a path such as jobs/photos.yaml"))
        }
        By::Name(name) => find_named(terminal.environment, name),
        By::File(path) => absolute(terminal, path),
    }
}

/// A path from the command line, against the working directory.
pub(super) fn absolute(terminal: &Terminal, path: &Path) -> Result<PathBuf, CliError> {
    if path.is_absolute() {
        return Ok(path.to_path_buf());
    }
    let folder = terminal
        .environment
        .working_directory()
        .map_err(|error| CliError::usage("cannot tell the working directory").because(&error))?;
    // `./jobs/a.yaml` and `jobs/a.yaml` are one job to the state.
    Ok(path
        .components()
        .filter(|part| *part != std::path::Component::CurDir)
        .fold(folder, |path, part| path.join(part)))
}

/// What a file turned out to be.
#[derive(Debug)]
pub(super) enum Seen {
    /// A job.
    Job(Box<Loaded>),
    /// No job, but good to be extended by jobs.
    Shared,
}

/// Reads and resolves one file to look at it.
pub(super) fn load_file(terminal: &Terminal, file: &Path) -> Result<Seen, CliError> {
    let text = text_of(file)?;
    match load_text(terminal, file, &text) {
        Ok(loaded) => Ok(Seen::Job(Box::new(loaded))),
        Err(_) if job::is_shared(file, &text, &here(terminal, Purpose::Look)) => Ok(Seen::Shared),
        Err(error) => Err(error),
    }
}

fn text_of(file: &Path) -> Result<String, CliError> {
    read_text(file, JOB_BYTES_MAX).map_err(|error| {
        let what = CliError::usage(format!("cannot read the job file `{}`", file.display())).because(&error);
        match error.kind() {
            ErrorKind::NotFound => what
                .help(neighbour(file).unwrap_or_else(|| {
                    "`twinlane jobs` lists the jobs that can be given by name".to_owned()
                })),
            _ => what,
        }
    })
}

/// What was most likely meant by a file that is not there.
pub(super) fn neighbour(file: &Path) -> Option<String> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    let files: Vec<PathBuf> =
        list_paths(folder).unwrap_or_default().into_iter().filter(|file| is_job(file)).collect();
    let name_of = |file: &Path| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let names: Vec<String> = files.iter().map(|file| name_of(file)).collect();
    let asked = name_of(file);
    let ending_left_out =
        names.iter().find(|name| name.rsplit_once('.').is_some_and(|(stem, _)| stem == asked));
    let near =
        ending_left_out.map(String::as_str).or_else(|| nearest(&asked, names.iter().map(String::as_str)));
    near.map(|near| format!("did you mean `{near}`, which is in the same folder?"))
}

/// Resolves the text of a file to look at it.
pub(super) fn load_text(terminal: &Terminal, file: &Path, text: &str) -> Result<Loaded, CliError> {
    resolve(terminal, file, text, Purpose::Look)
}

fn resolve(terminal: &Terminal, file: &Path, text: &str, purpose: Purpose) -> Result<Loaded, CliError> {
    job::load(file, text, &here(terminal, purpose)).map_err(|diagnostics| {
        let colour = terminal.output.colour(Stream::Message) == Colour::On;
        CliError::rendered(job::render(&diagnostics, colour))
    })
}

fn here(terminal: &Terminal, purpose: Purpose) -> Here {
    Here { environment: terminal.environment, clock: Clock::system(), purpose }
}

/// Root does nothing that somebody else may have written.
pub(super) fn check_trusted(terminal: &Terminal, what: &str, file: &Path) -> Result<(), CliError> {
    let reason = distrust(terminal.environment, file).map_err(|error| {
        CliError::usage(format!("cannot look at the {what} `{}`", file.display())).because(&error)
    })?;
    reason.map_or(Ok(()), |reason| {
        Err(CliError::usage(format!(
            "the {what} `{}` is not to be trusted as root: {reason}",
            file.display()
        ))
        .help(TRUST_HELP))
    })
}

/// The way out for a file that root does not trust.
pub(super) const TRUST_HELP: &str =
    "let it, and the folders above it, belong to root and be written by root alone";

/// Why root must not act on a file; `None` for other users, and where reading it will say that it is not there.
pub(super) fn distrust(environment: Environment, file: &Path) -> io::Result<Option<String>> {
    if !environment.is_root() {
        return Ok(None);
    }
    match untrusted(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        looked => looked,
    }
}

fn check_rule(loaded: &Loaded, rule: &str, argument: &JobArgument) -> Result<(), CliError> {
    let job = &loaded.job;
    if job.rules.iter().any(|known| known.name == rule) {
        return Ok(());
    }
    let names = || job.rules.iter().map(|rule| rule.name.as_str());
    let help = match nearest(rule, names()) {
        Some(nearest) => {
            let meant = JobArgument { rule: Some(nearest.to_owned()), ..argument.clone() };
            format!("did you mean `{meant}`?")
        }
        None => format!("its rules are {}", names().collect::<Vec<_>>().join(", ")),
    };
    Err(CliError::usage(format!("job `{}` has no rule `{rule}`", job.name)).help(help))
}
