//! Effects: intent, act, receipt, result, in this order.

use std::io;
use std::sync::Arc;

use serde_json::{Value, json};

use super::hold::Hold;
use super::pace::Pauses;
use super::seat::Seat;
use super::step::Given;
use super::{ModelCall, StepError};
use crate::kernel::{
    Artifacts, Body, Budget, CallError, CallKind, Effect, EffectResult, EffectStatus, INLINE_BYTES_MAX, Journal, Json,
    Perform, Performed, Policy, Span, Spend, Step,
};

impl Seat {
    /// Brings an effect whose intent stands in the log to its result; `fresh` when this very call has just
    /// written the intent, so that surely nothing was done about it yet.
    pub async fn finish_effect(&self, step: Step, limit: Option<Span>, fresh: bool) -> Result<Given, StepError> {
        if self.hold.log.borrow().result(step).is_none() {
            let (effect, policy) = self.intent(step);
            let limit = limit.unwrap_or(self.hold.floor.settings.effect_limit);
            let (standing, value) = self.receipt(step, effect, policy, limit, fresh).await?;
            spend_result(&self.hold, step, &standing).await;
            self.end_step(step, Body::ToolResult { step, result: standing }).await;
            if let Some(value) = value {
                return Ok(Given::Value(value));
            }
        }
        self.recorded_result(step).await
    }

    fn intent(&self, step: Step) -> (Effect, Policy) {
        match &*self.hold.log.borrow().steps[&step].body {
            Body::ToolCalled { effect, policy, .. } => (effect.clone(), *policy),
            other => unreachable!("an effect began with {}", other.kind()),
        }
    }

    /// The standing result of an effect; and its value, where it is at hand though it is kept as an artifact.
    async fn receipt(
        &self,
        step: Step,
        effect: Effect,
        policy: Policy,
        limit: Span,
        fresh: bool,
    ) -> Result<(EffectResult, Option<Json>), StepError> {
        let store = &self.hold.floor.store;
        if !fresh && let Some(standing) = self.hold.settled(async || store.lookup(effect.id).await).await {
            return Ok((standing, None));
        }
        let (result, value) = if !fresh && policy == Policy::AtMostOnce {
            (EffectResult::in_doubt(effect.id), None)
        } else {
            self.perform(step, (effect, policy), limit, !fresh).await?
        };
        if result.is_refused() {
            // A receipt is not fenced. One of a former holder that says "refused" could land after its successor
            // has asked again, and the effect has happened. So a refusal passes the fence of the log first: from
            // then on nobody asks again.
            self.end_step(step, Body::ToolResult { step, result: result.clone() }).await;
        }
        let standing = self.hold.settled(async || store.record(result.clone()).await).await;
        Ok((standing.clone(), value.filter(|_| standing == result)))
    }

    /// Asks the outside world until the outcome is decided as far as the policy allows. Once a request may have
    /// been carried out (`asked_before`, or an unknown outcome here), the refusal of another one is no proof that
    /// the effect did not happen.
    async fn perform(
        &self,
        step: Step,
        (effect, policy): (Effect, Policy),
        limit: Span,
        asked_before: bool,
    ) -> Result<(EffectResult, Option<Json>), StepError> {
        let (id, mut may_have_happened) = (effect.id, asked_before);
        let mut pauses = Pauses::new();
        loop {
            if self.hold.has_run_out() {
                return self.hold.lose().await;
            }
            let request = Perform { run: self.hold.run(), step, effect: effect.clone(), limit };
            match self.hold.floor.outside.perform(request).await {
                Ok(Performed::Done(value)) => return Ok(self.kept(EffectResult::ok(id, value)).await),
                Ok(Performed::Refused { reason, after }) if !may_have_happened => {
                    return Ok((EffectResult::refused(id, &reason, after), None));
                }
                Ok(Performed::Refused { .. }) => return Ok((EffectResult::in_doubt(id), None)),
                Ok(Performed::Unknown) | Err(CallError::Unknown) => {
                    if policy == Policy::AtMostOnce {
                        return Ok((EffectResult::in_doubt(id), None));
                    }
                    may_have_happened = true;
                }
                Err(CallError::Unavailable) => {}
            }
            self.check()?;
            self.hold.floor.host.sleep(pauses.after_failure()).await;
            self.check()?;
        }
    }

    /// The receipt of an effect that happened. A large value goes to the artifacts and stays at hand.
    async fn kept(&self, result: EffectResult) -> (EffectResult, Option<Json>) {
        if is_small(&result.value) {
            return (result, None);
        }
        let bytes: Arc<[u8]> = serde_json::to_vec(&result.value).expect("a document is written to memory").into();
        let artifact = self.hold.settled(async || self.hold.floor.store.put(bytes.clone()).await).await;
        // What was used stays in sight of whoever spends it.
        let usage = result.value.get("usage").map_or(Value::Null, |usage| json!({ "usage": usage }));
        let receipt = EffectResult { value: Json::new(usage), artifact_ref: Some(artifact), ..result.clone() };
        (receipt, Some(result.value))
    }

    /// Brings a call of a model to its result: an effect, of which one thing more is asked.
    pub async fn finish_model(&self, step: Step, call: &ModelCall, fresh: bool) -> Result<Given, StepError> {
        let answer = self.finish_effect(step, call.limit, fresh).await?.into_json();
        let text = answer.get("text").and_then(Value::as_str);
        let is_document = text.is_some_and(|text| serde_json::from_str::<Value>(text).is_ok());
        if call.json && !is_document {
            return Err(StepError::Malformed { effect_id: self.intent(step).0.id });
        }
        Ok(Given::Value(answer))
    }

    /// What the log says that an effect gave.
    async fn recorded_result(&self, step: Step) -> Result<Given, StepError> {
        let result = match self.hold.log.borrow().result(step).map(|body| &**body) {
            Some(Body::ToolResult { result, .. }) => result.clone(),
            other => unreachable!("an effect ended with {other:?}"),
        };
        let effect_id = result.effect_id;
        if result.is_in_doubt() {
            return Err(StepError::InDoubt { effect_id });
        }
        if result.status == EffectStatus::Error {
            let reason = result.value.get("reason").and_then(|reason| reason.as_str()).unwrap_or_default();
            return Err(StepError::Refused { effect_id, reason: reason.into(), after: result.retry_after() });
        }
        let Some(artifact) = result.artifact_ref else { return Ok(Given::Value(result.value)) };
        let fetch = async || match self.hold.floor.store.get(artifact.clone()).await?.as_deref().map(parse) {
            Some(Some(value)) => Ok(value),
            // A receipt is recorded after its artifact, so the artifact is there: the store is not ready.
            _ => Err(CallError::Unavailable),
        };
        Ok(Given::Value(self.hold.settled(fetch).await))
    }
}

/// Spends what the recorded result of a model call used, once over all who find it.
pub(super) async fn spend_result(hold: &Hold, step: Step, result: &EffectResult) {
    let call = hold.log.borrow().steps.get(&step).map(|record| record.opening().call);
    if call != Some(CallKind::Model) || result.status != EffectStatus::Ok {
        return;
    }
    let used = |what: &str| result.value.get("usage").and_then(|usage| usage.get(what)?.as_u64()).unwrap_or_default();
    let amounts = Spend { tokens: used("tokens"), cost_micros: used("cost_micros"), turns: 1 };
    hold.settled(async || hold.floor.store.spend(hold.run(), result.effect_id, amounts).await).await;
}

fn parse(bytes: &[u8]) -> Option<Json> {
    serde_json::from_slice(bytes).ok()
}

/// Whether a value is small enough to stand in the log.
fn is_small(value: &Json) -> bool {
    serde_json::to_writer(Room(INLINE_BYTES_MAX), &**value).is_ok()
}

/// Takes so many bytes, keeps none, and fails at the next.
struct Room(usize);

impl io::Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_small_up_to_the_limit_in_bytes_with_its_quotes() {
        let text = |length: usize| Json::new("x".repeat(length - 2).into());
        assert!(is_small(&text(INLINE_BYTES_MAX)));
        assert!(!is_small(&text(INLINE_BYTES_MAX + 1)));
    }
}
