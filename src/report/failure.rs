//! A failure as a file that is itself a scenario: the scenario with the deviations that broke it.

use std::path::{Path, PathBuf};

use super::story::{Case, headline};
use crate::explore::Failure;
use crate::explore::results::{FileLine, Made};
use crate::scenario::{self, Scenario};

pub use crate::scenario::write::WRITTEN_BY;

/// The scenario that plays a failure of the scenario `of` again: its faults are replaced by the deviations that came about, and
/// `violates` by what it broke. It plays the same without the seed.
pub fn regression(of: &Scenario, failure: &Failure) -> Scenario {
    scenario::write::regression(of, &failure.outcome.deviations, failure.cause().promise())
}

/// The text of the file of a failure of the scenario `of`.
pub fn text(of: &Scenario, failure: &Failure) -> String {
    scenario::write::text(&regression(of, failure))
}

/// The name of a failure's file.
pub fn file_name(scenario: &str, failure: &Failure) -> String {
    format!("{}.json", failure.name(scenario))
}

/// A file with all that its maker gives it: the id of its scenario in lines, its name, and its story.
pub fn complete(made: Made, id: &str, name: String) -> FileLine {
    let case = Case::of_outcome(&made.header, &made.records, &made.outcome);
    let story = headline(&case).lines().map(ToOwned::to_owned).collect();
    FileLine { of: id.to_owned(), name, story, ..made.file }
}

/// Writes the file of a failure into a directory, which is made if it is not there.
///
/// # Errors
/// With the path that cannot be written.
pub fn write(directory: &Path, file: &FileLine) -> Result<PathBuf, (PathBuf, std::io::Error)> {
    std::fs::create_dir_all(directory).map_err(|error| (directory.to_owned(), error))?;
    let path = directory.join(&file.name);
    match std::fs::write(&path, &file.text) {
        Ok(()) => Ok(path),
        Err(error) => Err((path, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explore::fake;
    use crate::sim::Schedule;
    use serde_json::json;

    fn failure(schedule: Schedule) -> Failure {
        let mut outcome = fake::held();
        outcome.digest = "0123456789abcdef".to_owned();
        outcome.violations = vec![fake::violation("inbox-once", 5), fake::violation("log-dense", 2)];
        outcome.deviations = vec![fake::deviation("w1 / lease 0 / append")];
        Failure { subject: 0, schedule, outcome }
    }

    #[test]
    fn a_failure_is_its_scenario_with_the_list_in_place_of_the_faults() {
        let document = json!({
            "name": "n", "agents": { "a": [] }, "faults": { "crash": 0.1, "until": "+1h" }, "violates": "old"
        });
        let scenario = Scenario::of_document(&document).expect("it is valid");
        let text = text(&scenario, &failure(Schedule::Seed(7)));
        let written = Scenario::parse(&text, "x.json").unwrap_or_else(|error| panic!("{error}\n{text}"));
        let list = json!([{ "site": "w1 / lease 0 / append", "fault": "lost_reply" }]);
        let wanted = [
            ("faults", json!({ "until": "+1h" })),
            ("deviations", list),
            ("violates", json!("log-dense")),
            ("written_by", json!(WRITTEN_BY)),
            ("agents", json!({ "a": [] })),
        ];
        for (member, value) in wanted {
            assert_eq!(written.document[member], value, "{member}");
        }
    }

    #[test]
    fn the_name_of_a_file_says_what_was_broken_and_how() {
        let name = |schedule| file_name("a b/c", &failure(schedule));
        assert_eq!(name(Schedule::Seed(7)), "a-b-c-log-dense-seed-7.json");
        assert_eq!(name(Schedule::Calm), "a-b-c-log-dense-calm.json");
        assert_eq!(name(Schedule::Fixed(Vec::new())), "a-b-c-log-dense-digest-0123456789ab.json");
    }
}
