//! What a copy would do: one march and one plan for each folder that something is copied from. Writes nothing.

use std::sync::Arc;

use crate::compare::{self, Conflict, Draft, Equals, Extras, ScanMeter, Scope, Verdict, march};
use crate::filter::Filter;
use crate::plan::{self, Plan, User};
use crate::run::guards::check_nested_in;
use crate::run::roots::Target;
use crate::run::survey::{check_read, interrupted, march_threads};
use crate::run::welcome::pattern_case;
use crate::run::{PlanReport, RuleOutcome, Session};
use crate::value::{Kind, RelPath};

use super::Ready;
use super::ready::Group;

/// One group's plan.
pub(super) struct Surveyed {
    pub(super) plan: Plan,
    /// Files whose content is the source's already; collected where digests are wanted.
    pub(super) equal: Vec<RelPath>,
}

/// Plans a copy.
#[must_use]
pub fn plan_copy(session: &Session<'_>, ready: &Ready) -> Vec<PlanReport> {
    let groups = ready.groups.iter();
    groups
        .map(|group| {
            let mut report = PlanReport {
                rule: group.rule.name.clone(),
                mode: group.rule.mode,
                roots: Some((group.source.shown(), ready.target.shown())),
                sights: None,
                destination_id: None,
                plan: None,
                objection: None,
            };
            match survey(session, ready, group, &Arc::default()) {
                Ok(surveyed) => report.plan = Some(surveyed.plan),
                Err(outcome) => report.objection = Some(outcome),
            }
            report
        })
        .collect()
}

/// Compares and plans one group.
pub(super) fn survey(
    session: &Session<'_>,
    ready: &Ready,
    group: &Group,
    meter: &Arc<ScanMeter>,
) -> Result<Surveyed, RuleOutcome> {
    let mut draft = marched(session, ready, group, meter)?;
    if session.cancel.is_raised() {
        return Err(interrupted(session));
    }
    check_nested_in(&group.source, &ready.target, draft.nested.as_ref()).map_err(RuleOutcome::refused)?;
    check_read(&draft).map_err(RuleOutcome::refused)?;
    keep_other_kinds(&mut draft);
    let equal = if ready.sums.is_some() { equal_files(&draft) } else { Vec::new() };
    let terms = plan::Terms {
        rule: &group.rule,
        place: ready.target.place(),
        user: if session.environment.is_root() { User::Root } else { User::Other },
        limits: group.rule.limits,
        base: None,
    };
    Ok(Surveyed { plan: plan::seal(draft, &terms), equal })
}

fn marched(
    session: &Session<'_>,
    ready: &Ready,
    group: &Group,
    meter: &Arc<ScanMeter>,
) -> Result<Draft, RuleOutcome> {
    let Group { source, names, rule } = group;
    let case = pattern_case(rule, source.place.case);
    let filter = Filter::compile(&rule.filter_spec(case), session.clock.now()).map_err(|errors| {
        RuleOutcome::Stopped { reasons: errors.into_iter().map(|error| error.message).collect() }
    })?;
    let (destination, destination_parent) = match &ready.target {
        Target::There(root) => (Some(&root.directory), None),
        Target::ToMake { parent, .. } => (None, Some((parent.meta.device, parent.meta.inode))),
    };
    let equals = if ready.sums.is_some() { Equals::Tell } else { Equals::Drop };
    Ok(march(&compare::Terms {
        source: &source.directory,
        destination,
        destination_parent,
        filter: &filter,
        rule,
        source_place: &source.place,
        place: ready.target.place(),
        as_root: session.environment.is_root(),
        scope: Scope { names: names.as_deref(), extras: Extras::Pass, equals },
        unfinished_runs: &[],
        known: None,
        excluded: compare::ExcludedThere::Kept,
        engine: None,
        cancel: session.cancel,
        meter,
        threads: march_threads(session),
        handle_budget: session.environment.handle_budget(),
    }))
}

/// A directory takes no other entry's place: nothing keeps what a copy would take away.
fn keep_other_kinds(draft: &mut Draft) {
    let findings = draft.directories.iter_mut().flat_map(|directory| &mut directory.findings);
    for finding in findings {
        let is_directory = finding.source.is_some_and(|meta| meta.kind == Kind::Directory);
        if finding.verdict == Verdict::Kind && is_directory {
            finding.verdict = Verdict::Conflict(Conflict::Kind);
        }
    }
}

fn equal_files(draft: &Draft) -> Vec<RelPath> {
    let mut files = Vec::new();
    for directory in &draft.directories {
        for finding in &directory.findings {
            let is_file = finding.source.is_some_and(|meta| meta.kind == Kind::File);
            if is_file && matches!(finding.verdict, Verdict::Same | Verdict::Metadata(_)) {
                files.push(directory.path.join(&finding.name));
            }
        }
    }
    files
}
