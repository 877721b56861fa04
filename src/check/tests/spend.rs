//! What trees spend, case by case.

use serde_json::json;

use super::Pair;
use super::history::*;
use crate::history::{Actor, Change};
use crate::kernel::*;

const LIMITS: Limits = Limits { tokens: Some(100), cost_micros: None, turns: None };

fn model(step: u32) -> Effect {
    Effect::new(run(1), Step(step), "model".into(), Json::empty())
}

fn asks_model(step: u32) -> Body {
    let effect = model(step);
    let opening = Opening { digest: Digest(effect.id.0), ..opening(step, CallKind::Model) };
    Body::ToolCalled { opening, effect, policy: Policy::Repeatable }
}

fn said(step: u32, tokens: u64) -> EffectResult {
    EffectResult::ok(model(step).id, json!({ "text": "1", "usage": { "tokens": tokens, "cost_micros": 3 } }).into())
}

const fn price(tokens: u64, turns: u64) -> Spend {
    Spend { tokens, cost_micros: 3 * turns, turns }
}

fn account(spent: Spend) -> Reply {
    Reply::Account(Account { spent, limits: LIMITS })
}

/// Run 1 is begun, under limits.
fn begun(history: &mut History) {
    history.deliver("m1", &[made(1)]);
    let lease = history.lease("w1", 1, 0);
    let settings = SpecDefaults { limits: LIMITS, ..SpecDefaults::default() };
    let spec = RunSpec { settings, ..(*lease.spec).clone() };
    history.grant_this(Lease { spec: spec.into(), ..lease }, &[]);
    history.append("w1", 1, Body::RunStarted(lease_entry(0)));
    history.append("w1", 1, received(&[("m1", 1)]));
}

fn totals(history: &mut History, spent: Spend) {
    history.call(worker("w1"), Request::Totals { run: run(1) }, account(spent), &[]);
}

fn spends(history: &mut History, step: u32, amounts: Spend, after: Spend, changes: bool) {
    let key = model(step).id;
    let change = Change::Spent { tree: run(1), key, amounts };
    let request = Request::Spend { run: run(1), key, amounts };
    history.call(worker("w1"), request, account(after), if changes { std::slice::from_ref(&change) } else { &[] });
}

/// A model was asked and its answer of 60 tokens is recorded.
fn recorded(history: &mut History) {
    begun(history);
    totals(history, Spend::default());
    history.append("w1", 1, asks_model(0));
    history.record("w1", said(0, 60));
}

/// It is spent, and in the log.
fn answered(history: &mut History) {
    recorded(history);
    spends(history, 0, price(60, 1), price(60, 1), true);
    history.append("w1", 1, result(0, said(0, 60)));
}

pub fn refuses(history: &mut History, step: u32, limit: &str) {
    history.logs(step, CallKind::Model, json!({ "refused": "BudgetExhausted", "limit": limit }));
}

/// 120 of 100 tokens are spent.
pub fn exhausted(history: &mut History) {
    answered(history);
    history.append("w1", 1, asks_model(1));
    history.record("w1", said(1, 60));
    spends(history, 1, price(60, 1), price(120, 2), true);
    history.append("w1", 1, result(1, said(1, 60)));
}

pub const PAIRS: &[Pair] = &[
    Pair {
        invariant: "spend-exact",
        case: "an answer is never spent",
        violates: |h| {
            recorded(h);
            h.append("w1", 1, result(0, said(0, 60)));
        },
        nearly: answered,
    },
    Pair {
        invariant: "spend-exact",
        case: "an answer is spent twice",
        violates: |h| {
            answered(h);
            spends(h, 0, price(60, 1), price(120, 2), true);
        },
        nearly: |h| {
            answered(h);
            spends(h, 0, price(60, 1), price(60, 1), false);
        },
    },
    Pair {
        invariant: "spend-exact",
        case: "another amount is spent",
        violates: |h| {
            recorded(h);
            spends(h, 0, price(59, 1), price(59, 1), true);
        },
        nearly: |h| {
            recorded(h);
            spends(h, 0, price(60, 1), price(60, 1), true);
        },
    },
    Pair {
        invariant: "spend-exact",
        case: "something is spent before it is recorded",
        violates: |h| {
            begun(h);
            totals(h, Spend::default());
            h.append("w1", 1, asks_model(0));
            spends(h, 0, price(60, 1), price(60, 1), true);
        },
        nearly: |h| {
            begun(h);
            totals(h, Spend::default());
            h.append("w1", 1, asks_model(0));
            let refused = EffectResult::refused(model(0).id, "busy", None);
            h.record("w1", refused.clone());
            h.append("w1", 1, result(0, refused));
        },
    },
    Pair {
        invariant: "spend-exact",
        case: "an account is told wrong",
        violates: |h| {
            answered(h);
            totals(h, Spend::default());
        },
        nearly: |h| {
            answered(h);
            totals(h, price(60, 1));
        },
    },
    Pair {
        invariant: "spend-exact",
        case: "another tree pays",
        violates: |h| {
            recorded(h);
            let (key, amounts) = (model(0).id, price(60, 1));
            let change = Change::Spent { tree: run(7), key, amounts };
            h.call(worker("w1"), Request::Spend { run: run(1), key, amounts }, account(Spend::default()), &[change]);
        },
        nearly: answered,
    },
    Pair {
        invariant: "spend-exact",
        case: "a call begins over the limit",
        violates: |h| {
            exhausted(h);
            h.append("w1", 1, asks_model(2));
        },
        nearly: |h| {
            exhausted(h);
            refuses(h, 2, "tokens");
        },
    },
    Pair {
        invariant: "spend-exact",
        case: "a call begins and nobody asked what was spent",
        violates: |h| {
            begun(h);
            h.append("w1", 1, asks_model(0));
        },
        nearly: |h| {
            begun(h);
            totals(h, Spend::default());
            h.append("w1", 1, asks_model(0));
        },
    },
    Pair {
        invariant: "spend-exact",
        case: "a call is refused below the limit",
        violates: |h| {
            answered(h);
            refuses(h, 1, "tokens");
        },
        nearly: |h| {
            exhausted(h);
            refuses(h, 2, "tokens");
            h.append("w1", 1, failed(FailureCode::BudgetExhausted));
        },
    },
    Pair {
        invariant: "retry-policy",
        case: "a run fails over a budget that refused it nothing",
        violates: |h| {
            answered(h);
            h.append("w1", 1, failed(FailureCode::BudgetExhausted));
        },
        nearly: |h| {
            exhausted(h);
            refuses(h, 2, "tokens");
            h.append("w1", 1, failed(FailureCode::BudgetExhausted));
        },
    },
    Pair {
        invariant: "announced-done",
        case: "a worker cancels a run that is nobody's child",
        violates: |h| {
            begun(h);
            h.call(worker("w2"), Request::Cancel { run: run(1), reason: "no".into() }, Reply::Done, &[]);
        },
        nearly: |h| {
            begun(h);
            h.call(Actor::Input(1), Request::Cancel { run: run(1), reason: "no".into() }, Reply::Done, &[]);
        },
    },
];
