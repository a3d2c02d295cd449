//! The names of one directory, sorted, in one arena.
//!
//! Eight bytes and the name itself for each, so that a directory of a million names takes some twenty megabytes.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::io;
use std::ops::Range;

use crate::platform::Dir;
use crate::value::Case;

/// How names of a directory are told apart and put in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// By their bytes.
    Exact,
    /// By their lower-case form first, so that names which differ by case alone stand next to each other.
    Folded,
}

impl From<Case> for Spelling {
    fn from(case: Case) -> Self {
        match case {
            Case::Sensitive => Self::Exact,
            Case::Insensitive => Self::Folded,
        }
    }
}

/// Why a directory could not be listed.
#[derive(Debug, thiserror::Error)]
pub enum ListingError {
    /// The system refused, at the beginning or in the middle.
    #[error("cannot list the directory: {0}")]
    System(#[from] io::Error),
    /// Its names take more than 4 GiB, or one of them more than 64 KiB.
    #[error("the directory holds more names than can be listed")]
    TooLarge,
}

/// Where one name lies in the arena.
#[derive(Clone, Copy, Debug)]
struct Slot {
    start: u32,
    /// Length of the name.
    name: u16,
    /// Length of the key that follows it; 0 where the name is its own key.
    key: u16,
}

/// The sorted names of one directory.
#[derive(Debug, Default)]
pub struct Listing {
    arena: Vec<u8>,
    slots: Vec<Slot>,
}

impl Listing {
    /// Lists a directory without the names that `skip` says yes to.
    ///
    /// # Errors
    /// See [`ListingError`]; a part of a listing is never returned.
    pub fn read(
        directory: &Dir,
        spelling: Spelling,
        mut skip: impl FnMut(&[u8]) -> bool,
    ) -> Result<Self, ListingError> {
        let mut listing = Self::default();
        let mut fits = true;
        directory.list(|listed| {
            if fits && !skip(listed.name) {
                fits = listing.push(listed.name, spelling);
            }
        })?;
        if !fits {
            return Err(ListingError::TooLarge);
        }
        listing.sort();
        Ok(listing)
    }

    /// A listing of names that are known already, each with the name that it is told apart by.
    ///
    /// # Errors
    /// [`ListingError::TooLarge`].
    pub fn of<'n>(
        names: impl IntoIterator<Item = (&'n [u8], &'n [u8])>,
        spelling: Spelling,
    ) -> Result<Self, ListingError> {
        let mut listing = Self::default();
        for (name, called) in names {
            if !listing.push_called(name, called, spelling) {
                return Err(ListingError::TooLarge);
            }
        }
        listing.sort();
        Ok(listing)
    }

    fn push(&mut self, name: &[u8], spelling: Spelling) -> bool {
        self.push_called(name, name, spelling)
    }

    fn push_called(&mut self, name: &[u8], called: &[u8], spelling: Spelling) -> bool {
        let key = match spelling {
            Spelling::Exact => Cow::Borrowed(called),
            Spelling::Folded => folded(called),
        };
        let key: &[u8] = if *key == *name { b"" } else { &key };
        let (Ok(start), Ok(name_bytes), Ok(key_bytes)) =
            (u32::try_from(self.arena.len()), u16::try_from(name.len()), u16::try_from(key.len()))
        else {
            return false;
        };
        self.arena.extend_from_slice(name);
        self.arena.extend_from_slice(key);
        self.slots.push(Slot { start, name: name_bytes, key: key_bytes });
        true
    }

    fn sort(&mut self) {
        let arena = &self.arena;
        self.slots.sort_unstable_by(|a, b| {
            key_in(arena, *a).cmp(key_in(arena, *b)).then_with(|| name_in(arena, *a).cmp(name_in(arena, *b)))
        });
    }

    /// Number of names.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The name at a position, empty beyond the end.
    #[must_use]
    pub fn name(&self, position: usize) -> &[u8] {
        self.slots.get(position).map_or(&[], |slot| name_in(&self.arena, *slot))
    }

    /// What the name at a position is told apart by, empty beyond the end.
    #[must_use]
    pub fn key(&self, position: usize) -> &[u8] {
        self.slots.get(position).map_or(&[], |slot| key_in(&self.arena, *slot))
    }

    /// Whether the listing holds exactly this name.
    #[must_use]
    pub fn contains(&self, name: &[u8], spelling: Spelling) -> bool {
        let key = match spelling {
            Spelling::Exact => Cow::Borrowed(name),
            Spelling::Folded => folded(name),
        };
        let order = |slot: &Slot| {
            key_in(&self.arena, *slot).cmp(&key).then_with(|| name_in(&self.arena, *slot).cmp(name))
        };
        self.slots.binary_search_by(order).is_ok()
    }

    /// The first position within `range` whose key is not below `key`.
    #[must_use]
    pub fn lower_bound(&self, range: Range<usize>, key: &[u8]) -> usize {
        let slots = self.slots.get(range.clone()).unwrap_or_default();
        range.start + slots.partition_point(|slot| key_in(&self.arena, *slot).cmp(key) == Ordering::Less)
    }
}

fn name_in(arena: &[u8], slot: Slot) -> &[u8] {
    let start = slot.start as usize;
    arena.get(start..start + usize::from(slot.name)).unwrap_or_default()
}

fn key_in(arena: &[u8], slot: Slot) -> &[u8] {
    if slot.key == 0 {
        return name_in(arena, slot);
    }
    let start = slot.start as usize + usize::from(slot.name);
    arena.get(start..start + usize::from(slot.key)).unwrap_or_default()
}

/// The lower-case form of a name; of one that is no UTF-8, its ASCII letters only.
fn folded(name: &[u8]) -> Cow<'_, [u8]> {
    match std::str::from_utf8(name) {
        _ if name.is_ascii() && !name.iter().any(u8::is_ascii_uppercase) => Cow::Borrowed(name),
        Ok(text) => Cow::Owned(text.to_lowercase().into_bytes()),
        Err(_) => Cow::Owned(name.to_ascii_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::open_root;

    fn listing(names: &[&[u8]], spelling: Spelling) -> Listing {
        let mut listing = Listing::default();
        for name in names {
            assert!(listing.push(name, spelling));
        }
        listing.sort();
        listing
    }

    fn names(listing: &Listing) -> Vec<&[u8]> {
        (0..listing.len()).map(|position| listing.name(position)).collect()
    }

    #[test]
    fn bc_22_and_23_any_name_is_listed_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let expected: [&[u8]; 6] = [b" lead", b"*", b"--delete", b"a\nb", b"a\xffb", b"skip"];
        for name in expected {
            use std::os::unix::ffi::OsStrExt as _;
            std::fs::write(base.join(std::ffi::OsStr::from_bytes(name)), "").unwrap();
        }
        let (directory, _) = open_root(&base).unwrap();
        let listing = Listing::read(&directory, Spelling::Exact, |name| name == b"skip").unwrap();
        assert_eq!(names(&listing), expected[..5]);
        assert!(listing.contains(b"a\xffb", Spelling::Exact));
        assert!(!listing.contains(b"skip", Spelling::Exact));
    }

    #[test]
    fn folded_names_stand_together_and_keep_their_spelling() {
        let listing = listing(&[b"b", b"FOO", b"foo", b"Foo", "ÄH".as_bytes(), b"a\xffB"], Spelling::Folded);
        assert_eq!(names(&listing), [&b"a\xffB"[..], b"b", b"FOO", b"Foo", b"foo", "ÄH".as_bytes()]);
        assert_eq!(listing.key(2), b"foo");
        assert_eq!(listing.key(5), "äh".as_bytes());
        assert_eq!(listing.lower_bound(0..6, b"foo"), 2);
        assert!(listing.contains(b"Foo", Spelling::Folded) && !listing.contains(b"fOO", Spelling::Folded));
    }

    #[test]
    fn bounds_are_found_within_a_range() {
        let listing = listing(&[b"a", b"c", b"e"], Spelling::Exact);
        assert_eq!(listing.lower_bound(0..3, b"b"), 1);
        assert_eq!(listing.lower_bound(2..3, b"b"), 2);
        assert_eq!(listing.lower_bound(0..3, b"f"), 3);
        assert_eq!(listing.name(3), b"");
    }
}
