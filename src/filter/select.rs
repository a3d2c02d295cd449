//! The predicates of `select` that a file's metadata answers, with ages turned into moments.

use std::time::Duration;

use super::reason::Predicate;
use super::spec::{Age, Select};
use crate::value::{Kind, Meta, Stamp};

/// Bounds on a file's size and time; both ends belong to what is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Bounds {
    size_min: Option<u64>,
    size_max: Option<u64>,
    modified_min: Option<Stamp>,
    modified_max: Option<Stamp>,
}

impl Bounds {
    /// Ages are counted back from `now`.
    pub(super) fn new(select: &Select, now: Stamp) -> Self {
        let moment = |age: Age| match age {
            Age::Date(stamp) => stamp,
            Age::Span(span) => before(now, span),
        };
        Self {
            size_min: select.min_size.map(|size| size.0),
            size_max: select.max_size.map(|size| size.0),
            modified_min: select.newer_than.map(moment),
            modified_max: select.older_than.map(moment),
        }
    }

    /// The first of them that an entry does not lie within; directories, symlinks and specials always do.
    pub(super) fn exceeded(&self, meta: &Meta) -> Option<Predicate> {
        if meta.kind != Kind::File {
            return None;
        }
        if self.size_min.is_some_and(|least| meta.size < least) {
            Some(Predicate::MinSize)
        } else if self.size_max.is_some_and(|most| meta.size > most) {
            Some(Predicate::MaxSize)
        } else if self.modified_min.is_some_and(|earliest| meta.modified < earliest) {
            Some(Predicate::NewerThan)
        } else if self.modified_max.is_some_and(|latest| meta.modified > latest) {
            Some(Predicate::OlderThan)
        } else {
            None
        }
    }
}

fn before(now: Stamp, span: Duration) -> Stamp {
    // 2⁶⁴ s in nanoseconds take 94 bits.
    let nanos = i128::try_from(span.as_nanos()).unwrap_or(i128::MAX);
    Stamp::from_nanos(now.as_nanos().saturating_sub(nanos))
}
