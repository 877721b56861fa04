//! The documents of `tests/data/profiling-examples.json`: each is accepted or refused as it is marked.

use chronodrome::tempo::{self, DocumentError};
use serde_json::Value;

fn examples() -> Vec<Value> {
    let text = include_str!("data/profiling-examples.json");
    let all: Value = serde_json::from_str(text).expect("the file is JSON");
    all["examples"].as_array().expect("there is a list of examples").clone()
}

fn check(example: &Value) -> Result<(), DocumentError> {
    tempo::check(example["kind"].as_str().expect("an example has a kind"), &example["doc"])
}

#[test]
fn each_example_is_accepted_or_refused_as_marked() {
    let mut wrong = Vec::new();
    for example in examples() {
        let (id, valid) = (example["id"].as_str().unwrap(), example["valid"].as_bool().unwrap());
        match check(&example) {
            Err(error) if valid => wrong.push(format!("{id} is refused: {error}")),
            Ok(()) if !valid => wrong.push(format!("{id} is accepted, though {}", example["reason"])),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn refusals_say_what_is_wrong_and_where() {
    let refusals: Vec<String> = examples()
        .iter()
        .filter(|example| example["valid"] == false)
        .map(|example| {
            let error = check(example).expect_err("it is marked as invalid");
            let [id, reason] = ["id", "reason"].map(|key| example[key].as_str().unwrap());
            format!("{id}: {reason}\n     {error}")
        })
        .collect();
    insta::assert_snapshot!(refusals.join("\n"));
}
