//! Trying again what failed for a passing reason.

use std::time::Duration;

use crate::value::Wish;

use super::site::Site;
use super::trouble::Trouble;

/// The first wait; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(20);
/// No wait is longer: a name that is busy for longer is left to the next run.
const WAIT_MAX: Duration = Duration::from_secs(1);
/// How often a sleeping thread looks at the wish to stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Calls until it succeeds, fails for good, or has been tried `retries` times again.
pub(super) fn patiently<T>(
    site: &Site<'_>,
    mut attempt: impl FnMut() -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    let mut left = site.terms.rule.retries;
    let mut wait = FIRST_WAIT;
    loop {
        match attempt() {
            Err(trouble) if trouble.is_passing() && left > 0 && !site.terms.cancel.is_raised() => {
                left -= 1;
                pause(site, wait);
                wait = (wait * 2).min(WAIT_MAX);
            }
            ended => return ended,
        }
    }
}

/// Sleeps, but not past the wish to stop.
pub(super) fn pause(site: &Site<'_>, wait: Duration) {
    let mut left = wait;
    while !left.is_zero() && site.terms.cancel.wish() == Wish::Run {
        let piece = left.min(LOOK_EVERY);
        std::thread::sleep(piece);
        left -= piece;
    }
}
