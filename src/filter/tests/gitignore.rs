//! BC-57: patterns mean what they mean to git, asked live; and the one difference, written out.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::tree::{NOW, Tree, filter, spec};
use crate::filter::{Filter, FilterSpec, Judgement, Select};
use crate::value::{Case, Kind};

/// Patterns, and paths with `-` excluded or `+` not; a path that ends in `/` is a directory.
type Row = (&'static str, &'static str);

/// Rows in which Twinlane and git agree, in `exclude` as in ignore files.
const AS_GIT: &[Row] = &[
    // Names at any depth, and anchors.
    ("a", "-a -d/a +ab +d/ba"),
    ("/a", "-a +d/a"),
    ("a/", "+x/a -d/a/ -d/a/f"),
    ("a/", "+a"),
    ("/a/", "-a/ -a/f +d/a/"),
    ("a/b", "-a/b +d/a/b +a/c"),
    ("/a/b", "-a/b +d/a/b"),
    ("a/b/", "+a/b"),
    ("a/b/", "-a/b/ -a/b/c +a/c"),
    ("d/", "-d/ -d/x -e/d/y"),
    (".cache/", "-.cache/ -x/.cache/f +cache/ +.cache.d/"),
    ("A", "+a -A"),
    // `*`, `?` and dots.
    ("*", "-a -.a -d/ -d/b"),
    ("*.tmp", "-a.tmp -.tmp -d/b.tmp +tmp +a.tmpx"),
    ("core*", "-core -core.1 +acore -d/core.1"),
    ("a*b", "-ab -axxb +axx -d/a.b +d/a/b"),
    ("a*b*c", "-abc -aXbYbZc +acb -abbc"),
    ("*a*", "-a -bab +b"),
    ("?", "-a +ab -b/"),
    ("a?c", "-abc +ac +abbc"),
    ("*/a", "-d/a +a +d/e/a"),
    ("/*", "-a -d/ -d/a"),
    ("/*.c", "-a.c +d/a.c"),
    ("d/*.c", "-d/a.c +d/e/a.c +a.c"),
    ("d/*/f", "-d/e/f +d/f +d/e/g/f"),
    ("**.c", "-a.c -d/a.c"),
    ("?\u{e4}", "+\u{e4} -a\u{e4}"),
    ("??", "-\u{e4} -ab +a"),
    // `**`.
    ("**", "-a -d/ -d/a"),
    ("**/", "+a -d/ -d/a"),
    ("**/x", "-x -a/x -a/b/x +xx"),
    ("**/x/y", "-x/y -a/x/y +x/a/y"),
    ("a/**/b", "-a/b -a/x/b -a/x/y/b +b +x/a/b"),
    ("a/**", "+a/ -a/b/ -a/b/c -a/d +b/a/c"),
    ("a/**/", "+a/ +a/f -a/b/ -a/b/c"),
    ("/**", "-a -d/ -d/a"),
    ("/**/a", "-a -d/a"),
    ("**/a/**", "+a/ -a/b -d/a/b +d/b"),
    ("**/a/**/b", "-a/b -x/a/y/b +b"),
    ("a/***/b", "-a/b -a/x/b"),
    ("foo/**\n!foo/bar", "+foo/ -foo/a +foo/bar"),
    // `[…]`.
    ("[ab]", "-a -b +c +ab"),
    ("[a-c]x", "-ax -bx +dx +x"),
    ("[!a]", "+a -b"),
    ("[^a]", "+a -b"),
    ("[]a]", "-] -a +b"),
    ("[!]a]", "+] +a -b"),
    ("[a-]", "-a -- +b"),
    ("[-a]", "-a -- +b"),
    ("[\\]]", "-] +\\"),
    ("[a\\-c]", "-a -- -c +b"),
    ("[[:digit:]]", "-1 +a"),
    ("[[:alpha:]_]x", "-ax -_x +1x"),
    ("[![:upper:]]", "+A -a -1"),
    ("[[:space:]]", "-␣ +a"),
    ("[[a]", "-[ -a +b"),
    ("[[:a]", "-[ -: -a +b"),
    ("a[b/c]d", "-abd -acd +a/d"),
    ("d/[ab]/", "-d/a/ +d/c/ +a/"),
    ("[z-a]", "+a -z +m"),
    ("*[0-9]*.log", "-a1.log -1.log +a.log"),
    // Escapes, blanks, comments.
    ("\\#", "-# +\\#"),
    ("#x", "+#x"),
    ("a #x", "-a␣#x +a"),
    ("\\!x", "-!x +x"),
    ("x\\*y", "-x*y +xzy"),
    ("\\a", "-a"),
    ("\\\\", "-\\ +a"),
    ("a ", "-a +a␣"),
    ("a\\ ", "-a␣ +a"),
    ("a\\  ", "-a␣ +a␣␣"),
    (" a", "-␣a +a"),
    ("{a,b}", "-{a,b} +a +b"),
    ("a\\/b", "-a/b +x/a/b"),
    ("\n\n# text\n  \na", "-a +#"),
    // The last matching line, and `!`.
    ("*.c\n!a.c", "+a.c -b.c +d/a.c"),
    ("!a.c\n*.c", "-a.c -b.c"),
    ("*.c\n!a.c\na.c", "-a.c"),
    ("*\n!a", "+a -b"),
    ("*\n!*/\n!*.c", "+a.c +d/ +d/b.c -d/x -x"),
    ("/*\n!/d\n/d/*\n!/d/e", "+d/ +d/e/ +d/e/f -d/g -a"),
    ("d/*\n!d/e/", "+d/e/ +d/e/f -d/e2 -d/x/"),
    ("!a", "+a +b"),
    ("!!a", "+a +!a"),
    ("!\\!a\n", "+!a"),
    ("a/\n!a", "+x/a/ +y/a"),
    ("a\n!a/", "+x/a/ -y/a"),
    ("d\n!d/", "-d"),
    ("d\n!d/", "+d/ +d/x"),
    // BC-60: the directory, or what it holds.
    ("proc/", "-proc/ -proc/1/ -proc/1/x"),
    ("proc/*", "+proc/ -proc/1/ -proc/1/x"),
    ("proc/**", "+proc/ -proc/1/ -proc/1/x"),
];

/// Rows for the one difference: below an excluded directory a `!` line of `exclude` re-includes.
const UNLIKE_GIT: &[Row] = &[
    ("d/\n!d/sub/*", "-d/ -d/x -d/sub/ +d/sub/y +d/sub/e/ +d/sub/e/f"),
    ("foo/**\n!foo/bar/bas", "+foo/ -foo/x -foo/bar/ +foo/bar/bas -foo/bar/y"),
    ("target/\n!target/doc/", "-target/ -target/a.o +target/doc/ +target/doc/i.html -target/x/doc/"),
    ("target\n!*.c", "-target/ -target/a.o +target/a.c +target/deep/b.c -target/deep/"),
    ("*\n!*.c", "-a -d/ +d/a.c"),
    ("d/\n!d/e/\nd/e/f/", "-d/ +d/e/ +d/e/x -d/e/f/ -d/e/f/g"),
    ("d/\n!d/**/keep", "-d/ -d/a +d/keep +d/x/y/keep"),
    ("*.log\nd/\n!d/e/", "-d/ +d/e/ -d/e/a.log +d/e/a"),
    ("a/\n!b/", "-a/ +a/b/ +a/b/c -a/d/"),
];

fn git_is_here() -> bool {
    let here = Command::new("git").arg("--version").output().is_ok_and(|output| output.status.success());
    if !here {
        println!("skipped: git is not here, so that rows are checked by hand-written answers alone");
    }
    here
}

/// What git ignores in many trees with ignore files, each tree in a directory of its own. One answer a tree.
fn ignored_by_git(trees: &[Tree], ignore_case: &str) -> Vec<BTreeSet<Vec<u8>>> {
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
fn ignoring(case: Case) -> std::sync::Arc<Filter> {
    let select = Select { ignore_files: vec![".gitignore".into()], ..Select::default() };
    Filter::compile(&FilterSpec { case, select, ..spec("", "") }, NOW).unwrap()
}

fn excluded(tree: &Tree, filter: &std::sync::Arc<Filter>) -> BTreeSet<Vec<u8>> {
    let judgements = tree.judge(filter).into_iter();
    judgements.filter(|(_, judgement)| *judgement != Judgement::Selected).map(|(path, _)| path).collect()
}

fn tree_of(row: &Row) -> Tree {
    let paths: Vec<&str> = row.1.split_whitespace().map(|path| &path[1..]).collect();
    Tree::of(&paths.join(" ")).with_ignore_text("", row.0)
}

/// The paths of a row that were answered otherwise than written.
fn wrong(row: &Row, excluded: &BTreeSet<Vec<u8>>) -> Vec<&'static str> {
    let is_wrong = |path: &&str| {
        let name = path[1..].trim_end_matches('/').replace('␣', " ");
        path.starts_with('-') != excluded.contains(name.as_bytes())
    };
    row.1.split_whitespace().filter(is_wrong).collect()
}

#[test]
fn bc_57_exclude_is_as_git_writes_it() {
    assert!(AS_GIT.len() >= 60);
    for row in AS_GIT {
        let tree = tree_of(row);
        let none: Vec<&str> = Vec::new();
        assert_eq!(wrong(row, &excluded(&tree, &filter(row.0, ""))), none, "exclude {row:?}");
        assert_eq!(wrong(row, &excluded(&tree, &ignoring(Case::Sensitive))), none, "ignore file {row:?}");
    }
}

#[test]
fn bc_57_git_itself_agrees_with_every_row() {
    if !git_is_here() {
        return;
    }
    let trees: Vec<Tree> = AS_GIT.iter().map(tree_of).collect();
    for ((row, tree), git) in AS_GIT.iter().zip(&trees).zip(ignored_by_git(&trees, "core.ignoreCase=false")) {
        assert_eq!(wrong(row, &git), Vec::<&str>::new(), "git {row:?}");
        assert_eq!(excluded(tree, &filter(row.0, "")), git, "exclude {row:?}");
    }
}

#[test]
fn bc_57_include_below_an_excluded_parent() {
    for row in UNLIKE_GIT {
        assert_eq!(wrong(row, &excluded(&tree_of(row), &filter(row.0, ""))), Vec::<&str>::new(), "{row:?}");
    }
    if !git_is_here() {
        return;
    }
    let trees: Vec<Tree> = UNLIKE_GIT.iter().map(tree_of).collect();
    for ((row, tree), git) in
        UNLIKE_GIT.iter().zip(&trees).zip(ignored_by_git(&trees, "core.ignoreCase=false"))
    {
        assert_ne!(excluded(tree, &filter(row.0, "")), git, "this row belongs to the other table: {row:?}");
        assert_eq!(excluded(tree, &ignoring(Case::Sensitive)), git, "ignore files stay as in git: {row:?}");
    }
}

#[test]
fn bc_57_where_case_does_not_count_git_agrees() {
    let rows: &[Row] = &[
        ("ReadMe", "-README -readme +readme.md"),
        ("*.JPG", "-a.jpg -b.Jpg +c.png"),
        ("[a-c]X", "-Ax -bX +dx"),
        ("[![:upper:]]", "+a +B -1"),
        ("Src/**/Gen", "-src/gen -SRC/x/GEN +gen"),
        ("*\n!KEEP/", "+keep/ -other/"),
    ];
    let trees: Vec<Tree> = rows.iter().map(tree_of).collect();
    for (row, tree) in rows.iter().zip(&trees) {
        assert_eq!(wrong(row, &excluded(tree, &ignoring(Case::Insensitive))), Vec::<&str>::new(), "{row:?}");
    }
    if git_is_here() {
        for (row, git) in rows.iter().zip(ignored_by_git(&trees, "core.ignoreCase=true")) {
            assert_eq!(wrong(row, &git), Vec::<&str>::new(), "git {row:?}");
        }
    }
}

#[test]
fn bc_57_nested_ignore_files_as_git() {
    let tree = |files: &[(&str, &str)]| {
        let tree = Tree::of("a.log b.tmp d/a.log d/b.tmp d/e/a.log d/e/b.tmp d/e/f/a.log x/a.log x/y/b.tmp");
        files.iter().fold(tree, |tree, (directory, text)| tree.with_ignore_text(directory, text))
    };
    let trees = [
        tree(&[("", "*.log"), ("d", "!*.log")]),
        tree(&[("", "*.log"), ("d", "!*.log"), ("d/e", "*.log")]),
        tree(&[("", "!*.log"), ("d", "*.log")]),
        tree(&[("", "d/"), ("d", "!*")]),
        tree(&[("", "/d/e/*.log"), ("d/e", "!f")]),
        tree(&[("", "d/e/\n!d/e/f"), ("d", "!e")]),
        tree(&[("d", "/e"), ("x", "e\n**/b.tmp")]),
        tree(&[("d/e", "../a.log\n/../*\n")]),
        tree(&[("", "\u{feff}*.log\r\n\r\n*.tmp\r\n#\r\n!b.tmp\r")]),
        tree(&[("", "*.log\n[\na\\\n!/x/a.log\n/\n!\n")]),
    ];
    for (tree, row) in trees.iter().zip(["+d/a.log -a.log", "-d/e/f/a.log", "+a.log -d/a.log", "-d/a.log"]) {
        assert_eq!(
            wrong(&("", row), &excluded(tree, &ignoring(Case::Sensitive))),
            Vec::<&str>::new(),
            "{row}"
        );
    }
    if git_is_here() {
        for (index, git) in ignored_by_git(&trees, "core.ignoreCase=false").iter().enumerate() {
            assert_eq!(&excluded(&trees[index], &ignoring(Case::Sensitive)), git, "tree {index}");
        }
    }
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
