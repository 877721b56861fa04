//! Effects, case by case.

use serde_json::json;

use super::Pair;
use super::history::*;
use crate::history::Event;
use crate::kernel::*;

fn gave(history: &mut History, step: u32, value: serde_json::Value) {
    let value = Json::new(value);
    history.event(Event::Gave { run: run(1), attempt: Attempt(0), step: Step(step), value });
}

fn lookup(history: &mut History, name: &str, step: u32, found: Option<EffectResult>) {
    history.call(worker(name), Request::Lookup { effect: effect(step).id }, Reply::Looked(found), &[]);
}

pub const PAIRS: &[Pair] = &[
    Pair {
        invariant: "effect-at-most-once",
        case: "performed again on replay",
        violates: |h| {
            h.begun();
            h.append("w1", 1, called(0, Policy::AtMostOnce));
            h.perform("w1", 0, true, Performed::Unknown);
            h.perform("w1", 0, true, Performed::Done(Json::null()));
        },
        nearly: |h| {
            h.begun();
            h.append("w1", 1, called(0, Policy::AtMostOnce));
            h.perform("w1", 0, true, Performed::Unknown);
            h.append("w1", 1, called(1, Policy::Repeatable));
            h.perform("w1", 1, true, Performed::Unknown);
            h.perform("w1", 1, true, Performed::Done(done(1).value));
        },
    },
    Pair {
        invariant: "effect-idempotent-once",
        case: "a key is not honoured",
        violates: |h| {
            h.begun();
            h.append("w1", 1, called(0, Policy::Idempotent));
            h.perform("w1", 0, true, Performed::Unknown);
            h.perform("w1", 0, true, Performed::Done(Json::null()));
        },
        nearly: |h| {
            h.begun();
            h.append("w1", 1, called(0, Policy::Idempotent));
            h.perform("w1", 0, true, Performed::Unknown);
            h.perform("w1", 0, false, Performed::Done(Json::null()));
        },
    },
    Pair {
        invariant: "effect-intent-first",
        case: "no intent",
        violates: |h| {
            h.begun();
            h.perform("w1", 0, true, Performed::Done(Json::null()));
        },
        nearly: |h| {
            h.begun();
            h.perform("w1", 0, false, Performed::Refused { reason: "no".into(), after: None });
            h.effect("w1", 0, Policy::AtMostOnce);
        },
    },
    Pair {
        invariant: "effect-write-once",
        case: "a second record wins",
        violates: |h| {
            h.begun();
            h.append("w1", 1, called(0, Policy::AtMostOnce));
            h.record("w1", EffectResult::in_doubt(effect(0).id));
            h.record("w1", done(0));
        },
        nearly: |h| {
            h.begun();
            h.append("w1", 1, called(0, Policy::AtMostOnce));
            h.record("w1", EffectResult::in_doubt(effect(0).id));
            let reply = Reply::Standing(EffectResult::in_doubt(effect(0).id));
            h.call(worker("w1"), Request::Record { result: done(0) }, reply, &[]);
        },
    },
    Pair {
        invariant: "effect-write-once",
        case: "the log has another result than the journal",
        violates: |h| {
            h.begun();
            h.append("w1", 1, called(0, Policy::AtMostOnce));
            h.record("w1", done(0));
            h.append("w1", 1, result(0, EffectResult::in_doubt(effect(0).id)));
        },
        nearly: |h| {
            h.begun();
            h.append("w1", 1, called(0, Policy::AtMostOnce));
            lookup(h, "w1", 0, None);
            h.record("w1", done(0));
            lookup(h, "w1", 0, Some(done(0)));
            h.append("w1", 1, result(0, done(0)));
        },
    },
    Pair {
        invariant: "effect-write-once",
        case: "the agent gets something else",
        violates: |h| {
            h.begun();
            h.effect("w1", 0, Policy::AtMostOnce);
            gave(h, 0, json!({"id": 7}));
        },
        nearly: |h| {
            h.begun();
            h.effect("w1", 0, Policy::AtMostOnce);
            gave(h, 0, json!({"id": 0}));
            gave(h, 0, json!({"error": "cancelled"}));
        },
    },
    Pair {
        invariant: "effect-settled",
        case: "an end over an open intent",
        violates: |h| {
            h.begun();
            h.append("w1", 1, called(0, Policy::AtMostOnce));
            h.completes();
        },
        nearly: |h| {
            h.begun();
            h.append("w1", 1, called(0, Policy::AtMostOnce));
            h.record("w1", EffectResult::in_doubt(effect(0).id));
            h.append("w1", 1, result(0, EffectResult::in_doubt(effect(0).id)));
            let in_doubt = vec![effect(0).id];
            h.append("w1", 1, Body::Ended(Ending::Completed { output: Json::null(), in_doubt }));
            h.ack("w1", "m1", 1);
            h.released_as(RunStatus::Completed);
        },
    },
    Pair {
        invariant: "effect-settled",
        case: "a run sleeps for ever over an open intent",
        violates: |h| {
            h.begun();
            h.append("w1", 1, called(0, Policy::AtMostOnce));
            h.sleeps(&[Wait::Signal("go".into())]);
            h.heals();
        },
        nearly: |h| {
            h.begun();
            h.effect("w1", 0, Policy::AtMostOnce);
            h.sleeps(&[Wait::Signal("go".into())]);
            h.heals();
        },
    },
    Pair {
        invariant: "effect-not-denied",
        case: "an unknown outcome is taken for a refusal",
        violates: |h| {
            h.begun();
            h.append("w1", 1, called(0, Policy::AtMostOnce));
            h.perform("w1", 0, true, Performed::Unknown);
            h.record("w1", EffectResult::refused(effect(0).id, "no", None));
        },
        nearly: |h| {
            h.begun();
            h.append("w1", 1, called(0, Policy::AtMostOnce));
            h.perform("w1", 0, false, Performed::Refused { reason: "no".into(), after: None });
            h.record("w1", EffectResult::refused(effect(0).id, "no", None));
        },
    },
    Pair {
        invariant: "effect-not-denied",
        case: "it lands after the refusal was recorded",
        violates: |h| {
            h.begun();
            h.append("w1", 1, called(0, Policy::AtMostOnce));
            h.record("w1", EffectResult::refused(effect(0).id, "no", None));
            h.perform("w1", 0, true, Performed::Unknown);
        },
        nearly: |h| {
            h.begun();
            h.append("w1", 1, called(0, Policy::AtMostOnce));
            h.record("w1", EffectResult::in_doubt(effect(0).id));
            h.perform("w1", 0, true, Performed::Unknown);
        },
    },
    Pair {
        invariant: "effect-identity",
        case: "two steps share an id",
        violates: |h| {
            h.begun();
            h.effect("w1", 0, Policy::Repeatable);
            let Body::ToolCalled { opening, effect, policy } = called(0, Policy::Repeatable) else { unreachable!() };
            let opening = Opening { step: Step(1), ..opening };
            h.append("w1", 1, Body::ToolCalled { opening, effect, policy });
        },
        nearly: |h| {
            h.begun();
            h.effect("w1", 0, Policy::Repeatable);
            h.effect("w1", 1, Policy::Repeatable);
        },
    },
    Pair {
        invariant: "effect-identity",
        case: "one step has two ids",
        violates: |h| {
            h.begun();
            h.append("w1", 1, called(0, Policy::Repeatable));
            let other = effect(5);
            let opening = Opening { digest: Digest(other.id.0), ..opening(0, CallKind::Effect) };
            h.append("w1", 1, Body::ToolCalled { opening, effect: other, policy: Policy::Repeatable });
        },
        nearly: |h| {
            h.begun();
            h.append("w1", 1, called(0, Policy::Repeatable));
            h.perform("w1", 0, true, Performed::Unknown);
            h.perform("w1", 0, true, Performed::Done(done(0).value));
        },
    },
    Pair {
        invariant: "effect-settled",
        case: "the end does not name an effect in doubt",
        violates: |h| {
            h.begun();
            h.append("w1", 1, called(0, Policy::AtMostOnce));
            h.record("w1", EffectResult::in_doubt(effect(0).id));
            h.append("w1", 1, result(0, EffectResult::in_doubt(effect(0).id)));
            h.append("w1", 1, completed());
        },
        nearly: |h| {
            h.begun();
            h.append("w1", 1, called(0, Policy::AtMostOnce));
            h.record("w1", EffectResult::in_doubt(effect(0).id));
            h.append("w1", 1, result(0, EffectResult::in_doubt(effect(0).id)));
            let in_doubt = vec![effect(0).id];
            h.append("w1", 1, Body::Ended(Ending::Completed { output: Json::null(), in_doubt }));
        },
    },
    Pair {
        invariant: "effect-not-denied",
        case: "a refusal that a former holder recorded lands after its successor's request",
        violates: |h| {
            h.begun();
            h.append("w1", 1, called(0, Policy::Idempotent));
            h.perform("w1", 0, false, Performed::Refused { reason: "no".into(), after: None });
            h.secs(31);
            h.steal("w2", 1, 1);
            h.append("w2", 1, Body::RunResumed(lease_entry(1)));
            h.perform("w2", 0, true, Performed::Done(done(0).value));
            h.record("w1", EffectResult::refused(effect(0).id, "no", None));
        },
        nearly: |h| {
            h.begun();
            h.append("w1", 1, called(0, Policy::Idempotent));
            h.perform("w1", 0, false, Performed::Refused { reason: "no".into(), after: None });
            h.append("w1", 1, result(0, EffectResult::refused(effect(0).id, "no", None)));
            h.secs(31);
            h.steal("w2", 1, 1);
            h.append("w2", 1, Body::RunResumed(lease_entry(1)));
            h.record("w1", EffectResult::refused(effect(0).id, "no", None));
        },
    },
    Pair {
        invariant: "effect-write-once",
        case: "the journal has another result than the refusal in the log",
        violates: |h| {
            h.begun();
            h.append("w1", 1, called(0, Policy::Idempotent));
            h.append("w1", 1, result(0, EffectResult::refused(effect(0).id, "no", None)));
            h.record("w1", done(0));
        },
        nearly: |h| {
            h.begun();
            h.append("w1", 1, called(0, Policy::Idempotent));
            h.append("w1", 1, result(0, EffectResult::refused(effect(0).id, "no", None)));
            h.record("w1", EffectResult::refused(effect(0).id, "no", None));
        },
    },
];
