//! The tools that the temporal layer has for agents: effects without an entry in `outside`, whose arguments are read as
//! far as they hold no references.

use serde_json::Value;

use super::decode::{Decoded, Doc, Object};
use super::scope::{Scope, may_refer};
use crate::kernel::{MEMORY_PULL, MEMORY_PUSH, Name, PLAN_PROPOSE, Policy};
use crate::scenario::script::Template;

/// Their names.
pub const TOOLS: [&str; 3] = [PLAN_PROPOSE, MEMORY_PUSH, MEMORY_PULL];

/// What may be done about an unknown outcome of an effect of this kind, where its step does not say.
pub fn usual_policy(kind: &str) -> Policy {
    match kind {
        PLAN_PROPOSE | MEMORY_PUSH => Policy::Idempotent,
        MEMORY_PULL => Policy::Repeatable,
        _ => Policy::default(),
    }
}

/// The arguments of a call of the tool `kind`. The only user need not be named, and a plan need not be called `proposed`.
pub fn args(kind: &str, step: &Object<'_>, scope: &mut Scope<'_>) -> Decoded<Template> {
    let Some(doc) = step.get("args") else {
        return Err(step.doc().mistake(format!("`{kind}` needs `args` that say what is meant")));
    };
    let object = doc.object(match kind {
        PLAN_PROPOSE => &["user", "plan"],
        MEMORY_PUSH => &["user", "trace"],
        _ => &["user", "type", "task_id", "tempo_tag", "from", "until"],
    })?;
    let user = user(&object, scope)?;
    check(kind, &object, user.as_ref(), scope)?;
    let mut filled = doc.value.clone();
    if let (Value::Object(members), Some(user)) = (&mut filled, user) {
        members.entry("user").or_insert_with(|| Value::from(&*user));
    }
    if let Some(plan) = filled.get_mut("plan").and_then(Value::as_object_mut) {
        plan.entry("status").or_insert_with(|| "proposed".into());
    }
    scope.template(&Doc { value: &filled, path: doc.path.clone() })
}

/// The user that is meant; none where only a run will know.
fn user(object: &Object<'_>, scope: &Scope<'_>) -> Decoded<Option<Name>> {
    let is_told_later = object.get("user").is_some_and(|doc| may_refer(doc.value));
    if is_told_later { Ok(None) } else { scope.cast.users.of(object).map(Some) }
}

fn check(kind: &str, object: &Object<'_>, user: Option<&Name>, scope: &Scope<'_>) -> Decoded<()> {
    let users = &scope.cast.users;
    let fixed = |key: &str| object.get(key).filter(|doc| !may_refer(doc.value));
    match kind {
        PLAN_PROPOSE => {
            object.need("plan")?;
            if let (Some(plan), Some(user)) = (fixed("plan"), user.or(users.only())) {
                scope.cast.plan(user, &plan)?;
            }
        }
        MEMORY_PUSH => {
            object.need("trace")?;
            fixed("trace").map_or(Ok(()), |trace| users.trace(&trace).map(drop))?;
        }
        _ => {
            fixed("type").map_or(Ok(()), |kind| kind_of_trace(&kind))?;
            for name in ["task_id", "tempo_tag"] {
                fixed(name).map_or(Ok(()), |doc| doc.name().map(drop))?;
            }
            let from = fixed("from").map(|doc| doc.instant()).transpose()?;
            if let Some(until) = fixed("until")
                && until.instant()? < from.unwrap_or(until.instant()?)
            {
                return Err(until.mistake("`until` is before `from`"));
            }
        }
    }
    Ok(())
}

/// A sort of memory trace.
fn kind_of_trace(doc: &Doc<'_>) -> Decoded<()> {
    const KINDS: [&str; 6] = ["goal", "reflection", "observation", "calendar_event", "agent_plan", "feedback"];
    doc.one_of("sort of trace", &KINDS.map(|kind| (kind, ())))
}
