//! The invariants hold over worlds in which everything happens that is built: effects of all kinds, sleeps, signals,
//! mail, retries, dead letters and redrives, cancels, deadlines, halts; under every kind of fault.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use chronodrome::check::{Checker, check};
use chronodrome::history::{Event, Header, Record};
use chronodrome::kernel::*;
use chronodrome::runtime::{
    Agent, AgentError, Agents, Call, Client, Context, EffectCall, Registration, Settings, Worker,
};
use chronodrome::sim::{self, Cast, FaultKind, FaultPlan, Faults, Machine, Program, Schedule, Setup, Tool, Watcher};
use serde_json::json;

/// Pays, waits for an approval, tells the post, takes what mail came meanwhile.
async fn billing(ctx: Context, _inbox: Vec<Message>) -> Result<Json, AgentError> {
    let charge = EffectCall::new("stripe.charge", json!({"amount": 100}));
    let _doubtful = ctx.effect(charge).await;
    let approval = ctx.wait_signal("approve", Some(Span::from_secs(20))).await?;
    ctx.send("post".parse().unwrap(), json!({"approved": approval.is_some()}).into()).await?;
    ctx.signal(ctx.run_id(), "note", Json::null()).await?;
    ctx.wait_signal("note", None).await?;
    let mail = EffectCall::new("email.send", json!({})).policy(Policy::Idempotent).tries(2, Span::from_secs(1));
    ctx.effect(mail).await.ok();
    let more = ctx.receive(5, Some(Span::from_secs(10))).await?;
    let look = EffectCall::new("look.up", json!({})).policy(Policy::Repeatable);
    ctx.all(vec![Call::Now, Call::Sleep(Span::from_secs(2)), Call::Effect(look)]).await.ok();
    Ok(json!({"more": more.len()}).into())
}

/// Fails twice, then takes a while.
async fn post(ctx: Context, _inbox: Vec<Message>) -> Result<Json, AgentError> {
    let failures = ctx.failures();
    ctx.sleep(Span::from_secs(3)).await?;
    if failures < 2 {
        return Err("not yet".into());
    }
    Ok(Json::null())
}

/// Fails always.
async fn hopeless(ctx: Context, _inbox: Vec<Message>) -> Result<Json, AgentError> {
    ctx.now().await?;
    Err("never".into())
}

/// Sleeps over its deadline.
async fn late(ctx: Context, _inbox: Vec<Message>) -> Result<Json, AgentError> {
    ctx.sleep(Span::from_secs(100)).await?;
    Ok(Json::null())
}

/// Does not follow its log.
async fn fickle(ctx: Context, _inbox: Vec<Message>) -> Result<Json, AgentError> {
    if ctx.attempt() == Attempt(0) {
        ctx.now().await?;
    } else {
        ctx.uuid().await?;
    }
    ctx.wait_signal("go", Some(Span::from_secs(5))).await?;
    Ok(Json::null())
}

async fn probe(_ctx: Context, _inbox: Vec<Message>) -> Result<Json, AgentError> {
    Ok(Json::null())
}

struct Town;

fn registration(agent: Rc<dyn Agent>, deadline: Option<Deadline>) -> Registration {
    Registration { version: Version(1), defaults: SpecDefaults { deadline, ..SpecDefaults::default() }, agent }
}

fn message(id: &str) -> Message {
    Message { id: id.into(), sender: "shop".parse().unwrap(), data: Json::empty(), correlation: None, reply_to: None }
}

impl Cast for Town {
    fn worker(&self, id: WorkerId, machine: Machine) -> Program {
        let soon = Some(Deadline::After(Span::from_secs(10)));
        let agents: [(Name, Registration); 6] = [
            ("billing".into(), registration(Rc::new(billing), None)),
            ("post".into(), registration(Rc::new(post), None)),
            ("hopeless".into(), registration(Rc::new(hopeless), None)),
            ("late".into(), registration(Rc::new(late), soon)),
            ("fickle".into(), registration(Rc::new(fickle), None)),
            ("probe".into(), registration(Rc::new(probe), None)),
        ];
        let (machine, agents) = (Rc::new(machine), Rc::new(Agents(agents.into())));
        let worker = Worker::new(id, Settings::default(), machine.clone(), machine.clone(), machine, agents);
        let stopper = worker.stopper();
        Program { task: worker.run(), stop: Rc::new(move || stopper.stop()) }
    }

    fn input(&self, number: u32, machine: Machine) -> Task {
        let machine = Rc::new(machine);
        Box::pin(async move {
            let client = Client::new(machine.clone(), machine.clone());
            let deliver = async |to: &str, id: &str| {
                while client.deliver(to.parse().unwrap(), message(id)).await.is_err() {
                    machine.sleep(Span::from_millis(100)).await;
                }
            };
            let run_of = async |agent: &str| machine.run_of(agent.parse().unwrap()).await.ok().flatten();
            match number {
                0 => deliver("billing", "order-1").await,
                1 => {
                    deliver("billing", "order-1").await;
                    deliver("billing", "order-2").await;
                    deliver("billing", "order-3").await;
                }
                2 => {
                    for agent in ["hopeless", "late", "fickle"] {
                        deliver(agent, "m").await;
                    }
                }
                3 => {
                    if let Some(run) = run_of("billing").await {
                        client.signal(run, "approve".into(), Json::null(), "yes".into()).await;
                    }
                }
                4 => {
                    if let Some(run) = run_of("post").await {
                        client.cancel(run, "enough".into()).await;
                    }
                    if let Some(run) = run_of("fickle").await {
                        client.resume(run).await;
                    }
                }
                _ => {
                    let agent: AgentId = "hopeless".parse().unwrap();
                    for letter in machine.dead_letters(agent.clone()).await.unwrap_or_default() {
                        client.redrive(agent.clone(), letter.message.id, letter.arrival).await;
                    }
                }
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

/// Every kind of fault, each at one site in `one_in`.
fn setup(one_in: u32) -> Setup {
    let lease = Span::from_secs(30);
    let plan = |kind| (kind, FaultPlan::new(kind, 1_000_000 / one_in, lease));
    let plans: BTreeMap<_, _> = FaultKind::ALL.into_iter().map(plan).collect();
    let faults = Faults { plans, ..Faults::default() };
    let honest = Tool { honours_key: true, ..Tool::default() };
    Setup {
        header: Header {
            format: 1,
            scenario: "town".into(),
            start: "2025-05-11T20:00:00Z".parse().unwrap(),
            lease,
            poll: Span::from_millis(50),
            timer_jitter: faults.timer_jitter(),
            capacity: 10,
            max_lost_leases: 10,
            workers: vec!["w1".into(), "w2".into()],
        },
        faults,
        tools: [("email.send".into(), honest)].into(),
        latency: Span::from_millis(1),
        latencies: None,
        store: Default::default(),
        inputs: [0, 1, 2, 5, 20, 120].into_iter().map(Span::from_secs).collect(),
        events_max: 1_000_000,
    }
}

/// Plays a schedule and judges it: nothing is violated, everything judged.
fn judged(setup: &Setup, schedule: &Schedule) -> (Checker, usize) {
    let records = Rc::new(RefCell::new(Records::default()));
    let remains = sim::play(setup, &Town, schedule, false, records.clone());
    let records = std::mem::take(&mut records.borrow_mut().0);
    let checker = check(&setup.header, &records);
    if !checker.violations().is_empty() {
        panic!("{schedule:?} with {:#?}: {:#?}", remains.deviations, checker.violations());
    }
    assert_eq!(checker.not_judged(), Vec::<&str>::new());
    (checker, records.len())
}

#[test]
fn in_the_calm_schedule() {
    judged(&setup(100), &Schedule::Calm);
}

#[test]
fn at_every_single_fault() {
    let setup = setup(100);
    let records = Rc::new(RefCell::new(Records::default()));
    let sites = sim::play(&setup, &Town, &Schedule::Calm, true, records).sites;
    let mut schedules = 0;
    for site in &sites {
        for fault in &site.faults {
            judged(&setup, &Schedule::Fixed(vec![site.deviation(fault.clone())]));
            schedules += 1;
        }
    }
    println!("{schedules} schedules");
}

#[test]
fn over_many_seeds() {
    let mut reached = BTreeSet::new();
    let mut events = 0;
    for one_in in [20, 100, 500] {
        let setup = setup(one_in);
        for seed in 0..300 {
            let (checker, seen) = judged(&setup, &Schedule::Seed(seed));
            reached.extend(checker.reached());
            events += seen;
        }
    }
    let missing = chronodrome::check::Sometimes::ALL.iter().filter(|what| !reached.contains(what));
    println!("{events} events; not reached: {:?}", missing.collect::<Vec<_>>());
}
