//! What the first entries of a log say, and what the rest of it says came next: the judge's own fold.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::kernel::{
    Attempt, Body, CallKind, EffectId, Ending, FailureCode, Message, MessageId, Opening, RunId, RunLogEntry, Step,
    Version,
};

/// A step that a prefix begins: the places of its entries in the log.
#[derive(Clone, Copy, Debug)]
struct Begun {
    opening: usize,
    result: Option<usize>,
}

/// The first entries of a log. A worker that leases the run there has to go on from them.
#[derive(Debug)]
pub(super) struct Prefix {
    /// The whole log.
    log: Rc<[RunLogEntry]>,
    /// How many entries of it the prefix has.
    length: usize,
    steps: BTreeMap<Step, Begun>,
    /// The attempt of the last lease entry.
    pub attempt: Option<Attempt>,
    /// The agent's version in the last lease entry.
    pub version: Option<Version>,
    /// Whether lease entries name different versions: the agent was changed under the run.
    pub changed: bool,
    /// The number of a failure that no lease entry follows: its mail is still to be nacked.
    pub parked: Option<u32>,
    /// Whether the run's batch is there.
    pub has_batch: bool,
    /// Every message received.
    pub mail: Vec<MessageId>,
    /// Whether a cancel was requested.
    pub cancelled: bool,
    /// How the run will end, and which children it lets go, once that is decided.
    pub resolved: Option<(Ending, Vec<RunId>)>,
    /// The children announced, by their steps, and whether the prefix says how each ended.
    pub children: BTreeMap<RunId, (Step, bool)>,
}

/// What an agent, or its runtime, decided next.
pub(super) enum Next {
    /// One of these, in the order of the log; the last of them begins a step or ends the run.
    Decided(Vec<usize>),
    /// The rest of the log does not tell: it ends, or something from outside came in between.
    Untold,
}

impl Prefix {
    /// The first `length` entries of `log`.
    pub fn new(log: Rc<[RunLogEntry]>, length: usize) -> Prefix {
        let mut prefix = Prefix {
            log: log.clone(),
            length,
            steps: BTreeMap::new(),
            attempt: None,
            version: None,
            changed: false,
            parked: None,
            has_batch: false,
            mail: Vec::new(),
            cancelled: false,
            resolved: None,
            children: BTreeMap::new(),
        };
        for (place, entry) in log.iter().take(length).enumerate() {
            prefix.add(place, &entry.body);
        }
        prefix
    }

    fn add(&mut self, place: usize, body: &Body) {
        if let Some(lease) = body.lease_entry() {
            self.changed |= self.version.is_some_and(|version| version != lease.version);
            (self.attempt, self.version, self.parked) = (Some(lease.attempt), Some(lease.version), None);
        }
        match body {
            Body::MsgReceived { step, messages } => {
                self.mail.extend(messages.iter().map(|received| received.message.id.clone()));
                self.has_batch |= step.is_none();
            }
            Body::CancelRequested { .. } => self.cancelled = true,
            Body::RunRetrying { failure, .. } => self.parked = Some(*failure),
            Body::OrphansResolved { ending, detach, .. } => self.resolved = Some((ending.clone(), detach.clone())),
            Body::ChildSpawned { opening, spec, .. } => {
                self.children.insert(spec.run, (opening.step, false));
            }
            Body::ChildCompleted { result, .. } => self.completes(place, result.run_id),
            _ => {}
        }
        match (body.opening(), body.step()) {
            (Some(opening), _) => {
                let result = self.completion_of(body).filter(|completed| *completed < place);
                self.steps.entry(opening.step).or_insert(Begun { opening: place, result });
            }
            (None, Some(step)) => {
                if let Some(begun) = self.steps.get_mut(&step) {
                    begun.result.get_or_insert(place);
                }
            }
            (None, None) => {}
        }
    }

    /// The end of a child ends every wait for it.
    fn completes(&mut self, place: usize, child: RunId) {
        if let Some((_, is_over)) = self.children.get_mut(&child) {
            *is_over = true;
        }
        let log = &self.log;
        let waits = self.steps.values_mut().filter(|begun| joined(&log[begun.opening].body) == Some(child));
        waits.for_each(|begun| begun.result = begun.result.or(Some(place)));
    }

    /// Where the log, prefix or rest, tells the end of the child that this entry waits for.
    fn completion_of(&self, body: &Body) -> Option<usize> {
        let child = joined(body)?;
        let tells =
            |entry: &RunLogEntry| matches!(&*entry.body, Body::ChildCompleted { result, .. } if result.run_id == child);
        self.log.iter().position(tells)
    }

    /// The run whose log it is.
    pub fn run(&self) -> Option<RunId> {
        Some(self.log.first()?.run_id)
    }

    /// The entry by which the log, prefix or rest, begins a step.
    pub fn recorded(&self, step: Step) -> Option<&Body> {
        let begins = |body: &&Body| body.opening().is_some_and(|opening| opening.step == step);
        self.log.iter().map(|entry| &*entry.body).find(begins)
    }

    /// The first step that the prefix does not begin.
    pub fn next_step(&self) -> Step {
        (0..).map(Step).find(|step| !self.steps.contains_key(step)).expect("there are more steps than entries")
    }

    /// Whether a wait of the prefix has not ended there.
    pub fn waits(&self) -> bool {
        self.begun().any(|step| {
            self.is_open(step) && !matches!(self.opening(step).map(|entry| &*entry.body), Some(Body::ToolCalled { .. }))
        })
    }

    /// The questions that were received and have no reply in the prefix.
    pub fn open_questions(&self) -> impl Iterator<Item = &Message> {
        let bodies = || self.entries().iter().map(|entry| &*entry.body);
        let received = bodies().filter_map(|body| match body {
            Body::MsgReceived { messages, .. } => Some(messages),
            _ => None,
        });
        let asked = received.flatten().map(|received| &received.message).filter(|message| message.reply_to.is_some());
        let replies = move |asked: &Message| {
            bodies().any(|body| matches!(body, Body::ReplySent { question, .. } if question.id == asked.id))
        };
        asked.filter(move |asked| !replies(asked))
    }

    /// The entries of the prefix.
    pub fn entries(&self) -> &[RunLogEntry] {
        &self.log[..self.length]
    }

    /// How the run ended, if the prefix holds its end.
    pub fn ending(&self) -> Option<&Ending> {
        self.entries().last()?.body.ending()
    }

    /// The entry at a place of the whole log.
    pub fn body(&self, place: usize) -> &Body {
        &self.log[place].body
    }

    /// The steps begun, in order.
    pub fn begun(&self) -> impl DoubleEndedIterator<Item = Step> {
        self.steps.keys().copied()
    }

    /// The entry that begins a step of the prefix.
    pub fn opening(&self, step: Step) -> Option<&RunLogEntry> {
        Some(&self.log[self.steps.get(&step)?.opening])
    }

    /// Whether a step of the prefix is an effect, a question or a wait that has not ended there.
    pub fn is_open(&self, step: Step) -> bool {
        let Some(begun) = self.steps.get(&step) else { return false };
        let is_long =
            matches!(self.body(begun.opening), Body::ToolCalled { .. } | Body::TimerSet { .. } | Body::AskSent { .. });
        begun.result.is_none() && is_long
    }

    /// The step of an effect that has not ended in the prefix.
    pub fn open_effect(&self, effect: EffectId) -> Option<Step> {
        let is_it = |step: &Step| match self.opening(*step).map(|entry| &*entry.body) {
            Some(Body::ToolCalled { effect: begun, .. }) => begun.id == effect,
            _ => false,
        };
        self.begun().filter(|step| self.is_open(*step)).find(is_it)
    }

    /// The receives that have not ended in the prefix, in order.
    pub fn open_receives(&self) -> impl Iterator<Item = Step> {
        let is_receive = |step: &Step| self.call(*step) == Some(CallKind::Receive);
        self.begun().filter(|step| self.is_open(*step)).filter(is_receive)
    }

    fn call(&self, step: Step) -> Option<CallKind> {
        Some(self.opening(step)?.body.opening()?.call)
    }

    /// Whether a step belongs to the last one, or the last group, of the prefix: nothing shows that it was carried out.
    pub fn is_last(&self, step: Step) -> bool {
        let Some(last) = self.steps.values().next_back() else { return false };
        let Some(opening) = self.body(last.opening).opening() else { return false };
        step >= opening.group.map_or(opening.step, |group| group.first)
    }

    /// The entry by which the log, prefix or rest, ends a step.
    pub fn result(&self, step: Step) -> Option<&Body> {
        let child = self.opening(step).and_then(|entry| joined(&entry.body));
        let ends = |body: &&Body| match body {
            Body::ChildCompleted { result, .. } => Some(result.run_id) == child,
            body => body.opening().is_none() && body.step() == Some(step),
        };
        self.log.iter().map(|entry| &*entry.body).find(ends)
    }

    /// The run's batch, if the log, prefix or rest, holds it.
    pub fn batch(&self) -> Option<&Body> {
        let is_batch = |body: &&Body| matches!(body, Body::MsgReceived { step: None, .. });
        self.log.iter().map(|entry| &*entry.body).find(is_batch)
    }

    /// The version under which the prefix is played: of its last lease entry, else of the first one behind it.
    pub fn played(&self) -> Version {
        let next = || self.log[self.length..].iter().find_map(|entry| Some(entry.body.lease_entry()?.version));
        self.version.or_else(next).unwrap_or_default()
    }

    /// How the log goes on with the next step, if it does so under the version that is played.
    pub fn told_next(&self) -> Option<&Opening> {
        let own = |entry: &&RunLogEntry| entry.body.lease_entry().is_none_or(|lease| lease.version == self.played());
        let openings = self.log[self.length..].iter().take_while(own).filter_map(|entry| entry.body.opening());
        openings.into_iter().find(|opening| opening.step == self.next_step())
    }

    /// What was decided behind the prefix.
    pub fn next(&self) -> Next {
        let mut decided = Vec::new();
        for place in self.length..self.log.len() {
            match self.body(place) {
                Body::RunStarted(lease) | Body::RunResumed(lease) if lease.version != self.played() => {
                    return Next::Untold;
                }
                Body::RunRetrying { .. } => decided.push(place),
                Body::Ended(ending) if is_of_agent(ending) => {
                    decided.push(place);
                    return Next::Decided(decided);
                }
                Body::CancelRequested { .. } | Body::Ended(_) => return Next::Untold,
                Body::OrphansResolved { ending, .. } if !is_of_agent(ending) => return Next::Untold,
                body if body.opening().is_some()
                    || matches!(body, Body::RunHalted { .. } | Body::OrphansResolved { .. }) =>
                {
                    decided.push(place);
                    return Next::Decided(decided);
                }
                _ => {}
            }
        }
        Next::Untold
    }
}

/// Whether an ending follows from what the agent did alone.
const fn is_of_agent(ending: &Ending) -> bool {
    match ending {
        Ending::Completed { .. } => true,
        Ending::Failed { code, .. } => !matches!(code, FailureCode::DeadlineExceeded | FailureCode::Poisoned),
        Ending::Cancelled { .. } => false,
    }
}

/// The child that an entry begins to wait for.
const fn joined(body: &Body) -> Option<RunId> {
    match body {
        Body::TimerSet { child, .. } => *child,
        _ => None,
    }
}

/// A step in words.
pub(super) fn in_words(opening: &Opening) -> String {
    format!("{} at step {} ({})", opening.call.as_str(), opening.step, opening.digest)
}
