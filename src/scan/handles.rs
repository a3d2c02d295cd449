//! A budget for directories that a walk holds open.
//!
//! Directories with work left below them are kept open while there is room, and else closed and opened again from the root. The
//! budget bounds what waits; what the threads have in hand comes on top, a few for each.

use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::platform::Dir;

/// Counts open directories.
#[derive(Debug)]
pub struct Handles {
    open: AtomicUsize,
    budget: usize,
}

/// An open directory that is counted until it is dropped.
#[derive(Debug)]
pub struct Held<'a> {
    directory: Dir,
    open: &'a AtomicUsize,
}

impl Handles {
    /// With so many handles to keep, see [`crate::platform::Environment::handle_budget`].
    #[must_use]
    pub fn new(budget: usize) -> Self {
        Self { open: AtomicUsize::new(0), budget }
    }

    /// Counts an open directory.
    pub fn hold(&self, directory: Dir) -> Held<'_> {
        self.open.fetch_add(1, Ordering::Relaxed);
        Held { directory, open: &self.open }
    }

    /// Gives the directory back where it may stay open; else closes it.
    #[must_use]
    pub fn keep<'a>(&self, held: Held<'a>) -> Option<Held<'a>> {
        (self.open.load(Ordering::Relaxed) <= self.budget).then_some(held)
    }
}

impl Deref for Held<'_> {
    type Target = Dir;

    fn deref(&self) -> &Dir {
        &self.directory
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::open_root;

    #[test]
    fn keeps_up_to_the_budget() {
        let folder = tempfile::tempdir().unwrap();
        let open = || open_root(&folder.path().canonicalize().unwrap()).unwrap().0;
        let handles = Handles::new(1);
        let first = handles.keep(handles.hold(open())).unwrap();
        assert!(handles.keep(handles.hold(open())).is_none());
        drop(first);
        assert!(handles.keep(handles.hold(open())).is_some());
    }
}
