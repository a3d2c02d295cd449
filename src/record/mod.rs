//! What is remembered between runs: `state.db` (`SQLite`) in the state folder.
//!
//! In come the records of runs and what was learnt of a rule's destination and source; out go history, and what a rule is
//! known by. Nothing here decides whether a run may happen, and losing the state loses history only: destinations say
//! themselves what they are.
//!
//! Copies under way, which leave no other trace, are marked beside it (`copies`).
//!
//! `open` finds, makes or sets aside the file; `known` remembers rules, `history` runs.

mod copies;
mod error;
mod history;
mod known;
mod model;
mod open;

#[cfg(test)]
mod tests;

pub use copies::{Copies, CopyMark, CopyPlace};
pub use error::RecordError;
pub use model::{FAILURES_KEPT, KnownRule, RecordedFailure, RuleRecord, RunRecord};
pub use open::State;
