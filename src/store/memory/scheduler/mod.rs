//! The dispatcher: which runs there are, which of them need attention, and who holds which.
//!
//! Every status has its own order, so that no call looks at all runs: pending runs stand in the [`Queue`],
//! running ones by expiry, sleeping ones by the first time that wakes them. Ties go by the number of the run.
//! An ended run stands nowhere; only its tombstone is kept. Nor does a reserved one, which nobody may lease.

mod facts;
mod leases;
mod nursery;
mod queue;
mod run;
mod trees;
mod waking;

pub(super) use facts::Facts;
pub use queue::WAIT_MAX;
pub(super) use run::{Run, State};

use super::{Config, Transition};
use crate::history::Change;
use crate::kernel::{
    AgentId, Created, Message, Name, RunId, RunSpec, Span, SpecDefaults, Step, Timestamp, Trigger, UnknownAgent,
    Version, Wakeup,
};
use nursery::Spawn;
use queue::Queue;
use run::RunNo;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Index, IndexMut};
use trees::Trees;

/// All runs, the addresses they live at, and the agent types they are made of.
#[derive(Clone, Debug, Default)]
pub(super) struct Scheduler {
    kinds: BTreeMap<Name, Registration>,
    runs: Runs,
    by_id: BTreeMap<RunId, RunNo>,
    addresses: BTreeMap<AgentId, Address>,
    queue: Queue,
    /// Running runs, by expiry of their lease.
    expiries: BTreeSet<(Timestamp, RunNo)>,
    /// Sleeping runs that a time or their deadline wakes, by the first of these.
    due: BTreeSet<(Timestamp, RunNo)>,
    halted: BTreeSet<RunNo>,
    trees: Trees,
    /// What each step of a parent that asked for a child was told.
    spawns: BTreeMap<(RunNo, Step), Spawn>,
}

/// Every run that was ever made, in that order.
#[derive(Clone, Debug, Default)]
struct Runs(Vec<Run>);

impl Index<RunNo> for Runs {
    type Output = Run;
    fn index(&self, no: RunNo) -> &Run {
        &self.0[no.0 as usize]
    }
}

impl IndexMut<RunNo> for Runs {
    fn index_mut(&mut self, no: RunNo) -> &mut Run {
        &mut self.0[no.0 as usize]
    }
}

#[derive(Clone, Debug)]
struct Registration {
    version: Version,
    defaults: SpecDefaults,
}

#[derive(Clone, Debug, Default)]
struct Address {
    /// The one run there that has not ended; a reserved one counts.
    live: Option<RunNo>,
    /// How many runs were ever made there.
    runs: u32,
}

/// Agent types and the making of runs.
impl Scheduler {
    /// Makes an agent type known. A lower version changes nothing, an equal one renews the defaults, a higher
    /// one also ends the halt of the type's runs.
    pub fn register(&mut self, kind: &Name, version: Version, defaults: &SpecDefaults, at: &mut Transition<'_>) {
        let known = self.kinds.get(kind).map(|registration| registration.version);
        if known.is_some_and(|known| version < known) {
            return;
        }
        self.kinds.insert(kind.clone(), Registration { version, defaults: defaults.clone() });
        if known.is_some_and(|known| version > known) {
            let halted = self.halted.iter().copied();
            let of_kind: Vec<_> = halted.filter(|no| self.runs[*no].spec.agent.kind() == &**kind).collect();
            for no in of_kind {
                self.queue_up(no, vec![Trigger::Resume], Vec::new(), at);
            }
        }
    }

    /// Refuses an address whose type nobody registered.
    pub fn require(&self, agent: &AgentId) -> Result<(), UnknownAgent> {
        let kind = agent.kind();
        if self.kinds.contains_key(kind) { Ok(()) } else { Err(UnknownAgent { kind: kind.into() }) }
    }

    /// Why a run of this id and address cannot be made, if it cannot.
    pub fn obstacle(&self, run: RunId, agent: &AgentId) -> Option<Created> {
        if self.by_id.contains_key(&run) {
            return Some(Created::Exists);
        }
        self.live_no(agent).map(|_| Created::Busy)
    }

    /// Makes a pending run, the root of a tree; there must be no [`Scheduler::obstacle`].
    pub fn create(&mut self, spec: RunSpec, woken_by: Vec<Trigger>, at: &mut Transition<'_>) {
        debug_assert_eq!(self.obstacle(spec.run, &spec.agent), None);
        let spec = RunSpec { parent: None, tree: spec.run, ..spec };
        let no = self.seat(Run::new(spec, State::Pending { woken_by, waits: Vec::new() }), None);
        self.made(no, at);
    }

    /// Gives a new run its number, its address and a unit of the tree of `root`, or of its own.
    fn seat(&mut self, run: Run, root: Option<RunNo>) -> RunNo {
        let no = RunNo(u32::try_from(self.runs.0.len()).expect("a store holds fewer than 2^32 runs"));
        self.by_id.insert(run.spec.run, no);
        let address = self.addresses.entry(run.spec.agent.clone()).or_default();
        address.live = Some(no);
        address.runs += 1;
        self.trees.plant(no, root.unwrap_or(no));
        self.runs.0.push(run);
        no
    }

    /// A pending run is told and queued.
    fn made(&mut self, no: RunNo, at: &mut Transition<'_>) {
        let spec = &self.runs[no].spec;
        at.changes.push(Change::Made { run: spec.run, agent: spec.agent.clone() });
        self.queue.push(no, &spec.settings.tenant, spec.settings.priority, at.now);
    }

    /// Nobody lives at an address any more.
    fn vacate(&mut self, agent: &AgentId) {
        if let Some(address) = self.addresses.get_mut(agent) {
            address.live = None;
        }
    }

    /// The id of the next run at an address.
    fn mint(&self, agent: &AgentId, at: &mut Transition<'_>) -> RunId {
        let mut nth = self.addresses.get(agent).map_or(0, |address| address.runs);
        loop {
            nth += 1;
            let minted = at.surroundings.mint(agent, nth);
            if !self.by_id.contains_key(&minted) {
                return minted;
            }
        }
    }

    /// Makes a pending run for mail at an address without a live run: a root of its own, as registered.
    fn create_for_mail(&mut self, agent: &AgentId, message: &Message, at: &mut Transition<'_>) {
        let Some(registration) = self.kinds.get(agent.kind()) else { return };
        let settings = registration.defaults.clone();
        let run = self.mint(agent, at);
        let spec = RunSpec::root(run, agent.clone(), settings);
        self.create(spec, vec![mail_trigger(message)], at);
    }

    /// Mail is pending at an address: its live run is told, or a run is made.
    pub fn mail(&mut self, agent: &AgentId, message: &Message, facts: &Facts<'_>, at: &mut Transition<'_>) {
        match self.live_no(agent) {
            Some(no) => self.look(no, None, facts, at),
            None => self.create_for_mail(agent, message, at),
        }
    }
}

/// What is known of runs.
impl Scheduler {
    fn live_no(&self, agent: &AgentId) -> Option<RunNo> {
        self.addresses.get(agent)?.live
    }

    /// The run of this id, unless it has ended.
    fn live(&self, run: RunId) -> Option<RunNo> {
        self.by_id.get(&run).copied().filter(|no| !self.runs[*no].has_ended())
    }

    /// Whether there is such a run and it has not ended.
    pub fn is_live(&self, run: RunId) -> bool {
        self.live(run).is_some()
    }

    pub fn get(&self, run: RunId) -> Option<&Run> {
        self.by_id.get(&run).map(|no| &self.runs[*no])
    }

    pub fn live_at(&self, agent: &AgentId) -> Option<RunId> {
        self.live_no(agent).map(|no| self.runs[no].spec.run)
    }

    /// Every run, in the order in which they were made.
    pub fn all(&self) -> impl Iterator<Item = &Run> {
        self.runs.0.iter()
    }

    /// The queue, first to go first.
    pub fn queue(&self, now: Timestamp) -> Vec<RunId> {
        self.queue.in_order(now).into_iter().map(|no| self.runs[no].spec.run).collect()
    }

    /// The earliest instant, `now` or later, at which a poll would grant something.
    pub fn grantable_at(&self, now: Timestamp) -> Option<Timestamp> {
        if !self.queue.is_empty() {
            return Some(now);
        }
        let expiry = self.expiries.first().map(|(expires_at, _)| *expires_at + Span::from_micros(1));
        let due = self.due.first().map(|(due, _)| *due);
        [expiry, due].into_iter().flatten().min().map(|instant| instant.max(now))
    }

    pub fn clear(&mut self) {
        self.kinds.clear();
        self.runs.0.clear();
        self.by_id.clear();
        self.addresses.clear();
        self.queue.clear();
        self.expiries.clear();
        self.due.clear();
        self.halted.clear();
        self.trees.clear();
        self.spawns.clear();
    }
}

/// The trigger that a message is.
pub fn mail_trigger(message: &Message) -> Trigger {
    Trigger::Wakeup(Wakeup::Message { source_run: message.reply_to })
}
