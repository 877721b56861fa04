//! Memory: drafts become it once, when their run has completed, and nobody reads them before.

use serde_json::Value;

use super::links::unique;
use super::{Entry, subject};
use crate::check::facts::{Facts, Push, RunAt};
use crate::check::verdict::{Judge, Rule};
use crate::kernel::{EffectResult, EffectStatus, Json, RunId, RunStatus, Staged, Step};

/// `memport-committed`, at a commit: the run's log says that it completed, nothing of it was committed for that user
/// before, and what is committed is what it has staged, in the order of its steps.
pub fn committed(facts: &Facts, judge: &mut Judge<'_>, entry: &Entry, run: RunId, traces: &[Staged]) {
    for staged in traces {
        if let Some(uid) = staged.trace.get("uid").and_then(Value::as_str) {
            unique(facts, judge, entry.stream, &uid.into());
        }
    }
    let Some(place) = facts.known_run(run) else { return };
    let mut drafts: Vec<&Push> = facts.traces.staged(place).filter(|push| push.stream == entry.stream).collect();
    drafts.sort_by_key(|push| push.step);
    let again = facts.traces.log(entry.stream).is_some_and(|log| log.commits.contains(&place));
    let same = drafts.len() == traces.len()
        && drafts
            .iter()
            .zip(traces)
            .all(|(push, staged)| push.step == staged.step && holds(&staged.trace, &push.trace));
    let wrong = if facts.runs[place].log.closed != Some(RunStatus::Completed) {
        "its log does not say that it completed"
    } else if again {
        "they were committed before"
    } else if !same {
        "they are not those that it has staged"
    } else {
        return;
    };
    judge.violated(
        Rule::MemportCommitted,
        entry.subject(facts, &run.to_string()),
        format_args!("{} drafts of it are committed, and {wrong}", traces.len()),
    );
}

/// Whether a trace is the draft, but for members that the draft leaves out.
fn holds(trace: &Json, draft: &Json) -> bool {
    match (trace.as_object(), draft.as_object()) {
        (Some(trace), Some(draft)) => draft.iter().all(|(member, value)| trace.get(member) == Some(value)),
        _ => trace == draft,
    }
}

/// `memport-committed`, at the answer to a run that reads memory: it holds nothing that the user's log does not hold, and
/// all that it asks for and that was memory when it was intended.
pub fn pulled(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, step: Step, result: &EffectResult) {
    let pull = facts.traces.pulls.iter().find(|pull| (pull.run, pull.step) == (run, step));
    let Some(pull) = pull.filter(|_| result.status == EffectStatus::Ok) else { return };
    let Some(traces) = result.value.get("traces").and_then(Value::as_array) else { return };
    let log = facts.traces.log(pull.stream);
    let given: Vec<&str> = traces.iter().filter_map(|trace| trace.get("uid").and_then(Value::as_str)).collect();
    let mut wrong = |told: std::fmt::Arguments<'_>| judge.violated(Rule::MemportCommitted, facts.name(run), told);
    for uid in given.iter().filter(|uid| !log.is_some_and(|log| log.resolves(uid))) {
        wrong(format_args!("step {step} was given trace `{uid}`, which is no memory of the user"));
    }
    let known = log.into_iter().flat_map(|log| log.memory.iter().take(pull.known));
    let wanted = known.filter(|memory| asks_for(&pull.filter, &memory.trace));
    for memory in wanted.filter(|memory| !given.contains(&&*memory.uid)) {
        wrong(format_args!("step {step} was not given trace `{}`, which is memory that it asks for", memory.uid));
    }
}

/// Whether a pull surely asks for a trace: by its type and its task alone.
fn asks_for(filter: &Json, trace: &Json) -> bool {
    let Some(filter) = filter.as_object() else { return false };
    filter.iter().all(|(field, value)| match field.as_str() {
        "user" => true,
        "type" | "task_id" => trace.get(field) == Some(value),
        _ => false,
    })
}

/// `memport-committed`, once, after healing: whatever a completed run has staged is committed.
pub fn finish(facts: &Facts, judge: &mut Judge<'_>) {
    for push in facts.traces.pushes.iter().filter(|push| push.staged) {
        let run = &facts.runs[push.run];
        let committed = facts.traces.log(push.stream).is_some_and(|log| log.commits.contains(&push.run));
        if run.log.closed == Some(RunStatus::Completed) && !committed {
            judge.violated(
                Rule::MemportCommitted,
                subject(facts, push.stream, &facts.name(push.run).to_string()),
                format_args!("it completed, and the draft of its step {} was never committed", push.step),
            );
        }
    }
}
