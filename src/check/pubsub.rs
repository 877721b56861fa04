//! Publish and subscribe: whoever follows gets a publication once, nobody else does, and nobody waits for a slow one.

use super::facts::{AgentAt, Call, Facts, Life, MailAt, PublicationAt, RunAt, TopicAt, What, WorkerAt, worker_of};
use super::verdict::{Judge, Rule};
use crate::history::Change;
use crate::kernel::{AgentId, Body, TopicId};

/// `fanout-once`, at a request to follow, or to cease to, as applied: the greatest stamp of a pair decides, and the
/// relation changes just when that does. `announced-done`: what a worker asks for is announced by a log of that agent.
pub fn followed(facts: &mut Facts, judge: &mut Judge<'_>, call: &Call, changes: &[Change]) {
    let What::Follow { topic, agent, stamp, follows } = call.what else { return };
    let is_changed = facts.follows(topic, agent, stamp, follows, judge.at);
    let told = changes.iter().find_map(|change| match change {
        Change::Following { follows, .. } => Some(*follows),
        _ => None,
    });
    if told != is_changed.then_some(follows) {
        judge.violated(
            Rule::FanoutOnce,
            name_of(facts, agent, topic),
            format_args!("a request of {stamp:?} (follow: {follows}) changed the relation to {told:?}"),
        );
    }
    if worker_of(call.from).is_none() {
        return;
    }
    let announced = facts.agents[agent].announced.iter_mut();
    let mut own = announced.filter(|own| (own.topic, own.stamp, own.follows) == (topic, stamp, follows));
    match own.next() {
        Some(own) => own.applied = true,
        None => judge.violated(
            Rule::AnnouncedDone,
            name_of(facts, agent, topic),
            format_args!("a worker asked for it with {stamp:?} (follow: {follows}), and no log says so"),
        ),
    }
}

fn name_of(facts: &Facts, agent: AgentAt, topic: TopicAt) -> String {
    let agent = facts.agents[agent].id.as_ref().map_or("", AgentId::as_str);
    format!("{agent} follows {}", facts.topics[topic].id.as_ref().map_or("", TopicId::as_str))
}

/// `fanout-once`, at an answer as applied: it names just those who follow the topic now, in order and none twice.
pub fn followers(facts: &Facts, judge: &mut Judge<'_>, topic: TopicAt, told: &[AgentId]) {
    let known = facts.topics[topic].followers.iter().filter(|follower| follower.since.is_some());
    let mut known: Vec<&AgentId> = known.filter_map(|follower| facts.agents[follower.agent].id.as_ref()).collect();
    known.sort_unstable();
    if !told.iter().eq(known.iter().copied()) {
        let topic = facts.topics[topic].id.as_ref().map_or("", TopicId::as_str);
        judge.violated(
            Rule::FanoutOnce,
            topic,
            format_args!("its followers were told as {told:?}, they are {known:?}"),
        );
    }
}

/// `fanout-once`, at an answer as applied: it names just the topics that an agent follows now, none twice.
pub fn following(facts: &Facts, judge: &mut Judge<'_>, agent: AgentAt, told: &[TopicId]) {
    let follows = |place| facts.topics[place].follower(agent).is_some_and(|follower| follower.since.is_some());
    let topics = facts.topics.iter().filter(|(place, _)| follows(*place));
    let mut known: Vec<&TopicId> = topics.filter_map(|(_, topic)| topic.id.as_ref()).collect();
    let mut told: Vec<&TopicId> = told.iter().collect();
    known.sort_unstable();
    told.sort_unstable();
    if told != known {
        let agent = facts.agents[agent].id.as_ref().map_or("", AgentId::as_str);
        judge.violated(Rule::FanoutOnce, agent, format_args!("it was told to follow {told:?}, it follows {known:?}"));
    }
}

/// Of a message that a worker delivered and that no log announces to this address. `fanout-once`: it is a publication,
/// and the receiver followed the topic at some instant since it was announced. Whether it is a publication at all.
pub fn delivered(facts: &Facts, judge: &mut Judge<'_>, to: AgentAt, mail: MailAt) -> bool {
    let Some(place) = facts.mails[mail].id.as_ref().and_then(|id| facts.publication(id)) else { return false };
    let publication = &facts.publications[place];
    let Some(topic) = publication.topic else { return false };
    let follower = facts.topics[topic].follower(to);
    if !follower.is_some_and(|follower| follower.followed_since(publication.ts)) {
        let topic = facts.topics[topic].id.as_ref().map_or("", TopicId::as_str);
        judge.violated(
            Rule::FanoutOnce,
            facts.mail_name(mail),
            format_args!("it got what was published to {topic}, which it did not follow since"),
        );
    }
    true
}

/// `fanout-once`, at an entry of a run that is publishing: a publication is done once a later step begins, and so has
/// been delivered.
pub fn goes_on(facts: &mut Facts, judge: &mut Judge<'_>, run: RunAt, body: &Body) {
    if facts.runs[run].kin.publishing.is_empty() {
        return;
    }
    let Some(step) = body.opening().map(|opening| opening.step) else { return };
    let is_over = |facts: &Facts, place: PublicationAt| facts.publications[place].last < step;
    while let Some(place) = facts.runs[run].kin.publishing.iter().copied().find(|place| is_over(facts, *place)) {
        done(facts, judge, run, place);
    }
}

/// `fanout-once`, when a run was released as ended, or rests in a healed world: all its publications have been delivered.
pub fn all_done(facts: &mut Facts, judge: &mut Judge<'_>, run: RunAt) {
    while let Some(place) = facts.runs[run].kin.publishing.first().copied() {
        done(facts, judge, run, place);
    }
}

/// A publication is done: whoever followed the topic from before it was announced until now has got it.
fn done(facts: &mut Facts, judge: &mut Judge<'_>, run: RunAt, place: PublicationAt) {
    facts.runs[run].kin.publishing.retain(|open| *open != place);
    let publication = &facts.publications[place];
    let (Some(topic), Some(message)) = (publication.topic, publication.message.clone()) else { return };
    let ts = publication.ts;
    facts.topics[topic].open.retain(|open| *open != place);
    for number in 0..facts.topics[topic].followers.len() {
        let follower = facts.topics[topic].followers[number];
        if follower.since.is_none_or(|since| since >= ts) {
            continue;
        }
        let mail = facts.mail_at(follower.agent, &message);
        if facts.mails[mail].life == Life::None && !facts.mails[mail].unknown {
            judge.violated(
                Rule::FanoutOnce,
                facts.mail_name(mail),
                format_args!(
                    "run {} is done with its publication, and who followed all the time did not get it",
                    facts.name(run)
                ),
            );
        }
    }
}

/// Notes that a worker asks who follows a topic: it goes on to deliver what is published there.
pub fn asks(facts: &mut Facts, judge: &Judge<'_>, worker: WorkerAt, topic: TopicAt) {
    for number in 0..facts.topics[topic].open.len() {
        let publication = &mut facts.publications[facts.topics[topic].open[number]];
        (publication.asked, publication.returned) = (Some((worker, judge.at)), None);
    }
}

fn publication_of(facts: &Facts, mail: MailAt) -> Option<PublicationAt> {
    facts.publications.iter().next()?;
    facts.publication(facts.mails[mail].id.as_ref()?)
}

/// `fanout-isolated`, when a worker sends a publication to a receiver for the first time: since it asked for the
/// followers, no delivery of it has returned. What it sends in the very instant of an answer, or of its waking from a
/// pause, it may have begun before.
pub fn sends(facts: &mut Facts, judge: &mut Judge<'_>, worker: WorkerAt, to: AgentAt, mail: MailAt) {
    let Some(place) = publication_of(facts, mail) else { return };
    let resumed = facts.workers[worker].resumed_at;
    let publication = &mut facts.publications[place];
    if publication.sent.contains(&(worker, to)) {
        return;
    }
    publication.sent.push((worker, to));
    let is_own = publication.asked.is_some_and(|(asker, _)| asker == worker);
    let waited = publication.returned.filter(|returned| is_own && judge.at > *returned && judge.at > resumed);
    if let Some(returned) = waited {
        judge.violated(
            Rule::FanoutIsolated,
            facts.mail_name(mail),
            format_args!("it was sent only after another follower had been reached at {returned}"),
        );
    }
}

/// Notes that a worker has the outcome of a delivery.
pub fn returned(facts: &mut Facts, judge: &Judge<'_>, call: &Call, mail: MailAt) {
    let (Some(worker), Some(place)) = (worker_of(call.from), publication_of(facts, mail)) else { return };
    let publication = &mut facts.publications[place];
    if publication.asked.is_some_and(|(asker, asked)| asker == worker && call.sent >= asked) {
        publication.returned = publication.returned.or(Some(judge.at));
    }
}

/// Once, after healing. `announced-done`: what a log announces to begin or to end was asked for; the last step of a halted
/// run apart. `fanout-once`: a run that sleeps has delivered what it published.
pub fn finish(facts: &mut Facts, judge: &mut Judge<'_>) {
    let open: Vec<RunAt> = facts
        .runs
        .iter()
        .filter(|(_, run)| !run.kin.publishing.is_empty() && !run.halted)
        .map(|(place, _)| place)
        .collect();
    open.into_iter().for_each(|run| all_done(facts, judge, run));
    for (place, agent) in facts.agents.iter() {
        let owed = agent.announced.iter().filter(|own| !own.applied && !facts.runs[own.run].halted);
        for own in owed {
            judge.violated(
                Rule::AnnouncedDone,
                name_of(facts, place, own.topic),
                format_args!("run {} announces that (follow: {}), and it never came", facts.name(own.run), own.follows),
            );
        }
    }
}
