//! Waits: whether what a step waits for is there, and what the run sleeps for when it is not.

use super::Call;
use super::seat::Seat;
use super::step::Finish;
use crate::kernel::{Arrival, Body, ClaimWait, Claimed, Inbox, Name, SignalBus, Step, Timestamp, Wait};

impl Seat {
    /// Ends a wait whose beginning stands in the log, or says what it waits for.
    pub async fn finish_wait(&self, step: Step, call: &Call) -> Finish {
        if self.hold.log.borrow().result(step).is_none() {
            let until = self.until(step);
            let waits = match call {
                Call::Receive { max, .. } => self.await_mail(step, *max, until).await,
                Call::WaitSignal { name, .. } => self.await_signal(step, Some(name), until).await,
                _ => self.await_signal(step, None, until).await,
            };
            if let Some(waits) = waits {
                return Finish::Waits(waits);
            }
        }
        Finish::Ended(Ok(self.given(step)))
    }

    /// When the wait is over, by the store's clock.
    pub fn until(&self, step: Step) -> Option<Timestamp> {
        let log = self.hold.log.borrow();
        let record = &log.steps[&step];
        match &*record.body {
            Body::TimerSet { limit, .. } => limit.map(|limit| record.ts + limit),
            other => unreachable!("a wait began with {}", other.kind()),
        }
    }

    /// Claims a signal or the time; with neither, what to sleep for.
    async fn await_signal(&self, step: Step, signal: Option<&Name>, until: Option<Timestamp>) -> Option<Vec<Wait>> {
        let wait = ClaimWait { signal: signal.cloned(), until };
        let store = &self.hold.floor.store;
        let body = match self.hold.settled(async || store.claim(self.hold.run(), step, wait.clone()).await).await {
            Some(Claimed::Signal { id, name, payload }) => Body::SignalReceived { step, name, id, payload },
            Some(Claimed::TimedOut) => Body::TimerFired { step },
            None => return Some(signal.cloned().map(Wait::Signal).into_iter().chain(until.map(Wait::Time)).collect()),
        };
        self.end_step(step, body).await;
        None
    }

    /// Takes mail, or claims the time; with neither, what to sleep for.
    async fn await_mail(&self, step: Step, max: u32, until: Option<Timestamp>) -> Option<Vec<Wait>> {
        let turn = self.hold.receiving.take().await;
        let after = self.hold.log.borrow().after;
        let (store, agent) = (&self.hold.floor.store, &self.hold.lease.spec.agent);
        let drain = async || store.drain(agent.clone(), self.hold.run(), after, max).await;
        let drained = self.hold.settled(drain).await;
        if !drained.is_empty() {
            let messages = drained.into_iter().map(|drained| drained.received).collect();
            self.end_step(step, Body::MsgReceived { step: Some(step), messages }).await;
            return None;
        }
        drop(turn);
        let over = match until {
            Some(_) => self.await_signal(step, None, until).await?,
            None => Vec::new(),
        };
        let mail = Wait::Message { after: after.unwrap_or(Arrival(0)) };
        Some(std::iter::once(mail).chain(over).collect())
    }
}
