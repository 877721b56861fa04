//! What a sweep must reach at least once: else its workload or its faults are too weak to prove anything.

macro_rules! sometimes {
    ($($(#[$doc:meta])* $what:ident $name:literal $about:literal;)+) => {
        /// A property that some schedule of a sweep must reach.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
        pub enum Sometimes {
            $(#[doc = $about] #[serde(rename = $name)] $what),+
        }

        impl Sometimes {
            /// Every property.
            pub const ALL: &'static [Sometimes] = &[$(Sometimes::$what),+];

            /// The property's name.
            pub const fn as_str(self) -> &'static str {
                match self { $(Sometimes::$what => $name),+ }
            }

            /// What it says, in one sentence.
            pub const fn about(self) -> &'static str {
                match self { $(Sometimes::$what => $about),+ }
            }
        }
    };
}

sometimes! {
    LeaseStolen "lease-stolen" "A lease is reclaimed while its holder lives.";
    LateRenewal "late-renewal" "A lease past its expiry that nobody reclaimed is renewed.";
    GrantLost "grant-lost" "A grant never reaches its worker.";
    ToldLost "told-lost" "A former holder hears Lost.";
    ZombieRefused "zombie-refused" "The append of a former holder is refused.";
    SuccessorReadFirst "successor-read-first" "A worker's first read shows its successor's lease entry.";
    LandsAfterDeath "lands-after-death" "A request is applied after its sender died.";
    JournalHit "journal-hit" "A later lease finds the result of an earlier one in the journal.";
    InDoubtAtOnce "in-doubt-at-once" "An effect is declared in doubt by the lease that began it.";
    InDoubtOnReplay "in-doubt-on-replay" "An effect is declared in doubt by a later lease than the one that began it.";
    HappenedUnseen "happened-unseen" "An effect happens although its caller never hears so.";
    DuplicateSuppressed "duplicate-suppressed" "A second delivery under one id changes nothing.";
    SignalRepeated "signal-repeated" "A second signal under one id changes nothing.";
    SignalBeforeSleep "signal-before-sleep" "A signal arrives before its run sleeps.";
    TriggerDuringRun "trigger-during-run" "A suspending release finds its trigger there and goes straight to the queue.";
    TimerRacesCancel "timer-races-cancel" "A cancel arrives when a time of the run is due or has just fired.";
    CancelMeetsEnd "cancel-meets-end" "A cancel arrives when the log is closed and the run not released.";
    CrashBeforeLeaseEntry "crash-before-lease-entry" "A worker dies between a grant and its lease entry.";
    CrashInIntent "crash-in-intent" "A worker dies with an open intent.";
    CrashBeforeRelease "crash-before-release" "A worker dies between a run.suspended or run.retrying and the release.";
    CrashInEpilogue "crash-in-epilogue" "A worker dies between the terminal entry and the release.";
    TwoInEpilogue "two-in-epilogue" "Two workers are in one run's epilogue.";
    DeadLetter "dead-letter" "A message becomes a dead letter.";
    Redriven "redriven" "A dead letter is brought back.";
    LeftOverMail "left-over-mail" "Mail left at a run's end makes a new run.";
    Retried "retried" "A failed run is tried again.";
    Poisoned "poisoned" "A run is ended because it lost too many leases.";
    Halted "halted" "A run is halted because its agent does not follow its log.";
    DeadlinePassed "deadline-passed" "A run is ended by its deadline.";
    GivenBack "given-back" "A run is given back by a worker that stops.";
    ShortLease "short-lease" "A lease is granted for less than asked.";
    SpawnReplayed "spawn-replayed" "A step asks for its child again and hears the same.";
    SpawnDenied "spawn-denied" "A child is refused.";
    SpawnPutOff "spawn-put-off" "A child is put off because what stands in its way is about to end.";
    CreatedByAnother "created-by-another" "An announced child is created by somebody else than who announced it.";
    ReservationSwept "reservation-swept" "A reserved child is dropped with its parent's end.";
    ChildEndsInSleep "child-ends-in-sleep" "A child ends while its parent sleeps.";
    ChildEndsDuringRun "child-ends-during-run" "A child ends while its parent runs.";
    ChildEndsInReclaim "child-ends-in-reclaim" "A child ends while its parent's lease has run out.";
    JoinTimedOut "join-timed-out" "A wait for a child ends by its limit.";
    BudgetRefused "budget-refused" "A model call is refused because the budget is spent.";
    AskReplied "ask-replied" "A question is answered by a reply.";
    AskAnsweredByEnd "ask-answered-by-end" "A question is answered with what its target completed with.";
    AskTimedOut "ask-timed-out" "A question is not answered in time.";
    AskTargetFailed "ask-target-failed" "A question's target fails.";
    AskTargetCancelled "ask-target-cancelled" "A question's target is cancelled.";
    AnswerTooLate "answer-too-late" "An answer comes when its question has timed out.";
    CrashBeforeBatch "crash-before-batch" "A worker dies between its lease entry and the run's batch.";
    CrashBeforeResult "crash-before-result" "A worker dies between an effect's record and its result in the log.";
    CrashBeforeAnnouncement "crash-before-announcement" "A worker dies between a child's reservation and its announcement.";
    CrashBeforeCreate "crash-before-create" "A worker dies between a child's announcement and its creation.";
    CrashAfterDecision "crash-after-decision" "A worker dies between orphans.resolved and the terminal entry.";
    CrashBeforeReturn "crash-before-return" "A worker dies between a terminal entry and the return of the run's unit.";
    CrashBeforeNotice "crash-before-notice" "A worker dies between a child's end and the word of it in its parent's log.";
    CrashBeforeWake "crash-before-wake" "A worker dies between the word of a child's end and the wake of its parent.";
    CrashBeforeSettling "crash-before-settling" "A worker dies between a terminal entry and the settling of the mail.";
    AlignedExactly "aligned-exactly" "A plan is done within a quarter of an hour of its window.";
    AlignedPartially "aligned-partially" "A plan is done within an hour and a half of its window.";
    Misaligned "misaligned" "A plan is done, and outside of its window or its day.";
    DispatchRaceLost "dispatch-race-lost" "A planner finds that another one has dispatched what it was about to.";
    ClosedByAnother "closed-by-another" "An occurrence is closed by another worker than dispatched it.";
    CrashBeforeOccurrence "crash-before-occurrence" "A planner dies between a dispatch and the creation of its run.";
    TriedAgain "tried-again" "A plan takes more than one try.";
    TryLost "try-lost" "A try of a plan is lost with its lease.";
    PlanSkipped "plan-skipped" "A plan is closed without having been dispatched.";
    HeldByBudget "held-by-budget" "A plan is held back to another day because the budget of its own is spent.";
    Rescheduled "rescheduled" "Feedback brings about a new proposal.";
    ProposedByAgent "proposed-by-agent" "An agent proposes a plan.";
    Recurred "recurred" "A plan is dispatched for another time.";
    CommittedByAnother "committed-by-another" "Drafts are committed by another worker than staged them.";
    DraftsLeft "drafts-left" "A run fails and leaves drafts that never become memory.";
    FeedbackOnLate "feedback-on-late" "Feedback comes for a plan that was not done in time.";
}

/// A set of properties.
#[derive(Clone, Copy, Default)]
pub(super) struct Reached(u128);

const _: () = assert!(Sometimes::ALL.len() <= 128, "a set is one number");

impl Reached {
    pub fn add(&mut self, what: Sometimes) {
        self.0 |= 1 << what as u64;
    }

    pub fn iter(self) -> impl Iterator<Item = Sometimes> {
        Sometimes::ALL.iter().copied().filter(move |what| self.0 & (1 << *what as u64) != 0)
    }
}
