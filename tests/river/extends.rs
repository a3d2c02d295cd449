//! Jobs that extend other files: whose errors are told where, what `show` says, and what the shared file itself is.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use crate::support::World;

const COMMON: &str =
    "timezone: UTC\ndefaults:\n  limits: {min_free: none}\n  exclude:\n    - \"*.tmp\"\n    - \"*.bak\"\n";
const JOB: &str = "extends: common.yaml\ndefaults:\n  exclude+: [\"*.iso\"]\nrules:\n  r:\n    mode: mirror\n    source: ../S\n    destination: ../T\n";

fn world() -> World {
    let world = World::new();
    world.job_text("common", COMMON);
    world.job_text("j", JOB);
    world.files([("S/a", "a"), ("S/b.tmp", "b"), ("S/c.iso", "c"), ("S/d.bak", "d")]);
    world
}

#[test]
fn a_job_runs_with_what_it_extends() {
    let world = world();
    world.run().expect(0).says("1 copied");
    assert!(world.path("T/a").exists());
    for left_out in ["T/b.tmp", "T/c.iso", "T/d.bak"] {
        assert!(!world.path(left_out).exists(), "{left_out}");
    }
    world.is_settled();
}

#[test]
fn show_tells_the_file_and_line_of_each_value() {
    let world = world();
    let shown = world.start(&["show", "j"]).expect(0);
    for (key, place) in [
        ("timezone", "common.yaml line 1"),
        ("rules.r.limits.min_free", "common.yaml line 3"),
        ("rules.r.exclude ", "common.yaml line 5"),
        ("rules.r.exclude+", "line 3"),
        ("rules.r.mode", "line 6"),
        ("rules.r.limits.remove", "default"),
    ] {
        let row = shown.out.lines().find(|row| row.trim_start().starts_with(key)).unwrap_or_default();
        assert!(row.ends_with(&format!("  {place}")), "{key}: {row}");
    }
    let rows = world.start(&["show", "j", "--json"]).expect(0).json();
    let row = |key: &str| rows.iter().find(|row| row["key"] == key).unwrap();
    let file = |name: &str| serde_json::json!(world.path(name));
    assert_eq!((&row("timezone")["file"], &row("timezone")["line"]), (&file("jobs/common.yaml"), &1.into()));
    assert_eq!(row("rules.r.mode")["file"], file("jobs/j.yaml"));
    assert!(row("rules.r.retries")["file"].is_null() && row("rules.r.retries")["line"].is_null());
}

#[test]
fn bc_88_errors_are_told_in_the_file_that_is_wrong() {
    let world = world();
    world.job_text("common", "defaults:\n  exlude: [a]\n  compare: hsah\n");
    world.job_text("j", &format!("{JOB}    remov: before\n"));
    for verb in ["validate", "plan", "run", "show"] {
        let said = world.refused(&[verb, "j"], 2);
        let said = said.says("jobs/common.yaml:2:3").says("did you mean `exclude`?");
        said.says("jobs/common.yaml:3:12").says("jobs/j.yaml:9:5").says("did you mean `remove`?");
    }
}

#[test]
fn an_extended_file_that_is_not_there_is_told_with_its_neighbour() {
    let world = world();
    for (asked, says) in [
        ("comon.yaml", "did you mean `common.yaml`"),
        ("common", "did you mean `common.yaml`"),
        ("elsewhere/x.yaml", "starts at the folder of the file that names it"),
        (".", "it is a directory"),
        ("../S", "it is a directory"),
    ] {
        world.job_text("j", &JOB.replace("common.yaml", asked));
        world.refused(&["run", "j"], 2).says("j.yaml:1:10").says("cannot read").says(says);
    }
}

#[test]
fn a_shared_file_is_no_broken_job() {
    let world = world();
    world.start(&["jobs"]).expect(0).says("no rules: what other jobs extend").keeps_quiet_of("wrong");
    let jobs = world.start(&["jobs", "--json"]).expect(0).json();
    let told: Vec<_> = jobs.iter().map(|job| (&job["job"], &job["valid"], &job["shared"])).collect();
    assert_eq!(
        told,
        [(&"common".into(), &true.into(), &true.into()), (&"j".into(), &true.into(), &false.into())]
    );
    world.start(&["validate"]).expect(0).says("common.yaml: no rules").says("j.yaml: good, 1 rule");
    world.start(&["validate", "common"]).expect(0).keeps_quiet_of("next:");
    for verb in ["plan", "run", "show"] {
        world.refused(&[verb, "common"], 2).says("`common` has no rules").says("twinlane jobs");
    }
    world.job_text("common", "defaults: {exlude: [a]}\nrule: {}\n");
    world.start(&["jobs"]).expect(0).says("twinlane validate common").says("twinlane validate j");
    world.refused(&["validate"], 2).says("common.yaml:2:1");
}

#[test]
fn bc_98_root_extends_nothing_that_others_may_write() {
    let world = world();
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        eprintln!("skipped: this user is not root");
        return;
    }
    fs::set_permissions(world.path("jobs/common.yaml"), fs::Permissions::from_mode(0o666)).unwrap();
    for verb in ["plan", "run"] {
        let said = world.refused(&[verb, "j"], 2).says("j.yaml:1:10").says("not to be trusted as root");
        said.says("mode 0666").says("belong to root");
    }
    world.start(&["show", "j"]).expect(0);
    // Not even its errors are told: it is looked at before it is read.
    world.files([("jobs/common.yaml", "defaults: {exlude: [a]}\n")]);
    fs::set_permissions(world.path("jobs/common.yaml"), fs::Permissions::from_mode(0o666)).unwrap();
    world.refused(&["run", "j"], 2).says("mode 0666").keeps_quiet_of("exlude");
}
