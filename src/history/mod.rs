//! What was observed, as data: the one record that everything later reads.
//!
//! A history is a [`Header`] and a sequence of [`Event`]s. Some are *observed* (calls, replies, what an agent
//! got), some *applied* (what really happened behind the boundary: [`Event::Applied`], [`Event::Happened`]).
//! A judge says which it needs. Nothing here knows who runs, simulates or judges.

mod called;
mod digest;
mod fault;
mod trace;

pub use called::{About, Called};
pub use digest::RunningHash;
pub use fault::FaultKind;
pub use trace::{TraceError, read_trace, write_header, write_record};

use serde::{Deserialize, Serialize};

use crate::kernel::{
    AgentId, Arrival, Attempt, CallError, EffectId, Json, Message, MessageId, Name, Perform, Performed, Reply, Request,
    RunId, RunStatus, Span, Spend, Step, Subscription, Timestamp, Trigger, Wait, WorkerId,
};

/// What is known of a world before it starts; bounds are taken from it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Header {
    /// The form of what follows; 1.
    pub format: u32,
    /// The scenario's name.
    pub scenario: Name,
    /// When the world starts.
    pub start: Timestamp,
    /// How long a lease is asked for.
    pub lease: Span,
    /// The workers' poll tick.
    pub poll: Span,
    /// The most that a timer may be late, polls apart.
    pub timer_jitter: Span,
    /// How many runs a worker takes at once.
    pub capacity: u32,
    /// Leases in a row that may run out before a run is poisoned.
    pub max_lost_leases: u32,
    /// The workers' names.
    pub workers: Vec<Name>,
}

/// Who does something.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// A worker, in one of its incarnations.
    Worker(WorkerId),
    /// A client that carries out input number `n` of the scenario.
    Input(u32),
    /// The probe that is sent after healing.
    Probe,
}

/// The number of a call, in order of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CallNo(pub u32);

/// What a call asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// Something of the store.
    Store(Request),
    /// Something of the outside world.
    Outside(Perform),
}

/// What a call brought.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The store's reply.
    Store(Reply),
    /// The outside world's answer.
    Outside(Performed),
}

/// Something that happened, and when by the true clock (which is also the store's).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Record {
    /// When.
    pub at: Timestamp,
    /// What.
    #[serde(flatten)]
    pub event: Event,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "event", content = "of", rename_all = "snake_case")]
pub enum Event {
    /// Observed: a call is made.
    Sent {
        /// Its number.
        call: CallNo,
        /// By whom.
        from: Actor,
        /// For what.
        asked: Asked,
    },
    /// Applied: a request arrived and took effect; a duplicated request does so twice.
    Applied {
        /// Which call's request.
        call: CallNo,
        /// The answer it gave.
        answer: Answer,
        /// What changed in the scheduler, beyond what the answer says.
        changes: Vec<Change>,
    },
    /// Observed: the caller has the outcome of its call.
    Returned {
        /// Which call.
        call: CallNo,
        /// What it brought.
        outcome: Result<Answer, CallError>,
    },
    /// Applied: something took hold outside. Told at the instant it does, before the answer.
    Happened {
        /// Which call's request did it.
        call: CallNo,
        /// The key it was done under.
        effect: EffectId,
        /// What it was.
        kind: Name,
    },
    /// Observed: an agent is entered with this mail, at this attempt.
    Entered {
        /// The run.
        run: RunId,
        /// The attempt.
        attempt: Attempt,
        /// The batch it got.
        batch: Vec<Message>,
    },
    /// Observed: a call of the context gave this to the agent.
    Gave {
        /// The run.
        run: RunId,
        /// The attempt.
        attempt: Attempt,
        /// The step.
        step: Step,
        /// What it gave: a value, or an error as `{"error": code, …}`.
        value: Json,
    },
    /// An actor starts, dies, freezes, wakes, is cut off, …
    Actor {
        /// Who.
        actor: Actor,
        /// What became of it.
        change: ActorChange,
    },
    /// The store becomes unreachable, comes back, or restarts from what is durable.
    StoreReach {
        /// Whether it can be reached from now on.
        up: bool,
    },
    /// A deviation from the calm schedule, in words: the site and what happens there.
    Deviation {
        /// The site.
        site: Name,
        /// The fault, in words.
        fault: Name,
        /// Its kind.
        kind: FaultKind,
        /// What is called there.
        call: Called,
        /// The run that the call is about, where it is about one.
        run: Option<RunId>,
        /// The address whose mailbox it is about, where no run is named.
        agent: Option<AgentId>,
    },
    /// A request that was held back goes on, and arrives at once.
    LetGo {
        /// Which call's request.
        call: CallNo,
        /// The site of the call that it was held for, which has just been applied; none where only time let it go.
        until: Option<Name>,
    },
    /// The world enters a phase.
    Phase(Phase),
    /// Observed: what an actor asked for is refused, and nothing came of it.
    Refused {
        /// Who asked.
        by: Actor,
        /// The sort of refusal, in one word.
        code: Name,
        /// Why, in words.
        message: Name,
    },
}

/// What becomes of an actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActorChange {
    /// It starts, in the incarnation that the actor names.
    Started,
    /// It dies; what it sent may still arrive.
    Crashed,
    /// It freezes until it is resumed.
    Paused,
    /// It goes on where it was.
    Resumed,
    /// Nothing of it arrives, and nothing arrives at it.
    CutOff,
    /// It can be reached again.
    Reachable,
    /// It was asked to stop gracefully.
    Stopping,
    /// It has stopped gracefully.
    Stopped,
}

/// The life of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Faults may happen.
    Chaos,
    /// No more faults: everything restarts and is reachable.
    Healed,
    /// No task is runnable, no call in flight and nothing scheduled (parked polls apart).
    Quiescent,
    /// The probe agent was sent a message; [`Phase::Quiescent`] follows.
    Probing,
    /// The bound on events was reached before the world came to rest.
    Exhausted,
    /// The history is complete.
    Over,
}

/// A change of the scheduler's state, told by the store as it applies a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    /// A run was made; it is pending.
    Made {
        /// The run.
        run: RunId,
        /// Its address.
        agent: AgentId,
    },
    /// A run went from one status to another.
    Moved {
        /// The run.
        run: RunId,
        /// From.
        from: RunStatus,
        /// To.
        to: RunStatus,
        /// What made it pending, where it became that.
        trigger: Option<Trigger>,
        /// What it waits for, where it became suspended.
        waits: Vec<Wait>,
    },
    /// A message entered, or entered again, the mailbox.
    Stored {
        /// The address.
        agent: AgentId,
        /// The message.
        message: MessageId,
        /// Its number of arrival.
        arrival: Arrival,
    },
    /// A child was reserved: it holds its address and a unit of its tree's budget.
    Reserved {
        /// The child.
        run: RunId,
        /// Its address.
        agent: AgentId,
        /// Its parent.
        parent: RunId,
        /// The parent's step.
        step: Step,
        /// The root of its tree.
        tree: RunId,
    },
    /// A reserved child that was never created is gone with its parent's end: address and unit are free.
    Swept {
        /// The child.
        run: RunId,
    },
    /// A run gave the unit of its tree's budget back.
    Returned {
        /// The run.
        run: RunId,
    },
    /// A run went over to another tree, with all that it holds of the budget.
    Replanted {
        /// The run.
        run: RunId,
        /// The root of its tree from now on.
        tree: RunId,
    },
    /// An agent follows a topic from now on, or does so no more.
    Following {
        /// Who, and what.
        subscription: Subscription,
        /// Whether it follows now.
        follows: bool,
    },
    /// Something was spent, under a key that was not known.
    Spent {
        /// The root of the tree.
        tree: RunId,
        /// The effect.
        key: EffectId,
        /// How much.
        amounts: Spend,
    },
    /// A message was settled: acked, or made a dead letter.
    Settled {
        /// The address.
        agent: AgentId,
        /// The message.
        message: MessageId,
        /// Whether as a dead letter.
        dead: bool,
    },
}
