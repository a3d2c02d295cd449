//! One component of a pattern: `*`, `?`, `[…]` and `\` against the bytes of one name, as git's `wildmatch.c` reads them.
//!
//! A component never spans a `/`, so a match takes at most pattern length × name length steps, whatever the pattern.

use crate::value::Case;

use super::fold::fold;

/// Why a class can never match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// `[` without its `]`.
    OpenClass,
    /// `[:name:]` with a name that POSIX does not know.
    UnknownClass,
}

/// A compiled component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    /// This name.
    Literal(Box<[u8]>),
    /// Names that begin so: `core*`.
    Prefix(Box<[u8]>),
    /// Names that end so: `*.tmp`.
    Suffix(Box<[u8]>),
    /// Anything else.
    Glob(Box<[Token]>),
}

/// One step of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// This byte.
    Byte(u8),
    /// `?`: one byte, as in git.
    Any,
    /// `*`: any number of bytes.
    Star,
    /// `[…]`: one byte of a set.
    Class(Box<ByteSet>),
}

/// A set of bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ByteSet([u64; 4]);

impl ByteSet {
    fn add(&mut self, byte: u8) {
        if let Some(word) = self.0.get_mut(usize::from(byte >> 6)) {
            *word |= 1 << (byte & 63);
        }
    }

    fn add_where(&mut self, is_member: impl Fn(u8) -> bool) {
        (0..=u8::MAX).filter(|&byte| is_member(byte)).for_each(|byte| self.add(byte));
    }

    fn has(&self, byte: u8) -> bool {
        self.0.get(usize::from(byte >> 6)).is_some_and(|word| word >> (byte & 63) & 1 == 1)
    }

    fn negate(&mut self) {
        self.0.iter_mut().for_each(|word| *word = !*word);
    }
}

impl Token {
    fn takes(&self, byte: u8) -> bool {
        match self {
            Self::Byte(own) => *own == byte,
            Self::Any => true,
            Self::Class(set) => set.has(byte),
            Self::Star => false,
        }
    }
}

impl Segment {
    /// Compiles the tokens of one component.
    pub(super) fn new(tokens: Vec<Token>, case: Case) -> Self {
        let mut tokens = match case {
            Case::Sensitive => tokens,
            Case::Insensitive => folded(&tokens),
        };
        tokens.dedup_by(|next, token| *next == Token::Star && *token == Token::Star);
        let literal = |tokens: &[Token]| -> Option<Box<[u8]>> {
            tokens
                .iter()
                .map(|token| if let Token::Byte(byte) = token { Some(*byte) } else { None })
                .collect()
        };
        if let Some(bytes) = literal(&tokens) {
            return Self::Literal(bytes);
        }
        if let [Token::Star, rest @ ..] = &*tokens
            && let Some(bytes) = literal(rest)
        {
            return Self::Suffix(bytes);
        }
        if let [rest @ .., Token::Star] = &*tokens
            && let Some(bytes) = literal(rest)
        {
            return Self::Prefix(bytes);
        }
        Self::Glob(tokens.into())
    }

    /// Whether a name matches; where case does not count, a name that went through [`fold`].
    pub(super) fn matches(&self, name: &[u8]) -> bool {
        match self {
            Self::Literal(bytes) => **bytes == *name,
            Self::Prefix(bytes) => name.starts_with(bytes),
            Self::Suffix(bytes) => name.ends_with(bytes),
            Self::Glob(tokens) => matches_glob(tokens, name),
        }
    }
}

/// Matches greedily: only the last `*` met is ever tried again, which is enough because each other step takes
/// exactly one byte.
fn matches_glob(tokens: &[Token], name: &[u8]) -> bool {
    let (mut at_token, mut at_byte) = (0, 0);
    let mut retry = None;
    loop {
        match (tokens.get(at_token), name.get(at_byte)) {
            (Some(Token::Star), _) => {
                at_token += 1;
                retry = Some((at_token, at_byte));
                continue;
            }
            (Some(token), Some(&byte)) if token.takes(byte) => {
                at_token += 1;
                at_byte += 1;
                continue;
            }
            (None, None) => return true,
            _ => {}
        }
        match retry {
            Some((token, byte)) if byte < name.len() => {
                retry = Some((token, byte + 1));
                at_token = token;
                at_byte = byte + 1;
            }
            _ => return false,
        }
    }
}

/// The tokens with literal text folded, and each set holding a lower-case letter for either case of it.
fn folded(tokens: &[Token]) -> Vec<Token> {
    let mut result = Vec::with_capacity(tokens.len());
    let mut literal = Vec::new();
    let flush = |literal: &mut Vec<u8>, result: &mut Vec<Token>| {
        result.extend(fold(literal).iter().map(|&byte| Token::Byte(byte)));
        literal.clear();
    };
    for token in tokens {
        if let Token::Byte(byte) = token {
            literal.push(*byte);
            continue;
        }
        flush(&mut literal, &mut result);
        result.push(token.clone());
    }
    flush(&mut literal, &mut result);
    result
}

/// Reads a `[…]`; `rest` begins after the `[` and is left after the `]`.
///
/// # Errors
/// See [`Flaw`].
pub(super) fn read_class(rest: &mut &[u8], case: Case) -> Result<Token, Flaw> {
    let mut set = ByteSet::default();
    let mut next = || take(rest).ok_or(Flaw::OpenClass);
    let mut byte = next()?;
    let negated = matches!(byte, b'!' | b'^');
    if negated {
        byte = next()?;
    }
    // The byte that a range may begin with; none after a range or a class name.
    let mut before = None;
    loop {
        let range = before.take();
        match (byte, range) {
            (b'\\', _) => {
                let escaped = take(rest).ok_or(Flaw::OpenClass)?;
                set.add(escaped);
                before = Some(escaped);
            }
            (b'-', Some(first)) if !matches!(rest.first(), None | Some(b']')) => {
                let mut last = take(rest).ok_or(Flaw::OpenClass)?;
                if last == b'\\' {
                    last = take(rest).ok_or(Flaw::OpenClass)?;
                }
                (first..=last).for_each(|member| set.add(member));
            }
            (b'[', _) if rest.first() == Some(&b':') => {
                if let Some(class) = read_class_name(rest)? {
                    set.add_where(class);
                } else {
                    set.add(b'[');
                    before = Some(b'[');
                }
            }
            _ => {
                set.add(byte);
                before = Some(byte);
            }
        }
        byte = take(rest).ok_or(Flaw::OpenClass)?;
        if byte == b']' {
            break;
        }
    }
    if case == Case::Insensitive {
        let own = set.clone();
        set.add_where(|byte| byte.is_ascii_lowercase() && own.has(byte.to_ascii_uppercase()));
    }
    if negated {
        set.negate();
    }
    Ok(Token::Class(Box::new(set)))
}

/// Reads `:name:]`, and leaves everything where it is when there is no `:]` before the next `]`.
fn read_class_name(rest: &mut &[u8]) -> Result<Option<impl Fn(u8) -> bool + use<>>, Flaw> {
    let inside = rest.get(1..).unwrap_or_default();
    let end = inside.iter().position(|&byte| byte == b']').ok_or(Flaw::OpenClass)?;
    let Some(name) = inside.get(..end).and_then(|text| text.strip_suffix(b":")) else { return Ok(None) };
    let is_member: fn(&u8) -> bool = match name {
        b"alnum" => u8::is_ascii_alphanumeric,
        b"alpha" => u8::is_ascii_alphabetic,
        b"blank" => |byte| matches!(byte, b' ' | b'\t'),
        b"cntrl" => u8::is_ascii_control,
        b"digit" => u8::is_ascii_digit,
        b"graph" => u8::is_ascii_graphic,
        b"lower" => u8::is_ascii_lowercase,
        b"print" => |byte| matches!(byte, b' '..=b'~'),
        b"punct" => u8::is_ascii_punctuation,
        // git's own idea of white space (`ctype.c`), without vertical tab and form feed.
        b"space" => |byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'),
        b"upper" => u8::is_ascii_uppercase,
        b"xdigit" => u8::is_ascii_hexdigit,
        _ => return Err(Flaw::UnknownClass),
    };
    *rest = inside.get(end + 1..).unwrap_or_default();
    Ok(Some(move |byte: u8| is_member(&byte)))
}

/// The next byte, and `rest` after it.
pub(super) fn take(rest: &mut &[u8]) -> Option<u8> {
    let (&first, tail) = rest.split_first()?;
    *rest = tail;
    Some(first)
}
