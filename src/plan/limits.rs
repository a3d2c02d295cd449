//! The limits of DESIGN §7, checked against a plan's sums.

use crate::job::{Limit, Limits, MinFree};
use crate::value::Place;

use super::{LimitCheck, Plan, Terms, Totals};

/// Below so many entries a share says little: a few changes pass whatever it is.
const SMALL_BASE: u64 = 20;
/// Removals that pass in a small destination (DESIGN §7).
const SMALL_REMOVE: u64 = 5;
/// Replacements that pass in a small destination (DESIGN §7).
const SMALL_REPLACE: u64 = 10;

/// Checks all limits; one row each, whether it is set or not.
pub(super) fn check_limits(
    terms: &Terms<'_>,
    totals: &Totals,
    base: u64,
    freed_bytes: u64,
) -> Vec<LimitCheck> {
    let limits = terms.limits;
    vec![
        entries("remove", limits.remove, totals.removed_entries, base, SMALL_REMOVE),
        entries("replace", limits.replace, totals.replaced_entries, base, SMALL_REPLACE),
        room(limits.min_free, terms.place, totals.allocated.saturating_sub(freed_bytes)),
    ]
}

impl LimitCheck {
    /// What is to be said behind the limit as written where a small destination allows more: `, but 5 of fewer than 20`.
    #[must_use]
    pub fn small_base_words(&self) -> String {
        match self.allowed {
            Some(allowed) if self.base < SMALL_BASE && allowed > 0 && self.written.ends_with('%') => {
                format!(", but {allowed} of fewer than {SMALL_BASE}")
            }
            _ => String::new(),
        }
    }
}

impl Plan {
    /// Checks the limits anew: the plan's own numbers against these limits, and against the room that is there now.
    pub fn check_limits(&mut self, limits: Limits, place: &Place) {
        let base = self.limits.iter().find(|check| check.name == "remove").map_or(0, |check| check.base);
        let needed = self.limits.iter().find(|check| check.name == "min_free").map(|check| check.planned);
        self.limits = vec![
            entries("remove", limits.remove, self.totals.removed_entries, base, SMALL_REMOVE),
            entries("replace", limits.replace, self.totals.replaced_entries, base, SMALL_REPLACE),
            room(limits.min_free, place, needed.unwrap_or(self.totals.allocated)),
        ];
    }
}

fn entries(name: &'static str, limit: Limit, planned: u64, base: u64, small: u64) -> LimitCheck {
    let (allowed, written) = match limit {
        Limit::None => (None, "none".to_owned()),
        Limit::Count(count) => (Some(count), count.to_string()),
        Limit::Share(share) => {
            // `0%` is a plain no, in a small destination as in a large one.
            let passes = if base < SMALL_BASE && share.of(u64::MAX) > 0 { small } else { 0 };
            (Some(share.of(base).max(passes)), share.to_string())
        }
    };
    LimitCheck {
        name,
        planned,
        allowed,
        base,
        written,
        holds: allowed.is_none_or(|allowed| planned <= allowed),
    }
}

fn room(min_free: MinFree, place: &Place, planned: u64) -> LimitCheck {
    let (keep, written) = match min_free {
        MinFree::None => (None, "none".to_owned()),
        MinFree::Bytes(bytes) => (Some(bytes.0), bytes.to_string()),
        MinFree::Share(share) => (Some(share.of(place.total_bytes)), share.to_string()),
    };
    let allowed = keep.map(|keep| place.free_bytes.saturating_sub(keep));
    // A plan that needs no room holds on a full disk too: it may be the one that makes room.
    let holds = allowed.is_none_or(|allowed| planned <= allowed);
    LimitCheck { name: "min_free", planned, allowed, base: place.total_bytes, written, holds }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Percent;

    #[test]
    fn shares_counts_and_small_destinations() {
        let share = |percent| Limit::Share(Percent::whole(percent));
        for (limit, planned, base, allowed, holds) in [
            (share(25), 25, 100, Some(25), true),
            (share(25), 26, 100, Some(25), false),
            (share(25), 5, 20, Some(5), true),
            (share(25), 6, 20, Some(5), false),
            (share(25), 5, 19, Some(5), true),
            (share(25), 6, 19, Some(5), false),
            (share(1), 5, 6, Some(5), true),
            (share(100), 19, 19, Some(19), true),
            (share(0), 1, 6, Some(0), false),
            (share(25), 0, 0, Some(5), true),
            (Limit::Count(120), 120, 3, Some(120), true),
            (Limit::Count(120), 121, 3, Some(120), false),
            (Limit::Count(0), 1, 1000, Some(0), false),
            (Limit::None, u64::MAX, 1, None, true),
        ] {
            let check = entries("remove", limit, planned, base, SMALL_REMOVE);
            assert_eq!((check.allowed, check.holds), (allowed, holds), "{limit:?} {planned} of {base}");
        }
    }
}
