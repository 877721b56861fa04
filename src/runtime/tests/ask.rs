//! Questions and publications when nothing goes wrong.

use std::rc::Rc;

use serde_json::json;

use super::agents::*;
use super::world::{HOUR, World, output, ran};
use crate::kernel::*;
use crate::runtime::*;

fn agent(text: &str) -> AgentId {
    text.parse().unwrap()
}

/// Asks `b`, for a minute at most, and tells the outcome.
async fn asker(ctx: Context, _inbox: Vec<Message>) -> Result<Json, AgentError> {
    let outcome = ctx.ask(agent("b"), json!({"n": 20}).into(), Span::from_secs(60)).await?;
    ctx.sleep(Span::from_secs(1)).await?;
    Ok(Json::new(json!(outcome)))
}

fn asked(target: impl Agent + 'static) -> (Rc<World>, RunId, Json) {
    let world = World::new();
    let all = plain_cast(vec![("a", Rc::new(asker)), ("b", Rc::new(target))]);
    let run = ran(&world, &all);
    let told = output(&world, run);
    (world, run, told)
}

#[test]
fn a_question_ends_in_four_ways() {
    let replies = |ctx: Context, inbox: Vec<Message>| async move {
        ctx.reply(&inbox[0], json!(42).into()).await?;
        let again = ctx.reply(&inbox[0], json!(43).into()).await;
        assert!(matches!(again, Err(StepError::NotAQuestion { .. })));
        ctx.sleep(Span::from_secs(100)).await?;
        Ok(json!("not this").into())
    };
    let (_, _, told) = asked(replies);
    assert_eq!((&told["kind"], &told["result"]["output"]), (&json!("replied"), &json!(42)));
    assert_eq!(told["result"]["status"], json!("running"));
    assert_eq!(told["last_seq"], json!(2), "the seq of reply.sent");

    let (_, _, told) = asked(|_: Context, _: Vec<Message>| async { Ok(json!("the end").into()) });
    assert_eq!((&told["kind"], &told["result"]["output"]), (&json!("replied"), &json!("the end")));
    assert_eq!(told["result"]["status"], json!("completed"));

    let refused = |ctx: Context, _: Vec<Message>| async move {
        ctx.status(&RunHandle { run_id: RunId::from_parts(9, 9), agent_id: agent("x"), parent_run: None }).await?;
        Ok(Json::null())
    };
    let (_, _, told) = asked(refused);
    assert_eq!(told["kind"], json!("target_failed"));

    let (world, _, told) = asked(|ctx: Context, _: Vec<Message>| async move {
        ctx.sleep(Span::from_secs(100)).await?;
        Ok(Json::null())
    });
    assert_eq!(told["kind"], json!("timed_out"));
    assert_eq!(told["handle"]["agent_id"], json!("b"));
    assert!(world.asked.borrow().iter().any(|(_, request)| request.method() == "receiver"));
}

#[test]
fn who_is_cancelled_has_its_askers_told() {
    let world = World::new();
    let slow = |ctx: Context, _: Vec<Message>| async move {
        ctx.sleep(Span::from_secs(1_000)).await?;
        Ok(Json::null())
    };
    let all = plain_cast(vec![("a", Rc::new(asker)), ("b", Rc::new(slow))]);
    world.register(&all);
    world.deliver("a", "m1");
    let run = world.run_of("a");
    world.start(1, &all);
    world.run(Span::from_secs(10));
    world.cancel(world.run_of("b"), "enough");
    world.run(HOUR);
    assert_eq!(output(&world, run)["kind"], json!("target_cancelled"));
}

#[test]
fn a_question_to_a_type_that_nobody_has_times_out() {
    let world = World::new();
    let all = agents("a", asker);
    let run = ran(&world, &all);
    let told = output(&world, run);
    assert_eq!((&told["kind"], told.get("handle")), (&json!("timed_out"), None));
}

#[test]
fn a_publication_reaches_who_follows_and_nobody_else() {
    let publisher = |ctx: Context, _: Vec<Message>| async move {
        let id = ctx.emit("news".parse().map_err(|_| "no topic")?, json!({"n": 1}).into()).await?;
        Ok(json!(&*id).into())
    };
    let fan = |ctx: Context, inbox: Vec<Message>| async move {
        let topic: TopicId = "news".parse().map_err(|_| "no topic")?;
        match &*inbox[0].id {
            "on" => ctx.follow(topic).await?,
            "off" => ctx.unfollow(topic).await?,
            _ => {
                ctx.effect(EffectCall::new(format!("read.{}", ctx.agent_id().key()), json!({}))).await?;
            }
        }
        Ok(Json::null())
    };
    let world = World::new();
    let all = plain_cast(vec![("a", Rc::new(publisher)), ("fan", Rc::new(fan))]);
    world.register(&all);
    world.start(1, &all);
    for (to, id) in [("fan/x", "on"), ("fan/y", "on"), ("fan/z", "on"), ("fan/z", "off")] {
        world.deliver(to, id);
        world.run(Span::from_secs(10));
    }
    world.deliver("a", "m1");
    world.run(HOUR);
    assert_eq!(["read.x", "read.y", "read.z"].map(|kind| world.count(kind)), [1, 1, 0]);
}
