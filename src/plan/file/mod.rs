//! A plan as a file: what `plan --out` writes, and `apply` and `show` read.
//!
//! Lines of JSON, so that it can be reviewed with the tools for text: a first line that says what it is and of which format, then for each rule
//! a line about it followed by one line a directory, action, conflict, problem …, and a last line with the number of lines and the BLAKE3 of all
//! before it. `schemas/plan-file.schema.json` says it field by field. Pure: lines go in and out, nothing here opens a file.
//!
//! What is read may have been written by anybody: every number is looked up, every path is checked as one below a root, and an action
//! has the sides that its kind needs. [`write`] and [`PlanReader`] are each other's inverse.

mod devices;
mod lines;
mod read;
mod words;
mod write;

use std::collections::BTreeMap;

use super::Plan;
use crate::job::{Mode, Origin};
use crate::value::Stamp;

pub use read::{PlanFileError, PlanReader};
pub use write::PlanWriter;

#[cfg(test)]
pub use words::{action_words, reason_words};

/// The format that is written; a newer one is not read.
pub const FORMAT: u32 = 1;
/// What the first line of every plan file begins with, of whatever format.
pub const BEGINNING: &[u8] = b"{\"twinlane_plan\":";
/// No line is longer: the longest holds the patterns of one rule, and a job file has at most 1 MiB.
pub const LINE_BYTES_MAX: usize = 16 << 20;

/// A plan file, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanFile {
    /// Its first line.
    pub header: PlanFileHeader,
    /// Its rules, in the order in which they were planned.
    pub rules: Vec<PlanFileRule>,
}

/// What holds for all rules of a plan file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanFileHeader {
    /// The version of Twinlane that made it.
    pub twinlane: String,
    /// When it was made.
    pub made: Stamp,
    /// On which host.
    pub host: String,
    /// What `--limit` said then, `remove=120`.
    pub limits: Vec<String>,
    /// What `--accept` said then, `destination`.
    pub accepted: Vec<String>,
}

/// One rule of a plan file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanFileRule {
    /// The job's name.
    pub job: String,
    /// The job's file: its absolute path, bytes.
    pub file: Box<[u8]>,
    /// The rule's name.
    pub rule: String,
    /// The rule's mode.
    pub mode: Mode,
    /// The rule as it was resolved, see [`resolved`].
    pub resolved: BTreeMap<String, String>,
    /// Source and destination as they were found; `None` where they were not.
    pub roots: Option<(Sight, Sight)>,
    /// What the destination's id said; `None` where it had none.
    pub destination_id: Option<String>,
    /// Why a run would not have carried it out.
    pub objection: Option<String>,
    /// The plan; `None` where it did not come to one.
    pub plan: Option<Plan>,
}

/// A root as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    /// Its absolute path, bytes.
    pub path: Box<[u8]>,
    /// The UUID of its file system, where that tells one.
    pub uuid: Option<String>,
}

/// Every resolved value of a rule by its key: `limits.remove` → `25%`. Two rules that do the same have the same values.
#[must_use]
pub fn resolved(origins: &[Origin], rule: &str) -> BTreeMap<String, String> {
    let prefix = format!("rules.{rule}.");
    let of_rule =
        |origin: &Origin| origin.key.strip_prefix(&prefix).map(|key| (key.to_owned(), origin.value.clone()));
    origins.iter().filter_map(of_rule).collect()
}

/// The keys of which two resolved rules say different things, each in words: `limits.remove was 25%, and is 10%`.
#[must_use]
pub fn differences(planned: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Vec<String> {
    let mut keys: Vec<&String> = planned.keys().chain(now.keys()).collect();
    keys.sort();
    keys.dedup();
    let words = |key: &String| match (planned.get(key), now.get(key)) {
        (Some(was), Some(is)) if was == is => None,
        (Some(was), Some(is)) => Some(format!("{key} was {was}, and is {is}")),
        (Some(was), None) => Some(format!("{key} was {was}, and is not set")),
        (None, is) => Some(format!("{key} was not set, and is {}", is.map_or("", String::as_str))),
    };
    keys.into_iter().filter_map(words).collect()
}
