//! The command line and job files: exit 2, the place and the way out, nothing touched.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::support::World;

#[test]
fn bc_90_wrong_words_are_usage_errors() {
    let world = World::with("mirror", "");
    world.files([("S/a", "a")]);
    for (arguments, text) in [
        (vec!["run", "jj"], "did you mean `j`?"),
        (vec!["run", "unheard-of"], "no job is called"),
        (vec!["run", "j/other"], "its rules are r"),
        (vec!["run", "gone.yaml"], "cannot read the job file"),
        (vec!["run"], "required"),
        (vec!["plan", "j", "--limit", "remove"], "NAME=VALUE"),
        (vec!["plan", "j", "--limit", "delete=3"], "there is no limit `delete`"),
        (vec!["plan", "j", "--limit", "remove=120%"], "between 0% and 100%"),
        (vec!["plan", "j", "--accept", "all"], "possible values"),
        (vec!["plan", "j", "--frce"], "unexpected argument"),
        (vec!["plna", "j"], "plan"),
        (vec!["daemon", "j"], "unrecognized subcommand"),
        (vec!["check", "j"], "twinlane validate"),
        (vec!["run", "j", "-q", "-v"], "cannot be used with"),
    ] {
        world.refused(&arguments, 2).says(text);
    }
    assert!(!world.path("T").exists());
}

#[test]
fn bc_90_no_job_at_all() {
    let world = World::new();
    world.refused(&["run", "j"], 2).says("twinlane init j");
    world.refused(&["validate"], 2).says("there is no job");
    world.refused(&[], 0).says("none yet").says("twinlane plan JOB");
}

#[test]
fn bc_56_an_unset_variable() {
    let world = World::new();
    world.files([("S/a", "a")]);
    world.job_text(
        "j",
        "rules:\n  r:\n    mode: mirror\n    source: ../S\n    destination: ${env:BACKUP_ROOT}/data\n",
    );
    for verb in ["run", "plan", "validate", "show"] {
        world.refused(&[verb, "j"], 2).says("BACKUP_ROOT").says("j.yaml:5");
    }
    for value in ["", " ", "\n"] {
        let mut command = world.command(&["run", "j"]);
        let output = command.env("BACKUP_ROOT", value).output().unwrap();
        crate::support::ended(&output).expect(2).says("BACKUP_ROOT");
    }
}

#[test]
fn all_errors_of_a_file_in_one_pass() {
    let world = World::new();
    world.job_text(
        "j",
        "rules:\n  r:\n    mod: mirror\n    source: ~\n    destination: ../T\n    exlude: [a]\n",
    );
    world.refused(&["validate", "j"], 2).says("mod").says("exclude").says("source");
}

#[test]
fn a_name_in_two_places() {
    let world = World::with("mirror", "");
    let own = world.path("home/.config/twinlane/jobs");
    fs::create_dir_all(&own).unwrap();
    fs::copy(world.path("jobs/j.yaml"), own.join("j.yaml")).unwrap();
    world.refused(&["run", "j"], 2).says("2 jobs are called `j`").says(".config/twinlane/jobs/j.yaml");
    world.files([("S/a", "a")]);
    world.start(&["run", "jobs/j.yaml"]).expect(0);
}

#[test]
fn bc_98_a_job_that_others_may_write_is_not_run_by_root() {
    let world = World::with("mirror", "");
    world.files([("S/a", "a")]);
    fs::set_permissions(world.path("jobs/j.yaml"), fs::Permissions::from_mode(0o666)).unwrap();
    let is_root = std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").unwrap()) == 0;
    if is_root {
        world.refused(&["run", "j"], 2).says("not to be trusted as root").says("mode 0666");
    } else {
        eprintln!("skipped: this user is not root");
    }
}

#[test]
fn init_writes_a_job_that_validates_and_never_overwrites() {
    let world = World::new();
    world.files([("S/it's a: file", "a")]);
    for (name, mode) in [("one", "mirror"), ("two", "backup")] {
        let arguments = ["init", name, "--source", "S", "--destination", "T's", "--mode", mode];
        world.start(&arguments).expect(0).says("twinlane plan");
        world.start(&["validate", name]).expect(0).says("good, 1 rule");
        world.refused(&arguments, 2).says("is there already");
    }
    world.start(&["init", "plain"]).expect(0);
    world.refused(&["init", "../up"], 2).says("neither a name nor a path");
    world.start(&["init", "sub/x.yaml"]).expect(0);
    world.start(&["run", "one"]).expect(0).says("1 copied");
    assert!(world.path("T's/it's a: file").exists());
    fs::remove_dir_all(world.path("jobs")).unwrap();
    world.start(&["init", "away"]).expect(0);
    assert!(world.path("home/.config/twinlane/jobs/away.yaml").exists());
}

#[test]
fn validate_finds_destinations_of_two_jobs_in_each_other() {
    let world = World::with("mirror", "");
    world.job_text("k", "rules:\n  r: {mode: backup, source: ../S, destination: ../T/inner}\n");
    world.refused(&["validate"], 2).says("j/r").says("k/r");
}

#[test]
fn show_and_jobs_tell_where_things_are_from() {
    let world = World::with("mirror", "limits: {remove: 12}");
    world.start(&["show", "j"]).expect(0).says("rules.r.limits.remove").says("line 6").says("default");
    let rows = world.start(&["show", "j/r", "--json"]).expect(0).json();
    assert!(rows.iter().any(|row| row["key"] == "rules.r.limits.remove" && row["line"] == 6));
    world.job_text("wrong", "rules: 1\n");
    world.start(&["jobs"]).expect(0).says("1 rule").says("twinlane validate wrong");
    let jobs = world.start(&["jobs", "--json"]).expect(0).json();
    assert_eq!(jobs[0]["job"], "j");
    assert_eq!(jobs[1]["valid"], false);
}

#[test]
fn bc_77_another_working_directory_and_no_environment() {
    let world = World::with("mirror", "");
    world.files([("S/a", "a")]);
    let file = world.path("jobs/j.yaml");
    let mut command = world.command(&["run", file.to_str().unwrap()]);
    command.current_dir("/").env_remove("HOME");
    crate::support::ended(&command.output().unwrap()).expect(0);
    assert!(world.path("T/a").exists(), "relative paths start at the job file's folder");

    world.job_text("home", "rules:\n  r: {mode: mirror, source: ~/x, destination: ../T2}\n");
    let mut command = world.command(&["run", "home"]);
    command.env("HOME", "");
    crate::support::ended(&command.output().unwrap()).expect(2).says("home.yaml:2");
    assert!(!world.path("jobs/~").exists());
}
