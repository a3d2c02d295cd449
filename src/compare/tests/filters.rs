//! What the rule does not speak of stays.

use super::*;

fn excluding(patterns: &[&str]) -> Bench {
    let mut bench = Bench::new();
    bench.rule.exclude = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
    bench
}

#[test]
fn bc_58_excluded_entries_stay_and_are_not_compared() {
    let bench = excluding(&["cache/", "*.tmp"]);
    bench.both("one", "1");
    bench.file("t/cache/x", "1");
    bench.file("s/a.tmp", "22");
    bench.file("t/a.tmp", "1");
    bench.file("t/old/f", "1");
    bench.file("t/old/b.tmp", "1");
    let draft = bench.check(&["old Extra", ". kept 2", "old/f Extra", "old kept 1"]);
    assert_eq!((draft.counts.source_excluded, draft.counts.destination_kept), (1, 3));
    assert_eq!((draft.counts.source_entries, draft.counts.destination_entries), (1, 3));
}

#[test]
fn bc_57_directories_are_passed_through_to_what_is_included_again() {
    let bench = excluding(&["target/", "!target/doc/"]);
    bench.file("s/target/big", "1");
    bench.file("s/target/doc/f", "1");
    bench.file("t/target/big", "1");
    bench.file("s/gone/f", "1");
    let draft = bench.check(&[
        "gone New",
        "gone/f New",
        "target/doc New",
        "target kept 1",
        "target through",
        "target/doc/f New",
    ]);
    assert_eq!(draft.counts.source_entries, 4);
}

#[test]
fn new_directories_that_are_passed_through_are_told_with_those_above_them() {
    let bench = excluding(&["out/", "!in/out/a/doc/"]);
    bench.file("s/in/out/a/doc/f", "1");
    bench.file("s/in/out/a/big", "1");
    bench.directory("t/in");
    bench.check(&[
        "in/out New",
        "in/out/a New",
        "in/out through",
        "in/out/a/doc New",
        "in/out/a through",
        "in/out/a/doc/f New",
    ]);
}

#[test]
fn a_passed_through_directory_of_the_destination_stays() {
    let bench = excluding(&["target/", "!target/doc/"]);
    bench.file("t/target/doc/f", "1");
    bench.file("t/target/big", "1");
    bench.check(&[". kept 1", "target/doc Extra", "target kept 1", "target through", "target/doc/f Extra"]);
}

#[test]
fn a_passed_through_directory_does_not_replace_what_stands_there() {
    let bench = excluding(&["target/", "!target/doc/"]);
    bench.file("s/target/doc/f", "1");
    bench.file("t/target", "1");
    bench.check(&["target Conflict(KeptBelow)", ". kept 1"]);
}

#[test]
fn an_entry_on_both_sides_is_judged_by_the_sources() {
    let mut bench = Bench::new();
    bench.rule.select.max_size = Some(ByteCount(3));
    bench.file("s/grown", "4444");
    bench.file("t/grown", "1");
    bench.file("s/shrunk", "1");
    bench.file("t/shrunk", "4444");
    bench.file("t/large", "4444");
    bench.file("t/small", "1");
    bench.check(&["shrunk Size Equal", "small Extra", ". kept 2"]);
}

#[test]
fn ignore_files_of_the_source_count_and_of_the_destination_where_that_is_gone() {
    let mut bench = Bench::new();
    bench.rule.select.ignore_files = vec![".ignore".to_owned()];
    bench.file("s/d/.ignore", "*.o\n");
    bench.file("t/d/.ignore", "*.c\n");
    bench.file("t/d/a.o", "1");
    bench.file("t/d/a.c", "1");
    bench.file("t/gone/.ignore", "*.c\n");
    bench.file("t/gone/a.c", "1");
    bench.file("t/gone/a.o", "1");
    bench.check(&[
        "gone Extra",
        "d/a.c Extra",
        "d kept 1",
        "gone/.ignore Extra",
        "gone/a.o Extra",
        "gone kept 1",
    ]);
}

#[test]
fn an_ignore_file_that_cannot_be_known_fails_its_directory() {
    let mut bench = Bench::new();
    bench.rule.select.ignore_files = vec![".ignore".to_owned()];
    bench.file("s/d/.ignore", &"x\n".repeat(1 << 20));
    bench.file("t/d/f", "1");
    bench.file("t/e", "1");
    bench.check(&["e Extra", "d source not whole", "problem Source Subtree d"]);
}

#[test]
fn a_marker_leaves_a_directory_out_on_either_side() {
    let mut bench = Bench::new();
    bench.rule.select.exclude_if_present = vec![".nobackup".to_owned()];
    bench.file("s/new/.nobackup", "");
    bench.file("s/both/.nobackup", "");
    bench.file("t/both/f", "1");
    bench.file("t/old/.nobackup", "");
    bench.file("t/old/f", "1");
    bench.file("s/kind", "1");
    bench.file("t/kind/.nobackup", "");
    let draft = bench.check(&["kind Conflict(KeptBelow)", ". kept 3"]);
    assert_eq!((draft.counts.source_excluded, draft.counts.destination_kept), (2, 3));
}

#[test]
fn a_cache_is_kept_with_its_tag_alone() {
    let mut bench = Bench::new();
    bench.rule.select.exclude_caches = true;
    bench.file("s/c/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n# by a test\n");
    bench.file("s/c/f", "1");
    bench.file("s/no/CACHEDIR.TAG", "something else");
    bench.check(&["c New", "no New", "c/CACHEDIR.TAG New", "no/CACHEDIR.TAG New"]);
}

#[test]
fn bc_60_contents_but_not_the_directory() {
    let bench = excluding(&["proc/*"]);
    bench.file("s/proc/1/x", "1");
    bench.check(&["proc New"]);
    let bench = excluding(&["proc/"]);
    bench.file("s/proc/1/x", "1");
    bench.check(&[]);
}

fn clearing(patterns: &[&str]) -> Bench {
    Bench { excluded: ExcludedThere::Cleared, ..excluding(patterns) }
}

#[test]
fn bc_58_what_the_patterns_exclude_is_cleared_where_that_is_asked_for() {
    let mut bench = clearing(&["cache/", "*.tmp"]);
    bench.rule.select.min_size = Some(ByteCount(1));
    bench.rule.select.exclude_if_present = vec![".keep".to_owned()];
    bench.both("one", "1");
    bench.both("cache/deep/x", "1");
    bench.file("t/cache/empty", "");
    bench.file("t/cache/.keep", "");
    bench.file("t/a.tmp", "1");
    bench.file("s/b.tmp", "1");
    bench.file("t/empty", "");
    bench.file("t/marked/.keep", "");
    bench.file("t/marked/f.tmp", "1");
    let draft = bench.check(&[
        "a.tmp Excluded",
        "cache Excluded",
        ". kept 2",
        "cache/.keep Excluded",
        "cache/deep Excluded",
        "cache/empty Excluded",
        "cache/deep/x Excluded",
    ]);
    assert_eq!((draft.counts.source_excluded, draft.counts.destination_kept), (2, 2));
    assert_eq!(draft.counts.destination_entries, 7);
}

#[test]
fn what_is_included_again_is_not_cleared() {
    let bench = clearing(&["target/", "!target/doc/"]);
    bench.both("target/doc/f", "1");
    bench.both("target/big", "1");
    bench.file("t/old/target/big", "1");
    bench.file("t/alone/target/doc/f", "1");
    bench.check(&[
        "alone Extra",
        "old Extra",
        "alone/target Excluded",
        "alone/target/doc Excluded",
        "alone/target/doc/f Excluded",
        "old/target Excluded",
        "old/target/big Excluded",
        "target/big Excluded",
        "target through",
    ]);
    let bench = clearing(&["target/", "!target/doc/"]);
    bench.file("t/target/doc/f", "1");
    bench.file("t/target/big", "1");
    bench.check(&["target Excluded", "target/big Excluded", "target/doc Extra", "target/doc/f Extra"]);
}

#[test]
fn the_destinations_own_kind_says_whether_a_pattern_excludes_it() {
    let bench = clearing(&["d/"]);
    bench.directory("s/d");
    bench.file("t/d", "1");
    let draft = bench.check(&[". kept 1"]);
    assert_eq!((draft.counts.source_excluded, draft.counts.destination_kept), (1, 1));
}

#[test]
fn bc_58_files_that_no_include_chooses_are_cleared_too() {
    let mut bench = clearing(&[]);
    bench.rule.include = vec!["*.jpg".to_owned()];
    bench.both("a.jpg", "1");
    bench.both("a.raw", "1");
    bench.file("t/d/b.raw", "1");
    bench.check(&["a.raw Excluded", "d Extra", "d/b.raw Excluded"]);
}

#[test]
fn a_backup_clears_nothing() {
    let mut bench = clearing(&["*.tmp"]);
    bench.rule.mode = Mode::Backup;
    bench.both("a.tmp", "1");
    bench.check(&[". kept 1"]);
}
