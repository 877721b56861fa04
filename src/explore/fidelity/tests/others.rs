//! Rehearsals of runs that have to do with others: children, questions, publications, models.

use std::rc::Rc;

use super::super::judge;
use super::super::nature::Nature;
use super::super::prefix::Prefix;
use super::super::rehearsal::rehearse;
use super::{Ran, cases, played};
use crate::history::Asked;
use crate::kernel::*;
use crate::scenario::Scenario;

/// Nearly everything that a run can do with others, once.
fn sociable() -> Ran {
    let text = r#"{
        "name": "x",
        "outside": { "planner": { "answers": [ { "plan": "a" } ], "model": { "tokens": [5], "cost": 0.01 } } },
        "agents": {
            "a": {
                "steps": [
                    { "spawn": "kid", "as": "kid" },
                    { "status": "$kid", "as": "seen" },
                    { "join": "$kid", "as": "end" },
                    { "spawn": "sleeper", "as": "sleeper" },
                    { "spawn": "sleeper", "on_error": { "SpawnDenied": [] } },
                    { "join": "$sleeper", "limit": "1s", "as": "none" },
                    { "children_of": true, "as": "children" },
                    { "cancel": "$sleeper", "reason": "enough" },
                    { "ask": "oracle", "data": 1, "limit": "20s", "as": "answer" },
                    { "ask": "mute", "data": 1, "limit": "1s", "as": "silence" },
                    { "status": "$kid", "as": "again" },
                    { "follow": "news" },
                    { "emit": "news", "data": 1 },
                    { "unfollow": "news" },
                    { "model": "planner", "as": "plan" },
                    { "model": "planner", "on_error": { "BudgetExhausted": [] } },
                    { "spawn": "kid", "as": "last" },
                    { "complete": "$end.output" }
                ],
                "limits": { "turns": 1 }
            },
            "kid": [ { "complete": 7 } ],
            "sleeper": [ { "sleep": "1h" } ],
            "oracle": [ { "reply": "$inbox.0", "data": 42 } ],
            "mute": [ { "sleep": "1m" } ]
        },
        "inputs": [ { "to": "a", "id": "m1", "from": "ann" } ]
    }"#;
    played(&Scenario::parse(text, "x.json").unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn every_prefix_is_followed_up_to_the_next_decision() {
    let ran = sociable();
    assert_eq!(ran.log.last().map(|entry| entry.kind()), Some("run.completed"), "{:#?}", ran.log);
    for length in 0..=ran.log.len() {
        let seen = ran.seen(length);
        ran.judged(length, &seen).unwrap_or_else(|error| panic!("{length}: {error}: {:#?}", seen.asked));
    }
}

/// What comes last in a rehearsal is the decision that the log holds there, not only a wait for it.
#[test]
fn children_models_and_peeks_are_decided_on_as_the_log_has_it() {
    let ran = sociable();
    let kinds =
        ["child.spawned", "spawn.denied", "ask.sent", "topic.published", "tool.called", "step.value", "timer.set"];
    for (length, entry) in ran.log.iter().enumerate().filter(|(_, entry)| kinds.contains(&entry.kind())) {
        let seen = ran.seen(length);
        let last = seen.asked.iter().rev().find_map(|asked| match asked {
            Asked::Store(Request::Append { body, .. }) => Some(body.kind().to_owned()),
            _ => None,
        });
        let waits = matches!(last.as_deref(), Some("run.suspended" | "run.resumed"));
        assert!(last.as_deref() == Some(entry.kind()) || waits, "{length}: {last:?}, not {}", entry.kind());
    }
}

#[test]
fn a_log_that_says_how_the_run_will_end_is_brought_to_that_end() {
    let ran = sociable();
    let length = ran.behind("orphans.resolved", 1);
    let seen = ran.seen(length);
    assert!(seen.entered.is_empty());
    ran.judged(length, &seen).unwrap();
    let mut otherwise = ran.seen(length);
    let ending = Ending::Completed { output: Json::null(), in_doubt: vec![] };
    otherwise.asked.pop();
    let request = Request::Append { run: ran.props.spec.run, body: Body::Ended(ending).into(), expected: Seq::FIRST };
    otherwise.asked.push(Asked::Store(request));
    assert!(ran.judged(length, &otherwise).unwrap_err().contains("says how the run will end"));
}

#[test]
fn what_a_done_step_may_not_ask_of_others_is_found() {
    let ran = sociable();
    let done = ran.behind("tool.result", 1);
    let (run, agent) = (ran.props.spec.run, ran.props.spec.agent.clone());
    let key = LeaseKey { run, worker: WorkerId { name: "replay".into(), incarnation: 0 }, attempt: Attempt(9) };
    let child = ran.log.iter().find_map(|entry| match &*entry.body {
        Body::ChildSpawned { spec, .. } => Some(spec.clone()),
        _ => None,
    });
    let (child, effect) = (child.unwrap(), EffectId(1));
    let topic: TopicId = "news".parse().unwrap();
    let subscription = Subscription { follower: agent.clone(), topic: topic.clone() };
    let stamp = Stamp { ts: ran.log[0].ts, step: Step(0) };
    let requests = [
        Request::Reserve { lease: key, step: Step(0), agent: child.agent.clone() },
        Request::Create { spec: child.clone(), boot: None },
        Request::Cancel { run: child.run, reason: "no".into() },
        Request::Detach { run: child.run },
        Request::ReturnUnit { run },
        Request::Read { run: child.run, from: Seq::FIRST },
        Request::Spend { run, key: effect, amounts: Spend::default() },
        Request::Status { run: child.run },
        Request::LastSeq { run: child.run },
        Request::Spec { run: child.run },
        Request::RunOf { agent: child.agent.clone() },
        Request::Receiver { agent: child.agent.clone(), message: "m1".into() },
        Request::FollowersOf { topic },
        Request::Follow { subscription: subscription.clone(), stamp },
        Request::Unfollow { subscription, stamp },
        Request::Wake { run, wakeup: Wakeup::Message { source_run: None } },
    ];
    for request in requests {
        let method = request.method();
        let mut seen = ran.seen(done);
        seen.asked.insert(1, Asked::Store(request));
        let error = ran.judged(done, &seen).expect_err(method);
        assert!(error.contains(method), "{error}");
    }
}

#[test]
fn each_step_of_a_log_is_changed_once_and_the_change_is_caught() {
    let ran = sociable();
    for (log, step) in cases::changes(&ran.log.clone().into()) {
        let prefix = Rc::new(Prefix::new(cases::changed(&log, step), log.len()));
        let seen = rehearse(prefix.clone(), &ran.props);
        judge::is_caught(&prefix, &seen, step).unwrap_or_else(|error| panic!("{step}: {error}: {:#?}", seen.asked));
    }
    let own = ran.prefix(ran.log.len());
    assert!(judge::follows(&own, &ran.seen(ran.log.len()), Nature::default()).is_ok());
}
