//! Equal sizes under other times are settled by content; what is recorded of the destination stands for reading it.

use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::value::{Digest, Meta, RelPath};

/// Says of every file of the destination that it holds these bytes, and counts how often it is asked.
struct Recorded {
    content: &'static str,
    asked: &'static AtomicU64,
}

impl Digests for Recorded {
    fn digest(&self, path: &RelPath, meta: &Meta) -> Option<Digest> {
        assert_eq!((path.to_string().as_str(), meta.size), ("d/f", self.content.len() as u64));
        self.asked.fetch_add(1, Ordering::Relaxed);
        Some(Digest(*blake3::hash(self.content.as_bytes()).as_bytes()))
    }
}

fn touched() -> Bench {
    let mut bench = Bench::new();
    bench.rule.compare = Comparison::MtimeThenHash;
    bench.both("d/f", "good");
    touch(&bench.path("s/d/f"), THEN + 9);
    bench
}

#[test]
fn another_time_is_settled_by_content() {
    let bench = touched();
    bench.file("s/blind", "aaaa");
    bench.file("t/blind", "bbbb");
    bench.file("s/size", "1");
    bench.file("t/size", "22");
    bench.file("s/edited", "1111");
    touch(&bench.file("t/edited", "2222"), THEN + 9);
    bench.both("empty", "");
    touch(&bench.path("t/empty"), THEN + 9);
    bench.check(&["edited Content Older", "empty times", "size Size Equal", "d/f times"]);
}

#[test]
fn a_recorded_digest_stands_for_the_destination() {
    static ASKED: AtomicU64 = AtomicU64::new(0);
    let mut bench = touched();
    bench.file("t/d/f", "evil");
    bench.check(&["d/f Content Newer"]);
    bench.known = Some(Box::new(Recorded { content: "good", asked: &ASKED }));
    bench.check(&["d/f times"]);
    assert_eq!(ASKED.load(Ordering::Relaxed), 1);
    bench.known = Some(Box::new(Recorded { content: "else", asked: &ASKED }));
    bench.check(&["d/f Content Newer"]);
}

#[test]
fn hash_takes_nothing_on_trust() {
    static ASKED: AtomicU64 = AtomicU64::new(0);
    let mut bench = touched();
    bench.known = Some(Box::new(Recorded { content: "evil", asked: &ASKED }));
    bench.rule.compare = Comparison::Hash;
    bench.check(&["d/f times"]);
    bench.file("t/d/f", "evil");
    bench.known = Some(Box::new(Recorded { content: "good", asked: &ASKED }));
    bench.check(&["d/f Content Newer"]);
    assert_eq!(ASKED.load(Ordering::Relaxed), 0);
}

#[test]
fn where_times_are_not_kept_only_a_later_source_is_read() {
    let mut bench = touched();
    bench.rule.preserve.times = false;
    bench.check(&[]);
    bench.file("t/d/f", "evil");
    bench.check(&["d/f Content Newer"]);
    touch(&bench.path("t/d/f"), THEN + 99);
    bench.check(&[]);
    let unread = bench.settle().march_with(&Cancel::new(), None, &ScanMeter::default());
    assert_eq!(said(&unread), Vec::<String>::new(), "nothing was to be read");
}
