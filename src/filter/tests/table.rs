//! The table of `table.txt`: what each row says of `exclude`, of ignore files and of git.

use std::collections::BTreeSet;

use super::gitignore::{excluded, git_is_here, ignored_by_git, ignoring};
use super::tree::{NOW, Tree, spec};
use crate::filter::{DirectoryFacts, Filter, FilterSpec};
use crate::value::Case;

const TABLE: &str = include_str!("table.txt");

/// What a row is a witness of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// All three agree.
    Same,
    /// `exclude` cannot hold these lines, or these files.
    IgnoreFile,
    /// All three agree where case does not count.
    Caseless,
    /// `exclude` differs from git where that is marked.
    Unlike,
}

#[derive(Debug)]
struct Row {
    line: usize,
    mark: Mark,
    /// Directory and text, the root's own first.
    files: Vec<(Vec<u8>, Vec<u8>)>,
    answers: Vec<Answer>,
}

#[derive(Clone, Debug)]
struct Answer {
    path: Vec<u8>,
    is_directory: bool,
    is_excluded: bool,
    git_differs: bool,
}

fn rows() -> Vec<Row> {
    let lines = TABLE.lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines.map(|(index, line)| row(index + 1, line)).collect()
}

fn row(line: usize, text: &str) -> Row {
    let mut letters = text.chars();
    let mark = match letters.next() {
        Some('=') => Mark::Same,
        Some('i') => Mark::IgnoreFile,
        Some('c') => Mark::Caseless,
        Some('≠') => Mark::Unlike,
        other => panic!("line {line} begins with {other:?}"),
    };
    let (patterns, answers) = letters.as_str().rsplit_once('|').unwrap_or_else(|| panic!("line {line}"));
    let mut files = Vec::new();
    for (index, part) in patterns.split('§').enumerate() {
        let (directory, lines) =
            if index == 0 { ("", part) } else { part.split_once(": ").unwrap_or((part, "")) };
        let lines: Vec<&str> = lines.split('⏎').map(|line| line.trim_matches(' ')).collect();
        files.push((bytes(directory.trim()), bytes(&lines.join("\n"))));
    }
    let answers = answers.split_whitespace().map(|text| answer(line, text)).collect();
    Row { line, mark, files, answers }
}

fn answer(line: usize, text: &str) -> Answer {
    let (text, git_differs) = text.strip_suffix('≠').map_or((text, false), |text| (text, true));
    let (sign, path) = text.split_at(1);
    assert!(matches!(sign, "-" | "+"), "line {line}: {text}");
    let (path, is_directory) = path.strip_suffix('/').map_or((path, false), |path| (path, true));
    Answer { path: bytes(&path.replace('⏎', "\n")), is_directory, is_excluded: sign == "-", git_differs }
}

/// `␣`, `␍` and `‹ff›` as the bytes that they stand for.
fn bytes(text: &str) -> Vec<u8> {
    let text = text.replace('␣', " ").replace('␍', "\r");
    let mut pieces = text.split('‹');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let (hex, rest) = piece.split_once('›').unwrap();
        for at in (0..hex.len()).step_by(2) {
            bytes.push(u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
        }
        bytes.extend_from_slice(rest.as_bytes());
    }
    bytes
}

impl Row {
    fn tree(&self) -> Tree {
        let mut tree = Tree::default();
        for answer in &self.answers {
            let mut path = answer.path.clone();
            path.extend(answer.is_directory.then_some(b'/'));
            tree.add(&path);
        }
        for (directory, text) in self.files.iter().filter(|(_, text)| !text.is_empty()) {
            if !directory.is_empty() && !tree.paths().any(|(path, _)| *path == **directory) {
                tree.add(&[directory, &b"/"[..]].concat());
            }
            let facts = DirectoryFacts { ignore_texts: vec![text.clone()], ..DirectoryFacts::default() };
            tree = tree.with_facts(std::str::from_utf8(directory).unwrap(), facts);
        }
        tree
    }

    fn case(&self) -> Case {
        if self.mark == Mark::Caseless { Case::Insensitive } else { Case::Sensitive }
    }

    /// What `exclude` leaves out; `None` where it cannot hold the row.
    fn excluded(&self) -> Option<BTreeSet<Vec<u8>>> {
        if self.mark == Mark::IgnoreFile {
            return None;
        }
        let text = std::str::from_utf8(&self.files[0].1).unwrap();
        let spec = FilterSpec { case: self.case(), ..spec(text, "") };
        let filter =
            Filter::compile(&spec, NOW).unwrap_or_else(|error| panic!("line {}: {error:?}", self.line));
        Some(excluded(&self.tree(), &filter))
    }

    /// The answers, `exclude`'s or git's, that are not what was found.
    fn wrong(&self, found: &BTreeSet<Vec<u8>>, of_git: bool) -> Vec<String> {
        let is_wrong = |answer: &&Answer| {
            found.contains(&answer.path) == (answer.is_excluded == (of_git && answer.git_differs))
        };
        let shown =
            |answer: &Answer| format!("table.txt:{}: {}", self.line, String::from_utf8_lossy(&answer.path));
        self.answers.iter().filter(is_wrong).map(shown).collect()
    }
}

#[test]
fn bc_57_the_table_holds_what_it_promises() {
    let rows = rows();
    let count = |mark: Mark| rows.iter().filter(|row| row.mark == mark).count();
    assert!(rows.len() >= 200, "{} rows", rows.len());
    assert!(count(Mark::Same) >= 180 && count(Mark::Unlike) >= 15 && count(Mark::IgnoreFile) >= 30);
    for row in &rows {
        let differs = row.answers.iter().any(|answer| answer.git_differs);
        assert_eq!(differs, row.mark == Mark::Unlike, "line {}", row.line);
        assert!(!row.answers.is_empty(), "line {}", row.line);
    }
}

#[test]
fn bc_57_exclude_answers_as_the_table_says() {
    let wrong = |row: &Row| row.excluded().map(|found| row.wrong(&found, false)).unwrap_or_default();
    assert_eq!(rows().iter().flat_map(wrong).collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn bc_57_ignore_files_answer_as_git_in_every_row() {
    let wrong = |row: &Row| row.wrong(&excluded(&row.tree(), &ignoring(row.case())), true);
    assert_eq!(rows().iter().flat_map(wrong).collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn bc_57_git_itself_agrees_with_every_row() {
    if !git_is_here() {
        return;
    }
    let mut wrong = Vec::new();
    for (case, setting) in
        [(Case::Sensitive, "core.ignoreCase=false"), (Case::Insensitive, "core.ignoreCase=true")]
    {
        let rows: Vec<Row> = rows().into_iter().filter(|row| row.case() == case).collect();
        let trees: Vec<Tree> = rows.iter().map(Row::tree).collect();
        for ((row, tree), git) in rows.iter().zip(&trees).zip(ignored_by_git(&trees, setting)) {
            wrong.extend(row.wrong(&git, true));
            if excluded(tree, &ignoring(case)) != git {
                wrong.push(format!("table.txt:{}: a directory on the way", row.line));
            }
            if row.mark == Mark::Unlike && row.excluded() == Some(git) {
                wrong.push(format!("table.txt:{}: no difference at all", row.line));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn lines_that_no_job_may_hold_are_refused_there() {
    let never = ["//", "/", "!", "a//b", "//a", "a//", "./a", "d/./a", "../a", ".", "..", "a\\", "[a", "["];
    for text in never {
        assert!(Filter::compile(&spec(text, ""), NOW).is_err(), "{text}");
        let stands_alone = |row: &Row| row.mark == Mark::IgnoreFile && row.files[0].1 == text.as_bytes();
        assert!(rows().iter().any(stands_alone), "{text} has no row");
    }
}
