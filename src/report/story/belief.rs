//! What an actor believed at some instant, from what it had been told; and where the truth was another.

use super::facts::Facts;
use super::focus::Focus;
use super::words::{clock, result};
use crate::history::{Actor, Answer, Asked, Event};
use crate::kernel::{Attempt, EffectId, EffectResult, Heartbeat, Reply, Request, RunId, Seq, Timestamp};

/// What somebody took for true.
pub(super) struct Belief {
    /// In words, with what was true instead.
    pub said: String,
    /// Whether the truth was another.
    pub wrong: bool,
}

/// What somebody takes for the state of a run; or what it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct View {
    lease: Option<(Attempt, Option<Timestamp>)>,
    last: Option<Seq>,
    results: Vec<(EffectId, EffectResult)>,
}

impl View {
    fn hold(&mut self, attempt: Attempt, until: Option<Timestamp>) {
        if self.lease.is_none_or(|(known, _)| known <= attempt) {
            self.lease = Some((attempt, until));
        }
    }

    fn saw(&mut self, seq: Seq) {
        self.last = self.last.max(Some(seq));
    }

    fn learn(&mut self, found: &EffectResult) {
        if !self.results.iter().any(|(effect, _)| *effect == found.effect_id) {
            self.results.push((found.effect_id, found.clone()));
        }
    }

    /// Takes what a reply tells of `run`.
    fn take(&mut self, run: RunId, asked: &Asked, answer: &Answer) {
        let Answer::Store(reply) = answer else { return };
        match (asked, reply) {
            (_, Reply::Leases(leases)) => {
                for lease in leases.iter().filter(|lease| lease.key.run == run) {
                    self.hold(lease.key.attempt, Some(lease.expires_at));
                }
            }
            (Asked::Store(Request::Heartbeat { lease }), Reply::Heartbeat(told)) if lease.run == run => match told {
                Heartbeat::Healthy(term) | Heartbeat::CancelRequested(term, _) | Heartbeat::DeadlinePassed(term) => {
                    self.hold(lease.attempt, Some(term.expires_at));
                }
                Heartbeat::Lost => self.lease = None,
            },
            (Asked::Store(Request::Append { run: of, .. }), Reply::Appended(appended)) if *of == run => {
                self.saw(appended.seq);
            }
            (Asked::Store(Request::Append { run: of, .. }), Reply::Conflict(conflict)) if *of == run => {
                self.saw(conflict.actual);
            }
            (Asked::Store(Request::Read { run: of, .. }), Reply::Entries(entries)) if *of == run => {
                if let Some(last) = entries.last() {
                    self.saw(last.seq);
                }
                for entry in entries {
                    if let crate::kernel::Body::ToolResult { result, .. } = &*entry.body {
                        self.learn(result);
                    }
                }
            }
            (_, Reply::Looked(Some(found)) | Reply::Standing(found)) => self.learn(found),
            _ => {}
        }
    }
}

/// What `actor` believed of `run` just before the event at `place`, and where that was wrong; where the event is of no
/// run, of the one that it was granted last. Nothing for clients, and nothing for a worker that was never granted a subject.
pub(super) fn told(
    facts: &Facts<'_>,
    focus: &Focus,
    actor: &Actor,
    run: Option<RunId>,
    place: usize,
) -> Option<Belief> {
    let Actor::Worker(worker) = actor else { return None };
    let (mut believed, mut truth) = (View::default(), View::default());
    let mut last_run = None;
    let mut seen = Vec::new();
    for (number, call) in &facts.calls {
        if call.from == actor
            && let Some((at, Ok(answer))) = call.returned
            && at < place
        {
            seen.push((at, *number, answer));
        }
        for (at, answer, _) in call.applied.iter().filter(|(at, _, _)| *at < place) {
            for run in focus.runs.iter().filter(|of| run.is_none_or(|run| run == **of)) {
                if let Answer::Store(Reply::Leases(leases)) = answer
                    && leases.iter().any(|lease| lease.key.run == *run && lease.key.worker == *worker)
                {
                    last_run = last_run.max(Some((*at, *run)));
                }
            }
        }
    }
    let (_, run) = last_run?;
    seen.sort_by_key(|(at, number, _)| (*at, *number));
    for (_, number, answer) in &seen {
        believed.take(run, facts.calls[number].asked, answer);
    }
    let mut applied: Vec<_> =
        facts.calls.values().flat_map(|call| call.applied.iter().map(move |a| (call, a))).collect();
    applied.retain(|(_, (at, _, _))| *at < place);
    applied.sort_by_key(|(_, (at, _, _))| *at);
    for (call, (_, answer, _)) in applied {
        if !matches!(answer, Answer::Store(Reply::Looked(_) | Reply::Heartbeat(Heartbeat::Lost))) {
            truth.take(run, call.asked, answer);
        }
    }
    Some(in_words(facts, focus, run, &believed, &truth, place))
}

fn in_words(facts: &Facts<'_>, focus: &Focus, run: RunId, believed: &View, truth: &View, place: usize) -> Belief {
    let mut told = Vec::new();
    let mut wrong = Vec::new();
    match believed.lease {
        Some((attempt, Some(until))) => {
            told.push(format!("lease {attempt} of {} until {}", facts.run(run), clock(facts, until)));
        }
        Some((attempt, None)) => told.push(format!("lease {attempt} of {}", facts.run(run))),
        None => told.push(format!("no lease of {}", facts.run(run))),
    }
    if let (Some((mine, _)), Some((newest, _))) = (believed.lease, truth.lease)
        && mine < newest
        && let Some((worker, _, _)) = facts.grants.get(&(run, newest))
    {
        wrong.push(format!("{} held lease {newest}", worker.name));
    }
    match believed.last {
        Some(last) => told.push(format!("the log up to entry {last}")),
        None => told.push("an empty log".to_owned()),
    }
    if let Some(last) = truth.last.filter(|last| believed.last.is_none_or(|known| known < *last)) {
        wrong.push(format!("the log had entry {last}"));
    }
    let own = |effect: &EffectId| facts.effects.get(effect).is_some_and(|known| known.run == run);
    let mut begun: Vec<_> =
        focus.effects.iter().filter(|effect| own(effect) && facts.has_begun(**effect, place)).collect();
    begun.sort_by_key(|effect| facts.effects[*effect].step);
    for effect in begun {
        let find = |view: &View| view.results.iter().find(|(known, _)| known == effect).map(|(_, found)| found.clone());
        let name = facts.effect(*effect);
        match (find(believed), find(truth)) {
            (Some(found), _) => told.push(format!("{name} {}", result(&found))),
            (None, recorded) => {
                told.push(format!("no result of {name}"));
                wrong.extend(recorded.map(|found| format!("its result was recorded ({})", result(&found))));
            }
        }
        if find(believed).is_none() && happened_before(facts, *effect, place) {
            wrong.push(format!("{name} had taken hold already"));
        }
    }
    let mut said = format!("it knew of {}", told.join("; "));
    if !wrong.is_empty() {
        said.push_str(&format!(". In truth {}", wrong.join("; ")));
    }
    Belief { said, wrong: !wrong.is_empty() }
}

/// Whether an effect had taken hold before the event at `place`.
fn happened_before(facts: &Facts<'_>, effect: EffectId, place: usize) -> bool {
    let mut before = facts.records[..place].iter();
    before.any(|record| matches!(&record.event, Event::Happened { effect: known, .. } if *known == effect))
}
