//! What lines say must not depend on their order, on how often they stand there, or on how many sweeps wrote them.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::explore::fake::Fake;
use crate::explore::sweep::Sweep;
use crate::explore::{Aim, Known, KnownFailure, News, Shard, Subject};

fn fakes() -> [Fake; 2] {
    [Fake { fails: Some(97), ..Fake::default() }, Fake { name: "quiet", ..Fake::default() }]
}

/// The lines that a sweep writes while it works, and those that it makes its own report of.
fn lines_of(sweep: &Sweep, fakes: &[Fake]) -> (Vec<Line>, BTreeSet<Line>) {
    let subjects: Vec<&dyn Subject> = fakes.iter().map(|fake| fake as &dyn Subject).collect();
    let swept: Vec<Swept<'_>> = subjects.iter().map(|subject| Swept { subject: *subject, path: "f.json" }).collect();
    let mut recorder = Recorder::new(sweep, &swept);
    let mut lines = vec![Line::Sweep(recorder.sweep().clone())];
    let done = sweep.run(&subjects, &mut |news| {
        if let News::Finished(finished) = &news {
            lines.extend(recorder.finished(finished));
        }
        None
    });
    lines.extend(recorder.troubles(&done.findings));
    lines.push(Line::End { halted: None });
    (lines, of_findings(&done.findings, &recorder))
}

fn shard(number: u64, of: u64) -> Sweep {
    Sweep { seeds: 3..1_003, jobs: 2, shard: Shard { number, of }, ..Sweep::default() }
}

fn summary(lines: impl IntoIterator<Item = Line>) -> Summary {
    Summary::of(&lines.into_iter().collect(), &Known::default()).expect("they belong together")
}

#[test]
fn what_a_sweep_writes_while_it_works_says_what_it_says_at_its_end() {
    let (lines, own) = lines_of(&shard(1, 1), &fakes());
    let (written, own) = (summary(lines), summary(own));
    assert_eq!(written, own);
    assert!(written.complete());
    assert_eq!(written.total().schedules, 2_000);
    assert_eq!((written.failures.len(), written.failures[0].count), (1, 10));
    assert_eq!(written.failures[0].samples[0].failure.seed, Some(97));
}

#[test]
fn eight_shards_say_what_one_sweep_says() {
    let (whole, _) = lines_of(&shard(1, 1), &fakes());
    for of in [2, 3, 8] {
        let parts: Vec<Line> = (1..=of).flat_map(|number| lines_of(&shard(number, of), &fakes()).0).collect();
        assert_eq!(summary(parts), summary(whole.clone()), "{of} shards");
    }
}

#[test]
fn a_shard_that_is_missing_is_seen() {
    let parts = (1..8).flat_map(|number| lines_of(&shard(number, 8), &fakes()).0);
    let summary = summary(parts);
    assert!(!summary.complete());
    assert_eq!((summary.total().schedules, summary.scenarios[0].planned), (1_750, Some(1_000)));
}

#[test]
fn sweeps_that_overlap_count_each_schedule_once() {
    let sweep =
        |seeds: std::ops::Range<u64>, number, of| Sweep { seeds, shard: Shard { number, of }, ..Sweep::default() };
    let (of_all, _) = lines_of(&sweep(0..2_000, 1, 1), &fakes());
    let parts = [sweep(0..700, 1, 1), sweep(500..2_000, 1, 1), sweep(0..2_000, 3, 8), sweep(100..200, 2, 3)];
    let joined = summary(parts.iter().flat_map(|sweep| lines_of(sweep, &fakes()).0));
    assert_eq!(joined, summary(of_all));
}

#[test]
fn two_divisions_into_shards_that_cut_each_other_count_nothing_twice() {
    let seeds = 0..20_000;
    let shards = [Shard { number: 1, of: 3 }, Shard { number: 1, of: 8 }];
    let sweep = |shard| lines_of(&Sweep { seeds: seeds.clone(), shard, ..Sweep::default() }, &fakes()).0;
    let joined = summary(shards.into_iter().flat_map(sweep));
    let either: BTreeSet<u64> = shards.iter().flat_map(|shard| shard.seeds(seeds.clone())).collect();
    let (counted, either) = (joined.scenarios[0].counts.schedules, either.len() as u64);
    assert!(counted < either && joined.left_out > 0);
    assert_eq!(2 * counted + joined.left_out, 2 * either, "what is not counted is told, for each of two scenarios");
}

#[test]
fn results_that_contradict_each_other_are_seen() {
    let (mut lines, _) = lines_of(&shard(1, 1), &fakes());
    let Some(Line::Batch(batch)) = lines.iter().find(|line| matches!(line, Line::Batch(_))).cloned() else {
        panic!("there are batches")
    };
    let mut other = batch.clone();
    other.counts.events += 1;
    lines.push(Line::Batch(other));
    let joined = summary(lines);
    assert_eq!(joined.contradictions, BTreeSet::from([(batch.of, batch.seeds)]));
    assert_eq!(joined.total().schedules, 2_000);
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let (lines, _) = lines_of(&shard(1, 1), &fakes());
    let refused = |change: &dyn Fn(&mut SweepLine)| {
        let mut lines: BTreeSet<Line> = lines.iter().cloned().collect();
        let Some(Line::Sweep(mut sweep)) = lines.iter().find(|line| matches!(line, Line::Sweep(_))).cloned() else {
            panic!("there is a beginning")
        };
        change(&mut sweep);
        lines.insert(Line::Sweep(sweep));
        Summary::of(&lines, &Known::default()).expect_err("they do not belong together").to_string()
    };
    assert!(refused(&|sweep| sweep.written_by = "chronodrome 0.0.1".to_owned()).contains("chronodrome 0.0.1"));
    assert!(refused(&|sweep| sweep.scenarios[0].id = "other".to_owned()).contains("two scenarios"));
    assert!(refused(&|sweep| sweep.only = Some("log-dense".to_owned())).contains("--only log-dense"));
    let headless = lines.into_iter().filter(|line| !matches!(line, Line::Sweep(_))).collect();
    assert_eq!(Summary::of(&headless, &Known::default()), Err(SummaryError::Empty));
}

#[test]
fn a_sweep_that_is_broken_off_anywhere_tells_every_failure_that_it_counts() {
    let (lines, _) = lines_of(&shard(1, 1), &fakes());
    for kept in 1..lines.len() {
        let summary = summary(lines[..kept].iter().cloned());
        assert_eq!(summary.violated(), summary.total().failing > 0 || !summary.failures.is_empty(), "{kept} lines");
    }
}

#[test]
fn failures_that_are_counted_and_not_told_are_refused() {
    let (lines, _) = lines_of(&shard(1, 1), &fakes());
    let rest = lines.into_iter().filter(|line| !matches!(line, Line::Failure(_))).collect();
    let error = Summary::of(&rest, &Known::default()).expect_err("a line is missing").to_string();
    assert!(error.contains("no line tells one"), "{error}");
}

#[test]
fn a_batch_counts_no_more_than_its_seeds_and_a_file_stays_in_its_directory() {
    let (lines, _) = lines_of(&shard(2, 8), &fakes());
    let Some(Line::Batch(mut batch)) = lines.iter().find(|line| matches!(line, Line::Batch(_))).cloned() else {
        panic!("there are batches")
    };
    let reads = |line: &Line| read_lines(line.to_text().as_bytes()).is_ok();
    let counted = |schedules, failing, minima: &[u64]| {
        let mut batch = batch.clone();
        (batch.counts.schedules, batch.counts.failing) = (schedules, failing);
        let minima = minima.iter().map(|count| MinimumCount { last: None, count: *count }).collect();
        let (invariant, subject) = ("log-dense".to_owned(), "run".to_owned());
        batch.failing = vec![FailingCount { invariant, subject, count: failing, minima }];
        reads(&Line::Batch(batch))
    };
    let most = batch.counts.schedules;
    assert!(counted(most, 0, &[]) && counted(most, most, &[]) && counted(most, most, &[1, most - 1]));
    assert!(!counted(most + 1, 0, &[]) && !counted(most - 1, 0, &[]) && !counted(u64::MAX, 0, &[]));
    assert!(!counted(most, most + 1, &[]) && !counted(most, 1, &[2]) && !counted(most, most, &[u64::MAX, u64::MAX]));
    batch.failing.clear();
    batch.counts.failing += 1;
    assert!(!reads(&Line::Batch(batch.clone())), "a failure has a cause");
    let named = |name: &str| {
        reads(&Line::File(FileLine {
            of: batch.of.clone(),
            seed: 1,
            invariant: "log-dense".to_owned(),
            subject: "run".to_owned(),
            shrunk: None,
            last: None,
            deviations: Vec::new(),
            story: Vec::new(),
            name: name.to_owned(),
            text: String::new(),
        }))
    };
    assert!(named("charge-card-log-dense-seed-7.json"));
    for name in ["../up.json", "/there.json", "a/b.json", "..", "", ".json", "results.jsonl", "a\\b.json"] {
        assert!(!named(name), "{name}");
    }
}

#[test]
fn a_known_failure_is_marked_and_one_that_did_not_come_up_is_told() {
    let entry = |invariant: &str| KnownFailure {
        scenario: "fake".to_owned(),
        invariant: invariant.to_owned(),
        subject: None,
        last: None,
        reason: "it is being worked on".to_owned(),
    };
    let known = Known::new(vec![entry("log-dense"), entry("log-closed")]);
    let lines = lines_of(&shard(1, 1), &fakes()).0.into_iter().collect();
    let summary = Summary::of(&lines, &known).expect("they belong together");
    assert!(!summary.violated());
    assert_eq!(summary.failures[0].samples[0].known.as_deref(), Some("it is being worked on"));
    assert_eq!(summary.not_seen, [entry("log-closed")]);
}

/// A fake that fails ten times, the last time with another minimum; and what of it is known.
fn one_is_rare(known: &[&str]) -> (Vec<Fake>, Known) {
    let entry = |call: &&str| KnownFailure {
        scenario: "fake".to_owned(),
        invariant: "log-dense".to_owned(),
        subject: None,
        last: Some(format!("lost_reply × {call}")),
        reason: format!("it is {call}"),
    };
    let fake = Fake { fails: Some(97), rare: Some(970), ..Fake::default() };
    (vec![fake], Known::new(known.iter().map(entry).collect()))
}

#[test]
fn every_failure_with_a_cause_that_is_known_by_its_minima_is_compared_and_one_that_is_unknown_is_told() {
    let cases: [(&[&str], [u64; 2]); 3] =
        [(&["common"], [9, 1]), (&["common", "rare"], [10, 0]), (&["other"], [0, 10])];
    for (known, [expected, unknown]) in cases {
        let (fakes, known) = one_is_rare(known);
        let aim = Aim { known: known.clone(), ..Aim::default() };
        let of = |number, of| lines_of(&Sweep { aim: aim.clone(), ..shard(number, of) }, &fakes);
        let summary =
            |lines: Vec<Line>| Summary::of(&lines.into_iter().collect(), &known).expect("they belong together");
        let (written, own) = of(1, 1);
        let whole = summary(written.clone());
        assert_eq!(whole, summary(own.into_iter().collect()));
        for parts in [2, 3, 8] {
            let parts = (1..=parts).flat_map(|number| of(number, parts).0).collect();
            assert_eq!(summary(parts), whole);
        }
        let failure = &whole.failures[0];
        assert_eq!(failure.compared, Some(Compared { known: expected, unknown, not_shrunk: 0 }));
        assert_eq!((whole.violated(), failure.is_known()), (unknown > 0, unknown == 0));
        let told: Vec<_> = failure.samples.iter().map(|sample| (sample.failure.seed, sample.known.is_some())).collect();
        assert_eq!(told, [(Some(97), expected > 0), (Some(970), unknown == 0)]);
        // A sweep without the list, in the same file, takes nothing away.
        let mut both = lines_of(&shard(1, 1), &fakes).0;
        both.extend(written);
        assert_eq!(summary(both), whole);
    }
}

#[test]
fn what_was_not_compared_counts_as_not_known() {
    let (fakes, known) = one_is_rare(&["common", "rare"]);
    let lines = lines_of(&shard(1, 1), &fakes).0.into_iter().collect();
    let summary = Summary::of(&lines, &known).expect("they belong together");
    assert!(summary.violated());
    assert_eq!(summary.failures[0].compared, Some(Compared { known: 0, unknown: 0, not_shrunk: 10 }));
}

#[test]
fn known_failures_do_not_end_a_sweep_and_the_first_that_is_not_does() {
    let played = |known: &[&str]| {
        let (fakes, known) = one_is_rare(known);
        let aim = Aim { known, ..Aim::default() };
        summary(lines_of(&Sweep { aim, fail_fast: true, ..shard(1, 1) }, &fakes).1).total().schedules
    };
    assert_eq!(played(&[]), 97 - 3 + 1);
    assert_eq!(played(&["common"]), 970 - 3 + 1);
    assert_eq!(played(&["common", "rare"]), 1_000);
}

#[test]
fn a_line_reads_as_it_was_written() {
    let (lines, _) = lines_of(&shard(1, 8), &fakes());
    let text: String = lines.iter().map(Line::to_text).collect();
    assert_eq!(read_lines(text.as_bytes()).expect("they are sound").lines, lines);
}

#[test]
fn a_wrong_line_is_told_by_its_number_and_a_cut_one_is_left_out() {
    let (lines, _) = lines_of(&shard(1, 8), &fakes());
    let text: String = lines.iter().map(Line::to_text).collect();
    let last = text.trim_end().rfind('\n').expect("there are several") + 1;
    for end in last + 1..text.len() - 1 {
        let read = read_lines(&text.as_bytes()[..end]).expect("the rest is sound");
        assert_eq!((read.lines.len(), read.whole, read.cut), (lines.len() - 1, last, true), "cut at {end}");
    }
    let unended = read_lines(text.trim_end().as_bytes()).expect("only its end is missing");
    assert_eq!((unended.lines.len(), unended.cut), (lines.len(), false));
    let cases = [
        ("{}\n", 1),
        ("\n{\"line\":\"end\",\"halted\":null}\nnothing\n", 3),
        ("{\"line\":\"other\"}\n", 1),
        ("{\"name\":\"a scenario without a last newline\"}", 1),
        ("{\"line\":\"batch\",\"of\":\"a\",\"seeds\":[2,1],\"shard\":[1,1],\"counts\":{}}\n", 1),
    ];
    for (text, number) in cases {
        assert_eq!(read_lines(text.as_bytes()).expect_err("it is wrong").number, number, "{text}");
    }
}

#[test]
fn a_line_of_more_seeds_than_are_ever_played_in_one_go_is_refused_with_its_reason() {
    let read = |seeds: [u64; 2], shard: [u64; 2], schedules: u64| {
        let counts = Counts { schedules, ..Counts::default() };
        let batch = BatchLine { of: "a".to_owned(), seeds, shard, counts, failing: Vec::new() };
        let text = format!("\n{}", Line::Batch(batch).to_text());
        read_lines(text.as_bytes()).map(drop).map_err(|wrong| wrong.to_string())
    };
    let cases = [
        ([0, u64::MAX], [1, 1], u64::MAX, Some("more seeds than a sweep plays in one go")),
        ([0, u64::MAX], [1, 3], 1, Some("more seeds than a sweep plays in one go")),
        ([u64::MAX - 64, u64::MAX], [1, 1], 64, None),
        ([0, 64], [1, 1], 65, Some("as many schedules as it has seeds")),
        ([0, 64], [3, u64::MAX], 1, Some("there is no such shard")),
        ([9, 2], [1, 1], 1, Some("end before they begin")),
    ];
    for (seeds, shard, schedules, reason) in cases {
        match (read(seeds, shard, schedules), reason) {
            (Ok(()), None) => {}
            (Err(told), Some(reason)) => assert!(told.starts_with("line 2 ") && told.contains(reason), "{told}"),
            (read, _) => panic!("{seeds:?} {shard:?} {schedules}: {read:?}"),
        }
    }
}

/// A sweep in shards of any number, each broken off somewhere, played again, and their lines mixed.
fn mixed() -> impl Strategy<Value = (u64, Vec<(usize, usize)>, u64)> {
    (1_u64..6, proptest::collection::vec((0_usize..1_000, 0_usize..1_000), 0..200), 0_u64..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]
    #[test]
    fn lines_that_are_shuffled_and_doubled_say_the_same((of, swaps, twice) in mixed()) {
        let lines: Vec<Line> = (1..=of).flat_map(|number| lines_of(&shard(number, of), &fakes()).0).collect();
        let mut other = lines.clone();
        other.extend(lines.iter().skip(twice as usize).step_by(2).cloned());
        for (one, two) in swaps {
            let count = other.len();
            other.swap(one % count, two % count);
        }
        prop_assert_eq!(summary(other), summary(lines));
    }

    #[test]
    fn what_is_broken_off_and_played_again_counts_once(of in 1_u64..5, kept in 1_usize..300) {
        let whole: Vec<Line> = (1..=of).flat_map(|number| lines_of(&shard(number, of), &fakes()).0).collect();
        let part: Vec<Line> = whole.iter().take(kept).cloned().collect();
        let part_says = summary(part.clone());
        prop_assert!(part_says.total().schedules <= summary(whole.clone()).total().schedules);
        prop_assert_eq!(summary(part.into_iter().chain(whole.clone())), summary(whole));
    }
}
