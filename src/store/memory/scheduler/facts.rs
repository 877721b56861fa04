//! What a wait list is compared with: the mailbox, the buffered signals, the ends of children, and what the
//! run was told. The clock is the scheduler's.

use super::super::inbox::Inbox;
use super::super::signals::SignalBus;
use super::run::{Run, answers};
use crate::kernel::{AgentId, Message, RunId, Timestamp, Trigger, Wait, Wakeup};

/// The stores beside the scheduler, to look at.
pub struct Facts<'a> {
    pub inbox: &'a Inbox,
    pub signals: &'a SignalBus,
}

impl Facts<'_> {
    /// The triggers of a run's wait list that are there, in the list's order, none twice.
    pub fn triggers<'w>(
        &self,
        run: &Run,
        waits: &[Wait],
        told: impl Iterator<Item = &'w Wakeup> + Clone,
    ) -> Vec<Trigger> {
        let mut found = Vec::new();
        for wait in waits {
            let fact = self.fact(run, wait);
            let wakeup = fact.or_else(|| told.clone().find(|wakeup| answers(wakeup, wait)).cloned());
            if let Some(trigger) = wakeup.map(Trigger::Wakeup).filter(|trigger| !found.contains(trigger)) {
                found.push(trigger);
            }
        }
        found
    }

    fn fact(&self, run: &Run, wait: &Wait) -> Option<Wakeup> {
        let id = run.spec.run;
        match wait {
            Wait::Signal(name) => {
                let payload = self.signals.oldest(id, name)?.clone();
                Some(Wakeup::Signal { signal: name.clone(), payload })
            }
            Wait::Message { after } => {
                let message = self.inbox.first_after(&run.spec.agent, id, *after)?;
                Some(Wakeup::Message { source_run: message.reply_to })
            }
            Wait::Child(child) => run.children.get(child).cloned(),
            Wait::Time(_) => None,
        }
    }

    /// The oldest message that is not settled at an address.
    pub fn first_pending(&self, agent: &AgentId) -> Option<&Message> {
        self.inbox.first_pending(agent)
    }

    /// When the first timer fires that ends a run's wait for `until`.
    pub fn timer_for(&self, run: RunId, until: Timestamp) -> Option<Timestamp> {
        self.signals.fires_for(run, until)
    }
}
