//! A pair of trees with everything that an execution needs.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::planner;
use crate::execute::{Ended, Fact, FailureKind, Meters, Outcome, Terms, execute};
use crate::job::{
    Choice, EngineOptions, Limit, Limits, Location, Method, MinFree, Mode, Retention, Rule, Versions,
};
use crate::plan::Plan;
use crate::platform::{Attributes as _, Clock, Dir, Environment, open_root, place_at};
use crate::queue::Engine;
use crate::store::{Catalog, EntryRow, Store, ViewSource};
use crate::value::{ByteCount, Cancel, Place, RelPath, RunId, StageName};

pub(super) struct Bed {
    _folder: Option<tempfile::TempDir>,
    pub(super) base: PathBuf,
    pub(super) source: PathBuf,
    pub(super) destination: PathBuf,
    pub(super) rule: Rule,
    pub(super) workers: usize,
    pub(super) as_root: bool,
    pub(super) cancel: Cancel,
    /// What the place is changed to before it is used.
    pub(super) mend_place: fn(&mut Place),
    pub(super) rescued: std::sync::atomic::AtomicUsize,
}

/// The first run of a bed; later ones are bumped past it.
pub(super) const FIRST_RUN: &str = "2026-11-24T013000.001Z";

/// One planned run, not carried out yet.
pub(super) struct Planned<'b> {
    bed: &'b Bed,
    source: Dir,
    destination: Dir,
    source_place: Place,
    place: Place,
    store: Store,
    catalog: std::cell::RefCell<Catalog>,
    engine: Engine,
    pub(super) run: RunId,
    unfinished: Vec<RunId>,
    pub(super) plan: Plan,
}

pub(super) fn rule() -> Rule {
    let at = |path: &str| Location::Path(path.into());
    Rule {
        versions: Versions::Keep(Retention::default()),
        limits: Limits { remove: Limit::None, replace: Limit::None, min_free: MinFree::None },
        engine: EngineOptions {
            method: Method::Buffered,
            queues: Choice::Set(1),
            depth: Choice::Set(2),
            block: Choice::Set(ByteCount(64 << 10)),
            unbuffered_from: Choice::Auto,
            memory: ByteCount(2 << 20),
        },
        ..Rule::new("rule", Mode::Mirror, at("/source"), at("/destination"))
    }
}

impl Bed {
    pub(super) fn new() -> Self {
        Self::within(&std::env::temp_dir())
    }

    pub(super) fn within(parent: &Path) -> Self {
        let folder = tempfile::Builder::new().prefix("execute-").tempdir_in(parent).unwrap();
        let base = folder.path().canonicalize().unwrap();
        for side in ["source", "destination"] {
            std::fs::create_dir(base.join(side)).unwrap();
        }
        Self { _folder: Some(folder), ..Self::at(base) }
    }

    /// A bed whose trees are there already.
    pub(super) fn at(base: PathBuf) -> Self {
        let (source, destination) = (base.join("source"), base.join("destination"));
        Self {
            _folder: None,
            base,
            source,
            destination,
            rule: rule(),
            workers: 1,
            as_root: Environment.is_root(),
            cancel: Cancel::new(),
            mend_place: |_| {},
            rescued: std::sync::atomic::AtomicUsize::new(0),
        }
    }

    pub(super) fn without_versions(mut self) -> Self {
        self.rule.versions = Versions::None;
        self
    }

    /// Writes a file that was last changed long ago.
    pub(super) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.base.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        touch(&path, 1_000_000_000);
    }

    pub(super) fn read(&self, path: &str) -> String {
        let bytes = std::fs::read(self.base.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        String::from_utf8(bytes).unwrap()
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.base.join(path)
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        self.base.join(path).symlink_metadata().is_ok()
    }

    pub(super) fn planned(&self) -> Planned<'_> {
        let (source, source_real) = open_root(&self.source).unwrap();
        let (destination, real) = open_root(&self.destination).unwrap();
        let source_place = place_at(&source, &source_real).unwrap();
        let mut place = place_at(&destination, &real).unwrap();
        (self.mend_place)(&mut place);
        let store = Store::create(&destination).unwrap();
        let recovered = store.recover(&destination).unwrap();
        self.rescued.fetch_add(recovered.rescued.len(), std::sync::atomic::Ordering::Relaxed);
        let unfinished = store.unfinished_runs().unwrap();
        let newest = store.newest_run().unwrap();
        let run = RunId::at(FIRST_RUN.parse::<RunId>().unwrap().time(), newest);
        store.begin(run).unwrap();
        let (catalog, message) = store.catalog(run).unwrap();
        assert_eq!(message, None);
        let settings = crate::execute::engine_settings(&self.rule.engine, 2);
        let engine = Engine::start(&settings, &self.cancel).unwrap();
        let plan = planner::plan(&source, &destination, &self.rule, &place, &unfinished);
        let catalog = std::cell::RefCell::new(catalog);
        Planned {
            bed: self,
            source,
            destination,
            source_place,
            place,
            store,
            catalog,
            engine,
            run,
            unfinished,
            plan,
        }
    }

    /// Plans and runs; everything must succeed.
    pub(super) fn mirror(&self) -> Outcome {
        let planned = self.planned();
        let outcome = planned.execute();
        assert_eq!(outcome.failures, [], "{:?}", outcome.ended);
        assert_eq!(outcome.ended, Ended::Finished);
        assert!(outcome.done.iter().all(|done| *done), "{:?}", outcome.done);
        outcome
    }

    /// As [`Bed::mirror`], then both trees are equal and a second plan is empty.
    pub(super) fn converge(&self) -> Outcome {
        let outcome = self.mirror();
        self.assert_equal();
        outcome
    }

    pub(super) fn assert_equal(&self) {
        let planned = self.planned();
        let left: Vec<String> = planned
            .plan
            .actions
            .iter()
            .map(|action| format!("{:?} {}", action.kind, planned.plan.path(action)))
            .collect();
        assert_eq!(left, Vec::<String>::new());
        for (path, meta) in planner::walk(&planned.source) {
            if meta.kind == crate::value::Kind::File {
                let path = crate::platform::path_from_bytes(path.as_bytes());
                let (ours, theirs) = (self.source.join(&path), self.destination.join(&path));
                assert_eq!(std::fs::read(&ours).unwrap(), std::fs::read(&theirs).unwrap(), "{path:?}");
            }
        }
    }
}

impl Planned<'_> {
    pub(super) fn execute(&self) -> Outcome {
        let (outcome, _) = self.execute_with(|_| {});
        outcome
    }

    /// Runs; `each` sees every fact as it comes.
    pub(super) fn execute_with(&self, mut each: impl FnMut(&Fact)) -> (Outcome, Vec<Fact>) {
        let meters = Meters::default();
        let mut all = Vec::new();
        let terms = Terms {
            plan: &self.plan,
            rule: &self.bed.rule,
            run: self.run,
            source: &self.source,
            destination: &self.destination,
            source_place: &self.source_place,
            place: &self.place,
            store: Some(&self.store),
            roots: crate::execute::Roots::Alike,
            clock: Clock::system(),
            cancel: &self.bed.cancel,
            engine: &self.engine,
            workers: self.bed.workers,
            as_root: self.bed.as_root,
        };
        let outcome = execute(&terms, &mut *self.catalog.borrow_mut(), &meters, &mut |fact| {
            each(&fact);
            all.push(fact);
        });
        let done = all.iter().filter(|fact| matches!(fact, Fact::Done { .. })).count();
        assert_eq!(
            outcome.done.iter().filter(|done| **done).count(),
            done,
            "facts tell what the outcome tells"
        );
        if outcome.stages_left == 0 {
            let left: Vec<PathBuf> = stages(&self.bed.destination)
                .into_iter()
                .filter(|path| {
                    !self.bed.source.join(path.strip_prefix(&self.bed.destination).unwrap()).exists()
                })
                .collect();
            assert_eq!(left, Vec::<PathBuf>::new(), "no stage file is left");
            for run in self.unfinished.iter().chain([&self.run]) {
                self.store.clear_marker(*run).unwrap();
            }
        }
        (outcome, all)
    }

    /// What the catalog has of a file, where that fits the file as it is now.
    pub(super) fn row(&self, path: &str) -> Option<EntryRow> {
        let ViewSource::Open(view) = self.store.view().unwrap() else { panic!("no catalog") };
        let path = RelPath::parse(path.as_bytes()).unwrap();
        let meta = self.destination.open_below(&path.parent().unwrap()).unwrap().stat(path.name()).unwrap();
        view.entry(&path).unwrap().filter(|row| row.is_still(&meta))
    }

    pub(super) fn digest(&self, path: &str) -> Option<crate::value::Digest> {
        let path = RelPath::parse(path.as_bytes()).unwrap();
        self.catalog.borrow().record(&path).unwrap().and_then(|record| record.digest)
    }
}

/// Where a version is.
pub(super) fn version(run: RunId, path: &str) -> String {
    format!("destination/.twinlane/versions/{run}/{path}")
}

/// Failures by path.
pub(super) fn failures(outcome: &Outcome) -> Vec<(String, FailureKind)> {
    let mut all: Vec<(String, FailureKind)> =
        outcome.failures.iter().map(|failure| (failure.path.to_string(), failure.what)).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

/// Every name of the form of a stage name below a folder, which may change meanwhile and may be deeper than a path can say.
pub(super) fn stages(folder: &Path) -> Vec<PathBuf> {
    fn below(directory: &Dir, path: &Path, all: &mut Vec<PathBuf>) {
        let mut names = Vec::new();
        let _ = directory.list(|listed| names.push(listed.name.to_vec()));
        for name in names {
            let path = path.join(crate::platform::path_from_bytes(&name));
            if StageName::parse(&name).is_some() {
                all.push(path);
            } else if let Ok(next) = directory.open_dir(&name) {
                below(&next, &path, all);
            }
        }
    }
    let mut all = Vec::new();
    below(&open_root(folder).unwrap().0, folder, &mut all);
    all
}

/// Sets a time without following a symlink.
pub(super) fn touch(path: &Path, seconds: i64) {
    let parent = open_root(path.parent().unwrap()).unwrap().0;
    let name = crate::platform::path_bytes(Path::new(path.file_name().unwrap())).to_vec();
    let stamp = crate::value::Stamp { seconds, nanos: 123_456_789 };
    parent.node(&name).unwrap().set_modified(stamp).unwrap();
}

pub(super) fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o7777
}

pub(super) fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

pub(super) fn inode(path: &Path) -> u64 {
    path.symlink_metadata().unwrap().ino()
}

/// Whether a test that needs root can run; says so where it cannot.
#[must_use]
pub(super) fn is_root(test: &str) -> bool {
    let root = Environment.is_root();
    if !root {
        eprintln!("skipped: {test} needs root");
    }
    root
}

/// Runs a command; whether it was there and succeeded.
pub(super) fn run(command: &str) -> bool {
    let status = std::process::Command::new("sh").args(["-c", command]).status();
    status.is_ok_and(|status| status.success())
}

/// A mounted tmpfs, unmounted when dropped.
pub(super) struct Mounted(pub(super) PathBuf);

impl Mounted {
    pub(super) fn tmpfs(options: &str) -> Option<Self> {
        let folder = tempfile::Builder::new().prefix("execute-mount-").tempdir().unwrap().keep();
        let mounted = run(&format!("mount -t tmpfs -o {options} tmpfs '{}' 2>/dev/null", folder.display()));
        if !mounted {
            eprintln!("skipped: cannot mount a tmpfs");
            return None;
        }
        Some(Self(folder))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        run(&format!("umount '{0}' && rmdir '{0}'", self.0.display()));
    }
}
