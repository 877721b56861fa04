//! A scheduler that scans: every question is answered by looking at all runs. It says what may be granted, not
//! in which order; which runs a poll granted it is told.

use super::*;

pub struct Naive {
    pub now: Timestamp,
    pub runs: Vec<NaiveRun>,
    /// Pending mail: address and number of arrival.
    pub mail: Vec<(AgentId, u64)>,
    /// Unclaimed signals.
    pub signals: Vec<(RunId, Name)>,
    /// The version of every agent type.
    pub version: u32,
}

pub struct NaiveRun {
    pub id: RunId,
    pub address: AgentId,
    pub status: RunStatus,
    pub leases: u32,
    pub holder: Option<WorkerId>,
    pub expires_at: Timestamp,
    pub deadline: Option<Timestamp>,
    pub cancelled: bool,
    pub reclaims: u32,
    halted: bool,
    waits: Vec<Wait>,
    children: Vec<RunId>,
    resumed: bool,
    version: u32,
}

impl Naive {
    pub fn made(&mut self, id: RunId, address: AgentId) {
        self.runs.push(NaiveRun {
            id,
            address,
            status: RunStatus::Pending,
            leases: 0,
            holder: None,
            expires_at: Timestamp::MAX,
            deadline: None,
            cancelled: false,
            reclaims: 0,
            halted: false,
            waits: vec![],
            children: vec![],
            resumed: false,
            version: 0,
        });
    }

    pub fn live_at(&self, address: &AgentId) -> Option<&NaiveRun> {
        self.runs.iter().find(|run| run.address == *address && !run.status.is_terminal())
    }

    /// The place of the run that is held under a lease.
    pub fn held(&self, key: &LeaseKey) -> Option<usize> {
        self.runs.iter().position(|run| {
            let current = run.id == key.run && run.leases == key.attempt.0 + 1;
            current && run.status == RunStatus::Running && run.holder.as_ref() == Some(&key.worker)
        })
    }

    fn is_there(&self, run: &NaiveRun, wait: &Wait) -> bool {
        match wait {
            Wait::Signal(name) => self.signals.contains(&(run.id, name.clone())),
            Wait::Message { after } => self.mail.iter().any(|(to, arrival)| *to == run.address && *arrival > after.0),
            Wait::Child(child) => run.children.contains(child),
            Wait::Time(_) => false,
        }
    }

    fn is_over(&self, wait: &Wait) -> bool {
        matches!(wait, Wait::Time(until) if *until <= self.now)
    }

    pub fn is_overdue(&self, run: &NaiveRun) -> bool {
        run.deadline.is_some_and(|deadline| deadline <= self.now)
    }

    /// Wakes every sleeping run of whose wait list something is there; the end of a child is used by that.
    pub fn settle(&mut self) {
        for place in 0..self.runs.len() {
            let run = &self.runs[place];
            if run.halted || !matches!(run.status, RunStatus::Suspended | RunStatus::Pending) {
                continue;
            }
            if run.waits.iter().any(|wait| self.is_there(run, wait)) {
                let run = &mut self.runs[place];
                run.status = RunStatus::Pending;
                let waits = run.waits.clone();
                run.children.retain(|child| !waits.contains(&Wait::Child(*child)));
            }
        }
    }

    pub fn child_done(&mut self, run: RunId, child: RunId) {
        let live = self.runs.iter_mut().find(|known| known.id == run && !known.status.is_terminal());
        if let Some(run) = live.filter(|run| !run.children.contains(&child)) {
            run.children.push(child);
        }
        self.settle();
    }

    pub fn cancel(&mut self, run: RunId) {
        let live = self.runs.iter_mut().find(|known| known.id == run && !known.status.is_terminal());
        let Some(run) = live else { return };
        run.cancelled = true;
        if run.status == RunStatus::Suspended {
            (run.status, run.halted, run.waits) = (RunStatus::Pending, false, vec![]);
        }
    }

    pub fn resume(&mut self, run: RunId) {
        let live = self.runs.iter_mut().find(|known| known.id == run && !known.status.is_terminal());
        let Some(run) = live else { return };
        run.resumed = true;
        if run.halted {
            (run.status, run.halted) = (RunStatus::Pending, false);
        }
    }

    pub fn new_version(&mut self) {
        self.version += 1;
        for run in self.runs.iter_mut().filter(|run| run.halted) {
            (run.status, run.halted) = (RunStatus::Pending, false);
        }
    }

    /// What a poll does before it grants.
    pub fn reclaim_and_fire(&mut self) {
        for place in 0..self.runs.len() {
            let run = &self.runs[place];
            let expired = run.status == RunStatus::Running && run.expires_at < self.now;
            let fires = run.waits.iter().any(|wait| self.is_over(wait)) || self.is_overdue(run);
            let fires = run.status == RunStatus::Suspended && fires;
            let run = &mut self.runs[place];
            if expired {
                run.reclaims += 1;
                (run.status, run.holder) = (RunStatus::Pending, None);
            } else if fires {
                (run.status, run.halted) = (RunStatus::Pending, false);
            }
        }
        self.settle();
    }

    pub fn granted(&mut self, lease: &Lease, deadline: Option<Span>) {
        let (now, version) = (self.now, self.version);
        let run = self.runs.iter_mut().find(|run| run.id == lease.key.run).expect("a known run");
        assert_eq!(run.status, RunStatus::Pending);
        assert_eq!((lease.key.attempt.0, lease.reclaims), (run.leases, run.reclaims));
        assert_eq!(lease.cancel_requested.is_some(), run.cancelled);
        if run.leases == 0 {
            run.deadline = deadline.map(|span| now + span);
        }
        assert_eq!(lease.deadline, run.deadline);
        run.leases += 1;
        (run.status, run.holder, run.expires_at) =
            (RunStatus::Running, Some(lease.key.worker.clone()), lease.expires_at);
        (run.waits, run.resumed, run.version) = (vec![], false, version);
    }

    pub fn release(&mut self, place: usize, how: &Release) {
        let always = self.runs[place].cancelled || self.is_overdue(&self.runs[place]);
        let resumed = self.runs[place].resumed || self.version > self.runs[place].version;
        let over = matches!(how, Release::Suspended(waits) if waits.iter().any(|wait| self.is_over(wait)));
        let run = &mut self.runs[place];
        (run.holder, run.reclaims) = (None, 0);
        match how {
            Release::Suspended(waits) => {
                run.waits = waits.clone();
                run.status = if always || over { RunStatus::Pending } else { RunStatus::Suspended };
            }
            Release::Halted => {
                run.halted = !(always || resumed);
                run.status = if run.halted { RunStatus::Suspended } else { RunStatus::Pending };
            }
            Release::Pending => run.status = RunStatus::Pending,
            Release::Ended(status) => run.status = *status,
        }
        self.settle();
    }

    /// The earliest instant at which a poll would grant something, by looking at every run.
    pub fn grantable_at(&self) -> Option<Timestamp> {
        let instants = self.runs.iter().flat_map(|run| match run.status {
            RunStatus::Pending => vec![self.now],
            RunStatus::Running => vec![run.expires_at + Span::from_micros(1)],
            RunStatus::Suspended => {
                let times =
                    run.waits.iter().filter_map(|wait| if let Wait::Time(until) = wait { Some(*until) } else { None });
                times.filter(|_| !run.halted).chain(run.deadline).collect()
            }
            _ => vec![],
        });
        instants.min().map(|instant| instant.max(self.now))
    }
}
