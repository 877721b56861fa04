//! Values that a script fills in: templates and references.

use serde_json::{Map, Value};

use super::Player;
use crate::kernel::Json;
use crate::runtime::AgentError;
use crate::scenario::script::{Reference, Source, Template};

impl Player {
    /// A template with its references filled in; one that finds nothing is an error of the agent.
    pub(super) fn fill(&self, template: &Template) -> Result<Json, AgentError> {
        match template {
            Template::Fixed(json) => Ok(json.clone()),
            Template::Reference(reference) => self.need(reference),
            open => self.fill_value(open).map(Json::new),
        }
    }

    fn fill_value(&self, template: &Template) -> Result<Value, AgentError> {
        Ok(match template {
            Template::Fixed(json) => (**json).clone(),
            Template::Reference(reference) => (*self.need(reference)?).clone(),
            Template::List(items) => items.iter().map(|item| self.fill_value(item)).collect::<Result<_, _>>()?,
            Template::Object(members) => {
                let filled = members.iter().map(|(key, value)| Ok((key.clone(), self.fill_value(value)?)));
                Value::Object(filled.collect::<Result<Map<_, _>, AgentError>>()?)
            }
        })
    }

    pub(super) fn need(&self, reference: &Reference) -> Result<Json, AgentError> {
        self.find(reference).ok_or_else(|| AgentError::Own(format!("`{}` finds nothing", reference.text)))
    }

    pub(super) fn find(&self, reference: &Reference) -> Option<Json> {
        let root = match reference.from {
            Source::Slot(slot) => self.slots[slot].clone(),
            Source::Inbox => self.inbox.clone(),
            Source::Run => Json::new(self.run.to_string().into()),
            Source::Agent => Json::new(self.ctx.agent_id().as_str().into()),
            Source::AgentKey => Json::new(self.ctx.agent_id().key().into()),
            Source::Attempt => Json::new(self.attempt.0.into()),
        };
        if reference.path.is_empty() {
            return Some(root);
        }
        let found = reference.path.iter().try_fold(&*root, |value, key| match value {
            Value::Object(members) => members.get(&key.name),
            Value::Array(items) => items.get(key.index?),
            _ => None,
        });
        found.map(|value| Json::new(value.clone()))
    }
}

/// A reference leads to something else than is wanted.
pub(super) fn wrong(reference: &Reference, wanted: &str) -> AgentError {
    AgentError::Own(format!("`{}` is not {wanted}", reference.text))
}
