//! Budgets and cadence: how many dispatches of an action there may be on a day, and how close together.

use super::Entry;
use crate::check::facts::{Dispatch, Facts};
use crate::check::verdict::{Judge, Rule};
use crate::kernel::{Span, TraceBody};

/// `cadence-kept`, at a dispatch: its day is one, and holds it; by the last settings there are no more dispatches of its
/// action on that day than the budget allows, and none so shortly before it.
pub fn dispatched(facts: &Facts, judge: &mut Judge<'_>, entry: &Entry, body: &TraceBody) {
    let TraceBody::PlanDispatched { occurrence, action, day, .. } = body else { return };
    let (ts, name) = (entry.ts, || entry.name(facts, occurrence));
    let length = day.end.since(day.start);
    let is_day = (Span::from_secs(20 * 3_600)..=Span::from_secs(28 * 3_600)).contains(&length);
    if !is_day || ts < day.start || ts >= day.end {
        judge.violated(
            Rule::CadenceKept,
            name(),
            format_args!("dispatched at {ts} on a day from {} to {}", day.start, day.end),
        );
    }
    let Some(log) = facts.traces.log(entry.stream) else { return };
    let same = |dispatch: &&Dispatch| dispatch.action == *action;
    if let Some((_, most)) = log.settings.budget.iter().find(|(limited, _)| limited == action) {
        let on_day = |dispatch: &&Dispatch| dispatch.ts >= day.start && dispatch.ts < day.end;
        let before = log.dispatches().filter(same).filter(on_day).count() as u64;
        if before >= *most {
            judge.violated(
                Rule::CadenceKept,
                name(),
                format_args!("`{action}` is dispatched for the {} time on a day, {most} are allowed", before + 1),
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
