//! `completions`: what a shell needs to complete verbs and flags.

use clap::CommandFactory as _;
use clap_complete::{Shell, generate};

use crate::run::Exit;

use super::arguments::Arguments;
use super::terminal::Terminal;

/// `completions`.
#[derive(Debug, clap::Args)]
pub(super) struct Completions {
    /// bash, elvish, fish, powershell or zsh
    #[arg(value_enum, value_name = "SHELL", hide_possible_values = true)]
    pub(super) shell: Shell,
}

pub(super) fn run(terminal: &mut Terminal, arguments: &Completions) -> Exit {
    let mut script = Vec::new();
    generate(arguments.shell, &mut Arguments::command(), "twinlane", &mut script);
    terminal.output.line(String::from_utf8_lossy(&script).trim_end());
    Exit::Done
}
