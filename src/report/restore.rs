//! A restore for people and for programs.

use serde_json::{Map, Value, json};

use crate::plan::put_path;
use crate::run::{Goal, Missing, RestoreOrder, RestoreReport, RuleOutcome, RuleReport};
use crate::store::Loss;
use crate::value::{ByteCount, RelPath, When};

use super::call::{Call, shell_word};
use super::output::{Output, Paint, Stream, Verbosity};
use super::summary::rule_lines;
use super::words::{amount, count, counted, shown};

/// What is shown of a restore.
#[derive(Clone, Copy, Debug)]
pub struct RestoreView<'a> {
    /// The job's name.
    pub job: &'a str,
    /// How the job was asked for.
    pub call: &'a Call,
    /// What was, or is going to be, done.
    pub report: &'a RestoreReport,
    /// Whether it was.
    pub done: bool,
    /// What was asked for.
    pub order: &'a RestoreOrder,
}

/// As many entries of one kind are listed as fit a glance.
const LISTED_MAX: usize = 20;

/// Writes what became of a restore.
pub fn restore_text(output: &mut Output, view: &RestoreView<'_>, verbosity: Verbosity) {
    let report = view.report;
    let lines = left_lines(view);
    if verbosity == Verbosity::Quiet {
        for line in lines {
            output.message(&line);
        }
        return;
    }
    let name = output.paint(Stream::Result, Paint::Bold, &format!("{}/{}", view.job, report.rule));
    output.line(&format!("{name}  {}", report.when));
    output.line(&format!("  from  {}", report.from.display()));
    output.line(&format!("  to    {}", report.to.display()));
    for note in &report.notes {
        output.message(&format!("note: {note}"));
    }
    output.line(&format!("  {}", sentence(view)));
    for line in &lines {
        output.line(line);
    }
    if let Some(run) = report.complete_from {
        output.line(&format!(
            "  complete from {run} on; {} before that {}",
            counted(report.lost, "entry", "entries"),
            if report.lost == 1 { "is no more" } else { "are no more" }
        ));
    }
    for warning in &report.warnings {
        output.message(&format!("warning: {} ({})", warning.text, count(warning.count)));
    }
    output.line(&format!("next: {}", next(view)));
}

fn sentence(view: &RestoreView<'_>) -> String {
    let report = view.report;
    if held_nothing(view) {
        return match report.failures.len() {
            0 => "nothing to restore: the destination held nothing then".to_owned(),
            _ => "nothing restored".to_owned(),
        };
    }
    if !view.done {
        return format!(
            "{} and {} to restore, {}; nothing was written",
            counted(report.entries, "entry", "entries"),
            counted(report.directories, "directory", "directories"),
            report.bytes
        );
    }
    let mut parts = vec![format!(
        "{} restored, {}",
        counted(report.restored, "entry", "entries"),
        amount(report.written.0, report.elapsed)
    )];
    if report.unchanged > 0 {
        parts.push(format!("{} there already", count(report.unchanged)));
    }
    if !report.replaced.is_empty() {
        parts.push(format!(
            "{} replaced and kept as versions of run {}",
            count(report.replaced.len() as u64),
            report.run
        ));
    }
    if let RuleOutcome::Interrupted(_) = report.outcome {
        parts.push("interrupted; what was restored is whole".to_owned());
    }
    if let RuleOutcome::Stopped { reasons } = &report.outcome {
        parts.push(format!("stopped: {}", reasons.join(": ")));
    }
    parts.join(" · ")
}

/// Whether there is nothing to give back; a root alone is nothing.
fn held_nothing(view: &RestoreView<'_>) -> bool {
    let report = view.report;
    let roots = u64::from(view.order.paths.is_empty());
    report.entries == 0 && report.directories <= roots && report.missing.is_empty()
}

/// What was left, each with its path and cause.
fn left_lines(view: &RestoreView<'_>) -> Vec<String> {
    let report = view.report;
    let mut lines = Vec::new();
    let mut part = |head: String, entries: Vec<String>| {
        if entries.is_empty() {
            return;
        }
        lines.push(format!("  {head}:"));
        let more = entries.len().saturating_sub(LISTED_MAX);
        lines.extend(entries.into_iter().take(LISTED_MAX).map(|entry| format!("    {entry}")));
        if more > 0 {
            lines.push(format!("    … and {} more (--json lists all)", count(more as u64)));
        }
    };
    let number = |entries: usize| count(entries as u64);
    part(
        format!("{} missing, held then and no more", number(report.missing.len())),
        report.missing.iter().map(missing_line).collect(),
    );
    let fate = match view.order.damaged {
        crate::run::Damaged::LeaveOut => "left out; --damaged restores it as it is",
        crate::run::Damaged::Restore => "restored as it is",
    };
    part(
        format!("{} damaged, content is not what was copied ({fate})", number(report.damaged.len())),
        report.damaged.iter().map(shown).collect(),
    );
    part(
        format!("{} not restored", number(report.failures.len())),
        report
            .failures
            .iter()
            .map(|failure| format!("{}: {}", shown(&failure.path), failure.cause))
            .collect(),
    );
    lines
}

fn missing_line(missing: &Missing) -> String {
    format!(
        "{}  {}, {}",
        shown(&missing.path),
        ByteCount(missing.size),
        loss_words(missing.loss, &missing.until.to_string())
    )
}

/// Why something is no more.
pub(super) fn loss_words(loss: Loss, run: &str) -> String {
    match loss {
        Loss::NeverKept => format!("displaced by run {run}, when the rule kept no versions"),
        Loss::Released => format!("displaced by run {run}, its version has been released"),
    }
}

fn next(view: &RestoreView<'_>) -> String {
    let report = view.report;
    let rule = |verb: &str, more: &[String]| view.call.of_rule(verb, &report.rule, more);
    if held_nothing(view) {
        let nothing_of_that_name = !report.failures.is_empty();
        return if nothing_of_that_name {
            rule("versions", &[".".to_owned()])
        } else {
            view.call.command("history")
        };
    }
    if !view.done {
        return rule("restore", &again(view.order));
    }
    if let Some(missing) = report.missing.first() {
        return rule("versions", &[path_word(&missing.path)]);
    }
    match view.order.into {
        Goal::Source => rule("plan", &[]),
        Goal::Directory(_) => format!("ls -lA {}", shell_word(&report.to.to_string_lossy())),
    }
}

/// The words of an order, as they can be typed again.
fn again(order: &RestoreOrder) -> Vec<String> {
    let mut words: Vec<String> = order.paths.iter().map(|path| shell_word(&path.to_string_lossy())).collect();
    match order.when {
        When::Latest => {}
        When::Run(run) => words.push(format!("--at {run}")),
        When::Moment(moment) => words.push(format!("--at {moment}")),
    }
    match &order.into {
        Goal::Source => words.push("--in-place".to_owned()),
        Goal::Directory(path) => words.push(format!("--to {}", shell_word(&path.to_string_lossy()))),
    }
    words
}

/// A path as one word of a shell.
pub(super) fn path_word(path: &RelPath) -> String {
    shell_word(&String::from_utf8_lossy(path.as_bytes()))
}

/// How a verb ended that could not begin, for people.
pub fn ended_text(output: &mut Output, job: &str, call: &Call, report: &RuleReport) {
    let name = format!("{job}/{}", report.rule);
    for line in rule_lines(output, call, report, &name) {
        output.message(line.trim_start());
    }
}

/// The same for programs.
#[must_use]
pub fn ended_json(job: &str, report: &RuleReport) -> Value {
    let mut map = Map::new();
    map.insert("event".to_owned(), "ended".into());
    map.insert("job".to_owned(), job.into());
    map.insert("rule".to_owned(), report.rule.as_str().into());
    map.insert("outcome".to_owned(), report.outcome.word().into());
    map.insert("exit".to_owned(), report.outcome.exit().code().into());
    super::json::put_reason(&mut map, &report.outcome);
    map.into()
}

/// One name that is going to be restored.
#[must_use]
pub fn restored_entry_json(path: &RelPath, bytes: u64) -> Value {
    let mut map = Map::new();
    map.insert("event".to_owned(), "entry".into());
    put_path(&mut map, "path", path);
    map.insert("bytes".to_owned(), bytes.into());
    map.into()
}

/// A restore as one object.
#[must_use]
pub fn restore_json(view: &RestoreView<'_>) -> Value {
    let report = view.report;
    let exit = if report.left() > 0 && !view.done { 1 } else { report.outcome.exit().code() };
    json!({
        "event": "restore",
        "job": view.job,
        "rule": report.rule,
        "when": report.when,
        "from": report.from.to_string_lossy(),
        "to": report.to.to_string_lossy(),
        "written": view.done,
        "outcome": report.outcome.word(),
        "exit": exit,
        "entries": report.entries,
        "directories": report.directories,
        "bytes": report.bytes.0,
        "restored": report.restored,
        "restored_bytes": report.written.0,
        "unchanged": report.unchanged,
        "replaced": paths(&report.replaced),
        "run": report.run.to_string(),
        "missing": report.missing.iter().map(missing_json).collect::<Vec<_>>(),
        "damaged": paths(&report.damaged),
        "failures": report.failures.iter().map(|failure| {
            let mut map = Map::new();
            put_path(&mut map, "path", &failure.path);
            map.insert("cause".to_owned(), failure.cause.as_str().into());
            Value::from(map)
        }).collect::<Vec<_>>(),
        "complete_from": report.complete_from.map(|run| run.to_string()),
        "lost": report.lost,
        "notes": report.notes,
        "seconds": report.elapsed.as_secs_f64(),
    })
}

fn paths(paths: &[RelPath]) -> Vec<Value> {
    paths
        .iter()
        .map(|path| {
            let mut map = Map::new();
            put_path(&mut map, "path", path);
            map.into()
        })
        .collect()
}

fn missing_json(missing: &Missing) -> Value {
    let mut map = Map::new();
    put_path(&mut map, "path", &missing.path);
    map.insert("run".to_owned(), missing.until.to_string().into());
    map.insert("bytes".to_owned(), missing.size.into());
    let loss = match missing.loss {
        Loss::NeverKept => "never_kept",
        Loss::Released => "released",
    };
    map.insert("loss".to_owned(), loss.into());
    map.into()
}
