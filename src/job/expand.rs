//! `${…}`: variables of the job, the environment, files, and a few facts. Nothing expands to an empty text.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::Surroundings;
use super::diagnose::Sink;
use super::node::{Content, Node, Scalar, Span};
use super::suggest::nearest;
use crate::value::Zone;

/// A path has at most 4096 bytes on Linux, a pattern is shorter; without a bound, variables could double each other
/// for ever.
const EXPANDED_BYTES_MAX: usize = 16 << 10;
/// Variables that refer to variables; more is a circle.
const DEPTH_MAX: usize = 32;
/// Forms that no variable may be named like.
const RESERVED: [&str; 6] = ["hostname", "job", "rule", "env", "file", "date"];

/// An expanded text, and the same with the content of files left out, for showing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Expanded {
    pub(super) text: String,
    pub(super) shown: String,
}

/// The job's variables, none of them expanded yet.
#[derive(Debug, Default)]
pub(super) struct Variables {
    entries: Vec<Variable>,
}

#[derive(Debug)]
struct Variable {
    name: String,
    text: String,
    /// Wrong in itself, and reported; its users keep quiet.
    broken: bool,
}

/// Whether `${date:…}` may stand in a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dates {
    Allowed,
    Refused,
}

/// What a text may refer to, depending on where it stands.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) surroundings: &'a dyn Surroundings,
    pub(super) variables: &'a Variables,
    /// The job file's folder.
    pub(super) folder: &'a Path,
    pub(super) job: &'a str,
    /// `None` outside rules.
    pub(super) rule: Option<&'a str>,
    pub(super) dates: Dates,
    /// In which dates are meant.
    pub(super) zone: Zone,
    /// The variable whose text this is. What is wrong in another one that it refers to is reported there.
    pub(super) defining: Option<&'a str>,
}

/// Why a text could not be expanded.
#[derive(Debug)]
struct Failure {
    message: String,
    label: String,
    help: String,
    /// Concerns the text that was expanded, not only the variable in which it came up.
    own: bool,
}

impl Failure {
    fn too_long() -> Self {
        Self {
            message: "the value is too long".to_owned(),
            label: "longer than 16 KiB once expanded".to_owned(),
            help: "use a shorter text".to_owned(),
            own: true,
        }
    }
}

/// `Err(None)`: reported already.
type Outcome<T> = Result<T, Option<Failure>>;

fn failure<T>(message: impl Into<String>, label: impl Into<String>, help: impl Into<String>) -> Outcome<T> {
    Err(Some(Failure { message: message.into(), label: label.into(), help: help.into(), own: false }))
}

/// Whether a text refers to anything.
pub(super) fn has_reference(text: &str) -> bool {
    text.contains("${")
}

impl Variables {
    /// Reads the `variables` map and checks each of them where it stands.
    pub(super) fn read(node: Option<&Node>, scope: Scope<'_>, sink: &mut Sink<'_>) -> Self {
        let mut variables = Self::default();
        let Some(node) = node else { return variables };
        let Content::Map(entries) = &node.content else {
            if node.content != Content::Broken {
                sink.absent(
                    &node.span,
                    format!("`variables` is {}, not a map", node.describe()),
                    "a map of names and texts was expected",
                    "write `name: text`, one a line",
                );
            }
            return variables;
        };
        for entry in entries {
            let name_fits = check_name(&entry.key, &entry.key_span, sink);
            let text = variable_text(&entry.key, &entry.value, sink);
            let broken = !name_fits || text.is_none();
            variables.entries.push(Variable {
                name: entry.key.clone(),
                text: text.unwrap_or_default(),
                broken,
            });
        }
        for (index, entry) in entries.iter().enumerate() {
            let Content::Scalar(scalar) = &entry.value.content else { continue };
            let usable = variables.entries.get(index).is_some_and(|variable| !variable.broken);
            let check = Scope {
                variables: &variables,
                rule: Some("rule"),
                dates: Dates::Allowed,
                defining: Some(&entry.key),
                ..scope
            };
            if usable
                && check.expand(scalar, &entry.value.span, sink).is_none()
                && let Some(variable) = variables.entries.get_mut(index)
            {
                variable.broken = true;
            }
        }
        variables
    }

    fn find(&self, name: &str) -> Option<&Variable> {
        self.entries.iter().find(|variable| variable.name == name)
    }
}

fn check_name(name: &str, span: &Span, sink: &mut Sink<'_>) -> bool {
    let letters = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let begins = name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    if !begins || !name.chars().all(letters) {
        sink.error(
            span,
            format!("`{name}` cannot name a variable"),
            "letters, digits, `_` and `-` only, beginning with a letter",
            "",
        );
        return false;
    }
    if RESERVED.contains(&name) {
        sink.error(
            span,
            format!("`{name}` cannot name a variable"),
            format!("`${{{name}}}` has a meaning of its own"),
            "choose another name",
        );
        return false;
    }
    true
}

fn variable_text(name: &str, node: &Node, sink: &mut Sink<'_>) -> Option<String> {
    match &node.content {
        Content::Scalar(scalar) if scalar.is_null() || scalar.text.trim().is_empty() => {
            let help = if scalar.text == "~" && scalar.is_plain() {
                "put the home directory in quotes: \"~\""
            } else {
                "give it a text, or remove it"
            };
            sink.absent(&node.span, format!("the variable `{name}` is empty"), "no text here", help);
            None
        }
        Content::Scalar(scalar) => Some(scalar.text.clone()),
        Content::Broken => None,
        Content::List(_) | Content::Map(_) => {
            sink.error(
                &node.span,
                format!("the variable `{name}` is {}", node.describe()),
                "a single text was expected",
                "if the text begins with a bracket or brace, put it in quotes",
            );
            None
        }
    }
}

impl Scope<'_> {
    /// Expands a scalar; reports at the reference itself where it can be found in the file.
    pub(super) fn expand(&self, scalar: &Scalar, span: &Span, sink: &mut Sink<'_>) -> Option<Expanded> {
        match self.expand_text(&scalar.text) {
            Ok(expanded) => Some(expanded),
            Err((Some(failure), reference)) => {
                let place = place_of(sink.text(), span, reference);
                let Failure { message, label, help, .. } = failure;
                sink.absent(&place, message, label, help);
                None
            }
            Err((None, _)) => None,
        }
    }

    /// Expands a text. An error comes with the reference of this text that caused it.
    fn expand_text<'t>(&self, text: &'t str) -> Result<Expanded, (Option<Failure>, &'t str)> {
        let mut expanded = Expanded::default();
        self.append(text, 0, &mut expanded)?;
        Ok(expanded)
    }

    fn append<'t>(
        &self,
        text: &'t str,
        depth: usize,
        into: &mut Expanded,
    ) -> Result<(), (Option<Failure>, &'t str)> {
        let mut rest = text;
        while let Some((before, from)) = rest.split_once("${") {
            into.text.push_str(before);
            into.shown.push_str(before);
            let reference_at = rest.len() - from.len() - 2;
            let Some((inner, after)) = from.split_once('}') else {
                let reference = rest.get(reference_at..).unwrap_or(rest);
                let failed = failure("`${` is never closed", "no `}` follows", "write `${name}`");
                return failed.map_err(|failure| (failure, reference));
            };
            let reference = rest.get(reference_at..reference_at + inner.len() + 3).unwrap_or(rest);
            self.reference(inner, depth, into).map_err(|failure| (failure, reference))?;
            rest = after;
        }
        into.text.push_str(rest);
        into.shown.push_str(rest);
        if into.text.len() > EXPANDED_BYTES_MAX {
            return Err((Some(Failure::too_long()), text));
        }
        Ok(())
    }

    fn reference(&self, inner: &str, depth: usize, into: &mut Expanded) -> Outcome<()> {
        if into.text.len() > EXPANDED_BYTES_MAX {
            return Err(Some(Failure::too_long()));
        }
        let plain = |text: String| Expanded { shown: text.clone(), text };
        let value = match inner.split_once(':') {
            Some(("env", name)) => plain(self.environment(name)?),
            Some(("file", path)) => self.file(path)?,
            Some(("date", format)) => plain(self.date(format)?),
            Some(_) => {
                return failure(
                    format!("`${{{inner}}}` is not one of the forms"),
                    "unknown form",
                    "the forms are ${name}, ${env:NAME}, ${file:PATH}, ${date:%Y/%m}, ${hostname}, ${job} and ${rule}",
                );
            }
            None => match inner {
                "hostname" => plain(self.hostname()?),
                "job" => plain(self.job.to_owned()),
                "rule" => match self.rule {
                    Some(rule) => plain(rule.to_owned()),
                    None => return failure("`${rule}` stands outside a rule", "no rule here", ""),
                },
                name => return self.variable(name, depth, into),
            },
        };
        into.text.push_str(&value.text);
        into.shown.push_str(&value.shown);
        Ok(())
    }

    fn variable(&self, name: &str, depth: usize, into: &mut Expanded) -> Outcome<()> {
        let Some(variable) = self.variables.find(name) else {
            let known = self.variables.entries.iter().map(|variable| variable.name.as_str());
            let help = if name.trim().is_empty() {
                "write the name between the braces".to_owned()
            } else if self.surroundings.variable(name).is_some() {
                format!("`${{env:{name}}}` reads the environment")
            } else if let Some(near) = nearest(name, known.chain(RESERVED.into_iter().take(3))) {
                format!("did you mean `${{{near}}}`?")
            } else {
                "define it under `variables`, or use `${env:NAME}` for the environment".to_owned()
            };
            return failure(format!("there is no variable `{name}`"), "not defined", help);
        };
        if variable.broken {
            return Err(None);
        }
        if self.defining == Some(name) || depth >= DEPTH_MAX {
            return Err(Some(Failure {
                message: if self.defining == Some(name) {
                    format!("the variable `{name}` refers to itself")
                } else {
                    format!("more than {DEPTH_MAX} variables refer to one another")
                },
                label: "a circle of variables".to_owned(),
                help: "give one of them a text of its own".to_owned(),
                own: true,
            }));
        }
        let appended = self.append(&variable.text, depth + 1, into).map_err(|(failure, _)| failure);
        match self.defining {
            None => appended,
            // Another variable's own fault is told where that one is defined.
            Some(_) => appended.map_err(|failure| failure.filter(|failure| failure.own)),
        }
    }

    fn environment(&self, name: &str) -> Outcome<String> {
        match self.surroundings.variable(name) {
            Some(value) if value.trim().is_empty() => failure(
                format!("the environment variable `{name}` is empty"),
                "nothing to put here",
                "set it before the run, or write the text into the job file",
            ),
            Some(value) => Ok(value),
            None => failure(
                format!("the environment variable `{name}` is not set"),
                "nothing to put here",
                "set it before the run, or write the text into the job file",
            ),
        }
    }

    fn file(&self, path: &str) -> Outcome<Expanded> {
        let from = self.file_path(path)?;
        let shown = from.display();
        match self.surroundings.read_file(&from) {
            Ok(content) => {
                let line = content.strip_suffix('\n').unwrap_or(&content);
                let line = line.strip_suffix('\r').unwrap_or(line);
                if line.trim().is_empty() {
                    return failure(
                        format!("`{shown}` is empty"),
                        "nothing to put here",
                        "write the value into it",
                    );
                }
                if line.len() > EXPANDED_BYTES_MAX {
                    return failure(
                        format!("`{shown}` is too long"),
                        "longer than 16 KiB",
                        "use a shorter text",
                    );
                }
                Ok(Expanded { text: line.to_owned(), shown: format!("(from {path})") })
            }
            Err(why) => failure(
                format!("`{shown}` cannot be read: {why}"),
                "the value should come from there",
                "relative paths start at the job file's folder",
            ),
        }
    }

    fn file_path(&self, path: &str) -> Outcome<PathBuf> {
        if path.trim().is_empty() {
            return failure("`${file:}` names no file", "a path is missing", "write `${file:PATH}`");
        }
        match super::location::absolute(path, self.folder, self.surroundings) {
            Ok(path) => Ok(path),
            Err(refusal) => failure(refusal.message, refusal.label, refusal.help),
        }
    }

    fn date(&self, format: &str) -> Outcome<String> {
        let help = "the codes are those of strftime, such as ${date:%Y-%m}";
        if self.dates == Dates::Refused {
            return failure(
                "`${date:…}` can stand only in the destination of a backup",
                "no date here",
                "elsewhere each date would be another place to the rule",
            );
        }
        if format.trim().is_empty() {
            return failure("`${date:}` has no format", "a format is missing", help);
        }
        let mut text = String::new();
        // chrono reports an unknown code while it formats.
        let written = write!(text, "{}", self.surroundings.local_time(self.zone).format(format));
        if written.is_err() || text.trim().is_empty() {
            return failure(format!("`{format}` is not a date format"), "unknown format", help);
        }
        Ok(text)
    }

    fn hostname(&self) -> Outcome<String> {
        match self.surroundings.hostname() {
            Some(name) if !name.trim().is_empty() => Ok(name),
            _ => failure("this host has no name", "nothing to put here", "write the name into the job file"),
        }
    }
}

/// The place of a reference inside a scalar, the scalar itself where escapes or folding hide it.
fn place_of(text: &str, span: &Span, reference: &str) -> Span {
    let offset = text.get(span.clone()).and_then(|written| written.find(reference));
    match offset {
        Some(offset) if !reference.is_empty() => span.start + offset..span.start + offset + reference.len(),
        _ => span.clone(),
    }
}
