//! The profiles of every shipped scenario that has plans, calm and under three fixed seeds, as files that a person can
//! review; and what a change of the runtime does to them.

use std::fs;
use std::path::Path;

use chronodrome::report::Style;
use chronodrome::report::profile::{diff, diff_text};
use chronodrome::scenario::Scenario;
use chronodrome::sim::Schedule;

/// Every shipped scenario with users, by its file's name.
fn with_users() -> Vec<(String, Scenario)> {
    let mut found: Vec<(String, Scenario)> = fs::read_dir("scenarios")
        .expect("the scenarios are there")
        .map(|file| file.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .filter(|path| !path.ends_with("scenario.schema.json"))
        .map(|path| (path.file_stem().expect("a name").to_string_lossy().into_owned(), load(&path)))
        .filter(|(_, scenario)| !scenario.users.is_empty())
        .collect();
    found.sort_by(|(name, _), (other, _)| name.cmp(other));
    found
}

fn load(path: &Path) -> Scenario {
    Scenario::load(path).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_profiles_of_every_scenario_with_plans_are_as_they_were() {
    let scenarios = with_users();
    assert!(scenarios.len() >= 9, "{} scenarios have users", scenarios.len());
    for (name, scenario) in scenarios {
        if let Some(list) = &scenario.deviations {
            chronodrome::assert_profile_snapshot!(name, scenario, Schedule::Fixed(list.clone()));
            continue;
        }
        chronodrome::assert_profile_snapshot!(format!("{name}, calm"), scenario, Schedule::Calm);
        for seed in [1, 2, 3] {
            chronodrome::assert_profile_snapshot!(format!("{name}, seed {seed}"), scenario, Schedule::Seed(seed));
        }
    }
}

#[test]
fn what_four_crashes_make_of_a_plan_is_told_try_by_try() {
    let scenario = load(Path::new("tests/data/plan-misaligned.json"));
    let list = scenario.deviations.clone().expect("it lists them");
    let outcome = scenario.run(&Schedule::Fixed(list));
    assert!(outcome.held() && outcome.stale.is_empty(), "{:?} {:?}", outcome.violations, outcome.expectations);
    insta::assert_snapshot!(outcome.profiles().to_string());
}

#[test]
fn a_longer_poll_shows_in_a_diff_as_a_later_dispatch_and_nothing_else() {
    let text = fs::read_to_string("scenarios/plans-day.json").expect("it is there");
    let before = Scenario::parse(&text, "before.json").expect("it is valid");
    let slower = text.replace(r#""lease": "30s""#, r#""lease": "30s", "poll": "10s""#);
    assert_ne!(slower, text);
    let after = Scenario::parse(&slower, "after.json").expect("it is valid");
    let profiles = [&before, &after].map(|scenario| scenario.run(&Schedule::Calm).profiles());
    let differences = diff(&profiles[0], &profiles[1]);
    insta::assert_snapshot!(diff_text(&differences, &profiles[0], &profiles[1], Style::PLAIN));
}
