//! What is left to do behind a closed log. Every part is idempotent: any worker, or two at once, can finish it
//! after a crash anywhere.

use super::hold::Hold;
use crate::kernel::{
    Body, CallError, CallKind, Disposition, Ending, FailureCode, Inbox, Json, MessageId, Name, Release, RunId,
    SignalBus, Step,
};

/// Carries out what the log announces, settles the mail, and releases the run as ended.
pub(super) async fn epilogue(hold: &Hold) {
    carry_out_all(hold).await;
    let (ending, failures, mail) = {
        let log = hold.log.borrow();
        let ending = log.ended.clone().expect("an epilogue stands behind a terminal entry");
        (ending, log.failures, log.mail.clone())
    };
    let dead = |number, reason: &Name| Some((number, Disposition::Dead(reason.clone())));
    let nack = match &ending {
        Ending::Failed { code, error, .. } => dead(failures + u32::from(is_of_agent(*code)), error),
        Ending::Cancelled { reason, .. } if hold.lease.spec.settings.retry.dead_run_on_cancel => dead(failures, reason),
        Ending::Completed { .. } | Ending::Cancelled { .. } => None,
    };
    for message in mail {
        match &nack {
            Some((failure, disposition)) => nack_one(hold, message, *failure, disposition.clone()).await,
            None => ack_one(hold, message).await,
        }
    }
    hold.release(Release::Ended(ending.status())).await;
}

/// Whether the agent itself failed, which counts as one more failure over its mail.
const fn is_of_agent(code: FailureCode) -> bool {
    match code {
        FailureCode::AgentCrashed
        | FailureCode::EffectRefused
        | FailureCode::EffectInDoubt
        | FailureCode::OverlappingSteps
        | FailureCode::AbandonedStep => true,
        FailureCode::DeadlineExceeded | FailureCode::BudgetExhausted | FailureCode::Poisoned => false,
    }
}

async fn ack_one(hold: &Hold, message: MessageId) {
    let agent = &hold.lease.spec.agent;
    hold.settled(async || hold.floor.store.ack(agent.clone(), message.clone(), hold.run()).await).await;
}

async fn nack_one(hold: &Hold, message: MessageId, failure: u32, disposition: Disposition) {
    let (agent, run) = (&hold.lease.spec.agent, hold.run());
    let nack = async || {
        let (agent, message, disposition) = (agent.clone(), message.clone(), disposition.clone());
        hold.floor.store.nack(agent, message, run, failure, disposition).await
    };
    hold.settled(nack).await;
}

/// Notes failure number `failure` over all mail of the run, which stays pending.
pub(super) async fn nack_all(hold: &Hold, failure: u32, error: &Name) {
    let mail = hold.log.borrow().mail.clone();
    for message in mail {
        nack_one(hold, message, failure, Disposition::Again(error.clone())).await;
    }
}

/// Carries out whatever the log announces and does not show as done.
pub(super) async fn carry_out_all(hold: &Hold) {
    let announced = hold.log.borrow().announced();
    for step in announced {
        carry_out(hold, step).await;
    }
}

/// Carries an announced step out, unless it is done. A message to a type that nobody has registered yet waits
/// for the registration: it is announced, so it will be delivered.
pub(super) async fn carry_out(hold: &Hold, step: Step) {
    let body = {
        let log = hold.log.borrow();
        if !log.is_announced(step) {
            return;
        }
        log.steps[&step].body.clone()
    };
    let store = &hold.floor.store;
    match &*body {
        Body::MessageSent { to, message, .. } => {
            let deliver = async || match store.deliver(to.clone(), message.clone(), true).await? {
                Ok(_accepted) => Ok(()),
                Err(_unknown) => Err(CallError::Unavailable),
            };
            hold.settled(deliver).await;
        }
        Body::StepValue { opening, value } if opening.call == CallKind::Signal => {
            if let Some((run, name, payload, id)) = signal_of(value) {
                let fire = async || store.signal(run, name.clone(), payload.clone(), id.clone()).await;
                hold.settled(fire).await;
            }
        }
        _ => {}
    }
    if let Some(record) = hold.log.borrow_mut().steps.get_mut(&step) {
        record.carried = true;
    }
}

/// The signal that a step announces.
fn signal_of(value: &Json) -> Option<(RunId, Name, Json, Name)> {
    let text = |key| value.get(key)?.as_str();
    let payload = Json::new(value.get("payload")?.clone());
    Some((text("run")?.parse().ok()?, text("name")?.into(), payload, text("id")?.into()))
}
