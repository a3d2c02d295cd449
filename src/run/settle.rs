//! The two ways into a destination: one that is the rule's own is kept up, a new one is settled in.
//!
//! A new one is compared before anything is written, so that a refusal leaves it untouched; then it gets its `.twinlane`, lock and id.

use crate::compare::Problem;
use crate::plan::Plan;
use crate::platform::random_u128;
use crate::store::{HeldLock, Identity, Store};
use crate::value::{Place, RelPath};

use super::approach::Approach;
use super::identity::mounts_now;
use super::reach::{hold, past};
use super::roots::{Root, Roots, Target, made};
use super::survey::{objection, survey};
use super::sync::Lane;
use super::welcome::Standing;
use super::work::{Work, work};
use super::{Event, RuleOutcome, RuleReport};

/// A run into a destination that is the rule's own: lock, recover, compare, check, carry out.
/// `None`: what it says it is has changed meanwhile.
pub(super) fn keep_up(
    lane: &mut Lane<'_, '_>,
    approach: &Approach,
) -> Result<Option<RuleReport>, RuleOutcome> {
    let (Some(destination), Some(store), Standing::Own(identity)) =
        (approach.roots.target.root(), &approach.store, &approach.standing)
    else {
        return Err(RuleOutcome::Stopped {
            reasons: vec!["a known destination has no `.twinlane`".to_owned()],
        });
    };
    let _lock = take_lock(lane, store, &approach.place)?;
    if store.known().map_err(|error| RuleOutcome::stopped(&error))? != approach.known {
        return Ok(None);
    }
    // A run that ended between the look and the lock may have had the same id.
    let newest = store.newest_run().map_err(|error| RuleOutcome::stopped(&error))?;
    lane.run = past(lane.run, newest);
    recover(lane, store, destination)?;
    let plan = planned(lane, approach)?;
    object(lane, approach, &plan)?;
    let grounds = Grounds { approach, destination, store, place: &approach.place };
    carry_out(lane, &grounds, plan, identity).map(Some)
}

/// A first run, or one that the user accepts as such. `None`: another run made the destination its own meanwhile.
pub(super) fn settle_in(
    lane: &mut Lane<'_, '_>,
    approach: Approach,
) -> Result<Option<RuleReport>, RuleOutcome> {
    let mut plan = planned(lane, &approach)?;
    object(lane, &approach, &plan)?;
    let Approach { roots: Roots { source, target }, store: _, standing, lost, place: assumed, known, meter } =
        approach;
    let destination = made(target).map_err(|error| RuleOutcome::stopped(&error))?;
    let store = Store::create(&destination.directory).map_err(|error| RuleOutcome::stopped(&error))?;
    let _lock = take_lock(lane, &store, &destination.place)?;
    if store.known().map_err(|error| RuleOutcome::stopped(&error))? != known {
        return Ok(None);
    }
    recover(lane, &store, &destination)?;
    let mut identity = new_identity(lane, &source, &plan)?;
    probe(lane, &store, &destination.place, &mut identity)?;
    let mut place = destination.place.clone();
    identity.mend(&mut place);
    let mended = differs(&assumed, &place);
    let roots = Roots { source, target: Target::There(destination) };
    let approach = Approach { roots, store: Some(store), standing, lost, place, known, meter };
    let (Some(destination), Some(store)) = (approach.roots.target.root(), &approach.store) else {
        return Ok(None);
    };
    // A plan that was given stays as it is: what the place cannot hold of it fails entry by entry, and is said.
    if mended && lane.given.is_none() {
        plan = survey(lane.session, lane.rule, &approach)?;
        object(lane, &approach, &plan)?;
    }
    store.write_identity(&identity, lane.run).map_err(|error| RuleOutcome::stopped(&error))?;
    let grounds = Grounds { approach: &approach, destination, store, place: &approach.place };
    carry_out(lane, &grounds, plan, &identity).map(Some)
}

/// The plan that was given, or one that is made now.
fn planned(lane: &Lane<'_, '_>, approach: &Approach) -> Result<Plan, RuleOutcome> {
    match lane.given {
        Some(given) => given.plan(lane.session, lane.rule, approach),
        None => survey(lane.session, lane.rule, approach),
    }
}

/// Where a plan is carried out; the lock is held.
struct Grounds<'a> {
    approach: &'a Approach,
    destination: &'a Root,
    store: &'a Store,
    place: &'a Place,
}

fn carry_out(
    lane: &mut Lane<'_, '_>,
    grounds: &Grounds<'_>,
    plan: Plan,
    identity: &Identity,
) -> Result<RuleReport, RuleOutcome> {
    let Grounds { approach, destination, store, place } = *grounds;
    let (file, rule) = (&lane.job.file, lane.rule);
    lane.state
        .remember_destination(file, &rule.name, &identity.id)
        .map_err(|error| RuleOutcome::stopped(&error))?;
    lane.sink.event(&Event::Planned { rule, plan: &plan });
    let source = &approach.roots.source;
    // A plan that was given knows only the stage files of its time: markers stay until a run has seen all.
    let unfinished = match lane.given {
        Some(_) => Vec::new(),
        None => store.unfinished_runs().map_err(|error| RuleOutcome::stopped(&error))?,
    };
    let terms = Work {
        session: lane.session,
        rule,
        zone: lane.job.timezone,
        run: lane.run,
        source,
        destination,
        place,
        store,
        plan: &plan,
        unfinished: &unfinished,
        first: !matches!(approach.standing, Standing::Own(_)),
    };
    let (report, done) = work(&terms, lane.sink)?;
    let mounts = kept_mounts(source, &plan, &approach.lost);
    let total = plan.counts.destination_entries;
    lane.carried = Some((plan, done));
    let uuid = source.place.uuid.as_deref();
    lane.state
        .remember_source(file, &rule.name, uuid, &mounts)
        .map_err(|error| RuleOutcome::stopped(&error))?;
    lane.state.remember_total(file, &rule.name, total).map_err(|error| RuleOutcome::stopped(&error))?;
    if identity.source_uuid.as_deref() != uuid || identity.source_mounts != mounts {
        let identity =
            Identity { source_uuid: uuid.map(str::to_owned), source_mounts: mounts, ..identity.clone() };
        store.write_identity(&identity, lane.run).map_err(|error| RuleOutcome::stopped(&error))?;
    }
    Ok(report)
}

fn object(lane: &Lane<'_, '_>, approach: &Approach, plan: &Plan) -> Result<(), RuleOutcome> {
    objection(lane.rule, approach, plan).map_or(Ok(()), Err)
}

fn take_lock(lane: &mut Lane<'_, '_>, store: &Store, place: &Place) -> Result<HeldLock, RuleOutcome> {
    let newest = store.newest_run().map_err(|error| RuleOutcome::stopped(&error))?;
    lane.run = past(lane.run, newest);
    hold(lane.session, lane.run, store, place, lane.sink)
}

fn recover(lane: &mut Lane<'_, '_>, store: &Store, destination: &Root) -> Result<(), RuleOutcome> {
    let recovered = store.recover(&destination.directory).map_err(|error| RuleOutcome::stopped(&error))?;
    for text in &recovered.messages {
        lane.sink.event(&Event::Note { text });
    }
    Ok(())
}

fn probe(
    lane: &Lane<'_, '_>,
    store: &Store,
    place: &Place,
    identity: &mut Identity,
) -> Result<(), RuleOutcome> {
    let probe = store.probe(place, lane.run).map_err(|error| RuleOutcome::stopped(&error))?;
    identity.grain_ns = Some(probe.grain_ns);
    identity.time_range = Some(probe.time_range);
    identity.features = Some(probe.features);
    Ok(())
}

/// Whether a plan made for one place may not be the other's. The ends of the range of times move at almost every probe and concern times
/// of other centuries alone: what that changes, the next run mends.
pub(super) fn differs(assumed: &Place, found: &Place) -> bool {
    assumed.grain_ns != found.grain_ns
        || assumed.case != found.case
        || assumed.owners != found.owners
        || assumed.xattrs != found.xattrs
        || assumed.hard_links != found.hard_links
        || assumed.symlinks != found.symlinks
}

fn new_identity(lane: &Lane<'_, '_>, source: &Root, plan: &Plan) -> Result<Identity, RuleOutcome> {
    let random = random_u128().map_err(|error| RuleOutcome::stopped(&error))?;
    Ok(Identity {
        id: format!("{random:032x}"),
        job: lane.job.name.clone(),
        rule: lane.rule.name.clone(),
        mode: lane.rule.mode,
        source_uuid: source.place.uuid.clone(),
        source_mounts: mounts_now(source, &plan.source_mounts),
        grain_ns: None,
        time_range: None,
        features: None,
    })
}

/// What is remembered of the source's mounts: those of now, and those that are missed until the user accepts it.
fn kept_mounts(source: &Root, plan: &Plan, lost: &[Problem]) -> Vec<RelPath> {
    let mut mounts = mounts_now(source, &plan.source_mounts);
    mounts.extend(lost.iter().map(|problem| problem.path.clone()));
    mounts.sort();
    mounts.dedup();
    mounts
}
