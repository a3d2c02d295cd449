//! Reading back past the page cache: what the device has, not what memory remembers.

use super::*;

/// Flips one bit of the only place in an image that holds these bytes, below the file system that is mounted from it.
fn flip_beneath(image: &Path, needle: &[u8]) {
    let bytes = std::fs::read(image).unwrap();
    let mut found = bytes.windows(needle.len()).enumerate().filter(|(_, window)| *window == needle);
    let at = found.next().expect("the file has reached its device").0;
    let file = std::fs::OpenOptions::new().write(true).open(image).unwrap();
    file.write_all_at(&[bytes[at] ^ 1], at as u64).unwrap();
    // A journal of data holds it a second time.
    for (at, _) in found {
        file.write_all_at(&[bytes[at] ^ 1], at as u64).unwrap();
    }
}

/// A file of each size whose pages are cached is read back as its device has it.
fn check_beneath(image: &Path, mounted: &Mounted, expect_direct: bool) {
    let ground = Ground::below(mounted.folder.path());
    let engine = engine(Route::Buffered);
    for size in [5000, BLOCK, 5 * MIB + 777] {
        let content = bytes(size);
        let file = ground.write("file", &content);
        file.sync().unwrap();
        assert_eq!(engine.digest_uncached(&file, size as u64).unwrap().digest, digest_of(&content));
        assert!(std::fs::read(ground.path("file")).unwrap() == content);
        assert!(file.cached_pages().is_none_or(|pages| pages > 0));
        flip_beneath(image, &content[4096..4096 + 64]);
        let small = Small {
            source: &file,
            target: None,
            bytes: size as u64,
            holes: Holes::Keep,
            hashing: Hashing::Blake3,
            cancel: &Cancel::new(),
            throttle: None,
        };
        assert_eq!(small.copy().unwrap().digest, Some(digest_of(&content)), "memory remembers the old bytes");
        let mut flipped = content.clone();
        flipped[4096] ^= 1;
        let uncached = engine.digest_uncached(&file, size as u64).unwrap();
        assert_eq!(uncached.digest, digest_of(&flipped), "{size}");
        assert!(uncached.past_cache || file.cached_pages().is_none() && !expect_direct, "{size}");
        let side = Side::new(Arc::clone(&file), Role::Source, Wanted::Direct, engine.refusals()).unwrap();
        assert_eq!(side.is_direct(), expect_direct, "{size}");
    }
}

#[test]
fn a_bit_that_flips_beneath_cached_pages_is_seen_by_direct_io() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    let Some(mounted) = Mounted::ext4(&image, &[], "defaults") else {
        return skipped("a_bit_that_flips_beneath_cached_pages_is_seen_by_direct_io", "no loop mounts here");
    };
    check_beneath(&image, &mounted, true);
}

#[test]
fn a_bit_that_flips_beneath_cached_pages_is_seen_where_direct_io_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    // ext4 with a journal of data has no direct I/O.
    let Some(mounted) = Mounted::ext4(&image, &[], "data=journal") else {
        return skipped(
            "a_bit_that_flips_beneath_cached_pages_is_seen_where_direct_io_is_refused",
            "no loop mounts here",
        );
    };
    check_beneath(&image, &mounted, false);
}

#[test]
fn what_is_still_dirty_is_read_back_too() {
    let ground = Ground::new();
    let engine = engine(Route::Auto);
    for size in [1, 4096, BLOCK + 1, 3 * MIB] {
        let content = bytes(size);
        let (_, target) = ground.target();
        target.write_at(&content, 0).unwrap();
        assert_eq!(engine.digest_uncached(&target, size as u64).unwrap().digest, digest_of(&content));
    }
}

#[test]
fn a_place_in_memory_does_not_claim_to_have_been_read_past_the_cache() {
    let Some(mounted) = Mounted::new(&["-t", "ramfs", "none"], None) else {
        return skipped("a_place_in_memory_does_not_claim_to_have_been_read_past_the_cache", "not root");
    };
    let ground = Ground::below(mounted.folder.path());
    let content = bytes(BLOCK + 5);
    let file = ground.write("file", &content);
    let uncached = engine(Route::Auto).digest_uncached(&file, content.len() as u64).unwrap();
    assert_eq!(uncached, Uncached { digest: digest_of(&content), past_cache: false });
}
