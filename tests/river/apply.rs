//! `plan --out`, `apply`, and `show` of a plan file.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;

use crate::support::{World, assert_same, ended, is_root, set_mode};

/// A world whose destination holds an older state, and a plan of everything that is to be done: `p`. What changes and what goes lies in
/// folders of their own: nothing is removed beside or above what could not be copied.
fn planned(mode: &str, options: &str) -> World {
    let world = World::with(mode, options);
    let names = ["S/m/a", "S/m/b", "S/m/e", "S/n/c", "S/n/d", "S/n/f", "S/g", "S/h"];
    world.files(names.map(|name| (name, "old")));
    world.run().expect(0);
    world.files([("S/m/a", "newer a"), ("S/m/b", "newer b"), ("S/new", "n"), ("S/dir/deep/x", "x")]);
    fs::remove_file(world.path("S/n/c")).unwrap();
    fs::remove_file(world.path("S/n/d")).unwrap();
    set_mode(&world.path("S/m/e"), 0o640);
    world.start(&["plan", "j", "--out", "p"]).expect(0).says("written to p").says("next: twinlane apply p");
    world
}

/// What a run of a job recorded, newest first, without its ids and times.
fn recorded(world: &World) -> serde_json::Value {
    let runs = world.start(&["history", "--json", "-v", "--last", "1"]).expect(0).json();
    runs[0]["rules"][0]["actions"].clone()
}

#[test]
fn a_plan_is_carried_out_exactly_and_recorded_as_its_run_would_be() {
    let world = planned("mirror", "");
    let twin = planned("mirror", "");
    let shown = twin.planned_actions();
    twin.run().expect(0);
    // Nothing that came after the plan is touched.
    world.files([("S/later", "l"), ("S/dir/later", "l"), ("T/extra", "e")]);
    let ended = world.start(&["apply", "p"]).expect(0);
    ended
        .says("p: planned less than a minute ago on ")
        .says("2 replaced, 2 removed")
        .says("next: twinlane history ");
    assert!(!world.path("T/later").exists() && !world.path("T/dir/later").exists());
    assert!(world.path("T/extra").exists());
    for name in ["m/a", "m/b", "new", "dir/deep/x"] {
        assert_eq!(
            fs::read(world.path("S").join(name)).unwrap(),
            fs::read(world.path("T").join(name)).unwrap()
        );
    }
    assert!(!world.path("T/n/c").exists() && !world.path("T/n/d").exists());
    assert_eq!(fs::metadata(world.path("T/m/e")).unwrap().mode() & 0o777, 0o640);
    let texts = |actions: &serde_json::Value| -> Vec<String> {
        let mut texts: Vec<String> = actions.as_array().unwrap().iter().map(ToString::to_string).collect();
        texts.sort();
        texts
    };
    let mut shown = shown;
    shown.sort();
    assert_eq!(texts(&recorded(&world)), texts(&recorded(&twin)));
    assert_eq!(texts(&recorded(&world)), shown);
    world.start(&["run", "j"]).expect(0);
    assert_same(&world.tree("S"), &world.tree("T"), "after the next run");
}

#[test]
fn three_that_changed_since_are_left_alone_and_listed() {
    let world = planned("mirror", "");
    world.files([
        ("S/m/a", "newest a, edited"),
        ("T/m/b", "edited in the destination"),
        ("S/n/c", "is back"),
    ]);
    let ended = world.start(&["apply", "p"]).expect(1);
    let ended = ended
        .says("3 left undone")
        .says("r/m/a: moved since: the source changed")
        .says("r/m/b: moved since: the destination changed")
        .says("r/n/c: moved since: something appeared in the source")
        .says("next: twinlane plan ");
    assert_eq!(ended.out.matches("moved since").count(), 3, "{}", ended.out);
    assert_eq!(fs::read(world.path("T/m/a")).unwrap(), b"old");
    assert_eq!(fs::read(world.path("T/m/b")).unwrap(), b"edited in the destination");
    assert_eq!(fs::read(world.path("T/n/c")).unwrap(), b"old");
    assert!(!world.path("T/n/d").exists());
    assert_eq!(fs::read(world.path("T/new")).unwrap(), b"n");
    assert_eq!(fs::read(world.path("T/dir/deep/x")).unwrap(), b"x");
    world.start(&["run", "j"]).expect(0);
    assert_same(&world.tree("S"), &world.tree("T"), "after the next run");
}

#[test]
fn what_vanished_and_what_appeared_is_no_ones_loss() {
    let world = planned("mirror", "");
    fs::remove_file(world.path("S/m/a")).unwrap();
    world.files([("T/new", "mine")]);
    world.start(&["apply", "p"]).expect(1).says("1 vanished").says("r/new: moved since: something appeared");
    assert_eq!(fs::read(world.path("T/m/a")).unwrap(), b"old");
    assert_eq!(fs::read(world.path("T/new")).unwrap(), b"mine");
}

#[test]
fn a_plan_that_was_applied_does_no_harm_a_second_time() {
    let world = planned("mirror", "");
    world.start(&["apply", "p"]).expect(0);
    let before = world.tree("T");
    world.start(&["apply", "p"]).expect(1).says("it was applied before").says("next: twinlane plan ");
    assert_same(&before, &world.tree("T"), "the second time");
    world.is_settled();
}

#[test]
fn a_first_run_can_be_planned_and_applied() {
    for there in [false, true] {
        let world = World::with("mirror", "");
        world.files([("S/a", "a"), ("S/d/b", "b")]);
        if there {
            fs::create_dir(world.path("T")).unwrap();
        }
        world.start(&["plan", "j", "--out", "p"]).expect(0);
        world.start(&["apply", "p"]).expect(0).says("2 copied");
        assert_same(&world.tree("S"), &world.tree("T"), "applied");
        world.is_settled();
        world.refused(&["apply", "p"], 3).says("for the first time since").says("next: twinlane plan ");
    }
}

#[test]
fn a_destination_that_appeared_since_is_not_the_planned_one() {
    let world = World::with("mirror", "");
    world.files([("S/a", "a")]);
    world.start(&["plan", "j", "--out", "p"]).expect(0);
    world.files([("T/precious", "p")]);
    world.refused(&["apply", "p"], 3).says("was not there when it was made");
}

#[test]
fn another_job_is_refused_with_its_differences() {
    let world = planned("mirror", "");
    world.job("mirror", "limits: {remove: 90%}\nretries: 5");
    world
        .refused(&["apply", "p"], 3)
        .says("the job says something else than when the plan was made")
        .says("limits.remove was 25%, and is 90%")
        .says("retries was 3, and is 5")
        .says("--out p");
    // What says the same in other words is the same.
    world.job("mirror", "retries: 3 # the default\n");
    world.start(&["apply", "p"]).expect(0);
    let other = planned("mirror", "");
    other.job_text("j", "rules:\n  other: {mode: mirror, source: ../S, destination: ../T}\n");
    other.refused(&["apply", "p"], 3).says("has no rule `r` now");
    other.job_text("j", "rules: 7\n");
    other.refused(&["apply", "p"], 2);
    fs::remove_file(other.path("jobs/j.yaml")).unwrap();
    other.refused(&["apply", "p"], 2).says("cannot read the job file");
}

#[test]
fn limits_are_those_of_the_plan_and_checked_anew() {
    let world = World::with("mirror", "");
    world.many(100);
    world.run().expect(0);
    for number in 0..40 {
        fs::remove_file(world.path(&format!("S/d00/f{number:04}"))).unwrap();
    }
    let plan = world.start(&["plan", "j", "--out", "p"]).expect(0).says("a run would be refused");
    assert!(!plan.out.contains("next: twinlane apply"), "{}", plan.out);
    world
        .refused(&["apply", "p"], 3)
        .says("it would remove 40 of 101 entries; 25 are allowed")
        .says("to allow exactly this: twinlane apply p --limit remove=40")
        .says("next: twinlane show p -v");
    world.refused(&["apply", "p", "--limit", "remove=39"], 3);
    world.start(&["plan", "j", "--out", "q", "--limit", "remove=40"]).expect(0).says("twinlane apply q");
    world.start(&["show", "q"]).expect(0).says("with --limit remove=40");
    world.start(&["apply", "q"]).expect(0).says("40 removed");
    world.is_settled();
    let full = planned("mirror", "");
    full.refused(&["apply", "p", "--limit", "min_free=900PB"], 3).says("stays free");
}

#[test]
fn a_first_run_that_does_more_than_add_needs_its_word_then_or_now() {
    let world = World::with("mirror", "");
    world.files([("S/a", "a"), ("T/precious", "p")]);
    world.start(&["plan", "j", "--out", "p"]).expect(0);
    world.refused(&["apply", "p"], 3).says("is not empty").says("twinlane apply p --accept destination");
    world.start(&["plan", "j", "--accept", "destination", "--out", "q"]).expect(0);
    world.start(&["apply", "q"]).expect(0).says("1 removed");
}

#[test]
fn another_destination_or_source_is_refused() {
    let world = planned("mirror", "");
    let id = fs::read_to_string(world.path("T/.twinlane/id")).unwrap();
    let value: serde_json::Value = serde_json::from_str(&id).unwrap();
    let other = id.replace(value["id"].as_str().unwrap(), &"7".repeat(32));
    fs::write(world.path("T/.twinlane/id"), other).unwrap();
    world.refused(&["apply", "p"], 3);
    world.refused(&["apply", "p", "--accept", "destination"], 3).says("has another id than then");
    fs::write(world.path("T/.twinlane/id"), id).unwrap();
    fs::rename(world.path("S"), world.path("away")).unwrap();
    world.refused(&["apply", "p"], 3).says("is not there");
    world.shell("cp -a away S");
    world.refused(&["apply", "p"], 3).says("is another directory than then");
    fs::remove_dir_all(world.path("S")).unwrap();
    fs::rename(world.path("away"), world.path("S")).unwrap();
    world.start(&["apply", "p"]).expect(0);
}

#[test]
fn an_emptied_source_is_refused() {
    let world = planned("mirror", "");
    world.shell("find S -type f -delete");
    world.refused(&["apply", "p"], 3).says("is empty");
}

#[test]
fn names_that_are_no_utf_8_keep_their_bytes() {
    let world = World::with("mirror", "");
    world.files([("S/keep", "k")]);
    let name = OsStr::from_bytes(b"d\xff");
    fs::create_dir(world.source.join(name)).unwrap();
    fs::write(world.source.join(name).join(OsStr::from_bytes(b"f\xfe\n")), "x").unwrap();
    world.start(&["plan", "j", "--out", "p"]).expect(0);
    world.start(&["apply", "p"]).expect(0);
    assert_same(&world.tree("S"), &world.tree("T"), "applied");
}

#[test]
fn a_held_destination() {
    let world = planned("mirror", "");
    let hook = "hook:touch held; while [ ! -e go ]; do sleep 0.02; done@12";
    let held = world.spawn(&["run", "j"], &[("TWINLANE_FAULT", hook)]);
    while !world.path("held").exists() {
        std::thread::yield_now();
    }
    world.start(&["apply", "p"]).expect(4).says("next: twinlane apply p");
    world.files([("go", "")]);
    ended(&held.wait_with_output().unwrap()).expect(0);
}

#[test]
fn a_killed_apply_is_whole_and_converges() {
    let world = planned("mirror", "");
    let sums = |name: &str| fs::read(world.path(name)).unwrap();
    let (kept, kept_state) = (world.path("T.kept"), world.path("state.kept"));
    crate::support::restore_tree(&world.destination, &kept);
    crate::support::restore_tree(&world.state, &kept_state);
    let mut killed = 0;
    for at in (1..400).step_by(7) {
        crate::support::restore_tree(&kept, &world.destination);
        crate::support::restore_tree(&kept_state, &world.state);
        // The copy's inodes are others: a plan of its own.
        world.start(&["plan", "j", "--out", "p"]).expect(0);
        let fault = format!("kill@{at}");
        let mut command = world.command(&["apply", "p"]);
        let output =
            command.envs([("TWINLANE_FAULT", fault.as_str()), ("TWINLANE_WORKERS", "1")]).output().unwrap();
        let first = ended(&output);
        if first.code != -9 {
            first.expect(0);
            break;
        }
        killed += 1;
        for (name, new) in [("T/m/a", "newer a"), ("T/m/b", "newer b")] {
            let found = sums(name);
            assert!(found == b"old" || found == new.as_bytes(), "kill@{at}: {name}");
        }
        let again = world.start(&["apply", "p"]);
        assert!([0, 1].contains(&again.code), "kill@{at}: {again:?}");
        world.start(&["run", "j"]).expect(0);
        assert_same(&world.tree("S"), &world.tree("T"), &fault);
        world.is_settled();
    }
    assert!(killed > 5, "only {killed} kills");
}

#[test]
fn files_that_are_no_plan_are_refused_in_a_line() {
    let world = planned("mirror", "");
    let whole = fs::read(world.path("p")).unwrap();
    let check = |bytes: &[u8], text: &str| {
        fs::write(world.path("bad"), bytes).unwrap();
        world.refused(&["apply", "bad"], 2).says("cannot use the plan file").says(text);
    };
    check(b"", "it is empty");
    check(b"rules:\n", "it is not a plan file");
    check(b"\xff\xfe\x00", "it is not a plan file");
    check(b"{\"twinlane_plan\":9,\"sums\":[]}\n", "it has format 9, and this Twinlane reads format 1");
    check(&whole[..whole.len() / 2], "line ");
    let last = whole[..whole.len() - 1].iter().rposition(|&byte| byte == b'\n').unwrap();
    check(&whole[..=last], "it was cut off");
    let edited = String::from_utf8(whole.clone()).unwrap().replacen("\"size\":7", "\"size\":9", 1);
    assert_ne!(edited.as_bytes(), whole);
    check(edited.as_bytes(), "it was changed after it was written");
    let mut bytes = whole.clone();
    let middle = whole.len() / 2;
    bytes[middle] = 0xff;
    check(&bytes, "line ");
    world.refused(&["apply", "gone"], 2).says("cannot read the plan file");
    world.refused(&["apply", "S"], 2).says("it is a directory");
    world.start(&["apply", "p"]).expect(0);
}

#[test]
fn a_plan_file_replaces_its_own_kind_alone_and_is_private() {
    let world = planned("mirror", "");
    assert_eq!(fs::metadata(world.path("p")).unwrap().mode() & 0o7777, 0o600);
    world.start(&["plan", "j", "--out", "p"]).expect(0);
    world.files([("mine", "text")]);
    world.refused(&["plan", "j", "--out", "mine"], 2).says("is there, and is not a plan file");
    world.refused(&["plan", "j", "--out", "S"], 2);
    world.refused(&["plan", "j", "--out", "gone/p"], 5);
    world.shell("ln -s mine link");
    world.refused(&["plan", "j", "--out", "link"], 2);
    world.refused(&["plan", "no-such-job", "--out", "q"], 2);
    assert!(!world.path("q").exists());
}

#[test]
fn an_interrupted_plan_leaves_no_file() {
    let world = World::with("mirror", "");
    world.many(200);
    let mut command = world.command(&["plan", "j", "--out", "p"]);
    // The command goes on until the signal has been seen.
    let output = command.env("TWINLANE_FAULT", "read-hook:kill -INT $PPID; sleep 0.3@20").output().unwrap();
    ended(&output).expect(130).says("`p` was not written");
    let names: Vec<_> = fs::read_dir(world.base()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name == "p" || name.as_bytes().starts_with(b".")), "{names:?}");
}

#[test]
fn a_plan_file_is_the_old_or_the_new_one_whole() {
    let world = planned("mirror", "");
    let old = fs::read(world.path("p")).unwrap();
    let mut failed = 0;
    for at in 1..20 {
        for kind in ["kill", "eio"] {
            fs::write(world.path("p"), &old).unwrap();
            let mut command = world.command(&["plan", "j", "--out", "p"]);
            let output = command.env("TWINLANE_FAULT", format!("{kind}@{at}")).output().unwrap();
            let ended = ended(&output);
            failed += u32::from(ended.code != 0);
            assert!([0, 5, -9].contains(&ended.code), "{kind}@{at}: {ended:?}");
            world.start(&["show", "p"]).expect(0).says("2 to replace");
        }
    }
    assert!(failed >= 8, "only {failed} faults met the file");
    world.start(&["apply", "p"]).expect(0);
}

#[test]
fn as_root_only_what_nobody_else_may_write() {
    if !is_root() {
        eprintln!("skipped: only root distrusts a plan file");
        return;
    }
    let world = planned("mirror", "");
    set_mode(&world.path("p"), 0o660);
    world.refused(&["apply", "p"], 2).says("the plan file").says("may be written by others");
    set_mode(&world.path("p"), 0o600);
    world.shell("mkdir open && chmod 777 open && mv p open/");
    world.refused(&["apply", "open/p"], 2).says("may be written by others");
    world.shell("mv open/p p && chown 65534 p");
    world.refused(&["apply", "p"], 2).says("belongs to user 65534");
    world.shell("chown 0 p && chmod 666 jobs/j.yaml");
    world.refused(&["apply", "p"], 2).says("the job file");
}

#[test]
fn a_plan_file_is_shown_whatever_its_name() {
    let world = planned("mirror", "");
    fs::rename(world.path("p"), world.path("looks-like.yaml")).unwrap();
    let shown = world.start(&["show", "looks-like.yaml"]).expect(0);
    let shown = shown
        .says("planned less than a minute ago")
        .says("j/r  mirror")
        .says("2 to replace")
        .says("jobs/j.yaml");
    assert!(shown.out.ends_with("next: twinlane apply looks-like.yaml\n"), "{}", shown.out);
    world
        .start(&["show", "looks-like.yaml", "-v"])
        .expect(0)
        .says("replace   m/a  (newer, size differs)")
        .says("limit remove");
    let lines = world.start(&["show", "looks-like.yaml", "--json"]).expect(0).json();
    assert_eq!(lines[0]["plan"], "looks-like.yaml");
    let plan = world.start(&["plan", "j", "--json"]).expect(0).json().remove(0);
    assert_eq!(lines[1], plan);
    world.start(&["show", "j"]).expect(0).says("mode");
    world.start(&["apply"]).expect(2).says("a plan file is required");
    fs::remove_dir_all(world.path("S")).unwrap();
    world.start(&["plan", "j", "--out", "q"]).expect(0);
    world
        .start(&["show", "q"])
        .expect(0)
        .says("it would have been refused then: source")
        .says("j.yaml/r --out q");
}

#[test]
fn several_jobs_and_rules_in_one_file() {
    let world = World::new();
    world.files([("S/a", "a"), ("S2/b", "b")]);
    world.job_text(
        "one",
        "rules:\n  r: {mode: mirror, source: ../S, destination: ../T}\n  off: {enabled: false, mode: mirror, source: ../S, destination: ../T3}\n",
    );
    world.job_text("two", "rules:\n  r: {mode: backup, source: ../S2, destination: ../T2}\n  gone: {mode: backup, source: ../S4, destination: ../T4}\n");
    world.start(&["plan", "one", "two", "--out", "p"]).expect(0).says("4 plans written to p");
    world.start(&["show", "p"]).expect(0).says("it is not enabled").says("is not there");
    world.start(&["apply", "p"]).expect(3).says("skipped").says("is not there");
    assert!(world.path("T/a").exists() && world.path("T2/b").exists());
    world.files([("S4/c", "c")]);
    world.start(&["apply", "p"]).expect(3).says("the file has none for this rule");
}

#[test]
fn of_needed_rules_those_in_the_file_count() {
    let world = World::new();
    world.files([("S/a", "a"), ("S2/b", "b")]);
    world.job_text(
        "j",
        "rules:\n  one: {mode: mirror, source: ../S, destination: ../T}\n  two: {mode: mirror, source: ../S2, destination: ../T2, needs: [one]}\n",
    );
    world.start(&["plan", "j", "--out", "p"]).expect(0);
    world.start(&["plan", "j/two", "--out", "q"]).expect(0);
    world.files([("T/precious", "p")]);
    world.refused(&["apply", "p"], 3).says("it needs one, which did not end well");
    world.start(&["apply", "q"]).expect(0);
    assert!(world.path("T2/b").exists() && !world.path("T/a").exists());
}

#[test]
fn events_of_an_apply_keep_to_their_schema() {
    let world = planned("mirror", "");
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../schemas/run-event.schema.json")).unwrap();
    let events = world.start(&["apply", "p", "--json"]).expect(0).json();
    let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(names, ["apply", "run-start", "rule-start", "plan", "rule-end", "run-end"]);
    for event in &events {
        let known = schema["$defs"][event["event"].as_str().unwrap()]["properties"].as_object().unwrap();
        for key in event.as_object().unwrap().keys() {
            assert!(known.contains_key(key), "{key} of {event}");
        }
    }
}
