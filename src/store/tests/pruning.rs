//! Pruning from the tree itself.

use super::*;

const KEEP_14_DAYS: Retention = Retention {
    keep_for: Some(Duration::from_secs(14 * 86_400)),
    keep_last: None,
    max_size: None,
    when_full: crate::job::WhenFull::Refuse,
};

fn displaced(ground: &Ground, days: i64, path: &str, text: &str) {
    ground.write(&format!(".twinlane/versions/{}/{path}", later(days)), text);
}

fn at(days: i64) -> Stamp {
    later(days).time()
}

#[test]
fn what_is_due_goes_with_its_empty_directories() {
    let ground = Ground::new();
    let store = ground.store();
    displaced(&ground, 0, "a/b/f", "old");
    fs::create_dir_all(ground.home(&format!("versions/{}/empty", later(0)))).unwrap();
    fs::create_dir_all(ground.home(&format!("versions/{}", later(1)))).unwrap();
    displaced(&ground, 10, "a/b/f", "newer");
    fs::create_dir_all(ground.home("versions/notes")).unwrap();
    let prunable = store.prunable(&KEEP_14_DAYS, at(20)).unwrap();
    assert_eq!(prunable.versions, 3);
    let pruned = store.prune(&KEEP_14_DAYS, at(20), later(20)).unwrap();
    assert_eq!(pruned, prunable);
    assert!(pruned.bytes.0 > 0 && !pruned.distrusted_clock && pruned.failed == 0);
    assert!(!ground.home(&format!("versions/{}", later(0))).exists());
    assert!(!ground.home(&format!("versions/{}", later(1))).exists());
    assert_eq!(ground.version(later(10), "a/b/f").unwrap(), "newer");
    assert!(ground.home("versions/notes").exists());
    assert_eq!(store.prune(&KEEP_14_DAYS, at(20), later(20)).unwrap(), Pruned::default());
}

#[test]
fn a_clock_that_is_behind_or_far_ahead_prunes_nothing() {
    let ground = Ground::new();
    let store = ground.store();
    displaced(&ground, 0, "f", "old");
    displaced(&ground, 50, "f", "new");
    for day in [49, 81] {
        let pruned = store.prune(&KEEP_14_DAYS, at(day), later(90)).unwrap();
        assert!(pruned.distrusted_clock && pruned.versions == 0, "{day}");
        assert!(store.prunable(&KEEP_14_DAYS, at(day)).unwrap().distrusted_clock);
        assert_eq!(store.release_oldest(ByteCount(1), at(day), later(90)).unwrap().versions, 0);
        assert_eq!(store.releasable(at(day)).unwrap(), ByteCount(0));
    }
    // Nothing due: nothing to say.
    let pruned = store.prune(&Retention::default(), at(49), later(90)).unwrap();
    assert!(!pruned.distrusted_clock);
    // A run that displaced nothing is known from the lock's record, which the clock is then measured by.
    let holder = Holder { run: later(80).to_string(), ..locking::holder("here") };
    drop(locking::held(|| store.lock_exclusive(&holder, false, Clock::system())));
    let holder = Holder { run: later(81).to_string(), ..locking::holder("here") };
    let _lock = locking::held(|| store.lock_exclusive(&holder, false, Clock::system()));
    assert_eq!(store.prune(&KEEP_14_DAYS, at(81), later(81)).unwrap().versions, 2);
}

#[test]
fn nothing_is_followed_out_of_versions_and_the_current_run_stays() {
    let ground = Ground::new();
    let store = ground.store();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("file"), "victim").unwrap();
    displaced(&ground, 0, "a/f", "old");
    symlink(outside.path(), ground.home(&format!("versions/{}/a/link", later(0)))).unwrap();
    displaced(&ground, 19, "g", "current");
    let keep_nothing = Retention { keep_for: Some(Duration::ZERO), ..KEEP_14_DAYS };
    let pruned = store.prune(&keep_nothing, at(20), later(19)).unwrap();
    assert_eq!(pruned.versions, 2);
    assert_eq!(fs::read_to_string(outside.path().join("file")).unwrap(), "victim");
    assert_eq!(ground.version(later(19), "g").unwrap(), "current");
}

#[test]
fn room_is_counted_once_per_inode_and_only_where_the_last_name_goes() {
    let ground = Ground::new();
    let store = ground.store();
    let text = "x".repeat(100_000);
    displaced(&ground, 0, "shared", &text);
    displaced(&ground, 0, "live", &text);
    displaced(&ground, 10, "other", "y");
    let version = |days, path: &str| ground.home(&format!("versions/{}/{path}", later(days)));
    fs::hard_link(version(0, "shared"), version(10, "shared")).unwrap();
    fs::hard_link(version(0, "live"), ground.path.join("live")).unwrap();
    assert_eq!(store.prunable(&KEEP_14_DAYS, at(20)).unwrap(), Pruned { versions: 2, ..Pruned::default() });
    let both = store.prunable(&KEEP_14_DAYS, at(30)).unwrap();
    assert_eq!(both.versions, 4);
    assert!(both.bytes.0 >= 100_000 && both.bytes.0 < 200_000, "{both:?}");
    // The ceiling holds what versions alone hold: about 100 KB here, so nothing is above 150 KB.
    let ceiling = Retention { keep_for: None, max_size: Some(ByteCount(150_000)), ..KEEP_14_DAYS };
    assert_eq!(store.prunable(&ceiling, at(20)).unwrap().versions, 0);
}

#[test]
fn a_full_disk_takes_the_oldest_but_never_the_last_day() {
    let ground = Ground::new();
    let store = ground.store();
    for day in [0, 5, 19] {
        displaced(&ground, day, "f", &"x".repeat(10_000));
    }
    let now = Stamp { seconds: at(19).seconds + 3600, nanos: 0 };
    assert!(store.releasable(now).unwrap().0 >= 20_000);
    let released = store.release_oldest(ByteCount(1), now, later(20)).unwrap();
    assert_eq!(released.versions, 1);
    assert!(ground.version(later(0), "f").is_none() && ground.version(later(5), "f").is_some());
    let released = store.release_oldest(ByteCount(u64::MAX), now, later(20)).unwrap();
    assert_eq!(released.versions, 1);
    assert!(ground.version(later(19), "f").is_some());
}

#[test]
fn a_read_only_directory_under_versions_is_no_obstacle() {
    let ground = Ground::new();
    let store = ground.store();
    displaced(&ground, 0, "a/f", "old");
    displaced(&ground, 15, "a/g", "new");
    for days in [0, 15] {
        let directory = ground.home(&format!("versions/{}/a", later(days)));
        fs::set_permissions(directory, fs::Permissions::from_mode(0o555)).unwrap();
    }
    assert_eq!(store.prune(&KEEP_14_DAYS, at(20), later(20)).unwrap().versions, 1);
    assert!(!ground.home(&format!("versions/{}", later(0))).exists());
}
