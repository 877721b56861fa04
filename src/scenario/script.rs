//! The steps of a scripted agent. Names are compiled to places when the file is read, so that running a
//! script looks nothing up.

use super::model::Alias;
use crate::kernel::{AgentId, Json, Name, Policy, Span};

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
}

impl ErrorCode {
    /// Every error.
    pub const ALL: [ErrorCode; 4] =
        [ErrorCode::Refused, ErrorCode::InDoubt, ErrorCode::Cancelled, ErrorCode::DeadlineExceeded];

    /// The error's name, as files have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            ErrorCode::Refused => "Refused",
            ErrorCode::InDoubt => "InDoubt",
            ErrorCode::Cancelled => "Cancelled",
            ErrorCode::DeadlineExceeded => "DeadlineExceeded",
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

/// When a failing step fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct While {
    /// Only in the first so many leases of the run.
    pub first: Option<u32>,
    /// Only until the run has failed so often.
    pub failures: Option<u32>,
}

/// Who is signalled.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// A run by its name.
    Alias(Alias),
    /// A run whose id a reference gives.
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
