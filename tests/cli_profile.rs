//! `profile`, as people and CI meet it, and the same from a test.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use chronodrome::scenario::Scenario;
use chronodrome::sim::Schedule;
use serde_json::{Value, json};
use tempfile::TempDir;

const DAY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/profile-day.json");

fn profile(place: &TempDir, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chronodrome"));
    command.current_dir(place.path()).arg("profile").args(arguments);
    command.output().expect("the command starts")
}

fn place() -> TempDir {
    tempfile::tempdir().expect("a directory for the test")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text is UTF-8")
}

/// A day of which `change` makes another one, as a file of the same name.
fn changed(place: &TempDir, change: impl FnOnce(&mut Value)) -> String {
    let mut document: Value = serde_json::from_str(&fs::read_to_string(DAY).expect("it is there")).expect("it is JSON");
    change(&mut document);
    let path = place.path().join("profile-day.json");
    fs::write(&path, document.to_string()).expect("it can be written");
    path.display().to_string()
}

#[test]
fn the_report_has_a_line_for_each_occurrence_and_says_what_they_come_to() {
    let output = profile(&place(), &[DAY]);
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    insta::assert_snapshot!(text(&output.stdout));
}

#[test]
fn the_document_has_the_blocks_and_exact_scores() {
    let output = profile(&place(), &[DAY, "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!((&document["scenario"], &document["seed"]), (&json!("profile-day"), &Value::Null));
    let ana = &document["users"]["ana"];
    assert_eq!(ana["tempo_alignment_score"], json!(0.875));
    assert_eq!(ana["feedback_distribution"], json!({ "1": 0, "2": 0, "3": 0, "4": 1, "5": 0 }));
    let review = &ana["occurrences"]["review#1"]["profiling"];
    assert_eq!((&review["tempo_alignment"], &review["reward_signal"]), (&json!("partial"), &json!(0.7)));
}

#[test]
fn a_saved_baseline_does_not_differ_and_another_seed_or_scenario_is_told() {
    let place = place();
    let saved = profile(&place, &[DAY, "--save", "day.json"]);
    assert_eq!(saved.status.code(), Some(0), "{}", text(&saved.stderr));
    let same = profile(&place, &[DAY, "--diff", "day.json"]);
    assert_eq!((same.status.code(), &*text(&same.stdout)), (Some(0), "the same: no profile differs\n"));
    let seeded = profile(&place, &[DAY, "--seed", "1", "--diff", "day.json"]);
    let told = text(&seeded.stderr);
    assert_eq!(seeded.status.code(), Some(2));
    assert!(
        told.contains("is the baseline of `profile-day` without a seed, not of `profile-day` with seed 1"),
        "{told}"
    );
    let renamed = changed(&place, |day| day["name"] = json!("other-day"));
    let other = profile(&place, &[&renamed, "--diff", "day.json"]);
    assert_eq!(other.status.code(), Some(2));
    assert!(text(&other.stderr).contains("not of `other-day`"), "{}", text(&other.stderr));
}

#[test]
fn a_runtime_that_is_later_shows_as_what_it_is() {
    let place = place();
    profile(&place, &[DAY, "--save", "day.json"]);
    let later = changed(&place, |day| {
        day["runtime"] = json!({ "poll": "4s" });
        day["agents"]["reviewer"][0]["sleep"] = json!("63m");
    });
    let output = profile(&place, &[&later, "--diff", "day.json"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    insta::assert_snapshot!(text(&output.stdout));
    let output = profile(&place, &[&later, "--diff", "day.json", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let alignment = json!({ "user": "ana", "occurrence": "review#1", "field": "alignment", "before": "partial", "after": "misaligned" });
    let differences = document["differences"].as_array().expect("a list");
    assert!(differences.contains(&alignment), "{differences:?}");
}

#[test]
fn what_is_no_baseline_ends_with_2_and_nothing_is_written() {
    let place = place();
    let cases = [
        ("nothing.json", None),
        ("empty.json", Some("")),
        ("list.json", Some("[]")),
        ("scenario.json", Some(r#"{ "name": "n" }"#)),
        ("format.json", Some(r#"{ "format": 2, "scenario": "profile-day", "seed": null, "users": {} }"#)),
        (
            "occurrence.json",
            Some(
                r#"{ "format": 1, "scenario": "profile-day", "seed": null, "users": { "ana": { "inbox": { "status": "approved", "queue": "done" } } } }"#,
            ),
        ),
        (
            "queue.json",
            Some(
                r#"{ "format": 1, "scenario": "profile-day", "seed": null, "users": { "ana": { "inbox#1": { "status": "approved", "queue": "doen" } } } }"#,
            ),
        ),
    ];
    let mut told = Vec::new();
    for (name, content) in cases {
        if let Some(content) = content {
            fs::write(place.path().join(name), content).expect("it can be written");
        }
        let output = profile(&place, &[DAY, "--diff", name, "--save", "new.json"]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(output.stdout.is_empty() && !place.path().join("new.json").exists(), "{name}");
        told.push(text(&output.stderr));
    }
    let plain = changed(&place, |day| {
        for member in ["users", "inputs", "expect", "expect_calm"] {
            day.as_object_mut().expect("an object").remove(member);
        }
        day["agents"]["reviewer"] = json!([]);
    });
    let output = profile(&place, &[Path::new(&plain).file_name().and_then(|name| name.to_str()).expect("a name")]);
    assert_eq!(output.status.code(), Some(2));
    told.push(text(&output.stderr));
    insta::assert_snapshot!(told.concat());
}

#[test]
fn what_became_of_a_plan_is_told_from_its_proposal_to_its_closing() {
    let place = place();
    let path = changed(&place, |day| {
        day["expect"] = json!([{ "plan": "review", "alignment": "exact" }]);
        day["expect_calm"] = json!([]);
        (day["faults"], day["deviations"]) = (json!({}), json!([]));
    });
    let mut command = Command::new(env!("CARGO_BIN_EXE_chronodrome"));
    let output = command.args(["explain", &path]).output().expect("the command starts");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    insta::assert_snapshot!(text(&output.stdout));
}

#[test]
fn profiles_are_held_to_a_snapshot_from_a_test() {
    let scenario = Scenario::load(Path::new(DAY)).expect("it is valid");
    chronodrome::assert_profile_snapshot!(scenario, Schedule::Calm);
    chronodrome::assert_profile_snapshot!("profile-day, seed 1", scenario, Schedule::Seed(1));
}
