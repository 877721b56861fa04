//! Leases: exclusive, within capacity, fenced, and their loss told.

use crate::check::facts::{AgentAt, Call, Facts, Heard, Party, Run, RunAt, What, WorkerAt, worker_of};
use crate::check::sometimes::Sometimes;
use crate::check::verdict::{Judge, Rule};
use crate::kernel::{Attempt, Heartbeat, Lease, RunStatus};

/// At a poll as applied. `lease-capacity`: it grants no more than it asked for. `lease-exclusive`: each run granted
/// goes to the caller, has no live lease, gets the attempt after its last one, and the lease has not run out already.
/// `status-follows-log`: it was pending. `queue-coalesced`: it is granted once.
pub fn granted(facts: &Facts, judge: &mut Judge<'_>, caller: WorkerAt, run: RunAt, lease: &Lease) {
    let (name, state) = (facts.name(run), &facts.runs[run]);
    let attempt = lease.key.attempt;
    if facts.workers[caller].id.as_ref() != Some(&lease.key.worker) {
        judge.violated(
            Rule::LeaseExclusive,
            name,
            format_args!("the lease of {} was granted to another caller", lease.key.worker),
        );
    }
    if let Some(holder) = state.holder.filter(|holder| holder.expires_at >= judge.at) {
        let holder_name = facts.party_name(Party::Worker(holder.worker));
        judge.violated(
            Rule::LeaseExclusive,
            name,
            format_args!("attempt {attempt} was granted while {holder_name} holds attempt {}", holder.attempt),
        );
    }
    if lease.expires_at < judge.at {
        judge.violated(Rule::LeaseExclusive, name, format_args!("attempt {attempt} had run out when it was granted"));
    }
    let next = state.grants.last().map_or(Attempt(0), |last| last.attempt.next());
    if attempt != next {
        judge.violated(Rule::LeaseExclusive, name, format_args!("attempt {attempt} was granted where {next} was due"));
    }
    let sleeping = state.status.filter(|status| !matches!(status, RunStatus::Pending | RunStatus::Running));
    if let Some(status) = sleeping {
        judge.violated(
            Rule::StatusFollowsLog,
            name,
            format_args!("attempt {attempt} was granted while it was {}", status.as_str()),
        );
    }
    if state.cancelled.is_some() && lease.cancel_requested.is_none() {
        judge.violated(
            Rule::LeaseTold,
            name,
            format_args!("attempt {attempt} tells nothing of a cancel, which came before"),
        );
    }
    if lease.expires_at.since(judge.at) < facts.limits.lease {
        judge.reached(Sometimes::ShortLease);
    }
}

/// `lease-capacity` and `queue-coalesced`, over the whole answer of a poll.
pub fn polled(facts: &mut Facts, judge: &mut Judge<'_>, caller: WorkerAt, capacity: u32, leases: &[Lease]) {
    if leases.len() > capacity as usize {
        let name = facts.party_name(Party::Worker(caller));
        judge.violated(
            Rule::LeaseCapacity,
            name,
            format_args!("a poll for {capacity} runs was granted {}", leases.len()),
        );
    }
    for (place, lease) in leases.iter().enumerate() {
        if leases[..place].iter().any(|other| other.key.run == lease.key.run) {
            judge.violated(Rule::QueueCoalesced, lease.key.run, format_args!("one poll granted it twice"));
        }
    }
}

/// `lease-capacity`, by calls alone: a run is worked on from its grant to its worker's last call for it (heartbeats and
/// releases apart, which may outlive the work). At no grant does a worker work on more runs than its capacity.
pub fn works(facts: &mut Facts, judge: &mut Judge<'_>, worker: WorkerAt, run: RunAt) {
    let capacity = facts.limits.capacity;
    let state = &mut facts.runs[run];
    let Some(grant) = state.grant_of_mut(worker) else { return };
    let heard = &mut facts.workers[worker].grants;
    if grant.overlaps >= heard.len() {
        return;
    }
    let (attempt, from) = (grant.attempt, grant.overlaps);
    grant.overlaps = heard.len();
    let own = heard.iter().rposition(|heard| (heard.run, heard.attempt) == (run, attempt));
    let Some(own) = own else { return };
    let mut most = 0;
    for later in &mut heard[own.max(from)..] {
        later.overlapping += 1;
        most = most.max(later.overlapping);
    }
    if most > capacity {
        let name = facts.party_name(Party::Worker(worker));
        judge.violated(Rule::LeaseCapacity, name, format_args!("it works on {most} runs, its capacity is {capacity}"));
    }
}

/// Notes the grants that a worker heard of.
pub fn heard(facts: &mut Facts, worker: WorkerAt, leases: &[Lease]) {
    for lease in leases {
        let run = facts.run_at(lease.key.run);
        facts.workers[worker].grants.push(Heard { run, attempt: lease.key.attempt, overlapping: 0 });
    }
}

/// Whether this worker holds the run under this attempt, as applied.
pub fn holds(run: &Run, worker: Option<WorkerAt>, attempt: Attempt) -> bool {
    run.holder.is_some_and(|holder| Some(holder.worker) == worker && holder.attempt == attempt)
}

/// `lease-told`, of an answer as applied: who holds the run is not told Lost, and who does not is. For a release that
/// took place though the caller does not hold the run, it is `lease-fenced`: it changed status and queue.
pub fn answered(facts: &Facts, judge: &mut Judge<'_>, call: &Call, run: RunAt, attempt: Attempt, lost: bool) {
    let state = &facts.runs[run];
    if state.status.is_none() {
        return;
    }
    let holds = holds(state, worker_of(call.from), attempt);
    if holds != lost {
        if lost {
            judge.reached(Sometimes::ToldLost);
        }
        return;
    }
    let (who, rule) = (
        facts.party_name(call.from),
        match call.what {
            What::Release { .. } if !lost => Rule::LeaseFenced,
            _ => Rule::LeaseTold,
        },
    );
    let said = if lost { "Lost although it holds" } else { "no loss although it does not hold" };
    judge.violated(rule, facts.name(run), format_args!("{who} was told {said} attempt {attempt}"));
}

/// `lease-told`, of a renewal as applied: its holder is told of a cancel that came, else of a deadline that is over.
pub fn informed(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, told: &Heartbeat) {
    let state = &facts.runs[run];
    let untold = match told {
        Heartbeat::Healthy(_) | Heartbeat::DeadlinePassed(_) if state.cancelled.is_some() => "a cancel",
        Heartbeat::Healthy(_) if state.deadline.is_some_and(|deadline| deadline <= judge.at) => "its deadline",
        _ => return,
    };
    judge.violated(Rule::LeaseTold, facts.name(run), format_args!("its holder was told {told:?}, nothing of {untold}"));
}

/// `lease-told`, of calls: a worker that was told Lost makes no call that only a holder makes (append of the run's own
/// kinds, drain, claim, timer, settling, heartbeat, release, perform) for that run, unless it was granted a later
/// lease. What it sends in the very instant of the answer, or of its waking from a pause, it may have decided before.
pub fn silent(facts: &Facts, judge: &mut Judge<'_>, worker: WorkerAt, run: RunAt) {
    let Some(grant) = facts.runs[run].grant_of(worker) else { return };
    let (Some(told), resumed) = (grant.told_lost, facts.workers[worker].resumed_at) else { return };
    if judge.at > told && judge.at > resumed {
        let who = facts.party_name(Party::Worker(worker));
        judge.violated(
            Rule::LeaseTold,
            facts.name(run),
            format_args!("{who} was told at {told} that attempt {} is lost, and calls on", grant.attempt),
        );
    }
}

/// `lease-exclusive`, as applied: a run that leaves the status running by a poll is reclaimed, and its lease has run
/// out. `lease-fenced`: else it leaves it by a release of its holder.
pub fn left_running(facts: &Facts, judge: &mut Judge<'_>, call: &Call, run: RunAt) {
    let (name, state) = (facts.name(run), &facts.runs[run]);
    let Some(holder) = state.holder else { return };
    match call.what {
        What::Release { run: released, attempt, .. } if released == run => {
            if !holds(state, worker_of(call.from), attempt) {
                let who = facts.party_name(call.from);
                judge.violated(
                    Rule::LeaseFenced,
                    name,
                    format_args!(
                        "the release of {who} under attempt {attempt} moved it, held under {}",
                        holder.attempt
                    ),
                );
            }
        }
        _ if holder.expires_at >= judge.at => {
            judge.violated(
                Rule::LeaseExclusive,
                name,
                format_args!("it was reclaimed while its lease lasts until {}", holder.expires_at),
            );
        }
        _ => {
            let worker = &facts.workers[holder.worker];
            if worker.up {
                judge.reached(Sometimes::LeaseStolen);
            }
        }
    }
}

/// `lease-exclusive`, as applied: an address has one live run.
pub fn made(facts: &Facts, judge: &mut Judge<'_>, agent: AgentAt, run: RunAt) {
    let live = facts.agents[agent].live.filter(|live| *live != run);
    if let Some(live) = live {
        judge.violated(
            Rule::LeaseExclusive,
            facts.name(run),
            format_args!("it was made while run {} lives at its address", facts.name(live)),
        );
    }
    if facts.runs[run].status.is_some() {
        judge.violated(Rule::LeaseExclusive, facts.name(run), format_args!("it was made twice"));
    }
}

/// *Sometimes*: another worker than the holder works on the end of a closed run.
pub fn epilogue(facts: &Facts, judge: &mut Judge<'_>, worker: WorkerAt, run: RunAt) {
    let state = &facts.runs[run];
    if state.log.closed.is_some() && state.holder.is_some_and(|holder| holder.worker != worker) {
        judge.reached(Sometimes::TwoInEpilogue);
    }
}
