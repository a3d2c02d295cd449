//! A verification in words: one file, one destination, and what is to be known besides.

use crate::report::history::local_time;
use crate::report::summary::busy_words;
use crate::report::words::{amount, count, counted};
use crate::run::{Finding, Remembered, RuleOutcome, SourceSide, Verified, VerifyCounts, VerifyReport};
use crate::value::ByteCount;

/// Whether a file that is no failure is told all the same: what no run has brought has gone or become another.
pub(super) fn is_told(file: &Verified) -> bool {
    matches!(file.finding, Finding::Changed | Finding::Missing)
}

/// The word of a finding for JSON, and with blanks for people.
pub(super) fn word(finding: Finding) -> &'static str {
    match finding {
        Finding::Right => "right",
        Finding::Rot => "rot",
        Finding::Changed => "changed",
        Finding::Missing => "missing",
        Finding::Extra => "extra",
        Finding::Unread => "unread",
        Finding::Learnt => "learnt",
        Finding::SourceRot => "source_rot",
        Finding::Differs => "differs",
    }
}

pub(super) fn shown(file: &Verified) -> String {
    match file.version {
        Some(run) => format!(".twinlane/versions/{run}/{}", file.path),
        None => crate::report::words::shown(&file.path),
    }
}

/// What is to be known of one file, with the colon before it.
pub(super) fn sentence(file: &Verified) -> String {
    let mut parts: Vec<String> = Vec::new();
    match file.finding {
        Finding::Rot => {
            parts.push("its content is not what was recorded, though size and mtime are".to_owned());
        }
        Finding::SourceRot => parts.push(
            "the destination holds what was copied; the source holds something else under the same size and mtime"
                .to_owned(),
        ),
        Finding::Differs if file.source.is_some() => parts.push(
            "source and destination differ under the same size and mtime, and nothing is recorded to tell which is right"
                .to_owned(),
        ),
        Finding::Extra => parts.push("no run has brought it".to_owned()),
        Finding::Learnt => parts.push("it had no digest until now".to_owned()),
        _ => parts.extend(file.cause.clone()),
    }
    if let (Finding::Rot, Some(side)) = (file.finding, &file.source) {
        parts.push(source_words(side).to_owned());
    }
    if file.fails() {
        parts.extend(file.since.map(|run| format!("brought by run {run}")));
        parts.extend(file.read_back.map(|time| format!("last found right {}", local_time(time))));
    }
    if parts.is_empty() { String::new() } else { format!(": {}", parts.join("; ")) }
}

fn source_words(side: &SourceSide) -> &'static str {
    match side {
        SourceSide::Right => "the source's file is right",
        SourceSide::AsDestination => "the source holds the same as the destination",
        SourceSide::Other => "the source holds a third content",
        SourceSide::Changed => "the source's file has changed since",
        SourceSide::Gone => "the source has it no more",
        SourceSide::Unread(_) => "the source's file cannot be read",
    }
}

pub(super) fn outcome_word(outcome: &RuleOutcome) -> &'static str {
    match outcome {
        RuleOutcome::Done => "all right",
        RuleOutcome::Partial => "not right",
        outcome => outcome.word(),
    }
}

pub(super) fn summary(report: &VerifyReport) -> String {
    match &report.outcome {
        RuleOutcome::Done | RuleOutcome::Partial | RuleOutcome::Interrupted(_) => numbers(report),
        RuleOutcome::Skipped(skip) => skip.to_string(),
        RuleOutcome::Refused(refusal) => refusal.to_string(),
        RuleOutcome::Busy(holder) => busy_words(holder.as_ref()),
        RuleOutcome::Stopped { reasons } => reasons.join(": "),
    }
}

fn numbers(report: &VerifyReport) -> String {
    let counts = &report.counts;
    let listed = [
        (counts.rot, "rotten"),
        (counts.changed, "changed"),
        (counts.missing, "missing"),
        (counts.unread, "unreadable"),
        (counts.source_rot, "rotten in the source"),
        (counts.differs, "that differ"),
        (counts.right, "right"),
        (counts.learnt, "with no digest until now"),
        (counts.extra, if report.job.is_empty() { "not listed" } else { "that no run has brought" }),
        (counts.others, "of those changed or gone since"),
    ];
    let mut parts: Vec<String> = listed
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!("{} {word}", count(*number)))
        .collect();
    if parts.is_empty() {
        parts.push("no files".to_owned());
    }
    if counts.versions > 0 {
        parts.push(format!("{} among them", counted(counts.versions, "version", "versions")));
    }
    parts.push(pace(counts, report));
    parts.join(" · ")
}

/// `4.2 GB in 8.1 s, 520 MB/s`, with the share of all where it was not all.
fn pace(counts: &VerifyCounts, report: &VerifyReport) -> String {
    let mut parts = vec![amount(counts.bytes, report.elapsed)];
    let millis = u64::try_from(report.elapsed.as_millis()).unwrap_or(u64::MAX).max(1);
    let rate = u128::from(counts.bytes) * 1000 / u128::from(millis);
    if rate > 0 {
        parts.push(format!("{}/s", ByteCount(u64::try_from(rate).unwrap_or(u64::MAX))));
    }
    if counts.bytes < report.total_bytes {
        let tenths = u128::from(counts.bytes) * 1000 / u128::from(report.total_bytes);
        parts.push(format!("{}.{}% of all", tenths / 10, tenths % 10));
    }
    parts.join(", ")
}

/// What is no failure and still to be known.
pub(super) fn notes(report: &VerifyReport) -> Vec<String> {
    let mut notes = Vec::new();
    let cached = report.counts.cached;
    if cached > 0 {
        notes.push(format!(
            "{} could be read through a cache only: what the device itself holds was not seen",
            counted(cached, "file", "files")
        ));
    }
    if report.counts.source_changed > 0 {
        let changed = counted(report.counts.source_changed, "file", "files");
        notes.push(format!("{changed} could not be compared with the source: changed or gone there since"));
    }
    match &report.remembered {
        Remembered::Not(reason) => {
            notes.push(format!("not remembered: {reason}; the next verification begins where this one did"));
        }
        Remembered::All if report.counts.learnt + report.counts.extra > 0 => {
            let learnt = counted(report.counts.learnt + report.counts.extra, "digest", "digests");
            notes.push(format!("{learnt} recorded as of now: these files are guarded from now on"));
        }
        Remembered::All | Remembered::Nothing => {}
    }
    if report.out_of_time {
        notes.push("the time was up; the next verification goes on from here".to_owned());
    }
    if report.round_complete == Some(true) {
        notes.push("with this sample, every file has been read once".to_owned());
    }
    notes
}
