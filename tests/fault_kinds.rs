//! Every kind of fault does what it says: one at a time, at a named site, told from the history.

use std::collections::BTreeMap;

use chronodrome::history::{Actor, ActorChange, Answer, Event, Record};
use chronodrome::kernel::{CallError, Performed, Reply, Span, Timestamp};
use chronodrome::scenario::{Options, Outcome, Runner, Scenario};
use chronodrome::sim::{Deviation, Fault, Point, Schedule};

const SCENARIO: &str = r#"{
    "format": 1, "name": "one", "about": "One run, one fault.",
    "runtime": { "workers": 2, "lease": "30s" },
    "outside": {
        "card": { "takes": ["1s", "4s"] },
        "key": { "takes": ["1s", "4s"], "honours_key": true }
    },
    "agents": { "pay": [
        { "effect": "card", "on_error": { "else": [] } },
        { "effect": "key", "policy": "idempotent", "on_error": { "else": [] } },
        { "sleep": "1m" },
        { "complete": true }
    ] },
    "inputs": [ { "to": "pay", "from": "shop", "id": "m" } ],
    "expect": []
}"#;

/// The append that the tests strike, as site and as text of its request.
const INTENT: &str = "pay#1 / lease 0 / append tool.called step 0 / try 1";
const INTENT_TEXT: &str = r#""kind":"tool.called","payload":{"step":0,"#;

const LEASE: Span = Span::from_secs(30);
/// Longer than a lease: what lasts so long outlives the run's holder.
const BEYOND: Span = Span::from_secs(45);
const SOON: Span = Span::from_secs(1);
const TIME_OUT: Span = Span::from_secs(5);

/// A call, as the history tells it.
struct Call {
    sent: Timestamp,
    from: Actor,
    applied: Vec<(Timestamp, Answer)>,
    returned: Option<(Timestamp, Result<Answer, CallError>)>,
}

impl Call {
    fn is_unknown(&self) -> bool {
        matches!(self.returned, Some((at, Err(CallError::Unknown))) if at == self.sent + TIME_OUT)
    }

    fn is_refused(&self) -> bool {
        self.applied.is_empty() && matches!(self.returned, Some((_, Err(CallError::Unavailable))))
    }

    fn replies(&self) -> Vec<&Reply> {
        let replies = self.applied.iter().map(|(_, answer)| match answer {
            Answer::Store(reply) => reply,
            Answer::Outside(_) => panic!("the store was asked"),
        });
        replies.collect()
    }
}

struct Played {
    outcome: Outcome,
    records: Vec<Record>,
}

/// Plays the scenario with one fault; every promise is kept, and the site came up.
fn with(site: &str, fault: Fault) -> Played {
    let played = play(&Schedule::Fixed(vec![Deviation::named(site, fault)]));
    assert_eq!(played.outcome.stale, []);
    assert_eq!(played.outcome.deviations.len(), 1);
    played
}

fn play(schedule: &Schedule) -> Played {
    let scenario = Scenario::parse(SCENARIO, "one.json").unwrap();
    let mut records = Vec::new();
    let mut keep = |record: &Record| records.push(record.clone());
    let outcome = Runner::new(&scenario).play(schedule, Options { trace: Some(&mut keep), ..Options::default() });
    assert_eq!(outcome.violations, []);
    Played { outcome, records }
}

impl Played {
    /// The calls whose request holds this text, in order.
    fn calls(&self, text: &str) -> Vec<Call> {
        let mut calls = BTreeMap::new();
        for Record { at, event } in &self.records {
            match event {
                Event::Sent { call, from, asked } if serde_json::to_string(asked).unwrap().contains(text) => {
                    let (sent, from) = (*at, from.clone());
                    calls.insert(call.0, Call { sent, from, applied: Vec::new(), returned: None });
                }
                Event::Applied { call, answer, .. } => {
                    if let Some(call) = calls.get_mut(&call.0) {
                        call.applied.push((*at, answer.clone()));
                    }
                }
                Event::Returned { call, outcome } => {
                    if let Some(call) = calls.get_mut(&call.0) {
                        call.returned = Some((*at, outcome.clone()));
                    }
                }
                _ => {}
            }
        }
        calls.into_values().collect()
    }

    /// The first call whose request holds this text.
    fn first(&self, text: &str) -> Call {
        self.calls(text).into_iter().next().expect("there is such a call")
    }

    /// When something first became of a worker.
    fn when(&self, change: ActorChange) -> Timestamp {
        self.whens(change)[0]
    }

    fn whens(&self, wanted: ActorChange) -> Vec<Timestamp> {
        let changes = self.records.iter().filter_map(|record| match &record.event {
            Event::Actor { change, .. } if *change == wanted => Some(record.at),
            _ => None,
        });
        changes.collect()
    }

    fn happened(&self, wanted: &str) -> usize {
        let happened = |record: &&Record| matches!(&record.event, Event::Happened { kind, .. } if **kind == *wanted);
        self.records.iter().filter(happened).count()
    }

    /// When the store could not be reached: from, until.
    fn outage(&self) -> (Timestamp, Timestamp) {
        let reach = self.records.iter().filter(|record| matches!(record.event, Event::StoreReach { .. }));
        let times: Vec<_> = reach.map(|record| record.at).collect();
        (times[0], times[1])
    }

    fn applied_between(&self, from: Timestamp, until: Timestamp) -> usize {
        let applied = |record: &&Record| matches!(record.event, Event::Applied { answer: Answer::Store(_), .. });
        self.records.iter().filter(applied).filter(|record| record.at > from && record.at < until).count()
    }
}

#[test]
fn a_crash_before_a_request_leaves_no_trace_of_it() {
    let played = with(INTENT, Fault::Crash { point: Point::Before, restart: SOON });
    let crashed = played.when(ActorChange::Crashed);
    assert_eq!(played.whens(ActorChange::Started)[2], crashed + SOON);
    let call = played.first(INTENT_TEXT);
    assert!(call.sent > crashed + SOON, "the first request is a later lease's");
}

#[test]
fn a_crash_in_flight_lands_after_the_successor_began() {
    let played = with(INTENT, Fault::Crash { point: Point::Flight(BEYOND), restart: SOON });
    let call = played.first(INTENT_TEXT);
    assert_eq!(call.sent, played.when(ActorChange::Crashed));
    assert!(call.returned.is_none());
    assert_eq!(call.applied[0].0, call.sent + BEYOND);
    assert!(played.first(r#""kind":"run.resumed""#).applied[0].0 < call.applied[0].0);
    assert!(matches!(call.replies()[..], [Reply::Conflict(_)]));
}

#[test]
fn a_crash_after_a_request_comes_when_it_is_applied_and_its_reply_is_unseen() {
    let played = with(INTENT, Fault::Crash { point: Point::After, restart: SOON });
    let call = played.first(INTENT_TEXT);
    assert_eq!(call.applied[0].0, played.when(ActorChange::Crashed));
    assert!(matches!(call.replies()[..], [Reply::Appended(_)]) && call.returned.is_none());
}

#[test]
fn a_pause_before_a_request_sends_it_late_with_the_beliefs_of_before() {
    let played = with(INTENT, Fault::Pause { point: Point::Before, lasts: BEYOND });
    let paused = played.when(ActorChange::Paused);
    assert_eq!(played.when(ActorChange::Resumed), paused + BEYOND);
    let stale = played.calls(INTENT_TEXT).into_iter().find(|call| call.sent == paused + BEYOND).unwrap();
    let resumed = played.first(r#""kind":"run.resumed""#);
    assert!(resumed.sent < stale.sent && resumed.from != stale.from, "its successor has the run");
    assert!(matches!(stale.replies()[..], [Reply::Conflict(_)]));
}

#[test]
fn a_pause_after_a_request_holds_its_reply_back() {
    let played = with(INTENT, Fault::Pause { point: Point::After, lasts: BEYOND });
    let call = played.first(INTENT_TEXT);
    assert!(matches!(call.replies()[..], [Reply::Appended(_)]));
    let (at, outcome) = call.returned.unwrap();
    assert_eq!(at, call.sent + BEYOND);
    assert_eq!(outcome.as_ref().ok(), Some(&call.applied[0].1));
}

#[test]
fn a_partition_loses_the_request_or_the_reply_and_all_that_follows() {
    let before = with(INTENT, Fault::Partition { point: Point::Before, lasts: BEYOND });
    let call = before.first(INTENT_TEXT);
    assert!(call.applied.is_empty() && call.is_unknown());
    let (cut, back) = (before.when(ActorChange::CutOff), before.when(ActorChange::Reachable));
    assert_eq!(back, cut + BEYOND);
    let heartbeats = before.calls(r#""call":"heartbeat""#);
    let lost = heartbeats.iter().filter(|beat| beat.from == call.from && beat.sent > cut && beat.sent < back);
    assert!(lost.clone().count() > 0 && lost.clone().all(|beat| beat.applied.is_empty()));

    let after = with(INTENT, Fault::Partition { point: Point::After, lasts: BEYOND });
    let call = after.first(INTENT_TEXT);
    assert!(matches!(call.replies()[..], [Reply::Appended(_)]) && call.is_unknown());
    assert_eq!(call.applied[0].0, after.when(ActorChange::CutOff));
}

#[test]
fn a_lost_request_is_not_applied_and_a_lost_reply_leaves_its_caller_without_knowledge() {
    let call = with(INTENT, Fault::LostRequest).first(INTENT_TEXT);
    assert!(call.applied.is_empty() && call.is_unknown());
    let call = with(INTENT, Fault::LostReply).first(INTENT_TEXT);
    assert!(matches!(call.replies()[..], [Reply::Appended(_)]) && call.is_unknown());
}

#[test]
fn a_store_error_refuses_one_request() {
    let played = with(INTENT, Fault::StoreError);
    let calls = played.calls(INTENT_TEXT);
    assert!(calls[0].is_refused());
    assert!(matches!(calls[1].replies()[..], [Reply::Appended(_)]));
}

#[test]
fn in_an_outage_nothing_is_applied_and_nobody_hears_anything() {
    let lasts = Span::from_secs(12);
    let played = with(INTENT, Fault::Outage { lasts });
    let call = played.first(INTENT_TEXT);
    assert!(call.applied.is_empty() && call.is_unknown());
    let (from, until) = played.outage();
    assert_eq!((from, until), (call.sent, call.sent + lasts));
    assert_eq!(played.applied_between(from, until), 0);
}

#[test]
fn while_the_store_restarts_nothing_is_applied_and_callers_hear_so() {
    let played = with(INTENT, Fault::StoreRestart { lasts: SOON });
    let (from, until) = played.outage();
    assert_eq!(until, from + SOON);
    assert_eq!(played.applied_between(from, until), 0);
    let calls = played.calls(INTENT_TEXT);
    let (refused, taken): (Vec<_>, Vec<_>) = calls.iter().partition(|call| call.sent < until);
    assert!(refused.len() > 1 && refused.iter().all(|call| call.is_refused()));
    assert!(matches!(taken[0].replies()[..], [Reply::Appended(_)]));
}

#[test]
fn a_duplicate_is_applied_twice_and_its_caller_hears_the_first_answer() {
    for after in [Span::from_millis(1), BEYOND] {
        let cases = [
            (INTENT, INTENT_TEXT),
            ("input 0 / deliver m to pay / try 1", r#""call":"deliver""#),
            ("pay#1 / lease 0 / record card step 0 / try 1", r#""call":"record""#),
            ("pay#1 / lease 1 / ack m / try 1", r#""call":"ack""#),
            ("pay#1 / lease 1 / release completed / try 1", r#""how":{"ended""#),
            ("pay#1 / lease 0 / perform key step 1 / try 1", r#""kind":"key""#),
        ];
        for (site, text) in cases {
            let played = with(site, Fault::Duplicate { after });
            let calls = played.calls(text);
            let call = calls.iter().find(|call| call.applied.len() == 2).unwrap_or_else(|| panic!("{site}"));
            assert_eq!(call.applied[1].0, call.applied[0].0 + after, "{site}");
            let heard = &call.returned.as_ref().unwrap().1;
            assert_eq!(heard.as_ref().ok(), Some(&call.applied[0].1), "{site}");
            assert_eq!((played.happened("card"), played.happened("key")), (1, 1), "{site}");
        }
    }
}

#[test]
fn a_delay_of_the_request_applies_it_late_and_one_of_the_reply_tells_of_it_late() {
    let by = Span::from_secs(2);
    let call = with(INTENT, Fault::DelayRequest { by }).first(INTENT_TEXT);
    assert!(call.applied[0].0 > call.sent + by && call.returned.unwrap().1.is_ok());
    let call = with(INTENT, Fault::DelayReply { by }).first(INTENT_TEXT);
    assert!(call.applied[0].0 < call.sent + by && call.returned.unwrap().0 > call.sent + by);
    let call = with(INTENT, Fault::DelayRequest { by: BEYOND }).first(INTENT_TEXT);
    assert!(call.is_unknown() && call.applied[0].0 > call.sent + BEYOND);
    let call = with(INTENT, Fault::DelayReply { by: BEYOND }).first(INTENT_TEXT);
    assert!(call.is_unknown() && call.applied[0].0 < call.sent + SOON);
}

#[test]
fn a_short_lease_says_when_it_ends() {
    let played = with("pay#1 / lease 0 / term", Fault::ShortLease { to: SOON });
    let lease = |played: &Played| match played.first(r#""call":"lease""#).replies()[..] {
        [Reply::Leases(leases)] => leases[0].expires_at.since(leases[0].granted_at),
        ref other => panic!("{other:?}"),
    };
    assert_eq!(lease(&played), SOON);
    assert_eq!(lease(&play(&Schedule::Calm)), LEASE);
}

#[test]
fn a_timer_fires_late_by_just_so_much() {
    let by = Span::from_secs(2);
    let woken = |played: &Played| played.calls(r#""call":"lease""#)[1].sent;
    let calm = woken(&play(&Schedule::Calm));
    assert_eq!(woken(&with("pay#1 / timer", Fault::TimerLate { by })), calm + by);
}

#[test]
fn a_clock_that_steps_ahead_gives_the_lease_up_and_one_that_steps_back_does_not() {
    let by = Span::from_secs(25);
    let attempts = |played: &Played| played.calls(r#""kind":"run.resumed""#).len();
    let calm = attempts(&play(&Schedule::Calm));
    assert_eq!(attempts(&with(INTENT, Fault::ClockStep { by })), calm + 1);
    assert_eq!(attempts(&with(INTENT, Fault::ClockStep { by: by.times(-1) })), calm);
}

/// No worker compares its clock with anybody else's.
#[test]
fn a_clock_that_is_off_throughout_changes_nothing() {
    let deeds = |played: Played| {
        let is_deed = |record: &Record| !matches!(record.event, Event::Deviation { .. });
        played.records.into_iter().filter(is_deed).collect::<Vec<_>>()
    };
    let calm = deeds(play(&Schedule::Calm));
    for by in [Span::from_secs(86_400), Span::from_secs(-86_400)] {
        assert_eq!(deeds(with("w2 / clock throughout", Fault::ClockSkew { by })), calm);
    }
}

#[test]
fn a_stop_carries_the_open_effect_to_its_result_and_gives_the_run_back() {
    let played = with("pay#1 / lease 0 / perform card step 0 / try 1", Fault::Stop { restart: SOON });
    let back = played.first(r#""how":"pending""#);
    assert!(matches!(back.replies()[..], [Reply::Released(_)]));
    assert!(played.first(r#""kind":"tool.result","payload":{"step":0"#).sent < back.sent);
    assert!(played.when(ActorChange::Stopping) < played.when(ActorChange::Stopped));
    assert_eq!(played.whens(ActorChange::Started)[2], played.when(ActorChange::Stopped) + SOON);
    assert_eq!((played.outcome.lost_leases, played.happened("card")), (0, 1));
}

#[test]
fn a_tool_is_slow_refuses_or_cannot_vouch() {
    const PERFORM: &str = "pay#1 / lease 0 / perform card step 0 / try 1";
    let told = |fault| {
        let played = with(PERFORM, fault);
        let call = played.first(r#"{"outside":"#);
        let (at, outcome) = call.returned.unwrap();
        let Ok(Answer::Outside(performed)) = outcome else { panic!("{outcome:?}") };
        (at.since(call.sent), performed, played.happened("card"))
    };
    let takes = Span::from_secs(40);
    let (took, performed, happened) = told(Fault::ToolSlow { takes });
    assert!(took > takes && matches!(performed, Performed::Done(_)) && happened == 1);
    let (_, performed, happened) = told(Fault::ToolRefuses { after: None });
    assert!(matches!(performed, Performed::Refused { .. }) && happened == 0);
    for happens in [true, false] {
        let (_, performed, happened) = told(Fault::ToolUnknown { happened: happens, after: None });
        assert!(performed == Performed::Unknown && happened == usize::from(happens));
    }
}

#[test]
fn a_slow_worker_takes_so_many_times_as_long_for_every_call() {
    let travels = |played: &Played| {
        let call = played.first(INTENT_TEXT);
        call.applied[0].0.since(call.sent).as_micros()
    };
    let calm = travels(&play(&Schedule::Calm));
    assert_eq!(travels(&with("w2 / speed throughout", Fault::Slow { factor: 8 })), 8 * calm);
}

#[test]
fn a_grant_that_is_lost_runs_out_and_the_run_is_granted_again() {
    let faults = [Fault::LostReply, Fault::Crash { point: Point::After, restart: SOON }];
    for fault in faults {
        let played = with("pay#1 / lease 0 / granted", fault);
        let grants = played.calls(r#""call":"lease""#);
        assert!(!matches!(grants[0].returned, Some((_, Ok(_)))));
        assert!(grants[1].sent > grants[0].sent + LEASE);
        assert_eq!(played.outcome.lost_leases, 1);
    }
}

/// A refusal that a former holder heard, and tells the journal late, does not deny what its successor did.
#[test]
fn a_refusal_in_flight_does_not_deny_what_a_successor_brings_about() {
    let refuses = Deviation::named("pay#1 / lease 0 / perform key step 1 / try 1", Fault::ToolRefuses { after: None });
    // The successor's request is under way when the late call lands.
    let slow = Fault::ToolSlow { takes: Span::from_secs(20) };
    let slow = Deviation::named("pay#1 / lease 1 / perform key step 1 / try 1", slow);
    for late in ["record key step 1", "append tool.result step 1"] {
        let crash = Fault::Crash { point: Point::Flight(Span::from_millis(30_500)), restart: SOON };
        let crash = Deviation::named(&format!("pay#1 / lease 0 / {late} / try 1"), crash);
        let played = play(&Schedule::Fixed(vec![refuses.clone(), crash, slow.clone()]));
        assert!(played.outcome.deviations.len() >= 2, "{late}");
    }
}
