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

/// Small numbers from a seed (`SplitMix64`).
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
    match numbers.below(13) {
        0..=3 => {
            if path.is_dir() && !path.is_symlink() {
                path.push("file");
            }
            remove(&path);
            // Half of them are large enough to be moved.
            let length = numbers.below(3000) + [0, 64 << 10][numbers.below(2)];
            let content = format!("{round} {} {}", numbers.below(1000), "x".repeat(length));
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
        9..=11 => {
            let files: Vec<_> = walkdir::WalkDir::new(&world.source)
                .sort_by_file_name()
                .into_iter()
                .filter_map(|entry| Some(entry.unwrap()).filter(|entry| entry.file_type().is_file()))
                .map(walkdir::DirEntry::into_path)
                .collect();
            if files.is_empty() {
                return;
            }
            // Two files change places, or three move up.
            let mut turn = || files[numbers.below(files.len())].clone();
            let (one, two, three) = (turn(), turn(), turn());
            let aside = world.source.join("aside");
            fs::rename(&three, &aside).unwrap();
            if two.exists() {
                fs::rename(&two, &three).unwrap();
            }
            if one.exists() {
                fs::rename(&one, &two).unwrap();
            }
            fs::rename(&aside, &one).unwrap();
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

/// A random history of runs; what the destination held after each, and how many runs moved something.
fn history(world: &World, numbers: &mut Numbers, runs: usize) -> (Vec<Tree>, usize) {
    let (mut held, mut moving) = (Vec::new(), 0);
    for round in 0..runs {
        for _ in 0..=numbers.below(5) {
            edit(world, numbers, round);
        }
        fs::write(world.source.join("always"), round.to_string()).unwrap();
        let second = START + STEP * i64::try_from(round).unwrap();
        let ended = start_at(
            world,
            second,
            &["run", "j", "--limit", "remove=none", "--limit", "replace=none", "--accept", "destination"],
        )
        .expect(0);
        moving += usize::from(ended.out.contains(" moved"));
        held.push(destination_tree(&world.destination));
    }
    (held, moving)
}

fn restores_every_time(mode: &str, seed: u64) -> usize {
    let world = World::with(mode, "limits: {min_free: none}");
    // What was there before the first run has no row in the catalog.
    world.files([("T/a/x", "x"), ("T/a/b/z", "z"), ("T/b/c", "c"), ("T/d", "d"), ("T/adopted/x", "x")]);
    world.shell("cp -a T/. S/");
    let mut numbers = Numbers(seed);
    let runs = 25;
    let (held, moving) = history(&world, &mut numbers, runs);
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
    moving
}

fn at(second: i64) -> String {
    chrono::DateTime::from_timestamp(second, 0).unwrap().format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[test]
fn a_mirror_gives_back_what_it_held_at_any_time() {
    let moving: usize = [1, 2, 3].into_iter().map(|seed| restores_every_time("mirror", seed)).sum();
    assert!(moving > 10, "only {moving} runs moved something");
}

#[test]
fn a_backup_gives_back_what_it_held_at_any_time() {
    for seed in [4, 5, 6] {
        restores_every_time("backup", seed);
    }
}

/// A job of one mirror that ran at some of the hours; each content of `S/d/f` is its hour.
fn hourly(options: &str, hours: &[i64]) -> World {
    let world = World::with("mirror", options);
    world.many(40);
    for hour in hours {
        world.files([("S/d/f", format!("hour {hour}").as_str())]);
        start_at(&world, START + STEP * hour, &["run", "j"]).expect(0);
    }
    world
}

fn run_id(hour: i64) -> String {
    let time = chrono::DateTime::from_timestamp(START + STEP * hour, 0).unwrap();
    time.format("%Y-%m-%dT%H%M%S.000Z").to_string()
}

#[test]
fn one_file_by_any_of_its_paths() {
    let world = hourly("", &[0, 1, 2]);
    let (source, destination) = (world.path("S/d/f"), world.path("T/d/f"));
    let paths = ["d/f", source.to_str().unwrap(), destination.to_str().unwrap(), "./d/f"];
    for (number, path) in paths.iter().enumerate() {
        let to = world.path(&format!("out{number}"));
        let arguments = ["restore", "j", path, "--at", &run_id(1), "--to", to.to_str().unwrap()];
        start_at(&world, START + STEP * 3, &arguments).expect(0).says("1 entry restored");
        assert_eq!(fs::read_to_string(to.join("d/f")).unwrap(), "hour 1", "{path}");
        assert_eq!(tree(&to).len(), 3, "nothing beside it");
    }
    for path in ["../x", "d/../../x", "/etc/passwd"] {
        world.refused(&["restore", "j", path, "--to", "out9"], 2);
    }
    let gone = world.start(&["restore", "j", "nothing", "--to", "out9"]).expect(1);
    gone.says("nothing: there was nothing of that name");
    world.start(&["restore", "j", ".twinlane", "--to", "out10"]).expect(1);
    assert!(!world.path("out10/.twinlane").exists());
}

#[test]
fn restores_go_nowhere_near_a_destination_nor_over_anything() {
    let world = hourly("", &[0, 1]);
    world.files([("full/x", "x")]);
    fs::create_dir(world.path("T2")).unwrap();
    symlink("T/d", world.path("into")).unwrap();
    for to in ["T", "T/new", "T/d", "T/d/new", "into", "into/new", "full", "full/x", "no/such"] {
        world.refused(&["restore", "j", "--to", to], 2).says("help:");
    }
    world.refused(&["restore", "j"], 2);
    world.refused(&["restore", "j", "--to", "a", "--in-place"], 2);
    world.refused(&["restore", "j", "--to", "a", "--at", "soon"], 2).says("yesterday 18:00");
    world.refused(&["restore", "j", "--in-place"], 2).says("--yes");
    world.start(&["restore", "j", "--to", "T2"]).expect(0);
    assert_eq!(essence(&destination_tree(&world.destination)), essence(&tree(&world.path("T2"))));
}

#[test]
fn several_rules_need_a_name_and_a_place_without_a_run_is_refused() {
    let world = World::new();
    let rule =
        |name: &str| format!("  {name}:\n    mode: backup\n    source: ../S\n    destination: ../{name}\n");
    world.job_text("j", &format!("rules:\n{}{}", rule("T1"), rule("T2")));
    world.refused(&["restore", "j", "--to", "out"], 2).says("j/T1, j/T2");
    world.refused(&["versions", "j"], 2).says("j/T1, j/T2");
    world.refused(&["restore", "j/T1", "--to", "out"], 3);
    fs::create_dir(world.path("T1")).unwrap();
    world.refused(&["restore", "j/T1", "--to", "out"], 3).says("no run has written here");
    world.refused(&["versions", "j/T1"], 3);
    world.refused(&["prune", "j/T1"], 3);
}

#[test]
fn a_dry_run_and_versions_write_nothing() {
    let world = hourly("", &[0, 1]);
    let before = world.witness(".");
    world.start(&["restore", "j", "--to", "out", "--dry-run"]).expect(0).says("nothing was written");
    world.start(&["restore", "j", "--in-place", "--dry-run", "--json"]).expect(0);
    world.start(&["versions", "j"]).expect(0);
    world.start(&["versions", "j", "d"]).expect(0);
    world.start(&["versions", "j", "d/f"]).expect(0);
    world.start(&["prune", "j", "--dry-run"]).expect(0);
    assert!(!world.path("out").exists());
    assert_eq!(before.len(), world.witness(".").len());
    let changed: Vec<_> =
        world.witness(".").into_iter().filter(|(path, looks)| before.get(path) != Some(looks)).collect();
    assert!(changed.is_empty(), "{changed:?}");
}

#[test]
fn in_place_keeps_what_it_replaces_and_removes_nothing() {
    let world = hourly("", &[0, 1]);
    world.files([("S/d/f", "today's work"), ("S/d/extra", "extra")]);
    fs::remove_file(world.path("S/d00/f0001")).unwrap();
    let arguments = ["restore", "j", "--at", &run_id(0), "--in-place", "--yes", "--json"];
    let done = start_at(&world, START + STEP * 2, &arguments).expect(0).json();
    let read = |name: &str| fs::read_to_string(world.path(name)).unwrap();
    assert_eq!([read("S/d/f"), read("S/d/extra"), read("S/d00/f0001")], ["hour 0", "extra", "1"]);
    let run = done[0]["run"].as_str().unwrap();
    assert_eq!(done[0]["restored"], 2, "{done:?}");
    assert_eq!(read(&format!("T/.twinlane/versions/{run}/d/f")), "today's work");
    assert_eq!(read("T/d/f"), "hour 1", "the destination is left alone");
    let listed = world.start(&["versions", "j", "d/f"]).expect(0).says("replaced in the source");
    assert!(listed.out.contains(&format!("T/.twinlane/versions/{run}/d/f .")), "{}", listed.out);
    // What the destination held is what it held.
    start_at(&world, START + STEP * 4, &["restore", "j", "--at", &run_id(1), "--to", "out"]).expect(0);
    assert_eq!(read("out/d/f"), "hour 1");
    assert!(!world.path("out/d/extra").exists());
    // A second one has nothing to do; the next run takes it over as any other change.
    let again = start_at(&world, START + STEP * 3, &arguments).expect(0).json();
    assert_eq!(again[0]["restored"], 0, "{again:?}");
    start_at(&world, START + STEP * 5, &["run", "j"]).expect(0);
    assert_eq!([read("T/d/f"), read("T/d/extra")], ["hour 0", "extra"]);
    let leftover = tree(&world.source).into_keys().find(|path| path.to_string_lossy().contains(".twinlane"));
    assert_eq!(leftover, None);
}

#[test]
fn in_place_leaves_a_directory_that_is_in_the_way() {
    let world = hourly("", &[0]);
    fs::remove_file(world.path("S/d/f")).unwrap();
    world.files([("S/d/f/inner", "inner")]);
    world.start(&["restore", "j", "d", "--in-place", "--yes"]).expect(1).says("a directory is there now");
    assert_eq!(fs::read_to_string(world.path("S/d/f/inner")).unwrap(), "inner");
}

#[test]
fn what_was_pruned_is_named_and_where_it_is_complete_is_said() {
    let world = hourly("versions: {keep_for: 1h}", &[0, 1, 2, 3]);
    let dry = start_at(&world, START + STEP * 30, &["prune", "j", "--dry-run"]).expect(0);
    dry.says("2 versions due");
    start_at(&world, START + STEP * 30, &["prune", "j"])
        .expect(0)
        .says("2 versions released")
        .says("there are no versions now");
    start_at(&world, START + STEP * 30, &["prune", "j"]).expect(0).says("nothing is due");
    let ended =
        start_at(&world, START + STEP * 31, &["restore", "j", "--at", &run_id(1), "--to", "out"]).expect(1);
    let ended = ended.says("d/f").says("has been released").says(&format!("complete from {}", run_id(3)));
    ended.says("3 entries before that are no more");
    assert_eq!(fs::read_to_string(world.path("out/d00/f0001")).unwrap(), "1", "the rest is restored");
    assert!(!world.path("out/d/f").exists());
    start_at(&world, START + STEP * 31, &["restore", "j", "--at", &run_id(3), "--to", "out2"]).expect(0);
    world.start(&["versions", "j", "d/f"]).expect(0).says("has been released");
}

#[test]
fn without_versions_the_past_is_said_to_be_lost() {
    let world = hourly("versions: none", &[0, 1]);
    let ended = world.start(&["restore", "j", "d", "--at", &run_id(0), "--to", "out"]).expect(1);
    ended.says("when the rule kept no versions");
    world.start(&["prune", "j"]).expect(0).says("keeps no versions");
}

/// Puts other bytes into a file, and its times back.
fn rot(path: &Path) {
    let meta = fs::metadata(path).unwrap();
    let mut bytes = fs::read(path).unwrap();
    bytes[0] ^= 1;
    let file = fs::File::options().write(true).open(path).unwrap();
    std::io::Write::write_all(&mut &file, &bytes).unwrap();
    file.set_modified(meta.modified().unwrap()).unwrap();
}

#[test]
fn content_that_is_not_what_was_copied_is_found_and_left_out() {
    let world = hourly("", &[0, 1]);
    rot(&world.path(&format!("T/.twinlane/versions/{}/d/f", run_id(1))));
    let at = run_id(0);
    let ended = world.start(&["restore", "j", "d", "--at", &at, "--to", "out"]).expect(1);
    ended.says("1 damaged").says("d/f").says("--damaged");
    assert!(!world.path("out/d/f").exists());
    world.start(&["restore", "j", "d", "--at", &at, "--to", "out2", "--damaged"]).expect(1).says("1 damaged");
    assert_eq!(fs::read_to_string(world.path("out2/d/f")).unwrap(), "iour 0");
    rot(&world.path("T/d/f"));
    world.start(&["restore", "j", "d/f", "--to", "out3"]).expect(1).says("1 damaged");
}

#[test]
fn a_catalog_that_was_tampered_with_leads_nowhere() {
    let world = hourly("", &[0, 1]);
    world.files([("victim", "victim"), ("S2/x", "x")]);
    let catalog = rusqlite::Connection::open(world.path("T/.twinlane/catalog.db")).unwrap();
    for path in ["../victim", "/etc/passwd", "d/../../victim", "a//b", ""] {
        let statement = "INSERT INTO displaced VALUES (CAST(?1 AS BLOB), ?2, 'file', 6, 0, 0, NULL, NULL, 1, NULL, NULL, NULL)";
        catalog.execute(statement, (path, run_id(1))).unwrap();
        let statement = "INSERT OR REPLACE INTO entries VALUES
            (CAST(?1 AS BLOB), 'file', 6, 0, 0, 0, 0, 1, NULL, ?2, NULL, NULL)";
        catalog.execute(statement, (path, run_id(0))).unwrap();
    }
    // Content that was moved out of the tree, and a version that is a way out of it.
    let statement =
        "UPDATE displaced SET moved_to = CAST('../victim' AS BLOB) WHERE path = CAST('d/f' AS BLOB)";
    catalog.execute(statement, ()).unwrap();
    drop(catalog);
    let version = world.path(&format!("T/.twinlane/versions/{}/d", run_id(1)));
    fs::remove_dir_all(&version).unwrap();
    symlink(world.path("S2"), &version).unwrap();
    let ended = world.start(&["restore", "j", "--at", &run_id(0), "--to", "out"]);
    assert!(ended.code == 0 || ended.code == 1, "{ended:?}");
    assert_eq!(fs::read_to_string(world.path("victim")).unwrap(), "victim");
    let found = tree(&world.path("out"));
    assert!(found.values().all(|thing| thing.content != blake3::hash(b"victim").to_hex().to_string()));
    assert!(fs::symlink_metadata(world.path("out/d")).unwrap().is_dir(), "as the catalog says");
    assert!(!world.path("out/d/x").exists());
    let parents: Vec<_> =
        fs::read_dir(world.base()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(parents.len(), 8, "{parents:?}");
}

#[test]
fn versions_say_what_they_cost_and_how_each_content_comes_back() {
    let world = hourly("", &[0, 1, 2]);
    world.files([("S/d/f", "hour 1")]);
    start_at(&world, START + STEP * 3, &["run", "j"]).expect(0);
    let runs = start_at(&world, START + STEP * 4, &["versions", "j", "--json"]).expect(0).json();
    let numbers: Vec<i64> = runs.iter().filter_map(|run| run["versions"].as_i64()).collect();
    assert_eq!(numbers, [1, 1, 1]);
    let contents = start_at(&world, START + STEP * 4, &["versions", "j", "d/f", "--json"]).expect(0).json();
    let contents: Vec<_> = contents.iter().filter(|line| line["event"] == "content").collect();
    assert_eq!(contents.len(), 3, "`hour 1` is there once: {contents:?}");
    let expected = ["hour 1", "hour 2", "hour 0"];
    for (number, (content, expected)) in contents.iter().zip(expected).enumerate() {
        let command = content["restore"].as_str().unwrap();
        let to = format!("back{number}");
        let line = command.replace("--to restored", &format!("--to {to}"));
        let words: Vec<&str> = line.split(' ').skip(1).collect();
        start_at(&world, START + STEP * 5, &words).expect(0);
        assert_eq!(fs::read_to_string(world.path(&to).join("d/f")).unwrap(), expected);
    }
    let text = start_at(&world, START + STEP * 4, &["versions", "j", "."]).expect(0);
    text.says("d/").says("3 versions").says("next: twinlane versions j/r d");
}

#[test]
fn all_metadata_comes_back() {
    let world = World::with("mirror", "");
    world.files([("S/d/a", "a"), ("S/d/sub/b", "b")]);
    fs::hard_link(world.path("S/d/a"), world.path("S/d/sub/a2")).unwrap();
    symlink("nowhere", world.path("S/d/l")).unwrap();
    world.shell(
        "mkfifo S/d/p; truncate -s 1M S/d/holes; printf x | dd of=S/d/holes bs=1 seek=500000 conv=notrunc status=none
        chmod 4711 S/d/a; chmod 2751 S/d/sub; touch -h -d '2001-02-03 04:05:06.5' S/d/l S/d/a S/d/sub; chmod 700 S/d",
    );
    start_at(&world, START, &["run", "j"]).expect(0);
    world.start(&["restore", "j", "--to", "now"]).expect(0);
    assert_eq!(destination_tree(&world.destination), tree(&world.path("now")));
    let links = |name: &str| std::os::unix::fs::MetadataExt::nlink(&fs::metadata(world.path(name)).unwrap());
    assert_eq!(links("now/d/a"), 2);
    let blocks =
        |name: &str| std::os::unix::fs::MetadataExt::blocks(&fs::metadata(world.path(name)).unwrap());
    assert!(blocks("now/d/holes") < 1000, "holes stay holes");
    // All of it gone from the source: versions have it.
    world.shell("rm -r S/d; mkdir S/e; echo e > S/e/e");
    start_at(&world, START + STEP, &["run", "j", "--limit", "remove=none"]).expect(0);
    assert!(!world.path("T/d").exists());
    world.start(&["restore", "j", "--at", &run_id(0), "--to", "then"]).expect(0);
    assert_eq!(essence(&tree(&world.path("now"))), essence(&tree(&world.path("then"))));
    assert_eq!(links("then/d/a"), 2);
    let mode = |name: &str| fs::metadata(world.path(name)).unwrap().permissions().mode() & 0o7777;
    assert_eq!([mode("then/d"), mode("then/d/sub"), mode("then/d/a")], [0o700, 0o2751, 0o4711]);
}
