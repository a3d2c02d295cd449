//! The same thing for both trees.

use std::sync::{Mutex, PoisonError};

use super::Side;

/// One of something for each side.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sides<T> {
    pub(super) source: T,
    pub(super) destination: T,
}

impl<T> Sides<T> {
    pub(super) fn of(&self, side: Side) -> &T {
        match side {
            Side::Source => &self.source,
            Side::Destination => &self.destination,
        }
    }
}

/// Where the work items of both sides meet.
#[derive(Debug)]
pub(super) struct Meeting<T> {
    first: Mutex<Option<T>>,
}

impl<T> Default for Meeting<T> {
    fn default() -> Self {
        Self { first: Mutex::new(None) }
    }
}

impl<T> Meeting<T> {
    /// Brings what one side has: who comes first gets nothing and leaves it there, who comes second gets both. Once for each side.
    pub(super) fn bring(&self, side: Side, mine: T) -> Option<Sides<T>> {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(other) = first.take() else {
            *first = Some(mine);
            return None;
        };
        Some(match side {
            Side::Source => Sides { source: mine, destination: other },
            Side::Destination => Sides { source: other, destination: mine },
        })
    }
}
