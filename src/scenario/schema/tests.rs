//! The schema against the reader of files, and against the files.

use std::collections::{BTreeMap, BTreeSet};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use super::*;
use crate::scenario::{Scenario, ScenarioError, shipped};

/// A scenario with every field that a file can have, `deviations` apart.
const EVERYTHING: &str = include_str!("../../../tests/data/everything.json");

fn validator() -> Validator {
    jsonschema::validator_for(&schema()).expect("the schema is a schema")
}

fn read(document: &Value) -> Result<Scenario, ScenarioError> {
    Scenario::parse(&document.to_string(), "everything.json")
}

fn everything() -> Value {
    serde_json::from_str(EVERYTHING).expect("it is JSON")
}

/// As [`everything`], with what goes wrong listed: a file has one or the other.
fn regression() -> Value {
    let mut document = everything();
    document["faults"] = json!({ "until": "+15m" });
    document["deviations"] = json!([
        { "site": "plain#1 / lease 0 / granted", "fault": "crash", "point": "after", "restart": "1s" },
        { "site": "plain#1 / lease 0 / read from 0 / try 1", "fault": "crash", "point": { "flight": "1s" }, "restart": "1s" },
        { "site": "w1 / clock throughout", "fault": "clock_skew", "by": "-5s" },
        { "site": "w1 / speed throughout", "fault": "slow", "factor": 8 },
        { "site": "w2 / register plain / try 1", "fault": "lost_reply" },
    ]);
    document
}

#[test]
fn the_committed_schema_is_the_generated_one_and_every_scenario_names_and_fits_it() {
    let committed = include_str!("../../../scenarios/scenario.schema.json");
    let committed: Value = serde_json::from_str(committed).expect("it is JSON");
    assert!(committed == schema(), "renew it: cargo run -- schema > scenarios/{FILE_NAME}");
    let validator = validator();
    for path in shipped::files() {
        let document: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(document["$schema"], FILE_NAME, "{}", path.display());
        let error = validator.validate(&document).err().map(|error| error.to_string());
        assert_eq!(error, None, "{}", path.display());
    }
}

/// Every field name of the schema, and every object in it that has fields.
fn fields(schema: &Value, names: &mut BTreeSet<String>) {
    if let Value::Object(members) = schema {
        if let Some(Value::Object(properties)) = members.get("properties") {
            names.extend(properties.keys().cloned());
        }
        members.values().for_each(|member| fields(member, names));
    } else if let Value::Array(items) = schema {
        items.iter().for_each(|item| fields(item, names));
    }
}

/// The pointers to all objects whose fields are the format's, not the user's.
fn objects(value: &Value, at: &str, found: &mut Vec<String>) {
    const FREE: [&str; 14] = [
        "args", "data", "answers", "log", "complete", "output", "is", "is_not", "set", "outside", "agents", "on_error",
        "users", "registry",
    ];
    match value {
        Value::Object(members) => {
            let key = at.rsplit('/').next().unwrap_or_default();
            if !FREE.contains(&key) {
                found.push(at.to_owned());
            }
            let is_free = |key: &str| FREE[..9].contains(&key);
            for (key, member) in members.iter().filter(|(key, _)| !is_free(key)) {
                objects(member, &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                objects(item, &format!("{at}/{place}"), found);
            }
        }
        _ => {}
    }
}

/// A value that each field name has somewhere.
fn values(value: &Value, found: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                found.entry(key.clone()).or_insert_with(|| member.clone());
                values(member, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| values(item, found)),
        _ => {}
    }
}

fn object_at<'a>(document: &'a mut Value, pointer: &str) -> &'a mut Map<String, Value> {
    document.pointer_mut(pointer).and_then(Value::as_object_mut).expect("an object is there")
}

/// The document with one field less, and with one more, at every object.
fn with_other_fields(document: &Value) -> Vec<(String, Value)> {
    let (mut names, mut pointers, mut known) = (BTreeSet::new(), Vec::new(), BTreeMap::new());
    fields(&schema(), &mut names);
    objects(document, "", &mut pointers);
    values(document, &mut known);
    names.insert("nobody_knows_this".to_owned());
    let mut changed = Vec::new();
    for pointer in pointers {
        let present: Vec<String> = object_at(&mut document.clone(), &pointer).keys().cloned().collect();
        for name in &present {
            let mut less = document.clone();
            object_at(&mut less, &pointer).remove(name);
            changed.push((format!("{pointer} without {name}"), less));
        }
        for name in names.iter().filter(|name| !present.contains(name)) {
            let mut more = document.clone();
            let value = known.get(name).cloned().unwrap_or(json!(1));
            object_at(&mut more, &pointer).insert(name.clone(), value);
            changed.push((format!("{pointer} with {name}"), more));
        }
    }
    changed
}

#[test]
fn the_schema_takes_what_the_reader_takes_and_knows_the_same_fields() {
    let validator = validator();
    let mut told = Vec::new();
    let (mut taken, mut unknown) = (0, 0);
    for document in [everything(), regression()] {
        assert_eq!(read(&document).map(|_| ()).map_err(|error| error.to_string()), Ok(()));
        assert!(validator.is_valid(&document), "{:?}", validator.validate(&document).unwrap_err().to_string());
        for (what, document) in with_other_fields(&document) {
            match read(&document) {
                Ok(_) => {
                    taken += 1;
                    if let Err(error) = validator.validate(&document) {
                        told.push(format!("{what}: the schema refuses what is read: {error}"));
                    }
                }
                Err(error) if error.reason.starts_with("unknown field") || error.reason.ends_with("is missing") => {
                    unknown += 1;
                    if validator.is_valid(&document) {
                        told.push(format!("{what}: the schema takes what is refused: {error}"));
                    }
                }
                Err(_) => {}
            }
        }
    }
    assert!(taken > 100 && unknown > 2_000, "taken {taken}, unknown {unknown}: hardly anything was tried");
    told.truncate(20);
    assert!(told.is_empty(), "{}", told.join("\n"));
}
