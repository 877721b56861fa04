//! What a script says about how far its agent follows its log.

use crate::scenario::script::{Address, Node, Op, Reference, Source, Target, Template};
use crate::scenario::{Block, Code};

/// What is known of an agent's script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Nature {
    /// It looks at the number of its lease: it may leave its log, and must be halted before it acts.
    pub fickle: bool,
    /// It fails in its first leases, whatever its log says.
    pub stumbles: bool,
}

impl Nature {
    /// That of an agent of this code. Rust code cannot be looked into: it is held to follow its log whatever its lease.
    pub fn of(code: &Code) -> Nature {
        let mut nature = Nature::default();
        if let Code::Script(script) = code {
            nature.block(&script.steps);
        }
        nature
    }

    fn block(&mut self, block: &Block) {
        for node in block {
            self.op(&node.op);
            if let Some(branches) = &node.on_error {
                branches.cases.iter().for_each(|(_, block)| self.block(block));
                branches.otherwise.iter().for_each(|block| self.block(block));
            }
        }
    }

    fn nodes<'a>(&mut self, nodes: impl IntoIterator<Item = &'a Node>) {
        nodes.into_iter().for_each(|node| self.op(&node.op));
    }

    fn op(&mut self, op: &Op) {
        match op {
            Op::Effect(effect) => self.template(&effect.args),
            Op::Send { to, data } => {
                if let Address::Reference(reference) = to {
                    self.reference(reference);
                }
                self.template(data);
            }
            Op::Signal { to, data, .. } => {
                if let Target::Reference(reference) = to {
                    self.reference(reference);
                }
                self.template(data);
            }
            Op::Log(data) | Op::Complete(data) => self.template(data),
            Op::All(members) => self.nodes(members),
            Op::Fail { when, .. } | Op::Panic(when) => self.stumbles |= when.first.is_some(),
            Op::If { value, then, otherwise, .. } => {
                self.reference(value);
                self.block(then);
                self.block(otherwise);
            }
            Op::Repeat { block, .. } => self.block(block),
            Op::ForEach { list, block, .. } => {
                self.reference(list);
                self.block(block);
            }
            Op::ByAttempt(ways) => {
                self.fickle = true;
                ways.iter().for_each(|way| self.block(way));
            }
            Op::Sleep(_)
            | Op::WaitSignal { .. }
            | Op::Receive { .. }
            | Op::Check
            | Op::Now
            | Op::Random
            | Op::Uuid
            | Op::Die(_) => {}
        }
    }

    fn template(&mut self, template: &Template) {
        match template {
            Template::Fixed(_) => {}
            Template::Reference(reference) => self.reference(reference),
            Template::List(items) => items.iter().for_each(|item| self.template(item)),
            Template::Object(members) => members.iter().for_each(|(_, value)| self.template(value)),
        }
    }

    fn reference(&mut self, reference: &Reference) {
        self.fickle |= reference.from == Source::Attempt;
    }
}
