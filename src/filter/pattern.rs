//! One line of a pattern list: gitignore syntax in, a [`Pattern`] out that is matched component by component.
//!
//! A pattern with a `/` before its end is matched from its base on: the positions it has reached inside a directory are a
//! [`Positions`] set, carried down the tree, so that an entry is judged by its name alone and a pattern that can match
//! nothing below a directory is known there.

use crate::value::Case;

use super::segment::{Flaw, Segment, Token, read_class, take};

/// Most components in one pattern: the positions of a pattern are the bits of one word.
pub(super) const COMPONENTS_MAX: usize = 64;

/// Why a pattern is refused: it could never match, so something else was meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum PatternFlaw {
    /// Only `!` or slashes.
    #[error("nothing is left of the pattern without its `!` and slashes")]
    Empty,
    /// `a//b`.
    #[error("two slashes in a row never match; write one")]
    DoubleSlash,
    /// `.` or `..` as a component.
    #[error(
        "a component `.` or `..` never matches; paths are written from the rule's source on, `/name` for one right there"
    )]
    Dots,
    /// A NUL byte.
    #[error("a NUL byte cannot be part of a name")]
    Nul,
    /// A class without its end.
    #[error("`[` has no `]`; write `\\[` for the character itself")]
    OpenClass,
    /// A class name that is none.
    #[error(
        "the class is not one of [:alnum:] [:alpha:] [:blank:] [:cntrl:] [:digit:] [:graph:] [:lower:] [:print:] [:punct:] \
         [:space:] [:upper:] [:xdigit:]"
    )]
    UnknownClass,
    /// `\` at the end.
    #[error("a `\\` needs a character after it; write `\\\\` for the character itself")]
    LoneBackslash,
    /// More components than a word has bits.
    #[error("the pattern has more than {COMPONENTS_MAX} components")]
    TooDeep,
}

impl From<Flaw> for PatternFlaw {
    fn from(flaw: Flaw) -> Self {
        match flaw {
            Flaw::OpenClass => Self::OpenClass,
            Flaw::UnknownClass => Self::UnknownClass,
        }
    }
}

/// A compiled line.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    /// It began with `!`.
    pub(super) negated: bool,
    /// It ended with `/`.
    pub(super) directories_only: bool,
    pub(super) shape: Shape,
}

/// What a pattern is matched against.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// The entry's own name, at any depth.
    Name(Segment),
    /// The path from the base on; never empty.
    Path(Box<[Part]>),
}

/// One component of a path pattern.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// `**`: any number of components; as the last one at least one.
    Deep,
    /// One component.
    Segment(Segment),
}

/// The parts of one path pattern that may be matched next inside some directory, a bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Positions(u64);

impl Pattern {
    /// Reads one line without its line end; `None` for a blank line or a comment.
    ///
    /// # Errors
    /// See [`PatternFlaw`]. git takes such lines and never matches them.
    pub(super) fn parse(line: &[u8], case: Case) -> Result<Option<Self>, PatternFlaw> {
        if line.first() == Some(&b'#') {
            return Ok(None);
        }
        let text = without_trailing_blanks(line);
        if text.is_empty() {
            return Ok(None);
        }
        if text.contains(&0) {
            return Err(PatternFlaw::Nul);
        }
        let (negated, text) = text.strip_prefix(b"!").map_or((false, text), |rest| (true, rest));
        let (directories_only, text) = text.strip_suffix(b"/").map_or((false, text), |rest| (true, rest));
        let anchored = text.contains(&b'/');
        let text = text.strip_prefix(b"/").unwrap_or(text);
        if text.iter().all(|&byte| byte == b'/') {
            return Err(PatternFlaw::Empty);
        }
        let components = read_components(text, case)?;
        let shape = if anchored {
            Shape::Path(parts(components, case)?)
        } else {
            Shape::Name(Segment::new(components.into_iter().flatten().collect(), case))
        };
        if let Shape::Name(Segment::Literal(name)) = &shape
            && is_dots(name)
        {
            return Err(PatternFlaw::Dots);
        }
        Ok(Some(Self { negated, directories_only, shape }))
    }
}

impl Positions {
    /// Where a pattern stands in its base directory.
    pub(super) fn start(parts: &[Part]) -> Self {
        Self(0).with(parts, 0)
    }

    /// Adds a position, and the one after it where `**` may stand for nothing.
    fn with(self, parts: &[Part], at: usize) -> Self {
        let is_open = matches!(parts.get(at), Some(Part::Deep)) && at + 1 < parts.len();
        Self(self.0 | 1 << at | if is_open { 1 << (at + 1) } else { 0 })
    }

    fn iter(self) -> impl Iterator<Item = usize> {
        (0..COMPONENTS_MAX).filter(move |at| self.0 >> at & 1 == 1)
    }

    /// Whether an entry of that name matches the whole pattern.
    pub(super) fn accept(self, parts: &[Part], name: &[u8]) -> bool {
        let last = parts.len() - 1;
        self.0 >> last & 1 == 1
            && match parts.last() {
                Some(Part::Deep) => true,
                Some(Part::Segment(segment)) => segment.matches(name),
                None => false,
            }
    }

    /// Where the pattern stands inside the directory of that name; `None` where nothing below it can match.
    pub(super) fn enter(self, parts: &[Part], name: &[u8]) -> Option<Self> {
        let mut inside = Self(0);
        for at in self.iter() {
            match parts.get(at) {
                Some(Part::Deep) => inside = inside.with(parts, at),
                Some(Part::Segment(segment)) if at + 1 < parts.len() && segment.matches(name) => {
                    inside = inside.with(parts, at + 1);
                }
                _ => {}
            }
        }
        (inside.0 != 0).then_some(inside)
    }
}

/// The line without the blanks at its end, apart from an escaped one.
fn without_trailing_blanks(line: &[u8]) -> &[u8] {
    let mut end = 0;
    let mut bytes = line.iter().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b' ' => {}
            b'\\' => {
                let escaped = bytes.next();
                end = escaped.map_or(at, |(at, _)| at) + 1;
            }
            _ => end = at + 1,
        }
    }
    line.get(..end).unwrap_or(line)
}

/// Reads tokens, a list for each component.
fn read_components(text: &[u8], case: Case) -> Result<Vec<Vec<Token>>, PatternFlaw> {
    let mut components = vec![Vec::new()];
    let mut rest = text;
    while let Some(byte) = take(&mut rest) {
        let token = match byte {
            b'*' => Token::Star,
            b'?' => Token::Any,
            b'[' => read_class(&mut rest, case)?,
            b'\\' => Token::Byte(take(&mut rest).ok_or(PatternFlaw::LoneBackslash)?),
            _ => Token::Byte(byte),
        };
        if token == Token::Byte(b'/') {
            components.push(Vec::new());
        } else if let Some(component) = components.last_mut() {
            component.push(token);
        }
    }
    Ok(components)
}

/// Makes parts of components, several `**` in a row being one.
fn parts(components: Vec<Vec<Token>>, case: Case) -> Result<Box<[Part]>, PatternFlaw> {
    let mut parts: Vec<Part> = Vec::with_capacity(components.len());
    for tokens in components {
        if tokens.is_empty() {
            return Err(PatternFlaw::DoubleSlash);
        }
        if tokens.len() > 1 && tokens.iter().all(|token| *token == Token::Star) {
            if !matches!(parts.last(), Some(Part::Deep)) {
                parts.push(Part::Deep);
            }
            continue;
        }
        let segment = Segment::new(tokens, case);
        if matches!(&segment, Segment::Literal(name) if is_dots(name)) {
            return Err(PatternFlaw::Dots);
        }
        parts.push(Part::Segment(segment));
    }
    if parts.len() > COMPONENTS_MAX {
        return Err(PatternFlaw::TooDeep);
    }
    Ok(parts.into())
}

fn is_dots(name: &[u8]) -> bool {
    matches!(name, b"." | b"..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_could_never_match_are_refused() {
        for (text, flaw) in [
            ("!", PatternFlaw::Empty),
            ("/", PatternFlaw::Empty),
            ("!/", PatternFlaw::Empty),
            ("///", PatternFlaw::Empty),
            ("a//b", PatternFlaw::DoubleSlash),
            ("//a", PatternFlaw::DoubleSlash),
            ("\\/a", PatternFlaw::DoubleSlash),
            ("a//", PatternFlaw::DoubleSlash),
            ("./a", PatternFlaw::Dots),
            ("a/../b", PatternFlaw::Dots),
            ("..", PatternFlaw::Dots),
            ("a\0", PatternFlaw::Nul),
            ("[abc", PatternFlaw::OpenClass),
            ("[]", PatternFlaw::OpenClass),
            ("[a\\", PatternFlaw::OpenClass),
            ("[[:digits:]]", PatternFlaw::UnknownClass),
            ("a\\", PatternFlaw::LoneBackslash),
            ("a\\/", PatternFlaw::LoneBackslash),
        ] {
            assert_eq!(Pattern::parse(text.as_bytes(), Case::Sensitive).err(), Some(flaw), "{text:?}");
        }
        let deep = |components: usize| vec!["a"; components].join("/");
        assert!(Pattern::parse(deep(COMPONENTS_MAX).as_bytes(), Case::Sensitive).is_ok());
        let flaw = Pattern::parse(deep(COMPONENTS_MAX + 1).as_bytes(), Case::Sensitive).err();
        assert_eq!(flaw, Some(PatternFlaw::TooDeep));
    }

    #[test]
    fn comments_and_blank_lines_are_no_patterns() {
        for text in ["", "   ", "#", "# *.tmp", "#!x"] {
            assert!(matches!(Pattern::parse(text.as_bytes(), Case::Sensitive), Ok(None)), "{text:?}");
        }
    }

    #[test]
    fn blanks_at_the_end_are_cut_unless_escaped() {
        for (line, text) in
            [("a  ", "a"), ("a\\ ", "a\\ "), ("a\\  ", "a\\ "), (" a b ", " a b"), ("a\\\\ ", "a\\\\")]
        {
            assert_eq!(without_trailing_blanks(line.as_bytes()), text.as_bytes(), "{line:?}");
        }
    }

    #[test]
    fn the_deepest_pattern_still_matches() {
        let text = vec!["a"; COMPONENTS_MAX].join("/");
        let Ok(Some(Pattern { shape: Shape::Path(parts), .. })) =
            Pattern::parse(text.as_bytes(), Case::Sensitive)
        else {
            panic!("a path pattern");
        };
        let mut positions = Positions::start(&parts);
        for _ in 1..COMPONENTS_MAX {
            assert!(!positions.accept(&parts, b"a"));
            positions = positions.enter(&parts, b"a").unwrap();
        }
        assert!(positions.accept(&parts, b"a"));
        assert_eq!(positions.enter(&parts, b"a"), None);
    }
}
