//! What fits by itself but not together: options of one rule, and rules of one job.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::diagnose::Sink;
use super::location::collapsed;
use super::model::Location;
use super::node::Span;
use super::values::{Fields, Value};
use crate::filter::Age;

/// Checks the options of one rule against each other. `name_span` is the rule's name in the file.
pub(super) fn options(fields: &Fields, name_span: &Span, sink: &mut Sink<'_>) {
    versions(fields, sink);
    remove_first(fields, name_span, sink);
    if let Some(select) = fields.map("select") {
        sizes(select, sink);
        ages(select, sink);
    }
    source_and_destination(fields, name_span, sink);
}

/// The place of a value that was given, in the rule or under `defaults`.
fn span_of(fields: &Fields, name: &str) -> Option<Span> {
    fields.get(name).and_then(|sited| sited.span.clone())
}

fn versions(fields: &Fields, sink: &mut Sink<'_>) {
    let Some(map) = fields.map("versions") else { return };
    let Some(span) = span_of(fields, "versions") else { return };
    // A wrong value was reported, and may have been meant to keep something.
    let given = |name| map.get(name).is_some();
    if !given("keep_for") && !given("keep_last") {
        sink.absent(
            &span,
            "these `versions` keep nothing",
            "neither `keep_for` nor `keep_last`",
            "the map replaces the default: add `keep_for: 14d` or `keep_last: 5`, or write `versions: none`",
        );
    }
    if map.duration("keep_for") == Some(Duration::ZERO) {
        let span = span_of(map, "keep_for").unwrap_or(span);
        sink.error(
            &span,
            "`keep_for` keeps nothing",
            "no time at all",
            "write `versions: none` to keep no versions",
        );
    }
}

fn remove_first(fields: &Fields, name_span: &Span, sink: &mut Sink<'_>) {
    let broken = matches!(fields.get("versions").map(|sited| &sited.value), Some(Value::Broken));
    if fields.word("remove") == "before" && fields.word("versions") != "none" && !broken {
        let span = span_of(fields, "remove").unwrap_or_else(|| name_span.clone());
        sink.absent(
            &span,
            "`remove: before` needs `versions: none`",
            "frees no room while what is removed is kept as a version",
            "add `versions: none`, or leave `remove` out",
        );
    }
}

fn sizes(select: &Fields, sink: &mut Sink<'_>) {
    if let (Some(least), Some(most)) = (select.size("min_size"), select.size("max_size"))
        && least > most
        && let Some(span) = span_of(select, "min_size").or_else(|| span_of(select, "max_size"))
    {
        let label = format!("`max_size` is {most}");
        sink.error(&span, "`min_size` is larger than `max_size`", label, "no file is both; swap the two");
    }
}

fn ages(select: &Fields, sink: &mut Sink<'_>) {
    let nothing = match (select.age("newer_than"), select.age("older_than")) {
        (Some(Age::Span(newer)), Some(Age::Span(older))) => newer <= older,
        (Some(Age::Date(newer)), Some(Age::Date(older))) => newer >= older,
        _ => false,
    };
    if nothing && let Some(span) = span_of(select, "newer_than").or_else(|| span_of(select, "older_than")) {
        let help = "`newer_than: 30d` with `older_than: 7d` selects the days between; swap the two";
        sink.error(&span, "no file is both newer and older than this", "selects nothing", help);
    }
}

fn source_and_destination(fields: &Fields, name_span: &Span, sink: &mut Sink<'_>) {
    let (Some(source), Some(destination)) = (fields.place("source"), fields.place("destination")) else {
        return;
    };
    let span = span_of(fields, "destination").unwrap_or_else(|| name_span.clone());
    let (source, destination) = (Comparable::new(&source), Comparable::new(&destination));
    let (message, help) = match source.relation(&destination) {
        Relation::Apart => return,
        Relation::Same => ("the destination is the source", "choose another folder for one of the two"),
        Relation::Around => (
            "the destination lies inside the source",
            "a copy would copy itself; choose a folder outside the source",
        ),
        Relation::Within => {
            ("the source lies inside the destination", "a mirror would remove it; choose a folder of its own")
        }
    };
    sink.error(&span, message, "the two must lie apart", help);
}

/// How one place lies to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Apart,
    Same,
    /// The other lies below this one.
    Around,
    /// This one lies below the other.
    Within,
}

/// A place as far as its text tells; symlinks, mounts and labels of one disk are the run's to find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Comparable {
    volume: Option<String>,
    path: PathBuf,
}

impl Comparable {
    fn new(location: &Location) -> Self {
        match location {
            Location::Path(path) => Self { volume: None, path: collapsed(path) },
            Location::Volume { name, path } => Self { volume: Some(name.clone()), path: path.clone() },
        }
    }

    fn relation(&self, other: &Self) -> Relation {
        let below = |inner: &Path, outer: &Path| inner.starts_with(outer);
        if self.volume != other.volume {
            return Relation::Apart;
        }
        match (below(&other.path, &self.path), below(&self.path, &other.path)) {
            (true, true) => Relation::Same,
            (true, false) => Relation::Around,
            (false, true) => Relation::Within,
            (false, false) => Relation::Apart,
        }
    }
}

/// What the checks between rules need of a rule.
pub(super) struct Seen {
    name: String,
    destination: Comparable,
}

/// Checks a rule against those before it, and adds it to them.
pub(super) fn against_earlier(
    name: &str,
    name_span: &Span,
    fields: &Fields,
    earlier: &mut Vec<Seen>,
    sink: &mut Sink<'_>,
) {
    let Some(destination) = fields.place("destination") else { return };
    let destination = Comparable::new(&destination);
    let clash = earlier.iter().find_map(|seen| match seen.destination.relation(&destination) {
        Relation::Apart => None,
        relation => Some((seen, relation)),
    });
    if let Some((seen, relation)) = clash {
        let span = span_of(fields, "destination").unwrap_or_else(|| name_span.clone());
        let how = match relation {
            Relation::Around => "lies inside the destination of",
            Relation::Within => "holds the destination of",
            Relation::Same | Relation::Apart => "is the destination of",
        };
        sink.error(
            &span,
            format!("the destination of `{name}` {how} `{}`", seen.name),
            "each destination belongs to one rule",
            "give each rule a folder of its own, side by side",
        );
    }
    earlier.push(Seen { name: name.to_owned(), destination });
}

/// Checks that the rules that a rule needs come before it. `names` are all rules of the job in file order.
pub(super) fn needs(name: &str, fields: &Fields, names: &[String], sink: &mut Sink<'_>) {
    let Some(Value::List(items)) = fields.get("needs").map(|sited| &sited.value) else { return };
    let own = names.iter().position(|other| other == name);
    for item in items {
        let at = names.iter().position(|other| *other == item.text);
        match at {
            Some(_) if item.text == name => {
                sink.error(
                    &item.span,
                    format!("the rule `{name}` needs itself"),
                    "this rule",
                    "remove the name",
                );
            }
            Some(at) if own.is_some_and(|own| at > own) => sink.error(
                &item.span,
                format!("`{name}` needs `{}`, which comes later", item.text),
                "rules run in file order",
                format!("move `{}` up, before `{name}`", item.text),
            ),
            Some(_) => {}
            None => {
                let help = match super::suggest::nearest(&item.text, names.iter().map(String::as_str)) {
                    Some(near) if near != name => format!("did you mean `{near}`?"),
                    _ => "give the name of an earlier rule of this job".to_owned(),
                };
                sink.absent(&item.span, format!("there is no rule `{}`", item.text), "unknown rule", help);
            }
        }
    }
}
