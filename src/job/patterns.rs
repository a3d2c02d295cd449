//! The lists of `exclude` and `include`: a YAML list, or block text with one pattern a line, checked by compiling.

use super::decode::Reader;
use super::location::check_letters;
use super::node::{Content, Node, Scalar, Span, Style, block_lines};
use super::syntax::{quote_help, quoted_help};
use super::values::Item;
use crate::filter::{Filter, FilterSpec, PatternError, PatternList, Select};
use crate::value::{Case, Stamp};

/// Reads the patterns of a key; `None` when one of them is wrong, and all of those are reported.
pub(super) fn read(reader: &mut Reader<'_, '_>, key: &str, node: &Node) -> Option<Vec<Item>> {
    let texts = match &node.content {
        Content::List(nodes) => Some(from_list(reader, key, nodes)),
        Content::Scalar(scalar) if scalar.style == Style::Literal => {
            Some(from_block(reader, scalar, &node.span))
        }
        Content::Scalar(scalar) if matches!(scalar.style, Style::Folded | Style::PlainFolded) => {
            reader.sink.error(
                &node.span,
                format!("the lines of `{key}` are joined into one pattern"),
                "YAML joins these lines with blanks",
                format!("write `{key}: |` to keep one pattern a line"),
            );
            return None;
        }
        Content::Scalar(Scalar { style: Style::Absent, .. }) | Content::Map(_) => {
            reader.sink.absent(
                &node.span,
                format!("`{key}` is {}", node.describe()),
                "patterns were expected",
                format!("write `{key}: [pattern, …]`, or `{key}: |` and one pattern a line"),
            );
            return None;
        }
        Content::Scalar(scalar) => {
            pattern(reader, scalar, &node.span).map(|item| Texts { items: vec![item], whole: true })
        }
        Content::Broken => None,
    }?;
    compiles(reader, &texts.items).then_some(texts).filter(|texts| texts.whole).map(|texts| texts.items)
}

/// The patterns that could be read.
struct Texts {
    items: Vec<Item>,
    /// Whether these are all of them.
    whole: bool,
}

fn from_list(reader: &mut Reader<'_, '_>, key: &str, nodes: &[Node]) -> Texts {
    let mut whole = true;
    let mut items = Vec::with_capacity(nodes.len());
    for node in nodes {
        let item = match &node.content {
            Content::Scalar(scalar) if scalar.style == Style::Absent => {
                empty_item(reader, key, &node.span);
                None
            }
            Content::Scalar(scalar) if scalar.text.starts_with('#') => {
                reader.sink.error(
                    &node.span,
                    "a pattern that begins with `#` is a comment",
                    "would match nothing",
                    format!("for a name that begins so write '\\{}'", scalar.text),
                );
                None
            }
            Content::Scalar(scalar) => pattern(reader, scalar, &node.span),
            Content::Broken => None,
            Content::List(_) | Content::Map(_) => {
                let text = reader.sink.text();
                let written = text.get(node.span.clone()).unwrap_or_default();
                let help = if written.contains([':', '[', '{']) {
                    quoted_help(written)
                } else {
                    quote_help(text, node.span.start, false)
                };
                let message = format!("{} where a pattern was expected", node.describe());
                reader.sink.error(&node.span, message, "not a single text", help);
                None
            }
        };
        whole &= item.is_some();
        items.extend(item);
    }
    Texts { items, whole }
}

/// `-` with nothing behind it, or with what YAML takes for a comment.
fn empty_item(reader: &mut Reader<'_, '_>, key: &str, span: &Span) {
    let text = reader.sink.text();
    let line_start = text.get(..span.start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let line = text.get(line_start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    match line.split_once(" #") {
        Some((before, comment)) => {
            let start = line_start + before.len() + 1;
            reader.sink.absent(
                &(start..line_start + line.len()),
                format!("an empty item in `{key}`"),
                "YAML takes this for a comment",
                format!("put it in quotes: '\\#{}'", comment.trim_end()),
            );
        }
        None => reader.sink.absent(
            span,
            format!("an empty item in `{key}`"),
            "a pattern was expected",
            "write a pattern, or remove the line",
        ),
    }
}

fn from_block(reader: &mut Reader<'_, '_>, block: &Scalar, span: &Span) -> Texts {
    let mut whole = true;
    let mut items = Vec::new();
    for (line, place) in block_lines(reader.sink.text(), span, block) {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let listed = line.strip_prefix("- ");
        if let Some(pattern) = listed {
            reader.sink.error(
                &place,
                "a list item inside block text",
                "the dash would belong to the pattern",
                format!("write `{}`; in block text each line is a pattern", pattern.trim()),
            );
        }
        let item = match listed {
            Some(_) => None,
            None => pattern(reader, &Scalar { text: line, style: Style::Literal }, &place),
        };
        whole &= item.is_some();
        items.extend(item);
    }
    Texts { items, whole }
}

fn pattern(reader: &mut Reader<'_, '_>, scalar: &Scalar, span: &Span) -> Option<Item> {
    let expanded = reader.scope.expand(scalar, span, reader.sink)?;
    let written = reader.sink.text().get(span.clone()).unwrap_or_default();
    if let Err(refusal) = check_letters(&expanded.text, "the pattern", scalar, written) {
        reader.refuse(span, refusal);
        return None;
    }
    if expanded.text.trim().is_empty() {
        reader.sink.error(span, "an empty pattern", "matches nothing", "write a pattern, or remove it");
        return None;
    }
    if expanded.text.starts_with(' ') {
        reader.sink.error(
            span,
            "a pattern that begins with a blank",
            "the blank would belong to the name",
            "remove it; for a name that begins with a blank write `\\` in front of it",
        );
        return None;
    }
    Some(Item { text: expanded.text, shown: expanded.shown, span: span.clone() })
}

/// Compiles the patterns as a run would, and reports those that are wrong.
fn compiles(reader: &mut Reader<'_, '_>, items: &[Item]) -> bool {
    let wrong = compile(items.iter().map(|item| item.text.clone()).collect());
    for error in &wrong {
        if let Some(item) = items.get(error.index) {
            reader.sink.error(
                &item.span,
                format!("`{}` is no pattern", item.shown),
                error.message.clone(),
                "patterns are written as in a .gitignore file",
            );
        }
    }
    wrong.is_empty()
}

fn compile(exclude: Vec<String>) -> Vec<PatternError> {
    let spec = FilterSpec { exclude, include: Vec::new(), case: Case::Sensitive, select: Select::default() };
    match Filter::compile(&spec, Stamp::default()) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.into_iter().filter(|error| error.list == PatternList::Exclude).collect(),
    }
}
