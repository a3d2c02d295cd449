//! Literal trees and the walk over them, as a walker would do it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::filter::{DirectoryFacts, Filter, FilterSpec, Judgement, Level, Select};
use crate::value::{Case, Kind, Meta, Stamp};

/// The moment that ages are counted from.
pub const NOW: Stamp = Stamp::from_seconds(1_000_000_000);

/// Paths below a root with their metadata; directories above them come by themselves.
#[derive(Clone, Default)]
pub struct Tree {
    entries: BTreeMap<Vec<u8>, Meta>,
    facts: BTreeMap<Vec<u8>, DirectoryFacts>,
}

/// Metadata of some entry of that kind: 100 bytes, an hour old.
pub fn meta(kind: Kind) -> Meta {
    Meta {
        kind,
        mode: 0o644,
        mount_root: false,
        links: 1,
        uid: 0,
        gid: 0,
        size: 100,
        allocated: 4096,
        modified: Stamp::from_seconds(NOW.seconds - 3600),
        changed: NOW,
        device: 1,
        inode: 1,
        special: 0,
    }
}

impl Tree {
    /// Paths separated by blanks, directories ending in `/`; `␣` stands for a blank in a name.
    pub fn of(paths: &str) -> Self {
        let mut tree = Self::default();
        for path in paths.split_whitespace() {
            tree.add(path.replace('␣', " ").as_bytes());
        }
        tree
    }

    pub fn add(&mut self, path: &[u8]) {
        let (path, kind) = path.strip_suffix(b"/").map_or((path, Kind::File), |path| (path, Kind::Directory));
        self.add_with(path, meta(kind));
    }

    pub fn add_with(&mut self, path: &[u8], own: Meta) {
        for (at, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            let above = self.entries.entry(path[..at].to_vec()).or_insert_with(|| meta(Kind::Directory));
            assert_eq!(
                above.kind,
                Kind::Directory,
                "the tree has a file above {}",
                String::from_utf8_lossy(path)
            );
        }
        self.entries.insert(path.to_vec(), own);
    }

    pub fn with_facts(mut self, directory: &str, facts: DirectoryFacts) -> Self {
        self.facts.insert(directory.as_bytes().to_vec(), facts);
        self
    }

    pub fn with_ignore_text(self, directory: &str, text: &str) -> Self {
        self.with_facts(
            directory,
            DirectoryFacts { ignore_texts: vec![text.into()], ..DirectoryFacts::default() },
        )
    }

    pub fn paths(&self) -> impl Iterator<Item = (&[u8], Kind)> {
        self.entries.iter().map(|(path, meta)| (&**path, meta.kind))
    }

    pub fn facts(&self, directory: &[u8]) -> DirectoryFacts {
        self.facts.get(directory).cloned().unwrap_or_default()
    }

    /// What the filter says of each path.
    pub fn judge(&self, filter: &Arc<Filter>) -> BTreeMap<Vec<u8>, Judgement> {
        let mut levels: BTreeMap<Vec<u8>, Level> = BTreeMap::new();
        levels.insert(Vec::new(), filter.root(&self.facts(b"")));
        let mut judgements = BTreeMap::new();
        // A directory sorts before what it holds, so its level is there when it is needed.
        for (path, meta) in &self.entries {
            let cut = path.iter().rposition(|&byte| byte == b'/');
            let (directory, name) = cut.map_or((&[][..], &path[..]), |at| (&path[..at], &path[at + 1..]));
            let judgement =
                levels.get(directory).map_or(Judgement::Excluded, |level| level.judge(name, meta));
            judgements.insert(path.clone(), judgement);
            if meta.kind == Kind::Directory && judgement != Judgement::Excluded {
                let level = levels[directory].enter(name, &self.facts(path));
                if level.excludes_all() {
                    judgements.insert(path.clone(), Judgement::Excluded);
                } else {
                    levels.insert(path.clone(), level);
                }
            }
        }
        judgements
    }

    /// The paths that are selected, joined by blanks.
    pub fn selected(&self, filter: &Arc<Filter>) -> String {
        let judgements = self.judge(filter);
        let selected = judgements.iter().filter(|(_, judgement)| **judgement == Judgement::Selected);
        let paths: Vec<_> = selected.map(|(path, _)| String::from_utf8_lossy(path).into_owned()).collect();
        paths.join(" ")
    }
}

/// A spec with these lists, a pattern a line.
pub fn spec(exclude: &str, include: &str) -> FilterSpec {
    let list = |text: &str| text.lines().map(str::to_owned).collect();
    FilterSpec {
        exclude: list(exclude),
        include: list(include),
        case: Case::Sensitive,
        select: Select::default(),
    }
}

/// The filter of such a spec.
pub fn filter(exclude: &str, include: &str) -> Arc<Filter> {
    Filter::compile(&spec(exclude, include), NOW).unwrap()
}

/// The filter of predicates alone.
pub fn selecting(select: Select) -> Arc<Filter> {
    Filter::compile(&FilterSpec { select, ..spec("", "") }, NOW).unwrap()
}
