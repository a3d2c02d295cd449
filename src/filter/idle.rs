//! Lines of the two lists that can never have a say, as far as the lists alone tell: most likely something else was meant.

use super::level::{Filter, Judgement};
use super::pattern::{Part, Pattern, Shape};
use super::segment::Segment;
use super::spec::{DirectoryFacts, FilterSpec, PatternList, Select};
use crate::value::{Kind, RelPath, Stamp};

/// A line that can never have a say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleLine {
    /// The list it stands in.
    pub list: PatternList,
    /// Its index in that list.
    pub index: usize,
    /// Why.
    pub why: Idleness,
}

/// Why a line can never have a say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Idleness {
    /// A line of `exclude` leaves out all that it could match.
    Excluded {
        /// Its index in `exclude`.
        by: usize,
        /// The directory that it leaves out whole, where that is how.
        with: Option<RelPath>,
    },
    /// A `!` line before which nothing is matched that it could take back.
    NothingBefore,
}

/// Finds lines that can never have a say; those that are wrong are passed over.
#[must_use]
pub fn idle_lines(spec: &FilterSpec) -> Vec<IdleLine> {
    let parse = |texts: &[String]| -> Vec<Option<Pattern>> {
        texts.iter().map(|text| Pattern::parse(text.as_bytes(), spec.case).ok().flatten()).collect()
    };
    let (exclude, include) = (parse(&spec.exclude), parse(&spec.include));
    let mut idle = Vec::new();
    // A `!` line of `exclude` also overrides ignore files.
    if spec.select.ignore_files.is_empty() {
        idle.extend(without_before(PatternList::Exclude, &exclude));
    }
    idle.extend(without_before(PatternList::Include, &include));
    let taken = Taken::new(spec, &exclude);
    for (index, pattern) in include.iter().enumerate() {
        let Some(pattern) = pattern.as_ref().filter(|pattern| !pattern.negated) else { continue };
        if let Some(why) = taken.idleness(&spec.include, index, pattern) {
            idle.push(IdleLine { list: PatternList::Include, index, why });
        }
    }
    idle
}

/// The `!` lines that come before every other line.
fn without_before(list: PatternList, patterns: &[Option<Pattern>]) -> Vec<IdleLine> {
    let negated = |pattern: &&Option<Pattern>| pattern.as_ref().is_none_or(|pattern| pattern.negated);
    let before = patterns.iter().take_while(negated).enumerate();
    before
        .filter(|(_, pattern)| pattern.is_some())
        .map(|(index, _)| IdleLine { list, index, why: Idleness::NothingBefore })
        .collect()
}

/// What `exclude` takes for good.
struct Taken<'a> {
    spec: &'a FilterSpec,
    exclude: &'a [Option<Pattern>],
    /// The filter of `exclude` alone.
    filter: Option<std::sync::Arc<Filter>>,
}

impl<'a> Taken<'a> {
    fn new(spec: &'a FilterSpec, exclude: &'a [Option<Pattern>]) -> Self {
        let alone = FilterSpec { include: Vec::new(), select: Select::default(), ..spec.clone() };
        Self { spec, exclude, filter: Filter::compile(&alone, Stamp::default()).ok() }
    }

    fn idleness(&self, include: &[String], index: usize, pattern: &Pattern) -> Option<Idleness> {
        let by = self.last_word(|text, excluded| {
            takes_everything(excluded) || include.get(index).is_some_and(|own| same(own, text))
        });
        match by {
            Some(by) => Some(Idleness::Excluded { by, with: None }),
            None => self.above(pattern),
        }
    }

    /// The line of `exclude` that fits, with no `!` line after it.
    fn last_word(&self, fits: impl Fn(&str, &Pattern) -> bool) -> Option<usize> {
        for (index, (pattern, text)) in self.exclude.iter().zip(&self.spec.exclude).enumerate().rev() {
            match pattern {
                Some(pattern) if pattern.negated => return None,
                Some(pattern) if fits(text, pattern) => return Some(index),
                _ => {}
            }
        }
        None
    }

    /// A directory on the way to all that a path pattern matches, which `exclude` leaves out whole.
    fn above(&self, pattern: &Pattern) -> Option<Idleness> {
        let Shape::Path(parts) = &pattern.shape else { return None };
        let mut level = self.filter.as_ref()?.root(&DirectoryFacts::default());
        let mut path = RelPath::root();
        for part in parts.iter().take(parts.len().saturating_sub(1)) {
            let Part::Segment(Segment::Literal(name)) = part else { return None };
            path = path.join(name);
            let explanation = level.explain_name(name, Kind::Directory);
            if explanation.judgement == Judgement::Excluded {
                let super::Cause::Line { index, .. } = explanation.cause else { return None };
                return Some(Idleness::Excluded { by: index, with: Some(path) });
            }
            level = level.enter(name, &DirectoryFacts::default());
        }
        None
    }
}

/// Whether a pattern matches every entry of a tree, by itself or by a directory above it.
fn takes_everything(pattern: &Pattern) -> bool {
    let is_all = |text: &str| {
        let all = Pattern::parse(text.as_bytes(), crate::value::Case::Sensitive).ok().flatten();
        all.is_some_and(|all| is_like(&all.shape, &pattern.shape))
    };
    !pattern.directories_only && ["*", "**", "/*", "/**"].into_iter().any(is_all)
}

fn is_like(one: &Shape, other: &Shape) -> bool {
    match (one, other) {
        (Shape::Name(one), Shape::Name(other)) => one == other,
        (Shape::Path(one), Shape::Path(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|parts| match parts {
                    (Part::Deep, Part::Deep) => true,
                    (Part::Segment(one), Part::Segment(other)) => one == other,
                    _ => false,
                })
        }
        _ => false,
    }
}

/// Whether two lines are the same to every entry.
fn same(one: &str, other: &str) -> bool {
    one.trim_end_matches(' ') == other.trim_end_matches(' ')
}
