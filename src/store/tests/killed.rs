//! What kills leave, and what recovery makes of it.

use super::*;

/// A run's marker and the lines it announced.
fn begun(ground: &Ground, announced: &[(u64, &str, Kind)]) -> Store {
    let store = ground.store();
    store.begin(run()).unwrap();
    let versions = store.versions(run());
    for (number, path, kind) in announced {
        versions.announce(stage(*number).as_bytes(), &rel(path), *kind).unwrap();
    }
    drop(versions);
    store
}

#[test]
fn an_old_entry_under_a_stage_name_goes_to_versions() {
    let ground = Ground::new();
    let store = begun(&ground, &[(1, "a/d", Kind::File), (2, "a/f", Kind::Directory)]);
    // Exchanged, and killed before the old ones were renamed.
    ground.write("a/d", "new file");
    ground.write(&format!("a/{}/deep/x", stage(1)), "only copy");
    ground.write("a/f/inside", "new directory");
    ground.write(&format!("a/{}", stage(2)), "only copy too");
    let recovered = store.recover(&ground.root).unwrap();
    assert_eq!(recovered.rescued, [rel("a/d"), rel("a/f")]);
    assert_eq!((recovered.runs, recovered.messages.len()), (vec![run()], 0));
    assert_eq!(ground.version(run(), "a/d/deep/x").unwrap(), "only copy");
    assert_eq!(ground.version(run(), "a/f").unwrap(), "only copy too");
    assert_eq!(ground.read("a/d").unwrap(), "new file");
    assert_eq!(ground.read("a/f/inside").unwrap(), "new directory");
    // Again: nothing left to do, the marker still there.
    let again = store.recover(&ground.root).unwrap();
    assert_eq!((again.rescued.len(), again.runs), (0, vec![run()]));
    store.clear_marker(run()).unwrap();
    assert_eq!(store.recover(&ground.root).unwrap(), Recovered::default());
}

#[test]
fn an_unused_stage_goes_and_the_name_stays() {
    let ground = Ground::new();
    let store = begun(&ground, &[(1, "d", Kind::File), (2, "f", Kind::Directory), (3, "gone/x", Kind::File)]);
    ground.write("d/x", "old directory");
    ground.write(&stage(1), "staged");
    ground.write("f", "old file");
    ground.write(&format!("{}/half", stage(2)), "staged");
    ground.write(&stage(7), "a stage that nobody announced is cleared by whoever planned it");
    let recovered = store.recover(&ground.root).unwrap();
    assert_eq!(recovered.rescued, []);
    assert_eq!(ground.read("d/x").unwrap(), "old directory");
    assert_eq!(ground.read("f").unwrap(), "old file");
    assert!(!ground.path.join(stage(1)).exists() && !ground.path.join(stage(2)).exists());
    assert!(ground.path.join(stage(7)).exists());
}

#[test]
fn without_exchange_the_absent_name_gets_its_old_entry_back() {
    let ground = Ground::new();
    let store = begun(&ground, &[(1, "d", Kind::File)]);
    ground.write(&format!(".twinlane/versions/{}/d/x", run()), "old");
    ground.write(&stage(1), "new");
    let recovered = store.recover(&ground.root).unwrap();
    assert_eq!(recovered.messages.len(), 1);
    assert_eq!(ground.read("d/x").unwrap(), "old");
    assert!(!ground.path.join(stage(1)).exists());
    assert!(store.recover(&ground.root).unwrap().messages.is_empty());
}

#[test]
fn a_version_is_never_overwritten_by_a_rescue() {
    let ground = Ground::new();
    let store = begun(&ground, &[(1, "a/f", Kind::Directory)]);
    ground.write(&format!(".twinlane/versions/{}/a/f", run()), "first");
    ground.write(&format!("a/{}", stage(1)), "second");
    let recovered = store.recover(&ground.root).unwrap();
    assert_eq!(recovered.rescued, [rel("a").join(stage(1).as_bytes())]);
    assert_eq!(ground.version(run(), "a/f").unwrap(), "first");
    assert_eq!(ground.version(run(), &format!("a/{}", stage(1))).unwrap(), "second");
    assert_eq!(recovered.messages.len(), 1);
}

#[test]
fn versions_that_are_still_the_name_are_dropped() {
    let ground = Ground::new();
    let store = begun(&ground, &[]);
    let versions = store.versions(run());
    let original = OriginalDirectory { root: &ground.root };
    for path in ["a/b/kept", "a/replaced", "c/link"] {
        ground.write(path, "old");
    }
    fs::remove_file(ground.path.join("c/link")).unwrap();
    symlink("x", ground.path.join("c/link")).unwrap();
    for path in ["a/b/kept", "a/replaced", "c/link"] {
        let path = rel(path);
        let directory = ground.root.open_below(&path.parent().unwrap()).unwrap();
        versions.keep(original, &directory, path.name(), &path).unwrap();
    }
    ground.write("staged", "new");
    fs::rename(ground.path.join("staged"), ground.path.join("a/replaced")).unwrap();
    fs::write(ground.home(&format!("partial/{}/copy-3", run())), "half a copy").unwrap();
    fs::write(ground.home(&stage(u64::MAX)), "left by a probe").unwrap();
    let recovered = store.recover(&ground.root).unwrap();
    assert_eq!(recovered.dropped, 2);
    let versions = format!("versions/{}", run());
    let expected = [
        "partial".to_owned(),
        format!("partial/{}", run()),
        "versions".to_owned(),
        versions.clone(),
        format!("{versions}/a"),
        format!("{versions}/a/replaced"),
    ];
    assert_eq!(ground.listing(), expected);
    assert_eq!(ground.read("a/b/kept").unwrap(), "old");
}

/// A run whose announcements cannot be read may have left an only copy under any of its stage names.
#[test]
fn what_cannot_be_settled_is_left_alone_and_said() {
    let ground = Ground::new();
    let store = begun(&ground, &[]);
    store.begin(later(1)).unwrap();
    fs::write(ground.home(&format!("partial/{}/pending", run())), "what\n").unwrap();
    ground.write(&stage(1), "perhaps the only copy");
    let recovered = store.recover(&ground.root).unwrap();
    assert_eq!(recovered.runs, [later(1)]);
    assert!(recovered.messages[0].contains("pending"), "{:?}", recovered.messages);
    assert_eq!(store.unfinished_runs().unwrap(), [later(1)]);
    store.clear_marker(run()).unwrap();
    assert!(ground.home(&format!("partial/{}/pending", run())).exists());
    assert_eq!(ground.read(&stage(1)).unwrap(), "perhaps the only copy");
}

#[test]
fn another_runs_stage_or_a_users_file_is_never_taken_for_one() {
    let ground = Ground::new();
    let store = begun(&ground, &[]);
    let other = StageName { run: later(1), number: 1 }.to_string();
    ground.write(&other, "another run's");
    let line = format!(
        "{{\"format\":1,\"stage\":\"{other}\",\"path\":\"f\",\"version\":\"f\",\"kind\":\"directory\"}}\n"
    );
    fs::write(ground.home(&format!("partial/{}/pending", run())), line).unwrap();
    assert_eq!(store.recover(&ground.root).unwrap().messages.len(), 1);
    assert_eq!(ground.read(&other).unwrap(), "another run's");
}

const CHILD: &str = "TWINLANE_TEST_KILLED_IN";

/// What a run does to three names, call by call: a replacement, a change of kind in each direction, a removal.
fn small_run(root: &Dir) -> Result<(), Box<dyn std::error::Error>> {
    let store = Store::create(root)?;
    store.begin(run())?;
    let versions = store.versions(run());
    let original = OriginalDirectory { root };
    let directory = root.open_dir(b"a")?;
    let staged = |number: u64, text: &[u8]| -> Result<String, Box<dyn std::error::Error>> {
        let name = stage(number);
        let file = directory.create_file(name.as_bytes())?;
        file.write_at(text, 0)?;
        file.sync()?;
        Ok(name)
    };
    let name = staged(1, b"new")?;
    versions.keep(original, &directory, b"file", &rel("a/file"))?;
    directory.rename(name.as_bytes(), &directory, b"file", RenameMode::Replace)?;
    let name = staged(2, b"new")?;
    versions.announce(name.as_bytes(), &rel("a/dir"), Kind::File)?;
    directory.rename(name.as_bytes(), &directory, b"dir", RenameMode::Exchange)?;
    versions.take(original, &directory, name.as_bytes(), &rel("a/dir"), true)?;
    let name = stage(3);
    directory.make_dir(name.as_bytes(), 0o700)?;
    versions.announce(name.as_bytes(), &rel("a/other"), Kind::Directory)?;
    directory.rename(name.as_bytes(), &directory, b"other", RenameMode::Exchange)?;
    versions.take(original, &directory, name.as_bytes(), &rel("a/other"), false)?;
    versions.take(original, &directory, b"extra", &rel("a/extra"), false)?;
    versions.sync_directories()?;
    versions.finish()?;
    store.clear_marker(run())?;
    Ok(())
}

/// Not a test of its own: the process that [`killed_at_every_call_nothing_is_lost`] starts and kills.
#[test]
#[ignore = "the child of another test"]
fn child() {
    let Some(folder) = std::env::var_os(CHILD) else { return };
    let (root, _) = open_root(Path::new(&folder)).unwrap();
    small_run(&root).unwrap();
}

/// After a child that was hit at a call: recovers twice, then holds every name and version to the promises.
fn nothing_is_lost(ground: &Ground, at: &str) {
    let Some(store) = Store::find(&ground.root).unwrap() else { return };
    for _ in 0..2 {
        let recovered = store.recover(&ground.root).unwrap();
        assert_eq!(recovered.messages, [] as [&str; 0], "{at}");
    }
    let kept = |path: &str, new: bool| {
        assert_eq!(ground.version(run(), path).as_deref(), new.then_some("old"), "{at}: {path}");
    };
    match ground.read("a/file").unwrap().as_str() {
        "old" => kept("a/file", false),
        "new" => kept("a/file", true),
        other => panic!("{at}: {other}"),
    }
    if ground.path.join("a/dir").is_dir() {
        assert_eq!(ground.read("a/dir/x").unwrap(), "old", "{at}");
        kept("a/dir/x", false);
    } else {
        assert_eq!(ground.read("a/dir").unwrap(), "new", "{at}");
        kept("a/dir/x", true);
    }
    assert!(ground.path.join("a/other").exists(), "{at}");
    kept("a/other", ground.path.join("a/other").is_dir());
    kept("a/extra", ground.read("a/extra").is_none());
    let directory = ground.root.open_dir(b"a").unwrap();
    let unfinished = store.unfinished_runs().unwrap();
    for name in home::names(&directory).unwrap() {
        if StageName::parse(&name).is_some() {
            assert_eq!(unfinished, [run()], "{at}: a stage file without a marker");
            clear_stage(&directory, &name).unwrap();
        }
    }
    for run in unfinished {
        store.clear_marker(run).unwrap();
    }
    assert!(ground.listing().iter().all(|path| !path.starts_with("partial/")), "{at}");
}

/// Runs the small run with a fault at each call in turn, until one run meets none.
fn sweep(blow: &str) {
    const CALLS_MAX: u32 = 200;
    let program = std::env::current_exe().unwrap();
    for at in 1..CALLS_MAX {
        let ground = Ground::new();
        for path in ["a/file", "a/dir/x", "a/other", "a/extra"] {
            ground.write(path, "old");
        }
        let fault = format!("{blow}@{at}");
        let fired = ground.path.join("fired");
        let ended = std::process::Command::new(&program)
            .args(["--exact", "store::tests::killed::child", "--ignored", "--test-threads=1"])
            .env(CHILD, &ground.path)
            .env("TWINLANE_FAULT", &fault)
            .env("TWINLANE_FAULT_LOG", &fired)
            .output()
            .unwrap();
        assert!(fired.exists() || ended.status.success(), "{fault}: {ended:?}");
        nothing_is_lost(&ground, &fault);
        if !fired.exists() {
            assert!(at > 30, "the small run has more calls than {at}");
            return;
        }
    }
    panic!("the small run has more calls than that");
}

#[test]
fn killed_at_every_call_nothing_is_lost() {
    sweep("kill");
}

#[test]
fn failing_at_every_call_nothing_is_lost() {
    sweep("eio");
}

/// A link or rename answers as it does across file systems: what it was for is copied.
#[test]
fn refused_at_any_call_nothing_is_lost() {
    sweep("exdev");
}
