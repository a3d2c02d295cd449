//! A verb from its beginning to its end: calls into the rooms below, in order.
//!
//! In come a [`Job`](crate::job::Job) and a [`Session`] (clock, environment, what the user accepted); out go an outcome
//! a rule, a record in the state, and [`Event`]s on the way, for a [`Sink`] that the report implements. Nothing here
//! looks into files.
//!
//! `sync` is `run`, `plan` is `plan`, `copy` is `copy`. Both go through `locate` (where a tree is), `roots` (its open handle), `guards` and
//! `sync` is `run`, `plan` is `plan`, and `explain` is `plan` with an eye on single paths. All go through `locate` (where a tree is), `roots` (its open handle), `guards` and
//! `sync` is `run`, `plan` is `plan`, `apply` is `run` with a plan that was made before. Both go through `locate` (where a tree is), `roots` (its open handle), `guards` and
//! `welcome` (may this destination be written at all), `identity` (is this still the source it was) and `survey` (march, seal,
//! limits); `work` executes and finishes.
//!
//! `verify` needs the destination alone: `reach` finds it, and its lock.

mod apply;
mod approach;
mod catch_up;
mod copy;
mod doctor;
mod events;
mod explain;
mod guards;
mod history;
mod identity;
mod limits;
mod locate;
mod outcome;
mod plan;
mod prune;
mod reach;
mod refusal;
mod restore;
mod roots;
mod session;
mod settle;
mod survey;
mod sync;
mod verify;
mod versions;
mod welcome;
mod work;

pub use apply::{Given, apply_job};
pub use copy::{
    CopyEnded, CopyError, CopyRequest, Mapped, Ready, SumsWritten, Typed, copy, plan_copy, prepare_copy,
};
pub use doctor::{Diagnosis, DoctorError, Knowledge, Trying, diagnose};
pub use events::{Event, Gauge, Reading, Sink};
pub use explain::{ExplainError, Explained, Story, Taken, explain_job};
pub use limits::{LimitOverride, LimitOverrideError};
pub use locate::{LocateError, check_volumes};
pub use outcome::{Exit, RuleOutcome, RuleReport, Skip, causes, process_exit};
pub use plan::{PlanReport, plan_job};
pub use prune::{PruneReport, Pruning, prune_rule};
pub use refusal::Refusal;
pub use restore::{Damaged, Goal, Missing, Restoration, RestoreOrder, RestoreReport, RestoreStop};
pub use session::{Accept, Session, state_directory};
pub use sync::run_job;
pub use verify::{
    Against, Amount, Finding, ListOf, Remembered, SourceSide, Verified, VerifyCounts, VerifyEvent,
    VerifyGauge, VerifyReport, verify_directory, verify_job, verify_list,
};
pub use versions::{Content, Displayed, FolderEntry, Place, VersionsReport, versions};
