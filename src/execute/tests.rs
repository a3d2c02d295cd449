//! Promises of this room, each on real trees: given two trees, when a plan is carried out, then tree, versions and report.

mod bed;
mod digests;
mod durability;
mod fidelity;
mod kinds;
mod moved;
mod planner;
mod removing;
mod stopping;
