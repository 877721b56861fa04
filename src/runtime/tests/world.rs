//! A small virtual world for the runtime's own tests: one clock, one thread, workers that can die, freeze or
//! lose calls at a chosen call.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as Polling, Poll, Wake, Waker};

use crate::kernel::*;
use crate::runtime::{Agents, Client, Settings, Stopper, Worker};
use crate::store::memory::{Config, Local};

/// How long every call takes on its way, and again on its way back.
const LEG: Span = Span::from_millis(1);

/// The owner of a client's tasks.
const CLIENT: u32 = 1_000;

/// What happens at a chosen call of a chosen worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The worker dies before the request leaves.
    CrashBefore,
    /// The worker dies when the request has been applied.
    CrashAfter,
    /// The worker dies with the request in flight; it is applied 40 s later.
    CrashInFlight,
    /// The request is lost, the caller told unknown.
    LostRequest,
    /// The reply is lost, the caller told unknown.
    LostReply,
    /// The caller is told unknown; the request is applied 3 s after that.
    LateRequest,
    /// The store does not take the request.
    Unavailable,
    /// The worker freezes for two minutes before the request leaves.
    Freeze,
    /// The worker freezes for two minutes when the request has been applied.
    FreezeAfter,
    /// A client cancels the run meanwhile.
    Cancel,
    /// The worker is told to stop gracefully.
    Stop,
}

/// The faults that hurt.
pub const FAULTS: [Fault; 9] = [
    Fault::CrashBefore,
    Fault::CrashAfter,
    Fault::CrashInFlight,
    Fault::LostRequest,
    Fault::LostReply,
    Fault::LateRequest,
    Fault::Unavailable,
    Fault::Freeze,
    Fault::FreezeAfter,
];

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
    /// What the outside world was asked for: effect kind and key.
    pub performed: RefCell<Vec<(Name, EffectId)>>,
    pub tools: RefCell<BTreeMap<Name, Script>>,
    timers: RefCell<BTreeMap<(Timestamp, u64), Rc<Timer>>>,
    tasks: RefCell<BTreeMap<u64, Running>>,
    serial: Cell<u64>,
    frozen: RefCell<BTreeMap<u32, Timestamp>>,
    dead: RefCell<Vec<u32>>,
    calls: RefCell<BTreeMap<u32, u32>>,
    stoppers: RefCell<BTreeMap<u32, Stopper>>,
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
            performed: RefCell::default(),
            tools: RefCell::default(),
            timers: RefCell::default(),
            tasks: RefCell::default(),
            serial: Cell::new(0),
            frozen: RefCell::default(),
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

    fn script(&self, effect: &Effect) -> Result<Performed, CallError> {
        self.performed.borrow_mut().push((effect.kind.clone(), effect.id));
        let done = || Ok(Performed::Done(Json::new(serde_json::json!({ "id": effect.id.to_string() }))));
        match self.tools.borrow_mut().get_mut(&effect.kind) {
            Some(script) if script.len() > 1 => script.remove(0),
            Some(script) => script.first().cloned().unwrap_or_else(done),
            None => done(),
        }
    }
}

/// A worker's way to everything.
pub struct Line {
    pub world: Rc<World>,
    pub owner: u32,
}

impl Line {
    /// Carries a call: `apply` is what it does at its far end.
    fn carry<T: 'static>(
        &self,
        waits: Span,
        apply: impl Fn(&World) -> Option<Result<T, CallError>> + 'static,
    ) -> Calling<T> {
        let (world, owner) = (self.world.clone(), self.owner);
        let number = {
            let mut calls = world.calls.borrow_mut();
            let count = calls.entry(owner).or_default();
            *count += 1;
            *count - 1
        };
        let fault = world.faults.borrow().iter().find(|(who, nth, _)| (*who, *nth) == (owner, number)).map(|f| f.2);
        let two_minutes = Span::from_secs(120);
        Box::pin(async move {
            match fault {
                Some(Fault::CrashBefore) => {
                    world.crash(owner);
                    return std::future::pending().await;
                }
                Some(Fault::CrashInFlight) => {
                    let (later, task) = (world.sleep(Span::from_secs(40)), world.clone());
                    world.spawn(
                        u32::MAX,
                        Box::pin(async move {
                            later.await;
                            apply(&task);
                        }),
                    );
                    world.crash(owner);
                    return std::future::pending().await;
                }
                Some(Fault::LateRequest) => {
                    let (later, task) = (world.sleep(CALL_TIMEOUT + Span::from_secs(3)), world.clone());
                    world.spawn(
                        u32::MAX,
                        Box::pin(async move {
                            later.await;
                            apply(&task);
                        }),
                    );
                    world.sleep(CALL_TIMEOUT).await;
                    return Err(CallError::Unknown);
                }
                Some(Fault::LostRequest) => {
                    world.sleep(CALL_TIMEOUT).await;
                    return Err(CallError::Unknown);
                }
                Some(Fault::Cancel) => {
                    let line = Rc::new(Line { world: world.clone(), owner: CLIENT });
                    let (client, run) = (Client::new(line.clone(), line), world.first_run());
                    world.spawn(CLIENT, Box::pin(async move { client.cancel(run, "enough".into()).await }));
                }
                Some(Fault::Stop) => world.stoppers.borrow()[&owner].stop(),
                Some(Fault::Unavailable) => return Err(CallError::Unavailable),
                Some(Fault::Freeze) => {
                    world.frozen.borrow_mut().insert(owner, world.now.get() + two_minutes);
                }
                _ => {}
            }
            world.sleep(LEG).await;
            let until = world.now.get() + waits;
            let answer = loop {
                match apply(&world) {
                    Some(answer) => break answer,
                    None if world.now.get() >= until => return Err(CallError::Unknown),
                    None => world.sleep(Span::from_millis(500)).await,
                }
            };
            match fault {
                Some(Fault::CrashAfter) => {
                    world.crash(owner);
                    return std::future::pending().await;
                }
                Some(Fault::LostReply) => {
                    world.sleep(CALL_TIMEOUT).await;
                    return Err(CallError::Unknown);
                }
                Some(Fault::FreezeAfter) => {
                    world.frozen.borrow_mut().insert(owner, world.now.get() + two_minutes);
                }
                _ => {}
            }
            world.sleep(LEG).await;
            answer
        })
    }
}

impl Store for Line {
    fn call(&self, request: Request) -> Calling<Reply> {
        self.world.asked.borrow_mut().push((self.owner, request.clone()));
        let (store, now) = (self.world.store.clone(), self.world.now.clone());
        let wait = if let Request::Lease { wait, .. } = &request { *wait } else { Span::ZERO };
        let until = now.get() + wait;
        self.carry(wait + CALL_TIMEOUT, move |world| {
            let reply = world.ask(store.call(request.clone()));
            let is_early = matches!(&reply, Reply::Leases(leases) if leases.is_empty()) && now.get() < until;
            (!is_early).then_some(Ok(reply))
        })
    }
}

impl Outside for Line {
    fn perform(&self, request: Perform) -> Calling<Performed> {
        self.carry(Span::ZERO, move |world| Some(world.script(&request.effect)))
    }
}

impl Host for Line {
    fn now(&self) -> Timestamp {
        self.world.now.get()
    }

    fn sleep(&self, span: Span) -> Task {
        self.world.sleep(span)
    }

    fn spawn(&self, task: Task) {
        self.world.spawn(self.owner, task);
    }

    fn random(&self, run: RunId, step: Step) -> u128 {
        run.as_u128().wrapping_mul(u128::from(step.0) + 1)
    }
}
