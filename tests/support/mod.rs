//! What integration tests share: a world of folders with a job in it, the program's starts, trees as values, and real file systems.
//!
//! Tests that mount need root; where they are skipped they say so on stderr.

#![allow(dead_code, unused_imports, reason = "each test binary uses its own part")]
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unnecessary_debug_formatting,
    reason = "a test that cannot set up its world fails or says that it is skipped; the debug form of a path tells all bytes apart"
)]

mod mounts;
mod tree;
mod world;

pub use mounts::FileSystem;
pub use tree::{
    Thing, Tree, assert_same, destination_tree, difference, restore_tree, thing, touch, tree, witness,
};
pub use world::{Ended, World, ended, is_root, set_mode};
