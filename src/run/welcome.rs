//! Whether a destination may be written at all: is it the one it was, and if it is new, is it where one would want it.

use std::path::{Path, PathBuf};

use crate::job::{Job, Rule};
use crate::record::KnownRule;
use crate::store::{Identity, Known};
use crate::value::Case;

use super::roots::{Making, Target};
use super::{Accept, Refusal, Session};

/// What a destination is to its rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Its own, seen before or adopted by what its id says.
    Own(Box<Identity>),
    /// To be adopted by this run: adding is welcome, the rest needs a word of the user.
    First,
    /// To be adopted as it is: the user accepts it.
    Accepted,
}

/// Whether an absent root may be made.
pub(super) fn making(session: &Session<'_>, rule: &KnownRule) -> Making {
    if rule.destination_ids.is_empty() || session.accepts(Accept::Destination) {
        Making::Allowed
    } else {
        Making::Forbidden
    }
}

/// What the destination is to the rule.
pub(super) fn standing(
    session: &Session<'_>,
    job: &Job,
    rule: &Rule,
    target: &Target,
    known: Known,
    before: &KnownRule,
) -> Result<Standing, Refusal> {
    let ids = &before.destination_ids;
    let path = || target.shown();
    match known {
        Known::Identity(identity)
            if identity.job == job.name
                && identity.rule == rule.name
                && (ids.is_empty() || ids.contains(&identity.id)) =>
        {
            Ok(Standing::Own(Box::new(identity)))
        }
        _ if session.accepts(Accept::Destination) => Ok(Standing::Accepted),
        Known::Identity(Identity { job, rule, .. }) => Err(Refusal::Unknown { path: path(), job, rule }),
        Known::Damaged { reason } => Err(Refusal::DamagedIdentity { path: path(), reason }),
        Known::None if !ids.is_empty() => Err(Refusal::LostIdentity { path: path() }),
        Known::None => check_place(session, target).map(|()| Standing::First),
    }
}

/// Below these, disks are mounted (Filesystem Hierarchy Standard 3.0, 3.11 and 3.12; `udisks(8)`; macOS).
const MOUNT_FOLDERS: [&str; 4] = ["/mnt", "/media", "/run/media", "/Volumes"];

/// Folders of the system: a destination that *is* one of them.
const SYSTEM_FOLDERS: [&str; 27] = [
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/media",
    "/mnt",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/srv",
    "/sys",
    "/tmp",
    "/usr",
    "/usr/local",
    "/usr/share",
    "/usr/src",
    "/var",
    "/var/lib",
    "/var/log",
    "/var/tmp",
];

/// Folders of the system in which nothing is a destination.
const SYSTEM_TREES: [&str; 14] = [
    "/bin",
    "/boot",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/proc",
    "/sbin",
    "/sys",
    "/usr/bin",
    "/usr/lib",
    "/usr/libexec",
    "/usr/sbin",
];

/// Where a first run needs a second look.
fn check_place(session: &Session<'_>, target: &Target) -> Result<(), Refusal> {
    let (written, real) = (target.written(), target.real());
    let paths = [written, real.as_path()];
    if let Some(what) = delicate(&paths, &session.environment.homes()) {
        return Err(Refusal::DelicatePlace { path: target.shown(), what });
    }
    let mount_point = crate::platform::path_from_bytes(&target.place().mount_point);
    if target.root().is_some() && mount_point == real {
        return Err(Refusal::DelicatePlace { path: target.shown(), what: "the root of a file system" });
    }
    if mount_point == Path::new("/") {
        let below = MOUNT_FOLDERS.iter().find(|folder| paths.iter().any(|path| path.starts_with(folder)));
        if let Some(below) = below {
            return Err(Refusal::NotMounted { path: target.shown(), below });
        }
    }
    Ok(())
}

fn delicate(paths: &[&Path; 2], homes: &[PathBuf]) -> Option<&'static str> {
    let any = |test: &dyn Fn(&Path) -> bool| paths.iter().any(|path| test(path));
    if any(&|path| path == Path::new("/")) {
        return Some("the root of the system");
    }
    if any(&|path| SYSTEM_FOLDERS.iter().any(|folder| path == Path::new(folder)))
        || any(&|path| SYSTEM_TREES.iter().any(|tree| path.starts_with(tree)))
    {
        return Some("a system folder");
    }
    any(&|path| homes.iter().any(|home| path == home)).then_some("a home directory")
}

/// How the patterns of a rule treat case, as its source does where the job does not say.
pub(super) fn pattern_case(rule: &Rule, source: Case) -> Case {
    match rule.ignore_case {
        crate::job::Choice::Auto => source,
        crate::job::Choice::Set(true) => Case::Insensitive,
        crate::job::Choice::Set(false) => Case::Sensitive,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bc_56_roots_homes_and_system_folders_are_delicate() {
        let homes = [PathBuf::from("/home/anna"), PathBuf::from("/root")];
        let check = |path: &str, what: Option<&str>| {
            assert_eq!(delicate(&[Path::new(path), Path::new(path)], &homes), what, "{path}");
        };
        check("/", Some("the root of the system"));
        check("/usr", Some("a system folder"));
        check("/etc/backup", Some("a system folder"));
        check("/usr/lib/x", Some("a system folder"));
        check("/home/anna", Some("a home directory"));
        check("/home/anna/copies", None);
        check("/var/backups/x", None);
        check("/usr/local/backup", None);
        check("/data", None);
    }

    #[test]
    fn a_symlink_to_a_delicate_place_is_one() {
        assert_eq!(delicate(&[Path::new("/data/link"), Path::new("/etc")], &[]), Some("a system folder"));
    }
}
