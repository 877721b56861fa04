//! The shape of scenario files as a JSON Schema, for editors: what may stand where, and what it means.
//!
//! The types here are never made; only their shape is used. They are held to the reader of
//! [`format`](mod@super::format) by tests: what it takes they take, and a field that it does not know they do not know.
//! What needs more than one place at a time (names that must be defined, bounds in order) only the reader checks.
#![expect(dead_code, reason = "only the shape of these types is used")]

mod expectations;
mod faults;
mod inputs;
mod steps;
mod users;
mod values;
mod world;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::Value;

use self::expectations::Expectation;
use self::faults::Faults;
use self::inputs::{Input, Load};
use self::users::User;
use self::values::{Instant, OneOrMore, Text};
use self::world::{Agent, Runtime, Tool};
use crate::sim::Deviation;

/// The name under which the schema stands beside scenario files.
pub const FILE_NAME: &str = "scenario.schema.json";

/// A scenario: a world, what comes in, what may go wrong, what is expected.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, title = "A chronodrome scenario")]
struct ScenarioFile {
    /// Where this schema is.
    #[schemars(rename = "$schema")]
    schema: Option<String>,
    /// The format of the file: 1.
    #[schemars(range(min = 1, max = 1))]
    format: Option<u64>,
    /// Its name.
    name: Text,
    /// What it is about, in a sentence.
    about: Option<String>,
    /// When the world starts; 2025-01-01T00:00:00Z if nothing is said.
    start: Option<Instant>,
    /// How the machine under test is set up.
    runtime: Option<Runtime>,
    /// The tools of the outside world, by name.
    outside: Option<BTreeMap<String, Tool>>,
    /// The agents, by type. `probe` is reserved.
    #[schemars(extend("minProperties" = 1))]
    agents: BTreeMap<String, Agent>,
    /// The users whose plans there are, by name.
    users: Option<BTreeMap<String, User>>,
    /// What comes in from outside, and when.
    inputs: Option<Vec<Input>>,
    /// Many messages out of one line, or several such.
    load: Option<OneOrMore<Load>>,
    /// A seed of latencies other than the calm ones.
    latencies: Option<u64>,
    /// What may go wrong: a rate, or more, for each kind of fault.
    faults: Option<Faults>,
    /// What does go wrong, and nothing else: the file is a regression.
    deviations: Option<Vec<Deviation>>,
    /// What must hold in every schedule.
    expect: Option<Vec<Expectation>>,
    /// What must hold in the calm schedule besides.
    expect_calm: Option<Vec<Expectation>>,
    /// In a regression: the promise that it broke when it was written, an invariant or the text of an expectation.
    violates: Option<Text>,
    /// In a regression: the version of chronodrome that wrote it.
    written_by: Option<Text>,
}

/// The JSON Schema (draft 2020-12) of scenario files.
pub fn schema() -> Value {
    schemars::schema_for!(ScenarioFile).to_value()
}

/// The steps of scripts: the name of each, and what it does in a sentence.
pub fn steps() -> Vec<(String, String)> {
    let schema = schema();
    let each = schema["$defs"]["Step"]["anyOf"].as_array().into_iter().flatten();
    let definition = |step: &Value| schema["$defs"][step["$ref"].as_str()?.rsplit('/').next()?].as_object().cloned();
    let sentence = |step: &serde_json::Map<String, Value>| {
        let name = step.get("required")?.get(0)?.as_str()?.to_owned();
        let about = step.get("description").and_then(Value::as_str).unwrap_or_default();
        Some((name, about.split_whitespace().collect::<Vec<_>>().join(" ")))
    };
    each.filter_map(definition).filter_map(|step| sentence(&step)).collect()
}

#[cfg(test)]
mod tests;
