//! What an agent sees of its run.

use std::rc::Rc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::StepError;
use super::seat::Seat;
use super::step::Given;
use crate::kernel::{
    AgentId, AgentRunContext, Attempt, Cancellation, Json, Message, MessageId, Name, Policy, RunId, Span, Step,
    Timestamp,
};

/// The context of a run: every call of it is a journaled step, and a check.
///
/// Only one step may be open at a time; calls that are to go on together go through [`Context::all`]. A call
/// that cannot give an answer in this lease never returns: the agent is dropped and entered again later.
#[derive(Clone)]
pub struct Context {
    seat: Rc<Seat>,
}

/// An effect on the outside world, to be asked of [`Context::effect`].
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
    /// of `pause` before it. Inside [`Context::all`] there is one try.
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

/// One journaled call, as a member of [`Context::all`]. Each is the context's method of the same name.
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
    /// The time.
    Now,
    /// A random number.
    Random,
    /// A random UUID.
    Uuid,
    /// A note in the log.
    Log(Json),
}

impl Context {
    pub(super) fn new(seat: Rc<Seat>) -> Self {
        Context { seat }
    }

    /// The run.
    pub fn run_id(&self) -> RunId {
        self.seat.hold.run()
    }

    /// The run's address.
    pub fn agent_id(&self) -> &AgentId {
        &self.seat.hold.lease.spec.agent
    }

    /// Which lease of the run this is. An agent that decides anything by it does not follow its log.
    pub fn attempt(&self) -> Attempt {
        self.seat.hold.lease.key.attempt
    }

    /// How often the agent has failed in this run.
    pub fn failures(&self) -> u32 {
        self.seat.hold.log.borrow().failures
    }

    /// The number of the next step.
    pub fn steps_taken(&self) -> Step {
        self.seat.next()
    }

    /// The cooperative cancellation point. Once it has failed the run ends so, whatever the agent returns.
    ///
    /// # Errors
    /// When the run was cancelled or its deadline is over.
    pub fn check(&self) -> Result<(), StepError> {
        self.seat.check()
    }

    /// Does something to the outside world, at most once unless the call's policy allows more.
    ///
    /// # Errors
    /// Refused or in doubt, the same in every replay; or the run is to end.
    pub async fn effect(&self, call: EffectCall) -> Result<Json, StepError> {
        let (tries, pause) = (call.tries.max(1), call.pause);
        for _ in 1..tries {
            match self.seat.one(Call::Effect(call.clone())).await {
                Err(StepError::Refused { .. }) => self.sleep(pause).await?,
                other => return other.map(Given::into_json),
            }
        }
        self.seat.one(Call::Effect(call)).await.map(Given::into_json)
    }

    /// The time, by the store's clock: the same in every replay.
    ///
    /// # Errors
    /// When the run is to end.
    pub async fn now(&self) -> Result<Timestamp, StepError> {
        match self.seat.one(Call::Now).await? {
            Given::Time(now) => Ok(now),
            other => unreachable!("now gave {other:?}"),
        }
    }

    /// A random number, the same in every replay.
    ///
    /// # Errors
    /// When the run is to end.
    pub async fn random(&self) -> Result<u64, StepError> {
        let given = self.seat.one(Call::Random).await?.into_json();
        Ok(given.as_u64().unwrap_or_default())
    }

    /// A random UUID (version 4), the same in every replay.
    ///
    /// # Errors
    /// When the run is to end.
    pub async fn uuid(&self) -> Result<String, StepError> {
        let given = self.seat.one(Call::Uuid).await?.into_json();
        Ok(given.as_str().unwrap_or_default().to_owned())
    }

    /// Writes a note into the log, once.
    ///
    /// # Errors
    /// When the run is to end.
    pub async fn log(&self, data: Json) -> Result<(), StepError> {
        self.seat.one(Call::Log(data)).await.map(drop)
    }

    /// Sends a message, once, and returns its id: `<run>.<step>`.
    ///
    /// # Errors
    /// When the run is to end.
    pub async fn send(&self, to: AgentId, data: Json) -> Result<MessageId, StepError> {
        let given = self.seat.one(Call::Send { to, data }).await?.into_json();
        Ok(given.as_str().unwrap_or_default().into())
    }

    /// Fires a named signal at a run, once, under the id `<run>.<step>`. A run that has ended drops it.
    ///
    /// # Errors
    /// When the run is to end.
    pub async fn signal(&self, run: RunId, name: impl Into<Name>, payload: Json) -> Result<(), StepError> {
        self.seat.one(Call::Signal { run, name: name.into(), payload }).await.map(drop)
    }

    /// Sleeps; a sleeping run costs no worker anything.
    ///
    /// # Errors
    /// When the run is to end.
    pub async fn sleep(&self, span: Span) -> Result<(), StepError> {
        self.seat.one(Call::Sleep(span)).await.map(drop)
    }

    /// Waits for a signal; `None` when the limit was over first.
    ///
    /// # Errors
    /// When the run is to end.
    pub async fn wait_signal(
        &self,
        name: impl Into<Name>,
        limit: Option<Span>,
    ) -> Result<Option<ReceivedSignal>, StepError> {
        match self.seat.one(Call::WaitSignal { name: name.into(), limit }).await? {
            Given::Signal(signal) => Ok(signal),
            other => unreachable!("wait_signal gave {other:?}"),
        }
    }

    /// Takes up to `max` messages that came after those received so far, waiting for the first; none when the
    /// limit was over before one came.
    ///
    /// # Errors
    /// When the run is to end.
    pub async fn receive(&self, max: u32, limit: Option<Span>) -> Result<Vec<Message>, StepError> {
        match self.seat.one(Call::Receive { max, limit }).await? {
            Given::Mail(mail) => Ok(mail),
            other => unreachable!("receive gave {other:?}"),
        }
    }

    /// Makes single calls together: all run to their end. The results stand in the order of the calls; a
    /// signal is `{"id", "name", "payload"}` or null, a receive a list of messages, a time its text.
    ///
    /// # Errors
    /// The first error in the order of the calls; or the run is to end.
    pub async fn all(&self, calls: Vec<Call>) -> Result<Vec<Json>, StepError> {
        self.seat.group(calls).await
    }
}

impl AgentRunContext for Context {
    fn run_id(&self) -> RunId {
        self.run_id()
    }

    fn tenant_id(&self) -> Option<Name> {
        self.seat.hold.lease.spec.settings.tenant.clone()
    }

    fn check(&self) -> Result<(), Cancellation> {
        self.seat.check().map_err(|error| match error {
            StepError::Cancelled { reason } => Cancellation { reason },
            _ => Cancellation { reason: "deadline exceeded".into() },
        })
    }
}

impl Given {
    /// The result as a document.
    pub(super) fn into_json(self) -> Json {
        let value = match self {
            Given::Value(json) => return json,
            Given::Nothing => Value::Null,
            Given::Time(at) => Value::from(at.to_string()),
            Given::Signal(signal) => serde_json::to_value(signal).expect("a signal is a document"),
            Given::Mail(mail) => serde_json::to_value(mail).expect("a message is a document"),
        };
        Json::new(value)
    }
}
