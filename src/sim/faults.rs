//! What can go wrong, how often, and for how long: the faults of a scenario as data.

use std::collections::BTreeMap;

pub use crate::history::FaultKind;
use crate::kernel::{Name, Span};

/// How often one kind of fault comes, how many at most, how long each lasts, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultPlan {
    /// The chance at each site that it could strike, in millionths. (Per actor for skew and slowness.)
    pub rate_ppm: u32,
    /// The most that may come in one schedule; none for no bound.
    pub at_most: Option<u32>,
    /// How long it lasts, or how much it is: least and most, drawn log-uniformly.
    pub lasts: (Span, Span),
    /// Only from this long after the start.
    pub from: Span,
    /// Only until this long after the start.
    pub until: Span,
    /// Only at calls of these methods (`append`, `perform`, …); empty for all.
    pub calls: Vec<Name>,
    /// Only at these workers; empty for all.
    pub workers: Vec<Name>,
}

/// The faults of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults {
    /// A plan per kind that may come.
    pub plans: BTreeMap<FaultKind, FaultPlan>,
    /// How long after the start the world heals, at the latest.
    pub until: Span,
}

impl Faults {
    /// The most that any timer may be late by its jitter.
    pub fn timer_jitter(&self) -> Span {
        self.plans.get(&FaultKind::TimerJitter).map_or(Span::ZERO, |plan| plan.lasts.1)
    }
}

impl Default for Faults {
    fn default() -> Self {
        Faults { plans: BTreeMap::new(), until: Span::from_secs(15 * 60) }
    }
}

impl FaultPlan {
    /// A plan of this rate with the kind's usual lengths: up to twice a lease, where the kind has a length.
    pub fn new(kind: FaultKind, rate_ppm: u32, lease: Span) -> Self {
        let (least, most) = match kind {
            FaultKind::Outage | FaultKind::StoreRestart => (Span::from_millis(10), lease),
            FaultKind::ShortLease => (Span::from_millis(50), lease),
            FaultKind::TimerJitter => (Span::from_millis(1), Span::from_secs(3)),
            FaultKind::ClockSkew | FaultKind::ClockStep => (Span::from_millis(1), lease.times(2)),
            FaultKind::Slow => (Span::from_micros(2), Span::from_micros(16)),
            _ => (Span::from_micros(1), lease.times(2)),
        };
        FaultPlan {
            rate_ppm,
            at_most: None,
            lasts: (least, most),
            from: Span::ZERO,
            until: Span::MAX,
            calls: Vec::new(),
            workers: Vec::new(),
        }
    }
}

/// How a tool of the outside world behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// How long an answer takes: least (the calm value) and most (a deviation).
    pub takes: (Span, Span),
    /// The chance that a request is refused, in millionths.
    pub refuses_ppm: u32,
    /// The chance that the tool cannot vouch for the outcome, in millionths.
    pub unknown_ppm: u32,
    /// Whether a second request under a known key does nothing and gets the first one's answer.
    pub honours_key: bool,
    /// What it answers; none for `{"id": <effect id>}`. Answers are taken in order of effects that happen,
    /// the last again and again.
    pub answers: Vec<crate::kernel::Json>,
    /// The first so many requests are refused, in every schedule (for retries that must come calm, too).
    pub refuses_first: u32,
    /// What makes it a model, if it is one.
    pub model: Option<Model>,
}

/// What a model has beyond other tools: it answers a text, which costs tokens and money.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// The tokens of its answers, in order, the last again and again; none for no tokens.
    pub tokens: Vec<u64>,
    /// What its answers cost, in millionths of the currency, as the tokens are told.
    pub cost_micros: Vec<u64>,
    /// The chance that the text of an answer is cut off in the middle, in millionths.
    pub malformed_ppm: u32,
    /// The chance that an answer breaks off before its end, so that nobody has it, in millionths.
    pub cut_ppm: u32,
    /// The chance that a request is refused by a rate limit, in millionths.
    pub limited_ppm: u32,
    /// How long a rate limit asks to be left alone.
    pub limited_after: Span,
}

impl Default for Model {
    fn default() -> Self {
        Model {
            tokens: Vec::new(),
            cost_micros: Vec::new(),
            malformed_ppm: 0,
            cut_ppm: 0,
            limited_ppm: 0,
            limited_after: Span::from_secs(20),
        }
    }
}

impl Default for Tool {
    fn default() -> Self {
        Tool {
            takes: (Span::from_millis(200), Span::from_secs(4)),
            refuses_ppm: 0,
            unknown_ppm: 0,
            honours_key: false,
            answers: Vec::new(),
            refuses_first: 0,
            model: None,
        }
    }
}
