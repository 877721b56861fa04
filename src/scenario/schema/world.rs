//! The machine, the outside and the agents.

use schemars::JsonSchema;
use serde_json::Value;

use super::steps::Step;
use super::values::{Duration, Durations, Money, OneOrMore, Rate, Text, True};

/// How the machine under test is set up.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Runtime {
    /// How many workers, who are then called w1, w2, …; or their names. 2 if nothing is said.
    workers: Option<Workers>,
    /// How long a lease is asked for: 30s if nothing is said.
    lease: Option<Duration>,
    /// The workers' poll tick: 50ms if nothing is said.
    poll: Option<Duration>,
    /// How many runs a worker takes at once: 10 if nothing is said.
    #[schemars(range(min = 1, max = 10_000))]
    capacity: Option<u32>,
    /// What happens when an agent fails.
    retry: Option<Retry>,
    /// Leases in a row that may run out before a run is ended as poisoned: 10 if nothing is said.
    #[schemars(range(min = 1, max = 1_000))]
    max_lost_leases: Option<u32>,
    /// The most messages of a first drain: 100 if nothing is said.
    #[schemars(range(min = 1, max = 10_000))]
    batch: Option<u32>,
    /// How many runs a tree may have: 50 if nothing is said.
    #[schemars(range(min = 1, max = 10_000))]
    max_agents: Option<u32>,
    /// How much a tree may spend: without limit if nothing is said.
    limits: Option<Spending>,
    /// How long a call of the store takes in the calm schedule, there and back: 2ms if nothing is said.
    store_latency: Option<Duration>,
}

#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum Workers {
    Count(#[schemars(range(min = 1, max = 64))] u32),
    Names(#[schemars(length(min = 1, max = 64))] Vec<Text>),
}

/// What happens when an agent fails.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Retry {
    /// How often it is tried again: 3 if nothing is said.
    #[schemars(range(max = 1_000))]
    max_retries: Option<u32>,
    /// The first pause before it is tried again; it doubles. 5s if nothing is said.
    backoff: Option<Duration>,
    /// Whether the mail of a cancelled run becomes dead letters.
    dead_run_on_cancel: Option<bool>,
}

/// A tool of the outside world.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Tool {
    /// How long it takes: in the calm schedule, and at most.
    takes: Option<Durations>,
    /// How often it refuses: nothing happens then.
    refuses: Option<Rate>,
    /// How often it cannot vouch for what it did, or did not.
    unknown: Option<Rate>,
    /// Whether a second request under one effect id changes nothing.
    honours_key: Option<bool>,
    /// What it answers, the first time, the second, … and the last from then on. `{ "id": <effect id> }` if nothing is
    /// said.
    #[schemars(length(min = 1))]
    answers: Option<Vec<Value>>,
    /// How many requests it refuses at first, in every schedule.
    refuses_first: Option<u32>,
    /// What makes it a model.
    model: Option<Model>,
}

/// A model: each of its answers is a text (one of `answers`, or the JSON text of one), and costs something.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Model {
    /// The tokens of an answer, or of the first, the second, … and the last from then on.
    tokens: Option<OneOrMore<u64>>,
    /// What an answer costs, or the first, the second, … and the last from then on.
    cost: Option<OneOrMore<Money>>,
    /// How often the text of an answer is cut off in the middle.
    malformed: Option<Rate>,
    /// How often an answer breaks off, so that nobody has it.
    cut: Option<Rate>,
    /// How often a rate limit refuses.
    limited: Option<Limited>,
}

/// How often a rate limit refuses, and how long it asks to be left alone: 20s if nothing is said.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum Limited {
    Rate(Rate),
    After(LimitedAfter),
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct LimitedAfter {
    rate: Rate,
    after: Option<Duration>,
}

/// What a tree may spend.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Spending {
    /// Model tokens.
    tokens: Option<u64>,
    /// Money.
    cost: Option<Money>,
    /// Model turns.
    turns: Option<u64>,
}

/// An agent type.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum Agent {
    /// Its script.
    Script(Vec<Step>),
    /// Its code is Rust, which a test brings along.
    Rust(RustCode),
    /// Its script, and what its runs are made with.
    Scripted(Scripted),
    /// Its code is Rust, which a test brings along; and what its runs are made with.
    Coded(Coded),
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub enum RustCode {
    Rust,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Scripted {
    /// What it does.
    steps: Vec<Step>,
    /// Not Rust code.
    rust: Option<False>,
    #[schemars(flatten)]
    defaults: Defaults,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Coded {
    /// Its code is Rust, which a test brings along.
    rust: True,
    #[schemars(flatten)]
    defaults: Defaults,
}

#[derive(JsonSchema)]
#[schemars(extend("const" = false))]
pub struct False(bool);

/// What the runs of an agent are made with.
#[derive(JsonSchema)]
pub struct Defaults {
    /// The version of its code: 1 if nothing is said.
    #[schemars(range(min = 1))]
    version: Option<u32>,
    /// What happens when it fails.
    retry: Option<Retry>,
    /// When its runs must have ended: so long after their first lease, `+1h` after the start, or an instant.
    deadline: Option<Text>,
    /// How it stands among others: normal if nothing is said.
    priority: Option<Priority>,
    /// Whose it is: runs of one tenant wait for each other.
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

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub enum Priority {
    Low,
    Normal,
    High,
    Critical,
}
