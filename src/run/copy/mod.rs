//! The verb `copy`: sources into a destination, without a job, a record or anything left but the copies.
//!
//! `arguments` tells what each argument is, `ready` opens both sides and asks all that can be asked beforehand, `survey` compares and plans,
//! `work` carries out, `leftovers` clears after a copy that was killed, `probing` tries out what is not known of a place, `sums` writes the digests.
//!
//! A source without a trailing slash is an entry of the folder that holds it, under its own name in the destination; with one it is its
//! content. Sources of one folder are compared in one march, so that names of one file stay such among them.

mod arguments;
mod error;
mod leftovers;
mod probing;
mod ready;
mod sums;
mod survey;
mod work;

use std::path::PathBuf;

use crate::job::{Overwrite, Verify};
use crate::value::RunId;

use super::RuleReport;

pub use arguments::Typed;
pub use error::CopyError;
pub use ready::{Mapped, Ready, prepare_copy};
pub use survey::plan_copy;
pub use work::copy;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct CopyRequest {
    /// At least one.
    pub sources: Vec<Typed>,
    /// Where to.
    pub destination: Typed,
    /// Which files may be overwritten.
    pub overwrite: Overwrite,
    /// What is read back.
    pub verify: Verify,
    /// gitignore patterns; a leading slash stands for the destination.
    pub exclude: Vec<String>,
    /// Where the digests are written.
    pub sums: Option<Typed>,
}

/// How a copy ended.
#[derive(Clone, Debug)]
pub struct CopyEnded {
    /// The run's id.
    pub run: RunId,
    /// All sources together.
    pub report: RuleReport,
    /// The list of digests, where one was asked for and written.
    pub sums: Option<SumsWritten>,
}

/// A list of digests that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SumsWritten {
    /// The list.
    pub list: Typed,
    /// The directory from which its paths are seen, without symlinks.
    pub seen_from: PathBuf,
    /// Number of lines.
    pub files: u64,
    /// Of these, files that were read once more because nothing was copied.
    pub read: u64,
}
