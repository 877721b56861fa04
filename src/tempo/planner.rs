//! The planner: a task of every worker. It reads the trace logs of all users on, dispatches what is due, and closes what has
//! ended. Any number may run, and any of them may die: all that one does is written behind what it has read, or may be
//! repeated.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};

use serde_json::json;

use super::profiler::{Target, leaves_drafts, never_ran, profile};
use super::queue::{self, Next};
use super::{Book, Planned};
use crate::kernel::{
    AgentId, Body, Created, Deadline, EventLog, Host, Json, Message, Name, Occurrence, RunId, RunLogEntry, RunSpec,
    Scheduler, Seq, Span, SpecDefaults, Store, Task, TraceBody,
};
use crate::runtime::{Agents, repeat_on};

/// How long a planner waits at the store for the next entry.
const TAIL_WAIT: Span = Span::from_secs(30);

/// The pause behind an entry that could not be written, or of which nobody can tell.
const WRITE_PAUSE: Span = Span::from_millis(200);

/// The most pause before a run is made at an address that is not free, or whose type nobody has registered.
const MAKE_PAUSE_MAX: Span = Span::from_secs(300);

/// A planner over the trace logs of all users.
#[derive(Clone)]
pub struct Planner {
    store: Rc<dyn Store>,
    host: Rc<dyn Host>,
    agents: Rc<Agents>,
}

impl Planner {
    /// A planner; a run is made as `agents` says of its type.
    pub fn new(store: Rc<dyn Store>, host: Rc<dyn Host>, agents: Rc<Agents>) -> Planner {
        Planner { store, host, agents }
    }

    /// Follows the directory, and each user in it, for ever.
    pub fn run(self) -> Task {
        Box::pin(async move {
            let mut last = Seq::EMPTY;
            loop {
                for entry in self.follow(RunId::of_users(), last).await {
                    last = entry.seq;
                    if let Body::Trace(trace) = &*entry.body
                        && let TraceBody::UserKnown { user } = &**trace
                    {
                        self.host.spawn(Box::pin(serve(self.clone(), user.clone())));
                    }
                }
            }
        })
    }

    /// The entries behind `last`, once there are any or the wait is over.
    async fn follow(&self, stream: RunId, last: Seq) -> Vec<RunLogEntry> {
        repeat_on(&*self.host, async || self.store.tail(stream, last.next(), TAIL_WAIT).await).await
    }
}

/// What the watches of open occurrences bring back.
#[derive(Default)]
struct Ended {
    logs: RefCell<BTreeMap<Occurrence, Vec<RunLogEntry>>>,
    waker: RefCell<Option<Waker>>,
}

/// Serves one user for ever.
async fn serve(planner: Planner, user: Name) {
    let stream = RunId::of_traces(&user);
    let mut book = Book::new(user);
    let mut watched: BTreeSet<Occurrence> = BTreeSet::new();
    let ended = Rc::new(Ended::default());
    let mut logs = BTreeMap::new();
    loop {
        watch_open(&planner, &book, &mut watched, &ended);
        logs.append(&mut ended.logs.borrow_mut());
        if let Some(body) = closing(&book, &mut logs).or_else(|| queue::duty(&book)) {
            write(&planner, stream, &mut book, body).await;
            continue;
        }
        let mut alarm: Option<Task> = None;
        if queue::has_waiting(&book) {
            let now = repeat_on(&*planner.host, async || planner.store.clock().await).await;
            match queue::next(&book, now, &|agent| planner.agents.0.contains_key(agent.kind())) {
                Next::Write(body) => {
                    write(&planner, stream, &mut book, body).await;
                    continue;
                }
                Next::Wait(until) => alarm = until.map(|until| planner.host.sleep(until.since(now))),
            }
        }
        for entry in wait(&planner, stream, book.last, alarm, &ended).await {
            book.fold(&entry);
        }
    }
}

/// Waits for the next entries, for the alarm, or for the end of a run that is watched.
async fn wait(planner: &Planner, stream: RunId, last: Seq, mut alarm: Option<Task>, ended: &Ended) -> Vec<RunLogEntry> {
    let mut entries = Box::pin(planner.follow(stream, last));
    poll_fn(|cx| {
        if let Poll::Ready(entries) = entries.as_mut().poll(cx) {
            return Poll::Ready(entries);
        }
        if alarm.as_mut().is_some_and(|alarm| alarm.as_mut().poll(cx).is_ready()) || !ended.logs.borrow().is_empty() {
            return Poll::Ready(Vec::new());
        }
        *ended.waker.borrow_mut() = Some(cx.waker().clone());
        Poll::Pending
    })
    .await
}

/// Appends behind what the book has read. Whatever comes of it, the book then reads on and decides anew.
async fn write(planner: &Planner, stream: RunId, book: &mut Book, body: TraceBody) {
    if planner.store.append(stream, Arc::new(Body::Trace(Box::new(body))), book.last).await.is_err() {
        planner.host.sleep(WRITE_PAUSE).await;
    }
    let entries = repeat_on(&*planner.host, async || planner.store.read(stream, book.last.next()).await).await;
    entries.iter().for_each(|entry| book.fold(entry));
}

/// Starts a watch for every occurrence that was dispatched and has not ended.
fn watch_open(planner: &Planner, book: &Book, watched: &mut BTreeSet<Occurrence>, ended: &Rc<Ended>) {
    for planned in book.plans.values() {
        let Some((n, instance)) = planned.open() else { continue };
        let occurrence = planned.occurrence(n);
        if let Some(dispatch) = &instance.dispatch
            && watched.insert(occurrence.clone())
        {
            let order = order(book, planned, n, dispatch.run, dispatch.agent.clone());
            planner.host.spawn(Box::pin(watch(planner.clone(), occurrence, order, ended.clone())));
        }
    }
}

/// What a run of an occurrence is made with.
struct Order {
    run: RunId,
    agent: AgentId,
    user: Name,
    retries: Option<u32>,
    deadline: Option<Deadline>,
    message: Message,
}

fn order(book: &Book, planned: &Planned, n: u32, run: RunId, agent: AgentId) -> Order {
    let occurrence = planned.occurrence(n);
    let due = planned.instance(n).and_then(|instance| instance.due);
    let data = json!({
        "plan": &*planned.plan.document,
        "occurrence": occurrence.to_string(),
        "user": &*book.user,
        "due": due,
    });
    let said = planned.plan.document.get("retry_on_failure").is_some();
    Order {
        run,
        user: book.user.clone(),
        retries: said.then_some(planned.plan.retry_on_failure),
        deadline: planned.deadline(n).map(Deadline::At),
        message: Message {
            id: occurrence.to_string().into(),
            sender: "planner".parse().expect("a type alone is an address"),
            data: Json::new(data),
            correlation: None,
            reply_to: None,
        },
        agent,
    }
}

/// Makes the run of an occurrence, which may be there already, and reads its log to its end.
async fn watch(planner: Planner, occurrence: Occurrence, order: Order, ended: Rc<Ended>) {
    if let Some(registration) = planner.agents.0.get(order.agent.kind()) {
        make(&planner, &order, registration.defaults.clone()).await;
    }
    let mut log: Vec<RunLogEntry> = Vec::new();
    loop {
        let last = log.last().map_or(Seq::EMPTY, |entry| entry.seq);
        log.extend(planner.follow(order.run, last).await);
        if log.last().is_some_and(|entry| entry.body.ending().is_some()) {
            ended.logs.borrow_mut().insert(occurrence, log);
            if let Some(waker) = ended.waker.borrow_mut().take() {
                waker.wake();
            }
            return;
        }
    }
}

async fn make(planner: &Planner, order: &Order, defaults: SpecDefaults) {
    let mut settings =
        SpecDefaults { tenant: Some(order.user.clone()), deadline: order.deadline.or(defaults.deadline), ..defaults };
    if let Some(retries) = order.retries {
        settings.retry.max_retries = retries;
    }
    let spec = RunSpec::root(order.run, order.agent.clone(), settings);
    let mut pause = Span::from_millis(100);
    loop {
        let created = async || planner.store.create(spec.clone(), Some(order.message.clone())).await;
        match repeat_on(&*planner.host, created).await {
            Ok(Created::Created | Created::Exists) => return,
            // Somebody else's mail has made a run there, or nobody has registered the type yet.
            Ok(Created::Busy) | Err(_) => {
                planner.host.sleep(pause).await;
                pause = pause.times(2).min(MAKE_PAUSE_MAX);
            }
        }
    }
}

/// The closing of an occurrence whose run has ended, if the log does not have it yet. Of a run that leaves drafts it waits
/// for their commit: who goes after the occurrence finds what it left.
fn closing(book: &Book, logs: &mut BTreeMap<Occurrence, Vec<RunLogEntry>>) -> Option<TraceBody> {
    let open = |occurrence: &Occurrence| {
        let planned = book.plans.get(&occurrence.uid)?;
        let instance = planned.instance(occurrence.n)?;
        let dispatch = instance.dispatch.as_ref().filter(|_| instance.closing.is_none())?;
        Some((planned, instance.due?, dispatch.run, dispatch.window))
    };
    logs.retain(|occurrence, _| open(occurrence).is_some());
    for occurrence in logs.keys().cloned() {
        let Some((planned, due, run, window)) = open(&occurrence) else { continue };
        if leaves_drafts(&book.user, &logs[&occurrence]) && !book.committed.contains(&run) {
            continue;
        }
        let target = Target {
            user: book.user.clone(),
            occurrence: occurrence.clone(),
            due,
            window,
            token: planned.plan.token.clone(),
            planned_by: queue::planned_by(planned),
        };
        let log = &logs[&occurrence];
        let (profile, reason) = (profile(&target, log).expect("a run that is brought back has ended"), never_ran(log));
        return Some(TraceBody::PlanClosed {
            occurrence,
            due: Some(due),
            window: Some(window),
            reason,
            profile: Box::new(profile),
        });
    }
    None
}
