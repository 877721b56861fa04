//! The judge can find something: rehearsals that are doctored, logs and histories that are forged.

mod others;

use std::rc::Rc;
use std::sync::Arc;

use serde_json::json;

use super::heard::Heard;
use super::nature::Nature;
use super::prefix::Prefix;
use super::rehearsal::{Props, Seen, rehearse};
use super::{cases, judge};
use crate::history::{Asked, Event, Record};
use crate::kernel::*;
use crate::scenario::{Options, Runner, Scenario};
use crate::sim::{Remains, Schedule};

/// Charges, tells the post, waits for mail and for a while.
const STEPS: &str = r#"[
    { "effect": "charge", "args": { "amount": 1 } }, { "send": "post", "data": 1 },
    { "receive": 1, "limit": "20s" }, { "effect": "look", "policy": "repeatable" }, { "sleep": "5s" }
]"#;

fn scenario(steps: &str) -> Scenario {
    let text = format!(
        r#"{{ "name": "x", "outside": {{ "charge": {{}}, "look": {{}} }}, "agents": {{ "a": {steps}, "post": [] }},
             "inputs": [ {{ "to": "a", "id": "m1", "from": "ann" }}, {{ "at": "+10s", "to": "a", "id": "m2", "from": "ann" }} ] }}"#
    );
    Scenario::parse(&text, "x.json").unwrap_or_else(|error| panic!("{error}"))
}

/// A run that has ended in the calm schedule.
struct Ran {
    log: Vec<RunLogEntry>,
    heard: Heard,
    events: Vec<Event>,
    props: Props,
}

fn ran(steps: &str) -> Ran {
    played(&scenario(steps))
}

/// What the first run of a scenario, one of the agent `a`, was like in the calm schedule.
fn played(scenario: &Scenario) -> Ran {
    let mut heard = Heard::default();
    let mut events = Vec::new();
    let mut log = Vec::new();
    let mut spec = None;
    let mut note = |record: &Record| {
        heard.hear(&record.event);
        if matches!(record.event, Event::Entered { .. } | Event::Gave { .. }) {
            events.push(record.event.clone());
        }
    };
    let mut keep = |remains: &Remains| {
        let first = remains.store.runs().next().expect("there is a run").spec;
        (spec, log) = (Some(first.clone()), remains.store.log(first.run).to_vec());
    };
    let options = Options { sites: false, trace: Some(&mut note), remains: Some(&mut keep) };
    Runner::new(scenario).play(&Schedule::Calm, options);
    let props = Props {
        spec: Arc::new(spec.expect("there is a run")),
        code: scenario.agents["a"].code.clone(),
        artifacts: Rc::default(),
        origin: (scenario.name.clone(), scenario.start),
    };
    Ran { log, heard, events, props }
}

impl Ran {
    fn prefix(&self, length: usize) -> Rc<Prefix> {
        Rc::new(Prefix::new(self.log.clone().into(), length))
    }

    /// One past the entry of this kind, the `nth` from 1.
    fn behind(&self, kind: &str, nth: usize) -> usize {
        let mut places = self.log.iter().enumerate().filter(|(_, entry)| entry.kind() == kind);
        places.nth(nth - 1).expect("the log has it").0 + 1
    }

    fn seen(&self, length: usize) -> Seen {
        rehearse(self.prefix(length), &self.props)
    }

    fn judged(&self, length: usize, seen: &Seen) -> Result<(), String> {
        judge::follows(&self.prefix(length), seen, Nature::default())
    }

    fn perform(&self, step: u32) -> Asked {
        let opening = self.log.iter().find(|entry| entry.body.opening().is_some_and(|it| it.step == Step(step)));
        match &*opening.expect("the step is there").body {
            Body::ToolCalled { effect, .. } => Asked::Outside(Perform {
                run: self.props.spec.run,
                step: Step(step),
                effect: effect.clone(),
                limit: Span::from_secs(60),
            }),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn every_prefix_is_followed_up_to_the_next_decision() {
    let ran = ran(STEPS);
    for length in 0..=ran.log.len() {
        let seen = ran.seen(length);
        ran.judged(length, &seen).unwrap_or_else(|error| panic!("{length}: {error}: {:#?}", seen.asked));
        judge::has_its_mail(&ran.prefix(length), &seen).unwrap();
        let asks_outside = seen.asked.iter().any(|asked| matches!(asked, Asked::Outside(_)));
        assert!(!asks_outside, "a result is in the log, before or behind the prefix");
    }
}

#[test]
fn only_an_undecided_effect_that_may_be_repeated_is_asked_for_again() {
    let ran = ran(STEPS);
    for (nth, asks) in [(1, "record"), (2, "outside")] {
        let length = ran.behind("tool.called", nth);
        let prefix = Rc::new(Prefix::new(ran.log[..length].into(), length));
        let seen = rehearse(prefix.clone(), &ran.props);
        judge::follows(&prefix, &seen, Nature::default()).unwrap();
        let last = match seen.asked.last() {
            Some(Asked::Store(request)) => request.method(),
            Some(Asked::Outside(_)) => "outside",
            None => "nothing",
        };
        assert_eq!(last, asks, "{:#?}", seen.asked);
    }
}

#[test]
fn what_a_replay_may_not_ask_for_is_found() {
    let ran = ran(STEPS);
    let done = ran.behind("tool.result", 1);
    let (agent, run) = (ran.props.spec.agent.clone(), ran.props.spec.run);
    let charged = match &*ran.log[done - 1].body {
        Body::ToolResult { result, .. } => result.clone(),
        other => panic!("{other:?}"),
    };
    let message =
        || Message { id: "x".into(), sender: agent.clone(), data: Json::null(), correlation: None, reply_to: None };
    let store = Asked::Store;
    let cases = [
        (ran.perform(0), "asked the outside for `charge`"),
        (store(Request::Lookup { effect: charged.effect_id }), "called lookup"),
        (store(Request::Record { result: charged }), "called record"),
        (store(Request::Deliver { to: agent.clone(), message: message(), notify: true }), "called deliver"),
        (store(Request::Claim { run, step: Step(0), wait: ClaimWait { signal: None, until: None } }), "called claim"),
        (store(Request::Drain { agent: agent.clone(), run, after: None, max: 1 }), "called drain"),
        (store(Request::Ack { agent: agent.clone(), message: "m1".into(), run }), "called ack"),
        (
            store(Request::Append { run, body: ran.log[0].body.clone(), expected: Seq::FIRST }),
            "run.started out of turn",
        ),
        (store(Request::Append { run, body: ran.log[done - 1].body.clone(), expected: Seq::FIRST }), "does not hold"),
    ];
    for (asked, told) in cases {
        let mut seen = ran.seen(done);
        seen.asked.insert(1, asked);
        let error = ran.judged(done, &seen).expect_err(told);
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn another_next_step_and_none_at_all_are_found() {
    let ran = ran(STEPS);
    let length = ran.behind("tool.result", 1);
    let mut other = ran.seen(length);
    other.asked.pop();
    let body = ran.log[ran.behind("timer.set", 1) - 1].body.clone();
    other.asked.push(Asked::Store(Request::Append { run: ran.props.spec.run, body, expected: Seq::FIRST }));
    assert!(ran.judged(length, &other).unwrap_err().contains("where the log went on to message.sent"));
    let mut none = ran.seen(length);
    none.asked.pop();
    none.awaits = false;
    assert!(ran.judged(length, &none).unwrap_err().contains("it stopped"));
    let mut endless = ran.seen(length);
    endless.asked.pop();
    endless.endless = true;
    assert!(ran.judged(length, &endless).unwrap_err().contains("come to rest"));
}

#[test]
fn an_agent_with_another_script_is_caught_and_one_that_is_not_halted_is_found() {
    let ran = ran(STEPS);
    let changed = scenario(&STEPS.replace(r#""send": "post", "data": 1"#, r#""send": "post", "data": 2"#)).agents["a"]
        .code
        .clone();
    let props = Props {
        spec: ran.props.spec.clone(),
        code: changed,
        artifacts: Rc::default(),
        origin: ran.props.origin.clone(),
    };
    let prefix = ran.prefix(ran.log.len() - 1);
    let seen = rehearse(prefix.clone(), &props);
    judge::is_caught(&prefix, &seen, Step(1)).unwrap();
    assert!(judge::is_caught(&prefix, &seen, Step(2)).unwrap_err().contains("halted at step 1"));
    assert!(judge::follows(&prefix, &seen, Nature::default()).unwrap_err().contains("halted at step 1"));
    judge::follows(&prefix, &seen, Nature { fickle: true, stumbles: false }).unwrap();
    let own = ran.seen(ran.log.len() - 1);
    assert!(judge::is_caught(&prefix, &own, Step(1)).unwrap_err().contains("not caught"));
    let mut acted = seen;
    acted.asked.insert(1, ran.perform(0));
    assert!(judge::is_caught(&prefix, &acted, Step(1)).unwrap_err().contains("before it was caught"));
}

#[test]
fn each_step_of_a_log_is_changed_once_and_a_returned_agent_gets_one_too_many() {
    let ran = ran(STEPS);
    let changes = cases::changes(&ran.log.clone().into());
    let steps: Vec<u32> = changes.iter().map(|(_, step)| step.0).collect();
    assert_eq!(steps, [0, 1, 2, 3, 4, 5]);
    for (log, step) in changes {
        let prefix = Rc::new(Prefix::new(cases::changed(&log, step), log.len()));
        judge::is_caught(&prefix, &rehearse(prefix.clone(), &ran.props), step).unwrap();
    }
}

#[test]
fn other_mail_than_the_logs_is_found() {
    let ran = ran(STEPS);
    let run = ran.props.spec.run;
    ran.heard.mail_given(run, &ran.log).unwrap();
    let forged = |forge: &dyn Fn(&mut Event)| {
        let mut heard = Heard::default();
        for mut event in ran.events.clone() {
            forge(&mut event);
            heard.hear(&event);
        }
        heard.mail_given(run, &ran.log).unwrap_err()
    };
    let no_batch = forged(&|event| {
        if let Event::Entered { batch, .. } = event {
            batch.clear();
        }
    });
    assert!(no_batch.contains("entered with no mail"), "{no_batch}");
    let no_mail = forged(&|event| {
        if let Event::Gave { step: Step(2), value, .. } = event {
            *value = json!([]).into();
        }
    });
    assert!(no_mail.contains("step 2 gave"), "{no_mail}");
    let mut twice = ran.log.clone();
    twice.extend(ran.log.iter().filter(|entry| entry.kind() == "msg.received").cloned());
    assert!(ran.heard.mail_given(run, &twice).unwrap_err().contains("stands twice"));
}

#[test]
fn a_step_that_gives_something_else_in_a_later_lease_is_found() {
    let run = RunId::from_parts(1, 1);
    let heard = |values: &[serde_json::Value]| {
        let mut heard = Heard::default();
        for (attempt, value) in (0..).zip(values) {
            heard.hear(&Event::Gave { run, attempt: Attempt(attempt), step: Step(3), value: value.clone().into() });
        }
        heard
    };
    let (refused, doubt, cancelled) =
        (json!({"error": "Refused"}), json!({"error": "InDoubt"}), json!({"error": "Cancelled"}));
    let steady = heard(&[refused.clone(), cancelled, refused.clone()]);
    assert_eq!((steady.denied_stable(run), steady.same_given(run)), (Ok(()), Ok(())));
    for other in [doubt, json!({"id": 1})] {
        let fickle = heard(&[refused.clone(), other]);
        assert!(fickle.denied_stable(run).unwrap_err().contains("in lease 1"));
        assert_eq!(fickle.same_given(run), Ok(()));
    }
    let now = heard(&[json!("12:00"), json!("12:01")]);
    assert!(now.same_given(run).unwrap_err().contains("step 3 gave \"12:00\" in lease 0 and \"12:01\" in lease 1"));
    assert_eq!(now.denied_stable(run), Ok(()));
}

#[test]
fn scripts_that_look_at_their_lease_are_known() {
    let nature = |steps: &str| Nature::of(&scenario(steps).agents["a"].code);
    let cases = [
        (STEPS, (false, false)),
        (r#"[ { "by_attempt": [ [], [] ] } ]"#, (true, false)),
        (r#"[ { "if": "$self.attempt", "is": 1, "then": [] } ]"#, (true, false)),
        (r#"[ { "all": [ { "log": ["$self.attempt"] } ] } ]"#, (true, false)),
        (r#"[ { "repeat": 2, "do": [ { "fail": "x", "first": 1 } ] } ]"#, (false, true)),
        (r#"[ { "fail": "x", "failures": 1 }, { "die": true, "first": 2 } ]"#, (false, false)),
    ];
    for (steps, (fickle, stumbles)) in cases {
        assert_eq!(nature(steps), Nature { fickle, stumbles }, "{steps}");
    }
}
