//! Children: how a parent reserves them, how they are made, and what becomes of those that never are.
//!
//! A reservation holds an address and a unit of the tree's budget, and its answer belongs to the parent's step
//! for ever. A reserved run is the live one at its address: mail waits for it, signals are buffered, a cancel
//! sets its flag; but it is not queued until its parent, having announced it, creates it.

use std::sync::Arc;

use super::run::{Run, RunNo, State};
use super::{Scheduler, Transition};
use crate::history::Change;
use crate::kernel::{AgentId, LeaseKey, Name, Reserved, RunId, RunSpec, RunStatus, Span, SpecDefaults, Step, Trigger};

/// When to ask again for what is about to be free.
const ENDING_PAUSE: Span = Span::from_secs(1);

/// What a step of a parent was told.
#[derive(Clone, Debug)]
pub(super) struct Spawn {
    /// The child, unless it was denied.
    child: Option<RunNo>,
    /// The answer, which never changes.
    answer: Reserved,
}

/// How children come to be.
impl Scheduler {
    /// Holds a unit and an address for the child of a step. What is about to be free is no reason for a refusal:
    /// that answer is not kept.
    pub fn reserve(&mut self, key: &LeaseKey, step: Step, agent: &AgentId, at: &mut Transition<'_>) -> Reserved {
        let Some(parent) = self.held(key) else { return Reserved::Lost };
        if let Some(spawn) = self.spawns.get(&(parent, step)) {
            return spawn.answer.clone();
        }
        if let Err(unknown) = self.require(agent) {
            return self.deny(parent, step, unknown.to_string().into());
        }
        if let Some(no) = self.live_no(agent) {
            if self.trees.is_closed(no) {
                return Reserved::Ending { again: at.now + ENDING_PAUSE };
            }
            return self.deny(parent, step, format!("address `{agent}` is taken").into());
        }
        let root = self.trees.root(parent);
        let runs_max = self.runs[root].spec.settings.spawn_budget.max_agents;
        if self.trees.units(root) >= runs_max {
            if self.trees.is_shrinking(root) {
                return Reserved::Ending { again: at.now + ENDING_PAUSE };
            }
            return self.deny(parent, step, format!("the tree has its {runs_max} runs").into());
        }
        self.hold(parent, step, agent, at)
    }

    fn deny(&mut self, parent: RunNo, step: Step, reason: Name) -> Reserved {
        let answer = Reserved::Denied { reason };
        self.spawns.insert((parent, step), Spawn { child: None, answer: answer.clone() });
        answer
    }

    /// The child is known from now on, under a specification that stands in until it is created.
    fn hold(&mut self, parent: RunNo, step: Step, agent: &AgentId, at: &mut Transition<'_>) -> Reserved {
        let settings = self.defaults(agent.kind());
        let defaults = Box::new(settings.clone());
        let root = self.trees.root(parent);
        let (parent_run, tree) = (self.runs[parent].spec.run, self.runs[root].spec.run);
        let child_run = self.mint(agent, at);
        let spec = RunSpec { parent: Some(parent_run), tree, ..RunSpec::root(child_run, agent.clone(), settings) };
        let child = self.seat(Run::new(spec, State::Reserved), Some(root));
        at.changes.push(Change::Reserved { run: child_run, agent: agent.clone(), parent: parent_run, step, tree });
        let answer = Reserved::Reserved { child_run, tree, defaults };
        self.spawns.insert((parent, step), Spawn { child: Some(child), answer: answer.clone() });
        answer
    }

    /// What a type is registered with.
    fn defaults(&self, kind: &str) -> SpecDefaults {
        self.kinds.get(kind).map_or_else(SpecDefaults::default, |registration| registration.defaults.clone())
    }

    /// The address that is held for a run which is reserved and not created.
    pub fn reserved_address(&self, run: RunId) -> Option<AgentId> {
        let run = self.get(run)?;
        matches!(run.state, State::Reserved).then(|| run.spec.agent.clone())
    }

    /// Makes a reserved run pending, under this specification; its place in the tree stays as the store has it.
    pub fn create_reserved(&mut self, spec: &RunSpec, woken_by: Vec<Trigger>, at: &mut Transition<'_>) {
        let Some(no) = self.by_id.get(&spec.run).copied() else { return };
        let run = &mut self.runs[no];
        let known = &run.spec;
        let spec = RunSpec { agent: known.agent.clone(), parent: known.parent, tree: known.tree, ..spec.clone() };
        run.spec = spec.into();
        run.state = State::Pending { woken_by, waits: Vec::new() };
        self.made(no, at);
    }

    /// The reservations of a run that has ended, as far as they were never created, end with it. Tells their
    /// addresses, which are free from now on.
    pub(super) fn sweep(&mut self, parent: RunNo, at: &mut Transition<'_>) -> Vec<AgentId> {
        let reserved: Vec<_> =
            self.children(parent).filter(|child| matches!(self.runs[*child].state, State::Reserved)).collect();
        let mut freed = Vec::new();
        for child in reserved {
            let run = &mut self.runs[child];
            run.state = State::Ended(RunStatus::Cancelled);
            let spec = run.spec.clone();
            self.trees.give_back(child);
            self.vacate(&spec.agent);
            at.changes.push(Change::Swept { run: spec.run });
            freed.push(spec.agent.clone());
        }
        freed
    }

    /// The children that a run has reserved, whatever became of them, by step.
    fn children(&self, parent: RunNo) -> impl Iterator<Item = RunNo> {
        let spawns = self.spawns.range((parent, Step(0))..=(parent, Step(u32::MAX)));
        spawns.filter_map(|(_, spawn)| spawn.child)
    }
}

/// Units and trees.
impl Scheduler {
    /// Gives back the unit that a run holds.
    pub fn return_unit(&mut self, run: RunId, at: &mut Transition<'_>) {
        if let Some(no) = self.by_id.get(&run).copied()
            && self.trees.give_back(no)
        {
            at.changes.push(Change::Returned { run });
        }
    }

    /// Makes a run that is no root, and all below it that is no tree of its own already, a tree.
    pub fn detach(&mut self, run: RunId, at: &mut Transition<'_>) {
        let Some(top) = self.by_id.get(&run).copied().filter(|no| !self.trees.is_root(*no)) else { return };
        let mut subtree = vec![top];
        let mut reached = 0;
        while let Some(no) = subtree.get(reached).copied() {
            reached += 1;
            self.trees.replant(no, top);
            Arc::make_mut(&mut self.runs[no].spec).tree = run;
            at.changes.push(Change::Replanted { run: self.runs[no].spec.run, tree: run });
            subtree.extend(self.children(no).filter(|child| !self.trees.is_root(*child)));
        }
    }

    /// The log of a run is closed from now on.
    pub fn log_closed(&mut self, run: RunId) {
        if let Some(no) = self.by_id.get(&run).copied() {
            self.trees.close(no);
        }
    }

    /// The specification of the root of a run's tree.
    pub fn root_of(&self, run: RunId) -> Option<&RunSpec> {
        let root = self.trees.root(*self.by_id.get(&run)?);
        Some(&self.runs[root].spec)
    }

    /// Whether a run holds a unit of its tree's budget.
    pub fn holds_unit(&self, run: RunId) -> bool {
        self.by_id.get(&run).is_some_and(|no| self.trees.holds_unit(*no))
    }
}
