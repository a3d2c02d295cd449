//! Single values: what a text means under one of the forms that a key takes.

use std::time::Duration;

use chrono::{NaiveDate, NaiveDateTime};

use super::Location;
use super::expand::Scope;
use super::keys::{Form, Key, Takes};
use super::node::Span;
use crate::filter::Age;
use crate::value::{Bandwidth, ByteCount, Percent, Stamp, Zone};

/// A decoded value with its place.
#[derive(Clone, Debug)]
pub(super) struct Sited {
    pub(super) value: Value,
    /// Place in the file; `None` for a default.
    pub(super) span: Option<Span>,
    /// As `show` prints it.
    pub(super) shown: String,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Word(&'static str),
    Switch(bool),
    Count(u64),
    Size(ByteCount),
    Duration(Duration),
    Age(Age),
    Percent(Percent),
    Text(String),
    Place(Location),
    List(Vec<Item>),
    Map(Fields),
    Zone(Zone),
    /// Ceilings by the time of day, and how `show` prints them.
    Timetable(Bandwidth, Vec<Row>),
    /// Reported already.
    Broken,
}

/// One key of a map whose keys are not in the key lists.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) key: String,
    pub(super) shown: String,
    /// Place in the file; `None` for a default.
    pub(super) span: Option<Span>,
}

/// One text of a list.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) text: String,
    pub(super) span: Span,
    pub(super) shown: String,
}

/// The keys of a map that were given, or filled in, in the order of the key list once filled.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields(pub(super) Vec<(&'static Key, Sited)>);

impl Fields {
    pub(super) fn get(&self, name: &str) -> Option<&Sited> {
        self.0.iter().find(|(key, _)| key.name == name).map(|(_, sited)| sited)
    }

    /// The patterns of `exclude` or `include`, with what `exclude+` or `include+` adds to them.
    pub(super) fn patterns(&self, name: &'static str) -> impl Iterator<Item = &Item> {
        let list = |adds: bool| {
            self.0
                .iter()
                .filter(move |(key, _)| if adds { key.adds_to() == Some(name) } else { key.name == name })
        };
        list(false).chain(list(true)).flat_map(|(_, sited)| match &sited.value {
            Value::List(items) => items.as_slice(),
            _ => &[],
        })
    }

    /// Adds what `defaults` gives and this map does not; maps that merge are merged key by key.
    pub(super) fn adopt(&mut self, defaults: &Fields) {
        let has = |fields: &Self, name: &str| fields.get(name).is_some();
        // What is added to a list that this map gives anew is given anew with it.
        let replaced = |key: &Key| key.adds_to().is_some_and(|list| has(self, list));
        let additions: Vec<(&'static Key, Sited)> =
            defaults.0.iter().filter(|(key, _)| key.adds_to().is_some() && !replaced(key)).cloned().collect();
        self.0.splice(0..0, additions);
        for (key, theirs) in defaults.0.iter().filter(|(key, _)| key.adds_to().is_none()) {
            match self.0.iter_mut().find(|(own, _)| own.name == key.name) {
                None => self.0.push((key, theirs.clone())),
                Some((_, ours)) => {
                    if let (Takes::Map(_), Value::Map(ours), Value::Map(theirs)) =
                        (key.takes, &mut ours.value, &theirs.value)
                    {
                        ours.adopt(theirs);
                    }
                }
            }
        }
    }
}

/// The text without the unit, as a whole number, and the unit.
fn number_and_unit(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    (!number.is_empty()).then_some((number, unit.trim_start()))
}

/// Units of a duration in milliseconds.
const DURATION_UNITS: [(&str, u64); 6] =
    [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("w", 604_800_000)];

/// Reads `500ms`, `2s`, `10m`, `12h`, `30d`, `2w`.
///
/// # Errors
/// A sentence for people.
pub fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) =
        number_and_unit(text).ok_or("a duration is a whole number and a unit, such as 500ms, 12h or 30d")?;
    let factor = match DURATION_UNITS.iter().find(|(name, _)| *name == unit) {
        Some((_, factor)) => *factor,
        None if unit.is_empty() => {
            return Err(format!("the unit is missing: {number}s, {number}h or {number}d?"));
        }
        None => return Err("the unit of a duration is one of ms, s, m, h, d, w".to_owned()),
    };
    let milliseconds = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    // A hundred years: beyond it, arithmetic on dates would leave their range.
    milliseconds
        .filter(|&milliseconds| milliseconds <= 36_525 * 86_400_000)
        .map(Duration::from_millis)
        .ok_or_else(|| "a duration is at most 100 years".to_owned())
}

/// Reads `2026-11-24` or `2026-11-24 02:30[:15]`, both in the job's time zone, or either with `Z` for UTC.
fn date(text: &str, scope: Scope<'_>) -> Option<Result<Stamp, String>> {
    let digits = |range: std::ops::Range<usize>| {
        text.get(range).is_some_and(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if !(digits(0..4) && text.get(4..5) == Some("-")) {
        return None;
    }
    let (local, utc) = match text.strip_suffix('Z') {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let with_blank = local.replacen('T', " ", 1);
    let time = NaiveDate::parse_from_str(&with_blank, "%Y-%m-%d")
        .ok()
        .and_then(|date| date.and_hms_opt(0, 0, 0))
        .or_else(|| NaiveDateTime::parse_from_str(&with_blank, "%Y-%m-%d %H:%M").ok())
        .or_else(|| NaiveDateTime::parse_from_str(&with_blank, "%Y-%m-%d %H:%M:%S").ok());
    Some(match time {
        None => Err("there is no such date; it is written 2026-11-24 or 2026-11-24 02:30".to_owned()),
        Some(time) if utc => Ok(Stamp::from_seconds(time.and_utc().timestamp())),
        Some(time) => scope
            .surroundings
            .local_to_utc(scope.zone, time)
            .ok_or_else(|| "this time does not exist here (the clock was put forward)".to_owned()),
    })
}

/// Slower, and a single block would take an hour.
const RATE_BYTES_MIN: u64 = 1000;

/// Reads `20MB/s`.
fn rate(text: &str) -> Result<ByteCount, String> {
    let Some(size) = text.strip_suffix("/s") else {
        return Err(match text.parse::<ByteCount>() {
            Ok(_) if !text.ends_with(|letter: char| letter.is_ascii_digit()) => {
                format!("a rate is a size for each second: {text}/s?")
            }
            _ => "a rate is a size for each second, such as 20MB/s".to_owned(),
        });
    };
    if size.ends_with('b') || size.contains("bit") {
        return Err("`b` can be read as bits; a rate is in bytes, with a large `B`".to_owned());
    }
    match size.parse::<ByteCount>() {
        Ok(rate) if rate.0 < RATE_BYTES_MIN => Err(format!("the least is {RATE_BYTES_MIN} B/s")),
        Ok(rate) => Ok(rate),
        Err(error) => Err(error.to_string()),
    }
}

/// Block sizes, as the executor takes them (DESIGN §8).
const BLOCK_BYTES: std::ops::RangeInclusive<u64> = 64 << 10..=4 << 20;

impl Form {
    /// What the text means under this form: `None` when it is another kind of value, an error when it is this kind
    /// but wrong. `plain`: written without quotes, or made by a variable.
    pub(super) fn read(self, text: &str, plain: bool, scope: Scope<'_>) -> Option<Result<Value, String>> {
        let starts_with_digit = text.starts_with(|letter: char| letter.is_ascii_digit());
        match self {
            Self::Word(word) => (text == word).then_some(Ok(Value::Word(word))),
            Self::Switch => match text {
                "true" if plain => Some(Ok(Value::Switch(true))),
                "false" if plain => Some(Ok(Value::Switch(false))),
                _ => None,
            },
            Self::Count { least, most } => count(text, plain, least, most),
            Self::Percent => text.ends_with('%').then(|| match text.parse::<Percent>() {
                Ok(percent) => Ok(Value::Percent(percent)),
                Err(error) => Err(error.to_string()),
            }),
            Self::Size { least } => starts_with_digit.then(|| match text.parse::<ByteCount>() {
                Ok(size) if size.0 < least => Err(format!("the least is {}", exact_size(least))),
                Ok(size) => Ok(Value::Size(size)),
                Err(error) => Err(error.to_string()),
            }),
            Self::Block => starts_with_digit.then(|| match text.parse::<ByteCount>() {
                Ok(size) if BLOCK_BYTES.contains(&size.0) && size.0.is_power_of_two() => {
                    Ok(Value::Size(size))
                }
                Ok(_) => Err("a block is a power of two from 64KiB to 4MiB".to_owned()),
                Err(error) => Err(error.to_string()),
            }),
            Self::Duration => starts_with_digit.then(|| duration(text).map(Value::Duration)),
            Self::Age => match date(text, scope) {
                Some(date) => Some(date.map(|stamp| Value::Age(Age::Date(stamp)))),
                None => starts_with_digit.then(|| duration(text).map(|span| Value::Age(Age::Span(span)))),
            },
            Self::Rate => starts_with_digit.then(|| rate(text).map(Value::Size)),
            Self::Zone => Zone::named(text).map(|zone| Ok(Value::Zone(zone))),
        }
    }

    /// Whether a variable may make such a value: not where there are a few fixed ones to choose from.
    pub(super) fn takes_references(self) -> bool {
        match self {
            Self::Word(_) | Self::Switch | Self::Zone => false,
            Self::Count { least, most } => least != most,
            _ => true,
        }
    }

    /// How the form is named in "give …".
    pub(super) fn names(self) -> Vec<String> {
        let name = match self {
            Self::Word(word) => format!("`{word}`"),
            Self::Switch => return vec!["`true`".to_owned(), "`false`".to_owned()],
            Self::Count { least, most } if least == most => format!("{least}"),
            Self::Count { least: 0, most: u64::MAX } => "a count".to_owned(),
            Self::Count { least, most } if most >= u64::from(u32::MAX) => format!("a number from {least} on"),
            Self::Count { least, most } => format!("a number from {least} to {most}"),
            Self::Size { .. } => "a size such as 10MB or 64KiB".to_owned(),
            Self::Block => "a power of two from 64KiB to 4MiB".to_owned(),
            Self::Duration => "a duration such as 500ms, 12h or 30d".to_owned(),
            Self::Age => "an age such as 30d or a date such as 2026-11-24".to_owned(),
            Self::Percent => "a percentage such as 25%".to_owned(),
            Self::Rate => "a rate such as 20MB/s".to_owned(),
            Self::Zone => "a time zone such as Europe/Berlin".to_owned(),
        };
        vec![name]
    }
}

fn count(text: &str, plain: bool, least: u64, most: u64) -> Option<Result<Value, String>> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if !plain {
        return Some(Err("a number stands without quotes".to_owned()));
    }
    if digits.len() > 1 && digits.starts_with('0') {
        return Some(Err(
            "a leading zero makes another number of it in some YAML readers; leave it out".to_owned()
        ));
    }
    Some(match text.parse::<u64>() {
        Ok(number) if (least..=most).contains(&number) => Ok(Value::Count(number)),
        _ if least == most => Err(format!("the only value is {least}")),
        _ if most == u64::MAX => Err(format!("the number must be at least {least}")),
        _ => Err(format!("the number must lie between {least} and {most}")),
    })
}

/// `8MiB` for a power of two, else the plain number of bytes.
fn exact_size(bytes: u64) -> String {
    match bytes {
        _ if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{}MiB", bytes >> 20),
        _ if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{}KiB", bytes >> 10),
        _ => format!("{bytes} B"),
    }
}

/// `a`, `a or b`, `a, b or c`.
pub(super) fn alternatives(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
