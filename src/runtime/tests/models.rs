//! Calls of models, and the budget that they spend from.

use std::rc::Rc;

use serde_json::json;

use super::agents::*;
use super::world::{HOUR, World};
use crate::kernel::*;
use crate::runtime::*;

fn answer(text: &str, tokens: u64) -> Result<Performed, CallError> {
    Ok(Performed::Done(Json::new(json!({"text": text, "usage": {"tokens": tokens, "cost_micros": 3}}))))
}

/// A world in which the model `m` answers so, after an hour; the run at `a`.
fn ran(answers: Vec<Result<Performed, CallError>>, limits: Limits, agent: impl Agent + 'static) -> (Rc<World>, RunId) {
    let world = World::new();
    world.tools.borrow_mut().insert("m".into(), answers);
    let all = agents_with("a", SpecDefaults { limits, ..Default::default() }, agent);
    world.register(&all);
    world.deliver("a", "m1");
    let run = world.run_of("a");
    world.start(1, &all);
    world.run(HOUR);
    (world, run)
}

fn spent(world: &World, run: RunId) -> (u64, u64, u64) {
    let spent = world.ask(world.store.totals(run)).spent;
    (spent.tokens, spent.cost_micros, spent.turns)
}

async fn talk(ctx: Context, _inbox: Vec<Message>) -> Result<Json, AgentError> {
    let mut said = Vec::new();
    for turn in 0..3 {
        said.push(ctx.model(ModelCall::new("m", json!({"turn": turn}))).await?["text"].clone());
        ctx.sleep(Span::from_secs(1)).await?;
    }
    Ok(Json::new(json!(said)))
}

#[test]
fn every_recorded_answer_is_spent_once_over_all_replays() {
    let (world, run) = ran(vec![answer("one", 5), answer("two", 7), answer("three", 1)], Limits::default(), talk);
    assert_eq!(world.ending(run).status(), RunStatus::Completed);
    assert_eq!(spent(&world, run), (13, 9, 3));
    assert_eq!(world.count("m"), 3);
}

#[test]
fn no_call_begins_over_a_limit_and_the_run_fails_of_it() {
    let cases = [
        (Limits { tokens: Some(10), ..Default::default() }, "tokens", 2),
        (Limits { cost_micros: Some(3), ..Default::default() }, "cost", 1),
        (Limits { turns: Some(2), ..Default::default() }, "turns", 2),
    ];
    for (limits, name, calls) in cases {
        let (world, run) = ran(vec![answer("x", 5)], limits, talk);
        match world.ending(run) {
            Ending::Failed { code: FailureCode::BudgetExhausted, error, .. } => {
                assert!(error.ends_with(name), "{error}")
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(world.count("m"), calls, "{name}");
    }
}

#[test]
fn an_answer_that_is_lost_is_asked_for_again_and_only_the_recorded_one_is_spent() {
    let (world, run) = ran(vec![Err(CallError::Unknown), answer("two", 7)], Limits::default(), talk);
    assert_eq!(world.count("m"), 4);
    assert_eq!(spent(&world, run), (21, 9, 3));
}

#[test]
fn what_a_refusal_and_a_malformed_answer_ask_for_is_waited_for() {
    let agent = |ctx: Context, _: Vec<Message>| async move {
        let call = ModelCall::new("m", json!({})).json().tries(4, Span::from_secs(2));
        let begun = ctx.now().await?;
        let said = ctx.model(call).await?["text"].clone();
        let took = ctx.now().await?.since(begun);
        let is_right = (Span::from_secs(24)..Span::from_secs(26)).contains(&took);
        Ok(Json::new(json!([said, is_right])))
    };
    let busy = Ok(Performed::Refused { reason: "rate limit".into(), after: Some(Span::from_secs(20)) });
    let no = Ok(Performed::Refused { reason: "no".into(), after: None });
    let (world, run) = ran(vec![busy, no, answer("{\"cut", 4), answer("[1]", 2)], Limits::default(), agent);
    match world.ending(run) {
        Ending::Completed { output, .. } => assert_eq!(*output, json!(["[1]", true])),
        other => panic!("{other:?}"),
    }
    assert_eq!(spent(&world, run), (6, 6, 2), "a malformed answer is paid for, a refusal is not");
}
