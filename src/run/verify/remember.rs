//! What was read is written into the catalog, so that the next verification goes on from there.

use crate::run::reach::{Reached, hold};
use crate::run::{Event, RuleOutcome, Session, Sink, causes};
use crate::store::ReadBack;
use crate::value::RunId;

use super::model::{Remembered, VerifyEvent};

/// What waits to be remembered.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// What was found.
    pub(super) read: Vec<ReadBack>,
    /// That a round began.
    pub(super) round: Option<RunId>,
}

/// Says what the lock has to say.
struct Notes<'a>(&'a mut dyn FnMut(&VerifyEvent<'_>));

impl Sink for Notes<'_> {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::Note { text } = event {
            (self.0)(&VerifyEvent::Note { text });
        }
    }
}

/// Writes it under the destination's lock, which is not waited for. The caller shares it no more, and has closed its view. What could not be
/// written still waits.
pub(super) fn remember(
    session: &Session<'_>,
    reached: &Reached,
    at: RunId,
    pending: &mut Pending,
    each: &mut dyn FnMut(&VerifyEvent<'_>),
) -> Remembered {
    if pending.read.is_empty() && pending.round.is_none() {
        return Remembered::Nothing;
    }
    if reached.place.read_only {
        return Remembered::Not("the destination is on a read-only file system".to_owned());
    }
    let held = hold(session, at, &reached.store, &reached.place, &mut Notes(each));
    let lock = match held {
        Ok(lock) => lock,
        Err(RuleOutcome::Busy(_)) => {
            return Remembered::Not("another Twinlane is at this destination".to_owned());
        }
        Err(RuleOutcome::Stopped { reasons }) => return Remembered::Not(reasons.join(": ")),
        Err(_) => return Remembered::Not("the destination cannot be locked".to_owned()),
    };
    let written = reached.store.catalog(at).and_then(|(mut catalog, said)| {
        catalog.note_read_back(at, pending.round, &pending.read)?;
        Ok([said, catalog.take_message()])
    });
    drop(lock);
    match written {
        Ok(said) => {
            for text in said.into_iter().flatten() {
                each(&VerifyEvent::Note { text: &text });
            }
            *pending = Pending::default();
            Remembered::All
        }
        Err(error) => Remembered::Not(causes(&error).join(": ")),
    }
}
