//! What a worker does when nothing goes wrong around it.

use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use serde_json::json;

use super::agents::*;
use super::world::{HOUR, World, ran};
use crate::kernel::*;
use crate::runtime::*;

fn failed(world: &World, run: RunId) -> FailureCode {
    match world.ending(run) {
        Ending::Failed { code, .. } => code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_run_completes_with_each_effect_once_and_its_mail_settled() {
    let world = World::new();
    let run = ran(&world, &agents("a", billing));
    let expected =
        ["run.started", "msg.received", "tool.called", "tool.result", "tool.called", "tool.result", "run.completed"];
    assert_eq!(world.kinds(run), expected);
    assert_eq!((world.count("stripe.charge"), world.count("email.send")), (1, 1));
    assert_eq!(world.status(run), RunStatus::Completed);
    assert_eq!(world.ask(world.store.pending_count("a".parse().unwrap())), 0);
    let asked: Vec<&str> = world.asked.borrow().iter().map(|(_, request)| request.method()).collect();
    let calls = |method| asked.iter().filter(|asked| **asked == method).count();
    assert_eq!((calls("read"), calls("append"), calls("lookup"), calls("record")), (1, 7, 0, 2));
}

#[test]
fn an_effect_in_doubt_or_refused_that_the_agent_lets_through_is_final_at_once() {
    let agent = |ctx: Context, _: Vec<Message>| async move { Ok(ctx.effect(charge()).await?) };
    let cases = [
        (Performed::Unknown, FailureCode::EffectInDoubt, 1),
        (Performed::Refused { reason: "no money".into(), after: None }, FailureCode::EffectRefused, 0),
    ];
    for (answer, code, in_doubt) in cases {
        let world = World::new();
        world.tools.borrow_mut().insert("stripe.charge".into(), vec![Ok(answer)]);
        let run = ran(&world, &agents("a", agent));
        assert_eq!((failed(&world, run), world.count("stripe.charge")), (code, 1));
        assert_eq!(world.ending(run).in_doubt().len(), in_doubt);
        let dead = world.ask(world.store.dead_letters("a".parse().unwrap()));
        assert_eq!((dead.len(), dead[0].attempts), (1, 1));
    }
}

#[test]
fn an_unknown_outcome_is_asked_again_only_where_the_policy_allows_and_one_that_never_left_always() {
    let unavailable = Err(CallError::Unavailable);
    let cases = [
        (Policy::AtMostOnce, Ok(Performed::Unknown), 1),
        (Policy::AtMostOnce, Err(CallError::Unknown), 1),
        (Policy::AtMostOnce, unavailable.clone(), 2),
        (Policy::Idempotent, Ok(Performed::Unknown), 2),
        (Policy::Repeatable, Err(CallError::Unknown), 2),
    ];
    for (policy, first, asked) in cases {
        let agent = move |ctx: Context, _: Vec<Message>| async move {
            Ok(ctx.effect(charge().policy(policy)).await.unwrap_or_default())
        };
        let world = World::new();
        let script = vec![first.clone(), Ok(Performed::Done(Json::null()))];
        world.tools.borrow_mut().insert("stripe.charge".into(), script);
        let run = ran(&world, &agents("a", agent));
        assert_eq!(world.count("stripe.charge"), asked, "{policy:?} {first:?}");
        assert_eq!(world.status(run), RunStatus::Completed);
    }
}

#[test]
fn a_refusal_is_believed_only_while_no_earlier_request_may_have_been_carried_out() {
    let cases = [
        (Err(CallError::Unavailable), "Refused"),
        (Err(CallError::Unknown), "InDoubt"),
        (Ok(Performed::Unknown), "InDoubt"),
    ];
    for (first, code) in cases {
        let agent = |ctx: Context, _: Vec<Message>| async move {
            let error = ctx.effect(charge().policy(Policy::Idempotent)).await.expect_err("it is refused");
            Ok(Json::new(json!(error.code())))
        };
        let world = World::new();
        let script = vec![first, Ok(Performed::Refused { reason: "no".into(), after: None })];
        world.tools.borrow_mut().insert("stripe.charge".into(), script);
        let run = ran(&world, &agents("a", agent));
        let Ending::Completed { output, .. } = world.ending(run) else { panic!() };
        assert_eq!(*output, json!(code));
    }
}

#[test]
fn a_refused_effect_is_tried_again_in_steps_of_its_own_with_sleeps_between() {
    let agent = |ctx: Context, _: Vec<Message>| async move {
        let call = charge().tries(3, Span::from_secs(10));
        let receipt = ctx.effect(call).await?;
        assert_eq!(ctx.steps_taken(), Step(5));
        Ok(receipt)
    };
    let world = World::new();
    let no = Ok(Performed::Refused { reason: "busy".into(), after: None });
    let script = vec![no.clone(), no, Ok(Performed::Done(Json::new(json!(3))))];
    world.tools.borrow_mut().insert("stripe.charge".into(), script);
    let run = ran(&world, &agents("a", agent));
    assert_eq!(world.ending(run), Ending::Completed { output: Json::new(json!(3)), in_doubt: vec![] });
    assert_eq!(world.kinds(run).iter().filter(|kind| *kind == "timer.fired").count(), 2);
}

#[test]
fn a_large_value_goes_to_the_artifacts_and_comes_back_on_replay() {
    let agent = |ctx: Context, _: Vec<Message>| async move {
        let value = ctx.effect(charge()).await?;
        ctx.sleep(Span::from_secs(1)).await?;
        Ok(Json::new(json!(value.as_str().map(str::len))))
    };
    let world = World::new();
    let large = Json::new("x".repeat(INLINE_BYTES_MAX).into());
    world.tools.borrow_mut().insert("stripe.charge".into(), vec![Ok(Performed::Done(large))]);
    let run = ran(&world, &agents("a", agent));
    let output = Json::new(json!(INLINE_BYTES_MAX));
    assert_eq!(world.ending(run), Ending::Completed { output, in_doubt: vec![] });
    let log = world.log(run);
    let result = log.iter().find_map(|entry| match &*entry.body {
        Body::ToolResult { result, .. } => Some(result.clone()),
        _ => None,
    });
    assert!(result.is_some_and(|result| result.artifact_ref.is_some() && result.value.is_null()));
}

#[test]
fn an_agent_that_fails_is_tried_again_after_its_pause_until_its_retries_are_used_up() {
    for (times, tries) in [(2, 2), (9, 3)] {
        let world = World::new();
        let run = ran(&world, &agents("a", stumbler(times)));
        let pauses: Vec<String> = world
            .log(run)
            .iter()
            .filter_map(|entry| match &*entry.body {
                Body::RunRetrying { delay, .. } => Some(delay.to_string()),
                _ => None,
            })
            .collect();
        assert_eq!(pauses, &["5s", "10s", "20s"][..tries]);
        assert_eq!(world.count("stripe.charge"), 1);
        let dead = world.ask(world.store.dead_letters("a".parse().unwrap()));
        if times == 2 {
            assert_eq!((world.status(run), dead.len()), (RunStatus::Completed, 0));
        } else {
            assert_eq!((failed(&world, run), dead[0].attempts), (FailureCode::AgentCrashed, 4));
        }
    }
}

#[test]
fn a_panic_is_an_ordinary_failure() {
    let agent = |ctx: Context, _: Vec<Message>| async move {
        ctx.log(Json::null()).await?;
        assert!(ctx.failures() > 0, "broken on purpose");
        Ok(Json::null())
    };
    let world = World::new();
    let run = ran(&world, &agents("a", agent));
    assert_eq!(world.status(run), RunStatus::Completed);
    let retrying = world.log(run).iter().any(|entry| match &*entry.body {
        Body::RunRetrying { error, .. } => error.contains("broken on purpose"),
        _ => false,
    });
    assert!(retrying);
}

#[test]
fn every_kind_of_step_gives_the_same_after_sleeps() {
    let mut all = (*agents("a", traveller)).clone();
    all.0.extend(agents("friend", billing).0.clone());
    let all = Rc::new(all);
    let world = World::new();
    world.register(&all);
    world.deliver("a", "m1");
    let run = world.run_of("a");
    world.start(1, &all);
    world.run(Span::from_secs(90));
    world.deliver("a", "m2");
    world.run(Span::from_secs(300));
    let Ending::Completed { output, .. } = world.ending(run) else { panic!("{:?}", world.kinds(run)) };
    assert_eq!((&output["go"], &output["none"], &output["more"]), (&json!(1), &json!(true), &json!(["m2"])));
    assert_eq!(world.count("stripe.charge"), 2, "once for the traveller, once for the friend");
    let resumed = world.kinds(run).iter().filter(|kind| *kind == "run.resumed").count();
    assert_eq!(resumed, 3, "one wake for each wait that was not over: {:?}", world.kinds(run));
}

#[test]
fn a_group_sleeps_once_for_all_its_waits_and_gives_its_results_in_order() {
    let mut all = (*agents("a", juggler)).clone();
    all.0.extend(agents("friend", billing).0.clone());
    let world = World::new();
    let run = ran(&world, &Rc::new(all));
    let Ending::Completed { output, .. } = world.ending(run) else { panic!("{:?}", world.kinds(run)) };
    let output = output.as_array().unwrap().clone();
    assert_eq!(output.len(), 7);
    assert_eq!((&output[1], &output[2]["payload"]), (&json!(format!("{run}.2")), &json!(7)));
    assert_eq!((&output[3], &output[4]), (&json!(null), &json!([])));
    let suspended: Vec<usize> = world
        .log(run)
        .iter()
        .filter_map(|entry| match &*entry.body {
            Body::RunSuspended { waits, .. } => Some(waits.len()),
            _ => None,
        })
        .collect();
    assert_eq!(suspended, [3, 1], "sleep, mail and its limit; then the sleep alone");
}

#[test]
fn a_group_raises_its_first_error_in_order_after_all_have_ended() {
    let agent = |ctx: Context, _: Vec<Message>| async move {
        let calls = vec![
            Call::Sleep(Span::from_secs(1)),
            Call::Effect(EffectCall::new("first", json!({}))),
            Call::Effect(EffectCall::new("second", json!({}))),
        ];
        let error = ctx.all(calls).await.expect_err("both are refused");
        Ok(Json::new(json!(error.to_string())))
    };
    let world = World::new();
    for kind in ["first", "second"] {
        world.tools.borrow_mut().insert(kind.into(), vec![Ok(Performed::Refused { reason: kind.into(), after: None })]);
    }
    let run = ran(&world, &agents("a", agent));
    let Ending::Completed { output, .. } = world.ending(run) else { panic!() };
    assert!(output.as_str().unwrap().ends_with("refused: first"), "{output:?}");
    assert_eq!((world.count("first"), world.count("second")), (1, 1));
}

#[test]
fn two_receives_of_one_group_share_the_mail() {
    let agent = |ctx: Context, _: Vec<Message>| async move {
        let receive = Call::Receive { max: 1, limit: Some(Span::from_secs(60)) };
        let got = ctx.all(vec![receive.clone(), receive.clone(), receive]).await?;
        Ok(Json::new(json!(got.iter().map(|mail| mail[0]["id"].clone()).collect::<Vec<_>>())))
    };
    let world = World::new();
    let all = agents("a", agent);
    world.register(&all);
    world.deliver("a", "m1");
    let run = world.run_of("a");
    world.start(1, &all);
    world.run(Span::from_secs(5));
    world.deliver("a", "m2");
    world.deliver("a", "m3");
    world.run(HOUR);
    let output = Json::new(json!(["m2", "m3", null]));
    assert_eq!(world.ending(run), Ending::Completed { output, in_doubt: vec![] });
}

#[test]
fn two_steps_at_once_fail_the_run_whether_or_not_the_first_is_replayed() {
    let agent = |ctx: Context, _: Vec<Message>| async move {
        ctx.log(Json::null()).await?;
        ctx.sleep(Span::from_secs(1)).await?;
        let (other, mut first) = (ctx.clone(), pin!(ctx.effect(charge())));
        let mut second = pin!(other.effect(mail()));
        std::future::poll_fn(|cx| {
            let _ = first.as_mut().poll(cx);
            match second.as_mut().poll(cx) {
                Poll::Ready(result) => Poll::Ready(result),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
        .map_err(AgentError::from)
    };
    let world = World::new();
    let run = ran(&world, &agents("a", agent));
    assert_eq!((failed(&world, run), world.count("email.send")), (FailureCode::OverlappingSteps, 0));
}

#[test]
fn a_step_that_is_dropped_while_it_is_open_fails_the_run() {
    let agent = |ctx: Context, _: Vec<Message>| async move {
        let mut step = Box::pin(ctx.effect(charge()));
        std::future::poll_fn(|cx| {
            let _ = step.as_mut().poll(cx);
            Poll::Ready(())
        })
        .await;
        drop(step);
        Ok(Json::null())
    };
    let world = World::new();
    let run = ran(&world, &agents("a", agent));
    assert_eq!(failed(&world, run), FailureCode::AbandonedStep);
}

#[test]
fn an_agent_that_leaves_its_log_is_halted_before_it_acts_and_a_cancel_ends_it() {
    let world = World::new();
    let all = agents("a", fickle());
    let run = ran(&world, &all);
    let log = world.log(run);
    assert!(matches!(&*log.last().unwrap().body, Body::RunHalted { step: Step(0), .. }), "{:?}", world.kinds(run));
    assert_eq!((world.count("kind.1"), world.count("kind.2")), (1, 0));
    assert_eq!(world.status(run), RunStatus::Suspended);
    world.ask(world.store.cancel(run, "enough".into()));
    world.run(Span::from_secs(60));
    assert_eq!(world.status(run), RunStatus::Cancelled);
    assert!(world.kinds(run).contains(&"run.cancel_requested".to_owned()));
}

#[test]
fn steps_left_over_when_the_agent_ends_halt_it() {
    let agent = {
        let entered = Rc::new(std::cell::Cell::new(0));
        move |ctx: Context, _: Vec<Message>| {
            entered.set(entered.get() + 1);
            let first = entered.get() == 1;
            async move {
                if first {
                    ctx.log(Json::null()).await?;
                    ctx.sleep(Span::from_secs(1)).await?;
                }
                Ok(Json::null())
            }
        }
    };
    let world = World::new();
    let run = ran(&world, &agents("a", agent));
    let log = world.log(run);
    let Body::RunHalted { step, expected, actual } = &*log.last().unwrap().body else { panic!() };
    assert_eq!((*step, &**expected, &**actual), (Step(0), "log", "end"));
}

#[test]
fn a_cancel_ends_a_sleeping_run_and_a_running_one_at_its_next_step() {
    for (after, charges) in [(Span::from_secs(30), 0), (Span::from_secs(70), 1)] {
        let agent = |ctx: Context, _: Vec<Message>| async move {
            ctx.sleep(Span::from_secs(60)).await?;
            ctx.effect(charge().policy(Policy::Idempotent)).await?;
            ctx.effect(mail()).await?;
            Ok(Json::null())
        };
        let world = World::new();
        let all = agents("a", agent);
        world.register(&all);
        world.tools.borrow_mut().insert("stripe.charge".into(), vec![Ok(Performed::Unknown)]);
        world.deliver("a", "m1");
        let run = world.run_of("a");
        world.start(1, &all);
        world.run(after);
        let tried = world.count("stripe.charge");
        assert_eq!(tried > 0, charges > 0);
        let client =
            Client::new(Rc::new(world.store.clone()), Rc::new(super::line::Line { world: world.clone(), owner: 9 }));
        world.spawn(9, Box::pin(async move { client.cancel(run, "enough".into()).await }));
        world.run(Span::from_secs(120));
        assert_eq!(world.status(run), RunStatus::Cancelled);
        assert_eq!(world.kinds(run).iter().filter(|kind| *kind == "run.cancel_requested").count(), 1);
        assert_eq!((world.ending(run).in_doubt().len(), world.count("email.send")), (charges, 0));
    }
}

#[test]
fn a_deadline_ends_a_sleeping_run() {
    let defaults = SpecDefaults { deadline: Some(Deadline::After(Span::from_secs(100))), ..SpecDefaults::default() };
    let agent = |ctx: Context, _: Vec<Message>| async move {
        ctx.sleep(HOUR).await?;
        Ok(Json::null())
    };
    let world = World::new();
    let run = ran(&world, &agents_with("a", defaults, agent));
    assert_eq!(failed(&world, run), FailureCode::DeadlineExceeded);
}

#[test]
fn a_check_that_has_raised_the_end_decides_it_whatever_the_agent_returns() {
    let defaults = SpecDefaults { deadline: Some(Deadline::After(Span::from_secs(15))), ..SpecDefaults::default() };
    let agent = |ctx: Context, _: Vec<Message>| async move {
        while ctx.check().is_ok() {
            ctx.effect(charge()).await.ok();
        }
        Ok(Json::null())
    };
    let world = World::new();
    let run = ran(&world, &agents_with("a", defaults, agent));
    assert_eq!(failed(&world, run), FailureCode::DeadlineExceeded);
}

#[test]
fn a_run_outlives_its_lease_by_heartbeats() {
    let agent = |ctx: Context, _: Vec<Message>| async move {
        for _ in 0..60 {
            ctx.effect(charge().policy(Policy::Idempotent)).await?;
        }
        Ok(Json::null())
    };
    let world = World::new();
    let slow = vec![Err(CallError::Unavailable); 40].into_iter().chain([Ok(Performed::Done(Json::null()))]);
    world.tools.borrow_mut().insert("stripe.charge".into(), slow.collect());
    let run = ran(&world, &agents("a", agent));
    assert_eq!(world.status(run), RunStatus::Completed);
    assert!(!world.kinds(run).contains(&"run.resumed".to_owned()));
    let beats = world.asked.borrow().iter().filter(|(_, request)| request.method() == "heartbeat").count();
    assert!((15..25).contains(&beats), "{beats} beats in some 190 s, one every 10 s");
}
