//! The queue: one entry per run, no wake lost, and bounded waits in it.

use crate::check::facts::{Facts, How, LENIENCE, Life, Run, RunAt, Turn, What};
use crate::check::sometimes::Sometimes;
use crate::check::verdict::{Judge, Rule};
use crate::kernel::{Lease, RunId, RunStatus, Span, Timestamp, Trigger, Wait, Wakeup};

/// `queue-coalesced`: a queued run is not queued again.
pub fn queued(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, from: RunStatus) {
    let known = facts.runs[run].status;
    if from == RunStatus::Pending || known == Some(RunStatus::Pending) {
        judge.violated(Rule::QueueCoalesced, facts.name(run), format_args!("it was queued while it was queued"));
    }
}

/// After so long a wait a run goes before all priorities.
const WAIT_MAX: Span = Span::from_secs(600);

/// `queue-order`, at a grant as applied: no run of the same tenant was granted while this one was queued that it goes
/// before: one of lower priority, or of the same and queued later; unless that one had waited over ten minutes, and
/// longer. Whoever has waited over ten minutes itself goes before all that were queued later.
pub fn in_turn(facts: &mut Facts, judge: &mut Judge<'_>, run: RunAt, lease: &Lease) {
    let (queued, settings) = (facts.runs[run].queued, &lease.spec.settings);
    let since = facts.turns.iter().rev().take_while(|turn| turn.at > queued);
    let overtakes = |turn: &Turn| {
        let goes_first = if turn.queued > queued {
            turn.priority <= settings.priority || turn.at.since(queued) > WAIT_MAX
        } else {
            turn.priority < settings.priority && turn.at.since(turn.queued) <= WAIT_MAX
        };
        turn.run != run && turn.tenant == settings.tenant && goes_first
    };
    if let Some(turn) = since.filter(|turn| overtakes(turn)).last() {
        judge.violated(
            Rule::QueueOrder,
            facts.name(run),
            format_args!(
                "{:?} and queued at {queued}, it saw run {} granted at {}, {:?} and queued at {}",
                settings.priority,
                facts.name(turn.run),
                turn.at,
                turn.priority,
                turn.queued
            ),
        );
    }
    let (tenant, priority) = (settings.tenant.clone(), settings.priority);
    facts.turns.push(Turn { run, at: judge.at, queued, tenant, priority });
}

/// `queue-coalesced`: the queue, as it is told, holds no run twice.
pub fn told(judge: &mut Judge<'_>, queue: &[RunId]) {
    for (place, run) in queue.iter().enumerate() {
        if queue[..place].contains(run) {
            judge.violated(Rule::QueueCoalesced, run, format_args!("the queue holds it twice"));
        }
    }
}

/// A wait of the run that is satisfied: a buffered signal of its name, pending mail that arrived later than it says,
/// the end of its child, once that was released or told by a wake since the last grant, a time that is over.
pub fn satisfied<'a>(facts: &'a Facts, run: &'a Run, at: Timestamp) -> Option<&'a Wait> {
    run.waits.iter().find(|wait| match wait {
        Wait::Signal(name) => run.buffered(name).is_some(),
        Wait::Message { after } => run.agent.is_some_and(|agent| {
            let mut pending = facts.agents[agent].pending.iter().rev().map(|mail| &facts.mails[*mail]);
            pending.any(|mail| mail.notified && mail.arrival > Some(*after))
        }),
        Wait::Child(child) => {
            let known = facts.known_run(*child).map(|place| (place, &facts.runs[place]));
            known.is_some_and(|(place, child)| child.status.is_some_and(RunStatus::is_terminal) || is_told(run, place))
        }
        Wait::Time(time) => *time < at,
    })
}

/// Whether a wake told a run of the end of this child since it was granted last.
fn is_told(run: &Run, child: RunAt) -> bool {
    let granted = run.grants.last().map(|grant| grant.granted_at);
    run.kin.told_ends.iter().any(|(told, at)| *told == child && Some(*at) > granted)
}

/// `wake-not-lost`, after a call that may satisfy a wait was applied: the run does not sleep over it. A signal and mail
/// count when they come; at a suspending release everything counts, the clock and a cancel too. A halted run is woken
/// by a cancel or a resume alone, which also count when they came since the grant. As applied.
pub fn awake(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, what: &What) {
    let state = &facts.runs[run];
    if state.status != Some(RunStatus::Suspended) {
        return;
    }
    let granted = state.grants.last().map(|grant| grant.granted_at);
    let since_grant = |time: Option<Timestamp>| time.is_some() && time > granted;
    let lost: &dyn std::fmt::Debug = match what {
        What::Cancel { .. } => &"a cancel",
        What::Resume { .. } if state.halted => &"a resume",
        What::Release { how: How::Halted, .. } if since_grant(state.cancelled) => &"a cancel",
        What::Release { how: How::Halted, .. } if since_grant(state.resumed) => &"a resume",
        What::Release { how: How::Suspended, .. } if state.cancelled.is_some() => &"a cancel",
        What::Release { how: How::Suspended, .. } => match satisfied(facts, state, judge.at) {
            Some(wait) => wait,
            None => return,
        },
        What::Signal { name, .. } if !state.halted => {
            let waits = |wait: &&Wait| matches!(wait, Wait::Signal(wanted) if wanted == name);
            match state.waits.iter().find(waits).filter(|_| state.buffered(name).is_some()) {
                Some(wait) => wait,
                None => return,
            }
        }
        What::Wake { child: Some(child), .. } if !state.halted => {
            let id = facts.name(*child);
            match state.waits.iter().find(|wait| **wait == Wait::Child(id)) {
                Some(wait) => wait,
                None => return,
            }
        }
        What::Deliver { mail, notify: true, .. } if !state.halted => {
            let known = &facts.mails[*mail];
            let waits = |wait: &&Wait| matches!(wait, Wait::Message { after } if known.life == Life::Pending && known.arrival > Some(*after));
            match state.waits.iter().find(waits) {
                Some(wait) => wait,
                None => return,
            }
        }
        _ => return,
    };
    judge.violated(Rule::WakeNotLost, facts.name(run), format_args!("it sleeps over {lost:?}"));
}

/// *Sometimes*, of a run that enters the queue.
pub fn woken(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, what: &What) {
    let state = &facts.runs[run];
    match what {
        What::Release { how: How::Suspended, .. } => judge.reached(Sometimes::TriggerDuringRun),
        What::Release { how: How::GivenBack, .. } => judge.reached(Sometimes::GivenBack),
        What::Cancel { .. } if state.due().is_some_and(|due| due.since(judge.at) < facts.limits.poll) => {
            judge.reached(Sometimes::TimerRacesCancel);
        }
        _ => {}
    }
}

/// *Sometimes*, of a cancel.
pub fn cancelled(facts: &Facts, judge: &mut Judge<'_>, run: RunAt) {
    let state = &facts.runs[run];
    if state.status == Some(RunStatus::Pending) && state.fired {
        judge.reached(Sometimes::TimerRacesCancel);
    }
    if state.log.closed.is_some() && state.is_live() {
        judge.reached(Sometimes::CancelMeetsEnd);
    }
}

/// `reclaim-bounded`, `no-starvation`, of a queued run, at its grant or while it still waits: since its lease ran out
/// (and the jitter), or since it was queued, there was never more than a poll (and some lenience) of unbroken time in
/// which a worker that could be reached and had room polled. As applied.
pub fn waited(facts: &Facts, judge: &mut Judge<'_>, run: RunAt) {
    let (limits, state) = (&facts.limits, &facts.runs[run]);
    let bound = limits.poll + LENIENCE;
    let expired = state.holder.map(|holder| holder.expires_at).filter(|expiry| *expiry < judge.at);
    if let Some(expiry) = expired.or(state.expired) {
        let from = expiry + limits.timer_jitter;
        if judge.at.since(from) > bound && facts.room.longest(from, judge.at) > bound {
            judge.violated(
                Rule::ReclaimBounded,
                facts.name(run),
                format_args!("its lease ran out at {expiry}, workers with room polled, and still it waits"),
            );
        }
    }
    let queued = state.status == Some(RunStatus::Pending);
    if queued && judge.at.since(state.since) > bound && facts.room.longest(state.since, judge.at) > bound {
        judge.violated(
            Rule::NoStarvation,
            facts.name(run),
            format_args!("it was queued at {}, workers with room polled, and still it waits", state.since),
        );
    }
}

/// [`waited`] and the lateness of times, for all runs, where the world comes to rest.
pub fn rest(facts: &Facts, judge: &mut Judge<'_>) {
    for (place, run) in facts.runs.iter() {
        match run.status {
            Some(RunStatus::Pending | RunStatus::Running) => waited(facts, judge, place),
            Some(RunStatus::Suspended) => {
                let due = run.due().into_iter().chain(run.deadline).min();
                if let Some(due) = due {
                    crate::check::signals::late(facts, judge, place, due.max(run.since));
                }
            }
            _ => {}
        }
    }
}

/// Whether a trigger is a time that fired.
pub fn is_time(trigger: Option<&Trigger>) -> bool {
    matches!(trigger, Some(Trigger::Wakeup(Wakeup::Timer { .. }) | Trigger::Retry | Trigger::Deadline))
}
