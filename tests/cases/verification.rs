//! Chapter 15: what was written is read back from the device, not from memory.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::process::Command;

use crate::support::{FileSystem, World};

/// A line that stands nowhere else in the image.
const MARKER: &[u8] = b"a line of the photograph that rots beneath its file system\n";

/// Flips a byte of the marker in an image; `None` where it is not in there exactly once.
fn flip(image: &std::path::Path) -> Option<u64> {
    let bytes = fs::read(image).unwrap();
    let mut found = (0..bytes.len()).step_by(512).filter(|at| bytes[*at..].starts_with(MARKER));
    let at = found.next().filter(|_| found.next().is_none())? as u64 + 100;
    let file = fs::File::options().read(true).write(true).open(image).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x20], at).unwrap();
    file.sync_all().unwrap();
    Some(at)
}

fn check(file_system: &str, image_mib: u64, bytes: usize) {
    let mut world = World::with("mirror", "");
    let image = world.path("image");
    fs::File::create(&image).unwrap().set_len(image_mib << 20).unwrap();
    let made = Command::new(format!("mkfs.{file_system}")).arg("-q").arg(&image).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no {file_system} can be made here");
        return;
    }
    let mut content = MARKER.to_vec();
    content.extend((0..=250_u8).cycle().take(bytes));
    fs::write(world.path("S/photo"), &content).unwrap();
    world.files([("S/other", "other")]);
    if !world.mount("T", FileSystem::Image(&image, "loop")) {
        return;
    }
    world.start(&["run", "j", "--accept", "destination"]).expect(0);
    world.shell("sync -f T");
    world.start(&["verify", "j"]).expect(0).says("2 right").keeps_quiet_of("cache");
    // The pages are cached, and stay so.
    let photo = fs::File::open(world.path("T/photo")).unwrap();
    let cached = fs::read(world.path("T/photo")).unwrap();
    assert_eq!(cached, content);
    if flip(&image).is_none() {
        eprintln!("skipped: {file_system} does not keep the content in one plain place");
        return;
    }
    assert_eq!(fs::read(world.path("T/photo")).unwrap(), content, "the cache still shows what was");
    let told = world.start(&["verify", "j"]).expect(1);
    told.says("rot          photo").says("last found right").says("1 rotten").says("1 right");
    drop(photo);
}

#[test]
fn bc_86_a_flipped_byte_beneath_the_file_system_is_found_past_the_page_cache() {
    check("ext4", 64, 300_000);
    check("ext4", 64, 5000);
    check("xfs", 320, 3_000_000);
}
