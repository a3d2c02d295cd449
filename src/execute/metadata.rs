//! Owner, mode, ACL, extended attributes with capabilities, and times, applied through a checked handle in that order.
//!
//! What this user or place cannot hold is counted and said once; as root, on a place that can, it is a failure.

use std::io;

use crate::platform::{Attributes, Xattr};
use crate::value::{Kind, Meta, Stamp};

use super::site::{Site, Unkept};
use super::trouble::{Tried as _, Trouble};

const ACL_PREFIX: &[u8] = b"system.posix_acl_";
const ACL_DEFAULT: &[u8] = b"system.posix_acl_default";
const CAPABILITY: &[u8] = b"security.capability";
/// What of a mode a new entry gets where modes are not kept: nine bits, less what `umask 022` takes.
const PLAIN_BITS: u16 = 0o755;

/// What an entry is to look like.
pub(super) struct Wanted {
    /// Owner and mode; as read from the source's handle before its first byte.
    pub(super) meta: Meta,
    /// mtime, where one is to be set.
    pub(super) modified: Option<Stamp>,
    /// ACLs and extended attributes, sorted by name.
    pub(super) attributes: Vec<Xattr>,
}

/// Whether the entry is new or was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Age {
    /// Made by this run: it has what the system gave it.
    New,
    /// What the rule does not keep stays as it is.
    Old,
}

/// The two families of attributes that a rule can keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Acl,
    Xattr,
}

/// The family of an attribute, `None` where it is not carried over: of the `system.` ones only POSIX ACLs are, the others mean something to
/// one file system alone; a user may set `user.` ones.
fn family(site: &Site<'_>, name: &[u8]) -> Option<Family> {
    if name.starts_with(ACL_PREFIX) {
        return Some(Family::Acl);
    }
    let own = name.starts_with(b"user.");
    let privileged = name.starts_with(b"trusted.") || name.starts_with(b"security.");
    (own || privileged && site.terms.as_root).then_some(Family::Xattr)
}

fn is_wanted(site: &Site<'_>, family: Family) -> bool {
    match family {
        Family::Acl => site.terms.rule.preserve.acls,
        Family::Xattr => site.terms.rule.preserve.xattrs,
    }
}

/// Reads what the rule keeps of an open source.
pub(super) fn read(site: &Site<'_>, handle: &impl Attributes, meta: Meta) -> Result<Wanted, Trouble> {
    let preserve = &site.terms.rule.preserve;
    let mut attributes = Vec::new();
    if preserve.xattrs || preserve.acls {
        for name in handle.xattr_names().tried("read extended attributes of the source")? {
            match family(site, &name) {
                Some(family) if is_wanted(site, family) => {
                    // It may have been removed since the names were read.
                    let value = match handle.xattr(&name) {
                        Err(error) if is_absent(&error) => continue,
                        value => value.tried("read extended attributes of the source")?,
                    };
                    attributes.push(Xattr { name, value: value.into() });
                }
                None if *name == *CAPABILITY && preserve.xattrs => site.note(Unkept::Xattrs),
                _ => {}
            }
        }
    }
    Ok(Wanted { attributes, ..bare(site, meta) })
}

/// What is wanted where attributes cannot be asked for.
pub(super) fn bare(site: &Site<'_>, meta: Meta) -> Wanted {
    let modified = site.terms.rule.preserve.times.then_some(meta.modified);
    Wanted { meta, modified, attributes: Vec::new() }
}

/// `ENODATA` has no name in the standard library; of the errors that `fgetxattr(2)` lists it is the one without.
fn is_absent(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(ENODATA)
}

/// `asm-generic/errno.h`; the same on every Linux but for Alpha, MIPS, PA-RISC and SPARC, where a vanished attribute then is an error.
const ENODATA: i32 = 61;

/// Applies all of it.
pub(super) fn apply(
    site: &Site<'_>,
    handle: &impl Attributes,
    wanted: &Wanted,
    age: Age,
) -> Result<(), Trouble> {
    let mut now = handle.meta().tried("look at the new entry")?;
    set_owner(site, handle, wanted, &mut now)?;
    if now.kind != Kind::Symlink {
        set_mode(site, handle, wanted, age, &now)?;
    }
    set_attributes(site, handle, wanted, age)?;
    match wanted.modified {
        Some(modified) => set_time(site, handle, modified),
        None => Ok(()),
    }
}

/// What becomes of a refusal: a count where this user or place cannot, else a failure.
fn refused(site: &Site<'_>, error: io::Error, what: &'static str, unkept: Unkept) -> Result<(), Trouble> {
    let place_cannot = error.kind() == io::ErrorKind::Unsupported;
    let user_cannot = error.kind() == io::ErrorKind::PermissionDenied && !site.terms.as_root;
    if place_cannot || user_cannot {
        site.note(unkept);
        return Ok(());
    }
    Err(Trouble::Attribute { what, source: error })
}

fn set_owner(
    site: &Site<'_>,
    handle: &impl Attributes,
    wanted: &Wanted,
    now: &mut Meta,
) -> Result<(), Trouble> {
    let (uid, gid) = (wanted.meta.uid, wanted.meta.gid);
    if (now.uid, now.gid) == (uid, gid) || site.terms.rule.preserve.owner == crate::job::Choice::Set(false) {
        return Ok(());
    }
    if !site.keeps_owner() || !site.place().owners {
        site.note(Unkept::Owner);
        return Ok(());
    }
    match handle.set_owner(uid, gid) {
        Ok(()) => {
            (now.uid, now.gid) = (uid, gid);
            Ok(())
        }
        // An id that this user namespace does not map.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            site.note(Unkept::Owner);
            Ok(())
        }
        Err(error) => refused(site, error, "the owner", Unkept::Owner),
    }
}

fn set_mode(
    site: &Site<'_>,
    handle: &impl Attributes,
    wanted: &Wanted,
    age: Age,
    now: &Meta,
) -> Result<(), Trouble> {
    let keeps = site.terms.rule.preserve.permissions;
    let held = wanted.meta.mode_owned_by(now.uid, now.gid);
    let mode = match (keeps, age) {
        (true, _) => held,
        (false, Age::New) => held & PLAIN_BITS,
        (false, Age::Old) => now.mode,
    };
    if keeps && held != wanted.meta.mode {
        site.note(Unkept::SetId);
    }
    if !site.place().owners {
        if keeps && mode != now.mode {
            site.note(Unkept::Mode);
        }
        return Ok(());
    }
    // Not skipped where `now` has these bits already: a change of owner may have cleared some since.
    match handle.set_mode(mode) {
        Ok(()) => Ok(()),
        Err(error) => refused(site, error, "the permissions", Unkept::Mode),
    }
}

/// Which of an entry's present attributes go when the source has none of that name: what a user or this program sets. The labels of
/// security modules come from the system. A new entry has no attributes but those that its directory's default ACL gave it.
fn is_surplus(site: &Site<'_>, name: &[u8], age: Age) -> bool {
    let label = name.starts_with(b"security.") && name != CAPABILITY;
    let tells = age == Age::New || site.terms.source_place.xattrs;
    !label && tells && family(site, name).is_some_and(|family| is_wanted(site, family))
}

fn set_attributes(
    site: &Site<'_>,
    handle: &impl Attributes,
    wanted: &Wanted,
    age: Age,
) -> Result<(), Trouble> {
    let preserve = &site.terms.rule.preserve;
    if !preserve.xattrs && !preserve.acls {
        return Ok(());
    }
    if !site.place().xattrs {
        note_unheld(site, wanted);
        return Ok(());
    }
    let present = handle.xattr_names().tried("read extended attributes of the new entry")?;
    for name in present.iter().filter(|name| is_surplus(site, name, age)) {
        if wanted.attributes.iter().any(|item| item.name == *name) {
            continue;
        }
        match handle.remove_xattr(name) {
            Err(error) if !is_absent(&error) => refused(site, error, what(name), unkept(name))?,
            _ => {}
        }
    }
    // ACLs first: setting one may change the mode's group bits, and nothing after it does.
    let (acls, others): (Vec<&Xattr>, Vec<&Xattr>) =
        wanted.attributes.iter().partition(|item| item.name.starts_with(ACL_PREFIX));
    for item in acls.into_iter().chain(others) {
        let same = present.binary_search(&item.name).is_ok()
            && handle.xattr(&item.name).is_ok_and(|value| *value == *item.value);
        if same {
            continue;
        }
        if let Err(error) = handle.set_xattr(&item.name, &item.value) {
            refused(site, error, what(&item.name), unkept(&item.name))?;
        }
    }
    Ok(())
}

/// Counts an entry once for each family of attributes that the place has no room for.
fn note_unheld(site: &Site<'_>, wanted: &Wanted) {
    for (family, unkept) in [(Family::Acl, Unkept::Acls), (Family::Xattr, Unkept::Xattrs)] {
        let acl = family == Family::Acl;
        if wanted.attributes.iter().any(|item| item.name.starts_with(ACL_PREFIX) == acl) {
            site.note(unkept);
        }
    }
}

fn what(name: &[u8]) -> &'static str {
    match name {
        ACL_DEFAULT => "the default ACL",
        CAPABILITY => "capabilities",
        _ if name.starts_with(ACL_PREFIX) => "the ACL",
        _ => "extended attributes",
    }
}

fn unkept(name: &[u8]) -> Unkept {
    if name.starts_with(ACL_PREFIX) { Unkept::Acls } else { Unkept::Xattrs }
}

/// Sets mtime as the place will hold it.
pub(super) fn set_time(site: &Site<'_>, handle: &impl Attributes, modified: Stamp) -> Result<(), Trouble> {
    match handle.set_modified(site.place().held_time(modified)) {
        Ok(()) => Ok(()),
        Err(error) => refused(site, error, "the modification time", Unkept::Times),
    }
}
