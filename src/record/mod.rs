//! What is remembered between runs: `state.db` (`SQLite`) in the state folder.
//!
//! In come the records of runs and what was learnt of a rule's destination and source; out go history, and what a rule is
//! known by. Nothing here decides whether a run may happen, and losing the state loses history only: destinations say
//! themselves what they are.
//!
//! `open` finds, makes or sets aside the file; `known` remembers rules, `history` runs.

mod error;
mod history;
mod known;
mod model;
mod open;

#[cfg(test)]
mod tests;

pub use error::RecordError;
pub use model::{FAILURES_KEPT, KnownRule, RecordedFailure, RuleRecord, RunRecord};
pub use open::State;
