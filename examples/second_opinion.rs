//! A question and its answer: every way in which waiting may end is a case of the asker's code.
//!
//! `cargo run --release --example second_opinion` sweeps it; `tests/examples.rs` does so in a test.

use chronodrome::kernel::{AskOutcome, Json, Message, Policy, Span};
use chronodrome::runtime::{AgentError, Context, EffectCall};
use serde_json::json;

/// Where the agents' world is described.
pub const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/second_opinion.json");

/// Asks a colleague, for a minute at most.
pub async fn doctor(ctx: Context, inbox: Vec<Message>) -> Result<Json, AgentError> {
    let colleague = "colleague/cox".parse().map_err(|_| "no address")?;
    let outcome = ctx.ask(colleague, inbox[0].data.clone(), Span::from_secs(60)).await?;
    Ok(Json::new(match outcome {
        AskOutcome::Replied { .. } => json!({ "by": "two" }),
        AskOutcome::TimedOut { .. } => json!({ "by": "one", "for": "nobody answered" }),
        AskOutcome::TargetFailed { .. } | AskOutcome::TargetCancelled { .. } => json!({ "by": "one" }),
    }))
}

/// Looks the case up and answers every question that has come.
pub async fn colleague(ctx: Context, inbox: Vec<Message>) -> Result<Json, AgentError> {
    for question in &inbox {
        let look = EffectCall::new("archive", question.data.clone()).policy(Policy::Repeatable);
        let found = ctx.effect(look).await?;
        ctx.reply(question, found).await?;
    }
    Ok(Json::null())
}

#[allow(dead_code, reason = "the test that includes this file has a main of its own")]
fn main() {
    let suite = chronodrome::suite(SCENARIO).agent("doctor", || doctor).agent("colleague", || colleague);
    match suite.seeds(0..2_000).run() {
        Ok(_) => println!("nothing violated"),
        Err(error) => println!("{error}"),
    }
}
