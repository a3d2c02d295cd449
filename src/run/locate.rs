//! From a location in a job to an absolute path: a volume is found by its label or UUID, wherever it is mounted.

use std::io;
use std::path::PathBuf;

use crate::job::{Location, Rule};
use crate::platform::{Volume, volumes};

/// Why a location leads nowhere.
#[derive(Debug, thiserror::Error)]
pub enum LocateError {
    /// No mounted file system has that label or UUID.
    #[error("no mounted volume is called `{name}`")]
    Absent {
        /// Label or UUID, as the job says.
        name: String,
    },
    /// Several do.
    #[error("{} mounted volumes are called `{name}`: {}", .mount_points.len(), shown(.mount_points))]
    Ambiguous {
        /// Label or UUID, as the job says.
        name: String,
        /// Where they are mounted.
        mount_points: Vec<PathBuf>,
    },
    /// The mounted file systems cannot be told.
    #[error("cannot list the mounted volumes")]
    System {
        /// The system's reason.
        #[source]
        source: io::Error,
    },
}

fn shown(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| format!("`{}`", path.display())).collect::<Vec<_>>().join(", ")
}

/// The absolute path that a location stands for now.
pub(super) fn locate(location: &Location) -> Result<PathBuf, LocateError> {
    match location {
        Location::Path(path) => Ok(path.clone()),
        Location::Volume { name, path } => {
            let volumes = volumes().map_err(|source| LocateError::System { source })?;
            find(&volumes, name).map(|volume| volume.mount_point.join(path))
        }
    }
}

/// Finds out, before any rule is begun, whether a volume that the rules name is there twice.
///
/// # Errors
/// [`LocateError::Ambiguous`], [`LocateError::System`]; an absent volume is the rule's own matter.
pub fn check_volumes<'a>(rules: impl Iterator<Item = &'a Rule>) -> Result<(), LocateError> {
    let names: Vec<&str> = rules
        .filter(|rule| rule.enabled)
        .flat_map(|rule| [&rule.source, &rule.destination])
        .filter_map(|location| match location {
            Location::Volume { name, .. } => Some(name.as_str()),
            Location::Path(_) => None,
        })
        .collect();
    if names.is_empty() {
        return Ok(());
    }
    let volumes = volumes().map_err(|source| LocateError::System { source })?;
    for name in names {
        if let Err(error @ LocateError::Ambiguous { .. }) = find(&volumes, name) {
            return Err(error);
        }
    }
    Ok(())
}

fn find<'a>(volumes: &'a [Volume], name: &str) -> Result<&'a Volume, LocateError> {
    let is_called = |volume: &&Volume| {
        volume.label.as_deref() == Some(name)
            || volume.uuid.as_deref().is_some_and(|uuid| uuid.eq_ignore_ascii_case(name))
    };
    let found: Vec<&Volume> = volumes.iter().filter(is_called).collect();
    match found.as_slice() {
        [] => Err(LocateError::Absent { name: name.to_owned() }),
        [one] => Ok(one),
        several => Err(LocateError::Ambiguous {
            name: name.to_owned(),
            mount_points: several.iter().map(|volume| volume.mount_point.clone()).collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume(label: &str, uuid: &str, at: &str) -> Volume {
        Volume {
            label: Some(label.to_owned()),
            uuid: Some(uuid.to_owned()),
            mount_point: PathBuf::from(at),
            device: 1,
        }
    }

    #[test]
    fn found_by_label_or_uuid_and_two_of_one_label_are_both_listed() {
        let volumes = [
            volume("Backup A", "ab-1", "/mnt/a"),
            volume("Backup B", "ab-2", "/mnt/b"),
            volume("Backup B", "ab-3", "/mnt/c"),
        ];
        assert_eq!(find(&volumes, "Backup A").unwrap().mount_point, PathBuf::from("/mnt/a"));
        assert_eq!(find(&volumes, "AB-3").unwrap().mount_point, PathBuf::from("/mnt/c"));
        assert_eq!(
            find(&volumes, "Backup B").unwrap_err().to_string(),
            "2 mounted volumes are called `Backup B`: `/mnt/b`, `/mnt/c`"
        );
        assert_eq!(
            find(&volumes, "backup a").unwrap_err().to_string(),
            "no mounted volume is called `backup a`"
        );
    }
}
