//! Why a rule was not begun: what was found, in numbers and names, and the way on.

use std::path::{Path, PathBuf};

use crate::plan::{Action, ActionKind, LimitCheck, Plan};
use crate::value::{ByteCount, RelPath};

/// A requirement or limit that does not hold. Nothing of the rule was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A root is not there.
    #[error("{side} `{}` is not there", .path.display())]
    Missing {
        /// `source` or `destination`.
        side: &'static str,
        /// The path, or its first part that is absent.
        path: PathBuf,
    },
    /// A volume is not mounted.
    #[error("{side}: no mounted volume is called `{name}`")]
    VolumeAbsent {
        /// `source` or `destination`.
        side: &'static str,
        /// Label or UUID.
        name: String,
    },
    /// A root cannot be used.
    #[error("{side} cannot be used: {cause}")]
    Unusable {
        /// `source` or `destination`.
        side: &'static str,
        /// Why, with the system's reason.
        cause: String,
    },
    /// Both roots are one directory.
    #[error("source `{}` and destination `{}` are the same directory", .source_path.display(), .destination.display())]
    Same {
        /// As written.
        source_path: PathBuf,
        /// As written.
        destination: PathBuf,
    },
    /// One root lies in the other.
    #[error("{inner} `{}` lies inside {outer} `{}`", .inner_path.display(), .outer_path.display())]
    Nested {
        /// The side that lies inside.
        inner: &'static str,
        /// Where it is.
        inner_path: PathBuf,
        /// The other side.
        outer: &'static str,
        /// Where it is.
        outer_path: PathBuf,
    },
    /// A directory above the destination is a destination itself.
    #[error("destination `{}` lies inside `{}`, which is the destination of {job}/{rule}", .path.display(), .above.display())]
    InsideDestination {
        /// The destination.
        path: PathBuf,
        /// The other one.
        above: PathBuf,
        /// Its job.
        job: String,
        /// Its rule.
        rule: String,
    },
    /// A copy would write into a destination that a rule keeps.
    #[error("destination `{}` is kept by {job}/{rule}{}: what is copied into it would not be that rule's", .path.display(), beneath(.path, .above))]
    KeptByRule {
        /// The destination.
        path: PathBuf,
        /// The directory that the rule keeps.
        above: PathBuf,
        /// Its job.
        job: String,
        /// Its rule.
        rule: String,
    },
    /// The destination is a place where a slip would be costly.
    #[error("destination `{}` is {what}", .path.display())]
    DelicatePlace {
        /// The destination.
        path: PathBuf,
        /// `a home directory`, …
        what: &'static str,
    },
    /// The destination lies where disks are mounted, and none is.
    #[error("destination `{}` lies below `{below}`, but no disk is mounted there: it would fill the system's own disk", .path.display())]
    NotMounted {
        /// The destination.
        path: PathBuf,
        /// `/mnt`, `/media`, …
        below: &'static str,
    },
    /// The destination says that it belongs to another rule, or to this one but was never seen.
    #[error("destination `{}` is not known here: it says that it belongs to {job}/{rule}", .path.display())]
    Unknown {
        /// The destination.
        path: PathBuf,
        /// Whose it says it is.
        job: String,
        /// Whose it says it is.
        rule: String,
    },
    /// The destination's id cannot be read.
    #[error("destination `{}` has an id that cannot be read: {reason}", .path.display())]
    DamagedIdentity {
        /// The destination.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// No run has ever written here.
    #[error("`{}` has no `.twinlane`: no run has written here (is the disk mounted?)", .path.display())]
    NoStore {
        /// The directory.
        path: PathBuf,
    },
    /// What runs keep there is another user's.
    #[error("`.twinlane` in `{}` may not be read by this user: another one made this destination", .path.display())]
    ClosedStore {
        /// The directory.
        path: PathBuf,
    },
    /// There is nothing to verify against.
    #[error("`{}` cannot be verified: {reason}", .path.display())]
    NoCatalog {
        /// The destination.
        path: PathBuf,
        /// That there is no catalog, or why it cannot be read.
        reason: String,
    },
    /// The rule has run before, and there is no trace of it.
    #[error("destination `{}` has lost its `.twinlane`: this rule has run before, but not into this directory (is the disk mounted?)", .path.display())]
    LostIdentity {
        /// The destination.
        path: PathBuf,
    },
    /// A first run would do more than add.
    #[error("destination `{}` is not empty, and this first run would {} of its entries", .path.display(), displacing(*.removals, *.replacements))]
    Adoption {
        /// The destination.
        path: PathBuf,
        /// How many entries would go.
        removals: u64,
        /// How many would be replaced.
        replacements: u64,
        /// The first of them.
        first: Vec<String>,
    },
    /// Nothing in the source is selected.
    #[error("source `{}` is empty{}", .path.display(), left_out(*.excluded))]
    SourceEmpty {
        /// The source.
        path: PathBuf,
        /// How many entries its filters left out.
        excluded: u64,
    },
    /// The source lies on another file system than before.
    #[error("source `{}` is on another file system than before: it was {was}, it is {is}", .path.display())]
    OtherSource {
        /// The source.
        path: PathBuf,
        /// UUID at the last run.
        was: String,
        /// UUID now, or that there is none.
        is: String,
    },
    /// The source was a mount point, and is not now.
    #[error("source `{}` was a mount point at the last run, and nothing is mounted there now", .path.display())]
    SourceUnmounted {
        /// The source.
        path: PathBuf,
    },
    /// `require.source.mounted` or `require.destination.mounted` does not hold.
    #[error("{side} `{}` is not mounted, and the job requires it", .path.display())]
    RequireMounted {
        /// `source` or `destination`.
        side: &'static str,
        /// The root.
        path: PathBuf,
    },
    /// The destination's file system is read-only.
    #[error("destination `{}` is on a read-only file system", .path.display())]
    ReadOnly {
        /// The destination.
        path: PathBuf,
    },
    /// A plan that was kept does not fit any more.
    #[error("the plan does not fit any more: {what}")]
    Outdated {
        /// What is not as it was when the plan was made.
        what: String,
        /// What of the job differs, one a value.
        differences: Vec<String>,
    },
    /// The plan exceeds its limits.
    #[error("{}", .limits.iter().map(Exceeded::sentence).collect::<Vec<_>>().join("; "))]
    Limits {
        /// Those that do not hold.
        limits: Vec<Exceeded>,
    },
}

/// One limit that a plan exceeds, and the first entries that count against it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// What was planned, and what is allowed.
    pub check: LimitCheck,
    /// The first entries, as they are shown.
    pub first: Vec<String>,
}

/// As many entries are shown as fit a glance.
const SHOWN_MAX: usize = 5;

impl Exceeded {
    fn sentence(&self) -> String {
        let LimitCheck { name, planned, allowed, base, written, .. } = &self.check;
        let allowed = allowed.unwrap_or_default();
        if *name == "min_free" {
            let (planned, allowed) = (ByteCount(*planned), ByteCount(allowed));
            return format!(
                "it needs {planned}, and {allowed} may be filled (limits.{name}: {written} stays free)"
            );
        }
        let verb = if allowed == 1 { "is" } else { "are" };
        let noun = if *base == 1 { "entry" } else { "entries" };
        let small = self.check.small_base_words();
        format!(
            "it would {name} {planned} of {base} {noun}; {allowed} {verb} allowed (limits.{name}: {written}{small})"
        )
    }
}

impl Refusal {
    /// What a plan exceeds, `None` where all its limits hold.
    pub(super) fn of_limits(plan: &Plan) -> Option<Self> {
        let limits: Vec<Exceeded> = plan
            .refusals()
            .map(|check| Exceeded { check: check.clone(), first: first_entries(plan, check.name) })
            .collect();
        (!limits.is_empty()).then_some(Self::Limits { limits })
    }

    /// A first run into a place that is not empty, where it would do more than add.
    pub(super) fn of_adoption(plan: &Plan, path: PathBuf) -> Option<Self> {
        let (removals, replacements) = (plan.totals.removed_entries, plan.totals.replaced_entries);
        let mut first = first_entries(plan, "remove");
        first.extend(first_entries(plan, "replace"));
        first.truncate(SHOWN_MAX);
        (removals + replacements > 0).then_some(Self::Adoption { path, removals, replacements, first })
    }

    /// The word for JSON.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "missing",
            Self::VolumeAbsent { .. } => "volume_absent",
            Self::Unusable { .. } => "unusable",
            Self::Same { .. } => "same",
            Self::Nested { .. } => "nested",
            Self::InsideDestination { .. } => "inside_destination",
            Self::KeptByRule { .. } => "kept_by_rule",
            Self::DelicatePlace { .. } => "delicate_place",
            Self::NotMounted { .. } => "not_mounted",
            Self::Unknown { .. } => "unknown_destination",
            Self::DamagedIdentity { .. } => "damaged_id",
            Self::NoStore { .. } => "no_store",
            Self::ClosedStore { .. } => "closed_store",
            Self::NoCatalog { .. } => "no_catalog",
            Self::LostIdentity { .. } => "lost_id",
            Self::Adoption { .. } => "adoption",
            Self::SourceEmpty { .. } => "source_empty",
            Self::OtherSource { .. } => "other_source",
            Self::SourceUnmounted { .. } => "source_unmounted",
            Self::RequireMounted { .. } => "require_mounted",
            Self::ReadOnly { .. } => "read_only",
            Self::Outdated { .. } => "outdated",
            Self::Limits { .. } => "limits",
        }
    }

    /// The flags that allow exactly this, where flags can.
    #[must_use]
    pub fn flags(&self) -> Vec<String> {
        match self {
            Self::DelicatePlace { .. }
            | Self::NotMounted { .. }
            | Self::Unknown { .. }
            | Self::DamagedIdentity { .. }
            | Self::NoStore { .. }
            | Self::NoCatalog { .. }
            | Self::LostIdentity { .. }
            | Self::Adoption { .. } => vec!["--accept destination".to_owned()],
            Self::OtherSource { .. } | Self::SourceUnmounted { .. } => vec!["--accept source".to_owned()],
            Self::Limits { limits } => limits.iter().map(|limit| limit_flag(&limit.check)).collect(),
            _ => Vec::new(),
        }
    }

    /// The way on where no flag helps.
    #[must_use]
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Missing { side: "destination", .. } => Some(
                "attach its disk, or make this folder (a rule's first run makes its destination's last folder, and later ones make none); `on_missing: skip` passes over a disk that comes and goes",
            ),
            Self::Missing { .. } => Some(
                "attach its disk, or correct the path in the job; `on_missing: skip` passes over a disk that comes and goes",
            ),
            Self::VolumeAbsent { .. } => Some(
                "attach it, or correct its name in the job (`lsblk -o LABEL,UUID` lists them); `on_missing: skip` passes over a disk that comes and goes",
            ),
            Self::Unusable { .. } => Some("correct the path, or the rights on it"),
            Self::Same { .. } | Self::Nested { .. } => {
                Some("choose a destination outside the source, and a source outside the destination")
            }
            Self::InsideDestination { .. } => Some("each rule needs a destination of its own, side by side"),
            Self::KeptByRule { .. } => Some(
                "copy to a folder outside it; to have the files in there, add them to that rule's source",
            ),
            Self::SourceEmpty { .. } => Some(
                "see whether its disk is mounted; where it may be empty, set `require: {source: {nonempty: false}}`",
            ),
            Self::RequireMounted { .. } => Some("mount it, or take the requirement out of the job"),
            Self::ReadOnly { .. } => Some("mount it writable"),
            Self::ClosedStore { .. } => Some(
                "run this as the user who made it or as root; the files themselves can be copied as ever",
            ),
            Self::Outdated { .. } => Some("make a new plan, and look at it"),
            _ => None,
        }
    }

    /// The first entries that it is about, as they are shown.
    #[must_use]
    pub fn examples(&self) -> Vec<&str> {
        match self {
            Self::Adoption { first, .. } => first.iter().map(String::as_str).collect(),
            Self::Outdated { differences, .. } => differences.iter().map(String::as_str).collect(),
            Self::Limits { limits } => {
                limits.iter().flat_map(|limit| limit.first.iter().map(String::as_str)).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Where the directory that a rule keeps is not the one that was named.
fn beneath(path: &Path, above: &Path) -> String {
    if path == above { String::new() } else { format!(", whose destination is `{}`", above.display()) }
}

/// `remove 1 and replace 2`, without what is none.
fn displacing(removals: u64, replacements: u64) -> String {
    match (removals, replacements) {
        (_, 0) => format!("remove {removals}"),
        (0, _) => format!("replace {replacements}"),
        _ => format!("remove {removals} and replace {replacements}"),
    }
}

/// An empty folder and one of which the filters leave nothing look alike from afar.
fn left_out(excluded: u64) -> String {
    match excluded {
        0 => ": it holds no file".to_owned(),
        1 => " for this rule: its filters leave out 1 entry, and no file is left".to_owned(),
        _ => format!(" for this rule: its filters leave out {excluded} entries, and no file is left"),
    }
}

/// `--limit remove=300`: exactly what this plan needs.
fn limit_flag(check: &LimitCheck) -> String {
    match check.name {
        "remove" | "replace" => format!("--limit {}={}", check.name, check.planned),
        name => format!("--limit {name}=none"),
    }
}

fn first_entries(plan: &Plan, limit: &str) -> Vec<String> {
    let counts = |kind: ActionKind| match limit {
        "remove" => kind == ActionKind::Remove,
        "replace" => kind == ActionKind::Replace,
        _ => false,
    };
    let goes = |action: &&Action| {
        counts(action.kind)
            || (limit == "replace" && action.kind == ActionKind::Move && plan.destination(action).is_some())
    };
    let mut paths: Vec<RelPath> = plan.actions.iter().filter(goes).map(|action| plan.path(action)).collect();
    // Removals are planned children first; people read from the top.
    paths.sort();
    paths.truncate(SHOWN_MAX);
    paths.iter().map(|path| format!("{limit} {path}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &'static str, written: &str) -> LimitCheck {
        LimitCheck {
            name,
            planned: 300,
            allowed: Some(250),
            base: 1000,
            written: written.to_owned(),
            holds: false,
        }
    }

    #[test]
    fn limits_say_numbers_of_what_and_the_flag_that_allows_exactly_this() {
        let first = vec!["remove a".to_owned()];
        let refusal = Refusal::Limits { limits: vec![Exceeded { check: check("remove", "25%"), first }] };
        assert_eq!(
            refusal.to_string(),
            "it would remove 300 of 1000 entries; 250 are allowed (limits.remove: 25%)"
        );
        assert_eq!(refusal.flags(), ["--limit remove=300"]);
        assert_eq!(refusal.examples(), ["remove a"]);
        let room =
            Refusal::Limits { limits: vec![Exceeded { check: check("min_free", "1%"), first: Vec::new() }] };
        assert_eq!(
            room.to_string(),
            "it needs 300 B, and 250 B may be filled (limits.min_free: 1% stays free)"
        );
        assert_eq!(room.flags(), ["--limit min_free=none"]);
    }

    #[test]
    fn few_entries_have_an_allowance_of_their_own() {
        let few = LimitCheck { planned: 6, allowed: Some(5), base: 9, ..check("remove", "25%") };
        let refusal = Refusal::Limits { limits: vec![Exceeded { check: few, first: Vec::new() }] };
        assert_eq!(
            refusal.to_string(),
            "it would remove 6 of 9 entries; 5 are allowed (limits.remove: 25%, but 5 of fewer than 20)"
        );
    }

    #[test]
    fn what_is_none_is_not_said() {
        let adoption = |removals, replacements| {
            let path = PathBuf::from("/t");
            Refusal::Adoption { path, removals, replacements, first: Vec::new() }.to_string()
        };
        assert!(adoption(1, 0).ends_with("would remove 1 of its entries"));
        assert!(adoption(1, 2).ends_with("would remove 1 and replace 2 of its entries"));
        let empty = |excluded| Refusal::SourceEmpty { path: PathBuf::from("/s"), excluded }.to_string();
        assert_eq!(empty(0), "source `/s` is empty: it holds no file");
        assert!(empty(3).contains("its filters leave out 3 entries"));
    }

    #[test]
    fn each_refusal_has_a_way_on() {
        let path = || PathBuf::from("/a");
        let text = || "x".to_owned();
        let all = [
            Refusal::Missing { side: "source", path: path() },
            Refusal::VolumeAbsent { side: "source", name: text() },
            Refusal::Unusable { side: "source", cause: text() },
            Refusal::Same { source_path: path(), destination: path() },
            Refusal::Nested { inner: "source", inner_path: path(), outer: "destination", outer_path: path() },
            Refusal::InsideDestination { path: path(), above: path(), job: text(), rule: text() },
            Refusal::KeptByRule { path: path(), above: path(), job: text(), rule: text() },
            Refusal::DelicatePlace { path: path(), what: "a home directory" },
            Refusal::NotMounted { path: path(), below: "/mnt" },
            Refusal::Unknown { path: path(), job: text(), rule: text() },
            Refusal::DamagedIdentity { path: path(), reason: text() },
            Refusal::NoStore { path: path() },
            Refusal::ClosedStore { path: path() },
            Refusal::NoCatalog { path: path(), reason: text() },
            Refusal::LostIdentity { path: path() },
            Refusal::Adoption { path: path(), removals: 1, replacements: 0, first: Vec::new() },
            Refusal::SourceEmpty { path: path(), excluded: 0 },
            Refusal::OtherSource { path: path(), was: text(), is: text() },
            Refusal::SourceUnmounted { path: path() },
            Refusal::RequireMounted { side: "source", path: path() },
            Refusal::ReadOnly { path: path() },
            Refusal::Outdated { what: text(), differences: Vec::new() },
            Refusal::Limits { limits: vec![Exceeded { check: check("replace", "50"), first: Vec::new() }] },
        ];
        for refusal in all {
            assert!(!refusal.to_string().is_empty() && !refusal.word().is_empty());
            assert!(!refusal.flags().is_empty() || refusal.advice().is_some(), "{refusal}");
        }
    }
}
