//! A project's own agent, its bug and its fix, as README tells it.

use chronodrome::kernel::{Json, Message, Policy};
use chronodrome::runtime::{AgentError, Context, EffectCall, StepError};
use serde_json::json;

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/own-agent/order.json");

/// Looks whether the order is paid, charges under a key of its own making, and marks the order as paid.
async fn hasty(ctx: Context, inbox: Vec<Message>) -> Result<Json, AgentError> {
    let order = inbox[0].data["order"].clone();
    loop {
        let look = EffectCall::new("ledger.paid", json!({ "order": order })).policy(Policy::Repeatable);
        if ctx.effect(look).await?["paid"] == true {
            break;
        }
        let key = ctx.uuid().await?;
        match ctx.effect(EffectCall::new("stripe.charge", json!({ "amount": 100, "key": key }))).await {
            Err(StepError::InDoubt { .. }) => {}
            charged => break drop(charged?),
        }
    }
    ctx.effect(EffectCall::new("ledger.mark", json!({ "order": order })).policy(Policy::Idempotent)).await?;
    Ok(Json::new(json!({ "order": order })))
}

/// Charges under the key that the step has by nature: a repeat of the step is a repeat of the charge.
async fn sound(ctx: Context, inbox: Vec<Message>) -> Result<Json, AgentError> {
    let order = inbox[0].data["order"].clone();
    ctx.effect(EffectCall::new("stripe.charge", json!({ "amount": 100 })).policy(Policy::Idempotent)).await?;
    ctx.effect(EffectCall::new("ledger.mark", json!({ "order": order })).policy(Policy::Idempotent)).await?;
    Ok(Json::new(json!({ "order": order })))
}

#[test]
fn the_hasty_agent_charges_twice_and_the_suite_tells_how() {
    let error = chronodrome::suite(SCENARIO).agent("billing", || hasty).seeds(0..500).run().unwrap_err();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/");
    insta::assert_snapshot!(error.to_string().replace(root, ""));
}

#[test]
fn the_sound_agent_holds() {
    let summary = chronodrome::suite(SCENARIO).agent("billing", || sound).seeds(0..500).run().unwrap();
    assert!(summary.is_sound());
}
