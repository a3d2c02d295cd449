//! What a place does with data, by trying: for people who ask, not for runs.

use std::io;

use super::probe::{Names, granted};
use super::tree;
use crate::platform::{Access, Alignment, Attributes as _, Dir, File, Pool};
use crate::value::RunId;

/// What was found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Two files may share blocks (`FICLONE`).
    pub reflink: bool,
    /// What direct I/O asks for; `None` where it is refused.
    pub direct: Option<Alignment>,
    /// POSIX ACLs.
    pub acls: bool,
}

const FIRST: u64 = 8;
const SECOND: u64 = 9;
/// One block of every file system that can share them.
const BLOCK_BYTES: usize = 64 << 10;
/// Where a file system does not say what direct I/O asks for, this is enough (`open(2)`).
const USUAL: Alignment = Alignment { memory_bytes: 4096, offset_bytes: 4096 };

/// An ACL that grants one more user reading: version 2, then tag, permissions and id of each line (`linux/posix_acl_xattr.h`).
const ACL: [u8; 44] = [
    2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 4, 0, 49, 212, 0, 0, 4, 0, 4, 0, 255, 255, 255, 255,
    16, 0, 4, 0, 255, 255, 255, 255, 32, 0, 0, 0, 255, 255, 255, 255,
];

/// Tries a directory out with stage files of `run`, and removes them again.
///
/// # Errors
/// Where files can be neither made nor written; what the place refuses is no error.
pub fn try_data(directory: &Dir, run: RunId) -> io::Result<Trial> {
    let names = Names { run };
    let tried = tried(directory, &names);
    let cleared =
        [FIRST, SECOND].into_iter().try_for_each(|number| tree::remove(directory, &names.name(number)));
    let tried = tried?;
    cleared.map(|()| tried)
}

fn tried(directory: &Dir, names: &Names) -> io::Result<Trial> {
    let (first, second) = (names.name(FIRST), names.name(SECOND));
    let file = directory.create_file(&first)?;
    file.write_at(&vec![1; BLOCK_BYTES], 0)?;
    file.sync()?;
    let twin = directory.create_file(&second)?;
    Ok(Trial {
        reflink: granted(twin.clone_from(&file))?.is_some(),
        direct: direct(directory, &first, &file)?,
        acls: granted(file.set_xattr(b"system.posix_acl_access", &ACL))?.is_some(),
    })
}

/// Whether one block comes back past the page cache.
fn direct(directory: &Dir, name: &[u8], file: &File) -> io::Result<Option<Alignment>> {
    let alignment = file.alignment()?.unwrap_or(USUAL);
    if alignment.offset_bytes == 0 {
        return Ok(None);
    }
    let Some(file) = granted(directory.open_file(name, Access::Direct))? else { return Ok(None) };
    let mut lease = Pool::new(BLOCK_BYTES, 1)?.lease();
    let read = granted(file.read_at(&mut lease, 0))?;
    Ok(read.filter(|bytes| *bytes == BLOCK_BYTES).map(|_| alignment))
}
