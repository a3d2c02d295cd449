//! Both sides opened and everything asked that can be asked before they are compared. Writes nothing.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::compare::Named;
use crate::filter::Filter;
use crate::job::{Limit, Limits, Location, MinFree, Mode, Require, Rule, Versions};
use crate::platform::{path_bytes, path_from_bytes};
use crate::run::guards::{Step, above, owner};
use crate::run::roots::{Root, Target, root_at, to_make};
use crate::run::{Refusal, Session};
use crate::scan::{OWN_FOLDER, is_reserved_at_root};
use crate::value::{Case, Kind, escape};

use super::arguments::{Source, cause, find};
use super::{CopyError, CopyRequest, Typed};

/// Where one source goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// As typed.
    pub source: PathBuf,
    /// As typed, with the source's name where it gets that.
    pub destination: PathBuf,
    /// Whether it is a directory, or the content of one.
    pub is_directory: bool,
    /// Both, from the root of the system.
    pub absolute: (PathBuf, PathBuf),
}

/// A copy that may begin.
#[derive(Debug)]
pub struct Ready {
    /// Where each source goes.
    pub mapping: Vec<Mapped>,
    /// What is left out and why, a line each.
    pub notes: Vec<String>,
    pub(super) groups: Vec<Group>,
    pub(super) target: Target,
    pub(super) sums: Option<Typed>,
}

/// What one march is about: some entries of one folder, or the content of one.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) source: Arc<Root>,
    /// Sorted; `None` for the content.
    pub(super) names: Option<Vec<Named>>,
    pub(super) rule: Rule,
}

/// Where to, and under which name where that is another one than the source's.
struct Destination {
    target: Target,
    name: Option<Box<[u8]>>,
}

/// Opens both sides, and refuses what cannot be copied.
///
/// # Errors
/// See [`CopyError`].
pub fn prepare_copy(session: &Session<'_>, request: &CopyRequest) -> Result<Ready, CopyError> {
    let sources = find(&request.sources)?;
    let own = sources.iter().find(|source| name_of(source).is_some_and(|name| *name == *OWN_FOLDER));
    if let Some(source) = own {
        return Err(CopyError::OwnFolder { path: source.typed.clone() });
    }
    let Destination { target, name } = destination(&request.destination, &sources)?;
    check_names(&sources, &target)?;
    let steps = above(near(&target));
    for source in &sources {
        check_apart(source, &target, name.as_deref(), &steps)?;
    }
    check_place(&target, &steps).map_err(CopyError::Refused)?;
    check_sums(request.sums.as_ref())?;
    let mapping = sources.iter().map(|source| mapped(source, request, name.as_deref())).collect();
    let notes = left_out(&sources);
    let groups = grouped(sources, request, name.as_deref());
    for group in &groups {
        let spec = group.rule.filter_spec(Case::Sensitive);
        let compiled = Filter::compile(&spec, session.clock.now());
        if let Some(error) = compiled.err().and_then(|errors| errors.into_iter().next()) {
            return Err(CopyError::Pattern { message: error.message });
        }
    }
    Ok(Ready { mapping, notes, groups, target, sums: request.sums.clone() })
}

fn name_of(source: &Source) -> Option<&[u8]> {
    source.entry.as_ref().map(|(name, _)| &**name)
}

/// Which directory is written to.
fn destination(typed: &Typed, sources: &[Source]) -> Result<Destination, CopyError> {
    let path = || typed.typed.clone();
    let unusable = |refusal: &Refusal| match refusal {
        Refusal::Missing { path: folder, .. } => CopyError::NoParent { folder: folder.clone(), path: path() },
        refusal => CopyError::Unusable { side: "destination", path: path(), cause: cause(refusal) },
    };
    let tidy = typed.path.clone();
    let Some((folder, name)) = typed.split() else {
        return match root_at("destination", &typed.path) {
            Ok(root) => Ok(Destination { target: Target::There(root), name: None }),
            Err(Refusal::Missing { .. }) => {
                let target = to_make(tidy.clone(), tidy).map_err(|refusal| unusable(&refusal))?;
                Ok(Destination { target, name: None })
            }
            Err(refusal) => Err(unusable(&refusal)),
        };
    };
    let parent = root_at("destination", &folder).map_err(|refusal| unusable(&refusal))?;
    let found = parent.directory.find(&name).map_err(|error| CopyError::Unusable {
        side: "destination",
        path: path(),
        cause: error.to_string(),
    })?;
    let needs_directory = needs_directory(sources);
    match (found.map(|meta| meta.kind), needs_directory) {
        (Some(Kind::Directory), _) => {
            let root = root_at("destination", &typed.path).map_err(|refusal| unusable(&refusal))?;
            Ok(Destination { target: Target::There(root), name: None })
        }
        (Some(Kind::Symlink), _) => match root_at("destination", &typed.path) {
            Ok(root) => Ok(Destination { target: Target::There(root), name: None }),
            Err(_) if is_symlink(sources) => {
                Ok(Destination { target: Target::There(parent), name: Some(name) })
            }
            Err(_) => Err(CopyError::Symlink { path: path() }),
        },
        (None, Some(_)) => {
            let target = to_make(tidy.clone(), tidy).map_err(|refusal| unusable(&refusal))?;
            Ok(Destination { target, name: None })
        }
        (Some(_), Some(what)) => Err(CopyError::NeedsDirectory { path: path(), what }),
        (_, None) => Ok(Destination { target: Target::There(parent), name: Some(name) }),
    }
}

/// Whether one symlink is copied: as it is not followed itself, it may take another one's place.
fn is_symlink(sources: &[Source]) -> bool {
    match sources {
        [Source { entry: Some((_, meta)), .. }] => meta.kind == Kind::Symlink,
        _ => false,
    }
}

/// Why what is copied needs a directory; `None` for one entry that is none itself.
fn needs_directory(sources: &[Source]) -> Option<&'static str> {
    match sources {
        [Source { entry: None, .. }] => Some("the content of a directory"),
        [source] if source.directory().is_some() => Some("a directory"),
        [_] => None,
        _ => Some("more than one source"),
    }
}

/// Refuses two sources that would get one name in the destination; two contents share what lies at their tops.
fn check_names(sources: &[Source], target: &Target) -> Result<(), CopyError> {
    if sources.len() < 2 {
        return Ok(());
    }
    let mut taken: HashMap<Vec<u8>, &Path> = HashMap::new();
    for source in sources {
        let mut names = Vec::new();
        match name_of(source) {
            Some(name) => names.push(name.to_vec()),
            None => tops(source, |name| names.push(name.to_vec()))?,
        }
        for name in names {
            let key = match target.place().case {
                Case::Sensitive => name.clone(),
                Case::Insensitive => String::from_utf8_lossy(&name).to_lowercase().into_bytes(),
            };
            if let Some(first) = taken.insert(key, &source.typed) {
                let (first, second) = (first.to_path_buf(), source.typed.clone());
                return Err(CopyError::SameName { name: escape(&name), first, second });
            }
        }
    }
    Ok(())
}

/// The names at the top of a content that are copied.
fn tops(source: &Source, mut each: impl FnMut(&[u8])) -> Result<(), CopyError> {
    let listed = source.root.directory.list(|listed| {
        if !is_reserved_at_root(listed.name) {
            each(listed.name);
        }
    });
    listed.map_err(|error| CopyError::Unusable {
        side: "source",
        path: source.typed.clone(),
        cause: error.to_string(),
    })
}

/// The destination, or the directory that it is going to be made in.
fn near(target: &Target) -> &Root {
    match target {
        Target::There(root) => root,
        Target::ToMake { parent, .. } => parent,
    }
}

/// Refuses a source that is its own destination, or holds it.
fn check_apart(
    source: &Source,
    target: &Target,
    renamed: Option<&[u8]>,
    steps: &[Step],
) -> Result<(), CopyError> {
    let (near, is_there) = (near(target), target.root().is_some());
    let keeps_name = match (&source.entry, renamed) {
        (Some((name, _)), Some(new)) => **name == *new,
        _ => true,
    };
    if is_there && keeps_name && near.meta.same_inode(&source.root.meta) {
        return Err(CopyError::Itself { path: source.typed.clone() });
    }
    let Some(directory) = source.directory() else { return Ok(()) };
    let holds = near.meta.same_inode(directory) || steps.iter().any(|step| step.meta.same_inode(directory));
    if holds {
        return Err(CopyError::Refused(Refusal::Nested {
            inner: "destination",
            inner_path: target.shown(),
            outer: "source",
            outer_path: source.typed.clone(),
        }));
    }
    Ok(())
}

/// Refuses a destination that a rule keeps, or that cannot be written.
fn check_place(target: &Target, steps: &[Step]) -> Result<(), Refusal> {
    let near = near(target);
    let itself = (near.real.as_path(), &near.directory);
    let candidates =
        std::iter::once(itself).chain(steps.iter().map(|step| (step.path.as_path(), &step.directory)));
    for (path, directory) in candidates {
        if let Some((job, rule)) = owner(directory) {
            return Err(Refusal::KeptByRule { path: target.real(), above: path.to_path_buf(), job, rule });
        }
    }
    if target.place().read_only {
        return Err(Refusal::ReadOnly { path: target.shown() });
    }
    Ok(())
}

fn check_sums(sums: Option<&Typed>) -> Result<(), CopyError> {
    let Some(sums) = sums else { return Ok(()) };
    let path = || sums.typed.clone();
    let unusable =
        |cause: String| CopyError::Unusable { side: "the file for the digests", path: path(), cause };
    let Some((folder, name)) = sums.split() else {
        return Err(unusable("it is a directory".to_owned()));
    };
    let folder = match root_at("destination", &folder) {
        Err(Refusal::Missing { path: folder, .. }) => {
            return Err(CopyError::NoParent { folder, path: path() });
        }
        folder => folder.map_err(|refusal| unusable(cause(&refusal)))?,
    };
    match folder.directory.find(&name) {
        Ok(None) => Ok(()),
        Ok(Some(_)) => Err(CopyError::SumsExist { path: path() }),
        Err(error) => Err(unusable(error.to_string())),
    }
}

fn mapped(source: &Source, request: &CopyRequest, renamed: Option<&[u8]>) -> Mapped {
    let into = &request.destination;
    let below = |path: &Path| match (renamed, name_of(source)) {
        (None, Some(name)) => path.join(path_from_bytes(name)),
        _ => path.to_path_buf(),
    };
    let real = match name_of(source) {
        Some(name) => source.root.real.join(path_from_bytes(name)),
        None => source.root.real.clone(),
    };
    Mapped {
        source: source.typed.clone(),
        destination: below(&into.typed),
        is_directory: source.directory().is_some(),
        absolute: (real, below(&into.path)),
    }
}

/// What lies at the top of a content and is not part of it, a line a source.
fn left_out(sources: &[Source]) -> Vec<String> {
    let mut lines = Vec::new();
    for source in sources.iter().filter(|source| source.entry.is_none()) {
        let mut names: Vec<String> = Vec::new();
        // What cannot be listed is told when it is compared.
        let _ = source.root.directory.list(|listed| {
            if is_reserved_at_root(listed.name) {
                names.push(escape(listed.name));
            }
        });
        names.sort();
        if !names.is_empty() {
            lines.push(format!(
                "left out of `{}`: {} (what Twinlane or the system keeps at the top of a disk; without the slash, all of it is copied)",
                source.typed.display(),
                names.join(", ")
            ));
        }
    }
    lines
}

/// Sources of one folder go together.
fn grouped(sources: Vec<Source>, request: &CopyRequest, renamed: Option<&[u8]>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for Source { root, entry, typed } in sources {
        let wanted = entry.map(|(name, _)| Named {
            destination: renamed.map_or_else(|| name.clone(), Into::into),
            source: name,
        });
        let rule = || rule(request, &typed, &root);
        match wanted {
            None => groups.push(Group { names: None, rule: rule(), source: root }),
            Some(wanted) => {
                let shared = groups.iter_mut().find_map(|group| {
                    group.names.as_mut().filter(|_| group.source.meta.same_inode(&root.meta))
                });
                match shared {
                    Some(names) => names.push(wanted),
                    None => groups.push(Group { names: Some(vec![wanted]), rule: rule(), source: root }),
                }
            }
        }
    }
    for names in groups.iter_mut().filter_map(|group| group.names.as_mut()) {
        names.sort();
    }
    groups
}

/// A backup that keeps no versions and knows no limits.
fn rule(request: &CopyRequest, typed: &Path, source: &Root) -> Rule {
    let name = escape(path_bytes(typed));
    let to = Location::Path(request.destination.path.clone());
    Rule {
        exclude: request.exclude.clone(),
        overwrite: request.overwrite,
        versions: Versions::None,
        limits: Limits { remove: Limit::None, replace: Limit::None, min_free: MinFree::None },
        require: Require { source_nonempty: false, ..Require::default() },
        verify: request.verify,
        ..Rule::new(&name, Mode::Backup, Location::Path(source.written.clone()), to)
    }
}
