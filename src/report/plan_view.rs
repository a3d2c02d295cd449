//! A plan for people: totals, then the first actions of each kind; every action with its reason where that is asked for.

use crate::job::Mode;
use crate::plan::{Action, ActionKind, LimitCheck, Plan};
use crate::run::{PlanReport, RuleOutcome};
use crate::value::{ByteCount, escape};

use super::call::Call;
use super::output::{Output, Paint, Stream, Verbosity};
use super::refusal::{refusal_lines, way_on};
use super::summary::{conflict_words, notice_words};
use super::words::{Tense, actions, count, counted, shown};

/// As many actions of each kind are shown as give an idea of it.
const SHOWN_MAX: usize = 5;
/// As many unread or conflicting names are shown as fit a screen.
const LEFT_MAX: usize = 20;

/// The order in which kinds are shown: what may hurt first, then what is made, from the outside in.
const KINDS: [ActionKind; 9] = [
    ActionKind::Remove,
    ActionKind::Replace,
    ActionKind::Move,
    ActionKind::Mkdir,
    ActionKind::Copy,
    ActionKind::Link,
    ActionKind::Symlink,
    ActionKind::Special,
    ActionKind::Metadata,
];

/// Writes one rule's plan; `call` is how its job was asked for.
pub fn plan_text(output: &mut Output, job: &str, call: &Call, report: &PlanReport, verbosity: Verbosity) {
    let lines = plan_lines(output, job, call, report, verbosity);
    for line in lines {
        output.line(&line);
    }
}

fn plan_lines(
    output: &Output,
    job: &str,
    call: &Call,
    report: &PlanReport,
    verbosity: Verbosity,
) -> Vec<String> {
    let name = output.paint(Stream::Result, Paint::Bold, &format!("{job}/{}", report.rule));
    let mode = match report.mode {
        Mode::Mirror => "mirror",
        Mode::Backup => "backup",
    };
    let mut lines = vec![format!("{name}  {mode}")];
    if let Some((source, destination)) = &report.roots {
        let shown = |path: &std::path::Path| escape(path.as_os_str().as_encoded_bytes());
        lines.push(format!("  from  {}", shown(source)));
        lines.push(format!("  to    {}", shown(destination)));
    }
    if let Some(plan) = &report.plan {
        lines.extend(plan_body(plan, verbosity));
        if verbosity == Verbosity::Verbose {
            lines.extend(plan.limits.iter().map(limit_line));
        }
    }
    lines.extend(objection_lines(output, call, report));
    lines
}

/// What a plan does, what it leaves, and what is to be known.
pub(super) fn plan_body(plan: &Plan, verbosity: Verbosity) -> Vec<String> {
    let mut lines = totals_lines(plan);
    lines.extend(action_lines(plan, verbosity));
    lines.extend(left_lines(plan));
    lines.extend(plan.notices.iter().map(|notice| format!("  note: {}", notice_words(notice))));
    lines
}

/// Why something that no job asked for would not be done.
pub(super) fn plan_objection(output: &Output, report: &PlanReport) -> Vec<String> {
    match &report.objection {
        Some(RuleOutcome::Refused(refusal)) => {
            let word = output.paint(Stream::Result, Paint::Bad, "it would be refused:");
            let advice = refusal.advice().map(|advice| format!("  help: {advice}"));
            std::iter::once(format!("  {word} {refusal}")).chain(advice).collect()
        }
        _ => objection_lines(output, &Call::new("copy", None, Vec::new()), report),
    }
}

fn totals_lines(plan: &Plan) -> Vec<String> {
    let sum = actions(&plan.totals, Tense::Future);
    let mut parts = vec![if sum.is_empty() { "nothing to do".to_owned() } else { sum }];
    if plan.totals.bytes > 0 {
        parts.push(ByteCount(plan.totals.bytes).to_string());
    }
    if plan.counts.same > 0 {
        parts.push(format!("{} equal", count(plan.counts.same)));
    }
    if plan.counts.source_excluded > 0 {
        parts.push(format!("{} left out by filters", count(plan.counts.source_excluded)));
    }
    vec![format!("  {}", parts.join(" · "))]
}

fn action_lines(plan: &Plan, verbosity: Verbosity) -> Vec<String> {
    if verbosity == Verbosity::Verbose {
        return plan.actions.iter().map(|action| action_line(plan, action)).collect();
    }
    let mut lines = Vec::new();
    for kind in KINDS {
        let mut of_kind: Vec<&Action> = plan.actions.iter().filter(|action| action.kind == kind).collect();
        let all = of_kind.len();
        if kind == ActionKind::Remove {
            // Children are planned before their parents; people read from the top.
            of_kind.sort_by_cached_key(|action| plan.path(action));
        }
        lines.extend(of_kind.iter().take(SHOWN_MAX).map(|action| action_line(plan, action)));
        if all > SHOWN_MAX {
            let word = kind.word();
            lines.push(format!("    {word:<9} … and {} more", count((all - SHOWN_MAX) as u64)));
        }
    }
    lines
}

/// `    copy      a/b`; of a move `    move      new ← old`.
pub(super) fn named(plan: &Plan, action: &Action) -> String {
    let from = plan.link(action).filter(|_| action.kind == ActionKind::Move);
    let from = from.map(|from| format!(" ← {}", shown(from))).unwrap_or_default();
    format!("    {:<9} {}{from}", action.kind.word(), shown(&plan.path(action)))
}

fn action_line(plan: &Plan, action: &Action) -> String {
    let path = plan.path(action);
    if action.kind == ActionKind::Move {
        return named(plan, action);
    }
    let root = if path.is_root() { "the destination itself: " } else { "" };
    format!("    {:<9} {}  ({root}{})", action.kind.word(), shown(&path), plan.reason_words(action))
}

fn left_lines(plan: &Plan) -> Vec<String> {
    let problems = plan
        .problems
        .iter()
        .map(|problem| format!("  cannot read {}: {}", shown(&problem.path), problem.message));
    let conflicts = plan.conflicts.iter().map(|conflict| {
        format!("  conflict {}: {}", shown(&conflict.path), conflict_words(conflict.conflict))
    });
    let all = plan.problems.len() + plan.conflicts.len();
    let mut lines: Vec<String> = problems.chain(conflicts).take(LEFT_MAX).collect();
    if all > LEFT_MAX {
        lines.push(format!("  … and {} more", count((all - LEFT_MAX) as u64)));
    }
    lines
}

fn limit_line(check: &LimitCheck) -> String {
    let LimitCheck { name, planned, allowed, base, written, .. } = check;
    if *name == "min_free" {
        let needed = format!("  limit {name}: {} needed", ByteCount(*planned));
        return match allowed {
            None => format!("{needed}, no limit"),
            Some(allowed) => {
                format!("{needed}, {} may be filled (so that {written} stays free)", ByteCount(*allowed))
            }
        };
    }
    let planned = format!("  limit {name}: {} of {}", count(*planned), counted(*base, "entry", "entries"));
    match allowed {
        None => format!("{planned}, no limit"),
        Some(allowed) => {
            let small = check.small_base_words();
            format!("{planned}, {} allowed ({written}{small})", count(*allowed))
        }
    }
}

fn objection_lines(output: &Output, call: &Call, report: &PlanReport) -> Vec<String> {
    let Some(outcome) = &report.objection else { return Vec::new() };
    let bad = |text: &str| output.paint(Stream::Result, Paint::Bad, text);
    match outcome {
        RuleOutcome::Refused(refusal) => {
            let mut lines = vec![format!("  {} {refusal}", bad("a run would be refused:"))];
            // Where there is a plan, its entries stand above.
            let further = match &report.plan {
                Some(_) => way_on(refusal, call, &report.rule),
                None => refusal_lines(refusal, call, &report.rule),
            };
            lines.extend(further.iter().map(|line| format!("  {line}")));
            lines
        }
        RuleOutcome::Skipped(skip) => vec![format!("  would be skipped: {skip}")],
        RuleOutcome::Busy(_) => vec![format!("  {} another run holds this destination", bad("cannot plan:"))],
        RuleOutcome::Stopped { reasons } => vec![format!("  {} {}", bad("cannot plan:"), reasons.join(": "))],
        RuleOutcome::Interrupted(_) => vec!["  interrupted".to_owned()],
        RuleOutcome::Done | RuleOutcome::Partial => Vec::new(),
    }
}
