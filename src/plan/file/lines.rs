//! The lines of a plan file as they are written and read; what they mean is said by `write` and `read`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::value::{Kind, Meta, RelPath, Stamp, escape, from_fields, to_fields};

use super::words::{KINDS, value_of, word_of};

/// The first line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HeaderLine {
    pub(super) twinlane_plan: u32,
    pub(super) twinlane: String,
    pub(super) made: String,
    pub(super) host: String,
    pub(super) limits: Vec<String>,
    pub(super) accepted: Vec<String>,
}

/// Every other line: an object with one key, which says what the line is about.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    Rule(Box<RuleLine>),
    SourceMount(PathLine),
    StaleStage(PathLine),
    Notice(NoticeLine),
    Problem(ProblemLine),
    Conflict(ConflictLine),
    Directory(DirectoryLine),
    Action(Box<ActionLine>),
    End(EndLine),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleLine {
    pub(super) job: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) file_b64: Option<String>,
    pub(super) rule: String,
    pub(super) mode: String,
    pub(super) resolved: BTreeMap<String, String>,
    pub(super) source: Option<SightLine>,
    pub(super) destination: Option<SightLine>,
    pub(super) destination_id: Option<String>,
    pub(super) objection: Option<String>,
    pub(super) plan: Option<SumsLine>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SightLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) path_b64: Option<String>,
    pub(super) uuid: Option<String>,
}

/// What a plan comes to.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SumsLine {
    pub(super) totals: Value,
    pub(super) counts: Map<String, Value>,
    pub(super) limits: Vec<LimitLine>,
    /// How many lines of this rule follow.
    pub(super) lines: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitLine {
    pub(super) limit: String,
    pub(super) written: String,
    pub(super) planned: u64,
    pub(super) allowed: Option<u64>,
    pub(super) base: u64,
    pub(super) holds: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PathLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) path_b64: Option<String>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoticeLine {
    pub(super) notice: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) path_b64: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) entered: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) what: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) count: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProblemLine {
    pub(super) side: String,
    pub(super) extent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) path_b64: Option<String>,
    pub(super) message: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConflictLine {
    pub(super) conflict: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) path_b64: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DirectoryLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) path_b64: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<MetaLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) destination: Option<MetaLine>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ActionLine {
    pub(super) action: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) path_b64: Option<String>,
    pub(super) reason: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) parts: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) to: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) to_b64: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<MetaLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) destination: Option<MetaLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) origin: Option<MetaLine>,
}

/// The last line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EndLine {
    pub(super) rules: u64,
    /// Lines before this one.
    pub(super) lines: u64,
    pub(super) blake3: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MetaLine {
    kind: String,
    mode: u16,
    uid: u32,
    gid: u32,
    links: u32,
    size: u64,
    allocated: u64,
    modified: (i64, u32),
    changed: (i64, u32),
    device: u64,
    inode: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    special: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mount_root: Option<bool>,
}

impl From<&Meta> for MetaLine {
    fn from(meta: &Meta) -> Self {
        Self {
            kind: word_of(&KINDS, &meta.kind).to_owned(),
            mode: meta.mode,
            uid: meta.uid,
            gid: meta.gid,
            links: meta.links,
            size: meta.size,
            allocated: meta.allocated,
            modified: (meta.modified.seconds, meta.modified.nanos),
            changed: (meta.changed.seconds, meta.changed.nanos),
            device: meta.device,
            inode: meta.inode,
            special: (meta.special != 0).then_some(meta.special),
            mount_root: meta.mount_root.then_some(true),
        }
    }
}

impl MetaLine {
    /// The metadata that the line says; `None` where a value is out of its range.
    pub(super) fn meta(&self) -> Option<Meta> {
        let kind: Kind = value_of(&KINDS, &self.kind)?;
        let mode = (self.mode <= crate::value::PERMISSION_BITS).then_some(self.mode)?;
        Some(Meta {
            kind,
            mode,
            mount_root: self.mount_root.unwrap_or_default(),
            links: self.links,
            uid: self.uid,
            gid: self.gid,
            size: self.size,
            allocated: self.allocated,
            modified: stamp(self.modified)?,
            changed: stamp(self.changed)?,
            device: self.device,
            inode: self.inode,
            special: self.special.unwrap_or_default(),
        })
    }
}

fn stamp((seconds, nanos): (i64, u32)) -> Option<Stamp> {
    (nanos < 1_000_000_000).then_some(Stamp { seconds, nanos })
}

/// Whether a text can be shown as it stands: no letter of it drives a terminal or reorders what is read.
pub(super) fn is_plain(text: &str) -> bool {
    // A backslash is escaped too, and is harmless.
    let pieces = text.split('\\');
    pieces.into_iter().all(|piece| escape(piece.as_bytes()) == piece)
}

/// A text that can be shown as it stands.
pub(super) fn plain(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { escape(text.as_bytes()) }
}

/// A path below a root as two fields; the root itself is `.`, which no entry can be called.
pub(super) fn path_fields(path: &RelPath) -> (Option<String>, Option<String>) {
    if path.is_root() { (Some(".".to_owned()), None) } else { to_fields(path.as_bytes()) }
}

/// The path of both fields; `None` where they hold none that lies below a root.
pub(super) fn path_of(text: Option<&str>, base64: Option<&str>) -> Option<RelPath> {
    if (text, base64) == (Some("."), None) {
        return Some(RelPath::root());
    }
    let bytes = from_fields(text, base64).filter(|bytes| !bytes.is_empty())?;
    RelPath::parse(&bytes).ok()
}
