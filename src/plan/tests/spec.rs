//! What a destination has to look like after a run, said by recursion over both trees and without any plan.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::{Inode, Judgement, Tree, judgement};
use crate::job::{Mode, Overwrite, Rule, Versions};
use crate::value::{Kind, RelPath};

pub type Wanted = BTreeMap<RelPath, Inode>;

/// Whether something could not be read at a directory or above it.
#[derive(Clone, Copy)]
struct Sight {
    guarded: bool,
    blind: bool,
}

pub struct Spec<'a> {
    pub rule: &'a Rule,
    pub source: &'a Tree,
    pub destination: &'a Tree,
}

impl Spec<'_> {
    /// All entries that are wanted.
    pub fn wanted(&self) -> Wanted {
        let root = RelPath::root();
        let mut wanted = self.directory(&root, Some(()), Some(()), Sight { guarded: false, blind: false });
        let own = self.source.get(&root).unwrap();
        wanted.insert(root.clone(), Inode { mode: self.destination.get(&root).unwrap().mode, ..own.clone() });
        wanted
    }

    /// What is wanted below a directory; `source` and `destination` say on which sides it is one.
    fn directory(&self, path: &RelPath, source: Option<()>, destination: Option<()>, above: Sight) -> Wanted {
        let hidden = source.is_some() && self.source.unreadable.contains(path);
        let unread = destination.is_some() && self.destination.unreadable.contains(path);
        let sight = Sight { guarded: above.guarded || hidden || unread, blind: above.blind || unread };
        let mut names = BTreeSet::new();
        if source.is_some() {
            names.extend(self.source.listed(path));
        }
        if destination.is_some() {
            names.extend(self.destination.children(path));
        }
        let mut wanted = Wanted::new();
        for name in names {
            let below = path.join(&name);
            let s = source.filter(|()| self.source.listed(path).contains(&name));
            let d = destination.and_then(|()| self.destination.get(&below));
            let unseen = d.is_some() && !self.destination.listed(path).contains(&name);
            if sight.blind && (unseen || d.is_none()) {
                wanted.extend(self.as_it_is(&below));
            } else {
                wanted.extend(self.name(&below, s.and_then(|()| self.source.get(&below)), d, sight));
            }
        }
        wanted
    }

    fn name(&self, path: &RelPath, s: Option<&Inode>, d: Option<&Inode>, sight: Sight) -> Wanted {
        let is_directory =
            |inode: Option<&Inode>| inode.filter(|inode| inode.kind == Kind::Directory).map(|_| ());
        let with = |inode: &Inode, mut below: Wanted| {
            below.insert(path.clone(), inode.clone());
            below
        };
        match (judgement(path.name(), s.or(d).unwrap().kind), s, d) {
            (Judgement::Excluded, ..) => self.as_it_is(path),
            (Judgement::Through, Some(s), None) => {
                let below = self.directory(path, Some(()), None, sight);
                if below.is_empty() { below } else { with(s, below) }
            }
            (Judgement::Through, _, Some(d)) if d.kind != Kind::Directory => self.as_it_is(path),
            (Judgement::Through, _, Some(d)) => {
                with(d, self.directory(path, is_directory(s), Some(()), sight))
            }
            (Judgement::Through, None, None) => unreachable!(),
            (Judgement::Selected, Some(s), None) => {
                with(s, self.directory(path, is_directory(Some(s)), None, sight))
            }
            (Judgement::Selected, None, _) => self.extra(path, sight),
            (Judgement::Selected, Some(s), Some(d)) if s.kind != d.kind => {
                self.kind_change(path, s, d, sight)
            }
            (Judgement::Selected, Some(s), Some(d)) => {
                let differs =
                    s.target != d.target || (s.kind == Kind::File && (s.size, s.time) != (d.size, d.time));
                let may = match self.rule.overwrite {
                    Overwrite::Changed => true,
                    Overwrite::Newer => s.time >= d.time,
                    Overwrite::Never => false,
                };
                if differs && !may {
                    return self.as_it_is(path);
                }
                let both = is_directory(Some(s));
                with(s, self.directory(path, both, both, sight))
            }
        }
    }

    fn extra(&self, path: &RelPath, sight: Sight) -> Wanted {
        if self.rule.mode == Mode::Backup || sight.guarded {
            return self.as_it_is(path);
        }
        if !self.destination.is_directory(path) {
            return Wanted::new();
        }
        if self.destination.unreadable.contains(path) {
            return self.as_it_is(path);
        }
        let mut below = self.directory(path, None, Some(()), sight);
        if !below.is_empty() {
            below.insert(path.clone(), self.destination.get(path).unwrap().clone());
        }
        below
    }

    fn kind_change(&self, path: &RelPath, s: &Inode, d: &Inode, sight: Sight) -> Wanted {
        let hidden = self.source.unreadable.contains(path);
        if self.rule.overwrite == Overwrite::Never || sight.guarded || hidden {
            return self.as_it_is(path);
        }
        if d.kind == Kind::Directory {
            let refused = self.rule.mode == Mode::Backup && self.rule.versions == Versions::None;
            if refused || self.is_holding(path) {
                return self.as_it_is(path);
            }
        }
        let source = (s.kind == Kind::Directory).then_some(());
        let mut below = self.directory(path, source, None, sight);
        below.insert(path.clone(), s.clone());
        below
    }

    /// Whether something at or below a directory of the destination must stay.
    fn is_holding(&self, path: &RelPath) -> bool {
        self.destination.names.keys().filter(|other| other.is_within(path)).any(|other| {
            self.destination.unreadable.contains(other)
                || (other != path
                    && judgement(other.name(), self.destination.kind(other).unwrap()) != Judgement::Selected)
        })
    }

    fn as_it_is(&self, path: &RelPath) -> Wanted {
        let names = self.destination.names.keys().filter(|other| other.is_within(path));
        names.map(|other| (other.clone(), self.destination.get(other).unwrap().clone())).collect()
    }
}
