//! A list of patterns, and where it stands inside one directory.
//!
//! The last matching line of a list decides; a list says nothing of an entry that no line matches.

use std::sync::Arc;

use crate::value::Case;

use super::pattern::{Pattern, PatternFlaw, Positions, Shape};

/// The lines of one list, compiled.
#[derive(Debug, Default)]
pub(super) struct Lines {
    patterns: Vec<Pattern>,
    /// Where each pattern is written.
    spots: Vec<Spot>,
    /// Some `!` line speaks of names at any depth.
    negates_names: bool,
    /// There is a `!` line.
    negates: bool,
}

/// Where a pattern is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    /// Index of the ignore file's text; 0 for a job's list.
    pub(super) text: u32,
    /// Index in the job's list, or of the line in the text.
    pub(super) line: u32,
}

/// The deciding line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    /// Where it is written.
    pub(super) spot: Spot,
    /// Whether it begins with `!`.
    pub(super) negated: bool,
}

/// Where a list's path patterns stand inside one directory.
#[derive(Clone, Debug, Default)]
pub(super) struct Reach {
    /// In the order of the lines; those that can match nothing below are not there. `None` is the empty one.
    live: Option<Arc<[Live]>>,
}

#[derive(Clone, Copy, Debug)]
struct Live {
    line: usize,
    positions: Positions,
}

impl Lines {
    /// Compiles the lines of a job's list.
    ///
    /// # Errors
    /// Every line that was refused, with its index.
    pub(super) fn compile(texts: &[String], case: Case) -> Result<Self, Vec<(usize, PatternFlaw)>> {
        let mut lines = Self::default();
        let mut flaws = Vec::new();
        for (index, text) in texts.iter().enumerate() {
            match Pattern::parse(text.as_bytes(), case) {
                Ok(Some(pattern)) => lines.push(pattern, 0, index),
                Ok(None) => {}
                Err(flaw) => flaws.push((index, flaw)),
            }
        }
        if flaws.is_empty() { Ok(lines) } else { Err(flaws) }
    }

    /// Compiles ignore files of one directory as one list; lines that could never match are passed over, as in git.
    pub(super) fn of_ignore_texts(texts: &[Vec<u8>], case: Case) -> Self {
        let mut lines = Self::default();
        for (file, text) in texts.iter().enumerate() {
            let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
            for (index, line) in text.split(|&byte| byte == b'\n').enumerate() {
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                if let Ok(Some(pattern)) = Pattern::parse(line, case) {
                    lines.push(pattern, file, index);
                }
            }
        }
        lines
    }

    fn push(&mut self, pattern: Pattern, text: usize, line: usize) {
        let index = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        self.spots.push(Spot { text: index(text), line: index(line) });
        self.negates |= pattern.negated;
        self.negates_names |= pattern.negated && matches!(pattern.shape, Shape::Name(_));
        self.patterns.push(pattern);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Whether there is a line without `!`.
    pub(super) fn has_positive(&self) -> bool {
        self.patterns.iter().any(|pattern| !pattern.negated)
    }

    /// Where the list stands in its base directory.
    pub(super) fn start(&self) -> Reach {
        let start = |(line, pattern): (usize, &Pattern)| match &pattern.shape {
            Shape::Name(_) => None,
            Shape::Path(parts) => Some(Live { line, positions: Positions::start(parts) }),
        };
        Reach::of(self.patterns.iter().enumerate().filter_map(start).collect())
    }

    /// What the list says of an entry of the directory that `reach` belongs to.
    pub(super) fn decide(&self, reach: &Reach, name: &[u8], is_directory: bool) -> Option<Decision> {
        let mut live = reach.live().iter().rev().peekable();
        for (line, pattern) in self.patterns.iter().enumerate().rev() {
            let matches = match &pattern.shape {
                Shape::Name(segment) => segment.matches(name),
                Shape::Path(parts) => live
                    .next_if(|live| live.line == line)
                    .is_some_and(|live| live.positions.accept(parts, name)),
            };
            if matches && (is_directory || !pattern.directories_only) {
                let spot = *self.spots.get(line)?;
                return Some(Decision { spot, negated: pattern.negated });
            }
        }
        None
    }

    /// Where the list stands inside the directory of that name.
    pub(super) fn enter(&self, reach: &Reach, name: &[u8]) -> Reach {
        Reach::of(self.entered(reach, name).collect())
    }

    /// Whether a `!` line can match something below the directory of that name.
    pub(super) fn may_negate_below(&self, reach: &Reach, name: &[u8]) -> bool {
        self.negates_names
            || self.negates
                && self
                    .entered(reach, name)
                    .any(|live| self.patterns.get(live.line).is_some_and(|pattern| pattern.negated))
    }

    fn entered(&self, reach: &Reach, name: &[u8]) -> impl Iterator<Item = Live> {
        reach.live().iter().filter_map(move |live| match &self.patterns.get(live.line)?.shape {
            Shape::Name(_) => None,
            Shape::Path(parts) => {
                Some(Live { line: live.line, positions: live.positions.enter(parts, name)? })
            }
        })
    }
}

impl Reach {
    fn of(live: Vec<Live>) -> Self {
        Self { live: if live.is_empty() { None } else { Some(live.into()) } }
    }

    fn live(&self) -> &[Live] {
        self.live.as_deref().unwrap_or_default()
    }
}
