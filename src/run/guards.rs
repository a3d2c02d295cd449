//! Where the two roots lie towards each other, and towards other destinations.
//!
//! Directories are told by device and inode, on the path as written and on the path without symlinks, so that a symlink or a bind
//! mount hides nothing. What lies below a root is compared while marching (`Draft::nested`).

use std::path::{Component, Path, PathBuf};

use crate::compare::Side;
use crate::platform::{Attributes as _, Dir, open_root};
use crate::store::{Known, Store};
use crate::value::{Meta, RelPath};

use super::Refusal;
use super::roots::{Root, Roots, Target};

/// A directory on the way to a root.
pub(super) struct Step {
    pub(super) path: PathBuf,
    pub(super) directory: Dir,
    pub(super) meta: Meta,
}

/// The directories above a root, nearest first; those that may not be looked at are left out.
pub(super) fn above(root: &Root) -> Vec<Step> {
    let paths = lineage(&root.real).chain(lineage(&root.written));
    paths
        .filter_map(|path| {
            let (directory, _) = open_root(path).ok()?;
            let meta = directory.meta().ok()?;
            Some(Step { path: path.to_path_buf(), directory, meta })
        })
        .collect()
}

/// The parts of a path that lie above its end: what stands before a `..` is passed through, not above.
fn lineage(path: &Path) -> impl Iterator<Item = &Path> {
    let leads_up = |part: &Path| part.components().next_back() == Some(Component::ParentDir);
    let mut passed = leads_up(path);
    path.ancestors().skip(1).take_while(move |part| !std::mem::replace(&mut passed, leads_up(part)))
}

/// Refuses roots that are one directory, or lie in each other, and a destination that lies in another one.
pub(super) fn check_apart(roots: &Roots) -> Result<(), Refusal> {
    let source = &roots.source;
    let written = &roots.target.shown();
    let (destination_meta, near) = match &roots.target {
        Target::There(root) => (Some(&root.meta), root),
        Target::ToMake { parent, .. } => (None, parent),
    };
    if destination_meta.is_some_and(|meta| meta.same_inode(&source.meta)) {
        return Err(Refusal::Same { source_path: source.shown(), destination: written.clone() });
    }
    let steps = above(near);
    let parent_is_source = destination_meta.is_none() && near.meta.same_inode(&source.meta);
    if parent_is_source || steps.iter().any(|step| step.meta.same_inode(&source.meta)) {
        return Err(nested(Side::Destination, written, &source.shown()));
    }
    if destination_meta.is_some_and(|meta| above(source).iter().any(|step| step.meta.same_inode(meta))) {
        return Err(nested(Side::Source, &source.shown(), written));
    }
    let parent = match &roots.target {
        Target::There(_) => None,
        Target::ToMake { parent, .. } => Some((parent.real.as_path(), &parent.directory)),
    };
    let candidates =
        parent.into_iter().chain(steps.iter().map(|step| (step.path.as_path(), &step.directory)));
    for (path, directory) in candidates {
        if let Some((job, rule)) = owner(directory) {
            let (path, above) = (written.clone(), path.to_path_buf());
            return Err(Refusal::InsideDestination { path, above, job, rule });
        }
    }
    Ok(())
}

/// The destination that a directory is, or lies in: where it is, its job and its rule.
pub(super) fn destination_around(root: &Root) -> Option<(PathBuf, String, String)> {
    let steps = above(root);
    let own = std::iter::once((root.real.as_path(), &root.directory));
    own.chain(steps.iter().map(|step| (step.path.as_path(), &step.directory))).find_map(
        |(path, directory)| {
            let (job, rule) = owner(directory)?;
            Some((path.to_path_buf(), job, rule))
        },
    )
}

/// What the march found: one root inside the other.
pub(super) fn check_nested(roots: &Roots, nested_at: Option<&(Side, RelPath)>) -> Result<(), Refusal> {
    check_nested_in(&roots.source, &roots.target, nested_at)
}

/// The same of two roots that do not belong to a rule.
pub(super) fn check_nested_in(
    source: &Root,
    target: &Target,
    nested_at: Option<&(Side, RelPath)>,
) -> Result<(), Refusal> {
    let Some((side, at)) = nested_at else { return Ok(()) };
    let below = |path: &Path| path.join(crate::platform::path_from_bytes(at.as_bytes()));
    match side {
        Side::Source => Err(nested(Side::Destination, &below(&source.shown()), &source.shown())),
        Side::Destination => Err(nested(Side::Source, &below(&target.shown()), &target.shown())),
    }
}

fn nested(inner: Side, inner_path: &Path, outer_path: &Path) -> Refusal {
    let (inner, outer) = match inner {
        Side::Source => ("source", "destination"),
        Side::Destination => ("destination", "source"),
    };
    let (inner_path, outer_path) = (inner_path.to_path_buf(), outer_path.to_path_buf());
    Refusal::Nested { inner, inner_path, outer, outer_path }
}

/// Whose destination a directory is.
pub(super) fn owner(directory: &Dir) -> Option<(String, String)> {
    match Store::find(directory).ok()??.known().ok()? {
        Known::Identity(identity) => Some((identity.job, identity.rule)),
        Known::None | Known::Damaged { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_before_a_double_dot_is_not_above() {
        let check = |path: &str, above: &[&str]| {
            let found: Vec<&Path> = lineage(Path::new(path)).collect();
            assert_eq!(found, above.iter().map(Path::new).collect::<Vec<_>>(), "{path}");
        };
        check("/a/jobs/../target/x", &["/a/jobs/../target", "/a/jobs/.."]);
        check("/a/jobs/..", &[]);
        check("/a/b", &["/a", "/"]);
    }
}
