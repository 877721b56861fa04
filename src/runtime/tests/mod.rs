//! The worker against the memory store, in a small virtual world: what it does when nothing goes wrong, and
//! that nothing else comes of it when one call does, whichever it is.

mod agents;
mod cycle;
mod faults;
mod line;
mod stops;
mod world;
