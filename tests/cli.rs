//! The command as people and scripts meet it: exit codes, what is written where, the words of errors.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

/// One agent that charges a card; `change` may break it.
fn scenario(change: impl FnOnce(&mut Value)) -> Value {
    let mut document = json!({
        "format": 1,
        "name": "one-charge",
        "about": "A card is charged once, whatever dies in between.",
        "outside": { "stripe.charge": {} },
        "agents": { "billing": [
            { "effect": "stripe.charge", "args": { "amount": 100 }, "as": "charge" },
            { "complete": { "charged": "$charge.id" } }
        ] },
        "inputs": [{ "at": "+0s", "to": "billing", "from": "shop", "id": "order-1", "data": { "order": 1 } }],
        "faults": { "crash": { "rate": 0.05, "at_most": 2 }, "lost_reply": 0.05 },
        "expect": [{ "effect": "stripe.charge", "happened": { "at_most": 1 } }],
        "expect_calm": [{ "agent": "billing", "ends": "completed" }]
    });
    change(&mut document);
    document
}

/// An empty directory with scenarios in `scenarios/`.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(tempfile::tempdir().expect("a directory for the test"));
        fs::create_dir(place.path("scenarios")).expect("it is empty");
        place
    }

    fn with(name: &str, document: &Value) -> Place {
        let place = Place::new();
        place.write(name, document);
        place
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, document: &Value) {
        fs::write(self.path(name), document.to_string()).expect("it can be written");
    }

    fn run(&self, arguments: &str) -> Told {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chronodrome"));
        command.current_dir(self.0.path()).args(arguments.split_whitespace());
        Told::of(command.output().expect("the command starts"))
    }
}

/// What the command told.
struct Told {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Told {
    fn of(output: Output) -> Told {
        let text = |bytes| String::from_utf8(bytes).expect("text is UTF-8");
        Told { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// The one JSON document on standard output.
    fn document(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}{}", self.out, self.err))
    }
}

const ONE: &str = "scenarios/one-charge.json";

fn one() -> Place {
    Place::with(ONE, &scenario(|_| ()))
}

/// It charges once, and its file expects two: the calm schedule fails.
fn wrong() -> Place {
    let two = json!([{ "effect": "stripe.charge", "happened": 2 }]);
    Place::with(ONE, &scenario(|document| document["expect_calm"] = two))
}

/// Every schedule fails.
fn always_wrong() -> Place {
    let two = json!([{ "effect": "stripe.charge", "happened": 2 }]);
    Place::with(ONE, &scenario(|document| document["expect"] = two))
}

#[test]
fn a_calm_run_that_holds_ends_with_0_and_the_same_digest_each_time() {
    let place = one();
    let told = place.run(&format!("run {ONE} --json"));
    assert_eq!(told.code, Some(0), "{}{}", told.out, told.err);
    let document = told.document();
    let fields = [
        "scenario",
        "seed",
        "verdict",
        "violations",
        "digest",
        "events",
        "calls",
        "virtual_ms",
        "faults",
        "deviations",
        "runs",
        "effects",
        "expectations",
    ];
    for field in fields {
        assert!(document.get(field).is_some(), "{field}");
    }
    assert_eq!((&document["verdict"], &document["seed"]), (&json!("held"), &Value::Null));
    assert_eq!(document["digest"].as_str().map(str::len), Some(64));
    assert_eq!(document["effects"][0]["happened"], json!(1));
    assert_eq!(document["runs"][0]["status"], json!("completed"));
    assert_eq!(place.run(&format!("run {ONE} --json")).document(), document);
}

#[test]
fn the_words_of_a_run_hold_its_verdict_and_its_digest_without_colours() {
    let place = one();
    let told = place.run(&format!("run {ONE} --seed 7"));
    let document = place.run(&format!("run {ONE} --seed 7 --json")).document();
    assert!(told.out.contains(document["digest"].as_str().expect("a digest")), "{}", told.out);
    assert!(told.out.contains("seed 7") && told.out.contains("held"), "{}", told.out);
    assert!(!told.out.contains('\x1b'));
    assert_eq!(told.err, "");
}

#[test]
fn a_broken_expectation_ends_with_1() {
    let told = wrong().run(&format!("run {ONE}"));
    assert_eq!(told.code, Some(1), "{}", told.err);
    assert!(told.out.contains("violated") && told.out.contains("expectation"), "{}", told.out);
    let document = wrong().run(&format!("run {ONE} --json")).document();
    assert_eq!(document["verdict"], json!("violated"));
    assert_eq!(document["expectations"].as_array().expect("a list").last().expect("one")["held"], json!(false));
}

#[test]
fn a_trace_is_a_header_and_records_as_json_lines() {
    let place = one();
    assert_eq!(place.run(&format!("run {ONE} --seed 3 --trace trace.jsonl")).code, Some(0));
    let file = fs::File::open(place.path("trace.jsonl")).expect("the trace is there");
    let (header, records) = chronodrome::history::read_trace(&mut std::io::BufReader::new(file)).expect("it reads");
    assert_eq!(&*header.scenario, "one-charge");
    assert!(records.len() > 10, "{}", records.len());
    let unwritable = place.run(&format!("run {ONE} --trace nowhere/trace.jsonl"));
    assert_eq!(unwritable.code, Some(2));
    assert!(unwritable.err.contains("nowhere/trace.jsonl"), "{}", unwritable.err);
}

#[test]
fn a_sweep_finds_the_same_whatever_the_number_of_threads() {
    let place = one();
    let sweep = |jobs: u32| {
        let told = place.run(&format!("sweep --seeds 200 --jobs {jobs} --json"));
        assert_eq!(told.code, Some(0), "{}{}", told.out, told.err);
        let mut document = told.document();
        for volatile in ["seconds", "per_second"] {
            assert!(document.as_object_mut().expect("an object").remove(volatile).is_some());
        }
        document
    };
    let alone = sweep(1);
    assert_eq!(alone["schedules"], json!(200));
    assert_eq!(alone["residual_bound"]["one-charge"], json!(0.015));
    assert!(alone["scenarios"][0]["deviations_mean"].as_f64().expect("a number") > 0.0);
    assert_eq!(sweep(3), alone);
}

#[test]
fn a_failing_sweep_ends_with_1_and_names_a_command_that_fails_the_same() {
    let place = always_wrong();
    let told = place.run("sweep --seeds 40");
    assert_eq!(told.code, Some(1), "{}{}", told.out, told.err);
    let command = told.out.lines().map(str::trim).find_map(|line| line.strip_prefix("chronodrome "));
    let again = place.run(command.unwrap_or_else(|| panic!("no command in {}", told.out)));
    assert_eq!(again.code, Some(1), "{}{}", again.out, again.err);
    let document = place.run("sweep --seeds 40 --json --out elsewhere").document();
    assert_eq!(document["verdict"], json!("violated"));
    let failure = &document["failures"][0];
    for field in ["fingerprint", "invariant", "scenario", "seed", "file", "deviations"] {
        assert!(failure.get(field).is_some(), "{field}");
    }
    // Those of the seeds, and the calm one.
    assert_eq!((&failure["schedules"], &document["schedules"]), (&json!(41), &json!(40)));
}

#[test]
fn fail_fast_ends_with_the_first_failure() {
    let document = always_wrong().run("sweep --seeds 5000 --fail-fast --json").document();
    let failure = &document["failures"][0];
    assert_eq!((&document["schedules"], &failure["seed"], &failure["schedules"]), (&json!(0), &Value::Null, &json!(1)));
}

#[test]
fn the_time_of_a_sweep_is_kept() {
    let told = one().run("sweep --time 200ms --json");
    assert_eq!((told.code, told.document()["halted"].clone()), (Some(0), json!("time")));
}

#[test]
fn an_exhaust_says_exactly_what_it_covered() {
    let place = one();
    let document = place.run(&format!("exhaust {ONE} --json")).document();
    assert_eq!(document["complete"], json!(true), "{document}");
    assert_eq!(document["planned"], document["schedules"]);
    let sites = document["sites"].as_u64().expect("a number");
    assert!(document["planned"].as_u64().expect("a number") > sites);
    let told = place.run(&format!("exhaust {ONE}"));
    assert_eq!(told.code, Some(0), "{}{}", told.out, told.err);
    assert!(told.out.contains("all ") && told.out.contains(&format!("{sites} sites")), "{}", told.out);
    assert_eq!(always_wrong().run(&format!("exhaust {ONE}")).code, Some(1));
}

#[test]
fn a_list_of_deviations_is_replayed_and_one_that_never_comes_up_is_stale() {
    let place = Place::new();
    let listed = |site: &str| {
        scenario(|document| {
            document.as_object_mut().expect("an object").remove("faults");
            document["deviations"] = json!([{ "site": site, "fault": "lost_reply" }]);
        })
    };
    let seeded = one().run(&format!("sweep {ONE} --seeds 1 --json"));
    assert_eq!(seeded.code, Some(0));
    place.write("stale.json", &listed("billing#1 / lease 7 / append tool.called step 0 / try 9"));
    let told = place.run("replay stale.json");
    assert_eq!(told.code, Some(2), "{}", told.out);
    assert!(told.err.contains("never came up; the nearest that did is `"), "{}", told.err);
    assert_eq!(place.run("replay stale.json --allow-stale").code, Some(0));
    let nearest = told.err.rsplit('`').nth(1).expect("a site").to_owned();
    place.write("fresh.json", &listed(&nearest));
    let told = place.run("replay fresh.json --json");
    assert_eq!(told.code, Some(0), "{}{}", told.out, told.err);
    assert_eq!(told.document()["deviations"][0]["site"], json!(nearest));
    assert_eq!(told.document()["stale"], json!([]));
    let mut healed = listed(&nearest);
    healed["faults"] = json!({ "until": "+1us" });
    place.write("healed.json", &healed);
    let told = place.run("replay healed.json");
    assert_eq!(told.code, Some(2), "{}", told.out);
    assert!(told.err.contains("came up only after the world had healed"), "{}", told.err);
}

#[test]
fn a_replay_of_a_file_that_names_no_promise_says_which_expectations_are_still_broken() {
    let listed = |expect: Value| {
        scenario(|document| {
            document.as_object_mut().expect("an object").remove("faults");
            document["deviations"] = json!([]);
            (document["expect"], document["expect_calm"]) = (expect, json!([]));
        })
    };
    let cases = [
        (
            json!([{ "effect": "stripe.charge", "happened": 2 }]),
            1,
            "violated",
            "it still breaks: effect stripe.charge happened 2",
        ),
        (json!([{ "effect": "stripe.charge", "happened": 1 }]), 0, "held", "all that it expects holds now"),
        (json!([]), 0, "held", "no invariant is broken"),
    ];
    for (expect, code, compared, closing) in cases {
        let place = Place::with("listed.json", &listed(expect));
        let told = place.run("replay listed.json");
        assert_eq!((told.code, told.out.lines().last()), (Some(code), Some(closing)), "{}{}", told.out, told.err);
        assert_eq!(place.run("replay listed.json --json").document()["compared"], json!(compared));
    }
}

/// Errors: the arguments, and what is said.
#[test]
fn wrong_input_ends_with_2_and_says_what_where_and_what_was_meant() {
    let place = one();
    place.write("scenarios/typo.json", &scenario(|document| document["agentz"] = json!({})));
    fs::write(place.path("cut.json"), "{ \"name\": ").expect("it can be written");
    fs::write(place.path("latin.json"), b"{ \"name\": \"\xe9\" }").expect("it can be written");
    fs::write(place.path("deep.json"), "[".repeat(100_000)).expect("it can be written");
    let cases = [
        "run scenarios/one-chrage.json",
        "run scenarios",
        "run nothing/at/all.json",
        "run cut.json",
        "run latin.json",
        "run deep.json",
        "run scenarios/typo.json",
        "run scenarios/one-charge.json --seed -1",
        "run scenarios/one-charge.json --sed 1",
        "swep",
        "sweep --seeds 9..3",
        "sweep --time 5",
        "sweep --jobs 0",
        "exhaust scenarios/one-charge.json --depth 3",
        "replay scenarios/one-charge.json",
        "validate scenarios",
        "validate reports",
    ];
    let mut told = String::new();
    for arguments in cases {
        let found = place.run(arguments);
        assert_eq!(found.code, Some(2), "{arguments}: {}{}", found.out, found.err);
        assert_eq!(found.out, "", "{arguments}");
        told.push_str(&format!("$ chronodrome {arguments}\n{}\n", found.err));
    }
    insta::assert_snapshot!(told);
}

#[test]
fn files_are_checked_without_being_played() {
    let place = always_wrong();
    let told = place.run("validate");
    assert_eq!((told.code, told.out.as_str()), (Some(0), "ok: 1 scenario is valid\n"), "{}", told.err);
    place.write("scenarios/twin.json", &scenario(|_| ()));
    let document = place.run("validate --json");
    assert_eq!(document.code, Some(2));
    let files = document.document()["files"].clone();
    assert_eq!(files[0]["error"], Value::Null);
    assert!(files[1]["error"].as_str().expect("an error").contains("has the name `one-charge`, too"), "{files}");
}

#[test]
fn help_is_complete_and_no_error() {
    let place = Place::new();
    let mut told = place.run("--help").out;
    for command in ["run", "sweep", "merge", "coverage", "exhaust", "replay", "shrink", "profile", "validate"] {
        let help = place.run(&format!("{command} --help"));
        assert_eq!(help.code, Some(0));
        told.push_str(&format!("\n$ chronodrome {command} --help\n{}", help.out));
    }
    insta::assert_snapshot!(told);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    use std::process::Stdio;
    let place = one();
    let mut child = Command::new(env!("CARGO_BIN_EXE_chronodrome"))
        .current_dir(place.0.path())
        .args(["run", ONE])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    drop(child.stdout.take());
    let told = Told::of(child.wait_with_output().expect("it ends"));
    assert_eq!((told.code, told.err.as_str()), (Some(0), ""));
}

#[cfg(unix)]
#[test]
fn an_interrupt_prints_what_was_found_and_ends_with_130() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::Stdio;
    let place = always_wrong();
    let mut child = Command::new(env!("CARGO_BIN_EXE_chronodrome"))
        .current_dir(place.0.path())
        .args(["sweep", "--time", "1h", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    // The first failure is told at once: from then on the sweep is under way.
    let mut first = String::new();
    let mut errors = BufReader::new(child.stderr.take().expect("it is piped"));
    errors.read_line(&mut first).expect("it is told");
    assert!(first.contains("FAILED one-charge"), "{first}");
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill is there");
    assert!(killed.success());
    let mut out = String::new();
    child.stdout.take().expect("it is piped").read_to_string(&mut out).expect("it is text");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let document: Value = serde_json::from_str(&out).expect("one document");
    assert_eq!(document["halted"], json!("interrupt"));
    assert!(document["failures"][0]["schedules"].as_u64().expect("a number") > 0);
}

#[test]
fn no_file_of_a_failure_is_written_where_all_held() {
    let place = one();
    assert_eq!(place.run("sweep --seeds 20").code, Some(0));
    let written = fs::read_dir(place.path("reports")).expect("the results are there");
    let names: Vec<_> = written.map(|entry| entry.expect("it can be listed").file_name()).collect();
    assert_eq!(names, ["results.jsonl"]);
}

#[test]
fn the_failure_that_the_readme_tells_is_found_and_plays_again() {
    let place = Place::new();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/double-charge.json");
    let found = place.run(&format!("exhaust {}", file.display()));
    assert_eq!(found.code, Some(1), "{}", found.out);
    let readme =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("there is a README");
    for told in ["effect-idempotent-once", "all 421 schedules", "27 sites", "13 schedules"] {
        assert!(found.out.contains(told) && readme.contains(told), "{told}: {}", found.out);
    }
    let written = fs::read_dir(place.path("reports")).expect("a file is written").next().expect("there is one");
    let again = place.run(&format!("replay {}", written.expect("it can be listed").path().display()));
    assert_eq!(again.code, Some(1));
    assert!(again.out.contains("it still violates effect-idempotent-once"), "{}", again.out);
}
