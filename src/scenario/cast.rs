//! The programs of a scenario's world: workers of the runtime with scripted agents, clients for the inputs,
//! the probe.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::Poll;

use serde_json::json;

use super::agent::Stage;
use super::desk;
use super::model::{Act, Alias, PROBE, Scenario};
use crate::history::Event;
use crate::kernel::{
    Attempt, EventLog, Host, Json, Message, Name, Outside, RunId, Seq, Span, Stamp, Step, Task, Version, WorkerId,
};
use crate::runtime::{Agents, Client, Registration, Settings, Worker};
use crate::sim::{Cast, Machine, Program};
use crate::tempo::{Planner, Port};

/// How long a worker that its own agent killed stays dead.
const DIE_RESTART: Span = Span::from_secs(1);

/// The cast of a scenario.
pub(super) struct ScenarioCast<'a> {
    scenario: &'a Scenario,
    /// The agents as the next worker to start will know them.
    agents: Rc<RefCell<BTreeMap<Name, super::model::AgentType>>>,
}

impl<'a> ScenarioCast<'a> {
    pub fn new(scenario: &'a Scenario) -> Self {
        ScenarioCast { scenario, agents: Rc::new(RefCell::new(scenario.agents.clone())) }
    }
}

/// What a scripted agent sees of the world around its worker.
struct MachineStage(Machine);

impl Stage for MachineStage {
    fn entered(&self, run: RunId, attempt: Attempt, batch: &[Message]) {
        self.0.note(Event::Entered { run, attempt, batch: batch.to_vec() });
    }

    fn gave(&self, run: RunId, attempt: Attempt, step: Step, value: &Json) {
        self.0.note(Event::Gave { run, attempt, step, value: value.clone() });
    }

    fn die(&self) {
        self.0.die(DIE_RESTART);
    }

    fn run_id(&self, alias: &Alias) -> RunId {
        run_of(alias, &self.0)
    }
}

impl Cast for ScenarioCast<'_> {
    fn worker(&self, id: WorkerId, machine: Machine) -> Program {
        let stage: Rc<dyn Stage> = Rc::new(MachineStage(machine.clone()));
        let mut agents = BTreeMap::new();
        for (kind, agent) in &*self.agents.borrow() {
            let registration = Registration {
                version: agent.version,
                defaults: agent.defaults.clone(),
                agent: agent.code.agent(stage.clone()),
            };
            agents.insert(kind.clone(), registration);
        }
        let probe = async |_: crate::runtime::Context, _: Vec<Message>| Ok(Json::null());
        let probe = Registration {
            version: Version(1),
            defaults: crate::kernel::SpecDefaults::default(),
            agent: Rc::new(probe),
        };
        agents.insert(PROBE.into(), probe);
        let settings = Settings {
            capacity: self.scenario.runtime.capacity,
            max_lost_leases: self.scenario.runtime.max_lost_leases,
            ..Settings::default()
        };
        let machine = Rc::new(machine);
        let (agents, mut outside): (_, Rc<dyn Outside>) = (Rc::new(Agents(agents)), machine.clone());
        if !self.scenario.users.is_empty() {
            outside = Rc::new(Port::new(outside, machine.clone(), machine.clone()));
            machine.spawn(Planner::new(machine.clone(), machine.clone(), agents.clone()).run());
        }
        let worker = Worker::new(id, settings, machine.clone(), outside, machine, agents);
        let stopper = worker.stopper();
        Program { task: worker.run(), stop: Rc::new(move || stopper.stop()) }
    }

    fn input(&self, number: u32, machine: Machine) -> Task {
        let act = self.scenario.inputs[number as usize].does.clone();
        if let Act::Version { agent, version, code, defaults } = &act {
            let (version, code, defaults) = (*version, code.clone(), defaults.clone());
            let known = super::model::AgentType { version, code, defaults };
            self.agents.borrow_mut().insert(agent.clone(), known);
        }
        let workers = self.scenario.runtime.workers.clone();
        let stamp = Stamp { ts: machine.start() + self.scenario.inputs[number as usize].at, step: Step(number) };
        let users = self.scenario.users.clone();
        Box::pin(async move {
            match &act {
                Act::Configure { user } => desk::configure(&machine, user, &users[user]).await,
                Act::Desk { user, by, asks } => desk::ask(&machine, number, user, by, asks).await,
                _ => carry_out(act, stamp, machine, workers).await,
            }
        })
    }

    fn probe(&self, machine: Machine) -> Task {
        Box::pin(async move {
            let message = Message {
                id: "probe".into(),
                sender: PROBE.parse().expect("a type alone is an address"),
                data: Json::new(json!({ "probe": true })),
                correlation: None,
                reply_to: None,
            };
            deliver(&machine, PROBE.parse().expect("a type alone is an address"), message).await;
        })
    }
}

/// Delivers until an address takes it. One whose type no worker has registered yet is asked again, ever more
/// seldom: in pauses of 0.1 s doubling to 5 min.
async fn deliver(machine: &Machine, to: crate::kernel::AgentId, message: Message) {
    let client = client(machine);
    let mut pause = Span::from_millis(100);
    while client.deliver(to.clone(), message.clone()).await.is_err() {
        machine.sleep(pause).await;
        pause = pause.times(2).min(Span::from_secs(300));
    }
}

fn client(machine: &Machine) -> Client {
    let shared = Rc::new(machine.clone());
    Client::new(shared.clone(), shared)
}

/// The run of a name. That of an occurrence of a plan is known by its address, which ends in the occurrence's number.
fn run_of(alias: &Alias, machine: &Machine) -> RunId {
    let is_number = |n: &str| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit());
    match alias.agent.key().rsplit_once('#') {
        Some((_, n)) if is_number(n) && alias.nth == 1 => RunId::of_occurrence(&alias.agent),
        _ => machine.run_id(&alias.to_string()),
    }
}

/// Does what an input says. Of a subscription the time that is planned for the input counts, and of two inputs at one
/// instant their order, however late they arrive.
async fn carry_out(act: Act, stamp: Stamp, machine: Machine, workers: Vec<Name>) {
    match act {
        Act::Message { to, message } => deliver(&machine, to, message).await,
        Act::Signal { to, name, data, id } => {
            client(&machine).signal(run_of(&to, &machine), name, data, id).await;
        }
        Act::Cancel { run, reason } => client(&machine).cancel(run_of(&run, &machine), reason).await,
        Act::Redrive { agent, message } => {
            let client = client(&machine);
            let letters = client.dead_letters(agent.clone()).await;
            if let Some(letter) = letters.into_iter().rfind(|letter| letter.message.id == message) {
                client.redrive(agent, message, letter.arrival).await;
            }
        }
        Act::Resume { run } => client(&machine).resume(run_of(&run, &machine)).await,
        Act::Tail { run, cuts } => tail(&machine, run_of(&run, &machine), &cuts).await,
        Act::Follow { agent, topic, begins: true } => client(&machine).follow(agent, topic, stamp).await,
        Act::Follow { agent, topic, begins: false } => client(&machine).unfollow(agent, topic, stamp).await,
        Act::Stop { worker, restart } => machine.stop_worker(&worker, restart),
        Act::Configure { .. } | Act::Desk { .. } => unreachable!("it is the desk's client that does these"),
        // New code comes with new workers: each is stopped gracefully, and starts anew with it.
        Act::Version { .. } => {
            for worker in &workers {
                machine.stop_worker(worker, Span::from_secs(1));
            }
        }
    }
}

/// How long a reader of a log waits for the next entry.
const TAIL_WAIT: Span = Span::from_secs(30);

/// Reads a log to its end. At each cut the reader drops the call that it waits for, and goes on behind the last
/// entry that it saw.
async fn tail(machine: &Machine, run: RunId, cuts: &[Span]) {
    let mut from = Seq::FIRST;
    let mut cuts = cuts.iter().map(|cut| machine.start() + *cut).peekable();
    loop {
        let left = cuts.peek().map(|cut| cut.since(machine.now()));
        let entries = match left {
            Some(left) => {
                let (mut next, mut cut) = (Box::pin(machine.tail(run, from, TAIL_WAIT)), machine.sleep(left));
                poll_fn(|context| match cut.as_mut().poll(context) {
                    Poll::Ready(()) => Poll::Ready(None),
                    Poll::Pending => next.as_mut().poll(context).map(Some),
                })
                .await
            }
            None => Some(machine.tail(run, from, TAIL_WAIT).await),
        };
        match entries {
            None => _ = cuts.next(),
            Some(Err(_)) => machine.sleep(Span::from_millis(100)).await,
            Some(Ok(entries)) => {
                from = entries.last().map_or(from, |entry| entry.seq.next());
                if entries.iter().any(|entry| entry.body.ending().is_some()) {
                    return;
                }
            }
        }
    }
}
