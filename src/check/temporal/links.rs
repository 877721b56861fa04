//! Links: uids are unique, and every link of a trace resolves.

use super::document::links;
use super::subject;
use crate::check::facts::{Facts, RunAt, TraceLog};
use crate::check::verdict::{Judge, Rule};
use crate::kernel::{Name, Proposer};

/// `trace-links`, at a trace that enters a log: its uid is new there.
pub fn unique(facts: &Facts, judge: &mut Judge<'_>, stream: RunAt, uid: &Name) {
    let Some(log) = facts.traces.log(stream) else { return };
    if log.plan(uid).is_some() || log.memory.iter().any(|memory| memory.uid == *uid) {
        let name = subject(facts, stream, uid);
        judge.violated(Rule::TraceLinks, name, format_args!("a trace of that uid is there already"));
    }
}

/// `trace-links`, once, after healing: every link resolves in its user's log.
pub fn finish(facts: &Facts, judge: &mut Judge<'_>, log: &TraceLog) {
    let mut check = |from: &str, to: &str| {
        if !log.resolves(to) {
            judge.violated(
                Rule::TraceLinks,
                subject(facts, log.stream, from),
                format_args!("it is linked to `{to}`, and there is no such trace"),
            );
        }
    };
    for plan in &log.plans {
        links(&plan.document).for_each(|to| check(&plan.uid, to));
        if let Proposer::Occurrence(occurrence) = &plan.by {
            check(&plan.uid, &occurrence.to_string());
        }
        for instance in &plan.occurrences {
            let result =
                instance.closed.as_ref().and_then(|closing| closing.profile.execution_result.trace_id.as_ref());
            if let Some(to) = result {
                check(&format!("{}#{}", plan.uid, instance.n), to);
            }
        }
    }
    for memory in &log.memory {
        links(&memory.trace).for_each(|to| check(&memory.uid, to));
    }
}
