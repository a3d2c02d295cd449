//! `copy`: what people type instead of `cp -a`, without a job.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::job::{Overwrite, Verify};
use crate::platform::{Clock, path_bytes, watch_signals};
use crate::report::{CopyForm, CopySink, shell_word};
use crate::run::{
    CopyError, CopyRequest, Exit, Session, Typed, copy, plan_copy, prepare_copy, process_exit,
    state_directory,
};
use crate::value::Cancel;

use super::error::CliError;
use super::terminal::{Form, Terminal};

/// `copy`.
#[derive(Debug, Args)]
#[command(after_help = HELP, override_usage = "twinlane copy [OPTIONS] [--] SOURCE… DEST")]
pub(super) struct Copy {
    /// What is copied (with a slash at its end, the content of a folder), and last the folder it is copied into
    #[arg(value_name = "PATH", required = true, num_args = 2..)]
    pub(super) paths: Vec<PathBuf>,
    /// Read back from the disk what was written, and compare it
    #[arg(long)]
    pub(super) verify: bool,
    /// What is there already and differs: changed (overwrite it), newer (only by what is newer), never
    #[arg(long, value_enum, value_name = "WHICH", hide_possible_values = true, default_value_t)]
    pub(super) overwrite: OverwriteChoice,
    /// Leave out what this pattern of .gitignore matches (may be repeated); a leading slash stands for DEST
    #[arg(long, value_name = "PATTERN")]
    pub(super) exclude: Vec<String>,
    /// Write digests as b3sum does, of all files that are in place then; check with (cd DEST && b3sum -c FILE)
    #[arg(long, value_name = "FILE")]
    pub(super) sums: Option<PathBuf>,
    /// Show what would be done; writes nothing
    #[arg(long)]
    pub(super) dry_run: bool,
}

/// The forms of a call, below the options.
const HELP: &str = "Forms:
  copy DIR DEST       DEST/DIR is a copy of DIR
  copy DIR/ DEST      DEST holds what DIR holds, as with rsync
  copy FILE DEST      DEST/FILE where DEST is a folder or ends in a slash, else DEST is its name
  copy A B C DEST     DEST/A, DEST/B, DEST/C

Permissions, times, links, holes, extended attributes and ACLs are kept, owners as root. Names of
one file stay such among sources of one folder. Symlinks are copied as symlinks. Nothing is removed,
a folder and a file do not take each other's place, and nothing is left but the copies.";

/// `--overwrite`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum OverwriteChoice {
    /// Whatever differs
    #[default]
    Changed,
    /// Only by what is newer
    Newer,
    /// Never
    Never,
}

impl From<OverwriteChoice> for Overwrite {
    fn from(choice: OverwriteChoice) -> Self {
        match choice {
            OverwriteChoice::Changed => Self::Changed,
            OverwriteChoice::Newer => Self::Newer,
            OverwriteChoice::Never => Self::Never,
        }
    }
}

pub(super) fn run(terminal: &mut Terminal, arguments: &Copy) -> Result<Exit, CliError> {
    let request = request(terminal, arguments)?;
    let cancel = Cancel::new();
    let signals = watch_signals(cancel.clone())
        .map_err(|error| CliError::stopped("cannot listen for signals").because(&error))?;
    // Nothing can be opened below it, which is said when it is tried.
    let state = state_directory(terminal.environment).unwrap_or_else(|| PathBuf::from("/proc/self/no-home"));
    let session = Session {
        signals: Some(&signals),
        ..Session::new(terminal.environment, Clock::system(), &state, &cancel)
    };
    let ready = prepare_copy(&session, &request).map_err(|error| refused(&error))?;
    let form = match terminal.form {
        Form::Text => CopyForm::Text,
        Form::Json => CopyForm::Json,
    };
    let (verbosity, progress) = (terminal.verbosity, terminal.progress);
    let mut sink = CopySink::new(&mut terminal.output, form, verbosity, progress, words(arguments));
    sink.mapping(&ready.mapping, &ready.notes);
    if arguments.dry_run {
        let plans = plan_copy(&session, &ready);
        sink.planned(&plans);
        let exits =
            plans.iter().filter_map(|plan| plan.objection.as_ref()).map(|outcome| match outcome.exit() {
                Exit::Refused => Exit::Done,
                exit => exit,
            });
        return Ok(process_exit(exits));
    }
    let mapping = ready.mapping.clone();
    let ended = copy(&session, ready, &mut sink);
    sink.ended(&ended, &mapping);
    Ok(ended.report.outcome.exit())
}

fn request(terminal: &Terminal, arguments: &Copy) -> Result<CopyRequest, CliError> {
    let folder = terminal
        .environment
        .working_directory()
        .map_err(|error| CliError::usage("cannot tell the working directory").because(&error))?;
    let local = |path: &PathBuf| -> Result<Typed, CliError> {
        if path.as_os_str().is_empty() {
            return Err(CliError::usage("a path is empty").help("write `.` for the folder you are in"));
        }
        let typed = Typed::new(path.clone(), &folder);
        if is_remote(path) && crate::platform::real_path(&typed.path).is_err() {
            return Err(CliError::usage(format!(
                "Twinlane works on local and mounted file systems; `{}` looks like a place on another host",
                path.display()
            ))
            .help(format!(
                "mount it and give the path of its mount point; a file of that name is `./{}`",
                path.display()
            )));
        }
        Ok(typed)
    };
    let Some((destination, sources)) =
        arguments.paths.split_last().filter(|(_, sources)| !sources.is_empty())
    else {
        return Err(CliError::usage("a source and a destination are needed"));
    };
    Ok(CopyRequest {
        sources: sources.iter().map(local).collect::<Result<_, _>>()?,
        destination: local(destination)?,
        overwrite: arguments.overwrite.into(),
        verify: if arguments.verify { Verify::Readback } else { Verify::None },
        exclude: arguments.exclude.clone(),
        sums: arguments.sums.as_ref().map(|path| Typed::new(path.clone(), &folder)),
    })
}

/// `user@host:/path`, `host:path`, `scheme://…`: a colon before the first slash, as rsync tells them.
fn is_remote(path: &Path) -> bool {
    let first = path_bytes(path).split(|byte| *byte == b'/').next().unwrap_or_default();
    first.contains(&b':')
}

fn refused(error: &CopyError) -> CliError {
    let told = match error.exit() {
        Exit::Refused => CliError::refused(error.to_string()),
        _ => CliError::usage(error.to_string()),
    };
    match error.help() {
        Some(help) => told.help(help),
        None => told,
    }
}

/// The call as it can be typed again.
fn words(arguments: &Copy) -> Vec<String> {
    let path = |path: &PathBuf| shell_word(&path.display().to_string());
    let mut words = vec!["copy".to_owned()];
    if arguments.verify {
        words.push("--verify".to_owned());
    }
    match arguments.overwrite {
        OverwriteChoice::Changed => {}
        OverwriteChoice::Newer => words.push("--overwrite newer".to_owned()),
        OverwriteChoice::Never => words.push("--overwrite never".to_owned()),
    }
    words.extend(arguments.exclude.iter().map(|pattern| format!("--exclude {}", shell_word(pattern))));
    if let Some(sums) = arguments.sums.as_ref().filter(|_| arguments.dry_run) {
        words.push(format!("--sums {}", path(sums)));
    }
    if arguments.dry_run {
        words.push("--dry-run".to_owned());
    }
    if arguments.paths.iter().any(|path| path_bytes(path).first() == Some(&b'-')) {
        words.push("--".to_owned());
    }
    words.extend(arguments.paths.iter().map(path));
    words
}
