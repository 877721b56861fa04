//! Drafts, commits and reads of memory.

use serde_json::{Value, json};

use super::Pair;
use super::day::*;
use super::history::*;
use crate::kernel::*;

fn draft(uid: &str) -> Value {
    json!({ "uid": uid, "type": "observation", "content": uid })
}

fn tool(step: u32, kind: &str, args: Value) -> Effect {
    Effect::new(run(1), Step(step), kind.into(), args.into())
}

/// A step of run 1 by `name`, from its intent to its result.
fn uses(history: &mut History, name: &str, step: u32, effect: Effect, result: EffectResult) {
    let opening = Opening { digest: Digest(effect.id.0), ..opening(step, CallKind::Effect) };
    history.append(name, 1, Body::ToolCalled { opening, effect, policy: Policy::Idempotent });
    history.record(name, result.clone());
    history.append(name, 1, Body::ToolResult { step: Step(step), result });
}

/// A step of run 1 stages a draft for Ana.
fn pushes(history: &mut History, name: &str, step: u32, uid: &str) {
    let effect = tool(step, MEMORY_PUSH, json!({ "user": "ana", "trace": draft(uid) }));
    let result = EffectResult::ok(effect.id, Json::empty());
    uses(history, name, step, effect, result);
}

/// The run of `p` leaves a draft, and has completed; the closing that tells so.
fn leaves_a_draft(history: &mut History) -> TraceBody {
    history.planned(json!({}));
    history.dispatches("p", 1, due());
    history.leases("w1", "p", 1, 0);
    let begun = history.last_ts() - Span::from_millis(3);
    let run = run_of("p", 1);
    let effect = Effect::new(run, Step(0), MEMORY_PUSH.into(), json!({ "user": "ana", "trace": draft("a") }).into());
    let result = EffectResult::ok(effect.id, Json::empty());
    let opening = Opening { digest: Digest(effect.id.0), ..opening(0, CallKind::Effect) };
    history.append_to(worker("w1"), run, Body::ToolCalled { opening, effect, policy: Policy::Idempotent });
    history.record("w1", result.clone());
    history.append_to(worker("w1"), run, Body::ToolResult { step: Step(0), result });
    let ended = history.completes_log("w1", "p", 1);
    let mut profile = block(Ran { begun, ended }, due());
    profile.execution_result.return_type = Some(ReturnType::Trace);
    profile.execution_result.trace_id = Some("a".into());
    closing_of("p", 1, due(), profile)
}

/// A step of run 1 reads Ana's memory and is given this trace.
fn pulls(history: &mut History, step: u32, uid: &str) {
    let effect = tool(step, MEMORY_PULL, json!({ "user": "ana" }));
    let result = EffectResult::ok(effect.id, json!({ "traces": [draft(uid)] }).into());
    uses(history, "w1", step, effect, result);
}

pub fn commits(history: &mut History, name: &str, drafts: &[(u32, &str)]) {
    let staged = |(step, uid): &(u32, &str)| Staged { step: Step(*step), trace: draft(uid).into() };
    let traces = drafts.iter().map(staged).collect();
    history.planner(name, TraceBody::MemoryCommitted { run: run(1), traces });
}

/// Run 1 stages two drafts.
pub fn staged(history: &mut History) {
    history.begun();
    pushes(history, "w1", 0, "a");
    pushes(history, "w1", 1, "b");
}

/// And completes.
fn completed_with_drafts(history: &mut History) {
    staged(history);
    history.append("w1", 1, completed());
}

fn goes(history: &mut History) {
    history.ack("w1", "m1", 1);
    history.released_as(RunStatus::Completed);
    history.heals();
}

pub const PAIRS: &[Pair] = &[
    Pair {
        invariant: "memport-committed",
        case: "an occurrence is closed before what it left is committed",
        violates: |h| {
            let closing = leaves_a_draft(h);
            h.planner("w1", closing);
        },
        nearly: |h| {
            let closing = leaves_a_draft(h);
            let traces = vec![Staged { step: Step(0), trace: draft("a").into() }];
            h.planner("w1", TraceBody::MemoryCommitted { run: run_of("p", 1), traces });
            h.planner("w1", closing);
        },
    },
    Pair {
        invariant: "memport-committed",
        case: "drafts are committed before their run has ended",
        violates: |h| {
            staged(h);
            commits(h, "w1", &[(0, "a"), (1, "b")]);
        },
        nearly: |h| {
            completed_with_drafts(h);
            commits(h, "w1", &[(0, "a"), (1, "b")]);
            goes(h);
        },
    },
    Pair {
        invariant: "memport-committed",
        case: "drafts of a run that failed are committed",
        violates: |h| {
            staged(h);
            h.append("w1", 1, failed(FailureCode::AgentCrashed));
            commits(h, "w1", &[(0, "a"), (1, "b")]);
        },
        nearly: |h| {
            staged(h);
            h.append("w1", 1, failed(FailureCode::EffectRefused));
        },
    },
    Pair {
        invariant: "memport-committed",
        case: "drafts are committed twice",
        violates: |h| {
            completed_with_drafts(h);
            commits(h, "w1", &[(0, "a"), (1, "b")]);
            commits(h, "w1", &[(0, "a"), (1, "b")]);
        },
        nearly: |h| {
            completed_with_drafts(h);
            commits(h, "w1", &[(0, "a"), (1, "b")]);
        },
    },
    Pair {
        invariant: "memport-committed",
        case: "a draft is left out, or in another place",
        violates: |h| {
            completed_with_drafts(h);
            commits(h, "w1", &[(1, "b"), (0, "a")]);
        },
        nearly: |h| {
            completed_with_drafts(h);
            commits(h, "w1", &[(0, "a"), (1, "b")]);
        },
    },
    Pair {
        invariant: "memport-committed",
        case: "a draft that was refused is committed",
        violates: |h| refused_second(h, &[(0, "a"), (1, "b")]),
        nearly: |h| refused_second(h, &[(0, "a")]),
    },
    Pair {
        invariant: "memport-committed",
        case: "the drafts of a run that has completed are never committed",
        violates: |h| {
            completed_with_drafts(h);
            goes(h);
        },
        nearly: |h| {
            completed_with_drafts(h);
            commits(h, "w1", &[(0, "a"), (1, "b")]);
            goes(h);
        },
    },
    Pair {
        invariant: "memport-committed",
        case: "a draft is read before it is memory",
        violates: |h| {
            h.begun();
            pushes(h, "w1", 0, "a");
            pulls(h, 1, "a");
        },
        nearly: |h| {
            let (uid, by) = ("a".into(), "ana".into());
            h.ana(TraceBody::TraceAdded { uid, trace: draft("a").into(), by });
            h.begun();
            pulls(h, 0, "a");
        },
    },
    Pair {
        invariant: "memport-committed",
        case: "a read leaves memory out",
        violates: |h| {
            for uid in ["a", "b"] {
                h.ana(TraceBody::TraceAdded { uid: uid.into(), trace: draft(uid).into(), by: "ana".into() });
            }
            h.begun();
            pulls(h, 0, "a");
        },
        nearly: |h| {
            h.ana(TraceBody::TraceAdded { uid: "a".into(), trace: draft("a").into(), by: "ana".into() });
            h.begun();
            pulls(h, 0, "a");
            h.ana(TraceBody::TraceAdded { uid: "b".into(), trace: draft("b").into(), by: "ana".into() });
        },
    },
    Pair {
        invariant: "trace-links",
        case: "a draft has the uid of another trace",
        violates: |h| {
            let (uid, by) = ("a".into(), "ana".into());
            h.ana(TraceBody::TraceAdded { uid, trace: draft("a").into(), by });
            completed_with_drafts(h);
            commits(h, "w1", &[(0, "a"), (1, "b")]);
        },
        nearly: |h| {
            completed_with_drafts(h);
            commits(h, "w1", &[(0, "a"), (1, "b")]);
        },
    },
    Pair {
        invariant: "lease-told",
        case: "who was told that its lease is lost commits drafts",
        violates: |h| {
            completed_with_drafts(h);
            told_lost(h);
            h.secs(1);
            commits(h, "w1", &[(0, "a"), (1, "b")]);
        },
        nearly: |h| {
            completed_with_drafts(h);
            told_lost(h);
            h.secs(1);
            commits(h, "w2", &[(0, "a"), (1, "b")]);
        },
    },
    Pair {
        invariant: "lease-told",
        case: "a planner without a lease",
        violates: |h| {
            told_lost_of_begun(h);
            h.append("w1", 1, value(0));
        },
        nearly: |h| {
            told_lost_of_begun(h);
            let (wait, from) = (Span::from_secs(30), Seq::FIRST);
            h.call(worker("w1"), Request::Read { run: stream(), from }, Reply::Entries(vec![]), &[]);
            h.call(worker("w1"), Request::Tail { run: stream(), from, wait }, Reply::Entries(vec![]), &[]);
            h.call(worker("w1"), Request::LastSeq { run: stream() }, Reply::LastSeq(Seq::EMPTY), &[]);
        },
    },
];

fn told_lost(history: &mut History) {
    history.secs(31);
    history.steal("w2", 1, 1);
    history.heartbeat("w1", 1, 0, true);
}

fn told_lost_of_begun(history: &mut History) {
    history.begun();
    told_lost(history);
    history.secs(1);
}

/// The second draft of run 1 is refused; what is committed when it has completed.
fn refused_second(history: &mut History, drafts: &[(u32, &str)]) {
    history.begun();
    pushes(history, "w1", 0, "a");
    let effect = tool(1, MEMORY_PUSH, json!({ "user": "ana", "trace": draft("b") }));
    let refused = EffectResult::refused(effect.id, "no", None);
    uses(history, "w1", 1, effect, refused);
    history.append("w1", 1, completed());
    commits(history, "w1", drafts);
}

/// Run 1 stages a draft under the lease of `w1` and another one under that of `w2`, which commits them.
pub fn handed_over(history: &mut History) {
    history.begun();
    pushes(history, "w1", 0, "a");
    history.secs(31);
    history.steal("w2", 1, 1);
    history.append("w2", 1, Body::RunResumed(lease_entry(1)));
    pushes(history, "w2", 1, "b");
    history.append("w2", 1, completed());
    commits(history, "w2", &[(0, "a"), (1, "b")]);
}
