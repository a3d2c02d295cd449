//! Filled [`Fields`] → [`Rule`]. Everything was checked before; here values only change their dress.

use std::time::Duration;

use super::model::{
    Choice, Comparison, Durability, EngineOptions, Limit, Limits, Location, Method, MinFree, Mode, OnMissing,
    Overwrite, Preserve, Remove, Require, Retention, Rule, Symlinks, Unsettled, Verify, Versions, WhenFull,
};
use super::values::{Fields, Value};
use crate::filter::{Age, Select};
use crate::value::{Bandwidth, ByteCount};

/// Makes the rule; `None` when a part of it was wrong, and reported.
pub(super) fn build(name: &str, mode: Mode, fields: &Fields) -> Option<Rule> {
    Some(Rule {
        name: name.to_owned(),
        mode,
        source: fields.place("source")?,
        destination: fields.place("destination")?,
        enabled: fields.switch("enabled"),
        needs: fields.texts("needs"),
        exclude: fields.pattern_texts("exclude"),
        include: fields.pattern_texts("include"),
        ignore_case: fields.auto_switch("ignore_case"),
        select: select(fields.map("select")?),
        compare: comparison(fields.word("compare")),
        time_tolerance: fields.duration("time_tolerance").map_or(Choice::Auto, Choice::Set),
        overwrite: overwrite(fields.word("overwrite")),
        remove: remove(fields.word("remove")),
        versions: versions(fields),
        limits: limits(fields.map("limits")?),
        require: require(fields.map("require")?)?,
        on_missing: on_missing(fields.word("on_missing")),
        preserve: preserve(fields.map("preserve")?),
        verify: if fields.word("verify") == "readback" { Verify::Readback } else { Verify::None },
        bandwidth: bandwidth(fields)?,
        durability: durability(fields.word("durability")),
        unsettled: unsettled(fields.word("unsettled")),
        retries: fields.number("retries").unwrap_or_default(),
        engine: engine(fields.map("engine")?),
    })
}

impl Fields {
    fn value(&self, name: &str) -> Option<&Value> {
        self.get(name).map(|sited| &sited.value)
    }

    /// The word that was chosen, empty where the key is not there or holds no word.
    pub(super) fn word(&self, name: &str) -> &'static str {
        if let Some(Value::Word(word)) = self.value(name) { word } else { "" }
    }

    pub(super) fn map(&self, name: &str) -> Option<&Fields> {
        if let Some(Value::Map(fields)) = self.value(name) { Some(fields) } else { None }
    }

    pub(super) fn place(&self, name: &str) -> Option<Location> {
        if let Some(Value::Place(location)) = self.value(name) { Some(location.clone()) } else { None }
    }

    pub(super) fn size(&self, name: &str) -> Option<ByteCount> {
        if let Some(Value::Size(size)) = self.value(name) { Some(*size) } else { None }
    }

    pub(super) fn duration(&self, name: &str) -> Option<Duration> {
        if let Some(Value::Duration(duration)) = self.value(name) { Some(*duration) } else { None }
    }

    pub(super) fn age(&self, name: &str) -> Option<Age> {
        if let Some(Value::Age(age)) = self.value(name) { Some(*age) } else { None }
    }

    /// A count that the key's own range keeps within 32 bits.
    fn number(&self, name: &str) -> Option<u32> {
        if let Some(Value::Count(count)) = self.value(name) { u32::try_from(*count).ok() } else { None }
    }

    fn switch(&self, name: &str) -> bool {
        matches!(self.value(name), Some(Value::Switch(true)))
    }

    fn auto_switch(&self, name: &str) -> Choice<bool> {
        if let Some(Value::Switch(switch)) = self.value(name) { Choice::Set(*switch) } else { Choice::Auto }
    }

    fn texts(&self, name: &str) -> Vec<String> {
        match self.value(name) {
            Some(Value::List(items)) => items.iter().map(|item| item.text.clone()).collect(),
            _ => Vec::new(),
        }
    }

    fn pattern_texts(&self, name: &'static str) -> Vec<String> {
        self.patterns(name).map(|item| item.text.clone()).collect()
    }

    fn limit(&self, name: &str) -> Limit {
        match self.value(name) {
            Some(Value::Percent(percent)) => Limit::Share(*percent),
            Some(Value::Count(count)) => Limit::Count(*count),
            _ => Limit::None,
        }
    }
}

fn select(fields: &Fields) -> Select {
    Select {
        min_size: fields.size("min_size"),
        max_size: fields.size("max_size"),
        newer_than: fields.age("newer_than"),
        older_than: fields.age("older_than"),
        max_depth: fields.number("max_depth"),
        exclude_if_present: fields.texts("exclude_if_present"),
        exclude_caches: fields.switch("exclude_caches"),
        ignore_files: fields.texts("ignore_files"),
        one_file_system: fields.switch("one_file_system"),
    }
}

fn versions(fields: &Fields) -> Versions {
    let Some(retention) = fields.map("versions") else { return Versions::None };
    Versions::Keep(Retention {
        keep_for: retention.duration("keep_for"),
        keep_last: retention.number("keep_last"),
        max_size: retention.size("max_size"),
        when_full: if retention.word("when_full") == "release" {
            WhenFull::Release
        } else {
            WhenFull::Refuse
        },
    })
}

fn limits(fields: &Fields) -> Limits {
    let min_free = match fields.value("min_free") {
        Some(Value::Percent(percent)) => MinFree::Share(*percent),
        Some(Value::Size(size)) => MinFree::Bytes(*size),
        _ => MinFree::None,
    };
    Limits { remove: fields.limit("remove"), replace: fields.limit("replace"), min_free }
}

fn require(fields: &Fields) -> Option<Require> {
    let (source, destination) = (fields.map("source")?, fields.map("destination")?);
    Some(Require {
        source_nonempty: source.switch("nonempty"),
        source_mounted: source.switch("mounted"),
        destination_mounted: destination.switch("mounted"),
    })
}

fn preserve(fields: &Fields) -> Preserve {
    Preserve {
        permissions: fields.switch("permissions"),
        times: fields.switch("times"),
        xattrs: fields.switch("xattrs"),
        acls: fields.switch("acls"),
        hard_links: fields.switch("hard_links"),
        sparse: fields.switch("sparse"),
        owner: fields.auto_switch("owner"),
        symlinks: if fields.word("symlinks") == "skip" { Symlinks::Skip } else { Symlinks::Copy },
        special: fields.auto_switch("special"),
    }
}

fn engine(fields: &Fields) -> EngineOptions {
    let count = |name| fields.number(name).map_or(Choice::Auto, Choice::Set);
    let size = |name| fields.size(name).map_or(Choice::Auto, Choice::Set);
    EngineOptions {
        method: match fields.word("method") {
            "buffered" => Method::Buffered,
            "unbuffered" => Method::Unbuffered,
            _ => Method::Auto,
        },
        queues: count("queues"),
        depth: count("depth"),
        block: size("block"),
        unbuffered_from: size("unbuffered_from"),
        memory: fields.size("memory").unwrap_or_default(),
    }
}

fn comparison(word: &str) -> Comparison {
    match word {
        "size" => Comparison::Size,
        "hash" => Comparison::Hash,
        "mtime_then_hash" => Comparison::MtimeThenHash,
        _ => Comparison::Mtime,
    }
}

fn bandwidth(fields: &Fields) -> Option<Bandwidth> {
    match fields.value("bandwidth")? {
        Value::Timetable(bandwidth, _) => Some(bandwidth.clone()),
        Value::Broken => None,
        single => Some(Bandwidth { default: super::bandwidth::ceiling(single), windows: Vec::new() }),
    }
}

fn overwrite(word: &str) -> Overwrite {
    match word {
        "newer" => Overwrite::Newer,
        "never" => Overwrite::Never,
        _ => Overwrite::Changed,
    }
}

fn remove(word: &str) -> Remove {
    if word == "before" { Remove::Before } else { Remove::After }
}

fn on_missing(word: &str) -> OnMissing {
    if word == "skip" { OnMissing::Skip } else { OnMissing::Fail }
}

fn durability(word: &str) -> Durability {
    match word {
        "file" => Durability::File,
        "none" => Durability::None,
        _ => Durability::Run,
    }
}

fn unsettled(word: &str) -> Unsettled {
    if word == "publish" { Unsettled::Publish } else { Unsettled::Retry }
}
