//! YAML as a tree of nodes that know where they stand; every scalar is still the text its author wrote.
//!
//! Comes from [`super::parse`], goes into [`super::decode`]. Nothing here knows what a job is.

use std::ops::Range;

/// A byte range of a file's text, or of the texts of all files of a job one behind the other.
pub(super) type Span = Range<usize>;

/// One YAML node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    /// Where a caret for the node goes: the scalar itself, a block map's first key, a list's `-`, a whole `{…}`.
    pub(super) span: Span,
    pub(super) content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Scalar(Scalar),
    List(Vec<Node>),
    Map(Vec<Entry>),
    /// Something that has been reported already; whoever meets it keeps quiet.
    Broken,
}

/// One key with its value; keys of a map are unique.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_span: Span,
    pub(super) value: Node,
    /// What extended files say here, the earliest first: replaced by the value; below `exclude+` and `include+` added to.
    pub(super) beneath: Vec<Entry>,
}

/// A scalar with escapes and line folding undone, otherwise as written: `007`, `no` and `1e3` are these texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scalar {
    pub(super) text: String,
    pub(super) style: Style,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// Nothing stands where a value could (`key:` and the end of the line).
    Absent,
    Plain,
    /// Plain, and folded out of several lines.
    PlainFolded,
    SingleQuoted,
    DoubleQuoted,
    /// `|`: line breaks are kept.
    Literal,
    /// `>`: lines are joined.
    Folded,
}

impl Scalar {
    /// Whether YAML reads it as null (core schema 1.2.2, section 10.3.2).
    pub(super) fn is_null(&self) -> bool {
        match self.style {
            Style::Absent => true,
            Style::Plain => matches!(self.text.as_str(), "~" | "null" | "Null" | "NULL"),
            _ => false,
        }
    }

    /// Whether it is written without quotes and on one line, so that `true` and `3` may be a switch and a number.
    pub(super) fn is_plain(&self) -> bool {
        self.style == Style::Plain
    }
}

impl Node {
    /// What the node is, for "… is given, … was expected".
    pub(super) fn describe(&self) -> &'static str {
        match &self.content {
            Content::Scalar(scalar) if scalar.style == Style::Absent => "nothing",
            Content::Scalar(scalar) if scalar.is_null() => "null",
            Content::Scalar(_) => "a single value",
            Content::List(_) => "a list",
            Content::Map(_) => "a map",
            Content::Broken => "something unreadable",
        }
    }

    /// Moves all places by so many bytes.
    pub(super) fn shift(&mut self, bytes: usize) {
        let moved = |span: &mut Span| *span = span.start + bytes..span.end + bytes;
        moved(&mut self.span);
        match &mut self.content {
            Content::Scalar(_) | Content::Broken => {}
            Content::List(nodes) => nodes.iter_mut().for_each(|node| node.shift(bytes)),
            Content::Map(entries) => {
                for entry in entries {
                    moved(&mut entry.key_span);
                    entry.value.shift(bytes);
                }
            }
        }
    }

    /// Whether something in it refers to a variable, a file or the like.
    pub(super) fn refers(&self) -> bool {
        match &self.content {
            Content::Broken => false,
            Content::Scalar(scalar) => scalar.text.contains("${"),
            Content::List(nodes) => nodes.iter().any(Self::refers),
            Content::Map(entries) => entries.iter().any(|entry| entry.value.refers()),
        }
    }

    /// The value of a key, where the node is a map that has it.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        let Content::Map(entries) = &self.content else { return None };
        entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }
}

/// The line (1-based) that a byte offset lies on.
pub(super) fn line_of(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
    before.split(|&byte| byte == b'\n').count()
}

/// The lines of a literal block with their places: for each line of `block.text` its span in the file.
/// `span` is the block's content in the file, beginning behind the first line's indent.
pub(super) fn block_lines(text: &str, span: &Span, block: &Scalar) -> Vec<(String, Span)> {
    let source = text.get(span.clone()).unwrap_or_default();
    let mut offset = span.start;
    let mut places = Vec::new();
    for line in source.split_inclusive('\n') {
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        places.push(offset + indent..offset + line.trim_end().len().max(indent));
        offset += line.len();
    }
    let place = |index: usize| places.get(index).cloned().unwrap_or_else(|| span.clone());
    block.text.lines().enumerate().map(|(index, line)| (line.to_owned(), place(index))).collect()
}
