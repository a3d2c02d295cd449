//! Chapter 8: runs that end early, their locks, and what is durable.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::support::{FileSystem, World, ended};

const OPEN: &str = "limits: {remove: none, replace: none}";

fn stages(world: &World, below: &str) -> Vec<PathBuf> {
    walkdir::WalkDir::new(world.path(below))
        .into_iter()
        .map(|entry| entry.unwrap().into_path())
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(".twinlane-"))
        .collect()
}

/// Enough to be killed in the middle of.
fn crowded(options: &str) -> World {
    let world = World::with("mirror", &format!("{OPEN}{options}"));
    world.many(50);
    fs::write(world.path("S/big"), vec![b'o'; 3 << 20]).unwrap();
    world.run().expect(0);
    world.shell("for f in S/d00/*; do echo changed >>$f; done; mkdir S/new; for i in 1 2 3; do echo $i >S/new/$i; done");
    fs::write(world.path("S/big"), vec![b'n'; (3 << 20) + 5]).unwrap();
    world
}

#[test]
fn bc_43_stage_files_after_five_kills() {
    let world = crowded("");
    let alike = world.path("S/.twinlane-2001-01-01T000000.000Z-1");
    fs::write(&alike, "a name of exactly that form is skipped").unwrap();
    fs::write(world.path("S/.twinlane-notes"), "mine").unwrap();
    fs::write(world.path("T/.twinlane-2001-01-01T000000.000Z-2"), "of no run").unwrap();
    let mut left = 0;
    for call in [12, 25, 40, 80, 140] {
        let killed = world.run_with(&[("TWINLANE_FAULT", &format!("kill@{call}"))]);
        assert_eq!(killed.code, -9, "{call}: {killed:?}");
        left += stages(&world, "T").len();
        let verified = world.start(&["verify", "j"]).expect(0);
        let told = verified.out.contains(".twinlane-2") && !verified.out.contains(".twinlane-2001");
        assert!(!told, "a stage file is no entry of the destination: {verified:?}");
        // Another job that reads T takes no stage file along.
        world.job_text("k", "rules:\n  r: {mode: mirror, source: ../T, destination: ../U, limits: {remove: none, replace: none}}\n");
        world.start(&["run", "k"]).expect(0);
        assert_eq!(
            stages(&world, "U"),
            vec![world.path("U/.twinlane-notes")]
                .into_iter()
                .filter(|path| path.exists())
                .collect::<Vec<_>>()
        );
    }
    assert!(left > 5, "the kills left stage files: {left}");
    world.run().expect(0);
    let mut kept = stages(&world, "T");
    kept.sort();
    // The user's own stay: the look-alike of no run is not ours to clear, the other name is ordinary.
    assert_eq!(kept, [world.path("T/.twinlane-2001-01-01T000000.000Z-2"), world.path("T/.twinlane-notes")]);
    assert_eq!(fs::read_to_string(&alike).unwrap(), "a name of exactly that form is skipped");
    fs::remove_file(&alike).unwrap();
    fs::remove_file(&kept[0]).unwrap();
    world.settles();
}

#[test]
fn bc_44_a_killed_run_blocks_nobody_and_a_live_one_is_named() {
    let world = crowded("");
    let held = world.spawn(
        &["run", "j"],
        &[("TWINLANE_FAULT", "hook:touch held; while [ ! -e go ]; do sleep 0.05; done@20")],
    );
    let start = Instant::now();
    while !world.path("held").exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "the first run gets to its work");
        sleep(Duration::from_millis(20));
    }
    let refused =
        world.start(&["run", "j"]).expect(4).says("another run holds this destination").says("since");
    assert!(refused.out.contains(&held.id().to_string()), "the holder is named: {refused:?}");
    // A plan reads only, and goes on beside it or says why not.
    let plan = world.start(&["plan", "j"]);
    assert!([0, 4].contains(&plan.code), "{plan:?}");
    fs::write(world.path("go"), "").unwrap();
    ended(&held.wait_with_output().unwrap()).expect(0);
    assert_eq!(world.run_with(&[("TWINLANE_FAULT", "kill@15")]).code, 0, "nothing is left to do");
    fs::write(world.path("S/another"), "a").unwrap();
    assert_eq!(world.run_with(&[("TWINLANE_FAULT", "kill@15")]).code, -9);
    world.settles();
}

#[test]
fn bc_45_a_process_id_is_no_proof() {
    let world = World::with("mirror", OPEN);
    world.many(3);
    world.run().expect(0);
    let lock = world.path("T/.twinlane/lock");
    let record: serde_json::Value = serde_json::from_str(fs::read_to_string(&lock).unwrap().trim()).unwrap();
    let mut foreign = Command::new("sleep").arg("60").spawn().unwrap();
    let mut alive = record.clone();
    alive["process_id"] = foreign.id().into();
    alive["ended"] = false.into();
    alive["since"] = serde_json::json!([1_500_000_000, 0]);
    for text in
        [alive.to_string() + "\n", "garbage".to_owned(), String::new(), "{\"format\": 99}\n".to_owned()]
    {
        fs::write(&lock, &text).unwrap();
        fs::write(world.path("S/f"), text).unwrap();
        world.run().expect(0);
        assert_eq!(world.tree("S").len(), world.tree("T").len());
    }
    foreign.kill().unwrap();
    foreign.wait().unwrap();
    world.is_settled();
}

#[test]
fn bc_47_a_half_file_never_has_the_final_name() {
    for compare in ["mtime", "size", "hash", "mtime_then_hash"] {
        for signal in ["INT", "TERM", "KILL"] {
            let world = crowded(&format!("\ncompare: {compare}"));
            let hook = format!("hook:kill -{signal} $PPID; sleep 0.2@60");
            let ran = world.run_with(&[("TWINLANE_FAULT", &hook)]);
            let at = format!("{compare} {signal}: {ran:?}");
            let expected: &[i32] = match signal {
                "INT" => &[130],
                "TERM" => &[143],
                _ => &[-9],
            };
            assert!(expected.contains(&ran.code), "{at}");
            let big = fs::read(world.path("T/big")).unwrap();
            assert!(big == vec![b'o'; 3 << 20] || big == vec![b'n'; (3 << 20) + 5], "{at}");
            for number in 0..50 {
                let text = fs::read_to_string(world.path("T").join(format!("d00/f{number:04}"))).unwrap();
                assert!(text == format!("{number}") || text == format!("{number}changed\n"), "{at}: {text}");
            }
            if signal != "KILL" {
                assert_eq!(stages(&world, "T"), Vec::<PathBuf>::new(), "{at}");
            }
            world.settles();
        }
    }
}

/// The calls of one run that matter to a power cut, in their order.
fn traced(world: &World) -> Option<Vec<String>> {
    let calls = "trace=fsync,fdatasync,syncfs,rename,renameat,renameat2,linkat,unlinkat";
    let program = env!("CARGO_BIN_EXE_twinlane");
    let mut command = world
        .in_surroundings("strace", &["-f", "-y", "-qq", "-o", "trace", "-e", calls, program, "run", "j"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    if !command.status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: no strace(1) here");
        return None;
    }
    let text = fs::read_to_string(world.path("trace")).unwrap();
    // Only what has to do with the destination; the state has its own database.
    Some(
        text.lines()
            .filter(|line| line.contains("/T") && !line.contains("catalog.db"))
            .map(str::to_owned)
            .collect(),
    )
}

#[test]
fn bc_49_data_is_synced_before_its_rename_and_names_after_it() {
    for options in ["", "\ndurability: file"] {
        let world = crowded(options);
        let Some(calls) = traced(&world) else { return };
        let is_sync = |line: &&String| line.contains("sync(") || line.contains("syncfs(");
        let published = |line: &&String| {
            line.contains("rename") && line.contains("\".twinlane-") && !line.contains("/T/.twinlane>")
        };
        let first = calls.iter().position(|line| published(&line)).expect("a stage file gets its name");
        assert!(
            calls[..first].iter().any(|line| is_sync(&line)),
            "a sync before the first rename:\n{}",
            calls.join("\n")
        );
        let last = calls.iter().rposition(|line| published(&line)).unwrap();
        assert!(
            calls[last..].iter().any(|line| is_sync(&line)),
            "a sync after the last rename:\n{}",
            calls.join("\n")
        );
        if options.contains("file") {
            let renames = calls.iter().filter(published).count();
            let synced =
                calls.iter().filter(|line| line.contains(" fsync(") && line.contains("/.twinlane-2")).count();
            assert!(synced >= renames, "each file by itself: {synced} of {renames}");
        }
    }
    let world = crowded("\ndurability: none");
    world.start(&["plan", "j"]).expect(0).says("durability");
    world.settles();
}

#[test]
fn bc_49_a_place_that_promises_nothing_of_a_power_cut_says_so() {
    for (kind, says) in [
        (FileSystem::Ext4(&["-q", "-O", "^has_journal"]), true),
        (FileSystem::Ext4(&["-q"]), false),
        (FileSystem::Xfs, false),
        (FileSystem::Btrfs, false),
    ] {
        let mut world = World::with("mirror", OPEN);
        if !world.mount("T", kind) {
            continue;
        }
        world.many(3);
        let plan = world.start(&["plan", "j", "--accept", "destination"]).expect(0);
        assert_eq!(plan.out.contains("no journal"), says, "{kind:?}: {plan:?}");
        world.start(&["run", "j", "--accept", "destination"]).expect(0);
        world.is_settled();
        assert!(
            !world.start(&["plan", "j"]).expect(0).out.contains("no journal"),
            "nothing to do, nothing to say"
        );
    }
}
