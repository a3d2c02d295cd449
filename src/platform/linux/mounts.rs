//! What is mounted where, from `/proc/self/mountinfo` (`proc_pid_mountinfo(5)`).

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};

use super::{path_bytes, path_from_bytes, raw};

/// One line of the mount table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Id of the mount, as in `statx`'s `stx_mnt_id`.
    pub id: u64,
    /// Device of the file system.
    pub device: u64,
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// The file system's type, `ext4`, `fuse.sshfs`.
    pub file_system: String,
    /// What is mounted, `/dev/sda1`.
    pub source: String,
    /// Options of the mount and of the file system, separated by commas.
    pub options: String,
}

/// A mounted file system with the names it can be found by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Its label, where it has one.
    pub label: Option<String>,
    /// Its UUID, where the system tells one.
    pub uuid: Option<String>,
    /// Where its root is mounted.
    pub mount_point: PathBuf,
    /// Its device id.
    pub device: u64,
}

/// All mounts of this process's namespace, in the order they were made.
///
/// # Errors
/// Where `/proc` cannot be read.
pub fn mounts() -> io::Result<Vec<Mount>> {
    let text = std::fs::read("/proc/self/mountinfo")?;
    Ok(text.split(|&byte| byte == b'\n').filter_map(parse_line).collect())
}

fn parse_line(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|&byte| byte == b' ');
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let id = text(fields.next()?).parse().ok()?;
    let _parent = fields.next()?;
    let device = text(fields.next()?);
    let (major, minor) = device.split_once(':')?;
    let device = rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?);
    let _root = fields.next()?;
    let mount_point = path_from_bytes(&unescape(fields.next()?));
    let mut options = text(fields.next()?);
    // Any number of optional fields, then a dash.
    let mut fields = fields.skip_while(|field| *field != b"-").skip(1);
    let file_system = text(fields.next()?);
    let source = text(&unescape(fields.next()?));
    options.push(',');
    options.push_str(&text(fields.next().unwrap_or_default()));
    Some(Mount { id, device, mount_point, file_system, source, options })
}

/// Undoes the kernel's `\040` for blanks, tabs, newlines and backslashes.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, tail)) = rest.split_first() {
        let code = match tail {
            [a, b, c, ..]
                if first == b'\\' && [a, b, c].iter().all(|digit| (b'0'..=b'7').contains(digit)) =>
            {
                u8::try_from((u32::from(a - b'0') << 6) | (u32::from(b - b'0') << 3) | u32::from(c - b'0'))
                    .ok()
            }
            _ => None,
        };
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { tail.get(3..).unwrap_or_default() } else { tail };
    }
    bytes
}

/// File systems on a device of their own (or FUSE and network ones), each once, with label and UUID.
///
/// # Errors
/// Where the mount table cannot be read.
pub fn volumes() -> io::Result<Vec<Volume>> {
    let mut volumes: Vec<Volume> = Vec::new();
    for mount in mounts()? {
        let on_device = mount.source.starts_with('/') || mount.file_system.starts_with("fuse");
        // A later mount of the same device elsewhere (a bind mount) is the same volume.
        if !on_device || volumes.iter().any(|volume| volume.device == mount.device) {
            continue;
        }
        let Ok(handle) =
            rustix::fs::openat(CWD, &mount.mount_point, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        else {
            continue;
        };
        let label = raw::file_system_label(&handle).or_else(|| by_link("/dev/disk/by-label", &mount.source));
        let uuid = raw::file_system_uuid(&handle).or_else(|| by_link("/dev/disk/by-uuid", &mount.source));
        volumes.push(Volume { label, uuid, mount_point: mount.mount_point, device: mount.device });
    }
    Ok(volumes)
}

/// The name under which udev links to a device, its `\x20` undone.
fn by_link(folder: &str, device: &str) -> Option<String> {
    let device = std::fs::canonicalize(device).ok()?;
    let link = std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .find(|link| std::fs::canonicalize(link.path()).is_ok_and(|target| target == device))?;
    let name = link.file_name().into_string().ok()?;
    let mut text = String::new();
    let mut parts = name.split("\\x");
    text.push_str(parts.next()?);
    for part in parts {
        let code = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok())?;
        text.push(char::from(code));
        text.push_str(part.get(2..)?);
    }
    Some(text)
}

/// The mount that a path (without symlinks) lies on.
pub(super) fn mount_of(mounts: &[Mount], path: &Path, id: u64) -> Option<Mount> {
    let by_id = mounts.iter().find(|mount| mount.id == id && id != 0);
    let deepest = || {
        mounts
            .iter()
            .filter(|mount| path.starts_with(&mount.mount_point))
            .max_by_key(|mount| path_bytes(&mount.mount_point).len())
    };
    by_id.or_else(deepest).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_line_with_blanks_and_optional_fields() {
        let line = b"36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 shared:2 - ext3 /dev/my\\134root rw,errors=continue";
        let mount = parse_line(line).unwrap();
        assert_eq!(mount.mount_point, PathBuf::from("/mnt 2"));
        assert_eq!(mount.source, "/dev/my\\root");
        assert_eq!((mount.id, mount.file_system.as_str()), (36, "ext3"));
        assert_eq!(mount.options, "rw,noatime,rw,errors=continue");
        assert!(mounts().unwrap().iter().any(|mount| mount.mount_point == Path::new("/proc")));
    }
}
