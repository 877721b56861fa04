//! Calls from outside, without a lease: each is repeated until it is decided.

use std::rc::Rc;
use std::sync::Arc;

use super::hold::repeat_on;
use super::pace::Pauses;
use crate::kernel::{
    AgentId, Arrival, Body, Created, DeadLetterEntry, EventLog, FollowGraph, Host, Inbox, Json, Message, MessageId,
    Name, RunId, RunLogEntry, RunSpec, Scheduler, Seq, SignalBus, Signalled, Stamp, Store, Subscription, TopicId,
    UnknownAgent,
};

/// A caller that holds no run.
#[derive(Clone)]
pub struct Client {
    store: Rc<dyn Store>,
    host: Rc<dyn Host>,
}

impl Client {
    /// A caller of `store`.
    pub fn new(store: Rc<dyn Store>, host: Rc<dyn Host>) -> Self {
        Client { store, host }
    }

    /// Sends a message; the address's live run is triggered, or one made. False when the address accepted the
    /// id before, also by an earlier try of this very call.
    ///
    /// # Errors
    /// When nobody has registered the type.
    pub async fn deliver(&self, to: AgentId, message: Message) -> Result<bool, UnknownAgent> {
        repeat_on(&*self.host, async || self.store.deliver(to.clone(), message.clone(), true).await).await
    }

    /// Makes a run under the caller's own id. `Exists` also after an earlier try of this very call.
    ///
    /// # Errors
    /// When nobody has registered the type.
    pub async fn create(&self, spec: RunSpec, boot: Option<Message>) -> Result<Created, UnknownAgent> {
        repeat_on(&*self.host, async || self.store.create(spec.clone(), boot.clone()).await).await
    }

    /// Fires a named signal at a run, once per `id`.
    pub async fn signal(&self, run: RunId, name: Name, payload: Json, id: Name) -> Signalled {
        let fire = async || self.store.signal(run, name.clone(), payload.clone(), id.clone()).await;
        repeat_on(&*self.host, fire).await
    }

    /// The dead letters of an address.
    pub async fn dead_letters(&self, agent: AgentId) -> Vec<DeadLetterEntry> {
        repeat_on(&*self.host, async || self.store.dead_letters(agent.clone()).await).await
    }

    /// Brings a dead letter back, in the life that began at `arrival`. False when there is none in that life,
    /// also after an earlier try of this very call.
    pub async fn redrive(&self, agent: AgentId, message: MessageId, arrival: Arrival) -> bool {
        repeat_on(&*self.host, async || self.store.redrive(agent.clone(), message.clone(), arrival).await).await
    }

    /// Ends the halt of a run.
    pub async fn resume(&self, run: RunId) {
        repeat_on(&*self.host, async || self.store.resume(run).await).await;
    }

    /// Cancels a run: first the sticky flag, from which on it will happen whatever becomes of the caller, then
    /// the request in its log. Nothing happens to a run that has ended or that nobody knows: that is asked
    /// first, since a run that came to be between flag and log would have the request without the flag.
    pub async fn cancel(&self, run: RunId, reason: Name) {
        if !self.knows(run).await {
            return;
        }
        repeat_on(&*self.host, async || self.store.cancel(run, reason.clone()).await).await;
        let body = Arc::new(Body::CancelRequested { reason });
        let mut pauses = Pauses::new();
        let mut last = Seq::EMPTY;
        loop {
            let entries = repeat_on(&*self.host, async || self.store.read(run, last.next()).await).await;
            if entries.iter().any(is_answer) {
                return;
            }
            last = entries.last().map_or(last, |entry| entry.seq);
            match self.store.append(run, body.clone(), last).await {
                Ok(Ok(_appended)) => return,
                // Each conflict stands for an entry that the next read shows, so there is no need to pause.
                Ok(Err(conflict)) if conflict.actual > last => {}
                Ok(Err(_)) | Err(_) => self.host.sleep(pauses.after_failure()).await,
            }
        }
    }

    /// `agent` follows a topic from `stamp` on, unless a later stamp says otherwise.
    pub async fn follow(&self, agent: AgentId, topic: TopicId, stamp: Stamp) {
        repeat_on(&*self.host, async || self.store.follow(agent.clone(), topic.clone(), stamp).await).await;
    }

    /// `agent` follows a topic no more from `stamp` on, unless a later stamp says otherwise.
    pub async fn unfollow(&self, agent: AgentId, topic: TopicId, stamp: Stamp) {
        let subscription = Subscription { follower: agent, topic };
        repeat_on(&*self.host, async || self.store.unfollow(subscription.clone(), stamp).await).await;
    }

    async fn knows(&self, run: RunId) -> bool {
        repeat_on(&*self.host, async || self.store.status(run).await).await.is_some()
    }
}

/// Whether an entry makes a request to cancel needless: it is one, or the run has ended.
fn is_answer(entry: &RunLogEntry) -> bool {
    matches!(&*entry.body, Body::CancelRequested { .. } | Body::Ended(_))
}
