//! `.twinlane/id`: what a destination says it is, written by the first run and read by every later one.

use std::io;

use serde::{Deserialize, Serialize};

use super::home::{Unreadable, read_record};
use super::{Store, StoreError, failed, optional};
use crate::job::Mode;
use crate::value::{Case, Place, RelPath, RunId, Stamp, from_fields, to_fields};

const ID: &[u8] = b"id";
const ID_NEW: &[u8] = b"id.new";
/// The format written; a newer one is not read.
const FORMAT: u32 = 1;
/// Hex digits of an id.
const ID_DIGITS: usize = 32;

/// What a destination says it is (`.twinlane/id`, JSON).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Random, 32 hex digits.
    pub id: String,
    /// The job's name.
    pub job: String,
    /// The rule's name.
    pub rule: String,
    /// The rule's mode.
    pub mode: Mode,
    /// UUID of the source's file system, where it tells one.
    pub source_uuid: Option<String>,
    /// Mount points seen below the source; the root itself where it is one.
    pub source_mounts: Vec<RelPath>,
    /// Grain of times in nanoseconds, as read back from the run's own stage files.
    pub grain_ns: Option<u64>,
    /// Earliest and latest time, as read back.
    pub time_range: Option<(Stamp, Stamp)>,
    /// What else the first run found out about the place.
    pub features: Option<Features>,
}

/// What a place was found to hold, by trying; see [`super::probe()`].
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact about the file system")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Features {
    /// The file system's type: on another one, nothing of this holds.
    pub file_system: String,
    /// Names that differ by case alone are one name.
    pub ignores_case: bool,
    /// Mode bits, and as root owners.
    pub owners: bool,
    /// User extended attributes.
    pub xattrs: bool,
    /// Hard links.
    pub hard_links: bool,
    /// Symbolic links.
    pub symlinks: bool,
    /// `RENAME_EXCHANGE`.
    pub exchange: bool,
}

/// What `.twinlane/id` holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    /// No id.
    None,
    /// A readable one.
    Identity(Identity),
    /// One that cannot be read, or of a newer format: counts as unknown.
    Damaged {
        /// Why.
        reason: String,
    },
}

impl Known {
    /// The id, where it can be read.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Identity(identity) => Some(&identity.id),
            Self::None | Self::Damaged { .. } => None,
        }
    }
}

impl Identity {
    /// Replaces what is assumed of the destination's place by what the first run found out there; leaves it as it is where nothing was
    /// found out, or where the tree lies on another type of file system by now.
    pub fn mend(&self, place: &mut Place) {
        let Some(features) = &self.features else { return };
        if features.file_system != place.file_system {
            return;
        }
        place.grain_ns = self.grain_ns.unwrap_or(place.grain_ns);
        place.time_range = self.time_range.unwrap_or(place.time_range);
        features.mend(place);
    }
}

impl Features {
    /// Replaces what is assumed of a place by what was found out there.
    pub(super) fn mend(&self, place: &mut Place) {
        place.case = if self.ignores_case { Case::Insensitive } else { Case::Sensitive };
        place.owners = self.owners;
        place.xattrs = self.xattrs;
        place.hard_links = self.hard_links;
        place.symlinks = self.symlinks;
        place.exchange = self.exchange;
    }
}

/// Seconds and nanoseconds.
pub(super) type Time = (i64, u32);

pub(super) fn time_of(stamp: Stamp) -> Time {
    (stamp.seconds, stamp.nanos)
}

pub(super) fn stamp_of((seconds, nanos): Time) -> Stamp {
    Stamp { seconds, nanos: nanos.min(999_999_999) }
}

/// Only the version, of whatever format.
#[derive(Deserialize)]
struct Versioned {
    format: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ModeWord {
    Mirror,
    Backup,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PathRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path_b64: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct IdRecord {
    format: u32,
    id: String,
    job: String,
    rule: String,
    mode: ModeWord,
    source_uuid: Option<String>,
    source_mounts: Vec<PathRecord>,
    grain_ns: Option<u64>,
    time_range: Option<(Time, Time)>,
    features: Option<Features>,
}

fn write(identity: &Identity) -> serde_json::Result<Vec<u8>> {
    let record = IdRecord {
        format: FORMAT,
        id: identity.id.clone(),
        job: identity.job.clone(),
        rule: identity.rule.clone(),
        mode: match identity.mode {
            Mode::Mirror => ModeWord::Mirror,
            Mode::Backup => ModeWord::Backup,
        },
        source_uuid: identity.source_uuid.clone(),
        source_mounts: identity
            .source_mounts
            .iter()
            .map(|mount| {
                let (path, path_b64) = to_fields(mount.as_bytes());
                PathRecord { path, path_b64 }
            })
            .collect(),
        grain_ns: identity.grain_ns,
        time_range: identity.time_range.map(|(earliest, latest)| (time_of(earliest), time_of(latest))),
        features: identity.features.clone(),
    };
    let mut text = serde_json::to_vec_pretty(&record)?;
    text.push(b'\n');
    Ok(text)
}

/// Reads what [`write`] wrote; the error says in words what is wrong.
fn read(bytes: &[u8]) -> Result<Identity, String> {
    let Versioned { format } = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if format > FORMAT {
        return Err(format!("it was written by a newer Twinlane (format {format}, this one reads {FORMAT})"));
    }
    let record: IdRecord = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if record.id.len() != ID_DIGITS || !record.id.bytes().all(hex) {
        return Err(format!("its id is not {ID_DIGITS} hex digits"));
    }
    let mount = |mount: &PathRecord| {
        let bytes = from_fields(mount.path.as_deref(), mount.path_b64.as_deref())?;
        RelPath::parse(&bytes).ok()
    };
    let mounts: Option<Vec<RelPath>> = record.source_mounts.iter().map(mount).collect();
    Ok(Identity {
        id: record.id,
        job: record.job,
        rule: record.rule,
        mode: match record.mode {
            ModeWord::Mirror => Mode::Mirror,
            ModeWord::Backup => Mode::Backup,
        },
        source_uuid: record.source_uuid,
        source_mounts: mounts.ok_or("a mount point in it is not a path below a root")?,
        grain_ns: record.grain_ns,
        time_range: record.time_range.map(|(earliest, latest)| (stamp_of(earliest), stamp_of(latest))),
        features: record.features,
    })
}

impl Store {
    /// What `id` says. A symlink or anything else but a file in its place is never followed, and counts as damaged.
    ///
    /// # Errors
    /// Only where it is there and cannot be read at all (EIO).
    pub fn known(&self) -> Result<Known, StoreError> {
        let damaged = |reason: String| Ok(Known::Damaged { reason });
        match read_record(&self.home, ID) {
            Ok(None) => Ok(Known::None),
            Ok(Some(bytes)) => match read(&bytes) {
                Ok(identity) => Ok(Known::Identity(identity)),
                Err(reason) => damaged(reason),
            },
            Err(Unreadable::Planted(reason)) => damaged(reason.to_owned()),
            Err(Unreadable::System(error)) => Err(failed("read", ID)(error)),
        }
    }

    /// Writes `id` durably: stage, sync, rename, sync. A damaged one is set aside as `id.damaged-<run>`. For the holder of the lock.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn write_identity(&self, identity: &Identity, run: RunId) -> Result<(), StoreError> {
        let text = write(identity).map_err(|error| failed("write", ID)(io::Error::other(error)))?;
        if let Known::Damaged { .. } = self.known()? {
            self.set_aside(ID, run)?;
        }
        optional(self.home.remove_file(ID_NEW)).map_err(failed("remove", ID_NEW))?;
        let file = self.home.create_file(ID_NEW).map_err(failed("create", ID_NEW))?;
        file.write_at(&text, 0).and_then(|()| file.sync()).map_err(failed("write", ID_NEW))?;
        self.home
            .rename(ID_NEW, &self.home, ID, crate::platform::RenameMode::Replace)
            .map_err(failed("write", ID))?;
        self.home.sync().map_err(failed("sync", ID))
    }

    /// Renames one of Twinlane's own files to `NAME.damaged-<run>`, whatever it is; says the new name.
    pub(super) fn set_aside(&self, name: &[u8], run: RunId) -> Result<Vec<u8>, StoreError> {
        let mut aside = name.to_vec();
        aside.extend_from_slice(format!(".damaged-{run}").as_bytes());
        self.home
            .rename(name, &self.home, &aside, crate::platform::RenameMode::Replace)
            .map_err(failed("set aside", name))?;
        Ok(aside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first format, frozen: what it says must be read for ever.
    const FORMAT_1: &str = r#"{
  "format": 1,
  "id": "00112233445566778899aabbccddeeff",
  "job": "workstation",
  "rule": "photos",
  "mode": "mirror",
  "source_uuid": "a1b2",
  "source_mounts": [{"path": ""}, {"path": "a/b"}, {"path_b64": "//4="}],
  "grain_ns": 2000000000,
  "time_range": [[315532800, 0], [4354819199, 999999999]],
  "features": {"file_system": "vfat", "ignores_case": true, "owners": false, "xattrs": false,
    "hard_links": false, "symlinks": false, "exchange": false}
}"#;

    fn identity() -> Identity {
        Identity {
            id: "00112233445566778899aabbccddeeff".to_owned(),
            job: "workstation".to_owned(),
            rule: "photos".to_owned(),
            mode: Mode::Mirror,
            source_uuid: Some("a1b2".to_owned()),
            source_mounts: vec![
                RelPath::root(),
                RelPath::parse(b"a/b").unwrap(),
                RelPath::parse(b"\xff\xfe").unwrap(),
            ],
            grain_ns: Some(2_000_000_000),
            time_range: Some((
                Stamp::from_seconds(315_532_800),
                Stamp { seconds: 4_354_819_199, nanos: 999_999_999 },
            )),
            features: Some(Features {
                file_system: "vfat".to_owned(),
                ignores_case: true,
                owners: false,
                xattrs: false,
                hard_links: false,
                symlinks: false,
                exchange: false,
            }),
        }
    }

    #[test]
    fn the_first_format_is_read_and_goes_both_ways() {
        assert_eq!(read(FORMAT_1.as_bytes()).unwrap(), identity());
        assert_eq!(read(&write(&identity()).unwrap()).unwrap(), identity());
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for (from, to, word) in [
            ("\"format\": 1", "\"format\": 2, \"more\": true", "newer"),
            ("\"job\"", "\"jab\": 1, \"job\"", "unknown field"),
            ("\"job\"", "\"job\": \"a\", \"job\"", "duplicate field"),
            ("0011", "XX11", "hex digits"),
            ("a/b", "../b", "mount point"),
            ("//4=", "//4", "mount point"),
            ("\"mirror\"", "\"incremental\"", "unknown variant"),
            ("{\n", "", "trailing characters"),
        ] {
            let error = read(FORMAT_1.replacen(from, to, 1).as_bytes()).unwrap_err();
            assert!(error.contains(word) || word == "trailing characters", "{to}: {error}");
        }
        assert!(read(b"").is_err());
        assert!(read(b"\xff").is_err());
    }
}
