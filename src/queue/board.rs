//! The board: which transfers are open, and who takes their next extent.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::extents::Open;

/// More open files than this gain nothing: any worker takes any extent. Bounds handles and memory.
const OPEN_MAX: usize = 8;

/// The open transfers, oldest first. The lock is held for moments, never across I/O.
#[derive(Default)]
pub(super) struct Board {
    state: Mutex<State>,
    work: Condvar,
    room: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Arc<Open>>,
    open: usize,
    closing: bool,
}

/// The duty to end one part of a transfer: an extent's reading and writing, or its hashing. The transfer is finished when the last one
/// is dropped, on whatever thread and for whatever reason, so that its answer is given exactly once.
pub(super) struct Part {
    open: Arc<Open>,
    board: Arc<Board>,
}

impl Part {
    pub(super) fn open(&self) -> &Open {
        &self.open
    }

    /// A second duty on the same transfer.
    pub(super) fn share(&self) -> Self {
        self.open.add_part();
        Self { open: Arc::clone(&self.open), board: Arc::clone(&self.board) }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.open.fail_internally();
        }
        if self.open.end_part() {
            self.open.finish(|| self.board.release(&self.open));
        }
    }
}

impl Board {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place for one transfer, waiting until there is one.
    pub(super) fn reserve(&self) {
        let mut state = self.lock();
        while state.open >= OPEN_MAX {
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.open += 1;
    }

    /// Offers the extents of a transfer that has its place.
    pub(super) fn post(&self, open: Open) {
        self.lock().waiting.push_back(Arc::new(open));
        self.work.notify_all();
    }

    /// The next extent of the oldest transfer that has one left, waiting for one; `None` when the board is closed and empty.
    pub(super) fn take(self: &Arc<Self>) -> Option<(Part, u64)> {
        let mut state = self.lock();
        loop {
            while let Some(open) = state.waiting.front() {
                if let Some(index) = open.claim() {
                    let part = Part { open: Arc::clone(open), board: Arc::clone(self) };
                    return Some((part, index));
                }
                state.waiting.pop_front();
            }
            if state.closing {
                return None;
            }
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Gives the place of a transfer back.
    fn release(&self, open: &Arc<Open>) {
        let mut state = self.lock();
        state.waiting.retain(|other| !Arc::ptr_eq(other, open));
        state.open = state.open.saturating_sub(1);
        drop(state);
        self.room.notify_one();
    }

    /// Lets the workers go once nothing is left.
    pub(super) fn close(&self) {
        self.lock().closing = true;
        self.work.notify_all();
    }
}
