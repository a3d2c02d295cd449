//! Bytes as base64 text (RFC 4648 §4, with padding): what JSON holds of paths that are not UTF-8.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Writes bytes as base64.
#[must_use]
pub fn to_base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().fold(0u32, |group, &byte| group << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = (group >> (18 - 6 * place)) & 63;
            let letter = LETTERS.get(digit as usize).copied().unwrap_or(b'=');
            text.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

/// Reads what [`to_base64`] wrote; `None` for anything else, stray bits and missing padding among it.
#[must_use]
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for chunk in text.trim_end_matches('=').as_bytes().chunks(4) {
        let mut group = 0u32;
        for letter in chunk {
            let digit = LETTERS.iter().position(|digit| digit == letter)?;
            group = group << 6 | u32::try_from(digit).ok()?;
        }
        let group = group << (6 * (4 - chunk.len()));
        let whole = group.to_be_bytes();
        bytes.extend_from_slice(whole.get(1..chunk.len())?);
    }
    (to_base64(&bytes) == text).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts_of_rfc_4648() {
        for (bytes, text) in [
            (&b""[..], ""),
            (b"f", "Zg=="),
            (b"fo", "Zm8="),
            (b"foo", "Zm9v"),
            (b"foob", "Zm9vYg=="),
            (b"fooba", "Zm9vYmE="),
            (b"foobar", "Zm9vYmFy"),
            (b"\xff\xfe", "//4="),
            (b"\xff\xfe\xfd", "//79"),
        ] {
            assert_eq!(to_base64(bytes), text);
            assert_eq!(from_base64(text).unwrap(), bytes);
        }
    }

    #[test]
    fn one_text_for_each_byte_string() {
        for text in ["Zg", "Zg=", "Zh==", "====", "Z===", "Zm9v!AAA", "Zg==Zg=="] {
            assert_eq!(from_base64(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn goes_both_ways(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(from_base64(&to_base64(&bytes)), Some(bytes));
        }
    }
}
