//! Where jobs are looked for: `./jobs`, the user's configuration folder, `/etc/twinlane/jobs`.

use std::path::{Path, PathBuf};

use crate::job::nearest;
use crate::platform::{Environment, list_paths};

use super::error::CliError;

/// A job file that was found in one of the folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The file's stem.
    pub(super) name: String,
    /// The file.
    pub(super) file: PathBuf,
}

/// `$XDG_CONFIG_HOME/twinlane/jobs` or `~/.config/twinlane/jobs`.
pub(super) fn own_folder(environment: Environment) -> Option<PathBuf> {
    let set = environment.variable("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let base = set.or_else(|| environment.home(None).map(|home| home.join(".config")));
    base.map(|base| base.join("twinlane/jobs"))
}

/// The folders, in the order in which they are named.
pub(super) fn folders(environment: Environment) -> Vec<PathBuf> {
    let here = environment.working_directory().ok().map(|folder| folder.join("jobs"));
    here.into_iter().chain(own_folder(environment)).chain([PathBuf::from("/etc/twinlane/jobs")]).collect()
}

/// All job files in these folders, by folder and name.
pub(super) fn find_all(environment: Environment) -> Result<Vec<Found>, CliError> {
    let mut all = Vec::new();
    for folder in folders(environment) {
        let paths = list_paths(&folder).map_err(|error| {
            CliError::usage(format!("cannot list the jobs in `{}`", folder.display())).because(&error)
        })?;
        all.extend(paths.into_iter().filter_map(found));
    }
    Ok(all)
}

fn found(file: PathBuf) -> Option<Found> {
    let name = file.file_stem()?.to_str()?.to_owned();
    is_job(&file).then_some(Found { name, file })
}

/// Whether a path ends as job files do, and is not hidden.
pub(super) fn is_job(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default();
    file.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
        && !name.as_encoded_bytes().starts_with(b".")
}

/// The one job of this name.
pub(super) fn find_named(environment: Environment, name: &str) -> Result<PathBuf, CliError> {
    let all = find_all(environment)?;
    let files: Vec<&Path> =
        all.iter().filter(|found| found.name == name).map(|found| found.file.as_path()).collect();
    match files.as_slice() {
        [file] => Ok(file.to_path_buf()),
        [] => Err(absent(environment, name, &all)),
        several => {
            let listed: Vec<String> = several.iter().map(|file| format!("`{}`", file.display())).collect();
            Err(CliError::usage(format!("{} jobs are called `{name}`: {}", several.len(), listed.join(", ")))
                .help("give the path of the one that is meant"))
        }
    }
}

fn absent(environment: Environment, name: &str, all: &[Found]) -> CliError {
    let error = CliError::usage(format!("no job is called `{name}`"));
    let here = environment.working_directory().ok().and_then(|folder| list_paths(&folder).ok());
    let stray = here.into_iter().flatten().filter(|file| is_job(file));
    let stray = stray.filter_map(|file| file.file_name().map(|name| name.to_string_lossy().into_owned()));
    if let Some(file) =
        stray.into_iter().find(|file| file.rsplit_once('.').is_some_and(|(stem, _)| stem == name))
    {
        return error.help(format!("a job in this folder is given as a path: `{file}`"));
    }
    if let Some(nearest) = nearest(name, all.iter().map(|found| found.name.as_str())) {
        return error.help(format!("did you mean `{nearest}`?"));
    }
    if all.is_empty() {
        let looked: Vec<String> =
            folders(environment).iter().map(|folder| format!("`{}`", folder.display())).collect();
        return error
            .help(format!("no job was found in {}; `twinlane init {name}` writes one", looked.join(", ")));
    }
    error.help(format!("jobs: {}", listed(all)))
}

/// As many names fit a line.
const LISTED_MAX: usize = 8;

/// The names of jobs, in a line.
pub(super) fn listed(all: &[Found]) -> String {
    let mut names: Vec<&str> = all.iter().map(|found| found.name.as_str()).collect();
    let more = names.len().saturating_sub(LISTED_MAX);
    names.truncate(LISTED_MAX);
    let names = names.join(", ");
    if more == 0 { names } else { format!("{names} and {more} more (`twinlane jobs`)") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_files_end_in_yaml() {
        let name = |file: &str| found(PathBuf::from(file)).map(|found| found.name);
        assert_eq!(name("/a/demo.yaml").as_deref(), Some("demo"));
        assert_eq!(name("/a/demo.yml").as_deref(), Some("demo"));
        assert_eq!(name("/a/demo.txt"), None);
        assert_eq!(name("/a/.hidden.yaml"), None);
    }
}
