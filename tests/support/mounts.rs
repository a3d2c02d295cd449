//! Real file systems for one test: in memory, in a loop-mounted image, or in user space.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A file system that a test wants under one of its folders.
#[derive(Clone, Copy, Debug)]
pub enum FileSystem<'a> {
    /// In memory, with further mount options such as `size=2m`.
    Tmpfs(&'a str),
    /// In memory, without direct I/O.
    Ramfs,
    /// ext4, with further arguments for `mkfs`.
    Ext4(&'a [&'a str]),
    /// xfs.
    Xfs,
    /// btrfs.
    Btrfs,
    /// FAT in user space: steps of 2 s, no case, no links, no owners.
    Fat,
    /// exFAT in user space: no links, no owners, no attributes.
    Exfat,
    /// A directory under another path.
    Bind(&'a Path),
    /// An image that the test made, with these mount options.
    Image(&'a Path, &'a str),
}

impl FileSystem<'_> {
    /// Mounts it; an image is made at `image`. Says aloud what is in the way.
    pub fn mount(self, at: &Path, image: &Path) -> bool {
        let done = self.prepared(image).and_then(|()| self.mounted(at, image));
        if let Err(reason) = &done {
            eprintln!("skipped: {self:?} cannot be mounted here: {}", reason.trim());
        }
        done.is_ok()
    }

    fn prepared(self, image: &Path) -> Result<(), String> {
        let (size_mib, program, arguments): (u64, &str, &[&str]) = match self {
            Self::Tmpfs(_) | Self::Ramfs | Self::Bind(_) | Self::Image(..) => return Ok(()),
            Self::Ext4(arguments) => (96, "mkfs.ext4", arguments),
            Self::Xfs => (320, "mkfs.xfs", &[]),
            Self::Btrfs => (256, "mkfs.btrfs", &[]),
            Self::Fat => (64, "mkfs.vfat", &[]),
            Self::Exfat => (64, "mkfs.exfat", &[]),
        };
        let file = fs::File::create(image).map_err(|error| error.to_string())?;
        file.set_len(size_mib << 20).map_err(|error| error.to_string())?;
        succeeded(Command::new(program).args(arguments).arg(image))
    }

    fn mounted(self, at: &Path, image: &Path) -> Result<(), String> {
        let mount = |arguments: &[&str]| succeeded(Command::new("mount").args(arguments).arg(at));
        match self {
            Self::Tmpfs("") => mount(&["-t", "tmpfs", "twinlane-test"]),
            Self::Tmpfs(options) => mount(&["-t", "tmpfs", "-o", options, "twinlane-test"]),
            Self::Ramfs => mount(&["-t", "ramfs", "twinlane-test"]),
            Self::Ext4(_) | Self::Xfs | Self::Btrfs => {
                succeeded(Command::new("mount").args(["-o", "loop"]).arg(image).arg(at))
            }
            Self::Fat => succeeded(Command::new("fusefat").args(["-o", "rw+"]).arg(image).arg(at)),
            Self::Exfat => on_loop_device(Command::new("mount.exfat-fuse"), image, at),
            Self::Image(image, options) => {
                succeeded(Command::new("mount").args(["-o", options]).arg(image).arg(at))
            }
            Self::Bind(from) => succeeded(Command::new("mount").arg("--bind").arg(from).arg(at)),
        }
    }
}

fn succeeded(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(said) }
}

/// Mounts with a program that takes devices only. The loop device goes with the mount: detaching one in use waits for its last user.
fn on_loop_device(mut program: Command, image: &Path, at: &Path) -> Result<(), String> {
    let made = Command::new("losetup").args(["-f", "--show"]).arg(image).output();
    let made = made.map_err(|error| error.to_string())?;
    let device = String::from_utf8_lossy(&made.stdout).trim().to_owned();
    if !made.status.success() {
        return Err(String::from_utf8_lossy(&made.stderr).into_owned());
    }
    let mounted = succeeded(program.arg(&device).arg(at));
    let detached = succeeded(Command::new("losetup").args(["-d", &device]));
    mounted.and(detached)
}

/// The mount points of one test, unmounted in the end whatever happens.
#[derive(Debug, Default)]
pub struct Mounts {
    points: Vec<PathBuf>,
    images: Option<TempDir>,
}

impl Mounts {
    /// Mounts and remembers it.
    pub fn add(&mut self, kind: FileSystem<'_>, at: PathBuf) -> bool {
        let images = self.images.get_or_insert_with(|| tempfile::tempdir().expect("a temporary folder"));
        let image = images.path().join(self.points.len().to_string());
        let done = kind.mount(&at, &image);
        if done {
            self.points.push(at);
        }
        done
    }

    /// Unmounts what must not be busy.
    pub fn remove(&mut self, at: &Path) {
        let done = succeeded(Command::new("umount").arg(at));
        assert!(done.is_ok(), "umount {}: {done:?}", at.display());
        self.points.retain(|point| point != at);
    }
}

impl Drop for Mounts {
    fn drop(&mut self) {
        for point in self.points.iter().rev() {
            let _ = Command::new("umount").arg("-l").arg(point).status();
        }
    }
}
