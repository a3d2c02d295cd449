//! Gives a staged entry, which is durable by now, its name.

use std::io;

use crate::plan::Action;
use crate::platform::{Dir, RenameMode};
use crate::store::Change;

use super::check::{Closeness, check_destination};
use super::kind::swap;
use super::ready::{Finished, Publish, Ready};
use super::retry::patiently;
use super::site::Site;
use super::stage::Stage;
use super::trouble::{Tried as _, Trouble};

const APPEARED: Trouble = Trouble::Moved { what: "something appeared in the destination" };

/// Publishes, after one more look at the name.
pub(super) fn publish(site: &Site<'_>, ready: Ready<'_>) -> Result<Finished, Trouble> {
    let action = site.action(ready.job.index);
    let Ready { job, directory: id, stage, publish, inode, bytes, digest, read_back, touched, torn } = ready;
    let mut finished =
        Finished { index: job.index, bytes, changes: touched.map(|told| *told).into_iter().collect(), torn };
    let Some(stage) = stage else { return Ok(finished) };
    let directory = site.trees.destination(id)?;
    match publish {
        Publish::InPlace => return Ok(finished),
        Publish::New => rename_new(site, action, &directory, stage)?,
        Publish::Over => rename_over(site, action, &directory, stage)?,
        Publish::Swap => swap(site, action, &directory, stage)?,
    }
    let path = site.plan().path(action);
    if let Some(displaced) = site.plan().destination(action).filter(|old| !site.is_moved(old)) {
        let kept = site.versions.is_some();
        finished.changes.push(Change::Displaced { path: path.clone(), meta: *displaced, kept });
    }
    // Somebody may have put something else there by now; that is none of the catalog's.
    if let Ok(Some(meta)) = directory.find(site.plan().name(action))
        && (meta.device, meta.inode) == inode
    {
        finished.changes.push(Change::Present { path: path.clone(), meta, digest });
        if read_back {
            finished.changes.push(Change::ReadBack { path });
        }
    }
    Ok(finished)
}

/// Renames to a name that must be free.
pub(super) fn rename_new(
    site: &Site<'_>,
    action: &Action,
    directory: &Dir,
    stage: Stage<'_>,
) -> Result<(), Trouble> {
    let name = site.plan().name(action);
    patiently(site, || match directory.rename(stage.name(), directory, name, RenameMode::NoReplace) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(APPEARED),
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            if directory.find(name).tried("look at the destination")?.is_some() {
                return Err(APPEARED);
            }
            directory
                .rename(stage.name(), directory, name, RenameMode::Replace)
                .tried("give the new entry its name")
        }
        Err(source) => Err(Trouble::System { operation: "give the new entry its name", source }),
    })?;
    stage.disarm();
    Ok(())
}

fn rename_over(site: &Site<'_>, action: &Action, directory: &Dir, stage: Stage<'_>) -> Result<(), Trouble> {
    let closeness = if site.versions.is_some() { Closeness::Content } else { Closeness::Whole };
    check_destination(site, action, directory, closeness)?;
    patiently(site, || {
        directory
            .rename(stage.name(), directory, site.plan().name(action), RenameMode::Replace)
            .tried("give the new entry its name")
    })?;
    stage.disarm();
    Ok(())
}

/// Takes a directory away that must be empty by now.
pub(super) fn remove_emptied(directory: &Dir, name: &[u8]) -> Result<(), Trouble> {
    match directory.remove_dir(name) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            Err(Trouble::Moved { what: "something appeared in the directory" })
        }
        removed => removed.tried("remove the directory"),
    }
}
