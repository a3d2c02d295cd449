//! The command line: arguments in, one verb called, an exit code out. clap is used here and nowhere else.

mod apply;
mod arguments;
mod completions;
mod copy;
mod doctor;
mod error;
mod explain;
mod find;
mod history;
mod init;
mod jobs;
mod load;
mod manual;
mod overview;
mod plan;
mod plan_file;
mod prune;
mod restore;
mod run;
mod show;
mod surroundings;
mod terminal;
mod validate;
mod verify;
mod versions;

use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};

use clap::Parser as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::platform::Environment;
use crate::run::Exit;

pub use manual::reference;

use arguments::{Arguments, Verb};
use error::CliError;
use find::{find_all, listed};
use terminal::Terminal;

/// Runs the program on the process's own arguments; returns its exit code.
#[must_use]
pub fn main() -> u8 {
    std::panic::set_hook(Box::new(say_panic));
    // The hook has said it; a bug ends in code 5 as every other early end.
    catch_unwind(AssertUnwindSafe(|| parse_and_run(Environment))).unwrap_or(Exit::Stopped).code()
}

fn parse_and_run(environment: Environment) -> Exit {
    let arguments = match Arguments::try_parse_from(environment.arguments()) {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error, environment),
    };
    let mut terminal = Terminal::new(&arguments.common, environment);
    let outcome = match &arguments.verb {
        None => overview::run(&mut terminal),
        Some(Verb::Init(verb)) => init::run(&mut terminal, verb),
        Some(Verb::Validate(verb)) => validate::run(&mut terminal, verb),
        Some(Verb::Jobs) => jobs::run(&mut terminal),
        Some(Verb::Show(verb)) => show::run(&mut terminal, verb),
        Some(Verb::Plan(verb)) => plan::run(&mut terminal, verb),
        Some(Verb::Run(verb)) => run::run(&mut terminal, verb),
        Some(Verb::Versions(verb)) => versions::run(&mut terminal, verb),
        Some(Verb::Prune(verb)) => prune::run(&mut terminal, verb),
        Some(Verb::Restore(verb)) => restore::run(&mut terminal, verb),
        Some(Verb::Explain(verb)) => explain::run(&mut terminal, verb),
        Some(Verb::Copy(verb)) => copy::run(&mut terminal, verb),
        Some(Verb::Apply(verb)) => apply::run(&mut terminal, verb),
        Some(Verb::Verify(verb)) => verify::run(&mut terminal, verb),
        Some(Verb::History(verb)) => history::run(&mut terminal, verb),
        Some(Verb::Doctor(verb)) => doctor::run(&mut terminal, verb),
        Some(Verb::Completions(verb)) => Ok(completions::run(&mut terminal, verb)),
        Some(Verb::Man(verb)) => manual::run(&mut terminal, verb),
    };
    outcome.unwrap_or_else(|error| {
        error.show(&mut terminal.output);
        error.exit()
    })
}

/// What clap has to say: help and version are results, the rest is a usage error.
fn refuse(error: &clap::Error, environment: Environment) -> Exit {
    if let Some(ours) = in_our_words(error, environment) {
        ours.show(&mut Terminal::new(&arguments::Common::default(), environment).output);
        return Exit::Usage;
    }
    // A reader that has gone away is no error of ours.
    let _ = error.print();
    if error.use_stderr() { Exit::Usage } else { Exit::Done }
}

/// The slips for which there is more to say than clap can know: the jobs that there are, and `check`.
fn in_our_words(error: &clap::Error, environment: Environment) -> Option<CliError> {
    let jobs = || find_all(environment).unwrap_or_default();
    match (error.kind(), error.get(ContextKind::InvalidSubcommand)) {
        (ErrorKind::InvalidSubcommand, Some(ContextValue::String(word))) if word == "check" => {
            Some(CliError::usage("there is no verb `check`").help(
                "`twinlane validate` checks job files, `twinlane plan JOB` shows what a run would do",
            ))
        }
        (ErrorKind::InvalidSubcommand, Some(ContextValue::String(word)))
            if jobs().iter().any(|job| job.name == *word) =>
        {
            Some(CliError::usage(format!("`{word}` is a job, and a verb comes first")).help(format!(
                "`twinlane plan {word}` shows what a run would do, `twinlane run {word}` does it"
            )))
        }
        (ErrorKind::TooFewValues, _) => Some(
            CliError::usage("`copy` needs what is to be copied, and last the folder that receives it")
                .help("such as `twinlane copy Documents /mnt/stick`; `twinlane copy --help` shows all forms"),
        ),
        (ErrorKind::MissingRequiredArgument, _) if lacks(error, "FILE") => Some(
            CliError::usage("a plan file is required").help("`twinlane plan JOB --out FILE` writes one"),
        ),
        (ErrorKind::MissingRequiredArgument, _) if lacks(error, "JOB") => Some(CliError::usage("a job is required").help(
            match jobs().as_slice() {
                [] => "no job was found by name: give the path of a job file, or write one with `twinlane init NAME`".to_owned(),
                all => format!("jobs: {}", listed(all)),
            },
        )),
        _ => None,
    }
}

/// Whether a required argument of this name is missing.
fn lacks(error: &clap::Error, argument: &str) -> bool {
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(missing)) => missing.iter().any(|name| name.contains(argument)),
        _ => false,
    }
}

fn say_panic(info: &PanicHookInfo<'_>) {
    use std::io::Write as _;
    let payload = info.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let what = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    let place =
        info.location().map(|place| format!(" at {}:{}", place.file(), place.line())).unwrap_or_default();
    let line = what.lines().next().unwrap_or_default();
    let _ = writeln!(std::io::stderr(), "error: internal error: {line}{place}; please report this");
}
