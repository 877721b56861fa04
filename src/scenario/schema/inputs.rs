//! What comes in from outside.

use schemars::JsonSchema;
use serde_json::Value;

use super::steps::Step;
use super::users::{Approve, Edit, Judge, Propose, Reject, Remember};
use super::values::{Address, Alias, Duration, OneOrMore, Text, Time};
use super::world::{Priority, Retry, Spending};

/// Something that comes from outside at a time.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum Input {
    Signal(Signal),
    Cancel(Cancel),
    Redrive(Redrive),
    Resume(Resume),
    Tail(Tail),
    Follow(Follow),
    Unfollow(Unfollow),
    Stop(Stop),
    Version(Version),
    Propose(Propose),
    Approve(Approve),
    Reject(Reject),
    Edit(Edit),
    Judge(Judge),
    Remember(Remember),
    Message(Message),
}

/// A message.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Message {
    /// When: at the start if nothing is said.
    at: Option<Time>,
    /// To whom.
    to: Address,
    /// From whom: `client` if nothing is said.
    from: Option<Address>,
    /// Its id: one from its place in the file if nothing is said.
    id: Option<Text>,
    /// What it says.
    data: Option<Value>,
    /// When it is delivered again under the same id.
    again: Option<OneOrMore<Time>>,
}

/// A signal to a run.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Signal {
    /// When: at the start if nothing is said.
    at: Option<Time>,
    /// Its name.
    signal: Text,
    /// The run.
    to: Alias,
    /// What it carries.
    data: Option<Value>,
    /// Its id: one from its place in the file if nothing is said.
    id: Option<Text>,
    /// When it is fired again under the same id.
    again: Option<OneOrMore<Time>>,
}

/// Cancels a run.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Cancel {
    /// When: at the start if nothing is said.
    at: Option<Time>,
    /// The run.
    cancel: Alias,
    /// Why.
    reason: Option<Text>,
}

/// Brings a dead letter back.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Redrive {
    /// When: at the start if nothing is said.
    at: Option<Time>,
    /// The message's id.
    redrive: Text,
    /// The mailbox.
    to: Address,
}

/// Ends the halt of a run.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Resume {
    /// When: at the start if nothing is said.
    at: Option<Time>,
    /// The run.
    resume: Alias,
}

/// Follows the log of a run to its end.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Tail {
    /// When: at the start if nothing is said.
    at: Option<Time>,
    /// The run.
    tail: Alias,
    /// When the reader drops its call and goes on behind the last entry that it saw.
    cuts: Option<OneOrMore<Time>>,
}

/// An agent follows a topic from now on.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Follow {
    /// When: at the start if nothing is said. It is this time that counts, whenever it arrives.
    at: Option<Time>,
    /// The topic.
    follow: Text,
    /// Who.
    agent: Address,
}

/// An agent follows a topic no more.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Unfollow {
    /// When: at the start if nothing is said. It is this time that counts, whenever it arrives.
    at: Option<Time>,
    /// The topic.
    unfollow: Text,
    /// Who.
    agent: Address,
}

/// Stops a worker gracefully.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Stop {
    /// When: at the start if nothing is said.
    at: Option<Time>,
    /// The worker.
    stop: Text,
    /// How long after it has stopped it starts anew: 5s if nothing is said.
    restart: Option<Duration>,
}

/// Gives an agent new code: every worker is stopped gracefully, and starts anew with it.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Version {
    /// When: at the start if nothing is said.
    at: Option<Time>,
    /// The version, higher than every one before.
    #[schemars(range(min = 1))]
    version: u32,
    /// The agent type.
    agent: Text,
    /// What the new code does.
    steps: Vec<Step>,
    /// What happens when it fails.
    retry: Option<Retry>,
    /// When its runs must have ended: so long after their first lease, `+1h` after the start, or an instant.
    deadline: Option<Text>,
    /// How it stands among others.
    priority: Option<Priority>,
    /// Whose it is.
    tenant: Option<Text>,
    /// The most messages of a first drain.
    #[schemars(range(min = 1, max = 10_000))]
    batch: Option<u32>,
    /// How many runs the tree of such a run may have, while it is the root of one.
    #[schemars(range(min = 1, max = 10_000))]
    max_agents: Option<u32>,
    /// How much the tree of such a run may spend, while it is the root of one.
    limits: Option<Spending>,
}

/// Many messages out of one line; each gets a number `n`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Load {
    /// The seed of their times and ways.
    seed: u64,
    /// How many.
    #[schemars(range(min = 1, max = 100_000))]
    messages: u32,
    /// To whom: one of these.
    to: OneOrMore<Address>,
    /// From whom: one of these.
    from: Option<OneOrMore<Address>>,
    /// Between these two times.
    within: [Time; 2],
    /// What their ids begin with.
    id: Option<Text>,
    /// What they say.
    data: Option<Value>,
}
