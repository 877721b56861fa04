//! What a script says about how far its agent follows its log.

use crate::scenario::script::{Address, Child, Node, Op, Reference, Source, Target, Template, Topic};
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
            Op::Model(model) => self.template(&model.args),
            Op::Send { to, data } | Op::Ask { to, data, .. } => {
                self.address(to);
                self.template(data);
            }
            Op::Spawn(spawn) => {
                if let Child::At(address) = &spawn.child {
                    self.address(address);
                }
                self.template(&spawn.data);
            }
            Op::Signal { to, data, .. } => {
                self.target(to);
                self.template(data);
            }
            Op::Join { child: run, .. } | Op::Cancel { child: run, .. } | Op::Status(run) => self.target(run),
            Op::Reply { question, data } => {
                self.reference(question);
                self.template(data);
            }
            Op::Emit { topic, data } => {
                self.topic(topic);
                self.template(data);
            }
            Op::Follow(topic) | Op::Unfollow(topic) => self.topic(topic),
            Op::Log(data) | Op::Complete(data) => self.template(data),
            Op::All(members) => self.nodes(members),
            Op::Fail { when, .. } | Op::Panic(when) => self.stumbles |= when.first.is_some(),
            Op::If { value, then, otherwise, .. } => {
                self.reference(value);
                self.block(then);
                self.block(otherwise);
            }
            Op::Version { then, otherwise, .. } => {
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
            | Op::ChildrenOf
            | Op::Check
            | Op::Now
            | Op::Random
            | Op::Uuid
            | Op::Die(_) => {}
        }
    }

    fn address(&mut self, address: &Address) {
        if let Address::Reference(reference) = address {
            self.reference(reference);
        }
    }

    fn target(&mut self, target: &Target) {
        if let Target::Reference(reference) = target {
            self.reference(reference);
        }
    }

    fn topic(&mut self, topic: &Topic) {
        if let Topic::Reference(reference) = topic {
            self.reference(reference);
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
