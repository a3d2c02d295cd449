//! `explain`: what is said of a path, word for word.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use crate::support::{World, ended, touch};

const WHEN: &str = "2026-11-24 17:02:11 UTC";

/// A source whose entries are all of one moment.
fn world(options: &str, files: &[(&str, &str)]) -> World {
    let world = World::with("mirror", options);
    world.files(files.iter().copied());
    settle(&world);
    world
}

/// Gives everything below `S` and `T` the same moment, so that no text depends on the clock.
fn settle(world: &World) {
    for root in ["S", "T"] {
        let entries = walkdir::WalkDir::new(world.path(root)).contents_first(true).into_iter();
        for entry in entries.filter_map(Result::ok) {
            touch(entry.path(), WHEN);
        }
    }
}

/// Explains paths and compares all that is said.
#[track_caller]
fn check(world: &World, arguments: &[&str], expected: &str) {
    let words: Vec<&str> = ["explain", "j"].iter().chain(arguments).copied().collect();
    let ended = world.start(&words).expect(0);
    let said = ended.out.replace(&*world.base().to_string_lossy(), "$");
    assert_eq!(said.trim_end(), expected.trim_start_matches('\n').trim_end(), "\n{said}");
}

#[test]
fn excluded_by_a_line() {
    let world =
        world("exclude:\n  - '*.log'\n  - '*.tif'\n", &[("S/2024/raw/a.tif", "content"), ("S/k", "k")]);
    check(
        &world,
        &["2024/raw/a.tif"],
        "
j/r: 2024/raw/a.tif
  filter       excluded by `*.tif`, line 8 of jobs/j.yaml
  source       file, 7 B, 2026-11-24 17:02:11
  destination  not there
  verdict      none: the rule does not speak of it
  action       nothing will be done
  run          would go: its limits hold
next: twinlane plan j
",
    );
}

#[test]
fn excluded_with_its_directory() {
    let world = world("exclude: |\n  raw/\n", &[("S/2024/raw/a.tif", "content"), ("S/k", "k")]);
    check(
        &world,
        &["2024/raw/a.tif"],
        "
j/r: 2024/raw/a.tif
  filter       excluded with `2024/raw`, by `raw/`, line 7 of jobs/j.yaml
  source       file, 7 B, 2026-11-24 17:02:11
  destination  not there
  verdict      none: the rule does not speak of it
  action       nothing will be done
  run          would go: its limits hold
next: twinlane plan j
",
    );
    check(
        &world,
        &["2024/raw"],
        "
j/r: 2024/raw
  filter       excluded by `raw/`, line 7 of jobs/j.yaml
  source       directory, 2026-11-24 17:02:11
  destination  not there
  verdict      none: the rule does not speak of it
  action       nothing will be done
  run          would go: its limits hold
next: twinlane plan j
",
    );
}

#[test]
fn taken_back_below_an_excluded_directory() {
    let world =
        world("exclude: |\n  target/\n  !target/doc/\n", &[("S/target/a.o", "o"), ("S/target/doc/i", "i")]);
    check(
        &world,
        &["target", "target/doc/i"],
        "
j/r: target
  filter       excluded by `target/`, line 7 of jobs/j.yaml; entered, since a `!` line may match below it
  source       directory, 2026-11-24 17:02:11
  destination  not there
  verdict      new: only in the source
  action       will be made (needed for what is below)
  below        1 to copy, 1 directory to make
  run          would go: its limits hold
j/r: target/doc/i
  filter       selected with `target/doc`, by `!target/doc/`, line 8 of jobs/j.yaml
  source       file, 1 B, 2026-11-24 17:02:11
  destination  not there
  verdict      new: only in the source
  action       will be copied, 1 B (new)
  run          would go: its limits hold
next: twinlane plan j
",
    );
}

#[test]
fn excluded_by_an_ignore_file() {
    let files = [
        ("S/sub/.gitignore", "# scratch\n*.log\n!keep.log\n"),
        ("S/sub/d/a.log", "a"),
        ("S/sub/keep.log", "k"),
    ];
    let world = world("select: {ignore_files: [.gitignore]}", &files);
    check(
        &world,
        &["sub/d/a.log", "sub/keep.log"],
        "
j/r: sub/d/a.log
  filter       excluded by `*.log`, line 2 of sub/.gitignore
  source       file, 1 B, 2026-11-24 17:02:11
  destination  not there
  verdict      none: the rule does not speak of it
  action       nothing will be done
  run          would go: its limits hold
j/r: sub/keep.log
  filter       selected by `!keep.log`, line 3 of sub/.gitignore
  source       file, 1 B, 2026-11-24 17:02:11
  destination  not there
  verdict      new: only in the source
  action       will be copied, 1 B (new)
  run          would go: its limits hold
next: twinlane plan j
",
    );
}

#[test]
fn left_out_by_select() {
    let files = [
        ("S/small", "1"),
        ("S/k", "content"),
        ("S/a/b/c", "content"),
        ("S/nb/.nobackup", ""),
        ("S/nb/f", "content"),
    ];
    let world = world("select: {min_size: 2, max_depth: 2, exclude_if_present: [.nobackup]}", &files);
    check(
        &world,
        &["small", "a/b/c", "nb/f"],
        "
j/r: small
  filter       left out by `select.min_size: 2`, line 6 of jobs/j.yaml
  source       file, 1 B, 2026-11-24 17:02:11
  destination  not there
  verdict      none: the rule does not speak of it
  action       nothing will be done
  run          would go: its limits hold
j/r: a/b/c
  filter       left out by `select.max_depth: 2`, line 6 of jobs/j.yaml
  source       file, 7 B, 2026-11-24 17:02:11
  destination  not there
  verdict      none: the rule does not speak of it
  action       nothing will be done
  run          would go: its limits hold
j/r: nb/f
  filter       left out with `nb` by `select.exclude_if_present: [.nobackup]`, line 6 of jobs/j.yaml: `nb/.nobackup` is there
  source       file, 7 B, 2026-11-24 17:02:11
  destination  not there
  verdict      none: the rule does not speak of it
  action       nothing will be done
  run          would go: its limits hold
next: twinlane plan j
",
    );
}

#[test]
fn chosen_by_include_or_not() {
    let world = world("include: ['*.jpg']", &[("S/a.jpg", "a"), ("S/b.png", "b")]);
    check(
        &world,
        &["a.jpg", "b.png"],
        "
j/r: a.jpg
  filter       included by `*.jpg`, line 6 of jobs/j.yaml
  source       file, 1 B, 2026-11-24 17:02:11
  destination  not there
  verdict      new: only in the source
  action       will be copied, 1 B (new)
  run          would go: its limits hold
j/r: b.png
  filter       left out: no line of `include` matches it
  source       file, 1 B, 2026-11-24 17:02:11
  destination  not there
  verdict      none: the rule does not speak of it
  action       nothing will be done
  run          would go: its limits hold
next: twinlane plan j
",
    );
}

#[test]
fn changed_metadata_same_and_extra() {
    let world = world("", &[("S/changed", "old"), ("S/mode", "m"), ("S/same", "s"), ("S/gone", "g")]);
    world.run().expect(0);
    fs::write(world.path("S/changed"), "newer").unwrap();
    fs::remove_file(world.path("S/gone")).unwrap();
    world.shell("chmod 0644 T/mode S/same T/same; chmod 0600 S/mode");
    settle(&world);
    touch(&world.path("S/changed"), "2026-11-25 08:00:00 UTC");
    check(
        &world,
        &["changed", "mode", "same", "gone"],
        "
j/r: changed
  filter       nothing excludes it
  source       file, 5 B, 2026-11-25 08:00:00
  destination  file, 3 B, 2026-11-24 17:02:11
  verdict      changed: the source is newer, size differs
  action       will be replaced, 5 B (newer, size differs); what is there is kept as a version
  run          would go: its limits hold
j/r: mode
  filter       nothing excludes it
  source       file, 1 B, 2026-11-24 17:02:11
  destination  file, 1 B, 2026-11-24 17:02:11
  verdict      metadata: mode differs
  action       its metadata will be mended (mode differs)
  run          would go: its limits hold
j/r: same
  filter       nothing excludes it
  source       file, 1 B, 2026-11-24 17:02:11
  destination  file, 1 B, 2026-11-24 17:02:11
  verdict      same: equal on both sides
  action       nothing will be done
  run          would go: its limits hold
j/r: gone
  filter       nothing excludes it
  source       not there
  destination  file, 1 B, 2026-11-24 17:02:11
  verdict      extra: only in the destination
  action       will be removed (only in the destination); what is there is kept as a version
  run          would go: its limits hold
next: twinlane plan j
",
    );
}

#[test]
fn extras_that_are_excluded_stay_and_one_option_clears_them() {
    let world = world("exclude: [cache/]\nlimits: {remove: none}", &[("S/k", "k"), ("T/old/cache/x", "x")]);
    world.shell("cp -p S/k T/k");
    settle(&world);
    world.start(&["run", "j", "--accept", "destination"]).expect(0);
    settle(&world);
    check(
        &world,
        &["old/cache/x", "old"],
        "
j/r: old/cache/x
  filter       excluded with `old/cache`, by `cache/`, line 6 of jobs/j.yaml
  source       not there
  destination  file, 1 B, 2026-11-24 17:02:11
  verdict      none: the rule does not speak of it
  action       none: the destination keeps it (`--remove-excluded` would remove it)
  run          would go: its limits hold
j/r: old
  filter       nothing excludes it
  source       not there
  destination  directory, 2026-11-24 17:02:11
  verdict      extra: only in the destination
  action       none: it holds entries that stay
  run          would go: its limits hold
next: twinlane plan j
",
    );
    check(
        &world,
        &["old/cache/x", "--remove-excluded"],
        "
j/r: old/cache/x
  filter       excluded with `old/cache`, by `cache/`, line 6 of jobs/j.yaml
  source       not there
  destination  file, 1 B, 2026-11-24 17:02:11
  verdict      excluded: this run clears what the patterns leave out
  action       will be removed (excluded by the patterns); what is there is kept as a version
  run          would go: its limits hold
next: twinlane plan j --remove-excluded
",
    );
}

#[test]
fn a_conflict() {
    let world = world(
        "exclude: [keep]\nlimits: {remove: none, replace: none}",
        &[("S/d", "now a file"), ("T/d/keep", "k")],
    );
    check(
        &world,
        &["d", "--accept", "destination"],
        "
j/r: d
  filter       nothing excludes it
  source       file, 10 B, 2026-11-24 17:02:11
  destination  directory, 2026-11-24 17:02:11
  verdict      kind: each side has another kind of entry
  action       none, a conflict: it stays: it holds entries that the rule does not speak of
  run          would go: its limits hold
next: twinlane plan j --accept destination
",
    );
}

#[test]
fn hard_links() {
    let world = world("", &[("S/a", "content")]);
    world.shell("ln S/a S/b");
    check(
        &world,
        &["b"],
        "
j/r: b
  filter       nothing excludes it
  source       file, 7 B, 2026-11-24 17:02:11, 2 names
  destination  not there
  verdict      new: only in the source
  action       will be made as a hard link to `a`
  run          would go: its limits hold
next: twinlane plan j
",
    );
}

#[test]
fn a_limit_speaks() {
    let world = world("", &[]);
    world.many(40);
    settle(&world);
    world.run().expect(0);
    world.shell("rm -r S/d00; mkdir S/d00; echo k > S/d00/f0000");
    settle(&world);
    check(
        &world,
        &["d00/f0007", "d00"],
        "
j/r: d00/f0007
  filter       nothing excludes it
  source       not there
  destination  file, 1 B, 2026-11-24 17:02:11
  verdict      extra: only in the destination
  action       will be removed (only in the destination); what is there is kept as a version
  run          would be refused: it would remove 39 of 41 entries; 10 are allowed (limits.remove: 25%)
               to allow exactly this: twinlane run j/r --limit remove=39
j/r: d00
  filter       nothing excludes it
  source       directory, 2026-11-24 17:02:11
  destination  directory, 2026-11-24 17:02:11
  verdict      same: equal on both sides
  action       nothing will be done
  below        1 to replace, 39 to remove
  run          would be refused: it would remove 39 of 41 entries; 10 are allowed (limits.remove: 25%)
               to allow exactly this: twinlane run j/r --limit remove=39
next: twinlane plan j
",
    );
}

#[test]
fn not_there_at_all() {
    let world = world("exclude: [build/]", &[("S/k", "k")]);
    check(
        &world,
        &["d/build"],
        "
j/r: d/build
  filter       a file of that name: nothing excludes it
               a directory of that name: excluded by `build/`, line 6 of jobs/j.yaml
  source       not there
  destination  not there
  verdict      none: neither side has it; is it spelt as on the disk?
  action       nothing will be done
  run          would go: its limits hold
next: twinlane plan j
",
    );
    check(
        &world,
        &["lost+found/x", ".twinlane"],
        "
j/r: lost+found/x
  filter       `lost+found` belongs to Twinlane or to the system: never compared, copied or removed
  source       not there
  destination  not there
  verdict      none: neither side has it; is it spelt as on the disk?
  action       nothing will be done
  run          would go: its limits hold
j/r: .twinlane
  filter       `.twinlane` belongs to Twinlane or to the system: never compared, copied or removed
  source       not there
  destination  not there
  verdict      none: neither side has it; is it spelt as on the disk?
  action       nothing will be done
  run          would go: its limits hold
next: twinlane plan j
",
    );
}

#[test]
fn a_path_that_is_not_utf_8() {
    let world = world("exclude: ['*.tmp']", &[("S/k", "k")]);
    let name = OsStr::from_bytes(b"a\xffb.tmp");
    fs::write(world.source.join(name), "content").unwrap();
    settle(&world);
    let told = ended(&world.command(&["explain", "j"]).arg(name).output().unwrap()).expect(0);
    assert!(
        told.out.starts_with("j/r: a\\xffb.tmp\n  filter       excluded by `*.tmp`, line 6 of"),
        "{}",
        told.out
    );
    let json =
        ended(&world.command(&["explain", "j", "--json"]).arg(name).output().unwrap()).expect(0).json();
    assert_eq!((json[0]["path_b64"].as_str(), json[0].get("path")), (Some("Yf9iLnRtcA=="), None));
    assert_eq!(json[0]["filter"]["pattern"], "*.tmp");
}

/// What `explain` says of an entry is what `plan` plans for it, and what the filters leave out has no action but the one that was asked for.
#[test]
fn explanations_are_the_plan() {
    let options = "exclude: |\n  *.tmp\n  cache/\n  target/\n  !target/doc/\ninclude: ['*', '!*.raw']\n\
                   select: {ignore_files: [.ignore], min_size: 2, exclude_if_present: [.skip], max_depth: 4}\n\
                   limits: {remove: none, replace: none}";
    let files = [
        ("S/a", "new"),
        ("S/b.tmp", "left"),
        ("S/c.raw", "left"),
        ("S/d/e/f", "new"),
        ("S/d/e/g/h/i", "too deep"),
        ("S/d/.ignore", "*.log\n!kept.log\n"),
        ("S/d/x.log", "left"),
        ("S/d/e/kept.log", "taken back"),
        ("S/cache/x", "left"),
        ("S/target/big", "left"),
        ("S/target/doc/i", "taken back"),
        ("S/marked/.skip", ""),
        ("S/marked/x", "left"),
        ("S/small", "1"),
        ("S/kind", "a file"),
        ("S/way/x", "new"),
        ("T/way", "a file"),
        ("T/kind/x", "in the way"),
        ("T/a", "older"),
        ("T/gone/y", "extra"),
        ("T/gone/z.tmp", "kept"),
        ("T/cache/x", "kept"),
        ("T/lost+found/x", "reserved"),
    ];
    let world = world(options, &files);
    world.shell(
        "ln S/d/e/f S/d/e/f2; mkdir S/empty; chmod 700 S/d/e; ln -s a S/link; cp -pr S/target/doc T/doc",
    );
    for more in [&[][..], &["--remove-excluded"]] {
        let with = |verb: &[&str]| -> Vec<serde_json::Value> {
            let words: Vec<&str> = verb.iter().chain(more).copied().collect();
            let accepted = ["--json", "--accept", "destination"];
            world.start(&[&words[..], &accepted].concat()).expect(0).json()
        };
        let plan = with(&["plan", "j"]);
        let planned = |path: &str| {
            let actions = plan[0]["actions"].as_array().unwrap().iter();
            actions.filter(|action| action["path"] == path).cloned().collect::<Vec<_>>()
        };
        let below = |root: &str| -> Vec<String> {
            let entries = walkdir::WalkDir::new(world.path(root)).into_iter().map(Result::unwrap);
            let paths =
                entries.map(|entry| entry.path().strip_prefix(world.path(root)).unwrap().to_path_buf());
            paths.map(|path| path.to_string_lossy().into_owned()).filter(|path| !path.is_empty()).collect()
        };
        let mut paths = [below("S"), below("T")].concat();
        paths.sort();
        paths.dedup();
        let mut acted = 0;
        for path in &paths {
            let told = with(&["explain", "j", path]).remove(0);
            let actions = planned(path);
            assert_eq!(told["action"], actions.first().cloned().unwrap_or_default(), "{path}");
            acted += actions.len();
            let excluded = told["filter"]["says"] == "excluded";
            let cleared = actions.iter().all(|action| action["reason"] == "excluded by the patterns");
            let displaced = told["message"].as_str().unwrap().starts_with("goes with");
            assert!(!excluded || cleared || displaced, "{path}: {told}");
            let is_new =
                told["source"] != serde_json::Value::Null && told["destination"] == serde_json::Value::Null;
            assert!(excluded || !is_new || actions.len() == 1, "{path}: {told}");
        }
        let all = plan[0]["actions"].as_array().unwrap().iter().filter(|action| action["path"] != ".");
        assert_eq!(acted, all.count(), "no action of the plan is left unexplained");
    }
}

#[test]
fn the_working_directory_absolute_paths_and_several_rules() {
    let world = World::new();
    world.files([("S/d/a", "a"), ("S/a", "a"), ("S2/d/a", "a")]);
    world.job_text(
        "j",
        "rules:\n  one: {mode: mirror, source: ../S, destination: ../T}\n  two: {mode: backup, source: ../S2, destination: ../T2}\n",
    );
    let told = |folder: &str, arguments: &[&str]| {
        let job = world.path("jobs/j.yaml");
        let mut command = world.command(&["explain", &job.to_string_lossy(), "--json"]);
        command.args(arguments).current_dir(world.path(folder));
        ended(&command.output().unwrap())
    };
    let taken = |folder: &str, argument: &str| -> Vec<String> {
        let rows = told(folder, &[argument]).expect(0).json();
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        rows.iter().map(|row| [&row["rule"], &row["path"], &row["taken"]].map(text).join(" ")).collect()
    };
    assert_eq!(taken(".", "d/a"), ["one d/a below_roots", "two d/a below_roots"]);
    assert_eq!(taken("S/d", "a"), ["one d/a working_directory"]);
    assert_eq!(taken("S/d", "./a"), ["one d/a working_directory"]);
    assert_eq!(taken("S/d", "../a"), ["one a working_directory"]);
    assert_eq!(taken("S/d", "."), ["one d working_directory"]);
    assert_eq!(taken("S/d", "d/a"), ["one d/a below_roots", "two d/a below_roots"]);
    assert_eq!(taken(".", "."), ["one . below_roots", "two . below_roots"]);
    assert_eq!(taken(".", "d/a/"), ["one d/a below_roots", "two d/a below_roots"]);
    let absolute = |path: &str| taken(".", &world.path(path).to_string_lossy());
    assert_eq!(absolute("S2/d/../d/a"), ["two d/a absolute"]);
    assert_eq!(absolute("T/d/new"), ["one d/new absolute"]);
    told(".", &["/etc/passwd"]).expect(2).says("`/etc/passwd` lies in no source or destination");
    told(".", &["../x"]).expect(2).says("without `..`");
    told(".", &[]).expect(2);
}

#[test]
fn refusals_are_told_and_the_filters_all_the_same() {
    let world = world("exclude: ['*.tmp']", &[("S/a.tmp", "a"), ("S/k", "k")]);
    world.job_text(
        "j",
        "rules:\n  r: {mode: mirror, source: ../S, destination: ../gone/T, exclude: ['*.tmp']}\n",
    );
    check(
        &world,
        &["a.tmp"],
        "
j/r: a.tmp
  filter       excluded by `*.tmp`, line 2 of jobs/j.yaml
  source       file, 1 B, 2026-11-24 17:02:11
  destination  not there
  verdict      none: the rule does not speak of it
  run          would be refused: destination `$/gone` is not there
               help: attach its disk, or make this folder (a rule's first run makes its destination's last folder, and later ones make none); `on_missing: skip` passes over a disk that comes and goes
next: twinlane plan j
",
    );
    world.job_text("j", "rules:\n  r: {mode: mirror, source: ../absent, destination: ../T}\n");
    check(
        &world,
        &["a.tmp"],
        "
j/r: a.tmp
  run          would be refused: source `$/absent` is not there
               help: attach its disk, or correct the path in the job; `on_missing: skip` passes over a disk that comes and goes
next: twinlane plan j
",
    );
}
