//! The *sometimes* properties: each story reaches the one it is told for, and a calm life of a run reaches none.

use super::family::{cancelled, child, decision, notice};
use super::history::*;
use super::scheduler::signal;
use super::{ask, children, spend, supervisor, told};
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
    (Sometimes::SpawnReplayed, |h| {
        supervisor::reserved(h);
        h.ask_for(0, 2, h.given(2), &[]);
    }),
    (Sometimes::SpawnDenied, supervisor::refused),
    (Sometimes::SpawnPutOff, |h| {
        supervisor::full(h);
        h.ask_for(1, 3, Reserved::Ending { again: h.now }, &[]);
    }),
    (Sometimes::CreatedByAnother, |h| {
        supervisor::announced(h);
        h.creates("w2", child(2));
    }),
    (Sometimes::ReservationSwept, |h| {
        supervisor::reserved(h);
        h.append("w1", 1, completed());
        h.returns_unit("w1", 1);
        h.ack("w1", "m1", 1);
        let changes = [moved(run(1), RunStatus::Running, RunStatus::Completed), Change::Swept { run: run(2) }];
        h.release("w1", 1, 0, Release::Ended(RunStatus::Completed), &changes);
    }),
    (Sometimes::ChildEndsInSleep, |h| {
        children::ended(h);
        children::parent_sleeps(h);
        h.append_from(worker("w2"), 1, notice(ended_as(RunStatus::Completed)));
    }),
    (Sometimes::ChildEndsDuringRun, |h| {
        children::family(h);
        h.child_completes(2);
    }),
    (Sometimes::ChildEndsInReclaim, |h| {
        children::ended(h);
        h.heartbeat("w2", 2, 0, false);
        h.secs(30);
        h.append_from(worker("w2"), 1, notice(ended_as(RunStatus::Completed)));
    }),
    (Sometimes::JoinTimedOut, children::times_out),
    (Sometimes::BudgetRefused, |h| {
        spend::exhausted(h);
        spend::refuses(h, 2, "tokens");
    }),
    (Sometimes::AskReplied, ask::resolved),
    (Sometimes::AskAnsweredByEnd, |h| outcome_by_end(h, completed(), RunStatus::Completed)),
    (Sometimes::AskTargetFailed, |h| outcome_by_end(h, failed(FailureCode::EffectRefused), RunStatus::Failed)),
    (Sometimes::AskTargetCancelled, |h| outcome_by_end(h, cancelled(), RunStatus::Cancelled)),
    (Sometimes::AskTimedOut, |h| {
        ask::asked(h);
        h.secs(61);
        ask::claims(h, Some(Claimed::TimedOut));
        ask::resolves(h, ask::nobody());
    }),
    (Sometimes::AnswerTooLate, |h| {
        ask::replied(h);
        h.secs(61);
        ask::claims(h, Some(Claimed::TimedOut));
        ask::answers(h, &ask::outcome(7, 2), Signalled::Buffered);
    }),
    (Sometimes::CrashBeforeBatch, |h| {
        h.leased();
        h.becomes("w1", ActorChange::Crashed);
    }),
    (Sometimes::CrashBeforeResult, |h| {
        h.begun();
        h.append("w1", 1, called(0, Policy::AtMostOnce));
        h.perform("w1", 0, true, Performed::Done(done(0).value));
        h.record("w1", done(0));
        h.becomes("w1", ActorChange::Crashed);
    }),
    (Sometimes::CrashBeforeAnnouncement, |h| {
        supervisor::reserved(h);
        h.becomes("w1", ActorChange::Crashed);
    }),
    (Sometimes::CrashBeforeCreate, |h| {
        supervisor::announced(h);
        h.becomes("w1", ActorChange::Crashed);
    }),
    (Sometimes::CrashAfterDecision, |h| {
        children::family(h);
        h.append("w1", 1, decision(&[2], &[]));
        h.becomes("w1", ActorChange::Crashed);
    }),
    (Sometimes::CrashBeforeReturn, |h| {
        h.begun();
        h.append("w1", 1, completed());
        h.becomes("w1", ActorChange::Crashed);
    }),
    (Sometimes::CrashBeforeNotice, |h| {
        children::ended(h);
        h.becomes("w2", ActorChange::Crashed);
    }),
    (Sometimes::CrashBeforeWake, |h| {
        children::ended(h);
        h.append_from(worker("w2"), 1, notice(ended_as(RunStatus::Completed)));
        h.becomes("w2", ActorChange::Crashed);
    }),
    (Sometimes::CrashBeforeSettling, |h| {
        h.begun();
        h.append("w1", 1, completed());
        h.returns_unit("w1", 1);
        h.becomes("w1", ActorChange::Crashed);
    }),
];

fn ended_as(status: RunStatus) -> RunResult {
    super::family::told(2, status)
}

/// The target of a question ends without a reply, and the asker hears how.
fn outcome_by_end(history: &mut History, end: Body, status: RunStatus) {
    ask::heard(history);
    history.append("w2", 2, end);
    let outcome = ask::by_end(status);
    ask::answers(history, &outcome, Signalled::Buffered);
    ask::claims(history, ask::given(&outcome));
    ask::resolves(history, outcome);
}

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
