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
    assert_eq!((again.status.code(), out(&again).as_str()), (Some(2), ""));
    let there = std::path::Path::new("scenarios").join("refund.json");
    let told = format!("error: {}: it is there already; nothing was written\n", there.display());
    assert_eq!(err(&again), told);
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
fn where_no_scenario_is_yet_the_rest_is_listed_and_how_to_write_one() {
    let place = tempfile::tempdir().expect("a directory for the test");
    for _ in 0..2 {
        let all = chronodrome(place.path(), &["list"]);
        assert_eq!(all.status.code(), Some(0), "{}", err(&all));
        assert!(out(&all).contains("none in `scenarios`; `chronodrome new NAME` writes one"), "{}", out(&all));
        assert!(out(&all).contains("  lost_reply ") && out(&all).contains("  wait_signal "), "{}", out(&all));
        let document: Value =
            serde_json::from_str(&out(&chronodrome(place.path(), &["list", "--json"]))).expect("it is JSON");
        assert_eq!(document["scenarios"], serde_json::json!([]));
        for asked in [&["list", "scenarios"][..], &["list", "--scenarios", "elsewhere"]] {
            assert_eq!(chronodrome(place.path(), asked).status.code(), Some(2), "{asked:?}");
        }
        fs::create_dir_all(place.path().join("scenarios")).expect("it can be made");
    }
}

#[test]
fn a_valid_file_that_shows_little_is_told_as_such() {
    let place = tempfile::tempdir().expect("a directory for the test");
    let bare = r#"{ "name": "bare", "agents": { "idle": [] } }"#;
    fs::write(place.path().join("bare.json"), bare).unwrap();
    let told = chronodrome(place.path(), &["validate", "bare.json"]);
    assert_eq!((told.status.code(), out(&told).as_str()), (Some(0), "ok: 1 scenario is valid\n"));
    insta::assert_snapshot!(err(&told));
    let document: Value =
        serde_json::from_str(&out(&chronodrome(place.path(), &["validate", "bare.json", "--json"]))).expect("JSON");
    assert_eq!(document["files"][0]["notes"].as_array().map(Vec::len), Some(3), "{document}");
    let made = chronodrome(place.path(), &["new", "whole"]);
    assert_eq!(made.status.code(), Some(0), "{}", err(&made));
    assert_eq!(err(&chronodrome(place.path(), &["validate", "scenarios"])), "");
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
