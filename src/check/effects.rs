//! Effects: once, intended first, one result, settled, never denied.

use super::facts::{EffectAt, Facts, RunAt};
use super::sometimes::Sometimes;
use super::verdict::{Judge, Rule};
use crate::kernel::{Body, EffectResult, Json, Opening, Policy, Step};

/// `effect-identity`, at an intent: its step has no other effect, its effect no other step, the step's digest is the
/// effect's id, and the log does not hold the intent twice. Then the policy is known: see [`happened`].
pub fn intended(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, opening: &Opening, effect: EffectAt, policy: Policy) {
    let (name, step) = (facts.name(run), opening.step);
    let known = &facts.effects[effect];
    if let Some((other, at)) = known.intent {
        let other = facts.name(other);
        judge.violated(
            Rule::EffectIdentity,
            name,
            format_args!("step {step} intends the effect of step {at} of run {other}"),
        );
    }
    let before = facts.runs[run].log.step(step).and_then(|mark| mark.effect);
    if before.is_some_and(|before| before != effect) {
        judge.violated(Rule::EffectIdentity, name, format_args!("step {step} intends two effects"));
    }
    if known.id.is_some_and(|id| id.0 != opening.digest.0) {
        let digest = opening.digest;
        judge.violated(
            Rule::EffectIdentity,
            name,
            format_args!("step {step} intends an effect of another id than its digest {digest}"),
        );
    }
    once(facts, judge, effect, Some(policy), known.happened);
}

/// `effect-identity`, at a request to the outside: it names the effect that its step intends.
pub fn performs(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, step: Step, effect: EffectAt) {
    let intended = facts.runs[run].log.step(step).and_then(|mark| mark.effect);
    if intended.is_some_and(|intended| intended != effect) {
        judge.violated(
            Rule::EffectIdentity,
            facts.name(run),
            format_args!("step {step} performs another effect than it intends"),
        );
    }
}

/// `effect-intent-first`: when something happens outside, a log holds its intent, as applied. `effect-not-denied`: it
/// is not recorded as refused. `effect-at-most-once`, `effect-idempotent-once`: with such a policy in its intent it
/// never took hold before.
pub fn happened(facts: &Facts, judge: &mut Judge<'_>, effect: EffectAt) {
    let known = &facts.effects[effect];
    if known.intent.is_none() {
        judge.violated(Rule::EffectIntentFirst, id(facts, effect), format_args!("it happened and no log intends it"));
    }
    if known.standing.as_ref().is_some_and(EffectResult::is_refused) {
        judge.violated(
            Rule::EffectNotDenied,
            id(facts, effect),
            format_args!("it happened after it was recorded as refused"),
        );
    }
    once(facts, judge, effect, known.policy, known.happened + 1);
}

fn once(facts: &Facts, judge: &mut Judge<'_>, effect: EffectAt, policy: Option<Policy>, times: u32) {
    let rule = match policy {
        Some(Policy::AtMostOnce) => Rule::EffectAtMostOnce,
        Some(Policy::Idempotent) => Rule::EffectIdempotentOnce,
        _ => return,
    };
    if times > 1 {
        judge.violated(rule, id(facts, effect), format_args!("it took hold outside {times} times"));
    }
}

/// `effect-write-once`, at a record: the standing result is the first one recorded. `effect-not-denied`: a refusal
/// that stands belongs to an effect that did not happen.
pub fn recorded(
    facts: &Facts,
    judge: &mut Judge<'_>,
    effect: EffectAt,
    result: &EffectResult,
    standing: &EffectResult,
) {
    let known = &facts.effects[effect];
    let first = known.standing.as_ref().unwrap_or(result);
    if judge.applied && first != standing {
        judge.violated(
            Rule::EffectWriteOnce,
            id(facts, effect),
            format_args!("a record answered {:?} although {:?} stands", standing.value, first.value),
        );
    }
    if known.standing.is_none() {
        denied(facts, judge, effect, standing);
        if standing.is_in_doubt() {
            let began = known.intent.and_then(|(run, _)| Some((known.begun_in?, facts.runs[run].log.lease?.attempt)));
            if let Some((began, now)) = began {
                judge.reached(if began == now { Sometimes::InDoubtAtOnce } else { Sometimes::InDoubtOnReplay });
            }
        }
    }
    agrees(facts, judge, effect, standing, "a record");
}

/// `effect-write-once`, at a look-up as applied: it tells the result that stands, or none while there is none.
pub fn looked_up(facts: &Facts, judge: &mut Judge<'_>, effect: EffectAt, told: Option<&EffectResult>) {
    let standing = facts.effects[effect].standing.as_ref();
    if standing != told {
        judge.violated(
            Rule::EffectWriteOnce,
            id(facts, effect),
            format_args!(
                "a look-up told {:?} although {:?} stands",
                told.map(|told| &told.value),
                standing.map(|standing| &standing.value)
            ),
        );
    }
    if told.is_some() {
        judge.reached(Sometimes::JournalHit);
    }
}

/// `effect-write-once`, at a `tool.result`: it is the standing result of the journal, which was there before (a refusal
/// stands from here on, whether or not the journal has it yet: only the log is fenced), and of the effect that the step
/// intends. `effect-not-denied` too.
pub fn logged(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, step: Step, effect: EffectAt, result: &EffectResult) {
    let standing = facts.effects[effect].standing.as_ref();
    if judge.applied && standing.is_none() && !result.is_refused() {
        judge.violated(
            Rule::EffectWriteOnce,
            id(facts, effect),
            format_args!("run {} logs a result that the journal does not hold", facts.name(run)),
        );
    }
    let intended = facts.runs[run].log.step(step).and_then(|mark| mark.effect);
    if judge.applied && intended != Some(effect) {
        judge.violated(
            Rule::EffectIdentity,
            facts.name(run),
            format_args!("step {step} logs the result of another effect than it intends"),
        );
    }
    agrees(facts, judge, effect, result, "a log entry");
    denied(facts, judge, effect, result);
}

fn agrees(facts: &Facts, judge: &mut Judge<'_>, effect: EffectAt, seen: &EffectResult, by: &str) {
    if let Some(standing) = facts.effects[effect].standing.as_ref().filter(|standing| *standing != seen) {
        judge.violated(
            Rule::EffectWriteOnce,
            id(facts, effect),
            format_args!("{by} says {:?} although {:?} stands", seen.value, standing.value),
        );
    }
}

fn denied(facts: &Facts, judge: &mut Judge<'_>, effect: EffectAt, result: &EffectResult) {
    if result.is_refused() && facts.effects[effect].happened > 0 {
        judge.violated(
            Rule::EffectNotDenied,
            id(facts, effect),
            format_args!("it is recorded as refused and had happened"),
        );
    }
}

/// `effect-write-once`, at what an agent got from the step of an effect: the value of the standing result, or an
/// error where that is one. Errors that are not the effect's own (a cancel, a lost lease) are no answer of it.
pub fn gave(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, step: Step, value: &Json) {
    let Some(effect) = facts.runs[run].log.step(step).and_then(|mark| mark.effect) else { return };
    let code = value.get("error").and_then(|code| code.as_str());
    let own = matches!(code, Some("in_doubt" | "InDoubt" | "refused" | "Refused"));
    let right = match facts.effects[effect].standing.as_ref() {
        Some(standing) if standing.status == crate::kernel::EffectStatus::Ok => {
            !own && (code.is_some() || standing.artifact_ref.is_some() || standing.value == *value)
        }
        Some(_) => value.get("error").is_some(),
        None => code.is_some() && !own,
    };
    if judge.applied && !right {
        judge.violated(
            Rule::EffectWriteOnce,
            id(facts, effect),
            format_args!("the agent of run {} got {value:?}, which does not stand", facts.name(run)),
        );
    }
}

/// `effect-settled`, at a terminal entry: every intent of the log has its result, and the entry names just the effects
/// whose result is that nobody knows.
pub fn ended(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, body: &Body) {
    if let Some(open) = facts.runs[run].log.open.first() {
        judge.violated(
            Rule::EffectSettled,
            id(facts, *open),
            format_args!("run {} has `{}` over this open intent", facts.name(run), body.kind()),
        );
    }
    let Some(ending) = body.ending() else { return };
    let named = ending.in_doubt();
    let in_doubt = |body: &Body| match body {
        Body::ToolResult { result, .. } if result.is_in_doubt() => Some(result.effect_id),
        _ => None,
    };
    let mut doubts = facts.runs[run].log.iter().filter_map(|entry| in_doubt(&entry.body));
    let is_doubt = |effect| facts.runs[run].log.iter().any(|entry| in_doubt(&entry.body) == Some(effect));
    let unnamed = doubts.find(|effect| !named.contains(effect));
    if let Some(effect) = unnamed.or_else(|| named.iter().copied().find(|effect| !is_doubt(*effect))) {
        judge.violated(
            Rule::EffectSettled,
            effect,
            format_args!("run {} has `{}`, which names {named:?} as in doubt", facts.name(run), body.kind()),
        );
    }
}

/// `effect-settled`, once, after healing: no run sleeps over an open intent, a halted one apart (nothing may be done
/// for it before somebody resumes it).
pub fn finish(facts: &Facts, judge: &mut Judge<'_>) {
    for (place, run) in facts.runs.iter() {
        if let Some(open) = run.log.open.first().filter(|_| !run.halted) {
            judge.violated(
                Rule::EffectSettled,
                id(facts, *open),
                format_args!("run {} came to rest over this open intent", facts.name(place)),
            );
        }
    }
}

fn id(facts: &Facts, effect: EffectAt) -> crate::kernel::EffectId {
    facts.effects[effect].id.expect("a place is made with its id")
}
