//! What people and programs read: progress, summaries, refusals, plans, JSON lines, exit codes.
//!
//! In come events and reports of the run; out go lines on stdout (the result) and stderr (the rest). It decides nothing and asks the system
//! nothing: whether there is a terminal, and which colours, is told by the command line.

mod call;
mod copy;
mod doctor;
mod exit;
mod explain;
mod history;
mod idle;
mod json;
mod next;
mod output;
mod plan_file;
mod plan_view;
mod progress;
mod prune;
mod refusal;
mod restore;
mod summary;
mod text;
mod verify;
mod versions;
mod words;

pub use call::{Call, shell_word};
pub use copy::{CopyForm, CopySink};
pub use doctor::{after_doctor, doctor_json, doctor_text};
pub use exit::{EXIT_CODES, exit_table};
pub use explain::{Telling, explain_json, explain_text};
pub use history::{history_json, history_table};
pub use idle::idle_notes;
pub use json::{JsonSink, plan_json};
pub use next::{Planned, after_plan};
pub use output::{Colour, Output, Paint, Stream, Verbosity};
pub use plan_file::{after_plan_file, apply_json, plan_age, plan_file_json, plan_file_text};
pub use plan_view::plan_text;
pub use progress::ProgressForm;
pub use prune::{prune_json, prune_text};
pub use restore::{RestoreView, ended_json, ended_text, restore_json, restore_text, restored_entry_json};
pub use text::TextSink;
pub use verify::{Asked, VerifyForm, VerifySink};
pub use versions::{versions_json, versions_text};
