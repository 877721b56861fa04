//! What agents got, entry by entry, while a schedule was played: their mail, and what their calls gave.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::history::Event;
use crate::kernel::{Attempt, Body, CallKind, Json, Message, RunId, RunLogEntry, Step};

/// What the agents of one history got.
#[derive(Default)]
pub(super) struct Heard {
    batches: BTreeMap<RunId, Vec<(Attempt, Vec<Message>)>>,
    /// What steps gave, all attempts in their order. What depends on when it is asked, a cancel or a deadline, is
    /// left out.
    gave: BTreeMap<(RunId, Step), Vec<(Attempt, Json)>>,
}

impl Heard {
    /// Takes the next event of the history.
    pub fn hear(&mut self, event: &Event) {
        match event {
            Event::Entered { run, attempt, batch } => {
                self.batches.entry(*run).or_default().push((*attempt, batch.clone()));
            }
            Event::Gave { run, attempt, step, value } if !is_barred(value) => {
                self.gave.entry((*run, *step)).or_default().push((*attempt, value.clone()));
            }
            _ => {}
        }
    }

    /// What a step gave first.
    pub fn first_gave(&self, run: RunId, step: Step) -> Option<&Json> {
        Some(&self.gave.get(&(run, step))?.first()?.1)
    }

    fn of(&self, run: RunId) -> impl Iterator<Item = (Step, &[(Attempt, Json)])> {
        let range = (run, Step(0))..=(run, Step(u32::MAX));
        self.gave.range(range).map(|((_, step), given)| (*step, given.as_slice()))
    }

    /// `mail-given`: what the agent got is what the log says, and nothing twice.
    pub fn mail_given(&self, run: RunId, log: &[RunLogEntry]) -> Result<(), String> {
        let received = || log.iter().filter_map(|entry| received(&entry.body));
        let mut seen = BTreeSet::new();
        for message in received().flat_map(|(_, messages)| messages) {
            if !seen.insert(&message.id) {
                return Err(format!("message {} stands twice in its log", message.id));
            }
        }
        let recorded =
            |wanted: Option<Step>| received().find(|(step, _)| *step == wanted).map(|(_, messages)| messages);
        let batch = recorded(None);
        for (attempt, given) in self.batches.get(&run).into_iter().flatten() {
            if batch.as_ref().is_none_or(|batch| !batch.iter().copied().eq(given)) {
                return Err(format!(
                    "in lease {attempt} it was entered with {}, not with its batch",
                    ids(given.iter())
                ));
            }
        }
        let receives: BTreeSet<Step> = log
            .iter()
            .filter_map(|entry| entry.body.opening())
            .filter(|opening| opening.call == CallKind::Receive)
            .map(|opening| opening.step)
            .collect();
        for (step, given) in self.of(run).filter(|(step, _)| receives.contains(step)) {
            let wanted = recorded(Some(step)).unwrap_or_default();
            let document = serde_json::to_value(&wanted).expect("messages are documents");
            if let Some((attempt, value)) = given.iter().find(|(_, value)| **value != document) {
                let wanted = ids(wanted.into_iter());
                return Err(format!("in lease {attempt} step {step} gave {:?}, where its log has {wanted}", &**value));
            }
        }
        Ok(())
    }

    /// `denied-stable`: a step that was refused, or in doubt, gives the same to every replay.
    pub fn denied_stable(&self, run: RunId) -> Result<(), String> {
        self.all_alike(run, |given| given.iter().any(|(_, value)| is_denial(value)))
    }

    /// A part of `replay-faithful`: a step gives the same to every replay.
    pub fn same_given(&self, run: RunId) -> Result<(), String> {
        self.all_alike(run, |given| !given.iter().any(|(_, value)| is_denial(value)))
    }

    fn all_alike(&self, run: RunId, concerns: impl Fn(&[(Attempt, Json)]) -> bool) -> Result<(), String> {
        for (step, given) in self.of(run).filter(|(_, given)| concerns(given)) {
            let (first, value) = &given[0];
            if let Some((attempt, other)) = given.iter().find(|(_, other)| other != value) {
                let (value, other) = (&**value, &**other);
                return Err(format!("step {step} gave {value} in lease {first} and {other} in lease {attempt}"));
            }
        }
        Ok(())
    }
}

fn received(body: &Body) -> Option<(Option<Step>, Vec<&Message>)> {
    match body {
        Body::MsgReceived { step, messages } => {
            Some((*step, messages.iter().map(|received| &received.message).collect()))
        }
        _ => None,
    }
}

fn ids<'a>(messages: impl Iterator<Item = &'a Message>) -> String {
    let ids: Vec<&str> = messages.map(|message| &*message.id).collect();
    if ids.is_empty() { "no mail".to_owned() } else { ids.join(", ") }
}

fn code(value: &Json) -> Option<&str> {
    value.get("error").and_then(Value::as_str)
}

/// An error that says nothing about its step: the run is to end, or the agent broke a rule.
pub(super) fn is_barred(value: &Json) -> bool {
    matches!(code(value), Some("Cancelled" | "DeadlineExceeded" | "OverlappingSteps"))
}

/// A recorded refusal, or doubt.
pub(super) fn is_denial(value: &Json) -> bool {
    let recorded = [
        "Refused",
        "InDoubt",
        "Malformed",
        "BudgetExhausted",
        "SpawnDenied",
        "NotAChild",
        "UnknownRun",
        "NotAQuestion",
    ];
    code(value).is_some_and(|code| recorded.contains(&code))
}
