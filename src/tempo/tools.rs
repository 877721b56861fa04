//! The tools of the temporal layer as calls of an agent written in Rust.

#![expect(async_fn_in_trait, reason = "one worker is one single-threaded executor: futures need not be Send")]

use serde_json::{Value, json};

use super::MemoryTrace;
use crate::kernel::{Json, MEMORY_PULL, MEMORY_PUSH, PLAN_PROPOSE, Policy};
use crate::runtime::{Context, EffectCall, StepError};

/// What an agent does with plans and memory. Each call is a step of its run: recorded, and the same in every replay.
///
/// ```
/// use chronodrome::kernel::{Json, Message};
/// use chronodrome::runtime::{AgentError, Context};
/// use chronodrome::tempo::Temporal;
/// use serde_json::json;
///
/// async fn reviewer(ctx: Context, inbox: Vec<Message>) -> Result<Json, AgentError> {
///     let order = &inbox[0].data;
///     let user = order["user"].as_str().unwrap_or_default().to_owned();
///     let notes = ctx.pull(&user, json!({ "type": "observation" })).await?;
///     let uid = format!("review of {}", order["occurrence"]);
///     let content = format!("{} notes", notes.len());
///     let at = ctx.now().await?;
///     let trace = json!({ "uid": uid, "type": "reflection", "timestamp": at, "content": content });
///     ctx.push(&user, trace).await?;
///     Ok(Json::null())
/// }
/// ```
pub trait Temporal {
    /// Proposes a plan to a user, once.
    ///
    /// # Errors
    /// Refused (the document breaks a rule, its uid is taken, nobody knows the user), the same in every replay; or the run is
    /// to end.
    async fn propose(&self, user: &str, plan: Value) -> Result<(), StepError>;

    /// Puts a memory trace into the run's staging. It becomes memory of the user if the run completes, and never otherwise.
    ///
    /// # Errors
    /// Refused (the document breaks a rule), the same in every replay; or the run is to end.
    async fn push(&self, user: &str, trace: Value) -> Result<(), StepError>;

    /// The memory of a user that is committed, oldest first: of a `type`, a `task_id`, a `tempo_tag`, from `from` until
    /// `until`, both included.
    ///
    /// # Errors
    /// When the run is to end.
    async fn pull(&self, user: &str, filter: Value) -> Result<Vec<MemoryTrace>, StepError>;
}

impl Temporal for Context {
    async fn propose(&self, user: &str, plan: Value) -> Result<(), StepError> {
        let args = json!({ "user": user, "plan": plan });
        self.effect(EffectCall::new(PLAN_PROPOSE, args).policy(Policy::Idempotent)).await.map(drop)
    }

    async fn push(&self, user: &str, trace: Value) -> Result<(), StepError> {
        let args = json!({ "user": user, "trace": trace });
        self.effect(EffectCall::new(MEMORY_PUSH, args).policy(Policy::Idempotent)).await.map(drop)
    }

    async fn pull(&self, user: &str, filter: Value) -> Result<Vec<MemoryTrace>, StepError> {
        let mut args = filter;
        args["user"] = Value::from(user);
        let pulled = self.effect(EffectCall::new(MEMORY_PULL, args).policy(Policy::Repeatable)).await?;
        let traces = pulled["traces"].as_array().into_iter().flatten();
        Ok(traces.filter_map(|trace| MemoryTrace::parse(&Json::new(trace.clone())).ok()).collect())
    }
}
