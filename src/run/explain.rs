//! The verb `explain`: what selects a path or leaves it out, what each side holds there, and what a run would do with it. Writes nothing.
//!
//! The whole plan of the rule is made as `plan` makes it: what becomes of one entry may depend on any other one, and so do the limits.

mod place;

use std::path::{Path, PathBuf};

use crate::compare::{self, Draft, ScanMeter, Trace, Verdict, trace};
use crate::filter::Filter;
use crate::job::{Job, Rule};
use crate::record::{KnownRule, RecordError, State};
use crate::value::{Kind, Place, RelPath, RelPathError};

use super::approach::{Approach, approach};
use super::reach::share;
use super::roots::{Making, Root, Roots, Target, open_roots, root_at};
use super::survey::{objection, survey_seen};
use super::sync::skip;
use super::welcome::pattern_case;
use super::{PlanReport, RuleOutcome, Session};

pub use place::Taken;
use place::{Placed, place_all};

/// What is to be said of one path by one rule.
#[derive(Clone, Debug)]
pub struct Explained<'a> {
    /// The path, below both roots.
    pub path: &'a RelPath,
    /// How the path that was asked for became this one.
    pub taken: &'a Taken,
    /// What was found on the way to it; `None` where not even the source could be opened.
    pub story: Option<Story>,
    /// The rule's plan, with what speaks against it.
    pub plan: &'a PlanReport,
    /// The rule.
    pub rule: &'a Rule,
}

/// What is there, what the filters say, and what comparing gave.
#[derive(Clone, Debug)]
pub struct Story {
    /// The path on its way; where neither side has it, as if it were a file.
    pub trace: Trace,
    /// The same as if it were a directory, where neither side has it.
    pub as_directory: Option<Trace>,
    /// What comparing gave; `None` where there was nothing to tell, or no plan.
    pub verdict: Option<Verdict>,
}

/// Why nothing could be explained.
#[derive(Debug, thiserror::Error)]
pub enum ExplainError {
    /// The path lies in none of the rules' trees.
    #[error("`{}` lies in no source or destination of this job", .path.display())]
    Outside {
        /// As it was given.
        path: PathBuf,
    },
    /// The path cannot be one below a root.
    #[error("`{}` cannot be a path below a source", .path.display())]
    Path {
        /// As it was given.
        path: PathBuf,
        /// Why.
        #[source]
        source: RelPathError,
    },
    /// The state cannot be read.
    #[error("cannot read the state")]
    State(#[from] RecordError),
}

/// Explains paths by a job, or by one rule of it: each path by each rule whose trees hold it, rule by rule.
///
/// `here` is the working directory. A path is taken as relative to it where it lies in a root of the rule and the entry is there on
/// either side, or where the path begins with `.` or `..`; else as relative to the rule's roots.
///
/// # Errors
/// Before anything is planned, where a path lies nowhere; where the state is there and cannot be read.
pub fn explain_job(
    session: &Session<'_>,
    job: &Job,
    only: Option<&str>,
    asked: &[PathBuf],
    here: Option<&Path>,
    each: &mut dyn FnMut(&Explained<'_>),
) -> Result<(), ExplainError> {
    let rules: Vec<&Rule> =
        job.rules.iter().filter(|rule| only.is_none_or(|only| rule.name == only)).collect();
    let places = place_all(&rules, asked, here)?;
    let state = State::open_readonly(session.state)?;
    for (rule, paths) in rules.into_iter().zip(places) {
        if paths.is_empty() {
            continue;
        }
        let before = match &state {
            Some(state) => state.known(&job.file, &rule.name)?,
            None => KnownRule::default(),
        };
        explain_rule(session, job, rule, &before, &paths, each);
        if session.cancel.is_raised() {
            break;
        }
    }
    Ok(())
}

fn explain_rule(
    session: &Session<'_>,
    job: &Job,
    rule: &Rule,
    before: &KnownRule,
    paths: &[Placed],
    each: &mut dyn FnMut(&Explained<'_>),
) {
    let mut report = PlanReport {
        rule: rule.name.clone(),
        mode: rule.mode,
        roots: None,
        sights: None,
        destination_id: None,
        plan: None,
        objection: None,
    };
    let mut stories = Vec::new();
    if let Err(outcome) = look_and_plan(session, job, rule, before, paths, &mut report, &mut stories) {
        report.objection = Some(outcome);
    }
    // What it needs is not run here, so that alone does not speak against it.
    if let Some(skip) = skip(rule, &|_| false, &[]) {
        report.objection = Some(RuleOutcome::Skipped(skip));
    }
    let mut stories = stories.into_iter().map(Some).chain(std::iter::repeat_with(|| None));
    for Placed { path, taken } in paths {
        let story = stories.next().flatten();
        each(&Explained { path, taken, story, plan: &report, rule });
    }
}

fn look_and_plan(
    session: &Session<'_>,
    job: &Job,
    rule: &Rule,
    before: &KnownRule,
    paths: &[Placed],
    report: &mut PlanReport,
    stories: &mut Vec<Story>,
) -> Result<(), RuleOutcome> {
    let approach = match approach(session, job, rule, before) {
        Ok(approach) => approach,
        Err(outcome) => {
            // Whatever stands against a run, the filters speak where the source is.
            *stories = far_stories(session, rule, paths);
            return Err(outcome);
        }
    };
    let Approach { roots: Roots { source, target }, place, .. } = &approach;
    report.roots = Some((source.shown(), target.shown()));
    *stories = told(session, rule, (source, target.root()), place, paths);
    let _lock = approach.store.as_ref().map(share).transpose()?;
    let mut verdicts = Vec::new();
    let plan = survey_seen(session, rule, &approach, &mut |draft| {
        verdicts = paths.iter().map(|placed| verdict(draft, &placed.path)).collect();
    })?;
    for (story, verdict) in stories.iter_mut().zip(verdicts) {
        story.verdict = verdict;
    }
    report.objection = objection(rule, &approach, &plan);
    report.plan = Some(plan);
    Ok(())
}

/// The stories of a rule that is not welcome where it is: with what can be opened.
fn far_stories(session: &Session<'_>, rule: &Rule, paths: &[Placed]) -> Vec<Story> {
    if let Ok(Roots { source, target }) = open_roots(rule, Making::Allowed) {
        let destination = match &target {
            Target::There(root) => Some(root),
            Target::ToMake { .. } => None,
        };
        return told(session, rule, (&source, destination), target.place(), paths);
    }
    let source = place::root_path(&rule.source).and_then(|path| root_at("source", &path).ok());
    source.map_or_else(Vec::new, |source| told(session, rule, (&source, None), &source.place, paths))
}

/// The stories of these paths, in their order.
fn told(
    session: &Session<'_>,
    rule: &Rule,
    (source, destination): (&Root, Option<&Root>),
    place: &Place,
    paths: &[Placed],
) -> Vec<Story> {
    let case = pattern_case(rule, source.place.case);
    // Loading the job has compiled every pattern already.
    let Ok(filter) = Filter::compile(&rule.filter_spec(case), session.clock.now()) else {
        return Vec::new();
    };
    let meter = ScanMeter::default();
    let terms = compare::Terms {
        source: &source.directory,
        destination: destination.map(|root| &root.directory),
        destination_parent: None,
        filter: &filter,
        rule,
        source_place: &source.place,
        place,
        as_root: session.environment.is_root(),
        scope: compare::Scope::default(),
        unfinished_runs: &[],
        known: None,
        excluded: compare::ExcludedThere::Kept,
        engine: None,
        cancel: session.cancel,
        meter: &meter,
        threads: 1,
        handle_budget: session.environment.handle_budget(),
    };
    let story = |placed: &Placed| {
        let as_file = trace(&terms, &placed.path, Kind::File);
        let is_there =
            as_file.source != compare::Look::Absent || as_file.destination != compare::Look::Absent;
        let as_directory = (!is_there).then(|| trace(&terms, &placed.path, Kind::Directory));
        Story { trace: as_file, as_directory, verdict: None }
    };
    paths.iter().map(story).collect()
}

/// What comparing gave for a path.
fn verdict(draft: &Draft, path: &RelPath) -> Option<Verdict> {
    let (directory, name) = match path.parent() {
        Some(parent) => (parent, path.name()),
        None => (RelPath::root(), &[][..]),
    };
    let index = draft.directories.binary_search_by(|each| each.path.cmp(&directory)).ok()?;
    let findings = &draft.directories.get(index)?.findings;
    findings.iter().find(|finding| *finding.name == *name).map(|finding| finding.verdict)
}
