//! What pruning released, for people and for programs.

use serde_json::{Map, Value, json};

use crate::run::{PruneReport, Pruning, RuleOutcome};
use crate::store::Weighed;
use crate::value::ByteCount;

use super::call::Call;
use super::output::{Output, Paint, Stream, Verbosity};
use super::restore::ended_text;
use super::words::counted;

/// Writes one rule's pruning.
pub fn prune_text(
    output: &mut Output,
    job: &str,
    call: &Call,
    report: &PruneReport,
    pruning: Pruning,
    verbosity: Verbosity,
) {
    if !matches!(report.outcome, RuleOutcome::Done | RuleOutcome::Partial) {
        let ended =
            crate::run::RuleReport::ended(&report.rule, report.outcome.clone(), std::time::Duration::ZERO);
        ended_text(output, job, call, &ended);
        return;
    }
    if verbosity == Verbosity::Quiet && report.outcome == RuleOutcome::Done {
        return;
    }
    let name = output.paint(Stream::Result, Paint::Bold, &format!("{job}/{}", report.rule));
    output.line(&format!("{name}  {}", sentence(report, pruning)));
    if let Some(pruned) = report.pruned {
        if pruned.distrusted_clock {
            output.line(
                "  something is due, but this machine's clock is behind the newest run or 30 days ahead of it: set the clock",
            );
        }
        if pruned.failed > 0 {
            output.line(&format!("  {} could not be looked at or removed", versions(pruned.failed)));
        }
    }
    let due = report.pruned.is_some_and(|pruned| pruned.versions > 0);
    let next = if pruning == Pruning::Rehearsed && due { "prune" } else { "versions" };
    output.line(&format!("next: {}", call.of_rule(next, &report.rule, &[])));
}

fn versions(number: u64) -> String {
    counted(number, "version", "versions")
}

fn sentence(report: &PruneReport, pruning: Pruning) -> String {
    let kept = versions(number(&report.left));
    let stay = match (pruning, number(&report.left)) {
        (Pruning::Rehearsed, _) => format!("there are {kept}"),
        (Pruning::Real, 1) => format!("{kept} stays"),
        (Pruning::Real, _) => format!("{kept} stay"),
    };
    let left = match number(&report.left) {
        0 => "there are no versions now".to_owned(),
        _ => format!("{stay}, {}", bytes(&report.left)),
    };
    match (report.pruned, pruning) {
        (None, _) => format!("the rule keeps no versions, so none are ever due · {left}"),
        (Some(pruned), _) if pruned.versions == 0 => format!("nothing is due · {left}"),
        (Some(pruned), Pruning::Real) => {
            format!("{} released, {} freed · {left}", versions(pruned.versions), pruned.bytes)
        }
        (Some(pruned), Pruning::Rehearsed) => {
            format!("{} due, {} would be freed · {left}", versions(pruned.versions), pruned.bytes)
        }
    }
}

fn number(weighed: &Weighed) -> u64 {
    weighed.runs.iter().map(|run| run.versions).sum()
}

fn bytes(weighed: &Weighed) -> ByteCount {
    ByteCount(weighed.runs.iter().map(|run| run.bytes.0).sum())
}

/// One rule's pruning as an object.
#[must_use]
pub fn prune_json(job: &str, report: &PruneReport, pruning: Pruning) -> Value {
    let object = json!({
        "event": "prune",
        "job": job,
        "rule": report.rule,
        "destination": report.destination.as_ref().map(|path| path.to_string_lossy()),
        "written": pruning == Pruning::Real,
        "outcome": report.outcome.word(),
        "exit": report.outcome.exit().code(),
        "versions": report.pruned.map(|pruned| pruned.versions),
        "bytes": report.pruned.map(|pruned| pruned.bytes.0),
        "failed": report.pruned.map(|pruned| pruned.failed),
        "distrusted_clock": report.pruned.map(|pruned| pruned.distrusted_clock),
        "left": {"versions": number(&report.left), "bytes": bytes(&report.left).0},
    });
    let mut map: Map<String, Value> = object.as_object().cloned().unwrap_or_default();
    super::json::put_reason(&mut map, &report.outcome);
    map.into()
}
