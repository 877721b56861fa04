//! Which tree each run belongs to, and how many units of its budget a tree has given out.
//!
//! A run holds one unit of its tree from its reservation or its making on, until the unit is given back. Units
//! are counted per tree, never by looking at its runs; those of runs whose log is closed are counted besides,
//! for they are about to be given back.

use super::run::RunNo;

/// Every run's place, by the number of the run.
#[derive(Clone, Debug, Default)]
pub(super) struct Trees(Vec<Member>);

/// A run in its tree; and the tree's counts, where the run is its root.
#[derive(Clone, Copy, Debug)]
struct Member {
    root: RunNo,
    holds_unit: bool,
    /// Whether its log is closed.
    is_closed: bool,
    /// How many units the tree of this root has given out.
    units: u32,
    /// How many of these are held by runs whose log is closed.
    closing: u32,
}

impl Trees {
    /// A new run, the next by number, holds a unit of the tree of `root`: its own number for a root.
    pub fn plant(&mut self, no: RunNo, root: RunNo) {
        debug_assert_eq!(no.0 as usize, self.0.len(), "runs are planted in the order of their numbers");
        self.0.push(Member { root, holds_unit: false, is_closed: false, units: 0, closing: 0 });
        self.take(no);
    }

    /// The root of a run's tree.
    pub fn root(&self, no: RunNo) -> RunNo {
        self.member(no).root
    }

    /// Whether the run is the root of a tree.
    pub fn is_root(&self, no: RunNo) -> bool {
        self.root(no) == no
    }

    /// How many units the tree of this root has given out.
    pub fn units(&self, root: RunNo) -> u32 {
        self.member(root).units
    }

    /// Whether a unit of the tree of this root is about to be given back.
    pub fn is_shrinking(&self, root: RunNo) -> bool {
        self.member(root).closing > 0
    }

    /// Whether the run holds a unit.
    pub fn holds_unit(&self, no: RunNo) -> bool {
        self.member(no).holds_unit
    }

    /// Whether the run's log is closed.
    pub fn is_closed(&self, no: RunNo) -> bool {
        self.member(no).is_closed
    }

    /// The run's log is closed from now on.
    pub fn close(&mut self, no: RunNo) {
        let held = self.give_back(no);
        self.member_mut(no).is_closed = true;
        if held {
            self.take(no);
        }
    }

    /// The run holds no unit from now on. Tells whether it held one.
    pub fn give_back(&mut self, no: RunNo) -> bool {
        let Member { root, holds_unit, is_closed, .. } = *self.member(no);
        if holds_unit {
            self.member_mut(no).holds_unit = false;
            let root = self.member_mut(root);
            root.units -= 1;
            root.closing -= u32::from(is_closed);
        }
        holds_unit
    }

    /// The run goes over to the tree of `root`, with the unit that it holds.
    pub fn replant(&mut self, no: RunNo, root: RunNo) {
        let held = self.give_back(no);
        self.member_mut(no).root = root;
        if held {
            self.take(no);
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The run, which holds none, takes a unit of its tree.
    fn take(&mut self, no: RunNo) {
        let member = self.member_mut(no);
        member.holds_unit = true;
        let (root, is_closed) = (member.root, member.is_closed);
        let root = self.member_mut(root);
        root.units += 1;
        root.closing += u32::from(is_closed);
    }

    fn member(&self, no: RunNo) -> &Member {
        &self.0[no.0 as usize]
    }

    fn member_mut(&mut self, no: RunNo) -> &mut Member {
        &mut self.0[no.0 as usize]
    }
}
