//! Patterns that can never have a say, in words. No error: the file is sound, and most likely something else was meant.

use crate::filter::{IdleLine, Idleness, PatternList, idle_lines};
use crate::job::{Choice, Loaded, Rule};
use crate::value::{Case, escape};

/// What is to be said of a rule's patterns: a line each, which begins with the place of the pattern.
#[must_use]
pub fn idle_notes(loaded: &Loaded, rule: &Rule) -> Vec<String> {
    let case = match rule.ignore_case {
        Choice::Set(true) => Case::Insensitive,
        Choice::Set(false) | Choice::Auto => Case::Sensitive,
    };
    idle_lines(&rule.filter_spec(case)).iter().map(|idle| note(loaded, rule, idle)).collect()
}

fn note(loaded: &Loaded, rule: &Rule, idle: &IdleLine) -> String {
    let line = |list: PatternList, index: usize| {
        let mut origins = loaded.patterns.iter();
        origins
            .find(|origin| origin.rule == rule.name && origin.list == list && origin.index == index)
            .map(|origin| (origin.file.display().to_string(), origin.line))
    };
    let place = match line(idle.list, idle.index) {
        Some((file, line)) => format!("{file}, line {line}"),
        None => format!("rule {}", rule.name),
    };
    let text = text(rule, idle.list, idle.index);
    match &idle.why {
        Idleness::NothingBefore => {
            let list = match idle.list {
                PatternList::Exclude => "exclude",
                PatternList::Include => "include",
            };
            format!("{place}: {text} can never take anything back: no line of `{list}` comes before it")
        }
        Idleness::Excluded { by, with } => {
            let by = self::text(rule, PatternList::Exclude, *by);
            let all = match with {
                Some(directory) => format!("`exclude` leaves out `{directory}` with all below it, by {by}"),
                None => format!("`exclude` is judged first, and {by} leaves nothing for it"),
            };
            format!("{place}: {text} can never match: {all}")
        }
    }
}

fn text(rule: &Rule, list: PatternList, index: usize) -> String {
    let texts = match list {
        PatternList::Exclude => &rule.exclude,
        PatternList::Include => &rule.include,
    };
    let text = texts.get(index).map(|text| escape(text.as_bytes())).unwrap_or_default();
    format!("`{text}`")
}
