//! The engine that reads, and what shows how far it has come.

use std::sync::Arc;

use crate::execute::engine_settings;
use crate::job::EngineOptions;
use crate::queue::Engine;
use crate::run::session::Workers;
use crate::run::{RuleOutcome, Session};

use super::model::{Done, VerifyGauge};
use super::survey::Files;

/// Files that are read at once: enough to hide how long one takes to be opened.
const READERS_MAX: usize = 4;

/// The engine with its gauge, and how many threads hand files to it.
#[derive(Debug)]
pub(super) struct Engines {
    pub(super) gauge: VerifyGauge,
    pub(super) threads: usize,
}

/// Starts the engine for the files of `order`; `sides` is 2 where the source is read too.
pub(super) fn start(
    session: &Session<'_>,
    options: &EngineOptions,
    files: &Files,
    order: &[usize],
    sides: u64,
) -> Result<Engines, RuleOutcome> {
    let mut settings = engine_settings(options, session.environment.processors());
    let threads = match session.workers() {
        Workers::One => {
            (settings.queues, settings.depth, settings.hash_workers) = (1, 1, 1);
            1
        }
        Workers::Many(count) => count.min(READERS_MAX),
    };
    let engine = Engine::start(&settings, session.cancel).map_err(|error| RuleOutcome::stopped(&error))?;
    let bytes = order.iter().filter_map(|position| files.weights.get(*position)).map(|file| file.bytes);
    let gauge = VerifyGauge {
        engine: Arc::new(engine),
        clock: session.clock,
        done: Arc::new(Done::default()),
        files: order.len() as u64,
        bytes: bytes.fold(0, u64::saturating_add).saturating_mul(sides),
    };
    Ok(Engines { gauge, threads })
}
