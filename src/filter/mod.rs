//! Which entries a rule speaks of: gitignore patterns and predicates, compiled to one matcher.
//!
//! In come pattern texts and [`Select`]; out goes a [`Filter`] that judges entries one directory at a time. It
//! opens nothing: whoever walks the tree tells it what a directory holds ([`DirectoryFacts`]).
//!
//! Patterns are matched against the path below the rule's root, bytes for bytes as git's own matcher does (`?` is one
//! byte, `{a,b}` is no alternative). What differs from git, and why:
//!
//! - In `exclude` and `include` the nearest match decides, from the entry up through its parents, so a `!` line
//!   re-includes below an excluded directory. Ignore files keep git's rule.
//! - A pattern of a job that could never match (`a//b`, `./a`, an open `[`) is an error; git is silent.
//! - Where case does not count, it does not for letters beyond ASCII either.

#![cfg_attr(not(test), warn(clippy::indexing_slicing))]

mod fold;
mod idle;
mod level;
mod lines;
mod pattern;
mod reason;
mod segment;
mod select;
mod spec;
#[cfg(test)]
mod tests;

pub use idle::{IdleLine, Idleness, idle_lines};
pub use level::{Filter, Judgement, Level};
pub use reason::{Cause, Explanation, Predicate};
pub use spec::{Age, DirectoryFacts, FilterSpec, PatternError, PatternList, Select};
