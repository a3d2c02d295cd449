//! A copy from its plans to its end.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::compare::ScanMeter;
use crate::execute::{self, Ended, Fact, Meters, Outcome};
use crate::plan::{Plan, Totals};
use crate::platform::path_bytes;
use crate::queue::Engine;
use crate::record::{Copies, CopyMark, CopyPlace, RecordError};
use crate::run::roots::{Root, Target, made};
use crate::run::settle::differs;
use crate::run::survey::{interrupted, start_engine};
use crate::run::work::report_of;
use crate::run::{Event, Gauge, Refusal, RuleOutcome, RuleReport, Session, Sink, causes};
use crate::value::{RunId, escape};

use super::probing::{is_unknown, probed};
use super::ready::{Group, Ready};
use super::sums::Sums;
use super::survey::{Surveyed, survey};
use super::{CopyEnded, leftovers};

/// Copies, and leaves nothing but the copies. Everything is compared before anything is written.
pub fn copy(session: &Session<'_>, ready: Ready, sink: &mut dyn Sink) -> CopyEnded {
    let began = session.clock.elapsed();
    let run = RunId::at(session.clock.now(), None);
    // Where a rule has its name, a copy has its destination: entries are told below it.
    let name = escape(path_bytes(&ready.target.shown()));
    let mut ended = carry(session, ready, (run, &name), sink).unwrap_or_else(|outcome| CopyEnded {
        run,
        report: RuleReport::ended(&name, outcome, Duration::ZERO),
        sums: None,
    });
    ended.report.elapsed = session.clock.elapsed().saturating_sub(began);
    ended
}

fn carry(
    session: &Session<'_>,
    ready: Ready,
    (run, name): (RunId, &str),
    sink: &mut dyn Sink,
) -> Result<CopyEnded, RuleOutcome> {
    let mut surveyed = Vec::with_capacity(ready.groups.len());
    for group in &ready.groups {
        surveyed.push(surveyed_group(session, &ready, group, sink)?);
    }
    let Ready { mapping, notes, groups, target, sums } = ready;
    let destination = made(target).map_err(|error| RuleOutcome::stopped(&error))?;
    for (group, surveyed) in groups.iter().zip(&mut surveyed) {
        if group.names.is_some() {
            observe(&mut surveyed.plan, &destination);
        }
    }
    let is_idle = surveyed.iter().all(|surveyed| surveyed.plan.actions.is_empty());
    // What is equal as finely as a place can hold it is equal; of a difference the place may be the only reason.
    let tries = !is_idle || is_unknown(&destination.place);
    let mark = marked(session, &groups, &destination, tries, sink);
    let run = mark.as_ref().map_or(run, CopyMark::run);
    let mut ready = Ready { mapping, notes, groups, target: Target::There(destination), sums };
    let carried = try_out(session, &mut ready, surveyed, run, tries, sink)
        .and_then(|surveyed| carried(session, &ready, surveyed, (run, name), sink));
    if let Some(mark) = mark {
        let is_clean = match (&carried, ready.target.root()) {
            (Ok(carried), _) => carried.stages_left == 0,
            (Err(_), Some(root)) => leftovers::clear(root, &mark).is_ok(),
            (Err(_), None) => false,
        };
        if is_clean && let Err(error) = mark.clear() {
            sink.event(&Event::Note { text: &causes(&error).join(": ") });
        }
    }
    Ok(carried?.copy)
}

/// Finds out what the place holds, and compares anew where that is not what was assumed.
fn try_out(
    session: &Session<'_>,
    ready: &mut Ready,
    surveyed: Vec<Surveyed>,
    run: RunId,
    tries: bool,
    sink: &mut dyn Sink,
) -> Result<Vec<Surveyed>, RuleOutcome> {
    let Target::There(destination) = &mut ready.target else { return Ok(surveyed) };
    if !tries {
        return Ok(surveyed);
    }
    let place = probed(destination, run).map_err(|error| unwritable(destination, &error))?;
    let assumed = std::mem::replace(&mut destination.place, place);
    if !differs(&assumed, &destination.place) {
        return Ok(surveyed);
    }
    let ready = &*ready;
    ready.groups.iter().map(|group| surveyed_group(session, ready, group, sink)).collect()
}

/// How it ended, and whether its mark has to stay.
struct Carried {
    copy: CopyEnded,
    stages_left: u64,
}

/// Carries the plans out, one after the other; then the list of digests is written.
fn carried(
    session: &Session<'_>,
    ready: &Ready,
    surveyed: Vec<Surveyed>,
    (run, name): (RunId, &str),
    sink: &mut dyn Sink,
) -> Result<Carried, RuleOutcome> {
    let (Some(first), Some(destination)) = (ready.groups.first(), ready.target.root()) else {
        return Err(RuleOutcome::Done);
    };
    let (engine, workers) = start_engine(session, &first.rule)?;
    let engine = Arc::new(engine);
    let mut sums = Sums::new(ready.sums.as_ref());
    let mut all = RuleReport::ended(name, RuleOutcome::Done, Duration::ZERO);
    let mut stages_left = 0;
    for (group, Surveyed { plan, equal }) in ready.groups.iter().zip(surveyed) {
        let lane = Lane { session, group, destination, run, engine: &engine, workers };
        let outcome = if plan.actions.is_empty() { idle() } else { executed(&lane, &plan, &mut sums, sink) };
        stages_left += outcome.stages_left;
        sums.add(equal, &plan, &outcome.done);
        add(&mut all, report_of(name, &plan, &outcome));
        all.outcome = match outcome.ended {
            Ended::Finished if all.left() == 0 => RuleOutcome::Done,
            Ended::Finished => RuleOutcome::Partial,
            Ended::Interrupted => interrupted(session),
            Ended::Stopped { reason } => RuleOutcome::Stopped { reasons: vec![reason] },
        };
        if !matches!(all.outcome, RuleOutcome::Done | RuleOutcome::Partial) {
            break;
        }
    }
    let mut copy = CopyEnded { run, report: all, sums: None };
    let is_through = matches!(copy.report.outcome, RuleOutcome::Done | RuleOutcome::Partial);
    if let Some(list) = ready.sums.as_ref().filter(|_| is_through) {
        match sums.write(list, run, destination, &engine) {
            Ok(written) => copy.sums = Some(written),
            Err(error) => copy.report.outcome = RuleOutcome::stopped(&error),
        }
    }
    Ok(Carried { copy, stages_left })
}

fn surveyed_group(
    session: &Session<'_>,
    ready: &Ready,
    group: &Group,
    sink: &mut dyn Sink,
) -> Result<Surveyed, RuleOutcome> {
    let meter: Arc<ScanMeter> = Arc::default();
    let (source, destination) = (&group.source.shown(), &ready.target.shown());
    sink.event(&Event::Comparing { source, destination, meter: &meter });
    let surveyed = survey(session, ready, group, &meter);
    sink.event(&Event::Executed);
    surveyed
}

fn unwritable(destination: &Root, error: &io::Error) -> RuleOutcome {
    let what = format!("cannot write into `{}`", destination.shown().display());
    if error.kind() != io::ErrorKind::PermissionDenied {
        return RuleOutcome::Stopped { reasons: vec![what, error.to_string()] };
    }
    let cause = format!("{what}: {error}");
    RuleOutcome::refused(Refusal::Unusable { side: "destination", cause })
}

/// A directory that was just made only to hold the copies was not there when the plan was made.
fn observe(plan: &mut Plan, destination: &Root) {
    let root = plan.directories.iter_mut().find(|planned| planned.path.is_root());
    if let Some(root) = root
        && root.destination.is_none()
    {
        root.destination = Some(destination.meta);
    }
}

/// Clears what killed copies have left here, and marks this one as begun. Without a state to write to, the copy goes on, and that is said.
fn marked(
    session: &Session<'_>,
    groups: &[Group],
    destination: &Root,
    writes: bool,
    sink: &mut dyn Sink,
) -> Option<CopyMark> {
    let place = CopyPlace::new(&destination.meta, &destination.place);
    let mut begun = || -> Result<Option<CopyMark>, RecordError> {
        let copies = Copies::open(session.state)?;
        for dead in copies.dead(&place)? {
            let text = match leftovers::clear(destination, &dead) {
                Ok(cleared) => {
                    dead.clear()?;
                    (cleared > 0).then(|| {
                        format!("{cleared} stage files were cleared that a copy which was killed had left")
                    })
                }
                Err(error) => {
                    Some(format!("stage files of a copy that was killed cannot be cleared: {error}"))
                }
            };
            if let Some(text) = text {
                sink.event(&Event::Note { text: &text });
            }
        }
        if !writes {
            return Ok(None);
        }
        copies.begin(session.clock.now(), &place, names(groups)).map(Some)
    };
    begun().unwrap_or_else(|error| {
        let why = causes(&error).join(": ");
        let text = format!("should this copy be killed, its stage files will not be cleared: {why}");
        sink.event(&Event::Note { text: &text });
        None
    })
}

/// What is written to in the destination; `None` for all of it.
fn names(groups: &[Group]) -> Option<Vec<Box<[u8]>>> {
    let mut all = Vec::new();
    for group in groups {
        all.extend(group.names.as_ref()?.iter().map(|named| named.destination.clone()));
    }
    Some(all)
}

/// One group on its way.
struct Lane<'a> {
    session: &'a Session<'a>,
    group: &'a Group,
    destination: &'a Root,
    run: RunId,
    engine: &'a Arc<Engine>,
    workers: usize,
}

fn idle() -> Outcome {
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

fn executed(lane: &Lane<'_>, plan: &Plan, sums: &mut Sums, sink: &mut dyn Sink) -> Outcome {
    let Lane { session, group, destination, run, engine, workers } = *lane;
    let rule = &group.rule;
    sink.event(&Event::Planned { rule, plan });
    let gauge = Gauge {
        meters: Arc::new(Meters::default()),
        engine: Arc::clone(engine),
        clock: session.clock,
        planned: plan.totals,
    };
    sink.event(&Event::Executing { gauge: &gauge });
    let roots = match group.names.as_deref() {
        None => execute::Roots::Alike,
        Some([one]) => {
            execute::Roots::Holding { name: (one.source != one.destination).then_some(&*one.source) }
        }
        Some(_) => execute::Roots::Holding { name: None },
    };
    let terms = execute::Terms {
        plan,
        rule,
        run,
        source: &group.source.directory,
        destination: &destination.directory,
        source_place: &group.source.place,
        place: &destination.place,
        store: None,
        roots,
        clock: session.clock,
        cancel: session.cancel,
        engine,
        workers,
        as_root: session.environment.is_root(),
    };
    let outcome = execute::execute(&terms, sums, &gauge.meters, &mut |fact| match fact {
        Fact::Done { action } => {
            if let Some(action) = plan.actions.get(action) {
                sink.event(&Event::Done { plan, action });
            }
        }
        Fact::Failed { failure, .. } => sink.event(&Event::Failed { failure: &failure }),
        Fact::Vanished { .. } => {}
    });
    sink.event(&Event::Executed);
    outcome
}

/// Adds one group's report to that of all.
fn add(all: &mut RuleReport, one: RuleReport) {
    add_totals(&mut all.planned, &one.planned);
    add_totals(&mut all.done, &one.done);
    all.counts.source_entries += one.counts.source_entries;
    all.counts.source_files += one.counts.source_files;
    all.counts.source_bytes += one.counts.source_bytes;
    all.counts.destination_entries += one.counts.destination_entries;
    all.counts.same += one.counts.same;
    all.counts.source_excluded += one.counts.source_excluded;
    all.counts.destination_kept += one.counts.destination_kept;
    all.counts.vanished += one.counts.vanished;
    all.bytes += one.bytes;
    all.read_back += one.read_back;
    all.vanished += one.vanished;
    all.failures.extend(one.failures);
    all.problems.extend(one.problems);
    all.conflicts.extend(one.conflicts);
    for warning in one.warnings {
        match all.warnings.iter_mut().find(|other| other.text == warning.text) {
            Some(other) => other.count += warning.count,
            None => all.warnings.push(warning),
        }
    }
    all.notices.extend(one.notices);
    all.notices.dedup();
}

fn add_totals(all: &mut Totals, one: &Totals) {
    all.actions += one.actions;
    all.mkdir += one.mkdir;
    all.copy += one.copy;
    all.replace += one.replace;
    all.link += one.link;
    all.symlink += one.symlink;
    all.special += one.special;
    all.metadata += one.metadata;
    all.remove += one.remove;
    all.bytes += one.bytes;
    all.allocated += one.allocated;
    all.removed_entries += one.removed_entries;
    all.replaced_entries += one.replaced_entries;
}
