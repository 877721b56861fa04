//! MemPort: memory between agents. A pull before the execution, a push during it, the commit behind it, and the export.
//!
//! All of them see the committed memory of the trace log and nothing else: what a run has staged stands in its own log until its
//! epilogue commits it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::word::{excerpt, nearest};
use super::{Book, DocumentError, ExportFormat, ExportQuery, GroupBy, MemoryTrace, TraceType};
use crate::kernel::{Json, Timestamp};

/// What a pull may ask for.
const FILTERS: [&str; 6] = ["user", "type", "task_id", "tempo_tag", "from", "until"];

/// The documents that a pull gives: committed and added memory, in the order of the log.
///
/// # Errors
/// A filter that is none, or is no text, no type or no instant.
pub(super) fn pulled(book: &Book, filter: &Value) -> Result<Value, DocumentError> {
    let bad = |place: &str, reason: String, hint| Err(DocumentError { place: place.to_owned(), reason, hint });
    for (field, value) in filter.as_object().into_iter().flatten() {
        if !FILTERS.contains(&field.as_str()) {
            let hint = nearest(field, FILTERS).map(|near| format!("did you mean `{near}`?"));
            return bad(field, "memory is not pulled by that".to_owned(), hint);
        }
        let Some(text) = value.as_str() else { return bad(field, "it is no text".to_owned(), None) };
        if field == "type" && TraceType::named(text).is_none() {
            return bad(field, format!("`{}` is no type of a trace", excerpt(text)), None);
        }
        if ["from", "until"].contains(&field.as_str()) && text.parse::<Timestamp>().is_err() {
            return bad(field, format!("`{}` is no instant in ISO 8601 with its offset", excerpt(text)), None);
        }
    }
    let text = |field: &str| filter.get(field).and_then(Value::as_str);
    let instant = |field: &str| text(field).and_then(|text| text.parse::<Timestamp>().ok());
    let (from, until) = (instant("from"), instant("until"));
    let wanted = |trace: &MemoryTrace| {
        let of = |field: &str, value: Option<&str>| text(field).is_none_or(|wanted| value == Some(wanted));
        of("type", Some(trace.kind.as_str()))
            && of("task_id", trace.task_id.as_deref())
            && text("tempo_tag").is_none_or(|tag| trace.tempo_tokens.iter().any(|token| **token == *tag))
            && from.is_none_or(|from| trace.timestamp >= from)
            && until.is_none_or(|until| trace.timestamp <= until)
    };
    let traces: Vec<Value> =
        in_order(book).into_iter().filter(|trace| wanted(trace)).map(|trace| (*trace.document).clone()).collect();
    Ok(json!({ "traces": traces }))
}

/// All memory, in the order of the log.
fn in_order(book: &Book) -> Vec<&MemoryTrace> {
    let mut memory: Vec<_> = book.memory.values().collect();
    memory.sort_by(|(at, trace), (other_at, other)| (at, &trace.uid).cmp(&(other_at, &other.uid)));
    memory.into_iter().map(|(_, trace)| trace).collect()
}

/// An export: the memory of an inclusive range of time, each trace as it is or as a line of text, grouped where that is asked
/// for. A trace of more words than are left of `max_token_count` is left out, and `left_out` says how many are.
pub(super) fn exported(book: &Book, query: &ExportQuery) -> Json {
    let in_range =
        |at: Timestamp| query.start_time.is_none_or(|start| at >= start) && query.end_time.is_none_or(|end| at <= end);
    let mut left = query.max_token_count.map_or(usize::MAX, |most| most as usize);
    let (mut results, mut left_out) = (Vec::new(), 0);
    for trace in in_order(book).into_iter().filter(|trace| in_range(trace.timestamp)) {
        let words = trace.content.split_whitespace().count();
        if words > left {
            left_out += 1;
            continue;
        }
        left -= words;
        results.push((group(book, query, trace), result(query, trace)));
    }
    if query.include_feedback {
        let judged =
            book.plans.values().flat_map(|planned| planned.instances.iter().zip(1..).map(move |of| (planned, of)));
        for (planned, (instance, n)) in judged {
            let Some(profile) = instance.closing.as_ref().map(|closing| &closing.profile) else { continue };
            let (Some(score), Some(executed), Some(delay)) =
                (profile.feedback_score, profile.executed_at, profile.user_delay_ms)
            else {
                continue;
            };
            let at = executed + crate::kernel::Span::from_millis(delay);
            if in_range(at) {
                let of = planned.occurrence(n).to_string();
                let text = format!("{of} was judged {}", score.get());
                let found = json!({ "type": "feedback", "task_id": planned.plan.task_id, "timestamp": at, "trace_id": of,
                    "feedback_score": score, "summary": text });
                results.push(("feedback".to_owned(), found));
            }
        }
    }
    let mut document = json!({
        "user_id": &*query.user_id,
        "export_format": query.export_format.as_str(),
        "query_echo": { "start_time": query.start_time, "end_time": query.end_time },
        "results": results.iter().map(|(_, result)| result).collect::<Vec<_>>(),
    });
    if query.group_by.is_some() {
        let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (place, (group, _)) in results.iter().enumerate() {
            groups.entry(group).or_default().push(place);
        }
        document["groups"] = json!(groups);
    }
    if left_out > 0 {
        document["left_out"] = json!(left_out);
    }
    Json::new(document)
}

/// The group that a trace belongs to; one for all where none is asked for.
fn group(book: &Book, query: &ExportQuery, trace: &MemoryTrace) -> String {
    match query.group_by {
        None => String::new(),
        Some(GroupBy::Task) => trace.task_id.as_deref().unwrap_or("none").to_owned(),
        Some(GroupBy::Type) => trace.kind.as_str().to_owned(),
        Some(GroupBy::Day) => {
            book.calendar().map(|calendar| calendar.zone.day_of(trace.timestamp).start.to_string()).unwrap_or_default()
        }
    }
}

fn result(query: &ExportQuery, trace: &MemoryTrace) -> Value {
    if query.export_format != ExportFormat::Summary {
        return (*trace.document).clone();
    }
    json!({
        "type": trace.kind.as_str(),
        "task_id": trace.task_id,
        "timestamp": trace.timestamp,
        "summary": &*trace.content,
    })
}
