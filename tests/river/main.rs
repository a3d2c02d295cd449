//! The river from end to end: a job file, two trees, the program as people start it, and what it leaves.
//!
//! Each test has a folder of its own with a source, a destination, a job and a state. Tests that mount need root, and say so where
//! they are skipped.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a test that cannot set up its world fails, and says where"
)]

#[path = "../support/mod.rs"]
mod support;

mod apply;
mod contents;
mod copies;
mod copy;
mod copy_faithful;
mod disks;
mod explain;
mod extends;
mod failures;
mod guidance;
mod killed;
mod moves;
mod output;
mod places;
mod refusals;
mod restoring;
mod starts;
mod usage;
mod verify;
