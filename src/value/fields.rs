//! Bytes as JSON text: UTF-8 as it is, anything else as base64.

use super::{from_base64, to_base64};

/// The two fields, `X` and `X_b64`, of which exactly one is given.
#[must_use]
pub fn to_fields(bytes: &[u8]) -> (Option<String>, Option<String>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (Some(text.to_owned()), None),
        Err(_) => (None, Some(to_base64(bytes))),
    }
}

/// The bytes of the two fields; `None` where both or neither are given, the base64 is none, or the bytes could have been text.
#[must_use]
pub fn from_fields(text: Option<&str>, base64: Option<&str>) -> Option<Vec<u8>> {
    match (text, base64) {
        (Some(text), None) => Some(text.as_bytes().to_vec()),
        (None, Some(text)) => from_base64(text).filter(|bytes| std::str::from_utf8(bytes).is_err()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_two_fields_goes_both_ways() {
        for (bytes, fields) in [(&b"a/b"[..], (Some("a/b"), None)), (b"\xff\xfe", (None, Some("//4=")))] {
            let (text, base64) = to_fields(bytes);
            assert_eq!((text.as_deref(), base64.as_deref()), fields);
            assert_eq!(from_fields(fields.0, fields.1).unwrap(), bytes);
        }
        assert_eq!(from_fields(None, None), None);
        assert_eq!(from_fields(Some("a"), Some("Zg==")), None);
        assert_eq!(from_fields(None, Some("Zg")), None);
        assert_eq!(from_fields(None, Some("Zg==")), None, "it is text");
    }
}
