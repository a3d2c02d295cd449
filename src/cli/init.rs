//! `init`: writes a starter job with comments; never over a file that is there, and asks nothing.

use std::path::{Path, PathBuf};

use crate::platform::{make_directories, path_bytes, write_new};
use crate::report::Verbosity;
use crate::run::Exit;

use super::arguments::{By, Init, JobArgument, ModeChoice};
use super::error::CliError;
use super::find::{is_job, own_folder};
use super::load::{absolute, load_text};
use super::terminal::{Form, Terminal};

pub(super) fn run(terminal: &mut Terminal, arguments: &Init) -> Result<Exit, CliError> {
    let file = target(terminal, &arguments.job)?;
    let text = starter(terminal, arguments)?;
    // What is written must be good: a value of the command line may not be.
    load_text(terminal, &file, &text)?;
    if let Some(folder) = file.parent() {
        make_directories(folder).map_err(|error| {
            CliError::usage(format!("cannot make the folder `{}`", folder.display())).because(&error)
        })?;
    }
    write_new(&file, &text).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            CliError::usage(format!("`{}` is there already", file.display()))
                .help("choose another name; `twinlane init` never overwrites")
        }
        _ => CliError::usage(format!("cannot write `{}`", file.display())).because(&error),
    })?;
    say(terminal, &file, &arguments.job);
    Ok(Exit::Done)
}

fn say(terminal: &mut Terminal, file: &Path, argument: &str) {
    if terminal.form == Form::Json {
        let line = serde_json::json!({"file": file.to_string_lossy()}).to_string();
        terminal.output.line(&line);
    } else if terminal.verbosity > Verbosity::Quiet {
        let next = JobArgument::parse(argument).call(Vec::new()).command("plan");
        terminal.output.line(&format!("wrote {}: read it, and change what does not fit", file.display()));
        terminal.output.line(&format!("next: {next}"));
    }
}

/// Where the job goes: the path that was given, or `NAME.yaml` in `./jobs` where there is one, else in the user's folder.
fn target(terminal: &Terminal, argument: &str) -> Result<PathBuf, CliError> {
    let JobArgument { by, rule } = JobArgument::parse(argument);
    if rule.is_some() {
        return Err(CliError::usage(format!("`{argument}` is neither a name nor a path ending in .yaml"))
            .help("give a plain name, or a path such as jobs/photos.yaml"));
    }
    let name = match by {
        By::File(path) if is_job(&path) => return absolute(terminal, &path),
        By::File(path) => {
            return Err(CliError::usage(format!("`{}` would be a hidden file", path.display()))
                .help("give it a name in front of its ending, such as jobs/photos.yaml"));
        }
        By::Name(name) => name,
    };
    let plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
    if name.is_empty() || name.starts_with(['.', '-']) || !name.chars().all(plain) {
        return Err(CliError::usage(format!("`{name}` is not a good name for a job"))
            .help("use letters, digits, `-` and `_`"));
    }
    let here = terminal.environment.working_directory().ok().map(|folder| folder.join("jobs"));
    let here = here.filter(|folder| crate::platform::real_path(folder).is_ok());
    let folder = here.or_else(|| own_folder(terminal.environment)).ok_or_else(|| {
        CliError::usage("there is no home directory to keep jobs in").help("give a path ending in .yaml")
    })?;
    Ok(folder.join(format!("{name}.yaml")))
}

fn starter(terminal: &Terminal, arguments: &Init) -> Result<String, CliError> {
    let source = location(terminal, arguments.source.as_deref(), "~/Documents")?;
    let destination = location(terminal, arguments.destination.as_deref(), "/mnt/backup/Documents")?;
    let (mode, meaning) = match arguments.mode {
        ModeChoice::Backup => {
            ("backup", "new and changed entries are copied, extras in the destination stay")
        }
        ModeChoice::Mirror => {
            ("mirror", "the destination becomes equal to the source; what only it has is removed")
        }
    };
    Ok(format!(
        "# A Twinlane job. `twinlane validate` checks this file, `twinlane show` lists every value, also those that are not here.
description: What this job is for, in a line

rules:
  files:
    # {mode}: {meaning}.
    mode: {mode}
    source: {source}
    # `volume:LABEL/path` finds a disk by its label wherever it is mounted.
    destination: {destination}

    # What is left out: patterns as in .gitignore, one a line; the last match wins, `!` takes back.
    exclude: |
      .cache/
      *.tmp

    # What a run replaces or removes is kept in the destination, below `.twinlane/versions`, for so long.
    versions: {{keep_for: {}}}

    # A run that would remove or replace a larger share of the destination is refused before it writes anything.
    limits: {{remove: 25%, replace: 50%}}

# fail: an absent disk or folder is an error; skip: its rules are passed over.
on_missing: fail
",
        match arguments.mode {
            ModeChoice::Backup => "90d",
            ModeChoice::Mirror => "14d",
        }
    ))
}

/// A path of the command line as a YAML value: absolute, since relative ones start at the job file's folder.
fn location(terminal: &Terminal, given: Option<&str>, default: &str) -> Result<String, CliError> {
    let Some(given) = given else { return Ok(default.to_owned()) };
    if given.is_empty() {
        return Err(CliError::usage("a path is empty").help("leave the flag out, or give a path"));
    }
    // The job language judges what is no plain path: volumes, homes, variables, places on other hosts.
    let is_remote = given.split('/').next().is_some_and(|first| first.contains(':'));
    if is_remote || given.starts_with('~') || given.starts_with("${") {
        return Ok(quoted(given));
    }
    let path = absolute(terminal, Path::new(given))?;
    let text = std::str::from_utf8(path_bytes(&path))
        .map_err(|error| CliError::usage(format!("`{given}` is not UTF-8")).because(&error))?;
    Ok(quoted(text))
}

/// Single quotes take everything as it is, but themselves (YAML 1.2.2, 7.3.2).
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_doubled() {
        assert_eq!(quoted("/it's: #1"), "'/it''s: #1'");
    }
}
