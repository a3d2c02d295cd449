//! The way on: what a newcomer is told after each step, and that it can be typed as it stands.

use std::fs;

use crate::support::{Ended, World};

/// The command of the last line.
#[track_caller]
fn next(ended: &Ended) -> Vec<String> {
    let last = ended.out.lines().last().unwrap_or_default();
    let command = last.strip_prefix("next: twinlane ");
    command.expect(&ended.out).split(' ').map(str::to_owned).collect()
}

/// Starts what the last line says.
#[track_caller]
fn follow(world: &World, ended: &Ended) -> Ended {
    let words = next(ended);
    world.start(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn from_init_to_history_by_following_the_last_line() {
    let world = World::new();
    world.files([("S/a", "a")]);
    for job in ["by-name", "by/path.yaml"] {
        let destination = format!("T-{}", job.len());
        let init = world.start(&["init", job, "--source", "S", "--destination", &destination]).expect(0);
        assert_eq!(next(&init), ["plan", job]);
        let plan = follow(&world, &init).expect(0);
        assert_eq!(next(&plan), ["run", job]);
        let run = follow(&world, &plan).expect(0).says("1 copied");
        assert_eq!(next(&run), ["history", job]);
        follow(&world, &run).expect(0).says("1 copied");
        let nothing = world.start(&["plan", job]).expect(0).says("nothing to do");
        assert_eq!(next(&nothing), ["history", job]);
        let validated = world.start(&["validate", job]).expect(0);
        assert_eq!(next(&validated), ["plan", job]);
    }
}

#[test]
fn a_job_given_by_path_is_offered_by_path_after_a_refusal() {
    let world = World::with("mirror", "");
    world.many(40);
    fs::rename(world.path("jobs/j.yaml"), world.path("S/../my j.yaml")).unwrap();
    let text = fs::read_to_string(world.path("my j.yaml")).unwrap().replace("../", "");
    fs::write(world.path("my j.yaml"), text).unwrap();
    world.start(&["run", "my j.yaml"]).expect(0).says("next: twinlane history 'my j.yaml'");
    for number in 0..20 {
        fs::remove_file(world.path(&format!("S/d00/f{number:04}"))).unwrap();
    }
    world
        .refused(&["run", "my j.yaml"], 3)
        .says("to allow exactly this: twinlane run 'my j.yaml/r' --limit remove=20")
        .says("next: twinlane plan 'my j.yaml/r' -v");
    world
        .start(&["plan", "my j.yaml/r", "--limit", "remove=20"])
        .expect(0)
        .says("next: twinlane run 'my j.yaml/r' --limit remove=20");
}

#[test]
fn what_was_accepted_already_is_kept_in_the_next_command() {
    let world = World::with("mirror", "");
    world.many(40);
    world.start(&["run", "j"]).expect(0);
    for number in 0..20 {
        fs::remove_file(world.path(&format!("S/d00/f{number:04}"))).unwrap();
    }
    fs::rename(world.path("T/.twinlane"), world.path("aside")).unwrap();
    let lost = world.refused(&["run", "j"], 3);
    assert_eq!(next(&lost), ["plan", "j/r", "--accept", "destination"]);
    follow(&world, &lost).expect(0).says("run j/r --accept destination --limit remove=20");
    world.start(&["run", "j/r", "--accept", "destination", "--limit", "remove=20"]).expect(0);
}

#[test]
fn a_plan_shows_what_hurts_first_and_directories_before_their_files() {
    let world = World::with("mirror", "");
    world.many(20);
    world.start(&["run", "j"]).expect(0);
    world.files([("S/new/file", "x"), ("S/d00/f0000", "changed")]);
    fs::remove_file(world.path("S/d00/f0001")).unwrap();
    let plan = world.start(&["plan", "j"]).expect(0);
    let words: Vec<&str> = plan
        .out
        .lines()
        .filter_map(|line| line.strip_prefix("    "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(words, ["remove", "replace", "mkdir", "copy", "metadata", "metadata"], "{}", plan.out);
    plan.says("metadata  .  (the destination itself: ");
}

#[test]
fn limits_are_told_in_words() {
    let world = World::with("mirror", "");
    world.many(10);
    world
        .start(&["plan", "j", "-v"])
        .expect(0)
        .says("limit remove: 0 of 0 entries, 5 allowed (25%, but 5 of fewer than 20)")
        .says("needed, ")
        .says("may be filled (so that 1% stays free)");
    world.start(&["plan", "j", "-v", "--limit", "min_free=none"]).expect(0).says("needed, no limit");
}

#[test]
fn slips_with_jobs_are_answered_with_the_jobs() {
    let world = World::with("mirror", "");
    fs::copy(world.path("jobs/j.yaml"), world.path("stray.yaml")).unwrap();
    for (arguments, text) in [
        (vec!["run"], "jobs: j"),
        (vec!["plan", "zebra"], "jobs: j"),
        (vec!["plan", "stray"], "given as a path: `stray.yaml`"),
        (vec!["plan", "stray.yml"], "did you mean `stray.yaml`"),
        (vec!["plan", "stray.yaml/q"], "its rules are r"),
        (vec!["plan", "./stray"], "`./stray` is neither a job's name nor a path"),
        (vec!["plan", "jobs/"], "no job is called `jobs`"),
        (vec!["j"], "`twinlane run j` does it"),
        (vec!["history", "--last", "0"], "1 or more"),
        (vec!["history", "--last", "x"], "1 or more"),
        (vec!["history", "gone.yaml"], "cannot read the job file"),
    ] {
        world.refused(&arguments, 2).says(text);
    }
    world
        .start(&["history", "stray.yaml"])
        .expect(0)
        .says("no run yet")
        .says("next: twinlane plan stray.yaml");
}

#[test]
fn init_leaves_nothing_behind_that_does_not_validate() {
    let world = World::new();
    for (arguments, text) in [
        (
            vec!["init", "x", "--source", "anna@host:/photos"],
            "Twinlane works on local and mounted file systems",
        ),
        (
            vec!["init", "x", "--destination", "s3://bucket/x"],
            "Twinlane works on local and mounted file systems",
        ),
        (vec!["init", "x", "--source", "S", "--destination", "S/in"], "lies inside the source"),
        (vec!["init", "x", "--destination", "~"], "bare `~`"),
        (vec!["init", "jobs/.yaml"], "hidden file"),
    ] {
        world.refused(&arguments, 2).says(text);
    }
}

#[test]
fn quiet_refusals_name_job_and_rule() {
    let world = World::with("mirror", "");
    world.refused(&["run", "j", "-q"], 3).says("j/r  refused");
}
