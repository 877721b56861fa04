//! Coverage: which faults struck which calls in which phase of a run's life, judged from the history alone; and
//! which calls came up in which phase, so that it can be said what might have been struck.
//!
//! Healing is a phase of the world in which nothing deviates, by its nature: it has no cells, and the calls that
//! are made in it are not counted.

use std::fmt;

use serde::Serialize;

use super::facts::{Facts, Own, RunAt, What};
use crate::history::{About, Asked, Called, FaultKind};
use crate::kernel::Reply;

macro_rules! phases {
    ($($what:ident $name:literal $about:literal;)+) => {
        /// Where a run is in its life when a call is made about it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        pub enum RunPhase {
            $(#[doc = $about] #[serde(rename = $name)] $what),+
        }

        impl RunPhase {
            /// Every phase.
            pub const ALL: &'static [RunPhase] = &[$(RunPhase::$what),+];

            /// The phase's name.
            pub const fn as_str(self) -> &'static str {
                match self { $(RunPhase::$what => $name),+ }
            }

            /// What it means, in one sentence.
            pub const fn about(self) -> &'static str {
                match self { $(RunPhase::$what => $about),+ }
            }
        }
    };
}

phases! {
    Idle "idle" "The call is about no run that there is.";
    BeforeDrain "before-drain" "The log holds no batch of mail yet.";
    Waiting "waiting" "The run is held by nobody: it sleeps, or is queued.";
    Replaying "replaying" "A later lease takes the run up and has added nothing to its log but its lease entry.";
    Live "live" "The run goes on beyond its log.";
    Suspending "suspending" "Its log says that it sleeps or is halted, and it is not released yet.";
    Retrying "retrying" "Its log says that it is tried again, and no later lease has begun to.";
    Epilogue "epilogue" "Its log is closed, and it is not released yet.";
    Ended "ended" "It has ended and was released.";
}

/// A kind of fault at a call in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Cell {
    /// The kind of fault.
    pub fault: FaultKind,
    /// What is called.
    pub call: Called,
    /// The phase of the run that the call is about.
    pub phase: RunPhase,
}

/// In words, as `crash × append tool.called × live`.
impl fmt::Display for Cell {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} × {} × {}", self.fault.as_str(), self.call.as_str(), self.phase.as_str())
    }
}

const PLACES: usize = Called::ALL.len() * RunPhase::ALL.len();

const _: () = assert!(FaultKind::ALL.len() <= 32, "the kinds at a call in a phase are one word");

fn place(call: Called, phase: RunPhase) -> usize {
    call as usize * RunPhase::ALL.len() + phase as usize
}

/// A set of cells, of fixed size.
#[derive(Clone, PartialEq, Eq)]
pub struct Cells(Box<[u32; PLACES]>);

impl Default for Cells {
    fn default() -> Self {
        Cells(Box::new([0; PLACES]))
    }
}

impl fmt::Debug for Cells {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_set().entries(self.iter().map(|cell| cell.to_string())).finish()
    }
}

impl Cells {
    /// Adds a cell.
    pub fn insert(&mut self, cell: Cell) {
        self.0[place(cell.call, cell.phase)] |= 1 << cell.fault as u32;
    }

    /// Adds each of these kinds at a call in a phase.
    pub fn insert_all(&mut self, faults: &[FaultKind], call: Called, phase: RunPhase) {
        let kinds = faults.iter().fold(0, |kinds, fault| kinds | (1 << *fault as u32));
        self.0[place(call, phase)] |= kinds;
    }

    /// Adds all cells of `other`.
    pub fn add(&mut self, other: &Cells) {
        for (own, others) in self.0.iter_mut().zip(&*other.0) {
            *own |= others;
        }
    }

    /// Whether a cell is in it.
    pub fn contains(&self, cell: Cell) -> bool {
        self.0[place(cell.call, cell.phase)] & (1 << cell.fault as u32) != 0
    }

    /// Whether every cell of it is in `other`.
    pub fn is_subset(&self, other: &Cells) -> bool {
        self.0.iter().zip(&*other.0).all(|(own, others)| own & !others == 0)
    }

    /// How many cells it has.
    pub fn len(&self) -> usize {
        self.0.iter().map(|kinds| kinds.count_ones() as usize).sum()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|kinds| *kinds == 0)
    }

    /// Its cells, by call, phase and fault.
    pub fn iter(&self) -> impl Iterator<Item = Cell> {
        let places = Called::ALL.iter().flat_map(|call| RunPhase::ALL.iter().map(move |phase| (*call, *phase)));
        places.flat_map(|(call, phase)| {
            let kinds = self.0[place(call, phase)];
            let here = FaultKind::ALL.into_iter().filter(move |fault| kinds & (1 << *fault as u32) != 0);
            here.map(move |fault| Cell { fault, call, phase })
        })
    }

    fn clear(&mut self) {
        self.0.fill(0);
    }
}

/// Which calls came up in which phase, by workers and by clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moments([[u16; Called::ALL.len()]; 2]);

const _: () = assert!(RunPhase::ALL.len() <= 16, "the phases of a call are one word");

impl Default for Moments {
    fn default() -> Self {
        Moments([[0; Called::ALL.len()]; 2])
    }
}

impl Moments {
    fn note(&mut self, by_worker: bool, call: Called, phase: RunPhase) {
        self.0[usize::from(by_worker)][call as usize] |= 1 << phase as u16;
    }

    /// Adds all of `other`.
    pub fn add(&mut self, other: &Moments) {
        for (own, others) in self.0.as_flattened_mut().iter_mut().zip(other.0.as_flattened()) {
            *own |= others;
        }
    }

    /// Each: whether by a worker, the call, the phase.
    pub fn iter(&self) -> impl Iterator<Item = (bool, Called, RunPhase)> {
        [false, true].into_iter().flat_map(move |by_worker| {
            let calls = Called::ALL.iter().zip(&self.0[usize::from(by_worker)]).filter(|(_, phases)| **phases != 0);
            calls.flat_map(move |(call, phases)| {
                let here = RunPhase::ALL.iter().filter(move |phase| phases & (1 << **phase as u16) != 0);
                here.map(move |phase| (by_worker, *call, *phase))
            })
        })
    }
}

/// What a history covers.
#[derive(Default)]
pub(super) struct Coverage {
    pub covered: Cells,
    pub moments: Moments,
}

impl Coverage {
    pub fn clear(&mut self) {
        self.covered.clear();
        self.moments = Moments::default();
    }

    /// A call is made.
    pub fn sent(&mut self, facts: &mut Facts, by_worker: bool, asked: &Asked, what: &What) {
        // A poll is struck only by what it grants.
        if !facts.phases.healed && !matches!(what, What::Lease { .. }) {
            let run = about(facts, asked, what);
            self.moments.note(by_worker, Called::of(asked), phase(facts, run));
        }
    }

    /// A request is applied: what is no call may deviate here. To be told before the facts have it.
    pub fn applied(&mut self, facts: &mut Facts, what: &What, reply: &Reply) {
        if facts.phases.healed {
            return;
        }
        match (what, reply) {
            (What::Lease { .. }, Reply::Leases(leases)) => {
                for lease in leases {
                    let run = facts.run_at(lease.key.run);
                    self.moments.note(true, Called::Term, phase(facts, Some(run)));
                }
            }
            (What::Heartbeat { run, .. }, _) => self.moments.note(true, Called::Term, phase(facts, Some(*run))),
            (What::Timer { run } | What::Release { run, .. }, _) => {
                self.moments.note(true, Called::Armed, phase(facts, Some(*run)));
            }
            _ => {}
        }
    }

    /// A run is granted to a worker. To be told after the facts have it.
    pub fn granted(&mut self, facts: &Facts, run: RunAt) {
        if !facts.phases.healed {
            self.moments.note(true, Called::Lease, phase(facts, Some(run)));
        }
    }

    /// A worker starts: what holds for it throughout is decided.
    pub fn started(&mut self) {
        self.moments.note(true, Called::Clock, RunPhase::Idle);
        self.moments.note(true, Called::Speed, RunPhase::Idle);
    }

    /// A deviation comes about.
    pub fn deviated(&mut self, facts: &Facts, fault: FaultKind, call: Called, run: Option<RunAt>) {
        self.covered.insert(Cell { fault, call, phase: phase(facts, run) });
    }
}

/// The run that a call is about: its own, its effect's, or the live one at its address.
fn about(facts: &mut Facts, asked: &Asked, what: &What) -> Option<RunAt> {
    match what {
        What::Lookup { effect } | What::Record { effect, .. } => facts.effects[*effect].intent.map(|(run, _)| run),
        What::Deliver { to: agent, .. } | What::Reserve { agent, .. } => facts.agents[*agent].live,
        _ => what.run().or_else(|| match asked.about() {
            About::Run(run) => Some(facts.run_at(run)),
            About::Mailbox(agent) => {
                let agent = facts.agent_at(agent);
                facts.agents[agent].live
            }
            About::Topic(_) | About::Neither => None,
        }),
    }
}

/// Where a run is in its life.
fn phase(facts: &Facts, run: Option<RunAt>) -> RunPhase {
    let Some((run, status)) = run.map(|run| &facts.runs[run]).and_then(|run| Some((run, run.status?))) else {
        return RunPhase::Idle;
    };
    let log = &run.log;
    if status.is_terminal() {
        return RunPhase::Ended;
    }
    if log.closed.is_some() {
        return RunPhase::Epilogue;
    }
    if !log.batch {
        return RunPhase::BeforeDrain;
    }
    let Some(holder) = run.holder else { return RunPhase::Waiting };
    if log.retry.is_some() {
        return RunPhase::Retrying;
    }
    if log.lease.is_none_or(|entry| entry.attempt < holder.attempt) {
        return RunPhase::Replaying;
    }
    match log.last_own {
        Own::Rests => RunPhase::Suspending,
        Own::Resumed => RunPhase::Replaying,
        Own::Other => RunPhase::Live,
    }
}
