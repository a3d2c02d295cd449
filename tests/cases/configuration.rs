//! Chapter 16: what a job file says, and nothing else.
//!
//! `tests/job_files` holds the texts of these errors; here is what reaches the person, and that nothing is touched.

use crate::support::World;

/// Refuses a job with these lines in its rule, with the line's place and a text, before anything is touched.
#[track_caller]
fn wrong(options: &str, texts: &[&str]) {
    let world = World::with("mirror", options);
    world.files([("S/a", "a")]);
    for verb in ["validate", "run", "plan"] {
        let mut said = world.refused(&[verb, "j"], 2).says("j.yaml:");
        for text in texts {
            said = said.says(text);
        }
    }
    assert!(!world.destination.exists());
}

#[test]
fn bc_87_yaml_types() {
    for value in ["no", "\"no\"", "off", "yes", "on", "0", "1", "True", "FALSE", "n", "~", ""] {
        wrong(&format!("enabled: {value}"), &["j.yaml:6:"]);
    }
    for value in ["0644", "-3", "1e3", "0x10", "1.5", "12:30", "true", "3s", "many"] {
        wrong(&format!("limits: {{remove: {value}}}"), &["j.yaml:6:"]);
    }
    wrong("time_tolerance: 2", &["j.yaml:6:"]);
    wrong("limits:\n\tremove: 3", &["j.yaml:7:", "tab"]);
    wrong("remove: after\nremove: before", &["j.yaml:7:", "remove"]);
    wrong("limits: &a {remove: 3}", &["j.yaml:6:"]);
    wrong("<<: {remove: before}", &["j.yaml:6:"]);
    wrong("exclude: [!keep/]", &["j.yaml:6:"]);
    wrong("exclude: {a: b}", &["j.yaml:6:"]);
    wrong("exclude+: [!keep/]", &["j.yaml:6:"]);
    wrong("exclude: [a]\nexclude+: {a: b}", &["j.yaml:7:"]);
    wrong("verify: yes", &["j.yaml:6:", "`none` or `readback`"]);
    for value in ["20", "20MB", "on", "12:30", "~", "{6: none}", "{22:00-06:00: off}"] {
        wrong(&format!("bandwidth: {value}"), &["j.yaml:6:"]);
    }
    let overlap = "bandwidth:\n  22:00-06:00: none\n  05:00-07:00: 1MB/s";
    wrong(overlap, &["j.yaml:8:", "`22:00-06:00` and `05:00-07:00` overlap"]);
}

#[test]
fn bc_87_types_of_a_job() {
    let world = World::new();
    let rule = |mode: &str| format!("rules:\n  r: {{source: ../S, destination: ../T, mode: {mode}}}\n");
    for mode in ["0644", "644", "no", "~"] {
        world.job_text("j", &rule(mode));
        world.refused(&["validate", "j"], 2).says("j.yaml:2:");
    }
    for line in
        ["timezone: 3600", "timezone: ~", "timezone: +01:00", "extends: ~", "extends: {a: b}", "version: 1.0"]
    {
        world.job_text("j", &format!("{line}\n{}", rule("mirror")));
        world.refused(&["validate", "j"], 2).says("j.yaml:1:");
    }
}

#[test]
fn bc_87_patterns_stay_text() {
    let world = World::with("mirror", "exclude: [no, on, 1e3, '12:30', 0x10, \"~\", 007, null, true, 1.0]");
    for name in [
        "no", "on", "1e3", "12:30", "0x10", "~", "007", "null", "true", "1.0", "kept", "false", "1000", "16",
        "7", "1",
    ] {
        world.files([(format!("S/{name}").as_str(), name)]);
    }
    world.run().expect(0).says("6 copied");
    for name in ["kept", "false", "1000", "16", "7", "1"] {
        assert!(world.path("T").join(name).exists(), "{name}");
    }
}

#[test]
fn bc_87_escapes_in_double_quotes() {
    let world = World::new();
    for (text, says) in [
        ("\"C:\\new\"", "j.yaml:3:"),
        ("\"E:\\Photos\"", "j.yaml:3:"),
        ("\"a\\tb\"", "j.yaml:3:"),
        ("~", "j.yaml:3:"),
    ] {
        world.job_text(
            "j",
            &format!("rules:\n  r:\n    source: {text}\n    destination: ../T\n    mode: mirror\n"),
        );
        world.refused(&["validate", "j"], 2).says(says);
    }
}

#[test]
fn bc_87_bom_and_crlf() {
    let world = World::new();
    world.files([("S/a", "a"), ("S/b.tmp", "b")]);
    let text = "\u{feff}rules:\r\n  r:\r\n    mode: mirror\r\n    source: ../S\r\n    destination: ../T\r\n    exclude: |\r\n      *.tmp\r\n";
    world.job_text("j", text);
    world.run().expect(0);
    assert!(world.path("T/a").exists() && !world.path("T/b.tmp").exists());
}

#[test]
fn bc_88_misspelt_keys() {
    wrong("exlude: [a]", &["exlude", "did you mean `exclude`?"]);
    wrong("Limits: {remove: 3}", &["Limits", "limits"]);
    wrong("limits: {remov: 3}", &["remov", "remove"]);
    wrong("versions: {keep_fro: 3d}", &["keep_fro", "keep_for"]);
    wrong("keep-for: 3d", &["keep-for"]);
    wrong("keep-dayly: 3", &["keep-dayly"]);
    for value in ["no", "\"no\"", "off"] {
        wrong(&format!("delete: {value}"), &["j.yaml:6:", "did you mean `remove`?"]);
    }
    wrong("Delete: true", &["did you mean `remove`?"]);
    wrong("exclud+: [a]", &["did you mean `exclude+`?"]);
    wrong("verfy: readback", &["did you mean `verify`?"]);
    wrong("bandwidth: {defualt: 1MB/s}", &["did you mean `default`?"]);
    wrong("require: {source: {non_empty: true}}", &["non_empty", "nonempty"]);
    wrong("require: {source: {destination: {mounted: true}}}", &["destination"]);
    wrong("preserve: {xatrs: true}", &["xatrs", "xattrs"]);
    wrong("select: {minsize: 3}", &["minsize", "min_size"]);
    wrong("engine: {queue: 2}", &["queue", "queues"]);
    wrong("select:\n  exclude: [a]", &["exclude"]);
    // All of them at once.
    wrong("exlude: [a]\nlimits: {remov: 3}\nremove: later", &["exlude", "remov", "later"]);
}

#[test]
fn bc_88_misspelt_keys_of_a_job() {
    let world = World::new();
    for (text, says) in [
        ("rule:\n  r: {mode: mirror, source: ../S, destination: ../T}\n", "rules"),
        ("rules:\n  r: {mode: mirror, source: ../S, destination: ../T}\ndefault: {}\n", "defaults"),
        (
            "rules:\n  r: {mode: mirror, source: ../S, destination: ../T}\ndefaults: {exlude: [a]}\n",
            "exclude",
        ),
        ("rules:\n  r: {mode: mirror, source: ../S, destination: ../T}\n  exclude: [a]\n", "exclude"),
        ("rules:\n  r: {mode: mirorr, source: ../S, destination: ../T}\n", "mirror"),
        ("Rules:\n  r: {mode: mirror, source: ../S, destination: ../T}\n", "rules"),
        ("timezon: UTC\nrules:\n  r: {mode: mirror, source: ../S, destination: ../T}\n", "timezone"),
        (
            "timezone: UTV\nrules:\n  r: {mode: mirror, source: ../S, destination: ../T}\n",
            "did you mean `UTC`?",
        ),
        ("extend: j.yaml\n", "did you mean `extends`?"),
        ("extends: j.yaml\n", "ring"),
    ] {
        world.job_text("j", text);
        world.refused(&["validate", "j"], 2).says(says).says("j.yaml:");
    }
}
