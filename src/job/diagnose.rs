//! Collects what is wrong in a job file, and renders it with file, line, column, caret and a way out.

use std::fmt::Write as _;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::node::Span;
use super::{Diagnostic, Source};
use crate::value::escape;

/// More than these are counted, not shown: nobody reads them, and a hostile file must not fill a terminal.
const SHOWN_MAX: usize = 50;

/// A file with more errors than these is no job file; each is compared with those before it.
const FOUND_MAX: usize = 1000;

/// One thing wrong in the text at hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// What is wrong, one sentence without full stop.
    pub(super) message: String,
    pub(super) span: Span,
    /// A few words at the caret.
    pub(super) label: String,
    /// The way out, one line.
    pub(super) help: Option<String>,
}

/// How much of a job was understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// All of it.
    Whole,
    /// The part before a syntax error, or all but a file that it extends; what seems to be missing may stand in the rest.
    Part,
}

/// Where diagnostics go.
pub(super) struct Sink<'a> {
    text: &'a str,
    extent: Extent,
    found: Vec<Finding>,
}

impl<'a> Sink<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, extent: Extent::Whole, found: Vec::new() }
    }

    /// The file's text.
    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// How much of the text is understood.
    pub(super) fn extent(&self) -> Extent {
        self.extent
    }

    /// From here on only errors that no later line could mend are taken.
    pub(super) fn limit_to_part(&mut self) {
        self.extent = Extent::Part;
    }

    /// Takes an error.
    pub(super) fn error(
        &mut self,
        span: &Span,
        message: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.take(Finding {
            message: message.into(),
            span: span.clone(),
            label: label.into(),
            help: Some(help.into()).filter(|help: &String| !help.is_empty()),
        });
    }

    /// Takes an error that says that something is not there; silent when the file was understood in part only.
    pub(super) fn absent(
        &mut self,
        span: &Span,
        message: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) {
        if self.extent == Extent::Whole {
            self.error(span, message, label, help);
        }
    }

    /// Takes an error about the whole file, where nothing else was wrong with it.
    pub(super) fn absent_unless_reported(&mut self, message: &str, label: &str, help: &str) {
        if self.found.is_empty() {
            self.error(&(0..0), message, label, help);
        }
    }

    /// Takes finished diagnostics.
    pub(super) fn take_all(&mut self, diagnostics: impl IntoIterator<Item = Finding>) {
        for diagnostic in diagnostics {
            self.take(diagnostic);
        }
    }

    /// Takes a finished diagnostic; texts are made safe to show, the span is cut to its first line.
    pub(super) fn take(&mut self, mut diagnostic: Finding) {
        diagnostic.span = first_line(self.text, &diagnostic.span);
        diagnostic.message = safe(&diagnostic.message);
        diagnostic.label = safe(&diagnostic.label);
        diagnostic.help = diagnostic.help.map(|help| safe(&help));
        if !self.is_full() && !self.found.contains(&diagnostic) {
            self.found.push(diagnostic);
        }
    }

    /// Whether anything was wrong so far.
    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Whether no more errors are taken.
    pub(super) fn is_full(&self) -> bool {
        self.found.len() >= FOUND_MAX
    }

    /// All errors in the order of their places.
    pub(super) fn finish(mut self) -> Vec<Finding> {
        self.found.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.span.end));
        self.found
    }
}

/// Text that people wrote, made fit for a terminal; backslashes stay single, since what is shown is not read back.
pub(super) fn safe(text: &str) -> String {
    masked(escape(text.as_bytes()).replace("\\\\", "\\"))
}

/// Text with the passwords of URLs (`scheme://user:password@host`) starred out, byte for byte; where a URL was taken as a path, one slash
/// is left of the two.
#[must_use]
pub fn masked(mut text: String) -> String {
    let mut from = 0;
    while let Some(begin) = text.get(from..).and_then(|rest| rest.find(":/")).map(|at| from + at + 2) {
        let rest = text.get(begin..).unwrap_or_default();
        let word = rest.split([' ', '\t', '\n', '\r', '"', '\'', '`']).next().unwrap_or(rest);
        let password =
            word.rfind('@').and_then(|end| Some((word.find(':').filter(|&at| at < end)? + 1, end)));
        if let Some((start, end)) = password {
            text.replace_range(begin + start..begin + end, &"*".repeat(end - start));
        }
        from = begin;
    }
    text
}

/// The file's text without letters that move the cursor, end lines or reorder what is read, and that the renderer
/// would let through; each is replaced by one of as many bytes, so that spans keep their meaning.
fn harmless(text: &str) -> String {
    let replaced = |letter: char| match letter {
        '\u{80}'..='\u{9f}' | '\u{61c}' => '·',
        '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => '\u{fffd}',
        _ => letter,
    };
    masked(text.chars().map(replaced).collect())
}

/// The span held inside the text, at letter boundaries, and cut at its first line break.
fn first_line(text: &str, span: &Span) -> Span {
    let floor = |mut at: usize| {
        at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let (start, end) = (floor(span.start), floor(span.end.max(span.start)));
    let covered = text.get(start..end).unwrap_or_default();
    start..start + covered.find(['\n', '\r']).unwrap_or(covered.len())
}

/// A file's text as it is shown.
struct Shown<'s> {
    source: &'s Source,
    text: String,
    path: String,
    /// Bytes that the text has lost at its beginning: a byte-order mark has no width, but would count as a column.
    mark: usize,
}

impl<'s> Shown<'s> {
    fn new(source: &'s Source) -> Self {
        let mark = if source.text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let text = harmless(source.text.get(mark..).unwrap_or_default());
        Self { source, text, path: safe(&source.file.display().to_string()), mark }
    }
}

/// Renders diagnostics; see [`super::render`].
pub(super) fn render(diagnostics: &[Diagnostic], colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let mut output = String::new();
    let mut latest: Option<Shown<'_>> = None;
    for diagnostic in diagnostics.iter().take(SHOWN_MAX) {
        let source = diagnostic.source.as_ref();
        let shown = match latest.take() {
            Some(shown) if std::ptr::eq(shown.source, source) => latest.insert(shown),
            _ => latest.insert(Shown::new(source)),
        };
        let within = |at: usize| at.saturating_sub(shown.mark);
        let span = first_line(&shown.text, &(within(diagnostic.span.start)..within(diagnostic.span.end)));
        let annotation = AnnotationKind::Primary.span(span).label(&diagnostic.label);
        let snippet = Snippet::source(&shown.text).path(&shown.path).annotation(annotation);
        let mut group: Group<'_> = Level::ERROR.primary_title(&diagnostic.message).element(snippet);
        if let Some(help) = &diagnostic.help {
            group = group.element(Level::HELP.message(help));
        }
        output.push_str(&renderer.render(&[group]));
        output.push_str("\n\n");
    }
    if let Some(more) = diagnostics.len().checked_sub(SHOWN_MAX).filter(|&more| more > 0) {
        // Writing to a string cannot fail.
        let _ = writeln!(output, "error: {more} more errors are not shown\n");
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bc_93_passwords_of_urls_are_starred_out() {
        for (text, shown) in [
            ("sftp://anna:secret@host/x", "sftp://anna:******@host/x"),
            ("a: \"s3://k:p@a@b\" b: ftp://u:w@h", "a: \"s3://k:***@b\" b: ftp://u:*@h"),
            ("http://host:80/path", "http://host:80/path"),
            ("ssh://anna@host:22/", "ssh://anna@host:22/"),
            ("x://u:p\u{e4}@h", "x://u:***@h"),
            ("://", "://"),
            ("`/a/sftp:/anna:secret@host/x`", "`/a/sftp:/anna:******@host/x`"),
            ("/a:/b:c, d@e", "/a:/b:c, d@e"),
        ] {
            assert_eq!(masked(text.to_owned()), shown);
            assert_eq!(shown.len(), text.len(), "spans keep their meaning");
        }
    }
}
