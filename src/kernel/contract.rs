//! The contracts: typed methods over [`Store::call`], one trait per contract. Every store has them all.
//!
//! A method that fails says so by [`CallError`]; what a contract itself refuses is part of the answer.

#![expect(async_fn_in_trait, reason = "one worker is one single-threaded executor: futures need not be Send")]

use std::rc::Rc;
use std::sync::Arc;

use super::*;

/// Calls and takes the one shape of answer that belongs to the request.
macro_rules! ask {
    ($store:expr, $request:expr, $($pattern:pat => $answer:expr),+ $(,)?) => {
        match $store.call($request).await? {
            $($pattern => Ok($answer),)+
            other => unreachable!("a store answered {other:?} to another request"),
        }
    };
}

/// The append-only log of every run.
pub trait EventLog: Store {
    /// Writes `body` behind the entry `expected`, if that is still the last one.
    async fn append(
        &self,
        run: RunId,
        body: Arc<Body>,
        expected: Seq,
    ) -> Result<Result<Appended, ConcurrentAppend>, CallError> {
        ask!(self, Request::Append { run, body, expected },
            Reply::Appended(appended) => Ok(appended), Reply::Conflict(conflict) => Err(conflict))
    }

    /// The entries from `from` on, in order, without gaps.
    async fn read(&self, run: RunId, from: Seq) -> Result<Vec<RunLogEntry>, CallError> {
        ask!(self, Request::Read { run, from }, Reply::Entries(entries) => entries)
    }

    /// As [`EventLog::read`], but waits up to `wait` while there are none. A tail is this in a loop, each time
    /// from one past the last entry seen: it never misses, repeats or reorders.
    async fn tail(&self, run: RunId, from: Seq, wait: Span) -> Result<Vec<RunLogEntry>, CallError> {
        ask!(self, Request::Tail { run, from, wait }, Reply::Entries(entries) => entries)
    }

    /// The last sequence number; [`Seq::EMPTY`] for an empty log.
    async fn last_seq(&self, run: RunId) -> Result<Seq, CallError> {
        ask!(self, Request::LastSeq { run }, Reply::LastSeq(seq) => seq)
    }
}

/// The receipts of effects.
pub trait Journal: Store {
    /// The recorded result, if there is one. Changes nothing.
    async fn lookup(&self, effect: EffectId) -> Result<Option<EffectResult>, CallError> {
        ask!(self, Request::Lookup { effect }, Reply::Looked(result) => result)
    }

    /// Records a result unless there is one, and returns the one that stands: the first wins.
    async fn record(&self, result: EffectResult) -> Result<EffectResult, CallError> {
        ask!(self, Request::Record { result }, Reply::Standing(standing) => standing)
    }
}

/// The durable mailboxes.
pub trait Inbox: Store {
    /// Stores `message` for `to`; with `notify` the live run there is triggered, or a pending one made. False
    /// for an id that the address ever accepted; then only the trigger is repeated, while it is pending.
    async fn deliver(
        &self,
        to: AgentId,
        message: Message,
        notify: bool,
    ) -> Result<Result<bool, UnknownAgent>, CallError> {
        ask!(self, Request::Deliver { to, message, notify },
            Reply::Accepted(accepted) => Ok(accepted), Reply::UnknownAgent(unknown) => Err(unknown))
    }

    /// Up to `max` pending messages that arrived after `after`, for the live run `run` at `agent`; nothing for
    /// any other run. Removes nothing; per sender in order of arrival.
    async fn drain(
        &self,
        agent: AgentId,
        run: RunId,
        after: Option<Arrival>,
        max: u32,
    ) -> Result<Vec<Drained>, CallError> {
        ask!(self, Request::Drain { agent, run, after, max }, Reply::Drained(mail) => mail)
    }

    /// How many messages are pending at `agent`.
    async fn pending_count(&self, agent: AgentId) -> Result<u64, CallError> {
        ask!(self, Request::PendingCount { agent }, Reply::Count(count) => count)
    }

    /// The dead letters of `agent`, oldest first.
    async fn dead_letters(&self, agent: AgentId) -> Result<Vec<DeadLetterEntry>, CallError> {
        ask!(self, Request::DeadLetters { agent }, Reply::DeadLetters(letters) => letters)
    }

    /// Settles a message that `run` has handled.
    async fn ack(&self, agent: AgentId, message: MessageId, run: RunId) -> Result<(), CallError> {
        ask!(self, Request::Ack { agent, message, run }, Reply::Done => ())
    }

    /// Notes failure number `failure` of `run` over a message, and what becomes of it. Repeats change nothing.
    async fn nack(
        &self,
        agent: AgentId,
        message: MessageId,
        run: RunId,
        failure: u32,
        disposition: Disposition,
    ) -> Result<(), CallError> {
        ask!(self, Request::Nack { agent, message, run, failure, disposition }, Reply::Done => ())
    }

    /// Brings the dead letter of the life `arrival` back, under a new arrival number. False, and nothing
    /// done, in any other life.
    async fn redrive(&self, agent: AgentId, message: MessageId, arrival: Arrival) -> Result<bool, CallError> {
        ask!(self, Request::Redrive { agent, message, arrival }, Reply::Accepted(redriven) => redriven)
    }

    /// The last run that drained a message.
    async fn receiver(&self, agent: AgentId, message: MessageId) -> Result<Option<RunId>, CallError> {
        ask!(self, Request::Receiver { agent, message }, Reply::Run(run) => run)
    }
}

/// The dispatcher.
pub trait Scheduler: Store {
    /// Makes an agent type known; a lower version than the known one changes nothing. A new version resumes
    /// the halted runs of the type.
    async fn register(&self, kind: Name, version: Version, defaults: SpecDefaults) -> Result<(), CallError> {
        ask!(self, Request::Register { kind, version, defaults }, Reply::Done => ())
    }

    /// Makes a pending run, with a first message: a reserved child, or a root under the caller's id.
    async fn create(&self, spec: RunSpec, boot: Option<Message>) -> Result<Result<Created, UnknownAgent>, CallError> {
        ask!(self, Request::Create { spec: Box::new(spec), boot },
            Reply::Created(created) => Ok(created), Reply::UnknownAgent(unknown) => Err(unknown))
    }

    /// The specification of a run.
    async fn spec(&self, run: RunId) -> Result<Option<Arc<RunSpec>>, CallError> {
        ask!(self, Request::Spec { run }, Reply::Spec(spec) => spec)
    }

    /// Tells a run of a wake-up: one that waits for it is made pending, a running one remembers it. Nothing
    /// happens to an ended run.
    async fn wake(&self, run: RunId, wakeup: Wakeup) -> Result<(), CallError> {
        ask!(self, Request::Wake { run, wakeup }, Reply::Done => ())
    }

    /// Ends the halt of a run. Nothing happens to an ended run.
    async fn resume(&self, run: RunId) -> Result<(), CallError> {
        ask!(self, Request::Resume { run }, Reply::Done => ())
    }

    /// Asks for the end of a run: the flag is sticky, a sleeping run is made pending. Nothing happens to an
    /// ended run.
    async fn cancel(&self, run: RunId, reason: Name) -> Result<(), CallError> {
        ask!(self, Request::Cancel { run, reason }, Reply::Done => ())
    }

    /// Reclaims what has run out, wakes what is due, and grants up to `capacity` runs; waits up to `wait` while
    /// there is none. A lost grant runs out by itself.
    async fn lease(&self, worker: WorkerId, capacity: u32, wait: Span) -> Result<Vec<Lease>, CallError> {
        ask!(self, Request::Lease { worker, capacity, wait }, Reply::Leases(leases) => leases)
    }

    /// Renews a lease.
    async fn heartbeat(&self, lease: LeaseKey) -> Result<Heartbeat, CallError> {
        ask!(self, Request::Heartbeat { lease }, Reply::Heartbeat(heartbeat) => heartbeat)
    }

    /// Gives a run up.
    async fn release(&self, lease: LeaseKey, how: Release) -> Result<Released, CallError> {
        ask!(self, Request::Release { lease, how }, Reply::Released(released) => released)
    }

    /// What the scheduler knows of a run.
    async fn status(&self, run: RunId) -> Result<Option<RunView>, CallError> {
        ask!(self, Request::Status { run }, Reply::View(view) => view)
    }

    /// The live run at an address.
    async fn run_of(&self, agent: AgentId) -> Result<Option<RunId>, CallError> {
        ask!(self, Request::RunOf { agent }, Reply::Run(run) => run)
    }

    /// The queue, first to go first.
    async fn pending(&self) -> Result<Vec<RunId>, CallError> {
        ask!(self, Request::Pending, Reply::Queue(queue) => queue)
    }

    /// The store's clock, by which every time in a log is told: whatever is applied later has no earlier time.
    async fn clock(&self) -> Result<Timestamp, CallError> {
        ask!(self, Request::Clock, Reply::Time(now) => now)
    }
}

/// Signals and timers.
pub trait SignalBus: Store {
    /// Fires a named signal at a run, once per `id`. One that comes before the run sleeps is buffered.
    async fn signal(&self, run: RunId, name: Name, payload: Json, id: Name) -> Result<Signalled, CallError> {
        ask!(self, Request::Signal { run, name, payload, id }, Reply::Signalled(signalled) => signalled)
    }

    /// Schedules a wake-up of a run for a step; at once when `at` is past; nothing for an ended run.
    async fn timer(&self, run: RunId, step: Step, at: Timestamp) -> Result<(), CallError> {
        ask!(self, Request::Timer { run, step, at }, Reply::Done => ())
    }

    /// How the wait of a step has ended, if it has: the oldest signal of the name, else the time. The first
    /// answer given is the step's answer for ever.
    async fn claim(&self, run: RunId, step: Step, wait: ClaimWait) -> Result<Option<Claimed>, CallError> {
        ask!(self, Request::Claim { run, step, wait }, Reply::Claimed(claimed) => claimed)
    }
}

/// Large values, by content.
pub trait Artifacts: Store {
    /// Keeps bytes; the same bytes give the same reference.
    async fn put(&self, bytes: Arc<[u8]>) -> Result<ArtifactRef, CallError> {
        ask!(self, Request::Put { bytes }, Reply::Stored(artifact) => artifact)
    }

    /// The bytes behind a reference.
    async fn get(&self, artifact: ArtifactRef) -> Result<Option<Arc<[u8]>>, CallError> {
        ask!(self, Request::Get { artifact }, Reply::Bytes(bytes) => bytes)
    }
}

impl<S: Store + ?Sized> EventLog for S {}
impl<S: Store + ?Sized> Journal for S {}
impl<S: Store + ?Sized> Inbox for S {}
impl<S: Store + ?Sized> Scheduler for S {}
impl<S: Store + ?Sized> SignalBus for S {}
impl<S: Store + ?Sized> Artifacts for S {}

/// What a parent asks of the scheduler about its children.
pub trait Nursery: Store {
    /// Holds a unit of the tree's budget and an address for the child of a step. Keyed by the parent and the step: every
    /// repeat hears the same, a refusal included, though not [`Reserved::Ending`], which counts for this once.
    async fn reserve(&self, lease: LeaseKey, step: Step, child_agent: AgentId) -> Result<Reserved, CallError> {
        ask!(self, Request::Reserve { lease, step, agent: child_agent }, Reply::Reserved(reserved) => reserved)
    }

    /// Gives back the unit that `run` holds; nothing when it holds none.
    async fn return_unit(&self, run: RunId) -> Result<(), CallError> {
        ask!(self, Request::ReturnUnit { run }, Reply::Done => ())
    }

    /// Makes `run` and all below it a tree of their own; nothing when it is the root of one.
    async fn detach(&self, run: RunId) -> Result<(), CallError> {
        ask!(self, Request::Detach { run }, Reply::Done => ())
    }
}

/// The durable list of followers.
pub trait FollowGraph: Store {
    /// `follower` follows `topic` from `stamp` on, unless a later stamp says otherwise. Repeats change nothing.
    async fn follow(&self, follower: AgentId, topic: TopicId, stamp: Stamp) -> Result<Subscription, CallError> {
        let subscription = Subscription { follower, topic };
        let request = Request::Follow { subscription: subscription.clone(), stamp };
        ask!(self, request, Reply::Done => subscription)
    }

    /// Ends a subscription at `stamp`, unless a later stamp says otherwise. Safe on one that has ended.
    async fn unfollow(&self, subscription: Subscription, stamp: Stamp) -> Result<(), CallError> {
        ask!(self, Request::Unfollow { subscription, stamp }, Reply::Done => ())
    }

    /// Who follows `topic`: every follow that has returned, none twice.
    async fn followers_of(&self, topic: TopicId) -> Result<Vec<AgentId>, CallError> {
        ask!(self, Request::FollowersOf { topic }, Reply::Agents(agents) => agents)
    }

    /// What `agent` follows.
    async fn following(&self, agent: AgentId) -> Result<Vec<TopicId>, CallError> {
        ask!(self, Request::Following { agent }, Reply::Topics(topics) => topics)
    }
}

/// What a tree has spent, each key once.
pub trait Budget: Store {
    /// Adds `amounts` to the tree of `run` under the key of an effect, unless the key was ever spent, and returns the
    /// account of the tree. The store knows which tree it is: a detached run has another one than it began with.
    async fn spend(&self, run: RunId, key: EffectId, amounts: Spend) -> Result<Account, CallError> {
        ask!(self, Request::Spend { run, key, amounts }, Reply::Account(account) => account)
    }

    /// The account of the tree of `run`.
    async fn totals(&self, run: RunId) -> Result<Account, CallError> {
        ask!(self, Request::Totals { run }, Reply::Account(account) => account)
    }
}

impl<S: Store + ?Sized> Nursery for S {}
impl<S: Store + ?Sized> FollowGraph for S {}
impl<S: Store + ?Sized> Budget for S {}

/// Spawns, joins and cancels child runs, in the name of one parent (requirement page, "SupervisorProtocol").
pub trait Supervisor {
    /// Why a call gave no value.
    type Error;

    /// Spawns a child at an address: the same child on every replay of the step.
    async fn spawn(&self, child_agent: AgentId, supervision: Supervision, boot: Json)
    -> Result<RunHandle, Self::Error>;

    /// Waits for the end of a child.
    async fn join(&self, handle: &RunHandle) -> Result<RunResult, Self::Error>;

    /// Cancels a child and all below it.
    async fn cancel(&self, handle: &RunHandle, reason: Name) -> Result<(), Self::Error>;

    /// The children whose end is not in the parent's log.
    async fn children_of(&self) -> Result<Vec<RunHandle>, Self::Error>;
}

/// How a publication reaches the followers (requirement page, "FanoutStrategy").
pub trait FanoutStrategy {
    /// Brings `message` to every follower of `topic`, once each under the message's own id, and ends when all have it:
    /// a follower that is slow to be reached delays no other one. A repeat changes nothing for who has it.
    fn publish(&self, topic: TopicId, message: Message, store: Rc<dyn Store>, host: Rc<dyn Host>) -> Task;
}
