//! How a run falls asleep and what makes it pending: wake-ups, cancel, deadline, times, the end of a halt.

use std::collections::BTreeMap;

use super::facts::Facts;
use super::run::{RunNo, Sleep, State, is_trigger_of};
use super::{Scheduler, Transition};
use crate::kernel::{Name, RunId, RunStatus, Timestamp, Trigger, Wait, Wakeup};

/// What makes a run pending.
impl Scheduler {
    /// Takes a run out of the order of its present status, which is told.
    pub(super) fn leave(&mut self, no: RunNo) -> RunStatus {
        let run = &self.runs[no];
        match &run.state {
            State::Running { expires_at, .. } => {
                self.expiries.remove(&(*expires_at, no));
            }
            State::Suspended(sleep) => {
                if let Some(due) = sleep.due {
                    self.due.remove(&(due, no));
                }
                if sleep.halted {
                    self.halted.remove(&no);
                }
            }
            State::Reserved | State::Pending { .. } | State::Ended(_) => {}
        }
        run.status()
    }

    /// A run that is running or asleep becomes pending.
    pub(super) fn queue_up(&mut self, no: RunNo, woken_by: Vec<Trigger>, waits: Vec<Wait>, at: &mut Transition<'_>) {
        let from = self.leave(no);
        debug_assert!(matches!(from, RunStatus::Running | RunStatus::Suspended), "only these become pending");
        let run = &mut self.runs[no];
        at.moved(run.spec.run, from, RunStatus::Pending, woken_by.first().cloned(), Vec::new());
        self.queue.push(no, &run.spec.settings.tenant, run.spec.settings.priority, at.now);
        run.state = State::Pending { woken_by, waits };
    }

    /// Compares a wait list with the facts and with what was told just now. A sleeping run of whose list
    /// something is there is queued (a halted run's list is empty); a queued one has further triggers merged;
    /// a running one looks when it is released.
    pub(super) fn look(&mut self, no: RunNo, told: Option<&Wakeup>, facts: &Facts<'_>, at: &mut Transition<'_>) {
        let run = &mut self.runs[no];
        let waits = match &run.state {
            State::Suspended(sleep) => &sleep.waits,
            State::Pending { waits, .. } => waits,
            _ => return,
        };
        let mut found = facts.triggers(run, waits, told.into_iter());
        forget_used(&mut run.children, &found);
        match &mut run.state {
            State::Pending { woken_by, waits } => {
                found.retain(|trigger| {
                    let mut waits = waits.iter().filter(|wait| is_trigger_of(trigger, wait));
                    !waits.any(|wait| woken_by.iter().any(|known| is_trigger_of(known, wait)))
                });
                woken_by.extend(found);
            }
            State::Suspended(sleep) if !found.is_empty() => {
                let waits = std::mem::take(&mut sleep.waits);
                self.queue_up(no, found, waits, at);
            }
            _ => {}
        }
    }

    /// A run is told of a wake-up. The end of a child is kept until a wait uses it; anything else that is told
    /// to a running run, until its release. A reserved run waits for nothing.
    pub fn wake(&mut self, run: RunId, wakeup: &Wakeup, facts: &Facts<'_>, at: &mut Transition<'_>) {
        let Some(no) = self.live(run) else { return };
        let run = &mut self.runs[no];
        match (wakeup, &mut run.state) {
            (_, State::Reserved) => {}
            (Wakeup::ChildDone { child_run, .. }, _) => {
                run.children.insert(*child_run, wakeup.clone());
            }
            (_, State::Running { told, .. }) if !told.contains(wakeup) => told.push(wakeup.clone()),
            _ => {}
        }
        self.look(no, Some(wakeup), facts, at);
    }

    /// Something of a run's wait list may be there now.
    pub fn look_at(&mut self, run: RunId, facts: &Facts<'_>, at: &mut Transition<'_>) {
        if let Some(no) = self.live(run) {
            self.look(no, None, facts, at);
        }
    }

    /// Ends a halt; a running run remembers it until its release.
    pub fn resume(&mut self, run: RunId, at: &mut Transition<'_>) {
        let Some(no) = self.live(run) else { return };
        match &mut self.runs[no].state {
            State::Running { resumed, .. } => *resumed = true,
            State::Suspended(sleep) if sleep.halted => self.queue_up(no, vec![Trigger::Resume], Vec::new(), at),
            _ => {}
        }
    }

    /// Sets the flag, for ever, and wakes a sleeping run.
    pub fn cancel(&mut self, run: RunId, reason: &Name, at: &mut Transition<'_>) {
        let Some(no) = self.live(run) else { return };
        let run = &mut self.runs[no];
        run.cancel.get_or_insert_with(|| reason.clone());
        if matches!(run.state, State::Suspended(_)) {
            self.queue_up(no, vec![Trigger::Cancel], Vec::new(), at);
        }
    }

    /// A timer was armed: it may wake a sleeping run sooner than the times of its wait list do.
    pub fn timer_armed(&mut self, run: RunId, set_for: Timestamp, fires: Timestamp) {
        let Some(no) = self.live(run) else { return };
        let run = &mut self.runs[no];
        let deadline = run.deadline;
        let State::Suspended(sleep) = &mut run.state else { return };
        for (_, first) in sleep.times.iter_mut().filter(|(until, _)| *until <= set_for) {
            *first = fires.min(*first);
        }
        let before = std::mem::replace(&mut sleep.due, first_due(&sleep.times, deadline));
        let after = sleep.due;
        self.due.extend(after.map(|due| (due, no)));
        if let Some(before) = before.filter(|_| before != after) {
            self.due.remove(&(before, no));
        }
    }

    /// Wakes a sleeping run of which a time has fired or the deadline is over.
    pub(super) fn fire(&mut self, no: RunNo, at: &mut Transition<'_>) {
        let run = &mut self.runs[no];
        let overdue = run.is_overdue(at.now);
        let State::Suspended(sleep) = &mut run.state else { unreachable!("only sleeping runs are due") };
        let fired = sleep.times.iter().filter(|(_, fires)| *fires <= at.now);
        let timers = fired.map(|(until, _)| Trigger::Wakeup(Wakeup::Timer { at: *until }));
        let woken_by = overdue.then_some(Trigger::Deadline).into_iter().chain(timers).collect();
        let waits = std::mem::take(&mut sleep.waits);
        self.queue_up(no, woken_by, waits, at);
    }
}

/// How a run falls asleep.
impl Scheduler {
    /// What wakes any sleeping run: its cancel and its deadline.
    fn always_wakes(&self, no: RunNo, now: Timestamp) -> Vec<Trigger> {
        let run = &self.runs[no];
        let cancel = run.cancel.as_ref().map(|_| Trigger::Cancel);
        let deadline = run.is_overdue(now).then_some(Trigger::Deadline);
        [cancel, deadline].into_iter().flatten().collect()
    }

    pub(super) fn halt(&mut self, no: RunNo, at: &mut Transition<'_>) {
        let mut woken_by = self.always_wakes(no, at.now);
        let run = &self.runs[no];
        if let State::Running { version, resumed, .. } = &run.state {
            let registered = self.kinds.get(run.spec.agent.kind()).map(|kind| kind.version);
            if *resumed || registered.is_some_and(|registered| registered > *version) {
                woken_by.push(Trigger::Resume);
            }
        }
        if woken_by.is_empty() {
            let due = first_due(&[], run.deadline);
            self.sleep(no, Sleep { waits: Vec::new(), times: Vec::new(), halted: true, due }, at);
        } else {
            self.queue_up(no, woken_by, Vec::new(), at);
        }
    }

    /// Checks the wait list against buffer, mailbox, clock and what was told, and arms its times.
    pub(super) fn suspend(&mut self, no: RunNo, waits: &[Wait], facts: &Facts<'_>, at: &mut Transition<'_>) {
        let mut woken_by = self.always_wakes(no, at.now);
        let run = &mut self.runs[no];
        let over = waits.iter().filter_map(|wait| match wait {
            Wait::Time(until) if *until <= at.now => Some(Trigger::Wakeup(Wakeup::Timer { at: *until })),
            _ => None,
        });
        woken_by.extend(over);
        let told = if let State::Running { told, .. } = &mut run.state { std::mem::take(told) } else { Vec::new() };
        let found = facts.triggers(run, waits, told.iter());
        forget_used(&mut run.children, &found);
        woken_by.extend(found);
        if !woken_by.is_empty() {
            return self.queue_up(no, woken_by, waits.to_vec(), at);
        }
        let id = run.spec.run;
        let times = waits.iter().filter_map(|wait| match wait {
            Wait::Time(until) => {
                let fires = *until + at.timer_late(id, *until);
                Some((*until, facts.timer_for(id, *until).map_or(fires, |timer| timer.min(fires))))
            }
            _ => None,
        });
        let times: Vec<_> = times.collect();
        let due = first_due(&times, run.deadline);
        self.sleep(no, Sleep { waits: waits.to_vec(), times, halted: false, due }, at);
    }

    fn sleep(&mut self, no: RunNo, sleep: Sleep, at: &mut Transition<'_>) {
        let from = self.leave(no);
        self.due.extend(sleep.due.map(|due| (due, no)));
        if sleep.halted {
            self.halted.insert(no);
        }
        let run = &mut self.runs[no];
        at.moved(run.spec.run, from, RunStatus::Suspended, None, sleep.waits.clone());
        run.state = State::Suspended(sleep);
    }
}

/// When the first of a sleeper's times fires or its deadline is over.
fn first_due(times: &[(Timestamp, Timestamp)], deadline: Option<Timestamp>) -> Option<Timestamp> {
    times.iter().map(|(_, fires)| *fires).chain(deadline).min()
}

/// The end of a child that has woken its parent wakes it no more.
fn forget_used(children: &mut BTreeMap<RunId, Wakeup>, used: &[Trigger]) {
    for trigger in used {
        if let Trigger::Wakeup(Wakeup::ChildDone { child_run, .. }) = trigger {
            children.remove(child_run);
        }
    }
}
