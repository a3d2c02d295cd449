//! What `verify` found: a line a file that is not right, a line a destination, and what mends it.

mod json;
mod next;
mod text;

pub use next::Asked;

use serde_json::json;

use crate::run::{RuleOutcome, Verified, VerifyEvent, VerifyReport};

use super::output::{Output, Paint, Stream, Verbosity};
use super::progress::{Progress, ProgressForm};

use json::{file_json, report_json};
use next::ways_on;
use text::{is_told, notes, outcome_word, sentence, shown, summary, word};

/// Tells a verification: text for people, or an object a line.
#[derive(Debug)]
pub struct VerifySink<'a> {
    output: &'a mut Output,
    verbosity: Verbosity,
    progress: Progress,
    form: VerifyForm,
    asked: Asked,
    /// The destination that is being looked at.
    name: String,
}

/// For whom it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyForm {
    /// For people.
    Text,
    /// For programs.
    Json,
}

impl<'a> VerifySink<'a> {
    /// Writes to `output`; `asked` is how the destination was asked for.
    #[must_use]
    pub fn new(
        output: &'a mut Output,
        verbosity: Verbosity,
        progress: ProgressForm,
        form: VerifyForm,
        asked: Asked,
    ) -> Self {
        Self { output, verbosity, progress: Progress::new(progress), form, asked, name: String::new() }
    }

    /// Takes one event.
    pub fn event(&mut self, event: &VerifyEvent<'_>) {
        match event {
            VerifyEvent::Started { name } => {
                (*name).clone_into(&mut self.name);
                self.progress.begin(name);
            }
            VerifyEvent::Reading { gauge } => self.progress.verify(gauge),
            VerifyEvent::Ended { .. } => self.progress.end(),
            VerifyEvent::Note { .. } | VerifyEvent::File { .. } => {}
        }
        match self.form {
            VerifyForm::Text => self.text(event),
            VerifyForm::Json => self.json(event),
        }
    }

    /// The rule that is being looked at, of a job.
    fn rule(&self) -> Option<&str> {
        match self.asked {
            Asked::Job(_) => Some(&self.name),
            Asked::Directory(_) => None,
        }
    }

    fn text(&mut self, event: &VerifyEvent<'_>) {
        match event {
            VerifyEvent::Note { text } => {
                let line = format!("note: {}: {text}", self.asked.shown(&self.name));
                let output = &mut *self.output;
                self.progress.pause(|| output.message(&line));
            }
            VerifyEvent::File { file } => self.file(file),
            VerifyEvent::Ended { report } => self.ended(report),
            VerifyEvent::Started { .. } | VerifyEvent::Reading { .. } => {}
        }
    }

    fn file(&mut self, file: &Verified) {
        let quiet = self.verbosity == Verbosity::Quiet;
        if !(file.fails() || self.verbosity == Verbosity::Verbose || is_told(file) && !quiet) {
            return;
        }
        let paint = if file.fails() { Paint::Bad } else { Paint::Dim };
        let stream = if quiet { Stream::Message } else { Stream::Result };
        let word = self.output.paint(stream, paint, &format!("{:<11}", word(file.finding).replace('_', " ")));
        let line = format!("  {word}  {}{}", shown(file), sentence(file));
        let output = &mut *self.output;
        self.progress.pause(|| match stream {
            Stream::Result => output.line(&line),
            Stream::Message => output.message(&line),
        });
    }

    fn ended(&mut self, report: &VerifyReport) {
        let quiet = self.verbosity == Verbosity::Quiet;
        let paint = match report.outcome {
            RuleOutcome::Done => Paint::Good,
            RuleOutcome::Skipped(_) => Paint::Dim,
            RuleOutcome::Busy(_) | RuleOutcome::Interrupted(_) => Paint::Warning,
            RuleOutcome::Partial | RuleOutcome::Refused(_) | RuleOutcome::Stopped { .. } => Paint::Bad,
        };
        let stream = if quiet { Stream::Message } else { Stream::Result };
        let outcome = self.output.paint(stream, paint, outcome_word(&report.outcome));
        let name = self.asked.shown(&self.name);
        let line = format!("{name}: {outcome}: {}", summary(report));
        if quiet {
            if !matches!(report.outcome, RuleOutcome::Done | RuleOutcome::Skipped(_)) {
                self.output.message(&line);
            }
            return;
        }
        self.output.line(&line);
        for line in notes(report) {
            self.output.message(&format!("note: {name}: {line}"));
        }
        for line in ways_on(&self.asked, report) {
            self.output.line(&line);
        }
    }

    fn json(&mut self, event: &VerifyEvent<'_>) {
        let object = match event {
            VerifyEvent::Note { text } => json!({"event": "note", "rule": self.rule(), "text": text}),
            VerifyEvent::File { file } if file.fails() => file_json("verify-failed", self.rule(), file),
            VerifyEvent::File { file } if self.verbosity == Verbosity::Verbose || is_told(file) => {
                file_json("verify-file", self.rule(), file)
            }
            VerifyEvent::Ended { report } => report_json(report),
            VerifyEvent::File { .. } | VerifyEvent::Started { .. } | VerifyEvent::Reading { .. } => return,
        };
        if self.verbosity == Verbosity::Quiet && object.get("event") == Some(&"verify-file".into()) {
            return;
        }
        let output = &mut *self.output;
        self.progress.pause(|| output.line(&object.to_string()));
    }
}
