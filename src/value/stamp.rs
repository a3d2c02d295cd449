//! A point in time as file systems keep it.

use std::fmt;

/// Seconds since 1970-01-01T00:00:00Z, negative before it, and nanoseconds onward from that second
/// (0 … 999,999,999, so that −0.5 s is `{-1, 500_000_000}`, as in `statx(2)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Stamp {
    /// Whole seconds, rounded down.
    pub seconds: i64,
    /// Nanoseconds after `seconds`.
    pub nanos: u32,
}

const NANOS_PER_SECOND: i128 = 1_000_000_000;

impl Stamp {
    /// A stamp of whole seconds.
    #[must_use]
    pub const fn from_seconds(seconds: i64) -> Self {
        Self { seconds, nanos: 0 }
    }

    /// Nanoseconds since 1970; no stamp overflows it.
    #[must_use]
    pub fn as_nanos(self) -> i128 {
        i128::from(self.seconds) * NANOS_PER_SECOND + i128::from(self.nanos)
    }

    /// The stamp of a number of nanoseconds since 1970, held at the ends of what a stamp can say.
    #[must_use]
    pub fn from_nanos(nanos: i128) -> Self {
        let seconds = nanos.div_euclid(NANOS_PER_SECOND);
        let rest = u32::try_from(nanos.rem_euclid(NANOS_PER_SECOND)).unwrap_or(0);
        match i64::try_from(seconds) {
            Ok(seconds) => Self { seconds, nanos: rest },
            Err(_) if nanos < 0 => Self { seconds: i64::MIN, nanos: 0 },
            Err(_) => Self { seconds: i64::MAX, nanos: 999_999_999 },
        }
    }

    /// This stamp rounded down to a multiple of `grain_ns` nanoseconds.
    #[must_use]
    pub fn floored(self, grain_ns: u64) -> Self {
        let grain = i128::from(grain_ns.max(1));
        Self::from_nanos(self.as_nanos().div_euclid(grain) * grain)
    }

    /// Distance to another stamp in nanoseconds, never negative.
    #[must_use]
    pub fn distance_ns(self, other: Self) -> u128 {
        self.as_nanos().abs_diff(other.as_nanos())
    }
}

impl fmt::Display for Stamp {
    /// UTC, `2026-11-24T01:30:00.123456789Z`; `@seconds` where the year has more than four digits.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match chrono::DateTime::from_timestamp(self.seconds, self.nanos) {
            Some(time) if (0..=9999).contains(&chrono::Datelike::year(&time)) => {
                write!(formatter, "{}", time.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true))
            }
            _ => write!(formatter, "@{}.{:09}", self.seconds, self.nanos),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanos_go_both_ways_before_and_after_1970() {
        for stamp in [
            Stamp { seconds: -1, nanos: 500_000_000 },
            Stamp { seconds: 0, nanos: 0 },
            Stamp { seconds: i64::MIN, nanos: 0 },
            Stamp { seconds: i64::MAX, nanos: 999_999_999 },
            Stamp { seconds: -2_147_483_648, nanos: 1 },
        ] {
            assert_eq!(Stamp::from_nanos(stamp.as_nanos()), stamp);
        }
    }

    #[test]
    fn floors_towards_the_past_also_before_1970() {
        let stamp = Stamp { seconds: -1, nanos: 500_000_000 };
        assert_eq!(stamp.floored(1_000_000_000), Stamp::from_seconds(-1));
        assert_eq!(stamp.floored(2_000_000_000), Stamp::from_seconds(-2));
        assert_eq!(Stamp { seconds: 7, nanos: 123_456_789 }.floored(100).nanos, 123_456_700);
    }

    #[test]
    fn shown_in_utc() {
        assert_eq!(Stamp { seconds: 0, nanos: 500_000_000 }.to_string(), "1970-01-01T00:00:00.500Z");
        assert_eq!(Stamp::from_seconds(i64::MAX).to_string(), format!("@{}.000000000", i64::MAX));
    }
}
