//! A plan as JSON (DESIGN §4; `schemas/plan.schema.json` says it field by field). Keys come in a fixed order.

use serde_json::{Map, Value, json};

use crate::compare::{Conflict, Extent, Notice, PowerCut, Problem, Side, Unheld};
use crate::value::{RelPath, to_base64};

use super::{Action, ActionKind, LimitCheck, Plan, Totals};
use crate::value::Kind;

impl ActionKind {
    /// The word for people and JSON: `mkdir`, `copy`, `replace` …
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Mkdir => "mkdir",
            Self::Move => "move",
            Self::Copy => "copy",
            Self::Replace => "replace",
            Self::Link => "link",
            Self::Symlink => "symlink",
            Self::Special => "special",
            Self::Metadata => "metadata",
            Self::Remove => "remove",
        }
    }
}

impl Conflict {
    /// The word for JSON: `kept_below`, `mount_point` …
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::KeptBelow => "kept_below",
            Self::MountPoint => "mount_point",
            Self::Foreign => "foreign",
            Self::Unread => "unread",
            Self::Kind => "kind",
            Self::Unholdable => "unholdable",
            Self::Collision => "collision",
        }
    }
}

impl Plan {
    /// The whole plan as one object.
    #[must_use]
    pub fn to_json(&self, job: &str, rule: &str) -> Value {
        json!({
            "job": job,
            "rule": rule,
            "totals": self.totals.to_json(),
            "limits": self.limits.iter().map(LimitCheck::to_json).collect::<Vec<_>>(),
            "actions": self.actions.iter().map(|action| self.action_json(action)).collect::<Vec<_>>(),
            "conflicts": self.conflicts.iter().map(|conflict| {
                let mut object = Map::new();
                object.insert("conflict".to_owned(), conflict.conflict.word().into());
                put_path(&mut object, "path", &conflict.path);
                object.into()
            }).collect::<Vec<Value>>(),
            "problems": self.problems.iter().map(problem_json).collect::<Vec<_>>(),
            "notices": self.notices.iter().map(notice_json).collect::<Vec<_>>(),
        })
    }

    /// One action as an object; what a run records of an action is this same object.
    #[must_use]
    pub fn action_json(&self, action: &Action) -> Value {
        let mut object = Map::new();
        object.insert("action".to_owned(), action.kind.word().into());
        put_path(&mut object, "path", &self.path(action));
        object.insert("kind".to_owned(), action.entry.word().into());
        object.insert("reason".to_owned(), self.reason_words(action).into());
        let link = self.link(action);
        let writes = matches!(action.kind, ActionKind::Copy | ActionKind::Replace) && link.is_none();
        if let Some(source) = self.source(action).filter(|_| writes && action.entry == Kind::File) {
            object.insert("bytes".to_owned(), source.size.into());
        }
        if let Some(link) = link {
            put_path(&mut object, if action.kind == ActionKind::Move { "from" } else { "to" }, link);
        }
        object.into()
    }
}

impl Totals {
    /// The sums as one object.
    #[must_use]
    pub fn to_json(self) -> Value {
        json!({
            "actions": self.actions,
            "mkdir": self.mkdir,
            "move": self.moves,
            "copy": self.copy,
            "replace": self.replace,
            "link": self.link,
            "symlink": self.symlink,
            "special": self.special,
            "metadata": self.metadata,
            "remove": self.remove,
            "bytes": self.bytes,
            "allocated": self.allocated,
            "removed_entries": self.removed_entries,
            "replaced_entries": self.replaced_entries,
        })
    }

    /// Reads what [`Totals::to_json`] gave; a sum that is not there is 0.
    #[must_use]
    pub fn from_json(value: &Value) -> Self {
        let sum = |key: &str| value.get(key).and_then(Value::as_u64).unwrap_or_default();
        Self {
            actions: sum("actions"),
            mkdir: sum("mkdir"),
            moves: sum("move"),
            copy: sum("copy"),
            replace: sum("replace"),
            link: sum("link"),
            symlink: sum("symlink"),
            special: sum("special"),
            metadata: sum("metadata"),
            remove: sum("remove"),
            bytes: sum("bytes"),
            allocated: sum("allocated"),
            removed_entries: sum("removed_entries"),
            replaced_entries: sum("replaced_entries"),
        }
    }
}

impl LimitCheck {
    fn to_json(&self) -> Value {
        json!({
            "limit": self.name,
            "written": self.written,
            "planned": self.planned,
            "allowed": self.allowed,
            "base": self.base,
            "holds": self.holds,
        })
    }
}

fn problem_json(problem: &Problem) -> Value {
    let mut object = Map::new();
    let side = match problem.side {
        Side::Source => "source",
        Side::Destination => "destination",
    };
    let extent = match problem.extent {
        Extent::Entry => "entry",
        Extent::Subtree => "subtree",
    };
    object.insert("side".to_owned(), side.into());
    put_path(&mut object, "path", &problem.path);
    object.insert("extent".to_owned(), extent.into());
    object.insert("message".to_owned(), problem.message.as_str().into());
    object.into()
}

fn notice_json(notice: &Notice) -> Value {
    let mut object = Map::new();
    let mut say = |word: &str| object.insert("notice".to_owned(), word.into());
    match notice {
        Notice::MountPoint { path, entered } => {
            say("mount_point");
            put_path(&mut object, "path", path);
            object.insert("entered".to_owned(), (*entered).into());
        }
        Notice::ForeignDestination { path } => {
            say("foreign_destination");
            put_path(&mut object, "path", path);
        }
        Notice::LeftOut { kind, count } => {
            say("left_out");
            object.insert("kind".to_owned(), kind.word().into());
            object.insert("count".to_owned(), (*count).into());
        }
        Notice::StageNames { count } => {
            say("stage_names");
            object.insert("count".to_owned(), (*count).into());
        }
        Notice::Unheld { what, count } => {
            say("unheld");
            let what = match what {
                Unheld::Symlinks => "symlinks",
                Unheld::Devices => "devices",
                Unheld::HardLinks => "hard_links",
            };
            object.insert("what".to_owned(), what.into());
            object.insert("count".to_owned(), (*count).into());
        }
        Notice::PowerCut { cause } => {
            say("power_cut");
            let cause = match cause {
                PowerCut::Waived => "durability_none",
                PowerCut::NoJournal => "no_journal",
            };
            object.insert("cause".to_owned(), cause.into());
        }
    }
    object.into()
}

/// Puts `key` where the path is UTF-8, `key_b64` where it is not. The root is `.`, which no entry can be called.
pub fn put_path(object: &mut Map<String, Value>, key: &str, path: &RelPath) {
    match std::str::from_utf8(path.as_bytes()) {
        Ok("") => object.insert(key.to_owned(), ".".into()),
        Ok(text) => object.insert(key.to_owned(), text.into()),
        Err(_) => object.insert(format!("{key}_b64"), to_base64(path.as_bytes()).into()),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_go_both_ways() {
        let mut number = 0;
        let mut value = Totals::default().to_json();
        for sum in value.as_object_mut().into_iter().flat_map(|object| object.values_mut()) {
            number += 1;
            *sum = number.into();
        }
        assert_eq!(Totals::from_json(&value).to_json(), value);
    }
}
