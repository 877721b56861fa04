//! An agent of a model and a tool: each answer of the model is recorded, paid once, and the same in every replay.
//!
//! `cargo run --release --example researcher` sweeps it; `tests/examples.rs` does so in a test.

use chronodrome::kernel::{Json, Message, Policy, Span};
use chronodrome::runtime::{AgentError, Context, EffectCall, ModelCall, StepError};
use serde_json::{Value, json};

/// Where the agent's world is described.
pub const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/researcher.json");

/// Asks a model what to do, and does it, ten times at most.
pub async fn researcher(ctx: Context, inbox: Vec<Message>) -> Result<Json, AgentError> {
    let mut known = vec![(*inbox[0].data).clone()];
    for _ in 0..10 {
        let ask = ModelCall::new("model", json!({ "known": known })).json().tries(3, Span::from_secs(2));
        let said = match ctx.model(ask).await {
            Err(StepError::BudgetExhausted { .. }) => return Ok(Json::new(json!({ "answer": null, "why": "money" }))),
            Err(StepError::Malformed { .. }) => return Ok(Json::new(json!({ "answer": null, "why": "nonsense" }))),
            said => said?,
        };
        let text = said["text"].as_str().unwrap_or_default();
        let wish: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if wish["tool"] != "search" {
            return Ok(Json::new(wish));
        }
        let search = EffectCall::new("search", json!({ "for": wish["for"] })).policy(Policy::Repeatable);
        known.push((*ctx.effect(search).await?).clone());
    }
    Ok(Json::new(json!({ "answer": null, "why": "patience" })))
}

#[allow(dead_code, reason = "the test that includes this file has a main of its own")]
fn main() {
    match chronodrome::suite(SCENARIO).agent("researcher", || researcher).seeds(0..2_000).run() {
        Ok(_) => println!("nothing violated"),
        Err(error) => println!("{error}"),
    }
}
