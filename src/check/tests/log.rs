//! The log, case by case.

use std::sync::Arc;

use serde_json::json;

use super::Pair;
use super::history::*;
use crate::history::{Actor, Answer, Asked, Change, Event};
use crate::kernel::*;

pub const PAIRS: &[Pair] = &[
    Pair {
        invariant: "log-dense",
        case: "an entry is accepted beyond the end",
        violates: |h| {
            h.leased();
            let request = Request::Append { run: run(1), body: Arc::new(value(0)), expected: Seq::FIRST };
            h.append_as(worker("w1"), request, Seq::new(2).unwrap());
        },
        nearly: |h| {
            h.leased();
            h.append("w1", 1, value(0));
        },
    },
    Pair {
        invariant: "log-dense",
        case: "a read leaves the first entry out",
        violates: |h| {
            h.leased();
            h.append("w1", 1, value(0));
            read(h, Seq::FIRST, &[1]);
        },
        nearly: |h| {
            h.leased();
            h.append("w1", 1, value(0));
            read(h, Seq::FIRST, &[0, 1]);
            read(h, Seq::FIRST.next(), &[1]);
            read(h, Seq::new(2).unwrap(), &[]);
        },
    },
    Pair {
        invariant: "log-immutable",
        case: "a reader sees another body",
        violates: |h| {
            h.leased();
            read_bodies(h, Seq::FIRST, &[Body::RunStarted(lease_entry(0))]);
            read_bodies(h, Seq::FIRST, &[Body::RunStarted(lease_entry(7))]);
        },
        nearly: |h| {
            h.leased();
            read_bodies(h, Seq::FIRST, &[Body::RunStarted(lease_entry(0))]);
            read_bodies(h, Seq::FIRST, &[Body::RunStarted(lease_entry(0))]);
        },
    },
    Pair {
        invariant: "log-fenced",
        case: "two appends that expect the same are accepted",
        violates: |h| {
            h.leased();
            let request = |step| Request::Append { run: run(1), body: Arc::new(value(step)), expected: Seq::FIRST };
            h.append_as(worker("w1"), request(0), Seq::new(1).unwrap());
            h.append_as(worker("w1"), request(0), Seq::new(1).unwrap());
        },
        nearly: |h| {
            h.leased();
            h.append("w1", 1, value(0));
            let request = Request::Append { run: run(1), body: Arc::new(value(0)), expected: Seq::FIRST };
            let conflict = ConcurrentAppend { run_id: run(1), expected: Seq::FIRST, actual: Seq::new(1).unwrap() };
            h.call(worker("w1"), request, Reply::Conflict(conflict), &[]);
        },
    },
    Pair {
        invariant: "log-closed",
        case: "a step after the end",
        violates: |h| {
            h.begun();
            h.append("w1", 1, completed());
            h.append("w1", 1, value(0));
        },
        nearly: |h| {
            h.begun();
            h.cancels();
            h.append_from(Actor::Input(1), 1, Body::CancelRequested { reason: "late".into() });
            h.append("w1", 1, completed());
        },
    },
    Pair {
        invariant: "attempts-rise",
        case: "a lease entry repeats an attempt",
        violates: |h| {
            h.leased();
            h.append("w1", 1, Body::RunResumed(lease_entry(0)));
        },
        nearly: |h| {
            h.leased();
            h.secs(31);
            h.steal("w2", 1, 1);
            h.append("w2", 1, Body::RunResumed(lease_entry(1)));
        },
    },
    Pair {
        invariant: "attempts-rise",
        case: "a step under the lease entry of another worker",
        violates: |h| {
            h.leased();
            h.secs(31);
            h.steal("w2", 1, 1);
            h.append("w2", 1, received(&[("m1", 1)]));
        },
        nearly: |h| {
            h.leased();
            h.secs(31);
            h.steal("w2", 1, 1);
            // The former holder's entry is in time: its successor's is not there yet.
            h.append("w1", 1, received(&[("m1", 1)]));
            h.append("w2", 1, Body::RunResumed(lease_entry(1)));
        },
    },
    Pair {
        invariant: "attempts-rise",
        case: "a first entry that is no lease entry",
        violates: |h| {
            h.deliver("m1", &[made(1)]);
            h.grant("w1", 1, 0);
            h.append("w1", 1, received(&[("m1", 1)]));
        },
        nearly: |h| {
            h.deliver("m1", &[made(1)]);
            h.cancels();
            h.append_from(Actor::Input(1), 1, Body::CancelRequested { reason: "early".into() });
            h.grant("w1", 1, 0);
            h.append("w1", 1, Body::RunStarted(lease_entry(0)));
        },
    },
    Pair {
        invariant: "log-tail",
        case: "a tail goes on behind what it has not seen",
        violates: |h| {
            h.leased();
            h.append("w1", 1, value(0));
            tail(h, Seq::FIRST, &[0, 1]);
            tail(h, Seq::new(3).unwrap(), &[]);
        },
        nearly: |h| {
            h.leased();
            tail(h, Seq::FIRST, &[0]);
            h.append("w1", 1, value(0));
            // A reply that was lost is asked for again.
            let request = Request::Tail { run: run(1), from: Seq::new(1).unwrap(), wait: Span::from_secs(1) };
            let call = h.sent(Actor::Input(1), request);
            h.did(call, Reply::Entries(entries(h, &[1])), &[]);
            tail(h, Seq::new(1).unwrap(), &[1]);
            tail(h, Seq::new(2).unwrap(), &[]);
        },
    },
    Pair {
        invariant: "announced-done",
        case: "an announced message never comes",
        violates: |h| {
            h.begun();
            h.append("w1", 1, sent_message(0, "m9"));
            h.completes();
            h.heals();
        },
        nearly: |h| {
            h.begun();
            h.append("w1", 1, sent_message(0, "m9"));
            let to: AgentId = "post".parse().unwrap();
            let stored = Change::Stored { agent: to.clone(), message: "m9".into(), arrival: Arrival(50) };
            let request = Request::Deliver { to: to.clone(), message: message("m9"), notify: false };
            h.call(worker("w1"), request.clone(), Reply::Accepted(true), &[stored]);
            h.call(worker("w1"), request, Reply::Accepted(false), &[]);
            h.completes();
            h.heals();
        },
    },
    Pair {
        invariant: "announced-done",
        case: "a message that no log announces",
        violates: |h| {
            h.begun();
            h.deliver_from(worker("w1"), "m2", &[]);
        },
        nearly: |h| {
            h.begun();
            h.deliver_from(Actor::Input(1), "m2", &[]);
        },
    },
    Pair {
        invariant: "announced-done",
        case: "an announced signal never comes",
        violates: |h| {
            h.begun();
            h.append("w1", 1, sent_signal(0, "s1"));
            h.completes();
            h.heals();
        },
        nearly: |h| {
            h.begun();
            h.append("w1", 1, sent_signal(0, "s1"));
            let request = Request::Signal { run: run(7), name: "go".into(), payload: Json::null(), id: "s1".into() };
            h.call(worker("w1"), request, Reply::Signalled(Signalled::Ended), &[]);
            h.completes();
            h.heals();
        },
    },
    Pair {
        invariant: "cause-first",
        case: "an ack before the end",
        violates: |h| {
            h.begun();
            h.ack("w1", "m1", 1);
        },
        nearly: |h| {
            h.begun();
            h.append("w1", 1, completed());
            h.ack("w1", "m1", 1);
        },
    },
    Pair {
        invariant: "cause-first",
        case: "a nack of a failure that is not recorded",
        violates: |h| {
            h.begun();
            h.nack("w1", "m1", 1, 1, false);
        },
        nearly: |h| {
            h.begun();
            h.append("w1", 1, retrying(1, Span::from_secs(5)));
            h.nack("w1", "m1", 1, 1, false);
        },
    },
    Pair {
        invariant: "cause-first",
        case: "a suspending release without run.suspended",
        violates: |h| {
            h.begun();
            let waits = [Wait::Signal("go".into())];
            h.release("w1", 1, 0, Release::Suspended(waits.to_vec()), &[asleep(run(1), &waits)]);
        },
        nearly: |h| {
            h.begun();
            let waits = [Wait::Signal("go".into())];
            h.append("w1", 1, suspended(&waits));
            h.append_from(Actor::Input(1), 1, Body::Other { kind: "app.note".into(), payload: Json::null() });
            h.release("w1", 1, 0, Release::Suspended(waits.to_vec()), &[asleep(run(1), &waits)]);
        },
    },
    Pair {
        invariant: "cause-first",
        case: "a canceller that writes before the flag is set",
        violates: |h| {
            h.begun();
            h.append_from(Actor::Input(1), 1, Body::CancelRequested { reason: "no".into() });
            h.cancels();
        },
        nearly: |h| {
            h.begun();
            h.cancels();
            h.append("w1", 1, Body::CancelRequested { reason: "no".into() });
        },
    },
    Pair {
        invariant: "cause-first",
        case: "an end before the first drain",
        violates: |h| {
            h.leased();
            h.append("w1", 1, failed(FailureCode::AgentCrashed));
        },
        nearly: |h| {
            h.leased();
            h.append("w1", 1, Body::MsgReceived { step: None, messages: vec![] });
            h.append("w1", 1, completed());
        },
    },
    Pair {
        invariant: "cause-first",
        case: "a zombie's release over an entry of its successor",
        violates: |h| {
            h.begun();
            h.secs(31);
            h.steal("w2", 1, 1);
            h.append("w2", 1, Body::RunResumed(lease_entry(1)));
            h.append("w2", 1, suspended(&[]));
            let request = Request::Release { lease: key("w1", 1, 0), how: Release::Suspended(vec![]) };
            h.call(worker("w1"), request, Reply::Released(Released::Lost), &[]);
        },
        nearly: |h| {
            h.begun();
            h.append("w1", 1, suspended(&[]));
            h.secs(31);
            h.steal("w2", 1, 1);
            h.append("w2", 1, Body::RunResumed(lease_entry(1)));
            let request = Request::Release { lease: key("w1", 1, 0), how: Release::Suspended(vec![]) };
            h.call(worker("w1"), request, Reply::Released(Released::Lost), &[]);
        },
    },
    Pair {
        invariant: "status-follows-log",
        case: "a terminal status that the log does not have",
        violates: |h| {
            h.begun();
            h.append("w1", 1, completed());
            h.ack("w1", "m1", 1);
            let ended = [moved(run(1), RunStatus::Running, RunStatus::Failed)];
            h.release("w1", 1, 0, Release::Ended(RunStatus::Completed), &ended);
        },
        nearly: |h| {
            h.begun();
            h.completes();
        },
    },
    Pair {
        invariant: "status-follows-log",
        case: "a transition that is not listed",
        violates: |h| {
            h.begun();
            let waits = [Wait::Signal("go".into())];
            h.sleeps(&waits);
            h.grant_this(h.lease("w2", 1, 1), &[]);
        },
        nearly: |h| {
            h.begun();
            let waits = [Wait::Signal("go".into())];
            h.sleeps(&waits);
            let request = Request::Cancel { run: run(1), reason: "no".into() };
            let change = woken(run(1), RunStatus::Suspended, Trigger::Cancel);
            h.call(Actor::Input(1), request, Reply::Done, &[change]);
            h.grant("w2", 1, 1);
        },
    },
    Pair {
        invariant: "status-follows-log",
        case: "a closed log is never released",
        violates: |h| {
            h.begun();
            h.append("w1", 1, completed());
            h.ack("w1", "m1", 1);
            h.heals();
        },
        nearly: |h| {
            h.begun();
            h.append("w1", 1, completed());
            h.ack("w1", "m1", 1);
        },
    },
    Pair {
        invariant: "step-once",
        case: "an entry whose append was not heard of is appended again",
        violates: |h| {
            h.begun();
            h.append("w1", 1, value(0));
            h.append("w1", 1, value(0));
        },
        nearly: |h| {
            h.begun();
            h.append("w1", 1, value(0));
            h.append("w1", 1, value(1));
        },
    },
    Pair {
        invariant: "cancel-cascade",
        case: "a step begins behind a request to cancel",
        violates: |h| {
            h.begun();
            h.cancels();
            h.append_from(Actor::Input(1), 1, Body::CancelRequested { reason: "no".into() });
            h.append("w1", 1, value(0));
        },
        nearly: |h| {
            h.begun();
            h.cancels();
            h.append("w1", 1, value(0));
            h.append_from(Actor::Input(1), 1, Body::CancelRequested { reason: "no".into() });
            h.append("w1", 1, Body::Ended(Ending::Cancelled { reason: "no".into(), in_doubt: vec![] }));
        },
    },
];

fn sent_message(step: u32, id: &str) -> Body {
    Body::MessageSent { opening: opening(step, CallKind::Send), to: "post".parse().unwrap(), message: message(id) }
}

fn sent_signal(step: u32, id: &str) -> Body {
    let value = json!({"run": run(7).to_string(), "name": "go", "payload": null, "id": id});
    Body::StepValue { opening: opening(step, CallKind::Signal), value: Json::new(value) }
}

/// The entries of run 1 that were appended, at these places.
fn entries(history: &History, places: &[i64]) -> Vec<RunLogEntry> {
    let mut all = Vec::new();
    let mut bodies = std::collections::BTreeMap::new();
    for record in &history.records {
        match &record.event {
            Event::Sent { call, asked: Asked::Store(Request::Append { body, .. }), .. } => {
                bodies.insert(*call, body.clone());
            }
            Event::Returned { call, outcome: Ok(Answer::Store(Reply::Appended(appended))) } => {
                let body = bodies[call].clone();
                all.push(RunLogEntry { run_id: run(1), seq: appended.seq, ts: appended.ts, body });
            }
            _ => {}
        }
    }
    all.into_iter().filter(|entry| places.contains(&entry.seq.get())).collect()
}

fn read(history: &mut History, from: Seq, places: &[i64]) {
    let entries = entries(history, places);
    history.call(Actor::Input(1), Request::Read { run: run(1), from }, Reply::Entries(entries), &[]);
}

/// As [`read`] of the first entries, but with these bodies.
fn read_bodies(history: &mut History, from: Seq, bodies: &[Body]) {
    let mut seen = entries(history, &[0, 1, 2, 3]);
    for (entry, body) in seen.iter_mut().zip(bodies) {
        entry.body = Arc::new(body.clone());
    }
    history.call(Actor::Input(1), Request::Read { run: run(1), from }, Reply::Entries(seen), &[]);
}

fn tail(history: &mut History, from: Seq, places: &[i64]) {
    let entries = entries(history, places);
    let request = Request::Tail { run: run(1), from, wait: Span::from_secs(1) };
    history.call(Actor::Input(1), request, Reply::Entries(entries), &[]);
}
