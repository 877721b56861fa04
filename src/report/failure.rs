//! A failure as a file that is itself a scenario: the scenario's own document with the deviations that broke it.

use serde_json::{Value, json};

use crate::explore::{Cause, Failure};
use crate::kernel::Json;

/// The version of chronodrome that files name as their writer.
pub const WRITTEN_BY: &str = concat!("chronodrome ", env!("CARGO_PKG_VERSION"));

/// The document of a failure: that of its scenario, its faults replaced by the deviations that came about, and
/// `violates` by what it broke. It plays the same without the seed.
pub fn document(scenario: &Json, failure: &Failure) -> Value {
    let mut document: Value = (**scenario).clone();
    let Value::Object(members) = &mut document else { return document };
    let until = members.remove("faults").and_then(|faults| faults.get("until").cloned());
    if let Some(until) = until {
        members.insert("faults".to_owned(), json!({ "until": until }));
    }
    members.insert("deviations".to_owned(), json!(failure.outcome.deviations));
    members.remove("violates");
    if let Some(first) = failure.outcome.violations.iter().min_by_key(|violation| violation.at) {
        members.insert("violates".to_owned(), json!(first.invariant));
    }
    members.insert("written_by".to_owned(), json!(WRITTEN_BY));
    document
}

/// The name of a failure's file: what was broken and the schedule that broke it, in characters that every file
/// system takes.
pub fn file_name(scenario: &str, failure: &Failure) -> String {
    use crate::sim::Schedule;
    let Cause { invariant, .. } = failure.cause();
    let schedule = match &failure.schedule {
        Schedule::Calm => "calm".to_owned(),
        Schedule::Seed(seed) => format!("seed-{seed}"),
        Schedule::Fixed(_) | Schedule::Spliced(_) => {
            format!("digest-{}", failure.outcome.digest.get(..12).unwrap_or("none"))
        }
    };
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || "-_".contains(letter) { letter } else { '-' };
    let name: String = format!("{scenario}-{invariant}-{schedule}").chars().map(plain).collect();
    format!("{name}.json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explore::fake;
    use crate::sim::Schedule;

    fn failure(schedule: Schedule) -> Failure {
        let mut outcome = fake::held();
        outcome.digest = "0123456789abcdef".to_owned();
        outcome.violations = vec![fake::violation("inbox-once", 5), fake::violation("log-dense", 2)];
        outcome.deviations = vec![fake::deviation("w1 / lease 0 / append")];
        Failure { subject: 0, schedule, outcome }
    }

    #[test]
    fn a_failure_is_its_scenario_with_the_list_in_place_of_the_faults() {
        let scenario = Json::new(json!({
            "format": 1, "name": "n", "faults": { "crash": 0.1, "until": "+1h" }, "violates": "old", "inputs": [1]
        }));
        assert_eq!(
            document(&scenario, &failure(Schedule::Seed(7))),
            json!({
                "format": 1, "name": "n", "inputs": [1],
                "faults": { "until": "+1h" },
                "deviations": [{ "site": "w1 / lease 0 / append", "fault": "lost_reply" }],
                "violates": "log-dense",
                "written_by": WRITTEN_BY,
            })
        );
    }

    #[test]
    fn the_name_of_a_file_says_what_was_broken_and_how() {
        let name = |schedule| file_name("a b/c", &failure(schedule));
        assert_eq!(name(Schedule::Seed(7)), "a-b-c-log-dense-seed-7.json");
        assert_eq!(name(Schedule::Calm), "a-b-c-log-dense-calm.json");
        assert_eq!(name(Schedule::Fixed(Vec::new())), "a-b-c-log-dense-digest-0123456789ab.json");
    }
}
