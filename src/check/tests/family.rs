//! A parent and its children, by hand: run 1 at `billing` is the parent, run n at `helper/n` a child of it.

use super::history::*;
use crate::history::{Actor, Change};
use crate::kernel::*;

pub fn helper(number: u128) -> AgentId {
    AgentId::new("helper", &number.to_string()).unwrap()
}

/// The specification of run `number` as a child of run `parent`.
pub fn child_of(parent: u128, number: u128) -> RunSpec {
    let root = RunSpec::root(run(number), helper(number), SpecDefaults::default());
    RunSpec { parent: Some(run(parent)), tree: run(1), ..root }
}

pub fn child(number: u128) -> RunSpec {
    child_of(1, number)
}

pub fn kept(number: u128) -> RunSpec {
    RunSpec { retention: Retention::Permanent, ..child(number) }
}

pub fn boot(number: u128) -> Message {
    Message { id: format!("boot-{number}").into(), sender: billing(), ..message("") }
}

pub fn spawned(step: u32, spec: RunSpec) -> Body {
    let boot = boot(spec.run.as_u128() & 0xffff);
    Body::ChildSpawned { opening: opening(step, CallKind::Spawn), spec: Box::new(spec), boot }
}

pub fn told(number: u128, status: RunStatus) -> RunResult {
    let output = (status == RunStatus::Completed).then(Json::null);
    let error = (status != RunStatus::Completed).then(|| "no".into());
    RunResult { run_id: run(number), status, output, error, metadata: Json::empty() }
}

pub fn notice(result: RunResult) -> Body {
    Body::ChildCompleted { result: Box::new(result), result_ref: None }
}

pub fn joins(step: u32, number: u128, limit: Option<Span>) -> Body {
    Body::TimerSet { opening: opening(step, CallKind::Join), limit, child: Some(run(number)) }
}

pub fn cancelled() -> Body {
    Body::Ended(Ending::Cancelled { reason: "no".into(), in_doubt: vec![] })
}

pub fn decision(cancel: &[u128], detach: &[u128]) -> Body {
    let ids = |numbers: &[u128]| numbers.iter().map(|number| run(*number)).collect();
    let ending = Ending::Completed { output: Json::null(), in_doubt: vec![] };
    Body::OrphansResolved { ending, cancel: ids(cancel), detach: ids(detach) }
}

impl History {
    /// Run 1 is begun, with room for `runs` runs in its tree; children can be had.
    pub fn parent(&mut self, runs: u32) {
        let (kind, defaults) = ("helper".into(), SpecDefaults::default());
        self.call(worker("w1"), Request::Register { kind, version: Version(1), defaults }, Reply::Done, &[]);
        self.deliver("m1", &[made(1)]);
        let lease = self.lease("w1", 1, 0);
        let settings = SpecDefaults { spawn_budget: SpawnBudget { max_agents: runs }, ..SpecDefaults::default() };
        let spec = RunSpec { settings, ..(*lease.spec).clone() };
        self.grant_this(Lease { spec: spec.into(), ..lease }, &[]);
        self.append("w1", 1, Body::RunStarted(lease_entry(0)));
        self.append("w1", 1, received(&[("m1", 1)]));
    }

    pub fn ask_for(&mut self, step: u32, number: u128, reply: Reserved, changes: &[Change]) {
        let request = Request::Reserve { lease: key("w1", 1, 0), step: Step(step), agent: helper(number) };
        self.call(worker("w1"), request, Reply::Reserved(reply), changes);
    }

    pub fn given(&self, number: u128) -> Reserved {
        Reserved::Reserved { child_run: run(number), tree: run(1), defaults: Box::default() }
    }

    /// Step `step` of run 1 reserves run `number`.
    pub fn reserves(&mut self, step: u32, number: u128) {
        let change = Change::Reserved {
            run: run(number),
            agent: helper(number),
            parent: run(1),
            step: Step(step),
            tree: run(1),
        };
        self.ask_for(step, number, self.given(number), &[change]);
    }

    pub fn creates(&mut self, name: &str, spec: RunSpec) {
        let (agent, boot) = (spec.agent.clone(), boot(spec.run.as_u128() & 0xffff));
        let arrival = self.arrival();
        let made = Change::Made { run: spec.run, agent: agent.clone() };
        let stored = Change::Stored { agent, message: boot.id.clone(), arrival };
        let request = Request::Create { spec: Box::new(spec), boot: Some(boot) };
        self.call(worker(name), request, Reply::Created(Created::Created), &[made, stored]);
    }

    /// Step `step` of run 1 spawns a child.
    pub fn spawns(&mut self, step: u32, spec: RunSpec) {
        self.reserves(step, spec.run.as_u128() & 0xffff);
        self.append("w1", 1, spawned(step, spec.clone()));
        self.creates("w1", spec);
    }

    /// `w2` leases a child and begins it.
    pub fn child_begins(&mut self, spec: RunSpec) {
        let number = spec.run.as_u128() & 0xffff;
        let (agent, boot) = (spec.agent.clone(), boot(number));
        let lease = self.lease("w2", number, 0);
        self.grant_this(Lease { spec: spec.into(), ..lease }, &[]);
        self.append("w2", number, Body::RunStarted(LeaseEntry { agent, ..lease_entry(0) }));
        // Its boot is the last message that arrived.
        let arrival = self.last_arrival();
        let messages = vec![Received { message: boot, arrival }];
        self.append("w2", number, Body::MsgReceived { step: None, messages });
    }

    pub fn tells(&mut self, number: u128, result: RunResult) {
        self.append_from(worker("w2"), 1, notice(result));
        self.wakes_parent(number, &[]);
    }

    pub fn wakes_parent(&mut self, number: u128, changes: &[Change]) {
        let wakeup = Wakeup::ChildDone { child_run: run(number), result_ref: None };
        self.call(worker("w2"), Request::Wake { run: run(1), wakeup }, Reply::Done, changes);
    }

    /// The child's mail is settled, and it is released.
    pub fn child_goes(&mut self, number: u128, status: RunStatus) {
        let (agent, id) = (helper(number), boot(number).id);
        let settled = Change::Settled { agent: agent.clone(), message: id.clone(), dead: status == RunStatus::Failed };
        let request = match status {
            RunStatus::Failed => {
                let disposition = Disposition::Dead("no".into());
                Request::Nack { agent, message: id, run: run(number), failure: 1, disposition }
            }
            _ => Request::Ack { agent, message: id, run: run(number) },
        };
        self.call(worker("w2"), request, Reply::Done, &[settled]);
        self.release("w2", number, 0, Release::Ended(status), &[moved(run(number), RunStatus::Running, status)]);
    }

    /// The child completes, and its epilogue runs to the end.
    pub fn child_completes(&mut self, number: u128) {
        self.append("w2", number, completed());
        self.returns_unit("w2", number);
        self.tells(number, told(number, RunStatus::Completed));
        self.child_goes(number, RunStatus::Completed);
    }

    /// Run 1 ends behind its terminal entry.
    pub fn parent_goes(&mut self, status: RunStatus) {
        self.ack("w1", "m1", 1);
        self.released_as(status);
    }

    /// A worker cancels a run: flag, then the word in its log.
    pub fn cancels_child(&mut self, number: u128) {
        self.flags(worker("w1"), number);
        self.append_from(worker("w1"), number, Body::CancelRequested { reason: "no".into() });
    }

    pub fn flags(&mut self, from: Actor, number: u128) {
        self.call(from, Request::Cancel { run: run(number), reason: "no".into() }, Reply::Done, &[]);
    }

    /// A child that runs ends as cancelled, when its parent's log is closed.
    pub fn child_is_cancelled(&mut self, number: u128) {
        self.append("w2", number, cancelled());
        self.returns_unit("w2", number);
        self.child_goes(number, RunStatus::Cancelled);
    }

    pub fn gives(&mut self, step: u32, value: serde_json::Value) {
        let (attempt, value) = (Attempt(0), value.into());
        self.event(crate::history::Event::Gave { run: run(1), attempt, step: Step(step), value });
    }

    pub fn logs(&mut self, step: u32, call: CallKind, value: serde_json::Value) {
        self.append("w1", 1, Body::StepValue { opening: opening(step, call), value: value.into() });
    }
}
