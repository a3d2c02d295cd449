//! Text → [`Node`]: the YAML events of serde-saphyr's parser, with exact places, built into a tree.
//!
//! Scalars keep the text that was written. What YAML would silently turn into something else (tags, anchors,
//! aliases, merge keys, duplicate keys, a second document) is an error here. A slip that has one obvious meaning
//! is reported, mended in a copy and read past, so that the rest of the file is checked in the same pass.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_saphyr::granit_parser::{self, Event, Options, Parser, ScalarStyle, ScanError, StructureStyle};

use super::diagnose::{Finding, Sink};
use super::node::{Content, Entry, Node, Scalar, Span, Style, line_of};
use super::syntax::{self, Repair};

/// A job file is written by hand; this is some ten thousand rules.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// The job language nests five levels; more is a mistake, and recursion over nodes must end.
const DEPTH_MAX: usize = 32;
/// Nobody mends more in one go, and each costs a search for its line.
const TRAPS_MAX: usize = 200;
/// Each repair reads the file again.
const REPAIRS_MAX: usize = 20;

/// Reads the text. `None` when nothing can be decoded; why, is in the sink then.
pub(super) fn parse(sink: &mut Sink<'_>) -> Option<Node> {
    let text = sink.text();
    if text.len() > TEXT_BYTES_MAX {
        sink.error(
            &(0..0),
            "the file is larger than 1 MiB",
            "no job file needs that much",
            "split the job into several files",
        );
        return None;
    }
    let mut working = Cow::Borrowed(text);
    let mut repairs: Vec<Repair> = Vec::new();
    loop {
        let Attempt { traps, last_trap, root, error, .. } = Attempt::read(&working, &repairs);
        let Some(error) = error else {
            sink.take_all(traps.into_iter().chain(repairs.into_iter().map(|repair| repair.diagnostic)));
            return root;
        };
        let repair = syntax::repair(&working, &error, last_trap.as_ref());
        if let Some(repair) = repair.filter(|_| repairs.len() < REPAIRS_MAX) {
            working = Cow::Owned(repair.apply(&working));
            repairs.push(repair);
            continue;
        }
        let diagnostic = syntax::explain(text, &error);
        let end =
            text.get(..diagnostic.span.start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
        let Attempt { root, error: another, .. } =
            Attempt::read(working.get(..end).unwrap_or_default(), &repairs);
        let reported = repairs.into_iter().map(|repair| repair.diagnostic);
        sink.take_all(traps.into_iter().chain(reported).chain([diagnostic]));
        sink.limit_to_part();
        return root.filter(|_| another.is_none());
    }
}

/// The file read once, up to its end or its first syntax error.
struct Attempt<'a> {
    text: &'a str,
    repairs: &'a [Repair],
    traps: Vec<Finding>,
    /// Place of the latest tag, anchor or alias.
    last_trap: Option<Span>,
    open: Vec<Open>,
    root: Option<Node>,
    error: Option<ScanError>,
}

/// A list or map whose end has not come yet.
enum Open {
    List { span: Span, flow: bool, items: Vec<Node> },
    Map { span: Option<Span>, flow: bool, map: Building },
}

#[derive(Default)]
struct Building {
    entries: Vec<Entry>,
    key: Option<(String, Span)>,
    /// A key that was reported; its value is read and dropped.
    skipped: bool,
    /// At least one such key was there.
    incomplete: bool,
    first: HashMap<String, Span>,
}

fn options() -> Options {
    granit_parser::options! {
        disallow_directives: true,
        emit_unresolved_aliases: true,
        emit_anchor_events: true,
        emit_comments: false,
        flow_nesting_limit: DEPTH_MAX,
        block_nesting_limit: DEPTH_MAX,
    }
}

impl<'a> Attempt<'a> {
    fn read(text: &'a str, repairs: &'a [Repair]) -> Self {
        let mut attempt = Self {
            text,
            repairs,
            traps: Vec::new(),
            last_trap: None,
            open: Vec::new(),
            root: None,
            error: None,
        };
        let mut documents = 0;
        for event in Parser::new_from_str_with_options(text, options()) {
            match event {
                Err(error) => {
                    attempt.error = Some(error);
                    break;
                }
                Ok((Event::DocumentStart(..), place)) => {
                    documents += 1;
                    if documents > 1 {
                        attempt.trap(
                            place.byte_range().unwrap_or_default(),
                            "a second YAML document begins",
                            "everything from here on would be ignored",
                            "give each job a file of its own",
                        );
                        break;
                    }
                }
                Ok((event, place)) => attempt.event(event, &place),
            }
            if attempt.traps.len() > TRAPS_MAX {
                break;
            }
        }
        attempt
    }

    fn event(&mut self, event: Event<'_>, place: &granit_parser::Span) {
        let span = place.byte_range().unwrap_or_default();
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let reported = tag.is_some() || anchor > 0 || self.is_repaired(&span);
                if tag.is_some() {
                    self.tag(place, &span);
                }
                let content = if reported {
                    Content::Broken
                } else {
                    Content::Scalar(scalar(text, style, &span, self.text))
                };
                self.add(Node { span, content });
            }
            Event::SequenceStart(style, _, tag) => {
                if tag.is_some() {
                    self.tag(place, &span);
                }
                let flow = style == StructureStyle::Flow;
                self.open.push(Open::List {
                    span: span.start..span.end.max(span.start + 1),
                    flow,
                    items: Vec::new(),
                });
            }
            Event::MappingStart(style, _, tag) => {
                if tag.is_some() {
                    self.tag(place, &span);
                }
                let flow = style == StructureStyle::Flow;
                self.open.push(Open::Map { span: flow.then_some(span), flow, map: Building::default() });
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(&span),
            Event::Anchor(..) => self.pointer(span, "anchor"),
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.pointer(span.clone(), "alias");
                self.add(Node { span, content: Content::Broken });
            }
            _ => {}
        }
    }

    fn is_repaired(&self, span: &Span) -> bool {
        self.repairs.iter().any(|repair| repair.span.start < span.end && span.start < repair.span.end)
    }

    fn in_flow(&self) -> bool {
        self.open
            .iter()
            .any(|open| matches!(open, Open::List { flow: true, .. } | Open::Map { flow: true, .. }))
    }

    fn trap(&mut self, span: Span, message: &str, label: &str, help: &str) {
        self.traps.push(Finding {
            message: message.to_owned(),
            span,
            label: label.to_owned(),
            help: Some(help.to_owned()),
        });
    }

    fn tag(&mut self, place: &granit_parser::Span, span: &Span) {
        let span = place.tag_span().and_then(|tag| tag.byte_range()).unwrap_or_else(|| span.clone());
        let help = if matches!(self.open.last(), Some(Open::List { .. })) {
            syntax::quote_help(self.text, span.start, self.in_flow())
        } else {
            "leave the tag out, or put the value in quotes if the `!` belongs to it".to_owned()
        };
        self.last_trap = Some(span.clone());
        self.trap(
            span,
            "a YAML tag where a value was expected",
            "YAML drops this word from the value",
            &help,
        );
    }

    fn pointer(&mut self, span: Span, what: &str) {
        let help = if matches!(self.open.last(), Some(Open::List { .. })) {
            syntax::quote_help(self.text, span.start, self.in_flow())
        } else {
            "put what rules share under `defaults`, and texts under `variables`; quote the value if the sign belongs to it"
                .to_owned()
        };
        self.last_trap = Some(span.clone());
        let message = format!("a YAML {what}; job files do not use them");
        self.trap(span, &message, &format!("YAML reads this as an {what}"), &help);
    }

    fn close(&mut self, end: &Span) {
        let node = match self.open.pop() {
            Some(Open::List { span, flow, items }) => {
                let span = if flow { span.start..end.end } else { span };
                Node { span, content: Content::List(items) }
            }
            Some(Open::Map { span, map, .. }) => {
                let first = map.entries.first().map(|entry| entry.key_span.clone());
                let span = span.map(|span| span.start..end.end).or(first).unwrap_or_else(|| end.clone());
                let nothing_left = map.incomplete && map.entries.is_empty();
                Node { span, content: if nothing_left { Content::Broken } else { Content::Map(map.entries) } }
            }
            None => return,
        };
        self.add(node);
    }

    fn add(&mut self, node: Node) {
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { map, .. }) => {
                if map.skipped {
                    map.skipped = false;
                } else if let Some((key, key_span)) = map.key.take() {
                    map.entries.push(Entry { key, key_span, value: node, beneath: Vec::new() });
                } else if let Some(trap) = map.begin(node, self.text) {
                    self.traps.push(trap);
                }
            }
        }
    }
}

impl Building {
    /// Takes a key; what is wrong with it comes back.
    fn begin(&mut self, node: Node, text: &str) -> Option<Finding> {
        let span = node.span.clone();
        let refused_before = self.incomplete;
        let refuse = |message: String, label: &str, help: &str| {
            Some(Finding {
                message,
                span: span.clone(),
                label: label.to_owned(),
                help: Some(help.to_owned()),
            })
        };
        self.skipped = true;
        self.incomplete = true;
        match node.content {
            Content::Broken => None,
            Content::Scalar(scalar) if scalar.style == Style::Absent => refuse(
                "a value without a key".to_owned(),
                "no key in front of the colon",
                "write `key: value`",
            ),
            Content::Scalar(scalar) if scalar.text == "<<" && scalar.is_plain() => refuse(
                "a YAML merge key; job files do not use them".to_owned(),
                "merge key",
                "put what rules share under `defaults`",
            ),
            Content::Scalar(scalar) => {
                if let Some(first) = self.first.get(&scalar.text) {
                    let line = line_of(text, first.start);
                    return refuse(
                        format!("`{}` is given twice", scalar.text),
                        &format!("first given on line {line}"),
                        "keep one of the two",
                    );
                }
                self.first.insert(scalar.text.clone(), span.clone());
                self.key = Some((scalar.text, span));
                self.skipped = false;
                self.incomplete = refused_before;
                None
            }
            Content::List(_) | Content::Map(_) => refuse(
                "a key must be a single word".to_owned(),
                "a list or map as key",
                "put the text in quotes if the brackets belong to it",
            ),
        }
    }
}

fn scalar(text: Cow<'_, str>, style: ScalarStyle, span: &Span, source: &str) -> Scalar {
    let style = match style {
        ScalarStyle::SingleQuoted => Style::SingleQuoted,
        ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
        ScalarStyle::Literal => Style::Literal,
        ScalarStyle::Folded => Style::Folded,
        ScalarStyle::Plain if span.is_empty() => Style::Absent,
        ScalarStyle::Plain => match source.get(span.clone()) {
            Some(written) if written.contains(['\n', '\r']) => Style::PlainFolded,
            _ => Style::Plain,
        },
    };
    Scalar { text: text.into_owned(), style }
}

#[cfg(test)]
mod tests;
