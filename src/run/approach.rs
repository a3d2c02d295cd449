//! The way to a rule's two trees, up to the point where they may be compared. Writes nothing.

use std::sync::Arc;

use crate::compare::{Problem, ScanMeter};
use crate::job::{Job, OnMissing, Rule};
use crate::record::KnownRule;
use crate::store::{Known, Store};
use crate::value::Place;

use super::guards::check_apart;
use super::identity::{SourceBefore, check_source, is_mounted};
use super::reach::find_store;
use super::roots::{Roots, open_roots};
use super::welcome::{Standing, making, standing};
use super::{Refusal, RuleOutcome, Session, Skip};

/// A rule whose roots are open and welcome.
#[derive(Debug)]
pub(super) struct Approach {
    pub(super) roots: Roots,
    /// The destination's `.twinlane`, where it has one.
    pub(super) store: Option<Store>,
    pub(super) standing: Standing,
    /// Mount points of the source that are lost.
    pub(super) lost: Vec<Problem>,
    /// The destination's place, with what its first run found out.
    pub(super) place: Place,
    /// What the destination's id said.
    pub(super) known: Known,
    /// How far the comparing has come.
    pub(super) meter: Arc<ScanMeter>,
}

/// Opens both roots and asks all that can be asked before they are compared.
pub(super) fn approach(
    session: &Session<'_>,
    job: &Job,
    rule: &Rule,
    before: &KnownRule,
) -> Result<Approach, RuleOutcome> {
    let roots = open_roots(rule, making(session, before)).map_err(|refusal| missing(rule, refusal))?;
    check_apart(&roots).map_err(RuleOutcome::refused)?;
    check_mounts(rule, &roots).map_err(RuleOutcome::refused)?;
    let store = match roots.target.root() {
        Some(root) => find_store(root)?,
        None => None,
    };
    let known = match &store {
        Some(store) => store.known().map_err(|error| RuleOutcome::stopped(&error))?,
        None => Known::None,
    };
    let standing =
        standing(session, job, rule, &roots.target, known.clone(), before).map_err(RuleOutcome::refused)?;
    let identity = match &standing {
        Standing::Own(identity) => Some(identity.as_ref()),
        Standing::First | Standing::Accepted => None,
    };
    let lost = check_source(session, &roots.source, &SourceBefore::of(before, identity))
        .map_err(RuleOutcome::refused)?;
    let mut place = roots.target.place().clone();
    if let Some(identity) = identity {
        identity.mend(&mut place);
    }
    let meter = Arc::new(ScanMeter::default());
    Ok(Approach { roots, store, standing, lost, place, known, meter })
}

/// A refusal for something that is not there is a skip where the rule says so.
pub(super) fn missing(rule: &Rule, refusal: Refusal) -> RuleOutcome {
    let absent = matches!(
        refusal,
        Refusal::Missing { .. } | Refusal::VolumeAbsent { .. } | Refusal::SourceEmpty { .. }
    );
    match rule.on_missing {
        OnMissing::Skip if absent => RuleOutcome::Skipped(Skip::Missing { missing: Box::new(refusal) }),
        OnMissing::Skip | OnMissing::Fail => RuleOutcome::refused(refusal),
    }
}

fn check_mounts(rule: &Rule, roots: &Roots) -> Result<(), Refusal> {
    let source = &roots.source;
    if rule.require.source_mounted && !is_mounted(source) {
        return Err(Refusal::RequireMounted { side: "source", path: source.shown() });
    }
    let place = roots.target.place();
    let path = || roots.target.shown();
    if rule.require.destination_mounted && *place.mount_point == *b"/" {
        return Err(Refusal::RequireMounted { side: "destination", path: path() });
    }
    if place.read_only {
        return Err(Refusal::ReadOnly { path: path() });
    }
    Ok(())
}
