//! The outside world: it counts what really happened, whatever the runtime believes.

use std::collections::BTreeMap;

use serde_json::json;

use super::faults::Tool;
use super::schedule::Fault;
use crate::kernel::{EffectId, Json, Name, Perform, Performed};

/// The tools and what they have done.
pub(super) struct OutsideWorld {
    tools: BTreeMap<Name, Tool>,
    unlisted: Tool,
    /// Per tool: requests that arrived, and effects that took hold.
    counts: BTreeMap<Name, (u32, u32)>,
    /// The answers of tools that honour keys.
    done: BTreeMap<EffectId, Json>,
}

impl OutsideWorld {
    pub fn new(tools: &BTreeMap<Name, Tool>) -> Self {
        OutsideWorld { tools: tools.clone(), unlisted: Tool::default(), counts: BTreeMap::new(), done: BTreeMap::new() }
    }

    /// How a kind of effect behaves.
    pub fn tool(&self, kind: &Name) -> &Tool {
        self.tools.get(kind).unwrap_or(&self.unlisted)
    }

    /// A request arrives: what the tool answers, and whether something took hold.
    pub fn perform(&mut self, request: &Perform, fault: Option<&Fault>) -> (Performed, bool) {
        let effect = &request.effect;
        let tool = self.tools.get(&effect.kind).unwrap_or(&self.unlisted);
        let (requests, happened) = self.counts.entry(effect.kind.clone()).or_insert((0, 0));
        *requests += 1;
        if *requests <= tool.refuses_first {
            return (declined(), false);
        }
        if tool.honours_key
            && let Some(answer) = self.done.get(&effect.id)
        {
            let unknown = matches!(fault, Some(Fault::ToolUnknown { .. }));
            return (if unknown { Performed::Unknown } else { Performed::Done(answer.clone()) }, false);
        }
        match fault {
            Some(Fault::ToolRefuses) => return (declined(), false),
            Some(Fault::ToolUnknown { happened: false }) => return (Performed::Unknown, false),
            _ => {}
        }
        let answer = match tool.answers.get(*happened as usize).or(tool.answers.last()) {
            Some(answer) => answer.clone(),
            None => Json::new(json!({ "id": effect.id })),
        };
        *happened += 1;
        if tool.honours_key {
            self.done.insert(effect.id, answer.clone());
        }
        let unknown = matches!(fault, Some(Fault::ToolUnknown { .. }));
        (if unknown { Performed::Unknown } else { Performed::Done(answer) }, true)
    }
}
fn declined() -> Performed {
    Performed::Refused { reason: "declined".into(), after: None }
}
