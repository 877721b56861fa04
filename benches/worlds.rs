//! Where the time goes: a whole schedule, and over the history of one the checks, the running hash and the store.
//!
//! Ratios count, not seconds: machines are noisy. `cargo bench` prints them all.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::PathBuf;

use chronodrome::check::Checker;
use chronodrome::explore::files;
use chronodrome::history::{Asked, CallNo, Change, Event, Header, Record, RunningHash};
use chronodrome::kernel::{AgentId, Request, RunId, RunIds, Timestamp};
use chronodrome::scenario::{Options, Runner, Scenario};
use chronodrome::sim::Schedule;
use chronodrome::store::memory::{Config, Memory, Surroundings};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn charge_card() -> Scenario {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scenarios/charge-card.json");
    files::load(&path).expect("the scenario is valid").scenario
}

/// One schedule of `charge-card`, calm and seeded, all invariants checked, no trace kept.
fn schedules(criterion: &mut Criterion) {
    let scenario = charge_card();
    let mut runner = Runner::new(&scenario);
    let mut group = criterion.benchmark_group("charge-card");
    group.throughput(Throughput::Elements(1));
    group.bench_function("calm", |bencher| {
        bencher.iter(|| runner.play(black_box(&Schedule::Calm), Options::default()));
    });
    let seed = Cell::new(0);
    group.bench_function("seeded", |bencher| {
        bencher.iter(|| {
            seed.set(seed.get() + 1);
            runner.play(&Schedule::Seed(seed.get()), Options::default())
        });
    });
    group.finish();
}

/// The header and the history of the calm schedule.
fn history() -> (Header, Vec<Record>) {
    let mut runner = Runner::new(&charge_card());
    let mut records = Vec::new();
    let mut note = |record: &Record| records.push(record.clone());
    runner.play(&Schedule::Calm, Options { trace: Some(&mut note), ..Options::default() });
    (runner.header(), records)
}

/// The checks and the running hash, for each event of the calm history.
fn events(criterion: &mut Criterion) {
    let (header, records) = history();
    let end = records.last().map_or(header.start, |record| record.at);
    let mut group = criterion.benchmark_group("events of charge-card");
    group.throughput(Throughput::Elements(records.len() as u64));
    group.bench_function("checks", |bencher| {
        let mut checker = Checker::new(&header);
        bencher.iter(|| {
            checker.reset(&header);
            records.iter().for_each(|record| checker.observe(record.at, &record.event));
            checker.finish(end);
            checker.violations().len()
        });
    });
    group.bench_function("running hash", |bencher| {
        bencher.iter(|| {
            let mut hash = RunningHash::default();
            records.iter().for_each(|record| hash.note(record));
            hash.value()
        });
    });
    group.finish();
}

/// Gives the runs the ids that they had in the history.
struct Known {
    ids: Vec<RunId>,
    next: usize,
}

impl RunIds for Known {
    fn mint(&mut self, _: &AgentId, _: u32) -> RunId {
        self.next += 1;
        self.ids[self.next - 1]
    }
}

impl Surroundings for Known {}

/// The requests that the store of the calm history took, one after the other.
fn transitions(criterion: &mut Criterion) {
    let (header, records) = history();
    let mut sent: BTreeMap<CallNo, &Request> = BTreeMap::new();
    let mut requests: Vec<(Timestamp, &Request)> = Vec::new();
    let mut ids = Vec::new();
    for record in &records {
        match &record.event {
            Event::Sent { call, asked: Asked::Store(request), .. } => {
                sent.insert(*call, request);
            }
            Event::Applied { call, changes, .. } => {
                requests.extend(sent.get(call).map(|request| (record.at, *request)));
                ids.extend(changes.iter().filter_map(|change| match change {
                    Change::Made { run, .. } => Some(*run),
                    _ => None,
                }));
            }
            _ => {}
        }
    }
    let mut group = criterion.benchmark_group("transitions of charge-card");
    group.throughput(Throughput::Elements(requests.len() as u64));
    group.bench_function("memory store", |bencher| {
        let mut store = Memory::new(Config { lease: header.lease, ..Config::default() });
        let mut changes = Vec::new();
        bencher.iter(|| {
            store.reset();
            let mut known = Known { ids: ids.clone(), next: 0 };
            for (at, request) in &requests {
                changes.clear();
                black_box(store.apply(*at, request, &mut known, &mut changes));
            }
        });
    });
    group.finish();
}

criterion_group!(benches, schedules, events, transitions);
criterion_main!(benches);
