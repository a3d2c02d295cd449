//! A refusal for people: the numbers, the first entries, and the command that allows exactly this.

use crate::run::Refusal;

use super::call::Call;
use super::words::count;

/// The lines that explain a refusal of a rule, without the sentence itself.
pub(super) fn refusal_lines(refusal: &Refusal, call: &Call, rule: &str) -> Vec<String> {
    let mut lines = example_lines(refusal);
    lines.extend(way_on(refusal, call, rule));
    lines
}

/// The first entries that it is about.
fn example_lines(refusal: &Refusal) -> Vec<String> {
    let mut lines: Vec<String> = refusal.examples().into_iter().map(|entry| format!("  {entry}")).collect();
    let shown = lines.len() as u64;
    let all = match refusal {
        Refusal::Adoption { removals, replacements, .. } => removals + replacements,
        Refusal::Limits { limits } => {
            limits.iter().filter(|limit| !limit.first.is_empty()).map(|limit| limit.check.planned).sum()
        }
        _ => shown,
    };
    if all > shown && shown > 0 {
        lines.push(format!("  … and {} more", count(all - shown)));
    }
    lines
}

/// What is to be done about it: advice, or the command that allows exactly this.
pub(super) fn way_on(refusal: &Refusal, call: &Call, rule: &str) -> Vec<String> {
    let advice = refusal.advice().map(|advice| format!("help: {advice}"));
    let flags = refusal.flags();
    let command = || call.apply(&flags).unwrap_or_else(|| call.of_rule("run", rule, &flags));
    let allowing = (!flags.is_empty()).then(|| format!("to allow exactly this: {}", command()));
    advice.into_iter().chain(allowing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn names_entries_and_the_flag() {
        let refusal = Refusal::Adoption {
            path: PathBuf::from("/t"),
            removals: 7,
            replacements: 0,
            first: vec!["remove a".to_owned(), "remove b".to_owned()],
        };
        assert_eq!(
            refusal_lines(&refusal, &Call::new("job.yaml", None, Vec::new()), "rule"),
            [
                "  remove a",
                "  remove b",
                "  … and 5 more",
                "to allow exactly this: twinlane run job.yaml/rule --accept destination",
            ]
        );
    }
}
