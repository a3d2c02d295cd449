//! What every thread of one execution shares.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use crate::job::{Choice, Durability, Versions as Keep};
use crate::plan::{Action, Plan};
use crate::store::{Change, OriginalDirectory, Versions};
use crate::value::{Meta, Place, RelPath, SyncTrust};

use super::directories::{Trees, open_parent};
use super::trouble::Trouble;
use super::{Meters, Roots, Terms, Warning};

/// Files of this size tell by their failure that larger ones need not be tried.
const TELLING_BYTES_MIN: u64 = 64 << 10;

/// How what was written becomes durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyncWay {
    /// Not at all: the rule waives it.
    None,
    /// One `syncfs` a batch.
    FileSystem,
    /// Each file before it gets its name, each directory after.
    Each,
}

/// What this user or place cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unkept {
    /// Owner or group.
    Owner,
    /// Mode bits.
    Mode,
    /// Set-uid or set-gid, because the owner is another one.
    SetId,
    /// POSIX ACLs.
    Acls,
    /// Extended attributes.
    Xattrs,
    /// mtime.
    Times,
    /// A hard link, made as a copy.
    Links,
    /// A copy of a file that changed meanwhile, taken as the rule wants.
    Torn,
    /// Content that was read back, perhaps from memory.
    ReadBack,
}

const UNKEPT: [(Unkept, &str); 9] = [
    (Unkept::Owner, "owner or group not kept"),
    (Unkept::Mode, "permissions not kept"),
    (Unkept::SetId, "set-uid or set-gid dropped, as the owner is another one"),
    (Unkept::Acls, "ACLs not kept"),
    (Unkept::Xattrs, "extended attributes not kept"),
    (Unkept::Times, "modification times not kept"),
    (Unkept::Links, "hard links made as copies"),
    (Unkept::Torn, "files copied while they changed"),
    (Unkept::ReadBack, "reading back could not be shown to pass the page cache"),
];

/// Where the content of an inode is that a move was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// Under its old name, as far as this run knows.
    Here,
    /// Under another name too, so that the old one may get other content.
    MovedOn,
}

/// A file to which this run gave further names.
struct Linked {
    names: u32,
    leader: RelPath,
    /// As it was before the first of them.
    before: Meta,
}

/// Shared by run thread, workers and commit thread; borrowed for one execution.
pub(super) struct Site<'s> {
    pub(super) terms: &'s Terms<'s>,
    pub(super) meters: &'s Meters,
    pub(super) trees: Trees<'s>,
    /// Where displaced content goes; `None` where it goes nowhere.
    pub(super) versions: Option<Versions<'s>>,
    stages: AtomicU64,
    stages_left: AtomicU64,
    full_from_bytes: AtomicU64,
    unkept: [AtomicU64; UNKEPT.len()],
    /// Inodes of files to which this run gave further names.
    links: Mutex<HashMap<(u64, u64), Linked>>,
    /// Inodes that moves have mended, so that their ctime says nothing any more.
    mended: RwLock<HashMap<(u64, u64), Content>>,
}

impl<'s> Site<'s> {
    pub(super) fn new(terms: &'s Terms<'s>, meters: &'s Meters) -> Self {
        let versions = match terms.rule.versions {
            Keep::None => None,
            Keep::Keep(_) => terms.store.map(|store| store.versions(terms.run)),
        };
        Self {
            terms,
            meters,
            trees: Trees::new(terms),
            versions,
            stages: AtomicU64::new(1),
            stages_left: AtomicU64::new(0),
            full_from_bytes: AtomicU64::new(u64::MAX),
            unkept: Default::default(),
            links: Mutex::default(),
            mended: RwLock::default(),
        }
    }

    pub(super) fn plan(&self) -> &'s Plan {
        self.terms.plan
    }

    /// An action by its index; the indices come from the plan itself.
    #[expect(clippy::indexing_slicing, reason = "jobs are only made from indices of this plan")]
    pub(super) fn action(&self, index: usize) -> &'s Action {
        &self.terms.plan.actions[index]
    }

    /// What the source calls the entry of an action.
    pub(super) fn source_name(&self, action: &Action) -> &'s [u8] {
        match self.terms.roots {
            Roots::Holding { name: Some(name) } => name,
            Roots::Holding { name: None } | Roots::Alike => self.terms.plan.name(action),
        }
    }

    pub(super) fn place(&self) -> &'s Place {
        self.terms.place
    }

    /// The directory that versions' directories are made like.
    pub(super) fn original(&self) -> OriginalDirectory<'s> {
        OriginalDirectory { root: self.terms.destination }
    }

    /// How an entry on a device becomes durable. Only the root's own file system was looked at; what is mounted below it is not trusted.
    pub(super) fn sync_way(&self, device: u64) -> SyncWay {
        let place = self.terms.place;
        match (self.terms.rule.durability, place.sync) {
            (Durability::None, _) => SyncWay::None,
            (Durability::Run, SyncTrust::FileSystem) if device == place.device => SyncWay::FileSystem,
            (Durability::Run | Durability::File, _) => SyncWay::Each,
        }
    }

    /// The next number for a stage name; unique in the run.
    pub(super) fn next_stage(&self) -> u64 {
        self.stages.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn leave_stage(&self) {
        self.stages_left.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn stages_left(&self) -> u64 {
        self.stages_left.load(Ordering::Relaxed)
    }

    /// Refuses a file that cannot fit because a smaller one, or one as large, did not.
    pub(super) fn check_room(&self, bytes: u64) -> Result<(), Trouble> {
        if bytes >= self.full_from_bytes.load(Ordering::Relaxed) { Err(Trouble::NoRoom) } else { Ok(()) }
    }

    /// Remembers that a file of this size did not fit. To try a small one costs little, and it may fit when a larger one has failed.
    pub(super) fn note_full(&self, bytes: u64) {
        if bytes >= TELLING_BYTES_MIN {
            self.full_from_bytes.fetch_min(bytes, Ordering::Relaxed);
        }
    }

    /// Room may have come back: everything is worth a try again.
    pub(super) fn forget_full(&self) {
        self.full_from_bytes.store(u64::MAX, Ordering::Relaxed);
    }

    pub(super) fn note(&self, what: Unkept) {
        let counter = UNKEPT.iter().position(|(other, _)| *other == what).and_then(|at| self.unkept.get(at));
        if let Some(counter) = counter {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn warnings(&self) -> Vec<Warning> {
        let counts = self.unkept.iter().map(|counter| counter.load(Ordering::Relaxed));
        UNKEPT
            .iter()
            .zip(counts)
            .filter(|(_, count)| *count > 0)
            .map(|((_, text), count)| Warning { text: (*text).to_owned(), count })
            .collect()
    }

    /// Remembers that this run gave a file, as it was under the name of its leader, a further name.
    pub(super) fn note_link(&self, leader: &RelPath, before: &Meta) {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let inode = (before.device, before.inode);
        let first = || Linked { names: 0, leader: leader.clone(), before: *before };
        links.entry(inode).or_insert_with(first).names += 1;
    }

    /// What the catalog is told of files that got further names, which has changed their ctime.
    pub(super) fn linked(&self) -> Vec<Change> {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        links
            .drain()
            .filter_map(|(_, Linked { leader, before, .. })| {
                let holder = open_parent(self.terms.destination, &leader).ok()?;
                let meta = holder.find(leader.name()).ok()??;
                let same = meta.same_inode(&before) && meta.size == before.size;
                same.then_some(Change::Touched { path: leader, before, meta })
            })
            .collect()
    }

    /// How many names this run gave to an inode.
    pub(super) fn links_to(&self, inode: (u64, u64)) -> u32 {
        let links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.get(&inode).map_or(0, |linked| linked.names)
    }

    /// Remembers that this run mends an inode that it is going to move.
    pub(super) fn note_mended(&self, inode: &Meta) {
        let mut mended = self.mended.write().unwrap_or_else(PoisonError::into_inner);
        mended.entry((inode.device, inode.inode)).or_insert(Content::Here);
    }

    /// Remembers that what an inode holds has another name, and that its old one gets other content.
    pub(super) fn note_moved(&self, inode: &Meta) {
        let mut mended = self.mended.write().unwrap_or_else(PoisonError::into_inner);
        mended.insert((inode.device, inode.inode), Content::MovedOn);
    }

    /// Whether this run has changed the ctime of an inode, or may have.
    pub(super) fn is_mended(&self, inode: &Meta) -> bool {
        let mended = self.mended.read().unwrap_or_else(PoisonError::into_inner);
        mended.contains_key(&(inode.device, inode.inode))
    }

    /// Whether what an inode holds has another name by now: its old one displaces nothing.
    pub(super) fn is_moved(&self, inode: &Meta) -> bool {
        let mended = self.mended.read().unwrap_or_else(PoisonError::into_inner);
        mended.get(&(inode.device, inode.inode)) == Some(&Content::MovedOn)
    }

    /// Whether owner and group are carried over.
    pub(super) fn keeps_owner(&self) -> bool {
        match self.terms.rule.preserve.owner {
            Choice::Auto => self.terms.as_root,
            Choice::Set(keeps) => keeps,
        }
    }
}
