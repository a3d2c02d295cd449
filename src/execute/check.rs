//! Whether both sides of an action still are what the plan saw, asked immediately before it.

use crate::plan::Action;
use crate::platform::{Access, Attributes as _, Dir, File};
use crate::value::{Kind, Meta};

use super::site::Site;
use super::trouble::{Tried as _, Trouble};

/// How closely an entry of the destination is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closeness {
    /// Everything that shows a change.
    Whole,
    /// All but ctime: this run has given the inode a further name, or mended it, itself.
    Content,
}

/// Whether an entry of the destination is the one that was observed. Of a directory only the inode counts, for this run changes its
/// content. The ctime of an inode with several names says nothing: displacing one of them in this run changes it for all.
pub(super) fn is_still(observed: &Meta, now: &Meta, closeness: Closeness) -> bool {
    if observed.kind != now.kind || !observed.same_inode(now) {
        return false;
    }
    if observed.kind == Kind::Directory {
        return true;
    }
    let content = observed.size == now.size && observed.modified == now.modified;
    content && (closeness == Closeness::Content || observed.links > 1 || observed.changed == now.changed)
}

/// Checks the destination's name of an action, and returns what is there now.
pub(super) fn check_destination(
    site: &Site<'_>,
    action: &Action,
    directory: &Dir,
    closeness: Closeness,
) -> Result<Option<Meta>, Trouble> {
    let now = directory.find(site.plan().name(action)).tried("look at the destination")?;
    match (site.plan().destination(action), &now) {
        (None, None) => Ok(None),
        (Some(observed), Some(found))
            if is_still(
                observed,
                found,
                if site.is_mended(observed) { Closeness::Content } else { closeness },
            ) =>
        {
            Ok(now)
        }
        (None, Some(_)) => Err(Trouble::Moved { what: "something appeared in the destination" }),
        (Some(_), None) => Err(Trouble::Moved { what: "the destination's entry went away" }),
        (Some(_), Some(_)) => Err(Trouble::Moved { what: "the destination changed" }),
    }
}

const SOURCE_CHANGED: Trouble = Trouble::Moved { what: "the source changed" };

/// Whether an entry of the source is the one that was observed.
pub(super) fn is_source_still(observed: &Meta, now: &Meta) -> bool {
    match observed.kind {
        Kind::Directory => now.kind == Kind::Directory && observed.same_inode(now),
        _ => observed.same_moment(now),
    }
}

/// Checks the source's name of an action, and returns what is there now.
pub(super) fn check_source(site: &Site<'_>, action: &Action, directory: &Dir) -> Result<Meta, Trouble> {
    let observed = site.plan().source(action).ok_or(SOURCE_CHANGED)?;
    let now = directory.find(site.source_name(action)).tried("look at the source")?;
    match now {
        None => Err(Trouble::Vanished),
        Some(now) if is_source_still(observed, &now) => Ok(now),
        Some(_) => Err(SOURCE_CHANGED),
    }
}

/// Opens the source file of an action and checks the handle; what the name stands for later does not matter.
pub(super) fn open_source(
    site: &Site<'_>,
    action: &Action,
    directory: &Dir,
) -> Result<(File, Meta), Trouble> {
    let observed = site.plan().source(action).ok_or(SOURCE_CHANGED)?;
    let name = site.source_name(action);
    let file = match directory.open_file(name, Access::Buffered) {
        Ok(file) => file,
        Err(source) => {
            check_source(site, action, directory)?;
            return Err(Trouble::System { operation: "open the source", source });
        }
    };
    let now = file.meta().tried("look at the source")?;
    if is_source_still(observed, &now) { Ok((file, now)) } else { Err(SOURCE_CHANGED) }
}
