//! What `doctor` says of a place: facts first, then what follows from them.

use serde_json::{Value, json};

use crate::run::{Diagnosis, Knowledge};
use crate::value::{ByteCount, Case, Place, SyncTrust};

use super::output::{Output, Paint, Stream};
use super::words::count;

/// A diagnosis for people.
pub fn doctor_text(output: &mut Output, diagnosis: &Diagnosis) {
    let title = output.paint(Stream::Result, Paint::Bold, &diagnosis.path.display().to_string());
    output.line(&title);
    for (what, fact) in facts(diagnosis) {
        output.line(&format!("  {what:<14}  {fact}"));
    }
    output.line("  therefore");
    for consequence in consequences(diagnosis) {
        output.line(&format!("    - {consequence}"));
    }
}

/// What to do next, once all was said.
#[must_use]
pub fn after_doctor(diagnoses: &[Diagnosis]) -> Option<[String; 2]> {
    let guessed = diagnoses.iter().find(|diagnosis| diagnosis.knowledge != Knowledge::Tried)?;
    let path = super::call::shell_word(&guessed.path.to_string_lossy());
    Some([
        "small files of Twinlane's own try the rest out, and are removed again:".to_owned(),
        format!("next: twinlane doctor --probe {path}"),
    ])
}

/// A diagnosis for programs.
#[must_use]
pub fn doctor_json(diagnosis: &Diagnosis) -> Value {
    let place = &diagnosis.place;
    let ends = place.time_range;
    let end = |stamp: crate::value::Stamp| is_bound(stamp.seconds).then(|| stamp.to_string());
    json!({
        "path": diagnosis.path.to_string_lossy(),
        "known_from": knowledge(diagnosis.knowledge),
        "destination_of": diagnosis.identity.as_ref().map(|id| format!("{}/{}", id.job, id.rule)),
        "file_system": place.file_system,
        "mount_point": crate::value::escape(&place.mount_point),
        "device": diagnosis.device,
        "options": diagnosis.options,
        "uuid": place.uuid,
        "read_only": place.read_only,
        "shared": place.shared,
        "grain_ns": place.grain_ns,
        "earliest": end(ends.0),
        "latest": end(ends.1),
        "case_sensitive": place.case == Case::Sensitive,
        "name_bytes_max": place.name_bytes_max,
        "file_bytes_max": place.file_bytes_max,
        "owners": place.owners,
        "xattrs": place.xattrs,
        "acls": diagnosis.trial.map(|trial| trial.acls),
        "hard_links": place.hard_links,
        "symlinks": place.symlinks,
        "exchange": place.exchange,
        "reflink": diagnosis.trial.map(|trial| trial.reflink),
        "direct": diagnosis.trial.map(|trial| trial.direct.is_some()),
        "direct_alignment": diagnosis.trial.and_then(|trial| trial.direct).map(|direct| direct.offset_bytes),
        "syncfs": place.sync == SyncTrust::FileSystem,
        "ordered": place.ordered,
        "free_bytes": place.free_bytes,
        "total_bytes": place.total_bytes,
        "free_inodes": (place.free_inodes != u64::MAX).then_some(place.free_inodes),
        "therefore": consequences(diagnosis),
    })
}

fn knowledge(knowledge: Knowledge) -> &'static str {
    match knowledge {
        Knowledge::Assumed => "type",
        Knowledge::FirstRun => "first_run",
        Knowledge::Tried => "probe",
    }
}

/// Years that no clock reaches are no bounds.
fn is_bound(seconds: i64) -> bool {
    seconds != i64::MIN && seconds != i64::MAX
}

fn facts(diagnosis: &Diagnosis) -> Vec<(&'static str, String)> {
    let place = &diagnosis.place;
    let mut facts = vec![("file system", file_system(diagnosis)), ("mounted at", mounted(diagnosis))];
    if let Some(id) = &diagnosis.identity {
        facts.push(("destination of", format!("{}/{}", id.job, id.rule)));
    }
    let source = match diagnosis.knowledge {
        Knowledge::Assumed => "from the type of file system; nothing was written",
        Knowledge::FirstRun => "as a run found out here; nothing was written now",
        Knowledge::Tried => "tried out just now",
    };
    facts.push(("known", source.to_owned()));
    facts.push(("times", times(place)));
    let case = match place.case {
        Case::Sensitive => "told apart by case",
        Case::Insensitive => "`a` and `A` are one name",
    };
    facts.push(("names", format!("{case}, {} bytes at most", place.name_bytes_max)));
    if place.file_bytes_max < i64::MAX.unsigned_abs() {
        facts.push(("files", format!("{} at most", ByteCount(place.file_bytes_max))));
    }
    let mut holds = vec![
        ("owners and modes", Some(place.owners)),
        ("extended attributes", Some(place.xattrs)),
        ("hard links", Some(place.hard_links)),
        ("symlinks", Some(place.symlinks)),
        ("exchange of names", Some(place.exchange)),
    ];
    holds.push(("ACLs", diagnosis.trial.map(|trial| trial.acls)));
    holds.push(("shared blocks (reflink)", diagnosis.trial.map(|trial| trial.reflink)));
    let listed = |wanted: Option<bool>| -> String {
        let names: Vec<&str> =
            holds.iter().filter(|(_, has)| *has == wanted).map(|(name, _)| *name).collect();
        names.join(", ")
    };
    for (what, wanted) in [("holds", Some(true)), ("lacks", Some(false)), ("not tried", None)] {
        let names = listed(wanted);
        if !names.is_empty() {
            facts.push((what, names));
        }
    }
    if let Some(trial) = diagnosis.trial {
        facts.push((
            "direct I/O",
            trial.direct.map_or_else(
                || "refused".to_owned(),
                |direct| format!("works, in multiples of {} bytes", direct.offset_bytes),
            ),
        ));
    }
    facts.push(("free", free(place)));
    facts
}

fn file_system(diagnosis: &Diagnosis) -> String {
    let place = &diagnosis.place;
    let mut text =
        if place.file_system.is_empty() { "unknown".to_owned() } else { place.file_system.clone() };
    if let Some(device) = &diagnosis.device {
        text = format!("{text} on {device}");
    }
    if let Some(uuid) = &place.uuid {
        text = format!("{text}, UUID {uuid}");
    }
    text
}

fn mounted(diagnosis: &Diagnosis) -> String {
    let point = crate::value::escape(&diagnosis.place.mount_point);
    match &diagnosis.options {
        Some(options) => format!("{point} ({options})"),
        None => point,
    }
}

fn times(place: &Place) -> String {
    let grain = match place.grain_ns {
        nanos if nanos % 1_000_000_000 == 0 => format!("{} s", nanos / 1_000_000_000),
        nanos if nanos % 1_000_000 == 0 => format!("{} ms", nanos / 1_000_000),
        nanos if nanos % 1000 == 0 => format!("{} µs", nanos / 1000),
        nanos => format!("{nanos} ns"),
    };
    let day = |stamp: crate::value::Stamp| stamp.to_string().split('T').next().unwrap_or_default().to_owned();
    let (first, last) = place.time_range;
    let range = match (is_bound(first.seconds), is_bound(last.seconds)) {
        (true, true) => format!(", {} … {}", day(first), day(last)),
        (true, false) => format!(", from {} on", day(first)),
        (false, true) => format!(", until {}", day(last)),
        (false, false) => String::new(),
    };
    format!("in steps of {grain}{range}")
}

fn free(place: &Place) -> String {
    let bytes = format!("{} of {}", ByteCount(place.free_bytes), ByteCount(place.total_bytes));
    match place.free_inodes {
        u64::MAX => bytes,
        inodes => format!("{bytes}, {} inodes", count(inodes)),
    }
}

/// What Twinlane does differently for what the place is.
fn consequences(diagnosis: &Diagnosis) -> Vec<String> {
    let place = &diagnosis.place;
    let mut said: Vec<&str> = Vec::new();
    if place.read_only {
        said.push("it is mounted read-only: it can be a source, not a destination");
    }
    said.push(match place.sync {
        SyncTrust::FileSystem => "files are made durable in batches, one sync of the file system each",
        SyncTrust::EachFile => {
            "each file and directory is synced by itself: a sync of the whole file system is not trusted here"
        }
    });
    said.push(if place.ordered {
        "a cut of power leaves each name with its old or its new content"
    } else {
        "nothing is promised of a cut of power: the order in which names reach the disk is not known"
    });
    if diagnosis
        .options
        .as_deref()
        .is_some_and(|options| options.split(',').any(|option| option == "fast_commit"))
    {
        said.push("it is mounted with fast_commit, which is young: mount it without where power may be cut");
    }
    if !place.exchange {
        said.push("where a directory becomes a file or the reverse, its name is absent for a moment: two renames stand in for an exchange");
    }
    if place.grain_ns > 1 {
        said.push("times are rounded down to its steps before they are compared");
    }
    if place.case == Case::Insensitive {
        said.push("entries whose names differ by case alone fail, each of them, and are listed");
    }
    if !place.hard_links {
        said.push("hard links become separate files, and replaced content is copied into versions");
    }
    if !place.symlinks {
        said.push("symlinks are left out, and counted");
    }
    if !place.owners {
        said.push("owners and modes are not kept: one warning a run");
    }
    if !place.xattrs {
        said.push("extended attributes are not kept: one warning a run");
    }
    if place.shared {
        said.push("other hosts may write here: a lock of another host counts as held for 5 minutes after its last sign");
    }
    if let Some(trial) = diagnosis.trial {
        said.push(match trial.direct {
            Some(_) => "large files are written past the page cache",
            None => "all files go through the page cache: direct I/O is refused",
        });
    }
    said.into_iter().map(str::to_owned).collect()
}
