//! What a place holds, by trying it out with stage files of the run's own; once, in a first run.

use std::io;

use super::identity::Features;
use super::{Store, StoreError, failed, optional, tree};
use crate::platform::{Access, Attributes as _, Dir, Environment, RenameMode};
use crate::value::{Kind, Place, RunId, StageName, Stamp};

/// What was found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Times are kept in steps of this many nanoseconds.
    pub grain_ns: u64,
    /// Earliest and latest time that come back as they were set, among those tried.
    pub time_range: (Stamp, Stamp),
    /// What else the place holds.
    pub features: Features,
}

impl Probe {
    /// Replaces what is assumed of a place by what was found out there.
    pub fn mend(&self, place: &mut Place) {
        place.grain_ns = self.grain_ns;
        place.time_range = self.time_range;
        self.features.mend(place);
    }
}

/// Steps in which file systems keep times: ext4, xfs and btrfs 1 ns, NTFS 100 ns, UDF 1 µs, some NFS servers 1 ms, exFAT 10 ms, ext3, HFS+ and
/// SFTP 1 s, FAT 2 s.
const GRAINS_NS: [u64; 7] = [1, 100, 1_000, 1_000_000, 10_000_000, 1_000_000_000, 2_000_000_000];

/// An odd second of 2021, and nanoseconds that are a multiple of no grain but the finest: it tells every grain apart.
const ODD: Stamp = Stamp { seconds: 1_609_459_201, nanos: 987_654_321 };

/// Earlier times that a place may still hold, latest first: 1980 (FAT), 1970, 1901 (32 bits), 1601 (NTFS), year 1.
const EARLIER: [i64; 5] = [315_619_200, 86_400, -2_147_483_648, -11_644_473_600, -62_135_596_800];

/// Later times, earliest first: the ends of 31 and 32 bits of seconds, of 2107 (FAT), of 34 bits from 1901 on (ext4), of xfs's bigtime, of
/// 64 bits of nanoseconds, of the year 9999.
const LATER: [i64; 8] = [
    2_147_483_647,
    2_147_483_648,
    4_294_967_295,
    4_354_732_800,
    9_223_372_036,
    15_032_385_535,
    16_299_260_424,
    253_402_300_799,
];

/// Stage names of one probe; numbers from the far end, which no copy reaches.
pub(super) struct Names {
    pub(super) run: RunId,
}

impl Names {
    pub(super) fn name(&self, number: u64) -> Vec<u8> {
        StageName { run: self.run, number: u64::MAX - number }.to_string().into_bytes()
    }
}

const FILE: u64 = 0;
const OTHER: u64 = 1;
const LINK: u64 = 2;
const SYMLINK: u64 = 3;

/// Tries a directory out with stage files of `run`, and removes them again. `file_system` is the place's type as it is known.
///
/// # Errors
/// Where a file can be neither made nor looked at, and where the place fails at what it might be able to: what is remembered for good
/// must not hang on a bad moment. What it refuses is no error.
pub fn probe(directory: &Dir, run: RunId, file_system: &str) -> io::Result<Probe> {
    let names = Names { run };
    let found = try_out(directory, &names, file_system);
    let cleared = [FILE, OTHER, LINK, SYMLINK]
        .into_iter()
        .try_for_each(|number| tree::remove(directory, &names.name(number)));
    let found = found?;
    cleared.map(|()| found)
}

impl Store {
    /// Tries the destination's place out, in `.twinlane` itself; what a killed probe leaves there, [`Store::recover`] clears.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn probe(&self, place: &Place, run: RunId) -> Result<Probe, StoreError> {
        probe(&self.home, run, &place.file_system).map_err(failed("try out", b""))
    }
}

fn try_out(directory: &Dir, names: &Names, file_system: &str) -> io::Result<Probe> {
    let (file, other) = (names.name(FILE), names.name(OTHER));
    drop(directory.create_file(&file)?);
    drop(directory.create_file(&other)?);
    let grain_ns = grain(directory, &file)?;
    Ok(Probe {
        grain_ns,
        time_range: range(directory, &file, grain_ns)?,
        features: Features {
            file_system: file_system.to_owned(),
            // Nobody but this run makes such a name, and FUSE may number the inode of each spelling anew.
            ignores_case: directory.find(&file.to_ascii_uppercase())?.is_some(),
            owners: holds_owners(directory, &file)?,
            xattrs: holds_xattrs(directory, &file)?,
            hard_links: holds_links(directory, &file, &names.name(LINK))?,
            symlinks: holds_symlinks(directory, &names.name(SYMLINK))?,
            exchange: exchanges(directory, &file, &other)?,
        },
    })
}

/// What a place that can do something gave; `None` where it says that it cannot. A failure (a bad block, no room, a lost connection) says
/// nothing about what the place can.
pub(super) fn granted<T>(answer: io::Result<T>) -> io::Result<Option<T>> {
    use io::ErrorKind::{CrossesDevices, InvalidInput, PermissionDenied, TooManyLinks, Unsupported};
    match answer {
        Ok(given) => Ok(Some(given)),
        Err(error)
            if matches!(
                error.kind(),
                CrossesDevices | InvalidInput | PermissionDenied | TooManyLinks | Unsupported
            ) || matches!(error.raw_os_error(), Some(ERANGE | EOVERFLOW)) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// A time that the place has no number for (`asm-generic/errno-base.h`, `errno.h`): neither has a kind in the standard library.
const ERANGE: i32 = 34;
const EOVERFLOW: i32 = 75;

/// What the place makes of a time: set through one handle, read back by name after that was closed. `None` where it is refused.
fn round_trip(directory: &Dir, name: &[u8], time: Stamp) -> io::Result<Option<Stamp>> {
    let file = directory.open_file(name, Access::Buffered)?;
    if granted(file.set_modified(time))?.is_none() {
        return Ok(None);
    }
    drop(file);
    Ok(Some(directory.stat(name)?.modified))
}

/// The finest grain that explains what came back; 2 s where none does.
fn grain(directory: &Dir, name: &[u8]) -> io::Result<u64> {
    let coarsest = GRAINS_NS.last().copied().unwrap_or(1);
    let Some(back) = round_trip(directory, name, ODD)? else { return Ok(coarsest) };
    let explains = |grain: &u64| back == ODD.floored(*grain);
    let near = |grain: &u64| back.distance_ns(ODD) < u128::from(*grain) && back == back.floored(*grain);
    Ok(GRAINS_NS
        .iter()
        .copied()
        .find(explains)
        .or_else(|| GRAINS_NS.iter().copied().find(near))
        .unwrap_or(coarsest))
}

/// The widest range around the present in which everything tried comes back. Where a place answers a time out of its range with the
/// nearest that it holds, that one is its end.
fn range(directory: &Dir, name: &[u8], grain_ns: u64) -> io::Result<(Stamp, Stamp)> {
    let holds = |seconds: i64| -> io::Result<Result<(), Option<Stamp>>> {
        let time = Stamp::from_seconds(seconds);
        let back = round_trip(directory, name, time)?;
        Ok(if back == Some(time.floored(grain_ns)) { Ok(()) } else { Err(back) })
    };
    let end = |times: &[i64]| -> io::Result<Option<i64>> {
        let mut last = ODD.seconds;
        for &seconds in times {
            match holds(seconds)? {
                Ok(()) => last = seconds,
                Err(back) => {
                    let between = |at: i64| (at > last && at < seconds) || (at < last && at > seconds);
                    let nearest = back.map(|back| back.seconds).filter(|&at| between(at));
                    return Ok(Some(match nearest {
                        Some(at) if holds(at)?.is_ok() => at,
                        _ => last,
                    }));
                }
            }
        }
        Ok(None)
    };
    // What holds everything tried has no end that matters.
    let earliest = end(&EARLIER)?.map_or(Stamp::from_seconds(i64::MIN), Stamp::from_seconds);
    let latest = end(&LATER)?.unwrap_or(i64::MAX);
    // Nanoseconds of the last second come back only where the grain says so.
    Ok((earliest, Stamp { seconds: latest, nanos: 999_999_999 }))
}

fn holds_owners(directory: &Dir, name: &[u8]) -> io::Result<bool> {
    /// Bits that no umask and no mount option of FAT gives.
    const MODES: [u16; 2] = [0o640, 0o604];
    /// Neither root nor anybody's.
    const SOMEBODY: u32 = 54_321;
    for mode in MODES {
        let file = directory.node(name)?;
        if granted(file.set_mode(mode))?.is_none() || directory.stat(name)?.mode != mode {
            return Ok(false);
        }
    }
    if !Environment.is_root() {
        return Ok(true);
    }
    let node = directory.node(name)?;
    if granted(node.set_owner(SOMEBODY, SOMEBODY))?.is_none() {
        return Ok(false);
    }
    let back = directory.stat(name)?;
    let _ = node.set_owner(0, 0);
    Ok(back.uid == SOMEBODY && back.gid == SOMEBODY)
}

fn holds_xattrs(directory: &Dir, name: &[u8]) -> io::Result<bool> {
    let file = directory.open_file(name, Access::Buffered)?;
    if granted(file.set_xattr(b"user.twinlane", b"probe"))?.is_none() {
        return Ok(false);
    }
    Ok(granted(file.xattr(b"user.twinlane"))?.is_some_and(|value| value == b"probe"))
}

fn holds_links(directory: &Dir, name: &[u8], link: &[u8]) -> io::Result<bool> {
    if granted(directory.hard_link(name, directory, link))?.is_none() {
        return Ok(false);
    }
    let (one, two) = (directory.stat(name)?, directory.stat(link)?);
    Ok(one.same_inode(&two) && two.links == 2)
}

fn holds_symlinks(directory: &Dir, name: &[u8]) -> io::Result<bool> {
    const TEXT: &[u8] = b"../twinlane probe";
    if granted(directory.make_symlink(name, TEXT))?.is_none() {
        return Ok(false);
    }
    let found = optional(directory.stat(name))?;
    if found.is_none_or(|meta| meta.kind != Kind::Symlink) {
        return Ok(false);
    }
    Ok(granted(directory.read_link(name))?.is_some_and(|text| text == TEXT))
}

fn exchanges(directory: &Dir, name: &[u8], other: &[u8]) -> io::Result<bool> {
    let before = directory.stat(name)?;
    if granted(directory.rename(name, directory, other, RenameMode::Exchange))?.is_none() {
        return Ok(false);
    }
    Ok(directory.stat(other)?.same_inode(&before))
}
