//! What is expected of the end of a world.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use super::values::{Address, Alias, Bound, Duration, Money, OneOrMore, Text, one_of};
use crate::kernel::FailureCode;
use crate::scenario::expect;

/// What is expected of one subject.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum Expectation {
    Effect(Effect),
    Agent(Agent),
    Run(Run),
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
    code: Option<Code>,
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

/// How a run stands.
pub struct End;

impl JsonSchema for End {
    fn schema_name() -> Cow<'static, str> {
        "End".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        one_of(expect::End::ALL.map(|end| end.as_str()))
    }
}

/// Why a run failed.
pub struct Code;

impl JsonSchema for Code {
    fn schema_name() -> Cow<'static, str> {
        "FailureCode".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        one_of(FailureCode::ALL.map(|code| code.as_str()))
    }
}
