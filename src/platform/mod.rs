//! The seam: every call to the operating system, and the fault point.
//!
//! Small functions and handles, not a mock file system. Everything below a root is reached relative to an open
//! [`Dir`], never following a symlink. Errors are plain [`std::io::Error`]s: whoever calls knows the path and adds it.
//! Every mutating call begins with `fault::pass`.

#![expect(clippy::disallowed_methods, reason = "this is the room that may call the system")]

pub mod fault;

#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
pub use linux::*;

mod clock;
mod random;
mod signals;

pub use clock::Clock;
pub use random::random_u128;
pub use signals::{Signals, watch_signals};
