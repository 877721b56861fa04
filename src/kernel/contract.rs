//! The contracts: typed methods over [`Store::call`], one trait per contract. Every store has them all.
//!
//! A method that fails says so by [`CallError`]; what a contract itself refuses is part of the answer.

#![expect(async_fn_in_trait, reason = "one worker is one single-threaded executor: futures need not be Send")]

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

/// Spawns, joins and cancels child runs. The shape is settled; the implementation is to come.
pub trait Supervisor {
    /// Spawns a child of `parent`: the same child on every replay of the step.
    async fn spawn(
        &self,
        child_agent: AgentId,
        parent: RunId,
        supervision: Supervision,
        boot: Message,
    ) -> Result<RunHandle, SpawnDenied>;

    /// Waits for the end of a child.
    async fn join(&self, handle: RunHandle) -> RunResult;

    /// Cancels a child and all below it.
    async fn cancel(&self, handle: RunHandle, reason: Name);

    /// The children whose end is not in the parent's log.
    async fn children_of(&self, parent: RunId) -> Vec<RunHandle>;
}

/// A child was refused, for good.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("spawn of `{agent}` denied: {reason}")]
pub struct SpawnDenied {
    /// Who was wanted.
    pub agent: AgentId,
    /// Why not.
    pub reason: Name,
}

/// The durable list of followers. The shape is settled; the implementation is to come.
pub trait FollowGraph {
    /// `follower` follows `topic` from `stamp` on, unless a later stamp says otherwise.
    async fn follow(&self, follower: AgentId, topic: TopicId, stamp: Stamp) -> Result<Subscription, CallError>;

    /// Ends a subscription at `stamp`, unless a later stamp says otherwise.
    async fn unfollow(&self, subscription: Subscription, stamp: Stamp) -> Result<(), CallError>;

    /// Who follows `topic`: none twice.
    async fn followers_of(&self, topic: TopicId) -> Result<Vec<AgentId>, CallError>;

    /// What `agent` follows.
    async fn following(&self, agent: AgentId) -> Result<Vec<TopicId>, CallError>;
}

/// How a publication reaches the followers. The shape is settled; the implementation is to come.
pub trait FanoutStrategy {
    /// Brings `message` to every follower of `topic`, once each, and waits for none of them for ever.
    async fn publish<G: FollowGraph, I: Inbox>(
        &self,
        topic: TopicId,
        message: Message,
        graph: &G,
        inbox: &I,
    ) -> Result<(), CallError>;
}

/// What a tree has spent, each key once. The shape is settled; the implementation is to come.
pub trait Budget {
    /// Adds `amounts` under `key` unless the key is known, and returns the totals.
    async fn spend(&self, tree: RunId, key: Name, amounts: Spend) -> Result<Spend, CallError>;

    /// The totals of a tree.
    async fn totals(&self, tree: RunId) -> Result<Spend, CallError>;
}

/// What a parent asks of the scheduler about its children. The shape is settled; the implementation is to come.
pub trait Nursery {
    /// Holds a unit of the tree's budget and an address for the child of a step.
    async fn reserve(&self, lease: LeaseKey, step: Step, child_agent: AgentId) -> Result<Reserved, CallError>;

    /// Gives back the unit that `run` holds.
    async fn return_unit(&self, run: RunId) -> Result<(), CallError>;

    /// Makes `run` the root of a tree of its own.
    async fn detach(&self, run: RunId) -> Result<(), CallError>;
}
