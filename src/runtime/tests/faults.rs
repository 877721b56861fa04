//! One fault at every call, and pairs of them: the run ends as it should, and nothing happens twice.

use std::rc::Rc;

use super::agents::*;
use super::line::{FAULTS, Fault};
use super::world::World;
use crate::kernel::*;
use crate::runtime::*;

const DAY: Span = Span::from_secs(86_400);

fn has_ended(world: &World) -> bool {
    world.status(world.first_run()).is_terminal()
}

/// A world in which these faults have happened and the run has ended. Worker 2 comes a second after worker 1,
/// worker 3 when both may be dead.
fn suffered(all: &Rc<Agents>, faults: &[(u32, u32, Fault)], case: &str) -> Rc<World> {
    let world = World::new();
    world.register(all);
    world.deliver("a", "m1");
    world.faults.borrow_mut().extend(faults);
    world.start(1, all);
    world.run(Span::from_secs(1));
    world.start(2, all);
    if !world.run_until(Span::from_secs(600), has_ended) {
        world.start(3, all);
        assert!(world.run_until(DAY, has_ended), "{case}: {:?}", world.kinds(world.first_run()));
    }
    world.run(Span::from_secs(180));
    judge(&world, case);
    world
}

/// What must hold whatever the workers suffer.
fn judge(world: &World, case: &str) {
    let run = world.first_run();
    let (log, kinds) = (world.log(run), world.kinds(run));
    let ended = log.iter().filter(|entry| entry.body.ending().is_some()).count();
    assert_eq!(ended, 1, "{case}: one terminal entry: {kinds:?}");
    assert_eq!(world.status(run), world.ending(run).status(), "{case}: {kinds:?}");
    assert!(world.count("stripe.charge") <= 1, "{case}: {kinds:?}");
    let attempts: Vec<_> = log.iter().filter_map(|entry| entry.body.lease_entry()).map(|lease| lease.attempt).collect();
    assert!(attempts.is_sorted_by(|left, right| left < right), "{case}: {attempts:?}");
    for agent in ["a", "friend/ann", "friend/bob"] {
        let pending = world.ask(world.store.pending_count(agent.parse().unwrap()));
        assert_eq!(pending, 0, "{case}: mail of {agent} is settled");
    }
    let count = |kind| kinds.iter().filter(|found| *found == kind).count();
    assert_eq!(count("tool.called"), count("tool.result"), "{case}: {kinds:?}");
    judge_entries(world, &log, case);
    judge_children(world, &log, case);
    let cancelled = kinds.iter().position(|kind| kind == "run.cancel_requested").unwrap_or(log.len());
    assert!(log[cancelled..].iter().all(|entry| entry.body.opening().is_none()), "{case}: {kinds:?}");
}

/// Every announced message is delivered, every failure noted, no retry early, every result the journal's.
fn judge_entries(world: &World, log: &[RunLogEntry], case: &str) {
    let applied = world.applied.borrow();
    let mut due = None;
    for entry in log {
        let is_done = match &*entry.body {
            Body::MessageSent { message, .. } => applied
                .iter()
                .any(|request| matches!(request, Request::Deliver { message: found, .. } if found.id == message.id)),
            Body::RunRetrying { failure, delay, .. } => {
                due = Some(entry.ts + *delay);
                applied
                    .iter()
                    .any(|request| matches!(request, Request::Nack { failure: found, .. } if found == failure))
            }
            Body::RunResumed(_) => due.take().is_none_or(|due| due <= entry.ts),
            Body::ToolResult { result, .. } => world.ask(world.store.lookup(result.effect_id)).as_ref() == Some(result),
            _ => true,
        };
        assert!(is_done, "{case}: {entry:?}");
    }
}

/// Every announced child was made once and has ended, and its end stands in the log once, unless that was closed first.
fn judge_children(world: &World, log: &[RunLogEntry], case: &str) {
    let ends = |child: RunId| {
        let ended = |entry: &&RunLogEntry| matches!(&*entry.body, Body::ChildCompleted { result, .. } if result.run_id == child);
        log.iter().filter(ended).count()
    };
    let resolved = log.iter().any(|entry| matches!(&*entry.body, Body::OrphansResolved { .. }));
    for entry in log {
        if let Body::ChildSpawned { spec, boot, .. } = &*entry.body {
            assert!(world.status(spec.run).is_terminal(), "{case}: {:?}", world.kinds(spec.run));
            assert!(ends(spec.run) == 1 || resolved && ends(spec.run) == 0, "{case}: {:?}", world.kinds(log[0].run_id));
            let boots = world.applied.borrow();
            let boots = boots.iter().filter_map(|request| match request {
                Request::Create { spec: made, boot: Some(found) } if found.id == boot.id => Some(made.run),
                _ => None,
            });
            assert!(boots.into_iter().all(|run| run == spec.run), "{case}");
        }
    }
}

fn completes(world: &World, case: &str) {
    let run = world.first_run();
    let ending = world.ending(run);
    assert_eq!(ending.status(), RunStatus::Completed, "{case}: {ending:?} {:?}", world.kinds(run));
}

/// How many calls worker 1 makes when nothing goes wrong.
fn calm_calls(all: &Rc<Agents>) -> u32 {
    let world = World::new();
    world.register(all);
    world.deliver("a", "m1");
    world.start(1, all);
    assert!(world.run_until(DAY, has_ended), "{:?}", world.kinds(world.first_run()));
    world.calls_of(1)
}

/// Tries every fault at every call of worker 1.
fn at_every_call(all: impl Fn() -> Rc<Agents>) {
    for call in 0..calm_calls(&all()) {
        for fault in FAULTS {
            let case = format!("{fault:?} at call {call}");
            completes(&suffered(&all(), &[(1, call, fault)], &case), &case);
        }
    }
}

fn with_friend(agent: impl Agent + 'static) -> Rc<Agents> {
    let mut all = (*agents("a", agent)).clone();
    let friend = |_ctx: Context, _inbox: Vec<Message>| async move { Ok(Json::null()) };
    all.0.extend(agents("friend", friend).0.clone());
    Rc::new(all)
}

#[test]
fn a_family_survives_a_fault_at_every_call() {
    at_every_call(office);
}

#[test]
fn a_card_is_charged_once_whatever_call_fails() {
    at_every_call(|| agents("a", billing));
}

#[test]
fn every_kind_of_step_survives_a_fault_at_every_call() {
    at_every_call(|| with_friend(traveller));
}

#[test]
fn a_group_survives_a_fault_at_every_call() {
    at_every_call(|| with_friend(juggler));
}

#[test]
fn a_retry_survives_a_fault_at_every_call() {
    // The pause is longer than a lease, so that a run whose worker died before the release is leased too soon.
    let retry = RunRetryPolicy { backoff: Span::from_secs(60), ..RunRetryPolicy::default() };
    at_every_call(|| agents_with("a", SpecDefaults { retry, ..SpecDefaults::default() }, stumbler(2)));
}

#[test]
fn a_card_is_charged_once_whatever_two_calls_of_two_workers_fail() {
    let all = agents("a", billing);
    let faults = [Fault::CrashAfter, Fault::CrashInFlight, Fault::LateRequest, Fault::FreezeUnnoticed];
    let calls = calm_calls(&all);
    for (first, second) in (0..calls).flat_map(|first| (0..calls + 5).map(move |second| (first, second))) {
        for (one, two) in faults.iter().flat_map(|one| faults.iter().map(move |two| (*one, *two))) {
            let case = format!("{one:?} at call {first} of w1, {two:?} at call {second} of w2");
            completes(&suffered(&all, &[(1, first, one), (2, second, two)], &case), &case);
        }
    }
}

#[test]
fn a_cancel_at_any_call_ends_the_run_also_when_another_call_fails() {
    let all = agents("a", billing);
    let calls = calm_calls(&all);
    let mut cancelled = 0;
    for (at, failing) in (0..calls).flat_map(|at| (0..calls + 5).map(move |failing| (at, failing))) {
        for fault in FAULTS {
            let case = format!("cancel at call {at}, {fault:?} at call {failing}");
            let world = suffered(&all, &[(1, at, Fault::Cancel), (1, failing, fault)], &case);
            let ending = world.ending(world.first_run());
            assert_ne!(ending.status(), RunStatus::Failed, "{case}");
            cancelled += u32::from(ending.status() == RunStatus::Cancelled);
        }
    }
    assert!(cancelled > calls * calls, "{cancelled}");
}

#[test]
fn a_graceful_stop_at_any_call_leaves_nothing_in_doubt() {
    for all in [agents("a", billing), with_friend(juggler)] {
        for at in 0..calm_calls(&all) {
            let case = format!("stop at call {at}");
            let world = suffered(&all, &[(1, at, Fault::Stop)], &case);
            completes(&world, &case);
            assert_eq!(world.ending(world.first_run()).in_doubt(), [], "{case}");
            assert_eq!(world.count("stripe.charge"), 1, "{case}");
            // The last calls are polls: a stop at one of them may not be over yet.
            let calls = world.calls_of(1);
            assert!(!world.is_alive(1) || calls <= at + 1, "{case} of {calls}");
        }
    }
}

#[test]
fn what_a_cancelled_run_has_announced_is_done_all_the_same() {
    let agent = |ctx: Context, _inbox: Vec<Message>| async move {
        ctx.send("friend/ann".parse().map_err(|_| "no address")?, Json::null()).await?;
        ctx.sleep(Span::from_secs(5)).await?;
        Ok(Json::null())
    };
    let all = with_friend(agent);
    let calls = calm_calls(&all);
    for (at, failing) in (0..calls).flat_map(|at| (0..calls).map(move |failing| (at, failing))) {
        for fault in [Fault::CrashBefore, Fault::CrashAfter, Fault::FreezeAfter] {
            let case = format!("cancel at call {at}, {fault:?} at call {failing}");
            let faults = [(1, failing, fault), (1, at, Fault::Cancel)];
            suffered(&all, if at == failing { &faults[..1] } else { &faults }, &case);
        }
    }
}

#[test]
fn a_recorded_effect_is_not_asked_for_again_even_where_it_may_be() {
    let all = agents("a", |ctx: Context, _inbox: Vec<Message>| async move { Ok(ctx.effect(mail()).await?) });
    let mut after_record = 0;
    for call in 0..calm_calls(&all) {
        let world = suffered(&all, &[(1, call, Fault::CrashBefore)], "crash");
        let mine = world.asked.borrow().iter().rfind(|(owner, _)| *owner == 1).map(|(_, request)| request.clone());
        if matches!(&mine, Some(Request::Append { body, .. }) if body.kind() == "tool.result") {
            after_record += 1;
            assert_eq!(world.count("email.send"), 1);
        }
    }
    assert_eq!(after_record, 1);
}
