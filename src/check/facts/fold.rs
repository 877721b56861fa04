//! How events change what is known.

use std::sync::Arc;

use serde_json::Value;

use super::{
    AgentAt, Announced, EffectAt, Entry, Facts, Grant, Holder, How, Life, MailAt, Party, Publication, RunAt, What,
    WorkerAt,
};
use crate::history::Change;
use crate::kernel::{
    AgentId, Arrival, Attempt, Body, CallKind, Claimed, EffectResult, Json, Lease, Message, Name, Opening, Received,
    Reserved, RunId, RunSpec, RunStatus, Seq, Signalled, Stamp, Step, Term, Timestamp, TopicId, Wait,
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
            Body::ToolCalled { opening, effect: intent, policy } => {
                let effect = self.effect_at(intent.id);
                let log = &mut self.runs[run].log;
                let fact = &mut self.effects[effect];
                fact.intent = fact.intent.or(Some((run, opening.step)));
                fact.policy = Some(*policy);
                fact.begun_in = log.lease.map(|lease| lease.attempt);
                fact.is_model = opening.call == CallKind::Model;
                if let Some(mark) = log.steps.get_mut(opening.step.0 as usize) {
                    mark.effect = mark.effect.or(Some(effect));
                }
                log.open.push(effect);
                self.intends_memory(run, opening.step, &intent.kind, &intent.spec);
            }
            Body::ToolResult { step, result } => {
                let effect = self.effect_at(result.effect_id);
                self.runs[run].log.open.retain(|open| *open != effect);
                self.recorded(effect, result);
                self.stages(run, *step, result, from);
            }
            Body::Trace(trace) => self.traced(run, ts, trace, from),
            Body::MessageSent { opening, to, message } => self.announce_mail(run, opening.step, to, message),
            Body::AskSent { opening, to, message, .. } => self.announce_mail(run, opening.step, to, message),
            Body::TopicPublished { opening, topic, message } => {
                self.announce_publication(run, opening, topic, message, ts);
            }
            Body::ChildSpawned { opening, spec, .. } => self.announce_child(run, opening.step, spec, from),
            Body::ReplySent { question, .. } => self.announce_reply(run, question),
            Body::StepValue { opening, value } => match opening.call {
                CallKind::Signal => self.announce_signal(run, value),
                CallKind::Follow | CallKind::Unfollow => self.announce_follow(run, opening, value, ts),
                _ => {}
            },
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
            if message.correlation.is_some() {
                self.letter(mail, message);
                self.mails[mail].receivers.push(run);
            }
        }
    }

    fn announce_mail(&mut self, run: RunAt, step: Step, to: &AgentId, message: &Message) {
        let to = self.agent_at(to);
        let mail = self.mail_at(to, &message.id);
        self.letter(mail, message);
        self.mails[mail].announced = Some((run, step));
    }

    fn announce_publication(
        &mut self,
        run: RunAt,
        opening: &Opening,
        topic: &TopicId,
        message: &Message,
        ts: Timestamp,
    ) {
        let last = opening.group.map_or(opening.step, |group| Step(group.first.0 + group.size.saturating_sub(1)));
        let (topic, message) = (self.topic_at(topic), Some(Arc::clone(&message.id)));
        let place = self.publish(Publication { message, topic: Some(topic), ts, last, ..Publication::default() });
        self.runs[run].kin.publishing.push(place);
        self.topics[topic].open.push(place);
    }

    fn announce_child(&mut self, run: RunAt, step: Step, spec: &RunSpec, from: Option<Party>) {
        let (child, agent) = (self.run_at(spec.run), self.agent_at(&spec.agent));
        self.adopt(run, step, child);
        let state = &mut self.runs[child];
        state.agent = state.agent.or(Some(agent));
        state.kin.announced = state.kin.announced.or(Some(run));
        state.kin.announcer = state.kin.announcer.or(from);
        state.kin.retention = spec.retention;
    }

    fn announce_reply(&mut self, run: RunAt, question: &Message) {
        let (Some(correlation), Some(asker)) = (&question.correlation, question.reply_to) else { return };
        let asker = self.run_at(asker);
        self.runs[asker].signal_mut(&reply_id(correlation)).announced = Some(run);
    }

    /// The value of the step is `{"run", "name", "payload", "id"}` unless it is a refusal.
    fn announce_signal(&mut self, run: RunAt, value: &Json) {
        let text = |member: &str| value.get(member).and_then(Value::as_str);
        let Some(target) = text("run").and_then(|id| id.parse::<RunId>().ok()) else { return };
        let Some(id) = text("id") else { return };
        let target = self.run_at(target);
        self.runs[target].signal_mut(&Name::from(id)).announced = Some(run);
    }

    /// The value of the step is `{"topic"}` unless it is a refusal.
    fn announce_follow(&mut self, run: RunAt, opening: &Opening, value: &Json, ts: Timestamp) {
        let topic = value.get("topic").and_then(Value::as_str).and_then(|topic| topic.parse::<TopicId>().ok());
        let (Some(topic), Some(agent)) = (topic, self.runs[run].agent) else { return };
        let topic = self.topic_at(&topic);
        let (stamp, follows) = (Stamp { ts, step: opening.step }, opening.call == CallKind::Follow);
        self.agents[agent].announced.push(Announced { run, topic, stamp, follows, applied: false });
    }

    /// A run is leased.
    pub fn grant(&mut self, worker: WorkerAt, run: RunAt, lease: &Lease, at: Timestamp) {
        let agent = self.agent_at(&lease.spec.agent);
        let state = &mut self.runs[run];
        state.agent = Some(agent);
        state.policy = Some(lease.spec.settings.retry);
        state.deadline = lease.deadline;
        state.kin.max_agents = Some(lease.spec.settings.spawn_budget.max_agents);
        state.kin.limits = Some(lease.spec.settings.limits);
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

    /// A run is made: a reserved child, or a root, which takes the first unit of its tree.
    pub fn made(&mut self, run: RunAt, agent: AgentAt, at: Timestamp) {
        let state = &mut self.runs[run];
        state.agent = Some(agent);
        state.kin.reserved = false;
        state.take(RunStatus::Pending, at);
        self.agents[agent].live = Some(run);
        self.hold_unit(run, true);
    }

    /// A child is reserved.
    pub fn reserved(&mut self, run: RunAt, agent: AgentAt, parent: RunAt, step: Step, tree: RunAt) {
        self.adopt(parent, step, run);
        let state = &mut self.runs[run];
        state.agent = Some(agent);
        (state.kin.reserved, state.kin.tree) = (true, (tree != run).then_some(tree));
        self.agents[agent].live = Some(run);
        self.runs[parent].kin.reservations.push((step, Some(run)));
        self.hold_unit(run, true);
    }

    /// A step was refused a child, for good.
    pub fn refused(&mut self, parent: RunAt, step: Step, told: &Reserved) {
        let known = &mut self.runs[parent].kin.reservations;
        if matches!(told, Reserved::Denied { .. }) && !known.iter().any(|(reserved, _)| *reserved == step) {
            known.push((step, None));
        }
    }

    /// A reserved child is gone.
    pub fn swept(&mut self, run: RunAt, at: Timestamp) {
        self.hold_unit(run, false);
        let state = &mut self.runs[run];
        (state.kin.reserved, state.kin.swept) = (false, true);
        state.take(RunStatus::Cancelled, at);
        if let Some(agent) = state.agent {
            let live = &mut self.agents[agent].live;
            *live = live.filter(|live| *live != run);
        }
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
            Change::Reserved { run, agent, parent, tree, .. } => ChangeAt::Reserved {
                run: self.run_at(*run),
                agent: self.agent_at(agent),
                parent: self.run_at(*parent),
                tree: self.run_at(*tree),
            },
            Change::Swept { run } | Change::Returned { run } => ChangeAt::Unit { run: self.run_at(*run) },
            Change::Replanted { run, tree } => ChangeAt::Replanted { run: self.run_at(*run), tree: self.run_at(*tree) },
            // A relation is folded from the requests that change it.
            Change::Following { .. } => ChangeAt::Relation,
            Change::Spent { tree, key, .. } => {
                ChangeAt::Spent { tree: self.run_at(*tree), effect: self.effect_at(*key) }
            }
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
    Made {
        run: RunAt,
        agent: AgentAt,
    },
    Moved {
        run: RunAt,
    },
    Mail {
        agent: AgentAt,
        mail: MailAt,
    },
    Reserved {
        run: RunAt,
        agent: AgentAt,
        parent: RunAt,
        tree: RunAt,
    },
    /// A unit is given back, by a sweep or by its run.
    Unit {
        run: RunAt,
    },
    Replanted {
        run: RunAt,
        tree: RunAt,
    },
    Relation,
    Spent {
        tree: RunAt,
        effect: EffectAt,
    },
}

/// Name and id of the signal that answers a question.
pub fn reply_id(correlation: &str) -> Name {
    format!("reply:{correlation}").into()
}
