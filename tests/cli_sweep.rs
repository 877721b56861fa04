//! `sweep` as a test runner, and `merge`, as people and CI meet them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// One agent that charges a card; `change` may break it.
fn scenario(name: &str, change: impl FnOnce(&mut Value)) -> Value {
    let mut document = json!({
        "format": 1,
        "name": name,
        "about": "A card is charged once, whatever dies in between.",
        "outside": { "stripe.charge": {} },
        "agents": { "billing": [
            { "effect": "stripe.charge", "args": { "amount": 100 }, "as": "charge" },
            { "complete": { "charged": "$charge.id" } }
        ] },
        "inputs": [{ "at": "+0s", "to": "billing", "from": "shop", "id": "order-1", "data": { "order": 1 } }],
        "faults": { "crash": { "rate": 0.05, "at_most": 2 }, "lost_reply": 0.05 },
        "expect": [{ "effect": "stripe.charge", "happened": { "at_most": 1 } }]
    });
    change(&mut document);
    document
}

/// The charge is repeated by whoever finds no result: some crashes charge twice.
fn charges_twice(document: &mut Value) {
    document["agents"]["billing"][0]["policy"] = json!("idempotent");
}

/// A directory with a sound scenario and one that some crashes break.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(tempfile::tempdir().expect("a directory for the test"));
        fs::create_dir(place.path("scenarios")).expect("it is empty");
        place.write("scenarios/sound.json", &scenario("sound", |_| ()));
        place.write("scenarios/twice.json", &scenario("twice", charges_twice));
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, document: &Value) {
        fs::write(self.path(name), document.to_string()).expect("it can be written");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chronodrome"));
        command.current_dir(self.0.path()).args(arguments.split_whitespace());
        command
    }

    fn start(&self, arguments: &str) -> Child {
        let mut command = self.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts")
    }

    fn run(&self, arguments: &str) -> Told {
        let output = self.command(arguments).output().expect("the command starts");
        let text = |bytes| String::from_utf8(bytes).expect("text is UTF-8");
        Told { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// As [`Place::run`], which must end so.
    fn must(&self, arguments: &str, code: i32) -> Told {
        let told = self.run(arguments);
        assert_eq!(told.code, Some(code), "{arguments}: {}{}", told.out, told.err);
        told
    }
}

/// What the command told.
struct Told {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Told {
    fn document(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}{}", self.out, self.err))
    }
}

/// What one failure is about.
fn first_failure(document: &Value) -> &Value {
    &document["failures"][0]
}

#[test]
fn a_failure_is_shrunk_to_the_one_deviation_that_matters_and_its_file_plays_it() {
    let place = Place::new();
    let document = place.must("sweep --seeds 400 --json", 1).document();
    let failure = first_failure(&document);
    assert_eq!((&failure["scenario"], &failure["invariant"]), (&json!("twice"), &json!("effect-idempotent-once")));
    for sample in failure["samples"].as_array().expect("a list") {
        assert_eq!(sample["deviations"]["after"], json!(1), "{sample}");
        assert_eq!(sample["shrunk"]["minimal"], json!(true));
        let file = sample["file"].as_str().expect("a file");
        let written: Value = serde_json::from_str(&place.read(file)).expect("it is JSON");
        assert_eq!(written["deviations"], sample["listed"]);
        assert!(place.must(&format!("replay {file}"), 1).out.contains("it still violates effect-idempotent-once"));
    }
    let told = place.must("sweep --seeds 400", 1);
    assert!(told.out.contains("shrunk to 1\n") && told.out.contains(": the worker dies when "), "{}", told.out);
    let commands = told.out.lines().filter(|line| line.trim().starts_with("chronodrome replay reports/")).count();
    assert!(commands >= 1, "{}", told.out);
}

#[test]
fn without_time_to_shrink_the_file_holds_all_deviations() {
    let place = Place::new();
    let told = place.must("sweep --seeds 400 --shrink 0s", 1);
    assert!(told.out.contains(", not shrunk\n"), "{}", told.out);
    let command = told.out.lines().map(str::trim).find_map(|line| line.strip_prefix("chronodrome replay "));
    place.must(&format!("replay {}", command.expect("a command")), 1);
}

#[test]
fn eight_shards_merged_are_one_run() {
    let place = Place::new();
    // So many that a shard has several seeds in a block, and the blocks of shards overlap.
    place.must("sweep --seeds 1600 --out whole", 1);
    for number in 1..=8 {
        place.run(&format!("sweep --seeds 1600 --shard {number}/8 --out shards --jobs 1"));
    }
    let shards: Vec<String> = (1..=8).map(|number| format!("shards/results-{number}-of-8.jsonl")).collect();
    for json in ["", "--json"] {
        let whole = place.must(&format!("merge whole/results.jsonl {json}"), 1);
        let joined = place.must(&format!("merge {} --complete {json}", shards.join(" ")), 1);
        assert_eq!(joined.out, whole.out);
        assert_eq!(joined.err, "");
    }
    let document = place.must("merge whole/results.jsonl --json", 1).document();
    assert_eq!((&document["schedules"], &document["complete"]), (&json!(3200), &json!(true)));
    // The files of failures are made out of the lines.
    let file = first_failure(&document)["file"].as_str().expect("a file").to_owned();
    let before = place.read(&file);
    fs::remove_dir_all(place.path("reports")).expect("it is there");
    place.must(&format!("merge {}", shards.join(" ")), 1);
    assert_eq!(place.read(&file), before);
    // One shard is missing.
    let told = place.must(&format!("merge {}", shards[1..].join(" ")), 1);
    assert!(told.out.contains("incomplete: 2 800 of 3 200 schedules"), "{}", told.out);
    fs::remove_file(place.path("scenarios/twice.json")).expect("it is there");
    place.must("sweep --seeds 40 --shard 1/2 --out half", 0);
    place.must("merge half/results-1-of-2.jsonl", 0);
    place.must("merge half/results-1-of-2.jsonl --complete", 2);
}

#[test]
fn lines_that_are_shuffled_doubled_or_cut_give_the_same_report() {
    let place = Place::new();
    place.must("sweep --seeds 300", 1);
    let text = place.read("reports/results.jsonl");
    let report = place.must("merge reports/results.jsonl", 1).out;
    let mut lines: Vec<&str> = text.lines().collect();
    lines.reverse();
    let (one, two) = lines.split_at(lines.len() / 3);
    fs::write(place.path("two.jsonl"), two.join("\n")).expect("it can be written");
    fs::write(place.path("one.jsonl"), [one.join("\n"), two[..two.len() / 2].join("\n")].join("\n"))
        .expect("it can be written");
    assert_eq!(place.must("merge two.jsonl one.jsonl two.jsonl", 1).out, report);
    fs::write(place.path("cut.jsonl"), &text[..text.len() - 7]).expect("it can be written");
    let cut = place.must("merge cut.jsonl", 1);
    assert_eq!(cut.out, report);
    assert!(cut.err.contains("cut.jsonl: its last line was cut off"), "{}", cut.err);
    assert_eq!(place.must("merge cut.jsonl reports/results.jsonl", 1).out, report);
}

#[cfg(unix)]
#[test]
fn a_sweep_that_is_killed_loses_nothing_that_was_finished() {
    let place = Place::new();
    let mut child = place.start("sweep --seeds 100000 --jobs 2");
    let results = place.path("reports/results.jsonl");
    let seen = loop {
        let ended = child.try_wait().expect("it is a child");
        assert_eq!(ended, None, "lines are written while it works");
        let text = fs::read_to_string(&results).unwrap_or_default();
        if text.lines().count() > 40 {
            break text;
        }
    };
    assert!(!seen.contains("{\"line\":\"end\""), "lines are written while it works");
    child.kill().expect("it is running");
    child.wait().expect("it ends");
    let whole = &seen[..=seen.rfind('\n').expect("there are lines")];
    assert!(place.read("reports/results.jsonl").starts_with(whole));
    let document = place.must("merge reports/results.jsonl --json", 1).document();
    let batches: Vec<Value> = whole.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    let schedules = |line: &Value| line["counts"]["schedules"].as_u64().unwrap_or(0);
    let finished: u64 = batches.iter().map(schedules).sum();
    assert!(finished > 0 && document["schedules"].as_u64().expect("a number") >= finished, "{document}");
    // Whoever goes on in the same place appends, and what was finished twice counts once.
    fs::OpenOptions::new()
        .append(true)
        .open(&results)
        .and_then(|mut file| std::io::Write::write_all(&mut file, b"{\"line\":\"ba"))
        .expect("it can be written");
    place.must("sweep --seeds 200", 1);
    let joined = place.must("merge reports/results.jsonl --json", 1).document();
    assert!(joined["schedules"].as_u64() >= document["schedules"].as_u64());
    let counted: BTreeSet<String> = place.read("reports/results.jsonl").lines().map(ToOwned::to_owned).collect();
    assert_eq!(counted.len(), place.read("reports/results.jsonl").lines().count(), "no line stands there twice");
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_the_summary_and_the_same_in_result_lines() {
    use std::io::{BufRead, BufReader, Read};
    let place = Place::new();
    let mut child = place.start("sweep --time 1h --json");
    // The first failure is told at once: from then on the sweep is under way.
    let mut first = String::new();
    let mut errors = BufReader::new(child.stderr.take().expect("it is piped"));
    errors.read_line(&mut first).expect("it is told");
    assert!(first.contains("FAILED twice"), "{first}");
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill is there");
    assert!(killed.success());
    let mut out = String::new();
    child.stdout.take().expect("it is piped").read_to_string(&mut out).expect("it is text");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let own: Value = serde_json::from_str(&out).expect("one document");
    assert_eq!(own["halted"], json!("interrupt"));
    let file = first_failure(&own)["file"].as_str().expect("a file is written all the same");
    place.must(&format!("replay {file}"), 1);
    let joined = place.must("merge reports/results.jsonl --json", 1).document();
    for field in ["schedules", "failures", "scenarios", "never_reached", "coverage", "residual_bound"] {
        assert_eq!(joined[field], own[field], "{field}");
    }
}

#[test]
fn a_changed_scenario_begins_its_results_anew_and_old_ones_are_not_joined_with_it() {
    let place = Place::new();
    place.must("sweep scenarios/sound.json --seeds 50", 0);
    fs::copy(place.path("reports/results.jsonl"), place.path("old.jsonl")).expect("it is there");
    place.write("scenarios/sound.json", &scenario("sound", |document| document["about"] = json!("Another sentence.")));
    let told = place.must("sweep scenarios/sound.json --seeds 50", 0);
    assert!(told.err.contains("begun anew"), "{}", told.err);
    let told = place.must("merge old.jsonl reports/results.jsonl", 2);
    assert!(told.err.contains("old.jsonl") && told.err.contains("two scenarios"), "{}", told.err);
    assert_eq!(told.out, "");
    fs::write(place.path("reports/results.jsonl"), "my notes\n").expect("it can be written");
    let told = place.must("sweep scenarios/sound.json --seeds 50", 2);
    assert!(told.err.contains("reports/results.jsonl: line 1 is no result"), "{}", told.err);
    assert_eq!(place.read("reports/results.jsonl"), "my notes\n");
}

#[test]
fn only_one_invariant_counts_where_one_is_asked_for() {
    let place = Place::new();
    let document = place.must("sweep --seeds 400 --only expectation --json", 1).document();
    assert_eq!(first_failure(&document)["invariant"], json!("expectation"));
    assert_eq!(document["failures"].as_array().map(Vec::len), Some(1));
    let samples = first_failure(&document)["samples"].as_array().expect("a list");
    for sample in samples {
        // An invariant is broken before it, and the failure is shrunk to what was asked for all the same.
        assert_eq!(
            (&sample["shrunk"]["minimal"], &sample["deviations"]["after"]),
            (&json!(true), &json!(1)),
            "{sample}"
        );
        place.must(&format!("replay {}", sample["file"].as_str().expect("a file")), 1);
    }
    assert_eq!(place.must("sweep --seeds 400 --only log-dense --json --out o", 0).document()["failures"], json!([]));
    let told = place.must("sweep --only log-dens", 2);
    assert!(told.err.contains("did you mean `log-dense`?"), "{}", told.err);
}

#[test]
fn known_failures_break_nothing_and_one_that_did_not_come_up_is_told() {
    let place = Place::new();
    let entry = |invariant: &str| json!({ "scenario": "twice", "invariant": invariant, "reason": "a ticket" });
    let charged = json!({
        "scenario": "twice", "invariant": "expectation", "subject": "effect stripe.charge happened at most 1",
        "reason": "the same"
    });
    // What is known hides nothing else that the same schedules break.
    place.write("known.json", &json!([entry("effect-idempotent-once")]));
    let told = place.must("sweep --seeds 400 --known known.json --out unlisted", 1);
    assert!(told.out.contains("FAILED twice · expectation · effect stripe.charge happened at most 1"), "{}", told.out);
    place.must("merge unlisted --known known.json", 1);
    place.write("known.json", &json!([entry("effect-idempotent-once"), entry("log-dense"), charged]));
    let told = place.must("sweep --seeds 400 --known known.json --fail-fast --junit report.xml", 0);
    assert!(told.out.contains("KNOWN twice · effect-idempotent-once"), "{}", told.out);
    assert!(told.out.contains("known: a ticket") && told.out.contains("no new violation"), "{}", told.out);
    assert!(told.out.contains("known: twice · log-dense did not come up"), "{}", told.out);
    assert!(told.out.contains("800 schedules"), "a known failure does not end it: {}", told.out);
    assert!(place.read("report.xml").contains("failures=\"0\""));
    place.must("merge reports/results.jsonl --known known.json", 0);
    place.must("merge reports/results.jsonl", 1);
    let wrong = [
        (json!({ "scenario": "twice", "invariant": "log-dense" }), "known.json: missing field `reason`"),
        (json!({ "scenario": "twice", "invariant": "expectation", "reason": "r" }), "names no `subject`"),
        (
            json!({ "scenario": "twice", "invariant": "log-dense", "last": "a crash", "reason": "r" }),
            "`last` is `a crash`",
        ),
    ];
    for (entry, told) in wrong {
        place.write("known.json", &json!([entry]));
        let err = place.must("sweep --known known.json", 2).err;
        assert!(err.contains(told), "{err}");
    }
    place.write("known.json", &json!([{ "scenario": "twize", "invariant": "log-dense", "reason": "r" }]));
    let told = place.must("sweep --known known.json --seeds 1", 0);
    assert!(told.err.contains("known failures of `twize`: no scenario"), "{}", told.err);
}

#[test]
fn the_calm_schedule_is_judged_by_every_shard_and_told_once() {
    let place = Place::new();
    let unsaid = |document: &mut Value| document["expect_calm"] = json!([{ "effect": "stripe.charge", "happened": 2 }]);
    place.write("scenarios/sound.json", &scenario("sound", unsaid));
    fs::remove_file(place.path("scenarios/twice.json")).expect("it is there");
    let told = place.must("sweep --seeds 100 --out whole", 1);
    assert!(told.out.contains("1 schedule, first with the calm schedule"), "{}", told.out);
    let command = told.out.lines().find_map(|line| line.trim().strip_prefix("chronodrome "));
    assert_eq!(command, Some("run scenarios/sound.json"));
    place.must(command.expect("a command"), 1);
    for number in 1..=3 {
        place.must(&format!("sweep --seeds 100 --shard {number}/3 --out parts"), 1);
    }
    let whole = place.must("merge whole --complete --out o", 1).out;
    assert_eq!(place.must("merge parts --complete --out o", 1).out, whole);
    assert!(whole.contains("100 schedules of 1 scenario"), "{whole}");
    let known = json!({
        "scenario": "sound", "invariant": "expectation", "subject": "effect stripe.charge happened 2", "reason": "r"
    });
    place.write("known.json", &json!([known]));
    place.must("sweep --seeds 100 --known known.json", 0);
}

#[test]
fn a_regression_stands_beside_the_scenario_that_it_is_of() {
    let place = Place::new();
    let document = place.must("sweep --seeds 400 --json", 1).document();
    let file = first_failure(&document)["file"].as_str().expect("a file").to_owned();
    fs::copy(place.path(&file), place.path("scenarios/kept.json")).expect("it is there");
    let told = place.must("sweep --seeds 10 --out kept", 1);
    assert!(told.out.contains("FAILED kept · effect-idempotent-once"), "{}", told.out);
    place.must("merge kept", 1);
    place.write("scenarios/again.json", &scenario("sound", |_| ()));
    assert!(place.must("sweep --seeds 10", 2).err.contains("has the name `sound`, too"));
}

#[test]
fn nothing_that_is_read_is_written_over_and_what_was_found_is_told_whatever_cannot_be_written() {
    let place = Place::new();
    let twice = place.read("scenarios/twice.json");
    for arguments in [
        "run scenarios/twice.json --trace scenarios/twice.json",
        "explain scenarios/twice.json --seed 8 --trace scenarios/twice.json",
        "shrink scenarios/twice.json --seed 8 --out scenarios/twice.json",
        "sweep --seeds 10 --junit scenarios/twice.json",
        "sweep --seeds 10 --junit reports/results.jsonl",
    ] {
        let told = place.must(arguments, 2);
        assert!(told.err.contains("would be written over: name another file"), "{arguments}: {}", told.err);
        assert_eq!(place.read("scenarios/twice.json"), twice);
    }
    let told = place.must("sweep --seeds 10 --junit nowhere/report.xml", 2);
    assert!(told.err.contains("nowhere/report.xml: it cannot be written") && told.out.is_empty(), "{}", told.err);
    place.must("sweep --seeds 10 --out o", 1);
    let told = place.must("sweep --seeds 10 --out o --only log-dense", 2);
    assert!(told.err.contains("give another directory with --out"), "{}", told.err);
    place.write("file", &json!({}));
    let told = place.must("exhaust scenarios/twice.json --out file", 2);
    assert!(told.out.contains("FAILED effect-idempotent-once"), "{}{}", told.out, told.err);
}

#[test]
fn a_known_failure_can_be_told_by_its_last_deviation_until_all_that_come_up_are_listed() {
    let place = Place::new();
    let entry = |last: &Value| json!({ "scenario": "twice", "invariant": "effect-idempotent-once", "last": last, "reason": "a ticket" });
    let mut known = vec![entry(&json!("pause × heartbeat"))];
    for _ in 0..4 {
        place.write("known.json", &json!(known));
        let told = place.run("sweep --seeds 400 --known known.json --json");
        let document = told.document();
        let samples = first_failure(&document)["samples"].as_array().expect("a list");
        let unknown: Vec<Value> =
            samples.iter().filter(|sample| sample["known"].is_null()).map(|sample| entry(&sample["last"])).collect();
        assert_eq!(told.code, Some(i32::from(!unknown.is_empty())), "what is not known is told");
        if unknown.is_empty() {
            assert_eq!(first_failure(&document)["known"], json!(true));
            return;
        }
        known.extend(unknown);
    }
    panic!("there are more than sixteen: {known:?}");
}

#[test]
fn no_failure_hides_behind_known_ones_with_the_same_cause() {
    let place = Place::new();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/double-charge.json");
    fs::copy(data, place.path("double-charge.json")).expect("it is there");
    let entry = |last: &str| {
        json!({
            "scenario": "double-charge", "invariant": "effect-idempotent-once", "last": last, "reason": "a ticket"
        })
    };
    // What strikes the charge itself, and the one failure in 43 that has another reason.
    let strikes = ["crash", "lost_reply", "partition", "pause", "tool_unknown"];
    let charge = strikes.map(|fault| entry(&format!("{fault} × perform stripe.charge")));
    let common = [&charge[..], &[entry("crash × record stripe.charge")]].concat();
    let all = [&common[..], &[entry("lost_request × heartbeat")]].concat();
    for (known, code, compared) in [
        (common, 1, json!({ "known": 43, "unknown": 1, "not_shrunk": 0 })),
        (all, 0, json!({ "known": 44, "unknown": 0, "not_shrunk": 0 })),
    ] {
        place.write("known.json", &json!(known));
        let document =
            place.must("sweep double-charge.json --seeds 300 --known known.json --out whole --json", code).document();
        let failure = first_failure(&document);
        assert_eq!(failure["compared"], compared);
        let unknown: Vec<&Value> =
            failure["samples"].as_array().expect("a list").iter().filter(|sample| sample["known"].is_null()).collect();
        assert_eq!(unknown.len(), usize::from(code == 1));
        for sample in unknown {
            assert_eq!(sample["last"], json!("lost_request × heartbeat"));
            place.must(&format!("replay {}", sample["file"].as_str().expect("a file")), 1);
        }
        for number in 1..=4 {
            place.run(&format!(
                "sweep double-charge.json --seeds 300 --known known.json --shard {number}/4 --out parts"
            ));
        }
        let whole = place.must("merge whole --known known.json", code).out;
        assert_eq!(place.must("merge parts --known known.json --complete", code).out, whole);
        let told = if code == 1 { "44 schedules compared with what is known: 43 known, 1 not\n" } else { "44 known\n" };
        assert!(whole.contains(told), "{whole}");
    }
    // Only a sweep compares: what it was not told to compare is not known.
    place.must("sweep double-charge.json --seeds 300 --out plain", 1);
    let told = place.must("merge plain --known known.json", 1);
    assert!(told.out.contains("44 schedules not compared, and taken as not known"), "{}", told.out);
}

#[test]
fn a_junit_report_has_a_case_for_each_scenario() {
    let place = Place::new();
    place.must("sweep --seeds 100 --junit swept.xml", 1);
    place.must("merge reports/results.jsonl --junit merged.xml", 1);
    assert_eq!(place.read("swept.xml"), place.read("merged.xml"));
    insta::assert_snapshot!(place.read("swept.xml"));
}

#[test]
fn files_that_are_not_there_are_told_with_their_nearest_neighbour() {
    let place = Place::new();
    place.must("sweep scenarios/sound.json --seeds 20 --shard 1/2", 0);
    place.must("sweep scenarios/sound.json --seeds 20 --shard 2/2", 0);
    let document = place.must("merge reports --json", 0).document();
    assert_eq!((&document["schedules"], &document["complete"]), (&json!(20), &json!(true)));
    let cases = [
        ("merge reports/results-1-of-3.jsonl", "did you mean reports/results-1-of-2.jsonl?"),
        ("merge scenarios", "no file of results (results*.jsonl) is in this directory"),
        ("merge scenarios/sound.json", "line 1 is no result of a sweep"),
        ("sweep --known reportz", "did you mean reports?"),
    ];
    for (arguments, words) in cases {
        let told = place.must(arguments, 2);
        assert!(told.err.contains(words), "{}", told.err);
    }
}

#[test]
fn a_shard_is_one_of_those_that_there_are() {
    let place = Place::new();
    for wrong in ["0/8", "9/8", "8", "a/b", "1/0"] {
        let told = place.must(&format!("sweep --shard {wrong}"), 2);
        assert!(told.err.contains("from `1/8` to `8/8`"), "{}", told.err);
    }
    assert!(!Path::new(&place.path("reports")).exists(), "nothing is written where the input is wrong");
}

#[test]
fn the_report_of_a_failing_sweep_reads_well() {
    let place = Place::new();
    place.must("sweep --seeds 400", 1);
    insta::assert_snapshot!(place.must("merge reports/results.jsonl", 1).out);
}
