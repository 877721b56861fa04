//! Effects on the outside world: at most once, over a journal of receipts.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::json::{first_64_bits, write_canonical, write_string};
use super::{EffectId, Json, Name, RunId, Span, Step};

/// A described side-effect with a deterministic id (requirement page, "Effect").
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Effect {
    /// The same for the same logical step of the same run, see [`Effect::make_id`]; also the key under
    /// which a tool that honours keys does the work once.
    pub id: EffectId,
    /// What is done, as `stripe.charge`.
    pub kind: Name,
    /// Its arguments, kept for the audit.
    #[serde(default)]
    pub spec: Json,
}

impl Effect {
    /// The effect of this kind and these arguments at a step of a run.
    pub fn new(run: RunId, step: Step, kind: Name, spec: Json) -> Self {
        Effect { id: Effect::make_id(run, step, &kind, &spec), kind, spec }
    }

    /// The id of a logical step: the first 16 hex digits of the SHA-256 of the canonical text of
    /// `{"args", "kind", "run_id", "step_seq"}`. The order of the arguments' members does not matter.
    ///
    /// ```
    /// use chronodrome::kernel::{Effect, Step};
    /// use serde_json::json;
    /// let run = "0123456789abcdef0123456789abcdef".parse().unwrap();
    /// let id = Effect::make_id(run, Step(0), "stripe.charge", &json!({"currency": "usd", "amount": 100}));
    /// assert_eq!(id.to_string(), "8ad4d29c84bdbceb");
    /// ```
    pub fn make_id(run: RunId, step: Step, kind: &str, args: &Value) -> EffectId {
        EffectId::of(&run.to_string(), step, kind, args)
    }
}

impl EffectId {
    /// [`Effect::make_id`] for a run named by any text.
    pub fn of(run: &str, step: Step, kind: &str, args: &Value) -> EffectId {
        let mut text = String::with_capacity(160);
        text.push_str("{\"args\":");
        write_canonical(args, &mut text);
        text.push_str(",\"kind\":");
        write_string(kind, &mut text);
        text.push_str(",\"run_id\":");
        write_string(run, &mut text);
        text.push_str(",\"step_seq\":");
        text.push_str(&step.to_string());
        text.push('}');
        EffectId(first_64_bits(text.as_bytes()))
    }
}

/// What may be done about an intent that has no recorded result, on replay or after an unknown outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// It is not performed again; the step fails in doubt.
    #[default]
    AtMostOnce,
    /// It is performed again under the same key; the tool promises to do the work of a key once.
    Idempotent,
    /// It is performed again (reads, model calls); the first recorded result is the result.
    Repeatable,
}

/// How an effect ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectStatus {
    /// It happened.
    Ok,
    /// It was refused (surely did not happen) or is in doubt; the value's `code` tells which.
    Error,
}

/// The cached receipt of an effect.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EffectResult {
    /// The effect.
    pub effect_id: EffectId,
    /// Whether it happened.
    pub status: EffectStatus,
    /// The tool's answer, or `{"code": "refused" | "in_doubt", …}`.
    #[serde(default)]
    pub value: Json,
    /// Where the value is when it is larger than [`crate::kernel::INLINE_BYTES_MAX`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_ref: Option<ArtifactRef>,
}

impl EffectResult {
    /// The effect happened and answered `value`.
    pub fn ok(effect_id: EffectId, value: Json) -> Self {
        EffectResult { effect_id, status: EffectStatus::Ok, value, artifact_ref: None }
    }

    /// The tool refused: the effect surely did not happen.
    pub fn refused(effect_id: EffectId, reason: &str, after: Option<Span>) -> Self {
        let mut value = json!({ "code": "refused", "reason": reason });
        if let Some(after) = after {
            value["after"] = after.to_string().into();
        }
        let value = Json::new(value);
        EffectResult { effect_id, status: EffectStatus::Error, value, artifact_ref: None }
    }

    /// Nobody can tell whether the effect happened: the verdict.
    pub fn in_doubt(effect_id: EffectId) -> Self {
        let value = Json::new(json!({ "code": "in_doubt" }));
        EffectResult { effect_id, status: EffectStatus::Error, value, artifact_ref: None }
    }

    /// Whether this is the verdict `in_doubt`.
    pub fn is_in_doubt(&self) -> bool {
        self.status == EffectStatus::Error && self.value.get("code").and_then(Value::as_str) == Some("in_doubt")
    }

    /// How long to wait before the next try, where a refusal says so.
    pub fn retry_after(&self) -> Option<Span> {
        self.value.get("after")?.as_str()?.parse().ok()
    }

    /// Whether this is a refusal.
    pub fn is_refused(&self) -> bool {
        self.status == EffectStatus::Error && !self.is_in_doubt()
    }
}

/// Content-addressed bytes in the artifact store: the SHA-256 as 64 hex digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ArtifactRef(pub Name);

/// One request to the outside world.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Perform {
    /// The run in whose name it is done.
    pub run: RunId,
    /// Its step.
    pub step: Step,
    /// What is done. Its id is the key for tools that honour keys.
    pub effect: Effect,
    /// After this long the caller takes the outcome for unknown.
    pub limit: Span,
}

/// What the outside world answered. No answer in time is the same as [`Performed::Unknown`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Performed {
    /// It happened; the answer.
    Done(Json),
    /// It surely did not happen.
    Refused {
        /// Why.
        reason: Name,
        /// How long to wait before the next try, where the tool says so (a rate limit).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<Span>,
    },
    /// The tool cannot vouch for either.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Vectors {
        cases: Vec<Vector>,
    }

    #[derive(Deserialize)]
    struct Vector {
        run_id: String,
        step_seq: u32,
        kind: String,
        args: Value,
        canonical: String,
        id: String,
    }

    #[test]
    fn ids_equal_the_published_vectors() {
        let vectors: Vectors = serde_json::from_str(include_str!("../../tests/data/effect-ids.json")).unwrap();
        assert!(vectors.cases.len() >= 8);
        for case in vectors.cases {
            let id = EffectId::of(&case.run_id, Step(case.step_seq), &case.kind, &case.args);
            assert_eq!(id.to_string(), case.id, "{}", case.canonical);
        }
    }

    #[test]
    fn the_id_depends_on_step_kind_and_run() {
        let args = json!({"a": 1});
        let base = EffectId::of("r", Step(0), "k", &args);
        assert_ne!(base, EffectId::of("r", Step(1), "k", &args));
        assert_ne!(base, EffectId::of("r", Step(0), "l", &args));
        assert_ne!(base, EffectId::of("s", Step(0), "k", &args));
    }
}
