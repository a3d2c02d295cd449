//! Stage files of copies into the same place that were killed: cleared before the next one begins.
//!
//! Nothing in the destination says whose they are, so the mark in the state does: the run, and where it copied to. Only names of exactly the
//! form of a stage file, with exactly that run, are cleared, and only where that run may have made them.

use std::io;

use crate::platform::Dir;
use crate::record::CopyMark;
use crate::run::roots::Root;
use crate::store::clear_stage;
use crate::value::{Kind, RelPath, RunId, StageName};

/// Clears what a dead copy has left in its place; returns how many stage files that were.
///
/// # Errors
/// Where some directory could not be looked at or cleared: the mark has to stay.
pub(super) fn clear(root: &Root, mark: &CopyMark) -> io::Result<u64> {
    let mut cleared = 0;
    let mut failed = None;
    let mut left: Vec<RelPath> = Vec::new();
    let mut below = Vec::new();
    let mut note = |result: io::Result<u64>| match result {
        Ok(count) => cleared += count,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => failed = failed.take().or(Some(error)),
    };
    match mark.names() {
        None => left.push(RelPath::root()),
        Some(names) => {
            note(clear_one(&root.directory, &RelPath::root(), mark.run(), &mut below));
            left.extend(below.drain(..).filter(|path| names.iter().any(|name| **name == *path.name())));
        }
    }
    while let Some(path) = left.pop() {
        let opened = root.directory.open_below(&path);
        note(opened.and_then(|directory| clear_one(&directory, &path, mark.run(), &mut below)));
        left.append(&mut below);
    }
    failed.map_or(Ok(cleared), Err)
}

/// Clears one directory, and tells the directories in it.
fn clear_one(directory: &Dir, path: &RelPath, run: RunId, below: &mut Vec<RelPath>) -> io::Result<u64> {
    let mut stages = Vec::new();
    let mut unknown = Vec::new();
    directory.list(|listed| {
        if StageName::parse(listed.name).is_some_and(|stage| stage.run == run) {
            stages.push(listed.name.to_vec());
            return;
        }
        match listed.kind {
            Some(Kind::Directory) => below.push(path.join(listed.name)),
            Some(_) => {}
            None => unknown.push(listed.name.to_vec()),
        }
    })?;
    for name in unknown {
        if directory.find(&name)?.is_some_and(|meta| meta.kind == Kind::Directory) {
            below.push(path.join(&name));
        }
    }
    for name in &stages {
        clear_stage(directory, name)?;
    }
    Ok(stages.len() as u64)
}
