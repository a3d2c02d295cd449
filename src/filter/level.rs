//! The compiled filter, and the filter as it stands inside one directory.
//!
//! A [`Level`] carries what the directories above it decided and how far each path pattern has come, so that an entry
//! is judged by its name and metadata alone, without its path and without an allocation (one where case does not count).

use std::borrow::Cow;
use std::sync::Arc;

use super::fold::fold;
use super::lines::{Decision, Lines, Reach};
use super::reason::{Cause, Explanation, Predicate};
use super::select::Bounds;
use super::spec::{DirectoryFacts, FilterSpec, PatternError, PatternList, Select};
use crate::value::{Case, Kind, Meta, Stamp};

/// The name of the tag, see <https://bford.info/cachedir/>.
const CACHE_TAG: &[u8] = b"CACHEDIR.TAG";

/// What the filter says of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The rule speaks of it.
    Selected,
    /// The rule does not speak of it, nor of anything below it.
    Excluded,
    /// A directory that is excluded itself, but is entered because something below may be re-included.
    Through,
}

/// A compiled filter; share it with [`Arc`].
#[derive(Debug)]
pub struct Filter {
    exclude: Lines,
    /// `None` includes everything.
    include: Option<Lines>,
    case: Case,
    bounds: Bounds,
    select: Select,
}

/// The filter as it stands inside one directory; cheap to clone and to send.
#[derive(Clone, Debug)]
pub struct Level {
    filter: Arc<Filter>,
    exclude: Reach,
    include: Reach,
    /// Ignore files of this directory and of those above it, the nearest last; `None` is none.
    ignores: Option<Arc<[Ignore]>>,
    state: State,
    /// Components between the root and this directory.
    depth: u32,
    holds: Holds,
}

/// The ignore files of one directory, and how far their path patterns have come.
#[derive(Clone, Debug)]
struct Ignore {
    lines: Arc<Lines>,
    reach: Reach,
    /// Components of the path of the directory that holds them.
    depth: u32,
}

/// The nearest matches of a directory, or of an entry: list by list, of itself or of a directory above it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State {
    /// Of the job's `exclude`.
    exclude: Option<Match>,
    /// Of an ignore file; the depth of the directory that holds it comes first.
    ignore: Option<(u32, Match)>,
    /// Of the job's `include`.
    include: Option<Match>,
}

/// A line that matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Match {
    decision: Decision,
    /// Components of the path that it matched.
    depth: u32,
}

impl State {
    fn is_excluded(&self) -> bool {
        self.exclude.is_some_and(|found| !found.decision.negated)
    }

    fn is_ignored(&self) -> bool {
        self.ignore.is_some_and(|(_, found)| !found.decision.negated)
    }

    /// Whether an `include` that there is chooses it.
    fn is_included(&self) -> bool {
        self.include.is_some_and(|found| !found.decision.negated)
    }

    /// What excludes it, or what speaks for it.
    fn cause(&self) -> Cause {
        let line = |list: PatternList, found: Match| Cause::Line {
            list,
            index: found.decision.spot.line as usize,
            depth: found.depth as usize,
            negated: found.decision.negated,
        };
        let ignored = self.ignore.map(|(directory, found)| Cause::IgnoreLine {
            directory: directory as usize,
            file: found.decision.spot.text as usize,
            line: found.decision.spot.line as usize,
            depth: found.depth as usize,
            negated: found.decision.negated,
        });
        let excluded = self.exclude.map(|found| line(PatternList::Exclude, found));
        if self.is_excluded() {
            excluded
        } else if self.is_ignored() {
            ignored
        } else {
            excluded.or(ignored)
        }
        .unwrap_or(Cause::Nothing)
    }
}

/// What a directory's own facts leave of what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    Everything,
    /// A valid cache tag: that tag alone.
    CacheTag,
    /// A marker: nothing, and the directory goes too.
    Nothing,
}

impl Filter {
    /// Compiles; ages are counted back from `now`.
    ///
    /// # Errors
    /// Every pattern that is malformed or could never match, in the order of the lists.
    pub fn compile(spec: &FilterSpec, now: Stamp) -> Result<Arc<Self>, Vec<PatternError>> {
        let mut errors = Vec::new();
        let mut compile = |list: PatternList, texts: &[String]| {
            Lines::compile(texts, spec.case).unwrap_or_else(|flaws| {
                errors.extend(flaws.into_iter().map(|(index, flaw)| PatternError {
                    list,
                    index,
                    message: flaw.to_string(),
                }));
                Lines::default()
            })
        };
        let exclude = compile(PatternList::Exclude, &spec.exclude);
        let include = compile(PatternList::Include, &spec.include);
        if errors.is_empty() && !include.is_empty() && !include.has_positive() {
            errors.push(PatternError {
                list: PatternList::Include,
                index: 0,
                message: "an `include` of `!` lines alone includes nothing; \
                          add what is to be included, or put the patterns into `exclude` without their `!`"
                    .to_owned(),
            });
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(Arc::new(Self {
            exclude,
            include: (!include.is_empty()).then_some(include),
            case: spec.case,
            bounds: Bounds::new(&spec.select, now),
            select: spec.select.clone(),
        }))
    }

    /// Whether any directory facts are wanted at all (so that a walker need not look).
    #[must_use]
    pub fn wants_facts(&self) -> bool {
        let select = &self.select;
        !select.exclude_if_present.is_empty() || select.exclude_caches || !select.ignore_files.is_empty()
    }

    /// The select predicates it was made of.
    #[must_use]
    pub fn select(&self) -> &Select {
        &self.select
    }

    /// The level of the root directory.
    #[must_use]
    pub fn root(self: &Arc<Self>, facts: &DirectoryFacts) -> Level {
        Level {
            exclude: self.exclude.start(),
            include: self.include.as_ref().map(Lines::start).unwrap_or_default(),
            ignores: self.ignores(&[], b"", facts, 0),
            state: State::default(),
            depth: 0,
            holds: self.holds(facts),
            filter: Arc::clone(self),
        }
    }

    /// The ignore files that count inside a directory, given those of the directory above.
    fn ignores(
        &self,
        above: &[Ignore],
        name: &[u8],
        facts: &DirectoryFacts,
        depth: u32,
    ) -> Option<Arc<[Ignore]>> {
        let mut ignores: Vec<Ignore> = above
            .iter()
            .map(|ignore| Ignore {
                lines: Arc::clone(&ignore.lines),
                reach: ignore.lines.enter(&ignore.reach, name),
                depth: ignore.depth,
            })
            .collect();
        if !self.select.ignore_files.is_empty() && !facts.ignore_texts.is_empty() {
            let lines = Lines::of_ignore_texts(&facts.ignore_texts, self.case);
            if !lines.is_empty() {
                ignores.push(Ignore { reach: lines.start(), lines: Arc::new(lines), depth });
            }
        }
        if ignores.is_empty() { None } else { Some(ignores.into()) }
    }

    fn holds(&self, facts: &DirectoryFacts) -> Holds {
        if facts.has_marker && !self.select.exclude_if_present.is_empty() {
            Holds::Nothing
        } else if facts.is_cache && self.select.exclude_caches {
            Holds::CacheTag
        } else {
            Holds::Everything
        }
    }

    fn compared<'name>(&self, name: &'name [u8]) -> Cow<'name, [u8]> {
        match self.case {
            Case::Sensitive => Cow::Borrowed(name),
            Case::Insensitive => fold(name),
        }
    }
}

impl Level {
    /// Judges one entry of this directory.
    #[must_use]
    pub fn judge(&self, name: &[u8], meta: &Meta) -> Judgement {
        self.explain(name, meta).judgement
    }

    /// Judges one entry of this directory, and says by what.
    #[must_use]
    pub fn explain(&self, name: &[u8], meta: &Meta) -> Explanation {
        match self.excluded_anyway(name, meta.kind).or_else(|| self.filter.bounds.exceeded(meta)) {
            Some(predicate) => left_out(predicate),
            None => self.by_patterns(name, meta.kind),
        }
    }

    /// Judges a name of this directory by all but size and time, for an entry that is not there.
    #[must_use]
    pub fn explain_name(&self, name: &[u8], kind: Kind) -> Explanation {
        match self.excluded_anyway(name, kind) {
            Some(predicate) => left_out(predicate),
            None => self.by_patterns(name, kind),
        }
    }

    fn by_patterns(&self, name: &[u8], kind: Kind) -> Explanation {
        if !self.has_patterns() {
            return Explanation { judgement: Judgement::Selected, cause: Cause::Nothing };
        }
        let is_directory = kind == Kind::Directory;
        let name = &*self.filter.compared(name);
        let state = self.state_of(name, is_directory);
        if state.is_excluded() || state.is_ignored() {
            let is_entered = is_directory
                && self.is_within_depth(2)
                && self.filter.exclude.may_negate_below(&self.exclude, name);
            let judgement = if is_entered { Judgement::Through } else { Judgement::Excluded };
            return Explanation { judgement, cause: state.cause() };
        }
        if is_directory || self.filter.include.is_none() {
            return Explanation { judgement: Judgement::Selected, cause: state.cause() };
        }
        let judgement = if state.is_included() { Judgement::Selected } else { Judgement::Excluded };
        let cause = state.include.map_or(Cause::NotIncluded, |found| Cause::Line {
            list: PatternList::Include,
            index: found.decision.spot.line as usize,
            depth: found.depth as usize,
            negated: found.decision.negated,
        });
        Explanation { judgement, cause }
    }

    /// Whether the patterns alone (`exclude`, ignore files, `include`) leave an entry out, whatever `select` says of it.
    #[must_use]
    pub fn is_excluded_by_patterns(&self, name: &[u8], kind: Kind) -> bool {
        if !self.has_patterns() {
            return false;
        }
        let is_directory = kind == Kind::Directory;
        let state = self.state_of(&self.filter.compared(name), is_directory);
        state.is_excluded()
            || state.is_ignored()
            || !(is_directory || self.filter.include.is_none() || state.is_included())
    }

    /// The level of a directory of this one that was judged `Selected` or `Through`, once its facts are known.
    /// Its own facts may exclude all below it: see [`Level::excludes_all`].
    #[must_use]
    pub fn enter(&self, name: &[u8], facts: &DirectoryFacts) -> Self {
        let filter = &self.filter;
        let name = &*filter.compared(name);
        Self {
            exclude: filter.exclude.enter(&self.exclude, name),
            include: filter
                .include
                .as_ref()
                .map(|lines| lines.enter(&self.include, name))
                .unwrap_or_default(),
            ignores: filter.ignores(self.ignores(), name, facts, self.depth.saturating_add(1)),
            state: if self.has_patterns() { self.state_of(name, true) } else { self.state },
            depth: self.depth.saturating_add(1),
            holds: if self.holds == Holds::Nothing { Holds::Nothing } else { filter.holds(facts) },
            filter: Arc::clone(filter),
        }
    }

    /// Whether nothing below can be selected and the directory itself is not either (a marker was found).
    #[must_use]
    pub fn excludes_all(&self) -> bool {
        self.holds == Holds::Nothing
    }

    /// The nearest match decides, list by list: of an entry itself, else what was said of its directory.
    ///
    /// - A line of the job's `exclude` that matches the entry overrides what ignore files say of it, and of what
    ///   is above it.
    /// - Ignore files only ever exclude more. Among them all is as in git: the nearest file that says anything
    ///   decides, and nothing below an ignored directory is taken back by an ignore file.
    fn state_of(&self, name: &[u8], is_directory: bool) -> State {
        let depth = self.depth.saturating_add(1);
        let here = |decision| Match { decision, depth };
        let mut state = self.state;
        match self.filter.exclude.decide(&self.exclude, name, is_directory) {
            Some(decision) => {
                state.exclude = Some(here(decision));
                if decision.negated {
                    state.ignore = None;
                }
            }
            None if !state.is_ignored() => {
                let nearest = |ignore: &Ignore| {
                    let decision = ignore.lines.decide(&ignore.reach, name, is_directory)?;
                    Some((ignore.depth, here(decision)))
                };
                state.ignore = self.ignores().iter().rev().find_map(nearest);
            }
            None => {}
        }
        if let Some(include) = &self.filter.include
            && let Some(decision) = include.decide(&self.include, name, is_directory)
        {
            state.include = Some(here(decision));
        }
        state
    }

    fn ignores(&self) -> &[Ignore] {
        self.ignores.as_deref().unwrap_or_default()
    }

    fn has_patterns(&self) -> bool {
        !self.filter.exclude.is_empty() || self.filter.include.is_some() || self.ignores.is_some()
    }

    /// Whether entries so many components below this directory are not too deep.
    fn is_within_depth(&self, below: u32) -> bool {
        self.filter.select.max_depth.is_none_or(|most| self.depth.saturating_add(below) <= most)
    }

    /// What leaves out an entry of that name and kind before any pattern is asked: depth, a marker, a cache tag.
    fn excluded_anyway(&self, name: &[u8], kind: Kind) -> Option<Predicate> {
        let held = match self.holds {
            Holds::Everything => None,
            Holds::Nothing => Some(Predicate::ExcludeIfPresent),
            Holds::CacheTag if kind != Kind::Directory && self.is_cache_tag(name) => None,
            Holds::CacheTag => Some(Predicate::ExcludeCaches),
        };
        held.or((!self.is_within_depth(1)).then_some(Predicate::MaxDepth))
    }

    fn is_cache_tag(&self, name: &[u8]) -> bool {
        match self.filter.case {
            Case::Sensitive => name == CACHE_TAG,
            Case::Insensitive => name.eq_ignore_ascii_case(CACHE_TAG),
        }
    }
}

fn left_out(predicate: Predicate) -> Explanation {
    Explanation { judgement: Judgement::Excluded, cause: Cause::Select(predicate) }
}
