//! Carries a sealed plan out: stage and rename, displacing, durability, metadata; reports what became of each action.
//!
//! In come a [`Plan`](crate::plan::Plan) and two open roots ([`Terms`]); out go facts, in the order in which things were committed, and an
//! [`Outcome`]. Each name of the destination holds its old or its new content, whole, at every moment. Nothing outside the two
//! roots is touched: every call is relative to a directory handle that was checked to be the directory that the plan saw.
//!
//! The run thread moves files (`moves`) and hands (`phases`, `crew`) actions to workers; a worker makes the new entry under a stage name (`file`, `entries`,
//! `metadata`); `commit` syncs batches of them and gives them their names; `remove`, `kind` and `finish` run between and after.

mod bring;
mod check;
mod clear;
mod commit;
mod crew;
mod directories;
mod entries;
mod file;
mod finish;
mod kind;
mod ledger;
mod metadata;
mod model;
mod moves;
mod phases;
mod publish;
mod ready;
mod remove;
mod retry;
mod settle;
mod site;
mod stage;
mod trouble;

#[cfg(test)]
mod tests;

pub use bring::{Bringer, Hitch, Landing, Staged};
pub use model::{
    Committed, Ended, Fact, Failure, FailureKind, Meters, Outcome, Phase, Roots, Terms, Warning,
};

use crate::job::{Choice, EngineOptions, Method};
use crate::queue::{Route, Settings};

/// Carries the plan out, to its end or until it must stop. `facts` is called on this thread alone.
///
/// On return everything that is reported as done is durable (unless the rule waives that), no stage file is left except those that
/// [`Outcome::stages_left`] counts, and directories that were opened for writing have their modes back.
pub fn execute(
    terms: &Terms<'_>,
    catalog: &mut dyn Committed,
    meters: &Meters,
    facts: &mut dyn FnMut(Fact),
) -> Outcome {
    phases::run(terms, catalog, meters, facts)
}

/// Blocks in flight per queue: PERF.md, 4 × 1 MiB saturate a disk.
const DEPTH: u32 = 4;
/// PERF.md: blocks of 1 MiB.
const BLOCK_BYTES: u64 = 1 << 20;
/// PERF.md: direct I/O wins from 128 to 256 KiB on.
const UNBUFFERED_FROM_BYTES: u64 = 256 << 10;

/// How the engine is started for a rule on a machine with so many processors. `auto` is one queue: what more of them would bring is not
/// measured yet.
#[must_use]
pub fn engine_settings(options: &EngineOptions, processors: usize) -> Settings {
    let number = |choice: Choice<u32>, auto: u32| match choice {
        Choice::Auto => auto as usize,
        Choice::Set(number) => number as usize,
    };
    let bytes = |choice: Choice<crate::value::ByteCount>, auto: u64| match choice {
        Choice::Auto => auto,
        Choice::Set(count) => count.0,
    };
    Settings {
        route: match options.method {
            Method::Auto => Route::Auto,
            Method::Buffered => Route::Buffered,
            Method::Unbuffered => Route::Unbuffered,
        },
        queues: number(options.queues, 1).clamp(1, 64),
        depth: number(options.depth, DEPTH).clamp(1, 64),
        block_bytes: usize::try_from(bytes(options.block, BLOCK_BYTES)).unwrap_or(1 << 20),
        unbuffered_from_bytes: bytes(options.unbuffered_from, UNBUFFERED_FROM_BYTES),
        memory_bytes: options.memory.0,
        hash_workers: (processors / 2).max(1),
    }
}
