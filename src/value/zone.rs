//! Time zones: between moments and what clocks on the wall show.

use std::fmt;

use chrono::{DateTime, Local, MappedLocalTime, NaiveDateTime, TimeDelta, TimeZone, Timelike as _, Utc};

use super::Stamp;

/// A time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Zone {
    /// This machine's.
    #[default]
    Local,
    /// One of the IANA time zone database, compiled in.
    Named(chrono_tz::Tz),
}

impl Zone {
    /// The zone of this name (`Europe/Berlin`, `UTC`), as the IANA database writes it.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        name.parse().ok().map(Self::Named)
    }

    /// All names that [`Zone::named`] knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name())
    }

    /// What clocks show at a moment.
    #[must_use]
    pub fn local(&self, at: Stamp) -> NaiveDateTime {
        let utc = DateTime::<Utc>::from_timestamp(at.seconds, at.nanos).unwrap_or_default();
        match self {
            Self::Local => utc.with_timezone(&Local).naive_local(),
            Self::Named(zone) => utc.with_timezone(zone).naive_local(),
        }
    }

    /// The moment at which clocks show a date and time: the earlier one where they were put back, the first after the gap where they
    /// were put forward over it (DESIGN §3).
    #[must_use]
    pub fn moment(&self, local: NaiveDateTime) -> Stamp {
        match self {
            Self::Local => earliest(&Local, local),
            Self::Named(zone) => earliest(zone, local),
        }
    }

    /// Minutes since midnight that clocks show at a moment, 0 … 1439.
    #[must_use]
    pub fn minute_of_day(&self, at: Stamp) -> u32 {
        let local = self.local(at);
        local.hour() * 60 + local.minute()
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => formatter.write_str("local"),
            Self::Named(zone) => formatter.write_str(zone.name()),
        }
    }
}

/// No gap of any zone is longer: Samoa left out a day.
const GAP_MINUTES_MAX: i64 = 25 * 60;

fn earliest<Z: TimeZone>(zone: &Z, local: NaiveDateTime) -> Stamp {
    let after = |minutes: i64| local.checked_add_signed(TimeDelta::minutes(minutes));
    let found = match zone.from_local_datetime(&local) {
        MappedLocalTime::Single(time) | MappedLocalTime::Ambiguous(time, _) => Some(time),
        MappedLocalTime::None => (1..=GAP_MINUTES_MAX)
            .find_map(|minutes| zone.from_local_datetime(&after(minutes)?).earliest())
            .map(|time| {
                // The first instant after the gap, not the asked seconds past it.
                let over = local.second();
                time - TimeDelta::seconds(i64::from(over))
            }),
    };
    match found {
        Some(time) => {
            Stamp { seconds: time.timestamp(), nanos: time.timestamp_subsec_nanos().min(999_999_999) }
        }
        None => Stamp::from_seconds(local.and_utc().timestamp()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn berlin(text: &str) -> String {
        let local = NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S").unwrap();
        let zone = Zone::named("Europe/Berlin").unwrap();
        zone.moment(local).to_string()
    }

    #[test]
    fn moments_across_the_changes_of_the_clock() {
        assert_eq!(berlin("2026-11-24 18:00:00"), "2026-11-24T17:00:00Z");
        assert_eq!(berlin("2026-03-29 02:30:20"), "2026-03-29T01:00:00Z", "does not exist");
        assert_eq!(berlin("2026-10-25 02:30:00"), "2026-10-25T00:30:00Z", "comes twice");
    }

    #[test]
    fn names_are_those_of_the_database() {
        assert!(Zone::named("europe/berlin").is_none());
        assert!(Zone::names().any(|name| name == "Pacific/Apia"));
        let apia = Zone::named("Pacific/Apia").unwrap();
        let local = NaiveDateTime::parse_from_str("2011-12-30 12:00:00", "%Y-%m-%d %H:%M:%S").unwrap();
        assert_eq!(apia.moment(local).to_string(), "2011-12-30T10:00:00Z", "the day that was left out");
    }
}
