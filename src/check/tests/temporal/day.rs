//! Ana's plan `p`, by hand: due 20 s into the history, executed by `note`.

use serde_json::{Value, json};

use super::history::*;
use crate::history::{Actor, Change};
use crate::kernel::*;

pub fn at(secs: i64) -> Timestamp {
    Timestamp::from_micros(secs * 1_000_000)
}

/// When occurrence 1 of `p` is due.
pub const fn due() -> Timestamp {
    Timestamp::from_micros(1_020_000_000)
}

pub fn day(number: i64) -> Interval {
    Interval { start: at(number * 86_400), end: at((number + 1) * 86_400) }
}

pub fn stream() -> RunId {
    RunId::of_traces("ana")
}

pub fn ana() -> Proposer {
    Proposer::User("ana".into())
}

pub fn occurrence(uid: &str, n: u32) -> Occurrence {
    Occurrence { uid: uid.into(), n }
}

pub fn agent(uid: &str, n: u32) -> AgentId {
    format!("note/ana/{uid}#{n}").parse().unwrap()
}

pub fn run_of(uid: &str, n: u32) -> RunId {
    RunId::of_occurrence(&agent(uid, n))
}

/// The document of `p`, with these members besides.
pub fn document(more: Value) -> Json {
    let mut document = json!({ "uid": "p", "type": "agent_plan", "content": "note", "action_type": "log",
        "target": "note", "scheduled_for": "1970-01-01T00:17:00Z" });
    let own = document.as_object_mut().unwrap();
    own.extend(more.as_object().unwrap().clone());
    Json::new(document)
}

pub fn dispatch_of(uid: &str, n: u32, due: Timestamp) -> TraceBody {
    TraceBody::PlanDispatched {
        occurrence: occurrence(uid, n),
        due,
        release: due,
        run: run_of(uid, n),
        agent: agent(uid, n),
        action: "log".into(),
        day: day(due.as_micros() / 86_400_000_000),
    }
}

/// When a run began and ended.
#[derive(Clone, Copy)]
pub struct Ran {
    pub begun: Timestamp,
    pub ended: Timestamp,
}

/// The block of an occurrence that completed, in its window's point.
pub fn block(ran: Ran, due: Timestamp) -> Profile {
    Profile {
        schema_version: ProfileVersion::V1,
        executed_at: Some(ran.ended),
        duration_ms: ran.ended.since(ran.begun).as_millis(),
        deviation_ms: Some(ran.ended.since(due).as_millis()),
        tempo_token: None,
        tempo_alignment: Alignment::Exact,
        feedback_score: None,
        reward_signal: None,
        agent_latency_ms: Some(0),
        user_delay_ms: None,
        attempts: vec![],
        execution_result: ExecutionResult {
            status: Execution::Completed,
            return_type: Some(ReturnType::Text),
            trace_id: Some("p#1".into()),
            planned_by: Some("ana".into()),
        },
    }
}

/// The block of an occurrence that never ran.
pub fn nulls() -> Profile {
    let result = ExecutionResult {
        status: Execution::Skipped,
        return_type: None,
        trace_id: None,
        planned_by: Some("ana".into()),
    };
    let never = Ran { begun: due(), ended: due() };
    Profile {
        executed_at: None,
        deviation_ms: None,
        tempo_alignment: Alignment::Misaligned,
        agent_latency_ms: None,
        execution_result: result,
        ..block(never, due())
    }
}

pub fn point(due: Timestamp) -> Window {
    Window { target: Interval { start: due, end: due }, boundary: None }
}

pub fn closing_of(uid: &str, n: u32, due: Timestamp, profile: Profile) -> TraceBody {
    let (occurrence, profile) = (occurrence(uid, n), Box::new(profile));
    TraceBody::PlanClosed { occurrence, due: Some(due), window: Some(point(due)), reason: None, profile }
}

pub fn skipped(uid: &str, profile: Profile) -> TraceBody {
    let (occurrence, profile) = (occurrence(uid, 1), Box::new(profile));
    TraceBody::PlanClosed { occurrence, due: Some(due()), window: None, reason: Some("rejected".into()), profile }
}

/// Feedback on `p#1`, which was closed with this block.
pub fn feedback_on(before: &Profile, id: &str, score: i64, reward: u8, after: i64) -> TraceBody {
    let score = Score::new(score).unwrap();
    let mut profile = before.clone();
    (profile.feedback_score, profile.reward_signal) = (Some(score), Some(Reward(reward)));
    profile.user_delay_ms = Some(after * 1_000);
    profile.attempts.iter_mut().rev().take(1).for_each(|last| last.feedback_score = Some(score));
    TraceBody::PlanFeedback {
        occurrence: occurrence("p", 1),
        feedback: id.into(),
        score,
        given_at: before.executed_at.unwrap_or_default() + Span::from_secs(after),
        by: "ana".into(),
        notes: None,
        profile: Box::new(profile),
    }
}

impl History {
    /// The time passes to this many seconds since the epoch.
    pub fn until(&mut self, secs: i64) {
        self.now = self.now.max(at(secs));
    }

    /// Ana, or a program of hers, writes to her log.
    pub fn ana(&mut self, body: TraceBody) {
        self.append_to(Actor::Input(0), stream(), Body::Trace(Box::new(body)));
    }

    /// A planner writes to Ana's log.
    pub fn planner(&mut self, name: &str, body: TraceBody) {
        self.append_to(worker(name), stream(), Body::Trace(Box::new(body)));
    }

    pub fn ana_is_known(&mut self) {
        let body = Body::Trace(Box::new(TraceBody::UserKnown { user: "ana".into() }));
        self.append_to(Actor::Input(0), RunId::of_users(), body);
    }

    pub fn configures(&mut self, settings: Value) {
        self.ana(TraceBody::UserConfigured { settings: settings.into() });
    }

    /// Proposes a plan; some worker knows its agent, `note`.
    pub fn proposes(&mut self, uid: &str, plan: Json, by: Proposer) {
        let (kind, defaults) = ("note".into(), SpecDefaults::default());
        self.call(worker("w1"), Request::Register { kind, version: Version(1), defaults }, Reply::Done, &[]);
        self.ana(TraceBody::PlanProposed { uid: uid.into(), plan, by });
    }

    pub fn approves(&mut self, uid: &str) {
        self.ana(TraceBody::PlanApproved { uid: uid.into(), by: "ana".into() });
    }

    pub fn rejects(&mut self, uid: &str) {
        self.ana(TraceBody::PlanRejected { uid: uid.into(), by: "ana".into(), reason: "no".into() });
    }

    /// `p`, with these members besides, is approved.
    pub fn planned(&mut self, more: Value) {
        self.planned_as("p", document(more));
    }

    pub fn planned_as(&mut self, uid: &str, plan: Json) {
        if self.last(RunId::of_users()) == Seq::EMPTY {
            self.ana_is_known();
        }
        self.proposes(uid, plan, ana());
        self.approves(uid);
    }

    /// `w1` dispatches the occurrence 1 s after it is due, and makes its run.
    pub fn dispatches(&mut self, uid: &str, n: u32, due: Timestamp) {
        self.until(due.as_micros() / 1_000_000 + 1);
        self.planner("w1", dispatch_of(uid, n, due));
        self.makes("w1", uid, n);
    }

    pub fn makes(&mut self, name: &str, uid: &str, n: u32) {
        let (run, to, arrival) = (run_of(uid, n), agent(uid, n), self.arrival());
        let boot = message(&format!("{uid}#{n}"));
        let stored = Change::Stored { agent: to.clone(), message: boot.id.clone(), arrival };
        let made = Change::Made { run, agent: to.clone() };
        let spec = Box::new(RunSpec::root(run, to, SpecDefaults::default()));
        let request = Request::Create { spec, boot: Some(boot) };
        self.call(worker(name), request, Reply::Created(Created::Created), &[made, stored]);
    }

    pub fn leases(&mut self, name: &str, uid: &str, n: u32, attempt: u32) {
        self.takes(name, uid, n, attempt, 0);
    }

    /// The lease of an occurrence's run has run out, and another worker takes it.
    pub fn loses(&mut self, name: &str, uid: &str, n: u32, attempt: u32) {
        self.secs(31);
        self.takes(name, uid, n, attempt, 1);
    }

    fn takes(&mut self, name: &str, uid: &str, n: u32, attempt: u32, reclaims: u32) {
        let run = run_of(uid, n);
        let lease = self.lease(name, 1, attempt);
        let spec = RunSpec::root(run, agent(uid, n), SpecDefaults::default()).into();
        let lease = Lease { key: LeaseKey { run, ..lease.key }, spec, reclaims, ..lease };
        let reclaimed = [woken(run, RunStatus::Running, Trigger::Reclaim)];
        self.grant_this(lease, if reclaims > 0 { &reclaimed } else { &[] });
        let entry = LeaseEntry { agent: agent(uid, n), ..lease_entry(attempt) };
        let body = if attempt == 0 { Body::RunStarted(entry) } else { Body::RunResumed(entry) };
        self.append_to(worker(name), run, body);
        if attempt == 0 {
            let messages = vec![Received { message: message(&format!("{uid}#{n}")), arrival: self.last_arrival() }];
            self.append_to(worker(name), run, Body::MsgReceived { step: None, messages });
        }
    }

    /// The instant of the last entry that was accepted.
    pub fn last_ts(&self) -> Timestamp {
        self.now - Span::from_millis(1)
    }

    /// The run of an occurrence, held by `name`, completes, and is released.
    pub fn does(&mut self, name: &str, uid: &str, n: u32, attempt: u32) -> Timestamp {
        let ended = self.completes_log(name, uid, n);
        self.goes(name, uid, n, attempt, RunStatus::Completed);
        ended
    }

    pub fn completes_log(&mut self, name: &str, uid: &str, n: u32) -> Timestamp {
        self.append_to(worker(name), run_of(uid, n), completed());
        self.last_ts()
    }

    pub fn goes(&mut self, name: &str, uid: &str, n: u32, attempt: u32, status: RunStatus) {
        let (run, to, id) = (run_of(uid, n), agent(uid, n), Name::from(format!("{uid}#{n}")));
        let returned = Change::Returned { run };
        self.call(worker(name), Request::ReturnUnit { run }, Reply::Done, &[returned]);
        let dead = status == RunStatus::Failed;
        let settled = Change::Settled { agent: to.clone(), message: id.clone(), dead };
        let request = if dead {
            let disposition = Disposition::Dead("no".into());
            Request::Nack { agent: to, message: id, run, failure: 1, disposition }
        } else {
            Request::Ack { agent: to, message: id, run }
        };
        self.call(worker(name), request, Reply::Done, &[settled]);
        let lease = LeaseKey { run, ..key(name, 1, attempt) };
        let change = moved(run, RunStatus::Running, status);
        let request = Request::Release { lease, how: Release::Ended(status) };
        self.call(worker(name), request, Reply::Released(Released::Released), &[change]);
    }

    /// An approved occurrence is dispatched, run by `w1` in 5 s, and not closed yet.
    pub fn runs(&mut self, uid: &str, n: u32, due: Timestamp) -> Ran {
        self.dispatches(uid, n, due);
        self.leases("w1", uid, n, 0);
        // The lease entry stands before the batch, by one call.
        let begun = self.last_ts() - Span::from_millis(3);
        self.secs(5);
        Ran { begun, ended: self.does("w1", uid, n, 0) }
    }

    /// And closed by `w1`.
    pub fn executes(&mut self, uid: &str, n: u32, due: Timestamp) -> Profile {
        let ran = self.runs(uid, n, due);
        let mut profile = block(ran, due);
        profile.execution_result.trace_id = Some(format!("{uid}#{n}").into());
        self.planner("w1", closing_of(uid, n, due, profile.clone()));
        profile
    }

    /// `p` is planned and executed; its block.
    pub fn done(&mut self) -> Profile {
        self.planned(json!({}));
        self.executes("p", 1, due())
    }
}
