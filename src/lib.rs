//! Twinlane keeps file trees equal, backed up and dated, from declarative YAML jobs.
//!
//! The rooms, in the order that data flows through them; a room names only those that ARCHITECTURE.md lists on its line.

// tests/architecture/ sees paths, this lint sees methods: `path.exists()` names no std::fs.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod value;

pub mod filter;

pub mod job;

pub mod platform;

pub mod queue;

pub mod scan;

pub mod compare;

pub mod store;

pub mod plan;

pub mod execute;

pub mod record;

pub mod run;

pub mod report;

pub mod cli;
