//! A verification for programs.

use serde_json::{Map, Value, json};

use crate::plan::put_path;
use crate::report::json::put_reason;
use crate::run::{Remembered, SourceSide, Verified, VerifyReport};

use super::text::word;

pub(super) fn file_json(event: &str, rule: Option<&str>, file: &Verified) -> Value {
    let mut map = Map::new();
    map.insert("event".to_owned(), event.into());
    map.insert("rule".to_owned(), rule.into());
    put_path(&mut map, "path", &file.path);
    let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
    put("what", word(file.finding).into());
    if let Some(run) = file.version {
        put("version", run.to_string().into());
    }
    put("since", file.since.map(|run| run.to_string()).into());
    put("last_right", file.read_back.map(|time| time.to_string()).into());
    put("cause", file.cause.clone().into());
    if let Some(side) = &file.source {
        put("source", source_word(side).into());
    }
    map.into()
}

fn source_word(side: &SourceSide) -> &'static str {
    match side {
        SourceSide::Right => "right",
        SourceSide::AsDestination => "as_destination",
        SourceSide::Other => "other",
        SourceSide::Changed => "changed",
        SourceSide::Gone => "gone",
        SourceSide::Unread(_) => "unread",
    }
}

pub(super) fn report_json(report: &VerifyReport) -> Value {
    let counts = &report.counts;
    let remembered = match &report.remembered {
        Remembered::Nothing => Value::Null,
        Remembered::All => true.into(),
        Remembered::Not(_) => false.into(),
    };
    let mut object = json!({
        "event": "verify-end",
        "job": (!report.job.is_empty()).then_some(&report.job),
        "rule": (!report.rule.is_empty()).then_some(&report.rule),
        "destination": report.destination.to_string_lossy(),
        "outcome": report.outcome.word(),
        "exit": report.outcome.exit().code(),
        "counts": {
            "right": counts.right,
            "rot": counts.rot,
            "changed": counts.changed,
            "missing": counts.missing,
            "unread": counts.unread,
            "source_rot": counts.source_rot,
            "differs": counts.differs,
            "extra": counts.extra,
            "learnt": counts.learnt,
            "others": counts.others,
        },
        "failed": counts.failed(),
        "files": counts.files,
        "versions": counts.versions,
        "cached": counts.cached,
        "bytes": counts.bytes,
        "planned_bytes": report.planned_bytes,
        "total_bytes": report.total_bytes,
        "out_of_time": report.out_of_time,
        "round_complete": report.round_complete,
        "remembered": remembered,
        "seconds": report.elapsed.as_secs_f64(),
    });
    if let Value::Object(map) = &mut object {
        put_reason(map, &report.outcome);
    }
    object
}
