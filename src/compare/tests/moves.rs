//! Files that got another name: which are read, and what settles it.

use super::*;
use crate::value::{Digest, Meta, RelPath};

/// Worth a move; other bytes for each seed.
fn content(seed: &str) -> String {
    seed.repeat(70_000)
}

/// What the search finds after a march, as `to ← from`.
fn found(bench: &Bench, known: Option<&dyn Digests>, now: Stamp) -> Vec<String> {
    let draft = bench.settle().march();
    let (source, source_path) = open_root(&bench.path("s")).unwrap();
    let (destination, _) = open_root(&bench.path("t")).unwrap();
    let place = place_at(&source, &source_path).unwrap();
    let cancel = Cancel::new();
    let terms = MoveTerms {
        source: &source,
        destination: &destination,
        rule: &bench.rule,
        source_place: &place,
        place: &place,
        cancel: &cancel,
        threads: bench.threads,
        now,
    };
    let candidates = MoveCandidates::of(&draft, &terms);
    if candidates.is_empty() {
        return vec!["nothing is read".to_owned()];
    }
    let moves = candidates.settle(&terms, &engine(&cancel), known);
    moves.iter().map(|found| format!("{} ← {}", found.to, found.from)).collect()
}

const NOW: Stamp = Stamp { seconds: 2_000_000_000, nanos: 0 };

#[test]
fn only_files_that_agree_in_size_and_time_are_read() {
    let bench = Bench::new();
    bench.file("s/new", &content("a"));
    bench.file("t/old", &(content("a") + "b"));
    bench.both("same", &content("a"));
    assert_eq!(found(&bench, None, NOW), ["nothing is read"]);
    bench.file("t/other", &content("b"));
    assert_eq!(found(&bench, None, NOW), Vec::<String>::new(), "read, and other content");
    bench.file("t/right", &content("a"));
    assert_eq!(found(&bench, None, NOW), ["new ← right"]);
}

#[test]
fn equal_content_is_paired_in_the_order_of_paths_extra_names_first() {
    let mut bench = Bench::new();
    for name in ["s/x/1", "s/x/2", "s/y", "t/a/1", "t/b"] {
        bench.file(name, &content("c"));
    }
    // Under this name both sides have something: a chain comes last.
    bench.file("t/0", &content("c"));
    touch(&bench.file("s/0", &content("d")), THEN + 1);
    for threads in [1, 4] {
        bench.threads = threads;
        assert_eq!(found(&bench, None, NOW), ["x/1 ← a/1", "x/2 ← b", "y ← 0"]);
    }
}

#[test]
fn a_file_that_was_just_written_is_no_move() {
    let bench = Bench::new();
    bench.file("s/new", &content("a"));
    bench.file("t/old", &content("a"));
    assert_eq!(
        found(&bench, None, Stamp { seconds: THEN.cast_signed(), nanos: 5_000_000 }),
        ["nothing is read"]
    );
    assert_eq!(found(&bench, None, Stamp { seconds: THEN.cast_signed(), nanos: 10_000_000 }), ["new ← old"]);
}

struct Known(Digest);

impl Digests for Known {
    fn digest(&self, _: &RelPath, _: &Meta) -> Option<Digest> {
        Some(self.0)
    }
}

#[test]
fn what_the_destination_holds_is_not_read_where_it_is_known() {
    let bench = Bench::new();
    bench.file("s/new", &content("a"));
    bench.file("t/old", &content("b"));
    let right = Digest(*blake3::hash(content("a").as_bytes()).as_bytes());
    assert_eq!(found(&bench, Some(&Known(right)), NOW), ["new ← old"]);
    assert_eq!(found(&bench, Some(&Known(Digest([0; 32]))), NOW), Vec::<String>::new());
}
