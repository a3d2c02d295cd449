//! One path explained as an object.

use serde_json::{Map, Value, json};

use crate::compare::{Look, Ruling, Trace};
use crate::filter::{Cause, Judgement, PatternList};
use crate::plan::put_path;
use crate::run::{Explained, Story, Taken};

use super::super::json::put_objection;
use super::super::summary::conflict_words;
use super::filter::filter_lines;
use super::{Telling, fate};

/// One path by one rule as one object.
#[must_use]
pub fn explain_json(telling: &Telling<'_>, explained: &Explained<'_>) -> Value {
    let mut object = Map::new();
    object.insert("job".to_owned(), telling.loaded.job.name.as_str().into());
    object.insert("rule".to_owned(), explained.plan.rule.as_str().into());
    put_path(&mut object, "path", explained.path);
    let taken = match explained.taken {
        Taken::BelowRoots => "below_roots",
        Taken::Absolute => "absolute",
        Taken::FromHere => "working_directory",
    };
    object.insert("taken".to_owned(), taken.into());
    if let Some(story) = &explained.story {
        object.insert("filter".to_owned(), filter_json(telling, explained, story, &story.trace));
        if let Some(trace) = &story.as_directory {
            object.insert("filter_as_directory".to_owned(), filter_json(telling, explained, story, trace));
        }
        object.insert("source".to_owned(), look_json(&story.trace.source));
        object.insert("destination".to_owned(), look_json(&story.trace.destination));
        let verdict = fate::verdict(explained, story).map(|(word, _)| word);
        object.insert("verdict".to_owned(), verdict.into());
    }
    if let Some(plan) = &explained.plan.plan {
        let action = fate::action_at(plan, explained.path).map(|action| plan.action_json(action));
        object.insert("action".to_owned(), action.into());
        if let Some(conflict) = fate::conflict_at(plan, explained.path) {
            object.insert("conflict".to_owned(), conflict.word().into());
            object.insert("conflict_message".to_owned(), conflict_words(conflict).into());
        }
        if let Some(story) = &explained.story {
            object.insert("message".to_owned(), fate::action_words(explained, story, plan).into());
        }
        let (below, conflicts) = fate::below(plan, explained.path);
        object.insert("below".to_owned(), json!({"totals": below.to_json(), "conflicts": conflicts}));
        let holds: Vec<Value> = plan
            .limits
            .iter()
            .map(|check| json!({"limit": check.name, "planned": check.planned, "written": check.written, "holds": check.holds}))
            .collect();
        object.insert("limits".to_owned(), holds.into());
    }
    put_objection(&mut object, explained.plan.objection.as_ref());
    object.into()
}

fn look_json(look: &Look) -> Value {
    match look {
        Look::Absent => Value::Null,
        Look::Unread(message) => json!({"unread": message}),
        Look::There(meta) => json!({
            "kind": meta.kind.word(),
            "bytes": meta.size,
            "modified": meta.modified.to_string(),
            "links": meta.links,
        }),
    }
}

fn filter_json(telling: &Telling<'_>, explained: &Explained<'_>, story: &Story, trace: &Trace) -> Value {
    let mut object = Map::new();
    let (says, by) = match &trace.ruling {
        Ruling::Judged { judgement, cause, .. } => {
            let says = match judgement {
                Judgement::Selected => "selected",
                Judgement::Excluded => "excluded",
                Judgement::Through => "through",
            };
            (says, cause_word(*cause))
        }
        Ruling::Reserved => ("excluded", "reserved"),
        Ruling::Unfinished => ("excluded", "unfinished"),
        Ruling::LeftOut(_) => ("excluded", "preserve"),
        Ruling::MountPoint => ("excluded", "one_file_system"),
        Ruling::Foreign => ("excluded", "foreign_destination"),
        Ruling::Unread(..) => ("unknown", "unread"),
    };
    object.insert("says".to_owned(), says.into());
    object.insert("by".to_owned(), by.into());
    put_path(&mut object, "at", &trace.at);
    if let Ruling::Judged { cause, file, .. } = &trace.ruling {
        put_cause(&mut object, telling, explained, *cause);
        if let Some(file) = file {
            put_path(&mut object, "file", &file.path);
            object.insert("pattern".to_owned(), String::from_utf8_lossy(&file.text).into());
        }
    }
    let alone = Story { trace: trace.clone(), as_directory: None, ..story.clone() };
    let message = filter_lines(telling, explained, &alone).join("; ");
    object.insert("message".to_owned(), message.into());
    object.into()
}

fn cause_word(cause: Cause) -> &'static str {
    match cause {
        Cause::Nothing => "nothing",
        Cause::Line { list: PatternList::Exclude, .. } => "exclude",
        Cause::Line { list: PatternList::Include, .. } | Cause::NotIncluded => "include",
        Cause::IgnoreLine { .. } => "ignore_file",
        Cause::Select(predicate) => predicate.key(),
    }
}

fn put_cause(
    object: &mut Map<String, Value>,
    telling: &Telling<'_>,
    explained: &Explained<'_>,
    cause: Cause,
) {
    match cause {
        Cause::Line { list, index, .. } => {
            let rule = explained.rule;
            let texts = match list {
                PatternList::Exclude => &rule.exclude,
                PatternList::Include => &rule.include,
            };
            object.insert("pattern".to_owned(), texts.get(index).cloned().into());
            let mut origins = telling.loaded.patterns.iter();
            let origin = origins
                .find(|origin| origin.rule == rule.name && origin.list == list && origin.index == index);
            if let Some(origin) = origin {
                object.insert("file".to_owned(), origin.file.to_string_lossy().into());
                object.insert("line".to_owned(), origin.line.into());
            }
        }
        Cause::IgnoreLine { line, .. } => {
            object.insert("line".to_owned(), (line + 1).into());
        }
        Cause::Nothing | Cause::NotIncluded | Cause::Select(_) => {}
    }
}
