//! Graceful stops, lost leases and poison.

use super::agents::*;
use super::line::Fault;
use super::world::World;
use crate::kernel::*;
use crate::runtime::*;

#[test]
fn a_stopped_worker_carries_its_effect_to_the_result_gives_the_run_back_and_ends() {
    let world = World::new();
    let all = agents("a", billing);
    world.register(&all);
    world.tools.borrow_mut().insert(
        "stripe.charge".into(),
        vec![Err(CallError::Unavailable); 6].into_iter().chain([Ok(Performed::Done(Json::null()))]).collect(),
    );
    world.deliver("a", "m1");
    let run = world.run_of("a");
    let stopper = world.start(1, &all);
    assert!(world.run_until(Span::from_secs(5), |world| world.count("stripe.charge") > 0));
    stopper.stop();
    world.run(Span::from_secs(40));
    assert!(!world.is_alive(1));
    assert_eq!(world.kinds(run), ["run.started", "msg.received", "tool.called", "tool.result"]);
    assert_eq!(world.status(run), RunStatus::Pending);
    world.start(2, &all);
    world.run(Span::from_secs(5));
    assert_eq!((world.status(run), world.count("stripe.charge")), (RunStatus::Completed, 7));
}

#[test]
fn a_grant_that_comes_during_a_stop_is_given_back() {
    let world = World::new();
    let all = agents("a", billing);
    world.register(&all);
    let stopper = world.start(1, &all);
    world.run(Span::from_secs(1));
    stopper.stop();
    world.run(Span::from_secs(1));
    world.deliver("a", "m1");
    let run = world.run_of("a");
    world.run(Span::from_secs(5));
    assert!(!world.is_alive(1));
    assert_eq!((world.status(run), world.log(run).len()), (RunStatus::Pending, 0));
}

#[test]
fn after_the_grace_time_a_stopped_worker_drops_everything() {
    let world = World::new();
    let all = agents("a", billing);
    world.register(&all);
    world.tools.borrow_mut().insert("stripe.charge".into(), vec![Err(CallError::Unavailable)]);
    world.deliver("a", "m1");
    let stopper = world.start(1, &all);
    world.run(Span::from_secs(5));
    stopper.stop();
    world.run(Span::from_secs(29));
    assert!(world.is_alive(1));
    world.run(Span::from_secs(7));
    assert!(!world.is_alive(1));
}

#[test]
fn a_run_that_loses_too_many_leases_in_a_row_ends_poisoned() {
    let agent =
        |_ctx: Context, _: Vec<Message>| async move { std::future::pending::<Result<Json, AgentError>>().await };
    let world = World::new();
    let all = agents("a", agent);
    world.register(&all);
    world.deliver("a", "m1");
    let run = world.run_of("a");
    for worker in 1..20 {
        world.start(worker, &all);
        world.run(Span::from_secs(2));
        world.crash(worker);
        world.run(Span::from_secs(35));
    }
    assert!(matches!(world.ending(run), Ending::Failed { code: FailureCode::Poisoned, .. }));
    let leases = world.log(run).iter().filter(|entry| entry.body.lease_entry().is_some()).count();
    assert_eq!(leases, 12, "11 lost, the twelfth ends it");
}

#[test]
fn a_worker_that_was_frozen_past_its_lease_makes_no_further_call_for_the_run() {
    let world = World::new();
    let all = agents("a", billing);
    world.register(&all);
    // Call 0 registers, 1 polls, 2 reads, 3 is the lease entry.
    world.faults.borrow_mut().push((1, 5, Fault::FreezeAfter));
    world.deliver("a", "m1");
    let run = world.run_of("a");
    world.start(1, &all);
    world.run(Span::from_secs(1));
    let before = world.asked.borrow().len();
    world.run(Span::from_secs(150));
    let after: Vec<_> = world.asked.borrow()[before..].iter().map(|(_, request)| request.method()).collect();
    assert!(after.iter().take(1).all(|method| *method == "lease"), "{after:?}");
    world.run(Span::from_secs(60));
    assert_eq!((world.status(run), world.count("stripe.charge")), (RunStatus::Completed, 1));
}

#[test]
fn a_store_that_is_away_is_asked_again_in_growing_pauses() {
    let world = World::new();
    let all = agents("a", billing);
    world.register(&all);
    // Call 0 registers; the polls follow.
    for call in 1..400 {
        world.faults.borrow_mut().push((1, call, Fault::Unavailable));
    }
    world.start(1, &all);
    world.run(Span::from_secs(60));
    let asked = world.calls_of(1);
    assert!((14..20).contains(&asked), "{asked} calls in a minute: 0.1 s doubling to 5 s");
}
