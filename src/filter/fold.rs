//! Folding of names and patterns where case does not count.
//!
//! Letters are folded one by one, so that the result depends on nothing but the letter; bytes that are not UTF-8 stay
//! as they are.

use std::borrow::Cow;

/// The name as it is compared where `a` and `A` are one letter.
///
/// Allocates only where something changes. ASCII is folded always, other letters where the bytes are valid UTF-8.
pub(super) fn fold(name: &[u8]) -> Cow<'_, [u8]> {
    if name.is_ascii() {
        if name.iter().any(u8::is_ascii_uppercase) {
            return Cow::Owned(name.to_ascii_lowercase());
        }
        return Cow::Borrowed(name);
    }
    let mut folded = Vec::with_capacity(name.len());
    let mut buffer = [0; 4];
    for chunk in name.utf8_chunks() {
        for letter in chunk.valid().chars() {
            folded.extend_from_slice(fold_letter(letter).encode_utf8(&mut buffer).as_bytes());
        }
        folded.extend_from_slice(chunk.invalid());
    }
    Cow::Owned(folded)
}

/// Simple case folding: lower case of the upper case, so that `ς` and `σ`, `ſ` and `s` meet, as in Unicode's
/// `CaseFolding.txt` (status C and S). Letters whose case has more than one letter fold to themselves.
fn fold_letter(letter: char) -> char {
    // The dotless i is no lower case of I outside Turkic languages, and CaseFolding.txt keeps it apart.
    if letter == 'ı' {
        return letter;
    }
    let upper = single(letter.to_uppercase()).unwrap_or(letter);
    single(upper.to_lowercase()).unwrap_or(upper)
}

fn single(mut letters: impl Iterator<Item = char>) -> Option<char> {
    let first = letters.next()?;
    letters.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_both_cases_meet() {
        for (one, other) in
            [("README", "readme"), ("Grüße", "GRÜßE"), ("ΣΑΣ", "σας"), ("ſ", "S"), ("ДОМ", "дом"), ("K", "k")]
        {
            assert_eq!(fold(one.as_bytes()), fold(other.as_bytes()), "{one} {other}");
        }
        for (one, other) in [("ı", "i"), ("a", "ä"), ("ss", "ß")] {
            assert_ne!(fold(one.as_bytes()), fold(other.as_bytes()), "{one} {other}");
        }
    }

    #[test]
    fn bytes_that_are_no_letters_stay() {
        assert_eq!(&*fold(b"A\xff\xc3B"), b"a\xff\xc3b");
        assert!(matches!(fold(b"plain-1.txt"), Cow::Borrowed(_)));
    }
}
