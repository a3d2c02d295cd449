//! What mends what was found, and the next sensible command.

use crate::report::call::Call;
use crate::run::{Refusal, RuleOutcome, VerifyReport};

/// How the destination was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// By its job.
    Job(Call),
    /// By its path, which stands where the call's job does.
    Directory(Call),
}

impl Asked {
    pub(super) fn call(&self) -> &Call {
        match self {
            Self::Job(call) | Self::Directory(call) => call,
        }
    }

    /// The same once more, of one rule, with more flags.
    pub(super) fn with(&self, rule: &str, more: &str) -> String {
        let more = [more.to_owned()];
        match self {
            Self::Job(call) => call.of_rule("verify", rule, &more),
            Self::Directory(call) => call.with("verify", &more),
        }
    }

    /// What to speak of it by.
    pub(super) fn shown(&self, name: &str) -> String {
        match self {
            Self::Job(call) => call.rule(name),
            Self::Directory(_) => name.to_owned(),
        }
    }

    /// A command of the job that the destination belongs to.
    pub(super) fn own(&self, verb: &str, report: &VerifyReport) -> String {
        match self {
            Self::Job(call) => call.with_rule(verb, &report.rule),
            Self::Directory(_) => Call::new(&report.job, Some(&report.rule), Vec::new()).command(verb),
        }
    }
}

/// What mends it, and the next sensible command.
pub(super) fn ways_on(asked: &Asked, report: &VerifyReport) -> Vec<String> {
    let next = |command: String| format!("next: {command}");
    let again = || next(asked.call().again("verify"));
    let is_list = report.job.is_empty();
    match &report.outcome {
        RuleOutcome::Done if report.out_of_time || report.round_complete == Some(false) => vec![again()],
        RuleOutcome::Done if is_list => Vec::new(),
        RuleOutcome::Done => vec![next(asked.own("history", report))],
        RuleOutcome::Partial if is_list => vec![again()],
        RuleOutcome::Partial => mending(asked, report),
        RuleOutcome::Skipped(_) => Vec::new(),
        RuleOutcome::Refused(refusal) => refused(asked, report, refusal),
        RuleOutcome::Busy(_) => vec!["when that has ended:".to_owned(), again()],
        RuleOutcome::Stopped { .. } | RuleOutcome::Interrupted(_) => vec![again()],
    }
}

fn refused(asked: &Asked, report: &VerifyReport, refusal: &Refusal) -> Vec<String> {
    let next = |command: String| format!("next: {command}");
    match (refusal, asked) {
        (Refusal::NoCatalog { .. }, _) => vec![
            "to take all that is there as right, and guard it from now on:".to_owned(),
            next(asked.with(&report.rule, "--accept destination")),
        ],
        (Refusal::NoStore { .. }, Asked::Job(_)) => vec![next(asked.own("plan", report))],
        (Refusal::NoStore { .. }, Asked::Directory(_)) => {
            vec![
                "help: give a destination that a job has run into, or a list of digests with --sums"
                    .to_owned(),
            ]
        }
        (Refusal::ClosedStore { .. }, Asked::Directory(_)) => {
            let help = refusal.advice().map(|advice| format!("help: {advice}"));
            help.into_iter().collect()
        }
        (refusal, Asked::Job(_)) => {
            let help = refusal.advice().map(|advice| format!("help: {advice}"));
            help.into_iter().chain([next(asked.own("plan", report))]).collect()
        }
        (_, Asked::Directory(_)) => vec!["help: attach its disk, or correct the path".to_owned()],
    }
}

/// What is to be done about what is not right.
fn mending(asked: &Asked, report: &VerifyReport) -> Vec<String> {
    let counts = &report.counts;
    let help = [
        (
            counts.rot,
            "a run does not see rot, for size and mtime are equal: take the rotten file away (or set `compare: hash`), and the next run copies it again where the source has it",
        ),
        (
            counts.source_rot + counts.differs,
            "compare both files by hand, and bring the good one to the other side",
        ),
        (
            counts.unread,
            "what cannot be read may be a failing disk: see the system's log, and copy what matters elsewhere",
        ),
    ];
    let help = help.iter().filter(|(number, _)| *number > 0).map(|(_, text)| format!("help: {text}"));
    let mut lines: Vec<String> = help.collect();
    if counts.changed + counts.missing > 0 {
        let accept = asked.with(&report.rule, "--accept destination");
        lines.push(format!(
            "help: a run brings back what the source has; to take the destination as it is: {accept}"
        ));
    }
    let is_rot_alone = counts.rot > 0 && counts.changed + counts.missing == 0;
    let is_compared = asked.call().again("verify").contains("--against source");
    lines.push(match asked {
        // A run would find nothing to do.
        Asked::Job(_) if is_rot_alone && !is_compared => {
            format!("next: {}", asked.with(&report.rule, "--against source"))
        }
        _ if is_rot_alone => {
            format!("once the rotten file is away:\nnext: {}", asked.own("run", report))
        }
        _ => format!("next: {}", asked.own("run", report)),
    });
    lines
}
