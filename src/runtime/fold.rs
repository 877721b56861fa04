//! The fold of a run's log: what it says so far. It is built once per lease and grows entry by entry.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::kernel::{
    Arrival, Attempt, Body, CallKind, EffectId, Ending, MessageId, Name, Opening, Received, RunLogEntry, Seq, Step,
    Timestamp,
};

/// A `run.retrying` that no lease entry follows: the run is parked, or should be.
#[derive(Clone, Debug)]
pub(super) struct Parked {
    pub error: Name,
    pub failure: u32,
    pub due: Timestamp,
}

/// What the log says about one step.
#[derive(Debug)]
pub(super) struct StepRecord {
    /// The entry that begins it.
    pub body: Arc<Body>,
    /// That entry's time.
    pub ts: Timestamp,
    /// The entry that ends it, for calls that have one.
    pub result: Option<Arc<Body>>,
    /// Whether this lease has carried it out.
    pub carried: bool,
}

impl StepRecord {
    pub fn opening(&self) -> &Opening {
        self.body.opening().expect("a step is recorded under the entry that begins it")
    }
}

/// What a log says.
#[derive(Debug)]
pub(super) struct Fold {
    /// The last sequence number.
    pub last: Seq,
    /// The highest attempt in a lease entry.
    pub attempt: Option<Attempt>,
    /// A failure that waits for its retry.
    pub parked: Option<Parked>,
    /// How often the agent has failed and is to be tried again.
    pub failures: u32,
    /// The run's batch: the first `msg.received`.
    pub batch: Option<Arc<Body>>,
    /// Every message that the run has received, in order.
    pub mail: Vec<MessageId>,
    /// The greatest arrival number among them.
    pub after: Option<Arrival>,
    /// The steps begun.
    pub steps: BTreeMap<Step, StepRecord>,
    /// Whether a cancel was requested, and why.
    pub cancel: Option<Name>,
    /// The ending that was decided while children lived.
    pub resolved: Option<Ending>,
    /// How the run ended.
    pub ended: Option<Ending>,
}

impl Fold {
    pub fn new() -> Self {
        Fold {
            last: Seq::EMPTY,
            attempt: None,
            parked: None,
            failures: 0,
            batch: None,
            mail: Vec::new(),
            after: None,
            steps: BTreeMap::new(),
            cancel: None,
            resolved: None,
            ended: None,
        }
    }

    /// Takes an entry in. One that was taken in before changes nothing.
    pub fn apply(&mut self, entry: &RunLogEntry) {
        self.add(entry.seq, entry.ts, &entry.body);
    }

    /// Takes the entry `body` in, which stands at `seq` since `ts`.
    pub fn add(&mut self, seq: Seq, ts: Timestamp, body: &Arc<Body>) {
        if seq <= self.last {
            return;
        }
        assert_eq!(seq, self.last.next(), "a log has no gaps");
        self.last = seq;
        match &**body {
            Body::RunStarted(lease) | Body::RunResumed(lease) => {
                self.attempt = self.attempt.max(Some(lease.attempt));
                self.parked = None;
            }
            Body::MsgReceived { step, messages } => self.receive(*step, messages, body),
            Body::ToolResult { step, .. }
            | Body::TimerFired { step }
            | Body::SignalReceived { step, .. }
            | Body::AskResolved { step, .. } => self.end_step(*step, body),
            Body::CancelRequested { reason } => {
                self.cancel.get_or_insert_with(|| reason.clone());
            }
            Body::RunRetrying { error, failure, delay } => {
                self.failures += 1;
                self.parked = Some(Parked { error: error.clone(), failure: *failure, due: ts + *delay });
            }
            Body::OrphansResolved { ending, .. } => self.resolved = Some(ending.clone()),
            Body::Ended(ending) => self.ended = Some(ending.clone()),
            other => {
                if let Some(opening) = other.opening() {
                    let record = StepRecord { body: body.clone(), ts, result: None, carried: false };
                    self.steps.entry(opening.step).or_insert(record);
                }
            }
        }
    }

    fn receive(&mut self, step: Option<Step>, messages: &[Received], body: &Arc<Body>) {
        self.mail.extend(messages.iter().map(|received| received.message.id.clone()));
        self.after = messages.iter().map(|received| Some(received.arrival)).fold(self.after, Option::max);
        match step {
            Some(step) => self.end_step(step, body),
            None => {
                self.batch.get_or_insert_with(|| body.clone());
            }
        }
    }

    fn end_step(&mut self, step: Step, body: &Arc<Body>) {
        if let Some(record) = self.steps.get_mut(&step) {
            record.result.get_or_insert_with(|| body.clone());
        }
    }

    /// The entry that ended a step.
    pub fn result(&self, step: Step) -> Option<&Arc<Body>> {
        self.steps.get(&step)?.result.as_ref()
    }

    /// The steps that are announced and that nothing shows as carried out: those of the last step or group,
    /// unless this lease has carried them out.
    pub fn announced(&self) -> Vec<Step> {
        self.steps.keys().copied().filter(|step| self.is_announced(*step)).collect()
    }

    /// Whether `step` is among [`Fold::announced`].
    pub fn is_announced(&self, step: Step) -> bool {
        let Some((last, last_record)) = self.steps.last_key_value() else { return false };
        let first = last_record.opening().group.map_or(*last, |group| group.first);
        let acts = |body: &Body| match body {
            Body::MessageSent { .. } => true,
            Body::StepValue { opening, .. } => opening.call == CallKind::Signal,
            _ => false,
        };
        step >= first && self.steps.get(&step).is_some_and(|record| !record.carried && acts(&record.body))
    }

    /// The first effect that has an intent and no result.
    pub fn open_intent(&self) -> Option<(Step, EffectId)> {
        self.steps.iter().find_map(|(step, record)| match &*record.body {
            Body::ToolCalled { effect, .. } if record.result.is_none() => Some((*step, effect.id)),
            _ => None,
        })
    }

    /// The effects of which nobody can tell whether they happened.
    pub fn in_doubt(&self) -> Vec<EffectId> {
        let results = self.steps.values().filter_map(|record| record.result.as_deref());
        results
            .filter_map(|body| match body {
                Body::ToolResult { result, .. } if result.is_in_doubt() => Some(result.effect_id),
                _ => None,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{AgentId, Digest, Group, Json, Message, Span};

    fn sent(step: u32, group: Option<Group>) -> Body {
        let to: AgentId = "a".parse().unwrap();
        let message = Message {
            id: format!("m{step}").into(),
            sender: to.clone(),
            data: Json::empty(),
            correlation: None,
            reply_to: None,
        };
        let opening = Opening { step: Step(step), group, call: CallKind::Send, digest: Digest(0) };
        Body::MessageSent { opening, to, message }
    }

    fn fold(bodies: Vec<Body>) -> Fold {
        let mut fold = Fold::new();
        for body in bodies {
            fold.add(fold.last.next(), Timestamp::from_micros(7), &Arc::new(body));
        }
        fold
    }

    #[test]
    fn only_the_last_step_or_group_counts_as_announced() {
        assert_eq!(fold(vec![sent(0, None), sent(1, None)]).announced(), [Step(1)]);
        let group = Some(Group { first: Step(1), size: 3 });
        let log = vec![sent(0, None), sent(1, group), sent(2, group)];
        assert_eq!(fold(log).announced(), [Step(1), Step(2)]);
    }

    #[test]
    fn a_lease_entry_ends_the_parking_but_keeps_the_count_of_failures() {
        let retrying = Body::RunRetrying { error: "e".into(), failure: 1, delay: Span::from_secs(5) };
        let parked = fold(vec![retrying.clone()]);
        assert_eq!(parked.parked.as_ref().map(|parked| parked.due), Some(Timestamp::from_micros(5_000_007)));
        let lease = crate::kernel::LeaseEntry {
            agent: "a".parse().unwrap(),
            version: Default::default(),
            attempt: Attempt(3),
            woken_by: Vec::new(),
        };
        let resumed = fold(vec![retrying, Body::RunResumed(lease)]);
        assert!(resumed.parked.is_none());
        assert_eq!((resumed.failures, resumed.attempt), (1, Some(Attempt(3))));
    }

    #[test]
    fn an_entry_that_is_known_changes_nothing() {
        let mut fold = fold(vec![sent(0, None)]);
        fold.add(Seq::FIRST, Timestamp::from_micros(9), &Arc::new(sent(1, None)));
        assert_eq!((fold.last, fold.steps.len()), (Seq::FIRST, 1));
    }
}
