//! The verb `apply`: rules are carried out as their plans say that were made before. Everything but the comparing is that of `run`.
//!
//! A plan that does not fit any more is refused: another job, another destination, another source. Single entries that are not what the plan
//! saw are left alone by execution, as in every run.

use crate::compare::Side;
use crate::job::{Job, Rule};
use crate::plan::{Plan, PlanFileRule};
use crate::platform::path_from_bytes;
use crate::record::RecordError;
use crate::value::{Kind, Meta, RelPath, StageName};

use super::approach::{Approach, missing};
use super::identity::{SourceBefore, changed};
use super::roots::Root;
use super::survey::roomy;
use super::sync::{Turn, carry_job};
use super::{Exit, LimitOverride, Refusal, RuleOutcome, Session, Sink};

/// A rule's plan from a plan file.
#[derive(Clone, Debug)]
pub struct Given<'a> {
    /// The rule in the job as it is now.
    pub rule: &'a Rule,
    /// What the file says of it.
    pub filed: &'a PlanFileRule,
    /// What the rule says now, and said otherwise then; nothing where the plan is this rule's.
    pub differences: Vec<String>,
}

/// Carries out plans of one job, rule by rule, as `run` does; `session` holds the limits and acceptances of then and of now.
///
/// # Errors
/// Where the state cannot be opened: nothing was begun.
pub fn apply_job(
    session: &Session<'_>,
    job: &Job,
    plans: &[Given<'_>],
    sink: &mut dyn Sink,
) -> Result<Exit, RecordError> {
    let turns: Vec<Turn<'_>> =
        plans.iter().map(|given| Turn { rule: given.rule, given: Some(given) }).collect();
    carry_job(session, job, &turns, sink)
}

fn outdated(what: impl Into<String>) -> Refusal {
    Refusal::Outdated { what: what.into(), differences: Vec::new() }
}

impl Given<'_> {
    /// Refuses a plan whose rule is not what it was.
    pub(super) fn check_job(&self) -> Result<(), Refusal> {
        if self.differences.is_empty() {
            return Ok(());
        }
        let what = "the job says something else than when the plan was made".to_owned();
        Err(Refusal::Outdated { what, differences: self.differences.clone() })
    }

    /// The plan, for the trees as they are now: roots checked to be those of then, limits and room checked anew.
    pub(super) fn plan(
        &self,
        session: &Session<'_>,
        rule: &Rule,
        approach: &Approach,
    ) -> Result<Plan, RuleOutcome> {
        let mut plan = self.filed.plan.clone().ok_or_else(|| {
            let why = self.filed.objection.as_deref().unwrap_or("none was made");
            RuleOutcome::refused(outdated(format!("the file has none for this rule ({why})")))
        })?;
        self.find_destination(&mut plan, approach).map_err(RuleOutcome::refused)?;
        self.find_source(&mut plan, approach).map_err(RuleOutcome::refused)?;
        let source = &approach.roots.source;
        if rule.require.source_nonempty && !holds_file(source) {
            return Err(missing(rule, Refusal::SourceEmpty { path: source.shown(), excluded: 0 }));
        }
        let mut place = approach.place.clone();
        let mut unfinished = Vec::new();
        if let Some(store) = &approach.store {
            unfinished = store.unfinished_runs().map_err(|error| RuleOutcome::stopped(&error))?;
            place = roomy(session, rule, store, &place).map_err(|error| RuleOutcome::stopped(&error))?;
        }
        let is_stale = |path: &RelPath| {
            StageName::parse(path.name()).is_some_and(|stage| unfinished.contains(&stage.run))
        };
        plan.stale_stages.retain(is_stale);
        plan.check_limits(LimitOverride::apply(session.limits, rule.limits), &place);
        Ok(plan)
    }

    /// Refuses a destination that is not the one that the plan saw.
    fn find_destination(&self, plan: &mut Plan, approach: &Approach) -> Result<(), Refusal> {
        let target = &approach.roots.target;
        let path = target.shown();
        let shown = path.display();
        match (self.filed.destination_id.as_deref(), approach.known.id()) {
            (was, is) if was == is => {}
            (None, Some(_)) => {
                return Err(outdated(format!(
                    "a run has written to destination `{shown}` for the first time since"
                )));
            }
            (Some(_), _) => {
                return Err(outdated(format!("destination `{shown}` has another id than then, or none")));
            }
            (None, None) => {}
        }
        let planned = plan.directories.first().and_then(|root| root.destination);
        let uuids = (self.uuid(Side::Destination), target.place().uuid.as_deref());
        match (planned, target.root()) {
            (None, None) => Ok(()),
            (Some(was), Some(root)) if is_same(&was, &root.meta, uuids) => {
                plan.follow_device(Side::Destination, was.device, root.meta.device);
                Ok(())
            }
            (None, Some(_)) => Err(outdated(format!("destination `{shown}` was not there when it was made"))),
            (Some(_), _) => Err(outdated(format!("destination `{shown}` is another directory than then"))),
        }
    }

    /// Refuses a source that is not the one that the plan saw.
    fn find_source(&self, plan: &mut Plan, approach: &Approach) -> Result<(), Refusal> {
        let source = &approach.roots.source;
        let uuid = self.uuid(Side::Source).map(str::to_owned);
        let before = SourceBefore::planned(uuid, plan.source_mounts.clone());
        let lost = changed(source, &before).map_err(|refusal| outdated(refusal.to_string()))?;
        let known = |path: &RelPath| plan.problems.iter().any(|problem| problem.path == *path);
        if let Some(lost) = lost.iter().chain(&approach.lost).find(|lost| !known(&lost.path)) {
            let path = source.shown().join(path_from_bytes(lost.path.as_bytes()));
            return Err(outdated(format!("nothing is mounted at `{}` now", path.display())));
        }
        let planned = plan.directories.first().and_then(|root| root.source);
        let uuids = (self.uuid(Side::Source), source.place.uuid.as_deref());
        match planned {
            Some(was) if is_same(&was, &source.meta, uuids) => {
                plan.follow_device(Side::Source, was.device, source.meta.device);
                Ok(())
            }
            _ => {
                Err(outdated(format!("source `{}` is another directory than then", source.shown().display())))
            }
        }
    }

    fn uuid(&self, side: Side) -> Option<&str> {
        let (source, destination) = self.filed.roots.as_ref()?;
        match side {
            Side::Source => source.uuid.as_deref(),
            Side::Destination => destination.uuid.as_deref(),
        }
    }
}

/// Whether a root is the directory that it was. Its device id may have changed with its disk attached anew, which then tells its UUID.
fn is_same(was: &Meta, is: &Meta, uuids: (Option<&str>, Option<&str>)) -> bool {
    let same_disk = was.device == is.device || uuids.0.is_some() && uuids.0 == uuids.1;
    was.inode == is.inode && same_disk
}

/// Whether anything but directories is left in a tree; looked for until the first. What cannot be read may hold something.
fn holds_file(source: &Root) -> bool {
    let mut waiting = vec![RelPath::root()];
    while let Some(path) = waiting.pop() {
        let Ok(directory) = source.directory.open_below(&path) else { return true };
        let mut found = false;
        let listed = directory.list(|listed| match listed.kind {
            Some(Kind::Directory) => waiting.push(path.join(listed.name)),
            _ => found = true,
        });
        if found || listed.is_err() {
            return true;
        }
    }
    false
}
