//! Tests of the room: laws over random pairs of trees, and cases by name.

mod cases;
mod file;
mod json;
mod laws;
mod spec;
mod tree;
mod world;
