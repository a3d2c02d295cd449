//! A march over some names of the roots, without extras, or with the equal ones.

use super::*;
use crate::value::RelPath;

fn names(pairs: &[(&str, &str)]) -> Vec<Named> {
    let one = |(source, destination): &(&str, &str)| Named {
        source: source.as_bytes().into(),
        destination: destination.as_bytes().into(),
    };
    pairs.iter().map(one).collect()
}

#[test]
fn named_entries_alone_are_compared_and_nothing_is_said_of_the_roots() {
    let mut bench = Bench::new();
    bench.file("s/dir/new", "1");
    bench.both("file", "1");
    bench.file("s/not", "asked for");
    bench.file("t/extra", "1");
    bench.names = Some(names(&[("dir", "dir"), ("file", "file")]));
    bench.settle();
    touch(&bench.path("s"), THEN + 1);
    let draft = bench.march();
    assert_eq!(said(&draft), ["dir New", ". through", "dir/new New"]);
    assert_eq!((draft.counts.source_entries, draft.counts.same, draft.counts.destination_kept), (3, 1, 0));
}

#[test]
fn a_root_that_is_to_be_made_only_holds_what_is_named() {
    let mut bench = Bench::new();
    bench.file("s/a", "1");
    bench.names = Some(names(&[("a", "a")]));
    bench.settle();
    std::fs::remove_dir(bench.path("t")).unwrap();
    assert_eq!(said(&bench.march()), ["a New", ". through"]);
}

#[test]
fn an_entry_may_have_another_name_in_the_destination() {
    let mut bench = Bench::new();
    bench.file("s/old", "1");
    bench.file("t/old", "another one");
    bench.names = Some(names(&[("old", "new")]));
    bench.check(&["new New", ". through"]);
    bench.file("t/new", "22");
    bench.check(&["new Size Equal", ". through"]);
    bench.file("t/new", "1");
    let draft = bench.check(&[". through"]);
    assert_eq!(draft.counts.same, 1);
}

#[test]
fn what_is_named_may_lie_beside_its_copy_and_not_around_it() {
    let mut bench = Bench::new();
    bench.file("s/dir/a", "1");
    bench.names = Some(names(&[("dir", "dir")]));
    std::fs::remove_dir(bench.path("t")).unwrap();
    symlink("s", bench.path("t")).unwrap();
    assert_eq!(said(&bench.march()), [". through"], "the same on both sides");
    std::fs::remove_file(bench.path("t")).unwrap();
    symlink("s/dir", bench.path("t")).unwrap();
    assert_eq!(bench.march().nested, Some((Side::Source, RelPath::parse(b"dir").unwrap())));
}

#[test]
fn extras_are_passed_by_and_equal_files_told_where_that_is_asked_for() {
    let mut bench = Bench::new();
    bench.rule.mode = Mode::Backup;
    bench.both("same", "1");
    bench.both("d/same", "1");
    bench.file("t/extra/deep/f", "1");
    bench.scope = Scope { extras: Extras::Pass, equals: Equals::Tell, ..Scope::default() };
    let draft = bench.check(&["same Same", ". kept 1", "d/same Same"]);
    assert_eq!((draft.counts.same, draft.counts.destination_entries), (3, 3));
}
