//! Two small trees, a march over them, and what it says in one line each.

mod digests;
mod filters;
mod guards;
mod moves;
mod scale;
mod scope;
mod verdicts;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use super::*;
use crate::job::{Choice, Comparison, Location, Mode, Rule, Symlinks};
use crate::platform::{Environment, open_root, place_at};
use crate::queue::{Engine, Route, Settings};
use crate::scan::Filter;
use crate::value::{ByteCount, Cancel, Case, Place, RunId, Stamp};

/// The time of everything that a bench makes, in seconds.
const THEN: u64 = 1_000_000_000;

fn rule() -> Rule {
    let at = |path: &str| Location::Path(path.into());
    Rule::new("rule", Mode::Mirror, at("/source"), at("/destination"))
}

fn engine(cancel: &Cancel) -> Engine {
    let settings = Settings {
        route: Route::Buffered,
        queues: 1,
        depth: 2,
        block_bytes: 1 << 20,
        unbuffered_from_bytes: 1 << 30,
        memory_bytes: 64 << 20,
        hash_workers: 1,
    };
    Engine::start(&settings, cancel).unwrap()
}

/// A source `s` and a destination `t` in a folder of their own.
struct Bench {
    folder: tempfile::TempDir,
    rule: Rule,
    threads: usize,
    handle_budget: usize,
    as_root: bool,
    excluded: ExcludedThere,
    names: Option<Vec<Named>>,
    scope: Scope<'static>,
    unfinished_runs: Vec<RunId>,
    known: Option<Box<dyn Digests>>,
    source_place: fn(&mut Place),
    place: fn(&mut Place),
    /// Called when everything is open and the march is about to begin.
    before: fn(),
}

impl Bench {
    fn new() -> Self {
        Self::within(&std::env::temp_dir())
    }

    /// For many entries: in memory, where the machine has a place for that.
    fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() { Self::within(memory) } else { Self::new() }
    }

    fn within(folder: &Path) -> Self {
        let folder = tempfile::tempdir_in(folder).unwrap();
        std::fs::create_dir(folder.path().join("s")).unwrap();
        std::fs::create_dir(folder.path().join("t")).unwrap();
        Self {
            folder,
            rule: rule(),
            threads: 4,
            handle_budget: 512,
            as_root: Environment.is_root(),
            excluded: ExcludedThere::Kept,
            names: None,
            scope: Scope::default(),
            unfinished_runs: Vec::new(),
            known: None,
            source_place: |_| {},
            place: |_| {},
            before: || {},
        }
    }

    fn path(&self, path: impl AsRef<[u8]>) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(OsStr::from_bytes(path.as_ref()))
    }

    /// Makes a file with the time of all files, and the directories above it.
    fn file(&self, path: impl AsRef<[u8]>, content: &str) -> PathBuf {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        touch(&path, THEN);
        path
    }

    /// The same file on both sides.
    fn both(&self, path: &str, content: &str) {
        self.file(format!("s/{path}"), content);
        self.file(format!("t/{path}"), content);
    }

    fn directory(&self, path: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(path);
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    fn link(&self, path: impl AsRef<[u8]>, text: &str) -> PathBuf {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(text, &path).unwrap();
        let touched = Command::new("touch").args(["-h", "-d", &format!("@{THEN}")]).arg(&path).status();
        assert!(touched.unwrap().success());
        path
    }

    /// Gives all directories the time of all files.
    fn settle(&self) -> &Self {
        for tree in ["s", "t"] {
            for entry in walkdir::WalkDir::new(self.path(tree)).contents_first(true) {
                let entry = entry.unwrap();
                if entry.file_type().is_dir() {
                    touch(entry.path(), THEN);
                }
            }
        }
        self
    }

    fn march(&self) -> Draft {
        let cancel = Cancel::new();
        let reads = matches!(self.rule.compare, Comparison::Hash | Comparison::MtimeThenHash);
        let engine = reads.then(|| engine(&cancel));
        self.march_with(&cancel, engine.as_ref(), &ScanMeter::default())
    }

    fn march_with(&self, cancel: &Cancel, engine: Option<&Engine>, meter: &ScanMeter) -> Draft {
        let (source, source_path) = open_root(&self.path("s")).unwrap();
        let destination = open_root(&self.path("t")).ok();
        let mut source_place = place_at(&source, &source_path).unwrap();
        let mut place = source_place.clone();
        (self.source_place)(&mut source_place);
        (self.place)(&mut place);
        let filter =
            Filter::compile(&self.rule.filter_spec(Case::Sensitive), Stamp::from_seconds(0)).unwrap();
        (self.before)();
        march(&Terms {
            source: &source,
            destination: destination.as_ref().map(|(directory, _)| directory),
            destination_parent: None,
            filter: &filter,
            rule: &self.rule,
            source_place: &source_place,
            place: &place,
            as_root: self.as_root,
            scope: Scope { names: self.names.as_deref(), ..self.scope },
            unfinished_runs: &self.unfinished_runs,
            known: self.known.as_deref(),
            excluded: self.excluded,
            engine,
            cancel,
            meter,
            threads: self.threads,
            handle_budget: self.handle_budget,
        })
    }

    /// What a march over the settled trees says.
    #[track_caller]
    fn check(&self, expected: &[&str]) -> Draft {
        let draft = self.settle().march();
        assert_eq!(said(&draft), expected);
        draft
    }
}

fn touch(path: &Path, seconds: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    std::fs::File::open(path).unwrap().set_modified(time).unwrap();
}

fn run(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).status().is_ok_and(|status| status.success())
}

/// Whether a test that needs root may run; says so where not.
fn is_root_or_skipped(what: &str) -> bool {
    let is_root = Environment.is_root();
    if !is_root {
        eprintln!("SKIPPED: {what} needs root");
    }
    is_root
}

/// A line for each finding, problem and notice, in the draft's order.
fn said(draft: &Draft) -> Vec<String> {
    let mut lines = Vec::new();
    for directory in &draft.directories {
        let path = |name: &[u8]| {
            let path = if name.is_empty() { directory.path.clone() } else { directory.path.join(name) };
            if path.is_root() { ".".to_owned() } else { path.to_string() }
        };
        for finding in &directory.findings {
            lines.push(format!("{} {}", path(&finding.name), word(finding)));
        }
        for name in &directory.stale_stages {
            lines.push(format!("{} stale", path(name)));
        }
        let whole = [(directory.source_whole, "source"), (directory.destination_whole, "destination")];
        for (_, side) in whole.iter().filter(|(whole, _)| !whole) {
            lines.push(format!("{} {side} not whole", path(b"")));
        }
        if directory.kept > 0 {
            lines.push(format!("{} kept {}", path(b""), directory.kept));
        }
        if directory.through {
            lines.push(format!("{} through", path(b"")));
        }
    }
    for Problem { path, side, extent, .. } in &draft.problems {
        lines.push(format!("problem {side:?} {extent:?} {path}"));
    }
    for notice in &draft.notices {
        lines.push(match notice {
            Notice::MountPoint { path, entered } => format!("mount {path} {entered}"),
            Notice::ForeignDestination { path } => format!("foreign {path}"),
            Notice::LeftOut { kind, count } => format!("left out {} {count}", kind.word()),
            Notice::StageNames { count } => format!("stage names {count}"),
            Notice::Unheld { what, count } => format!("unheld {what:?} {count}"),
            Notice::PowerCut { cause } => format!("power cut {cause:?}"),
        });
    }
    if let Some((side, path)) = &draft.nested {
        lines.push(format!("nested {side:?} {path}"));
    }
    lines
}

fn word(finding: &Finding) -> String {
    let kind = |meta: Option<crate::value::Meta>| meta.map_or("-", |meta| meta.kind.word());
    match finding.verdict {
        Verdict::Metadata(difference) => {
            let names = [
                (MetaDifference::PERMISSIONS, "permissions"),
                (MetaDifference::OWNER, "owner"),
                (MetaDifference::TIMES, "times"),
                (MetaDifference::XATTRS, "xattrs"),
                (MetaDifference::ACLS, "acls"),
            ];
            let words: Vec<&str> =
                names.iter().filter(|(one, _)| difference.contains(*one)).map(|(_, word)| *word).collect();
            words.join("+")
        }
        Verdict::Changed(difference, age) => format!("{difference:?} {age:?}"),
        Verdict::Kind => format!("{} <- {}", kind(finding.destination), kind(finding.source)),
        verdict => format!("{verdict:?}"),
    }
}
