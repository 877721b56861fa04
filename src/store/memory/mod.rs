//! The reference store: all contracts as one pure state machine, one file per contract.
//!
//! A transition takes the store's time and a request and gives a reply ([`Memory::apply`]); it draws on
//! nothing but its arguments, is total (every request in every state has a reply) and costs about the
//! logarithm of what is stored, however many runs have ended. Where a step crosses contracts (mail that makes
//! a run, a release that looks at mailbox and buffer), this file joins them; the contracts' own files know
//! nothing of each other, except that the scheduler looks at facts of the others (`scheduler::Facts`).
//!
//! What is kept for ever: logs, receipts, accepted ids of messages and signals, claimed outcomes, run ids, the
//! answers to reservations, the last word on each subscription, spent keys.

mod artifacts;
mod budget;
mod follow;
mod inbox;
mod journal;
mod local;
mod log;
mod scheduler;
mod signals;
mod views;

#[cfg(test)]
mod tests;

pub use local::{Local, SerialIds};
pub use scheduler::WAIT_MAX;
pub use views::RunReport;

use crate::history::Change;
use crate::kernel::{
    AgentId, Arrival, Attempt, Created, EffectId, Message, MessageId, Reply, Request, RunId, RunIds, RunSpec,
    RunStatus, Signalled, Span, Spend, Stamp, Step, Subscription, Timestamp, Trigger, Wait,
};
use inbox::Settled;
use scheduler::{Facts, mail_trigger};

/// What is settled before the store is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How long a lease is granted and renewed for; 30 s by default.
    pub lease: Span,
    /// From this many failures on, [`crate::kernel::Disposition::Ceiling`] makes a message a dead letter; 3 by
    /// default. No other disposition looks at it.
    pub inbox_attempts_max: u32,
}

impl Default for Config {
    fn default() -> Self {
        Config { lease: Span::from_secs(30), inbox_attempts_max: 3 }
    }
}

/// What the machine under the store decides for it: run ids, how late a timer fires, how short a lease is.
///
/// [`RunIds::mint`] must give different ids for different numbers at one address; an id that is taken already
/// makes the store ask for the next number.
pub trait Surroundings: RunIds {
    /// How much later than `at` the time fires as a wake-up; less than nothing counts as nothing. Asked once
    /// when the time is armed. Whether a wait is over is judged by `at` itself.
    fn timer_late(&mut self, _run: RunId, _at: Timestamp) -> Span {
        Span::ZERO
    }

    /// How long a lease is given for when `asked` was asked for, at the grant and at each renewal. It is never
    /// more than asked, and never less than a microsecond: no lease is past its expiry when it is granted.
    fn lease_span(&mut self, _run: RunId, _attempt: Attempt, asked: Span) -> Span {
        asked
    }
}

/// What a transition is given and what it leaves behind.
struct Transition<'a> {
    now: Timestamp,
    surroundings: &'a mut dyn Surroundings,
    changes: &'a mut Vec<Change>,
}

impl Transition<'_> {
    fn moved(&mut self, run: RunId, from: RunStatus, to: RunStatus, trigger: Option<Trigger>, waits: Vec<Wait>) {
        self.changes.push(Change::Moved { run, from, to, trigger, waits });
    }

    fn timer_late(&mut self, run: RunId, at: Timestamp) -> Span {
        self.surroundings.timer_late(run, at).max(Span::ZERO)
    }

    fn lease_end(&mut self, run: RunId, attempt: Attempt, asked: Span) -> Timestamp {
        let span = self.surroundings.lease_span(run, attempt, asked);
        self.now + span.min(asked).max(Span::from_micros(1))
    }
}

/// The reference store.
///
/// ```
/// use chronodrome::kernel::{Reply, Request, Seq, Timestamp};
/// use chronodrome::store::memory::{Config, Memory, SerialIds};
/// let mut store = Memory::new(Config::default());
/// let (now, mut ids) = (Timestamp::from_micros(0), SerialIds::default());
/// let run = "0123456789ab7def8123456789abcdef".parse().unwrap();
/// let reply = store.apply(now, &Request::LastSeq { run }, &mut ids, &mut Vec::new());
/// assert_eq!(reply, Reply::LastSeq(Seq::EMPTY));
/// ```
#[derive(Clone, Debug)]
pub struct Memory {
    config: Config,
    /// The latest time of a transition.
    clock: Timestamp,
    logs: log::Logs,
    receipts: journal::Receipts,
    inbox: inbox::Inbox,
    scheduler: scheduler::Scheduler,
    signals: signals::SignalBus,
    follows: follow::FollowGraph,
    budget: budget::Budget,
    artifacts: artifacts::Artifacts,
}

/// The public face.
impl Memory {
    /// An empty store.
    pub fn new(config: Config) -> Memory {
        Memory {
            config,
            clock: Timestamp::from_micros(i64::MIN),
            logs: log::Logs::default(),
            receipts: journal::Receipts::default(),
            inbox: inbox::Inbox::default(),
            scheduler: scheduler::Scheduler::default(),
            signals: signals::SignalBus::default(),
            follows: follow::FollowGraph::default(),
            budget: budget::Budget::default(),
            artifacts: artifacts::Artifacts::default(),
        }
    }

    /// One transition: the store's time, a request, the reply. What changed in scheduler and mailboxes is
    /// added to `changes`, in order. Nothing waits here: a lease poll or a tail without result answers an
    /// empty list at once, and waiting is for the carrier, which [`Memory::grantable_at`] helps.
    ///
    /// The store's time does not go back: an earlier `now` than before is taken for the latest one.
    pub fn apply(
        &mut self,
        now: Timestamp,
        request: &Request,
        surroundings: &mut dyn Surroundings,
        changes: &mut Vec<Change>,
    ) -> Reply {
        self.clock = self.clock.max(now);
        let at = &mut Transition { now: self.clock, surroundings, changes };
        match request {
            Request::Append { .. } | Request::Read { .. } | Request::Tail { .. } | Request::LastSeq { .. } => {
                self.apply_to_log(at.now, request)
            }
            Request::Lookup { effect } => Reply::Looked(self.receipts.lookup(*effect).cloned()),
            Request::Record { result } => Reply::Standing(self.receipts.record(result).clone()),
            Request::Put { bytes } => Reply::Stored(self.artifacts.put(bytes)),
            Request::Get { artifact } => Reply::Bytes(self.artifacts.get(artifact)),
            Request::Deliver { .. }
            | Request::Drain { .. }
            | Request::PendingCount { .. }
            | Request::DeadLetters { .. }
            | Request::Ack { .. }
            | Request::Nack { .. }
            | Request::Redrive { .. }
            | Request::Receiver { .. } => self.apply_to_inbox(request, at),
            Request::Signal { .. } | Request::Timer { .. } | Request::Claim { .. } => {
                self.apply_to_signals(request, at)
            }
            Request::Follow { subscription, stamp } => self.follow(subscription, true, *stamp, at),
            Request::Unfollow { subscription, stamp } => self.follow(subscription, false, *stamp, at),
            Request::FollowersOf { topic } => Reply::Agents(self.follows.followers_of(topic).cloned().collect()),
            Request::Following { agent } => Reply::Topics(self.follows.following(agent).cloned().collect()),
            Request::Spend { run, key, amounts } => self.spend(*run, *key, *amounts, at),
            Request::Totals { run } => Reply::Account(self.account(*run)),
            Request::Clock => Reply::Time(at.now),
            _ => self.apply_to_scheduler(request, at),
        }
    }

    /// The earliest instant, `now` or later, at which a lease poll would find something to grant: a queued
    /// run, a lease strictly past its expiry, a time or deadline of a sleeping run. `None`: never, without
    /// another request. Constant cost, up to a logarithm.
    pub fn grantable_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.scheduler.grantable_at(now.max(self.clock))
    }

    /// Forgets everything, as if new, but keeps the configuration and some of the memory.
    pub fn reset(&mut self) {
        self.clock = Timestamp::from_micros(i64::MIN);
        self.logs.clear();
        self.receipts.clear();
        self.inbox.clear();
        self.scheduler.clear();
        self.signals.clear();
        self.follows.clear();
        self.budget.clear();
        self.artifacts.clear();
    }
}

/// The steps, contract by contract.
impl Memory {
    fn apply_to_log(&mut self, now: Timestamp, request: &Request) -> Reply {
        match request {
            Request::Append { run, body, expected } => match self.logs.append(now, *run, body, *expected) {
                Ok(appended) => {
                    if body.ending().is_some() {
                        self.scheduler.log_closed(*run);
                    }
                    Reply::Appended(appended)
                }
                Err(conflict) => Reply::Conflict(conflict),
            },
            Request::Read { run, from } | Request::Tail { run, from, .. } => {
                Reply::Entries(self.logs.read(*run, *from).to_vec())
            }
            Request::LastSeq { run } => Reply::LastSeq(self.logs.last_seq(*run)),
            other => unreachable!("{} is no call of the log", other.method()),
        }
    }

    fn apply_to_inbox(&mut self, request: &Request, at: &mut Transition<'_>) -> Reply {
        match request {
            Request::Deliver { to, message, notify } => self.deliver(to, message, *notify, at),
            Request::Drain { agent, run, after, max } => {
                let is_live = self.scheduler.live_at(agent) == Some(*run);
                Reply::Drained(if is_live { self.inbox.drain(agent, *run, *after, *max) } else { Vec::new() })
            }
            Request::PendingCount { agent } => Reply::Count(self.inbox.pending_count(agent)),
            Request::DeadLetters { agent } => Reply::DeadLetters(self.inbox.dead_letters(agent).collect()),
            Request::Ack { agent, message, run } => {
                let settled = self.inbox.ack(agent, message, *run);
                note_settled(settled, agent, message, at)
            }
            Request::Nack { agent, message, run, failure, disposition } => {
                let attempts_max = self.config.inbox_attempts_max;
                let settled = self.inbox.nack(agent, message, *run, *failure, disposition, attempts_max);
                note_settled(settled, agent, message, at)
            }
            Request::Redrive { agent, message, arrival } => {
                let again = self.inbox.redrive(agent, message, *arrival);
                if let Some(arrival) = again {
                    self.arrived(agent, arrival, at);
                    self.notify(agent, arrival, at);
                }
                Reply::Accepted(again.is_some())
            }
            Request::Receiver { agent, message } => Reply::Run(self.inbox.receiver(agent, message)),
            other => unreachable!("{} is no call of the inbox", other.method()),
        }
    }

    fn deliver(&mut self, to: &AgentId, message: &Message, notify: bool, at: &mut Transition<'_>) -> Reply {
        if let Err(unknown) = self.scheduler.require(to) {
            return Reply::UnknownAgent(unknown);
        }
        let delivered = self.inbox.deliver(to, message);
        if let Some(arrival) = delivered.pending {
            if delivered.accepted {
                self.arrived(to, arrival, at);
            }
            if notify {
                self.notify(to, arrival, at);
            }
        }
        Reply::Accepted(delivered.accepted)
    }

    /// Notes that a life of a message has begun.
    fn arrived(&self, agent: &AgentId, arrival: Arrival, at: &mut Transition<'_>) {
        if let Some(message) = self.inbox.pending_message(agent, arrival) {
            let message = message.id.clone();
            at.changes.push(Change::Stored { agent: agent.clone(), message, arrival });
        }
    }

    /// Triggers the live run at an address with pending mail, or makes one.
    fn notify(&mut self, agent: &AgentId, arrival: Arrival, at: &mut Transition<'_>) {
        let facts = Facts { inbox: &self.inbox, signals: &self.signals };
        if let Some(message) = self.inbox.pending_message(agent, arrival) {
            self.scheduler.mail(agent, message, &facts, at);
        }
    }

    fn apply_to_signals(&mut self, request: &Request, at: &mut Transition<'_>) -> Reply {
        match request {
            Request::Signal { run, name, payload, id } => {
                if self.signals.accepted(*run, id) {
                    return Reply::Signalled(Signalled::Repeated);
                }
                if !self.scheduler.is_live(*run) {
                    return Reply::Signalled(Signalled::Ended);
                }
                self.signals.buffer(*run, name, payload, id);
                let facts = Facts { inbox: &self.inbox, signals: &self.signals };
                self.scheduler.look_at(*run, &facts, at);
                Reply::Signalled(Signalled::Buffered)
            }
            Request::Timer { run, step, at: set_for } => {
                self.arm(*run, *step, *set_for, at);
                Reply::Done
            }
            Request::Claim { run, step, wait } => Reply::Claimed(if self.scheduler.is_live(*run) {
                self.signals.claim(at.now, *run, *step, wait)
            } else {
                self.signals.given(*run, *step).cloned()
            }),
            other => unreachable!("{} is no call of the signal bus", other.method()),
        }
    }

    fn arm(&mut self, run: RunId, step: Step, set_for: Timestamp, at: &mut Transition<'_>) {
        if !self.scheduler.is_live(run) || self.signals.has_timer(run, step) {
            return;
        }
        let late = if set_for <= at.now { Span::ZERO } else { at.timer_late(run, set_for) };
        self.signals.arm(run, step, set_for, set_for + late);
        self.scheduler.timer_armed(run, set_for, set_for + late);
    }

    fn apply_to_scheduler(&mut self, request: &Request, at: &mut Transition<'_>) -> Reply {
        let facts = Facts { inbox: &self.inbox, signals: &self.signals };
        match request {
            Request::Register { kind, version, defaults } => self.scheduler.register(kind, *version, defaults, at),
            Request::Create { spec, boot } => return self.create(spec, boot.as_ref(), at),
            Request::Reserve { lease, step, agent } => {
                return Reply::Reserved(self.scheduler.reserve(lease, *step, agent, at));
            }
            Request::ReturnUnit { run } => self.scheduler.return_unit(*run, at),
            Request::Detach { run } => self.scheduler.detach(*run, at),
            Request::Spec { run } => return Reply::Spec(self.scheduler.get(*run).map(|run| run.spec.clone())),
            Request::Wake { run, wakeup } => self.scheduler.wake(*run, wakeup, &facts, at),
            Request::Resume { run } => self.scheduler.resume(*run, at),
            Request::Cancel { run, reason } => self.scheduler.cancel(*run, reason, at),
            Request::Lease { worker, capacity, .. } => {
                return Reply::Leases(self.scheduler.poll(worker, *capacity, &self.config, at));
            }
            Request::Heartbeat { lease } => {
                return Reply::Heartbeat(self.scheduler.heartbeat(lease, &self.config, at));
            }
            Request::Release { lease, how } => {
                let before = at.changes.len();
                let released = self.scheduler.release(lease, how, &facts, at);
                at.changes[before..].iter().filter_map(ended_run).for_each(|run| self.signals.end(run));
                return Reply::Released(released);
            }
            Request::Status { run } => return Reply::View(self.run(*run).map(|report| report.view())),
            Request::RunOf { agent } => return Reply::Run(self.scheduler.live_at(agent)),
            Request::Pending => return Reply::Queue(self.scheduler.queue(at.now)),
            other => unreachable!("{} is no call of the scheduler", other.method()),
        }
        Reply::Done
    }

    /// Makes a root, or a run that its parent has reserved. A child of another kind is none that may be made: it was
    /// created or swept, or nobody announced it.
    fn create(&mut self, spec: &RunSpec, boot: Option<&Message>, at: &mut Transition<'_>) -> Reply {
        if spec.parent.is_some() {
            let Some(address) = self.scheduler.reserved_address(spec.run) else {
                return Reply::Created(Created::Exists);
            };
            let woken_by = self.store_boot(&address, boot, at);
            self.scheduler.create_reserved(spec, woken_by, at);
            return Reply::Created(Created::Created);
        }
        let obstacle = self.scheduler.obstacle(spec.run, &spec.agent);
        if obstacle == Some(Created::Exists) {
            return Reply::Created(Created::Exists);
        }
        if let Err(unknown) = self.scheduler.require(&spec.agent) {
            return Reply::UnknownAgent(unknown);
        }
        if let Some(obstacle) = obstacle {
            return Reply::Created(obstacle);
        }
        let woken_by = self.store_boot(&spec.agent, boot, at);
        self.scheduler.create(spec.clone(), woken_by, at);
        Reply::Created(Created::Created)
    }

    /// Stores the first message of a run that is made in the same step, and tells what wakes that run.
    fn store_boot(&mut self, to: &AgentId, boot: Option<&Message>, at: &mut Transition<'_>) -> Vec<Trigger> {
        if let Some(message) = boot {
            let delivered = self.inbox.deliver(to, message);
            if let Some(arrival) = delivered.pending.filter(|_| delivered.accepted) {
                self.arrived(to, arrival, at);
            }
        }
        boot.map(mail_trigger).into_iter().collect()
    }

    fn follow(&mut self, subscription: &Subscription, follows: bool, stamp: Stamp, at: &mut Transition<'_>) -> Reply {
        if self.follows.set(subscription, follows, stamp) {
            at.changes.push(Change::Following { subscription: subscription.clone(), follows });
        }
        Reply::Done
    }

    /// Spends from the account of the tree that a run belongs to now; a run that nobody knows has none.
    fn spend(&mut self, run: RunId, key: EffectId, amounts: Spend, at: &mut Transition<'_>) -> Reply {
        if let Some(tree) = self.scheduler.root_of(run).map(|root| root.run)
            && self.budget.spend(tree, key, amounts)
        {
            at.changes.push(Change::Spent { tree, key, amounts });
        }
        Reply::Account(self.account(run))
    }
}

/// The run whose end a change tells.
fn ended_run(change: &Change) -> Option<RunId> {
    match change {
        Change::Moved { run, to, .. } if to.is_terminal() => Some(*run),
        Change::Swept { run } => Some(*run),
        _ => None,
    }
}

fn note_settled(settled: Option<Settled>, agent: &AgentId, message: &MessageId, at: &mut Transition<'_>) -> Reply {
    if let Some(settled) = settled {
        let dead = settled == Settled::Dead;
        at.changes.push(Change::Settled { agent: agent.clone(), message: message.clone(), dead });
    }
    Reply::Done
}
