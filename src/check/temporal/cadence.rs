//! Budgets and cadence: how many dispatches of an action there may be on a day, and how close together.

use super::Entry;
use crate::check::facts::{Dispatch, Facts};
use crate::check::verdict::{Judge, Rule};
use crate::kernel::{Interval, Span, Timestamp, TraceBody};

/// `cadence-kept`, at a dispatch: it was decided on a day that had begun, and by the last settings no day has more
/// dispatches of its action than the budget allows, and none comes so shortly after another. A dispatch counts for the day
/// on which it stands in the log: one that was decided just before midnight may land behind it.
pub fn dispatched(facts: &Facts, judge: &mut Judge<'_>, entry: &Entry, body: &TraceBody) {
    let TraceBody::PlanDispatched { occurrence, action, day, .. } = body else { return };
    let (ts, name) = (entry.ts, || entry.name(facts, occurrence));
    let length = day.end.since(day.start);
    let is_day = (Span::from_secs(20 * 3_600)..=Span::from_secs(28 * 3_600)).contains(&length);
    if !is_day || ts < day.start {
        judge.violated(
            Rule::CadenceKept,
            name(),
            format_args!("dispatched at {ts} on a day from {} to {}", day.start, day.end),
        );
    }
    let Some(log) = facts.traces.log(entry.stream) else { return };
    let same = |dispatch: &&Dispatch| dispatch.action == *action;
    if let Some((_, most)) = log.settings.budget.iter().find(|(limited, _)| limited == action) {
        let days = log.dispatches().map(|dispatch| dispatch.day).chain([*day]);
        let times = |day: &Interval| {
            let on_day = |at: Timestamp| at >= day.start && at < day.end;
            let before = log.dispatches().filter(same).filter(|dispatch| on_day(dispatch.ts)).count() as u64;
            before + u64::from(on_day(ts))
        };
        if let Some(times) = days.map(|day| times(&day)).find(|times| times > most) {
            judge.violated(
                Rule::CadenceKept,
                name(),
                format_args!("`{action}` is dispatched for the {times} time on a day, {most} are allowed"),
            );
        }
    }
    if let Some((_, least)) = log.settings.cadence.iter().find(|(limited, _)| limited == action) {
        let last = log.dispatches().filter(same).map(|dispatch| dispatch.ts).max();
        if let Some(last) = last.filter(|last| ts.since(*last) < *least) {
            judge.violated(
                Rule::CadenceKept,
                name(),
                format_args!("`{action}` is dispatched at {ts}, {least} after {last} at the earliest"),
            );
        }
    }
}
