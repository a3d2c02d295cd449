//! The JSON form and its schema.

use std::collections::BTreeSet;

use serde_json::Value;

use super::tree::{Tree, compare, path, with_moves};
use super::world::{place, rule, terms};
use crate::compare::{Extent, Notice, Problem, Side};
use crate::job::{Durability, Mode, Rule};
use crate::plan::{Plan, seal};
use crate::value::{Kind, RelPath};

const SCHEMA: &str = include_str!("../../../schemas/plan.schema.json");

/// A plan in which each list holds something.
pub fn full() -> Plan {
    let mut source = Tree::read(1, "a 1@1; b = a; d/; d/f 2@9; l -> x; m 3@3 600; p |; swap 1@1; now 7@7");
    let raw = source.names[&path("m")];
    source.names.insert(RelPath::parse(b"a\xffb").unwrap(), raw);
    source.take(&path("m"));
    let destination = Tree::read(2, "d/ 700; d/f 1@1; old 1@1; m 3@3; swap/; swap/k 1@1; then 7@7");
    let mut draft = with_moves(compare(&source, &destination));
    let side = Side::Source;
    draft.problems = vec![
        Problem { path: path("z"), side, message: "cannot read `z`".to_owned(), extent: Extent::Subtree },
        Problem { path: path("y"), side: Side::Destination, message: "no".to_owned(), extent: Extent::Entry },
    ];
    draft.notices = vec![
        Notice::MountPoint { path: path("d"), entered: false },
        Notice::ForeignDestination { path: path("e") },
        Notice::LeftOut { kind: Kind::Socket, count: 1 },
        Notice::StageNames { count: 1 },
    ];
    let place = crate::value::Place { hard_links: true, symlinks: false, ..place() };
    let rule = Rule { durability: Durability::None, ..rule(Mode::Mirror) };
    seal(draft, &terms(&rule, &place))
}

fn keys(value: &Value, prefix: &str, all: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                all.insert(format!("{prefix}.{key}"));
                keys(value, &format!("{prefix}.{key}"), all);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, &format!("{prefix}[]"), all)),
        _ => {}
    }
}

fn schema_keys(schema: &Value, prefix: &str, all: &mut BTreeSet<String>) {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        for (key, value) in properties {
            all.insert(format!("{prefix}.{key}"));
            schema_keys(value, &format!("{prefix}.{key}"), all);
        }
    }
    if let Some(items) = schema.get("items") {
        schema_keys(items, &format!("{prefix}[]"), all);
    }
}

#[test]
fn every_key_is_in_the_schema() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let (mut found, mut known) = (BTreeSet::new(), BTreeSet::new());
    keys(&full().to_json("job", "rule"), "", &mut found);
    schema_keys(&schema, "", &mut known);
    let unknown: Vec<&String> = found.difference(&known).collect();
    assert!(unknown.is_empty(), "not in schemas/plan.schema.json: {unknown:?}");
    // The other way round too; a link's target that is no UTF-8 is not in this plan, nor are such conflicts.
    let dead: Vec<&String> = known.difference(&found).filter(|key| !key.ends_with("_b64")).collect();
    assert!(dead.is_empty(), "only in schemas/plan.schema.json: {dead:?}");
    assert!(found.contains(".actions[].path_b64"));
}

#[test]
fn every_word_is_in_the_schema() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let words = |list: &str, key: &str| -> Vec<String> {
        let words = &schema["properties"][list]["items"]["properties"][key]["enum"];
        words.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let plan = full().to_json("job", "rule");
    for (list, key) in [
        ("actions", "action"),
        ("actions", "kind"),
        ("conflicts", "conflict"),
        ("notices", "notice"),
        ("limits", "limit"),
    ] {
        let known = words(list, key);
        for item in plan[list].as_array().unwrap() {
            let word = item[key].as_str().unwrap();
            assert!(known.iter().any(|known| known == word), "{list}.{key}: {word}");
        }
    }
}

#[test]
fn bc_22_names_that_are_no_utf_8_keep_their_bytes() {
    let plan = full().to_json("job", "rule");
    let action =
        plan["actions"].as_array().unwrap().iter().find(|action| action.get("path").is_none()).unwrap();
    assert_eq!(action["path_b64"], "Yf9i");
}

#[test]
fn the_form_of_a_plan() {
    let source = Tree::read(1, "a 5@2; b = a; d/");
    let plan =
        seal(compare(&source, &Tree::read(2, "a 1@1; old -> x")), &terms(&rule(Mode::Mirror), &place()));
    let expected = r#"{"job":"disk","rule":"photos","totals":{"actions":4,"mkdir":1,"move":0,"copy":0,"replace":1,"link":1,"symlink":0,"special":0,"metadata":0,"remove":1,"bytes":5,"allocated":4096,"removed_entries":1,"replaced_entries":1},"limits":[{"limit":"remove","written":"25%","planned":1,"allowed":5,"base":2,"holds":true},{"limit":"replace","written":"50%","planned":1,"allowed":10,"base":2,"holds":true},{"limit":"min_free","written":"1%","planned":4096,"allowed":1077521395221,"base":2199023255552,"holds":true}],"actions":[{"action":"mkdir","path":"d","kind":"directory","reason":"new"},{"action":"replace","path":"a","kind":"file","reason":"newer, size differs","bytes":5},{"action":"link","path":"b","kind":"file","reason":"hard link","to":"a"},{"action":"remove","path":"old","kind":"symlink","reason":"only in the destination"}],"conflicts":[],"problems":[],"notices":[]}"#;
    assert_eq!(plan.to_json("disk", "photos").to_string(), expected);
}
