//! Keeps the house as ARCHITECTURE.md draws it. The map is read from there, so that text and code cannot drift apart.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail as tests do")]

mod furniture;
mod map;
mod paths;
mod scan;
mod snippets;

use std::path::Path;

use map::Map;
use scan::{Source, check};

/// The repository's root.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A text file of the repository.
fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn sources() -> Vec<Source> {
    let files = walkdir::WalkDir::new(root().join("src")).sort_by_file_name().into_iter();
    let files =
        files.map(Result::unwrap).filter(|file| file.path().extension().is_some_and(|ending| ending == "rs"));
    files
        .map(|file| {
            let path = file.path().strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            Source { text: read(&path), path }
        })
        .collect()
}

#[test]
fn the_code_keeps_to_the_map() {
    let map = Map::read(&read("ARCHITECTURE.md")).unwrap();
    let sources = sources();
    assert!(sources.len() > 10, "the sources are elsewhere");
    let findings: Vec<String> = check(&map, &sources).iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
}

#[test]
fn main_is_three_lines() {
    let text = read("src/main.rs");
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
    assert!(lines.count() <= 3, "main.rs hands over to `cli` and does nothing else");
}
