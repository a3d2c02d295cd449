//! Paths below a root: bytes, never assumed to be UTF-8.

use std::fmt;

/// A path below a root: components joined by `/`, none of them empty, `.` or `..`; empty means the root itself.
///
/// Ordered by bytes with `/` sorting below every other byte, so that everything below a directory follows it
/// directly.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct RelPath(Box<[u8]>);

/// Why some bytes are not a [`RelPath`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RelPathError {
    /// It starts with `/`.
    #[error("the path is absolute")]
    Absolute,
    /// It holds an empty component, `.` or `..`.
    #[error("the path holds an empty component, `.` or `..`")]
    Component,
    /// It holds a NUL byte.
    #[error("the path holds a NUL byte")]
    Nul,
}

impl RelPath {
    /// The root itself.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// Checks and takes bytes that come from a person or a file.
    ///
    /// # Errors
    /// See [`RelPathError`]; the path is refused as it stands, never tidied.
    pub fn parse(bytes: &[u8]) -> Result<Self, RelPathError> {
        if bytes.is_empty() {
            return Ok(Self::root());
        }
        if bytes.first() == Some(&b'/') {
            return Err(RelPathError::Absolute);
        }
        if bytes.contains(&0) {
            return Err(RelPathError::Nul);
        }
        let bad = |part: &[u8]| part.is_empty() || part == b"." || part == b"..";
        if bytes.split(|&byte| byte == b'/').any(bad) {
            return Err(RelPathError::Component);
        }
        Ok(Self(bytes.into()))
    }

    /// This path and one name below it. The name comes from a directory listing and is taken as it is.
    #[must_use]
    pub fn join(&self, name: &[u8]) -> Self {
        debug_assert!(!name.is_empty() && !name.contains(&b'/'), "a name is one component");
        if self.is_root() {
            return Self(name.into());
        }
        let mut bytes = Vec::with_capacity(self.0.len() + 1 + name.len());
        bytes.extend_from_slice(&self.0);
        bytes.push(b'/');
        bytes.extend_from_slice(name);
        Self(bytes.into())
    }

    /// The directory above, or `None` for the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        let end = self.0.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        Some(Self(self.0.get(..end).unwrap_or_default().into()))
    }

    /// The last component, empty for the root.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        self.0.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
    }

    /// The components from the top down; none for the root.
    pub fn components(&self) -> impl Iterator<Item = &[u8]> {
        self.0.split(|&byte| byte == b'/').filter(|part| !part.is_empty())
    }

    /// Number of components; 0 for the root.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.components().count()
    }

    /// Whether this is the root.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes, components joined by `/`.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether this is `above` or lies below it.
    #[must_use]
    pub fn is_within(&self, above: &Self) -> bool {
        above.is_root()
            || self
                .0
                .strip_prefix(&*above.0)
                .is_some_and(|rest| rest.is_empty() || rest.first() == Some(&b'/'))
    }
}

impl Ord for RelPath {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        /// Compared at once; long paths that begin alike are common in deep trees.
        const PIECE_BYTES: usize = 64;
        let pieces = self.0.chunks(PIECE_BYTES).zip(other.0.chunks(PIECE_BYTES));
        let start = pieces.take_while(|(a, b)| a == b && a.len() == PIECE_BYTES).count() * PIECE_BYTES;
        let rank = |byte: &u8| if *byte == b'/' { 0 } else { u16::from(*byte) + 1 };
        let rest = |path| <[u8]>::get(path, start..).unwrap_or_default().iter().map(rank);
        rest(&self.0).cmp(rest(&other.0))
    }
}

impl PartialOrd for RelPath {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&escape(&self.0))
    }
}

impl fmt::Debug for RelPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "RelPath({self})")
    }
}

/// Renders bytes for people: UTF-8 as it is, control characters and bytes that are no UTF-8 as `\n`, `\t`,
/// `\r`, `\\` or `\xNN`. No two byte strings render alike.
#[must_use]
pub fn escape(bytes: &[u8]) -> String {
    use fmt::Write as _;
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '\n' => text.push_str("\\n"),
                '\t' => text.push_str("\\t"),
                '\r' => text.push_str("\\r"),
                '\\' => text.push_str("\\\\"),
                // Control characters drive terminals; the bidirectional ones reorder what is read.
                _ if letter.is_control()
                    || matches!(letter, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}') =>
                {
                    let mut buffer = [0u8; 4];
                    for byte in letter.encode_utf8(&mut buffer).bytes() {
                        let _ = write!(text, "\\x{byte:02x}");
                    }
                }
                _ => text.push(letter),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn refuses_what_leaves_the_root() {
        for (text, error) in [
            ("/abs", RelPathError::Absolute),
            ("../../x", RelPathError::Component),
            ("a/../../x", RelPathError::Component),
            ("a//b", RelPathError::Component),
            ("a/", RelPathError::Component),
            (".", RelPathError::Component),
            ("a\0b", RelPathError::Nul),
        ] {
            assert_eq!(RelPath::parse(text.as_bytes()), Err(error), "{text:?}");
        }
    }

    #[test]
    fn everything_below_a_directory_follows_it() {
        let mut paths: Vec<RelPath> = ["a.b", "a/z", "a", "a/b", "a-"]
            .iter()
            .map(|text| RelPath::parse(text.as_bytes()).unwrap())
            .collect();
        paths.sort();
        let texts: Vec<String> = paths.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["a", "a/b", "a/z", "a-", "a.b"]);
    }

    #[test]
    fn parents_names_and_within() {
        let path = RelPath::parse(b"a/b/c").unwrap();
        assert_eq!(path.parent().unwrap().as_bytes(), b"a/b");
        assert_eq!(path.name(), b"c");
        assert_eq!(path.depth(), 3);
        assert!(path.is_within(&RelPath::root()));
        assert!(path.is_within(&RelPath::parse(b"a/b").unwrap()));
        assert!(!path.is_within(&RelPath::parse(b"a/bb").unwrap()));
        assert!(!RelPath::parse(b"ab").unwrap().is_within(&RelPath::parse(b"a").unwrap()));
        assert_eq!(RelPath::parse(b"a").unwrap().parent(), Some(RelPath::root()));
        assert_eq!(RelPath::root().parent(), None);
    }

    #[test]
    fn shows_control_characters_and_foreign_bytes_escaped() {
        assert_eq!(escape(b"a\xffb\n\x1b[31m\\"), "a\\xffb\\n\\x1b[31m\\\\");
        assert_eq!(escape("Grüße".as_bytes()), "Grüße");
        assert_eq!(escape("a\u{202e}b".as_bytes()), "a\\xe2\\x80\\xaeb");
    }

    proptest! {
        #[test]
        fn paths_are_ordered_by_their_components(a in "[a!/-]{0,140}", b in "[a!/-]{0,140}", alike in "[a/]{0,140}") {
            let path = |text: String| RelPath(text.split('/').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/").into_bytes().into());
            let (a, b) = (path(alike.clone() + &a), path(alike + &b));
            prop_assert_eq!(a.cmp(&b), a.components().cmp(b.components()));
        }

        #[test]
        fn no_two_byte_strings_render_alike(a in proptest::collection::vec(any::<u8>(), 0..12), b in proptest::collection::vec(any::<u8>(), 0..12)) {
            prop_assert_eq!(a == b, escape(&a) == escape(&b));
        }
    }
}
