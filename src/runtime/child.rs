//! Children: a parent reserves, announces and creates them, waits for their ends, and looks at them.

use std::iter;
use std::sync::Arc;

use serde_json::{Value, json};

use super::call::{SpawnCall, SpawnTarget};
use super::seat::Seat;
use super::step::{Finish, Given, document};
use crate::kernel::{
    AgentId, Artifacts, Body, Budget, CallError, ClaimWait, Claimed, EventLog, Message, Name, Nursery, Opening,
    Reserved, Retention, RunId, RunResult, RunSpec, RunStatus, RunStatusSummary, Scheduler, Seq, SignalBus,
    SpecDefaults, Step, Timestamp, Wait,
};

impl Seat {
    /// Whether the log announces `run` as a child.
    pub fn is_parent_of(&self, run: RunId) -> bool {
        self.hold.log.borrow().child(run).is_some()
    }

    /// The limit of the tree's budget that is reached, if one is.
    pub async fn limit_reached(&self) -> Option<&'static str> {
        let store = &self.hold.floor.store;
        let account = self.hold.settled(async || store.totals(self.hold.run()).await).await;
        account.limits.reached(&account.spent)
    }

    /// Reserves the child of a step and says what its parent's log will say of it; or what is to be waited for first.
    pub async fn announce_child(&self, opening: Opening, spawn: &SpawnCall, boot: Message) -> Result<Body, Vec<Wait>> {
        let agent = self.address(opening.step, &spawn.target);
        let (store, key) = (&self.hold.floor.store, &self.hold.lease.key);
        let reserve = async || store.reserve(key.clone(), opening.step, agent.clone()).await;
        match self.hold.settled(reserve).await {
            Reserved::Reserved { child_run, tree, defaults } => {
                let spec = Box::new(self.child_spec(child_run, tree, agent, *defaults, spawn));
                Ok(Body::ChildSpawned { opening, spec, boot })
            }
            Reserved::Denied { reason } => Ok(Body::SpawnDenied { opening, agent, reason }),
            Reserved::Ending { again } => Err(vec![Wait::Time(again)]),
            Reserved::Lost => self.hold.lose().await,
        }
    }

    /// Where a child is to live.
    fn address(&self, step: Step, target: &SpawnTarget) -> AgentId {
        match target {
            SpawnTarget::At(agent) => agent.clone(),
            SpawnTarget::OfType(agent) => agent.with_key(&format!("{}.{step}", self.hold.run())),
        }
    }

    fn child_spec(
        &self,
        run: RunId,
        tree: RunId,
        agent: AgentId,
        defaults: SpecDefaults,
        spawn: &SpawnCall,
    ) -> RunSpec {
        let supervision = &spawn.supervision;
        let settings = SpecDefaults {
            tenant: self.hold.lease.spec.settings.tenant.clone(),
            deadline: supervision.deadline.or(defaults.deadline),
            priority: supervision.priority.unwrap_or(defaults.priority),
            ..defaults
        };
        let (parent, retention) = (Some(self.hold.run()), supervision.retention);
        // Who is to live on is not bound to the time in which its parent has to end.
        let parent_deadline = self.hold.lease.deadline.filter(|_| retention == Retention::Run);
        RunSpec { run, agent, parent, tree, retention, parent_deadline, settings }
    }

    /// The handles of the children that live, as far as the log tells.
    pub fn children(&self) -> Value {
        let log = self.hold.log.borrow();
        json!(log.live_children().map(|child| child.handle(self.hold.run())).collect::<Vec<_>>())
    }

    /// A peek at a run. A child has ended only once this run's log says so.
    pub async fn peek(&self, run: RunId) -> Value {
        let store = &self.hold.floor.store;
        let Some(view) = self.hold.settled(async || store.status(run).await).await else {
            return json!({ "refused": "UnknownRun", "run": run });
        };
        let last_seq = self.hold.settled(async || store.last_seq(run).await).await;
        let last_milestone = if last_seq == Seq::EMPTY {
            None
        } else {
            let last = self.hold.settled(async || store.read(run, last_seq).await).await;
            last.first().map(|entry| Name::from(entry.kind()))
        };
        let status = match self.completed(run) {
            Some(result) => result.status,
            None if self.is_parent_of(run) && view.status.is_terminal() => RunStatus::Running,
            None => view.status,
        };
        json!(RunStatusSummary { run_id: run, status, last_seq, last_milestone })
    }

    /// How a child ended, if the log says so.
    fn completed(&self, child: RunId) -> Option<RunResult> {
        let log = self.hold.log.borrow();
        match log.child(child)?.completed.as_deref()? {
            Body::ChildCompleted { result, .. } => Some((**result).clone()),
            _ => None,
        }
    }

    /// Ends the wait for a child, or says what it waits for.
    pub async fn finish_join(&self, step: Step, child: RunId) -> Finish {
        if self.hold.log.borrow().result(step).is_none() {
            if self.completed(child).is_none() {
                let until = self.until(step);
                let is_over = match until {
                    Some(_) => self.is_over(step, until).await,
                    None => false,
                };
                if !is_over {
                    return Finish::Waits(iter::once(Wait::Child(child)).chain(until.map(Wait::Time)).collect());
                }
            }
            // The end of the child may come while the end of the time is written: whichever stands there first counts.
            let fired = Arc::new(Body::TimerFired { step });
            while self.hold.log.borrow().result(step).is_none() {
                if let Some(result) = self.result_of(child).await {
                    return Finish::Ended(Ok(Given::Value(document(&result))));
                }
                self.hold.append(&fired).await;
            }
        }
        Finish::Ended(Ok(Given::Nothing))
    }

    /// Whether the time of a wait is over, by the store's clock.
    async fn is_over(&self, step: Step, until: Option<Timestamp>) -> bool {
        let wait = ClaimWait { signal: None, until };
        let claim = async || self.hold.floor.store.claim(self.hold.run(), step, wait.clone()).await;
        self.hold.settled(claim).await == Some(Claimed::TimedOut)
    }

    /// The whole result of a child that has ended.
    async fn result_of(&self, child: RunId) -> Option<RunResult> {
        let result_ref = {
            let log = self.hold.log.borrow();
            match log.child(child)?.completed.as_deref()? {
                Body::ChildCompleted { result, result_ref: None } => return Some((**result).clone()),
                Body::ChildCompleted { result_ref: Some(artifact), .. } => artifact.clone(),
                _ => return None,
            }
        };
        let fetch = async || match self.hold.floor.store.get(result_ref.clone()).await?.as_deref().map(parse) {
            Some(Some(result)) => Ok(result),
            // It was put before it was referred to, so it is there: the store is not ready.
            _ => Err(CallError::Unavailable),
        };
        Some(self.hold.settled(fetch).await)
    }
}

fn parse(bytes: &[u8]) -> Option<RunResult> {
    serde_json::from_slice(bytes).ok()
}
