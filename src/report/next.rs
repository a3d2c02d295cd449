//! The next sensible command: the last line of every summary, as it can be typed.

use crate::execute::{Failure, FailureKind};
use crate::run::{Exit, PlanReport, Refusal, RuleOutcome, RuleReport};

use super::call::Call;
use super::output::Verbosity;

/// What is left to know of a rule's plan when it has been shown.
#[derive(Clone, Debug)]
pub struct Planned {
    rule: String,
    actions: u64,
    objection: Option<RuleOutcome>,
}

impl Planned {
    /// Whether there is something to do and nothing against it.
    #[must_use]
    pub fn is_welcome(&self) -> bool {
        self.actions > 0 && self.objection.is_none()
    }
}

impl From<&PlanReport> for Planned {
    fn from(report: &PlanReport) -> Self {
        Self {
            rule: report.rule.clone(),
            actions: report.plan.as_ref().map_or(0, |plan| plan.totals.actions),
            objection: report.objection.clone(),
        }
    }
}

/// The last lines after a job's run; what is to be known first stands above the command.
pub(super) fn after_run(call: &Call, exit: Exit, reports: &[RuleReport]) -> Vec<String> {
    if let (Some(apply), Some(show), Some(plan)) = (call.apply(&[]), call.show_plan(), call.plan_anew()) {
        return after_apply(call, exit, reports, [&apply, &show, &plan]);
    }
    match exit {
        Exit::Done => vec![next(&call.command("history"))],
        Exit::Partial => {
            let may_mend = reports.iter().any(|report| report.failures.len() + report.problems.len() > 0);
            vec![next(&if may_mend { call.again("run") } else { call.again("plan") })]
        }
        Exit::Busy => vec!["when that run has ended:".to_owned(), next(&call.again("run"))],
        Exit::Stopped | Exit::Interrupted(_) => {
            vec![
                "what was done is whole; the next run goes on from there".to_owned(),
                next(&call.again("run")),
            ]
        }
        Exit::Refused => {
            let refused: Vec<(&str, &Refusal)> = reports
                .iter()
                .filter_map(|report| refusal_of(Some(&report.outcome)).map(|why| (report.rule.as_str(), why)))
                .collect();
            vec![next(&after_refusals(call, &refused))]
        }
        Exit::Usage | Exit::Changes => Vec::new(),
    }
}

/// The same after a plan file was applied: what it left is for a new plan.
fn after_apply(
    call: &Call,
    exit: Exit,
    reports: &[RuleReport],
    [apply, show, plan]: [&str; 3],
) -> Vec<String> {
    let refusals = || reports.iter().filter_map(|report| refusal_of(Some(&report.outcome)));
    match exit {
        Exit::Done => vec![next(&call.command("history"))],
        Exit::Partial if is_spent(reports) => vec![
            "nothing of the plan is left to be done: it was applied before, or both trees have changed since"
                .to_owned(),
            next(plan),
        ],
        Exit::Partial => vec![next(plan)],
        Exit::Busy => vec!["when that run has ended:".to_owned(), next(apply)],
        Exit::Stopped | Exit::Interrupted(_) => {
            vec!["what was done is whole; a new plan goes on from there".to_owned(), next(plan)]
        }
        Exit::Refused => vec![next(if refusals().all(shows_plan) { show } else { plan })],
        Exit::Usage | Exit::Changes => Vec::new(),
    }
}

/// Whether every action met something else than the plan saw; metadata of directories can always be mended once more.
fn is_spent(reports: &[RuleReport]) -> bool {
    let moved = |failure: &Failure| failure.what == FailureKind::MovedSince;
    reports.iter().all(|report| report.done.actions == report.done.metadata)
        && reports.iter().any(|report| report.failures.iter().any(moved))
}

/// The last line after the plans of a job's rules; `None` where a refusal's own command is the last word already.
#[must_use]
pub fn after_plan(call: &Call, plans: &[Planned], verbosity: Verbosity) -> Option<String> {
    let refused: Vec<(&str, &Refusal)> = plans
        .iter()
        .filter_map(|plan| refusal_of(plan.objection.as_ref()).map(|why| (plan.rule.as_str(), why)))
        .collect();
    if let [.., (_, last)] = refused.as_slice() {
        let all_is_shown = verbosity == Verbosity::Verbose && !last.flags().is_empty() && shows_plan(last);
        return (!all_is_shown).then(|| next(&after_refusals(call, &refused)));
    }
    let mut objections = plans.iter().filter_map(|plan| plan.objection.as_ref());
    if objections.any(|outcome| !matches!(outcome, RuleOutcome::Skipped(_))) {
        return Some(next(&call.again("plan")));
    }
    let changes = plans.iter().any(|plan| plan.objection.is_none() && plan.actions > 0);
    let verb = if changes { call.again("run") } else { call.command("history") };
    Some(next(&verb))
}

fn next(command: &str) -> String {
    format!("next: {command}")
}

fn refusal_of(outcome: Option<&RuleOutcome>) -> Option<&Refusal> {
    match outcome {
        Some(RuleOutcome::Refused(refusal)) => Some(refusal),
        _ => None,
    }
}

/// Whether `plan` shows the refused actions; else it stops where the run did, and needs the same flag.
fn shows_plan(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Limits { .. } | Refusal::Adoption { .. })
}

/// Looking at it comes before allowing it.
fn after_refusals(call: &Call, refused: &[(&str, &Refusal)]) -> String {
    match refused {
        [(rule, refusal)] if shows_plan(refusal) => call.of_rule("plan", rule, &["-v".to_owned()]),
        [(rule, refusal)] if !refusal.flags().is_empty() => call.of_rule("plan", rule, &refusal.flags()),
        _ => call.again("plan"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::time::Duration;

    use crate::compare::Conflict;
    use crate::plan::PlannedConflict;
    use crate::value::RelPath;

    fn call() -> Call {
        Call::new("j.yaml", None, Vec::new())
    }

    fn report(outcome: RuleOutcome) -> RuleReport {
        RuleReport::ended("r", outcome, Duration::ZERO)
    }

    #[track_caller]
    fn check(exit: Exit, reports: &[RuleReport], expected: &str) {
        let lines = after_run(&call(), exit, reports);
        assert_eq!(lines.last().map(String::as_str), Some(expected), "{lines:?}");
    }

    #[test]
    fn each_end_has_a_next_command() {
        check(Exit::Done, &[report(RuleOutcome::Done)], "next: twinlane history j.yaml");
        check(Exit::Busy, &[report(RuleOutcome::Busy(None))], "next: twinlane run j.yaml");
        check(Exit::Interrupted(2), &[report(RuleOutcome::Interrupted(2))], "next: twinlane run j.yaml");
        let path = || RelPath::parse(b"a").unwrap();
        let conflict = PlannedConflict { path: path(), conflict: Conflict::MountPoint };
        let conflicts = RuleReport { conflicts: vec![conflict], ..report(RuleOutcome::Partial) };
        check(Exit::Partial, std::slice::from_ref(&conflicts), "next: twinlane plan j.yaml");
        let failure = Failure { path: path(), what: FailureKind::Failed, cause: String::new() };
        let failures = RuleReport { failures: vec![failure], ..report(RuleOutcome::Partial) };
        check(Exit::Partial, &[conflicts, failures], "next: twinlane run j.yaml");
    }

    #[test]
    fn what_an_applied_plan_left_is_for_a_new_plan() {
        let call = call().applying("p");
        let last = |exit, reports: &[RuleReport]| after_run(&call, exit, reports).pop().unwrap();
        let anew = "next: twinlane plan j.yaml --out p";
        assert_eq!(last(Exit::Done, &[report(RuleOutcome::Done)]), "next: twinlane history j.yaml");
        assert_eq!(last(Exit::Busy, &[report(RuleOutcome::Busy(None))]), "next: twinlane apply p");
        assert_eq!(last(Exit::Stopped, &[report(RuleOutcome::Interrupted(2))]), anew);
        let outdated = Refusal::Outdated { what: String::new(), differences: Vec::new() };
        let refused = |refusal| report(RuleOutcome::Refused(Box::new(refusal)));
        assert_eq!(last(Exit::Refused, &[refused(outdated)]), anew);
        let limits = Refusal::Limits { limits: Vec::new() };
        assert_eq!(last(Exit::Refused, &[refused(limits)]), "next: twinlane show p -v");
        let moved = Failure { path: RelPath::root(), what: FailureKind::MovedSince, cause: String::new() };
        let spent = RuleReport { failures: vec![moved], ..report(RuleOutcome::Partial) };
        let lines = after_run(&call, Exit::Partial, &[spent]);
        assert!(lines[0].starts_with("nothing of the plan is left") && lines[1] == anew, "{lines:?}");
    }

    #[test]
    fn after_a_refusal_it_is_looked_at_first() {
        let refused = |refusal| report(RuleOutcome::Refused(Box::new(refusal)));
        let path = || PathBuf::from("/t");
        let adoption =
            || refused(Refusal::Adoption { path: path(), removals: 1, replacements: 0, first: Vec::new() });
        check(Exit::Refused, &[adoption()], "next: twinlane plan j.yaml/r -v");
        check(
            Exit::Refused,
            &[refused(Refusal::LostIdentity { path: path() })],
            "next: twinlane plan j.yaml/r --accept destination",
        );
        check(Exit::Refused, &[refused(Refusal::ReadOnly { path: path() })], "next: twinlane plan j.yaml");
        check(Exit::Refused, &[adoption(), adoption()], "next: twinlane plan j.yaml");
    }

    #[test]
    fn after_a_plan_comes_its_run_or_what_was_done_or_what_stands_against_it() {
        let flags = vec!["--limit remove=30".to_owned()];
        let call = Call::new("j.yaml", Some("r"), flags);
        let plan = |actions, objection| Planned { rule: "r".to_owned(), actions, objection };
        let check = |plan, verbosity, expected: Option<&str>| {
            assert_eq!(after_plan(&call, &[plan], verbosity).as_deref(), expected);
        };
        let refused = || {
            let path = PathBuf::from("/t");
            let refusal = Refusal::Adoption { path, removals: 1, replacements: 0, first: Vec::new() };
            Some(RuleOutcome::Refused(Box::new(refusal)))
        };
        let (normal, verbose) = (Verbosity::Normal, Verbosity::Verbose);
        check(plan(1, None), normal, Some("next: twinlane run j.yaml/r --limit remove=30"));
        check(plan(0, None), normal, Some("next: twinlane history j.yaml/r"));
        check(plan(1, refused()), normal, Some("next: twinlane plan j.yaml/r --limit remove=30 -v"));
        check(plan(1, refused()), verbose, None);
        let busy = Some(RuleOutcome::Busy(None));
        check(plan(0, busy), normal, Some("next: twinlane plan j.yaml/r --limit remove=30"));
    }
}
