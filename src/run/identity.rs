//! Whether the source is still the one it was: its file system's UUID, and what was mounted at and below its root.

use std::io;

use crate::compare::{Extent, Problem, Side};
use crate::platform::Attributes as _;
use crate::record::KnownRule;
use crate::store::Identity;
use crate::value::RelPath;

use super::roots::Root;
use super::{Accept, Refusal, Session};

/// The source as it was at the last run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SourceBefore {
    uuid: Option<String>,
    mounts: Vec<RelPath>,
}

impl SourceBefore {
    /// What a plan saw of it.
    pub(super) fn planned(uuid: Option<String>, mounts: Vec<RelPath>) -> Self {
        Self { uuid, mounts }
    }

    /// What the state remembers; where it is lost, what the destination's id says.
    pub(super) fn of(before: &KnownRule, identity: Option<&Identity>) -> Self {
        if before.source_uuid.is_some() || !before.source_mounts.is_empty() {
            return Self { uuid: before.source_uuid.clone(), mounts: before.source_mounts.clone() };
        }
        identity.map_or_else(Self::default, |identity| Self {
            uuid: identity.source_uuid.clone(),
            mounts: identity.source_mounts.clone(),
        })
    }
}

/// Refuses a source whose root is not what it was; returns the failed subtrees: mount points below it that are none now, under
/// which nothing may be removed.
pub(super) fn check_source(
    session: &Session<'_>,
    source: &Root,
    before: &SourceBefore,
) -> Result<Vec<Problem>, Refusal> {
    if session.accepts(Accept::Source) { Ok(Vec::new()) } else { changed(source, before) }
}

/// What of a source is not what it was: a refusal where its root is concerned, else the mount points below it that are none now.
pub(super) fn changed(source: &Root, before: &SourceBefore) -> Result<Vec<Problem>, Refusal> {
    let path = || source.shown();
    let (root, below): (Vec<&RelPath>, Vec<&RelPath>) =
        before.mounts.iter().partition(|mount| mount.is_root());
    if !root.is_empty() && !is_mounted(source) {
        return Err(Refusal::SourceUnmounted { path: path() });
    }
    if let Some(was) = &before.uuid
        && source.place.uuid.as_ref() != Some(was)
    {
        let is = source.place.uuid.clone().unwrap_or_else(|| "one without a UUID".to_owned());
        return Err(Refusal::OtherSource { path: path(), was: was.clone(), is });
    }
    let lost = below.into_iter().filter(|mount| !is_mount_point(source, mount));
    Ok(lost
        .map(|mount| Problem {
            path: mount.clone(),
            side: Side::Source,
            message: "was a mount point at the last run, and nothing is mounted there now (--accept source)"
                .to_owned(),
            extent: Extent::Subtree,
        })
        .collect())
}

/// Whether something is mounted at the root itself.
pub(super) fn is_mounted(root: &Root) -> bool {
    root.meta.mount_root || *root.place.mount_point == *crate::platform::path_bytes(&root.real)
}

/// Whether something is mounted at a path below the source, or another file system begins there without a mount, as a subvolume of btrfs
/// does: what the march calls a mount point. What cannot be looked at is not called lost: the march reports it.
fn is_mount_point(source: &Root, path: &RelPath) -> bool {
    let found = || -> io::Result<bool> {
        let parent = source.directory.open_below(&path.parent().unwrap_or_default())?;
        let above = parent.meta()?;
        Ok(parent.find(path.name())?.is_some_and(|meta| meta.mount_root || meta.device != above.device))
    };
    found().unwrap_or_else(|error| {
        !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
    })
}

/// What is to be remembered of the source: mount points below it, and the root where it is one.
pub(super) fn mounts_now(source: &Root, below: &[RelPath]) -> Vec<RelPath> {
    let root = is_mounted(source).then(RelPath::root);
    root.into_iter().chain(below.iter().cloned()).collect()
}
