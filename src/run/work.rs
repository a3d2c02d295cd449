//! A sealed, unopposed plan is carried out: engine, execution, retention, catalog, marker.

use std::sync::Arc;

use crate::execute::{self, Ended, Fact, Meters, Outcome};
use crate::job::{Retention, Rule, Versions, WhenFull};
use crate::plan::{Plan, Totals};
use crate::store::{Catalog, Pruned, Store, StoreError};
use crate::value::{ByteCount, Place, RunId, Zone};

use super::catch_up::untold;
use super::roots::Root;
use super::survey::{interrupted, start_writing_engine};
use super::{Event, Gauge, RuleOutcome, RuleReport, Session, Sink};

/// Everything that the work needs; the lock is held by whoever calls.
pub(super) struct Work<'a> {
    pub(super) session: &'a Session<'a>,
    pub(super) rule: &'a Rule,
    /// By whose clocks its ceilings of bandwidth change.
    pub(super) zone: Zone,
    pub(super) run: RunId,
    pub(super) source: &'a Root,
    pub(super) destination: &'a Root,
    pub(super) place: &'a Place,
    pub(super) store: &'a Store,
    pub(super) plan: &'a Plan,
    /// Runs before this one that have not ended: the plan clears their stage files.
    pub(super) unfinished: &'a [RunId],
    /// The destination was just given its `.twinlane`: its root's own time is to be mended.
    pub(super) first: bool,
}

/// Carries the plan out, from the run's marker to retention.
pub(super) fn work(work: &Work<'_>, sink: &mut dyn Sink) -> Result<(RuleReport, Vec<bool>), RuleOutcome> {
    let stopped = |error: StoreError| RuleOutcome::stopped(&error);
    let idle = work.plan.actions.is_empty() && work.unfinished.is_empty() && !work.first;
    let outcome = if idle { nothing() } else { carried(work, sink)? };
    let mut report = report_of(&work.rule.name, work.plan, &outcome);
    report.outcome = match outcome.ended {
        Ended::Finished if report.left() == 0 => RuleOutcome::Done,
        Ended::Finished => RuleOutcome::Partial,
        Ended::Interrupted => interrupted(work.session),
        Ended::Stopped { reason } => RuleOutcome::Stopped { reasons: vec![reason] },
    };
    if report.outcome == RuleOutcome::Done {
        report.pruned = prune(work).map_err(stopped)?;
    }
    Ok((report, outcome.done))
}

fn nothing() -> Outcome {
    Outcome {
        done: Vec::new(),
        failures: Vec::new(),
        vanished: 0,
        warnings: Vec::new(),
        bytes: 0,
        read_back: 0,
        stages_left: 0,
        ended: Ended::Finished,
    }
}

/// The run's marker, execution, the catalog, the marker again.
fn carried(work: &Work<'_>, sink: &mut dyn Sink) -> Result<Outcome, RuleOutcome> {
    let (run, store) = (work.run, work.store);
    let stopped = |error: StoreError| RuleOutcome::stopped(&error);
    make_room(work).map_err(stopped)?;
    // What cannot be read now is set aside when the catalog is opened; it holds up no run.
    let untold = untold(work).unwrap_or_default();
    store.begin(run).map_err(stopped)?;
    let (mut catalog, said) = store.catalog(run).map_err(stopped)?;
    for (run, changes) in &untold {
        catalog.apply(*run, changes).map_err(stopped)?;
    }
    if let Some(text) = said {
        sink.event(&Event::Note { text: &text });
    }
    let outcome = executed(work, &mut catalog, sink)?;
    if let Some(text) = catalog.take_message() {
        sink.event(&Event::Note { text: &text });
    }
    if outcome.stages_left == 0 {
        store.clear_marker(run).map_err(stopped)?;
    }
    if outcome.ended == Ended::Finished && outcome.stages_left == 0 {
        for run in work.unfinished {
            store.clear_marker(*run).map_err(stopped)?;
        }
    }
    Ok(outcome)
}

fn executed(work: &Work<'_>, catalog: &mut Catalog, sink: &mut dyn Sink) -> Result<Outcome, RuleOutcome> {
    let session = work.session;
    let (engine, workers) = start_writing_engine(session, work.rule, work.zone)?;
    let gauge = Gauge {
        meters: Arc::new(Meters::default()),
        engine: Arc::new(engine),
        clock: session.clock,
        planned: work.plan.totals,
    };
    sink.event(&Event::Executing { gauge: &gauge });
    let terms = execute::Terms {
        plan: work.plan,
        rule: work.rule,
        run: work.run,
        source: &work.source.directory,
        destination: &work.destination.directory,
        source_place: &work.source.place,
        place: work.place,
        store: Some(work.store),
        roots: execute::Roots::Alike,
        clock: session.clock,
        cancel: session.cancel,
        engine: &gauge.engine,
        workers,
        as_root: session.environment.is_root(),
    };
    let outcome = execute::execute(&terms, catalog, &gauge.meters, &mut |fact| match fact {
        Fact::Done { action } => {
            if let Some(action) = work.plan.actions.get(action) {
                sink.event(&Event::Done { plan: work.plan, action });
            }
        }
        Fact::Failed { failure, .. } => sink.event(&Event::Failed { failure: &failure }),
        Fact::Vanished { .. } => {}
    });
    sink.event(&Event::Executed);
    Ok(outcome)
}

/// Releases what is due anyway where the plan counts on its room, and, where the rule says so, the oldest versions beyond.
fn make_room(work: &Work<'_>) -> Result<(), StoreError> {
    let missing = |free: u64| ByteCount(work.plan.totals.allocated.saturating_sub(free));
    let free = work.place.free_bytes;
    if missing(free) == ByteCount(0) {
        return Ok(());
    }
    let freed = prune(work)?.map_or(0, |pruned| pruned.bytes.0);
    let missing = missing(free.saturating_add(freed));
    if let Versions::Keep(Retention { when_full: WhenFull::Release, .. }) = work.rule.versions
        && missing > ByteCount(0)
    {
        work.store.release_oldest(missing, work.session.clock.now(), work.run)?;
    }
    Ok(())
}

fn prune(work: &Work<'_>) -> Result<Option<Pruned>, StoreError> {
    match &work.rule.versions {
        Versions::None => Ok(None),
        Versions::Keep(retention) => {
            work.store.prune(retention, work.session.clock.now(), work.run).map(Some)
        }
    }
}

/// What is to be said of a plan that was carried out this far.
pub(super) fn report_of(rule: &str, plan: &Plan, outcome: &Outcome) -> RuleReport {
    let left = !outcome.failures.is_empty() || !plan.problems.is_empty() || !plan.conflicts.is_empty();
    let ended = if left { RuleOutcome::Partial } else { RuleOutcome::Done };
    let mut report = RuleReport::ended(rule, ended, std::time::Duration::ZERO);
    report.planned = plan.totals;
    report.counts = plan.counts;
    report.done = done_totals(plan, &outcome.done);
    report.done.bytes = outcome.bytes;
    report.bytes = outcome.bytes;
    report.read_back = outcome.read_back;
    report.failures.clone_from(&outcome.failures);
    report.problems.clone_from(&plan.problems);
    report.conflicts.clone_from(&plan.conflicts);
    report.vanished = plan.counts.vanished + outcome.vanished;
    report.warnings.clone_from(&outcome.warnings);
    report.notices.clone_from(&plan.notices);
    report
}

/// Sums over the actions that are committed.
pub(super) fn done_totals(plan: &Plan, done: &[bool]) -> Totals {
    let mut totals = Totals::default();
    for (action, _) in plan.actions.iter().zip(done).filter(|(_, done)| **done) {
        totals.count(action.kind);
    }
    totals
}
