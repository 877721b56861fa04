//! The temporal layer, case by case.

mod day;
mod memory;
mod plans;
mod profiles;
mod sometimes;

use super::{Pair, history, told};

pub const PAIRS: &[&[Pair]] = &[plans::PAIRS, profiles::PAIRS, memory::PAIRS];
