//! The ceiling on bytes written per second: a bucket that fills with time, shared by all queues and small copies.
//!
//! Bytes are reserved in the order in which threads come, and a thread goes on once the bucket has filled up to the end of its own. No more is
//! saved up than one second brings, and a block larger than that waits for its whole time, so that nothing waits for ever.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::platform::Clock;
use crate::value::{Bandwidth, Cancel, Stamp, Zone};

/// How fast content may be written, and by which clock.
#[derive(Clone, Debug)]
pub struct Ceiling {
    /// Bytes per second by the time of day.
    pub bandwidth: Bandwidth,
    /// Where it is that time of day.
    pub zone: Zone,
    /// Tells it.
    pub clock: Clock,
}

/// How often a waiting thread looks at the table and at the wish to stop.
const LOOK_EVERY: Duration = Duration::from_millis(20);
const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// Where the time comes from and goes to.
pub(super) trait Time: Send + Sync {
    /// Never runs backwards.
    fn elapsed(&self) -> Duration;
    fn now(&self) -> Stamp;
    fn pause(&self, span: Duration);
}

impl Time for Clock {
    fn elapsed(&self) -> Duration {
        Self::elapsed(self)
    }

    fn now(&self) -> Stamp {
        Self::now(self)
    }

    fn pause(&self, span: Duration) {
        std::thread::sleep(span);
    }
}

/// Keeps writers below a ceiling.
pub(super) struct Throttle<T = Clock> {
    bandwidth: Bandwidth,
    zone: Zone,
    time: T,
    cancel: Cancel,
    account: Mutex<Account>,
}

/// Bytes reserved, and bytes that time has brought.
#[derive(Debug, Default)]
struct Account {
    reserved: u128,
    /// In bytes × nanoseconds, so that no rest is lost.
    brought: u128,
    at: Duration,
}

impl Throttle {
    /// `None` where nothing is limited at any time.
    pub(super) fn new(ceiling: Ceiling, cancel: &Cancel) -> Option<Self> {
        let Ceiling { bandwidth, zone, clock } = ceiling;
        (!bandwidth.is_unlimited()).then(|| Self::by(clock, bandwidth, zone, cancel))
    }
}

impl<T: Time> Throttle<T> {
    fn by(time: T, bandwidth: Bandwidth, zone: Zone, cancel: &Cancel) -> Self {
        Self { bandwidth, zone, time, cancel: cancel.clone(), account: Mutex::default() }
    }

    /// Waits until so many bytes may be written. A raised wish to stop lets everything through: what is in hand is to end soon.
    pub(super) fn pass(&self, bytes: usize) {
        let mut turn = None;
        while !self.cancel.is_raised() {
            let wait = {
                let mut account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
                let ceiling = self.ceiling();
                account.fill(self.time.elapsed(), ceiling);
                let turn = *turn.get_or_insert_with(|| account.reserve(bytes));
                ceiling.map_or(Duration::ZERO, |ceiling| account.wait(turn, ceiling))
            };
            if wait.is_zero() {
                return;
            }
            self.time.pause(wait.min(LOOK_EVERY));
        }
    }

    /// Bytes per second now.
    fn ceiling(&self) -> Option<u64> {
        let minute = self.zone.minute_of_day(self.time.now());
        self.bandwidth.at(minute).map(|ceiling| ceiling.0.max(1))
    }
}

impl Account {
    /// Lets the time since the last call bring bytes: as many as are reserved without a ceiling, and never a second's worth more.
    fn fill(&mut self, now: Duration, ceiling: Option<u64>) {
        let reserved = self.reserved.saturating_mul(NANOS_PER_SECOND);
        self.brought = match ceiling {
            None => reserved,
            Some(ceiling) => {
                let ceiling = u128::from(ceiling);
                let new = now.saturating_sub(self.at).as_nanos().saturating_mul(ceiling);
                let most = reserved.saturating_add(ceiling * NANOS_PER_SECOND);
                self.brought.saturating_add(new).min(most)
            }
        };
        self.at = now;
    }

    /// Reserves bytes; returns where they end.
    fn reserve(&mut self, bytes: usize) -> u128 {
        self.reserved = self.reserved.saturating_add(bytes as u128);
        self.reserved
    }

    /// How long until the bucket has filled up to a point; nothing where it has.
    fn wait(&self, upto: u128, ceiling: u64) -> Duration {
        let missing = upto.saturating_mul(NANOS_PER_SECOND).saturating_sub(self.brought);
        let nanos = missing.div_ceil(u128::from(ceiling));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::value::{BandwidthWindow, ByteCount};

    /// A time that goes on only where somebody waits.
    struct Waiting {
        begun: Stamp,
        waited: Mutex<Duration>,
    }

    impl Waiting {
        /// Begins at a minute of the day in UTC.
        fn since(minute: i64) -> Arc<Self> {
            let begun = Stamp::from_seconds(1_800_000_000 / 86_400 * 86_400 + minute * 60);
            Arc::new(Self { begun, waited: Mutex::default() })
        }

        fn go_on(&self, span: Duration) {
            *self.waited.lock().unwrap() += span;
        }

        fn seconds(&self) -> f64 {
            self.waited.lock().unwrap().as_secs_f64()
        }
    }

    impl Time for Arc<Waiting> {
        fn elapsed(&self) -> Duration {
            // The program has been running for a while.
            Duration::from_secs(100) + *self.waited.lock().unwrap()
        }

        fn now(&self) -> Stamp {
            let waited = self.waited.lock().unwrap().as_nanos();
            Stamp::from_nanos(self.begun.as_nanos() + i128::try_from(waited).unwrap())
        }

        fn pause(&self, span: Duration) {
            assert!(!span.is_zero() && span <= LOOK_EVERY, "{span:?}");
            self.go_on(span);
        }
    }

    fn flat(bytes_per_second: u64) -> Bandwidth {
        Bandwidth { default: Some(ByteCount(bytes_per_second)), windows: Vec::new() }
    }

    fn throttle(time: &Arc<Waiting>, bandwidth: Bandwidth) -> Throttle<Arc<Waiting>> {
        Throttle::by(Arc::clone(time), bandwidth, Zone::named("UTC").unwrap(), &Cancel::new())
    }

    #[track_caller]
    fn assert_near(seconds: f64, wanted: f64) {
        assert!((seconds - wanted).abs() < 0.05, "{seconds} s, not {wanted} s");
    }

    #[test]
    fn bytes_take_their_time_beyond_one_second_that_is_saved_up() {
        for block in [1000, 64 << 10, 250_000, 1 << 20] {
            let time = Waiting::since(0);
            let throttle = throttle(&time, flat(1_000_000));
            for _ in 0..20_000_000 / block {
                throttle.pass(block);
            }
            let bytes = 20_000_000 / block * block;
            assert_near(time.seconds(), f64::from(u32::try_from(bytes).unwrap()) / 1e6 - 1.0);
            // An hour of nothing saves up no more than a second's worth.
            time.go_on(Duration::from_secs(3600));
            let before = time.seconds();
            for _ in 0..4_000_000 / block {
                throttle.pass(block);
            }
            let bytes = 4_000_000 / block * block;
            assert_near(time.seconds() - before, f64::from(u32::try_from(bytes).unwrap()) / 1e6 - 1.0);
        }
    }

    #[test]
    fn a_block_larger_than_a_second_brings_passes_in_its_time() {
        let time = Waiting::since(0);
        let throttle = throttle(&time, flat(1000));
        throttle.pass(10_000);
        assert_near(time.seconds(), 9.0);
        throttle.pass(10_000);
        assert_near(time.seconds(), 19.0);
    }

    #[test]
    fn a_window_counts_from_its_first_moment_to_its_last() {
        let night = |ceiling| BandwidthWindow { from: 22 * 60, until: 6 * 60, ceiling };
        // A block that waits for ever by day goes as soon as the night lifts the ceiling.
        let time = Waiting::since(21 * 60 + 59);
        let throttle_of = |ceiling| Bandwidth { windows: vec![night(ceiling)], ..flat(1000) };
        let lifted = throttle(&time, throttle_of(None));
        lifted.pass(100_000_000);
        assert_near(time.seconds(), 60.0);
        lifted.pass(100_000_000);
        assert_near(time.seconds(), 60.0);

        let time = Waiting::since(5 * 60 + 59);
        let faster = throttle(&time, throttle_of(Some(ByteCount(100_000))));
        for _ in 0..60 {
            faster.pass(100_000);
        }
        assert_near(time.seconds(), 59.0);
        faster.pass(200_000);
        // Half of it in the last second of the night, the rest by day; the change is seen within a look.
        assert!((159.9..162.1).contains(&time.seconds()), "{} s", time.seconds());
    }

    #[test]
    fn several_writers_share_one_ceiling_and_none_is_left_behind() {
        let time = Waiting::since(0);
        let throttle = throttle(&time, flat(1_000_000));
        let ended: Vec<f64> = std::thread::scope(|scope| {
            let writers: Vec<_> = [1000usize, 100_000, 500_000]
                .map(|block| {
                    let (throttle, time) = (&throttle, &time);
                    scope.spawn(move || {
                        (0..5_000_000 / block).for_each(|_| throttle.pass(block));
                        time.seconds()
                    })
                })
                .into_iter()
                .collect();
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        // The time of this test goes on for every writer that waits, so it may run ahead, never behind.
        assert!(ended.iter().copied().fold(0.0, f64::max) > 13.9, "{ended:?}");
    }

    #[test]
    fn a_raised_wish_lets_a_waiting_thread_go() {
        let cancel = Cancel::new();
        let clock = Clock::system();
        let ceiling = Ceiling { bandwidth: flat(1), zone: Zone::Local, clock };
        let throttle = Throttle::new(ceiling, &cancel).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| throttle.pass(1 << 30));
            std::thread::sleep(Duration::from_millis(30));
            assert!(!waiting.is_finished());
            cancel.raise();
            waiting.join().unwrap();
        });
        assert!(clock.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn no_ceiling_at_any_time_is_no_throttle() {
        let ceiling = Ceiling { bandwidth: Bandwidth::default(), zone: Zone::Local, clock: Clock::system() };
        assert!(Throttle::new(ceiling, &Cancel::new()).is_none());
    }
}
