//! `verify`: what runs have written is read back.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::job::duration;
use crate::platform::{Clock, open_root, read_bytes, watch_signals};
use crate::report::{Asked, Call, VerifyForm, VerifySink};
use crate::run::{
    Accept, Against, Amount, Exit, ListOf, Session, VerifyEvent, check_volumes, verify_directory, verify_job,
    verify_list,
};
use crate::value::{Cancel, Percent};

use super::arguments::{By, JobArgument};
use super::error::CliError;
use super::load::{Chosen, Purpose, absolute, choose_one, file_of};
use super::run::{chosen_rules, state_of};
use super::terminal::{Form, Terminal};

/// A list of ten million files comes to this; it is held in memory.
const LIST_BYTES_MAX: u64 = 2 << 30;

/// `verify`.
#[derive(Debug, Args)]
pub(super) struct Verify {
    /// A job (NAME, or a path ending in .yaml; with /RULE, one rule of it), or a destination's folder on any machine
    #[arg(value_name = "JOB[/RULE]|DIR")]
    target: String,
    /// Read this share of the bytes, what was not read for longest first: ten times 10% read everything once
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    sample: Option<Percent>,
    /// Begin no further file after so long, such as 30m; what was not read for longest comes first
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    max_time: Option<Duration>,
    /// Compare with the source's files too, by content
    #[arg(long, value_enum, value_name = "source", hide_possible_values = true)]
    against: Option<AgainstChoice>,
    /// Check against a list of digests, as b3sum writes it, instead of the catalog; the folder may be any
    #[arg(long, value_name = "FILE", conflicts_with_all = ["sample", "max_time", "against", "accept"])]
    sums: Option<PathBuf>,
    /// Take the destination as it is: forget what is missing, guard what was changed from now on
    #[arg(long, value_enum, value_name = "destination", hide_possible_values = true)]
    accept: Option<AcceptedSide>,
}

/// `--against`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AgainstChoice {
    /// The source's files
    Source,
}

/// `--accept`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AcceptedSide {
    /// The destination as it is
    Destination,
}

fn share(text: &str) -> Result<Percent, String> {
    let share: Percent = text.parse().map_err(|error: crate::value::SizeError| error.to_string())?;
    if share == Percent::whole(0) { Err("a share above 0% is needed".to_owned()) } else { Ok(share) }
}

impl Verify {
    /// The flags, as they can be typed again.
    fn flags(&self) -> Vec<String> {
        let sample = self.sample.map(|share| format!("--sample {share}"));
        let time = self.max_time.map(|time| format!("--max-time {}", typed(time)));
        let against = self.against.map(|_| "--against source".to_owned());
        let sums =
            self.sums.as_ref().map(|file| format!("--sums {}", Call::word(&file.display().to_string())));
        let accept = self.accept.map(|_| "--accept destination".to_owned());
        sample.into_iter().chain(time).chain(against).chain(sums).chain(accept).collect()
    }
}

/// A duration in the largest unit that holds it whole.
fn typed(time: Duration) -> String {
    let seconds = time.as_secs();
    match (time.subsec_millis(), seconds) {
        (0, 0) => "0s".to_owned(),
        (0, _) if seconds.is_multiple_of(3600) => format!("{}h", seconds / 3600),
        (0, _) if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        (0, _) => format!("{seconds}s"),
        _ => format!("{}ms", time.as_millis()),
    }
}

/// What is to be verified.
enum Target {
    Job(Box<Chosen>),
    Directory(PathBuf),
}

pub(super) fn run(terminal: &mut Terminal, arguments: &Verify) -> Result<Exit, CliError> {
    let target = target(terminal, &arguments.target)?;
    if let Target::Job(chosen) = &target {
        check_volumes(chosen_rules(chosen)).map_err(|error| {
            CliError::usage(error.to_string()).help("name the one that is meant by its UUID")
        })?;
    }
    if let (Target::Directory(path), Some(_)) = (&target, arguments.against) {
        let text = format!("`{}` is a folder, and only a job knows its source", path.display());
        return Err(CliError::usage(text)
            .help("give the job instead: `twinlane jobs` lists those that can be given by name"));
    }
    let list = match &arguments.sums {
        Some(file) => Some(read_list(terminal, file)?),
        None => None,
    };
    let cancel = Cancel::new();
    let signals = watch_signals(cancel.clone())
        .map_err(|error| CliError::stopped("cannot listen for signals").because(&error))?;
    let accepted: Vec<Accept> = arguments.accept.iter().map(|_| Accept::Destination).collect();
    let state = state_of(terminal)?;
    let session = Session {
        signals: Some(&signals),
        accepted: &accepted,
        ..Session::new(terminal.environment, Clock::system(), &state, &cancel)
    };
    let asked = asked(&target, arguments);
    let form = match terminal.form {
        Form::Text => VerifyForm::Text,
        Form::Json => VerifyForm::Json,
    };
    let mut sink = VerifySink::new(&mut terminal.output, terminal.verbosity, terminal.progress, form, asked);
    let mut each = |event: &VerifyEvent<'_>| sink.event(event);
    let amount = Amount { sample: arguments.sample, time_max: arguments.max_time };
    Ok(match (&target, list) {
        (Target::Directory(path), None) => verify_directory(&session, path, amount, &mut each),
        (Target::Job(chosen), None) => {
            let against = arguments.against.map_or(Against::Catalog, |_| Against::Source);
            verify_job(&session, &chosen.loaded.job, chosen.rule.as_deref(), amount, against, &mut each)
        }
        (target, Some(list)) => {
            let of = list_of(target)?;
            verify_list(&session, of, &list, &mut each).map_err(|(line, reason)| {
                let file = arguments.sums.as_deref().unwrap_or(Path::new("")).display();
                CliError::usage(format!("`{file}`, line {line}: {reason}"))
                    .help("a list of digests has lines `<64 hex digits>  <name>`, as b3sum writes them")
            })?
        }
    })
}

/// A list speaks of one tree.
fn list_of(target: &Target) -> Result<ListOf<'_>, CliError> {
    let chosen = match target {
        Target::Directory(path) => return Ok(ListOf::Directory(path)),
        Target::Job(chosen) => chosen,
    };
    let mut rules = chosen_rules(chosen);
    match (rules.next(), rules.next()) {
        (Some(rule), None) => Ok(ListOf::Rule(rule)),
        _ => Err(CliError::usage("a list of digests speaks of one folder, and this job has several rules")
            .help("name the rule as JOB/RULE, or give the folder")),
    }
}

fn asked(target: &Target, arguments: &Verify) -> Asked {
    match target {
        Target::Job(chosen) => Asked::Job(chosen.argument.call(arguments.flags())),
        Target::Directory(_) => Asked::Directory(Call::new(&arguments.target, None, arguments.flags())),
    }
}

/// A job where there is one of that name, else a folder; what begins with `/`, `.` or `~` is a path.
fn target(terminal: &Terminal, text: &str) -> Result<Target, CliError> {
    let argument = JobArgument::parse(text);
    let is_path =
        matches!(&argument.by, By::Name(name) if name.is_empty() || name.starts_with(['.', '~', '/']));
    if matches!(argument.by, By::File(_)) || !is_path && file_of(terminal, &argument).is_ok() {
        return Ok(Target::Job(Box::new(choose_one(terminal, text, Purpose::Act)?)));
    }
    let path = absolute(terminal, Path::new(text))?;
    match open_root(&path) {
        Err(_) if !is_path => Ok(Target::Job(Box::new(choose_one(terminal, text, Purpose::Act)?))),
        Ok(_) | Err(_) => Ok(Target::Directory(path)),
    }
}

fn read_list(terminal: &Terminal, file: &Path) -> Result<Vec<u8>, CliError> {
    let path = absolute(terminal, file)?;
    read_bytes(&path, LIST_BYTES_MAX).map_err(|error| {
        CliError::usage(format!("cannot read the list of digests `{}`", file.display())).because(&error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_can_be_typed_again() {
        for text in ["0s", "90s", "30m", "2h", "1500ms"] {
            assert_eq!(typed(duration(text).unwrap()), text);
        }
        assert_eq!(typed(duration("1d").unwrap()), "24h");
    }

    #[test]
    fn a_share_is_above_nothing() {
        assert!(share("0%").is_err() && share("5").is_err());
        assert_eq!(share("2.5%").unwrap().to_string(), "2.5%");
    }
}
