//! A plan file: where it comes from, what is in it, and that it was written.

use serde_json::{Value, json};

use crate::plan::{PlanFile, PlanFileHeader, PlanFileRule};
use crate::run::PlanReport;
use crate::value::{Stamp, escape};

use super::call::{Call, apply_command};
use super::history::local_time;
use super::json::plan_json;
use super::output::{Output, Paint, Stream, Verbosity};
use super::plan_view::plan_text;
use super::words::{ago, counted};

/// `disk.plan: planned 2 hours ago on attic (2026-11-24 01:30:00), by Twinlane 0.1.0`.
#[must_use]
pub fn plan_age(name: &str, header: &PlanFileHeader, now: Stamp) -> String {
    let age = ago((now.as_nanos() - header.made.as_nanos()).div_euclid(1_000_000_000));
    let shown = |text: &str| escape(text.as_bytes());
    let (host, version) = (shown(&header.host), shown(&header.twinlane));
    let flags = header.limits.iter().map(|limit| format!("--limit {}", shown(limit)));
    let accepted = header.accepted.iter().map(|what| format!("--accept {}", shown(what)));
    let flags: Vec<String> = flags.chain(accepted).collect();
    let with = if flags.is_empty() { String::new() } else { format!(", with {}", flags.join(" ")) };
    format!("{name}: planned {age} on {host} ({}), by Twinlane {version}{with}", local_time(header.made))
}

/// The same as an event: what is applied, and how old it is.
#[must_use]
pub fn apply_json(name: &str, header: &PlanFileHeader, now: Stamp) -> Value {
    let mut object = header_json(name, header, now);
    if let Value::Object(map) = &mut object {
        map.shift_insert(0, "event".to_owned(), "apply".into());
    }
    object
}

fn header_json(name: &str, header: &PlanFileHeader, now: Stamp) -> Value {
    json!({
        "plan": name,
        "made": header.made.to_string(),
        "seconds": now.seconds.saturating_sub(header.made.seconds),
        "host": header.host,
        "twinlane": header.twinlane,
        "limits": header.limits,
        "accepted": header.accepted,
    })
}

/// A plan file as objects, one a line: its head, then each plan as `plan --json` has it.
pub fn plan_file_json(output: &mut Output, name: &str, file: &PlanFile, now: Stamp) {
    output.line(&header_json(name, &file.header, now).to_string());
    for rule in &file.rules {
        let mut object = plan_json(&rule.job, &PlanReport::filed(rule));
        if let (Some(why), Value::Object(map)) = (&rule.objection, &mut object) {
            map.insert("objection".to_owned(), why.as_str().into());
        }
        output.line(&object.to_string());
    }
}

/// A plan file for people.
pub fn plan_file_text(output: &mut Output, name: &str, file: &PlanFile, now: Stamp, verbosity: Verbosity) {
    output.line(&plan_age(name, &file.header, now));
    let mut before: Option<&[u8]> = None;
    for rule in &file.rules {
        let job_file = escape(&rule.file);
        if before.replace(&rule.file) != Some(&rule.file) {
            output.line(&format!("job file {job_file}"));
        }
        let call = Call::new(&job_file, Some(&rule.rule), Vec::new());
        plan_text(output, &rule.job, &call, &PlanReport::filed(rule), verbosity);
        if let Some(why) = &rule.objection {
            let bad = output.paint(Stream::Result, Paint::Bad, "it would have been refused then:");
            output.line(&format!("  {bad} {}", escape(why.as_bytes())));
        }
    }
    let welcome = |rule: &&PlanFileRule| {
        rule.objection.is_none() && rule.plan.as_ref().is_some_and(|plan| plan.totals.actions > 0)
    };
    let anew = |rule: &PlanFileRule| {
        Call::new(&escape(&rule.file), Some(&rule.rule), Vec::new()).applying(name).plan_anew()
    };
    let next = match file.rules.iter().find(welcome) {
        Some(_) => Some(apply_command(name)),
        None => file.rules.first().and_then(anew),
    };
    output.line(&next.map(|command| format!("next: {command}")).unwrap_or_default());
}

/// The last lines after a plan file was written; `changes` are the actions in it that would be carried out.
#[must_use]
pub fn after_plan_file(name: &str, rules: u64, changes: u64) -> Vec<String> {
    let mut lines = vec![format!("{} written to {name}", counted(rules, "plan", "plans"))];
    if changes > 0 {
        lines.push(format!("next: {}", apply_command(name)));
    }
    lines
}
