//! The trace logs of users, folded: plans with their occurrences, memory; and what runs put into their staging.

use std::sync::Arc;

use serde_json::Value;

use super::{Facts, Party, RunAt};
use crate::kernel::{
    AgentId, Body, EffectResult, EffectStatus, Interval, Json, MEMORY_PULL, MEMORY_PUSH, Name, Occurrence, Profile,
    Proposer, RunId, Seq, Span, Step, Timestamp, TraceBody,
};

/// The trace log of one user.
pub struct TraceLog {
    /// The stream that it is.
    pub stream: RunAt,
    /// What the last `user.configured` says.
    pub settings: Settings,
    /// Its plans, in the order of their proposals.
    pub plans: Vec<Plan>,
    /// Its memory, added or committed.
    pub memory: Vec<Memory>,
    /// The runs whose drafts were committed.
    pub commits: Vec<RunAt>,
    /// The closings that anybody tried to append, and behind which entry.
    pub closings: Vec<(Seq, Arc<Body>)>,
}

/// What the settings of a user say, as far as checks ask.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub auto_approve: bool,
    pub budget: Vec<(Name, u64)>,
    pub cadence: Vec<(Name, Span)>,
    pub horizon: Option<Timestamp>,
    /// Whether there are slots at which nothing is dispatched.
    pub has_blocked: bool,
}

/// Where a plan stands between its proposal and its occurrences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Proposed,
    Approved,
    Rejected,
}

/// A plan.
pub struct Plan {
    pub uid: Name,
    /// The whole document, as edited.
    pub document: Json,
    pub by: Proposer,
    pub standing: Standing,
    pub edits: Vec<Name>,
    pub occurrences: Vec<Instance>,
}

/// One occurrence of a plan.
pub struct Instance {
    pub n: u32,
    pub dispatched: Option<Dispatch>,
    pub closed: Option<Closing>,
}

/// A `plan.dispatched`.
pub struct Dispatch {
    pub ts: Timestamp,
    pub from: Option<Party>,
    pub due: Timestamp,
    pub run: RunAt,
    pub agent: AgentId,
    pub action: Name,
    pub day: Interval,
}

/// A `plan.closed`, with the feedback since.
pub struct Closing {
    pub due: Option<Timestamp>,
    pub profile: Profile,
    pub feedback: Vec<Name>,
}

/// A memory trace.
pub struct Memory {
    pub uid: Name,
    pub trace: Json,
}

/// A draft that a step of a run asks to be staged.
pub struct Push {
    pub run: RunAt,
    pub step: Step,
    /// The user's stream.
    pub stream: RunAt,
    pub trace: Json,
    /// Whether the log says that it is staged.
    pub staged: bool,
    /// Who said so.
    pub from: Option<Party>,
}

/// A read of memory that a step of a run intends.
pub struct Pull {
    pub run: RunAt,
    pub step: Step,
    /// The user's stream.
    pub stream: RunAt,
    /// What it asks for.
    pub filter: Json,
    /// How many traces were memory when it was intended.
    pub known: usize,
}

/// What the temporal layer has left in a history.
#[derive(Default)]
pub struct Traces {
    pub logs: Vec<TraceLog>,
    /// The directory: streams by user.
    pub users: Vec<(RunAt, Name)>,
    /// The drafts, in the order of their steps in each run.
    pub pushes: Vec<Push>,
    /// The steps that read a user's memory.
    pub pulls: Vec<Pull>,
}

impl Traces {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.logs.clear();
        self.users.clear();
        self.pushes.clear();
        self.pulls.clear();
    }

    /// The log of this stream.
    pub fn log(&self, stream: RunAt) -> Option<&TraceLog> {
        self.logs.iter().find(|log| log.stream == stream)
    }

    /// The log of this stream, made known if it was not.
    pub fn log_mut(&mut self, stream: RunAt) -> &mut TraceLog {
        let place = self.logs.iter().position(|log| log.stream == stream).unwrap_or_else(|| {
            let (plans, memory, commits, closings) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            self.logs.push(TraceLog { stream, settings: Settings::default(), plans, memory, commits, closings });
            self.logs.len() - 1
        });
        &mut self.logs[place]
    }

    /// The user whose stream this is, as the directory says.
    pub fn user(&self, stream: RunAt) -> Option<&Name> {
        self.users.iter().find(|(known, _)| *known == stream).map(|(_, user)| user)
    }

    /// The occurrence that this run was dispatched for.
    pub fn occurrence_of(&self, run: RunAt) -> Option<(&Plan, &Instance)> {
        let plans = self.logs.iter().flat_map(|log| &log.plans);
        plans.flat_map(|plan| plan.occurrences.iter().map(move |instance| (plan, instance))).find(|(_, instance)| {
            let dispatched = instance.dispatched.as_ref();
            dispatched.is_some_and(|dispatch| dispatch.run == run)
        })
    }

    /// What a run has staged, by user.
    pub fn staged(&self, run: RunAt) -> impl Iterator<Item = &Push> {
        self.pushes.iter().filter(move |push| push.run == run && push.staged)
    }
}

impl TraceLog {
    /// The plan of this uid.
    pub fn plan(&self, uid: &str) -> Option<&Plan> {
        self.plans.iter().find(|plan| *plan.uid == *uid)
    }

    /// An occurrence, if it was dispatched or closed.
    pub fn instance(&self, occurrence: &Occurrence) -> Option<&Instance> {
        self.plan(&occurrence.uid)?.instance(occurrence.n)
    }

    /// Its dispatches, in no order.
    pub fn dispatches(&self) -> impl Iterator<Item = &Dispatch> {
        self.plans.iter().flat_map(|plan| &plan.occurrences).filter_map(|instance| instance.dispatched.as_ref())
    }

    /// Whether a trace has this name: a plan, a closed occurrence, feedback, or memory.
    pub fn resolves(&self, name: &str) -> bool {
        let closed = |(uid, n): (&str, &str)| {
            let (plan, n) = (self.plan(uid), n.parse::<u32>().ok());
            let instance = plan.zip(n).and_then(|(plan, n)| plan.instance(n));
            instance.is_some_and(|instance| instance.closed.is_some())
        };
        let mut closings = self.plans.iter().flat_map(|plan| &plan.occurrences).filter_map(|one| one.closed.as_ref());
        self.plan(name).is_some()
            || closings.any(|closing| closing.feedback.iter().any(|feedback| **feedback == *name))
            || self.memory.iter().any(|memory| *memory.uid == *name)
            || name.rsplit_once('#').is_some_and(closed)
    }

    fn plan_mut(&mut self, uid: &str) -> Option<&mut Plan> {
        self.plans.iter_mut().find(|plan| *plan.uid == *uid)
    }

    fn instance_mut(&mut self, occurrence: &Occurrence) -> Option<&mut Instance> {
        let plan = self.plan_mut(&occurrence.uid)?;
        let place = plan.occurrences.iter().position(|instance| instance.n == occurrence.n).unwrap_or_else(|| {
            plan.occurrences.push(Instance { n: occurrence.n, dispatched: None, closed: None });
            plan.occurrences.len() - 1
        });
        Some(&mut plan.occurrences[place])
    }

    fn remember(&mut self, trace: &Json, uid: Option<Name>) {
        let own = || trace.get("uid").and_then(Value::as_str).map(Name::from);
        if let Some(uid) = uid.or_else(own) {
            self.memory.push(Memory { uid, trace: trace.clone() });
        }
    }
}

impl Plan {
    /// The occurrence of this number, if it was dispatched or closed.
    pub fn instance(&self, n: u32) -> Option<&Instance> {
        self.occurrences.iter().find(|instance| instance.n == n)
    }
}

impl Settings {
    fn read(document: &Json) -> Settings {
        let members = |name: &str| document.get(name).and_then(Value::as_object).into_iter().flatten();
        let budget = members("budget").filter_map(|(action, most)| Some((Name::from(&**action), most.as_u64()?)));
        let cadence = members("cadence")
            .filter_map(|(action, least)| Some((Name::from(&**action), least.as_str()?.parse().ok()?)));
        Settings {
            auto_approve: document.get("auto_approve").and_then(Value::as_bool).unwrap_or(false),
            budget: budget.collect(),
            cadence: cadence.collect(),
            horizon: document.get("horizon").and_then(Value::as_str).and_then(|text| text.parse().ok()),
            has_blocked: document.get("blocked").and_then(Value::as_array).is_some_and(|slots| !slots.is_empty()),
        }
    }
}

impl Facts {
    /// An entry stands in a trace log, or in the directory.
    pub fn traced(&mut self, stream: RunAt, ts: Timestamp, body: &TraceBody, from: Option<Party>) {
        match body {
            TraceBody::UserKnown { user } => {
                let place = self.run_at(RunId::of_traces(user));
                if self.traces.user(place).is_none() {
                    self.traces.users.push((place, Arc::clone(user)));
                }
            }
            TraceBody::PlanDispatched { occurrence, due, run, agent, action, day, .. } => {
                let run = self.run_at(*run);
                let (agent, action) = (agent.clone(), Arc::clone(action));
                let dispatch = Dispatch { ts, from, due: *due, run, agent, action, day: *day };
                if let Some(instance) = self.traces.log_mut(stream).instance_mut(occurrence) {
                    instance.dispatched.get_or_insert(dispatch);
                }
            }
            TraceBody::PlanClosed { occurrence, due, profile, .. } => {
                let closing = Closing { due: *due, profile: (**profile).clone(), feedback: Vec::new() };
                if let Some(instance) = self.traces.log_mut(stream).instance_mut(occurrence) {
                    instance.closed.get_or_insert(closing);
                }
            }
            TraceBody::MemoryCommitted { run, .. } => {
                let run = self.run_at(*run);
                self.traces.log_mut(stream).commits.push(run);
                self.traces.log_mut(stream).transition(body);
            }
            _ => self.traces.log_mut(stream).transition(body),
        }
    }

    /// A run intends an effect: what matters of it here are drafts, and reads of memory.
    pub fn intends_memory(&mut self, run: RunAt, step: Step, kind: &str, args: &Json) {
        if kind != MEMORY_PUSH && kind != MEMORY_PULL {
            return;
        }
        let Some(user) = args.get("user").and_then(Value::as_str) else { return };
        let stream = self.run_at(RunId::of_traces(user));
        if kind == MEMORY_PULL {
            let known = self.traces.log(stream).map_or(0, |log| log.memory.len());
            self.traces.pulls.push(Pull { run, step, stream, filter: args.clone(), known });
        } else if let Some(trace) = args.get("trace") {
            let trace = Json::new(trace.clone());
            self.traces.pushes.push(Push { run, step, stream, trace, staged: false, from: None });
        }
    }

    /// A step of a run has a result: a draft may be staged by it.
    pub fn stages(&mut self, run: RunAt, step: Step, result: &EffectResult, from: Option<Party>) {
        if result.status == EffectStatus::Ok
            && let Some(push) = self.traces.pushes.iter_mut().find(|push| (push.run, push.step) == (run, step))
        {
            (push.staged, push.from) = (true, from);
        }
    }
}

impl TraceLog {
    fn transition(&mut self, body: &TraceBody) {
        match body {
            TraceBody::UserConfigured { settings } => self.settings = Settings::read(settings),
            TraceBody::PlanProposed { uid, plan, by } if self.plan(uid).is_none() => {
                let (edits, occurrences) = (Vec::new(), Vec::new());
                self.plans.push(Plan {
                    uid: Arc::clone(uid),
                    document: plan.clone(),
                    by: by.clone(),
                    standing: Standing::Proposed,
                    edits,
                    occurrences,
                });
            }
            TraceBody::PlanEdited { uid, edit, plan, .. } => {
                if let Some(known) = self.plan_mut(uid) {
                    known.document = plan.clone();
                    known.edits.push(Arc::clone(edit));
                }
            }
            TraceBody::PlanApproved { uid, .. } => self.stands(uid, Standing::Approved),
            TraceBody::PlanRejected { uid, .. } => self.stands(uid, Standing::Rejected),
            TraceBody::PlanFeedback { occurrence, feedback, profile, .. } => {
                let closing = self.instance_mut(occurrence).and_then(|instance| instance.closed.as_mut());
                if let Some(closing) = closing {
                    closing.profile = (**profile).clone();
                    closing.feedback.push(Arc::clone(feedback));
                }
            }
            TraceBody::TraceAdded { uid, trace, .. } => self.remember(trace, Some(Arc::clone(uid))),
            TraceBody::MemoryCommitted { traces, .. } => {
                traces.iter().for_each(|staged| self.remember(&staged.trace, None));
            }
            _ => {}
        }
    }

    fn stands(&mut self, uid: &str, standing: Standing) {
        if let Some(plan) = self.plan_mut(uid).filter(|plan| plan.standing == Standing::Proposed) {
            plan.standing = standing;
        }
    }
}
