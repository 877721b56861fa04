//! The queue of pending runs: tenants take turns; within a tenant higher priority goes first, then age; a run
//! that has waited too long goes before all priorities of its tenant.
//!
//! A run stands in the queue at most once, and leaves it only by being granted. A tenant whose line becomes
//! empty loses its turn and queues up behind the others when it has work again: so each tenant with work is
//! served once in every round, however many runs the others have.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use super::run::RunNo;
use crate::kernel::{Name, Priority, Span, Timestamp};

/// After waiting longer than this a run goes before all priorities.
pub const WAIT_MAX: Span = Span::from_secs(600);

/// The pending runs of all tenants.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    lines: BTreeMap<Option<Name>, usize>,
    tenants: Vec<Line>,
    /// The tenants that have work, next to be served first.
    round: VecDeque<usize>,
    /// How often a run was queued.
    tickets: u64,
}

/// The pending runs of one tenant, by age and by rank.
#[derive(Clone, Debug, Default)]
struct Line {
    by_age: BTreeMap<u64, Waiting>,
    by_rank: BTreeMap<(Reverse<Priority>, u64), RunNo>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    run: RunNo,
    since: Timestamp,
    priority: Priority,
}

impl Queue {
    /// Queues a run that is not in the queue.
    pub fn push(&mut self, run: RunNo, tenant: &Option<Name>, priority: Priority, now: Timestamp) {
        let tenant = self.line_of(tenant);
        self.tickets += 1;
        let ticket = self.tickets;
        let line = &mut self.tenants[tenant];
        if line.by_age.is_empty() {
            self.round.push_back(tenant);
        }
        line.by_age.insert(ticket, Waiting { run, since: now, priority });
        line.by_rank.insert((Reverse(priority), ticket), run);
    }

    fn line_of(&mut self, tenant: &Option<Name>) -> usize {
        if let Some(line) = self.lines.get(tenant) {
            return *line;
        }
        let line = self.tenants.len();
        self.tenants.push(Line::default());
        self.lines.insert(tenant.clone(), line);
        line
    }

    /// Takes the run that goes next.
    pub fn pop(&mut self, now: Timestamp) -> Option<RunNo> {
        let tenant = self.round.pop_front()?;
        let line = &mut self.tenants[tenant];
        let next = line.pop(now);
        if !line.by_age.is_empty() {
            self.round.push_back(tenant);
        }
        next
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.round.is_empty()
    }

    /// All runs in the order in which they would go now.
    pub fn in_order(&self, now: Timestamp) -> Vec<RunNo> {
        let mut rest = self.clone();
        std::iter::from_fn(|| rest.pop(now)).collect()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.lines.clear();
        self.tenants.clear();
        self.round.clear();
        self.tickets = 0;
    }
}

impl Line {
    fn pop(&mut self, now: Timestamp) -> Option<RunNo> {
        let (oldest, waiting) = self.by_age.first_key_value()?;
        let ticket = if now.since(waiting.since) > WAIT_MAX { *oldest } else { self.by_rank.first_key_value()?.0.1 };
        let waiting = self.by_age.remove(&ticket)?;
        self.by_rank.remove(&(Reverse(waiting.priority), ticket));
        Some(waiting.run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_micros(0);

    fn queue(entries: &[(u32, &str, Priority, i64)]) -> Queue {
        let mut queue = Queue::default();
        for (run, tenant, priority, secs) in entries {
            queue.push(RunNo(*run), &Some((*tenant).into()), *priority, START + Span::from_secs(*secs));
        }
        queue
    }

    fn order(queue: &Queue, secs: i64) -> Vec<u32> {
        queue.in_order(START + Span::from_secs(secs)).into_iter().map(|run| run.0).collect()
    }

    /// Case 57.
    #[test]
    fn a_late_tenant_is_served_in_the_first_round_and_a_flood_is_served_one_a_round() {
        let flood = (1..=5).map(|run| (run, "flood", Priority::Normal, 0));
        let entries: Vec<_> = flood.chain([(6, "quiet", Priority::Normal, 1)]).collect();
        assert_eq!(order(&queue(&entries), 1), [1, 6, 2, 3, 4, 5]);
    }

    #[test]
    fn higher_priority_goes_first_and_equals_go_by_age() {
        use Priority::*;
        let entries =
            [(1, "t", Low, 0), (2, "t", Normal, 0), (3, "t", Critical, 0), (4, "t", High, 0), (5, "t", Normal, 0)];
        assert_eq!(order(&queue(&entries), 0), [3, 4, 2, 5, 1]);
    }

    #[test]
    fn a_run_that_waits_over_ten_minutes_goes_before_all_priorities_of_its_tenant() {
        use Priority::*;
        let queue = queue(&[(1, "t", Low, 0), (2, "t", Critical, 1), (3, "t", Critical, 2)]);
        assert_eq!(order(&queue, 600), [2, 3, 1]);
        assert_eq!(order(&queue, 601), [1, 2, 3]);
    }

    #[test]
    fn a_tenant_that_comes_and_goes_does_not_overtake_who_waits() {
        let mut queue = queue(&[(1, "a", Priority::Normal, 0), (2, "b", Priority::Normal, 0)]);
        assert_eq!(queue.pop(START), Some(RunNo(1)));
        queue.push(RunNo(3), &Some("a".into()), Priority::Critical, START);
        assert_eq!(order(&queue, 0), [2, 3]);
    }
}
