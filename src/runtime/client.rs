//! Calls from outside, without a lease: each is repeated until it is decided.

use std::rc::Rc;

use super::cascade::cancel_tree;
use super::hold::repeat_on;
use crate::kernel::{
    AgentId, Arrival, Created, DeadLetterEntry, FollowGraph, Host, Inbox, Json, Message, MessageId, Name, RunId,
    RunSpec, Scheduler, SignalBus, Signalled, Stamp, Store, Subscription, TopicId, UnknownAgent,
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

    /// Cancels a run and all below it. Nothing happens to a run that has ended, for it has seen to what was below it, or that
    /// nobody knows: that is asked first, since a run that came to be between flag and log would have the request without the
    /// flag. A run that is only reserved gets the flag alone; it keeps it when it is created.
    pub async fn cancel(&self, run: RunId, reason: Name) {
        match repeat_on(&*self.host, async || self.store.status(run).await).await {
            None => {}
            Some(view) if view.status.is_terminal() => {}
            Some(view) if view.reserved => {
                repeat_on(&*self.host, async || self.store.cancel(run, reason.clone()).await).await;
            }
            Some(_) => cancel_tree(&*self.store, &*self.host, run, &reason).await,
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
}
