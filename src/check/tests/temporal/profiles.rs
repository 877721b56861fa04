//! Profiles, tries and feedback.

use serde_json::json;

use super::Pair;
use super::day::*;
use super::history::*;
use crate::kernel::*;

/// `p` is executed, and its closing is what `change` makes of the right one.
fn closed_as(history: &mut History, change: impl FnOnce(&mut Profile)) {
    history.planned(json!({}));
    let mut profile = block(history.runs("p", 1, due()), due());
    change(&mut profile);
    history.planner("w1", closing_of("p", 1, due(), profile));
}

/// `p` is executed with this window, and told as so aligned.
fn aligned(history: &mut History, window: Window, alignment: Alignment) {
    history.planned(json!({ "tempo_token": "<tempo:EveningReview>" }));
    let profile = block(history.runs("p", 1, due()), due());
    let tempo_token = Some("<tempo:EveningReview>".into());
    let profile = Box::new(Profile { tempo_token, tempo_alignment: alignment, ..profile });
    let occurrence = occurrence("p", 1);
    let body = TraceBody::PlanClosed { occurrence, due: Some(due()), window: Some(window), reason: None, profile };
    history.planner("w1", body);
}

/// A window that ended so long before the end of the run of `p`, which is 1 026.02 s after the epoch.
fn ended_before(millis: i64, micros: i64) -> Window {
    let mut known = History::new();
    known.planned(json!({ "tempo_token": "<tempo:EveningReview>" }));
    let ended = known.runs("p", 1, due()).ended;
    let end = ended - Span::from_millis(millis) - Span::from_micros(micros);
    Window { target: Interval { start: end - Span::from_secs(3_600), end }, boundary: None }
}

fn bounded(boundary: Interval) -> Window {
    Window { boundary: Some(boundary), ..ended_before(0, 0) }
}

/// A model call of the run of `p`, from its intent to its result.
fn calls_model(history: &mut History, step: u32, secs: i64) -> Span {
    let (run, kind) = (run_of("p", 1), Name::from("model"));
    let effect = Effect::new(run, Step(step), kind, Json::empty());
    let result = EffectResult::ok(effect.id, Json::empty());
    let opening = Opening { digest: Digest(effect.id.0), ..opening(step, CallKind::Model) };
    let key = effect.id;
    let account = || Reply::Account(Account::default());
    history.call(worker("w1"), Request::Totals { run }, account(), &[]);
    history.append_to(worker("w1"), run, Body::ToolCalled { opening, effect, policy: Policy::Repeatable });
    let from = history.last_ts();
    history.secs(secs);
    history.record("w1", result.clone());
    let amounts = Spend { turns: u64::from(step) + 1, ..Spend::default() };
    let once = Spend { turns: 1, ..Spend::default() };
    let spent = crate::history::Change::Spent { tree: run, key, amounts: once };
    let reply = Reply::Account(Account { spent: amounts, ..Account::default() });
    history.call(worker("w1"), Request::Spend { run, key, amounts: once }, reply, &[spent]);
    history.append_to(worker("w1"), run, Body::ToolResult { step: Step(step), result });
    history.last_ts().since(from)
}

/// `p` asks a model once, and its block tells this much more than that took.
fn thinks(history: &mut History, more: i64) {
    history.planned(json!({}));
    history.dispatches("p", 1, due());
    history.leases("w1", "p", 1, 0);
    let begun = history.last_ts() - Span::from_millis(3);
    let took = calls_model(history, 0, 2).as_millis();
    history.secs(3);
    let ended = history.does("w1", "p", 1, 0);
    let profile = Profile { agent_latency_ms: Some(took + more), ..block(Ran { begun, ended }, due()) };
    history.planner("w1", closing_of("p", 1, due(), profile));
}

/// The first try of `p` is lost with the lease of `w1`; `w2` takes it up, and completes it. Its block and its tries.
pub fn lost_try(history: &mut History) -> Profile {
    history.planned(json!({}));
    history.dispatches("p", 1, due());
    history.leases("w1", "p", 1, 0);
    let begun = history.last_ts() - Span::from_millis(3);
    history.loses("w2", "p", 1, 1);
    let again = history.last_ts();
    history.secs(1);
    let ended = history.completes_log("w2", "p", 1);
    history.goes("w2", "p", 1, 1, RunStatus::Completed);
    let tried = |executed_at, duration: Span, status| Try {
        executed_at,
        duration_ms: duration.as_millis(),
        status,
        reason: "why".into(),
        feedback_score: None,
    };
    let attempts = vec![
        tried(None, again.since(begun), Execution::Failed),
        tried(Some(ended), ended.since(again), Execution::Completed),
    ];
    Profile { attempts, ..block(Ran { begun, ended }, due()) }
}

fn lost_try_as(history: &mut History, change: impl FnOnce(&mut Profile)) {
    let mut profile = lost_try(history);
    change(&mut profile);
    history.planner("w2", closing_of("p", 1, due(), profile));
}

/// The run of `p` sleeps for a while, and goes on under another lease.
fn sleeps_in_between(history: &mut History, tries: usize) {
    history.planned(json!({}));
    history.dispatches("p", 1, due());
    history.leases("w1", "p", 1, 0);
    let begun = history.last_ts() - Span::from_millis(3);
    let (run, waits) = (run_of("p", 1), vec![Wait::Signal("go".into())]);
    history.append_to(worker("w1"), run, suspended(&waits));
    let lease = LeaseKey { run, ..key("w1", 1, 0) };
    let request = Request::Release { lease, how: Release::Suspended(waits.clone()) };
    history.call(worker("w1"), request, Reply::Released(Released::Released), &[asleep(run, &waits)]);
    history.secs(60);
    let signal = Request::Signal { run, name: "go".into(), payload: Json::null(), id: "s".into() };
    let wakes = woken(
        run,
        RunStatus::Suspended,
        Trigger::Wakeup(Wakeup::Signal { signal: "go".into(), payload: Json::null() }),
    );
    history.call(crate::history::Actor::Input(0), signal, Reply::Signalled(Signalled::Buffered), &[wakes]);
    history.leases("w2", "p", 1, 1);
    let again = history.last_ts();
    let ended = history.completes_log("w2", "p", 1);
    history.goes("w2", "p", 1, 1, RunStatus::Completed);
    let tried = |duration: Span| Try {
        executed_at: Some(ended),
        duration_ms: duration.as_millis(),
        status: Execution::Completed,
        reason: "why".into(),
        feedback_score: None,
    };
    let attempts = vec![tried(again.since(begun)), tried(ended.since(again))];
    let attempts = attempts.into_iter().take(tries).collect();
    let profile = Profile { attempts, ..block(Ran { begun, ended }, due()) };
    history.planner("w1", closing_of("p", 1, due(), profile));
}

/// Another planner tries to append this closing where the right one stands.
fn closes_again(history: &mut History, change: impl FnOnce(&mut Profile)) {
    let mut profile = history.done();
    change(&mut profile);
    let expected = Seq::new(history.last(stream()).get() - 1).unwrap();
    let body = Body::Trace(Box::new(closing_of("p", 1, due(), profile)));
    let conflict = ConcurrentAppend { run_id: stream(), expected, actual: history.last(stream()) };
    let request = Request::Append { run: stream(), body: body.into(), expected };
    history.call(worker("w2"), request, Reply::Conflict(conflict), &[]);
}

/// Feedback on `p`, with a block that `change` has touched.
fn judged_as(history: &mut History, change: impl FnOnce(&mut Profile)) {
    let before = history.done();
    let mut body = feedback_on(&before, "f1", 4, 8, 60);
    if let TraceBody::PlanFeedback { profile, .. } = &mut body {
        change(profile);
    }
    history.ana(body);
}

pub const PAIRS: &[Pair] = &[
    Pair {
        invariant: "profile-exact",
        case: "a duration is off by a millisecond",
        violates: |h| closed_as(h, |profile| profile.duration_ms += 1),
        nearly: |h| closed_as(h, |_| {}),
    },
    Pair {
        invariant: "profile-exact",
        case: "a deviation is taken from the dispatch",
        violates: |h| closed_as(h, |profile| profile.deviation_ms = Some(profile.duration_ms)),
        nearly: |h| closed_as(h, |_| {}),
    },
    Pair {
        invariant: "profile-exact",
        case: "a run that completed is told as failed",
        violates: |h| closed_as(h, |profile| profile.execution_result.status = Execution::Failed),
        nearly: |h| closed_as(h, |_| {}),
    },
    Pair {
        invariant: "profile-exact",
        case: "it leaves a trace that it never staged",
        violates: |h| {
            closed_as(h, |profile| {
                profile.execution_result.trace_id = Some("p".into());
                profile.execution_result.return_type = Some(ReturnType::Trace);
            })
        },
        nearly: |h| closed_as(h, |_| {}),
    },
    Pair {
        invariant: "profile-exact",
        case: "another one planned it",
        violates: |h| closed_as(h, |profile| profile.execution_result.planned_by = Some("ben".into())),
        nearly: |h| closed_as(h, |_| {}),
    },
    Pair {
        invariant: "profile-exact",
        case: "more than a quarter of an hour is told as exact",
        violates: |h| aligned(h, ended_before(900_000, 1), Alignment::Exact),
        nearly: |h| aligned(h, ended_before(900_000, 0), Alignment::Exact),
    },
    Pair {
        invariant: "profile-exact",
        case: "more than an hour and a half is told as partial",
        violates: |h| aligned(h, ended_before(5_400_000, 1), Alignment::Partial),
        nearly: |h| aligned(h, ended_before(5_400_000, 0), Alignment::Partial),
    },
    Pair {
        invariant: "profile-exact",
        case: "another day is told as exact",
        violates: |h| aligned(h, bounded(day(1)), Alignment::Exact),
        nearly: |h| aligned(h, bounded(day(0)), Alignment::Exact),
    },
    Pair {
        invariant: "profile-exact",
        case: "the latency of a model is off by a millisecond",
        violates: |h| thinks(h, 1),
        nearly: |h| thinks(h, 0),
    },
    Pair {
        invariant: "profile-exact",
        case: "a plan that never ran was executed",
        violates: |h| {
            h.ana_is_known();
            h.proposes("p", document(json!({})), ana());
            h.rejects("p");
            h.planner("w1", skipped("p", Profile { executed_at: Some(due()), ..nulls() }));
        },
        nearly: |h| {
            h.ana_is_known();
            h.proposes("p", document(json!({ "planned_by": "ana" })), ana());
            h.rejects("p");
            h.planner("w1", skipped("p", nulls()));
        },
    },
    Pair {
        invariant: "profile-exact",
        case: "a reward is wrong",
        violates: |h| judged_as(h, |profile| profile.reward_signal = Some(Reward(7))),
        nearly: |h| judged_as(h, |_| {}),
    },
    Pair {
        invariant: "profile-attempts",
        case: "a lost try is not told",
        violates: |h| lost_try_as(h, |profile| profile.attempts.clear()),
        nearly: |h| lost_try_as(h, |_| {}),
    },
    Pair {
        invariant: "profile-attempts",
        case: "a lost try has an end",
        violates: |h| lost_try_as(h, |profile| profile.attempts[0].executed_at = profile.executed_at),
        nearly: |h| lost_try_as(h, |_| {}),
    },
    Pair {
        invariant: "profile-attempts",
        case: "a sleep is told as two tries",
        violates: |h| sleeps_in_between(h, 2),
        nearly: |h| sleeps_in_between(h, 0),
    },
    Pair {
        invariant: "profile-attempts",
        case: "one try is told as one",
        violates: |h| sleeps_in_between(h, 1),
        nearly: |h| sleeps_in_between(h, 0),
    },
    Pair {
        invariant: "profile-once",
        case: "a planner computes a profile again, and it comes out otherwise",
        violates: |h| closes_again(h, |profile| profile.duration_ms += 1),
        nearly: |h| closes_again(h, |_| {}),
    },
    Pair {
        invariant: "feedback-bounded",
        case: "feedback rewrites a figure",
        violates: |h| judged_as(h, |profile| profile.duration_ms = 0),
        nearly: |h| judged_as(h, |_| {}),
    },
    Pair {
        invariant: "feedback-bounded",
        case: "feedback is for an occurrence that never ran",
        violates: |h| {
            h.ana_is_known();
            h.proposes("p", document(json!({})), ana());
            h.rejects("p");
            h.planner("w1", skipped("p", nulls()));
            h.ana(feedback_on(&nulls(), "f1", 1, 0, 60));
        },
        nearly: |h| {
            let profile = h.done();
            h.ana(feedback_on(&profile, "f1", 1, 2, 60));
        },
    },
    Pair {
        invariant: "feedback-bounded",
        case: "feedback comes before the execution",
        violates: |h| {
            let profile = h.done();
            h.ana(feedback_on(&profile, "f1", 1, 2, -1));
        },
        nearly: |h| {
            let profile = h.done();
            h.ana(feedback_on(&profile, "f1", 1, 2, 0));
        },
    },
    Pair {
        invariant: "feedback-bounded",
        case: "one feedback counts twice",
        violates: |h| {
            let profile = h.done();
            h.ana(feedback_on(&profile, "f1", 1, 2, 60));
            h.ana(feedback_on(&profile, "f1", 1, 2, 60));
        },
        nearly: |h| {
            let profile = h.done();
            h.ana(feedback_on(&profile, "f1", 1, 2, 60));
            h.ana(feedback_on(&profile, "f2", 5, 10, 90));
        },
    },
    Pair {
        invariant: "feedback-bounded",
        case: "the score of the last try is forgotten",
        violates: |h| scored_after_loss(h, false),
        nearly: |h| scored_after_loss(h, true),
    },
];

fn scored_after_loss(history: &mut History, last: bool) {
    let before = lost_try(history);
    history.planner("w2", closing_of("p", 1, due(), before.clone()));
    let mut body = feedback_on(&before, "f1", 3, 6, 60);
    if let TraceBody::PlanFeedback { profile, .. } = &mut body
        && !last
    {
        profile.attempts.iter_mut().for_each(|tried| tried.feedback_score = None);
    }
    history.ana(body);
}
