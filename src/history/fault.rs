//! The kinds of deviations, as histories, files and reports name them.

use serde::{Deserialize, Serialize};

/// Everything that may deviate from the calm schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// A worker dies around a call and restarts later.
    Crash,
    /// A worker freezes around a call and goes on later with beliefs from the past.
    Pause,
    /// A worker is cut off from store and outside.
    Partition,
    /// A request is lost: the caller is told nothing.
    LostRequest,
    /// A reply is lost: the request was applied.
    LostReply,
    /// The store does not take a request, and says so.
    StoreError,
    /// The store is out of reach for everybody.
    Outage,
    /// The store restarts from what is durable: calls at it are broken off.
    StoreRestart,
    /// A request arrives twice.
    Duplicate,
    /// A request or a reply takes its time.
    Delay,
    /// A lease is granted or renewed for less than asked.
    ShortLease,
    /// A timer fires late.
    TimerJitter,
    /// A worker's clock is off from the start.
    ClockSkew,
    /// A worker's clock steps.
    ClockStep,
    /// A worker is asked to stop gracefully, and starts anew later.
    Stop,
    /// A tool takes longer.
    ToolSlow,
    /// A tool refuses.
    ToolRefuses,
    /// A tool cannot vouch for what it did, or did not.
    ToolUnknown,
    /// A worker is slower throughout.
    Slow,
    /// A request is held back until another call was applied.
    Hold,
    /// A model says something that is cut off in the middle.
    ToolMalformed,
}

impl FaultKind {
    /// Every kind.
    pub const ALL: [FaultKind; 21] = [
        FaultKind::Crash,
        FaultKind::Pause,
        FaultKind::Partition,
        FaultKind::LostRequest,
        FaultKind::LostReply,
        FaultKind::StoreError,
        FaultKind::Outage,
        FaultKind::StoreRestart,
        FaultKind::Duplicate,
        FaultKind::Delay,
        FaultKind::ShortLease,
        FaultKind::TimerJitter,
        FaultKind::ClockSkew,
        FaultKind::ClockStep,
        FaultKind::Stop,
        FaultKind::ToolSlow,
        FaultKind::ToolRefuses,
        FaultKind::ToolUnknown,
        FaultKind::Slow,
        FaultKind::Hold,
        FaultKind::ToolMalformed,
    ];

    /// The kind in words, as scenario files have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            FaultKind::Crash => "crash",
            FaultKind::Pause => "pause",
            FaultKind::Partition => "partition",
            FaultKind::LostRequest => "lost_request",
            FaultKind::LostReply => "lost_reply",
            FaultKind::StoreError => "store_error",
            FaultKind::Outage => "outage",
            FaultKind::StoreRestart => "store_restart",
            FaultKind::Duplicate => "duplicate",
            FaultKind::Delay => "delay",
            FaultKind::ShortLease => "short_lease",
            FaultKind::TimerJitter => "timer_jitter",
            FaultKind::ClockSkew => "clock_skew",
            FaultKind::ClockStep => "clock_step",
            FaultKind::Stop => "stop",
            FaultKind::ToolSlow => "tool_slow",
            FaultKind::ToolRefuses => "tool_refuses",
            FaultKind::ToolUnknown => "tool_unknown",
            FaultKind::Slow => "slow",
            FaultKind::Hold => "hold",
            FaultKind::ToolMalformed => "tool_malformed",
        }
    }

    /// Whether it has a length, or an amount.
    pub const fn lasts(self) -> bool {
        !matches!(
            self,
            FaultKind::Hold
                | FaultKind::LostRequest
                | FaultKind::LostReply
                | FaultKind::StoreError
                | FaultKind::ToolRefuses
                | FaultKind::ToolUnknown
                | FaultKind::ToolMalformed
        )
    }

    /// What happens, in a sentence.
    pub const fn about(self) -> &'static str {
        match self {
            FaultKind::Crash => "A worker dies around a call and restarts later.",
            FaultKind::Pause => "A worker freezes around a call and goes on later with beliefs from the past.",
            FaultKind::Partition => "A worker is cut off from the store and the outside world.",
            FaultKind::LostRequest => "A request is lost; its caller hears nothing.",
            FaultKind::LostReply => "A request is applied and its reply lost.",
            FaultKind::StoreError => "The store does not take a request, and says so.",
            FaultKind::Outage => "The store is out of reach for everybody.",
            FaultKind::StoreRestart => "The store restarts from what is durable; calls at it are broken off.",
            FaultKind::Duplicate => "A request arrives twice.",
            FaultKind::Delay => "A request or a reply takes up to twice a lease.",
            FaultKind::ShortLease => "A lease is granted or renewed for less than asked.",
            FaultKind::TimerJitter => "A timer fires late, never early.",
            FaultKind::ClockSkew => "A worker's clock is off from its start.",
            FaultKind::ClockStep => "A worker's clock steps.",
            FaultKind::Stop => "A worker is stopped gracefully and starts anew later.",
            FaultKind::ToolSlow => "A tool takes longer than usual.",
            FaultKind::ToolRefuses => "A tool refuses; the effect did not happen.",
            FaultKind::ToolUnknown => "A tool cannot vouch for what it did, or did not.",
            FaultKind::Slow => "A worker is several times slower throughout.",
            FaultKind::Hold => "A request is held back until another call was applied.",
            FaultKind::ToolMalformed => "What a model says is cut off in the middle.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_written_as_it_is_named() {
        for kind in FaultKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }
}
