//! Everything but the meaning of patterns: the two lists together, names of any bytes, predicates, markers, depth.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::tree::{NOW, Tree, filter, meta, selecting, spec};
use crate::filter::{Age, DirectoryFacts, Filter, FilterSpec, Judgement, PatternError, PatternList, Select};
use crate::value::{ByteCount, Case, Kind, Stamp};

fn check(exclude: &str, include: &str, tree: &str, selected: &str) {
    assert_eq!(
        Tree::of(tree).selected(&filter(exclude, include)),
        selected,
        "exclude {exclude:?} include {include:?}"
    );
}

fn judge(filter: &Arc<Filter>, path: &str) -> Judgement {
    Tree::of(path).judge(filter)[path.trim_end_matches('/').as_bytes()]
}

#[test]
fn include_chooses_non_directories_and_a_matched_directory_takes_all_below_it() {
    let tree = "a.jpg b.raw d/c.jpg d/e.txt keep/x keep/y/z";
    check("", "", tree, "a.jpg b.raw d d/c.jpg d/e.txt keep keep/x keep/y keep/y/z");
    check("", "*.jpg", tree, "a.jpg d d/c.jpg keep keep/y");
    check("", "*.jpg\nkeep/", tree, "a.jpg d d/c.jpg keep keep/x keep/y keep/y/z");
    check("", "/keep/y", tree, "d keep keep/y keep/y/z");
    check("", "keep/\n!keep/x", tree, "d keep keep/y keep/y/z");
    check("", "*\n!*.jpg", tree, "b.raw d d/e.txt keep keep/x keep/y keep/y/z");
}

#[test]
fn exclude_is_judged_before_include() {
    let tree = "a.jpg d/b.jpg d/c/e.jpg";
    check("d/", "*.jpg", tree, "a.jpg");
    check("d/\n!d/c/", "*.jpg", tree, "a.jpg d/c d/c/e.jpg");
    check("*.jpg\n!e.jpg", "d/", tree, "d d/c d/c/e.jpg");
}

#[test]
fn comments_alone_are_an_empty_list() {
    check("# nothing\n", "# nothing\n\n", "a d/b", "a d d/b");
}

#[test]
fn an_include_that_includes_nothing_is_refused() {
    let errors = Filter::compile(&spec("", "!*.tmp"), NOW).unwrap_err();
    assert_eq!((errors.len(), errors[0].list, errors[0].index), (1, PatternList::Include, 0));
}

#[test]
fn every_refused_pattern_is_named_with_its_place() {
    let errors = Filter::compile(&spec("ok\n[a\n\na//b", "./x\nok"), NOW).unwrap_err();
    let places: Vec<(PatternList, usize)> =
        errors.iter().map(|PatternError { list, index, .. }| (*list, *index)).collect();
    assert_eq!(places, [(PatternList::Exclude, 1), (PatternList::Exclude, 3), (PatternList::Include, 0)]);
    assert!(errors[0].message.contains("`[` has no `]`"), "{errors:?}");
}

#[test]
fn an_excluded_directory_is_entered_only_where_something_below_may_come_back() {
    for (exclude, directory, judgement) in [
        ("target/", "target/", Judgement::Excluded),
        ("target/\n!target/doc/", "target/", Judgement::Through),
        ("target/\n!target/doc/", "x/target/", Judgement::Excluded),
        ("target/\n!/target/doc/", "target/doc/", Judgement::Selected),
        ("target/\n!target/doc/", "target/build/", Judgement::Excluded),
        ("target/\n!target/*/doc/", "target/build/", Judgement::Through),
        ("target/\n!target/*/doc/", "target/a/b/", Judgement::Excluded),
        ("target/\n!target/**/doc/", "target/a/b/", Judgement::Through),
        ("target/\n!*.c", "target/a/", Judgement::Through),
        ("target\n!*.c", "target", Judgement::Excluded),
        ("!*.c\nother/x\ntarget/", "target/", Judgement::Through),
        ("!elsewhere/x\ntarget/", "target/", Judgement::Excluded),
    ] {
        assert_eq!(judge(&filter(exclude, ""), directory), judgement, "{exclude:?} {directory}");
    }
}

#[test]
fn bc_58_what_is_excluded_stays_unspoken_of() {
    let cache = filter("cache/", "");
    assert_eq!(judge(&cache, "one"), Judgement::Selected);
    assert_eq!(judge(&cache, "cache/"), Judgement::Excluded);
    assert_eq!(judge(&cache, "cache/x"), Judgement::Excluded);
}

#[test]
fn bc_60_contents_but_not_the_directory() {
    check("proc/", "", "proc/1/x", "");
    check("proc/*", "", "proc/1/x", "proc");
    check("proc/**", "", "proc/1/x", "proc");
}

#[test]
fn bc_22_names_that_are_not_utf_8() {
    let mut tree = Tree::default();
    for path in [b"a\xffb".as_slice(), b"\xe9", b"d\xff/xx", b"\xc3"] {
        tree.add(path);
    }
    let excluded = |patterns: &str, case: Case| {
        let filter = Filter::compile(&FilterSpec { case, ..spec(patterns, "") }, NOW).unwrap();
        let judgements = tree.judge(&filter).into_iter();
        judgements
            .filter(|(_, judgement)| *judgement == Judgement::Excluded)
            .map(|(path, _)| path)
            .collect::<Vec<_>>()
    };
    for case in [Case::Sensitive, Case::Insensitive] {
        assert_eq!(excluded("a?b", case), [b"a\xffb"]);
        assert_eq!(excluded("?", case), [b"\xc3", b"\xe9"]);
        assert_eq!(excluded("[!a-z]", case), [b"\xc3", b"\xe9"]);
        assert_eq!(excluded("/d*/", case), [b"d\xff".as_slice(), b"d\xff/xx"]);
        assert_eq!(excluded("\u{e9}", case), Vec::<Vec<u8>>::new());
    }
}

#[test]
fn bc_22_an_ignore_file_may_name_bytes_that_are_not_utf_8() {
    let select = Select { ignore_files: vec![".gitignore".into()], ..Select::default() };
    let facts =
        DirectoryFacts { ignore_texts: vec![b"a\xffb\n[\xe9]x\n".to_vec()], ..DirectoryFacts::default() };
    let level = selecting(select).root(&facts);
    for (name, judgement) in [
        (b"a\xffb".as_slice(), Judgement::Excluded),
        (b"a\xfeb", Judgement::Selected),
        (b"\xe9x", Judgement::Excluded),
        ("éx".as_bytes(), Judgement::Selected),
    ] {
        assert_eq!(level.judge(name, &meta(Kind::File)), judgement, "{name:?}");
    }
}

#[test]
fn bc_23_names_with_special_characters_are_filtered_literally() {
    for (name, pattern) in [
        ("a\nb", "a\nb"),
        ("a\tb", "a\tb"),
        ("-rf", "-rf"),
        ("--delete", "--delete"),
        ("*", "\\*"),
        ("[x]", "\\[x]"),
        ("[x]", "[[]x]"),
        ("{a}", "{a}"),
        ("\\", "\\\\"),
        ("!x", "\\!x"),
        ("#x", "\\#x"),
        (" lead", " lead"),
        ("trail ", "trail\\ "),
        ("trail ", "trail?"),
    ] {
        let filter =
            Filter::compile(&FilterSpec { exclude: vec![pattern.to_owned()], ..spec("", "") }, NOW).unwrap();
        let level = filter.root(&DirectoryFacts::default());
        assert_eq!(
            level.judge(name.as_bytes(), &meta(Kind::File)),
            Judgement::Excluded,
            "{name:?} by {pattern:?}"
        );
        let other = name.replace(|letter: char| !letter.is_alphanumeric(), "z");
        assert_eq!(
            level.judge(format!("{other}z").as_bytes(), &meta(Kind::File)),
            Judgement::Selected,
            "{pattern:?}"
        );
    }
    let tree = Tree::of("* -rf --delete [x] {a} \\ !x #x ␣lead trail␣");
    assert!(tree.judge(&filter("", "")).values().all(|judgement| *judgement == Judgement::Selected));
}

#[test]
fn case_counts_or_does_not_for_every_list() {
    let insensitive = |exclude: &str, include: &str| {
        Filter::compile(&FilterSpec { case: Case::Insensitive, ..spec(exclude, include) }, NOW).unwrap()
    };
    let tree = Tree::of("ÄRGER.TXT ärger.txt Straße/Σ Keep.JPG");
    assert_eq!(tree.selected(&insensitive("ärger.*", "")), "Keep.JPG Straße Straße/Σ");
    assert_eq!(tree.selected(&insensitive("STRAßE/\n*.txt\n!/straße/ς", "")), "Keep.JPG Straße/Σ");
    assert_eq!(tree.selected(&insensitive("", "*.jpg")), "Keep.JPG Straße");
    assert_eq!(tree.selected(&filter("ärger.*", "")), "Keep.JPG Straße Straße/Σ ÄRGER.TXT");
}

fn ignoring(exclude: &str) -> Arc<Filter> {
    let select = Select { ignore_files: vec![".gitignore".into(), ".ignore".into()], ..Select::default() };
    Filter::compile(&FilterSpec { select, ..spec(exclude, "") }, NOW).unwrap()
}

#[test]
fn bc_98_an_ignore_file_never_widens_a_job() {
    let tree = Tree::of("secret d/secret d/open target/a")
        .with_ignore_text("", "!secret\n!*\n!target/\n!target/a")
        .with_ignore_text("d", "!secret");
    assert_eq!(tree.selected(&ignoring("secret\ntarget/")), "d d/open");
    assert_eq!(tree.selected(&ignoring("target/\n!nothing")), "d d/open d/secret secret");
}

#[test]
fn the_jobs_own_lines_have_the_last_word_over_ignore_files() {
    let tree = Tree::of("a.log b.log build/x build/y.o").with_ignore_text("", "*.log\nbuild/");
    assert_eq!(tree.selected(&ignoring("")), "");
    assert_eq!(tree.selected(&ignoring("!a.log")), "a.log");
    assert_eq!(tree.selected(&ignoring("!build/\n*.o")), "build build/x");
}

#[test]
fn a_later_ignore_file_of_one_directory_overrides_an_earlier_one() {
    let texts = |texts: [&str; 2]| DirectoryFacts {
        ignore_texts: texts.iter().map(|text| text.as_bytes().to_vec()).collect(),
        ..DirectoryFacts::default()
    };
    let tree = Tree::of("a.log b.log");
    assert_eq!(tree.clone().with_facts("", texts(["*.log", "!a.log"])).selected(&ignoring("")), "a.log");
    assert_eq!(tree.with_facts("", texts(["!a.log", "*.log"])).selected(&ignoring("")), "");
}

#[test]
fn facts_that_no_key_asks_for_change_nothing() {
    let facts = DirectoryFacts { ignore_texts: vec![b"*".to_vec()], has_marker: true, is_cache: true };
    let nothing = filter("", "");
    assert!(!nothing.wants_facts());
    assert_eq!(
        Tree::of("a d/b").with_facts("", facts.clone()).with_facts("d", facts).selected(&nothing),
        "a d d/b"
    );
    for select in [
        Select { exclude_caches: true, ..Select::default() },
        Select { exclude_if_present: vec![".nobackup".into()], ..Select::default() },
        Select { ignore_files: vec![".gitignore".into()], ..Select::default() },
    ] {
        assert!(selecting(select.clone()).wants_facts(), "{select:?}");
    }
}

#[test]
fn a_marker_takes_the_directory_with_all_below_it() {
    let marker = DirectoryFacts { has_marker: true, ..DirectoryFacts::default() };
    let select = Select { exclude_if_present: vec![".nobackup".into()], ..Select::default() };
    let tree = Tree::of("a d/.nobackup d/e/f").with_facts("d", marker.clone());
    assert_eq!(tree.selected(&selecting(select.clone())), "a");
    let back = Filter::compile(&FilterSpec { select: select.clone(), ..spec("!f\n!d/", "") }, NOW).unwrap();
    assert_eq!(tree.selected(&back), "a");
    let root = selecting(select).root(&marker);
    assert!(root.excludes_all());
    assert!(root.enter(b"below", &DirectoryFacts::default()).excludes_all());
    assert_eq!(root.judge(b"a", &meta(Kind::File)), Judgement::Excluded);
}

#[test]
fn a_cache_is_kept_with_its_tag_alone() {
    let cache = DirectoryFacts { is_cache: true, ..DirectoryFacts::default() };
    let select = Select { exclude_caches: true, ..Select::default() };
    let tree = Tree::of("a c/CACHEDIR.TAG c/x c/d/CACHEDIR.TAG c/cachedir.tag e/CACHEDIR.TAG e/y")
        .with_facts("c", cache);
    assert_eq!(tree.selected(&selecting(select.clone())), "a c c/CACHEDIR.TAG e e/CACHEDIR.TAG e/y");
    let excluded = Filter::compile(&FilterSpec { select, ..spec("c/\n!c/x", "") }, NOW).unwrap();
    assert_eq!(tree.selected(&excluded), "a e e/CACHEDIR.TAG e/y");
}

#[test]
fn sizes_and_ages_choose_among_files_alone() {
    let mut tree = Tree::of("d/ d/f");
    for (name, size, seconds_old) in
        [("small", 9, 10), ("ten", 10, 100), ("twenty", 20, 1000), ("large", 21, -5)]
    {
        let modified = Stamp::from_seconds(NOW.seconds - seconds_old);
        tree.add_with(name.as_bytes(), crate::value::Meta { size, modified, ..meta(Kind::File) });
    }
    for kind in [Kind::Symlink, Kind::Fifo] {
        let old = crate::value::Meta { size: 0, modified: Stamp::from_seconds(-1), ..meta(kind) };
        tree.add_with(kind.word().as_bytes(), old);
    }
    let check = |select: Select, selected: &str| assert_eq!(tree.selected(&selecting(select)), selected);
    let bytes = |count| Some(ByteCount(count));
    let span = |seconds| Some(Age::Span(Duration::from_secs(seconds)));
    let date = |seconds_old| Some(Age::Date(Stamp::from_seconds(NOW.seconds - seconds_old)));
    let none = Select::default;
    check(Select { min_size: bytes(10), max_size: bytes(20), ..none() }, "d fifo symlink ten twenty");
    check(Select { newer_than: span(100), ..none() }, "d fifo large small symlink ten");
    check(Select { older_than: span(100), ..none() }, "d d/f fifo symlink ten twenty");
    check(
        Select { newer_than: date(1000), older_than: date(10), ..none() },
        "d fifo small symlink ten twenty",
    );
    check(
        Select { newer_than: Some(Age::Span(Duration::MAX)), ..none() },
        "d d/f fifo large small symlink ten twenty",
    );
    check(Select { older_than: Some(Age::Span(Duration::MAX)), ..none() }, "d fifo symlink");
}

#[test]
fn depth_counts_components_from_the_root() {
    let tree = Tree::of("a d/b d/e/c");
    let check = |max_depth, selected: &str| {
        assert_eq!(
            tree.selected(&selecting(Select { max_depth: Some(max_depth), ..Select::default() })),
            selected
        );
    };
    check(0, "");
    check(1, "a d");
    check(2, "a d d/b d/e");
    check(3, "a d d/b d/e d/e/c");
    let select = Select { max_depth: Some(1), ..Select::default() };
    let excluding = Filter::compile(&FilterSpec { select, ..spec("d/\n!b", "") }, NOW).unwrap();
    assert_eq!(judge(&excluding, "d/"), Judgement::Excluded, "nothing below it is in reach");
}

/// Pattern-like texts: mostly the characters that mean something.
fn pattern() -> impl Strategy<Value = String> {
    proptest::string::string_regex(r"(\PC|[ab/*?!\[\]\\#. ^:-]){0,24}").unwrap()
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![Just(b'a'), Just(b'.'), Just(b'*'), Just(b'\\'), 1..=u8::MAX];
    let byte = byte.prop_filter("a name holds no slash", |byte| *byte != b'/');
    proptest::collection::vec(byte, 1..20)
}

fn case() -> impl Strategy<Value = Case> {
    prop_oneof![Just(Case::Sensitive), Just(Case::Insensitive)]
}

proptest! {
    #[test]
    fn nothing_panics_and_nothing_below_the_depth_is_selected(
        exclude in proptest::collection::vec(pattern(), 0..6),
        include in proptest::collection::vec(pattern(), 0..3),
        ignore in proptest::collection::vec(any::<u8>(), 0..60),
        names in proptest::collection::vec(name(), 1..6),
        case in case(),
        max_depth in proptest::option::of(0..6u32),
    ) {
        let select = Select { max_depth, ignore_files: vec![".ignore".into()], ..Select::default() };
        let spec = FilterSpec { exclude, include, case, select };
        if let Ok(filter) = Filter::compile(&spec, NOW) {
            let facts = DirectoryFacts { ignore_texts: vec![ignore], ..DirectoryFacts::default() };
            let mut level = filter.root(&facts);
            for (depth, name) in (1..).zip(&names) {
                for kind in [Kind::File, Kind::Directory] {
                    let judgement = level.judge(name, &meta(kind));
                    prop_assert!(judgement == Judgement::Excluded || max_depth.is_none_or(|most| depth <= most));
                    prop_assert!(judgement != Judgement::Through || kind == Kind::Directory);
                }
                level = level.enter(name, &facts);
            }
        }
    }

    /// An excluded directory may be skipped unseen: going in all the same would select nothing.
    #[test]
    fn nothing_below_an_excluded_directory_would_have_been_selected(
        exclude in proptest::collection::vec("!?(/|\\*\\*/)?[ab*]{1,2}(/[ab*]{1,2}){0,2}(/\\*\\*)?/?", 1..6),
        names in proptest::collection::vec("[ab]{1,2}", 1..5),
        case in case(),
    ) {
        let spec = FilterSpec { exclude, case, ..spec("", "") };
        let filter = Filter::compile(&spec, NOW).unwrap();
        let mut level = filter.root(&DirectoryFacts::default());
        let mut skipped = false;
        for name in &names {
            for kind in [Kind::File, Kind::Directory] {
                let judgement = level.judge(name.as_bytes(), &meta(kind));
                prop_assert!(!skipped || judgement == Judgement::Excluded, "{:?} {:?}", spec.exclude, names);
            }
            skipped |= level.judge(name.as_bytes(), &meta(Kind::Directory)) == Judgement::Excluded;
            level = level.enter(name.as_bytes(), &DirectoryFacts::default());
        }
    }

    /// Long runs of `*` take no more than pattern length times name length.
    #[test]
    fn many_stars_end_soon(stars in 1..200usize) {
        let filter = Filter::compile(&FilterSpec { exclude: vec!["a*".repeat(stars) + "b"], ..spec("", "") }, NOW).unwrap();
        let level = filter.root(&DirectoryFacts::default());
        prop_assert_eq!(level.judge(&[b'a'; 255], &meta(Kind::File)), Judgement::Selected);
    }
}
