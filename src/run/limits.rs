//! `--limit remove=120`: what one run is allowed beyond (or below) its job.

use std::str::FromStr;

use crate::job::{Limit, Limits, MinFree};
use crate::value::{ByteCount, Percent, SizeError};

/// One limit, put over the rule's for this run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitOverride {
    /// `remove=…`.
    Remove(Limit),
    /// `replace=…`.
    Replace(Limit),
    /// `min_free=…`.
    MinFree(MinFree),
}

/// The text is not a limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitOverrideError {
    /// No `=` in it.
    #[error("a limit is written NAME=VALUE, such as remove=120, remove=30% or remove=none")]
    Form,
    /// Another name.
    #[error("there is no limit `{name}`: use remove, replace or min_free")]
    Name {
        /// What was written.
        name: String,
    },
    /// No number, percentage or `none`.
    #[error("`{value}` is neither a count, nor a percentage, nor `none`")]
    Count {
        /// What was written.
        value: String,
    },
    /// No size, percentage or `none`.
    #[error("`{value}` is neither a size, nor a percentage, nor `none`")]
    Size {
        /// What was written.
        value: String,
    },
    /// A percentage out of range.
    #[error(transparent)]
    Percent(SizeError),
}

impl LimitOverride {
    /// Puts these overrides over a rule's limits; the last one of a name wins.
    #[must_use]
    pub fn apply(overrides: &[Self], limits: Limits) -> Limits {
        let mut limits = limits;
        for each in overrides {
            match each {
                Self::Remove(limit) => limits.remove = *limit,
                Self::Replace(limit) => limits.replace = *limit,
                Self::MinFree(limit) => limits.min_free = *limit,
            }
        }
        limits
    }
}

impl FromStr for LimitOverride {
    type Err = LimitOverrideError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, value) = text.split_once('=').ok_or(LimitOverrideError::Form)?;
        let (name, value) = (name.trim(), value.trim());
        match name {
            "remove" => limit(value).map(Self::Remove),
            "replace" => limit(value).map(Self::Replace),
            "min_free" => min_free(value).map(Self::MinFree),
            _ => Err(LimitOverrideError::Name { name: name.to_owned() }),
        }
    }
}

fn limit(value: &str) -> Result<Limit, LimitOverrideError> {
    if value == "none" {
        return Ok(Limit::None);
    }
    if value.ends_with('%') {
        return value.parse::<Percent>().map(Limit::Share).map_err(LimitOverrideError::Percent);
    }
    let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let count = digits.then(|| value.parse().ok()).flatten();
    count.map(Limit::Count).ok_or_else(|| LimitOverrideError::Count { value: value.to_owned() })
}

fn min_free(value: &str) -> Result<MinFree, LimitOverrideError> {
    if value == "none" {
        return Ok(MinFree::None);
    }
    if value.ends_with('%') {
        return value.parse::<Percent>().map(MinFree::Share).map_err(LimitOverrideError::Percent);
    }
    let size = value.parse::<ByteCount>();
    size.map(MinFree::Bytes).map_err(|_| LimitOverrideError::Size { value: value.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_a_refusal_offers() {
        let check = |text: &str, expected| assert_eq!(text.parse(), Ok(expected), "{text}");
        check("remove=120", LimitOverride::Remove(Limit::Count(120)));
        check("remove=none", LimitOverride::Remove(Limit::None));
        check("replace=25%", LimitOverride::Replace(Limit::Share(Percent::whole(25))));
        check("min_free=2GB", LimitOverride::MinFree(MinFree::Bytes(ByteCount(2_000_000_000))));
    }

    #[test]
    fn says_what_is_wrong() {
        let check = |text: &str, message: &str| {
            assert_eq!(text.parse::<LimitOverride>().unwrap_err().to_string(), message, "{text}");
        };
        check("120", "a limit is written NAME=VALUE, such as remove=120, remove=30% or remove=none");
        check("delete=1", "there is no limit `delete`: use remove, replace or min_free");
        check("remove=-1", "`-1` is neither a count, nor a percentage, nor `none`");
        check("remove=", "`` is neither a count, nor a percentage, nor `none`");
        check(
            "remove=120%",
            "a percentage lies between 0% and 100%, with at most two decimals, such as 25% or 0.5%",
        );
        check("min_free=x", "`x` is neither a size, nor a percentage, nor `none`");
    }

    #[test]
    fn the_last_of_a_name_wins() {
        let limits = Limits { remove: Limit::Count(1), replace: Limit::Count(2), min_free: MinFree::None };
        let put = [LimitOverride::Remove(Limit::Count(3)), LimitOverride::Remove(Limit::None)];
        let limits = LimitOverride::apply(&put, limits);
        assert_eq!((limits.remove, limits.replace), (Limit::None, Limit::Count(2)));
    }
}
