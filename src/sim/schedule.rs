//! A schedule: the calm one plus named deviations. Nothing else is free.

use serde::{Deserialize, Serialize};
use smallvec::{SmallVec, smallvec};

use super::faults::FaultKind;
use super::site::SiteKey;
use crate::history::{Actor, Called};
use crate::kernel::{Name, Span, Timestamp};

/// When a fault strikes, relative to the request that it strikes.
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Point {
    /// Before it is sent.
    Before,
    /// While it is on its way; it lands this long after it was sent.
    Flight(Span),
    /// After it was applied; the reply is not seen.
    After,
}

/// What happens at a site instead of the calm thing.
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// The caller dies, and starts anew after `restart`.
    Crash {
        /// When.
        point: Point,
        /// How long it stays dead.
        restart: Span,
    },
    /// The caller freezes.
    Pause {
        /// Before or after the request is sent.
        point: Point,
        /// For how long.
        lasts: Span,
    },
    /// The caller is cut off: before (its request is lost) or after (its reply is).
    Partition {
        /// When.
        point: Point,
        /// For how long.
        lasts: Span,
    },
    /// The request is lost.
    LostRequest,
    /// The reply is lost.
    LostReply,
    /// The store does not take the request, and says so.
    StoreError,
    /// The store cannot be reached from now on; the request is lost.
    Outage {
        /// For how long.
        lasts: Span,
    },
    /// The store restarts; the request is broken off.
    StoreRestart {
        /// How long it takes.
        lasts: Span,
    },
    /// The request arrives a second time, `after` the first.
    Duplicate {
        /// How much later.
        after: Span,
    },
    /// The request takes this much longer.
    DelayRequest {
        /// How much longer.
        by: Span,
    },
    /// The reply takes this much longer.
    DelayReply {
        /// How much longer.
        by: Span,
    },
    /// The lease runs only this long.
    ShortLease {
        /// How long.
        to: Span,
    },
    /// The timer fires this late.
    TimerLate {
        /// How late.
        by: Span,
    },
    /// The worker's clock is off by this from its start.
    ClockSkew {
        /// How far ahead; negative for behind.
        by: Span,
    },
    /// The caller's clock steps by this.
    ClockStep {
        /// How far ahead; negative for back.
        by: Span,
    },
    /// The caller is asked to stop gracefully, and starts anew `restart` after it has stopped.
    Stop {
        /// How long it stays away.
        restart: Span,
    },
    /// The tool takes this long.
    ToolSlow {
        /// How long.
        takes: Span,
    },
    /// The tool refuses.
    ToolRefuses {
        /// How long it asks to be left alone, where it says so: a rate limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<Span>,
    },
    /// The tool cannot vouch for the outcome.
    ToolUnknown {
        /// Whether the effect took hold all the same.
        happened: bool,
        /// How long after the request's arrival that shows, where it does before the answer would have been there: an
        /// answer that is cut.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<Span>,
    },
    /// The text of a model's answer is cut off in the middle.
    ToolMalformed,
    /// The worker's calls take this many times as long.
    Slow {
        /// How many times.
        factor: u32,
    },
    /// The request is held back on its way, and arrives just after the call at another site was applied. Its caller
    /// waits, and gives it up as usual. Where that other call does not come, the request is let go once nothing else is
    /// due before faults end.
    Hold {
        /// The other site's name; none for a request that only time lets go.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Name>,
        /// The longest that it is held; none for no bound.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<Span>,
    },
}

impl Fault {
    /// The kind that it is of.
    pub const fn kind(&self) -> FaultKind {
        match self {
            Fault::Crash { .. } => FaultKind::Crash,
            Fault::Pause { .. } => FaultKind::Pause,
            Fault::Partition { .. } => FaultKind::Partition,
            Fault::LostRequest => FaultKind::LostRequest,
            Fault::LostReply => FaultKind::LostReply,
            Fault::StoreError => FaultKind::StoreError,
            Fault::Outage { .. } => FaultKind::Outage,
            Fault::StoreRestart { .. } => FaultKind::StoreRestart,
            Fault::Duplicate { .. } => FaultKind::Duplicate,
            Fault::DelayRequest { .. } | Fault::DelayReply { .. } => FaultKind::Delay,
            Fault::ShortLease { .. } => FaultKind::ShortLease,
            Fault::TimerLate { .. } => FaultKind::TimerJitter,
            Fault::ClockSkew { .. } => FaultKind::ClockSkew,
            Fault::ClockStep { .. } => FaultKind::ClockStep,
            Fault::Stop { .. } => FaultKind::Stop,
            Fault::ToolSlow { .. } => FaultKind::ToolSlow,
            Fault::ToolRefuses { .. } => FaultKind::ToolRefuses,
            Fault::ToolUnknown { .. } => FaultKind::ToolUnknown,
            Fault::ToolMalformed => FaultKind::ToolMalformed,
            Fault::Slow { .. } => FaultKind::Slow,
            Fault::Hold { .. } => FaultKind::Hold,
        }
    }

    /// When it strikes, where it may be before its request, after it, or on the way.
    pub const fn point_mut(&mut self) -> Option<&mut Point> {
        match self {
            Fault::Crash { point, .. } | Fault::Pause { point, .. } | Fault::Partition { point, .. } => Some(point),
            _ => None,
        }
    }

    /// Its spans, to be changed, always in the same order: first when a request in flight lands; then how long the
    /// fault lasts, how late it makes something, or how far it puts a clock. None of a fault that strikes or does not.
    pub fn spans_mut(&mut self) -> SmallVec<[&mut Span; 2]> {
        match self {
            Fault::Crash { point: Point::Flight(lands), restart: span }
            | Fault::Pause { point: Point::Flight(lands), lasts: span }
            | Fault::Partition { point: Point::Flight(lands), lasts: span } => smallvec![lands, span],
            Fault::Crash { restart: span, .. }
            | Fault::Pause { lasts: span, .. }
            | Fault::Partition { lasts: span, .. }
            | Fault::Outage { lasts: span }
            | Fault::StoreRestart { lasts: span }
            | Fault::Duplicate { after: span }
            | Fault::DelayRequest { by: span }
            | Fault::DelayReply { by: span }
            | Fault::ShortLease { to: span }
            | Fault::TimerLate { by: span }
            | Fault::ClockSkew { by: span }
            | Fault::ClockStep { by: span }
            | Fault::Stop { restart: span }
            | Fault::Hold { most: Some(span), .. }
            | Fault::ToolRefuses { after: Some(span) }
            | Fault::ToolUnknown { after: Some(span), .. }
            | Fault::ToolSlow { takes: span } => smallvec![span],
            Fault::LostRequest
            | Fault::LostReply
            | Fault::StoreError
            | Fault::ToolRefuses { after: None }
            | Fault::ToolUnknown { after: None, .. }
            | Fault::ToolMalformed
            | Fault::Hold { most: None, .. }
            | Fault::Slow { .. } => smallvec![],
        }
    }

    /// Its spans, in the order of [`Fault::spans_mut`].
    pub fn spans(&self) -> SmallVec<[Span; 2]> {
        self.clone().spans_mut().into_iter().map(|span| *span).collect()
    }

    /// It with another span in place of the one of this number; itself if it has no such.
    pub fn with_span(mut self, number: usize, to: Span) -> Fault {
        if let Some(span) = self.spans_mut().get_mut(number) {
            **span = to;
        }
        self
    }
}

/// A fault at a site named in words, as files have it: `{"site": "billing#1 / lease 0 / append tool.called
/// step 0 / try 1", "fault": "crash", "point": "after", "restart": "1s"}`.
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema), schemars(extend("unevaluatedProperties" = false)))]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Deviation {
    /// The site's name.
    pub site: Name,
    /// What happens there.
    #[serde(flatten)]
    pub fault: Fault,
    /// The site as a number, where it is known: spares a replay the making of names.
    #[serde(skip)]
    pub key: Option<SiteKey>,
}

impl Deviation {
    /// A fault at a site named in words.
    pub fn named(site: &str, fault: Fault) -> Self {
        Deviation { site: site.into(), fault, key: None }
    }

    /// Of a stale deviation: the name of the site that never came up. That is its own site; or, where that one is
    /// among those that were `taken`, the one that a hold waited for in vain.
    pub fn missing<'a>(&'a self, taken: &[Deviation]) -> &'a Name {
        match &self.fault {
            Fault::Hold { until: Some(until), .. } if taken.iter().any(|other| other.site == self.site) => until,
            _ => &self.site,
        }
    }
}

/// A site that came up, and what may be tried there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteListing {
    /// Its name.
    pub name: Name,
    /// The site as a number.
    pub key: SiteKey,
    /// Every value that exhaust tries there.
    pub faults: Vec<Fault>,
    /// The state of the world as it came up, where that is known: two worlds of a scenario that are in the same state
    /// at a site go on alike, whatever else is listed for that site and those after it. It says nothing of what is
    /// listed for sites before.
    pub state: Option<u128>,
    /// When it came up: when a call was sent, or a grant given.
    pub at: Timestamp,
    /// What is called there.
    pub call: Called,
    /// Who calls, or is granted something; none for terms and timers, which are the store's.
    pub by: Option<Actor>,
    /// The address whose run, mailbox or signals it is about, where it is about any.
    pub address: Option<Name>,
}

impl SiteListing {
    /// A read by nobody in particular, at the beginning.
    #[cfg(test)]
    pub(crate) fn for_test(name: &str, faults: Vec<Fault>) -> Self {
        SiteListing {
            name: name.into(),
            key: SiteKey::for_test(name),
            faults,
            at: Timestamp::from_micros(0),
            call: Called::Read,
            by: None,
            address: None,
            state: None,
        }
    }

    /// One of its faults at this site.
    pub fn deviation(&self, fault: Fault) -> Deviation {
        Deviation { site: self.name.clone(), fault, key: Some(self.key) }
    }
}

/// Which deviations a world has. Nothing else is free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// None: every call takes its base latency, nothing fails, timers fire on time.
    Calm,
    /// What this seed draws, at the scenario's rates.
    Seed(u64),
    /// Exactly these.
    Fixed(Vec<Deviation>),
}
