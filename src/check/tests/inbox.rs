//! The inbox, case by case.

use super::Pair;
use super::history::*;
use crate::history::{Actor, Change, Event};
use crate::kernel::*;

fn drain(history: &mut History, number: u128, after: Option<u64>, given: &[Drained]) {
    let request = Request::Drain { agent: billing(), run: run(number), after: after.map(Arrival), max: 100 };
    history.call(worker("w1"), request, Reply::Drained(given.to_vec()), &[]);
}

/// Run 1 fails with its first message, which becomes a dead letter.
fn buried(history: &mut History) {
    history.begun();
    history.append("w1", 1, failed(FailureCode::EffectRefused));
    history.nack("w1", "m1", 1, 1, true);
    history.released_as(RunStatus::Failed);
}

fn redrive(history: &mut History, life: u64, arrival: u64) {
    let request = Request::Redrive { agent: billing(), message: "m1".into(), arrival: Arrival(life) };
    let stored = Change::Stored { agent: billing(), message: "m1".into(), arrival: Arrival(arrival) };
    history.call(Actor::Input(2), request, Reply::Accepted(true), &[stored, made(2)]);
}

pub const PAIRS: &[Pair] = &[
    Pair {
        invariant: "inbox-once",
        case: "two runs end over one message",
        violates: |h| {
            h.begun();
            h.append("w1", 1, completed());
            let ended = [moved(run(1), RunStatus::Running, RunStatus::Completed), made(2)];
            h.release("w1", 1, 0, Release::Ended(RunStatus::Completed), &ended);
            h.grant("w1", 2, 0);
            h.append("w1", 2, Body::RunStarted(lease_entry(0)));
            h.append("w1", 2, received(&[("m1", 1)]));
            h.append("w1", 2, completed());
        },
        nearly: |h| {
            buried(h);
            redrive(h, 1, 2);
            h.grant("w1", 2, 0);
            h.append("w1", 2, Body::RunStarted(lease_entry(0)));
            h.append("w1", 2, received(&[("m1", 2)]));
            h.append("w1", 2, completed());
        },
    },
    Pair {
        invariant: "inbox-once",
        case: "a run receives a message twice",
        violates: |h| {
            h.begun();
            h.append("w1", 1, received(&[("m1", 1)]));
        },
        nearly: |h| {
            h.begun();
            h.deliver("m2", &[]);
            h.append("w1", 1, received(&[("m2", 2)]));
        },
    },
    Pair {
        invariant: "inbox-once",
        case: "mail is given to a run that is not the live one",
        violates: |h| {
            h.leased();
            drain(h, 7, None, &[drained("m1", 1, 0)]);
        },
        nearly: |h| {
            h.leased();
            drain(h, 7, None, &[]);
            drain(h, 1, None, &[drained("m1", 1, 0)]);
        },
    },
    Pair {
        invariant: "inbox-fifo",
        case: "nacked mail at the back",
        violates: |h| {
            h.leased();
            h.deliver("m2", &[]);
            drain(h, 1, None, &[drained("m2", 2, 0), drained("m1", 1, 0)]);
        },
        nearly: |h| {
            h.leased();
            h.deliver("m2", &[]);
            drain(h, 1, None, &[drained("m1", 1, 0), drained("m2", 2, 0)]);
            drain(h, 1, Some(1), &[drained("m2", 2, 0)]);
            drain(h, 1, None, &[drained("m1", 1, 0)]);
        },
    },
    Pair {
        invariant: "inbox-fifo",
        case: "an earlier message of the sender is left out",
        violates: |h| {
            h.leased();
            h.deliver("m2", &[]);
            drain(h, 1, None, &[drained("m2", 2, 0)]);
        },
        nearly: |h| {
            h.leased();
            h.deliver("m2", &[]);
            drain(h, 1, None, &[]);
        },
    },
    Pair {
        invariant: "inbox-fifo",
        case: "a log receives later mail first",
        violates: |h| {
            h.leased();
            h.deliver("m2", &[]);
            h.append("w1", 1, received(&[("m2", 2)]));
            h.append("w1", 1, received(&[("m1", 1)]));
        },
        nearly: |h| {
            h.leased();
            h.deliver("m2", &[]);
            h.append("w1", 1, received(&[("m1", 1)]));
            h.append("w1", 1, received(&[("m2", 2)]));
        },
    },
    Pair {
        invariant: "inbox-no-loss",
        case: "mail is left over and nobody is made for it",
        violates: |h| {
            h.begun();
            h.deliver("m2", &[]);
            h.completes();
        },
        nearly: |h| {
            h.begun();
            h.deliver("m2", &[]);
            h.append("w1", 1, completed());
            h.ack("w1", "m1", 1);
            h.returns_unit("w1", 1);
            let ended = [moved(run(1), RunStatus::Running, RunStatus::Completed), made(2)];
            h.release("w1", 1, 0, Release::Ended(RunStatus::Completed), &ended);
        },
    },
    Pair {
        invariant: "inbox-no-loss",
        case: "a new id is taken for a repeat",
        violates: |h| {
            h.begun();
            let request = Request::Deliver { to: billing(), message: message("m2"), notify: true };
            h.call(Actor::Input(1), request, Reply::Accepted(false), &[]);
        },
        nearly: |h| {
            h.begun();
            let request = Request::Deliver { to: billing(), message: message("m1"), notify: true };
            h.call(Actor::Input(1), request, Reply::Accepted(false), &[]);
        },
    },
    Pair {
        invariant: "inbox-settled-once",
        case: "a message is acked twice",
        violates: |h| {
            h.begun();
            h.append("w1", 1, completed());
            h.ack("w1", "m1", 1);
            h.ack("w1", "m1", 1);
        },
        nearly: |h| {
            h.begun();
            h.append("w1", 1, completed());
            h.ack("w1", "m1", 1);
            let request = Request::Ack { agent: billing(), message: "m1".into(), run: run(1) };
            h.call(worker("w1"), request, Reply::Done, &[]);
        },
    },
    Pair {
        invariant: "inbox-settled-once",
        case: "a late nack settles the next life",
        violates: |h| {
            buried(h);
            redrive(h, 1, 2);
            h.nack("w1", "m1", 1, 1, true);
        },
        nearly: |h| {
            buried(h);
            redrive(h, 1, 2);
            let disposition = Disposition::Dead("no".into());
            let (agent, message) = (billing(), "m1".into());
            let request = Request::Nack { agent, message, run: run(1), failure: 1, disposition };
            h.call(worker("w1"), request, Reply::Done, &[]);
        },
    },
    Pair {
        invariant: "inbox-attempts",
        case: "a lost reply counts one failure twice",
        violates: |h| {
            h.begun();
            h.append("w1", 1, retrying(1, Span::from_secs(5)));
            h.nack("w1", "m1", 1, 1, false);
            h.nack("w1", "m1", 1, 1, false);
            drain(h, 1, None, &[drained("m1", 1, 2)]);
        },
        nearly: |h| {
            h.begun();
            h.append("w1", 1, retrying(1, Span::from_secs(5)));
            h.nack("w1", "m1", 1, 1, false);
            h.nack("w1", "m1", 1, 1, false);
            drain(h, 1, None, &[drained("m1", 1, 1)]);
        },
    },
    Pair {
        invariant: "inbox-attempts",
        case: "a retry goes on and the failure was never noted",
        violates: |h| {
            h.begun();
            h.append("w1", 1, retrying(1, Span::from_secs(5)));
            h.secs(31);
            h.steal("w2", 1, 1);
            h.append("w2", 1, Body::RunResumed(lease_entry(1)));
        },
        nearly: |h| {
            h.begun();
            h.append("w1", 1, retrying(1, Span::from_secs(5)));
            h.secs(31);
            h.steal("w2", 1, 1);
            h.nack("w2", "m1", 1, 1, false);
            h.append("w2", 1, Body::RunResumed(lease_entry(1)));
        },
    },
    Pair {
        invariant: "inbox-attempts",
        case: "a dead letter tells more failures than there were",
        violates: |h| {
            buried(h);
            dead_letters(h, 1, 3);
        },
        nearly: |h| {
            buried(h);
            dead_letters(h, 1, 1);
        },
    },
    Pair {
        invariant: "inbox-dedup",
        case: "an id is forgotten at its ack",
        violates: |h| {
            h.begun();
            h.completes();
            h.deliver("m1", &[made(2)]);
        },
        nearly: |h| {
            h.begun();
            h.completes();
            let request = Request::Deliver { to: billing(), message: message("m1"), notify: true };
            h.call(Actor::Input(1), request, Reply::Accepted(false), &[]);
            h.deliver("m2", &[made(2)]);
        },
    },
    Pair {
        invariant: "inbox-dedup",
        case: "a repeated redrive begins a third life",
        violates: |h| {
            buried(h);
            redrive(h, 1, 2);
            redrive(h, 1, 3);
        },
        nearly: |h| {
            buried(h);
            redrive(h, 1, 2);
            let request = Request::Redrive { agent: billing(), message: "m1".into(), arrival: Arrival(1) };
            h.call(Actor::Input(2), request, Reply::Accepted(false), &[]);
        },
    },
    Pair {
        invariant: "inbox-no-loss",
        case: "a dead letter is missing",
        violates: |h| {
            buried(h);
            let request = Request::DeadLetters { agent: billing() };
            h.call(Actor::Input(1), request, Reply::DeadLetters(vec![]), &[]);
        },
        nearly: |h| {
            buried(h);
            dead_letters(h, 1, 1);
        },
    },
    Pair {
        invariant: "mail-given",
        case: "the agent does not get its whole batch",
        violates: |h| {
            h.leased();
            h.deliver("m2", &[]);
            h.append("w1", 1, received(&[("m1", 1), ("m2", 2)]));
            enters_with(h, &["m2"]);
        },
        nearly: |h| {
            h.leased();
            h.deliver("m2", &[]);
            h.append("w1", 1, received(&[("m1", 1), ("m2", 2)]));
            enters_with(h, &["m1", "m2"]);
        },
    },
    Pair {
        invariant: "mail-given",
        case: "a receive gives other mail than the log says",
        violates: |h| {
            receives(h, &["m3", "m2"]);
        },
        nearly: |h| {
            receives(h, &["m2", "m3"]);
        },
    },
];

fn dead_letters(history: &mut History, arrival: u64, attempts: u32) {
    let letter = DeadLetterEntry { message: message("m1"), arrival: Arrival(arrival), attempts, error: "no".into() };
    let request = Request::DeadLetters { agent: billing() };
    history.call(Actor::Input(1), request, Reply::DeadLetters(vec![letter]), &[]);
}

fn enters_with(history: &mut History, ids: &[&str]) {
    let batch = ids.iter().map(|id| message(id)).collect();
    history.event(Event::Entered { run: run(1), attempt: Attempt(0), batch });
}

/// Step 0 receives m2 and m3, and the agent is given these.
fn receives(history: &mut History, given: &[&str]) {
    history.begun();
    history.append("w1", 1, Body::TimerSet { opening: opening(0, CallKind::Receive), limit: None, child: None });
    history.deliver("m2", &[]);
    history.deliver("m3", &[]);
    let Body::MsgReceived { messages, .. } = received(&[("m2", 2), ("m3", 3)]) else { unreachable!() };
    history.append("w1", 1, Body::MsgReceived { step: Some(Step(0)), messages });
    let value = given.iter().map(|id| serde_json::json!({ "id": id })).collect();
    history.event(Event::Gave { run: run(1), attempt: Attempt(0), step: Step(0), value: Json::new(value) });
}
