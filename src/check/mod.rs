//! Invariants over a history.
