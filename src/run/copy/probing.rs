//! What the destination's place holds, tried out where its type does not tell: a copy remembers nothing from one time to the next.

use std::io;

use crate::platform::Attributes as _;
use crate::run::roots::Root;
use crate::store::{Probe, clear_stage, probe};
use crate::value::{Case, Place, RunId, StageName};

/// Types of file systems that hold at most what is assumed of them.
const NATIVE: [&str; 11] =
    ["ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "ramfs", "f2fs", "bcachefs", "zfs", "overlay"];

/// Whether the place may hold more than is assumed of it.
pub(super) fn is_unknown(place: &Place) -> bool {
    !NATIVE.contains(&place.file_system.as_str())
}

/// Tries the place out in a stage directory below the destination's root, which gets its time back, and returns what it is.
pub(super) fn probed(destination: &Root, run: RunId) -> io::Result<Place> {
    let root = &destination.directory;
    let before = root.meta()?.modified;
    // Numbers of stage files that hold content begin at 1.
    let stage = StageName { run, number: 0 }.to_string().into_bytes();
    root.make_dir(&stage, 0o700)?;
    let found = root.open_dir(&stage).and_then(|stage| probe(&stage, run, &destination.place.file_system));
    let cleared = clear_stage(root, &stage);
    // The root of a FAT file system has no time that changes, or could be set.
    if root.meta()?.modified != before {
        let _ = root.set_modified(before);
    }
    let found = found.and_then(|found| cleared.map(|()| found));
    let Probe { grain_ns, time_range, features } = found?;
    let mut place = destination.place.clone();
    place.grain_ns = grain_ns;
    place.time_range = time_range;
    place.case = if features.ignores_case { Case::Insensitive } else { Case::Sensitive };
    place.owners = features.owners;
    place.xattrs = features.xattrs;
    place.hard_links = features.hard_links;
    place.symlinks = features.symlinks;
    place.exchange = features.exchange;
    Ok(place)
}
