//! "Did you mean": the nearest of a few known words.

/// Words of other programs for what Twinlane calls otherwise.
const SYNONYMS: [(&str, &str); 14] = [
    ("delete", "remove"),
    ("deletes", "remove"),
    ("target", "destination"),
    ("dest", "destination"),
    ("dst", "destination"),
    ("to", "destination"),
    ("src", "source"),
    ("from", "source"),
    ("type", "mode"),
    ("ignore", "exclude"),
    ("filter", "exclude"),
    ("vars", "variables"),
    ("jobs", "rules"),
    ("retention", "versions"),
];

/// A word longer than this is no slip of the finger, and comparing it would only cost time.
const LENGTH_MAX: usize = 64;

/// The known word (a key, a value, a job's or a rule's name) that `word` was most likely meant to be.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LENGTH_MAX {
        return None;
    }
    let word = plain(word);
    let synonym = SYNONYMS.iter().find(|(theirs, _)| *theirs == word).map(|(_, ours)| *ours);
    let mut best = None;
    for candidate in known {
        if synonym == Some(candidate) {
            return Some(candidate);
        }
        let known = plain(candidate);
        let distance = distance(&word, &known);
        let letters = word.chars().count().max(known.chars().count());
        // A third of the letters may differ, as rustc allows; all of them make another word.
        let allowed = letters.max(3) / 3;
        if distance <= allowed && distance < letters && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Lower case, and `-` for `_`, which people take for one another.
fn plain(word: &str) -> String {
    word.trim().to_lowercase().replace(['-', ' '], "_")
}

/// Optimal string alignment distance: insertions, deletions, replacements and swaps of neighbours.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    let mut last_left = None;
    for (row, letter) in left.chars().enumerate() {
        let mut current = vec![row + 1];
        let mut last_right = None;
        for (column, &other) in right.iter().enumerate() {
            let at = |line: &[usize], index: usize| line.get(index).copied().unwrap_or(usize::MAX - 1);
            let mut least = (at(&above, column + 1) + 1).min(at(&current, column) + 1);
            least = least.min(at(&above, column) + usize::from(letter != other));
            if last_left == Some(other) && last_right == Some(letter) && column > 0 {
                least = least.min(at(&before, column - 1) + 1);
            }
            current.push(least);
            last_right = Some(other);
        }
        before = std::mem::replace(&mut above, current);
        last_left = Some(letter);
    }
    above.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_counted() {
        for (left, right, expected) in [
            ("", "", 0),
            ("exlude", "exclude", 1),
            ("mdoe", "mode", 1),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(left, right), expected, "{left} {right}");
            assert_eq!(distance(right, left), expected, "{right} {left}");
        }
    }

    #[test]
    fn the_nearest_word_is_offered_and_a_far_one_is_not() {
        let known = ["mode", "source", "destination", "exclude", "remove", "on_missing"];
        for (word, expected) in [
            ("exlude", Some("exclude")),
            ("Delete", Some("remove")),
            ("On-Missing", Some("on_missing")),
            ("destinaton", Some("destination")),
            ("schedule", None),
            ("x", None),
            ("MODE", Some("mode")),
            (&"mode".repeat(40), None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
        assert_eq!(nearest("j", ["n", "jj"]), Some("jj"), "another letter is another word");
        assert_eq!(nearest("nas_pul", ["NAS-pull"]), Some("NAS-pull"));
    }
}
