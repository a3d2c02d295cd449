//! The verb `restore`: what a destination held at a time is written into a folder, or back into the source.
//!
//! `tree` says what was held and where it is now, `write` brings it, `in_place` puts it over what the source has. [`Restoration::prepare`] writes
//! nothing; whoever asked may look at it before [`Restoration::carry_out`].

mod in_place;
mod paths;
mod tree;
mod write;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::execute::{Failure, Warning};
use crate::job::{Job, Rule};
use crate::platform::path_from_bytes;
use crate::store::{HeldLock, ViewSource};
use crate::value::{ByteCount, RelPath, RunId, When};

use super::guards::destination_around;
use super::reach::{Reached, hold, past, reach, share};
use super::roots::{Root, parent_root, root_at, source_root};
use super::{RuleOutcome, Session, Sink};

pub(super) use paths::resolve;
pub use tree::Missing;
use tree::{Ground, Then, Want};

/// What is to be restored, and where to.
#[derive(Clone, Debug)]
pub struct RestoreOrder {
    /// As written: below the destination's root, or absolute and below the destination or the source; none means all.
    pub paths: Vec<PathBuf>,
    /// As of when.
    pub when: When,
    /// Where to.
    pub into: Goal,
    /// What becomes of content that is not what it was.
    pub damaged: Damaged,
}

/// Where restored entries go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Below this folder, absolute; it is absent or empty.
    Directory(PathBuf),
    /// To where they came from: the rule's source.
    Source,
}

/// What becomes of content that is not what the catalog says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damaged {
    /// It is left out.
    LeaveOut,
    /// It is restored under its name all the same.
    Restore,
}

/// Why a restore was not begun.
#[derive(Clone, Debug)]
pub enum RestoreStop {
    /// What was asked for cannot be: nothing was touched.
    Usage {
        /// What is wrong.
        message: String,
        /// The way out.
        help: String,
    },
    /// It ended as rules end.
    Ended(RuleOutcome),
}

impl From<RuleOutcome> for RestoreStop {
    fn from(outcome: RuleOutcome) -> Self {
        Self::Ended(outcome)
    }
}

impl RestoreStop {
    fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), help: help.into() }
    }

    fn stopped(error: &dyn std::error::Error) -> Self {
        Self::Ended(RuleOutcome::stopped(error))
    }
}

/// A restore that is ready to begin. The destination's lock is held for as long as it lives.
#[derive(Debug)]
pub struct Restoration {
    rule: Rule,
    reached: Reached,
    target: Target,
    run: RunId,
    damaged: Damaged,
    wants: Vec<Want>,
    report: RestoreReport,
    _lock: Option<HeldLock>,
}

/// The folder that is written.
#[derive(Debug)]
enum Target {
    /// It is there, and empty.
    Empty(Root),
    /// It is to be made in this one, under that name.
    ToMake(Root, Vec<u8>),
    /// The rule's source.
    Source(Root),
}

/// What a restore did, or is going to do.
#[derive(Clone, Debug)]
pub struct RestoreReport {
    /// The rule.
    pub rule: String,
    /// As of when, in words.
    pub when: String,
    /// The destination, which is read.
    pub from: PathBuf,
    /// The folder that is written.
    pub to: PathBuf,
    /// Entries that were held then, without directories.
    pub entries: u64,
    /// Directories likewise.
    pub directories: u64,
    /// Their bytes, each file counted once a name.
    pub bytes: ByteCount,
    /// Entries that were written, directories too.
    pub restored: u64,
    /// Bytes of content that were written.
    pub written: ByteCount,
    /// In place: entries that were there as they should be.
    pub unchanged: u64,
    /// In place: what the source had and is a version of this run now.
    pub replaced: Vec<RelPath>,
    /// The run that holds these versions.
    pub run: RunId,
    /// Entries whose content is not what it was when it was copied.
    pub damaged: Vec<RelPath>,
    /// Entries that were held then and are no more.
    pub missing: Vec<Missing>,
    /// Entries that could not be read or written.
    pub failures: Vec<Failure>,
    /// What could not be kept.
    pub warnings: Vec<Warning>,
    /// From which run on everything is there that the destination held; `None` where nothing was lost.
    pub complete_from: Option<RunId>,
    /// Entries from before that which are no more.
    pub lost: u64,
    /// Things to say.
    pub notes: Vec<String>,
    /// How it ended.
    pub outcome: RuleOutcome,
    /// How long it took.
    pub elapsed: Duration,
}

impl Restoration {
    /// Finds what was held, and checks the place it is to go to. Writes nothing.
    ///
    /// # Errors
    /// See [`RestoreStop`].
    pub fn prepare(
        session: &Session<'_>,
        job: &Job,
        rule: &Rule,
        order: &RestoreOrder,
        sink: &mut dyn Sink,
    ) -> Result<Self, RestoreStop> {
        let reached = reach(job, rule)?;
        let target = target(rule, &order.into)?;
        let newest = reached.store.newest_run().map_err(|error| RestoreStop::stopped(&error))?;
        let run = past(RunId::at(session.clock.now(), None), newest);
        let lock = match order.into {
            Goal::Directory(_) => share(&reached.store)?,
            Goal::Source => Some(hold(session, run, &reached.store, &reached.place, sink)?),
        };
        let mut notes = Vec::new();
        let view = match reached.store.view().map_err(|error| RestoreStop::stopped(&error))? {
            ViewSource::Open(view) => Some(view),
            ViewSource::Absent => {
                notes.push("there is no catalog: when entries came is not known".to_owned());
                None
            }
            ViewSource::Unreadable(reason) => {
                notes.push(format!("the catalog cannot be read ({reason}): when entries came is not known"));
                None
            }
        };
        let ground = Ground { root: &reached.root.directory, store: &reached.store, view: view.as_ref() };
        let paths = resolve(&order.paths, &reached.root, rule)?;
        let then = held(&ground, &paths, order.when).map_err(|error| RestoreStop::stopped(&error))?;
        if then.unreadable_rows > 0 {
            notes.push(format!(
                "{} rows of the catalog make no sense and were passed over",
                then.unreadable_rows
            ));
        }
        let report = report_of(job, rule, order, &reached, &target, run, &then, notes);
        Ok(Self {
            rule: rule.clone(),
            reached,
            target,
            run,
            damaged: order.damaged,
            wants: then.wants,
            report,
            _lock: lock,
        })
    }

    /// What is going to be done.
    #[must_use]
    pub fn report(&self) -> &RestoreReport {
        &self.report
    }

    /// The names that are going to be written, and the bytes of each.
    pub fn names(&self) -> impl Iterator<Item = (&RelPath, u64)> {
        self.wants.iter().map(|want| (&want.path, size_of(want)))
    }

    /// Writes all of it, to its end or until it must stop. On return what is reported as restored is durable.
    ///
    /// # Errors
    /// The outcome where it could not be begun, or its end could not be recorded.
    pub fn carry_out(mut self, session: &Session<'_>) -> Result<RestoreReport, RuleOutcome> {
        let began = session.clock.elapsed();
        write::write(&mut self, session)?;
        let report = &mut self.report;
        report.elapsed = session.clock.elapsed().saturating_sub(began);
        if report.outcome == RuleOutcome::Done && report.left() > 0 {
            report.outcome = RuleOutcome::Partial;
        }
        Ok(self.report)
    }
}

impl RestoreReport {
    /// Number of entries that are not as they were.
    #[must_use]
    pub fn left(&self) -> usize {
        self.damaged.len() + self.missing.len() + self.failures.len()
    }
}

fn size_of(want: &Want) -> u64 {
    want.origin.as_ref().filter(|_| !want.is_directory()).map_or(0, |origin| origin.meta.size)
}

/// What all paths held, each name once.
fn held(ground: &Ground<'_>, paths: &[RelPath], when: When) -> Result<Then, crate::store::StoreError> {
    let mut all = Then::default();
    for path in paths {
        let then = ground.held(path, when)?;
        if then.wants.is_empty() && then.missing.is_empty() && !path.is_root() {
            let cause = "there was nothing of that name then".to_owned();
            let what = crate::execute::FailureKind::Failed;
            all.unread.push(Failure { path: path.clone(), what, cause });
        }
        all.wants.extend(then.wants);
        all.missing.extend(then.missing);
        all.unread.extend(then.unread);
        all.complete_from = all.complete_from.max(then.complete_from);
        all.lost += then.lost;
        all.unreadable_rows += then.unreadable_rows;
    }
    Ok(all)
}

#[expect(clippy::too_many_arguments, reason = "each is a part of what is reported")]
fn report_of(
    job: &Job,
    rule: &Rule,
    order: &RestoreOrder,
    reached: &Reached,
    target: &Target,
    run: RunId,
    then: &Then,
    notes: Vec<String>,
) -> RestoreReport {
    let directories = then.wants.iter().filter(|want| want.is_directory()).count() as u64;
    RestoreReport {
        rule: rule.name.clone(),
        when: order.when.describe(&job.timezone),
        from: reached.root.shown(),
        to: target.shown(),
        entries: then.wants.len() as u64 - directories,
        directories,
        bytes: ByteCount(then.wants.iter().map(size_of).sum()),
        restored: 0,
        written: ByteCount(0),
        unchanged: 0,
        replaced: Vec::new(),
        run,
        damaged: Vec::new(),
        missing: then.missing.clone(),
        failures: then.unread.clone(),
        warnings: Vec::new(),
        complete_from: then.complete_from,
        lost: then.lost,
        notes,
        outcome: RuleOutcome::Done,
        elapsed: Duration::ZERO,
    }
}

impl Target {
    fn shown(&self) -> PathBuf {
        match self {
            Self::Empty(root) | Self::Source(root) => root.shown(),
            Self::ToMake(parent, name) => parent.shown().join(path_from_bytes(name)),
        }
    }
}

/// The place to write to: outside all destinations, and absent or empty, unless it is the source.
fn target(rule: &Rule, into: &Goal) -> Result<Target, RestoreStop> {
    let refused = |refusal| RestoreStop::Ended(RuleOutcome::refused(refusal));
    let path = match into {
        Goal::Source => {
            let root = source_root(rule).map_err(refused)?;
            return outside(&root).map(|()| Target::Source(root));
        }
        Goal::Directory(path) => path,
    };
    let root = match root_at("folder", path) {
        Ok(root) => root,
        Err(super::Refusal::Missing { .. }) => return to_make(path),
        Err(refusal) => {
            return Err(RestoreStop::usage(refusal.to_string(), "give a folder that is absent or empty"));
        }
    };
    outside(&root)?;
    let mut first = None;
    root.directory
        .list(|listed| {
            first.get_or_insert_with(|| crate::value::escape(listed.name));
        })
        .map_err(|error| {
            RestoreStop::usage(format!("cannot list `{}`: {error}", path.display()), "give another folder")
        })?;
    match first {
        None => Ok(Target::Empty(root)),
        Some(name) => Err(RestoreStop::usage(
            format!("`{}` is not empty: `{name}` is in it", path.display()),
            "restore into a new folder and take from there what is wanted, or back to the source with --in-place",
        )),
    }
}

fn to_make(path: &Path) -> Result<Target, RestoreStop> {
    let help = "the folder itself may be absent, the one above it may not";
    let parent =
        parent_root("folder", path).map_err(|refusal| RestoreStop::usage(refusal.to_string(), help))?;
    outside(&parent)?;
    let name = path.file_name().map(|name| crate::platform::path_bytes(Path::new(name)).to_vec());
    let Some(name) = name.filter(|name| matches!(parent.directory.find(name), Ok(None))) else {
        return Err(RestoreStop::usage(format!("`{}` is no folder", path.display()), help));
    };
    Ok(Target::ToMake(parent, name))
}

fn outside(root: &Root) -> Result<(), RestoreStop> {
    match destination_around(root) {
        None => Ok(()),
        Some((around, job, rule)) => Err(RestoreStop::usage(
            format!(
                "`{}` lies in `{}`, which is the destination of {job}/{rule}",
                root.shown().display(),
                around.display()
            ),
            "a destination is written by its own rule alone: give a folder elsewhere",
        )),
    }
}
