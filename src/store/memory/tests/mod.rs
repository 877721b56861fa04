//! Tests of the transitions, contract by contract, and the laws that hold under any sequence of calls.

mod budget;
mod inbox;
mod laws;
mod nursery;
mod scheduler;
mod signals;
mod sleep;
mod trees;

use super::{Config, Memory, SerialIds, Surroundings};
use crate::history::Change;
use crate::kernel::*;

/// Surroundings that a test sets.
pub struct Settable {
    ids: SerialIds,
    /// How late every timer is.
    pub late: Span,
    /// How long every lease is; as asked for when there is none.
    pub lease: Option<Span>,
}

impl RunIds for Settable {
    fn mint(&mut self, agent: &AgentId, nth: u32) -> RunId {
        self.ids.mint(agent, nth)
    }
}

impl Surroundings for Settable {
    fn timer_late(&mut self, _run: RunId, _at: Timestamp) -> Span {
        self.late
    }

    fn lease_span(&mut self, _run: RunId, _attempt: Attempt, asked: Span) -> Span {
        self.lease.unwrap_or(asked)
    }
}

/// A store with a clock, and the changes that it has told.
pub struct Bench {
    pub store: Memory,
    pub now: Timestamp,
    pub surroundings: Settable,
    pub changes: Vec<Change>,
}

pub const LEASE: Span = Span::from_secs(30);

impl Bench {
    /// A store that knows the agent type `a`.
    pub fn new() -> Bench {
        let surroundings = Settable { ids: SerialIds::default(), late: Span::ZERO, lease: None };
        let store = Memory::new(Config::default());
        let mut bench = Bench { store, now: Timestamp::from_micros(0), surroundings, changes: Vec::new() };
        bench.register("a", 1, SpecDefaults::default());
        bench
    }

    pub fn ask(&mut self, request: Request) -> Reply {
        self.store.apply(self.now, &request, &mut self.surroundings, &mut self.changes)
    }

    pub fn pass(&mut self, span: Span) {
        self.now = self.now + span;
    }

    pub fn register(&mut self, kind: &str, version: u32, defaults: SpecDefaults) {
        self.ask(Request::Register { kind: kind.into(), version: Version(version), defaults });
    }

    pub fn deliver(&mut self, to: &str, id: &str) -> bool {
        self.ask(Request::Deliver { to: agent(to), message: message(id), notify: true }) == Reply::Accepted(true)
    }

    pub fn poll(&mut self, worker: &str, capacity: u32) -> Vec<Lease> {
        let worker = worker_id(worker);
        match self.ask(Request::Lease { worker, capacity, wait: Span::ZERO }) {
            Reply::Leases(leases) => leases,
            other => panic!("{other:?}"),
        }
    }

    /// The one run that a poll of `w1` grants.
    pub fn lease(&mut self) -> Lease {
        self.poll("w1", 1).pop().expect("a run can be granted")
    }

    /// A run at `a` that is leased by `w1`, with its mail.
    pub fn running() -> (Bench, Lease) {
        let mut bench = Bench::new();
        bench.deliver("a", "m1");
        let lease = bench.lease();
        (bench, lease)
    }

    pub fn release(&mut self, lease: &Lease, how: Release) -> Released {
        match self.ask(Request::Release { lease: lease.key.clone(), how }) {
            Reply::Released(released) => released,
            other => panic!("{other:?}"),
        }
    }

    pub fn suspend(&mut self, lease: &Lease, waits: &[Wait]) -> RunStatus {
        self.release(lease, Release::Suspended(waits.to_vec()));
        self.status(lease)
    }

    pub fn status(&self, lease: &Lease) -> RunStatus {
        self.store.run(lease.key.run).expect("the run was made").status
    }

    pub fn drain(&mut self, lease: &Lease, after: Option<u64>) -> Vec<String> {
        let request =
            Request::Drain { agent: lease.spec.agent.clone(), run: lease.key.run, after: after.map(Arrival), max: 100 };
        match self.ask(request) {
            Reply::Drained(mail) => mail.iter().map(|drained| drained.received.message.id.to_string()).collect(),
            other => panic!("{other:?}"),
        }
    }

    pub fn ack(&mut self, lease: &Lease, id: &str) {
        self.ask(Request::Ack { agent: lease.spec.agent.clone(), message: id.into(), run: lease.key.run });
    }

    pub fn nack(&mut self, lease: &Lease, id: &str, failure: u32, disposition: Disposition) {
        let (agent, run) = (lease.spec.agent.clone(), lease.key.run);
        self.ask(Request::Nack { agent, message: id.into(), run, failure, disposition });
    }

    pub fn signal(&mut self, lease: &Lease, name: &str, id: &str) -> Signalled {
        let payload = Json::new(serde_json::json!(id));
        match self.ask(Request::Signal { run: lease.key.run, name: name.into(), payload, id: id.into() }) {
            Reply::Signalled(signalled) => signalled,
            other => panic!("{other:?}"),
        }
    }

    pub fn claim(
        &mut self,
        lease: &Lease,
        step: u32,
        signal: Option<&str>,
        until: Option<Timestamp>,
    ) -> Option<Claimed> {
        let wait = ClaimWait { signal: signal.map(Into::into), until };
        match self.ask(Request::Claim { run: lease.key.run, step: Step(step), wait }) {
            Reply::Claimed(claimed) => claimed,
            other => panic!("{other:?}"),
        }
    }
}

pub fn agent(text: &str) -> AgentId {
    text.parse().unwrap()
}

pub fn worker_id(name: &str) -> WorkerId {
    WorkerId { name: name.into(), incarnation: 0 }
}

pub fn message(id: &str) -> Message {
    Message { id: id.into(), sender: agent("shop"), data: Json::empty(), correlation: None, reply_to: None }
}

pub fn child_done(number: u128) -> Wakeup {
    Wakeup::ChildDone { child_run: RunId::from_parts(9, number), result_ref: None }
}

pub fn subscription() -> Subscription {
    Subscription { follower: agent("a"), topic: "news".parse().unwrap() }
}

pub fn stamp(micros: i64) -> Stamp {
    Stamp { ts: Timestamp::from_micros(micros), step: Step(0) }
}

#[test]
fn a_clock_that_steps_back_is_taken_for_the_latest_time() {
    let (mut bench, lease) = Bench::running();
    bench.pass(Span::from_secs(10));
    bench.ask(Request::Heartbeat { lease: lease.key.clone() });
    bench.now = Timestamp::from_micros(0);
    let Reply::Heartbeat(Heartbeat::Healthy(term)) = bench.ask(Request::Heartbeat { lease: lease.key }) else {
        panic!("the lease is held");
    };
    assert_eq!(term.renewed_at, Timestamp::from_micros(10_000_000));
}

#[test]
fn a_store_that_was_reset_is_as_if_new() {
    let script = |bench: &mut Bench| {
        bench.register("a", 1, SpecDefaults::default());
        bench.deliver("a", "m1");
        let lease = bench.lease();
        bench.drain(&lease, None);
        bench.signal(&lease, "go", "s1");
        bench.ask(Request::Put { bytes: (*b"x").into() });
        bench.ask(Request::Record { result: EffectResult::in_doubt(EffectId(1)) });
        for (step, to) in [(0, "a/child"), (1, "nobody")] {
            bench.ask(Request::Reserve { lease: lease.key.clone(), step: Step(step), agent: agent(to) });
        }
        bench.ask(Request::Follow { subscription: subscription(), stamp: stamp(1) });
        bench.ask(Request::Spend { run: lease.key.run, key: EffectId(1), amounts: Spend::default() });
        bench.release(&lease, Release::Ended(RunStatus::Completed));
        format!("{:?} {:?}", bench.store, bench.changes)
    };
    let (mut fresh, mut used) = (Bench::new(), Bench::new());
    script(&mut used);
    used.store.reset();
    used.changes.clear();
    used.surroundings.ids = SerialIds::default();
    assert_eq!(script(&mut used), script(&mut fresh));
}

#[test]
fn what_no_store_ever_heard_of_has_a_reply_and_changes_nothing() {
    let mut bench = Bench::new();
    let (run, before) = (RunId::from_parts(1, 1), format!("{:?}", bench.store));
    let lease = LeaseKey { run, worker: worker_id("w1"), attempt: Attempt(0) };
    let (a, m): (AgentId, MessageId) = (agent("a"), "m1".into());
    let wait = ClaimWait { signal: Some("go".into()), until: Some(bench.now) };
    let disposition = Disposition::Dead("x".into());
    let cases = [
        (Request::Read { run, from: Seq::FIRST }, Reply::Entries(vec![])),
        (Request::Drain { agent: a.clone(), run, after: None, max: 9 }, Reply::Drained(vec![])),
        (Request::Ack { agent: a.clone(), message: m.clone(), run }, Reply::Done),
        (Request::Nack { agent: a.clone(), message: m.clone(), run, failure: 1, disposition }, Reply::Done),
        (Request::Redrive { agent: a.clone(), message: m.clone(), arrival: Arrival(1) }, Reply::Accepted(false)),
        (Request::Receiver { agent: a.clone(), message: m }, Reply::Run(None)),
        (Request::PendingCount { agent: a.clone() }, Reply::Count(0)),
        (Request::DeadLetters { agent: a.clone() }, Reply::DeadLetters(vec![])),
        (Request::RunOf { agent: a }, Reply::Run(None)),
        (Request::Spec { run }, Reply::Spec(None)),
        (Request::Wake { run, wakeup: child_done(1) }, Reply::Done),
        (Request::Resume { run }, Reply::Done),
        (Request::Cancel { run, reason: "x".into() }, Reply::Done),
        (Request::Lease { worker: worker_id("w1"), capacity: 5, wait: LEASE }, Reply::Leases(vec![])),
        (Request::Heartbeat { lease: lease.clone() }, Reply::Heartbeat(Heartbeat::Lost)),
        (
            Request::Reserve { lease: lease.clone(), step: Step(0), agent: agent("a/x") },
            Reply::Reserved(Reserved::Lost),
        ),
        (Request::ReturnUnit { run }, Reply::Done),
        (Request::Detach { run }, Reply::Done),
        (Request::FollowersOf { topic: subscription().topic }, Reply::Agents(vec![])),
        (Request::Following { agent: agent("a") }, Reply::Topics(vec![])),
        (Request::Spend { run, key: EffectId(1), amounts: Spend::default() }, Reply::Account(Account::default())),
        (Request::Totals { run }, Reply::Account(Account::default())),
        (Request::Release { lease, how: Release::Pending }, Reply::Released(Released::Lost)),
        (Request::Status { run }, Reply::View(None)),
        (Request::Pending, Reply::Queue(vec![])),
        (
            Request::Signal { run, name: "go".into(), payload: Json::empty(), id: "s".into() },
            Reply::Signalled(Signalled::Ended),
        ),
        (Request::Timer { run, step: Step(0), at: Timestamp::from_micros(5) }, Reply::Done),
        (Request::Claim { run, step: Step(0), wait }, Reply::Claimed(None)),
        (
            Request::Deliver { to: agent("nobody/x"), message: message("m1"), notify: true },
            Reply::UnknownAgent(UnknownAgent { kind: "nobody".into() }),
        ),
    ];
    for (request, reply) in cases {
        assert_eq!(bench.ask(request.clone()), reply, "{}", request.method());
    }
    // The first transition has set the clock; nothing else may differ.
    let after = format!("{:?}", bench.store);
    assert_eq!(after, before);
}
