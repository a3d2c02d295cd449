//! Trees in memory, written as literals, and a naive comparison of two of them.
//!
//! The filter is built in: names that begin with `k` are excluded with all below, a directory called `t` is excluded
//! itself but passed through.

use std::collections::{BTreeMap, BTreeSet};

use crate::compare::{
    Age, Counts, Difference, DirectoryDraft, Draft, Extent, Finding, MetaDifference, Move, Problem, Side,
    Verdict,
};
use crate::value::{Kind, Meta, RelPath, Stamp};

/// What stands for one inode. Files with equal size and time have equal content here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inode {
    pub kind: Kind,
    pub size: u64,
    pub time: i64,
    pub mode: u16,
    pub target: String,
}

#[derive(Clone, Debug)]
pub struct Tree {
    pub device: u64,
    pub names: BTreeMap<RelPath, u64>,
    pub inodes: BTreeMap<u64, Inode>,
    pub unreadable: BTreeSet<RelPath>,
    pub next: u64,
}

pub fn path(text: &str) -> RelPath {
    RelPath::parse(text.as_bytes()).unwrap()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    Selected,
    Excluded,
    Through,
}

pub fn judgement(name: &[u8], kind: Kind) -> Judgement {
    match name {
        [b'k', ..] => Judgement::Excluded,
        b"t" if kind == Kind::Directory => Judgement::Through,
        b"t" => Judgement::Excluded,
        _ => Judgement::Selected,
    }
}

impl Tree {
    pub fn empty(device: u64) -> Self {
        let mut tree = Self {
            device,
            names: BTreeMap::new(),
            inodes: BTreeMap::new(),
            unreadable: BTreeSet::new(),
            next: device * 1000,
        };
        tree.put(
            &RelPath::root(),
            Inode { kind: Kind::Directory, size: 0, time: 0, mode: 0o755, target: String::new() },
        );
        tree
    }

    /// Reads `a 3@10 600; d/ 700; l -> x; h = d/f; p |; d/ !`: a file of a size and time, a directory, a symlink, a
    /// further name of a file, a FIFO, an unreadable directory. Parents come first; modes may be left out.
    pub fn read(device: u64, text: &str) -> Self {
        let mut tree = Self::empty(device);
        for entry in text.split(';').map(str::trim).filter(|entry| !entry.is_empty()) {
            let words: Vec<&str> = entry.split_whitespace().collect();
            let mode = |index: usize, normal| {
                words.get(index).map_or(normal, |text| u16::from_str_radix(text, 8).unwrap())
            };
            let plain = |kind, mode| Inode { kind, size: 0, time: 0, mode, target: String::new() };
            match words.as_slice() {
                [name, "!"] => {
                    tree.unreadable.insert(path(name.trim_end_matches('/')));
                }
                [name, ..] if name.ends_with('/') => {
                    tree.put(&path(name.trim_end_matches('/')), plain(Kind::Directory, mode(1, 0o755)));
                }
                [name, "->", target] => {
                    let inode = Inode { target: (*target).to_owned(), ..plain(Kind::Symlink, 0o777) };
                    tree.put(&path(name), inode);
                }
                [name, "=", other] => {
                    let number = tree.names[&path(other)];
                    tree.names.insert(path(name), number);
                }
                [name, "|"] => {
                    tree.put(&path(name), plain(Kind::Fifo, 0o644));
                }
                [name, content, ..] => {
                    let (size, time) = content.split_once('@').unwrap_or((content, "0"));
                    let inode = Inode {
                        size: size.parse().unwrap(),
                        time: time.parse().unwrap(),
                        ..plain(Kind::File, mode(2, 0o644))
                    };
                    tree.put(&path(name), inode);
                }
                _ => panic!("not an entry: {entry}"),
            }
        }
        tree
    }

    /// A copy of it on another device, each name on an inode of its own number.
    pub fn copied(&self, device: u64) -> Self {
        let mut tree = Self { device, unreadable: BTreeSet::new(), next: device * 1000, ..self.clone() };
        let shift = device * 1000;
        tree.inodes = self.inodes.iter().map(|(number, inode)| (number + shift, inode.clone())).collect();
        tree.names = self.names.iter().map(|(path, number)| (path.clone(), number + shift)).collect();
        tree.next = tree.inodes.keys().max().unwrap() + 1;
        tree
    }

    pub fn put(&mut self, path: &RelPath, inode: Inode) -> u64 {
        self.next += 1;
        self.inodes.insert(self.next, inode);
        self.names.insert(path.clone(), self.next);
        self.next
    }

    pub fn get(&self, path: &RelPath) -> Option<&Inode> {
        self.names.get(path).map(|number| &self.inodes[number])
    }

    pub fn kind(&self, path: &RelPath) -> Option<Kind> {
        self.get(path).map(|inode| inode.kind)
    }

    pub fn is_directory(&self, path: &RelPath) -> bool {
        self.kind(path) == Some(Kind::Directory)
    }

    /// Takes a name away with all below it.
    pub fn take(&mut self, path: &RelPath) {
        self.names.retain(|other, _| !other.is_within(path));
    }

    pub fn names_of(&self, number: u64) -> usize {
        self.names.values().filter(|&&other| other == number).count()
    }

    pub fn meta(&self, path: &RelPath) -> Option<Meta> {
        let number = *self.names.get(path)?;
        let inode = &self.inodes[&number];
        Some(Meta {
            kind: inode.kind,
            mode: inode.mode,
            mount_root: false,
            links: u32::try_from(self.names_of(number)).unwrap(),
            uid: 0,
            gid: 0,
            size: inode.size,
            allocated: inode.size.next_multiple_of(4096),
            modified: Stamp::from_seconds(inode.time),
            changed: Stamp::from_seconds(inode.time),
            device: self.device,
            inode: number,
            special: 0,
        })
    }

    /// Names in a directory, as they are.
    pub fn children(&self, path: &RelPath) -> Vec<Box<[u8]>> {
        self.names
            .keys()
            .filter(|other| other.parent().as_ref() == Some(path))
            .map(|other| other.name().into())
            .collect()
    }

    /// Names in a directory, as far as they can be read: the listing of an unreadable one breaks off early.
    pub fn listed(&self, path: &RelPath) -> Vec<Box<[u8]>> {
        if !self.is_directory(path) {
            return Vec::new();
        }
        let mut names = self.children(path);
        names.retain(|name| !self.unreadable.contains(path) || name.starts_with(b"a"));
        names
    }
}

/// Compares two trees naively.
pub fn compare(source: &Tree, destination: &Tree) -> Draft {
    let mut march = March { source, destination, draft: Draft::default() };
    march.directory(
        &RelPath::root(),
        source.meta(&RelPath::root()),
        destination.meta(&RelPath::root()),
        false,
    );
    march.draft
}

/// A draft with all moves that the search could find: files of one name, of equal size and time.
pub fn with_moves(mut draft: Draft) -> Draft {
    let fit = |meta: &Meta| meta.kind == Kind::File && meta.links == 1;
    let mut origins: Vec<(RelPath, Meta)> = Vec::new();
    let mut targets: Vec<(RelPath, Meta)> = Vec::new();
    for directory in &draft.directories {
        for finding in &directory.findings {
            let path = directory.path.join(&finding.name);
            let both = [finding.source, finding.destination];
            let fits = both.iter().flatten().all(fit);
            let (leaves, comes) = match finding.verdict {
                Verdict::Extra => (fits, false),
                Verdict::New => (false, fits),
                Verdict::Changed(..) => (fits, fits),
                _ => (false, false),
            };
            origins.extend(finding.destination.filter(|_| leaves).map(|meta| (path.clone(), meta)));
            targets.extend(finding.source.filter(|_| comes).map(|meta| (path, meta)));
        }
    }
    for (to, wanted) in targets {
        let alike = |(from, meta): &(RelPath, Meta)| {
            *from != to && (meta.size, meta.modified) == (wanted.size, wanted.modified)
        };
        if let Some(index) = origins.iter().position(alike) {
            let (from, _) = origins.remove(index);
            draft.moves.push(Move { from, to });
        }
    }
    draft.moves.sort_by(|a, b| a.to.cmp(&b.to));
    draft
}

struct March<'a> {
    source: &'a Tree,
    destination: &'a Tree,
    draft: Draft,
}

impl March<'_> {
    fn directory(&mut self, path: &RelPath, source: Option<Meta>, destination: Option<Meta>, through: bool) {
        let mut here = DirectoryDraft {
            path: path.clone(),
            source,
            destination,
            source_whole: source.is_none() || !self.source.unreadable.contains(path),
            destination_whole: destination.is_none() || !self.destination.unreadable.contains(path),
            through,
            kept: 0,
            findings: Vec::new(),
            stale_stages: Vec::new(),
        };
        for (side, whole) in [(Side::Source, here.source_whole), (Side::Destination, here.destination_whole)]
        {
            if !whole {
                let message = "cannot read".to_owned();
                self.draft.problems.push(Problem {
                    path: path.clone(),
                    side,
                    message,
                    extent: Extent::Subtree,
                });
            }
        }
        let listed = |tree: &Tree, meta: Option<Meta>| -> BTreeSet<Box<[u8]>> {
            meta.map(|_| tree.listed(path)).unwrap_or_default().into_iter().collect()
        };
        let (sources, destinations) = (listed(self.source, source), listed(self.destination, destination));
        for name in sources.union(&destinations) {
            let below = path.join(name);
            let s = sources.contains(name).then(|| self.source.meta(&below)).flatten();
            let d = destinations.contains(name).then(|| self.destination.meta(&below)).flatten();
            self.name(&mut here, name, s, d);
        }
        let silent =
            here.findings.is_empty() && here.kept == 0 && here.source_whole && here.destination_whole;
        if path.is_root() || through || !silent {
            self.draft.directories.push(here);
        }
    }

    fn name(
        &mut self,
        here: &mut DirectoryDraft,
        name: &[u8],
        source: Option<Meta>,
        destination: Option<Meta>,
    ) {
        let below = here.path.join(name);
        let is_directory = |meta: Option<Meta>| meta.filter(|meta| meta.kind == Kind::Directory);
        let judged = judgement(name, source.or(destination).unwrap().kind);
        let Counts { source_entries, source_files, destination_entries, .. } = &mut self.draft.counts;
        if judged == Judgement::Selected {
            *source_entries += u64::from(source.is_some());
            *source_files += u64::from(source.is_some_and(|meta| meta.kind != Kind::Directory));
            *destination_entries += u64::from(destination.is_some());
        }
        match judged {
            Judgement::Excluded => here.kept += u64::from(destination.is_some()),
            Judgement::Through => {
                if source.is_some() && destination.is_some_and(|meta| meta.kind != Kind::Directory) {
                    let verdict = Verdict::Kind;
                    here.findings.push(Finding { name: name.into(), verdict, source, destination });
                }
                self.directory(&below, is_directory(source), is_directory(destination), true);
            }
            Judgement::Selected => {
                let verdict = self.verdict(&below, source, destination);
                let several = [source, destination]
                    .iter()
                    .flatten()
                    .any(|meta| meta.kind == Kind::File && meta.links > 1);
                if verdict != Verdict::Same || several {
                    here.findings.push(Finding { name: name.into(), verdict, source, destination });
                }
                if is_directory(source).or(is_directory(destination)).is_some() {
                    self.directory(&below, is_directory(source), is_directory(destination), false);
                }
            }
        }
    }

    fn verdict(&self, path: &RelPath, source: Option<Meta>, destination: Option<Meta>) -> Verdict {
        let (source, destination) = match (source, destination) {
            (Some(source), Some(destination)) => (source, destination),
            (Some(_), None) => return Verdict::New,
            _ => return Verdict::Extra,
        };
        if source.kind != destination.kind {
            return Verdict::Kind;
        }
        let age = match source.modified.cmp(&destination.modified) {
            std::cmp::Ordering::Less => Age::Older,
            std::cmp::Ordering::Equal => Age::Equal,
            std::cmp::Ordering::Greater => Age::Newer,
        };
        if source.kind == Kind::File && source.size != destination.size {
            return Verdict::Changed(Difference::Size, age);
        }
        if source.kind == Kind::File && age != Age::Equal {
            return Verdict::Changed(Difference::Time, age);
        }
        if self.source.get(path).unwrap().target != self.destination.get(path).unwrap().target {
            return Verdict::Changed(Difference::Target, age);
        }
        if source.mode != destination.mode {
            return Verdict::Metadata(MetaDifference::PERMISSIONS);
        }
        Verdict::Same
    }
}
