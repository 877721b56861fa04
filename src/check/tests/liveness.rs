//! Liveness, case by case.

use super::Pair;
use super::history::*;
use crate::history::{Event, Phase};
use crate::kernel::*;

pub const PAIRS: &[Pair] = &[
    Pair {
        invariant: "progress-owner",
        case: "a run is queued in a world at rest",
        violates: |h| {
            h.deliver("m1", &[made(1)]);
            h.event(Event::Phase(Phase::Healed));
            h.event(Event::Phase(Phase::Quiescent));
        },
        nearly: |h| {
            h.begun();
            h.sleeps(&[Wait::Signal("go".into())]);
            h.event(Event::Phase(Phase::Healed));
            h.event(Event::Phase(Phase::Quiescent));
        },
    },
    Pair {
        invariant: "progress-owner",
        case: "a time to come that nobody has armed",
        violates: |h| {
            h.begun();
            h.sleeps(&[Wait::Time(h.now + Span::from_secs(600))]);
            h.event(Event::Phase(Phase::Healed));
            h.event(Event::Phase(Phase::Quiescent));
        },
        nearly: |h| {
            h.begun();
            h.append("w1", 1, Body::RunHalted { step: Step(0), expected: "now".into(), actual: "uuid".into() });
            h.release("w1", 1, 0, Release::Halted, &[asleep(run(1), &[])]);
            h.event(Event::Phase(Phase::Healed));
            h.event(Event::Phase(Phase::Quiescent));
        },
    },
    Pair {
        invariant: "converges",
        case: "the bound on events is reached",
        violates: |h| {
            h.begun();
            h.event(Event::Phase(Phase::Healed));
            h.event(Event::Phase(Phase::Exhausted));
            h.over();
        },
        nearly: |h| h.heals(),
    },
    Pair {
        invariant: "converges",
        case: "a run stays parked",
        violates: |h| {
            h.begun();
            h.append("w1", 1, retrying(1, Span::from_secs(5)));
            h.release("w1", 1, 0, Release::Suspended(vec![]), &[asleep(run(1), &[])]);
            h.heals();
        },
        nearly: |h| {
            h.begun();
            h.sleeps(&[Wait::Signal("go".into())]);
            h.heals();
        },
    },
    Pair {
        invariant: "serves-again",
        case: "the probe is never served",
        violates: |h| {
            h.begun();
            h.completes();
            h.event(Event::Phase(Phase::Healed));
            h.event(Event::Phase(Phase::Probing));
            h.over();
        },
        nearly: |h| h.heals(),
    },
    Pair {
        invariant: "bounded",
        case: "a run spins in one instant",
        violates: |h| spins(h, 10_001),
        nearly: |h| spins(h, 10_000),
    },
];

fn spins(history: &mut History, times: u32) {
    history.leased();
    history.secs(1);
    for _ in 0..times {
        let value = Json::null();
        history.event(Event::Gave { run: run(1), attempt: Attempt(0), step: Step(9), value });
    }
}
