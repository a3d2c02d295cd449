//! Promises of the store, on temporary folders; states that a kill leaves are made by hand, and by killing a child at every call.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::*;
use crate::job::{Mode, Retention};
use crate::platform::{Clock, Dir, Environment, RenameMode, open_root};
use crate::value::{ByteCount, Case, Kind, RelPath, RunId, StageName, Stamp};

mod catalog;
mod displacing;
mod killed;
mod locking;
mod pruning;

/// A destination's root.
struct Ground {
    _folder: tempfile::TempDir,
    path: PathBuf,
    root: Dir,
}

impl Ground {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let (root, _) = open_root(&path).unwrap();
        Self { _folder: folder, path, root }
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        let file = self.path.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        file
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.path.join(path)).ok()
    }

    fn home(&self, path: &str) -> PathBuf {
        self.path.join(".twinlane").join(path)
    }

    /// The content of a version.
    fn version(&self, run: RunId, path: &str) -> Option<String> {
        fs::read_to_string(self.home(&format!("versions/{run}/{path}"))).ok()
    }

    fn store(&self) -> Store {
        Store::create(&self.root).unwrap()
    }

    /// Everything below `.twinlane`, as sorted paths.
    fn listing(&self) -> Vec<String> {
        let home = self.path.join(".twinlane");
        let walk = walkdir::WalkDir::new(&home).min_depth(1).sort_by_file_name();
        walk.into_iter()
            .map(|entry| entry.unwrap().path().strip_prefix(&home).unwrap().to_str().unwrap().to_owned())
            .collect()
    }
}

fn rel(path: &str) -> RelPath {
    RelPath::parse(path.as_bytes()).unwrap()
}

fn run() -> RunId {
    "2026-11-24T013000.123Z".parse().unwrap()
}

fn later(days: i64) -> RunId {
    RunId::at(Stamp::from_seconds(run().time().seconds + days * 86_400), None)
}

fn stage(number: u64) -> String {
    StageName { run: run(), number }.to_string()
}

fn identity() -> Identity {
    Identity {
        id: "0".repeat(32),
        job: "job".to_owned(),
        rule: "rule".to_owned(),
        mode: Mode::Backup,
        source_uuid: None,
        source_mounts: vec![],
        grain_ns: None,
        time_range: None,
        features: None,
    }
}

#[test]
fn the_home_is_private_and_made_once() {
    let ground = Ground::new();
    assert!(Store::find(&ground.root).unwrap().is_none());
    ground.store();
    fs::set_permissions(ground.home(""), fs::Permissions::from_mode(0o755)).unwrap();
    ground.store();
    assert_eq!(fs::metadata(ground.home("")).unwrap().mode() & 0o7777, 0o700);
    assert!(Store::find(&ground.root).unwrap().is_some());
    assert_eq!(ground.listing(), [] as [&str; 0]);
}

#[test]
fn the_id_goes_both_ways_and_a_damaged_one_is_set_aside() {
    let ground = Ground::new();
    let store = ground.store();
    assert_eq!(store.known().unwrap(), Known::None);
    store.write_identity(&identity(), run()).unwrap();
    assert_eq!(store.known().unwrap(), Known::Identity(identity()));
    assert_eq!(fs::metadata(ground.home("id")).unwrap().mode() & 0o7777, 0o600);
    fs::write(ground.home("id"), "{\"format\": 1").unwrap();
    assert!(matches!(store.known().unwrap(), Known::Damaged { .. }));
    // What a killed write left does not stand in the way.
    fs::write(ground.home("id.new"), "half").unwrap();
    store.write_identity(&identity(), run()).unwrap();
    assert_eq!(store.known().unwrap(), Known::Identity(identity()));
    let aside = fs::read_to_string(ground.home(&format!("id.damaged-{}", run()))).unwrap();
    assert_eq!(aside, "{\"format\": 1");
    assert!(!ground.home("id.new").exists());
}

type Attempt<'a> = Box<dyn Fn(&Ground, &Store) -> bool + 'a>;

/// BC-95: a symlink waits wherever Twinlane keeps something of its own; nothing outside is touched.
#[test]
fn bc_95_a_symlink_waits_at_a_place_of_twinlanes_own() {
    let victim = tempfile::tempdir().unwrap();
    let file = victim.path().join("file");
    fs::write(&file, "victim").unwrap();
    let holder = locking::holder("host");
    let keep = |ground: &Ground, store: &Store| {
        ground.write("f", "old");
        let original = OriginalDirectory { root: &ground.root };
        store.versions(run()).keep(original, &ground.root, b"f", &rel("f")).map(drop)
    };
    let attempts: [(&str, &Path, Attempt<'_>); 8] = [
        ("lock", &file, Box::new(|_, store| store.lock_exclusive(&holder, false, Clock::system()).is_err())),
        ("lock", &file, Box::new(|_, store| store.lock_shared().is_err())),
        ("id", &file, Box::new(|_, store| matches!(store.known(), Ok(Known::Damaged { .. })))),
        ("id", &file, Box::new(|_, store| store.write_identity(&identity(), run()).is_ok())),
        ("versions", victim.path(), Box::new(|ground, store| keep(ground, store).is_err())),
        ("partial", victim.path(), Box::new(|_, store| store.begin(run()).is_err())),
        ("catalog.db", &file, Box::new(|_, store| store.catalog(run()).unwrap().1.is_some())),
        ("catalog.db-wal", &file, Box::new(|_, store| store.catalog(run()).unwrap().1.is_some())),
    ];
    for (name, target, attempt) in attempts {
        let ground = Ground::new();
        let store = ground.store();
        symlink(target, ground.home(name)).unwrap();
        assert!(attempt(&ground, &store), "{name}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "victim", "{name}");
        assert_eq!(fs::read_dir(victim.path()).unwrap().count(), 1, "{name}");
    }
    let ground = Ground::new();
    symlink(victim.path(), ground.home("")).unwrap_or_else(|_| {
        symlink(victim.path(), ground.path.join(".twinlane")).unwrap();
    });
    assert!(matches!(Store::find(&ground.root), Err(StoreError::NotADirectory)));
    assert!(matches!(Store::create(&ground.root), Err(StoreError::NotADirectory)));
    // A hard link to somebody's file is no lock: its record would overwrite the file.
    let ground = Ground::new();
    let store = ground.store();
    let precious = ground.write("precious", "victim");
    fs::hard_link(&precious, ground.home("lock")).unwrap();
    assert!(matches!(store.lock_exclusive(&holder, false, Clock::system()), Err(StoreError::Planted { .. })));
    assert_eq!(ground.read("precious").unwrap(), "victim");
}

#[test]
fn bc_95_a_symlink_below_versions_is_not_followed() {
    let victim = tempfile::tempdir().unwrap();
    let ground = Ground::new();
    let store = ground.store();
    store.begin(run()).unwrap();
    ground.write("d/f", "old");
    fs::create_dir_all(ground.home(&format!("versions/{}", run()))).unwrap();
    symlink(victim.path(), ground.home(&format!("versions/{}/d", run()))).unwrap();
    let directory = ground.root.open_dir(b"d").unwrap();
    let original = OriginalDirectory { root: &ground.root };
    assert!(store.versions(run()).keep(original, &directory, b"f", &rel("d/f")).is_err());
    assert!(store.versions(run()).take(original, &directory, b"f", &rel("d/f"), true).is_err());
    assert_eq!(ground.read("d/f").unwrap(), "old");
    assert_eq!(fs::read_dir(victim.path()).unwrap().count(), 0);
}

#[test]
fn markers_are_there_once_and_tell_the_newest_run() {
    let ground = Ground::new();
    let store = ground.store();
    assert_eq!(store.newest_run().unwrap(), None);
    store.begin(run()).unwrap();
    assert!(store.begin(run()).is_err(), "a run begins once");
    fs::create_dir_all(ground.home(&format!("versions/{}", later(1)))).unwrap();
    fs::create_dir_all(ground.home("versions/notes")).unwrap();
    assert_eq!(store.newest_run().unwrap(), Some(later(1)));
    assert_eq!(store.unfinished_runs().unwrap(), [run()]);
    store.clear_marker(run()).unwrap();
    store.clear_marker(run()).unwrap();
    assert_eq!(store.unfinished_runs().unwrap(), []);
}

#[test]
fn bc_43_only_stage_names_are_cleared_and_nothing_is_followed() {
    let ground = Ground::new();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("file"), "victim").unwrap();
    let deep = format!("{}/a/b/c/d", stage(1));
    ground.write(&format!("{deep}/f"), "x");
    ground.write(&format!("{}/a/g", stage(1)), "x");
    symlink(outside.path(), ground.path.join(&deep).join("link")).unwrap();
    ground.write(&stage(2), "x");
    symlink(outside.path(), ground.path.join(stage(3))).unwrap();
    for number in 1..=4 {
        clear_stage(&ground.root, stage(number).as_bytes()).unwrap();
        assert!(fs::symlink_metadata(ground.path.join(stage(number))).is_err());
    }
    assert_eq!(fs::read_to_string(outside.path().join("file")).unwrap(), "victim");
    let alike = format!("{}.txt", stage(5));
    ground.write(&alike, "mine");
    assert!(clear_stage(&ground.root, alike.as_bytes()).is_err());
    assert_eq!(ground.read(&alike).unwrap(), "mine");
}

#[test]
fn a_tree_deeper_than_a_path_may_be_long_is_removed() {
    let ground = Ground::new();
    let name = stage(1);
    ground.root.make_dir(name.as_bytes(), 0o700).unwrap();
    let mut at = ground.root.open_dir(name.as_bytes()).unwrap();
    let long = [b'n'; 200];
    for _ in 0..60 {
        at.make_dir(&long, 0o700).unwrap();
        drop(at.create_file(b"f").unwrap());
        let below = at.open_dir(&long).unwrap();
        crate::platform::Attributes::set_mode(&at, 0o500).unwrap();
        at = below;
    }
    clear_stage(&ground.root, name.as_bytes()).unwrap();
    assert!(ground.root.find(name.as_bytes()).unwrap().is_none());
}

#[test]
fn a_probe_tells_what_the_place_holds_and_leaves_nothing() {
    let ground = Ground::new();
    let store = ground.store();
    let mut place = crate::platform::place_at(&ground.root, &ground.path).unwrap();
    let probe = store.probe(&place, run()).unwrap();
    assert_eq!(ground.listing(), [] as [&str; 0]);
    assert_eq!(probe.features.file_system, place.file_system);
    if matches!(place.file_system.as_str(), "ext4" | "xfs" | "btrfs" | "tmpfs") {
        assert_eq!(probe.grain_ns, 1);
        let features = &probe.features;
        assert!(features.hard_links && features.symlinks && features.exchange && features.owners);
        assert!(!features.ignores_case);
        assert!(probe.time_range.0 <= Stamp::from_seconds(-2_147_483_648), "{probe:?}");
        assert!(probe.time_range.1 >= Stamp::from_seconds(2_147_483_647), "{probe:?}");
    }
    if place.file_system == "ext4" && probe.time_range.1.seconds > i64::from(u32::MAX) {
        assert_eq!(probe.time_range.1.seconds, 15_032_385_535, "34 bits from 1901 on");
        assert_eq!(probe.time_range.0.seconds, -2_147_483_648);
    }
    let found = Identity {
        grain_ns: Some(2_000_000_000),
        features: Some(Features { ignores_case: true, ..probe.features.clone() }),
        ..identity()
    };
    let before = place.clone();
    place.file_system = "vfat".to_owned();
    found.mend(&mut place);
    assert_eq!(place.grain_ns, before.grain_ns, "found out on another type of file system");
    place.file_system.clone_from(&before.file_system);
    found.mend(&mut place);
    assert_eq!((place.grain_ns, place.case), (2_000_000_000, Case::Insensitive));
}

#[test]
fn errors_name_the_attempt_and_not_the_source_twice() {
    let reason = || io::Error::other("no luck");
    let errors = [
        (
            failed("sync", b"versions/a\nb")(reason()),
            "cannot sync `.twinlane/versions/a\\nb`",
            Some("no luck"),
        ),
        (
            StoreError::Catalog { source: rusqlite::Error::InvalidQuery },
            "the catalog cannot be used",
            Some("Query is not read-only"),
        ),
        (StoreError::NotADirectory, "`.twinlane` is not a directory", None),
        (
            StoreError::Planted { path: "lock".to_owned() },
            "`.twinlane/lock` is not a plain file of Twinlane's own; look at it, then take it away",
            None,
        ),
    ];
    for (error, text, source) in errors {
        assert_eq!(error.to_string(), text);
        assert_eq!(std::error::Error::source(&error).map(ToString::to_string).as_deref(), source);
    }
}
