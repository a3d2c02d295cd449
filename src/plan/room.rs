//! What the destination's place can hold: names, sizes, kinds, and names that differ by case alone.

use std::collections::HashMap;

use crate::compare::{Finding, Unheld, Verdict};
use crate::value::{Case, Kind, Place};

use super::seal::{Terms, User};

/// Whether the place has no room for the name, or for a file of this size.
pub(super) fn is_unholdable(finding: &Finding, place: &Place) -> bool {
    let Some(source) = &finding.source else { return false };
    let too_long =
        finding.destination.is_none() && finding.name.len() > place.name_bytes_max.min(usize::from(u16::MAX));
    too_long || (source.kind == Kind::File && source.size > place.file_bytes_max)
}

/// What kind of thing the place, or the user, cannot make at all.
pub(super) fn unheld(finding: &Finding, terms: &Terms<'_>) -> Option<Unheld> {
    match finding.source?.kind {
        Kind::Symlink if !terms.place.symlinks => Some(Unheld::Symlinks),
        Kind::CharDevice | Kind::BlockDevice if terms.user == User::Other => Some(Unheld::Devices),
        _ => None,
    }
}

/// For each finding of one directory, whether its name is another one's in the destination too. Names of the source
/// count, and extra names of the destination: a name that changed its case alone is both.
pub(super) fn collisions(findings: &[Finding], case: Case) -> Vec<bool> {
    if case == Case::Sensitive {
        return vec![false; findings.len()];
    }
    let counts = |finding: &Finding| finding.verdict != Verdict::Vanished && !finding.name.is_empty();
    let mut names: HashMap<Vec<u8>, (u64, u64)> = HashMap::new();
    for finding in findings.iter().filter(|finding| counts(finding)) {
        let (sources, all) = names.entry(folded(&finding.name)).or_default();
        *sources += u64::from(finding.source.is_some());
        *all += 1;
    }
    let collides = |finding: &Finding| {
        counts(finding)
            && names.get(&folded(&finding.name)).is_some_and(|&(sources, all)| sources > 0 && all > 1)
    };
    findings.iter().map(collides).collect()
}

/// A name without its case. Where it is no UTF-8, of its ASCII letters only.
fn folded(name: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(name) {
        // Upper first, so that letters with one upper but two lower forms (`σ` and `ς`) meet.
        Ok(text) => text.to_uppercase().to_lowercase().into_bytes(),
        Err(_) => name.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_meets_what_case_alone_tells_apart() {
        for (a, b) in [("Foo", "foo"), ("ÄRGER", "ärger"), ("ΣΑΣ", "σας"), ("straße", "STRASSE")] {
            assert_eq!(folded(a.as_bytes()), folded(b.as_bytes()), "{a} {b}");
        }
        assert_eq!(folded(b"A\xff"), folded(b"a\xff"));
        assert_ne!(folded(b"a\xfe"), folded(b"a\xff"));
    }
}
