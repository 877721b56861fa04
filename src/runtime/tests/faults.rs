//! One fault at every call: the run ends as it should, and nothing happens twice.

use std::rc::Rc;

use super::agents::*;
use super::world::{FAULTS, World};
use crate::kernel::*;
use crate::runtime::*;

const DAY: Span = Span::from_secs(86_400);

/// What must hold whatever a worker suffers.
fn judge(world: &World, run: RunId, case: &str, charges: usize) {
    let log = world.log(run);
    let kinds = world.kinds(run);
    let ended = log.iter().filter(|entry| entry.body.ending().is_some()).count();
    assert_eq!(ended, 1, "{case}: one terminal entry: {kinds:?}");
    let ending = world.ending(run);
    assert_eq!(world.status(run), ending.status(), "{case}: {kinds:?}");
    assert_eq!(ending.status(), RunStatus::Completed, "{case}: {ending:?} {kinds:?}");
    assert!(world.count("stripe.charge") <= charges, "{case}: {kinds:?}");
    let mut attempts: Vec<_> = log.iter().filter_map(|entry| entry.body.lease_entry()).map(|e| e.attempt).collect();
    let told = attempts.clone();
    attempts.sort();
    attempts.dedup();
    assert_eq!(told, attempts, "{case}: attempts rise");
    for agent in ["a", "friend/ann", "friend/bob"] {
        assert_eq!(
            world.ask(world.store.pending_count(agent.parse().unwrap())),
            0,
            "{case}: mail of {agent} is settled"
        );
    }
    let results = log.iter().filter(|entry| entry.kind() == "tool.result").count();
    let intents = log.iter().filter(|entry| entry.kind() == "tool.called").count();
    assert_eq!(results, intents, "{case}: {kinds:?}");
}

/// Tries every fault at every call of worker 1; worker 2 is there from the start or comes later.
fn at_every_call(kind: &str, all: impl Fn() -> Rc<Agents>, charges: usize) {
    let calm = {
        let world = begun(&all());
        world.start(1, &all());
        assert!(world.run_until(DAY, |world| has_ended(world)), "{kind}: {:?}", world.asked.borrow().last());
        world.calls_of(1)
    };
    assert!(calm > 10, "{kind}: {calm} calls");
    for call in 0..calm {
        for fault in FAULTS {
            let case = format!("{kind}: {fault:?} at call {call}");
            let world = begun(&all());
            world.faults.borrow_mut().push((1, call, fault));
            world.start(1, &all());
            world.run(Span::from_secs(1));
            world.start(2, &all());
            assert!(world.run_until(DAY, |world| has_ended(world)), "{case}: {:?}", world.kinds(world.first_run()));
            world.run(Span::from_secs(180));
            judge(&world, world.first_run(), &case, charges);
        }
    }
}

fn begun(all: &Rc<Agents>) -> Rc<World> {
    let world = World::new();
    world.register(all);
    world.deliver("a", "m1");
    world
}

fn has_ended(world: &World) -> bool {
    world.status(world.first_run()).is_terminal()
}

fn with_friend(agent: impl Agent + 'static) -> Rc<Agents> {
    let mut all = (*agents("a", agent)).clone();
    let friend = |_ctx: Context, _inbox: Vec<Message>| async move { Ok(Json::null()) };
    all.0.extend(agents("friend", friend).0.clone());
    Rc::new(all)
}

#[test]
fn a_card_is_charged_once_whatever_call_fails() {
    at_every_call("billing", || agents("a", billing), 1);
}

#[test]
fn every_kind_of_step_survives_a_fault_at_every_call() {
    at_every_call("traveller", || with_friend(traveller), 1);
}

#[test]
fn a_group_survives_a_fault_at_every_call() {
    at_every_call("juggler", || with_friend(juggler), 1);
}

#[test]
fn a_retry_survives_a_fault_at_every_call() {
    at_every_call("stumbler", || agents("a", stumbler(2)), 1);
}
