//! Scripts, played in whole worlds.

use serde_json::{Value, json};

use crate::history::{Event, Record};
use crate::kernel::{FailureCode, Step};
use crate::scenario::{End, Options, Outcome, RunEnd, Runner, Scenario};
use crate::sim::Schedule;

const OUTSIDE: &str = r#"{
    "ok": { "answers": [ { "id": "r1", "list": [10, 20, 30] } ] },
    "echo": {},
    "once": { "refuses_first": 1 },
    "never": { "refuses_first": 1000 },
    "mute": { "unknown": 1 }
}"#;

fn scenario(steps: &str, inputs: &str) -> Scenario {
    let text = format!(
        r#"{{ "name": "x", "outside": {OUTSIDE}, "agents": {{ "a": {steps}, "b": [ {{ "complete": "$inbox" }} ] }},
             "inputs": [ {{ "to": "a/key", "from": "ann", "id": "m1", "data": {{ "n": 1 }} }} {inputs} ] }}"#
    );
    Scenario::parse(&text, "x.json").unwrap_or_else(|error| panic!("{error}"))
}

fn play(steps: &str, inputs: &str, schedule: &Schedule) -> (Outcome, Vec<Record>) {
    let mut records = Vec::new();
    let mut note = |record: &Record| records.push(record.clone());
    let mut runner = Runner::new(&scenario(steps, inputs));
    let outcome = runner.play(schedule, Options { trace: Some(&mut note), ..Options::default() });
    assert!(outcome.violations.is_empty(), "{:?}", outcome.violations);
    (outcome, records)
}

fn first_run(steps: &str) -> RunEnd {
    play(steps, "", &Schedule::Calm).0.ends.runs.swap_remove(0)
}

/// What the script completes with in the calm schedule.
fn output(steps: &str) -> Value {
    let run = first_run(steps);
    assert_eq!(run.end, End::Completed, "{steps}: {run:?}");
    (*run.output.expect("a completed run has an output")).clone()
}

#[test]
fn references_reach_results_mail_and_the_run_itself() {
    let steps = r#"[ { "effect": "ok", "as": "got" },
        { "complete": { "all": "$got", "id": "$got.id", "second": ["$got.list.1", "$$x"], "from": "$inbox.0.sender",
                        "n": "$inbox.0.data.n", "agent": "$self.agent", "key": "$self.key" } } ]"#;
    assert_eq!(
        output(steps),
        json!({ "all": { "id": "r1", "list": [10, 20, 30] }, "id": "r1", "second": [20, "$x"], "from": "ann", "n": 1,
                "agent": "a/key", "key": "key" })
    );
    assert_eq!(output("[]"), Value::Null);
    assert_eq!(output(r#"[ { "complete": "$self" } ]"#).as_str().unwrap().len(), 32);
}

#[test]
fn a_reference_that_finds_nothing_fails_the_agent() {
    for path in ["$got.idd", "$got.list.3", "$got.list.x", "$got.id.deeper"] {
        let run = first_run(&format!(r#"[ {{ "effect": "ok", "as": "got" }}, {{ "complete": ["{path}"] }} ]"#));
        assert_eq!((run.end, run.code), (End::Failed, Some(FailureCode::AgentCrashed)), "{path}");
    }
}

#[test]
fn a_condition_takes_the_way_that_holds() {
    let cases = [
        (r#""$got.id", "is": "r1""#, true),
        (r#""$got.id", "is": 1"#, false),
        (r#""$got.id", "is_not": "r2""#, true),
        (r#""$got.list.0", "below": 11"#, true),
        (r#""$got.list.0", "below": 10"#, false),
        (r#""$got.list.0", "above": 9"#, true),
        (r#""$got.id", "above": 9"#, false),
        (r#""$got.nothing", "exists": false"#, true),
        (r#""$got.nothing""#, false),
        (r#""$got""#, true),
    ];
    for (condition, holds) in cases {
        let steps = format!(
            r#"[ {{ "effect": "ok", "as": "got" }},
                 {{ "if": {condition}, "then": [ {{ "complete": true }} ], "else": [ {{ "log": 0 }} ] }},
                 {{ "complete": false }} ]"#
        );
        assert_eq!(output(&steps), json!(holds), "{condition}");
    }
}

#[test]
fn loops_bind_item_and_index_and_inner_loops_hide_outer_ones() {
    let steps = r#"[ { "effect": "ok", "as": "got" },
        { "for_each": "$got.list", "do": [
            { "repeat": 2, "do": [ { "log": ["$item", "$index"] } ] },
            { "if": "$index", "is": 1, "then": [ { "complete": ["$item", "$index"] } ] } ] } ]"#;
    let (outcome, records) = play(steps, "", &Schedule::Calm);
    assert_eq!(outcome.ends.runs[0].output.as_deref(), Some(&json!([20, 1])));
    let logs: Vec<String> = records.iter().filter_map(|record| logged(&record.event)).collect();
    assert_eq!(logs, ["[10,0]", "[10,1]", "[20,0]", "[20,1]"]);
    let run = first_run(r#"[ { "for_each": "$inbox.0.data", "do": [] } ]"#);
    assert_eq!(run.code, Some(FailureCode::AgentCrashed), "an object is no list");
}

/// The value of a `log` step that an append announces.
fn logged(event: &Event) -> Option<String> {
    use crate::history::Asked;
    use crate::kernel::{Body, CallKind, Request};
    let Event::Sent { asked: Asked::Store(Request::Append { body, .. }), .. } = event else { return None };
    match &**body {
        Body::StepValue { opening, value } if opening.call == CallKind::Log => Some(value.to_string()),
        _ => None,
    }
}

#[test]
fn an_error_takes_its_branch_and_leaves_its_name_behind() {
    let refused = r#"[ { "effect": "never", "as": "got", "on_error": { "Refused": [ { "effect": "echo" } ], "else": [ { "complete": "else" } ] } },
        { "complete": "$got.error" } ]"#;
    assert_eq!(output(refused), json!("Refused"));
    let within =
        r#"[ { "repeat": 1, "do": [ { "effect": "never" } ], "on_error": { "else": [ { "complete": "outer" } ] } } ]"#;
    assert_eq!(output(within), json!("outer"));
    let unhandled = first_run(r#"[ { "effect": "never", "on_error": { "InDoubt": [] } } ]"#);
    assert_eq!(unhandled.code, Some(FailureCode::EffectRefused));
    let doubt = r#"[ { "effect": "mute", "on_error": { "InDoubt": [ { "complete": "in doubt" } ] } } ]"#;
    let (outcome, _) = play(doubt, "", &Schedule::Seed(1));
    assert_eq!(outcome.ends.runs[0].output.as_deref(), Some(&json!("in doubt")));
    assert_eq!(outcome.ends.effects["mute"].in_doubt, 1);
}

#[test]
fn a_group_gives_its_results_in_order_or_its_first_error() {
    let steps = r#"[ { "all": [ { "effect": "ok" }, { "sleep": "1m" }, { "log": "x" } ], "as": "three" },
        { "complete": "$three.0.id" } ]"#;
    assert_eq!(output(steps), json!("r1"));
    let steps = r#"[ { "all": [ { "effect": "ok" }, { "effect": "never" } ], "on_error": { "Refused": [ { "complete": "refused" } ] } } ]"#;
    let (outcome, records) = play(steps, "", &Schedule::Calm);
    assert_eq!(outcome.ends.runs[0].output.as_deref(), Some(&json!("refused")));
    assert_eq!(
        gave(&records).last().unwrap(),
        &(Step(1), json!({ "error": "Refused" })),
        "the second member raised it"
    );
}

/// What the first run's agent was given, by step.
fn gave(records: &[Record]) -> Vec<(Step, Value)> {
    let given = |record: &Record| match &record.event {
        Event::Gave { step, value, .. } => Some((*step, (**value).clone())),
        _ => None,
    };
    records.iter().filter_map(given).collect()
}

#[test]
fn what_a_call_gave_is_told_under_the_step_that_gave_it() {
    let steps = r#"[ { "log": "x" }, { "effect": "once", "tries": 2, "pause": "1s" }, { "check": true }, { "wait_signal": "s", "limit": "1s" },
        { "receive": 1, "limit": "1s" } ]"#;
    let (_, records) = play(steps, "", &Schedule::Calm);
    let mut told = gave(&records);
    let is_entry = |record: &&Record| matches!(record.event, Event::Entered { .. });
    assert_eq!(records.iter().filter(is_entry).count(), 4, "one lease, and one after each of three sleeps");
    // Every lease tells again what its log gives; the last tells all.
    let last = told.split_off(told.len() - 4);
    let steps: Vec<u32> = last.iter().map(|(step, _)| step.0).collect();
    assert_eq!(steps, [0, 3, 4, 5], "the second try is step 3, behind the first and the pause");
    assert_eq!((&last[2].1, &last[3].1), (&Value::Null, &json!([])));
}

#[test]
fn failures_deaths_and_panics_end_where_they_are_told_to() {
    let run = first_run(r#"[ { "fail": "cold", "failures": 2 }, { "complete": "$self.attempt" } ]"#);
    assert_eq!((run.failures, run.attempts, run.output.as_deref()), (2, 3, Some(&json!(2))));
    let run = first_run(r#"[ { "die": true, "first": 2 }, { "complete": "$self.attempt" } ]"#);
    assert_eq!((run.failures, run.attempts, run.output.as_deref()), (0, 3, Some(&json!(2))));
    let run = first_run(r#"[ { "panic": true, "failures": 1 }, { "complete": "up" } ]"#);
    assert_eq!((run.failures, run.attempts), (1, 2));
    let run = first_run(r#"[ { "panic": true } ]"#);
    assert_eq!((run.failures, run.code), (4, Some(FailureCode::AgentCrashed)));
}

#[test]
fn an_agent_that_goes_by_the_attempt_is_halted() {
    let run = first_run(r#"[ { "by_attempt": [ [ { "sleep": "1s" } ], [ { "uuid": true } ] ] } ]"#);
    assert_eq!((run.end, run.attempts), (End::Halted, 2));
}

#[test]
fn mail_and_signals_reach_whom_a_reference_names() {
    let steps = r#"[ { "send": "b", "data": { "run": "$self" }, "as": "sent" }, { "send": "$self.agent", "data": "again" },
        { "signal": "go", "to": "$self", "data": 7 }, { "signal": "go", "to": "a/key#1", "data": 8 },
        { "wait_signal": "go", "as": "one" }, { "wait_signal": "go", "as": "two" }, { "receive": 1, "as": "mail" },
        { "complete": ["$one.payload", "$two.payload", "$mail.0.data"] } ]"#;
    let (outcome, _) = play(steps, "", &Schedule::Calm);
    assert_eq!(outcome.ends.runs[0].output.as_deref(), Some(&json!([7, 8, "again"])));
    let other = outcome.ends.runs.iter().find(|run| run.agent.kind() == "b").expect("mail made a run");
    assert_eq!(other.output.as_ref().unwrap()[0]["data"]["run"], json!(outcome.ends.runs[0].run.to_string()));
    let run = first_run(r#"[ { "send": "$inbox.0.data", "data": 1 } ]"#);
    assert_eq!(run.code, Some(FailureCode::AgentCrashed), "an object is no address");
}

#[test]
fn time_chance_and_names_are_the_same_in_every_replay() {
    let steps = r#"[ { "now": true, "as": "t" }, { "random": true, "as": "r" }, { "uuid": true, "as": "u" }, { "sleep": "1h" },
        { "complete": ["$t", "$r", "$u"] } ]"#;
    let (_, records) = play(steps, "", &Schedule::Calm);
    let told = gave(&records);
    let (before, after) = told.split_at(3);
    assert_eq!(before, &after[..3]);
    assert_eq!(output(steps), output(steps));
}

#[test]
fn a_new_version_plays_its_own_script() {
    let inputs = r#", { "at": "+1m", "version": 2, "agent": "a", "steps": [ { "complete": "new" } ] },
        { "at": "+2m", "to": "a/other", "id": "m2" }"#;
    let (outcome, _) = play(r#"[ { "complete": "old" } ]"#, inputs, &Schedule::Calm);
    let outputs: Vec<_> = outcome.ends.runs.iter().map(|run| run.output.as_deref().cloned()).collect();
    assert_eq!(outputs, [Some(json!("old")), Some(json!("new"))]);
}

/// A calm world of these agents and inputs, with a model beside the tools.
fn world(agents: &str, inputs: &str) -> Outcome {
    let text = format!(
        r#"{{ "name": "x", "outside": {{ "echo": {{}}, "muse": {{ "answers": ["[1,", "[1, 2]"], "model": {{ "tokens": 10, "cost": 0.5 }} }} }},
             "agents": {agents}, "inputs": {inputs} }}"#
    );
    let scenario = Scenario::parse(&text, "x.json").unwrap_or_else(|error| panic!("{error}"));
    let outcome = scenario.run(&Schedule::Calm);
    assert!(outcome.violations.is_empty(), "{:?}", outcome.violations);
    outcome
}

/// What the first run of these agents completes with, who are sent one message to `a/key`.
fn output_of(agents: &str) -> Value {
    let outcome = world(agents, r#"[ { "to": "a/key", "id": "m1", "data": { "n": 1 } } ]"#);
    let run = &outcome.ends.runs[0];
    (**run.output.as_ref().unwrap_or_else(|| panic!("{agents}: {run:?}"))).clone()
}

#[test]
fn children_are_spawned_joined_listed_and_looked_at() {
    let agents = r#"{
        "a": [ { "spawn": "b/one", "data": { "x": 1 }, "as": "one" }, { "spawn": { "type": "b" }, "data": { "x": 2 }, "as": "two" },
            { "children_of": true, "as": "kids" }, { "join": "$one", "as": "first" }, { "join": "$kids.1", "as": "second" },
            { "children_of": true, "as": "left" }, { "status": "$two", "as": "peek" }, { "status": "b/one#1", "as": "other" },
            { "complete": ["$one.agent_id", "$first.output", "$second.output", "$left", "$peek.status", "$other.status"] } ],
        "b": [ { "complete": { "got": "$inbox.0.data.x", "from": "$inbox.0.sender" } } ]
    }"#;
    let (one, two) = (json!({ "got": 1, "from": "a/key" }), json!({ "got": 2, "from": "a/key" }));
    assert_eq!(output_of(agents), json!(["b/one", one, two, [], "completed", "completed"]));
}

#[test]
fn a_group_of_spawns_gives_handles_that_a_loop_joins() {
    let agents = r#"{
        "a": [ { "all": [ { "spawn": "b/1" }, { "spawn": { "type": "b" } } ], "as": "kids" },
            { "for_each": "$kids", "as": "kid", "do": [ { "join": "$kid", "limit": "1h", "as": "end" }, { "log": "$end.output" } ] },
            { "all": [ { "join": "$kids.0" }, { "join": "$kids.1" }, { "status": "$kids.0" }, { "children_of": true } ], "as": "all" },
            { "complete": ["$all.0.output", "$all.1.status", "$all.2.status", "$all.3"] } ],
        "b": [ { "sleep": "1m" }, { "complete": 7 } ]
    }"#;
    assert_eq!(output_of(agents), json!([7, "completed", "completed", []]));
}

#[test]
fn a_join_with_a_limit_gives_null_and_a_cancel_ends_the_child() {
    let agents = r#"{
        "a": [ { "spawn": "b", "as": "kid" }, { "join": "$kid", "limit": "1m", "as": "late" }, { "cancel": "$kid", "reason": "late" },
            { "join": "$kid", "as": "end" }, { "complete": ["$late", "$end.status", "$end.error"] } ],
        "b": [ { "wait_signal": "never" } ]
    }"#;
    assert_eq!(output_of(agents), json!([null, "cancelled", "late"]));
}

#[test]
fn refusals_take_their_branches() {
    let cases = [
        (r#"{ "spawn": "busy", "as": "got", "on_error": { "SpawnDenied": [] } }"#, "SpawnDenied"),
        (r#"{ "join": "busy#1", "as": "got", "on_error": { "NotAChild": [] } }"#, "NotAChild"),
        (r#"{ "status": "busy#7", "as": "got", "on_error": { "UnknownRun": [] } }"#, "UnknownRun"),
        (r#"{ "model": "muse", "json": true, "as": "got", "on_error": { "Malformed": [] } }"#, "Malformed"),
    ];
    for (step, code) in cases {
        let agents = format!(
            r#"{{ "a": [ {step}, {{ "complete": "$got.error" }} ], "busy": [ {{ "receive": 1, "limit": "1h" }} ] }}"#
        );
        let inputs = r#"[ { "to": "busy", "id": "m0" }, { "at": "+1m", "to": "a/key", "id": "m1" } ]"#;
        let outcome = world(&agents, inputs);
        let run = outcome.ends.runs.iter().find(|run| run.agent.kind() == "a").expect("mail made it");
        assert_eq!(run.output.as_deref(), Some(&json!(code)), "{step}: {run:?}");
    }
}

#[test]
fn a_model_that_must_answer_a_document_gives_it_and_is_asked_again_until_it_does() {
    let agents = r#"{ "a": { "limits": { "turns": 2 }, "steps": [
        { "model": "muse", "json": true, "tries": 2, "pause": "1s", "as": "said" },
        { "model": "muse", "on_error": { "BudgetExhausted": [ { "complete": ["$said.json.1", "$said.text", "$said.usage.tokens"] } ] } } ] } }"#;
    let outcome = world(agents, r#"[ { "to": "a/key", "id": "m1" } ]"#);
    let run = &outcome.ends.runs[0];
    assert_eq!(run.output.as_deref(), Some(&json!([2, "[1, 2]", 10])), "{run:?}");
    let spent = outcome.ends.spent[&run.tree];
    assert_eq!((spent.tokens, spent.cost_micros, spent.turns), (20, 1_000_000, 2), "the malformed answer is paid, too");
}

#[test]
fn questions_are_answered_by_reply_or_by_the_end_of_who_was_asked() {
    let agents = r#"{
        "a": [ { "ask": "b", "data": 1, "limit": "1h", "as": "one" }, { "ask": "c", "data": 2, "limit": "1h", "as": "two" },
            { "ask": "d", "limit": "1m", "as": "three" }, { "ask": "e", "limit": "1h", "as": "four" },
            { "status": "$three.handle", "as": "peek" },
            { "complete": ["$one.result.output", "$two.result.output", "$three.kind", "$peek.status", "$four.kind"] } ],
        "b": [ { "reply": "$inbox.0", "data": { "is": "$inbox.0.data" } },
            { "reply": "$inbox.0", "data": 2, "on_error": { "NotAQuestion": [ { "complete": "once" } ] } } ],
        "c": [ { "complete": "done" } ], "d": [ { "wait_signal": "never" } ],
        "e": { "steps": [ { "fail": "no" } ], "retry": { "max_retries": 0 } }
    }"#;
    assert_eq!(output_of(agents), json!([{ "is": 1 }, "done", "timed_out", "suspended", "target_failed"]));
}

#[test]
fn publications_reach_who_follows_by_a_step_or_by_an_input() {
    let agents = r#"{
        "a": [ { "follow": "news" }, { "receive": 1, "limit": "1h", "as": "one" }, { "unfollow": "news" },
            { "receive": 1, "limit": "1h", "as": "two" }, { "complete": ["$one.0.data", "$two"] } ],
        "paper": [ { "emit": "$inbox.0.data.topic", "data": "$inbox.0.id" } ], "reader": [ { "complete": "$inbox.0.data" } ]
    }"#;
    let inputs = r#"[ { "to": "a/key", "id": "m1" }, { "follow": "news", "agent": "reader/ann" }, { "follow": "news", "agent": "reader/bob" },
        { "at": "+1s", "unfollow": "news", "agent": "reader/bob" },
        { "at": "+1m", "to": "paper", "id": "p1", "data": { "topic": "news" } },
        { "at": "+2m", "unfollow": "news", "agent": "reader/ann" },
        { "at": "+3m", "to": "paper", "id": "p2", "data": { "topic": "news" } } ]"#;
    let outcome = world(agents, inputs);
    assert_eq!(outcome.ends.runs[0].output.as_deref(), Some(&json!(["p1", []])));
    let readers: Vec<_> = outcome.ends.runs.iter().filter(|run| run.agent.kind() == "reader").collect();
    assert_eq!(readers.len(), 1);
    assert_eq!(readers[0].output.as_deref(), Some(&json!("p1")));
}

#[test]
fn a_run_that_came_by_before_a_change_keeps_its_way() {
    let agents = r#"{ "a": [ { "log": 1 }, { "sleep": "1m" }, { "complete": "old" } ] }"#;
    let inputs = r#"[ { "to": "a/1", "id": "m1" },
        { "at": "+30s", "version": 2, "agent": "a", "steps": [ { "log": 1 },
            { "version": "early", "then": [ { "log": 2 } ] }, { "sleep": "1m" },
            { "version": "late", "then": [ { "complete": "new" } ], "else": [ { "complete": "never" } ] } ] },
        { "at": "+5m", "to": "a/2", "id": "m2" } ]"#;
    let outcome = world(agents, inputs);
    let outputs: Vec<_> = outcome.ends.runs.iter().map(|run| (run.end, run.output.as_deref().cloned())).collect();
    assert_eq!(outputs, [(End::Completed, Some(json!("new"))), (End::Completed, Some(json!("new")))]);
}

#[test]
fn children_spawned_by_type_are_cancelled_and_signalled_by_their_names() {
    let agents = r#"{
        "a": [ { "spawn": { "type": "b" }, "as": "one" }, { "spawn": { "type": "b" }, "as": "two" },
            { "signal": "go", "to": "$one", "data": 5 },
            { "join": "$one", "as": "first" }, { "join": "$two", "as": "second" }, { "complete": ["$first.output", "$second.status"] } ],
        "b": [ { "wait_signal": "go", "as": "got" }, { "complete": "$got.payload" } ]
    }"#;
    let inputs = r#"[ { "to": "a/key", "id": "m1" }, { "at": "+1m", "cancel": "b/a/key#1.1#1", "reason": "x" } ]"#;
    let outcome = world(agents, inputs);
    assert_eq!(outcome.ends.runs[0].output.as_deref(), Some(&json!([5, "cancelled"])));
    let names: Vec<String> = outcome.ends.runs.iter().map(|run| run.alias.to_string()).collect();
    assert_eq!(names, ["a/key#1", "b/a/key#1.0#1", "b/a/key#1.1#1"]);
}
