//! How fast content may be written, by the time of day.

use super::ByteCount;

/// Ceilings in bytes per second, `None` for no ceiling.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Bandwidth {
    /// Where no window says otherwise.
    pub default: Option<ByteCount>,
    /// Windows of the day; none overlaps another.
    pub windows: Vec<BandwidthWindow>,
}

/// A part of each day with a ceiling of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BandwidthWindow {
    /// First minute of the day that is in it, 0 … 1439.
    pub from: u32,
    /// First minute that is not; before `from` where the window passes midnight.
    pub until: u32,
    /// Its ceiling in bytes per second.
    pub ceiling: Option<ByteCount>,
}

impl BandwidthWindow {
    /// Whether a minute of the day is in the window.
    #[must_use]
    pub fn holds(&self, minute: u32) -> bool {
        if self.from < self.until {
            (self.from..self.until).contains(&minute)
        } else {
            minute >= self.from || minute < self.until
        }
    }
}

impl Bandwidth {
    /// Whether it never limits anything.
    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        self.default.is_none() && self.windows.iter().all(|window| window.ceiling.is_none())
    }

    /// The ceiling in bytes per second at a minute of the day.
    #[must_use]
    pub fn at(&self, minute: u32) -> Option<ByteCount> {
        self.windows.iter().find(|window| window.holds(minute)).map_or(self.default, |window| window.ceiling)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_may_pass_midnight() {
        let night = BandwidthWindow { from: 22 * 60, until: 6 * 60, ceiling: None };
        let table = Bandwidth { default: Some(ByteCount(20_000_000)), windows: vec![night] };
        assert_eq!(table.at(21 * 60 + 59), Some(ByteCount(20_000_000)));
        assert_eq!(table.at(22 * 60), None);
        assert_eq!(table.at(0), None);
        assert_eq!(table.at(5 * 60 + 59), None);
        assert_eq!(table.at(6 * 60), Some(ByteCount(20_000_000)));
        assert!(!table.is_unlimited());
        assert!(Bandwidth::default().is_unlimited());
    }
}
