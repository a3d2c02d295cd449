//! One path explained, for people a fact a line, for programs an object: what decides over it, what is there, what a run would do.

mod fate;
mod filter;
mod json;

use std::path::Path;

use crate::compare::Look;
use crate::job::Loaded;
use crate::run::{Explained, RuleOutcome, Taken};
use crate::value::{ByteCount, Kind, Meta, escape};

use super::call::Call;
use super::history::local_time;
use super::idle::idle_notes;
use super::output::{Output, Paint, Stream};
use super::refusal::{refusal_lines, way_on};
use super::words::{counted, shown};

pub use json::explain_json;

/// What an explanation is told with, besides itself.
#[derive(Clone, Copy, Debug)]
pub struct Telling<'a> {
    /// The job, with the places of its values.
    pub loaded: &'a Loaded,
    /// How the job was asked for.
    pub call: &'a Call,
    /// The working directory: files are named from there where they lie below it.
    pub here: Option<&'a Path>,
}

/// Writes one path explained.
pub fn explain_text(output: &mut Output, telling: &Telling<'_>, explained: &Explained<'_>) {
    for line in lines(output, telling, explained) {
        output.line(&line);
    }
}

fn lines(output: &Output, telling: &Telling<'_>, explained: &Explained<'_>) -> Vec<String> {
    let rule = format!("{}/{}", telling.loaded.job.name, explained.plan.rule);
    let title = output.paint(Stream::Result, Paint::Bold, &rule);
    let mut lines = vec![format!("{title}: {}", shown(explained.path))];
    let mut say = |label: &str, text: &str| lines.push(format!("  {label:<11}  {text}"));
    if *explained.taken == Taken::FromHere {
        say("path", "taken from the working directory");
    }
    if let Some(story) = &explained.story {
        for (index, text) in filter::filter_lines(telling, explained, story).iter().enumerate() {
            say(if index == 0 { "filter" } else { "" }, text);
        }
        say("source", &look_words(&story.trace.source));
        say("destination", &look_words(&story.trace.destination));
        if let Some((verdict, words)) = fate::verdict(explained, story) {
            say("verdict", &format!("{verdict}: {words}"));
        }
        if let Some(plan) = &explained.plan.plan {
            say("action", &fate::action_words(explained, story, plan));
            if let Some(below) = fate::below_words(plan, explained.path) {
                say("below", &below);
            }
            for note in fate::notes(plan, explained.path) {
                say("note", &note);
            }
        }
    }
    for note in idle_notes(telling.loaded, explained.rule) {
        say("note", &note);
    }
    let (run, further) = run_words(output, telling.call, explained);
    say("run", &run);
    lines.extend(further.into_iter().map(|line| format!("               {line}")));
    lines
}

/// Whether a run of the rule would go, and the way on where it would not.
fn run_words(output: &Output, call: &Call, explained: &Explained<'_>) -> (String, Vec<String>) {
    let bad = |text: &str| output.paint(Stream::Result, Paint::Bad, text);
    let report = explained.plan;
    match &report.objection {
        None => ("would go: its limits hold".to_owned(), Vec::new()),
        Some(RuleOutcome::Refused(refusal)) => {
            let further = match &report.plan {
                Some(_) => way_on(refusal, call, &report.rule),
                None => refusal_lines(refusal, call, &report.rule),
            };
            (format!("{} {refusal}", bad("would be refused:")), further)
        }
        Some(RuleOutcome::Skipped(skip)) => (format!("would be skipped: {skip}"), Vec::new()),
        Some(RuleOutcome::Busy(_)) => {
            (format!("{} another run holds this destination", bad("cannot be told:")), Vec::new())
        }
        Some(RuleOutcome::Stopped { reasons }) => {
            (format!("{} {}", bad("cannot be told:"), reasons.join(": ")), Vec::new())
        }
        Some(RuleOutcome::Interrupted(_)) => ("interrupted".to_owned(), Vec::new()),
        Some(RuleOutcome::Done | RuleOutcome::Partial) => (String::new(), Vec::new()),
    }
}

fn look_words(look: &Look) -> String {
    match look {
        Look::There(meta) => meta_words(meta),
        Look::Absent => "not there".to_owned(),
        Look::Unread(message) => format!("cannot be looked at: {message}"),
    }
}

fn meta_words(meta: &Meta) -> String {
    let mut parts = vec![meta.kind.word().to_owned()];
    if meta.kind == Kind::File {
        parts.push(ByteCount(meta.size).to_string());
    }
    parts.push(local_time(meta.modified));
    if meta.kind != Kind::Directory && meta.links > 1 {
        parts.push(counted(meta.links.into(), "name", "names"));
    }
    parts.join(", ")
}

/// A file's path as people read it: from the working directory where it lies below it.
fn file_words(file: &Path, here: Option<&Path>) -> String {
    let near = here.and_then(|here| file.strip_prefix(here).ok()).unwrap_or(file);
    escape(near.as_os_str().as_encoded_bytes())
}
