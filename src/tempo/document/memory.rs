//! A memory trace: a goal, a reflection, an observation, an event.

use super::DocumentError;
use super::read::{Field, Read};
use crate::kernel::{Json, Name, Timestamp};
use crate::tempo::plan::Link;
use crate::tempo::registry::Registry;

/// What a memory trace is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the words say it")]
pub enum TraceType {
    Goal,
    Reflection,
    Observation,
    CalendarEvent,
    AgentPlan,
    Feedback,
}

const TYPES: [(&str, TraceType); 6] = [
    ("goal", TraceType::Goal),
    ("reflection", TraceType::Reflection),
    ("observation", TraceType::Observation),
    ("calendar_event", TraceType::CalendarEvent),
    ("agent_plan", TraceType::AgentPlan),
    ("feedback", TraceType::Feedback),
];

impl TraceType {
    /// In words, as documents have it.
    pub fn as_str(self) -> &'static str {
        TYPES.iter().find(|(_, of)| *of == self).map_or("", |(word, _)| word)
    }

    /// The type of this name.
    pub fn named(name: &str) -> Option<TraceType> {
        TYPES.iter().find(|(word, _)| *word == name).map(|(_, of)| *of)
    }

    /// Whether a trace of this type may tell of an execution, in a `profiling` block.
    pub const fn is_executed(self) -> bool {
        matches!(self, TraceType::Reflection | TraceType::CalendarEvent | TraceType::AgentPlan)
    }
}

/// A memory trace, read and validated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryTrace {
    /// Its id, unique for its user.
    pub uid: Name,
    /// What it is.
    pub kind: TraceType,
    /// When it was made.
    pub timestamp: Timestamp,
    /// What it says.
    pub content: Name,
    /// The task that it belongs to.
    pub task_id: Option<Name>,
    /// What a goal has come to, as `completed` or `abandoned`.
    pub completion_status: Option<Name>,
    /// Tags.
    pub tags: Vec<Name>,
    /// Its tempo tokens, as they are written; [`MemoryTrace::warnings`] tells those that are none.
    pub tempo_tokens: Vec<Name>,
    /// Traces that it is linked to.
    pub links: Vec<Link>,
    /// The document as it was given, unknown fields and all.
    pub document: Json,
}

impl MemoryTrace {
    /// Reads a memory trace. Tokens are kept as they are.
    ///
    /// # Errors
    /// The first thing that is wrong: a field that is missing, of the wrong type or out of range; a time that is not ISO 8601
    /// in UTC; a profiling block on what is never executed; a goal that is over and linked to nothing.
    pub fn parse(document: &Json) -> Result<MemoryTrace, DocumentError> {
        let doc = Field::document(document)?;
        let trace = MemoryTrace {
            uid: doc.need("uid")?.uid()?,
            kind: doc.need("type")?.one_of(&TYPES)?,
            timestamp: doc.need("timestamp")?.instant()?,
            content: doc.need("content")?.name()?,
            task_id: doc.read("task_id", Field::name)?,
            completion_status: doc.read("completion_status", Field::name)?,
            tags: doc.each("tags", Field::name)?,
            tempo_tokens: doc.each("tempo_tokens", Field::name)?,
            links: doc.each("linked_trace_ids", Field::link)?,
            document: document.clone(),
        };
        doc.read("theme", Field::name)?;
        doc.read("importance", importance)?;
        doc.read("version", |field| field.count(1))?;
        if let Some(profiling) = doc.member("profiling")?.filter(|_| !trace.kind.is_executed()) {
            let reason =
                format!("a trace of the type `{}` is never executed: it has no profiling", trace.kind.as_str());
            return Err(profiling.error(reason));
        }
        trace.check_closure(|_| None)?;
        Ok(trace)
    }

    /// The tokens of the trace that are none, or are not registered: on what is only remembered, no error.
    pub fn warnings(&self, registry: &Registry) -> Vec<DocumentError> {
        let tokens = self.tempo_tokens.iter().enumerate();
        let refused = tokens.filter_map(|(number, text)| Some((number, registry.token(text).err()?)));
        refused
            .map(|(number, error)| DocumentError {
                place: format!("tempo_tokens[{number}]"),
                reason: format!("`{}`: {}", crate::tempo::word::excerpt(&error.text), error.reason),
                hint: error.nearest.map(|word| format!("did you mean `<tempo:{word}>`?")),
            })
            .collect()
    }

    /// Whether a goal that is `completed` or `abandoned` is linked to a reflection or an observation; `type_of` tells the
    /// type of a linked trace, and a link to one of which it tells nothing may be to either.
    ///
    /// # Errors
    /// When it is linked to none.
    pub fn check_closure(&self, type_of: impl Fn(&str) -> Option<TraceType>) -> Result<(), DocumentError> {
        let status = self.completion_status.as_deref().filter(|status| matches!(*status, "completed" | "abandoned"));
        let Some(status) = status.filter(|_| self.kind == TraceType::Goal) else { return Ok(()) };
        let closes = |link: &Link| {
            type_of(&link.trace_id).is_none_or(|of| matches!(of, TraceType::Reflection | TraceType::Observation))
        };
        if self.links.iter().any(closes) {
            return Ok(());
        }
        let reason = format!("a goal that is `{status}` is linked to a reflection or an observation");
        let hint = "give the `uid` of the trace that tells how it ended";
        Err(DocumentError { place: "linked_trace_ids".into(), reason, hint: Some(hint.into()) })
    }
}

/// A number from 0 to 1. It is only held to its bounds, and decides nothing.
fn importance(field: &Field<'_>) -> Read<()> {
    match field.value.as_f64() {
        Some(number) if (0.0..=1.0).contains(&number) => Ok(()),
        _ => Err(field.wanted("a number from 0 to 1")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn trace(change: &[(&str, Value)]) -> Result<MemoryTrace, DocumentError> {
        let mut document =
            json!({ "uid": "t", "type": "goal", "timestamp": "2026-03-02T08:00:00Z", "content": "Read" });
        for (field, value) in change {
            document[*field] = value.clone();
        }
        MemoryTrace::parse(&document.into())
    }

    #[test]
    fn a_field_out_of_range_is_refused_with_its_place() {
        let cases = [
            ("importance", json!(1.4)),
            ("importance", json!(-0.1)),
            ("importance", json!("high")),
            ("timestamp", json!("2026-03-02")),
            ("type", json!("golas")),
            ("version", json!(0)),
            ("uid", json!("t#1")),
            ("profiling", json!({})),
            ("profiling", json!(null)),
        ];
        for (field, value) in cases {
            assert_eq!(trace(&[(field, value.clone())]).expect_err(field).place, field, "{value}");
        }
        assert!(trace(&[("importance", json!(1)), ("theme", json!(null)), ("more", json!([1]))]).is_ok());
        assert!(trace(&[("type", json!("reflection")), ("profiling", json!({}))]).is_ok());
    }

    #[test]
    fn a_goal_that_is_over_is_linked_to_what_tells_how_it_ended() {
        let over = ("completion_status", json!("completed"));
        assert_eq!(trace(std::slice::from_ref(&over)).unwrap_err().place, "linked_trace_ids");
        let goal = trace(&[over, ("linked_trace_ids", json!([{ "trace_id": "x", "relation": "fulfills" }]))]).unwrap();
        let cases = [
            (None, true),
            (Some(TraceType::Reflection), true),
            (Some(TraceType::Observation), true),
            (Some(TraceType::Goal), false),
        ];
        for (of, closes) in cases {
            assert_eq!(goal.check_closure(|_| of).is_ok(), closes, "{of:?}");
        }
        assert!(trace(&[("completion_status", json!("open"))]).is_ok());
        assert!(trace(&[("type", json!("observation")), ("completion_status", json!("completed"))]).is_ok());
    }

    #[test]
    fn tokens_that_nobody_has_registered_are_warned_of_and_kept() {
        let tokens = ("tempo_tokens", json!(["<tempo:Evening>", "<tempo:evening>", "tempo:Noonish"]));
        let read = trace(&[tokens]).unwrap();
        assert_eq!(read.tempo_tokens.len(), 3);
        let warnings: Vec<String> = read.warnings(&Registry::default()).iter().map(ToString::to_string).collect();
        assert_eq!(
            warnings,
            [
                "tempo_tokens[1]: `<tempo:evening>`: `evening` is not registered; did you mean `<tempo:Evening>`?",
                "tempo_tokens[2]: `tempo:Noonish`: a token stands in brackets, as `<tempo:Evening>`",
            ]
        );
    }
}
