//! Runs, their trees and their budgets as one list: every question is answered by looking at all of it.

use super::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    Reserved,
    Queued,
    Held,
    Ended,
}

#[derive(Clone, Debug)]
pub struct Kin {
    pub id: RunId,
    pub address: AgentId,
    pub parent: Option<RunId>,
    pub tree: RunId,
    pub life: Life,
    pub leases: u32,
    pub unit: bool,
    pub closed: bool,
    pub cancelled: bool,
    /// The most runs of its tree, while it is the root of one.
    pub max_agents: u32,
}

/// All runs, what parents' steps were told, and what was spent.
#[derive(Default)]
pub struct Family {
    pub runs: Vec<Kin>,
    pub told: Vec<(RunId, Step, Reserved)>,
    /// Pending mail, by address.
    pub mail: Vec<AgentId>,
    pub spent: Vec<(RunId, EffectId, u64)>,
    /// What the types are registered with: the most runs of a tree.
    pub kinds: Vec<(&'static str, u32)>,
}

impl Family {
    pub fn get(&self, id: RunId) -> Option<&Kin> {
        self.runs.iter().find(|run| run.id == id)
    }

    pub fn get_mut(&mut self, id: RunId) -> Option<&mut Kin> {
        self.runs.iter_mut().find(|run| run.id == id)
    }

    pub fn live_at(&self, address: &AgentId) -> Option<&Kin> {
        self.runs.iter().find(|run| run.address == *address && run.life != Life::Ended)
    }

    pub fn held(&self, key: &LeaseKey) -> Option<&Kin> {
        self.get(key.run).filter(|run| run.life == Life::Held && run.leases == key.attempt.0 + 1)
    }

    pub fn made(&mut self, id: RunId, address: AgentId) {
        self.add(id, address, None, id, Life::Queued);
    }

    fn add(&mut self, id: RunId, address: AgentId, parent: Option<RunId>, tree: RunId, life: Life) {
        assert!(self.get(id).is_none(), "an id is used once");
        assert!(self.live_at(&address).is_none(), "an address has one live run");
        let (leases, unit, closed, cancelled) = (0, true, false, false);
        let max_agents = self.registered(address.kind()).expect("the type of a run is registered");
        self.runs.push(Kin { id, address, parent, tree, life, leases, unit, closed, cancelled, max_agents });
    }

    fn holders(&self, tree: RunId) -> impl Iterator<Item = &Kin> {
        self.runs.iter().filter(move |run| run.tree == tree && run.unit)
    }

    fn registered(&self, kind: &str) -> Option<u32> {
        self.kinds.iter().find(|(known, _)| *known == kind).map(|(_, max)| *max)
    }

    /// What a step must be told: all but the id of a new child, for which there is `None`.
    pub fn answer(&self, now: Timestamp, key: &LeaseKey, step: Step, address: &AgentId) -> Option<Reserved> {
        let Some(parent) = self.held(key) else { return Some(Reserved::Lost) };
        if let Some((_, _, known)) = self.told.iter().find(|(run, at, _)| (*run, *at) == (parent.id, step)) {
            return Some(known.clone());
        }
        let ending = Some(Reserved::Ending { again: now + Span::from_secs(1) });
        let denied = |reason: String| Some(Reserved::Denied { reason: reason.as_str().into() });
        if self.registered(address.kind()).is_none() {
            return denied(format!("no agent type `{}` is registered", address.kind()));
        }
        if let Some(live) = self.live_at(address) {
            return if live.closed { ending } else { denied(format!("address `{address}` is taken")) };
        }
        let max = self.get(parent.tree).expect("the root of a tree is known").max_agents;
        if self.holders(parent.tree).count() < max as usize {
            return None;
        }
        let shrinks = self.holders(parent.tree).any(|run| run.closed);
        if shrinks { ending } else { denied(format!("the tree has its {max} runs")) }
    }

    pub fn tell(&mut self, parent: RunId, step: Step, address: &AgentId, answer: &Reserved) {
        if let Reserved::Reserved { child_run, tree, .. } = answer {
            self.add(*child_run, address.clone(), Some(parent), *tree, Life::Reserved);
        }
        if !matches!(answer, Reserved::Ending { .. }) {
            self.told.push((parent, step, answer.clone()));
        }
    }

    /// Ends a run, and what it reserved and never created; tells the addresses that are free now.
    pub fn end(&mut self, id: RunId) -> Vec<AgentId> {
        let mut free = Vec::new();
        for run in &mut self.runs {
            let swept = run.parent == Some(id) && run.life == Life::Reserved;
            run.unit &= !swept;
            if run.id == id || swept {
                run.life = Life::Ended;
                free.push(run.address.clone());
            }
        }
        free
    }

    pub fn detach(&mut self, top: RunId) {
        if self.get(top).is_none_or(|run| run.tree == top) {
            return;
        }
        let below: Vec<_> = self.runs.iter().map(|run| run.id).filter(|id| self.is_below(*id, top)).collect();
        for id in below {
            self.get_mut(id).unwrap().tree = top;
        }
    }

    /// Whether the way up from a run leads to `top` without crossing the root of another tree.
    fn is_below(&self, id: RunId, top: RunId) -> bool {
        let run = self.get(id).expect("a known run");
        id == top || run.tree != id && run.parent.is_some_and(|parent| self.is_below(parent, top))
    }

    pub fn spend(&mut self, id: RunId, key: EffectId, tokens: u64) {
        let Some(run) = self.get(id) else { return };
        if self.spent.iter().all(|(_, known, _)| *known != key) {
            self.spent.push((run.tree, key, tokens));
        }
    }

    pub fn total(&self, id: RunId) -> u64 {
        let Some(run) = self.get(id) else { return 0 };
        self.spent.iter().filter(|(tree, ..)| *tree == run.tree).map(|(_, _, tokens)| tokens).sum()
    }
}
