//! BC-57: patterns mean what they mean to git, asked live; and the one difference, written out.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::tree::{NOW, Tree, spec};
use crate::filter::{Filter, FilterSpec, Judgement, Select};
use crate::value::{Case, Kind};

pub fn git_is_here() -> bool {
    let here = Command::new("git").arg("--version").output().is_ok_and(|output| output.status.success());
    if !here {
        println!("skipped: git is not here, so that rows are checked by hand-written answers alone");
    }
    here
}

/// What git ignores in many trees with ignore files, each tree in a directory of its own. One answer a tree.
pub fn ignored_by_git(trees: &[Tree], ignore_case: &str) -> Vec<BTreeSet<Vec<u8>>> {
    let place = tempfile::tempdir().unwrap();
    let root = place.path();
    git(root, ignore_case).args(["init", "-q", "."]).status().unwrap();
    let mut asked = Vec::new();
    for (index, tree) in trees.iter().enumerate() {
        let base = root.join(format!("{index}"));
        std::fs::create_dir(&base).unwrap();
        write_ignore_file(&base, &tree.facts(b"").ignore_texts);
        for (path, kind) in tree.paths() {
            let place = base.join(std::ffi::OsStr::from_bytes(path));
            if kind == Kind::Directory {
                std::fs::create_dir(&place).unwrap();
                write_ignore_file(&place, &tree.facts(path).ignore_texts);
            } else {
                std::fs::write(&place, "").unwrap();
            }
            asked.extend_from_slice(format!("{index}/").as_bytes());
            asked.extend_from_slice(path);
            asked.push(0);
        }
    }
    let mut child = git(root, ignore_case)
        .args(["check-ignore", "--no-index", "-z", "--stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&asked).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.code().is_some_and(|code| code <= 1), "git failed: {output:?}");
    let mut answers = vec![BTreeSet::new(); trees.len()];
    for line in output.stdout.split(|&byte| byte == 0).filter(|line| !line.is_empty()) {
        let cut = line.iter().position(|&byte| byte == b'/').unwrap();
        let index: usize = std::str::from_utf8(&line[..cut]).unwrap().parse().unwrap();
        answers[index].insert(line[cut + 1..].to_vec());
    }
    answers
}

/// git in that directory, whatever this machine's git settings are.
fn git(directory: &Path, ignore_case: &str) -> Command {
    let mut command = Command::new("git");
    command
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env_remove("GIT_DIR")
        .args(["-c", "core.excludesFile=/dev/null", "-c", ignore_case]);
    command
}

fn write_ignore_file(directory: &Path, texts: &[Vec<u8>]) {
    if let Some(text) = texts.first() {
        std::fs::write(directory.join(".gitignore"), text).unwrap();
    }
}

/// The filter that reads `.gitignore` files and has no patterns of its own.
pub fn ignoring(case: Case) -> std::sync::Arc<Filter> {
    let select = Select { ignore_files: vec![".gitignore".into()], ..Select::default() };
    Filter::compile(&FilterSpec { case, select, ..spec("", "") }, NOW).unwrap()
}

pub fn excluded(tree: &Tree, filter: &std::sync::Arc<Filter>) -> BTreeSet<Vec<u8>> {
    let judgements = tree.judge(filter).into_iter();
    judgements.filter(|(_, judgement)| *judgement != Judgement::Selected).map(|(path, _)| path).collect()
}

/// A small generator of numbers, seeded, so that a failure can be seen again.
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % count as u64).unwrap()
    }

    fn line(&mut self) -> String {
        const PIECES: [&str; 22] = [
            "a", "b", "a", "b", "/", "/", "*", "**/", "/**", "?", "[ab]", "[!a]", "[^b-z]", "[", "]", "\\",
            "\\a", " ", "-", "{a,b}", "#", ".",
        ];
        let mut line = if self.below(4) == 0 { "!".to_owned() } else { String::new() };
        for _ in 0..=self.below(5) {
            line += PIECES[self.below(PIECES.len())];
        }
        line
    }
}

/// Lines that git reads against its own documentation, left out of the comparison: before 2.53 a `**` right after
/// literal text of a path pattern (`a**/b`) crossed directories, and `**` before an escaped slash (`**\/b`) does not
/// stand for nothing.
fn is_read_oddly(line: &str) -> bool {
    let bounded = |at: usize| {
        let before = line[..at].trim_end_matches('*').trim_start_matches('!');
        before.is_empty() || before.ends_with('/')
    };
    line.contains(r"**\/") || line.match_indices("**").any(|(at, _)| !bounded(at))
}

#[test]
fn bc_57_random_ignore_files_as_git() {
    if !git_is_here() {
        return;
    }
    let rounds = if std::env::var_os("TWINLANE_TEST_FULL").is_some() { 5000 } else { 300 };
    let mut dice = Dice(0x1545_f491_4f6c_dd1d);
    let tree = Tree::of(
        "a b ab .a - -a {a,b} [ ] \\ #a a␣ c/ a.b d/a d/b d/ab/a d/ab/b d/b.a/a e/d/a e/d/d/b e/[/a",
    );
    let trees: Vec<Tree> = (0..rounds)
        .map(|_| {
            let mut lines: Vec<String> = (0..=dice.below(4)).map(|_| dice.line()).collect();
            lines.retain(|line| !is_read_oddly(line));
            let tree = tree.clone().with_ignore_text("", &lines.join("\n"));
            if dice.below(3) == 0 {
                tree.with_ignore_text("d", &dice.line().replace("**", "*"))
            } else {
                tree
            }
        })
        .collect();
    let filter = ignoring(Case::Sensitive);
    let mut ignoring_something = 0;
    for (tree, git) in trees.iter().zip(ignored_by_git(&trees, "core.ignoreCase=false")) {
        let texts = [b"".as_slice(), b"d"].map(|at| tree.facts(at).ignore_texts);
        let texts = texts.map(|texts| {
            texts.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect::<Vec<_>>()
        });
        assert_eq!(excluded(tree, &filter), git, "ignore files {texts:?}");
        ignoring_something += usize::from(!git.is_empty());
    }
    assert!(ignoring_something > rounds / 4, "only {ignoring_something} of {rounds} files ignore anything");
}
