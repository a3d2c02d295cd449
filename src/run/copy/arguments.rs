//! What a path means by the way it is written: an entry, or the content of a directory.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::platform::{path_bytes, path_from_bytes};
use crate::run::Refusal;
use crate::run::roots::{Root, root_at};
use crate::value::{Kind, Meta};

use super::CopyError;

/// A path of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typed {
    /// As it was typed.
    pub typed: PathBuf,
    /// From the root of the system.
    pub path: PathBuf,
}

impl Typed {
    /// A path, relative ones against `folder`.
    #[must_use]
    pub fn new(typed: PathBuf, folder: &Path) -> Self {
        let path = folder.join(&typed).components().collect();
        Self { typed, path }
    }

    /// Whether it ends in a slash, `.` or `..`: it can only be a directory, and as a source its content is meant.
    #[must_use]
    pub fn is_content(&self) -> bool {
        let bytes = path_bytes(&self.typed);
        matches!(bytes.rsplit(|byte| *byte == b'/').next(), Some(b"" | b"." | b".."))
    }

    /// The directory that holds it, and its name there; `None` for [`Self::is_content`].
    pub(super) fn split(&self) -> Option<(PathBuf, Box<[u8]>)> {
        if self.is_content() {
            return None;
        }
        let bytes = path_bytes(&self.path);
        let at = bytes.iter().rposition(|byte| *byte == b'/')?;
        let (above, name) = (bytes.get(..=at)?, bytes.get(at + 1..)?);
        Some((path_from_bytes(above).components().collect(), name.into()))
    }
}

/// A source that is there.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) typed: PathBuf,
    /// The directory that is marched over: itself for its content, else the one that holds it. Sources of one folder share it.
    pub(super) root: Arc<Root>,
    /// Its name in there, and what it is; `None` for content.
    pub(super) entry: Option<(Box<[u8]>, Meta)>,
}

impl Source {
    /// The directory itself, where it is one.
    pub(super) fn directory(&self) -> Option<&Meta> {
        match &self.entry {
            None => Some(&self.root.meta),
            Some((_, meta)) => Some(meta).filter(|meta| meta.kind == Kind::Directory),
        }
    }
}

/// Finds all sources, or tells all that are not there.
pub(super) fn find(sources: &[Typed]) -> Result<Vec<Source>, CopyError> {
    let mut found = Vec::with_capacity(sources.len());
    let mut missing = Vec::new();
    let mut folders = Folders::default();
    for source in sources {
        match find_one(source, &mut folders)? {
            Some(source) => found.push(source),
            None => missing.push(source.typed.clone()),
        }
    }
    if missing.is_empty() { Ok(found) } else { Err(CopyError::Missing { paths: missing }) }
}

/// Folders that sources were found in: thousands of files of one folder need one handle.
#[derive(Default)]
struct Folders(HashMap<PathBuf, Arc<Root>>);

impl Folders {
    fn open(&mut self, path: PathBuf) -> Result<Arc<Root>, Refusal> {
        if let Some(root) = self.0.get(&path) {
            return Ok(Arc::clone(root));
        }
        let root = Arc::new(root_at("source", &path)?);
        self.0.insert(path, Arc::clone(&root));
        Ok(root)
    }
}

fn find_one(source: &Typed, folders: &mut Folders) -> Result<Option<Source>, CopyError> {
    let typed = source.typed.clone();
    let unusable = |cause: String| CopyError::Unusable { side: "source", path: typed.clone(), cause };
    let Some((folder, name)) = source.split() else {
        return match root_at("source", &source.path) {
            Ok(root) => Ok(Some(Source { typed, root: Arc::new(root), entry: None })),
            Err(Refusal::Missing { .. }) => Ok(None),
            Err(refusal) if is_no_directory(source) => {
                drop(refusal);
                Err(CopyError::NotADirectory { path: typed })
            }
            Err(refusal) => Err(unusable(cause(&refusal))),
        };
    };
    let root = match folders.open(folder) {
        Ok(root) => root,
        Err(Refusal::Missing { .. }) => return Ok(None),
        Err(refusal) => return Err(unusable(cause(&refusal))),
    };
    let meta = root.directory.find(&name).map_err(|error| unusable(error.to_string()))?;
    Ok(meta.map(|meta| Source { typed, root, entry: Some((name, meta)) }))
}

/// Whether what is there without the slash is no directory.
fn is_no_directory(source: &Typed) -> bool {
    let Some(name) = source.path.file_name() else { return false };
    let found = source.path.parent().and_then(|above| {
        let root = root_at("source", above).ok()?;
        root.directory.find(path_bytes(Path::new(name))).ok().flatten()
    });
    found.is_some_and(|meta| !matches!(meta.kind, Kind::Directory | Kind::Symlink))
}

/// The reason alone, where a refusal names its side too.
pub(super) fn cause(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Unusable { cause, .. } => cause.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_a_dot_or_two_mean_the_content() {
        let check = |typed: &str, expected: Option<(&str, &str)>| {
            let split = Typed::new(typed.into(), Path::new("/w")).split();
            let expected = expected.map(|(above, name)| (PathBuf::from(above), name.as_bytes().into()));
            assert_eq!(split, expected, "{typed}");
        };
        check("a", Some(("/w/", "a")));
        check("a/b", Some(("/w/a/", "b")));
        check("/b", Some(("/", "b")));
        check("../b", Some(("/w/../", "b")));
        check("-x", Some(("/w/", "-x")));
        check("...", Some(("/w/", "...")));
        for content in ["a/", "a//", ".", "..", "a/.", "a/..", "/", "./"] {
            check(content, None);
        }
    }
}
