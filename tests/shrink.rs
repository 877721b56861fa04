//! Failures made small: planted bugs of agents, and wrong expectations, under many deviations.

use std::path::Path;

use chronodrome::explore::exhaust::{Covered, Exhaust, Plan};
use chronodrome::explore::shrink::{Limits, Shrunk, shrink};
use chronodrome::explore::{Aim, Failure, Known, KnownFailure};
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
    shrink(scenario, failure, &Aim::default(), &limits, &mut |_| true).expect("no world panics")
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

/// The first failure of the shop with the wild network whose own deviations can be made no fewer than two.
fn failure_of_two(scenario: &Scenario, own: Limits) -> (Failure, Shrunk) {
    let found = (0..2_000).find_map(|seed| {
        let schedule = Schedule::Seed(seed);
        let failure = Failure { subject: 0, outcome: scenario.run(&schedule), schedule };
        let broken = violates("effect-idempotent-once")(&failure.outcome);
        let own = broken.then(|| shrunk(scenario, &failure, own))?;
        (own.after > 1).then_some((failure, own))
    });
    found.expect("a seed fails so")
}

#[test]
fn one_deviation_of_another_kind_stands_in_for_several_unless_they_tell_what_is_known() {
    let scenario = scenario(&double_charge());
    let own = Limits { scenario: false, alone: false, ..Limits::default() };
    let (failure, own) = failure_of_two(&scenario, own);
    let limits = Limits { scenario: false, ..Limits::default() };
    let least = shrunk(&scenario, &failure, limits);
    assert_minimal(&least);
    assert_eq!((own.stands_for, own.singles), (None, None));
    assert_eq!((least.after, least.stands_for), (1, Some(own.after)));
    assert_eq!(least.fingerprint.cause, own.fingerprint.cause);
    let known = KnownFailure {
        scenario: scenario.name.to_string(),
        invariant: "effect-idempotent-once".into(),
        subject: None,
        last: least.fingerprint.last.as_ref().map(ToString::to_string),
        reason: "a ticket".into(),
    };
    let aim = Aim { known: Known::new(vec![known]), ..Aim::default() };
    let told_apart = shrink(&scenario, &failure, &aim, &limits, &mut |_| true).expect("no world panics");
    assert_eq!((told_apart.deviations, told_apart.stands_for), (own.deviations, None));
}

#[test]
fn where_two_are_left_every_schedule_of_one_that_exhaust_plays_was_played() {
    let mut document = double_charge();
    document["expect"] = json!([{ "effect": "stripe.charge", "happened": { "at_most": 2 } }]);
    let scenario = scenario(&document);
    let aim = Aim { only: Some("expectation".into()), ..Aim::default() };
    let mut failure = failure(&scenario, 10, |outcome| !outcome.expectations[0].held);
    aim.apply(&scenario.name, &mut failure.outcome);
    let limits = Limits { scenario: false, ..Limits::default() };
    let shrunk = shrink(&scenario, &failure, &aim, &limits, &mut |_| true).expect("no world panics");
    assert!(shrunk.minimal);
    assert_eq!(shrunk.after, 2, "{:#?}", shrunk.deviations);
    let plan = Plan::of(&scenario).expect("no world panics");
    let how = Exhaust { depth: 1, holds: 1, jobs: 1, fail_fast: false, prune: true };
    let exhausted = plan.run(&scenario, 0, how, &mut |_| None);
    let planned = exhausted.singles.planned + exhausted.holds.planned;
    assert_eq!(shrunk.singles, Some(Covered { planned, played: planned }));
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

#[test]
fn a_broken_expectation_is_shrunk_with_what_it_missed_staying_the_same() {
    let mut document = double_charge();
    document["expect"] = json!([
        { "effect": "email.send", "happened": { "at_most": 5 } },
        { "agent": "billing", "ends": "completed", "runs": 1 }
    ]);
    document["agents"]["billing"][0]["policy"] = json!("at_most_once");
    let scenario = scenario(&document);
    let failure = failure(&scenario, 10, |outcome| outcome.violations.is_empty());
    let shrunk = shrunk(&scenario, &failure, Limits::default());
    assert_minimal(&shrunk);
    assert_eq!((shrunk.after, &*shrunk.fingerprint.cause.invariant), (1, "expectation"));
    assert_eq!(shrunk.scenario.document["expect"], json!([{ "agent": "billing", "ends": "completed" }]));
    assert!(shrunk.scenario.run(&Schedule::Fixed(Vec::new())).held(), "the calm schedule still holds");
    assert_eq!(shrunk.scenario.violates.as_deref(), Some(&*shrunk.fingerprint.cause.subject_kind));
}

/// A plan that comes late is approved before it is there. Without the plan there would be nothing to approve at all, and
/// the same expectation would fail in calm weather: that is another failure.
#[test]
fn what_takes_a_deviation_still_takes_one_in_a_smaller_scenario() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/plan-reschedule.json");
    let mut document: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("it is there")).expect("JSON");
    document["expect"] = json!([{ "plan": "call-parents", "occurrences": 1 }]);
    document["expect_calm"] = json!([]);
    document["faults"] = json!({ "delay": { "rate": 0.3, "for": ["1s", "3m"] }, "lost_request": 0.3, "until": "+1h" });
    let scenario = scenario(&document);
    let failure = failure(&scenario, 2, |outcome| outcome.violations.is_empty());
    let shrunk = shrunk(&scenario, &failure, Limits::default());
    assert_minimal(&shrunk);
    assert!(shrunk.after >= 1, "{:?}", shrunk.deviations);
    assert!(shrunk.scenario.run(&Schedule::Fixed(Vec::new())).held(), "the calm schedule still holds");
}

/// A run completes with what came second. Where nothing comes second it fails, which breaks the same expectation, in other
/// words and in calm weather.
#[test]
fn a_smaller_scenario_breaks_its_promise_in_calm_weather_in_no_other_words_either() {
    let input = |nth: u32| json!({ "at": format!("+{nth}s"), "to": "c", "from": format!("s{nth}"), "id": nth.to_string(), "data": nth });
    let scenario = scenario(&json!({
        "name": "order",
        "agents": { "c": [{ "receive": 2, "limit": "40s", "as": "m" }, { "complete": "$m.0.data" }] },
        "inputs": [input(0), input(1), input(2)],
        "expect": [{ "run": "c#1", "output": 1 }],
        "faults": { "crash": { "rate": 0.05, "at_most": 4, "for": ["1s", "1m"] }, "delay": 0.3, "lost_request": 0.1 }
    }));
    assert!(scenario.run(&Schedule::Calm).held());
    let failures = (0..400).filter_map(|seed| {
        let schedule = Schedule::Seed(seed);
        let failure = Failure { subject: 0, outcome: scenario.run(&schedule), schedule };
        (!failure.outcome.held()).then_some(failure)
    });
    for failure in failures.take(20) {
        let shrunk = shrunk(&scenario, &failure, Limits::default());
        assert!(shrunk.after >= 1, "{:?}", shrunk.deviations);
        assert!(shrunk.scenario.run(&Schedule::Fixed(Vec::new())).held(), "{:?}", failure.schedule);
    }
}

#[test]
fn where_the_calm_schedule_fails_its_scenario_alone_is_shrunk() {
    let mut document = double_charge();
    document["expect_calm"][1]["happened"] = json!(2);
    let scenario = scenario(&document);
    let outcome = scenario.run(&Schedule::Calm);
    let shrunk = shrunk(&scenario, &Failure { subject: 0, schedule: Schedule::Calm, outcome }, Limits::default());
    assert_minimal(&shrunk);
    assert_eq!(shrunk.after, 0);
    assert_eq!(shrunk.scenario.document["expect"], json!([{ "effect": "email.send", "happened": 2 }]));
    let sends = shrunk.scenario.document["agents"]["billing"].to_string();
    assert!(sends.contains("email.send") && !sends.contains("stripe.charge"), "{sends}");
}

/// Three shops of two workers; only the last input's shop charges badly, behind two steps, within a loop.
fn three_shops() -> (Scenario, Failure) {
    let charge = json!({ "effect": "card", "args": { "n": 1, "note": "x" }, "policy": "idempotent", "limit": "30s" });
    let document = json!({
        "name": "three-shops",
        "about": "One of three shops charges under a key of its own.",
        "runtime": { "workers": ["ann", "bob"], "lease": "20s", "capacity": 5 },
        "outside": { "card": { "takes": "300ms" }, "mail": {} },
        "agents": {
            "honest": [ { "effect": "mail" }, { "complete": "sent" } ],
            "shop": { "priority": "high", "steps": [
                { "log": "begin" },
                { "effect": "mail", "args": { "to": "owner" } },
                { "repeat": 2, "do": [ { "log": "$index" }, charge ] },
                { "complete": "charged" }
            ] }
        },
        "inputs": [
            { "to": "honest", "id": "a", "data": { "n": 1 } },
            { "at": "+1s", "to": "shop/x", "id": "b" },
            { "at": "+2s", "to": "shop/y", "id": "c", "data": { "n": 3 } }
        ],
        "deviations": [
            { "site": "input 2 / deliver c to shop/y / try 1", "fault": "lost_reply" },
            { "site": "shop/y#1 / lease 0 / perform card step 3 / try 1",
              "fault": "crash", "point": "after", "restart": "1s500ms" }
        ],
        "expect": [ { "agent": "shop", "ends": "completed" } ]
    });
    let scenario = scenario(&document);
    let schedule = Schedule::Fixed(scenario.deviations.clone().expect("it lists them"));
    let outcome = scenario.run(&schedule);
    assert!(outcome.stale.is_empty() && !outcome.held(), "{outcome:#?}");
    (scenario, Failure { subject: 0, schedule, outcome })
}

#[test]
fn inputs_agents_steps_workers_and_data_go_and_the_deviation_follows_its_step() {
    let (scenario, failure) = three_shops();
    let shrunk = shrunk(&scenario, &failure, Limits::default());
    assert_minimal(&shrunk);
    assert_eq!((shrunk.before, shrunk.after), (2, 1));
    let document = &shrunk.scenario.document;
    assert_eq!(shrunk.scenario.inputs.len(), 1);
    assert_eq!(document["agents"].as_object().map(serde_json::Map::len), Some(1));
    let steps = document["agents"]["shop"].as_array().expect("a list of steps, for the priority is gone").clone();
    assert_eq!(steps.len(), 1, "{steps:#?}");
    assert_eq!(&*shrunk.deviations[0].site, "shop/y#1 / lease 0 / perform card step 0 / try 1");
    assert_eq!(shrunk.scenario.runtime.workers.len(), 1);
    assert!(document.get("expect").is_none());
}

#[test]
fn a_deviation_of_a_later_lease_is_moved_to_the_one_that_carries_its_subject_without_the_crash() {
    let (mut scenario, _) = three_shops();
    let crash = |site: &str| json!({ "site": site, "fault": "crash", "point": "after", "restart": "1s" });
    let list = json!([
        crash("shop/y#1 / lease 0 / append run.started / try 1"),
        crash("shop/y#1 / lease 1 / perform card step 3 / try 1")
    ]);
    let list: Vec<Deviation> = serde_json::from_value(list).expect("deviations");
    scenario.deviations = Some(list.clone());
    let schedule = Schedule::Fixed(list);
    let outcome = scenario.run(&schedule);
    assert!(outcome.stale.is_empty() && !outcome.held());
    let limits = Limits { scenario: false, ..Limits::default() };
    let shrunk = shrunk(&scenario, &Failure { subject: 0, schedule, outcome }, limits);
    let sites: Vec<&str> = shrunk.deviations.iter().map(|deviation| &*deviation.site).collect();
    assert_eq!(sites, ["shop/y#1 / lease 0 / perform card step 3 / try 1"]);
}

#[test]
fn who_ends_it_early_gets_the_smallest_failure_so_far_and_is_told_that_it_is_not_minimal() {
    let scenario = scenario(&double_charge());
    let failure = failure(&scenario, 30, violates("effect-idempotent-once"));
    let replays = shrunk(&scenario, &failure, Limits::default()).replays;
    for most in [0, 1, 3, replays / 2, replays - 1] {
        let bounded = shrunk(&scenario, &failure, Limits { replays: most, ..Limits::default() });
        assert!(bounded.replays <= most);
        assert_eq!(bounded.reproduced, most > 0);
        assert!(!bounded.outcome.held(), "{most}");
        let mut heard = 0;
        let mut listener = |_: &chronodrome::explore::shrink::Progress| {
            heard += 1;
            heard <= most
        };
        let stopped =
            shrink(&scenario, &failure, &Aim::default(), &Limits::default(), &mut listener).expect("no world panics");
        assert_eq!(stopped.deviations, bounded.deviations, "to stop is to have no more replays");
        assert!(most > 3 || !stopped.minimal);
    }
}

#[test]
fn a_failure_that_its_list_does_not_give_is_told_and_not_shrunk() {
    let scenario = scenario(&double_charge());
    let mut failure = failure(&scenario, 30, violates("effect-idempotent-once"));
    failure.outcome.deviations.truncate(1);
    let shrunk = shrunk(&scenario, &failure, Limits::default());
    assert!(!shrunk.reproduced && !shrunk.minimal);
    assert_eq!((shrunk.replays, shrunk.deviations), (1, failure.outcome.deviations));
}

#[cfg(feature = "proptest")]
mod as_a_property {
    use super::*;
    use chronodrome::schedules;
    use proptest::test_runner::{
        Config, FileFailurePersistence, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner,
    };

    fn runner(file: &'static str) -> TestRunner {
        let failure_persistence = Some(Box::new(FileFailurePersistence::Direct(file)) as _);
        let config = Config { cases: 2_000, failure_persistence, ..Config::default() };
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
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
        assert!(!scenario.run(&Schedule::Fixed(list.clone())).held());
        for place in 0..list.len() {
            let mut without = list.clone();
            without.remove(place);
            assert!(scenario.run(&Schedule::Fixed(without)).held(), "{}", list[place].site);
        }
        let first = played.take().into_iter().find(|(_, held)| !held).expect("one failed");
        assert!(matches!(first.0, Schedule::Seed(_)));
        assert!(list.len() < scenario.run(&first.0).deviations.len());
        let again = runner(file).run(&schedules(&scenario), holds);
        assert!(matches!(again, Err(TestError::Fail(_, Schedule::Fixed(same))) if same == list));
        assert_eq!(played.take()[0], first, "the noted failure is the first that is tried");
    }
}
