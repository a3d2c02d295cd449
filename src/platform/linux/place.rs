//! What a place is and can do, from the mount table, `statvfs(2)` and what is known of each type of file system.

use std::io;
use std::path::Path;

use rustix::fs::{StatVfsMountFlags, StatxFlags};

use super::mounts::{Mount, mount_of, mounts as mount_table};
use super::{Attributes as _, Dir, path_bytes, raw, statx};
use crate::value::{Case, Place, Stamp, SyncTrust};

/// What is known of a type of file system.
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact, as in Place")]
struct Known {
    grain_ns: u64,
    time_range: (i64, i64),
    file_bytes_max: u64,
    owners: bool,
    xattrs: bool,
    hard_links: bool,
    symlinks: bool,
    exchange: bool,
    case: Case,
}

const EVER: (i64, i64) = (i64::MIN, i64::MAX);
/// 1980-01-01 … 2107-12-31, `vfat` and `exfat` on Linux (`fs/fat/misc.c`), UTC.
const FAT_YEARS: (i64, i64) = (315_532_800, 4_354_819_199);

/// Everything a native Unix file system holds.
const NATIVE: Known = Known {
    grain_ns: 1,
    time_range: EVER,
    file_bytes_max: i64::MAX as u64,
    owners: true,
    xattrs: true,
    hard_links: true,
    symlinks: true,
    exchange: true,
    case: Case::Sensitive,
};

/// The little that can be relied on where nothing is known; the first run's probe mends grain and range.
const FOREIGN: Known = Known { exchange: false, xattrs: false, ..NATIVE };

fn known(file_system: &str) -> Known {
    match file_system {
        // 34-bit seconds from 1901 on (`Documentation/filesystems/ext4/inodes.rst`); 128-byte inodes hold less: probed.
        "ext4" | "ext3" | "ext2" => {
            Known { time_range: (-2_147_483_648, 15_032_385_535), file_bytes_max: 16 << 40, ..NATIVE }
        }
        // bigtime (`fs/xfs/libxfs/xfs_format.h`); without it only until 2038: probed.
        "xfs" => Known { time_range: (-2_147_483_648, 16_299_260_424), ..NATIVE },
        "btrfs" | "tmpfs" | "ramfs" | "f2fs" | "bcachefs" | "zfs" | "overlay" => NATIVE,
        "vfat" | "msdos" | "fuse.fusefat" => Known {
            grain_ns: 2_000_000_000,
            time_range: FAT_YEARS,
            file_bytes_max: 0xffff_ffff,
            owners: false,
            xattrs: false,
            hard_links: false,
            symlinks: false,
            exchange: false,
            case: Case::Insensitive,
        },
        "exfat" | "fuse.exfat" | "fuse.exfat-fuse" => Known {
            grain_ns: if file_system == "exfat" { 10_000_000 } else { 2_000_000_000 },
            time_range: FAT_YEARS,
            owners: false,
            xattrs: false,
            hard_links: false,
            symlinks: false,
            exchange: false,
            case: Case::Insensitive,
            ..NATIVE
        },
        "ntfs" | "ntfs3" | "fuseblk" => Known { grain_ns: 100, exchange: false, ..NATIVE },
        _ => FOREIGN,
    }
}

/// Network file systems: other hosts may write there too, and `syncfs` does not reach their disks.
fn is_shared(file_system: &str) -> bool {
    file_system.starts_with("fuse")
        || matches!(
            file_system,
            "nfs" | "nfs4" | "cifs" | "smb3" | "smbfs" | "9p" | "ceph" | "afs" | "virtiofs"
        )
}

/// What the place of an open directory is. `path` is the directory's path without symlinks.
///
/// # Errors
/// Those of `statvfs(2)`, `statx(2)`, and of reading the mount table.
pub fn place_at(directory: &Dir, path: &Path) -> io::Result<Place> {
    let mount_id = statx::raw_handle(directory, StatxFlags::MNT_ID)?.stx_mnt_id;
    let table = mount_table()?;
    let mount = mount_of(&table, path, mount_id);
    let (file_system, mount_point, options) =
        mount.as_ref().map_or((String::new(), Box::from(&b"/"[..]), ""), |mount| {
            (mount.file_system.clone(), path_bytes(&mount.mount_point).into(), mount.options.as_str())
        });
    let fs = rustix::fs::fstatvfs(directory)?;
    let known = known(&file_system);
    let shared = is_shared(&file_system);
    let ordered = match file_system.as_str() {
        // Without a journal, names reach the disk in any order.
        "ext4" | "ext3" => {
            !options.split(',').any(|option| option == "nojournal") && has_journal(mount.as_ref())
        }
        "xfs" | "btrfs" => true,
        _ => false,
    };
    let distrusted =
        shared || matches!(file_system.as_str(), "vfat" | "msdos" | "exfat") || !syncfs_reports();
    Ok(Place {
        mount_point,
        mount_id,
        device: directory.meta()?.device,
        uuid: raw::file_system_uuid(directory),
        grain_ns: known.grain_ns,
        time_range: (
            Stamp::from_seconds(known.time_range.0),
            Stamp { seconds: known.time_range.1, nanos: 999_999_999 },
        ),
        case: known.case,
        name_bytes_max: usize::try_from(fs.f_namemax).unwrap_or(255),
        file_bytes_max: known.file_bytes_max,
        free_bytes: fs.f_bavail.saturating_mul(fs.f_frsize),
        total_bytes: fs.f_blocks.saturating_mul(fs.f_frsize),
        free_inodes: if fs.f_files == 0 { u64::MAX } else { fs.f_favail },
        read_only: fs.f_flag.contains(StatVfsMountFlags::RDONLY),
        shared,
        owners: known.owners,
        xattrs: known.xattrs,
        hard_links: known.hard_links,
        symlinks: known.symlinks,
        exchange: known.exchange,
        ordered,
        sync: if distrusted { SyncTrust::EachFile } else { SyncTrust::FileSystem },
        file_system,
    })
}

/// Whether an ext4 file system has a journal: `/sys/fs/ext4/DEV/journal_task` holds the number of its task, or `<none>`
/// (`journal_task_show` in `fs/ext4/sysfs.c`).
fn has_journal(mount: Option<&Mount>) -> bool {
    let Some(mount) = mount else { return false };
    let (major, minor) = (rustix::fs::major(mount.device), rustix::fs::minor(mount.device));
    let Ok(device) = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")) else { return false };
    let Some(name) = device.file_name() else { return false };
    let task = std::fs::read_to_string(Path::new("/sys/fs/ext4").join(name).join("journal_task"));
    task.is_ok_and(|task| task.trim().parse::<u32>().is_ok())
}

/// Whether `syncfs` reports errors of writing back: since Linux 5.8 (`syncfs(2)`).
fn syncfs_reports() -> bool {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers =
        release.split(|letter: char| !letter.is_ascii_digit()).map(|part| part.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    version >= (5, 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::open_root;

    #[test]
    fn tells_a_temporary_folder() {
        let folder = tempfile::tempdir().unwrap();
        let (directory, real) = open_root(folder.path()).unwrap();
        let place = place_at(&directory, &real).unwrap();
        assert!(
            !place.file_system.is_empty() && place.free_bytes > 0 && place.name_bytes_max >= 143,
            "{place:?}"
        );
    }
}
