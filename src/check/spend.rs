//! What trees spend: each recorded result once, in full, and nothing begun over a limit.

use super::facts::{Call, EffectAt, Facts, Party, RunAt, What, WorkerAt, worker_of};
use super::sometimes::Sometimes;
use super::verdict::{Judge, Rule};
use crate::kernel::{Account, CallKind, EffectResult, EffectStatus, Json, Limits, Opening, Spend, Step};

/// What a recorded result of a model costs. What was used stays in sight where the rest of its value is kept apart.
fn price(result: &EffectResult) -> Spend {
    let part = |name: &str| result.value.get("usage").and_then(|usage| usage.get(name)?.as_u64()).unwrap_or(0);
    Spend { tokens: part("tokens"), cost_micros: part("cost_micros"), turns: 1 }
}

/// The limit that is reached.
fn reached(account: &Account) -> Option<&'static str> {
    let Account { spent, limits } = account;
    let parts = [
        ("tokens", limits.tokens, spent.tokens),
        ("cost", limits.cost_micros, spent.cost_micros),
        ("turns", limits.turns, spent.turns),
    ];
    parts.into_iter().find(|(_, limit, spent)| limit.is_some_and(|limit| *spent >= limit)).map(|(name, ..)| name)
}

/// The account of a run's tree; the limits only where a grant of its root told them.
fn account(facts: &Facts, run: RunAt) -> (Spend, Option<Limits>) {
    let root = &facts.runs[facts.tree(run)].kin;
    (root.spent, root.limits)
}

/// `spend-exact`, when a worker spends something: the journal holds the result of a model call of that run, and it costs
/// just that.
pub fn spends(facts: &Facts, judge: &mut Judge<'_>, call: &Call) {
    let What::Spend { run, effect, amounts } = call.what else { return };
    let known = &facts.effects[effect];
    let ok = known.standing.as_ref().filter(|result| result.status == EffectStatus::Ok);
    let own = known.is_model && known.intent.is_some_and(|(intended, _)| intended == run);
    let due = ok.filter(|_| own).map(price);
    if due != Some(amounts) {
        judge.violated(
            Rule::SpendExact,
            facts.name(run),
            format_args!("{amounts:?} is spent for effect {}, due is {due:?}", id(facts, effect)),
        );
    }
}

fn id(facts: &Facts, effect: EffectAt) -> crate::kernel::EffectId {
    facts.effects[effect].id.expect("a place is made with its id")
}

/// `spend-exact`, when something is spent, as applied: under a key that was never spent, by the tree that the run belongs
/// to now, as asked.
pub fn spent(facts: &mut Facts, judge: &mut Judge<'_>, call: &Call, tree: RunAt, effect: EffectAt, amounts: Spend) {
    let right = match call.what {
        What::Spend { run, effect: asked, amounts: wanted } => {
            asked == effect && wanted == amounts && facts.tree(run) == tree && !facts.effects[effect].spent
        }
        _ => false,
    };
    if !right {
        judge.violated(
            Rule::SpendExact,
            facts.name(tree),
            format_args!("its tree spent {amounts:?} for effect {}, which was not due from it", id(facts, effect)),
        );
    }
    facts.effects[effect].spent = true;
    let spent = &mut facts.runs[tree].kin.spent;
    *spent = spent.plus(amounts);
}

/// `spend-exact`, of an account as it is told, as applied: what its tree has spent, and the limits of the tree's root.
/// What was asked to be spent is.
pub fn told(facts: &Facts, judge: &mut Judge<'_>, call: &Call, told: &Account) {
    let (What::Spend { run, .. } | What::Totals { run }) = call.what else { return };
    if facts.runs[run].standing().is_none() {
        return;
    }
    let (spent, limits) = account(facts, run);
    if told.spent != spent || limits.is_some_and(|limits| limits != told.limits) {
        judge.violated(
            Rule::SpendExact,
            facts.name(run),
            format_args!("its account was told as {told:?}, spent was {spent:?} of {limits:?}"),
        );
    }
    if let What::Spend { effect, .. } = call.what
        && !facts.effects[effect].spent
    {
        judge.violated(
            Rule::SpendExact,
            facts.name(run),
            format_args!("effect {} was to be spent and was not", id(facts, effect)),
        );
    }
}

/// Notes what a worker heard about the account of a run that it holds.
pub fn heard(facts: &mut Facts, worker: WorkerAt, run: RunAt, account: &Account) {
    let state = &mut facts.runs[run];
    let Some(attempt) = state.grant_of(worker).map(|grant| grant.attempt) else { return };
    state.kin.hear(worker, attempt, *account);
}

/// `spend-exact`, when a worker tries to begin a model call: what it last heard of its tree's account reaches no limit.
/// Under limits it has heard something.
pub fn begins(facts: &Facts, judge: &mut Judge<'_>, worker: WorkerAt, run: RunAt, opening: &Opening) {
    if opening.call != CallKind::Model {
        return;
    }
    let state = &facts.runs[run];
    let heard = state.grant_of(worker).and_then(|grant| state.kin.account(worker, grant.attempt));
    let (_, limits) = account(facts, run);
    let step = opening.step;
    match heard {
        Some(heard) => {
            if let Some(limit) = reached(heard) {
                judge.violated(
                    Rule::SpendExact,
                    facts.name(run),
                    format_args!("step {step} begins a model call, and its worker knows that {limit} are spent"),
                );
            }
        }
        None if limits.is_some_and(|limits| limits != Limits::default()) => judge.violated(
            Rule::SpendExact,
            facts.name(run),
            format_args!("step {step} begins a model call, and its worker did not ask what its tree has spent"),
        ),
        None => {}
    }
}

/// `spend-exact`, at the entry of a refused model call: its writer heard that this limit is reached.
pub fn refused(facts: &Facts, judge: &mut Judge<'_>, from: Option<Party>, run: RunAt, opening: &Opening, value: &Json) {
    let code = value.get("refused").and_then(|code| code.as_str());
    if opening.call != CallKind::Model || code != Some("BudgetExhausted") {
        return;
    }
    let state = &facts.runs[run];
    let worker = from.and_then(worker_of);
    let heard = worker.and_then(|worker| state.kin.account(worker, state.grant_of(worker)?.attempt));
    let limit = value.get("limit").and_then(|limit| limit.as_str());
    if heard.and_then(reached) != limit || limit.is_none() {
        judge.violated(
            Rule::SpendExact,
            facts.name(run),
            format_args!("step {} was refused for {limit:?}, its worker had heard {heard:?}", opening.step),
        );
    }
    judge.reached(Sometimes::BudgetRefused);
}

/// `spend-exact`, at a `tool.result`, as applied: what a model answered is spent by then, and what it refused is not.
pub fn logged(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, step: Step, effect: EffectAt, result: &EffectResult) {
    let known = &facts.effects[effect];
    if known.is_model && known.spent != (result.status == EffectStatus::Ok) {
        let (spent, status) = (known.spent, result.status);
        judge.violated(
            Rule::SpendExact,
            facts.name(run),
            format_args!("step {step} logs an answer that is {status:?}, and spent is {spent}"),
        );
    }
}
