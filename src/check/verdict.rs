//! The invariants by name, and where violations are gathered.

use std::fmt;

use serde::Serialize;

use super::sometimes::{Reached, Sometimes};
use crate::kernel::Timestamp;

/// A promise that a history breaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The invariant's name.
    pub invariant: &'static str,
    /// What it is about: a run, a message, an effect, a worker.
    pub subject: String,
    /// When it came to light, by the true clock.
    pub at: Timestamp,
    /// What is wrong, in words.
    pub message: String,
}

/// An invariant of the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Invariant {
    /// Its name.
    pub name: &'static str,
    /// What it promises, in one sentence.
    pub about: &'static str,
    /// Whether it is judged only on a history with applied facts.
    pub needs_applied: bool,
    /// Whether (a part of) it is judged only once the world has healed and come to rest.
    pub after_healing: bool,
}

macro_rules! rules {
    ($($rule:ident $name:literal [$($needs:ident),*] $about:literal;)+) => {
        /// Every invariant, as the checks name it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Rule { $($rule),+ }

        /// The invariants that are judged here, contract by contract.
        pub const INVARIANTS: &[Invariant] = &[$(Invariant {
            name: $name,
            about: $about,
            needs_applied: needs!(applied $($needs)*),
            after_healing: needs!(healing $($needs)*),
        }),+];
    };
}

macro_rules! needs {
    (applied) => { false };
    (healing) => { false };
    (applied applied $($rest:ident)*) => { true };
    (healing healing $($rest:ident)*) => { true };
    ($wanted:ident $other:ident $($rest:ident)*) => { needs!($wanted $($rest)*) };
}

rules! {
    LogDense "log-dense" []
        "The accepted entries of a run are numbered 0, 1, 2, …, and a read gives them all.";
    LogImmutable "log-immutable" []
        "What any reader saw at a place of a log never changes.";
    LogFenced "log-fenced" []
        "No two accepted appends share an expected sequence number.";
    LogClosed "log-closed" []
        "A log holds at most one terminal entry, and nothing after it.";
    AttemptsRise "attempts-rise" []
        "The attempts in a log's lease entries rise strictly, and step entries come from the worker of the last one.";
    LogTail "log-tail" []
        "A tail yields every entry from its start, in order, over reconnects too.";
    AnnouncedDone "announced-done" [applied, healing]
        "Whatever a log announces to others is done, and nothing is done in a run's name that its log does not announce.";
    CauseFirst "cause-first" [applied]
        "No ack, nack, cancel, end in a log, notice of an end, unit back, suspending or ending release without what allows it.";
    StepOnce "step-once" [applied]
        "A log begins each step once.";
    StatusFollowsLog "status-follows-log" [applied, healing]
        "A terminal status equals the log's terminal entry, and only the listed transitions occur.";

    EffectAtMostOnce "effect-at-most-once" []
        "The outside saw each at-most-once effect no more than once.";
    EffectIdempotentOnce "effect-idempotent-once" []
        "Each idempotent effect took hold no more than once.";
    EffectIntentFirst "effect-intent-first" [applied]
        "Nothing happens outside without an intent in the log.";
    EffectWriteOnce "effect-write-once" []
        "The recorded result of an effect never changes; log, journal, every reader and the agent agree on it.";
    EffectSettled "effect-settled" [applied, healing]
        "An intent ends with a result or a verdict before its run ends, and the end names the effects in doubt.";
    EffectNotDenied "effect-not-denied" []
        "An effect that happened is never recorded as refused.";
    EffectIdentity "effect-identity" []
        "One logical step has one effect id; two steps have two.";

    InboxOnce "inbox-once" [applied]
        "Each accepted message is processed to its end by one run only, and received once in it.";
    InboxFifo "inbox-fifo" []
        "Messages of one sender keep their order of arrival, over nack and redelivery.";
    InboxNoLoss "inbox-no-loss" [applied, healing]
        "Every accepted message ends acked or dead-lettered, or waits for a live run.";
    MailGiven "mail-given" [applied]
        "The mail that an agent gets is what `msg.received` says.";
    InboxSettledOnce "inbox-settled-once" [applied]
        "A life of a message is settled once, in one way, by a run that received it.";
    InboxAttempts "inbox-attempts" [applied]
        "A message's counter equals its run's recorded failures, and is at most max_retries + 1.";
    InboxDedup "inbox-dedup" []
        "A message id once accepted by an address is never accepted there again.";

    LeaseExclusive "lease-exclusive" [applied]
        "No run has two live leases, and no address two live runs.";
    LeaseCapacity "lease-capacity" []
        "A poll never grants more than it asked for, and a worker never runs more than its capacity.";
    LeaseFenced "lease-fenced" [applied]
        "A former holder changes neither the log, once its successor's entry is there, nor status and queue.";
    LeaseTold "lease-told" [applied]
        "Who no longer holds a lease hears Lost, and calls nothing more; who holds one hears of cancel and deadline.";
    QueueCoalesced "queue-coalesced" [applied]
        "A run has at most one queue entry.";
    WakeNotLost "wake-not-lost" [applied]
        "A sleeping run with a trigger of its wait list is queued, or who owes it the wake has not been released.";
    ReclaimBounded "reclaim-bounded" [applied]
        "A dead worker's run is leased again soon after its lease ran out, while a worker with room polls.";
    RetryPolicy "retry-policy" [applied]
        "A run is tried as often as its policy allows, never before the back-off is over, and errors on record are final.";
    PoisonBounded "poison-bounded" [applied]
        "A run that lost more leases in a row than allowed is ended, not run again.";
    NoStarvation "no-starvation" [applied]
        "Waiting in the queue is bounded while a worker with room polls.";
    QueueOrder "queue-order" [applied]
        "Within a tenant higher priority goes first, then age, and before all who has waited over ten minutes.";
    DeadlineKept "deadline-kept" [applied, healing]
        "No step begins after its worker knows that the deadline is over, and the run ends.";

    SpawnOnce "spawn-once" [applied]
        "A step that asks for a child gets one child or one refusal, whatever crashes.";
    SpawnAnnounced "spawn-announced" [applied]
        "No child is created or runs that its parent's log does not announce.";
    SpawnBudget "spawn-budget" [applied, healing]
        "A tree never has more runs than allowed, a child is refused only for cause, and every unit comes back.";
    ChildCompletedOnce "child-completed-once" [applied]
        "The end of a child stands at most once in its parent's log, written by who held the child.";
    JoinTruth "join-truth" [applied]
        "What a parent is told of its children is true: a join gives the child's own end.";
    CancelCascade "cancel-cascade" [applied, healing]
        "After `run.cancel_requested` no entry of that log begins a step, and every descendant ends.";
    NoOrphan "no-orphan" [applied, healing]
        "A run decides at its end what becomes of its children, ends so, and none lives on that was not let go.";

    FanoutOnce "fanout-once" [applied]
        "Who follows a topic all the while gets a publication once, and who does not follow it gets none.";
    FanoutIsolated "fanout-isolated" [applied]
        "A publication is on its way to every follower before one of them is waited for.";
    AskTruth "ask-truth" [applied]
        "The outcome of a question is the earliest reply, or the target's end, or a time-out that was one.";
    AskOnce "ask-once" [applied]
        "A question has one outcome, and a run replies once to a question that it received.";
    SpendExact "spend-exact" [applied]
        "A tree spends each recorded result of a model once and in full, and begins nothing over its limits.";

    SignalNotLost "signal-not-lost" [applied]
        "A signal is claimed, buffered, or dropped with its run's end.";
    SignalOnce "signal-once" []
        "One id is one signal; one claim has one answer, and one signal one claim.";
    TimerNotEarly "timer-not-early" []
        "No time fires before it is there by the store's clock.";
    TimerLateBounded "timer-late-bounded" [applied]
        "A time fires within jitter and poll, while a worker with room polls.";
    TimerSilent "timer-silent" [applied]
        "No time fires after its run was cancelled or has ended.";

    PlanApproved "plan-approved" [applied]
        "What is dispatched was approved before, as it stands, and plans go through the listed transitions only.";
    PlanClosedOnce "plan-closed-once" [applied, healing]
        "Each occurrence is dispatched once and closed once, when its run has ended, and never before the one before it.";
    PlanNotEarly "plan-not-early" [applied]
        "No occurrence is dispatched before its release, is due before its time, or drifts from its recurrence.";
    PlanServed "plan-served" [applied, healing]
        "An approved occurrence is dispatched once it is due, and given up only for cause.";
    ProfileExact "profile-exact" [applied]
        "Every figure of a profile is the one that the logs give.";
    ProfileAttempts "profile-attempts" [applied]
        "A profile lists the tries of its run, exactly when there was more than one.";
    ProfileOnce "profile-once" [applied]
        "A profile is the same however often, and by whomever, it is computed.";
    FeedbackBounded "feedback-bounded" [applied]
        "Feedback comes after an execution, and changes the fields of feedback alone.";
    CadenceKept "cadence-kept" [applied]
        "No action is dispatched more often on a day, or sooner after another, than its user's settings allow.";
    TraceLinks "trace-links" [applied, healing]
        "The uids of a user's traces are unique, and every link resolves.";
    MemportCommitted "memport-committed" [applied, healing]
        "Drafts become memory once, all of them, when their run has completed, and nobody reads them before.";

    ProgressOwner "progress-owner" [applied]
        "In a quiescent world each live run has somebody who will move it, or sleeps with nothing due.";
    Converges "converges" [applied, healing]
        "After healing all runs end, sleep with an unsatisfied wait list, or are halted, within a bounded number of events.";
    ServesAgain "serves-again" [applied, healing]
        "The probe agent is served after healing.";
    Bounded "bounded" []
        "No run has more than 10 000 events at one instant.";
}

impl Rule {
    /// What the rule promises.
    pub const fn invariant(self) -> &'static Invariant {
        &INVARIANTS[self as usize]
    }
}

/// The most violations that are kept of one invariant: the rest tell nothing new.
const KEPT_MAX: usize = 8;

/// What has been found so far.
#[derive(Default)]
pub(super) struct Verdicts {
    pub violations: Vec<Violation>,
    pub reached: Reached,
}

impl Verdicts {
    pub fn clear(&mut self) {
        self.violations.clear();
        self.reached = Reached::default();
    }
}

/// The judge of one event.
pub(super) struct Judge<'a> {
    /// The event's time.
    pub at: Timestamp,
    /// Whether the history holds applied facts.
    pub applied: bool,
    pub verdicts: &'a mut Verdicts,
}

impl Judge<'_> {
    /// Notes a violation, unless this subject is known to violate this invariant.
    #[cold]
    #[inline(never)]
    pub fn violated(&mut self, rule: Rule, subject: impl fmt::Display, message: fmt::Arguments<'_>) {
        let invariant = rule.invariant();
        if invariant.needs_applied && !self.applied {
            return;
        }
        let subject = subject.to_string();
        let known = self.verdicts.violations.iter().filter(|found| found.invariant == invariant.name);
        let (mut kept, mut same) = (0, false);
        for found in known {
            kept += 1;
            same |= found.subject == subject;
        }
        if kept < KEPT_MAX && !same {
            let message = message.to_string();
            self.verdicts.violations.push(Violation { invariant: invariant.name, subject, at: self.at, message });
        }
    }

    /// Notes that a *sometimes* property was reached.
    pub fn reached(&mut self, what: Sometimes) {
        self.verdicts.reached.add(what);
    }
}
