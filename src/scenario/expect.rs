//! What a scenario expects of its end, and what the end is, as data.

use std::collections::BTreeMap;
use std::fmt;

use super::model::Alias;
use super::plans::UserEnd;
use super::plans::expected::{PlanFact, Which};
use crate::kernel::{AgentId, FailureCode, Json, MessageId, Name, RunId, Span, Spend};

/// How a run stands at the end of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// Its agent returned.
    Completed,
    /// It failed for good.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// It sleeps for a reason.
    Sleeping,
    /// Its agent did not follow its log.
    Halted,
    /// It waits for a worker.
    Pending,
    /// A worker holds it.
    Running,
}

impl End {
    /// Every end.
    pub const ALL: [End; 7] =
        [End::Completed, End::Failed, End::Cancelled, End::Sleeping, End::Halted, End::Pending, End::Running];

    /// The end in words, as files have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            End::Completed => "completed",
            End::Failed => "failed",
            End::Cancelled => "cancelled",
            End::Sleeping => "sleeping",
            End::Halted => "halted",
            End::Pending => "pending",
            End::Running => "running",
        }
    }
}

/// A run at the end of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEnd {
    /// Its name in the scenario.
    pub alias: Alias,
    /// Its id.
    pub run: RunId,
    /// Its address.
    pub agent: AgentId,
    /// How it stands.
    pub end: End,
    /// Why it failed, where it did.
    pub code: Option<FailureCode>,
    /// How many leases it had.
    pub attempts: u32,
    /// How many failures of its agent its log holds.
    pub failures: u32,
    /// What it completed with.
    pub output: Option<Json>,
    /// The root of its tree.
    pub tree: RunId,
    /// How often each fact befell it, in the order of [`AgentFact::ALL`].
    pub counts: [u64; AgentFact::ALL.len()],
}

/// What may befall a run, and is counted over all runs of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AgentFact {
    /// It received a message.
    Received,
    /// It spawned a child.
    Spawned,
    /// It was denied a child.
    Denied,
    /// Its question was answered.
    Replied,
    /// Nobody answered its question in time.
    TimedOut,
    /// Whom it asked failed without an answer.
    TargetFailed,
    /// Whom it asked was cancelled without an answer.
    TargetCancelled,
}

impl AgentFact {
    /// Every fact.
    pub const ALL: [AgentFact; 7] = [
        AgentFact::Received,
        AgentFact::Spawned,
        AgentFact::Denied,
        AgentFact::Replied,
        AgentFact::TimedOut,
        AgentFact::TargetFailed,
        AgentFact::TargetCancelled,
    ];

    /// The fact in words, as files have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            AgentFact::Received => "received",
            AgentFact::Spawned => "spawned",
            AgentFact::Denied => "denied",
            AgentFact::Replied => "replied",
            AgentFact::TimedOut => "timed_out",
            AgentFact::TargetFailed => "target_failed",
            AgentFact::TargetCancelled => "target_cancelled",
        }
    }
}

/// What of a tree's spending is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Model tokens.
    Tokens,
    /// Money, in millionths of the currency.
    Cost,
    /// Model turns.
    Turns,
}

impl Amount {
    /// Every amount.
    pub const ALL: [Amount; 3] = [Amount::Tokens, Amount::Cost, Amount::Turns];

    /// The amount in words, as files have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Amount::Tokens => "tokens",
            Amount::Cost => "cost",
            Amount::Turns => "turns",
        }
    }

    /// How much of it was spent.
    pub const fn of(self, spent: &Spend) -> u64 {
        match self {
            Amount::Tokens => spent.tokens,
            Amount::Cost => spent.cost_micros,
            Amount::Turns => spent.turns,
        }
    }
}

/// What became of all effects of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EffectCount {
    /// How often it took hold outside.
    pub happened: u64,
    /// How many of its steps have a recorded result that is no error.
    pub recorded: u64,
    /// How many of its steps ended with the verdict in doubt.
    pub in_doubt: u64,
}

/// A dead letter at the end of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// The mailbox.
    pub agent: AgentId,
    /// The message.
    pub message: MessageId,
    /// How often a run over it has failed.
    pub attempts: u32,
    /// Why it is dead.
    pub error: Name,
}

/// Something that a client was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The sort of refusal, in one word.
    pub code: Name,
    /// Why, in words.
    pub message: Name,
}

/// All that expectations look at. The probe is not part of it.
#[derive(Clone, Debug, Default)]
pub struct Ends {
    /// Every run, in order of creation.
    pub runs: Vec<RunEnd>,
    /// Every kind of effect that was tried.
    pub effects: BTreeMap<Name, EffectCount>,
    /// Every dead letter.
    pub dead_letters: Vec<DeadLetter>,
    /// How much mail is pending at each address that has any.
    pub pending: BTreeMap<AgentId, u64>,
    /// What each tree has spent, by its root.
    pub spent: BTreeMap<RunId, Spend>,
    /// What is left of each user.
    pub users: BTreeMap<Name, UserEnd>,
    /// What clients were refused, in the order in which they were.
    pub refused: Vec<Refused>,
    /// How long it took: from the start to the last end, or the last event that was no poll.
    pub took: Span,
}

/// How many there may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bound {
    /// The fewest.
    pub at_least: Option<u64>,
    /// The most.
    pub at_most: Option<u64>,
}

/// Which count of an effect is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectFact {
    /// It took hold outside.
    Happened,
    /// It has a recorded result.
    Recorded,
    /// It ended in doubt.
    InDoubt,
}

/// One thing that a scenario expects.
#[derive(Clone, Debug, PartialEq)]
pub enum Expectation {
    /// So many effects of a kind.
    Effect {
        /// The kind.
        kind: Name,
        /// What is counted.
        fact: EffectFact,
        /// How many.
        bound: Bound,
    },
    /// Every run of an agent stands like this, and there is one.
    AgentEnds {
        /// The agent.
        agent: Who,
        /// Any of these.
        ends: Vec<End>,
    },
    /// A run stands like this.
    RunEnds {
        /// The run.
        run: Alias,
        /// Any of these.
        ends: Vec<End>,
    },
    /// A run failed for this reason.
    RunCode {
        /// The run.
        run: Alias,
        /// The reason.
        code: FailureCode,
    },
    /// A run completed with this.
    Output {
        /// The run.
        run: Alias,
        /// What.
        output: Json,
    },
    /// A run had so many leases.
    Leases {
        /// The run.
        run: Alias,
        /// How many.
        bound: Bound,
    },
    /// The agent of a run failed so often.
    Failures {
        /// The run.
        run: Alias,
        /// How often.
        bound: Bound,
    },
    /// An agent had so many runs.
    Runs {
        /// The agent.
        agent: Who,
        /// How many.
        bound: Bound,
    },
    /// An agent has so many dead letters.
    DeadLetters {
        /// The agent.
        agent: Who,
        /// How many.
        bound: Bound,
    },
    /// An agent has so much pending mail.
    PendingMail {
        /// The agent.
        agent: Who,
        /// How much.
        bound: Bound,
    },
    /// Something befell the runs of an agent so often.
    Befell {
        /// The agent.
        agent: Who,
        /// What.
        fact: AgentFact,
        /// How often.
        bound: Bound,
    },
    /// The tree of a run has spent so much.
    Spent {
        /// The run.
        run: Alias,
        /// Of what.
        amount: Amount,
        /// How much.
        bound: Bound,
    },
    /// A plan of a user ended like this.
    Plan {
        /// The plan.
        plan: Which,
        /// Whose.
        user: Name,
        /// How.
        fact: PlanFact,
    },
    /// A memory trace of a user is there, or is not.
    Memory {
        /// Its id.
        uid: Name,
        /// Whose.
        user: Name,
        /// Whether it is there.
        exists: bool,
    },
    /// Clients were refused what they asked for so often.
    Refused {
        /// The sort of refusal.
        code: Name,
        /// How often.
        bound: Bound,
    },
    /// All is over after this long.
    Took {
        /// At most.
        at_most: Span,
    },
}

/// An agent type, all its addresses; or one address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// Every address of the type.
    Type(Name),
    /// One address.
    Address(AgentId),
}

/// How an expectation fared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectationResult {
    /// What was expected, in words.
    pub text: String,
    /// Whether it came about.
    pub held: bool,
    /// What came about, in words.
    pub message: String,
}

impl Bound {
    /// Exactly `count`.
    pub const fn exactly(count: u64) -> Self {
        Bound { at_least: Some(count), at_most: Some(count) }
    }

    /// Whether `count` is within the bound.
    pub fn holds(&self, count: u64) -> bool {
        self.at_least.is_none_or(|least| count >= least) && self.at_most.is_none_or(|most| count <= most)
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.at_least, self.at_most) {
            (Some(least), Some(most)) if least == most => write!(f, "{least}"),
            (Some(least), Some(most)) => write!(f, "{least} to {most}"),
            (Some(least), None) => write!(f, "at least {least}"),
            (None, Some(most)) => write!(f, "at most {most}"),
            (None, None) => f.write_str("any number"),
        }
    }
}

impl Who {
    /// Whether `agent` is meant.
    pub fn covers(&self, agent: &AgentId) -> bool {
        match self {
            Who::Type(kind) => agent.kind() == &**kind,
            Who::Address(address) => address == agent,
        }
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Who::Type(kind) => f.write_str(kind),
            Who::Address(address) => address.fmt(f),
        }
    }
}

impl EffectCount {
    /// The count that is meant.
    pub const fn of(&self, fact: EffectFact) -> u64 {
        match fact {
            EffectFact::Happened => self.happened,
            EffectFact::Recorded => self.recorded,
            EffectFact::InDoubt => self.in_doubt,
        }
    }
}

impl EffectFact {
    /// The fact in words, as files have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            EffectFact::Happened => "happened",
            EffectFact::Recorded => "recorded",
            EffectFact::InDoubt => "in_doubt",
        }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expectation::Effect { kind, fact, bound } => write!(f, "effect {kind} {} {bound}", fact.as_str()),
            Expectation::AgentEnds { agent, ends } => write!(f, "every run of {agent} is {}", either(ends)),
            Expectation::RunEnds { run, ends } => write!(f, "run {run} is {}", either(ends)),
            Expectation::RunCode { run, code } => write!(f, "run {run} failed as {}", code.as_str()),
            Expectation::Output { run, output } => write!(f, "run {run} completed with {output:?}"),
            Expectation::Leases { run, bound } => write!(f, "leases of {run}: {bound}"),
            Expectation::Failures { run, bound } => write!(f, "failures of {run}: {bound}"),
            Expectation::Runs { agent, bound } => write!(f, "runs of {agent}: {bound}"),
            Expectation::DeadLetters { agent, bound } => write!(f, "dead letters of {agent}: {bound}"),
            Expectation::PendingMail { agent, bound } => write!(f, "pending mail of {agent}: {bound}"),
            Expectation::Befell { agent, fact, bound } => write!(f, "{} by {agent}: {bound}", fact.as_str()),
            Expectation::Spent { run, amount: Amount::Cost, bound } => {
                write!(f, "cost of the tree of {run}, in millionths: {bound}")
            }
            Expectation::Spent { run, amount, bound } => write!(f, "{} of the tree of {run}: {bound}", amount.as_str()),
            Expectation::Plan { plan, user, fact } => write!(f, "plan {plan} of {user} {fact}"),
            Expectation::Memory { uid, user, exists } => {
                write!(f, "memory {uid} of {user} is {}", if *exists { "there" } else { "not there" })
            }
            Expectation::Refused { code, bound } => write!(f, "refused as {code}: {bound}"),
            Expectation::Took { at_most } => write!(f, "all is over after {at_most}"),
        }
    }
}

/// `completed or failed`.
pub(super) fn either(ends: &[End]) -> String {
    ends.iter().map(|end| end.as_str()).collect::<Vec<_>>().join(" or ")
}
