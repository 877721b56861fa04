//! Calls, in the few words that the checks need of them.

use std::sync::Arc;

use super::{AgentAt, EffectAt, Facts, MailAt, Party, RunAt, TopicAt};
use crate::history::{Asked, CallNo};
use crate::kernel::{
    Arrival, Attempt, Body, ClaimWait, Disposition, EffectResult, Json, Name, Release, Request, RunStatus, Seq, Span,
    Spend, Stamp, Step, Subscription, Timestamp, Wakeup,
};

/// A call that was made.
pub struct Call {
    /// By whom.
    pub from: Party,
    /// When.
    pub sent: Timestamp,
    /// How often it was applied.
    pub applied: u32,
    /// Whether its caller has an outcome.
    pub returned: bool,
    /// For what.
    pub what: What,
}

/// How a lease is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    Suspended,
    Halted,
    GivenBack,
    Ended(RunStatus),
}

/// What becomes of a nacked message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Again,
    Dead,
    Ceiling,
}

/// What a call asks for, its things by place.
pub enum What {
    /// Nothing that a check looks at; also a call whose sending was never seen.
    Other,
    Append {
        run: RunAt,
        body: Arc<Body>,
        expected: Seq,
    },
    Read {
        run: RunAt,
        from: Seq,
    },
    Tail {
        run: RunAt,
        from: Seq,
    },
    LastSeq {
        run: RunAt,
    },
    Lookup {
        effect: EffectAt,
    },
    Record {
        effect: EffectAt,
        result: EffectResult,
    },
    Perform {
        run: RunAt,
        step: Step,
        effect: EffectAt,
    },
    Deliver {
        to: AgentAt,
        mail: MailAt,
        notify: bool,
    },
    Drain {
        agent: AgentAt,
        run: RunAt,
        after: Option<Arrival>,
    },
    Ack {
        mail: MailAt,
        run: RunAt,
    },
    Nack {
        mail: MailAt,
        run: RunAt,
        failure: u32,
        fate: Fate,
    },
    Redrive {
        mail: MailAt,
        arrival: Arrival,
    },
    DeadLetters {
        agent: AgentAt,
    },
    Register {
        kind: Name,
    },
    Create {
        run: RunAt,
        agent: AgentAt,
        boot: Option<MailAt>,
        parent: Option<RunAt>,
    },
    /// By the holder of the parent `run`.
    Reserve {
        run: RunAt,
        attempt: Attempt,
        step: Step,
        agent: AgentAt,
    },
    ReturnUnit {
        run: RunAt,
    },
    Detach {
        run: RunAt,
    },
    Follow {
        topic: TopicAt,
        agent: AgentAt,
        stamp: Stamp,
        follows: bool,
    },
    FollowersOf {
        topic: TopicAt,
    },
    Following {
        agent: AgentAt,
    },
    Spend {
        run: RunAt,
        effect: EffectAt,
        amounts: Spend,
    },
    Totals {
        run: RunAt,
    },
    Cancel {
        run: RunAt,
    },
    Resume {
        run: RunAt,
    },
    Lease {
        capacity: u32,
        wait: Span,
    },
    Heartbeat {
        run: RunAt,
        attempt: Attempt,
    },
    Release {
        run: RunAt,
        attempt: Attempt,
        how: How,
    },
    Status {
        run: RunAt,
    },
    Queue,
    Signal {
        run: RunAt,
        name: Name,
        id: Name,
        payload: Json,
    },
    Claim {
        run: RunAt,
        step: Step,
        wait: ClaimWait,
    },
    Timer {
        run: RunAt,
    },
    Wake {
        run: RunAt,
        /// The child whose end it tells.
        child: Option<RunAt>,
    },
}

impl What {
    /// In short, from what was asked.
    pub fn of(facts: &mut Facts, asked: &Asked) -> What {
        let request = match asked {
            Asked::Store(request) => request,
            Asked::Outside(perform) => {
                let run = facts.run_at(perform.run);
                return What::Perform { run, step: perform.step, effect: facts.effect_at(perform.effect.id) };
            }
        };
        match request {
            Request::Append { run, body, expected } => {
                What::Append { run: facts.run_at(*run), body: Arc::clone(body), expected: *expected }
            }
            Request::Read { run, from } => What::Read { run: facts.run_at(*run), from: *from },
            Request::Tail { run, from, .. } => What::Tail { run: facts.run_at(*run), from: *from },
            Request::LastSeq { run } => What::LastSeq { run: facts.run_at(*run) },
            Request::Lookup { effect } => What::Lookup { effect: facts.effect_at(*effect) },
            Request::Record { result } => {
                What::Record { effect: facts.effect_at(result.effect_id), result: result.clone() }
            }
            Request::Lease { capacity, wait, .. } => What::Lease { capacity: *capacity, wait: *wait },
            Request::Heartbeat { lease } => What::Heartbeat { run: facts.run_at(lease.run), attempt: lease.attempt },
            Request::Release { lease, how } => {
                let how = match how {
                    Release::Suspended(_) => How::Suspended,
                    Release::Halted => How::Halted,
                    Release::Pending => How::GivenBack,
                    Release::Ended(status) => How::Ended(*status),
                };
                What::Release { run: facts.run_at(lease.run), attempt: lease.attempt, how }
            }
            Request::Register { kind, .. } => What::Register { kind: Arc::clone(kind) },
            Request::Cancel { run, .. } => What::Cancel { run: facts.run_at(*run) },
            Request::Resume { run } => What::Resume { run: facts.run_at(*run) },
            Request::Status { run } => What::Status { run: facts.run_at(*run) },
            Request::Pending => What::Queue,
            Request::Signal { run, name, payload, id } => {
                let (name, id, payload) = (Arc::clone(name), Arc::clone(id), payload.clone());
                What::Signal { run: facts.run_at(*run), name, id, payload }
            }
            Request::Claim { run, step, wait } => {
                What::Claim { run: facts.run_at(*run), step: *step, wait: wait.clone() }
            }
            Request::Timer { run, .. } => What::Timer { run: facts.run_at(*run) },
            Request::Wake { run, wakeup } => {
                let child = match wakeup {
                    Wakeup::ChildDone { child_run, .. } => Some(facts.run_at(*child_run)),
                    _ => None,
                };
                What::Wake { run: facts.run_at(*run), child }
            }
            request => What::of_mail(facts, request),
        }
    }

    fn of_mail(facts: &mut Facts, request: &Request) -> What {
        match request {
            Request::Deliver { to, message, notify } => {
                let to = facts.agent_at(to);
                let mail = facts.mail_at(to, &message.id);
                facts.letter(mail, message);
                What::Deliver { to, mail, notify: *notify }
            }
            Request::Create { spec, boot } => {
                let (run, agent) = (facts.run_at(spec.run), facts.agent_at(&spec.agent));
                let boot = boot.as_ref().map(|message| {
                    let mail = facts.mail_at(agent, &message.id);
                    facts.letter(mail, message);
                    mail
                });
                let parent = spec.parent.map(|parent| facts.run_at(parent));
                What::Create { run, agent, boot, parent }
            }
            Request::Drain { agent, run, after, .. } => {
                What::Drain { agent: facts.agent_at(agent), run: facts.run_at(*run), after: *after }
            }
            Request::Ack { agent, message, run } => {
                let agent = facts.agent_at(agent);
                What::Ack { mail: facts.mail_at(agent, message), run: facts.run_at(*run) }
            }
            Request::Nack { agent, message, run, failure, disposition } => {
                let agent = facts.agent_at(agent);
                let fate = match disposition {
                    Disposition::Again(_) => Fate::Again,
                    Disposition::Dead(_) => Fate::Dead,
                    Disposition::Ceiling(_) => Fate::Ceiling,
                };
                let (mail, run) = (facts.mail_at(agent, message), facts.run_at(*run));
                What::Nack { mail, run, failure: *failure, fate }
            }
            Request::Redrive { agent, message, arrival } => {
                let agent = facts.agent_at(agent);
                What::Redrive { mail: facts.mail_at(agent, message), arrival: *arrival }
            }
            Request::DeadLetters { agent } => What::DeadLetters { agent: facts.agent_at(agent) },
            request => What::of_trees(facts, request),
        }
    }

    fn of_trees(facts: &mut Facts, request: &Request) -> What {
        match request {
            Request::Reserve { lease, step, agent } => What::Reserve {
                run: facts.run_at(lease.run),
                attempt: lease.attempt,
                step: *step,
                agent: facts.agent_at(agent),
            },
            Request::ReturnUnit { run } => What::ReturnUnit { run: facts.run_at(*run) },
            Request::Detach { run } => What::Detach { run: facts.run_at(*run) },
            Request::Follow { subscription, stamp } => What::follow(facts, subscription, *stamp, true),
            Request::Unfollow { subscription, stamp } => What::follow(facts, subscription, *stamp, false),
            Request::FollowersOf { topic } => What::FollowersOf { topic: facts.topic_at(topic) },
            Request::Following { agent } => What::Following { agent: facts.agent_at(agent) },
            Request::Spend { run, key, amounts } => {
                What::Spend { run: facts.run_at(*run), effect: facts.effect_at(*key), amounts: *amounts }
            }
            Request::Totals { run } => What::Totals { run: facts.run_at(*run) },
            _ => What::Other,
        }
    }

    fn follow(facts: &mut Facts, subscription: &Subscription, stamp: Stamp, follows: bool) -> What {
        let (topic, agent) = (facts.topic_at(&subscription.topic), facts.agent_at(&subscription.follower));
        What::Follow { topic, agent, stamp, follows }
    }

    /// The run that the call is about.
    pub const fn run(&self) -> Option<RunAt> {
        match self {
            What::Append { run, .. }
            | What::Read { run, .. }
            | What::Tail { run, .. }
            | What::LastSeq { run }
            | What::Perform { run, .. }
            | What::Drain { run, .. }
            | What::Ack { run, .. }
            | What::Nack { run, .. }
            | What::Create { run, .. }
            | What::Cancel { run }
            | What::Resume { run }
            | What::Heartbeat { run, .. }
            | What::Release { run, .. }
            | What::Status { run }
            | What::Signal { run, .. }
            | What::Claim { run, .. }
            | What::Timer { run }
            | What::Reserve { run, .. }
            | What::ReturnUnit { run }
            | What::Detach { run }
            | What::Spend { run, .. }
            | What::Totals { run }
            | What::Wake { run, .. } => Some(*run),
            _ => None,
        }
    }

    /// The run that the call is made for, where only its holder makes such calls.
    pub fn held(&self) -> Option<RunAt> {
        match self {
            What::Append { run, body, .. } if !super::is_foreign(body) => Some(*run),
            What::Perform { run, .. }
            | What::Drain { run, .. }
            | What::Ack { run, .. }
            | What::Nack { run, .. }
            | What::Heartbeat { run, .. }
            | What::Release { run, .. }
            | What::Claim { run, .. }
            | What::Timer { run }
            | What::Reserve { run, .. }
            | What::ReturnUnit { run }
            | What::Spend { run, .. }
            | What::Totals { run } => Some(*run),
            _ => None,
        }
    }
}

/// The calls of a history by number. Old ones are forgotten, so that a long world does not grow for ever.
#[derive(Default)]
pub struct Calls {
    first: Option<u32>,
    calls: Vec<Call>,
}

/// So many calls are kept at least.
const KEPT: usize = 1 << 16;

impl Calls {
    /// Notes a call.
    pub fn note(&mut self, number: CallNo, call: Call) {
        let first = *self.first.get_or_insert(number.0);
        let Some(place) = number.0.checked_sub(first).map(|place| place as usize) else { return };
        if self.calls.len() >= 2 * KEPT {
            self.calls.drain(..KEPT);
            self.first = Some(first + KEPT as u32);
            return self.note(number, call);
        }
        // No world leaves numbers out; a history from elsewhere may.
        if place > self.calls.len() + KEPT {
            self.calls.clear();
            self.first = Some(number.0);
            return self.note(number, call);
        }
        while self.calls.len() <= place {
            let (from, sent) = (Party::Probe, call.sent);
            self.calls.push(Call { from, sent, applied: 0, returned: false, what: What::Other });
        }
        self.calls[place] = call;
    }

    /// The call of this number; `None` for one that is forgotten or was never sent.
    pub fn get_mut(&mut self, number: CallNo) -> Option<&mut Call> {
        let place = number.0.checked_sub(self.first?)?;
        self.calls.get_mut(place as usize)
    }

    /// Whether a call of this number was noted and is forgotten.
    pub fn forgot(&self, number: CallNo) -> bool {
        self.first.is_some_and(|first| number.0 < first)
    }

    /// Forgets everything but the memory.
    pub fn clear(&mut self) {
        self.first = None;
        self.calls.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_left_out_take_no_memory() {
        let call = || Call {
            from: Party::Probe,
            sent: Timestamp::from_micros(0),
            applied: 0,
            returned: false,
            what: What::Other,
        };
        let mut calls = Calls::default();
        calls.note(CallNo(0), call());
        calls.note(CallNo(10_000_000), call());
        assert_eq!(calls.calls.len(), 1);
        assert!(calls.forgot(CallNo(0)) && calls.get_mut(CallNo(10_000_000)).is_some());
    }
}
