//! `coverage`, as people and CI meet it.

use std::process::{Command, Output};

use serde_json::{Value, json};

fn coverage(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chronodrome"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).arg("coverage").args(arguments.split_whitespace());
    command.output().expect("the command starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text is UTF-8")
}

fn document(arguments: &str) -> Value {
    let output = coverage(arguments);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)))
}

const CHARGE: &str = "scenarios/charge-card.json --seeds 60";

#[test]
fn the_table_has_a_row_for_each_kind_and_a_column_for_each_phase() {
    let output = coverage(CHARGE);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let out = text(&output.stdout);
    for told in ["calls struck", "before-drain", "epilogue", "\ncrash ", "never reached:", "61 schedules cover "] {
        assert!(out.contains(told), "{told}: {out}");
    }
    assert!(out.contains("--all names each"), "{out}");
    let all = coverage(&format!("{CHARGE} --all"));
    assert!(text(&all.stdout).contains("× live: "), "{}", text(&all.stdout));
}

#[test]
fn the_document_counts_what_the_table_counts_whatever_the_number_of_threads() {
    let found = document(&format!("{CHARGE} --json --jobs 1"));
    assert_eq!(document(&format!("{CHARGE} --json --jobs 3")), found);
    let (covered, possible) = (found["covered"].as_u64().unwrap_or(0), found["possible"].as_u64().unwrap_or(0));
    assert!(covered > 50 && covered < possible, "{covered} of {possible}");
    let never = found["never_covered"].as_array().expect("a list").len() as u64;
    assert_eq!(covered + never, possible);
    let rows = found["faults"].as_object().expect("an object").values().flat_map(|row| row.as_object().expect("one"));
    let sums = rows.fold((0, 0), |(covered, possible), (_, pair)| {
        (covered + pair[0].as_u64().expect("a number"), possible + pair[1].as_u64().expect("a number"))
    });
    assert_eq!(sums, (covered, possible));
}

#[test]
fn more_schedules_cover_more() {
    let covered = |seeds: u32| {
        let found = document(&format!("scenarios/charge-card.json --seeds {seeds} --json"));
        found["covered"].as_u64().expect("a number")
    };
    assert!(covered(5) < covered(200));
}

#[test]
fn a_floor_that_is_not_reached_ends_with_1() {
    let cases = [
        ("--floor 1%", 0),
        ("--floor 100%", 1),
        ("--floor 101%", 2),
        ("--require-sometimes", 1),
        ("--require-sometimes=crash-in-intent,zombie-refused", 0),
        ("--require-sometimes=crash-in-intent,poisoned", 1),
        ("--require-sometimes=crash-in-intend", 2),
    ];
    for (arguments, code) in cases {
        let output = coverage(&format!("{CHARGE} {arguments}"));
        assert_eq!(output.status.code(), Some(code), "{arguments}: {}", text(&output.stderr));
    }
    assert!(text(&coverage(&format!("{CHARGE} --floor 100%")).stdout).contains("at least 100 % must be covered"));
    assert_eq!(document(&format!("{CHARGE} --floor 100% --json"))["enough"], json!(false));
    let err = coverage("--require-sometimes=crash-in-intend").stderr;
    assert!(text(&err).contains("did you mean `crash-in-intent`?"), "{}", text(&err));
}

#[test]
fn what_is_broken_ends_with_1_unless_it_is_known() {
    let place = tempfile::tempdir().expect("a directory for the test");
    let path = place.path().join("known.json");
    let entry = |invariant: &str, subject: Value| json!({ "scenario": "double-charge", "invariant": invariant, "subject": subject, "reason": "a ticket" });
    let known = [
        entry("effect-idempotent-once", Value::Null),
        entry("expectation", json!("effect stripe.charge happened at most 1")),
        entry("expectation", json!("effect email.send happened at most 1")),
    ];
    let arguments = "tests/data/double-charge.json --seeds 100";
    assert_eq!(coverage(arguments).status.code(), Some(1));
    for (listed, code) in [(&known[..1], 1), (&known[..], 0)] {
        std::fs::write(&path, json!(listed).to_string()).expect("it can be written");
        let output = coverage(&format!("{arguments} --known {}", path.display()));
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stdout));
    }
}
