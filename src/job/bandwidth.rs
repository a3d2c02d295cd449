//! The `bandwidth` key: one ceiling, or a map from parts of the day to ceilings.

use super::decode::Reader;
use super::keys::CEILING;
use super::node::{Content, Entry, Node};
use super::suggest::nearest;
use super::values::{Row, Value};
use crate::value::{Bandwidth, BandwidthWindow, ByteCount};

const DAY_MINUTES: u32 = 24 * 60;

/// Reads the value of the key; what is wrong is reported.
pub(super) fn read(reader: &mut Reader<'_, '_>, path: &str, node: &Node) -> Option<(Value, String)> {
    let Content::Map(entries) = &node.content else { return reader.single(CEILING, path, node) };
    if entries.is_empty() {
        let help = "write a rate such as 20MB/s, or `none`";
        reader.sink.error(&node.span, format!("`{path}` is empty"), "no ceiling in it", help);
        return None;
    }
    let mut table = Table { path, bandwidth: Bandwidth::default(), rows: Vec::new(), owners: Vec::new() };
    let mut whole = true;
    for entry in entries {
        whole &= table.take(reader, entry).is_some();
    }
    if !entries.iter().any(|entry| entry.key == "default") {
        table.rows.insert(0, Row { key: "default".to_owned(), shown: "none".to_owned(), span: None });
    }
    whole.then_some((Value::Timetable(table.bandwidth, table.rows), String::new()))
}

/// The map while it is read.
struct Table<'p> {
    path: &'p str,
    bandwidth: Bandwidth,
    rows: Vec<Row>,
    /// The windows so far, as they are written.
    owners: Vec<(BandwidthWindow, String)>,
}

impl Table<'_> {
    fn take(&mut self, reader: &mut Reader<'_, '_>, entry: &Entry) -> Option<()> {
        let is_default = entry.key == "default";
        let window = if is_default { None } else { self.window(reader, entry) };
        let (value, shown) = reader.single(CEILING, &format!("{}.{}", self.path, entry.key), &entry.value)?;
        let ceiling = ceiling(&value);
        self.rows.push(Row { key: entry.key.clone(), shown, span: Some(entry.value.span.clone()) });
        if is_default {
            self.bandwidth.default = ceiling;
            return Some(());
        }
        let window = window?;
        self.bandwidth.windows.push(BandwidthWindow { ceiling, ..window });
        Some(())
    }

    /// The part of the day that a key names, not overlapping those before it.
    fn window(&mut self, reader: &mut Reader<'_, '_>, entry: &Entry) -> Option<BandwidthWindow> {
        let key = &entry.key;
        if !key.starts_with(|letter: char| letter.is_ascii_digit()) {
            let help = match nearest(key, ["default"]) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "the keys here are `default` and parts of the day such as 22:00-06:00".to_owned(),
            };
            let message = format!("unknown key `{key}` in `{}`", self.path);
            reader.sink.error(&entry.key_span, message, "not a key of this map", help);
            return None;
        }
        let Some((from, until)) = key
            .split_once('-')
            .and_then(|(from, until)| Some((minute(from, DAY_MINUTES - 1)?, minute(until, DAY_MINUTES)?)))
        else {
            reader.sink.error(
                &entry.key_span,
                format!("`{key}` is no part of the day"),
                "not HH:MM-HH:MM",
                "write two times of a 24-hour clock with a hyphen, such as 22:00-06:00; an end may be 24:00",
            );
            return None;
        };
        if from == until {
            let message = format!("`{key}` begins and ends at the same time");
            let help = "the whole day is 00:00-24:00, or `default`";
            reader.sink.error(&entry.key_span, message, "lasts no minute", help);
            return None;
        }
        let window = BandwidthWindow { from, until, ceiling: None };
        let clash = self.owners.iter().find_map(|(other, name)| Some((name, shared(&window, other)?)));
        if let Some((other, shared)) = clash {
            reader.sink.error(
                &entry.key_span,
                format!("`{other}` and `{key}` overlap"),
                format!("both hold {:02}:{:02}", shared / 60, shared % 60),
                "let one end where the other begins; the end itself is not part of it",
            );
            return None;
        }
        self.owners.push((window, key.clone()));
        Some(window)
    }
}

/// The first minute that both hold.
fn shared(one: &BandwidthWindow, other: &BandwidthWindow) -> Option<u32> {
    // Two windows that meet hold the beginning of one of them in common.
    [one.from, other.from].into_iter().find(|&minute| one.holds(minute) && other.holds(minute))
}

/// The ceiling that a decoded value of [`CEILING`] means.
pub(super) fn ceiling(value: &Value) -> Option<ByteCount> {
    if let Value::Size(rate) = value { Some(*rate) } else { None }
}

/// `HH:MM` as minutes since midnight, at most `most`.
fn minute(text: &str, most: u32) -> Option<u32> {
    let (hours, minutes) = text.trim().split_once(':')?;
    let number = |part: &str| {
        let digits = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| part.parse::<u32>().ok()).flatten()
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let minute = hours * 60 + minutes;
    (minutes < 60 && minute <= most).then_some(minute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_that_share_a_minute_are_found() {
        let window = |from, until| BandwidthWindow { from, until, ceiling: None };
        let night = window(22 * 60, 6 * 60);
        for (from, until, minute) in [
            (5 * 60 + 59, 7 * 60, Some(5 * 60 + 59)),
            (6 * 60, 22 * 60, None),
            (21 * 60, 22 * 60 + 1, Some(22 * 60)),
            (23 * 60, 23 * 60 + 30, Some(23 * 60)),
            (23 * 60, 1, Some(23 * 60)),
            (0, 1440, Some(0)),
            (12 * 60, 1320, None),
        ] {
            assert_eq!(shared(&window(from, until), &night), minute, "{from} {until}");
            assert_eq!(shared(&night, &window(from, until)).is_some(), minute.is_some());
        }
    }

    #[test]
    fn times_have_two_digits_each() {
        for (text, most, expected) in [
            ("00:00", 1439, Some(0)),
            ("23:59", 1439, Some(1439)),
            ("24:00", 1439, None),
            ("24:00", 1440, Some(1440)),
            ("24:01", 1440, None),
            ("6:00", 1439, None),
            ("06:60", 1439, None),
            ("0600", 1439, None),
            ("+6:00", 1439, None),
        ] {
            assert_eq!(minute(text, most), expected, "{text}");
        }
    }
}
