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

#[cfg(test)]
mod tests {
    use crate::scenario::{Act, Scenario};
    use crate::sim::Schedule;

    fn scenario() -> Scenario {
        let text = r#"{
            "name": "n", "agents": { "log": [ { "complete": 1 } ] }, "users": { "ana": { "auto_approve": true }, "ben": {} },
            "inputs": [
                { "user": "ana", "approve": "tea" },
                { "user": "ana", "plan": { "uid": "tea", "type": "agent_plan", "content": "Tea", "action_type": "log",
                  "origin": "user", "scheduled_for": "2025-01-01T01:00:00Z" } }
            ],
            "faults": { "lost_request": 0.2, "lost_reply": 0.2, "store_error": 0.2, "delay": 0.2 },
            "expect": [ { "plan": "tea", "user": "ana", "status": "executed", "occurrences": 1 } ],
            "expect_calm": [ { "refused": "UnknownPlan", "times": 1 } ]
        }"#;
        Scenario::parse(text, "n.json").expect("it is valid")
    }

    #[test]
    fn what_comes_in_with_its_user_waits_for_him_and_is_asked_once() {
        let scenario = scenario();
        let seeds = (0..40).map(Schedule::Seed);
        for schedule in seeds.chain([Schedule::Calm]) {
            let outcome = scenario.run(&schedule);
            assert!(outcome.held(), "{schedule:?}: {:?} {:?}", outcome.violations, outcome.expectations);
            assert!(
                outcome.ends.refused.iter().all(|refused| *refused.code != *"UnknownUser"),
                "{:?}",
                outcome.ends.refused
            );
        }
    }

    #[test]
    fn the_run_of_an_occurrence_is_cancelled_by_its_name() {
        let text = r#"{
            "name": "n", "agents": { "log": [ { "sleep": "1h" } ] }, "users": { "ana": { "auto_approve": true } },
            "inputs": [
                { "plan": { "uid": "tea", "type": "agent_plan", "content": "Tea", "action_type": "log", "origin": "user",
                  "scheduled_for": "2025-01-01T01:00:00Z" } },
                { "at": "+1h10m", "cancel": "log/ana/tea#1#1" }
            ],
            "expect": [ { "plan": "tea", "result": "cancelled" }, { "run": "log/ana/tea#1#1", "ends": "cancelled" } ]
        }"#;
        let outcome = Scenario::parse(text, "n.json").expect("it is valid").run(&Schedule::Calm);
        assert!(outcome.held(), "{:?} {:?}", outcome.violations, outcome.expectations);
    }

    #[test]
    fn users_are_made_known_by_the_last_inputs_at_the_start() {
        let inputs = scenario().inputs;
        let names: Vec<_> = inputs[2..]
            .iter()
            .map(|input| match &input.does {
                Act::Configure { user } => (user.to_string(), input.at.as_micros()),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(names, [("ana".to_owned(), 0), ("ben".to_owned(), 0)]);
    }
}
