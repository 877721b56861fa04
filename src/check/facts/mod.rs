//! The oracle's own fold of a history: who holds what, logs as accepted, mail by life, signals, workers.
//!
//! Nothing here judges. What an event says is folded in; the checks of the contracts compare it, before or
//! after, with what should be. Things are kept by dense places, found by hash, and memory outlives a reset.

mod call;
mod fold;
mod kin;
mod log;
mod pool;
mod run;
mod topic;
mod traces;
mod worker;

pub use call::{Call, Calls, Fate, How, What};
pub use fold::{ChangeAt, reply_id};
pub use log::{Entry, Log, Own, is_foreign};
pub use pool::{AgentAt, EffectAt, Fresh, MailAt, Place, Pool, PublicationAt, RunAt, TopicAt, WorkerAt};
pub use run::{Grant, Holder, Run, Turn};
pub use topic::{Announced, Publication, Topic};
pub use traces::{Dispatch, Instance, Plan, Push, Standing, TraceLog, Traces};
pub use worker::{Heard, LENIENCE, PAUSE_MAX, Room, Worker, worker_of};

use std::sync::Arc;

use crate::history::{Actor, Header};
use crate::kernel::{
    AgentId, Arrival, Attempt, EffectId, EffectResult, Message, MessageId, Name, Policy, RunId, Seq, Span, Step,
    Timestamp, TopicId, WorkerId,
};
use pool::{Table, hash_text, mix};

/// Who makes a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Party {
    Worker(WorkerAt),
    Input(u32),
    Probe,
}

/// An address.
#[derive(Default)]
pub struct Agent {
    pub id: Option<AgentId>,
    /// Its live run.
    pub live: Option<RunAt>,
    /// Its pending mail, by arrival.
    pub pending: Vec<MailAt>,
    /// The subscriptions that logs of its runs announce to begin or to end.
    pub announced: Vec<Announced>,
}

impl Fresh for Agent {
    fn refresh(&mut self) {
        let Agent { mut pending, mut announced, .. } = std::mem::take(self);
        pending.clear();
        announced.clear();
        *self = Agent { pending, announced, ..Agent::default() };
    }
}

/// Where a message is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Life {
    /// It was never accepted.
    #[default]
    None,
    Pending,
    Acked,
    Dead,
}

/// A message at an address.
#[derive(Default)]
pub struct Mail {
    pub agent: Option<AgentAt>,
    pub id: Option<MessageId>,
    pub sender: Option<AgentId>,
    pub life: Life,
    pub arrival: Option<Arrival>,
    /// Whether a delivery of it asked to notify.
    pub notified: bool,
    /// The greatest failure noted in this life.
    pub attempts: u32,
    /// The run that closed its log over this life.
    pub ended_by: Option<RunAt>,
    /// The run whose log announces it, and the step.
    pub announced: Option<(RunAt, Step)>,
    /// Whether its address's type was not registered.
    pub unknown: bool,
    /// Of a question: under which name which run awaits the answer.
    pub question: Option<(Name, RunId)>,
    /// Of a question: the runs that received it.
    pub receivers: Vec<RunAt>,
}

impl Fresh for Mail {
    fn refresh(&mut self) {
        *self = Mail::default();
    }
}

/// An effect.
#[derive(Default)]
pub struct EffectFact {
    pub id: Option<EffectId>,
    /// The step whose log holds its intent.
    pub intent: Option<(RunAt, Step)>,
    pub policy: Option<Policy>,
    /// The lease under which the intent was appended.
    pub begun_in: Option<Attempt>,
    pub happened: u32,
    pub standing: Option<EffectResult>,
    /// Whether it is a call of a model.
    pub is_model: bool,
    /// Whether it was spent.
    pub spent: bool,
}

impl Fresh for EffectFact {
    fn refresh(&mut self) {
        *self = EffectFact::default();
    }
}

/// How far the world is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Phases {
    pub healed: bool,
    pub probed_at: Option<Timestamp>,
    pub exhausted: bool,
    pub over: bool,
}

/// All that is known.
#[derive(Default)]
pub struct Facts {
    pub limits: Limits,
    /// Whether an applied fact was seen.
    pub applied: bool,
    /// Whether calls were forgotten that came up again: nothing can be judged any more.
    pub lost_track: bool,
    pub phases: Phases,
    pub store_up: bool,
    pub longest_poll: Span,
    pub runs: Pool<RunAt, Run>,
    pub agents: Pool<AgentAt, Agent>,
    pub mails: Pool<MailAt, Mail>,
    pub effects: Pool<EffectAt, EffectFact>,
    pub workers: Pool<WorkerAt, Worker>,
    /// The incarnations that live.
    pub living: Vec<WorkerAt>,
    pub room: Room,
    /// Every grant, in order.
    pub turns: Vec<Turn>,
    /// Where each tail goes on.
    pub tails: Vec<(Party, RunAt, Seq)>,
    pub topics: Pool<TopicAt, Topic>,
    pub publications: Pool<PublicationAt, Publication>,
    /// The agent types that were registered.
    pub registered: Vec<Name>,
    /// What users, planners and memory have left.
    pub traces: Traces,
    run_table: Table,
    agent_table: Table,
    mail_table: Table,
    effect_table: Table,
    topic_table: Table,
    publication_table: Table,
    signals: u32,
}

/// What the header says that bounds are taken from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    pub poll: Span,
    pub timer_jitter: Span,
    pub lease: Span,
    pub capacity: u32,
    pub max_lost_leases: u32,
}

/// What is assumed of a poll's wait as long as none was seen.
const POLL_WAIT: Span = Span::from_secs(60);

impl Facts {
    /// Forgets everything but the memory, for a world of this header.
    pub fn reset(&mut self, header: &Header) {
        self.limits = Limits {
            poll: header.poll,
            timer_jitter: header.timer_jitter,
            lease: header.lease,
            capacity: header.capacity,
            max_lost_leases: header.max_lost_leases,
        };
        (self.applied, self.lost_track, self.store_up) = (false, false, true);
        self.phases = Phases::default();
        self.longest_poll = POLL_WAIT;
        self.signals = 0;
        self.runs.clear();
        self.agents.clear();
        self.mails.clear();
        self.effects.clear();
        self.workers.clear();
        self.living.clear();
        self.room.clear();
        self.turns.clear();
        self.tails.clear();
        self.topics.clear();
        self.publications.clear();
        self.registered.clear();
        self.traces.clear();
        let tables = [&mut self.run_table, &mut self.agent_table, &mut self.mail_table, &mut self.effect_table];
        tables.into_iter().chain([&mut self.topic_table, &mut self.publication_table]).for_each(Table::clear);
    }

    /// The place of a run.
    pub fn run_at(&mut self, id: RunId) -> RunAt {
        let hash = mix(id.as_u128() as u64, (id.as_u128() >> 64) as u64);
        let known = self.run_table.find(hash, |place| self.runs[place].id == Some(id));
        known.unwrap_or_else(|| {
            let (place, run) = self.runs.add();
            run.id = Some(id);
            self.run_table.note(hash, place);
            place
        })
    }

    /// The place of a run that is known.
    pub fn known_run(&self, id: RunId) -> Option<RunAt> {
        let hash = mix(id.as_u128() as u64, (id.as_u128() >> 64) as u64);
        self.run_table.find(hash, |place| self.runs[place].id == Some(id))
    }

    /// The place of an address.
    pub fn agent_at(&mut self, id: &AgentId) -> AgentAt {
        let hash = hash_text(1, id.as_str());
        let known = self.agent_table.find(hash, |place| self.agents[place].id.as_ref() == Some(id));
        known.unwrap_or_else(|| {
            let (place, agent) = self.agents.add();
            agent.id = Some(id.clone());
            self.agent_table.note(hash, place);
            place
        })
    }

    /// The place of a message at an address.
    pub fn mail_at(&mut self, agent: AgentAt, id: &MessageId) -> MailAt {
        let hash = hash_text(agent.number() as u64 + 2, id);
        let same = |place| {
            let mail: &Mail = &self.mails[place];
            mail.agent == Some(agent) && mail.id.as_ref() == Some(id)
        };
        self.mail_table.find(hash, same).unwrap_or_else(|| {
            let (place, mail) = self.mails.add();
            mail.agent = Some(agent);
            mail.id = Some(Arc::clone(id));
            self.mail_table.note(hash, place);
            place
        })
    }

    /// Notes who sends a message, and whether it is a question.
    pub fn letter(&mut self, mail: MailAt, message: &Message) {
        let mail = &mut self.mails[mail];
        if mail.sender.is_none() {
            mail.sender = Some(message.sender.clone());
            mail.question = message.correlation.clone().zip(message.reply_to);
        }
    }

    /// The place of a topic.
    pub fn topic_at(&mut self, id: &TopicId) -> TopicAt {
        let hash = hash_text(4, id.as_str());
        let known = self.topic_table.find(hash, |place| self.topics[place].id.as_ref() == Some(id));
        known.unwrap_or_else(|| {
            let (place, topic) = self.topics.add();
            topic.id = Some(id.clone());
            self.topic_table.note(hash, place);
            place
        })
    }

    /// The publication of a message.
    pub fn publication(&self, id: &MessageId) -> Option<PublicationAt> {
        let is_it = |place| self.publications[place].message.as_ref() == Some(id);
        self.publication_table.find(hash_text(5, id), is_it)
    }

    /// A log announces a publication.
    pub fn publish(&mut self, publication: Publication) -> PublicationAt {
        let hash = publication.message.as_ref().map(|id| hash_text(5, id));
        let (place, fresh) = self.publications.add();
        *fresh = publication;
        if let Some(hash) = hash {
            self.publication_table.note(hash, place);
        }
        place
    }

    /// The place of an effect.
    pub fn effect_at(&mut self, id: EffectId) -> EffectAt {
        let hash = mix(id.0, 3);
        let known = self.effect_table.find(hash, |place| self.effects[place].id == Some(id));
        known.unwrap_or_else(|| {
            let (place, effect) = self.effects.add();
            effect.id = Some(id);
            self.effect_table.note(hash, place);
            place
        })
    }

    /// The place of an incarnation of a worker.
    pub fn worker_at(&mut self, id: &WorkerId) -> WorkerAt {
        let known = self.workers.iter().rev().find(|(_, worker)| worker.id.as_ref() == Some(id));
        if let Some((place, _)) = known {
            return place;
        }
        let (place, worker) = self.workers.add();
        worker.id = Some(id.clone());
        place
    }

    /// The party of an actor.
    pub fn party(&mut self, actor: &Actor) -> Party {
        match actor {
            Actor::Worker(worker) => Party::Worker(self.worker_at(worker)),
            Actor::Input(number) => Party::Input(*number),
            Actor::Probe => Party::Probe,
        }
    }

    /// The number of the next signal that is buffered.
    pub fn next_signal(&mut self) -> u32 {
        self.signals += 1;
        self.signals
    }

    /// A run's name for people.
    pub fn name(&self, run: RunAt) -> RunId {
        self.runs[run].id.expect("a place is made with its id")
    }

    /// A message's name for people.
    pub fn mail_name(&self, mail: MailAt) -> String {
        let mail = &self.mails[mail];
        let agent = mail.agent.and_then(|agent| self.agents[agent].id.as_ref()).map_or("", AgentId::as_str);
        format!("{agent} {}", mail.id.as_deref().unwrap_or(""))
    }

    /// A party's name for people.
    pub fn party_name(&self, party: Party) -> String {
        match party {
            Party::Worker(worker) => {
                self.workers[worker].id.as_ref().map_or_else(|| "a worker".into(), WorkerId::to_string)
            }
            Party::Input(number) => format!("input {number}"),
            Party::Probe => "the probe".into(),
        }
    }

    /// Follows who is polling.
    pub fn follow_room(&mut self, at: Timestamp, seamless: bool) {
        let workers = self.living.iter().map(|place| &self.workers[*place]);
        self.room.follow(workers, self.limits.capacity, self.store_up, at, seamless);
    }
}
