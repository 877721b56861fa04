//! Polls, leases, and how they end. A lease is fenced by worker and attempt, and until it is reclaimed it is
//! the only one on its run, whether or not it has expired.

use super::facts::Facts;
use super::run::{RunNo, State};
use super::{Config, Scheduler, Transition};
use crate::kernel::{
    Attempt, Deadline, Heartbeat, Lease, LeaseKey, Release, Released, RunStatus, Span, Term, Trigger, Version, WorkerId,
};

impl Scheduler {
    /// One lease poll: leases strictly past their expiry are reclaimed, what is due is woken, and up to
    /// `capacity` runs are granted.
    pub fn poll(&mut self, worker: &WorkerId, capacity: u32, config: &Config, at: &mut Transition<'_>) -> Vec<Lease> {
        while let Some((_, no)) = self.expiries.first().copied().filter(|(expires_at, _)| *expires_at < at.now) {
            let run = &mut self.runs[no];
            run.reclaims = run.reclaims.saturating_add(1);
            self.queue_up(no, vec![Trigger::Reclaim], Vec::new(), at);
        }
        while let Some((_, no)) = self.due.first().copied().filter(|(due, _)| *due <= at.now) {
            self.fire(no, at);
        }
        let mut leases = Vec::new();
        while leases.len() < capacity as usize {
            let Some(no) = self.queue.pop(at.now) else { break };
            leases.push(self.grant(no, worker, config, at));
        }
        leases
    }

    fn grant(&mut self, no: RunNo, worker: &WorkerId, config: &Config, at: &mut Transition<'_>) -> Lease {
        let run = &mut self.runs[no];
        let State::Pending { woken_by, .. } = &mut run.state else { unreachable!("only pending runs are queued") };
        let woken_by = std::mem::take(woken_by);
        let attempt = run.attempt.map_or(Attempt(0), Attempt::next);
        if run.attempt.is_none() {
            let own = run.spec.settings.deadline.map(|deadline| match deadline {
                Deadline::At(instant) => instant,
                Deadline::After(span) => at.now + span,
            });
            run.deadline = own.into_iter().chain(run.spec.parent_deadline).min();
        }
        run.attempt = Some(attempt);
        let expires_at = at.lease_end(run.spec.run, attempt, config.lease);
        let version = self.kinds.get(run.spec.agent.kind()).map_or(Version::default(), |kind| kind.version);
        run.state = State::Running { worker: worker.clone(), expires_at, version, resumed: false, told: Vec::new() };
        self.expiries.insert((expires_at, no));
        at.moved(run.spec.run, RunStatus::Pending, RunStatus::Running, None, Vec::new());
        Lease {
            waited: Span::ZERO,
            key: LeaseKey { run: run.spec.run, worker: worker.clone(), attempt },
            granted_at: at.now,
            expires_at,
            spec: run.spec.clone(),
            deadline: run.deadline,
            woken_by,
            cancel_requested: run.cancel.clone(),
            reclaims: run.reclaims,
        }
    }

    /// The run that is held under a lease.
    pub(super) fn held(&self, key: &LeaseKey) -> Option<RunNo> {
        self.by_id.get(&key.run).copied().filter(|no| self.runs[*no].is_held_under(key))
    }

    /// Renews a lease, also one past its expiry that nobody reclaimed.
    pub fn heartbeat(&mut self, key: &LeaseKey, config: &Config, at: &mut Transition<'_>) -> Heartbeat {
        let Some(no) = self.held(key) else { return Heartbeat::Lost };
        let run = &mut self.runs[no];
        let renewed_until = at.lease_end(key.run, key.attempt, config.lease);
        if let State::Running { expires_at, .. } = &mut run.state {
            self.expiries.remove(&(*expires_at, no));
            *expires_at = renewed_until;
            self.expiries.insert((renewed_until, no));
        }
        let term = Term { renewed_at: at.now, expires_at: renewed_until };
        match &run.cancel {
            Some(reason) => Heartbeat::CancelRequested(term, reason.clone()),
            None if run.is_overdue(at.now) => Heartbeat::DeadlinePassed(term),
            None => Heartbeat::Healthy(term),
        }
    }

    /// Gives a run up. Ending it with a status that is not terminal is a caller's bug; it changes nothing
    /// and answers `Lost`, which makes such a caller stop.
    pub fn release(&mut self, key: &LeaseKey, how: &Release, facts: &Facts<'_>, at: &mut Transition<'_>) -> Released {
        let Some(no) = self.held(key) else { return Released::Lost };
        match how {
            Release::Ended(status) if !status.is_terminal() => return Released::Lost,
            Release::Ended(status) => self.end(no, *status, facts, at),
            Release::Pending => self.queue_up(no, Vec::new(), Vec::new(), at),
            Release::Halted => self.halt(no, at),
            Release::Suspended(waits) => self.suspend(no, waits, facts, at),
        }
        self.runs[no].reclaims = 0;
        Released::Released
    }

    /// The run has ended, and with it what it reserved and never created. Mail that is still pending at an address
    /// which is free now makes the next run there.
    fn end(&mut self, no: RunNo, status: RunStatus, facts: &Facts<'_>, at: &mut Transition<'_>) {
        self.leave(no);
        let run = &mut self.runs[no];
        run.state = State::Ended(status);
        run.children.clear();
        let spec = run.spec.clone();
        at.moved(spec.run, RunStatus::Running, status, None, Vec::new());
        let swept = self.sweep(no, at);
        self.vacate(&spec.agent);
        for agent in std::iter::once(&spec.agent).chain(&swept) {
            if let Some(message) = facts.first_pending(agent) {
                self.create_for_mail(agent, message, at);
            }
        }
    }
}
