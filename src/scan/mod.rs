//! One directory of one root: its names, sorted, and what its filter says of them.
//!
//! In come an open directory and the filter of the directory above; out go a [`Listing`] and a [`Gate`]. It looks at one side
//! only, stats nothing but what the filter asks for, and knows no verdicts. [`Handles`] keeps the number of directories that a
//! walk holds open within a budget.

mod gate;
mod handles;
mod listing;
mod names;

/// The filter as a walker uses it: whoever compares names this room only.
pub use crate::filter::{Cause, Explanation, Filter, Judgement, Predicate};
pub use gate::{Gate, GateError, IGNORE_FILE_BYTES_MAX, ignore_files, marker};
pub use handles::{Handles, Held};
pub use listing::{Listing, ListingError, Spelling};
pub use names::{DestinationName, OWN_FOLDER, destination_name, is_hidden_in_source, is_reserved_at_root};
