//! What may stand on the command line.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::error::CliError;
use super::explain::Explain;
use crate::job::{Mode, Rule};
use crate::report::Call;
use crate::run::{Accept, LimitOverride, LimitOverrideError};

/// Keeps file trees equal and backed up, from job files in YAML
#[derive(Debug, Parser)]
#[command(name = "twinlane", version, max_term_width = 100, after_help = crate::report::exit_table())]
pub(super) struct Arguments {
    /// Flags of all verbs.
    #[command(flatten)]
    pub(super) common: Common,
    /// The verb; none lists the jobs.
    #[command(subcommand)]
    pub(super) verb: Option<Verb>,
}

/// Flags of all verbs.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Common options")]
pub(super) struct Common {
    /// Write one JSON object a line on stdout
    #[arg(long, global = true)]
    pub(super) json: bool,
    /// Say errors only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(super) quiet: bool,
    /// Say every action
    #[arg(short, long, global = true)]
    pub(super) verbose: bool,
    /// Colours: auto (on a terminal, unless `NO_COLOR` is set), always, never
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        hide_possible_values = true,
        hide_default_value = true,
        default_value_t
    )]
    pub(super) color: When,
    /// Progress on stderr: auto (a bar on a terminal, else lines), bar, lines (one every ten seconds), none
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "FORM",
        hide_possible_values = true,
        hide_default_value = true,
        default_value_t
    )]
    pub(super) progress: ProgressChoice,
}

/// `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum When {
    /// On a terminal, unless `NO_COLOR` is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// `--progress`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum ProgressChoice {
    /// A bar on a terminal, lines elsewhere
    #[default]
    Auto,
    /// A bar
    Bar,
    /// A line every ten seconds
    Lines,
    /// None
    None,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Write a starter job with comments; never overwrites
    Init(Init),
    /// Check job files: all errors, each with its place and the way out
    Validate(Validate),
    /// List the jobs found
    Jobs,
    /// Show every value of a job, and the line that set it
    Show(Show),
    /// Show what a run would do; writes nothing
    Plan(Plan),
    /// Carry jobs out
    Run(Run),
    /// Show what a destination keeps of the past: of one path each content, of all what it costs
    Versions(super::versions::Versions),
    /// Release the versions that a job's rules keep no longer
    Prune(super::prune::Prune),
    /// Write what a destination holds, or held at a time, into a folder or back into the source
    Restore(super::restore::Restore),
    /// Show why a path is copied, removed or left alone; writes nothing
    Explain(Explain),
    /// Copy files and folders, without a job: whole, verified if wanted, nothing removed
    Copy(super::copy::Copy),
    /// Carry a plan file out: that plan exactly
    Apply(super::apply::Apply),
    /// Read what runs have written past the page cache: is it still there, and right?
    Verify(super::verify::Verify),
    /// Show past runs
    History(History),
    /// Show what a place is and can do, and what Twinlane does differently for it
    Doctor(super::doctor::Doctor),
    /// Write completions for a shell
    Completions(super::completions::Completions),
    /// Write a manual page
    Man(super::manual::Man),
}

/// `init`.
#[derive(Debug, Args)]
pub(super) struct Init {
    /// The job's name (for ./jobs where that exists, else ~/.config/twinlane/jobs), or a path ending in .yaml
    #[arg(value_name = "NAME|PATH", default_value = "first")]
    pub(super) job: String,
    /// The folder that is read
    #[arg(long, value_name = "PATH")]
    pub(super) source: Option<String>,
    /// The folder that is written
    #[arg(long, value_name = "PATH")]
    pub(super) destination: Option<String>,
    /// backup (extras in the destination stay) or mirror (they are removed)
    #[arg(long, value_enum, value_name = "MODE", hide_possible_values = true, default_value_t)]
    pub(super) mode: ModeChoice,
}

/// `--mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum ModeChoice {
    /// New and changed entries are copied, extras stay
    #[default]
    Backup,
    /// The destination becomes equal to the source, extras are removed
    Mirror,
}

/// `validate`.
#[derive(Debug, Args)]
pub(super) struct Validate {
    /// Names, or paths ending in .yaml; without any, all jobs found
    #[arg(value_name = "JOB")]
    pub(super) jobs: Vec<String>,
}

/// `show`.
#[derive(Debug, Args)]
pub(super) struct Show {
    /// A name, or a path ending in .yaml; with /RULE, one rule of it; or a plan file
    #[arg(value_name = "JOB[/RULE]|FILE")]
    pub(super) job: String,
}

/// `plan`.
#[derive(Debug, Args)]
pub(super) struct Plan {
    /// Names, or paths ending in .yaml; with /RULE, one rule of it
    #[arg(value_name = "JOB[/RULE]", required = true)]
    pub(super) jobs: Vec<String>,
    /// Write the plan to a file, for `apply`; a plan file that is there is replaced
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<String>,
    /// Exit with 6 if there are changes
    #[arg(long)]
    pub(super) exit_code: bool,
    /// What is allowed beyond the job.
    #[command(flatten)]
    pub(super) allowed: Allowed,
}

/// `run`.
#[derive(Debug, Args)]
pub(super) struct Run {
    /// Names, or paths ending in .yaml; with /RULE, one rule of it
    #[arg(value_name = "JOB[/RULE]", required = true)]
    pub(super) jobs: Vec<String>,
    /// What is allowed beyond the job.
    #[command(flatten)]
    pub(super) allowed: Allowed,
}

/// What one run is allowed beyond its job.
#[derive(Debug, Args)]
pub(super) struct Allowed {
    /// Another limit, this time only: `remove=120`, `replace=30%`, `min_free=none`
    #[arg(long, value_name = "NAME=VALUE")]
    pub(super) limit: Vec<LimitChoice>,
    /// Take the destination (unknown or not empty) or the source (another disk) as it is
    #[arg(long, value_enum, value_name = "destination|source", hide_possible_values = true)]
    pub(super) accept: Vec<AcceptChoice>,
    /// Mirrors: remove from the destination what the patterns exclude, this time only
    #[arg(long)]
    pub(super) remove_excluded: bool,
}

impl Allowed {
    /// The limits.
    pub(super) fn limits(&self) -> Vec<LimitOverride> {
        self.limit.iter().map(|choice| choice.limit).collect()
    }

    /// What is accepted.
    pub(super) fn accepted(&self) -> Vec<Accept> {
        let accept = |choice: &AcceptChoice| match choice {
            AcceptChoice::Destination => Accept::Destination,
            AcceptChoice::Source => Accept::Source,
        };
        let removal = self.remove_excluded.then_some(Accept::RemovalOfExcluded);
        self.accept.iter().map(accept).chain(removal).collect()
    }

    /// Refuses what fits none of the rules.
    pub(super) fn check<'a>(&self, mut rules: impl Iterator<Item = &'a Rule>) -> Result<(), CliError> {
        if !self.remove_excluded || rules.any(|rule| rule.mode == Mode::Mirror) {
            return Ok(());
        }
        Err(CliError::usage("`--remove-excluded` is for mirrors, and there is none among these rules")
            .help("what other modes keep in the destination is never removed by a run"))
    }

    /// These flags, as they can be typed again.
    pub(super) fn flags(&self) -> Vec<String> {
        let limits = self.limit.iter().map(|choice| format!("--limit {}", choice.text));
        let accepted = self.accept.iter().map(|choice| match choice {
            AcceptChoice::Destination => "--accept destination".to_owned(),
            AcceptChoice::Source => "--accept source".to_owned(),
        });
        let removal = self.remove_excluded.then(|| "--remove-excluded".to_owned());
        limits.chain(accepted).chain(removal).collect()
    }
}

/// `--limit`: what it says, and how it was written.
#[derive(Clone, Debug)]
pub(super) struct LimitChoice {
    text: String,
    limit: LimitOverride,
}

impl FromStr for LimitChoice {
    type Err = LimitOverrideError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // Without the blanks around its words, a limit is one word of a shell.
        let limit = text.parse()?;
        Ok(Self { text: text.split_whitespace().collect(), limit })
    }
}

/// `--accept`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum AcceptChoice {
    /// The destination as it is
    Destination,
    /// The source as it is
    Source,
}

/// `history`.
#[derive(Debug, Args)]
pub(super) struct History {
    /// A job's name or path; without it, all jobs
    #[arg(value_name = "JOB")]
    pub(super) job: Option<String>,
    /// How many runs, newest first
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = runs)]
    pub(super) last: u32,
}

fn runs(text: &str) -> Result<u32, &'static str> {
    text.parse().ok().filter(|runs| *runs > 0).ok_or("a number of runs, 1 or more, is needed")
}

/// A job's name, or its file; and one of its rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JobArgument {
    /// What it is found by.
    pub(super) by: By,
    /// One rule.
    pub(super) rule: Option<String>,
}

impl JobArgument {
    /// The words to ask for the same again.
    pub(super) fn call(&self, flags: Vec<String>) -> Call {
        Call::new(&self.by.to_string(), self.rule.as_deref(), flags)
    }
}

impl fmt::Display for JobArgument {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.rule {
            Some(rule) => write!(formatter, "{}/{rule}", self.by),
            None => write!(formatter, "{}", self.by),
        }
    }
}

impl fmt::Display for By {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => formatter.write_str(name),
            Self::File(file) => write!(formatter, "{}", file.display()),
        }
    }
}

/// What a job is found by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// Its file's stem.
    Name(String),
    /// Its file.
    File(PathBuf),
}

/// Whether a text is a path: names of jobs have no ending.
#[expect(
    clippy::case_sensitive_file_extension_comparisons,
    reason = "job files are found by these endings alone"
)]
fn names_file(text: &str) -> bool {
    text.ends_with(".yaml") || text.ends_with(".yml")
}

impl JobArgument {
    /// Reads `NAME`, `NAME/RULE`, `PATH.yaml`, `PATH.yaml/RULE`.
    pub(super) fn parse(text: &str) -> Self {
        let rule = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        if names_file(text) {
            return Self { by: By::File(PathBuf::from(text)), rule: None };
        }
        match text.rsplit_once('/') {
            Some((path, name)) if names_file(path) => {
                Self { by: By::File(PathBuf::from(path)), rule: rule(name) }
            }
            Some((name, of)) => Self { by: By::Name(name.to_owned()), rule: rule(of) },
            None => Self { by: By::Name(text.to_owned()), rule: None },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_arguments_are_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn flags_can_be_typed_again() {
        let arguments = ["twinlane", "run", "j", "--limit", "remove = 3", "--accept", "source"];
        let Ok(Arguments { verb: Some(Verb::Run(run)), .. }) = Arguments::try_parse_from(arguments) else {
            panic!("these are good arguments");
        };
        assert_eq!(run.allowed.flags(), ["--limit remove=3", "--accept source"]);
    }

    #[test]
    fn jobs_are_names_or_files_with_or_without_a_rule() {
        let check = |text: &str, by: By, rule: Option<&str>| {
            assert_eq!(JobArgument::parse(text), JobArgument { by, rule: rule.map(str::to_owned) }, "{text}");
        };
        let name = |text: &str| By::Name(text.to_owned());
        let file = |text: &str| By::File(PathBuf::from(text));
        check("demo", name("demo"), None);
        check("demo/photos", name("demo"), Some("photos"));
        check("demo/", name("demo"), None);
        check("jobs/demo.yaml", file("jobs/demo.yaml"), None);
        check("jobs/demo.yml/photos", file("jobs/demo.yml"), Some("photos"));
        check("./demo.yaml/", file("./demo.yaml"), None);
    }
}
