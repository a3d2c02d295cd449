//! The cases of the field, chapter by chapter: one test for each case that the verbs built so far can meet, named after it, through the
//! program as people start it and on real file systems.
//!
//! Chapters 10 and up, and the parts of cases that need other verbs, come with those verbs.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot set up its world fails or says that it is skipped"
)]

#[path = "../support/mod.rs"]
mod support;

mod changing;
mod comparison;
mod configuration;
mod errors;
mod filters;
mod guards;
mod kind_changes;
mod kinds;
mod metadata;
mod names;
mod output;
mod runs;
mod verification;
