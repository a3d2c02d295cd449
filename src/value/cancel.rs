//! The wish to stop, shared by every thread of a run.
//!
//! A signal handler raises it; workers look at it between two pieces of work. It only ever rises.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// How urgently a run is asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wish {
    /// Nobody asked: go on.
    Run,
    /// Finish or roll back the entries in hand, start none.
    Drain,
    /// Drop the entries in hand at once.
    Abort,
}

/// A handle to one run's wish; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicU8>);

impl Cancel {
    /// Makes a handle that wishes [`Wish::Run`].
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Raises the wish by one step, from `Run` to `Drain` to `Abort`, and returns the new one.
    #[expect(clippy::must_use_candidate, reason = "raising is the point")]
    pub fn raise(&self) -> Wish {
        let before = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |level| Some((level + 1).min(2)))
            .unwrap_or_default();
        Self::wish_of((before + 1).min(2))
    }

    /// The wish as it is now.
    #[must_use]
    pub fn wish(&self) -> Wish {
        Self::wish_of(self.0.load(Ordering::Relaxed))
    }

    /// Whether anything but going on is wished.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.wish() != Wish::Run
    }

    fn wish_of(level: u8) -> Wish {
        match level {
            0 => Wish::Run,
            1 => Wish::Drain,
            _ => Wish::Abort,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rises_step_by_step_and_is_shared() {
        let cancel = Cancel::new();
        let other = cancel.clone();
        assert_eq!(other.wish(), Wish::Run);
        assert_eq!(cancel.raise(), Wish::Drain);
        assert_eq!(other.wish(), Wish::Drain);
        assert_eq!(other.raise(), Wish::Abort);
        assert_eq!(cancel.raise(), Wish::Abort);
        assert!(cancel.is_raised());
    }
}
