//! JSON for programs: one object a line (`schemas/run-event.schema.json`, `schemas/plan.schema.json`).

use serde_json::{Map, Value, json};

use crate::compare::Notice;
use crate::execute::Failure;
use crate::plan::{Totals, put_path};
use crate::run::{Event, PlanReport, Refusal, RuleOutcome, RuleReport, Sink};
use crate::store::Holder;

use super::output::{Output, Verbosity};
use super::progress::{Progress, ProgressForm};
use super::summary::{conflict_words, failure_word, notice_words};

/// Writes a run's events to stdout, one object a line; progress, where a person looks on, to stderr.
#[derive(Debug)]
pub struct JsonSink<'a> {
    output: &'a mut Output,
    verbosity: Verbosity,
    progress: Progress,
    rule: String,
}

impl<'a> JsonSink<'a> {
    /// Writes to `output`. `Verbose` adds a line for each action.
    #[must_use]
    pub fn new(output: &'a mut Output, verbosity: Verbosity, progress: ProgressForm) -> Self {
        Self { output, verbosity, progress: Progress::new(progress), rule: String::new() }
    }

    fn object(&self, event: &Event<'_>) -> Option<Value> {
        let rule = self.rule.as_str();
        Some(match event {
            Event::RunStarted { job, run } => json!({
                "event": "run-start",
                "job": job.name,
                "file": job.file.to_string_lossy(),
                "run": run.to_string(),
            }),
            Event::RuleStarted { rule } => json!({"event": "rule-start", "rule": rule.name}),
            Event::Comparing { source, destination, .. } => json!({
                "event": "compare",
                "rule": rule,
                "source": source.to_string_lossy(),
                "destination": destination.to_string_lossy(),
            }),
            Event::Note { text } => json!({"event": "note", "rule": rule, "text": text}),
            Event::Planned { plan, .. } => {
                json!({"event": "plan", "rule": rule, "totals": plan.totals.to_json()})
            }
            Event::Done { plan, action } if self.verbosity == Verbosity::Verbose => {
                json!({"event": "action", "rule": rule, "action": plan.action_json(action)})
            }
            Event::Failed { failure } => failure_json(rule, failure),
            Event::RuleEnded { report } => rule_json(report),
            Event::RunEnded { job, run, exit, elapsed } => json!({
                "event": "run-end",
                "job": job.name,
                "run": run.to_string(),
                "exit": exit.code(),
                "seconds": elapsed.as_secs_f64(),
            }),
            Event::Done { .. } | Event::Executing { .. } | Event::Executed => return None,
        })
    }
}

impl Sink for JsonSink<'_> {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::RuleStarted { rule } => {
                self.rule.clone_from(&rule.name);
                self.progress.begin(&rule.name);
            }
            Event::Comparing { meter, .. } => self.progress.compare(meter),
            Event::Executing { gauge } => self.progress.execute(gauge),
            Event::Executed | Event::RuleEnded { .. } => self.progress.end(),
            _ => {}
        }
        if let Some(object) = self.object(event) {
            let output = &mut *self.output;
            self.progress.pause(|| output.line(&object.to_string()));
        }
        if let Event::RuleEnded { .. } = event {
            self.rule.clear();
        }
    }
}

/// One rule's plan as one object: the plan's own, with `refusal` or `skipped` where a run would not carry it out.
#[must_use]
pub fn plan_json(job: &str, report: &PlanReport) -> Value {
    let mut object = match &report.plan {
        Some(plan) => plan.to_json(job, &report.rule),
        None => json!({
            "job": job,
            "rule": report.rule,
            "totals": Totals::default().to_json(),
            "limits": [],
            "actions": [],
            "conflicts": [],
            "problems": [],
            "notices": [],
        }),
    };
    forget_room(&mut object);
    if let Value::Object(map) = &mut object {
        put_objection(map, report.objection.as_ref());
    }
    object
}

/// Puts what speaks against a run: the outcome's word, and its reason.
pub(super) fn put_objection(map: &mut Map<String, Value>, objection: Option<&RuleOutcome>) {
    if let Some(outcome) = objection {
        map.insert("outcome".to_owned(), outcome.word().into());
        put_reason(map, outcome);
    }
}

/// The room that is free now changes from moment to moment; two plans of one tree are the same, byte for byte.
fn forget_room(plan: &mut Value) {
    let limits = plan.get_mut("limits").and_then(Value::as_array_mut);
    for limit in limits.into_iter().flatten().filter_map(Value::as_object_mut) {
        if limit.get("limit").is_some_and(|name| name == "min_free")
            && limit.get("holds") == Some(&true.into())
        {
            limit.remove("allowed");
        }
    }
}

pub(super) fn put_reason(map: &mut Map<String, Value>, outcome: &RuleOutcome) {
    match outcome {
        RuleOutcome::Refused(refusal) => {
            map.insert("refusal".to_owned(), refusal_json(refusal));
        }
        RuleOutcome::Skipped(skip) => {
            map.insert("skipped".to_owned(), skip.to_string().into());
        }
        RuleOutcome::Busy(Some(holder)) => {
            map.insert("holder".to_owned(), holder_json(holder));
        }
        RuleOutcome::Stopped { reasons } => {
            map.insert("reasons".to_owned(), reasons.clone().into());
        }
        RuleOutcome::Busy(None) | RuleOutcome::Done | RuleOutcome::Partial | RuleOutcome::Interrupted(_) => {}
    }
}

fn refusal_json(refusal: &Refusal) -> Value {
    json!({
        "refusal": refusal.word(),
        "message": refusal.to_string(),
        "first": refusal.examples(),
        "flags": refusal.flags(),
        "help": refusal.advice(),
    })
}

fn holder_json(holder: &Holder) -> Value {
    json!({
        "host": holder.host,
        "process_id": holder.process_id,
        "run": holder.run,
        "since": holder.since.to_string(),
    })
}

pub(super) fn failure_json(rule: &str, failure: &Failure) -> Value {
    let mut map = Map::new();
    map.insert("event".to_owned(), "failure".into());
    map.insert("rule".to_owned(), rule.into());
    put_path(&mut map, "path", &failure.path);
    map.insert("what".to_owned(), failure_word(failure.what).into());
    map.insert("cause".to_owned(), failure.cause.as_str().into());
    map.into()
}

pub(super) fn rule_json(report: &RuleReport) -> Value {
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
    put("event", "rule-end".into());
    put("rule", report.rule.as_str().into());
    put("outcome", report.outcome.word().into());
    put("exit", report.outcome.exit().code().into());
    let done = json!({
        "actions": report.done.actions,
        "mkdir": report.done.mkdir,
        "move": report.done.moves,
        "copy": report.done.copy,
        "replace": report.done.replace,
        "link": report.done.link,
        "symlink": report.done.symlink,
        "special": report.done.special,
        "metadata": report.done.metadata,
        "remove": report.done.remove,
        "bytes": report.bytes,
    });
    put("done", done);
    put("equal", report.counts.same.into());
    put("failed", report.failures.len().into());
    put("vanished", report.vanished.into());
    if report.read_back > 0 {
        put("read_back", report.read_back.into());
    }
    put("problems", report.problems.iter().map(problem_json).collect());
    put("conflicts", report.conflicts.iter().map(conflict_json).collect());
    let warnings =
        report.warnings.iter().map(|warning| json!({"text": warning.text, "count": warning.count}));
    put("warnings", warnings.collect());
    put("notices", report.notices.iter().map(|notice: &Notice| Value::from(notice_words(notice))).collect());
    put("seconds", report.elapsed.as_secs_f64().into());
    put_reason(&mut map, &report.outcome);
    map.into()
}

fn problem_json(problem: &crate::compare::Problem) -> Value {
    let mut map = Map::new();
    put_path(&mut map, "path", &problem.path);
    map.insert("message".to_owned(), problem.message.as_str().into());
    map.into()
}

fn conflict_json(conflict: &crate::plan::PlannedConflict) -> Value {
    let mut map = Map::new();
    put_path(&mut map, "path", &conflict.path);
    map.insert("conflict".to_owned(), conflict.conflict.word().into());
    map.insert("message".to_owned(), conflict_words(conflict.conflict).into());
    map.into()
}
