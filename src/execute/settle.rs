//! Sources that change while they are copied.

use std::time::Duration;

use crate::job::{Choice, Unsettled};
use crate::queue::Copied;
use crate::value::{Meta, Stamp};

use super::site::Site;

/// Times are taken from a clock that ticks this slowly at most (`CONFIG_HZ=100`), whatever grain the file system keeps.
const TICK_NS: u64 = 10_000_000;
/// No grain is waited for longer: that of FAT.
const WAIT_NS_MAX: u64 = 2_000_000_000;
/// How often a file that keeps changing is read again.
pub(super) const READINGS_MAX: u32 = 3;

/// How long to wait until a change of the file would show in its mtime: `None` where it would by now. A file that was touched within one
/// grain of its reading may change again without another mtime.
pub(super) fn unripe(site: &Site<'_>, meta: &Meta) -> Option<Duration> {
    let grain = site.terms.source_place.grain_ns.clamp(TICK_NS, WAIT_NS_MAX);
    let age = site.terms.clock.now().as_nanos() - meta.modified.as_nanos();
    (age.unsigned_abs() < u128::from(grain)).then(|| Duration::from_nanos(grain))
}

/// Whether the bytes that were read are one state of the file. A size of 0 is what pseudo files claim.
pub(super) fn is_whole(before: &Meta, after: &Meta, copied: &Copied) -> bool {
    let still =
        before.size == after.size && before.modified == after.modified && before.changed == after.changed;
    still && (copied.bytes == before.size || before.size == 0)
}

/// What to do with a copy whose source changed at every reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Torn {
    /// The destination keeps what it has.
    Drop,
    /// It is better than nothing: published, and told as a failure.
    Publish,
    /// The rule takes it.
    Accept,
}

/// The rule's word on a torn copy; `present` is what the destination has under the name.
pub(super) fn torn(site: &Site<'_>, present: Option<&Meta>) -> Torn {
    match (site.terms.rule.unsettled, present) {
        (Unsettled::Publish, _) => Torn::Accept,
        (Unsettled::Retry, Some(_)) => Torn::Drop,
        (Unsettled::Retry, None) => Torn::Publish,
    }
}

/// The time that a torn copy gets: older than the one read by the least that the next comparison sees, so that it is copied again.
pub(super) fn older(site: &Site<'_>, modified: Stamp) -> Stamp {
    let grain = site.place().grain_ns.max(1);
    let tolerance = match site.terms.rule.time_tolerance {
        Choice::Auto => i128::from(grain.max(site.terms.source_place.grain_ns)),
        Choice::Set(tolerance) => i128::try_from(tolerance.as_nanos()).unwrap_or(i128::MAX / 4),
    };
    Stamp::from_nanos(site.place().held_time(modified).as_nanos() - tolerance - i128::from(grain))
}
