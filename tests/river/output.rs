//! What is written where: streams, colours, JSON, and readers that go away.

use std::process::Command;

use crate::support::{World, ended};

#[test]
fn bc_91_no_escapes_and_no_bars_in_pipes() {
    let world = World::with("mirror", "");
    world.many(20);
    for arguments in [
        vec!["plan", "j", "-v"],
        vec!["run", "j"],
        vec!["run", "j", "--progress", "bar"],
        vec!["jobs"],
        vec!["--help"],
    ] {
        let ended = world.start(&arguments).expect(0);
        for text in [&ended.out, &ended.err] {
            assert!(!text.contains('\u{1b}') && !text.contains('\r'), "{arguments:?}: {text:?}");
        }
    }
    let bright = world.start(&["plan", "j", "--color", "always"]).expect(0);
    assert!(bright.out.contains("\u{1b}[1m"));
}

#[test]
fn bc_91_a_terminal_of_forty_columns_no_colour_and_a_dumb_one() {
    if Command::new("script").arg("--version").output().is_err() {
        eprintln!("skipped: no script(1) to make a terminal with");
        return;
    }
    let world = World::with("mirror", "");
    world.many(50);
    let on_terminal = |variables: &str, arguments: &str| {
        let program = env!("CARGO_BIN_EXE_twinlane");
        let command = format!("stty cols 40; {variables} {program} {arguments}");
        let mut script = world.in_surroundings("script", &["-qec", &command, "/dev/null"]);
        ended(&script.env("TERM", "xterm").output().unwrap())
    };
    let coloured = on_terminal("", "plan j").expect(0);
    assert!(coloured.out.contains("\u{1b}[1m"), "{:?}", coloured.out);
    let plain = on_terminal("NO_COLOR=1", "plan j").expect(0);
    assert!(!plain.out.contains('\u{1b}'), "{:?}", plain.out);
    let dumb = on_terminal("TERM=dumb", "run j").expect(0);
    assert!(!dumb.out.contains('\u{1b}'), "{:?}", dumb.out);
    on_terminal("", "run j").expect(0);
}

#[test]
fn bc_90_a_closed_stdout_neither_panics_nor_changes_the_code() {
    let world = World::with("mirror", "");
    world.many(20);
    let program = env!("CARGO_BIN_EXE_twinlane");
    for (arguments, code) in [
        ("plan j -v", 0),
        ("--help", 0),
        ("run j", 0),
        ("run j --json -v", 0),
        ("run nothing", 2),
        ("history", 0),
    ] {
        for way in ["| head -0", ">&-", ">&- 2>&-"] {
            let text = format!("set -o pipefail; {program} {arguments} {way}");
            let ended = ended(&world.in_surroundings("bash", &["-c", &text]).output().unwrap());
            assert_eq!(ended.code, code, "{text}: {ended:?}");
            assert!(
                !ended.err.contains("panic") && !ended.err.contains("error: internal error"),
                "{ended:?}"
            );
        }
    }
}

#[test]
fn the_readme_has_every_exit_code_as_the_help_has_it() {
    let readme = include_str!("../../README.md");
    for (code, meaning) in twinlane::report::EXIT_CODES {
        assert!(readme.contains(&format!("| {code} | {meaning} |")), "{code}: {meaning}");
    }
}

#[test]
fn quiet_says_errors_only() {
    let world = World::with("mirror", "");
    world.many(20);
    let good = world.start(&["run", "j", "-q"]).expect(0);
    assert_eq!((good.out.as_str(), good.err.as_str()), ("", ""));
    std::fs::remove_dir_all(world.path("S/d00")).unwrap();
    let refused = world.start(&["run", "j", "-q"]).expect(3);
    assert!(refused.out.is_empty() && refused.err.contains("is empty"), "{refused:?}");
}

#[test]
fn history_tells_what_was_done_refused_and_killed() {
    let world = World::with("mirror", "");
    world.start(&["history"]).expect(0).says("no run yet");
    world.start(&["history", "jj"]).expect(2).says("did you mean `j`?");
    world.many(20);
    world.start(&["run", "j"]).expect(0);
    let killed = world.spawn(&["run", "j"], &[("TWINLANE_FAULT", "kill@3")]);
    assert_eq!(ended(&killed.wait_with_output().unwrap()).code, -9);
    std::fs::remove_dir_all(world.path("S/d00")).unwrap();
    world.start(&["run", "j"]).expect(3);
    let table = world.start(&["history", "j"]).expect(0);
    let lines: Vec<&str> = table.out.lines().collect();
    assert_eq!(lines.len(), 3, "{}", table.out);
    assert!(lines[0].contains("refused") && lines[0].contains("is empty"), "{}", table.out);
    assert!(lines[1].contains("unfinished"), "{}", table.out);
    assert!(lines[2].contains("done") && lines[2].contains("20 copied"), "{}", table.out);
    let runs = world.start(&["history", "--json"]).expect(0).json();
    let exits: Vec<Option<u64>> = runs.iter().map(|run| run["exit"].as_u64()).collect();
    assert_eq!(exits, [Some(3), None, Some(0)]);
    assert_eq!(runs[2]["rules"][0]["done"]["copy"], 20);
}

#[test]
fn events_keep_to_their_schema() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../schemas/run-event.schema.json")).unwrap();
    let kinds = schema["$defs"].as_object().unwrap();
    let world = World::with("mirror", "");
    world.many(30);
    let mut seen = std::collections::BTreeSet::new();
    let mut check = |arguments: &[&str], code: i32| {
        for event in world.start(arguments).expect(code).json() {
            let name = event["event"].as_str().unwrap().to_owned();
            let kind = &kinds[&name];
            let known = kind["properties"].as_object().unwrap();
            for (key, value) in event.as_object().unwrap() {
                let wanted = known.get(key).unwrap_or_else(|| panic!("{name}: `{key}` is not in the schema"));
                assert!(is_of(value, &wanted["type"]), "{name}.{key}: {value}");
            }
            for key in kind["required"].as_array().unwrap() {
                assert!(event.get(key.as_str().unwrap()).is_some(), "{name}: {key} is missing in {event}");
            }
            seen.insert(name);
        }
    };
    check(&["run", "j", "--json", "-v"], 0);
    std::fs::remove_dir_all(world.path("S/d00")).unwrap();
    check(&["run", "j", "--json"], 3);
    for name in ["run-start", "rule-start", "compare", "plan", "action", "rule-end", "run-end"] {
        assert!(seen.contains(name), "{name} was not seen");
    }
}

#[test]
fn plans_keep_to_their_schema_with_and_without_an_objection() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../schemas/plan.schema.json")).unwrap();
    let plain = schema["properties"].as_object().unwrap();
    let objection = schema["$defs"]["objection"]["properties"].as_object().unwrap();
    let world = World::with("mirror", "");
    let check = |outcome: Option<&str>| {
        let line = world.start(&["plan", "j", "--json"]).expect(0).json().remove(0);
        for key in line.as_object().unwrap().keys() {
            assert!(plain.contains_key(key) || objection.contains_key(key), "{key} is not in the schema");
        }
        for key in schema["required"].as_array().unwrap() {
            assert!(line.get(key.as_str().unwrap()).is_some(), "{key} is missing in {line}");
        }
        assert_eq!(line.get("outcome").and_then(serde_json::Value::as_str), outcome, "{line}");
    };
    check(Some("refused"));
    world.many(5);
    check(None);
    world.job("mirror", "enabled: false");
    check(Some("skipped"));
    world.job("mirror", "require: {destination: {mounted: true}, source: {mounted: true}}");
    check(Some("refused"));
}

/// Whether a value is of one of a schema's types.
fn is_of(value: &serde_json::Value, types: &serde_json::Value) -> bool {
    let is = |name: &str| match name {
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => false,
    };
    match types {
        serde_json::Value::String(name) => is(name),
        serde_json::Value::Array(names) => names.iter().any(|name| is(name.as_str().unwrap())),
        _ => true,
    }
}
