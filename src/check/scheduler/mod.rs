//! The scheduler: leases ([`leases`]), the queue ([`queue`]), tries and their bounds ([`tries`]).

pub mod leases;
pub mod queue;
pub mod tries;
