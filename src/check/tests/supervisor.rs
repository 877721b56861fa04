//! Spawning, case by case.

use super::Pair;
use super::family::*;
use super::history::*;
use crate::history::{Actor, Change};
use crate::kernel::*;

fn denied() -> Reserved {
    Reserved::Denied { reason: "no".into() }
}

fn refusal(step: u32) -> Body {
    Body::SpawnDenied { opening: opening(step, CallKind::Spawn), agent: helper(2), reason: "no".into() }
}

/// Step 0 is refused a child because the tree is full.
pub fn refused(history: &mut History) {
    history.parent(1);
    history.ask_for(0, 2, denied(), &[]);
}

pub fn reserved(history: &mut History) {
    history.parent(3);
    history.reserves(0, 2);
}

pub fn announced(history: &mut History) {
    reserved(history);
    history.append("w1", 1, spawned(0, child(2)));
}

/// The tree has room for two; the child's log is closed, and its unit not back.
pub fn full(history: &mut History) {
    history.parent(2);
    history.spawns(0, child(2));
    history.child_begins(child(2));
    history.append("w2", 2, completed());
}

/// Run 1 completes with the decision, and is released.
fn ends(history: &mut History, cancel: &[u128], detach: &[u128]) {
    history.append("w1", 1, decision(cancel, detach));
    history.append("w1", 1, completed());
}

fn detaches(history: &mut History, number: u128) {
    let change = Change::Replanted { run: run(number), tree: run(number) };
    history.call(worker("w1"), Request::Detach { run: run(number) }, Reply::Done, &[change]);
}

/// The child completes after its parent.
fn outlives(history: &mut History, number: u128) {
    history.append("w2", number, completed());
    history.returns_unit("w2", number);
    history.child_goes(number, RunStatus::Completed);
}

pub const PAIRS: &[Pair] = &[
    Pair {
        invariant: "spawn-once",
        case: "a step asks again and hears something else",
        violates: |h| {
            refused(h);
            h.reserves(0, 2);
        },
        nearly: |h| {
            refused(h);
            h.ask_for(0, 2, denied(), &[]);
            h.append("w1", 1, refusal(0));
        },
    },
    Pair {
        invariant: "spawn-once",
        case: "a step gets a second child",
        violates: |h| {
            reserved(h);
            h.reserves(0, 3);
        },
        nearly: |h| {
            reserved(h);
            h.ask_for(0, 2, h.given(2), &[]);
            h.reserves(1, 3);
        },
    },
    Pair {
        invariant: "spawn-once",
        case: "a log announces another child than was given",
        violates: |h| {
            reserved(h);
            h.append("w1", 1, spawned(0, child(3)));
        },
        nearly: announced,
    },
    Pair {
        invariant: "spawn-once",
        case: "a log refuses a child that was given",
        violates: |h| {
            reserved(h);
            h.append("w1", 1, refusal(0));
        },
        nearly: |h| {
            refused(h);
            h.append("w1", 1, refusal(0));
        },
    },
    Pair {
        invariant: "spawn-once",
        case: "a child that has ended is created again",
        violates: |h| {
            h.parent(3);
            h.spawns(0, child(2));
            h.child_begins(child(2));
            h.child_completes(2);
            h.creates("w2", child(2));
        },
        nearly: |h| {
            h.parent(3);
            h.spawns(0, child(2));
            h.child_begins(child(2));
            h.child_completes(2);
            let request = Request::Create { spec: Box::new(child(2)), boot: Some(boot(2)) };
            h.call(worker("w2"), request, Reply::Created(Created::Exists), &[]);
        },
    },
    Pair {
        invariant: "spawn-once",
        case: "a reserved child is not created",
        violates: |h| {
            announced(h);
            let request = Request::Create { spec: Box::new(child(2)), boot: Some(boot(2)) };
            h.call(worker("w1"), request, Reply::Created(Created::Exists), &[]);
        },
        nearly: |h| {
            announced(h);
            h.creates("w1", child(2));
        },
    },
    Pair {
        invariant: "spawn-announced",
        case: "a child is created before it is announced",
        violates: |h| {
            reserved(h);
            h.creates("w1", child(2));
        },
        nearly: |h| {
            announced(h);
            h.creates("w2", child(2));
        },
    },
    Pair {
        invariant: "spawn-announced",
        case: "a reserved child is leased",
        violates: |h| {
            reserved(h);
            let lease = h.lease("w2", 2, 0);
            h.grant_this(Lease { spec: child(2).into(), ..lease }, &[]);
        },
        nearly: |h| {
            announced(h);
            h.creates("w1", child(2));
            h.child_begins(child(2));
        },
    },
    Pair {
        invariant: "spawn-budget",
        case: "a child too many",
        violates: |h| {
            h.parent(2);
            h.spawns(0, child(2));
            h.reserves(1, 3);
        },
        nearly: |h| {
            h.parent(2);
            h.spawns(0, child(2));
            h.ask_for(1, 3, denied(), &[]);
        },
    },
    Pair {
        invariant: "spawn-budget",
        case: "a child is refused though there is room",
        violates: |h| {
            h.parent(2);
            h.ask_for(0, 2, denied(), &[]);
        },
        nearly: |h| {
            h.parent(2);
            h.reserves(0, 2);
        },
    },
    Pair {
        invariant: "spawn-budget",
        case: "a child is refused though a unit is about to be free",
        violates: |h| {
            full(h);
            h.ask_for(1, 3, denied(), &[]);
        },
        nearly: |h| {
            full(h);
            h.ask_for(1, 3, Reserved::Ending { again: h.now }, &[]);
            h.returns_unit("w2", 2);
            h.reserves(1, 3);
        },
    },
    Pair {
        invariant: "spawn-budget",
        case: "a unit is given back twice",
        violates: |h| {
            full(h);
            h.returns_unit("w2", 2);
            h.returns_unit("w2", 2);
        },
        nearly: |h| {
            full(h);
            h.returns_unit("w2", 2);
            h.call(worker("w2"), Request::ReturnUnit { run: run(2) }, Reply::Done, &[]);
        },
    },
    Pair {
        invariant: "spawn-budget",
        case: "a child is released with its unit",
        violates: |h| {
            full(h);
            h.tells(2, told(2, RunStatus::Completed));
            h.child_goes(2, RunStatus::Completed);
        },
        nearly: |h| {
            full(h);
            h.returns_unit("w2", 2);
            h.tells(2, told(2, RunStatus::Completed));
            h.child_goes(2, RunStatus::Completed);
        },
    },
    Pair {
        invariant: "spawn-budget",
        case: "a root is released with its unit",
        violates: |h| {
            h.begun();
            h.append("w1", 1, completed());
            h.ack("w1", "m1", 1);
            let ended = RunStatus::Completed;
            h.release("w1", 1, 0, Release::Ended(ended), &[moved(run(1), RunStatus::Running, ended)]);
        },
        nearly: |h| {
            h.begun();
            h.completes();
        },
    },
    Pair {
        invariant: "spawn-budget",
        case: "a reservation outlives its parent",
        violates: |h| {
            reserved(h);
            h.append("w1", 1, completed());
            h.parent_goes(RunStatus::Completed);
        },
        nearly: |h| {
            reserved(h);
            h.append("w1", 1, completed());
            h.returns_unit("w1", 1);
            h.ack("w1", "m1", 1);
            let changes = [moved(run(1), RunStatus::Running, RunStatus::Completed), Change::Swept { run: run(2) }];
            h.release("w1", 1, 0, Release::Ended(RunStatus::Completed), &changes);
            h.heals();
        },
    },
    Pair {
        invariant: "spawn-budget",
        case: "a grandchild stays behind in the tree",
        violates: |h| {
            h.parent(5);
            h.spawns(0, kept(2));
            h.child_begins(kept(2));
            grandchild(h);
            ends(h, &[], &[2]);
            detaches(h, 2);
        },
        nearly: |h| {
            h.parent(5);
            h.spawns(0, kept(2));
            h.child_begins(kept(2));
            grandchild(h);
            ends(h, &[], &[2]);
            let changes = [2, 3].map(|number| Change::Replanted { run: run(number), tree: run(2) });
            h.call(worker("w1"), Request::Detach { run: run(2) }, Reply::Done, &changes);
        },
    },
    Pair {
        invariant: "lease-exclusive",
        case: "mail makes a run where one is reserved",
        violates: |h| {
            reserved(h);
            mail_for_child(h, &[Change::Made { run: run(7), agent: helper(2) }]);
        },
        nearly: |h| {
            reserved(h);
            mail_for_child(h, &[]);
        },
    },
    Pair {
        invariant: "lease-told",
        case: "who holds the parent hears Lost",
        violates: |h| {
            h.parent(3);
            h.ask_for(0, 2, Reserved::Lost, &[]);
        },
        nearly: |h| {
            h.parent(3);
            h.secs(31);
            h.steal("w2", 1, 1);
            h.ask_for(0, 2, Reserved::Lost, &[]);
        },
    },
    Pair {
        invariant: "lease-fenced",
        case: "a former holder reserves a child",
        violates: |h| {
            h.parent(3);
            h.secs(31);
            h.steal("w2", 1, 1);
            h.reserves(0, 2);
        },
        nearly: |h| {
            h.parent(3);
            h.secs(31);
            h.reserves(0, 2);
        },
    },
    Pair {
        invariant: "deadline-kept",
        case: "a child knows nothing of its parent's deadline",
        violates: |h| {
            h.parent(3);
            h.reserves(0, 2);
            h.append("w1", 1, spawned(0, RunSpec { parent_deadline: Some(h.now), ..child(2) }));
        },
        nearly: announced,
    },
    Pair {
        invariant: "deadline-kept",
        case: "a child is given more time than its parent",
        violates: |h| gets_time(h, 20),
        nearly: |h| gets_time(h, 10),
    },
    Pair {
        invariant: "announced-done",
        case: "a child is never created",
        violates: |h| {
            announced(h);
            h.append("w1", 1, decision(&[2], &[]));
            h.append("w1", 1, completed());
            h.returns_unit("w1", 1);
            h.ack("w1", "m1", 1);
            let changes = [moved(run(1), RunStatus::Running, RunStatus::Completed), Change::Swept { run: run(2) }];
            h.release("w1", 1, 0, Release::Ended(RunStatus::Completed), &changes);
            h.heals();
        },
        nearly: |h| {
            announced(h);
            h.creates("w1", child(2));
            h.child_begins(child(2));
            h.child_completes(2);
            h.append("w1", 1, completed());
            h.parent_goes(RunStatus::Completed);
            h.heals();
        },
    },
    Pair {
        invariant: "no-orphan",
        case: "a child lives on",
        violates: |h| {
            h.parent(3);
            h.spawns(0, child(2));
            h.child_begins(child(2));
            ends(h, &[2], &[]);
            h.parent_goes(RunStatus::Completed);
            h.append("w2", 2, suspended(&[Wait::Signal("go".into())]));
            let waits = [Wait::Signal("go".into())];
            h.release("w2", 2, 0, Release::Suspended(waits.to_vec()), &[asleep(run(2), &waits)]);
            h.heals();
        },
        nearly: |h| {
            h.parent(3);
            h.spawns(0, kept(2));
            h.child_begins(kept(2));
            ends(h, &[], &[2]);
            detaches(h, 2);
            h.parent_goes(RunStatus::Completed);
            let waits = [Wait::Signal("go".into())];
            h.append("w2", 2, suspended(&waits));
            h.release("w2", 2, 0, Release::Suspended(waits.to_vec()), &[asleep(run(2), &waits)]);
            h.heals();
        },
    },
    Pair {
        invariant: "no-orphan",
        case: "a run ends over a live child without a word",
        violates: |h| {
            h.parent(3);
            h.spawns(0, child(2));
            h.append("w1", 1, completed());
        },
        nearly: |h| {
            h.parent(3);
            h.spawns(0, child(2));
            ends(h, &[2], &[]);
        },
    },
    Pair {
        invariant: "no-orphan",
        case: "the decision forgets a child",
        violates: |h| {
            h.parent(3);
            h.spawns(0, child(2));
            h.spawns(1, kept(3));
            ends(h, &[2], &[]);
        },
        nearly: |h| {
            h.parent(3);
            h.spawns(0, child(2));
            h.spawns(1, kept(3));
            ends(h, &[2], &[3]);
        },
    },
    Pair {
        invariant: "no-orphan",
        case: "a run ends otherwise than it decided",
        violates: |h| {
            h.parent(3);
            h.spawns(0, child(2));
            h.append("w1", 1, decision(&[2], &[]));
            h.append("w1", 1, failed(FailureCode::BudgetExhausted));
        },
        nearly: |h| {
            h.parent(3);
            h.spawns(0, child(2));
            h.append("w1", 1, decision(&[2], &[]));
            h.cancels();
            h.append_from(Actor::Input(1), 1, Body::CancelRequested { reason: "no".into() });
            h.append("w1", 1, completed());
        },
    },
    Pair {
        invariant: "no-orphan",
        case: "a run goes on behind its decision",
        violates: |h| {
            h.parent(3);
            h.spawns(0, child(2));
            h.append("w1", 1, decision(&[2], &[]));
            h.append("w1", 1, value(1));
        },
        nearly: |h| {
            h.parent(3);
            h.spawns(0, child(2));
            h.child_begins(child(2));
            h.append("w1", 1, decision(&[2], &[]));
            h.child_completes(2);
            h.append("w1", 1, completed());
        },
    },
    Pair {
        invariant: "no-orphan",
        case: "a kept child stays in the tree of its parent",
        violates: |h| {
            h.parent(3);
            h.spawns(0, kept(2));
            h.child_begins(kept(2));
            ends(h, &[], &[2]);
            h.parent_goes(RunStatus::Completed);
            let waits = [Wait::Signal("go".into())];
            h.append("w2", 2, suspended(&waits));
            h.release("w2", 2, 0, Release::Suspended(waits.to_vec()), &[asleep(run(2), &waits)]);
            h.heals();
        },
        nearly: |h| {
            h.parent(3);
            h.spawns(0, kept(2));
            h.child_begins(kept(2));
            ends(h, &[], &[2]);
            detaches(h, 2);
            h.parent_goes(RunStatus::Completed);
            outlives(h, 2);
            h.heals();
        },
    },
];

/// Run 2 spawns run 3.
fn grandchild(history: &mut History) {
    let change = Change::Reserved { run: run(3), agent: helper(3), parent: run(2), step: Step(0), tree: run(1) };
    let request = Request::Reserve { lease: key("w2", 2, 0), step: Step(0), agent: helper(3) };
    let given = Reserved::Reserved { child_run: run(3), tree: run(1), defaults: Box::default() };
    history.call(worker("w2"), request, Reply::Reserved(given), &[change]);
    history.append("w2", 2, spawned(0, child_of(2, 3)));
    history.creates("w2", child_of(2, 3));
}

fn mail_for_child(history: &mut History, more: &[Change]) {
    let arrival = history.arrival();
    let mut changes = vec![Change::Stored { agent: helper(2), message: "m2".into(), arrival }];
    changes.extend_from_slice(more);
    let request = Request::Deliver { to: helper(2), message: message("m2"), notify: true };
    history.call(Actor::Input(0), request, Reply::Accepted(true), &changes);
}

/// Run 1 must end in 10 s, its child is granted `secs`.
fn gets_time(history: &mut History, secs: i64) {
    let (kind, defaults) = ("helper".into(), SpecDefaults::default());
    history.call(worker("w1"), Request::Register { kind, version: Version(1), defaults }, Reply::Done, &[]);
    history.deliver("m1", &[made(1)]);
    let start = history.now;
    let deadline = Some(start + Span::from_secs(10));
    history.grant_this(Lease { deadline, ..history.lease("w1", 1, 0) }, &[]);
    history.append("w1", 1, Body::RunStarted(lease_entry(0)));
    history.append("w1", 1, received(&[("m1", 1)]));
    let spec = RunSpec { parent_deadline: deadline, ..child(2) };
    history.spawns(0, spec.clone());
    let lease = Lease { spec: spec.into(), ..history.lease("w2", 2, 0) };
    history.grant_this(Lease { deadline: Some(start + Span::from_secs(secs)), ..lease }, &[]);
}
