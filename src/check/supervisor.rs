//! Spawning: one child per step, announced before it runs, within the tree's budget of runs.

use super::facts::{AgentAt, Call, Facts, How, RunAt, What, worker_of};
use super::scheduler::leases;
use super::sometimes::Sometimes;
use super::verdict::{Judge, Rule};
use crate::kernel::{AgentId, Attempt, Body, Created, Reserved, Retention, RunSpec, RunStatus, Step};

/// What a request to reserve a child must be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Reserved,
    Denied,
    Ending,
}

/// At a request to reserve a child, as applied and before its changes. `lease-told`, `lease-fenced`: Lost is told to
/// all but the holder of the parent. `spawn-once`: a step that was answered hears the same, for ever. `spawn-budget`: a
/// new one is answered by what there is: refused while its type is unknown, its address taken or its tree full, put off
/// while what stands in its way has a closed log, else given a child.
pub fn reserves(facts: &Facts, judge: &mut Judge<'_>, call: &Call, told: &Reserved) {
    let What::Reserve { run, attempt, step, agent } = call.what else { return };
    if !keeps_fence(facts, judge, call, run, attempt, told) {
        return;
    }
    let name = facts.name(run);
    let known = facts.runs[run].kin.reservations.iter().find(|(reserved, _)| *reserved == step);
    if let Some((_, before)) = known {
        let same = match told {
            Reserved::Reserved { child_run, .. } => before.is_some_and(|child| facts.name(child) == *child_run),
            Reserved::Denied { .. } => before.is_none(),
            _ => false,
        };
        if same {
            return judge.reached(Sometimes::SpawnReplayed);
        }
        let before = before.map(|child| facts.name(child));
        return judge.violated(
            Rule::SpawnOnce,
            name,
            format_args!("step {step} asked again for a child and was told {told:?} where it had been told {before:?}"),
        );
    }
    let due = due(facts, run, agent);
    let given = match told {
        Reserved::Reserved { .. } => Due::Reserved,
        Reserved::Denied { .. } => Due::Denied,
        _ => Due::Ending,
    };
    if given != due {
        judge.violated(
            Rule::SpawnBudget,
            name,
            format_args!("step {step} asked for a child and was told {told:?} where {due:?} was due"),
        );
    }
    match given {
        Due::Reserved => {}
        Due::Denied => judge.reached(Sometimes::SpawnDenied),
        Due::Ending => judge.reached(Sometimes::SpawnPutOff),
    }
}

fn keeps_fence(
    facts: &Facts,
    judge: &mut Judge<'_>,
    call: &Call,
    run: RunAt,
    attempt: Attempt,
    told: &Reserved,
) -> bool {
    let holds = leases::holds(&facts.runs[run], worker_of(call.from), attempt);
    let lost = matches!(told, Reserved::Lost);
    if holds == lost {
        let rule = if lost { Rule::LeaseTold } else { Rule::LeaseFenced };
        let who = facts.party_name(call.from);
        let said = if lost { "Lost although it holds" } else { "no loss although it does not hold" };
        judge.violated(rule, facts.name(run), format_args!("{who} was told {said} attempt {attempt}"));
    }
    holds && !lost
}

fn due(facts: &Facts, parent: RunAt, agent: AgentAt) -> Due {
    let kind = facts.agents[agent].id.as_ref().map_or("", AgentId::kind);
    if !facts.registered.iter().any(|known| **known == *kind) {
        return Due::Denied;
    }
    let closed = |run: RunAt| facts.runs[run].log.closed.is_some();
    if let Some(live) = facts.agents[agent].live {
        return if closed(live) { Due::Ending } else { Due::Denied };
    }
    let tree = facts.tree(parent);
    let root = &facts.runs[tree].kin;
    if root.max_agents.is_none_or(|most| root.units < most) {
        return Due::Reserved;
    }
    let ends = |(place, _): (RunAt, _)| facts.runs[place].kin.unit && facts.tree(place) == tree && closed(place);
    if facts.runs.iter().any(ends) { Due::Ending } else { Due::Denied }
}

/// When a child is reserved, as applied. `lease-exclusive`: its address is free. `spawn-once`: neither the step nor the
/// child was ever reserved before. `spawn-budget`: it belongs to its parent's tree, which has room for it.
pub fn reserved(
    facts: &Facts,
    judge: &mut Judge<'_>,
    run: RunAt,
    agent: AgentAt,
    parent: RunAt,
    step: Step,
    tree: RunAt,
) {
    leases::made(facts, judge, agent, run);
    let (name, state) = (facts.name(run), &facts.runs[run]);
    let known = facts.runs[parent].kin.reservations.iter().any(|(reserved, _)| *reserved == step);
    if known || state.kin.parent.is_some() {
        let parent = facts.name(parent);
        judge.violated(Rule::SpawnOnce, name, format_args!("step {step} of run {parent} reserved it as another child"));
    }
    let root = &facts.runs[tree].kin;
    if tree != facts.tree(parent) {
        let (tree, parent) = (facts.name(tree), facts.name(parent));
        judge.violated(
            Rule::SpawnBudget,
            name,
            format_args!("it was reserved in tree {tree}, to which its parent {parent} does not belong"),
        );
    } else if let Some(most) = root.max_agents.filter(|most| root.units >= *most) {
        judge.violated(
            Rule::SpawnBudget,
            name,
            format_args!("it was reserved in tree {} of {} runs, {most} are allowed", facts.name(tree), root.units),
        );
    }
}

/// `spawn-once`, at the entry that ends the asking, as applied: a child that a log announces is the one that its step
/// was given, and a refusal is one that it was told.
pub fn answered(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, step: Step, spec: Option<&RunSpec>) {
    let told = facts.runs[run].kin.reservations.iter().find(|(reserved, _)| *reserved == step).map(|(_, told)| *told);
    let right = match (told, spec) {
        (Some(Some(child)), Some(spec)) => facts.name(child) == spec.run,
        (Some(None), None) => true,
        _ => false,
    };
    if !right {
        let (logged, told) = (spec.map(|spec| spec.run), told.map(|told| told.map(|child| facts.name(child))));
        judge.violated(
            Rule::SpawnOnce,
            facts.name(run),
            format_args!("step {step} logs {logged:?} as its child, and was told {told:?}"),
        );
    }
    let Some(spec) = spec else { return };
    let state = &facts.runs[run];
    let deadline = state.deadline.filter(|_| spec.retention == Retention::Run);
    if spec.parent != state.id || spec.parent_deadline != deadline {
        judge.violated(
            Rule::DeadlineKept,
            facts.name(run),
            format_args!(
                "step {step} announces a child of {:?} that must end by {:?} with it, its own deadline is {:?}",
                spec.parent, spec.parent_deadline, deadline
            ),
        );
    }
}

/// At a request to create a child, as applied and before its changes. `spawn-announced`: it was reserved, and its
/// parent's log announces it, with this first message. `spawn-once`: a child that is only reserved comes to be by it, and
/// one that is or was does not.
pub fn creates(facts: &Facts, judge: &mut Judge<'_>, call: &Call, told: Created) {
    let What::Create { run, boot, parent: Some(parent), .. } = call.what else { return };
    let (name, state) = (facts.name(run), &facts.runs[run]);
    if told != Created::Created {
        if state.kin.reserved {
            judge.violated(
                Rule::SpawnOnce,
                name,
                format_args!("it was not created though it was reserved, and told {told:?}"),
            );
        }
        return;
    }
    if !state.kin.reserved {
        let was = state.status.map_or("never reserved", RunStatus::as_str);
        judge.violated(Rule::SpawnOnce, name, format_args!("it was created while it was {was}"));
    }
    let spawned = facts.runs[parent].log.bodies().find_map(|body| match body {
        Body::ChildSpawned { spec, boot, .. } if Some(spec.run) == state.id => Some(boot),
        _ => None,
    });
    let boot = boot.and_then(|boot| facts.mails[boot].id.as_ref());
    if spawned.is_none_or(|announced| Some(&announced.id) != boot) {
        let parent = facts.name(parent);
        judge.violated(
            Rule::SpawnAnnounced,
            name,
            format_args!("it was created with first message {boot:?}, which the log of run {parent} does not announce"),
        );
    }
    if state.kin.announcer.is_some_and(|announcer| announcer != call.from) {
        judge.reached(Sometimes::CreatedByAnother);
    }
}

/// `spawn-announced`, at a grant as applied: nobody runs a child that is only reserved.
pub fn granted(facts: &Facts, judge: &mut Judge<'_>, run: RunAt) {
    if facts.runs[run].kin.reserved {
        judge.violated(Rule::SpawnAnnounced, facts.name(run), format_args!("it was leased while it was only reserved"));
    }
}

/// `spawn-budget`, when a reservation is dropped: by the release of the parent that has ended.
pub fn swept(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, what: &What) {
    let state = &facts.runs[run].kin;
    let by_parent = matches!(what, What::Release { run: released, how: How::Ended(_), .. }
        if state.parent.is_some_and(|(parent, _)| parent == *released));
    if state.reserved && by_parent {
        return judge.reached(Sometimes::ReservationSwept);
    }
    judge.violated(Rule::SpawnBudget, facts.name(run), format_args!("it was dropped, not by its parent's end"));
}

/// `spawn-budget`, when a unit is given back: it is held, and the run asks for it.
pub fn returned(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, what: &What) {
    let asked = matches!(what, What::ReturnUnit { run: asked } if *asked == run);
    if !asked || !facts.runs[run].kin.unit {
        judge.violated(
            Rule::SpawnBudget,
            facts.name(run),
            format_args!("a unit was given back for it that it did not hold, or did not give"),
        );
    }
}

/// `spawn-budget`, when a run goes over to another tree: it is detached there, or descends from who is.
pub fn replanted(facts: &Facts, judge: &mut Judge<'_>, run: RunAt, tree: RunAt, what: &What) {
    let detached = matches!(what, What::Detach { run } if *run == tree);
    if !detached || !facts.descends(run, tree) {
        let tree = facts.name(tree);
        judge.violated(Rule::SpawnBudget, facts.name(run), format_args!("it went over to tree {tree} undetached"));
    }
}

/// `spawn-budget`, after a detach as applied: the run is the root of its tree, and all below it came along that were in
/// the tree it left.
pub fn detached(facts: &Facts, judge: &mut Judge<'_>, run: RunAt) {
    let mut wanted = vec![run];
    while let Some(place) = wanted.pop() {
        let state = &facts.runs[place];
        if facts.tree(place) != run && state.standing().is_some() {
            judge.violated(
                Rule::SpawnBudget,
                facts.name(place),
                format_args!(
                    "run {} was detached, and it stayed in tree {}",
                    facts.name(run),
                    facts.name(facts.tree(place))
                ),
            );
        }
        let below = state.kin.children.iter().filter(|child| facts.runs[**child].kin.tree.is_some());
        wanted.extend(below);
    }
}

/// When a run was released as ended, as applied. `spawn-budget`: it holds no unit, and none of its children is still
/// reserved. `no-orphan`: every child that it had decided to cancel was asked to end, unless it had ended.
pub fn released(facts: &Facts, judge: &mut Judge<'_>, run: RunAt) {
    let doomed = facts.runs[run].log.decision().map_or(&[][..], |(_, cancel, _)| cancel);
    for child in &facts.runs[run].kin.children {
        let known = &facts.runs[*child];
        let is_doomed = known.id.is_some_and(|id| doomed.contains(&id));
        if is_doomed && known.is_live() && known.cancelled.is_none() && known.log.closed.is_none() {
            judge.violated(
                Rule::NoOrphan,
                facts.name(*child),
                format_args!("its parent {} had decided to cancel it, was released, and nobody has", facts.name(run)),
            );
        }
    }
    let state = &facts.runs[run].kin;
    if state.unit {
        judge.violated(
            Rule::SpawnBudget,
            facts.name(run),
            format_args!("it was released as ended and still holds its unit of tree {}", facts.name(facts.tree(run))),
        );
    }
    for child in state.children.iter().filter(|child| facts.runs[**child].kin.reserved) {
        judge.violated(
            Rule::SpawnBudget,
            facts.name(*child),
            format_args!("it is still reserved, and its parent {} has ended", facts.name(run)),
        );
    }
}

/// `spawn-budget`, once, after healing: nothing is reserved for a parent that has ended.
pub fn finish(facts: &Facts, judge: &mut Judge<'_>) {
    for (place, run) in facts.runs.iter().filter(|(_, run)| run.kin.reserved) {
        let ended = run.kin.parent.is_some_and(|(parent, _)| !facts.runs[parent].is_live());
        if ended {
            judge.violated(
                Rule::SpawnBudget,
                facts.name(place),
                format_args!("the world is at rest, its parent has ended, and it is still reserved"),
            );
        }
    }
}

/// Notes an agent type that was registered.
pub fn registers(facts: &mut Facts, what: &What) {
    let What::Register { kind } = what else { return };
    if !facts.registered.contains(kind) {
        facts.registered.push(std::sync::Arc::clone(kind));
    }
}
