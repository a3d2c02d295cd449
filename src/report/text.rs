//! A run for people: a line a rule as it ends, then what was left, then the next command.

use crate::job::Job;
use crate::run::{Event, Exit, RuleReport, Sink};

use super::call::Call;
use super::next::after_run;
use super::output::{Output, Paint, Stream, Verbosity};
use super::plan_view::named;
use super::progress::{Progress, ProgressForm};
use super::summary::{left_lines, note_lines, rule_lines};

/// Writes a run's summary to stdout, progress and notes to stderr.
#[derive(Debug)]
pub struct TextSink<'a> {
    output: &'a mut Output,
    verbosity: Verbosity,
    progress: Progress,
    reports: Vec<RuleReport>,
    rule_width: usize,
    job: String,
    call: Call,
}

impl<'a> TextSink<'a> {
    /// Writes to `output`; `call` is how the job was asked for.
    #[must_use]
    pub fn new(output: &'a mut Output, verbosity: Verbosity, progress: ProgressForm, call: Call) -> Self {
        Self {
            output,
            verbosity,
            progress: Progress::new(progress),
            reports: Vec::new(),
            rule_width: 0,
            job: String::new(),
            call,
        }
    }

    fn start(&mut self, job: &Job, run: &str) {
        self.reports.clear();
        self.job.clone_from(&job.name);
        self.rule_width = job.rules.iter().map(|rule| rule.name.chars().count()).max().unwrap_or(0);
        if self.verbosity > Verbosity::Quiet {
            let name = self.output.paint(Stream::Result, Paint::Bold, &job.name);
            self.output.line(&format!("{name}  run {run}"));
        }
    }

    fn rule_ended(&mut self, report: &RuleReport) {
        if self.verbosity > Verbosity::Quiet {
            let name = format!("{:<1$}", report.rule, self.rule_width);
            for line in rule_lines(self.output, &self.call, report, &name) {
                self.output.line(&line);
            }
            for line in note_lines(report) {
                self.output.message(&line);
            }
        } else if report.outcome.exit() != Exit::Done {
            // Nothing else names the job then.
            let name = format!("{}/{}", self.job, report.rule);
            for line in rule_lines(self.output, &self.call, report, &name) {
                self.output.message(line.trim_start());
            }
        }
        self.reports.push(report.clone());
    }

    fn run_ended(&mut self, exit: Exit) {
        for line in left_lines(&self.reports) {
            if self.verbosity > Verbosity::Quiet {
                self.output.line(&line);
            } else {
                self.output.message(&line);
            }
        }
        if self.verbosity > Verbosity::Quiet {
            for line in after_run(&self.call, exit, &self.reports) {
                self.output.line(&line);
            }
        }
    }
}

impl Sink for TextSink<'_> {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::RunStarted { job, run } => self.start(job, &run.to_string()),
            Event::RuleStarted { rule } => self.progress.begin(&rule.name),
            Event::Comparing { meter, .. } => self.progress.compare(meter),
            Event::Note { text } => {
                let line = format!("note: {text}");
                let output = &mut *self.output;
                self.progress.pause(|| output.message(&line));
            }
            Event::Executing { gauge } => self.progress.execute(gauge),
            Event::Done { plan, action } if self.verbosity == Verbosity::Verbose => {
                let line = named(plan, action);
                let output = &mut *self.output;
                self.progress.pause(|| output.line(&line));
            }
            Event::Planned { .. } | Event::Failed { .. } | Event::Done { .. } => {}
            Event::Executed => self.progress.end(),
            Event::RuleEnded { report } => {
                self.progress.end();
                self.rule_ended(report);
            }
            Event::RunEnded { exit, .. } => self.run_ended(*exit),
        }
    }
}
