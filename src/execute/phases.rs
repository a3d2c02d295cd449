//! The run thread: the phases of an execution in order (DESIGN §8).

use std::ops::Range;

use crate::job::{Remove, Versions};
use crate::plan::{Action, ActionKind, Plan, Reason};
use crate::platform::Attributes as _;
use crate::value::{Kind, RelPath, Wish};

use super::check::{Closeness, check_destination, check_source};
use super::commit::Committer;
use super::entries::perform;
use super::file::Copying;
use super::finish::{Made, finish, is_directory_metadata};
use super::kind::swap;
use super::ledger::Ledger;
use super::moves::make_moves;
use super::ready::{Event, Job, ended};
use super::remove::{remove, remove_origins};
use super::retry::patiently;
use super::site::Site;
use super::stage::Stage;
use super::trouble::{Tried as _, Trouble};
use super::{Committed, Fact, Meters, Outcome, Phase, Terms, clear, crew};

/// The steps of a plan, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    RemoveFirst,
    Directories,
    Moves,
    Contents,
    Links,
    Others,
    Metadata,
    Remove,
    Late,
    DirectoryMetadata,
}

const STEPS: [Step; 10] = [
    Step::RemoveFirst,
    Step::Directories,
    Step::Moves,
    Step::Contents,
    Step::Links,
    Step::Others,
    Step::Metadata,
    Step::Remove,
    Step::Late,
    Step::DirectoryMetadata,
];

fn step_of(action: &Action, plan: &Plan, terms: &Terms<'_>) -> Step {
    let displaced = plan.destination(action).map(|meta| meta.kind);
    match action.kind {
        ActionKind::Remove if terms.rule.remove == Remove::Before && action.reason != Reason::Emptied => {
            Step::RemoveFirst
        }
        ActionKind::Remove => Step::Remove,
        ActionKind::Mkdir => Step::Directories,
        ActionKind::Metadata if is_directory_metadata(action) => Step::DirectoryMetadata,
        ActionKind::Metadata => Step::Metadata,
        // Without versions planned removals empty the directory first.
        ActionKind::Replace
            if displaced == Some(Kind::Directory) && terms.rule.versions == Versions::None =>
        {
            Step::Late
        }
        ActionKind::Replace if action.entry == Kind::Directory => Step::Directories,
        ActionKind::Move => Step::Moves,
        ActionKind::Link => Step::Links,
        ActionKind::Replace if plan.link(action).is_some() => Step::Links,
        ActionKind::Copy | ActionKind::Replace if action.entry == Kind::File => Step::Contents,
        ActionKind::Copy | ActionKind::Replace | ActionKind::Symlink | ActionKind::Special => Step::Others,
    }
}

/// The actions of each step: the plan has them in this order, so each is one range. What stands out of order joins the step
/// that it stands in.
fn ranges(plan: &Plan, terms: &Terms<'_>) -> [Range<usize>; STEPS.len()] {
    let mut ranges: [Range<usize>; STEPS.len()] = Default::default();
    let mut at = 0;
    let mut current = Step::RemoveFirst;
    for (step, range) in STEPS.iter().zip(&mut ranges) {
        let start = at;
        while let Some(action) = plan.actions.get(at) {
            current = current.max(step_of(action, plan, terms));
            if current > *step {
                break;
            }
            at += 1;
        }
        *range = start..at;
    }
    ranges
}

/// Runs all phases.
pub(super) fn run(
    terms: &Terms<'_>,
    catalog: &mut dyn Committed,
    meters: &Meters,
    facts: &mut dyn FnMut(Fact),
) -> Outcome {
    let site = Site::new(terms, meters);
    let mut ledger = Ledger::new(&site, catalog, facts);
    let [first, directories, moves, contents, links, others, metadata, removals, late, mended] =
        ranges(terms.plan, terms);
    let mut committer = Committer::new(&site);

    meters.enter(Phase::Preparing);
    clear::clear_stale(&site, &mut ledger);
    remove(&site, &mut committer, &mut ledger, first);
    let made = make_directories(&site, &mut ledger, directories);
    let copied = make_moves(&site, &mut committer, &mut ledger, moves);

    meters.enter(Phase::Copying);
    let parts = [contents, links, others, metadata];
    let mut committer = match crew::work(&site, committer, &mut ledger, &parts) {
        Ok(committer) => committer,
        Err(error) => {
            ledger.lose(&format!("cannot start the workers: {error}"));
            Committer::new(&site)
        }
    };

    meters.enter(Phase::Removing);
    if !removals.is_empty() || !late.is_empty() || !copied.is_empty() {
        committer.flush(&mut |event| ledger.take(event));
        remove_origins(&site, &mut ledger, &copied);
        remove(&site, &mut committer, &mut ledger, removals);
        replace_late(&site, &mut committer, &mut ledger, late);
    }

    meters.enter(Phase::Finishing);
    conclude(&site, &mut committer, &mut ledger, &made, mended);
    ledger.close()
}

/// Directory metadata, versions' own directories, the last sync.
fn conclude<'s>(
    site: &'s Site<'s>,
    committer: &mut Committer<'s>,
    ledger: &mut Ledger<'s, '_>,
    made: &[Made],
    mended: Range<usize>,
) {
    let begun = if ledger.must_stop() { 0..0 } else { mended };
    finish(site, committer, ledger, made, begun);
    ledger.note(site.linked());
    if let Some(versions) = &site.versions
        && let Err(error) = versions.finish()
    {
        ledger.fail_beside(RelPath::root().join(crate::store::HOME_NAME), &error.into());
    }
    if site.terms.cancel.wish() == Wish::Abort {
        return;
    }
    if let Err(trouble) = committer.conclude(&mut |event| ledger.take(event)) {
        ledger.fail_beside(RelPath::root(), &trouble);
    }
}

/// Makes directories from the top down, closed to others until the end.
fn make_directories<'s>(site: &'s Site<'s>, ledger: &mut Ledger<'s, '_>, range: Range<usize>) -> Vec<Made> {
    let mut all = Vec::with_capacity(range.len());
    for index in range {
        if ledger.must_stop() {
            break;
        }
        let action = site.action(index);
        site.trees.widen(action.directory);
        match patiently(site, || make_directory(site, index)) {
            Ok(made) => all.push(made),
            Err(trouble) => ledger.fail(index, &trouble),
        }
    }
    all
}

fn make_directory(site: &Site<'_>, index: usize) -> Result<Made, Trouble> {
    let (action, plan) = (site.action(index), site.plan());
    let name = plan.name(action);
    if name.is_empty() {
        // The root, which the run made to have a place for `.twinlane`.
        let meta = site.terms.destination.meta().tried("look at the destination")?;
        site.trees.note_made(&RelPath::root(), &meta);
        return Ok(Made { index, inode: (meta.device, meta.inode), displaced: None });
    }
    check_source(site, action, &*site.trees.source(action.directory)?)?;
    let directory = site.trees.destination_to_change(action.directory)?;
    let present = check_destination(site, action, &directory, Closeness::Whole)?;
    let meta = if present.is_some() {
        let stage = Stage::directory(site, action.directory, &directory)?;
        let meta = directory.stat(stage.name()).tried("look at the new directory")?;
        swap(site, action, &directory, stage)?;
        meta
    } else {
        directory.make_dir(name, 0o700).tried("make the directory")?;
        directory.stat(name).tried("look at the new directory")?
    };
    if meta.kind != Kind::Directory {
        return Err(Trouble::Moved { what: "something appeared in the destination" });
    }
    site.trees.note_made(&plan.path(action), &meta);
    Ok(Made { index, inode: (meta.device, meta.inode), displaced: present })
}

/// Replaces directories that removals have emptied, one by one: a later one may be linked to an earlier one.
fn replace_late<'s>(
    site: &'s Site<'s>,
    committer: &mut Committer<'s>,
    ledger: &mut Ledger<'s, '_>,
    range: Range<usize>,
) {
    for index in range {
        if ledger.must_stop() {
            return;
        }
        let action = site.action(index);
        site.trees.widen(action.directory);
        if ledger.has_staying_within(&site.plan().path(action)) {
            ledger.fail(index, &Trouble::Withheld { why: "something in the directory was not removed" });
            continue;
        }
        // Waiting for a time grain was for the files of a whole batch; one more reading settles these.
        let mut next = Some(Job { waited: true, ..Job::new(index) });
        while let Some(job) = next.take() {
            match perform(site, job) {
                Ok(Copying::Ready(ready)) => committer.push(ready, &mut |event| ledger.take(event)),
                Ok(Copying::Later) => ledger.take(Event::Later(job)),
                Err(trouble) => ledger.take(ended(job, trouble)),
            }
            committer.commit(&mut |event| ledger.take(event));
            next = ledger.again.pop().or_else(|| ledger.later.pop());
        }
    }
}
