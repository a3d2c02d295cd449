//! The scanner itself: each kind of breach, once at least, in a snippet; and what looks like one and is none.

use crate::map::Map;
use crate::scan::{Source, check};

const MAP: &str = "\
# A map
```arrows
value:    (nothing)                what everyone says
filter:   value                    patterns
platform: value                    the seam
plan:     value filter
run:      all above                verbs
report:   all above but platform   words
cli:      all above
```

| file | may name | why |
|---|---|---|
| `src/cli/exempt.rs` | `std::process` | its exit code |

After the table.
";

/// What the scanner finds in one file, without the finding that the exemption is unused.
fn findings(path: &str, text: &str) -> Vec<String> {
    findings_in(&[(path, text)])
}

fn findings_in(files: &[(&str, &str)]) -> Vec<String> {
    let source =
        |(path, text): &(&str, &str)| Source { path: (*path).to_owned(), text: format!("//! Doc.\n{text}") };
    let sources: Vec<Source> = files.iter().map(source).collect();
    let findings = check(&Map::read(MAP).unwrap(), &sources);
    findings
        .into_iter()
        .filter(|finding| finding.path != "src/cli/exempt.rs")
        .map(|finding| finding.what)
        .collect()
}

#[track_caller]
fn caught(path: &str, text: &str, what: &str) {
    assert_eq!(findings(path, text), [what], "{path}: {text}");
}

#[track_caller]
fn clean(path: &str, text: &str) {
    assert_eq!(findings(path, text), Vec::<String>::new(), "{path}: {text}");
}

#[test]
fn the_table_is_read() {
    let map = Map::read(MAP).unwrap();
    let named = |room: &str| map.arrows[room].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(named("value"), Vec::<&str>::new());
    assert_eq!(named("plan"), ["filter", "value"]);
    assert_eq!(named("run"), ["filter", "plan", "platform", "value"]);
    assert_eq!(named("report"), ["filter", "plan", "run", "value"]);
    assert_eq!(map.exemptions.len(), 1);
}

#[test]
fn a_table_that_cannot_hold_is_refused() {
    for (table, cause) in [
        ("a: b\nb: c\nc: a", "cycle: a → b → c → a"),
        ("a: a", "cycle: a → a"),
        ("a: (nothing)\nb: x", "`b` names `x`"),
        ("a: (nothing)\na: (nothing)", "stands twice"),
        ("a (nothing)", "no room in front"),
    ] {
        let error = Map::read(&format!("```arrows\n{table}\n```\n")).unwrap_err();
        assert!(error.contains(cause), "{table:?}: {error}");
    }
    assert!(Map::read("no block").is_err());
    let head = "```arrows\na: (nothing)\n```\n| file | may name | why |\n|---|---|---|\n";
    assert!(Map::read(&format!("{head}| `a` | `b` | |\n")).is_err(), "without a reason");
    assert!(Map::read(&format!("{head}| `a` | `crate::b` | because |\n")).is_err(), "an arrow");
}

#[test]
fn an_arrow_that_is_not_on_the_map_is_caught() {
    caught("src/filter/mod.rs", "use crate::plan::Plan;", "crate::plan");
    caught("src/filter/mod.rs", "use crate::{value::Stamp, plan::{Plan, Totals}, value};", "crate::plan");
}

#[test]
fn every_way_to_write_an_arrow_is_seen() {
    for text in [
        "use crate::plan;",
        "use crate::plan as schedule;",
        "use crate::{plan};",
        "use crate::{value, plan::Plan as Draft};",
        "use crate::plan::*;",
        "pub use crate::plan::Plan;",
        "fn f() { crate::plan::seal() }",
        "fn f(plan: &crate::plan::Plan) {}",
        "fn f() -> Vec<crate::plan::Plan> { Vec::new() }",
        "macro_rules! seal { () => { $crate::plan::seal() } }",
        "fn f() { println!(\"{}\", crate::plan::seal()) }",
        "pub(in crate::plan) fn f() {}",
        "use crate::r#plan::Plan;",
        "use super::plan::Plan;",
        "use self::super::plan::Plan;",
        "use super::{plan::Plan};",
        "mod inner { use super::super::plan::Plan; }",
        "mod inner { mod deep { use super::super::super::plan; } }",
        "#[cfg(test)] mod tests { use crate::plan::Plan; }",
        "#[doc(inline)] pub use crate::plan::Plan;",
    ] {
        caught("src/filter/mod.rs", text, "crate::plan");
    }
    caught("src/filter/level.rs", "use super::super::plan::Plan;", "crate::plan");
    caught("src/filter/level.rs", "use crate::elsewhere::Thing;", "crate::elsewhere");
    for text in [
        "use crate::*;",
        "use crate as house;",
        "use super::*;",
        "use crate::{self as house};",
        "use super::{*};",
    ] {
        caught("src/filter/mod.rs", text, "crate");
    }
    caught("src/filter/mod.rs", "extern crate self as twinlane;", "extern crate self");
    caught("src/filter/mod.rs", "#[path = \"../plan/mod.rs\"] mod other;", "#[path]");
    caught("src/filter/mod.rs", "include!(\"../plan/mod.rs\");", "include!");
}

#[test]
fn arrows_on_the_map_pass() {
    clean("src/plan/mod.rs", "use crate::{filter::{self, Filter}, value::*};");
    clean(
        "src/plan/seal.rs",
        "use super::Draft; use super::order::{self, *}; use self::x::y; use crate::plan::z;",
    );
    clean("src/plan/seal.rs", "mod inner { use super::super::Draft; } use super::super::value::Stamp;");
    clean("src/filter/mod.rs", "pub(crate) fn f() {} pub(super) fn g() {} pub(in crate::filter) fn h() {}");
    clean(
        "src/filter/mod.rs",
        "//! use crate::plan;\n/// `crate::plan`\nfn f() -> &'static str { \"crate::plan\" } // crate::plan",
    );
    clean("src/lib.rs", "pub mod filter; pub mod plan; use crate::plan::Plan;");
    clean("src/report.rs", "use crate::run::Event;");
    caught("src/report.rs", "use crate::platform::Dir;", "crate::platform");
}

#[test]
fn a_room_that_is_not_on_the_map_is_caught() {
    caught("src/engine/mod.rs", "", "engine");
    caught("src/engine.rs", "", "engine");
}

#[test]
fn the_operating_system_is_named_in_platform_alone() {
    for (text, what) in [
        ("use std::fs;", "std::fs"),
        ("use std::fs as files;", "std::fs"),
        ("use std::{io, fs::File};", "std::fs"),
        ("fn f() { let _ = ::std::fs::read(\"x\"); }", "std::fs"),
        ("fn f() { assert!(std::env::var(\"X\").is_ok()); }", "std::env"),
        ("use std::process::Command;", "std::process"),
        ("fn f() -> std::net::IpAddr { loop {} }", "std::net"),
        ("use std::os::unix::ffi::OsStrExt;", "std::os"),
        ("use std as system;", "std as"),
        ("use std::*;", "std::*"),
        ("fn f() { let _ = std::time::SystemTime::now(); }", "SystemTime::now"),
        ("use std::time::Instant; fn f() { let _ = Instant::now(); }", "Instant::now"),
        ("use std::time::Instant as Moment;", "Instant as"),
        ("fn f() { let _ = chrono::Utc::now(); }", "Utc::now"),
        ("#[cfg(target_os = \"linux\")] fn f() {}", "cfg(system)"),
        ("#[cfg(not(windows))] fn f() {}", "cfg(system)"),
        ("#[cfg_attr(unix, inline)] fn f() {}", "cfg(system)"),
        ("fn f() { if cfg!(any(target_family = \"unix\", test)) {} }", "cfg(system)"),
    ] {
        caught("src/filter/mod.rs", text, what);
        clean("src/platform/linux/file.rs", text);
        clean("src/filter/mod.rs", &format!("#[cfg(test)] mod tests {{ {text} }}"));
    }
}

#[test]
fn what_only_looks_like_the_operating_system_passes() {
    clean(
        "src/filter/mod.rs",
        "// std::fs\n/* unsafe */ const NAME: &str = \"unsafe std::fs::read cfg(target_os)\";",
    );
    clean(
        "src/filter/mod.rs",
        "const VERSION: &str = env!(\"CARGO_PKG_VERSION\"); use std::{io, path::Path};",
    );
    clean("src/filter/mod.rs", "#[cfg(feature = \"fault\")] fn f() {} #![allow(unsafe_code)]");
    clean("src/filter/mod.rs", "fn f(now: Stamp, fs: u8) { let process = fs; now(process) }");
    clean("src/filter/mod.rs", "r#\"std::fs\"#; b\"unsafe\"; 'u';");
}

#[test]
fn unsafe_code_is_caught_everywhere_but_in_platform() {
    caught("src/filter/mod.rs", "fn f() { unsafe { g() } }", "unsafe");
    caught("src/filter/mod.rs", "unsafe fn f() {}", "unsafe");
    caught("src/filter/mod.rs", "#[unsafe(no_mangle)] fn f() {}", "unsafe");
    caught("src/filter/mod.rs", "#[cfg(test)] mod tests { unsafe impl Send for T {} }", "unsafe");
    clean("src/platform/linux/raw.rs", "unsafe fn f() {}");
}

#[test]
fn test_code_ends_where_it_ends() {
    let after = "fn f() { std::fs::read(\"x\"); }";
    for test in [
        "#[cfg(test)] use std::fs;",
        "#[cfg(test)] use std::{fs, env};",
        "#[cfg(test)] mod tests;",
        "#[cfg(test)] #[allow(dead_code)] fn g<A, B>(a: A, b: B) { std::fs::read(\"y\"); }",
        "#[test] fn g() { std::fs::read(\"y\"); }",
        "#[cfg(all(test, unix))] mod more { use std::os::unix; }",
        "struct S { #[cfg(test)] file: std::fs::File, other: u8 }",
        "#[cfg(test)] const C: [u8; 2] = [1, 2];",
    ] {
        caught("src/filter/mod.rs", &format!("{test} {after}"), "std::fs");
        clean("src/filter/mod.rs", test);
    }
    for no_test in
        ["#[cfg(not(test))]", "#[cfg(any(test, feature = \"fault\"))]", "#[cfg(feature = \"test\")]"]
    {
        caught("src/filter/mod.rs", &format!("{no_test} {after}"), "std::fs");
    }
}

#[test]
fn a_file_that_a_test_module_owns_is_test_code() {
    let test = "use std::fs;";
    let declared = [("src/filter/mod.rs", "#[cfg(test)] mod checks;"), ("src/filter/checks/deep.rs", test)];
    assert_eq!(findings_in(&declared), Vec::<String>::new());
    let not_declared = [("src/filter/mod.rs", "mod checks;"), ("src/filter/checks/deep.rs", test)];
    assert_eq!(findings_in(&not_declared), ["std::fs"]);
    assert_eq!(findings("src/filter/tests.rs", test), ["std::fs"], "the name alone makes no test");
    assert_eq!(findings("src/filter/checks.rs", &format!("#![cfg(test)] {test}")), Vec::<String>::new());
    let arrow =
        [("src/filter/mod.rs", "#[cfg(test)] mod checks;"), ("src/filter/checks.rs", "use crate::plan;")];
    assert_eq!(findings_in(&arrow), ["crate::plan"], "arrows hold in tests too");
}

#[test]
fn clap_is_named_in_cli_alone() {
    caught("src/report.rs", "use clap::Parser;", "clap");
    caught("src/report.rs", "#[derive(clap::Parser)] struct S;", "clap");
    clean("src/cli/mod.rs", "use clap::Parser; #[derive(clap::Args)] struct S;");
    clean("src/report.rs", "fn f() { clapboard() }");
}

#[test]
fn stubs_and_empty_names_are_caught() {
    caught("src/filter/mod.rs", "fn f() { todo!() }", "todo!");
    caught("src/platform/mod.rs", "fn f() { unimplemented!(\"later\") }", "unimplemented!");
    for name in ["common", "util", "utils", "helpers", "misc", "manager"] {
        caught(&format!("src/filter/{name}.rs"), "", name);
        caught("src/filter/mod.rs", &format!("mod {name} {{}}"), name);
        caught("src/filter/mod.rs", &format!("#[cfg(test)] mod {name};"), name);
    }
}

#[test]
fn a_long_file_is_caught_and_its_tests_do_not_count() {
    let lines = |count: usize| "const A: u8 = 1;\n".repeat(count);
    caught("src/filter/long.rs", &lines(500), "500 lines");
    clean("src/filter/long.rs", &lines(499));
    clean("src/filter/long.rs", &format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", lines(400), lines(400)));
    let tests = [("src/filter/mod.rs", "#[cfg(test)] mod tests;"), ("src/filter/tests.rs", &*lines(900))];
    assert_eq!(findings_in(&tests), Vec::<String>::new());
}

#[test]
fn a_file_without_documentation_is_caught() {
    let source = Source { path: "src/filter/bare.rs".to_owned(), text: "fn f() {}".to_owned() };
    let findings = check(&Map::read(MAP).unwrap(), &[source]);
    assert_eq!(findings.first().map(|finding| finding.what.as_str()), Some("//!"));
}

#[test]
fn an_exemption_holds_for_its_file_and_word_and_must_be_needed() {
    let check = |path: &str, text: &str| {
        let source = Source { path: path.to_owned(), text: format!("//! Doc.\n{text}") };
        let findings = check(&Map::read(MAP).unwrap(), &[source]);
        findings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(check("src/cli/exempt.rs", "use std::process::ExitCode;"), Vec::<String>::new());
    assert_eq!(check("src/cli/exempt.rs", "use std::process::ExitCode;\nuse std::fs;").len(), 1);
    assert!(
        check("src/cli/exempt.rs", "")
            .first()
            .is_some_and(|finding| finding.contains("nothing there names it"))
    );
    assert_eq!(
        check("src/cli/other.rs", "use std::process::ExitCode;").first().map(String::as_str),
        Some("src/cli/other.rs:2: `std::process`: only `platform/` may touch the operating system")
    );
}
