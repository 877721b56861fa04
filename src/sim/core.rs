//! What the world knows, apart from its tasks: time, agenda, workers, calls on their way, store and outside.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::task::Waker;

use super::course::Course;
use super::decide::{Decider, Place};
use super::executor::{Agenda, Group};
use super::hold::Held;
use super::outside::OutsideWorld;
use super::schedule::Fault;
use super::site::{Aliases, Class, Site, Tries, Who, Words};
use super::world::{Setup, Watcher};
use crate::history::{About, Actor, ActorChange, Called, Event, RunningHash};
use crate::kernel::{AgentId, Attempt, EffectId, Name, RunId, RunIds, Span, Step, Task, Timestamp, WorkerId};
use crate::store::memory::{Memory, Surroundings};

use super::transport::Calls;

/// Who calls: a worker by its place, or a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Caller {
    Worker(usize),
    Input(u32),
    Probe,
}

/// What may be on the agenda.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) enum Due {
    /// A request that its caller's pause held back is sent.
    Dispatch(u32),
    /// A request arrives.
    Arrive(u32),
    /// A reply arrives.
    Reply(u32),
    /// A caller gives a call up.
    Timeout(u32),
    /// A sleep is over.
    Wake { sleep: u32, turn: u32 },
    /// A parked lease poll is looked at.
    Poll { worker: usize, turn: u32 },
    /// A worker starts anew.
    Restart(usize),
    /// A pause ends.
    Unfreeze { worker: usize, turn: u32 },
    /// A cut ends.
    Reconnect { worker: usize, turn: u32 },
    /// The store can be reached again.
    StoreUp { turn: u32 },
    /// An input's time has come.
    Input(u32),
    /// A request has been held back for as long as it may.
    LetGo { hold: u32 },
}

/// A parked lease poll.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct ParkedPoll {
    pub call: u32,
    pub since: Timestamp,
}

/// A worker, as the world sees it.
pub(super) struct WorkerState {
    pub name: Name,
    pub incarnation: u32,
    pub alive: bool,
    /// It dies once the poll that runs is over; what it calls till then is never sent.
    pub doomed: bool,
    /// The turn of the pause, or cut, that it is in.
    pub frozen: Option<u32>,
    pub cut: Option<u32>,
    pub clock_off: Span,
    pub slow: u32,
    pub poll: Option<ParkedPoll>,
    /// When the poll is looked at next, and the turn of that look.
    pub poll_at: Option<(Timestamp, u32)>,
    /// Counts what may still be on the agenda for an earlier poll, pause or cut.
    pub turn: u32,
    /// What came due while it was frozen, and the tasks that were woken.
    pub deferred: Vec<Due>,
    pub woken: Vec<u32>,
    pub stop: Option<Rc<dyn Fn()>>,
    /// After a graceful stop: how long until it starts anew.
    pub restart_after: Option<Span>,
    /// The last grant of each run to this worker.
    pub attempts: BTreeMap<RunId, Attempt>,
}

impl WorkerState {
    fn new(name: Name) -> Self {
        WorkerState {
            name,
            incarnation: 0,
            alive: false,
            doomed: false,
            frozen: None,
            cut: None,
            clock_off: Span::ZERO,
            slow: 1,
            poll: None,
            poll_at: None,
            turn: 0,
            deferred: Vec::new(),
            woken: Vec::new(),
            stop: None,
            restart_after: None,
            attempts: BTreeMap::new(),
        }
    }

    pub fn id(&self) -> WorkerId {
        WorkerId { name: self.name.clone(), incarnation: self.incarnation }
    }

    /// Whether a parked poll of it can be answered now.
    pub fn can_be_granted(&self) -> bool {
        self.alive && self.frozen.is_none() && self.cut.is_none() && self.poll.is_some()
    }
}

/// A sleep of a task.
#[derive(Default)]
pub(super) struct SleepSlot {
    pub turn: u32,
    pub worker: Option<usize>,
    pub over: bool,
    pub waker: Option<Waker>,
}

/// Workers boot this long before a world's start, so that its first inputs find their agents registered.
const BOOT: Span = Span::from_secs(1);

/// What a poll of a task asks of the world's loop, once the poll is over.
pub(super) enum Wish {
    /// A worker dies now, and starts anew after the span.
    Kill(usize, Span),
    /// A worker has stopped gracefully.
    Stopped(usize),
    /// A worker is asked to stop gracefully.
    Stop(usize),
    /// A task is started.
    Spawn(Group, Task),
}

/// Whether and how the store can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Reach {
    Up,
    /// Requests are lost.
    Silent,
    /// Requests are not taken, and their senders hear so.
    Refusing,
}

/// The world's state; tasks and the loop share it.
pub(super) struct Core {
    pub now: Timestamp,
    pub start: Timestamp,
    pub tick: Span,
    pub latency: Span,
    /// Keys the latencies of calls, where they are not the calm ones.
    pub latencies: Option<u64>,
    pub agenda: Agenda<Due>,
    pub workers: Vec<WorkerState>,
    pub worker_names: Vec<Name>,
    pub calls: Calls,
    pub sleeps: Vec<SleepSlot>,
    pub free_sleeps: Vec<u32>,
    pub wishes: Vec<Wish>,
    pub memory: Memory,
    pub reach: Reach,
    pub reach_turn: u32,
    pub outside: OutsideWorld,
    pub decider: Decider,
    pub aliases: Aliases,
    pub tries: Tries,
    pub effects: BTreeMap<EffectId, (RunId, Step, Name)>,
    pub hash: RunningHash,
    /// What the world did so far, where somebody wants to know its state at each site.
    pub course: Option<Course>,
    pub events: u64,
    pub lost_leases: u32,
    /// Tails that wait at the store for an entry.
    pub tails: Vec<(RunId, u32)>,
    /// Requests that are held back, in the order of their sending, and how many there ever were.
    pub held: Vec<Held>,
    pub holds: u32,
    watcher: Rc<RefCell<dyn Watcher>>,
}

impl Core {
    pub fn new(setup: &Setup, decider: Decider, watcher: Rc<RefCell<dyn Watcher>>) -> Self {
        let header = &setup.header;
        Core {
            now: header.start - BOOT,
            start: header.start,
            tick: header.poll,
            latency: setup.latency,
            latencies: setup.latencies,
            agenda: Agenda::default(),
            workers: header.workers.iter().cloned().map(WorkerState::new).collect(),
            worker_names: header.workers.clone(),
            calls: Calls::default(),
            sleeps: Vec::new(),
            free_sleeps: Vec::new(),
            wishes: Vec::new(),
            memory: Memory::new(setup.store.clone()),
            reach: Reach::Up,
            reach_turn: 0,
            outside: OutsideWorld::new(&setup.tools),
            course: decider.listing.is_some().then(Course::default),
            decider,
            aliases: Aliases::new(&header.scenario, header.start),
            tries: Tries::default(),
            effects: BTreeMap::new(),
            hash: RunningHash::default(),
            events: 0,
            lost_leases: 0,
            tails: Vec::new(),
            held: Vec::new(),
            holds: 0,
            watcher,
        }
    }

    /// Adds an event to the history.
    pub fn note(&mut self, event: Event) {
        self.events += 1;
        self.hash.note(&self.now.as_micros());
        self.hash.note(&event);
        if let Some(course) = &mut self.course {
            course.note_event(self.now, &event);
        }
        self.watcher.borrow_mut().observe(self.now, event);
    }

    /// Notes what became of a worker.
    pub fn note_worker(&mut self, worker: usize, change: ActorChange) {
        let actor = Actor::Worker(self.workers[worker].id());
        self.note(Event::Actor { actor, change });
    }

    /// The actor behind a caller.
    pub fn actor(&self, caller: Caller) -> Actor {
        match caller {
            Caller::Worker(worker) => Actor::Worker(self.workers[worker].id()),
            Caller::Input(input) => Actor::Input(input),
            Caller::Probe => Actor::Probe,
        }
    }

    /// Decides about something of a worker's that is no call; its site, and the fault.
    pub fn decide_other(
        &mut self,
        worker: usize,
        who: Who,
        class: Class,
        called: Called,
        what: &'static str,
    ) -> (Site, Option<Fault>) {
        let site = self.tries.next(who, class.number(), 0);
        self.note_state();
        // A plan that names `lease` among its calls means the grants.
        let method = if class == Class::Grant { "lease" } else { what };
        let about = match who {
            Who::Lease(run, _) => About::Run(run),
            _ => About::Neither,
        };
        let by = Some(self.by(Caller::Worker(worker)));
        let worker = Some(&self.worker_names[worker]);
        let place = Place { at: self.now, class, site, who, called, about, method, worker, by, tool: None };
        let words = Words { aliases: &self.aliases, workers: &self.worker_names, effects: &self.effects };
        let fault = self.decider.decide(&place, &words, || words.other(who, what, site.nth));
        if fault.is_some() {
            self.note_deviation();
        }
        (site, fault)
    }

    /// Adds the deviation that was taken last to the history.
    pub fn note_deviation(&mut self) {
        let event = self.decider.last_taken();
        self.note(event);
    }

    /// A new sleep of `span` for a task of `worker`.
    pub fn sleep(&mut self, worker: Option<usize>, span: Span) -> (u32, u32) {
        let sleep = self.free_sleeps.pop().unwrap_or_else(|| {
            self.sleeps.push(SleepSlot::default());
            u32::try_from(self.sleeps.len() - 1).expect("fewer than 2^32 sleeps")
        });
        let slot = &mut self.sleeps[sleep as usize];
        slot.worker = worker;
        slot.over = false;
        let turn = slot.turn;
        self.agenda.push(self.now + span.max(Span::ZERO), Due::Wake { sleep, turn });
        (sleep, turn)
    }

    /// A sleep is over or given up: its slot may serve again.
    pub fn end_sleep(&mut self, sleep: u32) {
        let slot = &mut self.sleeps[sleep as usize];
        slot.turn += 1;
        slot.waker = None;
        self.free_sleeps.push(sleep);
    }

    /// A worker dies at once, and starts anew after `restart`.
    pub fn doom(&mut self, worker: usize, restart: Span) {
        self.workers[worker].doomed = true;
        self.wishes.push(Wish::Kill(worker, restart));
    }

    /// Freezes a worker for a while.
    pub fn freeze(&mut self, worker: usize, lasts: Span) {
        let state = &mut self.workers[worker];
        if state.frozen.is_some() || !state.alive {
            return;
        }
        state.turn += 1;
        let turn = state.turn;
        state.frozen = Some(turn);
        self.agenda.push(self.now + lasts, Due::Unfreeze { worker, turn });
        self.note_worker(worker, ActorChange::Paused);
    }

    /// Cuts a worker off for a while.
    pub fn cut_off(&mut self, worker: usize, lasts: Span) {
        let state = &mut self.workers[worker];
        if state.cut.is_some() || !state.alive {
            return;
        }
        state.turn += 1;
        let turn = state.turn;
        state.cut = Some(turn);
        self.agenda.push(self.now + lasts, Due::Reconnect { worker, turn });
        self.note_worker(worker, ActorChange::CutOff);
    }

    /// Makes the store unreachable for a while.
    pub fn store_down(&mut self, how: Reach, lasts: Span) {
        if self.reach != Reach::Up {
            return;
        }
        self.reach = how;
        self.reach_turn += 1;
        let turn = self.reach_turn;
        self.agenda.push(self.now + lasts, Due::StoreUp { turn });
        self.note(Event::StoreReach { up: false });
    }

    /// Puts every parked poll that could be answered on the agenda, at its worker's first tick then.
    pub fn schedule_polls(&mut self) {
        if self.reach != Reach::Up || self.workers.iter().all(|worker| worker.poll.is_none()) {
            return;
        }
        let Some(grantable) = self.memory.grantable_at(self.now) else { return };
        let workers = i64::try_from(self.workers.len()).expect("few workers");
        for place in 0..self.workers.len() {
            let state = &mut self.workers[place];
            if !state.can_be_granted() {
                continue;
            }
            let since = state.poll.expect("it has a poll").since;
            let offset = self.tick.times(i64::try_from(place).expect("few workers")).part(workers);
            let first = self.start - BOOT + offset;
            let wanted = grantable.max(since).max(self.now).max(first);
            let tick = self.tick.as_micros().max(1);
            let ticks = (wanted.since(first).as_micros() + tick - 1) / tick;
            let at = first + Span::from_micros(ticks.saturating_mul(tick));
            if state.poll_at.is_none_or(|(planned, _)| at < planned) {
                state.turn += 1;
                state.poll_at = Some((at, state.turn));
                self.agenda.push(at, Due::Poll { worker: place, turn: state.turn });
            }
        }
    }
}

/// What the machine under the store decides for it.
pub(super) struct Around<'a> {
    pub now: Timestamp,
    pub decider: &'a mut Decider,
    pub aliases: &'a mut Aliases,
    pub tries: &'a mut Tries,
    pub workers: &'a [Name],
    pub effects: &'a BTreeMap<EffectId, (RunId, Step, Name)>,
    /// Deviations taken here, for the caller to note.
    pub taken: Vec<Event>,
}

impl Around<'_> {
    fn decide(&mut self, who: Who, class: Class, called: Called, what: &'static str) -> Option<Fault> {
        let site = self.tries.next(who, class.number(), 0);
        let (at, about) = (self.now, About::Neither);
        let place = Place { at, class, site, who, called, about, method: what, worker: None, by: None, tool: None };
        let words = Words { aliases: self.aliases, workers: self.workers, effects: self.effects };
        let fault = self.decider.decide(&place, &words, || words.other(who, what, site.nth));
        if fault.is_some() {
            self.taken.push(self.decider.last_taken());
        }
        fault
    }
}

impl RunIds for Around<'_> {
    fn mint(&mut self, agent: &AgentId, nth: u32) -> RunId {
        self.aliases.mint(agent, nth)
    }
}

impl Surroundings for Around<'_> {
    fn timer_late(&mut self, run: RunId, _at: Timestamp) -> Span {
        match self.decide(Who::Run(run), Class::Timer, Called::Armed, "timer") {
            Some(Fault::TimerLate { by }) => by,
            _ => Span::ZERO,
        }
    }

    fn lease_span(&mut self, run: RunId, attempt: Attempt, asked: Span) -> Span {
        match self.decide(Who::Lease(run, attempt), Class::Term, Called::Term, "term") {
            Some(Fault::ShortLease { to }) => to.min(asked),
            _ => asked,
        }
    }
}
