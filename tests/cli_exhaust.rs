//! `exhaust` as people and scripts meet it: what it says that it covered, budgets, other latencies, interrupts.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

/// One agent that charges a card on one worker; `change` may break it.
fn scenario(change: impl FnOnce(&mut Value)) -> Value {
    let mut document = json!({
        "format": 1,
        "name": "one-charge",
        "runtime": { "workers": 1 },
        "outside": { "stripe.charge": {} },
        "agents": { "billing": [
            { "effect": "stripe.charge", "args": { "amount": 100 }, "as": "charge" },
            { "complete": { "charged": "$charge.id" } }
        ] },
        "inputs": [{ "at": "+0s", "to": "billing", "from": "shop", "id": "order-1", "data": { "order": 1 } }],
        "expect": [{ "effect": "stripe.charge", "happened": { "at_most": 1 } }],
        "expect_calm": [{ "agent": "billing", "ends": "completed" }]
    });
    change(&mut document);
    document
}

/// One deviation costs at most two leases; a fourth takes two of them.
fn fails_with_two() -> Value {
    scenario(|document| document["expect"] = json!([{ "run": "billing#1", "leases": { "at_most": 3 } }]))
}

/// An empty directory with one scenario, `one.json`.
struct Place(TempDir);

impl Place {
    fn with(document: &Value) -> Place {
        let place = Place(tempfile::tempdir().expect("a directory for the test"));
        fs::write(place.path("one.json"), document.to_string()).expect("it can be written");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chronodrome"));
        command.current_dir(self.0.path()).args(arguments.split_whitespace());
        command
    }

    fn run(&self, arguments: &str) -> (Option<i32>, String, String) {
        let Output { status, stdout, stderr } = self.command(arguments).output().expect("the command starts");
        let text = |bytes| String::from_utf8(bytes).expect("text is UTF-8");
        (status.code(), text(stdout), text(stderr))
    }

    fn document(&self, arguments: &str) -> Value {
        let (_, out, err) = self.run(arguments);
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}"))
    }

    /// The files of failures.
    fn reports(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.path("reports")) else { return Vec::new() };
        let mut files: Vec<_> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
        files.sort();
        files
    }
}

#[test]
fn all_of_two_deviations_are_played_or_spared_and_it_says_so() {
    let place = Place::with(&scenario(|_| ()));
    let document = place.document("exhaust one.json --depth 2 --json");
    assert_eq!((&document["verdict"], &document["complete"]), (&json!("held"), &json!(true)), "{document}");
    let [start] = document["starts"].as_array().expect("a list").as_slice() else { panic!("{document}") };
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("no number: {value}"));
    let (singles, pairs) = (&start["singles"], &start["pairs"]);
    assert_eq!(number(&pairs["played"]) + number(&pairs["spared"]), number(&pairs["planned"]));
    assert!(number(&pairs["spared"]) > 0 && number(&pairs["planned"]) > 100 * number(&document["sites"]), "{pairs}");
    assert_eq!(pairs["firsts_done"], singles["planned"]);
    let holds = &start["holds"];
    assert!(number(&holds["played"]) > 0 && holds["played"] == holds["planned"], "{holds}");
    let all = number(&singles["played"]) + number(&holds["played"]) + number(&pairs["played"]);
    assert_eq!(number(&document["schedules"]), all);
    let full = place.document("exhaust one.json --depth 2 --no-prune --json");
    assert_eq!(full["starts"][0]["pairs"]["planned"], pairs["planned"]);
    assert_eq!((&full["starts"][0]["pairs"]["spared"], &full["complete"]), (&json!(0), &json!(true)));
    let (code, out, err) = place.run("exhaust one.json --depth 2");
    assert_eq!(code, Some(0), "{out}{err}");
    let timeless = |line: &str| line.split_once(", about ").map_or(line, |(before, _)| before).to_owned();
    let told: Vec<_> = err.lines().map(timeless).collect();
    insta::assert_snapshot!(format!("{}\n--\n{out}", told.join("\n")));
}

#[test]
fn what_takes_two_deviations_is_found_at_depth_two_and_its_file_has_both() {
    let place = Place::with(&fails_with_two());
    assert_eq!(place.run("exhaust one.json").0, Some(0), "one lost lease is survived");
    assert!(place.reports().is_empty());
    let causes = |arguments: &str| {
        let document = place.document(arguments);
        let each = document["failures"].as_array().expect("a list").iter();
        each.map(|failure| failure["fingerprint"].to_string()).collect::<Vec<_>>()
    };
    let pruned = causes("exhaust one.json --depth 2 --json");
    assert_eq!(pruned, causes("exhaust one.json --depth 2 --json --no-prune --jobs 3"));
    let [file] = &place.reports()[..] else { panic!("one cause, one file") };
    let written: Value = serde_json::from_str(&fs::read_to_string(file).expect("it is there")).expect("it is JSON");
    assert_eq!(written["deviations"].as_array().expect("a list").len(), 2);
    assert_eq!(place.run(&format!("replay {}", file.display())).0, Some(1));
    let (code, out, _) = place.run("exhaust one.json --depth 2 --fail-fast");
    assert_eq!(code, Some(1));
    assert!(out.contains("first with the deviations at `") && out.contains("all whose first is among"), "{out}");
}

#[test]
fn a_budget_ends_it_and_it_says_exactly_what_was_covered() {
    let place = Place::with(&scenario(|_| ()));
    let document = place.document("exhaust one.json --depth 2 --budget 1ms --json");
    assert_eq!((&document["complete"], &document["verdict"]), (&json!(false), &json!("held")), "{document}");
    let (code, out, _) = place.run("exhaust one.json --budget 1us --depth 2");
    assert_eq!(code, Some(0));
    assert!(out.contains("nothing violated in these"), "{out}");
}

#[test]
fn around_starts_from_worlds_with_other_latencies_and_a_failure_keeps_them() {
    let place = Place::with(&scenario(|_| ()));
    let document = place.document("exhaust one.json --around 3 --json");
    let starts = document["starts"].as_array().expect("a list");
    let latencies: Vec<_> = starts.iter().map(|start| start["latencies"].clone()).collect();
    assert_eq!(latencies, [Value::Null, json!(1), json!(2), json!(3)]);
    assert_eq!(document["complete"], json!(true));
    let digest = |seed: Option<u64>| {
        let with = scenario(|document| document["latencies"] = json!(seed));
        let with = if seed.is_none() { scenario(|_| ()) } else { with };
        let run = Place::with(&with).document("run one.json --json");
        assert_eq!(run["verdict"], json!("held"));
        run["virtual_ms"].clone()
    };
    assert_ne!(digest(Some(1)), digest(None), "the calls take other times");
}

#[test]
fn a_file_with_latencies_is_played_with_them() {
    let place = Place::with(&scenario(|document| {
        document["latencies"] = json!(7);
        document["expect"] = json!([{ "effect": "stripe.charge", "happened": 2 }]);
    }));
    assert_eq!(place.run("exhaust one.json").0, Some(1));
    let files = place.reports();
    let file = files.first().expect("a file is written");
    let written: Value = serde_json::from_str(&fs::read_to_string(file).expect("it is there")).expect("it is JSON");
    assert_eq!(written["latencies"], json!(7));
    assert_eq!(place.run(&format!("replay {}", file.display())).0, Some(1));
}

#[test]
fn wrong_input_is_told_and_nothing_is_written() {
    let place = Place::with(&scenario(|document| document["latencies"] = json!(-1)));
    let cases = [
        ("exhaust one.json", "one.json:1:"),
        ("exhaust one.json --depth 0", "0 is not in 1..=2"),
        ("exhaust one.json --around some", "invalid value 'some'"),
        ("exhaust one.json --budget 5", "invalid value '5'"),
        ("exhaust", "<SCENARIO>"),
    ];
    for (arguments, told) in cases {
        let (code, out, err) = place.run(arguments);
        assert_eq!((code, &*out), (Some(2), ""), "{arguments}: {err}");
        assert!(err.contains(told), "{arguments}: {err}");
    }
    assert!(place.reports().is_empty());
}

#[cfg(unix)]
#[test]
fn an_interrupt_prints_what_was_covered_and_ends_with_130() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::Stdio;
    let place = Place::with(&scenario(|document| document["runtime"]["workers"] = json!(4)));
    let arguments = "exhaust one.json --depth 2 --around 1000 --jobs 1";
    let mut child = place.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    let mut errors = BufReader::new(child.stderr.take().expect("it is piped"));
    while !line.contains("schedules of two deviations") {
        line.clear();
        assert_ne!(errors.read_line(&mut line).expect("it is told"), 0, "it tells how many pairs are ahead");
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill is there");
    assert!(killed.success());
    let mut out = String::new();
    child.stdout.take().expect("it is piped").read_to_string(&mut out).expect("it is text");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert!(out.contains("of two deviations played") && out.contains(" not: "), "{out}");
}
