//! Signals and timers, case by case.

use super::Pair;
use super::history::*;
use super::scheduler::signal;
use crate::history::{Actor, Change, Event};
use crate::kernel::*;

fn signalled(history: &mut History, id: &str, told: Signalled) {
    let request = Request::Signal { run: run(1), name: "go".into(), payload: Json::null(), id: id.into() };
    history.call(Actor::Input(4), request, Reply::Signalled(told), &[]);
}

fn claim(history: &mut History, step: u32, until: Option<Timestamp>, told: Option<Claimed>) {
    let wait = ClaimWait { signal: Some("go".into()), until };
    history.call(worker("w1"), Request::Claim { run: run(1), step: Step(step), wait }, Reply::Claimed(told), &[]);
}

fn given(id: &str) -> Option<Claimed> {
    Some(Claimed::Signal { id: id.into(), name: "go".into(), payload: Json::null() })
}

fn waits(step: u32, limit: Span) -> Body {
    Body::TimerSet { opening: opening(step, CallKind::WaitSignal), limit: Some(limit), child: None }
}

fn timer(at: Timestamp) -> Change {
    woken(run(1), RunStatus::Suspended, Trigger::Wakeup(Wakeup::Timer { at }))
}

/// Run 1 sleeps until `secs` from now.
fn sleeps_for(history: &mut History, secs: i64) -> Timestamp {
    history.begun();
    let until = history.now + Span::from_secs(secs);
    history.sleeps(&[Wait::Time(until)]);
    until
}

fn wakes(history: &mut History, until: Timestamp) {
    let lease = history.lease("w2", 1, 1);
    history.grant_this(lease, &[timer(until)]);
}

pub const PAIRS: &[Pair] = &[
    Pair {
        invariant: "signal-not-lost",
        case: "a claim does not find a buffered signal",
        violates: |h| {
            h.begun();
            signal(h, "go", "s1", &[]);
            claim(h, 0, None, None);
        },
        nearly: |h| {
            h.begun();
            claim(h, 0, None, None);
            signal(h, "go", "s1", &[]);
            claim(h, 0, None, given("s1"));
            claim(h, 1, None, None);
        },
    },
    Pair {
        invariant: "signal-not-lost",
        case: "a new id is taken for a repeat",
        violates: |h| {
            h.begun();
            signal(h, "go", "s1", &[]);
            signalled(h, "s2", Signalled::Repeated);
        },
        nearly: |h| {
            h.begun();
            signal(h, "go", "s1", &[]);
            signalled(h, "s1", Signalled::Repeated);
            h.completes();
            signalled(h, "s1", Signalled::Repeated);
            signalled(h, "s2", Signalled::Ended);
        },
    },
    Pair {
        invariant: "signal-once",
        case: "one signal for two steps",
        violates: |h| {
            h.begun();
            signal(h, "go", "s1", &[]);
            claim(h, 0, None, given("s1"));
            claim(h, 1, None, given("s1"));
        },
        nearly: |h| {
            h.begun();
            signal(h, "go", "s1", &[]);
            signal(h, "go", "s2", &[]);
            claim(h, 0, None, given("s1"));
            claim(h, 0, None, given("s1"));
            claim(h, 1, None, given("s2"));
        },
    },
    Pair {
        invariant: "signal-once",
        case: "a time-out is overruled",
        violates: |h| {
            h.begun();
            let past = Some(h.now);
            claim(h, 0, past, Some(Claimed::TimedOut));
            signal(h, "go", "s1", &[]);
            claim(h, 0, past, given("s1"));
        },
        nearly: |h| {
            h.begun();
            let past = Some(h.now);
            claim(h, 0, past, Some(Claimed::TimedOut));
            signal(h, "go", "s1", &[]);
            claim(h, 0, past, Some(Claimed::TimedOut));
        },
    },
    Pair {
        invariant: "signal-once",
        case: "an id is accepted twice",
        violates: |h| {
            h.begun();
            signal(h, "go", "s1", &[]);
            signal(h, "go", "s1", &[]);
        },
        nearly: |h| {
            h.begun();
            signal(h, "go", "s1", &[]);
            signal(h, "go", "s2", &[]);
        },
    },
    Pair {
        invariant: "timer-not-early",
        case: "a sleeper is woken before its time",
        violates: |h| {
            let until = sleeps_for(h, 10);
            h.secs(5);
            wakes(h, until);
        },
        nearly: |h| {
            let until = sleeps_for(h, 10);
            h.secs(11);
            wakes(h, until);
        },
    },
    Pair {
        invariant: "timer-not-early",
        case: "a claim is told that its time is over",
        violates: |h| {
            h.begun();
            let until = Some(h.now + Span::from_secs(10));
            claim(h, 0, until, Some(Claimed::TimedOut));
        },
        nearly: |h| {
            h.begun();
            let until = Some(h.now + Span::from_secs(10));
            h.secs(10);
            claim(h, 0, until, Some(Claimed::TimedOut));
        },
    },
    Pair {
        invariant: "timer-not-early",
        case: "a log says so before the limit it set",
        violates: |h| {
            h.begun();
            h.append("w1", 1, waits(0, Span::from_secs(10)));
            h.secs(9);
            h.append("w1", 1, Body::TimerFired { step: Step(0) });
        },
        nearly: |h| {
            h.begun();
            h.append("w1", 1, waits(0, Span::from_secs(10)));
            h.secs(10);
            h.append("w1", 1, Body::TimerFired { step: Step(0) });
        },
    },
    Pair {
        invariant: "timer-late-bounded",
        case: "a time comes up late although a worker polls",
        violates: |h| {
            let until = sleeps_for(h, 10);
            h.secs(30);
            wakes(h, until);
        },
        nearly: |h| {
            let until = sleeps_for(h, 10);
            h.event(crate::history::Event::StoreReach { up: false });
            h.secs(30);
            h.event(crate::history::Event::StoreReach { up: true });
            wakes(h, until);
        },
    },
    Pair {
        invariant: "timer-silent",
        case: "a time wakes a closed run",
        violates: |h| {
            h.begun();
            let until = h.now + Span::from_secs(1);
            h.append("w1", 1, suspended(&[Wait::Time(until)]));
            h.append("w1", 1, completed());
            let waits = [Wait::Time(until)];
            h.release("w1", 1, 0, Release::Suspended(waits.to_vec()), &[asleep(run(1), &waits)]);
            h.secs(2);
            wakes(h, until);
        },
        nearly: |h| {
            let until = sleeps_for(h, 1);
            let cancel = Request::Cancel { run: run(1), reason: "no".into() };
            h.call(Actor::Input(1), cancel, Reply::Done, &[woken(run(1), RunStatus::Suspended, Trigger::Cancel)]);
            h.secs(2);
            h.grant("w2", 1, 1);
            h.append("w2", 1, Body::RunResumed(lease_entry(1)));
            assert!(until < h.now);
        },
    },
    Pair {
        invariant: "signal-once",
        case: "the agent gets another payload than the log holds",
        violates: |h| {
            gives_signal(h, serde_json::json!({ "id": "s1", "name": "go", "payload": 7 }));
        },
        nearly: |h| {
            gives_signal(h, serde_json::json!({ "id": "s1", "name": "go", "payload": null }));
        },
    },
];

/// Step 0 waits for a signal, gets `s1`, and the agent is given this.
fn gives_signal(history: &mut History, value: serde_json::Value) {
    history.begun();
    signal(history, "go", "s1", &[]);
    history.append("w1", 1, waits(0, Span::from_secs(60)));
    claim(history, 0, None, given("s1"));
    let (step, name) = (Step(0), "go".into());
    history.append("w1", 1, Body::SignalReceived { step, name, id: "s1".into(), payload: Json::null() });
    history.event(Event::Gave { run: run(1), attempt: Attempt(0), step, value: Json::new(value) });
}
