//! Bare `twinlane`: the jobs that are found, and eight commands.

use crate::report::{Paint, Stream};
use crate::run::Exit;

use super::error::CliError;
use super::jobs;
use super::terminal::Terminal;

const COMMANDS: [(&str, &str); 8] = [
    ("init NAME", "write a starter job"),
    ("validate", "check the job files"),
    ("show JOB", "every value of a job, and the line that set it"),
    ("plan JOB", "what a run would do; writes nothing"),
    ("run JOB", "do it"),
    ("verify JOB", "read the copies back: are they right?"),
    ("versions JOB", "what is kept of the past, and how it comes back"),
    ("history", "what was done"),
];

pub(super) fn run(terminal: &mut Terminal) -> Result<Exit, CliError> {
    let listed = jobs::run(terminal)?;
    if terminal.form == super::terminal::Form::Text {
        let title = terminal.output.paint(Stream::Result, Paint::Bold, "Commands");
        terminal.output.line(&format!("\n{title}"));
        for (command, meaning) in COMMANDS {
            terminal.output.line(&format!("  twinlane {command:<12}  {meaning}"));
        }
        terminal.output.line("\n`twinlane --help` shows every flag and the exit codes.");
    }
    Ok(listed)
}
