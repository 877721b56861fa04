//! The steps of a scripted agent. Names are compiled to places when the file is read, so that running a
//! script looks nothing up.

use super::model::Alias;
use crate::kernel::{AgentId, Json, Name, Policy, Span, Supervision, TopicId};

/// What an agent does, over and over under replay.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// Its steps.
    pub steps: Block,
    /// How many places for results it needs.
    pub slots: usize,
    /// Whether it looks at `$inbox`.
    pub reads_inbox: bool,
}

/// Steps, one after the other.
pub type Block = Vec<Node>;

/// Where a result is kept.
pub type Slot = usize;

/// One step, or one piece of flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What is done.
    pub op: Op,
    /// Where its result goes.
    pub save: Option<Slot>,
    /// What is done about an error of it.
    pub on_error: Option<OnError>,
}

/// What to do about errors of a step; an error without a branch goes through.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OnError {
    /// Steps per error.
    pub cases: Vec<(ErrorCode, Block)>,
    /// Steps for every other error.
    pub otherwise: Option<Block>,
}

/// The errors that a step can give to an agent, as `on_error` names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorCode {
    /// The tool refused; the effect did not happen.
    Refused,
    /// Nobody can tell whether the effect happened.
    InDoubt,
    /// The run was cancelled.
    Cancelled,
    /// The run's deadline has passed.
    DeadlineExceeded,
    /// A child was refused.
    SpawnDenied,
    /// The run that is meant is no child of this one.
    NotAChild,
    /// Nobody knows the run that is meant.
    UnknownRun,
    /// The message that is meant is no question that waits for an answer.
    NotAQuestion,
    /// The budget of the run's tree is spent.
    BudgetExhausted,
    /// A model's answer is no JSON document.
    Malformed,
}

impl ErrorCode {
    /// Every error.
    pub const ALL: [ErrorCode; 10] = [
        ErrorCode::Refused,
        ErrorCode::InDoubt,
        ErrorCode::Cancelled,
        ErrorCode::DeadlineExceeded,
        ErrorCode::SpawnDenied,
        ErrorCode::NotAChild,
        ErrorCode::UnknownRun,
        ErrorCode::NotAQuestion,
        ErrorCode::BudgetExhausted,
        ErrorCode::Malformed,
    ];

    /// The error's name, as files have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            ErrorCode::Refused => "Refused",
            ErrorCode::InDoubt => "InDoubt",
            ErrorCode::Cancelled => "Cancelled",
            ErrorCode::DeadlineExceeded => "DeadlineExceeded",
            ErrorCode::SpawnDenied => "SpawnDenied",
            ErrorCode::NotAChild => "NotAChild",
            ErrorCode::UnknownRun => "UnknownRun",
            ErrorCode::NotAQuestion => "NotAQuestion",
            ErrorCode::BudgetExhausted => "BudgetExhausted",
            ErrorCode::Malformed => "Malformed",
        }
    }
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The root.
    pub from: Source,
    /// The way down from it.
    pub path: Vec<Key>,
    /// As it stands in the file.
    pub text: Name,
}

/// The root of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The result of a step, or the item of a loop.
    Slot(Slot),
    /// `$inbox`: the run's batch.
    Inbox,
    /// `$self`: the run's id.
    Run,
    /// `$self.agent`: the agent's address.
    Agent,
    /// `$self.key`: the address behind the type.
    AgentKey,
    /// `$self.attempt`: which lease this is.
    Attempt,
}

/// One part of a way down into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The member's name.
    pub name: String,
    /// The place in a list, where the name is a number.
    pub index: Option<usize>,
}

/// A value that may hold references.
#[derive(Clone, Debug, PartialEq)]
pub enum Template {
    /// No reference: shared by all who use it.
    Fixed(Json),
    /// One reference, whose value stands in.
    Reference(Reference),
    /// A list with references in it.
    List(Vec<Template>),
    /// An object with references in it.
    Object(Vec<(String, Template)>),
}

/// What a condition asks of a value. What a reference does not find is null here.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// It equals this.
    Is(Json),
    /// It does not.
    IsNot(Json),
    /// It is a number below this.
    Below(i64),
    /// It is a number above this.
    Above(i64),
    /// It is there and not null, or it is not.
    Exists(bool),
}

/// An effect on the outside world.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectStep {
    /// What is done.
    pub kind: Name,
    /// With what.
    pub args: Template,
    /// What may be done about an unknown outcome.
    pub policy: Policy,
    /// How often it is tried when it is refused, the first time included; at least 1.
    pub tries: u32,
    /// How long it waits between tries.
    pub pause: Span,
    /// After this long the outcome is unknown.
    pub limit: Span,
}

/// A call of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelStep {
    /// Which model.
    pub model: Name,
    /// What it is asked.
    pub args: Template,
    /// Whether its answer must be a JSON document; it then stands under `json` beside the text.
    pub json: bool,
    /// How often it is tried when it is refused or its answer malformed, the first time included; at least 1.
    pub tries: u32,
    /// How long it waits between tries.
    pub pause: Span,
    /// After this long without an answer it is asked again.
    pub limit: Span,
}

/// A child that is spawned.
#[derive(Clone, Debug, PartialEq)]
pub struct SpawnStep {
    /// Which.
    pub child: Child,
    /// What its first message holds.
    pub data: Template,
    /// What the parent says about it beyond what its type is registered with.
    pub supervision: Supervision,
}

/// Where a child is spawned.
#[derive(Clone, Debug, PartialEq)]
pub enum Child {
    /// At an address.
    At(Address),
    /// At a fresh address of its type.
    OfType(Name),
}

/// When a failing step fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct While {
    /// Only in the first so many leases of the run.
    pub first: Option<u32>,
    /// Only until the run has failed so often.
    pub failures: Option<u32>,
}

/// Which run is meant.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// A run by its name.
    Alias(Alias),
    /// A run whose handle, or id, a reference gives.
    Reference(Reference),
}

/// Which topic is meant.
#[derive(Clone, Debug, PartialEq)]
pub enum Topic {
    /// A known topic.
    Fixed(TopicId),
    /// A topic that a reference gives.
    Reference(Reference),
}

/// Who is written to.
#[derive(Clone, Debug, PartialEq)]
pub enum Address {
    /// A known agent.
    Fixed(AgentId),
    /// An address that a reference gives.
    Reference(Reference),
}

/// What a step does.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Acts on the outside world.
    Effect(Box<EffectStep>),
    /// Sends a message.
    Send {
        /// The receiver.
        to: Address,
        /// The content.
        data: Template,
    },
    /// Sleeps.
    Sleep(Span),
    /// Waits for a signal; gives `{"id", "name", "payload"}`, or null when the limit is over.
    WaitSignal {
        /// Its name.
        name: Name,
        /// How long at most.
        limit: Option<Span>,
    },
    /// Takes mail that came after the batch; gives a list of messages, empty when the limit is over.
    Receive {
        /// At most so many.
        max: u32,
        /// How long it waits for the first.
        limit: Option<Span>,
    },
    /// Signals a run.
    Signal {
        /// The signal's name.
        name: Name,
        /// The run.
        to: Target,
        /// Its data.
        data: Template,
    },
    /// Asks a model; gives its answer.
    Model(Box<ModelStep>),
    /// Spawns a child; gives its handle.
    Spawn(Box<SpawnStep>),
    /// Waits for the end of a child; gives its result, or null when the limit is over.
    Join {
        /// The child.
        child: Target,
        /// How long at most.
        limit: Option<Span>,
    },
    /// Cancels a child and all below it.
    Cancel {
        /// The child.
        child: Target,
        /// Why.
        reason: Name,
    },
    /// Gives the handles of the children that have not ended, as far as the run knows.
    ChildrenOf,
    /// Peeks at a run; gives its summary.
    Status(Target),
    /// Asks another agent and waits; gives the outcome.
    Ask {
        /// Who is asked.
        to: Address,
        /// The question.
        data: Template,
        /// How long at most.
        limit: Span,
    },
    /// Answers a question.
    Reply {
        /// The question, a message.
        question: Reference,
        /// The answer.
        data: Template,
    },
    /// Publishes a message; gives its id.
    Emit {
        /// To whose followers.
        topic: Topic,
        /// The content.
        data: Template,
    },
    /// Follows a topic.
    Follow(Topic),
    /// Follows a topic no more.
    Unfollow(Topic),
    /// Gives the run a chance to be cancelled.
    Check,
    /// Notes a value in the run's log.
    Log(Template),
    /// Gives the time.
    Now,
    /// Gives a random number.
    Random,
    /// Gives a random UUID.
    Uuid,
    /// Makes single calls at once; gives the list of their results.
    All(Vec<Node>),
    /// The agent returns an error.
    Fail {
        /// What it says.
        error: Name,
        /// When.
        when: While,
    },
    /// The worker dies.
    Die(While),
    /// The agent panics.
    Panic(While),
    /// The agent returns this.
    Complete(Template),
    /// One of two ways.
    If {
        /// What is looked at.
        value: Reference,
        /// What is asked of it.
        test: Test,
        /// The way if it holds.
        then: Block,
        /// The way if not.
        otherwise: Block,
    },
    /// One of two ways: the one that a change of the code has brought, or the one before it.
    Version {
        /// The change's name.
        change: Name,
        /// The way since the change.
        then: Block,
        /// The way before it.
        otherwise: Block,
    },
    /// The same so many times; `$index` counts from 0.
    Repeat {
        /// How often.
        times: u32,
        /// Where `$index` is.
        index: Slot,
        /// What.
        block: Block,
    },
    /// Once for each item of a list; `$index` counts from 0.
    ForEach {
        /// The list.
        list: Reference,
        /// Where the item is.
        item: Slot,
        /// Where `$index` is.
        index: Slot,
        /// What.
        block: Block,
    },
    /// Not deterministic on purpose: lease n takes way n, later leases the last.
    ByAttempt(Vec<Block>),
}
