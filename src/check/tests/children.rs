//! The end of children, case by case.

use serde_json::json;

use super::Pair;
use super::family::*;
use super::history::*;
use crate::history::{Actor, Event, Phase};
use crate::kernel::*;

/// Run 1 has a child that runs.
pub fn family(history: &mut History) {
    history.parent(5);
    history.spawns(0, child(2));
    history.child_begins(child(2));
}

/// The child's log is closed, and its unit is back.
pub fn ended(history: &mut History) {
    family(history);
    history.append("w2", 2, completed());
    history.returns_unit("w2", 2);
}

pub fn parent_sleeps(history: &mut History) {
    history.append("w1", 1, joins(1, 2, None));
    history.sleeps(&[Wait::Child(run(2))]);
}

/// Run 1 is woken by the end of its child.
fn by_child() -> crate::history::Change {
    let wakeup = Wakeup::ChildDone { child_run: run(2), result_ref: None };
    woken(run(1), RunStatus::Suspended, Trigger::Wakeup(wakeup))
}

/// Run 1 joins its child, which has completed.
fn joined(history: &mut History) {
    family(history);
    history.child_completes(2);
    history.append("w1", 1, joins(1, 2, Some(Span::from_secs(5))));
}

fn cancels_parent(history: &mut History) {
    history.cancels();
    history.append_from(Actor::Input(1), 1, Body::CancelRequested { reason: "no".into() });
}

/// Run 1 is cancelled and ends, with a decision about its child.
fn cancelled_parent(history: &mut History) {
    family(history);
    cancels_parent(history);
    let (reason, in_doubt) = (Name::from("no"), vec![]);
    let ending = Ending::Cancelled { reason, in_doubt };
    let (cancel, detach) = (vec![run(2)], vec![]);
    history.append("w1", 1, Body::OrphansResolved { ending, cancel, detach });
    history.append("w1", 1, cancelled());
}

fn sleeps_for_good(history: &mut History, number: u128) {
    let waits = [Wait::Signal("go".into())];
    history.append("w2", number, suspended(&waits));
    history.release("w2", number, 0, Release::Suspended(waits.to_vec()), &[asleep(run(number), &waits)]);
}

pub const PAIRS: &[Pair] = &[
    Pair {
        invariant: "child-completed-once",
        case: "the end of a child stands twice",
        violates: |h| {
            ended(h);
            h.tells(2, told(2, RunStatus::Completed));
            h.append_from(worker("w2"), 1, notice(told(2, RunStatus::Completed)));
        },
        nearly: |h| {
            ended(h);
            h.tells(2, told(2, RunStatus::Completed));
            h.wakes_parent(2, &[]);
        },
    },
    Pair {
        invariant: "child-completed-once",
        case: "the end of a run that is no child",
        violates: |h| {
            h.serves_probe();
            h.parent(5);
            let result = RunResult { run_id: run(99), ..told(2, RunStatus::Completed) };
            h.append_from(worker("w2"), 1, notice(result));
        },
        nearly: |h| {
            ended(h);
            h.tells(2, told(2, RunStatus::Completed));
        },
    },
    Pair {
        invariant: "child-completed-once",
        case: "somebody tells who never held the child",
        violates: |h| {
            ended(h);
            h.append_from(worker("w1"), 1, notice(told(2, RunStatus::Completed)));
        },
        nearly: |h| {
            family(h);
            h.child_completes(2);
        },
    },
    Pair {
        invariant: "cause-first",
        case: "the end of a child is told before it is there",
        violates: |h| {
            family(h);
            h.append_from(worker("w2"), 1, notice(told(2, RunStatus::Completed)));
        },
        nearly: ended,
    },
    Pair {
        invariant: "cause-first",
        case: "a unit is given back before the end",
        violates: |h| {
            family(h);
            h.returns_unit("w2", 2);
        },
        nearly: ended,
    },
    Pair {
        invariant: "cause-first",
        case: "a parent is woken before its log tells why",
        violates: |h| {
            ended(h);
            h.wakes_parent(2, &[]);
        },
        nearly: |h| {
            ended(h);
            h.append_from(worker("w2"), 1, notice(told(2, RunStatus::Completed)));
            h.wakes_parent(2, &[]);
        },
    },
    Pair {
        invariant: "join-truth",
        case: "another end is told than the child's own",
        violates: |h| {
            ended(h);
            h.tells(2, told(2, RunStatus::Failed));
        },
        nearly: |h| {
            ended(h);
            h.tells(2, RunResult { output: None, ..told(2, RunStatus::Completed) });
        },
    },
    Pair {
        invariant: "join-truth",
        case: "another output is told than the child's own",
        violates: |h| {
            ended(h);
            h.tells(2, RunResult { output: Some(json!(7).into()), ..told(2, RunStatus::Completed) });
        },
        nearly: |h| {
            ended(h);
            let result = Box::new(RunResult { output: None, ..told(2, RunStatus::Completed) });
            let result_ref = Some(ArtifactRef("x".into()));
            h.append_from(worker("w2"), 1, Body::ChildCompleted { result, result_ref });
        },
    },
    Pair {
        invariant: "join-truth",
        case: "a join gives something else",
        violates: |h| {
            joined(h);
            h.gives(1, json!(told(2, RunStatus::Cancelled)));
        },
        nearly: |h| {
            joined(h);
            h.gives(1, json!(told(2, RunStatus::Completed)));
        },
    },
    Pair {
        invariant: "join-truth",
        case: "a join that timed out gives a result after all",
        violates: |h| {
            times_out(h);
            h.child_completes(2);
            h.gives(1, json!(told(2, RunStatus::Completed)));
        },
        nearly: |h| {
            times_out(h);
            h.child_completes(2);
            h.gives(1, json!(null));
        },
    },
    Pair {
        invariant: "join-truth",
        case: "a join times out over an end that was there",
        violates: |h| {
            joined(h);
            h.secs(6);
            h.append("w1", 1, Body::TimerFired { step: Step(1) });
        },
        nearly: times_out,
    },
    Pair {
        invariant: "join-truth",
        case: "children_of leaves one out",
        violates: |h| {
            family(h);
            h.logs(1, CallKind::ChildrenOf, json!([]));
        },
        nearly: |h| {
            family(h);
            h.logs(1, CallKind::ChildrenOf, json!([{ "run_id": run(2), "agent_id": helper(2) }]));
            h.child_completes(2);
            h.logs(2, CallKind::ChildrenOf, json!([]));
        },
    },
    Pair {
        invariant: "join-truth",
        case: "a child is said to have ended before the log says so",
        violates: |h| {
            ended(h);
            h.logs(1, CallKind::Status, json!({ "run_id": run(2), "status": "completed", "last_seq": 2 }));
        },
        nearly: |h| {
            ended(h);
            h.logs(1, CallKind::Status, json!({ "run_id": run(2), "status": "running", "last_seq": 2 }));
        },
    },
    Pair {
        invariant: "announced-done",
        case: "a child is released and its parent's log does not say so",
        violates: |h| {
            ended(h);
            h.child_goes(2, RunStatus::Completed);
        },
        nearly: |h| {
            family(h);
            h.child_completes(2);
        },
    },
    Pair {
        invariant: "announced-done",
        case: "a child is cancelled that nobody said to cancel",
        violates: |h| {
            family(h);
            h.flags(worker("w1"), 2);
        },
        nearly: |h| {
            family(h);
            h.logs(1, CallKind::Cancel, json!({ "run": run(2), "reason": "no" }));
            h.cancels_child(2);
        },
    },
    Pair {
        invariant: "announced-done",
        case: "a child is never cancelled",
        violates: |h| {
            family(h);
            h.logs(1, CallKind::Cancel, json!({ "run": run(2), "reason": "no" }));
            sleeps_for_good(h, 2);
            h.sleeps(&[Wait::Signal("go".into())]);
            h.heals();
        },
        nearly: |h| {
            family(h);
            h.logs(1, CallKind::Cancel, json!({ "run": run(2), "reason": "no" }));
            h.child_completes(2);
            h.sleeps(&[Wait::Signal("go".into())]);
            h.heals();
        },
    },
    Pair {
        invariant: "announced-done",
        case: "a child is detached by a run that is cancelled",
        violates: |h| {
            h.parent(5);
            h.spawns(0, kept(2));
            h.append("w1", 1, decision(&[], &[2]));
            cancels_parent(h);
            h.append("w1", 1, completed());
            h.call(worker("w1"), Request::Detach { run: run(2) }, Reply::Done, &[replanted()]);
        },
        nearly: |h| {
            h.parent(5);
            h.spawns(0, kept(2));
            h.append("w1", 1, decision(&[], &[2]));
            cancels_parent(h);
            h.append("w1", 1, completed());
            h.cancels_child(2);
        },
    },
    Pair {
        invariant: "wake-not-lost",
        case: "a run sleeps over the end of its child",
        violates: |h| {
            ended(h);
            parent_sleeps(h);
            h.tells(2, told(2, RunStatus::Completed));
        },
        nearly: |h| {
            ended(h);
            parent_sleeps(h);
            h.append_from(worker("w2"), 1, notice(told(2, RunStatus::Completed)));
            h.wakes_parent(2, &[by_child()]);
        },
    },
    Pair {
        invariant: "wake-not-lost",
        case: "a child is released and did not wake its parent",
        violates: |h| {
            ended(h);
            parent_sleeps(h);
            h.append_from(worker("w2"), 1, notice(told(2, RunStatus::Completed)));
            h.child_goes(2, RunStatus::Completed);
        },
        nearly: |h| {
            ended(h);
            parent_sleeps(h);
            h.append_from(worker("w2"), 1, notice(told(2, RunStatus::Completed)));
        },
    },
    Pair {
        invariant: "wake-not-lost",
        case: "the word of a child's end comes between the entry and the release",
        violates: |h| {
            ended(h);
            h.append("w1", 1, joins(1, 2, None));
            let waits = [Wait::Child(run(2))];
            h.append("w1", 1, suspended(&waits));
            h.tells(2, told(2, RunStatus::Completed));
            h.release("w1", 1, 0, Release::Suspended(waits.to_vec()), &[asleep(run(1), &waits)]);
        },
        nearly: |h| {
            ended(h);
            h.append("w1", 1, joins(1, 2, None));
            let waits = [Wait::Child(run(2))];
            h.append("w1", 1, suspended(&waits));
            h.tells(2, told(2, RunStatus::Completed));
            let change = moved(run(1), RunStatus::Running, RunStatus::Pending);
            h.release("w1", 1, 0, Release::Suspended(waits.to_vec()), &[change]);
        },
    },
    Pair {
        invariant: "wake-not-lost",
        case: "the wait list forgets a child",
        violates: |h| {
            family(h);
            h.append("w1", 1, joins(1, 2, None));
            h.append("w1", 1, suspended(&[Wait::Signal("go".into())]));
        },
        nearly: |h| {
            family(h);
            h.append("w1", 1, joins(1, 2, None));
            h.append("w1", 1, suspended(&[Wait::Child(run(2))]));
        },
    },
    Pair {
        invariant: "wake-not-lost",
        case: "a run lies down for an end that stood in its log when it was taken up",
        violates: |h| {
            family(h);
            h.child_completes(2);
            h.secs(31);
            h.steal("w2", 1, 1);
            h.append("w2", 1, Body::RunResumed(lease_entry(1)));
            h.append("w2", 1, suspended(&[Wait::Child(run(2))]));
        },
        nearly: |h| {
            family(h);
            h.child_completes(2);
            h.append("w1", 1, suspended(&[Wait::Child(run(2))]));
        },
    },
    Pair {
        invariant: "status-follows-log",
        case: "a run is woken by a child that it does not wait for",
        violates: |h| {
            ended(h);
            h.sleeps(&[Wait::Signal("go".into())]);
            h.append_from(worker("w2"), 1, notice(told(2, RunStatus::Completed)));
            h.wakes_parent(2, &[by_child()]);
        },
        nearly: |h| {
            ended(h);
            h.sleeps(&[Wait::Signal("go".into())]);
            h.append_from(worker("w2"), 1, notice(told(2, RunStatus::Completed)));
            h.wakes_parent(2, &[]);
        },
    },
    Pair {
        invariant: "cancel-cascade",
        case: "a child of a cancelled run lives on",
        violates: |h| {
            cancelled_parent(h);
            h.parent_goes(RunStatus::Cancelled);
            sleeps_for_good(h, 2);
            h.heals();
        },
        nearly: |h| {
            cancelled_parent(h);
            h.cancels_child(2);
            h.parent_goes(RunStatus::Cancelled);
            h.child_is_cancelled(2);
            h.heals();
        },
    },
    Pair {
        invariant: "cancel-cascade",
        case: "a cancelled child lives on",
        violates: |h| {
            family(h);
            h.logs(1, CallKind::Cancel, json!({ "run": run(2), "reason": "no" }));
            sleeps_for_good(h, 2);
            h.cancels_child(2);
            h.sleeps(&[Wait::Signal("go".into())]);
            h.heals();
        },
        nearly: |h| {
            family(h);
            sleeps_for_good(h, 2);
            h.sleeps(&[Wait::Signal("go".into())]);
            h.heals();
        },
    },
    Pair {
        invariant: "progress-owner",
        case: "a run waits for a child that was never created",
        violates: |h| {
            h.parent(5);
            h.reserves(0, 2);
            h.append("w1", 1, spawned(0, child(2)));
            h.append("w1", 1, joins(1, 3, None));
            h.sleeps(&[Wait::Child(run(3))]);
            h.event(Event::Phase(Phase::Healed));
            h.event(Event::Phase(Phase::Quiescent));
        },
        nearly: |h| {
            family(h);
            parent_sleeps(h);
            sleeps_for_good(h, 2);
            h.event(Event::Phase(Phase::Healed));
            h.event(Event::Phase(Phase::Quiescent));
        },
    },
];

fn replanted() -> crate::history::Change {
    crate::history::Change::Replanted { run: run(2), tree: run(2) }
}

/// Run 1 waits five seconds for its child, in vain.
pub fn times_out(history: &mut History) {
    family(history);
    history.append("w1", 1, joins(1, 2, Some(Span::from_secs(5))));
    history.secs(6);
    history.append("w1", 1, Body::TimerFired { step: Step(1) });
}
