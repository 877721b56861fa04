//! Scenarios that are written: the one that plays a failure again.

use serde_json::{Value, json};

use super::model::Scenario;
use crate::kernel::Json;
use crate::sim::Deviation;

/// The version of chronodrome that files name as their writer.
pub const WRITTEN_BY: &str = concat!("chronodrome ", env!("CARGO_PKG_VERSION"));

/// `scenario` under exactly these deviations, its faults gone but for their `until`: it plays the same without rates and
/// seed. `violates` is the invariant that is broken, or `expectation`, which files do not name.
pub fn regression(scenario: &Scenario, deviations: &[Deviation], violates: &str) -> Scenario {
    let mut regression = scenario.clone();
    regression.faults.plans.clear();
    regression.deviations = Some(deviations.to_vec());
    regression.violates = (violates != "expectation").then(|| violates.into());
    regression.written_by = Some(WRITTEN_BY.into());
    regression.document = Json::new(document(&regression));
    regression
}

/// The document of a regression, out of the document that it came from.
fn document(regression: &Scenario) -> Value {
    let mut document: Value = (*regression.document).clone();
    let Value::Object(members) = &mut document else { return document };
    let until = members.remove("faults").and_then(|faults| faults.get("until").cloned());
    if let Some(until) = until {
        members.insert("faults".to_owned(), json!({ "until": until }));
    }
    members.insert("deviations".to_owned(), json!(regression.deviations));
    members.remove("violates");
    if let Some(violates) = &regression.violates {
        members.insert("violates".to_owned(), json!(violates));
    }
    members.insert("written_by".to_owned(), json!(regression.written_by));
    document
}
