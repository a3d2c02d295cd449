//! Which versions are due to go: pure, from a list, a rule and the time.

use std::collections::HashMap;
use std::time::Duration;

use crate::job::Retention;
use crate::value::{RelPath, RunId, Stamp};

/// What a ceiling or a full disk never takes: the versions of this long (DESIGN §3).
const UNTOUCHED: Duration = Duration::from_secs(24 * 60 * 60);

/// One displaced entry. It was displaced when its run began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Where it was.
    pub path: RelPath,
    /// Who displaced it.
    pub run: RunId,
    /// What it holds on the device; 0 where another entry holds the same inode too.
    pub bytes: u64,
}

/// Whether `version` was displaced at most `span` before `now`; also where it was displaced after.
fn is_within(version: &Version, span: Duration, now: Stamp) -> bool {
    let span = i128::try_from(span.as_nanos()).unwrap_or(i128::MAX);
    now.as_nanos() - version.run.time().as_nanos() <= span
}

/// Indices into `versions` of those that are due, ascending: what neither `keep_for` nor `keep_last` keeps, and of the rest the oldest
/// above `max_size`. With neither of the two given, only the ceiling takes any.
#[must_use]
pub fn due(versions: &[Version], retention: &Retention, now: Stamp) -> Vec<usize> {
    let newest_first = newest_first(versions);
    let keeps_all = retention.keep_for.is_none() && retention.keep_last.is_none();
    let mut kept = vec![keeps_all; versions.len()];
    let mut seen: HashMap<&RelPath, u32> = HashMap::new();
    for (index, version) in &newest_first {
        let rank = seen.entry(&version.path).or_insert(0);
        *rank = rank.saturating_add(1);
        let young = retention.keep_for.is_some_and(|span| is_within(version, span, now));
        let among_last = retention.keep_last.is_some_and(|count| *rank <= count);
        if let Some(kept) = kept.get_mut(*index) {
            *kept |= young || among_last;
        }
    }
    let is_kept = |index: usize| kept.get(index).copied().unwrap_or(true);
    let mut due: Vec<usize> = (0..versions.len()).filter(|&index| !is_kept(index)).collect();
    if let Some(ceiling) = retention.max_size {
        let rest = || newest_first.iter().filter(|(index, _)| is_kept(*index));
        let total: u128 = rest().map(|(_, version)| u128::from(version.bytes)).sum();
        let excess = total.saturating_sub(u128::from(ceiling.0));
        due.extend(take_oldest(rest().rev().copied(), excess, now));
    }
    due.sort_unstable();
    due
}

/// Indices into `versions` of the oldest ones that hold `bytes_needed` together, ascending, whatever keeps them, but none of the last 24
/// hours; fewer bytes where there are no more.
#[must_use]
pub fn oldest(versions: &[Version], bytes_needed: u64, now: Stamp) -> Vec<usize> {
    let mut oldest = take_oldest(newest_first(versions).into_iter().rev(), u128::from(bytes_needed), now);
    oldest.sort_unstable();
    oldest
}

fn newest_first(versions: &[Version]) -> Vec<(usize, &Version)> {
    let mut sorted: Vec<(usize, &Version)> = versions.iter().enumerate().collect();
    sorted.sort_by(|(_, a), (_, b)| (b.run, &b.path).cmp(&(a.run, &a.path)));
    sorted
}

fn take_oldest<'a>(
    oldest_first: impl Iterator<Item = (usize, &'a Version)>,
    bytes: u128,
    now: Stamp,
) -> Vec<usize> {
    let mut left = bytes;
    let mut taken = Vec::new();
    for (index, version) in oldest_first {
        if left == 0 || is_within(version, UNTOUCHED, now) {
            break;
        }
        left = left.saturating_sub(u128::from(version.bytes));
        taken.push(index);
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::ByteCount;
    use proptest::prelude::*;

    const DAY: u64 = 24 * 60 * 60;

    /// Now: day 1,000.
    fn now() -> Stamp {
        Stamp::from_seconds(1000 * DAY.cast_signed())
    }

    fn version(path: &str, days_ago: u64, bytes: u64) -> Version {
        let at = Stamp::from_seconds((1000 - days_ago.cast_signed()) * DAY.cast_signed());
        Version { path: RelPath::parse(path.as_bytes()).unwrap(), run: RunId::at(at, None), bytes }
    }

    fn retention(days: Option<u64>, last: Option<u32>, max: Option<u64>) -> Retention {
        Retention {
            keep_for: days.map(|days| Duration::from_secs(days * DAY)),
            keep_last: last,
            max_size: max.map(ByteCount),
            ..Retention::default()
        }
    }

    #[test]
    fn exact_sets() {
        let versions = [
            version("a", 40, 10),
            version("a", 20, 10),
            version("a", 3, 10),
            version("b", 50, 10),
            version("c", 14, 10),
            version("c", 0, 10),
        ];
        for (rule, expected) in [
            (retention(Some(14), None, None), vec![0, 1, 3]),
            (retention(None, Some(1), None), vec![0, 1, 4]),
            (retention(None, Some(2), None), vec![0]),
            (retention(Some(14), Some(2), None), vec![0]),
            (retention(Some(30), Some(1), None), vec![0]),
            (retention(None, None, None), vec![]),
            (retention(None, None, Some(35)), vec![0, 1, 3]),
            (retention(None, Some(1), Some(20)), vec![0, 1, 3, 4]),
            (retention(None, None, Some(0)), vec![0, 1, 2, 3, 4]),
            (retention(Some(0), None, None), vec![0, 1, 2, 3, 4]),
        ] {
            assert_eq!(due(&versions, &rule, now()), expected, "{rule:?}");
        }
        assert_eq!(oldest(&versions, 15, now()), [0, 3]);
        assert_eq!(oldest(&versions, 0, now()), [] as [usize; 0]);
        assert_eq!(oldest(&versions, u64::MAX, now()), [0, 1, 2, 3, 4]);
    }

    proptest! {
        #[test]
        fn what_a_rule_keeps_stays_and_the_ceiling_takes_the_oldest(
            list in proptest::collection::vec((0u8..5, 0u64..100, 0u64..50), 0..40),
            days in proptest::option::of(0u64..100), last in proptest::option::of(0u32..4), max in proptest::option::of(0u64..500),
        ) {
            let versions: Vec<Version> = list.iter().map(|(path, days, bytes)| version(&path.to_string(), *days, *bytes)).collect();
            let rule = retention(days, last, max);
            let due = due(&versions, &rule, now());
            let gone = |index: usize| due.contains(&index);
            let within = |index: usize, span: u64| list[index].1 <= span;
            for index in 0..versions.len() {
                let newer = (0..versions.len()).filter(|&other| {
                    versions[other].path == versions[index].path && versions[other].run > versions[index].run
                }).count();
                let by_rule = days.is_none() && last.is_none()
                    || days.is_some_and(|days| within(index, days))
                    || last.is_some_and(|last| newer < last as usize && list.iter().filter(|entry| **entry == list[index]).count() == 1
                        && list.iter().filter(|entry| entry.0 == list[index].0 && entry.1 == list[index].1).count() == 1);
                prop_assert!(!(by_rule && max.is_none() && gone(index)), "kept by a rule");
                prop_assert!(!(by_rule && within(index, 1) && gone(index)), "younger than a day");
            }
            if let Some(max) = max {
                let left: u64 = (0..versions.len()).filter(|&index| !gone(index)).map(|index| list[index].2).sum();
                let older_left = (0..versions.len()).any(|index| !gone(index) && !within(index, 1));
                prop_assert!(left <= max || !older_left, "above the ceiling only for the last day");
            }
            // Releasing is stable: what stays is not due at the same time.
            let rest: Vec<Version> = (0..versions.len()).filter(|&index| !gone(index)).map(|index| versions[index].clone()).collect();
            prop_assert_eq!(super::due(&rest, &rule, now()), Vec::<usize>::new());
        }
    }
}
