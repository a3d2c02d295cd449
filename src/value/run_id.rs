//! The id of one run: a UTC time that sorts as text.

use std::fmt;
use std::str::FromStr;

use super::Stamp;

/// A run's id, `2026-11-24T013000.123Z`: UTC to the millisecond, ordered as time and as text alike, and safe
/// as a file name on every system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId {
    /// Milliseconds since 1970-01-01T00:00:00Z, within years 0000 … 9999.
    milliseconds: i64,
}

/// The text is not a run id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a run id looks like 2026-11-24T013000.123Z")]
pub struct RunIdError;

const FORMAT: &str = "%Y-%m-%dT%H%M%S%.3fZ";
/// Length of the text in bytes.
const TEXT_BYTES: usize = 22;
/// The last millisecond of the year 9999: the text has no room for more.
const MILLISECONDS_MAX: i64 = 253_402_300_799_999;

impl RunId {
    /// The id for a run that starts `now`, bumped past `newest`, the newest id present, so that ids never repeat
    /// nor run backwards when the clock does.
    #[must_use]
    pub fn at(now: Stamp, newest: Option<Self>) -> Self {
        let milliseconds = now
            .seconds
            .saturating_mul(1000)
            .saturating_add(i64::from(now.nanos / 1_000_000))
            .clamp(0, MILLISECONDS_MAX);
        let least = newest.map_or(0, |id| id.milliseconds.saturating_add(1));
        Self { milliseconds: milliseconds.max(least).min(MILLISECONDS_MAX) }
    }

    /// The time that the id says.
    #[must_use]
    pub fn time(self) -> Stamp {
        Stamp::from_nanos(i128::from(self.milliseconds) * 1_000_000)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = chrono::DateTime::from_timestamp_millis(self.milliseconds).unwrap_or_default();
        write!(formatter, "{}", time.format(FORMAT))
    }
}

impl FromStr for RunId {
    type Err = RunIdError;

    fn from_str(text: &str) -> Result<Self, RunIdError> {
        if text.len() != TEXT_BYTES {
            return Err(RunIdError);
        }
        let time = chrono::NaiveDateTime::parse_from_str(text, FORMAT).map_err(|_| RunIdError)?;
        let id = Self { milliseconds: time.and_utc().timestamp_millis() };
        // One text per id: leap seconds and loose digits do not come back as they were.
        if id.to_string() == text { Ok(id) } else { Err(RunIdError) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_goes_both_ways_and_sorts() {
        let id: RunId = "2026-11-24T013000.123Z".parse().unwrap();
        assert_eq!(id.to_string(), "2026-11-24T013000.123Z");
        let later = RunId::at(id.time(), Some(id));
        assert!(later > id && later.to_string() > id.to_string());
        for text in
            ["", "2026-11-24", "2026-11-24T013000.123", "2026-13-24T013000.123Z", "2026-11-24T01:30:00Z.."]
        {
            assert_eq!(text.parse::<RunId>(), Err(RunIdError), "{text}");
        }
    }

    #[test]
    fn a_clock_set_back_does_not_reuse_ids() {
        let newest: RunId = "2030-01-01T000000.000Z".parse().unwrap();
        let id = RunId::at(Stamp::from_seconds(0), Some(newest));
        assert_eq!(id.to_string(), "2030-01-01T000000.001Z");
    }
}
