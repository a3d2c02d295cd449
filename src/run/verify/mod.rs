//! The verb `verify`: is what the runs have written still there, and right?
//!
//! `survey` goes through the live tree in step with the catalog and tells what is missing or changed; `pick` chooses what is read; `read` reads
//! it past the page cache and judges it; `remember` writes down what was read back when. Nothing else is written. The lock is shared, and let
//! go of for a moment once a minute, to write. `list` checks any tree against a list of digests instead.

mod list;
mod model;
mod pick;
mod read;
mod reading;
mod remember;
pub(super) mod survey;
pub(super) mod walk;

pub use list::{ListOf, verify_list};
pub use model::{
    Against, Amount, Finding, Remembered, SourceSide, Verified, VerifyCounts, VerifyEvent, VerifyGauge,
    VerifyReport,
};

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::job::{EngineOptions, Job, Rule};
use crate::platform::Clock;
use crate::store::{HeldLock, Store, View, ViewSource};
use crate::value::{Percent, RunId};

use super::approach::missing;
use super::reach::{Reached, past, reach, reach_directory, share};
use super::roots::{Root, source_root};
use super::survey::interrupted;
use super::{Accept, Exit, Refusal, RuleOutcome, Session, Skip, process_exit};

use pick::{Choosing, Picked, pick};
use read::{Outcome, Reader, Records};
use reading::{Engines, start};
use remember::{Pending, remember};
use survey::{Files, Told, survey};

/// How long is read before what was read is written down: as much is lost by a kill.
const REMEMBER_EVERY: Duration = Duration::from_secs(60);

/// Verifies the destinations of a job, or that of one rule; what there is of time is shared among them.
pub fn verify_job(
    session: &Session<'_>,
    job: &Job,
    only: Option<&str>,
    amount: Amount,
    against: Against,
    each: &mut dyn FnMut(&VerifyEvent<'_>),
) -> Exit {
    let start = session.clock.elapsed();
    let rules: Vec<&Rule> =
        job.rules.iter().filter(|rule| only.is_none_or(|only| rule.name == only)).collect();
    let mut exits = Vec::new();
    for (index, rule) in rules.iter().enumerate() {
        each(&VerifyEvent::Started { name: &rule.name });
        let began = session.clock.elapsed();
        let deadline = amount.time_max.map(|all| {
            let left = all.saturating_sub(began.saturating_sub(start));
            began + left / u32::try_from(rules.len() - index).unwrap_or(u32::MAX)
        });
        let mut report = VerifyReport::of(&job.name, &rule.name, Path::new(""));
        let ended = verify_rule(session, job, rule, only, against).and_then(|(reached, source)| {
            report.destination = reached.root.shown();
            let (options, sample) = (&rule.engine, amount.sample);
            let task =
                Task { session, reached: &reached, source: source.as_ref(), options, sample, deadline };
            task.carry_out(&mut report, each)
        });
        exits.push(concluded(session, report, ended, began, each));
        if session.cancel.is_raised() {
            break;
        }
    }
    process_exit(exits)
}

/// Verifies a destination by its path, on any machine.
pub fn verify_directory(
    session: &Session<'_>,
    path: &Path,
    amount: Amount,
    each: &mut dyn FnMut(&VerifyEvent<'_>),
) -> Exit {
    let name = path.display().to_string();
    each(&VerifyEvent::Started { name: &name });
    let began = session.clock.elapsed();
    let mut report = VerifyReport::of("", "", path);
    let ended = reach_directory(path).and_then(|reached| {
        report.job.clone_from(&reached.identity.job);
        report.rule.clone_from(&reached.identity.rule);
        let options = EngineOptions::default();
        let (sample, deadline) = (amount.sample, amount.time_max.map(|time| began + time));
        let task = Task { session, reached: &reached, source: None, options: &options, sample, deadline };
        task.carry_out(&mut report, each)
    });
    concluded(session, report, ended, began, each)
}

/// The way to a rule's destination, and to its source where that is read.
fn verify_rule(
    session: &Session<'_>,
    job: &Job,
    rule: &Rule,
    only: Option<&str>,
    against: Against,
) -> Result<(Reached, Option<Root>), RuleOutcome> {
    if !rule.enabled && only.is_none() {
        return Err(RuleOutcome::Skipped(Skip::Disabled));
    }
    if session.cancel.is_raised() {
        return Err(interrupted(session));
    }
    let reached = reach(job, rule).map_err(|outcome| match outcome {
        RuleOutcome::Refused(refusal) => missing(rule, *refusal),
        outcome => outcome,
    })?;
    let source = match against {
        Against::Catalog => None,
        Against::Source => Some(source_root(rule).map_err(|refusal| missing(rule, refusal))?),
    };
    Ok((reached, source))
}

/// Sets how it ended, tells it, and says what that makes of the process.
fn concluded(
    session: &Session<'_>,
    mut report: VerifyReport,
    ended: Result<(), RuleOutcome>,
    began: Duration,
    each: &mut dyn FnMut(&VerifyEvent<'_>),
) -> Exit {
    report.elapsed = session.clock.elapsed().saturating_sub(began);
    report.outcome = match ended {
        Err(outcome) => outcome,
        Ok(()) if report.counts.failed() > 0 => RuleOutcome::Partial,
        Ok(()) => RuleOutcome::Done,
    };
    each(&VerifyEvent::Ended { report: &report });
    report.outcome.exit()
}

/// Shares the lock of a tree that may be nobody's destination.
fn share_where_possible(store: Option<&Store>) -> Result<Option<HeldLock>, RuleOutcome> {
    store.map_or(Ok(None), share)
}

/// One destination to be verified.
struct Task<'a> {
    session: &'a Session<'a>,
    reached: &'a Reached,
    source: Option<&'a Root>,
    options: &'a EngineOptions,
    sample: Option<Percent>,
    deadline: Option<Duration>,
}

/// The shared lock and the catalog under it.
struct Opened {
    view: Option<View>,
    _lock: Option<HeldLock>,
}

impl Task<'_> {
    fn carry_out(
        &self,
        report: &mut VerifyReport,
        each: &mut dyn FnMut(&VerifyEvent<'_>),
    ) -> Result<(), RuleOutcome> {
        let session = self.session;
        let opened = self.open()?;
        let newest = self.reached.store.newest_run().map_err(|error| RuleOutcome::stopped(&error))?;
        let at = past(RunId::at(session.clock.now(), None), newest);
        self.say_unfinished(each)?;
        let mut pending = Pending::default();
        let mut tell = |told: Told| match told {
            Told::File(file) => {
                report.counts.add(&file);
                each(&VerifyEvent::File { file: &file });
            }
            Told::Note(note) => pending.read.push(note),
            Told::Line(text) => each(&VerifyEvent::Note { text: &text }),
        };
        let files = survey(session, self.reached, opened.view.as_ref(), &mut tell)?;
        if session.cancel.is_raised() {
            return Err(interrupted(session));
        }
        let picked = self.pick(&files, opened.view.as_ref(), at)?;
        pending.round = picked.begins.then_some(at);
        let read = self.read(&files, &picked, opened, (at, &mut pending), report, each);
        report.total_bytes = files.weights.iter().map(|file| file.bytes).fold(0, u64::saturating_add);
        if self.sample.is_some() {
            report.round_complete = Some(picked.left == 0 && !report.out_of_time && read.is_ok());
        }
        read
    }

    /// What a run that never ended wrote last may not have come to the catalog.
    fn say_unfinished(&self, each: &mut dyn FnMut(&VerifyEvent<'_>)) -> Result<(), RuleOutcome> {
        let unfinished =
            self.reached.store.unfinished_runs().map_err(|error| RuleOutcome::stopped(&error))?;
        if let Some(run) = unfinished.last() {
            let text = format!(
                "run {run} has not ended: what it wrote last may be told as changed; the next run puts that in order"
            );
            each(&VerifyEvent::Note { text: &text });
        }
        Ok(())
    }

    /// Shares the lock and opens the catalog; none is all right where the user takes the destination as it is.
    fn open(&self) -> Result<Opened, RuleOutcome> {
        let lock = share(&self.reached.store)?;
        let none = |reason: String| {
            let path = self.reached.root.shown();
            RuleOutcome::refused(Refusal::NoCatalog { path, reason })
        };
        let accepted = self.session.accepts(Accept::Destination);
        let view = match self.reached.store.view().map_err(|error| RuleOutcome::stopped(&error))? {
            ViewSource::Open(view) => Some(view),
            ViewSource::Absent | ViewSource::Unreadable(_) if accepted => None,
            ViewSource::Absent => return Err(none("it has no catalog".to_owned())),
            ViewSource::Unreadable(reason) => {
                return Err(none(format!("its catalog cannot be read: {reason}")));
            }
        };
        Ok(Opened { view, _lock: lock })
    }

    fn pick(&self, files: &Files, view: Option<&View>, now: RunId) -> Result<Picked, RuleOutcome> {
        let choosing = match (self.sample, self.deadline) {
            (Some(share), _) => {
                let began = view.map(View::round_began).transpose();
                let began = began.map_err(|error| RuleOutcome::stopped(&error))?.flatten();
                Choosing::Share { share, began, now }
            }
            (None, Some(_)) => Choosing::Oldest,
            (None, None) => Choosing::All,
        };
        Ok(pick(&files.weights, choosing))
    }

    /// Reads what was picked, a minute at a time, and remembers it in between.
    fn read(
        &self,
        files: &Files,
        picked: &Picked,
        mut opened: Opened,
        (at, pending): (RunId, &mut Pending),
        report: &mut VerifyReport,
        each: &mut dyn FnMut(&VerifyEvent<'_>),
    ) -> Result<(), RuleOutcome> {
        let session = self.session;
        let sides = if self.source.is_some() { 2 } else { 1 };
        let engines = start(session, self.options, files, &picked.order, sides)?;
        let Engines { gauge, threads } = &engines;
        report.planned_bytes = gauge.bytes / sides;
        each(&VerifyEvent::Reading { gauge });
        let next = AtomicUsize::new(0);
        loop {
            let until = session.clock.elapsed() + REMEMBER_EVERY;
            let go_on = || self.may_begin(until, &next, session.clock);
            let reader = Reader {
                root: &self.reached.root.directory,
                place: &self.reached.place,
                records: Records::Catalog(&self.reached.store, opened.view.as_ref()),
                engine: &gauge.engine,
                source: self.source,
                files,
                accepted: session.accepts(Accept::Destination),
            };
            let mut take = |outcome: Outcome| {
                report.counts.take(&outcome.file, outcome.cached || self.is_cached());
                pending.read.extend(outcome.notes);
                each(&VerifyEvent::File { file: &outcome.file });
            };
            let read = reader.read_all(&picked.order, &next, *threads, &go_on, &gauge.done, &mut take);
            drop(opened);
            let remembered = remember(session, self.reached, at, pending, each);
            if remembered != Remembered::Nothing {
                report.remembered = remembered;
            }
            read.map_err(|error| RuleOutcome::stopped(&error))?;
            if session.cancel.is_raised() {
                return Err(interrupted(session));
            }
            if next.load(Ordering::Relaxed) >= picked.order.len() {
                return Ok(());
            }
            if self.is_late(session.clock) {
                report.out_of_time = true;
                return Ok(());
            }
            // A run may have begun in between: it goes first.
            opened = self.open()?;
        }
    }

    /// Whether another file may be begun: the first one always, so that each verification gets on.
    fn may_begin(&self, until: Duration, next: &AtomicUsize, clock: Clock) -> bool {
        let first = next.load(Ordering::Relaxed) == 0;
        !self.session.cancel.is_raised() && (first || clock.elapsed() < until && !self.is_late(clock))
    }

    fn is_late(&self, clock: Clock) -> bool {
        self.deadline.is_some_and(|deadline| clock.elapsed() >= deadline)
    }

    /// Whether the place has no device below a cache of its own: memory, or somebody else's server or process.
    fn is_cached(&self) -> bool {
        let place = &self.reached.place;
        place.shared || matches!(place.file_system.as_str(), "tmpfs" | "ramfs")
    }
}
