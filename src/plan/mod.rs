//! From verdicts to a sealed plan: ordered actions with reasons, totals, and the limits they were checked against.
//!
//! In come a [`Draft`](crate::compare::Draft) and the rule's [`Terms`]; out goes a [`Plan`] that does not change any
//! more. Pure: no I/O, no clock, and nothing depends on the order in which directories were read.
//!
//! [`seal`] goes through the files of this room in this order: `ground` puts the draft in order, `judge` gives each
//! name a fate (asking `displaced` whether a directory may go and `room` whether the place can hold a name), `links`
//! settles names that share inodes, `moves` makes moves of copies and removals, `order` numbers and sorts, `limits` checks. `json` renders, `file`
//! writes and reads plans that are kept.

mod displaced;
mod fate;
mod file;
mod ground;
mod json;
mod judge;
mod limits;
mod links;
mod model;
mod moves;
mod order;
mod reason;
mod room;
mod seal;

#[cfg(test)]
mod tests;

pub use crate::compare::{Extent, Problem, Side};
pub use file::{
    BEGINNING, FORMAT, LINE_BYTES_MAX, PlanFile, PlanFileError, PlanFileHeader, PlanFileRule, PlanReader,
    PlanWriter, Sight, differences, resolved,
};
#[cfg(test)]
use file::{action_words, reason_words};
pub use json::put_path;
pub use model::*;
pub use seal::{Terms, User, seal};
