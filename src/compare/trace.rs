//! One path on its way down both trees: what stands there, and where the march turns away from it, and why.
//!
//! In come the terms of a march and a path; out goes a [`Trace`]. It asks what the march asks, in the same order and by the same code, of the
//! directories on the way alone. What two entries that are compared come to is the march's own to say.

use std::io;

use crate::platform::{Attributes as _, Dir};
use crate::scan::{
    Cause, Explanation, Gate, Judgement, Listing, Predicate, Spelling, ignore_files, is_hidden_in_source,
    is_reserved_at_root, marker,
};
use crate::value::{Kind, Meta, RelPath};

use super::enter::is_foreign;
use super::merge::is_mount;
use super::metadata::Preserved;
use super::sides::Sides;
use super::{Side, Terms};

/// What a march makes of one path, before anything is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// What the source has there.
    pub source: Look,
    /// What the destination has there.
    pub destination: Look,
    /// The path at which it was decided: the path itself, or a directory above it.
    pub at: RelPath,
    /// What was decided there.
    pub ruling: Ruling,
}

/// What one side has under a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    /// This.
    There(Meta),
    /// Nothing.
    Absent,
    /// It could not be looked at.
    Unread(String),
}

impl Look {
    /// Its metadata, where something is there.
    #[must_use]
    pub fn meta(&self) -> Option<&Meta> {
        match self {
            Self::There(meta) => Some(meta),
            Self::Absent | Self::Unread(_) => None,
        }
    }
}

/// Why the march goes on with a path, or does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// The filter has spoken.
    Judged {
        /// What it says.
        judgement: Judgement,
        /// What decided.
        cause: Cause,
        /// Where an ignore file or a marker decided: that file.
        file: Option<Written>,
    },
    /// A name that belongs to Twinlane or to the system, at the root of either side.
    Reserved,
    /// The name of a stage file, or the lock or unfinished work of a copied `.twinlane`.
    Unfinished,
    /// Its kind is not kept: `preserve.symlinks`, `preserve.special`.
    LeftOut(Kind),
    /// A mount point of the source that `one_file_system` does not enter.
    MountPoint,
    /// Another rule's destination.
    Foreign,
    /// What decides could not be read.
    Unread(Side, String),
}

/// A file of a tree that takes part in the filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Where it is, below its root.
    pub path: RelPath,
    /// The deciding line without its end; empty for a marker.
    pub text: Vec<u8>,
}

/// Follows a path. Where neither side has it, it is judged as an entry of the `imagined` kind, and size and time are not asked.
#[must_use]
pub fn trace(terms: &Terms<'_>, path: &RelPath, imagined: Kind) -> Trace {
    let source = look(Some(terms.source), path);
    let destination = look(terms.destination, path);
    let spelling: Spelling = terms.place.case.into();
    let mut walk = Walk { terms, spelling, preserved: Preserved::new(terms), gates: Vec::new() };
    let (at, ruling) = match walk.follow(path, imagined) {
        Ok(selected) => (path.clone(), selected),
        Err(Stop(stop)) => *stop,
    };
    Trace { source, destination, at, ruling }
}

fn look(root: Option<&Dir>, path: &RelPath) -> Look {
    let Some(root) = root else { return Look::Absent };
    match find(root, path) {
        Ok(Some(meta)) => Look::There(meta),
        Ok(None) => Look::Absent,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Look::Absent,
        Err(error) => Look::Unread(error.to_string()),
    }
}

/// Goes down name by name: what is no directory, a symlink too, has nothing below it.
fn find(root: &Dir, path: &RelPath) -> io::Result<Option<Meta>> {
    let mut directory = root.try_clone()?;
    let Some(parent) = path.parent() else { return directory.meta().map(Some) };
    for name in parent.components() {
        match directory.find(name)? {
            Some(meta) if meta.kind == Kind::Directory => directory = directory.open_dir(name)?,
            _ => return Ok(None),
        }
    }
    directory.find(path.name())
}

/// Where the march turns away.
struct Stop(Box<(RelPath, Ruling)>);

impl Stop {
    fn new(path: RelPath, ruling: Ruling) -> Self {
        Self(Box::new((path, ruling)))
    }
}

struct Walk<'a> {
    terms: &'a Terms<'a>,
    spelling: Spelling,
    preserved: Preserved,
    /// For each directory on the way, the side that its filter was read from.
    gates: Vec<Option<Side>>,
}

/// A directory on the way, on the sides that have it.
struct Floor {
    path: RelPath,
    sides: Sides<Option<Opened>>,
    gate: Gate,
}

struct Opened {
    directory: Dir,
    meta: Meta,
    listing: Listing,
}

impl Walk<'_> {
    fn follow(&mut self, path: &RelPath, imagined: Kind) -> Result<Ruling, Stop> {
        let mut floor = self.root()?;
        let mut last = Ruling::Judged { judgement: Judgement::Selected, cause: Cause::Nothing, file: None };
        let depth = path.depth();
        for (index, name) in path.components().enumerate() {
            let here = floor.path.join(name);
            let is_end = index + 1 == depth;
            let kind = if is_end { imagined } else { Kind::Directory };
            let (explanation, metas) = judge(&floor, &here, name, kind)?;
            last = self.ruling(&here, explanation);
            let meta = metas.source.or(metas.destination);
            let is_directory = [metas.source, metas.destination]
                .into_iter()
                .flatten()
                .any(|meta| meta.kind == Kind::Directory);
            if explanation.judgement == Judgement::Excluded {
                return Err(Stop::new(here, last));
            }
            if explanation.judgement == Judgement::Selected
                && let Some(meta) = meta.filter(|meta| !self.preserved.keeps(meta.kind))
            {
                return Err(Stop::new(here, Ruling::LeftOut(meta.kind)));
            }
            if is_end && !is_directory {
                break;
            }
            let above = floor.sides.source.as_ref().map(|opened| opened.meta);
            let is_outside = metas.source.is_some_and(|meta| {
                self.terms.filter.select().one_file_system
                    && meta.kind == Kind::Directory
                    && is_mount(&meta, above.as_ref())
            });
            if is_outside && is_end {
                break;
            }
            if is_outside {
                return Err(Stop::new(here, Ruling::MountPoint));
            }
            floor = self.enter(&floor, here, name, metas)?;
        }
        Ok(last)
    }

    fn root(&mut self) -> Result<Floor, Stop> {
        let path = RelPath::root();
        let open = |side: Side, root: &Dir| {
            let opened = || -> io::Result<Dir> { root.try_clone() };
            self.opened(opened(), &path).map_err(|message| unread(&path, side, message))
        };
        let source = open(Side::Source, self.terms.source)?;
        let destination =
            self.terms.destination.map(|root| open(Side::Destination, root)).transpose()?.flatten();
        let Some(from) = &source else {
            return Err(unread(&path, Side::Source, "the directory is gone".to_owned()));
        };
        let gate = Gate::root(self.terms.filter, &from.directory, &from.listing, self.spelling)
            .map_err(|error| unread(&path, Side::Source, error.to_string()))?;
        self.gates.push(Some(Side::Source));
        Ok(Floor { path, sides: Sides { source, destination }, gate })
    }

    /// An opened directory with its names; `None` where it is gone.
    fn opened(&self, directory: io::Result<Dir>, path: &RelPath) -> Result<Option<Opened>, String> {
        let directory = match directory {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            opened => opened.map_err(|error| error.to_string())?,
        };
        let meta = directory.meta().map_err(|error| error.to_string())?;
        let skip = |name: &[u8]| path.is_root() && is_reserved_at_root(name);
        let listing = Listing::read(&directory, self.spelling, skip).map_err(|error| error.to_string())?;
        Ok(Some(Opened { directory, meta, listing }))
    }

    /// The directory of that name, and whether the march goes on into it.
    fn enter(
        &mut self,
        above: &Floor,
        path: RelPath,
        name: &[u8],
        metas: Sides<Option<Meta>>,
    ) -> Result<Floor, Stop> {
        let open = |side: Side, opened: &Option<Opened>, meta: Option<Meta>| match (opened, meta) {
            (Some(opened), Some(meta)) if meta.kind == Kind::Directory => self
                .opened(opened.directory.open_dir(name), &path)
                .map_err(|message| unread(&path, side, message)),
            _ => Ok(None),
        };
        let sides = Sides {
            source: open(Side::Source, &above.sides.source, metas.source)?,
            destination: open(Side::Destination, &above.sides.destination, metas.destination)?,
        };
        let side = if sides.source.is_some() { Side::Source } else { Side::Destination };
        let Some(from) = sides.source.as_ref().or(sides.destination.as_ref()) else {
            self.gates.push(None);
            return Ok(Floor { gate: above.gate.enter_absent(name), path, sides });
        };
        let gate = above
            .gate
            .enter(self.terms.filter, name, &from.directory, &from.listing, self.spelling)
            .map_err(|error| unread(&path, side, error.to_string()))?;
        if let Some(destination) = &sides.destination
            && is_foreign(
                (&destination.directory, &destination.listing),
                sides.source.as_ref().map(|opened| &opened.directory),
                self.spelling,
            )
        {
            return Err(Stop::new(path, Ruling::Foreign));
        }
        if gate.excludes_all() {
            let name = marker(self.terms.filter, &from.listing, self.spelling).unwrap_or_default();
            let file = Written { path: path.join(name.as_bytes()), text: Vec::new() };
            let ruling = Ruling::Judged {
                judgement: Judgement::Excluded,
                cause: Cause::Select(Predicate::ExcludeIfPresent),
                file: Some(file),
            };
            return Err(Stop::new(path, ruling));
        }
        self.gates.push(Some(side));
        Ok(Floor { path, sides, gate })
    }

    /// The filter's word, with the line of an ignore file as it is written.
    fn ruling(&self, here: &RelPath, explanation: Explanation) -> Ruling {
        let Explanation { judgement, cause } = explanation;
        let file = match cause {
            Cause::IgnoreLine { directory, file, line, .. } => self.line(here, directory, file, line),
            _ => None,
        };
        Ruling::Judged { judgement, cause, file }
    }

    fn line(&self, here: &RelPath, directory: usize, file: usize, line: usize) -> Option<Written> {
        let side = self.gates.get(directory).copied().flatten()?;
        let root = match side {
            Side::Source => self.terms.source,
            Side::Destination => self.terms.destination?,
        };
        let holder = here.components().take(directory).fold(RelPath::root(), |path, name| path.join(name));
        let opened = self.opened(root.open_below(&holder), &holder).ok()??;
        let files =
            ignore_files(self.terms.filter, &opened.directory, &opened.listing, self.spelling).ok()?;
        let (name, text) = files.into_iter().nth(file)?;
        let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&text);
        let text = text.split(|&byte| byte == b'\n').nth(line)?;
        let text = text.strip_suffix(b"\r").unwrap_or(text).to_vec();
        Some(Written { path: holder.join(name.as_bytes()), text })
    }
}

fn unread(path: &RelPath, side: Side, message: String) -> Stop {
    Stop::new(path.clone(), Ruling::Unread(side, message))
}

/// One name of a directory, as the march judges it.
fn judge(
    floor: &Floor,
    here: &RelPath,
    name: &[u8],
    imagined: Kind,
) -> Result<(Explanation, Sides<Option<Meta>>), Stop> {
    if floor.path.is_root() && is_reserved_at_root(name) {
        return Err(Stop::new(here.clone(), Ruling::Reserved));
    }
    if is_hidden_in_source(floor.path.name(), name) {
        return Err(Stop::new(here.clone(), Ruling::Unfinished));
    }
    let find = |side: Side, opened: &Option<Opened>| match opened {
        None => Ok(None),
        Some(opened) => opened.directory.find(name).map_err(|error| unread(here, side, error.to_string())),
    };
    let metas = Sides {
        source: find(Side::Source, &floor.sides.source)?,
        destination: find(Side::Destination, &floor.sides.destination)?,
    };
    let explanation = match metas.source.or(metas.destination) {
        Some(meta) => floor.gate.explain(name, &meta),
        None => floor.gate.explain_name(name, imagined),
    };
    Ok((explanation, metas))
}
