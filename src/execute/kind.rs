//! Kind changes with a directory on one side: announce, exchange, take the old entry into versions.

use std::io;

use crate::plan::Action;
use crate::platform::{Dir, RenameMode};
use crate::value::{Kind, Meta};

use super::check::{Closeness, check_destination, is_still};
use super::publish::{remove_emptied, rename_new};
use super::site::Site;
use super::stage::Stage;
use super::trouble::{Tried as _, Trouble};

/// Puts a staged entry in the place of an old one of another kind; the name always stands for one of both where the place can exchange.
pub(super) fn swap(
    site: &Site<'_>,
    action: &Action,
    directory: &Dir,
    stage: Stage<'_>,
) -> Result<(), Trouble> {
    let Some(observed) = site.plan().destination(action) else { return Err(Trouble::NoDirectory) };
    check_destination(site, action, directory, Closeness::Whole)?;
    if let Some(versions) = &site.versions {
        versions.announce(stage.name(), &site.plan().path(action), action.entry)?;
    }
    if site.place().exchange {
        match directory.rename(stage.name(), directory, site.plan().name(action), RenameMode::Exchange) {
            Ok(()) => return put_old_away(site, action, directory, stage, observed),
            Err(error) if is_unknown(&error) => {}
            Err(source) => return Err(Trouble::System { operation: "exchange both entries", source }),
        }
    }
    // The one moment in which a name is absent: the place cannot exchange.
    remove_old(site, action, directory, site.plan().name(action))?;
    rename_new(site, action, directory, stage)
}

fn is_unknown(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}

/// The old entry has the stage name now. Where it cannot go on to versions, it gets its own name back.
fn put_old_away(
    site: &Site<'_>,
    action: &Action,
    directory: &Dir,
    stage: Stage<'_>,
    observed: &Meta,
) -> Result<(), Trouble> {
    let found = directory.find(stage.name()).tried("look at the old entry");
    let gone = match found {
        Ok(Some(old)) if is_still(observed, &old, Closeness::Content) => {
            remove_old(site, action, directory, stage.name())
        }
        Ok(_) => Err(Trouble::Moved { what: "the destination changed" }),
        Err(trouble) => Err(trouble),
    };
    let Err(trouble) = gone else {
        stage.disarm();
        return Ok(());
    };
    match directory.rename(stage.name(), directory, site.plan().name(action), RenameMode::Exchange) {
        Ok(()) => drop(stage),
        // `pending` says what the stage name holds, and the next run brings it into versions. Without versions it is a directory that
        // is not empty, which clearing stages leaves alone, or a file that was to go.
        Err(_) => stage.leave(),
    }
    Err(trouble)
}

/// Moves the old entry from `name` into versions, or takes it away where there are none: a directory only when planned removals have
/// emptied it.
fn remove_old(site: &Site<'_>, action: &Action, directory: &Dir, name: &[u8]) -> Result<(), Trouble> {
    let is_directory = site.plan().destination(action).is_some_and(|old| old.kind == Kind::Directory);
    let path = site.plan().path(action);
    match &site.versions {
        Some(versions) => {
            versions.take(site.original(), directory, name, &path, site.place().ordered)?;
        }
        None if is_directory => remove_emptied(directory, name)?,
        None => directory.remove_file(name).tried("remove the old entry")?,
    }
    if is_directory {
        site.trees.note_gone(&path);
    }
    Ok(())
}
