//! Why a copy was not begun. Nothing was touched.

use std::path::PathBuf;

use crate::run::{Exit, Refusal};

/// Why a copy was not begun.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// Sources that are not there.
    #[error("{}", missing(.paths))]
    Missing {
        /// All of them, as they were typed.
        paths: Vec<PathBuf>,
    },
    /// A trailing slash after something that is no directory.
    #[error("`{}` is not a directory", .path.display())]
    NotADirectory {
        /// As typed.
        path: PathBuf,
    },
    /// Something cannot be opened or looked at.
    #[error("{side} `{}` cannot be used: {cause}", .path.display())]
    Unusable {
        /// `source` or `destination`.
        side: &'static str,
        /// As typed.
        path: PathBuf,
        /// Why.
        cause: String,
    },
    /// Two sources would get one name.
    #[error("`{name}` comes from both `{}` and `{}`", .first.display(), .second.display())]
    SameName {
        /// The name in the destination, escaped.
        name: String,
        /// As typed.
        first: PathBuf,
        /// As typed.
        second: PathBuf,
    },
    /// A source that is its own destination.
    #[error("`{}` would be copied onto itself", .path.display())]
    Itself {
        /// As typed.
        path: PathBuf,
    },
    /// The folder that is to hold the destination is not there.
    #[error("`{}` does not exist, so `{}` cannot be made in it", .folder.display(), .path.display())]
    NoParent {
        /// The first folder that is not there.
        folder: PathBuf,
        /// The destination as typed.
        path: PathBuf,
    },
    /// A file where a directory is needed.
    #[error("`{}` is not a directory, and {what} needs one to be copied into", .path.display())]
    NeedsDirectory {
        /// The destination as typed.
        path: PathBuf,
        /// `a directory`, `more than one source`, …
        what: &'static str,
    },
    /// A symlink to a file, or to nothing, as the destination.
    #[error("`{}` is a symlink, and does not lead to a directory", .path.display())]
    Symlink {
        /// The destination as typed.
        path: PathBuf,
    },
    /// Twinlane's own folder as a source.
    #[error("`{}` is what Twinlane keeps of a destination, and would make one of the folder that it is copied into", .path.display())]
    OwnFolder {
        /// As typed.
        path: PathBuf,
    },
    /// The file for the digests is there.
    #[error("`{}` exists already", .path.display())]
    SumsExist {
        /// As typed.
        path: PathBuf,
    },
    /// A pattern of `--exclude` is none.
    #[error("--exclude: {message}")]
    Pattern {
        /// What is wrong with it.
        message: String,
    },
    /// A requirement does not hold.
    #[error(transparent)]
    Refused(Refusal),
}

impl CopyError {
    /// What it makes of the process.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Refused(_) | Self::Itself { .. } => Exit::Refused,
            _ => Exit::Usage,
        }
    }

    /// The way out.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        let text = match self {
            Self::Missing { .. } => "nothing was copied; correct the path, or leave it out",
            Self::NotADirectory { .. } => "leave its trailing slash out",
            Self::Unusable { .. } => "correct the path, or the rights on it",
            Self::SameName { .. } => {
                "copy one after the other into folders of their own: neither is to overwrite the other"
            }
            Self::Itself { .. } => "name another folder, or a new name",
            Self::NoParent { folder, .. } => {
                return Some(format!("make it first: mkdir -p {}", folder.display()));
            }
            Self::NeedsDirectory { .. } => "name a directory, or one that is still to be made",
            Self::Symlink { .. } => "name what it leads to, or remove it first",
            Self::OwnFolder { .. } => "copy the folder that holds it, without a slash at its end",
            Self::SumsExist { .. } => "nothing is overwritten; name another file, or remove it first",
            Self::Pattern { .. } => "patterns are those of .gitignore",
            Self::Refused(refusal) => return refusal.advice().map(str::to_owned),
        };
        Some(text.to_owned())
    }
}

fn missing(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| format!("`{}`", path.display())).collect();
    match names.as_slice() {
        [one] => format!("{one} does not exist"),
        _ => format!("{} sources do not exist: {}", names.len(), names.join(", ")),
    }
}
