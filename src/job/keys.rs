//! The keys of a job file: one list per map, from which come the decoder, "did you mean", the JSON schema, the
//! defaults and the reference table.

use super::Mode;

/// One key of a map.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) takes: Takes,
    pub(super) fallback: Fallback,
    pub(super) fits: Fits,
    /// For the reference table and the schema; a sentence or two without a final full stop.
    pub(super) meaning: &'static str,
}

/// What stands where the key is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fallback {
    /// The key must be given.
    Required,
    /// Nothing.
    Unset,
    /// This YAML text, decoded like one from a file.
    Text(&'static str),
    /// A text for each mode.
    ByMode { mirror: &'static str, backup: &'static str },
    /// What the defaults of the map's own keys say.
    Members,
}

/// The modes that a rule option has a meaning in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fits {
    Any,
    Mirror,
    Backup,
}

impl Fits {
    pub(super) fn includes(self, mode: Mode) -> bool {
        match self {
            Self::Any => true,
            Self::Mirror => mode == Mode::Mirror,
            Self::Backup => mode == Mode::Backup,
        }
    }
}

/// What a key takes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Takes {
    /// A single value of one of these forms.
    Scalar(&'static [Form]),
    /// Text that is shown, never interpreted.
    Prose,
    /// The source or destination of a rule.
    Path,
    /// gitignore patterns: a list, or block text.
    Patterns,
    /// The path of a file, or a list of such.
    Files,
    /// A list of file names.
    Names,
    /// A list of names of earlier rules.
    Rules,
    /// A map with these keys; where `defaults` gives one too, the two are merged key by key.
    Map(&'static [Key]),
    /// A word, or a map that replaces the default as a whole.
    WordOrMap(&'static str, &'static [Key]),
    /// The texts under `variables`.
    Variables,
    /// A map from rule names to rules.
    RuleMap,
    /// A ceiling of [`CEILING`], or a map from parts of the day to such.
    Timetable,
}

/// One form of a single value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Word(&'static str),
    /// `true` or `false`.
    Switch,
    /// A whole number in a range, ends included.
    Count {
        least: u64,
        most: u64,
    },
    /// A size of at least so many bytes.
    Size {
        least: u64,
    },
    /// A power of two between 64 KiB and 4 MiB.
    Block,
    Duration,
    /// A duration back from now, or a date.
    Age,
    Percent,
    /// A size a second.
    Rate,
    /// A time zone of the IANA database.
    Zone,
}

use Form::{Age, Block, Count, Duration, Percent, Rate, Size, Switch, Word, Zone};
use Takes::{
    Files, Map, Names, Path, Patterns, Prose, RuleMap, Rules, Scalar, Timetable, Variables, WordOrMap,
};

const fn key(name: &'static str, takes: Takes, default: &'static str, meaning: &'static str) -> Key {
    Key { name, takes, fallback: Fallback::Text(default), fits: Fits::Any, meaning }
}

const fn required(name: &'static str, takes: Takes, meaning: &'static str) -> Key {
    Key { name, takes, fallback: Fallback::Required, fits: Fits::Any, meaning }
}

const fn unset(name: &'static str, takes: Takes, meaning: &'static str) -> Key {
    Key { name, takes, fallback: Fallback::Unset, fits: Fits::Any, meaning }
}

const fn map(name: &'static str, keys: &'static [Key], meaning: &'static str) -> Key {
    Key { name, takes: Map(keys), fallback: Fallback::Members, fits: Fits::Any, meaning }
}

const SWITCH: Takes = Scalar(&[Switch]);
const AUTO_SWITCH: Takes = Scalar(&[Word("auto"), Switch]);
const SIZE: Takes = Scalar(&[Size { least: 0 }]);
const LIMIT: Takes = Scalar(&[Percent, Count { least: 0, most: u64::MAX }, Word("none")]);
/// One ceiling of `bandwidth`.
pub(super) const CEILING: &[Form] = &[Word("none"), Rate];
const ON_MISSING: Takes = Scalar(&[Word("fail"), Word("skip")]);

/// Where the parts of [`super::EngineOptions`] end: more workers or blocks than these only cost memory.
const WORKERS: Takes = Scalar(&[Word("auto"), Count { least: 1, most: 64 }]);

/// Less than two blocks of the largest size cannot move anything.
const MEMORY_BYTES_MIN: u64 = 8 << 20;

/// The job itself.
pub(super) const JOB: &[Key] = &[
    unset(
        "version",
        Scalar(&[Count { least: 1, most: 1 }]),
        "Version of the job language; 1 is the only one",
    ),
    unset("description", Prose, "What the job is for; shown by `jobs` and `show`"),
    unset(
        "extends",
        Files,
        "Files whose keys this one takes over: maps are merged key by key, a later file wins, and this one over all. Their paths start at the folder of the file that names them; all other relative paths at the job file's",
    ),
    unset("variables", Variables, "Texts that are used as `${name}` elsewhere; one may refer to another"),
    unset(
        "defaults",
        Map(RULE),
        "Rule options for all rules; one that does not fit a rule's mode is ignored there",
    ),
    required("rules", RuleMap, "The rules by name; they run in this order"),
    unset("on_missing", ON_MISSING, "`on_missing` for all rules that do not say otherwise"),
    key(
        "timezone",
        Scalar(&[Word("local"), Zone]),
        "local",
        "In which the job's dates and times of day are meant, such as `Europe/Berlin`; `local`: this machine's",
    ),
];

/// A rule.
pub(super) const RULE: &[Key] = &[
    required(
        "mode",
        Scalar(&[Word("mirror"), Word("backup")]),
        "`mirror`: the destination becomes equal to the source, extras are removed. `backup`: new and changed entries are copied, extras stay",
    ),
    required(
        "source",
        Path,
        "The folder whose content is copied: a path, or `volume:LABEL/path` or `volume:UUID/path` for a disk wherever it is mounted. Relative paths start at the job file's folder",
    ),
    required(
        "destination",
        Path,
        "The folder that receives the content; `${date:%Y/%m}` may stand in that of a backup",
    ),
    key("enabled", SWITCH, "true", "`false`: the rule is skipped, and said to be"),
    key("needs", Rules, "[]", "Earlier rules that must have ended well, else this one is skipped"),
    key(
        "exclude",
        Patterns,
        "[]",
        "gitignore patterns, as a list or as block text with one a line; the last match wins. What is excluded is neither copied nor removed",
    ),
    unset("exclude+", Patterns, "Patterns behind those of `exclude` that `extends` or `defaults` give"),
    key(
        "include",
        Patterns,
        "[]",
        "gitignore patterns that choose among what is not excluded; a matched directory takes all below it. None: everything",
    ),
    unset("include+", Patterns, "Patterns behind those of `include` that `extends` or `defaults` give"),
    key(
        "ignore_case",
        AUTO_SWITCH,
        "auto",
        "Whether patterns ignore case; `auto`: as the source's file system does",
    ),
    map("select", SELECT, "Further conditions on entries"),
    key(
        "compare",
        Scalar(&[Word("mtime"), Word("size"), Word("hash"), Word("mtime_then_hash")]),
        "mtime",
        "When a file counts as changed. `mtime`: size or modification time differ. `size`: the size differs. `hash`: size or BLAKE3 differ, both sides are read every time. `mtime_then_hash`: of equal size with another time, BLAKE3 decides",
    ),
    key(
        "time_tolerance",
        Scalar(&[Word("auto"), Duration]),
        "auto",
        "How far apart two equal times may be, such as `2s`; `auto`: the coarser grain of the two file systems",
    ),
    Key {
        fits: Fits::Backup,
        ..key(
            "overwrite",
            Scalar(&[Word("changed"), Word("newer"), Word("never")]),
            "changed",
            "Which files of the destination may be replaced; backup only",
        )
    },
    Key {
        fits: Fits::Mirror,
        ..key(
            "remove",
            Scalar(&[Word("after"), Word("before")]),
            "after",
            "When extras are removed: after all copies are safe, or first, to free space (needs `versions: none`); mirror only",
        )
    },
    Key {
        fallback: Fallback::ByMode { mirror: "{keep_for: 14d}", backup: "{keep_for: 90d}" },
        ..unset(
            "versions",
            WordOrMap("none", VERSIONS),
            "How long replaced and removed content is kept below the destination's `.twinlane/versions`; a version stays while any of the given ones keeps it",
        )
    },
    map(
        "limits",
        LIMITS,
        "How much one run may change before it is refused; percentages are of the destination's entries",
    ),
    map("require", REQUIRE, "What must hold before a run"),
    key(
        "on_missing",
        ON_MISSING,
        "fail",
        "What an absent volume or path means: `fail` refuses the rule (exit 3), `skip` passes over it (exit 0), also where the source is empty",
    ),
    map("preserve", PRESERVE, "Which metadata is kept"),
    key(
        "verify",
        Scalar(&[Word("none"), Word("readback")]),
        "none",
        "`readback`: what was written is read again past the page cache, and its BLAKE3 compared, before it gets its name",
    ),
    key(
        "bandwidth",
        Timetable,
        "none",
        "How fast content is written: a rate, or a map with `default` and parts of the day in the job's `timezone`, such as `{default: 20MB/s, \"22:00-06:00\": none}`. What is only read, for comparing and for `readback`, is not limited",
    ),
    key(
        "durability",
        Scalar(&[Word("run"), Word("file"), Word("none")]),
        "run",
        "What survives a power cut. `run`: files get their names in batches that are on disk. `file`: each file is on disk first. `none`: no promise",
    ),
    key(
        "unsettled",
        Scalar(&[Word("retry"), Word("publish")]),
        "retry",
        "A file that changes while it is copied: `retry`, then leave the old copy; `publish` takes the torn one",
    ),
    key(
        "retries",
        Scalar(&[Count { least: 0, most: 100 }]),
        "3",
        "How often an operation that failed for a passing reason is tried again",
    ),
    map("engine", ENGINE, "How bytes move; best left alone"),
];

const SELECT: &[Key] = &[
    unset("min_size", SIZE, "Smaller files are left out"),
    unset("max_size", SIZE, "Larger files are left out"),
    unset("newer_than", Scalar(&[Age]), "Files last modified before this age (`30d`) or date are left out"),
    unset("older_than", Scalar(&[Age]), "Files last modified after this age (`30d`) or date are left out"),
    unset(
        "max_depth",
        Scalar(&[Count { least: 1, most: u32::MAX as u64 }]),
        "Entries deeper than this are left out; 1 is the root's own entries",
    ),
    key(
        "exclude_if_present",
        Names,
        "[]",
        "A directory that holds an entry of one of these names is left out with all below it",
    ),
    key(
        "exclude_caches",
        SWITCH,
        "false",
        "Of directories with a valid `CACHEDIR.TAG` only that tag is kept",
    ),
    key("ignore_files", Names, "[]", "Files in the source that hold further patterns, such as `.gitignore`"),
    key("one_file_system", SWITCH, "false", "Mount points below the source are not entered"),
];

const VERSIONS: &[Key] = &[
    unset("keep_for", Scalar(&[Duration]), "Versions younger than this are kept"),
    unset(
        "keep_last",
        Scalar(&[Count { least: 1, most: u32::MAX as u64 }]),
        "The newest so many versions of each path are kept",
    ),
    unset(
        "max_size",
        Scalar(&[Size { least: 1 }]),
        "A ceiling for all versions together; the oldest go first, never those of the last 24 hours",
    ),
    key(
        "when_full",
        Scalar(&[Word("refuse"), Word("release")]),
        "refuse",
        "A destination without room: `refuse` the run, or `release` the oldest versions until it fits",
    ),
];

const LIMITS: &[Key] = &[
    key("remove", LIMIT, "25%", "Removals in one run"),
    key("replace", LIMIT, "50%", "Replacements in one run"),
    key(
        "min_free",
        Scalar(&[Percent, Size { least: 0 }, Word("none")]),
        "1%",
        "Room that stays free on the destination's file system",
    ),
];

const REQUIRE: &[Key] = &[
    map("source", REQUIRE_SOURCE, "What must hold of the source"),
    map("destination", REQUIRE_DESTINATION, "What must hold of the destination"),
];

const REQUIRE_SOURCE: &[Key] = &[
    key("nonempty", SWITCH, "true", "It holds at least one selected file"),
    key("mounted", SWITCH, "false", "It is a mount point"),
];

const REQUIRE_DESTINATION: &[Key] =
    &[key("mounted", SWITCH, "false", "It lies on a file system of its own, not on that of `/`")];

const PRESERVE: &[Key] = &[
    key("permissions", SWITCH, "true", "Mode bits"),
    key("times", SWITCH, "true", "Modification times"),
    key("xattrs", SWITCH, "true", "Extended attributes"),
    key("acls", SWITCH, "true", "Access control lists"),
    key("hard_links", SWITCH, "true", "Hard links between files of the tree"),
    key("sparse", SWITCH, "true", "Holes"),
    key("owner", AUTO_SWITCH, "auto", "Owner and group by number; `auto`: when run as root"),
    key(
        "symlinks",
        Scalar(&[Word("copy"), Word("skip")]),
        "copy",
        "Symlinks: copied as they are, or left out",
    ),
    key(
        "special",
        AUTO_SWITCH,
        "auto",
        "FIFOs, sockets and device nodes; `auto`: devices only when run as root",
    ),
];

const ENGINE: &[Key] = &[
    key(
        "method",
        Scalar(&[Word("auto"), Word("buffered"), Word("unbuffered")]),
        "auto",
        "Through the page cache or past it; `auto`: past it for large files where the place allows it",
    ),
    key("queues", WORKERS, "auto", "I/O workers"),
    key("depth", WORKERS, "auto", "Blocks in flight in each queue"),
    key("block", Scalar(&[Word("auto"), Block]), "auto", "Block size"),
    key(
        "unbuffered_from",
        Scalar(&[Word("auto"), Size { least: 0 }]),
        "auto",
        "Files from this size on bypass the page cache",
    ),
    key("memory", Scalar(&[Size { least: MEMORY_BYTES_MIN }]), "256MiB", "All I/O buffers together"),
];

impl Key {
    /// The key whose inherited list this one adds to.
    pub(super) fn adds_to(&self) -> Option<&'static str> {
        self.name.strip_suffix('+')
    }
}

/// Where a key of this name belongs: `versions` for `keep_for`, `a rule` for `mode`.
pub(super) fn homes_of(name: &str) -> Vec<String> {
    let mut homes = Vec::new();
    if JOB.iter().any(|key| key.name == name) {
        homes.push("the job".to_owned());
    }
    collect_homes(RULE, "", name, &mut homes);
    homes
}

fn collect_homes(keys: &'static [Key], path: &str, name: &str, homes: &mut Vec<String>) {
    for key in keys {
        if key.name == name {
            homes.push(if path.is_empty() { "a rule".to_owned() } else { format!("`{path}`") });
        }
        if let Map(inner) | WordOrMap(_, inner) = key.takes {
            let below = if path.is_empty() { key.name.to_owned() } else { format!("{path}.{}", key.name) };
            collect_homes(inner, &below, name, homes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(keys: &[Key]) -> Vec<&str> {
        keys.iter().map(|key| key.name).collect()
    }

    #[test]
    fn keys_know_their_homes() {
        assert_eq!(homes_of("keep_for"), ["`versions`"]);
        assert_eq!(homes_of("mounted"), ["`require.source`", "`require.destination`"]);
        assert_eq!(homes_of("on_missing"), ["the job", "a rule"]);
        assert!(homes_of("keep").is_empty());
    }

    #[test]
    fn a_default_that_is_a_word_stands_first() {
        fn walk(keys: &'static [Key]) {
            for key in keys {
                match (key.takes, key.fallback) {
                    (Scalar([Word(first), ..]), Fallback::Text(text)) => {
                        assert_eq!(*first, text, "{}", key.name);
                    }
                    (Map(inner) | WordOrMap(_, inner), _) => walk(inner),
                    _ => {}
                }
            }
        }
        walk(RULE);
    }

    #[test]
    fn names_are_unique() {
        for keys in [JOB, RULE, SELECT, VERSIONS, LIMITS, REQUIRE, PRESERVE, ENGINE] {
            let mut sorted = names(keys);
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), keys.len());
        }
    }
}
