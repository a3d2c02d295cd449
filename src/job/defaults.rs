//! Fills in what a rule does not say, from the defaults of the key lists.

use super::Mode;
use super::decode::Reader;
use super::diagnose::Sink;
use super::keys::{Fallback, Key, Takes};
use super::parse;
use super::values::{Fields, Sited, Value};

impl Reader<'_, '_> {
    /// Every key of the list, with the default where it is not given; a key that does not fit the mode is left out.
    pub(super) fn filled(&mut self, mut given: Fields, keys: &'static [Key], mode: Mode) -> Fields {
        let mut filled = Fields::default();
        for key in keys.iter().filter(|key| key.fits.includes(mode)) {
            if key.adds_to().is_some() {
                filled.0.extend(given.0.iter().filter(|(own, _)| own.name == key.name).cloned());
                continue;
            }
            let own =
                given.0.iter().position(|(name, _)| name.name == key.name).map(|at| given.0.remove(at).1);
            let sited = match (own, key.fallback) {
                (Some(sited), _) => Some(sited),
                (None, Fallback::Text(text)) => Some(self.fallback(key, text)),
                (None, Fallback::ByMode { mirror, backup }) => {
                    Some(self.fallback(key, if mode == Mode::Mirror { mirror } else { backup }))
                }
                (None, Fallback::Members) => {
                    Some(Sited { value: Value::Map(Fields::default()), span: None, shown: String::new() })
                }
                (None, Fallback::Required | Fallback::Unset) => None,
            };
            let Some(Sited { mut value, span, shown }) = sited else { continue };
            if let (Takes::Map(inner) | Takes::WordOrMap(_, inner), Value::Map(members)) =
                (key.takes, &mut value)
            {
                *members = self.filled(std::mem::take(members), inner, mode);
            }
            filled.0.push((key, Sited { value, span, shown }));
        }
        filled
    }

    /// A default, decoded like a text from a file.
    fn fallback(&self, key: &'static Key, text: &str) -> Sited {
        let mut sink = Sink::new(text);
        let node = parse::parse(&mut sink);
        let mut reader = Reader { sink: &mut sink, scope: self.scope, mode: self.mode };
        let mut sited = match node {
            Some(node) => reader.value(key, key.name, &node),
            None => Sited { value: Value::Broken, span: None, shown: String::new() },
        };
        debug_assert!(sink.is_empty(), "the default of `{}` is a value of it", key.name);
        forget_place(&mut sited);
        sited
    }
}

fn forget_place(sited: &mut Sited) {
    sited.span = None;
    if let Value::Map(fields) = &mut sited.value {
        fields.0.iter_mut().for_each(|(_, inner)| forget_place(inner));
    }
}
