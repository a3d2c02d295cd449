//! What the catalog knows of content: digests fit the files as they are, and `readback` finds what was not written as it was meant.

use std::path::Path;

use super::bed::{Bed, chmod, touch};
use super::durability::child;
use crate::job::{Method, Verify};
use crate::value::Digest;

fn digest(content: &[u8]) -> Digest {
    Digest(*blake3::hash(content).as_bytes())
}

/// More than one block of the bed's engine, and not a multiple of anything.
fn large() -> Vec<u8> {
    (0..300_007u32).map(|at| (at * 7 + at / 251).to_le_bytes()[0]).collect()
}

#[test]
fn digests_fit_what_was_copied_linked_and_mended() {
    for workers in [1, 3] {
        let mut bed = Bed::new();
        bed.workers = workers;
        bed.write("source/d/small", "small");
        bed.write("source/d/large", large());
        bed.write("source/replaced", "new");
        bed.write("destination/replaced", "old content");
        bed.write("source/leader", "linked");
        std::fs::hard_link(bed.path("source/leader"), bed.path("source/d/name")).unwrap();
        std::fs::hard_link(bed.path("source/leader"), bed.path("source/d/other")).unwrap();
        let planned = bed.planned();
        assert_eq!(planned.execute().failures, []);
        let known = |path: &str| planned.row(path).and_then(|row| row.digest);
        assert_eq!(known("d/small"), Some(digest(b"small")));
        assert_eq!(known("d/large"), Some(digest(&large())));
        assert_eq!(known("replaced"), Some(digest(b"new")));
        // The first in the plan's order passed through the queues; the others are its links.
        assert_eq!(known("d/name"), Some(digest(b"linked")), "its links have changed its ctime");
        assert!(planned.row("leader").is_some() && planned.row("d/other").is_some());
        drop(planned);

        chmod(&bed.path("source/d/small"), 0o600);
        chmod(&bed.path("source/leader"), 0o600);
        bed.write("destination/replaced", "bad");
        chmod(&bed.path("source/replaced"), 0o600);
        let mut planned = bed.planned();
        // One action mends an inode, whatever the number of its names.
        let further: Vec<&[u8]> = vec![b"leader", b"other"];
        let plan = planned.plan.clone();
        planned.plan.actions.retain(|action| !further.contains(&plan.name(action)));
        assert_eq!(planned.execute().failures, []);
        bed_is_quiet(&bed);
        let known = |path: &str| planned.row(path).and_then(|row| row.digest);
        assert_eq!(known("d/small"), Some(digest(b"small")));
        assert_eq!(known("d/name"), Some(digest(b"linked")));
        assert!(planned.row("leader").is_some(), "every name of a mended inode is brought up to date");
        assert_eq!(
            planned.row("replaced").map(|row| row.digest),
            Some(None),
            "what somebody else wrote has no digest for being mended"
        );
    }
}

fn bed_is_quiet(bed: &Bed) {
    let planned = bed.planned();
    assert_eq!(planned.plan.actions.len(), 0, "{:?}", planned.plan.actions);
}

#[test]
fn what_is_read_back_is_recorded_with_the_run() {
    for (method, versions) in
        [(Method::Buffered, true), (Method::Unbuffered, true), (Method::Unbuffered, false)]
    {
        let mut bed = Bed::new();
        if !versions {
            bed = bed.without_versions();
        }
        bed.workers = 3;
        bed.rule.engine.method = method;
        bed.write("source/small", "small");
        bed.write("source/empty", "");
        bed.write("source/large", large());
        bed.write("source/replaced", large());
        bed.write("destination/replaced", "old content");
        std::fs::hard_link(bed.path("source/large"), bed.path("source/name")).unwrap();
        bed.rule.verify = Verify::Readback;
        let planned = bed.planned();
        let outcome = planned.execute();
        assert_eq!(outcome.failures, []);
        let past_cache = outcome.warnings.is_empty();
        for name in ["small", "empty", "large", "replaced"] {
            let row = planned.row(name).unwrap();
            assert_eq!(row.read_back.is_some(), past_cache, "{name}");
            assert!(row.read_back.is_none_or(|at| at == planned.run.time()), "{name}");
        }
        drop(planned);
        bed.assert_equal();

        // A later run that copies without it says nothing of having read anything back.
        bed.rule.verify = Verify::None;
        bed.write("source/small", "SMALL");
        touch(&bed.path("source/small"), 1_000_000_009);
        let planned = bed.planned();
        assert_eq!(planned.execute().failures, []);
        assert_eq!(planned.row("small").unwrap().read_back, None);
        assert_eq!(planned.row("large").unwrap().read_back.is_some(), past_cache);
    }
}

/// The mutating calls of a run, as the fault point numbers them.
fn traced(bed: &Bed) -> Vec<String> {
    let trace = bed.path("trace");
    let output = child(bed).env("TWINLANE_FAULT_TRACE", &trace).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    calls(&trace)
}

fn calls(trace: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(trace).unwrap();
    text.lines().filter_map(|line| line.strip_prefix("Mutating ")).map(str::to_owned).collect()
}

/// The number of the first write into a stage file.
fn first_content_write(calls: &[String]) -> u32 {
    let staged = |call: &&String| call.contains(" Create .twinlane-");
    let from = calls.iter().position(|call| staged(&call)).unwrap();
    let write = calls.iter().skip(from).find(|call| call.contains(" Write")).unwrap();
    write.split(' ').next().unwrap().parse().unwrap()
}

/// One file that is replaced, with a size and a way that its bytes take.
fn one_file(content: &[u8], method: Method, verify: Verify, versions: bool) -> Bed {
    let mut bed = Bed::new();
    if !versions {
        bed = bed.without_versions();
    }
    bed.rule.engine.method = method;
    bed.rule.verify = verify;
    bed.write("source/f", content);
    bed.write("destination/f", "old content");
    bed
}

#[test]
fn a_bit_that_is_spoilt_on_the_way_is_found_by_readback_alone() {
    let large = large();
    for (content, method, versions) in [
        (&b"small"[..], Method::Buffered, true),
        (&large[..], Method::Buffered, false),
        (&large[..], Method::Unbuffered, true),
    ] {
        let case = format!("{} bytes, {method:?}, versions {versions}", content.len());
        let make = |verify| one_file(content, method, verify, versions);
        let number = first_content_write(&traced(&make(Verify::None)));

        let bed = make(Verify::None);
        let output = child(&bed).env("TWINLANE_FAULT", format!("flip@{number}")).output().unwrap();
        assert!(output.status.success(), "{case}");
        let spoilt = std::fs::read(bed.path("destination/f")).unwrap();
        assert_eq!(spoilt.len(), content.len(), "{case}");
        assert!(spoilt != content, "{case}: without readback nobody notices");

        let bed = make(Verify::Readback);
        let trace = bed.path("trace");
        let output = child(&bed)
            .env("TWINLANE_FAULT", format!("flip@{number}"))
            .env("TWINLANE_FAULT_TRACE", &trace)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("failures: []"), "{case}: {said}");
        assert!(std::fs::read(bed.path("destination/f")).unwrap() == content, "{case}");
        let staged = calls(&trace).iter().filter(|call| call.contains(" Create .twinlane-")).count();
        assert_eq!(staged, 2, "{case}: written anew");
        bed.assert_equal();

        let bed = make(Verify::Readback);
        let output = child(&bed).env("TWINLANE_FAULT", format!("flip@{number}+")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("Failed") && said.contains("read back"), "{case}: {said}");
        assert_eq!(bed.read("destination/f"), "old content", "{case}");
        assert_eq!(super::bed::stages(&bed.destination).len(), 0, "{case}");
    }
}
