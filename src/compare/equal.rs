//! Whether two entries of one kind have the same content, as far as metadata tells.

use crate::job::{Choice, Comparison};
use crate::value::{Meta, Stamp};

use super::march::March;
use super::{Age, Difference};

/// What sizes and times say about two files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Likeness {
    /// They count as equal.
    Equal,
    /// They differ.
    Different(Difference),
    /// Both have to be read.
    Unknown,
}

/// How times are compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// The coarser grain of both places, in nanoseconds.
    grain_ns: u64,
    tolerance_ns: u128,
}

impl Times {
    /// Between two places. `auto` needs no tolerance: both times are rounded down to the coarser grain, so that a change by one
    /// grain is still seen.
    pub(super) fn new(source_grain_ns: u64, grain_ns: u64, tolerance: Choice<std::time::Duration>) -> Self {
        let tolerance_ns = match tolerance {
            Choice::Auto => 0,
            Choice::Set(span) => span.as_nanos(),
        };
        Self { grain_ns: source_grain_ns.max(grain_ns).max(1), tolerance_ns }
    }

    fn equal(self, held: Stamp, destination: Stamp) -> bool {
        held == destination
            || held.floored(self.grain_ns).distance_ns(destination.floored(self.grain_ns))
                <= self.tolerance_ns
    }
}

impl March<'_> {
    /// Whether the destination has the source's time, as well as it can hold it.
    pub(super) fn times_equal(&self, source: &Meta, destination: &Meta) -> bool {
        source.modified == destination.modified
            || self.times.equal(self.terms.place.held_time(source.modified), destination.modified)
    }

    /// Which side is newer.
    pub(super) fn age(&self, source: &Meta, destination: &Meta) -> Age {
        if self.times_equal(source, destination) {
            return Age::Equal;
        }
        if self.terms.place.held_time(source.modified) > destination.modified {
            Age::Newer
        } else {
            Age::Older
        }
    }

    /// What sizes and times say about two files.
    pub(super) fn likeness(&self, source: &Meta, destination: &Meta) -> Likeness {
        if source.size != destination.size {
            return Likeness::Different(Difference::Size);
        }
        match self.terms.rule.compare {
            Comparison::Size => Likeness::Equal,
            Comparison::Mtime | Comparison::MtimeThenHash if self.times_fit(source, destination) => {
                Likeness::Equal
            }
            Comparison::Hash | Comparison::MtimeThenHash => Likeness::Unknown,
            Comparison::Mtime => Likeness::Different(Difference::Time),
        }
    }

    /// Whether times say that nothing changed. Where they are not kept, the destination has the time of its copy: only a source that
    /// changed later differs.
    fn times_fit(&self, source: &Meta, destination: &Meta) -> bool {
        match self.age(source, destination) {
            Age::Equal => true,
            Age::Older => !self.terms.rule.preserve.times,
            Age::Newer => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn at(seconds: i64, nanos: u32) -> Stamp {
        Stamp { seconds, nanos }
    }

    #[test]
    fn bc_07_a_coarse_place_forgives_its_grain_and_no_more() {
        let fat = Times::new(1, 2_000_000_000, Choice::Auto);
        assert!(fat.equal(at(10, 0), at(11, 5)));
        assert!(!fat.equal(at(10, 0), at(12, 0)));
        let native = Times::new(1, 1, Choice::Auto);
        assert!(native.equal(at(10, 7), at(10, 7)) && !native.equal(at(10, 7), at(10, 8)));
    }

    #[test]
    fn a_set_tolerance_counts_in_both_directions() {
        let times = Times::new(1, 1, Choice::Set(Duration::from_secs(3600)));
        assert!(times.equal(at(0, 0), at(3600, 0)) && times.equal(at(3600, 0), at(0, 0)));
        assert!(!times.equal(at(0, 0), at(3600, 1)));
    }
}
