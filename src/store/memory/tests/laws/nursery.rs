//! Reservations, trees and budgets against a list that is scanned for every question.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::kin::{Family, Life};
use super::*;

/// A call about children. Runs and leases are named by their place among all so far, from the last one back.
#[derive(Clone, Debug)]
enum KinCall {
    Deliver(u8),
    Poll(u32),
    Reserve(usize, u32, u8),
    Create(usize, bool),
    Cancel(usize),
    Close(usize),
    GiveBack(usize),
    Settle(usize),
    End(usize),
    Return(usize),
    Detach(usize),
    Spend(usize, u64, u64),
}

fn kin_call() -> impl Strategy<Value = KinCall> {
    let place = 0..5_usize;
    prop_oneof![
        2 => (0..7_u8).prop_map(KinCall::Deliver),
        4 => (1..4_u32).prop_map(KinCall::Poll),
        8 => (place.clone(), 0..3_u32, 0..7_u8).prop_map(|(lease, step, to)| KinCall::Reserve(lease, step, to)),
        5 => (place.clone(), any::<bool>()).prop_map(|(run, boot)| KinCall::Create(run, boot)),
        1 => place.clone().prop_map(KinCall::Cancel),
        2 => place.clone().prop_map(KinCall::Close),
        1 => place.clone().prop_map(KinCall::GiveBack),
        2 => place.clone().prop_map(KinCall::Settle),
        3 => place.clone().prop_map(KinCall::End),
        2 => place.clone().prop_map(KinCall::Return),
        3 => place.clone().prop_map(KinCall::Detach),
        2 => (place, 0..6_u64, 0..9_u64).prop_map(|(run, key, tokens)| KinCall::Spend(run, key, tokens)),
    ]
}

/// The types `a` and `b` are registered, with different budgets; `c` is not.
fn address(number: u8) -> AgentId {
    AgentId::new(
        if number < 3 {
            "a"
        } else if number < 6 {
            "b"
        } else {
            "c"
        },
        &number.to_string(),
    )
    .unwrap()
}

/// Both stores, and the leases that were ever granted.
struct Pair {
    bench: Bench,
    family: Family,
    leases: Vec<Lease>,
    messages: u32,
}

impl Pair {
    fn new() -> Pair {
        let mut bench = Bench::new();
        let kinds = vec![("a", 3), ("b", 2)];
        for (kind, max_agents) in &kinds {
            let spawn_budget = SpawnBudget { max_agents: *max_agents };
            bench.register(kind, 1, SpecDefaults { spawn_budget, ..SpecDefaults::default() });
        }
        let family = Family { kinds, ..Family::default() };
        let mut pair = Pair { bench, family, leases: vec![], messages: 0 };
        pair.deliver(0);
        pair.poll(1).unwrap();
        pair
    }

    /// The run of this place; one that nobody knows when there are not so many.
    fn run(&self, place: usize) -> RunId {
        self.family.runs.iter().rev().nth(place).map_or(run_id(99), |run| run.id)
    }

    fn lease(&self, place: usize) -> Option<Lease> {
        self.leases.iter().rev().nth(place).cloned()
    }

    /// The model takes over the id of a run that mail has made.
    fn adopt(&mut self, address: &AgentId) {
        let Reply::Run(Some(run)) = self.bench.ask(Request::RunOf { agent: address.clone() }) else {
            panic!("mail has made no run at {address}");
        };
        self.family.made(run, address.clone());
    }

    fn next_message(&mut self) -> Message {
        self.messages += 1;
        message(&self.messages.to_string())
    }

    fn deliver(&mut self, number: u8) {
        let (to, message) = (address(number), self.next_message());
        let accepted = self.bench.deliver(to.as_str(), &message.id);
        if accepted {
            self.family.mail.push(to.clone());
            if self.family.live_at(&to).is_none() {
                self.adopt(&to);
            }
        }
    }

    fn poll(&mut self, capacity: u32) -> Result<(), TestCaseError> {
        let queued = self.family.runs.iter().filter(|run| run.life == Life::Queued).count();
        let leases = self.bench.poll("w1", capacity);
        prop_assert_eq!(leases.len(), queued.min(capacity as usize), "who is reserved is not queued");
        for lease in leases {
            let run = self.family.get_mut(lease.key.run).expect("a known run");
            prop_assert_eq!((run.life, run.leases), (Life::Queued, lease.key.attempt.0));
            prop_assert_eq!(lease.cancel_requested.is_some(), run.cancelled);
            (run.life, run.leases) = (Life::Held, run.leases + 1);
            self.leases.push(lease);
        }
        Ok(())
    }

    fn reserve(&mut self, lease: &Lease, step: Step, to: &AgentId) -> Result<(), TestCaseError> {
        let expected = self.family.answer(self.bench.now, &lease.key, step, to);
        let request = Request::Reserve { lease: lease.key.clone(), step, agent: to.clone() };
        let Reply::Reserved(answer) = self.bench.ask(request) else { unreachable!() };
        match expected {
            Some(expected) => prop_assert_eq!(&answer, &expected),
            None => {
                let Reserved::Reserved { tree, .. } = &answer else { panic!("{answer:?} for a child that is free") };
                prop_assert_eq!(*tree, self.family.get(lease.key.run).unwrap().tree);
            }
        }
        let parent = lease.key.run;
        if self.family.told.iter().all(|(run, at, _)| (*run, *at) != (parent, step)) && answer != Reserved::Lost {
            self.family.tell(parent, step, to, &answer);
        }
        Ok(())
    }

    fn create(&mut self, run: RunId, with_boot: bool) -> Result<(), TestCaseError> {
        let boot = with_boot.then(|| self.next_message());
        let known = self.family.get(run).cloned();
        let to = known.as_ref().map_or(address(0), |run| run.address.clone());
        let parent = known.as_ref().and_then(|run| run.parent).or(Some(run_id(98)));
        let spawn_budget = SpawnBudget { max_agents: if with_boot { 4 } else { 2 } };
        let settings = SpecDefaults { spawn_budget, ..SpecDefaults::default() };
        let spec = RunSpec { parent, tree: run_id(97), ..RunSpec::root(run, to.clone(), settings) };
        let expected = match known.map(|run| run.life) {
            Some(Life::Reserved) => Created::Created,
            _ => Created::Exists,
        };
        let reply = self.bench.ask(Request::Create { spec: Box::new(spec), boot });
        prop_assert_eq!(reply, Reply::Created(expected));
        if expected == Created::Created {
            let created = self.family.get_mut(run).unwrap();
            (created.life, created.max_agents) = (Life::Queued, spawn_budget.max_agents);
            self.family.mail.extend(with_boot.then_some(to));
        }
        Ok(())
    }

    fn end(&mut self, lease: &Lease) -> Result<(), TestCaseError> {
        let is_held = self.family.held(&lease.key).is_some();
        let released = if is_held { Released::Released } else { Released::Lost };
        prop_assert_eq!(self.bench.release(lease, Release::Ended(RunStatus::Failed)), released);
        let free = if is_held { self.family.end(lease.key.run) } else { vec![] };
        for address in free {
            if self.family.mail.contains(&address) {
                self.adopt(&address);
            }
        }
        Ok(())
    }

    fn close(&mut self, run: RunId) {
        let Reply::LastSeq(expected) = self.bench.ask(Request::LastSeq { run }) else { unreachable!() };
        let body = Arc::new(Body::Ended(Ending::Completed { output: Json::empty(), in_doubt: vec![] }));
        self.bench.ask(Request::Append { run, body, expected });
        if let Some(run) = self.family.get_mut(run) {
            run.closed = true;
        }
    }

    fn apply(&mut self, call: &KinCall) -> Result<(), TestCaseError> {
        match *call {
            KinCall::Deliver(number) => self.deliver(number),
            KinCall::Poll(capacity) => self.poll(capacity)?,
            KinCall::Reserve(lease, step, to) => {
                self.lease(lease).map_or(Ok(()), |lease| self.reserve(&lease, Step(step), &address(to)))?;
            }
            KinCall::Create(run, with_boot) => {
                let run = self.run(run);
                self.create(run, with_boot)?;
            }
            KinCall::Cancel(run) => {
                let run = self.run(run);
                self.bench.ask(Request::Cancel { run, reason: "x".into() });
                if let Some(run) = self.family.get_mut(run) {
                    run.cancelled = true;
                }
            }
            KinCall::Close(run) => self.close(self.run(run)),
            KinCall::GiveBack(lease) => {
                if let Some(lease) = self.lease(lease) {
                    self.bench.release(&lease, Release::Pending);
                    if self.family.held(&lease.key).is_some() {
                        self.family.get_mut(lease.key.run).unwrap().life = Life::Queued;
                    }
                }
            }
            KinCall::Settle(lease) => {
                if let Some(lease) = self.lease(lease) {
                    self.bench.drain(&lease, None).iter().for_each(|id| self.bench.ack(&lease, id));
                    let address = &lease.spec.agent;
                    if self.family.live_at(address).is_some_and(|run| run.id == lease.key.run) {
                        self.family.mail.retain(|to| to != address);
                    }
                }
            }
            KinCall::End(lease) => self.lease(lease).map_or(Ok(()), |lease| self.end(&lease))?,
            KinCall::Return(run) => {
                let run = self.run(run);
                prop_assert_eq!(self.bench.ask(Request::ReturnUnit { run }), Reply::Done);
                if let Some(run) = self.family.get_mut(run) {
                    run.unit = false;
                }
            }
            KinCall::Detach(run) => {
                let run = self.run(run);
                prop_assert_eq!(self.bench.ask(Request::Detach { run }), Reply::Done);
                self.family.detach(run);
            }
            KinCall::Spend(run, key, tokens) => {
                let (run, key, amounts) = (self.run(run), EffectId(key), Spend { tokens, ..Spend::default() });
                self.family.spend(run, key, tokens);
                let spent = Spend { tokens: self.family.total(run), ..Spend::default() };
                let account = Reply::Account(Account { spent, limits: Limits::default() });
                prop_assert_eq!(self.bench.ask(Request::Spend { run, key, amounts }), account);
            }
        }
        Ok(())
    }

    /// Every run is for the store what it is for the model.
    fn agree(&mut self) -> Result<(), TestCaseError> {
        for run in &self.family.runs {
            let report = self.bench.store.run(run.id).expect("the run is known");
            let life = match report.status {
                RunStatus::Pending if report.reserved => Life::Reserved,
                RunStatus::Pending => Life::Queued,
                RunStatus::Running => Life::Held,
                _ => Life::Ended,
            };
            prop_assert_eq!((life, report.spec.tree, report.spec.parent), (run.life, run.tree, run.parent));
            prop_assert_eq!(self.bench.store.holds_unit(run.id), run.unit);
            prop_assert_eq!(self.bench.store.account(run.id).spent.tokens, self.family.total(run.id));
        }
        for number in 0..7 {
            let live = self.family.live_at(&address(number)).map(|run| run.id);
            prop_assert_eq!(self.bench.ask(Request::RunOf { agent: address(number) }), Reply::Run(live));
        }
        Ok(())
    }
}

/// What the changes tell of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Told {
    life: Life,
    tree: RunId,
    unit: bool,
}

fn note(told: &mut BTreeMap<RunId, Told>, change: Change) -> Result<(), TestCaseError> {
    match change {
        Change::Reserved { run, tree, .. } => {
            prop_assert_eq!(told.insert(run, Told { life: Life::Reserved, tree, unit: true }), None);
        }
        Change::Made { run, .. } => {
            let told = told.entry(run).or_insert(Told { life: Life::Reserved, tree: run, unit: true });
            prop_assert_eq!(told.life, Life::Reserved);
            told.life = Life::Queued;
        }
        Change::Moved { run, to, .. } => {
            let life = if to.is_terminal() { Life::Ended } else { Life::Held };
            told.get_mut(&run).expect("a known run").life = if to == RunStatus::Pending { Life::Queued } else { life };
        }
        Change::Swept { run } => {
            let told = told.get_mut(&run).expect("a known run");
            prop_assert_eq!(told.life, Life::Reserved);
            (told.life, told.unit) = (Life::Ended, false);
        }
        Change::Returned { run } => {
            prop_assert!(std::mem::replace(&mut told.get_mut(&run).expect("a known run").unit, false));
        }
        Change::Replanted { run, tree } => {
            prop_assert_ne!(std::mem::replace(&mut told.get_mut(&run).expect("a known run").tree, tree), tree);
        }
        _ => {}
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_step_has_one_child_or_none_and_no_unit_leaks(calls in vec(kin_call(), 0..80)) {
        let mut pair = Pair::new();
        for call in &calls {
            pair.apply(call)?;
            pair.agree()?;
        }
    }

    #[test]
    fn the_told_changes_lead_to_the_trees_and_their_units(calls in vec(kin_call(), 0..80)) {
        let mut pair = Pair::new();
        let mut told = BTreeMap::new();
        for call in &calls {
            pair.apply(call)?;
            for change in pair.bench.changes.drain(..) {
                note(&mut told, change)?;
            }
            let known = pair.family.runs.iter().map(|run| (run.id, Told { life: run.life, tree: run.tree, unit: run.unit }));
            prop_assert_eq!(&told, &known.collect::<BTreeMap<_, _>>(), "after {:?}", call);
        }
    }
}
