//! `jobs`: the jobs that are found, with what they are for.

use serde_json::json;

use crate::report::{Paint, Stream};
use crate::run::Exit;

use super::error::CliError;
use super::find::{Found, find_all};
use super::load::{Seen, load_file};
use super::terminal::{Form, Terminal};

pub(super) fn run(terminal: &mut Terminal) -> Result<Exit, CliError> {
    let all = find_all(terminal.environment)?;
    match terminal.form {
        Form::Json => {
            for found in &all {
                let line = json_line(terminal, found);
                terminal.output.line(&line);
            }
        }
        Form::Text => list(terminal, &all),
    }
    Ok(Exit::Done)
}

fn list(terminal: &mut Terminal, all: &[Found]) {
    let title = terminal.output.paint(Stream::Result, Paint::Bold, "Jobs");
    terminal.output.line(&title);
    if all.is_empty() {
        terminal.output.line("  none yet: `twinlane init NAME` writes one");
    }
    let width = all.iter().map(|found| found.name.chars().count()).max().unwrap_or(0);
    let shown: Vec<String> = all.iter().map(|found| found.file.display().to_string()).collect();
    let file_width = shown.iter().map(|file| file.chars().count()).max().unwrap_or(0);
    for (found, file) in all.iter().zip(&shown) {
        let about = match load_file(terminal, &found.file) {
            Ok(Seen::Job(loaded)) => {
                let rules = loaded.job.rules.len();
                let noun = if rules == 1 { "rule" } else { "rules" };
                let description = loaded.job.description.unwrap_or_default();
                format!("{rules} {noun}  {}", first_line(&description))
            }
            Ok(Seen::Shared) => "no rules: what other jobs extend".to_owned(),
            Err(_) => {
                let wrong = terminal.output.paint(Stream::Result, Paint::Bad, "wrong");
                format!("{wrong}: see `twinlane validate {}`", found.name)
            }
        };
        let line = format!("  {:<width$}  {file:<file_width$}  {about}", found.name);
        terminal.output.line(line.trim_end());
    }
}

fn json_line(terminal: &Terminal, found: &Found) -> String {
    let seen = load_file(terminal, &found.file);
    let (valid, shared) = (seen.is_ok(), matches!(seen, Ok(Seen::Shared)));
    let job = if let Ok(Seen::Job(loaded)) = seen { Some(loaded.job) } else { None };
    json!({
        "job": found.name,
        "file": found.file.to_string_lossy(),
        "valid": valid,
        "shared": shared,
        "description": job.as_ref().and_then(|job| job.description.clone()),
        "rules": job.map(|job| job.rules.into_iter().map(|rule| rule.name).collect::<Vec<_>>()).unwrap_or_default(),
    })
    .to_string()
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
