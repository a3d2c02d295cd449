//! Plan files: both directions, the schema, the frozen format, and files that nobody should believe.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::json::full;
use crate::job::{Mode, Origin};
use crate::plan::{
    BEGINNING, Plan, PlanFile, PlanFileError, PlanFileHeader, PlanFileRule, PlanReader, Sight, differences,
    resolved,
};
use crate::value::Stamp;

const SCHEMA: &str = include_str!("../../../schemas/plan-file.schema.json");
/// Written by format 1; never written again.
const FROZEN: &[u8] = include_bytes!("../../../tests/plan_files/v1.plan");

fn sight(path: &[u8], uuid: Option<&str>) -> Sight {
    Sight { path: path.into(), uuid: uuid.map(str::to_owned) }
}

fn filed(plan: Plan) -> PlanFile {
    let values = [("mode", "mirror"), ("source", "/source"), ("limits.remove", "25%")];
    let rule = PlanFileRule {
        job: "disk".to_owned(),
        file: (*b"/jobs/disk.yaml").into(),
        rule: "photos".to_owned(),
        mode: Mode::Mirror,
        resolved: values.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        roots: Some((sight(b"/source", Some("1234-ABCD")), sight(b"/desti\xffnation", None))),
        destination_id: Some("0123456789abcdef0123456789abcdef".to_owned()),
        objection: None,
        plan: Some(plan),
    };
    let unplanned = PlanFileRule {
        rule: "music".to_owned(),
        file: (*b"/jobs/\xff.yaml").into(),
        mode: Mode::Backup,
        roots: None,
        destination_id: None,
        objection: Some("source `/music` is not there".to_owned()),
        plan: None,
        ..rule.clone()
    };
    let header = PlanFileHeader {
        twinlane: "0.1.0".to_owned(),
        made: Stamp { seconds: 1_795_000_000, nanos: 123_456_789 },
        host: "attic".to_owned(),
        limits: vec!["remove=120".to_owned()],
        accepted: vec!["destination".to_owned()],
    };
    PlanFile { header, rules: vec![rule, unplanned] }
}

fn read(bytes: &[u8]) -> Result<PlanFile, PlanFileError> {
    let mut reader = PlanReader::default();
    bytes.split_inclusive(|&byte| byte == b'\n').try_for_each(|line| reader.take(line))?;
    reader.finish()
}

/// The plan that a file with this one holds.
pub fn reread(plan: &Plan) -> Plan {
    read(&filed(plan.clone()).to_bytes()).unwrap().rules.remove(0).plan.unwrap()
}

/// The lines of a file, and from lines a file whose last line fits them.
fn lines(bytes: &[u8]) -> Vec<Value> {
    bytes
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

fn sealed(mut lines: Vec<Value>) -> Vec<u8> {
    let mut end = lines.pop().unwrap();
    let mut bytes: Vec<u8> = lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
    end["end"]["blake3"] = blake3::hash(&bytes).to_hex().to_string().into();
    bytes.extend(format!("{end}\n").into_bytes());
    bytes
}

#[test]
fn a_file_goes_both_ways() {
    let file = filed(full());
    let bytes = file.to_bytes();
    assert!(bytes.starts_with(BEGINNING));
    assert_eq!(read(&bytes).unwrap(), file);
    assert_eq!(sealed(lines(&bytes)), bytes, "the form of the lines is that of serde_json");
}

#[test]
fn the_frozen_file_stays_readable() {
    let file = read(FROZEN).unwrap();
    assert_eq!(file.header.made, Stamp { seconds: 1_795_000_000, nanos: 123_456_789 });
    let plan = file.rules[0].plan.as_ref().unwrap();
    assert_eq!(super::world::told(plan), super::world::told(&full()));
    assert_eq!((plan.totals, plan.counts), (full().totals, full().counts));
    assert_eq!(plan, &full());
}

#[test]
fn what_is_no_plan_file_is_told_apart() {
    let check = |bytes: &[u8], expected: &PlanFileError| assert_eq!(&read(bytes).unwrap_err(), expected);
    check(b"", &PlanFileError::Empty);
    for other in [
        &b"\n"[..],
        b"rules:\n",
        b"\xff\xfe",
        b"{}",
        b"{\"twinlane_plan\":}",
        b"{\"twinlane_plan\":0}",
        b"{\"twinlane_plan\":-1}",
    ] {
        check(other, &PlanFileError::Other);
    }
    check(b"{\"twinlane_plan\":2,\"other\":[]}\nwhatever", &PlanFileError::Newer { format: 2 });
    let bytes = filed(full()).to_bytes();
    let count = lines(&bytes).len() as u64;
    let last = bytes[..bytes.len() - 1].iter().rposition(|&byte| byte == b'\n').unwrap() + 1;
    check(&bytes[..last], &PlanFileError::CutOff { lines: count - 1 });
    let mut changed = lines(&bytes);
    changed[1]["rule"]["resolved"]["limits.remove"] = "99%".into();
    let changed: Vec<u8> = changed.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
    check(&changed, &PlanFileError::Changed);
    let more = [&bytes[..], b"{}\n"].concat();
    check(
        &more,
        &PlanFileError::Line { line: count + 1, what: "there is something after the last line".to_owned() },
    );
}

/// Lines of the given kind, with their places.
fn at(lines: &[Value], kind: &str) -> usize {
    lines.iter().position(|line| line.get(kind).is_some()).unwrap()
}

#[test]
fn a_line_that_no_plan_has_is_named_even_where_the_sum_fits() {
    let whole = lines(&filed(full()).to_bytes());
    let action = |word: &str| whole.iter().position(|line| line["action"]["action"] == word).unwrap();
    let check = |line: usize, edit: &dyn Fn(&mut Value), what: &str| {
        let mut lines = whole.clone();
        edit(&mut lines[line]);
        let told = read(&sealed(lines)).unwrap_err();
        let PlanFileError::Line { line: number, what: said } = &told else { panic!("{what}: {told}") };
        assert!(said.contains(what), "{said}: {what}");
        assert!(*number > line as u64, "{told}: line {line}");
    };
    let (copy, remove, link, replace) = (action("copy"), action("remove"), action("link"), action("replace"));
    check(copy, &|line| line["action"]["path"] = "../x".into(), "no path below a root");
    check(copy, &|line| line["action"]["path"] = "/etc/passwd".into(), "no path below a root");
    check(copy, &|line| line["action"]["path"] = "elsewhere/x".into(), "its directory is not in the plan");
    check(copy, &|line| line["action"]["path"] = ".twinlane/id".into(), "own `.twinlane`");
    check(copy, &|line| line["action"]["path"] = ".".into(), "cannot be done to the root");
    check(copy, &|line| line["action"]["path"] = "x".repeat(70_000).into(), "too long");
    check(copy, &|line| line["action"]["action"] = "format".into(), "there is no action `format`");
    check(copy, &|line| line["action"]["reason"] = "because".into(), "there is no reason `because`");
    check(copy, &|line| line["action"]["parts"] = json!(["owner"]), "there is no reason");
    check(copy, &|line| line["action"]["source"] = Value::Null, "has not the sides that it needs");
    check(copy, &|line| line["action"]["to"] = "a".into(), "has no `to`");
    check(copy, &|line| line["action"]["source"]["mode"] = 0o10_000.into(), "out of range");
    check(copy, &|line| line["action"]["source"]["modified"] = json!([0, 1_000_000_000]), "out of range");
    check(copy, &|line| line["action"]["source"]["kind"] = "door".into(), "out of range");
    check(copy, &|line| line["action"]["more"] = 1.into(), "unknown field `more`");
    check(copy, &|line| line["action"]["path_b64"] = "Zg==".into(), "no path below a root");
    check(remove, &|line| line["action"]["source"] = line["action"]["destination"].clone(), "sides");
    check(link, &|line| line["action"]["to"] = Value::Null, "link to nothing");
    check(link, &|line| line["action"]["to"] = ".".into(), "link to the root");
    check(link, &|line| line["action"]["to"] = ".twinlane/lock".into(), "own `.twinlane`");
    check(replace, &|line| line["action"]["destination"] = Value::Null, "sides");
    check(copy, &|line| line["action"]["action"] = "mkdir".into(), "the totals of the plan before it");
    let rule = at(&whole, "rule");
    check(rule, &|line| line["rule"]["plan"]["lines"] = 3.into(), "one more than the rule's line says");
    check(
        rule,
        &|line| line["rule"]["plan"]["lines"] = u64::MAX.into(),
        "lines of the plan before it are missing",
    );
    check(rule, &|line| line["rule"]["plan"]["totals"]["copy"] = 1_000_000.into(), "the totals of the plan");
    check(rule, &|line| line["rule"]["plan"]["totals"]["copy"] = (-1).into(), "no number `copy`");
    check(rule, &|line| line["rule"]["plan"]["counts"]["steps"] = 1.into(), "no number `steps`");
    check(rule, &|line| line["rule"]["plan"]["limits"] = json!([]), "its limits are not");
    check(rule, &|line| line["rule"]["file"] = "disk.yaml".into(), "no absolute path");
    check(rule, &|line| line["rule"]["mode"] = "sync".into(), "there is no mode `sync`");
    check(rule, &|line| line["rule"]["job"] = "\u{1b}[2J".into(), "control characters");
    check(rule, &|line| line["rule"]["resolved"]["mode"] = "\u{202e}".into(), "control characters");
    check(at(&whole, "problem"), &|line| line["problem"]["message"] = "a\nb".into(), "control characters");
    check(rule, &|line| line["rule"]["source"] = Value::Null, "one root without the other");
    let directory = at(&whole, "directory");
    check(directory, &|line| line["directory"]["path"] = "a".into(), "the first directory is not the root");
    check(directory + 1, &|line| line["directory"]["path"] = ".".into(), "not in their order");
    check(at(&whole, "notice"), &|line| line["notice"]["entered"] = Value::Null, "it is no notice");
    check(at(&whole, "problem"), &|line| line["problem"]["side"] = "middle".into(), "there is no side");
    check(whole.len() - 1, &|line| line["end"]["lines"] = 1.into(), "numbers of rules and lines");
}

#[test]
fn stale_stages_are_names_of_stage_files_alone() {
    let mut plan = full();
    plan.stale_stages = vec![super::tree::path("d/.twinlane-2026-11-24T013000.123Z-7")];
    assert_eq!(reread(&plan), plan);
    plan.stale_stages = vec![super::tree::path("d/f")];
    let told = read(&filed(plan).to_bytes()).unwrap_err();
    assert!(told.to_string().ends_with("it is not the name of a stage file"), "{told}");
}

#[test]
fn no_cut_and_no_other_byte_goes_unseen() {
    let bytes = filed(full()).to_bytes();
    // Without its last line end a file is whole.
    for end in 0..bytes.len() - 1 {
        assert!(read(&bytes[..end]).is_err(), "cut at {end}");
    }
    for place in (0..bytes.len() - 1).step_by(3) {
        let mut other = bytes.clone();
        other[place] ^= 1;
        assert!(read(&other).is_err(), "changed at {place}");
    }
}

proptest! {
    #[test]
    fn arbitrary_lines_are_answered(texts in proptest::collection::vec("[ -~]{0,60}", 0..5), place in 0usize..40) {
        let mut lines: Vec<Vec<u8>> = filed(full()).to_bytes().split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
        let place = place.min(lines.len());
        lines.splice(place..place, texts.iter().map(|text| format!("{text}\n").into_bytes()));
        prop_assert_eq!(read(&lines.concat()).is_ok(), texts.is_empty());
    }
}

#[test]
fn a_rule_is_told_apart_by_its_values() {
    let origin = |key: &str, value: &str| Origin { key: key.to_owned(), value: value.to_owned(), site: None };
    let rows = [
        origin("rules.a.mode", "mirror"),
        origin("rules.a.limits.remove", "25%"),
        origin("rules.b.mode", "backup"),
    ];
    let planned = resolved(&rows, "a");
    assert_eq!(planned.len(), 2);
    assert_eq!(differences(&planned, &planned), Vec::<String>::new());
    let now: BTreeMap<String, String> =
        [("mode", "mirror"), ("limits.remove", "10%"), ("verify", "readback")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
    assert_eq!(
        differences(&planned, &now),
        ["limits.remove was 25%, and is 10%", "verify was not set, and is readback"]
    );
    assert_eq!(differences(&now, &planned)[1], "verify was readback, and is not set");
}

/// A value against the part of JSON Schema that the schema uses; the properties that were met are noted.
fn check_schema(root: &Value, schema: &Value, value: &Value, met: &mut Vec<String>) -> Result<(), String> {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let definition = &root["$defs"][name.strip_prefix("#/$defs/").unwrap()];
        return check_schema(root, definition, value, met);
    }
    if let Some(forms) = schema.get("oneOf").and_then(Value::as_array) {
        let fitting = forms.iter().filter(|form| check_schema(root, form, value, met).is_ok()).count();
        return if fitting == 1 { Ok(()) } else { Err(format!("{fitting} forms fit {value}")) };
    }
    let is = |name: &str| match name {
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        other => panic!("type {other}"),
    };
    let fits = match &schema["type"] {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().any(|name| is(name.as_str().unwrap())),
        _ => schema.get("const").is_some(),
    };
    let one_of = schema.get("enum").and_then(Value::as_array).is_none_or(|all| all.contains(value));
    if !fits || !one_of || schema.get("const").is_some_and(|only| only != value) {
        return Err(format!("{value} is not {schema}"));
    }
    for item in value.as_array().into_iter().flatten() {
        check_schema(root, &schema["items"], item, met)?;
    }
    let Some(object) = value.as_object() else { return Ok(()) };
    for (key, value) in object {
        match (schema["properties"].get(key), schema.get("additionalProperties")) {
            (Some(schema), _) => check_schema(root, schema, value, met)?,
            (None, Some(Value::Object(_))) => {
                check_schema(root, &schema["additionalProperties"], value, met)?;
            }
            (None, _) => return Err(format!("{key} is not in the schema")),
        }
        met.push(key.clone());
    }
    let required = schema.get("required").and_then(Value::as_array);
    match required.into_iter().flatten().find(|key| object.get(key.as_str().unwrap()).is_none()) {
        Some(key) => Err(format!("{key} is missing")),
        None => Ok(()),
    }
}

fn properties(schema: &Value, all: &mut Vec<String>) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::Object(properties)) = object.get("properties") {
                all.extend(properties.keys().cloned());
            }
            object.values().for_each(|value| properties(value, all));
        }
        Value::Array(items) => items.iter().for_each(|item| properties(item, all)),
        _ => {}
    }
}

#[test]
fn every_line_fits_the_schema_and_nothing_of_it_is_dead() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let mut plan = full();
    plan.source_mounts = vec![super::tree::path("d")];
    plan.stale_stages = vec![super::tree::path(".twinlane-2026-11-24T013000.123Z-7")];
    plan.notices.push(crate::compare::Notice::Unheld { what: crate::compare::Unheld::Devices, count: 1 });
    plan.metas[0].mount_root = true;
    plan.metas[0].special = 259;
    let mut met = Vec::new();
    for line in lines(&filed(plan).to_bytes()).iter().chain(&lines(FROZEN)) {
        check_schema(&schema, &schema, line, &mut met).unwrap_or_else(|why| panic!("{why}: {line}"));
    }
    let mut all = Vec::new();
    properties(&schema, &mut all);
    all.retain(|key| !met.contains(key) && !key.ends_with("_b64"));
    assert!(all.is_empty(), "only in schemas/plan-file.schema.json: {all:?}");
    let words = |name: &str| -> Vec<String> {
        let words = schema["$defs"][name]["enum"].as_array().unwrap();
        words.iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(words("action_word"), crate::plan::action_words(), "the schema's kinds of action");
    assert_eq!(words("reason_word"), crate::plan::reason_words(), "the schema's reasons");
}

#[test]
fn what_drives_a_terminal_is_written_escaped() {
    let mut file = filed(full());
    file.rules[1].objection = Some("source `/a\n\\b` is not there".to_owned());
    let read = read(&file.to_bytes()).unwrap();
    assert_eq!(read.rules[1].objection.as_deref(), Some("source `/a\\n\\\\b` is not there"));
    file.rules[1].objection = Some("a \\ b".to_owned());
    assert_eq!(super::file::read(&file.to_bytes()).unwrap(), file);
}

#[test]
fn a_disk_that_was_attached_anew_is_followed_on_its_side_alone() {
    use crate::compare::Side;
    let plan = full();
    let mut moved = plan.clone();
    moved.follow_device(Side::Destination, 2, 77);
    let devices = |plan: &Plan| -> (Vec<u64>, Vec<u64>) {
        let source = plan.directories.iter().filter_map(|directory| directory.source);
        let source = source.chain(plan.actions.iter().filter_map(|action| plan.source(action).copied()));
        let destination = plan.directories.iter().filter_map(|directory| directory.destination);
        let destination =
            destination.chain(plan.actions.iter().filter_map(|action| plan.destination(action).copied()));
        (source.map(|meta| meta.device).collect(), destination.map(|meta| meta.device).collect())
    };
    assert_eq!(devices(&moved).0, devices(&plan).0);
    assert!(devices(&plan).1.iter().all(|device| *device == 2));
    assert!(devices(&moved).1.iter().all(|device| *device == 77));
    moved.follow_device(Side::Destination, 77, 2);
    assert_eq!(moved, plan);
}
