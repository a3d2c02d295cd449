//! Refusals: exit 3, the numbers, the flag that allows exactly this, and the destination as it was.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::{FileSystem, World};

/// A mirror of so many files that has run once.
fn mirrored(count: usize) -> World {
    let world = World::with("mirror", "");
    world.many(count);
    world.start(&["run", "j"]).expect(0);
    world
}

#[test]
fn bc_50_an_emptied_source() {
    let world = mirrored(50);
    fs::remove_dir_all(world.path("S/d00")).unwrap();
    world.refused(&["run", "j"], 3).says("is empty").says("nonempty: false");
    world.refused(&["plan", "j"], 0).says("a run would be refused").says("is empty");
}

#[test]
fn thirty_per_cent_of_a_thousand_removed_and_the_flag_that_allows_it() {
    let world = mirrored(1000);
    for directory in ["S/d00", "S/d03", "S/d07"] {
        for file in fs::read_dir(world.path(directory)).unwrap() {
            fs::remove_file(file.unwrap().path()).unwrap();
        }
    }
    world
        .refused(&["run", "j"], 3)
        .says("it would remove 300 of 1010 entries; 252 are allowed (limits.remove: 25%)")
        .says("remove d00/f0000")
        .says("twinlane run j/r --limit remove=300");
    world.refused(&["run", "j", "--limit", "remove=299"], 3);
    world.start(&["run", "j/r", "--limit", "remove=300"]).expect(0).says("300 removed");
    assert_eq!(world.tree("S"), world.tree("T"));
}

#[test]
fn a_first_run_into_a_foreign_folder_with_something_to_remove() {
    let world = World::with("mirror", "");
    world.files([("S/a", "a"), ("T/precious", "p")]);
    world.refused(&["run", "j"], 3).says("is not empty").says("remove precious").says("--accept destination");
    world.start(&["run", "j", "--accept", "destination"]).expect(0).says("1 removed");
    assert_eq!(world.tree("S"), world.tree("T"));
}

#[test]
fn another_rules_destination() {
    let world = mirrored(10);
    world.job_text("k", "rules:\n  r: {mode: mirror, source: ../S, destination: ../T}\n");
    world.refused(&["run", "k"], 3).says("it says that it belongs to j/r");
    world.start(&["run", "k", "--accept", "destination"]).expect(0);
    world.refused(&["run", "j"], 3).says("it says that it belongs to k/r");
}

#[test]
fn a_destination_that_lost_its_twinlane_or_its_id() {
    let world = mirrored(10);
    fs::rename(world.path("T/.twinlane"), world.path("aside")).unwrap();
    world.refused(&["run", "j"], 3).says("has lost its `.twinlane`");
    fs::rename(world.path("aside"), world.path("T/.twinlane")).unwrap();
    world.start(&["run", "j"]).expect(0);
    fs::write(world.path("T/.twinlane/id"), "{}").unwrap();
    world.refused(&["run", "j"], 3).says("an id that cannot be read").says("--accept destination");
    world.start(&["run", "j", "--accept", "destination"]).expect(0);
    world.start(&["run", "j"]).expect(0);
}

#[test]
fn a_destination_that_is_gone_after_a_first_run_is_not_made_again() {
    let world = mirrored(10);
    fs::rename(world.path("T"), world.path("elsewhere")).unwrap();
    world.refused(&["run", "j"], 3).says("is not there");
    assert!(!world.path("T").exists());
}

#[test]
fn a_lost_state_adopts_what_names_the_rule() {
    let world = mirrored(10);
    fs::remove_dir_all(world.path("state")).unwrap();
    world.start(&["run", "j"]).expect(0).says("nothing to do");
}

#[test]
fn the_parent_of_a_destination_is_not_made() {
    let world = World::new();
    world.files([("S/a", "a")]);
    world.job_text("j", "rules:\n  r: {mode: mirror, source: ../S, destination: ../x/y/T}\n");
    world.refused(&["run", "j"], 3).says("is not there");
}

#[test]
fn bc_53_equal_and_nested_roots_by_path_and_by_symlink() {
    let world = World::new();
    world.files([("S/a", "a"), ("S/sub/b", "b")]);
    symlink("S", world.path("link")).unwrap();
    let job = |source: &str, destination: &str| {
        world.job_text(
            "j",
            &format!("rules:\n  r: {{mode: mirror, source: ../{source}, destination: ../{destination}}}\n"),
        );
    };
    for (source, destination, text) in [
        ("S", "link", "same directory"),
        ("link", "S/sub", "lies inside source"),
        ("S", "link/sub", "lies inside source"),
        ("S", "link/new", "lies inside source"),
        ("S/sub", "link", "lies inside destination"),
    ] {
        job(source, destination);
        world.refused(&["run", "j"], 3).says(text);
        world.refused(&["plan", "j"], 0).says(text);
    }
}

#[test]
fn bc_53_nested_roots_by_bind_mount() {
    let mut world = World::with("mirror", "");
    world.files([("S/a", "a"), ("S/sub/b", "b")]);
    let (source, sub) = (world.path("S"), world.path("S/sub"));
    if !world.mount("T", FileSystem::Bind(&sub)) {
        return;
    }
    world.refused(&["run", "j", "--accept", "destination"], 3).says("lies inside source");
    world.unmount("T");
    fs::create_dir(world.path("T/x")).unwrap();
    if world.mount("T/x", FileSystem::Bind(&source)) {
        world.refused(&["run", "j", "--accept", "destination"], 3);
        world.job_text("j", "rules:\n  r: {mode: mirror, source: ../S, destination: ../T/x/new}\n");
        world.refused(&["run", "j", "--accept", "destination"], 3).says("lies inside source");
    }
}

#[test]
fn a_destination_inside_another_ones() {
    let world = mirrored(10);
    fs::create_dir(world.path("S2")).unwrap();
    world.files([("S2/a", "a")]);
    symlink("T", world.path("link")).unwrap();
    for destination in ["T/inner", "link/inner", "T/d00"] {
        world.job_text(
            "k",
            &format!("rules:\n  r: {{mode: backup, source: ../S2, destination: ../{destination}}}\n"),
        );
        world.refused(&["run", "k"], 3).says("which is the destination of j/r");
    }
}

#[test]
fn a_disk_that_is_not_mounted_after_a_first_run() {
    let mut world = World::with("mirror", "");
    world.many(10);
    if !world.mount("T", FileSystem::Tmpfs("")) {
        return;
    }
    world.refused(&["run", "j"], 3).says("is the root of a file system");
    world.start(&["run", "j", "--accept", "destination"]).expect(0);
    world.start(&["run", "j"]).expect(0).says("nothing to do");
    world.unmount("T");
    world.refused(&["run", "j"], 3).says("has lost its `.twinlane`");
}

#[test]
fn bc_50_a_source_that_is_not_mounted_any_more() {
    let mut world = World::with("mirror", "");
    if !world.mount("S", FileSystem::Tmpfs("")) {
        return;
    }
    world.many(10);
    world.start(&["run", "j"]).expect(0);
    world.unmount("S");
    world.refused(&["run", "j"], 3).says("mount point at the last run").says("--accept source");
    world.files([("S/other", "o")]);
    world.refused(&["run", "j"], 3).says("--accept source");
    world.refused(&["run", "j", "--accept", "source"], 3).says("--limit remove=11");
}

#[test]
fn an_inner_mount_that_is_gone_keeps_its_copy() {
    let mut world = World::with("mirror", "");
    world.many(30);
    if !world.mount("S/inner", FileSystem::Tmpfs("")) {
        return;
    }
    world.files([("S/inner/a", "a")]);
    world.start(&["run", "j"]).expect(0).says("mount point inner was entered");
    world.unmount("S/inner");
    world.start(&["run", "j"]).expect(1).says("nothing is mounted there now");
    assert!(world.path("T/inner/a").exists());
    world.start(&["run", "j"]).expect(1);
    world.start(&["run", "j", "--accept", "source"]).expect(0).says("1 removed");
    assert!(!world.path("T/inner/a").exists());
    world.start(&["run", "j"]).expect(0);
}

#[test]
fn required_mounts() {
    let world = World::with("mirror", "require: {source: {mounted: true}}");
    world.many(3);
    world.refused(&["run", "j"], 3).says("the job requires it");
}

#[test]
fn a_foreign_symlink_on_the_way_to_a_root() {
    let world = World::with("mirror", "");
    fs::remove_dir(world.path("S")).unwrap();
    world.files([("real/a", "a")]);
    symlink("real", world.path("S")).unwrap();
    if std::os::unix::fs::lchown(world.path("S"), Some(12345), None).is_err() {
        eprintln!("skipped: this user may not give files away");
        return;
    }
    world.refused(&["run", "j"], 3).says("belongs to neither root nor the running user");
}
