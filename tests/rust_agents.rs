//! Agents written in Rust, in the worlds of scenario files.

use chronodrome::kernel::{Json, Message};
use chronodrome::runtime::{AgentError, Context, EffectCall};
use chronodrome::scenario::Scenario;
use chronodrome::sim::Schedule;
use serde_json::json;

const FILE: &str = r#"{
    "name": "charge-card",
    "outside": { "stripe.charge": { "takes": ["200ms", "4s"] } },
    "agents": { "billing": { "rust": true, "deadline": "1h" } },
    "inputs": [ { "to": "billing", "id": "order-1" } ],
    "faults": { "crash": 0.03, "pause": 0.02, "lost_reply": 0.03, "duplicate": 0.05 },
    "expect": [ { "effect": "stripe.charge", "happened": { "at_most": 1 } }, { "agent": "billing", "runs": 1 } ],
    "expect_calm": [ { "run": "billing#1", "output": { "charged": 100 } } ]
}"#;

async fn billing(ctx: Context, inbox: Vec<Message>) -> Result<Json, AgentError> {
    assert_eq!(&*inbox[0].id, "order-1");
    ctx.effect(EffectCall::new("stripe.charge", json!({"amount": 100}))).await?;
    Ok(Json::new(json!({"charged": 100})))
}

#[test]
fn an_agent_in_rust_is_played_under_every_fault() {
    let scenario = Scenario::parse(FILE, "charge-card.json").unwrap();
    assert_eq!(scenario.without_code().map(|kind| &**kind), Some("billing"));
    let scenario = scenario.with_agent("billing", || billing).unwrap();
    assert_eq!(scenario.without_code(), None);
    assert!(scenario.run(&Schedule::Calm).held());
    let outcomes: Vec<_> = (0..200).map(|seed| scenario.run(&Schedule::Seed(seed))).collect();
    assert!(outcomes.iter().all(chronodrome::scenario::Outcome::held));
    assert!(outcomes.iter().any(|outcome| outcome.lost_leases > 0), "no lease was lost: too few faults");
}

#[test]
fn an_agent_in_rust_that_does_not_follow_its_log_is_found_out() {
    async fn fickle(ctx: Context, _: Vec<Message>) -> Result<Json, AgentError> {
        let amount = 100 + ctx.attempt().0;
        Ok(ctx.effect(EffectCall::new("stripe.charge", json!({"amount": amount}))).await?)
    }
    let text = FILE.replace(r#""output": { "charged": 100 }"#, r#""ends": "completed""#);
    let scenario = Scenario::parse(&text, "charge-card.json").unwrap().with_agent("billing", || fickle).unwrap();
    let subjects: [&dyn chronodrome::explore::Subject; 1] = [&scenario];
    let sweep = chronodrome::explore::sweep::Sweep { seeds: 0..64, ..Default::default() };
    let swept = sweep.run(&subjects, &mut |_| None);
    let causes: Vec<_> = swept.findings.failures.keys().map(|(_, cause)| cause.invariant.as_str()).collect();
    assert!(causes.contains(&"replay-faithful"), "{causes:?}");
}

#[test]
fn an_agent_type_that_is_not_there_is_told_with_those_that_are() {
    let scenario = Scenario::parse(FILE, "charge-card.json").unwrap();
    let error = scenario.with_agent("biling", || billing).unwrap_err();
    assert_eq!(error.to_string(), "the scenario has no agent type `biling`; it has billing");
}

#[test]
fn a_document_that_is_read_again_keeps_its_code() {
    let scenario = Scenario::parse(FILE, "charge-card.json").unwrap().with_agent("billing", || billing).unwrap();
    let document = serde_json::from_str(&FILE.replace("order-1", "order-2")).unwrap();
    let again = scenario.reread(&document).unwrap();
    assert_eq!(again.without_code(), None);
}
