//! The *sometimes* properties: each story reaches the one it is told for, and a calm life of a run reaches none.

use super::history::*;
use super::scheduler::signal;
use super::told;
use crate::check::Sometimes;
use crate::history::{Actor, ActorChange, Change};
use crate::kernel::*;

/// A history that reaches a property.
type Story = (Sometimes, fn(&mut History));

const STORIES: &[Story] = &[
    (Sometimes::LeaseStolen, |h| {
        h.leased();
        h.secs(31);
        h.steal("w2", 1, 1);
    }),
    (Sometimes::LateRenewal, |h| {
        h.leased();
        h.secs(31);
        h.heartbeat("w1", 1, 0, false);
    }),
    (Sometimes::ZombieRefused, |h| {
        h.leased();
        h.secs(31);
        h.steal("w2", 1, 1);
        h.append("w2", 1, Body::RunResumed(lease_entry(1)));
        let request = Request::Append { run: run(1), body: value(0).into(), expected: Seq::FIRST };
        let actual = Seq::FIRST.next();
        let conflict = ConcurrentAppend { run_id: run(1), expected: Seq::FIRST, actual };
        h.call(worker("w1"), request, Reply::Conflict(conflict), &[]);
    }),
    (Sometimes::InDoubtAtOnce, |h| {
        h.begun();
        h.append("w1", 1, called(0, Policy::AtMostOnce));
        h.record("w1", EffectResult::in_doubt(effect(0).id));
    }),
    (Sometimes::InDoubtOnReplay, |h| {
        h.begun();
        h.append("w1", 1, called(0, Policy::AtMostOnce));
        h.secs(31);
        h.steal("w2", 1, 1);
        h.append("w2", 1, Body::RunResumed(lease_entry(1)));
        h.record("w2", EffectResult::in_doubt(effect(0).id));
    }),
    (Sometimes::HappenedUnseen, |h| {
        h.begun();
        h.append("w1", 1, called(0, Policy::AtMostOnce));
        h.perform("w1", 0, true, Performed::Unknown);
    }),
    (Sometimes::SignalBeforeSleep, |h| {
        h.begun();
        signal(h, "go", "s1", &[]);
    }),
    (Sometimes::TriggerDuringRun, |h| {
        h.begun();
        signal(h, "go", "s1", &[]);
        let waits = vec![Wait::Signal("go".into())];
        h.append("w1", 1, suspended(&waits));
        let change: Change = moved(run(1), RunStatus::Running, RunStatus::Pending);
        h.release("w1", 1, 0, Release::Suspended(waits), &[change]);
    }),
    (Sometimes::CrashInEpilogue, |h| {
        h.begun();
        h.append("w1", 1, completed());
        h.becomes("w1", ActorChange::Crashed);
    }),
    (Sometimes::CancelMeetsEnd, |h| {
        h.begun();
        h.append("w1", 1, completed());
        h.call(Actor::Input(1), Request::Cancel { run: run(1), reason: "late".into() }, Reply::Done, &[]);
    }),
    (Sometimes::LandsAfterDeath, |h| {
        h.leased();
        let call = h.sent(worker("w1"), Request::LastSeq { run: run(1) });
        h.becomes("w1", ActorChange::Crashed);
        h.did(call, Reply::LastSeq(Seq::FIRST), &[]);
    }),
];

#[test]
fn each_story_reaches_what_it_is_told_for() {
    for (what, story) in STORIES {
        let checker = told(*story).judged();
        assert!(checker.reached().any(|reached| reached == *what), "{}", what.as_str());
        assert!(checker.violations().is_empty(), "{}: {:?}", what.as_str(), checker.violations());
    }
}

#[test]
fn a_calm_life_reaches_nothing() {
    let calm = told(|h| {
        h.begun();
        h.effect("w1", 0, Policy::AtMostOnce);
        h.completes();
        h.heals();
    });
    assert_eq!(calm.judged().reached().collect::<Vec<_>>(), []);
}

#[test]
fn names_are_unique() {
    for (place, what) in Sometimes::ALL.iter().enumerate() {
        assert!(Sometimes::ALL[..place].iter().all(|other| other.as_str() != what.as_str()));
        assert!(what.about().ends_with('.'));
    }
}
