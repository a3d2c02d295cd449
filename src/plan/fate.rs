//! What becomes of each name of a draft, before it is an action. Words shared by the files of this room.

use super::{ActionKind, Reason};

/// One name of the draft: index of its directory, index of its finding there. Ordered as the plan is: directories by
/// path, names by bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct At {
    pub(super) directory: usize,
    pub(super) finding: usize,
}

/// When a replacement happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timing {
    /// In the turn of its kind.
    InTurn,
    /// After the removals: a directory of the destination has to be emptied first.
    Late,
    /// A move, after those of its chain that have a lower number.
    Turn(u32),
}

/// An action in the making.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deed {
    pub(super) kind: ActionKind,
    pub(super) reason: Reason,
    pub(super) timing: Timing,
    /// The name whose inode this one gets: as a further name, or by a move.
    pub(super) leader: Option<At>,
}

impl Deed {
    pub(super) fn new(kind: ActionKind, reason: Reason) -> Self {
        Self { kind, reason, timing: Timing::InTurn, leader: None }
    }

    pub(super) fn late(kind: ActionKind, reason: Reason) -> Self {
        Self { timing: Timing::Late, ..Self::new(kind, reason) }
    }

    /// How many moves of its chain come before this one.
    pub(super) fn turn(self) -> u32 {
        match self.timing {
            Timing::Turn(turn) => turn,
            Timing::InTurn | Timing::Late => 0,
        }
    }

    pub(super) fn linked_to(self, leader: At) -> Self {
        Self { leader: Some(leader), ..self }
    }
}

/// What becomes of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is right as it is; what lies below is judged by itself.
    Stay,
    /// It is left alone with all that lies below.
    Still,
    /// A directory of the destination that stays though it is extra: what may go below it goes.
    Emptied,
    /// A directory that is made only where something below it is made.
    IfNeeded,
    /// Its file gets another name, which takes it away from here.
    Leaves,
    /// It becomes an action.
    Act(Deed),
}

/// What a directory's entries meet, as the names above it decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is there when the run is done: entries are made, replaced, removed.
    Live,
    /// Nothing in it is touched.
    Still,
    /// Its entries are removed one by one.
    Leaving,
    /// As [`Standing::Leaving`], because the directory becomes something else: its entries count as replaced.
    MakingWay,
    /// It goes whole with an entry above it.
    Displaced,
}

/// How a directory's entries are to be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) standing: Standing,
    /// Something here or above could not be read on either side: nothing is removed, no kind is changed.
    pub(super) guarded: bool,
    /// The destination could not be read whole here or above: nobody knows what is new.
    pub(super) blind: bool,
}
