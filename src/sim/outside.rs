//! The outside world: it counts what really happened, whatever the runtime believes.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::faults::{Model, Tool};
use super::schedule::Fault;
use crate::kernel::{EffectId, Json, Name, Perform, Performed, Span, canonical};

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
            return (declined(None), false);
        }
        if tool.honours_key
            && let Some(answer) = self.done.get(&effect.id)
        {
            let unknown = matches!(fault, Some(Fault::ToolUnknown { .. }));
            return (if unknown { Performed::Unknown } else { Performed::Done(answer.clone()) }, false);
        }
        match fault {
            Some(Fault::ToolRefuses { after }) => return (declined(*after), false),
            Some(Fault::ToolUnknown { happened: false, .. }) => return (Performed::Unknown, false),
            _ => {}
        }
        let scripted = tool.answers.get(*happened as usize).or(tool.answers.last());
        let answer = match (&tool.model, scripted) {
            (Some(model), _) => said(model, scripted, *happened as usize, fault == Some(&Fault::ToolMalformed)),
            (None, Some(answer)) => answer.clone(),
            (None, None) => Json::new(json!({ "id": effect.id })),
        };
        *happened += 1;
        if tool.honours_key {
            self.done.insert(effect.id, answer.clone());
        }
        let unknown = matches!(fault, Some(Fault::ToolUnknown { .. }));
        (if unknown { Performed::Unknown } else { Performed::Done(answer) }, true)
    }
}

fn declined(after: Option<Span>) -> Performed {
    let reason = if after.is_some() { "rate limited" } else { "declined" };
    Performed::Refused { reason: reason.into(), after }
}

/// The answer of a model after `before` others: its text, whole or cut off in the middle, and what it costs. A scripted
/// answer that is no text is told as the text of its document.
fn said(model: &Model, scripted: Option<&Json>, before: usize, malformed: bool) -> Json {
    let whole = match scripted.map(|answer| &**answer) {
        Some(Value::String(text)) => text.clone(),
        Some(document) => canonical(document),
        None => json!({ "answer": before + 1 }).to_string(),
    };
    let text = if malformed { cut_off(&whole) } else { whole };
    let amount = |list: &[u64]| list.get(before).or(list.last()).copied().unwrap_or(0);
    let usage = json!({ "tokens": amount(&model.tokens), "cost_micros": amount(&model.cost_micros) });
    Json::new(json!({ "text": text, "usage": usage }))
}

/// The first half of a text, and certainly no JSON document.
fn cut_off(text: &str) -> String {
    let half: String = text.chars().take(text.chars().count() / 2).collect();
    let is_document = serde_json::from_str::<Value>(&half).is_ok();
    if is_document { format!("{{{half}") } else { half }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Effect, RunId, Step};

    fn outside(tool: Tool) -> OutsideWorld {
        OutsideWorld::new(&BTreeMap::from([("m".into(), tool)]))
    }

    fn request() -> Perform {
        let (run, step) = (RunId::from_parts(1, 2), Step(0));
        let effect = Effect::new(run, step, "m".into(), Json::empty());
        Perform { run, step, effect, limit: Span::from_secs(1) }
    }

    fn answer(performed: Performed) -> Value {
        match performed {
            Performed::Done(answer) => (*answer).clone(),
            other => panic!("no answer: {other:?}"),
        }
    }

    #[test]
    fn a_model_answers_texts_in_order_and_says_what_they_cost() {
        let model = Model { tokens: vec![10, 20], cost_micros: vec![5], ..Model::default() };
        let answers = vec![Json::new(json!("hello")), Json::new(json!({ "b": [1], "a": 2 }))];
        let mut outside = outside(Tool { answers, model: Some(model), ..Tool::default() });
        let mut ask = || answer(outside.perform(&request(), None).0);
        assert_eq!(ask(), json!({ "text": "hello", "usage": { "tokens": 10, "cost_micros": 5 } }));
        let second = json!({ "text": r#"{"a":2,"b":[1]}"#, "usage": { "tokens": 20, "cost_micros": 5 } });
        assert_eq!(ask(), second);
        assert_eq!(ask(), second);
    }

    #[test]
    fn a_malformed_answer_is_no_document_and_was_given_all_the_same() {
        for text in [json!("{\"a\": [1, 2]}"), json!("12345678"), json!(""), json!("ä€"), json!({ "x": 1 }), json!(7)]
        {
            let tool = Tool { answers: vec![Json::new(text)], model: Some(Model::default()), ..Tool::default() };
            let (performed, happened) = outside(tool).perform(&request(), Some(&Fault::ToolMalformed));
            let answer = answer(performed);
            assert!(happened && serde_json::from_str::<Value>(answer["text"].as_str().unwrap()).is_err(), "{answer}");
        }
    }

    #[test]
    fn a_rate_limit_says_how_long_and_a_cut_answer_was_given_though_nobody_has_it() {
        let mut outside = outside(Tool { model: Some(Model::default()), ..Tool::default() });
        let after = Some(Span::from_secs(20));
        let limited = outside.perform(&request(), Some(&Fault::ToolRefuses { after }));
        assert_eq!(limited, (Performed::Refused { reason: "rate limited".into(), after }, false));
        let cut = outside.perform(&request(), Some(&Fault::ToolUnknown { happened: true, after }));
        assert_eq!(cut, (Performed::Unknown, true));
        let next = answer(outside.perform(&request(), None).0);
        assert_eq!(next["text"], r#"{"answer":2}"#, "the one that was cut was the first");
    }
}
