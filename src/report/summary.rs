//! One rule's run in a line, and what has to follow it.

use crate::compare::Notice;
use crate::execute::{Failure, FailureKind};
use crate::run::{RuleOutcome, RuleReport};
use crate::store::Holder;

use super::call::Call;
use super::output::{Output, Paint, Stream};
use super::refusal::refusal_lines;
use super::words::{Tense, actions, amount, count, counted, shown};

/// As many failures are listed as fit a screen.
const FAILURES_SHOWN_MAX: usize = 20;

/// The lines of one rule: its outcome with numbers; a refusal with its way on.
pub(super) fn rule_lines(output: &Output, call: &Call, report: &RuleReport, name: &str) -> Vec<String> {
    let outcome = &report.outcome;
    let paint = match outcome {
        RuleOutcome::Done => Paint::Good,
        RuleOutcome::Skipped(_) => Paint::Dim,
        RuleOutcome::Partial | RuleOutcome::Busy(_) | RuleOutcome::Interrupted(_) => Paint::Warning,
        RuleOutcome::Refused(_) | RuleOutcome::Stopped { .. } => Paint::Bad,
    };
    let word = output.paint(Stream::Result, paint, &format!("{:<11}", outcome.word()));
    let mut lines = vec![format!("  {name}  {word}  {}", sentence(report)).trim_end().to_owned()];
    if let RuleOutcome::Refused(refusal) = outcome {
        lines.extend(refusal_lines(refusal, call, &report.rule).iter().map(|line| format!("    {line}")));
    }
    if let RuleOutcome::Stopped { reasons } = outcome {
        lines.extend(reasons.iter().skip(1).map(|cause| format!("    caused by: {cause}")));
    }
    lines
}

/// What a report comes to, without its outcome's word.
pub(super) fn sentence(report: &RuleReport) -> String {
    match &report.outcome {
        RuleOutcome::Done | RuleOutcome::Partial | RuleOutcome::Interrupted(_) => numbers(report),
        RuleOutcome::Skipped(skip) => skip.to_string(),
        RuleOutcome::Refused(refusal) => refusal.to_string(),
        RuleOutcome::Busy(holder) => busy_words(holder.as_ref()),
        RuleOutcome::Stopped { reasons } => reasons.first().cloned().unwrap_or_default(),
    }
}

/// Who holds a destination.
pub(super) fn busy_words(holder: Option<&Holder>) -> String {
    match holder {
        None => "another run holds this destination".to_owned(),
        Some(holder) => format!(
            "another run holds this destination: {} on {} (process {}), since {}",
            holder.run,
            holder.host,
            holder.process_id,
            super::history::local_time(holder.since)
        ),
    }
}

fn numbers(report: &RuleReport) -> String {
    let mut parts = Vec::new();
    let done = actions(&report.done, Tense::Past);
    if done.is_empty() {
        let what = if report.planned.actions == 0 { "nothing to do" } else { "nothing done" };
        parts.push(what.to_owned());
    } else {
        parts.push(done);
    }
    if report.counts.same > 0 {
        parts.push(format!("{} equal", count(report.counts.same)));
    }
    if report.read_back > 0 {
        parts.push(format!("{} read back", count(report.read_back)));
    }
    if report.left() > 0 {
        parts.push(format!("{} left undone", count(report.left() as u64)));
    }
    if report.vanished > 0 {
        parts.push(format!("{} vanished meanwhile", count(report.vanished)));
    }
    parts.push(amount(report.bytes, report.elapsed));
    parts.join(" · ")
}

/// What was left in all rules, the first of it with its cause.
pub(super) fn left_lines(reports: &[RuleReport]) -> Vec<String> {
    let total: usize = reports.iter().map(RuleReport::left).sum();
    if total == 0 {
        return Vec::new();
    }
    let verb = if total == 1 { "was" } else { "were" };
    let mut lines = vec![format!("{} {verb} left undone:", counted(total as u64, "entry", "entries"))];
    let each = reports.iter().flat_map(|report| {
        let problems =
            report.problems.iter().map(|problem| format!("{}: {}", shown(&problem.path), problem.message));
        let conflicts = report
            .conflicts
            .iter()
            .map(|conflict| format!("{}: {}", shown(&conflict.path), conflict_words(conflict.conflict)));
        let failures = report.failures.iter().map(failure_words);
        problems.chain(conflicts).chain(failures).map(|text| format!("  {}/{text}", report.rule))
    });
    lines.extend(each.take(FAILURES_SHOWN_MAX));
    if total > FAILURES_SHOWN_MAX {
        lines.push(format!("  … and {} more", count((total - FAILURES_SHOWN_MAX) as u64)));
    }
    lines
}

fn failure_words(failure: &Failure) -> String {
    let what = failure_word(failure.what).replace('_', " ");
    format!("{}: {what}: {}", shown(&failure.path), failure.cause)
}

/// The word for JSON.
pub(super) fn failure_word(what: FailureKind) -> &'static str {
    match what {
        FailureKind::Failed => "failed",
        FailureKind::MovedSince => "moved_since",
        FailureKind::Unsettled => "unsettled",
        FailureKind::Full => "full",
        FailureKind::Withheld => "withheld",
    }
}

/// A conflict in words.
pub(super) fn conflict_words(conflict: crate::compare::Conflict) -> &'static str {
    use crate::compare::Conflict;
    match conflict {
        Conflict::KeptBelow => "stays: it holds entries that the rule does not speak of",
        Conflict::MountPoint => "stays: something is mounted at it or below it",
        Conflict::Foreign => "stays: another rule's destination is at it or below it",
        Conflict::Unread => "stays: not all of it could be read",
        Conflict::Kind => {
            "stays: the source has another kind of entry there, and without versions nothing keeps the old one"
        }
        Conflict::Unholdable => "left out: the destination cannot hold this name or size",
        Conflict::Collision => "left out: in the destination, its name is another one's too",
    }
}

/// Things to say once a rule, none of which is a failure.
pub(super) fn note_lines(report: &RuleReport) -> Vec<String> {
    let warnings = report
        .warnings
        .iter()
        .map(|warning| format!("{} on {}", warning.text, counted(warning.count, "entry", "entries")));
    let notices = report.notices.iter().map(notice_words);
    let pruned = report.pruned.iter().filter_map(|pruned| {
        if pruned.distrusted_clock {
            return Some("nothing was pruned: the clock is not to be believed".to_owned());
        }
        (pruned.versions > 0).then(|| {
            format!("{} released, {}", counted(pruned.versions, "old version", "old versions"), pruned.bytes)
        })
    });
    warnings.chain(notices).chain(pruned).map(|text| format!("note: {}: {text}", report.rule)).collect()
}

/// A notice in words.
pub(super) fn notice_words(notice: &Notice) -> String {
    use crate::compare::{PowerCut, Unheld};
    match notice {
        Notice::MountPoint { path, entered: true } => format!("mount point {path} was entered"),
        Notice::MountPoint { path, entered: false } => {
            format!("mount point {path} was not entered (one_file_system)")
        }
        Notice::ForeignDestination { path } => {
            format!("{path} is another rule's destination: not entered, not removed")
        }
        Notice::LeftOut { kind, count } => {
            format!("{} of kind {} left out", super::words::count(*count), kind.word())
        }
        Notice::StageNames { count } => {
            format!(
                "{} left out, named as stage files of a killed run or restore (`.twinlane-<run>-<number>`)",
                counted(*count, "entry", "entries")
            )
        }
        Notice::Unheld { what: Unheld::Symlinks, count } => {
            format!("{} left out: the destination holds none", counted(*count, "symlink", "symlinks"))
        }
        Notice::Unheld { what: Unheld::Devices, count } => {
            format!("{} left out: only root makes them", counted(*count, "device node", "device nodes"))
        }
        Notice::PowerCut { cause: PowerCut::Waived } => {
            "a power cut may leave torn files: the rule says `durability: none`".to_owned()
        }
        Notice::PowerCut { cause: PowerCut::NoJournal } => {
            "a power cut may leave torn files: the destination's file system has no journal".to_owned()
        }
        Notice::Unheld { what: Unheld::HardLinks, count } => format!(
            "{} made as a file of its own: the destination holds no hard links",
            counted(*count, "hard link", "hard links")
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::compare::{Conflict, Counts};
    use crate::execute::Warning;
    use crate::plan::{PlannedConflict, Totals};
    use crate::report::output::Colour;
    use crate::report::output::tests::kept;
    use crate::run::{Refusal, Skip};
    use crate::value::{RelPath, Stamp};

    fn report(outcome: RuleOutcome) -> RuleReport {
        RuleReport::ended("photos", outcome, Duration::from_millis(1840))
    }

    fn lines(report: &RuleReport) -> Vec<String> {
        let (output, ..) = kept(Colour::Off);
        rule_lines(&output, &Call::new("disk", None, Vec::new()), report, "photos   ")
    }

    #[test]
    fn a_line_a_rule_with_what_was_done() {
        let done = RuleReport {
            planned: Totals { actions: 16, ..Totals::default() },
            done: Totals { actions: 16, copy: 12, replace: 3, remove: 1, ..Totals::default() },
            counts: Counts { same: 1204, ..Counts::default() },
            bytes: 4_200_000,
            ..report(RuleOutcome::Done)
        };
        assert_eq!(
            lines(&done),
            ["  photos     done         12 copied, 3 replaced, 1 removed · 1,204 equal · 4.2 MB in 1.8 s"]
        );
        let read_back = RuleReport { read_back: 15, ..done };
        assert_eq!(
            lines(&read_back),
            [
                "  photos     done         12 copied, 3 replaced, 1 removed · 1,204 equal · 15 read back · 4.2 MB in 1.8 s"
            ]
        );
        assert_eq!(lines(&report(RuleOutcome::Done)), ["  photos     done         nothing to do · 1.8 s"]);
        let skipped = report(RuleOutcome::Skipped(Skip::Needs { rule: "first".to_owned() }));
        assert_eq!(lines(&skipped), ["  photos     skipped      it needs first, which did not end well"]);
    }

    #[test]
    fn a_held_destination_names_its_holder() {
        let holder = Holder {
            host: "attic".to_owned(),
            boot_id: String::new(),
            process_id: 7,
            run: "2026-11-24T013000.123Z".to_owned(),
            since: Stamp::from_seconds(1_795_000_000),
        };
        let text = lines(&report(RuleOutcome::Busy(Some(holder)))).remove(0);
        assert!(text.contains("2026-11-24T013000.123Z on attic (process 7), since 2026-"), "{text}");
    }

    #[test]
    fn a_stop_shows_its_causes() {
        let reasons = vec!["cannot write `a`".to_owned(), "No space left".to_owned()];
        assert_eq!(
            lines(&report(RuleOutcome::Stopped { reasons })),
            ["  photos     stopped      cannot write `a`", "    caused by: No space left"]
        );
    }

    #[test]
    fn a_refusal_is_followed_by_its_way_on() {
        let path = std::path::PathBuf::from("/t");
        let refusal = Box::new(Refusal::LostIdentity { path });
        let lines = lines(&report(RuleOutcome::Refused(refusal)));
        assert_eq!(
            lines.last().map(String::as_str),
            Some("    to allow exactly this: twinlane run disk/photos --accept destination")
        );
    }

    #[test]
    fn the_first_twenty_of_what_was_left() {
        let failure = |number: usize| Failure {
            path: RelPath::parse(format!("f{number}").as_bytes()).unwrap(),
            what: FailureKind::MovedSince,
            cause: "the source changed".to_owned(),
        };
        let conflict =
            PlannedConflict { path: RelPath::parse(b"d").unwrap(), conflict: Conflict::MountPoint };
        let report = RuleReport {
            failures: (0..25).map(failure).collect(),
            conflicts: vec![conflict],
            ..report(RuleOutcome::Partial)
        };
        let lines = left_lines(&[report]);
        assert_eq!(lines[0], "26 entries were left undone:");
        assert_eq!(lines[1], "  photos/d: stays: something is mounted at it or below it");
        assert_eq!(lines[2], "  photos/f0: moved since: the source changed");
        assert_eq!((lines.len(), lines[21].as_str()), (22, "  … and 6 more"));
        assert!(left_lines(&[]).is_empty());
    }

    #[test]
    fn notes_are_said_once_with_a_count() {
        let report = RuleReport {
            warnings: vec![Warning { text: "owner not kept".to_owned(), count: 12 }],
            ..report(RuleOutcome::Done)
        };
        assert_eq!(note_lines(&report), ["note: photos: owner not kept on 12 entries"]);
    }
}
