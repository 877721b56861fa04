//! The transport between callers and what they call: it names the site of each call, asks the schedule for
//! its fate, and bends it accordingly.

use std::task::Waker;

use super::core::{Around, Caller, Core, Due, ParkedPoll, Reach, Wish};
use super::decide::Place;
use super::hold::{By, GRANTED, Named};
use super::schedule::{Fault, Point};
use super::site::{Class, Site, Who, Words, call, mix, run_of, subject};
use crate::history::{About, Answer, Asked, CallNo, Called, Change, Event};
use crate::kernel::{Body, CALL_TIMEOUT, CallError, Performed, Reply, Request, RunId, Span, Timestamp};

/// A call on its way.
pub(super) struct Call {
    pub no: CallNo,
    pub caller: Caller,
    /// Who exactly made it.
    pub by: By,
    /// Its site, once that is known and where some hold may end by it.
    pub named: Option<Box<Named>>,
    pub asked: Asked,
    pub sent_at: Timestamp,
    /// When the caller gives it up.
    pub deadline: Timestamp,
    pub latency: Span,
    /// What happens to it.
    pub fault: Option<Fault>,
    /// Whether that has happened, and its fault means nothing any more.
    pub spent: bool,
    /// Somebody waits for the outcome.
    pub waiting: bool,
    pub waker: Option<Waker>,
    /// The first reply, on its way back.
    pub reply: Option<Result<Answer, CallError>>,
    /// What the caller has.
    pub outcome: Option<Result<Answer, CallError>>,
    pub settled: bool,
    /// Its time-out is on the agenda.
    pub timed: bool,
    /// Agenda entries and futures that name it.
    pub uses: u32,
}

/// All calls on their way, and how many there ever were.
#[derive(Default)]
pub(super) struct Calls {
    slots: Vec<Option<Call>>,
    free: Vec<u32>,
    pub made: u32,
}

impl Calls {
    fn add(&mut self, call: Call) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.slots[place as usize] = Some(call);
                place
            }
            None => {
                self.slots.push(Some(call));
                u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 calls")
            }
        }
    }

    /// The call at a place. A place lives as long as it is used.
    pub fn at(&mut self, place: u32) -> &mut Call {
        self.slots[place as usize].as_mut().expect("a call lives as long as it is used")
    }

    /// Every call that is still used, by its place.
    pub fn living(&self) -> impl Iterator<Item = (usize, &Call)> {
        self.slots.iter().enumerate().filter_map(|(place, call)| Some((place, call.as_ref()?)))
    }

    /// One use less; the last frees the place.
    pub fn let_go(&mut self, place: u32) {
        let call = self.at(place);
        call.uses -= 1;
        if call.uses == 0 {
            self.slots[place as usize] = None;
            self.free.push(place);
        }
    }
}

impl Core {
    /// A caller begins a call; the place of the call, of which the caller's future is one use.
    pub fn begin(&mut self, caller: Caller, asked: Asked) -> u32 {
        let limit = match &asked {
            Asked::Outside(perform) => perform.limit,
            Asked::Store(Request::Lease { wait, .. } | Request::Tail { wait, .. }) => *wait + CALL_TIMEOUT,
            Asked::Store(_) => CALL_TIMEOUT,
        };
        let poll = matches!(asked, Asked::Store(Request::Lease { .. }));
        let place = self.calls.add(Call {
            no: CallNo(0),
            caller,
            by: self.by(caller),
            named: None,
            asked,
            sent_at: self.now,
            deadline: self.now + limit,
            latency: self.latency,
            fault: None,
            spent: false,
            waiting: true,
            waker: None,
            reply: None,
            outcome: None,
            settled: false,
            timed: false,
            uses: 1,
        });
        match (poll, caller) {
            (true, Caller::Worker(worker)) => {
                let since = self.now + self.latency;
                let state = &mut self.workers[worker];
                state.poll = Some(ParkedPoll { call: place, since });
                state.poll_at = None;
                self.schedule_polls();
            }
            _ => self.launch(place),
        }
        place
    }

    /// Who the site of a caller's request is named after.
    fn who(&self, caller: Caller, asked: &Asked) -> Who {
        let worker = match caller {
            Caller::Worker(worker) => worker,
            Caller::Input(input) => return Who::Input(input),
            Caller::Probe => return Who::Probe,
        };
        let run = match asked {
            Asked::Store(Request::Heartbeat { lease } | Request::Release { lease, .. }) => {
                return Who::Lease(lease.run, lease.attempt);
            }
            Asked::Store(Request::Lookup { effect }) => self.effect_run(*effect),
            Asked::Store(Request::Record { result }) => self.effect_run(result.effect_id),
            Asked::Store(request) => run_of(request),
            Asked::Outside(perform) => Some(perform.run),
        };
        let held = |run| self.workers[worker].attempts.get(&run).map(|attempt| Who::Lease(run, *attempt));
        run.and_then(held).unwrap_or(Who::Worker(worker))
    }

    fn effect_run(&self, effect: crate::kernel::EffectId) -> Option<crate::kernel::RunId> {
        self.effects.get(&effect).map(|(run, _, _)| *run)
    }

    /// Names the site of a call and asks for its fate.
    fn decide_call(&mut self, place: u32) -> (Site, Option<Fault>) {
        let call = self.calls.at(place);
        let (caller, asked) = (call.caller, call.asked.clone());
        if let Asked::Store(Request::Append { run, body, .. }) = &asked
            && let Body::ToolCalled { opening, effect, .. } = &**body
        {
            self.effects.insert(effect.id, (*run, opening.step, effect.kind.clone()));
        }
        if let Asked::Store(Request::Append { body, .. }) = &asked {
            self.aliases.learn(body);
        }
        let who = self.who(caller, &asked);
        let (number, about) = match &asked {
            Asked::Store(request) => subject(request, |id| self.effects.get(&id).map(|(_, step, _)| *step)),
            Asked::Outside(perform) => (call::PERFORM, u64::from(perform.step.0)),
        };
        // What a worker does about a run that it does not hold is told apart by the run.
        let about = match (who, asked.about()) {
            (Who::Worker(_), About::Run(run)) => mix(about, run.as_u128() as u64),
            _ => about,
        };
        let site = self.tries.next(who, number, about);
        self.note_state();
        let tool = match &asked {
            Asked::Outside(perform) => Some(self.outside.tool(&perform.effect.kind)),
            Asked::Store(_) => None,
        };
        let class = match (caller, tool) {
            (Caller::Worker(_), Some(tool)) => Class::of_tool(tool),
            (Caller::Worker(_), None) => Class::Store,
            _ => Class::Client,
        };
        let by = Some(self.by(caller));
        let worker = match caller {
            Caller::Worker(worker) => Some(&self.worker_names[worker]),
            _ => None,
        };
        let method = match &asked {
            Asked::Store(request) => request.method(),
            Asked::Outside(_) => "perform",
        };
        let (called, about) = (Called::of(&asked), self.about(&asked));
        let at = Place { at: self.now, class, site, who, called, about, method, worker, by, tool };
        let words = Words { aliases: &self.aliases, workers: &self.worker_names, effects: &self.effects };
        let fault = self.decider.decide(&at, &words, || words.call(who, &asked, site.nth));
        if fault.is_some() {
            self.note_deviation();
        }
        if self.decider.holds() {
            self.calls.at(place).named = Some(Box::new((who, site)));
        }
        (site, fault)
    }

    /// Sends a call that has not been sent: its fate is decided here.
    fn launch(&mut self, place: u32) {
        if let Caller::Worker(worker) = self.calls.at(place).caller {
            // The poll that is under way goes on although its worker has died or frozen in it: what it calls
            // is never sent, or only once the worker goes on.
            if self.workers[worker].doomed {
                return;
            }
            if self.workers[worker].frozen.is_some() {
                self.calls.at(place).uses += 1;
                self.workers[worker].deferred.push(Due::Dispatch(place));
                return;
            }
        }
        let (site, fault) = self.decide_call(place);
        let caller = self.calls.at(place).caller;
        let latency = self.base_latency(caller, site);
        let now = self.now;
        let call = self.calls.at(place);
        call.latency = latency;
        call.fault = fault.clone();
        let worker = match caller {
            Caller::Worker(worker) => Some(worker),
            _ => None,
        };
        let mut travels = latency;
        match (fault, worker) {
            (Some(Fault::Crash { point: Point::Before, restart }), Some(worker)) => {
                self.doom(worker, restart);
                return;
            }
            (Some(Fault::Crash { point: Point::Flight(lands), restart }), Some(worker)) => {
                self.doom(worker, restart);
                travels = lands;
            }
            (Some(Fault::Pause { point: Point::Before, lasts }), Some(worker)) => {
                self.freeze(worker, lasts);
                if self.workers[worker].frozen.is_some() {
                    self.calls.at(place).uses += 1;
                    self.workers[worker].deferred.push(Due::Dispatch(place));
                    return;
                }
            }
            (Some(Fault::Pause { lasts, .. }), Some(worker)) => self.freeze(worker, lasts),
            (Some(Fault::Partition { point: Point::Before, lasts }), Some(worker)) => self.cut_off(worker, lasts),
            (Some(Fault::ClockStep { by }), Some(worker)) => {
                let off = &mut self.workers[worker].clock_off;
                *off = *off + by;
            }
            (Some(Fault::Stop { restart }), Some(worker)) => self.ask_to_stop(worker, restart),
            (Some(Fault::Outage { lasts }), _) => self.store_down(Reach::Silent, lasts),
            (Some(Fault::StoreRestart { lasts }), _) => self.store_down(Reach::Refusing, lasts),
            (Some(Fault::DelayRequest { by }), _) => travels = latency + by,
            _ => {}
        }
        self.dispatch(place, now, travels);
    }

    /// Asks a worker to stop gracefully; it starts anew `restart` after it has stopped.
    pub fn ask_to_stop(&mut self, worker: usize, restart: Span) {
        let state = &mut self.workers[worker];
        if state.alive && state.restart_after.is_none() {
            state.restart_after = Some(restart);
            self.wishes.push(Wish::Stop(worker));
        }
    }

    /// Calm latencies differ by a fixed part of the site, so that nothing hangs on ties.
    fn base_latency(&self, caller: Caller, site: Site) -> Span {
        let key = site.key().0;
        let latency = match self.latencies {
            Some(seed) => varied(self.latency, mix(seed, key)),
            None => {
                let own = key % u64::try_from(self.latency.as_micros() / 100 + 1).unwrap_or(1);
                self.latency + Span::from_micros(i64::try_from(own).unwrap_or(0))
            }
        };
        let slow = match caller {
            Caller::Worker(worker) => i64::from(self.workers[worker].slow),
            _ => 1,
        };
        latency.times(slow)
    }

    /// A request leaves its caller, and will arrive unless it is lost.
    pub fn dispatch(&mut self, place: u32, now: Timestamp, travels: Span) {
        let no = CallNo(self.calls.made);
        self.calls.made += 1;
        let call = self.calls.at(place);
        call.no = no;
        call.sent_at = now;
        let event = Event::Sent { call: no, from: self.actor_of(place), asked: self.calls.at(place).asked.clone() };
        self.note(event);
        let call = self.calls.at(place);
        if matches!(call.fault, Some(Fault::LostRequest | Fault::Partition { point: Point::Before, .. })) {
            self.time_out(place);
            return;
        }
        if matches!(call.fault, Some(Fault::Hold { .. })) {
            self.hold(place);
            return;
        }
        if let Some(Fault::Duplicate { after }) = call.fault {
            call.uses += 1;
            self.agenda.push(now + travels + after, Due::Arrive(place));
        }
        let call = self.calls.at(place);
        call.uses += 1;
        let late = now + travels >= call.deadline;
        self.agenda.push(now + travels, Due::Arrive(place));
        if late {
            self.time_out(place);
        }
    }

    fn actor_of(&mut self, place: u32) -> crate::history::Actor {
        let caller = self.calls.at(place).caller;
        self.actor(caller)
    }

    /// The caller will give a call up at its deadline.
    pub fn time_out(&mut self, place: u32) {
        let now = self.now;
        let call = self.calls.at(place);
        if !call.timed {
            call.timed = true;
            call.uses += 1;
            let at = call.deadline.max(now);
            self.agenda.push(at, Due::Timeout(place));
        }
    }

    /// A request arrives: it is applied, or lost on the last mile.
    pub fn arrive(&mut self, place: u32) {
        let call = self.calls.at(place);
        let (caller, fault, no) = (call.caller, call.fault.clone(), call.no);
        let to_store = matches!(call.asked, Asked::Store(_));
        let cut = matches!(caller, Caller::Worker(worker) if self.workers[worker].cut.is_some());
        if cut || (to_store && self.reach == Reach::Silent) {
            self.calls.at(place).spent = true;
            self.time_out(place);
            return;
        }
        if to_store && (self.reach == Reach::Refusing || fault == Some(Fault::StoreError)) {
            self.answer(place, Err(CallError::Unavailable), Span::ZERO);
            return;
        }
        let asked = self.calls.at(place).asked.clone();
        let (answer, changes, takes) = match &asked {
            Asked::Store(request) => {
                let (reply, changes) = self.apply(request);
                if let (Request::Tail { run, .. }, Reply::Entries(entries)) = (request, &reply)
                    && entries.is_empty()
                {
                    self.calls.at(place).uses += 1;
                    self.tails.push((*run, place));
                    return;
                }
                (Answer::Store(reply), changes, Span::ZERO)
            }
            Asked::Outside(perform) => {
                let usual = self.outside.tool(&perform.effect.kind).takes.0;
                let (performed, happened) = self.outside.perform(perform, fault.as_ref());
                if happened {
                    let (effect, kind) = (perform.effect.id, perform.effect.kind.clone());
                    self.note(Event::Happened { call: no, effect, kind });
                }
                let takes = match fault {
                    Some(Fault::ToolSlow { takes }) => takes,
                    Some(Fault::ToolUnknown { after: Some(after), .. }) => after,
                    _ => usual,
                };
                (Answer::Outside(performed), Vec::new(), takes)
            }
        };
        self.note(Event::Applied { call: no, answer: answer.clone(), changes });
        if to_store {
            self.schedule_polls();
        }
        self.answer(place, Ok(answer), takes);
        if let Asked::Store(Request::Append { run, .. }) = &asked {
            self.serve_tails(*run);
        }
        self.let_go_after(place, None);
    }

    /// Answers the tails that wait for an entry of a run.
    fn serve_tails(&mut self, run: RunId) {
        let (ready, waiting) = std::mem::take(&mut self.tails).into_iter().partition(|(tailed, _)| *tailed == run);
        self.tails = waiting;
        for (_, place) in ready {
            let since = self.calls.at(place).sent_at;
            let deadline = self.patience(place, since);
            self.calls.at(place).deadline = deadline;
            self.arrive(place);
            self.calls.let_go(place);
        }
    }

    /// When the caller of a waiting call gives it up: a call that could not be answered was repeated in place
    /// at the end of each wait, and the one that is answered ends its wait next.
    fn patience(&mut self, place: u32, since: Timestamp) -> Timestamp {
        let wait = match &self.calls.at(place).asked {
            Asked::Store(Request::Lease { wait, .. } | Request::Tail { wait, .. }) => wait.as_micros().max(1),
            _ => 1,
        };
        let rounds = self.now.since(since).as_micros().max(0) / wait + 1;
        since + Span::from_micros(wait.saturating_mul(rounds)) + CALL_TIMEOUT
    }

    /// One transition of the store.
    fn apply(&mut self, request: &Request) -> (Reply, Vec<Change>) {
        let mut changes = Vec::new();
        let mut around = Around {
            now: self.now,
            decider: &mut self.decider,
            aliases: &mut self.aliases,
            tries: &mut self.tries,
            workers: &self.worker_names,
            effects: &self.effects,
            taken: Vec::new(),
        };
        let reply = self.memory.apply(self.now, request, &mut around, &mut changes);
        for event in around.taken {
            // What the store has been told may show much later.
            if let Some(course) = &mut self.course {
                course.note(&event);
            }
            self.note(event);
        }
        (reply, changes)
    }

    /// A reply leaves for the caller, unless a fault has it otherwise.
    fn answer(&mut self, place: u32, outcome: Result<Answer, CallError>, takes: Span) {
        let now = self.now;
        let call = self.calls.at(place);
        if call.reply.is_some() || call.settled {
            return;
        }
        call.spent = true;
        let (caller, fault, latency, deadline) = (call.caller, call.fault.clone(), call.latency, call.deadline);
        if let Caller::Worker(worker) = caller {
            match fault {
                Some(Fault::Crash { point: Point::After, restart }) => {
                    if call.waiting {
                        self.doom(worker, restart);
                    }
                    return;
                }
                Some(Fault::Partition { point: Point::After, lasts }) => {
                    self.cut_off(worker, lasts);
                    self.time_out(place);
                    return;
                }
                _ => {}
            }
        }
        let travels = match fault {
            Some(Fault::LostReply) => {
                self.time_out(place);
                return;
            }
            Some(Fault::DelayReply { by }) => latency + takes + by,
            _ => latency + takes,
        };
        if now + travels >= deadline {
            self.time_out(place);
            return;
        }
        let call = self.calls.at(place);
        call.reply = Some(outcome);
        call.uses += 1;
        self.agenda.push(now + travels, Due::Reply(place));
    }

    /// A reply arrives at its caller.
    pub fn reply(&mut self, place: u32) {
        let call = self.calls.at(place);
        if matches!(call.caller, Caller::Worker(worker) if self.workers[worker].cut.is_some()) {
            self.time_out(place);
            return;
        }
        let outcome = self.calls.at(place).reply.clone().expect("a reply on its way has content");
        self.settle(place, outcome);
    }

    /// A caller learns the outcome of its call, if it still waits for it.
    pub fn settle(&mut self, place: u32, outcome: Result<Answer, CallError>) {
        let call = self.calls.at(place);
        if call.settled || !call.waiting {
            return;
        }
        call.settled = true;
        call.outcome = Some(outcome.clone());
        let waker = call.waker.take();
        let no = call.no;
        self.note(Event::Returned { call: no, outcome });
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// A worker's parked poll is looked at: if something is granted, its reply goes out.
    pub fn grant(&mut self, worker: usize) {
        let state = &mut self.workers[worker];
        state.poll_at = None;
        if !state.can_be_granted() || self.reach != Reach::Up {
            return;
        }
        let poll = self.workers[worker].poll.expect("it can be granted");
        let asked = self.calls.at(poll.call).asked.clone();
        let Asked::Store(request) = &asked else { unreachable!("a poll is asked of the store") };
        let waited = self.now.since(poll.since);
        let (mut reply, changes) = self.apply(request);
        let Reply::Leases(leases) = &mut reply else { unreachable!("a poll is answered by leases") };
        leases.iter_mut().for_each(|lease| lease.waited = waited);
        let reclaimed =
            |change: &&Change| matches!(change, Change::Moved { trigger: Some(crate::kernel::Trigger::Reclaim), .. });
        self.lost_leases += u32::try_from(changes.iter().filter(reclaimed).count()).unwrap_or(0);
        if leases.is_empty() && changes.is_empty() {
            self.schedule_polls();
            return;
        }
        let first = leases.first().map(|lease| (lease.key.run, lease.key.attempt));
        for lease in leases {
            self.workers[worker].attempts.insert(lease.key.run, lease.key.attempt);
        }
        self.workers[worker].poll = None;
        self.send_grant(poll, &asked, first, reply, changes);
        self.schedule_polls();
    }

    fn send_grant(
        &mut self,
        poll: ParkedPoll,
        asked: &Asked,
        first: Option<(crate::kernel::RunId, crate::kernel::Attempt)>,
        reply: Reply,
        changes: Vec<Change>,
    ) {
        let place = poll.call;
        let no = CallNo(self.calls.made);
        self.calls.made += 1;
        let from = self.actor_of(place);
        self.note(Event::Sent { call: no, from, asked: asked.clone() });
        self.note(Event::Applied { call: no, answer: Answer::Store(reply.clone()), changes });
        let Caller::Worker(worker) = self.calls.at(place).caller else { unreachable!("workers poll") };
        let (named, fault) = match first {
            Some((run, attempt)) => {
                let who = Who::Lease(run, attempt);
                let (site, fault) = self.decide_other(worker, who, Class::Grant, Called::Lease, GRANTED);
                (self.decider.holds().then(|| Box::new((who, site))), fault)
            }
            None => (None, None),
        };
        let deadline = self.patience(place, poll.since);
        let call = self.calls.at(place);
        call.no = no;
        call.named = named;
        call.fault = fault.clone();
        call.deadline = deadline;
        match fault {
            Some(Fault::Pause { lasts, .. }) => self.freeze(worker, lasts),
            Some(Fault::ClockStep { by }) => {
                let off = &mut self.workers[worker].clock_off;
                *off = *off + by;
            }
            Some(Fault::Stop { restart }) => self.ask_to_stop(worker, restart),
            _ => {}
        }
        self.answer(place, Ok(Answer::Store(reply)), Span::ZERO);
        self.let_go_after(place, first.map(|(run, _)| run));
    }

    /// The answer of a settled call, for its future.
    pub fn take_outcome(&mut self, place: u32) -> Option<Result<Answer, CallError>> {
        self.calls.at(place).outcome.take()
    }

    /// A caller's future is gone.
    pub fn abandon(&mut self, place: u32) {
        let call = self.calls.at(place);
        call.waiting = false;
        call.waker = None;
        if let Some(parked) = self.tails.iter().position(|(_, parked)| *parked == place) {
            self.tails.swap_remove(parked);
            self.calls.let_go(place);
        }
        for worker in &mut self.workers {
            if worker.poll.is_some_and(|poll| poll.call == place) {
                worker.poll = None;
                worker.poll_at = None;
            }
        }
        self.calls.let_go(place);
    }
}

/// A latency between half and sixteen times the usual one, by a draw: its magnitude is drawn first, so that calls of two
/// actors come in either order.
fn varied(usual: Span, draw: u64) -> Span {
    let least = (usual.as_micros().max(2) / 2) << (draw % 5);
    let more = (draw >> 8) % u64::try_from(least).unwrap_or(1).max(1);
    Span::from_micros(least.saturating_add(i64::try_from(more).unwrap_or(0)))
}

/// What a store's carrier gives to a caller.
pub(super) fn store_reply(outcome: Result<Answer, CallError>) -> Result<Reply, CallError> {
    outcome.map(|answer| match answer {
        Answer::Store(reply) => reply,
        Answer::Outside(_) => unreachable!("the store was asked"),
    })
}

/// What the outside's carrier gives to a caller.
pub(super) fn outside_reply(outcome: Result<Answer, CallError>) -> Result<Performed, CallError> {
    outcome.map(|answer| match answer {
        Answer::Outside(performed) => performed,
        Answer::Store(_) => unreachable!("the outside was asked"),
    })
}
