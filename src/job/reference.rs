//! The reference table of the README, from the key lists.

use super::keys::{CEILING, Fallback, Fits, Form, JOB, Key, RULE, Takes};

/// Builds the table.
pub(super) fn build() -> String {
    let mut table = String::from("| key | values, the default first | meaning |\n|---|---|---|\n");
    rows(JOB, "", &mut table);
    table.push_str("| **of a rule** | | |\n");
    rows(RULE, "", &mut table);
    table
}

fn rows(keys: &'static [Key], path: &str, table: &mut String) {
    for key in keys {
        let name = if path.is_empty() { key.name.to_owned() } else { format!("{path}.{}", key.name) };
        let fits = match key.fits {
            Fits::Any => "",
            Fits::Mirror => " (mirror)",
            Fits::Backup => " (backup)",
        };
        let cells = format!("| `{name}`{fits} | {} | {} |\n", values(key), key.meaning.replace('|', "\\|"));
        table.push_str(&cells);
        match key.takes {
            Takes::Map(inner) if key.name != "defaults" => rows(inner, &name, table),
            Takes::WordOrMap(_, inner) => rows(inner, &name, table),
            _ => {}
        }
    }
}

/// The values with the default first, and an em dash where nothing stands without it.
fn values(key: &'static Key) -> String {
    let mut parts = match key.takes {
        Takes::Scalar(forms) => forms.iter().flat_map(|form| form_texts(*form)).collect(),
        Takes::Prose => vec!["text".to_owned()],
        Takes::Path => vec!["path".to_owned()],
        Takes::Patterns => vec!["list, or block text".to_owned()],
        Takes::Files => vec!["path, or a list of paths".to_owned()],
        Takes::Names | Takes::Rules => vec!["list".to_owned()],
        Takes::Map(_) | Takes::Variables | Takes::RuleMap => vec!["map".to_owned()],
        Takes::Timetable => {
            let mut texts: Vec<String> = CEILING.iter().flat_map(|form| form_texts(*form)).collect();
            texts.push("map".to_owned());
            texts
        }
        Takes::WordOrMap(word, _) => vec!["map".to_owned(), format!("`{word}`")],
    };
    match key.fallback {
        Fallback::Required => format!("{} (required)", parts.join(", ")),
        Fallback::Members => parts.join(", "),
        Fallback::Unset | Fallback::Text("[]") => format!("–; {}", parts.join(", ")),
        Fallback::ByMode { mirror, backup } => {
            format!("`{mirror}` in a mirror, `{backup}` in a backup; {}", parts.join(", "))
        }
        Fallback::Text(text) => {
            let default = format!("`{text}`");
            parts.retain(|part| *part != default);
            parts.insert(0, default);
            parts.join(", ")
        }
    }
}

fn form_texts(form: Form) -> Vec<String> {
    let one = |text: &str| vec![text.to_owned()];
    match form {
        Form::Word(word) => vec![format!("`{word}`")],
        Form::Switch => vec!["`true`".to_owned(), "`false`".to_owned()],
        Form::Count { least, most } if least == most => vec![format!("`{least}`")],
        Form::Count { least: 0, most: u64::MAX } => one("count"),
        Form::Count { least, most } if most >= u64::from(u32::MAX) => vec![format!("number from {least} on")],
        Form::Count { least, most } => vec![format!("number {least} … {most}")],
        Form::Size { .. } => one("size"),
        Form::Block => one("power of two, 64KiB … 4MiB"),
        Form::Duration => one("duration"),
        Form::Age => one("duration or date"),
        Form::Percent => one("percentage"),
        Form::Rate => one("rate such as `20MB/s`"),
        Form::Zone => one("time zone"),
    }
}
