//! Copies one file: from an open source, through the engine, into a stage file with its metadata.

use std::sync::Arc;

use crate::job::Verify;
use crate::platform::{Attributes as _, Dir, File};
use crate::queue::{Copied, Engine, Hashing, Holes, Transfer, TransferError};
use crate::value::{Meta, Wish};

use super::check::{Closeness, check_destination, open_source};
use super::metadata::{self, Age, Wanted};
use super::ready::{Job, Publish, Ready};
use super::retry::pause;
use super::settle::{self, READINGS_MAX, Torn};
use super::site::{Site, SyncWay, Unkept};
use super::stage::Stage;
use super::trouble::{Tried as _, Trouble};

/// What trying to copy gave.
pub(super) enum Copying<'s> {
    /// Staged.
    Ready(Ready<'s>),
    /// To be read once its time grain has passed.
    Later,
}

/// A staged copy, and what was read.
struct Reading<'s> {
    stage: Stage<'s>,
    target: Arc<File>,
    before: Meta,
    copied: Copied,
    whole: bool,
}

/// Copies the source of an action under a stage name beside its target.
pub(super) fn copy<'s>(site: &'s Site<'s>, job: Job) -> Result<Copying<'s>, Trouble> {
    let action = site.action(job.index);
    let source_directory = site.trees.source(action.directory)?;
    let (source, before) = open_source(site, action, &source_directory)?;
    let directory = site.trees.destination_to_change(action.directory)?;
    let closeness = if job.kept { Closeness::Content } else { Closeness::Whole };
    let present = check_destination(site, action, &directory, closeness)?;
    site.check_room(before.size.min(before.allocated.max(1)))?;
    if !job.waited && settle::unripe(site, &before).is_some() {
        return Ok(Copying::Later);
    }
    let source = Arc::new(source);
    let mut reading = read(site, job, &directory, &source, before)?;
    let mut readings = 1;
    let tries = READINGS_MAX.min(site.terms.rule.retries);
    while !reading.whole && readings <= tries && !site.terms.cancel.is_raised() {
        drop(reading);
        pause(site, std::time::Duration::from_millis(50) * readings);
        let before = source.meta().tried("look at the source")?;
        reading = read(site, job, &directory, &source, before)?;
        readings += 1;
    }
    let Reading { stage, target, before, copied, whole } = reading;
    let mut wanted = metadata::read(site, &*source, before)?;
    let mut torn = false;
    if !whole {
        match settle::torn(site, present.as_ref()) {
            Torn::Drop => return Err(Trouble::Unsettled),
            Torn::Publish => torn = true,
            Torn::Accept => site.note(Unkept::Torn),
        }
        wanted.modified = Some(settle::older(site, before.modified));
    }
    let read_back = read_back(site, &target, &copied)?;
    let inode = dress(site, &target, &wanted)?;
    site.meters.end_file(copied.bytes);
    let publish = Publish::of(action, present.as_ref());
    Ok(Copying::Ready(Ready {
        job,
        directory: action.directory,
        stage: Some(stage),
        publish,
        inode,
        bytes: copied.bytes,
        digest: copied.digest,
        read_back,
        touched: None,
        torn,
    }))
}

/// Reads the source once, to its end, into a new stage file.
fn read<'s>(
    site: &'s Site<'s>,
    job: Job,
    directory: &Dir,
    source: &Arc<File>,
    before: Meta,
) -> Result<Reading<'s>, Trouble> {
    let action = site.action(job.index);
    let (stage, target) = Stage::file(site, action.directory, directory)?;
    let transfer = Transfer {
        source: Arc::clone(source),
        target: Arc::new(target),
        bytes: before.size,
        holes: if site.terms.rule.preserve.sparse { Holes::Keep } else { Holes::Fill },
        hashing: Hashing::Blake3,
    };
    let (transfer, copied) = move_bytes(site.terms.engine, transfer);
    let copied = copied.map_err(|error| match error {
        TransferError::Aborted => Trouble::Aborted,
        error => Trouble::Transfer(error),
    });
    if copied.as_ref().is_err_and(Trouble::is_full) {
        // The engine may hold the file open for a moment longer; its room is wanted now.
        let _ = transfer.target.set_length(0);
        site.note_full(before.size.min(before.allocated.max(1)));
    }
    let copied = copied?;
    let after = source.meta().tried("look at the source")?;
    let whole = settle::is_whole(&before, &after, &copied);
    Ok(Reading { stage, target: transfer.target, before, copied, whole })
}

/// Moves the bytes the way that suits their number, and waits for them.
pub(super) fn move_bytes(engine: &Engine, transfer: Transfer) -> (Transfer, Result<Copied, TransferError>) {
    if transfer.bytes < engine.small_below_bytes() {
        let copied = engine.copy_small(&transfer);
        return (transfer, copied);
    }
    let spare = transfer.clone();
    let (done, ended) = crossbeam_channel::bounded(1);
    engine.submit(
        transfer,
        Box::new(move |transfer, copied| {
            // The receiver waits below until this has been called.
            let _ = done.send((transfer, copied));
        }),
    );
    ended.recv().unwrap_or((spare, Err(TransferError::Aborted)))
}

/// Where the rule wants it, reads what was written once more, from the device. Says whether that is known to have been done.
fn read_back(site: &Site<'_>, target: &Arc<File>, copied: &Copied) -> Result<bool, Trouble> {
    match site.terms.rule.verify {
        Verify::None => return Ok(false),
        Verify::Readback => {}
    }
    let read = match site.terms.engine.digest_uncached(target, copied.bytes) {
        Err(_) if site.terms.cancel.wish() == Wish::Abort => return Err(Trouble::Aborted),
        read => read.tried("read the copy back")?,
    };
    if Some(read.digest) != copied.digest {
        return Err(Trouble::NotAsWritten);
    }
    if !read.past_cache {
        site.note(Unkept::ReadBack);
    }
    Ok(read.past_cache)
}

/// Gives a stage file its metadata, and makes it durable where that is not done for a whole batch. Returns its inode.
fn dress(site: &Site<'_>, target: &File, wanted: &Wanted) -> Result<(u64, u64), Trouble> {
    metadata::apply(site, target, wanted, Age::New)?;
    let meta = target.meta().tried("look at the new file")?;
    if site.sync_way(meta.device) == SyncWay::Each {
        target.sync().tried("make the new file durable")?;
    }
    Ok((meta.device, meta.inode))
}
