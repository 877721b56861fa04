//! What the temporal layer says of settings and documents, as mistakes with a place in the file.

use serde_json::{Value, json};

use super::decode::{Decoded, Doc, Mistake, excerpt};
use crate::kernel::Json;
use crate::tempo::{Calendar, DocumentError, Feedback, MemoryTrace, Plan, Settings};

/// The calendar of a user whose settings stand in `doc`.
pub fn calendar(doc: &Doc<'_>, settings: &Settings) -> Decoded<Calendar> {
    Calendar::of(settings).map_err(|error| {
        let mut mistake = below(doc, &error.place).0.mistake(error.reason);
        mistake.instead = error.nearest.into();
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
    let (place, rest) = below(doc, if error.place == "document" { "" } else { &error.place });
    let meant = error.hint.as_deref().and_then(|hint| hint.strip_prefix("did you mean `")?.strip_suffix("`?"));
    let nearest = meant.map(str::to_owned);
    if error.reason == "there is no such field here" {
        let key = error.place.rsplit('.').next().unwrap_or_default();
        let holder = below(doc, error.place.strip_suffix(key).unwrap_or_default()).0;
        let field = Doc { path: holder.path.member(key), ..holder };
        let mistake = field.key_mistake(format!("unknown field `{}`", excerpt(key)), key);
        return Box::new(Mistake { instead: nearest.into(), ..*mistake });
    }
    let reason = match (rest.as_str(), error.reason.as_str()) {
        ("", reason) => reason.to_owned(),
        (rest, "this field is missing") => format!("`{rest}` is missing"),
        (rest, reason) => format!("`{rest}`: {reason}"),
    };
    let mut mistake = match error.hint.filter(|_| nearest.is_none()) {
        Some(hint) => place.mistake(format!("{reason}; {hint}")),
        None => place.mistake(reason),
    };
    mistake.instead = nearest.into();
    mistake
}

/// The value that `place`, as `conditions[0].reschedule_to`, leads to, or the deepest that is there; and what of the place is
/// left then.
fn below<'a>(doc: &Doc<'a>, place: &str) -> (Doc<'a>, String) {
    let parts: Vec<&str> = place.split(['.', '[']).filter(|part| !part.is_empty()).collect();
    let mut found = doc.clone();
    for (depth, part) in parts.iter().enumerate() {
        let item = part.strip_suffix(']').and_then(|item| item.parse::<usize>().ok());
        let (value, path) = match item {
            Some(item) => (found.value.get(item), found.path.item(item)),
            None => (found.value.get(part), found.path.member(part)),
        };
        let Some(value) = value else { return (found, parts[depth..].join(".")) };
        found = Doc { value, path };
    }
    (found, String::new())
}
