//! Plan files on the command line: `plan --out` writes them, `apply` and `show` read them.

use std::io;
use std::path::{Path, PathBuf};

use crate::job::Loaded;
use crate::plan::{
    BEGINNING, LINE_BYTES_MAX, PlanFile, PlanFileError, PlanFileHeader, PlanReader, PlanWriter, resolved,
};
use crate::platform::{Clock, NewFile, begins_with, read_lines};
use crate::report::{Verbosity, plan_file_json, plan_file_text, shell_word};
use crate::run::{Exit, PlanReport};

use super::arguments::Allowed;
use super::error::CliError;
use super::find::is_job;
use super::load::absolute;
use super::terminal::{Form, Terminal};

/// A plan file that is being written, rule by rule; dropped before its end, it leaves nothing.
pub(super) struct Out {
    file: NewFile,
    writer: PlanWriter,
    path: PathBuf,
    /// How many rules are in it.
    pub(super) rules: u64,
    failed: Option<io::Error>,
}

impl Out {
    /// Begins it.
    pub(super) fn begin(terminal: &Terminal, name: &str, allowed: &Allowed) -> Result<Self, CliError> {
        let path = absolute(terminal, Path::new(name))?;
        let begun = NewFile::create(&path, BEGINNING).and_then(|mut file| {
            let header = header(terminal, allowed);
            let writer = PlanWriter::begin(&header, &mut |line: &[u8]| file.write(line))?;
            Ok((file, writer))
        });
        match begun {
            Ok((file, writer)) => Ok(Self { file, writer, path, rules: 0, failed: None }),
            Err(error) => Err(unwritten(&path, &error)),
        }
    }

    /// Adds a rule; what fails is told at the end.
    pub(super) fn add(&mut self, loaded: &Loaded, report: &PlanReport) {
        let filed = report.to_file(&loaded.job, resolved(&loaded.origins, &report.rule));
        let file = &mut self.file;
        let written = self.writer.rule(&filed, &mut |line: &[u8]| file.write(line));
        self.rules += 1;
        self.failed = self.failed.take().or(written.err());
    }

    /// Ends it, and gives it its name.
    pub(super) fn end(self) -> Result<(), CliError> {
        let Self { mut file, writer, path, failed, .. } = self;
        let written = failed.map_or(Ok(()), Err);
        let ended = written.and_then(|()| writer.end(&mut |line: &[u8]| file.write(line)));
        ended.and_then(|()| file.publish()).map_err(|error| unwritten(&path, &error))
    }
}

fn header(terminal: &Terminal, allowed: &Allowed) -> PlanFileHeader {
    let flags = allowed.flags();
    let values =
        |flag: &str| flags.iter().filter_map(|text| text.strip_prefix(flag).map(str::to_owned)).collect();
    PlanFileHeader {
        twinlane: env!("CARGO_PKG_VERSION").to_owned(),
        made: Clock::system().now(),
        host: terminal.environment.hostname(),
        limits: values("--limit "),
        accepted: values("--accept "),
    }
}

fn unwritten(path: &Path, error: &io::Error) -> CliError {
    let path = path.display();
    if error.kind() == io::ErrorKind::AlreadyExists {
        return CliError::usage(format!("`{path}` is there, and is not a plan file"))
            .help("give a name that is free; a plan file of ours is replaced");
    }
    CliError::stopped(format!("cannot write the plan file `{path}`")).because(error)
}

/// Reads a plan file whole.
pub(super) fn read(terminal: &Terminal, name: &str) -> Result<PlanFile, CliError> {
    let path = absolute(terminal, Path::new(name))?;
    let mut reader = PlanReader::default();
    // One byte more than a line may have, and its end.
    let lines = read_lines(&path, LINE_BYTES_MAX + 2, &mut |line| reader.take(line));
    let lines = lines.map_err(|error| {
        CliError::usage(format!("cannot read the plan file `{}`", path.display()))
            .because(&error)
            .help("`twinlane plan JOB --out FILE` writes one")
    })?;
    lines.and_then(|()| reader.finish()).map_err(|error| {
        let of_a_job = format!("a job file is carried out with `twinlane run {}`", shell_word(name));
        let help = match &error {
            PlanFileError::Empty | PlanFileError::Other if is_job(&path) => of_a_job.as_str(),
            PlanFileError::Newer { .. } => "apply it with the Twinlane that made it, or make a new plan",
            PlanFileError::Empty | PlanFileError::Other => "`twinlane plan JOB --out FILE` writes one",
            PlanFileError::Line { .. } | PlanFileError::CutOff { .. } | PlanFileError::Changed => {
                "make a new plan: `twinlane plan JOB --out FILE`"
            }
        };
        CliError::usage(format!("cannot use the plan file `{}`: {error}", path.display())).help(help)
    })
}

/// Shows the plan file that an argument names; `None` where it names none. What it is, its first line says.
pub(super) fn show(terminal: &mut Terminal, name: &str) -> Result<Option<Exit>, CliError> {
    let path = absolute(terminal, Path::new(name))?;
    // What cannot be looked at is told by whoever takes it for a job.
    if !begins_with(&path, BEGINNING).unwrap_or(false) {
        return Ok(None);
    }
    let file = read(terminal, name)?;
    let now = Clock::system().now();
    match terminal.form {
        Form::Json => plan_file_json(&mut terminal.output, name, &file, now),
        Form::Text if terminal.verbosity > Verbosity::Quiet => {
            plan_file_text(&mut terminal.output, name, &file, now, terminal.verbosity);
        }
        Form::Text => {}
    }
    Ok(Some(Exit::Done))
}
