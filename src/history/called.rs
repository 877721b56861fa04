//! What a call is, without what it is about: the unit in which hot calls are drawn and coverage is counted.

use serde::{Deserialize, Serialize};

use super::Asked;
use crate::kernel::{AgentId, Body, Ending, Request, RunId, TopicId, TraceBody};

macro_rules! called {
    ($($what:ident $words:literal;)+) => {
        /// The contract's method, of an append with the kind of its entry; or a place that is no call and may
        /// deviate all the same: a grant, a lease's term, an armed timer, a worker's clock, its speed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Called {
            $(#[doc = concat!("`", $words, "`")] #[serde(rename = $words)] $what),+
        }

        impl Called {
            /// Everything that can be called.
            pub const ALL: &'static [Called] = &[$(Called::$what),+];

            /// In words, as `append tool.called`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Called::$what => $words),+ }
            }
        }
    };
}

called! {
    RunStarted "append run.started";
    RunResumed "append run.resumed";
    MsgReceived "append msg.received";
    ToolCalled "append tool.called";
    ToolResult "append tool.result";
    ChildSpawned "append child.spawned";
    SpawnDenied "append spawn.denied";
    ChildCompleted "append child.completed";
    MessageSent "append message.sent";
    TopicPublished "append topic.published";
    ReplySent "append reply.sent";
    AskSent "append ask.sent";
    TimerSet "append timer.set";
    TimerFired "append timer.fired";
    SignalReceived "append signal.received";
    AskResolved "append ask.resolved";
    StepValue "append step.value";
    RunSuspended "append run.suspended";
    CancelRequested "append run.cancel_requested";
    RunRetrying "append run.retrying";
    OrphansResolved "append orphans.resolved";
    RunHalted "append run.halted";
    RunCompleted "append run.completed";
    RunFailed "append run.failed";
    RunCancelled "append run.cancelled";
    UserKnown "append user.known";
    UserConfigured "append user.configured";
    PlanProposed "append plan.proposed";
    PlanEdited "append plan.edited";
    PlanApproved "append plan.approved";
    PlanRejected "append plan.rejected";
    PlanDispatched "append plan.dispatched";
    PlanClosed "append plan.closed";
    PlanFeedback "append plan.feedback";
    TraceAdded "append trace.added";
    MemoryCommitted "append memory.committed";
    OtherEntry "append other";
    Read "read";
    Tail "tail";
    LastSeq "last_seq";
    Lookup "lookup";
    Record "record";
    Deliver "deliver";
    Drain "drain";
    PendingCount "pending_count";
    DeadLetters "dead_letters";
    Ack "ack";
    Nack "nack";
    Redrive "redrive";
    Receiver "receiver";
    Register "register";
    Create "create";
    Reserve "reserve";
    ReturnUnit "return_unit";
    Detach "detach";
    Spec "spec";
    Wake "wake";
    Resume "resume";
    Cancel "cancel";
    Lease "lease";
    Heartbeat "heartbeat";
    Release "release";
    Status "status";
    RunOf "run_of";
    Pending "pending";
    StoreClock "store_clock";
    Signal "signal";
    Timer "timer";
    Claim "claim";
    Follow "follow";
    Unfollow "unfollow";
    FollowersOf "followers_of";
    Following "following";
    Spend "spend";
    Totals "totals";
    Put "put";
    Get "get";
    Perform "perform";
    Term "term of a lease";
    Armed "armed timer";
    Clock "clock";
    Speed "speed";
}

impl Called {
    /// Whether a request is sent: not for a lease's term, an armed timer, a worker's clock and its speed.
    pub const fn is_call(self) -> bool {
        !matches!(self, Called::Term | Called::Armed | Called::Clock | Called::Speed)
    }

    /// Every method of store and outside, as scenario files name them: the appends of all kinds are one.
    pub fn methods() -> Vec<&'static str> {
        let calls = Called::ALL.iter().filter(|called| called.is_call());
        let mut methods: Vec<&str> = calls.filter_map(|called| called.as_str().split(' ').next()).collect();
        methods.dedup();
        methods
    }

    /// What is called by `asked`.
    pub fn of(asked: &Asked) -> Called {
        match asked {
            Asked::Outside(_) => Called::Perform,
            Asked::Store(Request::Append { body, .. }) => Called::append(body),
            Asked::Store(request) => Called::method(request),
        }
    }

    fn append(body: &Body) -> Called {
        match body {
            Body::RunStarted(_) => Called::RunStarted,
            Body::RunResumed(_) => Called::RunResumed,
            Body::MsgReceived { .. } => Called::MsgReceived,
            Body::ToolCalled { .. } => Called::ToolCalled,
            Body::ToolResult { .. } => Called::ToolResult,
            Body::ChildSpawned { .. } => Called::ChildSpawned,
            Body::SpawnDenied { .. } => Called::SpawnDenied,
            Body::ChildCompleted { .. } => Called::ChildCompleted,
            Body::MessageSent { .. } => Called::MessageSent,
            Body::TopicPublished { .. } => Called::TopicPublished,
            Body::ReplySent { .. } => Called::ReplySent,
            Body::AskSent { .. } => Called::AskSent,
            Body::TimerSet { .. } => Called::TimerSet,
            Body::TimerFired { .. } => Called::TimerFired,
            Body::SignalReceived { .. } => Called::SignalReceived,
            Body::AskResolved { .. } => Called::AskResolved,
            Body::StepValue { .. } => Called::StepValue,
            Body::RunSuspended { .. } => Called::RunSuspended,
            Body::CancelRequested { .. } => Called::CancelRequested,
            Body::RunRetrying { .. } => Called::RunRetrying,
            Body::OrphansResolved { .. } => Called::OrphansResolved,
            Body::RunHalted { .. } => Called::RunHalted,
            Body::Ended(Ending::Completed { .. }) => Called::RunCompleted,
            Body::Ended(Ending::Failed { .. }) => Called::RunFailed,
            Body::Ended(Ending::Cancelled { .. }) => Called::RunCancelled,
            Body::Trace(trace) => Called::trace(trace),
            Body::Other { .. } => Called::OtherEntry,
        }
    }

    const fn trace(trace: &TraceBody) -> Called {
        match trace {
            TraceBody::UserKnown { .. } => Called::UserKnown,
            TraceBody::UserConfigured { .. } => Called::UserConfigured,
            TraceBody::PlanProposed { .. } => Called::PlanProposed,
            TraceBody::PlanEdited { .. } => Called::PlanEdited,
            TraceBody::PlanApproved { .. } => Called::PlanApproved,
            TraceBody::PlanRejected { .. } => Called::PlanRejected,
            TraceBody::PlanDispatched { .. } => Called::PlanDispatched,
            TraceBody::PlanClosed { .. } => Called::PlanClosed,
            TraceBody::PlanFeedback { .. } => Called::PlanFeedback,
            TraceBody::TraceAdded { .. } => Called::TraceAdded,
            TraceBody::MemoryCommitted { .. } => Called::MemoryCommitted,
        }
    }

    fn method(request: &Request) -> Called {
        match request {
            Request::Append { body, .. } => Called::append(body),
            Request::Read { .. } => Called::Read,
            Request::Tail { .. } => Called::Tail,
            Request::LastSeq { .. } => Called::LastSeq,
            Request::Lookup { .. } => Called::Lookup,
            Request::Record { .. } => Called::Record,
            Request::Deliver { .. } => Called::Deliver,
            Request::Drain { .. } => Called::Drain,
            Request::PendingCount { .. } => Called::PendingCount,
            Request::DeadLetters { .. } => Called::DeadLetters,
            Request::Ack { .. } => Called::Ack,
            Request::Nack { .. } => Called::Nack,
            Request::Redrive { .. } => Called::Redrive,
            Request::Receiver { .. } => Called::Receiver,
            Request::Register { .. } => Called::Register,
            Request::Create { .. } => Called::Create,
            Request::Reserve { .. } => Called::Reserve,
            Request::ReturnUnit { .. } => Called::ReturnUnit,
            Request::Detach { .. } => Called::Detach,
            Request::Spec { .. } => Called::Spec,
            Request::Wake { .. } => Called::Wake,
            Request::Resume { .. } => Called::Resume,
            Request::Cancel { .. } => Called::Cancel,
            Request::Lease { .. } => Called::Lease,
            Request::Heartbeat { .. } => Called::Heartbeat,
            Request::Release { .. } => Called::Release,
            Request::Status { .. } => Called::Status,
            Request::RunOf { .. } => Called::RunOf,
            Request::Pending => Called::Pending,
            Request::Clock => Called::StoreClock,
            Request::Signal { .. } => Called::Signal,
            Request::Timer { .. } => Called::Timer,
            Request::Claim { .. } => Called::Claim,
            Request::Follow { .. } => Called::Follow,
            Request::Unfollow { .. } => Called::Unfollow,
            Request::FollowersOf { .. } => Called::FollowersOf,
            Request::Following { .. } => Called::Following,
            Request::Spend { .. } => Called::Spend,
            Request::Totals { .. } => Called::Totals,
            Request::Put { .. } => Called::Put,
            Request::Get { .. } => Called::Get,
        }
    }
}

/// What a call is about: a run, or else the mailbox of an address, or a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About<'a> {
    /// A run.
    Run(RunId),
    /// An address's mailbox, whoever is behind it.
    Mailbox(&'a AgentId),
    /// A topic, whoever follows it.
    Topic(&'a TopicId),
    /// None of these, as far as the call itself tells.
    Neither,
}

impl Asked {
    /// The run, mailbox or topic that the call is about.
    pub fn about(&self) -> About<'_> {
        let request = match self {
            Asked::Outside(perform) => return About::Run(perform.run),
            Asked::Store(request) => request,
        };
        match request {
            Request::Append { run, .. }
            | Request::Read { run, .. }
            | Request::Tail { run, .. }
            | Request::LastSeq { run }
            | Request::Drain { run, .. }
            | Request::Ack { run, .. }
            | Request::Nack { run, .. }
            | Request::ReturnUnit { run }
            | Request::Detach { run }
            | Request::Spend { run, .. }
            | Request::Totals { run }
            | Request::Spec { run }
            | Request::Wake { run, .. }
            | Request::Resume { run }
            | Request::Cancel { run, .. }
            | Request::Status { run }
            | Request::Signal { run, .. }
            | Request::Timer { run, .. }
            | Request::Claim { run, .. } => About::Run(*run),
            Request::Heartbeat { lease } | Request::Release { lease, .. } => About::Run(lease.run),
            Request::Reserve { agent, .. } => About::Mailbox(agent),
            Request::Follow { subscription, .. } | Request::Unfollow { subscription, .. } => {
                About::Topic(&subscription.topic)
            }
            Request::FollowersOf { topic } => About::Topic(topic),
            Request::Create { spec, .. } => About::Run(spec.run),
            Request::Deliver { to: agent, .. }
            | Request::PendingCount { agent }
            | Request::DeadLetters { agent }
            | Request::Redrive { agent, .. }
            | Request::Receiver { agent, .. }
            | Request::Following { agent }
            | Request::RunOf { agent } => About::Mailbox(agent),
            Request::Lookup { .. }
            | Request::Record { .. }
            | Request::Register { .. }
            | Request::Lease { .. }
            | Request::Pending
            | Request::Clock
            | Request::Put { .. }
            | Request::Get { .. } => About::Neither,
        }
    }
}
