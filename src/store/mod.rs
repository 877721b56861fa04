//! Implementations of the storage contracts.

pub mod memory;
