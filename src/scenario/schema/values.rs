//! Values that several parts of a file have.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;

use crate::kernel::Span;

const DURATION: &str = r"^([0-9]+[a-z]+)+$";

/// A type whose schema is written out here: its name, and the schema.
macro_rules! written_out {
    ($($(#[$doc:meta])* $name:ident => $schema:tt;)+) => {$(
        $(#[$doc])*
        pub struct $name;

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )+};
}

written_out! {
    /// A text that is not empty.
    Text => { "type": "string", "minLength": 1 };
    /// A duration that is not negative.
    Duration => {
        "description": "A duration, like `250ms`, `2m30s` or `1d`.",
        "type": "string", "pattern": DURATION, "examples": ["250ms", "2m30s", "1d"]
    };
    /// A time after the start, or an instant.
    Time => {
        "description": "A time: so long after the start, like `+10m`, or an instant, like `2025-05-11T20:00:00Z`.",
        "type": "string", "pattern": r"^(\+([0-9]+[a-z]+)+|.*[0-9].*)$", "examples": ["+10m", "2025-05-11T20:00:00Z"]
    };
    /// An instant.
    Instant => {
        "description": "An instant, like `2025-05-11T20:00:00Z`.",
        "type": "string", "examples": ["2025-05-11T20:00:00Z"]
    };
    /// A chance.
    Rate => { "description": "A chance from 0 to 1.", "type": "number", "minimum": 0, "maximum": 1 };
    /// An amount of money.
    Money => { "description": "An amount of money.", "type": "number", "minimum": 0, "maximum": 1_000_000_000 };
    /// The address of an agent.
    Address => {
        "description": "The address of an agent: its type, or its type and a key, like `billing/ann`.",
        "type": "string", "minLength": 1, "examples": ["billing", "billing/ann"]
    };
    /// A run by its address and its number there.
    Alias => {
        "description": "A run: the address of its agent, `#` and its number there, like `billing/ann#1`.",
        "type": "string", "pattern": r"^[^$].*#[1-9][0-9]*$", "examples": ["billing#1", "helper/boss#1.0#1"]
    };
    /// A reference to a result.
    Reference => {
        "description": "A reference to an earlier result or to what a script is given, like `$charge.id` or `$inbox`.",
        "type": "string", "pattern": r"^\$", "examples": ["$charge.id", "$inbox.0.data"]
    };
    /// Written where a step takes nothing.
    True => { "const": true };
}

/// The spans of deviations, which may be negative: clocks go back, too.
impl JsonSchema for Span {
    fn schema_name() -> Cow<'static, str> {
        "Span".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let pattern = DURATION.replacen('^', "^-?", 1);
        json_schema!({ "description": "A duration, like `250ms` or `-5s`.", "type": "string", "pattern": pattern })
    }
}

/// One of some names.
pub fn one_of<'a>(names: impl IntoIterator<Item = &'a str>) -> Schema {
    json_schema!({ "type": "string", "enum": json!(names.into_iter().collect::<Vec<_>>()) })
}

/// One thing, or a list of such.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum OneOrMore<T> {
    One(T),
    More(Vec<T>),
}

/// A duration, or the least and the greatest.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum Durations {
    Fixed(Duration),
    Range([Duration; 2]),
}

/// A number, or a bound.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum Bound {
    Exactly(u64),
    Between(Limits),
}

/// At least, at most, or both.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Limits {
    at_least: Option<u64>,
    at_most: Option<u64>,
}
