//! Numbers and times as people read them.

use std::time::Duration;

use crate::plan::Totals;
use crate::value::{ByteCount, RelPath};

/// `1,204`.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 entry`, `2 entries`.
pub(super) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// A path as people read it: the root itself is `.`.
pub(super) fn shown(path: &RelPath) -> String {
    if path.is_root() { ".".to_owned() } else { path.to_string() }
}

/// `32 ms`, `0.8 s`, `3 min 05 s`, `2 h 03 min`.
pub(super) fn span(time: Duration) -> String {
    let tenths = time.as_millis() / 100;
    let seconds = time.as_secs();
    match seconds {
        0 if tenths == 0 => format!("{} ms", time.as_millis()),
        0..60 => format!("{}.{} s", tenths / 10, tenths % 10),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// How long ago something was: `2 hours ago`, `less than a minute ago`.
pub(super) fn ago(seconds: i128) -> String {
    let Ok(seconds) = u64::try_from(seconds) else {
        return "in what is the future by this clock".to_owned();
    };
    match seconds {
        0..60 => "less than a minute ago".to_owned(),
        60..3600 => counted(seconds / 60, "minute ago", "minutes ago"),
        3600..86_400 => counted(seconds / 3600, "hour ago", "hours ago"),
        _ => counted(seconds / 86_400, "day ago", "days ago"),
    }
}

/// What was done (or will be): `12 copied, 3 replaced, 1 removed`; empty for nothing.
pub(super) fn actions(totals: &Totals, tense: Tense) -> String {
    let words: [(u64, [&str; 2]); 9] = [
        (totals.copy, ["to copy", "copied"]),
        (totals.replace, ["to replace", "replaced"]),
        (totals.moves, ["to move", "moved"]),
        (totals.remove, ["to remove", "removed"]),
        (totals.mkdir, ["directories to make", "directories made"]),
        (totals.link, ["to link", "linked"]),
        (totals.symlink, ["symlinks to make", "symlinks made"]),
        (totals.special, ["special files to make", "special files made"]),
        (totals.metadata, ["with metadata to mend", "with metadata mended"]),
    ];
    let parts = words.iter().filter(|(number, _)| *number > 0).map(|(number, [future, past])| {
        let word = match tense {
            Tense::Future => future,
            Tense::Past => past,
        };
        format!("{} {}", count(*number), if *number == 1 { singular(word) } else { (*word).to_owned() })
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// Before or after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tense {
    /// A plan.
    Future,
    /// A run.
    Past,
}

fn singular(word: &str) -> String {
    word.replace("directories", "directory").replace("symlinks", "symlink").replace("files", "file")
}

/// `4.2 MB in 0.8 s`; without bytes `0.8 s`.
pub(super) fn amount(bytes: u64, time: Duration) -> String {
    match bytes {
        0 => span(time),
        bytes => format!("{} in {}", ByteCount(bytes), span(time)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times() {
        assert_eq!(
            ["0", "999", "1,000", "1,234,567"],
            [0, 999, 1000, 1_234_567].map(count).each_ref().map(String::as_str)
        );
        assert_eq!(span(Duration::from_millis(849)), "0.8 s");
        assert_eq!(span(Duration::from_millis(32)), "32 ms");
        assert_eq!(span(Duration::from_secs(185)), "3 min 05 s");
        assert_eq!(span(Duration::from_secs(7380)), "2 h 03 min");
        assert_eq!(counted(1, "entry", "entries"), "1 entry");
        assert_eq!(
            [59, 60, 7_300, 200_000].map(ago),
            ["less than a minute ago", "1 minute ago", "2 hours ago", "2 days ago"]
        );
        assert!(ago(-1).contains("future"));
    }

    #[test]
    fn sums_of_actions() {
        let totals = Totals { copy: 12, mkdir: 1, remove: 1000, ..Totals::default() };
        assert_eq!(actions(&totals, Tense::Past), "12 copied, 1,000 removed, 1 directory made");
        assert_eq!(actions(&totals, Tense::Future), "12 to copy, 1,000 to remove, 1 directory to make");
        assert_eq!(actions(&Totals::default(), Tense::Past), "");
    }
}
