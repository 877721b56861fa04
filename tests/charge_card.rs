//! The card is charged once, on the simulated world, with an agent written in Rust.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use chronodrome::history::{Event, Header, Record};
use chronodrome::kernel::*;
use chronodrome::runtime::{AgentError, Agents, Client, Context, EffectCall, Registration, Settings, Worker};
use chronodrome::sim::{self, Cast, Faults, Machine, Program, Remains, Schedule, Setup, Watcher};
use serde_json::json;

async fn billing(ctx: Context, _inbox: Vec<Message>) -> Result<Json, AgentError> {
    let charge = ctx.effect(EffectCall::new("stripe.charge", json!({"amount": 100, "currency": "usd"}))).await?;
    let mail = EffectCall::new("email.send", json!({"to": "customer", "charge": charge["id"]}));
    ctx.effect(mail.policy(Policy::Idempotent)).await?;
    Ok(Json::new(json!({"charged": charge["id"]})))
}

async fn probe(_ctx: Context, _inbox: Vec<Message>) -> Result<Json, AgentError> {
    Ok(Json::null())
}

struct Shop;

fn message(id: &str) -> Message {
    Message { id: id.into(), sender: "shop".parse().unwrap(), data: Json::empty(), correlation: None, reply_to: None }
}

impl Cast for Shop {
    fn worker(&self, id: WorkerId, machine: Machine) -> Program {
        let registration = |agent| Registration { version: Version(1), defaults: SpecDefaults::default(), agent };
        let mut agents = BTreeMap::new();
        agents.insert("billing".into(), registration(Rc::new(billing)));
        let other: Rc<dyn chronodrome::runtime::Agent> = Rc::new(probe);
        agents.insert(
            "probe".into(),
            Registration { version: Version(1), defaults: SpecDefaults::default(), agent: other },
        );
        let machine = Rc::new(machine);
        let agents = Rc::new(Agents(agents));
        let worker = Worker::new(id, Settings::default(), machine.clone(), machine.clone(), machine, agents);
        let stopper = worker.stopper();
        Program { task: worker.run(), stop: Rc::new(move || stopper.stop()) }
    }

    fn input(&self, _number: u32, machine: Machine) -> Task {
        let machine = Rc::new(machine);
        Box::pin(async move {
            let client = Client::new(machine.clone(), machine.clone());
            while client.deliver("billing".parse().unwrap(), message("order-1")).await.is_err() {
                machine.sleep(Span::from_millis(100)).await;
            }
        })
    }

    fn probe(&self, machine: Machine) -> Task {
        let machine = Rc::new(machine);
        Box::pin(async move {
            let client = Client::new(machine.clone(), machine);
            client.deliver("probe".parse().unwrap(), message("probe")).await.unwrap();
        })
    }
}

#[derive(Default)]
struct Records(Vec<Record>);

impl Watcher for Records {
    fn observe(&mut self, at: Timestamp, event: Event) {
        self.0.push(Record { at, event });
    }
}

fn setup() -> Setup {
    let lease = Span::from_secs(30);
    Setup {
        header: Header {
            format: 1,
            scenario: "charge-card".into(),
            start: "2025-05-11T20:00:00Z".parse().unwrap(),
            lease,
            poll: Span::from_millis(50),
            timer_jitter: Span::ZERO,
            capacity: 10,
            max_lost_leases: 10,
            workers: vec!["w1".into(), "w2".into()],
        },
        faults: Faults::default(),
        tools: BTreeMap::new(),
        latency: Span::from_millis(1),
        latencies: None,
        store: Default::default(),
        inputs: vec![Span::ZERO],
        events_max: 1_000_000,
    }
}

fn play(schedule: &Schedule, list: bool) -> (Remains, Vec<Record>) {
    let records = Rc::new(RefCell::new(Records::default()));
    let remains = sim::play(&setup(), &Shop, schedule, list, records.clone());
    let records = std::mem::take(&mut records.borrow_mut().0);
    (remains, records)
}

fn charges(records: &[Record]) -> usize {
    records
        .iter()
        .filter(|record| matches!(&record.event, Event::Happened { kind, .. } if **kind == *"stripe.charge"))
        .count()
}

#[test]
fn the_calm_run_charges_once_and_completes() {
    let (remains, records) = play(&Schedule::Calm, true);
    assert_eq!(charges(&records), 1);
    assert!(remains.store.runs().all(|run| run.status == RunStatus::Completed));
    assert_eq!(remains.hash, play(&Schedule::Calm, false).0.hash);
}

#[test]
fn no_single_fault_charges_twice_or_loses_the_run() {
    let sites = play(&Schedule::Calm, true).0.sites;
    let mut schedules = 0;
    for site in &sites {
        for fault in &site.faults {
            let deviation = site.deviation(fault.clone());
            let (remains, records) = play(&Schedule::Fixed(vec![deviation.clone()]), false);
            assert!(charges(&records) <= 1, "{deviation:?}");
            let ended = remains.store.runs().all(|run| run.status.is_terminal());
            assert!(
                ended,
                "{deviation:?} {:?}",
                remains.store.runs().map(|r| (r.status, r.spec.agent.clone())).collect::<Vec<_>>()
            );
            assert!(remains.stale.is_empty(), "{deviation:?}");
            schedules += 1;
        }
    }
    println!("{} sites, {schedules} schedules", sites.len());
    assert_eq!((sites.len(), schedules), (27, 419));
}
