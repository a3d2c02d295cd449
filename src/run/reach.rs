//! The way to a destination alone, for the verbs that need no source: `verify`, `versions`, `restore`, `prune`. No state is asked, so that
//! a disk can be read on any machine. Writes nothing.

use std::io;
use std::path::Path;

use crate::job::{Job, Rule};
use crate::store::{HeldLock, Holder, Identity, Known, Locking, Store};
use crate::value::{Place, RunId};

use super::roots::{Root, destination_root, root_at};
use super::{Event, Refusal, RuleOutcome, Session, Sink};

/// A destination that a run has made its own.
#[derive(Debug)]
pub(super) struct Reached {
    pub(super) root: Root,
    pub(super) store: Store,
    pub(super) identity: Identity,
    /// The root's place, with what the first run found out.
    pub(super) place: Place,
}

/// The destination of a rule.
///
/// Refused where it is not there, was never run into, or says that it is another rule's.
pub(super) fn reach(job: &Job, rule: &Rule) -> Result<Reached, RuleOutcome> {
    let reached = reached(destination_root(rule).map_err(RuleOutcome::refused)?)?;
    let identity = &reached.identity;
    if identity.job == job.name && identity.rule == rule.name {
        return Ok(reached);
    }
    Err(RuleOutcome::refused(Refusal::Unknown {
        path: reached.root.shown(),
        job: identity.job.clone(),
        rule: identity.rule.clone(),
    }))
}

/// Any destination, by its path.
pub(super) fn reach_directory(path: &Path) -> Result<Reached, RuleOutcome> {
    reached(root_at("destination", path).map_err(RuleOutcome::refused)?)
}

fn reached(root: Root) -> Result<Reached, RuleOutcome> {
    let none = || RuleOutcome::refused(Refusal::NoStore { path: root.shown() });
    let store = find_store(&root)?.ok_or_else(none)?;
    let identity = match store.known().map_err(|error| RuleOutcome::stopped(&error))? {
        Known::Identity(identity) => identity,
        Known::None => return Err(none()),
        Known::Damaged { reason } => {
            return Err(RuleOutcome::refused(Refusal::DamagedIdentity { path: root.shown(), reason }));
        }
    };
    let mut place = root.place.clone();
    identity.mend(&mut place);
    Ok(Reached { root, store, identity, place })
}

/// What runs keep at a root; `None` where none has run there.
///
/// Refused where it is another user's: it is for its owner alone, and so that is no accident of reading.
pub(super) fn find_store(root: &Root) -> Result<Option<Store>, RuleOutcome> {
    Store::find(&root.directory).map_err(|error| match error.system().map(io::Error::kind) {
        Some(io::ErrorKind::PermissionDenied) => {
            RuleOutcome::refused(Refusal::ClosedStore { path: root.shown() })
        }
        _ => RuleOutcome::stopped(&error),
    })
}

/// Shares the destination's lock with other readers; `None` where the place has none.
pub(super) fn share(store: &Store) -> Result<Option<HeldLock>, RuleOutcome> {
    match store.lock_shared().map_err(|error| RuleOutcome::stopped(&error))? {
        Locking::Held(lock) => Ok(Some(lock)),
        Locking::Busy(holder) => Err(RuleOutcome::Busy(holder)),
        Locking::Without => Ok(None),
    }
}

/// Takes the destination's lock for writing, as `run`.
pub(super) fn hold(
    session: &Session<'_>,
    run: RunId,
    store: &Store,
    place: &Place,
    sink: &mut dyn Sink,
) -> Result<HeldLock, RuleOutcome> {
    let environment = session.environment;
    let holder = Holder {
        host: environment.hostname(),
        boot_id: environment.boot_id(),
        process_id: environment.process_id(),
        run: run.to_string(),
        since: session.clock.now(),
    };
    let locking = store
        .lock_exclusive(&holder, place.shared, session.clock)
        .map_err(|error| RuleOutcome::stopped(&error))?;
    match locking {
        Locking::Held(lock) => {
            if let Some(text) = lock.message() {
                sink.event(&Event::Note { text });
            }
            Ok(lock)
        }
        Locking::Busy(holder) => Err(RuleOutcome::Busy(holder)),
        Locking::Without => {
            Err(RuleOutcome::Stopped { reasons: vec!["the destination cannot be locked".to_owned()] })
        }
    }
}

/// A run's id, past the newest that the destination has seen.
pub(super) fn past(run: RunId, newest: Option<RunId>) -> RunId {
    RunId::at(run.time(), newest).max(run)
}
