//! The reference store: a pure state machine.
