//! The compiled filter, and the filter as it stands inside one directory.
//!
//! A [`Level`] carries what the directories above it decided and how far each path pattern has come, so that an entry
//! is judged by its name and metadata alone, without its path and without an allocation (one where case does not count).

use std::borrow::Cow;
use std::sync::Arc;

use super::fold::fold;
use super::lines::{Decision, Lines, Reach};
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
}

/// What the nearest matches said of a directory, or of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    /// The job's `exclude` says no.
    excluded: bool,
    /// An ignore file says no.
    ignored: bool,
    /// The job's `include` says yes.
    included: bool,
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
            ignores: self.ignores(&[], b"", facts),
            state: State { excluded: false, ignored: false, included: self.include.is_none() },
            depth: 0,
            holds: self.holds(facts),
            filter: Arc::clone(self),
        }
    }

    /// The ignore files that count inside a directory, given those of the directory above.
    fn ignores(&self, above: &[Ignore], name: &[u8], facts: &DirectoryFacts) -> Option<Arc<[Ignore]>> {
        let mut ignores: Vec<Ignore> = above
            .iter()
            .map(|ignore| Ignore {
                lines: Arc::clone(&ignore.lines),
                reach: ignore.lines.enter(&ignore.reach, name),
            })
            .collect();
        if !self.select.ignore_files.is_empty() && !facts.ignore_texts.is_empty() {
            let lines = Lines::of_ignore_texts(&facts.ignore_texts, self.case);
            if !lines.is_empty() {
                ignores.push(Ignore { reach: lines.start(), lines: Arc::new(lines) });
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
        let is_directory = meta.kind == Kind::Directory;
        if !self.holds(name, is_directory) || !self.is_within_depth(1) || !self.filter.bounds.admit(meta) {
            return Judgement::Excluded;
        }
        if !self.has_patterns() {
            return Judgement::Selected;
        }
        let name = &*self.filter.compared(name);
        let state = self.state_of(name, is_directory);
        if state.excluded || state.ignored {
            let is_entered = is_directory
                && self.is_within_depth(2)
                && self.filter.exclude.may_negate_below(&self.exclude, name);
            return if is_entered { Judgement::Through } else { Judgement::Excluded };
        }
        if is_directory || state.included { Judgement::Selected } else { Judgement::Excluded }
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
            ignores: filter.ignores(self.ignores(), name, facts),
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
        let mut state = self.state;
        match self.filter.exclude.decide(&self.exclude, name, is_directory) {
            Some(Decision::Matched) => state.excluded = true,
            Some(Decision::Negated) => {
                state.excluded = false;
                state.ignored = false;
            }
            None if !state.ignored => {
                let nearest = |ignore: &Ignore| ignore.lines.decide(&ignore.reach, name, is_directory);
                let decision = self.ignores().iter().rev().find_map(nearest);
                state.ignored = decision == Some(Decision::Matched);
            }
            None => {}
        }
        if let Some(include) = &self.filter.include
            && let Some(decision) = include.decide(&self.include, name, is_directory)
        {
            state.included = decision == Decision::Matched;
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

    fn holds(&self, name: &[u8], is_directory: bool) -> bool {
        match self.holds {
            Holds::Everything => true,
            Holds::Nothing => false,
            Holds::CacheTag if is_directory => false,
            Holds::CacheTag => match self.filter.case {
                Case::Sensitive => name == CACHE_TAG,
                Case::Insensitive => name.eq_ignore_ascii_case(CACHE_TAG),
            },
        }
    }
}
