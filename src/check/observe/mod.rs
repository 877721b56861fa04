//! One event: dispatched once to the checks that it concerns, and folded into the facts.

mod applied;
mod returned;

use super::coverage::Coverage;
use super::facts::{Call, Calls, Facts, PAUSE_MAX, Party, What, WorkerAt, worker_of};
use super::scheduler::{leases, queue, tries};
use super::verdict::{Judge, Verdicts};
use super::{announced, ask, children, deaths, effects, inbox, liveness, log, pubsub, signals, spend, temporal};
use crate::history::{Actor, ActorChange, Asked, CallNo, Event, Phase};
use crate::kernel::{Body, Timestamp};
use applied::applied;
use returned::returned;

/// Takes one event.
pub(super) fn event(
    facts: &mut Facts,
    calls: &mut Calls,
    coverage: &mut Coverage,
    verdicts: &mut Verdicts,
    at: Timestamp,
    event: &Event,
) {
    let mut judge = Judge { at, applied: facts.applied, verdicts };
    match event {
        Event::Sent { call, from, asked } => {
            sent(facts, calls, coverage, &mut judge, *call, from, asked);
        }
        Event::Applied { call, answer, changes } => {
            applied(facts, calls, coverage, &mut judge, *call, answer, changes);
        }
        Event::Returned { call, outcome } => returned(facts, calls, &mut judge, *call, outcome),
        Event::Happened { effect, .. } => {
            let effect = facts.effect_at(*effect);
            effects::happened(facts, &mut judge, effect);
            facts.effects[effect].happened += 1;
        }
        Event::Entered { run, attempt, batch } => {
            let run = facts.run_at(*run);
            liveness::count(facts, &mut judge, run);
            inbox::entered(facts, &mut judge, run, batch);
            tries::entered(facts, &mut judge, run, *attempt);
        }
        Event::Gave { run, step, value, .. } => {
            let run = facts.run_at(*run);
            liveness::count(facts, &mut judge, run);
            effects::gave(facts, &mut judge, run, *step, value);
            inbox::gave(facts, &mut judge, run, *step, value);
            signals::gave(facts, &mut judge, run, *step, value);
            children::gave(facts, &mut judge, run, *step, value);
            ask::gave(facts, &mut judge, run, *step, value);
        }
        Event::Actor { actor, change } => {
            if *change == ActorChange::Started {
                coverage.started();
            }
            actor_changed(facts, &mut judge, actor, *change);
        }
        Event::StoreReach { up } => {
            facts.store_up = *up;
            let deaf = at + facts.longest_poll + PAUSE_MAX;
            if *up {
                facts.workers.iter_mut().for_each(|worker| worker.deaf(deaf));
            }
            facts.follow_room(at, false);
        }
        Event::Deviation { kind, call, run, agent, .. } => {
            let named = run.map(|run| facts.run_at(run));
            let run = named.or_else(|| {
                let agent = facts.agent_at(agent.as_ref()?);
                facts.agents[agent].live
            });
            coverage.deviated(facts, *kind, *call, run);
        }
        Event::LetGo { .. } | Event::Refused { .. } => {}
        Event::Phase(phase) => entered_phase(facts, &mut judge, *phase),
    }
}

fn actor_changed(facts: &mut Facts, judge: &mut Judge<'_>, actor: &Actor, change: ActorChange) {
    let Party::Worker(worker) = facts.party(actor) else { return };
    if change == ActorChange::Crashed {
        deaths::crashed(facts, judge, worker);
    }
    let longest_poll = facts.longest_poll;
    facts.workers[worker].change(change, judge.at, longest_poll);
    facts.living.retain(|living| *living != worker);
    if facts.workers[worker].up {
        facts.living.push(worker);
    }
    facts.follow_room(judge.at, false);
}

fn entered_phase(facts: &mut Facts, judge: &mut Judge<'_>, phase: Phase) {
    match phase {
        Phase::Chaos => {}
        Phase::Healed => facts.phases.healed = true,
        // A world that was given up is not at rest.
        Phase::Quiescent if facts.phases.exhausted => {}
        Phase::Quiescent => {
            liveness::quiescent(facts, judge);
            if facts.phases.healed {
                queue::rest(facts, judge);
                tries::rest(facts, judge);
            }
        }
        Phase::Probing => facts.phases.probed_at = Some(judge.at),
        Phase::Exhausted => {
            facts.phases.exhausted = true;
            liveness::exhausted(judge);
        }
        Phase::Over => facts.phases.over = true,
    }
}

fn sent(
    facts: &mut Facts,
    calls: &mut Calls,
    coverage: &mut Coverage,
    judge: &mut Judge<'_>,
    number: CallNo,
    from: &Actor,
    asked: &Asked,
) {
    let from = facts.party(from);
    let what = What::of(facts, asked);
    coverage.sent(facts, worker_of(from).is_some(), asked, &what);
    if let Some(run) = what.run() {
        liveness::count(facts, judge, run);
    }
    if let Party::Worker(worker) = from {
        sent_by_worker(facts, judge, worker, &what);
    }
    if let What::Tail { run, from: start } = what {
        log::tail_sent(facts, judge, from, run, start);
    }
    if let What::Append { run, body, expected } = &what {
        temporal::tried(facts, judge, *run, *expected, body);
    }
    let call = Call { from, sent: judge.at, applied: 0, returned: false, what };
    log::caused(facts, judge, &call);
    spend::spends(facts, judge, &call);
    children::caused(facts, judge, &call);
    announced::sent(facts, judge, &call);
    calls.note(number, call);
}

fn sent_by_worker(facts: &mut Facts, judge: &mut Judge<'_>, worker: WorkerAt, what: &What) {
    if let Some(run) = what.held() {
        leases::silent(facts, judge, worker, run);
        if !matches!(what, What::Heartbeat { .. } | What::Release { .. }) {
            leases::works(facts, judge, worker, run);
        }
    }
    match what {
        What::Append { run, body, .. } => {
            if let Some(opening) = body.opening() {
                tries::begins(facts, judge, Party::Worker(worker), *run, opening);
                if matches!(**body, Body::ToolCalled { .. }) {
                    spend::begins(facts, judge, worker, *run, opening);
                }
            }
            temporal::tried_by_worker(facts, judge, worker, body);
        }
        What::Create { .. } => temporal::created(facts, judge, worker, what),
        What::Deliver { to, mail, .. } => pubsub::sends(facts, judge, worker, *to, *mail),
        What::FollowersOf { topic } => pubsub::asks(facts, judge, worker, *topic),
        What::Perform { run, step, effect } => effects::performs(facts, judge, *run, *step, *effect),
        What::Ack { run, .. } | What::Release { run, .. } | What::ReturnUnit { run } => {
            leases::epilogue(facts, judge, worker, *run);
        }
        What::Lease { wait, .. } => {
            facts.longest_poll = facts.longest_poll.max(*wait);
            facts.workers[worker].busy += 1;
            facts.follow_room(judge.at, false);
        }
        What::Register { .. } => {
            facts.workers[worker].busy += 1;
            facts.follow_room(judge.at, false);
        }
        _ => {}
    }
}

/// The call of this number, unless it was never sent, or is forgotten: then nothing can be judged any more.
fn known<'a>(facts: &mut Facts, calls: &'a mut Calls, number: CallNo) -> Option<&'a mut Call> {
    facts.lost_track |= calls.forgot(number);
    calls.get_mut(number)
}
