//! The steps of a script.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use super::values::{Address, Alias, Duration, Reference, Text, True};
use super::world::Priority;
use crate::scenario::script::ErrorCode;

/// A step of a script.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum Step {
    Effect(Effect),
    Model(Model),
    Spawn(Spawn),
    Join(Join),
    ChildrenOf(ChildrenOf),
    Status(Status),
    Ask(Ask),
    Emit(Emit),
    WaitSignal(WaitSignal),
    Receive(Receive),
    Now(Now),
    Random(Random),
    Uuid(Uuid),
    All(All),
    Send(Send),
    Sleep(Sleep),
    Signal(Signal),
    Cancel(Cancel),
    Reply(Reply),
    Follow(Follow),
    Unfollow(Unfollow),
    Check(Check),
    Log(Log),
    Fail(Fail),
    Die(Die),
    Panic(Panic),
    Complete(Complete),
    If(If),
    Repeat(Repeat),
    ForEach(ForEach),
    ByAttempt(ByAttempt),
    Version(Version),
}

/// Steps of every kind of error, and of every other.
pub struct OnError;

impl JsonSchema for OnError {
    fn schema_name() -> Cow<'static, str> {
        "OnError".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let steps = generator.subschema_for::<Vec<Step>>();
        let names = ErrorCode::ALL.iter().map(|code| code.as_str()).chain(["else"]);
        let members: BTreeMap<&str, Schema> = names.map(|name| (name, steps.clone())).collect();
        json_schema!({
            "description": "What is done about an error of the step; an error without a branch fails the agent.",
            "type": "object", "properties": members, "additionalProperties": false
        })
    }
}

macro_rules! steps {
    ($($(#[$doc:meta])* $name:ident { $($fields:tt)* } $($common:ident)?;)+) => {
        $(steps!(@ $(#[$doc])* $name { $($fields)* } $($common)?);)+
    };
    (@ $(#[$doc:meta])* $name:ident { $($fields:tt)* } gives) => {
        $(#[$doc])*
        #[derive(JsonSchema)]
        #[schemars(deny_unknown_fields)]
        pub struct $name {
            $($fields)*
            /// The name of its result.
            #[schemars(rename = "as")]
            save: Option<Text>,
            on_error: Option<OnError>,
        }
    };
    (@ $(#[$doc:meta])* $name:ident { $($fields:tt)* } tells) => {
        $(#[$doc])*
        #[derive(JsonSchema)]
        #[schemars(deny_unknown_fields)]
        pub struct $name {
            $($fields)*
            on_error: Option<OnError>,
        }
    };
    (@ $(#[$doc:meta])* $name:ident { $($fields:tt)* }) => {
        $(#[$doc])*
        #[derive(JsonSchema)]
        #[schemars(deny_unknown_fields)]
        pub struct $name { $($fields)* }
    };
}

steps! {
    /// Does something to the outside world, through a tool.
    Effect {
        /// The tool.
        effect: Text,
        /// What it is given.
        args: Option<Value>,
        /// What may be done when nobody knows whether it happened: nothing (at_most_once), the same request again to a
        /// tool that honours its key (idempotent), or anything (repeatable). at_most_once if nothing is said.
        policy: Option<Policy>,
        /// How often it is tried when it is refused: once if nothing is said.
        #[schemars(range(min = 1, max = 1_000))]
        tries: Option<u32>,
        /// The pause between two tries: 1s if nothing is said.
        pause: Option<Duration>,
        /// How long an answer is waited for: 60s if nothing is said.
        limit: Option<Duration>,
    } gives;
    /// Asks a model; gives `{ "text", "usage" }`, and the text's document as `json` where one is asked for.
    Model {
        /// The model, a tool of the outside world.
        model: Text,
        /// What it is asked.
        args: Option<Value>,
        /// Whether its text must be a JSON document: else the step fails with Malformed.
        json: Option<bool>,
        /// How often it is tried when it is refused or malformed: once if nothing is said.
        #[schemars(range(min = 1, max = 1_000))]
        tries: Option<u32>,
        /// The pause between two tries: 1s if nothing is said. A rate limit may ask for a longer one.
        pause: Option<Duration>,
        /// How long an answer is waited for before it is asked again: 60s if nothing is said.
        limit: Option<Duration>,
    } gives;
    /// Spawns a child; gives its handle `{ "run_id", "agent_id", "parent_run" }`.
    Spawn {
        /// Which: an address, a reference to one, or a type, at a fresh address of its own.
        spawn: Child,
        /// What its first message says.
        data: Option<Value>,
        /// What becomes of it when its parent ends: it is cancelled (run), which it is if nothing is said, or it lives on.
        retention: Option<Retention>,
        /// When it must have ended: so long after its first lease, `+1h` after the start, or an instant.
        deadline: Option<Text>,
        /// How it stands among others.
        priority: Option<Priority>,
    } gives;
    /// Waits for the end of a child; gives `{ "run_id", "status", "output", "error", "metadata" }`, or null when the limit
    /// is over.
    Join {
        /// The child.
        join: RunOrReference,
        /// How long it waits at most.
        limit: Option<Duration>,
    } gives;
    /// Gives the handles of the children that have not ended.
    ChildrenOf { children_of: True, } gives;
    /// Peeks at a run; gives `{ "run_id", "status", "last_seq", "last_milestone" }`.
    Status {
        /// The run.
        status: RunOrReference,
    } gives;
    /// Asks another agent and waits; gives `{ "kind", "result", "handle", "last_seq" }`, the kind one of replied,
    /// timed_out, target_failed and target_cancelled.
    Ask {
        /// Whom: an address, or a reference to one.
        ask: Address,
        /// What.
        data: Option<Value>,
        /// How long it waits at most.
        limit: Duration,
    } gives;
    /// Publishes a message to all who follow a topic; gives its id.
    Emit {
        /// The topic.
        emit: Text,
        /// What it says.
        data: Option<Value>,
    } gives;
    /// Waits for a signal; gives `{ "id", "name", "payload" }`, or null when the limit is over.
    WaitSignal {
        /// The signal's name.
        wait_signal: Text,
        /// How long it waits at most.
        limit: Option<Duration>,
    } gives;
    /// Takes mail that came since; gives a list of messages.
    Receive {
        /// How many at most.
        #[schemars(range(min = 1, max = 10_000))]
        receive: u32,
        /// How long it waits at most.
        limit: Option<Duration>,
    } gives;
    /// The time, the same in every replay.
    Now { now: True, } gives;
    /// A random number, the same in every replay.
    Random { random: True, } gives;
    /// A random id, the same in every replay.
    Uuid { uuid: True, } gives;
    /// Single calls at the same time; gives the list of their results.
    All {
        /// The calls.
        #[schemars(length(min = 1, max = 1_000))]
        all: Vec<Step>,
    } gives;
    /// Sends a message; gives its id.
    Send {
        /// To whom: an address, or a reference to one.
        send: Address,
        /// What it says.
        data: Option<Value>,
    } gives;
    /// Sleeps.
    Sleep {
        /// For how long.
        sleep: Duration,
    } tells;
    /// Signals a run.
    Signal {
        /// The signal's name.
        signal: Text,
        /// The run.
        to: RunOrReference,
        /// What it carries.
        data: Option<Value>,
    } tells;
    /// Cancels a child and all below it.
    Cancel {
        /// The child.
        cancel: RunOrReference,
        /// Why.
        reason: Option<Text>,
    } tells;
    /// Answers a question.
    Reply {
        /// The question: a message.
        reply: Reference,
        /// The answer.
        data: Option<Value>,
    } tells;
    /// Follows a topic from now on.
    Follow {
        /// The topic.
        follow: Text,
    } tells;
    /// Follows a topic no more.
    Unfollow {
        /// The topic.
        unfollow: Text,
    } tells;
    /// Ends the run here if it was cancelled or its deadline has passed.
    Check { check: True, } tells;
    /// Writes into the run's log.
    Log {
        /// What.
        log: Value,
    } tells;
    /// The agent fails.
    Fail {
        /// With this error.
        fail: Text,
        /// Only in the first so many leases.
        #[schemars(range(min = 1))]
        first: Option<u32>,
        /// Only until the run has failed so often.
        #[schemars(range(min = 1))]
        failures: Option<u32>,
    };
    /// The agent kills its worker.
    Die {
        die: True,
        /// Only in the first so many leases.
        #[schemars(range(min = 1))]
        first: Option<u32>,
        /// Only until the run has failed so often.
        #[schemars(range(min = 1))]
        failures: Option<u32>,
    };
    /// The agent panics.
    Panic {
        panic: True,
        /// Only in the first so many leases.
        #[schemars(range(min = 1))]
        first: Option<u32>,
        /// Only until the run has failed so often.
        #[schemars(range(min = 1))]
        failures: Option<u32>,
    };
    /// Ends the run.
    Complete {
        /// Its output.
        complete: Value,
    };
    /// Goes on by what a result is. It asks one thing; whether the result is there if nothing is said.
    If {
        /// The result.
        #[schemars(rename = "if")]
        value: Reference,
        is: Option<Value>,
        is_not: Option<Value>,
        below: Option<i64>,
        above: Option<i64>,
        /// Whether it is there, and not null.
        exists: Option<bool>,
        then: Vec<Step>,
        #[schemars(rename = "else")]
        otherwise: Option<Vec<Step>>,
    } tells;
    /// Does something several times; `$index` counts from 0.
    Repeat {
        /// How often.
        #[schemars(range(min = 1, max = 100_000))]
        repeat: u32,
        #[schemars(rename = "do")]
        block: Vec<Step>,
    } tells;
    /// Does something for each item of a list; `$index` counts from 0.
    ForEach {
        /// The list.
        for_each: Reference,
        /// The item's name: `item` if nothing is said.
        #[schemars(rename = "as")]
        item: Option<Text>,
        #[schemars(rename = "do")]
        block: Vec<Step>,
    } tells;
    /// Takes a way that a change of the code has brought; a run that has come by here before the change takes the other.
    Version {
        /// The change's name.
        version: Text,
        then: Vec<Step>,
        #[schemars(rename = "else")]
        otherwise: Option<Vec<Step>>,
    } tells;
    /// Does something else in each lease: not deterministic on purpose.
    ByAttempt {
        #[schemars(length(min = 1))]
        by_attempt: Vec<Vec<Step>>,
    } tells;
}

/// What may be done when nobody knows whether an effect happened.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub enum Policy {
    AtMostOnce,
    Idempotent,
    Repeatable,
}

/// Where a child is spawned.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum Child {
    At(Address),
    Fresh(OfType),
}

/// A fresh address of a type.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct OfType {
    /// The type.
    #[schemars(rename = "type")]
    kind: Text,
}

/// What becomes of a child when its parent ends.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub enum Retention {
    Run,
    Permanent,
}

#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum RunOrReference {
    Run(Alias),
    Reference(Reference),
}
