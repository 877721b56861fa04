//! The fold of a user's trace log: every plan, every occurrence, and what is known as memory.

use std::collections::{BTreeMap, BTreeSet};

use super::{Calendar, MemoryTrace, Plan, PlanStatus, Settings, Token};
use crate::kernel::{
    AgentId, Body, Interval, Json, Name, Occurrence, Profile, Proposer, RunId, RunLogEntry, Score, Seq, Span,
    Timestamp, TraceBody, Window,
};

/// The most by which a change of clocks moves a due time.
const CLOCKS_MOST: Span = Span::from_secs(2 * 3_600);

/// A dispatch, as the log tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// When, by the store's clock.
    pub at: Timestamp,
    /// The run.
    pub run: RunId,
    /// Its address.
    pub agent: AgentId,
    /// The local day on which it was decided.
    pub day: Interval,
    /// The window, as the settings of that time resolve it: so its profile is the same whoever computes it, and when.
    pub window: Window,
}

/// The end of an occurrence, as the log tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closing {
    /// When it was written.
    pub at: Timestamp,
    /// The window.
    pub window: Option<Window>,
    /// Why it was never executed.
    pub reason: Option<Name>,
    /// The block, as the last feedback has it.
    pub profile: Profile,
    /// How many versions of the block there are.
    pub version: u32,
}

/// One occurrence of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instance {
    /// When it is due; none where nothing tells.
    pub due: Option<Timestamp>,
    /// Its dispatch.
    pub dispatch: Option<Dispatch>,
    /// Its end.
    pub closing: Option<Closing>,
    /// The feedback that it got, in order: ids and scores.
    pub feedback: Vec<(Name, Score)>,
}

/// A plan with all that became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The plan, as last edited.
    pub plan: Plan,
    /// Its token.
    pub token: Option<Token>,
    /// Who proposed it.
    pub by: Proposer,
    /// When.
    pub proposed_at: Timestamp,
    /// Its place among the plans of its user.
    pub inserted: usize,
    /// Where it stands.
    pub status: PlanStatus,
    /// By whom, and why, it was rejected.
    pub rejected: Option<(Name, Name)>,
    /// Who approved it.
    pub approved_by: Option<Name>,
    /// The ids of the edits that it has seen.
    pub edits: BTreeSet<Name>,
    /// Its occurrences, from number 1 on; the last one may be open.
    pub instances: Vec<Instance>,
}

/// Where an occurrence is in the planner's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the words say it")]
pub enum QueueState {
    AwaitingApproval,
    Scheduled,
    Ready,
    Running,
    Done,
    Closed,
}

impl QueueState {
    /// In words.
    pub const fn as_str(self) -> &'static str {
        match self {
            QueueState::AwaitingApproval => "awaiting_approval",
            QueueState::Scheduled => "scheduled",
            QueueState::Ready => "ready",
            QueueState::Running => "running",
            QueueState::Done => "done",
            QueueState::Closed => "closed",
        }
    }
}

impl Planned {
    /// The occurrence that is not closed; none once there will be no other.
    pub fn open(&self) -> Option<(u32, &Instance)> {
        let last = self.instances.last().filter(|instance| instance.closing.is_none())?;
        Some((self.instances.len() as u32, last))
    }

    /// Occurrence `n`, from 1.
    pub fn instance(&self, n: u32) -> Option<&Instance> {
        self.instances.get(usize::try_from(n.checked_sub(1)?).ok()?)
    }

    /// Where occurrence `n` is in the queue at `now`.
    pub fn queue_state(&self, n: u32, now: Timestamp) -> Option<QueueState> {
        let instance = self.instance(n)?;
        Some(match (&instance.closing, &instance.dispatch) {
            (Some(closing), _) if closing.profile.executed_at.is_some() => QueueState::Done,
            (Some(_), _) => QueueState::Closed,
            (None, Some(_)) => QueueState::Running,
            (None, None) => match self.status {
                PlanStatus::Proposed => QueueState::AwaitingApproval,
                PlanStatus::Rejected => QueueState::Closed,
                _ if instance.due.is_some_and(|due| due <= now) => QueueState::Ready,
                _ => QueueState::Scheduled,
            },
        })
    }

    /// The name of an occurrence.
    pub fn occurrence(&self, n: u32) -> Occurrence {
        Occurrence { uid: self.plan.uid.clone(), n }
    }

    /// When occurrence `n` must have ended: the plan's deadline, as far behind its due time as that of the first is.
    pub fn deadline(&self, n: u32) -> Option<Timestamp> {
        let deadline = self.plan.deadline?;
        let first = self.instances.first()?.due;
        let due = self.instance(n)?.due;
        match (first, due) {
            (Some(first), Some(due)) => Some(deadline + due.since(first)),
            _ => Some(deadline),
        }
    }
}

/// What the trace log of a user says.
#[derive(Clone, Debug)]
pub struct Book {
    /// Whose it is.
    pub user: Name,
    /// The last entry.
    pub last: Seq,
    /// The settings, once there are any.
    pub settings: Option<Settings>,
    calendar: Option<Calendar>,
    /// Every plan, by its uid.
    pub plans: BTreeMap<Name, Planned>,
    /// Memory: what was added and what was committed, by its uid, with the time of its entry.
    pub memory: BTreeMap<Name, (Timestamp, MemoryTrace)>,
    /// The ids of all plans and traces, whether or not their documents can be read.
    uids: BTreeSet<Name>,
    /// Runs whose drafts are committed.
    pub committed: BTreeSet<RunId>,
}

impl Book {
    /// An empty log.
    pub fn new(user: impl Into<Name>) -> Book {
        Book {
            user: user.into(),
            last: Seq::EMPTY,
            settings: None,
            calendar: None,
            plans: BTreeMap::new(),
            memory: BTreeMap::new(),
            uids: BTreeSet::new(),
            committed: BTreeSet::new(),
        }
    }

    /// The fold of these entries.
    pub fn of<'a>(user: impl Into<Name>, entries: impl IntoIterator<Item = &'a RunLogEntry>) -> Book {
        let mut book = Book::new(user);
        entries.into_iter().for_each(|entry| book.fold(entry));
        book
    }

    /// The calendar by the settings of now.
    pub fn calendar(&self) -> Option<&Calendar> {
        self.calendar.as_ref()
    }

    /// Whether any trace has this id: a plan, an occurrence that is closed, memory.
    pub fn knows(&self, uid: &str) -> bool {
        self.uids.contains(uid) || self.instance(uid).is_some()
    }

    /// The occurrence called `uid#n`.
    pub fn instance(&self, name: &str) -> Option<(&Planned, u32, &Instance)> {
        let (uid, n) = name.rsplit_once('#')?;
        let n: u32 = n.parse().ok()?;
        let planned = self.plans.get(uid)?;
        Some((planned, n, planned.instance(n)?))
    }

    /// Takes the next entry. An entry that breaks a rule of this log changes nothing: it cannot have been written by anybody
    /// who looked first.
    pub fn fold(&mut self, entry: &RunLogEntry) {
        self.last = entry.seq;
        let Body::Trace(trace) = &*entry.body else { return };
        match &**trace {
            TraceBody::UserKnown { .. } => {}
            TraceBody::UserConfigured { settings } => {
                if let Ok(settings) = serde_json::from_value::<Settings>((**settings).clone())
                    && let Ok(calendar) = Calendar::of(&settings)
                {
                    self.settings = Some(settings);
                    self.calendar = Some(calendar);
                }
            }
            TraceBody::PlanProposed { uid, plan, by } => {
                self.uids.insert(uid.clone());
                let Some(plan) = self.read(plan).filter(|_| !self.plans.contains_key(uid)) else { return };
                let planned = Planned {
                    token: self.token(&plan),
                    plan,
                    by: by.clone(),
                    proposed_at: entry.ts,
                    inserted: self.plans.len(),
                    status: PlanStatus::Proposed,
                    rejected: None,
                    approved_by: None,
                    edits: BTreeSet::new(),
                    instances: vec![Instance::default()],
                };
                self.plans.insert(uid.clone(), planned);
                self.schedule_first(uid);
            }
            TraceBody::PlanEdited { uid, edit, plan, .. } => {
                let Some(plan) = self.read(plan) else { return };
                let token = self.token(&plan);
                let Some(planned) = self.proposed(uid) else { return };
                (planned.plan, planned.token) = (plan, token);
                planned.edits.insert(edit.clone());
                self.schedule_first(uid);
            }
            TraceBody::PlanApproved { uid, by } => {
                let Some(planned) = self.proposed(uid) else { return };
                planned.status = PlanStatus::Approved;
                planned.approved_by = Some(by.clone());
            }
            TraceBody::PlanRejected { uid, by, reason } => {
                let Some(planned) = self.proposed(uid) else { return };
                planned.status = PlanStatus::Rejected;
                planned.rejected = Some((by.clone(), reason.clone()));
            }
            TraceBody::PlanDispatched { occurrence, due, run, agent, day, .. } => {
                let Some(calendar) = &self.calendar else { return };
                let Some(planned) = self.plans.get(&occurrence.uid) else { return };
                let window = calendar.window(planned.token.as_ref(), *due);
                let dispatch = Dispatch { at: entry.ts, run: *run, agent: agent.clone(), day: *day, window };
                if let Some(instance) = self.instance_mut(occurrence) {
                    instance.dispatch.get_or_insert(dispatch);
                }
            }
            TraceBody::PlanClosed { occurrence, window, reason, profile, .. } => {
                let closing = Closing {
                    at: entry.ts,
                    window: *window,
                    reason: reason.clone(),
                    profile: (**profile).clone(),
                    version: 1,
                };
                self.close(occurrence, closing);
            }
            TraceBody::PlanFeedback { occurrence, feedback, score, profile, .. } => {
                self.uids.insert(feedback.clone());
                let Some(instance) = self.instance_mut(occurrence) else { return };
                instance.feedback.push((feedback.clone(), *score));
                if let Some(closing) = &mut instance.closing {
                    closing.profile = (**profile).clone();
                    closing.version += 1;
                }
            }
            TraceBody::TraceAdded { uid, trace, .. } => self.remember(uid.clone(), entry.ts, trace),
            TraceBody::MemoryCommitted { run, traces } => {
                self.committed.insert(*run);
                for staged in traces {
                    if let Some(uid) = staged.trace.get("uid").and_then(|uid| uid.as_str()) {
                        self.remember(uid.into(), entry.ts, &staged.trace);
                    }
                }
            }
        }
    }

    fn proposed(&mut self, uid: &str) -> Option<&mut Planned> {
        self.plans.get_mut(uid).filter(|planned| planned.status == PlanStatus::Proposed)
    }

    fn instance_mut(&mut self, occurrence: &Occurrence) -> Option<&mut Instance> {
        let place = usize::try_from(occurrence.n.checked_sub(1)?).ok()?;
        self.plans.get_mut(&occurrence.uid)?.instances.get_mut(place)
    }

    fn read(&self, plan: &Json) -> Option<Plan> {
        Plan::parse(plan, &self.calendar.as_ref()?.registry).ok()
    }

    fn token(&self, plan: &Plan) -> Option<Token> {
        self.calendar.as_ref()?.registry.token(plan.token.as_deref()?).ok()
    }

    fn remember(&mut self, uid: Name, at: Timestamp, trace: &Json) {
        self.uids.insert(uid.clone());
        if let Ok(trace) = MemoryTrace::parse(trace) {
            self.memory.entry(uid).or_insert((at, trace));
        }
    }

    /// When the first occurrence of a plan is due.
    fn schedule_first(&mut self, uid: &str) {
        let Some(calendar) = &self.calendar else { return };
        let Some(planned) = self.plans.get_mut(uid) else { return };
        let due = calendar.release(&planned.plan, planned.proposed_at);
        planned.instances = vec![Instance { due, ..Instance::default() }];
    }

    /// An occurrence has ended; where its plan repeats, the next one is there. It is computed from the first due time, so
    /// that lateness does not add up.
    fn close(&mut self, occurrence: &Occurrence, closing: Closing) {
        let (Some(calendar), Some(settings)) = (&self.calendar, &self.settings) else { return };
        let Some(planned) = self.plans.get_mut(&occurrence.uid) else { return };
        let Some(instance) = (occurrence.n as usize).checked_sub(1).and_then(|place| planned.instances.get_mut(place))
        else {
            return;
        };
        if instance.closing.is_some() {
            return;
        }
        instance.closing = Some(closing);
        if let (Some(repeat), Some(first), PlanStatus::Approved) =
            (planned.plan.repeat, planned.instances[0].due, planned.status)
        {
            let next = calendar.zone.next(first, repeat.every, occurrence.n);
            // A plan that goes by its window alone begins with it, also when a change of clocks has moved the first one.
            let by_window = planned.token.as_ref().filter(|_| planned.plan.scheduled_for.is_none());
            let start = by_window.map(|token| calendar.window(Some(token), next).target.start);
            let due = start.filter(|start| start.since(next).max(next.since(*start)) <= CLOCKS_MOST).unwrap_or(next);
            let in_time = |bound: Option<Timestamp>| bound.is_none_or(|bound| due <= bound);
            // What has no bound of its own ends with the month.
            let is_bounded = repeat.times.is_some() || repeat.until.is_some();
            let month = (!is_bounded).then_some(first + super::REPEATS_FOR);
            if repeat.times.is_none_or(|times| occurrence.n < times)
                && in_time(repeat.until)
                && in_time(settings.horizon.or(month))
            {
                planned.instances.push(Instance { due: Some(due), ..Instance::default() });
                return;
            }
        }
        let executed = |instance: &Instance| {
            instance.closing.as_ref().is_some_and(|closing| closing.profile.executed_at.is_some())
        };
        if planned.status == PlanStatus::Approved && planned.instances.iter().any(executed) {
            planned.status = PlanStatus::Executed;
        }
    }
}
