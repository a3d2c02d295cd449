//! Reasons in words for people.

use std::borrow::Cow;

use crate::compare::{Difference, MetaDifference};

use super::{Action, Plan, Reason};

impl Reason {
    /// The reason in a few words: `new`, `newer, size differs`, `mode and owner differ`, `only in the destination`.
    #[must_use]
    pub fn words(self) -> Cow<'static, str> {
        match self {
            Self::New => "new".into(),
            Self::Newer(difference) => format!("newer, {}", difference.words()).into(),
            Self::Older(difference) => format!("older, {}", difference.words()).into(),
            Self::Kind => "kind changed".into(),
            Self::Metadata(difference) => metadata_words(difference).into(),
            Self::Extra => "only in the destination".into(),
            Self::Excluded => "excluded by the patterns".into(),
            Self::HardLink => "hard link".into(),
            Self::LinkBroken => "no longer a hard link".into(),
            Self::Needed => "needed for what is below".into(),
            Self::Moved => "same content under another name".into(),
            Self::Emptied => "only in the destination, emptied by moves".into(),
        }
    }
}

impl Difference {
    /// What differs: `size differs`.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Size => "size differs",
            Self::Time => "time differs",
            Self::Content => "content differs",
            Self::Target => "target differs",
            Self::Device => "device number differs",
        }
    }
}

impl Plan {
    /// The reason of an action in a few words; where both times are equal, none of both sides is called newer.
    #[must_use]
    pub fn reason_words(&self, action: &Action) -> Cow<'static, str> {
        let times = |plan: &Self| Some((plan.source(action)?.modified, plan.destination(action)?.modified));
        match (action.reason, times(self)) {
            (Reason::Newer(difference), Some((source, destination))) if source == destination => {
                difference.words().into()
            }
            (reason, _) => reason.words(),
        }
    }
}

const METADATA_WORDS: [(MetaDifference, &str); 5] = [
    (MetaDifference::PERMISSIONS, "mode"),
    (MetaDifference::OWNER, "owner"),
    (MetaDifference::TIMES, "time"),
    (MetaDifference::XATTRS, "extended attributes"),
    (MetaDifference::ACLS, "access list"),
];

fn metadata_words(difference: MetaDifference) -> String {
    let words: Vec<&str> =
        METADATA_WORDS.iter().filter(|(part, _)| difference.contains(*part)).map(|(_, word)| *word).collect();
    match words.as_slice() {
        [] => "metadata differs".to_owned(),
        // The only word that is a plural by itself.
        [word] if difference == MetaDifference::XATTRS => format!("{word} differ"),
        [word] => format!("{word} differs"),
        [first @ .., last] => format!("{} and {last} differ", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_read_well() {
        let mode = MetaDifference::PERMISSIONS;
        for (reason, words) in [
            (Reason::New, "new"),
            (Reason::Newer(Difference::Size), "newer, size differs"),
            (Reason::Older(Difference::Time), "older, time differs"),
            (Reason::Kind, "kind changed"),
            (Reason::Metadata(mode), "mode differs"),
            (Reason::Metadata(mode.with(MetaDifference::OWNER)), "mode and owner differ"),
            (
                Reason::Metadata(mode.with(MetaDifference::OWNER).with(MetaDifference::TIMES)),
                "mode, owner and time differ",
            ),
            (Reason::Metadata(MetaDifference::XATTRS), "extended attributes differ"),
            (Reason::Extra, "only in the destination"),
            (Reason::Moved, "same content under another name"),
            (Reason::Emptied, "only in the destination, emptied by moves"),
        ] {
            assert_eq!(reason.words(), words);
        }
    }
}
