//! The job language: YAML text in, a resolved [`Job`] or every error with its place out. Opens no file.

#![warn(clippy::indexing_slicing, clippy::string_slice)]

mod bandwidth;
mod check;
mod decode;
mod defaults;
mod diagnose;
mod expand;
mod extend;
mod keys;
mod load;
mod location;
mod model;
mod node;
mod origins;
mod parse;
mod patterns;
mod reference;
mod rule;
mod schema;
mod sources;
mod suggest;
mod syntax;
mod values;

pub use crate::filter::{PatternList, Select};
pub use diagnose::masked;
pub use model::*;
pub use suggest::nearest;
pub use values::duration;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::value::{Stamp, Zone};

/// What a job's text may refer to outside itself; implemented by whoever may ask the system.
pub trait Surroundings {
    /// The value of an environment variable, `None` when unset. Bytes that are not UTF-8 count as unset.
    fn variable(&self, name: &str) -> Option<String>;
    /// The home directory of a user, of the running one for `None`.
    fn home(&self, user: Option<&str>) -> Option<PathBuf>;
    /// This host's name.
    fn hostname(&self) -> Option<String>;
    /// The content of a file named by `${file:PATH}`, or why it could not be read.
    ///
    /// # Errors
    /// A sentence for people.
    fn read_file(&self, path: &Path) -> Result<String, String>;
    /// The text of a job file that another one extends, by its absolute path.
    ///
    /// # Errors
    /// Why it is not to be had, and the way out.
    fn read_job(&self, file: &Path) -> Result<String, Unread>;
    /// Whether the running user is root.
    fn is_root(&self) -> bool;
    /// Date and time in a zone, for `${date:FORMAT}`.
    fn local_time(&self, zone: Zone) -> chrono::NaiveDateTime;
    /// The moment that a date and time in a zone names (the earlier of two where clocks were put back), for dates in
    /// `select`; `None` where clocks were put forward over it.
    fn local_to_utc(&self, zone: Zone, local: chrono::NaiveDateTime) -> Option<Stamp>;
}

/// Why an extended file cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// Behind a colon: `it does not exist`.
    pub why: String,
    /// The way out, one line.
    pub help: Option<String>,
}

/// A file that was read, kept for what is said of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Source {
    /// Its path, absolute.
    pub file: PathBuf,
    /// What it holds.
    pub text: String,
}

impl fmt::Debug for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", self.file)
    }
}

/// One thing wrong in a job file, or in one that it extends, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file that is wrong.
    pub source: Arc<Source>,
    /// What is wrong, one sentence without full stop.
    pub message: String,
    /// Byte range in that file's text; empty range at the end where something is missing.
    pub span: std::ops::Range<usize>,
    /// A few words at the caret.
    pub label: String,
    /// The way out, one line.
    pub help: Option<String>,
}

/// A resolved job, and for each value the place that set it.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The job.
    pub job: Job,
    /// Rows for `show`: a dotted key (`rules.photos.limits.remove`), the value as YAML text, and where it came from.
    pub origins: Vec<Origin>,
    /// For each pattern of each rule where it is written: by rule, `exclude` before `include`, in the list's order.
    pub patterns: Vec<PatternOrigin>,
}

/// Where one pattern of a rule is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternOrigin {
    /// The rule's name.
    pub rule: String,
    /// The list that holds it.
    pub list: PatternList,
    /// Its place in that list of the [`Rule`], from 0.
    pub index: usize,
    /// The file that it is written in, absolute.
    pub file: PathBuf,
    /// Line (1-based) in that file, of the pattern itself in a list or block text of several lines.
    pub line: usize,
}

/// One row of `show`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Dotted key, `rules.photos.limits.remove`.
    pub key: String,
    /// The resolved value as YAML text.
    pub value: String,
    /// Where it was set, or `None` for a default.
    pub site: Option<Site>,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The file, absolute: the job's own, or one that it extends.
    pub file: PathBuf,
    /// Line (1-based) in that file.
    pub line: usize,
}

/// Reads a job: `file` is its absolute path, `text` its content.
///
/// # Errors
/// All errors of the file, and of those that it extends, in one pass: the job's own first, each file's in the order of
/// their places.
pub fn load(file: &Path, text: &str, surroundings: &dyn Surroundings) -> Result<Loaded, Vec<Diagnostic>> {
    load::load(file, text, surroundings)
}

/// Whether a file that is no job of its own is good to be extended: it has no rules, nor has what it extends, but
/// something for others.
#[must_use]
pub fn is_shared(file: &Path, text: &str, surroundings: &dyn Surroundings) -> bool {
    load::is_shared(file, text, surroundings)
}

/// Renders diagnostics with file, line, column, caret and help, as `rustc` does.
#[must_use]
pub fn render(diagnostics: &[Diagnostic], colour: bool) -> String {
    diagnose::render(diagnostics, colour)
}

/// The JSON schema of a job file, generated from the same key lists as the decoder.
#[must_use]
pub fn schema() -> serde_json::Value {
    schema::build()
}

/// All keys of a job file as a Markdown table: key, values with the default first, meaning.
#[must_use]
pub fn reference() -> String {
    reference::build()
}
