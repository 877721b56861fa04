//! Publish and subscribe, case by case.

use serde_json::json;

use super::Pair;
use super::family::helper;
use super::history::*;
use crate::history::{Actor, CallNo, Change};
use crate::kernel::*;

fn news() -> TopicId {
    "news".parse().unwrap()
}

fn subscription(number: u128) -> Subscription {
    Subscription { follower: helper(number), topic: news() }
}

fn stamp(secs: i64) -> Stamp {
    Stamp { ts: Timestamp::from_micros(0) + Span::from_secs(secs), step: Step(0) }
}

fn follow(history: &mut History, number: u128, at: Stamp, changes: bool) {
    let subscription = subscription(number);
    let change = Change::Following { subscription: subscription.clone(), follows: true };
    let request = Request::Follow { subscription, stamp: at };
    history.call(Actor::Input(0), request, Reply::Done, if changes { std::slice::from_ref(&change) } else { &[] });
}

fn unfollow(history: &mut History, number: u128, at: Stamp, changes: bool) {
    let subscription = subscription(number);
    let change = Change::Following { subscription: subscription.clone(), follows: false };
    let request = Request::Unfollow { subscription, stamp: at };
    history.call(Actor::Input(0), request, Reply::Done, if changes { std::slice::from_ref(&change) } else { &[] });
}

fn letter() -> Message {
    Message { sender: billing(), ..message("1.0") }
}

/// Runs 1's agent publishes; helpers 2 and 3 follow.
fn published(history: &mut History) {
    follow(history, 2, stamp(1), true);
    follow(history, 3, stamp(1), true);
    history.begun();
    let (topic, message) = (news(), letter());
    history.append("w1", 1, Body::TopicPublished { opening: opening(0, CallKind::Emit), topic, message });
}

fn asks(history: &mut History, told: &[u128]) {
    let told = told.iter().map(|number| helper(*number)).collect();
    history.call(worker("w1"), Request::FollowersOf { topic: news() }, Reply::Agents(told), &[]);
}

fn deliver(number: u128) -> Request {
    Request::Deliver { to: helper(number), message: letter(), notify: true }
}

fn arrives(history: &mut History, call: CallNo, number: u128) {
    let arrival = history.arrival();
    let agent = helper(number);
    let stored = Change::Stored { agent: agent.clone(), message: letter().id, arrival };
    let made = Change::Made { run: run(number), agent };
    history.did(call, Reply::Accepted(true), &[stored, made]);
}

fn brings(history: &mut History, number: u128) {
    let call = history.sent(worker("w1"), deliver(number));
    arrives(history, call, number);
    history.heard(call, Reply::Accepted(true));
}

/// Both deliveries under way before one returns.
fn brings_both(history: &mut History) {
    let calls = [2, 3].map(|number| (history.sent(worker("w1"), deliver(number)), number));
    for (call, number) in calls {
        arrives(history, call, number);
        history.heard(call, Reply::Accepted(true));
    }
}

/// The agent of run 1 follows, by its step 0.
fn follows(history: &mut History) -> Stamp {
    history.begun();
    let value = json!({ "topic": "news" }).into();
    history.append("w1", 1, Body::StepValue { opening: opening(0, CallKind::Follow), value });
    Stamp { ts: history.now - Span::from_millis(1), step: Step(0) }
}

fn asks_to_follow(history: &mut History, stamp: Stamp) {
    let subscription = Subscription { follower: billing(), topic: news() };
    let change = Change::Following { subscription: subscription.clone(), follows: true };
    history.call(worker("w1"), Request::Follow { subscription, stamp }, Reply::Done, &[change]);
}

pub const PAIRS: &[Pair] = &[
    Pair {
        invariant: "fanout-once",
        case: "a follower gets nothing",
        violates: |h| {
            published(h);
            asks(h, &[2, 3]);
            brings(h, 2);
            h.append("w1", 1, value(1));
        },
        nearly: |h| {
            published(h);
            unfollow(h, 3, stamp(2), true);
            asks(h, &[2]);
            brings(h, 2);
            h.append("w1", 1, value(1));
        },
    },
    Pair {
        invariant: "fanout-once",
        case: "a follower gets nothing, and the run ends",
        violates: |h| {
            published(h);
            h.completes();
        },
        nearly: |h| {
            published(h);
            asks(h, &[2, 3]);
            brings_both(h);
            h.completes();
        },
    },
    Pair {
        invariant: "fanout-once",
        case: "somebody gets it who does not follow",
        violates: |h| {
            published(h);
            brings(h, 4);
        },
        nearly: |h| {
            published(h);
            follow(h, 4, stamp(2), true);
            unfollow(h, 4, stamp(3), true);
            brings(h, 4);
        },
    },
    Pair {
        invariant: "fanout-once",
        case: "somebody gets it who had ceased to follow before",
        violates: |h| {
            follow(h, 4, stamp(1), true);
            unfollow(h, 4, stamp(2), true);
            published(h);
            brings(h, 4);
        },
        nearly: |h| {
            follow(h, 4, stamp(1), true);
            published(h);
            unfollow(h, 4, stamp(2), true);
            brings(h, 4);
        },
    },
    Pair {
        invariant: "fanout-once",
        case: "an answer leaves a follower out",
        violates: |h| {
            published(h);
            asks(h, &[2]);
        },
        nearly: |h| {
            published(h);
            asks(h, &[2, 3]);
        },
    },
    Pair {
        invariant: "fanout-once",
        case: "an agent is told of a topic that it does not follow",
        violates: |h| {
            follow(h, 2, stamp(1), true);
            unfollow(h, 2, stamp(2), true);
            h.call(Actor::Input(0), Request::Following { agent: helper(2) }, Reply::Topics(vec![news()]), &[]);
        },
        nearly: |h| {
            follow(h, 2, stamp(1), true);
            h.call(Actor::Input(0), Request::Following { agent: helper(2) }, Reply::Topics(vec![news()]), &[]);
        },
    },
    Pair {
        invariant: "fanout-once",
        case: "an old request undoes a later one",
        violates: |h| {
            follow(h, 2, stamp(3), true);
            unfollow(h, 2, stamp(2), true);
        },
        nearly: |h| {
            follow(h, 2, stamp(3), true);
            unfollow(h, 2, stamp(2), false);
            follow(h, 2, stamp(3), false);
            unfollow(h, 2, stamp(4), true);
        },
    },
    Pair {
        invariant: "fanout-isolated",
        case: "a follower waits for another one",
        violates: |h| {
            published(h);
            asks(h, &[2, 3]);
            brings(h, 2);
            brings(h, 3);
        },
        nearly: |h| {
            published(h);
            asks(h, &[2, 3]);
            brings_both(h);
        },
    },
    Pair {
        invariant: "fanout-isolated",
        case: "a new follower waits for those of the round before",
        violates: |h| {
            published(h);
            asks(h, &[2, 3]);
            brings_both(h);
            follow(h, 4, stamp(4), true);
            brings(h, 4);
        },
        nearly: |h| {
            published(h);
            asks(h, &[2, 3]);
            brings_both(h);
            follow(h, 4, stamp(4), true);
            asks(h, &[2, 3, 4]);
            brings(h, 4);
        },
    },
    Pair {
        invariant: "announced-done",
        case: "a worker delivers what nobody published",
        violates: |h| {
            follow(h, 2, stamp(1), true);
            h.begun();
            brings(h, 2);
        },
        nearly: |h| {
            published(h);
            asks(h, &[2, 3]);
            brings_both(h);
        },
    },
    Pair {
        invariant: "announced-done",
        case: "a worker follows for an agent that did not ask",
        violates: |h| {
            let stamp = follows(h);
            asks_to_follow(h, Stamp { step: Step(1), ..stamp });
        },
        nearly: |h| {
            let stamp = follows(h);
            asks_to_follow(h, stamp);
        },
    },
    Pair {
        invariant: "announced-done",
        case: "nobody carries a follow out",
        violates: |h| {
            follows(h);
            h.completes();
            h.heals();
        },
        nearly: |h| {
            let stamp = follows(h);
            asks_to_follow(h, stamp);
            h.completes();
            h.heals();
        },
    },
];
