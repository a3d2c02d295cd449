//! Chapter 10: which entries a rule speaks of, and what becomes of those it does not.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};

use crate::support::{FileSystem, World, assert_same, set_mode, touch};

const OPEN: &str = "limits: {remove: none, replace: none}";

fn mirror(patterns: &str) -> World {
    World::with("mirror", &format!("{patterns}\n{OPEN}"))
}

fn is_there(world: &World, path: &str) -> bool {
    fs::symlink_metadata(world.path(path)).is_ok()
}

#[test]
fn bc_57_include_below_an_excluded_parent() {
    let check = |patterns: &str, copied: &[&str], left: &[&str]| {
        let block: Vec<String> = patterns.lines().map(|line| format!("  {line}")).collect();
        let world = mirror(&format!("exclude: |\n{}", block.join("\n")));
        for path in copied.iter().chain(left) {
            world.files([(&*format!("S/{path}"), "content")]);
        }
        world.run().expect(0);
        for path in copied {
            assert!(is_there(&world, &format!("T/{path}")), "{patterns:?}: {path} is missing");
            let explained = world.start(&["explain", "j", path, "--json"]).expect(0).json();
            assert_eq!(explained[0]["filter"]["says"], "selected", "{patterns:?}: {path}");
        }
        for path in left {
            assert!(!is_there(&world, &format!("T/{path}")), "{patterns:?}: {path} is there");
            let explained = world.start(&["explain", "j", path, "--json"]).expect(0).json();
            assert_eq!(explained[0]["filter"]["says"], "excluded", "{patterns:?}: {path}");
        }
        world.is_settled();
    };
    check("d/\n!d/sub/*", &["d/sub/y", "k"], &["d/x"]);
    check("foo/**\n!foo/bar/bas", &["foo/bar/bas", "k"], &["foo/a", "foo/bar/y"]);
    check("/a", &["d/a", "k"], &["a"]);
    check("a/b", &["d/a/b", "k"], &["a/b"]);
    check("**/x", &["xx", "k"], &["x", "d/x", "d/e/x"]);
    check("\\#", &["k"], &["#"]);
    check("*.c\n!a.c\nd/a.c", &["a.c", "e/a.c"], &["b.c", "d/a.c"]);
}

#[test]
fn bc_57_an_include_that_can_never_match_gives_a_warning() {
    let world = mirror("exclude: [cache/, '*.tmp']\ninclude: ['/cache/photos/**', '*.jpg', '*.tmp']");
    world.files([("S/a.jpg", "a")]);
    world
        .start(&["validate", "j"])
        .expect(0)
        .says("line 7: `/cache/photos/**` can never match")
        .says("line 7: `*.tmp` can never match")
        .keeps_quiet_of("`*.jpg`");
    let world = mirror("exclude: ['*']\ninclude: ['*.jpg']");
    world.start(&["validate", "j"]).expect(0).says("line 7: `*.jpg` can never match");
    let world = mirror("exclude: ['!keep', '*.o', '!main.o']");
    world.start(&["validate", "j"]).expect(0).says("line 6: `!keep` can never").keeps_quiet_of("main.o");
    let world = mirror("exclude: ['cache/', '!cache/photos/']\ninclude: ['/cache/photos/**']");
    world.start(&["validate", "j"]).expect(0).keeps_quiet_of("never");
}

#[test]
fn bc_58_excluded_files_at_the_target_are_kept() {
    let world = mirror("exclude: [cache/]");
    world.files([("S/one", "1"), ("T/one", "0"), ("T/cache/x", "x"), ("T/old/cache/x", "x")]);
    world.start(&["run", "j", "--accept", "destination"]).expect(0);
    assert!(is_there(&world, "T/cache/x") && is_there(&world, "T/old/cache/x"));
    // What is kept keeps the directory above it, at each run, and that is no failure.
    world.is_settled();
    world.run().expect(0).keeps_quiet_of("conflict");
}

#[test]
fn bc_58_a_separate_option_clears_what_is_excluded() {
    let world = mirror("exclude: [cache/, '*.tmp']\nselect: {max_size: 10B}");
    world.files([
        ("S/one", "1"),
        ("S/cache/mine", "of the source"),
        ("T/one", "1"),
        ("T/cache/mine", "an old copy"),
        ("T/cache/x/y", "x"),
        ("T/a.tmp", "x"),
        ("T/large", "not selected, and not by a pattern"),
        ("T/.twinlane-notes", "a name like any other"),
        ("T/lost+found/x", "the system's"),
    ]);
    world.start(&["run", "j", "--accept", "destination"]).expect(0);
    let before = world.witness("T");
    let plan = world.start(&["plan", "j", "-v", "--remove-excluded"]).expect(0);
    plan.says("cache/x/y  (excluded by the patterns)").says("next: twinlane run j --remove-excluded");
    assert_eq!(before, world.witness("T"), "a plan writes nothing");
    world.start(&["run", "j", "--remove-excluded"]).expect(0).says("5 removed");
    for gone in ["cache", "a.tmp"] {
        assert!(!is_there(&world, &format!("T/{gone}")), "{gone} stays");
    }
    for kept in ["one", "large", "lost+found/x"] {
        assert!(is_there(&world, &format!("T/{kept}")), "{kept} is gone");
    }
    assert_eq!(fs::read_to_string(world.path("S/cache/mine")).unwrap(), "of the source");
    let versions = world.path("T/.twinlane/versions");
    let kept: Vec<String> = walkdir::WalkDir::new(versions)
        .into_iter()
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .collect();
    assert!(kept.contains(&"y".to_owned()) && kept.contains(&"mine".to_owned()), "{kept:?}");
    world.start(&["run", "j", "--remove-excluded"]).expect(0).says("nothing to do");
}

#[test]
fn bc_58_limits_hold_for_what_is_cleared() {
    let world = World::with("mirror", "exclude: ['*.old']");
    world.many(40);
    world.run().expect(0);
    for number in 0..40 {
        fs::write(world.path(&format!("T/{number}.old")), "x").unwrap();
    }
    world.run().expect(0).keeps_quiet_of("removed");
    world
        .refused(&["run", "j", "--remove-excluded"], 3)
        .says("it would remove 40 of 81 entries")
        .says("--remove-excluded --limit remove=40");
    world.start(&["run", "j", "--remove-excluded", "--limit", "remove=40"]).expect(0).says("40 removed");
}

#[test]
fn bc_58_a_backup_has_nothing_to_clear() {
    let world = World::with("backup", "exclude: [cache/]");
    world.files([("S/one", "1")]);
    for verb in ["run", "plan"] {
        world.refused(&[verb, "j", "--remove-excluded"], 2).says("is for mirrors");
    }
}

#[test]
fn bc_58_mounts_and_other_destinations_are_never_cleared() {
    let mut world = mirror("exclude: [cache/]");
    world.files([("S/one", "1"), ("S2/two", "2"), ("T/cache/x", "x")]);
    let rule = "rules:\n  r: {mode: mirror, source: ../S2, destination: ../T/cache/other}\n";
    world.job_text("inner", rule);
    world.start(&["run", "inner"]).expect(0);
    if !world.mount("T/cache/mounted", FileSystem::Tmpfs("")) {
        return;
    }
    world.files([("T/cache/mounted/f", "f")]);
    let accepted = ["run", "j", "--accept", "destination", "--remove-excluded"];
    world.start(&accepted);
    assert!(!is_there(&world, "T/cache/x"));
    assert!(is_there(&world, "T/cache/mounted/f") && is_there(&world, "T/cache/other/two"));
}

#[test]
fn bc_60_contents_but_not_the_directory() {
    for (pattern, is_kept) in [("proc/", false), ("proc/*", true), ("proc/**", true)] {
        let world = mirror(&format!("exclude: ['{pattern}']"));
        world.files([("S/proc/1/x", "x"), ("S/proc/y", "y"), ("S/other", "o")]);
        symlink("1", world.path("S/proc/self")).unwrap();
        set_mode(&world.path("S/proc"), 0o751);
        touch(&world.path("S/proc"), "2001-02-03 04:05:06 UTC");
        world.run().expect(0);
        assert_eq!(is_there(&world, "T/proc"), is_kept, "{pattern}");
        if is_kept {
            let meta = fs::metadata(world.path("T/proc")).unwrap();
            assert_eq!((meta.mode() & 0o7777, meta.mtime()), (0o751, 981_173_106), "{pattern}");
            assert_eq!(fs::read_dir(world.path("T/proc")).unwrap().count(), 0, "{pattern}");
        }
        world.is_settled();
        world.start(&["restore", "j", "--to", "R"]).expect(0);
        assert_same(&world.tree("T"), &world.tree("R"), pattern);
        // Back into a source that has lost it.
        world.shell("rm -r S/proc");
        world.start(&["restore", "j", "--in-place", "--yes"]).expect(0);
        assert_eq!(is_there(&world, "S/proc"), is_kept, "{pattern}");
        if is_kept {
            let meta = fs::metadata(world.path("S/proc")).unwrap();
            assert_eq!((meta.mode() & 0o7777, meta.mtime()), (0o751, 981_173_106), "{pattern}");
        }
        world.run().expect(0);
        world.is_settled();
    }
}
