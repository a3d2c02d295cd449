//! What the YAML parser cannot read, in the words of people who write job files, and the repairs that let the
//! rest of the file be checked.

use serde_saphyr::granit_parser::{ErrorKind, ScanError};

use super::diagnose::Finding;
use super::node::Span;

/// A syntax error with one obvious meaning, and how to read past it. The text keeps its length.
pub(super) struct Repair {
    /// What was changed; values that touch it are not judged further.
    pub(super) span: Span,
    pub(super) diagnostic: Finding,
    /// Single bytes, all ASCII, and what to put in their place.
    changes: Vec<(usize, u8)>,
}

impl Repair {
    fn new(span: Span, changes: &[(usize, u8)], message: &str, label: &str, help: String) -> Self {
        let diagnostic = Finding {
            message: message.to_owned(),
            span: span.clone(),
            label: label.to_owned(),
            help: Some(help),
        };
        Self { span, diagnostic, changes: changes.to_vec() }
    }

    /// The text with the repair in it.
    pub(super) fn apply(&self, text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        for &(at, byte) in &self.changes {
            if let Some(place) = bytes.get_mut(at).filter(|place| place.is_ascii()) {
                *place = byte;
            }
        }
        String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
    }
}

/// How to write the value that begins at `start` so that YAML leaves it alone.
pub(super) fn quote_help(text: &str, start: usize, in_flow: bool) -> String {
    quoted_help(word_at(text, start, in_flow))
}

/// The same for a word that is known.
pub(super) fn quoted_help(word: &str) -> String {
    format!("put it in quotes: {}, or use block text (`|`) with one pattern a line", quoted(word))
}

/// What stands from `start` to the end of the value, as far as one line shows it.
fn word_at(text: &str, start: usize, in_flow: bool) -> &str {
    let line = text.get(start..).unwrap_or_default().lines().next().unwrap_or_default();
    let line = line.split_once(" #").map_or(line, |(value, _)| value);
    let end = if in_flow { line.find([',', ']', '}']).unwrap_or(line.len()) } else { line.len() };
    line.get(..end).unwrap_or_default().trim()
}

fn quoted(word: &str) -> String {
    const SHOWN_MAX: usize = 60;
    match word.char_indices().nth(SHOWN_MAX) {
        Some(_) => "'…'".to_owned(),
        None => format!("'{}'", word.replace('\'', "''")),
    }
}

/// A way past the error, where there is an obvious one. `last_trap` is the latest tag, anchor or alias.
pub(super) fn repair(text: &str, error: &ScanError, last_trap: Option<&Span>) -> Option<Repair> {
    let at = error.marker().byte_offset()?;
    let byte = text.as_bytes().get(at).copied();
    match error.kind() {
        ErrorKind::UnexpectedCharacter { character: sign @ ('@' | '`' | '%') } => Some(Repair::new(
            at..at + 1,
            &[(at, b'_')],
            &format!("a value cannot begin with `{sign}`"),
            "YAML keeps this sign for itself",
            quote_help(text, at, false),
        )),
        ErrorKind::UnknownQuotedScalarEscape
        | ErrorKind::InvalidQuotedScalarHexEscape
        | ErrorKind::InvalidUnicodeEscape
        | ErrorKind::MissingLowSurrogate
        | ErrorKind::UnpairedLowSurrogate => escape_repair(text, at),
        ErrorKind::MissingAnchorOrAliasName if matches!(byte, Some(b'*' | b'&')) => {
            Some(sign_repair(text, at))
        }
        _ if byte == Some(b'{') && text.get(..at).is_some_and(|before| before.ends_with('$')) => {
            variable_repair(text, at)
        }
        ErrorKind::ExpectedTagBang
        | ErrorKind::UndeclaredTagHandle
        | ErrorKind::InvalidGlobalTagCharacter
        | ErrorKind::InvalidTagTerminator
        | ErrorKind::MissingTagUri
        | ErrorKind::UnclosedVerbatimTag
        | ErrorKind::InvalidTagEscape
        | ErrorKind::InvalidTagUtf8LeadingByte
        | ErrorKind::InvalidTagUtf8TrailingByte
        | ErrorKind::InvalidTagUtf8
            if byte == Some(b'!') =>
        {
            Some(sign_repair(text, at))
        }
        _ => {
            // `- *.[oa]`: the alias is over at the bracket, and the error is only its consequence.
            let trap = last_trap.filter(|trap| trap.end <= at)?;
            let between = text.get(trap.start..at)?;
            (!between.contains('\n')).then(|| sign_repair(text, trap.start))
        }
    }
}

fn sign_repair(text: &str, at: usize) -> Repair {
    let sign = text.get(at..).and_then(|rest| rest.chars().next()).unwrap_or(' ');
    let reading = match sign {
        '!' => "YAML reads this as a tag",
        '&' => "YAML reads this as an anchor",
        _ => "YAML reads this as an alias",
    };
    let message = format!("a value cannot begin with `{sign}`");
    Repair::new(at..at + 1, &[(at, b'_')], &message, reading, quote_help(text, at, false))
}

/// `{destination: ${disk}/x}`: to YAML the second brace opens a map.
fn variable_repair(text: &str, brace: usize) -> Option<Repair> {
    let length = text.get(brace..)?.lines().next()?.find('}')?;
    let close = brace + length;
    Some(Repair::new(
        brace - 1..close + 1,
        &[(brace, b'_'), (close, b'_')],
        "`${` inside braces or brackets needs quotes",
        "YAML reads this brace as the start of a map",
        format!("put the whole value in quotes: \"{}…\"", text.get(brace - 1..=close)?),
    ))
}

/// The first escape of a double-quoted scalar that YAML does not know, made harmless.
fn escape_repair(text: &str, quote: usize) -> Option<Repair> {
    let scalar = text.get(quote..)?;
    let mut letters = scalar.char_indices().skip(1).peekable();
    while let Some((offset, letter)) = letters.next() {
        if letter == '"' {
            return None;
        }
        if letter != '\\' {
            continue;
        }
        let (_, escaped) = letters.next()?;
        let digits = match escaped {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            '0' | 'a' | 'b' | 't' | '\t' | 'n' | 'v' | 'f' | 'r' | 'e' | ' ' | '"' | '/' | '\\' | 'N'
            | '_' | 'L' | 'P' | '\n' | '\r' => continue,
            _ => 0,
        };
        let code = scalar.get(offset + 2..offset + 2 + digits).unwrap_or_default();
        let known = digits > 0 && u32::from_str_radix(code, 16).ok().and_then(char::from_u32).is_some();
        if !known {
            let at = quote + offset;
            return Some(Repair::new(
                at..at + 1 + escaped.len_utf8(),
                &[(at, b'/')],
                "an unknown escape in double quotes",
                "a backslash begins an escape here",
                "use single quotes, in which a backslash is a backslash".to_owned(),
            ));
        }
    }
    None
}

/// The diagnostic for an error that ends the reading.
pub(super) fn explain(text: &str, error: &ScanError) -> Finding {
    let at = error.marker().byte_offset().unwrap_or(text.len());
    let (message, label, help) = wording(error.kind());
    let start = if is_tab(error.kind()) { tab_near(text, at) } else { at };
    // A parser that stopped at the end of a line is pointing at what follows it.
    let shown = text.get(start..).and_then(|rest| rest.chars().next());
    let end = start + shown.filter(|letter| !matches!(letter, '\n' | '\r')).map_or(0, char::len_utf8);
    Finding { message, span: start..end, label: label.to_owned(), help: Some(help.to_owned()) }
}

/// The tab that stopped the parser: in the indent of its line, or else the next one.
fn tab_near(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let indent = before.get(line_start..).unwrap_or_default();
    match indent.find('\t') {
        Some(offset) if indent.trim().is_empty() => line_start + offset,
        _ => text.get(at..).and_then(|rest| rest.find('\t')).map_or(at, |offset| at + offset),
    }
}

fn is_tab(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::TabNotAllowed
            | ErrorKind::TabInBlockIndentation
            | ErrorKind::TabInIndentation
            | ErrorKind::TabInPlainScalar
            | ErrorKind::TabAtBlockScalarStart
    )
}

fn wording(kind: &ErrorKind) -> (String, &'static str, &'static str) {
    let (message, label, help) = match kind {
        kind if is_tab(kind) => ("a tab in the indentation", "tab", "YAML indents with spaces only"),
        ErrorKind::UnclosedQuotedScalar | ErrorKind::DocumentIndicatorInQuotedScalar => {
            ("a quote is never closed", "opened here", "close it, or double a quote that belongs to the text")
        }
        ErrorKind::UnclosedFlowCollection { .. }
        | ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofImplicitFlowMapping => {
            ("a bracket is never closed", "opened here", "add the closing bracket")
        }
        ErrorKind::ExpectedFlowMappingSeparator | ErrorKind::ExpectedFlowSequenceSeparator => (
            "a comma or a closing bracket is missing",
            "expected before this",
            "separate values by commas, and quote those that hold brackets or commas",
        ),
        ErrorKind::MisplacedFlowCollectionEnd | ErrorKind::MismatchedFlowCollectionEnd { .. } => {
            ("a closing bracket that fits no open one", "not opened", "remove it, or open it before")
        }
        ErrorKind::MappingValueNotAllowed | ErrorKind::MappingKeyNotAllowed => (
            "a colon where no key can end",
            "unexpected",
            "check the indentation, or put the value in quotes if the colon belongs to it",
        ),
        ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::ExpectedBlockSequenceEntry
        | ErrorKind::BlockSequenceEntryNotAllowed
        | ErrorKind::InvalidIndentation
        | ErrorKind::SimpleKeyExpected
        | ErrorKind::InvalidSimpleKey => (
            "this line does not fit the lines above",
            "unexpected here",
            "a key is `key: value`, and keys of one map start in the same column",
        ),
        ErrorKind::DirectiveDisallowed => {
            ("a YAML directive; job files do not use them", "directive", "remove the line")
        }
        ErrorKind::RecursionLimitExceeded => {
            ("too many levels", "nested too deep", "a job file nests five levels at most")
        }
        ErrorKind::UnexpectedCharacter { .. } => (
            "a character that cannot stand here",
            "unexpected",
            "put the value in quotes, or remove the character if it is invisible",
        ),
        other => {
            return (
                format!("this is not YAML: {other}"),
                "here",
                "put the value in quotes if it is meant as text",
            );
        }
    };
    (message.to_owned(), label, help)
}
