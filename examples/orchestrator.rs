//! An orchestrator: children side by side, joined in order, and one effect that must not happen twice.
//!
//! `cargo run --release --example orchestrator` sweeps it; `tests/examples.rs` does so in a test.

use chronodrome::kernel::{Json, Message, Policy, RunStatus};
use chronodrome::runtime::{AgentError, Context, EffectCall, SpawnCall};
use serde_json::json;

/// Where the agents' world is described.
pub const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/orchestrator.json");

/// Has a child build for each system, and publishes when all have built.
pub async fn release(ctx: Context, inbox: Vec<Message>) -> Result<Json, AgentError> {
    let systems = inbox[0].data["systems"].as_array().cloned().unwrap_or_default();
    let mut children = Vec::new();
    for system in &systems {
        let child = SpawnCall::of_type("build", json!({ "system": system })).map_err(|error| error.to_string())?;
        children.push(ctx.spawn(child).await?);
    }
    for child in &children {
        let built = ctx.join(child, None).await?.filter(|built| built.status == RunStatus::Completed);
        if built.is_none() {
            return Ok(Json::new(json!({ "published": 0, "failed": child.agent_id })));
        }
    }
    ctx.effect(EffectCall::new("registry", json!({ "systems": systems }))).await?;
    Ok(Json::new(json!({ "published": children.len() })))
}

/// Builds for one system. The compiler honours the key of the step: a build may be asked for again.
pub async fn build(ctx: Context, inbox: Vec<Message>) -> Result<Json, AgentError> {
    let system = &inbox[0].data["system"];
    Ok(ctx.effect(EffectCall::new("compiler", json!({ "for": system })).policy(Policy::Idempotent)).await?)
}

#[allow(dead_code, reason = "the test that includes this file has a main of its own")]
fn main() {
    let suite = chronodrome::suite(SCENARIO).agent("release", || release).agent("build", || build);
    match suite.seeds(0..2_000).run() {
        Ok(_) => println!("nothing violated"),
        Err(error) => println!("{error}"),
    }
}
