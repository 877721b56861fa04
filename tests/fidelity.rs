//! Replays are faithful: over the shipped scenarios, at every single fault, and where everything happens that a script
//! can do; and an agent that leaves its log is halted.

use std::path::Path;

use chronodrome::explore::{REPLAY_INVARIANTS, Subject};
use chronodrome::scenario::{End, Options, Scenario};
use chronodrome::sim::Schedule;

/// One of each step, in loops, branches and groups, with errors and retries; mail and signals come from everywhere.
const EVERYTHING: &str = r#"{
    "name": "everything",
    "runtime": { "retry": { "max_retries": 2, "backoff": "2s" } },
    "outside": {
        "once": { "refuses_first": 1 }, "never": { "refuses_first": 1000 }, "echo": {}, "mute": { "unknown": 0.5 },
        "safe": { "honours_key": true, "unknown": 0.3 }
    },
    "agents": {
        "all": { "deadline": "10m", "steps": [
            { "now": true, "as": "now" }, { "uuid": true, "as": "id" }, { "random": true, "as": "n" },
            { "log": { "id": "$id", "from": "$inbox.0.sender" } },
            { "effect": "once", "args": { "id": "$id" }, "tries": 3, "pause": "1s", "as": "once" },
            { "effect": "never", "on_error": { "Refused": [ { "log": "refused" } ] } },
            { "effect": "mute", "args": { "now": "$now" }, "on_error": { "InDoubt": [ { "log": "in doubt" } ] } },
            { "repeat": 3, "do": [ { "send": "friend/ann", "data": { "n": "$index" } }, { "sleep": "3s" } ] },
            { "fail": "not yet", "failures": 1 },
            { "die": true, "first": 1 },
            { "signal": "go", "to": "$self", "data": [1, 2] },
            { "all": [
                { "effect": "echo", "args": "$n" }, { "send": "friend/bob", "data": "hello" },
                { "wait_signal": "go", "limit": "1m" }, { "receive": 2, "limit": "20s" }, { "uuid": true },
                { "effect": "safe", "policy": "idempotent" }, { "sleep": "5s" } ], "as": "got" },
            { "all": [ { "effect": "never" }, { "now": true } ], "on_error": { "Refused": [ { "log": "both" } ] } },
            { "receive": 5, "limit": "30s", "as": "mail" },
            { "for_each": "$mail", "do": [ { "log": "$item.id" } ] },
            { "if": "$got.2.payload.0", "is": 1, "then": [ { "complete": "$mail" } ], "else": [ { "complete": "$id" } ] }
        ] },
        "friend": [ { "effect": "safe", "policy": "repeatable", "args": "$inbox" }, { "receive": 1, "limit": "4s" } ],
        "fickle": [ { "by_attempt": [ [ { "now": true }, { "sleep": "5s" } ], [ { "uuid": true } ] ] } ],
        "mended": [ { "log": 1 }, { "sleep": "30s" }, { "log": 2 } ]
    },
    "inputs": [
        { "to": "all", "from": "ann", "id": "m1" }, { "to": "all", "from": "bob", "id": "m2" },
        { "to": "fickle", "from": "ann", "id": "f" }, { "to": "mended", "from": "ann", "id": "m" },
        { "at": "+8s", "version": 2, "agent": "mended", "steps": [ { "log": 1 }, { "log": 3 } ] },
        { "at": "+20s", "resume": "mended#1" },
        { "at": "+30s", "to": "all", "from": "ann", "id": "m3" }, { "at": "+40s", "to": "all", "from": "bob", "id": "m4" },
        { "at": "+50s", "cancel": "friend/ann#1", "reason": "enough" }, { "at": "+60s", "resume": "fickle#1" }
    ],
    "faults": {
        "crash": { "rate": 0.02, "at_most": 4 }, "pause": { "rate": 0.01, "at_most": 2 }, "lost_reply": 0.02,
        "lost_request": 0.02, "delay": 0.02, "short_lease": 0.02, "duplicate": 0.02, "store_error": 0.02, "stop": 0.005,
        "until": "+10m"
    }
}"#;

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, "fidelity.json").unwrap_or_else(|error| panic!("{error}"))
}

/// Plays a schedule closely: no invariant is violated.
fn examined(scenario: &Scenario, schedules: impl IntoIterator<Item = Schedule>) {
    let mut player = scenario.player();
    for schedule in schedules {
        let outcome = player.examine(&schedule, Options::default());
        assert!(outcome.violations.is_empty(), "{} with {schedule:?}: {:#?}", scenario.name, outcome.violations);
    }
}

fn seeds(count: u64) -> impl Iterator<Item = Schedule> {
    std::iter::once(Schedule::Calm).chain((0..count).map(Schedule::Seed))
}

/// Every schedule of one deviation.
fn singles(scenario: &Scenario) -> Vec<Schedule> {
    let listing = Options { sites: true, ..Options::default() };
    let sites = scenario.player().play(&Schedule::Calm, listing).sites;
    let of = |site: &chronodrome::sim::SiteListing| {
        site.faults.iter().map(|fault| Schedule::Fixed(vec![site.deviation(fault.clone())])).collect::<Vec<_>>()
    };
    sites.iter().flat_map(of).collect()
}

#[test]
fn the_shipped_scenarios_are_replayed_faithfully() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    for loaded in chronodrome::explore::files::load_all(&[folder]).expect("the scenarios are valid") {
        examined(&loaded.scenario, seeds(12));
    }
}

#[test]
fn every_single_fault_leaves_logs_that_are_replayed_faithfully() {
    for name in ["charge-card", "zombie"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("scenarios/{name}.json"));
        let scenario = Scenario::load(&path).expect("the scenario is valid");
        examined(&scenario, singles(&scenario));
    }
}

#[test]
fn all_that_a_script_can_do_is_replayed_faithfully() {
    examined(&scenario(EVERYTHING), seeds(120));
}

#[test]
fn an_agent_that_leaves_its_log_is_halted() {
    let outcome = scenario(EVERYTHING).player().examine(&Schedule::Calm, Options::default());
    let end = |name: &str| outcome.ends.runs.iter().find(|run| run.alias.to_string() == name).map(|run| run.end);
    assert_eq!((end("fickle#1"), end("all#1")), (Some(End::Halted), Some(End::Completed)), "{:#?}", outcome.ends.runs);
}

#[test]
fn the_replay_invariants_are_documented_and_named_once() {
    let architecture = include_str!("../ARCHITECTURE.md");
    for (place, invariant) in REPLAY_INVARIANTS.iter().enumerate() {
        assert!(
            architecture.contains(&format!("| `{}` | {} |", invariant.name, invariant.about)),
            "{}",
            invariant.name
        );
        assert!(REPLAY_INVARIANTS[..place].iter().all(|other| other.name != invariant.name));
        // The mail that an agent got is judged over the history, and here over the replays, under one name.
        let judged_too = chronodrome::check::INVARIANTS.iter().any(|other| other.name == invariant.name);
        assert_eq!(judged_too, invariant.name == "mail-given");
    }
}
