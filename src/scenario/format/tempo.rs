//! What the temporal layer says of settings and documents, as mistakes with a place in the file.

use serde_json::{Value, json};

use super::decode::{Decoded, Doc, Mistake};
use crate::kernel::Json;
use crate::tempo::{Calendar, DocumentError, Feedback, MemoryTrace, Plan, Settings};

/// The calendar of a user whose settings stand in `doc`.
pub fn calendar(doc: &Doc<'_>, settings: &Settings) -> Decoded<Calendar> {
    Calendar::of(settings).map_err(|error| {
        let mut mistake = below(doc, &error.place).mistake(error.reason);
        mistake.nearest = error.nearest;
        mistake
    })
}

/// That `plan`, which stands in `doc`, is a good `agent_plan`.
pub fn plan(doc: &Doc<'_>, plan: &Json, calendar: &Calendar) -> Decoded<Plan> {
    doc.open_object()?;
    Plan::parse(plan, &calendar.registry).map_err(|error| mistake(doc, error))
}

/// A plan with these fields in place of others, each of which must be good.
pub fn edit(doc: &Doc<'_>, calendar: &Calendar) -> Decoded<Plan> {
    let mut plan = json!({ "uid": "plan", "type": "agent_plan", "content": "a plan", "action_type": "log",
        "status": "proposed", "origin": "user", "scheduled_for": "1970-01-01T00:00:00Z" });
    if let (Some(members), Value::Object(set)) = (plan.as_object_mut(), doc.value) {
        members.extend(set.clone());
    }
    Plan::parse(&Json::new(plan), &calendar.registry).map_err(|error| mistake(doc, error))
}

/// That `feedback`, which stands in `doc`, is a good feedback document.
pub fn feedback(doc: &Doc<'_>, feedback: &Json) -> Decoded<()> {
    doc.open_object()?;
    Feedback::parse(feedback).map(drop).map_err(|error| mistake(doc, error))
}

/// That `doc` is a good memory trace.
pub fn trace(doc: &Doc<'_>) -> Decoded<Json> {
    doc.open_object()?;
    let trace = Json::new(doc.value.clone());
    MemoryTrace::parse(&trace).map_err(|error| mistake(doc, error))?;
    Ok(trace)
}

fn mistake(doc: &Doc<'_>, error: DocumentError) -> Box<Mistake> {
    let place = below(doc, &error.place);
    let names_more = std::ptr::eq(place.value, doc.value) && !matches!(&*error.place, "" | "document");
    let reason = if names_more { format!("`{}`: {}", error.place, error.reason) } else { error.reason };
    let meant = error.hint.as_deref().and_then(|hint| hint.strip_prefix("did you mean `")?.strip_suffix("`?"));
    match (meant, &error.hint) {
        (Some(meant), _) => {
            let mut mistake = place.mistake(reason);
            mistake.nearest = Some(meant.to_owned());
            mistake
        }
        (None, Some(hint)) => place.mistake(format!("{reason}; {hint}")),
        (None, None) => place.mistake(reason),
    }
}

/// The value that `place`, as `conditions[0].reschedule_to`, leads to; the deepest that is there.
fn below<'a>(doc: &Doc<'a>, place: &str) -> Doc<'a> {
    let mut found = doc.clone();
    for part in place.split(['.', '[']).filter(|part| !part.is_empty()) {
        let (value, path) = match part.strip_suffix(']') {
            Some(item) => {
                let Ok(item) = item.parse::<usize>() else { return found };
                (found.value.get(item), found.path.item(item))
            }
            None => (found.value.get(part), found.path.member(part)),
        };
        let Some(value) = value else { return found };
        found = Doc { value, path };
    }
    found
}
