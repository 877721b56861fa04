//! The machine, the outside and the agents, as files say them.

use std::collections::{BTreeMap, BTreeSet};

use super::decode::{Decoded, Doc, Object, excerpt};
use super::scope::Cast;
use super::script::script;
use crate::kernel::{
    AgentId, Deadline, Json, Limits, Name, Priority, RunRetryPolicy, Span, SpawnBudget, SpecDefaults, Timestamp,
    Version,
};
use crate::scenario::code::Code;
use crate::scenario::model::{AgentType, PROBE, RuntimeSettings};
use crate::sim::{Model, Tool};

/// The most workers of a world.
const WORKERS_MAX: u32 = 64;

const RUNTIME_FIELDS: [&str; 10] = [
    "workers",
    "lease",
    "poll",
    "capacity",
    "retry",
    "max_lost_leases",
    "batch",
    "max_agents",
    "limits",
    "store_latency",
];

/// `runtime`.
pub fn runtime(doc: &Doc<'_>) -> Decoded<RuntimeSettings> {
    let object = doc.object(&RUNTIME_FIELDS)?;
    let usual = RuntimeSettings::default();
    let settings = RuntimeSettings {
        workers: object.or("workers", usual.workers, workers)?,
        lease: object.or("lease", usual.lease, Doc::some_span)?,
        poll: object.or("poll", usual.poll, Doc::some_span)?,
        capacity: object.or("capacity", usual.capacity, |doc| doc.count(1, 10_000))?,
        retry: object.or("retry", usual.retry, |doc| retry(doc, usual.retry))?,
        max_lost_leases: object.or("max_lost_leases", usual.max_lost_leases, |doc| doc.count(1, 1_000))?,
        batch: object.or("batch", usual.batch, batch)?,
        spawn_budget: object.or("max_agents", usual.spawn_budget, spawn_budget)?,
        limits: object.or("limits", usual.limits, limits)?,
        store_latency: object.or("store_latency", usual.store_latency, Doc::some_span)?,
    };
    if settings.lease < Span::from_millis(100) {
        return Err(object.doc().mistake("a lease must be at least `100ms`"));
    }
    Ok(settings)
}

/// A number of workers, who are then called `w1`, `w2`, …; or their names.
fn workers(doc: &Doc<'_>) -> Decoded<Vec<Name>> {
    if doc.value.is_number() {
        let count = doc.count(1, WORKERS_MAX)?;
        return Ok((1..=count).map(|number| format!("w{number}").into()).collect());
    }
    let docs = doc.list()?;
    if docs.is_empty() || docs.len() > WORKERS_MAX as usize {
        return Err(doc.mistake(format!("there must be 1 to {WORKERS_MAX} workers")));
    }
    let mut seen = BTreeSet::new();
    for doc in &docs {
        let name = doc.name()?;
        if name.contains(['/', '#', '.', ' ']) {
            return Err(doc.mistake("a worker's name has no `/`, `#`, `.` and no space"));
        }
        if !seen.insert(name) {
            return Err(doc.mistake(format!("there are two workers `{}`", excerpt(doc.text()?))));
        }
    }
    docs.iter().map(Doc::name).collect()
}

fn retry(doc: &Doc<'_>, usual: RunRetryPolicy) -> Decoded<RunRetryPolicy> {
    let object = doc.object(&["max_retries", "backoff", "dead_run_on_cancel"])?;
    Ok(RunRetryPolicy {
        max_retries: object.or("max_retries", usual.max_retries, |doc| doc.count(0, 1_000))?,
        backoff: object.or("backoff", usual.backoff, Doc::span)?,
        dead_run_on_cancel: object.or("dead_run_on_cancel", usual.dead_run_on_cancel, Doc::flag)?,
    })
}

fn batch(doc: &Doc<'_>) -> Decoded<u32> {
    doc.count(1, 10_000)
}

fn spawn_budget(doc: &Doc<'_>) -> Decoded<SpawnBudget> {
    Ok(SpawnBudget { max_agents: doc.count(1, 10_000)? })
}

/// What a tree may spend: all limits at once, so that what is not named has none.
fn limits(doc: &Doc<'_>) -> Decoded<Limits> {
    let object = doc.object(&["tokens", "cost", "turns"])?;
    let number = |doc: &Doc<'_>| doc.integer(0, u64::MAX);
    Ok(Limits {
        tokens: object.maybe("tokens", number)?,
        cost_micros: object.maybe("cost", Doc::money)?,
        turns: object.maybe("turns", number)?,
    })
}

/// `outside`: an object of tools.
pub fn outside(doc: &Doc<'_>) -> Decoded<BTreeMap<Name, Tool>> {
    doc.open_object()?.members().map(|(name, doc)| Ok((name.into(), tool(&doc)?))).collect()
}

fn tool(doc: &Doc<'_>) -> Decoded<Tool> {
    let object = doc.object(&["takes", "refuses", "unknown", "honours_key", "answers", "refuses_first", "model"])?;
    let usual = Tool::default();
    let answers = |doc: &Doc<'_>| {
        let answers: Vec<Json> = doc.list()?.iter().map(|doc| Json::new(doc.value.clone())).collect();
        if answers.is_empty() { Err(doc.mistake("a list of answers must not be empty")) } else { Ok(answers) }
    };
    Ok(Tool {
        takes: object.or("takes", usual.takes, Doc::spans)?,
        refuses_ppm: object.or("refuses", usual.refuses_ppm, Doc::rate)?,
        unknown_ppm: object.or("unknown", usual.unknown_ppm, Doc::rate)?,
        honours_key: object.or("honours_key", usual.honours_key, Doc::flag)?,
        answers: object.or("answers", usual.answers, answers)?,
        refuses_first: object.or("refuses_first", usual.refuses_first, |doc| doc.count(0, u32::MAX))?,
        model: object.maybe("model", |doc| model(doc, &object))?,
    })
}

/// What makes a tool a model.
fn model(doc: &Doc<'_>, tool: &Object<'_>) -> Decoded<Model> {
    if let Some(keyed) = tool.get("honours_key") {
        let rule = "a model knows no keys: asked again, it answers again";
        return Err(keyed.key_mistake(rule, "honours_key"));
    }
    let object = doc.object(&["tokens", "cost", "malformed", "cut", "limited"])?;
    let usual = Model::default();
    let (limited_ppm, limited_after) = object.or("limited", (usual.limited_ppm, usual.limited_after), |doc| {
        if doc.value.is_number() {
            return Ok((doc.rate()?, usual.limited_after));
        }
        let limited = doc.object(&["rate", "after"])?;
        Ok((limited.need("rate")?.rate()?, limited.or("after", usual.limited_after, Doc::some_span)?))
    })?;
    Ok(Model {
        tokens: object.or("tokens", usual.tokens, |doc| amounts(doc, |doc| doc.integer(0, TOKENS_MAX)))?,
        cost_micros: object.or("cost", usual.cost_micros, |doc| amounts(doc, |doc| doc.money()))?,
        malformed_ppm: object.or("malformed", usual.malformed_ppm, Doc::rate)?,
        cut_ppm: object.or("cut", usual.cut_ppm, Doc::rate)?,
        limited_ppm,
        limited_after,
    })
}

/// The most tokens of an answer.
const TOKENS_MAX: u64 = 1_000_000_000_000;

/// An amount of each answer, or a list of those of the first, the second, …
fn amounts(doc: &Doc<'_>, amount: impl Fn(&Doc<'_>) -> Decoded<u64>) -> Decoded<Vec<u64>> {
    doc.one_or_more()?.iter().map(amount).collect()
}

/// The names under `agents`, each a valid type.
pub fn agent_types<'a>(doc: &Doc<'a>) -> Decoded<BTreeSet<&'a str>> {
    let object = doc.open_object()?;
    let mut types = BTreeSet::new();
    for (name, doc) in object.members() {
        let complain = |reason: String| Err(doc.key_mistake(reason, name));
        if name == PROBE {
            return complain(format!("the agent type `{PROBE}` is reserved"));
        }
        if AgentId::new(name, "").is_err() || name.contains(['#', '$', ' ']) {
            return complain(format!("`{}` is no agent type: it has no `/`, `#`, `$` and no space", excerpt(name)));
        }
        types.insert(name);
    }
    if types.is_empty() {
        return Err(doc.mistake("there must be at least one agent"));
    }
    Ok(types)
}

/// The fields of an agent that has more than steps, `rust` apart.
pub const AGENT_FIELDS: [&str; 9] =
    ["steps", "version", "retry", "deadline", "priority", "tenant", "batch", "max_agents", "limits"];

/// `agents`: an object of scripts.
pub fn agents(
    doc: &Doc<'_>,
    cast: &Cast<'_>,
    runtime: &RuntimeSettings,
    start: Timestamp,
) -> Decoded<BTreeMap<Name, AgentType>> {
    doc.open_object()?.members().map(|(name, doc)| Ok((name.into(), agent(&doc, cast, runtime, start)?))).collect()
}

/// What an agent's runs are made with when it says nothing.
pub fn usual_defaults(runtime: &RuntimeSettings) -> SpecDefaults {
    SpecDefaults {
        retry: runtime.retry,
        batch: runtime.batch,
        spawn_budget: runtime.spawn_budget,
        limits: runtime.limits,
        ..SpecDefaults::default()
    }
}

/// A list of steps, or an object with `steps` and more.
fn agent(doc: &Doc<'_>, cast: &Cast<'_>, runtime: &RuntimeSettings, start: Timestamp) -> Decoded<AgentType> {
    let usual = usual_defaults(runtime);
    let plain = |code| AgentType { version: Version(1), defaults: usual.clone(), code };
    if doc.value.is_array() {
        return Ok(plain(Code::Script(script(doc, cast)?.into())));
    }
    if *doc.value == "rust" {
        return Ok(plain(Code::Rust(None)));
    }
    if !doc.value.is_object() {
        return Err(doc.mistake("an agent is a list of steps, an object with `steps`, or `\"rust\"`"));
    }
    let object = doc.object(&[&["rust"], &AGENT_FIELDS[..]].concat())?;
    Ok(AgentType {
        version: Version(object.or("version", 1, |doc| doc.count(1, u32::MAX))?),
        defaults: defaults(&object, usual, start)?,
        code: code(&object, cast)?,
    })
}

/// `steps`, or `"rust": true`.
fn code(object: &Object<'_>, cast: &Cast<'_>) -> Decoded<Code> {
    match (object.get("steps"), object.maybe("rust", Doc::flag)?) {
        (Some(steps), Some(true)) => Err(steps.key_mistake("an agent in Rust has no `steps`", "steps")),
        (None, Some(true)) => Ok(Code::Rust(None)),
        (_, _) => Ok(Code::Script(script(&object.need("steps")?, cast)?.into())),
    }
}

/// Places in the queue.
pub const PRIORITIES: [(&str, Priority); 4] =
    [("low", Priority::Low), ("normal", Priority::Normal), ("high", Priority::High), ("critical", Priority::Critical)];

/// What an agent's runs are made with, as the fields of `object` say.
pub fn defaults(object: &Object<'_>, usual: SpecDefaults, start: Timestamp) -> Decoded<SpecDefaults> {
    Ok(SpecDefaults {
        tenant: object.or("tenant", usual.tenant, |doc| doc.name().map(Some))?,
        priority: object.or("priority", usual.priority, |doc| doc.one_of("priority", &PRIORITIES))?,
        retry: object.or("retry", usual.retry, |doc| retry(doc, usual.retry))?,
        deadline: object.or("deadline", usual.deadline, |doc| deadline(doc, start).map(Some))?,
        batch: object.or("batch", usual.batch, batch)?,
        spawn_budget: object.or("max_agents", usual.spawn_budget, spawn_budget)?,
        limits: object.or("limits", usual.limits, limits)?,
    })
}

/// `"1h"` after the first grant; `"+1h"` after the start; or an instant.
pub fn deadline(doc: &Doc<'_>, start: Timestamp) -> Decoded<Deadline> {
    let text = doc.text()?;
    if text.starts_with('+') || text.contains(['T', 'Z', ' ']) {
        return Ok(Deadline::At(start + doc.since(start)?));
    }
    doc.some_span().map(Deadline::After)
}
