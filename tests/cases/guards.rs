//! Chapter 9: sources that are not there, roots inside each other, mount points, and paths that were not meant.

use std::fs;

use crate::support::{FileSystem, World, ended, is_root};

const OPEN: &str = "limits: {remove: none, replace: none}";

#[test]
fn bc_50_a_source_that_is_not_mounted() {
    for mode in ["mirror", "backup"] {
        let mut world = World::with(mode, OPEN);
        if !world.mount("S", FileSystem::Tmpfs("")) {
            return;
        }
        world.many(5);
        world.run().expect(0);
        world.unmount("S");
        // Limits that allow everything do not allow this.
        world.refused(&["run", "j"], 3).says("mount point at the last run").says("--accept source");
        // Nor does a state that was lost: the destination remembers.
        fs::remove_dir_all(&world.state).unwrap();
        world.refused(&["run", "j"], 3).says("mount point at the last run");
        assert!(world.path("T/d00/f0001").exists());
    }
}

#[test]
fn bc_50_an_empty_source_is_refused_from_the_first_run_on() {
    let world = World::with("mirror", OPEN);
    world.refused(&["run", "j"], 3).says("is empty");
    // Directories alone are no content.
    world.shell("mkdir -p S/a/b");
    world.refused(&["run", "j"], 3).says("is empty");
    world.job("mirror", &format!("{OPEN}\nrequire: {{source: {{nonempty: false}}}}"));
    world.run().expect(0);
}

#[test]
fn bc_53_a_destination_inside_its_source() {
    for (mode, destination) in [("backup", "../S/backup"), ("mirror", "../S/a/b"), ("backup", "../S/a/../c")]
    {
        let world = World::new();
        world.files([("S/a/f", "f")]);
        world.job_text(
            "j",
            &format!("rules:\n  r: {{mode: {mode}, source: ../S, destination: {destination}}}\n"),
        );
        world.refused(&["run", "j"], 2).says("inside the source").says("j.yaml:2");
    }
}

#[test]
fn bc_53_state_and_job_inside_the_source() {
    let world = World::new();
    // The state lies in the source and changes during the run: copied or left, and never an endless chase.
    let other = tempfile::tempdir().unwrap();
    let text = format!(
        "rules:\n  r:\n    mode: mirror\n    source: ..\n    destination: {}/T\n",
        other.path().display()
    );
    world.job_text("j", &text);
    let program = env!("CARGO_BIN_EXE_twinlane");
    for _ in 0..2 {
        let ran = ended(&world.in_surroundings("timeout", &["60", program, "run", "j"]).output().unwrap());
        assert!([0, 1].contains(&ran.code), "{ran:?}");
    }
    assert!(other.path().join("T/jobs/j.yaml").exists());
}

#[test]
fn bc_55_crossing_file_systems() {
    let mut world = World::with("mirror", OPEN);
    world.files([("S/own", "o"), ("elsewhere/b", "b")]);
    let elsewhere = world.path("elsewhere");
    if !world.mount("S/m", FileSystem::Tmpfs("")) || !world.mount("S/b", FileSystem::Bind(&elsewhere)) {
        return;
    }
    world.files([("S/m/deep/f", "m")]);
    // Entered, and said so.
    world.run().expect(0).says("mount point m was entered").says("mount point b was entered");
    assert_eq!(world.tree("S"), world.tree("T"));
    world.is_settled();
    // Not entered: listed, and what is there of them stays.
    world.job("mirror", &format!("{OPEN}\nselect: {{one_file_system: true}}"));
    world.files([("S/m/deep/g", "new"), ("S/more", "more")]);
    let ran = world.run().expect(0).says("mount point m");
    assert!(
        ran.out.contains("skipped") || ran.err.contains("skipped") || ran.err.contains("not entered"),
        "{ran:?}"
    );
    assert!(
        world.path("T/m/deep/f").exists() && world.path("T/b/b").exists() && world.path("T/more").exists()
    );
    assert!(!world.path("T/m/deep/g").exists());
}

#[test]
fn bc_55_subvolumes() {
    let mut world = World::with("mirror", OPEN);
    if !world.mount("S", FileSystem::Btrfs) {
        return;
    }
    world.shell("echo o >S/own; btrfs subvolume create S/v >/dev/null; echo v >S/v/f; mkdir S/d; btrfs subvolume create S/d/w >/dev/null; echo w >S/d/w/g");
    world.run().expect(0);
    assert_eq!(fs::read_to_string(world.path("T/v/f")).unwrap(), "v\n");
    assert_eq!(fs::read_to_string(world.path("T/d/w/g")).unwrap(), "w\n");
    world.is_settled();
    // Not silently missing where the rule stays on one file system.
    world.job("mirror", &format!("{OPEN}\nselect: {{one_file_system: true}}"));
    world.files([("S/v/new", "n")]);
    let ran = world.run().expect(0);
    let entered = world.path("T/v/new").exists();
    assert!(entered || ran.err.contains('v') || ran.out.contains("mount point v"), "{ran:?}");
    assert!(world.path("T/v/f").exists());
}

#[test]
fn bc_55_a_mount_inside_the_destination_stays() {
    let mut world = World::with("mirror", &format!("{OPEN}\nversions: none"));
    world.files([("S/a", "a"), ("S/gone/x", "x")]);
    world.run().expect(0);
    if !world.mount("T/gone", FileSystem::Tmpfs("")) {
        return;
    }
    world.files([("T/gone/precious", "p")]);
    world.shell("rm -r S/gone");
    let ran = world.run();
    assert!([0, 1].contains(&ran.code), "{ran:?}");
    assert_eq!(fs::read_to_string(world.path("T/gone/precious")).unwrap(), "p");
}

#[test]
fn bc_56_empty_variables() {
    let world = World::new();
    world.files([("S/a", "a")]);
    let line = "rules:\n  r:\n    mode: mirror\n    source: ${env:WHERE}/S\n    destination: ${env:BACKUP_ROOT}/data\n";
    world.job_text("j", line);
    for value in [None, Some(""), Some("  "), Some("\n"), Some("\t")] {
        for verb in ["run", "plan", "validate", "show"] {
            let mut command = world.command(&[verb, "j"]);
            command.env("WHERE", world.base());
            if let Some(value) = value {
                command.env("BACKUP_ROOT", value);
            }
            ended(&command.output().unwrap()).expect(2).says("BACKUP_ROOT").says("j.yaml:5");
        }
    }
    // A newline behind the path would be a part of it.
    let mut command = world.command(&["run", "j"]);
    command.env("WHERE", world.base()).env("BACKUP_ROOT", format!("{}\n", world.base().display()));
    ended(&command.output().unwrap()).expect(2).says("BACKUP_ROOT");
    assert!(!world.path("data").exists() && !world.path("\n").exists());
}

#[test]
fn bc_56_roots_and_homes_need_a_word() {
    let world = World::new();
    world.files([("S/a", "a"), ("home/thesis", "t")]);
    world.job_text(
        "home",
        &format!(
            "rules:\n  r: {{mode: mirror, source: ../S, destination: {}}}\n",
            world.path("home").display()
        ),
    );
    world.refused(&["run", "home"], 3).says("--accept destination");
    world.job_text("root", "rules:\n  r: {mode: mirror, source: ../S, destination: /}\n");
    let said = world.start(&["run", "root"]);
    assert!([2, 3].contains(&said.code), "{said:?}");
    world.job_text("etc", "rules:\n  r: {mode: backup, source: ../S, destination: /etc}\n");
    world.refused(&["run", "etc"], 3).says("--accept destination");
    assert!(!std::path::Path::new("/etc/.twinlane").exists() && !std::path::Path::new("/.twinlane").exists());
    if is_root() {
        world.job_text("tilde", "rules:\n  r: {mode: mirror, source: ../S, destination: \"~\"}\n");
        world.refused(&["run", "tilde"], 2).says("root");
    }
}

#[test]
fn bc_56_a_plan_shows_absolute_paths() {
    let world = World::with("backup", "");
    world.files([("S/a", "a")]);
    let (source, destination) = (world.source.display().to_string(), world.destination.display().to_string());
    world.start(&["plan", "j"]).expect(0).says(&source).says(&destination);
    world.start(&["show", "j"]).expect(0).says(&world.path("jobs/../T").display().to_string());
}
