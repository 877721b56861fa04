//! Failures made small: planted bugs of agents, and wrong expectations, under many deviations.

use std::path::Path;

use chronodrome::explore::Failure;
use chronodrome::explore::shrink::{Limits, Shrunk, shrink};
use chronodrome::scenario::{Outcome, Scenario, write};
use chronodrome::sim::{Deviation, Schedule};
use serde_json::{Value, json};

/// An agent that charges a card under a key of its own, at a shop with a wild network.
fn double_charge() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/double-charge.json");
    let mut document: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("it is there")).expect("JSON");
    for (kind, rate) in [("delay", 0.3), ("lost_reply", 0.1), ("duplicate", 0.3), ("short_lease", 0.8)] {
        document["faults"][kind] = json!(rate);
    }
    document
}

fn scenario(document: &Value) -> Scenario {
    Scenario::parse(&document.to_string(), "test.json").unwrap_or_else(|error| panic!("{error}"))
}

/// The first seed that fails so under at least so many deviations.
fn failure(scenario: &Scenario, deviations: usize, broken: impl Fn(&Outcome) -> bool) -> Failure {
    let found = (0..5_000).find_map(|seed| {
        let schedule = Schedule::Seed(seed);
        let outcome = scenario.run(&schedule);
        let failure = Failure { subject: 0, schedule, outcome };
        let enough = failure.outcome.deviations.len() >= deviations;
        (enough && !failure.outcome.held() && broken(&failure.outcome)).then_some(failure)
    });
    found.expect("a seed fails so")
}

fn shrunk(scenario: &Scenario, failure: &Failure, limits: Limits) -> Shrunk {
    shrink(scenario, failure, &limits, &mut |_| true).expect("no world panics")
}

fn violates(invariant: &str) -> impl Fn(&Outcome) -> bool {
    move |outcome| outcome.violations.first().is_some_and(|violation| violation.invariant == invariant)
}

/// Played from its file, the minimum fails in the same way to the same digest, and no deviation can be left out.
fn assert_minimal(shrunk: &Shrunk) {
    assert!(shrunk.reproduced && shrunk.minimal);
    let file = Scenario::parse(&write::text(&shrunk.scenario), "shrunk.json").unwrap_or_else(|error| panic!("{error}"));
    let list = file.deviations.clone().expect("it lists its deviations");
    let again = file.run(&Schedule::Fixed(list.clone()));
    assert_eq!(again.digest, shrunk.outcome.digest);
    let cause = |outcome: Outcome, list: &[Deviation]| {
        Failure { subject: 0, schedule: Schedule::Fixed(list.to_vec()), outcome }.cause()
    };
    assert_eq!(cause(again, &list), shrunk.fingerprint.cause);
    for place in 0..list.len() {
        let mut without = list.clone();
        without.remove(place);
        let outcome = file.run(&Schedule::Fixed(without.clone()));
        assert!(outcome.held() || cause(outcome, &without) != shrunk.fingerprint.cause, "{}", list[place].site);
    }
}

#[test]
fn thirty_deviations_of_a_double_charge_become_one_in_few_replays() {
    let scenario = scenario(&double_charge());
    let failure = failure(&scenario, 30, violates("effect-idempotent-once"));
    let shrunk = shrunk(&scenario, &failure, Limits { scenario: false, ..Limits::default() });
    assert_minimal(&shrunk);
    assert!(shrunk.before >= 30);
    assert_eq!(shrunk.after, 1, "{:#?}", shrunk.deviations);
    assert!(shrunk.replays <= 300, "{}", shrunk.replays);
    insta::assert_snapshot!(json!(shrunk.deviations).to_string());
}

#[test]
fn the_scenario_of_a_double_charge_becomes_one_charge() {
    let scenario = scenario(&double_charge());
    let failure = failure(&scenario, 30, violates("effect-idempotent-once"));
    let shrunk = shrunk(&scenario, &failure, Limits::default());
    assert_minimal(&shrunk);
    assert_eq!(shrunk.after, 1);
    let text = write::text(&shrunk.scenario);
    let end = text.find("\"written_by\"").expect("it is said");
    insta::assert_snapshot!(&text[..end]);
}

#[cfg(feature = "proptest")]
mod as_a_property {
    use super::*;
    use chronodrome::schedules;
    use proptest::test_runner::{Config, FileFailurePersistence, TestCaseError, TestError, TestRunner};

    fn runner(file: &'static str) -> TestRunner {
        let failure_persistence = Some(Box::new(FileFailurePersistence::Direct(file)) as _);
        TestRunner::new(Config { cases: 2_000, failure_persistence, ..Config::default() })
    }

    #[test]
    fn a_failing_schedule_is_shrunk_by_what_the_test_asserts_and_comes_back_from_the_regressions() {
        let scenario = scenario(&double_charge());
        let directory = tempfile::tempdir().expect("a directory for the test");
        let file = directory.path().join("regressions.txt").to_string_lossy().into_owned().leak();
        let played = std::cell::RefCell::new(Vec::new());
        let holds = |schedule: Schedule| {
            let held = scenario.run(&schedule).held();
            played.borrow_mut().push((schedule, held));
            if held { Ok(()) } else { Err(TestCaseError::fail("charged twice")) }
        };
        let Err(TestError::Fail(_, Schedule::Fixed(list))) = runner(file).run(&schedules(&scenario), holds) else {
            panic!("a list fails");
        };
        assert!(list.len() <= 2, "{list:#?}");
        assert!(!scenario.run(&Schedule::Fixed(list.clone())).held());
        for place in 0..list.len() {
            let mut without = list.clone();
            without.remove(place);
            assert!(scenario.run(&Schedule::Fixed(without)).held(), "{}", list[place].site);
        }
        let first = played.take().into_iter().find(|(_, held)| !held).expect("one failed");
        assert!(matches!(first.0, Schedule::Seed(_)));
        let again = runner(file).run(&schedules(&scenario), holds);
        assert!(matches!(again, Err(TestError::Fail(_, Schedule::Fixed(same))) if same == list));
        assert_eq!(played.take()[0], first, "the noted failure is the first that is tried");
    }
}
