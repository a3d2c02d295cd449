//! The texts of all files of a job, one behind the other: one offset tells both the file and the place in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::diagnose::Finding;
use super::node::Span;
use super::{Diagnostic, Site, Source};

/// The job file first, then the files that it extends, in the order in which they were met.
#[derive(Default)]
pub(super) struct Sources {
    /// Each text with a line break behind it.
    whole: String,
    files: Vec<Placed>,
    /// Offsets of all line breaks in `whole`.
    breaks: Vec<usize>,
}

struct Placed {
    /// Where its text begins in the whole.
    base: usize,
    source: Arc<Source>,
}

impl Sources {
    /// Adds a file; back comes where its text begins.
    pub(super) fn add(&mut self, file: &Path, text: &str) -> usize {
        let base = self.whole.len();
        self.whole.push_str(text);
        self.whole.push('\n');
        self.breaks.extend(text.match_indices('\n').map(|(at, _)| base + at).chain([base + text.len()]));
        self.files.push(Placed {
            base,
            source: Arc::new(Source { file: PathBuf::from(file), text: text.to_owned() }),
        });
        base
    }

    /// All texts.
    pub(super) fn whole(&self) -> &str {
        &self.whole
    }

    /// The end of the job file's own text, blank lines left out.
    pub(super) fn end_of_job(&self) -> usize {
        self.files.first().map_or(0, |placed| placed.source.text.trim_end().len())
    }

    /// The file and line of an offset.
    pub(super) fn site(&self, offset: usize) -> Site {
        let lines_before = |offset: usize| self.breaks.partition_point(|&end| end < offset);
        match self.placed(offset) {
            Some(Placed { base, source }) => {
                Site { file: source.file.clone(), line: lines_before(offset) - lines_before(*base) + 1 }
            }
            None => Site { file: PathBuf::new(), line: 1 },
        }
    }

    /// Findings in the whole as diagnostics of single files.
    pub(super) fn diagnostics(&self, findings: Vec<Finding>) -> Vec<Diagnostic> {
        let diagnostic = |Finding { message, span, label, help }: Finding| {
            let Placed { base, source } = self.placed(span.start)?;
            let within = |at: usize| at.saturating_sub(*base).min(source.text.len());
            let span: Span = within(span.start)..within(span.end);
            Some(Diagnostic { source: Arc::clone(source), message, span, label, help })
        };
        findings.into_iter().filter_map(diagnostic).collect()
    }

    fn placed(&self, offset: usize) -> Option<&Placed> {
        let after = self.files.partition_point(|placed| placed.base <= offset);
        self.files.get(after.checked_sub(1)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_tell_file_and_line() {
        let mut sources = Sources::default();
        assert_eq!(sources.add(Path::new("/a"), "1\n2\n"), 0);
        assert_eq!(sources.add(Path::new("/b"), ""), 5);
        assert_eq!(sources.add(Path::new("/c"), "1\r\n2"), 6);
        let site = |offset| {
            let Site { file, line } = sources.site(offset);
            (file.display().to_string(), line)
        };
        for (offset, file, line) in
            [(0, "/a", 1), (1, "/a", 1), (2, "/a", 2), (4, "/a", 3), (5, "/b", 1), (6, "/c", 1), (9, "/c", 2)]
        {
            assert_eq!(site(offset), (file.to_owned(), line), "{offset}");
        }
        assert_eq!(sources.end_of_job(), 3);
    }
}
