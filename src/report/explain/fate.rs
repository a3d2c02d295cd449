//! What comparing gave for a path, what a run would do with it, and with what lies below it, in words.

use crate::compare::{Age, Conflict, Extent, Look, Notice, Problem, Ruling, Verdict};
use crate::filter::{Cause, Judgement};
use crate::job::{Mode, Overwrite, Versions};
use crate::plan::{Action, ActionKind, Plan, Reason, Totals};
use crate::run::{Explained, Story};
use crate::value::{ByteCount, Kind, RelPath};

use super::super::summary::{conflict_words, notice_words};
use super::super::words::{Tense, actions, counted, shown};

/// What comparing gave: the word, and what it means here; `None` where it cannot be told.
pub(super) fn verdict(explained: &Explained<'_>, story: &Story) -> Option<(&'static str, String)> {
    let trace = &story.trace;
    let none = |why: &str| Some(("none", why.to_owned()));
    if trace.source == Look::Absent && trace.destination == Look::Absent {
        return none("neither side has it; is it spelt as on the disk?");
    }
    if let Some(verdict) = story.verdict {
        return Some(told(verdict));
    }
    match &trace.ruling {
        Ruling::Judged { judgement: Judgement::Selected, .. } => {}
        Ruling::Judged { judgement: Judgement::Through, .. } => {
            return none("the directory itself is left alone");
        }
        Ruling::Unread(..) => return None,
        _ => return none("the rule does not speak of it"),
    }
    explained.plan.plan.as_ref()?;
    match (&trace.source, &trace.destination) {
        (Look::There(_), Look::There(_)) => Some(told(Verdict::Same)),
        (Look::Absent, Look::There(_)) => Some(told(Verdict::Extra)),
        (Look::There(_), Look::Absent) => Some(told(Verdict::New)),
        _ => None,
    }
}

fn told(verdict: Verdict) -> (&'static str, String) {
    let (word, text) = match verdict {
        Verdict::New => ("new", "only in the source".to_owned()),
        Verdict::Same => ("same", "equal on both sides".to_owned()),
        Verdict::Changed(difference, age) => {
            let age = match age {
                Age::Newer => "the source is newer, ",
                Age::Older => "the source is older, ",
                Age::Equal => "",
            };
            ("changed", format!("{age}{}", difference.words()))
        }
        Verdict::Metadata(difference) => ("metadata", Reason::Metadata(difference).words().into_owned()),
        Verdict::Kind => ("kind", "each side has another kind of entry".to_owned()),
        Verdict::Extra => ("extra", "only in the destination".to_owned()),
        Verdict::Excluded => ("excluded", "this run clears what the patterns leave out".to_owned()),
        Verdict::Vanished => ("vanished", "it went away while it was looked at".to_owned()),
        Verdict::Conflict(conflict) => ("conflict", format!("it {}", conflict_words(conflict))),
    };
    (word, text)
}

/// What a run would do with the path itself, and why.
pub(super) fn action_words(explained: &Explained<'_>, story: &Story, plan: &Plan) -> String {
    let path = explained.path;
    if let Some(action) = action_at(plan, path) {
        return done_to(explained, plan, action);
    }
    if let Some(to) = moved_to(plan, path) {
        return format!("will be moved to `{}`, which has the same content in the source", shown(&to));
    }
    if let Some((above, action)) = displacing(plan, path) {
        let word = done_word(action.kind);
        return format!("goes with `{}`, which {word}", shown(&above));
    }
    if let Some(conflict) = conflict_at(plan, path) {
        return format!("none, a conflict: it {}", conflict_words(conflict));
    }
    if let Some(problem) = problem_over(plan, path) {
        return format!("none: `{}`: {}", shown(&problem.path), problem.message);
    }
    undone(explained, story)
}

/// The action of exactly this path.
pub(super) fn action_at<'p>(plan: &'p Plan, path: &RelPath) -> Option<&'p Action> {
    plan.actions.iter().find(|action| plan.path(action) == *path)
}

/// The name that the destination's file at this path is going to get.
fn moved_to(plan: &Plan, path: &RelPath) -> Option<RelPath> {
    let is_origin = |action: &&Action| {
        action.kind == ActionKind::Move && plan.link(action).is_some_and(|from| from == path)
    };
    plan.actions.iter().find(is_origin).map(|action| plan.path(action))
}

/// The action that takes a directory above the path whole.
fn displacing<'p>(plan: &'p Plan, path: &RelPath) -> Option<(RelPath, &'p Action)> {
    let takes_whole = |action: &&Action| {
        action.kind == ActionKind::Replace
            && plan.destination(action).is_some_and(|meta| meta.kind == Kind::Directory)
    };
    plan.actions.iter().filter(takes_whole).find_map(|action| {
        let above = plan.path(action);
        path.is_within(&above).then_some((above, action))
    })
}

/// The conflict of exactly this path.
pub(super) fn conflict_at(plan: &Plan, path: &RelPath) -> Option<Conflict> {
    plan.conflicts.iter().find(|conflict| conflict.path == *path).map(|conflict| conflict.conflict)
}

/// What could not be read at a path, or with a directory above it.
fn problem_over<'p>(plan: &'p Plan, path: &RelPath) -> Option<&'p Problem> {
    plan.problems.iter().find(|problem| match problem.extent {
        Extent::Entry => problem.path == *path,
        Extent::Subtree => path.is_within(&problem.path),
    })
}

fn done_word(kind: ActionKind) -> &'static str {
    match kind {
        ActionKind::Mkdir | ActionKind::Symlink | ActionKind::Special => "will be made",
        ActionKind::Copy => "will be copied",
        ActionKind::Replace => "will be replaced",
        ActionKind::Move => "will be moved here",
        ActionKind::Link => "will be made as a hard link",
        ActionKind::Metadata => "its metadata will be mended",
        ActionKind::Remove => "will be removed",
    }
}

fn done_to(explained: &Explained<'_>, plan: &Plan, action: &Action) -> String {
    let mut text = done_word(action.kind).to_owned();
    if let Some(link) = plan.link(action) {
        let of = match action.kind {
            ActionKind::Link => "to",
            ActionKind::Move => "from",
            _ => "by a hard link to",
        };
        text = format!("{text} {of} `{}`", shown(link));
    } else if let (ActionKind::Copy | ActionKind::Replace, Kind::File, Some(source)) =
        (action.kind, action.entry, plan.source(action))
    {
        text = format!("{text}, {}", ByteCount(source.size));
    }
    if action.reason != Reason::HardLink {
        text = format!("{text} ({})", plan.reason_words(action));
    }
    let displaces = matches!(action.kind, ActionKind::Replace | ActionKind::Remove)
        && plan.destination(action).is_some_and(|meta| meta.kind != Kind::Directory);
    match explained.rule.versions {
        Versions::Keep(_) if displaces => format!("{text}; what is there is kept as a version"),
        Versions::None if displaces => format!("{text}; what is there is gone for good (`versions: none`)"),
        _ => text,
    }
}

/// Why nothing is done.
fn undone(explained: &Explained<'_>, story: &Story) -> String {
    const NOTHING: &str = "nothing will be done";
    let trace = &story.trace;
    let is_kept = trace.destination.meta().is_some();
    let is_there = trace.source.meta().is_some();
    let is_mounted = trace.destination.meta().is_some_and(|meta| meta.mount_root);
    let rule = explained.rule;
    match (&trace.ruling, story.verdict) {
        (Ruling::Judged { judgement: Judgement::Excluded, .. }, None) if !is_kept => NOTHING.to_owned(),
        (Ruling::Judged { judgement: Judgement::Excluded, cause, .. }, None) => {
            let by_pattern = !matches!(cause, Cause::Select(_));
            let clears = rule.mode == Mode::Mirror && by_pattern;
            let way = if clears { " (`--remove-excluded` would remove it)" } else { "" };
            format!("none: the destination keeps it{way}")
        }
        (_, Some(Verdict::Changed(..) | Verdict::Kind)) if rule.overwrite != Overwrite::Changed => {
            let word = if rule.overwrite == Overwrite::Never { "never" } else { "newer" };
            format!("none: `overwrite: {word}` keeps what is there")
        }
        (_, Some(Verdict::New)) => "none: the destination cannot hold such an entry".to_owned(),
        (_, Some(Verdict::Vanished)) => "none: the next run looks again".to_owned(),
        (Ruling::Judged { judgement: Judgement::Selected, .. }, verdict) if is_kept && !is_there => {
            match (rule.mode, verdict) {
                (Mode::Backup, _) => "none: a backup keeps what only the destination has".to_owned(),
                (Mode::Mirror, _) if is_mounted => "none: something is mounted there".to_owned(),
                (Mode::Mirror, _) => "none: it holds entries that stay".to_owned(),
            }
        }
        _ => NOTHING.to_owned(),
    }
}

/// Sums over what lies below a path; `None` where nothing is done there.
pub(super) fn below(plan: &Plan, path: &RelPath) -> (Totals, u64) {
    let is_below = |other: &RelPath| other.is_within(path) && other != path;
    let mut totals = Totals::default();
    for action in plan.actions.iter().filter(|action| is_below(&plan.path(action))) {
        totals.count(action.kind);
    }
    let conflicts = plan.conflicts.iter().filter(|conflict| is_below(&conflict.path)).count();
    (totals, conflicts as u64)
}

/// Sums over what lies below a path, in words; `None` where nothing is done there.
pub(super) fn below_words(plan: &Plan, path: &RelPath) -> Option<String> {
    let (totals, conflicts) = below(plan, path);
    let mut parts = Vec::new();
    if totals.actions > 0 {
        parts.push(actions(&totals, Tense::Future));
    }
    if conflicts > 0 {
        parts.push(counted(conflicts, "conflict", "conflicts"));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// What is to be said of exactly this path besides.
pub(super) fn notes(plan: &Plan, path: &RelPath) -> Vec<String> {
    let speaks_of_it = |notice: &&Notice| match notice {
        Notice::MountPoint { path: other, .. } | Notice::ForeignDestination { path: other } => other == path,
        _ => false,
    };
    plan.notices.iter().filter(speaks_of_it).map(notice_words).collect()
}
