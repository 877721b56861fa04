//! What a scenario expects of plans and memory, and the judgement.

use std::fmt;

use super::profiles::occurrence;
use super::{PlanEnd, UserEnd};
use crate::kernel::{Alignment, Execution, Name, Occurrence, Profile, Span};
use crate::scenario::expect::Bound;
use crate::tempo::{PlanStatus, QueueState};

/// A plan, all its occurrences; or one occurrence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Which {
    /// The plan.
    pub uid: Name,
    /// The occurrence that is meant, where one is.
    pub n: Option<u32>,
}

/// How long something may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpanBound {
    /// The least.
    pub at_least: Option<Span>,
    /// The most.
    pub at_most: Option<Span>,
}

/// What is expected of a plan. What is about the end of an occurrence is expected of every one that is closed, and there
/// must be one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanFact {
    /// The plan stands at one of these.
    Status(Vec<PlanStatus>),
    /// Each occurrence is at one of these places of the queue.
    Queue(Vec<QueueState>),
    /// So many occurrences were given to their agent or closed.
    Occurrences(Bound),
    /// Each is so near to its window.
    Alignment(Vec<Alignment>),
    /// Each execution ended so.
    Result(Vec<Execution>),
    /// So long after it was due it was completed.
    Deviation(SpanBound),
    /// So long it took from its first dispatch.
    Duration(SpanBound),
    /// So often it was tried.
    Attempts(Bound),
    /// The score of its last feedback.
    Score(Bound),
    /// Its reward, in tenths.
    Reward(Bound),
    /// Why it was never executed: a text with this in it.
    Reason(Name),
}

impl Which {
    /// The plan `uid`, or its occurrence `uid#n`.
    pub fn of(text: &str) -> Which {
        match occurrence(text) {
            Some(Occurrence { uid, n }) => Which { uid, n: Some(n) },
            None => Which { uid: text.into(), n: None },
        }
    }

    fn covers(&self, occurrence: &Occurrence) -> bool {
        self.uid == occurrence.uid && self.n.is_none_or(|n| n == occurrence.n)
    }
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.n {
            Some(n) => write!(f, "{}#{n}", self.uid),
            None => f.write_str(&self.uid),
        }
    }
}

impl SpanBound {
    /// Whether `span` is within the bound.
    pub fn holds(&self, span: Span) -> bool {
        self.at_least.is_none_or(|least| span >= least) && self.at_most.is_none_or(|most| span <= most)
    }
}

impl fmt::Display for SpanBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.at_least, self.at_most) {
            (Some(least), Some(most)) if least == most => write!(f, "{least}"),
            (Some(least), Some(most)) => write!(f, "{least} to {most}"),
            (Some(least), None) => write!(f, "at least {least}"),
            (None, Some(most)) => write!(f, "at most {most}"),
            (None, None) => f.write_str("any time"),
        }
    }
}

/// `exact or partial`.
fn either<T: Copy>(list: &[T], word: impl Fn(T) -> &'static str) -> String {
    list.iter().map(|each| word(*each)).collect::<Vec<_>>().join(" or ")
}

/// A number of tenths as a part of one.
struct Tenths(u64);

impl fmt::Display for Tenths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 10, self.0 % 10)
    }
}

impl fmt::Display for PlanFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanFact::Status(list) => write!(f, "is {}", either(list, PlanStatus::as_str)),
            PlanFact::Queue(list) => write!(f, "is {} in the queue", either(list, QueueState::as_str)),
            PlanFact::Occurrences(bound) => write!(f, "occurrences: {bound}"),
            PlanFact::Alignment(list) => write!(f, "alignment: {}", either(list, Alignment::as_str)),
            PlanFact::Result(list) => write!(f, "result: {}", either(list, Execution::as_str)),
            PlanFact::Deviation(bound) => write!(f, "deviation: {bound}"),
            PlanFact::Duration(bound) => write!(f, "duration: {bound}"),
            PlanFact::Attempts(bound) => write!(f, "attempts: {bound}"),
            PlanFact::Score(bound) => write!(f, "score: {bound}"),
            PlanFact::Reward(Bound { at_least, at_most }) => match (at_least, at_most) {
                (Some(least), Some(most)) if least == most => write!(f, "reward: {}", Tenths(*least)),
                (Some(least), Some(most)) => write!(f, "reward: {} to {}", Tenths(*least), Tenths(*most)),
                (Some(least), None) => write!(f, "reward: at least {}", Tenths(*least)),
                (None, Some(most)) => write!(f, "reward: at most {}", Tenths(*most)),
                (None, None) => f.write_str("reward: any"),
            },
            PlanFact::Reason(part) => write!(f, "never executed, since {part}"),
        }
    }
}

impl PlanFact {
    /// Whether this holds of a plan of a user, and what came about.
    pub fn judge(&self, plan: &Which, end: &UserEnd) -> (bool, String) {
        let all: Vec<(&Occurrence, &PlanEnd)> = end.plans.iter().filter(|(each, _)| plan.covers(each)).collect();
        if let PlanFact::Occurrences(bound) = self {
            let begun =
                |end: &&PlanEnd| matches!(end.queue, QueueState::Running | QueueState::Done | QueueState::Closed);
            let count = all.iter().map(|(_, end)| *end).filter(begun).count() as u64;
            return (bound.holds(count), format!("{plan} had {count} occurrences"));
        }
        let about_plan = matches!(self, PlanFact::Status(_) | PlanFact::Queue(_));
        let subjects: Vec<_> = all.iter().filter(|(_, end)| about_plan || end.profiling.is_some()).collect();
        if subjects.is_empty() {
            let state = all.first().map(|(_, end)| end.queue.as_str());
            return (false, state.map_or(format!("{plan} is unknown"), |state| format!("{plan} is {state}")));
        }
        match subjects.iter().find(|(_, end)| !self.holds(end)) {
            Some((occurrence, end)) => (false, format!("{occurrence}: {}", self.told(end))),
            None => {
                let (occurrence, end) = subjects[subjects.len() - 1];
                (true, format!("{occurrence}: {}", self.told(end)))
            }
        }
    }

    /// Whether this holds of one occurrence.
    fn holds(&self, end: &PlanEnd) -> bool {
        let block = end.profiling.as_ref();
        let of_block = |holds: &dyn Fn(&Profile) -> bool| block.is_some_and(holds);
        let within = |bound: &Bound, number: Option<u64>| number.is_some_and(|number| bound.holds(number));
        let spans = |bound: &SpanBound, ms: Option<i64>| ms.is_some_and(|ms| bound.holds(Span::from_millis(ms)));
        match self {
            PlanFact::Status(list) => list.contains(&end.status),
            PlanFact::Queue(list) => list.contains(&end.queue),
            PlanFact::Occurrences(_) => true,
            PlanFact::Alignment(list) => of_block(&|block| list.contains(&block.tempo_alignment)),
            PlanFact::Result(list) => of_block(&|block| list.contains(&block.execution_result.status)),
            PlanFact::Deviation(bound) => of_block(&|block| spans(bound, block.deviation_ms)),
            PlanFact::Duration(bound) => of_block(&|block| spans(bound, Some(block.duration_ms))),
            PlanFact::Attempts(bound) => bound.holds(end.attempts()),
            PlanFact::Score(bound) => within(bound, end.score().map(|score| u64::from(score.get()))),
            PlanFact::Reward(bound) => within(bound, end.reward().map(|reward| u64::from(reward.0))),
            PlanFact::Reason(part) => end.reason.as_ref().is_some_and(|reason| reason.contains(&**part)),
        }
    }

    /// What came about, of one occurrence.
    fn told(&self, end: &PlanEnd) -> String {
        let Some(block) = end.profiling.as_ref() else {
            return match self {
                PlanFact::Status(_) => end.status.as_str().to_owned(),
                _ => end.queue.as_str().to_owned(),
            };
        };
        let ms = |ms: Option<i64>| ms.map_or("never executed".to_owned(), |ms| Span::from_millis(ms).to_string());
        match self {
            PlanFact::Status(_) => end.status.as_str().to_owned(),
            PlanFact::Queue(_) | PlanFact::Occurrences(_) => end.queue.as_str().to_owned(),
            PlanFact::Alignment(_) => block.tempo_alignment.as_str().to_owned(),
            PlanFact::Result(_) => block.execution_result.status.as_str().to_owned(),
            PlanFact::Deviation(_) => ms(block.deviation_ms),
            PlanFact::Duration(_) => ms(Some(block.duration_ms)),
            PlanFact::Attempts(_) => format!("tried {} times", end.attempts()),
            PlanFact::Score(_) => end.score().map_or("no feedback".to_owned(), |score| score.get().to_string()),
            PlanFact::Reward(_) => {
                end.reward().map_or("no reward".to_owned(), |reward| Tenths(u64::from(reward.0)).to_string())
            }
            PlanFact::Reason(_) => end.reason.as_deref().unwrap_or("no reason").to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn end(value: serde_json::Value) -> PlanEnd {
        serde_json::from_value(value).expect("it is an end")
    }

    /// A plan that repeats: once late and judged, once tried twice; one that was rejected; one that waits.
    fn ends() -> UserEnd {
        let block = |alignment: &str, deviation: i64| {
            json!({ "executed_at": "2025-05-11T20:03:12Z", "duration_ms": 182_000, "deviation_ms": deviation,
                "tempo_alignment": alignment, "execution_result": { "status": "completed" } })
        };
        let mut judged = block("partial", 192_000);
        (judged["feedback_score"], judged["reward_signal"]) = (json!(4), json!(0.7));
        let mut tried = block("exact", 182_000);
        let try_of = |status: &str| json!({ "executed_at": null, "duration_ms": 1, "status": status, "reason": "r" });
        tried["attempts"] = json!([try_of("failed"), try_of("completed")]);
        let closed = json!({ "executed_at": null, "duration_ms": 0, "deviation_ms": null, "tempo_alignment": "misaligned",
            "execution_result": { "status": "skipped" } });
        let plans = [
            ("tea#1", json!({ "status": "executed", "queue": "done", "profiling": judged })),
            ("tea#2", json!({ "status": "executed", "queue": "done", "profiling": tried })),
            (
                "no#1",
                json!({ "status": "rejected", "queue": "closed", "reason": "rejected by ana: no", "profiling": closed }),
            ),
            ("open#1", json!({ "status": "proposed", "queue": "awaiting_approval" })),
        ];
        let plans = plans.map(|(name, value)| (occurrence(name).expect("a name"), end(value)));
        UserEnd { plans: plans.into(), ..UserEnd::default() }
    }

    #[test]
    fn each_fact_holds_and_fails_by_what_came_about() {
        let bound = |at_least, at_most| Bound { at_least, at_most };
        let at_most = |text: &str| SpanBound { at_least: None, at_most: text.parse().ok() };
        let cases = [
            ("tea", PlanFact::Status(vec![PlanStatus::Executed]), true),
            ("tea", PlanFact::Status(vec![PlanStatus::Approved, PlanStatus::Rejected]), false),
            ("tea", PlanFact::Queue(vec![QueueState::Done]), true),
            ("open", PlanFact::Queue(vec![QueueState::Done]), false),
            ("tea", PlanFact::Occurrences(Bound::exactly(2)), true),
            ("tea#2", PlanFact::Occurrences(Bound::exactly(2)), false),
            ("open", PlanFact::Occurrences(Bound::exactly(0)), true),
            ("tea", PlanFact::Alignment(vec![Alignment::Exact, Alignment::Partial]), true),
            ("tea", PlanFact::Alignment(vec![Alignment::Exact]), false),
            ("tea#2", PlanFact::Alignment(vec![Alignment::Exact]), true),
            ("open", PlanFact::Alignment(vec![Alignment::Exact]), false),
            ("never", PlanFact::Alignment(vec![Alignment::Exact]), false),
            ("no", PlanFact::Result(vec![Execution::Skipped]), true),
            ("tea", PlanFact::Result(vec![Execution::Failed]), false),
            ("tea", PlanFact::Deviation(at_most("3m12s")), true),
            ("tea", PlanFact::Deviation(at_most("3m11s")), false),
            ("no", PlanFact::Deviation(SpanBound::default()), false),
            (
                "tea",
                PlanFact::Duration(SpanBound { at_least: "3m2s".parse().ok(), at_most: "3m2s".parse().ok() }),
                true,
            ),
            ("tea#2", PlanFact::Attempts(Bound::exactly(2)), true),
            ("tea", PlanFact::Attempts(Bound::exactly(2)), false),
            ("no", PlanFact::Attempts(Bound::exactly(0)), true),
            ("tea#1", PlanFact::Score(bound(Some(4), None)), true),
            ("tea", PlanFact::Score(bound(Some(4), None)), false),
            ("tea#1", PlanFact::Reward(Bound::exactly(7)), true),
            ("tea#1", PlanFact::Reward(bound(Some(8), None)), false),
            ("no", PlanFact::Reason("no".into()), true),
            ("tea", PlanFact::Reason("no".into()), false),
        ];
        let ends = ends();
        let told = cases.map(|(name, fact, holds)| {
            let plan = Which::of(name);
            let (held, message) = fact.judge(&plan, &ends);
            assert_eq!(held, holds, "{plan} {fact}: {message}");
            format!("plan {plan} {fact} | {message}")
        });
        insta::assert_snapshot!(told.join("\n"));
    }
}
