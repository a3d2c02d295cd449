//! What stands beside the code: a reason for each crate, the licences, a `.ci` that can run.

use std::collections::BTreeSet;

use super::{read, root};

/// The crates that a Cargo.toml names, whatever for and on whichever system.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut in_table = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(table) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            in_table = table.ends_with("dependencies");
            let (parent, name) = table.rsplit_once('.').unwrap_or_default();
            if parent.ends_with("dependencies") {
                names.insert(name.to_owned());
            }
        } else if in_table
            && !line.starts_with('#')
            && let Some((name, _)) = line.split_once('=')
        {
            names.insert(name.trim().trim_matches('"').split('.').next().unwrap_or_default().to_owned());
        }
    }
    names
}

/// The crates that have a line ``- `name`: reason``.
fn reasons(text: &str) -> BTreeSet<String> {
    let reason = |line: &str| {
        let (name, reason) = line.strip_prefix("- `")?.split_once("`: ")?;
        (!reason.trim().is_empty()).then(|| name.to_owned())
    };
    text.lines().filter_map(reason).collect()
}

#[test]
fn each_crate_has_a_reason() {
    let (named, reasoned) = (dependencies(&read("Cargo.toml")), reasons(&read("DEPENDENCIES.md")));
    assert!(named.contains("blake3"), "Cargo.toml was misread");
    let without: Vec<&String> = named.difference(&reasoned).collect();
    assert!(without.is_empty(), "no line of reason in DEPENDENCIES.md: {without:?}");
    let gone: Vec<&String> = reasoned.difference(&named).collect();
    assert!(
        gone.is_empty(),
        "DEPENDENCIES.md gives reasons for crates that Cargo.toml does not name: {gone:?}"
    );
}

#[test]
fn a_missing_reason_is_seen() {
    let manifest = "[package]\nname = \"x\"\n[dependencies]\n# old = \"1\"\na = \"1\"\nb.version = \"2\"\n\"c\" = { path = \"c\" }\n\
                    [target.'cfg(unix)'.dependencies]\nd = \"1\"\n[dev-dependencies.e]\nversion = \"1\"\n[features]\nf = []\n";
    assert_eq!(dependencies(manifest).into_iter().collect::<Vec<_>>(), ["a", "b", "c", "d", "e"]);
    let text = "# Crates\n- `a`: because\n- `b`:  \n- c: because\ntext `d`: because\n";
    assert_eq!(reasons(text).into_iter().collect::<Vec<_>>(), ["a"]);
}

#[test]
fn both_licences_are_there_in_full() {
    for (file, beginning, end) in [
        ("LICENSE-MIT", "Copyright (c) 2026 The Twinlane authors", "DEALINGS IN THE\nSOFTWARE."),
        ("LICENSE-APACHE", "Apache License", "limitations under the License."),
    ] {
        let text = read(file);
        assert!(text.contains(beginning) && text.trim_end().ends_with(end), "{file}");
    }
    assert!(read("Cargo.toml").contains("license = \"MIT OR Apache-2.0\""));
}

#[cfg(unix)]
#[test]
fn the_checks_can_be_run() {
    use std::os::unix::fs::PermissionsExt as _;
    for script in [".ci/run", ".ci/full"] {
        let mode = std::fs::metadata(root().join(script)).unwrap().permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "{script} is not executable");
        assert!(read(script).contains("set -euo pipefail"), "{script} goes on after an error");
    }
}
