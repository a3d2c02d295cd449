//! What decided is what it says it is: the line that is named, and no other one.

use std::sync::Arc;

use proptest::prelude::*;

use super::tree::{NOW, Tree, meta, selecting, spec};
use crate::filter::{
    Cause, DirectoryFacts, Explanation, Filter, FilterSpec, Judgement, Level, PatternList, Predicate, Select,
};
use crate::value::{ByteCount, Kind};

const TREE: &str = "a b c/a c/b c/d/a c/d/b/a d/a d/c/ e/a/b/c e/b e/c/d";

/// All paths of the tree with what is said of them.
fn explained(tree: &Tree, filter: &Arc<Filter>) -> Vec<(Vec<u8>, Kind, Explanation)> {
    let mut levels: Vec<(Vec<u8>, Level)> = vec![(Vec::new(), filter.root(&tree.facts(b"")))];
    let mut all = Vec::new();
    for (path, kind) in tree.paths() {
        let cut = path.iter().rposition(|&byte| byte == b'/');
        let (directory, name) = cut.map_or((&[][..], path), |at| (&path[..at], &path[at + 1..]));
        let Some((_, level)) = levels.iter().find(|(path, _)| path == directory) else { continue };
        let explanation = level.explain(name, &meta(kind));
        if kind == Kind::Directory && explanation.judgement != Judgement::Excluded {
            let inside = level.enter(name, &tree.facts(path));
            levels.push((path.to_vec(), inside));
        }
        all.push((path.to_vec(), kind, explanation));
    }
    all
}

/// The first components of a path, and what kind of entry they lead to.
fn head(path: &[u8], kind: Kind, depth: usize) -> (Vec<u8>, Kind) {
    let parts: Vec<&[u8]> = path.split(|&byte| byte == b'/').collect();
    let kind = if depth == parts.len() { kind } else { Kind::Directory };
    (parts[..depth].join(&b'/'), kind)
}

/// Whether one line, without its `!`, matches exactly this path.
fn matches(line: &str, path: &[u8], kind: Kind) -> bool {
    let line = line.strip_prefix('!').unwrap_or(line);
    let Ok(filter) = Filter::compile(&spec(line, ""), NOW) else { return false };
    let names: Vec<&[u8]> = path.split(|&byte| byte == b'/').collect();
    let (name, above) = names.split_last().unwrap();
    let root = filter.root(&DirectoryFacts::default());
    let level = above.iter().fold(root, |level, name| level.enter(name, &DirectoryFacts::default()));
    let cause = level.explain_name(name, kind).cause;
    matches!(cause, Cause::Line { depth, .. } if depth == names.len())
}

/// Checks that the named line of a list is the last that matches at the named depth, and that none matches nearer to the entry.
fn check_line(lines: &[String], path: &[u8], kind: Kind, named: (usize, usize, bool)) {
    let (index, depth, negated) = named;
    let whole = path.split(|&byte| byte == b'/').count();
    assert_eq!(lines[index].starts_with('!'), negated, "{lines:?}");
    let (at, at_kind) = head(path, kind, depth);
    let shown = String::from_utf8_lossy(path);
    assert!(matches(&lines[index], &at, at_kind), "{lines:?}: line {index} does not match {shown}");
    for later in &lines[index + 1..] {
        assert!(!matches(later, &at, at_kind), "{lines:?}: {later} has the last word over {shown}");
    }
    for nearer in depth + 1..=whole {
        let (at, at_kind) = head(path, kind, nearer);
        for line in lines {
            assert!(!matches(line, &at, at_kind), "{lines:?}: {line} is nearer to {shown}");
        }
    }
}

fn lines() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("!?/?([a-e]|[a-e]/[a-e*]|\\*|\\*\\*/[a-e]|[a-e]/\\*\\*|\\[a-c\\])/?", 0..6)
}

proptest! {
    #[test]
    fn the_line_that_is_named_decided(exclude in lines(), include in lines()) {
        let tree = Tree::of(TREE);
        let spec = FilterSpec { exclude: exclude.clone(), include: include.clone(), ..spec("", "") };
        let Ok(filter) = Filter::compile(&spec, NOW) else { return Ok(()) };
        let judged = tree.judge(&filter);
        for (path, kind, Explanation { judgement, cause }) in explained(&tree, &filter) {
            prop_assert_eq!(judged[&path], judgement);
            match cause {
                Cause::Line { list, index, depth, negated } => {
                    let lines = if list == PatternList::Exclude { &exclude } else { &include };
                    check_line(lines, &path, kind, (index, depth, negated));
                    let speaks_for_it = negated == (list == PatternList::Exclude);
                    prop_assert_eq!(judgement == Judgement::Selected, speaks_for_it);
                }
                Cause::Nothing => prop_assert_eq!(judgement, Judgement::Selected),
                Cause::NotIncluded => {
                    prop_assert!(judgement == Judgement::Excluded && kind != Kind::Directory);
                    for line in &include {
                        for depth in 1..=path.split(|&byte| byte == b'/').count() {
                            let (at, at_kind) = head(&path, kind, depth);
                            prop_assert!(!matches(line, &at, at_kind));
                        }
                    }
                }
                Cause::IgnoreLine { .. } | Cause::Select(_) => prop_assert!(false, "there is neither"),
            }
        }
    }

    #[test]
    fn the_line_of_an_ignore_file_that_is_named_decided(text in lines(), below in lines()) {
        let joined = |lines: &[String]| lines.join("\n");
        let tree = Tree::of(TREE).with_ignore_text("", &joined(&text)).with_ignore_text("c", &joined(&below));
        let select = Select { ignore_files: vec![".ignore".into()], ..Select::default() };
        for (path, kind, Explanation { judgement, cause }) in explained(&tree, &selecting(select)) {
            let Cause::IgnoreLine { directory, file, line, depth, negated } = cause else {
                prop_assert_eq!((judgement, cause), (Judgement::Selected, Cause::Nothing));
                continue;
            };
            prop_assert_eq!((file, judgement == Judgement::Selected), (0, negated));
            let lines = if directory == 0 { &text } else { &below };
            prop_assert!(directory == 0 || path.starts_with(b"c/"));
            let (at, at_kind) = head(&path, kind, depth);
            let at = if directory == 0 { at } else { at[2..].to_vec() };
            prop_assert!(matches(&lines[line], &at, at_kind), "{lines:?}: {line}");
        }
    }
}

#[test]
fn predicates_are_named_before_patterns() {
    let cause = |select: Select, exclude: &str, facts: &DirectoryFacts, path: &str, kind: Kind| {
        let filter = Filter::compile(&FilterSpec { select, ..spec(exclude, "") }, NOW).unwrap();
        let mut level = filter.root(&DirectoryFacts::default());
        let names: Vec<&str> = path.split('/').collect();
        for name in &names[..names.len() - 1] {
            level = level.enter(name.as_bytes(), facts);
        }
        level.explain(names[names.len() - 1].as_bytes(), &meta(kind)).cause
    };
    let none = DirectoryFacts::default();
    let small = Select { min_size: Some(ByteCount(101)), ..Select::default() };
    let by = |predicate| Cause::Select(predicate);
    assert_eq!(cause(small.clone(), "a", &none, "a", Kind::File), by(Predicate::MinSize));
    assert_ne!(cause(small, "a", &none, "a", Kind::Directory), by(Predicate::MinSize));
    let large = Select { max_size: Some(ByteCount(99)), ..Select::default() };
    assert_eq!(cause(large, "", &none, "a", Kind::File), by(Predicate::MaxSize));
    let deep = Select { max_depth: Some(1), ..Select::default() };
    assert_eq!(cause(deep, "", &none, "d/a", Kind::File), by(Predicate::MaxDepth));
    let marked = Select { exclude_if_present: vec![".nobackup".into()], ..Select::default() };
    let holder = DirectoryFacts { has_marker: true, ..DirectoryFacts::default() };
    assert_eq!(cause(marked, "", &holder, "d/a", Kind::File), by(Predicate::ExcludeIfPresent));
    let caches = Select { exclude_caches: true, ..Select::default() };
    let cache = DirectoryFacts { is_cache: true, ..DirectoryFacts::default() };
    assert_eq!(cause(caches.clone(), "", &cache, "d/a", Kind::File), by(Predicate::ExcludeCaches));
    assert_eq!(cause(caches, "", &cache, "d/CACHEDIR.TAG", Kind::File), Cause::Nothing);
    assert_eq!(Predicate::OlderThan.key(), "older_than");
}
