//! The verb `prune`: what a rule's retention releases, released now.

use std::path::PathBuf;

use crate::job::{Job, Rule, Versions};
use crate::store::{Pruned, Weighed};
use crate::value::RunId;

use super::reach::{hold, past, reach, share};
use super::{Event, RuleOutcome, Session, Sink};

/// Whether it is done or only said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pruning {
    /// It is done.
    Real,
    /// It is said; nothing is written.
    Rehearsed,
}

/// What was released of one rule's versions, and what stays.
#[derive(Clone, Debug)]
pub struct PruneReport {
    /// The rule.
    pub rule: String,
    /// The destination.
    pub destination: Option<PathBuf>,
    /// Released, or due; `None` where the rule keeps no versions, or it did not come to it.
    pub pruned: Option<Pruned>,
    /// What stays.
    pub left: Weighed,
    /// How it ended.
    pub outcome: RuleOutcome,
}

/// Prunes the versions of one rule. Only the destination is needed.
pub fn prune_rule(
    session: &Session<'_>,
    job: &Job,
    rule: &Rule,
    pruning: Pruning,
    sink: &mut dyn Sink,
) -> PruneReport {
    let mut report = PruneReport {
        rule: rule.name.clone(),
        destination: None,
        pruned: None,
        left: Weighed::default(),
        outcome: RuleOutcome::Done,
    };
    if let Err(outcome) = prune(session, job, rule, pruning, sink, &mut report) {
        report.outcome = outcome;
    }
    if report.outcome == RuleOutcome::Done && report.pruned.is_some_and(|pruned| pruned.failed > 0) {
        report.outcome = RuleOutcome::Partial;
    }
    report
}

fn prune(
    session: &Session<'_>,
    job: &Job,
    rule: &Rule,
    pruning: Pruning,
    sink: &mut dyn Sink,
    report: &mut PruneReport,
) -> Result<(), RuleOutcome> {
    let stopped = |error| RuleOutcome::stopped(&error);
    let reached = reach(job, rule)?;
    let store = &reached.store;
    report.destination = Some(reached.root.shown());
    let now = session.clock.now();
    let newest = store.newest_run().map_err(stopped)?;
    let run = past(RunId::at(now, None), newest);
    let _lock = match pruning {
        Pruning::Real => Some(hold(session, run, store, &reached.place, sink)?),
        Pruning::Rehearsed => share(store)?,
    };
    let retention = match &rule.versions {
        Versions::None => None,
        Versions::Keep(retention) => Some(retention),
    };
    if let Some(retention) = retention {
        report.pruned = Some(match pruning {
            Pruning::Rehearsed => store.prunable(retention, now).map_err(stopped)?,
            Pruning::Real => {
                let recovered = store.recover(&reached.root.directory).map_err(stopped)?;
                for text in &recovered.messages {
                    sink.event(&Event::Note { text });
                }
                store.prune(retention, now, run).map_err(stopped)?
            }
        });
    }
    report.left = store.weigh_versions(None, now).map_err(stopped)?;
    Ok(())
}
