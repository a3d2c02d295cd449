//! The scanner: source texts in, everything that the map does not allow out. It reads tokens, so that comments and
//! strings say nothing.

use std::collections::BTreeSet;
use std::fmt;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::map::Map;
use crate::paths::{NamedPath, expand, in_crate};

/// A source file below `src/`.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its path from the repository's root, `src/filter/level.rs`.
    pub path: String,
    pub text: String,
}

/// Something that the map does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub path: String,
    pub line: usize,
    /// What was named, as an exemption would write it.
    pub what: String,
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: `{}`: {}", self.path, self.line, self.what, self.message)
    }
}

/// Parts of std that touch the operating system.
const STD_SEAM: [&str; 5] = ["env", "fs", "net", "os", "process"];
/// Types whose `now` reads a clock.
const CLOCKS: [&str; 4] = ["Instant", "Local", "SystemTime", "Utc"];
/// Words of a `cfg` that part operating systems.
const CFG_SYSTEMS: [&str; 6] =
    ["target_env", "target_family", "target_os", "target_vendor", "unix", "windows"];
/// Names that say nothing about what a module is for.
const EMPTY_NAMES: [&str; 6] = ["common", "helpers", "manager", "misc", "util", "utils"];
/// Most lines of a file, tests aside.
const LINES_MAX: usize = 500;

/// Everything in these sources that the map does not allow. Exemptions that nothing needs are findings too.
pub fn check(map: &Map, sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut test_modules = BTreeSet::new();
    let mut files: Vec<File<'_>> = Vec::new();
    for source in sources {
        match source.text.parse::<TokenStream>() {
            Ok(tokens) => {
                let mut file = File::new(map, source);
                file.check_shape();
                file.walk(
                    &tokens.into_iter().collect::<Vec<_>>(),
                    &Scope { module: file.module.clone(), in_test: false },
                );
                test_modules.append(&mut file.test_modules);
                files.push(file);
            }
            Err(error) => findings.push(Finding {
                path: source.path.clone(),
                line: 1,
                what: "tokens".to_owned(),
                message: error.to_string(),
            }),
        }
    }
    for file in files {
        let is_test = (0..=file.module.len()).any(|depth| test_modules.contains(&file.module[..depth]));
        findings.extend(file.finish(is_test));
    }
    let is_exempt =
        |finding: &Finding| map.exemptions.contains(&(finding.path.clone(), finding.what.clone()));
    let used: BTreeSet<(String, String)> = findings
        .iter()
        .filter(|finding| is_exempt(finding))
        .map(|finding| (finding.path.clone(), finding.what.clone()))
        .collect();
    findings.retain(|finding| !is_exempt(finding));
    findings.extend(map.exemptions.difference(&used).map(|(path, what)| Finding {
        path: path.clone(),
        line: 1,
        what: what.clone(),
        message: "ARCHITECTURE.md exempts it, but nothing there names it".to_owned(),
    }));
    findings
}

/// One file while it is walked.
struct File<'source> {
    map: &'source Map,
    source: &'source Source,
    /// Its module, the room first; empty for the crate's root.
    module: Vec<String>,
    /// What counts wherever it stands.
    findings: Vec<Finding>,
    /// What counts outside tests only.
    findings_unless_test: Vec<Finding>,
    /// Modules declared under `#[cfg(test)]`.
    test_modules: BTreeSet<Vec<String>>,
    test_lines: usize,
}

#[derive(Clone)]
struct Scope {
    module: Vec<String>,
    in_test: bool,
}

/// The module of a file below `src/`.
pub fn module_of(path: &str) -> Vec<String> {
    let inner = path.trim_start_matches("src/").trim_end_matches(".rs");
    let mut module: Vec<String> = inner.split('/').map(str::to_owned).collect();
    let is_root = module.len() == 1 && matches!(inner, "lib" | "main");
    if is_root || module.last().is_some_and(|name| name == "mod") {
        module.pop();
    }
    module
}

impl<'source> File<'source> {
    fn new(map: &'source Map, source: &'source Source) -> Self {
        Self {
            map,
            source,
            module: module_of(&source.path),
            findings: Vec::new(),
            findings_unless_test: Vec::new(),
            test_modules: BTreeSet::new(),
            test_lines: 0,
        }
    }

    fn room(&self) -> Option<&str> {
        self.module.first().map(String::as_str)
    }

    fn found(&mut self, line: usize, what: impl Into<String>, message: &str) {
        let finding =
            Finding { path: self.source.path.clone(), line, what: what.into(), message: message.to_owned() };
        self.findings.push(finding);
    }

    /// Something that `platform/` and tests may do.
    fn found_at_the_seam(&mut self, line: usize, what: impl Into<String>, scope: &Scope) {
        if scope.in_test || self.room() == Some("platform") {
            return;
        }
        let message = "only `platform/` may touch the operating system".to_owned();
        self.findings_unless_test.push(Finding {
            path: self.source.path.clone(),
            line,
            what: what.into(),
            message,
        });
    }

    /// What a file's name and head say.
    fn check_shape(&mut self) {
        if let Some(room) = self.room().map(str::to_owned)
            && !self.map.arrows.contains_key(&room)
        {
            self.found(1, room, "not a room on the map of ARCHITECTURE.md");
        }
        for name in self.module.clone() {
            self.check_name(1, &name);
        }
        if !self.source.text.starts_with("//!") {
            self.found(1, "//!", "the file does not open with its module documentation");
        }
    }

    fn check_name(&mut self, line: usize, name: &str) {
        if EMPTY_NAMES.contains(&name) {
            self.found(line, name, "a module's name says what it is for");
        }
    }

    fn walk(&mut self, tokens: &[TokenTree], scope: &Scope) {
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let line = line_of(token);
            match token {
                TokenTree::Punct(punct) if punct.as_char() == '#' => {
                    at = self.walk_attribute(tokens, at, scope);
                    continue;
                }
                TokenTree::Group(group) => self.walk(&group.stream().into_iter().collect::<Vec<_>>(), scope),
                TokenTree::Ident(ident) => {
                    if *ident == "mod"
                        && let Some(end) = self.walk_module(tokens, at, scope)
                    {
                        at = end;
                        continue;
                    }
                    self.check_word(&ident.to_string(), tokens, at, scope);
                    let (paths, end) = expand(tokens, at);
                    for path in &paths {
                        self.check_path(path, line, scope);
                    }
                    at = end;
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// An attribute, and what it stands on if that is a test. Returns the position to go on at.
    fn walk_attribute(&mut self, tokens: &[TokenTree], at: usize, scope: &Scope) -> usize {
        let is_inner = matches!(tokens.get(at + 1), Some(TokenTree::Punct(punct)) if punct.as_char() == '!');
        let place = at + 1 + usize::from(is_inner);
        let Some(TokenTree::Group(group)) = tokens.get(place) else { return at + 1 };
        let inside: Vec<TokenTree> = group.stream().into_iter().collect();
        if matches!(inside.first(), Some(TokenTree::Ident(word)) if word == "path") {
            self.found(line_of(&tokens[at]), "#[path]", "a module's place says what it is called");
        }
        if !is_test_attribute(&inside) {
            self.walk(&inside, scope);
            return place + 1;
        }
        if is_inner {
            self.test_modules.insert(scope.module.clone());
            return place + 1;
        }
        let end = end_of_item(tokens, place + 1);
        let item = &tokens[place + 1..end];
        if !scope.in_test
            && let Some(last) = item.last()
        {
            self.test_lines += last.span().end().line + 1 - line_of(&tokens[at]);
        }
        if let Some(name) = declared_module(item) {
            self.test_modules.insert([scope.module.clone(), vec![name]].concat());
        }
        self.walk(item, &Scope { in_test: true, ..scope.clone() });
        end
    }

    /// `mod name;` and `mod name { … }`.
    fn walk_module(&mut self, tokens: &[TokenTree], at: usize, scope: &Scope) -> Option<usize> {
        let TokenTree::Ident(name) = tokens.get(at + 1)? else { return None };
        let name = name.to_string();
        self.check_name(line_of(&tokens[at]), &name);
        if let Some(TokenTree::Group(group)) = tokens.get(at + 2) {
            let mut inner = scope.clone();
            inner.module.push(name);
            self.walk(&group.stream().into_iter().collect::<Vec<_>>(), &inner);
        }
        Some(at + 3)
    }

    fn check_word(&mut self, word: &str, tokens: &[TokenTree], at: usize, scope: &Scope) {
        let line = line_of(&tokens[at]);
        let is_macro = matches!(tokens.get(at + 1), Some(TokenTree::Punct(punct)) if punct.as_char() == '!');
        match word {
            "unsafe" if self.room() != Some("platform") => {
                self.found(line, "unsafe", "only `platform/` may be unsafe");
            }
            "todo" | "unimplemented" if is_macro => self.found(line, format!("{word}!"), "no stubs"),
            "include" if is_macro => self.found(line, "include!", "code stands where its module is"),
            "cfg" | "cfg_attr" | "cfg_select" => {
                let group = tokens.get(at + 1 + usize::from(is_macro));
                if group.is_some_and(parts_systems) {
                    self.found_at_the_seam(line, "cfg(system)", scope);
                }
            }
            "extern" if names_own_crate(&tokens[at..]) => {
                self.found(line, "extern crate self", "rooms are named from `crate`");
            }
            _ if word.starts_with("clap") && self.room() != Some("cli") && is_clap(word) => {
                self.found(line, "clap", "only `cli/` may name it");
            }
            _ => {}
        }
    }

    fn check_path(&mut self, path: &NamedPath, line: usize, scope: &Scope) {
        let parts: Vec<&str> = path.parts.iter().map(String::as_str).collect();
        match *parts.as_slice() {
            ["std", part, ..] if STD_SEAM.contains(&part) => {
                self.found_at_the_seam(line, format!("std::{part}"), scope);
            }
            ["std" | "core"] if path.renamed => self.found_at_the_seam(line, "std as", scope),
            ["std", "*"] => self.found_at_the_seam(line, "std::*", scope),
            [.., clock, "now"] if CLOCKS.contains(&clock) => {
                self.found_at_the_seam(line, format!("{clock}::now"), scope);
            }
            [.., clock] if CLOCKS.contains(&clock) && path.renamed => {
                self.found_at_the_seam(line, format!("{clock} as"), scope);
            }
            _ => {}
        }
        if let (Some(room), Some(target)) = (self.room().map(str::to_owned), in_crate(path, &scope.module)) {
            self.check_arrow(&room, &target, path, line);
        }
    }

    fn check_arrow(&mut self, room: &str, target: &[String], path: &NamedPath, line: usize) {
        let named = match target.first().map(String::as_str) {
            Some(named) if named != "*" => named,
            // `pub(crate)` and a lone `super` name no room.
            None if path.parts.len() == 1 && !path.renamed => return,
            _ => return self.found(line, "crate", "takes the whole crate; name a room"),
        };
        if named == room {
            return;
        }
        let known = self.map.arrows.get(room).is_some_and(|rooms| rooms.contains(named));
        if !known {
            let message = format!("`{room}` → `{named}` is no arrow of ARCHITECTURE.md");
            self.found(line, format!("crate::{named}"), &message);
        }
    }

    fn finish(mut self, is_test: bool) -> Vec<Finding> {
        let lines = self.source.text.lines().count().saturating_sub(self.test_lines);
        if !is_test && lines > LINES_MAX {
            let message = format!("{lines} lines without tests; a file has one subject");
            self.found(1, format!("{LINES_MAX} lines"), &message);
        }
        if !is_test {
            self.findings.append(&mut self.findings_unless_test);
        }
        self.findings.dedup();
        self.findings
    }
}

fn line_of(token: &TokenTree) -> usize {
    token.span().start().line
}

/// `test`, `cfg(test)`, `cfg(all(test, …))`.
fn is_test_attribute(inside: &[TokenTree]) -> bool {
    match inside {
        [TokenTree::Ident(word)] => word == "test",
        [TokenTree::Ident(word), TokenTree::Group(group)] if word == "cfg" || word == "all" => {
            let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
            let mut conditions =
                tokens.split(|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ','));
            if word == "cfg" { is_test_attribute(&tokens) } else { conditions.any(is_test_attribute) }
        }
        _ => false,
    }
}

/// Whether a `cfg`'s condition parts operating systems.
fn parts_systems(token: &TokenTree) -> bool {
    match token {
        TokenTree::Group(group) => group.stream().into_iter().any(|inner| parts_systems(&inner)),
        TokenTree::Ident(word) => CFG_SYSTEMS.iter().any(|system| word == system),
        _ => false,
    }
}

/// The position after an item (or field, or variant) that begins there: after its `;`, its `,` or its braces.
fn end_of_item(tokens: &[TokenTree], start: usize) -> usize {
    const ITEM_WORDS: [&str; 14] = [
        "async", "const", "enum", "extern", "fn", "impl", "let", "mod", "static", "struct", "trait", "type",
        "unsafe", "use",
    ];
    let mut is_item = false;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        match token {
            TokenTree::Ident(word) if ITEM_WORDS.iter().any(|item| word == item) => is_item = true,
            TokenTree::Punct(punct) if punct.as_char() == ';' => return at + 1,
            TokenTree::Punct(punct) if punct.as_char() == ',' && !is_item => return at + 1,
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

/// The name in `pub(super) mod name …`.
fn declared_module(item: &[TokenTree]) -> Option<String> {
    let at = item.iter().position(|token| matches!(token, TokenTree::Ident(word) if word == "mod"))?;
    item.get(at + 1).map(ToString::to_string)
}

fn names_own_crate(tokens: &[TokenTree]) -> bool {
    let words: Vec<String> = tokens.iter().take(3).map(ToString::to_string).collect();
    words == ["extern", "crate", "self"]
}

fn is_clap(word: &str) -> bool {
    matches!(word, "clap" | "clap_builder" | "clap_complete" | "clap_derive" | "clap_lex" | "clap_mangen")
}
