//! The clock, handed to whoever needs the time.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::value::Stamp;

/// Wall and monotonic time; a fixed wall time for tests.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    fixed: Option<Stamp>,
}

impl Clock {
    /// The system's clock. Where faults are compiled in, `TWINLANE_CLOCK=SECONDS` fixes the wall time.
    #[must_use]
    pub fn system() -> Self {
        Self { start: Instant::now(), fixed: overridden() }
    }

    /// A clock whose wall time stands still.
    #[must_use]
    pub fn fixed(at: Stamp) -> Self {
        Self { start: Instant::now(), fixed: Some(at) }
    }

    /// The wall time.
    #[must_use]
    pub fn now(&self) -> Stamp {
        if let Some(fixed) = self.fixed {
            return fixed;
        }
        let now = SystemTime::now();
        let nanos = match now.duration_since(UNIX_EPOCH) {
            Ok(after) => i128::try_from(after.as_nanos()).unwrap_or(i128::MAX),
            Err(before) => i128::try_from(before.duration().as_nanos()).map_or(i128::MIN, |nanos| -nanos),
        };
        Stamp::from_nanos(nanos)
    }

    /// Time since this clock was made; never runs backwards.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

#[cfg(any(debug_assertions, feature = "fault"))]
fn overridden() -> Option<Stamp> {
    std::env::var("TWINLANE_CLOCK").ok()?.parse().ok().map(Stamp::from_seconds)
}

#[cfg(not(any(debug_assertions, feature = "fault")))]
fn overridden() -> Option<Stamp> {
    None
}
