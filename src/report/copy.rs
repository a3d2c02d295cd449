//! What `copy` says: where each source goes, then what was done, then the next command.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::run::{CopyEnded, Event, Mapped, PlanReport, RuleOutcome, RuleReport, Sink};
use crate::value::{escape, to_base64};

use super::call::shell_word;
use super::json::{failure_json, plan_json, rule_json};
use super::output::{Output, Paint, Stream, Verbosity};
use super::plan_view::{plan_body, plan_objection};
use super::progress::{Progress, ProgressForm};
use super::summary::{left_lines, note_lines, sentence};
use super::words::{count, counted, shown};

/// As many sources are shown as fit a screen.
const MAPPED_SHOWN_MAX: usize = 20;

/// For whom a copy's result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyForm {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Writes a copy's result to stdout, progress and notes to stderr.
#[derive(Debug)]
pub struct CopySink<'a> {
    output: &'a mut Output,
    form: CopyForm,
    verbosity: Verbosity,
    progress: Progress,
    /// The words after `twinlane`, as they were typed.
    words: Vec<String>,
}

impl<'a> CopySink<'a> {
    /// Writes to `output`; `words` are what stood after `twinlane`.
    #[must_use]
    pub fn new(
        output: &'a mut Output,
        form: CopyForm,
        verbosity: Verbosity,
        progress: ProgressForm,
        words: Vec<String>,
    ) -> Self {
        let mut progress = Progress::new(progress);
        progress.begin("copy");
        Self { output, form, verbosity, progress, words }
    }

    /// Says where each source goes, and what is left out.
    pub fn mapping(&mut self, mapping: &[Mapped], notes: &[String]) {
        match self.form {
            CopyForm::Json => {
                let mapping: Vec<Value> = mapping.iter().map(mapped_json).collect();
                self.object(&json!({"event": "copy-start", "mapping": mapping, "notes": notes}));
            }
            CopyForm::Text if self.verbosity > Verbosity::Quiet => {
                let shown =
                    if self.verbosity == Verbosity::Verbose { mapping.len() } else { MAPPED_SHOWN_MAX };
                for Mapped { source, destination, .. } in mapping.iter().take(shown) {
                    self.output.line(&format!("{} → {}", spelled(source), spelled(destination)));
                }
                if mapping.len() > shown {
                    let more = count((mapping.len() - shown) as u64);
                    self.output.line(&format!("… and {more} more, each under its own name"));
                }
                for note in notes {
                    self.output.message(&format!("note: {note}"));
                }
            }
            CopyForm::Text => {}
        }
    }

    /// Says what would be done.
    pub fn planned(&mut self, plans: &[PlanReport]) {
        for plan in plans {
            match self.form {
                CopyForm::Json => self.object(&plan_json("copy", plan)),
                CopyForm::Text if self.verbosity > Verbosity::Quiet => {
                    let mut lines = Vec::new();
                    if let [_, _, ..] = plans {
                        lines.push(format!("from {}:", plan.rule));
                    }
                    lines.extend(plan.plan.iter().flat_map(|plan| plan_body(plan, self.verbosity)));
                    lines.extend(plan_objection(self.output, plan));
                    for line in &lines {
                        self.output.line(line);
                    }
                }
                CopyForm::Text => {}
            }
        }
        if self.form == CopyForm::Text && self.verbosity > Verbosity::Quiet {
            let words: Vec<&str> =
                self.words.iter().map(String::as_str).filter(|word| *word != "--dry-run").collect();
            let hinders = plans.iter().any(|plan| plan.objection.is_some());
            let next = if hinders { self.words.join(" ") } else { words.join(" ") };
            self.output.line(&format!("next: twinlane {next}"));
        }
    }

    /// Says how it ended.
    pub fn ended(&mut self, ended: &CopyEnded, mapping: &[Mapped]) {
        self.progress.end();
        match self.form {
            CopyForm::Json => self.object(&ended_json(ended)),
            CopyForm::Text => {
                let quiet = self.verbosity == Verbosity::Quiet;
                if quiet && ended.report.outcome == RuleOutcome::Done {
                    return;
                }
                let lines = self.lines(ended, mapping);
                for line in lines {
                    if quiet { self.output.message(&line) } else { self.output.line(&line) }
                }
            }
        }
    }

    fn lines(&mut self, ended: &CopyEnded, mapping: &[Mapped]) -> Vec<String> {
        let report = &ended.report;
        let paint = match report.outcome {
            RuleOutcome::Done | RuleOutcome::Skipped(_) => Paint::Good,
            RuleOutcome::Partial | RuleOutcome::Busy(_) | RuleOutcome::Interrupted(_) => Paint::Warning,
            RuleOutcome::Refused(_) | RuleOutcome::Stopped { .. } => Paint::Bad,
        };
        let word = self.output.paint(Stream::Result, paint, report.outcome.word());
        let mut lines = vec![format!("{word}: {}", sentence(report))];
        match &report.outcome {
            RuleOutcome::Refused(refusal) => {
                lines.extend(refusal.advice().map(|advice| format!("help: {advice}")));
            }
            RuleOutcome::Stopped { reasons } => {
                lines.extend(reasons.iter().skip(1).map(|cause| format!("  caused by: {cause}")));
            }
            _ => {}
        }
        if let Some(sums) = &ended.sums {
            let read = match sums.read {
                0 => String::new(),
                read => format!(", {} of them read for it", count(read)),
            };
            let files = counted(sums.files, "file", "files");
            lines.push(format!("digests of {files} written to {}{read}", spelled(&sums.list.typed)));
        }
        if self.verbosity > Verbosity::Quiet {
            for line in note_lines(report) {
                self.output.message(&line);
            }
        }
        lines.extend(left_lines(std::slice::from_ref(report)));
        if self.verbosity > Verbosity::Quiet {
            lines.extend(self.next(ended, mapping));
        }
        lines
    }

    fn next(&self, ended: &CopyEnded, mapping: &[Mapped]) -> Vec<String> {
        let again = format!("next: twinlane {}", self.words.join(" "));
        if let (RuleOutcome::Done, Some(sums)) = (&ended.report.outcome, &ended.sums) {
            let (folder, list) = (typeable(&sums.seen_from), typeable(&sums.list.path));
            return vec![format!("next: cd {folder} && b3sum -c {list}")];
        }
        match (&ended.report.outcome, mapping) {
            (RuleOutcome::Done, [Mapped { is_directory: true, absolute: (source, destination), .. }]) => {
                vec![
                    "to repeat it, with versions and limits, make it a job:".to_owned(),
                    format!(
                        "next: twinlane init --source {} --destination {}",
                        typeable(source),
                        typeable(destination)
                    ),
                ]
            }
            (RuleOutcome::Done, [Mapped { absolute: (_, destination), .. }]) => {
                vec![format!("next: ls -lA {}", typeable(destination))]
            }
            (RuleOutcome::Done, [Mapped { absolute: (_, destination), .. }, ..]) => {
                let folder = destination.parent().unwrap_or(destination);
                vec![format!("next: ls -lA {}", typeable(folder))]
            }
            (RuleOutcome::Stopped { .. } | RuleOutcome::Interrupted(_), _) => {
                vec!["what was copied is whole; the next copy goes on from there".to_owned(), again]
            }
            _ => vec![again],
        }
    }

    fn object(&mut self, object: &Value) {
        let output = &mut *self.output;
        self.progress.pause(|| output.line(&object.to_string()));
    }

    fn json_event(&mut self, event: &Event<'_>) {
        let object = match event {
            Event::Note { text } => json!({"event": "note", "text": text}),
            Event::Planned { plan, .. } => json!({"event": "plan", "totals": plan.totals.to_json()}),
            Event::Done { plan, action } if self.verbosity == Verbosity::Verbose => {
                json!({"event": "action", "action": plan.action_json(action)})
            }
            Event::Failed { failure } => without_rule(failure_json("", failure)),
            _ => return,
        };
        self.object(&object);
    }

    fn text_event(&mut self, event: &Event<'_>) {
        let output = &mut *self.output;
        match event {
            Event::Note { text } if self.verbosity > Verbosity::Quiet => {
                self.progress.pause(|| output.message(&format!("note: {text}")));
            }
            Event::Done { plan, action } if self.verbosity == Verbosity::Verbose => {
                let line = format!("    {:<9} {}", action.kind.word(), shown(&plan.path(action)));
                self.progress.pause(|| output.line(&line));
            }
            _ => {}
        }
    }
}

impl Sink for CopySink<'_> {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Comparing { meter, .. } => self.progress.compare(meter),
            Event::Executing { gauge } => self.progress.execute(gauge),
            Event::Executed => self.progress.end(),
            _ => match self.form {
                CopyForm::Json => self.json_event(event),
                CopyForm::Text => self.text_event(event),
            },
        }
    }
}

fn spelled(path: &Path) -> String {
    escape(path.as_os_str().as_encoded_bytes())
}

fn typeable(path: &Path) -> String {
    shell_word(&path.display().to_string())
}

fn put(map: &mut Map<String, Value>, key: &str, path: &Path) {
    map.insert(key.to_owned(), path.to_string_lossy().into());
    if path.to_str().is_none() {
        map.insert(format!("{key}_b64"), to_base64(path.as_os_str().as_encoded_bytes()).into());
    }
}

fn mapped_json(mapped: &Mapped) -> Value {
    let mut map = Map::new();
    put(&mut map, "source", &mapped.source);
    put(&mut map, "destination", &mapped.destination);
    map.into()
}

fn without_rule(mut object: Value) -> Value {
    if let Value::Object(map) = &mut object {
        map.remove("rule");
    }
    object
}

fn ended_json(ended: &CopyEnded) -> Value {
    let report: &RuleReport = &ended.report;
    let mut object = without_rule(rule_json(report));
    if let Value::Object(map) = &mut object {
        map.insert("event".to_owned(), "copy-end".into());
        map.insert("run".to_owned(), ended.run.to_string().into());
        if let Some(sums) = &ended.sums {
            let mut list = Map::new();
            put(&mut list, "path", &sums.list.typed);
            list.insert("files".to_owned(), sums.files.into());
            list.insert("read".to_owned(), sums.read.into());
            map.insert("sums".to_owned(), list.into());
        }
    }
    object
}
