//! What is going on right now, on stderr: a bar where a person looks, a line every ten seconds where a log does.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::compare::ScanMeter;
use crate::execute::Phase;
use crate::plan::Totals;
use crate::run::{Gauge, Reading, VerifyGauge};
use crate::value::ByteCount;

use super::output::{Colour, Output};
use super::words::{count, counted, span};

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressForm {
    /// A bar that is redrawn ten times a second.
    Bar,
    /// A line every ten seconds.
    Lines,
    /// Not at all.
    None,
}

/// Ten times a second looks steady and costs nothing.
const BAR_PERIOD: Duration = Duration::from_millis(100);
/// Slow enough for a log.
const LINE_PERIOD: Duration = Duration::from_secs(10);

/// The progress of one run.
#[derive(Debug)]
pub(super) struct Progress {
    form: ProgressForm,
    rule: String,
    bar: Option<ProgressBar>,
    watcher: Option<Watcher>,
}

/// A thread that looks at a gauge until it is told to stop.
#[derive(Debug)]
struct Watcher {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Progress {
    pub(super) fn new(form: ProgressForm) -> Self {
        Self { form, rule: String::new(), bar: None, watcher: None }
    }

    /// A rule begins.
    pub(super) fn begin(&mut self, rule: &str) {
        rule.clone_into(&mut self.rule);
    }

    /// Both trees are being compared: how long that takes nobody knows beforehand.
    pub(super) fn compare(&mut self, meter: &Arc<ScanMeter>) {
        let meter = Arc::clone(meter);
        let rule = self.rule.clone();
        self.watch("{spinner} {wide_msg}", move |bar| {
            let looked = counted(meter.entries(), "entry", "entries");
            if let Some(bar) = bar {
                bar.tick();
            }
            format!("{rule}: comparing, {looked}")
        });
    }

    /// The plan is being executed.
    pub(super) fn execute(&mut self, gauge: &Gauge) {
        let (gauge, rule) = (gauge.clone(), self.rule.clone());
        let start = gauge.read();
        self.watch("{bar:12} {wide_msg}", move |bar| {
            let now = gauge.read();
            if let Some(bar) = bar {
                bar.set_length(1000);
                bar.set_position(permille(gauge.planned(), &now));
            }
            format!("{rule}: {}", describe(gauge.planned(), &start, &now))
        });
    }

    /// Files are being read back.
    pub(super) fn verify(&mut self, gauge: &VerifyGauge) {
        let (gauge, rule) = (gauge.clone(), self.rule.clone());
        let (start, ..) = gauge.read();
        self.watch("{bar:12} {wide_msg}", move |bar| {
            let (elapsed, files, bytes) = gauge.read();
            let now = Reading { elapsed, files, bytes, ..Reading::default() };
            let planned = Totals { bytes: gauge.bytes, copy: gauge.files, ..Totals::default() };
            if let Some(bar) = bar {
                bar.set_length(1000);
                bar.set_position(permille(&planned, &now));
            }
            if now.files >= gauge.files {
                return format!("{rule}: finishing");
            }
            let start = Reading { elapsed: start, ..Reading::default() };
            format!("{rule}: reading, {}", describe(&planned, &start, &now))
        });
    }

    /// Shows, until [`Progress::end`], what `look` says.
    fn watch(&mut self, template: &str, look: impl Fn(Option<&ProgressBar>) -> String + Send + 'static) {
        self.end();
        let (period, bar) = match self.form {
            ProgressForm::None => return,
            ProgressForm::Lines => (LINE_PERIOD, None),
            ProgressForm::Bar => (BAR_PERIOD, Some(drawn(template))),
        };
        self.bar.clone_from(&bar);
        let (stop, stopped) = channel();
        let show = move || {
            let mut output = Output::standard(Colour::Off, Colour::Off);
            while stopped.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
                let text = look(bar.as_ref());
                match &bar {
                    Some(bar) => bar.set_message(text),
                    None => output.message(&text),
                }
            }
        };
        let thread = std::thread::Builder::new().name("progress".to_owned()).spawn(show);
        // Without a thread there is no progress; the work goes on.
        self.watcher = thread.ok().map(|thread| Watcher { stop, thread });
    }

    /// Clears the bar while something else is written.
    pub(super) fn pause(&self, write: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// Nothing is going on any more.
    pub(super) fn end(&mut self) {
        if let Some(Watcher { stop, thread }) = self.watcher.take() {
            let _ = stop.send(());
            let _ = thread.join();
        }
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

fn drawn(template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

/// A small file takes about as long as this much content of a large one: copying a Rust toolchain, 5,000 files a second where
/// large files went at 350 MB/s.
const FILE_COST_BYTES: u64 = 64 << 10;

/// Content and files as one amount of work.
fn work(bytes: u64, files: u64) -> u64 {
    bytes.saturating_add(files.saturating_mul(FILE_COST_BYTES))
}

/// Files to be copied.
fn planned_files(planned: &Totals) -> u64 {
    planned.copy + planned.replace
}

/// What is done and what there is in all: by content and files where there are any to copy, else by actions.
fn work_done(planned: &Totals, now: &Reading) -> (u64, u64) {
    let files = planned_files(planned);
    match work(planned.bytes, files) {
        0 => (now.actions.min(planned.actions), planned.actions),
        all => (work(now.bytes.min(planned.bytes), now.files.min(files)).min(all), all),
    }
}

/// How much is done, in thousandths.
fn permille(planned: &Totals, now: &Reading) -> u64 {
    let (done, all) = work_done(planned, now);
    u64::try_from(u128::from(done) * 1000 / u128::from(all.max(1))).unwrap_or(1000)
}

/// The most telling first, for narrow terminals: `42% 1.2 GB of 3.0 GB, 210 MB/s, 8 s left, 12 of 40 files, queues 4+3 in flight`,
/// which are blocks, a number for each queue.
fn describe(planned: &Totals, start: &Reading, now: &Reading) -> String {
    let mut parts = Vec::new();
    let elapsed = now.elapsed.saturating_sub(start.elapsed);
    if planned.bytes > 0 {
        parts.push(format!("{} of {}", ByteCount(now.bytes), ByteCount(planned.bytes)));
        let millis = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX).max(1);
        let rate = now.bytes.saturating_sub(start.bytes).saturating_mul(1000) / millis;
        if rate > 0 {
            parts.push(format!("{}/s", ByteCount(rate)));
        }
        parts.extend(time_left(planned, start, now));
    }
    let files = planned_files(planned);
    if files > 0 {
        parts.push(format!("{} of {}", count(now.files.min(files)), counted(files, "file", "files")));
    }
    // The rest goes so fast that it is told only when it is all that is left.
    if now.files >= files && planned.actions > 0 {
        parts.push(format!("{} of {}", count(now.actions), counted(planned.actions, "action", "actions")));
    }
    if now.queues.iter().any(|queue| queue.in_flight > 0) {
        let flights: Vec<String> = now.queues.iter().map(|queue| queue.in_flight.to_string()).collect();
        let noun = if flights.len() == 1 { "queue" } else { "queues" };
        parts.push(format!("{noun} {} in flight", flights.join("+")));
    }
    if let Some(word) = phase_word(now.phase) {
        parts.push(word.to_owned());
    }
    format!("{}% {}", permille(planned, now) / 10, parts.join(", "))
}

/// How long it will go on at the pace until now; what is written has yet to become durable, and to take its name.
fn time_left(planned: &Totals, start: &Reading, now: &Reading) -> Option<String> {
    if now.bytes >= planned.bytes && now.files >= planned_files(planned) {
        return Some("syncing".to_owned());
    }
    let (before, _) = work_done(planned, start);
    let (done, all) = work_done(planned, now);
    let done = done.saturating_sub(before);
    if done == 0 {
        return None;
    }
    let left = u128::from(all.saturating_sub(before + done));
    let elapsed = now.elapsed.saturating_sub(start.elapsed).as_millis();
    let seconds = u64::try_from(elapsed * left / u128::from(done) / 1000).unwrap_or(u64::MAX).max(1);
    Some(match seconds {
        0..60 => format!("{seconds} s left"),
        _ => format!("{} left", span(Duration::from_secs(seconds))),
    })
}

fn phase_word(phase: Phase) -> Option<&'static str> {
    match phase {
        Phase::Preparing | Phase::Copying => None,
        Phase::Removing => Some("removing"),
        Phase::Finishing => Some("finishing"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::QueueMeter;

    #[test]
    fn tells_share_rate_and_time_left() {
        let planned = Totals { bytes: 3_000_000_000, actions: 45, copy: 38, replace: 2, ..Totals::default() };
        let start = Reading { elapsed: Duration::from_secs(5), ..Reading::default() };
        let now = Reading {
            elapsed: Duration::from_secs(15),
            actions: 14,
            files: 12,
            bytes: 1_000_000_000,
            queues: vec![
                QueueMeter { in_flight: 4, ..QueueMeter::default() },
                QueueMeter { in_flight: 3, ..QueueMeter::default() },
            ],
            ..Reading::default()
        };
        assert_eq!(
            describe(&planned, &start, &now),
            "33% 1.0 GB of 3.0 GB, 100 MB/s, 20 s left, 12 of 40 files, queues 4+3 in flight"
        );
        let written = Reading { bytes: 3_000_000_000, files: 40, queues: Vec::new(), ..now.clone() };
        assert_eq!(
            describe(&planned, &start, &written),
            "100% 3.0 GB of 3.0 GB, 300 MB/s, syncing, 40 of 40 files, 14 of 45 actions"
        );
        let small = Totals { actions: 4, ..Totals::default() };
        assert_eq!(describe(&small, &start, &Reading { actions: 1, ..start.clone() }), "25% 1 of 4 actions");
        assert_eq!(permille(&Totals::default(), &now), 0);
    }

    #[test]
    fn many_small_files_are_most_of_the_work() {
        let planned = Totals { bytes: 1_000_000, copy: 1000, actions: 1000, ..Totals::default() };
        let start = Reading::default();
        let now = Reading { elapsed: Duration::from_secs(10), bytes: 900_000, files: 100, ..start.clone() };
        let text = describe(&planned, &start, &now);
        assert!(text.starts_with("11% 900 KB of 1.0 MB") && text.contains("1 min 1"), "{text}");
    }
}
