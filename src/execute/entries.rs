//! Actions that move no content: hard links, symlinks, special files, metadata in place; and which action goes which way.

use std::io;

use crate::plan::{Action, ActionKind};
use crate::platform::{Access, Attributes as _, Dir};
use crate::store::Change;
use crate::value::{Kind, Meta, RelPath, Wish};

use super::check::{Closeness, check_destination, check_source, is_still, open_source};
use super::directories::open_parent;
use super::file::{self, Copying};
use super::metadata::{self, Age, Wanted};
use super::ready::{Job, Publish, Ready};
use super::retry::patiently;
use super::site::{Site, SyncWay, Unkept};
use super::stage::Stage;
use super::trouble::{Tried as _, Trouble};

/// Does the part of an action that a worker does: all but giving the new entry its name.
pub(super) fn perform<'s>(site: &'s Site<'s>, job: Job) -> Result<Copying<'s>, Trouble> {
    if site.terms.cancel.is_raised() {
        return Err(Trouble::Aborted);
    }
    let performed = patiently(site, || {
        once(site, job).inspect_err(|trouble| {
            if trouble.is_stale() {
                site.trees.forget(site.action(job.index).directory);
            }
        })
    });
    match site.terms.cancel.wish() {
        Wish::Abort => Err(Trouble::Aborted),
        Wish::Run | Wish::Drain => performed,
    }
}

fn once<'s>(site: &'s Site<'s>, job: Job) -> Result<Copying<'s>, Trouble> {
    let action = site.action(job.index);
    match (action.kind, action.entry) {
        (ActionKind::Metadata, _) => in_place(site, job).map(Copying::Ready),
        _ if !job.unlinked && site.plan().link(action).is_some() => link(site, job),
        (_, Kind::File) => file::copy(site, job),
        (_, Kind::Symlink) => symlink(site, job).map(Copying::Ready),
        (_, Kind::Fifo | Kind::Socket | Kind::CharDevice | Kind::BlockDevice) => {
            special(site, job).map(Copying::Ready)
        }
        (_, Kind::Directory) => Err(Trouble::NoDirectory),
    }
}

fn ready<'s>(
    site: &'s Site<'s>,
    job: Job,
    stage: Stage<'s>,
    inode: (u64, u64),
    present: Option<&Meta>,
) -> Ready<'s> {
    let action = site.action(job.index);
    Ready {
        job,
        directory: action.directory,
        stage: Some(stage),
        publish: Publish::of(action, present),
        inode,
        bytes: 0,
        digest: None,
        read_back: false,
        touched: None,
        torn: false,
    }
}

fn closeness(job: Job) -> Closeness {
    if job.kept { Closeness::Content } else { Closeness::Whole }
}

/// Gives the leader's inode a further name; where that is refused, or the leader is not what it should be, the source is copied.
fn link<'s>(site: &'s Site<'s>, job: Job) -> Result<Copying<'s>, Trouble> {
    let action = site.action(job.index);
    let source = check_source(site, action, &*site.trees.source(action.directory)?)?;
    let directory = site.trees.destination_to_change(action.directory)?;
    let present = check_destination(site, action, &directory, closeness(job))?;
    let Some(leader) = site.plan().link(action) else { return file::copy(site, job) };
    let holder = match site.trees.id_of(&leader.parent().unwrap_or_default()) {
        Some(id) => site.trees.destination(id)?,
        None => open_parent(site.terms.destination, leader)?.into(),
    };
    let Some(before) = leader_there(site, &holder, leader, &source)? else {
        site.note(Unkept::Links);
        return file::copy(site, Job { unlinked: true, ..job });
    };
    let inode = (before.device, before.inode);
    if present.as_ref().is_some_and(|meta| meta.same_inode(&before)) {
        // Renaming one name of an inode over another of the same does nothing, and would leave the stage name behind.
        return Ok(Copying::Ready(changed_in_place(job, action, inode, None)));
    }
    let staged =
        Stage::other(site, action.directory, |name| holder.hard_link(leader.name(), &directory, name));
    match staged {
        Ok(stage) => {
            site.note_link(leader, &before);
            Ok(Copying::Ready(ready(site, job, stage, inode, present.as_ref())))
        }
        Err(error) if is_link_refused(&error) => {
            site.note(Unkept::Links);
            file::copy(site, Job { unlinked: true, ..job })
        }
        Err(source) => Err(Trouble::System { operation: "link the name to its first one", source }),
    }
}

fn is_link_refused(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::CrossesDevices
            | io::ErrorKind::TooManyLinks
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::Unsupported
    )
}

/// The leader as it is, where it holds the content that the source has.
fn leader_there(
    site: &Site<'_>,
    holder: &Dir,
    leader: &RelPath,
    source: &Meta,
) -> Result<Option<Meta>, Trouble> {
    let found = holder.find(leader.name()).tried("look at the name to link to")?;
    let times = site.terms.rule.preserve.times;
    let time = site.place().held_time(source.modified);
    Ok(found
        .filter(|meta| meta.kind == Kind::File && meta.size == source.size)
        .filter(|meta| !times || meta.modified == time))
}

/// Makes a symlink with the source's text, untouched.
fn symlink<'s>(site: &'s Site<'s>, job: Job) -> Result<Ready<'s>, Trouble> {
    let action = site.action(job.index);
    let source_directory = site.trees.source(action.directory)?;
    let name = site.source_name(action);
    check_source(site, action, &source_directory)?;
    let text = source_directory.read_link(name).tried("read the symlink")?;
    let (wanted, _) = read_node(site, action, &source_directory)?;
    let directory = site.trees.destination_to_change(action.directory)?;
    let present = check_destination(site, action, &directory, closeness(job))?;
    let stage = Stage::other(site, action.directory, |name| directory.make_symlink(name, &text))
        .tried("make the symlink")?;
    let inode = dress(site, &directory, &stage, &wanted)?;
    Ok(ready(site, job, stage, inode, present.as_ref()))
}

/// Makes a FIFO, socket or device node; the source's is never opened.
fn special<'s>(site: &'s Site<'s>, job: Job) -> Result<Ready<'s>, Trouble> {
    let action = site.action(job.index);
    let source_directory = site.trees.source(action.directory)?;
    let (wanted, meta) = read_node(site, action, &source_directory)?;
    let directory = site.trees.destination_to_change(action.directory)?;
    let present = check_destination(site, action, &directory, closeness(job))?;
    let make = |name: &[u8]| directory.make_special(name, meta.kind, meta.special);
    let stage = Stage::other(site, action.directory, make).tried("make the special file")?;
    let inode = dress(site, &directory, &stage, &wanted)?;
    Ok(ready(site, job, stage, inode, present.as_ref()))
}

/// Reads the metadata of a source that is not opened, through one handle that is checked to be the entry that the plan saw.
fn read_node(site: &Site<'_>, action: &Action, directory: &Dir) -> Result<(Wanted, Meta), Trouble> {
    let before = check_source(site, action, directory)?;
    let node = directory.node(site.source_name(action)).tried("look at the source")?;
    let meta = node.meta().tried("look at the source")?;
    if !before.same_moment(&meta) {
        return Err(Trouble::Moved { what: "the source changed" });
    }
    Ok((metadata::read(site, &node, meta)?, meta))
}

/// Gives a staged entry that is not opened its metadata.
fn dress(
    site: &Site<'_>,
    directory: &Dir,
    stage: &Stage<'_>,
    wanted: &Wanted,
) -> Result<(u64, u64), Trouble> {
    let node = directory.node(stage.name()).tried("look at the new entry")?;
    metadata::apply(site, &node, wanted, Age::New)?;
    let meta = node.meta().tried("look at the new entry")?;
    Ok((meta.device, meta.inode))
}

/// Mends the metadata of an entry that is no directory.
///
/// A file with more names than the plan saw has been linked by somebody since: whoever did wants the inode as it was, so it is
/// left alone. (A group that the plan does not know whole becomes a replacement there, with an inode of its own.)
fn in_place<'s>(site: &'s Site<'s>, job: Job) -> Result<Ready<'s>, Trouble> {
    let action = site.action(job.index);
    let source_directory = site.trees.source(action.directory)?;
    let wanted = match action.entry {
        Kind::File => {
            let (source, meta) = open_source(site, action, &source_directory)?;
            metadata::read(site, &source, meta)?
        }
        _ => read_node(site, action, &source_directory)?.0,
    };
    let directory = site.trees.destination(action.directory)?;
    let observed = site.plan().destination(action).ok_or(Trouble::NoDirectory)?;
    // Names that were linked to it in this run have changed its ctime.
    let links = site.links_to((observed.device, observed.inode));
    let closeness = if links > 0 { Closeness::Content } else { Closeness::Whole };
    check_destination(site, action, &directory, closeness)?;
    let node = directory.node(site.plan().name(action)).tried("look at the destination")?;
    let now = node.meta().tried("look at the destination")?;
    if !is_still(observed, &now, closeness) {
        return Err(Trouble::Moved { what: "the destination changed" });
    }
    if now.links > observed.links.saturating_add(links) {
        return Err(Trouble::Moved { what: "the destination's file got a further name" });
    }
    metadata::apply(site, &node, &wanted, Age::Old)?;
    // Read at once: who changes the content from here on changes the ctime that the catalog knows.
    let mended = node.meta().tried("look at the destination")?;
    let touched = Change::Touched { path: site.plan().path(action), before: now, meta: mended };
    if now.kind == Kind::File && site.sync_way(now.device) == SyncWay::Each {
        sync_file(&directory, site.plan().name(action), &now)?;
    }
    Ok(changed_in_place(job, action, (now.device, now.inode), Some(Box::new(touched))))
}

/// Makes a mended inode durable. One that its mode forbids to open waits for the system's own writing back.
pub(super) fn sync_file(directory: &Dir, name: &[u8], mended: &Meta) -> Result<(), Trouble> {
    let file = match directory.open_file(name, Access::Buffered) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
        file => file.tried("open the destination's file")?,
    };
    if !file.meta().tried("look at the destination")?.same_inode(mended) {
        return Err(Trouble::Moved { what: "the destination changed" });
    }
    file.sync().tried("make the file durable")
}

fn changed_in_place<'s>(
    job: Job,
    action: &Action,
    inode: (u64, u64),
    touched: Option<Box<Change>>,
) -> Ready<'s> {
    Ready {
        job,
        directory: action.directory,
        stage: None,
        publish: Publish::InPlace,
        inode,
        bytes: 0,
        digest: None,
        read_back: false,
        touched,
        torn: false,
    }
}
