//! What a run that was killed left behind, made safe before anything of it is cleared.
//!
//! For each run that has a marker: old entries that stand under stage names go to versions, unused stages of changes of kind go,
//! versions whose name was never replaced go. Each step may be cut off anywhere; the next recovery finds what is left to do.

use std::io;

use super::home::{PARTIAL, VERSIONS, locked, names};
use super::pending::{self, Announced, PENDING};
use super::tree::Emptied;
use super::versions::rename_new;
use super::{OriginalDirectory, Store, StoreError, Versions, failed, optional, tree};
use crate::platform::Dir;
use crate::value::{Kind, Meta, RelPath, RunId, StageName};

/// What recovery did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Runs that had not ended and that are safe now: their stage files may be cleared, then their markers.
    pub runs: Vec<RunId>,
    /// Entries that were brought from stage names into versions.
    pub rescued: Vec<RelPath>,
    /// Versions that were still the name's own inode, dropped.
    pub dropped: u64,
    /// Things to tell the user, one line each.
    pub messages: Vec<String>,
}

impl Store {
    /// Before anything is cleared: reads `pending` of every unfinished run, brings displaced entries from stage names into versions,
    /// removes unused kind-change stages, drops versions that are still the name's own inode. Markers stay until [`Store::clear_marker`].
    /// For the holder of the lock. A run for which this fails is said in a message; its stages and its marker are then left alone,
    /// see [`Store::unfinished_runs`].
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn recover(&self, root: &Dir) -> Result<Recovered, StoreError> {
        let mut recovered = Recovered::default();
        self.clear_own_stages()?;
        for run in self.runs_in(PARTIAL)? {
            match self.recover_run(root, run, &mut recovered) {
                Ok(()) => {
                    locked(&self.unrecovered).remove(&run);
                    recovered.runs.push(run);
                }
                Err(error) => {
                    locked(&self.unrecovered).insert(run);
                    recovered.messages.push(told(run, &error));
                }
            }
        }
        Ok(recovered)
    }

    /// Stage files in `.twinlane` itself are what a probe left.
    fn clear_own_stages(&self) -> Result<(), StoreError> {
        let found = names(&self.home).map_err(failed("list", b""))?;
        for name in found.iter().filter(|name| StageName::parse(name).is_some()) {
            tree::remove(&self.home, name).map_err(failed("remove", name))?;
        }
        Ok(())
    }

    fn recover_run(&self, root: &Dir, run: RunId, recovered: &mut Recovered) -> Result<(), StoreError> {
        let Some(marker) = self.marker(run)? else { return Ok(()) };
        let announced =
            pending::read(&marker, run).map_err(failed("read", &super::versions::pending_path(run)))?;
        let versions = self.versions(run);
        for announced in &announced {
            rescue(&versions, root, announced, recovered)?;
        }
        versions.sync_directories()?;
        versions.finish()?;
        self.drop_unused(root, run, recovered)?;
        let path = super::marker::marker_path(run);
        for name in names(&marker).map_err(failed("list", &path))? {
            if &*name != PENDING {
                tree::remove(&marker, &name).map_err(failed("remove", &path))?;
            }
        }
        Ok(())
    }

    /// Drops versions of a run that are still the inode of the name that they were to be displaced from.
    fn drop_unused(&self, root: &Dir, run: RunId, recovered: &mut Recovered) -> Result<(), StoreError> {
        let Some(versions) = self.room(VERSIONS)? else { return Ok(()) };
        let of_run = super::versions::version_path(run, &RelPath::root());
        let Some(base) =
            optional(versions.open_dir(run.to_string().as_bytes())).map_err(failed("open", &of_run))?
        else {
            return Ok(());
        };
        let mut unused: Vec<RelPath> = Vec::new();
        let mut above: Option<(RelPath, Option<Dir>)> = None;
        tree::walk(&base, |path, met| {
            let tree::Met::Leaf(version) = met else { return };
            if version.kind == Kind::Directory || version.links < 2 {
                return;
            }
            let Some(parent) = path.parent() else { return };
            if above.as_ref().is_none_or(|(known, _)| *known != parent) {
                let directory = root.open_below(&parent).ok();
                above = Some((parent, directory));
            }
            let Some((_, Some(directory))) = &above else { return };
            let same = |name: Meta| name.same_inode(version);
            if directory.find(path.name()).ok().flatten().is_some_and(same) {
                unused.push(path.clone());
            }
        })
        .map_err(failed("list", &of_run))?;
        for path in &unused {
            remove_version(&versions, run, path)
                .map_err(failed("remove", &super::versions::version_path(run, path)))?;
        }
        recovered.dropped += unused.len() as u64;
        Ok(())
    }
}

/// Removes one version (or the empty directory that it is), and the directories above it that are empty then.
pub(super) fn remove_version(versions: &Dir, run: RunId, path: &RelPath) -> io::Result<()> {
    let run = run.to_string();
    let Some(mut above) = path.parent() else {
        return tree::remove_empty(versions, run.as_bytes()).map(drop);
    };
    let base = versions.open_dir(run.as_bytes())?;
    let parent = base.open_below(&above)?;
    match parent.find(path.name())? {
        Some(meta) if meta.kind == Kind::Directory => drop(tree::remove_empty(&parent, path.name())?),
        Some(_) => tree::remove(&parent, path.name())?,
        None => {}
    }
    while let Some(next) = above.parent() {
        if tree::remove_empty(&base.open_below(&next)?, above.name())? == Emptied::No {
            return Ok(());
        }
        above = next;
    }
    tree::remove_empty(versions, run.as_bytes()).map(drop)
}

/// Settles one announced exchange.
fn rescue(
    versions: &Versions<'_>,
    root: &Dir,
    announced: &Announced,
    recovered: &mut Recovered,
) -> Result<(), StoreError> {
    let stage = announced.stage.to_string();
    let path = &announced.path;
    let whole = versions.path_of(&announced.version);
    let above = path.parent().unwrap_or_default();
    let directory = match root.open_below(&above) {
        // The directory went with everything in it.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(());
        }
        opened => opened.map_err(failed("reach the old entry of", &whole))?,
    };
    let Some(meta) = directory.find(stage.as_bytes()).map_err(failed("look for the old entry of", &whole))?
    else {
        return Ok(());
    };
    if meta.kind == announced.new_kind {
        let undone = undo_removal(versions, &directory, announced).map_err(failed("put back", &whole))?;
        if undone {
            recovered
                .messages
                .push(format!("`{path}` is there again: a run had ended before its new entry came"));
        }
        return tree::remove(&directory, stage.as_bytes()).map_err(failed("clear the stage of", &whole));
    }
    let original = OriginalDirectory { root };
    match versions.take(original, &directory, stage.as_bytes(), &announced.version, false) {
        Ok(_) => recovered.rescued.push(announced.version.clone()),
        Err(error) if error.is_displaced_already() => {
            // Never over another version: beside it, under the stage name, which no entry of a user has.
            let beside = announced.version.parent().unwrap_or_default().join(stage.as_bytes());
            versions.take(original, &directory, stage.as_bytes(), &beside, false)?;
            recovered.messages.push(format!("an old `{path}` is in versions as `{beside}`"));
            recovered.rescued.push(beside);
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Without an exchange the old entry went to versions first, and the name is absent: it comes back.
fn undo_removal(versions: &Versions<'_>, directory: &Dir, announced: &Announced) -> io::Result<bool> {
    if directory.find(announced.path.name())?.is_some() {
        return Ok(false);
    }
    let Some(from) = versions.existing(&announced.version)? else { return Ok(false) };
    match from.find(announced.version.name())? {
        Some(old) if old.kind != announced.new_kind => {
            rename_new(&from, announced.version.name(), directory, announced.path.name())?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

fn told(run: RunId, error: &StoreError) -> String {
    let reason = std::error::Error::source(error).map_or(String::new(), |reason| format!(": {reason}"));
    format!(
        "the run {run} left something that could not be settled, so its stage files stay: {error}{reason}"
    )
}
