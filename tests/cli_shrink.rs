//! `chronodrome shrink` as people and scripts meet it.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

/// A directory with a scenario `double-charge.json` in it, whose agent charges twice when its worker dies.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(tempfile::tempdir().expect("a directory for the test"));
        fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/double-charge.json"), place.path(SCENARIO))
            .expect("it can be copied");
        place
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    /// Exit code, standard output, standard error.
    fn run(&self, arguments: &str) -> (Option<i32>, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chronodrome"));
        let output = command.current_dir(self.0.path()).args(arguments.split_whitespace()).output();
        let output = output.expect("the command starts");
        let text = |bytes| String::from_utf8(bytes).expect("text is UTF-8");
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    /// The first seed that fails.
    fn seed(&self) -> u64 {
        let (_, out, err) = self.run(&format!("sweep {SCENARIO} --seeds 2000 --jobs 1 --fail-fast --json --out swept"));
        let document: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}"));
        document["failures"][0]["seed"].as_u64().expect("a seed fails")
    }

    fn written(&self) -> usize {
        fs::read_dir(self.0.path()).expect("it is there").count()
    }
}

const SCENARIO: &str = "double-charge.json";

#[test]
fn a_seed_is_shrunk_to_a_file_that_plays_again_and_is_its_own_minimum() {
    let place = Place::new();
    let seed = place.seed();
    let (code, out, err) = place.run(&format!("shrink {SCENARIO} --seed {seed}"));
    assert_eq!(code, Some(1), "{out}{err}");
    let file = format!("reports/double-charge-effect-idempotent-once-seed-{seed}-shrunk.json");
    for told in ["left, none can be dropped", "chronodrome replay", &file, "stripe.charge step 0"] {
        assert!(out.contains(told), "{told}: {out}");
    }
    let (code, out, _) = place.run(&format!("replay {file}"));
    assert_eq!(code, Some(1));
    assert!(out.contains("it still violates effect-idempotent-once"), "{out}");
    let before = fs::read_to_string(place.path(&file)).expect("it is written");
    let (code, out, _) = place.run(&format!("shrink {file} --json"));
    let document: Value = serde_json::from_str(&out).expect("one document");
    assert_eq!(code, Some(1));
    assert_eq!(document["file"], json!(file), "the minimum of a minimum takes its place");
    assert_eq!(fs::read_to_string(place.path(&file)).expect("it is there"), before);
}

#[test]
fn the_document_of_a_shrinking_says_what_is_left_and_whether_it_is_minimal() {
    let place = Place::new();
    let seed = place.seed();
    let arguments = format!("shrink {SCENARIO} --seed {seed} --deviations-only --json --out least.json");
    let (code, out, err) = place.run(&arguments);
    assert_eq!(code, Some(1), "{out}{err}");
    let document: Value = serde_json::from_str(&out).expect("one document");
    assert_eq!(document["fingerprint"]["invariant"], json!("effect-idempotent-once"));
    assert_eq!(document["fingerprint"]["subject_kind"], json!("effect"));
    assert_eq!((&document["minimal"], &document["reproduced"]), (&json!(true), &json!(true)));
    assert_eq!((&document["file"], &document["seed"]), (&json!("least.json"), &json!(seed)));
    let deviations = document["deviations"].as_array().expect("a list");
    assert_eq!(document["after"], json!(deviations.len()));
    assert!(deviations.iter().all(|deviation| deviation["words"].is_string()));
    let least: Value = serde_json::from_str(&fs::read_to_string(place.path("least.json")).unwrap()).expect("JSON");
    assert_eq!(least["agents"]["billing"].as_array().map(Vec::len), Some(3), "the scenario is as it was");
    let (code, out, _) = place.run(&format!("shrink {SCENARIO} --seed {seed} --replays 1 --out early.json"));
    assert_eq!(code, Some(1));
    assert!(out.contains("not yet minimal"), "{out}");
}

#[test]
fn what_cannot_be_shrunk_ends_with_2_and_nothing_is_written() {
    let place = Place::new();
    let mut stale: Value = serde_json::from_str(&fs::read_to_string(place.path(SCENARIO)).unwrap()).expect("JSON");
    stale["faults"] = json!({});
    stale["deviations"] = json!([{ "site": "billing#1 / lease 0 / red / try 1", "fault": "lost_reply" }]);
    fs::write(place.path("stale.json"), stale.to_string()).expect("it can be written");
    let before = place.written();
    let cases = [
        (format!("shrink {SCENARIO}"), "the calm schedule breaks no promise: there is nothing to shrink"),
        ("shrink stale.json".to_owned(), "the nearest that did is `billing#1 / lease 0 / read / try 1`"),
        ("shrink stale.json --seed 3".to_owned(), "nothing for --seed to draw"),
        ("shrink double-charg.json".to_owned(), "did you mean double-charge.json?"),
        (format!("shrink {SCENARIO} --replays 0"), "invalid value '0'"),
    ];
    for (arguments, told) in cases {
        let (code, out, err) = place.run(&arguments);
        assert_eq!(code, Some(2), "{arguments}: {out}{err}");
        assert!(err.contains(told), "{arguments}: {err}");
        assert_eq!(out, "", "{arguments}");
    }
    assert_eq!(place.written(), before);
}
