//! A job as the rest of the program sees it: every default filled in, every value parsed.

use std::path::PathBuf;
use std::time::Duration;

use crate::filter::{FilterSpec, Select};
use crate::value::{Bandwidth, ByteCount, Percent, Zone};

/// One job file, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The file's stem.
    pub name: String,
    /// The file it came from, absolute.
    pub file: PathBuf,
    /// What the author says it is for.
    pub description: Option<String>,
    /// In which the job's times of day are meant.
    pub timezone: Zone,
    /// In file order; names are unique.
    pub rules: Vec<Rule>,
}

/// What a rule does with its two trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The destination becomes equal; extras go.
    Mirror,
    /// New and changed entries are copied; extras stay.
    Backup,
}

/// Where a tree is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// An absolute path, without trailing slashes.
    Path(PathBuf),
    /// `volume:NAME/path`: a file system found by its label or UUID, and a path below its root.
    Volume {
        /// Label or UUID.
        name: String,
        /// Path below the volume's root, relative, perhaps empty.
        path: PathBuf,
    },
}

/// One rule with all its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Unique in the job.
    pub name: String,
    /// What it does.
    pub mode: Mode,
    /// The tree that is read.
    pub source: Location,
    /// The tree that is written.
    pub destination: Location,
    /// Off: the rule is skipped and said to be.
    pub enabled: bool,
    /// Rules that must have ended with 0 before it.
    pub needs: Vec<String>,
    /// gitignore patterns.
    pub exclude: Vec<String>,
    /// gitignore patterns; empty: everything.
    pub include: Vec<String>,
    /// How patterns treat case.
    pub ignore_case: Choice<bool>,
    /// Further predicates.
    pub select: Select,
    /// When two files count as equal.
    pub compare: Comparison,
    /// How far apart two equal times may be.
    pub time_tolerance: Choice<Duration>,
    /// Which files of the destination may be overwritten; `Changed` in a mirror.
    pub overwrite: Overwrite,
    /// When a mirror removes.
    pub remove: Remove,
    /// What becomes of displaced content.
    pub versions: Versions,
    /// How much one run may change.
    pub limits: Limits,
    /// What must hold before a run.
    pub require: Require,
    /// What an absent source or destination means.
    pub on_missing: OnMissing,
    /// Which metadata is kept.
    pub preserve: Preserve,
    /// What is read back after it was written.
    pub verify: Verify,
    /// How fast content may be written.
    pub bandwidth: Bandwidth,
    /// How soon written data must survive a power cut.
    pub durability: Durability,
    /// What to do with files that change while they are copied.
    pub unsettled: Unsettled,
    /// How often an operation that failed for a passing reason is tried again.
    pub retries: u32,
    /// How bytes are moved.
    pub engine: EngineOptions,
}

/// Days that displaced content is kept, where the rule does not say: in a mirror, and in a backup.
const KEPT_DAYS: [(Mode, u64); 2] = [(Mode::Mirror, 14), (Mode::Backup, 90)];

impl Rule {
    /// A rule with nothing but what it needs: every option has its default.
    #[must_use]
    pub fn new(name: &str, mode: Mode, source: Location, destination: Location) -> Self {
        let days = KEPT_DAYS.iter().find(|(of, _)| *of == mode).map_or(0, |(_, days)| *days);
        let keep_for = Some(Duration::from_secs(days * 86_400));
        Self {
            name: name.to_owned(),
            mode,
            source,
            destination,
            enabled: true,
            needs: Vec::new(),
            exclude: Vec::new(),
            include: Vec::new(),
            ignore_case: Choice::Auto,
            select: Select::default(),
            compare: Comparison::default(),
            time_tolerance: Choice::Auto,
            overwrite: Overwrite::default(),
            remove: Remove::default(),
            versions: Versions::Keep(Retention { keep_for, ..Retention::default() }),
            limits: Limits::default(),
            require: Require::default(),
            on_missing: OnMissing::default(),
            preserve: Preserve::default(),
            verify: Verify::default(),
            bandwidth: Bandwidth::default(),
            durability: Durability::default(),
            unsettled: Unsettled::default(),
            retries: 3,
            engine: EngineOptions::default(),
        }
    }

    /// The parts of the rule that make its filter; `case` as resolved for the source.
    #[must_use]
    pub fn filter_spec(&self, case: crate::value::Case) -> FilterSpec {
        FilterSpec {
            exclude: self.exclude.clone(),
            include: self.include.clone(),
            case,
            select: self.select.clone(),
        }
    }
}

/// A value, or Twinlane's own choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Choice<T> {
    /// `auto`.
    #[default]
    Auto,
    /// As the job says.
    Set(T),
}

/// The `compare` key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Comparison {
    /// Size or mtime differ.
    #[default]
    Mtime,
    /// Size differs.
    Size,
    /// Size or BLAKE3 differ; both sides are read every time.
    Hash,
    /// Size differs; of equal size with another mtime, BLAKE3 decides.
    MtimeThenHash,
}

/// The `overwrite` key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Overwrite {
    /// Whatever differs.
    #[default]
    Changed,
    /// Only where the source is newer.
    Newer,
    /// Never.
    Never,
}

/// The `remove` key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Remove {
    /// After all copies are safe.
    #[default]
    After,
    /// First, to free space; needs `versions: none`.
    Before,
}

/// The `versions` key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Versions {
    /// Displaced content is gone.
    None,
    /// Displaced content is kept for a while.
    Keep(Retention),
}

/// How long versions are kept: while any of the given ones keeps them.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Retention {
    /// Since they were displaced.
    pub keep_for: Option<Duration>,
    /// The newest so many of each path.
    pub keep_last: Option<u32>,
    /// A ceiling for all versions of the rule together; oldest go first, never those of the last 24 h.
    pub max_size: Option<ByteCount>,
    /// What happens when the destination is full.
    pub when_full: WhenFull,
}

/// The `versions.when_full` key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WhenFull {
    /// The run is refused.
    #[default]
    Refuse,
    /// The oldest versions are released until the run fits.
    Release,
}

/// A ceiling for one kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// No ceiling.
    None,
    /// So many entries.
    Count(u64),
    /// This share of the destination's entries.
    Share(Percent),
}

/// Free room that must stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MinFree {
    /// None.
    None,
    /// So many bytes.
    Bytes(ByteCount),
    /// This share of the file system.
    Share(Percent),
}

/// The `limits` key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Removals; 25 % unless said otherwise.
    pub remove: Limit,
    /// Replacements; 50 %.
    pub replace: Limit,
    /// Room that stays free on the destination; 1 %.
    pub min_free: MinFree,
}

/// The `require` key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Require {
    /// The source holds at least one selected non-directory; true unless said otherwise.
    pub source_nonempty: bool,
    /// The source's root is a mount point.
    pub source_mounted: bool,
    /// The destination lies on a mounted file system of its own (not on `/`).
    pub destination_mounted: bool,
}

/// The `on_missing` key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnMissing {
    /// Exit 3.
    #[default]
    Fail,
    /// Exit 0, and said.
    Skip,
}

/// The `preserve` key.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own in the job file")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preserve {
    /// The twelve mode bits.
    pub permissions: bool,
    /// mtime.
    pub times: bool,
    /// Extended attributes.
    pub xattrs: bool,
    /// POSIX ACLs.
    pub acls: bool,
    /// Hard-link groups.
    pub hard_links: bool,
    /// Holes.
    pub sparse: bool,
    /// Owner and group, numerically; auto: as root.
    pub owner: Choice<bool>,
    /// What becomes of symlinks.
    pub symlinks: Symlinks,
    /// FIFOs, sockets, device nodes; auto: FIFOs and sockets always, devices as root.
    pub special: Choice<bool>,
}

/// The `preserve.symlinks` key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Symlinks {
    /// Copied as links, their text untouched.
    #[default]
    Copy,
    /// Left out.
    Skip,
}

/// The `verify` key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Verify {
    /// Nothing is read back.
    #[default]
    None,
    /// What was written is read again past the page cache, and its BLAKE3 compared.
    Readback,
}

/// The `durability` key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Durability {
    /// In batches, and at the run's end.
    #[default]
    Run,
    /// Each file before it gets its name.
    File,
    /// Whenever the system gets round to it.
    None,
}

/// The `unsettled` key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Unsettled {
    /// Try again, then leave the destination's old content.
    #[default]
    Retry,
    /// Take the torn copy.
    Publish,
}

/// The `engine.method` key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Method {
    /// Unbuffered from `unbuffered_from` on, buffered below and where direct I/O is refused.
    #[default]
    Auto,
    /// Always through the page cache.
    Buffered,
    /// Direct I/O for every file that is large enough for one block.
    Unbuffered,
}

/// The `engine` key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineOptions {
    /// How bytes move.
    pub method: Method,
    /// I/O workers.
    pub queues: Choice<u32>,
    /// Blocks in flight per queue.
    pub depth: Choice<u32>,
    /// Block size: a power of two, 64 KiB … 4 MiB.
    pub block: Choice<ByteCount>,
    /// Files from this size on bypass the page cache.
    pub unbuffered_from: Choice<ByteCount>,
    /// All I/O buffers together; 256 MiB unless said otherwise.
    pub memory: ByteCount,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            remove: Limit::Share(Percent::whole(25)),
            replace: Limit::Share(Percent::whole(50)),
            min_free: MinFree::Share(Percent::whole(1)),
        }
    }
}

impl Default for Require {
    fn default() -> Self {
        Self { source_nonempty: true, source_mounted: false, destination_mounted: false }
    }
}

impl Default for Preserve {
    fn default() -> Self {
        Self {
            permissions: true,
            times: true,
            xattrs: true,
            acls: true,
            hard_links: true,
            sparse: true,
            owner: Choice::Auto,
            symlinks: Symlinks::default(),
            special: Choice::Auto,
        }
    }
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            method: Method::default(),
            queues: Choice::Auto,
            depth: Choice::Auto,
            block: Choice::Auto,
            unbuffered_from: Choice::Auto,
            memory: ByteCount(256 << 20),
        }
    }
}
