//! A text as a place: absolute paths, `~`, `volume:`, and what is not a place here, each with its cure.

use std::path::{Component, Path, PathBuf};

use super::expand::Expanded;
use super::node::{Scalar, Style};
use super::{Location, Surroundings};

/// Why a text is no place.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) message: String,
    pub(super) label: String,
    pub(super) help: String,
}

fn refuse<T>(
    message: impl Into<String>,
    label: impl Into<String>,
    help: impl Into<String>,
) -> Result<T, Refusal> {
    Err(Refusal { message: message.into(), label: label.into(), help: help.into() })
}

const LOCAL_ONLY: &str = "Twinlane works on local and mounted file systems";

/// Letters that no path is meant to hold: they come from escapes in double quotes, or from a stray line break.
fn is_unfit(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}')
}

/// Refuses control characters and line separators in a path or pattern; `what` names the value.
pub(super) fn check_letters(text: &str, what: &str, scalar: &Scalar, written: &str) -> Result<(), Refusal> {
    let Some(letter) = text.chars().find(|&letter| is_unfit(letter)) else { return Ok(()) };
    let name = match letter {
        '\n' => "a line break".to_owned(),
        '\t' => "a tab".to_owned(),
        _ => format!("the character U+{:04X}", u32::from(letter)),
    };
    let escape = scalar.style == Style::DoubleQuoted && written.contains('\\');
    let help = match scalar.style {
        _ if escape => "in double quotes a backslash begins an escape; use single quotes",
        Style::Literal | Style::Folded => "write it on the line of its key",
        _ => "remove it; a value from a file or the environment may hold one unseen",
    };
    refuse(
        format!("{what} holds {name}"),
        if escape { "made by an escape" } else { "not meant to be there" },
        help,
    )
}

/// The place that an expanded text names, and how to show it.
pub(super) fn locate(
    expanded: &Expanded,
    folder: &Path,
    surroundings: &dyn Surroundings,
) -> Result<(Location, String), Refusal> {
    let text = expanded.text.as_str();
    if text.trim().is_empty() {
        return refuse("the path is empty", "no path here", "write `.` for the job file's folder");
    }
    if let Some(rest) = text.strip_prefix("volume:") {
        return Ok((volume(rest)?, expanded.shown.clone()));
    }
    check_local(text, &expanded.shown)?;
    let path = absolute(text, folder, surroundings)?;
    let shown = match expanded.shown == expanded.text {
        true => path.display().to_string(),
        false if Path::new(text).is_absolute() || text.starts_with('~') => expanded.shown.clone(),
        false => folder.join(&expanded.shown).display().to_string(),
    };
    Ok((Location::Path(path), shown))
}

fn volume(rest: &str) -> Result<Location, Refusal> {
    let (name, path) = rest.split_once('/').unwrap_or((rest, ""));
    if name.trim().is_empty() {
        return refuse(
            "`volume:` names no volume",
            "the label or UUID is missing",
            "write volume:LABEL/path; `lsblk -f` lists labels and UUIDs",
        );
    }
    let path = tidy(Path::new(path.trim_start_matches('/')));
    if path.components().any(|component| component == Component::ParentDir) {
        return refuse(
            "`..` leads out of the volume",
            "not a path below the volume's root",
            "leave `..` out",
        );
    }
    Ok(Location::Volume { name: name.to_owned(), path })
}

/// Refuses what cannot be the path of a file on this machine.
pub(super) fn check_file(expanded: &Expanded) -> Result<(), Refusal> {
    if expanded.text.starts_with("volume:") {
        return refuse(
            "`volume:` stands only in `source` and `destination`",
            "a path was expected",
            "give the path of the file, from this file's folder or whole",
        );
    }
    check_local(&expanded.text, &expanded.shown)
}

/// Refuses remote and Windows paths. A colon before the first slash is one of them, or a slip. `shown` is the text
/// without the content of files.
fn check_local(text: &str, shown: &str) -> Result<(), Refusal> {
    let first = text.split('/').next().unwrap_or(text);
    let letters: Vec<char> = text.chars().take(3).collect();
    if let [drive, ':', ..] = letters.as_slice()
        && drive.is_ascii_alphabetic()
        && matches!(letters.get(2), None | Some('\\' | '/'))
    {
        return refuse(
            format!("`{shown}` is a Windows path"),
            "there are no drive letters here",
            "mount the disk and write its path, or `volume:LABEL/path`",
        );
    }
    if text.starts_with("\\\\") {
        return refuse(
            format!("`{shown}` is a Windows share"),
            "not mounted",
            "mount the share and give the path of its mount point",
        );
    }
    let is_shell_variable =
        |name: &str| name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    if first.strip_prefix('$').is_some_and(is_shell_variable) {
        return refuse(
            format!("`{first}` is not expanded, and would be a folder of that name"),
            "a variable of the shell",
            format!(
                "write `${{env:{}}}`; a folder of that name is `./{first}`",
                first.trim_start_matches('$')
            ),
        );
    }
    if !first.contains(':') {
        return Ok(());
    }
    if text.contains("://") {
        return refuse(
            format!("{LOCAL_ONLY}; `{shown}` is a URL"),
            "a remote place",
            "mount it and give the path of its mount point",
        );
    }
    let help = format!("mount it and give the path of its mount point; a folder of that name is `./{shown}`");
    refuse(format!("{LOCAL_ONLY}; `{shown}` looks like a place on another host"), "a remote place", help)
}

/// An absolute path without `.`, double and trailing slashes. `..` stays: what it means depends on symlinks.
pub(super) fn absolute(
    text: &str,
    folder: &Path,
    surroundings: &dyn Surroundings,
) -> Result<PathBuf, Refusal> {
    let path = match text.strip_prefix('~') {
        Some(rest) => home(rest, surroundings)?,
        None => folder.join(text),
    };
    Ok(tidy(&path))
}

/// `~`, `~/x`, `~anna`, `~anna/x`, without the `~`.
fn home(rest: &str, surroundings: &dyn Surroundings) -> Result<PathBuf, Refusal> {
    let (user, below) = rest.split_once('/').unwrap_or((rest, ""));
    let below = below.trim_start_matches('/');
    let home = surroundings.home(Some(user).filter(|user| !user.is_empty()));
    let Some(home) = home.filter(|home| home.is_absolute()) else {
        return if user.is_empty() {
            refuse(
                "`~` has no meaning: HOME is not set",
                "no home directory",
                "set HOME, or write the whole path; a timer or service may run without it",
            )
        } else {
            refuse(
                format!("`~{user}` has no meaning: there is no user `{user}` with a home directory"),
                "no home directory",
                format!("write the whole path, or `./~{user}` for a folder of that name"),
            )
        };
    };
    if user.is_empty() && below.is_empty() && surroundings.is_root() {
        return refuse(
            "a bare `~` as root",
            "root's home directory, and not that of the person who wrote this",
            "write the whole path, such as /root or /home/NAME",
        );
    }
    Ok(home.join(below))
}

fn tidy(path: &Path) -> PathBuf {
    path.components().filter(|component| *component != Component::CurDir).collect()
}

/// The path with `..` taken back lexically: good enough to compare two paths of one file, not to open one.
pub(super) fn collapsed(path: &Path) -> PathBuf {
    let mut collapsed = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                collapsed.pop();
            }
            other => collapsed.push(other),
        }
    }
    collapsed
}
