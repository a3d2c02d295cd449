//! From paths as people type them to names below the root.

use std::path::{Component, Path, PathBuf};

use crate::job::Rule;
use crate::platform::path_bytes;
use crate::value::RelPath;

use super::super::roots::{Root, source_root};
use super::RestoreStop;

/// The names that are asked for, none within another; without any, the root.
pub(in crate::run) fn resolve(
    paths: &[PathBuf],
    root: &Root,
    rule: &Rule,
) -> Result<Vec<RelPath>, RestoreStop> {
    let mut names = paths.iter().map(|path| one(path, root, rule)).collect::<Result<Vec<_>, _>>()?;
    if names.is_empty() {
        names.push(RelPath::root());
    }
    names.sort();
    let mut apart: Vec<RelPath> = Vec::with_capacity(names.len());
    for name in names {
        if apart.last().is_none_or(|above| !name.is_within(above)) {
            apart.push(name);
        }
    }
    Ok(apart)
}

fn one(path: &Path, root: &Root, rule: &Rule) -> Result<RelPath, RestoreStop> {
    let below = if path.is_absolute() { below_either(path, root, rule)? } else { path.to_path_buf() };
    let mut bytes: Vec<u8> = Vec::new();
    for part in below.components() {
        match part {
            Component::Normal(name) => {
                if !bytes.is_empty() {
                    bytes.push(b'/');
                }
                bytes.extend_from_slice(path_bytes(Path::new(name)));
            }
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(RestoreStop::usage(
                    format!("`{}` leads up", path.display()),
                    "give a path below the destination's root, without `..`",
                ));
            }
        }
    }
    RelPath::parse(&bytes).map_err(|error| {
        RestoreStop::usage(
            format!("`{}` cannot be used: {error}", path.display()),
            "give a path below the root",
        )
    })
}

fn below_either(path: &Path, root: &Root, rule: &Rule) -> Result<PathBuf, RestoreStop> {
    let source = source_root(rule).ok();
    let (written, real) = source.map(|source| (source.written, source.real)).unzip();
    let bases = [Some(root.written.clone()), Some(root.real.clone()), written, real];
    bases.iter().flatten().find_map(|base| path.strip_prefix(base).ok()).map(Path::to_path_buf).ok_or_else(
        || {
            RestoreStop::usage(
                format!(
                    "`{}` lies neither in the destination `{}` nor in the source",
                    path.display(),
                    root.shown().display()
                ),
                "give a path relative to the destination's root",
            )
        },
    )
}
