//! The fold of a run's log: what it says so far. It is built once per lease and grows entry by entry.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use crate::kernel::{
    Arrival, Attempt, Body, CallKind, EffectId, EffectStatus, Ending, Json, LeaseEntry, MEMORY_PUSH, Message,
    MessageId, Name, Opening, Received, RunHandle, RunId, RunLogEntry, RunResult, Seq, Staged, Step, Timestamp,
    Trigger,
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
    /// That entry's place.
    pub seq: Seq,
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

/// A child that the log announces.
#[derive(Debug)]
pub(super) struct Child {
    /// The entry that announces it.
    pub spawned: Arc<Body>,
    /// The entry that says how it ended.
    pub completed: Option<Arc<Body>>,
}

/// A question that the run has received.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub message: Message,
    pub answered: bool,
}

/// What a run went through, for its result.
#[derive(Clone, Copy, Debug, Default)]
struct Passage {
    started_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    leases: u32,
    reclaims: u32,
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
    /// The questions among them.
    pub questions: BTreeMap<MessageId, Question>,
    /// The steps begun.
    pub steps: BTreeMap<Step, StepRecord>,
    /// The children announced, by the step that did it.
    pub children: BTreeMap<Step, Child>,
    /// The steps of the children.
    places: BTreeMap<RunId, Step>,
    /// Whether a cancel was requested, and why.
    pub cancel: Option<Name>,
    /// The decision about ending and children that was taken while children lived.
    pub resolved: Option<Resolved>,
    /// How the run ended.
    pub ended: Option<Ending>,
    passage: Passage,
}

/// What `orphans.resolved` says.
#[derive(Clone, Debug)]
pub(super) struct Resolved {
    /// The terminal entry to come.
    pub ending: Ending,
    /// The children that live on.
    pub detach: Vec<RunId>,
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
            questions: BTreeMap::new(),
            steps: BTreeMap::new(),
            children: BTreeMap::new(),
            places: BTreeMap::new(),
            cancel: None,
            resolved: None,
            ended: None,
            passage: Passage::default(),
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
            Body::RunStarted(lease) | Body::RunResumed(lease) => self.take_lease(lease, ts),
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
            Body::ChildCompleted { result, .. } => {
                let child = self.places.get(&result.run_id).and_then(|step| self.children.get_mut(step));
                if let Some(child) = child {
                    child.completed.get_or_insert_with(|| body.clone());
                }
            }
            Body::OrphansResolved { ending, detach, .. } => {
                self.resolved = Some(Resolved { ending: ending.clone(), detach: detach.clone() });
            }
            Body::Ended(ending) => {
                self.ended = Some(ending.clone());
                self.passage.ended_at = Some(ts);
            }
            other => {
                if let Some(opening) = other.opening() {
                    let record = StepRecord { body: body.clone(), seq, ts, result: None, carried: false };
                    self.steps.entry(opening.step).or_insert(record);
                }
                match other {
                    Body::ChildSpawned { opening, spec, .. } => {
                        self.places.insert(spec.run, opening.step);
                        self.children.insert(opening.step, Child { spawned: body.clone(), completed: None });
                    }
                    Body::ReplySent { question, .. } => {
                        if let Some(question) = self.questions.get_mut(&question.id) {
                            question.answered = true;
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    fn take_lease(&mut self, lease: &LeaseEntry, ts: Timestamp) {
        self.attempt = self.attempt.max(Some(lease.attempt));
        self.parked = None;
        self.passage.started_at.get_or_insert(ts);
        self.passage.leases += 1;
        self.passage.reclaims += u32::from(lease.woken_by.contains(&Trigger::Reclaim));
    }

    fn receive(&mut self, step: Option<Step>, messages: &[Received], body: &Arc<Body>) {
        self.mail.extend(messages.iter().map(|received| received.message.id.clone()));
        self.after = messages.iter().map(|received| Some(received.arrival)).fold(self.after, Option::max);
        let questions = messages.iter().map(|received| &received.message).filter(|message| is_question(message));
        for message in questions {
            let question = Question { message: message.clone(), answered: false };
            self.questions.entry(message.id.clone()).or_insert(question);
        }
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
            Body::MessageSent { .. }
            | Body::TopicPublished { .. }
            | Body::ReplySent { .. }
            | Body::ChildSpawned { .. } => true,
            Body::StepValue { opening, value } => {
                let acts = [CallKind::Signal, CallKind::Follow, CallKind::Unfollow, CallKind::Cancel];
                acts.contains(&opening.call) && !is_refusal(value)
            }
            _ => false,
        };
        step >= first && self.steps.get(&step).is_some_and(|record| !record.carried && acts(&record.body))
    }

    /// The child `run`, if the log announces it.
    pub fn child(&self, run: RunId) -> Option<&Child> {
        self.children.get(self.places.get(&run)?)
    }

    /// The children whose end does not stand in the log, in the order of their steps.
    pub fn live_children(&self) -> impl Iterator<Item = &Child> {
        self.children.values().filter(|child| child.completed.is_none())
    }

    /// The result of the run `run`, whose log this is and is closed.
    pub fn run_result(&self, run: RunId) -> Option<RunResult> {
        let ending = self.ended.as_ref()?;
        let (output, error) = match ending {
            Ending::Completed { output, .. } => (Some(output.clone()), None),
            Ending::Failed { error, .. } => (None, Some(error.clone())),
            Ending::Cancelled { reason, .. } => (None, Some(reason.clone())),
        };
        let Passage { started_at, ended_at, leases, reclaims } = self.passage;
        let metadata = Json::new(json!({
            "started_at": started_at,
            "ended_at": ended_at,
            "leases": leases,
            "retries": self.failures,
            "reclaims": reclaims,
        }));
        Some(RunResult { run_id: run, status: ending.status(), output, error, metadata })
    }

    /// The first effect that has an intent and no result.
    pub fn open_intent(&self) -> Option<(Step, EffectId)> {
        self.steps.iter().find_map(|(step, record)| match &*record.body {
            Body::ToolCalled { effect, .. } if record.result.is_none() => Some((*step, effect.id)),
            _ => None,
        })
    }

    /// The memory traces that the run has staged, in the order of their steps, for each user.
    pub fn drafts(&self) -> BTreeMap<Name, Vec<Staged>> {
        let mut drafts: BTreeMap<Name, Vec<Staged>> = BTreeMap::new();
        for (step, record) in &self.steps {
            if let Body::ToolCalled { effect, .. } = &*record.body
                && &*effect.kind == MEMORY_PUSH
                && let Some(Body::ToolResult { result, .. }) = record.result.as_deref()
                && result.status == EffectStatus::Ok
                && let (Some(user), Some(trace)) = (effect.spec.get("user"), effect.spec.get("trace"))
                && let Some(user) = user.as_str()
            {
                let staged = Staged { step: *step, trace: Json::new(trace.clone()) };
                drafts.entry(user.into()).or_default().push(staged);
            }
        }
        drafts
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

impl Child {
    /// The child as its parent `parent` knows it.
    pub fn handle(&self, parent: RunId) -> RunHandle {
        let Body::ChildSpawned { spec, .. } = &*self.spawned else { unreachable!("it was announced by child.spawned") };
        RunHandle { run_id: spec.run, agent_id: spec.agent.clone(), parent_run: Some(parent) }
    }
}

/// Whether an answer is awaited.
fn is_question(message: &Message) -> bool {
    message.correlation.is_some() && message.reply_to.is_some()
}

/// Whether what a step gave is a refusal.
pub(super) fn is_refusal(value: &Json) -> bool {
    value.get("refused").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{AgentId, Digest, Group, Span};

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
