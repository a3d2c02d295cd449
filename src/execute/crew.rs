//! Hands actions to workers and staged entries to the commit thread, and books what comes back.
//!
//! With one worker everything happens on the calling thread, in the plan's order. Else: the run thread gives jobs to small workers and, for
//! large files, to a few others that mostly wait for the engine; all of them hand staged entries to the one commit thread; every
//! thread tells the run thread through one bounded channel, which it always empties while it waits for anything.

use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::thread::{Builder, Scope, ScopedJoinHandle};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, select};

use crate::plan::ActionKind;
use crate::value::Kind;

use super::commit::{BATCH_FILES_MAX, BATCH_WAIT_MAX, Committer};
use super::entries::perform;
use super::file::Copying;
use super::ledger::Ledger;
use super::ready::{Event, Job, Ready, ended};
use super::retry::pause;
use super::settle;
use super::site::Site;
use super::trouble::Trouble;

/// Workers for files that the engine copies in blocks: each holds one open transfer, and the engine holds eight at most.
const LARGE_WORKERS: usize = 4;
/// Jobs handed out ahead: enough to keep workers busy while the run thread writes to the catalog.
const JOBS_MAX: usize = 256;
/// Events not yet booked; a bound for memory, the run thread empties it whenever it waits.
const EVENTS_MAX: usize = 1024;

/// What the commit thread is told.
enum Order<'s> {
    Ready(Box<Ready<'s>>),
    Flush,
}

/// Does the actions of each range, one range after the other; at the end of each, all of it is committed.
pub(super) fn work<'s>(
    site: &'s Site<'s>,
    committer: Committer<'s>,
    ledger: &mut Ledger<'s, '_>,
    ranges: &[Range<usize>],
) -> std::io::Result<Committer<'s>> {
    if site.terms.workers <= 1 {
        return Ok(alone(site, committer, ledger, ranges));
    }
    std::thread::scope(|scope| {
        let (crew, commit) = Crew::start(site, committer, scope)?;
        for range in ranges {
            crew.drive(site, ledger, range.clone());
        }
        drop(crew);
        commit.join().map_err(|_| std::io::Error::other("the commit thread broke down"))
    })
}

/// Makes a job of the next action, and what its directory needs for it.
fn begin(site: &Site<'_>, ledger: &Ledger<'_, '_>, index: usize) -> Job {
    let action = site.action(index);
    site.trees.widen(action.directory);
    site.meters.begin(site.plan().path(action));
    let unlinked = site.plan().link(action).is_some_and(|leader| ledger.has_failed(leader));
    let kept = site.plan().destination(action).is_some_and(|old| site.is_moved(old));
    Job { kept, unlinked, ..Job::new(index) }
}

/// The jobs of a range in order, and those that are to be tried again before it goes on.
struct Jobs {
    range: Range<usize>,
}

impl Jobs {
    fn next(&mut self, site: &Site<'_>, ledger: &mut Ledger<'_, '_>) -> Option<Job> {
        if ledger.must_stop() {
            ledger.again.clear();
            ledger.later.clear();
            return None;
        }
        let again = ledger.again.pop();
        again.or_else(|| self.range.next().map(|index| begin(site, ledger, index)))
    }
}

/// Has the jobs tried again that were put off: waits until the files that were touched just now are old enough; those that found no room
/// come from the smallest to the largest. Says whether there are any.
fn ripen(site: &Site<'_>, ledger: &mut Ledger<'_, '_>) -> bool {
    let mut later = std::mem::take(&mut ledger.later);
    let source = |job: &Job| site.plan().source(site.action(job.index));
    let young = later.iter().filter(|job| !job.pressed).filter_map(|job| settle::unripe(site, source(job)?));
    pause(site, young.max().unwrap_or_default());
    site.forget_full();
    later.sort_by_key(|job| (job.pressed, job.pressed.then(|| source(job).map(|meta| meta.size)), job.index));
    later.reverse();
    let any = !later.is_empty() && !ledger.must_stop();
    ledger.again.append(&mut later);
    any
}

/// Everything on this thread.
fn alone<'s>(
    site: &'s Site<'s>,
    mut committer: Committer<'s>,
    ledger: &mut Ledger<'s, '_>,
    ranges: &[Range<usize>],
) -> Committer<'s> {
    for range in ranges {
        let mut jobs = Jobs { range: range.clone() };
        loop {
            while let Some(job) = jobs.next(site, ledger) {
                match perform(site, job) {
                    Ok(Copying::Ready(ready)) => committer.push(ready, &mut |event| ledger.take(event)),
                    Ok(Copying::Later) => ledger.take(Event::Later(job)),
                    Err(trouble) => ledger.take(ended(job, trouble)),
                }
            }
            committer.flush(&mut |event| ledger.take(event));
            if ledger.again.is_empty() && !ripen(site, ledger) || ledger.must_stop() {
                break;
            }
        }
    }
    committer
}

/// The run thread's ends of the channels.
struct Crew<'s> {
    small: Sender<Job>,
    large: Sender<Job>,
    orders: Sender<Order<'s>>,
    events: Receiver<Event>,
}

impl<'s> Crew<'s> {
    fn start<'scope>(
        site: &'s Site<'s>,
        committer: Committer<'s>,
        scope: &'scope Scope<'scope, '_>,
    ) -> std::io::Result<(Self, ScopedJoinHandle<'scope, Committer<'s>>)>
    where
        's: 'scope,
    {
        let (small, small_jobs) = bounded(JOBS_MAX);
        let (large, large_jobs) = bounded(JOBS_MAX);
        let (orders, ordered) = bounded(BATCH_FILES_MAX);
        let (events, told) = bounded(EVENTS_MAX);
        for (name, count, jobs) in
            [("small", site.terms.workers, small_jobs), ("large", LARGE_WORKERS, large_jobs)]
        {
            for number in 0..count {
                let (jobs, orders, events) = (jobs.clone(), orders.clone(), events.clone());
                let named = Builder::new().name(format!("{name}-{number}"));
                named.spawn_scoped(scope, move || worker(site, &jobs, &orders, &events))?;
            }
        }
        let commit = Builder::new().name("commit".to_owned());
        let commit = commit.spawn_scoped(scope, move || commit_thread(committer, &ordered, &events))?;
        Ok((Self { small, large, orders, events: told }, commit))
    }

    /// Does one range.
    fn drive(&self, site: &Site<'_>, ledger: &mut Ledger<'_, '_>, range: Range<usize>) {
        let mut jobs = Jobs { range };
        let mut count = Count::default();
        loop {
            if let Some(job) = jobs.next(site, ledger) {
                while job.pressed && count.at_work > 0 {
                    let Ok(event) = self.events.recv() else { return };
                    count.book(event, ledger);
                }
                self.hand_out(site, job, ledger, &mut count);
            } else if count.at_work > 0 {
                let Ok(event) = self.events.recv() else { return };
                count.book(event, ledger);
            } else if count.open > 0 {
                self.flush(ledger, &mut count);
            } else if !ripen(site, ledger) && ledger.again.is_empty() {
                return;
            }
        }
    }

    fn hand_out(&self, site: &Site<'_>, job: Job, ledger: &mut Ledger<'_, '_>, count: &mut Count) {
        let to = if is_large(site, job) { &self.large } else { &self.small };
        loop {
            select! {
                send(to, job) -> sent => {
                    if sent.is_ok() {
                        count.at_work += 1;
                        count.open += 1;
                    }
                    return;
                }
                recv(self.events) -> event => {
                    let Ok(event) = event else { return };
                    count.book(event, ledger);
                }
            }
        }
    }

    /// Has everything that was handed over committed.
    fn flush(&self, ledger: &mut Ledger<'_, '_>, count: &mut Count) {
        loop {
            select! {
                send(self.orders, Order::Flush) -> sent => {
                    if sent.is_err() {
                        count.open = 0;
                        return;
                    }
                    break;
                }
                recv(self.events) -> event => {
                    let Ok(event) = event else { break };
                    count.book(event, ledger);
                }
            }
        }
        while let Ok(event) = self.events.recv() {
            let flushed = matches!(event, Event::Flushed);
            count.book(event, ledger);
            if flushed {
                return;
            }
        }
        count.open = 0;
    }
}

/// Jobs that are with the workers, and jobs whose end has not been told.
#[derive(Default)]
struct Count {
    at_work: usize,
    open: usize,
}

impl Count {
    fn book(&mut self, event: Event, ledger: &mut Ledger<'_, '_>) {
        match event {
            Event::Handed => self.at_work = self.at_work.saturating_sub(1),
            Event::Flushed => {}
            event => {
                self.open = self.open.saturating_sub(1);
                ledger.take(event);
            }
        }
    }
}

/// Whether the engine copies it in blocks, so that its worker mostly waits.
fn is_large(site: &Site<'_>, job: Job) -> bool {
    let action = site.action(job.index);
    let copies = action.kind != ActionKind::Metadata && (job.unlinked || site.plan().link(action).is_none());
    let source = site.plan().source(action);
    copies
        && source
            .is_some_and(|meta| meta.kind == Kind::File && meta.size >= site.terms.engine.small_below_bytes())
}

/// A worker's part of a job; where that breaks down, the others go on.
fn guarded<'s>(site: &'s Site<'s>, job: Job) -> Result<Copying<'s>, Trouble> {
    std::panic::catch_unwind(AssertUnwindSafe(|| perform(site, job))).unwrap_or(Err(Trouble::Internal))
}

fn worker<'s>(site: &'s Site<'s>, jobs: &Receiver<Job>, orders: &Sender<Order<'s>>, events: &Sender<Event>) {
    for job in jobs {
        let told = match guarded(site, job) {
            Ok(Copying::Ready(ready)) => orders.send(Order::Ready(Box::new(ready))).map_err(|_| ()),
            Ok(Copying::Later) => events.send(Event::Later(job)).map_err(|_| ()),
            Err(trouble) => events.send(ended(job, trouble)).map_err(|_| ()),
        };
        if told.and_then(|()| events.send(Event::Handed).map_err(|_| ())).is_err() {
            return;
        }
    }
}

fn commit_thread<'s>(
    mut committer: Committer<'s>,
    orders: &Receiver<Order<'s>>,
    events: &Sender<Event>,
) -> Committer<'s> {
    // The run thread outlives this one and empties the channel until then.
    let mut tell = |event| drop(events.send(event));
    loop {
        match orders.recv_timeout(committer.time_left().unwrap_or(BATCH_WAIT_MAX)) {
            Ok(Order::Ready(ready)) => committer.push(*ready, &mut tell),
            Ok(Order::Flush) => {
                committer.flush(&mut tell);
                tell(Event::Flushed);
            }
            Err(RecvTimeoutError::Timeout) if committer.time_left().is_some() => committer.commit(&mut tell),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return committer,
        }
    }
}
