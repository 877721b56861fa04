//! Questions: who asks waits for the answer, and keeps the outcome that came first.

use serde_json::Value;

use super::announced::reply_name;
use super::seat::Seat;
use super::step::Finish;
use crate::kernel::{
    AgentId, AskOutcome, Body, ClaimWait, Claimed, EventLog, Inbox, Json, Message, MessageId, RunHandle, Scheduler,
    Seq, SignalBus, Step, Wait,
};

impl Seat {
    /// A question that the run has received and not answered.
    pub fn question(&self, message: &MessageId) -> Option<Message> {
        let log = self.hold.log.borrow();
        log.questions.get(message).filter(|question| !question.answered).map(|question| question.message.clone())
    }

    /// Brings a question that stands in the log to its outcome, or says what it waits for.
    pub async fn finish_ask(&self, step: Step) -> Finish {
        if self.hold.log.borrow().result(step).is_none() {
            let (to, message, until) = self.asked(step);
            self.bring(step, &to, &message).await;
            let name = reply_name(message.correlation.as_ref().unwrap_or(&message.id));
            let wait = ClaimWait { signal: Some(name.clone()), until: Some(until) };
            let store = &self.hold.floor.store;
            let claim = async || store.claim(self.hold.run(), step, wait.clone()).await;
            let outcome = match self.hold.settled(claim).await {
                Some(Claimed::Signal { payload, .. }) => outcome_of(&payload),
                Some(Claimed::TimedOut) => self.timed_out(&to, &message.id).await,
                None => return Finish::Waits(vec![Wait::Signal(name), Wait::Time(until)]),
            };
            self.end_step(step, Body::AskResolved { step, outcome: Box::new(outcome) }).await;
        }
        Finish::Ended(Ok(self.given(step)))
    }

    fn asked(&self, step: Step) -> (AgentId, Message, crate::kernel::Timestamp) {
        let log = self.hold.log.borrow();
        let record = &log.steps[&step];
        match &*record.body {
            Body::AskSent { to, message, limit, .. } => (to.clone(), message.clone(), record.ts + *limit),
            other => unreachable!("a question began with {}", other.kind()),
        }
    }

    /// Delivers the question, once in a lease. Where nobody has registered the type, nobody may answer in time either.
    async fn bring(&self, step: Step, to: &AgentId, message: &Message) {
        let is_brought = self.hold.log.borrow().steps[&step].carried;
        if !is_brought {
            let deliver = async || self.hold.floor.store.deliver(to.clone(), message.clone(), true).await;
            let is_delivered = self.hold.settled(deliver).await.is_ok();
            if let Some(record) = self.hold.log.borrow_mut().steps.get_mut(&step) {
                record.carried = is_delivered;
            }
        }
    }

    /// Nobody has answered in time: who has the question, or may get it, and how far that run is.
    async fn timed_out(&self, to: &AgentId, message: &MessageId) -> AskOutcome {
        let store = &self.hold.floor.store;
        let receiver = self.hold.settled(async || store.receiver(to.clone(), message.clone()).await).await;
        let target = match receiver {
            Some(run) => Some(run),
            None => self.hold.settled(async || store.run_of(to.clone()).await).await,
        };
        let Some(run) = target else { return AskOutcome::TimedOut { handle: None, last_seq: Seq::EMPTY } };
        let last_seq = self.hold.settled(async || store.last_seq(run).await).await;
        let spec = self.hold.settled(async || store.spec(run).await).await;
        let parent_run = spec.and_then(|spec| spec.parent);
        AskOutcome::TimedOut { handle: Some(RunHandle { run_id: run, agent_id: to.clone(), parent_run }), last_seq }
    }
}

/// The outcome in an answer. Only the runtime sends such signals; one that is something else counts as no answer.
fn outcome_of(payload: &Json) -> AskOutcome {
    let payload: &Value = payload;
    serde_json::from_value(payload.clone()).unwrap_or(AskOutcome::TimedOut { handle: None, last_seq: Seq::EMPTY })
}
