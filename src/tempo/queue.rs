//! The planner's queue: what is to be done next, as a pure function of the trace log and the time.

use std::collections::BTreeSet;

use super::profiler::never_executed;
use super::{Book, Instance, PlanStatus, Planned, Token, reflect};
use crate::kernel::{AgentId, Execution, Name, Proposer, RunId, Span, Timestamp, TraceBody};

/// What a planner does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Write this.
    Write(TraceBody),
    /// Nothing until the log grows, or this instant comes.
    Wait(Option<Timestamp>),
}

/// What is to be done whatever the time: approvals by policy, the closings of what was rejected, what follows from closings
/// and feedback.
pub fn duty(book: &Book) -> Option<TraceBody> {
    let auto = book.settings.as_ref().is_some_and(|settings| settings.auto_approve);
    let is_proposed = |planned: &&Planned| planned.status == PlanStatus::Proposed;
    if auto && let Some(planned) = in_order(book).into_iter().find(is_proposed) {
        return Some(TraceBody::PlanApproved { uid: planned.plan.uid.clone(), by: "policy".into() });
    }
    let rejected = book.plans.values().filter(|planned| planned.status == PlanStatus::Rejected);
    for planned in rejected {
        if let (Some((n, instance)), Some((by, reason))) = (planned.open(), &planned.rejected) {
            return Some(skipped(book, planned, n, instance, format!("rejected by {by}: {reason}")));
        }
    }
    reflect::duty(book)
}

/// Whether anything waits for its time.
pub fn has_waiting(book: &Book) -> bool {
    book.plans.values().any(|planned| waiting(planned).is_some())
}

/// What is to be done at `now`: the first in the queue that may go is dispatched, what may go no more is skipped. A planner
/// leaves alone what goes to agents that it does not know: it could not make their runs.
pub fn next(book: &Book, now: Timestamp, knows: &dyn Fn(&AgentId) -> bool) -> Next {
    let (Some(calendar), Some(_)) = (book.calendar(), &book.settings) else { return Next::Wait(None) };
    let mut wake: Option<Timestamp> = None;
    let mut sooner = |at: Timestamp| wake = Some(wake.map_or(at, |wake| wake.min(at)));
    for planned in in_order(book) {
        let Some((n, instance, due)) = waiting(planned) else { continue };
        if due > now {
            sooner(due);
            continue;
        }
        match hold_back(book, planned, n, now) {
            Held::Free if !knows(&planned.plan.agent()) => planned.deadline(n).into_iter().for_each(&mut sooner),
            Held::Free => {
                let address = address(book, planned, n);
                return Next::Write(TraceBody::PlanDispatched {
                    occurrence: planned.occurrence(n),
                    due,
                    release: due,
                    run: RunId::of_occurrence(&address),
                    agent: address,
                    action: planned.plan.action.as_str().into(),
                    day: calendar.zone.day_of(now),
                });
            }
            Held::Never(reason) => return Next::Write(skipped(book, planned, n, instance, reason)),
            Held::Until(until) => {
                let until = [until, planned.deadline(n)].into_iter().flatten().min();
                until.into_iter().for_each(&mut sooner);
            }
        }
    }
    Next::Wait(wake)
}

/// The address of an occurrence: below its target, so that no other mail meets it.
fn address(book: &Book, planned: &Planned, n: u32) -> AgentId {
    let target = planned.plan.agent();
    let below = if target.key().is_empty() { String::new() } else { format!("{}/", target.key()) };
    target.with_key(&format!("{below}{}/{}", book.user, planned.occurrence(n)))
}

/// The occurrence of a plan that is approved, not dispatched, and has a time.
fn waiting(planned: &Planned) -> Option<(u32, &Instance, Timestamp)> {
    let (n, instance) = planned.open()?;
    let is_approved = planned.status == PlanStatus::Approved && instance.dispatch.is_none();
    is_approved.then_some(())?;
    Some((n, instance, instance.due?))
}

/// All plans in the order of the queue: release, priority (higher first), insertion, uid.
fn in_order(book: &Book) -> Vec<&Planned> {
    let mut plans: Vec<&Planned> = book.plans.values().collect();
    plans.sort_by_key(|planned| {
        let due = planned.open().and_then(|(_, instance)| instance.due);
        (due, std::cmp::Reverse(planned.plan.priority), planned.inserted, planned.plan.uid.clone())
    });
    plans
}

/// Whether something holds an occurrence back that is due.
enum Held {
    /// Nothing.
    Free,
    /// It may go at this instant at the earliest; without one, once the log says so.
    Until(Option<Timestamp>),
    /// It will never go.
    Never(String),
}

fn hold_back(book: &Book, planned: &Planned, n: u32, now: Timestamp) -> Held {
    if let Some(deadline) = planned.deadline(n).filter(|deadline| now >= *deadline) {
        return Held::Never(format!("its deadline {deadline} has passed"));
    }
    if let Some(before) = planned.token.as_ref().and_then(Token::before)
        && tasks(book, planned, before).any(|other| other.instances.iter().any(|instance| instance.dispatch.is_some()))
    {
        return Held::Never(format!("it was to go before {before}, which has begun"));
    }
    if let Some(after) = planned.token.as_ref().and_then(Token::after) {
        match after_is_done(book, planned, after) {
            Held::Free => {}
            held => return held,
        }
    }
    if book.settings.as_ref().is_some_and(|settings| settings.budget.get(&planned.plan.action) == Some(&0)) {
        return Held::Never(format!("there is no budget for `{}`", planned.plan.action.as_str()));
    }
    let blocked = match blocked(book, now) {
        Some(Timestamp::MAX) => return Held::Never("all time is blocked".to_owned()),
        blocked => blocked,
    };
    let until = [blocked, over_cadence(book, planned, now), over_budget(book, planned, now)];
    match until.into_iter().flatten().max() {
        Some(until) => Held::Until(Some(until)),
        None => Held::Free,
    }
}

/// The plans that a link of `planned` names, by task or by uid: others than itself.
fn tasks<'a>(book: &'a Book, planned: &'a Planned, name: &'a str) -> impl Iterator<Item = &'a Planned> {
    let is_named = move |other: &&Planned| *other.plan.uid == *name || other.plan.task_id.as_deref() == Some(name);
    book.plans.values().filter(is_named).filter(|other| other.plan.uid != planned.plan.uid)
}

/// Whether an open plan may still be done without any of those that are `waiting` for it.
fn may_come<'a>(book: &'a Book, planned: &'a Planned, waiting_for_it: &mut BTreeSet<&'a str>) -> bool {
    if !waiting_for_it.insert(&planned.plan.uid) || planned.open().is_none() {
        return false;
    }
    match planned.token.as_ref().and_then(Token::after).filter(|_| waiting(planned).is_some()) {
        None => true,
        Some(after) => {
            let done = |other: &Planned| other.instances.iter().any(is_completed);
            tasks(book, planned, after).any(|other| done(other) || may_come(book, other, waiting_for_it))
        }
    }
}

fn is_completed(instance: &Instance) -> bool {
    let status = instance.closing.as_ref().map(|closing| closing.profile.execution_result.status);
    status == Some(Execution::Completed)
}

/// `after-<task>`: an occurrence of the task has been completed. Where none ever will be, the plan is skipped.
fn after_is_done(book: &Book, planned: &Planned, task: &str) -> Held {
    let others: Vec<&Planned> = tasks(book, planned, task).collect();
    if others.iter().any(|other| other.instances.iter().any(is_completed)) {
        return Held::Free;
    }
    if others.is_empty() || others.iter().any(|other| may_come(book, other, &mut BTreeSet::from([&*planned.plan.uid])))
    {
        return Held::Until(None);
    }
    let is_open = others.iter().any(|other| other.open().is_some());
    Held::Never(format!("it was to go after {task}, which {}", if is_open { "waits for it" } else { "was not done" }))
}

/// The end of the blocked slots that follow one another from `now` on; the end of time where there is none.
fn blocked(book: &Book, now: Timestamp) -> Option<Timestamp> {
    /// More slots in a row than that are all there is.
    const SLOTS_MOST: usize = 100;
    let calendar = book.calendar()?;
    let mut until = calendar.blocked_until(now)?;
    for _ in 0..SLOTS_MOST {
        match calendar.blocked_until(until) {
            Some(later) => until = later,
            None => return Some(until),
        }
    }
    Some(Timestamp::MAX)
}

/// Every dispatch of the same action.
fn dispatches<'a>(book: &'a Book, planned: &'a Planned) -> impl Iterator<Item = &'a super::Dispatch> {
    let same = book.plans.values().filter(|other| other.plan.action == planned.plan.action);
    same.flat_map(|other| &other.instances).filter_map(|instance| instance.dispatch.as_ref())
}

fn over_cadence(book: &Book, planned: &Planned, now: Timestamp) -> Option<Timestamp> {
    let gap: Span = *book.settings.as_ref()?.cadence.get(&planned.plan.action)?;
    let last = dispatches(book, planned).map(|dispatch| dispatch.at).max()?;
    Some(last + gap).filter(|free| *free > now)
}

fn over_budget(book: &Book, planned: &Planned, now: Timestamp) -> Option<Timestamp> {
    let budget = *book.settings.as_ref()?.budget.get(&planned.plan.action)?;
    let today = book.calendar()?.zone.day_of(now);
    let used =
        dispatches(book, planned).filter(|dispatch| dispatch.at >= today.start && dispatch.at < today.end).count();
    (used >= budget as usize).then_some(today.end)
}

/// The closing of an occurrence that will never be executed.
fn skipped(book: &Book, planned: &Planned, n: u32, instance: &Instance, reason: String) -> TraceBody {
    let window = |due| book.calendar().map(|calendar| calendar.window(planned.token.as_ref(), due));
    TraceBody::PlanClosed {
        occurrence: planned.occurrence(n),
        due: instance.due,
        window: instance.due.and_then(window),
        reason: Some(reason.into()),
        profile: Box::new(never_executed(planned.plan.token.clone(), Execution::Skipped, planned_by(planned))),
    }
}

/// Who planned it: as the document says, else who proposed it.
pub fn planned_by(planned: &Planned) -> Option<Name> {
    planned.plan.planned_by.clone().or_else(|| match &planned.by {
        Proposer::User(user) => Some(user.clone()),
        Proposer::Run { agent, .. } => Some(agent.as_str().into()),
        Proposer::Occurrence(_) => Some("planner".into()),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::kernel::{Body, Json, Profile, RunLogEntry, Seq};

    /// A log that grows, at times after 2025-05-11T09:00:00Z.
    struct Diary(Book);

    fn at(minutes: i64) -> Timestamp {
        let start: Timestamp = "2025-05-11T09:00:00Z".parse().unwrap();
        start + Span::from_secs(minutes * 60)
    }

    impl Diary {
        fn of(settings: Value) -> Diary {
            let mut diary = Diary(Book::new("ana"));
            diary.add(0, TraceBody::UserConfigured { settings: Json::new(settings) });
            diary
        }

        fn add(&mut self, minutes: i64, body: TraceBody) {
            let (run_id, seq) = (RunId::of_traces("ana"), self.0.last.next());
            let entry = RunLogEntry { run_id, seq, ts: at(minutes), body: Arc::new(Body::Trace(Box::new(body))) };
            assert_ne!(seq, Seq::EMPTY);
            self.0.fold(&entry);
        }

        /// A plan that is approved; `more` are fields besides the usual ones.
        fn plan(&mut self, uid: &str, due: i64, more: Value) {
            let mut plan = json!({ "uid": uid, "type": "agent_plan", "content": uid, "action_type": "notify",
                "status": "proposed", "origin": "user", "scheduled_for": at(due) });
            for (field, value) in more.as_object().unwrap() {
                plan[field] = value.clone();
            }
            self.add(
                0,
                TraceBody::PlanProposed { uid: uid.into(), plan: Json::new(plan), by: Proposer::User("ana".into()) },
            );
            self.add(0, TraceBody::PlanApproved { uid: uid.into(), by: "ana".into() });
        }

        /// Does what is next at a time, and tells it.
        fn step(&mut self, minutes: i64) -> String {
            match next(&self.0, at(minutes), &|agent| agent.kind() != "stranger") {
                Next::Wait(until) => format!("wait {}", until.map_or("for the log".into(), |until| until.to_string())),
                Next::Write(body) => {
                    let told = match &body {
                        TraceBody::PlanClosed { reason: Some(reason), occurrence, .. } => {
                            format!("{occurrence}: {reason}")
                        }
                        body => format!("{} {}", body.kind(), body.subject()),
                    };
                    self.add(minutes, body);
                    told
                }
            }
        }

        fn close(&mut self, minutes: i64, uid: &str, n: u32, status: Execution) {
            let executed_at = Some(at(minutes));
            let profile = Profile { executed_at, ..never_executed(None, status, None) };
            let occurrence = crate::kernel::Occurrence { uid: uid.into(), n };
            let (due, window, reason) = (None, None, None);
            self.add(minutes, TraceBody::PlanClosed { occurrence, due, window, reason, profile: Box::new(profile) });
        }
    }

    #[test]
    fn the_queue_goes_by_release_then_priority_then_insertion() {
        let mut diary = Diary::of(json!({}));
        diary.plan("late", 20, json!({ "priority": 9 }));
        diary.plan("low", 10, json!({}));
        diary.plan("high", 10, json!({ "priority": 5 }));
        diary.plan("also-high", 10, json!({ "priority": 5 }));
        assert_eq!(diary.step(9), "wait 2025-05-11T09:10:00Z");
        let order: Vec<String> = (0..4).map(|_| diary.step(30)).collect();
        let wanted = ["high#1", "also-high#1", "low#1", "late#1"].map(|name| format!("plan.dispatched {name}"));
        assert_eq!(order, wanted);
        assert_eq!(diary.step(30), "wait for the log");
    }

    #[test]
    fn nothing_is_dispatched_before_it_is_approved_or_released() {
        let mut diary = Diary::of(json!({}));
        diary.plan("a", 10, json!({}));
        diary.0.plans.get_mut("a").unwrap().status = PlanStatus::Proposed;
        assert_eq!(diary.step(60), "wait for the log");
        diary.0.plans.get_mut("a").unwrap().status = PlanStatus::Approved;
        let just_before = at(10) - Span::from_micros(1);
        assert_eq!(next(&diary.0, just_before, &|_| true), Next::Wait(Some(at(10))));
        assert_eq!(diary.step(10), "plan.dispatched a#1");
    }

    #[test]
    fn a_budget_counts_by_action_and_local_day() {
        let mut diary = Diary::of(json!({ "budget": { "notify": 1 }, "zone": "Europe/Berlin" }));
        diary.plan("a", 10, json!({}));
        diary.plan("b", 10, json!({}));
        diary.plan("other", 11, json!({ "action_type": "log" }));
        assert_eq!(diary.step(11), "plan.dispatched a#1");
        assert_eq!(diary.step(11), "plan.dispatched other#1");
        assert_eq!(diary.step(11), "wait 2025-05-11T22:00:00Z", "the day ends at midnight in Berlin");
        assert_eq!(diary.step(13 * 60), "plan.dispatched b#1");
    }

    #[test]
    fn a_cadence_and_a_blocked_slot_hold_back() {
        let blocked = json!([{ "days": "daily", "start": "09:30", "end": "10:00" }]);
        let mut diary = Diary::of(json!({ "cadence": { "notify": "20m" }, "blocked": blocked }));
        diary.plan("a", 5, json!({}));
        diary.plan("b", 5, json!({}));
        assert_eq!(diary.step(5), "plan.dispatched a#1");
        assert_eq!(diary.step(6), "wait 2025-05-11T09:25:00Z");
        assert_eq!(diary.step(31), "wait 2025-05-11T10:00:00Z");
        assert_eq!(diary.step(60), "plan.dispatched b#1");
    }

    #[test]
    fn what_goes_to_an_unknown_agent_waits_and_holds_nobody_up() {
        let mut diary = Diary::of(json!({}));
        diary.plan("a", 5, json!({ "target": "stranger", "deadline": at(50) }));
        diary.plan("b", 6, json!({}));
        assert_eq!(diary.step(6), "plan.dispatched b#1");
        assert_eq!(diary.step(6), "wait 2025-05-11T09:50:00Z");
        assert_eq!(diary.step(50), "a#1: its deadline 2025-05-11T09:50:00Z has passed");
    }

    #[test]
    fn a_deadline_closes_what_was_held_back() {
        let mut diary = Diary::of(json!({ "cadence": { "notify": "2h" } }));
        diary.plan("first", 5, json!({}));
        assert_eq!(diary.step(6), "plan.dispatched first#1");
        diary.plan("a", 5, json!({ "deadline": at(50) }));
        assert_eq!(diary.step(6), "wait 2025-05-11T09:50:00Z");
        assert_eq!(diary.step(50), "a#1: its deadline 2025-05-11T09:50:00Z has passed");
    }

    #[test]
    fn after_waits_for_a_completion_and_gives_up_when_there_will_be_none() {
        for (status, wanted) in [
            (Execution::Completed, "plan.dispatched b#1"),
            (Execution::Failed, "b#1: it was to go after a, which was not done"),
        ] {
            let mut diary = Diary::of(json!({}));
            diary.plan("b", 5, json!({ "tempo_token": "<tempo:after-a>" }));
            assert_eq!(diary.step(6), "wait for the log", "nobody has proposed `a` yet");
            diary.plan("a", 5, json!({}));
            assert_eq!(diary.step(6), "plan.dispatched a#1");
            assert_eq!(diary.step(6), "wait for the log");
            diary.close(7, "a", 1, status);
            assert_eq!(diary.step(7), wanted);
        }
    }

    #[test]
    fn who_waits_in_a_circle_is_skipped_and_a_plan_does_not_wait_for_its_own_task() {
        let mut diary = Diary::of(json!({}));
        diary.plan("a", 5, json!({ "tempo_token": "<tempo:after-b>" }));
        diary.plan("b", 6, json!({ "tempo_token": "<tempo:after-a>" }));
        diary.plan("c", 7, json!({ "tempo_token": "<tempo:after-t>", "task_id": "t" }));
        assert_eq!(diary.step(9), "a#1: it was to go after b, which waits for it");
        assert_eq!(diary.step(9), "b#1: it was to go after a, which was not done");
        assert_eq!(diary.step(9), "wait for the log", "`c` waits for another plan of its task");
        diary.plan("e", 7, json!({ "tempo_token": "<tempo:after-f>", "task_id": "u" }));
        diary.plan("f", 8, json!({ "tempo_token": "<tempo:after-u>" }));
        diary.plan("g", 60, json!({ "task_id": "u" }));
        assert_eq!(diary.step(9), "wait 2025-05-11T10:00:00Z", "`f` may still be let go by `g`");
        diary.plan("d", 8, json!({ "task_id": "t" }));
        assert_eq!(diary.step(9), "plan.dispatched d#1");
    }

    #[test]
    fn what_will_never_be_let_go_is_skipped() {
        let blocked = json!([{ "start": "00:00", "end": "12:00" }, { "start": "12:00", "end": "24:00" }]);
        for (settings, wanted) in [
            (json!({ "budget": { "notify": 0 } }), "a#1: there is no budget for `notify`"),
            (json!({ "blocked": blocked }), "a#1: all time is blocked"),
        ] {
            let mut diary = Diary::of(settings);
            diary.plan("a", 5, json!({}));
            assert_eq!(diary.step(6), wanted);
        }
    }

    #[test]
    fn the_address_is_below_the_whole_target() {
        let mut diary = Diary::of(json!({}));
        diary.plan("a", 5, json!({ "target": "log/mail" }));
        let Next::Write(TraceBody::PlanDispatched { agent, .. }) = next(&diary.0, at(6), &|_| true) else {
            panic!("it goes")
        };
        assert_eq!(agent.as_str(), "log/mail/ana/a#1");
    }

    #[test]
    fn before_gives_up_once_the_other_has_begun() {
        let mut diary = Diary::of(json!({}));
        diary.plan("a", 5, json!({ "task_id": "t" }));
        diary.plan("b", 6, json!({ "tempo_token": "<tempo:before-t>" }));
        assert_eq!(diary.step(5), "plan.dispatched a#1");
        assert_eq!(diary.step(6), "b#1: it was to go before t, which has begun");
    }

    #[test]
    fn a_recurrence_is_computed_from_the_first_due_time() {
        let mut diary = Diary::of(json!({}));
        diary.plan("a", 5, json!({ "repeat": { "every": "daily", "times": 3 } }));
        let day = 24 * 60;
        for (n, late) in [(1, 300), (2, 700), (3, 5)] {
            let now = (i64::from(n) - 1) * day + late + 5;
            assert_eq!(diary.step(now), format!("plan.dispatched a#{n}"));
            diary.close(now, "a", n, Execution::Completed);
            if n < 3 {
                assert_eq!(diary.step(now), format!("wait {}", at(i64::from(n) * day + 5)), "{n}");
            }
        }
        assert_eq!(diary.step(9 * day), "wait for the log");
        assert_eq!(diary.0.plans["a"].status, PlanStatus::Executed);
    }

    #[test]
    fn what_goes_by_its_window_alone_begins_with_it_whatever_clocks_did_on_the_first_day() {
        let mut diary = Diary::of(json!({ "zone": "Europe/Berlin" }));
        let start: Timestamp = "2025-03-29T12:00:00Z".parse().unwrap();
        let plan = json!({ "uid": "a", "type": "agent_plan", "content": "a", "action_type": "log", "status": "proposed",
            "origin": "user", "tempo_token": "<tempo:window-02:15-02:45>", "repeat": "daily" });
        let minutes = start.since(at(0)).as_micros() / 60_000_000;
        let by = Proposer::User("ana".into());
        diary.add(minutes, TraceBody::PlanProposed { uid: "a".into(), plan: Json::new(plan), by });
        diary.add(minutes, TraceBody::PlanApproved { uid: "a".into(), by: "ana".into() });
        let due = |diary: &Diary, n: u32| diary.0.plans["a"].instance(n).unwrap().due.unwrap().to_string();
        assert_eq!(due(&diary, 1), "2025-03-30T01:00:00Z", "the day on which 02:15 is not there");
        diary.step(minutes + 2_000);
        diary.close(minutes + 2_000, "a", 1, Execution::Completed);
        assert_eq!(due(&diary, 2), "2025-03-31T00:15:00Z");
    }

    #[test]
    fn a_policy_approves_and_a_rejection_is_closed() {
        let mut diary = Diary::of(json!({ "auto_approve": true }));
        let plan = json!({ "uid": "a", "type": "agent_plan", "content": "a", "action_type": "log", "status": "proposed",
            "origin": "agent", "scheduled_for": at(5) });
        let by = Proposer::User("ana".into());
        diary.add(0, TraceBody::PlanProposed { uid: "a".into(), plan: Json::new(plan), by });
        assert_eq!(duty(&diary.0), Some(TraceBody::PlanApproved { uid: "a".into(), by: "policy".into() }));
        let rejected = TraceBody::PlanRejected { uid: "a".into(), by: "ana".into(), reason: "no".into() };
        diary.add(1, rejected);
        let Some(TraceBody::PlanClosed { reason, profile, .. }) = duty(&diary.0) else { panic!("it is closed") };
        assert_eq!(reason.as_deref(), Some("rejected by ana: no"));
        assert_eq!((profile.executed_at, profile.execution_result.status), (None, Execution::Skipped));
    }
}
