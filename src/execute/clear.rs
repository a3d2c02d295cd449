//! Stage files that runs which did not end have left.

use crate::plan::Plan;
use crate::value::{Kind, RelPath, StageName};

use super::directories::open_parent;
use super::ledger::Ledger;
use super::site::Site;
use super::trouble::{Tried as _, Trouble};

/// Clears the plan's stale stage files: names of exactly their form, whose run left its marker.
pub(super) fn clear_stale(site: &Site<'_>, ledger: &mut Ledger<'_, '_>) {
    let plan: &Plan = site.plan();
    for path in &plan.stale_stages {
        if ledger.must_stop() {
            return;
        }
        if let Err(trouble) = clear(site, path) {
            site.leave_stage();
            ledger.fail_beside(path.clone(), &trouble);
        }
    }
}

fn clear(site: &Site<'_>, path: &RelPath) -> Result<(), Trouble> {
    if StageName::parse(path.name()).is_none() {
        return Ok(());
    }
    let parent = path.parent().unwrap_or_default();
    let directory = match site.trees.id_of(&parent) {
        Some(id) => {
            site.trees.widen(id);
            site.trees.destination_to_change(id)?
        }
        None => open_parent(site.terms.destination, path)?.into(),
    };
    let found = directory.find(path.name()).tried("look at a stage file of an earlier run")?;
    let cleared = match found.map(|meta| meta.kind) {
        None => Ok(()),
        // A stage directory is empty. One that is not has been exchanged, and holds what appeared meanwhile: not ours to clear.
        Some(Kind::Directory) => directory.remove_dir(path.name()),
        Some(_) => directory.remove_file(path.name()),
    };
    cleared.tried("clear a stage file of an earlier run")
}
