//! The scheduler against one that scans.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::naive::Naive;
use super::*;

/// A call that moves runs. Runs and leases are named by their place among all so far.
#[derive(Clone, Debug)]
enum RunCall {
    Deliver(u8),
    Signal(usize, u8),
    Child(usize, u8),
    Cancel(usize),
    Resume(usize),
    Register,
    Poll(u8, u32),
    Heartbeat(usize),
    Settle(usize),
    Release(usize, u8, Vec<(u8, u8)>),
    Pass(i64),
}

fn run_call() -> impl Strategy<Value = RunCall> {
    let place = 0..6_usize;
    prop_oneof![
        4 => (0..4_u8).prop_map(RunCall::Deliver),
        3 => (place.clone(), 0..2_u8).prop_map(|(run, name)| RunCall::Signal(run, name)),
        2 => (place.clone(), 0..2_u8).prop_map(|(run, child)| RunCall::Child(run, child)),
        1 => place.clone().prop_map(RunCall::Cancel),
        1 => place.clone().prop_map(RunCall::Resume),
        1 => Just(RunCall::Register),
        6 => (0..2_u8, 0..4_u32).prop_map(|(worker, capacity)| RunCall::Poll(worker, capacity)),
        3 => place.clone().prop_map(RunCall::Heartbeat),
        2 => place.clone().prop_map(RunCall::Settle),
        8 => (place, 0..9_u8, vec((0..4_u8, 0..3_u8), 0..4)).prop_map(|(lease, how, waits)| RunCall::Release(lease, how, waits)),
        5 => prop_oneof![Just(0_i64), Just(1), Just(10), Just(29), Just(30), Just(31)].prop_map(RunCall::Pass),
    ]
}

/// Both schedulers, and the leases that were ever granted.
struct Pair {
    bench: Bench,
    naive: Naive,
    leases: Vec<Lease>,
    arrivals: u64,
    signals: u64,
}

impl Pair {
    fn new() -> Pair {
        let mut bench = Bench::new();
        let deadline = Some(Deadline::After(Span::from_secs(40)));
        bench.register("d", 1, SpecDefaults { deadline, tenant: Some("t".into()), ..SpecDefaults::default() });
        let naive = Naive { now: bench.now, runs: vec![], mail: vec![], signals: vec![], version: 1 };
        Pair { bench, naive, leases: vec![], arrivals: 0, signals: 0 }
    }

    /// The run of this place, from the last one back.
    fn run(&self, place: usize) -> Option<RunId> {
        self.naive.runs.iter().rev().nth(place).map(|run| run.id)
    }

    fn lease(&self, place: usize) -> Option<Lease> {
        self.leases.iter().rev().nth(place).cloned()
    }

    /// The model takes over the id of the run that the store made at an address.
    fn adopt(&mut self, address: &AgentId) {
        let Reply::Run(Some(run)) = self.bench.ask(Request::RunOf { agent: address.clone() }) else {
            panic!("mail has made no run at {address}");
        };
        assert!(self.naive.runs.iter().all(|known| known.id != run), "{address} has a live run already");
        self.naive.made(run, address.clone());
    }

    fn wait(&self, (kind, detail): (u8, u8), address: &AgentId) -> Wait {
        match kind {
            0 => Wait::Signal(detail.to_string().as_str().into()),
            1 => {
                let last = self.naive.mail.iter().filter(|(to, _)| to == address).map(|(_, arrival)| *arrival).max();
                Wait::Message { after: Arrival(if detail == 0 { 0 } else { last.unwrap_or(self.arrivals) }) }
            }
            2 => Wait::Child(run_id(detail)),
            _ => Wait::Time(self.naive.now + Span::from_secs(10 * i64::from(detail) - 5)),
        }
    }

    fn poll(&mut self, worker: u8, capacity: u32) -> Result<(), TestCaseError> {
        self.naive.reclaim_and_fire();
        let ready = self.naive.runs.iter().filter(|run| run.status == RunStatus::Pending).count();
        let leases = self.bench.poll(&format!("w{worker}"), capacity);
        prop_assert_eq!(leases.len(), ready.min(capacity as usize), "no wake is lost and no run granted twice");
        for lease in leases {
            prop_assert!(lease.expires_at > lease.granted_at);
            let deadline = (lease.spec.agent.kind() == "d").then_some(Span::from_secs(40));
            self.naive.granted(&lease, deadline);
            self.leases.push(lease);
        }
        Ok(())
    }

    fn heartbeat(&mut self, lease: &Lease) -> Result<(), TestCaseError> {
        let expires_at = self.naive.now + LEASE;
        let term = Term { renewed_at: self.naive.now, expires_at };
        let expected = match self.naive.held(&lease.key) {
            None => Heartbeat::Lost,
            Some(place) => {
                self.naive.runs[place].expires_at = expires_at;
                let run = &self.naive.runs[place];
                if run.cancelled {
                    Heartbeat::CancelRequested(term, "x".into())
                } else if self.naive.is_overdue(run) {
                    Heartbeat::DeadlinePassed(term)
                } else {
                    Heartbeat::Healthy(term)
                }
            }
        };
        prop_assert_eq!(self.bench.ask(Request::Heartbeat { lease: lease.key.clone() }), Reply::Heartbeat(expected));
        Ok(())
    }

    fn release(&mut self, lease: &Lease, how: u8, waits: &[(u8, u8)]) -> Result<(), TestCaseError> {
        let address = &lease.spec.agent;
        let how = match how {
            0 => Release::Ended(RunStatus::Completed),
            1 => Release::Ended(RunStatus::Running),
            2 => Release::Pending,
            3 => Release::Halted,
            _ => Release::Suspended(waits.iter().map(|wait| self.wait(*wait, address)).collect()),
        };
        let held = self.naive.held(&lease.key).filter(|_| how != Release::Ended(RunStatus::Running));
        let expected = if held.is_some() { Released::Released } else { Released::Lost };
        prop_assert_eq!(self.bench.release(lease, how.clone()), expected);
        if let Some(place) = held {
            self.naive.release(place, &how);
            let left_over = self.naive.mail.iter().any(|(to, _)| to == address);
            if matches!(how, Release::Ended(_)) && left_over {
                self.adopt(address);
            }
        }
        Ok(())
    }

    /// All pending mail at the address of a lease is acked, if its run is the live one.
    fn settle(&mut self, lease: &Lease) {
        let address = &lease.spec.agent;
        for id in self.bench.drain(lease, None) {
            self.bench.ack(lease, &id);
        }
        if self.naive.live_at(address).is_some_and(|run| run.id == lease.key.run) {
            self.naive.mail.retain(|(to, _)| to != address);
        }
    }

    fn deliver(&mut self, number: u8) {
        let address = AgentId::new(if number < 2 { "a" } else { "d" }, &number.to_string()).unwrap();
        self.arrivals += 1;
        self.bench.deliver(address.as_str(), &self.arrivals.to_string());
        self.naive.mail.push((address.clone(), self.arrivals));
        if self.naive.live_at(&address).is_none() {
            self.adopt(&address);
        }
        self.naive.settle();
    }

    fn signal(&mut self, run: RunId, name: u8) {
        let name: Name = name.to_string().as_str().into();
        self.signals += 1;
        let id = self.signals.to_string().as_str().into();
        self.bench.ask(Request::Signal { run, name: name.clone(), payload: Json::empty(), id });
        self.naive.signals.push((run, name));
        self.naive.settle();
    }

    fn apply(&mut self, call: &RunCall) -> Result<(), TestCaseError> {
        match call {
            RunCall::Deliver(number) => self.deliver(*number),
            RunCall::Signal(run, name) => self.run(*run).into_iter().for_each(|run| self.signal(run, *name)),
            RunCall::Child(run, child) => {
                if let Some(run) = self.run(*run) {
                    let child_run = run_id(*child);
                    self.bench.ask(Request::Wake { run, wakeup: Wakeup::ChildDone { child_run, result_ref: None } });
                    self.naive.child_done(run, child_run);
                }
            }
            RunCall::Cancel(run) => {
                if let Some(run) = self.run(*run) {
                    self.bench.ask(Request::Cancel { run, reason: "x".into() });
                    self.naive.cancel(run);
                }
            }
            RunCall::Resume(run) => {
                if let Some(run) = self.run(*run) {
                    self.bench.ask(Request::Resume { run });
                    self.naive.resume(run);
                }
            }
            RunCall::Register => {
                self.naive.new_version();
                let deadline = Some(Deadline::After(Span::from_secs(40)));
                let version = self.naive.version;
                self.bench.register("a", version, SpecDefaults::default());
                self.bench.register("d", version, SpecDefaults { deadline, ..SpecDefaults::default() });
            }
            RunCall::Poll(worker, capacity) => self.poll(*worker, *capacity)?,
            RunCall::Heartbeat(lease) => self.lease(*lease).map_or(Ok(()), |lease| self.heartbeat(&lease))?,
            RunCall::Settle(lease) => self.lease(*lease).into_iter().for_each(|lease| self.settle(&lease)),
            RunCall::Release(lease, how, waits) => {
                self.lease(*lease).map_or(Ok(()), |lease| self.release(&lease, *how, waits))?;
            }
            RunCall::Pass(secs) => {
                self.bench.pass(Span::from_secs(*secs));
                self.naive.now = self.bench.now;
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn leases_are_exclusive_and_fenced_and_no_wake_is_lost(calls in vec(run_call(), 0..60)) {
        let mut pair = Pair::new();
        for call in &calls {
            pair.apply(call)?;
            for run in &pair.naive.runs {
                let status = pair.bench.store.run(run.id).map(|report| report.status);
                prop_assert_eq!(status, Some(run.status), "after {:?}", call);
            }
            prop_assert_eq!(pair.bench.store.grantable_at(pair.bench.now), pair.naive.grantable_at());
        }
    }

    #[test]
    fn the_told_changes_lead_to_the_statuses(calls in vec(run_call(), 0..60)) {
        let mut pair = Pair::new();
        let mut statuses = BTreeMap::new();
        for call in &calls {
            pair.apply(call)?;
            for change in pair.bench.changes.drain(..) {
                match change {
                    Change::Made { run, .. } => prop_assert_eq!(statuses.insert(run, RunStatus::Pending), None),
                    Change::Moved { run, from, to, .. } => prop_assert_eq!(statuses.insert(run, to), Some(from)),
                    _ => {}
                }
            }
            let told: Vec<_> = pair.bench.store.runs().map(|report| (report.spec.run, report.status)).collect();
            prop_assert_eq!(statuses.len(), told.len());
            prop_assert!(told.iter().all(|(run, status)| statuses.get(run) == Some(status)));
        }
    }
}
