//! New entries under stage names: made, and taken away again unless they got their real name.

use std::io;

use crate::plan::DirectoryId;
use crate::platform::{Dir, File};
use crate::value::StageName;

use super::site::Site;
use super::trouble::{Tried as _, Trouble};

/// Names that are tried before giving up; numbers are unique in a run, so one that is taken belongs to somebody else.
const TRIES_MAX: u32 = 100;

/// What waits under a stage name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Directory,
    Other,
}

/// An entry under a stage name; dropped, it is taken away. It holds no handle, so that a batch of them needs none.
pub(super) struct Stage<'s> {
    site: &'s Site<'s>,
    directory: DirectoryId,
    name: Box<[u8]>,
    shape: Shape,
    armed: bool,
}

impl<'s> Stage<'s> {
    /// Makes an empty file for this user alone.
    pub(super) fn file(
        site: &'s Site<'s>,
        id: DirectoryId,
        directory: &Dir,
    ) -> Result<(Self, File), Trouble> {
        Self::make(site, id, Shape::Other, |name| directory.create_file(name)).tried("make a stage file")
    }

    /// Makes an empty directory for this user alone.
    pub(super) fn directory(site: &'s Site<'s>, id: DirectoryId, directory: &Dir) -> Result<Self, Trouble> {
        let made = Self::make(site, id, Shape::Directory, |name| directory.make_dir(name, 0o700));
        Ok(made.tried("make a stage directory")?.0)
    }

    /// Makes an entry that is neither, by `call`.
    pub(super) fn other(
        site: &'s Site<'s>,
        id: DirectoryId,
        call: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<Self> {
        Ok(Self::make(site, id, Shape::Other, call)?.0)
    }

    fn make<T>(
        site: &'s Site<'s>,
        directory: DirectoryId,
        shape: Shape,
        mut call: impl FnMut(&[u8]) -> io::Result<T>,
    ) -> io::Result<(Self, T)> {
        let mut tries = 0;
        loop {
            let name = StageName { run: site.terms.run, number: site.next_stage() }.to_string();
            match call(name.as_bytes()) {
                Ok(made) => {
                    let name = name.into_bytes().into();
                    return Ok((Self { site, directory, name, shape, armed: true }, made));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < TRIES_MAX => tries += 1,
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn name(&self) -> &[u8] {
        &self.name
    }

    /// The name stands for nothing of this run any more.
    pub(super) fn disarm(mut self) {
        self.armed = false;
    }

    /// The name cannot be cleared now (it may hold what was displaced): the run's marker has to stay.
    pub(super) fn leave(mut self) {
        self.armed = false;
        self.site.leave_stage();
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        if !self.armed {
            return;
        }
        let removed = self.site.trees.destination(self.directory).map(|directory| match self.shape {
            Shape::Directory => directory.remove_dir(&self.name),
            Shape::Other => directory.remove_file(&self.name),
        });
        match removed {
            Ok(Ok(())) => {}
            Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => {}
            _ => self.site.leave_stage(),
        }
    }
}
