//! Holds: a request arrives just after another call was applied; and what a seed holds back, its list does too.

use std::path::PathBuf;

use chronodrome::explore::{files, holds};
use chronodrome::history::{Answer, Asked, CallNo, Event, Record};
use chronodrome::kernel::{CallError, Name, Reply, Span, Timestamp};
use chronodrome::scenario::{Options, Outcome, Runner, Scenario};
use chronodrome::sim::{Deviation, Fault, Schedule};

const SCENARIO: &str = r#"{
    "format": 1, "name": "held", "about": "A run, and mail that comes while it works.",
    "runtime": { "workers": 2, "lease": "30s" },
    "outside": { "card": { "takes": ["1s", "4s"] } },
    "agents": { "pay": [ { "effect": "card" }, { "sleep": "40s" }, { "complete": true } ] },
    "inputs": [
        { "to": "pay", "from": "shop", "id": "m" },
        { "at": "+500ms", "to": "pay", "from": "shop", "id": "n" }
    ],
    "expect": []
}"#;

const HELD: &str = "input 1 / deliver n to pay / try 1";
const RESULT: &str = "pay#1 / lease 0 / append tool.result step 0 / try 1";
const FIRED: &str = "pay#1 / lease 1 / append timer.fired step 1 / try 1";

struct Played {
    outcome: Outcome,
    records: Vec<Record>,
}

fn play(schedule: &Schedule) -> Played {
    let scenario = Scenario::parse(SCENARIO, "held.json").unwrap();
    let mut records = Vec::new();
    let mut keep = |record: &Record| records.push(record.clone());
    let outcome = Runner::new(&scenario).play(schedule, Options { trace: Some(&mut keep), ..Options::default() });
    assert_eq!(outcome.violations, []);
    Played { outcome, records }
}

fn hold(site: &str, until: Option<&str>, most: Option<Span>) -> Deviation {
    Deviation::named(site, Fault::Hold { until: until.map(Into::into), most })
}

fn held(until: Option<&str>, most: Option<Span>) -> Played {
    play(&Schedule::Fixed(vec![hold(HELD, until, most)]))
}

impl Played {
    /// The first call whose request holds this text, and when it was sent.
    fn sent(&self, text: &str) -> (CallNo, Timestamp) {
        let is_it = |asked: &Asked| serde_json::to_string(asked).unwrap().contains(text);
        let found = self.records.iter().find_map(|Record { at, event }| match event {
            Event::Sent { call, asked, .. } if is_it(asked) => Some((*call, *at)),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("no call holds {text}"))
    }

    /// The place among the records, the time and the answer of each time that a call was applied.
    fn applied(&self, wanted: CallNo) -> Vec<(usize, Timestamp, &Answer)> {
        let applied = self.records.iter().enumerate().filter_map(|(place, Record { at, event })| match event {
            Event::Applied { call, answer, .. } if *call == wanted => Some((place, *at, answer)),
            _ => None,
        });
        applied.collect()
    }

    fn let_go(&self) -> Vec<(CallNo, Option<Name>)> {
        let gone = self.records.iter().filter_map(|record| match &record.event {
            Event::LetGo { call, until } => Some((*call, until.clone())),
            _ => None,
        });
        gone.collect()
    }
}

const DELIVER: &str = r#""id":"n""#;
const RESULT_TEXT: &str = r#""kind":"tool.result""#;
const FIRED_TEXT: &str = r#""kind":"timer.fired""#;

#[test]
fn a_held_request_arrives_just_after_the_call_that_it_is_held_for_was_applied() {
    let played = held(Some(RESULT), None);
    let (deliver, sent) = played.sent(DELIVER);
    let (result, _) = played.sent(RESULT_TEXT);
    let ((held_at, at, answer), (until_at, then, _)) = (played.applied(deliver)[0], played.applied(result)[0]);
    assert_eq!(at, then);
    assert!(at > sent + Span::from_millis(400));
    let between = &played.records[until_at + 1..held_at];
    assert!(between.iter().all(|record| matches!(record.event, Event::LetGo { .. })), "{between:?}");
    assert_eq!(played.let_go(), [(deliver, Some(RESULT.into()))]);
    assert_eq!(*answer, Answer::Store(Reply::Accepted(true)));
    assert_eq!(played.outcome.stale, []);
}

#[test]
fn its_caller_waits_and_gives_it_up_as_usual() {
    let played = held(Some(FIRED), None);
    let (deliver, sent) = played.sent(DELIVER);
    let outcome = played.records.iter().find_map(|record| match &record.event {
        Event::Returned { call, outcome } if *call == deliver => Some((record.at, outcome.clone())),
        _ => None,
    });
    assert_eq!(outcome, Some((sent + Span::from_secs(5), Err(CallError::Unknown))));
    let (fired, _) = played.sent(FIRED_TEXT);
    let [(_, at, answer)] = played.applied(deliver)[..] else { panic!("it is applied once") };
    assert_eq!(
        (at, answer),
        (played.applied(fired)[0].1, &Answer::Store(Reply::Accepted(false))),
        "the repeat came first"
    );
}

#[test]
fn a_held_request_is_let_go_when_its_time_is_over() {
    let most = Span::from_secs(3);
    for until in [None, Some(FIRED)] {
        let played = held(until, Some(most));
        let (deliver, sent) = played.sent(DELIVER);
        assert_eq!(played.applied(deliver)[0].1, sent + most);
        assert_eq!(played.let_go(), [(deliver, None)]);
        assert_eq!(played.outcome.stale.len(), usize::from(until.is_some()), "it waited in vain");
    }
}

#[test]
fn what_waits_in_vain_is_let_go_when_nothing_else_is_due_and_is_stale_as_to_what_it_waits_for() {
    let played = held(Some("nobody"), None);
    let (deliver, sent) = played.sent(DELIVER);
    let [(_, at, _)] = played.applied(deliver)[..] else { panic!("it is applied once") };
    assert!(at > sent + Span::from_secs(40) && at < sent + Span::from_secs(120), "not only when faults end");
    assert_eq!(played.let_go(), [(deliver, None)]);
    let [stale] = &played.outcome.stale[..] else { panic!("{:?}", played.outcome.stale) };
    assert_eq!((&*stale.site, &**stale.missing(&played.outcome.deviations)), (HELD, "nobody"));
}

#[test]
fn a_hold_whose_own_site_never_comes_up_is_stale_as_to_that() {
    let played = play(&Schedule::Fixed(vec![hold("nobody", Some(RESULT), None)]));
    let [stale] = &played.outcome.stale[..] else { panic!("{:?}", played.outcome.stale) };
    assert_eq!(&**stale.missing(&played.outcome.deviations), "nobody");
    assert_eq!(played.outcome.deviations, []);
}

#[test]
fn requests_that_are_held_for_one_call_arrive_in_the_order_of_their_sending_and_one_can_wait_for_another() {
    let grant = "pay#1 / lease 0 / granted";
    let entry = "pay#1 / lease 0 / append run.started / try 1";
    // The delivery waits for the intent, the intent for a grant that has been: for nothing else that is due.
    let chain = vec![
        hold("pay#1 / lease 0 / append tool.called step 0 / try 1", Some("nobody"), Some(Span::from_secs(2))),
        hold(HELD, Some("pay#1 / lease 0 / append tool.called step 0 / try 1"), None),
    ];
    let played = play(&Schedule::Fixed(chain));
    let (deliver, intent) = (played.sent(DELIVER).0, played.sent(r#""kind":"tool.called""#).0);
    let intent_name = "pay#1 / lease 0 / append tool.called step 0 / try 1".into();
    assert_eq!(played.let_go(), [(intent, None), (deliver, Some(intent_name))]);
    // A grant can be waited for, too.
    let played = play(&Schedule::Fixed(vec![hold("input 0 / deliver m to pay / try 2", Some(grant), None)]));
    assert!(!played.outcome.stale.is_empty(), "there is no second try");
    let played = play(&Schedule::Fixed(vec![hold(HELD, Some(entry), None)]));
    assert!(!played.outcome.stale.is_empty(), "the entry was there before the request");
}

#[test]
fn the_holds_of_a_calm_run_can_be_played_and_most_come_about() {
    let scenario = Scenario::parse(SCENARIO, "held.json").unwrap();
    let mut runner = Runner::new(&scenario);
    let sites = runner.play(&Schedule::Calm, Options { sites: true, ..Options::default() }).sites;
    let schedules = holds::schedules(&[], &sites, scenario.runtime.lease);
    let has = |list: &[Deviation]| list[0] == Deviation { key: list[0].key, ..hold(HELD, Some(RESULT), None) };
    assert!(schedules.iter().any(|schedule| matches!(schedule, Schedule::Fixed(list) if has(list))));
    let mut came = 0;
    for schedule in &schedules {
        let outcome = runner.play(schedule, Options::default());
        assert!(outcome.held(), "{schedule:?}: {:?}", outcome.violations);
        came += usize::from(outcome.stale.is_empty());
    }
    assert!(2 * came > schedules.len(), "{came} of {}", schedules.len());
}

/// What came about, as a file would have it.
fn as_written(list: &[Deviation]) -> Vec<Deviation> {
    serde_json::from_str(&serde_json::to_string(list).unwrap()).unwrap()
}

#[test]
fn the_list_of_what_a_seed_drew_plays_the_same_history() {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let (mut by_call, mut by_time) = (0, 0);
    for loaded in files::load_all(&[directory]).expect("the scenarios are valid") {
        if loaded.scenario.deviations.is_some() {
            continue;
        }
        let mut runner = Runner::new(&loaded.scenario);
        for schedule in (0..60).map(Schedule::Seed) {
            let drawn = runner.play(&schedule, Options::default());
            for list in [drawn.deviations.clone(), as_written(&drawn.deviations)] {
                let listed = runner.play(&Schedule::Fixed(list), Options::default());
                let name = &loaded.scenario.name;
                assert_eq!(listed.digest, drawn.digest, "{name} {schedule:?}: {:?}", drawn.deviations);
                assert_eq!((listed.events, listed.stale), (drawn.events, Vec::new()), "{name} {schedule:?}");
            }
            for deviation in &drawn.deviations {
                if let Fault::Hold { until, .. } = &deviation.fault {
                    *(if until.is_some() { &mut by_call } else { &mut by_time }) += 1;
                }
            }
        }
    }
    assert!(by_call > 20 && by_time > 5, "{by_call} holds ended by a call, {by_time} by time");
}
