//! Agents, their registry, and the errors that they raise or meet.

use std::collections::BTreeMap;
use std::future::Future;
use std::rc::Rc;

use super::Context;
use crate::kernel::{AgentId, EffectId, Json, Message, MessageId, Name, RunId, Span, SpecDefaults, Task, Version};

/// A piece of work that survives its worker: everything it does to the world goes through its [`Context`], and
/// given the same answers it asks for the same steps in the same order.
///
/// ```
/// use std::rc::Rc;
/// use chronodrome::kernel::{Json, Message};
/// use chronodrome::runtime::{Agent, AgentError, Context, EffectCall};
/// use serde_json::json;
///
/// async fn billing(ctx: Context, _inbox: Vec<Message>) -> Result<Json, AgentError> {
///     let charge = ctx.effect(EffectCall::new("stripe.charge", json!({"amount": 100}))).await?;
///     Ok(charge)
/// }
/// let agent: Rc<dyn Agent> = Rc::new(billing);
/// ```
pub trait Agent {
    /// Runs once for a batch of mail. A replay enters it again with the same batch.
    fn run(&self, ctx: Context, inbox: Vec<Message>) -> Task<Result<Json, AgentError>>;
}

impl<F, Fut> Agent for F
where
    F: Fn(Context, Vec<Message>) -> Fut,
    Fut: Future<Output = Result<Json, AgentError>> + 'static,
{
    fn run(&self, ctx: Context, inbox: Vec<Message>) -> Task<Result<Json, AgentError>> {
        Box::pin(self(ctx, inbox))
    }
}

/// Why an agent ended without an output.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// It raised this itself; it may be tried again.
    #[error("{0}")]
    Own(String),
    /// It let the error of a step through. A recorded error is final at once: a retry would meet it again.
    #[error(transparent)]
    Step(#[from] StepError),
}

impl From<&str> for AgentError {
    fn from(error: &str) -> Self {
        AgentError::Own(error.to_owned())
    }
}

impl From<String> for AgentError {
    fn from(error: String) -> Self {
        AgentError::Own(error)
    }
}

/// Why a call of the context gave no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// The run was cancelled; no step begins any more.
    #[error("the run was cancelled: {reason}")]
    Cancelled {
        /// The reason given.
        reason: Name,
    },
    /// The run's deadline has passed; no step begins any more.
    #[error("the run's deadline has passed")]
    DeadlineExceeded,
    /// The tool refused: the effect surely did not happen. The same in every replay.
    #[error("effect {effect_id} was refused: {reason}")]
    Refused {
        /// The effect.
        effect_id: EffectId,
        /// The tool's reason.
        reason: Name,
        /// How long to wait before another try, where the tool says so.
        after: Option<Span>,
    },
    /// Nobody can tell whether the effect happened. The same in every replay.
    #[error("nobody can tell whether effect {effect_id} happened")]
    InDoubt {
        /// The effect.
        effect_id: EffectId,
    },
    /// The model answered, and was paid, but what it said is no JSON document. The same in every replay.
    #[error("the answer of model call {effect_id} is no JSON document")]
    Malformed {
        /// The effect.
        effect_id: EffectId,
    },
    /// The budget of the run's tree is spent: the call was not made. The same in every replay.
    #[error("the budget is spent: {limit}")]
    BudgetExhausted {
        /// Which limit was reached.
        limit: Name,
    },
    /// A child was refused. The same in every replay.
    #[error("spawn of `{agent}` denied: {reason}")]
    SpawnDenied {
        /// Who was wanted.
        agent: AgentId,
        /// Why not.
        reason: Name,
    },
    /// The run is no child of this one. The same in every replay.
    #[error("run {run} is no child of this run")]
    NotAChild {
        /// The run.
        run: RunId,
    },
    /// Nobody knows the run. The same in every replay.
    #[error("nobody knows run {run}")]
    UnknownRun {
        /// The run.
        run: RunId,
    },
    /// The message is no question that waits for this run's answer. The same in every replay.
    #[error("message `{message}` is no question that waits for an answer of this run")]
    NotAQuestion {
        /// The message.
        message: MessageId,
    },
    /// The name of the signal is kept for the answers to questions. The same in every replay.
    #[error("signals that are called `{name}` are answers to questions")]
    ReservedName {
        /// The name.
        name: Name,
    },
    /// Another step of the run was open. The run fails, whatever the agent makes of this.
    #[error("a step was asked for while another was open")]
    Overlapping,
}

impl StepError {
    /// The error's name in scenario files.
    pub const fn code(&self) -> &'static str {
        match self {
            StepError::Cancelled { .. } => "Cancelled",
            StepError::DeadlineExceeded => "DeadlineExceeded",
            StepError::Refused { .. } => "Refused",
            StepError::InDoubt { .. } => "InDoubt",
            StepError::Malformed { .. } => "Malformed",
            StepError::BudgetExhausted { .. } => "BudgetExhausted",
            StepError::SpawnDenied { .. } => "SpawnDenied",
            StepError::NotAChild { .. } => "NotAChild",
            StepError::UnknownRun { .. } => "UnknownRun",
            StepError::NotAQuestion { .. } => "NotAQuestion",
            StepError::ReservedName { .. } => "ReservedName",
            StepError::Overlapping => "OverlappingSteps",
        }
    }
}

/// An agent type as a worker knows it.
#[derive(Clone)]
pub struct Registration {
    /// The version of the agent's code.
    pub version: Version,
    /// What runs are made with that mail makes.
    pub defaults: SpecDefaults,
    /// The code.
    pub agent: Rc<dyn Agent>,
}

/// The agents that a worker can run, by type.
#[derive(Clone, Default)]
pub struct Agents(pub BTreeMap<Name, Registration>);
