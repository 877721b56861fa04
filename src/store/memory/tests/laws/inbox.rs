//! The inbox against a list of all lives of messages that is scanned for every question.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// A call of the inbox, or the end of the live run at an address.
#[derive(Clone, Debug)]
enum MailCall {
    Deliver(u8, u8),
    /// By the run that was made so many runs before the last one.
    Drain(u8, usize, u64, u32),
    Ack(u8, u8, usize),
    Nack(u8, u8, usize, u32, u8),
    Redrive(u8, u8, u64),
    End(u8),
}

fn mail_call() -> impl Strategy<Value = MailCall> {
    let (to, id, run) = (0..2_u8, 0..4_u8, 0..3_usize);
    prop_oneof![
        3 => (to.clone(), id.clone()).prop_map(|(to, id)| MailCall::Deliver(to, id)),
        3 => (to.clone(), run.clone(), prop_oneof![3 => Just(0), 1 => 0..9_u64], 1..4_u32)
            .prop_map(|(to, run, after, max)| MailCall::Drain(to, run, after, max)),
        2 => (to.clone(), id.clone(), run.clone()).prop_map(|(to, id, run)| MailCall::Ack(to, id, run)),
        3 => (to.clone(), id.clone(), run, 0..5_u32, 0..3_u8)
            .prop_map(|(to, id, run, failure, how)| MailCall::Nack(to, id, run, failure, how)),
        2 => (to.clone(), id, 0..12_u64).prop_map(|(to, id, life)| MailCall::Redrive(to, id, life)),
        1 => to.prop_map(MailCall::End),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Pending,
    Acked,
    Dead,
}

/// One life of a message.
#[derive(Clone, Debug)]
struct Life {
    to: u8,
    id: u8,
    arrival: u64,
    fate: Fate,
    attempts: u32,
    drained_by: Option<RunId>,
    settled_by: Option<RunId>,
}

/// A mailbox that scans the list of all lives.
#[derive(Default)]
struct Lives(Vec<Life>);

impl Lives {
    fn last(&mut self, to: u8, id: u8) -> Option<&mut Life> {
        self.0.iter_mut().rev().find(|life| (life.to, life.id) == (to, id))
    }

    fn begin(&mut self, to: u8, id: u8) {
        let arrival = self.0.len() as u64 + 1;
        let (fate, attempts) = (Fate::Pending, 0);
        self.0.push(Life { to, id, arrival, fate, attempts, drained_by: None, settled_by: None });
    }

    fn has_settled(&self, to: u8, id: u8, run: RunId) -> bool {
        self.0.iter().any(|life| (life.to, life.id, life.settled_by) == (to, id, Some(run)))
    }

    fn drain(&mut self, to: u8, run: RunId, after: u64, max: u32) -> Vec<(u64, u32)> {
        let mut given = Vec::new();
        for place in 0..self.0.len() {
            let life = self.0[place].clone();
            let is_wanted = life.to == to && life.fate == Fate::Pending && life.arrival > after;
            if is_wanted && given.len() < max as usize && !self.has_settled(to, life.id, run) {
                self.0[place].drained_by = Some(run);
                given.push((life.arrival, life.attempts));
            }
        }
        given
    }

    fn settle(&mut self, to: u8, id: u8, run: RunId, failure: u32, fate: impl Fn(u32) -> Fate) {
        let barred = self.has_settled(to, id, run);
        let Some(life) = self.last(to, id) else { return };
        if !barred && life.fate == Fate::Pending && life.drained_by == Some(run) {
            life.attempts = life.attempts.max(failure);
            life.fate = fate(life.attempts);
            life.settled_by = (life.fate != Fate::Pending).then_some(run);
        }
    }
}

fn box_of(number: u8) -> AgentId {
    AgentId::new("a", &number.to_string()).unwrap()
}

fn apply_mail_call(bench: &mut Bench, model: &mut Lives, call: &MailCall) -> Result<(), TestCaseError> {
    let run_back = |bench: &Bench, to: u8, back: usize| {
        let runs: Vec<_> = bench.store.runs().filter(|run| run.spec.agent == box_of(to)).collect();
        runs.iter().rev().nth(back).map_or(run_id(99), |run| run.spec.run)
    };
    let live = |bench: &mut Bench, to: u8| match bench.ask(Request::RunOf { agent: box_of(to) }) {
        Reply::Run(run) => run,
        other => panic!("{other:?}"),
    };
    match *call {
        MailCall::Deliver(to, id) => {
            let is_new = model.last(to, id).is_none();
            if is_new {
                model.begin(to, id);
            }
            prop_assert_eq!(bench.deliver(box_of(to).as_str(), &id.to_string()), is_new);
        }
        MailCall::Drain(to, back, after, max) => {
            let run = run_back(bench, to, back);
            let given = if live(bench, to) == Some(run) { model.drain(to, run, after, max) } else { vec![] };
            let after = (after > 0).then_some(Arrival(after));
            let Reply::Drained(mail) = bench.ask(Request::Drain { agent: box_of(to), run, after, max }) else {
                unreachable!()
            };
            prop_assert_eq!(mail.iter().map(|m| (m.received.arrival.0, m.attempts)).collect::<Vec<_>>(), given);
        }
        MailCall::Ack(to, id, back) => {
            let run = run_back(bench, to, back);
            model.settle(to, id, run, 0, |_| Fate::Acked);
            bench.ask(Request::Ack { agent: box_of(to), message: id.to_string().as_str().into(), run });
        }
        MailCall::Nack(to, id, back, failure, how) => {
            let run = run_back(bench, to, back);
            let error: Name = "x".into();
            let (disposition, dies_at) = match how {
                0 => (Disposition::Again(error), u32::MAX),
                1 => (Disposition::Dead(error), 0),
                _ => (Disposition::Ceiling(error), 3),
            };
            model.settle(to, id, run, failure, |attempts| if attempts >= dies_at { Fate::Dead } else { Fate::Pending });
            let message = id.to_string().as_str().into();
            bench.ask(Request::Nack { agent: box_of(to), message, run, failure, disposition });
        }
        MailCall::Redrive(to, id, life) => {
            let known = model.last(to, id).map(|last| (last.fate, last.arrival));
            let redriven = known == Some((Fate::Dead, life));
            if redriven {
                model.begin(to, id);
            }
            let message = id.to_string().as_str().into();
            let request = Request::Redrive { agent: box_of(to), message, arrival: Arrival(life) };
            prop_assert_eq!(bench.ask(request), Reply::Accepted(redriven));
        }
        MailCall::End(to) => {
            let leases = bench.poll("w1", 9);
            for lease in leases {
                let ends = lease.spec.agent == box_of(to);
                bench.release(&lease, if ends { Release::Ended(RunStatus::Failed) } else { Release::Pending });
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn mail_is_accepted_once_drained_in_order_and_settled_once_per_life(calls in vec(mail_call(), 0..80)) {
        let (mut bench, mut model) = (Bench::new(), Lives::default());
        for call in &calls {
            apply_mail_call(&mut bench, &mut model, call)?;
            for to in 0..2 {
                let with = |fate: Fate| model.0.iter().filter(move |life| life.to == to && life.fate == fate);
                let count = Reply::Count(with(Fate::Pending).count() as u64);
                prop_assert_eq!(bench.ask(Request::PendingCount { agent: box_of(to) }), count);
                let Reply::DeadLetters(letters) = bench.ask(Request::DeadLetters { agent: box_of(to) }) else {
                    unreachable!()
                };
                let redriven = |life: &Life| model.0.iter().any(|l| (l.to, l.id) == (to, life.id) && l.arrival > life.arrival);
                let dead = with(Fate::Dead).filter(|life| !redriven(life)).map(|life| (life.arrival, life.attempts));
                let told = letters.iter().map(|letter| (letter.arrival.0, letter.attempts));
                prop_assert_eq!(told.collect::<Vec<_>>(), dead.collect::<Vec<_>>());
                let Reply::Run(live) = bench.ask(Request::RunOf { agent: box_of(to) }) else { unreachable!() };
                prop_assert!(live.is_some() || with(Fate::Pending).count() == 0, "mail waits for nobody");
            }
        }
        let settled = bench.changes.iter().filter(|change| matches!(change, Change::Settled { .. })).count();
        prop_assert_eq!(settled, model.0.iter().filter(|life| life.fate != Fate::Pending).count());
    }
}
