//! `extends`: a job file and the files that it names, read through the [`Surroundings`] and laid over one another.
//!
//! Later files win over earlier ones, and the naming file over all of them. Maps are merged key by key, everything
//! else is replaced. What is replaced stays known below what replaces it, so that its errors are told too.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::diagnose::{Extent, Finding, Sink};
use super::expand::{Dates, Scope, Variables};
use super::keys::RULE;
use super::location::{self, Refusal};
use super::node::{Content, Entry, Node, Scalar, Span};
use super::parse;
use super::sources::Sources;
use super::{Surroundings, Unread};
use crate::value::Zone;

/// Files that extend files; nobody keeps track of more, and recursion must end where names do not tell a ring.
const DEPTH_MAX: usize = 16;
/// Each is laid over the others; files that name the same files twice and so on would multiply without end.
const FILES_MAX: usize = 100;

/// The job's text as one tree.
pub(super) struct Gathered {
    pub(super) sources: Sources,
    /// `None` where nothing of the job file could be understood.
    pub(super) root: Option<Node>,
    pub(super) findings: Vec<Finding>,
    pub(super) extent: Extent,
}

/// Reads a job file and all that it extends.
pub(super) fn gather(file: &Path, text: &str, surroundings: &dyn Surroundings) -> Gathered {
    let job = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let mut gatherer = Gatherer {
        surroundings,
        folder: file.parent().unwrap_or(Path::new("/")),
        job: &job,
        sources: Sources::default(),
        findings: Vec::new(),
        extent: Extent::Whole,
        known: HashMap::new(),
        laid: 0,
    };
    let mut chain = vec![location::collapsed(file)];
    let root = gatherer.read(file, text, &mut chain);
    let Gatherer { sources, findings, extent, .. } = gatherer;
    Gathered { sources, root, findings, extent }
}

struct Gatherer<'a> {
    surroundings: &'a dyn Surroundings,
    /// The job file's, to show paths from.
    folder: &'a Path,
    job: &'a str,
    sources: Sources,
    findings: Vec<Finding>,
    extent: Extent,
    /// Files that were read, with all that they extend laid below them.
    known: HashMap<PathBuf, Option<Node>>,
    laid: usize,
}

impl Gatherer<'_> {
    /// Reads a text, and lays it over the files that it extends. `chain`: this file, and those that extend it.
    fn read(&mut self, file: &Path, text: &str, chain: &mut Vec<PathBuf>) -> Option<Node> {
        let base = self.sources.add(file, text);
        let mut sink = Sink::new(text);
        let root = parse::parse(&mut sink);
        if sink.extent() == Extent::Part {
            self.extent = Extent::Part;
        }
        let shifted = |finding: Finding| Finding {
            span: finding.span.start + base..finding.span.end + base,
            ..finding
        };
        self.findings.extend(sink.finish().into_iter().map(shifted));
        let mut root = root?;
        root.shift(base);
        let Content::Map(entries) = &mut root.content else { return Some(root) };
        let Some(at) = entries.iter().position(|entry| entry.key == "extends") else { return Some(root) };
        let extends = entries.remove(at);
        let mut below: Option<Node> = None;
        let named = match &extends.value.content {
            Content::List(nodes) => nodes.as_slice(),
            _ => std::slice::from_ref(&extends.value),
        };
        for named in named {
            let path = self.path(named, file);
            let Some(node) = path.and_then(|path| self.extended(&path, &named.span, chain)) else {
                self.extent = Extent::Part;
                continue;
            };
            below = Some(match below {
                None => node,
                Some(below) => laid_over(below, node, Level::Job),
            });
        }
        Some(match below {
            None => root,
            Some(below) => laid_over(below, root, Level::Job),
        })
    }

    /// One extended file with all that it extends; `None` where there is none, which has been reported.
    fn extended(&mut self, path: &Path, span: &Span, chain: &mut Vec<PathBuf>) -> Option<Node> {
        let identity = location::collapsed(path);
        if let Some(from) = chain.iter().position(|earlier| *earlier == identity) {
            let ring = chain.iter().skip(from).chain([&identity]);
            let ring: Vec<String> = ring.map(|file| format!("`{}`", self.shown(file))).collect();
            let message = format!("files extend one another in a ring: {}", ring.join(" extends "));
            self.finding(
                span,
                message,
                "closes the ring",
                Some("remove one of these from `extends`".to_owned()),
            );
            return None;
        }
        self.laid += 1;
        if chain.len() > DEPTH_MAX || self.laid > FILES_MAX {
            let message = if self.laid > FILES_MAX {
                format!("more than {FILES_MAX} files are extended")
            } else {
                format!("more than {DEPTH_MAX} files extend one another")
            };
            self.finding(
                span,
                message,
                "one too many",
                Some("put what they share into fewer files".to_owned()),
            );
            return None;
        }
        if let Some(known) = self.known.get(&identity) {
            return known.clone();
        }
        let text = match self.surroundings.read_job(path) {
            Ok(text) => text,
            Err(Unread { why, help }) => {
                let message = format!("cannot read `{}`: {why}", path.display());
                self.finding(span, message, "extended here", help);
                return None;
            }
        };
        chain.push(identity.clone());
        let findings = self.findings.len();
        let base = self.sources.whole().len();
        let node = self.read(path, &text, chain);
        chain.pop();
        let node = match node {
            Some(Node { content: Content::Map(_) | Content::Broken, .. }) => node,
            Some(other) => {
                let message = format!("the file holds {}, not a map of keys", other.describe());
                self.finding(&other.span, message, "a map of keys was expected", None);
                None
            }
            None => {
                if self.findings.len() == findings {
                    let help =
                        "write `defaults`, `variables` or `rules` into it, or remove it from `extends`";
                    let message = "the extended file is empty".to_owned();
                    self.finding(&(base..base), message, "nothing here", Some(help.to_owned()));
                }
                None
            }
        };
        self.known.insert(identity, node.clone());
        node
    }

    /// The path that an item of `extends` names.
    fn path(&mut self, node: &Node, file: &Path) -> Option<PathBuf> {
        const EXPECTED: &str = "give a path such as common.yaml, or a list of such";
        let scalar = match &node.content {
            Content::Broken => return None,
            Content::Scalar(scalar) if !scalar.is_null() && !scalar.text.trim().is_empty() => scalar,
            _ => {
                let message = match &node.content {
                    Content::Scalar(_) => "`extends` names no file".to_owned(),
                    _ => format!("{} where the path of a file was expected", node.describe()),
                };
                self.finding(&node.span, message, "a path was expected", Some(EXPECTED.to_owned()));
                return None;
            }
        };
        match self.resolved(scalar, &node.span, file) {
            Ok(path) => path,
            Err(Refusal { message, label, help }) => {
                self.finding(&node.span, message, label, Some(help));
                None
            }
        }
    }

    /// `Ok(None)` where what is wrong has been reported.
    fn resolved(&mut self, scalar: &Scalar, span: &Span, file: &Path) -> Result<Option<PathBuf>, Refusal> {
        if let Some(reference) = early_reference(&scalar.text) {
            return Err(Refusal {
                message: format!(
                    "`${{{reference}}}` cannot stand in `extends`, which is read before `variables`"
                ),
                label: "not known yet".to_owned(),
                help: "`${env:NAME}` and `${hostname}` can stand here".to_owned(),
            });
        }
        let folder = file.parent().unwrap_or(Path::new("/"));
        let none = Variables::default();
        let scope = Scope {
            surroundings: self.surroundings,
            variables: &none,
            folder,
            job: self.job,
            rule: None,
            dates: Dates::Refused,
            zone: Zone::default(),
            defining: None,
        };
        let mut sink = Sink::new(self.sources.whole());
        let Some(expanded) = scope.expand(scalar, span, &mut sink) else {
            let found = sink.finish();
            self.findings.extend(found);
            return Ok(None);
        };
        let written = self.sources.whole().get(span.clone()).unwrap_or_default();
        location::check_letters(&expanded.text, "the path", scalar, written)?;
        location::check_file(&expanded)?;
        location::absolute(&expanded.text, folder, self.surroundings).map(Some)
    }

    fn finding(&mut self, span: &Span, message: String, label: impl Into<String>, help: Option<String>) {
        self.findings.push(Finding { message, span: span.clone(), label: label.into(), help });
    }

    /// A path as people of this job know it.
    fn shown(&self, file: &Path) -> String {
        file.strip_prefix(self.folder).unwrap_or(file).display().to_string()
    }
}

/// A reference that needs more than the system to be known.
fn early_reference(text: &str) -> Option<&str> {
    text.split("${")
        .skip(1)
        .filter_map(|rest| rest.split('}').next())
        .find(|inner| *inner != "hostname" && !inner.starts_with("env:"))
}

/// What the keys of a map are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// Those of a job.
    Job,
    /// Names of rules.
    Rules,
    /// Options of a rule.
    Options,
    /// Anything else.
    Inner,
}

impl Level {
    /// Of the map that is the value of a key.
    fn below(self, key: &str) -> Self {
        match (self, key) {
            (Self::Job, "rules") => Self::Rules,
            (Self::Job, "defaults") | (Self::Rules, _) => Self::Options,
            _ => Self::Inner,
        }
    }
}

/// One tree over another: maps key by key, in the order of the lower one with new keys behind; anything else replaces.
fn laid_over(below: Node, above: Node, level: Level) -> Node {
    match (below.content, above.content) {
        (Content::Map(lower), Content::Map(upper)) => {
            Node { span: above.span, content: Content::Map(merged(lower, upper, level)) }
        }
        (_, content) => Node { span: above.span, content },
    }
}

fn merged(lower: Vec<Entry>, mut upper: Vec<Entry>, level: Level) -> Vec<Entry> {
    let mut entries: Vec<Option<Entry>> = lower.into_iter().map(Some).collect();
    let mut places: HashMap<String, usize> = HashMap::with_capacity(entries.len());
    for (at, entry) in entries.iter().enumerate() {
        places.extend(entry.as_ref().map(|entry| (entry.key.clone(), at)));
    }
    let take = |entries: &mut Vec<Option<Entry>>, key: &str| {
        let at = places.get(key).copied()?;
        Some((at, entries.get_mut(at)?.take()?))
    };
    if level == Level::Options {
        // A list that is given anew replaces what was added to the old one, too.
        for entry in &mut upper {
            let addition = RULE.iter().find(|key| key.adds_to() == Some(&entry.key));
            if let Some((_, old)) = addition.and_then(|key| take(&mut entries, key.name)) {
                entry.replace(old);
            }
        }
    }
    let mut added = Vec::new();
    for entry in upper {
        match take(&mut entries, &entry.key) {
            None => added.push(entry),
            Some((at, old)) => {
                if let Some(place) = entries.get_mut(at) {
                    *place = Some(over(old, entry, level));
                }
            }
        }
    }
    entries.into_iter().flatten().chain(added).collect()
}

/// One entry over another of the same key.
fn over(old: Entry, mut new: Entry, level: Level) -> Entry {
    if let (Content::Map(_), Content::Map(_)) = (&old.value.content, &new.value.content) {
        let Entry { key, value, beneath, .. } = old;
        let above = std::mem::replace(&mut new.value, Node { span: 0..0, content: Content::Broken });
        new.value = laid_over(value, above, level.below(&key));
        new.beneath.splice(0..0, beneath);
    } else {
        new.replace(old);
    }
    new
}

impl Entry {
    /// Takes an entry of a lower file below itself, with all that is below that one.
    fn replace(&mut self, mut old: Self) {
        let older = std::mem::take(&mut old.beneath);
        self.beneath.splice(0..0, older.into_iter().chain([old]));
    }
}
