//! The rows of `show`: each resolved value of a rule as YAML text, with the place that set it.

use super::node::Span;
use super::sources::Sources;
use super::values::{Fields, Row, Sited, Value};
use super::{Origin, PatternList, PatternOrigin, Site};

/// The rows of one rule, in the order of the key list.
pub(super) fn rows(rule: &str, fields: &Fields, sources: &Sources) -> Vec<Origin> {
    let mut rows = Vec::new();
    collect(&format!("rules.{rule}"), fields, sources, &mut rows);
    rows
}

/// The row of one of the job's own keys.
pub(super) fn row(key: &str, sited: &Sited, sources: &Sources) -> Origin {
    let site = site(sited.span.as_ref(), sources);
    Origin { key: key.to_owned(), value: super::diagnose::safe(&sited.shown), site }
}

fn site(span: Option<&Span>, sources: &Sources) -> Option<Site> {
    span.map(|span| sources.site(span.start))
}

/// Where each pattern of one rule is written.
pub(super) fn patterns(rule: &str, fields: &Fields, sources: &Sources) -> Vec<PatternOrigin> {
    let mut patterns = Vec::new();
    for (list, name) in [(PatternList::Exclude, "exclude"), (PatternList::Include, "include")] {
        patterns.extend(fields.patterns(name).enumerate().map(|(index, item)| {
            let Site { file, line } = sources.site(item.span.start);
            PatternOrigin { rule: rule.to_owned(), list, index, file, line }
        }));
    }
    patterns
}

fn collect(path: &str, fields: &Fields, sources: &Sources, rows: &mut Vec<Origin>) {
    for (key, sited) in &fields.0 {
        let key = format!("{path}.{}", key.name);
        match sited {
            Sited { value: Value::Map(inner), .. } => collect(&key, inner, sources, rows),
            Sited { value: Value::Broken, .. } => {}
            Sited { value: Value::Timetable(_, inner), .. } => {
                rows.extend(inner.iter().map(|Row { key: inner, shown, span }| Origin {
                    key: format!("{key}.{inner}"),
                    value: super::diagnose::safe(shown),
                    site: site(span.as_ref(), sources),
                }));
            }
            Sited { span, shown, .. } => {
                let site = site(span.as_ref(), sources);
                rows.push(Origin { key, value: super::diagnose::safe(shown), site });
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
