//! How long the filter takes to judge an entry: with no patterns, and with those of a workstation's job.
//!
//! `cargo bench --bench filter`

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};

use twinlane::filter::{DirectoryFacts, Filter, FilterSpec, Select};
use twinlane::value::{Case, Kind, Meta, Stamp};

const PATTERNS: [&str; 8] = [
    ".cache/",
    "node_modules/",
    "target/",
    "!target/doc/",
    "*.tmp",
    "*~",
    "/Downloads/*.iso",
    "**/build/*.o",
];

fn meta() -> Meta {
    Meta {
        kind: Kind::File,
        mode: 0o644,
        mount_root: false,
        links: 1,
        uid: 1000,
        gid: 1000,
        size: 4096,
        allocated: 4096,
        modified: Stamp::from_seconds(1_000_000_000),
        changed: Stamp::from_seconds(1_000_000_000),
        device: 1,
        inode: 2,
        special: 0,
    }
}

fn judge(criterion: &mut Criterion) {
    let meta = meta();
    let names: Vec<String> = (0..1000).map(|number| format!("IMG_{number:04}.jpg")).collect();
    for (title, patterns) in [("no patterns", &PATTERNS[..0]), ("eight patterns", &PATTERNS[..])] {
        let spec = FilterSpec {
            exclude: patterns.iter().map(ToString::to_string).collect(),
            include: Vec::new(),
            case: Case::Sensitive,
            select: Select::default(),
        };
        let Ok(filter) = Filter::compile(&spec, Stamp::from_seconds(0)) else { continue };
        let facts = DirectoryFacts::default();
        let level = filter.root(&facts).enter(b"home", &facts).enter(b"Pictures", &facts);
        criterion.bench_function(&format!("judge 1,000 names, {title}"), |bencher| {
            bencher.iter(|| {
                for name in &names {
                    black_box(level.judge(black_box(name.as_bytes()), &meta));
                }
            });
        });
    }
}

criterion_group!(benches, judge);
criterion_main!(benches);
