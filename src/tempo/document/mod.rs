//! Documents from outside, read and checked: strict JSON, each mistake with its place, unknown fields kept.
//!
//! - [`plan`]: an `agent_plan`; [`profile`]: its profiling block, recomputed.
//! - [`feedback`], [`memory`], [`event`], [`export`], [`tokens`]: the others that the layer takes.
//! - [`envelope`]: how an error is told to a program.

pub mod envelope;
pub mod event;
pub mod export;
pub mod feedback;
pub mod memory;
pub mod plan;
pub mod profile;
mod read;
pub mod tokens;

use std::fmt;

use serde_json::Value;

pub use envelope::{ErrorEnvelope, ErrorKind};
pub use event::CalendarEvent;
pub use export::{ExportFormat, ExportQuery, GroupBy};
pub use feedback::Feedback;
pub use memory::{MemoryTrace, TraceType};
pub use profile::reward;

use super::plan::Plan;
use super::settings::Settings;
use super::window::Calendar;
use super::word::{excerpt, nearest};
use crate::kernel::Json;

/// What is wrong with a document, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct DocumentError {
    /// The field, as `conditions[0].reschedule_to`; `document` for the whole.
    pub place: String,
    /// What is wrong with it, in words.
    pub reason: String,
    /// What would be right.
    pub hint: Option<String>,
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.reason)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

/// The kinds of documents that [`check`] knows.
pub const DOCUMENT_KINDS: [&str; 8] = [
    "agent_plan",
    "feedback_trace",
    "memory_trace",
    "calendar_event",
    "memport_export_query",
    "memport_export_response",
    "error_envelope",
    "tempo_tokens",
];

/// Reads a document of this kind for a user without settings: UTC, and the usual windows.
///
/// # Errors
/// The first thing that is wrong with it, or that there is no such kind.
pub fn check(kind: &str, document: &Value) -> Result<(), DocumentError> {
    let calendar = Calendar::of(&Settings::default()).expect("settings by default are right");
    check_with(&calendar, kind, document)
}

/// Reads a document of this kind for a user with this calendar. On a memory trace, tokens that are not registered are no
/// error: [`MemoryTrace::warnings`] tells them.
///
/// # Errors
/// As [`check`].
pub fn check_with(calendar: &Calendar, kind: &str, document: &Value) -> Result<(), DocumentError> {
    let document = &Json::new(document.clone());
    match kind {
        "agent_plan" => Plan::parse(document, &calendar.registry)?.check_alignment(calendar),
        "feedback_trace" => Feedback::parse(document).map(drop),
        "memory_trace" => MemoryTrace::parse(document).map(drop),
        "calendar_event" => CalendarEvent::parse(document).map(drop),
        "memport_export_query" => ExportQuery::parse(document).map(drop),
        "memport_export_response" => export::check_response(document),
        "error_envelope" => ErrorEnvelope::parse(document).map(drop),
        "tempo_tokens" => tokens::parse(document, &calendar.registry).map(drop),
        _ => Err(DocumentError {
            place: "kind".into(),
            reason: format!("there is no kind `{}`", excerpt(kind)),
            hint: nearest(kind, DOCUMENT_KINDS).map(|kind| format!("did you mean `{kind}`?")),
        }),
    }
}
