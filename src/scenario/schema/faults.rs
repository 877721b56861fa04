//! What may go wrong.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;

use super::values::{Duration, Durations, OneOrMore, Rate, Text, Time, one_of};
use crate::history::Called;
use crate::sim::FaultKind;

/// A plan for each kind of fault, and the time of healing.
pub struct Faults;

impl JsonSchema for Faults {
    fn schema_name() -> Cow<'static, str> {
        "Faults".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut members: BTreeMap<&str, Schema> = BTreeMap::new();
        for kind in FaultKind::ALL {
            let mut plan = match kind {
                FaultKind::Slow => generator.subschema_for::<Plan<Times>>(),
                FaultKind::TimerJitter | FaultKind::ClockSkew => generator.subschema_for::<BarePlan>(),
                _ if kind.lasts() => generator.subschema_for::<Plan<Lasts>>(),
                _ => generator.subschema_for::<Plan<Moment>>(),
            };
            plan.insert("description".to_owned(), json!(kind.about()));
            members.insert(kind.as_str(), plan);
        }
        let mut until = generator.subschema_for::<Time>();
        until.insert("description".to_owned(), json!("When the world heals: after 15m if nothing is said."));
        members.insert("until", until);
        json_schema!({ "type": "object", "properties": members, "additionalProperties": false })
    }
}

/// A rate, or more.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum Plan<T> {
    Rate(Rate),
    More(Planned<T>),
}

/// A rate, how much at most, or more.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum BarePlan {
    Rate(Rate),
    AtMost(Duration),
    More(Planned<Lasts>),
}

/// How often, how much, when and where.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Planned<T> {
    /// How often: per call that it could strike; per worker for what holds throughout.
    rate: Rate,
    /// How many in one schedule at most.
    at_most: Option<u32>,
    /// From when on.
    from: Option<Time>,
    /// Until when.
    until: Option<Time>,
    /// Only at these calls.
    calls: Option<OneOrMore<Method>>,
    /// Only at these workers.
    workers: Option<OneOrMore<Text>>,
    #[schemars(flatten)]
    size: T,
}

/// How long, or how much.
#[derive(JsonSchema)]
pub struct Lasts {
    /// How long it lasts, or how much it is.
    #[schemars(rename = "for")]
    lasts: Option<Durations>,
}

/// How many times slower.
#[derive(JsonSchema)]
pub struct Times {
    /// How many times slower, or the least and the greatest.
    times: Option<Factors>,
}

/// Nothing: it takes no time.
#[derive(JsonSchema)]
pub struct Moment {}

/// A factor, or the least and the greatest.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum Factors {
    Fixed(#[schemars(range(min = 2, max = 1_000))] u32),
    Range(#[schemars(inner(range(min = 2, max = 1_000)))] [u32; 2]),
    Listed(#[schemars(inner(range(min = 2, max = 1_000)))] [u32; 1]),
}

/// A call of the store, or `perform`.
pub struct Method;

impl JsonSchema for Method {
    fn schema_name() -> Cow<'static, str> {
        "Method".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        one_of(Called::methods())
    }
}
