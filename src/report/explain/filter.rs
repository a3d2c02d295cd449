//! What the filter says of a path, in words: the line that decided, and where it is written.

use crate::compare::{Ruling, Side, Trace, Written};
use crate::filter::{Cause, Judgement, PatternList, Predicate};
use crate::job::Rule;
use crate::run::{Explained, Story};
use crate::value::{Kind, RelPath, escape};

use super::super::words::shown;
use super::{Telling, file_words};

/// One line, or two where it depends on what a name that is not there would stand for.
pub(super) fn filter_lines(telling: &Telling<'_>, explained: &Explained<'_>, story: &Story) -> Vec<String> {
    let words = |trace: &Trace| Words { telling, explained, trace }.whole();
    let one = words(&story.trace);
    match story.as_directory.as_ref().map(words) {
        Some(other) if other != one => {
            vec![format!("a file of that name: {one}"), format!("a directory of that name: {other}")]
        }
        _ => vec![one],
    }
}

/// What is told about one trace.
struct Words<'a> {
    telling: &'a Telling<'a>,
    explained: &'a Explained<'a>,
    trace: &'a Trace,
}

impl Words<'_> {
    fn whole(&self) -> String {
        let at = || format!("`{}`", shown(&self.trace.at));
        match &self.trace.ruling {
            Ruling::Judged { judgement, cause, file } => self.judged(*judgement, *cause, file.as_ref()),
            Ruling::Reserved => {
                format!("{} belongs to Twinlane or to the system: never compared, copied or removed", at())
            }
            Ruling::Unfinished => {
                format!("{} is the unfinished work of a run: never copied", at())
            }
            Ruling::LeftOut(Kind::Symlink) => {
                format!("symlinks are left out by {}", self.value("preserve.symlinks"))
            }
            Ruling::LeftOut(kind) => {
                format!("entries of kind {} are left out by {}", kind.word(), self.value("preserve.special"))
            }
            Ruling::MountPoint => {
                let value = self.value("select.one_file_system");
                format!("{} is a mount point, which is not entered by {value}", at())
            }
            Ruling::Foreign => {
                format!("{} is another rule's destination: not entered, not removed", at())
            }
            Ruling::Unread(side, message) => {
                let side = match side {
                    Side::Source => "source",
                    Side::Destination => "destination",
                };
                format!("cannot be told: {} cannot be read in the {side}: {message}", at())
            }
        }
    }

    fn judged(&self, judgement: Judgement, cause: Cause, file: Option<&Written>) -> String {
        match (cause, judgement) {
            (Cause::Nothing, _) => "nothing excludes it".to_owned(),
            (Cause::NotIncluded, _) => "left out: no line of `include` matches it".to_owned(),
            (Cause::Select(predicate), _) => self.left_out(predicate, file),
            (Cause::Line { list, index, depth, .. }, judgement) => {
                let line = self.pattern(list, index);
                sentence(judgement, list, &self.matched(depth), &line)
            }
            (Cause::IgnoreLine { depth, line, .. }, judgement) => {
                let line = match file {
                    Some(file) => format!("`{}`, line {} of {}", escape(&file.text), line + 1, file.path),
                    None => format!("line {} of an ignore file", line + 1),
                };
                sentence(judgement, PatternList::Exclude, &self.matched(depth), &line)
            }
        }
    }

    /// The directory above that a line matched; empty where it matched the path itself.
    fn matched(&self, depth: usize) -> String {
        let path = self.explained.path;
        if depth >= path.depth() {
            return String::new();
        }
        let above = path.components().take(depth).fold(RelPath::root(), |above, name| above.join(name));
        format!(" with `{above}`,")
    }

    /// A pattern of the job with the place where it is written.
    fn pattern(&self, list: PatternList, index: usize) -> String {
        let (rule, loaded): (&Rule, _) = (self.explained.rule, self.telling.loaded);
        let texts = match list {
            PatternList::Exclude => &rule.exclude,
            PatternList::Include => &rule.include,
        };
        let text = texts.get(index).map(|text| escape(text.as_bytes())).unwrap_or_default();
        let origin = loaded
            .patterns
            .iter()
            .find(|origin| origin.rule == rule.name && origin.list == list && origin.index == index);
        match origin {
            Some(origin) => {
                format!("`{text}`, line {} of {}", origin.line, file_words(&origin.file, self.telling.here))
            }
            None => format!("`{text}`"),
        }
    }

    /// A value of the rule with the place where it is written.
    fn value(&self, key: &str) -> String {
        let whole = format!("rules.{}.{key}", self.explained.rule.name);
        let loaded = self.telling.loaded;
        match loaded.origins.iter().find(|origin| origin.key == whole) {
            Some(origin) => match &origin.site {
                Some(site) => {
                    let file = file_words(&site.file, self.telling.here);
                    format!("`{key}: {}`, line {} of {file}", origin.value, site.line)
                }
                None => format!("`{key}: {}`, the default", origin.value),
            },
            None => format!("`{key}`"),
        }
    }

    fn left_out(&self, predicate: Predicate, file: Option<&Written>) -> String {
        let value = self.value(&format!("select.{}", predicate.key()));
        let with = if self.trace.at == *self.explained.path {
            String::new()
        } else {
            format!(" with `{}`", self.trace.at)
        };
        match predicate {
            Predicate::ExcludeIfPresent => {
                let marker = file.map(|file| format!(": `{}` is there", file.path)).unwrap_or_default();
                format!("left out{with} by {value}{marker}")
            }
            Predicate::ExcludeCaches => {
                let holder = self.trace.at.parent().unwrap_or_default();
                format!("left out{with} by {value}: `{}` holds a cache tag", shown(&holder))
            }
            _ => format!("left out{with} by {value}"),
        }
    }
}

fn sentence(judgement: Judgement, list: PatternList, with: &str, line: &str) -> String {
    match (judgement, list) {
        (Judgement::Selected, PatternList::Include) => format!("included{with} by {line}"),
        (Judgement::Selected, PatternList::Exclude) => format!("selected{with} by {line}"),
        (Judgement::Excluded, PatternList::Include) => format!("left out{with} by {line}"),
        (Judgement::Excluded, PatternList::Exclude) => format!("excluded{with} by {line}"),
        (Judgement::Through, _) => {
            format!("excluded{with} by {line}; entered, since a `!` line may match below it")
        }
    }
}
