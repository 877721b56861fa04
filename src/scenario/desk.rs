//! The clients of users: they make a user known, and ask of his desk what inputs say.

use std::rc::Rc;

use super::model::DeskCall;
use crate::history::{Actor, Event};
use crate::kernel::{Host, Name, Proposer, Span};
use crate::sim::Machine;
use crate::tempo::{Desk, Refusal, Settings};

/// Makes a user known, with these settings.
pub(super) async fn configure(machine: &Machine, user: &Name, settings: &Settings) {
    desk(machine, user).configure(settings).await;
}

/// Asks something of a user's desk, in the name of `by`. A user who is not known yet is asked for again, ever more seldom: in
/// pauses of 0.1 s doubling to 5 min. What the desk refuses stands in the history as refused to input `number`.
pub(super) async fn ask(machine: &Machine, number: u32, user: &Name, by: &Name, asks: &DeskCall) {
    let desk = desk(machine, user);
    let mut pause = Span::from_millis(100);
    loop {
        match once(&desk, by, asks).await {
            Ok(()) => return,
            Err(Refusal::UnknownUser(_)) => {
                machine.sleep(pause).await;
                pause = pause.times(2).min(Span::from_secs(300));
            }
            Err(refusal) => {
                let (code, message) = (refusal.code().into(), refusal.to_string().into());
                return machine.note(Event::Refused { by: Actor::Input(number), code, message });
            }
        }
    }
}

async fn once(desk: &Desk, by: &Name, asks: &DeskCall) -> Result<(), Refusal> {
    match asks {
        DeskCall::Propose { plan } => desk.propose(plan, Proposer::User(by.clone())).await,
        DeskCall::Approve { uid } => desk.approve(uid, by).await,
        DeskCall::Reject { uid, reason } => desk.reject(uid, by, reason).await,
        DeskCall::Edit { uid, id, set } => desk.edit(uid, id, set, by).await,
        DeskCall::Feedback { feedback } => desk.feedback(feedback, by).await,
        DeskCall::Remember { trace } => desk.remember(trace, by).await,
    }
}

fn desk(machine: &Machine, user: &Name) -> Desk {
    let shared = Rc::new(machine.clone());
    Desk::new(shared.clone(), shared, user)
}
