//! A small virtual world for the runtime's own tests: one clock, one thread, workers that can die and freeze.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as Polling, Poll, Wake, Waker};

use super::line::{CLIENT, Fault, Line};
use crate::kernel::*;
use crate::runtime::{Agents, Client, Settings, Stopper, Worker};
use crate::store::memory::{Config, Local};

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Running {
    owner: u32,
    woken: Arc<Flag>,
    task: Option<Task>,
}

#[derive(Default)]
struct Timer {
    fired: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

/// Answers of a tool, first to last; the last one stays.
pub type Script = Vec<Result<Performed, CallError>>;

pub struct World {
    pub now: Rc<Cell<Timestamp>>,
    pub store: Local,
    pub asked: RefCell<Vec<(u32, Request)>>,
    /// What the store has applied, by whomever.
    pub applied: RefCell<Vec<Request>>,
    /// What the outside world was asked for: effect kind and key.
    pub performed: RefCell<Vec<(Name, EffectId)>>,
    pub tools: RefCell<BTreeMap<Name, Script>>,
    timers: RefCell<BTreeMap<(Timestamp, u64), Rc<Timer>>>,
    tasks: RefCell<BTreeMap<u64, Running>>,
    serial: Cell<u64>,
    pub frozen: RefCell<BTreeMap<u32, Timestamp>>,
    /// How far a worker's clock is behind.
    pub behind: RefCell<BTreeMap<u32, Span>>,
    dead: RefCell<Vec<u32>>,
    pub calls: RefCell<BTreeMap<u32, u32>>,
    pub stoppers: RefCell<BTreeMap<u32, Stopper>>,
    /// Worker, number of its call, and what happens there.
    pub faults: RefCell<Vec<(u32, u32, Fault)>>,
}

impl World {
    pub fn new() -> Rc<World> {
        let now = Rc::new(Cell::new(Timestamp::from_micros(1_000_000_000)));
        let clock = now.clone();
        let store = Local::new(Config::default(), Rc::new(move || clock.get()));
        Rc::new(World {
            now,
            store,
            asked: RefCell::default(),
            applied: RefCell::default(),
            performed: RefCell::default(),
            tools: RefCell::default(),
            timers: RefCell::default(),
            tasks: RefCell::default(),
            serial: Cell::new(0),
            frozen: RefCell::default(),
            behind: RefCell::default(),
            dead: RefCell::default(),
            calls: RefCell::default(),
            stoppers: RefCell::default(),
            faults: RefCell::default(),
        })
    }

    fn next(&self) -> u64 {
        self.serial.set(self.serial.get() + 1);
        self.serial.get()
    }

    pub fn sleep(&self, span: Span) -> Task {
        let timer = Rc::new(Timer::default());
        self.timers.borrow_mut().insert((self.now.get() + span.max(Span::ZERO), self.next()), timer.clone());
        Box::pin(poll_fn(move |cx| {
            if timer.fired.get() {
                return Poll::Ready(());
            }
            *timer.waker.borrow_mut() = Some(cx.waker().clone());
            Poll::Pending
        }))
    }

    pub fn spawn(&self, owner: u32, task: Task) {
        let woken = Arc::new(Flag(AtomicBool::new(true)));
        self.tasks.borrow_mut().insert(self.next(), Running { owner, woken, task: Some(task) });
    }

    /// Starts worker `owner`; it dies with [`World::crash`].
    pub fn start(self: &Rc<Self>, owner: u32, agents: &Rc<Agents>) -> Stopper {
        self.start_with(owner, agents, Settings { capacity: 3, ..Settings::default() })
    }

    pub fn start_with(self: &Rc<Self>, owner: u32, agents: &Rc<Agents>, settings: Settings) -> Stopper {
        let line = Rc::new(Line { world: self.clone(), owner });
        let id = WorkerId { name: format!("w{owner}").into(), incarnation: 0 };
        let worker = Worker::new(id, settings, line.clone(), line.clone(), line, agents.clone());
        let stopper = worker.stopper();
        self.stoppers.borrow_mut().insert(owner, stopper.clone());
        self.spawn(owner, worker.run());
        stopper
    }

    pub fn crash(&self, owner: u32) {
        self.dead.borrow_mut().push(owner);
    }

    /// How many calls a worker has made.
    pub fn calls_of(&self, owner: u32) -> u32 {
        self.calls.borrow().get(&owner).copied().unwrap_or(0)
    }

    /// Whether any task of a worker is there.
    pub fn is_alive(&self, owner: u32) -> bool {
        self.tasks.borrow().values().any(|running| running.owner == owner)
    }

    fn bury(&self) {
        let dead = std::mem::take(&mut *self.dead.borrow_mut());
        for owner in dead {
            let keys: Vec<u64> =
                self.tasks.borrow().iter().filter(|(_, task)| task.owner == owner).map(|(key, _)| *key).collect();
            for key in keys {
                let gone = self.tasks.borrow_mut().remove(&key);
                drop(gone);
            }
        }
    }

    /// Polls every woken task once; whether there was one.
    fn turn(&self) -> bool {
        let thaws = |owner: &u32| self.frozen.borrow().get(owner).is_none_or(|until| *until <= self.now.get());
        let ready: Vec<u64> = {
            let tasks = self.tasks.borrow();
            let woken = tasks.iter().filter(|(_, task)| task.woken.0.load(Ordering::Relaxed) && thaws(&task.owner));
            woken.map(|(key, _)| *key).collect()
        };
        for key in &ready {
            let Some((mut task, woken, owner)) = self.tasks.borrow_mut().get_mut(key).and_then(|running| {
                running.woken.0.store(false, Ordering::Relaxed);
                Some((running.task.take()?, running.woken.clone(), running.owner))
            }) else {
                continue;
            };
            if !thaws(&owner) {
                woken.0.store(true, Ordering::Relaxed);
                self.put_back(*key, task);
                continue;
            }
            let waker = Waker::from(woken);
            if task.as_mut().poll(&mut Polling::from_waker(&waker)).is_ready() {
                drop(task);
                self.tasks.borrow_mut().remove(key);
            } else {
                self.put_back(*key, task);
            }
            self.bury();
        }
        !ready.is_empty()
    }

    fn put_back(&self, key: u64, task: Task) {
        if let Some(running) = self.tasks.borrow_mut().get_mut(&key) {
            running.task = Some(task);
        }
    }

    /// Runs for `span` of virtual time.
    pub fn run(&self, span: Span) {
        let end = self.now.get() + span;
        let mut turns = 0;
        loop {
            self.bury();
            while self.turn() {
                turns += 1;
                assert!(turns < 2_000_000, "the world does not come to rest");
            }
            let thaw = self.frozen.borrow().values().copied().filter(|until| *until > self.now.get()).min();
            let timer = self.timers.borrow().keys().next().map(|(at, _)| *at);
            let Some(next) = [thaw, timer].into_iter().flatten().min().filter(|at| *at <= end) else { break };
            self.now.set(next.max(self.now.get()));
            while let Some(entry) = self.timers.borrow_mut().first_entry() {
                if entry.key().0 > self.now.get() {
                    break;
                }
                let timer = entry.remove();
                timer.fired.set(true);
                if let Some(waker) = timer.waker.borrow_mut().take() {
                    waker.wake();
                }
            }
        }
        self.now.set(end);
    }

    /// Runs until `done`, at most for `limit`.
    pub fn run_until(&self, limit: Span, done: impl Fn(&World) -> bool) -> bool {
        let end = self.now.get() + limit;
        while self.now.get() < end {
            if done(self) {
                return true;
            }
            self.run(Span::from_millis(500));
        }
        done(self)
    }

    /// Drives a future that needs nothing of this world's time.
    pub fn ask<T>(&self, future: impl Future<Output = Result<T, CallError>>) -> T {
        let mut future = std::pin::pin!(future);
        match future.as_mut().poll(&mut Polling::from_waker(Waker::noop())) {
            Poll::Ready(answer) => answer.expect("the plain store always answers"),
            Poll::Pending => unreachable!("the plain store answers at once"),
        }
    }

    pub fn deliver(&self, to: &str, id: &str) -> bool {
        let sender = "shop".parse().unwrap();
        let message = Message { id: id.into(), sender, data: Json::empty(), correlation: None, reply_to: None };
        self.ask(self.store.deliver(to.parse().unwrap(), message, true)).expect("the type is registered")
    }

    /// A client cancels a run.
    pub fn cancel(self: &Rc<Self>, run: RunId, reason: &str) {
        let line = Rc::new(Line { world: self.clone(), owner: CLIENT });
        let (client, reason) = (Client::new(line.clone(), line), Name::from(reason));
        self.spawn(CLIENT, Box::pin(async move { client.cancel(run, reason).await }));
    }

    pub fn register(&self, agents: &Agents) {
        for (kind, registration) in &agents.0 {
            self.ask(self.store.register(kind.clone(), registration.version, registration.defaults.clone()));
        }
    }

    pub fn run_of(&self, agent: &str) -> RunId {
        self.ask(self.store.run_of(agent.parse().unwrap())).expect("the address has a live run")
    }

    /// The first run that the store made.
    pub fn first_run(&self) -> RunId {
        RunId::from_parts(1_000_000, 1)
    }

    pub fn log(&self, run: RunId) -> Vec<RunLogEntry> {
        self.ask(self.store.read(run, Seq::FIRST))
    }

    pub fn kinds(&self, run: RunId) -> Vec<String> {
        self.log(run).iter().map(|entry| entry.kind().to_owned()).collect()
    }

    pub fn status(&self, run: RunId) -> RunStatus {
        self.ask(self.store.status(run)).expect("the run is known").status
    }

    pub fn ending(&self, run: RunId) -> Ending {
        self.log(run).last().and_then(|entry| entry.body.ending().cloned()).expect("the log is closed")
    }

    /// How often an effect of this kind was asked for outside.
    pub fn count(&self, kind: &str) -> usize {
        self.performed.borrow().iter().filter(|(performed, _)| &**performed == kind).count()
    }

    /// What a tool answers; it is noted as asked.
    pub fn script(&self, effect: &Effect) -> Result<Performed, CallError> {
        self.performed.borrow_mut().push((effect.kind.clone(), effect.id));
        let done = || Ok(Performed::Done(Json::new(serde_json::json!({ "id": effect.id.to_string() }))));
        match self.tools.borrow_mut().get_mut(&effect.kind) {
            Some(script) if script.len() > 1 => script.remove(0),
            Some(script) => script.first().cloned().unwrap_or_else(done),
            None => done(),
        }
    }
}

/// An hour of the world.
pub const HOUR: Span = Span::from_secs(3600);

/// One worker, one message to `a`, an hour; the run.
pub fn ran(world: &Rc<World>, agents: &Rc<Agents>) -> RunId {
    world.register(agents);
    world.deliver("a", "m1");
    let run = world.run_of("a");
    world.start(1, agents);
    world.run(HOUR);
    run
}

/// What a run completed with.
pub fn output(world: &World, run: RunId) -> Json {
    match world.ending(run) {
        Ending::Completed { output, .. } => output,
        other => panic!("{other:?}"),
    }
}
