//! Names that are Twinlane's own or the system's: never compared, copied or removed.

use crate::value::{RunId, StageName};

/// Twinlane's own folder in a destination.
pub const OWN_FOLDER: &[u8] = b".twinlane";

/// What systems keep at the root of a volume (DESIGN §6).
const AT_ROOT: [&[u8]; 7] = [
    OWN_FOLDER,
    b"System Volume Information",
    b"$RECYCLE.BIN",
    b"lost+found",
    b".Trashes",
    b".Spotlight-V100",
    b".fseventsd",
];

/// Wastebaskets of Linux desktops on removable disks, `.Trash-1000`.
const TRASH_PREFIX: &[u8] = b".Trash-";

/// Whether a name at the root of either side is invisible.
#[must_use]
pub fn is_reserved_at_root(name: &[u8]) -> bool {
    AT_ROOT.contains(&name) || name.starts_with(TRASH_PREFIX)
}

/// Whether a name in a directory called `directory` below the root is bound to a running Twinlane: the `lock` file and the unfinished
/// work of a `.twinlane`.
fn is_running_state(directory: &[u8], name: &[u8]) -> bool {
    directory == OWN_FOLDER && (name == b"lock" || name == b"partial")
}

/// Nearly every name is told apart by its first bytes.
fn stage_name(name: &[u8]) -> Option<StageName> {
    if name.starts_with(b".twinlane-") { StageName::parse(name) } else { None }
}

/// Whether a source's name below a directory called `directory` (empty for the root) is not part of what is copied.
#[must_use]
pub fn is_hidden_in_source(directory: &[u8], name: &[u8]) -> bool {
    is_running_state(directory, name) || stage_name(name).is_some()
}

/// What a name of a destination is, before anything is known of its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DestinationName {
    /// A name like any other.
    Ordinary,
    /// Nobody's business: it stays.
    Kept,
    /// The stage of a run that never ended.
    StaleStage,
}

/// Tells a destination's name below a directory called `directory` (empty for the root).
#[must_use]
pub fn destination_name(directory: &[u8], name: &[u8], unfinished_runs: &[RunId]) -> DestinationName {
    match stage_name(name) {
        Some(stage) if unfinished_runs.contains(&stage.run) => DestinationName::StaleStage,
        Some(_) => DestinationName::Kept,
        None if is_running_state(directory, name) => DestinationName::Kept,
        None => DestinationName::Ordinary,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_names_are_whole_names() {
        for name in ["lost+found", ".twinlane", ".Trash-1000", "$RECYCLE.BIN", ".fseventsd"] {
            assert!(is_reserved_at_root(name.as_bytes()), "{name}");
        }
        for name in ["lost+found2", ".twinlanes", ".Trash", "Lost+Found", ""] {
            assert!(!is_reserved_at_root(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn bc_43_stage_names_of_unfinished_runs_are_stale_and_look_alikes_stay() {
        let run: RunId = "2026-11-24T013000.123Z".parse().unwrap();
        let stage = b".twinlane-2026-11-24T013000.123Z-7";
        assert_eq!(destination_name(b"", stage, &[run]), DestinationName::StaleStage);
        assert_eq!(destination_name(b"", stage, &[]), DestinationName::Kept);
        assert_eq!(destination_name(b"", b".twinlane-notes-7", &[run]), DestinationName::Ordinary);
        assert!(is_hidden_in_source(b"", stage) && !is_hidden_in_source(b"", b".twinlane-notes-7"));
    }

    #[test]
    fn below_the_root_only_lock_and_partial_of_a_twinlane_folder_are_aside() {
        assert!(is_hidden_in_source(b".twinlane", b"lock") && is_hidden_in_source(b".twinlane", b"partial"));
        assert!(!is_hidden_in_source(b".twinlane", b"id") && !is_hidden_in_source(b"x", b"lock"));
        assert_eq!(destination_name(b".twinlane", b"partial", &[]), DestinationName::Kept);
        assert_eq!(destination_name(b".twinlane", b"versions", &[]), DestinationName::Ordinary);
    }
}
