//! The worker against the memory store, in a small virtual world: what it does when nothing goes wrong, and
//! that nothing else comes of it when one call does, whichever it is.

mod agents;
mod ask;
mod cycle;
mod family;
mod faults;
mod line;
mod models;
mod stops;
mod world;
