//! Histories written by hand: each call says what was sent, what it did, and what its caller heard.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use crate::check::{Checker, check};
use crate::history::{Actor, ActorChange, Answer, Asked, CallNo, Change, Event, Header, Phase, Record};
use crate::kernel::*;

/// A history in the making, with what its next call needs to know.
pub struct History {
    pub header: Header,
    pub records: Vec<Record>,
    pub now: Timestamp,
    /// Whether applied facts are told.
    pub applied: bool,
    calls: u32,
    lasts: BTreeMap<RunId, Seq>,
    arrivals: u64,
    /// The runs whose cancel was applied.
    cancelled: Vec<RunId>,
}

/// The run number `number`; the first is the one at `billing`.
pub fn run(number: u128) -> RunId {
    RunId::from_parts(1, number)
}

/// The address that the histories are about.
pub fn billing() -> AgentId {
    "billing".parse().unwrap()
}

pub fn worker(name: &str) -> Actor {
    Actor::Worker(WorkerId { name: name.into(), incarnation: 0 })
}

pub fn message(id: &str) -> Message {
    Message { id: id.into(), sender: "shop".parse().unwrap(), data: Json::empty(), correlation: None, reply_to: None }
}

pub fn effect(step: u32) -> Effect {
    Effect::new(run(1), Step(step), "charge".into(), Json::empty())
}

pub fn done(step: u32) -> EffectResult {
    EffectResult::ok(effect(step).id, Json::new(json!({"id": step})))
}

pub fn opening(step: u32, call: CallKind) -> Opening {
    Opening { step: Step(step), group: None, call, digest: Digest(step.into()) }
}

pub fn called(step: u32, policy: Policy) -> Body {
    let effect = effect(step);
    let opening = Opening { digest: Digest(effect.id.0), ..opening(step, CallKind::Effect) };
    Body::ToolCalled { opening, effect, policy }
}

pub fn result(step: u32, result: EffectResult) -> Body {
    Body::ToolResult { step: Step(step), result }
}

pub fn value(step: u32) -> Body {
    Body::StepValue { opening: opening(step, CallKind::Now), value: Json::null() }
}

pub fn lease_entry(attempt: u32) -> LeaseEntry {
    LeaseEntry { agent: billing(), version: Version(1), attempt: Attempt(attempt), woken_by: vec![] }
}

pub fn completed() -> Body {
    Body::Ended(Ending::Completed { output: Json::null(), in_doubt: vec![] })
}

pub fn failed(code: FailureCode) -> Body {
    Body::Ended(Ending::Failed { code, error: "no".into(), in_doubt: vec![] })
}

pub fn suspended(waits: &[Wait]) -> Body {
    Body::RunSuspended { waits: waits.to_vec(), wakeup: None }
}

pub fn retrying(failure: u32, delay: Span) -> Body {
    Body::RunRetrying { error: "no".into(), failure, delay }
}

pub fn received(mail: &[(&str, u64)]) -> Body {
    let received = |(id, arrival): &(&str, u64)| Received { message: message(id), arrival: Arrival(*arrival) };
    Body::MsgReceived { step: None, messages: mail.iter().map(received).collect() }
}

pub fn drained(id: &str, arrival: u64, attempts: u32) -> Drained {
    Drained { received: Received { message: message(id), arrival: Arrival(arrival) }, attempts }
}

pub fn moved(run: RunId, from: RunStatus, to: RunStatus) -> Change {
    Change::Moved { run, from, to, trigger: None, waits: vec![] }
}

pub fn woken(run: RunId, from: RunStatus, trigger: Trigger) -> Change {
    Change::Moved { run, from, to: RunStatus::Pending, trigger: Some(trigger), waits: vec![] }
}

pub fn asleep(run: RunId, waits: &[Wait]) -> Change {
    let (from, to) = (RunStatus::Running, RunStatus::Suspended);
    Change::Moved { run, from, to, trigger: None, waits: waits.to_vec() }
}

pub fn settled(id: &str, dead: bool) -> Change {
    Change::Settled { agent: billing(), message: id.into(), dead }
}

pub fn made(number: u128) -> Change {
    Change::Made { run: run(number), agent: billing() }
}

pub fn key(name: &str, number: u128, attempt: u32) -> LeaseKey {
    LeaseKey { run: run(number), worker: WorkerId { name: name.into(), incarnation: 0 }, attempt: Attempt(attempt) }
}

impl History {
    /// Two workers are up: capacity 2, three lost leases allowed, jitter 3 s, the usual lease and poll.
    pub fn new() -> History {
        let start = Timestamp::from_micros(1_000_000_000);
        let header = Header {
            format: 1,
            scenario: "by hand".into(),
            start,
            lease: Span::from_secs(30),
            poll: Span::from_millis(50),
            timer_jitter: Span::from_secs(3),
            capacity: 2,
            max_lost_leases: 3,
            workers: vec!["w1".into(), "w2".into()],
        };
        let (records, lasts) = (Vec::new(), BTreeMap::new());
        let mut history =
            History { header, records, now: start, applied: true, calls: 0, lasts, arrivals: 0, cancelled: Vec::new() };
        history.event(Event::Phase(Phase::Chaos));
        history.becomes("w1", ActorChange::Started);
        history.becomes("w2", ActorChange::Started);
        history
    }

    pub fn judged(&self) -> Checker {
        check(&self.header, &self.records)
    }

    pub fn event(&mut self, event: Event) {
        if self.applied || !matches!(event, Event::Applied { .. }) {
            self.records.push(Record { at: self.now, event });
        }
    }

    pub fn becomes(&mut self, name: &str, change: ActorChange) {
        self.event(Event::Actor { actor: worker(name), change });
    }

    /// Time passes.
    pub fn pass(&mut self, span: Span) {
        self.now = self.now + span;
    }

    pub fn secs(&mut self, secs: i64) {
        self.pass(Span::from_secs(secs));
    }

    pub fn sent(&mut self, from: Actor, request: Request) -> CallNo {
        self.pass(Span::from_millis(1));
        let call = CallNo(self.calls);
        self.calls += 1;
        self.event(Event::Sent { call, from, asked: Asked::Store(request) });
        call
    }

    pub fn did(&mut self, call: CallNo, reply: Reply, changes: &[Change]) {
        self.pass(Span::from_millis(1));
        let changes = changes.to_vec();
        self.event(Event::Applied { call, answer: Answer::Store(reply), changes });
    }

    pub fn heard(&mut self, call: CallNo, reply: Reply) {
        self.pass(Span::from_millis(1));
        self.event(Event::Returned { call, outcome: Ok(Answer::Store(reply)) });
    }

    /// A call that is sent, applied and answered.
    pub fn call(&mut self, from: Actor, request: Request, reply: Reply, changes: &[Change]) {
        if let Request::Cancel { run, .. } = &request {
            self.cancelled.push(*run);
        }
        let call = self.sent(from, request);
        self.did(call, reply.clone(), changes);
        self.heard(call, reply);
    }

    /// The number under which the last message arrived.
    pub fn last_arrival(&self) -> Arrival {
        Arrival(self.arrivals)
    }

    /// The number under which the next message arrives.
    pub fn arrival(&mut self) -> Arrival {
        self.arrivals += 1;
        Arrival(self.arrivals)
    }

    /// Mail for `billing` is accepted; `more` is what it does besides.
    pub fn deliver(&mut self, id: &str, more: &[Change]) -> u64 {
        self.deliver_from(Actor::Input(0), id, more)
    }

    pub fn deliver_from(&mut self, from: Actor, id: &str, more: &[Change]) -> u64 {
        self.arrivals += 1;
        let arrival = Arrival(self.arrivals);
        let mut changes = vec![Change::Stored { agent: billing(), message: id.into(), arrival }];
        changes.extend_from_slice(more);
        let request = Request::Deliver { to: billing(), message: message(id), notify: true };
        self.call(from, request, Reply::Accepted(true), &changes);
        self.arrivals
    }

    /// A lease as the store would grant it.
    pub fn lease(&self, name: &str, number: u128, attempt: u32) -> Lease {
        let spec = RunSpec::root(run(number), billing(), SpecDefaults::default());
        Lease {
            key: key(name, number, attempt),
            granted_at: self.now + Span::from_millis(2),
            expires_at: self.now + Span::from_millis(2) + self.header.lease,
            waited: Span::ZERO,
            spec: Arc::new(spec),
            deadline: None,
            woken_by: vec![],
            cancel_requested: self.cancelled.contains(&run(number)).then(|| "no".into()),
            reclaims: 0,
        }
    }

    /// A poll is granted this lease; `before` is what the poll changed first.
    pub fn grant_this(&mut self, lease: Lease, before: &[Change]) {
        let mut changes = before.to_vec();
        changes.push(moved(lease.key.run, RunStatus::Pending, RunStatus::Running));
        let request = Request::Lease { worker: lease.key.worker.clone(), capacity: 2, wait: Span::from_secs(30) };
        self.call(Actor::Worker(lease.key.worker.clone()), request, Reply::Leases(vec![lease]), &changes);
    }

    /// A pending run is leased.
    pub fn grant(&mut self, name: &str, number: u128, attempt: u32) {
        self.grant_this(self.lease(name, number, attempt), &[]);
    }

    /// The lease of a run has run out, and another worker takes it, the first lost in a row.
    pub fn steal(&mut self, name: &str, number: u128, attempt: u32) {
        let lease = Lease { reclaims: 1, ..self.lease(name, number, attempt) };
        self.grant_this(lease, &[woken(run(number), RunStatus::Running, Trigger::Reclaim)]);
    }

    pub fn last(&self, run: RunId) -> Seq {
        self.lasts.get(&run).copied().unwrap_or(Seq::EMPTY)
    }

    /// An append behind the last entry is accepted.
    pub fn append(&mut self, name: &str, number: u128, body: Body) {
        self.append_from(worker(name), number, body);
    }

    pub fn append_from(&mut self, from: Actor, number: u128, body: Body) {
        self.append_to(from, run(number), body);
    }

    /// An append to any log behind its last entry is accepted.
    pub fn append_to(&mut self, from: Actor, run: RunId, body: Body) {
        let expected = self.last(run);
        let seq = expected.next();
        self.append_as(from, Request::Append { run, body: Arc::new(body), expected }, seq);
        self.lasts.insert(run, seq);
    }

    /// All entries of a log that were accepted, as a reader sees them.
    pub fn entries(&self, run: RunId) -> Vec<RunLogEntry> {
        let mut sent = BTreeMap::new();
        let mut entries = Vec::new();
        for record in &self.records {
            match &record.event {
                Event::Sent { call, asked: Asked::Store(Request::Append { run: to, body, .. }), .. } if *to == run => {
                    sent.insert(*call, Arc::clone(body));
                }
                Event::Applied { call, answer: Answer::Store(Reply::Appended(appended)), .. } => {
                    let entry = |body: &Arc<Body>| RunLogEntry {
                        run_id: run,
                        seq: appended.seq,
                        ts: appended.ts,
                        body: Arc::clone(body),
                    };
                    entries.extend(sent.get(call).map(entry));
                }
                _ => {}
            }
        }
        entries
    }

    /// An append is accepted as `seq`.
    pub fn append_as(&mut self, from: Actor, request: Request, seq: Seq) {
        let call = self.sent(from, request);
        let reply = Reply::Appended(Appended { seq, ts: self.now + Span::from_millis(1) });
        self.did(call, reply.clone(), &[]);
        self.heard(call, reply);
    }

    pub fn record(&mut self, name: &str, result: EffectResult) {
        let reply = Reply::Standing(result.clone());
        self.call(worker(name), Request::Record { result }, reply, &[]);
    }

    /// A request to the outside; whether it happens, and what its caller hears.
    pub fn perform(&mut self, name: &str, step: u32, happens: bool, hears: Performed) {
        self.pass(Span::from_millis(1));
        let (call, effect) = (CallNo(self.calls), effect(step));
        self.calls += 1;
        let limit = Span::from_secs(60);
        let (id, kind) = (effect.id, effect.kind.clone());
        let perform = Perform { run: run(1), step: Step(step), effect, limit };
        self.event(Event::Sent { call, from: worker(name), asked: Asked::Outside(perform) });
        self.pass(Span::from_millis(1));
        if happens {
            self.event(Event::Happened { call, effect: id, kind });
        }
        self.event(Event::Returned { call, outcome: Ok(Answer::Outside(hears)) });
    }

    /// A whole effect, from its intent to its result.
    pub fn effect(&mut self, name: &str, step: u32, policy: Policy) {
        self.append(name, 1, called(step, policy));
        self.perform(name, step, true, Performed::Done(done(step).value));
        self.record(name, done(step));
        self.append(name, 1, result(step, done(step)));
    }

    pub fn ack(&mut self, name: &str, id: &str, number: u128) {
        let request = Request::Ack { agent: billing(), message: id.into(), run: run(number) };
        self.call(worker(name), request, Reply::Done, &[settled(id, false)]);
    }

    pub fn nack(&mut self, name: &str, id: &str, number: u128, failure: u32, dead: bool) {
        let disposition = if dead { Disposition::Dead("no".into()) } else { Disposition::Again("no".into()) };
        let request = Request::Nack { agent: billing(), message: id.into(), run: run(number), failure, disposition };
        let changes = if dead { vec![settled(id, true)] } else { vec![] };
        self.call(worker(name), request, Reply::Done, &changes);
    }

    pub fn release(&mut self, name: &str, number: u128, attempt: u32, how: Release, changes: &[Change]) {
        let request = Request::Release { lease: key(name, number, attempt), how };
        self.call(worker(name), request, Reply::Released(Released::Released), changes);
    }

    pub fn heartbeat(&mut self, name: &str, number: u128, attempt: u32, lost: bool) {
        let at = self.now + Span::from_millis(2);
        let term = Term { renewed_at: at, expires_at: at + self.header.lease };
        let told = if lost { Heartbeat::Lost } else { Heartbeat::Healthy(term) };
        let request = Request::Heartbeat { lease: key(name, number, attempt) };
        self.call(worker(name), request, Reply::Heartbeat(told), &[]);
    }

    /// Mail makes run 1, `w1` leases it, its batch is received.
    pub fn begun(&mut self) {
        self.leased();
        self.append("w1", 1, received(&[("m1", 1)]));
    }

    /// Mail makes run 1, `w1` leases it and writes its lease entry.
    pub fn leased(&mut self) {
        self.deliver("m1", &[made(1)]);
        self.grant("w1", 1, 0);
        self.append("w1", 1, Body::RunStarted(lease_entry(0)));
    }

    /// From `run.completed` of run 1 by `w1` to its release.
    pub fn completes(&mut self) {
        self.append("w1", 1, completed());
        self.ack("w1", "m1", 1);
        self.released_as(RunStatus::Completed);
    }

    pub fn returns_unit(&mut self, name: &str, number: u128) {
        let returned = Change::Returned { run: run(number) };
        self.call(worker(name), Request::ReturnUnit { run: run(number) }, Reply::Done, &[returned]);
    }

    /// Run 1 gives its unit back and is released as ended.
    pub fn released_as(&mut self, status: RunStatus) {
        self.returns_unit("w1", 1);
        self.release("w1", 1, 0, Release::Ended(status), &[moved(run(1), RunStatus::Running, status)]);
    }

    /// Run 1 writes that it waits, and is released.
    pub fn sleeps(&mut self, waits: &[Wait]) {
        self.append("w1", 1, suspended(waits));
        self.release("w1", 1, 0, Release::Suspended(waits.to_vec()), &[asleep(run(1), waits)]);
    }

    /// Somebody cancels run 1, which does not sleep.
    pub fn cancels(&mut self) {
        self.call(Actor::Input(1), Request::Cancel { run: run(1), reason: "no".into() }, Reply::Done, &[]);
    }

    /// The world heals, comes to rest, serves the probe, and is over.
    pub fn heals(&mut self) {
        self.event(Event::Phase(Phase::Healed));
        self.secs(1);
        self.event(Event::Phase(Phase::Quiescent));
        self.event(Event::Phase(Phase::Probing));
        self.serves_probe();
        self.over();
    }

    pub fn over(&mut self) {
        self.event(Event::Phase(Phase::Quiescent));
        self.event(Event::Phase(Phase::Over));
    }

    pub fn serves_probe(&mut self) {
        let (agent, probe): (AgentId, _) = ("probe".parse().unwrap(), run(99));
        self.arrivals += 1;
        let arrival = Arrival(self.arrivals);
        let stored = Change::Stored { agent: agent.clone(), message: "p".into(), arrival };
        let made = Change::Made { run: probe, agent: agent.clone() };
        let request = Request::Deliver { to: agent.clone(), message: message("p"), notify: true };
        self.call(Actor::Probe, request, Reply::Accepted(true), &[stored, made]);
        let lease = self.lease("w2", 99, 0);
        let spec = RunSpec { agent: agent.clone(), ..(*lease.spec).clone() };
        self.grant_this(Lease { spec: Arc::new(spec), ..lease }, &[]);
        self.append("w2", 99, Body::RunStarted(LeaseEntry { agent: agent.clone(), ..lease_entry(0) }));
        self.append("w2", 99, received(&[("p", arrival.0)]));
        self.append("w2", 99, completed());
        self.returns_unit("w2", 99);
        let settled = Change::Settled { agent: agent.clone(), message: "p".into(), dead: false };
        self.call(worker("w2"), Request::Ack { agent, message: "p".into(), run: probe }, Reply::Done, &[settled]);
        let ended = [moved(probe, RunStatus::Running, RunStatus::Completed)];
        self.release("w2", 99, 0, Release::Ended(RunStatus::Completed), &ended);
    }
}
