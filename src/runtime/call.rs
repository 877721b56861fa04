//! The calls of an agent as data: what [`super::Context`] is asked for, and what a group is made of.

use serde::{Deserialize, Serialize};

use crate::kernel::{AgentId, IdError, Json, Message, Name, Policy, RunHandle, RunId, Span, Supervision, TopicId};

/// An effect on the outside world, to be asked of [`super::Context::effect`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectCall {
    pub(super) kind: Name,
    pub(super) args: Json,
    pub(super) policy: Policy,
    pub(super) tries: u32,
    pub(super) pause: Span,
    pub(super) limit: Option<Span>,
}

impl EffectCall {
    /// The effect `kind` with these arguments: at most once, one try, the worker's time limit.
    pub fn new(kind: impl Into<Name>, args: impl Into<Json>) -> Self {
        let (kind, args) = (kind.into(), args.into());
        EffectCall { kind, args, policy: Policy::default(), tries: 1, pause: Span::ZERO, limit: None }
    }

    /// What may be done when its outcome is unknown.
    #[must_use]
    pub fn policy(self, policy: Policy) -> Self {
        EffectCall { policy, ..self }
    }

    /// After a refusal it is tried again, up to `tries` times in all, each try a step of its own, with a sleep
    /// of `pause` before it, or as long as the refusal asked for if that is longer. Inside [`super::Context::all`] there is one try.
    #[must_use]
    pub fn tries(self, tries: u32, pause: Span) -> Self {
        EffectCall { tries, pause, ..self }
    }

    /// After this long the outcome is unknown.
    #[must_use]
    pub fn limit(self, limit: Span) -> Self {
        EffectCall { limit: Some(limit), ..self }
    }
}

/// A call of a model, to be asked of [`super::Context::model`]: an effect that may be repeated, whose recorded answer is spent
/// from the budget of the run's tree.
///
/// The outside world answers an object; its `usage` may hold `tokens` and `cost_micros`, and each recorded answer is one
/// turn. Its `text` is what the model said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelCall {
    pub(super) model: Name,
    pub(super) args: Json,
    pub(super) json: bool,
    pub(super) tries: u32,
    pub(super) pause: Span,
    pub(super) limit: Option<Span>,
}

impl ModelCall {
    /// Asks `model` with these arguments: one try, any text, the worker's time limit.
    pub fn new(model: impl Into<Name>, args: impl Into<Json>) -> Self {
        let (model, args) = (model.into(), args.into());
        ModelCall { model, args, json: false, tries: 1, pause: Span::ZERO, limit: None }
    }

    /// The answer's `text` must be a JSON document: else the step fails with [`super::StepError::Malformed`].
    #[must_use]
    pub fn json(self) -> Self {
        ModelCall { json: true, ..self }
    }

    /// After a refusal or a malformed answer it is tried again, up to `tries` times in all, each try a step of its own,
    /// with a sleep of `pause` before it, or as long as the refusal asked for if that is longer. Inside [`super::Context::all`]
    /// there is one try.
    #[must_use]
    pub fn tries(self, tries: u32, pause: Span) -> Self {
        ModelCall { tries, pause, ..self }
    }

    /// After this long without an answer it is asked again.
    #[must_use]
    pub fn limit(self, limit: Span) -> Self {
        ModelCall { limit: Some(limit), ..self }
    }
}

/// A child to be spawned by [`super::Context::spawn`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpawnCall {
    pub(super) target: SpawnTarget,
    pub(super) boot: Json,
    pub(super) supervision: Supervision,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SpawnTarget {
    At(AgentId),
    /// A fresh address of the type of this one.
    OfType(AgentId),
}

impl SpawnCall {
    /// A child at a given address. It is refused while another run lives there.
    pub fn at(agent: AgentId, boot: impl Into<Json>) -> Self {
        let (target, supervision) = (SpawnTarget::At(agent), Supervision::default());
        SpawnCall { target, boot: boot.into(), supervision }
    }

    /// A child of a type, at a fresh address of its own: `type/<parent run>.<step>`.
    ///
    /// # Errors
    /// When the type is empty or holds a `/`.
    pub fn of_type(kind: &str, boot: impl Into<Json>) -> Result<Self, IdError> {
        let target = SpawnTarget::OfType(AgentId::new(kind, "")?);
        Ok(SpawnCall { target, boot: boot.into(), supervision: Supervision::default() })
    }

    /// What the parent says about the child beyond what its type is registered with.
    #[must_use]
    pub fn supervision(self, supervision: Supervision) -> Self {
        SpawnCall { supervision, ..self }
    }
}

/// A signal that a wait got.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceivedSignal {
    /// Its id.
    pub id: Name,
    /// Its name.
    pub name: Name,
    /// Its data.
    pub payload: Json,
}

/// One journaled call, as a member of [`super::Context::all`]. Each is the context's method of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// An effect; one try.
    Effect(EffectCall),
    /// A message.
    Send {
        /// The receiver.
        to: AgentId,
        /// The content.
        data: Json,
    },
    /// A signal.
    Signal {
        /// The receiver.
        run: RunId,
        /// Its name.
        name: Name,
        /// Its data.
        payload: Json,
    },
    /// A pause.
    Sleep(Span),
    /// A wait for a signal.
    WaitSignal {
        /// Its name.
        name: Name,
        /// How long at most.
        limit: Option<Span>,
    },
    /// A wait for mail.
    Receive {
        /// The most messages.
        max: u32,
        /// How long at most.
        limit: Option<Span>,
    },
    /// A call of a model; one try.
    Model(ModelCall),
    /// A child. Gives its handle.
    Spawn(SpawnCall),
    /// A wait for the end of a child. Gives its result, or null when the limit was over first.
    Join {
        /// The child.
        child: RunHandle,
        /// How long at most.
        limit: Option<Span>,
    },
    /// The cancel of a child and all below it.
    Cancel {
        /// The child.
        child: RunHandle,
        /// Why.
        reason: Name,
    },
    /// The children whose end is not in the log.
    ChildrenOf,
    /// A peek at a run.
    Status(RunHandle),
    /// A question.
    Ask {
        /// Who is asked.
        to: AgentId,
        /// The question.
        data: Json,
        /// How long at most.
        limit: Span,
    },
    /// An answer.
    Reply {
        /// The question, as it was received.
        question: Message,
        /// The answer.
        answer: Json,
    },
    /// A publication.
    Emit {
        /// The topic.
        topic: TopicId,
        /// The content.
        data: Json,
    },
    /// The begin of a subscription.
    Follow(TopicId),
    /// The end of a subscription.
    Unfollow(TopicId),
    /// The time.
    Now,
    /// A random number.
    Random,
    /// A random UUID.
    Uuid,
    /// A note in the log.
    Log(Json),
    /// The mark of a change of the agent's code, see [`super::Context::version`]. In a group it is a step in any case, and gives
    /// true: a run whose log has no such step there does not follow its log.
    Version(Name),
}
