//! [`Node`] → [`Fields`], driven by the key lists; every error is collected, none stops the rest.

use super::Mode;
use super::diagnose::Sink;
use super::expand::{Dates, Expanded, Scope, has_reference};
use super::keys::{Form, Key, Takes, homes_of};
use super::location::{self, Refusal};
use super::node::{Content, Entry, Node, Scalar, Span, Style};
use super::origins::{yaml_item, yaml_text};
use super::suggest::nearest;
use super::values::{Fields, Item, Sited, Value, alternatives, duration};
use super::{bandwidth, patterns};
use crate::value::Zone;

/// Where a map of rule options stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// In a rule: an option without meaning in the rule's mode is an error.
    Rule,
    /// Under `defaults`: such an option is ignored.
    Defaults,
    /// Anything below either, and the job itself.
    Inner,
}

/// Decodes nodes; what it meets on the way goes into the sink.
pub(super) struct Reader<'r, 'a> {
    pub(super) sink: &'r mut Sink<'a>,
    pub(super) scope: Scope<'r>,
    /// Of the rule at hand, where known.
    pub(super) mode: Option<Mode>,
}

impl Reader<'_, '_> {
    /// Decodes a map. `path` is its dotted key (empty at the top), `home` names it in messages.
    pub(super) fn map(
        &mut self,
        node: &Node,
        keys: &'static [Key],
        path: &str,
        home: &str,
        standing: Standing,
    ) -> Option<Fields> {
        let Content::Map(entries) = &node.content else {
            if node.content != Content::Broken {
                self.sink.absent(
                    &node.span,
                    format!("{home} is {}, not a map", node.describe()),
                    "a map was expected",
                    format!("write `key: value` below it; {}", keys_help(keys)),
                );
            }
            return None;
        };
        let mut fields = Fields::default();
        let mut meant = Vec::new();
        for entry in entries {
            let Some(key) = keys.iter().find(|key| key.name == entry.key) else {
                for entry in entry.beneath.iter().chain([entry]) {
                    meant.extend(self.unknown_key(&entry.key, &entry.key_span, keys, home));
                }
                continue;
            };
            let below = if path.is_empty() { key.name.to_owned() } else { format!("{path}.{}", key.name) };
            if key.adds_to().is_some() {
                for entry in &entry.beneath {
                    fields.0.push((key, self.value(key, &below, &entry.value)));
                }
            } else {
                self.replaced(entry, keys, path);
            }
            let sited = self.value(key, &below, &entry.value);
            if self.mode.is_none_or(|mode| key.fits.includes(mode)) {
                fields.0.push((key, sited));
            } else if standing == Standing::Rule {
                let mode = if self.mode == Some(Mode::Mirror) { "mirror" } else { "backup" };
                self.sink.error(
                    &entry.key_span,
                    format!("`{}` has no meaning in a {mode}", key.name),
                    format!("this rule is a {mode}"),
                    "remove it, or put it under `defaults`, where only rules that it fits take it",
                );
            }
        }
        // A misspelt key is not reported a second time as missing.
        for key in meant {
            if fields.get(key.name).is_none() {
                fields.0.push((key, Sited { value: Value::Broken, span: None, shown: String::new() }));
            }
        }
        Some(fields)
    }

    /// Looks for what is wrong in the values of extended files that the entry replaces. Paths and references are passed
    /// over: replacing them may be the cure for what they lack here.
    pub(super) fn replaced(&mut self, entry: &Entry, keys: &'static [Key], path: &str) {
        for old in &entry.beneath {
            let key = keys.iter().find(|key| key.name == old.key);
            if let Some(key) = key.filter(|key| !matches!(key.takes, Takes::Path) && !old.value.refers()) {
                let below =
                    if path.is_empty() { key.name.to_owned() } else { format!("{path}.{}", key.name) };
                self.value(key, &below, &old.value);
            }
        }
    }

    /// Reports a key that the map does not know; back comes the one that was most likely meant.
    pub(super) fn unknown_key(
        &mut self,
        name: &str,
        span: &Span,
        keys: &'static [Key],
        home: &str,
    ) -> Option<&'static Key> {
        if self.sink.is_full() {
            return None;
        }
        let homes = homes_of(name);
        let adds = name.ends_with('+');
        let alike = keys.iter().filter(|key| key.adds_to().is_some() == adds).map(|key| key.name);
        let near = nearest(name, alike).or_else(|| nearest(name, keys.iter().map(|key| key.name)));
        let help = if let Some((key, value)) = name.split_once(':') {
            format!("a blank belongs behind the colon: `{key}: {value}`")
        } else if !homes.is_empty() {
            format!("`{name}` belongs in {}", alternatives(&homes))
        } else if let Some(near) = near {
            format!("did you mean `{near}`?")
        } else {
            keys_help(keys)
        };
        self.sink.error(span, format!("unknown key `{name}` in {home}"), "not a key of this map", help);
        keys.iter().find(|key| Some(key.name) == near)
    }

    /// Decodes the value of one key.
    pub(super) fn value(&mut self, key: &'static Key, path: &str, node: &Node) -> Sited {
        let decoded = match key.takes {
            Takes::Scalar(forms) => self.single(forms, path, node),
            Takes::Prose => self.prose(path, node),
            Takes::Path => self.place(key.name, node),
            Takes::Patterns => patterns::read(self, key.name, node).map(listed),
            Takes::Names => self.names(path, node, file_name).map(listed),
            Takes::Rules => self.names(path, node, |_| Ok(())).map(listed),
            Takes::Map(keys) => {
                let fields = self.map(node, keys, path, &format!("`{path}`"), Standing::Inner);
                fields.map(|fields| (Value::Map(fields), String::new()))
            }
            Takes::WordOrMap(word, keys) => self.word_or_map(word, keys, path, node),
            Takes::Timetable => bandwidth::read(self, path, node),
            // The job's own parts are read by `load`, in their order.
            Takes::Variables | Takes::RuleMap | Takes::Files => None,
        };
        let (value, shown) = decoded.unwrap_or((Value::Broken, String::new()));
        Sited { value, span: Some(node.span.clone()), shown }
    }

    /// The node as a scalar that is not null; anything else is reported.
    pub(super) fn text<'n>(&mut self, path: &str, node: &'n Node, expected: &str) -> Option<&'n Scalar> {
        match &node.content {
            Content::Broken => None,
            Content::Scalar(scalar) if scalar.is_null() => {
                self.sink.absent(
                    &node.span,
                    format!("`{path}` has no value"),
                    if scalar.style == Style::Absent { "nothing here" } else { "YAML's word for nothing" },
                    if matches!(path, "mode" | "source" | "destination") {
                        format!("give {expected}")
                    } else {
                        format!("give {expected}, or remove the key")
                    },
                );
                None
            }
            Content::Scalar(scalar) => Some(scalar),
            Content::List(_) | Content::Map(_) => {
                self.sink.error(
                    &node.span,
                    format!("`{path}` is {}", node.describe()),
                    "a single value was expected",
                    format!("give {expected}; a text with brackets or braces needs quotes"),
                );
                None
            }
        }
    }

    pub(super) fn single(
        &mut self,
        forms: &'static [Form],
        path: &str,
        node: &Node,
    ) -> Option<(Value, String)> {
        let parts: Vec<String> = forms.iter().flat_map(|form| form.names()).collect();
        let expected = alternatives(&parts);
        let scalar = self.text(path, node, &expected)?;
        let refers = has_reference(&scalar.text);
        if refers && !forms.iter().any(|form| form.takes_references()) {
            self.sink.error(
                &node.span,
                format!("`{path}` cannot come from a variable"),
                "one of its own values only",
                format!("write {expected}"),
            );
            return None;
        }
        let expanded = self.scope.expand(scalar, &node.span, self.sink)?;
        let (text, plain) = (expanded.text.as_str(), refers || scalar.is_plain());
        let mut wrong = None;
        for form in forms {
            match form.read(text, plain, self.scope) {
                Some(Ok(value)) => return Some((value, expanded.shown)),
                Some(Err(why)) => wrong = wrong.or(Some(why)),
                None => {}
            }
        }
        let label = wrong.unwrap_or_else(|| "not one of its values".to_owned());
        let help = value_help(forms, scalar, text, &expected);
        self.sink.error(&node.span, format!("`{}` is no value of `{path}`", expanded.shown), label, help);
        None
    }

    fn prose(&mut self, path: &str, node: &Node) -> Option<(Value, String)> {
        let scalar = self.text(path, node, "a text")?;
        let text = scalar.text.trim().to_owned();
        Some((Value::Text(text.clone()), yaml_text(&text)))
    }

    fn place(&mut self, name: &str, node: &Node) -> Option<(Value, String)> {
        if let Content::Scalar(Scalar { text, style: Style::Plain }) = &node.content
            && matches!(text.as_str(), "~" | "null" | "Null" | "NULL")
        {
            let help = if text == "~" {
                "for the home directory put it in quotes: \"~\"".to_owned()
            } else {
                format!("for a folder of that name write `./{text}`")
            };
            self.sink.error(
                &node.span,
                format!("null where the path of `{name}` belongs"),
                "YAML reads this as null",
                help,
            );
            return None;
        }
        let scalar = self.text(name, node, "a path")?;
        let written = self.sink.text().get(node.span.clone()).unwrap_or_default();
        if written.trim_end().contains('\n') && !matches!(scalar.style, Style::Literal | Style::Folded) {
            self.sink.error(
                &node.span,
                format!("the path of `{name}` goes over several lines"),
                "YAML joins them with blanks",
                "write it on one line; if the next line is a key, check its indentation",
            );
            return None;
        }
        let dates = name == "destination" && self.mode != Some(Mode::Mirror);
        let scope = Scope { dates: if dates { Dates::Allowed } else { Dates::Refused }, ..self.scope };
        let expanded = scope.expand(scalar, &node.span, self.sink)?;
        let located = location::check_letters(&expanded.text, "the path", scalar, written)
            .and_then(|()| location::locate(&expanded, scope.folder, scope.surroundings));
        match located {
            Ok((location, shown)) => Some((Value::Place(location), yaml_text(&shown))),
            Err(refusal) => {
                self.refuse(&node.span, refusal);
                None
            }
        }
    }

    pub(super) fn refuse(&mut self, span: &Span, refusal: Refusal) {
        self.sink.error(span, refusal.message, refusal.label, refusal.help);
    }

    fn names(
        &mut self,
        path: &str,
        node: &Node,
        check: fn(&str) -> Result<(), &'static str>,
    ) -> Option<Vec<Item>> {
        let Content::List(nodes) = &node.content else {
            let single = self.text(path, node, "a list such as [a, b]")?;
            self.sink.error(
                &node.span,
                format!("`{path}` is a single value"),
                "a list was expected",
                format!("write [{}]", single.text.trim()),
            );
            return None;
        };
        let mut items = Vec::with_capacity(nodes.len());
        for node in nodes {
            let Some(item) = self.item(path, node) else { continue };
            match check(&item.text) {
                Ok(()) => items.push(item),
                Err(why) => self.sink.error(
                    &node.span,
                    format!("`{}` is no file name", item.shown),
                    why,
                    "give the name alone, without folders",
                ),
            }
        }
        (items.len() == nodes.len()).then_some(items)
    }

    fn item(&mut self, path: &str, node: &Node) -> Option<Item> {
        let scalar = match &node.content {
            // `~` and `null` in a list of names are names.
            Content::Scalar(scalar) if scalar.style == Style::Plain => scalar,
            _ => self.text(path, node, "a name")?,
        };
        let Expanded { text, shown } = self.scope.expand(scalar, &node.span, self.sink)?;
        Some(Item { text, shown, span: node.span.clone() })
    }

    fn word_or_map(
        &mut self,
        word: &'static str,
        keys: &'static [Key],
        path: &str,
        node: &Node,
    ) -> Option<(Value, String)> {
        let expected = format!("`{word}`, or a map with {}", names_of(keys));
        match &node.content {
            Content::Map(_) => {
                let fields = self.map(node, keys, path, &format!("`{path}`"), Standing::Inner)?;
                Some((Value::Map(fields), String::new()))
            }
            Content::Scalar(scalar) if scalar.text == word => Some((Value::Word(word), word.to_owned())),
            Content::Scalar(scalar) if !scalar.is_null() => {
                let help = match duration(&scalar.text) {
                    Ok(_) => format!("write `{path}: {{keep_for: {}}}`", scalar.text),
                    Err(_) => format!("give {expected}"),
                };
                let message = format!("`{}` is no value of `{path}`", scalar.text);
                self.sink.error(&node.span, message, "not one of its values", help);
                None
            }
            Content::List(_) => {
                self.sink.error(
                    &node.span,
                    format!("`{path}` is a list"),
                    "not one of its values",
                    format!("give {expected}"),
                );
                None
            }
            _ => {
                self.text(path, node, &expected);
                None
            }
        }
    }
}

/// Which keys there are, as long as one line can tell.
fn keys_help(keys: &[Key]) -> String {
    const TOLD_MAX: usize = 10;
    if keys.len() > TOLD_MAX {
        "the reference table of the README lists the options of a rule".to_owned()
    } else {
        format!("the keys here are {}", names_of(keys))
    }
}

fn names_of(keys: &[Key]) -> String {
    keys.iter().map(|key| key.name).collect::<Vec<_>>().join(", ")
}

/// A list value, and how `show` prints it.
fn listed(items: Vec<Item>) -> (Value, String) {
    let shown: Vec<String> = items.iter().map(|item| yaml_item(&item.shown)).collect();
    (Value::List(items), format!("[{}]", shown.join(", ")))
}

fn file_name(name: &str) -> Result<(), &'static str> {
    match name {
        "" => Err("an empty name"),
        "." | ".." => Err("not a name of its own"),
        _ if name.contains('/') => Err("a path"),
        _ if name.chars().any(char::is_control) => Err("a control character"),
        _ => Ok(()),
    }
}

/// The way out for a value that fits none of the forms.
fn value_help(forms: &[Form], scalar: &Scalar, text: &str, expected: &str) -> String {
    let words = forms.iter().filter_map(|form| if let Form::Word(word) = form { Some(*word) } else { None });
    if forms.contains(&Form::Switch) {
        let switch = match text.to_lowercase().as_str() {
            "yes" | "y" | "on" | "true" | "1" => Some("true"),
            "no" | "n" | "off" | "false" | "0" => Some("false"),
            _ => None,
        };
        match switch {
            Some(switch) if text == switch && !scalar.is_plain() => {
                return format!("write {switch} without quotes");
            }
            Some(switch) => return format!("write {switch}; `true` and `false` are the only switches"),
            None => {}
        }
    }
    if forms.contains(&Form::Zone)
        && let Some(zone) = nearest_zone(text)
    {
        return format!("did you mean `{zone}`?");
    }
    match nearest(text, words) {
        Some(near) if near != text => format!("did you mean `{near}`?"),
        _ => format!("give {expected}"),
    }
}

/// The time zone that was most likely meant, also by the name of its city alone.
fn nearest_zone(text: &str) -> Option<&'static str> {
    let city = text.trim().replace(' ', "_");
    let of_city =
        |zone: &&str| zone.rsplit_once('/').is_some_and(|(_, name)| name.eq_ignore_ascii_case(&city));
    Zone::names().find(of_city).or_else(|| nearest(text, Zone::names()))
}
