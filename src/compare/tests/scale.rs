//! Wide, deep and large trees, and the independence from threads.

use std::fmt::Write as _;

use super::*;
use crate::platform::Clock;
use crate::value::RelPath;

/// A tree in which nearly every verdict occurs.
fn mixed() -> Bench {
    let mut bench = Bench::new();
    bench.rule.exclude = vec!["*.tmp".to_owned()];
    for directory in 0..30 {
        for file in 0..20 {
            let name = format!("d{}/e{directory}/f{file}", directory % 3);
            match (directory + file) % 7 {
                0 => drop(bench.file(format!("s/{name}"), "new")),
                1 => drop(bench.file(format!("t/{name}"), "extra")),
                2 => {
                    bench.file(format!("s/{name}"), "11");
                    bench.file(format!("t/{name}"), "1");
                }
                3 => {
                    bench.file(format!("s/{name}/x"), "1");
                    bench.file(format!("t/{name}"), "1");
                }
                4 => {
                    bench.file(format!("t/{name}/x.tmp"), "1");
                    bench.file(format!("t/{name}/y"), "1");
                }
                _ => bench.both(&name, "1"),
            }
        }
    }
    bench
}

#[test]
fn the_draft_does_not_depend_on_threads_nor_on_handles() {
    let mut bench = mixed();
    bench.settle();
    bench.threads = 1;
    let expected = bench.march();
    assert!(expected.directories.len() > 100);
    for (threads, handle_budget) in [(8, 512), (8, 1), (1, 0), (3, 4), (8, 512)] {
        (bench.threads, bench.handle_budget) = (threads, handle_budget);
        assert_eq!(bench.march(), expected, "{threads} threads, {handle_budget} handles");
    }
}

#[test]
fn hashes_do_not_depend_on_threads_either() {
    let mut bench = mixed();
    bench.rule.compare = Comparison::Hash;
    bench.settle();
    bench.threads = 1;
    let expected = bench.march();
    (bench.threads, bench.handle_budget) = (8, 2);
    assert_eq!(bench.march(), expected);
}

#[test]
fn a_draft_is_in_order_and_its_counts_add_up() {
    let bench = mixed();
    let draft = bench.settle().march();
    assert!(draft.directories.is_sorted_by(|a, b| a.path < b.path));
    assert!(draft.directories[0].path.is_root());
    for directory in &draft.directories {
        assert!(directory.findings.is_sorted_by(|a, b| a.name < b.name));
    }
    let witness = |tree: &str| {
        let all = walkdir::WalkDir::new(bench.path(tree)).min_depth(1).into_iter();
        all.filter(|entry| entry.as_ref().unwrap().path().extension() != Some("tmp".as_ref())).count() as u64
    };
    assert_eq!(draft.counts.source_entries, witness("s"));
    assert_eq!(draft.counts.destination_entries, witness("t"));
    let told = |wanted: fn(&Finding) -> bool| {
        draft.directories.iter().flat_map(|directory| &directory.findings).filter(|one| wanted(one)).count()
            as u64
    };
    let paired = draft.counts.same + told(|one| one.source.is_some());
    assert_eq!(paired, draft.counts.source_entries);
    let gone = told(|one| one.destination.is_some());
    assert_eq!(draft.counts.same + gone, draft.counts.destination_entries);
}

/// Makes `count` empty files of one time in a directory, by one process.
fn fill(directory: &Path, count: usize) {
    let script = "import os,sys\n\
        os.chdir(sys.argv[1])\n\
        for i in range(int(sys.argv[2])):\n    \
            name = 'file%07d' % i\n    \
            os.close(os.open(name, os.O_CREAT|os.O_WRONLY, 0o644)); os.utime(name, (1000000000, 1000000000))";
    assert!(run("python3", &["-c", script, directory.to_str().unwrap(), &count.to_string()]));
}

#[test]
fn bc_61_a_wide_directory_is_cut_into_pieces() {
    let mut bench = Bench::in_memory();
    fill(&bench.directory("s/w"), 20_000);
    fill(&bench.directory("t/w"), 19_000);
    bench.file("t/w/zzz", "1");
    bench.file("t/w/aaa/f", "1");
    for threads in [1, 8] {
        bench.threads = threads;
        let meter = ScanMeter::default();
        let draft = bench.settle().march_with(&Cancel::new(), None, &meter);
        let wide = draft.directories.iter().find(|directory| directory.path.as_bytes() == b"w").unwrap();
        assert_eq!(wide.findings.len(), 1002);
        assert_eq!((meter.entries(), meter.directories()), (20_004, 3));
        assert_eq!(draft.counts.same, 19_001);
    }
}

/// 5,000 levels, far beyond what a path may be long and a stack deep.
#[test]
fn a_very_deep_tree_is_walked() {
    let mut bench = Bench::in_memory();
    let script =
        "import os,sys\nfor i in range(5000):\n    os.mkdir('d'); os.chdir('d')\nopen('leaf','w').close()";
    let made = Command::new("python3").args(["-c", script]).current_dir(bench.path("s")).status().unwrap();
    assert!(made.success());
    for handle_budget in [512, 0] {
        bench.handle_budget = handle_budget;
        let draft = bench.march();
        assert_eq!(draft.problems, []);
        assert_eq!(draft.counts.source_entries, 5001);
        assert_eq!(draft.directories.last().unwrap().path.depth(), 5000);
    }
    // The temporary folder's own removal recurses.
    assert!(run("rm", &["-rf", bench.path("s").to_str().unwrap()]));
}

/// Set for the child in which [`bc_61_memory_of_a_wide_directory`] measures itself.
const CHILD: &str = "TWINLANE_TEST_WIDE";

#[test]
fn bc_61_memory_of_a_wide_directory() {
    const FILES: usize = 200_000;
    if let Some(folder) = Environment.variable(CHILD) {
        let before = peak_kib();
        let bench = Bench { folder: tempfile::TempDir::new_in(&folder).unwrap(), ..Bench::in_memory() };
        for tree in ["s", "t"] {
            std::fs::rename(format!("{folder}/{tree}"), bench.path(tree)).unwrap();
        }
        let draft = bench.march();
        assert_eq!((said(&draft), draft.counts.same), (Vec::new(), FILES as u64));
        // Two names of eleven bytes and their places take 38 bytes for each pair.
        let grown = peak_kib() - before;
        assert!(grown < 40 * 1024, "{grown} KiB for {FILES} files");
        return;
    }
    let bench = Bench::in_memory();
    for tree in ["s", "t"] {
        fill(&bench.path(tree), FILES);
    }
    bench.settle();
    let name = "compare::tests::scale::bc_61_memory_of_a_wide_directory";
    let output = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env(CHILD, bench.folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The most memory that this process ever had, in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// `TWINLANE_BENCH=FOLDER cargo test --release measure_a_march -- --ignored --nocapture`: FOLDER holds `s` and `t`.
#[test]
#[ignore = "a measurement of trees that somebody made"]
fn measure_a_march() {
    let folder = PathBuf::from(Environment.variable("TWINLANE_BENCH").unwrap());
    let (mut bench, mut line) = (Bench::new(), String::new());
    bench.threads = Environment.variable("TWINLANE_THREADS").map_or(4, |text| text.parse().unwrap());
    bench.rule.preserve.xattrs = Environment.variable("TWINLANE_XATTRS").is_none_or(|text| text != "no");
    bench.rule.preserve.acls = bench.rule.preserve.xattrs;
    for tree in ["s", "t"] {
        std::fs::remove_dir(bench.path(tree)).unwrap();
        symlink(folder.join(tree), bench.path(tree)).unwrap();
    }
    for _ in 0..3 {
        let clock = Clock::system();
        let draft = bench.march();
        let same = draft.counts.same;
        writeln!(line, "{:?}, {same} equal, peak {} KiB", clock.elapsed(), peak_kib()).unwrap();
        assert!(
            draft
                .directories
                .iter()
                .all(|directory| directory.path != RelPath::root() || directory.kept == 0)
        );
    }
    println!("{line}");
}
