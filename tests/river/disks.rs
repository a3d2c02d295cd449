//! Disks that are not there, or are other ones: nothing is written, and the refusal says what would be taken for granted.

use std::fs;
use std::path::PathBuf;

use crate::support::{FileSystem, World, is_root};

/// A folder below /mnt, where disks are mounted; gone when dropped.
struct MountFolder(tempfile::TempDir);

impl MountFolder {
    /// `None`, aloud, where this user may not make one, or /mnt is a file system of its own.
    fn new() -> Option<Self> {
        if !is_root() {
            eprintln!("skipped: only root makes folders below /mnt");
            return None;
        }
        fs::create_dir_all("/mnt").unwrap();
        let folder = tempfile::Builder::new().prefix("twinlane-test-").tempdir_in("/mnt").ok()?;
        Some(Self(folder))
    }

    fn path(&self) -> PathBuf {
        self.0.path().to_path_buf()
    }
}

/// A job `j` from the world's source to another place.
fn job_to(world: &World, destination: &std::path::Path) {
    let text =
        format!("rules: {{r: {{mode: mirror, source: ../S, destination: {}}}}}\n", destination.display());
    world.job_text("j", &text);
}

#[test]
fn a_first_run_below_mnt_where_nothing_is_mounted() {
    let Some(folder) = MountFolder::new() else { return };
    let world = World::new();
    world.many(10);
    job_to(&world, &folder.path());
    world.start(&["run", "j"]).expect(3).says("--accept destination");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "something was written");
    job_to(&world, &folder.path().join("copy"));
    world.start(&["run", "j"]).expect(3).says("--accept destination");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "the root was made");
}

#[test]
fn a_lost_state_and_an_absent_disk() {
    let Some(folder) = MountFolder::new() else { return };
    let mut world = World::new();
    world.many(10);
    let disk = folder.path();
    job_to(&world, &disk);
    if !world.mount(disk.to_str().unwrap(), FileSystem::Tmpfs("")) {
        return;
    }
    world.start(&["run", "j", "--accept", "destination"]).expect(0);
    world.unmount(disk.to_str().unwrap());
    fs::remove_dir_all(world.path("state")).unwrap();
    world.start(&["run", "j"]).expect(3).says("--accept destination");
    assert_eq!(fs::read_dir(&disk).unwrap().count(), 0, "something was written below the mount point");
}

#[test]
fn another_disk_at_the_same_path() {
    let mut world = World::with("mirror", "");
    world.many(10);
    if !world.mount("T", FileSystem::Tmpfs("")) {
        return;
    }
    world.start(&["run", "j", "--accept", "destination"]).expect(0);
    world.unmount("T");
    assert!(world.mount("T", FileSystem::Tmpfs("")));
    world.files([("T/mine", "of another disk")]);
    world.refused(&["run", "j"], 3).says("--accept destination");
    // Rotating disks: each is accepted once, and known from then on.
    world.start(&["run", "j", "--accept", "destination", "--limit", "remove=none"]).expect(0);
    world.start(&["run", "j"]).expect(0).says("nothing to do");
}
