//! One world, from its start to its end: chaos, healing, rest, a probe.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::core::{Caller, Core, Due, Reach, Wish};
use super::decide::Decider;
use super::executor::{Group, Tasks};
use super::faults::{FaultKind, Faults, Tool};
use super::machine::{CLIENTS, Machine};
use super::schedule::{Deviation, Fault, Schedule, SiteListing};
use super::site::{Class, Who};
use crate::history::{ActorChange, Called, Event, Header, Phase};
use crate::kernel::{Name, Span, Task, Timestamp, WorkerId};
use crate::store::memory::{self, Memory};

/// What a world is made of, apart from its programs.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What every history of it begins with.
    pub header: Header,
    /// What may go wrong.
    pub faults: Faults,
    /// How the tools of the outside behave.
    pub tools: BTreeMap<Name, Tool>,
    /// How long a request, or a reply, travels.
    pub latency: Span,
    /// A seed of other latencies: each call's is then between half and sixteen times that, by seed and site. Without
    /// one, all are alike but for a hundredth.
    pub latencies: Option<u64>,
    /// The store's own settings.
    pub store: memory::Config,
    /// When each input comes, after the start.
    pub inputs: Vec<Span>,
    /// The most events and polls before the world is given up as one that never comes to rest.
    pub events_max: u64,
}

/// A worker's program.
pub struct Program {
    /// Runs until it has stopped.
    pub task: Task,
    /// Asks it to stop gracefully.
    pub stop: Rc<dyn Fn()>,
}

/// Who plays: the programs of a world.
pub trait Cast {
    /// A worker starts, in this incarnation.
    fn worker(&self, id: WorkerId, machine: Machine) -> Program;

    /// The client of an input begins.
    fn input(&self, number: u32, machine: Machine) -> Task;

    /// After healing, the probe begins.
    fn probe(&self, machine: Machine) -> Task;
}

/// Who watches a history grow.
pub trait Watcher {
    /// Something happened.
    fn observe(&mut self, at: Timestamp, event: Event);
}

/// What is left of a world.
pub struct Remains {
    /// The running hash over the whole history.
    pub hash: u128,
    /// Events of the history.
    pub events: u64,
    /// Calls that were sent.
    pub calls: u32,
    /// When it was over.
    pub end: Timestamp,
    /// What deviated from the calm schedule.
    pub deviations: Vec<Deviation>,
    /// Listed deviations whose sites never came up.
    pub stale: Vec<Deviation>,
    /// The sites that came up, where they were asked for.
    pub sites: Vec<SiteListing>,
    /// The names of those that came up after healing, where nothing strikes.
    pub healed: Vec<Name>,
    /// Leases that ran out.
    pub lost_leases: u32,
    /// The store at the end.
    pub store: Memory,
    /// What each run is called.
    pub aliases: BTreeMap<crate::kernel::RunId, Name>,
}

/// Plays one world to its end.
pub fn play(
    setup: &Setup,
    cast: &dyn Cast,
    schedule: &Schedule,
    list_sites: bool,
    watcher: Rc<RefCell<dyn Watcher>>,
) -> Remains {
    let header = &setup.header;
    let decider = Decider::new(schedule, setup, list_sites);
    let core = Rc::new(RefCell::new(Core::new(setup, decider, watcher)));
    let mut world = World {
        core,
        tasks: Tasks::default(),
        cast,
        heal_at: header.start + setup.faults.until,
        left: setup.events_max,
    };
    world.live(setup);
    world.tasks.clear();
    // Programs hold the core: what the core holds of them has to go first, outside of its borrow.
    let (wishes, stops) = {
        let mut core = world.core.borrow_mut();
        let stops: Vec<_> = core.workers.iter_mut().map(|worker| worker.stop.take()).collect();
        (std::mem::take(&mut core.wishes), stops)
    };
    drop((wishes, stops));
    let mut core = world.core.borrow_mut();
    Remains {
        hash: core.hash.value(),
        events: core.events,
        calls: core.calls.made,
        end: core.now,
        stale: core.decider.stale(schedule),
        deviations: std::mem::take(&mut core.decider.taken),
        sites: core.decider.listing.take().unwrap_or_default(),
        healed: std::mem::take(&mut core.decider.healed),
        lost_leases: core.lost_leases,
        aliases: core.aliases.names(),
        store: std::mem::replace(&mut core.memory, Memory::new(setup.store.clone())),
    }
}

struct World<'a> {
    core: Rc<RefCell<Core>>,
    tasks: Tasks,
    cast: &'a dyn Cast,
    heal_at: Timestamp,
    /// How many more events and polls there may be.
    left: u64,
}

impl World<'_> {
    fn machine(&self, caller: Caller) -> Machine {
        Machine { core: self.core.clone(), caller }
    }

    fn note(&self, event: Event) {
        self.core.borrow_mut().note(event);
    }

    fn live(&mut self, setup: &Setup) {
        self.note(Event::Phase(Phase::Chaos));
        let workers = self.core.borrow().workers.len();
        for worker in 0..workers {
            self.throughout(worker);
            self.start_worker(worker);
        }
        {
            let mut core = self.core.borrow_mut();
            let start = core.start;
            for (number, after) in (0..).zip(&setup.inputs) {
                core.agenda.push(start + *after, Due::Input(number));
            }
        }
        self.run(Some(self.heal_at));
        self.heal();
        self.run(None);
        self.note(Event::Phase(Phase::Quiescent));
        self.note(Event::Phase(Phase::Probing));
        let probe = self.cast.probe(self.machine(Caller::Probe));
        self.tasks.spawn(CLIENTS, probe);
        self.run(None);
        self.note(Event::Phase(Phase::Quiescent));
        self.note(Event::Phase(Phase::Over));
    }

    /// What holds for a worker throughout.
    fn throughout(&mut self, worker: usize) {
        let mut core = self.core.borrow_mut();
        let who = Who::Worker(worker);
        let (_, clock) = core.decide_other(worker, who, Class::Clock, Called::Clock, "clock throughout");
        if let Some(Fault::ClockSkew { by }) = clock {
            core.workers[worker].clock_off = by;
        }
        let (_, speed) = core.decide_other(worker, who, Class::Speed, Called::Speed, "speed throughout");
        if let Some(Fault::Slow { factor }) = speed {
            core.workers[worker].slow = factor;
        }
    }

    fn start_worker(&mut self, worker: usize) {
        let id = {
            let mut core = self.core.borrow_mut();
            core.workers[worker].alive = true;
            core.workers[worker].restart_after = None;
            core.note_worker(worker, ActorChange::Started);
            core.workers[worker].id()
        };
        let program = self.cast.worker(id, self.machine(Caller::Worker(worker)));
        let core = self.core.clone();
        core.borrow_mut().workers[worker].stop = Some(program.stop);
        let task = async move {
            program.task.await;
            core.borrow_mut().wishes.push(Wish::Stopped(worker));
        };
        self.tasks.spawn(Group(u32::try_from(worker).expect("few workers")), Box::pin(task));
    }

    /// Runs until nothing is left to do, or the next thing comes after `until`.
    fn run(&mut self, until: Option<Timestamp>) {
        loop {
            self.run_woken();
            let mut core = self.core.borrow_mut();
            let next = core.agenda.next_at();
            if next.is_none_or(|next| until.is_some_and(|until| next > until)) {
                if core.let_go_eldest() {
                    continue;
                }
                if let (Some(_), Some(until)) = (next, until) {
                    core.now = until;
                }
                return;
            }
            let (at, due) = core.agenda.pop().expect("there is a next");
            drop(core);
            if self.left == 0 {
                self.note(Event::Phase(Phase::Exhausted));
                let mut core = self.core.borrow_mut();
                core.agenda.clear();
                core.held.clear();
                return;
            }
            self.left -= 1;
            self.happen(at, due);
        }
    }

    /// Polls every task that was woken, and carries out what the polls wish for.
    fn run_woken(&mut self) {
        self.grant_wishes();
        while let Some((task, group)) = self.tasks.next_woken() {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            let frozen = {
                let mut core = self.core.borrow_mut();
                match core.workers.get_mut(group.0 as usize) {
                    Some(worker) if worker.frozen.is_some() => {
                        worker.woken.push(task);
                        true
                    }
                    _ => false,
                }
            };
            if !frozen {
                if let Some(course) = &mut self.core.borrow_mut().course {
                    course.note(&task);
                }
                self.tasks.poll(task);
                self.grant_wishes();
            }
        }
    }

    fn grant_wishes(&mut self) {
        loop {
            let wishes = std::mem::take(&mut self.core.borrow_mut().wishes);
            if wishes.is_empty() {
                return;
            }
            for wish in wishes {
                match wish {
                    Wish::Spawn(group, task) => {
                        let alive = self.core.borrow().workers.get(group.0 as usize).is_none_or(|worker| worker.alive);
                        if alive {
                            self.tasks.spawn(group, task);
                        }
                    }
                    Wish::Kill(worker, restart) => self.kill(worker, restart, ActorChange::Crashed),
                    Wish::Stopped(worker) => {
                        let restart = self.core.borrow().workers[worker].restart_after.unwrap_or(Span::ZERO);
                        self.kill(worker, restart, ActorChange::Stopped);
                    }
                    Wish::Stop(worker) => {
                        let stop = {
                            let mut core = self.core.borrow_mut();
                            core.note_worker(worker, ActorChange::Stopping);
                            core.workers[worker].stop.clone()
                        };
                        if let Some(stop) = stop {
                            stop();
                        }
                    }
                }
            }
        }
    }

    /// A worker is gone: all its tasks are dropped; what it sent may still arrive.
    fn kill(&mut self, worker: usize, restart: Span, change: ActorChange) {
        if !self.core.borrow().workers[worker].alive {
            return;
        }
        self.core.borrow_mut().note_worker(worker, change);
        self.tasks.kill(Group(u32::try_from(worker).expect("few workers")));
        let mut core = self.core.borrow_mut();
        let at = core.now + restart;
        let state = &mut core.workers[worker];
        state.alive = false;
        state.doomed = false;
        state.frozen = None;
        state.cut = None;
        state.poll = None;
        state.poll_at = None;
        state.woken.clear();
        state.stop = None;
        state.attempts.clear();
        let deferred = std::mem::take(&mut state.deferred);
        core.forget(&deferred);
        core.agenda.push(at, Due::Restart(worker));
    }

    /// Something on the agenda comes due.
    fn happen(&mut self, at: Timestamp, due: Due) {
        let mut core = self.core.borrow_mut();
        if let Some(course) = &mut core.course {
            course.note(&(at, due));
        }
        if !core.is_live(&due) {
            core.forget(&[due]);
            return;
        }
        if let Due::Poll { worker, .. } = due
            && core.memory.grantable_at(at).is_none_or(|grantable| grantable > at)
        {
            // What was to be granted then is no longer: an empty poll is no event, and moves no clock.
            core.workers[worker].poll_at = None;
            core.schedule_polls();
            return;
        }
        core.now = at;
        if let Some(worker) = core.held_back(&due) {
            core.workers[worker].deferred.push(due);
            return;
        }
        match due {
            Due::Dispatch(place) => {
                // The call is made only now: its caller's patience begins here.
                let call = core.calls.at(place);
                call.deadline = at + call.deadline.since(call.sent_at);
                let latency = call.latency;
                core.dispatch(place, at, latency);
                core.calls.let_go(place);
            }
            Due::Arrive(place) => {
                core.arrive(place);
                core.calls.let_go(place);
            }
            Due::Reply(place) => {
                core.reply(place);
                core.calls.let_go(place);
            }
            Due::Timeout(place) => {
                core.settle(place, Err(crate::kernel::CallError::Unknown));
                core.calls.let_go(place);
            }
            Due::Wake { sleep, .. } => {
                let slot = &mut core.sleeps[sleep as usize];
                slot.over = true;
                if let Some(waker) = slot.waker.take() {
                    waker.wake();
                }
            }
            Due::Poll { worker, .. } => core.grant(worker),
            Due::Unfreeze { worker, .. } => {
                drop(core);
                self.unfreeze(worker);
            }
            Due::Reconnect { worker, .. } => {
                core.workers[worker].cut = None;
                core.note_worker(worker, ActorChange::Reachable);
                core.schedule_polls();
            }
            Due::StoreUp { .. } => {
                core.reach = Reach::Up;
                core.note(Event::StoreReach { up: true });
                core.schedule_polls();
            }
            Due::Restart(worker) => {
                core.workers[worker].incarnation += 1;
                drop(core);
                self.start_worker(worker);
            }
            Due::LetGo { hold } => core.let_go_in_time(hold),
            Due::Input(number) => {
                drop(core);
                let client = self.cast.input(number, self.machine(Caller::Input(number)));
                self.tasks.spawn(CLIENTS, client);
            }
        }
    }

    fn unfreeze(&mut self, worker: usize) {
        let mut core = self.core.borrow_mut();
        core.workers[worker].frozen = None;
        core.note_worker(worker, ActorChange::Resumed);
        let now = core.now;
        for due in std::mem::take(&mut core.workers[worker].deferred) {
            core.agenda.push(now, due);
        }
        for task in std::mem::take(&mut core.workers[worker].woken) {
            self.tasks.wake(task);
        }
        core.schedule_polls();
    }

    /// Faults stop, everything restarts and can be reached.
    fn heal(&mut self) {
        let workers = {
            let mut core = self.core.borrow_mut();
            core.note(Event::Phase(Phase::Healed));
            core.decider.heal();
            if core.reach != Reach::Up {
                core.reach = Reach::Up;
                core.note(Event::StoreReach { up: true });
            }
            core.workers.len()
        };
        for worker in 0..workers {
            let (frozen, alive) = {
                let mut core = self.core.borrow_mut();
                if core.workers[worker].cut.take().is_some() {
                    core.note_worker(worker, ActorChange::Reachable);
                }
                core.workers[worker].slow = 1;
                let now = core.now;
                if !core.workers[worker].alive {
                    core.agenda.push(now, Due::Restart(worker));
                }
                (core.workers[worker].frozen.is_some(), core.workers[worker].alive)
            };
            if frozen && alive {
                self.unfreeze(worker);
            }
        }
        self.core.borrow_mut().schedule_polls();
    }
}

impl Core {
    /// Whether what came due still means something.
    fn is_live(&mut self, due: &Due) -> bool {
        match *due {
            Due::Dispatch(place) => self.calls.at(place).waiting,
            Due::Timeout(place) | Due::Reply(place) => {
                let call = self.calls.at(place);
                call.waiting && !call.settled
            }
            Due::Wake { sleep, turn } => self.sleeps[sleep as usize].turn == turn,
            Due::Poll { worker, turn } => self.workers[worker].poll_at.is_some_and(|(_, planned)| planned == turn),
            Due::Unfreeze { worker, turn } => self.workers[worker].frozen == Some(turn),
            Due::Reconnect { worker, turn } => self.workers[worker].cut == Some(turn),
            Due::StoreUp { turn } => self.reach != Reach::Up && self.reach_turn == turn,
            Due::Restart(worker) => !self.workers[worker].alive,
            Due::LetGo { hold } => self.is_held(hold),
            Due::Arrive(_) | Due::Input(_) => true,
        }
    }

    /// The frozen worker that something is due at.
    fn held_back(&mut self, due: &Due) -> Option<usize> {
        let worker = match *due {
            Due::Dispatch(place) | Due::Timeout(place) | Due::Reply(place) => match self.calls.at(place).caller {
                Caller::Worker(worker) => worker,
                _ => return None,
            },
            Due::Wake { sleep, .. } => self.sleeps[sleep as usize].worker?,
            _ => return None,
        };
        self.workers[worker].frozen.map(|_| worker)
    }

    /// What was due will not happen: the calls it used are let go.
    fn forget(&mut self, dues: &[Due]) {
        for due in dues {
            if let Due::Dispatch(place) | Due::Timeout(place) | Due::Reply(place) | Due::Arrive(place) = *due {
                self.calls.let_go(place);
            }
        }
    }
}

/// How often each kind of fault came about.
pub fn count_kinds(deviations: &[Deviation]) -> BTreeMap<FaultKind, u32> {
    let mut counts = BTreeMap::new();
    for deviation in deviations {
        *counts.entry(deviation.fault.kind()).or_insert(0) += 1;
    }
    counts
}
