//! Whether a directory of the destination that would go may go with all below it.

use crate::compare::Conflict;
use crate::value::RelPath;

use super::ground::Ground;

/// What keeps the directory at `path`, which the source has not or has as something else, where it is. The gravest
/// reason is told: what could not be read may be anything.
pub(super) fn obstacle(ground: &Ground, path: &RelPath) -> Option<Conflict> {
    let sums = ground.sums_within(path);
    if sums.unread > 0 || ground.has_failed_within(path) {
        Some(Conflict::Unread)
    } else if sums.mounts > 0 {
        Some(Conflict::MountPoint)
    } else if ground.has_foreign_within(path) {
        Some(Conflict::Foreign)
    } else if sums.kept > 0 || sums.staying > 0 {
        Some(Conflict::KeptBelow)
    } else {
        None
    }
}
