//! The signal bus: signals buffered per run and name, the outcomes that steps have claimed, and timers.
//!
//! Whether a run lives is the scheduler's knowledge: the transition asks it first, so that an ended run gets
//! nothing more. What must outlive a run is kept: the ids that it ever accepted and the outcomes given.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::kernel::{ClaimWait, Claimed, Json, Name, RunId, Step, Timestamp};

/// All that was signalled to runs.
#[derive(Clone, Debug, Default)]
pub(super) struct SignalBus {
    runs: BTreeMap<RunId, Signalling>,
}

/// What was signalled to one run.
#[derive(Clone, Debug, Default)]
struct Signalling {
    /// Every id it ever accepted.
    accepted: BTreeSet<Name>,
    /// By name, oldest first: id and data of what no step has claimed.
    buffer: BTreeMap<Name, VecDeque<(Name, Json)>>,
    /// The first outcome given to each step.
    claims: BTreeMap<Step, Claimed>,
    /// The steps that have armed a timer.
    timed: BTreeSet<Step>,
    /// The timers: the time asked for, and when it fires.
    timers: BTreeSet<(Timestamp, Timestamp)>,
}

impl SignalBus {
    /// Whether the run ever accepted a signal of this id.
    pub fn accepted(&self, run: RunId, id: &Name) -> bool {
        self.runs.get(&run).is_some_and(|signalling| signalling.accepted.contains(id))
    }

    /// Buffers a signal; its id must be new to the run.
    pub fn buffer(&mut self, run: RunId, name: &Name, payload: &Json, id: &Name) {
        let signalling = self.runs.entry(run).or_default();
        let new = signalling.accepted.insert(id.clone());
        debug_assert!(new, "an accepted id is not buffered again");
        signalling.buffer.entry(name.clone()).or_default().push_back((id.clone(), payload.clone()));
    }

    /// The data of the oldest buffered signal of a name.
    pub fn oldest(&self, run: RunId, name: &Name) -> Option<&Json> {
        self.runs.get(&run)?.buffer.get(name)?.front().map(|(_, payload)| payload)
    }

    /// The outcome that was given to a step, if one was.
    pub fn given(&self, run: RunId, step: Step) -> Option<&Claimed> {
        self.runs.get(&run)?.claims.get(&step)
    }

    /// The outcome of a step's wait, for a run that lives: the one given before; else the oldest signal, which
    /// belongs to the step from now on; else, when the time is over, that. "Not yet" is not remembered.
    pub fn claim(&mut self, now: Timestamp, run: RunId, step: Step, wait: &ClaimWait) -> Option<Claimed> {
        if let Some(given) = self.given(run, step) {
            return Some(given.clone());
        }
        let taken = wait.signal.as_ref().and_then(|name| self.take_oldest(run, name));
        let over = wait.until.is_some_and(|until| until <= now);
        let outcome = taken.or(over.then_some(Claimed::TimedOut))?;
        self.runs.entry(run).or_default().claims.insert(step, outcome.clone());
        Some(outcome)
    }

    fn take_oldest(&mut self, run: RunId, name: &Name) -> Option<Claimed> {
        let buffer = &mut self.runs.get_mut(&run)?.buffer;
        let queue = buffer.get_mut(name)?;
        let (id, payload) = queue.pop_front()?;
        if queue.is_empty() {
            buffer.remove(name);
        }
        Some(Claimed::Signal { id, name: name.clone(), payload })
    }

    /// Whether a timer is armed for the step.
    pub fn has_timer(&self, run: RunId, step: Step) -> bool {
        self.runs.get(&run).is_some_and(|signalling| signalling.timed.contains(&step))
    }

    /// Arms a timer for `at` that fires at `fires`; the first one of a step stays.
    pub fn arm(&mut self, run: RunId, step: Step, at: Timestamp, fires: Timestamp) {
        let signalling = self.runs.entry(run).or_default();
        if signalling.timed.insert(step) {
            signalling.timers.insert((at, fires));
        }
    }

    /// When the first timer fires that ends a wait for the time `until`: one set for that time or later.
    pub fn fires_for(&self, run: RunId, until: Timestamp) -> Option<Timestamp> {
        let later = self.runs.get(&run)?.timers.range((until, Timestamp::from_micros(i64::MIN))..);
        later.map(|(_, fires)| *fires).min()
    }

    /// The run has ended: its buffered signals and its timers die with it.
    pub fn end(&mut self, run: RunId) {
        if let Some(signalling) = self.runs.get_mut(&run) {
            signalling.buffer.clear();
            signalling.timed.clear();
            signalling.timers.clear();
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.runs.clear();
    }
}
