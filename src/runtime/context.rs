//! What an agent sees of its run.

use std::rc::Rc;

use serde_json::Value;

use super::StepError;
use super::call::{Call, EffectCall, ModelCall, ReceivedSignal, SpawnCall};
use super::seat::Seat;
use super::step::Given;
use crate::kernel::{
    AgentId, AgentRunContext, AskOutcome, Attempt, Cancellation, Json, Message, MessageId, Name, RunHandle, RunId,
    RunResult, RunStatusSummary, Span, Step, Supervision, Supervisor, Timestamp, TopicId,
};

/// The context of a run: every call of it is a journaled step, and a check.
///
/// Only one step may be open at a time; calls that are to go on together go through [`Context::all`]. A call
/// that cannot give an answer in this lease never returns: the agent is dropped and entered again later.
#[derive(Clone)]
pub struct Context {
    seat: Rc<Seat>,
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
                Err(StepError::Refused { after, .. }) => {
                    self.sleep(after.map_or(pause, |after| pause.max(after))).await?
                }
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
    /// The name begins with `reply:`, which is kept for answers; or the run is to end.
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
    /// The name begins with `reply:`, which is kept for answers; or the run is to end.
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

    /// Spawns a child, once: the same child on every replay. It is announced in this run's log before it can run.
    ///
    /// # Errors
    /// Denied (its address is taken, or the tree's budget of runs is used up), the same in every replay; or the run is to
    /// end.
    pub async fn spawn(&self, call: SpawnCall) -> Result<RunHandle, StepError> {
        self.seat.one(Call::Spawn(call)).await.map(Given::into_handle)
    }

    /// Waits for the end of a child of this run; `None` when the limit was over first. Any number of joins of one child
    /// give the same result.
    ///
    /// # Errors
    /// The run is no child of this one; or this one is to end.
    pub async fn join(&self, child: &RunHandle, limit: Option<Span>) -> Result<Option<RunResult>, StepError> {
        let child = child.clone();
        self.seat.one(Call::Join { child, limit }).await.map(Given::into_result)
    }

    /// Cancels a child of this run and all below it. It will happen, whatever becomes of this run.
    ///
    /// # Errors
    /// The run is no child of this one; or this one is to end.
    pub async fn cancel(&self, child: &RunHandle, reason: impl Into<Name>) -> Result<(), StepError> {
        let child = child.clone();
        self.seat.one(Call::Cancel { child, reason: reason.into() }).await.map(drop)
    }

    /// The children of this run whose end is not in its log yet.
    ///
    /// # Errors
    /// When the run is to end.
    pub async fn children_of(&self) -> Result<Vec<RunHandle>, StepError> {
        self.seat.one(Call::ChildrenOf).await.map(Given::into_handles)
    }

    /// A peek at a run, once. A child has ended only once this run's log says so.
    ///
    /// # Errors
    /// Nobody knows such a run; or this one is to end.
    pub async fn status(&self, run: &RunHandle) -> Result<RunStatusSummary, StepError> {
        self.seat.one(Call::Status(run.clone())).await.map(Given::into_summary)
    }

    /// Asks another agent and waits for its answer, for `limit` at most.
    ///
    /// # Errors
    /// When the run is to end. That nobody answered is an outcome.
    pub async fn ask(&self, to: AgentId, data: Json, limit: Span) -> Result<AskOutcome, StepError> {
        self.seat.one(Call::Ask { to, data, limit }).await.map(Given::into_outcome)
    }

    /// Answers a question that this run has received. A question without an answer when the run ends is answered with how
    /// it ended.
    ///
    /// # Errors
    /// The message is no question that this run has received, or was answered before; or the run is to end.
    pub async fn reply(&self, question: &Message, answer: Json) -> Result<(), StepError> {
        let question = question.clone();
        self.seat.one(Call::Reply { question, answer }).await.map(drop)
    }

    /// Publishes a message to all who follow a topic, once, and returns its id: `<run>.<step>`.
    ///
    /// # Errors
    /// When the run is to end.
    pub async fn emit(&self, topic: TopicId, data: Json) -> Result<MessageId, StepError> {
        let given = self.seat.one(Call::Emit { topic, data }).await?.into_json();
        Ok(given.as_str().unwrap_or_default().into())
    }

    /// This agent follows a topic from now on.
    ///
    /// # Errors
    /// When the run is to end.
    pub async fn follow(&self, topic: TopicId) -> Result<(), StepError> {
        self.seat.one(Call::Follow(topic)).await.map(drop)
    }

    /// This agent follows a topic no more.
    ///
    /// # Errors
    /// When the run is to end.
    pub async fn unfollow(&self, topic: TopicId) -> Result<(), StepError> {
        self.seat.one(Call::Unfollow(topic)).await.map(drop)
    }

    /// Asks a model. The recorded answer is the answer in every replay, and is spent once.
    ///
    /// # Errors
    /// The tree's budget is spent; refused; malformed; in doubt: the same in every replay. Or the run is to end.
    pub async fn model(&self, call: ModelCall) -> Result<Json, StepError> {
        let (tries, pause) = (call.tries.max(1), call.pause);
        for _ in 1..tries {
            match self.seat.one(Call::Model(call.clone())).await {
                Err(StepError::Refused { after, .. }) => {
                    self.sleep(after.map_or(pause, |after| pause.max(after))).await?
                }
                Err(StepError::Malformed { .. }) => self.sleep(pause).await?,
                other => return other.map(Given::into_json),
            }
        }
        self.seat.one(Call::Model(call)).await.map(Given::into_json)
    }

    /// Whether this run takes the branch that the change named `change` brought into the agent's code. A run that comes
    /// here for the first time does; one whose log was written by code without the change keeps its old branch, and no
    /// step is taken. The first answer is the run's answer.
    ///
    /// # Errors
    /// When the run is to end.
    pub async fn version(&self, change: impl Into<Name>) -> Result<bool, StepError> {
        self.seat.takes(change.into()).await
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

impl Supervisor for Context {
    type Error = StepError;

    async fn spawn(&self, child_agent: AgentId, supervision: Supervision, boot: Json) -> Result<RunHandle, StepError> {
        Context::spawn(self, SpawnCall::at(child_agent, boot).supervision(supervision)).await
    }

    async fn join(&self, handle: &RunHandle) -> Result<RunResult, StepError> {
        let result = Context::join(self, handle, None).await?;
        Ok(result.expect("a join without a limit ends by the end of the child"))
    }

    async fn cancel(&self, handle: &RunHandle, reason: Name) -> Result<(), StepError> {
        Context::cancel(self, handle, reason).await
    }

    async fn children_of(&self) -> Result<Vec<RunHandle>, StepError> {
        Context::children_of(self).await
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

impl Given {
    fn document<T: serde::de::DeserializeOwned>(self) -> Option<T> {
        serde_json::from_value((*self.into_json()).clone()).ok()
    }

    fn into_handle(self) -> RunHandle {
        self.document().expect("a spawn gives a handle")
    }

    fn into_handles(self) -> Vec<RunHandle> {
        self.document().expect("children_of gives handles")
    }

    fn into_result(self) -> Option<RunResult> {
        self.document().expect("a join gives a result or nothing")
    }

    fn into_summary(self) -> RunStatusSummary {
        self.document().expect("a status gives a summary")
    }

    fn into_outcome(self) -> AskOutcome {
        self.document().expect("an ask gives an outcome")
    }
}
