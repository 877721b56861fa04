//! Sites: every place at which a schedule may deviate, named by who, what about, which call, which try.
//!
//! Inside, a site is four integers that come from the scenario alone, never from seed, clock or schedule; its
//! words are made only for people.

use std::collections::BTreeMap;

use super::faults::{FaultKind, Tool};
use crate::history::{About, Asked, Called};
use crate::kernel::{
    AgentId, Attempt, Body, EffectId, MessageId, Name, Perform, Release, Request, RunId, RunIds, Stamp, Step,
    Subscription, Timestamp, TraceBody,
};

/// A site as four integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Site {
    /// Who: a run's lease, a worker, an input.
    pub who: u64,
    /// Which call, and of an append which kind of entry.
    pub call: u32,
    /// What about: a step, a message, a beat.
    pub subject: u64,
    /// Which try, from 0.
    pub nth: u32,
}

/// A site as one number: equal sites give equal keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteKey(pub(super) u64);

impl SiteKey {
    /// A key for tests that play no world.
    #[cfg(test)]
    pub(crate) fn for_test(name: &str) -> SiteKey {
        SiteKey(text_number(name))
    }
}

impl Site {
    /// The site as one number.
    pub fn key(&self) -> SiteKey {
        SiteKey(mix(mix(self.who, u64::from(self.call)), mix(self.subject, u64::from(self.nth))))
    }
}

/// A keyed 64-bit mix: every bit of both words reaches every bit of the result.
pub(super) fn mix(left: u64, right: u64) -> u64 {
    let mut word = left.rotate_left(32) ^ right.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// A text as a number (FNV-1a).
pub(super) fn text_number(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// What sort of place a site is; it says which kinds of fault can strike there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// A worker's call to the store.
    Store,
    /// A grant of runs to a worker.
    Grant,
    /// A worker's call to the outside; whether the tool honours keys.
    Outside { honours_key: bool },
    /// A worker's call to a model.
    Model,
    /// A client's call to the store.
    Client,
    /// How long a grant or a renewal runs.
    Term,
    /// A timer that is armed.
    Timer,
    /// A worker's clock, throughout.
    Clock,
    /// A worker's speed, throughout.
    Speed,
}

impl Class {
    /// The kinds of fault that can strike at such a site.
    pub fn kinds(self) -> &'static [FaultKind] {
        use FaultKind::*;
        match self {
            Class::Store => &[
                Crash,
                Pause,
                Partition,
                LostRequest,
                LostReply,
                StoreError,
                Outage,
                StoreRestart,
                Duplicate,
                Delay,
                ClockStep,
                Stop,
                Hold,
            ],
            Class::Grant => &[Crash, Pause, Partition, LostReply, Delay, ClockStep, Stop],
            Class::Term => &[ShortLease],
            Class::Outside { honours_key: false } => &[
                Crash,
                Pause,
                Partition,
                LostRequest,
                LostReply,
                ClockStep,
                Stop,
                ToolSlow,
                ToolRefuses,
                ToolUnknown,
                Hold,
            ],
            Class::Outside { honours_key: true } => &[
                Crash,
                Pause,
                Partition,
                LostRequest,
                LostReply,
                ClockStep,
                Stop,
                ToolSlow,
                ToolRefuses,
                ToolUnknown,
                Duplicate,
                Hold,
            ],
            Class::Model => &[
                Crash,
                Pause,
                Partition,
                LostRequest,
                LostReply,
                ClockStep,
                Stop,
                ToolSlow,
                ToolRefuses,
                ToolUnknown,
                Hold,
                ToolMalformed,
            ],
            Class::Client => &[LostRequest, LostReply, StoreError, Outage, StoreRestart, Duplicate, Delay, Hold],
            Class::Timer => &[TimerJitter],
            Class::Clock => &[ClockSkew],
            Class::Speed => &[Slow],
        }
    }
}

/// The kinds of fault that can strike at a call, or at what is no call: made by a worker or by a client; a request to the
/// outside goes to `tool`.
pub fn kinds_at(called: Called, by_worker: bool, tool: &Tool) -> &'static [FaultKind] {
    let class = match called {
        Called::Lease => Class::Grant,
        Called::Term => Class::Term,
        Called::Armed => Class::Timer,
        Called::Clock => Class::Clock,
        Called::Speed => Class::Speed,
        Called::Perform => Class::of_tool(tool),
        _ if by_worker => Class::Store,
        _ => Class::Client,
    };
    class.kinds()
}

impl Class {
    /// That of a worker's call to a tool.
    pub fn of_tool(tool: &Tool) -> Class {
        if tool.model.is_some() { Class::Model } else { Class::Outside { honours_key: tool.honours_key } }
    }

    /// The number of what is no request, as part of a site.
    pub fn number(self) -> u32 {
        match self {
            Class::Grant => call::GRANT,
            Class::Timer => call::TIMER,
            Class::Clock => call::CLOCK,
            Class::Speed => call::SPEED,
            Class::Term => call::TERM,
            Class::Store | Class::Outside { .. } | Class::Model | Class::Client => {
                unreachable!("its request has a number")
            }
        }
    }
}

/// Which calls there are, as part of a site: the methods, then what is no method.
pub(super) mod call {
    pub const PERFORM: u32 = 1;
    pub const GRANT: u32 = 2;
    pub const TIMER: u32 = 3;
    pub const CLOCK: u32 = 4;
    pub const SPEED: u32 = 5;
    pub const TERM: u32 = 6;
}

/// Names of runs: `billing#1` is that address's first run. Ids follow from scenario and alias alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Aliases {
    scenario: u64,
    start_ms: u64,
    names: BTreeMap<RunId, Name>,
}

impl Aliases {
    pub fn new(scenario: &str, start: Timestamp) -> Self {
        let start_ms = u64::try_from(start.as_micros() / 1_000).unwrap_or(0);
        let names = BTreeMap::from([(RunId::of_users(), "the users".into())]);
        Aliases { scenario: text_number(scenario), start_ms, names }
    }

    /// The id that belongs to an alias.
    pub fn id_of(&self, alias: &str) -> RunId {
        let (_, nth) = alias.rsplit_once('#').unwrap_or((alias, "0"));
        let nth: u64 = nth.parse().unwrap_or(0);
        let name = mix(self.scenario, text_number(alias));
        let rest = (u128::from(mix(name, 1)) << 64) | u128::from(mix(name, 2));
        RunId::from_parts(self.start_ms + nth, rest)
    }

    /// The alias of a run, or its id when it has none.
    pub fn name_of(&self, run: RunId) -> Name {
        self.names.get(&run).cloned().unwrap_or_else(|| run.to_string().into())
    }

    /// The address of a run, as far as its name tells.
    pub fn address_of(&self, run: RunId) -> Name {
        let name = self.name_of(run);
        name.rsplit_once('#').map_or_else(|| name.clone(), |(address, _)| address.into())
    }

    /// Every run that was named, and its name.
    pub fn names(&self) -> BTreeMap<RunId, Name> {
        self.names.clone()
    }

    /// An address with the run that spawned it, if one did, by its alias.
    fn agent(&self, agent: &AgentId) -> String {
        agent.told(|run| self.name_of(run).to_string())
    }

    /// A message's id with the run in it, if there is one, by its alias.
    fn message(&self, id: &MessageId) -> String {
        if let Some(answered) = id.strip_prefix("reply:") {
            return format!("reply:{}", self.message(&answered.into()));
        }
        match id.split_once('.').and_then(|(run, rest)| Some((run.parse::<RunId>().ok()?, rest))) {
            Some((run, rest)) => format!("{}.{rest}", self.name_of(run)),
            None => id.to_string(),
        }
    }
}

/// The id of the run that `alias`, as `billing#1`, names in every world of a scenario that starts at `start`.
pub fn run_id(scenario: &str, start: Timestamp, alias: &str) -> RunId {
    Aliases::new(scenario, start).id_of(alias)
}

impl Aliases {
    /// Learns from an entry what streams and runs are called that have no alias of their own. It is sent before anybody else
    /// names them, so that a site has one name.
    pub fn learn(&mut self, body: &Body) {
        let Body::Trace(trace) = body else { return };
        let (run, name) = match &**trace {
            TraceBody::UserKnown { user } => (RunId::of_traces(user), format!("the traces of {user}")),
            TraceBody::PlanDispatched { run, agent, .. } => (*run, format!("{agent}#1")),
            _ => return,
        };
        self.names.entry(run).or_insert_with(|| name.into());
    }

    /// The id that belongs to an alias, which from now on names it in words, whether the run is there or not.
    pub fn register(&mut self, alias: &str) -> RunId {
        let run = self.id_of(alias);
        self.names.entry(run).or_insert_with(|| alias.into());
        run
    }
}

impl RunIds for Aliases {
    fn mint(&mut self, agent: &AgentId, nth: u32) -> RunId {
        let alias = format!("{}#{nth}", self.agent(agent));
        self.register(&alias)
    }
}

/// Who makes a call, as far as a site's name is concerned.
#[derive(Clone, Copy, Debug)]
pub(super) enum Who {
    /// A worker in the name of a run that was granted to it.
    Lease(RunId, Attempt),
    /// A run, whoever holds it.
    Run(RunId),
    /// A worker in its own name.
    Worker(usize),
    /// An input's client.
    Input(u32),
    /// The probe.
    Probe,
}

impl Who {
    fn number(self) -> u64 {
        match self {
            Who::Lease(run, attempt) => mix(run.as_u128() as u64, u64::from(attempt.0)),
            Who::Run(run) => mix(run.as_u128() as u64, 0x72),
            Who::Worker(worker) => mix(0x77, worker as u64),
            Who::Input(input) => mix(0x69, u64::from(input)),
            Who::Probe => 0x70,
        }
    }
}

/// The run under whose lease a worker makes a request, as far as the request tells: not one that it creates, wakes or
/// asks about.
pub(super) fn run_of(request: &Request) -> Option<RunId> {
    match request {
        Request::Append { body, run, .. } => match &**body {
            Body::ChildCompleted { result, .. } => Some(result.run_id),
            Body::Trace(trace) => match **trace {
                TraceBody::MemoryCommitted { run, .. } => Some(run),
                _ => Some(*run),
            },
            _ => Some(*run),
        },
        Request::Read { run, .. }
        | Request::LastSeq { run }
        | Request::Drain { run, .. }
        | Request::Ack { run, .. }
        | Request::Nack { run, .. }
        | Request::Claim { run, .. }
        | Request::ReturnUnit { run }
        | Request::Spend { run, .. }
        | Request::Totals { run }
        | Request::Timer { run, .. } => Some(*run),
        Request::Heartbeat { lease } | Request::Release { lease, .. } | Request::Reserve { lease, .. } => {
            Some(lease.run)
        }
        _ => None,
    }
}

/// What a request is about, as a number, and its call.
pub(super) fn subject(request: &Request, step_of: impl Fn(EffectId) -> Option<Step>) -> (u32, u64) {
    let effect = |id: EffectId| step_of(id).map_or(id.0, |step| u64::from(step.0));
    let (method, subject) = match request {
        Request::Append { body, .. } => {
            if let Body::Trace(trace) = &**body {
                return (100 + text_number(trace.kind()) as u32 % 1_000_000, text_number(&trace.subject()));
            }
            let about = body.step().map_or(0, |step| u64::from(step.0) + 1);
            return (100 + text_number(body.kind()) as u32 % 1_000_000, about);
        }
        Request::Lookup { effect: id } => (11, effect(*id)),
        Request::Record { result } => (12, effect(result.effect_id)),
        Request::Read { .. } => (13, 0),
        Request::Tail { from, .. } => (14, from.get() as u64),
        Request::LastSeq { .. } => (15, 0),
        Request::Deliver { to, message, .. } => (16, mix(text_number(to.as_str()), text_number(&message.id))),
        Request::Drain { after, .. } => (17, after.map_or(0, |after| after.0 + 1)),
        Request::PendingCount { agent } => (18, text_number(agent.as_str())),
        Request::DeadLetters { agent } => (19, text_number(agent.as_str())),
        Request::Ack { message, .. } => (20, text_number(message)),
        Request::Nack { message, failure, .. } => (21, mix(text_number(message), u64::from(*failure))),
        Request::Redrive { agent, message, .. } => (22, mix(text_number(agent.as_str()), text_number(message))),
        Request::Receiver { agent, message } => (23, mix(text_number(agent.as_str()), text_number(message))),
        Request::Register { kind, .. } => (24, text_number(kind)),
        Request::Create { spec, .. } => (25, spec.run.as_u128() as u64),
        Request::Spec { run } => (26, run.as_u128() as u64),
        Request::Wake { run, .. } => (27, run.as_u128() as u64),
        Request::Resume { run } => (28, run.as_u128() as u64),
        Request::Cancel { run, .. } => (29, run.as_u128() as u64),
        Request::Lease { .. } => (call::GRANT, 0),
        Request::Heartbeat { .. } => (31, 0),
        Request::Release { how, .. } => (32, release_number(how)),
        Request::Status { run } => (33, run.as_u128() as u64),
        Request::RunOf { agent } => (34, text_number(agent.as_str())),
        Request::Pending => (35, 0),
        Request::Clock => (50, 0),
        Request::Signal { run, id, .. } => (36, mix(run.as_u128() as u64, text_number(id))),
        Request::Timer { step, .. } => (37, u64::from(step.0)),
        Request::Claim { step, .. } => (38, u64::from(step.0)),
        Request::Reserve { step, .. } => (41, u64::from(step.0)),
        Request::ReturnUnit { run } => (42, run.as_u128() as u64),
        Request::Detach { run } => (43, run.as_u128() as u64),
        Request::Follow { subscription, stamp } => (44, subscription_number(subscription, stamp)),
        Request::Unfollow { subscription, stamp } => (45, subscription_number(subscription, stamp)),
        Request::FollowersOf { topic } => (46, text_number(topic.as_str())),
        Request::Following { agent } => (47, text_number(agent.as_str())),
        Request::Spend { key, .. } => (48, effect(*key)),
        Request::Totals { run } => (49, run.as_u128() as u64),
        Request::Put { bytes } => (39, bytes.len() as u64),
        Request::Get { artifact } => (40, text_number(&artifact.0)),
    };
    (method, subject)
}

fn subscription_number(subscription: &Subscription, stamp: &Stamp) -> u64 {
    let who = mix(text_number(subscription.follower.as_str()), text_number(subscription.topic.as_str()));
    mix(who, u64::from(stamp.step.0))
}

fn release_number(how: &Release) -> u64 {
    match how {
        Release::Suspended(_) => 0,
        Release::Halted => 1,
        Release::Pending => 2,
        Release::Ended(_) => 3,
    }
}

/// A site's name: who, what about, which call, which try.
pub(super) struct Words<'a> {
    pub aliases: &'a Aliases,
    pub workers: &'a [Name],
    /// Run, step and kind of the effects whose intents have passed.
    pub effects: &'a BTreeMap<EffectId, (RunId, Step, Name)>,
}

impl Words<'_> {
    fn who(&self, who: Who) -> String {
        match who {
            Who::Lease(run, attempt) => format!("{} / lease {attempt}", self.aliases.name_of(run)),
            Who::Run(run) => self.aliases.name_of(run).to_string(),
            Who::Worker(worker) => self.workers[worker].to_string(),
            Who::Input(input) => format!("input {input}"),
            Who::Probe => "probe".to_owned(),
        }
    }

    fn effect(&self, id: EffectId) -> String {
        self.effects.get(&id).map_or_else(|| id.to_string(), |(_, step, kind)| format!("{kind} step {step}"))
    }

    fn trace(&self, trace: &TraceBody) -> String {
        let about = match trace {
            TraceBody::MemoryCommitted { .. } => String::new(),
            trace => trace.subject(),
        };
        format!("append {} {about}", trace.kind()).trim_end().to_owned()
    }

    fn request(&self, request: &Request) -> String {
        let run = |run: &RunId| self.aliases.name_of(*run);
        match request {
            Request::Append { body, .. } => match body.step() {
                Some(step) => format!("append {} step {step}", body.kind()),
                None => match &**body {
                    Body::Trace(trace) => self.trace(trace),
                    body => format!("append {}", body.kind()),
                },
            },
            Request::Lookup { effect } => format!("lookup {}", self.effect(*effect)),
            Request::Record { result } => format!("record {}", self.effect(result.effect_id)),
            Request::Deliver { to, message, .. } => {
                format!("deliver {} to {}", self.aliases.message(&message.id), self.aliases.agent(to))
            }
            Request::Drain { after: Some(after), .. } => format!("drain after {after}"),
            Request::Ack { message, .. } => format!("ack {}", self.aliases.message(message)),
            Request::Nack { message, failure, .. } => {
                format!("nack {} failure {failure}", self.aliases.message(message))
            }
            Request::Redrive { agent, message, .. } => format!("redrive {message} at {agent}"),
            Request::Receiver { agent, message } => format!("receiver of {message} at {agent}"),
            Request::Register { kind, .. } => format!("register {kind}"),
            Request::Create { spec, .. } => format!("create {}", run(&spec.run)),
            Request::Wake { run: target, .. } => format!("wake {}", run(target)),
            Request::Resume { run: target } => format!("resume {}", run(target)),
            Request::Cancel { run: target, .. } => format!("cancel {}", run(target)),
            Request::Reserve { agent, step, .. } => format!("reserve {} step {step}", self.aliases.agent(agent)),
            Request::Detach { run: target } => format!("detach {}", run(target)),
            Request::Follow { subscription, stamp } | Request::Unfollow { subscription, stamp } => {
                let Subscription { follower, topic } = subscription;
                let follower = self.aliases.agent(follower);
                format!("{} {topic} for {follower} step {}", request.method(), stamp.step)
            }
            Request::FollowersOf { topic } => format!("followers_of {topic}"),
            Request::Spend { key, .. } => format!("spend {}", self.effect(*key)),
            Request::Spec { run: target } => format!("spec {}", run(target)),
            Request::Status { run: target } => format!("status {}", run(target)),
            Request::RunOf { agent } => format!("run_of {}", self.aliases.agent(agent)),
            Request::Following { agent } => format!("following {}", self.aliases.agent(agent)),
            Request::PendingCount { agent } => format!("pending_count {}", self.aliases.agent(agent)),
            Request::DeadLetters { agent } => format!("dead_letters {}", self.aliases.agent(agent)),
            Request::Release { how, .. } => match how {
                Release::Suspended(_) => "release suspended".to_owned(),
                Release::Halted => "release halted".to_owned(),
                Release::Pending => "release given back".to_owned(),
                Release::Ended(status) => format!("release {}", status.as_str()),
            },
            Request::Signal { run: target, id, .. } => {
                format!("signal {} to {}", self.aliases.message(id), run(target))
            }
            Request::Timer { step, .. } => format!("timer step {step}"),
            Request::Claim { step, .. } => format!("claim step {step}"),
            Request::Tail { from, .. } => format!("tail from {from}"),
            other => other.method().to_owned(),
        }
    }

    /// The name of a call to the store.
    pub fn store(&self, who: Who, request: &Request, nth: u32) -> Name {
        let what = self.request(request);
        // Who reads on in a log holds no run.
        let about = match request {
            Request::Tail { run, .. } => Some(*run),
            request => run_of(request),
        };
        let what = match (who, about) {
            // Of a run that the worker does not hold.
            (Who::Worker(_), Some(run)) => format!("{what} of {}", self.aliases.name_of(run)),
            _ => what,
        };
        format!("{} / {what} / try {}", self.who(who), nth + 1).into()
    }

    /// The name of a call to the outside.
    pub fn outside(&self, who: Who, perform: &Perform, nth: u32) -> Name {
        let what = &perform.effect.kind;
        format!("{} / perform {what} step {} / try {}", self.who(who), perform.step, nth + 1).into()
    }

    /// The name of a call.
    pub fn call(&self, who: Who, asked: &Asked, nth: u32) -> Name {
        match asked {
            Asked::Store(request) => self.store(who, request, nth),
            Asked::Outside(perform) => self.outside(who, perform, nth),
        }
    }

    /// The address that a call is about, whether as its run, its mailbox or its signals.
    pub fn address(&self, about: About<'_>) -> Option<Name> {
        match about {
            About::Run(run) => Some(self.aliases.address_of(run)),
            About::Mailbox(agent) => Some(agent.as_str().into()),
            About::Topic(topic) => Some(format!("topic {topic}").into()),
            About::Neither => None,
        }
    }

    /// The name of what is no call.
    pub fn other(&self, who: Who, what: &str, nth: u32) -> Name {
        match nth {
            0 => format!("{} / {what}", self.who(who)).into(),
            _ => format!("{} / {what} / try {}", self.who(who), nth + 1).into(),
        }
    }
}

/// Counts the tries of a subject.
#[derive(Clone, Debug, Default)]
pub(super) struct Tries(BTreeMap<u64, u32>);

impl Tries {
    /// The site of the next try.
    pub fn next(&mut self, who: Who, call: u32, subject: u64) -> Site {
        let who = who.number();
        let count = self.0.entry(mix(mix(who, u64::from(call)), subject)).or_insert(0);
        let nth = *count;
        *count += 1;
        Site { who, call, subject, nth }
    }
}
