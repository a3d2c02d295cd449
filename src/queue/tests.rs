//! Bytes, length and digest on real places: ext4 (the temporary directory), tmpfs, and, as root, ramfs and a loop device of 4 KiB sectors.

use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, bounded, unbounded};

mod limited;
mod uncached;

use super::side::{Role, Side, Wanted};
use super::small::Small;
use super::*;
use crate::platform::{Access, Dir, File, open_root};
use crate::value::{Cancel, Digest};

const BLOCK: usize = 64 << 10;
const MIB: usize = 1 << 20;

const SIZES: [usize; 21] = [
    0,
    1,
    511,
    512,
    513,
    4095,
    4096,
    4097,
    BLOCK - 1,
    BLOCK,
    BLOCK + 1,
    2 * BLOCK,
    3 * BLOCK,
    4 * BLOCK,
    4 * BLOCK + 4096,
    MIB - 1,
    MIB,
    MIB + 1,
    5 * MIB,
    5 * MIB + 777,
    7 * MIB + 4096,
];

fn settings(route: Route) -> Settings {
    Settings {
        route,
        queues: 2,
        depth: 2,
        block_bytes: BLOCK,
        unbuffered_from_bytes: 1,
        memory_bytes: 2 << 20,
        hash_workers: 2,
    }
}

fn engine(route: Route) -> Engine {
    Engine::start(&settings(route), &Cancel::new()).unwrap()
}

fn bytes(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().update(&length.to_le_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

fn digest_of(bytes: &[u8]) -> Digest {
    Digest(*blake3::hash(bytes).as_bytes())
}

/// A directory of its own in some place, with what is needed to reach it.
struct Ground {
    folder: tempfile::TempDir,
    dir: Dir,
    names: AtomicUsize,
}

impl Ground {
    fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    fn below(place: &Path) -> Self {
        let folder = tempfile::tempdir_in(place).unwrap();
        let dir = open_root(folder.path()).unwrap().0;
        Self { folder, dir, names: AtomicUsize::new(0) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Arc<File> {
        std::fs::write(self.path(name), bytes).unwrap();
        self.open(name)
    }

    /// A file of holes with some bytes at some places.
    fn write_sparse(&self, name: &str, length: u64, data: &[(u64, &[u8])]) -> Arc<File> {
        let file = std::fs::File::create(self.path(name)).unwrap();
        file.set_len(length).unwrap();
        for (offset, bytes) in data {
            file.write_all_at(bytes, *offset).unwrap();
        }
        file.sync_all().unwrap();
        self.open(name)
    }

    fn open(&self, name: &str) -> Arc<File> {
        Arc::new(self.dir.open_file(name.as_bytes(), Access::Buffered).unwrap())
    }

    fn target(&self) -> (PathBuf, Arc<File>) {
        let name = format!("target-{}", self.names.fetch_add(1, Ordering::Relaxed));
        (self.path(&name), Arc::new(self.dir.create_file(name.as_bytes()).unwrap()))
    }
}

fn transfer(source: &Arc<File>, target: &Arc<File>, bytes: u64) -> Transfer {
    Transfer {
        source: Arc::clone(source),
        target: Arc::clone(target),
        bytes,
        holes: Holes::Keep,
        hashing: Hashing::Blake3,
    }
}

type Answer = Result<Copied, TransferError>;

fn submit(engine: &Engine, transfer: Transfer) -> Receiver<Answer> {
    let (sender, receiver) = bounded(1);
    engine.submit(transfer, Box::new(move |_, result| sender.send(result).unwrap()));
    receiver
}

fn copy(engine: &Engine, transfer: Transfer) -> Answer {
    submit(engine, transfer).recv_timeout(Duration::from_secs(60)).unwrap()
}

/// Says that a test did not run: there is no way to mark one as skipped.
fn skipped(test: &str, why: &str) {
    eprintln!("SKIPPED {test}: {why}");
}

/// Raises a flag when it goes.
struct Stopping<'a>(&'a AtomicBool);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A mount that goes with its value.
struct Mounted {
    folder: tempfile::TempDir,
    device: Option<String>,
}

impl Mounted {
    fn new(arguments: &[&str], device: Option<String>) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Self { folder, device };
        let done = Command::new("mount").args(arguments).arg(mounted.folder.path()).output().ok()?;
        done.status.success().then_some(mounted)
    }

    /// ext4 on a loop device of 4 KiB sectors: offsets of 512 bytes are refused there.
    fn large_sectors(image: &Path) -> Option<Self> {
        Self::ext4(image, &["-b", "4096"], "defaults")
    }

    /// ext4 on a loop device over an image.
    fn ext4(image: &Path, loop_options: &[&str], mount_options: &str) -> Option<Self> {
        std::fs::File::create(image).unwrap().set_len(64 << 20).unwrap();
        let setup =
            Command::new("losetup").args(loop_options).args(["--show", "-f"]).arg(image).output().ok()?;
        let device = String::from_utf8(setup.stdout).ok()?.trim().to_owned();
        if !setup.status.success() || device.is_empty() {
            return None;
        }
        let made = Command::new("mkfs.ext4").args(["-q", &device]).output();
        if made.is_ok_and(|made| made.status.success()) {
            return Self::new(&["-t", "ext4", "-o", mount_options, &device.clone()], Some(device));
        }
        let _ = Command::new("losetup").args(["-d", &device]).output();
        None
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.folder.path()).output();
        if let Some(device) = &self.device {
            let _ = Command::new("losetup").args(["-d", device]).output();
        }
    }
}

/// All sizes, by each way through the engine, from and to a place.
fn check_sizes(place: &Path) {
    let ground = Ground::below(place);
    for route in [Route::Auto, Route::Buffered, Route::Unbuffered] {
        let engine = engine(route);
        for size in SIZES {
            let content = bytes(size);
            let source = ground.write("source", &content);
            let wanted = Copied { bytes: size as u64, digest: Some(digest_of(&content)) };
            let label = format!("{size} bytes, {route:?}, {}", place.display());

            let (path, target) = ground.target();
            assert_eq!(copy(&engine, transfer(&source, &target, size as u64)).unwrap(), wanted, "{label}");
            assert!(std::fs::read(&path).unwrap() == content, "{label}");
            std::fs::remove_file(path).unwrap();

            let (path, target) = ground.target();
            assert_eq!(
                engine.copy_small(&transfer(&source, &target, size as u64)).unwrap(),
                wanted,
                "{label}"
            );
            assert!(std::fs::read(&path).unwrap() == content, "{label}");
            std::fs::remove_file(path).unwrap();

            assert_eq!(engine.digest(&source, size as u64).unwrap(), digest_of(&content), "{label}");
            let uncached = engine.digest_uncached(&source, size as u64).unwrap();
            assert_eq!(uncached.digest, digest_of(&content), "{label}");
        }
    }
}

#[test]
fn bc_99_sizes_around_every_alignment() {
    check_sizes(&std::env::temp_dir());
}

#[test]
fn bc_99_tmpfs() {
    check_sizes(Path::new("/dev/shm"));
}

#[test]
fn bc_99_ramfs_refuses_direct_io() {
    let Some(mounted) = Mounted::new(&["-t", "ramfs", "ramfs"], None) else {
        return skipped("bc_99_ramfs_refuses_direct_io", "cannot mount a ramfs");
    };
    check_sizes(mounted.folder.path());
    let ground = Ground::below(mounted.folder.path());
    let source = ground.write("source", &bytes(3 * BLOCK));
    let (_, target) = ground.target();
    let engine = engine(Route::Auto);
    copy(&engine, transfer(&source, &target, 3 * BLOCK as u64)).unwrap();
    assert_eq!(engine.refusals().roles(), [Role::Source, Role::Target]);
}

#[test]
fn bc_99_sectors_of_4_kib() {
    let image = Ground::new();
    let Some(mounted) = Mounted::large_sectors(&image.path("image")) else {
        return skipped("bc_99_sectors_of_4_kib", "cannot set up a loop device");
    };
    check_sizes(mounted.folder.path());
}

#[test]
fn bc_99_a_refusal_in_mid_file_falls_back_and_is_remembered() {
    let ground = Ground::new();
    let content = bytes(3 * BLOCK);
    let source = ground.write("source", &content);
    let (path, target) = ground.target();
    let refusals = Arc::default();
    let pool = crate::platform::Pool::new(BLOCK, 1).unwrap();
    let mut block = pool.lease();

    let side = Side::new(source, Role::Source, Wanted::Direct, &refusals).unwrap();
    if !side.is_direct() {
        return skipped("bc_99_a_refusal_in_mid_file", "the temporary directory takes no direct I/O");
    }
    // An odd offset is what no alignment takes.
    assert_eq!(side.fill(&mut block[..4096], 77, 4096).unwrap(), 4096);
    assert_eq!(block[..4096], content[77..77 + 4096]);
    if side.is_direct() {
        return skipped("bc_99_a_refusal_in_mid_file", "this file system takes any offset (btrfs)");
    }

    let side = Side::new(target, Role::Target, Wanted::Direct, &refusals).unwrap();
    assert!(side.is_direct(), "reading and writing are apart");
    side.put(&block, 100, 33).unwrap();
    assert!(!side.is_direct());
    assert_eq!(std::fs::read(path).unwrap()[33..], content[77..177]);
    assert_eq!(refusals.roles(), [Role::Source, Role::Target]);

    let again = Side::new(ground.open("source"), Role::Source, Wanted::Direct, &refusals).unwrap();
    assert!(!again.is_direct(), "the device is remembered");
}

#[test]
fn direct_io_is_used_and_the_files_come_back_buffered() {
    let ground = Ground::new();
    let refusals = Arc::default();
    let source = ground.write("source", &bytes(3 * BLOCK + 5));
    if !Side::new(Arc::clone(&source), Role::Source, Wanted::Direct, &refusals).unwrap().is_direct() {
        return skipped("direct_io_is_used", "the temporary directory takes no direct I/O");
    }
    let (_, target) = ground.target();
    copy(&engine(Route::Unbuffered), transfer(&source, &target, 3 * BLOCK as u64 + 5)).unwrap();
    let mut odd = [0u8; 3];
    assert_eq!(source.read_at(&mut odd, 1).unwrap(), 3);
    target.write_at(&odd, 7).unwrap();
}

#[test]
fn many_transfers_at_once() {
    let ground = Ground::new();
    let sizes: Vec<usize> = (0..60usize).map(|number| number * number * 977 % (2 * MIB)).collect();
    let sources: Vec<Arc<File>> = sizes
        .iter()
        .enumerate()
        .map(|(number, size)| ground.write(&format!("s{number}"), &bytes(*size)))
        .collect();
    let engine = engine(Route::Auto);
    let (sender, answers) = unbounded();
    std::thread::scope(|scope| {
        for caller in 0..4 {
            let (ground, engine, sender, sizes, sources) =
                (&ground, &engine, sender.clone(), &sizes, &sources);
            scope.spawn(move || {
                for number in (caller..sizes.len()).step_by(4) {
                    let (path, target) = ground.target();
                    let sender = sender.clone();
                    let done: Done = Box::new(move |_, result| sender.send((number, path, result)).unwrap());
                    engine.submit(transfer(&sources[number], &target, sizes[number] as u64), done);
                    assert_eq!(
                        engine.digest(&sources[number], sizes[number] as u64).unwrap(),
                        digest_of(&bytes(sizes[number]))
                    );
                }
            });
        }
    });
    drop((sender, engine));
    let mut seen = 0;
    for (number, path, result) in answers {
        let content = bytes(sizes[number]);
        assert_eq!(
            result.unwrap(),
            Copied { bytes: content.len() as u64, digest: Some(digest_of(&content)) }
        );
        assert!(std::fs::read(path).unwrap() == content);
        seen += 1;
    }
    assert_eq!(seen, sizes.len(), "each answer exactly once");
}

#[test]
fn without_hashing_there_is_no_digest() {
    let ground = Ground::new();
    let content = bytes(MIB + 3);
    let source = ground.write("source", &content);
    let (path, target) = ground.target();
    let transfer = Transfer { hashing: Hashing::Off, ..transfer(&source, &target, content.len() as u64) };
    let copied = copy(&engine(Route::Auto), transfer).unwrap();
    assert_eq!(copied, Copied { bytes: content.len() as u64, digest: None });
    assert!(std::fs::read(path).unwrap() == content);
}

/// Copies a sparse file by both ways and checks bytes, length, digest and allocation.
fn check_sparse(from: &Ground, to: &Ground, length: u64, data: &[(u64, &[u8])], allocated_max: u64) {
    let source = from.write_sparse("sparse", length, data);
    let mut content = vec![0u8; usize::try_from(length).unwrap()];
    for (offset, bytes) in data {
        let offset = usize::try_from(*offset).unwrap();
        content[offset..offset + bytes.len()].copy_from_slice(bytes);
    }
    let wanted = Copied { bytes: length, digest: Some(digest_of(&content)) };
    for route in [Route::Auto, Route::Buffered] {
        let engine = engine(route);
        for hashing in [Hashing::Blake3, Hashing::Off] {
            let wanted = Copied { digest: wanted.digest.filter(|_| hashing == Hashing::Blake3), ..wanted };
            for small in [false, true] {
                let (path, target) = to.target();
                let transfer = Transfer { hashing, ..transfer(&source, &target, length) };
                let copied = if small { engine.copy_small(&transfer) } else { copy(&engine, transfer) };
                assert_eq!(copied.unwrap(), wanted, "{length} {route:?} {hashing:?} small={small}");
                let found = std::fs::read(&path).unwrap();
                assert!(found == content, "{length} {route:?} {hashing:?} small={small}");
                target.sync().unwrap();
                let allocated = std::fs::metadata(&path).unwrap().blocks() * 512;
                assert!(allocated <= allocated_max, "{allocated} of {allocated_max} small={small} {route:?}");
                std::fs::remove_file(path).unwrap();
            }
        }
        assert_eq!(Some(engine.digest(&source, length).unwrap()), wanted.digest);
    }
}

#[test]
fn bc_18_holes_stay_holes() {
    let ground = Ground::new();
    let memory = Ground::below(Path::new("/dev/shm"));
    let some = bytes(5000);
    for to in [&ground, &memory] {
        // All hole; data at the start, within, at the very end; a hole at the end; two runs in one block.
        check_sparse(&ground, to, 9 * MIB as u64 + 17, &[], 64 << 10);
        check_sparse(&ground, to, 4 * BLOCK as u64, &[(0, &some)], 64 << 10);
        check_sparse(&ground, to, 20 * BLOCK as u64 + 1, &[(7 * BLOCK as u64 + 333, &some)], 64 << 10);
        check_sparse(&ground, to, 20 * BLOCK as u64, &[(20 * BLOCK as u64 - 5000, &some)], 64 << 10);
        check_sparse(
            &ground,
            to,
            20 * BLOCK as u64 + 100,
            &[(BLOCK as u64, &some), (BLOCK as u64 + 30_000, &some), (2 * BLOCK as u64 - 2500, &some)],
            128 << 10,
        );
        check_sparse(&ground, to, 40_000, &[(20_000, &some)], 32 << 10);
    }
}

#[test]
fn bc_18_five_gib_of_hole_fit_into_little_room() {
    let ground = Ground::new();
    let memory = Ground::below(Path::new("/dev/shm"));
    let source = ground.write_sparse("image", 5 << 30, &[(3 << 30, b"x")]);
    let (path, target) = memory.target();
    let transfer = Transfer { hashing: Hashing::Off, ..transfer(&source, &target, 5 << 30) };
    let begin = Instant::now();
    assert_eq!(copy(&engine(Route::Auto), transfer).unwrap().bytes, 5 << 30);
    let meta = std::fs::metadata(&path).unwrap();
    assert!(meta.len() == 5 << 30 && meta.blocks() * 512 <= 64 << 10, "{meta:?}");
    let mut byte = [0u8; 3];
    std::fs::File::open(path).unwrap().read_exact_at(&mut byte, (3 << 30) - 1).unwrap();
    assert_eq!(byte, [0, b'x', 0]);
    assert!(begin.elapsed() < Duration::from_secs(5), "holes cost no reading");
}

#[test]
fn bc_18_a_preallocated_file_stays_allocated() {
    let ground = Ground::new();
    let (path, preallocated) = ground.target();
    if preallocated.allocate(4 * MIB as u64).is_err() {
        return skipped("bc_18_a_preallocated_file", "no fallocate here");
    }
    let source = ground.open(path.file_name().unwrap().to_str().unwrap());
    let (path, target) = ground.target();
    let copied = copy(&engine(Route::Auto), transfer(&source, &target, 4 * MIB as u64)).unwrap();
    assert_eq!(copied.digest, Some(digest_of(&vec![0; 4 * MIB])));
    target.sync().unwrap();
    assert!(std::fs::metadata(path).unwrap().blocks() * 512 >= 4 * MIB as u64);
}

#[test]
fn bc_18_holes_are_filled_on_wish() {
    let ground = Ground::new();
    let source = ground.write_sparse("sparse", 3 * MIB as u64 + 5, &[(MIB as u64, b"data")]);
    let engine = engine(Route::Auto);
    for small in [false, true] {
        let (path, target) = ground.target();
        let transfer = Transfer { holes: Holes::Fill, ..transfer(&source, &target, 3 * MIB as u64 + 5) };
        let copied = if small { engine.copy_small(&transfer) } else { copy(&engine, transfer) }.unwrap();
        target.sync().unwrap();
        let content = std::fs::read(&path).unwrap();
        assert_eq!(copied, Copied { bytes: 3 * MIB as u64 + 5, digest: Some(digest_of(&content)) });
        assert!(std::fs::metadata(&path).unwrap().blocks() * 512 >= 3 * MIB as u64);
    }
}

#[test]
fn bc_21_a_file_of_unknown_size_is_read_to_its_end() {
    let ground = Ground::new();
    let (random, _) = open_root(Path::new("/proc/sys/kernel/random")).unwrap();
    let source = Arc::new(random.open_file(b"uuid", Access::Buffered).unwrap());
    let (path, target) = ground.target();
    let engine = engine(Route::Auto);
    assert!(engine.small_below_bytes() > 0, "a length of 0 is small");
    let copied = engine.copy_small(&transfer(&source, &target, 0)).unwrap();
    let content = std::fs::read(path).unwrap();
    assert_eq!(copied, Copied { bytes: 37, digest: Some(digest_of(&content)) });
}

#[test]
fn bc_14_a_file_without_end_is_given_up() {
    let ground = Ground::new();
    let (devices, _) = open_root(Path::new("/dev")).unwrap();
    let source = Arc::new(devices.open_file(b"zero", Access::Buffered).unwrap());
    let cancel = Cancel::new();
    let engine = Engine::start(&settings(Route::Auto), &cancel).unwrap();
    let small = engine.digest(&source, 0);
    assert!(
        matches!(&small, Err(TransferError::Read { source, .. }) if source.kind() == std::io::ErrorKind::FileTooLarge),
        "{small:?}"
    );
    cancel.raise();
    cancel.raise();
    let (_, target) = ground.target();
    assert!(matches!(engine.copy_small(&transfer(&source, &target, 0)), Err(TransferError::Aborted)));
}

#[test]
fn a_source_shorter_than_said_ends_where_it_ends() {
    let ground = Ground::new();
    for route in [Route::Auto, Route::Buffered] {
        let engine = engine(route);
        for size in [0, 1, 4096, BLOCK - 1, BLOCK, BLOCK + 1, 9 * BLOCK + 4096, 9 * BLOCK + 7] {
            let content = bytes(size);
            let source = ground.write("source", &content);
            let wanted = Copied { bytes: size as u64, digest: Some(digest_of(&content)) };
            for said in [size + 1, size + 5 * BLOCK, 40 * BLOCK] {
                let (path, target) = ground.target();
                let copied =
                    copy(&engine, Transfer { holes: Holes::Fill, ..transfer(&source, &target, said as u64) });
                assert_eq!(copied.unwrap(), wanted, "{size} of {said}, {route:?}");
                assert!(std::fs::read(path).unwrap() == content, "{size} of {said}, {route:?}");
            }
        }
    }
}

#[test]
fn bc_35_a_source_that_grew_is_not_cut_unseen_nor_chased() {
    let ground = Ground::new();
    for route in [Route::Auto, Route::Buffered] {
        let engine = engine(route);
        for (said, size) in
            [(0, 5), (4096, 4097), (BLOCK, BLOCK + 100), (3 * BLOCK, 50 * BLOCK), (BLOCK + 9, 2 * BLOCK + 1)]
        {
            let content = bytes(size);
            let source = ground.write("source", &content);
            let (path, target) = ground.target();
            let copied = copy(&engine, transfer(&source, &target, said as u64)).unwrap();
            let length = usize::try_from(copied.bytes).unwrap();
            assert!(length > said && length <= said + BLOCK, "{length} of {said}, {route:?}");
            assert!(std::fs::read(path).unwrap() == content[..length]);
            assert_eq!(copied.digest, Some(digest_of(&content[..length])));
        }
    }
}

#[test]
fn bc_37_length_and_digest_are_those_of_the_target_whatever_the_source_does() {
    let ground = Ground::new();
    let size = 16 * MIB;
    let source = ground.write("source", &bytes(size));
    let stop = AtomicBool::new(false);
    let engine = engine(Route::Auto);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = std::fs::OpenOptions::new().write(true).open(ground.path("source")).unwrap();
            let mut length = size as u64;
            while !stop.load(Ordering::Relaxed) {
                length = (length * 7 + 12_345) % (size as u64 + MIB as u64);
                file.set_len(length).unwrap();
                file.write_all_at(b"end", length).unwrap();
            }
        });
        // In a panic too, or the other thread would be waited for in vain.
        let _stopping = Stopping(&stop);
        for _ in 0..12 {
            let (path, target) = ground.target();
            let copied = copy(&engine, transfer(&source, &target, size as u64)).unwrap();
            let content = std::fs::read(&path).unwrap();
            assert_eq!(copied, Copied { bytes: content.len() as u64, digest: Some(digest_of(&content)) });
            std::fs::remove_file(path).unwrap();
        }
    });
}

#[test]
fn an_abort_ends_what_is_open_and_what_comes() {
    let ground = Ground::new();
    let memory = Ground::below(Path::new("/dev/shm"));
    let cancel = Cancel::new();
    let engine = Engine::start(&settings(Route::Auto), &cancel).unwrap();
    let source = ground.write_sparse("large", 1 << 40, &[]);
    let answers: Vec<_> =
        (0..8).map(|_| submit(&engine, transfer(&source, &memory.target().1, 1 << 40))).collect();
    assert!(answers[0].recv_timeout(Duration::from_millis(50)).is_err(), "a TiB of zeros takes its time");
    cancel.raise();
    assert!(answers[0].recv_timeout(Duration::from_millis(50)).is_err(), "a drain lets it finish");
    cancel.raise();
    for answer in answers {
        assert!(matches!(answer.recv_timeout(Duration::from_secs(10)).unwrap(), Err(TransferError::Aborted)));
    }
    assert!(matches!(
        copy(&engine, transfer(&source, &memory.target().1, 1 << 40)),
        Err(TransferError::Aborted)
    ));
    assert!(matches!(engine.digest(&source, 1 << 40), Err(TransferError::Aborted)));
}

#[test]
fn errors_say_which_side_and_where() {
    let ground = Ground::new();
    let engine = engine(Route::Auto);
    let content = bytes(5 * BLOCK);
    let source = ground.write("source", &content);
    // A file that is open for reading alone cannot be written: EBADF.
    let target = ground.write("target", b"");
    for small in [false, true] {
        let transfer = transfer(&source, &target, content.len() as u64);
        let result = if small { engine.copy_small(&transfer) } else { copy(&engine, transfer) };
        assert!(matches!(result, Err(TransferError::Write { .. })), "{result:?}");
    }
    // Nothing is mapped at address 0: EIO.
    let (own, _) = open_root(Path::new("/proc/self/task")).unwrap();
    let own = own.open_dir(std::process::id().to_string().as_bytes()).unwrap();
    let source = Arc::new(own.open_file(b"mem", Access::Buffered).unwrap());
    let (_, target) = ground.target();
    let whole = || transfer(&source, &target, content.len() as u64);
    let result = engine.copy_small(&whole());
    assert!(matches!(result, Err(TransferError::Read { offset: 0, .. })), "{result:?}");
    // Several workers read at once, and the first that fails tells its own place.
    let is_at_a_block = |error: &TransferError| match error {
        TransferError::Read { offset, .. } => {
            offset.is_multiple_of(BLOCK as u64) && *offset < content.len() as u64
        }
        _ => false,
    };
    for error in
        [copy(&engine, whole()).unwrap_err(), engine.digest(&source, content.len() as u64).unwrap_err()]
    {
        assert!(is_at_a_block(&error), "{error:?}");
    }
    // One failure leaves the engine as it was.
    let (_, target) = ground.target();
    copy(&engine, transfer(&ground.open("source"), &target, content.len() as u64)).unwrap();
}

#[test]
fn bc_41_a_full_place_is_a_write_error() {
    let Some(mounted) = Mounted::new(&["-t", "tmpfs", "-o", "size=1m", "tmpfs"], None) else {
        return skipped("bc_41_a_full_place_is_a_write_error", "cannot mount a tmpfs");
    };
    let (from, to) = (Ground::new(), Ground::below(mounted.folder.path()));
    let source = from.write("source", &bytes(3 * MIB));
    for route in [Route::Auto, Route::Buffered] {
        let engine = engine(route);
        for small in [false, true] {
            let (path, target) = to.target();
            let transfer = transfer(&source, &target, 3 * MIB as u64);
            let result = if small { engine.copy_small(&transfer) } else { copy(&engine, transfer) };
            assert!(
                matches!(&result, Err(TransferError::Write { source, .. }) if source.kind() == std::io::ErrorKind::StorageFull),
                "{result:?}"
            );
            drop(target);
            std::fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn one_block_of_memory_is_enough() {
    let ground = Ground::new();
    let content = bytes(3 * MIB + 11);
    let source = ground.write("source", &content);
    let narrow = Settings { memory_bytes: 64 << 10, queues: 4, depth: 4, ..settings(Route::Auto) };
    let engine = Engine::start(&narrow, &Cancel::new()).unwrap();
    assert_eq!(engine.meters().len(), 1);
    let answers: Vec<_> = (0..8)
        .map(|_| {
            let (path, target) = ground.target();
            (path, submit(&engine, transfer(&source, &target, content.len() as u64)))
        })
        .collect();
    assert_eq!(engine.digest(&source, content.len() as u64).unwrap(), digest_of(&content));
    for (path, answer) in answers {
        assert_eq!(
            answer.recv_timeout(Duration::from_secs(60)).unwrap().unwrap().digest,
            Some(digest_of(&content))
        );
        assert!(std::fs::read(path).unwrap() == content);
    }
}

#[test]
fn dropping_the_engine_finishes_what_it_has() {
    let ground = Ground::new();
    let content = bytes(8 * MIB);
    let source = ground.write("source", &content);
    let engine = engine(Route::Auto);
    let answers: Vec<_> = (0..8)
        .map(|_| submit(&engine, transfer(&source, &ground.target().1, content.len() as u64)))
        .collect();
    drop(engine);
    for answer in answers {
        assert_eq!(answer.try_recv().unwrap().unwrap().bytes, content.len() as u64);
    }
}

#[test]
fn a_panic_in_an_answer_harms_no_other_transfer() {
    let ground = Ground::new();
    let content = bytes(MIB);
    let source = ground.write("source", &content);
    let engine = engine(Route::Auto);
    for _ in 0..10 {
        let (_, target) = ground.target();
        engine.submit(
            transfer(&source, &target, MIB as u64),
            Box::new(|_, _| panic!("this panic is part of a test")),
        );
    }
    let (_, target) = ground.target();
    assert_eq!(
        copy(&engine, transfer(&source, &target, MIB as u64)).unwrap().digest,
        Some(digest_of(&content))
    );
}

#[test]
fn meters_count_each_queue() {
    let ground = Ground::new();
    let source = ground.write("source", &bytes(4 * MIB));
    let engine = engine(Route::Auto);
    let (_, target) = ground.target();
    copy(&engine, transfer(&source, &target, 4 * MIB as u64)).unwrap();
    let meters = engine.meters();
    assert_eq!(meters.len(), 2);
    let sum = |of: fn(&QueueMeter) -> u64| meters.iter().map(of).sum::<u64>();
    assert_eq!(
        (sum(|meter| meter.read_bytes), sum(|meter| meter.written_bytes)),
        (4 * MIB as u64, 4 * MIB as u64)
    );
}
