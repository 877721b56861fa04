//! Smaller documents of a scenario, the boldest first.
//!
//! An edit need not give a valid scenario: what is not valid is passed over at no cost.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// A smaller document is offered; whether it is taken, or why there must be no more.
pub(super) type Offer<'a, S> = dyn FnMut(Value) -> Result<bool, S> + 'a;

/// Members that are a scenario's or an input's identity, or not the shrinking's to change.
const KEPT: [&str; 14] = [
    "$schema",
    "format",
    "name",
    "about",
    "start",
    "id",
    "deviations",
    "violates",
    "written_by",
    "agents",
    "seed",
    // The document of a plan or a trace is told by these.
    "uid",
    "plan_uid",
    // The default is not the fewest.
    "workers",
];

/// Where the steps within a step stand.
const WITHIN: [&str; 4] = ["do", "then", "else", "all"];

/// Offers every edit of `document`, each of what is left of it by those that were taken; whether one was.
///
/// # Errors
/// When an offer stops.
pub(super) fn offer_all<S>(document: &mut Value, offer: &mut Offer<'_, S>) -> Result<bool, S> {
    let mut edits = Edits { document, offer, taken: false };
    edits.without(&["expect", "expect_calm"])?;
    edits.without(&["load"])?;
    edits.items("/expect")?;
    edits.items("/expect_calm")?;
    edits.items("/inputs")?;
    edits.items("/load")?;
    for key in edits.keys("/agents") {
        edits.without_member("/agents", &key)?;
    }
    edits.users()?;
    edits.straight()?;
    edits.workers()?;
    edits.bare_agents()?;
    let scripts = edits.scripts();
    for script in &scripts {
        edits.steps(script)?;
    }
    for place in ["/runtime", "/outside", "/load", "/inputs", "/expect", "/expect_calm"] {
        edits.members(place)?;
    }
    for script in &scripts {
        edits.members(script)?;
    }
    for key in edits.keys("/agents") {
        edits.members(&format!("/agents/{}", escaped(&key)))?;
    }
    edits.bare_agents()?;
    Ok(edits.taken)
}

struct Edits<'a, 'b, S> {
    document: &'a mut Value,
    offer: &'a mut Offer<'b, S>,
    taken: bool,
}

impl<S> Edits<'_, '_, S> {
    /// Offers the document after a change, if the change is one; whether it is taken.
    fn change(&mut self, change: impl FnOnce(&mut Value)) -> Result<bool, S> {
        let mut changed = self.document.clone();
        change(&mut changed);
        if changed == *self.document || !(self.offer)(changed.clone())? {
            return Ok(false);
        }
        *self.document = changed;
        self.taken = true;
        Ok(true)
    }

    /// Offers the document with something else at a place.
    fn put(&mut self, place: &str, value: Value) -> Result<bool, S> {
        self.change(|document| {
            if let Some(there) = document.pointer_mut(place) {
                *there = value;
            }
        })
    }

    fn without(&mut self, keys: &[&str]) -> Result<bool, S> {
        self.change(|document| {
            if let Some(members) = document.as_object_mut() {
                members.retain(|key, _| !keys.contains(&key.as_str()));
            }
        })
    }

    fn without_member(&mut self, place: &str, key: &str) -> Result<bool, S> {
        self.change(|document| {
            if let Some(members) = document.pointer_mut(place).and_then(Value::as_object_mut) {
                members.remove(key);
            }
        })
    }

    fn keys(&self, place: &str) -> Vec<String> {
        let members = self.document.pointer(place).and_then(Value::as_object);
        members.map(|members| members.keys().cloned().collect()).unwrap_or_default()
    }

    fn length(&self, place: &str) -> usize {
        self.document.pointer(place).and_then(Value::as_array).map_or(0, Vec::len)
    }

    /// Drops items of the list at a place: halves, then ever smaller pieces, the last first.
    fn items(&mut self, place: &str) -> Result<(), S> {
        let mut piece = self.length(place);
        while piece > 0 {
            let mut end = self.length(place);
            while end > 0 {
                let start = end.saturating_sub(piece);
                self.change(|document| {
                    if let Some(list) = document.pointer_mut(place).and_then(Value::as_array_mut) {
                        list.drain(start..end);
                    }
                })?;
                end = start;
            }
            piece /= 2;
        }
        Ok(())
    }

    /// Fewer workers: one, then one less at a time.
    fn workers(&mut self) -> Result<(), S> {
        if self.document.pointer("/runtime/workers").is_some_and(Value::is_array) {
            return self.items("/runtime/workers");
        }
        self.fewer("/runtime/workers")
    }

    /// Fewer users, each with fewer settings.
    fn users(&mut self) -> Result<(), S> {
        for key in self.keys("/users") {
            self.without_member("/users", &key)?;
        }
        for key in self.keys("/users") {
            let user = format!("/users/{}", escaped(&key));
            self.members(&user)?;
            self.items(&format!("{user}/blocked"))?;
        }
        Ok(())
    }

    /// Mail straight to those whom others spawn: the levels of a tree above them may be needed for nothing.
    fn straight(&mut self) -> Result<(), S> {
        for nth in 0..self.length("/inputs") {
            let place = format!("/inputs/{nth}/to");
            let mut went = true;
            while went {
                went = false;
                let mut below = BTreeSet::new();
                let to = self.document.pointer(&place).and_then(Value::as_str).and_then(|to| to.split('/').next());
                to.into_iter().for_each(|to| spawned(&self.document["agents"][to], &mut below));
                for kind in below {
                    if !went {
                        went = self.put(&place, json!(kind))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Agents that are their steps and nothing else.
    fn bare_agents(&mut self) -> Result<(), S> {
        for key in self.keys("/agents") {
            let place = format!("/agents/{}", escaped(&key));
            if let Some(steps) = self.document.pointer(&format!("{place}/steps")).cloned() {
                self.put(&place, steps)?;
            }
        }
        Ok(())
    }

    /// Lowers the number at a place: 1, then its half, then one less, while that is taken.
    fn fewer(&mut self, place: &str) -> Result<(), S> {
        loop {
            let Some(number) = self.document.pointer(place).and_then(Value::as_u64) else { return Ok(()) };
            let mut lowered = false;
            for lower in [1, number / 2, number.saturating_sub(1)] {
                if (1..number).contains(&lower) && self.put(place, json!(lower))? {
                    lowered = true;
                    break;
                }
            }
            if !lowered {
                return Ok(());
            }
        }
    }

    /// The places of the scripts of agents and of new versions.
    fn scripts(&self) -> Vec<String> {
        let list_at = |place: String| -> Option<String> {
            let found = self.document.pointer(&place)?;
            if found.is_array() { Some(place) } else { found.get("steps").map(|_| format!("{place}/steps")) }
        };
        let agents = self.keys("/agents").into_iter().map(|key| format!("/agents/{}", escaped(&key)));
        let inputs = (0..self.length("/inputs")).map(|nth| format!("/inputs/{nth}"));
        agents.chain(inputs).filter_map(list_at).collect()
    }

    /// Drops steps of the list at a place, a step with all that refer to its result at once where it is needed for these
    /// alone; puts what a step holds in its place, lowers counts; and so within.
    fn steps(&mut self, list: &str) -> Result<(), S> {
        self.items(list)?;
        for nth in (0..self.length(list)).rev() {
            self.with_users(list, nth)?;
        }
        let mut nth = 0;
        while nth < self.length(list) {
            if !self.unwrap(list, nth)? {
                nth += 1;
            }
        }
        for nth in 0..self.length(list) {
            let step = format!("{list}/{nth}");
            for count in ["repeat", "receive", "messages"] {
                self.fewer(&format!("{step}/{count}"))?;
            }
            for within in WITHIN {
                self.steps(&format!("{step}/{within}"))?;
            }
            for way in 0..self.length(&format!("{step}/by_attempt")) {
                self.steps(&format!("{step}/by_attempt/{way}"))?;
            }
            for case in self.keys(&format!("{step}/on_error")) {
                self.steps(&format!("{step}/on_error/{}", escaped(&case)))?;
            }
        }
        Ok(())
    }

    /// Drops a step that gives its result a name, and every later one of its list in which that name stands.
    fn with_users(&mut self, list: &str, nth: usize) -> Result<bool, S> {
        let Some(name) = self.document.pointer(&format!("{list}/{nth}/as")).and_then(Value::as_str) else {
            return Ok(false);
        };
        let name = format!("${name}");
        self.change(|document| {
            if let Some(steps) = document.pointer_mut(list).and_then(Value::as_array_mut) {
                let mut place = 0..;
                steps.retain(|step| match place.next() {
                    Some(place) if place > nth => !refers_to(step, &name),
                    place => place != Some(nth),
                });
            }
        })
    }

    /// Puts the steps that a step holds in its place.
    fn unwrap(&mut self, list: &str, nth: usize) -> Result<bool, S> {
        let Some(step) = self.document.pointer(&format!("{list}/{nth}")) else { return Ok(false) };
        let ways = step.get("by_attempt").and_then(Value::as_array).into_iter().flatten();
        let held = WITHIN.iter().filter_map(|within| step.get(within)).chain(ways);
        let held: Vec<Vec<Value>> = held.filter_map(Value::as_array).cloned().collect();
        for steps in held {
            let replaced = self.change(|document| {
                if let Some(list) = document.pointer_mut(list).and_then(Value::as_array_mut) {
                    list.splice(nth..=nth, steps);
                }
            })?;
            if replaced {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Drops members of what stands at a place, and items of the lists in it, from the outside to the inside.
    fn members(&mut self, place: &str) -> Result<(), S> {
        for key in self.keys(place) {
            if !KEPT.contains(&key.as_str()) {
                self.without_member(place, &key)?;
            }
        }
        for key in self.keys(place) {
            let member = format!("{place}/{}", escaped(&key));
            let is_script = key == "steps" || self.document.pointer(&member).is_some_and(is_script);
            if !is_script {
                self.items(&member)?;
            }
            self.members(&member)?;
        }
        for nth in 0..self.length(place) {
            self.members(&format!("{place}/{nth}"))?;
        }
        Ok(())
    }
}

/// A list of objects: steps, whose turn is elsewhere.
fn is_script(value: &Value) -> bool {
    value.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(Value::is_object))
}

/// The types that are spawned somewhere in a value.
fn spawned(value: &Value, types: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| spawned(item, types)),
        Value::Object(members) => {
            let of_type = |target: &Value| target["type"].as_str().or(target.as_str()).map(str::to_owned);
            let target = members.get("spawn").and_then(of_type);
            types.extend(target.and_then(|target| Some(target.split('/').next()?.to_owned())));
            members.values().for_each(|member| spawned(member, types));
        }
        _ => {}
    }
}

/// Whether a reference to `name`, or to a part of it, stands somewhere in a value.
fn refers_to(value: &Value, name: &str) -> bool {
    match value {
        Value::String(text) => text.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')),
        Value::Array(items) => items.iter().any(|item| refers_to(item, name)),
        Value::Object(members) => members.values().any(|member| refers_to(member, name)),
        _ => false,
    }
}

/// A key as a part of a JSON pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of a document of which only what `keeps` asks for is needed.
    fn left(document: Value, keeps: &dyn Fn(&Value) -> bool) -> Value {
        let mut document = document;
        let mut offer = |changed: Value| Ok::<_, ()>(keeps(&changed));
        while offer_all(&mut document, &mut offer).expect("it never stops") {}
        document
    }

    fn document() -> Value {
        json!({
            "name": "n",
            "runtime": { "workers": 3, "lease": "10s" },
            "outside": { "card": { "takes": "1s" }, "mail": {} },
            "agents": {
                "a/b": [ { "log": 1 } ],
                "shop": { "priority": "low", "steps": [
                    { "repeat": 8, "do": [ { "log": { "x": [1, 2], "y": 3 } }, { "check": true } ] },
                    { "if": "$x", "then": [ { "effect": "card", "args": { "n": 1, "m": 2 } } ], "else": [ { "now": true } ] },
                    { "complete": 1 }
                ] }
            },
            "inputs": [ { "to": "shop", "id": "1", "data": { "n": 1 } }, { "to": "shop", "id": "2" } ],
            "expect": [ { "effect": "card", "happened": 1, "recorded": 1 }, { "took": { "at_most": "1h" } } ]
        })
    }

    #[test]
    fn all_that_is_not_needed_goes_and_identities_stay() {
        let all = left(document(), &|_| true);
        let workers = json!({ "workers": 1 });
        assert_eq!(all, json!({ "name": "n", "agents": {}, "inputs": [], "outside": {}, "runtime": workers }));
    }

    #[test]
    fn steps_come_out_of_their_flow_and_arguments_lose_members() {
        let charges = |found: &Value| {
            let shop = found["agents"]["shop"].to_string();
            shop.contains(r#""m":2"#) && shop.contains("effect")
        };
        let charge = json!([{ "effect": "card", "args": { "m": 2 } }]);
        assert_eq!(left(document(), &charges)["agents"], json!({ "shop": charge }));
    }

    #[test]
    fn mail_goes_straight_to_who_is_needed_at_the_bottom_of_a_tree() {
        let document = json!({
            "agents": {
                "boss": [ { "all": [ { "spawn": { "type": "lead" } } ], "as": "x" } ], "lead": [ { "spawn": "hand/one" } ],
                "hand": [ { "effect": "card" } ]
            },
            "inputs": [ { "to": "boss", "id": "1" } ]
        });
        // As a reader has it: who is written to, or spawned, is there.
        let is_whole = |found: &Value| {
            let named = |kind: &str| {
                found["inputs"][0]["to"] == kind || found["agents"].to_string().contains(&format!("\"{kind}"))
            };
            let is_there = |kind: &str| found["agents"].get(kind).is_some() || !named(kind);
            let mut types = BTreeSet::new();
            spawned(&found["agents"], &mut types);
            let to = found["inputs"][0]["to"].as_str().unwrap_or_default().to_owned();
            let reaches = found["agents"][&to].to_string();
            let hand = to == "hand" || reaches.contains("hand/one") || reaches.contains("lead");
            types.iter().all(|kind| found["agents"].get(kind).is_some())
                && is_there(&to)
                && hand
                && found["agents"]["hand"][0]["effect"] == "card"
        };
        let all = left(document, &is_whole);
        assert_eq!(
            all,
            json!({ "agents": { "hand": [{ "effect": "card" }] }, "inputs": [{ "to": "hand", "id": "1" }] })
        );
    }

    #[test]
    fn a_result_goes_with_all_that_refer_to_it() {
        let document = json!({ "agents": { "a": [
            { "spawn": "b", "as": "kid" }, { "log": "$kids" }, { "join": "$kid", "as": "end" }, { "log": { "x": ["$kid.run_id"] } },
            { "complete": "$end.output" }
        ] } });
        // As a reader has it: a name that is referred to is there.
        let is_whole = |found: &Value| {
            let text = found.to_string();
            let refers = |name: &str| text.contains(&format!("\"${name}\"")) || text.contains(&format!("\"${name}."));
            let gives = |name: &str| text.contains(&format!("\"as\":\"{name}\""));
            ["kid", "end"].iter().all(|name| !refers(name) || gives(name)) && text.contains("$kids")
        };
        assert_eq!(left(document, &is_whole)["agents"], json!({ "a": [{ "log": "$kids" }] }));
    }

    #[test]
    fn users_lose_what_they_have_and_plans_keep_their_names() {
        let document = json!({
            "users": { "ana": { "zone": "UTC", "reflect": true, "blocked": [{ "start": "1:00" }, { "start": "2:00" }] }, "ben": {} },
            "inputs": [
                { "plan": { "uid": "tea", "content": "Tea", "tags": ["a", "b"] }, "user": "ana" }, { "approve": "tea" }
            ]
        });
        let needed = |found: &Value| {
            let blocked = found["users"]["ana"]["blocked"].to_string();
            blocked.contains("2:00") && found["inputs"][0]["plan"]["tags"].to_string().contains('b')
        };
        assert_eq!(
            left(document, &needed),
            json!({
                "users": { "ana": { "blocked": [{ "start": "2:00" }] } },
                "inputs": [{ "plan": { "uid": "tea", "tags": ["b"] } }]
            })
        );
    }

    #[test]
    fn counts_and_lists_become_as_small_as_they_may_be() {
        let times = |found: &Value| {
            let shop = &found["agents"]["shop"];
            let step = shop.get(0).or_else(|| shop["steps"].get(0)).unwrap_or(&Value::Null);
            step["repeat"].as_u64() >= Some(3) && step["do"].is_array()
        };
        let steps = left(document(), &times)["agents"]["shop"].clone();
        assert_eq!(steps, json!([{ "repeat": 3, "do": [] }]));
        let two = |found: &Value| found["runtime"]["workers"].as_u64() >= Some(2);
        assert_eq!(left(document(), &two)["runtime"], json!({ "workers": 2 }));
        let expected = |found: &Value| found["expect"].to_string().contains("recorded");
        assert_eq!(left(document(), &expected)["expect"], json!([{ "recorded": 1 }]));
        let second = |found: &Value| found["inputs"].to_string().contains(r#""id":"2""#);
        assert_eq!(left(document(), &second)["inputs"], json!([{ "id": "2" }]));
    }
}
