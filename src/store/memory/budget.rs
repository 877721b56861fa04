//! What trees have spent: sums per tree, and every key that was ever spent, in the whole store. Which tree a run
//! belongs to, and what that may spend, is the scheduler's knowledge.

use std::collections::{BTreeMap, BTreeSet};

use crate::kernel::{EffectId, RunId, Spend};

/// All accounts, by the root of the tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Budget {
    spent: BTreeMap<RunId, Spend>,
    keys: BTreeSet<EffectId>,
}

impl Budget {
    /// Adds to a tree's account unless the key was ever spent; tells whether it was not.
    pub fn spend(&mut self, tree: RunId, key: EffectId, amounts: Spend) -> bool {
        let is_new = self.keys.insert(key);
        if is_new {
            let spent = self.spent.entry(tree).or_default();
            *spent = spent.plus(amounts);
        }
        is_new
    }

    /// What a tree has spent.
    pub fn spent(&self, tree: RunId) -> Spend {
        self.spent.get(&tree).copied().unwrap_or_default()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.spent.clear();
        self.keys.clear();
    }
}
