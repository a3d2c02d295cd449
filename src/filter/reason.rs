//! Why an entry is judged as it is: the words in which a filter explains itself.

use super::level::Judgement;
use super::spec::PatternList;

/// What the filter says of an entry, and by what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// What it says.
    pub judgement: Judgement,
    /// What decided.
    pub cause: Cause,
}

/// What decided over an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Nothing speaks of it: it is selected.
    Nothing,
    /// A line of one of the rule's lists.
    Line {
        /// The list.
        list: PatternList,
        /// Its index in that list.
        index: usize,
        /// Components of the path that it matched: those of the entry itself, or fewer for a directory above it.
        depth: usize,
        /// Whether it begins with `!`.
        negated: bool,
    },
    /// A line of an ignore file.
    IgnoreLine {
        /// Components of the path of the directory that holds the file.
        directory: usize,
        /// Index of the file among those of its directory, see [`DirectoryFacts`](super::DirectoryFacts).
        file: usize,
        /// Index of the line in the file.
        line: usize,
        /// Components of the path that it matched.
        depth: usize,
        /// Whether it begins with `!`.
        negated: bool,
    },
    /// There is an `include`, and none of its lines matches.
    NotIncluded,
    /// A predicate of `select`.
    Select(Predicate),
}

/// A predicate of `select` that leaves an entry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Predicate {
    /// `min_size`.
    MinSize,
    /// `max_size`.
    MaxSize,
    /// `newer_than`.
    NewerThan,
    /// `older_than`.
    OlderThan,
    /// `max_depth`.
    MaxDepth,
    /// `exclude_if_present`: the directory holds such a name.
    ExcludeIfPresent,
    /// `exclude_caches`: the directory holds a valid cache tag.
    ExcludeCaches,
}

impl Predicate {
    /// Its key below `select`.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::MinSize => "min_size",
            Self::MaxSize => "max_size",
            Self::NewerThan => "newer_than",
            Self::OlderThan => "older_than",
            Self::MaxDepth => "max_depth",
            Self::ExcludeIfPresent => "exclude_if_present",
            Self::ExcludeCaches => "exclude_caches",
        }
    }
}
