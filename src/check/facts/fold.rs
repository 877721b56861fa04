//! How events change what is known.

use std::sync::Arc;

use serde_json::Value;

use super::{AgentAt, EffectAt, Entry, Facts, Grant, Holder, How, Life, MailAt, Party, RunAt, What, WorkerAt};
use crate::history::Change;
use crate::kernel::{
    Arrival, Attempt, Body, CallKind, Claimed, EffectResult, Json, Lease, Message, Name, Opening, Received, RunId,
    RunStatus, Seq, Signalled, Step, Term, Timestamp, Wait,
};

impl Facts {
    /// An entry stands in a log.
    pub fn accept(&mut self, run: RunAt, seq: Seq, ts: Timestamp, body: &Arc<Body>, from: Option<Party>) {
        let entry = Entry { ts, body: Arc::clone(body), from };
        if !self.runs[run].log.put(seq, entry) {
            return;
        }
        self.runs[run].log.fold(ts, body, from);
        match &**body {
            Body::MsgReceived { messages, .. } => self.received(run, messages),
            Body::ToolCalled { opening, effect, policy } => {
                let effect = self.effect_at(effect.id);
                let log = &mut self.runs[run].log;
                let fact = &mut self.effects[effect];
                fact.intent = fact.intent.or(Some((run, opening.step)));
                fact.policy = Some(*policy);
                fact.begun_in = log.lease.map(|lease| lease.attempt);
                if let Some(mark) = log.steps.get_mut(opening.step.0 as usize) {
                    mark.effect = mark.effect.or(Some(effect));
                }
                log.open.push(effect);
            }
            Body::ToolResult { result, .. } => {
                let effect = self.effect_at(result.effect_id);
                self.runs[run].log.open.retain(|open| *open != effect);
                self.recorded(effect, result);
            }
            Body::MessageSent { opening, to, message } => {
                let to = self.agent_at(to);
                let mail = self.mail_at(to, &message.id);
                self.sender_of(mail, &message.sender);
                self.mails[mail].announced = Some((run, opening.step));
            }
            Body::TopicPublished { message, .. } | Body::AskSent { message, .. } => self.publish(message),
            Body::ChildSpawned { boot, .. } => self.publish(boot),
            Body::StepValue { opening, value } => self.announce_signal(run, opening, value),
            Body::Ended(_) => {
                for (mail, _) in &self.runs[run].log.received {
                    let mail = &mut self.mails[*mail];
                    mail.ended_by = mail.ended_by.or(Some(run));
                }
            }
            _ => {}
        }
    }

    fn received(&mut self, run: RunAt, messages: &[Received]) {
        let Some(agent) = self.runs[run].agent else { return };
        for Received { message, arrival } in messages {
            let mail = self.mail_at(agent, &message.id);
            self.runs[run].log.received.push((mail, *arrival));
        }
    }

    fn publish(&mut self, message: &Message) {
        self.published.push(Arc::clone(&message.id));
    }

    /// The value of the step is `{"run", "name", "payload", "id"}` unless it is a refusal.
    fn announce_signal(&mut self, run: RunAt, opening: &Opening, value: &Json) {
        if opening.call != CallKind::Signal {
            return;
        }
        let text = |member: &str| value.get(member).and_then(Value::as_str);
        let Some(target) = text("run").and_then(|id| id.parse::<RunId>().ok()) else { return };
        let Some(id) = text("id") else { return };
        let target = self.run_at(target);
        self.runs[target].signal_mut(&Name::from(id)).announced = Some(run);
    }

    /// A run is leased.
    pub fn grant(&mut self, worker: WorkerAt, run: RunAt, lease: &Lease, at: Timestamp) {
        let agent = self.agent_at(&lease.spec.agent);
        let state = &mut self.runs[run];
        state.agent = Some(agent);
        state.policy = Some(lease.spec.settings.retry);
        state.deadline = lease.deadline;
        state.reclaims = state.reclaims_due();
        state.expired = None;
        state.fired = false;
        let attempt = lease.key.attempt;
        state.holder = Some(Holder { worker, attempt, expires_at: lease.expires_at });
        state.grants.push(Grant {
            worker,
            attempt,
            granted_at: lease.granted_at,
            reclaims: lease.reclaims,
            told_lost: None,
            told_deadline: None,
            begun: None,
            done: false,
            overlaps: 0,
        });
        state.take(RunStatus::Running, at);
    }

    /// A lease is renewed.
    pub fn renew(&mut self, run: RunAt, worker: Option<WorkerAt>, attempt: Attempt, term: Term) {
        if let Some(holder) = &mut self.runs[run].holder
            && Some(holder.worker) == worker
            && holder.attempt == attempt
        {
            holder.expires_at = term.expires_at;
        }
    }

    /// A lease is given up, and what became of the run was not told as a change.
    pub fn released(&mut self, run: RunAt, worker: Option<WorkerAt>, attempt: Attempt, how: How, at: Timestamp) {
        let held = self.runs[run].holder;
        if !held.is_some_and(|holder| Some(holder.worker) == worker && holder.attempt == attempt) {
            return;
        }
        let to = match how {
            How::GivenBack => RunStatus::Pending,
            How::Suspended | How::Halted => RunStatus::Suspended,
            How::Ended(status) => status,
        };
        self.moved(run, to, &[], &What::Release { run, attempt, how }, at);
    }

    /// A run takes another status.
    pub fn moved(&mut self, run: RunAt, to: RunStatus, waits: &[Wait], cause: &What, at: Timestamp) {
        let state = &mut self.runs[run];
        if state.status == Some(RunStatus::Running) && to != RunStatus::Running {
            let holder = state.holder.take();
            if matches!(cause, What::Release { .. }) {
                (state.reclaims, state.expired) = (0, None);
            } else {
                state.reclaims += 1;
                state.expired = holder.map(|holder| holder.expires_at);
            }
        }
        state.take(to, at);
        state.waits.clear();
        state.waits.extend_from_slice(waits);
        state.halted = to == RunStatus::Suspended && matches!(cause, What::Release { how: How::Halted, .. });
        if let Some(agent) = state.agent.filter(|_| to.is_terminal()) {
            let live = &mut self.agents[agent].live;
            *live = live.filter(|live| *live != run);
        }
    }

    /// A run is made.
    pub fn made(&mut self, run: RunAt, agent: AgentAt, at: Timestamp) {
        let state = &mut self.runs[run];
        state.agent = Some(agent);
        state.take(RunStatus::Pending, at);
        self.agents[agent].live = Some(run);
    }

    /// A message is accepted by its address.
    pub fn delivered(&mut self, mail: MailAt, accepted: bool, notify: bool) {
        let mail = &mut self.mails[mail];
        mail.notified |= notify;
        if accepted && mail.life == Life::None {
            mail.life = Life::Pending;
        }
    }

    /// A message enters the mailbox.
    pub fn stored(&mut self, agent: AgentAt, mail: MailAt, arrival: Arrival) {
        let state = &mut self.mails[mail];
        (state.life, state.arrival, state.attempts, state.ended_by) = (Life::Pending, Some(arrival), 0, None);
        let pending = &self.agents[agent].pending;
        if !pending.contains(&mail) {
            let later = |other: &MailAt| self.mails[*other].arrival > Some(arrival);
            let place = pending.iter().rposition(|other| !later(other)).map_or(0, |place| place + 1);
            self.agents[agent].pending.insert(place, mail);
        }
    }

    /// A message is settled.
    pub fn settled(&mut self, agent: AgentAt, mail: MailAt, dead: bool) {
        self.mails[mail].life = if dead { Life::Dead } else { Life::Acked };
        self.agents[agent].pending.retain(|other| *other != mail);
    }

    /// A signal arrived.
    pub fn signalled(&mut self, run: RunAt, id: &Name, name: &Name, payload: &Json, told: Signalled) {
        let number = self.next_signal();
        let signal = self.runs[run].signal_mut(id);
        signal.applied = true;
        if told == Signalled::Buffered && signal.accepted.is_none() {
            signal.accepted = Some(number);
            (signal.name, signal.payload) = (Some(Arc::clone(name)), Some(payload.clone()));
        }
    }

    /// A step was told how its wait ended.
    pub fn claimed(&mut self, run: RunAt, step: Step, told: &Claimed) {
        let state = &mut self.runs[run];
        if state.claim(step).is_some() {
            return;
        }
        if let Claimed::Signal { id, .. } = told {
            let signal = state.signal_mut(id);
            signal.claimed = signal.claimed.or(Some(step));
        }
        state.claims.push((step, told.clone()));
    }

    /// A result stands.
    pub fn recorded(&mut self, effect: EffectAt, standing: &EffectResult) {
        let fact = &mut self.effects[effect];
        if fact.standing.is_none() {
            fact.standing = Some(standing.clone());
        }
    }

    /// A worker is done with a lease, as far as it shows.
    pub fn done(&mut self, worker: WorkerAt, run: RunAt, attempt: Attempt) {
        if let Some(grant) = self.runs[run].grant_mut(worker, attempt).filter(|grant| !grant.done) {
            grant.done = true;
            let taken = &mut self.workers[worker].taken;
            *taken = taken.saturating_sub(1);
        }
    }

    /// The places of the run and address, or message, of a change.
    pub fn places(&mut self, change: &Change) -> ChangeAt {
        match change {
            Change::Made { run, agent } => ChangeAt::Made { run: self.run_at(*run), agent: self.agent_at(agent) },
            Change::Moved { run, .. } => ChangeAt::Moved { run: self.run_at(*run) },
            Change::Reserved { .. }
            | Change::Swept { .. }
            | Change::Returned { .. }
            | Change::Replanted { .. }
            | Change::Following { .. }
            | Change::Spent { .. } => ChangeAt::Elsewhere,
            Change::Stored { agent, message, .. } | Change::Settled { agent, message, .. } => {
                let agent = self.agent_at(agent);
                ChangeAt::Mail { agent, mail: self.mail_at(agent, message) }
            }
        }
    }
}

/// What a change is about, by place.
#[derive(Clone, Copy)]
pub enum ChangeAt {
    Made { run: RunAt, agent: AgentAt },
    Moved { run: RunAt },
    Mail { agent: AgentAt, mail: MailAt },
    Elsewhere,
}
