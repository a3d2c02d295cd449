//! The past of a destination for people and for programs.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::job::Retention;
use crate::plan::put_path;
use crate::run::{Content, Displayed, FolderEntry, Place, VersionsReport};
use crate::store::{RunVersions, Weighed};
use crate::value::{ByteCount, RelPath, RunId, Stamp, Zone};

use super::call::{Call, shell_word};
use super::output::{Output, Paint, Stream};
use super::restore::{loss_words, path_word};
use super::words::{count, counted, shown};

/// Writes it for people.
pub fn versions_text(output: &mut Output, job: &str, call: &Call, report: &VersionsReport) {
    for note in &report.notes {
        output.message(&format!("note: {note}"));
    }
    let name = output.paint(Stream::Result, Paint::Bold, &format!("{job}/{}", report.rule));
    let at = report.destination.display();
    match &report.displayed {
        Displayed::Runs { weighed, retention } => {
            output.line(&format!("{name}  versions below {at}"));
            for line in runs_lines(weighed, retention.as_ref(), report.zone) {
                output.line(&line);
            }
        }
        Displayed::Contents { path, contents } => {
            let number = match contents.len() as u64 {
                0 => ": nothing of that name is there, and no run has known one".to_owned(),
                number => format!(", {}", counted(number, "content", "contents")),
            };
            output.line(&format!("{name}  {}{number}", shown(path)));
            for content in contents {
                for line in content_lines(call, report, path, content) {
                    output.line(&line);
                }
            }
        }
        Displayed::Folder { path, entries } => {
            output.line(&format!("{name}  {}", shown(path)));
            for line in folder_lines(entries) {
                output.line(&line);
            }
        }
    }
    if let Some(run) = report.complete_from {
        let before = counted(report.lost, "entry", "entries");
        let verb = if report.lost == 1 { "is" } else { "are" };
        output.line(&format!("  complete from {run} on; {before} before that {verb} no more"));
    }
    if let Some(next) = next(call, report) {
        output.line(&format!("next: {next}"));
    }
}

/// A time as clocks of the zone show it.
fn local(zone: Zone, at: Stamp) -> String {
    zone.local(at).format("%Y-%m-%d %H:%M").to_string()
}

fn runs_lines(weighed: &Weighed, retention: Option<&Retention>, zone: Zone) -> Vec<String> {
    if weighed.runs.is_empty() {
        return vec!["  no versions: nothing was displaced yet, or all of it was released".to_owned()];
    }
    let row = |run: &RunVersions| {
        format!(
            "  {}  {}  {:>12}  {:>10}  {}",
            run.run,
            local(zone, run.run.time()),
            counted(run.versions, "version", "versions"),
            run.bytes.to_string(),
            fate(run, retention, zone)
        )
    };
    let mut lines: Vec<String> = weighed.runs.iter().rev().map(row).collect();
    let versions: u64 = weighed.runs.iter().map(|run| run.versions).sum();
    let bytes = ByteCount(weighed.runs.iter().map(|run| run.bytes.0).sum());
    lines.push(format!("  {} in all, taking {bytes}", counted(versions, "version", "versions")));
    if weighed.distrusted_clock {
        lines.push("  something is due, but this machine's clock is not to be believed: set it".to_owned());
    } else if weighed.due_bytes.0 > 0 {
        lines.push(format!("  {} would be freed by pruning now", weighed.due_bytes));
    }
    if weighed.unreadable > 0 {
        lines.push(format!("  {} could not be looked at", count(weighed.unreadable)));
    }
    lines
}

/// When a run's versions go.
fn fate(run: &RunVersions, retention: Option<&Retention>, zone: Zone) -> String {
    let Some(retention) = retention else {
        return "stay: the rule keeps no versions, and prunes none".to_owned();
    };
    if run.due > 0 && run.due == run.versions {
        return "go at the next prune".to_owned();
    }
    let mut parts = Vec::new();
    if run.due > 0 {
        parts.push(format!("{} of them go at the next prune", count(run.due)));
    }
    match (retention.keep_for, retention.keep_last) {
        (Some(span), last) => {
            let until = local(zone, after(run.run, span));
            let bound = if last.is_some() { " at least" } else { "" };
            parts.push(format!("stay{bound} until {until}"));
        }
        (None, Some(last)) => parts.push(format!("stay while among the last {last} of their path")),
        (None, None) => parts.push("stay".to_owned()),
    }
    if retention.max_size.is_some() {
        parts.push("within max_size".to_owned());
    }
    parts.join(", ")
}

fn after(run: RunId, span: Duration) -> Stamp {
    let nanos = i128::try_from(span.as_nanos()).unwrap_or(i128::MAX / 2);
    Stamp::from_nanos(run.time().as_nanos().saturating_add(nanos))
}

fn content_lines(call: &Call, report: &VersionsReport, path: &RelPath, content: &Content) -> Vec<String> {
    let zone = report.zone;
    let since = content.since.map_or("before the first run".to_owned(), |run| local(zone, run.time()));
    let until = content.until.map_or("now".to_owned(), |run| local(zone, run.time()));
    let span = match content.place {
        Place::Beside => format!("replaced in the source {until}"),
        _ => format!("{since} … {until}"),
    };
    let digest = content.digest.map_or(String::new(), |digest| {
        format!("  {}", digest.to_string().chars().take(SHORT).collect::<String>())
    });
    let run = content.until.map(|run| run.to_string()).unwrap_or_default();
    let place = match &content.place {
        Place::Current => "current".to_owned(),
        Place::Version => format!("version of run {run}"),
        Place::Moved(to) => format!("moved to {}", shown(to)),
        Place::Beside => format!("version of restore {run}"),
        Place::Lost(loss) => loss_words(*loss, &run),
    };
    let size = match content.kind.as_str() {
        "file" => ByteCount(content.size).to_string(),
        kind => kind.to_owned(),
    };
    let again = match content.earlier {
        0 => String::new(),
        times => format!("  (and {} before)", counted(times, "time", "times")),
    };
    let mut lines = vec![format!("  {span}  {size}{digest}  {place}{again}")];
    lines.extend(command(call, report, path, content).map(|command| format!("    {command}")));
    lines
}

/// Digits of a digest that tell contents of one path apart.
const SHORT: usize = 12;

/// The command that gives a content back.
fn command(call: &Call, report: &VersionsReport, path: &RelPath, content: &Content) -> Option<String> {
    if let (Place::Beside, Some(run)) = (&content.place, content.until) {
        let below = format!(".twinlane/versions/{run}/{}", String::from_utf8_lossy(path.as_bytes()));
        let file = report.destination.join(below);
        return Some(format!("cp -a {} .", shell_word(&file.to_string_lossy())));
    }
    let at = content.at()?;
    let mut words = vec![path_word(path)];
    if at != "latest" {
        words.push(format!("--at {at}"));
    }
    words.push("--to restored".to_owned());
    Some(call.of_rule("restore", &report.rule, &words))
}

fn folder_lines(entries: &[FolderEntry]) -> Vec<String> {
    let name = |entry: &FolderEntry| {
        let slash = if entry.folder { "/" } else { "" };
        format!("{}{slash}", crate::value::escape(entry.path.name()))
    };
    let width = entries.iter().map(|entry| name(entry).chars().count()).max().unwrap_or(0);
    if entries.is_empty() {
        return vec!["  nothing is there, and nothing was".to_owned()];
    }
    entries
        .iter()
        .map(|entry| {
            let versions = match entry.versions {
                0 => "no versions".to_owned(),
                number => format!("{}, {}", counted(number, "version", "versions"), ByteCount(entry.bytes)),
            };
            let gone = if entry.current { "" } else { "  not there now" };
            format!("  {:<width$}  {versions}{gone}", name(entry))
        })
        .collect()
}

fn next(call: &Call, report: &VersionsReport) -> Option<String> {
    match &report.displayed {
        Displayed::Runs { weighed, .. } if weighed.runs.iter().any(|run| run.due > 0) => {
            Some(call.of_rule("prune", &report.rule, &["--dry-run".to_owned()]))
        }
        Displayed::Runs { .. } => Some(call.of_rule("versions", &report.rule, &[".".to_owned()])),
        Displayed::Folder { entries, .. } => {
            let first = entries.iter().find(|entry| entry.versions > 0).or_else(|| entries.first())?;
            Some(call.of_rule("versions", &report.rule, &[path_word(&first.path)]))
        }
        Displayed::Contents { path, contents } => contents
            .iter()
            .find(|content| content.until.is_some() && content.at().is_some())
            .or_else(|| contents.first())
            .and_then(|content| command(call, report, path, content))
            .or_else(|| Some(call.of_rule("versions", &report.rule, &[".".to_owned()]))),
    }
}

/// The same for programs, an object a run, content or name.
#[must_use]
pub fn versions_json(job: &str, call: &Call, report: &VersionsReport) -> Vec<Value> {
    let mut lines: Vec<Value> = match &report.displayed {
        Displayed::Runs { weighed, .. } => weighed
            .runs
            .iter()
            .map(|run| {
                json!({
                    "event": "versions",
                    "job": job,
                    "rule": report.rule,
                    "run": run.run.to_string(),
                    "versions": run.versions,
                    "bytes": run.bytes.0,
                    "due": run.due,
                })
            })
            .collect(),
        Displayed::Contents { path, contents } => {
            contents.iter().map(|content| content_json(call, report, path, content)).collect()
        }
        Displayed::Folder { entries, .. } => entries.iter().map(folder_json).collect(),
    };
    lines.push(json!({
        "event": "versions-end",
        "job": job,
        "rule": report.rule,
        "destination": report.destination.to_string_lossy(),
        "complete_from": report.complete_from.map(|run| run.to_string()),
        "lost": report.lost,
        "notes": report.notes,
    }));
    lines
}

fn content_json(call: &Call, report: &VersionsReport, path: &RelPath, content: &Content) -> Value {
    let mut map = Map::new();
    map.insert("event".to_owned(), "content".into());
    put_path(&mut map, "path", path);
    let place = match content.place {
        Place::Current => "current",
        Place::Version => "version",
        Place::Moved(_) => "moved",
        Place::Beside => "beside",
        Place::Lost(_) => "lost",
    };
    let run = |run: Option<RunId>| run.map(|run| run.to_string());
    let rest = json!({
        "since": run(content.since),
        "until": run(content.until),
        "kind": content.kind,
        "bytes": content.size,
        "modified": content.modified.to_string(),
        "blake3": content.digest.map(|digest| digest.to_string()),
        "place": place,
        "restore": command(call, report, path, content),
    });
    map.extend(rest.as_object().cloned().unwrap_or_default());
    map.into()
}

fn folder_json(entry: &FolderEntry) -> Value {
    let mut map = Map::new();
    map.insert("event".to_owned(), "name".into());
    put_path(&mut map, "path", &entry.path);
    map.insert("current".to_owned(), entry.current.into());
    map.insert("folder".to_owned(), entry.folder.into());
    map.insert("versions".to_owned(), entry.versions.into());
    map.insert("bytes".to_owned(), entry.bytes.into());
    map.into()
}
