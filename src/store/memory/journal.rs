//! The journal: one receipt per effect, written once. The first result stands for ever.

use std::collections::BTreeMap;

use crate::kernel::{EffectId, EffectResult};

/// All receipts.
#[derive(Clone, Debug, Default)]
pub(super) struct Receipts {
    results: BTreeMap<EffectId, EffectResult>,
}

impl Receipts {
    /// The receipt of an effect, if there is one.
    pub fn lookup(&self, effect: EffectId) -> Option<&EffectResult> {
        self.results.get(&effect)
    }

    /// Keeps `result` unless there is one for its effect; returns the one that stands.
    pub fn record(&mut self, result: &EffectResult) -> &EffectResult {
        self.results.entry(result.effect_id).or_insert_with(|| result.clone())
    }

    /// Every receipt, by effect.
    pub fn all(&self) -> impl Iterator<Item = &EffectResult> {
        self.results.values()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.results.clear();
    }
}
