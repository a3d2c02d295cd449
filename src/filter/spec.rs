//! What a filter is made of, and what the walker tells it: plain values, nothing compiled.

use std::time::Duration;

use crate::value::{ByteCount, Case, Stamp};

/// Which of a rule's two pattern lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternList {
    /// `exclude`, judged first.
    Exclude,
    /// `include`, chooses non-directories among what is left.
    Include,
}

/// A pattern that could not be compiled, or that could never match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    /// The list it stands in.
    pub list: PatternList,
    /// Its index in that list.
    pub index: usize,
    /// What is wrong with it, and the way out where there is one.
    pub message: String,
}

/// An age limit: a span before the run's start, or a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Age {
    /// So long before the run started.
    Span(Duration),
    /// At this moment.
    Date(Stamp),
}

/// The predicates of the `select` key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Select {
    /// Files smaller than this are left out.
    pub min_size: Option<ByteCount>,
    /// Files larger than this are left out.
    pub max_size: Option<ByteCount>,
    /// Files whose mtime is older than this are left out.
    pub newer_than: Option<Age>,
    /// Files whose mtime is newer than this are left out.
    pub older_than: Option<Age>,
    /// Entries deeper than this many components are left out; 1 is the root's own entries.
    pub max_depth: Option<u32>,
    /// A directory that holds an entry of one of these names is left out with all below it.
    pub exclude_if_present: Vec<String>,
    /// A directory with a valid `CACHEDIR.TAG` is kept with that tag alone.
    pub exclude_caches: bool,
    /// Names of files with further patterns for their directory (`.gitignore`).
    pub ignore_files: Vec<String>,
    /// Mount points are not entered. The walker's to do: it knows devices, and lists what it skipped.
    pub one_file_system: bool,
}

/// What a filter is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterSpec {
    /// gitignore patterns, the last match wins.
    pub exclude: Vec<String>,
    /// gitignore patterns; empty includes everything.
    pub include: Vec<String>,
    /// How names are compared.
    pub case: Case,
    /// Further predicates.
    pub select: Select,
}

/// What the walker found in a directory that concerns the filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectoryFacts {
    /// Contents of those `ignore_files` that are there, in the order of the key; a later one overrides an earlier one.
    pub ignore_texts: Vec<Vec<u8>>,
    /// It holds a name of `exclude_if_present`.
    pub has_marker: bool,
    /// It holds a valid `CACHEDIR.TAG` (first 43 bytes are the signature of the Cache Directory Tagging standard).
    pub is_cache: bool,
}
