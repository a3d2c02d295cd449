//! The promises of DESIGN under faults, kills and races.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and a sweep says how far it went"
)]

#[path = "../support/mod.rs"]
mod support;

mod attacks;
mod faults;
mod fixture;
mod kills;
