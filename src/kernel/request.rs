//! The contracts as data: what is asked of a store, and what it answers.
//!
//! A [`Store`] takes a [`Request`] and gives a [`Reply`]. Whoever carries calls (a simulated network, a pipe
//! to another process, a connection pool) sees them as one type; whoever makes calls uses the typed contracts
//! of [`super::contract`], which every store has.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::*;

/// What is asked of a store. Each is one atomic step of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the contracts' methods document the arguments of the same name")]
pub enum Request {
    Append { run: RunId, body: Arc<Body>, expected: Seq },
    Read { run: RunId, from: Seq },
    Tail { run: RunId, from: Seq, wait: Span },
    LastSeq { run: RunId },
    Lookup { effect: EffectId },
    Record { result: EffectResult },
    Deliver { to: AgentId, message: Message, notify: bool },
    Drain { agent: AgentId, run: RunId, after: Option<Arrival>, max: u32 },
    PendingCount { agent: AgentId },
    DeadLetters { agent: AgentId },
    Ack { agent: AgentId, message: MessageId, run: RunId },
    Nack { agent: AgentId, message: MessageId, run: RunId, failure: u32, disposition: Disposition },
    Redrive { agent: AgentId, message: MessageId, arrival: Arrival },
    Receiver { agent: AgentId, message: MessageId },
    Register { kind: Name, version: Version, defaults: SpecDefaults },
    Create { spec: Box<RunSpec>, boot: Option<Message> },
    Reserve { lease: LeaseKey, step: Step, agent: AgentId },
    ReturnUnit { run: RunId },
    Detach { run: RunId },
    Spec { run: RunId },
    Wake { run: RunId, wakeup: Wakeup },
    Resume { run: RunId },
    Cancel { run: RunId, reason: Name },
    Lease { worker: WorkerId, capacity: u32, wait: Span },
    Heartbeat { lease: LeaseKey },
    Release { lease: LeaseKey, how: Release },
    Status { run: RunId },
    RunOf { agent: AgentId },
    Pending,
    Clock,
    Signal { run: RunId, name: Name, payload: Json, id: Name },
    Timer { run: RunId, step: Step, at: Timestamp },
    Claim { run: RunId, step: Step, wait: ClaimWait },
    Follow { subscription: Subscription, stamp: Stamp },
    Unfollow { subscription: Subscription, stamp: Stamp },
    FollowersOf { topic: TopicId },
    Following { agent: AgentId },
    Spend { run: RunId, key: EffectId, amounts: Spend },
    Totals { run: RunId },
    Put { bytes: Arc<[u8]> },
    Get { artifact: ArtifactRef },
}

impl Request {
    /// The contract's method in words, as `append`.
    pub const fn method(&self) -> &'static str {
        match self {
            Request::Append { .. } => "append",
            Request::Read { .. } => "read",
            Request::Tail { .. } => "tail",
            Request::LastSeq { .. } => "last_seq",
            Request::Lookup { .. } => "lookup",
            Request::Record { .. } => "record",
            Request::Deliver { .. } => "deliver",
            Request::Drain { .. } => "drain",
            Request::PendingCount { .. } => "pending_count",
            Request::DeadLetters { .. } => "dead_letters",
            Request::Ack { .. } => "ack",
            Request::Nack { .. } => "nack",
            Request::Redrive { .. } => "redrive",
            Request::Receiver { .. } => "receiver",
            Request::Register { .. } => "register",
            Request::Create { .. } => "create",
            Request::Reserve { .. } => "reserve",
            Request::ReturnUnit { .. } => "return_unit",
            Request::Detach { .. } => "detach",
            Request::Spec { .. } => "spec",
            Request::Wake { .. } => "wake",
            Request::Resume { .. } => "resume",
            Request::Cancel { .. } => "cancel",
            Request::Lease { .. } => "lease",
            Request::Heartbeat { .. } => "heartbeat",
            Request::Release { .. } => "release",
            Request::Status { .. } => "status",
            Request::RunOf { .. } => "run_of",
            Request::Pending => "pending",
            Request::Clock => "store_clock",
            Request::Signal { .. } => "signal",
            Request::Timer { .. } => "timer",
            Request::Claim { .. } => "claim",
            Request::Follow { .. } => "follow",
            Request::Unfollow { .. } => "unfollow",
            Request::FollowersOf { .. } => "followers_of",
            Request::Following { .. } => "following",
            Request::Spend { .. } => "spend",
            Request::Totals { .. } => "totals",
            Request::Put { .. } => "put",
            Request::Get { .. } => "get",
        }
    }
}

/// An append that was applied: where the entry stands and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Appended {
    /// The entry's sequence number.
    pub seq: Seq,
    /// The entry's time, by the store's clock.
    pub ts: Timestamp,
}

/// Another writer was first: nothing was written (requirement page, `ConcurrentAppendError`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[error("log of run {run_id}: expected the last entry to be {expected}, it is {actual}")]
pub struct ConcurrentAppend {
    /// The run.
    pub run_id: RunId,
    /// What the caller took for the last sequence number.
    pub expected: Seq,
    /// What it is.
    pub actual: Seq,
}

/// No agent of this type was ever registered.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[error("no agent type `{kind}` is registered")]
pub struct UnknownAgent {
    /// The type.
    pub kind: Name,
}

/// What a store answers: one variant per shape of answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "reply", content = "value", rename_all = "snake_case")]
pub enum Reply {
    /// Of append.
    Appended(Appended),
    /// Of append that lost the race.
    Conflict(ConcurrentAppend),
    /// Of read and tail.
    Entries(Vec<RunLogEntry>),
    /// Of last_seq.
    LastSeq(Seq),
    /// Of lookup.
    Looked(Option<EffectResult>),
    /// Of record: the standing result.
    Standing(EffectResult),
    /// Of deliver: whether it was accepted; of redrive: whether it took place.
    Accepted(bool),
    /// Of deliver and create, when the type is not registered.
    UnknownAgent(UnknownAgent),
    /// Of drain.
    Drained(Vec<Drained>),
    /// Of pending_count.
    Count(u64),
    /// Of dead_letters.
    DeadLetters(Vec<DeadLetterEntry>),
    /// Of ack, nack, register, return_unit, detach, wake, resume, cancel, timer, follow, unfollow.
    Done,
    /// Of receiver and run_of.
    Run(Option<RunId>),
    /// Of create.
    Created(Created),
    /// Of reserve.
    Reserved(Reserved),
    /// Of spec.
    Spec(Option<Arc<RunSpec>>),
    /// Of lease.
    Leases(Vec<Lease>),
    /// Of heartbeat.
    Heartbeat(Heartbeat),
    /// Of release.
    Released(Released),
    /// Of status.
    View(Option<RunView>),
    /// Of pending: the queue, first to go first.
    Queue(Vec<RunId>),
    /// Of clock.
    Time(Timestamp),
    /// Of signal.
    Signalled(Signalled),
    /// Of claim.
    Claimed(Option<Claimed>),
    /// Of followers_of.
    Agents(Vec<AgentId>),
    /// Of following.
    Topics(Vec<TopicId>),
    /// Of spend and totals.
    Account(Account),
    /// Of put.
    Stored(ArtifactRef),
    /// Of get.
    Bytes(Option<Arc<[u8]>>),
}

/// Why a call brought no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum CallError {
    /// The store could not be reached or was not ready: the request was surely not applied.
    #[error("the store did not take the request")]
    Unavailable,
    /// Time ran out or the connection broke: nobody can tell whether the request was, or will be, applied.
    #[error("nobody can tell whether the request was applied")]
    Unknown,
}

/// A call on its way.
pub type Calling<T> = Pin<Box<dyn Future<Output = Result<T, CallError>>>>;

/// A store of all contracts, or a way to one. It need not be `Send`: one worker is one single-threaded executor.
///
/// A call times out after 5 s ([`CALL_TIMEOUT`]), a lease poll or a tail 5 s after its wait: that is the
/// carrier's duty, and the answer then is [`CallError::Unknown`]. Nothing between client and store repeats a call.
pub trait Store {
    /// Begins a call. Dropping the future gives up waiting; the request may still be applied.
    fn call(&self, request: Request) -> Calling<Reply>;
}

/// A way to the outside world: cards, mail, tools, models.
pub trait Outside {
    /// Begins a request. Dropping the future gives up waiting; it may still happen.
    fn perform(&self, request: Perform) -> Calling<Performed>;
}

/// After this long a call without a reply is given up.
pub const CALL_TIMEOUT: Span = Span::from_secs(5);

/// Larger values are kept as artifacts, and a reference stands in.
pub const INLINE_BYTES_MAX: usize = 64 * 1024;
