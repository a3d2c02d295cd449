//! Which files are read, and in which order: pure.
//!
//! A sampled verification goes by rounds. A round begins when everything that was there when the last one began has been read since; within it
//! nothing is read twice. A sample takes at least its share of all bytes, so ten of 10 % always get through, and the last one stops at the
//! round's end. What a run has brought since the round began is read first, and does not keep the round open.

use crate::value::{Percent, RunId, Stamp};

/// A file that could be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weight {
    /// Its length.
    pub(super) bytes: u64,
    /// When it was last read back and found to be right.
    pub(super) read_back: Option<Stamp>,
    /// When it came.
    pub(super) since: Option<Stamp>,
    /// It was found wrong before: it is read each time until it is right again, and counts for no round.
    pub(super) wrong: bool,
}

impl Weight {
    /// An empty file is a file too.
    pub(super) fn amount(&self) -> u64 {
        self.bytes.saturating_add(1)
    }
}

/// How files are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choosing {
    /// All, in their order.
    All,
    /// All, the least recently read first.
    Oldest,
    /// A share of the bytes of this round.
    Share {
        /// The share.
        share: Percent,
        /// When the round began, where one did.
        began: Option<RunId>,
        /// This verification, which may begin a new one.
        now: RunId,
    },
}

/// The choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Picked {
    /// Positions, in the order in which they are read.
    pub(super) order: Vec<usize>,
    /// A round begins.
    pub(super) begins: bool,
    /// How many of the round's files are left when all these have been read.
    pub(super) left: usize,
}

pub(super) fn pick(files: &[Weight], choosing: Choosing) -> Picked {
    let age = |position: &usize| {
        files.get(*position).map(|file| (!file.wrong, file.read_back.is_some(), file.read_back))
    };
    let mut order: Vec<usize> = (0..files.len()).collect();
    match choosing {
        Choosing::All => Picked { order, ..Picked::default() },
        Choosing::Oldest => {
            order.sort_by_key(age);
            Picked { order, ..Picked::default() }
        }
        Choosing::Share { share, began, now } => {
            let continues = began.is_some_and(|began| files.iter().any(|file| is_left(file, began.time())));
            let began = if continues { began.unwrap_or(now) } else { now }.time();
            let is_due = |file: &Weight| file.wrong || file.read_back.is_none_or(|read| read < began);
            order.retain(|position| files.get(*position).is_some_and(is_due));
            order.sort_by_key(age);
            let all: u64 = files.iter().map(Weight::amount).fold(0, u64::saturating_add);
            order.truncate(up_to(files, &order, rounded_up(share, all)));
            let picked: std::collections::HashSet<usize> = order.iter().copied().collect();
            let left = files
                .iter()
                .enumerate()
                .filter(|(position, file)| !picked.contains(position) && is_left(file, began));
            let left = left.count();
            Picked { order, begins: !continues, left }
        }
    }
}

/// Whether a file keeps a round open.
fn is_left(file: &Weight, began: Stamp) -> bool {
    let came_later = file.read_back.is_none() && file.since.is_some_and(|since| since >= began);
    !file.wrong && !came_later && file.read_back.is_none_or(|read| read < began)
}

fn rounded_up(share: Percent, all: u64) -> u64 {
    let down = share.of(all);
    // Percentages have two decimals at most: what was cut off shows in the product.
    let is_whole = all.checked_mul(10_000).is_some_and(|scaled| share.of(scaled) == down * 10_000);
    if is_whole { down } else { down.saturating_add(1) }
}

/// How many come to an amount: at least one that was not known to be wrong.
fn up_to(files: &[Weight], order: &[usize], amount: u64) -> usize {
    let mut sum = 0_u64;
    for (count, position) in order.iter().enumerate() {
        let Some(file) = files.get(*position).filter(|file| !file.wrong) else { continue };
        sum = sum.saturating_add(file.amount());
        if sum >= amount {
            return count + 1;
        }
    }
    order.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(second: i64) -> RunId {
        RunId::at(Stamp::from_seconds(second), None)
    }

    fn file(bytes: u64) -> Weight {
        Weight { bytes, read_back: None, since: None, wrong: false }
    }

    /// One sampled verification that finds all right; returns what it read.
    fn sample(files: &mut [Weight], began: &mut Option<RunId>, second: i64, share: Percent) -> Vec<usize> {
        let now = run(second);
        let picked = pick(files, Choosing::Share { share, began: *began, now });
        for position in &picked.order {
            files[*position].read_back = Some(now.time());
        }
        if picked.begins {
            *began = Some(now);
        }
        picked.order
    }

    proptest! {
        #[test]
        fn ten_samples_of_ten_percent_cover_everything_exactly_once(
            sizes in proptest::collection::vec(prop_oneof![0u64..3, 0u64..5000, Just(1 << 40)], 1..80),
            rounds in 1i64..4,
        ) {
            let mut files: Vec<Weight> = sizes.into_iter().map(file).collect();
            let mut began = None;
            for round in 0..rounds {
                let mut read: Vec<usize> = Vec::new();
                let mut second = round * 100;
                // A few large files are through before the tenth.
                while read.len() < files.len() {
                    second += 1;
                    read.extend(sample(&mut files, &mut began, second, Percent::whole(10)));
                    prop_assert!(second - round * 100 <= 10, "an eleventh sample");
                }
                read.sort_unstable();
                prop_assert_eq!(read, (0..files.len()).collect::<Vec<_>>(), "round {}", round);
            }
        }
    }

    #[test]
    fn what_comes_every_day_does_not_starve_the_rest() {
        let mut files: Vec<Weight> = (0..100).map(|_| file(1000)).collect();
        let mut began = None;
        for day in 1..=40 {
            let since = Some(run(day * 10 - 5).time());
            files.push(Weight { since, ..file(1000) });
            sample(&mut files, &mut began, day * 10, Percent::whole(10));
        }
        let old = run(200).time();
        assert!(files.iter().all(|file| file.read_back.is_some_and(|read| read > old)), "{files:?}");
    }

    #[test]
    fn what_is_wrong_is_read_each_time_and_keeps_no_round_open() {
        let mut files: Vec<Weight> = (0..4).map(|_| file(10)).collect();
        files[2].wrong = true;
        let mut began = None;
        let mut read = Vec::new();
        for second in 1..=2 {
            let share = Percent::whole(50);
            let picked = pick(&files, Choosing::Share { share, began, now: run(second) });
            assert_eq!(picked.order.first(), Some(&2));
            for position in picked.order.into_iter().filter(|position| *position != 2) {
                files[position].read_back = Some(run(second).time());
                read.push(position);
            }
            began = began.or(Some(run(second)));
        }
        read.sort_unstable();
        assert_eq!(read, [0, 1, 3]);
        let next = pick(&files, Choosing::Share { share: Percent::whole(50), began, now: run(3) });
        assert!(next.begins);
    }

    #[test]
    fn without_a_share_the_oldest_comes_first() {
        let read = |second| Some(Stamp::from_seconds(second));
        let files = [
            Weight { read_back: read(5), ..file(1) },
            Weight { read_back: read(3), ..file(1) },
            file(1),
            Weight { read_back: read(9), wrong: true, ..file(1) },
        ];
        assert_eq!(pick(&files, Choosing::Oldest).order, [3, 2, 1, 0]);
        assert_eq!(pick(&files, Choosing::All).order, [0, 1, 2, 3]);
        assert_eq!(rounded_up(Percent::whole(10), 101), 11);
        assert_eq!(rounded_up(Percent::whole(10), 100), 10);
    }
}
