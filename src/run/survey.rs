//! From two open roots to a sealed plan, and what speaks against it. Writes nothing.

use crate::compare::{
    self, Digests, Draft, ExcludedThere, Extent, Move, MoveCandidates, MoveTerms, Side, march,
};
use crate::execute::engine_settings;
use crate::filter::Filter;
use crate::job::{Comparison, Retention, Rule, Versions, WhenFull};
use crate::plan::{self, Plan, User};
use crate::queue::{Ceiling, Engine, Settings};
use crate::store::{Store, StoreError, ViewSource};
use crate::value::{Place, RunId, Zone};

use super::approach::{Approach, missing};
use super::guards::check_nested;
use super::roots::Target;
use super::session::Workers;
use super::welcome::{Standing, pattern_case};
use super::{Accept, LimitOverride, Refusal, RuleOutcome, Session};

/// Compares both trees and seals the plan.
pub(super) fn survey(session: &Session<'_>, rule: &Rule, approach: &Approach) -> Result<Plan, RuleOutcome> {
    survey_seen(session, rule, approach, &mut |_| {})
}

/// As [`survey`]; `look` sees what comparing gave, before the plan is sealed.
pub(super) fn survey_seen(
    session: &Session<'_>,
    rule: &Rule,
    approach: &Approach,
    look: &mut dyn FnMut(&Draft),
) -> Result<Plan, RuleOutcome> {
    let store = approach.store.as_ref();
    let unfinished = match store {
        Some(store) => store.unfinished_runs().map_err(|error| RuleOutcome::stopped(&error))?,
        None => Vec::new(),
    };
    let mut draft = marched(session, rule, approach, &unfinished)?;
    if session.cancel.is_raised() {
        return Err(interrupted(session));
    }
    check_nested(&approach.roots, draft.nested.as_ref()).map_err(RuleOutcome::refused)?;
    check_read(&draft).map_err(RuleOutcome::refused)?;
    draft.moves = moved(session, rule, approach, &draft)?;
    if session.cancel.is_raised() {
        return Err(interrupted(session));
    }
    draft.problems.extend(approach.lost.iter().cloned());
    look(&draft);
    let place = match store {
        Some(store) => {
            roomy(session, rule, store, &approach.place).map_err(|error| RuleOutcome::stopped(&error))?
        }
        None => approach.place.clone(),
    };
    let terms = plan::Terms {
        rule,
        place: &place,
        user: if session.environment.is_root() { User::Root } else { User::Other },
        limits: LimitOverride::apply(session.limits, rule.limits),
        base: None,
    };
    Ok(plan::seal(draft, &terms))
}

/// The place as it will be once what is due, or may be released, has been.
pub(super) fn roomy(
    session: &Session<'_>,
    rule: &Rule,
    store: &Store,
    place: &Place,
) -> Result<Place, StoreError> {
    let mut place = place.clone();
    let now = session.clock.now();
    let freed = match &rule.versions {
        Versions::None => 0,
        Versions::Keep(Retention { when_full: WhenFull::Release, .. }) => store.releasable(now)?.0,
        Versions::Keep(retention) => store.prunable(retention, now)?.bytes.0,
    };
    place.free_bytes = place.free_bytes.saturating_add(freed);
    Ok(place)
}

/// What speaks against a plan: an empty source, a first run that would do more than add, a limit.
pub(super) fn objection(rule: &Rule, approach: &Approach, plan: &Plan) -> Option<RuleOutcome> {
    let source = &approach.roots.source;
    if rule.require.source_nonempty && plan.is_source_empty() {
        let (path, excluded) = (source.shown(), plan.counts.source_excluded);
        return Some(missing(rule, Refusal::SourceEmpty { path, excluded }));
    }
    let adoption = match approach.standing {
        Standing::First => Refusal::of_adoption(plan, approach.roots.target.shown()),
        Standing::Own(_) | Standing::Accepted => None,
    };
    adoption.or_else(|| Refusal::of_limits(plan)).map(RuleOutcome::refused)
}

/// That the run was asked to stop.
pub(super) fn interrupted(session: &Session<'_>) -> RuleOutcome {
    /// SIGINT, where nobody says which it was.
    const INTERRUPT: i32 = 2;
    RuleOutcome::Interrupted(session.signals.and_then(crate::platform::Signals::first).unwrap_or(INTERRUPT))
}

/// A root that could not be listed at all leaves nothing to compare.
pub(super) fn check_read(draft: &Draft) -> Result<(), Refusal> {
    let root =
        draft.problems.iter().find(|problem| problem.path.is_root() && problem.extent == Extent::Subtree);
    root.map_or(Ok(()), |problem| {
        let side = match problem.side {
            Side::Source => "source",
            Side::Destination => "destination",
        };
        Err(Refusal::Unusable { side, cause: problem.message.clone() })
    })
}

fn marched(
    session: &Session<'_>,
    rule: &Rule,
    approach: &Approach,
    unfinished: &[RunId],
) -> Result<Draft, RuleOutcome> {
    let roots = &approach.roots;
    let case = pattern_case(rule, roots.source.place.case);
    let filter = Filter::compile(&rule.filter_spec(case), session.clock.now()).map_err(|errors| {
        RuleOutcome::Stopped { reasons: errors.into_iter().map(|error| error.message).collect() }
    })?;
    let engine = match rule.compare {
        Comparison::Hash | Comparison::MtimeThenHash => Some(start_engine(session, rule)?.0),
        Comparison::Mtime | Comparison::Size => None,
    };
    let view = match (&engine, &approach.store) {
        (Some(_), Some(store)) => store.view().map_err(|error| RuleOutcome::stopped(&error))?,
        _ => ViewSource::Absent,
    };
    let known = match &view {
        ViewSource::Open(view) => Some(view as &dyn Digests),
        ViewSource::Absent | ViewSource::Unreadable(_) => None,
    };
    let environment = session.environment;
    let threads = march_threads(session);
    let (destination, destination_parent) = match &roots.target {
        Target::There(root) => (Some(&root.directory), None),
        Target::ToMake { parent, .. } => (None, Some((parent.meta.device, parent.meta.inode))),
    };
    Ok(march(&compare::Terms {
        source: &roots.source.directory,
        destination,
        destination_parent,
        filter: &filter,
        rule,
        source_place: &roots.source.place,
        place: &approach.place,
        as_root: environment.is_root(),
        scope: compare::Scope::default(),
        unfinished_runs: unfinished,
        known,
        excluded: if session.accepts(Accept::RemovalOfExcluded) {
            ExcludedThere::Cleared
        } else {
            ExcludedThere::Kept
        },
        engine: engine.as_ref(),
        cancel: session.cancel,
        meter: &approach.meter,
        threads,
        handle_budget: environment.handle_budget(),
    }))
}

/// Looks for files that got another name. A first run takes no name away from what it finds in its destination.
fn moved(
    session: &Session<'_>,
    rule: &Rule,
    approach: &Approach,
    draft: &Draft,
) -> Result<Vec<Move>, RuleOutcome> {
    let (Target::There(destination), Standing::Own(_) | Standing::Accepted) =
        (&approach.roots.target, &approach.standing)
    else {
        return Ok(Vec::new());
    };
    let source = &approach.roots.source;
    let terms = MoveTerms {
        source: &source.directory,
        destination: &destination.directory,
        rule,
        source_place: &source.place,
        place: &approach.place,
        cancel: session.cancel,
        threads: match session.workers() {
            Workers::One => 1,
            Workers::Many(count) => count,
        },
        now: session.clock.now(),
    };
    let candidates = MoveCandidates::of(draft, &terms);
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    let (engine, _) = start_engine(session, rule)?;
    let view = match &approach.store {
        Some(store) => store.view().map_err(|error| RuleOutcome::stopped(&error))?,
        None => ViewSource::Absent,
    };
    let known = match &view {
        ViewSource::Open(view) => Some(view as &dyn Digests),
        ViewSource::Absent | ViewSource::Unreadable(_) => None,
    };
    Ok(candidates.settle(&terms, &engine, known))
}

/// Threads wait for the device most of the time; fewer leave a rotating or remote one idle.
const MARCH_THREADS_MIN: usize = 4;

/// With how many threads two trees are compared.
pub(super) fn march_threads(session: &Session<'_>) -> usize {
    match session.workers() {
        Workers::One => 1,
        Workers::Many(count) => count.max(MARCH_THREADS_MIN),
    }
}

/// The engine of a rule for reading alone, and how many small workers go with it.
pub(super) fn start_engine(session: &Session<'_>, rule: &Rule) -> Result<(Engine, usize), RuleOutcome> {
    let (settings, workers) = engine_of(session, rule);
    let engine = Engine::start(&settings, session.cancel).map_err(|error| RuleOutcome::stopped(&error))?;
    Ok((engine, workers))
}

/// The engine of a rule for writing, below its ceiling by the clocks of a zone, and how many small workers go with it.
pub(super) fn start_writing_engine(
    session: &Session<'_>,
    rule: &Rule,
    zone: Zone,
) -> Result<(Engine, usize), RuleOutcome> {
    let (settings, workers) = engine_of(session, rule);
    let ceiling = Ceiling { bandwidth: rule.bandwidth.clone(), zone, clock: session.clock };
    let engine = Engine::start_below(ceiling, &settings, session.cancel)
        .map_err(|error| RuleOutcome::stopped(&error))?;
    Ok((engine, workers))
}

fn engine_of(session: &Session<'_>, rule: &Rule) -> (Settings, usize) {
    let mut settings = engine_settings(&rule.engine, session.environment.processors());
    let workers = match session.workers() {
        Workers::One => {
            (settings.queues, settings.depth, settings.hash_workers) = (1, 1, 1);
            1
        }
        Workers::Many(count) => count,
    };
    (settings, workers)
}
