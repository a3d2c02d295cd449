//! Past runs as a table for people, or as an object a line.

use chrono::{DateTime, Local};
use serde_json::{Map, Value, json};

use crate::plan::put_path;
use crate::record::{RecordedFailure, RuleRecord, RunRecord};
use crate::value::{ByteCount, Stamp};

use super::output::{Output, Paint, Stream};
use super::words::{Tense, actions, count};

/// A moment in local time, to the second.
pub(super) fn local_time(stamp: Stamp) -> String {
    match DateTime::from_timestamp(stamp.seconds, stamp.nanos) {
        Some(time) => time.with_timezone(&Local).format("%Y-%m-%d %H:%M:%S").to_string(),
        None => stamp.to_string(),
    }
}

/// Writes a table of runs: a line a rule, the run's own columns on its first.
pub fn history_table(output: &mut Output, runs: &[RunRecord]) {
    let width =
        |texts: &mut dyn Iterator<Item = &str>| texts.map(|text| text.chars().count()).max().unwrap_or(0);
    let jobs = width(&mut runs.iter().map(|run| run.job.as_str()));
    let rules = width(&mut runs.iter().flat_map(|run| &run.rules).map(|rule| rule.rule.as_str()));
    for run in runs {
        let mut head = format!("{}  {}  {:<jobs$}", run.run, local_time(run.started), run.job);
        if run.rules.is_empty() {
            let word = if run.ended.is_some() { "nothing ran" } else { "unfinished" };
            output.line(&format!("{head}  {word}"));
        }
        for rule in &run.rules {
            let paint = match rule.exit {
                0 => Paint::Good,
                1 | 4 => Paint::Warning,
                _ => Paint::Bad,
            };
            let outcome = output.paint(Stream::Result, paint, &format!("{:<11}", rule.outcome));
            let line = format!("{head}  {:<rules$}  {outcome}  {}", rule.rule, numbers(rule));
            output.line(line.trim_end());
            head = " ".repeat(head.chars().count());
        }
        if run.ended.is_none() && !run.rules.is_empty() {
            output.line(&format!("{head}  unfinished"));
        }
    }
}

fn numbers(rule: &RuleRecord) -> String {
    if let Some(reason) = &rule.reason {
        return reason.clone();
    }
    let done = actions(&rule.done, Tense::Past);
    let mut parts = vec![if done.is_empty() { "nothing to do".to_owned() } else { done }];
    if rule.bytes > 0 {
        parts.push(ByteCount(rule.bytes).to_string());
    }
    if rule.failed > 0 {
        parts.push(format!("{} left undone", count(rule.failed)));
    }
    parts.join(" · ")
}

/// One run as one object. `actions` gives the actions that a rule did, where they are asked for.
pub fn history_json(run: &RunRecord, mut actions: impl FnMut(&str) -> Option<Vec<Value>>) -> Value {
    let rules: Vec<Value> = run
        .rules
        .iter()
        .map(|rule| {
            let mut object = rule_json(rule);
            if let (Some(actions), Value::Object(map)) = (actions(&rule.rule), &mut object) {
                map.insert("actions".to_owned(), actions.into());
            }
            object
        })
        .collect();
    json!({
        "run": run.run.to_string(),
        "job": run.job,
        "file": run.job_file.to_string_lossy(),
        "started": run.started.to_string(),
        "ended": run.ended.map(|ended| ended.to_string()),
        "exit": run.exit(),
        "rules": rules,
    })
}

fn rule_json(rule: &RuleRecord) -> Value {
    json!({
        "rule": rule.rule,
        "mode": rule.mode,
        "outcome": rule.outcome,
        "exit": rule.exit,
        "reason": rule.reason,
        "planned": rule.totals.to_json(),
        "done": rule.done.to_json(),
        "bytes": rule.bytes,
        "failed": rule.failed,
        "failures": rule.failures.iter().map(failure_json).collect::<Vec<_>>(),
    })
}

fn failure_json(failure: &RecordedFailure) -> Value {
    let mut map = Map::new();
    put_path(&mut map, "path", &failure.path);
    map.insert("cause".to_owned(), failure.cause.as_str().into());
    map.into()
}
