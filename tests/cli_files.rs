//! The commands around scenario files: what there is, a new one, and their schema.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

fn chronodrome(directory: &std::path::Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chronodrome"));
    command.current_dir(directory).args(arguments).output().expect("the command starts")
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text is UTF-8")
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text is UTF-8")
}

#[test]
fn a_new_scenario_holds_and_stands_beside_its_schema() {
    let place = tempfile::tempdir().expect("a directory for the test");
    let made = chronodrome(place.path(), &["new", "refund"]);
    assert_eq!(made.status.code(), Some(0), "{}", err(&made));
    assert!(out(&made).contains("chronodrome sweep scenarios/refund.json"), "{}", out(&made));
    let schema: Value = serde_json::from_slice(&fs::read(place.path().join("scenarios/scenario.schema.json")).unwrap())
        .expect("the schema is JSON");
    let document: Value =
        serde_json::from_slice(&fs::read(place.path().join("scenarios/refund.json")).unwrap()).expect("it is JSON");
    assert_eq!(document["name"], "refund");
    assert!(jsonschema::validator_for(&schema).expect("a schema").is_valid(&document));
    let swept = chronodrome(place.path(), &["sweep", "--seeds", "100"]);
    assert_eq!(swept.status.code(), Some(0), "{}", out(&swept));
}

#[test]
fn a_new_scenario_overwrites_nothing_and_wants_a_plain_name() {
    let place = tempfile::tempdir().expect("a directory for the test");
    fs::create_dir(place.path().join("scenarios")).unwrap();
    fs::write(place.path().join("scenarios/refund.json"), "mine").unwrap();
    let again = chronodrome(place.path(), &["new", "refund"]);
    assert_eq!(again.status.code(), Some(2));
    assert_eq!(fs::read_to_string(place.path().join("scenarios/refund.json")).unwrap(), "mine");
    let odd = chronodrome(place.path(), &["new", "../my refund"]);
    assert_eq!(odd.status.code(), Some(2));
    assert!(err(&odd).contains("how about `my-refund`?"), "{}", err(&odd));
    assert_eq!(fs::read_dir(place.path().join("scenarios")).unwrap().count(), 1, "nothing else was written");
}

#[test]
fn what_there_is_can_be_listed_for_people_and_for_programs() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let all = out(&chronodrome(root, &["list"]));
    for name in ["charge-card", "lost_reply", "effect-at-most-once", "replay-faithful", "lease-stolen", "wait_signal"] {
        assert!(all.contains(&format!("  {name} ")), "{name}:\n{all}");
    }
    let steps: Value = serde_json::from_str(&out(&chronodrome(root, &["list", "steps", "--json"]))).expect("JSON");
    let mut listed: Vec<&str> =
        steps["steps"].as_array().unwrap().iter().map(|step| step["name"].as_str().unwrap()).collect();
    let mut built: Vec<&str> = chronodrome::scenario::format::step_names().collect();
    listed.sort_unstable();
    built.sort_unstable();
    assert_eq!(listed, built);
    assert!(
        steps["steps"]
            .as_array()
            .unwrap()
            .iter()
            .all(|step| step["about"].as_str().is_some_and(|about| !about.is_empty()))
    );
    let nowhere = chronodrome(root, &["list", "scenarios", "--scenarios", "scenarois"]);
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(err(&nowhere).contains("did you mean scenarios?"), "{}", err(&nowhere));
}

#[test]
fn the_schema_is_printed_as_it_is_committed() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let committed = fs::read_to_string(root.join("scenarios/scenario.schema.json")).unwrap();
    assert_eq!(out(&chronodrome(root, &["schema"])), committed);
}

#[test]
fn the_command_does_not_play_an_agent_whose_code_it_does_not_have() {
    let place = tempfile::tempdir().expect("a directory for the test");
    let file = place.path().join("rusty.json");
    fs::write(&file, r#"{ "name": "rusty", "agents": { "billing": "rust" } }"#).unwrap();
    for command in ["run", "sweep", "exhaust"] {
        let refused = chronodrome(place.path(), &[command, "rusty.json"]);
        assert_eq!(refused.status.code(), Some(2), "{command}");
        assert!(err(&refused).contains(".agent(\"billing\""), "{}", err(&refused));
    }
    assert_eq!(chronodrome(place.path(), &["validate", "rusty.json"]).status.code(), Some(0));
}
