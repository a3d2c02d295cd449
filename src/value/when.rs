//! A point in time as people say it: `yesterday 18:00`, `tuesday`, `3d ago`, a run's id.
//!
//! Pure: the time now and the zone are handed in. Words are read in any case; a day without a time is its end.

use chrono::{DateTime, Datelike as _, Days, NaiveDate, NaiveDateTime, NaiveTime, Weekday};

use super::{RunId, Stamp, Zone};

/// As of when something is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// As it is now, whatever the clock says.
    Latest,
    /// As this run left it.
    Run(RunId),
    /// As it was at a moment.
    Moment(Stamp),
}

/// Why a text says no time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WhenError {
    /// It has none of the forms.
    #[error("`{text}` is no time that is understood")]
    Unknown {
        /// As written.
        text: String,
    },
    /// It lies ahead.
    #[error("`{text}` lies ahead: that would be {moment}")]
    Ahead {
        /// As written.
        text: String,
        /// As understood.
        moment: String,
    },
}

impl WhenError {
    /// The forms that are understood, in one line.
    pub const FORMS: &str = "latest, a run's id, 2026-11-24, 2026-11-24 18:00, 2026-11-24T18:00:30+01:00, today, yesterday, \
        tuesday, each with a time or without (yesterday 18:00), 12:00, noon, 90m ago, 2h ago, 3d ago, 1w ago";
}

/// How a moment is shown: `Tue 2026-11-24 23:59:59`.
const SHOWN: &str = "%a %Y-%m-%d %H:%M:%S";

impl When {
    /// Reads a text.
    ///
    /// # Errors
    /// See [`WhenError`].
    pub fn parse(text: &str, now: Stamp, zone: &Zone) -> Result<Self, WhenError> {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Ok(run) = words.parse::<RunId>() {
            return Ok(Self::Run(run));
        }
        let lower = words.to_ascii_lowercase();
        if lower == "latest" || lower == "now" {
            return Ok(Self::Latest);
        }
        let found = moment(&lower, now, *zone);
        let moment = found.ok_or_else(|| WhenError::Unknown { text: text.to_owned() })?;
        if moment > now {
            let moment = shown(moment, *zone);
            return Err(WhenError::Ahead { text: text.to_owned(), moment });
        }
        Ok(Self::Moment(moment))
    }

    /// Whether what a run did belongs to it: a run did all it did when it began.
    #[must_use]
    pub fn is_after(self, run: RunId) -> bool {
        match self {
            Self::Latest => true,
            Self::Run(last) => run <= last,
            Self::Moment(moment) => run.time() <= moment,
        }
    }

    /// What was understood: `as of Tue 2026-11-24 23:59:59 (Europe/Berlin)`.
    #[must_use]
    pub fn describe(self, zone: &Zone) -> String {
        match self {
            Self::Latest => "as of now".to_owned(),
            Self::Run(run) => format!("as run {run} left it ({})", shown(run.time(), *zone)),
            Self::Moment(moment) => format!("as of {}", shown(moment, *zone)),
        }
    }
}

/// A moment as clocks of the zone show it, with the zone.
fn shown(moment: Stamp, zone: Zone) -> String {
    let zone_name = match zone {
        Zone::Local => "local time".to_owned(),
        Zone::Named(_) => zone.to_string(),
    };
    format!("{} ({zone_name})", zone.local(moment).format(SHOWN))
}

fn moment(text: &str, now: Stamp, zone: Zone) -> Option<Stamp> {
    if let Some(span) = text.strip_suffix(" ago") {
        return Some(Stamp { seconds: now.seconds.checked_sub(seconds(span)?)?, nanos: now.nanos });
    }
    if let Some(exact) = with_offset(text) {
        return Some(exact);
    }
    let today = zone.local(now).date();
    if let Some(time) = time_of_day(text) {
        return Some(zone.moment(today.and_time(time)));
    }
    if let Some(day) = day(text, today) {
        return end_of(day, today, now, zone);
    }
    let (date, time) = text.rsplit_once([' ', 't'])?;
    Some(zone.moment(NaiveDateTime::new(day(date, today)?, time_of_day(time)?)))
}

/// `2026-11-24T18:00:30+01:00`, with or without seconds, `Z` for UTC.
fn with_offset(text: &str) -> Option<Stamp> {
    let upper = text.to_ascii_uppercase().replacen('T', " ", 1);
    let upper = upper.strip_suffix('Z').map_or_else(|| upper.clone(), |rest| format!("{rest}+00:00"));
    let formats = ["%Y-%m-%d %H:%M:%S%.f%:z", "%Y-%m-%d %H:%M%:z"];
    let found = formats.iter().find_map(|format| DateTime::parse_from_str(&upper, format).ok())?;
    Some(Stamp { seconds: found.timestamp(), nanos: found.timestamp_subsec_nanos().min(999_999_999) })
}

/// `18:00`, `18:00:30`, `noon`.
fn time_of_day(text: &str) -> Option<NaiveTime> {
    if text == "noon" {
        return NaiveTime::from_hms_opt(12, 0, 0);
    }
    ["%H:%M:%S", "%H:%M"].iter().find_map(|format| NaiveTime::parse_from_str(text, format).ok())
}

/// `2026-11-24`, `today`, `yesterday`, `tuesday`, `tue`, `last tuesday`: the most recent such day before today.
fn day(text: &str, today: NaiveDate) -> Option<NaiveDate> {
    match text {
        "today" => return Some(today),
        "yesterday" => return today.checked_sub_days(Days::new(1)),
        _ => {}
    }
    let name = text.strip_prefix("last ").unwrap_or(text);
    if let Ok(weekday) = name.parse::<Weekday>() {
        let back = (today.weekday().num_days_from_monday() + 7 - weekday.num_days_from_monday()) % 7;
        return today.checked_sub_days(Days::new(if back == 0 { 7 } else { back.into() }));
    }
    // chrono takes `2026-1-4` and `+12026-…` too; a date here has ten characters.
    (text.len() == "2026-11-24".len()).then(|| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok())?
}

/// The last instant of a day, or now where it is today's.
fn end_of(day: NaiveDate, today: NaiveDate, now: Stamp, zone: Zone) -> Option<Stamp> {
    if day == today {
        return Some(now);
    }
    let next = zone.moment(day.checked_add_days(Days::new(1))?.and_time(NaiveTime::MIN));
    Some(Stamp::from_nanos(next.as_nanos() - 1))
}

/// `90m`, `2h`, `3 days`, `1w`.
fn seconds(span: &str) -> Option<i64> {
    let digits = span.find(|letter: char| !letter.is_ascii_digit())?;
    let (number, unit) = span.split_at(digits);
    let each = match unit.trim_start() {
        "m" | "min" | "minute" | "minutes" => 60,
        "h" | "hour" | "hours" => 60 * 60,
        "d" | "day" | "days" => 24 * 60 * 60,
        "w" | "week" | "weeks" => 7 * 24 * 60 * 60,
        _ => return None,
    };
    number.parse::<i64>().ok()?.checked_mul(each)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thursday, 2026-11-26, 10:15:20 in Berlin.
    const NOW: &str = "2026-11-26T09:15:20Z";

    fn stamp(text: &str) -> Stamp {
        let time = DateTime::parse_from_rfc3339(text).unwrap();
        Stamp { seconds: time.timestamp(), nanos: time.timestamp_subsec_nanos() }
    }

    fn read(text: &str, now: &str) -> Result<When, WhenError> {
        When::parse(text, stamp(now), &Zone::named("Europe/Berlin").unwrap())
    }

    #[track_caller]
    fn check(text: &str, now: &str, expected: &str) {
        assert_eq!(read(text, now), Ok(When::Moment(stamp(expected))), "{text}");
    }

    #[test]
    fn days_are_their_ends_and_times_are_exact() {
        for (text, expected) in [
            ("2026-11-24", "2026-11-24T22:59:59.999999999Z"),
            ("2026-11-24 18:00", "2026-11-24T17:00:00Z"),
            ("2026-11-24T18:00", "2026-11-24T17:00:00Z"),
            ("  2026-11-24   18:00:30 ", "2026-11-24T17:00:30Z"),
            ("2026-11-24T18:00:30Z", "2026-11-24T18:00:30Z"),
            ("2026-11-24 18:00+05:30", "2026-11-24T12:30:00Z"),
            ("2026-11-24T18:00:30.5-01:00", "2026-11-24T19:00:30.5Z"),
            ("today", NOW),
            ("2026-11-26", NOW),
            ("Today 08:00", "2026-11-26T07:00:00Z"),
            ("yesterday", "2026-11-25T22:59:59.999999999Z"),
            ("yesterday 18:00", "2026-11-25T17:00:00Z"),
            ("yesterday noon", "2026-11-25T11:00:00Z"),
            ("tuesday", "2026-11-24T22:59:59.999999999Z"),
            ("tue", "2026-11-24T22:59:59.999999999Z"),
            ("last Tuesday 9:05", "2026-11-24T08:05:00Z"),
            ("thursday", "2026-11-19T22:59:59.999999999Z"),
            ("friday", "2026-11-20T22:59:59.999999999Z"),
            ("10:00", "2026-11-26T09:00:00Z"),
            ("3d ago", "2026-11-23T09:15:20Z"),
            ("2h ago", "2026-11-26T07:15:20Z"),
            ("90m ago", "2026-11-26T07:45:20Z"),
            ("1w ago", "2026-11-19T09:15:20Z"),
            ("2 days ago", "2026-11-24T09:15:20Z"),
        ] {
            check(text, NOW, expected);
        }
        assert_eq!(read("latest", NOW), Ok(When::Latest));
        let run = "2026-11-24T013000.123Z";
        assert_eq!(read(run, NOW), Ok(When::Run(run.parse().unwrap())));
    }

    #[test]
    fn around_changes_of_the_clock() {
        // Put forward over 02:30 on that day, put back so that it comes twice on this one.
        check("2026-03-29 02:30", NOW, "2026-03-29T01:00:00Z");
        check("2026-10-25 02:30", NOW, "2026-10-25T00:30:00Z");
        check("2026-10-25", NOW, "2026-10-25T22:59:59.999999999Z");
        check("2026-03-28", NOW, "2026-03-28T22:59:59.999999999Z");
        // Yesterday by the clock on the wall, not by 24 hours.
        check("yesterday 23:30", "2026-10-25T22:30:00Z", "2026-10-24T21:30:00Z");
        // There, midnight itself was left out: the day ends where the gap begins.
        let zone = Zone::named("America/Sao_Paulo").unwrap();
        let found = When::parse("2018-11-03", stamp(NOW), &zone);
        assert_eq!(found, Ok(When::Moment(stamp("2018-11-04T02:59:59.999999999Z"))));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "soon",
            "2026-13-01",
            "2026-1-4",
            "25:00",
            "3x ago",
            "ago",
            "d ago",
            "-3d ago",
            "18",
            "tuesday 25:00",
            "99999999999999999999d ago",
            "9999999999999999w ago",
            "2026-11-24 noon noon",
            "latest 18:00",
            "täglich",
        ] {
            assert!(
                matches!(read(text, NOW), Err(WhenError::Unknown { .. })),
                "{text:?}: {:?}",
                read(text, NOW)
            );
        }
        for text in ["2026-11-27", "12:00", "noon", "today 10:16"] {
            assert!(matches!(read(text, NOW), Err(WhenError::Ahead { .. })), "{text}");
        }
        let error = read("12:00", NOW).unwrap_err().to_string();
        assert_eq!(error, "`12:00` lies ahead: that would be Thu 2026-11-26 12:00:00 (Europe/Berlin)");
    }

    #[test]
    fn what_was_understood_is_said() {
        let zone = Zone::named("Europe/Berlin").unwrap();
        let said = |text: &str| read(text, NOW).unwrap().describe(&zone);
        assert_eq!(said("tuesday"), "as of Tue 2026-11-24 23:59:59 (Europe/Berlin)");
        assert_eq!(said("latest"), "as of now");
        let run = "2026-11-24T013000.123Z";
        assert_eq!(said(run), format!("as run {run} left it (Tue 2026-11-24 02:30:00 (Europe/Berlin))"));
    }

    #[test]
    fn a_run_belongs_to_the_moment_at_which_it_began() {
        let run: RunId = "2026-11-24T013000.123Z".parse().unwrap();
        assert!(When::Latest.is_after(run) && When::Run(run).is_after(run));
        assert!(When::Moment(run.time()).is_after(run));
        let before = Stamp::from_nanos(run.time().as_nanos() - 1);
        assert!(!When::Moment(before).is_after(run));
    }
}
