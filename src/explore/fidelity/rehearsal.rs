//! One replay of the first entries of a log: the real runtime and agent over a store that answers from that log. What
//! the rest of the log decided is answered, too; what it left open, and whatever begins something new, stays without
//! an answer. So a rehearsal comes to rest at the first step that the prefix does not show as done.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::{pending, ready};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};

use super::answers;
use super::prefix::Prefix;
use crate::history::Asked;
use crate::kernel::{
    Appended, ArtifactRef, Attempt, Body, Calling, ConcurrentAppend, Drained, Heartbeat, Host, Json, Lease, LeaseKey,
    Message, Name, Outside, Perform, Performed, Reply, Request, RunId, RunLogEntry, RunSpec, Seq, Signalled, Span,
    Step, Store, Task, Term, Timestamp, WorkerId,
};
use crate::runtime::{Agents, Registration, Settings, Worker};
use crate::scenario::{Alias, Code, Stage};

/// What a rehearsal is given besides its prefix.
pub(super) struct Props {
    /// The run's specification.
    pub spec: Arc<RunSpec>,
    /// What its agent does.
    pub code: Code,
    /// Large results that the log refers to.
    pub artifacts: Rc<BTreeMap<ArtifactRef, Arc<[u8]>>>,
    /// The scenario's name and the start of its world: ids of runs follow from them.
    pub origin: (Name, Timestamp),
}

/// What was seen in a rehearsal.
#[derive(Default)]
pub(super) struct Seen {
    /// Every request but the poll, the heartbeats and the reads of the own log, in order.
    pub asked: Vec<Asked>,
    /// With what mail the agent was entered.
    pub entered: Vec<Vec<Message>>,
    /// What its calls gave.
    pub gave: Vec<(Step, Json)>,
    /// Whether an answer to one of the requests was awaited at the end.
    pub awaits: bool,
    /// Whether it killed its worker.
    pub died: bool,
    /// Whether the replay was still going on when its bound was reached.
    pub endless: bool,
}

/// The most polls of one rehearsal, for each entry of its log and besides.
const POLLS_PER_ENTRY: usize = 64;

/// The attempt under which a prefix is replayed: later than any that a script counts to, so that whatever it does in
/// its first leases only is over.
const ATTEMPT: Attempt = Attempt(1_000_000);

/// Plays `prefix` through its agent until nothing moves.
pub(super) fn rehearse(prefix: Rc<Prefix>, props: &Props) -> Seen {
    let polls_most = POLLS_PER_ENTRY * (prefix.entries().len() + 16);
    let room = Rc::new(Room::new(prefix, props));
    let registration = Registration {
        version: room.prefix.played(),
        defaults: props.spec.settings.clone(),
        agent: props.code.agent(room.clone()),
    };
    let agents = Agents([(props.spec.agent.kind().into(), registration)].into());
    let settings = Settings { capacity: 1, ..Settings::default() };
    let worker = Worker::new(worker_id(), settings, room.clone(), room.clone(), room.clone(), Rc::new(agents));
    let endless = !settle(&room, worker.run(), polls_most);
    let mut seen = room.seen.take();
    seen.endless = endless;
    seen
}

fn worker_id() -> WorkerId {
    WorkerId { name: "replay".into(), incarnation: 0 }
}

/// Polls until nothing is woken; false when that does not come about.
fn settle(room: &Room, first: Task, polls_most: usize) -> bool {
    let flag = Arc::new(Flag(AtomicBool::new(true)));
    let waker = Waker::from(flag.clone());
    let mut context = Context::from_waker(&waker);
    let mut tasks = vec![first];
    for _ in 0..polls_most {
        if !flag.0.swap(false, Ordering::Relaxed) {
            return true;
        }
        tasks.retain_mut(|task| task.as_mut().poll(&mut context).is_pending());
        let started = room.started.take();
        if !started.is_empty() {
            flag.0.store(true, Ordering::Relaxed);
            tasks.extend(started);
        }
    }
    false
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Store, outside world, machine and stage of one rehearsal.
struct Room {
    prefix: Rc<Prefix>,
    spec: Arc<RunSpec>,
    artifacts: Rc<BTreeMap<ArtifactRef, Arc<[u8]>>>,
    origin: (Name, Timestamp),
    /// The log as it stands: the prefix, then what was appended and accepted.
    log: RefCell<Vec<RunLogEntry>>,
    leased: Cell<bool>,
    /// How many of the open receives have drained.
    drained: Cell<usize>,
    started: RefCell<Vec<Task>>,
    seen: RefCell<Seen>,
}

impl Room {
    fn new(prefix: Rc<Prefix>, props: &Props) -> Room {
        Room {
            log: RefCell::new(prefix.entries().to_vec()),
            prefix,
            spec: props.spec.clone(),
            artifacts: props.artifacts.clone(),
            origin: props.origin.clone(),
            leased: Cell::new(false),
            drained: Cell::new(0),
            started: RefCell::default(),
            seen: RefCell::default(),
        }
    }

    /// The time here: one at which every retry of the prefix is due. It stands still.
    fn time(&self) -> Timestamp {
        let last = self.prefix.entries().last().map_or(self.origin.1, |entry| entry.ts);
        last + Span::from_secs(3600)
    }

    fn lease(&self) -> Lease {
        let key = LeaseKey { run: self.spec.run, worker: worker_id(), attempt: ATTEMPT };
        Lease {
            key,
            granted_at: self.time(),
            expires_at: self.time() + Span::from_secs(30),
            waited: Span::ZERO,
            spec: self.spec.clone(),
            deadline: None,
            woken_by: Vec::new(),
            cancel_requested: None,
            reclaims: 0,
        }
    }

    /// The reply, where the log knows it or where none is needed to know; else the caller waits for ever.
    fn answer(&self, request: &Request) -> Option<Reply> {
        Some(match request {
            Request::Register { .. } | Request::Ack { .. } | Request::Nack { .. } => Reply::Done,
            Request::Lease { .. } if !self.leased.replace(true) => Reply::Leases(vec![self.lease()]),
            Request::Heartbeat { .. } => {
                let (renewed_at, expires_at) = (self.time(), self.time() + Span::from_secs(30));
                Reply::Heartbeat(Heartbeat::Healthy(Term { renewed_at, expires_at }))
            }
            Request::Read { run, from } if *run == self.spec.run => {
                Reply::Entries(self.log.borrow().iter().filter(|entry| entry.seq >= *from).cloned().collect())
            }
            Request::Append { run, body, expected } if *run == self.spec.run => return self.append(body, *expected),
            Request::Drain { .. } => Reply::Drained(self.drain()?),
            Request::Claim { step, .. } if self.prefix.is_open(*step) => {
                Reply::Claimed(Some(answers::claimed(&self.prefix, *step)?))
            }
            Request::Lookup { effect } => Reply::Looked(match self.prefix.result(self.prefix.open_effect(*effect)?) {
                Some(Body::ToolResult { result, .. }) => Some(result.clone()),
                _ => None,
            }),
            Request::Deliver { .. } => Reply::Accepted(false),
            Request::Signal { .. } => Reply::Signalled(Signalled::Repeated),
            Request::Get { artifact } => Reply::Bytes(self.artifacts.get(artifact).cloned()),
            request => return answers::of_others(&self.prefix, &self.log.borrow(), request, self.time()),
        })
    }

    /// Accepts the lease entry and what ends a step that the prefix has begun; what begins something is not answered.
    fn append(&self, body: &Arc<Body>, expected: Seq) -> Option<Reply> {
        let mut log = self.log.borrow_mut();
        let run_id = self.spec.run;
        let actual = log.last().map_or(Seq::EMPTY, |entry| entry.seq);
        if expected != actual {
            return Some(Reply::Conflict(ConcurrentAppend { run_id, expected, actual }));
        }
        let is_answered = match &**body {
            Body::RunStarted(_) | Body::RunResumed(_) | Body::MsgReceived { .. } => true,
            body => body.opening().is_none() && body.step().is_some(),
        };
        if !is_answered {
            return None;
        }
        let appended = Appended { seq: actual.next(), ts: self.time() };
        log.push(RunLogEntry { run_id, seq: appended.seq, ts: appended.ts, body: body.clone() });
        Some(Reply::Appended(appended))
    }

    /// The mail of the batch, or of the next open receive; nothing for a receive that the log ends by its limit.
    fn drain(&self) -> Option<Vec<Drained>> {
        let source = if self.prefix.has_batch {
            let nth = self.drained.replace(self.drained.get() + 1);
            self.prefix.result(self.prefix.open_receives().nth(nth)?)?
        } else {
            self.prefix.batch()?
        };
        let Body::MsgReceived { messages, .. } = source else { return Some(Vec::new()) };
        Some(messages.iter().map(|received| Drained { received: received.clone(), attempts: 0 }).collect())
    }
}

impl Store for Room {
    fn call(&self, request: Request) -> Calling<Reply> {
        let answer = self.answer(&request);
        let is_routine = match &request {
            Request::Register { .. } | Request::Lease { .. } | Request::Heartbeat { .. } => true,
            Request::Read { run, .. } => *run == self.spec.run,
            _ => false,
        };
        if !is_routine {
            let mut seen = self.seen.borrow_mut();
            seen.awaits |= answer.is_none();
            seen.asked.push(Asked::Store(request));
        }
        match answer {
            Some(reply) => Box::pin(ready(Ok(reply))),
            None => Box::pin(pending()),
        }
    }
}

impl Outside for Room {
    fn perform(&self, request: Perform) -> Calling<Performed> {
        let mut seen = self.seen.borrow_mut();
        seen.awaits = true;
        seen.asked.push(Asked::Outside(request));
        Box::pin(pending())
    }
}

impl Host for Room {
    fn now(&self) -> Timestamp {
        self.time()
    }

    fn sleep(&self, _span: Span) -> Task {
        Box::pin(pending())
    }

    fn spawn(&self, task: Task) {
        self.started.borrow_mut().push(task);
    }

    fn random(&self, _run: RunId, _step: Step) -> u128 {
        0
    }
}

impl Stage for Room {
    fn entered(&self, _run: RunId, _attempt: Attempt, batch: &[Message]) {
        self.seen.borrow_mut().entered.push(batch.to_vec());
    }

    fn gave(&self, _run: RunId, _attempt: Attempt, step: Step, value: &Json) {
        self.seen.borrow_mut().gave.push((step, value.clone()));
    }

    fn die(&self) {
        self.seen.borrow_mut().died = true;
    }

    fn run_id(&self, alias: &Alias) -> RunId {
        crate::sim::run_id(&self.origin.0, self.origin.1, &alias.to_string())
    }
}
