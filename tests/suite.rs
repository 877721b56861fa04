//! Scenarios as part of a project's own tests: what a suite says when it fails, and what it can be told.

use std::fs;
use std::path::{Path, PathBuf};

use chronodrome::suite;
use chronodrome::suite::SuiteError;
use serde_json::json;
use tempfile::TempDir;

/// An agent whose charge is repeated by whoever finds no result, at a provider that knows no key.
fn charges_twice() -> (TempDir, PathBuf) {
    let document = json!({
        "format": 1,
        "name": "twice",
        "about": "A card is charged once, whatever dies in between.",
        "outside": { "stripe.charge": {} },
        "agents": { "billing": [
            { "effect": "stripe.charge", "args": { "amount": 100 }, "as": "charge", "policy": "idempotent" },
            { "complete": { "charged": "$charge.id" } }
        ] },
        "inputs": [{ "at": "+0s", "to": "billing", "from": "shop", "id": "order-1", "data": { "order": 1 } }],
        "faults": { "crash": { "rate": 0.05, "at_most": 2 }, "lost_reply": 0.05 }
    });
    let directory = tempfile::tempdir().expect("a directory for the test");
    let path = directory.path().join("twice.json");
    fs::write(&path, document.to_string()).expect("it can be written");
    (directory, path)
}

/// What a test would print, without the directory of this one.
fn told(error: &SuiteError, directory: &Path) -> String {
    format!("{error:?}").replace(&directory.display().to_string(), "DIR")
}

#[test]
fn a_suite_that_holds_says_what_was_played() {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/charge-card.json");
    let summary = suite(scenarios).seeds(0..50).run().unwrap();
    assert_eq!(summary.total().schedules, 50);
    assert!(summary.complete() && summary.is_sound());
}

#[test]
fn a_suite_that_fails_says_what_broke_why_and_how_to_play_it_again() {
    let (directory, path) = charges_twice();
    let reports = directory.path().join("reports");
    let error = suite(&path).seeds(0..200).reports(&reports).run().unwrap_err();
    insta::assert_snapshot!(told(&error, directory.path()));
    let SuiteError::Broken(broken) = &error else { panic!("{error}") };
    assert!(broken.summary.files().count() > 0);
    for file in broken.summary.files() {
        let error = suite(reports.join(&file.name)).run().expect_err("the file fails, too");
        assert!(error.to_string().contains("effect-idempotent-once"), "{error}");
    }
}

#[test]
fn without_a_directory_nothing_is_written_and_the_seed_plays_it_again() {
    let (directory, path) = charges_twice();
    let error = suite(&path).seeds(0..200).jobs(2).run().unwrap_err();
    assert!(told(&error, directory.path()).contains("chronodrome run DIR/twice.json --seed "), "{error}");
    assert_eq!(fs::read_dir(directory.path()).expect("it is there").count(), 1);
}

#[test]
fn a_suite_takes_what_a_sweep_takes() {
    let (directory, path) = charges_twice();
    let whole = suite(&path).seeds(0..200).shrink(0);
    let failing = |error: SuiteError| match error {
        SuiteError::Broken(broken) => broken.summary.total().failing,
        other => panic!("{other}"),
    };
    let all = failing(whole.clone().run().unwrap_err());
    let shards = (1..=4).map(|number| whole.clone().shard(number, 4).run().map_or_else(failing, |_| 0));
    assert_eq!(shards.sum::<u64>(), all);
    assert_eq!(failing(whole.clone().fail_fast().run().unwrap_err()), 1);
    assert!(whole.clone().only("log-dense").run().is_ok());
    let known = directory.path().join("known.jsonl");
    let entry = json!({ "scenario": "twice", "invariant": "effect-idempotent-once", "reason": "a ticket" });
    fs::write(&known, entry.to_string()).expect("it can be written");
    assert!(whole.clone().known(&known).run().is_ok());
    let wrong = [
        whole.clone().only("log-dens").run(),
        whole.clone().known(directory.path().join("none.json")).run(),
        whole.clone().shard(5, 4).run(),
        suite(directory.path().join("twcie.json")).run(),
    ];
    let words = ["did you mean `log-dense`?", "none.json", "from `1/8` to `8/8`", "did you mean"];
    for (found, words) in wrong.into_iter().zip(words) {
        let error = found.expect_err("it is wrong").to_string();
        assert!(error.contains(words), "{error}");
    }
}
