//! The mailboxes: every address keeps its mail in order of arrival until a run has settled it.
//!
//! An address never forgets an id that it accepted. Each life of a message, from its arrival to its settling,
//! has a number of arrival; a redrive begins a new one. A run settles only mail that it drained in this life,
//! and never mail of which it settled an earlier life: such mail it does not even get, it is left for the
//! next run. A late repeat of a settling therefore changes nothing.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::kernel::{
    AgentId, Arrival, DeadLetterEntry, Disposition, Drained, Message, MessageId, Name, Received, RunId,
};

/// All mailboxes.
#[derive(Clone, Debug, Default)]
pub(super) struct Inbox {
    boxes: BTreeMap<AgentId, Mailbox>,
    /// How many lives of messages have begun in the whole store.
    arrivals: u64,
}

/// The mail of one address.
#[derive(Clone, Debug, Default)]
struct Mailbox {
    /// Every id it ever accepted.
    accepted: BTreeMap<MessageId, Fate>,
    /// What is not settled, in order of arrival.
    pending: BTreeMap<Arrival, Letter>,
    /// What nobody will handle, in order of arrival.
    dead: BTreeMap<Arrival, Letter>,
}

/// Where a message is that the address has accepted.
#[derive(Clone, Debug)]
enum Fate {
    Pending(Arrival),
    /// Settled; the run that drained it last is kept for who asks.
    Acked(RunId),
    Dead(Arrival),
}

/// A message that is kept.
#[derive(Clone, Debug)]
struct Letter {
    message: Message,
    /// Failures of a run over it, in this life.
    attempts: u32,
    /// The error of the last failure, or the reason of the death.
    error: Option<Name>,
    /// The last run that drained it, in any life.
    receiver: Option<RunId>,
    /// Whether that was in this life.
    drained: bool,
    /// The runs that have settled earlier lives.
    settled_by: Vec<RunId>,
}

impl Letter {
    /// Whether `run` may have it.
    fn is_for(&self, run: RunId) -> bool {
        !self.settled_by.contains(&run)
    }
}

/// What became of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delivered {
    /// Whether the message was stored now; its id was known otherwise.
    pub accepted: bool,
    /// The arrival number of the message while it is pending.
    pub pending: Option<Arrival>,
}

/// A message was settled just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    Acked,
    Dead,
}

impl Inbox {
    fn next_arrival(&mut self) -> Arrival {
        self.arrivals += 1;
        Arrival(self.arrivals)
    }

    /// Stores a message unless its address ever accepted its id.
    pub fn deliver(&mut self, to: &AgentId, message: &Message) -> Delivered {
        if let Some(fate) = self.boxes.get(to).and_then(|mailbox| mailbox.accepted.get(&message.id)) {
            let pending = if let Fate::Pending(arrival) = fate { Some(*arrival) } else { None };
            return Delivered { accepted: false, pending };
        }
        let arrival = self.next_arrival();
        let mailbox = self.boxes.entry(to.clone()).or_default();
        let letter = Letter {
            message: message.clone(),
            attempts: 0,
            error: None,
            receiver: None,
            drained: false,
            settled_by: Vec::new(),
        };
        mailbox.pending.insert(arrival, letter);
        mailbox.accepted.insert(message.id.clone(), Fate::Pending(arrival));
        Delivered { accepted: true, pending: Some(arrival) }
    }

    /// Up to `max` pending messages that arrived after `after`, noted as drained by `run`. Whether `run` is the
    /// live run at the address is asked before.
    pub fn drain(&mut self, agent: &AgentId, run: RunId, after: Option<Arrival>, max: u32) -> Vec<Drained> {
        let Some(mailbox) = self.boxes.get_mut(agent) else { return Vec::new() };
        let later = mailbox.pending.range_mut((lower_bound(after), Bound::Unbounded));
        let letters = later.filter(|(_, letter)| letter.is_for(run)).take(max as usize);
        letters
            .map(|(arrival, letter)| {
                letter.receiver = Some(run);
                letter.drained = true;
                let received = Received { message: letter.message.clone(), arrival: *arrival };
                Drained { received, attempts: letter.attempts }
            })
            .collect()
    }

    /// The first pending message for `run` that arrived after `after`.
    pub fn first_after(&self, agent: &AgentId, run: RunId, after: Arrival) -> Option<&Message> {
        let later = self.boxes.get(agent)?.pending.range((Bound::Excluded(after), Bound::Unbounded));
        later.map(|(_, letter)| letter).find(|letter| letter.is_for(run)).map(|letter| &letter.message)
    }

    /// The oldest pending message of an address.
    pub fn first_pending(&self, agent: &AgentId) -> Option<&Message> {
        self.boxes.get(agent)?.pending.values().next().map(|letter| &letter.message)
    }

    /// The message of a life that is pending.
    pub fn pending_message(&self, agent: &AgentId, arrival: Arrival) -> Option<&Message> {
        self.boxes.get(agent)?.pending.get(&arrival).map(|letter| &letter.message)
    }

    /// How many messages of an address are not settled, drained ones included.
    pub fn pending_count(&self, agent: &AgentId) -> u64 {
        self.boxes.get(agent).map_or(0, |mailbox| mailbox.pending.len() as u64)
    }

    /// Settles a message that `run` has handled.
    pub fn ack(&mut self, agent: &AgentId, message: &MessageId, run: RunId) -> Option<Settled> {
        let mailbox = self.boxes.get_mut(agent)?;
        let arrival = mailbox.settleable(message, run)?;
        mailbox.pending.remove(&arrival);
        mailbox.accepted.insert(message.clone(), Fate::Acked(run));
        Some(Settled::Acked)
    }

    /// Notes failure number `failure` of `run` over a message; tells whether that settled it.
    pub fn nack(
        &mut self,
        agent: &AgentId,
        message: &MessageId,
        run: RunId,
        failure: u32,
        disposition: &Disposition,
        attempts_max: u32,
    ) -> Option<Settled> {
        let mailbox = self.boxes.get_mut(agent)?;
        let arrival = mailbox.settleable(message, run)?;
        let letter = mailbox.pending.get_mut(&arrival)?;
        let is_news = failure > letter.attempts || letter.error.is_none();
        letter.attempts = letter.attempts.max(failure);
        let (dies, error) = match disposition {
            Disposition::Again(error) => (false, error),
            Disposition::Dead(reason) => (true, reason),
            Disposition::Ceiling(error) => (letter.attempts >= attempts_max, error),
        };
        if !error.is_empty() && (dies || is_news) {
            letter.error = Some(error.clone());
        }
        if !dies {
            return None;
        }
        let mut letter = mailbox.pending.remove(&arrival)?;
        letter.settled_by.push(run);
        mailbox.dead.insert(arrival, letter);
        mailbox.accepted.insert(message.clone(), Fate::Dead(arrival));
        Some(Settled::Dead)
    }

    /// Begins a new life of the dead letter whose ended life is `arrival`; tells its new number of arrival.
    pub fn redrive(&mut self, agent: &AgentId, message: &MessageId, arrival: Arrival) -> Option<Arrival> {
        let mailbox = self.boxes.get(agent)?;
        if !matches!(mailbox.accepted.get(message), Some(Fate::Dead(life)) if *life == arrival) {
            return None;
        }
        let again = self.next_arrival();
        let mailbox = self.boxes.get_mut(agent)?;
        let letter = mailbox.dead.remove(&arrival)?;
        mailbox.pending.insert(again, Letter { attempts: 0, error: None, drained: false, ..letter });
        mailbox.accepted.insert(message.clone(), Fate::Pending(again));
        Some(again)
    }

    /// The last run that drained a message, in any of its lives.
    pub fn receiver(&self, agent: &AgentId, message: &MessageId) -> Option<RunId> {
        let mailbox = self.boxes.get(agent)?;
        match mailbox.accepted.get(message)? {
            Fate::Pending(arrival) => mailbox.pending.get(arrival)?.receiver,
            Fate::Acked(run) => Some(*run),
            Fate::Dead(arrival) => mailbox.dead.get(arrival)?.receiver,
        }
    }

    /// The dead letters of an address, by arrival.
    pub fn dead_letters(&self, agent: &AgentId) -> impl Iterator<Item = DeadLetterEntry> {
        self.boxes.get(agent).into_iter().flat_map(Mailbox::dead_letters)
    }

    /// Every dead letter, by address and arrival.
    pub fn all_dead(&self) -> impl Iterator<Item = (&AgentId, DeadLetterEntry)> {
        self.boxes.iter().flat_map(|(agent, mailbox)| mailbox.dead_letters().map(move |entry| (agent, entry)))
    }

    /// Every pending message, by address and arrival.
    pub fn all_pending(&self) -> impl Iterator<Item = (&AgentId, Arrival, &Message)> {
        self.boxes.iter().flat_map(|(agent, mailbox)| {
            mailbox.pending.iter().map(move |(arrival, letter)| (agent, *arrival, &letter.message))
        })
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.boxes.clear();
        self.arrivals = 0;
    }
}

impl Mailbox {
    /// The life of a message that `run` may settle: it is pending, and this run drained it, the last to do so.
    fn settleable(&self, message: &MessageId, run: RunId) -> Option<Arrival> {
        let Some(Fate::Pending(arrival)) = self.accepted.get(message) else { return None };
        let letter = self.pending.get(arrival)?;
        (letter.drained && letter.receiver == Some(run) && letter.is_for(run)).then_some(*arrival)
    }

    fn dead_letters(&self) -> impl Iterator<Item = DeadLetterEntry> {
        self.dead.iter().map(|(arrival, letter)| DeadLetterEntry {
            message: letter.message.clone(),
            arrival: *arrival,
            attempts: letter.attempts,
            error: letter.error.clone().unwrap_or_else(|| "".into()),
        })
    }
}

/// Where mail that arrived after `after` begins.
fn lower_bound(after: Option<Arrival>) -> Bound<Arrival> {
    after.map_or(Bound::Unbounded, Bound::Excluded)
}
