//! The JSON schema (draft 7) of a job file, from the key lists: an editor completes and checks with it.

use serde_json::{Map, Value, json};

use super::keys::{CEILING, Fallback, Form, JOB, Key, RULE, Takes};

const DRAFT: &str = "http://json-schema.org/draft-07/schema#";
/// A text that holds a reference; what it expands to is checked when the job is read.
const REFERENCE: &str = r"\$\{[^}]+\}";
/// Letters beyond ASCII as a range: property classes are not known to every regular expression engine.
const RULE_NAME: &str = r"^[A-Za-z0-9_\u0080-\uffff][A-Za-z0-9_.\u0080-\uffff-]*$";
const PART_OF_DAY: &str = r"^([01][0-9]|2[0-3]):[0-5][0-9] ?- ?(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$";
const VARIABLE_NAME: &str = "^[A-Za-z_][A-Za-z0-9_-]*$";

/// Builds the schema.
pub(super) fn build() -> Value {
    let mut schema = map_schema(JOB);
    let options = map_schema(RULE);
    if let Some(root) = schema.as_object_mut() {
        let mut whole = Map::new();
        whole.insert("$schema".to_owned(), json!(DRAFT));
        whole.insert("title".to_owned(), json!("Twinlane job"));
        whole.insert("description".to_owned(), json!("What Twinlane mirrors and backs up"));
        whole.append(root);
        whole.insert("definitions".to_owned(), json!({ "options": options }));
        return Value::Object(whole);
    }
    schema
}

/// The schema of a map. Nothing is required here: `defaults` may give what a rule needs, and `extends` the rules.
fn map_schema(keys: &'static [Key]) -> Value {
    let mut properties = Map::new();
    for key in keys {
        properties.insert(key.name.to_owned(), property(key));
    }
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema.insert("properties".to_owned(), Value::Object(properties));
    Value::Object(schema)
}

fn property(key: &'static Key) -> Value {
    let mut property = Map::new();
    property.insert("description".to_owned(), json!(key.meaning));
    match takes(key) {
        Value::Object(mut taken) => {
            property.append(&mut taken);
        }
        other => return other,
    }
    if let Fallback::Text(text) = key.fallback {
        property.insert("default".to_owned(), default_value(text));
    }
    Value::Object(property)
}

/// The default as an editor inserts it: a number, a switch, a list, else a text.
fn default_value(text: &str) -> Value {
    match serde_json::from_str::<Value>(text) {
        Ok(value) => value,
        Err(_) => json!(text),
    }
}

fn takes(key: &'static Key) -> Value {
    match key.takes {
        Takes::Scalar(forms) => scalar(forms),
        Takes::Prose => json!({ "type": ["string", "number", "boolean"] }),
        Takes::Path => json!({ "type": ["string", "number"], "minLength": 1 }),
        Takes::Patterns => json!({ "oneOf": [
            { "type": "array", "items": plain_text() },
            { "type": "string", "description": "Block text with one pattern a line" },
        ] }),
        Takes::Files => json!({ "oneOf": [
            { "type": "string", "minLength": 1 },
            { "type": "array", "items": { "type": "string", "minLength": 1 } },
        ] }),
        Takes::Names | Takes::Rules => json!({ "type": "array", "items": plain_text() }),
        Takes::Map(_) if key.name == "defaults" => json!({ "$ref": "#/definitions/options" }),
        Takes::Map(keys) => map_schema(keys),
        Takes::WordOrMap(word, keys) => json!({ "oneOf": [{ "const": word }, map_schema(keys)] }),
        Takes::Timetable => json!({ "oneOf": [
            scalar(CEILING),
            {
                "type": "object",
                "minProperties": 1,
                "properties": { "default": scalar(CEILING) },
                "patternProperties": { PART_OF_DAY: scalar(CEILING) },
                "additionalProperties": false,
            },
        ] }),
        Takes::Variables => json!({
            "type": "object",
            "propertyNames": { "pattern": VARIABLE_NAME },
            "additionalProperties": { "type": ["string", "number", "boolean"] },
        }),
        Takes::RuleMap => json!({
            "type": "object",
            "minProperties": 1,
            "propertyNames": { "pattern": RULE_NAME, "maxLength": 64 },
            "additionalProperties": { "$ref": "#/definitions/options" },
        }),
    }
}

/// A text that YAML may take for a number, a switch or null; Twinlane reads it as it is written.
fn plain_text() -> Value {
    json!({ "type": ["string", "number", "boolean", "null"] })
}

fn scalar(forms: &'static [Form]) -> Value {
    let words: Vec<&str> = forms
        .iter()
        .filter_map(|form| if let Form::Word(word) = form { Some(*word) } else { None })
        .collect();
    let mut alternatives = Vec::new();
    if !words.is_empty() {
        alternatives.push(json!({ "enum": words }));
    }
    for form in forms {
        alternatives.extend(form_schemas(*form));
    }
    if forms.iter().any(|form| form.takes_references()) {
        alternatives.push(json!({ "type": "string", "pattern": REFERENCE }));
    }
    match alternatives.as_slice() {
        [only] => only.clone(),
        _ => json!({ "anyOf": alternatives }),
    }
}

fn form_schemas(form: Form) -> Vec<Value> {
    let text = |pattern: &str| json!({ "type": "string", "pattern": pattern });
    let size = r"^[0-9]+(\.[0-9]{1,3})? ?([KMGTPkmgtp][Ii]?)?[Bb]?$";
    match form {
        Form::Word(_) => Vec::new(),
        Form::Switch => vec![json!({ "type": "boolean" })],
        Form::Count { least, most: u64::MAX } => vec![json!({ "type": "integer", "minimum": least })],
        Form::Count { least, most } => vec![json!({ "type": "integer", "minimum": least, "maximum": most })],
        Form::Size { least } => vec![text(size), json!({ "type": "integer", "minimum": least })],
        Form::Block => vec![
            text("^(64|128|256|512) ?[Kk][Ii][Bb]$|^[124] ?[Mm][Ii][Bb]$"),
            json!({
                "enum": [65_536, 131_072, 262_144, 524_288, 1_048_576, 2_097_152, 4_194_304],
            }),
        ],
        Form::Duration => vec![text("^[0-9]+ ?(ms|s|m|h|d|w)$")],
        Form::Age => vec![
            text("^[0-9]+ ?(ms|s|m|h|d|w)$"),
            text("^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?)?Z?$"),
        ],
        Form::Rate => vec![text(r"^[0-9]+(\.[0-9]{1,3})? ?([KMGTPkmgtp][Ii]?)?B/s$")],
        Form::Zone => vec![text("^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$")],
        Form::Percent => vec![text(r"^[0-9]{1,3}(\.[0-9]{1,2})? ?%$")],
    }
}
