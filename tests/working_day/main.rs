//! A working day, word for word: what a person types from morning to evening, and what is said.
//!
//! `day.txt` holds every command with its exit code and all that it wrote. `TWINLANE_REGENERATE=1 cargo test --test working_day` writes it
//! anew; the difference is then read by a person, as somebody who sees Twinlane for the first time.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot set up its world fails, and says where"
)]

#[path = "../support/mod.rs"]
mod support;

use std::fmt::Write as _;
use std::path::Path;

use support::World;

/// 2026-11-24T00:00:00Z, a Tuesday.
const MIDNIGHT: i64 = 1_795_478_400;

/// One day in one world.
struct Day {
    world: World,
    clock: i64,
    told: String,
}

impl Day {
    fn begin() -> Self {
        let world = World::new();
        std::fs::remove_dir(world.path("jobs")).unwrap();
        let told = String::from(
            "A working day. Times are UTC; durations, rates and bytes that depend on the disk stand as `…`.\n",
        );
        Self { world, clock: MIDNIGHT, told }
    }

    /// The clock shows this time from now on.
    fn at(&mut self, hour: i64, minute: i64, what: &str) {
        self.clock = MIDNIGHT + hour * 3600 + minute * 60;
        let _ = write!(self.told, "\n## {hour:02}:{minute:02}  {what}\n");
    }

    /// A file gets this content at the time of now.
    fn write(&mut self, name: &str, content: &str) {
        let path = self.world.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        self.stamp(&path);
        let _ = writeln!(self.told, "\n(write {name}: {})", shortened(content));
    }

    fn stamp(&self, path: &Path) {
        let moment = format!("@{}", self.clock);
        support::touch(path, &moment);
    }

    fn rename(&mut self, from: &str, to: &str) {
        std::fs::rename(self.world.path(from), self.world.path(to)).unwrap();
        let _ = writeln!(self.told, "\n(mv {from} {to})");
    }

    fn remove(&mut self, name: &str) {
        std::fs::remove_file(self.world.path(name)).unwrap();
        let _ = writeln!(self.told, "\n(rm {name})");
    }

    /// Types a command.
    fn types(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let words: Vec<String> = joined(&words);
        let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
        let mut command = self.world.command(&words);
        command.env("TWINLANE_CLOCK", self.clock.to_string()).env("TWINLANE_WORKERS", "1");
        command.env("HOME", self.world.base());
        let ended = support::ended(&command.output().expect("the program starts"));
        let _ = writeln!(self.told, "\n{}", format!("$ twinlane {line}").trim_end());
        let out = self.stable(&ended.out);
        let out = if line.starts_with("doctor ") { of_any_disk(&out) } else { out };
        self.told.push_str(&out);
        for line in self.stable(&ended.err).lines() {
            let _ = writeln!(self.told, "! {line}");
        }
        if ended.code != 0 {
            let _ = writeln!(self.told, "(exit code {})", ended.code);
        }
    }

    /// A bit of a file rots: its size and time stay.
    fn rot(&mut self, name: &str) {
        let path = self.world.path(name);
        let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
        let mut content = std::fs::read(&path).unwrap();
        content[0] ^= 1;
        std::fs::write(&path, content).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        let _ = writeln!(self.told, "\n(a bit of {name} rots)");
    }

    /// A second job, of two rules.
    fn two_rules(&mut self) {
        let rule = |name: &str, from: &str| {
            format!("  {name}: {{mode: backup, source: ~/{from}, destination: ~/Backup/{name}}}\n")
        };
        let text = format!("rules:\n{}{}", rule("papers", "Documents"), rule("rescued", "rescued"));
        std::fs::write(self.world.path(".config/twinlane/jobs/two.yaml"), &text).unwrap();
        let _ = write!(self.told, "\n(write the job two)\n{text}");
        self.types("run two");
    }

    /// Shows a file.
    fn shows(&mut self, name: &str) {
        let content =
            std::fs::read_to_string(self.world.path(name)).unwrap_or_else(|error| format!("{error}\n"));
        let _ = write!(self.told, "\n$ cat {name}\n{content}");
    }

    /// What was said, without what differs from machine to machine.
    fn stable(&self, text: &str) -> String {
        let text = text.replace(&self.world.base().to_string_lossy().into_owned(), "~");
        let mut lines: Vec<String> = Vec::new();
        for line in text.lines() {
            let is_of_the_disk = line.contains("a power cut may leave torn files");
            if !is_of_the_disk {
                lines.push(without_rooms(&without_durations(line)));
            }
        }
        lines.into_iter().fold(String::new(), |all, line| all + &line + "\n")
    }
}

/// Words in quotes are one.
fn joined(words: &[&str]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut is_open = false;
    for word in words {
        let quotes = word.matches('"').count();
        let bare = word.replace('"', "");
        match all.last_mut().filter(|_| is_open) {
            Some(last) => *last = format!("{last} {bare}"),
            None => all.push(bare),
        }
        is_open ^= quotes % 2 == 1;
    }
    all
}

fn shortened(content: &str) -> String {
    if content.len() > 60 { format!("{} bytes", content.len()) } else { format!("{content:?}") }
}

/// ` in 0.1 s` and what follows a duration become ` in …`, and likewise behind ` · `.
fn without_durations(line: &str) -> String {
    const UNITS: [&str; 4] = [" ms", " s", " min", " h"];
    let mark = if line.contains(" in ") { " in " } else { " · " };
    let Some((before, rest)) = line.rsplit_once(mark) else { return line.to_owned() };
    let number: String =
        rest.chars().take_while(|letter| letter.is_ascii_digit() || *letter == '.').collect();
    let unit = &rest[number.len()..];
    if number.is_empty() || !UNITS.iter().any(|known| unit.starts_with(known)) {
        return line.to_owned();
    }
    format!("{before}{mark}…")
}

/// What a place allocates and has free, hosts and versions become `…`.
fn without_rooms(line: &str) -> String {
    const OF_THE_DISK: [&str; 4] = ["limit min_free", "stay until", "in all, taking", "nothing is due"];
    if line.contains(": planned ") {
        let (before, after) = line.split_once(" on ").unwrap();
        let (_, after) = after.split_once(" (").unwrap();
        return format!("{before} on … ({after}").replace(env!("CARGO_PKG_VERSION"), "…");
    }
    if !OF_THE_DISK.iter().any(|mark| line.contains(mark)) {
        return line.to_owned();
    }
    let words: Vec<&str> = line.split(' ').collect();
    let is_unit = |word: Option<&&str>| word.is_some_and(|word| ["B", "KB", "MB", "GB", "TB"].contains(word));
    let stable = words
        .iter()
        .enumerate()
        .map(|(index, word)| if is_unit(words.get(index + 1)) || is_unit(Some(word)) { "…" } else { word });
    let mut stable = stable.collect::<Vec<_>>().join(" ").replace("… …", "…");
    while stable.contains("   ") {
        stable = stable.replace("   ", "  ");
    }
    stable
}

/// What `doctor` says of this machine's disk becomes one `…`.
fn of_any_disk(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines() {
        match (line.starts_with(' '), lines.last()) {
            (false, _) => lines.push(line),
            (true, Some(&"  …")) => {}
            (true, _) => lines.push("  …"),
        }
    }
    lines.into_iter().fold(String::new(), |all, line| all + line + "\n")
}

/// What people type who have not read the help.
const SLIPS: [&str; 24] = [
    "day run",
    "verfy day",
    "run",
    "run dya",
    "versions day reprot.txt",
    "versions day /etc/hosts",
    "explain day reprot.txt",
    "explain day",
    "restore day report.txt",
    "restore day reprot.txt --to rescued3",
    "restore day --at nonsense --to rescued4",
    "restore day --at \"2d ago\" --to rescued5",
    "restore day --to Documents",
    "verify nosuch",
    "verify ./nosuch",
    "verify Documents",
    "verify day --sample 200%",
    "apply .config/twinlane/jobs/day.yaml",
    "apply nosuch.plan",
    "apply afternoon.plan",
    "apply afternoon.plan --remove-excluded",
    "copy Documents",
    "copy nosuch Stick",
    "doctor nosuch",
];

#[test]
fn a_working_day() {
    let mut day = Day::begin();
    let photo = "A photograph. ".repeat(8000);

    day.at(9, 0, "the first job");
    day.write("Documents/report.txt", "The report, as of the morning.\n");
    day.write("Documents/notes.txt", "Call Berta.\n");
    day.write("Documents/draft.tmp", "scratch\n");
    day.write("Documents/Pictures/beach.jpg", &photo);
    std::fs::create_dir(day.world.path("Backup")).unwrap();
    day.types("");
    day.types("init day --mode mirror --source Documents --destination Backup/Documents");
    day.types("validate day");
    let job =
        std::fs::read_dir(day.world.path(".config/twinlane/jobs")).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(&job).unwrap();
    std::fs::write(&job, text.replace("rules:\n", "timezone: UTC\nrules:\n")).unwrap();
    let _ = writeln!(day.told, "\n(add `timezone: UTC` to the job)");
    day.types("plan day");
    day.types("run day");

    day.at(11, 30, "before lunch");
    day.write("Documents/report.txt", "The report, as of before lunch: all figures right.\n");
    day.types("plan day -v");
    day.types("run day");

    day.at(14, 0, "after lunch");
    day.write("Documents/report.txt", "The report, after lunch: half of it lost.\n");
    day.write("Documents/new.txt", "new\n");
    day.rename("Documents/Pictures", "Documents/Holiday");
    day.remove("Documents/notes.txt");
    day.types("explain day report.txt");
    day.types("explain day draft.tmp");
    day.types("explain day notes.txt");
    day.types("explain day Holiday/beach.jpg");
    day.types("plan day -v --out afternoon.plan");
    day.types("apply afternoon.plan");

    day.at(15, 0, "where is my report?");
    day.types("versions day report.txt");
    day.types("versions day");
    day.types("restore day report.txt --at noon --to rescued");
    day.shows("rescued/report.txt");
    day.types("restore day notes.txt --at \"today 12:00\" --to rescued2");

    day.at(17, 0, "is all of it right?");
    day.types("verify day");
    day.types("verify day --sample 50%");
    day.types("copy Documents/report.txt Stick");
    day.types("prune day --dry-run");
    day.types("prune day");
    day.types("doctor Backup/Documents");
    day.types("history");

    day.at(18, 0, "slips of the keyboard");
    for line in SLIPS {
        day.types(line);
    }
    day.two_rules();
    day.rot("Backup/papers/report.txt");
    day.types("verify two/papers");
    day.types("verify two/papers --against source");
    day.types("prune two --dry-run");
    day.types("versions two");

    let expected = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/working_day/day.txt");
    if std::env::var_os("TWINLANE_REGENERATE").is_some() {
        std::fs::write(&expected, &day.told).unwrap();
        return;
    }
    let known = std::fs::read_to_string(&expected).unwrap_or_default();
    let different = known.lines().zip(day.told.lines()).find(|(known, told)| known != told);
    assert!(
        known == day.told,
        "the day goes otherwise than tests/working_day/day.txt says, first here: {different:#?}\n\
         read the difference of TWINLANE_REGENERATE=1 cargo test --test working_day"
    );
}
