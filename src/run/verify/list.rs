//! A tree against a list of digests (`--sums`): no catalog is asked, and nothing remembered.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;

use crate::job::{EngineOptions, Rule};
use crate::platform::path_bytes;
use crate::run::reach::find_store;
use crate::run::roots::{Root, destination_root, root_at};
use crate::run::survey::interrupted;
use crate::run::{Exit, RuleOutcome, Session};
use crate::value::{Digest, Kind, RelPath, SumLine};

use super::model::{Finding, Verified, VerifyEvent, VerifyReport};
use super::pick::Weight;
use super::read::{Reader, Records};
use super::reading::{Engines, start};
use super::survey::Files;
use super::walk::{Met, Walk};
use super::{concluded, share_where_possible};

/// Whose files are checked against a list.
#[derive(Clone, Copy, Debug)]
pub enum ListOf<'a> {
    /// Those of any directory.
    Directory(&'a Path),
    /// Those of a rule's destination.
    Rule(&'a Rule),
}

/// Checks the files below a directory against a list as `b3sum` writes it; its names are relative to the directory, or absolute and below it.
/// What is not listed is counted.
///
/// # Errors
/// The number of a line that cannot be taken, and why.
pub fn verify_list(
    session: &Session<'_>,
    of: ListOf<'_>,
    list: &[u8],
    each: &mut dyn FnMut(&VerifyEvent<'_>),
) -> Result<Exit, (usize, String)> {
    let (name, root) = match of {
        ListOf::Directory(path) => (path.display().to_string(), root_at("destination", path)),
        ListOf::Rule(rule) => (rule.name.clone(), destination_root(rule)),
    };
    let written = match (&root, of) {
        (Ok(root), _) => root.written.clone(),
        (Err(_), ListOf::Directory(path)) => path.to_path_buf(),
        (Err(_), ListOf::Rule(_)) => PathBuf::new(),
    };
    let listed = parse(&written, list)?;
    each(&VerifyEvent::Started { name: &name });
    let began = session.clock.elapsed();
    let mut report = VerifyReport::of("", "", &written);
    let ended =
        root.map_err(RuleOutcome::refused).and_then(|root| check(session, &root, &listed, &mut report, each));
    Ok(concluded(session, report, ended, began, each))
}

fn parse(root: &Path, list: &[u8]) -> Result<BTreeMap<RelPath, Digest>, (usize, String)> {
    let mut listed = BTreeMap::new();
    for (number, line) in list.split(|&byte| byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
        let wrong = |reason: String| (number + 1, reason);
        let line = SumLine::parse(line).map_err(|error| wrong(error.to_string()))?;
        let path = below(root, &line.name).ok_or_else(|| {
            wrong(format!("`{}` is not below the directory", crate::value::escape(&line.name)))
        })?;
        if listed.insert(path, line.digest).is_some_and(|before| before != line.digest) {
            return Err(wrong("the name was listed before, with another digest".to_owned()));
        }
    }
    if listed.is_empty() { Err((1, "the list is empty".to_owned())) } else { Ok(listed) }
}

/// The path of a listed name below the directory: `./` before it means nothing, an absolute one must lead there.
fn below(root: &Path, name: &[u8]) -> Option<RelPath> {
    let mut name = match name.strip_prefix(path_bytes(root)) {
        Some(rest) if name.starts_with(b"/") => rest.strip_prefix(b"/")?,
        _ => name,
    };
    while let Some(rest) = name.strip_prefix(b"./") {
        name = rest;
    }
    RelPath::parse(name).ok().filter(|path| !path.is_root())
}

fn check(
    session: &Session<'_>,
    root: &Root,
    listed: &BTreeMap<RelPath, Digest>,
    report: &mut VerifyReport,
    each: &mut dyn FnMut(&VerifyEvent<'_>),
) -> Result<(), RuleOutcome> {
    let store = find_store(root)?;
    let _lock = share_where_possible(store.as_ref())?;
    let files = found(session, root, listed, report, each);
    if session.cancel.is_raised() {
        return Err(interrupted(session));
    }
    let order: Vec<usize> = (0..files.weights.len()).collect();
    let engines = start(session, &EngineOptions::default(), &files, &order, 1)?;
    let Engines { gauge, threads } = &engines;
    each(&VerifyEvent::Reading { gauge });
    (report.planned_bytes, report.total_bytes) = (gauge.bytes, gauge.bytes);
    let reader = Reader {
        root: &root.directory,
        place: &root.place,
        records: Records::List(listed),
        engine: &gauge.engine,
        source: None,
        files: &files,
        accepted: false,
    };
    let go_on = || !session.cancel.is_raised();
    let counts = &mut report.counts;
    let mut take = |outcome: super::read::Outcome| {
        counts.take(&outcome.file, outcome.cached);
        each(&VerifyEvent::File { file: &outcome.file });
    };
    reader
        .read_all(&order, &AtomicUsize::new(0), *threads, &go_on, &gauge.done, &mut take)
        .map_err(|error| RuleOutcome::stopped(&error))?;
    if session.cancel.is_raised() { Err(interrupted(session)) } else { Ok(()) }
}

/// The listed files that are there; what is not is told, and so is what is not listed.
fn found(
    session: &Session<'_>,
    root: &Root,
    listed: &BTreeMap<RelPath, Digest>,
    report: &mut VerifyReport,
    each: &mut dyn FnMut(&VerifyEvent<'_>),
) -> Files {
    let mut files = Files::default();
    let mut tell = |file: &Verified| {
        report.counts.add(file);
        each(&VerifyEvent::File { file });
    };
    let mut seen: BTreeSet<&RelPath> = BTreeSet::new();
    let mut walk = Walk::new(&root.directory);
    while let Some(met) = walk.next().filter(|_| !session.cancel.is_raised()) {
        match met {
            Met::Entry(path, meta) if meta.kind == Kind::File => match listed.get_key_value(&path) {
                Some((path, _)) => {
                    seen.insert(path);
                    let weight = Weight { bytes: meta.size, read_back: None, since: None, wrong: false };
                    files.push(path, None, weight);
                }
                None => tell(&Verified::new(&path, Finding::Extra)),
            },
            Met::Entry(..) | Met::Foreign(_) => {}
            Met::Unread(path, error) => {
                let cause = format!("neither it nor what is below it can be looked at: {error}");
                tell(&Verified::new(&path, Finding::Unread).because(cause));
            }
        }
    }
    // What the walk does not show (another destination's folder, a symlink) is looked for when it is read.
    let unseen = Weight { bytes: 0, read_back: None, since: None, wrong: false };
    for path in listed.keys().filter(|path| !seen.contains(path)) {
        files.push(path, None, unseen);
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_below_the_directory_only() {
        let check = |name: &str, expected: Option<&str>| {
            let path = below(Path::new("/d/e"), name.as_bytes()).map(|path| path.to_string());
            assert_eq!(path.as_deref(), expected, "{name}");
        };
        check("a/b", Some("a/b"));
        check("./a", Some("a"));
        check("/d/e/a", Some("a"));
        check("/d/ee/a", None);
        check("/d/e", None);
        check("../a", None);
        check("a/../../b", None);
        check("/etc/passwd", None);
    }

    #[test]
    fn a_line_that_is_none_is_named() {
        let hex = "ab".repeat(32);
        let check = |text: &str| parse(Path::new("/d"), text.as_bytes()).map(|list| list.len());
        assert_eq!(check(&format!("{hex}  a\n{hex}  ./a\n\n{hex}  b\n")), Ok(2));
        assert_eq!(check(&format!("{hex}  a\nnonsense\n")).unwrap_err().0, 2);
        assert_eq!(check(&format!("{hex}  a\n{}  a\n", "cd".repeat(32))).unwrap_err().0, 2);
        assert!(check("").is_err());
    }
}
