//! The march over both trees in step: what each name is on either side, and the verdict.
//!
//! In come two roots and a filter; out goes a [`Draft`] that holds everything but equal entries. It writes nothing.
//!
//! Each directory is a work item of its own on one pool of threads: `visit` opens and lists both sides, `merge` goes through the names in
//! step, `content`, `equal`, `metadata` and `digest` tell whether two entries differ, `node` gathers what was found in one directory and
//! `gather` the whole. `moves` looks for files that got another name, once the draft is there. No item ever waits for another one, so that neither the stack nor what is held in memory grows with the depth or
//! the width of a tree beyond a fixed number of names and metadata for each level.

mod content;
mod digest;
mod enter;
mod equal;
mod gather;
mod march;
mod merge;
mod metadata;
mod moves;
mod node;
mod sides;
mod spread;
mod terms;
#[cfg(test)]
mod tests;
mod trace;
mod verdict;
mod visit;

pub use march::march;
pub use moves::{MOVED_BYTES_MIN, MoveCandidates, MoveTerms};
pub use terms::{Digests, Equals, ExcludedThere, Extras, Named, ScanMeter, Scope, Terms};
pub use trace::{Look, Ruling, Trace, Written, trace};
pub use verdict::*;
