//! What is expected of the end of a world.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use super::values::{Address, Alias, Bound, Duration, Money, OneOrMore, Rate, Text, one_of};
use crate::kernel;
use crate::scenario::expect;
use crate::scenario::format::{ALIGNMENTS, RESULTS, STATUSES};
use crate::scenario::plans::QUEUE_STATES;
use crate::tempo::ErrorKind;

/// What is expected of one subject.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum Expectation {
    Effect(Effect),
    Agent(Agent),
    Run(Run),
    Plan(Plan),
    Memory(Memory),
    Refused(Refused),
    Took(Took),
}

/// About the effects of a tool.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Effect {
    /// The tool.
    effect: Text,
    /// How often it took hold in truth.
    happened: Option<Bound>,
    /// How often a log says that it did.
    recorded: Option<Bound>,
    /// How often a log says that nobody knows.
    in_doubt: Option<Bound>,
}

/// About the runs and the mail of an agent.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Agent {
    /// Its type, or its address.
    agent: Address,
    /// How each of its runs stands.
    ends: Option<OneOrMore<End>>,
    /// How many runs it has.
    runs: Option<Bound>,
    /// How many of its messages are dead letters.
    dead_letters: Option<Bound>,
    /// How many of its messages wait.
    pending: Option<Bound>,
    /// How many messages its runs have received.
    received: Option<Bound>,
    /// How many children its runs have spawned.
    spawned: Option<Bound>,
    /// How many children its runs were denied.
    denied: Option<Bound>,
    /// How many of its questions were answered.
    replied: Option<Bound>,
    /// How many of its questions nobody answered in time.
    timed_out: Option<Bound>,
    /// How many of its questions failed with whom it asked.
    target_failed: Option<Bound>,
    /// How many of its questions were cancelled with whom it asked.
    target_cancelled: Option<Bound>,
}

/// About one run.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Run {
    run: Alias,
    /// How it stands.
    ends: Option<OneOrMore<End>>,
    /// Why it failed.
    code: Option<FailureCode>,
    /// How many leases it had.
    leases: Option<Bound>,
    /// How often it failed.
    failures: Option<Bound>,
    /// Its output.
    output: Option<Value>,
    /// The model tokens that its tree has spent.
    tokens: Option<Bound>,
    /// The money that its tree has spent.
    cost: Option<BoundOfMoney>,
    /// The model turns that its tree has had.
    turns: Option<Bound>,
}

/// An amount of money, or a bound.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum BoundOfMoney {
    Exactly(Money),
    Between(LimitsOfMoney),
}

/// At least, at most, or both.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct LimitsOfMoney {
    at_least: Option<Money>,
    at_most: Option<Money>,
}

/// About a plan. What is about the end of an occurrence is expected of every one that is closed.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Plan {
    /// Its `uid`, or one occurrence of it, like `inbox#1`.
    plan: Text,
    /// Whose: the only user's if nothing is said.
    user: Option<Text>,
    /// Where it stands.
    status: Option<OneOrMore<PlanStatus>>,
    /// Where its occurrences are in the planner's queue.
    queue: Option<OneOrMore<QueueState>>,
    /// How many of its occurrences were given to an agent or closed.
    occurrences: Option<Bound>,
    /// How near to its window each was completed.
    alignment: Option<OneOrMore<Alignment>>,
    /// How each execution ended.
    result: Option<OneOrMore<ExecutionResult>>,
    /// How long after it was due each was completed.
    deviation: Option<BoundOfTime>,
    /// How long each took from its first dispatch.
    duration: Option<BoundOfTime>,
    /// How often each was tried.
    attempts: Option<Bound>,
    /// The score of its last feedback.
    score: Option<Bound>,
    /// Its reward, in tenths of one.
    reward: Option<BoundOfReward>,
    /// A part of the reason why it was never executed.
    reason: Option<Text>,
}

/// About a memory trace.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Memory {
    /// Its `uid`.
    memory: Text,
    /// Whose: the only user's if nothing is said.
    user: Option<Text>,
    /// Whether it is there: added, or committed.
    exists: Option<bool>,
}

/// About what clients are refused.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Refused {
    /// The sort of refusal.
    refused: Refusal,
    /// How often.
    times: Option<Bound>,
}

/// A duration, or a bound.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum BoundOfTime {
    Exactly(Duration),
    Between(LimitsOfTime),
}

/// At least, at most, or both.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct LimitsOfTime {
    at_least: Option<Duration>,
    at_most: Option<Duration>,
}

/// A reward, or a bound.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum BoundOfReward {
    Exactly(Rate),
    Between(LimitsOfReward),
}

/// At least, at most, or both.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct LimitsOfReward {
    at_least: Option<Rate>,
    at_most: Option<Rate>,
}

/// About the time of the last end of a run.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Took {
    took: AtMost,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct AtMost {
    at_most: Duration,
}

/// A type whose schema is one of some names.
macro_rules! names {
    ($($(#[$doc:meta])* $name:ident => $names:expr;)+) => {$(
        $(#[$doc])*
        pub struct $name;

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                one_of($names)
            }
        }
    )+};
}

names! {
    /// How a run stands.
    End => expect::End::ALL.map(|end| end.as_str());
    /// Why a run failed.
    FailureCode => kernel::FailureCode::ALL.map(|code| code.as_str());
    /// Where a plan stands.
    PlanStatus => STATUSES.map(|status| status.as_str());
    /// Where an occurrence is in the planner's queue.
    QueueState => QUEUE_STATES.map(|state| state.as_str());
    /// How near to its window an occurrence was completed.
    Alignment => ALIGNMENTS.map(|alignment| alignment.as_str());
    /// How an execution ended.
    ExecutionResult => RESULTS.map(|result| result.as_str());
    /// The sort of a refusal.
    Refusal => ErrorKind::ALL.map(|kind| kind.as_str());
}
