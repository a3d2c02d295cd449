//! Byte counts and percentages as people write and read them.

use std::fmt;
use std::str::FromStr;

/// A number of bytes. Read from `4096`, `64KiB`, `10 MB`, `1.5GiB`; shown in decimal units, `2.15 GB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ByteCount(pub u64);

/// A share in hundredths of a percent, 0 % … 100 %. Read from `25%`, `0.5%`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Percent {
    hundredths: u32,
}

/// Why a size or a percentage could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// No number in front.
    #[error("a size is a number and a unit, such as 64KiB or 10MB")]
    Number,
    /// A unit that is not one of the known ones.
    #[error("the unit is not one of B, KB, MB, GB, TB, PB, KiB, MiB, GiB, TiB, PiB")]
    Unit,
    /// More than 2⁶⁴ − 1 bytes.
    #[error("the size is too large")]
    Range,
    /// Not a percentage of 0 … 100 with at most two decimals.
    #[error("a percentage lies between 0% and 100%, with at most two decimals, such as 25% or 0.5%")]
    Percent,
}

/// The units with their factors, longest first so that `KiB` is not read as `B`.
const UNITS: [(&str, u64); 11] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("PiB", 1 << 50),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("PB", 1_000_000_000_000_000),
    ("B", 1),
];

/// Reads `12` or `12.34` as an integer scaled by 10^`decimals`; `None` where there are more digits or other letters.
fn scaled(text: &str, decimals: u32) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || text.ends_with('.') || !digits(whole) || !digits(fraction) {
        return None;
    }
    let places = u32::try_from(fraction.len()).ok().filter(|&places| places <= decimals)?;
    let factor = 10u64.checked_pow(decimals)?;
    let fraction = if fraction.is_empty() { 0 } else { fraction.parse::<u64>().ok()? };
    whole.parse::<u64>().ok()?.checked_mul(factor)?.checked_add(fraction * 10u64.pow(decimals - places))
}

impl FromStr for ByteCount {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        let text = text.trim();
        let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let unit = unit.trim_start();
        let factor = match unit {
            "" => 1,
            _ => UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).ok_or(SizeError::Unit)?.1,
        };
        if number.is_empty() {
            return Err(SizeError::Number);
        }
        if number.bytes().all(|byte| byte.is_ascii_digit()) {
            let bytes = number.parse::<u64>().map_err(|_| SizeError::Range)?;
            return bytes.checked_mul(factor).map(Self).ok_or(SizeError::Range);
        }
        let thousandths = scaled(number, 3).ok_or(SizeError::Number)?;
        let bytes = u128::from(thousandths) * u128::from(factor) / 1000;
        u64::try_from(bytes).map(Self).map_err(|_| SizeError::Range)
    }
}

impl fmt::Display for ByteCount {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 6] = ["KB", "MB", "GB", "TB", "PB", "EB"];
        if self.0 < 1000 {
            return write!(formatter, "{} B", self.0);
        }
        // Ten times the value in the chosen unit, rounded to nearest, in integers so that no size is misread.
        let mut factor = 1000u128;
        let mut names = NAMES.iter();
        let mut name = names.next().copied().unwrap_or_default();
        let tenths = |factor: u128| (u128::from(self.0) * 10 + factor / 2) / factor;
        while tenths(factor) >= 10_000 {
            let Some(next) = names.next() else { break };
            name = next;
            factor *= 1000;
        }
        let value = tenths(factor);
        if value >= 1000 {
            let whole = (u128::from(self.0) + factor / 2) / factor;
            write!(formatter, "{whole} {name}")
        } else {
            write!(formatter, "{}.{} {name}", value / 10, value % 10)
        }
    }
}

impl Percent {
    /// Whole percent, held at 100.
    #[must_use]
    pub const fn whole(percent: u32) -> Self {
        Self { hundredths: if percent > 100 { 10_000 } else { percent * 100 } }
    }

    /// This share of a count, rounded down.
    #[must_use]
    pub fn of(self, count: u64) -> u64 {
        let share = u128::from(count) * u128::from(self.hundredths) / 10_000;
        u64::try_from(share).unwrap_or(u64::MAX)
    }
}

impl FromStr for Percent {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        let number = text.trim().strip_suffix('%').ok_or(SizeError::Percent)?;
        let hundredths = scaled(number.trim_end(), 2).ok_or(SizeError::Percent)?;
        match u32::try_from(hundredths) {
            Ok(hundredths) if hundredths <= 10_000 => Ok(Self { hundredths }),
            _ => Err(SizeError::Percent),
        }
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.hundredths / 100, self.hundredths % 100);
        match rest {
            0 => write!(formatter, "{whole}%"),
            _ if rest.is_multiple_of(10) => write!(formatter, "{whole}.{}%", rest / 10),
            _ => write!(formatter, "{whole}.{rest:02}%"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("64KiB", 65_536),
            ("10 MB", 10_000_000),
            ("1.5GiB", 1_610_612_736),
            ("1.001kb", 1001),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(text.parse(), Ok(ByteCount(bytes)), "{text}");
        }
        for (text, error) in [
            ("", SizeError::Number),
            ("MB", SizeError::Number),
            ("10 XB", SizeError::Unit),
            ("-1", SizeError::Unit),
            ("1.2.3MB", SizeError::Number),
            ("1.MB", SizeError::Number),
            ("18446744073709551616", SizeError::Range),
            ("99999999PiB", SizeError::Range),
        ] {
            assert_eq!(text.parse::<ByteCount>(), Err(error), "{text}");
        }
    }

    #[test]
    fn sizes_shown() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 KB"),
            (999_949, "1000 KB"),
            (10_000_000, "10.0 MB"),
            (123_456_789, "123 MB"),
            (2_147_483_648, "2.1 GB"),
            (u64::MAX, "18.4 EB"),
        ] {
            assert_eq!(ByteCount(bytes).to_string(), text, "{bytes}");
        }
    }

    #[test]
    fn percentages() {
        assert_eq!("25%".parse(), Ok(Percent::whole(25)));
        assert_eq!("0.5%".parse::<Percent>().unwrap().of(1000), 5);
        assert_eq!("33.33%".parse::<Percent>().unwrap().to_string(), "33.33%");
        assert_eq!(Percent::whole(25).of(3), 0);
        for text in ["25", "101%", "-1%", "%", "1.234%", "1e1%"] {
            assert_eq!(text.parse::<Percent>(), Err(SizeError::Percent), "{text}");
        }
    }
}
