//! Which metadata of two entries differs, of all that the rule keeps and both places hold.

use std::io;

use crate::job::{Choice, Symlinks};
use crate::platform::{Attributes, Dir};
use crate::value::{Kind, Meta};

use super::march::March;
use super::{MetaDifference, Side, Terms};

/// What is kept, resolved from rule, user and places.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own in the job file")]
pub(super) struct Preserved {
    permissions: bool,
    owner: bool,
    times: bool,
    xattrs: bool,
    acls: bool,
    as_root: bool,
    devices: bool,
    fifos: bool,
    symlinks: bool,
}

/// The attributes in which Linux keeps POSIX ACLs (`acl(5)`); no other attribute of `system.` is anybody's to copy.
const ACLS: [&[u8]; 2] = [b"system.posix_acl_access", b"system.posix_acl_default"];

impl Preserved {
    pub(super) fn new(terms: &Terms<'_>) -> Self {
        let (preserve, place) = (terms.rule.preserve, terms.place);
        let holds_xattrs = place.xattrs && terms.source_place.xattrs;
        let owner = match preserve.owner {
            Choice::Auto => terms.as_root,
            Choice::Set(owner) => owner,
        };
        Self {
            permissions: preserve.permissions && place.owners,
            owner: owner && place.owners,
            times: preserve.times,
            xattrs: preserve.xattrs && holds_xattrs,
            acls: preserve.acls && holds_xattrs && place.owners,
            as_root: terms.as_root,
            devices: matches!(preserve.special, Choice::Set(true))
                || matches!(preserve.special, Choice::Auto) && terms.as_root,
            fifos: !matches!(preserve.special, Choice::Set(false)),
            symlinks: preserve.symlinks == Symlinks::Copy,
        }
    }

    /// Whether entries of this kind are kept at all.
    pub(super) fn keeps(self, kind: Kind) -> bool {
        match kind {
            Kind::Symlink => self.symlinks,
            Kind::Fifo | Kind::Socket => self.fifos,
            Kind::CharDevice | Kind::BlockDevice => self.devices,
            Kind::File | Kind::Directory => true,
        }
    }

    fn is_xattr(self, name: &[u8]) -> bool {
        let is_roots = name.starts_with(b"trusted.") || name.starts_with(b"security.");
        self.xattrs && (name.starts_with(b"user.") || self.as_root && is_roots)
    }

    fn is_acl(self, name: &[u8]) -> bool {
        self.acls && ACLS.contains(&name)
    }
}

/// An entry whose extended attributes can be asked for.
#[derive(Clone, Copy)]
pub(super) enum Attributed<'a> {
    /// By its name in an open directory.
    Name(&'a Dir, &'a [u8], &'a Meta),
    /// An open directory itself.
    Handle(&'a Dir),
}

type Names = Vec<Box<[u8]>>;

impl Attributed<'_> {
    fn names(self) -> io::Result<Names> {
        match self {
            Self::Name(directory, name, _) => directory.xattr_names(name),
            Self::Handle(directory) => Attributes::xattr_names(directory),
        }
    }

    fn values(self, wanted: &[Box<[u8]>]) -> io::Result<Vec<Box<[u8]>>> {
        match self {
            Self::Name(directory, name, meta) => {
                Ok(directory.xattrs(name, meta, wanted)?.into_iter().map(|xattr| xattr.value).collect())
            }
            Self::Handle(directory) => {
                wanted.iter().map(|name| directory.xattr(name).map(Into::into)).collect()
            }
        }
    }
}

/// Attributes that could not be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the extended attributes: {error}")]
pub(super) struct Unread {
    pub(super) side: Side,
    error: io::Error,
}

fn of(side: Side) -> impl FnOnce(io::Error) -> Unread {
    move |error| Unread { side, error }
}

impl March<'_> {
    /// Which metadata differs between two entries of one kind. One call for each side where attributes are kept, and none beyond that
    /// where there are none.
    pub(super) fn metadata_difference(
        &self,
        (source_at, source): (Attributed<'_>, &Meta),
        (destination_at, destination): (Attributed<'_>, &Meta),
    ) -> Result<MetaDifference, Unread> {
        let preserved = self.preserved;
        let mut all = MetaDifference::default();
        let mut note = |differs: bool, what: MetaDifference| {
            if differs {
                all = all.with(what);
            }
        };
        // The mode of a symlink means nothing, and cannot be set.
        let has_mode = preserved.permissions && source.kind != Kind::Symlink;
        let mode = if preserved.owner {
            source.mode
        } else {
            source.mode_owned_by(destination.uid, destination.gid)
        };
        note(has_mode && mode != destination.mode, MetaDifference::PERMISSIONS);
        let is_owned_alike = source.uid == destination.uid && source.gid == destination.gid;
        note(preserved.owner && !is_owned_alike, MetaDifference::OWNER);
        note(preserved.times && !self.times_equal(source, destination), MetaDifference::TIMES);
        if preserved.xattrs || preserved.acls {
            let ours = source_at.names().map_err(of(Side::Source))?;
            let theirs = destination_at.names().map_err(of(Side::Destination))?;
            if !ours.is_empty() || !theirs.is_empty() {
                let differ = |is_wanted: &dyn Fn(&[u8]) -> bool| {
                    attributes_differ((source_at, &ours), (destination_at, &theirs), is_wanted)
                };
                note(differ(&|name| preserved.is_xattr(name))?, MetaDifference::XATTRS);
                note(differ(&|name| preserved.is_acl(name))?, MetaDifference::ACLS);
            }
        }
        Ok(all)
    }
}

/// An attribute that a security module gives: all of `security.` but capabilities.
fn is_label(name: &[u8]) -> bool {
    name.starts_with(b"security.") && name != b"security.capability"
}

fn attributes_differ(
    (source, ours): (Attributed<'_>, &[Box<[u8]>]),
    (destination, theirs): (Attributed<'_>, &[Box<[u8]>]),
    is_wanted: &dyn Fn(&[u8]) -> bool,
) -> Result<bool, Unread> {
    let wanted =
        |names: &[Box<[u8]>]| -> Names { names.iter().filter(|name| is_wanted(name)).cloned().collect() };
    let (ours, mut theirs) = (wanted(ours), wanted(theirs));
    // The labels of security modules come from the system at the destination: one that the source lacks is nobody's to take away.
    theirs.retain(|name| !is_label(name) || ours.contains(name));
    if ours != theirs {
        return Ok(true);
    }
    if ours.is_empty() {
        return Ok(false);
    }
    let values = source.values(&ours).map_err(of(Side::Source))?;
    Ok(values != destination.values(&theirs).map_err(of(Side::Destination))?)
}
