//! Chapter 17: exit codes, pipes and terminals, and what is never shown.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use crate::support::{World, ended, is_root};

const OPEN: &str = "limits: {remove: none, replace: none}";

#[test]
fn bc_90_codes_of_one_and_of_many() {
    let world = World::with("mirror", OPEN);
    world.files([("S/secret/a", "a"), ("S/b", "b")]);
    if is_root() && !world.give_to_user() {
        return;
    }
    world.job_text("gone", "rules:\n  r: {mode: mirror, source: ../gone, destination: ../T2}\n");
    world.job_text(
        "good",
        "rules:\n  r: {mode: mirror, source: ../S, destination: ../T3, exclude: [secret]}\n",
    );
    world.shell("chmod 000 S/secret; chown 65534:65534 jobs/* || true");
    let start = |arguments: &[&str]| world.start_as_user(arguments);
    start(&["run", "good"]).expect(0);
    start(&["run", "j"]).expect(1);
    start(&["run", "good", "j"]).expect(1);
    start(&["run", "j", "good"]).expect(1);
    start(&["run", "j", "gone", "good"]).expect(3);
    start(&["run", "good", "goood"]).expect(2).says("did you mean `good`?");
    start(&["run", "good", "absent.yaml"]).expect(2);
    start(&["run", "good/nothing"]).expect(2);
    start(&["plan", "gone"]).expect(0);
    start(&["plan", "j", "--exit-code"]);
    let runs = start(&["history", "--json"]).expect(0).json();
    let codes: Vec<i64> = runs.iter().filter_map(|run| run["exit"].as_i64()).collect();
    assert!(codes.contains(&0) && codes.contains(&1) && codes.contains(&3), "{codes:?}");
}

#[test]
fn bc_90_a_closed_pipe() {
    let world = World::with("mirror", OPEN);
    world.many(300);
    let program = env!("CARGO_BIN_EXE_twinlane");
    for line in [
        "plan j -v | head -1",
        "plan j --json | head -c 10",
        "run j -v --json | head -1",
        "jobs | head -0",
        "history | head -0",
    ] {
        let text = format!("set -o pipefail; {program} {line} >/dev/null; exit ${{PIPESTATUS[0]}}");
        let ran = ended(&world.in_surroundings("bash", &["-c", &text]).output().unwrap());
        assert_eq!(ran.code, 0, "{line}: {ran:?}");
        assert!(!ran.err.contains("panic"), "{line}: {ran:?}");
    }
    assert_eq!(world.tree("S"), world.tree("T"), "a reader that goes away stops no run");
}

#[test]
fn bc_91_no_colour_and_no_progress_in_pipes() {
    let world = World::with("mirror", OPEN);
    world.many(50);
    world.job_text("wrong", "rules: {r: {mod: mirror}}\n");
    let program = env!("CARGO_BIN_EXE_twinlane");
    for (variables, line) in [
        ("", "run j"),
        ("NO_COLOR=1", "run j"),
        ("TERM=dumb", "run j"),
        ("TERM=xterm CLICOLOR_FORCE=0", "plan j -v"),
        ("", "validate wrong"),
        ("", "run unheard-of"),
        ("", "history"),
        ("", "--help"),
        ("COLUMNS=40", "plan j"),
    ] {
        let text = format!("{variables} {program} {line} 2>&1 | cat | grep -c $'\\e\\|\\r'; exit 0");
        let counted = ended(&world.in_surroundings("bash", &["-c", &text]).output().unwrap());
        assert_eq!(counted.out.trim(), "0", "{variables} {line}");
    }
    // The result is on stdout alone, and a closed stderr hinders nothing.
    world.many(60);
    let text = format!("{program} run j 2>&-");
    ended(&world.in_surroundings("bash", &["-c", &text]).output().unwrap()).expect(0).says("10 copied");
    for line in world.start(&["plan", "j", "--json"]).expect(0).out.lines() {
        assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "{line}");
    }
}

#[test]
fn bc_93_secrets_stay_where_they_are() {
    let world = World::new();
    world.files([("S/a", "a"), ("token", "hunter2-in-a-file\n")]);
    let run = |text: &str, arguments: &[&str]| {
        world.job_text("j", text);
        let mut command = world.command(arguments);
        command
            .env("TOKEN", "hunter2-in-the-environment")
            .env("RUST_LOG", "trace")
            .env("RUST_BACKTRACE", "full");
        ended(&command.output().unwrap())
    };
    let plain = "rules:\n  r: {mode: mirror, source: ../S, destination: ../T}\n";
    for arguments in
        [&["run", "j", "-v"][..], &["run", "j", "--json", "-v"], &["show", "j"], &["history", "-v"]]
    {
        run(plain, arguments).expect(0).keeps_quiet_of("hunter2");
    }
    // An address with a password is refused, and not repeated.
    let address = "rules:\n  r: {mode: mirror, source: ../S, destination: 'sftp://anna:hunter2@host/x'}\n";
    for verb in ["validate", "run", "plan", "show"] {
        run(address, &[verb, "j"]).expect(2).says("j.yaml:2").keeps_quiet_of("hunter2");
    }
    // Nor is a secret that a variable brings into a place where it cannot stand.
    let variable = "rules:\n  r:\n    mode: mirror\n    source: ../S\n    destination: sftp://anna:${env:TOKEN}@host/x\n";
    for verb in ["validate", "run", "plan", "show"] {
        run(variable, &[verb, "j"]).expect(2).keeps_quiet_of("hunter2");
    }
    let state = walkdir::WalkDir::new(&world.state).into_iter().map(Result::unwrap);
    for entry in state.filter(|entry| entry.file_type().is_file()) {
        let meta = entry.metadata().unwrap();
        assert_eq!(meta.mode() & 0o077, 0, "{} is for this user alone", entry.path().display());
        let bytes = fs::read(entry.path()).unwrap();
        assert!(!bytes.windows(7).any(|window| window == b"hunter2"), "{}", entry.path().display());
    }
}

/// A mirror of three files with a version, and a plan that waits to be applied; two further jobs whose destination is not there.
fn lived_in() -> World {
    let world = World::with("mirror", OPEN);
    world.files([("S/a", "a"), ("S/b", "b"), ("S/d/c", "c")]);
    world.run().expect(0);
    world.files([("S/a", "longer")]);
    world.run().expect(0);
    world.files([("S/b", "longer")]);
    world.start(&["plan", "j", "--out", "waiting.plan"]).expect(0);
    world.job_text("gone", "rules:\n  r: {mode: mirror, source: ../S, destination: ../absent/T}\n");
    world
}

#[test]
fn bc_90_codes_of_the_other_verbs() {
    let world = lived_in();
    // A name that there is not is no success, and nothing is touched.
    for verb in
        ["restore jj --to R", "verify jj", "versions jj", "prune jj", "explain jj a", "show jj", "plan jj"]
    {
        let line: Vec<&str> = verb.split(' ').collect();
        world.refused(&line, 2).says("did you mean `j`?");
    }
    for verb in [
        "restore j/rr --to R",
        "restore j",
        "verify absent/folder",
        "prune",
        "prune j absent.yaml",
        "apply absent.plan",
        "apply jobs/j.yaml",
        "copy absent T2",
        "copy S",
        "explain j",
        "explain j /elsewhere/x",
        "versions j /elsewhere/x",
        "restore j /elsewhere/x --to R",
        "restore j ../x --to R",
        "restore j --to R --at somewhen",
        "verify j --sample 0%",
        "doctor",
    ] {
        let line: Vec<&str> = verb.split(' ').collect();
        let ended = world.refused(&line, 2);
        assert!(ended.err.contains("error: "), "{verb}: {ended:?}");
    }
    // Nothing of that name is there to be restored.
    world
        .start(&["restore", "j", "absent", "--to", "none"])
        .expect(1)
        .says("absent: there was nothing of that name");
    // One of several failed: the rest is done, and the code tells.
    world.start(&["prune", "j", "gone", "j"]).expect(3);
    world.start(&["verify", "gone"]).expect(3);
    world.start(&["restore", "gone", "--to", "R"]).expect(3);
    world.start(&["versions", "gone"]).expect(3);
    world.start(&["doctor", "S", "absent", "T"]).expect(2).says("does not exist");
    world.start(&["apply", "waiting.plan"]).expect(0);
    world.shell("printf rotten >T/a; touch -r S/a T/a");
    world.start(&["verify", "j"]).expect(1);
    world.start(&["restore", "j", "--to", "R"]).expect(1);
    assert_eq!(fs::read_to_string(world.path("R/b")).unwrap(), "longer");
    assert!(!world.path("R/a").exists(), "what is rotten is not given back unasked");
}

#[test]
fn bc_90_a_copy_of_three_of_which_one_fails() {
    let world = World::new();
    world.files([("S/a", "a"), ("S/private", "b"), ("S/c", "c")]);
    if is_root() && !world.give_to_user() {
        return;
    }
    world.shell("chmod 000 S/private");
    world.start_as_user(&["copy", "S/a", "S/private", "S/c", "C/"]).expect(1).says("private");
    assert!(world.path("C/a").exists() && world.path("C/c").exists());
    world.start_as_user(&["copy", "S/a", "S/c", "C/"]).expect(0);
}

/// What each verb of [`lived_in`] is asked.
const VERBS: [&str; 17] = [
    "show j",
    "show waiting.plan",
    "explain j a absent",
    "plan j --out other.plan",
    "versions j",
    "versions j a",
    "restore j --to R --dry-run",
    "restore j --to R",
    "verify j",
    "verify T --json",
    "prune j --dry-run",
    "prune j",
    "copy S C",
    "apply waiting.plan",
    "doctor S",
    "completions bash",
    "man",
];

#[test]
fn bc_90_pipes_that_close_on_the_other_verbs() {
    let world = lived_in();
    let program = env!("CARGO_BIN_EXE_twinlane");
    for verb in VERBS {
        for reader in ["head -0", "head -c 5"] {
            // The reader has gone before the first word is written.
            let text = format!(
                "set -o pipefail; {{ sleep 0.05; {program} {verb}; }} | {reader} >/dev/null; exit ${{PIPESTATUS[0]}}"
            );
            let ran = ended(&world.in_surroundings("bash", &["-c", &text]).output().unwrap());
            let expected =
                if reader == "head -c 5" && ["restore j --to R", "apply waiting.plan"].contains(&verb) {
                    &[0, 1, 2, 3][..]
                } else {
                    &[0]
                };
            assert!(expected.contains(&ran.code), "{verb} | {reader}: {ran:?}");
            assert!(!ran.err.contains("panic"), "{verb} | {reader}: {ran:?}");
        }
    }
    assert_eq!(world.tree("S"), world.tree("T"), "a reader that goes away stops no apply");
    assert_eq!(world.tree("S").len(), world.tree("C/S").len(), "nor a copy");
    assert!(world.path("R/d/c").exists(), "nor a restore");
}

#[test]
fn bc_91_no_colour_and_no_progress_of_the_other_verbs() {
    let program = env!("CARGO_BIN_EXE_twinlane");
    for variables in ["", "NO_COLOR=1", "TERM=dumb", "COLUMNS=40 TERM=xterm-256color"] {
        let world = lived_in();
        for verb in VERBS {
            let text = format!("{variables} {program} {verb} 2>&1 | cat | grep -c $'\\e\\|\\r'; exit 0");
            let counted = ended(&world.in_surroundings("bash", &["-c", &text]).output().unwrap());
            assert_eq!(counted.out.trim(), "0", "{variables} {verb}");
        }
        for wrong in ["restore jj --to R", "verify absent", "apply absent", "copy absent C", "explain jj a"] {
            let text = format!("{variables} {program} {wrong} 2>&1 | cat | grep -c $'\\e\\|\\r'; exit 0");
            let counted = ended(&world.in_surroundings("bash", &["-c", &text]).output().unwrap());
            assert_eq!(counted.out.trim(), "0", "{variables} {wrong}");
        }
    }
    let world = lived_in();
    for verb in VERBS {
        let text = format!("{program} {verb} 2>&-");
        let ran = ended(&world.in_surroundings("bash", &["-c", &text]).output().unwrap()).expect(0);
        assert!(!ran.out.is_empty(), "{verb}");
    }
    assert_eq!(world.tree("S"), world.tree("T"));
}

#[test]
fn bc_91_stdout_holds_the_result_alone() {
    let world = lived_in();
    for verb in [
        "show j --json",
        "show waiting.plan --json",
        "explain j a absent --json",
        "versions j --json",
        "versions j a --json",
        "restore j --to R --json",
        "verify j --json",
        "prune j --json",
        "copy S C --json",
        "apply waiting.plan --json",
        "doctor S --json",
    ] {
        let line: Vec<&str> = verb.split(' ').collect();
        let lines = world.start(&line).expect(0).json();
        assert!(!lines.is_empty() && lines.iter().all(serde_json::Value::is_object), "{verb}: {lines:?}");
    }
}

#[test]
fn bc_93_secrets_stay_where_they_are_with_the_other_verbs() {
    let world = World::new();
    world.files([("S/a", "a"), ("S/b", "b"), ("T/.keep", ""), ("token", "hunter2-in-a-file\n")]);
    let start = |arguments: &[&str]| {
        let mut command = world.command(arguments);
        command.env("TOKEN", "hunter2-in-the-environment").env("RUST_LOG", "trace");
        ended(&command.output().unwrap())
    };
    // What comes from a file is a secret: it is used, and its reference is shown in its place.
    world.job_text(
        "j",
        "variables: {secret: '${file:../token}'}\nrules:\n  r:\n    mode: mirror\n    source: ../S\n    destination: ../T\n    exclude: ['*.${secret}', '.keep']\n",
    );
    world.files([("S/x.hunter2-in-a-file", "x")]);
    for verb in [
        "show j",
        "show j --json",
        "validate j",
        "plan j -v",
        "plan j --out p.plan",
        "show p.plan",
        "show p.plan --json",
        "explain j a",
        "explain j a --json",
        "apply p.plan -v --json",
        "run j -v",
        "verify j --json",
        "versions j",
        "restore j --to R",
        "prune j",
        "history -v --json",
    ] {
        let line: Vec<&str> = verb.split(' ').collect();
        start(&line).keeps_quiet_of("hunter2").expect(0);
    }
    let plan = fs::metadata(world.path("p.plan")).unwrap();
    assert_eq!(plan.mode() & 0o7777, 0o600);
    let bytes = fs::read(world.path("p.plan")).unwrap();
    assert!(!bytes.windows(7).any(|window| window == b"hunter2"), "a plan file holds no secret");
    start(&["show", "j"]).expect(0).says("(from ../token)");
    assert!(!world.path("T/x.hunter2-in-a-file").exists(), "the pattern is used");
    // Addresses with a password, as arguments.
    let address = "sftp://anna:hunter2@host/x";
    for verb in [
        &["copy", "S", address][..],
        &["copy", address, "C"],
        &["verify", address],
        &["restore", "j", "--to", address],
        &["doctor", address],
        &["init", "--source", address, "k"],
        &["apply", address],
        &["run", address],
        &["copy", "S", "C", "--sums", address],
        &["plan", "j", "--out", address],
    ] {
        let ran = start(verb).keeps_quiet_of("hunter2");
        assert_ne!(ran.code, 0, "{verb:?}: {ran:?}");
    }
}
