//! The rows of `show`: each resolved value of a rule as YAML text, with the line that set it.

use std::path::Path;

use super::node::Span;
use super::values::{Fields, Row, Sited, Value};
use super::{Origin, PatternList, PatternOrigin};

/// Where the lines of a text begin.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    pub(super) fn new(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// The line (1-based) of a byte offset.
    fn of(&self, offset: usize) -> usize {
        self.0.partition_point(|&end| end < offset) + 1
    }
}

/// The rows of one rule, in the order of the key list.
pub(super) fn rows(rule: &str, fields: &Fields, lines: &Lines) -> Vec<Origin> {
    let mut rows = Vec::new();
    collect(&format!("rules.{rule}"), fields, lines, &mut rows);
    rows
}

/// Where each pattern of one rule is written.
pub(super) fn patterns(rule: &str, fields: &Fields, file: &Path, lines: &Lines) -> Vec<PatternOrigin> {
    let mut patterns = Vec::new();
    for (list, name) in [(PatternList::Exclude, "exclude"), (PatternList::Include, "include")] {
        let Some(Value::List(items)) = fields.get(name).map(|sited| &sited.value) else { continue };
        patterns.extend(items.iter().enumerate().map(|(index, item)| PatternOrigin {
            rule: rule.to_owned(),
            list,
            index,
            file: file.to_path_buf(),
            line: lines.of(item.span.start),
        }));
    }
    patterns
}

fn collect(path: &str, fields: &Fields, lines: &Lines, rows: &mut Vec<Origin>) {
    for (key, sited) in &fields.0 {
        let key = format!("{path}.{}", key.name);
        match sited {
            Sited { value: Value::Map(inner), .. } => collect(&key, inner, lines, rows),
            Sited { value: Value::Broken, .. } => {}
            Sited { value: Value::Timetable(_, inner), .. } => {
                rows.extend(inner.iter().map(|Row { key: inner, shown, span }| Origin {
                    key: format!("{key}.{inner}"),
                    value: super::diagnose::safe(shown),
                    line: span.as_ref().map(|span| lines.of(span.start)),
                }));
            }
            Sited { span, shown, .. } => {
                let line = span.as_ref().map(|span: &Span| lines.of(span.start));
                rows.push(Origin { key, value: super::diagnose::safe(shown), line });
            }
        }
    }
}

/// A text as YAML that reads back as the same text.
pub(super) fn yaml_text(text: &str) -> String {
    let safe_start =
        text.starts_with(|letter: char| letter.is_alphanumeric() || matches!(letter, '/' | '.' | '_'));
    let plain = safe_start
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !text
            .chars()
            .any(|letter| letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}'))
        && !matches!(
            text.to_lowercase().as_str(),
            "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n"
        )
        && text.parse::<f64>().is_err();
    if plain { text.to_owned() } else { quoted_yaml(text) }
}

/// The same inside brackets.
pub(super) fn yaml_item(text: &str) -> String {
    if text.contains([',', '[', ']', '{', '}']) { quoted_yaml(text) } else { yaml_text(text) }
}

/// Single quotes where nothing needs an escape, since people read these lines.
fn quoted_yaml(text: &str) -> String {
    if text
        .chars()
        .any(|letter| letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}'))
    {
        serde_json::Value::from(text).to_string()
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}
