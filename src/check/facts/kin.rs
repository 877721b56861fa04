//! A run's place in a tree: its parent and children, the budget's units, what was spent, publications under way.

use super::{Facts, Party, PublicationAt, RunAt, WorkerAt};
use crate::kernel::{Account, Attempt, Limits, Retention, RunId, Spend, Step, Timestamp};

/// A child as a log announces it.
#[derive(Clone, Copy, Debug)]
pub struct Child {
    pub run: RunId,
    pub retention: Retention,
    /// Whether the log says how it ended.
    pub completed: bool,
}

/// A run's place in a tree.
#[derive(Default)]
pub struct Kin {
    /// Its parent, and the step there.
    pub parent: Option<(RunAt, Step)>,
    /// The run whose log announces it.
    pub announced: Option<RunAt>,
    /// Who announced it.
    pub announcer: Option<Party>,
    /// What becomes of it when its parent ends.
    pub retention: Retention,
    /// Whether it is reserved and was not created yet.
    pub reserved: bool,
    /// Whether it was reserved and is gone without having been created.
    pub swept: bool,
    /// The root of its tree, where that is another run.
    pub tree: Option<RunAt>,
    /// Whether it holds a unit of its tree's budget.
    pub unit: bool,
    /// How many units are held in the tree of which it is the root.
    pub units: u32,
    /// How many may be, once a grant of it told.
    pub max_agents: Option<u32>,
    /// What its tree may spend, once a grant of it told.
    pub limits: Option<Limits>,
    /// What was spent in the tree of which it is the root.
    pub spent: Spend,
    /// Its children, reserved or announced.
    pub children: Vec<RunAt>,
    /// What its steps were told when they asked for a child: the child, or none for a refusal.
    pub reservations: Vec<(Step, Option<RunAt>)>,
    /// The children of whose end a wake told it, and when.
    pub told_ends: Vec<(RunAt, Timestamp)>,
    /// What its holders last heard about what its tree has spent.
    pub accounts: Vec<(WorkerAt, Attempt, Account)>,
    /// Its publications that nothing shows as done.
    pub publishing: Vec<PublicationAt>,
}

impl Kin {
    /// What the holder of this lease last heard about what the tree has spent.
    pub fn account(&self, worker: WorkerAt, attempt: Attempt) -> Option<&Account> {
        let is_own = |heard: &&(WorkerAt, Attempt, Account)| (heard.0, heard.1) == (worker, attempt);
        self.accounts.iter().find(is_own).map(|(_, _, account)| account)
    }

    /// Notes what the last holder of this worker heard.
    pub fn hear(&mut self, worker: WorkerAt, attempt: Attempt, account: Account) {
        self.accounts.retain(|(by, _, _)| *by != worker);
        self.accounts.push((worker, attempt, account));
    }

    /// Empties it and keeps the memory.
    pub fn refresh(&mut self) {
        let Kin { mut children, mut reservations, mut told_ends, mut accounts, mut publishing, .. } =
            std::mem::take(self);
        children.clear();
        reservations.clear();
        told_ends.clear();
        accounts.clear();
        publishing.clear();
        *self = Kin { children, reservations, told_ends, accounts, publishing, ..Kin::default() };
    }
}

impl Facts {
    /// The root of a run's tree.
    pub fn tree(&self, run: RunAt) -> RunAt {
        self.runs[run].kin.tree.unwrap_or(run)
    }

    /// Notes a child of a run.
    pub fn adopt(&mut self, parent: RunAt, step: Step, child: RunAt) {
        let kin = &mut self.runs[child].kin;
        if kin.parent.is_none() {
            kin.parent = Some((parent, step));
            self.runs[parent].kin.children.push(child);
        }
    }

    /// A run takes a unit of the budget of its tree, or gives it back.
    pub fn hold_unit(&mut self, run: RunAt, holds: bool) {
        if self.runs[run].kin.unit == holds {
            return;
        }
        self.runs[run].kin.unit = holds;
        let tree = self.tree(run);
        let units = &mut self.runs[tree].kin.units;
        *units = if holds { *units + 1 } else { units.saturating_sub(1) };
    }

    /// A run goes over to another tree, with its unit.
    pub fn replant(&mut self, run: RunAt, tree: RunAt) {
        let holds = self.runs[run].kin.unit;
        self.hold_unit(run, false);
        self.runs[run].kin.tree = (tree != run).then_some(tree);
        self.hold_unit(run, holds);
    }

    /// Whether `below` is `run` or descends from it.
    pub fn descends(&self, below: RunAt, run: RunAt) -> bool {
        let mut at = below;
        // A history from elsewhere may have a circle in it.
        for _ in 0..10_000 {
            if at == run {
                return true;
            }
            let Some((parent, _)) = self.runs[at].kin.parent else { return false };
            at = parent;
        }
        false
    }
}
