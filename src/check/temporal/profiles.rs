//! Profiles: every figure recomputed from the log of the run; the same however often it is computed; what feedback may
//! change.

use std::fmt::Debug;
use std::sync::Arc;

use serde_json::Value;

use super::document::{deadline, is_linked, text};
use super::plans::due_wrong;
use super::tries::{Passage, never_ran, passage};
use super::{Entry, subject};
use crate::check::facts::{Facts, Plan, RunAt, Standing};
use crate::check::verdict::{Judge, Rule};
use crate::kernel::{
    Alignment, Body, Execution, Occurrence, Profile, Proposer, ReturnType, Reward, Score, Seq, Span, Timestamp,
    TraceBody, Window,
};

/// Within this distance of its window an occurrence was done exactly.
const EXACT: Span = Span::from_millis(900_000);
/// Within this one, partially.
const PARTIAL: Span = Span::from_millis(5_400_000);

/// How near to its window something was done at this instant.
pub fn alignment(executed_at: Timestamp, window: &Window) -> Alignment {
    let outside = |days: &crate::kernel::Interval| executed_at < days.start || executed_at >= days.end;
    if window.boundary.as_ref().is_some_and(outside) {
        return Alignment::Misaligned;
    }
    let early = window.target.start.since(executed_at);
    let late = executed_at.since(window.target.end);
    match early.max(late).max(Span::ZERO) {
        distance if distance <= EXACT => Alignment::Exact,
        distance if distance <= PARTIAL => Alignment::Partial,
        _ => Alignment::Misaligned,
    }
}

/// Who planned it: who the document names, or else who proposed it.
fn planned_by(plan: &Plan) -> &str {
    text(&plan.document, "planned_by").unwrap_or(match &plan.by {
        Proposer::User(name) => name,
        Proposer::Occurrence(_) => "planner",
        Proposer::Run { agent, .. } => agent.as_str(),
    })
}

/// The trace that an execution leaves is its run's first draft, if it completed, and else its own.
///
/// At a closing: `profile-exact` and `profile-attempts` of an occurrence that was dispatched, and of one that was not.
pub fn closed(facts: &Facts, judge: &mut Judge<'_>, entry: &Entry, body: &TraceBody) {
    let TraceBody::PlanClosed { occurrence, due, window, reason, profile } = body else { return };
    let Some(plan) = facts.traces.log(entry.stream).and_then(|log| log.plan(&occurrence.uid)) else { return };
    let name = entry.name(facts, occurrence);
    let dispatch = plan.instance(occurrence.n).and_then(|instance| instance.dispatched.as_ref());
    let mut told = Told { judge, name: &name };
    told.figure("tempo_token", &profile.tempo_token.as_deref(), &text(&plan.document, "tempo_token"));
    told.figure("planned_by", &profile.execution_result.planned_by.as_deref(), &Some(planned_by(plan)));
    told.figure("feedback_score", &profile.feedback_score, &None);
    told.figure("reward_signal", &profile.reward_signal, &None);
    told.figure("user_delay_ms", &profile.user_delay_ms, &None);
    let Some(dispatch) = dispatch else {
        told.figure("reason", &reason.is_some(), &true);
        told.unexecuted(profile, Execution::Skipped);
        skipped(facts, plan, entry, reason.as_deref(), &mut told);
        if let Some((due, wrong)) = due.and_then(|due| Some((due, due_wrong(plan, occurrence.n, due)?))) {
            judge.violated(Rule::PlanNotEarly, &name, format_args!("closed as due {due}, {wrong}"));
        }
        return;
    };
    told.figure("due", due, &Some(dispatch.due));
    if let Some((status, why)) = never_ran(&facts.runs[dispatch.run].log) {
        told.figure("reason", &reason.as_deref(), &Some(&*why));
        return told.unexecuted(profile, status);
    }
    told.figure("reason", reason, &None);
    let (Some(passage), Some(window)) = (passage(&facts.runs[dispatch.run].log), window) else {
        // That its run has not ended is judged for itself.
        return told.figure("window", window, &None);
    };
    if text(&plan.document, "tempo_token").is_none() {
        told.figure("window", &(window.target.start, window.target.end), &(dispatch.due, dispatch.due));
        told.figure("boundary", &window.boundary, &None);
    }
    told.executed(profile, &passage, dispatch.due, window);
    if passage.status == Execution::Completed
        && facts.traces.staged(dispatch.run).any(|push| push.stream == entry.stream)
        && !facts.traces.log(entry.stream).is_some_and(|log| log.commits.contains(&dispatch.run))
    {
        told.judge.violated(
            Rule::MemportCommitted,
            told.name,
            format_args!("it is closed, and what it has staged is not committed: who goes after it would not find it"),
        );
    }
    let mut drafts: Vec<_> = facts.traces.staged(dispatch.run).filter(|push| push.stream == entry.stream).collect();
    drafts.sort_by_key(|draft| draft.step);
    let draft = drafts.first().and_then(|draft| draft.trace.get("uid")).and_then(Value::as_str);
    let (return_type, left) = match (passage.status, draft) {
        (Execution::Completed, Some(draft)) => (ReturnType::Trace, draft.to_owned()),
        (Execution::Completed, None) => (ReturnType::Text, occurrence.to_string()),
        _ => (ReturnType::Error, occurrence.to_string()),
    };
    let result = &profile.execution_result;
    told.figure("return_type", &result.return_type, &Some(return_type));
    told.figure("trace_id", &result.trace_id.as_deref(), &Some(&*left));
}

/// `plan-served`: a plan that will never run was rejected, or its deadline is over, or another plan may hinder it, or its
/// user's settings never let it go.
fn skipped(facts: &Facts, plan: &Plan, entry: &Entry, reason: Option<&str>, told: &mut Told<'_, '_>) {
    let settings = facts.traces.log(entry.stream).map(|log| &log.settings);
    let action = text(&plan.document, "action_type").unwrap_or_default();
    let never = settings.is_some_and(|settings| {
        let is_blocked = settings.has_blocked && reason == Some("all time is blocked");
        is_blocked || settings.budget.iter().any(|(limited, most)| **limited == *action && *most == 0)
    });
    let is_over = deadline(&plan.document).is_some_and(|deadline| deadline <= entry.ts);
    let hindered = is_over || is_linked(&plan.document) || never;
    if plan.standing != Standing::Rejected && !hindered {
        let ts = entry.ts;
        told.judge.violated(
            Rule::PlanServed,
            told.name,
            format_args!("it is closed at {ts} and was never dispatched, and nothing kept it from running"),
        );
    }
}

/// A block as it is told, and who judges it.
struct Told<'a, 'b> {
    judge: &'a mut Judge<'b>,
    name: &'a str,
}

impl Told<'_, '_> {
    fn figure<T: PartialEq + Debug>(&mut self, what: &str, told: &T, wanted: &T) {
        self.compare(Rule::ProfileExact, what, told, wanted);
    }

    fn compare<T: PartialEq + Debug>(&mut self, rule: Rule, what: &str, told: &T, wanted: &T) {
        if told != wanted {
            self.judge.violated(rule, self.name, format_args!("`{what}` is {told:?}, recomputed {wanted:?}"));
        }
    }

    fn unexecuted(&mut self, profile: &Profile, status: Execution) {
        self.figure("executed_at", &profile.executed_at, &None);
        self.figure("duration_ms", &profile.duration_ms, &0);
        self.figure("deviation_ms", &profile.deviation_ms, &None);
        self.figure("tempo_alignment", &profile.tempo_alignment, &Alignment::Misaligned);
        self.figure("agent_latency_ms", &profile.agent_latency_ms, &None);
        self.compare(Rule::ProfileAttempts, "attempts", &profile.attempts, &Vec::new());
        let result = &profile.execution_result;
        self.figure("status", &result.status, &status);
        self.figure("return_type", &result.return_type, &None);
        self.figure("trace_id", &result.trace_id, &None);
    }

    fn executed(&mut self, profile: &Profile, passage: &Passage, due: Timestamp, window: &Window) {
        let since = |from: Timestamp| passage.ended.since(from).as_millis();
        self.figure("executed_at", &profile.executed_at, &Some(passage.ended));
        self.figure("duration_ms", &profile.duration_ms, &since(passage.begun));
        self.figure("deviation_ms", &profile.deviation_ms, &Some(since(due)));
        self.figure("tempo_alignment", &profile.tempo_alignment, &alignment(passage.ended, window));
        self.figure("agent_latency_ms", &profile.agent_latency_ms, &Some(passage.latency_ms));
        let result = &profile.execution_result;
        self.figure("status", &result.status, &passage.status);
        let told = profile.attempts.iter().map(|told| (told.executed_at, told.duration_ms, told.status));
        let wanted = passage.tries.iter().map(|tried| (tried.executed_at, tried.duration_ms, tried.status));
        let wanted: Vec<_> = if passage.tries.len() > 1 { wanted.collect() } else { Vec::new() };
        self.compare(Rule::ProfileAttempts, "attempts", &told.collect(), &wanted);
        let spoken = profile.attempts.iter().all(|told| !told.reason.is_empty() && told.feedback_score.is_none());
        self.compare(Rule::ProfileAttempts, "each try has a reason, and no score", &spoken, &true);
    }
}

/// `profile-once`, when somebody tries to append a closing: of an occurrence that was dispatched all that was ever tried
/// is the same; of one that was not, all that was tried behind the same entry has the same block.
pub fn tried(
    facts: &mut Facts,
    judge: &mut Judge<'_>,
    stream: RunAt,
    expected: Seq,
    occurrence: &Occurrence,
    body: &Arc<Body>,
) {
    let log = facts.traces.log_mut(stream);
    let differs = log.closings.iter().any(|(behind, before)| {
        if Arc::ptr_eq(before, body) {
            return false;
        }
        let (Body::Trace(before), Body::Trace(now)) = (&**before, &**body) else { return false };
        let (
            TraceBody::PlanClosed { occurrence: other, profile: before_profile, reason: before_reason, .. },
            TraceBody::PlanClosed { profile, reason, .. },
        ) = (&**before, &**now)
        else {
            return false;
        };
        let executed = before_reason.is_none() && reason.is_none();
        other == occurrence && ((executed && before != now) || (expected == *behind && before_profile != profile))
    });
    log.closings.push((expected, Arc::clone(body)));
    if differs {
        judge.violated(
            Rule::ProfileOnce,
            subject(facts, stream, &occurrence.to_string()),
            format_args!("its profile was computed again, and came out otherwise"),
        );
    }
}

/// The reward of a score, by how near to its window the occurrence was done.
fn reward(score: Score, alignment: Alignment) -> Reward {
    let near = match alignment {
        Alignment::Exact => 2,
        Alignment::Partial => 1,
        Alignment::Misaligned => 0,
    };
    Reward(2 * (score.get() - 1) + near)
}

/// At a feedback. `feedback-bounded`: it is for an occurrence that was executed, not before that, and never given before;
/// its block differs from the last one in score, reward and delay alone, and in the score of the last try.
/// `profile-exact`: reward and delay are recomputed.
pub fn feedback(facts: &Facts, judge: &mut Judge<'_>, entry: &Entry, body: &TraceBody) {
    let TraceBody::PlanFeedback { occurrence, feedback, score, given_at, profile, .. } = body else { return };
    let closing = facts.traces.log(entry.stream).and_then(|log| log.instance(occurrence)?.closed.as_ref());
    let name = entry.name(facts, occurrence);
    let executed = closing.and_then(|closing| Some((closing, closing.profile.executed_at?)));
    let Some((closing, executed_at)) = executed else {
        let was = if closing.is_some() { "never executed" } else { "not closed" };
        return judge.violated(Rule::FeedbackBounded, name, format_args!("it has feedback, and was {was}"));
    };
    if *given_at < executed_at || closing.feedback.contains(feedback) {
        judge.violated(
            Rule::FeedbackBounded,
            &name,
            format_args!("feedback `{feedback}` was given at {given_at}, it was executed at {executed_at}"),
        );
    }
    let mut told = Told { judge, name: &name };
    told.figure("reward_signal", &profile.reward_signal, &Some(reward(*score, closing.profile.tempo_alignment)));
    told.figure("user_delay_ms", &profile.user_delay_ms, &Some(given_at.since(executed_at).as_millis()));
    let mut wanted = Profile {
        feedback_score: Some(*score),
        reward_signal: profile.reward_signal,
        user_delay_ms: profile.user_delay_ms,
        ..closing.profile.clone()
    };
    if let Some(last) = wanted.attempts.last_mut() {
        last.feedback_score = Some(*score);
    }
    told.compare(Rule::FeedbackBounded, "profile", &**profile, &wanted);
}
