//! What a log announces is carried out: messages, publications, replies, signals, subscriptions, children, cancels. Every
//! part is idempotent, so that whoever finds it can carry it out again.

use super::cascade::{cancel_tree, ensure};
use super::hold::Hold;
use super::step::document;
use crate::kernel::{
    AskOutcome, Body, CallError, CallKind, FollowGraph, Inbox, Json, Message, Name, RunId, RunResult, RunStatus,
    SignalBus, Stamp, Step, Subscription, TopicId,
};

/// Carries out whatever the log announces and does not show as done.
pub(super) async fn carry_out_all(hold: &Hold) {
    let announced = hold.log.borrow().announced();
    for step in announced {
        carry_out(hold, step).await;
    }
}

/// Carries an announced step out, unless it is done. A message to a type that nobody has registered yet waits for the
/// registration: it is announced, so it will be delivered.
pub(super) async fn carry_out(hold: &Hold, step: Step) {
    let (body, seq, ts) = {
        let log = hold.log.borrow();
        if !log.is_announced(step) {
            return;
        }
        let record = &log.steps[&step];
        (record.body.clone(), record.seq, record.ts)
    };
    let (store, host) = (&hold.floor.store, &hold.floor.host);
    match &*body {
        Body::MessageSent { to, message, .. } => {
            let deliver = async || match store.deliver(to.clone(), message.clone(), true).await? {
                Ok(_accepted) => Ok(()),
                Err(_unknown) => Err(CallError::Unavailable),
            };
            hold.settled(deliver).await;
        }
        Body::TopicPublished { topic, message, .. } => {
            let fanout = &hold.floor.fanout;
            fanout.publish(topic.clone(), message.clone(), store.clone(), host.clone()).await;
        }
        Body::ChildSpawned { spec, boot, .. } => ensure(&**store, &**host, spec, boot).await,
        Body::ReplySent { question, answer, .. } => {
            let (status, output) = (RunStatus::Running, Some(answer.clone()));
            let result = RunResult { run_id: hold.run(), status, output, error: None, metadata: Json::null() };
            send_outcome(hold, question, &AskOutcome::Replied { result, last_seq: seq }).await;
        }
        Body::StepValue { opening, value } => carry_out_value(hold, opening.call, value, Stamp { ts, step }).await,
        _ => {}
    }
    if let Some(record) = hold.log.borrow_mut().steps.get_mut(&step) {
        record.carried = true;
    }
}

/// Carries out a step that has no kind of entry of its own.
async fn carry_out_value(hold: &Hold, call: CallKind, value: &Json, stamp: Stamp) {
    let store = &hold.floor.store;
    let text = |key: &str| value.get(key).and_then(|value| value.as_str());
    let agent = &hold.lease.spec.agent;
    match call {
        CallKind::Signal => {
            if let Some((run, name, payload, id)) = signal_of(value) {
                let fire = async || store.signal(run, name.clone(), payload.clone(), id.clone()).await;
                hold.settled(fire).await;
            }
        }
        CallKind::Cancel => {
            let run = text("run").and_then(|run| run.parse().ok());
            if let Some((run, reason)) = run.zip(text("reason")) {
                cancel_child(hold, run, &reason.into()).await;
            }
        }
        CallKind::Follow | CallKind::Unfollow => {
            let Some(topic) = text("topic").and_then(|topic| topic.parse::<TopicId>().ok()) else { return };
            if call == CallKind::Follow {
                hold.settled(async || store.follow(agent.clone(), topic.clone(), stamp).await).await;
            } else {
                let subscription = Subscription { follower: agent.clone(), topic };
                hold.settled(async || store.unfollow(subscription.clone(), stamp).await).await;
            }
        }
        _ => {}
    }
}

/// Cancels a child and all below it. It is created first: nothing can be done to a child that is only announced.
pub(super) async fn cancel_child(hold: &Hold, child: RunId, reason: &Name) {
    ensure_child(hold, child).await;
    cancel_tree(&*hold.floor.store, &*hold.floor.host, child, reason).await;
}

/// Creates an announced child, unless that was done.
pub(super) async fn ensure_child(hold: &Hold, child: RunId) {
    let spawned = hold.log.borrow().child(child).map(|child| child.spawned.clone());
    if let Some(Body::ChildSpawned { spec, boot, .. }) = spawned.as_deref() {
        ensure(&*hold.floor.store, &*hold.floor.host, spec, boot).await;
    }
}

/// Tells an asker how its question has ended. The first answer counts.
pub(super) async fn send_outcome(hold: &Hold, question: &Message, outcome: &AskOutcome) {
    let (Some(asker), Some(correlation)) = (question.reply_to, &question.correlation) else { return };
    let (name, payload) = (reply_name(correlation), document(outcome));
    let tell = async || hold.floor.store.signal(asker, name.clone(), payload.clone(), name.clone()).await;
    hold.settled(tell).await;
}

/// What the names of answers begin with.
const REPLY: &str = "reply:";

/// The name, and the id, of the signal that answers a question.
pub(super) fn reply_name(correlation: &Name) -> Name {
    format!("{REPLY}{correlation}").into()
}

/// Whether a signal's name is kept for answers: only the runtime sends such signals, and waits for them.
pub(super) fn is_reserved(name: &str) -> bool {
    name.starts_with(REPLY)
}

/// The signal that a step announces.
fn signal_of(value: &Json) -> Option<(RunId, Name, Json, Name)> {
    let text = |key| value.get(key)?.as_str();
    let payload = Json::new(value.get("payload")?.clone());
    Some((text("run")?.parse().ok()?, text("name")?.into(), payload, text("id")?.into()))
}
