//! From a path as it was typed to a path below a rule's roots.

use std::path::{Component, Path, PathBuf};

use crate::job::{Location, Rule};
use crate::platform::{Dir, open_root, path_bytes, real_path};
use crate::value::RelPath;

use super::super::locate::locate;
use super::ExplainError;

/// How a path that was asked for was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// As a path below the rule's roots.
    BelowRoots,
    /// As an absolute path in one of its trees.
    Absolute,
    /// From the working directory, which lies in one of its trees.
    FromHere,
}

/// A path below a rule's roots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) path: RelPath,
    pub(super) taken: Taken,
}

/// A rule's trees, as far as they are there.
struct Trees {
    /// Each root as written and without symlinks.
    paths: Vec<PathBuf>,
    roots: Vec<Dir>,
}

/// The places of all paths, a list a rule; a rule that holds none has an empty one.
pub(super) fn place_all(
    rules: &[&Rule],
    asked: &[PathBuf],
    here: Option<&Path>,
) -> Result<Vec<Vec<Placed>>, ExplainError> {
    let trees: Vec<Trees> = rules.iter().map(|rule| Trees::of(rule)).collect();
    let mut all = vec![Vec::new(); rules.len()];
    for path in asked {
        let placed = place_one(&trees, path, here)?;
        for (list, placed) in all.iter_mut().zip(placed) {
            list.extend(placed);
        }
    }
    Ok(all)
}

/// The place of one path in each rule's trees.
fn place_one(
    trees: &[Trees],
    asked: &Path,
    here: Option<&Path>,
) -> Result<Vec<Option<Placed>>, ExplainError> {
    let outside = || ExplainError::Outside { path: asked.to_path_buf() };
    let below = |path: &Path, taken: Taken| -> Vec<Option<Placed>> {
        let place = |tree: &Trees| tree.below(path).map(|path| Placed { path, taken });
        trees.iter().map(place).collect()
    };
    let any = |placed: &[Option<Placed>]| placed.iter().any(Option::is_some);
    if asked.is_absolute() {
        let placed = below(&tidied(asked), Taken::Absolute);
        return if any(&placed) { Ok(placed) } else { Err(outside()) };
    }
    let from_here = here.map(|here| below(&tidied(&here.join(asked)), Taken::FromHere)).unwrap_or_default();
    let is_bound_to_here =
        matches!(asked.components().next(), Some(Component::CurDir | Component::ParentDir));
    if is_bound_to_here && any(&from_here) {
        return Ok(from_here);
    }
    let there: Vec<Option<Placed>> = from_here
        .into_iter()
        .zip(trees)
        .map(|(placed, tree)| placed.filter(|placed| tree.holds(&placed.path)))
        .collect();
    if any(&there) {
        return Ok(there);
    }
    // `.` is the root of each rule where it names nothing from here.
    let path = if asked == Path::new(".") { RelPath::root() } else { relative(asked)? };
    Ok(trees.iter().map(|_| Some(Placed { path: path.clone(), taken: Taken::BelowRoots })).collect())
}

fn relative(asked: &Path) -> Result<RelPath, ExplainError> {
    let tidy: PathBuf = asked.components().filter(|part| *part != Component::CurDir).collect();
    RelPath::parse(path_bytes(&tidy))
        .map_err(|source| ExplainError::Path { path: asked.to_path_buf(), source })
}

impl Trees {
    fn of(rule: &Rule) -> Self {
        let mut trees = Self { paths: Vec::new(), roots: Vec::new() };
        for location in [&rule.source, &rule.destination] {
            let Some(written) = root_path(location) else { continue };
            trees.roots.extend(open_root(&written).ok().map(|(directory, _)| directory));
            trees.paths.extend(real_path(&written).ok());
            trees.paths.push(tidied(&written));
        }
        trees
    }

    /// The path below the root that holds it.
    fn below(&self, path: &Path) -> Option<RelPath> {
        let below = self.paths.iter().find_map(|root| path.strip_prefix(root).ok())?;
        RelPath::parse(path_bytes(below)).ok()
    }

    /// Whether either tree has something there.
    fn holds(&self, path: &RelPath) -> bool {
        let Some(parent) = path.parent() else { return true };
        let found = |root: &Dir| root.open_below(&parent)?.find(path.name());
        self.roots.iter().any(|root| matches!(found(root), Ok(Some(_))))
    }
}

/// The absolute path that a location stands for now, where it stands for one.
pub(super) fn root_path(location: &Location) -> Option<PathBuf> {
    locate(location).ok()
}

/// An absolute path without `.`, and with each `..` taken back.
fn tidied(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                tidy.pop();
            }
            part => tidy.push(part),
        }
    }
    tidy
}
