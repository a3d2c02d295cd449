//! `restore`: what a destination held at a time, written elsewhere or back.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::support::{Ended, Tree, World, destination_tree, ended, tree};

/// The second at which the first run begins.
const START: i64 = 1_790_000_000;
/// Between two runs.
const STEP: i64 = 3600;

/// Small numbers from a seed (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % end as u64).unwrap()
    }
}

fn start_at(world: &World, second: i64, arguments: &[&str]) -> Ended {
    let mut command = world.command(arguments);
    command.env("TWINLANE_CLOCK", second.to_string());
    ended(&command.output().unwrap())
}

/// What is compared: kind, content, symlink text; modes of files. Of directories only that they are there.
fn essence(tree: &Tree) -> BTreeMap<PathBuf, String> {
    tree.iter()
        .filter(|(path, _)| !path.as_os_str().is_empty())
        .map(|(path, thing)| {
            let mode = if thing.kind == 'f' { thing.mode } else { 0 };
            let modified = if thing.kind == 'd' { (0, 0) } else { thing.modified };
            (path.clone(), format!("{} {mode:o} {modified:?} {}", thing.kind, thing.content))
        })
        .collect()
}

fn remove(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

/// One random edit of the source; names are few, so that they come back as other things.
fn edit(world: &World, numbers: &mut Numbers, round: usize) {
    let names = ["a", "b", "c", "d"];
    let depth = 1 + numbers.below(3);
    let mut path = world.source.clone();
    for level in 0..depth {
        path.push(names[numbers.below(names.len())]);
        if level + 1 < depth {
            if fs::symlink_metadata(&path).is_ok_and(|meta| !meta.is_dir()) {
                remove(&path);
            }
            fs::create_dir_all(&path).unwrap();
        }
    }
    match numbers.below(10) {
        0..=3 => {
            if path.is_dir() && !path.is_symlink() {
                path.push("file");
            }
            remove(&path);
            let content = format!("{round} {} {}", numbers.below(1000), "x".repeat(numbers.below(3000)));
            fs::write(&path, content).unwrap();
            let mode = [0o644, 0o600, 0o755, 0o440][numbers.below(4)];
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        4 => {
            remove(&path);
            symlink(format!("to/{}", numbers.below(50)), &path).unwrap();
        }
        5 => {
            remove(&path);
            fs::create_dir(&path).unwrap();
        }
        6 | 7 => remove(&path),
        8 => {
            let other = world.source.join(names[numbers.below(names.len())]);
            if !path.starts_with(&other) && !other.starts_with(&path) && fs::symlink_metadata(&path).is_ok() {
                remove(&other);
                fs::rename(&path, &other).unwrap();
            }
        }
        _ => {
            let other = world.source.join(format!("link{}", numbers.below(3)));
            if fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file()) {
                remove(&other);
                fs::hard_link(&path, &other).unwrap();
            }
        }
    }
}

/// A random history of runs; what the destination held after each.
fn history(world: &World, numbers: &mut Numbers, runs: usize) -> Vec<Tree> {
    let mut held = Vec::new();
    for round in 0..runs {
        for _ in 0..1 + numbers.below(5) {
            edit(world, numbers, round);
        }
        fs::write(world.source.join("always"), round.to_string()).unwrap();
        let second = START + STEP * i64::try_from(round).unwrap();
        start_at(
            world,
            second,
            &["run", "j", "--limit", "remove=none", "--limit", "replace=none", "--accept", "destination"],
        )
        .expect(0);
        held.push(destination_tree(&world.destination));
    }
    held
}

fn restores_every_time(mode: &str, seed: u64) {
    let world = World::with(mode, "limits: {min_free: none}");
    // What was there before the first run has no row in the catalog.
    world.files([("T/a/x", "x"), ("T/a/b/z", "z"), ("T/b/c", "c"), ("T/d", "d"), ("T/adopted/x", "x")]);
    world.shell("cp -a T/. S/");
    let mut numbers = Numbers(seed);
    let runs = 25;
    let held = history(&world, &mut numbers, runs);
    let end = START + STEP * i64::try_from(runs).unwrap();
    for trial in 0..20 {
        let after = numbers.below(runs);
        let run = START + STEP * i64::try_from(after).unwrap();
        let second = run + i64::try_from(numbers.below(usize::try_from(STEP).unwrap())).unwrap();
        let at = at(second);
        let to = world.path(&format!("restored-{trial}"));
        start_at(&world, end, &["restore", "j", "--at", &at, "--to", to.to_str().unwrap()]).expect(0);
        let (expected, found) = (essence(&held[after]), essence(&tree(&to)));
        assert_eq!(expected, found, "{mode}, seed {seed}, after run {after}, {at}");
    }
}

fn at(second: i64) -> String {
    chrono::DateTime::from_timestamp(second, 0).unwrap().format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[test]
fn a_mirror_gives_back_what_it_held_at_any_time() {
    for seed in [1, 2, 3] {
        restores_every_time("mirror", seed);
    }
}

#[test]
fn a_backup_gives_back_what_it_held_at_any_time() {
    for seed in [4, 5, 6] {
        restores_every_time("backup", seed);
    }
}
