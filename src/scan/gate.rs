//! The filter as it stands inside one directory, with what that directory holds taken into account.

use std::io;

use super::{Filter, Judgement, Listing, Spelling};
use crate::filter::{DirectoryFacts, Explanation, Level};
use crate::platform::{Access, Dir};
use crate::value::{Kind, Meta, escape};

/// A larger ignore file is an error: nobody writes one, and it would be held in memory.
pub const IGNORE_FILE_BYTES_MAX: usize = 1 << 20;

/// The tag file of the Cache Directory Tagging standard, <https://bford.info/cachedir/>, and how it begins.
const CACHE_TAG: &[u8] = b"CACHEDIR.TAG";
const CACHE_SIGNATURE: &[u8; 43] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// Why the filter of a directory is not known. Nothing in it may be judged then: it might be excluded.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// A file that the filter depends on could not be read.
    #[error("cannot read `{}`, which decides what is left out: {source}", escape(.name))]
    Unreadable {
        /// The file's name.
        name: Box<[u8]>,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// An ignore file above [`IGNORE_FILE_BYTES_MAX`].
    #[error("the ignore file `{}` is larger than 1 MiB", escape(.name))]
    TooLarge {
        /// The file's name.
        name: Box<[u8]>,
    },
}

/// Judges the entries of one directory; cheap to clone and to send.
#[derive(Clone, Debug)]
pub struct Gate {
    level: Level,
    wants_facts: bool,
}

impl Gate {
    /// The gate of the root, from what the root holds.
    ///
    /// # Errors
    /// See [`GateError`].
    pub fn root(
        filter: &std::sync::Arc<Filter>,
        directory: &Dir,
        listing: &Listing,
        spelling: Spelling,
    ) -> Result<Self, GateError> {
        let wants_facts = filter.wants_facts();
        let facts =
            if wants_facts { read(filter, directory, listing, spelling)? } else { DirectoryFacts::default() };
        Ok(Self { level: filter.root(&facts), wants_facts })
    }

    /// The gate of a directory of this one, from what that directory holds.
    ///
    /// # Errors
    /// See [`GateError`].
    pub fn enter(
        &self,
        filter: &Filter,
        name: &[u8],
        directory: &Dir,
        listing: &Listing,
        spelling: Spelling,
    ) -> Result<Self, GateError> {
        let facts = if self.wants_facts {
            read(filter, directory, listing, spelling)?
        } else {
            DirectoryFacts::default()
        };
        Ok(Self { level: self.level.enter(name, &facts), wants_facts: self.wants_facts })
    }

    /// Judges one entry of this directory.
    #[must_use]
    pub fn judge(&self, name: &[u8], meta: &Meta) -> Judgement {
        self.level.judge(name, meta)
    }

    /// The gate of a directory of this one that is not there: nothing in it changes the filter.
    #[must_use]
    pub fn enter_absent(&self, name: &[u8]) -> Self {
        Self { level: self.level.enter(name, &DirectoryFacts::default()), wants_facts: self.wants_facts }
    }

    /// Judges one entry of this directory, and says by what.
    #[must_use]
    pub fn explain(&self, name: &[u8], meta: &Meta) -> Explanation {
        self.level.explain(name, meta)
    }

    /// Judges a name by all but size and time, for an entry that is not there.
    #[must_use]
    pub fn explain_name(&self, name: &[u8], kind: Kind) -> Explanation {
        self.level.explain_name(name, kind)
    }

    /// Whether the patterns alone leave an entry of this directory out, whatever the other predicates say of it.
    #[must_use]
    pub fn is_excluded_by_patterns(&self, name: &[u8], kind: Kind) -> bool {
        self.level.is_excluded_by_patterns(name, kind)
    }

    /// Whether the directory itself and all below it is left out by what it holds (a marker of `exclude_if_present`).
    #[must_use]
    pub fn excludes_all(&self) -> bool {
        self.level.excludes_all()
    }
}

fn read(
    filter: &Filter,
    directory: &Dir,
    listing: &Listing,
    spelling: Spelling,
) -> Result<DirectoryFacts, GateError> {
    let select = filter.select();
    let holds = |name: &[u8]| listing.contains(name, spelling);
    let mut facts = DirectoryFacts {
        ignore_texts: ignore_files(filter, directory, listing, spelling)?
            .into_iter()
            .map(|(_, text)| text)
            .collect(),
        has_marker: marker(filter, listing, spelling).is_some(),
        ..DirectoryFacts::default()
    };
    if select.exclude_caches && holds(CACHE_TAG) {
        let start = read_start(directory, CACHE_TAG, CACHE_SIGNATURE.len())?;
        facts.is_cache = start.is_some_and(|start| start == CACHE_SIGNATURE);
    }
    Ok(facts)
}

/// The name for which `exclude_if_present` leaves a directory out, `None` where it holds none.
#[must_use]
pub fn marker<'f>(filter: &'f Filter, listing: &Listing, spelling: Spelling) -> Option<&'f str> {
    let mut names = filter.select().exclude_if_present.iter().map(String::as_str);
    names.find(|name| listing.contains(name.as_bytes(), spelling))
}

/// The ignore files that a directory holds, names with texts, in the order in which a filter counts them.
///
/// # Errors
/// See [`GateError`].
pub fn ignore_files<'f>(
    filter: &'f Filter,
    directory: &Dir,
    listing: &Listing,
    spelling: Spelling,
) -> Result<Vec<(&'f str, Vec<u8>)>, GateError> {
    let mut files = Vec::new();
    let names = filter.select().ignore_files.iter();
    for name in names.filter(|name| listing.contains(name.as_bytes(), spelling)) {
        // One byte more than allowed tells a file that is too large from one that just fits.
        let bytes = name.as_bytes();
        let Some(text) = read_start(directory, bytes, IGNORE_FILE_BYTES_MAX + 1)? else { continue };
        if text.len() > IGNORE_FILE_BYTES_MAX {
            return Err(GateError::TooLarge { name: bytes.into() });
        }
        files.push((name.as_str(), text));
    }
    Ok(files)
}

/// The first bytes of a regular file; `None` for an entry of another kind (a symlink is not followed), or one that has gone.
fn read_start(directory: &Dir, name: &[u8], bytes_max: usize) -> Result<Option<Vec<u8>>, GateError> {
    use crate::platform::Attributes as _;
    let read = || -> io::Result<Option<Vec<u8>>> {
        let Some(Kind::File) = directory.find(name)?.map(|meta| meta.kind) else { return Ok(None) };
        let file = match directory.open_file(name, Access::Buffered) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let meta = file.meta()?;
        if meta.kind != Kind::File {
            return Ok(None);
        }
        // Read to the end, whatever size is told: pseudo files say 0.
        let mut text = vec![0; bytes_max];
        let length = file.read_at(&mut text, 0)?;
        text.truncate(length);
        text.shrink_to_fit();
        Ok(Some(text))
    };
    read().map_err(|source| GateError::Unreadable { name: name.into(), source })
}
