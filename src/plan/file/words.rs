//! The words of a plan file for what has a fixed number of forms. One table each, read in both directions; a new kind of action or a new reason
//! is one line more.

use crate::compare::{Conflict, Counts, Difference, Extent, MetaDifference, PowerCut, Side, Unheld};
use crate::job::Mode;
use crate::plan::{ActionKind, Reason};
use crate::value::Kind;

/// Which sides an action of a kind was planned from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sides {
    /// The source alone: the destination had nothing under that name.
    Source,
    /// Both.
    Both,
    /// The destination alone.
    Destination,
    /// The source, and the destination where it had something under that name.
    SourceAtLeast,
}

/// Kinds of actions, each with the sides that it has; the word is [`ActionKind::word`].
pub(super) const ACTIONS: [(ActionKind, Sides); 9] = [
    (ActionKind::Mkdir, Sides::Source),
    (ActionKind::Copy, Sides::Source),
    (ActionKind::Replace, Sides::Both),
    (ActionKind::Link, Sides::Source),
    (ActionKind::Move, Sides::SourceAtLeast),
    (ActionKind::Symlink, Sides::Source),
    (ActionKind::Special, Sides::Source),
    (ActionKind::Metadata, Sides::Both),
    (ActionKind::Remove, Sides::Destination),
];

/// Reasons but [`Reason::Metadata`], which has a set of [`PARTS`] beside its word.
pub(super) const REASONS: [(Reason, &str); 20] = [
    (Reason::New, "new"),
    (Reason::Newer(Difference::Size), "newer_size"),
    (Reason::Newer(Difference::Time), "newer_time"),
    (Reason::Newer(Difference::Content), "newer_content"),
    (Reason::Newer(Difference::Target), "newer_target"),
    (Reason::Newer(Difference::Device), "newer_device"),
    (Reason::Older(Difference::Size), "older_size"),
    (Reason::Older(Difference::Time), "older_time"),
    (Reason::Older(Difference::Content), "older_content"),
    (Reason::Older(Difference::Target), "older_target"),
    (Reason::Older(Difference::Device), "older_device"),
    (Reason::Kind, "kind"),
    (Reason::Extra, "extra"),
    (Reason::HardLink, "hard_link"),
    (Reason::LinkBroken, "link_broken"),
    (Reason::Needed, "needed"),
    (Reason::Metadata(MetaDifference(0)), METADATA),
    (Reason::Excluded, "excluded"),
    (Reason::Moved, "moved"),
    (Reason::Emptied, "emptied"),
];

/// The word of [`Reason::Metadata`].
pub(super) const METADATA: &str = "metadata";

pub(super) const PARTS: [(MetaDifference, &str); 5] = [
    (MetaDifference::PERMISSIONS, "permissions"),
    (MetaDifference::OWNER, "owner"),
    (MetaDifference::TIMES, "times"),
    (MetaDifference::XATTRS, "xattrs"),
    (MetaDifference::ACLS, "acls"),
];

/// Both kinds of device node are told apart here, which [`Kind::word`] does not.
pub(super) const KINDS: [(Kind, &str); 7] = [
    (Kind::File, "file"),
    (Kind::Directory, "directory"),
    (Kind::Symlink, "symlink"),
    (Kind::Fifo, "fifo"),
    (Kind::Socket, "socket"),
    (Kind::CharDevice, "char_device"),
    (Kind::BlockDevice, "block_device"),
];

/// Conflicts; the word is [`Conflict::word`].
pub(super) const CONFLICTS: [Conflict; 7] = [
    Conflict::KeptBelow,
    Conflict::MountPoint,
    Conflict::Foreign,
    Conflict::Unread,
    Conflict::Kind,
    Conflict::Unholdable,
    Conflict::Collision,
];

pub(super) const MODES: [(Mode, &str); 2] = [(Mode::Mirror, "mirror"), (Mode::Backup, "backup")];

pub(super) const SIDES: [(Side, &str); 2] = [(Side::Source, "source"), (Side::Destination, "destination")];

pub(super) const EXTENTS: [(Extent, &str); 2] = [(Extent::Entry, "entry"), (Extent::Subtree, "subtree")];

pub(super) const UNHELD: [(Unheld, &str); 3] =
    [(Unheld::Symlinks, "symlinks"), (Unheld::Devices, "devices"), (Unheld::HardLinks, "hard_links")];

pub(super) const POWER_CUTS: [(PowerCut, &str); 2] =
    [(PowerCut::Waived, "durability_none"), (PowerCut::NoJournal, "no_journal")];

/// The names of limits.
pub(super) const LIMITS: [&str; 3] = ["remove", "replace", "min_free"];

/// A number of [`Counts`].
pub(super) type Count = fn(&mut Counts) -> &mut u64;

pub(super) const COUNTS: [(&str, Count); 8] = [
    ("source_entries", |counts| &mut counts.source_entries),
    ("source_files", |counts| &mut counts.source_files),
    ("source_bytes", |counts| &mut counts.source_bytes),
    ("destination_entries", |counts| &mut counts.destination_entries),
    ("same", |counts| &mut counts.same),
    ("source_excluded", |counts| &mut counts.source_excluded),
    ("destination_kept", |counts| &mut counts.destination_kept),
    ("vanished", |counts| &mut counts.vanished),
];

/// The word of a value; every value is in its table.
pub(super) fn word_of<T: PartialEq>(table: &[(T, &'static str)], value: &T) -> &'static str {
    table.iter().find(|(known, _)| known == value).map_or("", |(_, word)| word)
}

/// The value of a word.
pub(super) fn value_of<T: Copy>(table: &[(T, &'static str)], word: &str) -> Option<T> {
    table.iter().find(|(_, known)| *known == word).map(|(value, _)| *value)
}

/// The words of all kinds of action, for the schema's test.
#[cfg(test)]
pub fn action_words() -> Vec<&'static str> {
    ACTIONS.iter().map(|(kind, _)| kind.word()).collect()
}

/// The words of all reasons, for the schema's test.
#[cfg(test)]
pub fn reason_words() -> Vec<&'static str> {
    REASONS.iter().map(|(_, word)| *word).collect()
}
