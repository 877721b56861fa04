//! The scheduler, case by case.

use std::sync::Arc;

use super::Pair;
use super::history::*;
use crate::history::{Actor, ActorChange, Event};
use crate::kernel::*;

/// Runs 1 to `count`, each at an address of its own, are pending.
fn runs(history: &mut History, count: u128) {
    for number in 1..=count {
        let agent = AgentId::new("billing", &number.to_string()).unwrap();
        let change = crate::history::Change::Made { run: run(number), agent: agent.clone() };
        let request = Request::Deliver { to: agent, message: message("m"), notify: true };
        history.call(Actor::Input(0), request, Reply::Accepted(true), &[change]);
    }
}

fn grant_many(history: &mut History, numbers: &[u128], capacity: u32) {
    let leases: Vec<_> = numbers.iter().map(|number| history.lease("w1", *number, 0)).collect();
    let request = Request::Lease { worker: key("w1", 1, 0).worker, capacity, wait: Span::from_secs(30) };
    history.call(worker("w1"), request, Reply::Leases(leases), &[]);
}

fn starts(history: &mut History, number: u128) {
    history.append("w1", number, Body::RunStarted(lease_entry(0)));
}

fn lost_release(history: &mut History, name: &str, attempt: u32) {
    let request = Request::Release { lease: key(name, 1, attempt), how: Release::Pending };
    history.call(worker(name), request, Reply::Released(Released::Lost), &[]);
}

fn told_of_deadline(history: &mut History) {
    let at = history.now;
    let term = Term { renewed_at: at, expires_at: at + Span::from_secs(30) };
    let request = Request::Heartbeat { lease: key("w1", 1, 0) };
    history.call(worker("w1"), request, Reply::Heartbeat(Heartbeat::DeadlinePassed(term)), &[]);
}

fn cancelled(history: &mut History) {
    history.call(Actor::Input(1), Request::Cancel { run: run(1), reason: "no".into() }, Reply::Done, &[]);
}

/// Run 1 is leased with a deadline `after` from now, and begun.
fn begun_with_deadline(history: &mut History, after: Span) {
    history.deliver("m1", &[made(1)]);
    let deadline = Some(history.now + after);
    let lease = Lease { deadline, ..history.lease("w1", 1, 0) };
    history.grant_this(lease, &[]);
    starts(history, 1);
    history.append("w1", 1, received(&[("m1", 1)]));
}

/// Run 1 failed once and is parked for `park`.
fn parked(history: &mut History, delay: Span, park: Span) {
    history.begun();
    history.append("w1", 1, retrying(1, delay));
    history.nack("w1", "m1", 1, 1, false);
    let waits = [Wait::Time(history.now + park)];
    history.release("w1", 1, 0, Release::Suspended(waits.to_vec()), &[asleep(run(1), &waits)]);
}

/// Run 1, to end `after` from now, failed once; a lease 10 s later parks it again, after a cancel or without.
fn parked_again(history: &mut History, after: Span, cancelled: bool) {
    begun_with_deadline(history, after);
    history.append("w1", 1, retrying(1, Span::from_secs(5)));
    let waits = [Wait::Time(history.now + Span::from_secs(100))];
    if cancelled {
        history.cancels();
    }
    history.secs(31);
    let deadline = Some(history.now - Span::from_secs(31) + after);
    let lease = Lease { reclaims: 1, deadline, ..history.lease("w2", 1, 1) };
    history.grant_this(lease, &[woken(run(1), RunStatus::Running, Trigger::Reclaim)]);
    history.nack("w2", "m1", 1, 1, false);
    history.release("w2", 1, 1, Release::Suspended(waits.to_vec()), &[asleep(run(1), &waits)]);
}

/// Runs 1 and 2 become pending, and are granted one after the other, each with its priority.
fn two_wait(history: &mut History, priorities: [Priority; 2]) {
    two_wait_for(history, [1, 2], priorities, Span::from_millis(10));
}

/// As [`two_wait`], in this order and after this long; `priorities` are in the order of the grants.
fn two_wait_for(history: &mut History, order: [u128; 2], priorities: [Priority; 2], wait: Span) {
    runs(history, 2);
    history.pass(wait);
    for (number, priority) in order.into_iter().zip(priorities) {
        let lease = history.lease("w1", number, 0);
        let settings = SpecDefaults { priority, ..SpecDefaults::default() };
        let agent = AgentId::new("billing", &number.to_string()).unwrap();
        let spec = Arc::new(RunSpec { settings, agent, ..(*lease.spec).clone() });
        history.grant_this(Lease { spec, ..lease }, &[]);
    }
}

fn enters(history: &mut History, attempt: u32, batch: &[&str]) {
    let batch = batch.iter().map(|id| message(id)).collect();
    history.event(Event::Entered { run: run(1), attempt: Attempt(attempt), batch });
}

/// The run loses this many leases in a row; the last one still runs.
fn loses(history: &mut History, count: u32) {
    history.deliver("m1", &[made(1)]);
    history.grant("w1", 1, 0);
    for lost in 1..=count {
        history.secs(31);
        let lease = Lease { reclaims: lost, ..history.lease("w1", 1, lost) };
        history.grant_this(lease, &[woken(run(1), RunStatus::Running, Trigger::Reclaim)]);
    }
}

pub const PAIRS: &[Pair] = &[
    Pair {
        invariant: "lease-exclusive",
        case: "a lease is reclaimed before it has run out",
        violates: |h| {
            h.leased();
            h.secs(29);
            h.steal("w2", 1, 1);
        },
        nearly: |h| {
            h.leased();
            h.secs(31);
            h.steal("w2", 1, 1);
        },
    },
    Pair {
        invariant: "lease-exclusive",
        case: "a renewed lease is reclaimed",
        violates: |h| {
            h.leased();
            h.secs(20);
            h.heartbeat("w1", 1, 0, false);
            h.secs(11);
            h.steal("w2", 1, 1);
        },
        nearly: |h| {
            h.leased();
            h.secs(20);
            h.heartbeat("w1", 1, 0, false);
            h.secs(31);
            h.steal("w2", 1, 1);
        },
    },
    Pair {
        invariant: "lease-exclusive",
        case: "two live runs at one address",
        violates: |h| {
            h.leased();
            h.deliver("m2", &[made(2)]);
        },
        nearly: |h| {
            h.begun();
            h.completes();
            h.deliver("m2", &[made(2)]);
        },
    },
    Pair {
        invariant: "lease-capacity",
        case: "a poll is granted more than it asked for",
        violates: |h| {
            runs(h, 2);
            grant_many(h, &[1, 2], 1);
        },
        nearly: |h| {
            runs(h, 2);
            grant_many(h, &[1, 2], 2);
        },
    },
    Pair {
        invariant: "lease-capacity",
        case: "a worker works on more runs than it may",
        violates: |h| {
            runs(h, 3);
            grant_many(h, &[1, 2], 2);
            grant_many(h, &[3], 1);
            for number in [3, 1, 2] {
                starts(h, number);
            }
        },
        nearly: |h| {
            runs(h, 3);
            grant_many(h, &[1, 2], 2);
            for number in [1, 2] {
                starts(h, number);
            }
            // It dropped run 1 by itself, which nobody sees.
            grant_many(h, &[3], 1);
            for number in [3, 2] {
                h.append("w1", number, if number == 3 { Body::RunStarted(lease_entry(0)) } else { value(0) });
            }
        },
    },
    Pair {
        invariant: "lease-fenced",
        case: "a former holder writes after its successor",
        violates: |h| {
            h.leased();
            h.secs(31);
            h.steal("w2", 1, 1);
            h.append("w2", 1, Body::RunResumed(lease_entry(1)));
            h.append("w1", 1, received(&[("m1", 1)]));
        },
        nearly: |h| {
            h.leased();
            h.secs(31);
            h.steal("w2", 1, 1);
            h.append("w1", 1, received(&[("m1", 1)]));
            h.append("w2", 1, Body::RunResumed(lease_entry(1)));
        },
    },
    Pair {
        invariant: "lease-fenced",
        case: "a former holder's release takes place",
        violates: |h| {
            h.leased();
            h.secs(31);
            h.steal("w2", 1, 1);
            h.release("w1", 1, 0, Release::Pending, &[moved(run(1), RunStatus::Running, RunStatus::Pending)]);
        },
        nearly: |h| {
            h.leased();
            h.secs(31);
            // The lease has run out and nobody reclaimed it.
            h.release("w1", 1, 0, Release::Pending, &[moved(run(1), RunStatus::Running, RunStatus::Pending)]);
        },
    },
    Pair {
        invariant: "lease-told",
        case: "a heartbeat answers healthy after the loss",
        violates: |h| {
            h.leased();
            h.secs(31);
            h.steal("w2", 1, 1);
            h.heartbeat("w1", 1, 0, false);
        },
        nearly: |h| {
            h.leased();
            h.secs(31);
            h.heartbeat("w1", 1, 0, false);
            h.secs(31);
            h.steal("w2", 1, 1);
            h.heartbeat("w1", 1, 0, true);
        },
    },
    Pair {
        invariant: "lease-told",
        case: "the holder is told that it is lost",
        violates: |h| {
            h.leased();
            lost_release(h, "w1", 0);
        },
        nearly: |h| {
            h.leased();
            lost_release(h, "w2", 0);
        },
    },
    Pair {
        invariant: "lease-told",
        case: "who was told calls on",
        violates: |h| {
            h.leased();
            h.secs(31);
            h.steal("w2", 1, 1);
            h.heartbeat("w1", 1, 0, true);
            let request = Request::Drain { agent: billing(), run: run(1), after: None, max: 9 };
            h.call(worker("w1"), request, Reply::Drained(vec![drained("m1", 1, 0)]), &[]);
        },
        nearly: |h| {
            h.leased();
            h.secs(31);
            h.steal("w2", 1, 1);
            h.heartbeat("w1", 1, 0, true);
            h.secs(31);
            let lease = Lease { reclaims: 2, ..h.lease("w1", 1, 2) };
            h.grant_this(lease, &[woken(run(1), RunStatus::Running, Trigger::Reclaim)]);
            h.append("w1", 1, Body::RunResumed(lease_entry(2)));
        },
    },
    Pair {
        invariant: "lease-told",
        case: "who was told while it slept calls on after its waking",
        violates: |h| {
            told_in_a_pause(h);
            h.pass(Span::from_millis(1));
            h.sent(worker("w1"), Request::Drain { agent: billing(), run: run(1), after: None, max: 9 });
        },
        nearly: |h| {
            told_in_a_pause(h);
            // At the instant of its waking: what it had begun.
            h.now = h.now - Span::from_millis(1);
            h.sent(worker("w1"), Request::Drain { agent: billing(), run: run(1), after: None, max: 9 });
        },
    },
    Pair {
        invariant: "queue-coalesced",
        case: "the queue holds a run twice",
        violates: |h| {
            h.deliver("m1", &[made(1)]);
            h.call(Actor::Input(1), Request::Pending, Reply::Queue(vec![run(1), run(1)]), &[]);
        },
        nearly: |h| {
            h.deliver("m1", &[made(1)]);
            h.call(Actor::Input(1), Request::Pending, Reply::Queue(vec![run(1), run(2)]), &[]);
        },
    },
    Pair {
        invariant: "queue-coalesced",
        case: "a queued run is queued again",
        violates: |h| {
            h.begun();
            h.sleeps(&[Wait::Message { after: Arrival(1) }]);
            let change = woken(run(1), RunStatus::Suspended, mail());
            h.deliver("m2", std::slice::from_ref(&change));
            h.deliver("m3", &[change]);
        },
        nearly: |h| {
            h.begun();
            h.sleeps(&[Wait::Message { after: Arrival(1) }]);
            h.deliver("m2", &[woken(run(1), RunStatus::Suspended, mail())]);
            h.deliver("m3", &[]);
        },
    },
    Pair {
        invariant: "wake-not-lost",
        case: "mail comes to a run that waits for it",
        violates: |h| {
            h.begun();
            h.sleeps(&[Wait::Message { after: Arrival(1) }]);
            h.deliver("m2", &[]);
        },
        nearly: |h| {
            h.begun();
            h.sleeps(&[Wait::Message { after: Arrival(2) }]);
            h.deliver("m2", &[]);
        },
    },
    Pair {
        invariant: "wake-not-lost",
        case: "a release does not look at the buffer",
        violates: |h| {
            h.begun();
            signal(h, "go", "s1", &[]);
            h.sleeps(&[Wait::Signal("go".into())]);
        },
        nearly: |h| {
            h.begun();
            signal(h, "stop", "s1", &[]);
            h.sleeps(&[Wait::Signal("go".into())]);
            signal(h, "go", "s2", &[woken(run(1), RunStatus::Suspended, Trigger::Reclaim)]);
        },
    },
    Pair {
        invariant: "wake-not-lost",
        case: "a release does not look at the clock",
        violates: |h| {
            h.begun();
            let past = h.now - Span::from_secs(1);
            h.sleeps(&[Wait::Time(past)]);
        },
        nearly: |h| {
            h.begun();
            let future = h.now + Span::from_secs(1);
            h.sleeps(&[Wait::Time(future)]);
        },
    },
    Pair {
        invariant: "wake-not-lost",
        case: "a cancel is slept over",
        violates: |h| {
            h.begun();
            h.call(Actor::Input(1), Request::Cancel { run: run(1), reason: "no".into() }, Reply::Done, &[]);
            h.sleeps(&[Wait::Signal("go".into())]);
        },
        nearly: |h| {
            h.begun();
            h.call(Actor::Input(1), Request::Cancel { run: run(1), reason: "no".into() }, Reply::Done, &[]);
            h.append("w1", 1, suspended(&[]));
            let change = woken(run(1), RunStatus::Running, Trigger::Cancel);
            h.release("w1", 1, 0, Release::Suspended(vec![]), &[change]);
        },
    },
    Pair {
        invariant: "reclaim-bounded",
        case: "nobody takes the run of a dead worker",
        violates: |h| {
            h.leased();
            h.becomes("w1", ActorChange::Crashed);
            h.secs(60);
            h.steal("w2", 1, 1);
        },
        nearly: |h| {
            h.leased();
            h.becomes("w1", ActorChange::Crashed);
            h.becomes("w2", ActorChange::CutOff);
            h.secs(60);
            h.becomes("w2", ActorChange::Reachable);
            h.steal("w2", 1, 1);
        },
    },
    Pair {
        invariant: "no-starvation",
        case: "a queued run waits beside a worker with room",
        violates: |h| {
            h.deliver("m1", &[made(1)]);
            h.secs(15);
            h.grant("w1", 1, 0);
        },
        nearly: |h| {
            runs(h, 5);
            grant_many(h, &[1, 2], 2);
            h.becomes("w2", ActorChange::Stopping);
            h.secs(15);
            h.becomes("w2", ActorChange::Stopped);
            let again = WorkerId { name: "w2".into(), incarnation: 1 };
            h.event(Event::Actor { actor: Actor::Worker(again.clone()), change: ActorChange::Started });
            let lease = h.lease("w2", 3, 0);
            h.grant_this(Lease { key: LeaseKey { worker: again, ..lease.key }, ..lease }, &[]);
        },
    },
    Pair {
        invariant: "retry-policy",
        case: "a retry begins before its back-off is over",
        violates: |h| {
            parked(h, Span::from_secs(5), Span::from_secs(1));
            h.secs(2);
            let lease = h.lease("w2", 1, 1);
            h.grant_this(lease, &[woken(run(1), RunStatus::Suspended, Trigger::Retry)]);
            h.append("w2", 1, Body::RunResumed(lease_entry(1)));
        },
        nearly: |h| {
            parked(h, Span::from_secs(5), Span::from_secs(5));
            h.secs(6);
            let lease = h.lease("w2", 1, 1);
            h.grant_this(lease, &[woken(run(1), RunStatus::Suspended, Trigger::Retry)]);
            h.append("w2", 1, Body::RunResumed(lease_entry(1)));
        },
    },
    Pair {
        invariant: "retry-policy",
        case: "a back-off that is not the policy's",
        violates: |h| parked(h, Span::from_secs(4), Span::from_secs(5)),
        nearly: |h| parked(h, Span::from_secs(5), Span::from_secs(5)),
    },
    Pair {
        invariant: "retry-policy",
        case: "given up before the last retry",
        violates: |h| {
            h.begun();
            h.append("w1", 1, failed(FailureCode::AgentCrashed));
        },
        nearly: |h| {
            h.begun();
            h.append("w1", 1, failed(FailureCode::AbandonedStep));
        },
    },
    Pair {
        invariant: "poison-bounded",
        case: "a poisoned run is run again",
        violates: |h| {
            loses(h, 4);
            enters(h, 4, &[]);
        },
        nearly: |h| {
            loses(h, 3);
            enters(h, 3, &[]);
            h.secs(31);
            let lease = Lease { reclaims: 4, ..h.lease("w1", 1, 4) };
            h.grant_this(lease, &[woken(run(1), RunStatus::Running, Trigger::Reclaim)]);
            h.append("w1", 1, Body::RunStarted(lease_entry(4)));
            h.append("w1", 1, received(&[("m1", 1)]));
            h.append("w1", 1, failed(FailureCode::Poisoned));
        },
    },
    Pair {
        invariant: "poison-bounded",
        case: "ended as poisoned too soon",
        violates: |h| {
            loses(h, 3);
            h.append("w1", 1, Body::RunStarted(lease_entry(3)));
            h.append("w1", 1, failed(FailureCode::Poisoned));
        },
        nearly: |h| {
            loses(h, 3);
            h.append("w1", 1, Body::RunStarted(lease_entry(3)));
        },
    },
    Pair {
        invariant: "poison-bounded",
        case: "a release does not set the count to zero",
        violates: |h| {
            loses(h, 2);
            h.release("w1", 1, 2, Release::Pending, &[moved(run(1), RunStatus::Running, RunStatus::Pending)]);
            h.grant_this(Lease { reclaims: 2, ..h.lease("w1", 1, 3) }, &[]);
        },
        nearly: |h| {
            loses(h, 2);
            h.release("w1", 1, 2, Release::Pending, &[moved(run(1), RunStatus::Running, RunStatus::Pending)]);
            h.grant_this(h.lease("w1", 1, 3), &[]);
        },
    },
    Pair {
        invariant: "deadline-kept",
        case: "a step begins after the heartbeat told",
        violates: |h| {
            begun_with_deadline(h, Span::from_secs(5));
            h.secs(6);
            told_of_deadline(h);
            h.append("w1", 1, value(0));
        },
        nearly: |h| {
            begun_with_deadline(h, Span::from_secs(5));
            // The step was begun before, in a call that was never answered.
            h.sent(worker("w1"), Request::Append { run: run(1), body: Arc::new(value(0)), expected: h.last(run(1)) });
            h.secs(6);
            told_of_deadline(h);
            h.append("w1", 1, value(0));
            h.append("w1", 1, failed(FailureCode::DeadlineExceeded));
        },
    },
    Pair {
        invariant: "deadline-kept",
        case: "an agent is entered by a lease that was granted too late",
        violates: |h| {
            h.deliver("m1", &[made(1)]);
            let deadline = Some(h.now - Span::from_secs(1));
            h.grant_this(Lease { deadline, ..h.lease("w1", 1, 0) }, &[]);
            enters(h, 0, &["m1"]);
        },
        nearly: |h| {
            begun_with_deadline(h, Span::from_secs(5));
            enters(h, 0, &["m1"]);
        },
    },
    Pair {
        invariant: "deadline-kept",
        case: "a parked run whose deadline is over is parked again",
        violates: |h| parked_again(h, Span::from_secs(5), false),
        nearly: |h| parked_again(h, Span::from_secs(50), false),
    },
    Pair {
        invariant: "wake-not-lost",
        case: "a parked run that is cancelled is parked again",
        violates: |h| parked_again(h, Span::from_secs(50), true),
        nearly: |h| parked_again(h, Span::from_secs(50), false),
    },
    Pair {
        invariant: "queue-order",
        case: "lower priority goes first",
        violates: |h| two_wait(h, [Priority::Low, Priority::High]),
        nearly: |h| two_wait(h, [Priority::High, Priority::Low]),
    },
    Pair {
        invariant: "queue-order",
        case: "who came later goes first",
        violates: |h| two_wait_for(h, [2, 1], [Priority::Normal, Priority::Normal], Span::from_millis(10)),
        nearly: |h| two_wait_for(h, [2, 1], [Priority::High, Priority::Normal], Span::from_millis(10)),
    },
    Pair {
        invariant: "queue-order",
        case: "who waited over ten minutes does not go first",
        violates: |h| {
            h.becomes("w1", ActorChange::CutOff);
            h.becomes("w2", ActorChange::CutOff);
            two_wait_for(h, [2, 1], [Priority::High, Priority::Low], Span::from_secs(601));
        },
        nearly: |h| {
            h.becomes("w1", ActorChange::CutOff);
            h.becomes("w2", ActorChange::CutOff);
            two_wait_for(h, [2, 1], [Priority::High, Priority::Low], Span::from_secs(590));
        },
    },
    Pair {
        invariant: "deadline-kept",
        case: "a run lives past its deadline",
        violates: |h| {
            begun_with_deadline(h, Span::from_secs(5));
            h.sleeps(&[Wait::Signal("go".into())]);
            h.secs(6);
            h.heals();
        },
        nearly: |h| {
            begun_with_deadline(h, Span::from_secs(500));
            h.sleeps(&[Wait::Signal("go".into())]);
            h.secs(6);
            h.heals();
        },
    },
    Pair {
        invariant: "lease-told",
        case: "a heartbeat tells nothing of a cancel",
        violates: |h| {
            h.begun();
            cancelled(h);
            h.heartbeat("w1", 1, 0, false);
        },
        nearly: |h| {
            h.begun();
            h.heartbeat("w1", 1, 0, false);
            cancelled(h);
            let at = h.now;
            let term = Term { renewed_at: at, expires_at: at + Span::from_secs(30) };
            let told = Heartbeat::CancelRequested(term, "no".into());
            h.call(worker("w1"), Request::Heartbeat { lease: key("w1", 1, 0) }, Reply::Heartbeat(told), &[]);
        },
    },
    Pair {
        invariant: "lease-told",
        case: "a heartbeat tells nothing of a deadline",
        violates: |h| {
            begun_with_deadline(h, Span::from_secs(5));
            h.secs(5);
            h.heartbeat("w1", 1, 0, false);
        },
        nearly: |h| {
            begun_with_deadline(h, Span::from_secs(5));
            h.heartbeat("w1", 1, 0, false);
            h.secs(5);
            told_of_deadline(h);
        },
    },
    Pair {
        invariant: "lease-told",
        case: "a grant tells nothing of a cancel",
        violates: |h| {
            h.deliver("m1", &[made(1)]);
            cancelled(h);
            let lease = Lease { cancel_requested: None, ..h.lease("w1", 1, 0) };
            h.grant_this(lease, &[]);
        },
        nearly: |h| {
            h.deliver("m1", &[made(1)]);
            cancelled(h);
            h.grant("w1", 1, 0);
        },
    },
];

fn mail() -> Trigger {
    Trigger::Wakeup(Wakeup::Message { source_run: None })
}

fn told_in_a_pause(history: &mut History) {
    history.leased();
    history.secs(31);
    history.steal("w2", 1, 1);
    let call = history.sent(worker("w1"), Request::Heartbeat { lease: key("w1", 1, 0) });
    history.becomes("w1", ActorChange::Paused);
    history.did(call, Reply::Heartbeat(Heartbeat::Lost), &[]);
    history.heard(call, Reply::Heartbeat(Heartbeat::Lost));
    history.secs(5);
    history.becomes("w1", ActorChange::Resumed);
}

pub fn signal(history: &mut History, name: &str, id: &str, changes: &[crate::history::Change]) {
    let request = Request::Signal { run: run(1), name: name.into(), payload: Json::null(), id: id.into() };
    history.call(Actor::Input(3), request, Reply::Signalled(Signalled::Buffered), changes);
}
