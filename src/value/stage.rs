//! The names under which new content waits before it gets its real one.

use std::fmt;

use super::RunId;

/// A stage name, `.twinlane-<run>-<number>`: bounded in length, whatever the entry it stands for is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StageName {
    /// The run that made it.
    pub run: RunId,
    /// Unique within the run.
    pub number: u64,
}

const PREFIX: &str = ".twinlane-";

impl StageName {
    /// Reads a name of exactly the form that `Display` writes; `None` for any other.
    #[must_use]
    pub fn parse(name: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(name).ok()?.strip_prefix(PREFIX)?;
        let (run, number) = text.rsplit_once('-')?;
        let stage = Self { run: run.parse().ok()?, number: number.parse().ok()? };
        (stage.to_string().as_bytes() == name).then_some(stage)
    }
}

impl fmt::Display for StageName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{PREFIX}{}-{}", self.run, self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_form_is_a_stage_name() {
        let name = ".twinlane-2026-11-24T013000.123Z-7";
        assert_eq!(StageName::parse(name.as_bytes()).unwrap().to_string(), name);
        for other in [
            ".twinlane-2026-11-24T013000.123Z-07",
            ".twinlane-2026-11-24T013000.123Z-+7",
            ".twinlane-2026-11-24T013000.123Z-",
            ".twinlane-2026-11-24T013000.123Z-7.txt",
            ".twinlane-notes-7",
            "twinlane-2026-11-24T013000.123Z-7",
        ] {
            assert_eq!(StageName::parse(other.as_bytes()), None, "{other}");
        }
    }
}
